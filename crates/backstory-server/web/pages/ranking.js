// How a search ranks: each candidate with its parts and its place in each retriever, weights that can be moved, and
// keeping the query as an evaluation question.

import { html, classes, useEffect, useMemo, useState } from "../parts/html.js";
import { Answered, Empty } from "../parts/state.js";
import { PARTS, ScoreBar, ScoreLegend } from "../parts/score.js";
import { CopyButton } from "../parts/copy.js";
import { useGrowing } from "../parts/growing.js";
import { Ref, kindName } from "../parts/ref.js";
import { took } from "../parts/time.js";
import { useAsk } from "../api.js";
import { go, place } from "../router.js";

/** Candidates that are shown. */
const LIMIT = 100;
/** Rows that are drawn at first; the rest follows while there is nothing else to do. */
const FIRST = 15;
/** The retrievers, by the name that the server gives their places. */
const RETRIEVERS = [["words", "words"], ["vectors", "meaning"], ["graph", "graph"]];

/** The screen. */
export function Screen() {
    const text = place.value.query.get("q")?.trim() ?? "";
    const asked = useAsk("search", text ? { query: text, filter: {}, mode: "hybrid", limit: LIMIT, ranking: null, rerank: false, explain: true } : null);
    return html`<div class="screen"><div class="screen-head"><h1>Ranking</h1><p>Why a search puts one result above another.</p></div>
        <form class="row graph-bar" onSubmit=${(/** @type {any} */ event) => {
            event.preventDefault();
            go(`/ui/ranking?q=${encodeURIComponent(event.target.elements.q.value.trim())}`);
        }}><input type="text" name="q" class="wide" aria-label="Query" placeholder="A query" key=${text} defaultValue=${text} /><button type="submit">Rank</button></form>
        ${!text ? html`<${Empty} title="Enter a query" icon="ranking"><p>Each candidate is shown with what its score is made of, and its place in every retriever.</p></${Empty}>`
            : html`<${Answered} of=${asked} lines=${14}>${(/** @type {any} */ found) => html`<${Table} found=${found} text=${text} />`}</${Answered}>`}</div>`;
}

/** @param {{found: any, text: string}} props */
function Table({ found, text }) {
    const [weights, setWeights] = useState(/** @type {any} */ (found.ranking.weights));
    const [right, setRight] = useState(/** @type {string[]} */ ([]));
    useEffect(() => setWeights(found.ranking.weights), [found]);
    const places = useMemo(() => new Map((found.candidates ?? []).map((/** @type {any} */ one) => [one.id, one])), [found]);
    const moved = PARTS.some((part) => weights[part] !== found.ranking.weights[part]);
    const rows = useMemo(() => rank(found.hits, weights, moved), [found, weights, moved]);
    const drawn = useGrowing(rows.length, { first: FIRST });
    if (!found.hits.length) return html`<${Empty} title="No candidate was found" icon="search" />`;
    return html`<div class="ranking"><p class="byline"><span>profile ${found.ranking.profile}</span><span class="numeric">${took(found.took_ms)}</span><span>${found.mode}</span></p>
        <section class="card card-body stack"><div class="row spread"><h2>Weights</h2><span class="row">${moved && html`<button type="button" class="small" onClick=${() => setWeights(found.ranking.weights)}>As configured</button>`}
            <${CopyButton} what="Weights" label="Copy for backstory.toml" text=${() => toml(weights)} /></span></div>
            <div class="sliders">${PARTS.map((part) => html`<label><span><span class=${`swatch part-${part}`}></span> ${part}</span><span class="numeric">${Number(weights[part] ?? 0).toFixed(2)}</span>
                <input type="range" min="0" max="1" step="0.05" value=${weights[part] ?? 0} onInput=${(/** @type {any} */ event) => setWeights((/** @type {any} */ now) => ({ ...now, [part]: Number(event.target.value) }))} /></label>`)}</div></section>
        <div class="row spread"><${ScoreLegend} /><span class="row small">${right.length > 0 && html`<span>${right.length} marked</span>`}<${CopyButton} what="Evaluation question" label="Keep as an evaluation question" text=${() => question(text, right)} /></span></div>
        <div class="scroll-x"><table><thead><tr><th class="number">Now</th><th class="number">Was</th><th>Candidate</th><th>Score</th>${RETRIEVERS.map(([, label]) => html`<th class="number">${label}</th>`)}<th>Right?</th></tr></thead>
            <tbody>${rows.slice(0, drawn).map(({ hit, was, score }, now) => html`<tr key=${hit.id}><td class="number">${now + 1}</td><td class=${classes("number", was > now + 1 && "added", was < now + 1 && "removed")}>${was}</td>
                <td><${Ref} id=${hit.id} title=${hit.title} /> <span class="muted small">${kindName(hit.kind)}</span></td><td><${ScoreBar} score=${score} parts=${hit.parts} weights=${weights} /></td>
                ${RETRIEVERS.map(([name = ""]) => html`<td class="number muted">${placeOf(places, name, hit) ?? "–"}</td>`)}
                <td><input type="checkbox" aria-label=${`${hit.title} answers it`} checked=${right.includes(hit.id)} onChange=${() => setRight(right.includes(hit.id) ? right.filter((id) => id !== hit.id) : [...right, hit.id])} /></td></tr>`)}</tbody></table></div></div>`;
}

/**
 * Hits by other weights. Without a change the order of the server stays, which knows more than the parts.
 * @param {any[]} hits
 * @param {Record<string, number>} weights
 * @param {boolean} moved
 */
function rank(hits, weights, moved) {
    const rows = hits.map((hit, at) => ({
        hit,
        was: at + 1,
        score: moved ? PARTS.reduce((sum, part) => sum + (hit.parts[part] ?? 0) * (weights[part] ?? 0), 0) : hit.score,
    }));
    return moved ? rows.sort((a, b) => b.score - a.score || a.was - b.was) : rows;
}

/**
 * The best place of a hit, or of what belongs to it, in a retriever.
 * @param {Map<string, any>} places
 * @param {string} name
 * @param {any} hit
 */
function placeOf(places, name, hit) {
    const ids = [hit.id, ...hit.members.map((/** @type {any} */ member) => member.id)];
    const own = ids.map((id) => places.get(id)?.[name]).filter((place) => place !== null && place !== undefined);
    return own.length ? Math.min(...own) : null;
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
