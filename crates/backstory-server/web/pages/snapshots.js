// Recorded states of the index: pin, compare, prune.

import { html, counted, number, size, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty } from "../parts/state.js";
import { Ago, took } from "../parts/time.js";
import { Change } from "../parts/change.js";
import { CopyButton } from "../parts/copy.js";
import { Ref } from "../parts/ref.js";
import { ask } from "../api.js";
import { useAsk } from "../asking.js";
import { place, setQuery } from "../router.js";

/** Documents of a difference that are listed, and of those the ones that are shown at first. */
const LIMIT = 100;
const SHOWN = 12;
/** Commits of a snapshot that are listed. */
const COMMITS = 3;

/** The screen. */
export function Screen() {
    const snapshots = useAsk("snapshots", {});
    const { from, to } = Object.fromEntries(place.value.query);
    return html`<div class="screen stack"><div class="screen-head"><h1>Snapshots</h1>
            <p>Recorded states of the index. A context pack names the one it was made from.</p></div>
        <${Answered} of=${snapshots} lines=${8}>${(/** @type {any} */ all) => html`
            <p class="row"><span>The index is at <code title=${all.current}>${all.current.slice(0, 12)}</code></span>
                <${CopyButton} what="Id" quiet text=${() => all.current} /></p>
            ${all.recorded.length === 0 ? html`<${Empty} title="No snapshot is recorded" icon="snapshots">
                    <p>One is recorded when a context pack is made, and after a sync.</p></${Empty}>`
                : html`<${List} snapshots=${all.recorded} again=${snapshots.again} from=${from} to=${to} />`}
            ${from && to && html`<${Compared} from=${from} to=${to} />`}`}</${Answered}></div>`;
}

/** @param {{snapshots: any[], again: () => void, from?: string, to?: string}} props */
function List({ snapshots, again, from, to }) {
    const hint = snapshots.length > 1 ? "Choose two to compare." : "With two or more, they can be compared.";
    const loose = snapshots.filter((one) => !one.pinned && !one.current).length;
    return html`<table class="stacked snapshots"><thead><tr>${snapshots.length > 1 && html`<th>Compare</th>`}<th>Id</th><th>Made</th><th class="number">Documents</th>
            <th class="number">With vectors</th><th class="number">Size</th><th>Commits</th><th><span class="hidden">Actions</span></th></tr></thead>
        <tbody>${snapshots.map((one) => html`<${Row} key=${one.id} one=${one} again=${again} from=${from} to=${to} isOnly=${snapshots.length === 1} />`)}</tbody></table>
        <p class="row"><span class="muted small">${from && to ? "" : hint}</span>
        ${loose > 0 && html`<${Change} label=${`Delete old snapshots (${loose})`} needs="admin" title="All that are neither pinned nor current" icon="trash"
            danger word="delete" question="They cannot be recreated, and context packs may name them." done="The snapshots are deleted" then=${again}
            run=${() => ask("prune-snapshots", { keep: 1 })} />`}</p>`;
}

/** @param {{one: any, again: () => void, from?: string, to?: string, isOnly: boolean}} props `isOnly`: there is none to compare it with */
function Row({ one, again, from, to, isOnly }) {
    const id = one.id.slice(0, 12);
    const choice = (/** @type {string} */ name, /** @type {string | undefined} */ chosen) => html`<label class="small"><input type="radio" name=${name}
        aria-label=${`Compare ${name} ${id}`} checked=${chosen === one.id} onChange=${() => setQuery({ [name]: one.id })} /> ${name}</label> `;
    return html`<tr>
        ${!isOnly && html`<td class="tight compare-choice">${choice("from", from)}${choice("to", to)}</td>`}
        <td><code title=${one.id}>${id}</code> ${one.current && html`<span class="badge good">current</span>`}
            ${one.pinned && html` <span class="badge"><${Icon} name="pin" /> pinned</span>`}
            ${one.status === "failed" && html` <span class="badge failed" title=${one.last_error}>failed</span>`}</td>
        <td><${Ago} at=${one.created_at} /> <span class="muted small">in ${took(one.duration_ms)}</span></td>
        <td class="number" data-label="documents">${number(one.documents)}</td><td class="number" data-label="with vectors">${number(one.embedded)}</td>
        <td class="number tight" data-label="size">${size(one.contents_bytes)}</td>
        <td class="small snapshot-commits"><${Commits} commits=${one.commits} /></td>
        <td class="tight"><${Change} label=${one.pinned ? "Unpin" : "Pin"} needs="admin" icon="pin" then=${again}
            run=${() => ask("pin-snapshot", { id: one.id, pinned: !one.pinned })} /></td></tr>`;
}

/** @param {{commits: any[]}} props */
function Commits({ commits }) {
    const others = commits.slice(COMMITS);
    return html`${commits.slice(0, COMMITS).map((commit) => html`<div><${Ref} id=${`${commit.project}@${commit.sha}`} icon=${false} /></div>`)}
        ${others.length > 0 && html`<div class="muted" title=${others.map((commit) => commit.project).join(", ")}>and ${others.length} more</div>`}`;
}

/** @param {{from: string, to: string}} props */
function Compared({ from, to }) {
    const asked = useAsk("compare-snapshots", { from, to, limit: LIMIT });
    return html`<section><h2>Compared</h2><${Answered} of=${asked} lines=${6}>${(/** @type {any} */ found) => html`
        <p class="muted">${counted(found.unchanged, "document")} did not change.</p>
        <div class="compare"><${Side} title="Added" difference=${found.added} /><${Side} title="Changed" difference=${found.changed} />
            <${Side} title="Removed" difference=${found.removed} /></div>`}</${Answered}></section>`;
}

/** @param {{title: string, difference: any}} props */
function Side({ title, difference }) {
    const [all, setAll] = useState(false);
    const { count, documents } = difference;
    const row = (/** @type {string} */ id) => html`<li class="cut"><${Ref} id=${id} /></li>`;
    return html`<section class="card"><header class="card-head"><h3>${title}</h3><span class="numeric">${number(count)}</span></header>
        <div class="card-body">
        ${count === 0 ? html`<p class="muted small">None</p>` : html`<ul>${documents.slice(0, all ? LIMIT : SHOWN).map(row)}</ul>`}
        ${!all && documents.length > SHOWN && html`<button type="button" class="small quiet" onClick=${() => setAll(true)}
            >Show ${documents.length - SHOWN} more</button>`}</div></section>`;
}
