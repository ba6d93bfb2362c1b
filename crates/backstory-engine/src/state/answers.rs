//! Answers that were given last, kept while the ledger is unchanged, so that a conversation can begin with one: a language
//! model would word another.

use std::collections::VecDeque;

use backstory_model::{answer::Answer, visibility::Visibility};

/// Answers that are kept.
const KEPT: usize = 64;

/// Who asked, what they see, and what they asked, as JSON.
pub(crate) type AnswerKey = (String, Visibility, String);

/// The answers that were given last, as of a change of the ledger.
#[derive(Default)]
pub(crate) struct AnswerCache {
    seq: u64,
    /// The newest last.
    answers: VecDeque<(AnswerKey, Answer)>,
}

impl AnswerCache {
    pub(crate) fn get(&self, seq: u64, key: &AnswerKey) -> Option<Answer> {
        let known = self.answers.iter().find(|(given, _)| self.seq == seq && given == key);
        known.map(|(_, answer)| answer.clone())
    }

    pub(crate) fn keep(&mut self, seq: u64, key: AnswerKey, answer: &Answer) {
        if seq < self.seq {
            return;
        }
        if self.seq != seq {
            *self = Self { seq, ..Self::default() };
        }
        self.answers.retain(|(given, _)| *given != key);
        self.answers.push_back((key, answer.clone()));
        if self.answers.len() > KEPT {
            self.answers.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_answers_are_kept_for_who_asked_until_something_changes() {
        let mut cache = AnswerCache::default();
        let key = |who: &str, question: &str| (who.to_owned(), Visibility::public(), question.to_owned());
        let answer = |question: &str| Answer { question: question.to_owned(), ..Answer::default() };
        cache.keep(1, key("local", "a"), &answer("first"));
        cache.keep(1, key("local", "a"), &answer("second"));
        assert_eq!(cache.get(1, &key("local", "a")), Some(answer("second")));
        assert_eq!(cache.get(1, &key("owner", "a")), None);
        assert_eq!(cache.get(2, &key("local", "a")), None);
        for number in 0..KEPT {
            cache.keep(1, key("local", &number.to_string()), &answer("other"));
        }
        assert_eq!(cache.get(1, &key("local", "a")), None);
        cache.keep(2, key("local", "b"), &answer("third"));
        assert_eq!((cache.get(1, &key("local", "0")), cache.answers.len()), (None, 1));
        cache.keep(1, key("local", "late"), &answer("of before"));
        assert_eq!(
            (cache.get(1, &key("local", "late")), cache.get(2, &key("local", "b"))),
            (None, Some(answer("third")))
        );
    }
}
