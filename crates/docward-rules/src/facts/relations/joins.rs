//! Reads that need a second collection (AP-S2.3, CK-9): `$lookup` joins, by collection and by read
//! path. A path is a shape: if it joins, it does so in every operation.

use std::collections::BTreeMap;

use docward_model::{Evidence, Lookup, Namespace, QueryShape, QueryStats};

use crate::facts::workload;

/// The minimum share of the reads of a collection that makes a read path hot.
pub const HOT_SHARE: f64 = 0.2;

/// The reads of a collection.
#[derive(Debug, Default)]
pub struct Reads<'a> {
    /// The number of all reads.
    pub all: u64,
    /// The number of reads that join.
    pub joined: u64,
    /// The longest time of those, in milliseconds.
    pub millis: u64,
    /// The collections that are joined, and the number of joins.
    pub from: BTreeMap<&'a str, u64>,
    /// The paths that join.
    pub paths: Vec<&'a QueryStats>,
}

impl<'a> Reads<'a> {
    /// The path that joins most often; the first of equally frequent ones.
    pub fn hottest(&self) -> Option<&'a QueryStats> {
        self.paths.iter().rev().copied().max_by_key(|path| path.count)
    }

    /// Returns a count as a share of all reads.
    pub fn share(&self, count: u64) -> f64 {
        count as f64 / self.all.max(1) as f64
    }
}

/// The reads of each collection. A join counts if it follows a reference, so that the fetched
/// documents could be embedded.
pub fn reads(evidence: &Evidence) -> BTreeMap<&Namespace, Reads<'_>> {
    let mut by_collection: BTreeMap<&Namespace, Reads<'_>> = BTreeMap::new();
    for stats in workload::business_shapes(evidence).filter(|s| s.shape.operation.is_read()) {
        let reads = by_collection.entry(&stats.shape.namespace).or_default();
        reads.all += stats.count;
        let lookups = stats.shape.lookups.iter();
        let related: Vec<_> = lookups.filter(|l| is_related(evidence, &stats.shape, l)).collect();
        if related.is_empty() {
            continue;
        }
        reads.joined += stats.count;
        reads.millis = reads.millis.max(stats.millis.1);
        reads.paths.push(stats);
        for lookup in related {
            *reads.from.entry(lookup.from.as_str()).or_default() += stats.count;
        }
    }
    by_collection
}

fn is_related(evidence: &Evidence, shape: &QueryShape, lookup: &Lookup) -> bool {
    let from = Namespace::new(&*shape.namespace.database, &*lookup.from);
    let fields = lookup.fields.iter().flat_map(|(local, foreign)| [&**local, &**foreign]);
    workload::are_related(evidence, (&shape.namespace, &from), fields)
}
