// Search: hits with what belongs to them, how each was scored, and filters with counts.

import { html, classes, counted, useEffect, useMemo, useRef, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, Failed, Notice } from "../parts/state.js";
import { took } from "../parts/time.js";
import { ScoreLegend } from "../parts/score.js";
import { Facets, Chips } from "../parts/facets.js";
import { HitView } from "../parts/hit.js";
import { useGrowing } from "../parts/growing.js";
import { addressOf } from "../parts/ref.js";
import { ask, useAsk } from "../api.js";
import { useKeys } from "../keys.js";
import { go, place, setQuery } from "../router.js";

/** Hits of a page. */
const LIMIT = 20;
/** Hits that are drawn at first; the rest follows while there is nothing else to do. */
const FIRST = 5;
/** Titles that are offered to begin with. */
const OFFERED = 3;

/**
 * The filter that an address states.
 * @param {URLSearchParams} query
 */
export function filterOf(query) {
    return {
        kinds: list(query, "kind"), authors: list(query, "author"), labels: list(query, "label"), exclude: list(query, "exclude"), paths: list(query, "path"), languages: list(query, "language"),
        state: query.get("state") || null, project: query.get("project") || null,
        after: instant(query.get("after")), before: instant(query.get("before")),
    };
}

/**
 * @param {URLSearchParams} query
 * @param {string} name
 */
function list(query, name) {
    return query.get(name)?.split(",").filter(Boolean) ?? [];
}

/** @param {string | null} day */
function instant(day) {
    return day && /^\d{4}-\d\d-\d\d$/.test(day) ? `${day}T00:00:00Z` : null;
}

/** The screen. */
export function Screen() {
    const query = place.value.query;
    const text = query.get("q")?.trim() ?? "";
    const mode = query.get("mode") ?? "hybrid";
    const request = text ? { query: text, filter: filterOf(query), near: list(query, "near"), mode, limit: LIMIT, ranking: null, rerank: true, facets: true } : null;
    const asked = useAsk("search", request);
    useEffect(() => {
        document.title = text ? `${text} · Search · backstory` : "Search · backstory";
    }, [text]);
    if (!text) return html`<${Begin} />`;
    return html`<div class="screen search-screen">
        <div class="screen-head"><h1 class="cut">${text}</h1></div>
        <${Chips} />
        <${Answered} of=${asked} lines=${12}>${(/** @type {any} */ found) => html`<${Found} key=${JSON.stringify(request)} found=${found} text=${text} request=${request ?? {}} />`}</${Answered}>
    </div>`;
}

/** What can be written, by example. */
const FORMS = [["words", "found as they are and by their meaning"], ["a question", "why is this limit 25"], ["@alice", "what somebody wrote, with words or alone"], ["acme/shop#12", "that issue, and what is near it"], ["src/session.c", "what is said about a file"]];

function Begin() {
    const threads = useAsk("threads", { kind: "issue", filter: { project: null, state: null, author: null, label: null }, limit: OFFERED, after: null });
    const titles = (threads.answer?.threads ?? []).map((/** @type {any} */ one) => one.title);
    return html`<div class="screen"><div class="screen-head"><h1>Search</h1><p>By words and by meaning, over issues, merge requests, discussions, commits, code and documents.</p></div>
        <${Empty} title="What are you looking for?" icon="search"><p>Press <kbd>/</kbd> and write:</p>
        <dl class="forms">${FORMS.map(([form, meaning]) => html`<dt class="mono">${form}</dt><dd>${meaning}</dd>`)}</dl>
        ${titles.length > 0 && html`<p>Or try the words of an issue:</p><ul>${titles.map((/** @type {string} */ title) => html`<li><a href=${`/ui/search?q=${encodeURIComponent(title)}`}>${title}</a></li>`)}</ul>`}</${Empty}></div>`;
}

/** @param {{found: any, text: string, request: object}} props */
function Found({ found, text, request }) {
    const [more, setMore] = useState(/** @type {any[]} */ ([]));
    const [error, setError] = useState(/** @type {any} */ (null));
    const [chosen, setChosen] = useState(-1);
    const list = useRef(/** @type {HTMLElement | null} */ (null));
    const [open, setOpen] = useState(false);
    const pages = [found, ...more];
    const hits = pages.flatMap((page) => page.hits);
    const next = pages.at(-1).next ?? null;
    const drawn = useGrowing(hits.length, { first: FIRST, needed: chosen + 2 });
    useEffect(() => {
        setMore([]);
        setChosen(-1);
    }, [found]);
    const showMore = () => ask("search", { ...request, after: next, facets: false }).then((page) => setMore([...more, page]), setError);
    /** @param {number} step */
    function move(step) {
        const at = Math.min(Math.max(chosen + step, 0), hits.length - 1);
        if (chosen + step >= hits.length && next) showMore();
        setChosen(at);
        requestAnimationFrame(() => list.current?.querySelectorAll(".hit")[at]?.scrollIntoView({ block: "nearest" }));
    }
    const current = hits[chosen];
    const exclude = () => current && setQuery({ exclude: [...filterOf(place.value.query).exclude, current.id].join(",") });
    useKeys("Search", [
        { keys: "j", label: "Next hit", run: () => move(1) },
        { keys: "k", label: "Previous hit", run: () => move(-1) },
        { keys: "o", label: "Open the hit", run: () => current && go(addressOf(current.id)) },
        { keys: "Enter", label: "Open the hit", run: () => current && go(addressOf(current.id)) },
        { keys: "w", label: "Trace the hit", run: () => current && go(`/ui/why/${encodeURI(current.id).replaceAll("#", "%23")}`) },
        { keys: "x", label: "Leave the hit out", run: exclude },
        { keys: "e", label: "How candidates are ranked", run: () => go(`/ui/ranking?q=${encodeURIComponent(text)}`) },
    ]);
    if (!hits.length) return html`<${Nothing} found=${found} />`;
    return html`<div class="search-layout">
        <div ref=${list}>
            <p class="byline search-facts"><span>${next ? `the best ${hits.length}` : counted(hits.length, "result")}</span><span class="numeric">${took(found.took_ms)}</span>
                <span>${found.mode}</span><a href=${`/ui/ranking?q=${encodeURIComponent(text)}`}>how they are ranked</a>
                <button type="button" class="small filters-button no-print" aria-expanded=${open} onClick=${() => setOpen(!open)}><${Icon} name="filter" /> Filters</button></p>
            <${Notes} found=${found} />
            <ol class="hits">${hits.slice(0, drawn).map((/** @type {any} */ hit, /** @type {number} */ number) => html`
                <${HitView} key=${hit.id} hit=${hit} weights=${found.ranking.weights} query=${text} chosen=${number === chosen} />`)}</ol>
            ${error && html`<${Failed} error=${error} />`}
            ${next && html`<button type="button" onClick=${showMore}>Show more</button>`}
        </div>
        <aside class=${classes("search-side no-print", open && "open")}><${Facets} counted=${found.facets} /><${ScoreLegend} /></aside>
    </div>`;
}

/** @param {{found: any}} props */
function Notes({ found }) {
    const notes = useMemo(() => found.understood, [found]);
    return html`${notes.length > 0 && html`<p class="muted small"><${Icon} name="info" /> ${notes.join("; ")}</p>`}
        ${found.warnings.map((/** @type {string} */ warning) => html`<${Notice} tone="warn">${warning}</${Notice}>`)}`;
}

/** @param {{found: any}} props */
function Nothing({ found }) {
    const { documents, embedded } = found.coverage;
    const filtered = [...place.value.query.keys()].some((name) => name !== "q" && name !== "mode");
    return html`<${Empty} title="Nothing was found" icon="search">
        <p>${documents.toLocaleString("en")} documents were searched by words${found.mode === "lexical" ? "" : `, ${embedded.toLocaleString("en")} of them also by meaning`}.</p>
        <${Notes} found=${found} />
        <p class=${classes("row")}>${filtered && html`<button type="button" onClick=${() => go(`/ui/search?q=${encodeURIComponent(found.query)}`)}>Search without filters</button>`}
            <a class="button" href=${`/ui/ask?q=${encodeURIComponent(found.query)}`}>Ask it as a question</a></p></${Empty}>`;
}
