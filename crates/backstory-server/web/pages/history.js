// What changed in a file or a symbol, through what, and what changes with it.

import { html, counted, useEffect, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, adviceOf } from "../parts/state.js";
import { Ago } from "../parts/time.js";
import { Ref, encode, fileAddress, isReference, parse, shorten } from "../parts/ref.js";
import { Sparkline } from "../parts/sparkline.js";
import { ProjectSelect, chosenProject, useProjects } from "../parts/project-select.js";
import { More, usePages } from "../parts/pages.js";
import { ChangeRow, ChangesTable, Recent, Removed } from "../parts/recent.js";
import { CoChanges, Contributors, Related } from "../parts/related.js";
import { useAsk } from "../asking.js";
import { go, place, restOf, setQuery } from "../router.js";

/** Changes of a page. */
const LIMIT = 50;
/** Symbols of a name that are listed. */
const SYMBOLS = 20;

/** The screen. */
export function Screen() {
    const id = restOf(place.value.path, "/ui/history");
    useEffect(() => {
        document.title = `${id ? `History of ${shorten(id)}` : "History"} · backstory`;
    }, [id]);
    return html`<div class="screen"><div class="screen-head"><h1>History</h1>${id && html`<p><${Ref} id=${id} /></p>`}</div>
        <${Find} key=${id} id=${id} />
        ${id ? html`<${Of} key=${id} id=${id} />` : html`<${Lately} />`}</div>`;
}

/** @param {{id: string}} props */
function Of({ id }) {
    const { kind } = parse(id);
    const first = useAsk("history", { id, skip: 0, limit: LIMIT });
    return html`<div class="item-layout">
        <div>${kind === "entity" && html`<${Entity} id=${id} />`}
            <${Answered} of=${first} lines=${12}>${(/** @type {any} */ page) => html`<${Changes} id=${id} first=${page} />`}</${Answered}></div>
        ${(kind === "file" || kind === "entity") && html`<aside class="item-side"><${CoChanges} id=${id} />
            ${kind === "file" && html`<${Contributors} id=${id} />`}<${Related} id=${id} /></aside>`}</div>`;
}

/** What changed lately in a project, or what was removed, where the address does not say of what. */
function Lately() {
    const { asked, projects } = useProjects();
    const project = chosenProject(projects);
    const text = place.value.query.get("removed") ?? "";
    return html`<${Answered} of=${asked} lines=${12}>${() => {
        if (!project) return html`<${Empty} title="Nothing is indexed yet" icon="history"><p><a href="/">Add a repository</a> first.</p></${Empty}>`;
        return html`<div class="stack"><${LatelyBar} projects=${projects} project=${project} text=${text} />
            ${text ? html`<${Removed} project=${project} text=${text} />` : html`<${Recent} project=${project} />`}</div>`;
    }}</${Answered}>`;
}

/** @param {{projects: string[], project: string, text: string}} props */
function LatelyBar({ projects, project, text }) {
    /** @param {any} event */
    function submit(event) {
        event.preventDefault();
        setQuery({ removed: event.target.elements.removed.value.trim() });
    }
    return html`<div class="row filters no-print">
        ${projects.length > 1 && html`<${ProjectSelect} projects=${projects} value=${project} />`}
        <form class="row" onSubmit=${submit}><input type="text" name="removed" class="wide" key=${text} defaultValue=${text}
            aria-label="What was removed" placeholder="what was removed: a text or a symbol" spellcheck=${false} />
            <button type="submit">Find its removal</button>
        ${text && html`<button type="button" class="quiet small" onClick=${() => setQuery({ removed: null })}
            ><${Icon} name="close" /> latest changes</button>`}</form></div>`;
}

/** @param {{id: string}} props */
function Find({ id }) {
    const [name, setName] = useState("");
    const found = useAsk("entity", name ? { name, project: null, limit: SYMBOLS } : null);
    const isMissing = name && found.error?.code === "NOT_FOUND";
    /** @param {any} event */
    function submit(event) {
        event.preventDefault();
        const text = event.target.elements.name.value.trim();
        if (isReference(text)) go(`/ui/history/${encode(text)}`);
        else setName(text);
    }
    return html`<form class="row graph-bar no-print" onSubmit=${submit}>
            <input type="text" name="name" defaultValue=${id} aria-label="Symbol or file" placeholder="a symbol, or acme/shop:src/a.rs" spellcheck=${false} />
            <button type="submit">Find</button></form>
        ${isMissing ? html`<${NoSymbol} name=${name} error=${found.error} />`
            : name && html`<${Answered} of=${found} lines=${2}>${(/** @type {any[]} */ all) => all.length === 0 ? html`<${NoSymbol} name=${name} />`
            : html`<ul class="stack found">${all.map((entity) => html`<${Found} key=${entity.id} entity=${entity} />`)}</ul>`}</${Answered}>`}`;
}

/** @param {{name: string, error?: any}} props */
function NoSymbol({ name, error }) {
    return html`<div class="row filters"><span class="muted" role="status">No symbol is called ${name} now. ${error && adviceOf(error)}</span>
        <button type="button" class="small" onClick=${() => go(removedAddress(name))}>Find its removal</button></div>`;
}

/**
 * Where the removal of something is looked for, in the project that is shown.
 * @param {string} text
 */
function removedAddress(text) {
    const query = new URLSearchParams(place.value.query);
    query.set("removed", text);
    return `/ui/history?${query}`;
}

/** @param {{entity: any}} props */
function Found({ entity }) {
    const kind = entity.kind?.replaceAll("_", " ") ?? "symbol";
    return html`<li class="row"><${Icon} name="entity" /><a href=${`/ui/history/${encode(entity.id)}`}>${entity.name}</a>
        <span class="muted small">${kind} in ${entity.path}${entity.current ? "" : ", gone"}</span></li>`;
}

/** @param {{id: string}} props */
function Entity({ id }) {
    const asked = useAsk("entity", { name: id, project: null, limit: 1 });
    return html`<${Answered} of=${asked} lines=${3}>${(/** @type {any[]} */ all) => {
        const entity = all.find((one) => one.id === id);
        return entity ? html`<${EntityCard} entity=${entity} />` : null;
    }}</${Answered}>`;
}

/** @param {{entity: any}} props */
function EntityCard({ entity }) {
    const { lines } = entity;
    return html`<section class="card card-body stack entity-card">
        ${entity.signature && html`<pre class="snippet" tabindex="0">${entity.signature}</pre>`}
        ${entity.doc && html`<p>${entity.doc}</p>`}
        <p class="byline"><span>${entity.kind?.replaceAll("_", " ")}</span>
            ${lines && html`<a href=${fileAddress(entity.project, entity.path, { lines })}>${entity.path}:${lines[0]}</a>`}
            ${!entity.current && html`<span class="badge warn">no longer there</span>`}
            ${entity.introduced && html`<span>introduced <${Ago} at=${entity.introduced.date} /></span>`}
            <a href=${`/ui/why/${encode(entity.id)}`}>why it is like this</a></p></section>`;
}

/** @param {{id: string, first: any}} props */
function Changes({ id, first }) {
    const pages = usePages("history", first, (pages) => {
        const skip = pages.reduce((sum, page) => sum + page.changes.length, 0);
        return pages.at(-1).has_more ? { id, skip, limit: LIMIT } : null;
    }, first.changes.at(-1)?.commit.sha);
    const { project } = parse(id);
    const changes = pages.pages.flatMap((page) => page.changes);
    if (!changes.length) return html`<${Empty} title="No change of it is indexed" icon="history" />`;
    const count = counted(changes.length, "change");
    const hasRequests = changes.some((change) => change.merge_requests.length > 0);
    return html`<${Sparkline} times=${changes.map((change) => change.commit.date)} label=${pages.hasMore ? `the latest ${count}` : count} />
        <${ChangesTable} hasRequests=${hasRequests}>${changes.map((change) => html`<${ChangeRow} key=${change.commit.sha} change=${change} project=${project}
            hasRequests=${hasRequests} mergeRequests=${change.merge_requests} badge=${change.kind === "modified" ? null : change.kind}
            as=${change.name === id ? null : shorten(change.name, project)} />`)}</${ChangesTable}>
        <${More} of=${pages} />`;
}
