// Colors for code: comments, texts, numbers and keywords, enough to read by. What is parsed for real is on the server.

import { html } from "./html.js";

/** Longest line that is colored, in characters. */
const MAX_LINE = 2000;

const SLASHES = { line: "//", open: "/*", close: "*/", quotes: "\"'`" };
const HASHES = { line: "#", open: "", close: "", quotes: "\"'" };

/** @type {Record<string, {line: string, open: string, close: string, quotes: string, words: string}>} */
const LANGUAGES = {
    rust: { ...SLASHES, quotes: "\"", words: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while" },
    c: { ...SLASHES, quotes: "\"'", words: "auto break case char class const constexpr continue default delete do double else enum extern false float for goto if inline int long namespace new nullptr private protected public register return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while #include #define #if #ifdef #ifndef #else #elif #endif #undef #error" },
    script: { ...SLASHES, words: "abstract as async await break case catch class const continue default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null of package private protected public return static super switch this throw true try type typeof undefined var void while yield fun val object when override func go defer chan map range struct string bool namespace using internal sealed foreach final int long boolean" },
    python: { ...HASHES, words: "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield self end module require do unless then begin rescue nil" },
    shell: { ...HASHES, words: "if then else elif fi for in do done while case esac function local export return set unset shift exit true false echo" },
    config: { ...HASHES, words: "true false null yes no on off" },
};
/** @type {Record<string, string>} */
const BY_ENDING = {
    rs: "rust", c: "c", h: "c", cc: "c", cpp: "c", hpp: "c", cxx: "c", m4: "shell", ac: "shell",
    js: "script", mjs: "script", jsx: "script", ts: "script", tsx: "script", java: "script", kt: "script", kts: "script", go: "script", cs: "script", php: "script", css: "script", json: "script", scala: "script", swift: "script",
    py: "python", rb: "python", sage: "python", sh: "shell", bash: "shell", zsh: "shell", toml: "config", yml: "config", yaml: "config", ini: "config", cfg: "config", mk: "config",
};

/**
 * What colors a file.
 * @param {string} path
 */
export function grammarOf(path) {
    const name = path.split("/").at(-1) ?? path;
    const key = /^(Makefile|Dockerfile|CMakeLists\.txt)/.test(name) ? "config" : BY_ENDING[name.split(".").at(-1) ?? ""];
    const language = key && LANGUAGES[key];
    return language ? { ...language, words: new Set(language.words.split(" ")) } : null;
}

/** @typedef {NonNullable<ReturnType<typeof grammarOf>>} Grammar */

const TOKEN = /#[ \t]*[a-z]+|[A-Za-z_$][\w$]*|\d[\w.]*|\s+|./gsu;

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
    let inComment = false;
    return (number) => {
        while (made.length <= number && made.length < lines.length) {
            const line = lines[made.length] ?? "";
            if (line.length > MAX_LINE) {
                made.push([line]);
                continue;
            }
            const [colored, open] = colorLine(line, grammar, inComment);
            inComment = open;
            made.push(colored);
        }
        return made[number] ?? [];
    };
}

/**
 * @param {string} line
 * @param {Grammar} grammar
 * @param {boolean} inComment
 * @returns {[any[], boolean]}
 */
function colorLine(line, grammar, inComment) {
    const made = [];
    let plain = "";
    let at = 0;
    const put = (/** @type {string} */ kind, /** @type {string} */ text) => {
        if (plain) made.push(plain);
        plain = "";
        made.push(html`<span class=${kind}>${text}</span>`);
        at += text.length;
    };
    while (at < line.length) {
        if (inComment || (grammar.open && line.startsWith(grammar.open, at))) {
            const close = line.indexOf(grammar.close, at + (inComment ? 0 : grammar.open.length));
            const end = close < 0 ? line.length : close + grammar.close.length;
            inComment = close < 0;
            put("t-comment", line.slice(at, end));
        } else if (line.startsWith(grammar.line, at) && (grammar.line !== "#" || at === 0 || /\s/.test(line[at - 1] ?? ""))) {
            put("t-comment", line.slice(at));
        } else if (grammar.quotes.includes(line[at] ?? "")) {
            put("t-text", quoted(line, at));
        } else {
            TOKEN.lastIndex = at;
            const token = TOKEN.exec(line)?.[0] ?? line[at] ?? "";
            if (grammar.words.has(token.replace(/^#[ \t]+/, "#"))) put("t-word", token);
            else if (/^\d/.test(token)) put("t-number", token);
            else {
                plain += token;
                at += token.length;
            }
        }
    }
    if (plain) made.push(plain);
    return [made, inComment];
}

/**
 * @param {string} line
 * @param {number} at
 */
function quoted(line, at) {
    const mark = line[at];
    let end = at + 1;
    while (end < line.length && line[end] !== mark) end += line[end] === "\\" ? 2 : 1;
    return line.slice(at, end + 1);
}
