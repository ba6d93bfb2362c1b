// What is shown beside the gutter when it is hovered: who, when, through what, and the best thing that was said.

import { html } from "./html.js";
import { Icon } from "./icons.js";
import { Ago } from "./time.js";
import { Quote } from "./markdown.js";
import { shorten } from "./ref.js";
import { useAsk } from "../api.js";

/** Width of the card and its least distance from the edges, in pixels. */
const WIDTH = 360;
const MARGIN = 12;

/**
 * @param {{file: any, run: import("./code.js").Run, box: DOMRect}} props
 */
export function RunCard({ file, run, box }) {
    const wanted = run.discussions > 0 ? { project: file.project, path: file.path, rev: file.rev } : null;
    const comments = useAsk("comments", wanted);
    const last = run.start + run.lines - 1;
    const said = (comments.answer?.comments ?? []).find((/** @type {any} */ one) => one.lines && one.lines[0] <= last && one.lines[1] >= run.start);
    const request = (file.lineage?.merge_requests ?? []).find((/** @type {any} */ one) => one.id === run.mergeRequest);
    const issues = (file.lineage?.issues ?? []).filter((/** @type {any} */ one) => run.issues.includes(one.id));
    const below = box.bottom + 220 < window.innerHeight;
    const left = Math.max(MARGIN, Math.min(box.left, window.innerWidth - WIDTH - MARGIN));
    const style = below ? { left: `${left}px`, top: `${box.bottom + 4}px` } : { left: `${left}px`, bottom: `${window.innerHeight - box.top + 4}px` };
    return html`<div class="run-card" style=${{ ...style, width: `${WIDTH}px` }} role="tooltip">
        <p><strong>${run.title}</strong></p>
        <p class="byline"><span>${run.author}</span><${Ago} at=${run.date} /><span class="mono">${shorten(run.commit ?? "", file.project)}</span></p>
        ${request && html`<p class="run-card-row"><${Icon} name="merge_request" /><span>${request.title} <span class="muted">${shorten(request.id, file.project)}</span></span></p>`}
        ${issues.map((/** @type {any} */ issue) => html`<p class="run-card-row"><${Icon} name="issue" /><span>${issue.title} <span class="muted">${shorten(issue.id, file.project)}</span></span></p>`)}
        ${said && html`<div><${Quote} text=${said.text} project=${file.project} /><p class="muted small">@${said.author ?? "deleted account"}</p></div>`}
        ${run.seenThrough.length > 0 && html`<p class="small muted">Seen through: ${run.seenThrough.join(", ")}</p>`}
    </div>`;
}
