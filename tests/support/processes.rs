//! The processes of this machine, as far as they concern a test.

use std::{fs, path::Path};

/// The numbers of all processes.
fn all() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn read(process: i32, name: &str) -> Vec<u8> {
    fs::read(format!("/proc/{process}/{name}")).unwrap_or_default()
}

/// What a process was started with, its arguments apart by spaces.
pub(crate) fn command_line(process: i32) -> String {
    String::from_utf8_lossy(&read(process, "cmdline")).replace('\0', " ").trim().to_owned()
}

/// State, parent and group of a process; `None` if it has ended.
fn standing(process: i32) -> Option<(char, i32, i32)> {
    let stat = String::from_utf8_lossy(&read(process, "stat")).into_owned();
    // The name in parentheses may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?)).filter(|_| state != 'Z')
}

/// Processes that are git and work on what is below a directory.
pub(crate) fn gits(directory: &Path) -> Vec<i32> {
    let directory = directory.display().to_string().into_bytes();
    let is_here = |process: &i32| {
        memchr::memmem::find(&read(*process, "environ"), &directory).is_some()
            && read(*process, "comm").starts_with(b"git")
    };
    all().filter(is_here).collect()
}

/// What a process has started and what that has started, with the groups they are in.
pub(crate) fn descendants(process: u32) -> Vec<(i32, i32)> {
    let all: Vec<(i32, i32, i32)> =
        all().filter_map(|process| standing(process).map(|(_, parent, group)| (process, parent, group))).collect();
    let mut found = vec![(process.try_into().unwrap(), 0)];
    let mut next = 0;
    while next < found.len() {
        let parent: i32 = found[next].0;
        found.extend(all.iter().filter(|(_, of, _)| *of == parent).map(|(process, _, group)| (*process, *group)));
        next += 1;
    }
    found.remove(0);
    found
}

/// Those that are in one of the groups.
pub(crate) fn of_groups(groups: &[i32]) -> Vec<i32> {
    all().filter(|process| standing(*process).is_some_and(|(.., group)| groups.contains(&group))).collect()
}
