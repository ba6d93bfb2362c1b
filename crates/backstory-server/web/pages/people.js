// People: who wrote and reviewed what, what waits for them, and where they know their way.

import { html, counted, number, useEffect, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty } from "../parts/state.js";
import { Ago, Day } from "../parts/time.js";
import { ProjectSelect, chosenProject, useProjects } from "../parts/project-select.js";
import { StateBadge } from "../parts/thread.js";
import { useNames } from "../parts/names.js";
import { store, stored } from "../parts/storage.js";
import { Ref, addressOf, encode, fileAddress, shorten } from "../parts/ref.js";
import { useAsk } from "../asking.js";
import { go, place, restOf } from "../router.js";

/** People that are listed, and rows of a list of one person. */
const LIMIT = 50;
const WORK = 20;
/** Days after which something that waits is stale. */
const STALE = 30;
const ME = "backstory.me";

/** The screen. */
export function Screen() {
    const id = restOf(place.value.path, "/ui/people");
    useEffect(() => {
        document.title = `${id || "People"} · backstory`;
    }, [id]);
    return html`<div class="screen">${id ? html`<${OnePerson} key=${id} id=${id} />` : html`<${Everybody} />`}</div>`;
}

function Everybody() {
    const { asked: status, projects } = useProjects();
    const project = chosenProject(projects);
    const asked = useAsk("contributors", project ? { project, path: "", limit: LIMIT } : null);
    const shown = { ...asked, error: asked.error ?? status.error, slow: asked.slow || status.slow };
    const me = stored(ME);
    /** @param {any} event */
    function open(event) {
        event.preventDefault();
        const name = event.target.elements.name.value.trim().replace(/^@/, "");
        if (name) go(`/ui/people/${encode(`@${name}`)}`);
    }
    return html`<div class="screen-head"><h1>People</h1>
            <p>${me ? html`You are <a href=${`/ui/people/${encode(me)}`}>${shorten(me)}</a>.` : "Who changed what in a project. Open your own page and mark it as yours, to find it again."}</p></div>
        <div class="row filters"><${ProjectSelect} projects=${projects} value=${project} />
            <form class="row" onSubmit=${open}><input type="text" name="name" placeholder="@alice, or an address" aria-label="Name" spellcheck=${false} />
                <button type="submit">Open</button></form></div>
        ${status.answer && !project ? html`<${Nobody} />`
            : html`<${Answered} of=${shown} lines=${12}>${(/** @type {any} */ found) => html`<${List} key=${project} found=${found} />`}</${Answered}>`}`;
}

function Nobody() {
    return html`<${Empty} title="Nobody is known yet" icon="person"><p>People come with a project's commits, issues and merge requests.</p></${Empty}>`;
}

/** @param {{found: any}} props */
function List({ found }) {
    const [text, setText] = useState("");
    const nameOf = useNames(found.people.map((/** @type {any} */ one) => one.person));
    const has = (/** @type {string} */ name) => name.toLowerCase().includes(text.toLowerCase());
    const shown = found.people.filter((/** @type {any} */ one) => has(one.person) || has(nameOf(one.person)));
    if (!found.people.length) return html`<${Nobody} />`;
    return html`<p class="filters"><input type="search" class="wide" placeholder=${`Filter ${counted(found.people.length, "person", "people")}`}
            aria-label="Filter people" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></p>
        <table class="stacked"><thead><tr><th>Person</th><th class="number">Commits</th><th class="number">Lines added</th>
            <th class="number">Lines removed</th><th class="number">Reviews</th><th>Last commit</th></tr></thead>
        <tbody>${shown.map((/** @type {any} */ one) => html`<${Row} key=${one.person} one=${one} name=${nameOf(one.person)} />`)}</tbody></table>
        ${!shown.length && html`<p class="muted" role="status">Nobody here is called ${text}.</p>`}
        ${found.left_out > 0 && html`<p class="muted small">${counted(found.left_out, "more person", "more people")}; open one by name.</p>`}`;
}

/** @param {{one: any, name: string}} props */
function Row({ one, name }) {
    const counts = [["commits", one.commits], ["added", one.insertions], ["removed", one.deletions], ["reviews", one.reviews]];
    return html`<tr><td><${Ref} id=${one.person} title=${name} /></td>
        ${counts.map(([label, count]) => html`<td class="number" data-label=${label}>${number(count)}</td>`)}
        <td class="tight"><${Ago} at=${one.last_at} /></td></tr>`;
}

/** What is counted of one person: its name, and that of the server. */
const TOTALS = [["Commits", "commits"], ["Merge requests", "merge_requests"], ["Reviews", "reviews"], ["Issues", "issues"], ["Discussions", "discussions"]];

/** @param {{id: string}} props */
function OnePerson({ id }) {
    const asked = useAsk("person", { name: id, projects: [], after: null, before: null, stale_days: STALE, limit: WORK });
    return html`<${Answered} of=${asked} lines=${14}>${(/** @type {any} */ person) => html`
        <${Head} id=${id} person=${person} />
        <dl class="facts totals">${TOTALS.map(([label, name = ""]) => html`<div><dt>${label}</dt><dd>${number(person.totals[name])}</dd></div>`)}</dl>
        <div class="item-layout"><div class="stack">
            <${Waiting} waiting=${person.waiting} />
            <${Threads} title="Opened" threads=${person.work.opened} /><${Threads} title="Reviewed" threads=${person.work.reviewed} />
            <${Commits} commits=${person.work.commits} />
        </div><aside class="item-side"><${Areas} areas=${person.work.areas} /></aside></div>`}</${Answered}>`;
}

/** @param {{id: string, person: any}} props */
function Head({ id, person }) {
    const [me, setMe] = useState(stored(ME) === id);
    /** Says that this is who looks. */
    function toggle() {
        store(ME, me ? null : id);
        setMe(!me);
    }
    return html`<header class="item-head"><p class="byline"><a href="/ui/people">People</a><span class="mono">${id}</span></p><h1>${person.names[0] ?? id}</h1>
        <p class="byline">${person.names.slice(1).map((/** @type {string} */ name) => html`<span>also ${name}</span>`)}
            ${person.identities.map((/** @type {string} */ one) => html`<span class="mono small">${one}</span>`)}</p>
        <p class="row no-print"><button type="button" class="small" aria-pressed=${me} onClick=${toggle}><${Icon} name="person" /> This is me</button>
            <a class="button small" href=${`/ui/graph/${encode(id)}`}><${Icon} name="graph" /> Graph</a></p></header>`;
}

/** @param {{commits: any[]}} props */
function Commits({ commits }) {
    if (!commits.length) return null;
    return html`<section><h2>Commits</h2><ul class="thread-list">${commits.map((commit) => html`
        <li><${Day} at=${commit.date} /><a href=${addressOf(commit.id)}>${commit.title}</a></li>`)}</ul></section>`;
}

/** @param {{areas: any[]}} props */
function Areas({ areas }) {
    const address = (/** @type {any} */ area) => fileAddress(area.project, area.path.endsWith("/") || !area.path ? area.path : `${area.path}/`);
    return html`<section><h3>Knows</h3>${areas.length === 0 ? html`<p class="muted small">No commit in this time.</p>`
        : html`<ul>${areas.map((area) => html`<li class="row spread beside"><a class="mono small cut" href=${address(area)}>${area.path || area.project}</a>
            <span class="muted small numeric" title=${counted(area.commits, "commit")}>${number(area.commits)}</span></li>`)}</ul>`}</section>`;
}

/** @param {{waiting: any}} props */
function Waiting({ waiting }) {
    const notes = [...waiting.mentioned, ...waiting.replies];
    const count = waiting.assigned.length + waiting.to_review.length + notes.length + waiting.stale.length;
    if (!count) return html`<p class="muted">Nothing needs attention.</p>`;
    return html`<h2>${counted(count, "thing")} ${count === 1 ? "needs" : "need"} attention</h2>
        <${Threads} title="To review" threads=${waiting.to_review} /><${Threads} title="Assigned" threads=${waiting.assigned} />
        <${Threads} title=${`Without change for ${STALE} days`} threads=${waiting.stale} />
        ${notes.length > 0 && html`<section><h3>Waits for a reply</h3>
            <ul class="thread-list">${notes.map((note) => html`<${WaitingNote} key=${note.id} note=${note} />`)}</ul></section>`}`;
}

/** @param {{note: any}} props */
function WaitingNote({ note }) {
    return html`<li><${Ago} at=${note.at} /><div><a href=${addressOf(note.id)}>${note.title}</a> <span class="muted small">${shorten(note.thread)}</span>
        <p class="muted small">${note.author && `@${note.author}: `}${note.text}</p></div></li>`;
}

/** @param {{title: string, threads: any[]}} props */
function Threads({ title, threads }) {
    if (!threads.length) return null;
    return html`<section><h3>${title}</h3><ul class="thread-list">${threads.map((thread) => html`<li><${StateBadge} state=${thread.state} />
        <div><a class="thread-title" href=${addressOf(thread.id)}>${thread.title}</a>
        <p class="byline"><${Ref} id=${thread.id} icon=${false} /><span>changed <${Ago} at=${thread.updated_at} /></span></p></div></li>`)}</ul></section>`;
}
