// Tokens of the server, for those who may make them.

import { html, useState } from "./html.js";
import { Icon } from "./icons.js";
import { Answered, Failed, Notice } from "./state.js";
import { Ago, Day } from "./time.js";
import { Change, permits } from "./change.js";
import { CopyButton } from "./copy.js";
import { ask } from "../api.js";
import { useAsk, useChange } from "../asking.js";

/** What a token may do, from least to most. */
const SCOPES = [["read"], ["read", "sync"], ["read", "sync", "admin"]];

/** The list, and a form for another. */
export function Tokens() {
    const may = permits("admin");
    const tokens = useAsk("tokens", may ? {} : null);
    if (!may) return null;
    return html`<section class="stack"><h2>Tokens</h2>
        <${Answered} of=${tokens} lines=${3}>${(/** @type {any[]} */ list) => html`<${List} tokens=${list} again=${tokens.again} />`}</${Answered}>
        <${Create} again=${tokens.again} /></section>`;
}

/** @param {{tokens: any[], again: () => void}} props */
function List({ tokens, again }) {
    if (!tokens.length) return html`<p class="muted">None was created here. Until there is one, a server on this machine asks for none.</p>`;
    return html`<table class="stacked"><thead><tr><th>Name</th><th>Projects</th><th>May</th><th>Ends</th><th>Last used</th>
            <th><span class="hidden">Actions</span></th></tr></thead>
        <tbody>${tokens.map((token) => html`<${Row} key=${token.id} token=${token} again=${again} />`)}</tbody></table>`;
}

/** @param {{token: any, again: () => void}} props */
function Row({ token, again }) {
    const end = token.expires ? html`<${Day} at=${token.expires} />` : "never";
    return html`<tr><td>${token.name} <span class="muted small mono">${token.id}</span></td>
        <td>${token.projects.join(", ") || "none"}</td><td>${token.scopes.join(", ")}</td>
        <td class="tight">${token.revoked_at ? html`<span class="badge bad">revoked</span>` : end}</td>
        <td class="tight"><${Ago} at=${token.last_used_at} /></td>
        <td class="tight">${!token.revoked_at && html`<${Change} label="Revoke" needs="admin" danger then=${again} word=${token.name}
            question="From then on, whatever uses this token is refused, and it cannot be made valid again."
            done="The token is revoked" run=${() => ask("revoke-token", { token: token.id })} />`}</td></tr>`;
}

/**
 * What a form asks for.
 * @param {FormData} fields
 */
function requestOf(fields) {
    // Without an end given, the server decides.
    const days = String(fields.get("days") ?? "").trim();
    return {
        name: String(fields.get("name") ?? "").trim() || null,
        projects: String(fields.get("projects") ?? "").split(",").map((project) => project.trim()).filter(Boolean),
        confidential: fields.get("confidential") === "on",
        scopes: SCOPES[Number(fields.get("scopes"))] ?? ["read"],
        expires: days === "" ? null : Number(days) > 0 ? new Date(Date.now() + Number(days) * 86400e3).toISOString() : "never",
    };
}

/** @param {{again: () => void}} props */
function Create({ again }) {
    const change = useChange();
    const [made, setMade] = useState(/** @type {any} */ (null));
    /** @param {SubmitEvent} event */
    async function submit(event) {
        event.preventDefault();
        const form = /** @type {HTMLFormElement} */ (event.target);
        const created = await change.run(() => ask("create-token", requestOf(new FormData(form))));
        if (!created) return;
        setMade(created);
        form.reset();
        again();
    }
    return html`<details class="card card-body"><summary>Create token</summary><form class="row" onSubmit=${submit}>
            <input type="text" name="name" placeholder="name" aria-label="Name" />
            <input type="text" name="projects" placeholder="projects: acme/shop, group/*" aria-label="Projects" required />
            <select name="scopes" aria-label="May"><option value="0">read</option><option value="1">read and sync</option>
                <option value="2">everything</option></select>
            <label class="row small"><input type="checkbox" name="confidential" /> confidential items</label>
            <label class="row small">ends in <input type="number" name="days" placeholder="90" min="0" max="3650" /> days, 0 for never</label>
            <button type="submit" disabled=${change.busy}><${Icon} name="plus" /> Create token</button></form>
        ${change.error && html`<${Failed} error=${change.error} />`}
        ${made && html`<${Notice} tone="warn"><p>It is shown once: <code>${made.secret}</code>${" "}
            <${CopyButton} what="Token" text=${() => made.secret} /></p></${Notice}>`}</details>`;
}
