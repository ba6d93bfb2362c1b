// A trace: from lines to the commit, the merge request, the discussion and the issue, with evidence, and what was there
// before.

import { html, classes, counted, percent } from "./html.js";
import { Icon, hasIcon } from "./icons.js";
import { Ago, Day } from "./time.js";
import { Ref, fileAddress, formatPlace, shorten } from "./ref.js";
import { CopyButton } from "./copy.js";
import { Quote, inline } from "./markdown.js";
import { ask } from "../api.js";
import { edgeName } from "./edges.js";
import { markdownOf } from "./trace-markdown.js";

/** Tokens of a context pack that is copied. */
const PACK_TOKENS = 4000;
/** Confidence from which an inferred link is called likely. */
const LIKELY = 0.7;

/**
 * All of a trace.
 * @param {{trace: any, target: object}} props
 */
export function TraceView({ trace, target }) {
    return html`<div class="stack">
        <div class="row no-print">
            <${CopyButton} what="Markdown" label="Copy as Markdown" text=${() => markdownOf(trace)} />
            <${CopyButton} what="Context pack" label="Copy as context pack" text=${() => pack(trace, target)}
                title="The same with diffs, tests and what is near it, as much as an agent reads at once" />
        </div>
        <${Origin} trace=${trace} />
        ${trace.chain.length > 0 && html`<ol class="chain" aria-label="The chain of evidence">${trace.chain.map((/** @type {any} */ step) => html`
            <${Step} step=${step} project=${trace.project} />`)}</ol>`}
        <${Missing} sentences=${trace.missing} />
        <${ModelNotes} notes=${trace.model_notes ?? []} />
        <${Earlier} versions=${trace.earlier} project=${trace.project} />
    </div>`;
}

/**
 * @param {any} trace
 * @param {any} target
 */
async function pack(trace, target) {
    const about = { target: { target, rev: trace.rev } };
    const answer = await ask("context", { about, filter: { project: trace.project }, format: "markdown", tokens: PACK_TOKENS, diffs: true, tests: true });
    return answer.text;
}

/** @param {{trace: any}} props */
function Origin({ trace }) {
    const { origin, origins } = trace;
    if (!origin) return null;
    const commits = new Set(origins.map((/** @type {any} */ one) => one.commit)).size;
    return html`<p class="byline"><span>Written by <strong>${origin.author || "nobody known"}</strong> <${Ago} at=${origin.date} /></span>
        ${commits > 1 && html`<span>and ${counted(commits - 1, "other commit")}</span>`}
        ${origin.path !== trace.path && html`<span>then in <code>${origin.path}:${origin.line}</code></span>`}
        ${seenThrough(origins).map((through) => html`<span class="label">seen through: ${through}</span>`)}</p>`;
}

/** @param {any[]} origins */
function seenThrough(origins) {
    return [...new Set(origins.flatMap((origin) => origin.seen_through ?? []))];
}

/** @param {{step: any, project: string}} props */
function Step({ step, project }) {
    const { node, evidence, edge, confidence } = step;
    const inferred = confidence !== null && confidence !== undefined;
    const kind = hasIcon(node.kind) ? node.kind : "note";
    const url = evidence.url ?? node.url;
    /** @type {string[]} */
    const reasons = evidence.reasons ?? [];
    return html`<li class=${classes("step", inferred && "inferred")}>
        <${Icon} name=${kind} />
        <p class="step-edge"><span>${edgeName(edge)}${step.from && ` ${shorten(step.from, project)}`}</span>
            ${inferred && html`<span class="badge warn" title="This link is inferred; it was found by similarity"
                >inferred, ${confidence >= LIKELY ? "likely" : "possible"} (${percent(confidence)})</span>`}</p>
        <p><span class="step-title">${inline(titleOf(node, evidence), project)}</span>${" "}
            <${Ref} id=${node.id} project=${project} icon=${false} class="small" /></p>
        ${evidence.text && html`<${Quote} text=${evidence.text} project=${project} />`}
        ${reasons.length > 0 && html`<ul class="reasons">${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>`}
        <p class="byline">${evidence.path && html`<span>on <code>${formatPlace(evidence.path, evidence.lines)}</code></span>`}
            ${url && html`<a class="source" href=${url} target="_blank" rel="noopener noreferrer">source <${Icon} name="open" /></a>`}</p>
    </li>`;
}

/**
 * The title of a step; of what is quoted below it, who said it and when.
 * @param {any} node
 * @param {any} evidence
 */
function titleOf(node, evidence) {
    const said = /^(@[\w.-]+, \d{4}-\d\d-\d\d): /.exec(node.title);
    return said?.[1] && evidence.text ? said[1] : node.title;
}

/** @param {{sentences: string[]}} props */
export function Missing({ sentences }) {
    if (!sentences.length) return null;
    return html`<section class="missing"><h2 class="side-title">What could not be found</h2>
        <ul>${sentences.map((sentence) => html`<li>${sentence}</li>`)}</ul></section>`;
}

/** @param {{notes: any[]}} props */
export function ModelNotes({ notes }) {
    if (!notes.length) return null;
    return html`<section><h2 class="side-title"><span class="badge model"><${Icon} name="model" /> written by a model</span></h2>
        ${notes.map((thread) => html`<div class="stack"><p class="byline"><${Ref} id=${thread.about} /><span>${thread.model.name}</span>
            <${Ago} at=${thread.written_at} />
            ${thread.outdated && html`<span class="badge warn">outdated: the text changed since</span>`}</p>
            <ul class="stack">${thread.notes.map((/** @type {any} */ note) => html`<li><span class="label">${note.aspect}</span> ${note.text}
                ${note.evidence.map((/** @type {string} */ quote) => html`<blockquote class="quote small">${quote}</blockquote>`)}</li>`)}</ul>
            </div>`)}</section>`;
}

/** @param {{versions: any[], project: string}} props */
function Earlier({ versions, project }) {
    if (!versions.length) return null;
    return html`<section><h2 class="side-title">What was there before</h2><ol class="earlier">${versions.map((version) => html`<li>
        <p><${Ref} id=${`${project}@${version.commit}`} project=${project} icon=${false} title=${version.title || version.commit.slice(0, 8)} /></p>
        <p class="byline"><span>${version.author}</span><${Day} at=${version.date} />
            ${version.merge_requests.map((/** @type {string} */ id) => html`<${Ref} id=${id} project=${project} />`)}
            <a href=${fileAddress(project, version.path, { rev: version.commit, lines: [version.line, version.line + version.lines - 1] })}
                >${version.path}:${version.line}</a></p>
        ${version.text && html`<pre class="snippet" tabindex="0">${version.text}</pre>`}</li>`)}</ol></section>`;
}

/**
 * What a trace is about, as a heading.
 * @param {any} trace
 * @param {string} [fallback]
 */
export function traceTitle(trace, fallback = "") {
    if (trace.symbol) return trace.symbol;
    const about = trace.chain?.[0]?.node;
    if (!trace.path && about && about.id === fallback) {
        return about.kind === "commit" ? `${about.title} (${shorten(about.id, trace.project)})` : about.title;
    }
    if (!trace.path) return fallback;
    const name = trace.path.split("/").at(-1);
    if (!trace.line) return name;
    return trace.end_line && trace.end_line !== trace.line ? `${name}, lines ${trace.line}-${trace.end_line}` : `${name}, line ${trace.line}`;
}
