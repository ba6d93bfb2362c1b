// The frame around every screen: navigation, search field, dialogs, and signing in.

import { html, classes, useEffect, useErrorBoundary, useLayoutEffect, useState } from "./parts/html.js";
import { Icon } from "./parts/icons.js";
import { parse } from "./parts/ref.js";
import { Failed, Waiting } from "./parts/state.js";
import { session, signInNeeded, signOut } from "./api.js";
import { dialog, keyNames } from "./keys.js";
import { go, place, restOf, screenAt } from "./router.js";
import { nextTheme, theme } from "./theme.js";
import { SignIn } from "./sign-in.js";
import { Toast } from "./parts/copy.js";

/** Milliseconds after which loading a screen is shown. */
const SLOW = 200;
/** Milliseconds after which the dialogs are fetched. */
const SOON = 2000;

/** What the navigation has: icon, name, address, and the screens that it is lit for. */
const ENTRIES = [
    ["projects", "Projects", "/", ["projects", "file", "why"]],
    ["search", "Search", "/ui/search", ["search"]],
    ["issue", "Issues & requests", "/ui/items", ["items", "item"]],
    ["chat", "Ask", "/ui/ask", ["ask"]],
    ["graph", "Graph", "/ui/graph", ["graph"]],
    ["history", "History", "/ui/history", ["history", "commit"]],
    ["person", "People", "/ui/people", ["people"]],
];
const MORE = [
    ["jobs", "Index & jobs", "/ui/jobs", ["jobs"]],
    ["ranking", "Ranking", "/ui/ranking", ["ranking"]],
    ["snapshots", "Snapshots", "/ui/snapshots", ["snapshots"]],
    ["agents", "Connect an agent", "/ui/agents", ["agents"]],
];

/** The whole page. */
export function Shell() {
    const screen = screenAt(place.value.path);
    const isCommit = screen?.name === "item" && parse(restOf(place.value.path, screen.prefix)).kind === "commit";
    const lit = isCommit ? "commit" : screen?.name;
    const [menu, setMenu] = useState(false);
    useEffect(() => setMenu(false), [place.value.path]);
    return html`
        <a class="skip" href="#main" onClick=${toMain}>Skip to the content</a>
        <header class="top">
            <button type="button" class="quiet menu-button" aria-expanded=${menu} aria-controls="navigation"
                onClick=${() => setMenu(!menu)}><${Icon} name=${menu ? "close" : "menu"} /><span class="hidden">Menu</span></button>
            <a class="brand" href="/" aria-label="backstory"><${Mark} /><span>backstory</span></a>
            <${SearchField} />
            <button type="button" class="quiet go-button" onClick=${() => (dialog.value = "palette")}
                title=${`Go to anything (${keyNames("Ctrl+k").join(" ")})`}
                ><span>Go to</span><kbd>${keyNames("Ctrl+k").join(" ")}</kbd></button>
            <button type="button" class="quiet" onClick=${nextTheme} title=${`Colors: ${theme.value}`}>
                <${Icon} name=${`theme_${theme.value}`} /><span class="hidden">Colors: ${theme.value}</span></button>
            ${session.value?.needs_token && session.value.granted && html`
                <button type="button" class="quiet" onClick=${() => signOut()} title="Sign out"
                    ><${Icon} name="out" /><span class="hidden">Sign out</span></button>`}
        </header>
        <nav id="navigation" class=${classes("side", menu && "open")} aria-label="Screens">
            <ul>${ENTRIES.map((entry) => html`<${Entry} entry=${entry} screen=${lit} />`)}</ul>
            <ul>${MORE.map((entry) => html`<${Entry} entry=${entry} screen=${lit} />`)}</ul>
            <ul class="outside">
                <li><a href="/graphql" target="_blank" rel="noopener"><${Icon} name="open" /><span>GraphQL</span></a></li>
                <li><button type="button" onClick=${() => (dialog.value = "keys")}><kbd>?</kbd><span>Keys</span></button></li>
            </ul>
        </nav>
        <main id="main" tabindex="-1">
            ${signInNeeded.value ? html`<${SignIn} />` : html`<${Current} key=${screen?.name} screen=${screen} />`}
        </main>
        <${Dialogs} />
        <${Toast} />`;
}

/** The dialog that is open. The first page needs none; they are there soon after it, so that they open at once. */
function Dialogs() {
    const [loaded, setLoaded] = useState(/** @type {any} */ (null));
    const isWanted = dialog.value !== null;
    useEffect(() => {
        if (loaded) return;
        const fail = () => (dialog.value = null);
        const load = () => import("./parts/palette.js").then((module) => setLoaded({ palette: module.Palette, keys: module.KeysDialog }), fail);
        const timer = setTimeout(load, isWanted ? 0 : SOON);
        return () => clearTimeout(timer);
    }, [isWanted, loaded]);
    const Shown = loaded?.[dialog.value ?? ""];
    return Shown ? html`<${Shown} />` : null;
}

/** @param {Event} event */
function toMain(event) {
    event.preventDefault();
    document.getElementById("main")?.focus();
}

/** @param {{entry: any[], screen: string | undefined}} props */
function Entry({ entry: [icon, label, address, screens], screen }) {
    const current = screens.includes(screen) ? "page" : undefined;
    return html`<li><a href=${address} aria-current=${current}><${Icon} name=${icon} /><span>${label}</span></a></li>`;
}

function Mark() {
    return html`<svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true" class="mark"><rect width="32" height="32" rx="7" />
        <path d="M8 9h11M8 16h16M8 23h8" /><circle cx="23.500" cy="9" r="2.600" /></svg>`;
}

function SearchField() {
    const onSearch = place.value.path.startsWith("/ui/search");
    const shown = onSearch ? (place.value.query.get("q") ?? "") : "";
    /** @param {Event} event */
    function submit(event) {
        event.preventDefault();
        const field = /** @type {HTMLInputElement | null} */ (document.getElementById("search-field"));
        const query = onSearch ? new URLSearchParams(location.search) : new URLSearchParams();
        query.set("q", field?.value.trim() ?? "");
        if (query.get("q")) go(`/ui/search?${query}`);
    }
    return html`<form class="search-form" role="search" onSubmit=${submit}>
        <${Icon} name="search" />
        <input id="search-field" type="search" name="q" placeholder="Search decisions, discussions, commits and code"
            aria-label="Search" autocomplete="off" spellcheck=${false} key=${shown} defaultValue=${shown} />
        <kbd aria-hidden="true">/</kbd>
    </form>`;
}

/**
 * Screens that were loaded before are there at once, so that going back does not show an empty page first.
 * @type {Map<string, any>}
 */
const loadedScreens = new Map();

/**
 * The screen of the address, loaded when it is needed.
 * @param {{screen: import("./router.js").Screen | null}} props
 */
function Current({ screen }) {
    const [loaded, setLoaded] = useState(() => loadedScreens.get(screen?.name ?? "") ?? null);
    const [slow, setSlow] = useState(false);
    const [failure, setFailure] = useState(/** @type {any} */ (null));
    const [broken, reset] = useErrorBoundary();
    // Before the screen, which may know a better one.
    useLayoutEffect(() => {
        document.title = screen ? `${screen.label} · backstory` : "Not found · backstory";
    }, [screen]);
    useEffect(() => {
        if (!screen || loaded) return;
        const timer = setTimeout(() => setSlow(true), SLOW);
        const keep = (/** @type {any} */ module) => {
            loadedScreens.set(screen.name, { Screen: module.Screen });
            setLoaded(loadedScreens.get(screen.name));
        };
        screen.load().then(keep, setFailure).finally(() => clearTimeout(timer));
        return () => clearTimeout(timer);
    }, [screen]);
    if (!screen) return html`<${NotFound} />`;
    if (broken) {
        console.error(broken);
        const error = { message: "This screen could not be drawn", code: "PAGE", hint: String(broken?.message ?? broken) };
        return html`<${Failed} error=${error} again=${reset} />`;
    }
    if (failure) {
        const error = { message: "This screen could not be loaded", code: "PAGE", hint: "The server was replaced or has ended; load the page again" };
        return html`<${Failed} error=${error} again=${() => location.reload()} />`;
    }
    return loaded ? html`<${loaded.Screen} />` : html`<${Waiting} shown=${slow} lines=${6} />`;
}

function NotFound() {
    return html`<div class="empty"><${Icon} name="info" /><div><h1>There is no such page</h1>
        <p class="prose">Begin at the <a href="/">projects</a>, or press <kbd>${keyNames("Ctrl+k").join(" ")}</kbd> to go anywhere.</p></div></div>`;
}
