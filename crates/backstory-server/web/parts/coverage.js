// What an answer or a search cannot see yet: repositories that are read for the first time, and documents without vectors.

import { html, percent } from "./html.js";
import { Notice } from "./state.js";
import { useAsk } from "../asking.js";

/** Milliseconds between two looks while it is not complete, and otherwise. */
const SOON = 3000;
const LATER = 30_000;
/** States of a repository that is not read to the end. */
const UNREAD = ["new", "indexing"];

/**
 * Repositories that are read for the first time.
 * @param {{project: string | null}} props null: of all
 */
export function StillIndexed({ project }) {
    const repositories = useAsk("repositories", {}, { every: SOON });
    const first = (repositories.answer ?? []).filter((/** @type {any} */ one) =>
        !one.synced_at && UNREAD.includes(one.state) && (!project || one.project === project));
    const tasks = useAsk("tasks", first.length ? {} : null, { every: SOON });
    const far = (/** @type {string} */ name) => {
        const of = (/** @type {any} */ task) => task.status === "running" && task.phase.startsWith(`${name} `) && task.total;
        const task = (tasks.answer ?? []).find(of);
        return task ? ` (${percent(Math.min(1, task.done / task.total))} of ${task.phase.slice(name.length + 1)})` : "";
    };
    return first.map((/** @type {any} */ one) => html`<${Notice} key=${one.project}><span role="status"><strong>${one.project}</strong> is still
        being indexed${far(one.project)}: answers see what was read so far.</span></${Notice}>`);
}

/** How many documents can be found by meaning, while those are not all. */
export function VectorsNote() {
    const { answer } = useAsk("coverage", {}, { every: LATER });
    if (!answer || answer.embedded >= answer.documents) return null;
    return html`<p class="muted small">Vectors are being made: ${percent(Math.floor((answer.embedded / answer.documents) * 100) / 100)} of the
        documents can be found by meaning, all of them by words.</p>`;
}

/**
 * Warnings without that of missing vectors, which the page says once.
 * @param {string[]} warnings
 */
export function withoutVectors(warnings) {
    return warnings.filter((one) => !one.includes("have no vectors yet"));
}
