// Files that a text names: a path, the end of one, or the name of a file.

import { useEffect, useState } from "./html.js";
import { fileAddress } from "./ref.js";
import { ask } from "../api.js";

/** Projects that are looked through. */
const PROJECTS = 12;

/**
 * A path and lines that a text may name; null if it names none.
 * @param {string} text
 * @returns {{path: string, lines: [number, number] | null} | null}
 */
export function placeIn(text) {
    const place = /^([\w./-]+\.\w+|[\w.-]+\/[\w./-]+)(?::(\d+)(?:-(\d+))?)?$/.exec(text.trim());
    const lines = place?.[2] ? /** @type {[number, number]} */ ([Number(place[2]), Number(place[3] ?? place[2])]) : null;
    return place ? { path: (place[1] ?? "").replace(/\/+$/, ""), lines } : null;
}

/**
 * Files of a project that have that path, or one that ends with it.
 * @param {string} project
 * @param {string} path
 * @param {AbortSignal} signal
 * @returns {Promise<string[]>}
 */
async function pathsLike(project, path, signal) {
    try {
        await ask("tree", { project, path, rev: null, last_commits: false }, signal);
        return [`${path}/`];
    } catch (failure) {
        // What is no directory is a file; of what is not there, the server names files of that name.
        const { message = "", hint = "" } = /** @type {any} */ (failure);
        if (message.includes("is not a directory")) return [path];
        const names = (/^did you mean (.+)\?$/.exec(hint ?? "")?.[1] ?? "").split(", ");
        return names.filter((name) => name.endsWith(`/${path}`));
    }
}

/** @typedef {import("./palette.js").Offer} Offer */
/** @type {Offer[]} */
const NONE = [];

/**
 * Files that a text names, or where none is known guesses: a file that was removed is one.
 * @param {string} text
 * @param {string[]} projects
 * @param {number} pause milliseconds without typing before the server is asked
 * @returns {{files: Offer[], guesses: Offer[], pending: boolean}} none of both while files are looked for
 */
export function useFiles(text, projects, pause) {
    const [{ files, guesses, of }, setFound] = useState({ files: NONE, guesses: NONE, of: "" });
    const place = placeIn(text);
    const wanted = place ? `${text.trim()}\n${projects.join("\n")}` : "";
    useEffect(() => {
        if (!place) return;
        const abort = new AbortController();
        const { path, lines } = place;
        const offer = (/** @type {string} */ project, /** @type {string} */ name, detail = `file in ${project}`) => ({
            icon: name.endsWith("/") ? "folder" : "file",
            label: `${name}${lines ? text.trim().slice(text.trim().indexOf(":")) : ""}`,
            detail,
            address: fileAddress(project, name, { lines }),
        });
        const timer = setTimeout(async () => {
            const known = projects.slice(0, PROJECTS);
            const found = await Promise.all(known.map(async (project) => (await pathsLike(project, path, abort.signal)).map((name) => offer(project, name))));
            if (abort.signal.aborted) return;
            const files = found.flat().sort((one, other) => one.label.length - other.label.length);
            const guesses = files.length ? NONE : known.map((project) => offer(project, path, `not found in ${project}`));
            setFound({ files, guesses, of: wanted });
        }, pause);
        return () => {
            clearTimeout(timer);
            abort.abort();
        };
    }, [wanted]);
    const pending = wanted !== "" && of !== wanted;
    return pending || !wanted ? { files: NONE, guesses: NONE, pending } : { files, guesses, pending };
}
