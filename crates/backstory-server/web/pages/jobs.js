// What the index holds, what runs, what ran, and what went wrong.

import { html, classes, counted, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, Notice, sentence } from "../parts/state.js";
import { Ago, took } from "../parts/time.js";
import { Change } from "../parts/change.js";
import { kindName } from "../parts/ref.js";
import { taskName } from "../parts/started.js";
import { ask, useAsk } from "../api.js";
import { place, setQuery } from "../router.js";

/** Milliseconds between looks. */
const SOON = 1500;
const LATER = 10_000;
/** Rows of a table. */
const LIMIT = 50;

/** The screen. */
export function Screen() {
    const tasks = useAsk("tasks", {}, { every: SOON });
    const status = useAsk("sync-status", { runs: LIMIT }, { every: LATER });
    const coverage = useAsk("coverage", {}, { every: LATER });
    const stats = useAsk("stats", {}, { every: LATER * 3 });
    const again = () => {
        tasks.again();
        status.again();
    };
    return html`<div class="screen stack">
        <div class="screen-head"><h1>Index and jobs</h1><p class="row">
            <${Change} label="Sync all" icon="retry" done="The sync has begun" then=${again} run=${() => ask("sync", { projects: [], scope: "new", only: [], force: false, keep_new: false })} />
            <${Change} label="Compute vectors" icon="model" done="Vectors are computed" then=${again} run=${() => ask("embed", {})} /></p></div>
        <section><h2>Tasks</h2><${Answered} of=${tasks} lines=${2}>${(/** @type {any[]} */ list) => html`<${Tasks} tasks=${list} again=${again} />`}</${Answered}></section>
        <section><h2>Queue</h2><${Queue} /></section>
        <section><h2>Index</h2><${Answered} of=${coverage} lines=${4}>${(/** @type {any} */ one) => html`<${Coverage} coverage=${one} stats=${stats.answer} status=${status.answer} />`}</${Answered}></section>
        <${Answered} of=${status} lines=${6}>${(/** @type {any} */ one) => html`<${Quarantine} quarantine=${one.quarantine} /><section><h2>Past syncs</h2><${Runs} runs=${one.runs} /></section>`}</${Answered}>
    </div>`;
}

/** @param {{tasks: any[], again: () => void}} props */
function Tasks({ tasks, again }) {
    if (!tasks.length) return html`<p class="muted">Nothing runs.</p>`;
    return html`<ul class="stack">${tasks.slice(0, 12).map((task) => html`<li class="card task-card" key=${task.id}>
        <p class="row spread"><span class="row"><strong>${taskName(task.kind)}</strong><span>${task.status === "running" ? task.phase : ""}</span><span class=${`badge ${task.status}`}>${task.status}</span></span>
            <span class="row"><span class="muted small numeric">${task.done.toLocaleString("en")}${task.total ? ` of ${task.total.toLocaleString("en")}` : ""}</span>
            <span class="muted small"><${Ago} at=${task.started_at} />${task.finished_at && `, ${took(Date.parse(task.finished_at) - Date.parse(task.started_at))}`}</span>
            ${task.status === "running" && html`<${Change} label="Stop" icon="stop" danger run=${() => ask("stop-task", { id: task.id })} then=${again} />`}</span></p>
        ${task.status === "running" && task.total > 0 && html`<span class="meter" role="progressbar" aria-valuenow=${task.done} aria-valuemax=${task.total} aria-label=${task.phase}><span style=${{ width: `${Math.min(100, (task.done / task.total) * 100)}%` }}></span></span>`}
        ${task.note && html`<p class="small muted">${task.note}</p>`}
        ${task.error && html`<p class="job-error small">${sentence(task.error.message)} ${task.error.hint && sentence(task.error.hint)}</p>`}</li>`)}</ul>`;
}

function Queue() {
    const status = place.value.query.get("status");
    const jobs = useAsk("jobs", { status, before: null, limit: LIMIT }, { every: SOON * 2 });
    return html`<p class="row">${[null, "queued", "running", "failed", "succeeded", "cancelled"].map((value) => html`<button type="button" class="chip" aria-pressed=${status === value} onClick=${() => setQuery({ status: value })}>${value ?? "all"}</button>`)}</p>
        <${Answered} of=${jobs} lines=${4}>${(/** @type {any[]} */ list) => list.length === 0 ? html`<p class="muted">No job${status ? ` is ${status}` : " was queued"}. A server queues them by its schedule and when a forge sends a webhook.</p>`
            : html`<table class="stacked"><thead><tr><th>Job</th><th>Project</th><th>Status</th><th>Queued</th><th>Took</th><th><span class="hidden">Actions</span></th></tr></thead><tbody>${list.map((job) => html`<${Job} key=${job.id} job=${job} again=${jobs.again} />`)}</tbody></table>`}</${Answered}>`;
}

/** @param {{job: any, again: () => void}} props */
function Job({ job, again }) {
    return html`<tr><td class="tight">${job.kind} <span class="muted small">${job.id}</span>${job.subject && html` <span class="mono small">${job.subject}</span>`}</td><td class="tight">${job.project}</td>
        <td><span class=${`badge ${job.status}`}>${job.status}</span>${job.attempts > 1 && html` <span class="muted small">${counted(job.attempts, "attempt")}</span>`}
            ${job.task && html`<div class="small muted">${job.task.phase} ${job.task.done.toLocaleString("en")}${job.task.total ? ` of ${job.task.total.toLocaleString("en")}` : ""}</div>`}
            ${job.error && html`<div class="job-error small">${sentence(job.error)}</div>`}</td>
        <td class="tight" data-label="queued"><${Ago} at=${job.queued_at} /></td><td class="tight numeric">${job.started_at && job.finished_at && took(Date.parse(job.finished_at) - Date.parse(job.started_at))}</td>
        <td class="tight">${(job.status === "queued" || job.status === "running") && html`<${Change} label="Cancel" danger run=${() => ask("cancel-job", { id: job.id })} then=${again} />`}
            ${(job.status === "failed" || job.status === "cancelled") && job.kind !== "refetch" && html`<${Change} label="Retry" icon="retry" run=${() => ask("queue-job", { kind: job.kind, project: job.project })} then=${again} />`}</td></tr>`;
}

/** @param {{coverage: any, stats: any, status: any}} props */
function Coverage({ coverage, stats, status }) {
    return html`<table class="coverage"><thead><tr><th>Kind</th><th class="number">Documents</th><th class="number">With vectors</th><th><span class="hidden">Share</span></th></tr></thead><tbody>
        ${coverage.by_kind.map((/** @type {any} */ one) => html`<tr><td>${kindName(one.kind)}</td><td class="number">${one.documents.toLocaleString("en")}</td><td class="number">${one.embedded.toLocaleString("en")}</td>
            <td class="coverage-bar"><span class="meter"><span style=${{ width: `${one.documents ? (one.embedded / one.documents) * 100 : 100}%` }}></span></span></td></tr>`)}</tbody></table>
        <p class="byline">${stats && html`<span>${counted(stats.quads, "quad")}</span><span>model ${stats.model}</span><span>${counted(stats.people, "person", "people")}</span><span>${counted(stats.redactions, "secret")} redacted</span>`}
        ${status && html`<span class="numeric">ledger ${status.ledger_seq}, graph ${status.graph_seq}, lists ${status.lists_seq}, index ${status.index_seq}</span><span>roles ${status.roles.join(", ")}</span>`}</p>`;
}

/** @param {{quarantine: any}} props */
function Quarantine({ quarantine }) {
    if (!quarantine.count) return null;
    return html`<section><h2>Quarantine</h2><${Notice} tone="warn">${counted(quarantine.count, "record")} of the forge cannot be read. They are kept apart and tried again at each sync.</${Notice}>
        <table class="stacked"><thead><tr><th>Record</th><th>Field</th><th>Why</th><th>Since</th></tr></thead><tbody>${quarantine.items.map((/** @type {any} */ item) => html`<tr><td class="mono">${item.ref}</td><td class="mono">${item.field}</td><td>${item.reason}</td><td class="tight"><${Ago} at=${item.first_seen} /></td></tr>`)}</tbody></table></section>`;
}

/** @param {{runs: any[]}} props */
function Runs({ runs }) {
    const [all, setAll] = useState(false);
    if (!runs.length) return html`<${Empty} title="Nothing was synced yet" icon="jobs" />`;
    return html`<table class="stacked"><thead><tr><th>Command</th><th>Status</th><th>Began</th><th>Took</th></tr></thead><tbody>${runs.slice(0, all ? LIMIT : 8).map((run) => html`<tr>
        <td>${run.command}</td><td><span class=${classes("badge", run.status)}>${run.status}</span>${run.error && html`<div class="job-error small">${sentence(run.error)}</div>`}</td>
        <td class="tight"><${Ago} at=${run.started_at} /></td><td class="tight numeric">${run.finished_at && took(Date.parse(run.finished_at) - Date.parse(run.started_at))}</td></tr>`)}</tbody></table>
        ${!all && runs.length > 8 && html`<button type="button" class="small" onClick=${() => setAll(true)}><${Icon} name="down" /> Older ones</button>`}`;
}
