// Projects: what is indexed and how fresh it is, adding another, and where to begin.

import { html, counted, number, percent, useEffect, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, Notice, sentence } from "../parts/state.js";
import { Ago, took } from "../parts/time.js";
import { AddRepository, mayAdd } from "../parts/add-repository.js";
import { Ref, addressOf, encode, parse } from "../parts/ref.js";
import { QueueButton, changesBehind, jobName, taskName } from "../parts/started.js";
import { useAsk } from "../asking.js";
import { go } from "../router.js";

/** Milliseconds between two looks while something runs, and otherwise. */
const SOON = 1500;
const LATER = 15_000;
/** Jobs that are looked through for the last one of each project. */
const JOBS = 100;
/** Milliseconds before its time in which a job is as good as due. */
const DUE = 45_000;

/** The screen. */
export function Screen() {
    const repositories = useAsk("repositories", {}, { every: SOON * 4 });
    const status = useAsk("sync-status", { runs: 1 }, { every: SOON * 4 });
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
    const jobsOf = (/** @type {string} */ name) => (jobs.answer ?? []).filter((/** @type {any} */ job) => job.project === name);
    const behind = status.answer ? changesBehind(status.answer) : 0;
    const running = (tasks.answer ?? []).filter((/** @type {any} */ task) => task.status === "running");
    return html`<div class="screen">
        <div class="screen-head"><h1>Projects</h1><p>What is indexed, and how fresh it is.</p></div>
        <${Answered} of=${shown} lines=${8}>${(/** @type {any[]} */ all) => html`
            ${all.length === 0 ? html`<${Nothing} />`
                : html`<${Begin} projects=${all} /><${Totals} coverage=${coverage.answer} behind=${behind} />`}
            ${running.map((/** @type {any} */ task) => html`<${Running} key=${task.id} task=${task} />`)}
            ${all.length > 0 && html`<div class="project-grid">${all.map((project) => html`
                <${Project} key=${project.name} project=${project} jobs=${jobsOf(project.name)} behind=${behind} again=${again} />`)}</div>`}
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

/** @param {{coverage: any, behind: number}} props */
function Totals({ coverage, behind }) {
    if (!coverage) return html`<div class="totals-room"></div>`;
    return html`<dl class="facts totals">
        <div><dt>Documents</dt><dd>${number(coverage.documents)}</dd></div>
        ${coverage.passages > 0 && html`<div><dt>Passages</dt><dd>${number(coverage.passages)}</dd></div>`}
        ${coverage.embedded > 0 && html`<div><dt>With vectors</dt><dd>${withVectors(coverage)}</dd></div>`}
        ${behind > 0 && html`<div><dt>Changes to apply</dt><dd>${number(behind)}</dd></div>`}
    </dl>`;
}

/** @param {{project: any, jobs: any[], behind: number, again: () => void}} props */
function Project({ project, jobs, behind, again }) {
    const { repository, fresh } = project;
    const failure = repository?.last_error ?? fresh?.last_error;
    const isRead = Boolean(repository?.head || fresh?.documents || fresh?.synced_at);
    const to = (/** @type {string} */ address, /** @type {string} */ icon, /** @type {string} */ label, /** @type {boolean} */ isOn) => html`
        <a class="button small" href=${isOn ? address : undefined} aria-disabled=${isOn ? undefined : "true"}
            title=${isOn ? undefined : "Nothing of it has been read yet"}><${Icon} name=${icon} /> ${label}</a>`;
    return html`<article class="card">
        <header class="card-head"><h2 class="cut"><a href=${addressOf(project.name)}>${project.name}</a></h2>
            <${State} repository=${repository} fresh=${fresh} behind=${behind} /></header>
        <div class="card-body stack">
            <p class="byline"><${Head} name=${project.name} repository=${repository} />
                <span>synced <${Ago} at=${(repository ?? fresh)?.synced_at} /></span></p>
            <${Counts} project=${project} />
            <${Jobs} jobs=${jobs} />
            ${failure && html`<${Notice} tone="warn"><p>${sentence(failure)}</p>
                <p class="muted">Failed <${Ago} at=${repository?.failed_at ?? fresh?.failed_at} />. It is tried again at the next sync.</p></${Notice}>`}
            ${(repository?.left_out ?? []).length > 0 && html`<details class="small"><summary>${counted(repository.left_out.length, "thing")} left out</summary>
                <ul class="missing">${repository.left_out.map((/** @type {string} */ sentence) => html`<li>${sentence}</li>`)}</ul></details>`}
            <div class="row">${repository && to(addressOf(project.name), "folder", "Files", Boolean(repository.head))}
                ${to(`/ui/ask?project=${encode(project.name)}`, "chat", "Ask", isRead)}
                ${to(`/ui/graph/${encode(project.name)}`, "graph", "Graph", isRead)}
                <${QueueButton} project=${project.name} kind="sync" label="Index now" icon="retry" then=${again} />
                <${QueueButton} project=${project.name} kind="full" label="Reindex"
                    question="Read everything again? Nothing is lost. It takes about as long as the first time." then=${again} /></div>
        </div>
    </article>`;
}

/** @param {{name: string, repository: any}} props */
function Head({ name, repository }) {
    if (!repository) return html`<span>from its forge, without its repository</span>`;
    if (!repository.head) return html`<span>not read yet</span>`;
    return html`<span>${repository.default_branch} at <${Ref} id=${`${name}@${repository.head}`} project=${name} icon=${false} /></span>`;
}

/**
 * What ran last, what runs, and when the next sync is.
 * @param {{jobs: any[]}} props the newest first
 */
function Jobs({ jobs }) {
    const last = jobs.filter((job) => job.finished_at).sort((one, other) => Date.parse(other.finished_at) - Date.parse(one.finished_at))[0];
    const running = jobs.find((job) => job.status === "running");
    const next = jobs.filter((job) => job.status === "queued" && job.kind === "sync").sort((one, other) => Date.parse(one.due_at) - Date.parse(other.due_at))[0];
    const isDue = next && Date.parse(next.due_at) < Date.now() + DUE;
    return html`<p class="byline">
        ${running && html`<span><a href="/ui/jobs">${jobName(running.kind)}</a> <span class="badge running">running</span> since <${Ago} at=${running.started_at} /></span>`}
        ${last && html`<span>last <a href="/ui/jobs">${jobName(last.kind)}</a> ${last.status} <${Ago} at=${last.finished_at} />${
            last.started_at && `, took ${took(Date.parse(last.finished_at) - Date.parse(last.started_at))}`}</span>`}
        ${next && !running && html`<span>${isDue ? "sync is queued" : html`next sync <${Ago} at=${next.due_at} />`}</span>`}
        ${last?.error && html`<span class="job-error">${sentence(last.error)}</span>`}</p>`;
}

/** @param {{project: any}} props */
function Counts({ project: { name, repository, fresh } }) {
    const items = (/** @type {string} */ kind) => `/ui/items?project=${encodeURIComponent(name)}&kind=${kind}`;
    return html`<p class="byline">
        ${repository?.head && html`<span>${counted(repository.commits, "commit")}</span><span>${counted(repository.files, "file")}</span>`}
        ${fresh && html`${fresh.issues > 0 && html`<a href=${items("issue")}>${counted(fresh.issues, "issue")}</a>`}
            ${fresh.merge_requests > 0 && html`<a href=${items("merge_request")}>${counted(fresh.merge_requests, "merge request")}</a>`}
            ${fresh.documents > 0 && html`<span>${counted(fresh.passages, "passage")}</span>
                <span title="These are also found by meaning; the others only by words"
                    >${withVectors(fresh)} of ${counted(fresh.documents, "document")} with vectors</span>`}`}</p>`;
}

/**
 * How many documents have vectors. All are all: 99.7% are not.
 * @param {{embedded: number, documents: number}} counts
 */
function withVectors({ embedded, documents }) {
    return percent(Math.floor((embedded / documents) * 100) / 100);
}

/** @param {{repository: any, fresh: any, behind: number}} props */
function State({ repository, fresh, behind }) {
    const state = repository?.state ?? (fresh?.last_error ? "error" : fresh?.synced_at ? "ready" : "new");
    // What was read is not yet where it is looked for.
    if (state === "ready" && behind > 0) return html`<span class="badge running" title=${`${counted(behind, "change")} to apply`}>catching up</span>`;
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
