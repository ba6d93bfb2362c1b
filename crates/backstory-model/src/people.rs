//! Merges the names and e-mail addresses of commits, `.mailmap` and the users of a forge into people.
//!
//! Matches are made in order of confidence. None ever joins two users of the forge: a match that would is refused. The
//! result depends on what is given and not on its order. Storing it belongs to `engine::repository`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

mod mailmap;
mod usernames;

#[cfg(test)]
mod tests;

pub use mailmap::{MAX_MAILMAP, Mailmap};

/// Most identities that are merged; further ones, in their own order, are left out.
pub const MAX_IDENTITIES: usize = 1_000_000;

/// What the hosts of noreply addresses begin with; the rest is the forge's own.
const NOREPLY: &str = "users.noreply.";

/// Host of the addresses of aliases: those that forges make of user names have such hosts, so the address is told to be of
/// the one with that alias.
pub(crate) const ALIAS_HOST: &str = "users.noreply.forgotten";

/// A user of a forge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ForgeUser {
    /// User name.
    pub username: String,
    /// The forge's number for them, which noreply addresses can hold.
    pub forge_id: Option<u64>,
    /// Display name.
    pub name: String,
    /// E-mail addresses that the forge shows.
    pub emails: Vec<String>,
}

/// A name and an e-mail address, as commits have them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Name.
    pub name: String,
    /// E-mail address.
    pub email: String,
}

/// How surely two of a person's names belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdentityMatch {
    /// The name is one word, the user name of just one user, and only one group of addresses has it.
    SameUsername,
    /// Both are full names of several words, and equal.
    SameName,
    /// The full name is that of just one user of the forge.
    UserName,
    /// The address is one that the forge made of the user name.
    Noreply,
    /// One e-mail address, or one by `.mailmap`.
    SameEmail,
    /// The forge shows the address as the user's.
    PublicEmail,
}

impl IdentityMatch {
    /// How sure it is, 0 to 1.
    pub fn confidence(self) -> f32 {
        match self {
            Self::SameUsername => 0.55,
            Self::SameName => 0.6,
            Self::UserName => 0.7,
            Self::Noreply => 0.98,
            Self::SameEmail => 0.99,
            Self::PublicEmail => 1.0,
        }
    }
}

/// A person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedPerson {
    /// The user name, of a user of the forge; otherwise made of the name and a digest of the smallest e-mail address.
    pub id: String,
    /// User name at the forge.
    pub username: Option<String>,
    /// Name to show: that at the forge, else the proper one by `.mailmap`, else the smallest.
    pub name: String,
    /// What commits call the person, sorted.
    pub identities: Vec<Identity>,
    /// The least sure link that joined these; `None` if nothing was joined.
    pub weakest: Option<IdentityMatch>,
}

impl MergedPerson {
    /// How sure it is that all of it is one person, 0 to 1.
    pub fn confidence(&self) -> f32 {
        self.weakest.map_or(1.0, IdentityMatch::confidence)
    }
}

/// People, and which of them a commit's name and address stand for.
#[derive(Clone, Debug, Default)]
pub struct People {
    people: Vec<MergedPerson>,
    by_identity: BTreeMap<Identity, usize>,
}

impl People {
    /// All of them, by id.
    pub fn all(&self) -> &[MergedPerson] {
        &self.people
    }

    /// Whom a name and an address of a commit stand for.
    pub fn find(&self, identity: &Identity) -> Option<&MergedPerson> {
        self.by_identity.get(identity).map(|&at| &self.people[at])
    }
}

/// Whether an address, in lower case, stands for nobody in particular.
pub fn is_shared(email: &str) -> bool {
    let (local, host) = email.split_once('@').unwrap_or((email, ""));
    host.is_empty()
        || matches!(local, "noreply" | "no-reply" | "nobody" | "root" | "unknown" | "none" | "you" | "user" | "dev")
        || matches!(host, "localhost" | "localhost.localdomain" | "none" | "none.none" | "(none)")
        || host.ends_with(".local")
        || host.ends_with(".localdomain")
}

/// Whether a user name is that of a program, in whatever case: a forge marks it with `[bot]`, or it says so itself.
pub fn is_program(username: &str) -> bool {
    let name = username.to_lowercase();
    // GitLab calls the users of access tokens `project_12_bot_34ab` and `group_12_bot_34ab`.
    let token = ["project_", "group_"].iter().find_map(|kind| name.strip_prefix(kind));
    let ending = token.and_then(|token| token.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("_bot"));
    ending.is_some_and(|ending| ending.is_empty() || ending.starts_with('_'))
        || name == "bot"
        || ["[bot]", "-bot", "_bot"].iter().any(|end| name.ends_with(end))
}

/// The forge's number and the user name in a noreply address: `123+ann@users.noreply.github.com`,
/// `123-ann@users.noreply.gitlab.com`, `ann@users.noreply.git.example.com`.
pub(crate) fn noreply(email: &str) -> Option<(Option<u64>, &str)> {
    let (local, host) = email.split_once('@')?;
    if !host.starts_with(NOREPLY) || local.is_empty() {
        return None;
    }
    // A user of github.com may be called 123-ann.
    let separators: &[char] = if host.ends_with("github.com") { &['+'] } else { &['+', '-'] };
    for separator in separators {
        if let Some((number, name)) = local.split_once(*separator)
            && let Ok(number) = number.parse()
            && !name.is_empty()
        {
            return Some((Some(number), name));
        }
    }
    Some((None, local))
}

/// Returns the host of the noreply addresses that a forge makes.
///
/// `None` without its address. An operator may have chosen another host, which is not known here.
pub fn noreply_host(forge_url: &str) -> Option<String> {
    let (_, rest) = forge_url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.split(':').next().filter(|host| !host.is_empty())?;
    Some(format!("{NOREPLY}{}", host.to_ascii_lowercase()))
}

/// Words on one line in lower case; `None` unless it is a full name, of two words or more.
pub(crate) fn full_name(name: &str) -> Option<String> {
    let words: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
    (words.len() >= 2).then(|| words.join(" "))
}

/// Values that only one user has, to that user.
fn unique<K: Ord>(pairs: impl Iterator<Item = (K, usize)>) -> BTreeMap<K, usize> {
    let mut found: BTreeMap<K, BTreeSet<usize>> = BTreeMap::new();
    pairs.for_each(|(key, user)| {
        found.entry(key).or_default().insert(user);
    });
    found
        .into_iter()
        .filter(|(_, users)| users.len() == 1)
        .filter_map(|(key, users)| Some((key, *users.first()?)))
        .collect()
}

/// Merges the users of a forge and the identities of commits into people. `noreply_host` is the
/// [host](self::noreply_host) of the noreply addresses that this forge makes; those of other forges name no user of it.
pub fn merge(users: &[ForgeUser], identities: &[Identity], mailmap: &Mailmap, noreply_host: Option<&str>) -> People {
    let users: Vec<&ForgeUser> = users.iter().collect::<BTreeSet<_>>().into_iter().collect();
    let identities: Vec<&Identity> =
        identities.iter().collect::<BTreeSet<_>>().into_iter().take(MAX_IDENTITIES).collect();
    let mut groups = Groups::new(users.len(), identities.len());
    let proper: Vec<(&str, String)> = identities
        .iter()
        .map(|identity| {
            let (name, email) = mailmap.resolve(&identity.name, &identity.email);
            (name, email.trim().to_ascii_lowercase())
        })
        .collect();
    let user_of = UserIndex::new(&users, noreply_host);
    // Nodes are the users, then the identities.
    let node = |identity: usize| users.len() + identity;
    // An address that the file gives to several people by their names says nothing by itself.
    let divided = |identity: &Identity| mailmap.divides(&identity.name, &identity.email);
    let lower = |identity: &Identity| identity.email.trim().to_ascii_lowercase();
    let raw: Vec<Option<String>> = identities.iter().map(|id| (!divided(id)).then(|| lower(id))).collect();
    join_addresses(&mut groups, &user_of, users.len(), raw.iter().map(Option::as_deref));
    join_addresses(&mut groups, &user_of, users.len(), proper.iter().map(|(_, email)| Some(email.as_str())));
    let by_email = proper.iter().enumerate().filter(|(_, (_, email))| !is_shared(email));
    join_equal(&mut groups, by_email.map(|(at, (_, email))| (email.as_str(), node(at))), IdentityMatch::SameEmail);
    let by_noreply =
        raw.iter().enumerate().filter_map(|(at, email)| Some((noreply_user(email.as_deref()?)?, node(at))));
    join_equal(&mut groups, by_noreply, IdentityMatch::Noreply);
    let names: Vec<Option<String>> = proper.iter().map(|(name, _)| full_name(name)).collect();
    for (at, name) in names.iter().enumerate() {
        if let Some(user) = name.as_ref().and_then(|name| user_of.names.get(name)) {
            groups.join(*user, node(at), IdentityMatch::UserName);
        }
    }
    let by_name = names.iter().enumerate().filter_map(|(at, name)| Some((name.as_deref()?, node(at))));
    let by_name = by_name.filter(|(name, _)| !user_of.shared_names.contains(*name));
    join_equal(&mut groups, by_name, IdentityMatch::SameName);
    usernames::join_usernames(&mut groups, &user_of, &users, &proper, &raw);
    collect(&users, &identities, &proper, &mut groups)
}

/// The host and the user name of a noreply address: users of two forges may have the same name.
fn noreply_user(email: &str) -> Option<(&str, &str)> {
    Some((email.split_once('@')?.1, noreply(email)?.1))
}

/// Joins identities, whose nodes begin at `first`, to the users that their addresses name.
fn join_addresses<'a>(
    groups: &mut Groups,
    user_of: &UserIndex,
    first: usize,
    emails: impl Iterator<Item = Option<&'a str>> + Clone,
) {
    for (node, email) in (first..).zip(emails.clone()) {
        if let Some(user) = email.and_then(|email| user_of.emails.get(email)) {
            groups.join(*user, node, IdentityMatch::PublicEmail);
        }
    }
    for (node, email) in (first..).zip(emails) {
        if let Some(user) = email.and_then(|email| user_of.noreply(email)) {
            groups.join(user, node, IdentityMatch::Noreply);
        }
    }
}

/// Users by what names them alone.
struct UserIndex {
    emails: BTreeMap<String, usize>,
    usernames: BTreeMap<String, usize>,
    numbers: BTreeMap<u64, usize>,
    /// The numbers of all users, in their order.
    forge_ids: Vec<Option<u64>>,
    /// The host of the noreply addresses that their forge makes.
    noreply_host: Option<String>,
    names: BTreeMap<String, usize>,
    /// Full names that several users have.
    shared_names: BTreeSet<String>,
}

impl UserIndex {
    fn new(users: &[&ForgeUser], noreply_host: Option<&str>) -> Self {
        let all = || users.iter().enumerate();
        let emails =
            all().flat_map(|(at, user)| user.emails.iter().map(move |email| (email.trim().to_ascii_lowercase(), at)));
        let names = unique(all().filter_map(|(at, user)| Some((full_name(&user.name)?, at))));
        Self {
            emails: unique(emails.filter(|(email, _)| !is_shared(email))),
            usernames: unique(all().map(|(at, user)| (user.username.to_lowercase(), at))),
            numbers: unique(all().filter_map(|(at, user)| Some((user.forge_id?, at)))),
            forge_ids: users.iter().map(|user| user.forge_id).collect(),
            noreply_host: noreply_host.map(str::to_owned),
            shared_names: all()
                .filter_map(|(_, user)| full_name(&user.name))
                .filter(|name| !names.contains_key(name))
                .collect(),
            names,
        }
    }

    /// The number outlives a change of the user name, which somebody else may take then.
    fn noreply(&self, email: &str) -> Option<usize> {
        let (_, host) = email.split_once('@')?;
        // An alias is the same person at every forge.
        if host != ALIAS_HOST && self.noreply_host.as_deref() != Some(host) {
            return None;
        }
        let (number, name) = noreply(email)?;
        let by_number = number.and_then(|number| self.numbers.get(&number));
        if let Some(user) = by_number {
            return Some(*user);
        }
        let user = *self.usernames.get(&name.to_lowercase())?;
        let is_another = number.is_some() && self.forge_ids[user].is_some();
        (!is_another).then_some(user)
    }
}

/// Joins the nodes that have a value in common.
fn join_equal<K: Ord>(groups: &mut Groups, values: impl Iterator<Item = (K, usize)>, link: IdentityMatch) {
    let mut nodes: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    values.for_each(|(value, node)| nodes.entry(value).or_default().push(node));
    for nodes in nodes.values() {
        for other in &nodes[1..] {
            groups.join(nodes[0], *other, link);
        }
    }
}

/// Disjoint sets of nodes, with at most one user of the forge in each.
struct Groups {
    parents: Vec<usize>,
    users: Vec<Option<usize>>,
    weakest: Vec<Option<IdentityMatch>>,
}

impl Groups {
    fn new(users: usize, identities: usize) -> Self {
        let nodes = users + identities;
        Self {
            parents: (0..nodes).collect(),
            users: (0..nodes).map(|node| (node < users).then_some(node)).collect(),
            weakest: vec![None; nodes],
        }
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.parents[node] != node {
            self.parents[node] = self.parents[self.parents[node]];
            node = self.parents[node];
        }
        node
    }

    /// Joins two sets, unless that would put two users into one.
    fn join(&mut self, a: usize, b: usize, link: IdentityMatch) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b || (self.users[a].is_some() && self.users[b].is_some()) {
            return;
        }
        let (root, child) = (a.min(b), a.max(b));
        self.parents[child] = root;
        self.users[root] = self.users[root].or(self.users[child]);
        self.weakest[root] = [self.weakest[root], self.weakest[child], Some(link)].into_iter().flatten().min();
    }
}

fn collect(users: &[&ForgeUser], identities: &[&Identity], proper: &[(&str, String)], groups: &mut Groups) -> People {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for node in 0..users.len() + identities.len() {
        let root = groups.root(node);
        members.entry(root).or_default().push(node);
    }
    let mut people: Vec<MergedPerson> = Vec::with_capacity(members.len());
    for (root, nodes) in members {
        let own: Vec<usize> =
            nodes.iter().filter(|&&node| node >= users.len()).map(|node| node - users.len()).collect();
        let user = groups.users[root].map(|at| users[at]);
        let shown = user.map(|user| user.name.trim()).filter(|name| !name.is_empty());
        let moved = own.iter().filter(|&&at| proper[at].0 != identities[at].name).map(|&at| proper[at].0).min();
        let name = shown.or(moved).or_else(|| own.iter().map(|&at| proper[at].0).min()).unwrap_or_default().to_owned();
        let email = own.iter().map(|&at| proper[at].1.as_str()).min().unwrap_or_default();
        let id = user.map_or_else(|| nameless_id(&name, email), |user| user.username.clone());
        people.push(MergedPerson {
            id,
            username: user.map(|user| user.username.clone()),
            name,
            identities: own.iter().map(|&at| identities[at].clone()).collect(),
            weakest: groups.weakest[root],
        });
    }
    people.sort_by(|a, b| (&a.id, &a.identities).cmp(&(&b.id, &b.identities)));
    let each = people.iter().enumerate();
    let by_identity = each.flat_map(|(at, person)| person.identities.iter().map(move |id| (id.clone(), at))).collect();
    People { people, by_identity }
}

/// An id for somebody without a user name: the name, and eight digits of a digest, which do not give the address away.
fn nameless_id(name: &str, email: &str) -> String {
    let mut slug = String::new();
    for c in name.to_lowercase().chars().take(40) {
        match c {
            c if c.is_alphanumeric() => slug.push(c),
            _ if !slug.ends_with('-') && !slug.is_empty() => slug.push('-'),
            _ => {}
        }
    }
    let digest = Sha256::digest(if email.is_empty() { name } else { email }.as_bytes());
    let slug = if slug.is_empty() { "unknown" } else { slug.trim_end_matches('-') };
    format!("{slug}-{}", hex::encode(&digest[..4]))
}
