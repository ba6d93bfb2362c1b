// Questions and conversations: statements with their sources, each of which can be verified, or a refusal that says what
// was searched.

import { html, classes, useEffect, useState } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { Answered, Empty, FailedLine } from "../parts/state.js";
import { Ago } from "../parts/time.js";
import { AddRepository, mayAdd } from "../parts/add-repository.js";
import { AnswerView } from "../parts/answer.js";
import { AskForm } from "../parts/ask-form.js";
import { Change } from "../parts/change.js";
import { Conversation, begin } from "../parts/conversation.js";
import { StillIndexed, VectorsNote } from "../parts/coverage.js";
import { ask } from "../api.js";
import { useAsk } from "../asking.js";
import { useKeys } from "../keys.js";
import { go, place, restOf } from "../router.js";

/** Conversations that are listed. */
const CHATS = 100;
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
            <${Answered} of=${chats} lines=${4}>${(/** @type {any[]} */ list) => html`
                <${Chats} chats=${list} project=${project} current=${chat} again=${chats.again} />`}</${Answered}></section>
        </aside>
        ${chat === null ? html`<${Single} key=${`${project} ${question}`} question=${question} project=${project} />`
            : html`<${Conversation} key=${chat} chat=${chat} project=${project} renamed=${chats.again}
                afresh=${(/** @type {string} */ text) => go(askAddress(project, text))} />`}
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
    const row = (/** @type {any} */ { project: name, last_error: error }) => {
        const repository = states.get(name);
        const state = repository?.state ?? (error ? "error" : "ready");
        return html`<li key=${name}><a class="chat-link row spread" href=${askAddress(name)} aria-current=${project === name ? "true" : undefined}
            title=${repository?.last_error ?? error ?? undefined}
            ><span class="cut">${name}</span>${state !== "ready" && html`<span class=${`badge ${state}`}>${state}</span>`}</a></li>`;
    };
    return html`<section><h2 class="side-title">Repositories</h2>
        <${Answered} of=${status} lines=${2}>${(/** @type {any} */ { freshness }) => html`<ul class="scopes">
            ${freshness.length !== 1 && html`<li><a class="chat-link" href="/ui/ask" aria-current=${project ? undefined : "true"}>All</a></li>`}
            ${freshness.map(row)}</ul>`}</${Answered}>
        ${mayAdd() && html`<details class="small ask-add"><summary>Add a repository</summary><${AddRepository} then=${again} /></details>`}</section>`;
}

/** @param {{chats: any[], project: string | null, current: number | null, again: () => void}} props */
function Chats({ chats, project, current, again }) {
    const shown = chats.filter((entry) => !project || entry.project === project);
    if (!shown.length) {
        return html`<p class="muted small">No conversation${project ? " about it" : ""} is kept yet. Answers to a single question are not kept.</p>`;
    }
    return html`<ul>${shown.map((entry) => html`<${ChatEntry} key=${entry.id} chat=${entry} isCurrent=${entry.id === current} again=${again} />`)}</ul>`;
}

/** @param {{chat: any, isCurrent: boolean, again: () => void}} props */
function ChatEntry({ chat, isCurrent, again }) {
    const then = () => {
        again();
        if (isCurrent) go("/ui/ask");
    };
    // Who sees those of others is told whose they are: 'token ci (a1b2c3)'.
    const isOfToken = chat.created_by?.startsWith("token ");
    const holder = isOfToken && chat.created_by.slice("token ".length).replace(/ \([^()]*\)$/, "");
    return html`<li class="chat-entry"><a class="chat-link" href=${`/ui/ask/${chat.id}`} aria-current=${isCurrent ? "page" : undefined}
            ><span class="cut">${chat.title ?? `Conversation ${chat.id}`}</span>
            <span class="muted small"><${Ago} at=${chat.created_at} />${chat.project && ` · ${chat.project}`}${isOfToken && ` · ${holder}`}</span></a>
        <${Change} label="Delete" needs="admin" icon="trash" danger question="Delete?" done="The conversation is deleted" then=${then}
            run=${() => ask("remove-chat", { id: chat.id })} /></li>`;
}

/** @param {{question: string, project: string | null}} props */
function Single({ question, project }) {
    useEffect(() => {
        document.title = question ? `${question} · Ask · backstory` : "Ask · backstory";
    }, [question]);
    const send = (/** @type {string} */ text) => go(askAddress(project, text));
    return html`<section class="stack">
        ${question ? html`<${Question} question=${question} project=${project} afresh=${send} />`
            : html`<h1>Ask why${project ? html` <span class="muted">about ${project}</span>` : ""}</h1>
                <${Empty} title="Every sentence of an answer names its source" icon="chat">
                    <p>Without enough evidence there is no answer, and it says what was searched.</p></${Empty}>
                <${StillIndexed} project=${project} /><${AskForm} label="Question" send=${send} busy=${false} />`}
    </section>`;
}

/** @param {{question: string, project: string | null, afresh: (text: string) => void}} props */
function Question({ question, project, afresh }) {
    // An answer takes a model's time: one that is there will do.
    const asked = useAsk("ask", { question, before: null, filter: { project }, model: true }, { once: true });
    const [starting, setStarting] = useState(false);
    const [error, setError] = useState(/** @type {any} */ (null));
    /**
     * Goes on as a conversation.
     * @param {string} [next] what is asked then
     * @returns {Promise<boolean>}
     */
    async function goOn(next) {
        if (!asked.answer) return false;
        setStarting(true);
        setError(null);
        const address = location.href;
        try {
            const conversation = await begin(project, question, asked.answer, next);
            if (location.href === address) go(conversation);
            return true;
        } catch (failure) {
            setError(failure);
            return false;
        } finally {
            setStarting(false);
        }
    }
    const search = `/ui/search?q=${encodeURIComponent(question)}`;
    return html`<div class="turn"><h1>${question}</h1>
        <${StillIndexed} project=${project} />
        <${Answered} of=${asked} lines=${8}>${(/** @type {any} */ answer) => html`<div aria-live="polite"><${AnswerView} answer=${answer} /></div>
            <p class="row no-print ask-further">
                ${!answer.answered && html`<a class="button small" href=${search}><${Icon} name="search" /> Search for it</a>`}
                <button type="button" class="small" disabled=${starting} onClick=${() => goOn()}><${Icon} name="chat" /> Continue as a conversation</button></p>
            ${error && html`<${FailedLine} error=${error} />`}`}</${Answered}></div>
        <${VectorsNote} />
        <${AskForm} label="Ask a follow-up" send=${goOn} busy=${starting || !asked.answer} afresh=${afresh} />`;
}
