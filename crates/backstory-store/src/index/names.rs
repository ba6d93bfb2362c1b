//! Ids and names, each in memory once and known by a number: of a document, its passages, what is in it and what refers to
//! it. They are in one text, as an allocation for each would take as much memory again, and most of the time of a start.

use std::{ops::Range, sync::Arc};

use hashbrown::HashTable;
use parking_lot::{RwLock, RwLockReadGuard};

use super::{
    image::{Image, ImageError},
    numbered::{NO_NAME, Name},
};

/// Names that are there once. Clones are the same. Their lock is taken last: who waits for another one has it not.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Arc<RwLock<Texts>>);

/// The texts of names.
#[derive(Debug, Default)]
pub(super) struct Texts {
    text: String,
    /// Where each name is in the text: where it begins, and how many bytes it has.
    begins: Vec<u64>,
    lengths: Vec<u32>,
    /// Numbers that are free.
    free: Vec<Name>,
    by_text: HashTable<Name>,
    hasher: ahash::RandomState,
}

impl Names {
    /// The texts of names, to be read by number.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Texts> {
        // Who has them may call somebody who reads them too.
        self.0.read_recursive()
    }

    /// The number of a name, if it is there.
    pub(super) fn find(&self, name: &str) -> Option<Name> {
        self.read().find(name)
    }

    /// The number of a name, which is there from now on.
    pub(super) fn intern(&self, name: &str) -> Name {
        match self.find(name) {
            Some(known) => known,
            None => self.0.write().intern(name),
        }
    }

    /// Takes over the names of an image. There must be none yet.
    pub(super) fn restore(&self, image: &Image) -> Result<(), ImageError> {
        let mut texts = self.0.write();
        let (text, ends) = image.names()?;
        let mut begin = 0;
        texts.begins.reserve(ends.len());
        texts.lengths.reserve(ends.len());
        for end in ends {
            texts.begins.push(begin as u64);
            texts.lengths.push(u32::try_from(end - begin).map_err(|_| ImageError::Damaged("the length of a name"))?);
            begin = end;
        }
        texts.text = text.to_owned();
        texts.index();
        Ok(())
    }

    /// Forgets the names that nobody has: those that are not among the numbers. Nobody may take one meanwhile.
    pub(super) fn retain(&self, used: &[bool]) {
        self.0.write().retain(used);
    }
}

impl Texts {
    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        self.begins.len()
    }

    /// A name by its number.
    pub(super) fn of(&self, name: Name) -> &str {
        &self.text[self.range(name as usize)]
    }

    fn range(&self, at: usize) -> Range<usize> {
        let begin = self.begins[at] as usize;
        begin..begin + self.lengths[at] as usize
    }

    pub(super) fn find(&self, name: &str) -> Option<Name> {
        self.by_text.find(self.hasher.hash_one(name), |known| self.of(*known) == name).copied()
    }

    fn intern(&mut self, name: &str) -> Name {
        if let Some(known) = self.find(name) {
            return known;
        }
        let (begin, length) = (self.text.len() as u64, u32::try_from(name.len()).unwrap_or(u32::MAX));
        let number = if let Some(free) = self.free.pop() {
            (self.begins[free as usize], self.lengths[free as usize]) = (begin, length);
            free
        } else {
            self.begins.push(begin);
            self.lengths.push(length);
            Name::try_from(self.begins.len() - 1).unwrap_or(NO_NAME)
        };
        self.text.push_str(name);
        let Self { text, begins, lengths, by_text, hasher, .. } = self;
        by_text.insert_unique(hasher.hash_one(name), number, |known| {
            let begin = begins[*known as usize] as usize;
            hasher.hash_one(&text[begin..begin + lengths[*known as usize] as usize])
        });
        number
    }

    /// Makes the table by which numbers are found.
    fn index(&mut self) {
        let mut free = vec![false; self.len()];
        self.free.iter().for_each(|number| free[*number as usize] = true);
        let mut by_text = HashTable::with_capacity(self.len() - self.free.len());
        for number in (0..).take(self.len()).filter(|number| !free[*number as usize]) {
            let hash = self.hasher.hash_one(self.of(number));
            by_text.insert_unique(hash, number, |known| self.hasher.hash_one(self.of(*known)));
        }
        self.by_text = by_text;
    }

    fn retain(&mut self, used: &[bool]) {
        let mut text = String::new();
        let mut free = Vec::new();
        for number in 0..self.len() {
            let begin = text.len() as u64;
            if used.get(number).copied().unwrap_or(false) {
                text.push_str(&self.text[self.range(number)]);
            } else {
                self.lengths[number] = 0;
                free.push(Name::try_from(number).unwrap_or(NO_NAME));
            }
            self.begins[number] = begin;
        }
        text.shrink_to_fit();
        (self.text, self.free) = (text, free);
        self.index();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_there_once_and_as_long_as_it_is_used() {
        let names = Names::default();
        let (ann, bob) = (names.intern("ann"), names.intern("bob"));
        assert_eq!((names.intern("ann"), names.intern("")), (ann, 2));
        names.retain(&[true, false, false]);
        assert_eq!((names.find("ann"), names.find("bob"), names.find("")), (Some(ann), None, None));
        let texts = names.read();
        assert_eq!((texts.text.as_str(), texts.of(ann)), ("ann", "ann"));
        drop(texts);
        let (cid, eve) = (names.intern("cid"), names.intern("eve"));
        assert_eq!((names.read().of(cid), names.read().of(eve), names.read().of(ann)), ("cid", "eve", "ann"));
        assert!(cid != eve && [bob, 2].contains(&cid) && [bob, 2].contains(&eve), "numbers are used again");
        for number in 0..1_000 {
            let name = number.to_string();
            let known = names.intern(&name);
            assert_eq!((names.find(&name), names.read().of(known)), (Some(known), name.as_str()));
        }
    }
}
