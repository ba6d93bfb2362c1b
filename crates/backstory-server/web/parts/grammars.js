// How programming languages are written, as far as their colors need it.

/**
 * What begins a comment that ends with its line, keywords, and spans, of which the first that fits counts. `starts` has the
 * characters with which comments and spans begin. A span begins with `open` and ends with `close`, which may name a group of
 * it as `$1`; one that is `long` goes on over the end of a line.
 * @typedef {{open: RegExp, close: string, kind: string, long?: boolean, escapes?: boolean}} Span
 * @typedef {{comment: RegExp | null, starts: string, spans: Span[], words: Set<string>}} Grammar
 */

/** @type {Span} */
const STAR = { open: /\/\*/y, close: "*/", kind: "t-comment", long: true };
/** @type {Span} */
const DOUBLE = { open: /"/y, close: '"', kind: "t-text", escapes: true };
/** @type {Span} */
const SINGLE = { open: /'/y, close: "'", kind: "t-text", escapes: true };
/** @type {Span} */
const TICK = { open: /`/y, close: "`", kind: "t-text", escapes: true };
/** @type {Span} */
const RAW = { open: /b?r(#*)"/y, close: '"$1', kind: "t-text", long: true };
/**
 * A character of Rust; a lifetime, as in `&'a str`, is none.
 * @type {Span}
 */
const CHARACTER = { open: /'(?=(?:\\.[^']{0,10}|[^\\'])')/y, close: "'", kind: "t-text", escapes: true };

/**
 * @param {"\"\"\"" | "'''"} mark
 * @returns {Span}
 */
function tripled(mark) {
    return { open: new RegExp(mark, "y"), close: mark, kind: "t-text", long: true, escapes: true };
}

/** @type {Record<string, {comment: RegExp | null, starts: string, spans: Span[], words: string}>} */
const LANGUAGES = {
    rust: {
        comment: /\/\//y,
        starts: "/\"'br",
        spans: [STAR, RAW, CHARACTER, { ...DOUBLE, long: true }],
        words: `
            as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move
            mut pub ref return self Self static struct super trait true type unsafe use where while
        `,
    },
    c: {
        comment: /\/\//y,
        starts: "/\"'",
        spans: [STAR, DOUBLE, SINGLE],
        words: `
            auto break case char class const constexpr continue default delete do double else enum extern false float for
            goto if inline int long namespace new nullptr private protected public register return short signed sizeof
            static struct switch template this throw true try typedef typename union unsigned using virtual void volatile
            while #include #define #if #ifdef #ifndef #else #elif #endif #undef #error
        `,
    },
    script: {
        comment: /\/\//y,
        starts: "/\"'`",
        spans: [STAR, DOUBLE, SINGLE, TICK],
        words: `
            abstract as async await break case catch class const continue default delete do else enum export extends false
            finally for from function if implements import in instanceof interface let new null of package private
            protected public return static super switch this throw true try type typeof undefined var void while yield fun
            val object when override func go defer chan map range struct string bool namespace using internal sealed
            foreach final int long boolean
        `,
    },
    // "//", as in url(//a.example), begins no comment.
    css: {
        comment: null,
        starts: "/\"'",
        spans: [STAR, DOUBLE, SINGLE],
        words: `
            @media @import @supports @layer @keyframes @font-face !important
        `,
    },
    sass: {
        comment: /(?<![:(])\/\//y,
        starts: "/\"'",
        spans: [STAR, DOUBLE, SINGLE],
        words: `
            @use @mixin @include @media @import @supports @keyframes !important
        `,
    },
    python: {
        comment: /#/y,
        starts: "#\"'",
        spans: [tripled('"""'), tripled("'''"), DOUBLE, SINGLE],
        words: `
            and as assert async await break class continue def del elif else except False finally for from global if
            import in is lambda None nonlocal not or pass raise return True try while with yield
        `,
    },
    ruby: {
        comment: /(?<!\S)#/y,
        starts: "#\"'",
        spans: [DOUBLE, SINGLE],
        words: `
            alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo
            require rescue retry return self super then true undef unless until when while yield
        `,
    },
    shell: {
        comment: /(?<!\S)#/y,
        starts: "#\"'",
        spans: [DOUBLE, SINGLE],
        words: `
            if then else elif fi for in do done while case esac function local export return set unset shift exit true
            false echo
        `,
    },
    config: {
        comment: /(?<!\S)#/y,
        starts: "#\"'",
        spans: [DOUBLE, SINGLE],
        words: `
            true false null yes no on off
        `,
    },
};
/** @type {Record<string, string>} */
const ENDINGS = {
    rust: "rs",
    c: "c h cc cpp hpp cxx hxx",
    script: "js mjs cjs jsx ts tsx java kt kts go cs php json scala swift",
    css: "css",
    sass: "scss less",
    python: "py pyi sage",
    ruby: "rb",
    shell: "sh bash zsh m4 ac",
    config: "toml yml yaml ini cfg mk",
};
const BY_ENDING = new Map(Object.entries(ENDINGS).flatMap(([language, endings]) => endings.split(" ").map((ending) => [ending, language])));

/**
 * What colors a file.
 * @param {string} path
 * @returns {Grammar | null}
 */
export function grammarOf(path) {
    const name = path.split("/").at(-1) ?? path;
    const key = /^(Makefile|Dockerfile|CMakeLists\.txt)/.test(name) ? "config" : BY_ENDING.get(name.split(".").at(-1) ?? "");
    const language = key && LANGUAGES[key];
    return language ? { ...language, words: new Set(language.words.trim().split(/\s+/)) } : null;
}
