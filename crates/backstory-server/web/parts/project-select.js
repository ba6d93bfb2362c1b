// Choosing a project, and the projects that there are.

import { html } from "./html.js";
import { useAsk } from "../asking.js";
import { place, setQuery } from "../router.js";

/**
 * Full paths of all projects, and what was asked for them.
 * @returns {{asked: import("../asking.js").Asked, projects: string[]}}
 */
export function useProjects() {
    const asked = useAsk("sync-status", { runs: 1 });
    return { asked, projects: (asked.answer?.freshness ?? []).map((/** @type {any} */ one) => one.project) };
}

/**
 * The project that the address names, or else the first one.
 * @param {string[]} projects
 * @returns {string | null}
 */
export function chosenProject(projects) {
    return place.value.query.get("project") ?? projects[0] ?? null;
}

/**
 * @param {{projects: string[], value: string | null, all?: boolean}} props `all`: whether none may be chosen
 */
export function ProjectSelect({ projects, value, all }) {
    const choose = (/** @type {any} */ event) => setQuery({ project: event.target.value });
    return html`<label><span class="hidden">Project</span><select value=${value ?? ""} onChange=${choose}>
        ${all && html`<option value="">All projects</option>`}
        ${projects.map((project) => html`<option value=${project}>${project}</option>`)}</select></label>`;
}
