//! Visibility: what a caller may see: which projects, and whether what is confidential in them. It is a value that each
//! request carries; the stores filter by it.

use std::{collections::BTreeSet, sync::Arc};

/// The projects that a caller may see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum ProjectSet {
    /// All there are, and all that will be.
    #[default]
    All,
    /// Those with these full paths.
    Only(Arc<BTreeSet<String>>),
}

impl ProjectSet {
    /// Whether a project belongs to the set.
    pub fn contains(&self, project: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(projects) => projects.contains(project),
        }
    }

    /// Whether every project of another set belongs to this one.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Only(_), Self::All) => false,
            (Self::Only(own), Self::Only(others)) => others.is_subset(own),
        }
    }
}

/// What a caller may see. To the caller, everything else does not exist.
///
/// The default is what every caller may see: all projects without their confidential items. Cheap to clone.
///
/// ```
/// use backstory_model::visibility::Visibility;
///
/// let visibility = Visibility::of_projects(["acme/shop"]);
/// assert!(visibility.allows("acme/shop", false));
/// assert!(!visibility.allows("acme/shop", true) && !visibility.allows("acme/web", false));
/// assert!(visibility.with_confidential().allows("acme/shop", true));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Visibility {
    projects: ProjectSet,
    confidential: bool,
}

impl Visibility {
    /// All projects with their confidential items: what work on the stores sees.
    pub fn everything() -> Self {
        Self { projects: ProjectSet::All, confidential: true }
    }

    /// All projects without their confidential items.
    pub fn public() -> Self {
        Self::default()
    }

    /// Some projects, by their full paths, without their confidential items.
    pub fn of_projects<P: Into<String>>(projects: impl IntoIterator<Item = P>) -> Self {
        let projects = projects.into_iter().map(Into::into).collect();
        Self { projects: ProjectSet::Only(Arc::new(projects)), confidential: false }
    }

    /// The same projects with their confidential items.
    #[must_use]
    pub fn with_confidential(self) -> Self {
        Self { confidential: true, ..self }
    }

    /// The same projects without their confidential items.
    #[must_use]
    pub fn without_confidential(self) -> Self {
        Self { confidential: false, ..self }
    }

    /// The same for one project alone: nothing, if that is not visible.
    #[must_use]
    pub fn within_project(&self, project: &str) -> Self {
        let projects = self.allows_project(project).then(|| project.to_owned());
        Self { confidential: self.confidential, ..Self::of_projects(projects) }
    }

    /// Which projects it shows.
    pub fn projects(&self) -> &ProjectSet {
        &self.projects
    }

    /// Whether it shows confidential items of the projects that it shows.
    pub fn shows_confidential(&self) -> bool {
        self.confidential
    }

    /// Whether it shows what is not confidential in a project.
    pub fn allows_project(&self, project: &str) -> bool {
        self.projects.contains(project)
    }

    /// Whether it shows an item of a project that is confidential or not.
    pub fn allows(&self, project: &str, confidential: bool) -> bool {
        (!confidential || self.confidential) && self.allows_project(project)
    }

    /// Whether it shows all projects.
    pub fn allows_all_projects(&self) -> bool {
        self.projects == ProjectSet::All
    }

    /// Whether it shows all there is.
    pub fn allows_everything(&self) -> bool {
        self.confidential && self.allows_all_projects()
    }

    /// Whether it shows all that another one shows.
    pub fn covers(&self, other: &Self) -> bool {
        (self.confidential || !other.confidential) && self.projects.covers(&other.projects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_covers_what_another_shows() {
        let of = |projects: &[&str]| Visibility::of_projects(projects.iter().copied());
        let (none, one, two) = (of(&[]), of(&["a/b"]), of(&["a/b", "a/c"]));
        let all = [Visibility::everything(), Visibility::public(), two.clone(), one.clone(), none.clone()];
        for (place, visibility) in all.iter().enumerate() {
            assert!(all[place..].iter().all(|less| visibility.covers(less)), "{visibility:?}");
            assert!(!all[..place].iter().any(|more| visibility.covers(more)), "{visibility:?}");
        }
        assert!(!one.clone().with_confidential().covers(&two) && !two.covers(&one.clone().with_confidential()));
        assert_eq!(Visibility::default(), Visibility::public());
        assert!(!none.allows("a/b", false) && Visibility::everything().allows("a/b", true));
        assert_eq!(two.within_project("a/b"), one);
        assert_eq!((two.within_project("a/d"), Visibility::public().within_project("a/b")), (none, one));
    }
}
