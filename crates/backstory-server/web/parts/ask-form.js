// Where a question is written.

import { html, useState } from "./html.js";

/** Longest question, in characters. */
const LONGEST = 2000;

/**
 * @param {{label: string, send: (text: string) => unknown, busy: boolean}} props `send`: false, or a promise of it, if it was not
 *   sent; then the question stays
 */
export function AskForm({ label, send, busy }) {
    const [text, setText] = useState("");
    /** @param {Event} event */
    async function submit(event) {
        event.preventDefault();
        const question = text.trim();
        if (!question || busy) return;
        setText("");
        // Who has begun another meanwhile keeps that.
        if ((await send(question)) === false) setText((now) => now || question);
    }
    /** @param {KeyboardEvent} event */
    function press(event) {
        // Enter may also end the choice of a character.
        if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) submit(event);
    }
    return html`<form class="ask-form no-print" onSubmit=${submit}>
        <textarea rows="2" aria-label=${label} placeholder=${`${label}: why did we choose …?`} value=${text} maxlength=${LONGEST}
            onInput=${(/** @type {any} */ event) => setText(event.target.value)} onKeyDown=${press}></textarea>
        <p class="row spread"><span class="muted small ask-hint"><kbd>Enter</kbd> asks, <kbd>Shift Enter</kbd> begins a line</span>
            <button type="submit" class="primary" disabled=${busy || !text.trim()}>Ask</button></p>
    </form>`;
}
