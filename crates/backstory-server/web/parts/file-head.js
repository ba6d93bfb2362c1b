// What stands above the code of a file: how long it is, of which state, and what can be done with it.

import { html, number, size, useState } from "./html.js";
import { Icon } from "./icons.js";
import { Empty } from "./state.js";
import { AgeLegend } from "./code.js";
import { Ago } from "./time.js";
import { CopyButton } from "./copy.js";
import { Change, hasModel } from "./change.js";
import { QueueButton, Started } from "./started.js";
import { ask } from "../api.js";
import { encode, fileAddress } from "./ref.js";
import { setQuery } from "../router.js";

/** @param {{file: any, rev: string | null, plain: boolean, runs: import("./runs.js").Run[], again: () => void}} props */
export function FileHead({ file, rev, plain, runs, again }) {
    const { commit, synced_at: synced } = file.indexed;
    const at = rev ? html`at <a href=${`/ui/item/${encode(`${file.project}@${file.rev}`)}`}>${file.rev.slice(0, 8)}</a>${", "}
            <a href=${fileAddress(file.project, file.path)}>go to the head</a>`
        : html`at ${(commit ?? file.rev).slice(0, 8)}, synced <${Ago} at=${synced} />`;
    return html`<div class="file-head">
        <p class="byline">
            ${file.line_count !== null && html`<span class="numeric">${number(file.line_count)} ${file.line_count === 1 ? "line" : "lines"}</span>`}
            <span class="numeric">${size(file.bytes)}</span>
            ${file.language && html`<span>${file.language}</span>`}
            <span>${at}</span>
        </p>
        <div class="row no-print"><${AgeLegend} runs=${runs} />
            ${file.lineage && html`<button type="button" class="small" aria-pressed=${!plain} onClick=${() => setQuery({ blame: plain ? null : "plain" })}
                title="Follow lines through moved and copied blocks and reformatting, or as git blame -w does">Through moves</button>`}
            <a class="button small" href=${`/ui/history/${encode(file.id)}`}><${Icon} name="history" /> History</a>
            <a class="button small" href=${`/ui/graph/${encode(file.id)}`}><${Icon} name="graph" /> Graph</a>
            ${!rev && html`<${QueueButton} project=${file.project} kind="sync" label="Index now" icon="retry" then=${again} />`}
            ${hasModel() && html`<${EnrichButton} project=${file.project} />`}
            <${CopyButton} what="Path" quiet text=${() => file.path} /></div>
    </div>`;
}

/** @param {{file: any}} props */
export function LeftOut({ file }) {
    /** @type {Record<string, string>} */
    const why = {
        binary: "It is not text.",
        too_large: `It is too large to show: ${size(file.bytes)}.`,
        symbolic_link: "It is a symbolic link.",
    };
    return html`<${Empty} title="There is nothing to read here" icon="file"><p>${why[file.left_out] ?? "It cannot be shown."} Its${" "}
        <a href=${`/ui/history/${encode(file.id)}`}>history</a> is known all the same.</p></${Empty}>`;
}

/**
 * A button that has a language model classify commits and note decisions of a project.
 * @param {{project: string}} props
 */
function EnrichButton({ project }) {
    const [task, setTask] = useState(/** @type {number | null} */ (null));
    return html`<${Change} label="Enrich" needs="admin" icon="model"
            title="Have the language model note decisions of this project's discussions and classify its commits"
            run=${() => ask("enrich", { projects: [project], what: null, limit: null })} then=${(/** @type {any} */ begun) => setTask(begun.id)} />
        ${task !== null && html`<${Started} key=${task} kind="task" id=${task} />`}`;
}
