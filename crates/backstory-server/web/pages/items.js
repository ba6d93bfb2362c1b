// Issues and merge requests, the one changed last first.

import { html } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, Notice } from "../parts/state.js";
import { Ago } from "../parts/time.js";
import { Person, StateBadge } from "../parts/thread.js";
import { ProjectSelect, useProjects } from "../parts/project-select.js";
import { More, usePages } from "../parts/pages.js";
import { useRows } from "../parts/rows.js";
import { Ref, addressOf, parse } from "../parts/ref.js";
import { useAsk } from "../asking.js";
import { useKeys } from "../keys.js";
import { go, place, setQuery } from "../router.js";

/** Rows of a page. */
const LIMIT = 50;
/** States by kind. */
const STATES = { issue: ["opened", "closed"], merge_request: ["opened", "merged", "closed"] };
/** What the rows are called. */
const NAMES = { issue: "issues", merge_request: "merge requests" };

/** The screen. */
export function Screen() {
    const query = place.value.query;
    const kind = query.get("kind") === "merge_request" ? "merge_request" : "issue";
    const filter = { project: query.get("project"), state: query.get("state"), author: query.get("author"), label: query.get("label") };
    const request = { kind, filter, limit: LIMIT, after: null };
    const asked = useAsk("threads", request, { keepLast: (last) => last.kind === kind });
    const of = filter.project ? `&project=${encodeURIComponent(filter.project)}` : "";
    return html`<div class="screen">
        <div class="screen-head"><h1>Issues & requests</h1></div>
        <nav class="tabs" aria-label="Kind">${[["issue", "Issues"], ["merge_request", "Merge requests"]].map(([value, label]) => html`
            <a href=${`/ui/items?kind=${value}${of}`} aria-current=${kind === value ? "page" : undefined}>${label}</a>`)}</nav>
        <${Filters} filter=${filter} kind=${kind} />
        <${Answered} of=${asked} lines=${12}>${(/** @type {any} */ list) => html`
            <${List} key=${JSON.stringify(asked.request)} first=${list} request=${asked.request} />`}</${Answered}>
    </div>`;
}

/** @param {{filter: any, kind: "issue" | "merge_request"}} props */
function Filters({ filter, kind }) {
    const { projects } = useProjects();
    /** @param {string} name */
    const field = (name) => {
        const submit = (/** @type {any} */ event) => {
            event.preventDefault();
            setQuery({ [name]: event.target.elements[0].value.trim() });
        };
        return html`<form onSubmit=${submit}><input type="text" key=${filter[name]} defaultValue=${filter[name] ?? ""} placeholder=${name}
            aria-label=${`Only this ${name}`} /></form>`;
    };
    const state = (/** @type {string} */ value) => html`<button type="button" class="chip" aria-pressed=${(filter.state ?? "") === value}
        onClick=${() => setQuery({ state: value })}>${value === "" ? "any state" : value === "opened" ? "open" : value}</button>`;
    return html`<div class="row filters no-print">
        <${ProjectSelect} projects=${projects} value=${filter.project} all />
        ${["", ...STATES[kind]].map(state)}
        ${["author", "label"].map(field)}
        ${(filter.author || filter.label) && html`<button type="button" class="quiet small" onClick=${() => setQuery({ author: null, label: null })}
            ><${Icon} name="close" /> clear</button>`}
    </div>`;
}

/** @param {{first: any, request: any}} props */
function List({ first, request }) {
    const pages = usePages("threads", first, (pages) => (pages.at(-1).next ? { ...request, after: pages.at(-1).next } : null));
    const threads = pages.pages.flatMap((page) => page.threads);
    const rows = useRows(threads.length, { more: pages.show });
    const current = threads[rows.chosen];
    useKeys("List", [
        { keys: "j", label: "Next", run: () => rows.move(1) },
        { keys: "k", label: "Previous", run: () => rows.move(-1) },
        { keys: "o", label: "Open", run: () => current && go(addressOf(current.id)) },
    ]);
    if (!threads.length) return html`<${Nothing} warnings=${first.warnings ?? []} request=${request} />`;
    return html`<ul class="thread-list" ref=${rows.ref} onFocusCapture=${rows.onFocusCapture}>${threads.map((thread, number) => html`
            <${Row} key=${thread.id} thread=${thread} row=${number} chosen=${number === rows.chosen} project=${request.filter.project} />`)}</ul>
        <${More} of=${pages} />`;
}

/** @param {{thread: any, row: number, chosen: boolean, project: string | null}} props */
function Row({ thread, row, chosen, project }) {
    const own = parse(thread.id).project;
    return html`<li class=${chosen ? "chosen" : ""} data-row=${row}>
        <${StateBadge} state=${thread.state} />
        <div><p><a class="thread-title row-link" href=${addressOf(thread.id)}>${thread.title}</a> ${thread.labels.map((/** @type {string} */ label) => html`
            <span class="label">${label}</span> `)}</p>
        <p class="byline"><${Ref} id=${thread.id} icon=${false} project=${project ?? undefined} /><${Person} name=${thread.author} />
            <span>changed <${Ago} at=${thread.updated_at} /></span>${own !== project && html`<span>${own}</span>`}</p></div></li>`;
}

/** @param {{warnings: string[], request: any}} props */
function Nothing({ warnings, request }) {
    const { kind, filter } = request;
    const name = NAMES[/** @type {"issue"} */ (kind)];
    const isFiltered = Object.values(filter).some(Boolean);
    const status = useAsk("sync-status", { runs: 1 });
    const ofForge = (status.answer?.projects ?? []).filter((/** @type {any} */ one) => !filter.project || one.path === filter.project);
    if (status.answer && !ofForge.length) {
        return html`<${Empty} title=${`No forge is connected${filter.project ? ` to ${filter.project}` : ""}`} icon=${kind}>
            <p>${NAMES[/** @type {"issue"} */ (kind)].replace(/^./, (letter) => letter.toUpperCase())} come from a forge such as GitLab or GitHub:
                <code>backstory init</code> on the server's machine connects one.</p></${Empty}>`;
    }
    return html`${warnings.map((text) => html`<${Notice} tone="warn">${text}</${Notice}>`)}
        <${Empty} title=${isFiltered ? `No ${name} match` : `There are no ${name} yet`} icon=${kind}>
            <p>${isFiltered && "Remove a filter, or "}<a href="/">${isFiltered ? "sync" : "Sync"} a project</a>.</p></${Empty}>`;
}
