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
 * What an edge is called in a sentence.
 * @param {string} edge
 */
export function edgeName(edge) {
    return EDGES[edge] ?? edge.toLowerCase().replaceAll("_", " ");
}
