// Going through a file by keys, and to what is selected.

import { useEffect } from "./html.js";
import { LINE, focusGutter } from "./code.js";
import { copy, say } from "./copy.js";
import { encode, fileAddress } from "./ref.js";
import { ask } from "../api.js";
import { go } from "../router.js";
import { isGoingBack } from "../scroll.js";

/** Pixels that must be between a selected line and the edges of what can be seen. */
const ABOVE = 120;
const BELOW = 40;

/** @typedef {import("./code.js").Range} Range */

/**
 * Brings the selected lines into view: when the page is opened at them, and when the trace would cover them.
 * @param {Range | null} selected
 * @param {number} first the first line that is shown
 */
export function useScroll(selected, first) {
    useEffect(() => {
        const code = document.querySelector(".code");
        if (!selected || !code || isGoingBack()) return;
        const top = code.getBoundingClientRect().top + (selected.first - first) * LINE;
        // On a narrow screen the trace is below.
        const panel = document.querySelector(".side-panel");
        const isBelow = panel !== null && getComputedStyle(panel).position === "fixed";
        const bottom = isBelow ? panel.getBoundingClientRect().top : window.innerHeight;
        if (top > ABOVE && top + LINE < bottom - BELOW) return;
        window.scrollTo({ top: window.scrollY + top - Math.max(ABOVE, Math.min(bottom / 3, LINE * 12)) });
    }, [selected?.first, selected === null]);
}

/**
 * @param {{file: any, runs: import("./runs.js").Run[], selected: Range | null, last: () => number, select: (range: Range) => void,
 *   here: (lines: [number, number] | null, rev?: string | null) => string}} view
 * @returns {import("../keys.js").Binding[]} `last`: the line that was selected before, if none is
 */
export function fileKeys({ file, runs, selected, last, select, here }) {
    /** @param {number} step */
    function move(step) {
        const line = selected?.first ?? focusedLine() ?? last();
        const at = runs.findIndex((run) => line >= run.start && line < run.start + run.lines);
        const run = runs[at < 0 ? 0 : Math.min(Math.max(at + step, 0), runs.length - 1)];
        if (!run) return;
        select({ first: run.start, last: run.start + run.lines - 1 });
        // Who is in the gutter goes along, so that Tab leads from there to the trace.
        if (document.activeElement?.matches(".reason-title, body, main")) requestAnimationFrame(() => focusGutter(run.start));
    }
    function pin() {
        const address = here(selected && [selected.first, selected.last], file.rev);
        go(address, { replace: true, keepScroll: true });
        copy(new URL(address, location.href).href, "Permanent address");
    }
    function close() {
        if (!selected) return;
        go(here(null), { replace: true, keepScroll: true });
        focusGutter(selected.first);
    }
    const trace = () => /** @type {HTMLElement | null} */ (document.querySelector(".side-panel-body a, .side-panel-body button"))?.focus();
    return [
        { keys: "j", label: "Next run of lines", run: () => move(1) },
        { keys: "k", label: "Previous run of lines", run: () => move(-1) },
        { keys: "b", label: "What was there before the selected lines", run: () => before(file, selected) },
        { keys: "y", label: "Permanent address of the selection", run: pin },
        { keys: "t", label: "Into the trace", run: trace },
        { keys: "h", label: "History of the file", run: () => go(`/ui/history/${encode(file.id)}`) },
        { keys: "Escape", label: "Close the trace", run: close },
    ];
}

/** The first line of the run whose reason has the focus. */
function focusedLine() {
    const run = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.run : undefined;
    return run === undefined ? null : Number(run);
}

/**
 * Goes to what the selected lines replaced, unless the reader goes elsewhere meanwhile.
 * @param {any} file
 * @param {Range | null} selected
 */
async function before(file, selected) {
    if (!selected) return say("Select lines first");
    const target = { lines: { path: file.path, lines: [selected.first, selected.last] } };
    const address = location.href;
    say("Looking for what was there before…");
    try {
        const trace = await ask("trace", { project: file.project, target, rev: file.rev, earlier: 1 });
        if (location.href !== address) return;
        const version = trace.earlier[0];
        if (!version) return say("Nothing was there before: these lines were added");
        go(fileAddress(file.project, version.path, { rev: version.commit, lines: [version.line, version.line + version.lines - 1] }));
    } catch (error) {
        if (location.href === address) say(/** @type {Error} */ (error).message);
    }
}
