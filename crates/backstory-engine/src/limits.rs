//! What requests may say of how much they want, and what they want if they do not say.

use crate::error::{Error, Result};

/// Items of a list, unless a request asks for more or fewer.
pub const DEFAULT_LIMIT: usize = 20;

/// Returns [`DEFAULT_LIMIT`], for requests in JSON.
pub(crate) const fn default_limit() -> usize {
    DEFAULT_LIMIT
}

/// Returns true, for what requests in JSON have to turn off.
pub(crate) const fn default_true() -> bool {
    true
}

/// Checks how many items a request asks for.
///
/// # Errors
/// It asks for none, or for more than `most`.
pub(crate) fn check_limit(limit: usize, most: usize) -> Result<()> {
    check_range("the limit", limit, most)
}

/// Checks a number of a request, which `what` names.
///
/// # Errors
/// It is 0, or greater than `most`.
pub(crate) fn check_range(what: &str, given: usize, most: usize) -> Result<()> {
    if (1..=most).contains(&given) {
        return Ok(());
    }
    Err(Error::invalid(format!("{what} is {given}; it must be 1 to {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_outside_of_its_range_is_refused() {
        assert!(check_limit(1, 50).is_ok() && check_limit(50, 50).is_ok());
        let message = |limit| check_limit(limit, 50).map_err(|error| error.to_string());
        assert_eq!(message(0), Err("the limit is 0; it must be 1 to 50".to_owned()));
        assert_eq!(message(51), Err("the limit is 51; it must be 1 to 50".to_owned()));
    }
}
