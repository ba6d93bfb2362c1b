// Connecting an agent: commands that can be copied, and where the interfaces for programs are.

import { html, useEffect } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { CopyButton } from "../parts/copy.js";
import { scopeName } from "../parts/change.js";
import { Tokens } from "../parts/tokens.js";
import { session, signOut } from "../api.js";

/** The screen. */
export function Screen() {
    useEffect(() => {
        document.title = "Connect an agent · backstory";
    }, []);
    const address = `${location.origin}/mcp`;
    const needsToken = session.value?.needs_token ?? false;
    return html`<div class="screen stack">
        <div class="screen-head"><h1>Connect an agent</h1><p>So that it asks why before it changes code.</p></div>
        <section class="card card-body stack"><h2>On this machine</h2>
            <p>One command finds the agents that are installed and connects them; <code>--dry-run</code> shows what it would change.</p>
            <${Command} text="backstory install" /></section>
        <h2>To this server</h2>
        ${needsToken && html`<p class="muted">This server asks for a token. Put one into the environment variable <code>BACKSTORY_TOKEN</code>${" "}
            first; the commands below name it and do not hold it.</p>`}
        <div class="agent-grid">${clients(address, needsToken).map((client) => html`<${Client} key=${client.name} ...${client} />`)}</div>
        <h2>For programs</h2>
        <${Interfaces} />
        <${Command} text=${curl(needsToken)} />
        <${Tokens} />
        ${needsToken && html`<section class="stack"><h2>This session</h2><p>It may ${scopeName(session.value?.scope ?? "do nothing")}.${" "}
            <button type="button" class="small" onClick=${() => signOut()}><${Icon} name="out" /> Sign out</button></p></section>`}
    </div>`;
}

/** @param {{text: string}} props */
function Command({ text }) {
    return html`<div class="command"><pre tabindex="0"><code>${text}</code></pre><${CopyButton} what="Command" text=${() => text} /></div>`;
}

/** @param {{name: string, text: string, note?: string, link?: string}} props */
function Client({ name, text, note, link }) {
    return html`<section class="card"><header class="card-head"><${Icon} name="agents" /><h3>${name}</h3></header>
        <div class="card-body stack"><${Command} text=${text} />
            ${link && html`<p><a class="button small" href=${link}><${Icon} name="open" /> Open in ${name}</a></p>`}
            ${note && html`<p class="muted small">${note}</p>`}</div></section>`;
}

/** Interfaces for programs: name, path, whether it has a page, and what it is for. */
const INTERFACES = [
    { name: "GraphQL", path: "/graphql", isPage: true, use: "Dashboards; the page has a query editor." },
    { name: "REST", path: "/api/docs", isPage: true, use: "Every question of the command line, with OpenAPI." },
    { name: "SPARQL", path: "/sparql", isPage: false, use: "Any question over the graph, read-only." },
    { name: "Export", path: "/api/v1/export/issues", isPage: false, use: "Whole lists as NDJSON, CSV, Arrow or Parquet." },
    { name: "Metrics", path: "/metrics", isPage: true, use: "Prometheus." },
];

function Interfaces() {
    const link = (/** @type {string} */ path) => html`<a href=${path} target="_blank" rel="noopener">${location.origin}${path}</a>`;
    return html`<table class="stacked"><thead><tr><th>Interface</th><th>Address</th><th>For</th></tr></thead>
        <tbody>${INTERFACES.map(({ name, path, isPage, use }) => html`<tr><td>${name}</td>
            <td>${isPage ? link(path) : html`<code>${location.origin}${path}</code>`}</td><td>${use}</td></tr>`)}</tbody></table>`;
}

/**
 * @param {string} address
 * @param {boolean} needsToken
 * @returns {{name: string, text: string, note?: string, link?: string}[]}
 */
function clients(address, needsToken) {
    const header = needsToken ? ` --header "Authorization: Bearer $BACKSTORY_TOKEN"` : "";
    const variable = needsToken ? " --bearer-token-env-var BACKSTORY_TOKEN" : "";
    const entry = needsToken ? { url: address, headers: { Authorization: "Bearer ${env:BACKSTORY_TOKEN}" } } : { url: address };
    const code = { name: "backstory", type: "http", ...entry };
    const cursor = `cursor://anysphere.cursor-deeplink/mcp/install?name=backstory&config=${btoa(JSON.stringify(entry))}`;
    return [
        { name: "Claude Code", text: `claude mcp add --transport http backstory ${address}${header}` },
        { name: "Codex", text: `codex mcp add backstory --url ${address}${variable}` },
        { name: "Gemini CLI", text: `gemini mcp add --transport http backstory ${address}${header}` },
        {
            name: "Visual Studio Code",
            text: `code --add-mcp '${JSON.stringify(code)}'`,
            link: `vscode:mcp/install?${encodeURIComponent(JSON.stringify(code))}`,
        },
        { name: "Cursor", text: JSON.stringify({ mcpServers: { backstory: entry } }, null, 2), note: "Into .cursor/mcp.json.", link: cursor },
    ];
}

/** @param {boolean} needsToken */
function curl(needsToken) {
    const header = needsToken ? `  -H "Authorization: Bearer $BACKSTORY_TOKEN" \\\n` : "";
    const body = `'{"query": "why this limit", "limit": 5, "rerank": false}'`;
    return `curl ${location.origin}/api/v1/search \\\n  -H 'Content-Type: application/json' \\\n${header}  -d ${body}`;
}
