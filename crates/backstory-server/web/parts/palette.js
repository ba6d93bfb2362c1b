// The dialogs of the keyboard: going to anything, and the list of keys.

import { html, classes, useEffect, useMemo, useRef, useState } from "./html.js";
import { Icon, hasIcon } from "./icons.js";
import { addressOf, fileAddress, kindName, parse, shorten } from "./ref.js";
import { ask, useAsk } from "../api.js";
import { dialog, GLOBAL, groups } from "../keys.js";
import { go, SCREENS } from "../router.js";

/** Milliseconds without typing before the server is asked. */
const PAUSE = 150;
/** Hits that are offered. */
const HITS = 7;

/**
 * A dialog that keeps the keyboard inside and gives it back at its end.
 * @param {{label: string, children: any, class?: string}} props
 */
export function Dialog({ label, children, class: className }) {
    const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
    useEffect(() => {
        element.current?.showModal();
    }, []);
    const close = () => (dialog.value = null);
    return html`<dialog ref=${element} class=${className} aria-label=${label} onClose=${close} onCancel=${close}
        onClick=${(/** @type {Event} */ event) => event.target === element.current && close()}>${children}</dialog>`;
}

/** @typedef {{icon: string, label: string, detail: string, address: string}} Offer */

/** Goes to screens, projects, references, files and whatever a search finds. */
export function Palette() {
    const [text, setText] = useState("");
    const [chosen, setChosen] = useState(0);
    const { hits, pending } = useHits(text);
    const repositories = useAsk("repositories", {});
    const offers = useMemo(() => {
        const projects = (repositories.answer ?? []).map((/** @type {any} */ entry) => entry.project);
        return [...direct(text, projects), ...named(text, projects), ...hits];
    }, [text, hits, repositories.answer]);
    useEffect(() => setChosen(0), [text]);
    const current = Math.min(chosen, offers.length - 1);
    /** @param {Offer | undefined} offer */
    function take(offer) {
        if (!offer) return;
        dialog.value = null;
        go(offer.address);
    }
    /** @param {KeyboardEvent} event */
    function press(event) {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step && offers.length) {
            event.preventDefault();
            setChosen((current + step + offers.length) % offers.length);
        } else if (event.key === "Enter") {
            event.preventDefault();
            take(offers[current]);
        }
    }
    return html`<${Dialog} label="Go to anything" class="palette">
        <input type="text" value=${text} autofocus role="combobox" aria-expanded="true" aria-controls="offers"
            aria-activedescendant=${offers.length ? `offer-${current}` : undefined} aria-label="Go to"
            placeholder="A project, !7, #12, a commit, src/a.rs:42, or words" spellcheck=${false}
            onInput=${(/** @type {any} */ event) => setText(event.target.value)} onKeyDown=${press} />
        <ul id="offers" role="listbox" aria-label="Where to">
            ${offers.map((offer, number) => html`<li id=${`offer-${number}`} role="option" aria-selected=${number === current}
                class=${classes(number === current && "chosen")} onClick=${() => take(offer)} onMouseMove=${() => setChosen(number)}>
                <${Icon} name=${offer.icon} /><span class="cut">${offer.label}</span><span class="muted small">${offer.detail}</span></li>`)}
        </ul>
        ${pending && !offers.length && html`<p class="muted pad" role="status">Searching…</p>`}
        ${!pending && !offers.length && html`<p class="muted pad">Nothing has that name. Enter more, or <a href=${`/ui/search?q=${encodeURIComponent(text)}`}
            onClick=${() => (dialog.value = null)}>search for it</a>.</p>`}
    </${Dialog}>`;
}

/**
 * What a search finds for the text.
 * @param {string} text
 * @returns {{hits: Offer[], pending: boolean}}
 */
function useHits(text) {
    const [{ hits, of }, setFound] = useState(/** @type {{hits: Offer[], of: string}} */ ({ hits: [], of: "" }));
    const setHits = (/** @type {Offer[]} */ hits) => setFound({ hits, of: text });
    useEffect(() => {
        if (text.trim().length < 3) {
            setHits([]);
            return;
        }
        const abort = new AbortController();
        const timer = setTimeout(() => {
            const request = { query: text.trim(), filter: {}, mode: "lexical", limit: HITS, rerank: false };
            ask("search", request, abort.signal).then(
                (answer) => setHits(answer.hits.map(toOffer)),
                () => setHits([]),
            );
        }, PAUSE);
        return () => {
            clearTimeout(timer);
            abort.abort();
        };
    }, [text]);
    return { hits, pending: of !== text };
}

/** @param {any} hit */
function toOffer(hit) {
    const icon = hasIcon(hit.kind) ? hit.kind : hit.kind === "code" ? "entity" : "file";
    return { icon, label: hit.title, detail: `${kindName(hit.kind)} ${shorten(hit.id, hit.project)}`, address: addressOf(hit.id) };
}

/**
 * What a text names by itself: a reference, or a file and line.
 * @param {string} text
 * @param {string[]} projects
 * @returns {Offer[]}
 */
function direct(text, projects) {
    const typed = text.trim();
    const within = /^([#!]\d+)$/.exec(typed);
    if (within) return projects.map((project) => offer(`${project}${within[1]}`));
    if (/^[0-9a-f]{7,40}$/.test(typed)) return projects.map((project) => offer(`${project}@${typed}`));
    if (/^.+([#!]\d+|@[0-9a-f]{7,40})$/.test(typed) || /^@[\w.-]+/.test(typed)) return [offer(typed)];
    const place = /^([\w./-]+\.\w+|[\w.-]+\/[\w./-]+)(?::(\d+)(?:-(\d+))?)?$/.exec(typed);
    if (!place) return [];
    const lines = place[2] ? /** @type {[number, number]} */ ([Number(place[2]), Number(place[3] ?? place[2])]) : null;
    return projects.map((project) => ({
        icon: "file",
        label: typed,
        detail: `file in ${project}`,
        address: fileAddress(project, place[1] ?? "", { lines }),
    }));
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
            <div><dt>${binding.keys.split(/[ +]/).map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${binding.label}</dd></div>`)}</dl></section>`)}
        <form method="dialog"><button type="submit" autofocus>Close</button></form>
    </${Dialog}>`;
}
