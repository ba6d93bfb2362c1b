// A trace on a page of its own: of lines, a symbol, or any node.

import { html, useEffect } from "../parts/html.js";
import { coded } from "../parts/coded.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty } from "../parts/state.js";
import { Ago } from "../parts/time.js";
import { TraceView, traceTitle } from "../parts/chain.js";
import { addressOf, encode, fileAddress, kindName, parse } from "../parts/ref.js";
import { useAsk } from "../asking.js";
import { place, restOf } from "../router.js";

/** Earlier versions that are shown. */
const EARLIER = 20;

/** The screen. */
export function Screen() {
    const id = restOf(place.value.path, "/ui/why");
    const query = place.value.query;
    const node = parse(id);
    const range = /^(\d+)(?:-(\d+))?$/.exec(query.get("lines") ?? "");
    const lines = range ? [Number(range[1]), Number(range[2] ?? range[1])] : null;
    const target = targetOf(node, lines);
    const asked = useAsk("trace", id ? { project: node.project || null, target, rev: query.get("rev"), earlier: EARLIER } : null);
    useEffect(() => {
        document.title = `Why ${traceTitle(asked.answer ?? {}, id)} · backstory`;
    }, [asked.answer, id]);
    if (!id) return html`<${Empty} title="Nothing to trace" icon="history"><p>Open a file and select lines.</p></${Empty}>`;
    return html`<div class="screen narrow"><${Answered} of=${asked} lines=${12}>${(/** @type {any} */ trace) => html`
        <${Page} trace=${trace} id=${id} target=${target} />`}</${Answered}></div>`;
}

/**
 * What the server is asked to trace.
 * @param {ReturnType<typeof parse>} node
 * @param {number[] | null} lines
 */
function targetOf(node, lines) {
    if (node.kind === "file") return { lines: { path: node.path, lines } };
    return node.kind === "entity" ? { symbol: { path: node.path, name: node.name } } : { node: node.id };
}

/** @param {{trace: any, id: string, target: object}} props */
function Page({ trace, id, target }) {
    const node = parse(id);
    const { commit, synced_at: synced } = trace.indexed;
    const { path, line, end_line: end } = trace;
    const source = path ? fileAddress(trace.project, path, { lines: line ? [line, end ?? line] : null }) : addressOf(id);
    return html`<header class="item-head"><p class="byline"><span>${kindName(node.kind)}</span><span class="mono">${id}</span></p>
            <h1>Why ${coded(traceTitle(trace, id))}</h1>
            <p class="byline">${commit && html`<span>${trace.project} at ${commit.slice(0, 8)}</span>`}<span>synced <${Ago} at=${synced} /></span></p>
            <p class="row no-print"><a class="button small" href=${source}
                    ><${Icon} name=${path ? "file" : "open"} /> ${path ? "In the file" : `The ${kindName(node.kind)}`}</a>
                <a class="button small" href=${`/ui/graph/${encode(id)}`}><${Icon} name="graph" /> Graph</a></p></header>
        ${trace.text && html`<pre class="snippet" tabindex="0">${trace.text}</pre>`}
        <${TraceView} trace=${trace} target=${target} />`;
}
