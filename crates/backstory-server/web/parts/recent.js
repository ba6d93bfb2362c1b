// What changed lately in a project, and what was removed from it.

import { html, counted } from "./html.js";
import { Icon } from "./icons.js";
import { Answered, Empty } from "./state.js";
import { Day } from "./time.js";
import { Ref, addressOf, fileAddress } from "./ref.js";
import { useAsk } from "../api.js";

/** Changes and removals that are listed. */
const LIMIT = 40;
const REMOVALS = 5;

/** @param {{project: string}} props */
export function Recent({ project }) {
    const asked = useAsk("changes", { project, path: null, symbol: null, after: null, limit: LIMIT });
    return html`<section><h2>Latest changes</h2><${Answered} of=${asked} lines=${12}>${(/** @type {any} */ found) => found.changes.length === 0
        ? html`<${Empty} title="No commit is indexed" icon="history"><p>Add the repository of ${project} at the <a href="/">projects</a>.</p></${Empty}>`
        : html`<table class="stacked"><thead><tr><th>When</th><th>Change</th><th>Author</th><th>Through</th><th class="number">Lines</th></tr></thead><tbody>${found.changes.map((/** @type {any} */ change) => html`<tr key=${change.commit.sha}>
            <td class="tight"><${Day} at=${change.commit.date} /></td><td><a href=${addressOf(change.commit.id)}>${change.commit.title}</a>${change.change_type && html` <span class="badge">${change.change_type}</span>`}</td>
            <td>${change.commit.author}</td><td class="tight">${change.merge_request && html`<${Ref} id=${change.merge_request} project=${project} />`}</td>
            <td class="number tight"><span class="added">+${change.insertions.toLocaleString("en")}</span> <span class="removed">−${change.deletions.toLocaleString("en")}</span></td></tr>`)}</tbody></table>`}</${Answered}></section>`;
}

/** @param {{project: string, text: string}} props */
export function Removed({ project, text }) {
    const asked = useAsk("removed", { text, project, path: null, limit: REMOVALS });
    return html`<section><h2>Where ${text} was removed</h2><${Answered} of=${asked} lines=${8}>${(/** @type {any} */ found) => html`
        ${found.removals.length === 0 && html`<${Empty} title="No commit removed it" icon="history"><p>${counted(found.searched_commits, "commit")} were searched.</p></${Empty}>`}
        <div class="stack">${found.removals.map((/** @type {any} */ removal) => html`<${Removal} removal=${removal} project=${project} />`)}</div>
        ${found.present.length > 0 && html`<h3>Where it still is</h3><ul>${found.present.map((/** @type {any} */ one) => html`<li><a class="mono" href=${fileAddress(project, one.path, { lines: one.line ? [one.line, one.line] : null })}>${one.path}${one.line ? `:${one.line}` : ""}</a></li>`)}</ul>`}
        ${found.moves.length > 0 && html`<h3>Where it moved</h3><ul>${found.moves.map((/** @type {any} */ move) => html`<li class="mono">${move.from} → <a href=${fileAddress(project, move.to)}>${move.to}</a></li>`)}</ul>`}
        ${found.missing.length > 0 && html`<ul class="missing">${found.missing.map((/** @type {string} */ sentence) => html`<li>${sentence}</li>`)}</ul>`}`}</${Answered}></section>`;
}

/** @param {{removal: any, project: string}} props */
function Removal({ removal, project }) {
    const reasons = [...removal.merge_requests, ...removal.issues, ...removal.discussions];
    return html`<article class="card card-body stack"><p><a href=${addressOf(removal.commit.id)}><strong>${removal.commit.title}</strong></a></p>
        <p class="byline"><span>${removal.commit.author}</span><${Day} at=${removal.commit.date} /><a class="mono" href=${fileAddress(project, removal.path, { rev: removal.parent, lines: removal.line ? [removal.line, removal.line] : null })}>${removal.path}${removal.line ? `:${removal.line}` : ""} before it</a>
            <a href=${addressOf(removal.commit.id).replace("/ui/item/", "/ui/why/")}><${Icon} name="history" /> trace</a></p>
        ${removal.removed && html`<pre class="snippet line-removed" tabindex="0">${removal.removed}</pre>`}
        ${removal.replacement && html`<pre class="snippet line-added" tabindex="0">${removal.replacement}</pre>`}
        ${reasons.length > 0 && html`<p class="row">${reasons.map((id) => html`<${Ref} id=${id} project=${project} />`)}</p>`}</article>`;
}
