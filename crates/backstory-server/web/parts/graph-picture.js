// A neighborhood as a picture: nodes that can be focused, dragged and opened, laid out by forces.

import { html, classes, useEffect, useMemo, useRef, useState } from "./html.js";
import { forceCenter, forceCollide, forceLink, forceManyBody, forceSimulation } from "../vendor/d3-force.js";
import { encode, kindName, parse, shorten } from "./ref.js";
import { go } from "../router.js";

/** Milliseconds of a frame in which the layout goes on. */
const FRAME = 8;
/** Below which the layout rests. */
const RESTING = 0.02;
/** Most nodes that all show their names. */
const MAX_NAMED = 80;
/** The same in a window of fewer pixels than that. */
const MAX_NAMED_NARROW = 12;
const NARROW = 640;
/** Longest name of a node, in characters. */
const MAX_NAME = 26;
/** Room for the name of the last node, and around all, in units of the picture. */
const NAME_WIDTH = 165;
const MARGIN = 24;
/** Where names begin to stand on the left of their nodes. */
const LEFT = -30;
/** Height of the picture by its width. */
const SHAPE = 0.62;

/** @typedef {{x: number, y: number, zoom: number}} View */

/**
 * @typedef {{id: string, x: number, y: number, fx?: number | null, fy?: number | null, kind: string, distance: number}} Spot
 * @param {{center: string, found: any, chosen: string | null, choose: (id: string) => void, onPath: Set<string>, project: string}} props
 */
export function GraphPicture({ center, found, chosen, choose, onPath, project }) {
    const { spots, links, simulation } = useLayout(center, found);
    const [, draw] = useState(0);
    const [moved, setView] = useState(/** @type {View | null} */ (null));
    const view = moved ?? fitting(spots);
    const svg = useRef(/** @type {SVGSVGElement | null} */ (null));
    const drag = useRef(/** @type {any} */ (null));
    const own = useRef(moved);
    own.current = moved;
    useEffect(() => {
        let frame = 0;
        const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
        const step = () => {
            const end = performance.now() + FRAME;
            do simulation.tick();
            while (simulation.alpha() > RESTING && performance.now() < end);
            const isResting = simulation.alpha() <= RESTING;
            if (isResting) draw((count) => count + 1);
            else if (!isStill && svg.current) moveTo(svg.current, spots, links, own.current ?? fitting(spots));
            if (!isResting) frame = requestAnimationFrame(step);
        };
        frame = requestAnimationFrame(step);
        return () => cancelAnimationFrame(frame);
    }, [simulation]);
    /** @param {PointerEvent} event */
    function move(event) {
        if (!drag.current) return;
        const { spot, x, y } = drag.current;
        const scale = 800 / (svg.current?.clientWidth ?? 800) / view.zoom;
        if (spot) {
            spot.x += (event.clientX - x) * scale;
            spot.y += (event.clientY - y) * scale;
            draw((count) => count + 1);
        } else setView({ ...view, x: view.x - (event.clientX - x) * scale, y: view.y - (event.clientY - y) * scale });
        drag.current = { spot, x: event.clientX, y: event.clientY };
    }
    const isNamed = spots.length <= (window.innerWidth < NARROW ? MAX_NAMED_NARROW : MAX_NAMED);
    // One node is a stop of the tab key; arrows lead to the others.
    const stop = chosen && spots.some((spot) => spot.id === chosen) ? chosen : center;
    /**
     * @param {KeyboardEvent} event
     * @param {string} id
     * @param {number} number
     */
    function press(event, id, number) {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (event.key === "Enter" || event.key === " ") choose(id);
        if (step) /** @type {SVGElement | undefined} */ (svg.current?.querySelectorAll(".node")[(number + step + spots.length) % spots.length])?.focus();
        if (step || event.key === " ") event.preventDefault();
    }
    const near = new Set(links.filter((link) => link.source.id === chosen || link.target.id === chosen));
    return html`<svg ref=${svg} class="graph" viewBox=${viewBox(view)} role="group" aria-label=${`Graph around ${center}`} aria-busy=${simulation.alpha() > RESTING}
            onPointerDown=${(/** @type {PointerEvent} */ event) => (drag.current = { x: event.clientX, y: event.clientY })}
            onPointerMove=${move} onPointerUp=${() => (drag.current = null)} onPointerLeave=${() => (drag.current = null)}
            onWheel=${(/** @type {WheelEvent} */ event) => {
                if (!event.ctrlKey && !event.metaKey) return;
                event.preventDefault();
                setView({ ...view, zoom: Math.min(4, Math.max(0.3, view.zoom * (event.deltaY < 0 ? 1.15 : 0.87))) });
            }}>
        <g>${links.map((link) => html`<line class=${classes("edge", near.has(link) && "near")} x1=${link.source.x} y1=${link.source.y} x2=${link.target.x} y2=${link.target.y}><title>${link.title}</title></line>`)}</g>
        ${spots.map((spot, number) => html`<g class=${classes("node", spot.id === center && "center", spot.id === chosen && "chosen", onPath.has(spot.id) && "on-path")} transform=${`translate(${spot.x},${spot.y})`}
            tabindex=${spot.id === stop ? 0 : -1} role="button" aria-pressed=${spot.id === chosen} aria-label=${`${name(spot.id, project)}, ${kindName(spot.kind)} ${spot.id}`} key=${spot.id}
            onPointerDown=${(/** @type {PointerEvent} */ event) => { event.stopPropagation(); drag.current = { spot, x: event.clientX, y: event.clientY }; }}
            onClick=${() => choose(spot.id)} onDblClick=${() => go(`/ui/graph/${encode(spot.id)}`)}
            onKeyDown=${(/** @type {KeyboardEvent} */ event) => press(event, spot.id, number)}>
            <circle r=${spot.id === center ? 10 : 7} class=${`kind-dot-${spot.kind}`} />
            ${(isNamed || spot.id === center || spot.id === chosen) && html`<text x=${spot.x < LEFT ? -11 : 11} y="4" text-anchor=${spot.x < LEFT ? "end" : "start"}>${name(spot.id, project)}</text>`}<title>${spot.id}</title></g>`)}
    </svg>
    <p class="muted small no-print">Click a node to choose it, double-click to go on from it, drag to move, <kbd>Ctrl</kbd> and the wheel to zoom. Arrow keys go from node to node.</p>`;
}

/** @param {View} view */
function viewBox(view) {
    const half = 400 / view.zoom;
    return `${view.x - half} ${view.y - half * SHAPE} ${half * 2} ${half * 2 * SHAPE}`;
}

/**
 * Puts nodes and edges where they are, without drawing them again: this is done in every frame.
 * @param {SVGSVGElement} svg
 * @param {Spot[]} spots
 * @param {{source: Spot, target: Spot}[]} links
 * @param {View} view
 */
function moveTo(svg, spots, links, view) {
    svg.setAttribute("viewBox", viewBox(view));
    svg.querySelectorAll(".edge").forEach((line, number) => {
        const link = links[number];
        if (!link) return;
        line.setAttribute("x1", String(link.source.x));
        line.setAttribute("y1", String(link.source.y));
        line.setAttribute("x2", String(link.target.x));
        line.setAttribute("y2", String(link.target.y));
    });
    svg.querySelectorAll(".node").forEach((node, number) => {
        const spot = spots[number];
        if (spot) node.setAttribute("transform", `translate(${spot.x},${spot.y})`);
    });
}

/**
 * What shows all nodes.
 * @param {Spot[]} spots
 * @returns {View}
 */
function fitting(spots) {
    const [left, right] = [Math.min(...spots.map((spot) => spot.x)) - NAME_WIDTH, Math.max(...spots.map((spot) => spot.x)) + NAME_WIDTH];
    const [top, bottom] = [Math.min(...spots.map((spot) => spot.y)), Math.max(...spots.map((spot) => spot.y))];
    const width = Math.max(right - left, (bottom - top) / SHAPE) + 2 * MARGIN;
    return { x: (left + right) / 2, y: (top + bottom) / 2, zoom: Math.min(1.3, 800 / width) };
}

/**
 * @param {string} id
 * @param {string} project
 */
function name(id, project) {
    const text = shorten(id, project);
    return text.length > MAX_NAME ? `…${text.slice(1 - MAX_NAME)}` : text;
}

/**
 * Places for nodes.
 * @param {string} center
 * @param {any} found
 */
function useLayout(center, found) {
    return useMemo(() => {
        const ids = new Map([[center, 0], ...found.neighbors.map((/** @type {any} */ one) => [one.id, one.distance])]);
        for (const edge of found.edges) for (const end of [edge.from, edge.to]) if (!ids.has(end)) ids.set(end, 1);
        /** @type {Spot[]} */
        const spots = [...ids].map(([id, distance], number) => {
            const angle = number * 2.39996;
            return { id, distance, kind: parse(id).kind, x: Math.cos(angle) * distance * 110, y: Math.sin(angle) * distance * 110 };
        });
        const middle = spots[0];
        if (middle) Object.assign(middle, { fx: 0, fy: 0 });
        const links = found.edges.map((/** @type {any} */ edge) => ({ source: edge.from, target: edge.to, title: `${edge.from} ${edge.edge} ${edge.to}` }));
        const crowd = Math.min(1, 60 / spots.length);
        const simulation = forceSimulation(spots)
            .force("link", forceLink(links).id((/** @type {any} */ spot) => spot.id).distance(70 + 60 * crowd).strength(0.4))
            .force("charge", forceManyBody().strength(-90 - 160 * crowd))
            .force("collide", forceCollide(spots.length <= MAX_NAMED ? 22 : 14))
            .force("center", forceCenter(0, 0).strength(0.05))
            .stop();
        return { spots, links: /** @type {{source: Spot, target: Spot, title: string}[]} */ (links), simulation };
    }, [center, found]);
}
