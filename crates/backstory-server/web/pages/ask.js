// Questions and conversations: statements with their sources, each of which can be verified, or a refusal that says what
// was searched.

import { html, classes, useEffect, useRef, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, Failed, Waiting } from "../parts/state.js";
import { Ago } from "../parts/time.js";
import { AddRepository } from "../parts/add-repository.js";
import { AnswerView } from "../parts/answer.js";
import { Change, permits } from "../parts/change.js";
import { Ref } from "../parts/ref.js";
import { ask, changed, useAsk } from "../api.js";
import { useKeys } from "../keys.js";
import { go, place, restOf } from "../router.js";

/** Conversations and messages that are listed. */
const CHATS = 100;
const MESSAGES = 200;
/** Milliseconds between two looks at the repositories. */
const LOOK = 10_000;

/** The screen. */
export function Screen() {
    const rest = restOf(place.value.path, "/ui/ask");
    const chat = /^\d+$/.test(rest) ? Number(rest) : null;
    const question = place.value.query.get("q")?.trim() ?? "";
    const chats = useAsk("chats", { limit: CHATS });
    const known = (chats.answer ?? []).find((/** @type {any} */ entry) => entry.id === chat);
    const project = chat === null ? place.value.query.get("project") : (known?.project ?? null);
    useKeys("Ask", [{ keys: "n", label: "New question", run: () => go(askAddress(project)) }]);
    return html`<div class=${classes("ask-layout", (question || chat !== null) && "asked")}>
        <aside class="ask-side">
            <${Repositories} project=${project} />
            <a class="button" href=${askAddress(project)}><${Icon} name="plus" /> New question</a>
            <section><h2 class="side-title">Conversations${project ? ` about ${project}` : ""}</h2>
            <${Answered} of=${chats} lines=${4}>${(/** @type {any[]} */ list) => {
                const shown = list.filter((entry) => !project || entry.project === project);
                return shown.length === 0 ? html`<p class="muted small">None is kept${project ? " about it" : ""} yet. Answers to a single question are not kept.</p>`
                    : html`<ul>${shown.map((entry) => html`<${ChatEntry} key=${entry.id} chat=${entry} current=${entry.id === chat} again=${chats.again} />`)}</ul>`;
            }}</${Answered}></section>
        </aside>
        ${chat === null ? html`<${Single} key=${`${project} ${question}`} question=${question} project=${project} />` : html`<${Conversation} key=${chat} chat=${chat} project=${project} renamed=${chats.again} />`}
    </div>`;
}

/**
 * Where a question is asked, of one repository or all.
 * @param {string | null} project
 * @param {string} [question]
 */
function askAddress(project, question) {
    const query = new URLSearchParams();
    if (project) query.set("project", project);
    if (question) query.set("q", question);
    return `/ui/ask${query.size ? `?${query}` : ""}`;
}

/**
 * The repositories that can be asked about, how each stands, and a form for another.
 * @param {{project: string | null}} props
 */
function Repositories({ project }) {
    const status = useAsk("sync-status", { runs: 1 }, { every: LOOK });
    const repositories = useAsk("repositories", {}, { every: LOOK });
    const states = new Map((repositories.answer ?? []).map((/** @type {any} */ one) => [one.project, one]));
    const again = () => {
        status.again();
        repositories.again();
    };
    return html`<section><h2 class="side-title">Repositories</h2>
        <${Answered} of=${status} lines=${2}>${(/** @type {any} */ { freshness }) => html`<ul class="scopes">
            ${freshness.length !== 1 && html`<li><a class="chat-link" href="/ui/ask" aria-current=${project ? undefined : "true"}>All</a></li>`}
            ${freshness.map((/** @type {any} */ { project: name, last_error: error }) => {
                const repository = states.get(name);
                const state = repository?.state ?? (error ? "error" : "ready");
                return html`<li key=${name}><a class="chat-link row spread" href=${askAddress(name)} aria-current=${project === name ? "true" : undefined} title=${repository?.last_error ?? error ?? undefined}
                    ><span class="cut">${name}</span>${state !== "ready" && html`<span class=${`badge ${state}`}>${state}</span>`}</a></li>`;
            })}</ul>`}</${Answered}>
        ${permits("sync") && html`<details class="small ask-add"><summary>Add a repository</summary><${AddRepository} then=${again} /></details>`}</section>`;
}

/** @param {{chat: any, current: boolean, again: () => void}} props */
function ChatEntry({ chat, current, again }) {
    return html`<li class="chat-entry"><a class="chat-link" href=${`/ui/ask/${chat.id}`} aria-current=${current ? "page" : undefined}><span class="cut">${chat.title ?? `Conversation ${chat.id}`}</span>
        <span class="muted small"><${Ago} at=${chat.created_at} />${chat.project && ` · ${chat.project}`}</span></a>
        <${Change} label="Delete" icon="trash" danger run=${() => ask("remove-chat", { id: chat.id })} confirm=${String(chat.id)} done="The conversation is deleted"
            then=${() => { again(); if (current) go("/ui/ask"); }} /></li>`;
}

/** @param {{question: string, project: string | null}} props */
function Single({ question, project }) {
    const asked = useAsk("ask", question ? { question, before: null, filter: { project }, model: true } : null);
    const [starting, setStarting] = useState(false);
    useEffect(() => {
        document.title = question ? `${question} · Ask · backstory` : "Ask · backstory";
    }, [question]);
    async function keep() {
        setStarting(true);
        try {
            const chat = await ask("create-chat", { project });
            await ask("send-message", { chat: chat.id, text: question, model: true });
            changed();
            go(`/ui/ask/${chat.id}`);
        } finally {
            setStarting(false);
        }
    }
    return html`<section class="stack">
        ${!question && html`<h1>Ask why${project ? html` <span class="muted">about ${project}</span>` : ""}</h1><${Empty} title="Every sentence of an answer names its source" icon="chat">
            <p>Without enough evidence there is no answer, and it says what was searched.</p></${Empty}>`}
        ${question && html`<div class="turn"><h1>${question}</h1>
            <${Answered} of=${asked} lines=${8}>${(/** @type {any} */ answer) => html`<${AnswerView} answer=${answer} />
                <p class="row no-print ask-further">${!answer.answered && html`<a class="button small" href=${`/ui/search?q=${encodeURIComponent(question)}`}><${Icon} name="search" /> Search for it</a>`}
                <button type="button" class="small" disabled=${starting} onClick=${keep}><${Icon} name="chat" /> Go on as a conversation</button></p>`}</${Answered}></div>`}
        <${Form} label=${question ? "Ask another question" : "Question"} send=${(/** @type {string} */ text) => go(askAddress(project, text))} busy=${false} />
    </section>`;
}

/** @param {{chat: number, project: string | null, renamed: () => void}} props */
function Conversation({ chat, project, renamed }) {
    const [after, setAfter] = useState(0);
    const messages = useAsk("messages", { chat, after, limit: MESSAGES });
    // Of a long conversation the end is shown.
    useEffect(() => {
        const page = messages.answer ?? [];
        if (page.length === MESSAGES) setAfter(page[MESSAGES / 2 - 1].number);
    }, [messages.answer]);
    const [waiting, setWaiting] = useState("");
    const [error, setError] = useState(/** @type {any} */ (null));
    const end = useRef(/** @type {HTMLElement | null} */ (null));
    /** @param {string} text */
    async function send(text) {
        setWaiting(text);
        setError(null);
        try {
            await ask("send-message", { chat, text, model: true });
            changed();
            messages.again();
            renamed();
        } catch (failure) {
            setError(failure);
        }
        setWaiting("");
    }
    useEffect(() => end.current?.scrollIntoView({ block: "nearest" }), [messages.answer, waiting]);
    if (messages.answer === null && !messages.pending && !messages.error) {
        return html`<${Empty} title="There is no such conversation" icon="chat"><p>It was deleted, or this session may not see it.</p></${Empty}>`;
    }
    return html`<section class="stack">${project && html`<p class="byline"><span>about <${Ref} id=${project} /></span></p>`}<${Answered} of=${messages} lines=${10}>${(/** @type {any[]} */ list) => html`<div class="turns">
            ${list.map((message) => html`<article class=${classes("turn", message.role)} key=${message.number}>${message.role === "user" ? html`<h2 class="question">${message.text}</h2>`
                : message.answer ? html`<${AnswerView} answer=${message.answer} />` : html`<p>${message.text}</p>`}</article>`)}
            ${waiting && html`<article class="turn"><h2 class="question">${waiting}</h2><${Waiting} shown=${true} lines=${4} /></article>`}
            ${error && html`<${Failed} error=${error} />`}<span ref=${end}></span></div>`}</${Answered}>
        <${Form} label="Ask on" send=${send} busy=${Boolean(waiting)} /></section>`;
}

/** @param {{label: string, send: (text: string) => void, busy: boolean}} props */
function Form({ label, send, busy }) {
    const [text, setText] = useState("");
    /** @param {Event} event */
    function submit(event) {
        event.preventDefault();
        if (!text.trim() || busy) return;
        send(text.trim());
        setText("");
    }
    return html`<form class="ask-form no-print" onSubmit=${submit}>
        <textarea rows="2" aria-label=${label} placeholder=${`${label}: why did we choose …?`} value=${text} maxlength="2000"
            onInput=${(/** @type {any} */ event) => setText(event.target.value)}
            onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && !event.shiftKey && submit(event)}></textarea>
        <p class="row spread"><span class="muted small ask-hint"><kbd>Enter</kbd> asks, <kbd>Shift Enter</kbd> begins a line</span><button type="submit" class="primary" disabled=${busy || !text.trim()}>Ask</button></p>
    </form>`;
}
