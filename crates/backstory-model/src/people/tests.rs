//! Tests of merging identities into people.

use proptest::prelude::*;

use super::*;

fn user(username: &str, name: &str, emails: &[&str]) -> ForgeUser {
    let emails = emails.iter().map(|email| (*email).to_owned()).collect();
    ForgeUser { username: username.into(), forge_id: None, name: name.into(), emails }
}

fn identity(name: &str, email: &str) -> Identity {
    Identity { name: name.into(), email: email.into() }
}

/// Merges those of a project on github.com.
fn merge(users: &[ForgeUser], identities: &[Identity], mailmap: &Mailmap) -> People {
    super::merge(users, identities, mailmap, Some("users.noreply.github.com"))
}

#[test]
fn mailmap_knows_the_four_forms() {
    let map = Mailmap::parse(
        "# a comment\n\
         Joe R. Developer <joe@example.com>\n\
         <jane@example.com> <jane@laptop.(none)>\n\
         Jane Doe <jane@example.com> <Jane@Desktop.(none)>\n\
         Bo Ek <bo@example.com> root <bugs@example.com>\n\
         Al Fa <al@example.com> nick <bugs@example.com>\n\
         no address\n <> \n\
         \tSpace  Man\t <space@example.com>\n",
    );
    for (name, email, proper_name, proper_email) in [
        ("Joe", "joe@example.com", "Joe R. Developer", "joe@example.com"),
        ("Joe", "JOE@example.com", "Joe R. Developer", "JOE@example.com"),
        ("jd", "jane@laptop.(none)", "jd", "jane@example.com"),
        ("jd", "jane@desktop.(none)", "Jane Doe", "jane@example.com"),
        ("root", "bugs@example.com", "Bo Ek", "bo@example.com"),
        ("NICK", "BUGS@example.com", "Al Fa", "al@example.com"),
        ("other", "bugs@example.com", "other", "bugs@example.com"),
        ("x", "space@example.com", "Space  Man", "space@example.com"),
        ("y", "nobody@example.com", "y", "nobody@example.com"),
    ] {
        assert_eq!(map.resolve(name, email), (proper_name, proper_email), "{name} <{email}>");
    }
}

#[test]
fn later_lines_of_a_mailmap_override_and_complete() {
    let map = Mailmap::parse("A One <a@x.org>\n<b@x.org> <a@x.org>\nA Two <a@x.org>\n");
    assert_eq!(map.resolve("a", "a@x.org"), ("A Two", "b@x.org"));
    assert_eq!(Mailmap::parse("A <a@x.org> # why\n").resolve("z", "a@x.org"), ("A", "a@x.org"));
}

fn id_of(people: &People, name: &str, email: &str) -> String {
    people.find(&identity(name, email)).unwrap().id.clone()
}

#[test]
fn joins_by_public_address_noreply_and_mailmap() {
    let mut ann = user("ann", "Ann Lee", &["Ann@Example.com"]);
    ann.forge_id = Some(12345);
    let users = [ann, user("bo", "Bo", &[])];
    let identities = [
        identity("ann", "ann@example.com"),
        identity("ann", "12345+oldname@users.noreply.github.com"),
        identity("A. Lee", "ann@laptop.lan"),
        identity("bo", "bo@users.noreply.github.com"),
        identity("bo", "77+Bo@users.noreply.github.com"),
    ];
    let people = merge(&users, &identities, &Mailmap::parse("Ann Lee <ann@example.com> <ann@laptop.lan>"));
    assert_eq!(people.all().len(), 2, "{people:#?}");
    assert_eq!(id_of(&people, "A. Lee", "ann@laptop.lan"), "ann");
    assert_eq!(id_of(&people, "ann", "12345+oldname@users.noreply.github.com"), "ann");
    assert_eq!(id_of(&people, "bo", "77+Bo@users.noreply.github.com"), "bo");
}

#[test]
fn a_noreply_address_names_a_user_of_its_own_forge_only() {
    let mut ann = user("ann", "Ann Lee", &[]);
    ann.forge_id = Some(5);
    let is_ann = |host: Option<&str>, email: &str| {
        let identities = [identity("a", email)];
        let people = super::merge(std::slice::from_ref(&ann), &identities, &Mailmap::default(), host);
        people.find(&identities[0]).unwrap().username.is_some()
    };
    for (forge, own) in [
        ("https://github.com", "5+ann@users.noreply.github.com"),
        ("https://github.com", "ann@users.noreply.github.com"),
        ("https://gitlab.com", "5-ann@users.noreply.gitlab.com"),
        ("https://Git.example.com:8443/gitlab", "ann@users.noreply.git.example.com"),
        ("https://ghe.example.com", "5+renamed@users.noreply.ghe.example.com"),
    ] {
        let host = noreply_host(forge);
        assert!(is_ann(host.as_deref(), own), "{forge} {own}");
        assert!(!is_ann(None, own), "{own}");
        assert!(!is_ann(Some("users.noreply.elsewhere.example"), own), "{own}");
    }
    // The user name is that of somebody else by now, or the rest only looks like it.
    let github = Some("users.noreply.github.com");
    for other in ["6+ann@users.noreply.github.com", "5-ann@users.noreply.github.com", "ann@users.noreply.github.com.x"]
    {
        assert!(!is_ann(github, other), "{other}");
    }
    let identities = [identity("a", "bo@users.noreply.github.com"), identity("b", "bo@users.noreply.gitlab.com")];
    assert_eq!(merge(&[], &identities, &Mailmap::default()).all().len(), 2);
    assert_eq!((noreply_host(""), noreply_host("https://")), (None, None));
}

#[test]
fn a_full_name_is_the_last_resort_and_only_if_it_is_unique() {
    let users = [user("ann", "Ann Lee", &[]), user("cy1", "Cy Fox", &[]), user("cy2", "Cy Fox", &[])];
    let identities = [
        identity("Ann  Lee", "a@x.org"),
        identity("Cy Fox", "cy@x.org"),
        identity("Cy Fox", "cy@y.org"),
        identity("ann", "z@x.org"),
    ];
    let people = merge(&users, &identities, &Mailmap::default());
    let ann = people.find(&identities[0]).unwrap();
    assert_eq!((ann.id.as_str(), ann.weakest, ann.confidence()), ("ann", Some(IdentityMatch::UserName), 0.7));
    assert_ne!(id_of(&people, "Cy Fox", "cy@x.org"), id_of(&people, "Cy Fox", "cy@y.org"), "which of the two?");
    assert!(people.find(&identities[3]).unwrap().username.is_none(), "one word is no full name");
}

/// Whether each identity is the user `fanquake`, of these users.
fn are_fanquake(users: &[ForgeUser], identities: &[Identity]) -> Vec<bool> {
    let people = merge(users, identities, &Mailmap::default());
    let is_them = |identity: &Identity| people.find(identity).unwrap().username.as_deref() == Some("fanquake");
    identities.iter().map(is_them).collect()
}

#[test]
fn a_user_name_is_a_name_if_only_one_group_of_addresses_has_it() {
    let users = [user("fanquake", "fanquake", &[]), user("tim", "tim", &[]), user("Alice", "Alice", &[])];
    let identities = [
        identity("FanQuake", "fanquake@x.org"),
        identity("merge-script", "fanquake@x.org"),
        identity("tim", "tim@x.org"),
        identity("alice", "alice@x.org"),
    ];
    assert_eq!(are_fanquake(&users, &identities), [true, true, false, false]);
    let people = merge(&users, &identities, &Mailmap::default());
    assert_eq!(people.find(&identities[0]).unwrap().weakest, Some(IdentityMatch::SameUsername));
    assert!(identities[2..].iter().all(|first_name| people.find(first_name).unwrap().username.is_none()));
}

#[test]
fn a_user_name_joins_nobody_if_others_may_be_meant() {
    let fanquake = || user("fanquake", "fanquake", &[]);
    let own = identity("fanquake", "one@x.org");
    for (users, other) in [
        // Two groups of addresses.
        (vec![fanquake()], identity("fanquake", "two@y.org")),
        // Two accounts: one shows the name, the other has the group already or a name in it.
        (vec![fanquake(), user("fq", "Fanquake", &[])], identity("x", "x@y.org")),
        (vec![fanquake(), user("other", "Other", &["one@x.org"])], identity("x", "x@y.org")),
        (vec![fanquake(), user("achow101", "achow101", &[])], identity("achow101", "one@x.org")),
        // It is a part of a full name.
        (vec![fanquake()], identity("Fanquake Ford", "ford@y.org")),
    ] {
        let identities = [own.clone(), other];
        assert!(!are_fanquake(&users, &identities)[0], "{users:?} {identities:?}");
    }
    // What is theirs by an address is no second group.
    let by_noreply = identity("fanquake", "fanquake@users.noreply.github.com");
    assert_eq!(are_fanquake(&[fanquake()], &[own, by_noreply]), [true, true]);
    // The forge itself says that it is somebody else's, and an address of nobody is nobody's.
    for email in ["gone@users.noreply.github.com", "7+gone@users.noreply.github.com", "noreply@github.com"] {
        assert_eq!(are_fanquake(&[fanquake()], &[identity("fanquake", email)]), [false], "{email}");
    }
}

#[test]
fn unknown_authors_have_ids_without_their_address() {
    let identities = [identity("Zoë Ng", "z@x.org"), identity("Zoë Ng", "z@y.org"), identity("", "")];
    let people = merge(&[], &identities, &Mailmap::default());
    let zoe = people.find(&identities[0]).unwrap();
    assert!(zoe.id.starts_with("zoë-ng-") && !zoe.id.contains('@'), "{}", zoe.id);
    assert_eq!((zoe.identities.len(), zoe.weakest), (2, Some(IdentityMatch::SameName)));
    assert!(people.find(&identities[2]).unwrap().id.starts_with("unknown-"));
}

#[test]
fn addresses_of_nobody_join_nobody() {
    let identities = [
        identity("Ann Lee", "root@localhost"),
        identity("Bo Ek", "root@localhost"),
        identity("Cy", "noreply@github.com"),
    ];
    assert_eq!(merge(&[], &identities, &Mailmap::default()).all().len(), 3);
}

#[test]
fn a_mailmap_does_not_join_two_users() {
    let users = [user("ann", "Ann", &["ann@x.org"]), user("bo", "Bo", &["bo@x.org"])];
    let identities = [identity("a", "ann@x.org"), identity("b", "bo@x.org")];
    let people = merge(&users, &identities, &Mailmap::parse("Ann <ann@x.org> <bo@x.org>"));
    assert_eq!(id_of(&people, "a", "ann@x.org"), "ann");
    assert_eq!(id_of(&people, "b", "bo@x.org"), "bo");
}

#[test]
fn names_in_a_mailmap_divide_a_shared_address() {
    let users = [user("ann", "A", &["ann@x.org"]), user("bo", "B", &["bo@x.org"])];
    let map = Mailmap::parse("Ann <ann@x.org> ann <team@x.org>\nBo <bo@x.org> bo <team@x.org>");
    let people = merge(&users, &[identity("ann", "team@x.org"), identity("bo", "team@x.org")], &map);
    assert_eq!(id_of(&people, "ann", "team@x.org"), "ann");
    assert_eq!(id_of(&people, "bo", "team@x.org"), "bo");
}

fn some_users() -> impl Strategy<Value = Vec<ForgeUser>> {
    let user = ("[ab]{1,2}", "[AB] [CD]", prop::collection::vec("[ab]@[xy]\\.org", 0..2), prop::option::of(1u64..4));
    prop::collection::vec(user, 0..5).prop_map(|users| {
        let mut seen = BTreeSet::new();
        users
            .into_iter()
            .filter(|(username, ..)| seen.insert(username.clone()))
            .map(|(username, name, emails, forge_id)| ForgeUser { username, forge_id, name, emails })
            .collect()
    })
}

fn some_identities() -> impl Strategy<Value = Vec<Identity>> {
    let email = prop_oneof!["[ab]@[xy]\\.org", "[1-3]\\+[ab]{1,2}@users\\.noreply\\.github\\.com"];
    prop::collection::vec(("[AB] [CD]", email), 0..8)
        .prop_map(|all| all.into_iter().map(|(name, email)| Identity { name, email }).collect())
}

proptest! {
    #[test]
    fn users_stay_apart_everybody_is_found_and_order_does_not_matter(
        users in some_users(), identities in some_identities(),
        map in prop::collection::vec("[AB] [CD] <[ab]@[xy]\\.org> <[ab]@[xy]\\.org>", 0..3),
    ) {
        let map = Mailmap::parse(&map.join("\n"));
        let people = merge(&users, &identities, &map);
        for user in &users {
            let same = people.all().iter().filter(|person| person.username.as_ref() == Some(&user.username));
            prop_assert_eq!(same.count(), 1);
        }
        for identity in &identities {
            prop_assert!(people.find(identity).is_some());
        }
        let (mut users, mut identities) = (users, identities);
        users.reverse();
        identities.reverse();
        let turned = merge(&users, &identities, &map);
        prop_assert_eq!(people.all(), turned.all());
    }

    #[test]
    fn mailmap_never_panics(text in "[a<># \n]{0,60}") {
        let _ = Mailmap::parse(&text).resolve("a", "a");
    }
}

#[test]
fn programs_are_told_by_their_user_names() {
    for name in ["dependabot[bot]", "Renovate-Bot", "gitlab-bot", "ci_bot", "bot", "project_12_bot_34ab", "group_7_bot"]
    {
        assert!(is_program(name), "{name}");
    }
    for name in ["abbot", "botanist", "alice", "project_bots", "bot-lover", "project_12_botany"] {
        assert!(!is_program(name), "{name}");
    }
}
