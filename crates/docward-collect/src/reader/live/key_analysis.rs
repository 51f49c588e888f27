//! The server's own analysis of shard keys (`analyzeShardKey`, 7.0 and later).
//!
//! Written against the documentation: no server of that version was available. The response
//! contains the most common values of documents; only their frequency is kept, not the values.

use std::time::Duration;

use docward_model::{KeyAnalysis, KeyFields, KeyMetrics, Namespace, ShardKey};
use mongodb::bson::{Bson, Document, doc};

use super::{
    super::Reader,
    Deployment,
    catalogue::Listed,
    driver_error::{is_forbidden, words},
    session::{Read, number},
};

/// The number of documents the server samples: enough for the figures that are compared, while its
/// default is ten million.
const SAMPLE: i64 = 1_000_000;

/// The time limit of the analysis.
const ANALYSING: Duration = Duration::from_secs(600);

impl Reader<'_, '_, '_> {
    /// Analyses the keys of the request and the current key of the collection. Runs only if the
    /// request selects a single collection, because of the server's effort.
    pub(super) fn analyze_keys(&mut self, deployment: &Deployment<'_>, collections: &[Listed]) {
        let Some(asked) = &self.request.analyze_keys else { return };
        if self.table.server_version < Some((7, 0)) || self.request.metadata_only {
            return;
        }
        let mut stored = collections.iter().filter(|listed| listed.has_documents);
        let (Some(listed), None) = (stored.next(), stored.next()) else { return };
        let cluster = self.table.server.as_ref().and_then(|server| server.cluster.as_ref());
        let current = cluster.and_then(|cluster| cluster.collection(&listed.namespace));
        let mut keys: Vec<KeyFields> = current.map(|c| c.key.fields.clone()).into_iter().collect();
        keys.extend(
            asked.iter().filter(|key| current.is_none_or(|c| c.key.fields != **key)).cloned(),
        );
        for fields in keys {
            if self.is_stopped() {
                return;
            }
            let answer = ask(deployment, &listed.namespace, &fields);
            let key = ShardKey { namespace: listed.namespace.clone(), fields };
            self.table.key_analyses.push(KeyAnalysis { key, answer });
        }
    }
}

fn ask(
    deployment: &Deployment<'_>,
    namespace: &Namespace,
    fields: &KeyFields,
) -> Result<KeyMetrics, String> {
    let key: Document = fields
        .iter()
        .map(|(path, hashed)| {
            (path.clone(), if *hashed { Bson::from("hashed") } else { Bson::Int32(1) })
        })
        .collect();
    let rest = doc! {
        "analyzeShardKey": namespace.to_string(), "key": key, "keyCharacteristics": true,
        "readWriteDistribution": true, "sampleSize": SAMPLE,
    };
    match deployment.session.ask_within("admin", Read::AnalyzeShardKey, rest, ANALYSING) {
        Ok(reply) => Ok(metrics(&reply)),
        Err(error) if is_forbidden(&error) => {
            Err("not allowed: analyzeShardKey on the collection (role clusterManager)".to_owned())
        }
        Err(error) => Err(words(&error)),
    }
}

fn metrics(reply: &Document) -> KeyMetrics {
    let part = |name: &str| reply.get_document(name).ok();
    let (key, reads, writes) =
        (part("keyCharacteristics"), part("readDistribution"), part("writeDistribution"));
    let count = |part: Option<&Document>, name: &str| part.and_then(|part| number(part, name));
    let total = |part: Option<&Document>| number(part?.get_document("sampleSize").ok()?, "total");
    let common = key.and_then(|key| key.get_array("mostCommonValues").ok());
    let frequencies = common.into_iter().flatten().filter_map(Bson::as_document);
    let (sampled_reads, sampled_writes) = (total(reads), total(writes));
    // Without sampled queries all shares are zero, which is not a measurement.
    let share = |part: Option<&Document>, of: Option<u64>, name: &str| {
        part.filter(|_| of.is_some_and(|n| n > 0)).and_then(|part| percent(part, name))
    };
    KeyMetrics {
        documents: count(key, "numDocsTotal"),
        sampled: count(key, "numDocsSampled"),
        unique: key.and_then(|key| key.get_bool("isUnique").ok()),
        values: count(key, "numDistinctValues"),
        most_frequent: frequencies.filter_map(|value| number(value, "frequency")).max(),
        monotonicity: key
            .and_then(|key| key.get_document("monotonicity").ok())
            .and_then(|found| found.get_str("type").ok())
            .map(str::to_owned),
        reads: sampled_reads,
        reads_to_one_shard: share(reads, sampled_reads, "percentageOfSingleShardReads"),
        reads_to_all_shards: share(reads, sampled_reads, "percentageOfScatterGatherReads"),
        writes: sampled_writes,
        writes_to_one_shard: share(writes, sampled_writes, "percentageOfSingleShardWrites"),
        writes_to_all_shards: share(writes, sampled_writes, "percentageOfScatterGatherWrites"),
    }
}

fn percent(part: &Document, name: &str) -> Option<f64> {
    match part.get(name)? {
        Bson::Double(n) if n.is_finite() => Some(*n),
        Bson::Int32(n) => Some(f64::from(*n)),
        Bson::Int64(n) => Some(*n as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sk_1_the_documented_answer_is_read() {
        let reply = doc! {
            "keyCharacteristics": {
                "numDocsTotal": 9039_i64, "numOrphanDocs": 0_i64, "avgDocSizeBytes": 153_i64,
                "numDocsSampled": 9039_i64, "isUnique": false, "numDistinctValues": 3_i64,
                "mostCommonValues": [
                    { "value": { "status": "a" }, "frequency": 5000_i64 },
                    { "value": { "status": "b" }, "frequency": 4000_i64 },
                ],
                "monotonicity": { "recordIdCorrelationCoefficient": 0.01, "type": "not monotonic" },
            },
            "readDistribution": {
                "sampleSize": { "total": 40_i64, "find": 40_i64 },
                "percentageOfSingleShardReads": 75.5, "percentageOfMultiShardReads": 4.5,
                "percentageOfScatterGatherReads": 20.0,
            },
            "writeDistribution": {
                "sampleSize": { "total": 0_i64 }, "percentageOfSingleShardWrites": 0.0,
            },
            "ok": 1.0,
        };
        let found = metrics(&reply);
        assert_eq!((found.documents, found.sampled), (Some(9039), Some(9039)));
        assert_eq!((found.values, found.most_frequent), (Some(3), Some(5000)));
        assert_eq!(found.monotonicity.as_deref(), Some("not monotonic"));
        assert_eq!((found.reads, found.reads_to_one_shard), (Some(40), Some(75.5)));
        assert_eq!(found.reads_to_all_shards, Some(20.0));
        assert_eq!((found.writes, found.writes_to_one_shard), (Some(0), None));
        assert_eq!(metrics(&doc! { "ok": 1 }), KeyMetrics::default());
    }
}
