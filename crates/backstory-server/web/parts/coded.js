// Titles in which something is marked as code.

import { html } from "./html.js";

/**
 * A title with what stands between backticks as code.
 * @param {string} text
 */
export function coded(text) {
    return text.includes("`") ? text.split(/`([^`]+)`/).map((part, at) => (at % 2 ? html`<code>${part}</code>` : part)) : text;
}
