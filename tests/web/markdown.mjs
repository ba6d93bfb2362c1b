// Texts of people that would take a careless pattern minutes; run by scripts/check-web in the folder of the interface.

import { Markdown } from "./web/parts/markdown.js";

/** Most milliseconds that one text may take. */
const MOST = 1_000;
const COUNT = 60_000;

const texts = [
    ".".repeat(COUNT), "a/".repeat(COUNT / 2), "a.b/".repeat(COUNT / 4), `# ${" ".repeat(COUNT)}x`, `# ${"#".repeat(COUNT)}x`,
    `|\n${"-".repeat(COUNT)}x`, `|\n${" ".repeat(COUNT)}x`, "<!--".repeat(COUNT / 4), "[".repeat(COUNT), "**a".repeat(COUNT / 3),
    "`a".repeat(COUNT / 2), "_a ".repeat(COUNT / 3), "~~a".repeat(COUNT / 3), "> ".repeat(COUNT / 2), "- ".repeat(COUNT / 2),
    "https://".repeat(COUNT / 8), "- a\n".repeat(COUNT / 4), "![a](/".repeat(COUNT / 6), `-${" ".repeat(COUNT)}x`, "\n".repeat(COUNT),
];
for (const text of texts) {
    const began = performance.now();
    Markdown({ text, project: "acme/shop" });
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
