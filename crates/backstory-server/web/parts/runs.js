// Runs of lines that one commit wrote, as the gutter of a file shows them.

import { shorten } from "./ref.js";

/** Lines of a block. */
const BLOCK = 40;

/**
 * @typedef {{start: number, lines: number, commit: string | null, title: string, author: string, date: string,
 *   mergeRequest: string | null, issues: string[], discussions: number, seenThrough: string[]}} Run
 */

/**
 * Runs of lines as the gutter shows them.
 * @param {any} file the answer of the use case `file`
 * @returns {Run[]}
 */
export function runsOf(file) {
    const [first, last] = file.lines ?? [1, 0];
    const nobody = { commit: null, title: "", author: "", date: "", mergeRequest: null, issues: [], discussions: 0, seenThrough: [] };
    if (!file.lineage?.spans.length) return last ? [{ start: first, lines: last - first + 1, ...nobody }] : [];
    const commits = new Map(file.lineage.commits.map((/** @type {any} */ commit) => [commit.id, commit]));
    /** @type {Run[]} */
    const runs = [];
    for (const span of file.lineage.spans) {
        const commit = commits.get(span.commit) ?? { title: shorten(span.commit, file.project), author: "", date: "" };
        const run = {
            start: span.start, lines: span.lines, commit: span.commit, title: commit.title, author: commit.author, date: commit.date,
            mergeRequest: span.merge_request, issues: span.issues, discussions: span.discussions, seenThrough: span.seen_through ?? [],
        };
        const before = runs.at(-1);
        // Spans of one commit that follow one another are one run to the reader.
        if (before && before.commit === run.commit && before.start + before.lines === run.start && !run.discussions === !before.discussions) {
            before.lines += run.lines;
            before.discussions = Math.max(before.discussions, run.discussions);
        } else runs.push(run);
    }
    return runs;
}

/**
 * Runs that are as they were before are the same objects, so that they are not drawn again.
 * @param {Run[]} before
 * @param {Run[]} runs
 */
export function sameRuns(before, runs) {
    if (before.length === 0) return runs;
    const known = new Map(before.map((run) => [JSON.stringify(run), run]));
    const made = runs.map((run) => known.get(JSON.stringify(run)) ?? run);
    return made.length === before.length && made.every((run, number) => run === before[number]) ? before : made;
}

/**
 * What is in the same lines of a grid. What changes in one block leaves the others as they are.
 * @typedef {{run: Run, start: number, lines: number, isFirst: boolean}} Piece
 * @typedef {{number: number, start: number, lines: number, pieces: Piece[]}} Block
 * @param {Run[]} runs
 */
export function blocksOf(runs) {
    /** @type {Block[]} */
    const blocks = [];
    for (const run of runs) {
        const end = run.start + run.lines;
        for (let start = run.start; start < end; ) {
            const number = Math.floor((start - 1) / BLOCK);
            const lines = Math.min(end, (number + 1) * BLOCK + 1) - start;
            const last = blocks.at(-1);
            const block = last?.number === number ? last : { number, start, lines: 0, pieces: [] };
            if (block !== last) blocks.push(block);
            block.pieces.push({ run, start, lines, isFirst: start === run.start });
            block.lines += lines;
            start += lines;
        }
    }
    return blocks;
}
