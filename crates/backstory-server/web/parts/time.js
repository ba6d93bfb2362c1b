// Times: how long ago, with the exact time when hovered.

import { html } from "./html.js";

/** @type {[number, Intl.RelativeTimeFormatUnit][]} */
const UNITS = [
    [60, "second"],
    [3600, "minute"],
    [86400, "hour"],
    [86400 * 30, "day"],
    [86400 * 365, "month"],
    [Infinity, "year"],
];
/** @type {Record<string, number>} */
const SECONDS = { second: 1, minute: 60, hour: 3600, day: 86400, month: 86400 * 30, year: 86400 * 365 };
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "long", timeStyle: "short" });

/**
 * `3 months ago`.
 * @param {string} at
 */
export function ago(at) {
    const seconds = (Date.now() - Date.parse(at)) / 1000;
    if (Number.isNaN(seconds)) return at;
    if (Math.abs(seconds) < 45) return "just now";
    const unit = UNITS.find(([below]) => Math.abs(seconds) < below)?.[1] ?? "year";
    const count = -Math.round(seconds / (SECONDS[unit] ?? 1));
    return kept(`${count} ${unit}`, () => relative.format(count, unit));
}

/** Times and distances that were put into words: a file has the same ones in hundreds of places. */
const words = new Map();
/** Most of them that are kept. */
const KEPT = 4000;

/**
 * @param {string} key
 * @param {() => string} make
 * @returns {string}
 */
function kept(key, make) {
    const known = words.get(key);
    if (known !== undefined) return known;
    if (words.size >= KEPT) words.clear();
    const made = make();
    words.set(key, made);
    return made;
}

/** @param {string} at */
export function exactly(at) {
    return kept(at, () => {
        const date = new Date(at);
        return Number.isNaN(date.getTime()) ? at : exact.format(date);
    });
}

/**
 * A time, relative.
 * @param {{at: string | null | undefined}} props
 */
export function Ago({ at }) {
    if (!at) return html`<span class="muted">never</span>`;
    return html`<time datetime=${at} title=${exactly(at)}>${ago(at)}</time>`;
}

/**
 * A day, `2022-11-16`.
 * @param {{at: string}} props
 */
export function Day({ at }) {
    return html`<time class="numeric" datetime=${at} title=${`${exactly(at)}, ${ago(at)}`}>${at.slice(0, 10)}</time>`;
}

/** Steps of age that have a color each, and the shortest time that they divide, in milliseconds. */
const STEPS = 6;
const SHORTEST = 86400e3 * 180;

/**
 * Tells ages between the oldest and the newest of some times: 0 for the newest step, 5 for the oldest. So a file that was
 * not touched for years shows as many colors as one of this year.
 * @param {string[]} times
 */
export function ageScale(times) {
    const at = times.map((time) => Date.parse(time)).filter((time) => !Number.isNaN(time));
    const newest = Math.max(...at);
    const width = Math.max(SHORTEST, newest - Math.min(...at)) / STEPS;
    return {
        step: (/** @type {string} */ time) => Math.max(0, Math.min(STEPS - 1, Math.floor((newest - Date.parse(time)) / width))),
        /** What each step means, the newest first. */
        names: at.length === 0 ? [] : Array.from({ length: STEPS }, (_, step) => `${day(newest - (step + 1) * width)} to ${day(newest - step * width)}`),
    };
}

/** @param {number} time */
function day(time) {
    return new Date(time).toISOString().slice(0, 10);
}

/**
 * `1.2 s`, `340 ms`, `3 min`.
 * @param {number} milliseconds
 */
export function took(milliseconds) {
    if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
    if (milliseconds < 60e3) return `${(milliseconds / 1000).toFixed(1)} s`;
    return `${Math.round(milliseconds / 60e3)} min`;
}
