// A file with its reasons in the gutter: each run of lines with the commit that wrote it, the merge request, how many
// discussions, and the issue.

import { html, classes, counted, useMemo, useRef } from "./html.js";
import { Icon } from "./icons.js";
import { Ago, ageScale, ago } from "./time.js";
import { addressOf, shorten } from "./ref.js";
import { grammarOf, highlighter } from "./highlight.js";
import { useGrowing } from "./growing.js";

/** Height of a line, in pixels; style/screens.css has the same. */
export const LINE = 20;
/** Most lines of a piece that is drawn at once. */
const PIECE = 30;
/** Lines that are drawn at first; the rest follows while there is nothing else to do. */
const FIRST = 60;
/** Lines that are drawn more at a time. */
const STEP = 90;
/** Lines behind the selected ones that are drawn with them. */
const AROUND = 40;

/**
 * @typedef {{start: number, lines: number, commit: string | null, title: string, author: string, date: string, mergeRequest: string | null,
 *   issues: string[], discussions: number, seenThrough: string[]}} Run
 * @typedef {{first: number, last: number}} Range
 */

/**
 * Runs of lines as the gutter shows them.
 * @param {any} file the answer of the use case `file`
 * @returns {Run[]}
 */
export function runsOf(file) {
    const [first, last] = file.lines ?? [1, 0];
    if (!file.lineage?.spans.length) {
        return last ? [{ start: first, lines: last - first + 1, commit: null, title: "", author: "", date: "", mergeRequest: null, issues: [], discussions: 0, seenThrough: [] }] : [];
    }
    const commits = new Map(file.lineage.commits.map((/** @type {any} */ commit) => [commit.id, commit]));
    /** @type {Run[]} */
    const runs = [];
    for (const span of file.lineage.spans) {
        const commit = commits.get(span.commit) ?? { title: shorten(span.commit, file.project), author: "", date: "" };
        const run = {
            start: span.start, lines: span.lines, commit: span.commit, title: commit.title, author: commit.author, date: commit.date,
            mergeRequest: span.merge_request, issues: span.issues, discussions: span.discussions, seenThrough: span.seen_through ?? [],
        };
        const before = runs.at(-1);
        // Spans of one commit that follow one another are one run to the reader.
        if (before && before.commit === run.commit && before.start + before.lines === run.start && !run.discussions === !before.discussions) {
            before.lines += run.lines;
            before.discussions = Math.max(before.discussions, run.discussions);
        } else runs.push(run);
    }
    return runs;
}

/** @param {Run[]} runs */
function piecesOf(runs) {
    const pieces = [];
    for (const run of runs) {
        for (let start = run.start; start < run.start + run.lines; start += PIECE) {
            const lines = Math.min(PIECE, run.start + run.lines - start);
            pieces.push({ run, start, lines, isFirst: start === run.start });
        }
    }
    return pieces;
}

/**
 * The lines of a file with their gutter.
 * @param {{file: any, runs: Run[], selected: Range | null, select: (range: Range, event: Event) => void,
 *   show: (run: Run | null, element?: Element) => void}} props
 */
export function Code({ file, runs, selected, select, show }) {
    const lines = useMemo(() => (file.text ?? "").split("\n"), [file.text]);
    const colored = useMemo(() => highlighter(lines, grammarOf(file.path)), [lines, file.path]);
    const pieces = useMemo(() => piecesOf(runs), [runs]);
    const ages = useMemo(() => agesOf(runs), [runs]);
    const first = file.lines?.[0] ?? 1;
    const total = lines.length;
    const drawn = useGrowing(total, { first: FIRST, step: STEP, needed: selected ? selected.last - first + AROUND : 0 });
    const digits = String(first + total).length;
    const latest = useRef({ select, show });
    latest.current = { select, show };
    const { select: choose, show: hover } = useMemo(() => ({
        select: (/** @type {Range} */ range, /** @type {Event} */ event) => latest.current.select(range, event),
        show: (/** @type {Run | null} */ run, /** @type {Element | undefined} */ element) => latest.current.show(run, element),
    }), []);
    // One run is a stop of the tab key, so that what is behind the code is not hundreds of stops away; j and k go on from it.
    const stop = runs.find((run) => selected && selected.first >= run.start && selected.first < run.start + run.lines) ?? runs[0];
    /**
     * One listener for all line numbers: a file has thousands.
     * @param {MouseEvent} event
     */
    function pick(event) {
        const element = /** @type {Element} */ (event.target).closest(".line-number");
        const line = element instanceof HTMLElement ? Number(element.dataset.line) : 0;
        if (line) choose({ first: line, last: line }, event);
    }
    return html`<div class="code" onClick=${pick} style=${{ "--digits": `${digits}ch`, minHeight: `${total * LINE}px` }} role="group" aria-label=${`Code of ${file.path}`}>
        ${pieces.map((piece) => piece.start - first < drawn &&
            html`<${Piece} key=${piece.start} piece=${piece} colored=${colored} first=${first} ages=${ages} select=${choose} show=${hover} project=${file.project}
                from=${overlap(piece, selected)[0]} to=${overlap(piece, selected)[1]} isStop=${piece.run === stop} />`)}
    </div>`;
}

/**
 * The selected lines within a piece; 0, 0 if there are none.
 * @param {{start: number, lines: number}} piece
 * @param {Range | null} selected
 */
function overlap(piece, selected) {
    if (!selected) return [0, 0];
    const from = Math.max(piece.start, selected.first);
    const to = Math.min(piece.start + piece.lines - 1, selected.last);
    return from <= to ? [from, to] : [0, 0];
}

/** @param {any} props */
function Piece({ piece, colored, first, ages, select, show, project, from, to, isStop }) {
    return useMemo(() => {
        const { run, start, lines, isFirst } = piece;
        const age = run.date ? ages.step(run.date) : null;
        const numbers = Array.from({ length: lines }, (_, line) => start + line);
        return html`<div class=${classes("piece", isFirst && "first")} style=${{ containIntrinsicSize: `auto ${lines * LINE}px` }}>
            <div class=${classes("gutter", age !== null && `age-${age}`)}>${isFirst && run.commit && html`<${Reason} run=${run} select=${select} show=${show} project=${project} isStop=${isStop} />`}</div>
            <div class="lines">${numbers.map((number) => html`<div id=${`L${number}`} class=${classes("line", number >= from && number <= to && "selected")}
                ><span class="line-number" data-line=${number}></span><code>${colored(number - first)}${"\n"}</code></div>`)}</div>
        </div>`;
    }, [piece, colored, from, to, isStop]);
}

/**
 * What the gutter says of a run of lines.
 * @param {{run: Run, select: (range: Range, event: Event) => void, show: (run: Run | null, element?: Element) => void, project: string,
 *   isStop: boolean}} props
 */
function Reason({ run, select, show, project, isStop }) {
    const range = { first: run.start, last: run.start + run.lines - 1 };
    const what = [run.title, run.mergeRequest, counted(run.discussions, "discussion"), ago(run.date)].filter(Boolean).join(", ");
    const enter = (/** @type {any} */ event) => show(run, event.currentTarget);
    return html`<div class="reason" onMouseEnter=${enter} onMouseLeave=${() => show(null)}>
        <button type="button" class="reason-title cut" data-run=${run.start} tabindex=${isStop ? 0 : -1} onClick=${(/** @type {MouseEvent} */ event) => select(range, event)} onFocus=${enter} onBlur=${() => show(null)}
            aria-label=${`Lines ${range.first} to ${range.last}: ${what}. Trace them.`}>${run.title}</button>
        ${run.discussions > 0 && html`<span class="threads" title=${counted(run.discussions, "discussion")}><${Icon} name="discussion" />${run.discussions}</span>`}
        ${run.mergeRequest && html`<a class="small" href=${addressOf(run.mergeRequest)} tabindex="-1">${shorten(run.mergeRequest, project)}</a>`}
        ${!run.mergeRequest && run.issues[0] && html`<a class="small" href=${addressOf(run.issues[0])} tabindex="-1">${shorten(run.issues[0], project)}</a>`}
        <span class="reason-age muted"><${Ago} at=${run.date} /></span>
    </div>`;
}

/** @param {Run[]} runs */
function agesOf(runs) {
    return ageScale(runs.map((run) => run.date).filter(Boolean));
}

/**
 * What the colors of the gutter mean.
 * @param {{runs: Run[]}} props
 */
export function AgeLegend({ runs }) {
    const { names } = useMemo(() => agesOf(runs), [runs]);
    if (!names.length) return null;
    return html`<p class="age-legend small muted" role="img" aria-label=${`Age of lines: ${names.join(", ")}`}>newer ${names.map((name, step) => html`<span class=${`swatch age-${step}`} title=${name}></span>`)} older</p>`;
}
