//! Secrets as their issuers describe them. Nothing here comes from the rules.

use fastrand::Rng;

use super::draw::{base64, capitals, digits, hex, letters, lower, mixed, mixed_signs, uuid};

/// A kind of secret: its name, how one is made, the names of settings that hold one, and whether it is known for what it
/// is wherever it stands.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) make: fn(&mut Rng) -> String,
    pub(super) settings: &'static [&'static str],
    pub(super) is_known_anywhere: bool,
}

const fn anywhere(name: &'static str, settings: &'static [&'static str], make: fn(&mut Rng) -> String) -> Kind {
    Kind { name, make, settings, is_known_anywhere: true }
}

const fn named(name: &'static str, settings: &'static [&'static str], make: fn(&mut Rng) -> String) -> Kind {
    Kind { name, make, settings, is_known_anywhere: false }
}

pub(super) const KINDS: [Kind; 82] = [
    anywhere("AWS access key id", &["AWS_ACCESS_KEY_ID", "accessKeyId"], |r| format!("AK{}{}", "IA", capitals(r, 16))),
    named("AWS secret key", &["AWS_SECRET_ACCESS_KEY", "aws_secret_access_key", "secretAccessKey"], |r| base64(r, 40)),
    anywhere("Google API key", &["GOOGLE_API_KEY", "mapsKey"], |r| format!("AI{}{}", "za", mixed_signs(r, 35))),
    anywhere("Google OAuth secret", &["GOOGLE_CLIENT_SECRET"], |r| format!("GOC{}-{}", "SPX", mixed_signs(r, 28))),
    anywhere("Google access token", &["access_token"], |r| format!("ya{}.a0{}", "29", mixed_signs(r, 120))),
    named("Azure storage key", &["AccountKey", "AZURE_STORAGE_KEY"], |r| format!("{}==", base64(r, 86))),
    named("Azure service bus key", &["SharedAccessKey"], |r| format!("{}=", base64(r, 43))),
    anywhere("Azure client secret", &["AZURE_CLIENT_SECRET", "clientSecret"], |r| {
        format!("{}8Q{}{}", mixed(r, 3), "~", mixed(r, 34))
    }),
    anywhere("DigitalOcean token", &["DIGITALOCEAN_ACCESS_TOKEN"], |r| format!("dop_{}_{}", "v1", hex(r, 64))),
    anywhere("Alibaba key id", &["ALIBABA_CLOUD_ACCESS_KEY_ID"], |r| format!("LT{}5t{}", "AI", mixed(r, 18))),
    named("Alibaba secret", &["ALIBABA_CLOUD_ACCESS_KEY_SECRET"], |r| mixed(r, 30)),
    named("Heroku key", &["HEROKU_API_KEY"], uuid),
    named("Cloudflare token", &["CLOUDFLARE_API_TOKEN", "CF_API_TOKEN"], |r| mixed_signs(r, 40)),
    anywhere("Databricks token", &["DATABRICKS_TOKEN"], |r| format!("da{}{}", "pi", hex(r, 32))),
    anywhere("Netlify token", &["NETLIFY_AUTH_TOKEN"], |r| format!("nf{}_{}", "p", mixed(r, 40))),
    anywhere("Supabase token", &["SUPABASE_ACCESS_TOKEN"], |r| format!("sb{}_{}", "p", hex(r, 40))),
    anywhere("PlanetScale password", &["DATABASE_PASSWORD"], |r| format!("psc{}_pw_{}", "ale", mixed_signs(r, 43))),
    anywhere("GitLab personal token", &["GITLAB_TOKEN", "CI_JOB_TOKEN"], |r| {
        format!("gl{}-{}", "pat", mixed_signs(r, 20))
    }),
    anywhere("GitLab runner token", &["RUNNER_TOKEN"], |r| format!("gl{}-t1_{}", "rt", mixed_signs(r, 20))),
    anywhere("GitLab deploy token", &["DEPLOY_TOKEN"], |r| format!("gl{}-{}", "dt", mixed_signs(r, 20))),
    anywhere("GitHub classic token", &["GITHUB_TOKEN", "GH_TOKEN"], |r| format!("gh{}_{}", "p", mixed(r, 36))),
    anywhere("GitHub fine-grained token", &["GITHUB_TOKEN"], |r| {
        format!("github_{}_{}_{}", "pat", mixed(r, 22), mixed(r, 59))
    }),
    anywhere("GitHub app token", &["INSTALLATION_TOKEN"], |r| format!("gh{}_{}", "s", mixed(r, 36))),
    anywhere("Bitbucket app password", &["BITBUCKET_APP_PASSWORD"], |r| format!("AT{}{}", "BB", mixed(r, 32))),
    anywhere("Atlassian token", &["JIRA_API_TOKEN", "ATLASSIAN_TOKEN"], |r| {
        format!("AT{}3xFfGF0{}", "ATT", mixed_signs(r, 180))
    }),
    named("Gitea token", &["GITEA_TOKEN"], |r| hex(r, 40)),
    anywhere("npm token", &["NPM_TOKEN", "NODE_AUTH_TOKEN"], |r| format!("np{}_{}", "m", mixed(r, 36))),
    anywhere("PyPI token", &["TWINE_PASSWORD", "PYPI_TOKEN"], |r| {
        format!("py{}-AgEIcHlwaS5vcmcCJ{}", "pi", mixed_signs(r, 150))
    }),
    anywhere("crates.io token", &["CARGO_REGISTRY_TOKEN"], |r| format!("c{}{}", "io", mixed(r, 32))),
    anywhere("RubyGems key", &["GEM_HOST_API_KEY"], |r| format!("ruby{}_{}", "gems", hex(r, 48))),
    anywhere("NuGet key", &["NUGET_API_KEY"], |r| format!("oy{}{}", "2", lower(r, 43))),
    anywhere("Docker Hub token", &["DOCKERHUB_TOKEN"], |r| format!("dckr_{}_{}", "pat", mixed_signs(r, 27))),
    anywhere("Slack bot token", &["SLACK_BOT_TOKEN"], |r| {
        format!("xo{}-{}-{}-{}", "xb", digits(r, 12), digits(r, 13), mixed(r, 24))
    }),
    anywhere("Slack webhook", &["SLACK_WEBHOOK_URL"], |r| {
        format!("https://hooks.{}/services/T{}/B{}/{}", "slack.com", capitals(r, 8), capitals(r, 10), mixed(r, 24))
    }),
    anywhere("Discord webhook", &["DISCORD_WEBHOOK"], |r| {
        format!("https://discord.{}/webhooks/{}/{}", "com/api", digits(r, 19), mixed_signs(r, 68))
    }),
    named("Discord bot token", &["DISCORD_TOKEN", "DISCORD_BOT_TOKEN"], |r| {
        format!("MT{}.G{}.{}", mixed(r, 24), mixed(r, 5), mixed_signs(r, 38))
    }),
    anywhere("Telegram bot token", &["TELEGRAM_BOT_TOKEN"], |r| {
        format!("7{}:A{}{}", digits(r, 9), "A", mixed_signs(r, 33))
    }),
    anywhere("Teams webhook", &["TEAMS_WEBHOOK_URL"], |r| {
        let (group, tenant, hook, owner) = (uuid(r), uuid(r), hex(r, 32), uuid(r));
        format!("https://acme.webhook.{}/webhookb2/{group}@{tenant}/IncomingWebhook/{hook}/{owner}", "office.com")
    }),
    anywhere("Stripe live key", &["STRIPE_SECRET_KEY"], |r| format!("sk_{}_{}", "live", mixed(r, 24))),
    anywhere("Stripe long key", &["STRIPE_API_KEY"], |r| format!("rk_{}_51{}", "live", mixed(r, 97))),
    anywhere("Stripe webhook secret", &["STRIPE_WEBHOOK_SECRET"], |r| format!("wh{}_{}", "sec", mixed(r, 32))),
    anywhere("Square token", &["SQUARE_ACCESS_TOKEN"], |r| format!("EA{}{}", "AA", mixed_signs(r, 60))),
    anywhere("Braintree token", &["BRAINTREE_ACCESS_TOKEN"], |r| {
        format!("access_token${}${}${}", "production", lower(r, 16), hex(r, 32))
    }),
    anywhere("Shopify token", &["SHOPIFY_ACCESS_TOKEN"], |r| format!("sh{}_{}", "pat", hex(r, 32))),
    anywhere("SendGrid key", &["SENDGRID_API_KEY"], |r| {
        format!("S{}.{}.{}", "G", mixed_signs(r, 22), mixed_signs(r, 43))
    }),
    anywhere("Mailgun key", &["MAILGUN_API_KEY"], |r| format!("ke{}-{}", "y", hex(r, 32))),
    anywhere("Mailchimp key", &["MAILCHIMP_API_KEY"], |r| format!("{}-us{}", hex(r, 32), r.u8(1..22))),
    named("Postmark token", &["POSTMARK_SERVER_TOKEN", "POSTMARK_API_TOKEN"], uuid),
    anywhere("Brevo key", &["BREVO_API_KEY"], |r| format!("xkey{}-{}-{}", "sib", hex(r, 64), mixed(r, 16))),
    anywhere("Twilio key", &["TWILIO_API_KEY"], |r| format!("S{}{}", "K", hex(r, 32))),
    named("Twilio auth token", &["TWILIO_AUTH_TOKEN"], |r| hex(r, 32)),
    named("Datadog API key", &["DD_API_KEY", "DATADOG_API_KEY"], |r| hex(r, 32)),
    named("Datadog app key", &["DD_APP_KEY", "DD_APPLICATION_KEY"], |r| hex(r, 40)),
    anywhere("New Relic key", &["NEW_RELIC_API_KEY"], |r| format!("NR{}-{}", "AK", capitals(r, 27))),
    anywhere("Sentry token", &["SENTRY_AUTH_TOKEN"], |r| format!("snt{}_{}", "ryu", hex(r, 64))),
    anywhere("Grafana token", &["GRAFANA_TOKEN"], |r| format!("gl{}_{}_{}", "sa", mixed(r, 32), hex(r, 8))),
    anywhere("Dynatrace token", &["DT_API_TOKEN"], |r| format!("dt0{}.{}.{}", "c01", capitals(r, 24), capitals(r, 64))),
    named("Snyk token", &["SNYK_TOKEN"], uuid),
    anywhere("Sonar token", &["SONAR_TOKEN"], |r| format!("sq{}_{}", "u", hex(r, 40))),
    anywhere("OpenAI key", &["OPENAI_API_KEY"], |r| {
        format!("sk-{}-{}T3Blbk{}{}", "proj", mixed_signs(r, 74), "FJ", mixed_signs(r, 74))
    }),
    anywhere("OpenAI old key", &["OPENAI_API_KEY"], |r| {
        format!("s{}-{}T3Blbk{}{}", "k", mixed(r, 20), "FJ", mixed(r, 20))
    }),
    anywhere("Anthropic key", &["ANTHROPIC_API_KEY"], |r| format!("sk-{}-api03-{}AA", "ant", mixed_signs(r, 93))),
    anywhere("Hugging Face token", &["HF_TOKEN", "HUGGINGFACE_HUB_TOKEN"], |r| format!("h{}_{}", "f", letters(r, 34))),
    anywhere("Groq key", &["GROQ_API_KEY"], |r| format!("gs{}_{}", "k", mixed(r, 52))),
    anywhere("Replicate token", &["REPLICATE_API_TOKEN"], |r| format!("r{}_{}", "8", mixed(r, 37))),
    named("Mistral key", &["MISTRAL_API_KEY"], |r| mixed(r, 32)),
    anywhere("Vault token", &["VAULT_TOKEN"], |r| format!("hv{}.CAESI{}", "s", mixed_signs(r, 90))),
    anywhere("Terraform token", &["TF_TOKEN_app_terraform_io", "TFE_TOKEN"], |r| {
        format!("{}.atlas{}.{}", mixed(r, 14), "v1", mixed(r, 67))
    }),
    anywhere("Doppler token", &["DOPPLER_TOKEN"], |r| format!("dp.{}.dev.{}", "st", mixed(r, 43))),
    anywhere("Pulumi token", &["PULUMI_ACCESS_TOKEN"], |r| format!("pu{}-{}", "l", hex(r, 40))),
    anywhere("Tailscale key", &["TS_AUTHKEY"], |r| format!("ts{}-auth-k{}CNTRL-{}", "key", mixed(r, 11), mixed(r, 32))),
    anywhere("Linear key", &["LINEAR_API_KEY"], |r| format!("lin_{}_{}", "api", mixed(r, 40))),
    anywhere("Figma token", &["FIGMA_TOKEN"], |r| format!("fi{}_{}", "gd", mixed_signs(r, 40))),
    anywhere("age identity", &["SOPS_AGE_KEY"], |r| {
        let letters: String = (0..58).map(|_| char::from(b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"[r.usize(..32)])).collect();
        format!("AGE-{}-KEY-1{letters}", "SECRET")
    }),
    anywhere("JSON web token", &["ID_TOKEN", "session_token"], |r| {
        format!(
            "ey{}9.ey{}.{}",
            "JhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ",
            format_args!("J{}", mixed(r, 90)),
            mixed_signs(r, 86)
        )
    }),
    named(
        "password",
        &["DB_PASSWORD", "password", "SMTP_PASSWORD", "adminPassword", "redis_passwd", "PGPASSWORD"],
        |r| {
            let words = ["Sommer", "tiger", "Blue", "monkey", "Kaffee", "orbit", "Zebra", "lemon"];
            let signs = ["!", "#", "?", "*", "%", "=", "^", "~"];
            let (word, sign) = (words[r.usize(..words.len())], signs[r.usize(..signs.len())]);
            format!("{word}{}{sign}{}", digits(r, 2), mixed(r, 3))
        },
    ),
    named("random password", &["MYSQL_ROOT_PASSWORD", "POSTGRES_PASSWORD", "db_pass", "keystore.password"], |r| {
        mixed(r, 16)
    }),
    named("API key", &["API_KEY", "apiKey", "api_key", "X-Api-Key", "x-api-key", "SERVICE_API_KEY"], |r| mixed(r, 32)),
    named("hexadecimal API key", &["WEATHER_API_KEY", "apiKey", "ACCESS_TOKEN", "auth_token"], |r| hex(r, 32)),
    named("session secret", &["SESSION_SECRET", "JWT_SECRET", "COOKIE_SECRET", "APP_SECRET"], |r| base64(r, 44)),
    named("Rails secret", &["SECRET_KEY_BASE"], |r| hex(r, 128)),
    named("client secret", &["CLIENT_SECRET", "client_secret", "oauthClientSecret"], |r| mixed_signs(r, 40)),
];
