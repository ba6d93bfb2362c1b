//! What language models wrote of commits, issues and merge requests on request, and what people wrote about nodes: where it
//! is kept, and how it gets into the graph. Writing it is [`enrich`](crate::enrich); summaries are in [`summary`](crate::summary).

pub(crate) mod annotations;
pub(crate) mod design_notes;
pub(crate) mod projection;
pub(crate) mod results;

pub use annotations::Annotation;
pub use results::{CommitClassification, ThreadNotes};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The JSON object in an answer, whatever stands around it.
///
/// # Errors
/// There is none of that shape.
pub(crate) fn object<T: DeserializeOwned>(answer: &str) -> std::result::Result<T, String> {
    let none = || "it has no JSON object".to_owned();
    let (start, end) = answer.find('{').zip(answer.rfind('}')).filter(|(start, end)| start < end).ok_or_else(none)?;
    let value: Value = serde_json::from_str(&answer[start..=end]).map_err(|_| none())?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// A text in which nothing can look like the line that ends it.
pub(crate) fn escape_fence(text: &str) -> String {
    text.replace("<<<", "< < <").replace(">>>", "> > >")
}

/// The first bytes of a text.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most { text.to_owned() } else { format!("{}…", &text[..text.floor_char_boundary(most)]) }
}

/// A share in hundredths: more would pretend to know more.
pub(crate) fn hundredths(share: f32) -> f32 {
    (share * 100.0).round() / 100.0
}
