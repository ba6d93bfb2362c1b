// Colors of code. The server says what is what, as it parses; without that, code is plain.

import { html } from "./html.js";

/** Longest line that is colored, in characters: each color is an element. */
const MAX_LINE = 2000;

/**
 * What the server says of the lines: for each a start, a length and a kind, the next start, and so on.
 * @typedef {{kinds: string[], lines: number[][]}} Highlight
 */

/**
 * Colors lines when they are drawn.
 * @param {string[]} lines
 * @param {Highlight | null | undefined} highlight
 * @returns {(number: number) => any[]} for a line, counted from 0, texts and elements
 */
export function highlighter(lines, highlight) {
    /** @type {any[][]} */
    const made = [];
    return (number) => {
        const line = lines[number] ?? "";
        const spans = line.length > MAX_LINE ? [] : (highlight?.lines[number] ?? []);
        return (made[number] ??= colorLine(line, spans, highlight?.kinds ?? []));
    };
}

/**
 * @param {string} line
 * @param {number[]} spans
 * @param {string[]} kinds
 */
function colorLine(line, spans, kinds) {
    const made = [];
    let at = 0;
    for (let span = 0; span + 2 < spans.length; span += 3) {
        const [start = 0, length = 0, kind = 0] = spans.slice(span, span + 3);
        if (start > at) made.push(line.slice(at, start));
        made.push(html`<span class=${`t-${kinds[kind]}`}>${line.slice(start, start + length)}</span>`);
        at = start + length;
    }
    // The end of the line is one of its text, so that what is copied has it.
    made.push(`${line.slice(at)}\n`);
    return made;
}
