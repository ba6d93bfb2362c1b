//! Tests of redaction.

use proptest::prelude::*;
use serde_json::json;

use super::*;

// Secrets are put together here, so that no scanner takes this file for a leak.

fn letters(count: usize) -> String {
    "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8c".chars().cycle().take(count).collect()
}

fn upper(count: usize) -> String {
    "QX7ZB2MFK5WJ3TRGPD6HYN4CVSLAEUIO".chars().cycle().take(count).collect()
}

fn private_key(kind: &str) -> String {
    let line = letters(64);
    format!(
        "-----{} {kind}PRIVATE KEY-----\n{line}\n{line}\n{}==\n-----END {kind}PRIVATE KEY-----",
        "BEGIN",
        letters(30)
    )
}

fn jwt() -> String {
    format!("ey{}.ey{}.{}", format_args!("J{}", letters(20)), format_args!("J{}", letters(40)), letters(43))
}

/// One secret of every kind, each with the rule that must find it.
fn secrets() -> Vec<(&'static str, String)> {
    let mut secrets: Vec<(&str, String)> = vec![
        ("gitlab-token", format!("{}-{}", "GR1348941", letters(20)).replace("941-", "941")),
        ("github-token", format!("{}_{}", "github_pat", format_args!("{}_{}", letters(22), letters(59)))),
        ("slack-token", format!("{}-{}", "xoxb", format_args!("{}-{}", "1234567890", letters(24)))),
        ("slack-token", format!("{}-{}", "xapp", format_args!("1-A{}-123456-{}", letters(9), letters(30)))),
        (
            "slack-webhook",
            format!("https://hooks.{}/services/T{}/B{}/{}", "slack.com", upper(8), upper(8), letters(24)),
        ),
        ("jwt", jwt()),
        ("private-key", private_key("")),
        ("private-key", private_key("RSA ")),
        ("private-key", private_key("OPENSSH ")),
    ];
    for prefix in ["glpat", "gldt", "glrt", "glrtr", "glptt", "glcbt", "glft", "glimt", "glagent", "glsoat", "gloas"] {
        secrets.push(("gitlab-token", format!("{prefix}-{}", letters(20))));
    }
    secrets.push(("gitlab-token", format!("{}-{}.{}.{}", "glpat", letters(40), "01", "0w1abcdef")));
    for prefix in ["ghp", "gho", "ghu", "ghs", "ghr"] {
        secrets.push(("github-token", format!("{prefix}_{}", letters(36))));
    }
    for prefix in ["AKIA", "ASIA"] {
        secrets.push(("aws-access-key", format!("{prefix}{}", upper(16))));
    }
    secrets
}

/// An example of the rules' file, with letters in place of `{a20}`.
fn expanded(example: &str) -> String {
    let mut random = fastrand::Rng::with_seed(7);
    let mut text = String::new();
    let mut rest = example;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let spec = after.split_once('}').and_then(|(spec, after)| {
            let alphabet = match spec.get(..1)? {
                "a" => "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789",
                "x" => "0123456789abcdef",
                "u" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
                "l" => "abcdefghijklmnopqrstuvwxyz234567",
                "d" => "0123456789",
                "s" => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_",
                "b" => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/",
                _ => return None,
            };
            Some((alphabet, spec[1..].parse::<usize>().ok()?, after))
        });
        let Some((alphabet, count, after)) = spec else {
            text.push('{');
            rest = after;
            continue;
        };
        // Signs only inside, as words end there.
        let letters: Vec<char> = alphabet.chars().collect();
        for at in 0..count {
            let few = if at == 0 || at + 1 == count { letters.len().min(58) } else { letters.len() };
            text.push(letters[random.usize(..few)]);
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

#[test]
fn every_rule_finds_its_examples_and_nothing_else() {
    let mut wrong = Vec::new();
    for rule in rule::RULES.iter() {
        assert!(!rule.must.is_empty() && !rule.must_not.is_empty(), "{} has no examples", rule.id);
        assert!(rule.keywords.iter().all(|word| *word == word.to_lowercase()), "{}", rule.id);
        for example in &rule.must {
            let (clean, found) = redact_owned(&expanded(example));
            if found.iter().next().is_none_or(|(first, _)| first != rule.id) || found.total() != 1 {
                wrong.push(format!("{} in {example}: {found}: {clean}", rule.id));
            }
        }
        for example in &rule.must_not {
            let (clean, found) = redact_owned(&expanded(example));
            if !found.is_empty() {
                wrong.push(format!("not {} in {example}: {clean}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(kinds().count() >= 60);
}

fn redact_owned(text: &str) -> (String, Redactions) {
    let (clean, found) = redact(text);
    (clean.into_owned(), found)
}

#[test]
fn what_is_allowed_stays() {
    let secret = format!("{}_{}", "ghp", letters(36));
    let redactor = Redactor::new(vec![sha256_hex(&secret)]);
    assert_eq!(redactor.redact(&secret).0, secret);
    assert!(redact(&secret).0.starts_with("[redacted:github-token:"));
    let other = format!("{secret} {}_{}", "gho", letters(36));
    assert_eq!(redactor.redact(&other).1.total(), 1);
    let (clean, found) = redact_owned(&format!("a {secret} # backstory:allow\nb {secret}\n"));
    assert_eq!(
        (clean.as_str(), found.total()),
        (&*format!("a {secret} # backstory:allow\nb [redacted:github-token:40]\n"), 1)
    );
}

#[test]
fn a_file_keeps_its_lines() {
    let text = format!("one\n{}\nlast\n", private_key("RSA "));
    let redactor = Redactor::default();
    let (clean, found) = redactor.redact_file(&text);
    assert_eq!(clean.lines().count(), text.lines().count());
    assert_eq!(clean.lines().last(), Some("last"));
    assert_eq!(found.total(), 1);
    assert!(redactor.redact(&text).0.lines().count() == 3);
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(redact(text).0, expected);
}

#[test]
fn every_kind_of_secret_is_replaced_in_every_surrounding() {
    for (rule, secret) in secrets() {
        let marker = format!("[redacted:{rule}:{}]", secret.chars().count());
        for (before, after) in
            [("", ""), ("token: ", " (old)"), ("`", "`"), ("\u{e9}", "\n"), ("\"", "\","), ("(", ")."), ("=", ";")]
        {
            let text = format!("{before}{secret}{after}");
            let (clean, redactions) = redact(&text);
            assert_eq!(clean, format!("{before}{marker}{after}"));
            assert_eq!(redactions.iter().collect::<Vec<_>>(), [(rule, 1)]);
        }
    }
}

#[test]
fn passwords_in_urls_leave_scheme_user_and_host() {
    let password = letters(8);
    for (before, after) in [
        ("https://alice:", "@git.example.com/x.git"),
        ("postgres://app:", "@db:5432/app?sslmode=require"),
        ("redis://:", "@cache:6379"),
        ("HTTPS://oauth2:", "@[::1]:8080/"),
    ] {
        check(&format!("see {before}{password}{after}."), &format!("see {before}[redacted:url-password:8]{after}."));
    }
    check(&format!("a://b:{password}@@c@host/"), "a://b:[redacted:url-password:11]@host/");
    let token = secrets().into_iter().find(|(rule, _)| *rule == "gitlab-token").unwrap().1;
    check(
        &format!("https://oauth2:{token}@host/"),
        &format!("https://oauth2:[redacted:gitlab-token:{}]@host/", token.len()),
    );
}

#[test]
fn aws_secret_keys_are_known_by_what_stands_before() {
    let secret = format!("{}/+", letters(38));
    for before in ["aws_secret_access_key = ", "AWS_SECRET_ACCESS_KEY=", "\"SecretAccessKey\": \"", "aws secret key: "]
    {
        check(&format!("{before}{secret}\""), &format!("{before}[redacted:aws-secret-key:40]\""));
    }
    check(&secret, &secret);
}

#[test]
fn a_private_key_without_its_end_is_replaced_as_far_as_it_goes() {
    let whole = private_key("EC ");
    let cut = whole.split("\n-----END").next().unwrap();
    let (clean, _) = redact(cut);
    assert!(clean.starts_with("[redacted:private-key:") && clean.len() < 30, "{clean}");
    let quoted = format!("> {}", whole.replace('\n', "\n> "));
    let escaped = whole.replace('\n', "\\n");
    for text in [quoted, escaped] {
        let (clean, redactions) = redact(&text);
        assert_eq!(redactions.total(), 1);
        assert!(!clean.contains(&letters(20)), "{clean}");
    }
}

#[test]
fn look_alikes_stay() {
    let base64_image = format!("![](data:image/png;base64,iVBORw0KGgo{}AKIA{}==)", letters(400), letters(40));
    for text in [
        "123e4567-e89b-12d3-a456-426614174000",
        "fc4f9e9c903845639a117e010b3cf6e2b589c930",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        &base64_image,
        "glpat-short and glpat_with_underscores_instead",
        "ghp_tooshort, ghx_0123456789012345678901234567890123456789",
        "AKIA is a prefix; AKIAlowercaseisnotakeyid",
        "xoxb- tokens, eyJhbGciOi alone, eyJ.eyJ.x",
        "http://localhost:8080/@user and https://example.com:443/a@b",
        "ssh://git@example.com:22/x.git, git@example.com:group/x.git, mailto:a@example.com",
        "https://user:$PASSWORD@host https://user:${TOKEN}@host https://u:***@h https://u:{{ pass }}@h",
        "the header -----BEGIN PRIVATE KEY----- begins a key",
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCARygAwIBAgIUAKIA\n-----END CERTIFICATE-----",
        "secret key = 0000000000000000000000000000000000000001",
        "12:30 @alice: see std::vec::Vec, a ? b : c @ d",
    ] {
        let (clean, redactions) = redact(text);
        assert!(matches!(clean, Cow::Borrowed(_)), "{clean}");
        assert!(redactions.is_empty());
    }
}

#[test]
fn a_word_that_begins_like_a_name_of_secrets_names_none() {
    let secret = format!("k9#{}", letters(8));
    for word in ["passing", "passes", "passed", "Passenger", "PASSAGE", "passport_2"] {
        for text in [format!("make_pass_decorator: {word} `{secret}`"), format!("_pass {word} = \"{secret}\"")] {
            check(&text, &text);
        }
    }
    for name in ["pass", "db_pass", "PASS", "DB_PASS_2", "_pass", "_passProd", "smtp.password", "passwd", "my-pwd"] {
        check(&format!("{name}: \"{secret}\""), &format!("{name}: \"[redacted:password:11]\""));
    }
    check("`make_pass_decorator` by passing `ensure=True`:", "`make_pass_decorator` by passing `ensure=True`:");
}

#[test]
fn json_is_cleaned_however_deep_with_its_keys() {
    let (rule, secret) = secrets().swap_remove(0);
    let key = secret.as_str();
    let mut value =
        json!({key: ["a", {"b": [format!("x {secret} y"), 1, null, true]}], "c": format!("{secret} {secret}")});
    let redactions = Redactor::default().redact_json(&mut value);
    let marker = format!("[redacted:{rule}:{}]", secret.len());
    assert_eq!(
        value,
        json!({&marker: ["a", {"b": [format!("x {marker} y"), 1, null, true]}], "c": format!("{marker} {marker}")})
    );
    assert_eq!(redactions.to_string(), format!("4 {rule}"));
    assert!(Redactor::default().redact_json(&mut value).is_empty());
}

#[test]
fn tokens_glued_to_a_word_and_taken_apart_are_found() {
    let token = format!("{}-{}", "glpat", letters(20));
    let (head, tail) = token.split_at(12);
    let wide: String = token.chars().map(|c| char::from_u32(u32::from(c) + 0xfee0).unwrap()).collect();
    for text in [
        format!("X{token}"),
        format!("the_key{token}."),
        format!("{head}\u{200b}{tail}"),
        format!("\u{feff}{head}\u{ad}\u{2060}{tail}\u{200d}!"),
        format!("\u{202e}{head}\u{202c}{tail}"),
        token.replacen('-', "&#45;", 1),
        token.replacen('-', "&#x2d;", 1),
        token.replacen('-', "\u{2011}", 1),
        format!("caf\u{e9} {wide} caf\u{e9}"),
    ] {
        let (clean, found) = redact_owned(&text);
        assert_eq!(found.to_string(), "1 gitlab-token", "{text}: {clean}");
        let shown = clean.replace("caf\u{e9}", "");
        let left = shown.split("[redacted:gitlab-token:").map(str::len).sum::<usize>();
        assert!(left < 20, "{text}: {clean}");
    }
    let key = format!("{}{}", "AKIA", upper(16));
    for before in ["key", "the_", "%0A", "\\n"] {
        check(&format!("{before}{key}"), &format!("{before}[redacted:aws-access-key:20]"));
    }
}

#[test]
fn a_token_inside_of_what_is_none_is_found() {
    let token = format!("{}-{}", "glpat", letters(20));
    for times in [1, 3, 30, 300, 3000] {
        let noise = format!("{}-", "glpat").repeat(times);
        for text in
            [format!("{noise}{token}"), format!("{noise}{token}-{noise}{token}"), format!("{noise}{token}.{noise}")]
        {
            let (clean, found) = redact_owned(&text);
            assert!(!clean.contains(&token[6..]) && !found.is_empty(), "{times}: {clean}");
        }
    }
}

#[test]
fn a_token_of_any_length_is_replaced_whole() {
    for length in [1000, 5000, 16_300, 16_384, 20_000, 100_000] {
        let token = format!("{}-{}", "glpat", letters(length));
        check(&format!("a {token} b"), &format!("a [redacted:gitlab-token:{}] b", length + 6));
    }
}

fn fragment() -> impl Strategy<Value = String> {
    let pieces: Vec<String> = secrets()
        .into_iter()
        .map(|(_, secret)| secret)
        .chain(
            ["://", "a://b:", "@host", "aws_secret_access_key=", "-----END PRIVATE KEY-----", ".", "-", "_"]
                .map(String::from),
        )
        .collect();
    prop_oneof![prop::sample::select(pieces), "\\PC{0,12}", "[A-Za-z0-9/+_.@:-]{0,50}"]
}

proptest! {
    #[test]
    fn redacting_twice_changes_nothing(pieces in prop::collection::vec(fragment(), 0..8)) {
        let text = pieces.concat();
        let (once, _) = redact(&text);
        let (twice, redactions) = redact(&once);
        prop_assert_eq!(&once, &twice);
        prop_assert!(redactions.is_empty());
    }

    #[test]
    fn a_secret_between_spaces_never_survives(before in "\\PC{0,40}", after in "\\PC{0,40}", which in 0usize..30) {
        let secrets = secrets();
        let secret = &secrets[which % secrets.len()].1;
        let text = format!("{before} {secret} {after}");
        prop_assert!(!redact(&text).0.contains(secret.as_str()));
    }

    #[test]
    fn text_of_plain_words_is_left_alone(text in "([a-zA-Z]{1,12}[ .,\n]{1,2}){0,40}") {
        prop_assert!(matches!(redact(&text).0, Cow::Borrowed(_)));
    }
}

#[test]
fn configured_secrets_are_replaced_whatever_they_look_like() {
    // No other test has these texts: they hold for the whole process.
    add_configured_secrets([
        "plainwordsonly",
        "plainwordsonlyandmore",
        "short-1",
        " spaced-secret-9 ",
        "[redacted:configured",
    ]);
    for (text, clean) in [
        ("the proxy says plainwordsonly to all", "the proxy says [redacted:configured-secret:14] to all"),
        ("xplainwordsonlyandmorex", "x[redacted:configured-secret:21]x"),
        ("plainwordsonly # backstory:allow", "[redacted:configured-secret:14] # backstory:allow"),
        ("spaced-secret-9", "[redacted:configured-secret:15]"),
        ("short-1 and PlainWordsOnly", "short-1 and PlainWordsOnly"),
    ] {
        let (once, found) = redact(text);
        assert_eq!(once, clean);
        assert_eq!(found.is_empty(), once == text);
        assert_eq!(redact(&once).0, once, "again");
    }
    let mut value = serde_json::json!({ "plainwordsonly": ["a plainwordsonly"] });
    Redactor::default().redact_json(&mut value);
    let marker = "[redacted:configured-secret:14]";
    assert_eq!(value, serde_json::json!({ marker: [format!("a {marker}")] }));
}
