// The symbols that a file defines; each leads to its lines and the trace of them.

import { html, classes } from "./html.js";
import { Icon } from "./icons.js";
import { fileAddress } from "./ref.js";

/** Width of a level, and the deepest that is indented, so that names keep room. */
const INDENT = 14;
const DEEPEST = 5;

/**
 * @param {{file: any, rev: string | null, selected: {first: number, last: number} | null}} props
 */
export function Outline({ file, rev, selected }) {
    const symbols = file.symbols ?? [];
    if (!symbols.length) return html`<p class="muted small pad">${file.language ? "It defines no symbol." : "It is no source code that is parsed."}</p>`;
    const current = selected && innermost(symbols, selected.first);
    return html`<nav class="tree" aria-label="Symbols of the file"><ul>${symbols.map((/** @type {any} */ symbol) => html`<li key=${symbol.id}>
        <a class=${classes("tree-row symbol-row", symbol === current && "current")} style=${{ paddingLeft: `${8 + Math.min(symbol.depth, DEEPEST) * INDENT}px` }}
            href=${fileAddress(file.project, file.path, { rev, lines: symbol.lines })} title=${`${symbol.kind.replaceAll("_", " ")} ${symbol.name}, lines ${symbol.lines[0]} to ${symbol.lines[1]}`}
            aria-current=${symbol === current ? "true" : undefined}><${Icon} name="entity" /><span class="cut">${symbol.name}</span><span class="muted symbol-kind">${symbol.kind.replaceAll("_", " ")}</span></a></li>`)}</ul></nav>`;
}

/**
 * The smallest symbol around a line.
 * @param {any[]} symbols
 * @param {number} line
 */
function innermost(symbols, line) {
    const around = symbols.filter((symbol) => symbol.lines[0] <= line && symbol.lines[1] >= line);
    return around.sort((a, b) => a.lines[1] - a.lines[0] - (b.lines[1] - b.lines[0]))[0] ?? null;
}
