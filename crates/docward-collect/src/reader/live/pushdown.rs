//! Figures over all documents of a collection, computed by the server: sizes, types of top-level
//! fields, lengths of arrays. A sharded cluster computes on all shards at a time and transfers only
//! sums.
//!
//! Two passes, each a `$group` without a sort and within the server's memory limit for a group;
//! nothing is written to its disk.

use std::collections::BTreeMap;

use docward_model::{BsonType, Counted, CountedField, Distribution};
use docward_profile::SIZE_TIERS;
use mongodb::{
    bson::{Bson, Document, doc},
    error::Error,
};

use super::{
    super::Reader,
    Deployment,
    catalogue::Listed,
    driver_error::{code, is_gone},
    privileges::Resource,
    session::{Read, number},
};
use crate::trouble::{LiveTrouble, Trouble};

/// The maximum number of groups of field, type and length to transfer.
const MAX_GROUPS: i32 = 20_000;

/// The message for a collection with more groups.
const TOO_MANY: &str = "it has too many different field names to count, probably because the \
 names are data: see D010 in a sample";

/// The rule book's array limit: arrays with this many elements are counted exactly.
const LONG: i64 = 1000;

/// The version that introduced `$bsonSize`.
const SINCE: (u32, u32) = (4, 4);

impl Reader<'_, '_, '_> {
    /// Lets the server compute the figures, if requested.
    pub(super) fn push_down(&mut self, deployment: &mut Deployment<'_>, listed: &Listed) {
        if !self.request.pushdown || !listed.has_documents || self.is_stopped() {
            return;
        }
        if self.table.server_version.is_some_and(|version| version < SINCE) {
            let (major, minor) = self.table.server_version.unwrap_or_default();
            let why = format!(
                "this server ({major}.{minor}) cannot compute the sizes of documents, which needs \
                 4.4"
            );
            self.not_counted(deployment, listed, why);
            return;
        }
        match self.counted(deployment, listed) {
            None => {}
            Some(Ok(Some(counted))) if counted.documents == 0 => {}
            Some(Ok(Some(counted))) => {
                self.table.entry(listed.slot).counted = Some(Box::new(counted));
            }
            Some(Ok(None)) => self.not_counted(deployment, listed, TOO_MANY.to_owned()),
            Some(Err(error)) if is_gone(&error) => {}
            // The group exceeded the server's memory limit.
            Some(Err(error)) if matches!(code(&error), Some(292 | 16_945 | 16_820)) => {
                self.not_counted(deployment, listed, TOO_MANY.to_owned());
            }
            Some(Err(error)) => {
                let resource = Resource::Collection(listed.namespace.clone());
                let what = format!("counting in {}", listed.namespace);
                self.refused(deployment, resource, "find", &what, &error);
            }
        }
    }

    fn not_counted(&mut self, deployment: &Deployment<'_>, listed: &Listed, why: String) {
        let what = format!("counting in {}", listed.namespace);
        let rest = "what was read of it is in the report";
        let trouble = LiveTrouble::Failed { what, why, rest };
        self.troubles.add_for(deployment.session.name.clone(), &Trouble::Live(trouble));
    }

    /// The figures; `None` inside if there are too many groups, and outside if the run was stopped.
    fn counted(
        &mut self,
        deployment: &Deployment<'_>,
        listed: &Listed,
    ) -> Option<Result<Option<Counted>, Error>> {
        let question = |pipeline: Vec<Document>| {
            let rest = doc! {
                "aggregate": &listed.namespace.collection,
                "pipeline": pipeline,
                "cursor": { "batchSize": 10_000 },
                "allowDiskUse": false,
            };
            (listed.namespace.database.clone(), Read::Aggregate, rest)
        };
        let questions = vec![question(sizes()), question(fields())];
        let mut answers = deployment.session.list_long(questions)?.into_iter();
        let (sizes, fields) = answers.next().zip(answers.next())?;
        // If groups were truncated, every sum would be too low, so the figures are dropped.
        let counted = sizes.and_then(|sizes| {
            let fields = fields?;
            Ok((fields.len() < MAX_GROUPS as usize).then(|| figures(&sizes, &fields)))
        });
        Some(counted)
    }
}

/// The lower bound of the bucket of a value: the value itself below 64, else a 32nd of its power of
/// two.
fn bucket(value: &str) -> Document {
    let power = doc! { "$floor": { "$log": [value, 2] } };
    let width = doc! { "$pow": [2, { "$subtract": [power, 5] }] };
    let low = doc! { "$multiply": [{ "$floor": { "$divide": [value, "$$width"] } }, "$$width"] };
    let large = doc! { "$let": { "vars": { "width": width }, "in": low } };
    doc! { "$cond": [{ "$lt": [value, 64] }, value, large] }
}

fn sizes() -> Vec<Document> {
    let mut group = doc! {
        "_id": bucket("$size"),
        "n": { "$sum": 1 },
        "min": { "$min": "$size" },
        "max": { "$max": "$size" },
        "sum": { "$sum": "$size" },
    };
    for tier in SIZE_TIERS {
        let larger = doc! { "$gt": ["$size", tier as i64] };
        group.insert(format!("over{tier}"), doc! { "$sum": { "$cond": [larger, 1, 0] } });
    }
    vec![
        doc! { "$project": { "_id": 0, "size": { "$bsonSize": "$$ROOT" } } },
        doc! { "$group": group },
    ]
}

fn fields() -> Vec<Document> {
    let value = "$field.v";
    let of_each = |what: Document| doc! { "$map": { "input": value, "in": what } };
    let numbers = of_each(doc! { "$isNumber": "$$this" });
    let fraction = doc! { "$ne": ["$$this", { "$trunc": "$$this" }] };
    let fractions = of_each(doc! { "$cond": [{ "$isNumber": "$$this" }, fraction, false] });
    let vector = doc! { "$and": [
        { "$allElementsTrue": [numbers] }, { "$anyElementTrue": [fractions] },
    ] };
    let is_long = doc! { "$gte": ["$length", LONG] };
    vec![
        doc! { "$project": { "_id": 0, "field": { "$objectToArray": "$$ROOT" } } },
        doc! { "$unwind": "$field" },
        doc! { "$project": {
            "field": 1,
            "length": { "$cond": [{ "$isArray": [value] }, { "$size": value }, null] },
        } },
        doc! { "$group": {
            "_id": {
                "name": "$field.k",
                "type": { "$type": value },
                "length": { "$cond": [{ "$eq": ["$length", null] }, null, bucket("$length")] },
            },
            "n": { "$sum": 1 },
            // An object with one field of a one-letter name has 8 additional bytes.
            "bytes": { "$sum": { "$subtract": [{ "$bsonSize": { "v": value } }, 8] } },
            "min": { "$min": "$length" },
            "max": { "$max": "$length" },
            "sum": { "$sum": "$length" },
            "long": { "$sum": { "$cond": [is_long.clone(), 1, 0] } },
            "vectors": { "$sum": { "$cond": [
                { "$cond": [is_long, vector, false] }, 1, 0,
            ] } },
        } },
        doc! { "$limit": MAX_GROUPS },
    ]
}

/// Combines the groups of both passes.
fn figures(sizes: &[Document], fields: &[Document]) -> Counted {
    let mut spread = Spread::default();
    sizes.iter().for_each(|group| spread.add(group, number(group, "_id")));
    let larger = SIZE_TIERS.map(|tier| {
        let key = format!("over{tier}");
        (tier, sizes.iter().filter_map(|group| number(group, &key)).sum())
    });
    let mut by_name: BTreeMap<&str, (CountedField, Spread)> = BTreeMap::new();
    for group in fields {
        let Ok(id) = group.get_document("_id") else { continue };
        let (Ok(name), Ok(kind)) = (id.get_str("name"), id.get_str("type")) else { continue };
        let Some(kind) = BsonType::from_name(kind) else { continue };
        let (field, lengths) = by_name.entry(name).or_default();
        field.types.add(kind, number(group, "n").unwrap_or(0));
        field.bytes += number(group, "bytes").unwrap_or(0);
        field.long_vectors += number(group, "vectors").unwrap_or(0);
        if id.get("length").is_some_and(|length| *length != Bson::Null) {
            lengths.add(group, number(id, "length"));
        }
    }
    Counted {
        documents: spread.all.count,
        sizes: spread.finish(None),
        larger_than: larger.to_vec(),
        fields: by_name
            .into_iter()
            .map(|(name, (field, lengths))| {
                let lengths = lengths.finish(Some(LONG as u64));
                CountedField { name: name.to_owned(), lengths, ..field }
            })
            .collect(),
        capped: fields.len() >= MAX_GROUPS as usize,
    }
}

/// A distribution, built from the groups of a server.
#[derive(Default)]
struct Spread {
    all: Distribution,
    buckets: BTreeMap<u64, u64>,
    long: u64,
}

impl Spread {
    fn add(&mut self, group: &Document, low: Option<u64>) {
        let figure = |key| number(group, key).unwrap_or(0);
        let (n, all) = (figure("n"), &mut self.all);
        if n == 0 {
            return;
        }
        all.min = if all.count == 0 { figure("min") } else { all.min.min(figure("min")) };
        all.max = all.max.max(figure("max"));
        all.sum += figure("sum");
        all.count += n;
        self.long += figure("long");
        *self.buckets.entry(low.unwrap_or(0)).or_default() += n;
    }

    fn finish(mut self, exact: Option<u64>) -> Distribution {
        let high = |low: u64| if low < 64 { low } else { low + (1 << (low.ilog2() - 5)) - 1 };
        self.all.buckets = self.buckets.iter().map(|(&low, &n)| (low, high(low), n)).collect();
        self.all.exact = exact.map(|limit| (limit, self.long));
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_make_up_distributions() {
        let group = |low: i64, n: i32, min: i64, max: i64| doc! { "_id": low as f64, "n": n, "min": min, "max": max, "sum": i64::from(n) * min, "over102400": 0 };
        let counted = figures(&[group(128, 3, 128, 131), group(40, 2, 40, 40)], &[]);
        assert_eq!(counted.documents, 5);
        assert_eq!((counted.sizes.min, counted.sizes.max, counted.sizes.sum), (40, 131, 464));
        assert_eq!(counted.sizes.buckets, [(40, 40, 2), (128, 131, 3)]);
        let field = |kind: &str, length: Bson, n: i32| {
            doc! {
                "_id": { "name": "tags", "type": kind, "length": length },
                "n": n, "bytes": 100, "min": 2, "max": 2, "sum": 2 * n, "long": 0, "vectors": 0,
            }
        };
        let fields = [field("array", Bson::Double(2.0), 4), field("string", Bson::Null, 1)];
        let counted = figures(&[], &fields);
        let [tags] = &counted.fields[..] else { panic!("one field") };
        assert_eq!((tags.types.of(BsonType::Array), tags.types.of(BsonType::String)), (4, 1));
        assert_eq!((tags.lengths.count, tags.lengths.max, tags.bytes), (4, 2, 200));
    }
}
