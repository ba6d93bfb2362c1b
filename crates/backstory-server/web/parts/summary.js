// A summary that a language model writes when asked, marked as such.

import { html, useState } from "./html.js";
import { Icon } from "./icons.js";
import { Failed } from "./state.js";
import { Ago } from "./time.js";
import { ask } from "../api.js";
import { useChange } from "../asking.js";

/** @param {{id: string}} props */
export function Summarize({ id }) {
    const change = useChange();
    const [summary, setSummary] = useState(/** @type {any} */ (null));
    const write = async () => setSummary((await change.run(() => ask("summarize", { id }))) ?? null);
    return html`<section class="no-print"><h2 class="side-title">Summary</h2>
        ${summary ? html`<div class="card card-body"><p><span class="badge model"><${Icon} name="model" /> ${summary.model.name}</span>
            <span class="small muted"> <${Ago} at=${summary.written_at} /></span>
            ${summary.outdated && html`<span class="badge warn">outdated</span>`}</p><p>${summary.text}</p></div>`
            : html`<button type="button" class="small" disabled=${change.busy} onClick=${write}
                ><${Icon} name="model" /> ${change.busy ? "Writing…" : "Summarize with the model"}</button>`}
        ${change.error && html`<${Failed} error=${change.error} />`}</section>`;
}
