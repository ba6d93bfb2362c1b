// Markdown of issues, comments and messages as elements. Everything in it is text of people: no HTML is made of it, links
// lead to web addresses or to screens, and pictures are links, as nothing is loaded from elsewhere.

import { html } from "./html.js";
import { addressOf } from "./ref.js";

/** Most characters that are laid out; the rest is shown as plain text. */
const MAX_TEXT = 60_000;
/** Most lists and quotes within one another. */
const MAX_DEPTH = 6;

/** What begins an inline element; each alternative is bounded, so that no text makes it slow. So are all patterns here. */
const INLINE = new RegExp(
    [
        "(`{1,3})([^`]{1,2000})\\1",
        "!?\\[([^\\]\\n]{0,400})\\]\\(<?((?:https?:\\/\\/|\\/|#)[^\\s)>]{0,1000})>?(?:\\s\"[^\"\\n]{0,200}\")?\\)",
        "(https?:\\/\\/[^\\s<>\"'`]{1,1000})",
        "(\\*\\*|__)(?=\\S)([^\\n]{1,1000}?)\\6",
        "(~~)(?=\\S)([^\\n]{1,1000}?)~~",
        "(\\*|_)(?=\\S)([^\\n*_]{1,500}?)\\10(?!\\w)",
        "(?<![\\w/.-])((?:[\\w.-]{1,100}(?:\\/[\\w.-]{1,100}){1,20})?[#!]\\d{1,9})\\b",
        "(?<![\\w/@])([0-9a-f]{40})\\b",
    ].join("|"),
    "g",
);

/**
 * Text of people, laid out.
 * @param {{text: string, project?: string}} props
 */
export function Markdown({ text, project = "" }) {
    const shown = text.slice(0, MAX_TEXT);
    return html`<div class="prose" dir="auto">${blocks(withoutComments(shown.replaceAll("\r", "")).split("\n"), project, 0)}
        ${text.length > MAX_TEXT && html`<p class="muted">… ${(text.length - MAX_TEXT).toLocaleString("en")} more characters</p>`}</div>`;
}

/**
 * @param {string} text
 */
function withoutComments(text) {
    let [made, from] = ["", 0];
    for (;;) {
        const open = text.indexOf("<!--", from);
        const close = open < 0 ? -1 : text.indexOf("-->", open + 4);
        if (close < 0) return made + text.slice(from);
        made += text.slice(from, open);
        from = close + 3;
    }
}

/**
 * @param {string[]} lines
 * @param {string} project
 * @param {number} depth
 */
function blocks(lines, project, depth) {
    const made = [];
    let at = 0;
    while (at < lines.length) {
        const line = lines[at] ?? "";
        if (!line.trim()) {
            at += 1;
            continue;
        }
        const [block, next] = fence(lines, at) ?? heading(lines, at, project) ?? quote(lines, at, project, depth) ??
            list(lines, at, project, depth) ?? table(lines, at, project) ?? paragraph(lines, at, project);
        made.push(block);
        at = next;
    }
    return made;
}

/**
 * @typedef {[any, number]} Block what was made, and the line behind it
 * @param {string[]} lines
 * @param {number} at
 * @returns {Block | null}
 */
function fence(lines, at) {
    const open = /^\s{0,3}(```+|~~~+)\s*([\w+:-]*)/.exec(lines[at] ?? "");
    if (!open) {
        if (!/^ {4,}\S/.test(lines[at] ?? "") || (lines[at - 1] ?? "").trim()) return null;
        let end = at;
        while (end < lines.length && (/^ {4}/.test(lines[end] ?? "") || !(lines[end] ?? "").trim())) end += 1;
        return [html`<pre tabindex="0"><code>${lines.slice(at, end).map((line) => line.slice(4)).join("\n").trimEnd()}</code></pre>`, end];
    }
    const mark = open[1] ?? "```";
    let end = at + 1;
    while (end < lines.length && !(lines[end] ?? "").trim().startsWith(mark)) end += 1;
    return [html`<pre tabindex="0" data-language=${open[2]}><code>${lines.slice(at + 1, end).join("\n")}</code></pre>`, end + 1];
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {string} project
 * @returns {Block | null}
 */
function heading(lines, at, project) {
    const line = lines[at] ?? "";
    if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) return [html`<hr />`, at + 1];
    const match = /^\s{0,3}#{1,6}\s+(\S.*)$/.exec(line);
    return match && [html`<h4>${inline(withoutClosingMarks(match[1] ?? ""), project)}</h4>`, at + 1];
}

/**
 * The text of a heading without the `#` that may close it.
 * @param {string} text
 */
function withoutClosingMarks(text) {
    const trimmed = text.trimEnd();
    let end = trimmed.length;
    while (trimmed[end - 1] === "#") end -= 1;
    return /\s/.test(trimmed[end - 1] ?? " ") ? trimmed.slice(0, end).trimEnd() : trimmed;
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {string} project
 * @param {number} depth
 * @returns {Block | null}
 */
function quote(lines, at, project, depth) {
    if (depth >= MAX_DEPTH || !/^\s{0,3}>/.test(lines[at] ?? "")) return null;
    let end = at;
    while (end < lines.length && /^\s{0,3}>/.test(lines[end] ?? "")) end += 1;
    const inner = lines.slice(at, end).map((line) => line.replace(/^\s{0,3}> ?/, ""));
    return [html`<blockquote>${blocks(inner, project, depth + 1)}</blockquote>`, end];
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {string} project
 * @param {number} depth
 * @returns {Block | null}
 */
function list(lines, at, project, depth) {
    const mark = /^(\s*)([-*+]|\d{1,9}[.)])\s+/;
    const first = mark.exec(lines[at] ?? "");
    if (!first || depth >= MAX_DEPTH) return null;
    const indent = (first[1] ?? "").length;
    /** @type {string[][]} */
    const items = [];
    let end = at;
    for (; end < lines.length; end += 1) {
        const line = lines[end] ?? "";
        const match = mark.exec(line);
        if (match && (match[1] ?? "").length <= indent + 1) items.push([line.slice(match[0].length)]);
        else if (/^\s+\S/.test(line) && items.length) items.at(-1)?.push(line.slice(Math.min(indent + 2, line.search(/\S/))));
        else if (line.trim() || !/^\s+\S/.test(lines[end + 1] ?? "")) break;
        else items.at(-1)?.push("");
    }
    const made = items.map((item) => html`<li>${item.length === 1 ? task(item[0] ?? "", project) : blocks(item, project, depth + 1)}</li>`);
    return [/\d/.test(first[2] ?? "") ? html`<ol start=${Number.parseInt(first[2] ?? "1", 10)}>${made}</ol>` : html`<ul>${made}</ul>`, end];
}

/**
 * @param {string} text
 * @param {string} project
 */
function task(text, project) {
    const match = /^\[([ xX])\]\s+(.*)$/.exec(text);
    if (!match) return inline(text, project);
    const done = match[1] !== " ";
    return html`<input type="checkbox" checked=${done} disabled aria-label=${done ? "done" : "to do"} /> ${inline(match[2] ?? "", project)}`;
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {string} project
 * @returns {Block | null}
 */
function table(lines, at, project) {
    if (!/\|/.test(lines[at] ?? "") || !/^\|?\s*:?-[\s|:-]*$/.test((lines[at + 1] ?? "").trim())) return null;
    const cells = (/** @type {string} */ line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => inline(cell.trim(), project));
    let end = at + 2;
    while (end < lines.length && /\|/.test(lines[end] ?? "")) end += 1;
    return [
        html`<div class="scroll-x"><table><thead><tr>${cells(lines[at] ?? "").map((cell) => html`<th>${cell}</th>`)}</tr></thead>
            <tbody>${lines.slice(at + 2, end).map((line) => html`<tr>${cells(line).map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`,
        end,
    ];
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {string} project
 * @returns {Block}
 */
function paragraph(lines, at, project) {
    let end = at + 1;
    const begins = /^\s{0,3}(>|#{1,6}\s|```|~~~|[-*+]\s|\d{1,9}[.)]\s)/;
    while (end < lines.length && (lines[end] ?? "").trim() && !begins.test(lines[end] ?? "")) end += 1;
    const made = lines.slice(at, end).map((line, number) => [number > 0 && html`<br />`, inline(line.trim(), project)]);
    return [html`<p>${made}</p>`, end];
}

/**
 * Code, links, emphasis and references within a line.
 * @param {string} text
 * @param {string} project
 * @returns {any[]}
 */
export function inline(text, project) {
    const made = [];
    let from = 0;
    for (const match of text.matchAll(INLINE)) {
        if (match.index < from) continue;
        made.push(text.slice(from, match.index));
        from = match.index + match[0].length;
        const [all, , code, label, target, bare, , bold, , struck, , slanted, reference, commit] = match;
        if (code !== undefined) made.push(html`<code>${code}</code>`);
        else if (target !== undefined) made.push(link(target, label || target));
        else if (bare !== undefined) {
            const address = bare.replace(/[.,;:!?)\]]+$/, "");
            made.push(link(address, address), bare.slice(address.length));
        } else if (bold !== undefined) made.push(html`<strong>${inline(bold, project)}</strong>`);
        else if (struck !== undefined) made.push(html`<del>${struck}</del>`);
        else if (slanted !== undefined) made.push(html`<em>${slanted}</em>`);
        else if (reference !== undefined && (project || /\//.test(reference))) {
            const id = /^[#!]/.test(reference) ? project + reference : reference;
            made.push(html`<a href=${addressOf(id)}>${reference}</a>`);
        } else if (commit !== undefined && project) made.push(html`<a class="mono" href=${addressOf(`${project}@${commit}`)}>${commit.slice(0, 10)}</a>`);
        else made.push(all);
    }
    made.push(text.slice(from));
    return made;
}

/**
 * @param {string} target
 * @param {string} label
 */
function link(target, label) {
    if (!/^https?:\/\//.test(target)) return html`<span>${label}</span>`;
    return html`<a class="source" href=${target} target="_blank" rel="noopener noreferrer nofollow">${label}</a>`;
}

/**
 * Words quoted from a text: their code as code, without the marks of a block.
 * @param {{text: string, project: string}} props
 */
export function Quote({ text, project }) {
    const plain = text.replace(/```\w*[ \n]?/g, "`").replace(/`\s*`/g, "");
    return html`<blockquote class="quote" dir="auto">${inline(plain, project)}</blockquote>`;
}
