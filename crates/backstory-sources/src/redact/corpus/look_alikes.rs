//! Texts that look as if they contained a secret.

use fastrand::Rng;

use super::draw::{base64, capitals, digits, hex, letters, lower, mixed, uuid};

/// A kind and one text of it.
pub(super) type LookAlike = (&'static str, fn(&mut Rng) -> String);

pub(super) const KINDS: [LookAlike; 50] = [
    ("uuid", |r| format!("{{\"request_id\": \"{}\", \"session\": \"{}\"}}", uuid(r), uuid(r))),
    ("uuid of a token", |r| format!("token_id = \"{}\"\naccess_key_id: {}\n", uuid(r), uuid(r))),
    ("commit", |r| format!("fixed in {} (see {})", hex(r, 40), hex(r, 12))),
    ("commit of an action", |r| format!("      - uses: actions/checkout@{} # v4.1.0", hex(r, 40))),
    ("checksum", |r| format!("{}  backstory-{}.tar.gz", hex(r, 64), digits(r, 2))),
    ("checksum setting", |r| format!("sha256 = \"{}\"\nmd5: {}", hex(r, 64), hex(r, 32))),
    ("Cargo.lock", |r| format!("[[package]]\nname = \"secrecy\"\nversion = \"0.10.3\"\nchecksum = \"{}\"", hex(r, 64))),
    ("package-lock.json", |r| {
        format!(
            "\"node_modules/js-tokens\": {{\n  \"resolved\": \"https://registry.npmjs.org/js-tokens/-/js-tokens-4.0.0.tgz\",\n  \"integrity\": \"sha512-{}==\"",
            base64(r, 86)
        )
    }),
    ("yarn.lock", |r| format!("jsonwebtoken@^9.0.0:\n  version \"9.0.2\"\n  integrity sha512-{}==", base64(r, 86))),
    ("go.sum", |r| format!("github.com/golang-jwt/jwt/v5 v5.2.0 h1:{}=", base64(r, 43))),
    ("Pipfile.lock", |r| {
        format!("\"itsdangerous\": {{ \"hashes\": [ \"sha256:{}\" ], \"version\": \"==2.1.2\" }}", hex(r, 64))
    }),
    ("docker digest", |r| format!("FROM rust:1.95@sha256:{}\nENV TOKEN_FILE=/run/secrets/token", hex(r, 64))),
    ("image", |r| format!("![shot](data:image/png;base64,iVBORw0KGgo{}=)", base64(r, 300))),
    ("font", |r| format!("src: url(data:font/woff2;base64,d09GMgABAAAAA{}) format('woff2');", base64(r, 200))),
    ("public key", |r| {
        format!("-----BEGIN PUBLIC KEY-----\n{}\n{}\n-----END PUBLIC KEY-----", base64(r, 64), base64(r, 60))
    }),
    ("certificate", |r| {
        format!("-----BEGIN CERTIFICATE-----\n{}\n{}\n-----END CERTIFICATE-----", base64(r, 64), base64(r, 64))
    }),
    ("ssh public key", |r| format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} alice@laptop", base64(r, 43))),
    ("public key setting", |r| {
        format!("public_key = \"{}\"\nSTRIPE_PUBLISHABLE_KEY=pk_live_{}", base64(r, 44), mixed(r, 24))
    }),
    ("fingerprint", |r| {
        format!("SHA256:{} alice@laptop (ED25519)\nKey fingerprint = {}", base64(r, 43), capitals(r, 40))
    }),
    ("placeholder", |r| {
        let values = [
            "changeme",
            "your-api-key",
            "<your key>",
            "xxxxxxxxxxxxxxxx",
            "********",
            "TODO",
            "example-key-123",
            "YOUR_API_KEY_HERE",
            "replace-me-1234567",
            "dummy-token-0001",
        ];
        format!("API_KEY={}\nsecret_token: \"{}\"", values[r.usize(..10)], values[r.usize(..10)])
    }),
    ("placeholder password", |r| {
        let values = [
            "changeme",
            "password",
            "your-password-1",
            "<password>",
            "xxxxxxxx",
            "****",
            "example123",
            "secret",
            "postgres",
            "password123",
        ];
        format!("POSTGRES_PASSWORD={}\npassword: \"{}\"", values[r.usize(..10)], values[r.usize(..10)])
    }),
    ("variable", |r| {
        let values = [
            "${DB_PASSWORD}",
            "$DB_PASSWORD",
            "${{ secrets.DB_PASSWORD }}",
            "{{ vault_db_password }}",
            "%DB_PASSWORD%",
            "$(cat /run/secrets/db)",
            "#{ENV['DB_PASSWORD']}",
        ];
        format!("DB_PASSWORD: {}\npassword = \"{}\"", values[r.usize(..7)], values[r.usize(..7)])
    }),
    ("lookup", |r| {
        let values = [
            "process.env.API_KEY",
            "os.environ[\"API_KEY_2\"]",
            "os.getenv('API_KEY')",
            "settings.API_KEY_V2",
            "config.get(\"api.key\")",
            "getToken(request)",
            "self.token_v2",
            "std::env::var(\"TOKEN\")?",
        ];
        format!("api_key = {}\nlet token = {};", values[r.usize(..8)], values[r.usize(..8)])
    }),
    ("password in code", |r| {
        let lines = [
            "password: String,",
            "password = getpass.getpass()",
            "if (password.length < 12) throw new Error(\"password too short\");",
            "passwordField.setPlaceholder(\"At least 8 characters\")",
            "const passwordRegex = /^(?=.*[0-9]).{8,}$/;",
            "input[name=\"user[password]\"]",
            "password_digest = bcrypt(password, cost=12)",
            "def reset_password(token: str, new_password: str) -> None:",
        ];
        format!("{}\n{}", lines[r.usize(..8)], lines[r.usize(..8)])
    }),
    ("token in code", |r| {
        let lines = [
            "let token = lexer.next_token()?;",
            "TOKEN_IDENTIFIER_2 = 'TokenIdentifier2'",
            "tokens: Vec<Token>,",
            "token_type: \"bearer\"",
            "max_tokens: 4096",
            "const tokenUrl = 'https://login.example.com/oauth2/v2.0/token';",
            "secretName: shop-database-credentials",
            "key: database/main/connection_v2",
        ];
        format!("{}\n{}", lines[r.usize(..8)], lines[r.usize(..8)])
    }),
    ("secret reference", |_| {
        "valueFrom:\n  secretKeyRef:\n    name: db-credentials-v2\n    key: postgres-password\n".to_owned()
    }),
    ("prose", |_| {
        "The password must have at least 12 characters. Tokens expire after 3600 seconds; the secret: do not log in as root.".to_owned()
    }),
    ("password hash", |r| {
        format!("password_hash = \"$2b$12${}\"\n'{}:$6${}${}'", mixed(r, 53), lower(r, 5), mixed(r, 8), mixed(r, 86))
    }),
    ("test vector", |r| {
        format!(
            "{},{},{},{},TRUE,",
            r.u8(..20),
            hex(r, 64).to_uppercase(),
            hex(r, 64).to_uppercase(),
            hex(r, 128).to_uppercase()
        )
    }),
    ("test vector in JSON", |r| {
        format!(
            "{{ \"secret key\": \"{}\", \"public key\": \"{}\", \"msg\": \"{}\" }}",
            hex(r, 64),
            hex(r, 66),
            hex(r, 64)
        )
    }),
    ("test vector in C", |r| {
        let bytes: Vec<String> = (0..32).map(|_| format!("0x{}", hex(r, 2))).collect();
        format!("static const unsigned char seckey[32] = {{\n    {}\n}};", bytes.join(", "))
    }),
    ("secret key of a test", |r| {
        format!("sk = bytes.fromhex(\"{}\")\nprivate_key = 0x{}\nseckey: {}", hex(r, 64), hex(r, 64), hex(r, 64))
    }),
    ("nonce", |r| format!("nonce = \"{}\"\nsecnonce: {}", hex(r, 64), hex(r, 128))),
    ("Bitcoin address", |r| format!("bc1q{} and 1{} and txid {}", lower(r, 38), mixed(r, 33), hex(r, 64))),
    ("etag", |r| format!("ETag: W/\"{}\"\nX-Request-Id: {}\nCF-Ray: {}-FRA", hex(r, 32), uuid(r), hex(r, 16))),
    ("trace id", |r| format!("traceparent: 00-{}-{}-01 span_id={}", hex(r, 32), hex(r, 16), hex(r, 16))),
    ("next page", |r| format!("\"nextPageToken\": \"{}\", \"cursor\": \"{}\"", mixed(r, 40), base64(r, 24))),
    ("address", |r| {
        format!("http://localhost:8080/@user https://example.com:443/a@b ssh://git@example.com:22/{}.git", lower(r, 5))
    }),
    ("sample address", |_| {
        "postgres://user:password@localhost:5432/db and https://user:$PASSWORD@example.com".to_owned()
    }),
    ("version", |r| format!("token-service v{}.{}.0-rc1+build.{}", r.u8(..9), r.u8(..9), digits(r, 5))),
    ("path", |r| {
        format!("password_file = /run/secrets/db_password_{}\nkey = \"/etc/ssl/private/server.key\"", r.u8(..9))
    }),
    ("minified", |r| {
        format!("!function(e,t){{var n={{token:t,key:e}};return n.secret=!0,n}}({},\"{}\");", r.u8(..9), letters(r, 6))
    }),
    ("translation", |_| {
        "\"password\": \"Passwort\",\n\"reset_password\": \"Passwort-zurücksetzen\",\n\"api_key\": \"API-Schlüssel\""
            .to_owned()
    }),
    ("identifier", |r| {
        format!(
            "secret = \"projects/acme-prod-{}/secrets/database-password/versions/3\"\narn:aws:secretsmanager:eu-west-1:{}:secret:prod/db",
            digits(r, 3),
            digits(r, 12)
        )
    }),
    ("AWS example", |_| {
        format!(
            "aws_access_key_id = AKIA{}\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY{}",
            "IOSFODNN7EXAMPLE", "EXAMPLEKEY"
        )
    }),
    ("short prefix", |r| format!("ghp_{} sk_test_ xoxb- glpat-short AKIA", lower(r, 6))),
    ("mail", |r| {
        format!(
            "To: alice@example.com\nMessage-ID: <{}@mail.example.com>\nauth=pass smtp.mailfrom=example.com",
            mixed(r, 24)
        )
    }),
    ("colour", |r| format!("--token-color-primary: #{};\n$secondary-key: rgba(0,0,0,.{});", hex(r, 6), digits(r, 2))),
    ("css class", |r| format!(".auth-token__field--{} {{ margin: 0 }}", lower(r, 5))),
    ("snapshot id", |r| {
        format!("\"key\": \"{}\",\n\"hash\": \"{}\",\n\"digest\": \"sha256:{}\"", hex(r, 32), hex(r, 40), hex(r, 64))
    }),
];
