// Keys: global ones, those of the screen that is shown, and the list of both.

import { signal, useEffect, useRef } from "./parts/html.js";
import { go } from "./router.js";

/** Milliseconds in which the second key of a pair must follow the first. */
const PAIR_TIME = 900;

/** Which dialog is open. */
export const dialog = signal(/** @type {null | "palette" | "keys" | "menu"} */ (null));

/**
 * @typedef {{keys: string, label: string, run: (event: KeyboardEvent) => void}} Binding
 * @typedef {{title: string, bindings: Binding[]}} Group
 */

/** @type {Group} */
export const GLOBAL = {
    title: "Everywhere",
    bindings: [
        { keys: "/", label: "Search", run: focusSearch },
        { keys: "Ctrl+k", label: "Go to anything", run: () => (dialog.value = "palette") },
        { keys: "?", label: "This list", run: () => (dialog.value = "keys") },
        { keys: "g p", label: "Projects", run: () => go("/") },
        { keys: "g s", label: "Search page", run: () => go("/ui/search") },
        { keys: "g i", label: "Issues & requests", run: () => go("/ui/items") },
        { keys: "g a", label: "Ask", run: () => go("/ui/ask") },
        { keys: "g g", label: "Graph", run: () => go("/ui/graph") },
        { keys: "g h", label: "History", run: () => go("/ui/history") },
        { keys: "g j", label: "Index & jobs", run: () => go("/ui/jobs") },
    ],
};

/** Groups of the screens that are shown, the newest last. */
export const groups = signal(/** @type {Group[]} */ ([]));

function focusSearch() {
    const field = document.getElementById("search-field");
    if (field instanceof HTMLInputElement && field.offsetParent) {
        field.focus();
        field.select();
    } else {
        dialog.value = "palette";
    }
}

/**
 * Keys of a screen, while it is shown.
 * @param {string} title
 * @param {Binding[]} bindings
 */
export function useKeys(title, bindings) {
    const current = useRef(bindings);
    current.current = bindings;
    useEffect(() => {
        const group = {
            title,
            get bindings() {
                return current.current;
            },
        };
        groups.value = [...groups.value, group];
        return () => {
            groups.value = groups.value.filter((other) => other !== group);
        };
    }, [title]);
}

/** Fields that take no letters. */
const SWITCHES = ["checkbox", "radio", "range", "button", "submit"];
/** What does something by itself on Enter or the space bar. */
const ACTIVE = "a[href], button, summary, input, select, [role=button]";

/** @param {EventTarget | null} target */
function isTyping(target) {
    if (target instanceof HTMLInputElement) return !SWITCHES.includes(target.type);
    return target instanceof HTMLElement && (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName));
}

/** @param {KeyboardEvent} event */
function isForElement({ key, target }) {
    return (key === "Enter" || key === " ") && target instanceof Element && target.closest(ACTIVE) !== null;
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/**
 * How keys are written for the reader's keyboard.
 * @param {string} keys
 */
export function keyNames(keys) {
    return keys.split(/[ +]/).map((key) => (isMac && key === "Ctrl" ? "\u2318" : key.length === 1 && keys.includes("+") ? key.toUpperCase() : key));
}

let first = "";
let firstAt = 0;

/** @param {KeyboardEvent} event */
function press(event) {
    if (event.isComposing || event.altKey) return;
    const isCommand = event.ctrlKey || event.metaKey;
    if (isCommand && event.key.toLowerCase() === "k") {
        event.preventDefault();
        dialog.value = dialog.value === "palette" ? null : "palette";
        return;
    }
    if (isCommand || dialog.value || isTyping(event.target) || isForElement(event)) return;
    const isPair = first && performance.now() - firstAt < PAIR_TIME;
    const keys = isPair ? `${first} ${event.key}` : event.key;
    first = "";
    const all = [...groups.value].reverse().concat(GLOBAL);
    for (const group of all) {
        const binding = group.bindings.find((binding) => binding.keys === keys);
        if (binding) {
            event.preventDefault();
            binding.run(event);
            return;
        }
    }
    if (all.some((group) => group.bindings.some((binding) => binding.keys.startsWith(`${event.key} `)))) {
        first = event.key;
        firstAt = performance.now();
    }
}

/** Listens to keys. */
export function startKeys() {
    document.addEventListener("keydown", press);
}
