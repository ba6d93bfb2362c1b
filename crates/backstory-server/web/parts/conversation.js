// A conversation: its questions and answers, and the form for the next question. Statements are shown as they are checked.

import { html, classes, counted, useEffect, useRef, useState } from "./html.js";
import { Answered, Empty, Failed, Waiting } from "./state.js";
import { AnswerView } from "./answer.js";
import { AskForm } from "./ask-form.js";
import { Ref } from "./ref.js";
import { StillIndexed, VectorsNote } from "./coverage.js";
import { ask, askInChat, changed } from "../api.js";
import { useAsk } from "../asking.js";
import { isGoingBack } from "../scroll.js";

/** Messages of a page, which is what the server gives at most, and messages that are shown at first. */
const PAGE = 200;
const SHOWN = 20;

/**
 * Questions that are asked as soon as their conversation is shown, with the answers that they were given alone. The server
 * keeps such an answer as the first of the conversation.
 * @type {Map<number, {question: string, answer: any, next?: string}>}
 */
const first = new Map();

/**
 * Begins a conversation with a question that was answered.
 * @param {string | null} project
 * @param {string} question
 * @param {any} answer
 * @param {string} [next] what is asked then
 * @returns {Promise<string>} its address
 */
export async function begin(project, question, answer, next) {
    const chat = await ask("create-chat", { project });
    changed();
    first.set(chat.id, { question, answer, next });
    return `/ui/ask/${chat.id}`;
}

/**
 * A question that is being answered; with `answer`, it was before.
 * @typedef {{question: string, statements: any[], citations: any[], answer?: any}} Turn
 */

/** @param {{chat: number, project: string | null, renamed: () => void, afresh: (text: string) => void}} props */
export function Conversation({ chat, project, renamed, afresh }) {
    const messages = useMessages(chat);
    const [shown, setShown] = useState(SHOWN);
    const [turn, setTurn] = useState(() => begun(first.get(chat)));
    const [error, setError] = useState(/** @type {any} */ (null));
    const [draft, setDraft] = useState("");
    const turns = useRef(/** @type {HTMLElement | null} */ (null));
    const abort = useRef(new AbortController());
    /**
     * @param {string} question
     * @param {any} [answer] what it was answered before
     * @returns {Promise<boolean>} whether it was answered
     */
    async function send(question, answer) {
        const { signal } = abort.current;
        setTurn(begun({ question, answer }));
        setError(null);
        try {
            await askInChat(chat, question, (told) => setTurn((turn) => turn && withStatement(turn, told)), signal);
            changed();
            await messages.reload();
            renamed();
        } catch (failure) {
            if (signal.aborted) return true;
            setTurn(null);
            setError(failure);
            return false;
        }
        setTurn(null);
        return true;
    }
    useEffect(() => {
        const wanted = first.get(chat);
        first.delete(chat);
        const goOn = (/** @type {boolean} */ isDone) => {
            if (wanted?.next && (!isDone || abort.current.signal.aborted)) setDraft(wanted.next);
            else if (wanted?.next) send(wanted.next).then((isDone) => isDone || setDraft(wanted.next ?? ""));
        };
        if (wanted) send(wanted.question, wanted.answer).then(goOn);
        // What was asked is answered and kept, also if the reader goes elsewhere.
        return () => abort.current.abort();
    }, [chat]);
    const list = messages.answer;
    const asked = turn?.question ?? list?.length;
    // The last question is at the top, so that its answer can be read from the beginning.
    useEffect(() => {
        const questions = turns.current?.querySelectorAll(".question") ?? [];
        if (questions.length > 1 && !isGoingBack()) questions[questions.length - 1]?.scrollIntoView({ block: "start" });
    }, [asked]);
    if (messages.isMissing) {
        return html`<${Empty} title="There is no such conversation" icon="chat"><p>It was deleted, or this session may not see it.</p></${Empty}>`;
    }
    const earlier = Math.max(0, (list?.length ?? 0) - shown);
    return html`<section class="stack">${project && html`<p class="byline"><span>about <${Ref} id=${project} /></span></p>`}
        <${StillIndexed} project=${project} />
        <${Answered} of=${messages} lines=${10}>${() => html`<div class="turns" ref=${turns} role="log" aria-label="Conversation">
            ${earlier > 0 && html`<p><button type="button" class="small" onClick=${() => setShown(shown + PAGE)}
                >Show ${counted(earlier, "earlier message")}</button></p>`}
            ${(list ?? []).slice(earlier).map((/** @type {any} */ message) => html`<${Message} key=${message.number} message=${message} />`)}
            ${turn && html`<${Asking} turn=${turn} />`}
            ${error && html`<${Failed} error=${error} />`}</div>`}</${Answered}>
        <${VectorsNote} />
        <${AskForm} label="Ask a follow-up" send=${send} busy=${turn !== null} afresh=${afresh} draft=${draft} /></section>`;
}

/**
 * @param {{question: string, answer?: any} | undefined} asked
 * @returns {Turn | null}
 */
function begun(asked) {
    return asked ? { ...asked, statements: [], citations: [] } : null;
}

/**
 * All messages of a conversation.
 * @param {number} chat
 */
function useMessages(chat) {
    const asked = useAsk("messages", { chat, after: 0, limit: PAGE });
    const [others, setOthers] = useState(/** @type {any[]} */ ([]));
    const [error, setError] = useState(/** @type {any} */ (null));
    const [answered, setAnswered] = useState(/** @type {any[] | null} */ (null));
    /**
     * Messages behind those of a page.
     * @param {any[]} page
     */
    async function follow(page) {
        const more = [];
        let last = page;
        while (last.length === PAGE) {
            last = (await ask("messages", { chat, after: last.at(-1).number, limit: PAGE })) ?? [];
            more.push(...last);
        }
        return more;
    }
    useEffect(() => {
        if (!asked.answer) return;
        let isOver = false;
        const take = (/** @type {any[]} */ more) => {
            if (isOver) return;
            setOthers(more);
            setAnswered(null);
        };
        follow(asked.answer).then(take, (failure) => !isOver && setError(failure));
        return () => {
            isOver = true;
        };
    }, [asked.answer]);
    const answer = answered ?? (asked.answer && [...asked.answer, ...others]);
    return {
        ...asked,
        answer,
        error: asked.error ?? error,
        isMissing: asked.answer === null && !asked.pending && !asked.error,
        /** Asks for them again and waits until they are there. */
        reload: async () => {
            const page = (await ask("messages", { chat, after: 0, limit: PAGE })) ?? [];
            setAnswered([...page, ...(await follow(page))]);
        },
    };
}

/**
 * @param {Turn} turn
 * @param {{text: string, citations: any[]}} told
 * @returns {Turn}
 */
function withStatement(turn, { text, citations }) {
    const known = new Set(turn.citations.map((one) => one.number));
    return {
        ...turn,
        statements: [...turn.statements, { text, citations: citations.map((one) => one.number) }],
        citations: [...turn.citations, ...citations.filter((one) => !known.has(one.number))],
    };
}

/** @param {{message: any}} props */
function Message({ message }) {
    const isQuestion = message.role === "user";
    return html`<article class=${classes("turn", message.role)}>${isQuestion ? html`<h2 class="question">${message.text}</h2>`
        : message.answer ? html`<${AnswerView} answer=${message.answer} />` : html`<p>${message.text}</p>`}</article>`;
}

/** @param {{turn: Turn}} props */
function Asking({ turn }) {
    if (turn.answer) {
        return html`<article class="turn asking"><h2 class="question">${turn.question}</h2><${AnswerView} answer=${turn.answer} /></article>`;
    }
    const answer = { answered: true, statements: turn.statements, citations: turn.citations, model: undefined, standing: null, warnings: [] };
    return html`<article class="turn asking"><h2 class="question">${turn.question}</h2>
        ${turn.statements.length > 0 && html`<${AnswerView} answer=${answer} isWhole=${false} />`}
        <${Waiting} shown=${true} lines=${turn.statements.length ? 1 : 4} /></article>`;
}
