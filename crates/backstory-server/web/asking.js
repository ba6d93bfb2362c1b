// What screens ask with: a use case while a screen is shown, and changes that buttons make.

import { useEffect, useRef, useState } from "./parts/html.js";
import { ask, changed, keep, kept, texts } from "./api.js";

/** Milliseconds after which waiting is shown. */
const SLOW = 200;
/** How many times longer than otherwise it takes until a server is asked again that did not answer. */
const PATIENCE = 4;

/**
 * Which of two answers to go on with: the one that is shown if the other says the same, so that nothing is drawn again.
 * @param {any} shown
 * @param {any} next
 */
function newest(shown, next) {
    const text = shown && texts.get(shown);
    return text !== undefined && text !== null && next && text === texts.get(next) ? shown : next;
}

/**
 * Does something after a time, but not while the page is hidden.
 * @param {number} milliseconds
 * @param {() => void} work
 * @returns {() => void} what prevents it
 */
function later(milliseconds, work) {
    const look = () => {
        if (document.hidden) return;
        document.removeEventListener("visibilitychange", look);
        work();
    };
    const timer = setTimeout(() => {
        document.addEventListener("visibilitychange", look);
        look();
    }, milliseconds);
    return () => {
        clearTimeout(timer);
        document.removeEventListener("visibilitychange", look);
    };
}

/**
 * How far a request is. `request` is what the answer is to: with `stale`, the request before. An `error` beside an answer:
 * it could not be asked for again.
 * @typedef {{request: any, answer: any, error: import("./api.js").ApiError | null, pending: boolean, slow: boolean,
 *   stale: boolean, again: () => void}} Asked
 */

/**
 * `asked` is the key of what is asked; `key` and `request` are those of the answer, which may be another.
 * @typedef {{asked: string | null, key: string | null, request: any, answer: any, error: any, slow: boolean, done: boolean}} State
 * @type {State}
 */
const NOTHING = { asked: null, key: null, request: null, answer: null, error: null, slow: false, done: false };

/**
 * Requests a use case while a screen is shown.
 * @param {string} name
 * @param {any} request null while there is nothing to ask
 * @param {{every?: number, once?: boolean, keepLast?: (last: any) => boolean}} [options] `every`: milliseconds after which it
 *   is asked again; `once`: an answer that is kept will do; `keepLast`: whether the answer to that request stays until this
 *   one is answered
 * @returns {Asked}
 */
export function useAsk(name, request, options = {}) {
    const key = request && `${name} ${JSON.stringify(request)}`;
    const [turn, setTurn] = useState(0);
    const [state, setState] = useState(NOTHING);
    const latest = useRef(options);
    latest.current = options;
    const isForced = useRef(false);
    useEffect(() => {
        if (!key) return setState(NOTHING);
        const known = kept.get(key);
        const isEnough = known !== undefined && Boolean(latest.current.once) && !isForced.current;
        isForced.current = false;
        setState((old) => ({
            ...old,
            ...(old.key !== key && known !== undefined && { key, request, answer: known }),
            asked: key,
            error: old.asked === key ? old.error : null,
            slow: false,
            done: isEnough,
        }));
        if (isEnough) return;
        return work(key);
    }, [key, turn]);

    /**
     * Asks, and asks again later where that is wanted.
     * @param {string} key
     */
    function work(key) {
        const abort = new AbortController();
        const slow = setTimeout(() => setState((old) => ({ ...old, slow: true })), SLOW);
        let stop = () => {};
        /** @param {number} times */
        const goOn = (times) => {
            const { every } = latest.current;
            if (every) stop = later(every * times, () => latest.current.every && setTurn((turn) => turn + 1));
        };
        ask(name, request, abort.signal)
            .then(
                (answer) => {
                    if (abort.signal.aborted) return;
                    const next = newest(kept.get(key), answer);
                    keep(key, next);
                    setState((old) => ({ ...NOTHING, asked: key, key, request, answer: newest(old.answer, next), done: true }));
                    goOn(1);
                },
                (error) => {
                    if (abort.signal.aborted) return;
                    // What was known stays, unless the server says that it is no more, or not for this reader.
                    if (!error.isPassing) kept.delete(key);
                    setState((old) => {
                        const stays = error.isPassing && old.key === key;
                        return stays ? { ...old, error, slow: false, done: true } : { ...NOTHING, asked: key, error, done: true };
                    });
                    goOn(PATIENCE);
                },
            )
            .finally(() => clearTimeout(slow));
        return () => {
            abort.abort();
            clearTimeout(slow);
            stop();
        };
    }

    const isNew = state.asked !== key;
    const isWaiting = isNew || !state.done;
    const own = !key ? null : state.key === key ? state.answer : (kept.get(key) ?? null);
    const isStale = Boolean(key) && own === null && isWaiting && state.answer !== null && Boolean(options.keepLast?.(state.request));
    return {
        request: isStale ? state.request : request,
        answer: isStale ? state.answer : own,
        error: isNew ? null : state.error,
        pending: Boolean(key) && isWaiting,
        slow: !isNew && state.slow,
        stale: isStale,
        again: () => {
            isForced.current = true;
            setTurn((turn) => turn + 1);
        },
    };
}

/**
 * A change that is requested by a button: whether it runs, and what went wrong.
 * @returns {{busy: boolean, error: import("./api.js").ApiError | null, run: (work: () => Promise<any>) => Promise<any>}}
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
