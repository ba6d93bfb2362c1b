//! Texts in which people leave secrets.

use fastrand::Rng;

use super::draw::{base64, hex, mixed, uuid};

/// Texts for a secret that is assigned to a setting.
pub(super) fn assigned(r: &mut Rng, setting: &str, secret: &str) -> String {
    let id = uuid(r);
    match r.u8(..24) {
        0 => format!("# local settings\nDEBUG=1\n{setting}={secret}\nPORT=8080\n"),
        1 => format!("{setting}=\"{secret}\"\n"),
        2 => format!("export {setting}={secret}\nmake deploy"),
        3 => format!("services:\n  web:\n    environment:\n      {setting}: {secret}\n      REQUEST_ID: {id}\n"),
        4 => format!("services:\n  web:\n    environment:\n      - {setting}={secret}\n      - LOG=debug\n"),
        5 => format!("env:\n  - name: {setting}\n    value: \"{secret}\"\n  - name: POD\n    value: web-1\n"),
        6 => format!(
            "jobs:\n  test:\n    env:\n      {setting}: '{secret}'\n    steps:\n      - uses: actions/checkout@v4\n"
        ),
        7 => format!("import os\n\n{setting} = \"{secret}\"\n\ndef connect():\n    return Client({setting})\n"),
        8 => format!("os.environ[\"{setting}\"] = \"{secret}\"\n"),
        9 => format!("const {setting} = '{secret}';\nmodule.exports = {{ {setting} }};\n"),
        10 => format!("export const config = {{\n  {setting}: \"{secret}\",\n  retries: 3,\n}};\n"),
        11 => format!("package main\n\nvar {setting} = \"{secret}\"\n\nfunc main() {{ run({setting}) }}\n"),
        12 => format!("    {setting} := \"{secret}\"\n    if err := dial({setting}); err != nil {{\n"),
        13 => format!("/// Only for tests.\nconst {setting}: &str = \"{secret}\";\n"),
        14 => format!("public class Config {{\n    private static final String {setting} = \"{secret}\";\n}}\n"),
        15 => format!("#include <stdio.h>\n#define {setting} \"{secret}\"\n"),
        16 => format!("<?php\ndefine('{setting}', '{secret}');\n"),
        17 => format!("{{\n  \"name\": \"shop\",\n  \"{setting}\": \"{secret}\",\n  \"id\": \"{id}\"\n}}\n"),
        18 => {
            format!("2026-11-02T10:11:12Z DEBUG request id={id} body={{\\\"{setting}\\\":\\\"{secret}\\\"}} status=401")
        }
        19 => format!(
            "Traceback (most recent call last):\n  File \"app.py\", line 12, in connect\nKeyError: config {{'{setting}': '{secret}', 'port': 5432}}"
        ),
        20 => format!("--- a/.env\n+++ b/.env\n@@ -1,2 +1,3 @@\n DEBUG=1\n+{setting}={secret}\n"),
        21 => format!(
            "I have set it like this and it still fails:\n\n```toml\n[service]\n{setting} = \"{secret}\"\n```\n\nSee also #12."
        ),
        22 => format!("docker run -d -e {setting}={secret} -p 80:80 acme/web:1.2"),
        _ => format!("resource \"acme_app\" \"web\" {{\n  {setting} = \"{secret}\"\n  region = \"eu-west-1\"\n}}\n"),
    }
}

/// Texts for a secret that is known for what it is.
pub(super) fn anywhere(r: &mut Rng, secret: &str) -> String {
    let sha = hex(r, 40);
    match r.u8(..10) {
        0 => format!("I tried with the token `{secret}` and got a 403. Is that expected since {sha}?"),
        1 => format!("Oops, I think I pasted {secret} into the wrong window, sorry."),
        2 => format!("curl -sS -H \"Authorization: Bearer {secret}\" https://api.example.com/v1/items | jq ."),
        3 => format!("INFO  [client] 10:11:12.345 connecting with {secret} (attempt 2 of 5)\nWARN  retrying\n"),
        4 => format!("client = Client(\"{secret}\", timeout=10)\n"),
        5 => format!("> {secret}\n\nPlease revoke this one, it is in the history of {sha}."),
        6 => format!("Error: connect failed\n    at Client.open (client.js:12:7)\n    at main ({secret})\n"),
        7 => format!("| service | credential |\n|---|---|\n| prod | {secret} |\n| stage | - |\n"),
        8 => format!("{{\"level\":\"error\",\"msg\":\"denied\",\"args\":[\"{secret}\",\"{sha}\"]}}"),
        _ => format!("revert: remove {secret}\n\nThis reverts commit {sha}.\n"),
    }
}

/// A secret that is one by what surrounds it: a kind, the text, the secret.
pub(super) fn surrounded(r: &mut Rng) -> Vec<(&'static str, String, String)> {
    let password = format!("{}{}", mixed(r, 9), r.u8(10..99));
    let mut all = Vec::new();
    let mut add = |kind, text: String, secret: &str| all.push((kind, text, secret.to_owned()));
    for scheme in ["postgres", "mysql", "amqp", "redis", "mongodb+srv"] {
        add("connection string", format!("DATABASE_URL={scheme}://app:{password}@db.internal/shop?ssl=1"), &password);
    }
    add("password in an address", format!("git clone https://ci:{password}@git.example.com/acme/shop.git"), &password);
    let ado = format!("Server=tcp:sql,1433;Database=shop;User ID=app;Password={password};Encrypt=True;");
    add("connection string", format!("<add name=\"Shop\" connectionString=\"{ado}\" />"), &password);
    add("curl user", format!("$ curl -s -u deploy:{password} https://ci.example.com/api/json"), &password);
    add("netrc", format!("machine git.example.com login ci password {password}"), &password);
    let basic = base64_of(&format!("alice:{password}"));
    add("basic header", format!("curl -H 'Authorization: Basic {basic}' https://api.example.com"), &basic);
    let bearer = mixed(r, 40);
    add("bearer header", format!("fetch(url, {{ headers: {{ Authorization: `Bearer {bearer}` }} }})"), &bearer);
    add("bearer header", format!("> GET /v1/items HTTP/2\n> authorization: Bearer {bearer}\n> accept: */*"), &bearer);
    add("option", format!("./backup --host db --password {password} --out dump.sql"), &password);
    for kind in ["RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED "] {
        let lines: Vec<String> = (0..12).map(|_| base64(r, 64)).collect();
        let key = format!(
            "-----{} {kind}PRIVATE KEY-----\n{}\n{}==\n-----END {kind}PRIVATE KEY-----",
            "BEGIN",
            lines.join("\n"),
            base64(r, 30)
        );
        let (text, part) = match r.u8(..4) {
            0 => (format!("```\n{key}\n```\nthis is the key I use"), lines[5].clone()),
            1 => (format!("{{\"private_key\": \"{}\"}}", key.replace('\n', "\\n")), lines[5].clone()),
            2 => (format!("tls:\n  key: |\n    {}\n", key.replace('\n', "\n    ")), lines[5].clone()),
            _ => (format!("+{}\n", key.replace('\n', "\n+")), lines[5].clone()),
        };
        add("private key", text, &part);
    }
    let pgp: Vec<String> = (0..8).map(|_| base64(r, 64)).collect();
    add(
        "PGP key",
        format!(
            "-----{} PGP PRIVATE KEY BLOCK-----\n\n{}\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
            "BEGIN",
            pgp.join("\n")
        ),
        &pgp[3],
    );
    let putty: Vec<String> = (0..4).map(|_| base64(r, 64)).collect();
    add(
        "PuTTY key",
        format!(
            "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 4\n{}\nPrivate-MAC: {}\n",
            putty.join("\n"),
            hex(r, 64)
        ),
        &putty[1],
    );
    let value = base64_of(&format!("{password}-{}", mixed(r, 4)));
    add(
        "Kubernetes secret",
        format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  database: {value}\n"),
        &value,
    );
    let sas = format!("{}%2B{}%3D", mixed(r, 20), mixed(r, 22));
    add(
        "Azure SAS",
        format!(
            "https://acme.blob.core.windows.net/x/y.zip?sv=2022-11-02&ss=b&srt=o&sp=r&se=2030-01-01T00:00:00Z&sig={sas}"
        ),
        &sas,
    );
    let auth = uuid(r);
    add("npmrc", format!("registry=https://npm.example.com/\n//npm.example.com/:_authToken={auth}\n"), &auth);
    let docker = base64_of(&format!("ci:{password}"));
    add(
        "Docker configuration",
        format!("{{\"auths\":{{\"registry.example.com\":{{\"auth\":\"{docker}\"}}}}}}"),
        &docker,
    );
    all
}

fn base64_of(text: &str) -> String {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.encode(text)
}
