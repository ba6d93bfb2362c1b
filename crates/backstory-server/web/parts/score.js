// How a score is made: named parts, each weighted.

import { html } from "./html.js";

/** The parts, in the order in which they are shown. */
export const PARTS = ["semantic", "lexical", "relationship", "importance", "recency", "author"];

/**
 * What each part adds to the score.
 * @param {Record<string, number>} parts
 * @param {Record<string, number>} weights
 */
export function weighted(parts, weights) {
    return PARTS.map((part) => ({ part, value: parts[part] ?? 0, weight: weights[part] ?? 0, adds: (parts[part] ?? 0) * (weights[part] ?? 0) }));
}

/**
 * A bar split by part.
 * @param {{score: number, parts: any, weights: any}} props
 */
export function ScoreBar({ score, parts, weights }) {
    const all = weighted(parts, weights);
    const sum = Object.values(weights).reduce((sum, weight) => sum + Number(weight), 0) || 1;
    const title = all.filter(({ weight }) => weight > 0).map(({ part, value, weight }) => `${part} ${value.toFixed(2)} × ${weight.toFixed(2)}`).join(", ");
    return html`<span class="score" title=${title}><span class="score-bar" aria-hidden="true">${all.map(({ part, adds }) =>
        adds > 0 && html`<span class=${`part-${part}`} style=${{ width: `${(adds / sum) * 100}%` }}></span>`)}</span
        ><span><span class="hidden">score </span>${score.toFixed(2)}</span></span>`;
}

/** What the colors of bars mean. */
export function ScoreLegend() {
    return html`<p class="row small muted">${PARTS.map((part) => html`<span><span class=${`swatch part-${part}`}></span> ${part}</span>`)}</p>`;
}
