//! Programming languages: their names and the extensions of their files.

use serde::{Deserialize, Serialize};

/// A programming language whose files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Rust.
    Rust,
    /// Go.
    Go,
    /// Python.
    Python,
    /// TypeScript without JSX.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    /// JavaScript, with or without JSX.
    JavaScript,
    /// Java.
    Java,
    /// C.
    C,
    /// C++.
    Cpp,
    /// C#.
    CSharp,
    /// Ruby.
    Ruby,
    /// PHP.
    Php,
    /// Kotlin.
    Kotlin,
    /// Bash and other shells of its family.
    Bash,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 14] = [
        Self::Rust,
        Self::Go,
        Self::Python,
        Self::TypeScript,
        Self::Tsx,
        Self::JavaScript,
        Self::Java,
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Ruby,
        Self::Php,
        Self::Kotlin,
        Self::Bash,
    ];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::Python => "Python",
            Self::TypeScript => "TypeScript",
            Self::Tsx => "TSX",
            Self::JavaScript => "JavaScript",
            Self::Java => "Java",
            Self::C => "C",
            Self::Cpp => "C++",
            Self::CSharp => "C#",
            Self::Ruby => "Ruby",
            Self::Php => "PHP",
            Self::Kotlin => "Kotlin",
            Self::Bash => "Bash",
        }
    }

    /// The language of that name in any case, or that has files with that extension.
    pub fn from_name(name: &str) -> Option<Self> {
        let lower = name.trim().trim_start_matches('.').to_lowercase();
        let is_called = |language: &Self| language.name().to_lowercase() == lower;
        let found = Self::ALL.into_iter().find(is_called);
        found.or_else(|| Self::ALL.into_iter().find(|language| language.extensions().contains(&lower.as_str())))
    }

    /// Extensions of its files, in lower case. A header `.h` is C, unless what is in it says C++.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["rs"],
            Self::Go => &["go"],
            Self::Python => &["py", "pyi", "pyw"],
            Self::TypeScript => &["ts", "mts", "cts"],
            Self::Tsx => &["tsx"],
            Self::JavaScript => &["js", "mjs", "cjs", "jsx"],
            Self::Java => &["java"],
            Self::C => &["c", "h"],
            Self::Cpp => &["cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "ipp", "inl"],
            Self::CSharp => &["cs"],
            Self::Ruby => &["rb", "rake", "gemspec"],
            Self::Php => &["php"],
            Self::Kotlin => &["kt", "kts"],
            Self::Bash => &["sh", "bash"],
        }
    }

    /// Extensions of the files that somebody means who names it: C++ has headers of C, TypeScript has those with JSX.
    pub fn searched_extensions(self) -> impl Iterator<Item = &'static str> {
        let others: &[&str] = match self {
            Self::TypeScript => Self::Tsx.extensions(),
            Self::Cpp => &["h"],
            _ => &[],
        };
        self.extensions().iter().chain(others).copied()
    }

    /// What joins the parts of a qualified name.
    pub fn separator(self) -> &'static str {
        match self {
            Self::Rust | Self::Cpp | Self::Ruby | Self::Php => "::",
            _ => ".",
        }
    }

    /// Whether code of the two can call each other in one repository without a bridge.
    pub fn interoperates_with(self, other: Self) -> bool {
        self.family() == other.family()
    }

    fn family(self) -> Self {
        match self {
            Self::Tsx | Self::JavaScript => Self::TypeScript,
            Self::Cpp => Self::C,
            Self::Kotlin => Self::Java,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_called_by_name_or_extension() {
        for (name, expected) in [
            ("rust", Some(Language::Rust)),
            ("C++", Some(Language::Cpp)),
            ("cpp", Some(Language::Cpp)),
            (".ts", Some(Language::TypeScript)),
            ("JavaScript", Some(Language::JavaScript)),
            ("c", Some(Language::C)),
            ("klingon", None),
            ("", None),
        ] {
            assert_eq!(Language::from_name(name), expected, "{name}");
        }
    }

    #[test]
    fn no_two_languages_share_an_extension() {
        let mut all: Vec<&str> = Language::ALL.iter().flat_map(|language| language.extensions()).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
