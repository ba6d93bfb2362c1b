// What a search is narrowed to, as its address states it.

/** Parts of the address that narrow a search; `q` and `mode` are beside them. */
export const NARROWING = ["kind", "project", "author", "state", "label", "path", "language", "after", "before", "near", "exclude"];

/**
 * The filter that an address states.
 * @param {URLSearchParams} query
 */
export function filterOf(query) {
    return {
        kinds: list(query, "kind"),
        authors: list(query, "author"),
        labels: list(query, "label"),
        exclude: list(query, "exclude"),
        paths: list(query, "path"),
        languages: list(query, "language"),
        state: query.get("state") || null,
        project: query.get("project") || null,
        after: instant(query.get("after")),
        before: instant(query.get("before")),
    };
}

/**
 * What an address asks a search for, besides how many hits.
 * @param {URLSearchParams} query
 */
export function searchOf(query) {
    const text = query.get("q")?.trim() ?? "";
    return { query: text, filter: filterOf(query), near: list(query, "near"), mode: query.get("mode") ?? "hybrid" };
}

/**
 * @param {URLSearchParams} query
 * @param {string} name
 */
export function list(query, name) {
    return query.get(name)?.split(",").filter(Boolean) ?? [];
}

/** @param {string | null} day */
function instant(day) {
    return day && /^\d{4}-\d\d-\d\d$/.test(day) ? `${day}T00:00:00Z` : null;
}
