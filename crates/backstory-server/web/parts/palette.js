// The dialogs of the keyboard: going to anything, and the list of keys.

import { html, classes, counted, useEffect, useMemo, useRef, useState } from "./html.js";
import { Icon, hasIcon } from "./icons.js";
import { useFiles } from "./find-file.js";
import { addressOf, kindName, parse, shorten } from "./ref.js";
import { FailedLine } from "./state.js";
import { ask } from "../api.js";
import { useAsk } from "../asking.js";
import { dialog, GLOBAL, groups, keyNames } from "../keys.js";
import { go, SCREENS } from "../router.js";

/** Milliseconds without typing before the server is asked. */
const PAUSE = 150;
/** Hits that are offered. */
const HITS = 7;
/** Least characters of a text that is searched for. */
const SHORTEST = 3;

/**
 * A dialog that keeps the keyboard inside and gives it back at its end.
 * @param {{label: string, children: any, class?: string}} props
 */
export function Dialog({ label, children, class: className }) {
    const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
    useEffect(() => {
        const shown = element.current;
        shown?.showModal();
        // What had the focus gets it back.
        return () => shown?.close();
    }, []);
    const close = () => (dialog.value = null);
    return html`<dialog ref=${element} class=${className} aria-label=${label} onClose=${() => element.current?.isConnected && close()} onCancel=${close}
        onClick=${(/** @type {Event} */ event) => event.target === element.current && close()}>${children}</dialog>`;
}

/** @typedef {{icon: string, label: string, detail: string, address: string}} Offer */

/** Goes to screens, projects, references, files and whatever a search finds. */
export function Palette() {
    const [text, setText] = useState("");
    const [chosen, setChosen] = useState(0);
    const list = useRef(/** @type {HTMLElement | null} */ (null));
    const repositories = useAsk("repositories", {});
    const projects = useMemo(() => (repositories.answer ?? []).map((/** @type {any} */ entry) => entry.project), [repositories.answer]);
    const { hits, pending: isSearching, error } = useHits(text);
    const { files, guesses, pending: isLooking } = useFiles(text, projects, PAUSE);
    const pending = isSearching || isLooking;
    const offers = useMemo(() => {
        const known = new Set(files.map((file) => file.address));
        const others = hits.filter((hit) => !known.has(hit.address));
        return [...direct(text, projects), ...files, ...named(text, projects), ...others, ...guesses];
    }, [text, files, guesses, hits, projects]);
    useEffect(() => setChosen(0), [text]);
    // Who pressed Enter before there was anything to choose goes to the first when it is there.
    const [isWaiting, setWaiting] = useState(false);
    useEffect(() => setWaiting(false), [text]);
    useEffect(() => {
        if (!isWaiting || isLooking) return;
        if (offers[0]) leave(offers[0].address);
        else if (!pending) search();
    }, [isWaiting, isLooking, pending]);
    const current = Math.min(chosen, offers.length - 1);
    useEffect(() => list.current?.children[current]?.scrollIntoView({ block: "nearest" }), [current]);
    /** @param {string} address */
    function leave(address) {
        dialog.value = null;
        go(address);
    }
    const search = () => text.trim() && leave(`/ui/search?q=${encodeURIComponent(text.trim())}`);
    /** @param {KeyboardEvent} event */
    function press(event) {
        if (event.isComposing) return;
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step && offers.length) {
            event.preventDefault();
            setChosen((current + step + offers.length) % offers.length);
        } else if (event.key === "Enter") {
            event.preventDefault();
            const offer = offers[current];
            if (isLooking && current <= 0) setWaiting(true);
            else if (offer) leave(offer.address);
            else search();
        }
    }
    const said = pending ? "Searching…" : offers.length ? counted(offers.length, "place") : error ? "" : "Nothing has that name";
    return html`<${Dialog} label="Go to anything" class="palette">
        <input type="text" value=${text} role="combobox" aria-expanded="true" aria-controls="offers"
            aria-activedescendant=${offers.length ? `offer-${current}` : undefined} aria-label="Go to"
            placeholder="A project, !7, #12, a commit, src/a.rs:42, or words" spellcheck=${false}
            onInput=${(/** @type {any} */ event) => setText(event.target.value)} onKeyDown=${press} />
        <ul id="offers" role="listbox" aria-label="Where to" ref=${list}>
            ${offers.map((offer, number) => html`<li id=${`offer-${number}`} role="option" aria-selected=${number === current}
                class=${classes(number === current && "chosen")} onClick=${() => leave(offer.address)} onMouseMove=${() => setChosen(number)}>
                <${Icon} name=${offer.icon} /><span class="cut">${offer.label}</span><span class="muted small">${offer.detail}</span></li>`)}
        </ul>
        <p class=${offers.length && !pending ? "hidden" : "muted pad small"} role="status">${said}</p>
        ${error && html`<div class="pad"><${FailedLine} error=${error} /></div>`}
        ${!pending && !offers.length && text.trim() && html`<p class="pad"><button type="button" onClick=${search}
            ><${Icon} name="search" /> Search for it <kbd>Enter</kbd></button></p>`}
    </${Dialog}>`;
}

/**
 * What a search finds for the text; what was found before stays until then.
 * @param {string} text
 * @returns {{hits: Offer[], pending: boolean, error: any}}
 */
function useHits(text) {
    const [{ hits, of, error }, setFound] = useState({ hits: /** @type {Offer[]} */ ([]), of: "", error: /** @type {any} */ (null) });
    useEffect(() => {
        if (text.trim().length < SHORTEST) return setFound({ hits: [], of: text, error: null });
        const abort = new AbortController();
        const timer = setTimeout(() => {
            const request = { query: text.trim(), filter: {}, mode: "lexical", limit: HITS, rerank: false };
            ask("search", request, abort.signal).then(
                (answer) => !abort.signal.aborted && setFound({ hits: answer.hits.map(toOffer), of: text, error: null }),
                (error) => !abort.signal.aborted && setFound({ hits: [], of: text, error }),
            );
        }, PAUSE);
        return () => {
            clearTimeout(timer);
            abort.abort();
        };
    }, [text]);
    return { hits, pending: of !== text, error };
}

/** @param {any} hit */
function toOffer(hit) {
    const icon = hasIcon(hit.kind) ? hit.kind : hit.kind === "code" ? "entity" : "file";
    return { icon, label: hit.title, detail: `${kindName(hit.kind)} ${shorten(hit.id, hit.project)}`, address: addressOf(hit.id) };
}

/**
 * What a text names by itself: a reference.
 * @param {string} text
 * @param {string[]} projects
 * @returns {Offer[]}
 */
function direct(text, projects) {
    const typed = text.trim();
    if (/^\^[\w.-]+$/.test(typed)) return [offer(typed)];
    const within = /^([#!]\d+)$/.exec(typed);
    if (within) return projects.map((project) => offer(`${project}${within[1]}`));
    if (/^[0-9a-f]{7,40}$/.test(typed)) return projects.map((project) => offer(`${project}@${typed}`));
    return /^.+([#!]\d+|@[0-9a-f]{7,40})$/.test(typed) || /^@[\w.-]+/.test(typed) ? [offer(typed)] : [];
}

/** @param {string} id */
function offer(id) {
    const node = parse(id);
    return { icon: hasIcon(node.kind) ? node.kind : "info", label: id, detail: kindName(node.kind), address: addressOf(id) };
}

/**
 * Projects and screens whose names have the text.
 * @param {string} text
 * @param {string[]} projects
 */
function named(text, projects) {
    const has = (/** @type {string} */ name) => name.toLowerCase().includes(text.trim().toLowerCase());
    const screens = SCREENS.filter((screen) => !screen.prefix.endsWith("/") || screen.prefix === "/");
    return [
        ...projects.filter(has).map((project) => ({ icon: "projects", label: project, detail: "project", address: addressOf(project) })),
        ...screens.filter((screen) => has(screen.label)).map((screen) => ({
            icon: hasIcon(screen.name) ? screen.name : { items: "issue", ask: "chat", people: "person" }[screen.name] ?? "right",
            label: screen.label,
            detail: "screen",
            address: screen.prefix,
        })),
    ];
}

/** All keys that work where the reader is. */
export function KeysDialog() {
    const shown = [...groups.value, GLOBAL].filter((group) => group.bindings.length);
    return html`<${Dialog} label="Keys" class="keys-dialog">
        <h2>Keys</h2>
        ${shown.map((group) => html`<section><h3>${group.title}</h3><dl>${group.bindings.map((binding) => html`
            <div><dt>${keyNames(binding.keys).map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${binding.label}</dd></div>`)}</dl></section>`)}
        <form method="dialog"><button type="submit">Close</button></form>
    </${Dialog}>`;
}
