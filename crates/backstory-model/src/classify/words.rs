//! What the words of a subject say about the type of a change.

use std::sync::LazyLock;

use regex::bytes::{RegexSet, RegexSetBuilder};

use super::ChangeType::{self, *};

/// Patterns of a lower-case subject, the type they support, and how strongly: 1 is a hint, 3 nearly decides it. The
/// weights were fitted by hand to histories whose subjects say their type.
const WORDS: [(&str, ChangeType, f32); 81] = [
    (r"^(?:fix|fixe[sd]|fixing|hot-?fix|bugfix)\b", Bugfix, 2.6),
    (r"\b(?:fix|fixe[sd]|bugs?|bugfix)\b", Bugfix, 1.2),
    (
        r"\b(?:regressions?|crash\w*|broken|breaks?|incorrect\w*|wrong\w*|invalid|leak\w*|deadlock|panics?|race|hang\w*|segfault|infinite loop|edge cases?)\b",
        Bugfix,
        1.5,
    ),
    (
        r"^(?:correct\w*|ensure|prevent|avoid|handle|don'?t|do not|properly|preserve|restore|respect|account for|guard|never|always|check|skip|ignore|only|resolve|escape|workaround|work around|make sure|revert|keep|wait|stop|reset|pass|treat|force|allow for|apply|clear|strip|exclude|include|infer|set|emit|update types?|use correct|defer|unwrap|normali[sz]e|not|should|missing|wrong|invalid|unable|remove extra|add missing)\b",
        Bugfix,
        1.4,
    ),
    (
        r"\b(?:properly|correctly|correct|not (?:being|working|set|updat\w+|trigger\w*|render\w*|show\w*|clos\w*|emit\w*|firing|be)|isn'?t|doesn'?t|can'?t|wasn'?t|won'?t|aren'?t|shouldn'?t|should(?: not)?|missing|unexpected\w*|errors?|warnings?|fail\w*|issues?|undefined|null|nan|duplicat\w+|unable|throw\w*|stale|mismatch\w*|throwing|instead of)\b",
        Bugfix,
        0.9,
    ),
    (r"\b(?:when|if|while|for \w+ (?:in|with)|on (?:windows|safari|ie|ios|macos|firefox|edge))\b", Bugfix, 0.5),
    (r"\b(?:handle|handling|prevent|avoid|ensure|preserve|regex)\b", Bugfix, 0.6),
    (r"\b(?:ssr|hydrat\w+|typings?|types?|overflow|aria\w*|a11y|high contrast|focus|memory leak)\b", Bugfix, 0.4),
    (r"^(?:add|implement|introduce|support|allow|enable|expose|provide|create|initial|export|accept)\b", Feature, 1.8),
    (r"\badd(?:s|ed|ing)? (?:support|an?|the|new|initial|basic|option\w*|ability|experimental)\b", Feature, 0.8),
    (
        r"\b(?:support|feature|new|ability|experimental|opt-in|option|options|configurable|customi[sz]\w+|api|initial|harness)\b",
        Feature,
        0.7,
    ),
    (r"\b(?:support for|introduce\w*|implement\w*)\b", Feature, 0.6),
    (r"\bdeprecate\b", Feature, 0.5),
    (
        r"^(?:refactor\w*|rename|move|extract|simplif\w+|restructure|reorgani[sz]e|split|reuse|replace|convert|migrate|switch|rewrite|inline|consolidate|dedupe|deduplicate|merge|rework|unify|clean|change|adjust|improve|make|use|separate|transition|abstract|decouple|centrali[sz]e|de-?dup\w*|port)\b",
        Refactor,
        1.3,
    ),
    (r"\b(?:refactor\w*|restructur\w*|reorgani[sz]\w*|simplif\w+)\b", Refactor, 2.2),
    (r"^(?:rename|move|extract|simplify|split|inline|reuse|switch|convert|migrate|clean ?up)\b", Refactor, 1.0),
    (
        r"\b(?:rename|extract|internal|helper\w*|readability|duplicated? (?:code|logic)|code|into|method|function|class|logic|variables?|mixins?|instead of|from \w+ to)\b",
        Refactor,
        0.6,
    ),
    (r"\b(?:remove|drop|get rid of|delete)\b", Refactor, 0.6),
    (r"^(?:remove|drop|delete)\b.*\b(?:deprecated|breaking|legacy|apis?|symbols?)\b", Refactor, 0.5),
    (r"^perf\b|\bperf(?:ormance)?\b", Performance, 3.0),
    (
        r"\b(?:faster|speed\w*|slow\w*|optimi[sz]\w+|throughput|latency|fast path|quicker|bottleneck)\b",
        Performance,
        2.4,
    ),
    (
        r"^(?:optimi[sz]e|cache|memoi[sz]e|lazy|lazily|lazy-load|reduce|hoist|preload|prefetch|parallelise|parallelize|minimi[sz]e|short-?circuit|avoid|improve)\b",
        Performance,
        1.2,
    ),
    (
        r"\b(?:cach\w+|memoi[sz]\w*|lazy|lazily|allocations?|memory usage|bundle size|size|tree-?shak\w+|unnecessary|redundant|repeated|overhead|on demand|chang\w+ detection|recalculat\w+|reflows?|re-?render\w*|parallel\w*|hoist\w*|o\(n\)|multiple times|outside of? (?:the )?(?:ng)?zone)\b",
        Performance,
        1.1,
    ),
    (
        r"\b(?:cve-\d+|vulnerabilit\w+|xss|csrf|ssrf|redos|prototype pollution|path traversal|rce|privilege escalation|denial of service|security (?:issue|fix|hole|advisory|patch))\b",
        Security,
        4.0,
    ),
    (
        r"\b(?:security|sanitiz\w+|exploit\w*|injection|insecure|unsafe-inline|trusted types|timing attack|untrusted)\b",
        Security,
        1.6,
    ),
    (r"^(?:docs?|documentation|readme)\b", Documentation, 2.5),
    (
        r"\b(?:docs?|documentation|document|documenting|readme|changelog|jsdocs?|docstrings?|javadoc|rustdoc|tutorials?|guides?|cookbook|contributing)\b",
        Documentation,
        2.0,
    ),
    (
        r"\b(?:typos?|spelling|grammar|wording|misspell\w*|broken links?|dead links?|clarif\w+|mention|describe|comments?|examples?|code ?blocks?|snippets?|translations?)\b",
        Documentation,
        1.5,
    ),
    (r"\b(?:links?|explain|usage|instructions|faq|notes?|overview|website|page|section)\b", Documentation, 0.6),
    (r"^(?:tests?|testing)\b", Test, 2.5),
    (
        r"\b(?:tests?|testing|test-cases?|specs?|coverage|fixtures?|snapshots?|flaky|flake|flakes|flakiness|unit tests?|e2e|assertions?|benchmarks?)\b",
        Test,
        1.7,
    ),
    (r"\badd(?:s|ed)? (?:\w+ ){0,3}tests?\b", Test, 1.0),
    (r"\b(?:bump|bumps)\b.*\bfrom\b.*\bto\b", Dependency, 5.0),
    (r"^(?:bump|upgrade|pin|unpin|roll)\b", Dependency, 2.4),
    (
        r"^update\b.*\b(?:to (?:v|\^|~)?\d|digest|dependenc\w+|deps|monorepo|action|docker tag|non-major|lock ?file|rust crate|module|packages?)\b",
        Dependency,
        3.5,
    ),
    (
        r"\b(?:dependenc\w+|deps|dependabot|renovate|lock ?file|lockfile maintenance|yarn\.lock|peer ?deps?)\b",
        Dependency,
        2.2,
    ),
    (r"\b(?:to|from) v?\d+(?:\.\d+)+\b", Dependency, 1.5),
    (r"\b(?:upgrade|bump|update) \S+ to (?:v?\d|latest)\b", Dependency, 2.5),
    (r"^(?:release|v?\d+\.\d+\.\d+\S*$|publish|cut|prepare (?:for )?(?:release|v?\d))", Configuration, 4.0),
    (r"\bbump version\b|\bversion bump\b|\brelease v?\d", Configuration, 4.0),
    (
        r"\b(?:ci|github actions?|actions?|workflows?|travis\w*|circle ?ci|appveyor|gitlab-ci|jenkins|pipelines?|nightly|dependabot\.yml|codecov|azure|buildkite|saucelabs|browserstack)\b",
        Configuration,
        1.8,
    ),
    (
        r"\b(?:bazel|docker\w*|build(?:s|ing)?|makefile|cmake|rollup config|webpack config|tsconfig|eslint\w*|prettier config|renovate config|husky|lint-staged|pre-commit|editorconfig|gitignore|codeowners|release script|publish(?:ing)? script|stackblitz|netlify|vercel|goldens?|toolchain|nix|msrv|presubmit|g3 sync|caretaker)\b",
        Configuration,
        1.3,
    ),
    (
        r"\b(?:config|configuration|scripts?|release\w*|job|jobs|cache key|permissions|labels?|triage|stale bot|bot|playground|dev-infra|deploy\w*|snapshots? builds?)\b",
        Configuration,
        0.8,
    ),
    (r"^(?:configure|set ?up|enable|disable|run)\b", Configuration, 0.5),
    (
        r"\b(?:clean ?up|cleanup|clean-up|cleaning|tidy|unused|dead code|lint\w*|clippy|format(?:ting|ted)?|prettier|whitespace|indentation|code style|coding style|style guide|rustfmt|gofmt|semicolons?|trailing|obsolete|leftover|left-over|sort imports|nits?)\b",
        Cleanup,
        2.2,
    ),
    (r"^(?:remove|drop|delete)\b", Cleanup, 1.4),
    (r"\b(?:deprecated|no longer (?:needed|used)|unnecessary|useless|redundant|stale|old)\b", Cleanup, 0.6),
    (r"\b(?:typo in (?:code|variable|comment)|rename variable)\b", Cleanup, 0.5),
    (r"\b(?:style|styles)\b", Cleanup, 0.3),
    (r"\b(?:regress\w*|#\d+)\b", Bugfix, 0.2),
    (r"\bback-?port\b|\badd back\b|\bagain\b|\bonce more\b|\b(?:before|after|until)\b", Bugfix, 0.9),
    (r"\b(?:compat\w*|backwards?)\b", Bugfix, 0.4),
    (r"^(?:update)\b", Documentation, 0.3),
    (r"^improve\b.*\b(?:error|message|warning)", Feature, 0.8),
    (r"^improve\b", Feature, 0.4),
    (r"^make\b.*\b(?:optional|public|available|configurable|possible)\b", Feature, 1.2),
    (r"^(?:use|switch to|migrate to)\b.*\binstead\b", Refactor, 0.5),
    (r"^use\b", Bugfix, 0.9),
    (r"\bmigrat\w+\b", Refactor, 0.7),
    (r"\b(?:schematic|ng[- ]update|ng[- ]add|migration)\b", Bugfix, 0.2),
    (r"\b(?:command|flag|cli|hook|composable|directive|component|prop|event|modifier|plugin|module)\b", Feature, 0.3),
    (r"\bmark\b.*\b(?:deprecated|experimental|internal)\b", Refactor, 0.4),
    (r"\btypo\b", Documentation, 1.0),
    (r"^(?:wip|misc|minor|various)\b", Cleanup, 0.4),
    (r"\bcopyright\b|\blicense\b", Documentation, 1.0),
    (r"\bsponsors?\b|\bcontributors?\b|\bauthors?\b|\bbackers?\b", Documentation, 1.5),
    (r"\bissue templates?\b|\bpull request template\b|\bpr template\b", Configuration, 1.5),
    (r"\bsize[- ](?:check|limit|report)\b", Configuration, 1.5),
    (r"\btype (?:error|check|checking|inference|definitions?)\b", Bugfix, 0.7),
    (r"\bstrict (?:mode|null)\b|\bstrictness\b", Refactor, 0.4),
    (r"\bnode(?:\.js)? v?\d+\b|\bpython 3\.\d+\b", Configuration, 0.5),
    (r"^cut\b.*\brelease\b", Configuration, 4.0),
    (
        r"\b(?:tree-? ?shak\w+|shallowref|iterations?|only .* (?:when|if|once)|payload|chunks?|defer\w*|static\w*|makemap|weakmap|startup|recursive|decrease|unneeded|empty|twice|once)\b",
        Performance,
        0.8,
    ),
    (r"^(?:skip|avoid|reduce|defer|share|only|don'?t)\b", Performance, 0.7),
    (r"\bpreview\b|\bdemo\b|\bdev[- ]app\b", Configuration, 0.4),
    (r"\bback to\b|\broll ?back\b|\bundo\b", Bugfix, 0.6),
    (r"\bsync\b|\bsynchroni[sz]e\b", Configuration, 0.3),
    (r"\bdeprecat\w+ warning", Bugfix, 0.5),
    (r"\bdo not\b|\bnot\b", Bugfix, 0.5),
    (r"\b(?:accessib\w+|screen readers?|keyboard)\b", Bugfix, 0.5),
    (r"\bmerge (?:branch|pull request|remote)\b", Configuration, 0.2),
];

/// Of bytes, without Unicode: the words are English, and it is several times faster.
static SET: LazyLock<RegexSet> = LazyLock::new(|| {
    let mut builder = RegexSetBuilder::new(WORDS.map(|(pattern, _, _)| pattern));
    builder.unicode(false).dfa_size_limit(16 << 20).build().expect("the patterns are constant")
});

/// How much the subject supports each type, by [`ChangeType::ALL`].
pub(super) fn weights(subject: &str) -> [f32; 10] {
    let lower = subject.to_lowercase();
    let mut weights = [0.0; 10];
    for at in SET.matches(lower.as_bytes()) {
        let (_, kind, weight) = WORDS[at];
        weights[kind as usize] += weight;
    }
    weights
}
