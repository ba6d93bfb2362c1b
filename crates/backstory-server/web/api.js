// The one way to the server: use cases by name over /api/v1, and the session. asking.js has what screens ask with.

import { signal } from "./parts/html.js";
import { takeEarly } from "./early.js";

/** Answers that are kept, so that going back shows a screen at once. */
const KEPT = 80;
/** An answer of more characters is drawn in a task of its own: to read it takes long enough. */
const LONG = 100_000;

/**
 * Answers by use case and request.
 * @type {Map<string, any>}
 */
export const kept = new Map();
/**
 * What the server wrote, by what was read from it: it tells whether two answers say the same.
 * @type {WeakMap<object, string>}
 */
export const texts = new WeakMap();

/**
 * What the page may do.
 * @type {import("./vendor/signals.js").Signal<{granted: boolean, scope: string | null, needs_token: boolean, language_model?: boolean} | null>}
 */
export const session = signal(null);
/** Whether a token must be shown before anything can be read. */
export const signInNeeded = signal(false);

/** Names of projects that answers told: a sentence may begin with one. */
export const projectNames = new Set();

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

    /** Whether it says nothing of what was asked, so that an earlier answer is as good as before. */
    get isPassing() {
        return this.status === 0 || this.status === 429 || this.status >= 500;
    }
}

/** @returns {ApiError} */
function unreachable() {
    return new ApiError(0, "UNREACHABLE", "The server does not answer.", "Is 'backstory serve' still running?");
}

/**
 * Sends something; what is refused is an error.
 * @param {string} path
 * @param {RequestInit} init
 */
async function send(path, init) {
    let response;
    try {
        response = await (takeEarly(path, init.body) ?? fetch(path, { ...init, credentials: "same-origin" }));
    } catch (error) {
        if (init.signal?.aborted) throw error;
        throw unreachable();
    }
    if (response.ok) return response;
    if (response.status === 401) signInNeeded.value = true;
    const body = isJson(response) ? await response.json().catch(() => null) : null;
    throw refusal(response.status, body);
}

/** @param {Response} response */
function isJson(response) {
    return (response.headers.get("content-type") ?? "").includes("json");
}

/**
 * Sends something and reads the JSON that answers it.
 * @param {string} path
 * @param {RequestInit} init
 */
export async function sendForJson(path, init) {
    const response = await send(path, init);
    if (!isJson(response)) return null;
    let text;
    try {
        text = await response.text();
    } catch (error) {
        if (init.signal?.aborted) throw error;
        throw unreachable();
    }
    const body = JSON.parse(text);
    if (text.length > LONG) await new Promise((done) => setTimeout(done));
    if (body !== null && typeof body === "object") texts.set(body, text);
    return body;
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
 * A change, or a question, as JSON.
 * @param {object} body
 * @param {AbortSignal} [abort]
 * @returns {RequestInit}
 */
export function post(body, abort) {
    return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal: abort };
}

/**
 * Requests a use case.
 * @param {string} name
 * @param {object} request
 * @param {AbortSignal} [abort]
 * @returns {Promise<any>}
 */
export async function ask(name, request, abort) {
    const answer = await sendForJson(`/api/v1/${name}`, post(request, abort));
    const all = name === "repositories" ? answer : name === "sync-status" ? answer?.freshness : null;
    for (const { project } of all ?? []) projectNames.add(project);
    return answer;
}

/**
 * Asks in a conversation. Statements of the answer are told as they are checked; the whole message is returned.
 * @param {number} chat
 * @param {string} text
 * @param {(statement: {text: string, citations: any[]}) => void} tell
 * @param {AbortSignal} [abort]
 * @returns {Promise<any>}
 */
export async function askInChat(chat, text, tell, abort) {
    const init = post({ text, model: true }, abort);
    const headers = { ...init.headers, accept: "text/event-stream" };
    const response = await send(`/api/v1/chats/${chat}/messages`, { ...init, headers });
    for await (const { name, data } of eventsOf(response, abort)) {
        if (name === "statement") tell(data);
        else if (name === "message") return data;
        else if (name === "error") throw new ApiError(500, data.code ?? "INTERNAL", data.message ?? "Asking failed.", data.hint);
    }
    throw unreachable();
}

/**
 * Server-sent events, each as soon as it is whole.
 * @param {Response} response
 * @param {AbortSignal} [abort]
 * @returns {AsyncGenerator<{name: string, data: any}>}
 */
async function* eventsOf(response, abort) {
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    let text = "";
    while (reader) {
        let part;
        try {
            part = await reader.read();
        } catch (error) {
            if (abort?.aborted) throw error;
            throw unreachable();
        }
        text += decoder.decode(part.value, { stream: !part.done });
        const events = text.split(/\r?\n\r?\n/);
        text = events.pop() ?? "";
        for (const event of events) {
            const fields = event.split(/\r?\n/).map((line) => /^(event|data): ?(.*)$/.exec(line));
            const of = (/** @type {string} */ name) => fields.filter((field) => field?.[1] === name).map((field) => field?.[2] ?? "").join("\n");
            if (of("data")) yield { name: of("event"), data: JSON.parse(of("data")) };
        }
        if (part.done) return;
    }
}

/** Asks what the page may do. */
export async function readSession() {
    session.value = await sendForJson("/session", { method: "GET" });
    signInNeeded.value = !session.value?.granted;
}

/**
 * Shows a token once; a cookie stands for it from then on.
 * @param {string} token
 */
export async function signIn(token) {
    await send("/session", post({ token }));
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
export function keep(key, answer) {
    kept.delete(key);
    kept.set(key, answer);
    const oldest = kept.keys().next();
    if (kept.size > KEPT && !oldest.done) kept.delete(oldest.value);
}
