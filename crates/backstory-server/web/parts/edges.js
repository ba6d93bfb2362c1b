// What edges of the graph are called.

/** @type {Record<string, string>} */
const EDGES = {
    MERGED_AS: "merged through",
    PART_OF: "part of",
    INTRODUCES: "written by",
    MODIFIES: "changed by",
    CLOSES: "closes",
    FIXES: "fixes",
    MENTIONS: "mentions",
    REFERENCES: "refers to",
    COMMENTS_ON: "discussed in",
    RELATES_TO: "related to",
    REPLACED_BY: "replaced by",
    REVERTS: "reverts",
    MERGED_BY: "merged by",
    CO_EVOLVES_WITH: "changes together with",
    VERIFIED_BY: "tested by",
    SHIPPED_IN: "shipped in",
};

/**
 * What edges are called that read the other way around above, seen from where they begin.
 * @type {Record<string, string>}
 */
const FORWARD = {
    MERGED_AS: "merged as",
    INTRODUCES: "introduced",
    MODIFIES: "changed",
    COMMENTS_ON: "about",
};

/**
 * What an edge is called between its start and its end.
 * @param {string} edge
 */
export function edgeForward(edge) {
    return FORWARD[edge] ?? edgeName(edge);
}

/**
 * What an edge is called in a sentence.
 * @param {string} edge
 */
export function edgeName(edge) {
    return EDGES[edge] ?? edge.toLowerCase().replaceAll("_", " ");
}
