//! Values that some names have.

use super::numbered::Name;

/// The values, one after the other, and where each name's is. A map would take twice as much memory.
#[derive(Debug)]
pub(super) struct ByName<T> {
    values: Vec<(Name, T)>,
    /// By the number of a name.
    places: Vec<u32>,
}

/// Stands for a value that is absent.
const NOWHERE: u32 = u32::MAX;

impl<T> ByName<T> {
    pub(super) fn with_capacity(values: usize) -> Self {
        Self { values: Vec::with_capacity(values), places: Vec::new() }
    }

    fn place(&self, name: Name) -> Option<usize> {
        self.places.get(name as usize).filter(|place| **place != NOWHERE).map(|place| *place as usize)
    }

    pub(super) fn get(&self, name: Name) -> Option<&T> {
        self.place(name).map(|place| &self.values[place].1)
    }

    /// Returns the value that the name had before.
    pub(super) fn insert(&mut self, name: Name, value: T) -> Option<T> {
        if let Some(place) = self.place(name) {
            return Some(std::mem::replace(&mut self.values[place].1, value));
        }
        if self.places.len() <= name as usize {
            self.places.resize(name as usize + 1, NOWHERE);
        }
        self.places[name as usize] = u32::try_from(self.values.len()).unwrap_or(NOWHERE);
        self.values.push((name, value));
        None
    }

    pub(super) fn remove(&mut self, name: Name) -> Option<T> {
        let place = self.place(name)?;
        let (_, value) = self.values.swap_remove(place);
        if let Some((moved, _)) = self.values.get(place) {
            self.places[*moved as usize] = self.places[name as usize];
        }
        self.places[name as usize] = NOWHERE;
        Some(value)
    }

    /// In no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Name, &T)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }
}

impl<T> FromIterator<(Name, T)> for ByName<T> {
    fn from_iter<I: IntoIterator<Item = (Name, T)>>(values: I) -> Self {
        let values = values.into_iter();
        let mut all = Self::with_capacity(values.size_hint().0);
        values.for_each(|(name, value)| drop(all.insert(name, value)));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn it_is_a_map() {
        let (mut all, mut expected) = (ByName::with_capacity(0), HashMap::new());
        let mut random = fastrand::Rng::with_seed(1);
        for value in 0..2_000 {
            let name = random.u32(..50);
            if random.bool() {
                assert_eq!(all.insert(name, value), expected.insert(name, value));
            } else {
                assert_eq!(all.remove(name), expected.remove(&name));
            }
            assert_eq!((all.get(name), all.get(60)), (expected.get(&name), None));
        }
        assert_eq!(all.iter().map(|(name, value)| (name, *value)).collect::<HashMap<_, _>>(), expected);
        let again: ByName<i32> = expected.clone().into_iter().collect();
        assert!(expected.iter().all(|(name, value)| again.get(*name) == Some(value)));
    }
}
