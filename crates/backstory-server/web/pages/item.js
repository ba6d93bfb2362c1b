// An issue, a merge request or a commit: its text, what was said, and what it is linked to.

import { html, classes, counted, percent, useEffect } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, adviceOf } from "../parts/state.js";
import { Ago } from "../parts/time.js";
import { Markdown, inline } from "../parts/markdown.js";
import { ModelNotes } from "../parts/chain.js";
import { CommitView } from "../parts/commit.js";
import { Summarize } from "../parts/summary.js";
import { hasModel } from "../parts/change.js";
import { Discussion, Discussions, Person, StateBadge } from "../parts/thread.js";
import { Ref, encode, kindName, parse, shorten } from "../parts/ref.js";
import { edgeName } from "../parts/edges.js";
import { useAsk } from "../asking.js";
import { useKeys } from "../keys.js";
import { go, place, restOf } from "../router.js";
import { isGoingBack } from "../scroll.js";

/** The screen. */
export function Screen() {
    const id = restOf(place.value.path, "/ui/item");
    const asked = useAsk("show", { id });
    useEffect(() => {
        const title = asked.answer?.title ?? asked.answer?.message?.split("\n")[0] ?? id;
        document.title = `${title} · backstory`;
    }, [asked.answer, id]);
    useKeys("Item", [
        { keys: "w", label: "Trace it", run: () => go(`/ui/why/${encode(id)}`) },
        { keys: "n", label: "Its neighborhood in the graph", run: () => go(`/ui/graph/${encode(id)}`) },
    ]);
    const { kind } = parse(id);
    if (asked.error?.code === "NOT_FOUND" && (kind === "issue" || kind === "merge_request")) return html`<${NotIndexed} id=${id} error=${asked.error} />`;
    return html`<div class="screen"><${Answered} of=${asked} lines=${14}>${(/** @type {any} */ item) => {
        if (item.sha) return html`<${CommitView} commit=${item} />`;
        return item.parent ? html`<${Alone} discussion=${item} />` : html`<${Thread} thread=${item} />`;
    }}</${Answered}></div>`;
}

/** @param {{id: string, error: any}} props */
function NotIndexed({ id, error }) {
    const repositories = useAsk("repositories", {}, { once: true });
    const { kind, project, rest } = parse(id);
    const address = (repositories.answer ?? []).find((/** @type {any} */ one) => one.project === project)?.address ?? "";
    const forge = /^https:\/\/(github|gitlab)\.com\/[\w./-]+?(?=\.git$|\/?$)/.exec(address);
    const path = forge?.[1] === "github" ? { issue: "issues", merge_request: "pull" }[kind] : { issue: "-/issues", merge_request: "-/merge_requests" }[kind];
    return html`<div class="screen"><${Empty} title=${`${id} is not indexed`} icon=${kind}><p>${adviceOf(error)}</p>
        ${forge && html`<p><a class="button" href=${`${forge[0]}/${path}/${rest.slice(1)}`} target="_blank" rel="noopener noreferrer"
            ><${Icon} name="open" /> Look at the forge</a></p>`}</${Empty}></div>`;
}

/**
 * Brings what the address points at into view, once it is there.
 * @param {string} anchor
 * @param {any} of
 */
function useAnchor(anchor, of) {
    useEffect(() => {
        if (anchor && !isGoingBack()) document.getElementById(anchor)?.scrollIntoView({ block: "center" });
    }, [anchor, of]);
}

/** @param {{discussion: any}} props */
function Alone({ discussion }) {
    const project = parse(discussion.parent).project;
    const anchor = place.value.hash;
    useAnchor(anchor, discussion);
    return html`<h1>Discussion in <${Ref} id=${discussion.parent} title=${discussion.parent_title ?? discussion.parent} /></h1>
        <${Discussion} discussion=${discussion} project=${project} anchor=${anchor} />`;
}

/** @param {{thread: any}} props */
function Thread({ thread }) {
    const project = parse(thread.id).project;
    const anchor = place.value.hash;
    useAnchor(anchor, thread);
    const notes = thread.discussions.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.notes.length, 0);
    return html`
        <header class="item-head">
            <p class="byline"><${Ref} id=${project} /><span>${kindName(thread.kind)} <span class="mono">${shorten(thread.id, project)}</span></span></p>
            <h1>${inline(thread.title, project)}</h1>
            <p class="byline"><${StateBadge} state=${thread.state} />
                ${thread.confidential && html`<span class="badge warn"><${Icon} name="lock" /> confidential</span>`}
                ${thread.draft && html`<span class="badge">draft</span>`}
                <span><${Person} name=${thread.author} /> opened it <${Ago} at=${thread.created_at} /></span>
                ${thread.merged_at && html`<${Ended} what="merged" at=${thread.merged_at} by=${thread.merged_by} />`}
                ${thread.closed_at && !thread.merged_at && html`<${Ended} what="closed" at=${thread.closed_at} by=${thread.closed_by} />`}
                ${thread.source_branch && html`<span class="mono">${thread.source_branch} → ${thread.target_branch}</span>`}</p>
            <div class="row no-print"><a class="button small" href=${`/ui/why/${encode(thread.id)}`}><${Icon} name="history" /> Trace</a>
                <a class="button small" href=${`/ui/graph/${encode(thread.id)}`}><${Icon} name="graph" /> Graph</a>
                <a class="button small" href=${thread.url} target="_blank" rel="noopener noreferrer"><${Icon} name="open" /> At the forge</a></div>
        </header>
        <div class="item-layout">
            <div class="stack">
                <section class="note first-note">${thread.description.trim()
                    ? html`<${Markdown} text=${thread.description} project=${project} />` : html`<p class="muted">No description.</p>`}</section>
                ${thread.model_notes && html`<${ModelNotes} notes=${[thread.model_notes]} />`}
                <h2>${counted(notes, "note")} in ${counted(thread.discussions.length, "discussion")}</h2>
                <${Discussions} discussions=${thread.discussions} omitted=${thread.omitted_notes} project=${project} anchor=${anchor} />
            </div>
            <aside class="item-side stack">
                <${People} title="Assigned" names=${thread.assignees} /><${People} title="Reviewed by" names=${thread.reviewers ?? []} />
                <${People} title="Approved by" names=${thread.approved_by ?? []} />
                <${Labels} thread=${thread} project=${project} />
                ${thread.milestone && html`<section><h2 class="side-title">Milestone</h2><p>${thread.milestone}</p></section>`}
                <${Edges} title="Links to" edges=${thread.edges.out} project=${project} />
                <${Edges} title="Referenced by" edges=${thread.edges.in} project=${project} />
                ${thread.edges.omitted > 0 && html`<p class="muted small">${counted(thread.edges.omitted, "more link")} in the${" "}
                    <a href=${`/ui/graph/${encode(thread.id)}`}>graph</a>.</p>`}
                ${hasModel() && html`<${Summarize} id=${thread.id} />`}
            </aside>
        </div>`;
}

/** @param {{what: string, at: string, by: string | null | undefined}} props */
function Ended({ what, at, by }) {
    return html`<span>${what} <${Ago} at=${at} />${by && html` by <${Person} name=${by} />`}</span>`;
}

/** @param {{thread: any, project: string}} props */
function Labels({ thread, project }) {
    if (!thread.labels.length) return null;
    const items = `/ui/items?project=${encodeURIComponent(project)}&kind=${thread.kind}`;
    const label = (/** @type {string} */ name) => html`<a class="label" href=${`${items}&label=${encodeURIComponent(name)}`}>${name}</a>`;
    return html`<section><h2 class="side-title">Labels</h2><p class="row">${thread.labels.map(label)}</p></section>`;
}

/** @param {{title: string, names: string[]}} props */
function People({ title, names }) {
    if (!names.length) return null;
    return html`<section><h2 class="side-title">${title}</h2><p class="row">${names.map((name) => html`<${Person} name=${name} />`)}</p></section>`;
}

/** @param {{title: string, edges: any[], project: string}} props */
function Edges({ title, edges, project }) {
    if (!edges.length) return null;
    /** @type {Map<string, any[]>} */
    const groups = new Map();
    for (const edge of edges) groups.set(edge.name, [...(groups.get(edge.name) ?? []), edge]);
    const row = (/** @type {any} */ edge) => html`<li class=${classes(edge.inferred && "inferred-edge")} title=${(edge.evidence ?? []).join("; ") || undefined}
        ><${Ref} id=${edge.id} project=${project} />
        ${edge.inferred && html`<span class="small muted">inferred${edge.confidence ? `, ${percent(edge.confidence)}` : ""}</span>`}</li>`;
    return html`<section><h2 class="side-title">${title}</h2>${[...groups].map(([name, group]) => html`<div class="edge-group">
        <p class="small muted">${edgeName(name)}</p><ul>${group.map(row)}</ul></div>`)}</section>`;
}
