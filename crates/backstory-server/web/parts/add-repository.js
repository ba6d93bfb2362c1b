// The form that adds a repository and has it indexed.

import { html, useState } from "./html.js";
import { Icon } from "./icons.js";
import { Failed, Notice } from "./state.js";
import { Started } from "./started.js";
import { addressOf, encode } from "./ref.js";
import { ask, useChange } from "../api.js";

/** @param {{then: () => void}} props `then`: what is done when it was added, and when it is indexed */
export function AddRepository({ then }) {
    const change = useChange();
    const [added, setAdded] = useState(/** @type {{project: string, task: number} | null} */ (null));
    const [ready, setReady] = useState(false);
    /** @param {SubmitEvent} event */
    async function submit(event) {
        event.preventDefault();
        const form = /** @type {HTMLFormElement} */ (event.target);
        const address = String(new FormData(form).get("address") ?? "").trim();
        if (!address) return;
        const begun = await change.run(async () => {
            const repository = await ask("add-repository", { address, name: null, branches: "default", forge: null });
            const task = await ask("sync", { projects: [repository.project], scope: "new", only: [], force: false, keep_new: false });
            return { project: repository.project, task: task.id };
        });
        if (!begun) return;
        setReady(false);
        setAdded(begun);
        form.reset();
        then();
    }
    return html`<form class="row" onSubmit=${submit}><input type="text" name="address" required class="wide" aria-label="Path or address of a repository"
            placeholder="/srv/git/shop.git or https://github.com/acme/shop" spellcheck=${false} autocapitalize="off" />
            <button type="submit" disabled=${change.busy}><${Icon} name="plus" /> ${change.busy ? "Adding…" : "Add and index"}</button></form>
        <p class="muted small">A path is one on the server's machine. Public projects of github.com and gitlab.com bring their issues along.</p>
        ${change.error && html`<${Failed} error=${change.error} />`}
        ${added && html`<${Notice}><p><strong>${added.project}</strong> ${ready ? "is indexed." : "was added and is being indexed. Its text can be searched as it comes."}</p>
            <${Started} key=${added.task} kind="task" id=${added.task} then=${() => { setReady(true); then(); }} />
            ${ready && html`<p class="row"><a class="button small" href=${addressOf(added.project)}><${Icon} name="folder" /> Its files</a>
                <a class="button small" href=${`/ui/ask?project=${encode(added.project)}`}><${Icon} name="chat" /> Ask about it</a></p>`}</${Notice}>`}`;
}
