//! AP-S2.2: reads of a small part of large documents.

use std::collections::BTreeSet;

use docward_model::{Collection, Draft, Evidence, Profile, QueryStats, Subject};

use crate::{
    Cx, declare_rule,
    facts::{growth::patterns, text, workload},
    threshold,
};

declare_rule! {
    /// # Small part of large documents
    ///
    /// ## What it checks
    /// Compares the fields in the projections of reads with the size of these fields in the documents. Reports a
    /// collection if all of these hold:
    /// - Its documents have 100 KB or more on average.
    /// - At least half of its reads, and at least 10, need less than 10 % of these bytes.
    ///
    /// Reads that an index answers alone, counts and sums do not count. A read without a projection needs the
    /// whole document.
    ///
    /// ## Why it matters
    /// The server loads, caches and decompresses whole documents. A projection only reduces the result. One large
    /// document takes the memory of hundreds of small ones.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// x3 {"_id": $i, "name": "Manual", "body": "$pad(800000)"}
    /// ran x20 {"command": {"find": "t_order_item", "filter": {"_id": 7}, "projection": {"name": 1}}, "planSummary": "IDHACK", "docsExamined": 1, "nreturned": 1}
    /// ```
    /// The reads need the large field:
    /// ```jsonl,clean
    /// x3 {"_id": $i, "name": "Manual", "body": "$pad(800000)"}
    /// ran x20 {"command": {"find": "t_order_item", "filter": {"_id": 7}, "projection": {"body": 1}}, "planSummary": "IDHACK", "docsExamined": 1, "nreturned": 1}
    /// ```
    ///
    /// ## How to fix
    /// Move the fields that the finding names to a second collection under the same `_id`. If they are files,
    /// move them to GridFS or an object store. Read them only when they are needed.
    ///
    /// ## When to ignore it
    /// The collection is small enough to stay in memory.
    W014, "small-part-of-large-documents",
    level: Recommended,
    area: Speed,
    clauses: ["AP-S2.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload, Documents],
    thresholds: [MIN_BYTES, MAX_SHARE, MIN_READS, MIN_COUNT],
    data: ["averageBytes", "move", "reads", "share"],
    check: Collection(check),
}

threshold!(
    MIN_BYTES,
    "min-bytes",
    Int(102_400),
    "bytes",
    "DM-05.1; AP-S2.2 names the practice, the number is our default",
    "minimum mean size of the documents"
);
threshold!(
    MAX_SHARE,
    "max-share",
    Float(0.1),
    "share of a document's bytes",
    "AP-S2.2",
    "maximum share of the document that a read needs"
);
threshold!(
    MIN_READS,
    "min-reads",
    Float(0.5),
    "share of the collection's reads",
    "our default",
    "minimum share of such reads"
);
threshold!(
    MIN_COUNT,
    "min-count",
    Int(10),
    "operations",
    "our default",
    "minimum number of such reads"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let average = profile.sizes.mean();
    if average < cx.limit(&MIN_BYTES) {
        return;
    }
    let reads = reads(cx.evidence(), collection);
    let all: u64 = reads.iter().map(|stats| stats.count).sum();
    let most = cx.limit(&MAX_SHARE);
    let small: Vec<(&QueryStats, f64)> = reads
        .iter()
        .filter_map(|stats| Some((*stats, share(profile, stats.shape.projection.as_deref()?)?)))
        .filter(|(_, share)| *share < most)
        .collect();
    let count: u64 = small.iter().map(|(stats, _)| stats.count).sum();
    if count < cx.count(&MIN_COUNT) || (count as f64) < cx.limit(&MIN_READS) * all as f64 {
        return;
    }
    let wanted: BTreeSet<&str> = small
        .iter()
        .flat_map(|(stats, _)| stats.shape.projection.iter().flatten())
        .map(String::as_str)
        .collect();
    let largest = small.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    let bulk = bulk(profile, &small);
    let Some((first, _)) = bulk.first() else { return };
    let wanted: Vec<&str> = wanted.into_iter().collect();
    let moved: Vec<String> =
        bulk.iter().map(|(name, part)| format!("`{name}` ({})", text::percent(*part))).collect();
    cx.report(
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            format!(
                "{} of {} use only {}, which is at most {} of documents of {} on average",
                text::count(count),
                text::plural(all, "read"),
                text::paths(&wanted, 3),
                text::percent(largest),
                text::bytes(average as u64),
            ),
            "the server loads and caches whole documents, even if a query needs only a small part",
            format!(
                "move {} to a separate collection with the same _id, or to GridFS if it holds files",
                text::phrases(&moved, 3)
            ),
            profile.seen(),
        )
        .data("reads", count)
        .data("averageBytes", average as u64)
        .data("share", largest)
        .data("move", bulk.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>())
        .key(format!("reads beside {first}")),
    );
}

/// Reads of the collection's documents, except computed figures and reads of an index alone.
fn reads<'e>(evidence: &'e Evidence, collection: &Collection) -> Vec<&'e QueryStats> {
    workload::business_shapes(evidence)
        .filter(|s| s.shape.namespace == collection.namespace && s.shape.operation.is_read())
        .filter(|s| !s.shape.computes && s.documents_examined > 0)
        .collect()
}

/// The share of a document's bytes that fields take; `None` if one of them is unknown.
fn share(profile: &Profile, fields: &[String]) -> Option<f64> {
    let bytes = |path: &str| {
        let known = profile.fields.iter().filter(|field| field.path.dotted() == path);
        known.map(|field| field.bytes).max()
    };
    // A field and its subfields count once.
    let is_within = |path: &str, outer: &String| {
        path.strip_prefix(outer.as_str()).is_some_and(|rest| rest.starts_with('.'))
    };
    let outermost = fields.iter().filter(|path| !fields.iter().any(|o| is_within(path, o)));
    let wanted: u64 = outermost.map(|path| bytes(path)).sum::<Option<u64>>()?;
    Some(wanted as f64 / (profile.sizes.sum.max(1)) as f64)
}

/// The large top-level fields that none of these reads returns, filters or sorts by, with their shares of a document's
/// bytes. There must be enough of them to bring the rest below a tenth.
fn bulk<'p>(profile: &'p Profile, small: &[(&QueryStats, f64)]) -> Vec<(&'p str, f64)> {
    let mut used: BTreeSet<&str> = BTreeSet::from(["_id"]);
    for (stats, _) in small {
        let shape = &stats.shape;
        let branches = shape.alternatives.iter().flatten();
        let filters = shape.filter.iter().chain(branches).map(|p| p.path.as_str());
        let sorts = shape.sort.iter().map(|(path, _)| path.as_str());
        let returned = shape.projection.iter().flatten().map(String::as_str);
        let paths = filters.chain(sorts).chain(returned);
        used.extend(paths.filter_map(|path| path.split('.').next()));
    }
    let all = profile.sizes.sum.max(1) as f64;
    let mut fields: Vec<(&str, f64)> = profile
        .top_level()
        .filter(|field| !used.contains(field.name.as_str()) && !field.name.is_empty())
        .map(|field| (field.name.as_str(), field.bytes as f64 / all))
        .collect();
    fields.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let mut taken = 0.0;
    fields
        .into_iter()
        .take_while(|(_, part)| {
            let goes_on = taken < 0.9 && *part >= 0.01;
            taken += part;
            goes_on
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    const LARGE: &str = r#"x3 {"_id": $i, "name": "Manual", "meta": {"lang": "en"}, "body": "$pad(700000)", "scan": "$pad(99000)"}"#;

    fn read(times: u32, projection: &str) -> String {
        format!(
            r#"ran x{times} {{"command": {{"find": "t_order_item", "filter": {{"_id": 7}}{projection}}}, "planSummary": "IDHACK", "docsExamined": 1, "nreturned": 1}}"#
        )
    }

    #[test]
    fn ap_s2_2_a_name_out_of_800_kb_is_found_with_the_fields_to_move() {
        let body =
            format!("{LARGE}\n{}", read(20, r#", "projection": {"name": 1, "meta.lang": 1}"#));
        let found = check("W014", &body);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.starts_with("20 of 20 reads use"), "{}", found[0].what);
        assert!(found[0].todo.starts_with("move `body` (88 %)"), "{}", found[0].todo);
        assert_eq!(found[0].clauses, ["AP-S2.2"]);
    }

    #[test]
    fn ap_s2_2_reads_of_the_bulk_and_of_everything_are_not_meant() {
        let found = |reads: &str| check("W014", &format!("{LARGE}\n{reads}")).len();
        assert_eq!(found(&read(20, "")), 0, "everything");
        assert_eq!(found(&read(20, r#", "projection": {"name": 1, "scan": 1}"#)), 0, "12 %");
        assert_eq!(found(&read(20, r#", "projection": {"body": 0}"#)), 0, "all but one");
        assert_eq!(found(&read(9, r#", "projection": {"name": 1}"#)), 0, "few");
        let mixed = format!("{}\n{}", read(20, r#", "projection": {"name": 1}"#), read(21, ""));
        assert_eq!(found(&mixed), 0, "most want everything");
    }

    #[test]
    fn ap_s2_2_small_documents_and_covered_reads_are_not_meant() {
        let small = LARGE.replace("700000", "7000").replace("99000", "900");
        let reads = read(20, r#", "projection": {"name": 1}"#);
        assert!(check("W014", &format!("{small}\n{reads}")).is_empty());
        let covered = reads.replace("\"docsExamined\": 1", "\"docsExamined\": 0");
        assert!(check("W014", &format!("{LARGE}\n{covered}")).is_empty());
    }
}
