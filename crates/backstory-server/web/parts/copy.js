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
    return html`<div role="status" aria-live="polite">${toast.value && html`<div class="toast">${toast.value}</div>`}</div>`;
}

/**
 * Puts a text on the clipboard.
 * @param {string} text
 * @param {string} what
 */
export async function copy(text, what) {
    try {
        await navigator.clipboard.writeText(text);
        say(`${what} copied`);
    } catch {
        say("The browser does not allow copying here");
    }
}

/**
 * A button that copies what a function gives.
 * @param {{text: () => string | Promise<string>, what: string, label?: string, quiet?: boolean}} props
 */
export function CopyButton({ text, what, label, quiet }) {
    const [busy, setBusy] = useState(false);
    return html`<button type="button" class=${quiet ? "quiet small no-print" : "small no-print"} disabled=${busy} title=${`Copy ${what.toLowerCase()}`}
        onClick=${async () => {
            setBusy(true);
            try {
                await copy(await text(), what);
            } catch (error) {
                say(/** @type {Error} */ (error).message);
            }
            setBusy(false);
        }}><${Icon} name="copy" />${label ? html`<span>${label}</span>` : html`<span class="hidden">Copy ${what}</span>`}</button>`;
}
