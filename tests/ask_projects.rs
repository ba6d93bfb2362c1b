//! What is asked of one project is answered, or refused, as if it were alone, whatever else is indexed.

use backstory_engine::{ask::AskRequest, ledger::Branches, model::filter::Filter, status::CoverageRequest};

use crate::support::{Fixture, Indexed, PROJECT};

/// What the project says, and what is asked of it.
const SAID: [(&str, &str, &str); 20] = [
    (
        "rate limiter",
        "The rate limiter is a token bucket, because bursts at the start of an hour are legitimate.",
        "Why is the rate limiter a token bucket?",
    ),
    ("cart", "The cart never rounds, because taxes are rounded line by line.", "Why does the cart never round?"),
    (
        "password",
        "A password is hashed with Argon2, because bcrypt ignores what follows its 72nd byte.",
        "Why is a password hashed with Argon2?",
    ),
    (
        "retry",
        "A retry waits twice as long each time, so that a provider which is down is not flooded.",
        "Why does a retry wait twice as long each time?",
    ),
    (
        "checkout",
        "The checkout writes its order before it charges, so that no payment is without an order.",
        "Why does the checkout write its order before it charges?",
    ),
    (
        "search box",
        "The search box waits for 200 milliseconds of silence, because each key press cost a request.",
        "Why does the search box wait for silence?",
    ),
    (
        "time zone",
        "Every time zone is UTC inside, because two reports disagreed by an hour in autumn.",
        "Why is every time zone UTC inside?",
    ),
    (
        "invoice",
        "An invoice has a number without gaps, because the tax office wants it so.",
        "Why has an invoice a number without gaps?",
    ),
    (
        "thumbnail",
        "A thumbnail is made when it is first asked for, as most pictures are never looked at.",
        "When is a thumbnail made?",
    ),
    (
        "courier",
        "The courier is asked for a label only after packing, because weights change.",
        "When is the courier asked for a label?",
    ),
    (
        "coupon",
        "A coupon is spent when the order is paid, so that an abandoned order gives it back.",
        "When is a coupon spent?",
    ),
    (
        "stock",
        "The stock is counted in a ledger of movements, because two clerks overwrote each other.",
        "Why is the stock counted in a ledger of movements?",
    ),
    (
        "newsletter",
        "The newsletter is sent at ten in the morning of the reader, because fewer are marked as spam then.",
        "When is the newsletter sent?",
    ),
    (
        "address",
        "An address is one field of text, as no form fits all countries.",
        "Why is an address one field of text?",
    ),
    ("refund", "A refund needs two people, since one clerk paid himself.", "Why does a refund need two people?"),
    (
        "barcode",
        "The barcode is checked by its last digit, because the scanner drops digits in the cold.",
        "Why is the barcode checked by its last digit?",
    ),
    (
        "price",
        "A price is kept in cents as a whole number, because floating point lost a cent in a thousand.",
        "Why is a price kept in cents?",
    ),
    (
        "warehouse",
        "The warehouse is told by file every night, since it has no network by day.",
        "How is the warehouse told?",
    ),
    (
        "gift card",
        "A gift card has no date at which it ends, as the law forbids it.",
        "Why has a gift card no date at which it ends?",
    ),
    (
        "review stars",
        "Review stars are shown from five reviews on, because a single one misleads.",
        "When are review stars shown?",
    ),
];

/// What others mention all the time and the project never does, and what is asked of the project.
const UNSAID: [(&str, &str); 20] = [
    ("database sessions", "Which database does the app use for sessions?"),
    ("kafka broker", "Why does the app use a broker such as Kafka?"),
    ("websocket heartbeat", "How often does the app send a heartbeat over its WebSocket?"),
    ("kubernetes cluster", "On which Kubernetes cluster does the app run?"),
    ("graphql resolver", "Which resolver of the app is slow in GraphQL?"),
    ("cache eviction", "Which eviction does the app use for its cache?"),
    ("compression uploads", "Which compression does the app use for uploads?"),
    ("telemetry sampling", "What sampling does the app use for telemetry?"),
    ("translation plural", "How does the app choose the plural in a translation?"),
    ("encryption rotation", "How often does the app do the rotation of encryption?"),
    ("thread pool", "How large is the thread pool of the app?"),
    ("garbage collector", "Which garbage collector is the app tuned for?"),
    ("mobile push", "Who gets the push of the mobile app?"),
    ("snapshot restore", "How long does the app take to restore a snapshot?"),
    ("feature toggle", "Who may change a feature toggle of the app?"),
    ("proxy header", "Which header does the app trust behind a proxy?"),
    ("migration rollback", "How is the rollback of a migration of the app done?"),
    ("license vendor", "Which vendor sold the license of the app?"),
    ("sandbox plugin", "In which sandbox does a plugin of the app run?"),
    ("latency percentile", "Which percentile of latency does the app promise?"),
];

/// The project that is asked.
fn asked() -> Fixture {
    let mut repository = Fixture::new();
    repository.write("README.md", "# Shop\n\nA small web app that sells things.\n");
    for (subject, sentence, _) in SAID {
        let text = format!("# The {subject}\n\n{sentence}\n\nThis page of the app was written by its team.\n");
        repository.write(format!("docs/{}.md", subject.replace(' ', "-")), text);
    }
    repository.commit_all("Describe the shop");
    repository
}

/// Another, which mentions what the first does not.
fn another(number: usize) -> Fixture {
    let mut repository = Fixture::new();
    for (at, (subject, _)) in UNSAID.iter().enumerate() {
        for page in 0..3 {
            let text = format!("# {subject} {page}\n\nHere {subject} of service {number} are explained, part {at}.\n");
            repository.write(format!("docs/{}-{page}.md", subject.replace(' ', "-")), text);
        }
    }
    repository.commit_all(format!("Service {number}"));
    repository
}

/// Questions that were refused: of those that have an answer, and of those that have none. And what the others quote.
async fn refusals(indexed: &Indexed, documents: u64) -> (Vec<&'static str>, Vec<&'static str>, Vec<String>) {
    let mut refused = (vec![], vec![], vec![]);
    for (question, has_answer) in
        SAID.iter().map(|said| (said.2, true)).chain(UNSAID.iter().map(|unsaid| (unsaid.1, false)))
    {
        let filter = Filter { project: Some(PROJECT.to_owned()), ..Filter::default() };
        let request = AskRequest { question: question.to_owned(), filter, ..AskRequest::default() };
        let answer = indexed.engine.answer(request).await.unwrap();
        refused.2.extend(answer.citations.iter().map(|of| format!("{question} {}: {}", of.id, of.text)));
        if !answer.answered {
            if has_answer { &mut refused.0 } else { &mut refused.1 }.push(question);
            let searched = answer.refusal.unwrap().searched;
            assert!(searched.starts_with(&format!("searched {documents} documents")), "{question}: {searched}");
        }
    }
    refused
}

// Rows 86 and 103 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn other_projects_change_no_answer_about_one() {
    let repository = asked();
    let indexed = Indexed::cold(repository.path(), Branches::Default).await;
    let documents = indexed.engine.answer(CoverageRequest {}).await.unwrap().documents;
    let alone = refusals(&indexed, documents).await;
    assert!(alone.0.len() <= 2 && alone.1.len() >= 16, "{alone:#?}");
    let mut others = Vec::new();
    for count in [1, 5] {
        while others.len() < count {
            let other = another(others.len());
            indexed.add(other.path(), &format!("acme/other{}", others.len()), Branches::Default).await.unwrap();
            others.push(other);
        }
        indexed.sync().await;
        assert!(indexed.engine.answer(CoverageRequest {}).await.unwrap().documents > documents);
        let among = refusals(&indexed, documents).await;
        assert_eq!(alone.2, among.2, "beside {count}");
        let differ = |one: &[&str], other: &[&str]| one.len().abs_diff(other.len());
        assert!(differ(&alone.0, &among.0) <= 1, "beside {count}: {:#?} {:#?}", alone.0, among.0);
        assert!(differ(&alone.1, &among.1) <= 1, "beside {count}: {:#?} {:#?}", alone.1, among.1);
    }
}
