// Rows of a list that j and k go through: the link of the chosen row has the focus, so that Enter opens it.

import { useEffect, useRef, useState } from "./html.js";

/**
 * The list is to have `ref` and `onFocusCapture`; each row `data-row`, and its link the class `row-link`.
 * @param {number} total
 * @param {{more?: () => void}} [options] `more`: called where there is no next row
 */
export function useRows(total, { more } = {}) {
    const ref = useRef(/** @type {HTMLElement | null} */ (null));
    const [chosen, setChosen] = useState(-1);
    const [moves, setMoves] = useState(0);
    useEffect(() => {
        if (!moves) return;
        const row = ref.current?.querySelector(`[data-row="${chosen}"]`);
        row?.scrollIntoView({ block: "nearest" });
        /** @type {HTMLElement | null | undefined} */ (row?.querySelector(".row-link"))?.focus({ preventScroll: true });
    }, [moves]);
    return {
        ref,
        chosen,
        /** @param {number} step */
        move: (step) => {
            if (!total) return;
            if (chosen + step >= total) more?.();
            setChosen(Math.min(Math.max(chosen + step, 0), total - 1));
            setMoves(moves + 1);
        },
        /** @param {FocusEvent} event */
        onFocusCapture: (event) => {
            const row = /** @type {Element} */ (event.target).closest("[data-row]");
            if (row instanceof HTMLElement) setChosen(Number(row.dataset.row));
        },
    };
}
