// A file with its reasons in the gutter: each run of lines with the commit that wrote it, the merge request, how many
// discussions, and the issue.

import { html, classes, counted, useMemo, useRef } from "./html.js";
import { coded } from "./coded.js";
import { Icon } from "./icons.js";
import { ageScale, ago, exactly } from "./time.js";
import { addressOf, shorten } from "./ref.js";
import { highlighter } from "./highlight.js";
import { useDrawn } from "./growing.js";
import { blocksOf } from "./runs.js";

/** Height of a line, in pixels; style/screens.css has the same. */
export const LINE = 20;
/** Pixels above the code, and the fewest lines that are drawn at first; the rest follows while there is nothing else to do. */
const HEAD = 140;
const FIRST = 40;
/** Lines that are drawn more at a time: those of one block, so that no task is long. */
const STEP = 40;
/** Columns of a tab; style/screens.css has the same. */
const TAB = 4;
/** From here on, characters are as wide as two. */
const WIDE = 0x2e80;

/** @typedef {import("./runs.js").Run} Run */
/** @typedef {import("./runs.js").Piece} Piece */
/** @typedef {{first: number, last: number}} Range */

/**
 * How many columns a line takes.
 * @param {string} line
 */
function columnsOf(line) {
    if (/^[\x20-\x7e]*$/.test(line)) return line.length;
    let columns = 0;
    for (const character of line) {
        if (character === "\t") columns += TAB - (columns % TAB);
        else columns += (character.codePointAt(0) ?? 0) < WIDE ? 1 : 2;
    }
    return columns;
}

/**
 * Gives the focus to what the gutter says of a line.
 * @param {number} line
 */
export function focusGutter(line) {
    const reasons = [...document.querySelectorAll("[data-run]")];
    const own = reasons.findLast((reason) => reason instanceof HTMLElement && Number(reason.dataset.run) <= line);
    const target = own instanceof HTMLElement ? own : document.getElementById("main");
    target?.focus({ preventScroll: true });
}

/**
 * The lines of a file with their gutter.
 * @param {{file: any, runs: Run[], selected: Range | null, select: (range: Range, event: Event) => void,
 *   show: (run: Run | null, element?: Element) => void}} props
 */
export function Code({ file, runs, selected, select, show }) {
    const lines = useMemo(() => (file.text ?? "").split("\n"), [file.text]);
    const colored = useMemo(() => highlighter(lines, file.highlight), [lines, file.highlight]);
    const columns = useMemo(() => lines.reduce((/** @type {number} */ most, /** @type {string} */ line) => Math.max(most, columnsOf(line)), 0), [lines]);
    const blocks = useMemo(() => blocksOf(runs), [runs]);
    const ages = agesOf(runs);
    const code = useRef(/** @type {HTMLElement | null} */ (null));
    const first = file.lines?.[0] ?? 1;
    const total = lines.length;
    const middle = () => Math.floor((window.innerHeight / 2 - (code.current?.getBoundingClientRect().top ?? 0)) / LINE);
    const isDrawn = useDrawn(total, { line: selected ? selected.first - first : -1, first: Math.max(FIRST, Math.ceil((window.innerHeight - HEAD) / LINE)), step: STEP, seen: middle, of: runs });
    const digits = String(first + total).length;
    const latest = useRef({ select, show });
    latest.current = { select, show };
    const { select: choose, show: hover } = useMemo(() => ({
        select: (/** @type {Range} */ range, /** @type {Event} */ event) => latest.current.select(range, event),
        show: (/** @type {Run | null} */ run, /** @type {Element | undefined} */ element) => latest.current.show(run, element),
    }), []);
    // One run is a stop of the tab key, so that what is behind the code is not hundreds of stops away; j and k go on from it.
    const last = useRef(first);
    if (selected) last.current = selected.first;
    const stop = runs.find((run) => last.current >= run.start && last.current < run.start + run.lines) ?? runs[0];
    /**
     * One listener for all lines: a file has thousands. Who selects text wants that text.
     * @param {MouseEvent} event
     */
    function pick(event) {
        const element = /** @type {Element} */ (event.target).closest(".line-number, .line");
        const line = element instanceof HTMLElement ? Number(element.dataset.line ?? element.id.slice(1)) : 0;
        if (element?.matches(".line") && !getSelection()?.isCollapsed) return;
        if (line) choose({ first: line, last: line }, event);
    }
    const style = { "--digits": `${digits}ch`, "--columns": `${columns}ch`, minHeight: `${total * LINE}px` };
    return html`<div class="code" ref=${code} onClick=${pick} style=${style} role="group" aria-label=${`Code of ${file.path}`}>
        ${blocks.map((block) => {
            const [from, to] = overlap(block, selected);
            const at = block.start - first;
            return html`<${Block} key=${block.number} block=${block} isDrawn=${isDrawn(at, at + block.lines)} colored=${colored} first=${first}
                ages=${ages} select=${choose} show=${hover} project=${file.project} from=${from} to=${to}
                stop=${block.pieces.some((piece) => piece.run === stop) ? stop : null} />`;
        })}
    </div>`;
}

/**
 * The selected lines within others; 0, 0 if there are none.
 * @param {{start: number, lines: number}} piece
 * @param {Range | null} selected
 */
function overlap(piece, selected) {
    if (!selected) return [0, 0];
    const from = Math.max(piece.start, selected.first);
    const to = Math.min(piece.start + piece.lines - 1, selected.last);
    return from <= to ? [from, to] : [0, 0];
}

/**
 * Lines that are drawn together, or their room. What is drawn in one block does not make the others be looked at. Only a
 * block sticks and is skipped while nobody sees it: a browser pays for each element that does, and a file has thousands of
 * runs.
 * @param {any} props
 */
function Block({ block, isDrawn, colored, first, ages, select, show, project, from, to, stop }) {
    return useMemo(() => {
        const size = `${block.lines * LINE}px`;
        if (!isDrawn) return html`<div style=${{ height: size }}></div>`;
        const numbers = Array.from({ length: block.lines }, (_, line) => block.start + line);
        const begins = new Set(block.pieces.filter((/** @type {Piece} */ { isFirst, start }) => isFirst && start > first).map(startOf));
        const named = (/** @type {string} */ name, /** @type {number} */ number) =>
            classes(name, begins.has(number) && "begins", number >= from && number <= to && "selected");
        return html`<div class="block" style=${{ containIntrinsicHeight: size, "--height": size }}>
            <div class="margin"><div>${block.pieces.map((/** @type {Piece} */ { run, start, lines, isFirst }) => html`
                    <div key=${start} class=${classes("gutter", run.date && `age-${ages.step(run.date)}`, begins.has(start) && "begins")}
                        style=${{ height: `${lines * LINE}px` }}>${isFirst && run.commit &&
                        reasonOf(run, { select, show, project, isStop: run === stop })}</div>`)}</div>
                <div>${numbers.map((number) => html`<span class=${named("line-number", number)} data-line=${number}></span>`)}</div></div>
            <div class="lines">${numbers.map((number) => html`<code id=${`L${number}`} class=${named("line", number)}
                >${colored(number - first)}</code>`)}</div>
        </div>`;
    }, [block, isDrawn, colored, ages, from, to, stop]);
}

/** @param {Piece} piece */
const startOf = (piece) => piece.start;

/**
 * What the gutter says of a run of lines. No component: a file has thousands.
 * @param {Run} run
 * @param {{select: (range: Range, event: Event) => void, show: (run: Run | null, element?: Element) => void, project: string,
 *   isStop: boolean}} view
 */
function reasonOf(run, { select, show, project, isStop }) {
    const range = { first: run.start, last: run.start + run.lines - 1 };
    const what = [run.title, run.mergeRequest, counted(run.discussions, "discussion"), ago(run.date)].filter(Boolean).join(", ");
    const related = run.mergeRequest ?? run.issues[0];
    // A finger does not hover: it would leave the card where it is.
    const enter = (/** @type {any} */ event) => event.pointerType === "mouse" && show(run, event.currentTarget);
    const focus = (/** @type {any} */ event) => event.currentTarget.matches(":focus-visible") && show(run, event.currentTarget);
    return html`<div class="reason" onPointerEnter=${enter} onPointerLeave=${() => show(null)}>
        <button type="button" class="reason-title cut" data-run=${run.start} tabindex=${isStop ? 0 : -1}
            onClick=${(/** @type {MouseEvent} */ event) => select(range, event)} onFocus=${focus} onBlur=${() => show(null)}
            aria-label=${`Lines ${range.first} to ${range.last}: ${what}. Trace them.`}>${coded(run.title)}</button>
        ${run.discussions > 0 && html`<span class="threads" title=${counted(run.discussions, "discussion")}
            ><${Icon} name="discussion" />${run.discussions}</span>`}
        ${related && html`<a class="small" href=${addressOf(related)} tabindex="-1">${shorten(related, project)}</a>`}
        <time class="reason-age muted" datetime=${run.date} title=${exactly(run.date)}>${ago(run.date)}</time>
    </div>`;
}

/** @type {WeakMap<Run[], ReturnType<typeof ageScale>>} */
const scales = new WeakMap();

/** @param {Run[]} runs */
function agesOf(runs) {
    const known = scales.get(runs) ?? ageScale([...new Set(runs.map((run) => run.date).filter(Boolean))]);
    scales.set(runs, known);
    return known;
}

/**
 * What the colors of the gutter mean.
 * @param {{runs: Run[]}} props
 */
export function AgeLegend({ runs }) {
    const { names } = agesOf(runs);
    if (!names.length) return null;
    return html`<p class="age-legend small muted" role="img" aria-label=${`Age of lines: ${names.join(", ")}`}
        >newer ${names.map((name, step) => html`<span class=${`swatch age-${step}`} title=${name}></span>`)} older</p>`;
}
