// A button that changes something: it says what it did, why it could not, and asks first where that matters.

import { html, useEffect, useRef, useState } from "./html.js";
import { Icon } from "./icons.js";
import { say } from "./copy.js";
import { FailedLine } from "./state.js";
import { session } from "../api.js";
import { useChange } from "../asking.js";

const SCOPES = ["read", "sync", "admin"];

/** @param {string} scope */
export function permits(scope) {
    const has = session.value?.scope ?? "read";
    return SCOPES.indexOf(has) >= SCOPES.indexOf(scope);
}

/**
 * What a session of that scope may do, to be read behind "may".
 * @param {string} scope
 */
export function scopeName(scope) {
    /** @type {Record<string, string>} */
    const names = { read: "read", sync: "read and start syncs", admin: "change everything" };
    return names[scope] ?? scope;
}

/**
 * @param {{label: string, needs: "read" | "sync" | "admin", run: () => Promise<any>, icon?: string, done?: string, confirm?: string,
 *   danger?: boolean, title?: string, then?: (answer: any) => void}} props `needs`: what the session must permit for the button to be
 *   there; `confirm`: what must be typed before it is done
 */
export function Change({ label, needs, run, icon, done, confirm, danger, title, then }) {
    const change = useChange();
    const [asking, setAsking] = useState(false);
    const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
    if (!permits(needs)) return null;
    // Who confirmed or cancelled with the keyboard goes on from the button.
    function close() {
        setAsking(false);
        requestAnimationFrame(() => button.current?.focus());
    }
    async function go() {
        if (asking) close();
        const answer = await change.run(run);
        if (answer === undefined) return;
        if (done) say(done);
        then?.(answer);
    }
    return html`<span class="change">
        <button type="button" ref=${button} class=${danger ? "small danger" : "small"} title=${title} aria-disabled=${change.busy || undefined}
            aria-expanded=${confirm ? asking : undefined} onClick=${() => (change.busy ? null : confirm ? setAsking(!asking) : go())}
            >${icon && html`<${Icon} name=${icon} />`} ${label}</button>
        ${asking && confirm && html`<${Confirm} word=${confirm} label=${label} go=${go} cancel=${close} />`}
        ${change.error && html`<${FailedLine} error=${change.error} />`}
    </span>`;
}

/** @param {{word: string, label: string, go: () => void, cancel: () => void}} props */
function Confirm({ word, label, go, cancel }) {
    const [text, setText] = useState("");
    const field = useRef(/** @type {HTMLInputElement | null} */ (null));
    useEffect(() => field.current?.focus(), []);
    /** @param {Event} event */
    function submit(event) {
        event.preventDefault();
        if (text === word) go();
    }
    return html`<form class="row confirm" onSubmit=${submit} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && cancel()}>
        <label class="small">Enter <code>${word}</code> to confirm <input type="text" ref=${field} value=${text} autocomplete="off"
            onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
        <button type="submit" class="small danger" disabled=${text !== word}>${label}</button>
        <button type="button" class="small" onClick=${cancel}>Cancel</button></form>`;
}
