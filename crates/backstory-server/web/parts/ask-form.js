// Where a question is written.

import { html, useEffect, useRef, useState } from "./html.js";

/** Longest question, in characters. */
const LONGEST = 2000;

/**
 * @param {{label: string, send: (text: string) => unknown, busy: boolean, afresh?: (text: string) => void, draft?: string}} props
 *   `send`: false, or a promise of it, if it was not sent; then the question stays; `afresh`: asks it as another question, or begins
 *   one if it is empty; `draft`: what is written there to begin with
 */
export function AskForm({ label, send, busy, afresh, draft = "" }) {
    const [text, setText] = useState(draft);
    const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
    useEffect(() => setText((now) => now || draft), [draft]);
    // Not on a phone: its keyboard would cover the answer.
    useEffect(() => {
        if (!matchMedia("(pointer: coarse)").matches) field.current?.focus({ preventScroll: true });
    }, []);
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
        <textarea rows="2" ref=${field} aria-label=${label} placeholder=${`${label}: why did we choose …?`} value=${text} maxlength=${LONGEST}
            onInput=${(/** @type {any} */ event) => setText(event.target.value)} onKeyDown=${press}></textarea>
        <p class="row spread"><span class="muted small ask-hint"><kbd>Enter</kbd> asks, <kbd>Shift Enter</kbd> starts a new line</span>
            <span class="row">${afresh && html`<button type="button" onClick=${() => afresh(text.trim())}
                title="Ask it without what was said above">New question</button>`}
            <button type="submit" class="primary" disabled=${busy || !text.trim()}>${afresh ? "Ask a follow-up" : "Ask"}</button></span></p>
    </form>`;
}
