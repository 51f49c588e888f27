//! References into collections of which a sample is read.
//!
//! Samples of two large collections have hardly any document in common, so they cannot tell that one refers to
//! the other. A few documents of each collection are kept as they come, and the `_id`s they may name are asked
//! for in the collections that were not read whole: by index, some hundred documents at most for each pair.

use std::collections::BTreeMap;

use docward_profile::{Links, Lookup, MANY, Profiler};
use mongodb::bson::{Bson, RawBsonRef, RawDocument, RawDocumentBuf, oid::ObjectId};

use super::{
    super::Reader,
    Deployment,
    catalogue::Listed,
    documents::GLANCE,
    trouble::{LiveTrouble, words},
};
use crate::{engine::Slot, trouble::Trouble};

/// Documents kept of a collection, and their bytes.
const KEPT: usize = 128;
const KEPT_BYTES: usize = 512 * 1024;
/// Bytes kept of all collections together.
const ALL_BYTES: usize = 32 * 1024 * 1024;
/// Values of a field that are looked up.
const VALUES: usize = 512;
/// Bytes that one question may bring, as far as the mean size of a document tells.
const ANSWER: u64 = 2 * 1024 * 1024;
/// Values asked for at a time.
const AT_ONCE: u64 = 128;
/// A document as large as this is kept without its large parts, and looked up by its `_id` alone.
const LARGE: usize = 64 * 1024;
/// Bytes of a field that is kept of it.
const SMALL_FIELD: usize = 1024;
/// Questions to one deployment.
const QUESTIONS: usize = 5_000;

/// Some documents of each collection, each with the same chance as those before it.
#[derive(Default)]
pub(crate) struct Kept {
    collections: BTreeMap<Slot, Reservoir>,
    bytes: usize,
}

#[derive(Default)]
struct Reservoir {
    documents: Vec<Vec<u8>>,
    bytes: usize,
    seen: u64,
}

impl Kept {
    /// Takes a document that came, in place of another one when there are enough.
    pub(super) fn offer(&mut self, slot: Slot, document: &[u8]) {
        let trimmed;
        let document = if document.len() > LARGE {
            let Some(small) = without_large_fields(document) else { return };
            trimmed = small;
            trimmed.as_bytes()
        } else {
            document
        };
        let some = self.collections.entry(slot).or_default();
        some.seen += 1;
        let place = match some.documents.len() {
            full @ KEPT.. => match usize::try_from(mixed(some.seen) % some.seen) {
                Ok(place) if place < full => Some(place),
                _ => return,
            },
            _ => None,
        };
        let freed = place.map_or(0, |at| some.documents[at].len());
        if some.bytes - freed + document.len() > KEPT_BYTES
            || self.bytes - freed + document.len() > ALL_BYTES
        {
            return;
        }
        some.bytes = some.bytes - freed + document.len();
        self.bytes = self.bytes - freed + document.len();
        match place {
            Some(at) => some.documents[at] = document.to_vec(),
            None => some.documents.push(document.to_vec()),
        }
    }

    /// Forgets a collection that is read again.
    pub(super) fn forget(&mut self, slot: Slot) {
        if let Some(some) = self.collections.remove(&slot) {
            self.bytes -= some.bytes;
        }
    }
}

/// The same numbers in every run, and no pattern in them.
const fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

impl Reader<'_, '_, '_> {
    /// Whether documents are kept to look up what they refer to: not when all are read anyway.
    pub(super) fn looks_up(&self) -> bool {
        let request = self.request;
        !request.full && !request.documents_only && request.check.is_none()
    }

    /// Looks up what the documents that were kept may refer to.
    pub(super) fn look_up_references(&mut self, deployment: &Deployment, collections: &[Listed]) {
        let kept = std::mem::take(&mut self.kept);
        let is_part = |listed: &&Listed, reader: &mut Self| {
            let entry = reader.table.entry(listed.slot);
            entry.taken > 0 && !entry.whole && listed.has_documents
        };
        let targets: Vec<&Listed> = collections.iter().filter(|l| is_part(l, self)).collect();
        if targets.is_empty() || !self.looks_up() {
            return;
        }
        let links: BTreeMap<Slot, Links> = kept
            .collections
            .iter()
            .map(|(slot, some)| (*slot, links_of(some.documents.iter().map(Vec::as_slice))))
            .collect();
        let mut questions = 0;
        // What is named after a collection is asked first: there may be too much to ask.
        let passes: &[bool] = if collections.len() > MANY { &[true] } else { &[true, false] };
        for &named in passes {
            for from in collections {
                let (Some(some), Some(referring)) =
                    (kept.collections.get(&from.slot), links.get(&from.slot))
                else {
                    continue;
                };
                for to in &targets {
                    let Some(target) = links.get(&to.slot) else { continue };
                    let (here, there) = (&from.namespace, &to.namespace);
                    let by_name = referring.may_refer(here, there, target, true);
                    let paths = match named {
                        true => by_name,
                        false => {
                            let mut others = referring.may_refer(here, there, target, false);
                            others.retain(|path| !by_name.contains(path));
                            others
                        }
                    };
                    for path in paths {
                        let (documents, values) = values_at(&some.documents, &path.dotted());
                        let asked = self.found(deployment, to, &values, &mut questions);
                        let Some(found) = asked else { return };
                        // What nothing was found of is no reference, or one of which everything is gone.
                        if found.is_empty() {
                            continue;
                        }
                        let all = documents == some.documents.len();
                        self.table.lookups.push(Lookup {
                            from: here.clone(),
                            path: path.clone(),
                            referring: match all {
                                true => referring.clone(),
                                false => {
                                    links_of(some.documents[..documents].iter().map(Vec::as_slice))
                                }
                            },
                            to: there.clone(),
                            found: links_of(found.iter().map(Vec::as_slice)),
                        });
                    }
                }
            }
        }
    }

    /// The documents with these `_id`s; `None` when nothing more may be asked.
    fn found(
        &mut self,
        deployment: &Deployment,
        to: &Listed,
        values: &[Bson],
        questions: &mut usize,
    ) -> Option<Vec<Vec<u8>>> {
        let average = to.stats.map_or(0, |stats| stats.average_bytes).max(1);
        let ids_only = average > LARGE as u64;
        let room = if ids_only { AT_ONCE } else { ANSWER / average };
        let at_once = room.clamp(1, AT_ONCE) as usize;
        let mut found = Vec::new();
        for some in values.chunks(at_once) {
            *questions += 1;
            if *questions > QUESTIONS {
                self.progress.note(&format!(
                    "{}: not all that collections may refer to was looked up; --full finds what is missing",
                    deployment.session.name
                ));
                return None;
            }
            let ids = some.iter().flat_map(|id| [Some(id.clone()), spelled(id)]).flatten();
            let asked = deployment.session.by_ids(&to.namespace, ids.collect(), ids_only);
            let mut asked = std::pin::pin!(asked);
            let answer = loop {
                if self.is_stopped() {
                    return None;
                }
                let glance = async { tokio::time::timeout(GLANCE, &mut asked).await };
                if let Ok(answer) = deployment.session.wait(glance) {
                    break answer;
                }
            };
            match answer {
                // The first few tell whether the field refers to this collection at all.
                Ok(documents) if documents.is_empty() && found.is_empty() => break,
                Ok(documents) => {
                    found.extend(documents.into_iter().map(|document| document.into_bytes()));
                }
                Err(error) => {
                    let trouble = LiveTrouble::Failed {
                        what: format!("looking up what others refer to in {}", to.namespace),
                        why: words(&error),
                        rest: "references to it may be missing",
                    };
                    self.troubles.add_for(&*deployment.session.name, &Trouble::Live(trouble));
                    return Some(Vec::new());
                }
            }
        }
        Some(found)
    }
}

/// What a large document has of small fields: its `_id`, and most ids of others.
fn without_large_fields(document: &[u8]) -> Option<RawDocumentBuf> {
    let mut small = RawDocumentBuf::new();
    for field in RawDocument::from_bytes(document).ok()?.iter() {
        let (name, value) = field.ok()?;
        let bytes = match value {
            RawBsonRef::Array(array) => array.as_bytes().len(),
            RawBsonRef::Document(document) => document.as_bytes().len(),
            RawBsonRef::Binary(binary) => binary.bytes.len(),
            RawBsonRef::String(text) => text.len(),
            _ => 0,
        };
        if bytes <= SMALL_FIELD {
            small.append(name, value);
        }
    }
    Some(small)
}

fn links_of<'a>(documents: impl Iterator<Item = &'a [u8]>) -> Links {
    let mut profiler = Profiler::new();
    documents.for_each(|document| profiler.add_block(document, 0));
    profiler.finish().links
}

/// The id in its other form: hexadecimal text of an ObjectId, and an ObjectId written as text.
fn spelled(id: &Bson) -> Option<Bson> {
    match id {
        Bson::ObjectId(id) => Some(Bson::String(id.to_hex())),
        Bson::String(text) => ObjectId::parse_str(text).ok().map(Bson::ObjectId),
        _ => None,
    }
}

/// Different values that the first documents hold at a path, in arrays as well, and how many documents these are:
/// every value of theirs is looked up, and not more than a few hundred.
fn values_at(documents: &[Vec<u8>], path: &str) -> (usize, Vec<Bson>) {
    let names: Vec<&str> = path.split('.').collect();
    let mut values: Vec<Bson> = Vec::new();
    for (at, document) in documents.iter().enumerate() {
        let Ok(document) = RawDocument::from_bytes(document) else { continue };
        let mut here = Vec::new();
        collect(RawBsonRef::Document(document), &names, &mut here);
        here.retain(|value| !values.contains(value));
        // One long list is asked for as a whole, unless it is very long.
        let most = if values.is_empty() { 4 * VALUES } else { VALUES };
        if values.len() + here.len() > most {
            return (at, values);
        }
        for value in here {
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    (documents.len(), values)
}

fn collect(value: RawBsonRef<'_>, names: &[&str], values: &mut Vec<Bson>) {
    match (value, names) {
        (RawBsonRef::Array(array), _) => {
            array.into_iter().flatten().for_each(|element| collect(element, names, values));
        }
        (RawBsonRef::Document(document), [name, rest @ ..]) => {
            if let Ok(Some(inner)) = document.get(name) {
                collect(inner, rest, values);
            }
        }
        (RawBsonRef::Document(_) | RawBsonRef::Null | RawBsonRef::Undefined, []) => {}
        (value, []) => values.extend(Bson::try_from(value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{doc, rawdoc, serialize_to_vec};

    use super::*;

    #[test]
    fn each_document_has_the_same_chance_to_be_kept() {
        let mut kept = Kept::default();
        for n in 0..10_000_i32 {
            kept.offer(Slot(0), rawdoc! { "n": n }.as_bytes());
        }
        let some = &kept.collections[&Slot(0)];
        assert_eq!(some.documents.len(), KEPT);
        let late = some
            .documents
            .iter()
            .filter(|bytes| RawDocument::from_bytes(bytes).unwrap().get_i32("n").unwrap() >= 5_000);
        assert!((40..=88).contains(&late.count()), "half of them");
        kept.forget(Slot(0));
        assert!(kept.collections.is_empty() && kept.bytes == 0);
    }

    #[test]
    fn large_documents_are_not_hoarded() {
        let mut kept = Kept::default();
        let of_bytes = |n: usize| {
            serialize_to_vec(&doc! { "_id": 7, "owner": 9, "body": "x".repeat(n) }).unwrap()
        };
        let large = of_bytes(LARGE - 100);
        for _ in 0..1_000 {
            kept.offer(Slot(1), &large);
        }
        assert_eq!(kept.collections[&Slot(1)].documents.len(), 8);
        for slot in 0..1_000 {
            kept.offer(Slot(slot), &large);
        }
        assert!(kept.bytes <= ALL_BYTES);
        let mut kept = Kept::default();
        kept.offer(Slot(1), &of_bytes(4 * 1024 * 1024));
        let ids = serialize_to_vec(&doc! { "_id": 7, "owner": 9 }).unwrap();
        assert_eq!(kept.collections[&Slot(1)].documents, [ids], "what it refers to, not its text");
    }

    #[test]
    fn values_are_found_in_arrays_and_told_once() {
        let documents: Vec<Vec<u8>> = [
            doc! { "a": { "id": 1 }, "items": [{ "id": 2 }, { "id": 3 }, { "x": 1 }] },
            doc! { "a": { "id": 1 }, "items": [[{ "id": 4 }], 7], "tags": ["p", "q"] },
            doc! { "a": null, "items": { "id": 2 } },
        ]
        .iter()
        .map(|document| serialize_to_vec(document).unwrap())
        .collect();
        let at = |path| values_at(&documents, path).1;
        assert_eq!(at("a.id"), [Bson::Int32(1)]);
        assert_eq!(at("items.id"), [2, 3, 4].map(Bson::Int32));
        assert_eq!(at("tags"), ["p".into(), Bson::from("q")]);
        assert!(at("items").iter().all(|value| *value == Bson::Int32(7)));
        assert!(at("gone.id").is_empty());
        let long = |n: i32| {
            let ids: Vec<Bson> = (n..n + 300).map(Bson::Int32).collect();
            serialize_to_vec(&doc! { "ids": ids }).unwrap()
        };
        let (documents, values) = values_at(&[long(0), long(1000), long(2000)], "ids");
        assert_eq!((documents, values.len()), (1, 300), "all of the first, none of the second");
        let ids: Vec<Bson> = (0..3000).map(Bson::Int32).collect();
        let very_long = serialize_to_vec(&doc! { "ids": ids }).unwrap();
        assert_eq!(values_at(&[very_long], "ids"), (0, Vec::new()), "all or none");
    }
}
