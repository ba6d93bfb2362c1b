// A neighborhood as a picture: nodes that can be focused, dragged and opened, laid out by forces.

import { html, classes, useEffect, useRef, useState } from "./html.js";
import { Icon } from "./icons.js";
import { MAX_NAMED, RESTING, fitting, moveTo, run, useLayout, viewBox } from "./graph-layout.js";
import { encode, kindName, parse, shorten } from "./ref.js";
import { keyNames } from "../keys.js";
import { go } from "../router.js";

/** Most neighbors of a chosen node that show their names where not all do. */
const MAX_NEAR = 40;
/** Most nodes that all show their names in a window of fewer pixels than that. */
const MAX_NAMED_NARROW = 12;
const NARROW = 640;
/** Longest name of a node, in characters. */
const MAX_NAME = 28;
/** Where names begin to stand on the left of their nodes. */
const LEFT = -30;
/** Sizes of nodes, and of the tips of arrows. */
const RADIUS = 7;
const CENTER_RADIUS = 10;
const TIP = 7;
/** How far a picture can be zoomed, and how far in one step. */
const LEAST_ZOOM = 0.3;
const MOST_ZOOM = 4;
const ZOOM = 1.3;
/** Pixels that a pointer moves in a click at most; more is a drag. */
const CLICK = 4;
/** Kinds in the order of the legend. */
const KINDS = ["issue", "merge_request", "commit", "discussion", "file", "entity", "person"];

/** @typedef {import("./graph-layout.js").Spot} Spot */
/** @typedef {import("./graph-layout.js").Link} Link */
/** @typedef {import("./graph-layout.js").View} View */

/**
 * @param {{center: string, found: any, titles: Record<string, string>, chosen: string | null, choose: (id: string) => void,
 *   onPath: Set<string>, project: string}} props
 */
export function GraphPicture({ center, found, titles, chosen, choose, onPath, project }) {
    const { spots, links, simulation } = useLayout(center, found);
    const [, draw] = useState(0);
    const [moved, setView] = useState(/** @type {View | null} */ (null));
    const view = moved ?? fitting(spots);
    const svg = useRef(/** @type {SVGSVGElement | null} */ (null));
    const own = useRef(moved);
    own.current = moved;
    useEffect(() => run(simulation, () => draw((count) => count + 1), () => {
        if (svg.current) moveTo(svg.current, spots, links, own.current ?? fitting(spots));
    }), [simulation]);
    const drag = useDrag(svg, view, setView, () => draw((count) => count + 1));
    const zoom = (/** @type {number} */ factor) => setView({ ...view, zoom: Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, view.zoom * factor)) });
    /** @param {WheelEvent} event */
    function wheel(event) {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        zoom(event.deltaY < 0 ? 1.15 : 0.87);
    }
    /**
     * @param {KeyboardEvent} event
     * @param {string} id
     * @param {number} number
     */
    function press(event, id, number) {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (event.key === "Enter" || event.key === " ") choose(id);
        const next = step && svg.current?.querySelectorAll(".node")[(number + step + spots.length) % spots.length];
        if (next instanceof SVGElement) next.focus();
        if (step || event.key === " ") event.preventDefault();
    }
    // One node is a stop of the tab key; arrows lead to the others.
    const stop = chosen && spots.some((spot) => spot.id === chosen) ? chosen : center;
    const near = new Set(links.filter((link) => link.source.id === chosen || link.target.id === chosen));
    const isNamed = namedOf(spots, [...near], center, chosen);
    return html`<div class="graph-box"><svg ref=${svg} class=${classes("graph", moved && "moved")} viewBox=${viewBox(view)} role="group"
            aria-label=${`Graph around ${center}`} aria-busy=${simulation.alpha() > RESTING} ...${drag.picture} onWheel=${wheel}>
        <defs>${[RADIUS, CENTER_RADIUS].map((radius) => html`<${Arrow} radius=${radius} /><${Arrow} radius=${radius} near />`)}</defs>
        <g>${links.map((link) => html`<${Edge} link=${link} radius=${link.target.id === center ? CENTER_RADIUS : RADIUS} isNear=${near.has(link)}
            isOnPath=${onPath.has(link.source.id) && onPath.has(link.target.id)} />`)}</g>
        ${spots.map((spot, number) => html`<g key=${spot.id} transform=${`translate(${spot.x},${spot.y})`} role="button"
            class=${classes("node", spot.id === center && "center", spot.id === chosen && "chosen", onPath.has(spot.id) && "on-path")}
            tabindex=${spot.id === stop ? 0 : -1} aria-pressed=${spot.id === chosen}
            aria-label=${`${nameOf(spot.id, project, titles)}, ${kindName(spot.kind)} ${spot.id}`}
            onPointerDown=${(/** @type {PointerEvent} */ event) => drag.begin(event, spot)} onClick=${() => drag.isClick() && choose(spot.id)}
            onDblClick=${() => go(`/ui/graph/${encode(spot.id)}`)} onKeyDown=${(/** @type {KeyboardEvent} */ event) => press(event, spot.id, number)}>
            <circle r=${spot.id === center ? CENTER_RADIUS : RADIUS} class=${`kind-dot-${spot.kind}`} />
            ${isNamed(spot.id) && html`<${Name} text=${nameOf(spot.id, project, titles)} isLeft=${spot.x < LEFT}
                at=${(spot.id === center ? CENTER_RADIUS : RADIUS) + 4} />`}
            <title>${titles[spot.id] ? `${titles[spot.id]} · ${spot.id}` : spot.id}</title></g>`)}
    </svg>
    <div class="graph-zoom no-print" role="group" aria-label="Zoom">
        <${Zoom} label="Zoom in" icon="zoom_in" run=${() => zoom(ZOOM)} /><${Zoom} label="Zoom out" icon="zoom_out" run=${() => zoom(1 / ZOOM)} />
        <${Zoom} label="Show all" icon="fit" run=${() => setView(null)} /></div></div>
    <p class="muted small no-print">Click a node to choose it, double-click to explore from it, drag to move, <kbd>${keyNames("Ctrl")[0]}</kbd> and the wheel
        ${" "}to zoom. Arrow keys go from node to node.</p>`;
}

/** @param {{label: string, icon: string, run: () => void}} props */
function Zoom({ label, icon, run }) {
    return html`<button type="button" class="small" title=${label} onClick=${run}><${Icon} name=${icon} /><span class="hidden">${label}</span></button>`;
}

/** @param {{text: string, isLeft: boolean, at: number}} props */
function Name({ text, isLeft, at }) {
    return html`<text x=${isLeft ? -at : at} y="4" text-anchor=${isLeft ? "end" : "start"}>${text}</text>`;
}

/**
 * The tip of an arrow that ends at a node of that size.
 * @param {{radius: number, near?: boolean}} props
 */
function Arrow({ radius, near = false }) {
    const size = { markerWidth: TIP, markerHeight: TIP, viewBox: `0 0 ${TIP} ${TIP}`, refY: TIP / 2, refX: TIP + radius + 1 };
    return html`<marker id=${`arrow-${radius}${near ? "-near" : ""}`} class=${near ? "near" : ""} ...${size} markerUnits="userSpaceOnUse" orient="auto"
        ><path d=${`M0 0l${TIP} ${TIP / 2}l-${TIP} ${TIP / 2}z`} /></marker>`;
}

/** @param {{link: Link, radius: number, isNear: boolean, isOnPath: boolean}} props `radius`: that of the node where it ends */
function Edge({ link: { source, target, title }, radius, isNear, isOnPath }) {
    return html`<line class=${classes("edge", isNear && "near", isOnPath && "on-path")} x1=${source.x} y1=${source.y} x2=${target.x} y2=${target.y}
        marker-end=${`url(#arrow-${radius}${isNear ? "-near" : ""})`}><title>${title}</title></line>`;
}

/**
 * What the colors of nodes mean.
 * @param {{center: string, found: any}} props
 */
export function GraphLegend({ center, found }) {
    const kinds = new Set([parse(center).kind, ...found.neighbors.map((/** @type {any} */ one) => parse(one.id).kind)]);
    const shown = [...KINDS.filter((kind) => kinds.has(kind)), ...[...kinds].filter((kind) => !KINDS.includes(kind))];
    return html`<section><h2 class="side-title">Nodes</h2><ul class="graph-legend small">${shown.map((kind) => html`<li>
        <svg class="graph-dot" width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true"><circle r="5" class=${`kind-dot-${kind}`} /></svg>
        ${kindName(kind)}</li>`)}</ul></section>`;
}

/**
 * Which nodes show their names: all, if there are few; else the middle, what is chosen and its neighbors.
 * @param {Spot[]} spots
 * @param {Link[]} near
 * @param {string} center
 * @param {string | null} chosen
 * @returns {(id: string) => boolean}
 */
function namedOf(spots, near, center, chosen) {
    if (spots.length <= (window.innerWidth < NARROW ? MAX_NAMED_NARROW : MAX_NAMED)) return () => true;
    const named = new Set(near.slice(0, MAX_NEAR).flatMap((link) => [link.source.id, link.target.id]));
    return (id) => id === center || id === chosen || named.has(id);
}

/**
 * Dragging nodes and the picture.
 * @param {{current: SVGSVGElement | null}} svg
 * @param {View} view
 * @param {(view: View) => void} setView
 * @param {() => void} draw
 */
function useDrag(svg, view, setView, draw) {
    const drag = useRef(/** @type {{spot: Spot | null, x: number, y: number} | null} */ (null));
    const far = useRef(0);
    /**
     * @param {PointerEvent} event
     * @param {Spot | null} spot
     */
    function begin(event, spot) {
        event.stopPropagation();
        far.current = 0;
        drag.current = { spot, x: event.clientX, y: event.clientY };
    }
    /** @param {PointerEvent} event */
    function move(event) {
        if (!drag.current) return;
        const { spot, x, y } = drag.current;
        // The picture fits its box in one direction only; this is what it is drawn by in both.
        const scale = 1 / (svg.current?.getScreenCTM()?.a || 1);
        const [right, down] = [(event.clientX - x) * scale, (event.clientY - y) * scale];
        far.current += Math.abs(event.clientX - x) + Math.abs(event.clientY - y);
        if (spot) {
            if (far.current > CLICK) Object.assign(spot, { x: spot.x + right, y: spot.y + down, fx: spot.x + right, fy: spot.y + down });
            // The rest of the picture stays where it is.
            setView(view);
            draw();
        } else setView({ ...view, x: view.x - right, y: view.y - down });
        drag.current = { spot, x: event.clientX, y: event.clientY };
    }
    const end = () => (drag.current = null);
    return {
        begin,
        isClick: () => far.current <= CLICK,
        picture: {
            onPointerDown: (/** @type {PointerEvent} */ event) => begin(event, null),
            onPointerMove: move,
            onPointerUp: end,
            onPointerLeave: end,
            onPointerCancel: end,
        },
    };
}

/**
 * What a node is called in the picture: what it is referred to by, and its title if that is known.
 * @param {string} id
 * @param {string} project
 * @param {Record<string, string>} titles
 */
function nameOf(id, project, titles) {
    const { kind } = parse(id);
    const title = titles[id];
    const isNumbered = kind === "issue" || kind === "merge_request";
    if (title) return cut(isNumbered ? `${shorten(id, project)} ${title}` : title, "end");
    return cut(shorten(id, project), "start");
}

/**
 * @param {string} text
 * @param {"start" | "end"} where what is left out
 */
function cut(text, where) {
    if (text.length <= MAX_NAME) return text;
    return where === "end" ? `${text.slice(0, MAX_NAME - 1).trimEnd()}…` : `…${text.slice(1 - MAX_NAME)}`;
}
