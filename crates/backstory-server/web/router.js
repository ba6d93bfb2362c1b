// Addresses: which screen is shown, and going to another without loading the page again.

import { signal } from "./parts/html.js";
import { beginEntry, continueEntry, leaveEntry, returnToEntry, startPlaces } from "./scroll.js";

/**
 * @typedef {{path: string, query: URLSearchParams, hash: string}} Place
 * @typedef {{name: string, label: string, prefix: string, load: () => Promise<any>}} Screen
 */

/** Every screen; the first whose prefix fits is shown. */
export const SCREENS = /** @type {Screen[]} */ ([
    { name: "search", label: "Search", prefix: "/ui/search", load: () => import("./pages/search.js") },
    { name: "file", label: "File", prefix: "/ui/file/", load: () => import("./pages/file.js") },
    { name: "why", label: "Trace", prefix: "/ui/why/", load: () => import("./pages/why.js") },
    { name: "item", label: "Item", prefix: "/ui/item/", load: () => import("./pages/item.js") },
    { name: "items", label: "Issues & requests", prefix: "/ui/items", load: () => import("./pages/items.js") },
    { name: "ask", label: "Ask", prefix: "/ui/ask", load: () => import("./pages/ask.js") },
    { name: "graph", label: "Graph", prefix: "/ui/graph", load: () => import("./pages/graph.js") },
    { name: "history", label: "History", prefix: "/ui/history", load: () => import("./pages/history.js") },
    { name: "people", label: "People", prefix: "/ui/people", load: () => import("./pages/people.js") },
    { name: "jobs", label: "Index & jobs", prefix: "/ui/jobs", load: () => import("./pages/jobs.js") },
    { name: "ranking", label: "Ranking", prefix: "/ui/ranking", load: () => import("./pages/ranking.js") },
    { name: "snapshots", label: "Snapshots", prefix: "/ui/snapshots", load: () => import("./pages/snapshots.js") },
    { name: "agents", label: "Connect an agent", prefix: "/ui/agents", load: () => import("./pages/agents.js") },
    { name: "projects", label: "Projects", prefix: "/", load: () => import("./pages/projects.js") },
]);

/** @returns {Place} */
function here() {
    return { path: location.pathname, query: new URLSearchParams(location.search), hash: location.hash.slice(1) };
}

/** Where the page is. */
export const place = signal(here());

/**
 * The screen at a path.
 * @param {string} path
 */
export function screenAt(path) {
    const fits = (/** @type {Screen} */ { prefix }) => {
        if (prefix === "/") return /^\/(ui\/?)?$/.test(path);
        return path === prefix || path.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`);
    };
    return SCREENS.find(fits) ?? null;
}

/**
 * What follows the prefix of a screen in the address, decoded.
 * @param {string} path
 * @param {string} prefix
 */
export function restOf(path, prefix) {
    const rest = path.slice(prefix.length).replace(/^\//, "");
    try {
        return decodeURIComponent(rest);
    } catch {
        return rest;
    }
}

/**
 * Goes to an address of the page.
 * @param {string} address
 * @param {{replace?: boolean, keepScroll?: boolean}} [options]
 */
export function go(address, options = {}) {
    const target = new URL(address, location.href);
    if (target.href === location.href) return;
    if (!options.replace) leaveEntry();
    if (options.replace) history.replaceState(history.state, "", target);
    else history.pushState(null, "", target);
    place.value = here();
    if (options.keepScroll) {
        if (!options.replace) continueEntry();
        return;
    }
    beginEntry();
    // Those who cannot see the page hear where they are.
    queueMicrotask(() => document.getElementById("main")?.focus({ preventScroll: true }));
}

/**
 * Changes parts of the query in the address; null removes one.
 * @param {Record<string, string | null | undefined>} changes
 * @param {{replace?: boolean}} [options]
 */
export function setQuery(changes, options = { replace: true }) {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === undefined || value === "") query.delete(name);
        else query.set(name, value);
    }
    const text = query.toString();
    go(location.pathname + (text ? `?${text}` : "") + location.hash, { ...options, keepScroll: true });
}

/**
 * Whether an address is one of a screen.
 * @param {URL} url
 */
function isScreen(url) {
    return url.origin === location.origin && (url.pathname === "/" || /^\/ui(\/(?!-\/)|$)/.test(url.pathname));
}

/** Follows links and the buttons of the browser. */
export function listen() {
    startPlaces();
    window.addEventListener("popstate", () => {
        place.value = here();
        // An entry without a name is new: a link within the page made it.
        if (history.state?.entry) returnToEntry();
        else continueEntry();
    });
    window.addEventListener("hashchange", () => {
        place.value = here();
    });
    document.addEventListener("click", (event) => {
        if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        const link = /** @type {Element} */ (event.target).closest?.("a[href]");
        if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute("download")) return;
        const url = new URL(link.href);
        if (!isScreen(url)) return;
        if (url.pathname === location.pathname && url.search === location.search && url.hash) return;
        event.preventDefault();
        go(url.href);
    });
}
