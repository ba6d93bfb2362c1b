// Tokens of the server, for those who may make them.

import { html, useState } from "./html.js";
import { Icon } from "./icons.js";
import { Answered, Failed, Notice } from "./state.js";
import { Ago, Day } from "./time.js";
import { Change, permits } from "./change.js";
import { CopyButton } from "./copy.js";
import { ask, useAsk, useChange } from "../api.js";

/** What a token may do, from least to most. */
const SCOPES = [["read"], ["read", "sync"], ["read", "sync", "admin"]];

/** The list, and a form for another. */
export function Tokens() {
    const may = permits("admin");
    const tokens = useAsk("tokens", may ? {} : null);
    if (!may) return null;
    return html`<section class="stack"><h2>Tokens</h2>
        <${Answered} of=${tokens} lines=${3}>${(/** @type {any[]} */ list) => list.length === 0 ? html`<p class="muted">None was made here. Until there is one, a server on this machine asks for none.</p>`
            : html`<table class="stacked"><thead><tr><th>Name</th><th>Projects</th><th>May</th><th>Ends</th><th>Last used</th><th><span class="hidden">Actions</span></th></tr></thead>
            <tbody>${list.map((token) => html`<tr key=${token.id}><td>${token.name} <span class="muted small mono">${token.id}</span></td><td>${token.projects.join(", ") || "none"}</td><td>${token.scopes.join(", ")}</td>
                <td class="tight">${token.revoked_at ? html`<span class="badge bad">revoked</span>` : token.expires ? html`<${Day} at=${token.expires} />` : "never"}</td><td class="tight"><${Ago} at=${token.last_used_at} /></td>
                <td class="tight">${!token.revoked_at && html`<${Change} label="Revoke" danger confirm=${token.name} run=${() => ask("revoke-token", { token: token.id })} then=${tokens.again} done="The token is revoked" />`}</td></tr>`)}</tbody></table>`}</${Answered}>
        <${Make} again=${tokens.again} /></section>`;
}

/** @param {{again: () => void}} props */
function Make({ again }) {
    const change = useChange();
    const [made, setMade] = useState(/** @type {any} */ (null));
    /** @param {SubmitEvent} event */
    async function submit(event) {
        event.preventDefault();
        const form = /** @type {HTMLFormElement} */ (event.target);
        const fields = new FormData(form);
        const days = Number(fields.get("days"));
        const request = {
            name: String(fields.get("name") ?? "").trim() || null,
            projects: String(fields.get("projects") ?? "").split(",").map((project) => project.trim()).filter(Boolean),
            confidential: fields.get("confidential") === "on",
            scopes: SCOPES[Number(fields.get("scopes"))] ?? ["read"],
            expires: days > 0 ? new Date(Date.now() + days * 86400e3).toISOString() : null,
        };
        const created = await change.run(() => ask("create-token", request));
        if (!created) return;
        setMade(created);
        form.reset();
        again();
    }
    return html`<details class="card card-body"><summary>Make a token</summary><form class="row" onSubmit=${submit}>
            <input type="text" name="name" placeholder="name" aria-label="Name" /><input type="text" name="projects" placeholder="projects: acme/shop, group/*" aria-label="Projects" required />
            <select name="scopes" aria-label="May"><option value="0">read</option><option value="1">read and sync</option><option value="2">everything</option></select>
            <label class="row small"><input type="checkbox" name="confidential" /> confidential items</label>
            <label class="row small">ends in <input type="number" name="days" value="90" min="0" max="3650" /> days</label>
            <button type="submit" disabled=${change.busy}><${Icon} name="plus" /> Make it</button></form>
        ${change.error && html`<${Failed} error=${change.error} />`}
        ${made && html`<${Notice} tone="warn"><p>It is shown once: <code>${made.secret}</code> <${CopyButton} what="Token" text=${() => made.secret} /></p></${Notice}>`}</details>`;
}
