// What of a neighborhood is shown: the edges of some types, and the nodes that they lead to.

/**
 * How many edges of each type there are, the most first.
 * @param {{edge: string}[]} edges
 * @returns {[string, number][]}
 */
export function countsOf(edges) {
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const { edge } of edges) counts.set(edge, (counts.get(edge) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
}

/**
 * What the node in the middle is called in the answer: an address may name it shorter.
 * @param {string} id
 * @param {any} found
 */
export function centerOf(id, found) {
    const others = new Set(found.neighbors.map((/** @type {any} */ one) => one.id));
    const ends = found.edges.flatMap((/** @type {any} */ edge) => [edge.from, edge.to]);
    return ends.find((/** @type {string} */ end) => !others.has(end)) ?? id;
}

/**
 * A neighborhood with edges of some types only, and the nodes that are reached over them.
 * @param {string} center
 * @param {any} found
 * @param {string[]} types all if empty
 */
export function narrowed(center, found, types) {
    if (!types.length) return found;
    const edges = found.edges.filter((/** @type {any} */ one) => types.includes(one.edge));
    /** @type {Map<string, string[]>} */
    const beside = new Map();
    for (const { from, to } of edges) {
        beside.set(from, [...(beside.get(from) ?? []), to]);
        beside.set(to, [...(beside.get(to) ?? []), from]);
    }
    const reached = new Map([[center, 0]]);
    for (const [id, distance] of reached) {
        for (const next of beside.get(id) ?? []) if (!reached.has(next)) reached.set(next, distance + 1);
    }
    return {
        ...found,
        edges: edges.filter((/** @type {any} */ one) => reached.has(one.from) && reached.has(one.to)),
        neighbors: found.neighbors.filter((/** @type {any} */ one) => reached.has(one.id)),
    };
}
