// What the address of a file says, and what is asked of the server for it. It imports nothing: it is needed first.

const PREFIX = "/ui/file/";

/** @param {string} text */
function decode(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

/**
 * What an address says.
 * @param {string} path
 * @param {URLSearchParams} query
 * @param {string} hash
 */
export function locate(path, query, hash) {
    const rest = decode(path.slice(PREFIX.length));
    const cut = rest.indexOf("/-/");
    const project = cut < 0 ? rest.replace(/\/-?$/, "") : rest.slice(0, cut);
    const file = cut < 0 ? "" : rest.slice(cut + 3);
    const lines = /^L(\d+)(?:-L?(\d+))?$/.exec(hash);
    const first = lines ? Number(lines[1]) : 0;
    const selected = first ? { first, last: Math.max(first, Number(lines?.[2] ?? first)) } : null;
    const isDirectory = !file || file.endsWith("/");
    return { project, path: file, rev: query.get("rev"), selected, plain: query.get("blame") === "plain", isDirectory };
}

/**
 * The request for the file; null for a directory.
 * @param {ReturnType<typeof locate>} at
 */
export function requestAt({ project, path, rev, plain, isDirectory }) {
    return isDirectory ? null : { project, path, rev, lineage: true, symbols: true, plain, highlight: true };
}
