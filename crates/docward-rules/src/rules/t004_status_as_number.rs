//! DM-09.5: states are words. Numbers are right for ordered scales and codes with a public meaning.

use docward_model::{
    BsonType, Collection, Conversion, Draft, Field, Level, Profile, Safety, Subject,
};

use crate::facts::{
    grouping,
    names::{self, meaning},
    remedies::statements,
    text,
    values::classes,
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Status as number
    ///
    /// ## What it checks
    /// Reports fields that hold 2 to 20 different whole numbers and whose name ends in `status`, `state`, `stage`
    /// or `phase`. Names ending in `type`, `kind`, `flag`, `mode` or `category` are a note, with at most 10
    /// numbers and at least 20 documents.
    ///
    /// Docward does not report levels, ranks, ratings and priorities, which are scales; HTTP status codes; booleans; and
    /// references to another collection.
    ///
    /// ## Why it matters
    /// `status: 3` means nothing without the program that wrote it. Each reader keeps its own table of meanings,
    /// and these tables diverge.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// x10 {"status": 1}
    /// x10 {"status": 2}
    /// ```
    /// Use words:
    /// ```jsonl,clean
    /// x10 {"status": "paid", "level": 3, "httpStatus": 200}
    /// x10 {"status": "sent", "level": 1, "httpStatus": 404}
    /// ```
    ///
    /// ## How to fix
    /// Document what each number means, convert with `$switch`, and list the words as `enum` in the validator.
    /// With `--show-values` the finding lists the numbers.
    ///
    /// ## When to ignore it
    /// A public standard defines the numbers, or their order is more important than their meaning.
    T004, "status-as-number",
    level: Recommended,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DM-09.5"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MAX_VALUES, MAX_SOFT, MIN_SOFT],
    data: ["documents", "values"],
    check: Collection(check),
}

threshold!(
    MAX_VALUES,
    "max-values",
    Int(20),
    "different values",
    "DM-09.5",
    "maximum number of different values of a status field that counts as an enumeration"
);
threshold!(
    MAX_SOFT,
    "max-soft-values",
    Int(10),
    "different values",
    "our default",
    "the same for `type`, `kind`, `flag`, `mode` and `category`"
);
threshold!(
    MIN_SOFT,
    "min-soft-documents",
    Int(20),
    "documents",
    "our default",
    "minimum number of documents with such fields"
);

/// Last words that show a number: a scale, a count, an order. Before `status`, they only name the owner of the status
/// (`orderStatus`).
const SCALES: &[&str] =
    &["level", "rank", "rating", "priority", "order", "count", "number", "no", "index"];

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let (most, most_soft, least_soft) =
        (cx.count(&MAX_VALUES), cx.count(&MAX_SOFT), cx.count(&MIN_SOFT));
    let references = &cx.evidence().references;
    let mut drafts = Vec::new();
    for field in &profile.fields {
        let leaf = field.path.leaf();
        // A number that is another collection's `_id` is explained there.
        if references.iter().any(|r| r.from == collection.namespace && r.path == field.path) {
            continue;
        }
        let strong = meaning::is_status(leaf);
        if !strong && !meaning::is_soft_status(leaf) {
            continue;
        }
        let words = names::words(leaf);
        let scale = words.last().is_some_and(|w| SCALES.contains(&w.as_str()));
        if scale || words.iter().any(|w| w == "http") {
            continue;
        }
        let values = field.distinct.values.round() as u64;
        let most = if strong { most } else { most_soft };
        let least = if strong { 0 } else { least_soft };
        // Some value must occur twice: otherwise the numbers may be measurements.
        let enumeration = (2..=most).contains(&values) && values < field.count;
        if enumeration
            && field.count >= least
            && is_whole(field)
            && !is_http(field)
            && !is_key_of_another(collection, field, cx)
        {
            drafts.push(draft(collection, profile, field, values, strong));
        }
    }
    grouping::report(cx, &collection.namespace, drafts, "hold states as numbers");
}

/// Whether a collection is named after the field and has all of its numbers as `_id`: `category` in `product` and
/// `product_category`.
fn is_key_of_another(collection: &Collection, field: &Field, cx: &Cx<'_>) -> bool {
    let name = names::normalised(field.path.leaf());
    let fits = |id: &Field| {
        is_whole(id)
            && id
                .number
                .zip(field.number)
                .is_some_and(|(id, own)| id.min <= own.min && own.max <= id.max)
    };
    cx.evidence().collections.iter().any(|other| {
        let theirs = meaning::singular(&names::normalised(&other.namespace.collection));
        other.namespace.database == collection.namespace.database
            && other.namespace != collection.namespace
            && theirs.ends_with(&name)
            && other.profile.as_ref().and_then(|p| p.field("_id")).is_some_and(fits)
    })
}

fn is_whole(field: &Field) -> bool {
    classes::is_only(field, classes::Class::Number)
        && field.number.is_some_and(|n| n.fractional_doubles == 0 && n.not_finite == 0)
}

/// Status codes of HTTP and similar protocols (SMTP, FTP): their meaning is public.
fn is_http(field: &Field) -> bool {
    field.number.is_some_and(|n| n.min >= 100.0 && n.max <= 599.0)
}

fn draft(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    values: u64,
    strong: bool,
) -> Draft {
    let path = &field.path;
    let words =
        if values == 2 { vec![BsonType::String, BsonType::Bool] } else { vec![BsonType::String] };
    let mut draft = Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        format!("`{path}` holds {values} different whole numbers instead of words"),
        "a number means nothing without the program that wrote it, so different programs interpret it differently",
        format!(
            "choose a word for each of the {values} numbers, convert `{}`, then list the {values} words as `enum` in the validator{}",
            path.dotted(),
            if values == 2 { "; a boolean also works" } else { "" }
        ),
        profile.seen_in(field, field.count),
    )
    .data("values", values)
    .data("documents", field.count);
    if let Some(listed) = &field.enumeration {
        draft = draft.examples(
            listed.iter().map(|(v, n)| format!("{v} -> \"?\" ({})", text::plural(*n, "value"))),
        );
    }
    if !strong {
        draft = draft.level(Level::Information);
    }
    let types: Vec<_> = field.types.values().into_iter().map(|(kind, _)| kind).collect();
    let can_convert = statements::can_be_written(profile, field);
    let conversion = Conversion::Words { values };
    let step = statements::convert(&collection.namespace, path, types, words, conversion);
    statements::advise(draft, step, can_convert.then_some(Safety::Manual))
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    #[test]
    fn dm_09_5_a_number_that_another_collection_has_as_id_is_a_reference() {
        let body = |name: &str| {
            format!(
                "@ db_shop.{name}\nx9 {{\"_id\": $i}}\n@ db_shop.product\nx30 {{\"_id\": $i, \"category\": 3}}\n{{\"_id\": 50, \"category\": 5}}"
            )
        };
        let found = |name: &str| check("T004", &body(name)).len();
        assert_eq!(found("product_category"), 0);
        assert_eq!(found("product_shelf"), 1);
    }

    #[test]
    fn dm_09_5_numbers_are_reported_and_words_pass() {
        let found = check("T004", "x5 {\"status\": 1}\nx5 {\"status\": 2}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(check("T004", "x5 {\"status\": \"paid\"}\nx5 {\"status\": \"sent\"}").is_empty());
        assert!(check("T004", "x5 {\"status\": true}\nx5 {\"status\": false}").is_empty());
    }

    #[test]
    fn dm_09_5_20_values_are_an_enumeration_and_21_are_not() {
        let body = |n: u32| {
            (0..n).map(|i| format!("x3 {{\"state\": {i}}}")).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(check("T004", &body(20)).len(), 1);
        assert!(check("T004", &body(21)).is_empty());
        assert!(check("T004", &body(1)).is_empty());
    }

    #[test]
    fn soft_words_are_information_and_scales_are_silent() {
        let found = check("T004", "x20 {\"type\": 1}\nx20 {\"type\": 2}");
        assert_eq!(found[0].severity, Severity::Info);
        for name in ["level", "priority", "rating", "statusCount", "rank", "httpStatus"] {
            assert!(
                check("T004", &format!("x20 {{\"{name}\": 1}}\nx20 {{\"{name}\": 2}}")).is_empty(),
                "{name}"
            );
        }
        assert!(check("T004", "x20 {\"status\": 200}\nx20 {\"status\": 404}").is_empty());
    }

    #[test]
    fn dm_09_5_the_status_of_an_order_is_a_status() {
        for name in ["orderStatus", "order_status", "orderState", "order_state", "indexStatus"] {
            let body: Vec<_> = (0..4).map(|n| format!("x20 {{\"{name}\": {n}}}")).collect();
            let found = check("T004", &body.join("\n"));
            assert_eq!(found.len(), 1, "{name}");
            assert_eq!(found[0].severity, Severity::Warn, "{name}");
        }
    }

    #[test]
    fn the_numbers_are_shown_only_on_request() {
        let found = check("T004", "x5 {\"status\": 71}\nx5 {\"status\": 72}");
        let finding = &found[0];
        let command = &finding.fix.as_ref().unwrap().command();
        for part in [&finding.what, &finding.todo, command] {
            assert!(!part.contains("71"), "{part}");
        }
        assert!(finding.examples.iter().any(|e| e.contains("71")), "{:?}", finding.examples);
    }
}
