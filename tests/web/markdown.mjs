// Texts of people that would take a careless pattern minutes, and what some become; run by scripts/check-web in the folder of
// the interface.

import { piecesOf } from "./web/parts/coded.js";
import { expanded, openedIn } from "./web/parts/graph-filter.js";
import { nextLines, withLines } from "./web/parts/growing.js";
import { highlighter } from "./web/parts/highlight.js";
import { stemsOf } from "./web/parts/hit.js";
import { iriOf } from "./web/parts/iri.js";
import { Markdown } from "./web/parts/markdown.js";
import { addressOf, isReference, parse } from "./web/parts/ref.js";
import { blocksOf } from "./web/parts/runs.js";

/** Most milliseconds that one text may take. */
const MOST = 1_000;
const COUNT = 60_000;

const texts = [
    ".".repeat(COUNT), "a/".repeat(COUNT / 2), "a.b/".repeat(COUNT / 4), `# ${" ".repeat(COUNT)}x`, `# ${"#".repeat(COUNT)}x`,
    `|\n${"-".repeat(COUNT)}x`, `|\n${" ".repeat(COUNT)}x`, "<!--".repeat(COUNT / 4), "[".repeat(COUNT), "**a".repeat(COUNT / 3),
    "`a".repeat(COUNT / 2), "_a ".repeat(COUNT / 3), "~~a".repeat(COUNT / 3), "> ".repeat(COUNT / 2), "- ".repeat(COUNT / 2),
    "https://".repeat(COUNT / 8), "- a\n".repeat(COUNT / 4), "![a](/".repeat(COUNT / 6), `-${" ".repeat(COUNT)}x`, "\n".repeat(COUNT),
    "`".repeat(COUNT), "` ".repeat(COUNT / 2), "``` a".repeat(COUNT / 5),
];
for (const text of texts) {
    const began = performance.now();
    Markdown({ text, project: "acme/shop" });
    piecesOf(text);
    const took = performance.now() - began;
    if (took > MOST) {
        console.error(`${JSON.stringify(text.slice(0, 20))}… takes ${took.toFixed(0)} ms to lay out; at most ${MOST}`);
        process.exitCode = 1;
    }
}

/** What a heading, a table and a comment become. */
const made = JSON.stringify(Markdown({ text: "## Why ##\n\na <!-- not --> #12 and x/y!3\n\n|a|b|\n|-|--|\n|1|2|", project: "acme/shop" }));
for (const part of ['"Why"', "acme/shop%2312", "x/y!3", '"th"']) {
    if (!made.includes(part)) {
        console.error(`${part} is not in ${made}`);
        process.exitCode = 1;
    }
}
if (made.includes("not -->")) process.exitCode = 1;

/**
 * @param {string} what
 * @param {unknown} found
 * @param {unknown} expected
 */
function check(what, found, expected) {
    if (JSON.stringify(found) === JSON.stringify(expected)) return;
    console.error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
    process.exitCode = 1;
}

/** The lines of a code, with what has a color in brackets. */
function colored(lines, highlight) {
    const line = highlighter(lines, highlight);
    const text = (part) => (typeof part === "string" ? part : `[${part.props.class} ${part.props.children}]`);
    return lines.map((_, number) => line(number).map(text).join(""));
}
const spans = { kinds: ["comment", "keyword"], lines: [[0, 2, 1, 6, 3, 0], [], [0, 9, 0]] };
check("colors", colored(["if a  # b", "c", "# d"], spans), ["[t-keyword if] a  [t-comment # b]\n", "c\n", "[t-comment # d]\n"]);
check("no colors", colored(["if a", ""], undefined), ["if a\n", "\n"]);

const run = (start, lines) => ({ start, lines });
const blocks = blocksOf([run(1, 38), run(39, 50)]).map((block) => [block.start, block.lines, block.pieces.map((piece) => [piece.start, piece.lines, piece.isFirst])]);
check("blocks", blocks, [[1, 40, [[1, 38, true], [39, 2, true]]], [41, 40, [[41, 40, false]]], [81, 8, [[81, 8, false]]]]);

const opened = openedIn(new URLSearchParams({ open: "CLOSES acme/shop#1\nMODIFIES acme/shop:a b.rs" }));
check("what is expanded", opened, [{ edge: "CLOSES", id: "acme/shop#1" }, { edge: "MODIFIES", id: "acme/shop:a b.rs" }]);
const found = { neighbors: [{ id: "b", distance: 1 }], edges: [{ from: "a", edge: "X", to: "b" }], titles: {}, left_out: [] };
const added = { neighbors: [{ id: "a", distance: 1 }, { id: "c", distance: 1 }], edges: [{ from: "b", edge: "Y", to: "c" }], titles: { c: "C" }, left_out: ["more"] };
const merged = expanded(found, "a", [{ edge: "Y", id: "b" }], new Map([["Y b", added]]));
check("a graph with more", [merged.neighbors, merged.edges.length, merged.titles, merged.left_out],
    [[{ id: "b", distance: 1 }, { id: "c", distance: 2 }], 2, { c: "C" }, ["at b: more"]]);

check("a private name", parse("acme/shop:src/a.js#Cart.#count").name, "Cart.#count");
check("a ticket", [parse("^PROJ-77").kind, addressOf("^PROJ-77")], ["ticket", "/ui/graph/%5EPROJ-77"]);
check("references", ["acme/shop:src/a.rs", "acme/shop#1", "std::vec", "login"].map(isReference), [true, true, false, false]);
check("the name of a file in the graph", iriOf("acme/shop:src/a (1).rs"), "urn:backstory:node:acme/shop/-/files/src/a%20%281%29.rs");
check("that of a symbol", iriOf("acme/shop:src/a.rs#A::b"), "urn:backstory:node:acme/shop/-/entities/src/a.rs#A%3A%3Ab");
check("that of an abbreviated commit", iriOf("acme/shop@1a2b3c4"), null);
check("words that are marked", stemsOf("why the ring sessions used"), ["ring", "session", "used"]);
check("code in excerpts", ["Use `a b`, not ``c``", "``` py x = 1 ``` is", "…foo()` and `bar", "the `cut off…", "a`b c`"].map(piecesOf),
    [["Use ", "a b", ", not ", "c", ""], ["", "py x = 1", " is"], ["…foo()` and `bar"], ["the ", "cut off", "…"], ["a`b c`"]]);
check("lines that are drawn", withLines([[0, 10], [40, 50]], 10, 40), [[0, 50]]);
check("lines that are drawn next", [nextLines([[40, 50]], 100, 48, 20), nextLines([[40, 50]], 100, 41, 20), nextLines([[0, 100]], 100, 5, 20)], [[50, 70], [20, 40], null]);
