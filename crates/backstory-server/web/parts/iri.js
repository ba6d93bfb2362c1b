// Names of nodes in the graph, as the server makes them (model/src/id/iri.rs), for queries that a reader takes along.

import { parse } from "./ref.js";

const NODE = "urn:backstory:node:";
/** Digits of a commit's full name; the graph has no other. */
const FULL = /^[0-9a-f]{40,64}$/;

/**
 * Escapes what an IRI cannot hold, and `%`; `/` stays.
 * @param {string} text
 */
function escape(text) {
    const bytes = new TextEncoder();
    const byte = (/** @type {number} */ value) => `%${value.toString(16).toUpperCase().padStart(2, "0")}`;
    return text.replace(/[^\p{Alphabetic}\p{N}/_.~@+,=-]/gu, (character) => [...bytes.encode(character)].map(byte).join(""));
}

/**
 * The same of one part of a path: `/` is escaped too.
 * @param {string} text
 */
function escapeSegment(text) {
    return escape(text).replaceAll("/", "%2F");
}

/**
 * The IRI of a node; null of a kind that is not made here, and of an abbreviated commit.
 * @param {string} id
 * @returns {string | null}
 */
export function iriOf(id) {
    const node = parse(id);
    const { path = "", name = "" } = node;
    const below = (/** @type {string} */ tail) => `${NODE}${escape(node.project)}/-/${tail}`;
    switch (node.kind) {
        case "project":
            return NODE + escape(id);
        case "issue":
            return below(`issues/${node.rest.slice(1)}`);
        case "merge_request":
            return below(`merge_requests/${node.rest.slice(1)}`);
        case "commit":
            return FULL.test(name) ? below(`commits/${name}`) : null;
        case "file":
            return below(`files/${escape(path)}`);
        case "entity":
            return below(`entities/${escape(path)}#${escapeSegment(name)}`);
        case "person":
            return `urn:backstory:person:${escapeSegment(id.slice(1))}`;
        case "ticket":
            return `urn:backstory:ticket:${escapeSegment(name)}`;
        default:
            return null;
    }
}
