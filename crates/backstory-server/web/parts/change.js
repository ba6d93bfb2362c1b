// A button that changes something: it says what it did, why it could not, and asks first where that matters.

import { html, useState } from "./html.js";
import { Icon } from "./icons.js";
import { say } from "./copy.js";
import { sentence } from "./state.js";
import { session, useChange } from "../api.js";

const SCOPES = ["read", "sync", "admin"];

/** @param {string} scope */
export function permits(scope) {
    const has = session.value?.scope ?? "read";
    return SCOPES.indexOf(has) >= SCOPES.indexOf(scope);
}

/**
 * @param {{label: string, run: () => Promise<any>, icon?: string, done?: string, confirm?: string, danger?: boolean, title?: string,
 *   then?: (answer: any) => void}} props `confirm`: what must be typed before it is done
 */
export function Change({ label, run, icon, done, confirm, danger, title, then }) {
    const change = useChange();
    const [asking, setAsking] = useState(false);
    async function go() {
        setAsking(false);
        const answer = await change.run(run);
        if (answer === undefined) return;
        if (done) say(done);
        then?.(answer);
    }
    return html`<span class="change">
        <button type="button" class=${danger ? "small danger" : "small"} title=${title} disabled=${change.busy} onClick=${confirm ? () => setAsking(!asking) : go}
            >${icon && html`<${Icon} name=${icon} />`} ${label}</button>
        ${asking && confirm && html`<${Confirm} word=${confirm} label=${label} go=${go} cancel=${() => setAsking(false)} />`}
        ${change.error && html`<span class="change-error" role="alert">${sentence(change.error.message)} ${change.error.hint && sentence(change.error.hint)}</span>`}
    </span>`;
}

/** @param {{word: string, label: string, go: () => void, cancel: () => void}} props */
function Confirm({ word, label, go, cancel }) {
    const [text, setText] = useState("");
    return html`<form class="row confirm" onSubmit=${(/** @type {Event} */ event) => {
        event.preventDefault();
        if (text === word) go();
    }}><label class="small">Enter <code>${word}</code> to confirm <input type="text" autofocus value=${text} autocomplete="off"
        onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
        <button type="submit" class="small danger" disabled=${text !== word}>${label}</button>
        <button type="button" class="small" onClick=${cancel}>Cancel</button></form>`;
}
