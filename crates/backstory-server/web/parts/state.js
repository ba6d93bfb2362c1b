// What a screen shows while there is nothing to show: waiting, nothing found, something wrong.

import { html } from "./html.js";
import { Icon } from "./icons.js";

/**
 * Shows an answer, or why there is none.
 * @param {{of: import("../api.js").Asked, lines?: number, children: (answer: any) => any}} props
 */
export function Answered({ of, lines = 6, children }) {
    if (of.error && !of.answer) return html`<${Failed} error=${of.error} again=${of.again} />`;
    if (of.answer === null || of.answer === undefined) return html`<${Waiting} shown=${of.slow} lines=${lines} />`;
    return html`<div class=${of.pending && of.slow ? "dimmed" : ""} aria-busy=${of.pending}>${children(of.answer)}</div>`;
}

/**
 * Gray lines where text will be. They keep its room from the beginning and become visible when it takes long.
 * @param {{shown: boolean, lines: number}} props
 */
export function Waiting({ shown, lines }) {
    return html`<div class="waiting" data-shown=${shown} role="status" aria-label=${shown ? "Loading" : ""}>
        ${Array.from({ length: lines }, (_, line) => html`<div class=${`bar w${(line * 7) % 5}`}></div>`)}
    </div>`;
}

/**
 * What went wrong, what to do, and a button to try again.
 * @param {{error: any, again?: () => void}} props
 */
export function Failed({ error, again }) {
    return html`<div class="failed" role="alert">
        <${Icon} name="alert" />
        <div>
            <p><strong>${sentence(error.message)}</strong></p>
            ${error.hint && html`<p>${sentence(error.hint)}</p>`}
            <p class="muted small">${error.code}${error.status ? ` · ${error.status}` : ""}</p>
            ${again && html`<button type="button" onClick=${again}><${Icon} name="retry" /> Try again</button>`}
        </div>
    </div>`;
}

/**
 * There is nothing: what was looked for, and what to do.
 * @param {{title: string, icon?: string, children?: any}} props
 */
export function Empty({ title, icon = "info", children }) {
    return html`<div class="empty"><${Icon} name=${icon} /><div><p><strong>${title}</strong></p>${children}</div></div>`;
}

/**
 * Something a reader should know, above the content.
 * @param {{tone?: "info" | "warn", children: any}} props
 */
export function Notice({ tone = "info", children }) {
    return html`<div class=${`notice ${tone}`}><${Icon} name=${tone === "warn" ? "alert" : "info"} /><div>${children}</div></div>`;
}

/**
 * A message of the server as a sentence.
 * @param {string} text
 */
export function sentence(text) {
    const trimmed = text.trim();
    const begun = /^[a-z][a-z]* /.test(trimmed) ? trimmed[0]?.toUpperCase() + trimmed.slice(1) : trimmed;
    return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
