// What is shown beside the gutter when it is hovered: who, when, through what, and the best thing that was said.

import { html } from "./html.js";
import { coded } from "./coded.js";
import { Icon } from "./icons.js";
import { Ago } from "./time.js";
import { Quote } from "./markdown.js";
import { shorten } from "./ref.js";
import { useAsk } from "../asking.js";

/** Width of the card, the height that it may need and its least distance from the edges, in pixels. */
const WIDTH = 360;
const HEIGHT = 220;
const MARGIN = 12;

/**
 * The comment that says most about lines: of the merge request that brought them rather than of another, on these very lines
 * rather than near them, answered rather than alone, long rather than short.
 * @param {any[]} comments
 * @param {import("./runs.js").Run} run
 */
function best(comments, run) {
    const last = run.start + run.lines - 1;
    const about = comments.filter((one) => one.lines && one.lines[0] <= last && one.lines[1] >= run.start);
    /** @param {any} one */
    const worth = (one) => [one.thread === run.mergeRequest, one.carried === "exact", Math.min(one.notes, 9), Math.min(one.text.length, 400)].map(Number);
    const compare = (/** @type {any} */ a, /** @type {any} */ b) => {
        const [left, right] = [worth(a), worth(b)];
        const at = left.findIndex((value, number) => value !== right[number]);
        return at < 0 ? 0 : Number(right[at]) - Number(left[at]);
    };
    return about.sort(compare)[0];
}

/**
 * @param {{file: any, run: import("./runs.js").Run, box: DOMRect}} props
 */
export function RunCard({ file, run, box }) {
    const wanted = run.discussions > 0 ? { project: file.project, path: file.path, rev: file.rev } : null;
    const comments = useAsk("comments", wanted, { once: true });
    const said = best(comments.answer?.comments ?? [], run);
    const request = (file.lineage?.merge_requests ?? []).find((/** @type {any} */ one) => one.id === run.mergeRequest);
    const issues = (file.lineage?.issues ?? []).filter((/** @type {any} */ one) => run.issues.includes(one.id));
    const isBelow = box.bottom + HEIGHT < window.innerHeight || box.top < HEIGHT;
    const width = Math.min(WIDTH, window.innerWidth - 2 * MARGIN);
    const left = Math.max(MARGIN, Math.min(box.left, window.innerWidth - width - MARGIN));
    const place = isBelow ? { top: `${box.bottom + 4}px` } : { bottom: `${window.innerHeight - box.top + 4}px` };
    return html`<div class="run-card" style=${{ left: `${left}px`, width: `${width}px`, ...place }} role="tooltip">
        <p><strong>${coded(run.title)}</strong></p>
        <p class="byline"><span>${run.author}</span><${Ago} at=${run.date} /><span class="mono">${shorten(run.commit ?? "", file.project)}</span></p>
        ${request && html`<${Row} node=${request} icon="merge_request" project=${file.project} />`}
        ${issues.map((/** @type {any} */ issue) => html`<${Row} node=${issue} icon="issue" project=${file.project} />`)}
        ${said && html`<div><${Quote} text=${said.text} project=${file.project} /><p class="muted small">${said.author ? `@${said.author}` : "deleted account"}</p></div>`}
        ${run.seenThrough.length > 0 && html`<p class="small muted">Seen through: ${run.seenThrough.join(", ")}</p>`}
    </div>`;
}

/** @param {{node: any, icon: string, project: string}} props */
function Row({ node, icon, project }) {
    return html`<p class="run-card-row"><${Icon} name=${icon} /><span>${coded(node.title)} <span class="muted">${shorten(node.id, project)}</span></span></p>`;
}
