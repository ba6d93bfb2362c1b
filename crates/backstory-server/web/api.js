// The one way to the server: use cases by name over /api/v1, and the session.

import { useEffect, useRef, useState, signal } from "./parts/html.js";

/** Answers that are kept, so that going back shows a screen at once. */
const KEPT = 80;
/** Milliseconds after which waiting is shown. */
const SLOW = 200;

/** @type {Map<string, unknown>} */
const kept = new Map();

/**
 * What the page may do.
 * @type {import("./vendor/signals.js").Signal<{granted: boolean, scope: string | null, needs_token: boolean} | null>}
 */
export const session = signal(null);
/** Whether a token must be shown before anything can be read. */
export const signInNeeded = signal(false);

/** A refusal of the server, or its absence. */
export class ApiError extends Error {
    /**
     * @param {number} status 0 if there was no answer
     * @param {string} code
     * @param {string} message
     * @param {string | null} [hint]
     */
    constructor(status, code, message, hint = null) {
        super(message);
        this.status = status;
        this.code = code;
        this.hint = hint;
    }
}

/**
 * Sends something and reads the JSON that answers it.
 * @param {string} path
 * @param {RequestInit} init
 */
async function send(path, init) {
    let response;
    try {
        response = await fetch(path, { ...init, credentials: "same-origin" });
    } catch (error) {
        if (init.signal?.aborted) throw error;
        throw new ApiError(0, "UNREACHABLE", "The server does not answer.", "Is 'backstory serve' still running?");
    }
    const type = response.headers.get("content-type") ?? "";
    const body = type.includes("json") ? await response.json() : null;
    if (response.ok) return body;
    if (response.status === 401) signInNeeded.value = true;
    throw refusal(response.status, body);
}

/**
 * @param {number} status
 * @param {any} body
 */
function refusal(status, body) {
    const error = body?.errors?.[0];
    const code = error?.extensions?.code ?? body?.code ?? "INTERNAL";
    const message = error?.message ?? body?.detail ?? body?.title ?? `The server answered with status ${status}.`;
    return new ApiError(status, code, message, error?.extensions?.hint ?? body?.hint ?? null);
}

/**
 * Requests a use case.
 * @param {string} name
 * @param {object} request
 * @param {AbortSignal} [abort]
 * @returns {Promise<any>}
 */
export async function ask(name, request, abort) {
    const answer = await send(`/api/v1/${name}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(request),
        signal: abort,
    });
    return answer;
}

/** Asks what the page may do. */
export async function readSession() {
    session.value = await send("/session", { method: "GET" });
    signInNeeded.value = !session.value?.granted;
}

/**
 * Shows a token once; a cookie stands for it from then on.
 * @param {string} token
 */
export async function signIn(token) {
    await send("/session", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ token }),
    });
    kept.clear();
    await readSession();
}

/** Ends the session. */
export async function signOut() {
    await send("/session", { method: "DELETE" });
    kept.clear();
    await readSession();
}

/** Drops kept answers, after something was changed. */
export function changed() {
    kept.clear();
}

/**
 * @param {string} key
 * @param {unknown} answer
 */
function keep(key, answer) {
    kept.delete(key);
    kept.set(key, answer);
    const oldest = kept.keys().next();
    if (kept.size > KEPT && !oldest.done) kept.delete(oldest.value);
}

/**
 * How far a request is.
 * @typedef {{answer: any, error: ApiError | null, pending: boolean, slow: boolean, again: () => void}} Asked
 */

/**
 * Requests a use case while a screen is shown. The last answer stays while the next is on its way.
 * @param {string} name
 * @param {object | null} request null while there is nothing to ask
 * @param {{every?: number}} [options] `every`: milliseconds after which it is asked again
 * @returns {Asked}
 */
export function useAsk(name, request, options = {}) {
    const key = request && `${name} ${JSON.stringify(request)}`;
    const [turn, setTurn] = useState(0);
    const [state, setState] = useState(/** @type {any} */ ({ key: null, answer: null, error: null, slow: false }));
    const every = useRef(options.every);
    every.current = options.every;
    useEffect(() => {
        if (!key || !request) {
            setState({ key: null, answer: null, error: null, slow: false });
            return;
        }
        const abort = new AbortController();
        let next = 0;
        const known = kept.get(key);
        setState((/** @type {any} */ old) =>
            old.key === key ? { ...old, done: false } : { key, answer: known ?? old.answer, stale: !known, error: null, slow: false, done: false });
        const slow = setTimeout(() => setState((/** @type {any} */ old) => ({ ...old, slow: true })), SLOW);
        ask(name, request, abort.signal).then(
            (answer) => {
                clearTimeout(slow);
                if (abort.signal.aborted) return;
                keep(key, answer);
                setState({ key, answer, error: null, slow: false, stale: false, done: true });
                if (every.current) next = window.setTimeout(() => setTurn((turn) => turn + 1), every.current);
            },
            (error) => {
                clearTimeout(slow);
                if (abort.signal.aborted) return;
                setState({ key, answer: null, error, slow: false, stale: false, done: true });
            },
        );
        return () => {
            abort.abort();
            clearTimeout(slow);
            clearTimeout(next);
        };
    }, [key, turn]);
    const isNew = state.key !== key;
    return {
        answer: key ? (isNew ? (kept.get(key) ?? null) : state.answer) : null,
        error: isNew ? null : state.error,
        pending: Boolean(key) && (isNew || !state.done),
        slow: !isNew && state.slow,
        again: () => setTurn(turn + 1),
    };
}

/**
 * A change that is requested by a button: whether it runs, and what went wrong.
 * @returns {{busy: boolean, error: ApiError | null, run: (work: () => Promise<any>) => Promise<any>}}
 */
export function useChange() {
    const [state, setState] = useState(/** @type {{busy: boolean, error: any}} */ ({ busy: false, error: null }));
    return {
        ...state,
        run: async (work) => {
            setState({ busy: true, error: null });
            try {
                const answer = await work();
                changed();
                setState({ busy: false, error: null });
                return answer;
            } catch (error) {
                setState({ busy: false, error });
                return undefined;
            }
        },
    };
}
