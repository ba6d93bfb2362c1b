// The trace of the selected lines, beside the file.

import { html } from "./html.js";
import { Icon } from "./icons.js";
import { Answered } from "./state.js";
import { TraceView, traceTitle } from "./chain.js";
import { focusGutter } from "./code.js";
import { encode, escapePath, fileAddress } from "./ref.js";
import { useAsk } from "../asking.js";
import { go } from "../router.js";

/** Earlier versions beside a file; the page of the trace has more. */
const EARLIER = 5;

/**
 * @param {{project: string, path: string, rev: string | null, selected: {first: number, last: number}, plain: boolean}} props
 */
export function SidePanel({ project, path, rev, selected, plain }) {
    const target = { lines: { path, lines: [selected.first, selected.last] } };
    const asked = useAsk("trace", { project, target, rev, earlier: EARLIER });
    const query = new URLSearchParams({ lines: `${selected.first}-${selected.last}` });
    if (rev) query.set("rev", rev);
    function close() {
        go(fileAddress(project, path, { rev, plain }), { replace: true, keepScroll: true });
        focusGutter(selected.first);
    }
    return html`<aside class="side-panel" aria-label="Trace of the selected lines">
        <header class="side-panel-head">
            <h2 class="cut">Why ${traceTitle({ path, line: selected.first, end_line: selected.last })}</h2>
            <a class="button small quiet" href=${`/ui/why/${encode(`${project}:${escapePath(path)}`)}?${query}`} title="As a page of its own"
                ><${Icon} name="open" /><span class="hidden">As a page</span></a>
            <button type="button" class="quiet small" title="Close (Esc)" onClick=${close}
                ><${Icon} name="close" /><span class="hidden">Close</span></button>
        </header>
        <div class="side-panel-body"><${Answered} of=${asked} lines=${8}>${(/** @type {any} */ trace) => html`
            <${TraceView} trace=${trace} target=${target} />`}</${Answered}></div>
    </aside>`;
}
