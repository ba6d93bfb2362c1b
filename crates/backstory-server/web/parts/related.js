// What is beside the history of a file or symbol: what changes with it, who knows it, what calls and tests it.

import { html, counted, percent } from "./html.js";
import { Answered } from "./state.js";
import { Ref, encode, parse } from "./ref.js";
import { edgeName } from "./edges.js";
import { useNames } from "./names.js";
import { useAsk } from "../asking.js";

/** Rows of each list. */
const ROWS = 12;
/** Neighbors that are asked for. */
const NEIGHBORS = 60;
/** Edges by which files and symbols are described: what their ends are called, seen from the start and from the end. */
const EDGES = new Map([
    ["VERIFIED_BY", ["Tested by", "Tests"]],
    ["IMPORTS", ["Imports", "Imported by"]],
    ["CALLS", ["Calls", "Called by"]],
]);

/** @param {{id: string}} props */
export function CoChanges({ id }) {
    const asked = useAsk("co-change", { id, limit: ROWS });
    return html`<section><h2 class="side-title">Changes with</h2><${Answered} of=${asked} lines=${4}>${(/** @type {any} */ found) =>
        found.changed.length === 0 ? html`<p class="muted small">Nothing is known to change with it.</p>`
            : html`<ul>${found.changed.map((/** @type {any} */ one) => html`<${CoChange} key=${one.id} one=${one} project=${parse(id).project} />`)}</ul>`
    }</${Answered}></section>`;
}

/** @param {{one: any, project: string}} props */
function CoChange({ one, project }) {
    return html`<li class="row spread beside"><span class="cut"><${Ref} id=${one.id} project=${project} /></span>
        <span class="muted small numeric" title=${`${counted(one.support, "commit")} changed both`}>${percent(one.confidence)}</span></li>`;
}

/** @param {{id: string}} props */
export function Contributors({ id }) {
    const node = parse(id);
    const asked = useAsk("contributors", { project: node.project, path: node.path, limit: ROWS });
    const nameOf = useNames((asked.answer?.people ?? []).map((/** @type {any} */ one) => one.person));
    return html`<section><h2 class="side-title">Who knows it</h2><${Answered} of=${asked} lines=${4}>${(/** @type {any} */ found) => html`
        <ul>${found.people.map((/** @type {any} */ one) => html`<${Contributor} key=${one.person} one=${one} name=${nameOf(one.person)} />`)}</ul>`}</${Answered}></section>`;
}

/** @param {{one: any, name: string}} props */
function Contributor({ one, name }) {
    const knows = one.lines === null ? counted(one.commits, "commit") : counted(one.lines, "line");
    return html`<li class="row spread beside"><span class="cut"><${Ref} id=${one.person} title=${name} icon=${false} /></span>
        <span class="muted small numeric" title=${`${counted(one.commits, "commit")}, ${counted(one.reviews, "review")}`}>${knows}</span></li>`;
}

/** @param {{id: string}} props */
export function Related({ id }) {
    const node = parse(id);
    const edges = node.kind === "entity" ? [...EDGES.keys()] : ["VERIFIED_BY", "IMPORTS"];
    const asked = useAsk("neighborhood", { id, depth: 1, edges, limit: NEIGHBORS });
    return html`<${Answered} of=${asked} lines=${6}>${(/** @type {any} */ found) => {
        /** @type {Map<string, Set<string>>} */
        const groups = new Map();
        for (const { edge, from, to } of found.edges) {
            const title = EDGES.get(edge)?.[from === id ? 0 : 1] ?? edgeName(edge);
            groups.set(title, (groups.get(title) ?? new Set()).add(from === id ? to : from));
        }
        return [...groups].map(([title, ids]) => html`<${Group} key=${title} title=${title} ids=${[...ids]} id=${id} />`);
    }}</${Answered}>`;
}

/** @param {{title: string, ids: string[], id: string}} props */
function Group({ title, ids, id }) {
    const row = (/** @type {string} */ other) => html`<li class="cut"><${Ref} id=${other} project=${parse(id).project} /></li>`;
    return html`<section><h2 class="side-title">${title}</h2><ul>${ids.slice(0, ROWS).map(row)}</ul>
        ${ids.length > ROWS && html`<p class="small muted">${ids.length - ROWS} more in the <a href=${`/ui/graph/${encode(id)}`}>graph</a></p>`}</section>`;
}
