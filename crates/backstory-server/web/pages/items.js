// Issues and merge requests, the one changed last first.

import { html, useEffect, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, Failed, Notice } from "../parts/state.js";
import { Ago } from "../parts/time.js";
import { Person, StateBadge } from "../parts/thread.js";
import { ProjectSelect, useProjects } from "../parts/project-select.js";
import { Ref, addressOf, parse } from "../parts/ref.js";
import { ask, useAsk } from "../api.js";
import { useKeys } from "../keys.js";
import { go, place, setQuery } from "../router.js";

/** Rows of a page. */
const LIMIT = 50;
/** States by kind. */
const STATES = { issue: ["opened", "closed"], merge_request: ["opened", "merged", "closed"] };

/** The screen. */
export function Screen() {
    const query = place.value.query;
    const kind = query.get("kind") === "merge_request" ? "merge_request" : "issue";
    const filter = { project: query.get("project"), state: query.get("state"), author: query.get("author"), label: query.get("label") };
    const request = { kind, filter, limit: LIMIT, after: null };
    const asked = useAsk("threads", request);
    return html`<div class="screen">
        <div class="screen-head"><h1>Issues and merge requests</h1></div>
        <nav class="tabs" aria-label="Kind">${[["issue", "Issues"], ["merge_request", "Merge requests"]].map(([value, label]) => html`
            <a href=${`/ui/items?kind=${value}${filter.project ? `&project=${encodeURIComponent(filter.project)}` : ""}`} aria-current=${kind === value ? "page" : undefined}>${label}</a>`)}</nav>
        <${Filters} filter=${filter} kind=${kind} />
        <${Answered} of=${asked} lines=${12}>${(/** @type {any} */ list) => html`<${List} key=${JSON.stringify(request)} first=${list} request=${request} />`}</${Answered}>
    </div>`;
}

/** @param {{filter: any, kind: "issue" | "merge_request"}} props */
function Filters({ filter, kind }) {
    const { projects } = useProjects();
    return html`<div class="row filters no-print">
        <${ProjectSelect} projects=${projects} value=${filter.project} all />
        ${["", ...STATES[kind]].map((state) => html`<button type="button" class="chip" aria-pressed=${(filter.state ?? "") === state} onClick=${() => setQuery({ state })}>${state === "" ? "any state" : state === "opened" ? "open" : state}</button>`)}
        ${["author", "label"].map((name) => html`<form onSubmit=${(/** @type {any} */ event) => {
            event.preventDefault();
            setQuery({ [name]: event.target.elements[0].value.trim() });
        }}><input type="text" key=${filter[name]} defaultValue=${filter[name] ?? ""} placeholder=${name} aria-label=${`Only this ${name}`} /></form>`)}
        ${(filter.author || filter.label) && html`<button type="button" class="quiet small" onClick=${() => setQuery({ author: null, label: null })}><${Icon} name="close" /> clear</button>`}
    </div>`;
}

/** @param {{first: any, request: any}} props */
function List({ first, request }) {
    const [more, setMore] = useState(/** @type {any[]} */ ([]));
    const [error, setError] = useState(/** @type {any} */ (null));
    const [chosen, setChosen] = useState(-1);
    useEffect(() => setMore([]), [first]);
    const pages = [first, ...more];
    const rows = pages.flatMap((page) => page.threads);
    const next = pages.at(-1).next;
    const move = (/** @type {number} */ step) => setChosen(Math.min(Math.max(chosen + step, 0), rows.length - 1));
    useKeys("List", [
        { keys: "j", label: "Next", run: () => move(1) },
        { keys: "k", label: "Previous", run: () => move(-1) },
        { keys: "o", label: "Open", run: () => rows[chosen] && go(addressOf(rows[chosen].id)) },
    ]);
    if (!rows.length) return html`${(first.warnings ?? []).map((/** @type {string} */ text) => html`<${Notice} tone="warn">${text}</${Notice}>`)}<${Empty} title="Nothing meets these conditions" icon="issue"><p>Take a filter off, or <a href="/">sync a project</a>.</p></${Empty}>`;
    return html`<ul class="thread-list">${rows.map((thread, number) => html`<li class=${number === chosen ? "chosen" : ""} key=${thread.id}>
            <${StateBadge} state=${thread.state} />
            <div><p><a class="thread-title" href=${addressOf(thread.id)}>${thread.title}</a> ${thread.labels.map((/** @type {string} */ label) => html`<span class="label">${label}</span> `)}</p>
            <p class="byline"><${Ref} id=${thread.id} icon=${false} project=${request.filter.project ?? undefined} /><${Person} name=${thread.author} />
                <span>changed <${Ago} at=${thread.updated_at} /></span>${parse(thread.id).project !== request.filter.project && html`<span>${parse(thread.id).project}</span>`}</p></div></li>`)}</ul>
        ${error && html`<${Failed} error=${error} />`}
        ${next && html`<button type="button" onClick=${() => ask("threads", { ...request, after: next }).then((page) => setMore([...more, page]), setError)}>Show more</button>`}`;
}
