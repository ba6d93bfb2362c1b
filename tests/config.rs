//! The configuration: what is read, and the sentence for whatever is wrong with it.

use expect_test::{Expect, expect};

use crate::support::{Forge, Sandbox};

const FORGE: &str = "[[forge]]\nkind = \"gitlab\"\nbase_url = \"https://gitlab.example.com\"\n\
                     token_env = \"GITLAB_TOKEN\"\nprojects = [\"acme/shop\"]\n";

/// The message for a configuration that is wrong; the exit code is 3.
#[track_caller]
fn check(config: &str, expected: &Expect) {
    let sandbox = Sandbox::empty();
    sandbox.write_config(config);
    expected.assert_eq(sandbox.run(&["stats"]).error(3));
    assert!(!sandbox.path().join("home").exists(), "nothing is created for a wrong configuration");
}

/// The same for lines after a good beginning, of which the first is line 7.
#[track_caller]
fn check_behind(lines: &str, expected: &Expect) {
    check(&format!("{FORGE}\n{lines}\n"), expected);
}

/// The same for a forge with one line changed.
#[track_caller]
fn check_changed(line: &str, instead: &str, expected: &Expect) {
    assert!(FORGE.contains(line));
    check(&FORGE.replace(line, instead), expected);
}

#[test]
fn config_is_loaded_from_backstory_toml() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    sandbox.run(&["auth-test"]).ok();
    assert_eq!(forge.asked(), ["GET /api/v4/user"]);
}

#[test]
fn config_is_found_in_the_personal_directory_and_by_option() {
    let sandbox = Sandbox::empty();
    std::fs::create_dir_all(sandbox.path().join("home/.config/backstory")).unwrap();
    std::fs::write(sandbox.path().join("home/.config/backstory/config.toml"), FORGE).unwrap();
    let personal = sandbox.run(&["count", "issues"]).ok();
    assert_eq!(personal.stdout, "Issues: 0\n");
    assert!(sandbox.path().join("home/.local/share/backstory/ledger.sqlite").exists());

    std::fs::write(sandbox.path().join("other.toml"), format!("data_dir = \"here\"\n{FORGE}")).unwrap();
    sandbox.run(&["--config", "other.toml", "count"]).ok();
    assert!(sandbox.path().join("here/ledger.sqlite").exists(), "data_dir is relative to the file");
    std::fs::create_dir(sandbox.path().join("there")).unwrap();
    sandbox.run(&["count", "--config", "other.toml", "--data-dir", "there"]).ok();
    assert!(sandbox.path().join("there/ledger.sqlite").exists());
}

#[test]
fn config_file_missing_is_reported() {
    let sandbox = Sandbox::empty();
    expect!["there is nothing to sync; add a repository with 'backstory add PATH', or name a project under [[forge]] in the configuration ('backstory init' writes one)"]
        .assert_eq(sandbox.run(&["sync"]).error(3));
    expect!["the configuration none.toml does not exist; run 'backstory init --config none.toml' to write it"]
        .assert_eq(sandbox.run(&["sync", "--config", "none.toml"]).error(3));
    expect!["the configuration . cannot be read: is a directory"]
        .assert_eq(sandbox.run(&["sync", "--config", "."]).error(3));
}

#[test]
fn config_is_a_file_with_an_end() {
    let sandbox = Sandbox::empty();
    expect!["the configuration /dev/zero is not a regular file; name another one"]
        .assert_eq(sandbox.run(&["stats", "--config", "/dev/zero"]).error(3));
    std::fs::write(sandbox.path().join("large.toml"), "#".repeat((1 << 20) + 1)).unwrap();
    expect!["the configuration large.toml is larger than 1024 KiB; name another file"]
        .assert_eq(sandbox.run(&["stats", "--config", "large.toml"]).error(3));
}

// Row 65 of docs/requirements.md.
#[test]
fn required_fields_missing_are_reported() {
    check_changed(
        "base_url = \"https://gitlab.example.com\"\n",
        "",
        &expect!["backstory.toml:1: missing key 'base_url'"],
    );
    check_behind("[llm]\nprovider = \"ollama\"", &expect!["backstory.toml:7: missing key 'model'"]);
}

#[test]
fn project_paths_must_be_paths_and_stand_once() {
    let line = "projects = [\"acme/shop\"]";
    check_changed(
        line,
        "projects = [\"\"]",
        &expect![
            "backstory.toml:5: projects: '' is not the path of a project; write group/project, or group/* for all of a group"
        ],
    );
    check_changed(
        line,
        "projects = [\"acme/shop\",\n  \"shop\"]",
        &expect![
            "backstory.toml:6: projects: 'shop' is not the path of a project; write group/project, or group/* for all of a group"
        ],
    );
    check_changed(
        line,
        "projects = [\"https://gitlab.example.com/acme/shop\"]",
        &expect![
            "backstory.toml:5: projects: 'https://gitlab.example.com/acme/shop' is not the path of a project; write group/project, or group/* for all of a group"
        ],
    );
    check_changed(
        line,
        "projects = [\"acme/shop\", \"acme/web\", \"acme/shop\"]",
        &expect!["backstory.toml:5: projects: acme/shop is named twice; keep one"],
    );
    check_changed(
        line,
        "projects = \"acme/shop\"",
        &expect![[r#"backstory.toml:5: invalid type: string "acme/shop", expected a list"#]],
    );
    check(&format!("{FORGE}{FORGE}"), &expect!["backstory.toml:10: projects: acme/shop is named twice; keep one"]);
}

#[test]
fn retention_is_bounded() {
    check_behind(
        "[retention]\ndays = 40000",
        &expect!["backstory.toml:8: days is 40000; it must be 0 (all is kept) to 36500"],
    );
    check_behind(
        "[retention]\nmegabytes = 2000000",
        &expect!["backstory.toml:8: megabytes is 2000000; it must be 0 (all is kept) to 1000000"],
    );
}

#[test]
fn unknown_keys_are_reported_with_what_was_probably_meant() {
    check_behind(
        "[serach]\nranking = \"rrf\"",
        &expect![
            "backstory.toml:7: unknown key 'serach', expected one of 'data_dir', 'forge', 'repositories', 'embedding', 'search', 'llm', 'snapshots', 'index', 'links', 'sync', 'redact', 'retention', 'tracker', 'people', 'server'; did you mean 'search'?"
        ],
    );
    check_behind(
        "[embedding]\nmodle = \"x\"",
        &expect![
            "backstory.toml:8: unknown key 'modle', expected one of 'provider', 'model', 'base_url', 'api_key_env', 'dimension', 'threads'; did you mean 'model'?"
        ],
    );
    check_behind(
        "[embedding]\ncolour = \"x\"",
        &expect![
            "backstory.toml:8: unknown key 'colour', expected one of 'provider', 'model', 'base_url', 'api_key_env', 'dimension', 'threads'"
        ],
    );
    check_behind(
        "[server]\ntoken = \"x\"",
        &expect![
            "backstory.toml:8: unknown key 'token', expected one of 'listen', 'token_env', 'tokens', 'allowed_origins', 'public_url', 'trusted_proxies', 'requests_per_minute', 'memory'; did you mean 'token_env'?"
        ],
    );
    check_changed(
        "[[forge]]",
        "[forge]",
        &expect![
            "backstory.toml:1: invalid type: table, expected a list; write [[forge]], in two brackets, because there can be several"
        ],
    );
}

#[test]
fn wrong_values_of_a_forge_are_reported_with_what_would_be_right() {
    check_changed(
        "\"gitlab\"",
        "\"svn\"",
        &expect!["backstory.toml:2: kind is 'svn', but only 'gitlab' and 'github' can be read"],
    );
    check_changed(
        "\"https://gitlab.example.com\"",
        "\"gitlab.example.com\"",
        &expect!["backstory.toml:3: base_url is not an address; write it like https://gitlab.example.com"],
    );
    check_changed(
        "\"https://gitlab.example.com\"",
        "\"ftp://gitlab.example.com\"",
        &expect![
            "backstory.toml:3: base_url must begin with https:// or http://; write it like https://gitlab.example.com"
        ],
    );
    check_changed(
        "\"https://gitlab.example.com\"",
        "\"https://me:secret@gitlab.example.com\"",
        &expect![
            "backstory.toml:3: base_url holds a user name or password, which must not stand in a file; write it like https://gitlab.example.com"
        ],
    );
    check_changed(
        "\"https://gitlab.example.com\"",
        "\"https://gitlab.example.com?x=1\"",
        &expect![
            "backstory.toml:3: base_url must not have a query or a fragment; write it like https://gitlab.example.com"
        ],
    );
    check_changed(
        "[[forge]]",
        "[[forge]]\nrequests_per_second = -1",
        &expect!["backstory.toml:2: invalid value: integer '-1', expected a whole number from 0 on"],
    );
    check_changed(
        "[[forge]]",
        "[[forge]]\nrequests_per_second = 100000",
        &expect!["backstory.toml:2: requests_per_second is 100000; it must be 0 (no limit) to 10000"],
    );
}

#[test]
fn wrong_values_of_embedding_search_and_server_are_reported_with_what_would_be_right() {
    check_behind(
        "[embedding]\nprovider = \"olama\"",
        &expect![
            "backstory.toml:8: unknown value 'olama', expected one of 'bundled', 'ollama', 'openai', 'none'; did you mean 'ollama'?"
        ],
    );
    check_behind(
        "[llm]\nprovider = \"bundled\"",
        &expect!["backstory.toml:8: unknown value 'bundled', expected 'ollama' or 'openai'"],
    );
    check_behind("[embedding]\nthreads = 0", &expect!["backstory.toml:8: threads is 0; it must be 1 to 64"]);
    check_behind("[embedding]\nthreads = 65", &expect!["backstory.toml:8: threads is 65; it must be 1 to 64"]);
    check_behind("[index]\nclusters = 0", &expect!["backstory.toml:8: clusters is 0; it must be 1 to 4096"]);
    check_behind("[index]\nprobes = 70000", &expect!["backstory.toml:8: probes is 70000; it must be 1 to 4096"]);
    check_behind("[index]\nrefine = 101", &expect!["backstory.toml:8: refine is 101; it must be 0 to 100"]);
    check_behind("[server]\nmemory = 15", &expect!["backstory.toml:8: memory is 15; it must be 16 to 1048576"]);
    check_behind(
        "[embedding]\ndimension = 1000000",
        &expect!["backstory.toml:8: dimension is 1000000; it must be 1 to 8192"],
    );
    check_behind(
        "[embedding]\nprovider = \"ollama\"\nbase_url = \"localhost\"",
        &expect!["backstory.toml:9: base_url is not an address; write it like http://127.0.0.1:11434"],
    );
    check_behind(
        "[search]\nprofile = \"rrf\"\nweights = { semantic = 1, lexical = 1 }",
        &expect![[r#"backstory.toml:9: weights do not count with profile = "rrf"; remove one of the two"#]],
    );
    check_behind(
        "[search]\nprofile = \"default\"\nweights = { semantic = 2.0, lexical = 0.5 }",
        &expect!["backstory.toml:9: weights must be 0 to 1, and semantic and lexical not both 0"],
    );
    check_behind(
        "[server]\nlisten = \"7373\"",
        &expect!["backstory.toml:8: listen: '7373' is not an address to listen on; write 127.0.0.1:7373"],
    );
    check_behind(
        "[server]\nallowed_origins = [\"https://grafana.example.com/\"]",
        &expect![
            "backstory.toml:8: allowed_origins: 'https://grafana.example.com/' is not an origin; write https://grafana.example.com"
        ],
    );
    check_behind(
        "[server]\nallowed_origins = [\"*\"]",
        &expect![
            "backstory.toml:8: allowed_origins: '*' is not an origin; write one such as https://grafana.example.com"
        ],
    );
    check_behind(
        "[server]\npublic_url = \"https://code.example.com/backstory\"",
        &expect![
            "backstory.toml:8: public_url: 'https://code.example.com/backstory' is not an origin; write https://code.example.com"
        ],
    );
    check_behind(
        "[server]\ntrusted_proxies = [\"10.0.0.0/8\", \"proxy\"]",
        &expect![
            "backstory.toml:8: trusted_proxies: 'proxy' is not a network; write an address or one such as 10.0.0.0/8"
        ],
    );
    check(
        &format!("data_dir = \"\"\n{FORGE}"),
        &expect!["backstory.toml:1: data_dir is empty; name a directory, or remove the key"],
    );
}

#[test]
fn a_file_without_a_forge_is_read() {
    let sandbox = Sandbox::empty();
    std::fs::create_dir(sandbox.data()).unwrap();
    for text in
        ["", "data_dir = \"data\"\n", "[repositories]\nexclude = [\"**/gen/**\"]\n", "[search]\nprofile = \"rrf\"\n"]
    {
        sandbox.write_config(text);
        sandbox.run(&["repos", "--data-dir", "data"]).ok();
    }
}

#[test]
fn wrong_values_of_what_is_confidential_are_reported_with_what_would_be_right() {
    let token =
        |scopes: &str| format!("[[server.tokens]]\nenv = \"API_TOKEN\"\nscopes = [{scopes}]\nprojects = [\"group/*\"]");
    check_behind(
        &token("\"secret\""),
        &expect!["backstory.toml:9: scopes: 'secret' is not a scope; scopes are read, sync, admin and confidential"],
    );
    check_behind(
        &format!("[server]\ntoken_env = \"API_TOKEN\"\n{}", token("")),
        &expect!["backstory.toml:10: env: API_TOKEN is named twice; give each token its own variable"],
    );
    check_behind(
        "[[server.tokens]]\nenv = \"API_TOKEN\"",
        &expect![
            "backstory.toml:8: projects is missing or empty: name those that the token shows, as group/project, group/* or group/**, or all with **"
        ],
    );
    check_behind(
        "[[server.tokens]]\nenv = \"API_TOKEN\"\nprojects = [\"group/\"]",
        &expect![
            "backstory.toml:9: projects: 'group/' is not a pattern of projects; write group/project, group/* for a group, group/** for its subgroups too, or ** for all"
        ],
    );
    check_behind(
        "[[server.tokens]]\nenv = \"API_TOKEN\"\nprojects = []",
        &expect![
            "backstory.toml:8: projects is missing or empty: name those that the token shows, as group/project, group/* or group/**, or all with **"
        ],
    );
    let expires =
        |text: &str| format!("[[server.tokens]]\nenv = \"API_TOKEN\"\nprojects = [\"group/*\"]\nexpires = \"{text}\"");
    check_behind(
        &expires("soon"),
        &expect![
            "backstory.toml:10: expires: 'soon' is not a date; write the last day, like 2027-01-31, an instant like 2027-01-31T12:00:00Z, or never"
        ],
    );
    check_behind(
        &expires("30d"),
        &expect!["backstory.toml:10: expires: '30d' has no beginning in a file; write the last day, like 2027-01-31"],
    );
    check(
        "[[forge]]\nkind = \"github\"\nbase_url = \"https://github.com\"\nconfidential = true\n",
        &expect!["backstory.toml:4: confidential: GitHub has no confidential issues; remove the key"],
    );
}

#[test]
fn wrong_values_of_repositories_are_reported_with_what_would_be_right() {
    let hosts = "[repositories]\nallowed_hosts = [\"git.example.internal\", \"10.1.2.3\", \"::1\", \"[fd00::1]\", \"my-host\"]\n";
    let sandbox = Sandbox::empty();
    sandbox.write_config(hosts);
    std::fs::create_dir(sandbox.data()).unwrap();
    sandbox.run(&["repos", "--data-dir", "data"]).ok();
    check_behind(
        "[repositories]\nallowed_hosts = [\"https://git.example.com\"]",
        &expect![
            "backstory.toml:8: allowed_hosts: 'https://git.example.com' is not a host; write its name or address alone, like git.example.com, without a scheme, a port or a path"
        ],
    );
    check_behind(
        "[repositories]\nallowed_hosts = [\"a\", \"\"]",
        &expect![
            "backstory.toml:8: allowed_hosts: '' is not a host; write its name or address alone, like git.example.com, without a scheme, a port or a path"
        ],
    );
    check_behind(
        "[repositories]\nallowed_hosts = [\"git.example.com:8080\"]",
        &expect![
            "backstory.toml:8: allowed_hosts: 'git.example.com:8080' is not a host; write its name or address alone, like git.example.com, without a scheme, a port or a path"
        ],
    );
    check_behind(
        "[repositories]\nallowed_hosts = \"git.example.com\"",
        &expect![[r#"backstory.toml:8: invalid type: string "git.example.com", expected a list"#]],
    );
    check_behind(
        "[repositories]\nexclude = [\"a[\"]",
        &expect!["backstory.toml:8: exclude: unclosed character class; missing ']'"],
    );
}

#[test]
fn model_that_the_provider_has_not_is_reported() {
    let sandbox = Sandbox::empty();
    sandbox.write_config(&format!("data_dir = \"data\"\n{FORGE}\n[embedding]\nmodel = \"gpt\"\n"));
    expect![[r#"embedding.model is "gpt", but the bundled models are snowflake-arctic-embed-s-int8 and all-MiniLM-L6-v2-int8; set embedding.provider for another"#]].assert_eq(sandbox.run(&["stats"]).error(3));
}

#[test]
fn what_is_not_toml_is_reported() {
    check("[[forge]\n", &expect!["backstory.toml:1: unclosed array table, expected ']'"]);
    check("kind = gitlab\n", &expect!["backstory.toml:1: string values must be quoted, expected literal string"]);
    check_changed("[[forge]]", "[[forge]]\nkind = \"gitlab\"", &expect!["backstory.toml:3: duplicate key"]);
    let sandbox = Sandbox::empty();
    std::fs::write(sandbox.path().join("backstory.toml"), b"\xff\xfe").unwrap();
    expect!["the configuration backstory.toml is not text in UTF-8; save it as UTF-8"]
        .assert_eq(sandbox.run(&["stats"]).error(3));
}

#[test]
fn tokens_do_not_stand_in_the_file_and_are_not_repeated() {
    for token in ["glpat-abcdefghij0123456789", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "xY7abcDEF0123456789Q"] {
        let sandbox = Sandbox::empty();
        sandbox.write_config(&FORGE.replace("GITLAB_TOKEN", token));
        let output = sandbox.run(&["stats"]);
        assert!(!output.error(3).contains(token));
    }
    let sandbox = Sandbox::empty();
    sandbox.write_config("[server]\ntoken = \"tr0ub4dor\"\n");
    expect!["backstory.toml:2: unknown key 'token', expected one of 'listen', 'token_env', 'tokens', 'allowed_origins', 'public_url', 'trusted_proxies', 'requests_per_minute', 'memory'; did you mean 'token_env'?"].assert_eq(sandbox.run(&["stats"]).error(3));
    check_changed(
        "GITLAB_TOKEN",
        "glpat-abcdefghij0123456789",
        &expect![
            "backstory.toml:4: token_env looks like a token itself; write the name of the environment variable that holds it, not the token, and revoke the token if others could read this file"
        ],
    );
    check_changed(
        "GITLAB_TOKEN",
        "GITLAB TOKEN",
        &expect!["backstory.toml:4: token_env is not the name of an environment variable; write one like GITLAB_TOKEN"],
    );
    check_behind(
        "[server]\ntoken_env = \"\"",
        &expect!["backstory.toml:8: token_env is not the name of an environment variable; write one like GITLAB_TOKEN"],
    );
}

#[test]
fn missing_token_is_reported_where_one_is_needed() {
    let forge = Forge::start();
    let mut sandbox = Sandbox::synced(&forge);
    for value in [None, Some(""), Some("  ")] {
        sandbox.unset("SHOP_TOKEN");
        if let Some(value) = value {
            sandbox.set("SHOP_TOKEN", value);
        }
        for command in ["sync", "auth-test"] {
            expect!["the environment variable SHOP_TOKEN is not set; put a token for [FORGE] with the scope read_api into it: export SHOP_TOKEN=..."].assert_eq(sandbox.run(&[command]).error(3));
        }
    }
    sandbox.run(&["search", "redis", "--mode", "lexical"]).ok();
    sandbox.run(&["show", "#1"]).ok();
    sandbox.run(&["check"]).ok();
    let server = sandbox.serve();
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn invalid_token_is_refused() {
    let forge = Forge::start();
    let mut sandbox = Sandbox::new(&forge);
    sandbox.set("SHOP_TOKEN", "wrong");
    expect!["[FORGE] refuses the token in SHOP_TOKEN (401 Unauthorized); create one with the scope read_api and put it into that environment variable"].assert_eq(sandbox.run(&["auth-test"]).error(3));
    let sync = sandbox.run(&["sync"]);
    assert_eq!(sync.code, 3);
    expect!["error: [FORGE]/api/v4/projects/acme%2Fshop refuses the token (401 Unauthorized); create a token with the scope read_api and put it into the environment variable that token_env names"].assert_eq(sync.stderr.lines().last().unwrap());
    let doctor = sandbox.run(&["doctor", "--json"]);
    assert_eq!((doctor.code, &doctor.json()["success"]), (3, &false.into()));
}

#[test]
fn init_writes_a_configuration_that_works_and_overwrites_none() {
    let forge = Forge::start();
    let mut sandbox = Sandbox::empty();
    expect!["nothing can be asked without a terminal; pass --base-url https://gitlab.example.com"]
        .assert_eq(sandbox.run(&["init"]).error(2));
    let init = ["init", "--base-url", &forge.url, "--token-env", "SHOP_TOKEN", "--project", "acme/shop"];
    expect![[r#"
        Wrote backstory.toml. Put a token with the scope read_api into SHOP_TOKEN and check everything with 'backstory doctor'; then 'backstory sync' reads the projects.
    "#]].assert_eq(&sandbox.run(&init).ok().stdout);
    expect!["backstory.toml exists already; edit it, or pass --force to overwrite it"]
        .assert_eq(sandbox.run(&init).error(2));
    sandbox.run(&[init.as_slice(), &["--project", "acme/web", "--force"]].concat()).ok();

    sandbox.set("SHOP_TOKEN", crate::support::TOKEN);
    let doctor = sandbox.run(&["doctor", "--data-dir", "data"]).ok();
    assert!(doctor.stdout.contains("acme/web can be read"), "{doctor:?}");

    expect!["the address of the GitLab instance must be like https://gitlab.example.com"]
        .assert_eq(sandbox.run(&["init", "--config", "x", "--base-url", "gitlab", "--project", "a/b"]).error(2));
    expect!["'a' is not the path of a project; write group/project, or group/* for all of a group"]
        .assert_eq(sandbox.run(&["init", "--config", "x", "--base-url", "https://g", "--project", "a"]).error(2));
    let token = ["init", "--config", "x", "--base-url", "https://g", "--project", "a/b", "--token-env", "glpat-1"];
    expect!["expected the name of an environment variable, in capitals like GITLAB_TOKEN, not the token itself"]
        .assert_eq(sandbox.run(&token).error(2));
    let nowhere = ["init", "--config", "no/where.toml", "--base-url", "https://g", "--project", "a/b"];
    expect!["no/where.toml cannot be written: no such file or directory"].assert_eq(sandbox.run(&nowhere).error(3));
    assert!(!sandbox.path().join("x").exists());
}

/// Whether a line is a section or a key with its value.
fn is_toml(line: &&str) -> bool {
    let is_name = |key: &str| key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| is_name(key))
}

#[test]
fn every_key_that_init_shows_is_valid() {
    let sandbox = Sandbox::empty();
    sandbox.run(&["init", "--base-url", "https://gitlab.example.com", "--project", "acme/shop"]).ok();
    let file = sandbox.path().join("backstory.toml");
    let written = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> =
        written.lines().map(|line| line.strip_prefix("# ").filter(is_toml).unwrap_or(line)).collect();
    for section in ["[search.rerank]", "[llm]", "[snapshots]", "[index.chunks]", "[links]", "[people]", "[redact]"] {
        assert!(lines.contains(&section), "{section}");
    }
    // The model and its address are examples of Ollama.
    let text = lines.join("\n").replace("provider = \"bundled\"", "provider = \"ollama\"");
    std::fs::write(&file, text).unwrap();
    assert_eq!(sandbox.run(&["count", "issues"]).ok().stdout, "Issues: 0\n");
}
