// Work that a button started: a job of the queue or a task, and where it stands until its end.

import { html, number, useEffect, useState } from "./html.js";
import { Change } from "./change.js";
import { FailedLine, NotUpdated, sentence } from "./state.js";
import { took } from "./time.js";
import { ask, changed } from "../api.js";
import { useAsk } from "../asking.js";

/** Milliseconds between two looks. */
const LOOK = 1000;
/** @type {Record<string, string>} */
const TASKS = { sync: "Sync", embed: "Vectors", rebuild: "Rebuild", enrich: "Enrichment", forget: "Forgetting" };

/**
 * What a kind of task is called.
 * @param {string} kind
 */
export function taskName(kind) {
    return TASKS[kind] ?? kind;
}

/**
 * What a kind of job is called.
 * @param {string} kind
 */
export function jobName(kind) {
    return kind === "full" ? "reindex" : kind;
}

/**
 * How many changes what is searched is behind what was read.
 * @param {any} status
 */
export function changesBehind(status) {
    return Math.max(0, status.ledger_seq - Math.min(status.graph_seq, status.lists_seq, status.index_seq));
}

/** What is not at its end. */
const GOING = ["queued", "running"];

/**
 * Where a job or a task stands.
 * @param {{kind: "job" | "task", id: number, then?: (isDone: boolean) => void}} props `then`: what is done at its end; `isDone` is
 *   whether it succeeded
 */
export function Started({ kind, id, then }) {
    const [ended, setEnded] = useState(false);
    const asked = useAsk(kind, { id }, { every: ended ? undefined : LOOK });
    const work = asked.answer?.id === id ? asked.answer : null;
    const isEnded = work !== null && !GOING.includes(work.status);
    useEffect(() => {
        if (!isEnded || ended) return;
        setEnded(true);
        changed();
        then?.(work.status === "succeeded");
    }, [isEnded]);
    if (asked.error && !work) return html`<${FailedLine} error=${asked.error} />`;
    if (!work) return html`<p class="started small muted" role="status">Queued</p>`;
    const progress = kind === "job" ? work.task : work;
    const error = typeof work.error === "string" ? { message: work.error } : work.error;
    const time = isEnded && work.started_at && work.finished_at ? `, ${took(Date.parse(work.finished_at) - Date.parse(work.started_at))}` : "";
    // What is read out is how it stands, not each step.
    return html`<p class="started small"><span class=${`badge ${work.status}`} role="status">${work.status}</span>
        <a href="/ui/jobs">${kind} ${id}</a> <span class="muted">${work.kind}${isEnded ? time : ` ${step(progress)}`}</span>
        ${error && html`<span class="change-error" role="alert">${sentence(error.message)} ${error.hint ? sentence(error.hint) : ""}</span>`}</p>
        ${asked.error && !isEnded && html`<${NotUpdated} error=${asked.error} />`}`;
}

/** @param {any} progress */
function step(progress) {
    if (!progress?.phase) return "";
    const counts = progress.total ? ` ${number(progress.done)} of ${number(progress.total)}` : "";
    return `${progress.phase}${counts}`;
}

/**
 * A button that queues a job for a project, and where that job stands.
 * @param {{project: string, kind: "sync" | "full", label: string, icon?: string, question?: string, then?: () => void}} props
 */
export function QueueButton({ project, kind, label, icon, question, then }) {
    const [job, setJob] = useState(/** @type {number | null} */ (null));
    return html`<${Change} label=${label} needs="sync" icon=${icon} question=${question} done="The job is queued"
            run=${() => ask("queue-job", { kind, project })} then=${(/** @type {any} */ queued) => setJob(queued.id)} />
        ${job !== null && html`<${Started} key=${job} kind="job" id=${job} then=${then} />`}`;
}
