// How a search ranks: each candidate with its parts and its place in each retriever, weights that can be moved, and
// keeping the query as an evaluation question.

import { html, classes, counted, number, useEffect, useMemo, useState } from "../parts/html.js";
import { Answered, Empty } from "../parts/state.js";
import { coded } from "../parts/coded.js";
import { PARTS, ScoreBar } from "../parts/score.js";
import { CopyButton } from "../parts/copy.js";
import { Chips } from "../parts/facets.js";
import { searchOf } from "../parts/filter.js";
import { useGrowing } from "../parts/growing.js";
import { Ref, kindName, parse, shorten } from "../parts/ref.js";
import { took } from "../parts/time.js";
import { useAsk } from "../asking.js";
import { place, setQuery } from "../router.js";

/** Hits that are asked for. */
const LIMIT = 100;
/** Rows that are drawn at first; more follow while there is nothing else to do, up to those of a page. */
const FIRST = 15;
const PAGE = 50;
/** The retrievers, by the name that the server gives their places. */
const RETRIEVERS = [["words", "words"], ["vectors", "meaning"], ["graph", "graph"]];
/** Least step of a weight. */
const STEP = 0.05;
/** Milliseconds that a slider must rest until the address has its weight. */
const PAUSE = 200;

/** The screen. */
export function Screen() {
    const search = searchOf(place.value.query);
    const text = search.query;
    const request = text ? { ...search, limit: LIMIT, ranking: null, rerank: false, explain: true } : null;
    const asked = useAsk("search", request);
    /** @param {any} event */
    function submit(event) {
        event.preventDefault();
        setQuery({ q: event.target.elements.q.value.trim() });
    }
    return html`<div class="screen"><div class="screen-head"><h1>Ranking</h1><p>Why a search puts one result above another.</p></div>
        <form class="row graph-bar" onSubmit=${submit}>
            <input type="text" name="q" class="wide" aria-label="Query" placeholder="A query" key=${text} defaultValue=${text} />
            <button type="submit">Rank</button></form>
        ${!text ? html`<${Empty} title="Enter a query" icon="ranking">
                <p>Each candidate is shown with what its score is made of, and its place in every retriever.</p></${Empty}>`
            : html`<${Chips} /><${Answered} of=${asked} lines=${14}>${(/** @type {any} */ found) => html`
                <${Ranking} key=${JSON.stringify(request)} found=${found} text=${text} />`}</${Answered}>`}</div>`;
}

/**
 * Weights that the address states, over those that are configured: `weights=lexical:0.5,recency:0`.
 * @param {Record<string, number>} configured
 */
function weightsOf(configured) {
    const stated = (place.value.query.get("weights") ?? "").split(",").map((one) => one.split(":"));
    const known = stated.filter(([part = "", value]) => PARTS.includes(part) && Number.isFinite(Number(value)));
    return { ...configured, ...Object.fromEntries(known.map(([part, value]) => [part, Number(value)])) };
}

/**
 * Puts weights into the address; what is as configured is left out.
 * @param {Record<string, number>} weights
 * @param {Record<string, number>} configured
 */
function stateWeights(weights, configured) {
    const changed = PARTS.filter((part) => weights[part] !== configured[part]);
    setQuery({ weights: changed.map((part) => `${part}:${weights[part]}`).join(",") });
}

/** @param {{found: any, text: string}} props */
function Ranking({ found, text }) {
    const configured = found.ranking.weights;
    // While a slider is moved, the address waits: browsers allow few changes of it in a second.
    const [moved, setMoved] = useState(/** @type {any} */ (null));
    const stated = place.value.query.get("weights");
    const weights = useMemo(() => moved ?? weightsOf(configured), [moved, stated, configured]);
    useEffect(() => {
        if (!moved) return;
        const timer = setTimeout(() => {
            stateWeights(moved, configured);
            setMoved(null);
        }, PAUSE);
        return () => clearTimeout(timer);
    }, [moved]);
    const move = (/** @type {string} */ part, /** @type {number} */ value) =>
        setMoved((/** @type {any} */ now) => ({ ...(now ?? weights), [part]: value }));
    const reset = () => {
        setMoved(null);
        setQuery({ weights: null });
    };
    const isMoved = PARTS.some((part) => weights[part] !== configured[part]);
    const [right, setRight] = useState(/** @type {string[]} */ ([]));
    const toggle = (/** @type {string} */ id) => setRight((right) => (right.includes(id) ? right.filter((one) => one !== id) : [...right, id]));
    const rows = useMemo(() => [...rank(found, weights, isMoved), ...others(found)], [found, weights]);
    const [shown, setShown] = useState(PAGE);
    const drawn = useGrowing(Math.min(shown, rows.length), { first: FIRST });
    const left = rows.length - shown;
    if (!rows.length) return html`<${Empty} title="No candidate was found" icon="search" />`;
    return html`<div class="ranking"><p class="byline"><span>profile ${found.ranking.profile}</span>
            <span>${counted(rows.length, "candidate")}</span><span class="numeric">${took(found.took_ms)}</span><span>${found.mode}</span></p>
        <section class="card card-body stack"><div class="row spread"><h2>Weights</h2><span class="row">
            ${isMoved && html`<button type="button" class="small" onClick=${reset}>Reset</button>`}
            <${CopyButton} what="Weights" label="Copy for backstory.toml" text=${() => toml(weights)} /></span></div>
            <div class="sliders">${PARTS.map((part) => html`<${Slider} part=${part} value=${weights[part] ?? 0} move=${move} />`)}</div></section>
        <div class="row spread"><h2>Candidates</h2><span class="row small">${right.length > 0 && html`<span>${right.length} marked</span>`}
            <${CopyButton} what="Evaluation question" label="Keep as an evaluation question" text=${() => question(text, right)} /></span></div>
        <div class="scroll-x"><table><thead><tr><th class="number">Now</th><th class="number">Was</th><th>Candidate</th><th>Score</th>
                ${RETRIEVERS.map(([, label]) => html`<th class="number">${label}</th>`)}<th>Right?</th></tr></thead>
            <tbody>${rows.slice(0, Math.min(drawn, shown)).map((row, number) => html`<${Candidate} key=${row.id} row=${row} now=${number + 1} weights=${weights}
                isRight=${right.includes(row.id)} toggle=${toggle} />`)}</tbody></table></div>
        ${left > 0 && html`<p class="more"><button type="button" onClick=${() => setShown(shown + PAGE)}
            >Show ${counted(Math.min(left, PAGE), "more candidate")} of ${number(left)}</button></p>`}</div>`;
}

/** @param {{part: string, value: number, move: (part: string, value: number) => void}} props */
function Slider({ part, value, move }) {
    return html`<label><span><span class=${`swatch part-${part}`}></span> ${part}</span><span class="numeric">${value.toFixed(2)}</span>
        <input type="range" min="0" max="1" step=${STEP} value=${value}
            onInput=${(/** @type {any} */ event) => move(part, Number(event.target.value))} /></label>`;
}

/** @param {{row: Row, now: number, weights: any, isRight: boolean, toggle: (id: string) => void}} props */
function Candidate({ row, now, weights, isRight, toggle }) {
    const { id, hit, of, kind, was, score, places } = row;
    const title = hit?.title || id;
    const no = of ? `part of ${shorten(of)}` : "not among the hits";
    // Rows that stay are not drawn again while others come.
    return useMemo(() => html`<tr><td class="number">${hit ? now : "–"}</td>
        <td class=${classes("number", was !== null && was > now && "added", was !== null && was < now && "removed")}>${was ?? "–"}</td>
        <td><${Ref} id=${id} title=${hit && coded(hit.title)} /> <span class="muted small">${kindName(kind)}</span></td>
        <td>${hit ? html`<${ScoreBar} score=${score} parts=${hit.parts} weights=${weights} />` : html`<span class="muted small">${no}</span>`}</td>
        ${RETRIEVERS.map(([name = ""]) => html`<td class="number muted">${places[name] ?? "–"}</td>`)}
        <td><input type="checkbox" aria-label=${`${title} answers it`} checked=${isRight} onChange=${() => toggle(id)} /></td></tr>`,
        [row, now, weights, isRight]);
}

/**
 * A candidate; `was` is its place with the configured weights, `of` the hit that it belongs to if it is none itself.
 * @typedef {{id: string, hit: any, of: string | null, kind: string, was: number | null, score: number,
 *   places: Record<string, number | null>}} Row
 */

/**
 * Hits by other weights. Without a change the order of the server stays, which knows more than the parts.
 * @param {any} found
 * @param {Record<string, number>} weights
 * @param {boolean} isMoved
 * @returns {Row[]}
 */
function rank({ hits, candidates }, weights, isMoved) {
    const places = new Map((candidates ?? []).map((/** @type {any} */ one) => [one.id, one]));
    const weighted = (/** @type {any} */ hit) => PARTS.reduce((sum, part) => sum + (hit.parts[part] ?? 0) * (weights[part] ?? 0), 0);
    const rows = hits.map((/** @type {any} */ hit, /** @type {number} */ at) => ({
        id: hit.id, hit, of: null, kind: hit.kind, was: at + 1, score: isMoved ? weighted(hit) : hit.score, places: placesOf(places, hit),
    }));
    return isMoved ? rows.sort((/** @type {any} */ a, /** @type {any} */ b) => b.score - a.score || a.was - b.was) : rows;
}

/**
 * The best place of a hit, or of what belongs to it, in each retriever.
 * @param {Map<string, any>} places
 * @param {any} hit
 */
function placesOf(places, hit) {
    const ids = [hit.id, ...hit.members.map((/** @type {any} */ member) => member.id)];
    return Object.fromEntries(RETRIEVERS.map(([name = ""]) => {
        const own = ids.map((id) => places.get(id)?.[name]).filter((place) => typeof place === "number");
        return [name, own.length ? Math.min(...own) : null];
    }));
}

/**
 * Candidates that are no hits: those that belong to one, and those that were not good enough.
 * @param {any} found
 * @returns {Row[]}
 */
function others({ hits, candidates }) {
    const ids = new Set(hits.map((/** @type {any} */ hit) => hit.id));
    const owners = new Map(hits.flatMap((/** @type {any} */ hit) => hit.members.map((/** @type {any} */ member) => [member.id, hit.id])));
    return (candidates ?? []).filter((/** @type {any} */ one) => !ids.has(one.id)).map((/** @type {any} */ one) => ({
        id: one.id, hit: null, of: owners.get(one.id) ?? null, kind: one.kind ?? parse(one.id).kind, was: null, score: 0, places: one,
    }));
}

/** @param {Record<string, number>} weights */
function toml(weights) {
    return `[search.weights]\n${PARTS.map((part) => `${part} = ${Number(weights[part] ?? 0).toFixed(2)}`).join("\n")}\n`;
}

/**
 * @param {string} text
 * @param {string[]} right
 */
function question(text, right) {
    return `- id: ${text.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 40)}\n  question: ${JSON.stringify(text)}\n  gold: ${JSON.stringify(right)}\n`;
}
