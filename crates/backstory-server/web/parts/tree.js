// The files of a repository at a revision, a directory opened at a time.

import { html, classes, useState } from "./html.js";
import { Icon } from "./icons.js";
import { Failed } from "./state.js";
import { fileAddress } from "./ref.js";
import { useAsk } from "../api.js";

/**
 * @param {{project: string, rev: string | null, path: string}} props
 */
export function Tree({ project, rev, path }) {
    return html`<nav class="tree" aria-label="Files"><${Directory} project=${project} rev=${rev} path="" current=${path} depth=${0} /></nav>`;
}

/** @param {{project: string, rev: string | null, path: string, current: string, depth: number}} props */
function Directory({ project, rev, path, current, depth }) {
    const listed = useAsk("tree", { project, path, rev, last_commits: false });
    if (listed.error) return html`<${Failed} error=${listed.error} again=${listed.again} />`;
    if (!listed.answer) return html`<p class="muted small pad" aria-busy="true">${listed.slow ? "Reading…" : "\u00a0"}</p>`;
    const entries = listed.answer.entries;
    return html`<ul>${entries.map((/** @type {any} */ entry) => html`<${TreeRow} key=${entry.path} entry=${entry} project=${project} rev=${rev} current=${current} depth=${depth} />`)}
        ${listed.answer.left_out > 0 && html`<li class="muted small">… ${listed.answer.left_out.toLocaleString("en")} more</li>`}</ul>`;
}

/** @param {{entry: any, project: string, rev: string | null, current: string, depth: number}} props */
function TreeRow({ entry, project, rev, current, depth }) {
    const isDirectory = entry.kind === "directory";
    const [choice, setChoice] = useState(/** @type {boolean | null} */ (null));
    const open = choice ?? (isDirectory && current.startsWith(`${entry.path}/`));
    const indent = { paddingLeft: `${8 + depth * 14}px` };
    if (!isDirectory) {
        return html`<li><a class=${classes("tree-row cut", entry.path === current && "current")} style=${indent} href=${fileAddress(project, entry.path, { rev })}
            aria-current=${entry.path === current ? "page" : undefined}><${Icon} name=${entry.kind === "submodule" ? "open" : "file"} /> ${entry.name}</a></li>`;
    }
    return html`<li><button type="button" class="tree-row cut" style=${indent} aria-expanded=${open} onClick=${() => setChoice(!open)}
        ><${Icon} name=${open ? "down" : "right"} /> ${entry.name}</button>
        ${open && html`<${Directory} project=${project} rev=${rev} path=${entry.path} current=${current} depth=${depth + 1} />`}</li>`;
}
