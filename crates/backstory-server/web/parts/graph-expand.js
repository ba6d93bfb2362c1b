// Expanding nodes of the graph: which edges a node has, by type with how many, and those that were asked for.

import { html, number, useEffect, useState } from "./html.js";
import { Icon } from "./icons.js";
import { FailedLine } from "./state.js";
import { edgeName } from "./edges.js";
import { countsOf, nameOf } from "./graph-filter.js";
import { shorten } from "./ref.js";
import { ask } from "../api.js";
import { useAsk } from "../asking.js";
import { setQuery } from "../router.js";

/** Most nodes that expanding a type of edge adds. */
const ADDED = 100;

/** @typedef {import("./graph-filter.js").Opened} Opened */

/**
 * The edges that are expanded, as far as they are there.
 * @param {Opened[]} opened
 */
export function useOpened(opened) {
    const [{ answers, error }, setState] = useState({ answers: /** @type {Map<string, any>} */ (new Map()), error: /** @type {any} */ (null) });
    const wanted = opened.map(nameOf).join("\n");
    useEffect(() => {
        const abort = new AbortController();
        for (const one of opened) {
            const name = nameOf(one);
            if (answers.has(name)) continue;
            ask("neighborhood", { id: one.id, depth: 1, edges: [one.edge], limit: ADDED }, abort.signal).then(
                (answer) => !abort.signal.aborted && setState((old) => ({ answers: new Map(old.answers).set(name, answer), error: null })),
                (error) => !abort.signal.aborted && setState((old) => ({ ...old, error })),
            );
        }
        return () => abort.abort();
    }, [wanted]);
    return { answers, error };
}

/**
 * The edges of a node by type: how many it has, and how many of them are in the picture.
 * @param {{id: string, totals?: {edge: string, count: number}[], edges: any[], opened: Opened[]}} props `totals`: if known
 */
export function Expand({ id, totals, edges, opened }) {
    const asked = useAsk("neighborhood", totals ? null : { id, depth: 1, edges: [], limit: 1, totals: true }, { once: true });
    const known = totals ?? asked.answer?.totals;
    if (asked.error && !known) return html`<${FailedLine} error=${asked.error} />`;
    const here = new Map(countsOf(edges.filter((edge) => edge.from === id || edge.to === id)));
    const rows = (known ?? []).map((/** @type {any} */ total) => ({ ...total, shown: Math.min(total.count, here.get(total.edge) ?? 0) }));
    // What is all there is listed below as what is shown.
    const isAll = rows.every((/** @type {any} */ row) => row.shown === row.count) && !opened.some((one) => one.id === id);
    if (!rows.length || isAll) return null;
    return html`<section><h2 class="side-title cut" title=${id}>Edges of ${shorten(id).split("/").at(-1)}</h2><ul class="expand">${rows.map((/** @type {any} */ row) => html`
        <${Row} key=${row.edge} id=${id} row=${row} opened=${opened} />`)}</ul></section>`;
}

/** @param {{id: string, row: {edge: string, count: number, shown: number}, opened: Opened[]}} props */
function Row({ id, row: { edge, count, shown }, opened }) {
    const isOpened = opened.some((one) => one.id === id && one.edge === edge);
    const others = opened.filter((one) => one.id !== id || one.edge !== edge);
    const toggle = () => setQuery({ open: (isOpened ? others : [...others, { edge, id }]).map(nameOf).join("\n") });
    const label = html`<span class="cut">${edgeName(edge)}</span>
        <span class="count">${shown < count ? `${number(shown)} of ${number(count)}` : number(count)}</span>`;
    if (!isOpened && shown === count) return html`<li class="expand-row" title="All of them are shown"><${Icon} name="check" />${label}</li>`;
    const what = isOpened ? "Remove again what was added" : `Add up to ${ADDED} of them to the picture`;
    return html`<li><button type="button" class="expand-row" aria-pressed=${isOpened} title=${what} onClick=${toggle}
        ><${Icon} name=${isOpened ? "close" : "plus"} />${label}</button></li>`;
}
