//! Names of one word: joins those who call themselves like a user of the forge with that user.

use std::collections::{BTreeMap, BTreeSet};

use super::{ForgeUser, Groups, IdentityMatch, UserIndex, full_name, is_shared};

/// Characters of the shortest user name that tells who somebody is; shorter ones are first names and initials.
const SHORTEST: usize = 4;

/// First names that so many have that an author of that name need not be the user of that name.
const FIRST_NAMES: &str = "\
    aaron adam ahmed alan albert alejandro alex alexander alexandra alexey alice alison amanda amir andre andrea \
    andreas andrei andrew andrey andy angela anna anne anthony anton antonio arthur barbara benjamin bernard brian \
    bruce bryan carl carlos carol caroline catherine charles charlie chen chris christian christine christopher \
    claire clara claudia craig dana daniel daniela dave david dean denis dennis derek diana diego dmitri dmitry \
    donald douglas edward eleanor elena elizabeth emil emily emma eric erica erik erin ethan eugene evan fabian \
    felix fernando florian francesco francis frank fred frederic gabriel gary george gerald giovanni grace graham \
    greg gregory guillaume gustavo hannah hans harold harry heidi helen henrik henry hugo igor irina isaac isabel \
    ivan jack jacob jake james jane janet jason javier jean jeff jeffrey jens jeremy jerry jesse jessica joan joanna \
    johan johannes john johnny jonas jonathan jordan jorge jose josef joseph josh joshua juan judy julia julian \
    julie julien justin karen karl kate katherine keith kelly kenneth kevin kirill kumar kurt kyle lars laura lauren \
    lena leon leonard lewis linda lisa louis luca lucas lucy luis luka lukas luke magnus marc marco marcus margaret \
    maria marie mario marius mark markus martha martin mary mathew mathieu matt matteo matthew matthias maurice \
    maxim maximilian megan melissa michael michal michel michelle miguel mike mikhail milan mohamed mohammad \
    mohammed monica muhammad nancy natalia nathan nicholas nick nicolas nicole nikita nikolai nina noah oleg oliver \
    olivia olivier omar oscar owen pablo pamela patricia patrick paul paula paulo pavel pedro peggy peter petr phil \
    philip philipp philippe pierre rachel rafael ralph raymond rebecca ricardo richard rick robert roberto robin \
    roger roland roman ronald rose russell ruth ryan sally samuel sandra sara sarah scott sean sebastian serge \
    sergei sergey sergio shane sharon simon sofia sophia sophie stefan stephan stephanie stephen steve steven stuart \
    susan sven sylvia tanya tatiana teresa terry theo theodore thomas tobias todd tomas tony trent tyler valentin \
    vera victor victoria vincent vlad vladimir walter wang wayne wendy will william xavier yuri yves zhang";

/// Joins a user with those who made commits under the user name, if they are one group of addresses and nobody else has that
/// name in any form. The groups are those that everything else has made.
pub(super) fn join_usernames(
    groups: &mut Groups,
    user_of: &UserIndex,
    users: &[&ForgeUser],
    proper: &[(&str, String)],
    raw: &[Option<String>],
) {
    let words = words_of_full_names(users, proper);
    let shown_by_others = shown_by_others(users, user_of);
    let is_own_noreply =
        |email: &str| email.split_once('@').is_some_and(|(_, host)| user_of.noreply_host.as_deref() == Some(host));
    let mut called: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let mut refused: BTreeSet<usize> = BTreeSet::new();
    for (at, ((name, email), raw)) in proper.iter().zip(raw).enumerate() {
        let root = groups.root(users.len() + at);
        // Whom the forge itself names by another user name or number is not the user of this name.
        if is_own_noreply(email) || raw.as_deref().is_some_and(is_own_noreply) {
            refused.insert(root);
        }
        let Some(word) = one_word(name).filter(|word| !words.contains(word)) else { continue };
        let Some(user) = user_of.usernames.get(&word).filter(|user| !shown_by_others.contains(*user)) else { continue };
        called.entry(*user).or_default().insert(root);
        if is_shared(email) {
            refused.insert(root);
        }
    }
    let mut users_of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (user, mut roots) in called {
        // What the user has already is no other group.
        roots.remove(&groups.root(user));
        if let (Some(root), 1) = (roots.first(), roots.len()) {
            users_of.entry(*root).or_default().push(user);
        }
    }
    for (root, users) in users_of {
        if let ([user], false) = (users.as_slice(), refused.contains(&root)) {
            groups.join(*user, root, IdentityMatch::SameUsername);
        }
    }
}

/// A name of one word in lower case; `None` if it is longer, or too short or frequent to tell who it is.
fn one_word(name: &str) -> Option<String> {
    let mut words = name.split_whitespace();
    let word = words.next().filter(|_| words.next().is_none())?.to_lowercase();
    (word.chars().count() >= SHORTEST && !FIRST_NAMES.split(' ').any(|name| name == word)).then_some(word)
}

/// The words of all full names: somebody whose name is one of them alone may be anybody with that first or last name.
fn words_of_full_names(users: &[&ForgeUser], proper: &[(&str, String)]) -> BTreeSet<String> {
    let of_users = users.iter().map(|user| user.name.as_str());
    let names = of_users.chain(proper.iter().map(|(name, _)| *name)).filter_map(full_name);
    names.flat_map(|name| name.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Users whose user name is what another one is called.
fn shown_by_others(users: &[&ForgeUser], user_of: &UserIndex) -> BTreeSet<usize> {
    let owner = |(at, user): (usize, &&ForgeUser)| {
        let owner = *user_of.usernames.get(&one_word(&user.name)?)?;
        (owner != at).then_some(owner)
    };
    users.iter().enumerate().filter_map(owner).collect()
}
