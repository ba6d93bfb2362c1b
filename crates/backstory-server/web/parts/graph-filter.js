// What of a neighborhood is shown: the edges of some types, the nodes that they lead to, and what was expanded.

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

/**
 * A type of edge and the node whose edges of it are expanded.
 * @typedef {{edge: string, id: string}} Opened
 */

/**
 * What the address says is expanded.
 * @param {URLSearchParams} query
 * @returns {Opened[]}
 */
export function openedIn(query) {
    const lines = (query.get("open") ?? "").split("\n").map((line) => /^(\w+) (.+)$/.exec(line));
    return lines.flatMap((line) => (line ? [{ edge: line[1] ?? "", id: line[2] ?? "" }] : []));
}

/**
 * What it is called in the address.
 * @param {Opened} one
 */
export function nameOf({ edge, id }) {
    return `${edge} ${id}`;
}

/**
 * A neighborhood with what was expanded.
 * @param {any} found
 * @param {string} center
 * @param {Opened[]} opened
 * @param {Map<string, any>} answers
 */
export function expanded(found, center, opened, answers) {
    const more = opened.flatMap((one) => (answers.has(nameOf(one)) ? [{ id: one.id, answer: answers.get(nameOf(one)) }] : []));
    if (!more.length) return found;
    const distances = new Map(found.neighbors.map((/** @type {any} */ one) => [one.id, one.distance]));
    const edges = new Map(found.edges.map((/** @type {any} */ edge) => [keyOf(edge), edge]));
    for (const { id, answer } of more) {
        const distance = (id === center ? 0 : (distances.get(id) ?? 1)) + 1;
        for (const one of answer.neighbors) if (one.id !== center && !distances.has(one.id)) distances.set(one.id, distance);
        for (const edge of answer.edges) edges.set(keyOf(edge), edge);
    }
    return {
        ...found,
        neighbors: [...distances].map(([id, distance]) => ({ id, distance })),
        edges: [...edges.values()],
        titles: Object.assign({}, found.titles, ...more.map(({ answer }) => answer.titles)),
        left_out: [...found.left_out, ...more.flatMap(({ id, answer }) => answer.left_out.map((/** @type {string} */ one) => `at ${id}: ${one}`))],
    };
}

/** @param {{from: string, edge: string, to: string}} edge */
function keyOf({ from, edge, to }) {
    return `${from}\n${edge}\n${to}`;
}
