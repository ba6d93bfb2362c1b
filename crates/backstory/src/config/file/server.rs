//! The section `[server]`: its tokens, and the pages that may use it.

use backstory_engine::model::{
    access::{Expiry, Grant, MAX_PATTERNS, ProjectPattern, Scopes},
    text::truncate_echo,
};
use backstory_server::{Network, Origin, Proxy};
use jiff::Timestamp;
use toml::Spanned;

use super::{ServerToken, keys::TokenToml};
use crate::{config::error::Source, failure::Result};

impl Source<'_> {
    /// The origins whose pages may use the server.
    pub(super) fn allowed_origins(self, origins: Vec<Spanned<String>>) -> Result<Vec<Origin>> {
        let parse = |origin: Spanned<String>| {
            Origin::parse(origin.get_ref())
                .map_err(|wrong| self.error_at(origin.span(), format!("allowed_origins: {}", wrong.message)))
        };
        origins.into_iter().map(parse).collect()
    }

    /// What is between clients and the server.
    pub(super) fn proxy(self, public_url: Option<Spanned<String>>, proxies: Vec<Spanned<String>>) -> Result<Proxy> {
        let public = public_url.map(|url| {
            Origin::parse(url.get_ref())
                .map_err(|wrong| self.error_at(url.span(), format!("public_url: {}", wrong.message)))
        });
        let network = |text: Spanned<String>| {
            text.get_ref()
                .parse::<Network>()
                .map_err(|wrong| self.error_at(text.span(), format!("trusted_proxies: {}", wrong.message)))
        };
        Ok(Proxy { public: public.transpose()?, trusted: proxies.into_iter().map(network).collect::<Result<_>>()? })
    }

    /// The tokens of the server: one for everything that is not confidential, and those with grants of their own.
    pub(super) fn server_tokens(
        self,
        plain: Option<Spanned<String>>,
        others: Vec<TokenToml>,
    ) -> Result<Vec<ServerToken>> {
        let mut tokens = Vec::new();
        if let Some(variable) = self.variable("token_env", plain)? {
            let grant = Grant { confidential: false, ..Grant::everything() };
            tokens.push(ServerToken { name: variable.clone(), variable, grant });
        }
        for token in others {
            let span = token.env.span();
            let Some(variable) = self.variable("env", Some(token.env.clone()))? else { continue };
            if tokens.iter().any(|known| known.variable == variable) {
                return Err(
                    self.error_at(span, format!("env: {variable} is named twice; give each token its own variable"))
                );
            }
            let name = token.name.clone().unwrap_or_else(|| variable.clone());
            let grant = self.grant(token, span)?;
            tokens.push(ServerToken { variable, name, grant });
        }
        Ok(tokens)
    }

    /// What a token grants.
    fn grant(self, token: TokenToml, span: std::ops::Range<usize>) -> Result<Grant> {
        let patterns = token.projects.unwrap_or_default();
        if patterns.is_empty() {
            let what = "projects is missing or empty: name those that the token shows, as group/project, group/* or \
                        group/**, or all with **";
            return Err(self.error_at(span, what));
        }
        if patterns.len() > MAX_PATTERNS {
            return Err(self.error_at(span, format!("projects: a token has at most {MAX_PATTERNS} patterns")));
        }
        let parse = |pattern: &Spanned<String>| -> Result<ProjectPattern> {
            pattern.get_ref().parse().map_err(|wrong| self.error_at(pattern.span(), format!("projects: {wrong}")))
        };
        let projects = patterns.iter().map(parse).collect::<Result<_>>()?;
        let (scopes, confidential) = self.scopes(&token.scopes)?;
        let expires = token.expires.map(|expires| self.expiry(&expires)).transpose()?.flatten();
        Ok(Grant { projects, confidential, scopes, expires })
    }

    fn scopes(self, words: &[Spanned<String>]) -> Result<(Scopes, bool)> {
        for word in words {
            Grant::parse_scopes([word.get_ref().as_str()])
                .map_err(|wrong| self.error_at(word.span(), format!("scopes: {wrong}")))?;
        }
        let words = words.iter().map(|word| word.get_ref().as_str());
        Grant::parse_scopes(words).map_err(|wrong| self.file_error(format!("scopes: {wrong}")))
    }

    /// When a token ends; `None` for never. A file does not say since when so many days would count.
    fn expiry(self, text: &Spanned<String>) -> Result<Option<Timestamp>> {
        let written = truncate_echo(text.get_ref());
        let wrong = match text.get_ref().parse() {
            Ok(Expiry::At(instant)) => return Ok(Some(instant)),
            Ok(Expiry::Never) => return Ok(None),
            Ok(Expiry::After(_)) => {
                format!("'{written}' has no beginning in a file; write the last day, like 2027-01-31")
            }
            Err(_) => format!(
                "'{written}' is not a date; write the last day, like 2027-01-31, an instant like 2027-01-31T12:00:00Z, or \
                 never"
            ),
        };
        Err(self.error_at(text.span(), format!("expires: {wrong}")))
    }
}
