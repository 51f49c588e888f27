//! Checks many documents against one validator: the number that fail, the broken constraints, and
//! the failing documents.
//!
//! Mergeable: the result does not depend on how documents were distributed.

use std::{
    borrow::Cow,
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use docward_bson::walk::{self, Elements, Fault, i32_at};
use docward_model::{Checked, CheckedBreach, CheckedId};

use crate::{
    Validator,
    value::{Raw, told},
};

/// The maximum number of constraints that are counted separately; names of unknown fields are data
/// and unlimited in number.
const MAX_BREACHES: usize = 1000;
/// The maximum number of names in one object that are counted separately.
const MAX_NAMES: usize = 20;
/// The number of documents listed for each.
const MAX_IDS: usize = 10;
/// Longer ids are truncated.
const LONGEST_ID: usize = 200;

/// Counts the documents that fail a validator.
#[derive(Clone, Debug)]
pub struct Tally {
    validator: Arc<Validator>,
    documents: u64,
    bytes: u64,
    refused: u64,
    breaches: BTreeMap<(String, String), Breach>,
    others: u64,
    faults: Vec<(u64, Fault)>,
}

/// Documents that fail one constraint, with the first of them by position.
#[derive(Clone, Debug, Default)]
struct Breach {
    documents: u64,
    first: Vec<(u64, CheckedId)>,
}

impl Breach {
    fn add(&mut self, documents: u64, first: impl IntoIterator<Item = (u64, CheckedId)>) {
        self.documents += documents;
        self.first.extend(first);
        self.first.sort();
        // Constraints that are counted together may list one document several times.
        self.first.dedup();
        self.first.truncate(MAX_IDS);
    }
}

impl Tally {
    /// Creates an empty tally.
    pub fn new(validator: Arc<Validator>) -> Self {
        Self {
            validator,
            documents: 0,
            bytes: 0,
            refused: 0,
            breaches: BTreeMap::new(),
            others: 0,
            faults: Vec::new(),
        }
    }

    /// The number of documents checked.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The size of the documents in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of documents that fail the validator.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Takes the documents that could not be read since the last call, by position.
    pub fn take_faults(&mut self) -> Vec<(u64, Fault)> {
        std::mem::take(&mut self.faults)
    }

    /// Checks contiguous whole documents; the first is at `position`.
    pub fn add_block(&mut self, block: &[u8], position: u64) {
        let mut at = 0;
        while at < block.len() {
            let here = position + at as u64;
            match walk::document_end(block, at, block.len()) {
                Ok(end) => {
                    self.add(&block[at..end], here);
                    at = end;
                }
                Err(kind) => {
                    self.faults.push((here, Fault::new(0, kind)));
                    // The length itself may be valid although the last byte is not NUL.
                    match i32_at(block, at).and_then(|length| usize::try_from(length).ok()) {
                        Some(length) if length >= 5 && at + length <= block.len() => at += length,
                        _ => return,
                    }
                }
            }
        }
    }

    /// Checks one document.
    pub fn add(&mut self, document: &[u8], position: u64) {
        match self.judge(document, position) {
            Ok(()) => {
                self.documents += 1;
                self.bytes += document.len() as u64;
            }
            Err(fault) => self.faults.push((position, fault)),
        }
    }

    fn judge(&mut self, document: &[u8], position: u64) -> Result<(), Fault> {
        let stored = as_stored(document)?;
        if self.validator.accepts(&stored)? {
            return Ok(());
        }
        let violations = self.validator.violations(&stored)?;
        let id = id_of(document)?;
        self.refused += 1;
        for violation in violations {
            let key = (violation.path, violation.keyword);
            self.note(key, 1, [(position, id.clone())]);
        }
        Ok(())
    }

    fn note(
        &mut self,
        key: (String, String),
        documents: u64,
        first: impl IntoIterator<Item = (u64, CheckedId)>,
    ) {
        let is_full = self.breaches.len() >= MAX_BREACHES;
        match self.breaches.entry(key) {
            Entry::Vacant(_) if is_full => self.others += documents,
            entry => entry.or_default().add(documents, first),
        }
    }

    /// Merges another tally of the same validator.
    pub fn merge(&mut self, other: Self) {
        self.documents += other.documents;
        self.bytes += other.bytes;
        self.refused += other.refused;
        self.others += other.others;
        self.faults.extend(other.faults);
        for (key, breach) in other.breaches {
            self.note(key, breach.documents, breach.first);
        }
    }

    /// The result.
    pub fn finish(self) -> Checked {
        let mut breaches: Vec<_> = folded(self.breaches, self.refused)
            .into_iter()
            .map(|((path, keyword), breach)| CheckedBreach {
                path,
                keyword,
                documents: breach.documents,
                ids: breach.first.into_iter().map(|(_, id)| id).collect(),
            })
            .collect();
        breaches.sort_by(|a, b| {
            (b.documents, &a.path, &a.keyword).cmp(&(a.documents, &b.path, &b.keyword))
        });
        Checked {
            documents: self.documents,
            refused: self.refused,
            examined: self.refused,
            breaches,
            others: self.others,
        }
    }
}

/// If many fields of one object fail under different names, the names are data: they are counted
/// together, as `*`. Required fields are excluded, because the schema names them.
fn folded(
    breaches: BTreeMap<(String, String), Breach>,
    refused: u64,
) -> BTreeMap<(String, String), Breach> {
    let around =
        |path: &str| path.rfind('.').map_or_else(String::new, |dot| path[..dot].to_owned());
    let mut names: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (path, keyword) in breaches.keys() {
        *names.entry((around(path), keyword.clone())).or_default() += 1;
    }
    let mut out: BTreeMap<(String, String), Breach> = BTreeMap::new();
    for ((path, keyword), breach) in breaches {
        let parent = (around(&path), keyword);
        let is_data =
            parent.1 != "required" && names.get(&parent).is_some_and(|count| *count > MAX_NAMES);
        let path = match (is_data, parent.0.as_str()) {
            (false, _) => path,
            (true, "") => "*".to_owned(),
            (true, parent) => format!("{parent}.*"),
        };
        let entry = out.entry((path, parent.1)).or_default();
        entry.add(breach.documents, breach.first);
        entry.documents = entry.documents.min(refused);
    }
    out
}

/// A document in its stored form: the server adds an `_id` if it has none.
pub fn as_stored(document: &[u8]) -> Result<Cow<'_, [u8]>, Fault> {
    const ID: &[u8] = b"\x07_id\0\0\0\0\0\0\0\0\0\0\0\0\0";
    // Nearly always it is the first field.
    if document.get(5..9) == Some(b"_id\0") {
        return Ok(Cow::Borrowed(document));
    }
    for element in Elements::new(document)? {
        if element?.key == b"_id" {
            return Ok(Cow::Borrowed(document));
        }
    }
    let length = u32::try_from(document.len() + ID.len()).unwrap_or(u32::MAX);
    let mut stored = length.to_le_bytes().to_vec();
    stored.extend_from_slice(ID);
    stored.extend_from_slice(document.get(4..).unwrap_or_default());
    Ok(Cow::Owned(stored))
}

/// The `_id` of a document.
fn id_of(document: &[u8]) -> Result<CheckedId, Fault> {
    for element in Elements::new(document)? {
        let element = element?;
        if element.key == b"_id" {
            let is_uuid = element.tag == 0x05 && matches!(element.value.get(4), Some(3 | 4));
            let is_opaque = is_uuid || matches!(element.tag, 0x07 | 0x10 | 0x12);
            let mut text = told(Raw::from(element));
            if let Some((cut, _)) = text.char_indices().nth(LONGEST_ID) {
                text.truncate(cut);
                text.push('…');
            }
            return Ok(CheckedId { text, is_opaque });
        }
    }
    Ok(CheckedId { text: "no _id".to_owned(), is_opaque: true })
}
