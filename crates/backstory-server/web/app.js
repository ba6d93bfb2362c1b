// Where the page starts.

import { html, render } from "./parts/html.js";
import { readSession } from "./api.js";
import { listen } from "./router.js";
import { Shell } from "./shell.js";
import { startKeys } from "./keys.js";
import { startTheme } from "./theme.js";

startTheme();
startKeys();
listen();
readSession().catch(() => {});
const root = document.getElementById("app");
if (root) render(html`<${Shell} />`, root);
