// What the index holds, what runs, what ran, and what went wrong.

import { html, classes, counted, number, useEffect, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, Notice, sentence } from "../parts/state.js";
import { Ago, took } from "../parts/time.js";
import { Change } from "../parts/change.js";
import { kindName } from "../parts/ref.js";
import { jobName, taskName } from "../parts/started.js";
import { ask, projectNames } from "../api.js";
import { useAsk } from "../asking.js";
import { place, setQuery } from "../router.js";

/** Milliseconds between looks. */
const SOON = 1500;
const LATER = 10_000;
/** Rows of a table, more of them at a time, and most of them, which is what the server gives. */
const LIMIT = 50;
const MOST = 1000;
/** Tasks, and past syncs, that are shown at first. */
const TASKS = 12;
const RUNS = 8;
/** Projects of a sync that are named. */
const NAMED = 3;
/**
 * What kinds of jobs do.
 * @type {Record<string, string>}
 */
const KINDS = {
    sync: "Reads what is new at the forge and in the repository",
    reconcile: "Compares everything that the forge lists with what is known, and reads what differs",
    full: "Reads everything again",
    refetch: "Reads one issue or merge request again",
};
/** How jobs can stand. */
const STATUSES = ["queued", "running", "failed", "succeeded", "cancelled"];

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
    const sync = () => ask("sync", { projects: [], scope: "new", only: [], force: false, keep_new: false });
    return html`<div class="screen stack">
        <div class="screen-head"><h1>Index & jobs</h1><p class="row">
            <${Change} label="Sync all" needs="sync" icon="retry" done="The sync has begun" then=${again} run=${sync} />
            <${Change} label="Compute vectors" needs="sync" icon="model" done="Vectors are being computed" then=${again}
                run=${() => ask("embed", {})} /></p></div>
        <section><h2>Tasks</h2><${Answered} of=${tasks} lines=${2}>${(/** @type {any[]} */ list) => html`
            <${Tasks} tasks=${list} again=${again} />`}</${Answered}></section>
        <section><h2>Queue</h2><${Queue} /></section>
        <section><h2>Index</h2><${Answered} of=${coverage} lines=${4}>${(/** @type {any} */ one) => html`
            <${Coverage} coverage=${one} stats=${stats.answer} status=${status.answer} />`}</${Answered}></section>
        <${Answered} of=${status} lines=${6}>${(/** @type {any} */ one) => html`<${Quarantine} quarantine=${one.quarantine} />
            <section><h2>Past syncs</h2><${Runs} runs=${one.runs} /></section>`}</${Answered}>
    </div>`;
}

/**
 * How far something is: `12 of 40`.
 * @param {{done: number, total?: number | null}} progress
 */
function far({ done, total }) {
    return `${number(done)}${total ? ` of ${number(total)}` : ""}`;
}

/**
 * How long something took that is at its end.
 * @param {{started_at: string | null, finished_at: string | null}} work
 */
function timeOf({ started_at: from, finished_at: to }) {
    return from && to ? took(Date.parse(to) - Date.parse(from)) : "";
}

/** @param {{tasks: any[], again: () => void}} props */
function Tasks({ tasks, again }) {
    if (!tasks.length) return html`<p class="muted">Nothing runs.</p>`;
    return html`<ul class="stack">${tasks.slice(0, TASKS).map((task) => html`<${Task} key=${task.id} task=${task} again=${again} />`)}</ul>`;
}

/** @param {{task: any, again: () => void}} props */
function Task({ task, again }) {
    const isRunning = task.status === "running";
    const width = `${Math.min(100, (task.done / (task.total || 1)) * 100)}%`;
    // A phase begins with the project that it is about.
    const [first = "", ...rest] = task.phase.split(" ");
    const project = projectNames.has(first) ? first : null;
    return html`<li class="card task-card">
        <p class="row spread"><span class="row"><strong>${taskName(task.kind)}</strong>${project && html`<span>${project}</span>`}
                <span>${isRunning ? (project ? rest.join(" ") : task.phase) : ""}</span>
                <span class=${`badge ${task.status}`} role="status">${task.status}</span></span>
            <span class="row">${task.done > 0 && html`<span class="muted small numeric">${far(task)}</span>`}
            <span class="muted small">began <${Ago} at=${task.started_at} />${task.finished_at && `, ${timeOf(task)}`}</span>
            ${isRunning && html`<${Change} label="Stop" needs="sync" icon="stop" danger then=${again}
                run=${() => ask("stop-task", { id: task.id })} />`}</span></p>
        ${isRunning && task.total > 0 && html`<span class="meter" role="progressbar" aria-valuenow=${task.done} aria-valuemax=${task.total}
            aria-label=${task.phase}><span style=${{ width }}></span></span>`}
        ${task.note && html`<p class="small muted">${task.note}</p>`}
        ${task.error && html`<p class="job-error small">${sentence(task.error.message)} ${task.error.hint && sentence(task.error.hint)}</p>`}</li>`;
}

/**
 * Whether a job waits for its time.
 * @param {any} job
 */
function isLater(job) {
    return job.status === "queued" && Date.parse(job.due_at) > Date.now();
}

function Queue() {
    const status = place.value.query.get("status");
    const [limit, setLimit] = useState(LIMIT);
    useEffect(() => setLimit(LIMIT), [status]);
    const request = { status, before: null, limit };
    const jobs = useAsk("jobs", request, { every: SOON * 2, keepLast: (last) => last.status === status });
    const chip = (/** @type {string | null} */ value) => html`<button type="button" class="chip" aria-pressed=${status === value}
        onClick=${() => setQuery({ status: value })}>${value ?? "all"}</button>`;
    return html`<p class="row">${[null, ...STATUSES].map(chip)}</p>
        <${Answered} of=${jobs} lines=${4}>${(/** @type {any[]} */ list) => html`<${Jobs} jobs=${list} status=${status} again=${jobs.again} />
            ${list.length >= limit && limit < MOST && html`<p class="more"><button type="button" class="small" onClick=${() => setLimit(limit + LIMIT)}
                ><${Icon} name="down" /> Show older</button></p>`}`}</${Answered}>`;
}

/** @param {{jobs: any[], status: string | null, again: () => void}} props */
function Jobs({ jobs, status, again }) {
    if (!jobs.length) {
        return html`<p class="muted">No job${status ? ` is ${status}` : " was queued"}. A server queues them by its schedule and when${" "}
            a forge sends a webhook.</p>`;
    }
    return html`<table class="stacked"><thead><tr><th>Job</th><th>Project</th><th>Status</th><th>Queued</th><th>Took</th>
            <th><span class="hidden">Actions</span></th></tr></thead>
        <tbody>${jobs.map((job) => html`<${Job} key=${job.id} job=${job} again=${again} />`)}</tbody></table>`;
}

/** @param {{job: any, again: () => void}} props */
function Job({ job, again }) {
    const isGoing = job.status === "queued" || job.status === "running";
    const isLost = job.status === "failed" || job.status === "cancelled";
    return html`<tr><td class="tight"><span title=${KINDS[job.kind]}>${jobName(job.kind)}</span> <span class="muted small">${job.id}</span>
            ${job.subject && html` <span class="mono small">${job.subject}</span>`}</td>
        <td class="tight">${job.project}</td>
        <td><span class=${`badge ${job.status}`}>${job.status}</span>
            ${job.attempts > 1 && html` <span class="muted small">${counted(job.attempts, "attempt")}</span>`}
            ${job.task && html`<div class="small muted">${job.task.phase} ${far(job.task)}</div>`}
            ${job.error && html`<div class="job-error small">${sentence(job.error)}</div>`}</td>
        <td class="tight" data-label="queued"><${Ago} at=${job.queued_at} />${isLater(job) && html`<div class="small muted">due <${Ago} at=${job.due_at} /></div>`}</td><td class="tight numeric">${timeOf(job)}</td>
        <td class="tight">${isGoing && html`<${Change} label="Cancel" needs="sync" danger then=${again}
                run=${() => ask("cancel-job", { id: job.id })} />`}
            ${isLost && html`<${Change} label="Retry" needs="sync" icon="retry" then=${again}
                run=${() => ask("retry-job", { id: job.id })} />`}</td></tr>`;
}

/** @param {{coverage: any, stats: any, status: any}} props */
function Coverage({ coverage, stats, status }) {
    const width = (/** @type {any} */ one) => `${one.documents ? (one.embedded / one.documents) * 100 : 100}%`;
    return html`<table class="coverage"><thead><tr><th>Kind</th><th class="number">Documents</th><th class="number">With vectors</th>
            <th><span class="hidden">Share</span></th></tr></thead><tbody>
        ${coverage.by_kind.map((/** @type {any} */ one) => html`<tr><td>${kindName(one.kind)}</td>
            <td class="number">${number(one.documents)}</td><td class="number">${number(one.embedded)}</td>
            <td class="coverage-bar"><span class="meter"><span style=${{ width: width(one) }}></span></span></td></tr>`)}</tbody></table>
        <p class="byline">${stats && html`<span title="In the graph: which node is linked to which other, and how">${counted(stats.quads, "statement")}</span>
            <span title="What makes the vectors">model ${stats.model}</span>
            <span>${counted(stats.people, "person", "people")}</span><span>secrets redacted in ${counted(stats.redactions, "place")}</span>`}
        ${status && html`<span class="numeric" title="What was read goes into the graph, the lists and the search one after another">${behind(status)}</span><span>roles ${status.roles.join(", ")}</span>`}</p>`;
}

/**
 * How far what is asked is behind what was read.
 * @param {any} status
 */
function behind({ ledger_seq: ledger, graph_seq: graph, lists_seq: lists, index_seq: index }) {
    /** @type {Map<number, string[]>} */
    const late = new Map();
    for (const [name, seq] of /** @type {[string, number][]} */ ([["graph", graph], ["lists", lists], ["search", index]])) {
        if (seq < ledger) late.set(ledger - seq, [...(late.get(ledger - seq) ?? []), name]);
    }
    const parts = [...late].map(([count, names]) => `${names.join(" and ")} ${names.length > 1 || names[0] === "lists" ? "are" : "is"} ${counted(count, "change")} behind`);
    return parts.join(", ") || "all that was read is applied";
}

/** @param {{quarantine: any}} props */
function Quarantine({ quarantine }) {
    if (!quarantine.count) return null;
    return html`<section><h2>Quarantine</h2><${Notice} tone="warn">${counted(quarantine.count, "record")} of the forge cannot be read.
            ${quarantine.count === 1 ? " It is" : " They are"} kept apart and tried again at each sync.</${Notice}>
        <table class="stacked"><thead><tr><th>Record</th><th>Field</th><th>Why</th><th>Since</th></tr></thead>
        <tbody>${quarantine.items.map((/** @type {any} */ item) => html`<tr><td class="mono">${item.ref}</td><td class="mono">${item.field}</td>
            <td>${item.reason}</td><td class="tight"><${Ago} at=${item.first_seen} /></td></tr>`)}</tbody></table></section>`;
}

/**
 * Which projects a sync was asked to read.
 * @param {string[] | null | undefined} projects none for all; null if that is not on record
 */
function projectsOf(projects) {
    if (!projects) return "";
    if (!projects.length) return "all";
    const more = projects.length - NAMED;
    return projects.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${counted(more, "other")}` : "");
}

/** @param {{runs: any[]}} props */
function Runs({ runs }) {
    const [all, setAll] = useState(false);
    if (!runs.length) return html`<${Empty} title="Nothing was synced yet" icon="jobs" />`;
    return html`<table class="stacked"><thead><tr><th>Command</th><th>Project</th><th>Status</th><th>Began</th><th>Took</th></tr></thead>
        <tbody>${runs.slice(0, all ? LIMIT : RUNS).map((run) => html`<tr key=${run.id}>
            <td>${run.command}</td><td title=${run.projects?.join(", ")}>${projectsOf(run.projects)}</td>
            <td><span class=${classes("badge", run.status)}>${run.status}</span>
                ${run.error && html`<div class="job-error small">${sentence(run.error)}</div>`}</td>
            <td class="tight"><${Ago} at=${run.started_at} /></td><td class="tight numeric">${timeOf(run)}</td></tr>`)}</tbody></table>
        ${!all && runs.length > RUNS && html`<button type="button" class="small" onClick=${() => setAll(true)}><${Icon} name="down" /> Show older</button>`}`;
}
