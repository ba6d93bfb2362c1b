// A file with lineage in its gutter, its tree beside it, and the trace of what is selected. A directory if the path is one.

import { html, classes, useEffect, useMemo, useRef, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, Notice } from "../parts/state.js";
import { AgeLegend, Code, LINE, runsOf } from "../parts/code.js";
import { Ago } from "../parts/time.js";
import { permits } from "../parts/change.js";
import { CopyButton, copy, say } from "../parts/copy.js";
import { RunCard } from "../parts/run-card.js";
import { Outline } from "../parts/outline.js";
import { SidePanel } from "../parts/side-panel.js";
import { EnrichButton, QueueButton } from "../parts/started.js";
import { Tree } from "../parts/tree.js";
import { addressOf, encode, fileAddress } from "../parts/ref.js";
import { ask, useAsk } from "../api.js";
import { useKeys } from "../keys.js";
import { go, place, restOf, setQuery } from "../router.js";
import { DirectoryView } from "./directory.js";

/** Bytes in units that people read. */
export function size(/** @type {number} */ bytes) {
    return bytes < 1024 ? `${bytes} B` : bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} kB` : `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}

/** What the address says. */
function located() {
    const rest = restOf(place.value.path, "/ui/file");
    const cut = rest.indexOf("/-/");
    const project = cut < 0 ? rest.replace(/\/-?$/, "") : rest.slice(0, cut);
    const path = cut < 0 ? "" : rest.slice(cut + 3);
    const lines = /^L(\d+)(?:-L?(\d+))?$/.exec(place.value.hash);
    const first = lines ? Number(lines[1]) : 0;
    const selected = lines ? { first, last: Math.max(first, Number(lines[2] ?? first)) } : null;
    return { project, path, rev: place.value.query.get("rev"), selected };
}

/** The screen. */
export function Screen() {
    const { project, path, rev, selected } = located();
    const isDirectory = !path || path.endsWith("/");
    const plain = place.value.query.get("blame") === "plain";
    const asked = useAsk("file", isDirectory ? null : { project, path, rev, lineage: true, symbols: true, plain });
    // While the next file is on its way, the last one is not shown as if it were that.
    const answer = asked.answer?.project === project && asked.answer.path === path ? asked.answer : null;
    const [open, setOpen] = useState(false);
    useEffect(() => {
        document.title = `${path.split("/").at(-1) || project} · backstory`;
        setOpen(false);
    }, [project, path]);
    return html`<div class=${classes("file-screen", selected && !isDirectory && "with-panel")}>
        <aside class=${classes("file-tree no-print", open && "open")} aria-label="Files and symbols"><${Beside} project=${project} path=${path} rev=${rev} file=${answer} selected=${selected} /></aside>
        <section class="file-main">
            <div class="row spread"><${Crumbs} project=${project} path=${path} rev=${rev} />
                <button type="button" class="small tree-button no-print" aria-expanded=${open} onClick=${() => setOpen(!open)}><${Icon} name="menu" /> Files</button></div>
            ${isDirectory
                ? html`<${DirectoryView} project=${project} path=${path.replace(/\/$/, "")} rev=${rev} />`
                : html`<${Answered} of=${{ ...asked, answer }} lines=${24}>${(/** @type {any} */ file) => html`<${Shown} key=${file.path} file=${file} rev=${rev} plain=${plain} selected=${selected} again=${asked.again} />`}</${Answered}>`}
        </section>
        ${selected && !isDirectory && html`<${SidePanel} project=${project} path=${path} rev=${rev} selected=${selected} plain=${plain} />`}
    </div>`;
}

/**
 * What is beside the code: the files of the repository, or the symbols of the file.
 * @param {{project: string, path: string, rev: string | null, file: any, selected: import("../parts/code.js").Range | null}} props
 */
function Beside({ project, path, rev, file, selected }) {
    const [view, setView] = useState("files");
    const views = [["files", "Files"], ["symbols", file?.symbols?.length ? `Symbols ${file.symbols.length.toLocaleString("en")}` : "Symbols"]];
    const shown = file ? view : "files";
    return html`${file && html`<div class="beside-tabs" role="group" aria-label="What is listed">${views.map(([name = "", label]) => html`
            <button type="button" class="chip" aria-pressed=${shown === name} onClick=${() => setView(name)}>${label}</button>`)}</div>`}
        <div hidden=${shown !== "files"}><${Tree} key=${`${project} ${rev}`} project=${project} rev=${rev} path=${path} /></div>
        ${shown === "symbols" && html`<${Outline} file=${file} rev=${rev} selected=${selected} />`}`;
}

/** @param {{project: string, path: string, rev: string | null}} props */
function Crumbs({ project, path, rev }) {
    const parts = path.split("/").filter(Boolean);
    return html`<h1 class="crumbs"><a href=${addressOf(project)}>${project}</a>${parts.map((part, number) => {
        const isLast = number === parts.length - 1 && !path.endsWith("/");
        const target = parts.slice(0, number + 1).join("/");
        return html`<span class="muted">/</span>${isLast ? html`<span>${part}</span>` : html`<a href=${fileAddress(project, `${target}/`, { rev })}>${part}</a>`}`;
    })}</h1>`;
}

/** @param {{file: any, rev: string | null, plain: boolean, selected: import("../parts/code.js").Range | null, again: () => void}} props */
function Shown({ file, rev, plain, selected, again }) {
    const runs = useMemo(() => runsOf(file), [file]);
    const [card, setCard] = useState(/** @type {any} */ (null));
    const anchor = useRef(selected?.first ?? 0);
    useEffect(() => setCard(null), [file]);
    const here = (/** @type {any} */ lines, /** @type {string | null} */ at = rev) => fileAddress(file.project, file.path, { rev: at, lines, plain });
    /**
     * @param {import("../parts/code.js").Range} range
     * @param {any} [event]
     */
    function select(range, event) {
        if (event?.shiftKey && anchor.current) {
            const first = Math.min(anchor.current, range.first);
            range = { first, last: Math.max(anchor.current, range.last) };
        } else anchor.current = range.first;
        go(here([range.first, range.last]), { keepScroll: true, replace: Boolean(selected) });
    }
    useScroll(selected);
    useKeys("File", fileKeys({ file, runs, selected, select, here }));
    if (file.left_out) return html`<${FileHead} file=${file} rev=${rev} plain=${plain} runs=${runs} again=${again} /><${LeftOut} file=${file} />`;
    if (!file.text) return html`<${FileHead} file=${file} rev=${rev} plain=${plain} runs=${runs} again=${again} /><${Empty} title="This file is empty" icon="file" />`;
    const cut = file.line_count > (file.lines?.[1] ?? 0);
    return html`<${FileHead} file=${file} rev=${rev} plain=${plain} runs=${runs} again=${again} />
        ${cut && html`<${Notice}>The first ${file.lines[1].toLocaleString("en")} of ${file.line_count.toLocaleString("en")} lines are shown.</${Notice}>`}
        ${(file.lineage?.left_out ?? []).map((/** @type {string} */ sentence) => html`<${Notice}>Left out: ${sentence}.</${Notice}>`)}
        <${Code} file=${file} runs=${runs} selected=${selected} select=${select}
            show=${(/** @type {any} */ run, /** @type {Element} */ element) => setCard(run && run.start !== selected?.first ? { run, box: element.getBoundingClientRect() } : null)} />
        ${card && html`<${RunCard} file=${file} run=${card.run} box=${card.box} />`}`;
}

/** @param {{file: any, rev: string | null, plain: boolean, runs: import("../parts/code.js").Run[], again: () => void}} props */
function FileHead({ file, rev, plain, runs, again }) {
    const { commit, synced_at: synced } = file.indexed;
    return html`<div class="file-head">
        <p class="byline">
            ${file.line_count !== null && html`<span class="numeric">${file.line_count.toLocaleString("en")} lines</span>`}
            <span class="numeric">${size(file.bytes)}</span>
            ${file.language && html`<span>${file.language}</span>`}
            <span>${rev ? html`at <a href=${`/ui/item/${encode(`${file.project}@${file.rev}`)}`}>${file.rev.slice(0, 8)}</a>, <a href=${fileAddress(file.project, file.path)}>go to the head</a>`
                : html`at ${(commit ?? file.rev).slice(0, 8)}, synced <${Ago} at=${synced} />`}</span>
        </p>
        <div class="row no-print"><${AgeLegend} runs=${runs} />
            ${file.lineage && html`<button type="button" class="small" aria-pressed=${!plain} title="Follow lines through moved and copied blocks and reformatting, or as git blame -w does"
                onClick=${() => setQuery({ blame: plain ? null : "plain" })}>Through moves</button>`}
            <a class="button small" href=${`/ui/history/${encode(file.id)}`}><${Icon} name="history" /> History</a>
            <a class="button small" href=${`/ui/graph/${encode(file.id)}`}><${Icon} name="graph" /> Graph</a>
            ${permits("sync") && !rev && html`<${QueueButton} project=${file.project} kind="sync" label="Index now" icon="retry" then=${again} />`}
            ${permits("admin") && html`<${EnrichButton} project=${file.project} />`}
            <${CopyButton} what="Path" quiet text=${() => file.path} /></div>
    </div>`;
}

/** @param {{file: any}} props */
function LeftOut({ file }) {
    /** @type {Record<string, string>} */
    const why = { binary: "It is not text.", too_large: `It is too large to show: ${size(file.bytes)}.`, symbolic_link: "It is a symbolic link." };
    return html`<${Empty} title="There is nothing to read here" icon="file"><p>${why[file.left_out] ?? "It cannot be shown."}
        Its <a href=${`/ui/history/${encode(file.id)}`}>history</a> is known all the same.</p></${Empty}>`;
}

/**
 * Brings the selected lines into view when the page is opened at them.
 * @param {import("../parts/code.js").Range | null} selected
 */
function useScroll(selected) {
    useEffect(() => {
        if (!selected) return;
        const line = document.getElementById(`L${selected.first}`);
        if (!line) return;
        const box = line.getBoundingClientRect();
        const isVisible = box.top > 120 && box.bottom < window.innerHeight - 40;
        if (!isVisible) window.scrollTo({ top: window.scrollY + box.top - Math.min(window.innerHeight / 3, LINE * 12) });
    }, [selected?.first]);
}

/**
 * @param {{file: any, runs: any[], selected: any, select: (range: any) => void, here: (lines: any, rev?: any) => string}} view
 * @returns {import("../keys.js").Binding[]}
 */
function fileKeys({ file, runs, selected, select, here }) {
    /** @param {number} step */
    function move(step) {
        const line = selected?.first ?? 0;
        const at = runs.findIndex((run) => line >= run.start && line < run.start + run.lines);
        const run = runs[at < 0 ? 0 : Math.min(Math.max(at + step, 0), runs.length - 1)];
        if (!run) return;
        select({ first: run.start, last: run.start + run.lines - 1 });
        // Who is in the gutter goes along, so that Tab leads from there to the trace.
        if (document.activeElement?.matches(".reason-title, body, main")) {
            requestAnimationFrame(() => /** @type {HTMLElement | null} */ (document.querySelector(`[data-run="${run.start}"]`))?.focus({ preventScroll: true }));
        }
    }
    return [
        { keys: "j", label: "Next run of lines", run: () => move(1) },
        { keys: "k", label: "Previous run of lines", run: () => move(-1) },
        { keys: "b", label: "What was there before the selected lines", run: () => before(file, selected) },
        {
            keys: "y",
            label: "Permanent address of the selection",
            run: () => {
                const address = here(selected && [selected.first, selected.last], file.rev);
                go(address, { replace: true, keepScroll: true });
                copy(new URL(address, location.href).href, "Permanent address");
            },
        },
        { keys: "t", label: "Into the trace", run: () => /** @type {HTMLElement | null} */ (document.querySelector(".side-panel-body a, .side-panel-body button"))?.focus() },
        { keys: "h", label: "History of the file", run: () => go(`/ui/history/${encode(file.id)}`) },
        { keys: "Escape", label: "Close the trace", run: () => selected && go(here(null), { replace: true, keepScroll: true }) },
    ];
}

/**
 * Goes to what the selected lines replaced.
 * @param {any} file
 * @param {any} selected
 */
async function before(file, selected) {
    if (!selected) return say("Select lines first");
    const target = { lines: { path: file.path, lines: [selected.first, selected.last] } };
    say("Looking for what was there before…");
    try {
        const trace = await ask("trace", { project: file.project, target, rev: file.rev, earlier: 1 });
        const version = trace.earlier[0];
        if (!version) return say("Nothing was there before: these lines were added");
        go(fileAddress(file.project, version.path, { rev: version.commit, lines: [version.line, version.line + version.lines - 1] }));
    } catch (error) {
        say(/** @type {Error} */ (error).message);
    }
}
