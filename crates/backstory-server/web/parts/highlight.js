// Colors for code: comments, texts, numbers and keywords, enough to read by. The server parses for real.

import { html } from "./html.js";

/** Longest line that is colored, in characters. */
const MAX_LINE = 2000;

/** @typedef {import("./grammars.js").Grammar} Grammar */

const TOKEN = /[#@!][ \t]*[a-z-]+|[A-Za-z_$][\w$]*|\d[\w.]*|\s+|./gsu;

/**
 * What is open at the end of a line.
 * @typedef {{close: string, kind: string, escapes?: boolean}} Open
 */

/**
 * Colors lines when they are drawn. What is open at the end of a line goes on in the next.
 * @param {string[]} lines
 * @param {Grammar | null} grammar
 * @returns {(number: number) => any[]} for a line, counted from 0, texts and elements
 */
export function highlighter(lines, grammar) {
    if (!grammar) return (number) => [lines[number]];
    /** @type {any[][]} */
    const made = [];
    // What is open where each line begins. Few lines can change that; the others need not be read.
    /** @type {(Open | null)[]} */
    const open = [null];
    const longs = grammar.spans.filter((span) => span.long).map((span) => new RegExp(span.open.source));
    /** @param {number} number */
    const changes = (number) => {
        const now = open[number];
        const line = lines[number] ?? "";
        return now ? line.includes(now.close) : longs.some((long) => long.test(line));
    };
    return (number) => {
        while (open.length <= number) {
            const last = open.length - 1;
            const line = lines[last] ?? "";
            const now = open[last] ?? null;
            open.push(changes(last) && line.length <= MAX_LINE ? openAfter(line, grammar, now) : now);
        }
        const line = lines[number] ?? "";
        return (made[number] ??= line.length > MAX_LINE ? [line] : colorLine(line, grammar, open[number] ?? null));
    };
}

/**
 * @param {string} line
 * @param {Grammar} grammar
 * @param {Open | null} open
 * @returns {any[]}
 */
function colorLine(line, grammar, open) {
    const made = [];
    let plain = "";
    let at = 0;
    /**
     * @param {string} kind
     * @param {number} end
     */
    const put = (kind, end) => {
        if (plain) made.push(plain);
        plain = "";
        if (end > at) made.push(html`<span class=${kind}>${line.slice(at, end)}</span>`);
        at = end;
    };
    if (open) {
        const end = endOf(line, 0, open);
        put(open.kind, end < 0 ? line.length : end);
    }
    while (at < line.length) {
        const mayBegin = grammar.starts.includes(line[at] ?? "");
        const begun = mayBegin ? spanAt(line, at, grammar) : null;
        if (begun) {
            const end = endOf(line, begun.from, begun.open);
            put(begun.open.kind, end < 0 ? line.length : end);
        } else if (mayBegin && matches(grammar.comment, line, at)) put("t-comment", line.length);
        else {
            TOKEN.lastIndex = at;
            const token = TOKEN.exec(line)?.[0] ?? line[at] ?? "";
            const word = token.replace(/^#[ \t]+/, "#");
            if (grammar.words.has(word)) put("t-word", at + token.length);
            else if (/^\d/.test(token)) put("t-number", at + token.length);
            else {
                // A sign that begins no keyword is one by itself.
                const taken = /^[#@!]/.test(token) ? (token[0] ?? "") : token;
                plain += taken;
                at += taken.length;
            }
        }
    }
    if (plain) made.push(plain);
    return made;
}

/**
 * What is open behind a line.
 * @param {string} line
 * @param {Grammar} grammar
 * @param {Open | null} open
 * @returns {Open | null}
 */
function openAfter(line, grammar, open) {
    let at = open ? endOf(line, 0, open) : 0;
    if (at < 0) return open;
    while (at < line.length) {
        const mayBegin = grammar.starts.includes(line[at] ?? "") && !/\w\w/.test(line.slice(at - 1, at + 1));
        const begun = mayBegin ? spanAt(line, at, grammar) : null;
        if (begun) {
            const end = endOf(line, begun.from, begun.open);
            if (end < 0) return begun.isLong ? begun.open : null;
            at = end;
        } else if (mayBegin && matches(grammar.comment, line, at)) return null;
        else at += 1;
    }
    return null;
}

/**
 * @param {RegExp | null} pattern a sticky one
 * @param {string} line
 * @param {number} at
 */
function matches(pattern, line, at) {
    if (!pattern) return null;
    pattern.lastIndex = at;
    return pattern.exec(line);
}

/**
 * The span that begins there.
 * @param {string} line
 * @param {number} at
 * @param {Grammar} grammar
 */
function spanAt(line, at, grammar) {
    for (const span of grammar.spans) {
        const found = matches(span.open, line, at);
        if (!found) continue;
        const open = { close: span.close.replace("$1", found[1] ?? ""), kind: span.kind, escapes: span.escapes };
        return { open, from: at + found[0].length, isLong: Boolean(span.long) };
    }
    return null;
}

/**
 * Where something ends that is open; -1 if it does not end in this line.
 * @param {string} line
 * @param {number} from
 * @param {Open} open
 */
function endOf(line, from, open) {
    for (let at = from; at < line.length; at += 1) {
        if (open.escapes && line[at] === "\\") at += 1;
        else if (line.startsWith(open.close, at)) return at + open.close.length;
    }
    return -1;
}
