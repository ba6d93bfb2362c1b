// A hit of a search: what it is, its best passage with the words that were looked for, and what belongs to it.

import { html, classes, counted, useMemo } from "./html.js";
import { piecesOf } from "./coded.js";
import { Icon, hasIcon } from "./icons.js";
import { Day } from "./time.js";
import { Ref, addressOf, encode, kindName, shorten } from "./ref.js";
import { ScoreBar } from "./score.js";
import { edgeForward, edgeName } from "./edges.js";
import { StateBadge } from "./thread.js";

/** Words that say nothing of what is looked for. */
const COMMON = new Set(`about and are can but does did for from had has have how into its not than that the their then there these they
    this was were what when where which who why will with would`.split(/\s+/));
/** Scripts that write words without spaces between them. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;
/** Kinds of hits that people write as Markdown. */
const MARKDOWN = new Set(["issue", "merge_request", "discussion", "commit"]);
/** Shortest stem that words are marked by, in characters. */
const STEM = 4;
/** Most words that are marked. */
const WORDS = 20;

/**
 * @param {{hit: any, weights: any, query: string, author: string | null, row: number, chosen: boolean}} props
 */
export function HitView({ hit, weights, query, author, row, chosen }) {
    const icon = hit.kind === "code" ? "entity" : hit.kind === "section" ? "note" : hasIcon(hit.kind) ? hit.kind : "file";
    const isMarkdown = MARKDOWN.has(hit.kind);
    return html`<li class=${classes("hit", chosen && "chosen")} data-row=${row} aria-current=${chosen ? "true" : undefined}>
        <div class="hit-head"><${Icon} name=${icon} />
            <h2><a class="row-link" href=${addressOf(hit.id)}><${Marked} text=${hit.title || shorten(hit.id, hit.project)} query=${query}
                isMarkdown=${isMarkdown} /></a></h2>
            <${ScoreBar} score=${hit.score} parts=${hit.parts} weights=${weights} /></div>
        <p class="byline"><span>${kindName(hit.kind)} <span class="mono">${shorten(hit.id, hit.project)}</span></span><span>${hit.project}</span>
            ${hit.state && html`<${StateBadge} state=${hit.state} />`}${author && html`<span title=${author === hit.author ? undefined : hit.author}>${author}</span>`}<${Day} at=${hit.updated_at} />
            ${hit.confidential && html`<span class="badge warn"><${Icon} name="lock" /> confidential</span>`}
            <a href=${`/ui/why/${encode(hit.id)}`}>trace</a></p>
        ${hit.snippet.trim() !== (hit.title ?? "").trim() && html`<p class="hit-text" dir="auto"><${Marked} text=${hit.snippet} query=${query}
            isMarkdown=${isMarkdown} /></p>`}
        ${hit.why.length > 0 && html`<p class="small muted">${hit.why.join(" · ")}</p>`}
        ${(hit.reached_by ?? []).length > 0 && html`<p class="small muted">found via ${hit.reached_by.map((/** @type {any} */ edge) => html`
            <${Ref} id=${edge.from} project=${hit.project} /> ${edgeForward(edge.edge)} <${Ref} id=${edge.to} project=${hit.project} /> `)}</p>`}
        ${hit.members.length > 0 && html`<details class="hit-members small"><summary>${counted(hit.members.length, "related result")}</summary>
            <ul>${hit.members.map((/** @type {any} */ member) => html`<li><span class="muted">${edgeName(member.relation)}</span>${" "}
                <${Ref} id=${member.id} project=${hit.project} /></li>`)}</ul></details>`}
    </li>`;
}

/**
 * What the words of a query begin with, so that other forms of them are found too.
 * @param {string} query
 */
export function stemsOf(query) {
    const words = query.toLowerCase().match(/[\p{L}\p{N}_]{2,40}/gu) ?? [];
    const stems = words.filter((word) => !COMMON.has(word) && (word.length > 2 || /[^a-z]/.test(word))).map((word) => {
        const stem = word.replace(/(ing|ed|es|s)$/, "");
        return stem.length >= STEM ? stem : word;
    });
    return [...new Set(stems)].slice(0, WORDS);
}

/**
 * A text with the words of a query marked, and what it has as code, if it is Markdown, as such.
 * @param {{text: string, query: string, isMarkdown: boolean}} props
 */
export function Marked({ text, query, isMarkdown }) {
    return useMemo(() => {
        const mark = markerOf(query);
        const pieces = isMarkdown ? piecesOf(text) : [text];
        return pieces.map((piece, number) => (number % 2 ? html`<code>${mark(piece)}</code>` : mark(piece)));
    }, [text, query, isMarkdown]);
}

/**
 * What marks the words of a query in a text.
 * @param {string} query
 * @returns {(text: string) => any}
 */
function markerOf(query) {
    const stems = stemsOf(query);
    if (!stems.length) return (text) => text;
    // A short word is marked as it is: what begins with it is mostly another.
    const patterns = stems.map((stem) => {
        if (UNSPACED.test(stem)) return stem;
        return `(?<![\\p{L}\\p{N}])${stem}${stem.length >= STEM ? "[\\p{L}\\p{N}_]{0,4}" : "s?"}(?![\\p{L}\\p{N}])`;
    });
    const pattern = new RegExp(`(${patterns.join("|")})`, "giu");
    return (text) => text.split(pattern).map((piece, number) => (number % 2 ? html`<mark>${piece}</mark>` : piece));
}
