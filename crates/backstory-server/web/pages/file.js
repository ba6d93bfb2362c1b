// A file with lineage in its gutter, its tree beside it, and the trace of what is selected. A directory if the path is one.

import { html, classes, number, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, Notice } from "../parts/state.js";
import { Code } from "../parts/code.js";
import { FileHead, LeftOut } from "../parts/file-head.js";
import { locate, requestAt } from "../parts/file-place.js";
import { fileKeys, useScroll } from "../parts/file-keys.js";
import { RunCard } from "../parts/run-card.js";
import { runsOf, sameRuns } from "../parts/runs.js";
import { Outline } from "../parts/outline.js";
import { SidePanel } from "../parts/side-panel.js";
import { Tree } from "../parts/tree.js";
import { addressOf, fileAddress } from "../parts/ref.js";
import { useAsk } from "../asking.js";
import { useKeys } from "../keys.js";
import { go, place } from "../router.js";
import { DirectoryView } from "./directory.js";

/** @typedef {import("../parts/code.js").Range} Range */
/** @typedef {import("../parts/runs.js").Run} Run */

/** Milliseconds that the pointer must rest on the gutter until the card is shown. */
const REST = 120;

/** The screen. */
export function Screen() {
    const { path: address, query, hash } = place.value;
    const at = locate(address, query, hash);
    const { project, path, rev, selected, plain, isDirectory } = at;
    // The same text with another gutter may stay until that is there.
    const keepLast = (/** @type {any} */ last) => last.project === project && last.path === path && last.rev === rev;
    const asked = useAsk("file", requestAt(at), { keepLast });
    const [open, setOpen] = useState(false);
    useEffect(() => {
        document.title = `${path.split("/").at(-1) || project} · backstory`;
        setOpen(false);
    }, [project, path]);
    return html`<div class=${classes("file-screen", selected && !isDirectory && "with-panel")}>
        <aside class=${classes("file-tree no-print", open && "open")} aria-label="Files and symbols"
            ><${Beside} project=${project} path=${path} rev=${rev} file=${asked.answer} selected=${selected} /></aside>
        <section class="file-main">
            <div class="row spread"><${Crumbs} project=${project} path=${path} rev=${rev} />
                <button type="button" class="small tree-button no-print" aria-expanded=${open} onClick=${() => setOpen(!open)}
                    ><${Icon} name="menu" /> Files</button></div>
            ${isDirectory
                ? html`<${DirectoryView} project=${project} path=${path.replace(/\/$/, "")} rev=${rev} />`
                : html`<${Answered} of=${asked} lines=${24}>${(/** @type {any} */ file) => html`<${Shown} key=${`${file.id} ${rev}`} file=${file}
                    rev=${rev} plain=${plain} selected=${selected} again=${asked.again} />`}</${Answered}>`}
        </section>
        ${selected && !isDirectory && html`<${SidePanel} project=${project} path=${path} rev=${rev} selected=${selected} plain=${plain} />`}
    </div>`;
}

/**
 * What is beside the code: the files of the repository, or the symbols of the file.
 * @param {{project: string, path: string, rev: string | null, file: any, selected: Range | null}} props
 */
function Beside({ project, path, rev, file, selected }) {
    const [view, setView] = useState("files");
    const views = [["files", "Files"], ["symbols", file?.symbols?.length ? `Symbols ${number(file.symbols.length)}` : "Symbols"]];
    const shown = file ? view : "files";
    return html`${file && html`<div class="beside-tabs" role="group" aria-label="What is listed">${views.map(([name = "", label]) => html`
            <button type="button" class="chip" aria-pressed=${shown === name} onClick=${() => setView(name)}>${label}</button>`)}</div>`}
        <div hidden=${shown !== "files"}><${Tree} key=${`${project} ${rev}`} project=${project} rev=${rev} path=${path} /></div>
        ${shown === "symbols" && html`<${Outline} key=${file.id} file=${file} rev=${rev} selected=${selected} />`}`;
}

/** @param {{project: string, path: string, rev: string | null}} props */
function Crumbs({ project, path, rev }) {
    const parts = path.split("/").filter(Boolean);
    return html`<h1 class="crumbs"><a href=${addressOf(project)}>${project}</a>${parts.map((part, number) => {
        const isLast = number === parts.length - 1 && !path.endsWith("/");
        const target = parts.slice(0, number + 1).join("/");
        const shown = isLast ? html`<span>${part}</span>` : html`<a href=${fileAddress(project, `${target}/`, { rev })}>${part}</a>`;
        return html`<span class="muted">/</span>${shown}`;
    })}</h1>`;
}

/**
 * The run of lines whose card is shown: one on which the pointer rests, until it or the page moves.
 * @param {any} file
 */
function useCard(file) {
    const [card, setCard] = useState(/** @type {{run: Run, box: DOMRect} | null} */ (null));
    const timer = useRef(0);
    const show = (/** @type {Run | null} */ run, /** @type {Element | undefined} */ element) => {
        clearTimeout(timer.current);
        if (!run || !element) return setCard(null);
        timer.current = window.setTimeout(() => setCard({ run, box: element.getBoundingClientRect() }), REST);
    };
    useEffect(() => {
        const hide = () => show(null, undefined);
        hide();
        window.addEventListener("scroll", hide, { passive: true });
        return () => {
            clearTimeout(timer.current);
            window.removeEventListener("scroll", hide);
        };
    }, [file]);
    return { card, show };
}

/** Where the code begins in the window, in pixels. */
function topOfCode() {
    return document.querySelector(".code")?.getBoundingClientRect().top ?? null;
}

/** @param {{file: any, rev: string | null, plain: boolean, selected: Range | null, again: () => void}} props */
function Shown({ file, rev, plain, selected, again }) {
    const known = useRef(/** @type {Run[]} */ ([]));
    const runs = useMemo(() => (known.current = sameRuns(known.current, runsOf(file))), [file]);
    const { card, show } = useCard(file);
    const anchor = useRef(selected?.first ?? 0);
    const here = (/** @type {any} */ lines, /** @type {string | null} */ at = rev) => fileAddress(file.project, file.path, { rev: at, lines, plain });
    /**
     * @param {Range} range
     * @param {any} [event]
     */
    function select(range, event) {
        if (event?.shiftKey && anchor.current) {
            const first = Math.min(anchor.current, range.first);
            range = { first, last: Math.max(anchor.current, range.last) };
        } else anchor.current = range.first;
        show(null, undefined);
        was.current = topOfCode();
        go(here([range.first, range.last]), { keepScroll: true, replace: Boolean(selected) });
    }
    // What was clicked stays where it is: beside the trace there is less room above the code, so that more lines are needed.
    const was = useRef(/** @type {number | null} */ (null));
    useLayoutEffect(() => {
        // Only then: it makes the browser lay out at once all that was just drawn.
        if (was.current === null) return;
        const top = topOfCode();
        if (top !== null && top !== was.current) window.scrollBy(0, top - was.current);
        was.current = null;
    }, [selected?.first, selected?.last]);
    const [first, last] = file.lines ?? [1, 0];
    useScroll(selected, first);
    useKeys("File", fileKeys({ file, runs, selected, last: () => anchor.current, select, here }));
    const head = html`<${FileHead} file=${file} rev=${rev} plain=${plain} runs=${runs} again=${again} />`;
    if (file.left_out) return html`${head}<${LeftOut} file=${file} />`;
    if (!file.text) return html`${head}<${Empty} title="This file is empty" icon="file" />`;
    return html`${head}
        ${file.line_count > last && html`<${Notice}>The first ${number(last)} of ${number(file.line_count)} lines are shown.</${Notice}>`}
        ${(file.lineage?.left_out ?? []).map((/** @type {string} */ sentence) => html`<${Notice}>Left out: ${sentence}.</${Notice}>`)}
        <${Code} file=${file} runs=${runs} selected=${selected} select=${select} show=${show} />
        ${card && card.run.start !== selected?.first && html`<${RunCard} file=${file} run=${card.run} box=${card.box} />`}`;
}
