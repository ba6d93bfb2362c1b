//! Expands the names in a filter: authors to all their user names and addresses, and a sentence for a name that no
//! document has.

use std::collections::BTreeSet;

use backstory_model::filter::{Filter, is_same_name};
use backstory_store::index::{Named, Projects};

use crate::{Engine, error::Result, read::ThreadFilter};

impl Engine {
    /// Adds to the authors of a filter their other user names and addresses. Says of each author and label that no
    /// document has which one is nearest.
    pub(super) async fn settle_names(&self, filter: &mut Filter) -> Result<Vec<String>> {
        let mut absent = Vec::new();
        if !filter.authors.is_empty() {
            let (engine, asked) = (self.clone(), filter.authors.clone());
            let keys = move |author: &String| Ok((author.clone(), engine.author_keys(author)?));
            let settled = self.blocking(move || asked.iter().map(keys).collect::<Result<Vec<_>>>()).await?;
            let known = self.index().known(Named::Author, Projects::of(filter));
            for (author, keys) in &settled {
                if !known.iter().any(|own| keys.iter().any(|key| is_same_name(own, key))) {
                    absent.push(format!("nothing is by '{author}'{}", nearest(author, &known)));
                }
            }
            filter.authors = settled.into_iter().flat_map(|(_, keys)| keys).collect();
        }
        if !filter.labels.is_empty() {
            let known = self.index().known(Named::Label, Projects::of(filter));
            for label in filter.labels.iter().filter(|label| !known.iter().any(|own| is_same_name(own, label))) {
                absent.push(format!("nothing has the label '{label}'{}", nearest(label, &known)));
            }
        }
        Ok(absent)
    }

    /// The conditions of a list with its names in the case in which they are known.
    pub(crate) fn as_written(&self, filter: &ThreadFilter) -> ThreadFilter {
        let projects = filter.project.as_ref().map_or(Projects::All, |one| Projects::Only(std::slice::from_ref(one)));
        let written = |what: Named, name: &String| {
            let known = self.index().known(what, projects);
            let is_known = known.contains(name.as_str());
            let other = known.into_iter().find(|own| !is_known && is_same_name(own, name));
            other.map_or_else(|| name.clone(), |own| own.to_string())
        };
        ThreadFilter {
            author: filter.author.as_ref().map(|author| written(Named::Author, author)),
            label: filter.label.as_ref().map(|label| written(Named::Label, label)),
            ..filter.clone()
        }
    }
}

/// The name that is most like one, as the end of a sentence.
fn nearest<T: AsRef<str>>(name: &str, known: &BTreeSet<T>) -> String {
    let name = name.to_lowercase();
    let like = |other: &str| strsim::jaro_winkler(&name, &other.to_lowercase());
    let nearest = known.iter().map(|other| (like(other.as_ref()), other.as_ref())).max_by(|a, b| a.0.total_cmp(&b.0));
    nearest.map_or_else(String::new, |(_, nearest)| format!("; the nearest name is '{nearest}'"))
}
