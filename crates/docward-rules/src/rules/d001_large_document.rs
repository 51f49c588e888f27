//! DM-05.1, CK-2, LM-3, DM-05.2, LM-1: document sizes against the four limits of GC-02.

use docward_model::{
    BsonType, Collection, Draft, Field, FieldShape, LargeDocument, Level, Look, Profile, Safety,
    Severity, Step, Subject,
};

use crate::facts::growth::arrays::{self, Limits};
use crate::facts::{
    growth::patterns,
    text,
    values::sizes::{self, Figures},
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Large document
    ///
    /// ## What it checks
    /// Measures every document as BSON. Reports a collection once, with the highest tier that its documents
    /// reach:
    /// - more than 100 KB: a warning. The figure is a house rule; MongoDB names none. It is a note if fewer than 0.1 %
    ///   of the documents are that large, and none is larger than 1 MB
    /// - more than 1 MB in a core collection: a warning
    /// - 10 MB or more: an error
    /// - 16 MB, the server's limit: an error
    ///
    /// The finding names the top-level field that holds most of the bytes.
    ///
    /// ## Why it matters
    /// A document is read, cached and sent as a whole, even if the query needs only one field. From 10 MB on,
    /// little time is left. At 16 MB the server refuses every write that adds a byte, and the document must be
    /// split by hand while the application fails.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// x3 {"_id": $i, "title": "Manual", "body": "$pad(110000)"}
    /// ```
    /// Keep the fields that lists and searches need, and move the large field to where it is read on demand:
    /// ```jsonl,clean
    /// x3 {"_id": $i, "title": "Manual", "bodyFileId": ObjectId("$oid")}
    /// ```
    ///
    /// ## How to fix
    /// The fix depends on the field that holds most of the bytes:
    /// - an array: store one document per element in a separate collection
    /// - a file: move it to GridFS or an object store
    /// - a long text: compress it
    /// - an object that is rarely read: move it to a second collection under the same `_id`
    ///
    /// ## When to ignore it
    /// The documents are few, written once and always read whole, such as detailed geometries or
    /// stored reports.
    D001, "large-document",
    level: Recommended,
    area: Growth,
    severities: [Error, Warn, Info],
    clauses: ["DM-05.1", "CK-2", "LM-3", "DM-05.2", "LM-1", "CK-14"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Counts],
    thresholds: [WARN, CORE, CRITICAL, HARD],
    data: ["limit", "max", "over*", "owner", "ownerShare", "p50", "p99"],
    check: Collection(check),
}

threshold!(
    WARN,
    "warn-bytes",
    Int(102_400),
    "bytes",
    "DM-05.1, GC-02; a house rule",
    "documents larger than this are reported"
);
threshold!(
    CORE,
    "core-bytes",
    Int(1_048_576),
    "bytes",
    "CK-2, GC-02",
    "larger documents of core collections are reported with the limit of the checklist"
);
threshold!(
    CRITICAL,
    "critical-bytes",
    Int(10_485_760),
    "bytes",
    "LM-3, GC-02",
    "documents of this size or more are errors"
);
threshold!(
    HARD,
    "hard-bytes",
    Int(16_777_216),
    "bytes",
    "LM-1: the server's limit",
    "maximum size of a document that the server stores"
);

/// A size limit and its consequences.
struct Tier {
    limit: u64,
    /// Whether a document of exactly this size exceeds the limit.
    inclusive: bool,
    over: u64,
    clauses: &'static [&'static str],
    level: Level,
    severity: Severity,
    why: &'static str,
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let read = patterns::user_documents(collection);
    let Some(figures) = Figures::of(collection, read) else { return };
    let Some(tier) = tier(collection, &figures, cx) else { return };
    let Figures { documents, sizes, seen, .. } = &figures;
    let max = sizes.max;
    let (p50, p99) = (sizes.p50(), sizes.p99());
    let owner = read.and_then(|profile| owner(profile, cx.count(&WARN)));
    let owned = owner.map_or_else(String::new, |(name, share)| {
        format!("; `{name}` takes {} of the largest documents", text::percent(share))
    });
    let ns = &collection.namespace;
    let mut draft = Draft::new(
        Subject::Collection(ns.clone()),
        format!(
            "{} of {} {} {} ({}): median {}, p99 {}, largest {}{owned}",
            text::count(tier.over),
            text::plural(*documents, "document"),
            match (tier.inclusive, tier.over) {
                (true, 1) => "reaches",
                (true, _) => "reach",
                (false, 1) => "is larger than",
                (false, _) => "are larger than",
            },
            size(tier.limit),
            text::percent(tier.over as f64 / (*documents).max(1) as f64),
            text::bytes(p50),
            text::bytes(p99),
            size(max),
        ),
        tier.why,
        advice(collection, read, owner.map(|(name, _)| name), cx),
        seen.showing(tier.over),
    )
    .data("p50", p50)
    .data("p99", p99)
    .data("max", max)
    .data("limit", tier.limit)
    .clauses(tier.clauses)
    .level(tier.level)
    .severity(tier.severity)
    .examples(
        read.iter()
            .flat_map(|profile| profile.largest.iter().take(5))
            .map(|d| format!("_id {}: {}", d.id, text::bytes(d.bytes))),
    );
    for limit in [cx.count(&WARN), cx.count(&CORE), cx.count(&CRITICAL)] {
        draft = draft.data(&format!("over{limit}"), figures.larger_than(limit));
    }
    if let Some((name, share)) = owner {
        draft = draft.data("owner", name).data("ownerShare", share);
    }
    // `$bsonSize` came with 4.4.
    if version(cx).is_none_or(|v| v >= (4, 4)) {
        draft = draft.plan(
            None,
            Safety::Safe,
            [Step::Inspect { namespace: ns.clone(), look: Look::LargestDocuments }],
        );
    }
    cx.report(draft);
}

/// If fewer than one in this number of documents are large, the finding is a note.
pub(super) const RARE: u64 = 1000;

fn version(cx: &Cx<'_>) -> Option<(u32, u32)> {
    cx.settings().server_version.or(cx.evidence().deployment.server_version)
}

fn tier(collection: &Collection, figures: &Figures<'_>, cx: &Cx<'_>) -> Option<Tier> {
    let max = figures.sizes.max;
    let (warn, core, critical, hard) =
        (cx.count(&WARN), cx.count(&CORE), cx.count(&CRITICAL), cx.count(&HARD));
    // A document exactly at an inclusive limit is not "larger than" it, so it is counted separately.
    let at_least = |limit: u64| figures.larger_than(limit).max(u64::from(max >= limit));
    // D011 implements CK-14. If this rule already reports an error, D011 reports nothing.
    let p99 = figures.sizes.p99() * 10 > hard;
    if max >= hard {
        return Some(Tier {
            limit: hard,
            inclusive: true,
            over: at_least(hard),
            clauses: if p99 {
                &["DM-05.2", "LM-1", "LM-3", "CK-2", "DM-05.1", "CK-14"]
            } else {
                &["DM-05.2", "LM-1", "LM-3", "CK-2", "DM-05.1"]
            },
            level: Level::Mandatory,
            severity: Severity::Error,
            why: "MongoDB stores at most 16 MB per document: the next write that adds a byte fails",
        });
    }
    if max >= critical {
        return Some(Tier {
            limit: critical,
            inclusive: true,
            over: at_least(critical),
            clauses: if p99 {
                &["LM-3", "DM-05.2", "CK-2", "DM-05.1", "CK-14"]
            } else {
                &["LM-3", "DM-05.2", "CK-2", "DM-05.1"]
            },
            level: Level::Recommended,
            severity: Severity::Error,
            why: "the document is close to MongoDB's limit of 16 MB, above which writes to it fail",
        });
    }
    if max > core && cx.is_core(collection) {
        return Some(Tier {
            limit: core,
            inclusive: false,
            over: figures.larger_than(core),
            clauses: &["CK-2", "DM-05.1"],
            level: Level::Recommended,
            severity: Severity::Warn,
            why: "core documents should stay within 1 MB: MongoDB reads, caches and sends each as a whole",
        });
    }
    let over = figures.larger_than(warn);
    // A few documents that are small for the server are no reason to change the model.
    let is_rare = max <= core && over * RARE < figures.documents;
    (max > warn).then_some(Tier {
        limit: warn,
        inclusive: false,
        over,
        clauses: &["DM-05.1"],
        level: Level::Recommended,
        severity: if is_rare { Severity::Info } else { Severity::Warn },
        why: "MongoDB reads, caches and sends documents as a whole; 100 KB is this rule book's limit, not MongoDB's",
    })
}

/// The top-level field that takes most of the largest documents, with its share of their bytes.
fn owner(profile: &Profile, over: u64) -> Option<(&str, f64)> {
    let large: Vec<&LargeDocument> = profile.largest.iter().filter(|d| d.bytes > over).collect();
    let first = large.iter().max_by_key(|d| {
        let wins = large.iter().filter(|o| o.owner == d.owner).count();
        (wins, d.bytes)
    })?;
    let (owned, all) = large
        .iter()
        .filter(|d| d.owner == first.owner)
        .fold((0, 0), |(owned, all), d| (owned + d.owner_bytes, all + d.bytes));
    (all > 0 && !first.owner.is_empty()).then(|| (first.owner.as_str(), owned as f64 / all as f64))
}

/// The part of a field that takes most of its bytes, if the field is nearly the whole document. Moving the whole field
/// would move the document.
fn main_part<'p>(profile: &'p Profile, field: &'p Field) -> &'p Field {
    let mut part = field;
    while part.is_only(BsonType::Object)
        && part.bytes as f64 >= WHOLE * profile.sizes.sum as f64
        && let Some(largest) =
            profile.children(part).filter(|f| f.shape == FieldShape::Named).max_by_key(|f| f.bytes)
    {
        part = largest;
    }
    part
}

/// The minimum share of a collection's bytes that makes a field the document itself.
const WHOLE: f64 = 0.9;

/// Returns the advice for the field with most of the bytes.
fn advice(
    collection: &Collection,
    read: Option<&Profile>,
    owner: Option<&str>,
    cx: &Cx<'_>,
) -> String {
    let owned = read.zip(owner).and_then(|(profile, name)| Some((profile, profile.field(name)?)));
    let Some((profile, field)) = owned else {
        return "find the field that takes most of the bytes in the largest documents, and move it to a separate collection".to_owned();
    };
    let field = main_part(profile, field);
    let name = &field.path;
    if name.as_str() == "_id" {
        return "the `_id` itself is too large: use a short `_id` and move its content to another field or collection".to_owned();
    }
    if patterns::is_geometry(profile, field) {
        return format!(
            "simplify the geometry in `{name}`, or move the detailed one to a separate collection with the same `_id`"
        );
    }
    if let Some(array) = &field.array
        && field.types.dominant() == Some(BsonType::Array)
    {
        let limits = Limits::of(cx.settings(), &collection.namespace);
        let owner =
            arrays::owner(cx.settings(), cx.evidence(), collection, profile, field, &limits);
        let length = text::plural(array.lengths.max, "element");
        // Another rule reports the array with a specific fix; a second proposal could contradict it.
        return if owner.is_some() {
            format!("split `{name}` (up to {length}) as the finding on that field describes")
        } else {
            format!(
                "store fewer elements of `{name}` per document (now up to {length}), or make the elements smaller"
            )
        };
    }
    if field.blob.as_ref().is_some_and(|b| b.sizes.max * 2 > field.bytes / field.count.max(1)) {
        return format!(
            "move the files in `{name}` to GridFS or to an object store and keep the id or the URL"
        );
    }
    if field.types.of(BsonType::String) > 0 {
        return format!(
            "compress `{name}` before storing it, or move it to a separate collection that is read only when needed"
        );
    }
    format!(
        "move `{name}` to a separate collection with the same `_id`, so that only reads that need it load it"
    )
}

/// Formats bytes for a comparison with a limit: exact if rounding would hide the side of the limit.
fn size(n: u64) -> String {
    let rounded = text::bytes(n);
    let whole = [sizes::RECOMMENDED, sizes::CORE_LIMIT, sizes::DANGER, sizes::DOCUMENT_LIMIT];
    let misleads = whole.iter().any(|&limit| n != limit && rounded == text::bytes(limit));
    if misleads { format!("{} bytes", text::count(n)) } else { rounded }
}

#[cfg(test)]
mod tests {
    use docward_model::{Counted, DataValue, Distribution, Severity};

    use crate::testing::{check, check_counted, check_with};

    /// One document of exactly `bytes`: 5 for the frame, 9 for `_id` as int, 8 for the `s` element.
    fn exactly(bytes: u64) -> String {
        format!("{{\"_id\": 1, \"s\": \"$pad({})\"}}", bytes - 5 - 9 - 8)
    }

    #[test]
    fn dm_05_1_one_document_of_more_than_a_thousand_is_a_note() {
        let severity = |small: u32| {
            let body =
                format!("x{small} {{\"_id\": $i}}\n{{\"_id\": -1, \"s\": \"$pad(110000)\"}}");
            check("D001", &body)[0].severity
        };
        assert_eq!(severity(999), Severity::Warn);
        assert_eq!(severity(1000), Severity::Info);
        let large = "x2000 {\"_id\": $i}\n{\"_id\": -1, \"s\": \"$pad(1100000)\"}";
        assert_eq!(check("D001", large)[0].severity, Severity::Warn);
    }

    #[test]
    fn dm_05_1_the_content_itself_is_not_moved() {
        let body = r#"x5 {"_id": $i, "data": {"title": "a", "log": "$pad(200000)"}}"#;
        assert!(check("D001", body)[0].todo.contains("`data.log`"), "{:?}", check("D001", body));
    }

    #[test]
    fn dm_05_1_102_400_passes_102_401_warns() {
        assert_eq!(check("D001", &exactly(102_400)), []);
        let found = check("D001", &exactly(102_401));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert_eq!(found[0].clauses, ["DM-05.1"]);
        assert_eq!(found[0].data.get("max"), Some(&DataValue::Int(102_401)));
        assert!(found[0].what.contains("102,401 bytes"), "{}", found[0].what);
        assert!(found[0].what.contains("`s`"), "{}", found[0].what);
    }

    #[test]
    fn ck_2_core_documents_have_a_second_tier() {
        let core = |bytes| check_with("D001", "core=db_shop.*", &exactly(bytes));
        assert_eq!(core(1_048_576)[0].clauses, ["DM-05.1"]);
        assert_eq!(core(1_048_577)[0].clauses, ["CK-2", "DM-05.1"]);
        let other = check_with("D001", "core=db_other.*", &exactly(1_048_577));
        assert_eq!(other[0].clauses, ["DM-05.1"]);
    }

    #[test]
    fn ck_2_p99_of_150_kb_and_900_kb_at_most_is_the_first_tier_only() {
        let body =
            "x99 {\"_id\": $i, \"s\": \"$pad(150000)\"}\n{\"_id\": 99, \"s\": \"$pad(900000)\"}";
        let found = check_with("D001", "core=db_shop.*", body);
        assert_eq!(found[0].clauses, ["DM-05.1"]);
        assert!(
            found[0].what.starts_with("100 of 100 documents are larger than 100 KB"),
            "{}",
            found[0].what
        );
    }

    #[test]
    fn lm_3_ten_megabytes_are_an_error() {
        let found = check("D001", &exactly(10_485_760));
        assert_eq!(found[0].severity, Severity::Error);
        assert_eq!(found[0].clauses[0], "LM-3");
        assert_eq!(check("D001", &exactly(10_485_759))[0].severity, Severity::Warn);
    }

    #[test]
    fn dm_05_2_sixteen_megabytes_are_the_end() {
        let found = check("D001", &exactly(16_777_216));
        assert_eq!(found[0].severity, Severity::Error);
        assert_eq!(found[0].clauses[..2], ["DM-05.2", "LM-1"]);
    }

    #[test]
    fn lm_1_one_byte_below_the_limit_is_the_tier_before() {
        let found = check("D001", &exactly(16_777_215));
        assert_eq!(found[0].clauses[0], "LM-3");
        assert!(found[0].what.starts_with("1 of 1 document reaches 10 MB"), "{}", found[0].what);
    }

    #[test]
    fn gc_49_the_servers_own_buckets_are_not_judged() {
        let body = "options {\"timeseries\": {\"timeField\": \"ts\"}}\nx3 {\"_id\": $i, \"control\": {\"version\": 1}, \"data\": {\"ts\": {\"0\": 1}, \"v\": \"$pad(120000)\"}}";
        assert_eq!(check("D001", body), []);
        assert_eq!(check("D010", body), []);
    }

    #[test]
    fn an_array_with_its_own_finding_is_left_to_it() {
        let body = "x3 {\"_id\": $i, \"cells\": $array(2000, {\"text\": \"$pad(60)\"})}";
        assert!(check("D001", body)[0].todo.contains("as the finding on that field describes"));
        assert_eq!(check("D003", body).len(), 1);
    }

    #[test]
    fn the_key_is_not_to_be_moved() {
        let found = check("D001", "{\"_id\": \"$pad(200000)\", \"a\": 1}");
        assert!(found[0].todo.starts_with("the `_id` itself is too large"), "{}", found[0].todo);
        assert!(found[0].what.starts_with("1 of 1 document "), "{}", found[0].what);
    }

    #[test]
    fn dm_05_1_what_the_server_counted_outvotes_a_sample() {
        let sizes = |max: u64| Distribution {
            count: 1_000_000,
            min: 40,
            max,
            sum: 50_000_000,
            buckets: vec![(40, 40, 999_998), (max, max, 2)],
            exact: None,
        };
        let counted = |max: u64| Counted {
            documents: 1_000_000,
            sizes: sizes(max),
            larger_than: vec![(102_400, u64::from(max > 102_400) * 2)],
            ..Default::default()
        };
        let body = "x200 {\"_id\": $i, \"name\": \"a\"}";
        let found = check_counted("D001", body, counted(250_000));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].what.starts_with("2 of 1,000,000 documents are larger than"),
            "{}",
            found[0].what
        );
        assert_eq!((found[0].seen.sampled, found[0].seen.confidence), (1_000_000, 1.0));
        // Without any document that was read.
        let bare = check_counted("D001", "options {}", counted(250_000));
        assert_eq!(bare.len(), 1);
        assert_eq!(check_counted("D001", body, counted(102_400)).len(), 0);
    }
}
