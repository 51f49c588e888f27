//! CK-14: the 99th percentile of document sizes stays well under 16 MB.

use docward_model::{Collection, Draft, Subject};

use crate::facts::{growth::patterns, text, values::sizes};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # P99 near the limit
    ///
    /// ## What it checks
    /// Reports a collection in which the 99th percentile of document sizes is above 1.6 MB, a tenth of the
    /// server's limit. If documents of 10 MB exist, D001 reports an error instead.
    ///
    /// ## Why it matters
    /// If documents of this size are common, size is part of the design and not an accident. When such
    /// documents grow to ten times their size, their writes fail.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// x3 {"_id": $i, "body": "$pad(1800000)"}
    /// ```
    /// ```jsonl,clean
    /// x3 {"_id": $i, "body": "$pad(1500000)"}
    /// ```
    ///
    /// ## How to fix
    /// Estimate how much a document at the 99th percentile holds after a year. Split documents so that this stays
    /// below a tenth of the limit.
    ///
    /// ## When to ignore it
    /// The documents are complete when they are written and never grow.
    D011, "p99-near-limit",
    level: Mandatory,
    area: Growth,
    clauses: ["CK-14"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [SHARE, CRITICAL],
    data: ["limit", "max", "p99"],
    check: Collection(check),
}

threshold!(
    SHARE,
    "max-share-of-limit",
    Float(0.10),
    "share of 16 MB",
    "CK-14; our default",
    "maximum 99th percentile, as a share of the server's limit"
);
threshold!(
    CRITICAL,
    "critical-bytes",
    Int(10_485_760),
    "bytes",
    "LM-3",
    "from this size on, D001 (large-document) reports the document instead"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let p99 = profile.sizes.p99();
    let limit = (cx.limit(&SHARE) * sizes::DOCUMENT_LIMIT as f64) as u64;
    if p99 <= limit || profile.sizes.max >= cx.count(&CRITICAL) {
        return;
    }
    let owner = profile.largest.first().filter(|d| !d.owner.is_empty());
    let times = sizes::DOCUMENT_LIMIT as f64 / p99 as f64;
    cx.report(
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            what(profile.documents, p99, profile.sizes.max),
            "documents of this size have little room to grow before MongoDB refuses writes",
            match owner {
                Some(d) if d.owner == "_id" => "the `_id` itself is too large: use a short `_id` and move its content to another field or collection".to_owned(),
                Some(d) => format!(
                    "move `{}` ({} of the largest document) to a separate collection before documents grow {times:.0}-fold",
                    d.owner,
                    text::percent(d.owner_bytes as f64 / d.bytes.max(1) as f64),
                ),
                None => "split the documents before they grow to the limit".to_owned(),
            },
            profile.seen(),
        )
        .data("p99", p99)
        .data("max", profile.sizes.max)
        .data("limit", limit),
    );
}

/// With fewer documents, the 99th percentile is the largest one.
const HUNDRED: u64 = 100;

fn what(documents: u64, p99: u64, max: u64) -> String {
    let share = |bytes: u64| text::percent(bytes as f64 / sizes::DOCUMENT_LIMIT as f64);
    match documents {
        1 => {
            format!("the only document has {}, {} of the 16 MB limit", text::bytes(max), share(max))
        }
        n if n < HUNDRED => format!(
            "the largest of {} has {}, {} of the 16 MB limit",
            text::plural(n, "document"),
            text::bytes(max),
            share(max)
        ),
        _ => format!(
            "the 99th percentile of document sizes is {}, {} of the 16 MB limit; the largest document has {}",
            text::bytes(p99),
            share(p99),
            text::bytes(max),
        ),
    }
}

#[cfg(test)]
mod tests {
    use docward_model::Severity;

    use crate::testing::{check, check_with};

    #[test]
    fn ck_14_a_tenth_of_the_limit_is_the_boundary() {
        let found = check("D011", "x3 {\"_id\": $i, \"s\": \"$pad(1740000)\"}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Error);
        let what = |n: u32| {
            check("D011", &format!("x{n} {{\"_id\": $i, \"s\": \"$pad(1740000)\"}}"))[0]
                .what
                .clone()
        };
        assert!(what(1).starts_with("the only document has 1.7 MB, 10"), "{}", what(1));
        assert!(what(3).starts_with("the largest of 3 documents has 1.7 MB"), "{}", what(3));
        assert_eq!(check("D011", "x3 {\"_id\": $i, \"s\": \"$pad(1600000)\"}"), []);
    }

    #[test]
    fn ck_14_at_twelve_megabytes_large_document_speaks() {
        let body = "{\"_id\": 1, \"s\": \"$pad(12582912)\"}";
        assert_eq!(check("D011", body), []);
        let found = check("D001", body);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].cites("CK-14"));
    }

    #[test]
    fn ck_14_a_few_large_ones_are_not_the_p99() {
        let body = "x200 {\"_id\": $i, \"s\": \"a\"}\n{\"_id\": 200, \"s\": \"$pad(3000000)\"}";
        assert_eq!(check("D011", body), []);
        assert_eq!(check_with("D011", "max-share-of-limit=0.000001", body).len(), 1);
    }

    #[test]
    fn the_key_is_not_to_be_moved() {
        let found = check("D011", "{\"_id\": {\"k\": \"$pad(1740000)\"}, \"a\": 1}");
        assert!(found[0].todo.starts_with("the `_id` itself is too large"), "{}", found[0].todo);
    }
}
