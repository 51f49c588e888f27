//! The fields that an object schema names, found by name. Documents usually have them in the order
//! of the schema, so the next one is tried before the table is searched.

use std::collections::HashMap;

/// A field by name.
#[derive(Debug)]
pub(crate) struct Named {
    name: Box<[u8]>,
    /// The index of the property.
    pub(crate) property: Option<usize>,
    /// True if the field is required.
    pub(crate) required: bool,
    /// True if the name is a path through objects rather than the name of a field.
    pub(crate) is_path: bool,
}

/// All named fields of an object.
#[derive(Debug, Default)]
pub(crate) struct Names {
    entries: Vec<Named>,
    places: HashMap<Box<[u8]>, usize>,
}

impl Names {
    /// The field with this name; added if new.
    pub(crate) fn entry(&mut self, name: &[u8]) -> &mut Named {
        let at = match self.places.get(name) {
            Some(&at) => at,
            None => {
                self.places.insert(name.into(), self.entries.len());
                let is_path = name.contains(&b'.');
                let new = Named { name: name.into(), property: None, required: false, is_path };
                self.entries.push(new);
                self.entries.len() - 1
            }
        };
        &mut self.entries[at]
    }

    /// The field with this name and its index; `next` is the index to try first.
    #[inline]
    pub(crate) fn find(&self, name: &[u8], next: &mut usize) -> Option<(usize, &Named)> {
        if let Some(guess) = self.entries.get(*next)
            && *guess.name == *name
        {
            *next += 1;
            return Some((*next - 1, guess));
        }
        let &at = self.places.get(name)?;
        *next = at + 1;
        Some((at, &self.entries[at]))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// The set of fields that were found. It needs no allocation for the usual number of fields.
pub(crate) struct Met {
    few: [u64; 2],
    more: Vec<u64>,
}

impl Met {
    pub(crate) fn none_of(count: usize) -> Self {
        let more = if count > 128 { vec![0; count.div_ceil(64)] } else { Vec::new() };
        Self { few: [0; 2], more }
    }

    /// Returns whether this is the first occurrence.
    #[inline]
    pub(crate) fn is_first(&mut self, at: usize) -> bool {
        let words = if self.more.is_empty() { &mut self.few[..] } else { &mut self.more[..] };
        let Some(word) = words.get_mut(at / 64) else { return false };
        let bit = 1_u64 << (at % 64);
        let is_first = *word & bit == 0;
        *word |= bit;
        is_first
    }
}
