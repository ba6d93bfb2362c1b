// Filters of a search: what is set, as chips that can be taken off, and what could be set, with counts.

import { html, number } from "./html.js";
import { NARROWING } from "./filter.js";
import { Icon } from "./icons.js";
import { useAuthors } from "./names.js";
import { kindName } from "./ref.js";
import { place, setQuery } from "../router.js";

/** Values of a facet that are shown. */
const SHOWN = 8;
/** States, and years since when, that can be chosen. */
const STATES = ["opened", "merged", "closed"];
const YEARS = 6;
/** @type {Record<string, string>} */
const TITLES = { kind: "Kind", project: "Project", author: "Author", label: "Label", path: "Path" };
/** Filters that hold one value only. */
const SINGLE = new Set(["project", "state", "year", "path"]);

/**
 * What could be set, with counts over the candidates of the search.
 * @param {{counted: any}} props
 */
export function Facets({ counted }) {
    const facets = (counted?.facets ?? []).filter((/** @type {any} */ facet) => facet.values.length > 1 || isSet(facet.name));
    const authors = facets.find((/** @type {any} */ facet) => facet.name === "author")?.values.slice(0, SHOWN) ?? [];
    const authorName = useAuthors(authors.map((/** @type {any} */ one) => one.value));
    const labelOf = (/** @type {string} */ name, /** @type {string} */ value) =>
        name === "kind" ? kindName(value) : name === "author" ? authorName(value) : value;
    const years = Array.from({ length: YEARS }, (_, back) => String(new Date().getFullYear() - back));
    return html`<div class="facets" role="group" aria-label="Filters">
        ${facets.map((/** @type {any} */ facet) => html`<section><h2 class="side-title">${TITLES[facet.name] ?? facet.name}</h2>
            <ul>${facet.values.slice(0, SHOWN).map((/** @type {any} */ one) => html`<${Value} name=${facet.name} value=${one.value}
                label=${labelOf(facet.name, one.value)} count=${one.count} />`)}</ul></section>`)}
        <section><h2 class="side-title">State</h2>
            <ul>${STATES.map((state) => html`<${Value} name="state" value=${state} label=${state === "opened" ? "open" : state} />`)}</ul></section>
        <section><h2 class="side-title">Since</h2>
            <ul>${years.map((year) => html`<${Value} name="year" value=${year} label=${year} />`)}</ul></section>
        ${counted && html`<p class="muted small">Counts are of ${counted.is_lower_bound ? "the best " : "all "}${number(counted.documents)}
            ${counted.documents === 1 ? " candidate" : " candidates"}.</p>`}
    </div>`;
}

/** @param {{name: string, value: string, label: string, count?: number}} props */
function Value({ name, value, label, count }) {
    return html`<li><button type="button" class="facet" aria-pressed=${has(name, value)} onClick=${() => toggle(name, value)}
        title=${label === value ? undefined : value}><span class="cut">${label}</span>${count !== undefined && html`<span class="count">${number(count)}</span>`}</button></li>`;
}

/** What is searched by. */
const MODES = [["hybrid", "Words and meaning"], ["lexical", "Words"], ["semantic", "Meaning"]];

/** What is set, each to be removed with a click. */
export function Chips() {
    const query = place.value.query;
    const chips = [];
    for (const name of NARROWING) {
        for (const value of (query.get(name) ?? "").split(",").filter(Boolean)) chips.push({ name, value });
    }
    const mode = query.get("mode") ?? "hybrid";
    return html`<div class="row chips no-print">
        ${MODES.map(([value, label]) => html`<button type="button" class="chip" aria-pressed=${mode === value}
            onClick=${() => setQuery({ mode: value === "hybrid" ? null : value })}>${label}</button>`)}
        <${PathField} />
        ${chips.map(({ name, value }) => html`<button type="button" class="chip" aria-pressed="true" title="Remove this filter"
            onClick=${() => toggle(name, value)}><span class="muted">${name}</span> ${name === "kind" ? kindName(value) : value}
            <${Icon} name="close" /></button>`)}
    </div>`;
}

function PathField() {
    return html`<form class="path-filter" onSubmit=${(/** @type {any} */ event) => {
        event.preventDefault();
        setQuery({ path: event.target.elements.path.value.trim() || null });
        event.target.reset();
    }}><input name="path" type="text" placeholder="in path…" aria-label="Only in this path" spellcheck=${false} /></form>`;
}

/** @param {string} name */
function isSet(name) {
    return Boolean(place.value.query.get(name === "year" ? "after" : name));
}

/**
 * @param {string} name
 * @param {string} value
 */
function has(name, value) {
    if (name === "year") return place.value.query.get("after") === `${value}-01-01`;
    return (place.value.query.get(name) ?? "").split(",").includes(value);
}

/**
 * @param {string} name
 * @param {string} value
 */
function toggle(name, value) {
    if (name === "year") return setQuery({ after: has(name, value) ? null : `${value}-01-01` });
    const now = (place.value.query.get(name) ?? "").split(",").filter(Boolean);
    const next = now.includes(value) ? now.filter((other) => other !== value) : SINGLE.has(name) ? [value] : [...now, value];
    setQuery({ [name]: next.join(",") || null });
}
