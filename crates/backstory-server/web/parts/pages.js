// Lists that are asked for page by page.

import { html, useState } from "./html.js";
import { Failed } from "./state.js";
import { ask } from "../api.js";

/** Lists whose further pages are kept, so that going back finds them. */
const KEPT = 12;
/** @type {Map<string, {after: string, pages: any[]}>} */
const kept = new Map();

/**
 * The pages of a list: the first one, and those that were asked for since.
 * @param {string} name of the use case
 * @param {any} first
 * @param {(pages: any[]) => any} next the request for the page behind these; null if they are all
 * @param {string} [mark] what tells the first page from another, where the request for the next one does not
 */
export function usePages(name, first, next, mark = "") {
    const after = `${JSON.stringify(next([first]))} ${mark}`;
    const key = `${name} ${after}`;
    const [more, setMore] = useState(() => ({ after, pages: kept.get(key)?.pages ?? [] }));
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState(/** @type {any} */ (null));
    // Behind another first page are other pages.
    const pages = [first, ...(more.after === after ? more.pages : [])];
    const request = next(pages);
    async function show() {
        if (busy || !request) return;
        setBusy(true);
        setError(null);
        try {
            const page = await ask(name, request);
            const shown = { after, pages: [...pages.slice(1), page] };
            kept.delete(key);
            kept.set(key, shown);
            const oldest = kept.keys().next();
            if (kept.size > KEPT && !oldest.done) kept.delete(oldest.value);
            setMore(shown);
        } catch (failure) {
            setError(failure);
        }
        setBusy(false);
    }
    return { pages, hasMore: request !== null, busy, error, show };
}

/**
 * What asks for the next page.
 * @param {{of: ReturnType<typeof usePages>, label?: string}} props
 */
export function More({ of, label = "Show more" }) {
    return html`${of.error && html`<${Failed} error=${of.error} />`}
        ${of.hasMore && html`<p class="more no-print"><button type="button" aria-disabled=${of.busy || undefined} onClick=${of.show}
            >${of.busy ? "Loading…" : label}</button></p>`}`;
}
