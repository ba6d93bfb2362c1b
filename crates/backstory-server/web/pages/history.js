// What changed in a file or a symbol, through what, and what changes with it.

import { html, counted, useEffect, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, Failed } from "../parts/state.js";
import { Ago, Day } from "../parts/time.js";
import { Ref, addressOf, encode, fileAddress, parse, shorten } from "../parts/ref.js";
import { Sparkline } from "../parts/sparkline.js";
import { edgeName } from "../parts/edges.js";
import { ProjectSelect, chosenProject, useProjects } from "../parts/project-select.js";
import { Recent, Removed } from "../parts/recent.js";
import { ask, useAsk } from "../api.js";
import { go, place, restOf, setQuery } from "../router.js";

/** Changes of a page. */
const LIMIT = 50;
/** Neighbors by which a file is described. */
const RELATED = ["VERIFIED_BY", "IMPORTS"];
/** Rows of what is beside the changes. */
const BESIDE = 12;

/** The screen. */
export function Screen() {
    const id = restOf(place.value.path, "/ui/history");
    const node = parse(id);
    useEffect(() => {
        document.title = `${id ? `History of ${shorten(id)}` : "History"} · backstory`;
    }, [id]);
    return html`<div class="screen"><div class="screen-head"><h1>History</h1>${id && html`<p><${Ref} id=${id} /></p>`}</div>
        <${Find} id=${id} />
        ${!id ? html`<${Lately} />` : html`<div class="item-layout"><div>${node.kind === "entity" && html`<${Entity} id=${id} />`}<${Changes} key=${id} id=${id} /></div>
                <aside class="item-side"><${CoChanges} id=${id} />${node.kind === "file" && html`<${Contributors} id=${id} />`}<${Related} id=${id} /></aside></div>`}</div>`;
}

/** What changed lately in a project, or what was removed, where the address does not say of what. */
function Lately() {
    const { asked, projects } = useProjects();
    const project = chosenProject(projects);
    const text = place.value.query.get("removed") ?? "";
    return html`<${Answered} of=${asked} lines=${12}>${() => !project ? html`<${Empty} title="Nothing is indexed yet" icon="history"><p><a href="/">Add a repository</a> first.</p></${Empty}>`
        : html`<div class="stack"><div class="row filters no-print">${projects.length > 1 && html`<${ProjectSelect} projects=${projects} value=${project} />`}
            <form class="row" onSubmit=${(/** @type {any} */ event) => {
                event.preventDefault();
                setQuery({ removed: event.target.elements.removed.value.trim() });
            }}><input type="text" name="removed" class="wide" key=${text} defaultValue=${text} aria-label="What was removed" placeholder="what was removed: a text or a symbol" spellcheck=${false} /><button type="submit">Find its removal</button>
            ${text && html`<button type="button" class="quiet small" onClick=${() => setQuery({ removed: null })}><${Icon} name="close" /> latest changes</button>`}</form></div>
            ${text ? html`<${Removed} project=${project} text=${text} />` : html`<${Recent} project=${project} />`}</div>`}</${Answered}>`;
}

/** @param {{id: string}} props */
function Find({ id }) {
    const [name, setName] = useState("");
    const found = useAsk("entity", name ? { name, project: null, limit: 20 } : null);
    return html`<form class="row graph-bar no-print" onSubmit=${(/** @type {any} */ event) => {
        event.preventDefault();
        const text = event.target.elements.name.value.trim();
        if (/[:#!@]/.test(text)) go(`/ui/history/${encode(text)}`);
        else setName(text);
    }}><input type="text" name="name" key=${id} aria-label="Symbol or file" placeholder="a symbol, or acme/shop:src/a.rs" spellcheck=${false} /><button type="submit">Find</button></form>
    ${name && html`<${Answered} of=${found} lines=${2}>${(/** @type {any[]} */ all) => all.length === 0 ? html`<p class="muted">No symbol is called ${name}.</p>`
        : html`<ul class="stack">${all.map((entity) => html`<li class="row"><${Icon} name="entity" /><a href=${`/ui/history/${encode(entity.id)}`}>${entity.name}</a><span class="muted small">${entity.kind} in ${entity.path}${entity.current ? "" : ", gone"}</span></li>`)}</ul>`}</${Answered}>`}`;
}

/** @param {{id: string}} props */
function Entity({ id }) {
    const node = parse(id);
    const asked = useAsk("entity", { name: node.name, project: node.project, limit: 20 });
    return html`<${Answered} of=${asked} lines=${3}>${(/** @type {any[]} */ all) => {
        const entity = all.find((one) => one.id === id) ?? all[0];
        if (!entity) return null;
        return html`<section class="card card-body stack entity-card">${entity.signature && html`<pre class="snippet" tabindex="0">${entity.signature}</pre>`}
            ${entity.doc && html`<p>${entity.doc}</p>`}
            <p class="byline"><span>${entity.kind?.replace("_", " ")}</span>${entity.lines && html`<a href=${fileAddress(entity.project, entity.path, { lines: entity.lines })}>${entity.path}:${entity.lines[0]}</a>`}
                ${!entity.current && html`<span class="badge warn">no longer there</span>`}
                ${entity.introduced && html`<span>introduced <${Ago} at=${entity.introduced.date} /></span>`}<a href=${`/ui/why/${encode(id)}`}>why it is like this</a></p></section>`;
    }}</${Answered}>`;
}

/** @param {{id: string}} props */
function Changes({ id }) {
    const first = useAsk("history", { id, skip: 0, limit: LIMIT });
    const [more, setMore] = useState(/** @type {any[]} */ ([]));
    const [error, setError] = useState(/** @type {any} */ (null));
    const project = parse(id).project;
    return html`<${Answered} of=${first} lines=${12}>${(/** @type {any} */ page) => {
        const pages = [page, ...more];
        const changes = pages.flatMap((one) => one.changes);
        if (!changes.length) return html`<${Empty} title="No change of it is indexed" icon="history" />`;
        return html`<${Sparkline} times=${changes.map((change) => change.commit.date)} label=${pages.at(-1).has_more ? `the latest ${counted(changes.length, "change")}` : counted(changes.length, "change")} />
            <table class="stacked"><thead><tr><th>When</th><th>Change</th><th>Author</th><th>Through</th><th class="number">Lines</th></tr></thead><tbody>
            ${changes.map((change) => html`<tr key=${change.commit.sha}><td class="tight"><${Day} at=${change.commit.date} /></td>
                <td><a href=${addressOf(change.commit.id)}>${change.commit.title}</a>${change.kind !== "modified" && html` <span class="badge">${change.kind}</span>`}${change.name !== id && html` <span class="muted small">as ${shorten(change.name, project)}</span>`}</td>
                <td class="tight">${change.commit.author}</td><td class="tight">${change.merge_requests.map((/** @type {string} */ one) => html`<${Ref} id=${one} project=${project} /> `)}</td>
                <td class="number tight">${change.insertions !== null && html`<span class="added">+${change.insertions}</span> <span class="removed">−${change.deletions ?? 0}</span>`}</td></tr>`)}</tbody></table>
            ${error && html`<${Failed} error=${error} />`}
            ${pages.at(-1).has_more && html`<button type="button" onClick=${() => ask("history", { id, skip: changes.length, limit: LIMIT }).then((next) => setMore([...more, next]), setError)}>Show more</button>`}`;
    }}</${Answered}>`;
}

/** @param {{id: string}} props */
function Related({ id }) {
    const node = parse(id);
    const edges = node.kind === "entity" ? [...RELATED, "CALLS"] : RELATED;
    const asked = useAsk("neighborhood", { id, depth: 1, edges, limit: 60 });
    if (asked.error) return null;
    return html`<${Answered} of=${asked} lines=${6}>${(/** @type {any} */ found) => {
        /** @type {Map<string, string[]>} */
        const groups = new Map();
        for (const edge of found.edges) {
            const leaves = edge.from === id;
            const title = leaves ? { VERIFIED_BY: "Tested by", IMPORTS: "Imports", CALLS: "Calls" }[/** @type {"CALLS"} */ (edge.edge)] : { VERIFIED_BY: "Tests", IMPORTS: "Imported by", CALLS: "Called by" }[/** @type {"CALLS"} */ (edge.edge)];
            const key = title ?? edgeName(edge.edge);
            const other = leaves ? edge.to : edge.from;
            if (!(groups.get(key) ?? []).includes(other)) groups.set(key, [...(groups.get(key) ?? []), other]);
        }
        return [...groups].map(([title, ids]) => html`<section><h2 class="side-title">${title}</h2><ul>${ids.slice(0, BESIDE).map((other) => html`<li class="cut"><${Ref} id=${other} project=${node.project} /></li>`)}</ul>${ids.length > BESIDE && html`<p class="small muted">${ids.length - BESIDE} more in the <a href=${`/ui/graph/${encode(id)}`}>graph</a></p>`}</section>`);
    }}</${Answered}>`;
}

/** @param {{id: string}} props */
function CoChanges({ id }) {
    const node = parse(id);
    const asked = useAsk("co-change", { id, limit: BESIDE });
    if (asked.error) return null;
    return html`<section><h2 class="side-title">Changes with</h2><${Answered} of=${asked} lines=${4}>${(/** @type {any} */ found) => found.changed.length === 0 ? html`<p class="muted small">Nothing is known to change with it.</p>`
        : html`<ul>${found.changed.map((/** @type {any} */ one) => html`<li class="row spread beside"><span class="cut"><${Ref} id=${one.id} project=${node.project} /></span>
            <span class="muted small numeric" title=${`${counted(one.support, "commit")} changed both`}>${Math.round(one.confidence * 100)} %</span></li>`)}</ul>`}</${Answered}></section>`;
}

/** @param {{id: string}} props */
function Contributors({ id }) {
    const node = parse(id);
    const asked = useAsk("contributors", { project: node.project, path: node.path, limit: BESIDE });
    if (asked.error) return null;
    return html`<section><h2 class="side-title">Who knows it</h2><${Answered} of=${asked} lines=${4}>${(/** @type {any} */ found) => html`<ul>${found.people.map((/** @type {any} */ one) => html`<li class="row spread beside"><span class="cut"><${Ref} id=${one.person} icon=${false} /></span>
        <span class="muted small numeric" title=${`${counted(one.commits, "commit")}, ${counted(one.reviews, "review")}`}>${one.lines === null ? counted(one.commits, "commit") : counted(one.lines, "line")}</span></li>`)}</ul>`}</${Answered}></section>`;
}
