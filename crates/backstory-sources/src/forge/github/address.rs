//! Where the API and the pages of a GitHub are.

use url::Url;

/// Hosts of the company, where the API has a host of its own.
fn is_cloud(host: &str) -> bool {
    host == "github.com" || host.ends_with(".ghe.com")
}

/// Address of the API, told from an address that people know: that of the pages (`https://github.com`, a server of one's
/// own), or of the API itself, which on a server has a path.
pub(super) fn api(base: &Url) -> Url {
    let mut api = base.clone();
    match base.host_str() {
        Some(host) if host.starts_with("api.") && is_cloud(&host[4..]) => {}
        Some(host) if is_cloud(host) => {
            let host = format!("api.{host}");
            // The host of an http or https address can always be another name.
            let _ = api.set_host(Some(&host));
        }
        _ if base.path().trim_matches('/').is_empty() => api.set_path("/api/v3"),
        _ => {}
    }
    api
}

/// Address of the pages, without a slash at its end.
pub(crate) fn web_url(base: &Url) -> String {
    let mut web = base.clone();
    if let Some(host) = base.host_str().and_then(|host| host.strip_prefix("api.")).filter(|host| is_cloud(host)) {
        let _ = web.set_host(Some(host));
    }
    web.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_is_told_from_the_address_of_the_pages() {
        for (base, expected_api, pages) in [
            ("https://github.com", "https://api.github.com/", "https://github.com"),
            ("https://api.github.com", "https://api.github.com/", "https://github.com"),
            ("https://acme.ghe.com/", "https://api.acme.ghe.com/", "https://acme.ghe.com"),
            ("https://git.example.com", "https://git.example.com/api/v3", "https://git.example.com"),
            ("https://git.example.com/api/v3", "https://git.example.com/api/v3", "https://git.example.com"),
            ("http://127.0.0.1:8080/github", "http://127.0.0.1:8080/github", "http://127.0.0.1:8080"),
        ] {
            let base: Url = base.parse().unwrap();
            assert_eq!((api(&base).as_str(), web_url(&base).as_str()), (expected_api, pages), "{base}");
        }
    }
}
