// Long lists that are drawn bit by bit, so that the page answers meanwhile.

import { useEffect, useState } from "./html.js";

/** Milliseconds until more is drawn where a browser does not say when it is idle. */
const PAUSE = 16;

/**
 * How many of all are drawn: more each time that the browser is idle.
 * @param {number} total
 * @param {{first: number, step?: number, needed?: number}} options `needed`: drawn at once, as the reader goes there
 */
export function useGrowing(total, { first, step = first, needed = 0 }) {
    const [drawn, setDrawn] = useState(first);
    useEffect(() => {
        if (drawn >= total) return;
        const later = window.requestIdleCallback ?? ((/** @type {() => void} */ work) => window.setTimeout(work, PAUSE));
        const cancel = window.cancelIdleCallback ?? window.clearTimeout;
        const handle = later(() => setDrawn((drawn) => drawn + step));
        return () => cancel(handle);
    }, [drawn, total]);
    return Math.max(drawn, needed);
}
