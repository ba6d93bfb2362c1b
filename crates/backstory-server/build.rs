//! Embeds the files of the web interface, each as it is and compressed; the page has the addresses of the others.

#![expect(clippy::disallowed_methods, reason = "Cargo tells a build script its directories in the environment")]

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::Write as _,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};

/// Where the files are, relative to the crate.
const DIRECTORY: &str = "web";
/// The page of every screen.
const PAGE: &str = "index.html";
/// What stands in the page for the hash of all files.
const PLACEHOLDER: &str = "VERSION";

#[allow(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={DIRECTORY}");
    println!("cargo::rerun-if-changed=build.rs");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join(DIRECTORY);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut files = Vec::new();
    list_files(&root, &mut files)?;
    files.sort();
    let mut hasher = DefaultHasher::new();
    let mut parts = Vec::new();
    for path in &files {
        let Some(media_type) = media_type(path) else { continue };
        let content = fs::read(path)?;
        let name = path.strip_prefix(&root)?.to_str().ok_or("a file name is not UTF-8")?.replace('\\', "/");
        (&name, &content).hash(&mut hasher);
        parts.push((name, media_type, content));
    }
    let version = format!("{:016x}", hasher.finish());
    let mut table = String::from("pub(super) static FILES: &[File] = &[\n");
    for (number, (name, media_type, mut content)) in parts.into_iter().enumerate() {
        if name == PAGE {
            content = String::from_utf8(content)?.replace(PLACEHOLDER, &version).into_bytes();
        }
        // Both of one state, wherever the sources are by the time they are compiled: checkouts can share a directory.
        let copied = out.join(format!("{number}.copy"));
        fs::write(&copied, &content)?;
        let compressed = out.join(format!("{number}.gz"));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&content)?;
        fs::write(&compressed, encoder.finish()?)?;
        writeln!(
            table,
            "    File {{ path: {name:?}, media_type: {media_type:?}, content: include_bytes!({copied:?}), compressed: \
             include_bytes!({compressed:?}) }},"
        )?;
    }
    writeln!(table, "];\n\n/// A hash of all files.\npub(super) const VERSION: &str = {version:?};")?;
    fs::write(out.join("web.rs"), table)?;
    Ok(())
}

fn list_files(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            list_files(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// How a file is served; `None` for what is not part of the page, such as its documentation.
fn media_type(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "html" => Some("text/html; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}
