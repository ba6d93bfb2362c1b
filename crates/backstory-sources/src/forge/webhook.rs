//! Webhooks: who sent one, and what it is about. The payload is not believed beyond that: the item is read from the
//! forge. What happens to a delivery belongs to `engine::worker`.

use backstory_model::{
    digest::sha256_hex,
    id::{ThreadKind, is_project_path, is_username},
    reference::Forge,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp};
use reqwest::header::HeaderMap;
use ring::hmac;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

/// Most bytes of a payload.
pub const MAX_PAYLOAD: usize = 10 << 20;
/// How far the time of a signed delivery may be from ours, so that one that was overheard is of no use later.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);
/// What GitLab's signing tokens begin with; the key in base64 follows.
const SIGNING_TOKEN: &str = "whsec_";
/// Bytes of a signature.
const SIGNATURE: usize = 32;
/// Longest id of a delivery that is kept as it is.
const MAX_ID: usize = 200;

/// What a webhook is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEvent {
    /// The forge's id of the delivery, the same when it is delivered again.
    pub delivery: String,
    /// What the forge calls it.
    pub event: String,
    /// What changed, if it is anything that is read here.
    pub changed: Option<WebhookChange>,
    /// User name of who caused it, if the forge says.
    pub sender: Option<String>,
}

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookChange {
    /// An issue or merge request, or what was said there.
    Thread {
        /// Full path of the project.
        project: String,
        /// Which of the two.
        kind: ThreadKind,
        /// Its number.
        iid: u64,
    },
    /// The repository.
    Repository {
        /// Full path of the project.
        project: String,
    },
}

impl WebhookChange {
    /// Full path of the project.
    pub fn project(&self) -> &str {
        match self {
            Self::Thread { project, .. } | Self::Repository { project } => project,
        }
    }
}

/// Whether the sender knows the secret. Takes as long for a wrong one as for the right one.
///
/// GitLab shows the secret itself (`X-Gitlab-Token`), or signs with it (`webhook-signature`) if it begins with
/// `whsec_`; GitHub signs (`X-Hub-Signature-256`).
pub fn verify_signature(forge: Forge, secret: &SecretString, headers: &HeaderMap, body: &[u8], now: Timestamp) -> bool {
    let secret = secret.expose_secret();
    if secret.is_empty() {
        return false;
    }
    match forge {
        Forge::GitHub => is_signed(secret, headers, body),
        Forge::GitLab => match secret.strip_prefix(SIGNING_TOKEN) {
            Some(key) => is_signed_with_time(key, headers, body, now),
            None => header(headers, "x-gitlab-token").is_some_and(|shown| is_same(secret, shown)),
        },
    }
}

/// Whether the headers of a webhook are those of a genuine one, as far as can be told without its body: GitLab's secret
/// stands there, of a signature only whether there is one.
pub fn has_plausible_headers(forge: Forge, secret: &SecretString, headers: &HeaderMap, now: Timestamp) -> bool {
    match forge {
        _ if secret.expose_secret().is_empty() => false,
        Forge::GitHub => signature(headers).is_some_and(|signature| signature.len() == SIGNATURE),
        Forge::GitLab if secret.expose_secret().starts_with(SIGNING_TOKEN) => signed_now(headers, now).is_some(),
        Forge::GitLab => verify_signature(forge, secret, headers, &[], now),
    }
}

/// GitHub: HMAC-SHA256 of the body, in hexadecimal digits.
fn is_signed(secret: &str, headers: &HeaderMap, body: &[u8]) -> bool {
    let Some(signature) = signature(headers) else { return false };
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body, &signature).is_ok()
}

fn signature(headers: &HeaderMap) -> Option<Vec<u8>> {
    hex::decode(header(headers, "x-hub-signature-256")?.strip_prefix("sha256=")?).ok()
}

/// GitLab: HMAC-SHA256 of id, time and body. Several signatures may stand there while the key is being changed.
fn is_signed_with_time(key: &str, headers: &HeaderMap, body: &[u8], now: Timestamp) -> bool {
    let (Some((id, time, signatures)), Ok(key)) = (signed_now(headers, now), BASE64_STANDARD.decode(key)) else {
        return false;
    };
    let message = [id.as_bytes(), b".", time.as_bytes(), b".", body].concat();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    signatures
        .split(' ')
        .filter_map(|signature| BASE64_STANDARD.decode(signature.strip_prefix("v1,")?).ok())
        .any(|signature| hmac::verify(&key, &message, &signature).is_ok())
}

/// Id, time and signatures of a GitLab's delivery, unless it is an old one.
fn signed_now(headers: &HeaderMap, now: Timestamp) -> Option<(&str, &str, &str)> {
    let time = header(headers, "webhook-timestamp")?;
    let at = Timestamp::from_second(time.parse().ok()?).ok()?;
    let is_new = now.duration_since(at).abs() <= TOLERANCE;
    is_new.then_some((header(headers, "webhook-id")?, time, header(headers, "webhook-signature")?))
}

/// Whether two texts are the same, however long they are.
fn is_same(expected: &str, shown: &str) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, expected.as_bytes());
    hmac::verify(&key, expected.as_bytes(), hmac::sign(&key, shown.as_bytes()).as_ref()).is_ok()
}

/// Reads what a webhook is about.
///
/// # Errors
/// The payload is not JSON.
pub fn parse_event(forge: Forge, headers: &HeaderMap, body: &[u8]) -> Result<WebhookEvent, serde_json::Error> {
    let json: Value = serde_json::from_slice(body)?;
    let (event, ids, changed): (_, &[&str], _) = match forge {
        // One id of an event may be that of several hooks; the key is that of this delivery.
        Forge::GitLab => {
            ("x-gitlab-event", &["idempotency-key", "webhook-id", "x-gitlab-event-uuid"], changed_on_gitlab(&json))
        }
        Forge::GitHub => {
            let event = header(headers, "x-github-event").unwrap_or_default();
            ("x-github-event", &["x-github-delivery"], changed_on_github(event, &json))
        }
    };
    let sender = [&json["user"]["username"], &json["user_username"], &json["sender"]["login"]];
    let sender = sender.into_iter().find_map(Value::as_str).filter(|name| is_username(name));
    let id = ids.iter().find_map(|name| header(headers, name)).filter(|id| !id.is_empty() && id.len() <= MAX_ID);
    Ok(WebhookEvent {
        delivery: id.map_or_else(|| format!("sha256:{}", sha256_hex(&String::from_utf8_lossy(body))), str::to_owned),
        event: header(headers, event).unwrap_or_default().chars().take(MAX_ID).collect(),
        changed: changed.filter(|changed| is_project_path(changed.project())),
        sender: sender.map(str::to_owned),
    })
}

fn changed_on_gitlab(json: &Value) -> Option<WebhookChange> {
    let project = json["project"]["path_with_namespace"].as_str()?.to_owned();
    let (kind, iid) = match json["object_kind"].as_str()? {
        "issue" | "work_item" => (ThreadKind::Issue, &json["object_attributes"]["iid"]),
        "merge_request" => (ThreadKind::MergeRequest, &json["object_attributes"]["iid"]),
        "note" => match json["merge_request"]["iid"] {
            Value::Number(_) => (ThreadKind::MergeRequest, &json["merge_request"]["iid"]),
            _ => (ThreadKind::Issue, &json["issue"]["iid"]),
        },
        "push" | "tag_push" => return Some(WebhookChange::Repository { project }),
        _ => return None,
    };
    Some(WebhookChange::Thread { project, kind, iid: iid.as_u64()? })
}

fn changed_on_github(event: &str, json: &Value) -> Option<WebhookChange> {
    let project = json["repository"]["full_name"].as_str()?.to_owned();
    let (kind, iid) = match event {
        "issues" | "issue_comment" | "sub_issues" | "issue_dependencies" => {
            let kind =
                if json["issue"]["pull_request"].is_object() { ThreadKind::MergeRequest } else { ThreadKind::Issue };
            (kind, &json["issue"]["number"])
        }
        "pull_request" | "pull_request_review" | "pull_request_review_comment" | "pull_request_review_thread" => {
            (ThreadKind::MergeRequest, &json["pull_request"]["number"])
        }
        "push" | "create" | "delete" => return Some(WebhookChange::Repository { project }),
        _ => return None,
    };
    Some(WebhookChange::Thread { project, kind, iid: iid.as_u64()? })
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    fn genuine(forge: Forge, secret: &str, pairs: &[(&'static str, &str)], body: &str) -> bool {
        verify_signature(
            forge,
            &secret.into(),
            &headers(pairs),
            body.as_bytes(),
            Timestamp::from_second(1_614_265_330).unwrap(),
        )
    }

    // The example of GitHub's documentation.
    #[test]
    fn github_signs_the_body() {
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let secret = "It's a Secret to Everybody";
        let with = |signature: &str, secret: &str, body: &str| {
            genuine(Forge::GitHub, secret, &[("x-hub-signature-256", signature)], body)
        };
        assert!(with(signature, secret, "Hello, World!"));
        assert!(!with(signature, secret, "Hello, World?"));
        assert!(!with(signature, "another", "Hello, World!"));
        assert!(!with(&signature[..signature.len() - 1], secret, "Hello, World!"));
        assert!(!with(&signature.replace("sha256=", ""), secret, "Hello, World!"));
        assert!(!with("sha256=", secret, "Hello, World!"));
        assert!(!with("sha256=zz", secret, "Hello, World!"));
        assert!(!genuine(Forge::GitHub, secret, &[], "Hello, World!"));
        assert!(!genuine(Forge::GitHub, "", &[("x-hub-signature-256", signature)], "Hello, World!"));
    }

    #[test]
    fn gitlab_shows_its_token() {
        let with = |token: &str| genuine(Forge::GitLab, "s3cret", &[("x-gitlab-token", token)], "{}");
        assert!(with("s3cret"));
        assert!(!with("s3cre"));
        assert!(!with("s3cret "));
        assert!(!with(""));
        assert!(!genuine(Forge::GitLab, "s3cret", &[], "{}"));
    }

    // The example of the Standard Webhooks specification.
    #[test]
    fn gitlab_signs_id_time_and_body() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = r#"{"test": 2432232314}"#;
        let good = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let with = |time: &str, signature: &str, body: &str| {
            let pairs = [
                ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
                ("webhook-timestamp", time),
                ("webhook-signature", signature),
            ];
            genuine(Forge::GitLab, secret, &pairs, body)
        };
        assert!(with("1614265330", good, body));
        assert!(with("1614265330", &format!("v1,AAAA {good}"), body), "one of several");
        assert!(!with("1614265331", good, body));
        assert!(!with("1614265330", good, "{}"));
        assert!(!with("1614265330", &good.replace("v1,", "v2,"), body));
        let shown = [("x-gitlab-token", secret)];
        assert!(!genuine(Forge::GitLab, secret, &shown, body), "a key for signing is shown to nobody");
    }

    #[test]
    fn an_old_signature_is_of_no_use() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let pairs = [
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ];
        let at = |second| {
            let now = Timestamp::from_second(second).unwrap();
            verify_signature(Forge::GitLab, &secret.into(), &headers(&pairs), br#"{"test": 2432232314}"#, now)
        };
        assert!(at(1_614_265_330 + 300) && at(1_614_265_330 - 300));
        assert!(!at(1_614_265_330 + 301) && !at(1_614_265_330 - 301));
    }

    #[test]
    fn headers_tell_before_the_body_what_cannot_be_genuine() {
        let now = Timestamp::from_second(1_614_265_330).unwrap();
        let may = |forge, secret: &str, pairs: &[(&'static str, &str)]| {
            has_plausible_headers(forge, &secret.into(), &headers(pairs), now)
        };
        let digits = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert!(may(Forge::GitHub, "any", &[("x-hub-signature-256", &format!("sha256={digits}"))]));
        for wrong in [String::new(), digits.to_owned(), "sha256=".to_owned(), format!("sha256={}", &digits[2..])] {
            assert!(!may(Forge::GitHub, "any", &[("x-hub-signature-256", &wrong)]), "{wrong}");
        }
        assert!(!may(Forge::GitHub, "any", &[]));
        assert!(may(Forge::GitLab, "s3cret", &[("x-gitlab-token", "s3cret")]));
        assert!(!may(Forge::GitLab, "s3cret", &[("x-gitlab-token", "s3cre")]));
        assert!(!may(Forge::GitLab, "", &[("x-gitlab-token", "")]));
        let signed = |time| [("webhook-id", "a"), ("webhook-timestamp", time), ("webhook-signature", "v1,AAAA")];
        assert!(may(Forge::GitLab, "whsec_AAAA", &signed("1614265330")));
        assert!(!may(Forge::GitLab, "whsec_AAAA", &signed("1614260000")));
    }

    fn changed(forge: Forge, event: &str, json: &Value) -> Option<WebhookChange> {
        let name = if forge == Forge::GitLab { "x-gitlab-event" } else { "x-github-event" };
        parse_event(forge, &headers(&[(name, event)]), json.to_string().as_bytes()).unwrap().changed
    }

    fn thread(project: &str, kind: ThreadKind, iid: u64) -> Option<WebhookChange> {
        Some(WebhookChange::Thread { project: project.to_owned(), kind, iid })
    }

    #[test]
    fn says_what_changed_and_nothing_else() {
        let project = json!({"path_with_namespace": "acme/shop"});
        let gitlab = |json: Value| changed(Forge::GitLab, "any", &json);
        let issue = json!({"object_kind": "issue", "project": project, "object_attributes": {"iid": 12}});
        assert_eq!(gitlab(issue), thread("acme/shop", ThreadKind::Issue, 12));
        let note = json!({"object_kind": "note", "project": project, "object_attributes": {"id": 5}, "merge_request": {"iid": 7}});
        assert_eq!(gitlab(note), thread("acme/shop", ThreadKind::MergeRequest, 7));
        let on_commit = json!({"object_kind": "note", "project": project, "commit": {"id": "1a2b3c4"}});
        assert_eq!(gitlab(on_commit), None);
        let push = json!({"object_kind": "push", "project": project});
        assert_eq!(gitlab(push), Some(WebhookChange::Repository { project: "acme/shop".to_owned() }));
        assert_eq!(gitlab(json!({"object_kind": "pipeline", "project": project})), None);
        let elsewhere = json!({"object_kind": "push", "project": {"path_with_namespace": "../../etc"}});
        assert_eq!(gitlab(elsewhere), None);

        let repository = json!({"full_name": "acme/shop"});
        let comment = json!({"repository": repository, "issue": {"number": 7, "pull_request": {}}});
        assert_eq!(changed(Forge::GitHub, "issue_comment", &comment), thread("acme/shop", ThreadKind::MergeRequest, 7));
        let review = json!({"repository": repository, "pull_request": {"number": 7}});
        assert_eq!(
            changed(Forge::GitHub, "pull_request_review", &review),
            thread("acme/shop", ThreadKind::MergeRequest, 7)
        );
        assert_eq!(changed(Forge::GitHub, "star", &json!({"repository": repository})), None);
    }

    #[test]
    fn deliveries_without_an_id_are_told_by_what_they_say() {
        let id = |pairs: &[(&'static str, &str)], body: &str| {
            parse_event(Forge::GitLab, &headers(pairs), body.as_bytes()).unwrap().delivery
        };
        assert_eq!(id(&[("idempotency-key", "a"), ("x-gitlab-event-uuid", "b")], "{}"), "a");
        assert_eq!(id(&[("x-gitlab-event-uuid", "b")], "{}"), "b");
        assert_eq!(id(&[], "{}"), id(&[], "{}"));
        assert_ne!(id(&[], "{}"), id(&[], "[]"));
        assert!(parse_event(Forge::GitLab, &HeaderMap::new(), b"no JSON").is_err());
    }
}
