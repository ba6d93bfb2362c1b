// What a screen shows while there is nothing to show: waiting, nothing found, something wrong.

import { html } from "./html.js";
import { Icon } from "./icons.js";
import { addressOf, encode, fileAddress, isReference } from "./ref.js";
import { projectNames } from "../api.js";

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
            <p>${adviceOf(error)}</p>
            ${again && html`<button type="button" onClick=${again}><${Icon} name="retry" /> Try again</button>`}
        </div>
    </div>`;
}

/**
 * What the server advises: what may have been meant as links, commands as such, and where the page does the same.
 * @param {any} error
 */
export function adviceOf(error) {
    const links = meant(error);
    const hint = hintOf(error);
    if (links.length) return html`Did you mean ${links.map(({ text, address }, at) => html`${at > 0 && ", "}<a href=${address}>${text}</a>`)}?`;
    if (!hint) return null;
    const place = PLACES.find(([command]) => hint.includes(command));
    const why = /'backstory why (\S+)'/.exec(hint);
    return html`${commands(sentence(hint))}${place && html` <a href=${place[1]}>${place[2]}</a>.`}
        ${why && html` <a href=${`/ui/why/${encode(why[1] ?? "")}`}>Its trace</a>.`}`;
}

/**
 * Where "did you mean …?" and "ask about …" lead.
 * @param {any} error
 * @returns {{text: string, address: string}[]}
 */
function meant(error) {
    const hint = /^(?:did you mean (.+)\?|ask about (\S+\/\S+|\S+\.\w+))$/.exec(error.hint ?? "");
    const names = (hint?.[1] ?? hint?.[2] ?? "").split(", ").filter(Boolean);
    // Of a branch or a tag that is not there, others are named in the same way: they are no places.
    const project = /^there is no file .* in (\S+)(?: at |$|;)/.exec(error.message)?.[1];
    const address = (/** @type {string} */ name) => (project ? fileAddress(project, name) : addressOf(name));
    const all = names.map((name) => ({ text: name, address: address(name) }));
    return project || names.every(isReference) ? all : [];
}

/** Commands, and where the page does the same. */
const PLACES = /** @type {const} */ ([
    ["'backstory sync", "/ui/jobs", "Index & jobs does it too"],
    ["'backstory add", "/", "Projects does it too"],
]);

/**
 * A hint without what cannot help: where there is no forge, no sync brings issues.
 * @param {any} error
 * @returns {string}
 */
function hintOf({ hint }) {
    const only = hint?.indexOf("only the repository of") ?? -1;
    return only > 0 ? hint.slice(only) : (hint ?? "");
}

/** @param {string} text */
function commands(text) {
    return text.split(/'(backstory [^']*)'/).map((part, at) => (at % 2 ? html`<code>${part}</code>` : part));
}

/**
 * The same in one line, beside what is more important.
 * @param {{error: any}} props
 */
export function FailedLine({ error }) {
    return html`<p class="change-error" role="alert">${sentence(error.message)} ${adviceOf(error)}</p>`;
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
    // Numbers of the system's errors say nothing to people.
    const trimmed = text.trim().replace(/ \(os error \d+\)/g, "");
    const first = /^[a-z]+(?= )/.exec(trimmed)?.[0];
    const begun = first && !projectNames.has(first) ? trimmed[0]?.toUpperCase() + trimmed.slice(1) : trimmed;
    return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
