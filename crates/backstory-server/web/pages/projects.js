// Projects: what is indexed and how fresh it is, adding another, and where to begin.

import { html, counted, number, percent, useEffect, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, Notice, sentence } from "../parts/state.js";
import { Ago, took } from "../parts/time.js";
import { AddRepository, mayAdd } from "../parts/add-repository.js";
import { Ref, addressOf, encode, parse } from "../parts/ref.js";
import { QueueButton, taskName } from "../parts/started.js";
import { useAsk } from "../asking.js";
import { go } from "../router.js";

/** Milliseconds between two looks while something runs, and otherwise. */
const SOON = 1500;
const LATER = 15_000;
/** Jobs that are looked through for the last one of each project. */
const JOBS = 100;

/** The screen. */
export function Screen() {
    const repositories = useAsk("repositories", {}, { every: SOON * 4 });
    const status = useAsk("sync-status", { runs: 1 }, { every: LATER });
    const coverage = useAsk("coverage", {}, { every: LATER });
    const tasks = useAsk("tasks", {}, { every: SOON });
    const jobs = useAsk("jobs", { status: null, before: null, limit: JOBS }, { every: SOON * 4 });
    const projects = merge(repositories.answer, status.answer);
    const shown = { ...repositories, answer: repositories.answer && status.answer ? projects : null, error: repositories.error ?? status.error };
    const again = () => {
        repositories.again();
        status.again();
        jobs.again();
    };
    const lastJob = (/** @type {string} */ name) => (jobs.answer ?? []).find((/** @type {any} */ job) => job.project === name);
    const running = (tasks.answer ?? []).filter((/** @type {any} */ task) => task.status === "running");
    return html`<div class="screen">
        <div class="screen-head"><h1>Projects</h1><p>What is indexed, and how fresh it is.</p></div>
        <${Answered} of=${shown} lines=${8}>${(/** @type {any[]} */ all) => html`
            ${all.length === 0 ? html`<${Nothing} />`
                : html`<${Begin} projects=${all} /><${Totals} coverage=${coverage.answer} status=${status.answer} />`}
            ${running.map((/** @type {any} */ task) => html`<${Running} key=${task.id} task=${task} />`)}
            ${all.length > 0 && html`<div class="project-grid">${all.map((project) => html`
                <${Project} key=${project.name} project=${project} job=${lastJob(project.name)} again=${again} />`)}</div>`}
            ${mayAdd() && html`<section class="add"><h2>${all.length === 0 ? "Add a repository" : "Add another"}</h2>
                <${AddRepository} then=${again} /></section>`}`}</${Answered}>
    </div>`;
}

/**
 * Projects of repositories and of forges, as one list.
 * @param {any[] | null} repositories
 * @param {any} status
 */
function merge(repositories, status) {
    /** @type {Map<string, any>} */
    const all = new Map();
    for (const fresh of status?.freshness ?? []) all.set(fresh.project, { name: fresh.project, fresh, repository: null });
    for (const repository of repositories ?? []) {
        all.set(repository.project, { name: repository.project, fresh: all.get(repository.project)?.fresh ?? null, repository });
    }
    return [...all.values()].sort((a, b) => a.name.localeCompare(b.name));
}

/** @param {{task: any}} props */
function Running({ task }) {
    const share = task.total ? Math.min(100, (task.done / task.total) * 100) : null;
    return html`<div class="card task-card"><p class="row spread"><span><strong>${taskName(task.kind)}</strong> ${task.phase}</span>
        <span class="muted small numeric">${number(task.done)}${task.total ? ` of ${number(task.total)}` : ""}</span></p>
        ${share !== null && html`<span class="meter" role="progressbar" aria-valuenow=${task.done} aria-valuemax=${task.total} aria-label=${task.phase}
            ><span style=${{ width: `${share}%` }}></span></span>`}
        ${task.note && html`<p class="muted small">${task.note}</p>`}</div>`;
}

function Nothing() {
    return html`<${Empty} title="Nothing is indexed yet" icon="projects">
        <p>Add a repository below, or run <code>backstory add PATH-OR-ADDRESS</code> in a terminal.</p></${Empty}>`;
}

/** @param {{coverage: any, status: any}} props */
function Totals({ coverage, status }) {
    if (!coverage) return html`<div class="totals-room"></div>`;
    const behind = status ? status.ledger_seq - Math.min(status.graph_seq, status.lists_seq, status.index_seq) : 0;
    return html`<dl class="facts totals">
        <div><dt>Documents</dt><dd>${number(coverage.documents)}</dd></div>
        <div><dt>Passages</dt><dd>${number(coverage.passages)}</dd></div>
        <div><dt>With vectors</dt><dd>${coverage.documents ? withVectors(coverage) : "–"}</dd></div>
        <div><dt>Changes to apply</dt><dd>${number(Math.max(0, behind))}</dd></div>
    </dl>`;
}

/** @param {{project: any, job: any, again: () => void}} props */
function Project({ project, job, again }) {
    const { repository, fresh } = project;
    const failure = repository?.last_error ?? fresh?.last_error;
    return html`<article class="card">
        <header class="card-head"><h2 class="cut"><a href=${addressOf(project.name)}>${project.name}</a></h2>
            <${State} repository=${repository} fresh=${fresh} /></header>
        <div class="card-body stack">
            <p class="byline"><${Head} name=${project.name} repository=${repository} />
                <span>synced <${Ago} at=${(repository ?? fresh)?.synced_at} /></span></p>
            <${Counts} project=${project} />
            ${job && html`<${Job} job=${job} />`}
            ${failure && html`<${Notice} tone="warn"><p>${sentence(failure)}</p>
                <p class="muted">Failed <${Ago} at=${repository?.failed_at ?? fresh?.failed_at} />. It is tried again at the next sync.</p></${Notice}>`}
            ${(repository?.left_out ?? []).length > 0 && html`<details class="small"><summary>${counted(repository.left_out.length, "thing")} left out</summary>
                <ul class="missing">${repository.left_out.map((/** @type {string} */ sentence) => html`<li>${sentence}</li>`)}</ul></details>`}
            <div class="row">${repository && html`<a class="button small" href=${addressOf(project.name)}><${Icon} name="folder" /> Files</a>`}
                <a class="button small" href=${`/ui/ask?project=${encode(project.name)}`}><${Icon} name="chat" /> Ask</a>
                <a class="button small" href=${`/ui/graph/${encode(project.name)}`}><${Icon} name="graph" /> Graph</a>
                <${QueueButton} project=${project.name} kind="sync" label="Index now" icon="retry" then=${again} />
                <${QueueButton} project=${project.name} kind="full" label="Reindex" confirm=${project.name} then=${again} /></div>
        </div>
    </article>`;
}

/** @param {{name: string, repository: any}} props */
function Head({ name, repository }) {
    if (!repository) return html`<span>from its forge, without its repository</span>`;
    if (!repository.head) return html`<span>not read yet</span>`;
    return html`<span>${repository.default_branch} at <${Ref} id=${`${name}@${repository.head}`} project=${name} icon=${false} /></span>`;
}

/** @param {{job: any}} props */
function Job({ job }) {
    return html`<p class="byline"><span>last job: <a href="/ui/jobs">${job.kind} ${job.id}</a></span>
        <span class=${`badge ${job.status}`}>${job.status}</span><${Ago} at=${job.finished_at ?? job.started_at ?? job.queued_at} />
        ${job.started_at && job.finished_at && html`<span>took ${took(Date.parse(job.finished_at) - Date.parse(job.started_at))}</span>`}
        ${job.error && html`<span class="job-error">${sentence(job.error)}</span>`}</p>`;
}

/** @param {{project: any}} props */
function Counts({ project: { name, repository, fresh } }) {
    const items = (/** @type {string} */ kind) => `/ui/items?project=${encodeURIComponent(name)}&kind=${kind}`;
    return html`<p class="byline">
        ${repository?.head && html`<span>${counted(repository.commits, "commit")}</span><span>${counted(repository.files, "file")}</span>`}
        ${fresh && html`${fresh.issues > 0 && html`<a href=${items("issue")}>${counted(fresh.issues, "issue")}</a>`}
            ${fresh.merge_requests > 0 && html`<a href=${items("merge_request")}>${counted(fresh.merge_requests, "merge request")}</a>`}
            ${fresh.documents > 0 && html`<span>${counted(fresh.passages, "passage")}</span>
                <span title="Those are found by meaning too; the others by words"
                    >${withVectors(fresh)} of ${counted(fresh.documents, "document")} with vectors</span>`}`}</p>`;
}

/**
 * How many documents have vectors. All are all: 99.7% are not.
 * @param {{embedded: number, documents: number}} counts
 */
function withVectors({ embedded, documents }) {
    return percent(Math.floor((embedded / documents) * 100) / 100);
}

/** @param {{repository: any, fresh: any}} props */
function State({ repository, fresh }) {
    const state = repository?.state ?? (fresh?.last_error ? "error" : fresh?.synced_at ? "ready" : "new");
    return html`<span class=${`badge ${state}`}>${state}</span>`;
}

/**
 * First questions, from what is there.
 * @param {{projects: any[]}} props
 */
function Begin({ projects }) {
    const first = projects.find((project) => project.repository?.head) ?? projects[0];
    const files = useAsk("central-files", first.repository?.head ? { project: first.name, limit: 3 } : null);
    const [question, setQuestion] = useState("");
    useEffect(() => setQuestion(""), [first.name]);
    const paths = (files.answer ?? []).map((/** @type {string} */ id) => (id.includes(":") ? parse(id).path : id));
    return html`<section class="begin card"><div class="card-body">
        <h2>Why is this code like this?</h2>
        <form class="row begin-form" action="/ui/ask" onSubmit=${(/** @type {Event} */ event) => {
            event.preventDefault();
            if (question.trim()) go(`/ui/ask?q=${encodeURIComponent(question.trim())}`);
        }}><input type="text" aria-label="Question" placeholder="Ask: why was this limit chosen?" value=${question}
            onInput=${(/** @type {any} */ event) => setQuestion(event.target.value)} /><button type="submit" class="primary">Ask</button></form>
        <p class="row small"><span class="muted">Or open a file and look at its gutter:</span>
            ${paths.map((/** @type {string} */ path) => html`<${Ref} id=${`${first.name}:${path}`} project=${first.name} />`)}
            <a href=${addressOf(first.name)}>all files of ${first.name}</a></p>
    </div></section>`;
}
