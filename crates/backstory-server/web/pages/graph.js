// The graph around a node: as a picture, as a table, and the path to another node.

import { html, counted, useEffect, useMemo, useState } from "../parts/html.js";
import { Icon, hasIcon } from "../parts/icons.js";
import { useProjects } from "../parts/project-select.js";
import { Answered, Empty, Notice } from "../parts/state.js";
import { GraphPicture } from "../parts/graph-picture.js";
import { Ref, addressOf, encode, kindName, parse, shorten } from "../parts/ref.js";
import { CopyButton } from "../parts/copy.js";
import { edgeName } from "../parts/edges.js";
import { useAsk } from "../api.js";
import { go, place, restOf, setQuery } from "../router.js";

/** Most nodes that are drawn. */
const LIMIT = 200;
/** Longest path that is looked for. */
const MAX_LENGTH = 6;
/** Nodes of a kind that are offered to begin at. */
const STARTS = 4;

/** The screen. */
export function Screen() {
    const id = restOf(place.value.path, "/ui/graph");
    const query = place.value.query;
    const edges = query.get("edges")?.split(",").filter(Boolean) ?? [];
    const depth = Math.min(3, Math.max(1, Number(query.get("depth") ?? 1)));
    const to = query.get("to");
    const around = useAsk("neighborhood", id ? { id, depth, edges, limit: LIMIT } : null);
    const path = useAsk("path", id && to ? { from: id, to, edges: [], max_length: MAX_LENGTH } : null);
    useEffect(() => {
        document.title = `${id || "Graph"} · backstory`;
    }, [id]);
    return html`<div><div class="screen-head"><h1>Graph</h1>${id && html`<p><${Ref} id=${id} title=${id} /></p>`}</div>
        <${Bar} id=${id} depth=${depth} to=${to} />
        ${!id ? html`<${Starts} />`
            : html`${to && html`<${PathView} path=${path} to=${to} />`}
                <${Answered} of=${around} lines=${14}>${(/** @type {any} */ found) => html`<${Around} key=${id} id=${id} found=${found} edges=${edges} path=${path.answer} />`}</${Answered}>`}
    </div>`;
}

/** Where to begin: projects, their most central files and the threads that changed last. */
function Starts() {
    const { projects } = useProjects();
    const project = projects[0] ?? null;
    const files = useAsk("central-files", project ? { project, limit: STARTS } : null);
    const threads = useAsk("threads", { kind: "merge_request", filter: { project: null, state: null, author: null, label: null }, limit: STARTS, after: null });
    const nodes = [...projects.slice(0, STARTS), ...(files.answer ?? []).map((/** @type {string} */ one) => (one.includes(":") ? one : `${project}:${one}`)), ...(threads.answer?.threads ?? []).map((/** @type {any} */ one) => one.id)];
    return html`<${Empty} title="Begin at any node" icon="graph"><p>Enter a project, <code>acme/shop!7</code>, a commit, a file or a person above, or begin at one of these:</p>
        <ul class="starts">${nodes.map((id) => html`<li><a class="ref" href=${`/ui/graph/${encode(id)}`}><${Icon} name=${hasIcon(parse(id).kind) ? parse(id).kind : "projects"} /><span>${id}</span></a></li>`)}</ul></${Empty}>`;
}

/** @param {{id: string, depth: number, to: string | null}} props */
function Bar({ id, depth, to }) {
    return html`<div class="row graph-bar no-print">
        <form class="row" onSubmit=${(/** @type {any} */ event) => {
            event.preventDefault();
            const next = event.target.elements.node.value.trim();
            if (next) go(`/ui/graph/${encode(next)}`);
        }}><input type="text" name="node" aria-label="Node" placeholder="acme/shop!7" key=${id} defaultValue=${id} spellcheck=${false} /><button type="submit">Show</button></form>
        ${id && html`<span class="row" role="group" aria-label="How far">${[1, 2, 3].map((value) => html`<button type="button" class="chip" aria-pressed=${depth === value} onClick=${() => setQuery({ depth: String(value) })}>${counted(value, "edge")}</button>`)}</span>
        <form class="row" onSubmit=${(/** @type {any} */ event) => {
            event.preventDefault();
            setQuery({ to: event.target.elements.to.value.trim() });
        }}><input type="text" name="to" aria-label="Path to" placeholder="path to …" key=${to} defaultValue=${to ?? ""} spellcheck=${false} /><button type="submit">Find the path</button></form>`}
    </div>`;
}

/** @param {{path: import("../api.js").Asked, to: string}} props */
function PathView({ path, to }) {
    return html`<${Answered} of=${path} lines=${1}>${(/** @type {any} */ found) => found.nodes.length === 0
        ? html`<${Notice} tone="warn">No path of at most ${MAX_LENGTH} edges leads to ${to}. ${found.left_out.join("; ")}</${Notice}>`
        : html`<p class="row path">${found.nodes.map((/** @type {string} */ node, /** @type {number} */ number) => html`${number > 0 && html`<span class="small muted">${found.edges[number - 1] ? edgeName(found.edges[number - 1].edge) : ""} ${found.edges[number - 1]?.from === node ? "←" : "→"}</span>`}<${Ref} id=${node} />`)}</p>`}</${Answered}>`;
}

/** @param {{id: string, found: any, edges: string[], path: any}} props */
function Around({ id, found, edges, path }) {
    const [asTable, setAsTable] = useState(place.value.query.get("view") === "table");
    const [chosen, setChosen] = useState(/** @type {string | null} */ (null));
    const counts = useMemo(() => {
        /** @type {Map<string, number>} */
        const all = new Map();
        for (const edge of found.edges) all.set(edge.edge, (all.get(edge.edge) ?? 0) + 1);
        return [...all].sort((a, b) => b[1] - a[1]);
    }, [found]);
    const project = parse(id).project;
    const onPath = useMemo(() => new Set(path?.nodes ?? []), [path]);
    return html`<div class="graph-layout"><div>
            <p class="row spread"><span class="muted small">${counted(found.neighbors.length, "node")}, ${counted(found.edges.length, "edge")}</span>
                <span class="row"><${CopyButton} what="SPARQL" label="Copy SPARQL" text=${() => sparql(id)} />
                <button type="button" class="small" aria-pressed=${asTable} onClick=${() => setAsTable(!asTable)}>As a table</button></span></p>
            ${found.left_out.map((/** @type {string} */ one) => html`<${Notice}>Left out: ${one}.</${Notice}>`)}
            ${found.neighbors.length === 0 ? html`<${Empty} title="Nothing is linked to it" icon="graph" />`
                : asTable ? html`<${Table} edges=${found.edges} project=${project} />`
                : html`<${GraphPicture} center=${id} found=${found} chosen=${chosen} choose=${setChosen} onPath=${onPath} project=${project} />`}
        </div>
        <aside class="stack no-print">
            ${chosen && html`<section class="card card-body stack"><h2 class="side-title">${kindName(parse(chosen).kind)}</h2><p><${Ref} id=${chosen} project=${project} /></p>
                <p class="row"><a class="button small" href=${`/ui/graph/${encode(chosen)}`}>Go on from here</a><a class="button small" href=${addressOf(chosen)}>Open</a>
                <button type="button" class="small" onClick=${() => setQuery({ to: chosen })}>Path to it</button></p></section>`}
            <section><h2 class="side-title">Edges</h2><p class="row">${counts.map(([edge, count]) => html`<button type="button" class="chip" aria-pressed=${edges.includes(edge)}
                onClick=${() => setQuery({ edges: (edges.includes(edge) ? edges.filter((other) => other !== edge) : [...edges, edge]).join(",") })}>${edgeName(edge)} <span class="count">${count}</span></button>`)}</p>
                ${edges.length > 0 && html`<button type="button" class="small quiet" onClick=${() => setQuery({ edges: null })}><${Icon} name="close" /> all edges</button>`}</section>
        </aside></div>`;
}

/** @param {{edges: any[], project: string}} props */
function Table({ edges, project }) {
    return html`<table><thead><tr><th>From</th><th>Edge</th><th>To</th></tr></thead><tbody>${edges.map((edge) => html`<tr>
        <td><${Ref} id=${edge.from} project=${project} /></td><td class="muted tight">${edgeName(edge.edge)}</td><td><${Ref} id=${edge.to} project=${project} /></td></tr>`)}</tbody></table>`;
}

/**
 * What asks a SPARQL engine for the edges of a node.
 * @param {string} id
 */
function sparql(id) {
    return `# The edges of ${shorten(id)}\nPREFIX b: <urn:backstory:>\nSELECT ?from ?edge ?to WHERE {\n  VALUES ?node { <${iri(id)}> }\n  { ?node ?edge ?to BIND(?node AS ?from) } UNION { ?from ?edge ?node BIND(?node AS ?to) }\n  FILTER(isIRI(?to))\n} LIMIT ${LIMIT}\n`;
}

/**
 * The IRI of a node, as the server mints it.
 * @param {string} id
 */
function iri(id) {
    const node = parse(id);
    const base = `urn:backstory:node:${node.project}`;
    const number = /\d+/.exec(node.rest)?.[0] ?? "";
    /** @type {Record<string, string>} */
    const tails = { issue: `/-/issues/${number}`, merge_request: `/-/merge_requests/${number}`, commit: `/-/commits/${node.name}`, file: `/-/files/${node.path}`, entity: `/-/entities/${node.path}#${node.name}` };
    if (node.kind === "person") return `urn:backstory:person:${id.slice(1)}`;
    return base + (tails[node.kind] ?? "");
}
