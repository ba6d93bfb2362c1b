// The files of a repository at a revision, a directory opened at a time.

import { html, classes, number, useState } from "./html.js";
import { useGrowing } from "./growing.js";
import { Icon } from "./icons.js";
import { Failed } from "./state.js";
import { fileAddress } from "./ref.js";
import { useAsk } from "../asking.js";

/** Rows of a directory that are drawn at first, and more at a time. */
const FIRST = 60;
const STEP = 120;

/**
 * @param {{project: string, rev: string | null, path: string}} props
 */
export function Tree({ project, rev, path }) {
    return html`<nav class="tree" aria-label="Files"><${Directory} project=${project} rev=${rev} path="" current=${path} depth=${0} /></nav>`;
}

/** @param {{project: string, rev: string | null, path: string, current: string, depth: number}} props */
function Directory({ project, rev, path, current, depth }) {
    const listed = useAsk("tree", { project, path, rev, last_commits: false });
    const entries = listed.answer?.entries ?? [];
    // The way to the file that is shown is there at once.
    const way = entries.findIndex((/** @type {any} */ entry) => isOnTheWay(entry, current));
    const drawn = useGrowing(entries.length, { first: FIRST, step: STEP, needed: way + 1 });
    if (listed.error && !listed.answer) return html`<${Failed} error=${listed.error} again=${listed.again} />`;
    if (!listed.answer) return html`<p class="muted small pad" aria-busy="true">${listed.slow ? "Loading…" : "\u00a0"}</p>`;
    return html`<ul>${entries.slice(0, drawn).map((/** @type {any} */ entry) => html`
            <${TreeRow} key=${entry.path} entry=${entry} project=${project} rev=${rev} current=${current} depth=${depth} />`)}
        ${listed.answer.left_out > 0 && html`<li class="muted small">… ${number(listed.answer.left_out)} more</li>`}</ul>`;
}

/**
 * @param {any} entry
 * @param {string} current
 */
function isOnTheWay(entry, current) {
    return entry.path === current || (entry.kind === "directory" && current.startsWith(`${entry.path}/`));
}

/** @param {{entry: any, project: string, rev: string | null, current: string, depth: number}} props */
function TreeRow({ entry, project, rev, current, depth }) {
    const isDirectory = entry.kind === "directory";
    const [choice, setChoice] = useState(/** @type {boolean | null} */ (null));
    const open = choice ?? (isDirectory && isOnTheWay(entry, current));
    const indent = { paddingLeft: `${8 + depth * 14}px` };
    if (!isDirectory) {
        const isCurrent = entry.path === current;
        return html`<li><a class=${classes("tree-row cut", isCurrent && "current")} style=${indent} href=${fileAddress(project, entry.path, { rev })}
            aria-current=${isCurrent ? "page" : undefined}><${Icon} name=${entry.kind === "submodule" ? "open" : "file"} /> ${entry.name}</a></li>`;
    }
    return html`<li><button type="button" class="tree-row cut" style=${indent} aria-expanded=${open} onClick=${() => setChoice(!open)}
        ><${Icon} name=${open ? "down" : "right"} /> ${entry.name}</button>
        ${open && html`<${Directory} project=${project} rev=${rev} path=${entry.path} current=${current} depth=${depth + 1} />`}</li>`;
}
