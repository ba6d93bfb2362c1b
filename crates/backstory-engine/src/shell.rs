//! Commands that sentences name: somebody may copy and run them.

use backstory_model::text::truncate_echo;

/// An argument of a command with a blank before it, in quotation marks if a shell needs them. It is empty for a text that is too
/// long, or that a shell or the command may take for anything else: names of people and code are what somebody chose.
pub(crate) fn argument_of_command(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
    let is_in_quotes = |c: char| is_plain(c) || matches!(c, ' ' | '\'' | ',' | '#');
    match truncate_echo(text) == text && !text.starts_with('-') {
        true if text.chars().all(is_plain) => format!(" {text}"),
        true if text.chars().all(is_in_quotes) => format!(" \"{text}\""),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_quoted_as_a_shell_needs_it_or_left_out() {
        let long = "Li ".repeat(200);
        for (text, argument) in [
            ("jorenham", " jorenham"),
            ("Li Wu", " \"Li Wu\""),
            ("Zoë O'Brien", " \"Zoë O'Brien\""),
            ("http::Client.get_default", " http::Client.get_default"),
            ("src/client.rs#Client", " \"src/client.rs#Client\""),
            ("Li $(reboot) Wu", ""),
            ("Li `reboot` Wu", ""),
            ("Li\"; reboot; \"Wu", ""),
            ("operator!=", ""),
            ("--help", ""),
            (long.as_str(), ""),
        ] {
            assert_eq!(argument_of_command(text), argument, "{text}");
        }
    }
}
