// A commit: its message, what it changed, and what kind of change it is.

import { html, counted, number, percent } from "./html.js";
import { Icon } from "./icons.js";
import { Ago } from "./time.js";
import { Markdown, inline } from "./markdown.js";
import { CopyButton } from "./copy.js";
import { DiffView } from "./diff.js";
import { Ref, encode, parse } from "./ref.js";

/** @param {{commit: any}} props */
export function CommitView({ commit }) {
    const project = parse(commit.id).project;
    const [title = "", ...rest] = commit.message.split("\n");
    const body = rest.join("\n").trim();
    return html`<header class="item-head">
            <p class="byline"><${Ref} id=${project} /><span>commit <span class="mono">${commit.sha.slice(0, 8)}</span></span>
                <${CopyButton} what="Hash" quiet text=${() => commit.sha} /></p>
            <h1>${inline(title, project)}</h1>
            <p class="byline"><span><strong>${commit.author_name}</strong> wrote it <${Ago} at=${commit.authored_at} /></span>
                <${ChangeType} commit=${commit} />
                <span class="numeric">${counted(commit.file_count, "file")} <span class="added">+${number(commit.insertions)}</span>
                    <span class="removed"> −${number(commit.deletions)}</span></span></p>
            <div class="row no-print"><a class="button small" href=${`/ui/why/${encode(commit.id)}`}><${Icon} name="history" /> Trace</a>
                <a class="button small" href=${`/ui/graph/${encode(commit.id)}`}><${Icon} name="graph" /> Graph</a>
                ${commit.url && html`<a class="button small" href=${commit.url} target="_blank" rel="noopener noreferrer"
                    ><${Icon} name="open" /> At the forge</a>`}</div>
        </header>
        <div class="stack">
            ${body && html`<section class="note first-note"><${Markdown} text=${body} project=${project} /></section>`}
            <h2>Changes</h2>
            <${DiffView} commit=${commit} project=${project} />
        </div>`;
}

/** @param {{commit: any}} props */
function ChangeType({ commit }) {
    const written = commit.model_classification;
    const how = `By ${commit.change_type_rule ?? "rule"}, confidence ${percent(commit.change_type_confidence ?? 0)}`;
    return html`${commit.change_type && html`<span class="badge" title=${how}>${commit.change_type}</span>`}
        ${written && html`<span class="badge model" title=${`${written.reason} (${written.model.name})`}
            ><${Icon} name="model" /> ${written.change_type}</span>`}`;
}
