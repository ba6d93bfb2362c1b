// Search: hits with what belongs to them, how each was scored, and filters with counts.

import { html, classes, counted, number, useEffect, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, Notice } from "../parts/state.js";
import { took } from "../parts/time.js";
import { VectorsNote, withoutVectors } from "../parts/coverage.js";
import { ScoreLegend } from "../parts/score.js";
import { Facets, Chips } from "../parts/facets.js";
import { NARROWING, list, searchOf } from "../parts/filter.js";
import { useAuthors } from "../parts/names.js";
import { HitView } from "../parts/hit.js";
import { useGrowing } from "../parts/growing.js";
import { More, usePages } from "../parts/pages.js";
import { useRows } from "../parts/rows.js";
import { addressOf, encode } from "../parts/ref.js";
import { useAsk } from "../asking.js";
import { useKeys } from "../keys.js";
import { go, place, setQuery } from "../router.js";

/** Hits of a page. */
const LIMIT = 20;
/** Hits that are drawn at first; the rest follows while there is nothing else to do. */
const FIRST = 5;
/** Titles that are offered to begin with. */
const OFFERED = 3;

/** The screen. */
export function Screen() {
    const search = searchOf(place.value.query);
    const text = search.query;
    const request = text ? { ...search, limit: LIMIT, ranking: null, rerank: true, facets: true } : null;
    const asked = useAsk("search", request, { keepLast: () => true });
    useEffect(() => {
        document.title = text ? `${text} · Search · backstory` : "Search · backstory";
    }, [text]);
    if (!text) return html`<${Begin} />`;
    return html`<div class="screen search-screen">
        <div class="screen-head"><h1 class="cut">${text}</h1></div>
        <${Chips} />
        <${Answered} of=${asked} lines=${12}>${(/** @type {any} */ found) => html`
            <${Found} key=${JSON.stringify(asked.request)} found=${found} request=${asked.request} />`}</${Answered}>
    </div>`;
}

/** What can be written, by example. */
const FORMS = [
    ["words", "found as they are and by their meaning"],
    ["a question", "why is this limit 25"],
    ["@alice", "what somebody wrote, with words or alone"],
    ["acme/shop#12", "that issue, and what is near it"],
    ["src/session.c", "what is said about a file"],
];

function Begin() {
    const filter = { project: null, state: null, author: null, label: null };
    const threads = useAsk("threads", { kind: "issue", filter, limit: OFFERED, after: null });
    const titles = (threads.answer?.threads ?? []).map((/** @type {any} */ one) => one.title);
    const address = (/** @type {string} */ title) => `/ui/search?q=${encodeURIComponent(title)}`;
    return html`<div class="screen"><div class="screen-head"><h1>Search</h1>
            <p>By words and by meaning, over issues, merge requests, discussions, commits, code and documents.</p></div>
        <${Empty} title="What are you looking for?" icon="search"><p>Press <kbd>/</kbd> and write:</p>
        <dl class="forms">${FORMS.map(([form, meaning]) => html`<dt class="mono">${form}</dt><dd>${meaning}</dd>`)}</dl>
        ${titles.length > 0 && html`<p>Or try the words of an issue:</p>
            <ul>${titles.map((/** @type {string} */ title) => html`<li><a href=${address(title)}>${title}</a></li>`)}</ul>`}</${Empty}></div>`;
}

/** The address of the page that says how the same search is ranked. */
function rankingAddress() {
    return `/ui/ranking?${place.value.query}`;
}

/** @param {{found: any, request: any}} props */
function Found({ found, request }) {
    const [open, setOpen] = useState(false);
    const pages = usePages("search", found, (pages) => {
        const after = pages.at(-1).next;
        return after ? { ...request, after, facets: false } : null;
    });
    const hits = pages.pages.flatMap((page) => page.hits);
    const authorName = useAuthors(hits.map((/** @type {any} */ hit) => hit.author));
    const rows = useRows(hits.length, { more: pages.show });
    const drawn = useGrowing(hits.length, { first: FIRST, needed: rows.chosen + 2 });
    const current = hits[rows.chosen];
    const exclude = () => current && setQuery({ exclude: [...list(place.value.query, "exclude"), current.id].join(",") });
    useKeys("Search", [
        { keys: "j", label: "Next hit", run: () => rows.move(1) },
        { keys: "k", label: "Previous hit", run: () => rows.move(-1) },
        { keys: "o", label: "Open the hit", run: () => current && go(addressOf(current.id)) },
        { keys: "w", label: "Trace the hit", run: () => current && go(`/ui/why/${encode(current.id)}`) },
        { keys: "x", label: "Leave the hit out", run: exclude },
        { keys: "e", label: "How candidates are ranked", run: () => go(rankingAddress()) },
    ]);
    if (!hits.length) return html`<${Nothing} found=${found} />`;
    return html`<div class="search-layout">
        <div ref=${rows.ref} onFocusCapture=${rows.onFocusCapture}>
            <p class="byline search-facts"><span role="status">${pages.hasMore ? `the best ${hits.length}` : counted(hits.length, "result")}</span>
                <span class="numeric">${took(found.took_ms)}</span><span>${found.mode}</span><a href=${rankingAddress()}>how they are ranked</a>
                <button type="button" class="small filters-button no-print" aria-expanded=${open} onClick=${() => setOpen(!open)}
                    ><${Icon} name="filter" /> Filters</button></p>
            <${Notes} found=${found} />
            <ol class="hits">${hits.slice(0, drawn).map((/** @type {any} */ hit, /** @type {number} */ number) => html`
                <${HitView} key=${hit.id} hit=${hit} weights=${found.ranking.weights} query=${request.query} author=${hit.author && authorName(hit.author)} row=${number}
                    chosen=${number === rows.chosen} />`)}</ol>
            <${More} of=${pages} />
        </div>
        <aside class=${classes("search-side no-print", open && "open")}><${Facets} counted=${found.facets} /><${ScoreLegend} /></aside>
    </div>`;
}

/** @param {{found: any}} props */
function Notes({ found }) {
    return html`${found.understood.length > 0 && html`<p class="muted small"><${Icon} name="info" /> ${found.understood.join("; ")}</p>`}
        ${withoutVectors(found.warnings).length < found.warnings.length && html`<${VectorsNote} />`}
        ${withoutVectors(found.warnings).map((/** @type {string} */ warning) => html`<${Notice} tone="warn">${warning}</${Notice}>`)}`;
}

/** @param {{found: any}} props */
function Nothing({ found }) {
    const { documents, embedded } = found.coverage;
    const isFiltered = NARROWING.some((name) => place.value.query.get(name));
    const query = encodeURIComponent(found.query);
    const byMeaning = found.mode === "lexical" ? "" : `, ${number(embedded)} of them also by meaning`;
    return html`<${Empty} title="Nothing was found" icon="search">
        <p role="status">${counted(documents, "document")} ${documents === 1 ? "was" : "were"} searched by words${byMeaning}.</p>
        <${Notes} found=${found} />
        <p class="row">${isFiltered && html`<button type="button" onClick=${() => go(`/ui/search?q=${query}`)}>Search without filters</button>`}
            <a class="button" href=${`/ui/ask?q=${query}`}>Ask it as a question</a></p></${Empty}>`;
}
