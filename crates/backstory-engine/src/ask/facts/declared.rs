//! What code declares: the parameters of functions, and the words of code without those of its comments and strings.

use backstory_model::code::Language;

/// The parameters of a function as its declaration writes them; `None` if the declaration is cut off or has no list of them.
pub(super) fn parameters_of<'a>(signature: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let from = places_of(signature, name).next()? + name.len();
    let (mut depth, mut is_quoted, mut start) = (0_usize, false, None);
    let mut before = name.chars().next_back().unwrap_or(' ');
    let mut found = Vec::new();
    for (at, c) in signature[from..].char_indices().map(|(at, c)| (from + at, c)) {
        // Of types: neither a comparison nor an arrow.
        let opens = matches!(c, '(' | '[' | '{') || (c == '<' && is_part(before));
        let closes = matches!(c, ')' | ']' | '}') || (c == '>' && !matches!(before, '-' | '=' | ' ' | '\n'));
        before = c;
        if c == '"' {
            is_quoted = !is_quoted;
        }
        if is_quoted {
            continue;
        }
        // What follows is the body of a function without a list of parameters.
        if c == '\n' && depth == 0 && start.is_none() {
            return None;
        }
        if c == '(' && depth == 0 && start.is_none() {
            start = Some(at + 1);
        }
        if opens {
            depth += 1;
        }
        if closes {
            depth = depth.saturating_sub(1);
        }
        let Some(own) = start else { continue };
        let ends = closes && depth == 0;
        if ends || (c == ',' && depth == 1) {
            found.push(&signature[own..at]);
            start = Some(at + 1);
        }
        if ends {
            return Some(found);
        }
    }
    None
}

/// Whether a parameter as it is written has a name: neither its type nor its default does.
pub(super) fn declares(parameter: &str, name: &str) -> bool {
    let own = parameter.split('=').next().unwrap_or(parameter);
    // `std::string name` has its type first.
    let is_end = |at: &usize| !own[*at + 1..].starts_with(':') && !own[..*at].ends_with(':');
    let end = own.match_indices(':').map(|(at, _)| at).find(is_end).unwrap_or(own.len());
    own[..end].split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$')).any(|word| word == name)
}

/// Whether code mentions a name, whole.
pub(super) fn mentions(code: &str, name: &str) -> bool {
    places_of(code, name).next().is_some()
}

/// Whether code mentions a name as that of a part of what it is a method of: `self.name`, `this->name`, `@name`.
pub(super) fn mentions_own(code: &str, name: &str) -> bool {
    let is_own = |at: usize| {
        let before = &code[..at];
        let receiver = before.strip_suffix("->").or_else(|| before.strip_suffix('.'));
        before.ends_with('@')
            || receiver.is_some_and(|rest| ["self", "this", "cls"].iter().any(|word| ends_with_word(rest, word)))
    };
    places_of(code, name).any(is_own)
}

/// Where a name stands in a text, whole.
fn places_of<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_whole = move |at: &usize| !text[..*at].ends_with(is_part) && !text[*at + name.len()..].starts_with(is_part);
    text.match_indices(name).map(|(at, _)| at).filter(is_whole)
}

fn ends_with_word(text: &str, word: &str) -> bool {
    text.strip_suffix(word).is_some_and(|rest| !rest.ends_with(is_part))
}

/// Whether a letter may be one of a name.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// Code with blanks in place of its comments and strings, and all its lines.
pub(super) fn without_texts(source: &str, language: Language) -> String {
    let mut code = String::with_capacity(source.len());
    let (mut rest, mut open) = (source, OpenQuotes::default());
    while let Some(first) = rest.chars().next() {
        let raw = if code.ends_with(is_part) { 0 } else { length_of_raw_string(rest, language) };
        let length = if raw > 0 { raw } else { length_of_text(rest, language, &mut open) };
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (text, behind) = rest.split_at(length);
        code.push(' ');
        code.extend(text.chars().filter(|c| *c == '\n'));
        rest = behind;
    }
    code
}

/// Quotation marks that nothing ends: how much of the code was left, for each of them, where the search for an end gave up. All
/// that a string may hold stands behind a backslash until there, so no later mark ends earlier, and none is looked for again.
#[derive(Default)]
struct OpenQuotes(Vec<(char, usize)>);

/// Bytes of the string that code begins with in which a backslash is a letter as any other; 0 if it begins with none.
fn length_of_raw_string(code: &str, language: Language) -> usize {
    /// Most letters that C++ allows between the mark and the bracket.
    const MAX_DELIMITER: usize = 16;
    let behind = |beginnings: &[&str]| beginnings.iter().find_map(|beginning| code.strip_prefix(beginning));
    let until =
        |text: &str, end: &str| text.find(end).map_or(code.len(), |at| code.len() - text.len() + at + end.len());
    match language {
        Language::Rust => {
            let Some(rest) = behind(&["r", "br", "cr"]) else { return 0 };
            let text = rest.trim_start_matches('#');
            let marks = &rest[..rest.len() - text.len()];
            text.strip_prefix('"').map_or(0, |text| until(text, &format!("\"{marks}")))
        }
        Language::Cpp => {
            let Some(rest) = behind(&["R\"", "LR\"", "uR\"", "UR\"", "u8R\""]) else { return 0 };
            let delimiter = rest.bytes().take(MAX_DELIMITER + 1).position(|byte| byte == b'(');
            delimiter.map_or(0, |at| until(&rest[at..], &format!("){}\"", &rest[..at])))
        }
        Language::CSharp => {
            let Some(text) = behind(&["@\"", "$@\"", "@$\""]) else { return 0 };
            let mut marks = text.match_indices('"').map(|(at, _)| at);
            while let Some(at) = marks.next() {
                // Two stand for one within it.
                if !text[at + 1..].starts_with('"') {
                    return code.len() - text.len() + at + 1;
                }
                marks.next();
            }
            code.len()
        }
        _ => 0,
    }
}

/// Bytes of the comment or string that code begins with; 0 if it begins with none.
fn length_of_text(code: &str, language: Language, open: &mut OpenQuotes) -> usize {
    use Language::{Bash, C, CSharp, Cpp, Go, Java, JavaScript, Kotlin, Php, Python, Ruby, Rust, Tsx, TypeScript};
    let has_slashes = !matches!(language, Python | Ruby | Bash);
    let until = |from: usize, end: &str| code[from..].find(end).map_or(code.len(), |at| from + at + end.len());
    let begins_comment = match language {
        Python | Ruby | Php => code.starts_with('#'),
        // Elsewhere it belongs to an expansion.
        Bash => code.starts_with("# "),
        _ => false,
    };
    if begins_comment || (has_slashes && code.starts_with("//")) {
        return code.find('\n').unwrap_or(code.len());
    }
    if has_slashes && code.starts_with("/*") {
        return until(2, "*/");
    }
    if matches!(language, Python | Java | Kotlin | CSharp) && code.starts_with("\"\"\"") {
        return until(3, "\"\"\"");
    }
    if language == Python && code.starts_with("'''") {
        return until(3, "'''");
    }
    let has_letters = matches!(language, Rust | Go | Java | C | Cpp | CSharp | Kotlin);
    let Some(first) = code.chars().next() else { return 0 };
    let rules = StringRules {
        may_have_lines: first == '`' || matches!(language, Rust | Ruby | Php | Bash),
        has_escapes: !matches!((language, first), (Bash, '\'') | (Go, '`')),
    };
    match first {
        '\'' if has_letters => length_of_letter(code),
        '"' | '\'' => open.length_of_string(code, first, rules),
        '`' if matches!(language, JavaScript | TypeScript | Tsx | Go) => open.length_of_string(code, first, rules),
        // It begins nothing: `'it'\''s'`.
        '\\' if language == Bash && code[1..].starts_with(['"', '\'', '\\']) => 2,
        _ => 0,
    }
}

/// What strings between some marks are like.
#[derive(Clone, Copy)]
struct StringRules {
    may_have_lines: bool,
    /// Whether a backslash takes the meaning from what follows it.
    has_escapes: bool,
}

/// Bytes of a letter in quotation marks: `'a'`, `'\n'`. A mark alone begins a lifetime.
fn length_of_letter(code: &str) -> usize {
    const MAX_ESCAPE: usize = 12;
    let mut letters = code.char_indices().skip(1);
    match letters.next() {
        Some((_, '\\')) => letters.skip(1).take(MAX_ESCAPE).find(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        Some(_) => letters.next().filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

impl OpenQuotes {
    /// Bytes of a string; those of its quotation mark if nothing ends it.
    fn length_of_string(&mut self, code: &str, quote: char, rules: StringRules) -> usize {
        if self.0.iter().any(|(open, left)| *open == quote && code.len() > *left) {
            return 1;
        }
        let mut is_escaped = false;
        let mut end = code.len();
        for (at, c) in code.char_indices().skip(1) {
            if is_escaped {
                is_escaped = false;
            } else if c == '\\' {
                is_escaped = rules.has_escapes;
            } else if c == quote {
                return at + 1;
            } else if c == '\n' && !rules.may_have_lines {
                end = at;
                break;
            }
        }
        self.0.retain(|(open, _)| *open != quote);
        self.0.push((quote, code.len() - end));
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_a_function_are_told_from_types_and_defaults() {
        for (signature, name, has) in [
            ("def get(url, timeout)", "get", Some(true)),
            ("def get(url, *, timeout: float | None = None) -> Page", "get", Some(true)),
            ("def get(self, url, **options)", "get", Some(false)),
            ("def get(url, wait=timeout)", "get", Some(false)),
            ("def get(url: timeout = (1, 2), sep=\",\")", "get", Some(false)),
            ("fn get<F: Fn(u8)>(url: &str, mut timeout: Duration) -> Page", "get", Some(true)),
            ("fn get(timeouts: HashMap<u8, timeout>) -> u8", "get", Some(false)),
            ("func (c *Client) Get(url string, timeout time.Duration) error", "Get", Some(true)),
            ("Page get(std::string url, std::chrono::seconds timeout)", "get", Some(true)),
            ("get(url: string, timeout?: number): Promise<Page>", "get", Some(true)),
            ("const get = (url, { timeout, retries = 3 }) =>", "get", Some(true)),
            ("def get(url, retries: int = 3, prox", "get", None),
            ("def get", "get", None),
            ("def forget(timeout)", "get", None),
            ("def get\n  fetch(timeout)\nend", "get", None),
        ] {
            let parameters = parameters_of(signature, name);
            let found = parameters.map(|parameters| parameters.into_iter().any(|one| declares(one, "timeout")));
            assert_eq!(found, has, "{signature}");
        }
    }

    #[test]
    fn what_comments_and_strings_say_is_no_code() {
        for (language, source, code) in [
            (Language::Python, "a = 'b' # c\n\"\"\"d\ne\"\"\"\nf", "a =    \n \n\nf"),
            (Language::Rust, "a /* b\n*/ 'c' <'d> \"e\\\"\n\" // f", "a  \n   <'d>  \n  "),
            (Language::C, "a = '\\'' + \"b\"; // c\nd", "a =   +  ;  \nd"),
            (Language::TypeScript, "a(`b\n`, \"c\", 'd\ne')", "a( \n,  ,  d\ne )"),
            (Language::Bash, r"a='it'\''s' b; c='\' \\\'d", "a=    b; c=    d"),
            (Language::Go, r"a = `\d\` + b", "a =   + b"),
            (Language::Rust, r##"a = r"\" + br#"b"\"# + r#c + "\"";"##, "a =   +   + r#c +  ;"),
            (Language::Rust, "r\"\\\n\" + b", " \n + b"),
            (Language::Cpp, r#"a = R"x(b)" \)x" + R(c)"#, "a =   + R(c)"),
            (Language::CSharp, r#"a = @"\" + $@"b""c\" + "\"";"#, "a =   +   +  ;"),
        ] {
            assert_eq!(without_texts(source, language), code, "{source}");
        }
    }

    /// Each search to the end would take minutes here.
    #[test]
    fn an_end_that_is_not_there_is_looked_for_once() {
        let source = format!("a \"{}", "\\\"".repeat(500_000));
        for language in [Language::Rust, Language::JavaScript] {
            assert_eq!(without_texts(&source, language).len(), source.len());
        }
        assert_eq!(without_texts("'a\n'b' c 'd", Language::JavaScript), " a\n  c  d");
    }

    #[test]
    fn a_name_is_mentioned_whole() {
        assert!(mentions("x.name = 1", "name") && !mentions("names + rename", "name"));
        for (code, is_own) in [
            ("self.name = name", true),
            ("this->name", true),
            ("@name = 1", true),
            ("itself.name", false),
            ("other.name = name", false),
        ] {
            assert_eq!(mentions_own(code, "name"), is_own, "{code}");
        }
    }
}
