// Light or dark: as the system says, unless the user chose.

import { signal } from "./parts/html.js";
import { store, stored } from "./parts/storage.js";

const KEY = "backstory.theme";
const CHOICES = ["system", "light", "dark"];

/** `system`, `light` or `dark`. */
export const theme = signal("system");

/** @param {string | null} choice */
function apply(choice) {
    theme.value = choice && CHOICES.includes(choice) ? choice : "system";
    if (theme.value === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.value;
}

/** Applies what was chosen before, and what is chosen in another window. */
export function startTheme() {
    apply(stored(KEY));
    window.addEventListener("storage", (event) => {
        if (event.key === KEY) apply(event.newValue);
    });
}

/** Goes to the next choice. */
export function nextTheme() {
    const next = CHOICES[(CHOICES.indexOf(theme.value) + 1) % CHOICES.length] ?? "system";
    store(KEY, next);
    apply(next);
}
