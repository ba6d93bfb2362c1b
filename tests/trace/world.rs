//! A project of the GitLab stand-in and the repository that its merge request changed.

use std::{fmt::Write as _, os::unix::fs::symlink};

use backstory_engine::{
    ledger::Branches,
    model::commit::Sha,
    settings::{self, ForgeKind},
    sources::forge,
};

use crate::support::{Forge, Indexed, Origin, TOKEN as FORGE_TOKEN, settings_with};

pub(crate) const SHOP: &str = "acme/shop";
pub(crate) const TOKEN: &str = "src/auth/token.rs";
pub(crate) const EXPIRY: &str = "src/auth/expiry.rs";

/// The forge, the repository, and a data directory that has read both.
pub(crate) struct World {
    pub(crate) forge: Forge,
    pub(crate) origin: Origin,
    indexed: Indexed,
    /// The commit that accepts clocks that are a little off.
    pub(crate) skew: String,
}

impl std::ops::Deref for World {
    type Target = Indexed;

    fn deref(&self) -> &Indexed {
        &self.indexed
    }
}

/// Tokens, with the check of their expiry on line 42.
fn token(check: &str) -> String {
    let mut text =
        String::from("//! Signed tokens.\n//! See the decision in the issue.\n\nuse crate::claims::Claims;\n\n");
    for field in ["issuer", "audience", "subject"] {
        let _ = write!(
            text,
            "/// Whether the {field} is the one that is expected.\npub fn verify_{field}(claims: &Claims, expected: &str) -> bool {{\n    \
             let {field} = claims.{field}.trim();\n    !{field}.is_empty() && {field} == expected\n}}\n\n"
        );
    }
    text.push_str("/// Splits a token into its parts.\npub fn parts(token: &str) -> Vec<&str> {\n    token.split('.').collect()\n}\n\n");
    text.push_str("/// Whether the algorithm is the pinned one.\npub fn verify_algorithm(name: &str) -> bool {\n    name == \"RS256\"\n}\n\n");
    text.push_str("/// Whether a token is still good.\n///\n/// Clocks differ.\n///\n/// A token is good until its last second, and not before it was issued: a token of\n/// tomorrow is a sign of a wrong clock.\n");
    text.push_str("pub fn verify_expiry(claims: &Claims, now: u64) -> bool {\n");
    text.push_str("    // Seconds since 1970.\n");
    let _ = write!(text, "    {check}\n        && claims.issued_at <= now\n}}\n");
    text.push_str("\n/// All checks.\npub fn verify(claims: &Claims, now: u64) -> bool {\n    verify_issuer(claims, \"shop\") && verify_expiry(claims, now)\n}\n");
    text
}

const FIRST: &str = "claims.expires_at > now";
const SECOND: &str = "claims.expires_at + 90 > now";
const THIRD: &str = "claims.expires_at + LEEWAY > now";

/// The repository, and the commit of it that accepts clocks that are a little off.
pub(crate) fn repository() -> (Origin, String) {
    let mut origin = Origin::new();
    origin.author("Carol Weiss", "carol@acme.example");
    origin.write("README.md", "# Shop\n").write("empty.txt", "").write("logo.png", [0u8, 1, 2, 0, 255].repeat(50));
    origin.write("src/claims.rs", "/// What a token says.\npub struct Claims {\n    pub expires_at: u64,\n}\n");
    symlink("README.md", origin.path().join("LIESMICH.md")).unwrap();
    origin.git(["add", "--all"]);
    let elsewhere: Sha = "1111111111111111111111111111111111111111".parse().unwrap();
    origin.index("160000", elsewhere, "vendor").commit_index("Begin", &[]);
    origin.switch("jwt-auth").author("John Doe", "john@acme.example");
    origin.write(TOKEN, token(FIRST));
    origin.git(["add", "src"]);
    origin.commit_index(
        "Check tokens ourselves\n\nSessions go away, because cookies do not reach the mobile clients.",
        &[],
    );
    origin.write(TOKEN, token(SECOND));
    origin.git(["add", "src"]);
    let accepted = origin.commit_index(
        "Accept a little clock skew when tokens expire\n\nThe phones' clocks are up to a minute off, so that good \
             tokens were refused.",
        &[],
    );
    origin.git(["switch", "--quiet", "main"]);
    origin.git(["read-tree", "-m", "-u", "jwt-auth"]);
    origin.author("Jane Doe", "jane@acme.example");
    origin.commit_index(
            "Merge branch 'jwt-auth' into 'main'\n\nRefactor auth to use JWT tokens\n\nCloses #1\n\nSee merge request acme/shop!2",
            &[accepted],
        );
    origin.git(["reset", "--quiet", "--hard"]);
    origin.author("jdoe", "john@home.example");
    origin.write(TOKEN, token(THIRD));
    origin.write(".mailmap", "John Doe <john@acme.example> <john@home.example>\n");
    origin.git(["add", "src", ".mailmap"]);
    origin.commit_index("Name the leeway\n\nFixes #5", &[]);
    (origin, accepted.to_string())
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::of(Forge::start()).await
    }

    /// The world of another forge.
    pub(crate) async fn of(forge: Forge) -> Self {
        let (origin, skew) = repository();
        let connection = forge::ForgeSettings {
            requests_per_second: 0,
            ..forge::ForgeSettings::new(forge.url.parse().unwrap(), Some(FORGE_TOKEN.into()))
        };
        let settings = settings_with(vec![settings::Forge {
            kind: ForgeKind::GitLab,
            connection,
            projects: vec![SHOP.to_owned()],
            webhook_secret: None,
        }]);
        let indexed = Indexed::empty(settings).await;
        indexed.add(origin.path(), SHOP, Branches::Default).await.unwrap();
        indexed.sync().await;
        indexed.check().await;
        Self { forge, origin, indexed, skew }
    }

    /// Adds more to the file than all before wrote of it, in commits that came with no merge request.
    pub(crate) async fn add_checks(&mut self) {
        let mut text = token(THIRD);
        self.origin.author("Bob Ruiz", "bob@acme.example");
        for name in ["scope", "device", "country", "network"] {
            for number in 0..20 {
                let _ = write!(
                    text,
                    "\npub fn {name}_{number}(of: &str) -> bool {{\n    of.len() == {number} || of == \"{name}\"\n}}\n"
                );
            }
            self.origin.write(TOKEN, &text);
            self.origin.git(["add", "src"]);
            self.origin.commit_index(format!("Check the {name}"), &[]);
        }
        self.indexed.sync().await;
    }

    /// Gives the check of the expiry a file of its own.
    pub(crate) async fn move_expiry(&mut self) {
        let whole = token(THIRD);
        let (begin, end) =
            (whole.find("/// Whether a token is still good.").unwrap(), whole.find("/// All checks.").unwrap());
        let function = whole[begin..end].to_owned();
        self.origin.author("Bob Ruiz", "bob@acme.example");
        self.origin.write(TOKEN, whole.replace(&function, "")).write(EXPIRY, format!("//! Expiry.\n\n{function}"));
        self.origin.git(["add", "src"]);
        self.origin.commit_index("Give expiry a file of its own", &[]);
        self.indexed.sync().await;
    }
}
