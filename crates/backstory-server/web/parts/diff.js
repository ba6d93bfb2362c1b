// What a commit changes, file by file.

import { html, classes, counted, useState } from "./html.js";
import { useGrowing } from "./growing.js";
import { Icon } from "./icons.js";
import { Answered, Notice } from "./state.js";
import { fileAddress } from "./ref.js";
import { useAsk } from "../asking.js";

/** Lines around a change. */
const CONTEXT = 3;
/** Changed lines above which the files of a commit are closed at first. */
const OPEN_BELOW = 600;
/** Files, and lines of a file, that are drawn at first; the rest follows while there is nothing else to do. */
const FILES = 3;
const LINES = 100;

/** @type {Record<string, string>} */
const LEFT_OUT = {
    binary: "It is not text.",
    too_large: "It is too large to compare.",
    too_many_lines: "It has too many changed lines to show.",
    submodule: "It is a commit of another repository.",
    not_in_clone: "Its content is not in the clone.",
};

/** @param {{commit: any, project: string}} props */
export function DiffView({ commit, project }) {
    const asked = useAsk("diff", { id: commit.id, paths: [], context: CONTEXT });
    return html`<${Answered} of=${asked} lines=${8}>${(/** @type {any} */ diff) => html`<div class="stack">
        <${Files} key=${commit.id} files=${diff.files} commit=${commit} project=${project} />
        ${diff.left_out > 0 && html`<${Notice}>${counted(diff.left_out, "more file")} of this commit
            ${diff.left_out === 1 ? " is" : " are"} not shown.</${Notice}>`}
        </div>`}</${Answered}>`;
}

/** @param {{files: any[], commit: any, project: string}} props */
function Files({ files, commit, project }) {
    const drawn = useGrowing(files.length, { first: FILES });
    const isSmall = commit.insertions + commit.deletions < OPEN_BELOW;
    return files.slice(0, drawn).map((file) => html`<${FileDiff} key=${file.path} file=${file} commit=${commit} project=${project} isOpen=${isSmall} />`);
}

/** @param {{file: any, commit: any, project: string, isOpen: boolean}} props */
function FileDiff({ file, commit, project, isOpen }) {
    const [open, setOpen] = useState(isOpen);
    const isGone = file.status === "deleted";
    const name = isGone ? file.path : html`<a href=${fileAddress(project, file.path, { rev: commit.sha })}>${file.path}</a>`;
    return html`<section class="card diff"><header class="card-head">
            <button type="button" class="quiet small" aria-expanded=${open} onClick=${() => setOpen(!open)}
                ><${Icon} name=${open ? "down" : "right"} /><span class="hidden">${open ? "Hide" : "Show"} ${file.path}</span></button>
            <h3 class="cut mono">${file.old_path && file.old_path !== file.path ? `${file.old_path} → ` : ""}${name}</h3>
            <span class="muted small">${file.status.replace("_", " ")}${file.similarity ? `, ${file.similarity}% alike` : ""}</span>
            ${file.additions !== null && html`<span class="numeric small"
                ><span class="added">+${file.additions}</span> <span class="removed">−${file.deletions ?? 0}</span></span>`}
        </header>
        ${open && (file.left_out ? html`<p class="card-body muted">${LEFT_OUT[file.left_out] ?? "It is not shown."}</p>` : html`<${Hunks} file=${file} />`)}
    </section>`;
}

/** @param {{file: any}} props */
function Hunks({ file }) {
    const total = file.hunks.reduce((/** @type {number} */ sum, /** @type {any} */ hunk) => sum + hunk.lines.length, 0);
    let left = useGrowing(total, { first: LINES });
    return html`<div class="hunks" tabindex="0" role="region" aria-label=${`Changes of ${file.path}`}>${file.hunks.map((/** @type {any} */ hunk) => {
        const lines = hunk.lines.slice(0, Math.max(0, left));
        left -= hunk.lines.length;
        return lines.length > 0 && html`<${Hunk} key=${`${hunk.old_start} ${hunk.new_start}`} hunk=${hunk} lines=${lines} />`;
    })}</div>`;
}

/** @param {{hunk: any, lines: any[]}} props */
function Hunk({ hunk, lines }) {
    let before = hunk.old_start;
    let after = hunk.new_start;
    return html`<table class="hunk"><tbody>${lines.map((line) => {
        const kind = line.kind ?? "context";
        const isAdded = kind === "added";
        const isRemoved = kind === "removed";
        const [left, right] = [isAdded ? "" : before++, isRemoved ? "" : after++];
        return html`<tr class=${classes(isAdded && "line-added", isRemoved && "line-removed")}>
            <td class="hunk-number">${left}</td><td class="hunk-number">${right}</td>
            <td class="hunk-sign">${isAdded ? "+" : isRemoved ? "−" : ""}</td><td class="hunk-text">${line.text}</td></tr>`;
    })}</tbody></table>`;
}
