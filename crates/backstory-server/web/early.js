// Fetches the screens that people open first, and what these will ask, while the page is still on its way. It imports next to
// nothing, so that it runs before everything else; start.js fetches every other screen.

import { locate, requestAt } from "./parts/file-place.js";

/** Milliseconds after which an answer that nobody took is out of date. */
const KEPT = 5000;

/**
 * Answers by address and body.
 * @type {Map<string, Promise<Response>>}
 */
const asked = new Map();

/**
 * The answer to a request that was sent early. It is taken once.
 * @param {string} path
 * @param {unknown} body
 */
export function takeEarly(path, body) {
    const key = `${path} ${body}`;
    const answer = asked.get(key);
    asked.delete(key);
    return answer;
}

/**
 * @param {string} name
 * @param {object} request as the screen sends it
 */
function ask(name, request) {
    const [path, body] = [`/api/v1/${name}`, JSON.stringify(request)];
    const answer = fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body, credentials: "same-origin" });
    // Who takes it says so.
    answer.catch(() => {});
    asked.set(`${path} ${body}`, answer);
}

/** @param {Promise<any>} screen */
function fetchScreen(screen) {
    // The frame asks for it again, and says what is wrong.
    screen.catch(() => {});
}

const { pathname, search, hash } = location;
if (/^\/(ui\/?)?$/.test(pathname)) {
    fetchScreen(import("./pages/projects.js"));
    ask("repositories", {});
    ask("sync-status", { runs: 1 });
    ask("coverage", {});
}
if (pathname.startsWith("/ui/file/")) {
    fetchScreen(import("./pages/file.js"));
    const at = locate(pathname, new URLSearchParams(search), hash.slice(1));
    const request = requestAt(at);
    if (request) ask("file", request);
    if (request) ask("tree", { project: at.project, path: "", rev: at.rev, last_commits: false });
}
setTimeout(() => asked.clear(), KEPT);
