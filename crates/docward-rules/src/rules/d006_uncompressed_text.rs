//! DM-05.5: long texts that compress well are stored compressed by the application.

use docward_model::{Collection, DirectionKind, Draft, Field, Severity, Subject};

use crate::facts::{growth::patterns, names, remedies::proposals, text};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Uncompressed text
    ///
    /// ## What it checks
    /// Reports text fields that are long and compress well:
    /// - at least one value in twenty has 32 KB or more
    /// - a trial compression of a few values leaves less than 60 % of their bytes
    ///
    /// It is a warning in these cases, and otherwise a note:
    /// - there are at least 5 texts, and half of them have 32 KB or more
    /// - a text has 1 MB or more
    /// - the compression saves 100 MB or more in the collection
    ///
    /// Base64 files are not reported here (see D004 and D005), nor are fields of a text index.
    ///
    /// ## Why it matters
    /// The storage engine compresses data on disk only. The cache, the network and the 16 MB limit use the full
    /// text.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// x5 {"_id": $i, "html": "$pad(40000)"}
    /// ```
    /// The text is compressed, and a second field names the codec:
    /// ```jsonl,clean
    /// x5 {"_id": $i, "html": BinData(0, "H4sIAAAAAAAAA8tIzcnJVyjPL8pJAQCFEUoNCwAAAA=="), "htmlEncoding": "gzip"}
    /// ```
    ///
    /// ## How to fix
    /// Compress the text when writing. Store it as binary, with the name of the codec in a second field. Readers
    /// accept both forms until all old documents are converted.
    ///
    /// ## When to ignore it
    /// The text is searched or edited in the database by a regular expression or a pipeline.
    D006, "uncompressed-text",
    level: Recommended,
    area: Speed,
    severities: [Warn, Info],
    clauses: ["DM-05.5"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MIN_P95, MAX_RATIO],
    data: ["limit", "max", "p95", "ratio", "saved"],
    check: Collection(check),
}

threshold!(
    MIN_P95,
    "min-p95-bytes",
    Int(32_768),
    "bytes",
    "DM-05.5, GC-25; our default",
    "minimum 95th percentile of the lengths of long texts"
);
threshold!(
    MAX_RATIO,
    "max-ratio",
    Float(0.6),
    "compressed bytes per byte",
    "DM-05.5; our default",
    "maximum ratio for which compression pays off"
);

/// Fewer long texts are single cases.
const SEVERAL: u64 = 5;
/// A text of this size makes the document large for every read, and takes a sixteenth of the server's limit.
const NEAR_LIMIT: u64 = 1_048_576;
/// Bytes that the compression must save in the whole collection. A smaller saving does not relieve a cache.
const MUCH: f64 = 1e8;

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    for field in &profile.fields {
        let Some(texts) = &field.text else { continue };
        let Some((before, after)) = texts.compression else { continue };
        let p95 = texts.lengths.p95();
        let ratio = after as f64 / before.max(1) as f64;
        let encoded = field.blob.as_ref().map_or(0, |b| b.encoded);
        if p95 < cx.count(&MIN_P95)
            || ratio >= cx.limit(&MAX_RATIO)
            || encoded * 2 > texts.total()
            || is_searched(collection, field)
        {
            continue;
        }
        let saved = (texts.lengths.sum as f64 * (1.0 - ratio)) as u64;
        let documents = profile.documents.max(1) as f64;
        let in_all = saved as f64 * profile.total.max(profile.documents) as f64 / documents;
        let are_long = texts.total() >= SEVERAL && texts.lengths.p50() >= cx.count(&MIN_P95);
        let is_worth_it = are_long || texts.lengths.max >= NEAR_LIMIT || in_all >= MUCH;
        let style = proposals::field_style(profile);
        let codec = proposals::field_name(&[names::to_snake(field.path.leaf())], "encoding", style);
        cx.report(
            Draft::new(
                Subject::Field(collection.namespace.clone(), field.path.clone()),
                format!(
                    "`{}` holds {} of up to {} (p95 {}), which compress to {} of their size",
                    field.path,
                    text::plural(texts.total(), "text"),
                    text::bytes(texts.lengths.max),
                    text::bytes(p95),
                    text::percent(ratio),
                ),
                "MongoDB compresses data only on disk: the document cache and the 16 MB limit count the full text",
                format!(
                    "compress `{}` in the application (zstd or gzip), store it as binary and the codec in `{codec}`; this saves about {} of {} of text in the documents read",
                    field.path,
                    text::bytes(saved),
                    text::bytes(texts.lengths.sum),
                ),
                profile.seen(),
            )
            .data("p95", p95)
            .data("max", texts.lengths.max)
            .data("ratio", ratio)
            .data("saved", saved)
            .data("limit", cx.count(&MIN_P95))
            .severity(if is_worth_it { Severity::Warn } else { Severity::Info }),
        );
    }
}

/// Whether a text index reads the field.
fn is_searched(collection: &Collection, field: &Field) -> bool {
    let dotted = field.path.dotted();
    collection.indexes.as_ref().is_some_and(|indexes| {
        indexes
            .iter()
            .flat_map(|i| &i.keys)
            .any(|key| key.kind == DirectionKind::Text && (key.path == dotted || key.path == "$**"))
    })
}

#[cfg(test)]
mod tests {
    use docward_model::Severity;

    use crate::testing::{check, check_with};

    #[test]
    fn dm_05_5_a_page_of_html_gets_a_measured_ratio() {
        let page = "<div class='row'><p>text</p></div>".repeat(6_000);
        let found = check("D006", &format!("{{\"_id\": 1, \"html\": \"{page}\"}}"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].todo.contains("`htmlEncoding`"), "{}", found[0].todo);
        assert!(found[0].data.get("ratio").is_some());
    }

    #[test]
    fn dm_05_5_a_few_texts_are_a_note() {
        let severity = |body: &str| check("D006", body)[0].severity;
        assert_eq!(severity("x3 {\"_id\": $i, \"html\": \"$pad(200000)\"}"), Severity::Info);
        assert_eq!(severity("x5 {\"_id\": $i, \"html\": \"$pad(40000)\"}"), Severity::Warn);
        assert_eq!(severity("x3 {\"_id\": $i, \"html\": \"$pad(1200000)\"}"), Severity::Warn);
    }

    #[test]
    fn dm_05_5_32_kb_is_the_boundary() {
        assert_eq!(check("D006", "x3 {\"_id\": $i, \"html\": \"$pad(31000)\"}"), []);
        assert_eq!(check("D006", "x3 {\"_id\": $i, \"html\": \"$pad(32768)\"}").len(), 1);
    }

    #[test]
    fn text_that_does_not_compress_is_left_alone() {
        let body = "x3 {\"_id\": $i, \"html\": \"$pad(40000)\"}";
        assert_eq!(check_with("D006", "max-ratio=0.0", body), []);
    }

    #[test]
    fn searched_text_is_left_alone() {
        let body = "index {\"key\": {\"_fts\": \"text\", \"_ftsx\": 1}, \"name\": \"html_text\", \"weights\": {\"html\": 1}}\nx3 {\"_id\": $i, \"html\": \"$pad(40000)\"}";
        assert_eq!(check("D006", body), []);
    }
}
