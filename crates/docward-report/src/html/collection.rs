//! Draws collections: a searchable, paged list, and a section for each that is decompressed when it
//! is opened: fields as a tree, distributions, growth, indexes.

use std::collections::BTreeMap;

use docward_model::{
    Basis, BsonType, Collection, CollectionKind, Field, FieldPath, FieldShape, GrowthForecast,
    Index, Profile, Report, Severity, Subject, ValidationAction, ValidationLevel, text,
};
use maud::{Markup, html};
use serde::Serialize;

use super::{MAX_COLLECTION_BYTES, MAX_COLLECTIONS, chart, pack};
use crate::{
    ranking,
    text::{line, plain},
};

/// The maximum number of fields listed per collection.
const MAX_FIELDS: usize = 300;
/// The maximum number of arrays per collection whose lengths are drawn.
const MAX_ARRAYS: usize = 6;
/// The minimum correlation of growth charts: weaker ones show nothing.
const MIN_CORRELATION: f64 = 0.3;
/// The number of collections per compressed block: enough to compress well, few enough to
/// decompress at once.
const PER_BLOCK: usize = 40;

/// A collection in the list.
#[derive(Serialize)]
struct Entry {
    n: String,
    /// Documents.
    d: String,
    /// Bytes.
    b: String,
    /// The numbers of errors, warnings and notes.
    c: [u64; 3],
    /// The number of findings in the baseline.
    #[serde(skip_serializing_if = "is_none")]
    o: u64,
    /// The kind, unless it is an ordinary collection.
    k: &'static str,
}

fn is_none(n: &u64) -> bool {
    *n == 0
}

/// Findings of the baseline by namespace: the report omits them, but they still exist.
pub(super) fn in_baseline(report: &Report) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    let baseline = report.compared.iter().filter(|compared| compared.basis == Basis::Baseline);
    for known in baseline.flat_map(|compared| &compared.unchanged) {
        if let Some(namespace) = known.at.namespace() {
            *out.entry(namespace).or_default() += 1;
        }
    }
    out
}

pub(crate) fn section(report: &Report) -> Markup {
    let known = in_baseline(report);
    let mut counts: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for finding in report.findings.iter().filter(|f| !ranking::is_recognised(f)) {
        if let Some(namespace) = finding.at.namespace() {
            let at = match finding.severity {
                Severity::Error => 0,
                Severity::Warn => 1,
                Severity::Info => 2,
            };
            counts.entry(namespace).or_default()[at] += 1;
        }
    }
    let collections = &report.evidence.collections;
    let shown = &collections[..collections.len().min(MAX_COLLECTIONS)];
    let entries: Vec<Entry> = shown
        .iter()
        .map(|collection| {
            let name = collection.namespace.to_string();
            let (documents, bytes) = amounts(collection);
            Entry {
                d: text::count(documents),
                b: text::bytes(bytes),
                c: counts.get(&name).copied().unwrap_or_default(),
                o: known.get(&name).copied().unwrap_or_default(),
                k: kind(collection.kind),
                n: line(&name),
            }
        })
        .collect();
    let mut bytes = 0;
    let mut blocks: Vec<Markup> = Vec::new();
    for (at, chunk) in shown.chunks(PER_BLOCK).enumerate() {
        let mut sections: Vec<String> = Vec::new();
        for collection in chunk {
            let section = if bytes < MAX_COLLECTION_BYTES {
                drawn(report, collection)
            } else {
                html! { p .muted { "Left out to keep this page small: audit it separately with \
                --collection." } }
            };
            let section = section.into_string();
            bytes += section.len();
            sections.push(section);
        }
        blocks.push(pack::block(&format!("collections-{at}"), &sections));
    }
    html! {
        section #collections aria-labelledby="collections-title" {
            h2 #collections-title { "Collections" }
            form #collection-filter role="search" aria-label="Filter collections" {
                label {
                    "Name "
                    input type="search" name="name" placeholder="database.collection" autocomplete="off";
                }
                label {
                    "Order "
                    select name="order" {
                        option value="name" { "by name" }
                        option value="findings" { "most findings first" }
                    }
                }
            }
            p #collections-found role="status" aria-live="polite" {}
            p #collections-on-paper .warn.on-paper {}
            @if collections.len() > shown.len() {
                p .warn { (text::plural((collections.len() - shown.len()) as u64, "more collection")) " left out of this page." }
            }
            div #collection-list data-block=(PER_BLOCK) {}
            div .pager #collections-pager {}
            (pack::block("collections-data", &entries))
            @for block in &blocks { (block) }
        }
    }
}

/// Documents and bytes, as far as known.
pub(crate) fn amounts(collection: &Collection) -> (u64, u64) {
    let profile = collection.profile.as_ref();
    match (&collection.stats, profile) {
        (Some(stats), _) => (stats.documents, stats.data_bytes),
        (None, Some(profile)) => (profile.total.max(profile.documents), profile.sizes.sum),
        (None, None) => (0, 0),
    }
}

fn kind(kind: CollectionKind) -> &'static str {
    match kind {
        CollectionKind::Plain => "",
        CollectionKind::View => "view",
        CollectionKind::TimeSeries => "time series",
        CollectionKind::Capped => "capped",
        CollectionKind::GridFsFiles | CollectionKind::GridFsChunks => "GridFS",
        CollectionKind::System => "system",
    }
}

fn drawn(report: &Report, collection: &Collection) -> Markup {
    let name = collection.namespace.to_string();
    let forecast = |path: Option<&FieldPath>| {
        report.forecasts.iter().find(|f| f.namespace == name && f.path.as_ref() == path)
    };
    html! {
        p .facts {
            (validator(collection))
            @if let Some(stats) = &collection.stats {
                " · " (text::bytes(stats.storage_bytes)) " on disk · " (text::bytes(stats.index_bytes)) " of indexes"
                @if stats.sharded { " · sharded" }
            }
            @if let Some(profile) = &collection.profile {
                " · " (text::count(profile.documents)) " documents read"
            }
            " · " a href={ "#findings?ns=" (pack::percent_encoded(&line(&name))) } { "findings" }
        }
        @if let Some(profile) = collection.profile.as_ref().filter(|profile| profile.documents > 0) {
            div .charts {
                (chart::distribution("Document sizes", &profile.sizes, &chart::SIZES, text::bytes))
                @if let Some(growth) = profile.growth.filter(|g| g.correlation >= MIN_CORRELATION && !profile.by_age.is_empty()) {
                    (chart::growth("Size against age", &profile.by_age, &growth, forecast(None), text::bytes))
                }
                (arrays(profile, &forecast))
            }
            (fields(report, collection, profile))
        } @else if collection.kind != CollectionKind::View {
            p .muted { "No documents were read." }
        }
        (indexes(collection))
    }
}

fn validator(collection: &Collection) -> Markup {
    let Some(options) = &collection.options else { return html! { "validator unknown" } };
    html! {
        @if options.validator.is_none() {
            "no validator"
        } @else {
            "validator: "
            (match options.validation_level {
                ValidationLevel::Off => "off",
                ValidationLevel::Strict => "strict",
                ValidationLevel::Moderate => "moderate",
            })
            ", "
            (match options.validation_action {
                ValidationAction::Error => "refuses",
                ValidationAction::Warn => "only warns",
                ValidationAction::ErrorAndLog => "refuses and logs",
            })
        }
    }
}

fn arrays<'f>(
    profile: &Profile,
    forecast: &impl Fn(Option<&FieldPath>) -> Option<&'f GrowthForecast>,
) -> Markup {
    let mut arrays: Vec<_> = profile
        .fields
        .iter()
        .filter_map(|field| Some((field, field.array.as_deref()?)))
        .filter(|(_, array)| array.lengths.max > 1)
        .collect();
    arrays.sort_by(|a, b| {
        (b.1.lengths.max, a.0.path.as_str()).cmp(&(a.1.lengths.max, b.0.path.as_str()))
    });
    html! {
        @for (field, array) in arrays.into_iter().take(MAX_ARRAYS) {
            @let path = plain(field.path.as_str());
            (chart::distribution(&format!("Elements of {path}"), &array.lengths, &chart::LENGTHS, text::count))
            @if let Some(growth) = array.growth.filter(|g| g.correlation >= MIN_CORRELATION && !array.by_age.is_empty()) {
                (chart::growth(&format!("{path} against age"), &array.by_age, &growth, forecast(Some(&field.path)), text::count))
            }
        }
    }
}

fn fields(report: &Report, collection: &Collection, profile: &Profile) -> Markup {
    let mut findings: BTreeMap<&str, Severity> = BTreeMap::new();
    for finding in &report.findings {
        if let Subject::Field(namespace, path) = &finding.at
            && *namespace == collection.namespace
        {
            let worst = findings.entry(path.as_str()).or_insert(finding.severity);
            *worst = (*worst).max(finding.severity);
        }
    }
    let mut order = Vec::new();
    for field in profile.top_level() {
        walk(profile, field, 0, &mut order);
    }
    let left_out = order.len().saturating_sub(MAX_FIELDS);
    html! {
        h3 { "Fields" }
        div .scroll tabindex="0" role="region" aria-label={ "Fields of " (plain(&collection.namespace.to_string())) } {
            table .fields.stacked {
                thead { tr {
                    th scope="col" { "Field" }
                    th scope="col" { "Types" }
                    th scope="col" { "Present" }
                    th scope="col" .num { "Different values" }
                    th scope="col" { "More" }
                } }
                tbody {
                    @for (field, depth) in order.iter().take(MAX_FIELDS) {
                        (row(report, profile, field, *depth, findings.get(field.path.as_str()).copied()))
                    }
                }
            }
        }
        @if left_out > 0 { p .muted { (text::plural(left_out as u64, "field")) " more are left out." } }
        @if profile.fields_capped { p .muted { "There are more fields than Docward tracks." } }
    }
}

/// Children below their parents; the elements of an array are shown with the array.
fn walk<'p>(
    profile: &'p Profile,
    field: &'p Field,
    depth: usize,
    out: &mut Vec<(&'p Field, usize)>,
) {
    let is_plain_element = field.shape == FieldShape::Element
        && field.children.is_empty()
        && field.types.values().len() <= 1;
    if !is_plain_element {
        out.push((field, depth));
    }
    for child in profile.children(field) {
        walk(profile, child, depth + 1, out);
    }
}

fn row(
    report: &Report,
    profile: &Profile,
    field: &Field,
    depth: usize,
    worst: Option<Severity>,
) -> Markup {
    let name = match field.shape {
        FieldShape::Named => plain(&field.name),
        FieldShape::Element => "[ ]".to_owned(),
        FieldShape::AnyKey => "*".to_owned(),
    };
    let presence = field.presence().min(1.0);
    let above = profile.parent(field).map(holder);
    html! {
        tr {
            th scope="row" style={ "padding-left:" (format!("{:.1}", 0.5 + 1.1 * depth as f64)) "rem" } title=(plain(field.path.as_str())) {
                @match worst {
                    Some(Severity::Error) => { span .mark.bad title="has errors" { "●" } " " },
                    Some(Severity::Warn) => { span .mark.poor title="has warnings" { "●" } " " },
                    Some(Severity::Info) => { span .mark.note title="has notes" { "●" } " " },
                    None => {},
                }
                (name)
            }
            td data-label="Types" { (types(field)) }
            td data-label="Present" {
                @if field.shape == FieldShape::Named {
                    span .stack.thin role="img" aria-label={ "present in " (text::percent(presence)) " of " (above.as_deref().unwrap_or("documents")) } {
                        span .fill style={ "flex:" (format!("{:.1}", (presence * 100.0).max(1.0))) } {}
                        @if presence < 1.0 {
                            span .rest style={ "flex:" (format!("{:.1}", (1.0 - presence) * 100.0)) } {}
                        }
                    }
                    " " (text::percent(presence))
                    @if let Some(above) = above { " " span .muted { "of " (above) } }
                }
            }
            td data-label="Different values" .num {
                @if field.distinct.values >= 1.0 { (text::about(field.distinct.values, field.distinct.exact)) }
            }
            td data-label="More" .notes { (notes(report, field)) }
        }
    }
}

/// The unit that a nested field is counted in: objects at that path, which may be few.
fn holder(parent: &Field) -> String {
    let name = plain(parent.path.leaf());
    match parent.shape {
        FieldShape::Named => format!("{name} objects"),
        FieldShape::Element | FieldShape::AnyKey => format!("objects in {name}"),
    }
}

/// Types as a stacked bar; several types indicate drift.
fn types(field: &Field) -> Markup {
    let counts = field.types.values();
    let total: u64 = counts.iter().map(|(_, n)| n).sum();
    let words: Vec<String> = counts
        .iter()
        .map(|(kind, n)| match counts.len() {
            1 => kind.name().to_owned(),
            _ => format!("{} {}", kind.name(), text::percent(*n as f64 / total.max(1) as f64)),
        })
        .collect();
    let words = words.join(", ");
    html! {
        span .stack role="img" aria-label=(words) title=(words) {
            @for (kind, n) in &counts {
                span class=(class(*kind)) style={ "flex:" (format!("{:.1}", (*n as f64 / total.max(1) as f64 * 100.0).max(2.0))) } {}
            }
        }
        " " span .types { (words) }
    }
}

fn class(kind: BsonType) -> &'static str {
    match kind {
        BsonType::Int | BsonType::Long => "t-int",
        BsonType::Double => "t-double",
        BsonType::Decimal => "t-decimal",
        BsonType::String | BsonType::Symbol => "t-string",
        BsonType::Object => "t-object",
        BsonType::Array => "t-array",
        BsonType::ObjectId => "t-id",
        BsonType::Bool => "t-bool",
        BsonType::Date | BsonType::Timestamp => "t-date",
        BsonType::BinData => "t-binary",
        BsonType::Null | BsonType::Undefined => "t-null",
        _ => "t-other",
    }
}

fn notes(report: &Report, field: &Field) -> Markup {
    let mut notes = Vec::new();
    if let Some(array) = &field.array {
        let lengths = &array.lengths;
        notes.push(format!(
            "median {}, p99 {}, maximum {}",
            text::count(lengths.p50()),
            text::count(lengths.p99()),
            text::plural(lengths.max, "element")
        ));
    }
    if let Some(dynamic) = &field.dynamic {
        notes.push(format!(
            "field names are data: {} names",
            text::about(dynamic.keys, dynamic.exact)
        ));
    }
    if let Some(texts) = field.text.as_ref().filter(|texts| texts.lengths.max > 1024) {
        notes.push(format!("up to {}", text::bytes(texts.lengths.max)));
    }
    if let Some(blob) = &field.blob {
        notes.push(format!("up to {}", text::bytes(blob.sizes.max)));
    }
    let values = field.enumeration.as_ref().filter(|_| report.show_values);
    html! {
        (notes.join("; "))
        @if let Some(values) = values {
            @for (value, n) in values.iter().take(8) { " " code { (plain(value)) } " " (text::count(*n)) }
        }
    }
}

fn indexes(collection: &Collection) -> Markup {
    let Some(indexes) = collection.indexes.as_ref().filter(|indexes| !indexes.is_empty()) else {
        return html! {};
    };
    let used = indexes.iter().any(|index| index.usage.is_some());
    html! {
        h3 { "Indexes" }
        div .scroll tabindex="0" role="region" aria-label={ "Indexes of " (plain(&collection.namespace.to_string())) } {
            table .stacked {
                thead { tr {
                    th scope="col" { "Name" }
                    th scope="col" { "Key" }
                    th scope="col" { "Properties" }
                    @if used { th scope="col" .num { "Used" } th scope="col" .num { "Bytes" } }
                } }
                tbody {
                    @for index in indexes {
                        tr {
                            th scope="row" { (plain(&index.name)) }
                            td data-label="Key" { code { (plain(&index.key_text())) } }
                            td data-label="Properties" { (properties(index)) }
                            @if used {
                                td data-label="Used" .num { @if let Some(usage) = index.usage { (text::count(usage.operations)) } }
                                td data-label="Bytes" .num { @if let Some(bytes) = index.bytes { (text::bytes(bytes)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn properties(index: &Index) -> String {
    let mut words = Vec::new();
    for (is, word) in [(index.unique, "unique"), (index.sparse, "sparse"), (index.hidden, "hidden")]
    {
        if is {
            words.push(word.to_owned());
        }
    }
    if let Some(seconds) = index.ttl_seconds {
        words.push(format!("expires after {} s", text::count(u64::try_from(seconds).unwrap_or(0))));
    }
    if index.partial_filter.is_some() {
        words.push("partial".to_owned());
    }
    if let Some(collation) = &index.collation {
        words.push(format!("collation {}", plain(collation)));
    }
    words.join(", ")
}
