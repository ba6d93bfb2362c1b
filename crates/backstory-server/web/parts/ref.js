// References to nodes: `acme/shop!7`, `acme/shop@1a2b3c4`, `acme/shop:src/a.rs`, `@alice`, `^PROJ-77`; what they are and where
// they lead.

import { html, classes } from "./html.js";
import { Icon, hasIcon } from "./icons.js";

/**
 * @typedef {{id: string, kind: string, project: string, rest: string, path?: string, name?: string, thread?: string}} Node
 */

/**
 * Takes a reference apart.
 * @param {string} id
 * @returns {Node}
 */
export function parse(id) {
    if (id.startsWith("@")) return { id, kind: "person", project: "", rest: id };
    if (id.startsWith("^")) return { id, kind: "ticket", project: "", rest: id, name: id.slice(1) };
    const match = /^(.[^#!:@~%]*)([#!:@~%])(.*)$/s.exec(id);
    if (!match) return { id, kind: "project", project: id, rest: id };
    const [, project = "", mark = "", rest = ""] = match;
    const node = { id, project, rest: mark + rest };
    if (mark === "#" || mark === "!") return { ...node, ...threadPart(id, project, mark, rest) };
    if (mark === ":") return { ...node, ...filePart(rest) };
    if (mark === "~") return { ...node, kind: "label", name: rest };
    if (mark === "%") return { ...node, kind: "milestone" };
    if (rest.startsWith("refs/heads/")) return { ...node, kind: "branch", name: rest.slice(11) };
    if (rest.startsWith("refs/tags/")) return { ...node, kind: "tag", name: rest.slice(10) };
    return { ...node, kind: rest.includes("~") ? "design_note" : "commit", name: rest.split("~")[0] };
}

/**
 * @param {string} id
 * @param {string} project
 * @param {string} mark
 * @param {string} rest
 */
function threadPart(id, project, mark, rest) {
    const number = /^\d+/.exec(rest)?.[0] ?? "";
    const thread = `${project}${mark}${number}`;
    if (rest.includes("#note_")) return { kind: "note", thread, name: rest.split("#note_")[1] };
    if (rest.includes("~")) return { kind: "discussion", thread, name: rest.split("~")[1] };
    return { kind: mark === "#" ? "issue" : "merge_request", thread: id };
}

/** @param {string} rest */
function filePart(rest) {
    const plain = (/** @type {string} */ text) => text.replaceAll("%23", "#").replaceAll("%7E", "~").replaceAll("%25", "%");
    // A name may have the mark too, as that of a private field: src/a.js#Cart.#count.
    const end = rest.indexOf("#");
    if (end >= 0) return { kind: "entity", path: plain(rest.slice(0, end)), name: rest.slice(end + 1) };
    const note = /^(.*)~(\d+)$/s.exec(rest);
    if (note) return { kind: "design_note", path: plain(note[1] ?? ""), name: note[2] };
    return { kind: "file", path: plain(rest) };
}

/**
 * A path as it stands in a reference, in which it can be told from what follows it.
 * @param {string} path
 */
export function escapePath(path) {
    return path.replaceAll("%", "%25").replaceAll("#", "%23").replace(/~(?=\d+$)/, "%7E");
}

/**
 * Whether a text that somebody entered is a reference, and no name: `std::vec` is none.
 * @param {string} text
 */
export function isReference(text) {
    return /^(@|\^)\S/.test(text) || /^[^\s#!:@~%]+([#!@~%]|:(?!:))\S/.test(text);
}

/**
 * A text as parts of an address.
 * @param {string} text
 */
export function encode(text) {
    return text.split("/").map(encodeURIComponent).join("/").replaceAll("%3A", ":").replaceAll("%40", "@");
}

/**
 * Where a file is shown.
 * @param {string} project
 * @param {string} path
 * @param {{rev?: string | null, lines?: [number, number] | null, plain?: boolean}} [options] `plain`: blamed as git blame -w does
 */
export function fileAddress(project, path, options = {}) {
    const parameters = new URLSearchParams();
    if (options.rev) parameters.set("rev", options.rev);
    if (options.plain) parameters.set("blame", "plain");
    const query = parameters.size ? `?${parameters}` : "";
    const lines = options.lines;
    const hash = lines ? `#L${lines[0]}${lines[1] > lines[0] ? `-${lines[1]}` : ""}` : "";
    return `/ui/file/${encode(project)}/-/${encode(path)}${query}${hash}`;
}

/**
 * A path with its first and last line, as commands take it: `src/a.rs:5`, `src/a.rs:5-9`.
 * @param {string} path
 * @param {[number, number] | null | undefined} lines
 */
export function formatPlace(path, lines) {
    if (!lines) return path;
    return `${path}:${lines[0]}${lines[1] > lines[0] ? `-${lines[1]}` : ""}`;
}

/**
 * Where a node is shown.
 * @param {string} id
 */
export function addressOf(id) {
    const node = parse(id);
    switch (node.kind) {
        case "issue":
        case "merge_request":
        case "commit":
            return `/ui/item/${encode(id)}`;
        case "discussion":
            return `/ui/item/${encode(node.thread ?? id)}#d-${node.name}`;
        case "note":
            return `/ui/item/${encode(node.thread ?? id)}#note_${node.name}`;
        case "file":
            return fileAddress(node.project, node.path ?? "");
        case "entity":
            return `/ui/history/${encode(id)}`;
        case "design_note":
            return node.path
                ? fileAddress(node.project, node.path, { lines: [Number(node.name), Number(node.name)] })
                : `/ui/item/${encode(`${node.project}@${node.name}`)}`;
        case "label":
            return `/ui/items?project=${encodeURIComponent(node.project)}&label=${encodeURIComponent(node.name ?? "")}`;
        case "person":
            return `/ui/people/${encode(id)}`;
        case "project":
            return `/ui/file/${encode(node.project)}/-/`;
        default:
            return `/ui/graph/${encode(id)}`;
    }
}

/**
 * What a kind is called.
 * @param {string} kind
 */
export function kindName(kind) {
    /** @type {Record<string, string>} */
    const names = { entity: "symbol", code: "symbol", section: "document" };
    return names[kind] ?? kind.replaceAll("_", " ");
}

/**
 * A reference without what its surroundings say.
 * @param {string} id
 * @param {string} [project] the project that the surroundings are about
 * @returns {string}
 */
export function shorten(id, project) {
    const node = parse(id);
    const prefix = node.project && node.project !== project ? node.project : "";
    if (node.kind === "commit") return `${prefix && `${prefix}@`}${(node.name ?? "").slice(0, 8)}`;
    if (node.kind === "file") return `${prefix && `${prefix}:`}${node.path}`;
    if (node.kind === "entity") return `${node.name}`;
    if (node.kind === "branch" || node.kind === "tag") return node.name ?? id;
    if (node.kind === "discussion") return `${shorten(node.thread ?? id, project)} discussion`;
    if (node.kind === "note") return `${shorten(node.thread ?? id, project)} note`;
    if (node.kind === "ticket") return node.name ?? id;
    // An address has the mark already.
    if (node.kind === "person") return id.indexOf("@", 1) > 0 ? id.slice(1) : id;
    if (node.kind === "project") return id;
    return prefix + node.rest;
}

/**
 * A link to a node, with its icon.
 * @param {{id: string, project?: string, title?: string | any[] | null, icon?: boolean, class?: string}} props
 */
export function Ref({ id, project, title, icon = true, class: className }) {
    const node = parse(id);
    return html`<a class=${classes("ref", `kind-${node.kind}`, title && "titled", className)} href=${addressOf(id)} title=${`${kindName(node.kind)} ${id}`}
        >${icon && hasIcon(node.kind) && html`<${Icon} name=${node.kind} />`}<span>${title ?? shorten(id, project)}</span></a>`;
}
