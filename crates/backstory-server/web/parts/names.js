// What people are called whom only addresses or user names stand for.

import { useEffect, useState } from "./html.js";
import { shorten } from "./ref.js";
import { post, sendForJson } from "../api.js";

const NAMES = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Person { id name } } }";
/** @type {Map<string, string>} */
const known = new Map();

/**
 * The same of authors, whose user names are known as they are.
 * @param {(string | null | undefined)[]} authors
 * @returns {(author: string) => string}
 */
export function useAuthors(authors) {
    const nameOf = useNames([...new Set(authors.filter((author) => author?.includes("@")).map((author) => `@${author}`))]);
    return (author) => (author.includes("@") ? nameOf(`@${author}`) : author);
}

/**
 * Names of people, as far as they are known: of others, what they are referred to by.
 * @param {string[]} ids
 * @returns {(id: string) => string}
 */
export function useNames(ids) {
    const [, setCount] = useState(0);
    const missing = ids.filter((id) => !known.has(id));
    const wanted = missing.join("\n");
    useEffect(() => {
        if (!wanted) return;
        const abort = new AbortController();
        const take = (/** @type {Map<string, string>} */ names) => {
            for (const id of missing) known.set(id, names.get(id) ?? shorten(id));
            if (!abort.signal.aborted) setCount((count) => count + 1);
        };
        // Without names, people are shown as they were.
        namesOf(missing, abort.signal).then(take, () => {});
        return () => abort.abort();
    }, [wanted]);
    return (id) => known.get(id) ?? shorten(id);
}

/**
 * What people are called, which only GraphQL tells of several at once.
 * @param {string[]} ids
 * @param {AbortSignal} [abort]
 * @returns {Promise<Map<string, string>>}
 */
async function namesOf(ids, abort) {
    const body = await sendForJson("/graphql", post({ query: NAMES, variables: { ids } }, abort));
    return new Map((body?.data?.nodes ?? []).filter((/** @type {any} */ one) => one?.name).map((/** @type {any} */ one) => [one.id, one.name]));
}
