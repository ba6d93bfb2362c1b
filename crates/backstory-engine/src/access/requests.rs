//! How the audit log writes what was asked for: with an end, and so that nothing that is long or has no effect hides the
//! rest.

use serde_json::Value;

use crate::use_case::QueryLanguage;

/// Most characters of a request that are kept.
const MAX_REQUEST: usize = 1_000;
/// Most characters of a text in it.
const MAX_TEXT: usize = 600;
/// Which part of what is kept is from the end: one of so many.
const TAIL_SHARE: usize = 3;

/// A request as it is kept: long texts, and then the whole, with beginning and end.
pub(super) fn write(mut request: Value) -> String {
    shorten_texts(&mut request);
    shorten(request.to_string(), MAX_REQUEST)
}

fn shorten_texts(value: &mut Value) {
    match value {
        Value::String(text) => *text = shorten(std::mem::take(text), MAX_TEXT),
        Value::Array(values) => values.iter_mut().for_each(shorten_texts),
        Value::Object(fields) => fields.values_mut().for_each(shorten_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn shorten(text: String, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text;
    }
    let tail = most / TAIL_SHARE;
    let place = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(place, _)| place);
    let (head, end) = (&text[..place(most - tail)], &text[place(count - tail)..]);
    format!("{head} … {} characters … {end}", count - most)
}

/// A query without comments, and with one space for what stands between its words.
pub(super) fn without_comments(query: &str, language: QueryLanguage) -> String {
    let mut out = String::with_capacity(query.len());
    let mut rest = query;
    while let Some(next) = rest.chars().next() {
        let is_gap =
            |c: char| c.is_whitespace() || (matches!(c, ',' | '\u{feff}') && language == QueryLanguage::GraphQl);
        let length = match next {
            '#' => rest.find(['\n', '\r']).unwrap_or(rest.len()),
            _ if is_gap(next) => rest.find(|c| !is_gap(c)).unwrap_or(rest.len()),
            _ => token_length(rest, language),
        };
        let (token, after) = rest.split_at(length);
        if next == '#' || is_gap(next) {
            if !out.ends_with(' ') {
                out.push(' ');
            }
        } else {
            out.push_str(token);
        }
        rest = after;
    }
    out.trim().to_owned()
}

/// Whether a document of GraphQL is to change something: the operation of that name is a mutation, or without a name any one.
/// The word may also be a name in a query.
pub(super) fn is_mutation(document: &str, name: Option<&str>) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut depth, mut rest) = (0usize, document);
    // The words of the definition under way, before what is in its brackets.
    let mut words: Vec<&str> = Vec::new();
    let is_it = |words: &[&str]| {
        words.first() == Some(&"mutation") && name.is_none_or(|name| words.get(1).is_some_and(|own| *own == name))
    };
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '#' => rest.find(['\n', '\r']).unwrap_or(rest.len()),
            _ if is_of_name(next) => rest.find(|c| !is_of_name(c)).unwrap_or(rest.len()),
            _ => token_length(rest, QueryLanguage::GraphQl),
        };
        let (token, after) = rest.split_at(length);
        match next {
            '{' | '(' | '[' => {
                depth += 1;
                // Directives have names, too: what stands behind the first bracket is no name of the operation.
                if next != '{' && depth == 1 && words.len() == 1 {
                    words.push("");
                }
            }
            '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if next == '}' && depth == 0 {
                    if is_it(&words) {
                        return true;
                    }
                    words.clear();
                }
            }
            '@' if depth == 0 && words.len() == 1 => words.push(""),
            _ if depth == 0 && is_of_name(next) => words.push(token),
            _ => {}
        }
        rest = after;
    }
    is_it(&words)
}

/// Bytes of the text, IRI or character with which a query begins.
fn token_length(query: &str, language: QueryLanguage) -> usize {
    let first = query.chars().next().map_or(0, char::len_utf8);
    let is_sparql = language == QueryLanguage::Sparql;
    match query.as_bytes().first() {
        Some(quote @ (b'"' | b'\'')) if *quote == b'"' || is_sparql => {
            let quote = &query[..1];
            let long = quote.repeat(3);
            if query.starts_with(&long) {
                text_length(query, &long, language)
            } else {
                text_length(query, quote, language)
            }
        }
        Some(b'<') if is_sparql => {
            let end = query[1..].find(|c: char| c.is_whitespace() || "<>\"{}|^`".contains(c)).map(|at| at + 1);
            end.filter(|end| query[*end..].starts_with('>')).map_or(first, |end| end + 1)
        }
        // The next character stands for itself.
        Some(b'\\') => first + query[first..].chars().next().map_or(0, char::len_utf8),
        _ => first,
    }
}

/// Bytes of the text between quotes with which a query begins.
fn text_length(query: &str, quote: &str, language: QueryLanguage) -> usize {
    // A block of GraphQL knows no escape but that of its end.
    let is_block = quote.len() > 1 && language == QueryLanguage::GraphQl;
    let mut at = quote.len();
    while let Some(next) = query[at..].chars().next() {
        let rest = &query[at..];
        if rest.starts_with(quote) {
            return at + quote.len();
        }
        at += match next {
            '\\' if !is_block => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '\\' if rest[1..].starts_with(quote) => 1 + quote.len(),
            _ => next.len_utf8(),
        };
    }
    query.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_leave_and_texts_stay() {
        let clean = |query: &str, language| without_comments(query, language);
        for (query, expected) in [
            ("# hidden\n{ issue(ref: \"acme/shop#1\") { title } } # end", "{ issue(ref: \"acme/shop#1\") { title } }"),
            ("{,,,a\r# x\r  b }", "{ a b }"),
            (r##"{ a(b: "\"# no") }"##, r##"{ a(b: "\"# no") }"##),
            ("{ a(b: \"\"\"\\\\\"\"\" # \"\"\", c: 1) }", "{ a(b: \"\"\"\\\\\"\"\" # \"\"\" c: 1) }"),
            ("{ a(b: \"open", "{ a(b: \"open"),
        ] {
            assert_eq!(clean(query, QueryLanguage::GraphQl), expected, "{query}");
        }
        for (query, expected) in [
            (
                "# hidden\nSELECT * # x\nWHERE { ?s <urn:a#b> '#', \"\"\"#\\\\\"\"\" }",
                "SELECT * WHERE { ?s <urn:a#b> '#', \"\"\"#\\\\\"\"\" }",
            ),
            ("FILTER(?a < 5) # x > y", "FILTER(?a < 5)"),
            (r"a:b\#c", r"a:b\#c"),
            (r"<urn:\u0041#b> a", r"<urn:\u0041#b> a"),
        ] {
            assert_eq!(clean(query, QueryLanguage::Sparql), expected, "{query}");
        }
    }

    #[test]
    fn mutations_are_told_from_queries_that_speak_of_them() {
        for document in [
            "mutation { backup { path } }",
            "# x\nmutation($id: ID!){a}",
            "query A { a } mutation B { b }",
            "mutation @mutation { a }",
            "mutation { a",
        ] {
            assert!(is_mutation(document, None), "{document}");
        }
        for document in [
            "{ search(query: \"a mutation\") { tookMs } } # mutation",
            "{ mutations }",
            "",
            "\"mutation",
            "query mutation { a }",
            "{ mutation: issues { a } }",
            "fragment mutation on Query { a } { ...mutation }",
            "query @mutation { a }",
        ] {
            assert!(!is_mutation(document, None), "{document}");
        }
        let both = "query A { a } mutation B($x: ID = \"}\") @c(d: {}) { b }";
        assert!(is_mutation(both, Some("B")) && !is_mutation(both, Some("A")));
        assert!(!is_mutation("mutation @B { a }", Some("B")) && !is_mutation("mutation ($a: B) { a }", Some("B")));
    }

    #[test]
    fn what_is_long_keeps_both_ends() {
        let written = write(
            json!({ "query": format!("first {} last", "ü".repeat(9_000)), "variables": { "ref": "acme/shop#1" } }),
        );
        assert!(written.chars().count() < 1_100, "{written}");
        for part in ["first", "last", "acme/shop#1", "characters"] {
            assert!(written.contains(part), "{part}: {written}");
        }
        let many: Vec<String> = (0..500).map(|number| format!("item {number}")).collect();
        let written = write(json!({ "items": many }));
        assert!(written.contains("item 0") && written.contains("item 499") && written.chars().count() < 1_100);
    }
}
