//! Finds references into collections of which only a sample was read.
//!
//! Samples of two large collections have hardly any documents in common, so they cannot show that
//! one refers to the other. A few documents of each collection are kept. Their possible `_id`
//! references are looked up in the collections that were not read completely: by index, at most
//! some hundred documents per pair.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use docward_model::FieldPath;
use docward_profile::{Links, Lookup, MANY, Profiler};
use mongodb::{
    bson::{
        Bson, RawBsonRef, RawDocument, RawDocumentBuf, Uuid, doc, oid::ObjectId, serialize_to_vec,
    },
    error::Error,
};

use super::{
    super::Reader,
    Deployment,
    catalogue::Listed,
    driver_error::{is_gone, is_passing, is_silent, words},
    session::Asked,
};
use crate::{
    engine::Slot,
    trouble::{LiveTrouble, Trouble},
};

/// The number of documents kept per collection.
const KEPT: usize = 128;
const KEPT_BYTES: usize = 512 * 1024;
/// The maximum bytes kept of all collections together.
const ALL_BYTES: usize = 32 * 1024 * 1024;
/// The maximum number of values of a field to look up.
const VALUES: usize = 512;
/// The target size of a response in bytes, based on the mean document size.
const ANSWER: u64 = 2 * 1024 * 1024;
/// The maximum number of values per request.
const AT_ONCE: u64 = 128;
/// Documents of this size are kept without their large fields, and looked up by `_id` only.
const LARGE: usize = 64 * 1024;
/// The maximum size of a field kept from such a document.
const SMALL_FIELD: usize = 1024;
/// The number of values that are probed first, to see whether a field refers to a collection at
/// all.
const PROBED: usize = 8;
/// The number of values of several fields that are probed in one request.
const PROBED_TOGETHER: usize = 2048;
/// The maximum number of pairs of fields and collections to check.
const PAIRS: usize = 100_000;
/// The number of requests passed to the driver together.
const TOGETHER: usize = 32;
/// The number of unresponsive collections after which no more requests are sent.
const LOST: usize = 2;
/// The maximum number of requests to one deployment.
const QUESTIONS: usize = 5_000;

/// Some documents of each collection, kept with equal probability (reservoir sampling).
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
    /// Offers a document; it replaces another one at random if there are enough.
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

    /// Discards a collection that is read again.
    pub(super) fn forget(&mut self, slot: Slot) {
        if let Some(some) = self.collections.remove(&slot) {
            self.bytes -= some.bytes;
        }
    }
}

/// A pseudo-random number that is the same in every run.
const fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

impl Reader<'_, '_, '_> {
    /// Returns whether documents are kept to look up their references: not if everything is read
    /// anyway.
    pub(super) fn looks_up(&self) -> bool {
        let request = self.request;
        !request.full && !request.documents_only && request.check.is_none()
    }

    /// Looks up the documents that the kept documents may refer to.
    pub(super) fn look_up_references(
        &mut self,
        deployment: &Deployment<'_>,
        collections: &[Listed],
    ) {
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
        let mut asking = Asking::default();
        let mut settled = BTreeSet::new();
        // Fields named after a collection first: those that turn out to be references need not be
        // checked against all other collections.
        for named in [true, false] {
            let pairs = pairs(collections, &targets, &kept, &links, named, &settled);
            let Some(likely) = self.likely(deployment, pairs, &mut asking) else { return };
            for some in likely.chunks(TOGETHER) {
                let first = some.iter().map(|pair| pair.chunks().next().unwrap_or_default());
                let first: Vec<Asked> =
                    some.iter().zip(first).map(|(pair, ids)| pair.asked(ids)).collect();
                let Some(answers) = self.ask(deployment, first, &mut asking) else { return };
                for (pair, answer) in some.iter().zip(answers) {
                    let found = match self.whole(deployment, pair, answer, &mut asking) {
                        Some(Ok(found)) => found,
                        Some(Err(error)) => {
                            if !self.not_looked_up(deployment, pair.to, &error, &mut asking) {
                                return;
                            }
                            continue;
                        }
                        None => return,
                    };
                    // A field with no value found is not a reference, or all its targets are gone.
                    if !found.is_empty() {
                        self.table.lookups.push(pair.lookup(&kept, &links, &found));
                    }
                    if found.len() * 2 >= pair.values.values.len() {
                        settled.insert((pair.from.slot, pair.path));
                    }
                }
            }
        }
    }

    /// The pairs for which a few values are found. Most fields refer to none of the collections, so
    /// each collection is probed with some values of many fields at a time. `None` if no more
    /// requests may be sent.
    fn likely<'a>(
        &mut self,
        deployment: &Deployment<'_>,
        pairs: Vec<Pair<'a>>,
        asking: &mut Asking,
    ) -> Option<Vec<Pair<'a>>> {
        let mut probes = probes(pairs).into_iter();
        let mut likely = Vec::new();
        while !probes.as_slice().is_empty() {
            let mut some: Vec<Vec<Pair<'a>>> = probes.by_ref().take(TOGETHER).collect();
            some.retain(|pairs| pairs.iter().all(|pair| !asking.failed.contains(&pair.to.slot)));
            let asked = some.iter().map(|pairs| probe(pairs)).collect();
            let answers = self.ask(deployment, asked, asking)?;
            for (pairs, answer) in some.into_iter().zip(answers) {
                let found = match answer {
                    Ok(found) => found,
                    Err(error) => {
                        let to = pairs.first().map(|pair| pair.to)?;
                        if !self.not_looked_up(deployment, to, &error, asking) {
                            return None;
                        }
                        continue;
                    }
                };
                let found: BTreeSet<Vec<u8>> = found.iter().filter_map(key_of).collect();
                let is_found = |id: &Bson| key(id).is_some_and(|key| found.contains(&key));
                likely
                    .extend(pairs.into_iter().filter(|pair| pair.probed().any(|id| is_found(&id))));
            }
        }
        Some(likely)
    }

    /// Looks up all values of a pair, some of which have been probed before; `None` if no more
    /// requests may be sent.
    fn whole(
        &mut self,
        deployment: &Deployment<'_>,
        pair: &Pair<'_>,
        first: Answer,
        asking: &mut Asking,
    ) -> Option<Answer> {
        let mut found = Vec::new();
        let mut rest = pair.chunks().skip(1);
        let mut answer = first;
        loop {
            match answer {
                // The first few values show whether the field refers to this collection at all.
                Ok(documents) if documents.is_empty() && found.is_empty() => {
                    return Some(Ok(found));
                }
                Ok(documents) => found.extend(documents),
                Err(error) => return Some(Err(error)),
            }
            let Some(ids) = rest.next() else { return Some(Ok(found)) };
            let answers = self.ask(deployment, vec![pair.asked(ids)], asking)?;
            answer = answers.into_iter().next()?;
        }
    }

    /// Reports once that a collection does not respond; returns whether others may be asked.
    fn not_looked_up(
        &mut self,
        deployment: &Deployment<'_>,
        to: &Listed,
        error: &Error,
        asking: &mut Asking,
    ) -> bool {
        if asking.failed.insert(to.slot) {
            let trouble = LiveTrouble::Failed {
                what: format!("looking up what others refer to in {}", to.namespace),
                why: words(error),
                rest: "references to it may be missing",
            };
            self.troubles.add_for(&*deployment.session.name, &Trouble::Live(trouble));
        }
        // If the server is lost, other collections need not be asked.
        let is_lost = is_silent(error) || (is_passing(error) && !is_gone(error));
        !is_lost || asking.failed.len() <= LOST
    }

    /// Requests documents by their ids; `None` if no more requests may be sent.
    fn ask(
        &mut self,
        deployment: &Deployment<'_>,
        asked: Vec<Asked>,
        asking: &mut Asking,
    ) -> Option<Vec<Answer>> {
        asking.questions += asked.len();
        if asking.questions > QUESTIONS {
            self.progress.note(&format!(
                "{}: not all possible references were looked up; --full finds the others",
                deployment.session.name
            ));
            return None;
        }
        let answers = deployment.session.until_stopped(deployment.session.by_ids_of_many(asked));
        if answers.is_none() {
            self.progress.note(&format!(
                "{}: interrupted while looking up references; references between large \
                 collections may be missing",
                deployment.session.name
            ));
        }
        answers
    }
}

/// The state of the requests to one deployment.
#[derive(Default)]
struct Asking {
    questions: usize,
    /// Collections that did not respond.
    failed: BTreeSet<Slot>,
}

type Answer = Result<Vec<RawDocumentBuf>, Error>;

/// All values of a field in the first kept documents.
struct Values {
    documents: usize,
    values: Vec<Bson>,
}

/// A field of a collection, and another collection that it may refer to.
struct Pair<'a> {
    from: &'a Listed,
    path: &'a FieldPath,
    to: &'a Listed,
    values: Rc<Values>,
    /// True if the field is named after the collection.
    named: bool,
}

impl Pair<'_> {
    /// Returns whether the documents are so large that only their ids are requested.
    fn ids_only(&self) -> bool {
        self.average() > LARGE as u64
    }

    fn average(&self) -> u64 {
        self.to.stats.map_or(0, |stats| stats.average_bytes).max(1)
    }

    /// The values, split so that responses are not too large.
    fn chunks(&self) -> std::slice::Chunks<'_, Bson> {
        let room = if self.ids_only() { AT_ONCE } else { ANSWER / self.average() };
        self.values.values.chunks(room.clamp(1, AT_ONCE) as usize)
    }

    fn asked(&self, ids: &[Bson]) -> Asked {
        let ids = ids.iter().flat_map(|id| [Some(id.clone()), spelled(id)]).flatten();
        (self.to.namespace.clone(), ids.collect(), self.ids_only())
    }

    /// The first few values, also in their other representation if the name says that they are ids.
    fn probed(&self) -> impl Iterator<Item = Bson> {
        let first = self.values.values.iter().take(PROBED);
        first.flat_map(|id| [Some(id.clone()), spelled(id).filter(|_| self.named)]).flatten()
    }

    fn lookup(
        &self,
        kept: &Kept,
        links: &BTreeMap<Slot, Links>,
        found: &[RawDocumentBuf],
    ) -> Lookup {
        let documents = self.values.documents;
        let some = &kept.collections[&self.from.slot].documents;
        Lookup {
            from: self.from.namespace.clone(),
            path: self.path.clone(),
            referring: match documents == some.len() {
                true => links[&self.from.slot].clone(),
                false => links_of(some[..documents].iter().map(Vec::as_slice)),
            },
            to: self.to.namespace.clone(),
            found: links_of(found.iter().map(|document| document.as_bytes())),
        }
    }
}

/// The pairs of one target collection, split into requests.
fn probes(pairs: Vec<Pair<'_>>) -> Vec<Vec<Pair<'_>>> {
    let mut by_target: BTreeMap<Slot, Vec<Pair<'_>>> = BTreeMap::new();
    for pair in pairs {
        by_target.entry(pair.to.slot).or_default().push(pair);
    }
    let mut probes = Vec::new();
    for pairs in by_target.into_values() {
        let mut pairs = pairs.into_iter().peekable();
        while pairs.peek().is_some() {
            probes.push(pairs.by_ref().take(PROBED_TOGETHER / PROBED).collect());
        }
    }
    probes
}

/// The request for the first few values of fields, all for the same target collection.
fn probe(pairs: &[Pair<'_>]) -> Asked {
    let mut known = BTreeSet::new();
    let ids = pairs.iter().flat_map(Pair::probed).filter(|id| known.insert(key(id))).collect();
    (pairs[0].to.namespace.clone(), ids, true)
}

/// A key for comparing ids; integers are equal in every numeric type.
fn key(id: &Bson) -> Option<Vec<u8>> {
    let id = match id {
        Bson::Int32(number) => Bson::Int64(i64::from(*number)),
        Bson::Double(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            Bson::Int64(*number as i64)
        }
        id => id.clone(),
    };
    serialize_to_vec(&doc! { "_id": id }).ok()
}

fn key_of(document: &RawDocumentBuf) -> Option<Vec<u8>> {
    key(&Bson::try_from(document.get("_id").ok()??).ok()?)
}

/// The pairs of fields and collections to look up, matched by the name of the field or else by its
/// type.
fn pairs<'a>(
    collections: &'a [Listed],
    targets: &[&'a Listed],
    kept: &Kept,
    links: &'a BTreeMap<Slot, Links>,
    named: bool,
    settled: &BTreeSet<(Slot, &FieldPath)>,
) -> Vec<Pair<'a>> {
    let mut known: BTreeMap<(Slot, &FieldPath), Rc<Values>> = BTreeMap::new();
    let mut pairs = Vec::new();
    let mut databases: BTreeMap<&str, usize> = BTreeMap::new();
    for listed in collections {
        *databases.entry(&listed.namespace.database).or_default() += 1;
    }
    for from in collections {
        if !named && databases[from.namespace.database.as_str()] > MANY {
            continue;
        }
        let (Some(some), Some(referring)) =
            (kept.collections.get(&from.slot), links.get(&from.slot))
        else {
            continue;
        };
        for &to in targets {
            let Some(target) = links.get(&to.slot) else { continue };
            let (here, there) = (&from.namespace, &to.namespace);
            let mut paths = referring.may_refer(here, there, target, named);
            paths.retain(|path| !settled.contains(&(from.slot, path)));
            if !named {
                let by_name = referring.may_refer(here, there, target, true);
                paths.retain(|path| !by_name.contains(path));
            }
            for path in paths {
                let values = known.entry((from.slot, path)).or_insert_with(|| {
                    let (documents, values) = values_at(&some.documents, &path.dotted());
                    Rc::new(Values { documents, values })
                });
                if !values.values.is_empty() {
                    pairs.push(Pair { from, path, to, values: Rc::clone(values), named });
                }
                if pairs.len() >= PAIRS {
                    return pairs;
                }
            }
        }
    }
    pairs
}

/// The small fields of a large document: its `_id`, and most references.
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

/// The id in its other representation: an ObjectId, a UUID or an integer written as text, and the
/// reverse.
fn spelled(id: &Bson) -> Option<Bson> {
    match id {
        Bson::ObjectId(id) => Some(Bson::String(id.to_hex())),
        Bson::Int32(number) => Some(Bson::String(number.to_string())),
        Bson::Int64(number) => Some(Bson::String(number.to_string())),
        Bson::Binary(binary) => binary.to_uuid().ok().map(|uuid| Bson::String(uuid.to_string())),
        Bson::String(text) => {
            let number = || text.parse().ok().filter(|n: &i64| n.to_string() == *text);
            let uuid = || Uuid::parse_str(text).ok().filter(|_| text.len() == UUID_TEXT);
            let id = ObjectId::parse_str(text).ok().map(Bson::ObjectId);
            id.or_else(|| number().map(Bson::Int64)).or_else(|| uuid().map(Bson::from))
        }
        _ => None,
    }
}

/// The number of characters of a UUID with dashes.
const UUID_TEXT: usize = 36;

/// The distinct values of the first documents at a path, including those in arrays, and the number
/// of these documents. Every value of a document is looked up, up to a few hundred in total.
fn values_at(documents: &[Vec<u8>], path: &str) -> (usize, Vec<Bson>) {
    let names: Vec<&str> = path.split('.').collect();
    let mut values: Vec<Bson> = Vec::new();
    for (at, document) in documents.iter().enumerate() {
        let Ok(document) = RawDocument::from_bytes(document) else { continue };
        let mut here = Vec::new();
        collect(RawBsonRef::Document(document), &names, &mut here);
        here.retain(|value| !values.contains(value));
        // A single long list is looked up completely, unless it is very long.
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
    use mongodb::bson::rawdoc;

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
    fn dm_09_6_ids_have_another_form() {
        let uuid = Uuid::from_bytes([7; 16]);
        let id = ObjectId::from_bytes([7; 12]);
        for (stored, text) in [
            (Bson::Int64(42), "42".to_owned()),
            (Bson::ObjectId(id), id.to_hex()),
            (Bson::from(uuid), uuid.to_string()),
        ] {
            assert_eq!(spelled(&stored), Some(Bson::String(text.clone())));
            assert_eq!(spelled(&Bson::String(text)), Some(stored));
        }
        assert_eq!(spelled(&Bson::String("007".into())), None, "another key");
        assert_eq!(spelled(&Bson::Double(1.5)), None);
    }

    /// PT-ref.1: with very many collections in a database only names are matched; other databases
    /// do not count towards its size.
    #[test]
    fn only_names_count_where_a_database_has_very_many_collections() {
        let listed = |database: &str, n: usize, slot: usize| Listed {
            uuid: None,
            namespace: docward_model::Namespace::new(database, format!("t_{n}")),
            slot: Slot(slot),
            stats: None,
            has_documents: true,
            validator: None,
        };
        let mut collections: Vec<Listed> = (0..=MANY).map(|n| listed("db_many", n, n)).collect();
        collections.extend((0..2).map(|n| listed("db_few", n, MANY + 1 + n)));
        let mut kept = Kept::default();
        for listed in &collections {
            let id = ObjectId::new();
            let document = rawdoc! { "_id": id, "owner": ObjectId::new() };
            kept.offer(listed.slot, document.as_bytes());
        }
        let links: BTreeMap<Slot, Links> = kept
            .collections
            .iter()
            .map(|(slot, some)| (*slot, links_of(some.documents.iter().map(Vec::as_slice))))
            .collect();
        let targets: Vec<&Listed> = collections.iter().collect();
        let none = BTreeSet::new();
        let found = pairs(&collections, &targets, &kept, &links, false, &none);
        assert!(!found.is_empty());
        assert!(found.iter().all(|pair| pair.from.namespace.database == "db_few"));
        let path = found[0].path;
        let settled = BTreeSet::from([(found[0].from.slot, path)]);
        let rest = pairs(&collections, &targets, &kept, &links, false, &settled);
        assert!(rest.len() < found.len(), "what is known is not asked");
    }

    #[test]
    fn ids_are_found_whatever_type_their_number_has() {
        assert_eq!(key(&Bson::Int32(7)), key(&Bson::Int64(7)));
        assert_eq!(key(&Bson::Double(7.0)), key(&Bson::Int64(7)));
        assert_ne!(key(&Bson::Double(7.5)), key(&Bson::Int64(7)));
        assert_ne!(key(&Bson::from("7")), key(&Bson::Int64(7)));
        assert_eq!(key_of(&rawdoc! { "_id": 7 }), key(&Bson::Int64(7)));
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
