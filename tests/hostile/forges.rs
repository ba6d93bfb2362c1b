//! Hostile answers of a forge to a server that reads two projects from it.

use std::{
    io::{self, Write},
    thread,
    time::{Duration, Instant},
};

use flate2::{Compression, write::GzEncoder};

use super::served::{Served, is_full_size};
use crate::support::{Answer, Crooked, Forge, NO_SCHEDULE, Output, Sandbox, eventually, note};

/// Lists of the project that is lied about.
const ISSUES: &str = "/projects/acme%2Fshop/issues?";
const LABELS: &str = "/projects/acme%2Fshop/labels";
const REQUESTS: &str = "/projects/acme%2Fshop/merge_requests?";
const DISCUSSIONS: &str = "/projects/acme%2Fshop/ /discussions?";
const OF_ONE: &str = "/projects/acme%2Fshop/issues/2/discussions?";
const JSON: &str = "content-type: application/json\r\n";
const GZIP: &str = "content-type: application/json\r\ncontent-encoding: gzip\r\n";
/// Most that may be asked while the forge lies: the pages of a list, and those of a part of another.
const MOST_ASKED: usize = 1_200;
/// The same in the long form, where a list of issues comes to its last page.
const MOST_ASKED_FULL: usize = 20_100;
/// Most that a bomb unfolds to.
const BOMB: u64 = 4 << 30;
/// Time between two bytes of a body that trickles.
const DRIP: Duration = Duration::from_millis(200);

/// A forge that may lie about one of two projects, and a server that reads both.
struct World {
    forge: Forge,
    crooked: Crooked,
    sandbox: Sandbox,
    served: Served,
}

impl World {
    fn new() -> Self {
        let forge = Forge::start();
        let crooked = Crooked::before(&forge);
        let sandbox = two_projects(&forge, &crooked);
        sandbox.run(&["sync"]).ok();
        let served = Served::start(&sandbox);
        Self { forge, crooked, sandbox, served }
    }

    /// Reads while the forge lies about what is asked for with that text, then once more while it does not; what the first
    /// said at its end. Meanwhile something is new in the other project.
    fn reads(
        &self,
        what: &str,
        target: &str,
        lie: impl Fn(&mut Answer<'_>) -> io::Result<()> + Send + Sync + 'static,
    ) -> String {
        let before = self.known();
        self.crooked.lie(target, lie);
        let begun = Instant::now();
        let new = self.something_new(what);
        let output = self.sandbox.run(&["sync", "--full"]);
        let told = self.crooked.told();
        assert!(told > 0, "{what}: nobody asked for {target}");
        let most = if is_full_size() { MOST_ASKED_FULL } else { MOST_ASKED };
        assert!(told <= most, "{what}: {told} answers");
        let said = ending(&output, what);
        self.sandbox.run(&["show", &new]).ok();
        assert_eq!(self.known(), before, "{what}: {said}");
        self.served.is_well(what);
        note(&format!("{what}: {told} answers, {:?}: {said}", begun.elapsed()));
        self.crooked.repent();
        said
    }

    /// An issue of the other project that was not there before; its reference.
    fn something_new(&self, title: &str) -> String {
        self.forge.advance(60);
        self.forge.new_issue("acme/web", "alice", title, "")
    }

    /// What is known of the project that is lied about.
    fn known(&self) -> String {
        let told = [
            &["list", "issues", "--project", "acme/shop"][..],
            &["list", "mrs", "--project", "acme/shop"],
            &["show", "acme/shop#2"],
            &["show", "acme/shop!1"],
        ];
        told.map(|args| self.sandbox.run(args).ok().stdout).concat()
    }

    /// It reads everything as it is, and knows the same as one that has read it for the first time.
    fn heals(self) {
        let Self { forge, crooked, sandbox, served } = self;
        crooked.repent();
        sandbox.run(&["sync", "--full"]).ok();
        let digest = |sandbox: &Sandbox| sandbox.run(&["check", "--digest"]).ok().stdout;
        let status = sandbox.run(&["status", "--json"]).ok().json();
        assert_eq!(status["quarantine"]["count"], 0, "{status}");
        let cold = two_projects(&forge, &crooked);
        cold.run(&["sync"]).ok();
        assert_eq!(digest(&sandbox), digest(&cold));
        assert_eq!(sandbox.run(&["check", "--json"]).ok().json()["ok"], true);
        served.is_well("after all");
    }
}

fn two_projects(forge: &Forge, crooked: &Crooked) -> Sandbox {
    let sandbox = Sandbox::new(forge);
    sandbox.write_config(&format!(
        "data_dir = \"data\"\n{}[[forge]]\nkind = \"gitlab\"\nbase_url = \"{}\"\ntoken_env = \"SHOP_TOKEN\"\n\
         projects = [\"acme/shop\", \"acme/web\"]\nrequests_per_second = 0\n",
        NO_SCHEDULE, crooked.url
    ));
    sandbox
}

/// One sentence of a command that failed, or none of one that did not. Progress may come before.
#[track_caller]
fn ending(output: &Output, what: &str) -> String {
    let errors: Vec<&str> = output.stderr.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
    assert!(!output.stderr.contains("panicked") && !output.stderr.contains("bug"), "{what}: {output:#?}");
    match (output.code, errors.as_slice()) {
        (0, []) => String::new(),
        (1.., [one]) if one.chars().count() < 1000 => (*one).to_owned(),
        _ => panic!("{what}: {output:#?}"),
    }
}

/// A list of so many zeros.
fn zeros(count: usize) -> String {
    format!("[{}0]", "0,".repeat(count - 1))
}

/// As many bytes packed as are wanted, for as long as anybody takes them.
fn bomb(answer: &mut Answer<'_>) -> io::Result<()> {
    write!(answer, "HTTP/1.1 200 OK\r\n{GZIP}connection: close\r\n\r\n")?;
    let mut packed = GzEncoder::new(answer, Compression::fast());
    packed.write_all(b"[\"")?;
    let piece = vec![b'a'; 1 << 20];
    for _ in 0..BOMB / piece.len() as u64 {
        packed.write_all(&piece)?;
        if packed.get_ref().is_over() {
            break;
        }
    }
    packed.finish()?.flush()
}

/// A page of a list, and the next one is always there.
fn endless(answer: &mut Answer<'_>, item: impl Fn(usize) -> String) -> io::Result<()> {
    let numbered = answer.target.split(['?', '&']).find_map(|part| part.strip_prefix("page="));
    let page: usize = numbered.map_or(1, |page| page.parse().unwrap());
    let items: Vec<String> = (0..100).map(|at| item(page * 100 + at)).collect();
    answer.whole(&format!("{JSON}x-next-page: {}\r\n", page + 1), format!("[{}]", items.join(",")).as_bytes())
}

#[test]
fn answers_that_are_small_on_the_wire_only_end_at_once() {
    let world = World::new();
    let packed = {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(zeros(30 << 20).as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    assert!(packed.len() < 100_000, "{}", packed.len());
    let small = packed.clone();
    let said = world.reads("a list that is small until it is read", ISSUES, move |answer| answer.whole(GZIP, &small));
    assert!(said.contains("too large to read"), "{said}");
    let said = world
        .reads("discussions that are small until they are read", OF_ONE, move |answer| answer.whole(GZIP, &packed));
    assert_eq!(said, "");
    let said = world.reads("gigabytes that are small on the wire", ISSUES, bomb);
    assert!(said.contains("too large to read"), "{said}");
    let said = world.reads("many discussions of gigabytes", DISCUSSIONS, bomb);
    assert_eq!(said, "");
    world.heals();
}

#[test]
fn lists_without_an_end_are_given_up() {
    let world = World::new();
    let said = world.reads("a page of very many", REQUESTS, |answer| answer.whole(JSON, zeros(500_000).as_bytes()));
    assert!(said.contains("500000 items on a page"), "{said}");
    let said = world.reads("labels without an end", LABELS, |answer| {
        endless(answer, |id| format!("{{\"id\":{id},\"name\":\"label {id}\",\"color\":\"#000000\"}}"))
    });
    assert!(said.contains("more than 1000 pages") || said.contains("MiB"), "{said}");
    let said = world.reads("discussions without an end", OF_ONE, |answer| {
        endless(answer, |id| format!("{{\"id\":\"{id:040x}\",\"notes\":[]}}"))
    });
    assert_eq!(said, "");
    if is_full_size() {
        // Up to the last page that there may be.
        let said = world.reads("issues that are none, without an end", ISSUES, |answer| {
            endless(answer, |id| format!("{{\"iid\":\"{id}\"}}"))
        });
        assert!(said.contains("more than"), "{said}");
    }
    world.heals();
}

#[test]
fn answers_that_cannot_be_end_at_once() {
    let world = World::new();
    world.reads("one long string", ISSUES, |answer| {
        answer.whole(JSON, format!("[\"{}\"]", "a".repeat(60 << 20)).as_bytes())
    });
    let said = world.reads("a length that cannot be", ISSUES, |answer| {
        write!(answer, "HTTP/1.1 200 OK\r\n{JSON}content-length: 1000000000000000\r\n\r\n[]")
    });
    assert!(said.contains("too large to read"), "{said}");
    let said = world.reads("redirects without an end", ISSUES, |answer| {
        let target = answer.target.to_owned();
        write!(answer, "HTTP/1.1 302 Found\r\nlocation: {target}&again=1\r\ncontent-length: 0\r\n\r\n")
    });
    assert!(said.contains("redirects more than 3 times"), "{said}");
    let said = world.reads("a year's rest", ISSUES, |answer| {
        write!(answer, "HTTP/1.1 429 Too Many Requests\r\nretry-after: 31536000\r\ncontent-length: 0\r\n\r\n")
    });
    assert!(said.contains("limits requests") || said.contains("rate"), "{said}");
    let said = world.reads("headers without an end", ISSUES, |answer| {
        write!(answer, "HTTP/1.1 200 OK\r\n")?;
        let line = format!("x-more: {}\r\n", "a".repeat(1000));
        while !answer.is_over() {
            answer.write_all(line.as_bytes())?;
        }
        Ok(())
    });
    assert!(!said.is_empty());
    world.heals();
}

/// What a forge sends in place of an answer.
type Misbehavior = fn(&mut Answer<'_>) -> io::Result<()>;

/// These may be over soon, so they are asked for again some times, which takes half a minute: all of them at once.
#[test]
fn answers_that_make_no_sense_end_after_some_attempts() {
    let cases: [(&str, &str, Misbehavior); 6] = [
        ("a page for people", ISSUES, |answer| {
            let page = "<!doctype html><title>Sign in</title>".repeat(1000);
            answer.whole("content-type: text/html\r\n", page.as_bytes())
        }),
        ("lists in lists", ISSUES, |answer| answer.whole(JSON, "[".repeat(10 << 20).as_bytes())),
        ("a body that is cut off", REQUESTS, |answer| {
            write!(answer, "HTTP/1.1 200 OK\r\n{JSON}content-length: 1000\r\n\r\n[{{\"iid\":")
        }),
        ("a length that is far too large", ISSUES, |answer| {
            write!(answer, "HTTP/1.1 200 OK\r\n{JSON}content-length: 60000000\r\n\r\n[]")
        }),
        ("a length that is too small", LABELS, |answer| {
            write!(answer, "HTTP/1.1 200 OK\r\n{JSON}content-length: 10\r\n\r\n{}", zeros(1000))
        }),
        ("all discussions are announced as large", DISCUSSIONS, |answer| {
            write!(answer, "HTTP/1.1 200 OK\r\n{JSON}content-length: 8000000\r\n\r\n[]")
        }),
    ];
    thread::scope(|scope| {
        for (what, target, lie) in cases {
            scope.spawn(move || {
                let world = World::new();
                let said = world.reads(what, target, lie);
                assert_ne!(said, "", "{what}");
                world.heals();
            });
        }
        scope.spawn(trickling);
    });
}

/// It takes two minutes until such an answer is given up, and as long each time that it is asked for again. Another sync
/// begins from the start.
fn trickling() {
    let world = World::new();
    let before = world.known();
    world.crooked.lie(ISSUES, |answer| {
        write!(answer, "HTTP/1.1 200 OK\r\n{JSON}content-length: 1000000\r\n\r\n[")?;
        while !answer.is_over() {
            answer.write_all(b" ")?;
            thread::park_timeout(DRIP);
        }
        Ok(())
    });
    let first = world.sandbox.spawn(&["sync"]);
    eventually("it trickles", || world.crooked.told() > 0);
    let begun = Instant::now();
    // What is known is told meanwhile.
    while begun.elapsed() < Duration::from_secs(3) {
        assert_eq!(world.known(), before);
    }
    let new = world.something_new("while it trickles");
    let first = if is_full_size() {
        let ended = first.wait_with_output().unwrap();
        world.crooked.repent();
        world.sandbox.run(&["sync"]).ok();
        ended
    } else {
        world.crooked.repent();
        world.sandbox.run(&["sync", "--force"]).ok();
        first.wait_with_output().unwrap()
    };
    let said = ending(&world.sandbox.output(&first), "a body that trickles");
    note(&format!("a body that trickles: {said}"));
    assert_ne!(said, "");
    world.sandbox.run(&["show", &new]).ok();
    world.served.is_well("a body that trickles");
    world.heals();
}
