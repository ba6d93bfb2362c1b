//! Tests of commits, paths and changes.

use proptest::prelude::*;

use super::*;

#[test]
fn names_of_objects_are_read_and_written() {
    let text = "4101de3daf91c6d35b92395a72bf84132ef48f7c";
    assert_eq!(text.parse::<Sha>().unwrap().to_string(), text);
    assert_eq!(serde_json::to_string(&text.parse::<Sha>().unwrap()).unwrap(), format!("\"{text}\""));
    for wrong in ["", "4101de3", "4101de3daf91c6d35b92395a72bf84132ef48f7g", "é101de3daf91c6d35b92395a72bf84132ef48f"]
    {
        assert!(wrong.parse::<Sha>().unwrap_err().to_string().contains("40 hex digits"), "{wrong}");
    }
}

#[test]
fn paths_print_as_git_prints_them() {
    for (bytes, printed) in [
        (&b"src/a b.rs"[..], "src/a b.rs"),
        ("na\u{ef}ve/\u{1F980}".as_bytes(), "na\u{ef}ve/\u{1F980}"),
        (b"caf\xe9.txt", r#""caf\351.txt""#),
        (b"a\nb\tc", r#""a\nb\tc""#),
        (b"\"quoted\"", r#""\"quoted\"""#),
        (b"in\"side\\", r#"in"side\"#),
        (b"\x01\x7f", r#""\001\177""#),
        (b"-rf", "-rf"),
    ] {
        assert_eq!(RepoPath::from_bytes(bytes).as_str(), printed);
    }
}

#[test]
fn modes_say_what_they_are() {
    for (octal, file, executable, symlink, submodule) in [
        ("100644", true, false, false, false),
        ("100664", true, false, false, false),
        ("100755", true, true, false, false),
        ("120000", false, false, true, false),
        ("160000", false, false, false, true),
    ] {
        let mode = FileMode::from_octal(octal.as_bytes()).unwrap();
        assert_eq!(
            (mode.is_file(), mode.is_executable(), mode.is_symlink(), mode.is_submodule()),
            (file, executable, symlink, submodule)
        );
        assert_eq!(mode.to_string(), octal);
    }
    assert_eq!(FileMode::from_octal(b"99"), None);
}

proptest! {
    #[test]
    fn every_path_survives(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let path = RepoPath::from_bytes(&bytes);
        prop_assert_eq!(&*path.to_bytes(), &bytes[..]);
        prop_assert!(!path.as_str().chars().any(char::is_control));
    }

    #[test]
    fn every_printed_text_is_read(text in any::<String>()) {
        let _ = RepoPath::from_escaped(text).to_bytes();
    }

    #[test]
    fn every_sha_survives(bytes in any::<[u8; 20]>()) {
        prop_assert_eq!(Sha::from_bytes(bytes).to_string().parse::<Sha>().unwrap(), Sha::from_bytes(bytes));
    }
}
