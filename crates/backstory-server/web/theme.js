// Light or dark: as the system says, unless the user chose.

import { signal } from "./parts/html.js";

const KEY = "backstory.theme";
const CHOICES = ["system", "light", "dark"];

/** `system`, `light` or `dark`. */
export const theme = signal("system");

/** @param {string} choice */
function apply(choice) {
    theme.value = choice;
    if (choice === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
}

/** Applies what was chosen before. */
export function startTheme() {
    const stored = localStorage.getItem(KEY) ?? "system";
    apply(CHOICES.includes(stored) ? stored : "system");
}

/** Goes to the next choice. */
export function nextTheme() {
    const next = CHOICES[(CHOICES.indexOf(theme.value) + 1) % CHOICES.length] ?? "system";
    localStorage.setItem(KEY, next);
    apply(next);
}
