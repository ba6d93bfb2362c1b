// An answer: statements with citations, sources that open in place and can be verified, or a refusal.

import { html, classes, useState } from "./html.js";
import { Icon } from "./icons.js";
import { Notice, sentence } from "./state.js";
import { Day } from "./time.js";
import { CopyButton } from "./copy.js";
import { inline } from "./markdown.js";
import { Ref, addressOf, fileAddress, parse } from "./ref.js";
import { ask, useChange } from "../api.js";

/** @param {{answer: any}} props */
export function AnswerView({ answer }) {
    const [chosen, setChosen] = useState(0);
    if (!answer.answered) return html`<${Refused} refusal=${answer.refusal} warnings=${answer.warnings} />`;
    return html`<div class="answer">
        ${answer.model && html`<p><span class="badge model"><${Icon} name="model" /> worded by ${answer.model.name}; each sentence was checked against its sources</span></p>`}
        <div>${answer.statements.map((/** @type {any} */ statement) => html`<p class=${classes("statement", !answer.model && "quoted")}>${inline(statement.text, parse(answer.citations.find((/** @type {any} */ one) => statement.citations.includes(one.number))?.id ?? "").project)} ${statement.citations.map((/** @type {number} */ number) => html`
            <button type="button" class="cite" aria-label=${`Source ${number}`} onClick=${() => setChosen(chosen === number ? 0 : number)}>${number}</button> `)}</p>`)}</div>
        ${answer.standing && html`<p><strong>Where it stands:</strong> ${answer.standing.text}</p>`}
        ${answer.warnings.map((/** @type {string} */ warning) => html`<${Notice} tone="warn">${warning}</${Notice}>`)}
        <section><p class="row spread"><h2 class="side-title">Sources</h2><${CopyButton} what="Answer" label="Copy" quiet text=${() => asText(answer)} /></p>
            <ol class="sources">${answer.citations.map((/** @type {any} */ citation) => html`<${Source} key=${citation.number} citation=${citation} chosen=${citation.number === chosen} />`)}</ol></section>
    </div>`;
}

/** @param {any} answer */
function asText(answer) {
    const statements = answer.statements.map((/** @type {any} */ one) => `${one.text} ${one.citations.map((/** @type {number} */ number) => `[${number}]`).join("")}`);
    const sources = answer.citations.map((/** @type {any} */ one) => `[${one.number}] ${one.id}${one.url ? ` ${one.url}` : ""} sha256:${one.hash.slice(0, 12)}`);
    return [answer.question, "", ...statements, "", ...sources].join("\n");
}

/** @param {{citation: any, chosen: boolean}} props */
function Source({ citation, chosen }) {
    const [open, setOpen] = useState(false);
    const change = useChange();
    const [checked, setChecked] = useState(/** @type {any} */ (null));
    const shown = open || chosen;
    const project = parse(citation.id).project;
    const address = citation.path && project ? fileAddress(project, citation.path, { rev: citation.commit, lines: citation.lines }) : addressOf(citation.id);
    return html`<li class=${classes("source-card", chosen && "chosen")}>
        <p class="row spread"><span class="row"><span class="cite">${citation.number}</span><a href=${address}><strong>${citation.title}</strong></a></span>
            <span class="row"><button type="button" class="small quiet" aria-expanded=${shown} onClick=${() => setOpen(!shown)}><${Icon} name=${shown ? "down" : "right"} /> Quote</button>
            <button type="button" class="small" disabled=${change.busy} onClick=${async () => setChecked((await change.run(() => ask("verify", { citations: [citation] })))?.[0] ?? null)}>${change.busy ? "Verifying…" : "Verify"}</button></span></p>
        <p class="byline"><${Ref} id=${citation.id} />${citation.author && html`<span>${citation.author}</span>`}<${Day} at=${citation.at} /><span class="mono" title=${citation.hash}>sha256:${citation.hash.slice(0, 12)}</span>
            ${citation.confidential && html`<span class="badge warn"><${Icon} name="lock" /> confidential</span>`}
            ${citation.url && html`<a class="source" href=${citation.url} target="_blank" rel="noopener noreferrer">at the forge <${Icon} name="open" /></a>`}</p>
        ${shown && html`<blockquote class="quote" dir="auto">${citation.text}</blockquote>`}
        ${checked && (checked.problem ? html`<p class="removed" role="status"><${Icon} name="alert" /> ${checked.problem}</p>` : html`<p class="added" role="status"><${Icon} name="check" /> The source says exactly this, and has not changed.</p>`)}
        ${change.error && html`<p class="removed" role="alert">${change.error.message}</p>`}
    </li>`;
}

/** @param {{refusal: any, warnings: string[]}} props */
function Refused({ refusal, warnings }) {
    return html`<div class="card card-body stack"><p class="statement">${refusal?.sentence ?? "No answer was found."}</p>
        ${refusal?.searched && html`<p class="muted">${inline(sentence(refusal.searched), "")}</p>`}
        ${refusal?.missing.length > 0 && html`<section class="missing"><h2 class="side-title">What is missing</h2><ul>${refusal.missing.map((/** @type {string} */ one) => html`<li>${one}</li>`)}</ul></section>`}
        ${warnings.map((warning) => html`<${Notice} tone="warn">${warning}</${Notice}>`)}</div>`;
}
