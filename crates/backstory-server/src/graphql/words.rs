//! Words of stores and engine as values of the API's enumerations.

use async_graphql::resolver_utils::EnumType;

/// The value of an enumeration that a word stands for: `merge_request` and `MergeRequest` stand for `MERGE_REQUEST`. `None`
/// if there is no such value.
pub(super) fn value_of<T: EnumType>(word: &str) -> Option<T> {
    let wanted = letters(word);
    T::items().iter().find(|item| letters(item.name) == wanted).map(|item| item.value)
}

/// The name of the value of an enumeration that a word stands for; the word itself if there is no such value.
pub(super) fn name_of<T: EnumType>(word: String) -> String {
    let wanted = letters(&word);
    T::items().iter().find(|item| letters(item.name) == wanted).map_or(word, |item| item.name.to_owned())
}

fn letters(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_uppercase()).collect()
}

#[cfg(test)]
mod tests {
    use backstory_engine::model::{classify, code, document_type, entity, filter};

    use super::{super::names, *};

    fn check<T: EnumType + From<M>, M: Copy>(all: &[M], word: fn(M) -> &'static str) {
        for value in all {
            assert!(value_of::<T>(word(*value)) == Some(T::from(*value)), "{}", word(*value));
        }
    }

    #[test]
    fn every_word_of_the_stores_stands_for_its_value() {
        check::<names::State, _>(&entity::State::ALL, entity::State::as_str);
        check::<names::ChangeType, _>(&classify::ChangeType::ALL, classify::ChangeType::as_str);
        check::<names::DocumentType, _>(&document_type::DocumentType::ALL, document_type::DocumentType::as_str);
        check::<names::DocumentKind, _>(&filter::DocumentKind::ALL, filter::DocumentKind::as_str);
        let kinds = [code::EntityKind::Function, code::EntityKind::TypeAlias, code::EntityKind::TestSuite];
        check::<names::EntityKind, _>(&kinds, code::EntityKind::as_str);
        assert_eq!(name_of::<names::DocumentType>("merge_request".to_owned()), "MERGE_REQUEST");
        assert_eq!(name_of::<names::State>("Haskell".to_owned()), "Haskell");
        assert!(value_of::<names::State>("").is_none());
    }
}
