// Issues and merge requests: their state, their discussions, and notes at the lines that they are about.

import { html, classes, counted, useMemo } from "./html.js";
import { Icon } from "./icons.js";
import { Ago } from "./time.js";
import { Markdown } from "./markdown.js";
import { addressOf, fileAddress, formatPlace, parse, shorten } from "./ref.js";
import { useGrowing } from "./growing.js";

/** Discussions that are drawn at first; the rest follows while there is nothing else to do. */
const FIRST = 8;

/** @param {{state: string}} props */
export function StateBadge({ state }) {
    return html`<span class=${`badge ${state}`}>${state === "opened" ? "open" : state}</span>`;
}

/** @param {{name: string | null | undefined}} props */
export function Person({ name }) {
    return name ? html`<a href=${addressOf(`@${name}`)}>${shorten(`@${name}`)}</a>` : html`<span class="muted">deleted account</span>`;
}

/**
 * A discussion with its notes.
 * @param {{discussion: any, project: string, anchor?: string}} props `anchor`: what the address points at
 */
export function Discussion({ discussion, project, anchor = "" }) {
    const position = discussion.notes[0]?.position;
    const name = parse(discussion.id).name;
    const resolved = discussion.resolvable && discussion.resolved;
    const pointedAt = has(discussion, anchor) ? anchor : "";
    return useMemo(() => html`<article class=${classes("discussion", resolved && "resolved", pointedAt === `d-${name}` && "pointed-at")} id=${`d-${name}`}>
        ${(position || discussion.resolvable || discussion.confidential) && html`<header class="discussion-head">
            ${position && html`<${Position} position=${position} project=${project} />`}
            ${discussion.resolvable && html`<span class=${`badge ${resolved ? "good" : "warn"}`}>${resolved ? "resolved" : "unresolved"}</span>`}
            ${discussion.confidential && html`<span class="badge warn"><${Icon} name="lock" /> internal</span>`}
            ${resolved && discussion.notes.at(-1)?.resolved_by && html`<span class="muted small">by @${discussion.notes.at(-1).resolved_by}</span>`}
        </header>`}
        ${discussion.notes.map((/** @type {any} */ note) => html`<${Note} note=${note} project=${project} pointedAt=${pointedAt} />`)}
    </article>`, [discussion, project, pointedAt]);
}

/** @param {{position: any, project: string}} props */
function Position({ position, project }) {
    const start = position.new_line_start ?? position.old_line_start;
    const end = position.new_line_end ?? position.old_line_end ?? start;
    const path = position.new_path || position.old_path;
    const lines = /** @type {[number, number] | null} */ (start ? [start, end] : null);
    const isGone = position.new_line_start === null && position.old_line_start !== null;
    return html`<a class="mono small" href=${fileAddress(project, path, { lines })}
        title="The file as it is now; lines may have moved"><${Icon} name="file" /> ${formatPlace(path, lines)}</a>
        ${isGone && html`<span class="muted small">removed lines</span>`}`;
}

/** @param {{note: any, project: string, pointedAt: string}} props */
function Note({ note, project, pointedAt }) {
    const id = `note_${parse(note.id).name}`;
    return html`<div class=${classes("note", pointedAt === id && "pointed-at")} id=${id}>
        <p class="byline"><strong><${Person} name=${note.author} /></strong><${Ago} at=${note.created_at} />
            <a class="source" href=${note.url} target="_blank" rel="noopener noreferrer" title="At the forge"
                ><${Icon} name="open" /><span class="hidden">at the forge</span></a></p>
        <${Markdown} text=${note.body} project=${project} />
    </div>`;
}

/**
 * @param {{discussions: any[], omitted?: number, project: string, anchor?: string}} props `anchor`: what the address points at
 */
export function Discussions({ discussions, omitted = 0, project, anchor = "" }) {
    const pointedAt = anchor ? discussions.findIndex((one) => has(one, anchor)) + 1 : 0;
    const drawn = useGrowing(discussions.length, { first: FIRST, needed: pointedAt && pointedAt + FIRST });
    if (!discussions.length) return html`<p class="muted">No comments yet.</p>`;
    return html`<div class="discussions">${discussions.slice(0, drawn).map((discussion) => html`
            <${Discussion} key=${discussion.id} discussion=${discussion} project=${project} anchor=${anchor} />`)}
        ${omitted > 0 && html`<p class="muted">${counted(omitted, "more note")} ${omitted === 1 ? "is" : "are"} at the forge.</p>`}</div>`;
}

/**
 * Whether an anchor is in a discussion.
 * @param {any} discussion
 * @param {string} anchor
 */
function has(discussion, anchor) {
    return anchor === `d-${parse(discussion.id).name}` || discussion.notes.some((/** @type {any} */ note) => anchor === `note_${parse(note.id).name}`);
}
