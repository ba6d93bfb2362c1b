// Where nodes of a picture are: laid out by forces, and moved in frames.

import { useMemo, useRef } from "./html.js";
import { forceCenter, forceCollide, forceLink, forceManyBody, forceSimulation } from "../vendor/d3-force.js";
import { parse } from "./ref.js";

/** Milliseconds of a frame in which the layout goes on. */
const FRAME = 8;
/** Below which the layout rests. */
export const RESTING = 0.02;
/** Most nodes that all show their names. */
export const MAX_NAMED = 80;
/** Room for the name of the last node, and around all, in units of the picture. */
const NAME_WIDTH = 165;
const MARGIN = 24;
/** Width of the picture at zoom 1, in its units, and its height by its width. */
const WIDTH = 800;
const SHAPE = 0.62;

/** @typedef {{x: number, y: number, zoom: number}} View */

/**
 * @typedef {{id: string, x: number, y: number, fx?: number | null, fy?: number | null, kind: string, distance: number}} Spot
 * @typedef {{source: Spot, target: Spot, title: string}} Link
 */

/**
 * Places for nodes. Those that were there before stay where they were.
 * @param {string} center
 * @param {any} found
 */
export function useLayout(center, found) {
    const known = useRef(/** @type {Map<string, Spot>} */ (new Map()));
    return useMemo(() => {
        const ids = new Map([[center, 0], ...found.neighbors.map((/** @type {any} */ one) => [one.id, one.distance])]);
        for (const edge of found.edges) for (const end of [edge.from, edge.to]) if (!ids.has(end)) ids.set(end, 1);
        /** @type {Spot[]} */
        const spots = [...ids].map(([id, distance], number) => {
            const angle = number * 2.39996;
            const { x, y } = known.current.get(id) ?? { x: Math.cos(angle) * distance * 110, y: Math.sin(angle) * distance * 110 };
            return { id, distance, kind: parse(id).kind, x, y };
        });
        for (const spot of spots) known.current.set(spot.id, spot);
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
        return { spots, links: /** @type {Link[]} */ (links), simulation };
    }, [center, found]);
}

/**
 * Lets a layout move until it rests.
 * @param {any} simulation
 * @param {() => void} rest called when it rests
 * @param {() => void} move called in each frame before
 * @returns {() => void} what ends it
 */
export function run(simulation, rest, move) {
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let frame = requestAnimationFrame(step);
    function step() {
        const end = performance.now() + FRAME;
        do simulation.tick();
        while (simulation.alpha() > RESTING && performance.now() < end);
        if (simulation.alpha() <= RESTING) return rest();
        if (!isStill) move();
        frame = requestAnimationFrame(step);
    }
    return () => cancelAnimationFrame(frame);
}

/** @param {View} view */
export function viewBox(view) {
    const half = WIDTH / 2 / view.zoom;
    return `${view.x - half} ${view.y - half * SHAPE} ${half * 2} ${half * 2 * SHAPE}`;
}

/**
 * Puts nodes and edges where they are, without drawing them again: this is done in every frame.
 * @param {SVGSVGElement} svg
 * @param {Spot[]} spots
 * @param {Link[]} links
 * @param {View} view
 */
export function moveTo(svg, spots, links, view) {
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
export function fitting(spots) {
    const [left, right] = [Math.min(...spots.map((spot) => spot.x)) - NAME_WIDTH, Math.max(...spots.map((spot) => spot.x)) + NAME_WIDTH];
    const [top, bottom] = [Math.min(...spots.map((spot) => spot.y)), Math.max(...spots.map((spot) => spot.y))];
    const width = Math.max(right - left, (bottom - top) / SHAPE) + 2 * MARGIN;
    return { x: (left + right) / 2, y: (top + bottom) / 2, zoom: Math.min(1.3, WIDTH / width) };
}
