// A hit of a search: what it is, its best passage with the words that were looked for, and what belongs to it.

import { html, classes, counted, useMemo } from "./html.js";
import { Icon, hasIcon } from "./icons.js";
import { Day } from "./time.js";
import { Ref, addressOf, encode, kindName, shorten } from "./ref.js";
import { ScoreBar } from "./score.js";
import { edgeName } from "./edges.js";
import { StateBadge } from "./thread.js";

/**
 * @param {{hit: any, weights: any, query: string, chosen: boolean}} props
 */
export function HitView({ hit, weights, query, chosen }) {
    const icon = hit.kind === "code" ? "entity" : hit.kind === "section" ? "note" : hasIcon(hit.kind) ? hit.kind : "file";
    return html`<li class=${classes("hit", chosen && "chosen")} aria-current=${chosen ? "true" : undefined}>
        <div class="hit-head"><${Icon} name=${icon} />
            <h2><a href=${addressOf(hit.id)}>${hit.title || shorten(hit.id, hit.project)}</a></h2>
            <${ScoreBar} score=${hit.score} parts=${hit.parts} weights=${weights} /></div>
        <p class="byline"><span>${kindName(hit.kind)} <span class="mono">${shorten(hit.id, hit.project)}</span></span><span>${hit.project}</span>
            ${hit.state && html`<${StateBadge} state=${hit.state} />`}${hit.author && html`<span>${hit.author}</span>`}<${Day} at=${hit.updated_at} />
            ${hit.confidential && html`<span class="badge warn"><${Icon} name="lock" /> confidential</span>`}
            <a href=${`/ui/why/${encode(hit.id)}`}>trace</a></p>
        <p class="hit-text" dir="auto"><${Marked} text=${hit.snippet} query=${query} /></p>
        ${hit.why.length > 0 && html`<p class="small muted">${hit.why.join(" · ")}</p>`}
        ${(hit.reached_by ?? []).length > 0 && html`<p class="small muted">reached over ${hit.reached_by.map((/** @type {any} */ edge) => html`<${Ref} id=${edge.from} project=${hit.project} /> ${edgeName(edge.edge)} <${Ref} id=${edge.to} project=${hit.project} /> `)}</p>`}
        ${hit.members.length > 0 && html`<details class="hit-members small"><summary>${counted(hit.members.length, "part")} of the same change</summary>
            <ul>${hit.members.map((/** @type {any} */ member) => html`<li><span class="muted">${edgeName(member.relation)}</span> <${Ref} id=${member.id} project=${hit.project} /></li>`)}</ul></details>`}
    </li>`;
}

/**
 * A text with the words of a query marked.
 * @param {{text: string, query: string}} props
 */
export function Marked({ text, query }) {
    return useMemo(() => {
        const words = (query.toLowerCase().match(/[\p{L}\p{N}_]{3,40}/gu) ?? []).slice(0, 20).map((word) => word.replace(/(ing|ed|es|s)$/, ""));
        if (!words.length) return text;
        const pattern = new RegExp(`(?<![\\p{L}\\p{N}])((?:${words.join("|")})[\\p{L}\\p{N}_]{0,6})`, "giu");
        return text.split(pattern).map((piece, number) => (number % 2 ? html`<mark>${piece}</mark>` : piece));
    }, [text, query]);
}
