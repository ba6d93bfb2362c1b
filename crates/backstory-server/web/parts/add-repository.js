// The form that adds a repository and has it indexed.

import { html, useState } from "./html.js";
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
    const [added, setAdded] = useState(/** @type {{project: string, task: number} | null} */ (null));
    const [state, setState] = useState(/** @type {keyof typeof SAYS} */ ("going"));
    /** @param {SubmitEvent} event */
    async function submit(event) {
        event.preventDefault();
        const form = /** @type {HTMLFormElement} */ (event.target);
        const address = String(new FormData(form).get("address") ?? "").trim();
        if (!address || change.busy) return;
        const begun = await change.run(async () => {
            const repository = await ask("add-repository", { address, name: null, branches: "default", forge: null });
            const task = await ask("sync", { projects: [repository.project], scope: "new", only: [], force: false, keep_new: false });
            return { project: repository.project, task: task.id };
        });
        if (!begun) return;
        setState("going");
        setAdded(begun);
        form.reset();
        then();
    }
    /** @param {boolean} isDone */
    function end(isDone) {
        setState(isDone ? "succeeded" : "failed");
        then();
    }
    return html`<form class="row" onSubmit=${submit}>
            <input type="text" name="address" required class="wide" aria-label="Path or address of a repository"
            placeholder="/srv/git/shop.git or https://github.com/acme/shop" spellcheck=${false} autocapitalize="off" />
            <button type="submit" disabled=${change.busy}><${Icon} name="plus" /> ${change.busy ? "Adding…" : "Add and index"}</button></form>
        <p class="muted small">A path is one on the server's machine. Public projects of github.com and gitlab.com bring their issues along.</p>
        ${change.error && html`<${Failed} error=${change.error} />`}
        ${added && html`<${Notice} tone=${state === "failed" ? "warn" : "info"}>
            <p role="status"><strong>${added.project}</strong> ${SAYS[state]}</p>
            <${Started} key=${added.task} kind="task" id=${added.task} then=${end} />
            ${state === "succeeded" && html`<p class="row"><a class="button small" href=${addressOf(added.project)}><${Icon} name="folder" /> Its files</a>
                <a class="button small" href=${`/ui/ask?project=${encode(added.project)}`}><${Icon} name="chat" /> Ask about it</a></p>`}</${Notice}>`}`;
}
