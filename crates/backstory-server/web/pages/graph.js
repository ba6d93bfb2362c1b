// The graph around a node: as a picture, as a table, and the path to another node.

import { html, counted, useEffect, useMemo, useState } from "../parts/html.js";
import { Icon, hasIcon } from "../parts/icons.js";
import { useProjects } from "../parts/project-select.js";
import { Answered, Empty, FailedLine, Notice } from "../parts/state.js";
import { GraphLegend, GraphPicture } from "../parts/graph-picture.js";
import { Expand, useOpened } from "../parts/graph-expand.js";
import { centerOf, countsOf, expanded, narrowed, openedIn } from "../parts/graph-filter.js";
import { useGrowing } from "../parts/growing.js";
import { iriOf } from "../parts/iri.js";
import { Ref, addressOf, encode, kindName, parse, shorten } from "../parts/ref.js";
import { CopyButton } from "../parts/copy.js";
import { edgeForward, edgeName } from "../parts/edges.js";
import { useAsk } from "../asking.js";
import { go, place, restOf, setQuery } from "../router.js";

/** Most nodes that are drawn. */
const LIMIT = 200;
/** Longest path that is looked for. */
const MAX_LENGTH = 6;
/** Nodes of a kind that are offered to begin at. */
const STARTS = 4;
/** Rows of the table that are drawn at first, and more at a time. */
const FIRST = 40;
const STEP = 60;
/** Kinds whose titles the server tells. */
const TITLED = ["issue", "merge_request", "commit"];

/** The screen. */
export function Screen() {
    const id = restOf(place.value.path, "/ui/graph");
    const query = place.value.query;
    const depth = Math.min(3, Math.max(1, Number(query.get("depth") ?? 1) || 1));
    const to = query.get("to");
    const around = useAsk("neighborhood", id ? { id, depth, edges: [], limit: LIMIT, totals: true } : null);
    const path = useAsk("path", id && to ? { from: id, to, edges: [], max_length: MAX_LENGTH } : null);
    const shown = useAsk("show", TITLED.includes(parse(id).kind) ? { id } : null, { once: true });
    const title = shown.answer?.title ?? shown.answer?.message?.split("\n")[0] ?? null;
    useEffect(() => {
        document.title = `${title ?? (id || "Graph")} · Graph · backstory`;
    }, [id, title]);
    return html`<div><div class="screen-head"><h1>Graph</h1>
            ${id && html`<p><${Ref} id=${id} title=${title ? `${shorten(id)} ${title}` : id} /></p>`}</div>
        <${Bar} id=${id} depth=${depth} to=${to} />
        ${!id ? html`<${Starts} />`
            : html`${to && html`<${PathView} path=${path} to=${to} />`}
                <${Answered} of=${around} lines=${14}>${(/** @type {any} */ found) => html`
                    <${Around} key=${id} id=${id} title=${title} found=${found} path=${path.answer} />`}</${Answered}>`}
    </div>`;
}

/** Where to begin: projects, their most central files and the threads that changed last. */
function Starts() {
    const { projects } = useProjects();
    const project = projects[0] ?? null;
    const files = useAsk("central-files", project ? { project, limit: STARTS } : null);
    const filter = { project: null, state: null, author: null, label: null };
    const threads = useAsk("threads", { kind: "merge_request", filter, limit: STARTS, after: null });
    const nodes = [
        ...projects.slice(0, STARTS),
        ...(files.answer ?? []).map((/** @type {string} */ one) => (one.includes(":") ? one : `${project}:${one}`)),
        ...(threads.answer?.threads ?? []).map((/** @type {any} */ one) => one.id),
    ];
    return html`<${Empty} title="Start at any node" icon="graph">
        <p>Enter a project, <code>acme/shop!7</code>, a commit, a file or a person above, or begin at one of these:</p>
        <ul class="starts">${nodes.map((id) => html`<li><a class="ref" href=${`/ui/graph/${encode(id)}`}
            ><${Icon} name=${hasIcon(parse(id).kind) ? parse(id).kind : "projects"} /><span>${id}</span></a></li>`)}</ul></${Empty}>`;
}

/** @param {{id: string, depth: number, to: string | null}} props */
function Bar({ id, depth, to }) {
    /** @param {any} event */
    function show(event) {
        event.preventDefault();
        const next = event.target.elements.node.value.trim();
        if (next) go(`/ui/graph/${encode(next)}`);
    }
    /** @param {any} event */
    function find(event) {
        event.preventDefault();
        setQuery({ to: event.target.elements.to.value.trim() });
    }
    return html`<div class="row graph-bar no-print">
        <form class="row" onSubmit=${show}><input type="text" name="node" aria-label="Node" placeholder="acme/shop!7" key=${id} defaultValue=${id}
            spellcheck=${false} /><button type="submit">Show</button></form>
        ${id && html`<span class="row" role="group" aria-label="How far">${[1, 2, 3].map((value) => html`<button type="button" class="chip"
            aria-pressed=${depth === value} onClick=${() => setQuery({ depth: String(value) })}>${counted(value, "edge")}</button>`)}</span>
        <form class="row" onSubmit=${find}><input type="text" name="to" aria-label="Path to" placeholder="path to …" key=${to} defaultValue=${to ?? ""}
            spellcheck=${false} /><button type="submit">Find the path</button></form>`}
    </div>`;
}

/** @param {{path: import("../asking.js").Asked, to: string}} props */
function PathView({ path, to }) {
    return html`<${Answered} of=${path} lines=${1}>${(/** @type {any} */ found) => {
        if (!found.nodes.length) {
            return html`<${Notice} tone="warn">No path of at most ${counted(MAX_LENGTH, "edge")} leads to ${to}. ${found.left_out.join("; ")}</${Notice}>`;
        }
        return html`<p class="row path">${found.nodes.map((/** @type {string} */ node, /** @type {number} */ number) => html`
            ${number > 0 && html`<${PathEdge} edge=${found.edges[number - 1]} to=${node} />`}
            <${Ref} id=${node} title=${titleOf(node, found.titles)} />`)}</p>`;
    }}</${Answered}>`;
}

/** @param {{edge: any, to: string}} props */
function PathEdge({ edge, to }) {
    return html`<span class="small muted">${edge ? edgeForward(edge.edge) : ""} ${edge?.from === to ? "←" : "→"}</span>`;
}

/** @param {{id: string, title: string | null, found: any, path: any}} props */
function Around({ id, title, found, path }) {
    const asTable = place.value.query.get("view") === "table";
    const types = place.value.query.get("edges") ?? "";
    const [chosen, setChosen] = useState(/** @type {string | null} */ (null));
    const center = centerOf(id, found);
    const opened = openedIn(place.value.query);
    const { answers, error } = useOpened(opened);
    const open = place.value.query.get("open");
    const all = useMemo(() => expanded(found, center, opened, answers), [found, center, open, answers]);
    const shown = useMemo(() => narrowed(center, all, types.split(",").filter(Boolean)), [all, types]);
    const titles = useMemo(() => ({ ...all.titles, ...(title && { [center]: title }) }), [all, title]);
    const project = parse(id).project;
    const onPath = useMemo(() => new Set(path?.nodes ?? []), [path]);
    const query = sparql(center);
    return html`<div class="graph-layout"><div>
            <div class="row spread"><span class="muted small" role="status"
                    >${counted(shown.neighbors.length, "node")}, ${counted(shown.edges.length, "edge")}</span>
                <span class="row">${query && html`<${CopyButton} what="SPARQL" label="Copy SPARQL" text=${() => query} />`}
                <button type="button" class="small" aria-pressed=${asTable} onClick=${() => setQuery({ view: asTable ? null : "table" })}
                    >As a table</button></span></div>
            ${all.left_out.map((/** @type {string} */ one) => html`<${Notice}>Left out: ${one}.</${Notice}>`)}
            ${shown.neighbors.length === 0 ? html`<${Empty} title=${types ? "No edge of these types" : "Nothing is linked to it"} icon="graph" />`
                : asTable ? html`<${Table} edges=${shown.edges} project=${project} titles=${titles} />`
                : html`<${GraphPicture} center=${center} found=${shown} titles=${titles} chosen=${chosen} choose=${setChosen} onPath=${onPath}
                    project=${project} />`}
        </div>
        <aside class="stack no-print">
            ${chosen && html`<${Chosen} id=${chosen} project=${project} title=${titles[chosen]} />`}
            <${Expand} key=${chosen ?? center} id=${chosen ?? center} totals=${chosen && chosen !== center ? undefined : found.totals}
                edges=${all.edges} opened=${opened} />
            ${error && html`<${FailedLine} error=${error} />`}
            <${Types} found=${all} types=${types} />
            ${!asTable && html`<${GraphLegend} center=${center} found=${shown} />`}
        </aside></div>`;
}

/** @param {{id: string, project: string, title?: string}} props */
function Chosen({ id, project, title }) {
    return html`<section class="card card-body stack"><h2 class="side-title">${kindName(parse(id).kind)}</h2>
        <p><${Ref} id=${id} project=${project} title=${titleOf(id, { [id]: title }, project)} /></p>
        <p class="row"><a class="button small" href=${`/ui/graph/${encode(id)}`}>Explore from here</a>
            <a class="button small" href=${addressOf(id)}>Open</a>
            <button type="button" class="small" onClick=${() => setQuery({ to: id })}>Path to it</button></p></section>`;
}

/** @param {{found: any, types: string}} props `types`: those that are shown, with commas between them; all if empty */
function Types({ found, types }) {
    const counts = useMemo(() => countsOf(found.edges), [found]);
    const now = types.split(",").filter(Boolean);
    const toggle = (/** @type {string} */ type) => setQuery({ edges: (now.includes(type) ? now.filter((one) => one !== type) : [...now, type]).join(",") });
    return html`<section><h2 class="side-title">Edges shown</h2>
        <p class="row">${counts.map(([type, count]) => html`<button type="button" class="chip" key=${type} aria-pressed=${now.includes(type)}
            onClick=${() => toggle(type)}>${edgeName(type)} <span class="count">${count}</span></button>`)}</p>
        ${now.length > 0 && html`<button type="button" class="small quiet" onClick=${() => setQuery({ edges: null })}
            ><${Icon} name="close" /> all edges</button>`}</section>`;
}

/**
 * A node by its name and title; a person by name alone.
 * @param {string} id
 * @param {Record<string, string | undefined> | undefined} titles
 * @param {string} [project]
 */
function titleOf(id, titles, project) {
    const title = titles?.[id];
    return title && parse(id).kind !== "person" ? `${shorten(id, project)} ${title}` : title;
}

/** @param {{edges: any[], project: string, titles: Record<string, string>}} props */
function Table({ edges, project, titles }) {
    const drawn = useGrowing(edges.length, { first: FIRST, step: STEP });
    const node = (/** @type {string} */ id) => html`<${Ref} id=${id} project=${project} title=${titleOf(id, titles, project)} />`;
    return html`<table><thead><tr><th>From</th><th>Edge</th><th>To</th></tr></thead><tbody>${edges.slice(0, drawn).map((edge) => html`
        <tr><td>${node(edge.from)}</td><td class="muted tight">${edgeForward(edge.edge)}</td><td>${node(edge.to)}</td></tr>`)}</tbody></table>`;
}

/**
 * What asks a SPARQL engine for the edges of a node; null if its name in the graph is not known.
 * @param {string} id
 */
function sparql(id) {
    const iri = iriOf(id);
    if (!iri) return null;
    return `# The edges of ${shorten(id)}
SELECT ?from ?edge ?to WHERE {
  VALUES ?node { <${iri}> }
  { ?node ?edge ?to BIND(?node AS ?from) } UNION { ?from ?edge ?node BIND(?node AS ?to) }
  FILTER(isIRI(?to))
} LIMIT ${LIMIT}
`;
}
