// Copying, and saying that it was done.

import { html, signal, useState } from "./html.js";
import { Icon } from "./icons.js";

/** Milliseconds that a message stays. */
const SHOWN = 2000;

/** What is said at the bottom of the page for a moment. */
export const toast = signal("");
let timer = 0;

/** @param {string} text */
export function say(text) {
    toast.value = text;
    clearTimeout(timer);
    timer = window.setTimeout(() => (toast.value = ""), SHOWN);
}

/** The message at the bottom. */
export function Toast() {
    return html`<div role="status">${toast.value && html`<div class="toast">${toast.value}</div>`}</div>`;
}

/**
 * Puts a text on the clipboard.
 * @param {string | Promise<string>} text
 * @param {string} what
 */
export async function copy(text, what) {
    try {
        await write(text);
    } catch {
        try {
            byCommand(await text);
        } catch (error) {
            return say(/** @type {Error} */ (error).message);
        }
    }
    say(`${what} copied`);
}

/** @param {string | Promise<string>} text */
async function write(text) {
    if (typeof text === "string") return navigator.clipboard.writeText(text);
    // Safari lets a page write only while a click is handled: the text may come later, the promise of it may not.
    const blob = text.then((text) => new Blob([text], { type: "text/plain" }));
    // Why there is no text is told by the caller.
    blob.catch(() => {});
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
}

/**
 * As browsers do it for pages without TLS, which have no clipboard.
 * @param {string} text
 */
function byCommand(text) {
    const before = document.activeElement;
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "hidden";
    field.readOnly = true;
    // What is outside of an open dialog cannot have the focus.
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    field.select();
    const isDone = document.execCommand("copy");
    field.remove();
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    if (!isDone) throw new Error("The browser does not allow copying here");
}

/**
 * A button that copies what a function gives.
 * @param {{text: () => string | Promise<string>, what: string, label?: string, quiet?: boolean, title?: string}} props
 */
export function CopyButton({ text, what, label, quiet, title }) {
    const [busy, setBusy] = useState(false);
    async function run() {
        if (busy) return;
        setBusy(true);
        await copy(text(), what);
        setBusy(false);
    }
    return html`<button type="button" class=${quiet ? "quiet small no-print" : "small no-print"} aria-disabled=${busy || undefined}
        title=${title ?? `Copy ${what.toLowerCase()}`} onClick=${run}
        ><${Icon} name="copy" />${label ? html`<span>${label}</span>` : html`<span class="hidden">Copy ${what}</span>`}</button>`;
}
