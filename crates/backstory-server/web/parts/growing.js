// Long lists that are drawn bit by bit, so that the page answers meanwhile.

import { useEffect, useMemo, useState } from "./html.js";

/** Milliseconds until more is drawn where a browser does not say when it is idle. */
const PAUSE = 16;

/**
 * Does something when the browser is idle.
 * @param {() => void} work
 * @returns {() => void} what prevents it
 */
function whenIdle(work) {
    const later = window.requestIdleCallback ?? ((/** @type {() => void} */ work) => window.setTimeout(work, PAUSE));
    const cancel = window.cancelIdleCallback ?? window.clearTimeout;
    const handle = later(work);
    return () => cancel(handle);
}

/**
 * How many of all are drawn: more each time that the browser is idle.
 * @param {number} total
 * @param {{first: number, step?: number, needed?: number}} options `needed`: drawn at once, as the reader goes there
 */
export function useGrowing(total, { first, step = first, needed = 0 }) {
    const [drawn, setDrawn] = useState(first);
    useEffect(() => {
        if (drawn < total) return whenIdle(() => setDrawn((drawn) => drawn + step));
    }, [drawn, total]);
    return Math.max(drawn, needed);
}

/**
 * Lines that are drawn: from the first of each up to the second, in order and apart.
 * @typedef {[number, number][]} Drawn
 */

/**
 * @param {Drawn} drawn
 * @param {number} from
 * @param {number} to
 * @returns {Drawn}
 */
export function withLines(drawn, from, to) {
    /** @type {Drawn} */
    const made = [];
    for (const [start, end] of [...drawn, /** @type {[number, number]} */ ([from, to])].sort((a, b) => a[0] - b[0])) {
        const last = made.at(-1);
        if (last && start <= last[1]) last[1] = Math.max(last[1], end);
        else made.push([start, end]);
    }
    return made;
}

/**
 * What is drawn next: what is nearest to a line, on the side where less of it is.
 * @param {Drawn} drawn
 * @param {number} total
 * @param {number} line
 * @param {number} step
 * @returns {[number, number] | null} null if all is drawn
 */
export function nextLines(drawn, total, line, step) {
    if (total === 0) return null;
    const around = drawn.find(([from, to]) => line >= from && line < to);
    if (!around) return [Math.max(0, line - Math.floor(step / 3)), Math.min(total, line + step)];
    const [from, to] = around;
    if (from === 0 && to >= total) return null;
    const goesUp = from > 0 && (to >= total || line - from < to - line);
    return goesUp ? [Math.max(0, from - step), from] : [to, Math.min(total, to + step)];
}

/**
 * Which of many lines are drawn: those around one at first, then those where the reader is, then all others.
 * @param {number} total
 * @param {{line: number, first: number, step: number, seen: () => number, of: any}} options `line`: in the middle of what is
 *   drawn at once, -1 for the beginning; `seen`: the line where the reader is; `of`: what the lines are of, to begin again
 *   when that changes
 * @returns {(from: number, to: number) => boolean} whether any of these lines is drawn
 */
export function useDrawn(total, { line, first, step, seen, of }) {
    const around = (/** @type {Drawn} */ drawn, /** @type {number} */ at) =>
        withLines(drawn, Math.max(0, at - Math.floor(first / 3)), Math.min(total, Math.max(at, 0) + first));
    const [state, setState] = useState(() => ({ of, drawn: around([], line) }));
    // Of other lines, or when the reader is led to where nothing is yet, something is there at once.
    const drawn = useMemo(() => {
        const known = state.of === of ? state.drawn : around([], seen());
        return line < 0 || line >= total || isDrawn(known, line, line + 1) ? known : around(known, line);
    }, [state, of, line]);
    useEffect(() => {
        const next = nextLines(drawn, total, Math.min(Math.max(seen(), 0), Math.max(total - 1, 0)), step);
        if (!next) return;
        return whenIdle(() => setState({ of, drawn: withLines(drawn, ...next) }));
    }, [drawn, total]);
    useEffect(() => {
        const look = () => {
            const at = seen();
            if (at >= 0 && at < total && !isDrawn(drawn, at, at + 1)) setState({ of, drawn: around(drawn, at) });
        };
        window.addEventListener("scroll", look, { passive: true });
        return () => window.removeEventListener("scroll", look);
    }, [drawn, total]);
    return (from, to) => isDrawn(drawn, from, to);
}

/**
 * Whether any of some lines is drawn.
 * @param {Drawn} drawn
 * @param {number} from
 * @param {number} to
 */
function isDrawn(drawn, from, to) {
    return drawn.some(([start, end]) => from < end && to > start);
}
