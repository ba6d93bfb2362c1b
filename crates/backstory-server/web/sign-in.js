// Signing in: a token is pasted once.

import { html, useEffect, useRef, useState } from "./parts/html.js";
import { Icon } from "./parts/icons.js";
import { Failed } from "./parts/state.js";
import { scopeName } from "./parts/change.js";
import { session, signIn } from "./api.js";

/**
 * The form. With `reason`, it is shown because the present token does not suffice.
 * @param {{reason?: string}} props
 */
export function SignIn({ reason }) {
    const [busy, setBusy] = useState(false);
    const field = useRef(/** @type {HTMLInputElement | null} */ (null));
    useEffect(() => field.current?.focus(), []);
    const [error, setError] = useState(/** @type {any} */ (null));
    /** @param {SubmitEvent} event */
    async function submit(event) {
        event.preventDefault();
        const form = /** @type {HTMLFormElement} */ (event.target);
        const token = String(new FormData(form).get("token") ?? "").trim();
        if (!token) return;
        setBusy(true);
        setError(null);
        try {
            await signIn(token);
        } catch (failure) {
            setError(failure);
        }
        setBusy(false);
    }
    return html`<section class="sign-in">
        <h1><${Icon} name="lock" /> ${reason ? "Another token is needed" : "This server asks for a token"}</h1>
        <p>${reason ?? `Paste it once. It becomes a session of this browser that no script can read, and ends after 12 hours
            without use.`}</p>
        <form onSubmit=${submit}>
            <label>Token <input type="password" name="token" autocomplete="off" required ref=${field} /></label>
            <button type="submit" class="primary" disabled=${busy}>${busy ? "Checking…" : "Sign in"}</button>
        </form>
        ${error && html`<${Failed} error=${error} />`}
        <p class="muted small">The operator of the server has tokens in <code>backstory.toml</code>, under <code>[server]</code>.
            ${session.value?.scope ? ` The present session may ${scopeName(session.value.scope)}.` : ""}</p>
    </section>`;
}
