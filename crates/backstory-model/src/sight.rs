//! Visibility: what a reader may see, public items only or confidential ones too.

/// What a reader sees. What it does not see looks to it like what does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Visibility {
    /// What everybody sees who can read the projects.
    Open,
    /// Confidential issues and internal notes too.
    Confidential,
}

impl Visibility {
    /// Whether it sees something that is confidential or not.
    pub fn sees(self, confidential: bool) -> bool {
        !confidential || self == Self::Confidential
    }
}
