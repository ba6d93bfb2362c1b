//! The authors of commits: joins their addresses with each other and with the users of the forges, in each project by what
//! that project knows. People of a forge are in `store::ledger`.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use backstory_model::{
    alias::{PersonNames, alias_email},
    entity::{Item, ItemKind},
    filter::is_same_name,
    people::{ForgeUser, Identity, Mailmap, is_shared, merge, noreply_host},
    repository::{CommitIdentity, identity_key},
    text::truncate_echo,
    visibility::Visibility,
};
use backstory_sources::git::mailmap;
use backstory_store::ledger::{IngestBatch, NewItem, RepositoryEntry, StoredItem};
use jiff::Timestamp;

use super::lock_repositories;
use crate::{
    clones::{has_clone, open_objects},
    error::{Error, ErrorKind, Result},
    nearest::{may_be_meant, most_alike},
    payload::{each_string, json_of},
    records::{commit_record, each_stored, parse_if_readable, reference_syntax, repository_record},
    resources::Resources,
    state::people::Everybody,
};

/// What notes in the ledger that there may be names that no commit has.
const LEFT: &str = "left identities";
/// What the names of programs end in where a forge tells them apart from people.
const BOT: &str = "[bot]";
/// Characters of the shortest name by which somebody is recognized.
const SHORTEST: usize = 3;
/// Most people whom a part of a name stands for that are told besides the first.
const MAX_NEAR: usize = 5;
/// Names and addresses with a part of a name that are looked at: each is compared with everybody's.
const MAX_CONSIDERED: usize = 20;
/// Fewest bytes of a part of a name: a letter alone is an initial.
const SHORTEST_PART: usize = 2;
/// Names that are looked at to find the nearest one.
const MAX_ALIKE: usize = 20;
/// What the keys of people without an address end in.
const NO_ADDRESS: &str = "@unknown";

/// Stores the names and addresses that commits of a project have, besides those that are known.
pub(super) fn add_identities(resources: &Resources, project: &str, found: BTreeSet<(String, String)>) -> Result<()> {
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let aliases = resources.ledger().aliases();
    for (name, email) in found {
        let (name, email) = match aliases.for_signature(&name, &email) {
            Some(alias) => (alias.to_owned(), alias_email(alias)),
            None => (resources.redact_name(&name), resources.redact_name(&email)),
        };
        names.entry(identity_key(&name, &email)).or_default().insert(name);
    }
    let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
    for (key, mut names) in names {
        let known = resources.ledger().item(project, ItemKind::Identity, &key)?.as_ref().and_then(identity);
        if let Some(known) = &known {
            names.extend(known.names.iter().cloned());
        }
        let known = known.unwrap_or(CommitIdentity { key, names: vec![], same_as: None, because: None });
        page.items.push(item(project, &CommitIdentity { names: names.into_iter().collect(), ..known }));
    }
    resources.ledger().ingest(&page)?;
    Ok(())
}

/// Notes that commits leave or are read again, so that names and addresses may be left that no commit has.
pub(super) fn note_possible_orphans(resources: &Resources) -> Result<()> {
    Ok(resources.ledger().put_aggregate("", LEFT, b"true")?)
}

/// Forgets those that were noted, once every repository was read.
pub(crate) fn delete_noted_identities(resources: &Resources) -> Result<()> {
    if resources.ledger().aggregate("", LEFT)?.is_none_or(|noted| noted != b"true") {
        return Ok(());
    }
    let _nobody_reads = lock_repositories(resources);
    rebuild_identities(resources)?;
    Ok(resources.ledger().put_aggregate("", LEFT, b"false")?)
}

/// Stores the names and addresses that the commits of each project have, and deletes all others.
pub(crate) fn rebuild_identities(resources: &Resources) -> Result<()> {
    let mut left: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for entry in resources.ledger().repositories()? {
        for key in resources.ledger().keys(&entry.project, ItemKind::Commit)? {
            let Some(record) = commit_record(resources, &entry.project, &key)? else { continue };
            for of in [record.commit.author, record.commit.committer] {
                let key = (entry.project.clone(), identity_key(&of.name, &of.email));
                left.entry(key).or_default().insert(of.name);
            }
        }
    }
    let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
    let mut gone = Vec::new();
    for stored in resources.ledger().items_of_kind(ItemKind::Identity)? {
        let known = identity(&stored);
        let place = (stored.project, stored.key);
        match (left.remove(&place), known) {
            (Some(names), Some(known)) => {
                page.items.push(item(&place.0, &CommitIdentity { names: names.into_iter().collect(), ..known }));
            }
            _ => gone.push((place.0, ItemKind::Identity, place.1)),
        }
    }
    for ((project, key), names) in left {
        let new = CommitIdentity { key, names: names.into_iter().collect(), same_as: None, because: None };
        page.items.push(item(&project, &new));
    }
    resources.ledger().ingest(&page)?;
    resources.ledger().tombstone(&gone, Timestamp::now())?;
    Ok(())
}

/// What a person is called at the forge and by commits and mailmaps, as far as nobody else has that name; `None` if
/// nobody is known by that user name or address.
pub(crate) fn names_of(resources: &Resources, person: &str) -> Result<Option<PersonNames>> {
    let known = all_identities(resources, &[])?;
    let of_address = known.iter().find(|of| of.key.eq_ignore_ascii_case(person));
    let id = of_address.map_or(person, |of| of.same_as.as_deref().unwrap_or(&of.key));
    // Also those whom only something confidential names.
    let users = forge_users(&resources.with_full_visibility(), &[])?;
    let user = users.iter().find(|user| user.username.eq_ignore_ascii_case(id));
    if user.is_none() && of_address.is_none() {
        return Ok(None);
    }
    let id = user.map_or(id, |user| &user.username);
    // One project may say of an address who that is, and another not.
    let is_them = |of: &&CommitIdentity| of.key == id || of.same_as.as_deref() == Some(id);
    let theirs: BTreeSet<&str> = known.iter().filter(is_them).map(|of| of.key.as_str()).collect();
    let (theirs, others): (Vec<&CommitIdentity>, Vec<&CommitIdentity>) =
        known.iter().partition(|of| theirs.contains(of.key.as_str()));
    let addresses: BTreeSet<String> = theirs.iter().map(|of| of.key.clone()).collect();
    let mailmap = load_mailmap(resources)?;
    // An address may lead to another, and that to a third.
    let addresses = mailmap.addresses_with(&mailmap.addresses_with(&addresses));
    let is_own = |address: &String| {
        !address.ends_with(NO_ADDRESS) && !is_shared(address) && !others.iter().any(|of| of.key == *address)
    };
    let lower = |name: &str| name.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ");
    let other_users = users.iter().filter(|user| user.username != id).map(|user| lower(&user.name));
    let taken: BTreeSet<String> =
        others.iter().flat_map(|of| of.names.iter().map(|name| lower(name))).chain(other_users).collect();
    let names = theirs.iter().flat_map(|of| of.names.iter()).chain(user.map(|user| &user.name));
    let names: BTreeSet<String> = names.filter(|name| !taken.contains(&lower(name))).cloned().collect();
    Ok(Some(PersonNames {
        id: id.to_owned(),
        addresses: addresses.into_iter().filter(is_own).collect(),
        names: names.into_iter().filter(|name| name.chars().count() >= SHORTEST).collect(),
    }))
}

/// The people whom a reader knows.
pub(crate) struct KnownPeople(Arc<Everybody>);

/// Somebody whom a part of a name stands for.
pub(crate) struct PartialMatch {
    /// The name or address that has the part.
    pub(crate) name: String,
    /// All by which documents name them.
    pub(crate) keys: BTreeSet<String>,
}

impl KnownPeople {
    /// The people of projects, or of all that are visible if none are given.
    pub(crate) fn load(resources: &Resources, projects: &[String]) -> Result<Self> {
        let kept = || resources.shared.people.lock();
        let (seq, key) = (resources.ledger().last_seq()?, (projects.to_vec(), resources.visibility().clone()));
        if let Some(everybody) = kept().get(seq, &key) {
            return Ok(Self(everybody));
        }
        let (identities, users) = (all_identities(resources, projects)?, forge_users(resources, projects)?);
        let everybody = Arc::new(Everybody { identities, users });
        kept().keep(seq, key, &everybody);
        Ok(Self(everybody))
    }

    /// All by which documents name an author of that name, by a user name, an address or a name in whatever case:
    /// user names, and the addresses of commits.
    pub(crate) fn author_keys(&self, called: &str) -> BTreeSet<String> {
        let mut keys = self.people_called(called);
        keys.insert(called.to_owned());
        let theirs = self.0.identities.iter().filter(|of| keys.contains(person_of(of)));
        let addresses: Vec<String> = theirs.map(|of| of.key.clone()).collect();
        keys.extend(addresses);
        keys
    }

    /// Those whose user name, address or whole name it is, in whatever case: user names, or addresses of people whom only
    /// commits know.
    pub(crate) fn people_called(&self, called: &str) -> BTreeSet<String> {
        let is_called = |name: &str| is_same_name(name, called);
        let users = self.0.users.iter().filter(|user| is_called(&user.username) || is_called(&user.name));
        let is_theirs = |of: &&CommitIdentity| {
            is_called(&of.key) || is_called(person_of(of)) || of.names.iter().any(|name| is_called(name))
        };
        let of_commits = self.0.identities.iter().filter(is_theirs).map(|of| person_of(of).to_owned());
        users.map(|user| user.username.clone()).chain(of_commits).collect()
    }

    /// Those whom a name may mean: all who have that name, or else all with that part of a name.
    pub(crate) fn people_meant(&self, called: &str) -> BTreeSet<String> {
        let exactly = self.people_called(called);
        if !exactly.is_empty() {
            return exactly;
        }
        let by_part = self.find_by_part(called, |_| true);
        by_part.iter().flat_map(|of| self.people_called(&of.name)).collect()
    }

    /// Finds whom a part of a name stands for: a word of it, an address without its host, or what a program is called
    /// without the mark of programs. Only those whose keys are wanted, and at most six.
    pub(crate) fn find_by_part(&self, part: &str, is_wanted: impl Fn(&BTreeSet<String>) -> bool) -> Vec<PartialMatch> {
        let mut found: Vec<PartialMatch> = Vec::new();
        // What many share joins nobody.
        let is_same =
            |one: &BTreeSet<String>, other: &BTreeSet<String>| one.intersection(other).any(|key| !is_shared_key(key));
        for name in self.names_with_part(part).into_iter().take(MAX_CONSIDERED) {
            let keys = self.author_keys(name);
            // Another name of the same person is none of another.
            if !is_wanted(&keys) || found.iter().any(|known| is_same(&known.keys, &keys)) {
                continue;
            }
            found.push(PartialMatch { name: name.to_owned(), keys });
            if found.len() > MAX_NEAR {
                break;
            }
        }
        found
    }

    /// The error for a name that does not stand for one person alone: `found` are those whom it may mean.
    pub(crate) fn unclear_error(&self, called: &str, found: &[String]) -> Error {
        let error = |what: &str| Error::new(ErrorKind::NotFound, format!("{what} as {}", truncate_echo(called)));
        if !found.is_empty() {
            let shown: Vec<&str> = found.iter().take(MAX_NEAR).map(String::as_str).collect();
            return error("more than one person is known").with_hint(format!("did you mean {}?", shown.join(", ")));
        }
        error("nobody is known").with_hint(match self.nearest_to(called) {
            Some(name) => format!("did you mean {}?", truncate_echo(name)),
            None => "write a user name of the forge, or the e-mail address of commits".to_owned(),
        })
    }

    /// The name, user name or address that is nearest to one that nobody has; `None` if none is near.
    pub(crate) fn nearest_to(&self, called: &str) -> Option<&str> {
        let keys = self.0.identities.iter().map(|of| of.key.as_str());
        let keys = keys.filter(|key| !is_shared_key(key) && !key.ends_with(NO_ADDRESS));
        let known = self.names().chain(self.user_names()).chain(keys);
        most_alike(called, known, MAX_ALIKE).into_iter().find(|name| may_be_meant(called, name))
    }

    /// The names of people.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let of_commits = self.0.identities.iter().flat_map(|of| &of.names).map(String::as_str);
        of_commits.chain(self.0.users.iter().map(|user| user.name.as_str()))
    }

    /// The names of users of the forges.
    pub(crate) fn user_names(&self) -> impl Iterator<Item = &str> {
        self.0.users.iter().map(|user| user.username.as_str())
    }

    /// The names that have a part, in whatever case, then the user names, then the addresses, each in order.
    fn names_with_part(&self, part: &str) -> Vec<&str> {
        if part.len() < SHORTEST_PART {
            return Vec::new();
        }
        let has_word = |name: &&str| name.split_whitespace().any(|word| is_word(word, part));
        let has_user_name = |name: &&str| is_word(name, part);
        let has_local_part = |key: &&str| {
            !is_shared_key(key) && !key.ends_with(NO_ADDRESS) && local_parts(key).any(|local| is_word(local, part))
        };
        let names: BTreeSet<&str> = self.names().filter(has_word).collect();
        let user_names: BTreeSet<&str> = self.user_names().filter(has_user_name).collect();
        let addresses = self.0.identities.iter().map(|of| of.key.as_str());
        let addresses: BTreeSet<&str> = addresses.filter(has_local_part).collect();
        names.into_iter().chain(user_names).chain(addresses).collect()
    }
}

/// Whether a word of a name is what was asked for: of a program also without its mark, or the mark alone.
fn is_word(word: &str, asked: &str) -> bool {
    let is_asked = |name: &str| is_same_name(name, asked);
    is_asked(word) || word.strip_suffix(BOT).is_some_and(|program| is_asked(program) || is_asked("bot"))
}

/// An address without its host, and without the number before a `+` or the tag after it: `ann` of `12+ann@example.com`.
fn local_parts(address: &str) -> impl Iterator<Item = &str> {
    let local = address.rsplit_once('@').map(|(local, _)| local);
    let without_tag = local
        .and_then(|local| local.split_once('+'))
        .map(|(before, after)| if before.chars().all(|c| c.is_ascii_digit()) { after } else { before });
    local.into_iter().chain(without_tag)
}

/// Who an identity is: a user name, or the key that stands for all of theirs.
fn person_of(identity: &CommitIdentity) -> &str {
    identity.same_as.as_deref().unwrap_or(&identity.key)
}

/// Whether what documents name somebody by is an address that stands for nobody in particular.
fn is_shared_key(key: &str) -> bool {
    key.contains('@') && is_shared(&key.to_lowercase())
}

/// What each visible project, or each of those that are given, knows of those who made commits.
fn all_identities(resources: &Resources, projects: &[String]) -> Result<Vec<CommitIdentity>> {
    let stored = resources.ledger().items_of_kind(ItemKind::Identity)?;
    Ok(stored.iter().filter(|item| is_in(item, projects)).filter_map(identity).collect())
}

/// Whether an item is of one of these projects; of any if there are none.
fn is_in(item: &StoredItem, projects: &[String]) -> bool {
    projects.is_empty() || projects.contains(&item.project)
}

fn identity(stored: &StoredItem) -> Option<CommitIdentity> {
    serde_json::from_slice(stored.payload.as_deref()?).ok()
}

/// Says of every name and address who it is, as far as can be told.
pub(crate) async fn link_people(resources: &Resources) -> Result<()> {
    resources.blocking(link_people_now).await
}

fn link_people_now(resources: &Resources) -> Result<()> {
    for entry in resources.ledger().repositories()? {
        link_people_of(resources, &entry.project)?;
    }
    Ok(())
}

/// Says who it is by what the project knows alone: so a reader of it learns nothing about other projects.
fn link_people_of(resources: &Resources, project: &str) -> Result<()> {
    // Whom nothing public mentions is linked with nothing that all may see.
    let own = resources.with_visibility(Visibility::of_projects([project]));
    let known = all_identities(&own, &[])?;
    if known.is_empty() {
        return Ok(());
    }
    // Without the mailmap of a clone that is missing, the people whom it joins would come apart.
    if own.ledger().repositories()?.iter().any(|entry| is_mailmap_missing(&own, entry)) {
        return Ok(());
    }
    let users = forge_users(&own, &[])?;
    let identities: Vec<Identity> = known.iter().flat_map(identities_in).collect();
    let host = noreply_host(&reference_syntax(&own, project)?.1);
    let people = merge(&users, &identities, &load_mailmap(&own)?, host.as_deref());
    // The smallest key of each person stands for all, unless they have an account.
    let mut smallest: BTreeMap<&str, &str> = BTreeMap::new();
    for of in &known {
        if let Some(person) = identities_in(of).first().and_then(|identity| people.find(identity)) {
            smallest.entry(&person.id).and_modify(|key| *key = (*key).min(&of.key)).or_insert(&of.key);
        }
    }
    let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
    for of in &known {
        let person = identities_in(of).first().and_then(|identity| people.find(identity));
        let same_as = person.and_then(|person| match &person.username {
            Some(username) => Some(username.clone()),
            None => smallest.get(person.id.as_str()).filter(|key| **key != of.key).map(|key| (*key).to_owned()),
        });
        let because = person.filter(|_| same_as.is_some()).and_then(|person| person.weakest);
        page.items.push(item(project, &CommitIdentity { same_as, because, ..of.clone() }));
    }
    resources.ledger().ingest(&page)?;
    Ok(())
}

/// The users of the forges who are visible, or those of the given projects, some of them once for each project.
fn forge_users(resources: &Resources, projects: &[String]) -> Result<Vec<ForgeUser>> {
    let mut users = Vec::new();
    for item in resources.ledger().items_of_kind(ItemKind::Person)?.into_iter().filter(|item| is_in(item, projects)) {
        if let Some(Item::Person(person)) = parse_if_readable(resources, &item) {
            let forge_id = Some(person.forge_id);
            users.push(ForgeUser { username: person.username, forge_id, name: person.name, emails: vec![] });
        }
    }
    Ok(users)
}

fn is_mailmap_missing(resources: &Resources, entry: &RepositoryEntry) -> bool {
    entry.synced_at.is_some() && !has_clone(resources, &entry.project)
}

/// The mailmaps of all visible repositories in one, in the order of their projects. One that cannot be read is left out.
fn load_mailmap(resources: &Resources) -> Result<Mailmap> {
    let mut mailmap = Mailmap::default();
    for entry in resources.ledger().repositories()? {
        let Some(repository) = repository_record(resources, &entry.project)? else { continue };
        let head = repository.default_branch.as_ref().and_then(|branch| entry.indexed.get(branch.as_str()));
        let Some(head) = head else { continue };
        let text = open_objects(resources, &entry.project)
            .and_then(|objects| Ok(mailmap::read_mailmap_text_at(&objects, *head)?));
        match text {
            Ok(text) => mailmap.add(&text),
            Err(error) => tracing::warn!(project = entry.project, %error, "a mailmap is left out"),
        }
    }
    Ok(mailmap)
}

/// Gives each project that mentions people profiles of its own, where a ledger keeps them for all projects together, and
/// and each repository the authors of its commits.
pub(crate) fn move_people_to_projects(resources: &Resources) -> Result<()> {
    let mut gone = Vec::new();
    let mut profiles: HashMap<String, StoredItem> = HashMap::new();
    for kind in [ItemKind::Person, ItemKind::Identity] {
        for stored in resources.ledger().items_of_kind(kind)?.into_iter().filter(|stored| stored.project.is_empty()) {
            gone.push((String::new(), kind, stored.key.clone()));
            let json = json_of(&stored).unwrap_or_default();
            let username = ["username", "login"].into_iter().find_map(|name| json[name].as_str());
            if let Some(username) = username.filter(|_| kind == ItemKind::Person) {
                profiles.insert(username.to_owned(), stored);
            }
        }
    }
    if gone.is_empty() {
        return Ok(());
    }
    // Whether each project mentions each person in public.
    let mut mentions: BTreeMap<(String, String), bool> = BTreeMap::new();
    each_stored(resources, |item| {
        if matches!(item.kind, ItemKind::Issue | ItemKind::MergeRequest | ItemKind::Discussion) {
            each_string(&json_of(item).unwrap_or_default(), &mut |text| {
                if profiles.contains_key(text) {
                    *mentions.entry((item.project.clone(), text.to_owned())).or_default() |= !item.confidential;
                }
            });
        }
    })?;
    let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
    for ((project, username), is_public) in mentions {
        let profile = &profiles[&username];
        page.items.push(NewItem {
            project,
            kind: ItemKind::Person,
            key: profile.key.clone(),
            thread: None,
            updated_at: profile.updated_at,
            secrets: BTreeMap::new(),
            confidential: !is_public,
            payload: profile.payload.clone().unwrap_or_default(),
        });
    }
    resources.ledger().ingest(&page)?;
    rebuild_identities(resources)?;
    link_people_now(resources)?;
    // Last, so that it is done again if it was cut off.
    resources.ledger().tombstone(&gone, Timestamp::now())?;
    Ok(())
}

fn identities_in(of: &CommitIdentity) -> Vec<Identity> {
    let email = if of.key.ends_with(NO_ADDRESS) { "" } else { of.key.as_str() };
    of.names.iter().map(|name| Identity { name: name.clone(), email: email.to_owned() }).collect()
}

fn item(project: &str, identity: &CommitIdentity) -> NewItem {
    NewItem {
        project: project.to_owned(),
        kind: ItemKind::Identity,
        key: identity.key.clone(),
        thread: None,
        updated_at: None,
        secrets: BTreeMap::new(),
        confidential: false,
        payload: serde_json::to_vec(identity).unwrap_or_default(),
    }
}
