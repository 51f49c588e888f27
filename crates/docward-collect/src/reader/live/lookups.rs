//! References into collections of which a sample is read.
//!
//! Samples of two large collections have hardly any document in common, so they cannot tell that one refers to
//! the other. A few documents of each collection are kept as they come, and the `_id`s they may name are asked
//! for in the collections that were not read whole: by index, some hundred documents at most for each pair.

use std::collections::BTreeMap;

use docward_profile::{Links, Lookup, MANY, Profiler};
use mongodb::bson::{Bson, RawBsonRef, RawDocument, oid::ObjectId};

use super::{super::Reader, Deployment, catalogue::Listed, trouble::words};
use crate::engine::Slot;

/// Documents kept of a collection, and their bytes.
const KEPT: usize = 128;
const KEPT_BYTES: usize = 512 * 1024;
/// Bytes kept of all collections together.
const ALL_BYTES: usize = 32 * 1024 * 1024;
/// Values of a field that are looked up.
const VALUES: usize = 128;
/// Bytes that one question may bring, as far as the mean size of a document tells.
const ANSWER: u64 = 2 * 1024 * 1024;
/// Values asked for at a time.
const AT_ONCE: u64 = 32;
/// Questions to one deployment.
const QUESTIONS: usize = 2_000;

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
        let only_by_name = collections.len() > MANY;
        let mut questions = 0;
        for from in collections {
            let (Some(some), Some(referring)) =
                (kept.collections.get(&from.slot), links.get(&from.slot))
            else {
                continue;
            };
            for to in &targets {
                let Some(target) = links.get(&to.slot) else { continue };
                let fields =
                    referring.may_refer(&from.namespace, &to.namespace, target, only_by_name);
                let mut found: Vec<Vec<u8>> = Vec::new();
                for path in &fields {
                    let values = values_at(&some.documents, &path.dotted());
                    let asked = self.found(deployment, to, &values, &mut questions);
                    match asked {
                        Some(documents) => found.extend(documents),
                        None => return,
                    }
                }
                // What nothing was found of is no reference, or one of which everything is gone.
                if !found.is_empty() {
                    found.sort_unstable();
                    found.dedup();
                    self.table.lookups.push(Lookup {
                        from: from.namespace.clone(),
                        referring: referring.clone(),
                        to: to.namespace.clone(),
                        found: links_of(found.iter().map(Vec::as_slice)),
                    });
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
        let at_once = (ANSWER / average).clamp(1, AT_ONCE) as usize;
        let mut found = Vec::new();
        for some in values.chunks(at_once) {
            *questions += 1;
            if self.is_stopped() || *questions > QUESTIONS {
                return None;
            }
            let ids = some.iter().flat_map(|id| [Some(id.clone()), spelled(id)]).flatten();
            let asked = deployment.session.by_ids(&to.namespace, ids.collect());
            match deployment.session.wait(asked) {
                // The first few tell whether the field refers to this collection at all.
                Ok(documents) if documents.is_empty() && found.is_empty() => break,
                Ok(documents) => {
                    found.extend(documents.into_iter().map(|document| document.into_bytes()));
                }
                Err(error) => {
                    self.progress.note(&format!(
                        "{}: what other collections refer to was not looked up: {}",
                        to.namespace,
                        words(&error)
                    ));
                    return None;
                }
            }
        }
        Some(found)
    }
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

/// Different values that documents hold at a path, in arrays as well; not more than are looked up.
fn values_at(documents: &[Vec<u8>], path: &str) -> Vec<Bson> {
    let names: Vec<&str> = path.split('.').collect();
    let mut values = Vec::new();
    for document in documents {
        let Ok(document) = RawDocument::from_bytes(document) else { continue };
        let mut here = Vec::new();
        collect(RawBsonRef::Document(document), &names, &mut here);
        // Long lists would leave no room for the other documents.
        for value in here.into_iter().take(8) {
            if values.len() < VALUES && !values.contains(&value) {
                values.push(value);
            }
        }
    }
    values
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
        let large = vec![0; KEPT_BYTES / 4 + 1];
        for _ in 0..1_000 {
            kept.offer(Slot(1), &large);
        }
        assert_eq!(kept.collections[&Slot(1)].documents.len(), 3);
        for slot in 0..1_000 {
            kept.offer(Slot(slot), &large);
        }
        assert!(kept.bytes <= ALL_BYTES);
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
        let at = |path| values_at(&documents, path);
        assert_eq!(at("a.id"), [Bson::Int32(1)]);
        assert_eq!(at("items.id"), [2, 3, 4].map(Bson::Int32));
        assert_eq!(at("tags"), ["p".into(), Bson::from("q")]);
        assert!(at("items").iter().all(|value| *value == Bson::Int32(7)));
        assert!(at("gone.id").is_empty());
    }
}
