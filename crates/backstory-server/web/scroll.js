// Where the reader was on each page of the browser's history, so that going back leads there again.

/** What the places are kept under, for when the page is loaded again, and most of them. */
const STORE = "backstory.places";
const KEPT = 100;
/** Milliseconds in which what is above a place must have been drawn; then the page stays where it is. */
const PATIENCE = 8000;

/** @type {Map<string, number>} */
const places = new Map();
/** The entry of the history that is shown. */
let current = "";
/** What ends bringing a place into view, while that is done. */
let stop = /** @type {(() => void) | null} */ (null);

/** Whether the reader is being brought back to a place, which nothing else should prevent. */
export function isGoingBack() {
    return stop !== null;
}

/** Gives the entry that is shown a name, unless it has one. */
function nameEntry() {
    current = history.state?.entry ?? "";
    if (current) return;
    current = `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`;
    history.replaceState({ ...history.state, entry: current }, "");
}

function remember() {
    if (stop) return;
    places.delete(current);
    places.set(current, window.scrollY);
    const oldest = places.keys().next();
    if (places.size > KEPT && !oldest.done) places.delete(oldest.value);
}

/** Notes where the reader is in the entry that is left. */
export function leaveEntry() {
    remember();
}

/** Goes on with an entry that is new, at its top. */
export function beginEntry() {
    stop?.();
    nameEntry();
    window.scrollTo(0, 0);
}

/** Goes on with an entry where the reader is. */
export function continueEntry() {
    stop?.();
    nameEntry();
    remember();
}

/** Goes on with an entry that was left before, where it was left: at once, or when what is above has been drawn. */
export function returnToEntry() {
    stop?.();
    nameEntry();
    const place = places.get(current) ?? 0;
    const moves = ["wheel", "touchstart", "keydown", "pointerdown"];
    const sizes = new ResizeObserver(() => {
        window.scrollTo(0, place);
        if (Math.abs(window.scrollY - place) <= 1) end();
    });
    const timer = setTimeout(end, PATIENCE);
    function end() {
        clearTimeout(timer);
        sizes.disconnect();
        for (const move of moves) window.removeEventListener(move, end);
        if (stop === end) stop = null;
    }
    stop = end;
    for (const move of moves) window.addEventListener(move, end, { passive: true });
    // It tells the present size too, once what the address says is drawn.
    sizes.observe(document.body);
}

/** Begins to note places. */
export function startPlaces() {
    history.scrollRestoration = "manual";
    try {
        for (const [entry, place] of JSON.parse(sessionStorage.getItem(STORE) ?? "[]")) places.set(entry, place);
    } catch {
        // Nothing is kept where the browser does not allow it.
    }
    window.addEventListener("scroll", remember, { passive: true });
    window.addEventListener("pagehide", () => {
        try {
            sessionStorage.setItem(STORE, JSON.stringify([...places]));
        } catch {
            // As above.
        }
    });
    if (history.state?.entry) returnToEntry();
    else nameEntry();
}
