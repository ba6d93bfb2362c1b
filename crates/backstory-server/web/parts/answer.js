// An answer: statements with citations, sources that open in place and can be verified, or a refusal.

import { html, classes, useState } from "./html.js";
import { Icon } from "./icons.js";
import { FailedLine, Notice, sentence } from "./state.js";
import { Day } from "./time.js";
import { CopyButton } from "./copy.js";
import { inline } from "./markdown.js";
import { Ref, addressOf, fileAddress, parse } from "./ref.js";
import { ask } from "../api.js";
import { useChange } from "../asking.js";
import { withoutVectors } from "./coverage.js";

/**
 * With `isWhole` false, statements of it are still being checked.
 * @param {{answer: any, isWhole?: boolean}} props
 */
export function AnswerView({ answer, isWhole = true }) {
    if (!answer.answered) return html`<${Refused} refusal=${answer.refusal} warnings=${answer.warnings} />`;
    return html`<div class="answer">
        ${answer.model && html`<p><span class="badge model"
            ><${Icon} name="model" /> worded by ${answer.model.name}; each sentence was checked against its sources</span></p>`}
        <div class="statements">${answer.statements.map((/** @type {any} */ statement, /** @type {number} */ number) => html`
            <${Statement} key=${number} statement=${statement} answer=${answer} />`)}</div>
        ${answer.standing && html`<p><strong title="What happened to it: merged, released, replaced or reverted, as far as is known"
            >Where it stands:</strong> ${answer.standing.text}</p>`}
        ${withoutVectors(answer.warnings).map((/** @type {string} */ warning) => html`<${Notice} tone="warn">${warning}</${Notice}>`)}
        ${isWhole && html`<section><p class="row spread"><span class="side-title" role="heading" aria-level="3">Sources</span>
                <${CopyButton} what="Answer" label="Copy" quiet text=${() => asText(answer)} /></p>
            <ol class="sources">${documentsOf(answer.citations).map((citations) => html`
                <li key=${citations[0].number}><${Source} citations=${citations} /></li>`)}</ol></section>`}
    </div>`;
}

/**
 * What is cited, each document once.
 * @param {any[]} citations
 * @returns {any[][]}
 */
function documentsOf(citations) {
    /** @type {Map<string, any[]>} */
    const documents = new Map();
    for (const one of citations) documents.set(`${one.id} ${one.path}`, [...(documents.get(`${one.id} ${one.path}`) ?? []), one]);
    return [...documents.values()];
}

/** @param {any} answer */
function asText(answer) {
    const cites = (/** @type {any} */ one) => one.citations.map((/** @type {number} */ number) => `[${number}]`).join("");
    const statements = answer.statements.map((/** @type {any} */ one) => `${one.text} ${cites(one)}`);
    const source = (/** @type {any} */ one) => `[${one.number}] ${one.id}${one.url ? ` ${one.url}` : ""} sha256:${one.hash.slice(0, 12)}`;
    return [answer.question, "", ...statements, "", ...answer.citations.map(source)].join("\n");
}

/**
 * A sentence of an answer. Its sources open below it, one at a time.
 * @param {{statement: any, answer: any}} props
 */
function Statement({ statement, answer }) {
    const [opened, setOpened] = useState(0);
    const cited = answer.citations.filter((/** @type {any} */ one) => statement.citations.includes(one.number));
    const source = cited.find((/** @type {any} */ one) => one.number === opened);
    const project = parse(cited[0]?.id ?? "").project;
    // While it is being checked, nobody says yet who worded it; and what is composed from facts is no quotation.
    const isQuoted = !answer.model && cited.some((/** @type {any} */ one) => one.text.includes(statement.text));
    const cite = (/** @type {number} */ number) => html`<button type="button" class="cite" aria-label=${`Source ${number}`}
        aria-expanded=${opened === number} onClick=${() => setOpened(opened === number ? 0 : number)}>${number}</button> `;
    return html`<p class=${classes("statement", isQuoted && "quoted")}>${inline(statement.text, project)} ${statement.citations.map(cite)}</p>
        ${source && html`<div class="source-here"><${Source} key=${opened} citations=${[source]} isOpen close=${() => setOpened(0)} /></div>`}`;
}

/** @param {{citations: any[], isOpen?: boolean, close?: () => void}} props `close`: where it is opened in another place */
function Source({ citations, isOpen = false, close }) {
    const citation = citations[0];
    const [open, setOpen] = useState(isOpen);
    const change = useChange();
    const [checked, setChecked] = useState(/** @type {any} */ (null));
    const project = parse(citation.id).project;
    const { path, lines, commit: rev } = citation;
    const address = path && project ? fileAddress(project, path, { rev, lines }) : addressOf(citation.id);
    async function verify() {
        if (change.busy) return;
        const found = await change.run(() => ask("verify", { citations }));
        setChecked(found ? (found.find((/** @type {any} */ one) => one.problem) ?? found[0]) : null);
    }
    return html`<article class=${classes("source-card", close && "chosen")}>
        <p class="row spread"><span class="row">${citations.map((one) => html`<span class="cite">${one.number}</span>`)}<a href=${address}><strong>${citation.title}</strong></a></span>
            <span class="row no-print">${!close && html`<button type="button" class="small quiet" aria-expanded=${open} onClick=${() => setOpen(!open)}
                ><${Icon} name=${open ? "down" : "right"} /> ${citations.length > 1 ? "Quotes" : "Quote"}</button>`}
            <button type="button" class="small" aria-disabled=${change.busy || undefined} onClick=${verify}
                title=${citations.map((one) => `sha256:${one.hash}`).join("\n")}>${change.busy ? "Verifying…" : "Verify"}</button>
            ${close && html`<button type="button" class="small quiet" onClick=${close}
                ><${Icon} name="close" /><span class="hidden">Close source ${citation.number}</span></button>`}</span></p>
        <${Origin} citation=${citation} />
        ${open && citations.map((one) => html`<blockquote key=${one.number} class="quote" dir="auto">${one.text}</blockquote>`)}
        ${checked && html`<${Checked} problem=${checked.problem} />`}
        ${change.error && html`<${FailedLine} error=${change.error} />`}
    </article>`;
}

/** @param {{citation: any}} props */
function Origin({ citation }) {
    return html`<p class="byline"><${Ref} id=${citation.id} />${citation.author && html`<span>${citation.author}</span>`}<${Day} at=${citation.at} />
        ${citation.confidential && html`<span class="badge warn"><${Icon} name="lock" /> confidential</span>`}
        ${citation.url && html`<a class="source" href=${citation.url} target="_blank" rel="noopener noreferrer">at the forge <${Icon} name="open" /></a>`}</p>`;
}

/** @param {{problem: string | null}} props */
function Checked({ problem }) {
    if (problem) return html`<p class="removed" role="status"><${Icon} name="alert" /> ${problem}</p>`;
    return html`<p class="added" role="status"><${Icon} name="check" /> The source says exactly this, and has not changed.</p>`;
}

/** @param {{refusal: any, warnings: string[]}} props */
function Refused({ refusal, warnings }) {
    const missing = refusal?.missing ?? [];
    return html`<div class="card card-body stack"><p class="statement">${refusal?.sentence ?? "No answer was found."}</p>
        ${refusal?.searched && html`<p class="muted">${inline(sentence(refusal.searched), "")}</p>`}
        ${missing.length > 0 && html`<section class="missing"><h2 class="side-title">What is missing</h2>
            <ul>${missing.map((/** @type {string} */ one) => html`<li>${one}</li>`)}</ul></section>`}
        ${withoutVectors(warnings).map((warning) => html`<${Notice} tone="warn">${warning}</${Notice}>`)}</div>`;
}
