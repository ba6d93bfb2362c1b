//! Derives a project's path from where its repository comes from.

use std::path::Path;

use backstory_model::id::is_project_path;

/// Where a clone on this machine came from: the address of its `origin`, without credentials.
pub fn origin_url(path: &Path) -> Option<String> {
    let repository = git2::Repository::open(path).ok()?;
    let remote = repository.find_remote("origin").ok()?;
    remote.url().ok().map(str::to_owned)
}

/// The addresses of every remote of a repository on this machine.
pub fn remote_urls(path: &Path) -> Vec<String> {
    let Ok(repository) = git2::Repository::open(path) else { return Vec::new() };
    let Ok(names) = repository.remotes() else { return Vec::new() };
    let url = |name: &str| repository.find_remote(name).ok()?.url().ok().map(str::to_owned);
    names.iter().flatten().flatten().filter_map(url).collect()
}

/// Where a repository on this machine has its objects: its own directory if it is bare, else the one in its working tree.
pub fn objects_directory(path: &Path) -> Option<std::path::PathBuf> {
    Some(git2::Repository::open(path).ok()?.commondir().to_owned())
}

/// The e-mail address with which commits are made in a repository on this machine.
pub fn user_email(path: &Path) -> Option<String> {
    let config = git2::Repository::open(path).ok()?.config().ok()?;
    config.get_string("user.email").ok().filter(|email| !email.is_empty())
}

/// The repository that a path stands in: its own directory, or that of its working tree.
pub fn discover_repository(path: &Path) -> Option<std::path::PathBuf> {
    let repository = git2::Repository::discover(path).ok()?;
    Some(repository.workdir().unwrap_or_else(|| repository.path()).to_owned())
}

/// Host and path of a remote address: of `https://host/group/project.git` or `git@host:group/project`.
pub fn host_and_project(address: &str) -> Option<(&str, &str)> {
    let (host, path) = match address.split_once("://") {
        Some(("http" | "https" | "ssh", rest)) => rest.split_once('/')?,
        Some(_) => return None,
        None => address.split_once(':').filter(|(host, _)| !host.contains('/'))?,
    };
    let host = host.rsplit('@').next()?;
    let host = if address.contains("://") && !address.starts_with("ssh") { host } else { host.split(':').next()? };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    (!host.is_empty() && is_project_path(path)).then_some((host, path))
}

/// A project's path made of the name of a directory.
pub fn project_from_directory(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".git").unwrap_or(&name);
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    let name = name.trim_matches(['.', '-']);
    if is_project_path(name) { name.to_owned() } else { "repository".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_tell_the_project() {
        let cases = [
            ("https://gitlab.example.com/group/sub/shop.git", Some(("gitlab.example.com", "group/sub/shop"))),
            ("http://127.0.0.1:8080/acme/shop", Some(("127.0.0.1:8080", "acme/shop"))),
            ("git@github.com:acme/shop.git", Some(("github.com", "acme/shop"))),
            ("ssh://git@github.com:22/acme/shop.git", Some(("github.com", "acme/shop"))),
            ("https://oauth2:token@host/acme/shop", Some(("host", "acme/shop"))),
            ("/home/ann/shop", None),
            ("file:///home/ann/shop", None),
            ("https://host/", None),
        ];
        for (address, expected) in cases {
            assert_eq!(host_and_project(address), expected, "{address}");
        }
        assert_eq!(project_from_directory(Path::new("/home/ann/my shop.git")), "my-shop");
        assert_eq!(project_from_directory(Path::new("/")), "repository");
    }
}
