// A trace as Markdown, for a merge request, a chat or a document.

import { edgeName } from "./edges.js";
import { percent } from "./html.js";
import { formatPlace } from "./ref.js";

/** @param {any} trace */
export function markdownOf(trace) {
    const lines = [`## Why ${subject(trace)}`, ""];
    if (trace.text) lines.push("```", trace.text, "```", "");
    if (trace.origin) lines.push(`Written by ${trace.origin.author} on ${trace.origin.date.slice(0, 10)}: ${trace.origin.title}`, "");
    for (const step of trace.chain) {
        const inferred = step.confidence === null || step.confidence === undefined ? "" : ` (inferred, ${percent(step.confidence)})`;
        const address = step.evidence.url ?? step.node.url;
        lines.push(`- ${edgeName(step.edge)}${inferred} **${step.node.title}** ${address ? `[${step.node.id}](${address})` : step.node.id}`);
        if (step.evidence.text) lines.push(...step.evidence.text.split("\n").map((/** @type {string} */ line) => `  > ${line}`));
    }
    if (trace.missing.length) lines.push("", "Not found:", ...trace.missing.map((/** @type {string} */ sentence) => `- ${sentence}`));
    if (trace.earlier.length) {
        lines.push("", "Before that:");
        for (const version of trace.earlier) {
            lines.push(`- ${version.date.slice(0, 10)} ${version.author}: ${version.title} (${version.commit.slice(0, 8)})`);
        }
    }
    const { commit, synced_at: synced } = trace.indexed;
    if (commit) lines.push("", `${trace.project} at ${commit.slice(0, 8)}${synced ? `, synced ${synced.slice(0, 16).replace("T", " ")}` : ""}`);
    return `${lines.join("\n")}\n`;
}

/** @param {any} trace */
function subject(trace) {
    if (trace.symbol) return `\`${trace.symbol}\``;
    if (!trace.path) return trace.chain[0]?.node.id ?? trace.project;
    return `\`${formatPlace(trace.path, trace.line && [trace.line, trace.end_line ?? trace.line])}\``;
}
