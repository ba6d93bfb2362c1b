//! What texts say of security: identifiers of vulnerabilities and weaknesses (CVE, GHSA, CWE), each with the line that
//! names it. Nothing is scanned and nobody is asked: a flag says that a text names it.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::text::snippet;

/// Most flags of one text.
pub const MAX_FLAGS: usize = 50;
/// Longest text that is searched, in bytes.
const MAX_TEXT: usize = 1 << 20;
/// Length of a quoted line, in characters.
const QUOTED: usize = 160;

/// Where a flag comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FlagKind {
    /// An entry of the list of common vulnerabilities and exposures.
    Cve,
    /// An advisory of GitHub.
    Ghsa,
    /// A kind of weakness.
    Cwe,
    /// The rules that tell a change's type call it security.
    Classified,
}

/// A sign that a commit, issue or merge request is about security.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecurityFlag {
    /// Where it comes from.
    pub kind: FlagKind,
    /// The identifier, in the form of its list: `CVE-2024-3094`; `security` if it is classified.
    pub id: String,
    /// The line that names it, shortened; of what is classified, the title.
    pub evidence: String,
    /// Number of that line, from 1.
    pub line: u32,
}

static IDENTIFIER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)(?-u:\b)(?: (?P<cve> CVE-(?:19|20)[0-9]{2}-[0-9]{4,7} )
            | (?P<ghsa> GHSA(?:-[23456789cfghjmpqrvwx]{4}){3} )
            | (?P<cwe> CWE-[0-9]{1,5} ) )(?-u:\b)",
    )
    .expect("the pattern is constant")
});

/// The identifiers that a text names, each once, in the order of their first lines.
pub fn security_flags(text: &str) -> Vec<SecurityFlag> {
    let text = &text[..text.floor_char_boundary(MAX_TEXT.min(text.len()))];
    let mut found: Vec<SecurityFlag> = Vec::new();
    for (line, number) in text.lines().zip(1u32..) {
        for captures in IDENTIFIER.captures_iter(line) {
            let (kind, id) = match (captures.name("cve"), captures.name("ghsa"), captures.name("cwe")) {
                (Some(id), ..) => (FlagKind::Cve, id.as_str().to_ascii_uppercase()),
                (_, Some(id), _) => (FlagKind::Ghsa, format!("GHSA{}", id.as_str()[4..].to_ascii_lowercase())),
                (.., Some(id)) => (FlagKind::Cwe, id.as_str().to_ascii_uppercase()),
                _ => continue,
            };
            if found.len() < MAX_FLAGS && !found.iter().any(|flag| flag.id == id) {
                let evidence = snippet(line, &id, QUOTED);
                found.push(SecurityFlag { kind, id, evidence, line: number });
            }
        }
    }
    found
}

/// The flag of a change that rules call security.
pub fn classified(title: &str) -> SecurityFlag {
    let (kind, id) = (FlagKind::Classified, "security".to_owned());
    SecurityFlag { kind, id, evidence: snippet(title, "", QUOTED), line: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_found_with_their_lines() {
        let text = "Bump zlib\n\nFixes cve-2022-37434 (CWE-787), see GHSA-CFMR-vrgj-vqwv.\nCVE-2022-37434 again";
        let found: Vec<(FlagKind, String, u32)> =
            security_flags(text).into_iter().map(|flag| (flag.kind, flag.id, flag.line)).collect();
        let expected = [
            (FlagKind::Cve, "CVE-2022-37434", 3),
            (FlagKind::Cwe, "CWE-787", 3),
            (FlagKind::Ghsa, "GHSA-cfmr-vrgj-vqwv", 3),
        ];
        assert_eq!(found, expected.map(|(kind, id, line)| (kind, id.to_owned(), line)));
        assert!(security_flags(text)[0].evidence.contains("cve-2022-37434"));
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        assert_eq!(security_flags("XCVE-2022-37434 CVE-22-1 GHSA-aaaa CWE-abc CVE-2022-123"), []);
    }
}
