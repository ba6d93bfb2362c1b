// A summary that a language model writes when asked, marked as such.

import { html, useState } from "./html.js";
import { Icon } from "./icons.js";
import { Failed } from "./state.js";
import { Ago } from "./time.js";
import { ask, useChange } from "../api.js";

/** @param {{id: string}} props */
export function Summarize({ id }) {
    const change = useChange();
    const [summary, setSummary] = useState(/** @type {any} */ (null));
    return html`<section class="no-print"><h2 class="side-title">Summary</h2>
        ${summary ? html`<div class="card card-body"><p><span class="badge model"><${Icon} name="model" /> ${summary.model.name}</span> <span class="small muted"><${Ago} at=${summary.written_at} /></span>
            ${summary.outdated && html`<span class="badge warn">outdated</span>`}</p><p>${summary.text}</p></div>`
            : html`<button type="button" class="small" disabled=${change.busy} onClick=${async () => setSummary((await change.run(() => ask("summarize", { id }))) ?? null)}
                ><${Icon} name="model" /> ${change.busy ? "Writing…" : "Have the model write one"}</button>`}
        ${change.error && html`<${Failed} error=${change.error} />`}</section>`;
}
