// A directory: what is in it, and what changed each entry last.

import { html, number } from "../parts/html.js";
import { useGrowing } from "../parts/growing.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty } from "../parts/state.js";
import { Ago } from "../parts/time.js";
import { addressOf, fileAddress } from "../parts/ref.js";
import { useAsk } from "../asking.js";

/** Rows that are drawn at first, and more at a time. */
const FIRST = 50;
const STEP = 80;

/**
 * @param {{project: string, path: string, rev: string | null}} props
 */
export function DirectoryView({ project, path, rev }) {
    const asked = useAsk("tree", { project, path, rev, last_commits: true });
    return html`<${Answered} of=${asked} lines=${14}>${(/** @type {any} */ tree) => html`
        <p class="byline directory-head"><span>at ${tree.rev.slice(0, 8)}</span><span>synced <${Ago} at=${tree.indexed.synced_at} /></span></p>
        ${tree.entries.length === 0 ? html`<${Empty} title="Nothing is in this directory" icon="folder" />`
            : html`<${Entries} key=${path} entries=${tree.entries} project=${project} rev=${rev} />`}
        ${tree.left_out > 0 && html`<p class="muted small">${number(tree.left_out)} more ${tree.left_out === 1 ? "entry is" : "entries are"} left out.</p>`}
        `}</${Answered}>`;
}

/** @param {{entries: any[], project: string, rev: string | null}} props */
function Entries({ entries, project, rev }) {
    const drawn = useGrowing(entries.length, { first: FIRST, step: STEP });
    return html`<table class="directory">
        <thead class="hidden"><tr><th>Name</th><th>Last change</th><th>When</th></tr></thead>
        <tbody>${entries.slice(0, drawn).map((entry) => html`<${Row} key=${entry.path} entry=${entry} project=${project} rev=${rev} />`)}</tbody></table>`;
}

/** @param {{entry: any, project: string, rev: string | null}} props */
function Row({ entry, project, rev }) {
    const isDirectory = entry.kind === "directory";
    const target = isDirectory ? `${entry.path}/` : entry.path;
    const commit = entry.last_commit;
    return html`<tr>
        <td class="tight"><a href=${fileAddress(project, target, { rev })}><${Icon} name=${isDirectory ? "folder" : "file"} /> ${entry.name}</a></td>
        <td class="directory-commit"><span class="cut">${commit && html`<a class="plain" href=${addressOf(commit.id)}>${commit.title}</a>`}</span></td>
        <td class="tight muted small">${commit && html`<${Ago} at=${commit.date} />`}</td>
    </tr>`;
}
