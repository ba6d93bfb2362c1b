// The symbols that a file defines; each leads to its lines and the trace of them.

import { html, classes } from "./html.js";
import { useGrowing } from "./growing.js";
import { Icon } from "./icons.js";
import { fileAddress } from "./ref.js";

/** Width of a level, and the deepest that is indented, so that names keep room. */
const INDENT = 14;
const DEEPEST = 5;
/** Rows that are drawn at first, and more at a time. */
const FIRST = 60;
const STEP = 120;

/**
 * @param {{file: any, rev: string | null, selected: {first: number, last: number} | null}} props
 */
export function Outline({ file, rev, selected }) {
    const symbols = file.symbols ?? [];
    const drawn = useGrowing(symbols.length, { first: FIRST, step: STEP });
    if (!symbols.length) return html`<p class="muted small pad">${file.language ? "It defines no symbol." : "This kind of file is not parsed."}</p>`;
    const current = selected && innermost(symbols, selected.first);
    return html`<nav class="tree" aria-label="Symbols of the file"><ul>${symbols.slice(0, drawn).map((/** @type {any} */ symbol) => html`
        <${Row} key=${symbol.id} symbol=${symbol} file=${file} rev=${rev} isCurrent=${symbol === current} />`)}</ul></nav>`;
}

/** @param {{symbol: any, file: any, rev: string | null, isCurrent: boolean}} props */
function Row({ symbol, file, rev, isCurrent }) {
    const kind = symbol.kind.replaceAll("_", " ");
    const address = fileAddress(file.project, file.path, { rev, lines: symbol.lines });
    return html`<li><a class=${classes("tree-row symbol-row", isCurrent && "current")} href=${address}
        style=${{ paddingLeft: `${8 + Math.min(symbol.depth, DEEPEST) * INDENT}px` }} aria-current=${isCurrent ? "true" : undefined}
        title=${`${kind} ${symbol.name}, lines ${symbol.lines[0]} to ${symbol.lines[1]}`}
        ><${Icon} name="entity" /><span class="cut">${symbol.name}</span><span class="muted symbol-kind">${kind}</span></a></li>`;
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
