//! DM-08.5, PT-ts.1, PT-bucket.1, PT-bucket.2, LM-9, ALG-8: measurements stored as one plain document each.

use docward_model::{Collection, Draft, Namespace, NewIndex, Safety, Severity, Step, Subject};

use crate::facts::{
    growth::{patterns, series},
    text,
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Hand-made time series
    ///
    /// ## What it checks
    /// Reports collections that store each measurement as one plain document. All of these must hold:
    /// - at least 1,000 documents, on average below 1 KB
    /// - one date field, in 99 % of the documents
    /// - a field that identifies the series, with at least 50 documents per value
    /// - numbers as measured values, at least as many as text fields
    ///
    /// It is a note below 10,000 documents.
    ///
    /// ## Exceptions
    /// Business records with a date are not reported. Docward recognises them by a status, an array, texts that
    /// vary within a series, or only amounts of money.
    ///
    /// ## Why it matters
    /// Each reading of a few numbers needs an `_id`, an index entry and field names, which are larger than the
    /// numbers. One reading per minute makes 525,600 documents per sensor and year. Hourly buckets make 8,760.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_iot.t_reading,min-documents=100
    /// x120 {"_id": ObjectId("$oid"), "sensorId": "S1", "at": new Date(1$i0000), "temperature": 20.$i}
    /// ```
    /// ```jsonl,clean,ns=db_iot.t_reading,min-documents=100
    /// options {"timeseries": {"timeField": "at", "metaField": "sensorId", "granularity": "minutes"}}
    /// x120 {"_id": ObjectId("$oid"), "sensorId": "S1", "at": new Date(1$i0000), "temperature": 20.$i}
    /// ```
    ///
    /// ## How to fix
    /// With server 5.0 or newer, create a time series collection, copy the documents and switch the writers. On
    /// older servers use buckets with a counter. A plain collection cannot be converted in place.
    ///
    /// ## When to ignore it
    /// The measurements need a feature that time series collections lack or restrict:
    /// - unique indexes, validators or change streams
    /// - updates and deletes of single measurements
    /// - measurements larger than 4 MB
    D013, "hand-made-time-series",
    level: Recommended,
    area: Growth,
    severities: [Warn, Info],
    clauses: ["DM-08.5", "PT-ts.1", "PT-bucket.1", "PT-bucket.2", "LM-9"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MIN_DOCUMENTS, NOTE_DOCUMENTS, MIN_PER_SERIES, MAX_MEAN, MIN_PRESENCE],
    data: ["bucket", "buckets", "documents", "granularity", "hours", "metaField", "perBucket", "series", "timeField"],
    check: Collection(check),
}

threshold!(
    MIN_DOCUMENTS,
    "min-documents",
    Int(10_000),
    "documents",
    "our default",
    "minimum number of documents for a warning"
);
threshold!(
    NOTE_DOCUMENTS,
    "note-documents",
    Int(1_000),
    "documents",
    "our default",
    "minimum number of documents for a note"
);
threshold!(
    MIN_PER_SERIES,
    "min-per-series",
    Int(50),
    "documents",
    "ALG-8; our default",
    "minimum mean number of documents in each series"
);
threshold!(
    MAX_MEAN,
    "max-mean-bytes",
    Int(1024),
    "bytes",
    "PT-bucket.1",
    "maximum mean size of a measurement"
);
threshold!(
    MIN_PRESENCE,
    "min-presence",
    Float(0.99),
    "share of documents",
    "ALG-8",
    "minimum share of documents with the date and the series"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let limits = series::Limits {
        documents: cx.count(&NOTE_DOCUMENTS).min(cx.count(&MIN_DOCUMENTS)),
        per_series: cx.limit(&MIN_PER_SERIES),
        mean_bytes: cx.count(&MAX_MEAN),
        presence: cx.limit(&MIN_PRESENCE),
    };
    let Some(found) = series::classify(collection, profile, &limits) else { return };
    let ns = &collection.namespace;
    let mean = profile.sizes.mean() as u64;
    let buckets = series::bucketing(found.documents, found.series, found.hours, mean);
    let granularity = series::granularity(found.documents, found.series, found.hours);
    let version = cx.settings().server_version.or(cx.evidence().deployment.server_version);
    let native = version.is_none_or(|v| v >= (5, 0));
    let (time, id) = (found.time.path.dotted(), found.id.path.dotted());
    // The metaField is a field of the document itself, never a path into one.
    let meta = id.split('.').next().unwrap_or(&id).to_owned();
    let arithmetic = format!(
        "buckets of {} ({} measurements and {} at most) give {} instead of {}",
        buckets.size,
        text::count(buckets.elements),
        text::bytes(buckets.bytes),
        text::plural(buckets.buckets, "document"),
        text::count(found.documents),
    );
    let todo = if native {
        format!(
            "copy the documents to a time series collection with timeField `{time}`, metaField `{meta}` and granularity \"{granularity}\" (or by hand: {arithmetic}); first check that no code updates measurements or needs a unique index, a validator or a change stream"
        )
    } else {
        format!(
            "before MongoDB 5.0, store buckets per `{id}` with a counter: {arithmetic}; from 5.0 on, use a time series collection"
        )
    };
    let measures: Vec<&str> = found.measures.iter().map(|f| f.path.as_str()).collect();
    let beside =
        |tail: &str| Namespace::new(ns.database.as_str(), format!("{}{tail}", ns.collection));
    cx.report(
        Draft::new(
            Subject::Collection(ns.clone()),
            format!(
                "{} documents of {} on average are measurements of {}: {} series by `{id}` over `{time}`",
                text::count(found.documents),
                text::bytes(mean),
                text::list(&measures, 3),
                text::about(found.series as f64, found.id.distinct.exact),
            ),
            "each measurement stores an `_id`, an index entry and field names, which take more space than its values",
            todo,
            profile.seen().showing(found.documents).estimated(!found.id.distinct.exact),
        )
        .severity(if found.documents < cx.count(&MIN_DOCUMENTS) {
            Severity::Info
        } else {
            Severity::Warn
        })
        .data("documents", found.documents)
        .data("series", found.series)
        .data("hours", found.hours)
        .data("bucket", buckets.size)
        .data("perBucket", buckets.elements)
        .data("buckets", buckets.buckets)
        .data("timeField", time.clone())
        .data("metaField", meta.clone())
        .data("granularity", granularity)
        .plan(
            Some(if native { "RF-03" } else { "RF-02" }),
            Safety::Safe,
            [if native {
                Step::CreateTimeSeries {
                    namespace: beside("_ts"),
                    time_field: time.clone(),
                    meta_field: meta.clone(),
                    granularity: Some(granularity.to_owned()),
                }
            } else {
                Step::CreateIndex {
                    namespace: beside("_bucket"),
                    index: NewIndex::ascending([id.as_str(), "hour", "count"]),
                }
            }],
        )
        .clauses(if native {
            &["DM-08.5", "PT-ts.1", "PT-bucket.1", "PT-bucket.2", "LM-9"]
        } else {
            &["PT-bucket.1", "PT-bucket.2", "LM-9"]
        }),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::check_with;

    const READINGS: &str = "x200 {\"_id\": ObjectId(\"$oid\"), \"sensorId\": \"S1\", \"at\": new Date(1$i0000), \"temperature\": 20.$i}";
    const SMALL: &str = "ns=db_iot.t_reading,min-documents=100";

    #[test]
    fn dm_08_5_version_decides_between_time_series_and_buckets() {
        let new = check_with("D013", &format!("{SMALL},version=5.0"), READINGS);
        assert_eq!(new.len(), 1, "{new:?}");
        assert!(
            new[0].todo.contains("time series collection with timeField `at`"),
            "{}",
            new[0].todo
        );
        let old = check_with("D013", &format!("{SMALL},version=4.4"), READINGS);
        assert!(old[0].todo.starts_with("before MongoDB 5.0, store buckets"), "{}", old[0].todo);
        assert!(!old[0].cites("DM-08.5"));
    }

    #[test]
    fn pt_bucket_1_ten_thousand_documents_are_the_default() {
        assert_eq!(check_with("D013", "ns=db_iot.t_reading", READINGS), []);
    }

    #[test]
    fn alg_8_business_records_with_a_date_are_not_time_series() {
        for (what, body) in [
            (
                "orders",
                "{\"_id\": $i, \"userId\": \"u1\", \"createTime\": new Date(1$i0000), \"totalAmount\": 20.$i, \"status\": \"paid\"}",
            ),
            (
                "payments",
                "{\"_id\": $i, \"accountId\": \"a1\", \"date\": new Date(1$i0000), \"amount\": 20.$i}",
            ),
            (
                "reviews",
                "{\"_id\": $i, \"productId\": \"p1\", \"date\": new Date(1$i0000), \"rating\": $i, \"text\": \"words $i\"}",
            ),
            (
                "logins",
                "{\"_id\": $i, \"userId\": \"u1\", \"date\": new Date(1$i0000), \"ip\": \"10.0.0.$i\"}",
            ),
            (
                "users",
                "{\"_id\": $i, \"userId\": \"u$i\", \"createTime\": new Date(1$i0000), \"height\": 170.$i}",
            ),
            (
                "posts",
                "{\"_id\": $i, \"authorId\": \"u1\", \"date\": new Date(1$i0000), \"views\": $i, \"title\": \"words $i\"}",
            ),
            (
                "carts",
                "{\"_id\": $i, \"userId\": \"u1\", \"date\": new Date(1$i0000), \"weight\": 20.$i, \"items\": [1]}",
            ),
        ] {
            assert_eq!(check_with("D013", SMALL, &format!("x200 {body}")), [], "{what}");
        }
    }

    #[test]
    fn alg_8_labels_of_the_series_are_allowed() {
        let body = "x200 {\"_id\": ObjectId(\"$oid\"), \"meta\": {\"sensorId\": \"S1\", \"site\": \"roof\"}, \"at\": new Date(1$i0000), \"temp\": 20.$i, \"humidity\": 50.$i}";
        let found = check_with("D013", SMALL, body);
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("metaField `meta`"), "{}", found[0].todo);
    }
}
