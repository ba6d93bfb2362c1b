// What changed lately in a project, and what was removed from it.

import { html, counted, number } from "./html.js";
import { coded } from "./coded.js";
import { Icon } from "./icons.js";
import { Answered, Empty } from "./state.js";
import { Day } from "./time.js";
import { Ref, addressOf, encode, fileAddress } from "./ref.js";
import { useAsk } from "../asking.js";

/** Changes and removals that are listed. */
const LIMIT = 40;
const REMOVALS = 5;

/** @param {{project: string}} props */
export function Recent({ project }) {
    const asked = useAsk("changes", { project, path: null, symbol: null, after: null, limit: LIMIT });
    const hasRequests = (asked.answer?.changes ?? []).some((/** @type {any} */ change) => change.merge_request);
    return html`<section><h2>Latest changes of ${project}</h2><${Answered} of=${asked} lines=${12}>${(/** @type {any} */ found) => found.changes.length === 0
        ? html`<${Empty} title="No commit is indexed" icon="history"><p>Add the repository of ${project} at the <a href="/">projects</a>.</p></${Empty}>`
        : html`<${ChangesTable} hasRequests=${hasRequests}>${found.changes.map((/** @type {any} */ change) => html`<${ChangeRow} key=${change.commit.sha}
            change=${change} project=${project} hasRequests=${hasRequests} mergeRequests=${change.merge_request ? [change.merge_request] : []}
            badge=${change.change_type} />`)}</${ChangesTable}>`}</${Answered}></section>`;
}

/** @param {{hasRequests: boolean, children: any}} props `hasRequests`: whether any change came with a merge request */
export function ChangesTable({ hasRequests, children }) {
    return html`<table class="stacked"><thead>
        <tr><th>When</th><th>Change</th><th>Author</th>${hasRequests && html`<th>Through</th>`}<th class="number">Lines</th></tr></thead><tbody>${children}</tbody></table>`;
}

/**
 * A commit that changed something.
 * @param {{change: any, project: string, hasRequests: boolean, mergeRequests: string[], badge?: string | null, as?: string | null}} props `as`: what the
 *   changed thing was called then
 */
export function ChangeRow({ change, project, hasRequests, mergeRequests, badge, as }) {
    const { commit, insertions, deletions } = change;
    return html`<tr><td class="tight"><${Day} at=${commit.date} /></td>
        <td><a href=${addressOf(commit.id)}>${coded(commit.title)}</a>${badge && html` <span class="badge">${badge}</span>`}
            ${as && html` <span class="muted small">as ${as}</span>`}</td>
        <td class="tight">${commit.author}</td>
        ${hasRequests && html`<td class="tight">${mergeRequests.map((one) => html`<${Ref} id=${one} project=${project} /> `)}</td>`}
        <td class="number tight">${insertions !== null && html`<span class="added">+${number(insertions)}</span>${" "}
            <span class="removed">−${number(deletions ?? 0)}</span>`}</td></tr>`;
}

/** @param {{project: string, text: string}} props */
export function Removed({ project, text }) {
    const asked = useAsk("removed", { text, project, path: null, limit: REMOVALS });
    return html`<section><h2>Where ${text} was removed</h2><${Answered} of=${asked} lines=${8}>${(/** @type {any} */ found) => html`
        ${found.removals.length === 0 && html`<${Empty} title="No commit removed it" icon="history">
            <p>${counted(found.searched_commits, "commit")} ${found.searched_commits === 1 ? "was" : "were"} searched.</p></${Empty}>`}
        <div class="stack">${found.removals.map((/** @type {any} */ removal) => html`<${Removal} removal=${removal} project=${project} />`)}</div>
        ${found.present.length > 0 && html`<h3>Where it still is</h3><ul>${found.present.map((/** @type {any} */ one) => html`
            <li><${Place} project=${project} path=${one.path} line=${one.line} /></li>`)}</ul>`}
        ${found.moves.length > 0 && html`<h3>Where it moved</h3><ul>${found.moves.map((/** @type {any} */ move) => html`
            <li class="mono">${move.from} → <a href=${fileAddress(project, move.to)}>${move.to}</a></li>`)}</ul>`}
        ${found.missing.length > 0 && html`<ul class="missing">${found.missing.map((/** @type {string} */ sentence) => html`<li>${sentence}</li>`)}</ul>`}
        `}</${Answered}></section>`;
}

/** @param {{project: string, path: string, line: number | null, rev?: string | null}} props */
function Place({ project, path, line, rev = null }) {
    return html`<a class="mono" href=${fileAddress(project, path, { rev, lines: line ? [line, line] : null })}>${path}${line ? `:${line}` : ""}</a>`;
}

/** @param {{removal: any, project: string}} props */
function Removal({ removal, project }) {
    const reasons = [...removal.merge_requests, ...removal.issues, ...removal.discussions];
    const { commit } = removal;
    return html`<article class="card card-body stack"><p><a href=${addressOf(commit.id)}><strong>${coded(commit.title)}</strong></a></p>
        <p class="byline"><span>${commit.author}</span><${Day} at=${commit.date} />
            <span><${Place} project=${project} path=${removal.path} line=${removal.line} rev=${removal.parent} /> before it</span>
            <a href=${`/ui/why/${encode(commit.id)}`}><${Icon} name="history" /> trace</a></p>
        ${removal.removed && html`<pre class="snippet line-removed" tabindex="0">${removal.removed}</pre>`}
        ${removal.replacement && html`<pre class="snippet line-added" tabindex="0">${removal.replacement}</pre>`}
        ${reasons.length > 0 && html`<p class="row">${reasons.map((id) => html`<${Ref} id=${id} project=${project} />`)}</p>`}</article>`;
}
