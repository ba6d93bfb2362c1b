//! Catches panics of the libraries that keep the projections. They panic where a file is not as they wrote it; here a
//! panic is an error like any other, which says that the store is damaged.

use std::{
    any::Any,
    cell::Cell,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, Location, catch_unwind},
    sync::OnceLock,
    task::Poll,
};

/// Beginnings of the names of the libraries, and of those that they read their files with.
const LIBRARIES: [&str; 10] =
    ["lance", "oxigraph", "oxrdf", "spareval", "sparopt", "arrow", "datafusion", "object_store", "prost", "roaring"];
/// Threads of theirs.
const THREADS: &str = "lance-";

thread_local! {
    /// How many calls of a library this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Whether a panic on this thread is the answer of a damaged store, which is handled, and not a bug to be shown.
pub fn is_expected_panic(place: Option<&Location<'_>>) -> bool {
    let is_theirs = |file: &str| {
        file.split(['/', '\\']).any(|part| {
            LIBRARIES.iter().any(|library| part.strip_prefix(library).is_some_and(|rest| rest.contains('-')))
        })
    };
    DEPTH.get() > 0
        || std::thread::current().name().is_some_and(|name| name.starts_with(THREADS))
        || place.is_some_and(|place| is_theirs(place.file()))
}

/// This thread is in a call, until it is dropped.
struct LibraryCallGuard;

impl LibraryCallGuard {
    fn new() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self
    }
}

impl Drop for LibraryCallGuard {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Does a call.
///
/// # Errors
/// It panicked; what it said.
pub(crate) fn catch_panic<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    let _inside = LibraryCallGuard::new();
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| panic_message(&*panic))
}

/// Does an asynchronous call.
///
/// # Errors
/// It panicked; what it said.
pub(crate) async fn catch_panic_async<T>(call: impl Future<Output = T>) -> Result<T, String> {
    // They are large, and the stack is not.
    let mut call = Box::pin(call);
    poll_fn(move |context| match catch_panic(|| call.as_mut().poll(context)) {
        Ok(Poll::Ready(answer)) => Poll::Ready(Ok(answer)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("reading it failed: {}", text.unwrap_or("no reason was given").replace('\n', " "))
}

/// What was found to be damaged in a store, once.
#[derive(Debug, Default)]
pub(crate) struct Damage(OnceLock<String>);

impl Damage {
    pub(crate) fn note(&self, reason: &str) {
        // The first reason stays.
        let _ = self.0.set(reason.to_owned());
    }

    pub(crate) fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_answer() {
        let refused = catch_panic(|| if true { panic!("no {}", "manifest") } else { 1 });
        assert_eq!(refused, Err("reading it failed: no manifest".to_owned()));
        assert_eq!(catch_panic(|| 1), Ok(1));
        let refused = catch_panic_async(async {
            tokio::task::yield_now().await;
            if true { panic!("no data") } else { 1 }
        });
        assert_eq!(refused.await, Err("reading it failed: no data".to_owned()));
        assert_eq!(catch_panic_async(async { 1 }).await, Ok(1));
        assert!(!is_expected_panic(None) && !is_expected_panic(Some(Location::caller())));
    }
}
