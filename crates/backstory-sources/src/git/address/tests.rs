//! Tests of addresses.

use proptest::prelude::*;

use super::*;

const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 216, 34));

fn check(text: &str) -> Result<Address, AddressError> {
    Address::check(text, &AllowedHosts::default(), |_, _| Ok(vec![PUBLIC]))
}

fn remote_of(text: &str) -> Remote {
    match check(text).unwrap() {
        Address::Remote(remote) => remote,
        Address::Local(path) => panic!("{} is local", path.display()),
    }
}

#[test]
fn urls_are_built_again_from_what_was_checked() {
    for (text, url, scheme, port) in [
        ("https://Example.com/a/b.git", "https://example.com/a/b.git", Scheme::Https, 443),
        ("https://example.com:8443/a", "https://example.com:8443/a", Scheme::Https, 8443),
        ("http://example.com/a", "http://example.com/a", Scheme::Http, 80),
        ("https://example.com\\@evil.com/a", "https://example.com/@evil.com/a", Scheme::Https, 443),
        ("https://ex\u{e4}mple.com/a", "https://xn--exmple-cua.com/a", Scheme::Https, 443),
        ("ssh://git@example.com:2222/a/b", "ssh://git@example.com:2222/a/b", Scheme::Ssh, 2222),
        ("git@example.com:a/b.git", "git@example.com:a/b.git", Scheme::Ssh, 22),
        ("example.com:a/b", "example.com:a/b", Scheme::Ssh, 22),
    ] {
        let remote = remote_of(text);
        assert_eq!((remote.url.as_str(), remote.scheme, remote.port), (url, scheme, port), "{text}");
    }
}

#[test]
fn other_schemes_dashes_controls_and_credentials_are_refused() {
    for (text, why) in [
        ("", "give a path or a URL"),
        ("-oProxyCommand=x", "dash"),
        ("--upload-pack=x", "dash"),
        ("ssh://-oProxyCommand=x/a", "characters that no host"),
        ("-x@example.com:a", "dash"),
        ("git@-x:a", "characters that no host"),
        ("git@example.com:-a", "user@host:path"),
        ("ext::sh -c id", "user@host:path"),
        ("ext::https://example.com/a", "remote helpers"),
        ("file:///etc", "without file://"),
        ("git://example.com/a", "scheme"),
        ("ftp://example.com/a", "scheme"),
        ("https://example.com/a\nb", "control"),
        ("https://example.com/a\u{0}", "control"),
        ("https://joe:hunter2@example.com/a", "credentials"),
        ("https://t0ken@example.com/a", "credentials"),
        ("ssh://git:hunter2@example.com/a", "credentials"),
        ("https://example.com/a?b=c", "query"),
        ("https://", "not a URL"),
    ] {
        let error = check(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
        assert!(!error.contains("hunter2") && !error.contains("t0ken"), "{error}");
    }
}

#[test]
fn hosts_that_are_not_public_are_refused_however_they_are_written() {
    for text in [
        "https://127.0.0.1/a",
        "https://2130706433/a",
        "https://0x7f.1/a",
        "https://0177.0.0.1/a",
        "https://127.1/a",
        "https://0/a",
        "https://10.1.2.3/a",
        "https://172.31.0.1/a",
        "https://192.168.1.1/a",
        "https://169.254.169.254/latest",
        "https://100.100.100.200/a",
        "https://168.63.129.16/a",
        "https://198.18.0.1/a",
        "https://224.0.0.1/a",
        "https://255.255.255.255/a",
        "https://[::1]/a",
        "https://[::]/a",
        "https://[::ffff:93.184.216.34]/a",
        "https://[::ffff:7f00:1]/a",
        "https://[fd00:ec2::254]/a",
        "https://[fe80::1]/a",
        "https://[fec0::1]/a",
        "https://[ff02::1]/a",
        "https://[64:ff9b::7f00:1]/a",
        "https://[2002:7f00:1::]/a",
        "https://[2001:db8::1]/a",
        "ssh://git@10.0.0.1/a",
        "git@127.0.0.1:a",
    ] {
        assert!(matches!(check(text), Err(AddressError::NotPublic { .. })), "{text}: {:?}", check(text));
    }
    for text in ["https://93.184.216.34/a", "https://[2606:2800:220:1::1]/a", "https://[64:ff9b::5db8:d822]/a"] {
        assert!(check(text).is_ok(), "{text}");
    }
}

#[test]
fn one_address_that_is_not_public_is_enough_to_refuse() {
    let inside = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 5));
    let both = |_: &str, _| Ok(vec![PUBLIC, inside]);
    for text in ["https://forge.example/a", "git@forge.example:a"] {
        let error = Address::check(text, &AllowedHosts::default(), both).unwrap_err();
        assert!(matches!(&error, AddressError::NotPublic { address, .. } if *address == inside), "{error}");
        assert!(Address::check(text, &AllowedHosts::new(["Forge.Example."]), both).is_ok());
    }
    assert!(matches!(
        Address::check("https://forge.example/a", &AllowedHosts::default(), |_, _| Ok(Vec::new())),
        Err(AddressError::Unresolved { .. })
    ));
}

#[test]
fn git_is_told_which_addresses_to_use() {
    let remote = remote_of("https://example.com:8443/a");
    assert_eq!(remote.curl_resolve().unwrap(), "example.com:8443:93.184.216.34");
    assert_eq!(remote.origin(), "https://example.com:8443/");
    assert!(remote.may_receive_token());
    assert!(!remote_of("http://example.com/a").may_receive_token());
    let ssh = remote_of("git@example.com:a").ssh_command();
    assert!(
        ssh.contains("BatchMode=yes") && ssh.contains("HostName=93.184.216.34 -o HostKeyAlias=example.com"),
        "{ssh}"
    );
}

#[test]
fn a_path_must_be_that_of_a_repository() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    assert!(matches!(check(path), Err(AddressError::NotARepository { .. })));
    assert!(matches!(check(&format!("{path}/none")), Err(AddressError::Unreadable { .. })));
    std::fs::create_dir(dir.path().join(".git")).unwrap();
    let canonical = dir.path().canonicalize().unwrap();
    assert_eq!(check(path).unwrap(), Address::Local(canonical.clone()));
    assert_eq!(
        check(&format!("{path}/../{}", canonical.file_name().unwrap().to_str().unwrap())).unwrap(),
        Address::Local(canonical)
    );
}

proptest! {
    #[test]
    fn no_text_panics_or_gives_git_an_option(text in "[-a-z:/@.\\[\\]0-9 \\\\%?#]{0,40}|\\PC{0,20}") {
        if let Ok(address) = check(&text) {
            prop_assert!(!address.argument().to_string_lossy().starts_with('-'));
        }
    }

    #[test]
    fn private_addresses_are_refused_within_ipv6_too(address in any::<u32>()) {
        let v4 = Ipv4Addr::from(address);
        let [high, low] = [(address >> 16) as u16, address as u16];
        let translated = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low);
        prop_assert_eq!(not_public_v4(v4), not_public_v6(translated));
        prop_assert!(not_public_v6(v4.to_ipv6_mapped()).is_some());
    }
}

#[test]
fn a_remote_is_at_the_same_scheme_host_and_port() {
    let remote = remote_of("https://example.com/a/b.git");
    for same in ["https://example.com", "https://EXAMPLE.com:443/", "https://example.com/gitlab"] {
        assert!(remote.has_origin(same), "{same}");
    }
    for other in ["http://example.com", "https://example.com:8443", "https://example.com.evil.example", "no URL", ""] {
        assert!(!remote.has_origin(other), "{other}");
    }
    assert!(remote_of("https://example.com:8443/a").has_origin("https://example.com:8443"));
    assert!(!remote_of("http://example.com/a").has_origin("https://example.com"));
    assert!(!remote_of("ssh://git@example.com/a").has_origin("https://example.com"));
}
