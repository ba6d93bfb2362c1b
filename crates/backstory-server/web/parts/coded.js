// Titles and excerpts in which something is marked as code.

import { html } from "./html.js";

/**
 * What an excerpt marks as code: a block, whose language is left out, or words between backticks. It may be cut off in the
 * middle. Where its beginning was, a backtick ends code rather than begins it.
 */
const CODE = /(?<!`)`{3,9}(?:[\w+#-]{0,30}\s)?([^`]{1,2000})(?:`{3,9}|(?=…$))|(?<![\w`])(`{1,2})(?![\s`,;)])([^`]{1,2000})(?:\2(?!`)|(?=…$))/g;

/**
 * A title with what stands between backticks as code.
 * @param {string} text
 */
export function coded(text) {
    return text.includes("`") ? text.split(/`([^`]+)`/).map((part, at) => (at % 2 ? html`<code>${part}</code>` : part)) : text;
}

/**
 * An excerpt of Markdown in pieces, of which every second one is code.
 * @param {string} text
 */
export function piecesOf(text) {
    const made = [];
    let from = 0;
    for (const match of text.matchAll(CODE)) {
        made.push(text.slice(from, match.index), (match[1] ?? match[3] ?? "").trimEnd());
        from = match.index + match[0].length;
    }
    made.push(text.slice(from));
    return made;
}
