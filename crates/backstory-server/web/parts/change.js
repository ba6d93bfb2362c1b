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

/** Whether there is a language model, without which some buttons could only fail. */
export function hasModel() {
    return session.value?.language_model ?? false;
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
 * @param {{label: string, needs: "read" | "sync" | "admin", run: () => Promise<any>, icon?: string, done?: string, question?: string,
 *   word?: string, danger?: boolean, title?: string, then?: (answer: any) => void}} props `needs`: what the session must permit for
 *   the button to be there; `question`: what is asked before it is done; `word`: what must be typed then, where what is lost cannot
 *   be made again
 */
export function Change({ label, needs, run, icon, done, question, word, danger, title, then }) {
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
        ${!(asking && word === undefined) && html`<button type="button" ref=${button} class=${danger ? "small danger" : "small"} title=${title}
            aria-disabled=${change.busy || undefined} aria-expanded=${question ? asking : undefined}
            onClick=${() => (change.busy ? null : question ? setAsking(!asking) : go())}>${icon && html`<${Icon} name=${icon} />`} ${label}</button>`}
        ${asking && question && html`<${Confirm} question=${question} word=${word} label=${label} danger=${danger} go=${go} cancel=${close} />`}
        ${change.error && html`<${FailedLine} error=${change.error} />`}
    </span>`;
}

/** @param {{question: string, word?: string, label: string, danger?: boolean, go: () => void, cancel: () => void}} props */
function Confirm({ question, word, label, danger, go, cancel }) {
    const [text, setText] = useState("");
    const form = useRef(/** @type {HTMLFormElement | null} */ (null));
    useEffect(() => /** @type {HTMLElement | null | undefined} */ (form.current?.querySelector(danger ? "input, button:last-child" : "input, button"))?.focus(), []);
    const isSure = word === undefined || text === word;
    /** @param {Event} event */
    function submit(event) {
        event.preventDefault();
        if (isSure) go();
    }
    return html`<form class="row confirm small" ref=${form} onSubmit=${submit} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && cancel()}>
        <span>${question}</span>
        ${word !== undefined && html`<label>Type <code>${word}</code> to go on: <input type="text" value=${text} autocomplete="off"
            onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>`}
        <button type="submit" class=${danger ? "small danger" : "small"} disabled=${!isSure}>${label}</button>
        <button type="button" class="small" onClick=${cancel}>${danger ? "Keep" : "Cancel"}</button></form>`;
}
