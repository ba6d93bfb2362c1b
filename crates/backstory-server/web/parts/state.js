// What a screen shows while there is nothing to show: waiting, nothing found, something wrong.

import { html } from "./html.js";
import { Icon } from "./icons.js";

/**
 * Shows an answer, or why there is none. An answer to another request is dimmed; one that could not be asked for again
 * says so.
 * @param {{of: Pick<import("../asking.js").Asked, "answer" | "error" | "slow" | "again"> & {stale?: boolean}, lines?: number,
 *   children: (answer: any) => any}} props
 */
export function Answered({ of, lines = 6, children }) {
    const isMissing = of.answer === null || of.answer === undefined;
    if (of.error && isMissing) return html`<${Failed} error=${of.error} again=${of.again} />`;
    if (isMissing) return html`<${Waiting} shown=${of.slow} lines=${lines} />`;
    return html`<div class=${of.stale ? "dimmed" : ""} aria-busy=${Boolean(of.stale)}>
        ${of.error && html`<${NotUpdated} error=${of.error} />`}${children(of.answer)}</div>`;
}

/**
 * That what is shown may be out of date.
 * @param {{error: any}} props
 */
export function NotUpdated({ error }) {
    const reason = error.status === 0 ? "the server does not answer" : error.message;
    return html`<${Notice} tone="warn"><span role="status">${sentence(`Not updated: ${reason}`)}</span></${Notice}>`;
}

/**
 * Gray lines where text will be. They keep its room from the beginning and become visible when it takes long.
 * @param {{shown: boolean, lines: number}} props
 */
export function Waiting({ shown, lines }) {
    return html`<div class="waiting" data-shown=${shown}>
        <span class="hidden" role="status">${shown ? "Loading" : ""}</span>
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
 * The same in one line, beside what is more important.
 * @param {{error: any}} props
 */
export function FailedLine({ error }) {
    return html`<p class="change-error" role="alert">${sentence(error.message)} ${error.hint && sentence(error.hint)}</p>`;
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
