// What every file with markup needs: htm bound to Preact, hooks, and class names.

import { h } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export { render, Fragment } from "../vendor/preact.js";
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useErrorBoundary } from "../vendor/hooks.js";
export { signal, computed, effect } from "../vendor/signals.js";

/**
 * Markup as a tagged template. Text in it is always text, never HTML.
 * @type {(strings: TemplateStringsArray, ...values: any[]) => any}
 */
export const html = htm.bind(h);

/**
 * Joins class names, leaving out what is false.
 * @param {...(string | false | null | undefined)} names
 */
export function classes(...names) {
    return names.filter(Boolean).join(" ");
}

// One that is kept: to make one takes longer than to draw a line of code.
const numbers = new Intl.NumberFormat("en");

/**
 * `1 file`, `2 files`, `12,000 files`.
 * @param {number} count
 * @param {string} noun
 * @param {string} [plural]
 */
export function counted(count, noun, plural = `${noun}s`) {
    return `${numbers.format(count)} ${count === 1 ? noun : plural}`;
}

/**
 * `62%` of a share between 0 and 1.
 * @param {number} share
 */
export function percent(share) {
    return `${Math.round(share * 100)}%`;
}

/**
 * `12,000`.
 * @param {number} count
 */
export function number(count) {
    return numbers.format(count);
}

/**
 * Bytes in units that people read.
 * @param {number} bytes
 */
export function size(bytes) {
    return bytes < 1024 ? `${bytes} B` : bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} kB` : `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}
