// The form that adds a repository and has it indexed.

import { html, useEffect, useRef, useState } from "./html.js";
import { permits } from "./change.js";
import { Icon } from "./icons.js";
import { Failed, Notice } from "./state.js";
import { Started } from "./started.js";
import { addressOf, encode } from "./ref.js";
import { ask } from "../api.js";
import { useChange } from "../asking.js";

/** Whether this session may add a repository. */
export function mayAdd() {
    return permits("admin");
}

/** What is said of one that was added, by how its first sync ended. */
const SAYS = {
    going: "was added and is being indexed. Its text can be searched as it comes.",
    succeeded: "is indexed.",
    failed: "was added, but it could not be indexed. The next sync tries again.",
};

/** @param {{then: () => void}} props `then`: what is done when it was added, and when it is indexed */
export function AddRepository({ then }) {
    const change = useChange();
    const [added, setAdded] = useState(/** @type {{project: string, job: number} | null} */ (null));
    const [state, setState] = useState(/** @type {keyof typeof SAYS} */ ("going"));
    const notice = useRef(/** @type {HTMLElement | null} */ (null));
    const form = useRef(/** @type {HTMLFormElement | null} */ (null));
    // The form is below the projects.
    useEffect(() => notice.current?.scrollIntoView({ block: "nearest" }), [added?.job, change.error]);
    // What has the name of another is to get one of its own.
    const isTaken = Boolean(change.error?.message.includes("is already the repository"));
    useEffect(() => {
        if (isTaken) /** @type {HTMLElement | null | undefined} */ (form.current?.querySelector("[name=name]"))?.focus();
    }, [change.error]);
    /** @param {SubmitEvent} event */
    async function submit(event) {
        event.preventDefault();
        const fields = new FormData(/** @type {HTMLFormElement} */ (event.target));
        const address = String(fields.get("address") ?? "").trim();
        const name = String(fields.get("name") ?? "").trim() || null;
        if (!address || change.busy) return;
        const begun = await change.run(async () => {
            const repository = await ask("add-repository", { address, name, branches: "default", forge: null });
            const job = await ask("queue-job", { kind: "sync", project: repository.project });
            return { project: repository.project, job: job.id };
        });
        if (!begun) return;
        setState("going");
        setAdded(begun);
        form.current?.reset();
        then();
    }
    /** @param {boolean} isDone */
    function end(isDone) {
        setState(isDone ? "succeeded" : "failed");
        then();
    }
    return html`<form class="row" ref=${form} onSubmit=${submit}>
            <input type="text" name="address" required class="wide" aria-label="Path or address of a repository"
            placeholder="/srv/git/shop.git or https://github.com/acme/shop" spellcheck=${false} autocapitalize="off" />
            <input type="text" name="name" aria-label="Name, if not that of its address" title="If not that of its address" placeholder="name (optional)"
                spellcheck=${false} autocapitalize="off" aria-invalid=${isTaken || undefined} />
            <button type="submit" disabled=${change.busy}><${Icon} name="plus" /> ${change.busy ? "Adding…" : "Add and index"}</button></form>
        <p class="muted small">A path is one on the server's machine. For public projects on github.com and gitlab.com, issues are read too.</p>
        <div ref=${notice}>${change.error && html`<${Failed} error=${isTaken ? { message: change.error?.message, hint: "give this one another name above" } : change.error} />`}
        ${added && html`<${Notice} tone=${state === "failed" ? "warn" : "info"}>
            <p role="status"><strong>${added.project}</strong> ${SAYS[state]}</p>
            <${Started} key=${added.job} kind="job" id=${added.job} then=${end} />
            ${state === "succeeded" && html`<p class="row"><a class="button small" href=${addressOf(added.project)}><${Icon} name="folder" /> Its files</a>
                <a class="button small" href=${`/ui/ask?project=${encode(added.project)}`}><${Icon} name="chat" /> Ask about it</a></p>`}</${Notice}>`}</div>`;
}
