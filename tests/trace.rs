//! From a line to its reason: lineage, commit, merge request, the discussion on the hunk, the issue.
#![allow(clippy::too_many_lines, reason = "most lines are what is expected")]

mod code;
mod errors;
mod world;

use std::path::PathBuf;

use backstory_engine::{
    ledger::Branches,
    model::id::NodeId,
    trace::{Target, Trace, TraceRequest},
};
use expect_test::{Expect, expect};

use crate::support::{Indexed, Origin, PROJECT};
use world::World;

/// A question about the shop.
fn about(target: Target) -> TraceRequest {
    TraceRequest { project: Some(world::SHOP.to_owned()), target, rev: None, earlier: 5 }
}

fn lines(path: &str, first: u32, last: u32) -> Target {
    Target::Lines { path: path.to_owned(), lines: Some((first, last)) }
}

fn symbol(path: &str, name: &str) -> Target {
    Target::Symbol { path: path.to_owned(), name: name.to_owned() }
}

fn node(id: &str) -> Target {
    Target::Node(id.parse::<NodeId>().unwrap())
}

/// The line of the file at the head that has this text.
fn line_with(world: &World, path: &str, text: &str) -> u32 {
    let content = std::fs::read_to_string(world.origin.path().join(PathBuf::from(path))).unwrap();
    u32::try_from(content.lines().position(|line| line.contains(text)).unwrap()).unwrap() + 1
}

/// An answer as JSON, without what differs from run to run.
fn told(world: &World, trace: &Trace) -> String {
    let mut json = serde_json::to_value(trace).unwrap();
    json["indexed"]["synced_at"] = "TIME".into();
    serde_json::to_string_pretty(&json).unwrap().replace(&world.forge.url, "FORGE")
}

async fn check(world: &World, target: Target, expected: Expect) {
    let trace = world.engine.trace(about(target)).await.unwrap();
    expected.assert_eq(&told(world, &trace));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_chain() {
    let world = World::new().await;
    let line = line_with(&world, world::TOKEN, "claims.expires_at");
    assert_eq!(line, 42, "the line that the review is about");
    check(&world, lines(world::TOKEN, line, line), expect![[r#"
        {
          "project": "acme/shop",
          "path": "src/auth/token.rs",
          "line": 42,
          "end_line": 42,
          "symbol": null,
          "rev": "f0061923d4ac3e73f71315e9753e05b486220ef1",
          "text": "    claims.expires_at + LEEWAY > now",
          "indexed": {
            "commit": "f0061923d4ac3e73f71315e9753e05b486220ef1",
            "synced_at": "TIME"
          },
          "origin": {
            "start": 42,
            "lines": 1,
            "commit": "f0061923d4ac3e73f71315e9753e05b486220ef1",
            "path": "src/auth/token.rs",
            "line": 42,
            "author": "jdoe",
            "date": "2024-01-01T04:00:00Z",
            "title": "Name the leeway"
          },
          "origins": [
            {
              "start": 42,
              "lines": 1,
              "commit": "f0061923d4ac3e73f71315e9753e05b486220ef1",
              "path": "src/auth/token.rs",
              "line": 42,
              "author": "jdoe",
              "date": "2024-01-01T04:00:00Z",
              "title": "Name the leeway"
            }
          ],
          "chain": [
            {
              "edge": "MODIFIES",
              "from": null,
              "node": {
                "id": "acme/shop@f0061923d4ac3e73f71315e9753e05b486220ef1",
                "kind": "commit",
                "title": "Name the leeway",
                "url": "FORGE/acme/shop/-/commit/f0061923d4ac3e73f71315e9753e05b486220ef1"
              },
              "evidence": {
                "text": "Fixes #5",
                "url": "FORGE/acme/shop/-/commit/f0061923d4ac3e73f71315e9753e05b486220ef1",
                "path": "src/auth/token.rs",
                "lines": [
                  42,
                  42
                ]
              }
            },
            {
              "edge": "FIXES",
              "from": "acme/shop@f0061923d4ac3e73f71315e9753e05b486220ef1",
              "node": {
                "id": "acme/shop#5",
                "kind": "issue",
                "title": "Checkout test fails now and then",
                "url": "FORGE/acme/shop/-/issues/5"
              },
              "evidence": {
                "text": "`test_checkout_total` is flaky: about one run in thirty fails in CI, always shortly before midnight.",
                "url": "FORGE/acme/shop/-/issues/5",
                "path": null,
                "lines": null
              }
            }
          ],
          "merge_requests": [],
          "issues": [
            "acme/shop#5"
          ],
          "discussions": [],
          "earlier": [
            {
              "commit": "cd9477b0ee1ced92ee8e535f980ba542a0091ff8",
              "path": "src/auth/token.rs",
              "line": 42,
              "lines": 1,
              "author": "John Doe",
              "date": "2024-01-01T02:00:00Z",
              "title": "Accept a little clock skew when tokens expire",
              "text": "    claims.expires_at + 90 > now",
              "merge_requests": [
                "acme/shop!2"
              ],
              "replaced_by": "f0061923d4ac3e73f71315e9753e05b486220ef1"
            },
            {
              "commit": "24455b149e905fb5fd33e094f6cc5943a20829f6",
              "path": "src/auth/token.rs",
              "line": 42,
              "lines": 1,
              "author": "John Doe",
              "date": "2024-01-01T01:00:00Z",
              "title": "Check tokens ourselves",
              "text": "    claims.expires_at > now",
              "merge_requests": [
                "acme/shop!2"
              ],
              "replaced_by": "cd9477b0ee1ced92ee8e535f980ba542a0091ff8"
            }
          ],
          "missing": [
            "commit f006192 belongs to no merge request in the index"
          ]
        }"#]]).await;
    check(&world, lines(world::TOKEN, line - 2, line + 3), expect![[r#"
        {
          "project": "acme/shop",
          "path": "src/auth/token.rs",
          "line": 40,
          "end_line": 45,
          "symbol": null,
          "rev": "f0061923d4ac3e73f71315e9753e05b486220ef1",
          "text": "pub fn verify_expiry(claims: &Claims, now: u64) -> bool {\n    // Seconds since 1970.\n    claims.expires_at + LEEWAY > now\n        && claims.issued_at <= now\n}",
          "indexed": {
            "commit": "f0061923d4ac3e73f71315e9753e05b486220ef1",
            "synced_at": "TIME"
          },
          "origin": {
            "start": 40,
            "lines": 2,
            "commit": "24455b149e905fb5fd33e094f6cc5943a20829f6",
            "path": "src/auth/token.rs",
            "line": 40,
            "author": "John Doe",
            "date": "2024-01-01T01:00:00Z",
            "title": "Check tokens ourselves"
          },
          "origins": [
            {
              "start": 40,
              "lines": 2,
              "commit": "24455b149e905fb5fd33e094f6cc5943a20829f6",
              "path": "src/auth/token.rs",
              "line": 40,
              "author": "John Doe",
              "date": "2024-01-01T01:00:00Z",
              "title": "Check tokens ourselves"
            },
            {
              "start": 42,
              "lines": 1,
              "commit": "f0061923d4ac3e73f71315e9753e05b486220ef1",
              "path": "src/auth/token.rs",
              "line": 42,
              "author": "jdoe",
              "date": "2024-01-01T04:00:00Z",
              "title": "Name the leeway"
            },
            {
              "start": 43,
              "lines": 3,
              "commit": "24455b149e905fb5fd33e094f6cc5943a20829f6",
              "path": "src/auth/token.rs",
              "line": 43,
              "author": "John Doe",
              "date": "2024-01-01T01:00:00Z",
              "title": "Check tokens ourselves"
            }
          ],
          "chain": [
            {
              "edge": "INTRODUCES",
              "from": null,
              "node": {
                "id": "acme/shop@24455b149e905fb5fd33e094f6cc5943a20829f6",
                "kind": "commit",
                "title": "Check tokens ourselves",
                "url": "FORGE/acme/shop/-/commit/24455b149e905fb5fd33e094f6cc5943a20829f6"
              },
              "evidence": {
                "text": "Sessions go away, because cookies do not reach the mobile clients.",
                "url": "FORGE/acme/shop/-/commit/24455b149e905fb5fd33e094f6cc5943a20829f6",
                "path": "src/auth/token.rs",
                "lines": [
                  40,
                  41
                ]
              }
            },
            {
              "edge": "MERGED_BY",
              "from": "acme/shop@24455b149e905fb5fd33e094f6cc5943a20829f6",
              "node": {
                "id": "acme/shop@4da7c801f1d867676eb4d4431e5e8a1581c5f4d4",
                "kind": "commit",
                "title": "Merge branch 'jwt-auth' into 'main'",
                "url": "FORGE/acme/shop/-/commit/4da7c801f1d867676eb4d4431e5e8a1581c5f4d4"
              },
              "evidence": {
                "text": null,
                "url": "FORGE/acme/shop/-/commit/4da7c801f1d867676eb4d4431e5e8a1581c5f4d4",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "MERGED_AS",
              "from": "acme/shop@4da7c801f1d867676eb4d4431e5e8a1581c5f4d4",
              "node": {
                "id": "acme/shop!2",
                "kind": "merge_request",
                "title": "Refactor auth to use JWT tokens",
                "url": "FORGE/acme/shop/-/merge_requests/2"
              },
              "evidence": {
                "text": "Moving away from session cookies to JWT for authentication, as decided in #1. Access tokens live 15 minutes; refresh tokens are kept in a table and can be revoked. Closes #1",
                "url": "FORGE/acme/shop/-/merge_requests/2",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "COMMENTS_ON",
              "from": "acme/shop!2",
              "node": {
                "id": "acme/shop!2~027e6bef00000000000000000000000000000409",
                "kind": "discussion",
                "title": "@johndoe, 2024-03-12: Why do we verify the expiry ourselves? The library does it.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1033"
              },
              "evidence": {
                "text": "It allows no leeway, and the phones' clocks are up to a minute off. With our own check we accept 90 seconds of clock skew.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1034",
                "path": "src/auth/token.rs",
                "lines": [
                  42,
                  42
                ]
              }
            },
            {
              "edge": "CLOSES",
              "from": "acme/shop!2",
              "node": {
                "id": "acme/shop#1",
                "kind": "issue",
                "title": "Authentication redesign",
                "url": "FORGE/acme/shop/-/issues/1"
              },
              "evidence": {
                "text": "We need to redesign the authentication flow because session cookies do not work in our mobile clients: the web view drops them. Options: - signed JWT access tokens - server-side sessions in a shared store, see #3 @alice please have a look from the security side.",
                "url": "FORGE/acme/shop/-/issues/1",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "MODIFIES",
              "from": null,
              "node": {
                "id": "acme/shop@f0061923d4ac3e73f71315e9753e05b486220ef1",
                "kind": "commit",
                "title": "Name the leeway",
                "url": "FORGE/acme/shop/-/commit/f0061923d4ac3e73f71315e9753e05b486220ef1"
              },
              "evidence": {
                "text": "Fixes #5",
                "url": "FORGE/acme/shop/-/commit/f0061923d4ac3e73f71315e9753e05b486220ef1",
                "path": "src/auth/token.rs",
                "lines": [
                  42,
                  42
                ]
              }
            },
            {
              "edge": "FIXES",
              "from": "acme/shop@f0061923d4ac3e73f71315e9753e05b486220ef1",
              "node": {
                "id": "acme/shop#5",
                "kind": "issue",
                "title": "Checkout test fails now and then",
                "url": "FORGE/acme/shop/-/issues/5"
              },
              "evidence": {
                "text": "`test_checkout_total` is flaky: about one run in thirty fails in CI, always shortly before midnight.",
                "url": "FORGE/acme/shop/-/issues/5",
                "path": null,
                "lines": null
              }
            }
          ],
          "merge_requests": [
            "acme/shop!2"
          ],
          "issues": [
            "acme/shop#1",
            "acme/shop#5"
          ],
          "discussions": [
            "acme/shop!2~027e6bef00000000000000000000000000000409"
          ],
          "earlier": [],
          "missing": [
            "commit f006192 belongs to no merge request in the index"
          ]
        }"#]]).await;
    check(&world, symbol(world::TOKEN, "verify_expiry"), expect![[r#"
        {
          "project": "acme/shop",
          "path": "src/auth/token.rs",
          "line": 40,
          "end_line": 44,
          "symbol": "verify_expiry",
          "rev": "f0061923d4ac3e73f71315e9753e05b486220ef1",
          "text": "pub fn verify_expiry(claims: &Claims, now: u64) -> bool {\n    // Seconds since 1970.\n    claims.expires_at + LEEWAY > now\n        && claims.issued_at <= now\n}",
          "indexed": {
            "commit": "f0061923d4ac3e73f71315e9753e05b486220ef1",
            "synced_at": "TIME"
          },
          "origin": {
            "start": 40,
            "lines": 2,
            "commit": "24455b149e905fb5fd33e094f6cc5943a20829f6",
            "path": "src/auth/token.rs",
            "line": 40,
            "author": "John Doe",
            "date": "2024-01-01T01:00:00Z",
            "title": "Check tokens ourselves"
          },
          "origins": [
            {
              "start": 40,
              "lines": 2,
              "commit": "24455b149e905fb5fd33e094f6cc5943a20829f6",
              "path": "src/auth/token.rs",
              "line": 40,
              "author": "John Doe",
              "date": "2024-01-01T01:00:00Z",
              "title": "Check tokens ourselves"
            },
            {
              "start": 42,
              "lines": 1,
              "commit": "f0061923d4ac3e73f71315e9753e05b486220ef1",
              "path": "src/auth/token.rs",
              "line": 42,
              "author": "jdoe",
              "date": "2024-01-01T04:00:00Z",
              "title": "Name the leeway"
            },
            {
              "start": 43,
              "lines": 2,
              "commit": "24455b149e905fb5fd33e094f6cc5943a20829f6",
              "path": "src/auth/token.rs",
              "line": 43,
              "author": "John Doe",
              "date": "2024-01-01T01:00:00Z",
              "title": "Check tokens ourselves"
            }
          ],
          "chain": [
            {
              "edge": "INTRODUCES",
              "from": null,
              "node": {
                "id": "acme/shop@24455b149e905fb5fd33e094f6cc5943a20829f6",
                "kind": "commit",
                "title": "Check tokens ourselves",
                "url": "FORGE/acme/shop/-/commit/24455b149e905fb5fd33e094f6cc5943a20829f6"
              },
              "evidence": {
                "text": "Sessions go away, because cookies do not reach the mobile clients.",
                "url": "FORGE/acme/shop/-/commit/24455b149e905fb5fd33e094f6cc5943a20829f6",
                "path": "src/auth/token.rs",
                "lines": [
                  40,
                  41
                ]
              }
            },
            {
              "edge": "MERGED_BY",
              "from": "acme/shop@24455b149e905fb5fd33e094f6cc5943a20829f6",
              "node": {
                "id": "acme/shop@4da7c801f1d867676eb4d4431e5e8a1581c5f4d4",
                "kind": "commit",
                "title": "Merge branch 'jwt-auth' into 'main'",
                "url": "FORGE/acme/shop/-/commit/4da7c801f1d867676eb4d4431e5e8a1581c5f4d4"
              },
              "evidence": {
                "text": null,
                "url": "FORGE/acme/shop/-/commit/4da7c801f1d867676eb4d4431e5e8a1581c5f4d4",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "MERGED_AS",
              "from": "acme/shop@4da7c801f1d867676eb4d4431e5e8a1581c5f4d4",
              "node": {
                "id": "acme/shop!2",
                "kind": "merge_request",
                "title": "Refactor auth to use JWT tokens",
                "url": "FORGE/acme/shop/-/merge_requests/2"
              },
              "evidence": {
                "text": "Moving away from session cookies to JWT for authentication, as decided in #1. Access tokens live 15 minutes; refresh tokens are kept in a table and can be revoked. Closes #1",
                "url": "FORGE/acme/shop/-/merge_requests/2",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "COMMENTS_ON",
              "from": "acme/shop!2",
              "node": {
                "id": "acme/shop!2~027e6bef00000000000000000000000000000409",
                "kind": "discussion",
                "title": "@johndoe, 2024-03-12: Why do we verify the expiry ourselves? The library does it.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1033"
              },
              "evidence": {
                "text": "It allows no leeway, and the phones' clocks are up to a minute off. With our own check we accept 90 seconds of clock skew.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1034",
                "path": "src/auth/token.rs",
                "lines": [
                  42,
                  42
                ]
              }
            },
            {
              "edge": "CLOSES",
              "from": "acme/shop!2",
              "node": {
                "id": "acme/shop#1",
                "kind": "issue",
                "title": "Authentication redesign",
                "url": "FORGE/acme/shop/-/issues/1"
              },
              "evidence": {
                "text": "We need to redesign the authentication flow because session cookies do not work in our mobile clients: the web view drops them. Options: - signed JWT access tokens - server-side sessions in a shared store, see #3 @alice please have a look from the security side.",
                "url": "FORGE/acme/shop/-/issues/1",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "MODIFIES",
              "from": null,
              "node": {
                "id": "acme/shop@f0061923d4ac3e73f71315e9753e05b486220ef1",
                "kind": "commit",
                "title": "Name the leeway",
                "url": "FORGE/acme/shop/-/commit/f0061923d4ac3e73f71315e9753e05b486220ef1"
              },
              "evidence": {
                "text": "Fixes #5",
                "url": "FORGE/acme/shop/-/commit/f0061923d4ac3e73f71315e9753e05b486220ef1",
                "path": "src/auth/token.rs",
                "lines": [
                  42,
                  42
                ]
              }
            },
            {
              "edge": "FIXES",
              "from": "acme/shop@f0061923d4ac3e73f71315e9753e05b486220ef1",
              "node": {
                "id": "acme/shop#5",
                "kind": "issue",
                "title": "Checkout test fails now and then",
                "url": "FORGE/acme/shop/-/issues/5"
              },
              "evidence": {
                "text": "`test_checkout_total` is flaky: about one run in thirty fails in CI, always shortly before midnight.",
                "url": "FORGE/acme/shop/-/issues/5",
                "path": null,
                "lines": null
              }
            }
          ],
          "merge_requests": [
            "acme/shop!2"
          ],
          "issues": [
            "acme/shop#1",
            "acme/shop#5"
          ],
          "discussions": [
            "acme/shop!2~027e6bef00000000000000000000000000000409"
          ],
          "earlier": [],
          "missing": [
            "commit f006192 belongs to no merge request in the index"
          ]
        }"#]]).await;
    check(&world, node(&format!("acme/shop@{}", world.skew)), expect![[r#"
        {
          "project": "acme/shop",
          "path": null,
          "line": null,
          "end_line": null,
          "symbol": null,
          "rev": "cd9477b0ee1ced92ee8e535f980ba542a0091ff8",
          "text": null,
          "indexed": {
            "commit": "f0061923d4ac3e73f71315e9753e05b486220ef1",
            "synced_at": "TIME"
          },
          "origin": null,
          "origins": [],
          "chain": [
            {
              "edge": "MODIFIES",
              "from": null,
              "node": {
                "id": "acme/shop@cd9477b0ee1ced92ee8e535f980ba542a0091ff8",
                "kind": "commit",
                "title": "Accept a little clock skew when tokens expire",
                "url": "FORGE/acme/shop/-/commit/cd9477b0ee1ced92ee8e535f980ba542a0091ff8"
              },
              "evidence": {
                "text": "The phones' clocks are up to a minute off, so that good tokens were refused.",
                "url": "FORGE/acme/shop/-/commit/cd9477b0ee1ced92ee8e535f980ba542a0091ff8",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "MERGED_BY",
              "from": "acme/shop@cd9477b0ee1ced92ee8e535f980ba542a0091ff8",
              "node": {
                "id": "acme/shop@4da7c801f1d867676eb4d4431e5e8a1581c5f4d4",
                "kind": "commit",
                "title": "Merge branch 'jwt-auth' into 'main'",
                "url": "FORGE/acme/shop/-/commit/4da7c801f1d867676eb4d4431e5e8a1581c5f4d4"
              },
              "evidence": {
                "text": null,
                "url": "FORGE/acme/shop/-/commit/4da7c801f1d867676eb4d4431e5e8a1581c5f4d4",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "MERGED_AS",
              "from": "acme/shop@4da7c801f1d867676eb4d4431e5e8a1581c5f4d4",
              "node": {
                "id": "acme/shop!2",
                "kind": "merge_request",
                "title": "Refactor auth to use JWT tokens",
                "url": "FORGE/acme/shop/-/merge_requests/2"
              },
              "evidence": {
                "text": "…authentication, as decided in #1. Access tokens live 15 minutes; refresh tokens are kept in a table and can be revoked. Closes #1",
                "url": "FORGE/acme/shop/-/merge_requests/2",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "PART_OF",
              "from": "acme/shop!2",
              "node": {
                "id": "acme/shop!2~027e6bef00000000000000000000000000000409",
                "kind": "discussion",
                "title": "@johndoe, 2024-03-12: Why do we verify the expiry ourselves? The library does it.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1033"
              },
              "evidence": {
                "text": "…allows no leeway, and the phones' clocks are up to a minute off. With our own check we accept 90 seconds of clock skew.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1034",
                "path": "src/auth/token.rs",
                "lines": [
                  42,
                  42
                ]
              }
            },
            {
              "edge": "CLOSES",
              "from": "acme/shop!2",
              "node": {
                "id": "acme/shop#1",
                "kind": "issue",
                "title": "Authentication redesign",
                "url": "FORGE/acme/shop/-/issues/1"
              },
              "evidence": {
                "text": "…them. Options: - signed JWT access tokens - server-side sessions in a shared store, see #3 @alice please have a look from the security side.",
                "url": "FORGE/acme/shop/-/issues/1",
                "path": null,
                "lines": null
              }
            }
          ],
          "merge_requests": [
            "acme/shop!2"
          ],
          "issues": [
            "acme/shop#1"
          ],
          "discussions": [
            "acme/shop!2~027e6bef00000000000000000000000000000409"
          ],
          "earlier": [],
          "missing": []
        }"#]]).await;
    check(&world, node("acme/shop!2"), expect![[r#"
        {
          "project": "acme/shop",
          "path": null,
          "line": null,
          "end_line": null,
          "symbol": null,
          "rev": null,
          "text": null,
          "indexed": {
            "commit": "f0061923d4ac3e73f71315e9753e05b486220ef1",
            "synced_at": "TIME"
          },
          "origin": null,
          "origins": [],
          "chain": [
            {
              "edge": "MERGED_AS",
              "from": null,
              "node": {
                "id": "acme/shop!2",
                "kind": "merge_request",
                "title": "Refactor auth to use JWT tokens",
                "url": "FORGE/acme/shop/-/merge_requests/2"
              },
              "evidence": {
                "text": "…from session cookies to JWT for authentication, as decided in #1. Access tokens live 15 minutes; refresh tokens are kept in a table and can be revoked. Closes #1",
                "url": "FORGE/acme/shop/-/merge_requests/2",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "PART_OF",
              "from": "acme/shop!2",
              "node": {
                "id": "acme/shop!2~027e6bef00000000000000000000000000000409",
                "kind": "discussion",
                "title": "@johndoe, 2024-03-12: Why do we verify the expiry ourselves? The library does it.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1033"
              },
              "evidence": {
                "text": "It allows no leeway, and the phones' clocks are up to a minute off. With our own check we accept 90 seconds of clock skew.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1034",
                "path": "src/auth/token.rs",
                "lines": [
                  42,
                  42
                ]
              }
            },
            {
              "edge": "PART_OF",
              "from": "acme/shop!2",
              "node": {
                "id": "acme/shop!2~028046940000000000000000000000000000040c",
                "kind": "discussion",
                "title": "@janedoe, 2024-03-13: Nobody needs the cookie middleware any more, so it can go in this merge request.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1036"
              },
              "evidence": {
                "text": "Nobody needs the cookie middleware any more, so it can go in this merge request.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1036",
                "path": "src/auth/cookies.rs",
                "lines": [
                  7,
                  7
                ]
              }
            },
            {
              "edge": "PART_OF",
              "from": "acme/shop!2",
              "node": {
                "id": "acme/shop!2~0280e4cb0000000000000000000000000000040d",
                "kind": "discussion",
                "title": "@alice, 2024-03-20: Key rotation works in staging. See also the plan in #1 and commit 1a2b3c4d.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1037"
              },
              "evidence": {
                "text": "Key rotation works in staging. See also the plan in #1 and commit 1a2b3c4d.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1037",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "CLOSES",
              "from": "acme/shop!2",
              "node": {
                "id": "acme/shop#1",
                "kind": "issue",
                "title": "Authentication redesign",
                "url": "FORGE/acme/shop/-/issues/1"
              },
              "evidence": {
                "text": "We need to redesign the authentication flow because session cookies do not work in our mobile clients: the web view drops them. Options: - signed JWT access tokens - server-side sessions in a shared store, see #3 @alice please have a look from the security side.",
                "url": "FORGE/acme/shop/-/issues/1",
                "path": null,
                "lines": null
              }
            }
          ],
          "merge_requests": [
            "acme/shop!2"
          ],
          "issues": [
            "acme/shop#1"
          ],
          "discussions": [
            "acme/shop!2~027e6bef00000000000000000000000000000409",
            "acme/shop!2~028046940000000000000000000000000000040c",
            "acme/shop!2~0280e4cb0000000000000000000000000000040d"
          ],
          "earlier": [],
          "missing": []
        }"#]]).await;
    check(&world, node("acme/shop#1"), expect![[r#"
        {
          "project": "acme/shop",
          "path": null,
          "line": null,
          "end_line": null,
          "symbol": null,
          "rev": null,
          "text": null,
          "indexed": {
            "commit": "f0061923d4ac3e73f71315e9753e05b486220ef1",
            "synced_at": "TIME"
          },
          "origin": null,
          "origins": [],
          "chain": [
            {
              "edge": "REFERENCES",
              "from": null,
              "node": {
                "id": "acme/shop#1",
                "kind": "issue",
                "title": "Authentication redesign",
                "url": "FORGE/acme/shop/-/issues/1"
              },
              "evidence": {
                "text": "We need to redesign the authentication flow because session cookies do not work in our mobile clients: the web view drops them. Options: - signed JWT access tokens - server-side sessions in a shared store, see #3 @alice please have a look from the security side.",
                "url": "FORGE/acme/shop/-/issues/1",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "CLOSES",
              "from": "acme/shop#1",
              "node": {
                "id": "acme/shop!2",
                "kind": "merge_request",
                "title": "Refactor auth to use JWT tokens",
                "url": "FORGE/acme/shop/-/merge_requests/2"
              },
              "evidence": {
                "text": "…from session cookies to JWT for authentication, as decided in #1. Access tokens live 15 minutes; refresh tokens are kept in a table and can be revoked. Closes #1",
                "url": "FORGE/acme/shop/-/merge_requests/2",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "CLOSES",
              "from": "acme/shop#1",
              "node": {
                "id": "acme/shop@4da7c801f1d867676eb4d4431e5e8a1581c5f4d4",
                "kind": "commit",
                "title": "Merge branch 'jwt-auth' into 'main'",
                "url": "FORGE/acme/shop/-/commit/4da7c801f1d867676eb4d4431e5e8a1581c5f4d4"
              },
              "evidence": {
                "text": "Refactor auth to use JWT tokens Closes #1 See merge request acme/shop!2",
                "url": "FORGE/acme/shop/-/commit/4da7c801f1d867676eb4d4431e5e8a1581c5f4d4",
                "path": null,
                "lines": null
              }
            },
            {
              "edge": "PART_OF",
              "from": "acme/shop!2",
              "node": {
                "id": "acme/shop!2~027e6bef00000000000000000000000000000409",
                "kind": "discussion",
                "title": "@johndoe, 2024-03-12: Why do we verify the expiry ourselves? The library does it.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1033"
              },
              "evidence": {
                "text": "It allows no leeway, and the phones' clocks are up to a minute off. With our own check we accept 90 seconds of clock skew.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1034",
                "path": "src/auth/token.rs",
                "lines": [
                  42,
                  42
                ]
              }
            },
            {
              "edge": "PART_OF",
              "from": "acme/shop!2",
              "node": {
                "id": "acme/shop!2~028046940000000000000000000000000000040c",
                "kind": "discussion",
                "title": "@janedoe, 2024-03-13: Nobody needs the cookie middleware any more, so it can go in this merge request.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1036"
              },
              "evidence": {
                "text": "Nobody needs the cookie middleware any more, so it can go in this merge request.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1036",
                "path": "src/auth/cookies.rs",
                "lines": [
                  7,
                  7
                ]
              }
            },
            {
              "edge": "PART_OF",
              "from": "acme/shop!2",
              "node": {
                "id": "acme/shop!2~0280e4cb0000000000000000000000000000040d",
                "kind": "discussion",
                "title": "@alice, 2024-03-20: Key rotation works in staging. See also the plan in #1 and commit 1a2b3c4d.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1037"
              },
              "evidence": {
                "text": "Key rotation works in staging. See also the plan in #1 and commit 1a2b3c4d.",
                "url": "FORGE/acme/shop/-/merge_requests/2#note_1037",
                "path": null,
                "lines": null
              }
            }
          ],
          "merge_requests": [
            "acme/shop!2"
          ],
          "issues": [
            "acme/shop#1"
          ],
          "discussions": [
            "acme/shop!2~027e6bef00000000000000000000000000000409",
            "acme/shop!2~028046940000000000000000000000000000040c",
            "acme/shop!2~0280e4cb0000000000000000000000000000040d"
          ],
          "earlier": [],
          "missing": []
        }"#]]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_versions_and_moved_lines() {
    let mut world = World::new().await;
    let at = |trace: &Trace| {
        let origin = trace.origin.as_ref().unwrap();
        format!("{} {}:{} {:?}", origin.title, origin.path, origin.line, origin.seen_through)
    };
    let line = line_with(&world, world::TOKEN, "claims.expires_at");
    let trace = world.engine.trace(about(lines(world::TOKEN, line, line))).await.unwrap();
    let earlier: Vec<String> = trace
        .earlier
        .iter()
        .map(|earlier| {
            format!(
                "{}:{} {} [{}] {}",
                earlier.path,
                earlier.line,
                earlier.title,
                earlier.merge_requests.join(" "),
                earlier.text.trim()
            )
        })
        .collect();
    expect![[r#"
        (
            "Name the leeway src/auth/token.rs:42 []",
            [
                "src/auth/token.rs:42 Accept a little clock skew when tokens expire [acme/shop!2] claims.expires_at + 90 > now",
                "src/auth/token.rs:42 Check tokens ourselves [acme/shop!2] claims.expires_at > now",
            ],
        )
    "#]].assert_debug_eq(&(at(&trace), &earlier));
    let one = world.engine.trace(TraceRequest { earlier: 1, ..about(lines(world::TOKEN, line, line)) }).await.unwrap();
    assert_eq!(one.earlier, trace.earlier[..1]);
    // The function goes into a file of its own: its lines keep their origin.
    world.move_expiry().await;
    let line = line_with(&world, world::EXPIRY, "claims.expires_at");
    let moved = world.engine.trace(about(lines(world::EXPIRY, line, line))).await.unwrap();
    expect![[r#"Name the leeway src/auth/token.rs:42 ["moved"]"#]].assert_eq(&at(&moved));
    assert_eq!(moved.earlier, trace.earlier);
    assert_eq!((moved.merge_requests, moved.issues), (trace.merge_requests, trace.issues));
    // At an older commit the old path still answers.
    let old = TraceRequest { rev: Some(world.skew.clone()), ..about(lines(world::TOKEN, 42, 42)) };
    expect!["Accept a little clock skew when tokens expire src/auth/token.rs:42 []"].assert_eq(&at(&world
        .engine
        .trace(old)
        .await
        .unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_every_kind_of_file() {
    let mut origin = Origin::new();
    origin.write("dos.py", "a = 1\r\nb = 2\r\n").write(b"src/caf\xe9.c", "int one;\nint two;\n");
    origin.write("src/\u{fc} #~1.txt", "one\ntwo").commit("Begin");
    origin.write("dos.py", "a = 1\r\nb = 3\r\n").write(b"src/caf\xe9.c", "int one;\nint three;\n");
    origin.write("src/\u{fc} #~1.txt", "one\nthree").commit("Change the second line of each");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    for (path, now, before) in [
        ("dos.py", "b = 3", "b = 2"),
        (r#""src/caf\351.c""#, "int three;", "int two;"),
        ("src/\u{fc} #~1.txt", "three", "two"),
    ] {
        let request = TraceRequest { project: None, ..about(lines(path, 2, 2)) };
        let trace = indexed.engine.trace(request).await.unwrap();
        assert_eq!(trace.text.as_deref(), Some(now), "{path}");
        assert_eq!(trace.origin.unwrap().title, "Change the second line of each", "{path}");
        let earlier: Vec<&str> = trace.earlier.iter().map(|earlier| earlier.text.as_str()).collect();
        assert_eq!(earlier, [before], "{path}");
        // The same file by its reference.
        let id = NodeId::file(PROJECT, path).to_string();
        let whole = indexed.engine.trace(about(node(&id))).await.unwrap();
        assert_eq!(whole.origins.len(), 2, "{id}");
    }
}
