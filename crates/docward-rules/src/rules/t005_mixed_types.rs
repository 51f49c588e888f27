//! DM-09.6, AP-S0.3: one class of types per path. `T001` reports strings among dates, `T006` widths of numbers.

use docward_model::{
    BsonType, Collection, CollectionKind, DataValue, Draft, Field, FieldChange, FieldPath,
    FieldShape, Look, Profile, Safety, Severity, Step, Subject, TextClass,
};

use crate::facts::values::classes::{self, Class, classes as classes_in};
use crate::facts::values::type_unification::{self, Outcome};
use crate::facts::{
    grouping,
    growth::patterns,
    names::{self, meaning},
    text,
    values::dates,
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Mixed types
    ///
    /// ## What it checks
    /// Reports paths that hold more than one class of types: numbers, strings, objects, arrays, booleans, dates,
    /// ObjectIds, binaries. Null, missing fields and different widths of numbers do not count. Each finding says
    /// how many of the values convert to the main type. T001 reports strings among dates.
    ///
    /// If a field such as `schemaVersion` shows that the type changed with a version, Docward proposes the type
    /// of the newer version.
    ///
    /// ## When it is a note
    /// - elements of one array
    /// - values of attribute lists (`{k, v}`) and of settings (`{_id: "key", value}`)
    /// - records of changes (`oldValue`, `newValue`)
    /// - values below keys that are data
    /// - objects and arrays whose type follows a discriminator
    /// - types that follow a version, if the counts do not show which type is newer
    ///
    /// ## Why it matters
    /// MongoDB sorts by type before value and compares only values of one type: `{age: {$gt: 20}}` never matches
    /// `"30"`. Sums ignore strings, and every reader needs code for every type.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "price": 99.00}
    /// {"_id": 2, "price": "99.00"}
    /// {"_id": 3, "price": {"value": 99}}
    /// ```
    /// All values have one type:
    /// ```jsonl,clean
    /// {"_id": 1, "price": NumberDecimal("99.00")}
    /// {"_id": 2, "price": null}
    /// {"_id": 3}
    /// ```
    ///
    /// ## How to fix
    /// Decide on one type and convert the other values with `$convert`. Check the values that do not convert by
    /// hand. Then require the type in the validator.
    ///
    /// ## When to ignore it
    /// The path may hold any type by design, such as the payload of an event or the value of a setting. No query
    /// compares it or sorts by it.
    T005, "mixed-types",
    level: Recommended,
    area: Correctness,
    severities: [Warn, Info],
    clauses: ["DM-09.6", "AP-S0.3"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Counts],
    thresholds: [DISCRIMINATED],
    data: ["converts", "empty", "leadingZeros", "stuck", "target", "types"],
    check: Collection(check),
}

threshold!(
    DISCRIMINATED,
    "discriminator-accuracy",
    Float(0.90),
    "share of documents",
    "our default",
    "minimum accuracy of a discriminator that explains different objects and arrays"
);

/// The harm of several types in one place.
const DO_NOT_COMPARE: &str = "range queries match only values of one type, sorting groups values by type, and sums skip strings";

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let accuracy = cx.limit(&DISCRIMINATED);
    let mut drafts = rare(collection, accuracy);
    for (profile, field) in classes::shaped_by_people(collection)
        .into_iter()
        .flat_map(|profile| profile.fields.iter().map(move |field| (profile, field)))
    {
        // Values under data keys belong to as many fields as there are keys.
        // Points, lines and polygons have coordinates of different depths.
        if field.shape == FieldShape::AnyKey
            || patterns::is_geometry(profile, field)
            || dates::owns_mix(cx.settings(), &collection.namespace, field)
        {
            continue;
        }
        let found = classes_in(field);
        if found.len() > 1 {
            drafts.push(draft(collection, profile, field, &found, accuracy));
        }
    }
    grouping::report(cx, &collection.namespace, drafts, "hold values of several types");
}

/// Values of a field by class as the server counted them in all documents, if the documents read also show several
/// classes.
fn counted_classes(collection: &Collection, field: &Field) -> Option<Vec<(Class, u64)>> {
    let counted = collection.counted.as_ref().filter(|_| field.parent.is_none())?;
    let all = classes::classes_of(&counted.field(&field.name)?.types);
    let has = |class: Class| all.iter().any(|(c, _)| *c == class);
    // Documents may have been added between the count and the reading.
    classes_in(field).iter().all(|(class, _)| has(*class)).then_some(all)
}

/// Fields of several types of which the documents read show at most one, because the others are rare: the server
/// counted them.
fn rare(collection: &Collection, accuracy: f64) -> Vec<Draft> {
    let Some(counted) = &collection.counted else { return Vec::new() };
    if collection.kind == CollectionKind::TimeSeries {
        return Vec::new();
    }
    let read = classes::shaped_by_people(collection);
    let mut drafts = Vec::new();
    for field in &counted.fields {
        let found = classes::classes_of(&field.types);
        let known = read.and_then(|profile| Some((profile, profile.field(&field.name)?)));
        let is_data = read.is_some_and(|profile| profile.dynamic.is_some());
        // T001 reports dates written as text, even if some values are dates.
        let of_dates = found.iter().all(|(c, _)| matches!(c, Class::Text | Class::Date));
        let is_told = known.is_some_and(|(_, field)| {
            classes_in(field).len() > 1 || (of_dates && classes::is_only(field, Class::Text))
        });
        if found.len() < 2 || is_data || is_told {
            continue;
        }
        let soft = match known {
            Some((profile, known)) => softness(collection, profile, known, &found, accuracy).0,
            None => matches!(names::normalised(&field.name).as_str(), "v" | "value" | "val"),
        };
        let (main, _) = found[0];
        let odd: u64 = found.iter().skip(1).map(|(_, n)| n).sum();
        let odd_types: Vec<BsonType> = field
            .types
            .values()
            .into_iter()
            .filter(|(kind, _)| Class::of(*kind) != Some(main))
            .map(|(kind, _)| kind)
            .collect();
        let path = FieldPath::new(&field.name);
        let mut draft = Draft::new(
            Subject::Field(collection.namespace.clone(), path.clone()),
            types_text(&path, &found),
            DO_NOT_COMPARE,
            format!(
                "look at the {} first, which the server counted but Docward did not read; then choose one type for `{path}`",
                text::plural(odd, "value of another type")
            ),
            counted.seen(),
        )
        .data("types", counts(&found))
        .plan(
            None,
            Safety::Safe,
            [Step::Inspect {
                namespace: collection.namespace.clone(),
                look: Look::OfTypes { path, types: odd_types },
            }],
        );
        if soft {
            draft = draft.severity(Severity::Info);
        }
        drafts.push(draft);
    }
    drafts
}

fn types_text(path: &FieldPath, found: &[(Class, u64)]) -> String {
    let kinds: Vec<String> =
        found.iter().map(|(class, n)| text::plural(*n, class.noun())).collect();
    format!("`{path}` holds {} types: {}", found.len(), kinds.join(", "))
}

fn counts(found: &[(Class, u64)]) -> DataValue {
    DataValue::Map(found.iter().map(|(c, n)| (c.noun().to_owned(), DataValue::from(*n))).collect())
}

fn draft(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    found: &[(Class, u64)],
    accuracy: f64,
) -> Draft {
    let path = &field.path;
    let ns = &collection.namespace;
    let version = versions(profile, field, found);
    let counted = counted_classes(collection, field);
    // The number of values comes from all documents; the conversions come from those that were read.
    let all = counted.as_deref().unwrap_or(found);
    let newer = version.as_ref().and_then(|v| v.newer);
    let main = newer.unwrap_or_else(|| type_unification::main_class(field, all));
    let odd: u64 = found.iter().filter(|(c, _)| *c != main).map(|(_, n)| n).sum();
    let mut outcome = Outcome::default();
    for &(class, n) in found.iter().filter(|(c, _)| *c != main) {
        type_unification::settle(profile, field, main, class, n, &mut outcome);
    }
    let target = type_unification::target_type(profile, field, main);
    let untold = version.as_ref().filter(|v| v.newer.is_none());
    let list_or_one =
        all.len() == 2 && all.iter().any(|(c, _)| *c == Class::Array) && outcome.none == 0;
    let only_empty = outcome.empty == odd;

    let of_those_read = |number: String| match counted {
        Some(_) => format!("{number} in the documents read"),
        None => number,
    };
    let mut todo = if let Some(version) = untold {
        // The frequent shape may be the old version.
        format!(
            "`{}` distinguishes versions: choose the newer version's type for `{}` and convert the older documents",
            version.field.path,
            path.dotted()
        )
    } else if path.as_str() == "_id" {
        format!(
            "choose {target} for `_id`; an `_id` cannot be changed, so insert the {} again with a new one",
            text::plural(
                all.iter().filter(|(c, _)| *c != main).map(|(_, n)| n).sum(),
                "other document"
            )
        )
    } else if only_empty {
        format!(
            "remove `{}`, or set it to null, where it is an empty string ({})",
            path.dotted(),
            of_those_read(text::plural(odd, "value"))
        )
    } else {
        let mut parts = vec![match &version {
            Some(version) => format!(
                "the type depends on the version in `{}`: choose the newer version's type, {target}, for `{}`",
                version.field.path,
                path.dotted()
            ),
            None => format!("choose {target} for `{}`", path.dotted()),
        }];
        let others = text::count(odd);
        let noun = text::form(odd, "value of another type", "values of other types");
        for (n, what) in [
            (outcome.converts, "can be converted"),
            (outcome.padded, "would lose leading zeros"),
            (outcome.empty, "would become null (empty strings)"),
            (outcome.none, "are `false`, which stands for no value: remove the field there"),
            (outcome.stuck, "cannot be converted automatically: decide each by hand"),
        ] {
            if n > 0 {
                let part = format!("{} of {others} {noun}", text::count(n));
                parts.push(format!("{} {what}", of_those_read(part)));
            }
        }
        parts.join("; ")
    };
    if list_or_one && version.is_none() {
        todo.push_str(" by wrapping single values in an array; if there is never more than one element, store that element instead");
    }

    let (soft, soft_reason) = softness(collection, profile, field, all, accuracy);
    let soft = soft || untold.is_some();
    if let Some(reason) = soft_reason {
        todo.push_str(&format!("; {reason}"));
    }
    let what = if list_or_one {
        let arrays = all.iter().find(|(c, _)| *c == Class::Array).map_or(0, |&(_, n)| n);
        let single = all.iter().filter(|(c, _)| *c != Class::Array).map(|(_, n)| n).sum();
        let noun =
            all.iter().map(|(c, _)| *c).find(|c| *c != Class::Array).map_or("value", Class::noun);
        format!(
            "`{path}` is an array in {} and a single {noun} in {}",
            text::plural(arrays, "document"),
            text::count(single)
        )
    } else {
        types_text(path, all)
    };
    let why = if list_or_one {
        "queries match both forms, but each reader must handle both, and $size and $unwind treat them differently"
    } else {
        DO_NOT_COMPARE
    };
    let target = if untold.is_some() { "the newer version's type" } else { target };
    let mut draft = Draft::new(
        Subject::Field(ns.clone(), path.clone()),
        what,
        why,
        todo,
        match (&counted, &collection.counted) {
            (Some(_), Some(counted)) => counted.seen(),
            _ => profile.seen_in(field, odd),
        },
    )
    .data("types", counts(all))
    .data("target", target)
    .data("converts", outcome.converts)
    .data("empty", outcome.empty)
    .data("leadingZeros", outcome.padded)
    .data("stuck", outcome.stuck)
    .change(
        FieldChange::convert(path, BsonType::from_name(target).into_iter().collect::<Vec<_>>())
            .or_null(outcome.empty > 0 && !only_empty)
            .or_absent(only_empty),
    )
    .examples(field.examples.iter().cloned());
    if soft {
        draft = draft.severity(Severity::Info);
    }
    // If some values cannot be converted, the field stays mixed.
    let remain = outcome.stuck + outcome.padded + outcome.none > 0;
    if soft || remain || (outcome.converts + outcome.empty == 0) {
        return draft;
    }
    match type_unification::fix(collection, profile, field, main, target, only_empty) {
        Some((safety, step)) => draft.plan(Some("RF-10"), safety, [step]),
        None => draft,
    }
}

/// A field with the schema version of a document.
struct Version<'a> {
    field: &'a Field,
    /// The class in the newer documents, if the counts show it clearly.
    newer: Option<Class>,
}

/// The version field of the collection, if documents of several versions exist.
///
/// The type depends on the version if it changed once: all versions from one on have one class, and all older ones have
/// the other.
fn versions<'a>(
    profile: &'a Profile,
    field: &Field,
    found: &[(Class, u64)],
) -> Option<Version<'a>> {
    let by = profile.top_level().find(|f| {
        matches!(
            names::normalised(&f.name).as_str(),
            "schemaversion" | "schemaver" | "docversion" | "documentversion" | "modelversion"
        ) && f.path != field.path
    })?;
    let unversioned = by.parents.saturating_sub(by.count) + (by.count - by.types.non_null());
    let mut counts: Vec<(f64, u64)> = Vec::new();
    let mut ordered = true;
    for (value, n) in by.enumeration.iter().flatten() {
        match value.trim_start_matches(['v', 'V']).parse::<f64>() {
            Ok(number) if *n > 0 => counts.push((number, *n)),
            _ => ordered = false,
        }
    }
    // Documents from before the field was introduced are the oldest.
    if unversioned > 0 {
        counts.push((f64::NEG_INFINITY, unversioned));
    }
    let several = by.distinct.values > 1.5 || unversioned > 0;
    if !several {
        return None;
    }
    counts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let newer = match found {
        [(first, a), (second, b)] if ordered && a != b && counts.len() > 1 => {
            let total: u64 = counts.iter().map(|(_, n)| n).sum();
            let mut older = 0;
            let mut newer = None;
            for (_, n) in &counts[..counts.len() - 1] {
                older += n;
                if older == *a && total - older == *b {
                    newer = Some(*second);
                } else if older == *b && total - older == *a {
                    newer = Some(*first);
                }
            }
            newer
        }
        _ => None,
    };
    Some(Version { field: by, newer })
}

/// Whether ids are words that people chose, such as keys of settings, rather than generated values.
fn are_chosen(id: &Field) -> bool {
    let is_made = |class: TextClass| {
        matches!(
            class,
            TextClass::Uuid
                | TextClass::UuidV4
                | TextClass::UuidV7
                | TextClass::Ulid
                | TextClass::ObjectIdHex
                | TextClass::HexDigest
                | TextClass::Integer
                | TextClass::LeadingZero
                | TextClass::HugeInteger
        )
    };
    id.text.as_ref().is_none_or(|text| text.count(is_made) == 0)
}

/// Whether the mix is a design that deserves only a note, and the text of the note.
fn softness(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    found: &[(Class, u64)],
    accuracy: f64,
) -> (bool, Option<String>) {
    if field.path.has_any_key() {
        return (true, Some("values below different keys may have different types".to_owned()));
    }
    if field.shape == FieldShape::Element {
        return (
            true,
            Some("elements of one array may have different types by position".to_owned()),
        );
    }
    let leaf = names::normalised(&field.name);
    let keyed = classes::siblings(profile, field).iter().any(|s| {
        matches!(
            names::normalised(&s.name).as_str(),
            "k" | "key" | "name" | "attribute" | "property" | "field"
        )
    });
    if matches!(leaf.as_str(), "v" | "value" | "val") && keyed {
        return (
            true,
            Some("values of an attribute list may have different types by attribute".to_owned()),
        );
    }
    // `{_id: "feature.x", value: …}`: the key is the `_id`.
    if matches!(leaf.as_str(), "value" | "val")
        && field.parent.is_none()
        && profile.field("_id").is_some_and(|id| {
            classes::is_only(id, Class::Text)
                && (meaning::is_settings_name(&collection.namespace.collection) || are_chosen(id))
        })
    {
        return (true, Some("values of settings may have different types by key".to_owned()));
    }
    let beside = |name: &str| {
        classes::siblings(profile, field).iter().any(|s| names::normalised(&s.name) == name)
    };
    let changes = [
        ("oldvalue", "newvalue"),
        ("previousvalue", "newvalue"),
        ("old", "new"),
        ("before", "after"),
    ];
    if changes.iter().any(|(a, b)| (leaf == *a && beside(b)) || (leaf == *b && beside(a))) {
        return (true, Some("a change log can hold values of any type".to_owned()));
    }
    let structured = found.iter().any(|(c, _)| matches!(c, Class::Object | Class::Array));
    if let Some(by) = profile.discriminator.as_ref().filter(|d| d.accuracy >= accuracy)
        && structured
        && found.len() == 2
    {
        let name = &profile.fields[by.field].path;
        return (
            true,
            Some(format!(
                "the type may depend on `{name}`, which distinguishes the kinds of documents"
            )),
        );
    }
    (false, None)
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_at, check_counted, check_with};
    use docward_model::{BsonType, Counted, CountedField, DataValue, Severity, ThresholdSetting};

    /// The types that the fix of the only finding converts, and the target.
    fn conversion(body: &str) -> Option<(Vec<&'static str>, &'static str)> {
        let found = check("T005", body);
        let fix = found[0].fix.as_ref()?;
        let docward_model::Step::ConvertField { from, to, .. } = &fix.steps()[0] else {
            panic!("{fix:?}")
        };
        Some((from.iter().map(|kind| kind.name()).collect(), to[0].name()))
    }

    #[test]
    fn dm_09_6_a_conversion_covers_every_number_of_the_field() {
        let money =
            "x50 {\"price\": NumberInt(5)}\nx30 {\"price\": 5.5}\nx20 {\"price\": \"5.25\"}";
        let (from, to) = conversion(money).expect("a conversion");
        assert_eq!((from.len(), to), (3, "decimal"), "{from:?}");
        let fractions = "x50 {\"size\": NumberInt(5)}\nx30 {\"size\": 5.5}\nx20 {\"size\": \"7\"}";
        let (from, to) = conversion(fractions).expect("a conversion");
        assert!(from.contains(&"int") && to == "double", "{from:?} {to}");
        let long = "x50 {\"size\": NumberInt(5)}\nx20 {\"size\": \"12345678901\"}";
        assert_eq!(conversion(long).expect("a conversion").1, "long");
    }

    #[test]
    fn dm_09_6_what_does_not_convert_leaves_no_half_done_field() {
        assert_eq!(conversion("x50 {\"size\": NumberInt(5)}\nx20 {\"size\": \"large\"}"), None);
        // The word means "no value": the field is intended for numbers.
        let found = check("T005", "x40 {\"size\": NumberInt($i)}\nx60 {\"size\": \"unknown\"}");
        assert!(found[0].todo.starts_with("choose int"), "{}", found[0].todo);
        // The text `NaN` would be a word among names.
        let body = "x60 {\"label\": \"name$i\"}\nx5 {\"label\": {\"$numberDouble\": \"NaN\"}}";
        assert_eq!(conversion(body), None);
    }

    #[test]
    fn dm_09_6_moments_as_text_and_as_numbers_become_dates() {
        for (texts, numbers) in [(50, 7), (2, 8)] {
            let body = format!(
                "x{texts} {{\"pushedAt\": \"2019-05-15T15:19:25Z\"}}\nx{numbers} {{\"pushedAt\": NumberInt(1557933565)}}"
            );
            let found = check("T005", &body);
            assert!(found[0].todo.starts_with("choose date"), "{}", found[0].todo);
            let command = found[0].fix.as_ref().expect("a fix").command();
            assert!(command.contains("{$multiply: [\"$pushedAt\", 1000]}"), "{command}");
        }
    }

    #[test]
    fn dm_09_6_false_for_no_value_is_not_the_type() {
        let body = "x60 {\"charges\": false}\nx9 {\"charges\": NumberInt($i)}";
        let found = check("T005", body);
        assert!(
            found[0].todo.starts_with(
                "choose int for `charges`; 60 of 60 values of other types are `false`"
            ),
            "{}",
            found[0].todo
        );
        assert!(found[0].fix.is_none());
        let lists = "x60 {\"behavior\": false}\nx9 {\"behavior\": [\"a\"]}";
        let found = check("T005", lists);
        assert!(found[0].todo.contains("stands for no value"), "{}", found[0].todo);
        assert!(!found[0].todo.contains("wrapping"), "{}", found[0].todo);
        let pairs = "x60 {\"active\": false}\nx9 {\"active\": true}\nx3 {\"active\": NumberInt(1)}";
        assert!(check("T005", pairs)[0].todo.starts_with("choose bool"));
    }

    #[test]
    fn dm_09_6_values_below_keys_that_are_data_are_a_note() {
        let body = "x9 {\"changes\": {\"65f3a2b8c1d2e3f4a5b6c7d$i\": {\"from\": \"a\"}, \"65f3a2b8c1d2e3f4a5b6c7e$i\": {\"from\": {\"b\": 1}}}}";
        assert_eq!(check("T005", body)[0].severity, Severity::Info);
    }

    #[test]
    fn dm_09_6_the_line_to_t001_moves_with_its_settings() {
        let body = "x6 {\"createdAt\": ISODate(\"2024-03-15T10:30:00Z\")}\nx3 {\"createdAt\": \"2024-03-15\"}\nx2 {\"createdAt\": \"soon\"}";
        for (share, by_t001, by_t005) in [(0.5, 1, 0), (0.9, 0, 1)] {
            let set = ("T001", "named-date-share", ThresholdSetting::Float(share));
            assert_eq!(check_at("T001", body, set.clone()).len(), by_t001, "{share}");
            assert_eq!(check_at("T005", body, set).len(), by_t005, "{share}");
        }
    }

    #[test]
    fn dm_09_6_geometries_of_several_kinds_are_no_mix() {
        let body = r#"x20 {"geometry": {"type": "Point", "coordinates": [113.2, 23.1]}}
            x20 {"geometry": {"type": "LineString", "coordinates": [[113.2, 23.1], [113.3, 23.2]]}}
            x20 {"geometry": {"type": "Polygon", "coordinates": [[[113.2, 23.1], [113.3, 23.2], [113.2, 23.3], [113.2, 23.1]]]}}"#;
        assert!(check("T005", body).is_empty(), "{:?}", check("T005", body));
        let texts = r#"x20 {"geometry": {"type": "Point", "coordinates": ["113.2", "23.1"]}}
            x20 {"geometry": {"type": "LineString", "coordinates": [["113.2", "23.1"]]}}"#;
        assert_eq!(check("T005", texts).len(), 1, "texts are no coordinates");
    }

    #[test]
    fn dm_09_6_number_string_and_object_are_three_types_that_all_convert() {
        let found = check(
            "T005",
            "{\"price\": 99.5}\n{\"price\": \"99.00\"}\n{\"price\": {\"value\": 99}}",
        );
        let price =
            found.iter().find(|f| f.at.path().is_some_and(|p| p.as_str() == "price")).unwrap();
        assert!(price.what.contains("3 types"), "{}", price.what);
        assert_eq!(price.data.get("converts"), Some(&DataValue::Int(2)));
        assert_eq!(price.data.get("stuck"), Some(&DataValue::Int(0)));
        assert_eq!(price.data.get("target"), Some(&DataValue::Text("decimal".to_owned())));
    }

    #[test]
    fn dm_09_6_the_command_does_what_the_text_counts() {
        let body =
            "x5 {\"price\": 99.5}\nx5 {\"price\": \"99.00\"}\nx5 {\"price\": {\"value\": 99}}";
        let of = |body: &str| {
            let found = check("T005", body);
            found
                .into_iter()
                .find(|f| f.at.path().is_some_and(|p| p.as_str() == "price"))
                .expect("a finding")
        };
        let command = of(body).fix.expect("a command").command();
        assert!(command.contains(r#"{$type: ["string", "object", "double"]}"#), "{command}");
        assert!(
            command.contains(
                r#"{$cond: [{$eq: [{$type: "$price"}, "object"]}, "$price.value", "$price"]}"#
            ),
            "{command}"
        );
        // Other fields of the object would be lost, so people must decide.
        let more = of(&body.replace("{\"value\": 99}", "{\"value\": 99, \"unit\": \"EUR\"}"));
        assert!(more.todo.contains("5 of 10 values of other types can be converted; 5 of 10 values of other types cannot be converted automatically"), "{}", more.todo);
        assert_eq!(more.fix, None);
    }

    #[test]
    fn dm_09_6_false_as_text_does_not_become_true() {
        let found = check("T005", "x5 {\"on\": true}\nx2 {\"on\": \"false\"}");
        let command = &found[0].fix.as_ref().expect("a command").command();
        assert!(
            command.contains(r#"{case: {$eq: [{$toLower: "$on"}, "false"]}, then: false}"#),
            "{command}"
        );
    }

    #[test]
    fn dm_09_6_empty_strings_become_null_by_the_command_too() {
        let found = check("T005", "x5 {\"n\": 1}\nx2 {\"n\": \"2\"}\n{\"n\": \"\"}");
        assert!(
            found[0]
                .todo
                .contains("1 of 3 values of other types would become null (empty strings)"),
            "{}",
            found[0].todo
        );
        let command = &found[0].fix.as_ref().expect("a command").command();
        assert!(
            command.contains(r#"onError: {$cond: [{$eq: ["$n", ""]}, null, "$n"]}"#),
            "{command}"
        );
    }

    #[test]
    fn settings_and_records_of_changes_are_information() {
        let settings = "{\"_id\": \"feature.x\", \"value\": true}\n{\"_id\": \"limit\", \"value\": 5}\n{\"_id\": \"name\", \"value\": \"a\"}";
        assert_eq!(check("T005", settings)[0].severity, Severity::Info);
        let audit =
            "x3 {\"oldValue\": 1, \"newValue\": \"a\"}\nx3 {\"oldValue\": \"b\", \"newValue\": 2}";
        let changes = check("T005", audit);
        assert_eq!(changes.len(), 2, "{changes:?}");
        for finding in changes {
            assert_eq!(finding.severity, Severity::Info, "{}", finding.what);
        }
        let other = "x3 {\"_id\": 1, \"value\": 5}\nx3 {\"_id\": 2, \"value\": \"5\"}";
        assert_eq!(check("T005", other)[0].severity, Severity::Warn);
    }

    #[test]
    fn ap_s0_3_dm_09_6_ids_that_machines_make_are_no_keys_of_settings() {
        let drift = |ns: &str, id: &dyn Fn(u32) -> String| {
            let body: String = (0..6)
                .map(|i| {
                    let value = if i % 2 == 0 { "5" } else { "\"5\"" };
                    format!("{{\"_id\": \"{}\", \"value\": {value}}}\n", id(i))
                })
                .collect();
            let found = check_with("T005", &format!("ns={ns}"), &body);
            assert_eq!(found.len(), 1, "{ns}: {found:?}");
            found[0].severity
        };
        let uuid = |i: u32| format!("{i:08x}-1234-4abc-8def-0123456789ab");
        let made: [&dyn Fn(u32) -> String; 4] =
            [&uuid, &|i| format!("{i:024x}"), &|i| format!("{i:032x}"), &|i| {
                format!("01ARZ3NDEKTSV4RRFFQ69G5F{i:02}")
            }];
        for id in made {
            assert_eq!(drift("db_iot.t_reading", id), Severity::Warn, "{}", id(1));
        }
        assert_eq!(drift("db_iot.t_setting", &uuid), Severity::Info);
        let words = |i: u32| format!("{}.limit", char::from(b'a' + i as u8));
        assert_eq!(drift("db_iot.t_option", &words), Severity::Info);
    }

    #[test]
    fn ap_s0_3_age_as_number_and_string_is_a_finding() {
        let found = check("T005", "{\"age\": 30}\n{\"age\": \"30\"}\n{\"age\": \"old\"}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].what.contains("2 types"), "{}", found[0].what);
        assert!(
            check("T005", "{\"age\": 30}\n{\"age\": null}\n{\"age\": NumberLong(31)}\n{}")
                .is_empty()
        );
    }

    #[test]
    fn empty_strings_stand_for_missing_values() {
        let found = check("T005", "x9 {\"year\": 1999}\n{\"year\": \"\"}");
        assert!(found[0].todo.contains("empty string"), "{}", found[0].todo);
        assert!(found[0].fix.as_ref().unwrap().command().contains("$unset"));
    }

    #[test]
    fn lists_and_single_values_are_named() {
        let found = check("T005", "x3 {\"author\": \"a\"}\nx2 {\"author\": [\"a\", \"b\"]}");
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("array in 2 documents"), "{}", found[0].what);
        assert!(
            found[0].todo.contains("3 of 3 values of other types can be converted by wrapping"),
            "{}",
            found[0].todo
        );
    }

    #[test]
    fn elements_and_attribute_values_are_information() {
        let found = check("T005", "{\"row\": [1, \"a\"]}");
        assert_eq!(found[0].severity, Severity::Info);
        let found = check(
            "T005",
            "{\"attributes\": [{\"k\": \"size\", \"v\": 3}, {\"k\": \"colour\", \"v\": \"red\"}]}",
        );
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Info);
    }

    #[test]
    fn an_id_of_two_types_is_reported_without_a_command() {
        let found = check("T005", "x3 {\"_id\": $i}\n{\"_id\": \"a\"}");
        assert_eq!(found.len(), 1);
        assert!(found[0].fix.is_none());
    }

    #[test]
    fn dm_09_6_the_newer_version_has_the_type_to_settle_on() {
        let body = "x30 {\"_id\": $i, \"schemaVersion\": 1, \"address\": \"a street\"}\nx10 {\"_id\": 9$i, \"schemaVersion\": 2, \"address\": {\"street\": \"a\"}}";
        let found = check("T005", body);
        assert!(
            found[0].todo.contains("newer version's type, object, for `address`"),
            "{}",
            found[0].todo
        );
        assert!(found[0].fix.is_none(), "nothing goes back to the older shape");
        // Old documents without the field are the oldest.
        let body =
            "x30 {\"_id\": $i, \"n\": \"x\"}\nx10 {\"_id\": 9$i, \"schema_version\": 2, \"n\": 5}";
        let found = check("T005", body);
        assert!(found[0].todo.contains("newer version's type, int, for `n`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_09_6_versions_that_do_not_tell_are_information() {
        let body = "x10 {\"_id\": $i, \"docVersion\": 1, \"n\": \"x\"}\nx10 {\"_id\": 9$i, \"docVersion\": 2, \"n\": 5}";
        let found = check("T005", body);
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].todo.contains("newer version's type for `n`"), "{}", found[0].todo);
        assert!(found[0].fix.is_none());
        let mongoose = body.replace("docVersion", "__v");
        assert_eq!(check("T005", &mongoose)[0].severity, Severity::Warn);
    }

    #[test]
    fn dm_09_6_ap_s0_3_rare_types_are_counted_by_the_server() {
        let counted = |types: &[(BsonType, u64)]| {
            let mut price = CountedField { name: "price".to_owned(), ..CountedField::default() };
            types.iter().for_each(|&(kind, n)| price.types.add(kind, n));
            Counted { documents: 1_000_000, fields: vec![price], ..Counted::default() }
        };
        let body = "x200 {\"_id\": $i, \"price\": 99.5}";
        let mixed = counted(&[
            (BsonType::Double, 999_000),
            (BsonType::Int, 997),
            (BsonType::String, 3),
            (BsonType::Null, 5),
        ]);
        let found = check_counted("T005", body, mixed);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "`price` holds 2 types: 999,997 numbers, 3 strings");
        let fix = found[0].fix.as_ref().map(|fix| fix.command());
        assert!(
            fix.as_ref().is_some_and(|fix| fix.contains("{\"price\": {$type: [\"string\"]}}")),
            "{fix:?}"
        );
        // The count covers all documents, even if those that were read show the mix.
        let both = counted(&[(BsonType::Double, 999_000), (BsonType::String, 1000)]);
        let shown = "x199 {\"_id\": $i, \"price\": 99.5}\n{\"_id\": 999, \"price\": \"9\"}";
        let found = check_counted("T005", shown, both);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "`price` holds 2 types: 999,000 numbers, 1,000 strings");
        assert!(
            found[0]
                .todo
                .contains("1 of 1 value of another type in the documents read can be converted"),
            "{}",
            found[0].todo
        );
        assert_eq!((found[0].seen.sampled, found[0].seen.total), (1_000_000, 1_000_000));
        // The most frequent type in the sample may be the rarer one in the whole collection.
        let text = counted(&[(BsonType::Bool, 10), (BsonType::String, 1000)]);
        let shown = "x199 {\"_id\": $i, \"price\": true}\n{\"_id\": 999, \"price\": \"soon\"}";
        let found = check_counted("T005", shown, text);
        assert!(found[0].todo.starts_with("choose string"), "{}", found[0].todo);
        let plain = counted(&[(BsonType::Double, 999_000), (BsonType::Int, 1000)]);
        assert_eq!(check_counted("T005", body, plain).len(), 0);
    }

    #[test]
    fn dm_09_6_an_id_is_settled_on_what_most_are() {
        let body =
            "x201 {\"_id\": {\"tenant\": $i, \"no\": 1}}\nx6 {\"_id\": $i}\nx12 {\"_id\": \"a$i\"}";
        let found = check("T005", body);
        let todo = &found.iter().find(|f| f.what.starts_with("`_id`")).expect("a finding").todo;
        let said = "choose object for `_id`; an `_id` cannot be changed, so insert the 18 other documents again with a new one";
        assert_eq!(todo, said);
        // In other places, an object around a number is the exception, and an empty text may become null.
        let other = check("T005", &body.replace("\"_id\"", "\"amount\""));
        assert!(!other[0].todo.contains("settle on object"), "{}", other[0].todo);
        let empty = check("T005", "x9 {\"_id\": $i}\n{\"_id\": \"\"}");
        assert!(empty[0].todo.contains("an `_id` cannot be changed"), "{}", empty[0].todo);
    }
}
