// How many changes there were in each of the months.

import { html } from "./html.js";

/** Bars at most. */
const BARS = 60;

/** @param {{times: string[], label: string}} props */
export function Sparkline({ times, label }) {
    if (times.length < 3) return null;
    const at = times.map((time) => Date.parse(time)).sort((a, b) => a - b);
    const [first = 0, last = 0] = [at[0], at.at(-1)];
    const width = Math.max(1, last - first);
    const counts = new Array(BARS).fill(0);
    for (const time of at) counts[Math.min(BARS - 1, Math.floor(((time - first) / width) * BARS))] += 1;
    const highest = Math.max(...counts);
    const day = (/** @type {number} */ time) => new Date(time).toISOString().slice(0, 10);
    return html`<figure><svg class="spark" viewBox=${`0 0 ${BARS * 6} 40`} preserveAspectRatio="none" role="img" aria-label=${`${label} from ${day(first)} to ${day(last)}`}>
        ${counts.map((count, bar) => count > 0 && html`<rect x=${bar * 6} y=${40 - (count / highest) * 38} width="5" height=${(count / highest) * 38} rx="1" />`)}</svg>
        <figcaption class="row spread small muted"><span>${day(first)}</span><span>${label}</span><span>${day(last)}</span></figcaption></figure>`;
}
