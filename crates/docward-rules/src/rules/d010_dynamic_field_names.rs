//! AP-S2.5: values used as field names.

use docward_model::{
    BsonType, Collection, Draft, DynamicKeys, Field, FieldShape, KeyForm, Profile, Safety,
    Severity, Step, Subject,
};

use crate::facts::{
    growth::patterns,
    names::{self, meaning, naming},
    remedies::proposals,
    text,
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Dynamic field names
    ///
    /// ## What it checks
    /// Reports objects whose field names are data:
    /// - dates, numbers, ObjectIds and UUIDs: an error
    /// - ever new words, and maps of words to records with the same fields: a warning
    /// - closed sets of numbers, such as the minutes `00` to `59`: a note
    ///
    /// Two such names in one object are enough. Ordinary names beside them are not counted.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - language, country and currency codes, if they are few or most objects have most of them. An object with
    ///   3 of 150 codes is a list whose codes are data
    /// - short scales such as `1` to `5`, and the hours of a day
    ///
    /// ## Why it matters
    /// Field names cannot be indexed or queried by range, and a validator cannot describe them. Tools that list
    /// the fields of a collection show thousands of them.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "counts": {"2024-01": 5, "2024-02": 7}}
    /// ```
    /// The same data as an array, with one index on `counts.month`:
    /// ```jsonl,clean
    /// {"_id": 1, "counts": [{"month": "2024-01", "count": 5}, {"month": "2024-02", "count": 7}]}
    /// {"_id": 2, "title": {"en": "Lamp", "de": "Lampe"}, "stars": {"1": 0, "2": 3, "3": 9, "4": 20, "5": 41}}
    /// ```
    ///
    /// ## How to fix
    /// Convert the object into an array of keys and values with descriptive field names. The command in the
    /// finding does this with `$objectToArray`. If new keys keep coming, make each one a document instead.
    ///
    /// ## When to ignore it
    /// The object is read and written as a whole, is never searched, and its keys come from a list that rarely
    /// changes.
    D010, "dynamic-field-names",
    level: Prohibited,
    area: Speed,
    severities: [Error, Warn, Info],
    clauses: ["AP-S2.5"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [SCALE],
    data: ["exact", "form", "key", "keys", "mostPerObject", "value"],
    check: Collection(check),
}

threshold!(
    SCALE,
    "max-scale",
    Int(12),
    "keys",
    "our default",
    "maximum number of one- or two-digit names that count as a fixed scale"
);

/// Minutes of an hour: the largest set of numbers that a clock or a calendar has.
const CLOSED: f64 = 60.0;

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let scale = cx.count(&SCALE);
    for field in &profile.fields {
        // Inside an object that is reported, the outer object takes precedence.
        if let Some(dynamic) = &field.dynamic
            && !field.path.has_any_key()
            && let Some(keys) = Keys::of_folded(dynamic, field.types.of(BsonType::Object), scale)
        {
            report(collection, profile, Some(field), &keys, cx);
        }
        if field.parent.is_none() && field.shape == FieldShape::AnyKey {
            let keys = match &profile.dynamic {
                Some(dynamic) => Keys::of_folded(dynamic, profile.documents, scale),
                None => Some(Keys::unknown(field)),
            };
            if let Some(keys) = keys {
                report(collection, profile, None, &keys, cx);
            }
        }
    }
    let places = std::iter::once(None).chain(profile.fields.iter().map(Some));
    for place in places {
        if place.is_some_and(|f| f.dynamic.is_some() || f.path.has_any_key()) {
            continue;
        }
        let children: Vec<&Field> = match place {
            Some(field) => profile.children(field).collect(),
            None => profile.top_level().collect(),
        };
        let map =
            place.filter(|field| naming::is_map(profile, field)).map(|_| Keys::of_map(&children));
        if let Some(keys) = Keys::of_named(&children).or(map) {
            report(collection, profile, place, &keys, cx);
        }
    }
}

/// Keys that are data.
struct Keys {
    form: KeyForm,
    /// The number of distinct keys, if known.
    count: Option<f64>,
    /// Whether that number is exact.
    exact: bool,
    /// A finer form for the name of the key: `month`, `date`, `year`.
    unit: Option<&'static str>,
    /// The maximum number of keys in one object.
    most: u64,
    /// Whether that is the mean, because the maximum is unknown.
    mean: bool,
    /// A few of the keys.
    examples: Vec<String>,
    /// Whether they are all numbers of a clock or a calendar, which gets no new ones.
    closed: bool,
}

/// Fewer different words than this are no open set.
const FEW_WORDS: f64 = 8.0;

fn is_word(name: &str) -> bool {
    name.chars().all(|c| c.is_alphabetic() || c == '_')
}

impl Keys {
    fn of_folded(dynamic: &DynamicKeys, objects: u64, scale: u64) -> Option<Self> {
        let examples = &dynamic.examples;
        let short = examples.iter().all(|k| k.len() <= 2);
        let dense = dynamic.per_object.mean() >= 0.8 * dynamic.keys;
        // A fixed set of codes occurs in most objects; data keys occur in few of them each.
        let sparse = dynamic.keys >= 32.0 && dynamic.per_object.mean() < 0.25 * dynamic.keys;
        let fixed = match dynamic.form {
            KeyForm::Number => {
                short && (dynamic.keys <= scale as f64 || (dynamic.keys <= 31.0 && dense))
            }
            // The profile also folds the fields of very large documents, whatever their names are.
            KeyForm::Various if dynamic.keys < FEW_WORDS && examples.iter().all(|k| is_word(k)) => {
                true
            }
            KeyForm::Various => !sparse && examples.iter().all(|k| is_code(k)),
            _ => false,
        };
        (!fixed && dynamic.keys >= 2.0).then(|| Self {
            form: dynamic.form,
            // An estimate may exceed the number of keys that the objects can contain together.
            count: Some(dynamic.keys.min(objects.saturating_mul(dynamic.per_object.max) as f64)),
            exact: dynamic.exact,
            unit: unit(examples),
            most: dynamic.per_object.max,
            mean: false,
            examples: examples.clone(),
            closed: dynamic.form == KeyForm::Number
                && short
                && dynamic.keys.round() <= CLOSED
                && (dense || is_padded(examples)),
        })
    }

    /// The fields of the documents themselves were folded; their names are no longer known.
    fn unknown(field: &Field) -> Self {
        Self {
            form: KeyForm::Various,
            count: None,
            exact: false,
            unit: None,
            most: field.count / field.parents.max(1),
            mean: false,
            examples: Vec::new(),
            closed: false,
        }
    }

    /// Recognises names of one form among ordinary ones. Numbers shorter than an id do not count: they are mostly part
    /// of a name (`line1`), and a pure scale is folded.
    fn of_named(children: &[&Field]) -> Option<Self> {
        let named = || children.iter().filter(|f| f.shape == FieldShape::Named);
        for form in [KeyForm::Date, KeyForm::ObjectId, KeyForm::Uuid, KeyForm::Number] {
            let found: Vec<String> = named()
                .filter(|f| form_of(&f.name) == Some(form))
                .map(|f| f.name.clone())
                .collect();
            if found.len() >= 2 {
                return Some(Self {
                    form,
                    count: Some(found.len() as f64),
                    exact: true,
                    unit: unit(&found),
                    most: found.len() as u64,
                    mean: false,
                    examples: found.into_iter().take(5).collect(),
                    closed: false,
                });
            }
        }
        None
    }

    /// Words that map to values of one kind.
    fn of_map(children: &[&Field]) -> Self {
        let uses: u64 = children.iter().map(|f| f.count).sum();
        let objects = children.iter().map(|f| f.parents).max().unwrap_or(1).max(1);
        Self {
            form: KeyForm::Various,
            count: Some(children.len() as f64),
            exact: true,
            unit: None,
            most: uses.div_ceil(objects),
            mean: true,
            examples: children.iter().take(5).map(|f| f.name.clone()).collect(),
            closed: false,
        }
    }

    /// Whether they are days in the server's notation, `2024-01-31`.
    fn are_days(&self) -> bool {
        self.form == KeyForm::Date
            && self.unit == Some("date")
            && self.examples.iter().all(|k| k.split('-').count() == 3)
    }

    /// Whether they are whole numbers, which would sort wrongly as text. Leading zeros are part of a code.
    fn are_numbers(&self) -> bool {
        let is_number = |k: &String| {
            k.len() <= 18 && (k.len() == 1 || !k.starts_with('0')) && digits(k, k.len())
        };
        self.form == KeyForm::Number && self.examples.iter().all(is_number)
    }

    fn describe(&self) -> &'static str {
        match (self.form, self.unit) {
            (_, Some("year")) => "years",
            (_, Some("month")) => "months",
            (KeyForm::Date, _) => "dates",
            (KeyForm::Number, _) => "numbers",
            (KeyForm::ObjectId, _) => "ObjectIds",
            (KeyForm::Uuid, _) => "UUIDs or hashes",
            (KeyForm::Various, _) if self.count.is_none() => "data",
            (KeyForm::Various, _) => "an open set of words",
        }
    }

    /// Proposes a name for the key in the array.
    fn key_name(&self, parent: &str, style: names::Style) -> String {
        match (self.form, self.unit) {
            (_, Some(unit)) => unit.to_owned(),
            (KeyForm::Date, None) => "date".to_owned(),
            (KeyForm::ObjectId | KeyForm::Uuid, None) => {
                names::in_style(&format!("{}_id", proposals::noun(parent)), style)
            }
            (KeyForm::Number, None) => "number".to_owned(),
            (KeyForm::Various, None) => "name".to_owned(),
        }
    }
}

fn report(
    collection: &Collection,
    profile: &Profile,
    place: Option<&Field>,
    keys: &Keys,
    cx: &mut Cx<'_>,
) {
    let ns = &collection.namespace;
    let style = proposals::field_style(profile);
    let count = keys.count.map_or_else(|| "many".to_owned(), |n| text::about(n, keys.exact));
    // The forms, and the maximum in one object, come from every key; only their number is estimated.
    let seen = profile.seen().estimated(!keys.exact);
    let Some(field) = place else {
        cx.report(
            Draft::new(
                Subject::Collection(ns.clone()),
                format!(
                    "the documents use {} as field names: {count} different names, up to {} in one document",
                    keys.describe(),
                    text::count(keys.most)
                ),
                "MongoDB cannot index these names or query them by range, and a validator cannot list them",
                format!(
                    "store each field as a document with `{}` and `value`, or all as one array of such pairs, and index `{}`",
                    keys.key_name("key", style),
                    keys.key_name("key", style),
                ),
                seen,
            )
            .data("form", keys.describe())
            .data("mostPerObject", keys.most)
            .examples(keys.examples.clone())
            .severity(severity(keys)),
        );
        return;
    };
    let path = field.path.dotted();
    let parent = field.path.leaf();
    let values = profile.children(field).find(|f| f.shape == FieldShape::AnyKey);
    // The key can join the fields of its value only if every value is an object with known fields; otherwise all become
    // pairs.
    let objects = values.is_some_and(|v| {
        v.is_only(BsonType::Object) && profile.children(v).all(|f| f.shape == FieldShape::Named)
    });
    let key = {
        let key = keys.key_name(parent, style);
        if objects { free_name(profile, values, parent, key, style) } else { key }
    };
    let value = value_name(parent, &key);
    // Keys of `true` are a set.
    let is_set = values.is_some_and(|v| {
        let all = v.enumeration.as_deref().unwrap_or_default();
        v.is_only(BsonType::Bool) && matches!(all, [(one, _)] if one == "true")
    });
    let pair = if objects { format!("{{{key}, …}}") } else { format!("{{{key}, {value}}}") };
    let mut draft = Draft::new(
        Subject::Field(ns.clone(), field.path.clone()),
        format!(
            "the field names in `{}` are {}: {count} different names, {} {} in one object",
            field.path,
            keys.describe(),
            if keys.mean { "about" } else { "up to" },
            text::count(keys.most),
        ),
        "MongoDB cannot index these names or query them by range, and a validator cannot list them",
        if is_set {
            format!(
                "all values are `true`, so store an array of the keys in `{}`{} and index {{ \"{path}\": 1 }}",
                field.path,
                if keys.are_numbers() { ", as numbers," } else { "" },
            )
        } else {
            format!(
            "store an array of {pair} in `{}`{} and index {{ \"{path}.{key}\": 1 }}{}",
            field.path,
            if keys.are_days() { format!(", `{key}` as a date,") } else { String::new() },
            if keys.most >= 1000 {
                format!(
                    "; {} in one object are too many for an array: store each as a document",
                    text::count(keys.most)
                )
            } else {
                String::new()
            }
            )
        },
        seen,
    )
    .data("form", keys.describe())
    .data("mostPerObject", keys.most)
    .data("key", key.clone())
    .data("value", value.clone())
    .examples(keys.examples.clone())
    .severity(severity(keys));
    if let Some(count) = keys.count {
        let shown = if keys.exact { count.round() as u64 } else { text::rounded(count) };
        draft = draft.data("keys", shown).data("exact", keys.exact);
    }
    // The object as a whole can become an array only if it contains nothing but such keys.
    let has_names = profile.children(field).any(|f| f.shape == FieldShape::Named);
    if field.dynamic.is_some()
        && !is_set
        && !has_names
        && !field.path.in_array()
        && proposals::is_plain(&path)
    {
        draft = draft.plan(
            Some("RF-08"),
            Safety::Guarded,
            [Step::ArrayFromKeys {
                namespace: ns.clone(),
                path: field.path.clone(),
                key,
                // Full dates become dates. A key that turns out not to be a date stays unchanged.
                keys_are_dates: keys.are_days(),
                keys_are_numbers: keys.are_numbers(),
                value: (!objects).then_some(value),
            }],
        );
    }
    cx.report(draft);
}

/// Keys without a common form may still be a long list of names: a warning, not an error.
fn severity(keys: &Keys) -> Severity {
    match keys.form {
        _ if keys.closed => Severity::Info,
        KeyForm::Various => Severity::Warn,
        _ => Severity::Error,
    }
}

/// A name for the key that is not a field of the values: `date`, `salesDate`, `key`, `key2`, ….
fn free_name(
    profile: &Profile,
    values: Option<&Field>,
    parent: &str,
    wanted: String,
    style: names::Style,
) -> String {
    let taken = |name: &str| {
        values.is_some_and(|v| profile.children(v).any(|f| f.name.eq_ignore_ascii_case(name)))
    };
    let longer = names::in_style(&format!("{}_{wanted}", proposals::noun(parent)), style);
    // If a value already has a name, its key is called `key`.
    let longer = if wanted == "name" { "key".to_owned() } else { longer };
    [wanted, longer, "key".to_owned()]
        .into_iter()
        .chain((2..1000).map(|n| format!("key{n}")))
        .find(|name| !taken(name))
        .unwrap_or_default()
}

/// Numbers with two digits each, small ones with a zero in front: minutes, hours, days.
fn is_padded(keys: &[String]) -> bool {
    keys.iter().all(|k| digits(k, 2)) && keys.iter().any(|k| k.starts_with('0'))
}

/// Proposes a name for the value: the singular of the object's name, unless the key has this name.
fn value_name(parent: &str, key: &str) -> String {
    let many = names::words(parent).pop().unwrap_or_default();
    let last = meaning::singular(&many);
    if last.is_empty() || last == many || last == key || last.starts_with("by") || parent == "*" {
        "value".to_owned()
    } else {
        last
    }
}

/// The form of a name that looks like data, except short numbers.
fn form_of(name: &str) -> Option<KeyForm> {
    let hex = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_hexdigit());
    if is_month(name) || is_day(name) {
        Some(KeyForm::Date)
    } else if digits(name, 24) {
        Some(KeyForm::Number)
    } else if name.len() == 24 && hex(name) {
        Some(KeyForm::ObjectId)
    } else if name.len() == 36
        && name.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && name.split('-').all(hex)
    {
        Some(KeyForm::Uuid)
    } else {
        None
    }
}

fn digits(s: &str, n: usize) -> bool {
    s.len() == n && s.bytes().all(|b| b.is_ascii_digit())
}

fn is_year(s: &str) -> bool {
    digits(s, 4) && (s.starts_with("19") || s.starts_with("20"))
}

/// `2024-01`, `2024/01`, `2024_01`.
fn is_month(s: &str) -> bool {
    s.split_once(['-', '/', '_']).is_some_and(|(y, m)| {
        is_year(y) && digits(m, 2) && m.parse::<u32>().is_ok_and(|m| (1..=12).contains(&m))
    })
}

/// Whether a text is a day such as `2024-01-31`.
fn is_day(s: &str) -> bool {
    s.rsplit_once(['-', '/', '_']).is_some_and(|(month, d)| is_month(month) && digits(d, 2))
}

/// A finer form that all keys share.
fn unit(keys: &[String]) -> Option<&'static str> {
    let all = |test: fn(&str) -> bool| !keys.is_empty() && keys.iter().all(|k| test(k));
    if all(is_month) {
        Some("month")
    } else if all(is_day) {
        Some("date")
    } else if all(is_year) {
        Some("year")
    } else {
        None
    }
}

/// Language, country and currency codes: `en`, `zh-CN`, `pt_BR`, `USD`; and single letters.
fn is_code(key: &str) -> bool {
    let letters = |s: &str, max: usize| {
        !s.is_empty() && s.len() <= max && s.bytes().all(|b| b.is_ascii_alphabetic())
    };
    match key.split_once(['-', '_']) {
        Some((language, region)) => letters(language, 3) && letters(region, 4),
        None => letters(key, 3),
    }
}

#[cfg(test)]
mod tests {
    use docward_model::Severity;

    use super::*;
    use crate::testing::check;

    #[test]
    fn ap_s2_5_months_become_an_array_of_month_and_count() {
        let found = check("D010", r#"{"_id": 1, "counts": {"2024-01": 5, "2024-02": 7}}"#);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].todo.contains("{month, count}"), "{}", found[0].todo);
        assert!(found[0].todo.contains("\"counts.month\": 1"), "{}", found[0].todo);
        let fix = found[0].fix.as_ref().expect("a command");
        assert_eq!(fix.refactoring.as_deref(), Some("RF-08"));
        assert!(fix.command().contains("$objectToArray"), "{}", fix.command());
        // Keys are values: they are shown only on request.
        assert!(!found[0].what.contains("2024") && !found[0].todo.contains("2024"));
    }

    #[test]
    fn ap_s2_5_numbers_become_numbers_and_keys_of_true_a_set() {
        let body = "x3 {\"_id\": $i, \"drives\": {\"70$i\": {\"n\": 1}, \"8$i\": {\"n\": 2}}}";
        let command = check("D010", body)[0].fix.as_ref().expect("a fix").command();
        assert!(command.contains("to: \"long\""), "{command}");
        let set = "x3 {\"_id\": $i, \"tools\": {\"70$i\": true, \"8$i\": true}}";
        let found = check("D010", set);
        assert!(found[0].todo.contains("an array of the keys"), "{}", found[0].todo);
        assert!(found[0].fix.is_none());
    }

    #[test]
    fn ap_s2_5_columns_beside_years_are_not_counted() {
        let years: Vec<String> = (1960..2019).map(|y| format!("\"{y}\": 1.5")).collect();
        let columns: Vec<String> = ('a'..='m').map(|c| format!("\"column {c}\": \"x\"")).collect();
        let (years, columns) = (years.join(", "), columns.join(", "));
        let found = check("D010", &format!("x30 {{\"_id\": $i, {columns}, {years}}}"));
        let what =
            "the documents use years as field names: 59 different names, up to 59 in one document";
        assert_eq!(found[0].what, what);
        // An object with other names in addition to its keys cannot become an array as a whole.
        let found = check("D010", &format!("x30 {{\"_id\": $i, \"by\": {{{columns}, {years}}}}}"));
        assert!(found[0].what.contains("59 different names"), "{}", found[0].what);
        assert!(found[0].fix.is_none());
    }

    #[test]
    fn ap_s2_5_a_map_of_words_to_records_is_reported() {
        let record = r#"{"tags": ["a"], "section": "b"}"#;
        let codes = |from: usize| -> String {
            let names = [
                "Fin", "Agric", "Autos", "Beer", "Books", "Chips", "Coal", "Drugs", "Food", "Gold",
            ];
            names
                .iter()
                .cycle()
                .skip(from)
                .take(5)
                .map(|n| format!("\"{n}\": {record}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let body: Vec<String> = (0..10)
            .map(|i| {
                format!("{{\"_id\": {i}, \"displayName\": \"x\", \"overrides\": {{{}}}}}", codes(i))
            })
            .collect();
        let body = body.join("\n");
        let found = check("D010", &body);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].what.contains("10 different names"), "{}", found[0].what);
        assert_eq!(found[0].severity, Severity::Warn);
        // The keys are data, not names.
        assert!(check("N011", &body).is_empty());
    }

    #[test]
    fn ap_s2_5_ids_as_names() {
        let body = "x3 {\"_id\": $i, \"users\": {\"65f3a2b8c1d2e3f4a5b6c7d$i\": {\"n\": 1}, \"65f3a2b8c1d2e3f4a5b6c7e$i\": {\"n\": 2}}}";
        let found = check("D010", body);
        assert!(found[0].todo.contains("{userId, …}"), "{}", found[0].todo);
    }

    #[test]
    fn ap_s2_5_two_among_ordinary_names() {
        let found =
            check("D010", r#"{"_id": 1, "sales": {"total": 12, "2024-01": 5, "2024-02": 7}}"#);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].fix.is_none());
        assert_eq!(check("D010", r#"{"_id": 1, "sales": {"total": 12, "2024-01": 5}}"#), []);
    }

    #[test]
    fn ap_s2_5_fixed_sets_are_left_alone() {
        for body in [
            r#"{"_id": 1, "title": {"en": "a", "de": "b", "zh-CN": "c"}}"#,
            r#"{"_id": 1, "stars": {"1": 0, "2": 3, "3": 9, "4": 20, "5": 41}}"#,
            r#"{"_id": 1, "rates": {"USD": 1.0, "EUR": 0.9}}"#,
            r#"{"_id": 1, "grades": {"A": 1, "B": 2}}"#,
            r#"{"_id": 1, "location": {"type": "Point", "coordinates": [1.5, 2.5]}}"#,
        ] {
            assert_eq!(check("D010", body), [], "{body}");
        }
    }

    #[test]
    fn ap_s2_5_ever_new_numbers() {
        let body = "x60 {\"_id\": $i, \"scores\": {\"1000$i\": 1, \"2000$i\": 2}}";
        let found = check("D010", body);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].todo.contains("{number, score}"), "{}", found[0].todo);
    }

    #[test]
    fn ap_s2_5_an_estimated_number_of_keys_is_said_to_be_one() {
        let found =
            check("D010", "x3000 {\"_id\": $i, \"scores\": {\"1000$i\": 1, \"2000$i\": 2}}");
        assert!(found[0].what.contains(": about "), "{}", found[0].what);
        assert!(found[0].what.contains("00 different names"), "{}", found[0].what);
        assert!(found[0].seen.confidence < 1.0);
        let found = check("D010", "x60 {\"_id\": $i, \"scores\": {\"1000$i\": 1, \"2000$i\": 2}}");
        assert!(found[0].what.contains(": 120 different names"), "{}", found[0].what);
        assert_eq!(found[0].seen.confidence, 1.0);
    }

    #[test]
    fn ap_s2_5_days_become_dates() {
        let found = check("D010", r#"{"_id": 1, "sales": {"2024-01-01": 5, "2024-01-02": 7}}"#);
        let command = &found[0].fix.as_ref().expect("a command").command();
        assert!(
            command.contains(
                r#"{date: {$dateFromString: {dateString: "$$this.k", onError: "$$this.k"}}, sale: "$$this.v"}"#
            ),
            "{command}"
        );
        let found = check("D010", r#"{"_id": 1, "sales": {"2024_01_01": 5, "2024_01_02": 7}}"#);
        assert!(found[0].fix.as_ref().is_none_or(|f| !f.command().contains("$dateFromString")));
    }

    #[test]
    fn ap_s2_5_there_are_no_more_keys_than_were_read() {
        for n in [800, 1500, 3000] {
            let body = format!("x{n} {{\"_id\": $i, \"scores\": {{\"1000$i\": 1}}}}");
            let found = check("D010", &body);
            let Some(docward_model::DataValue::Int(keys)) = found[0].data.get("keys") else {
                panic!("a number of keys")
            };
            assert!(*keys <= n, "{}", found[0].what);
        }
    }

    #[test]
    fn forms_are_recognised() {
        assert_eq!(form_of("2024-01"), Some(KeyForm::Date));
        assert_eq!(form_of("2024-13"), None);
        assert_eq!(form_of("2024-01-31"), Some(KeyForm::Date));
        assert_eq!(form_of("65f3a2b8c1d2e3f4a5b6c7d8"), Some(KeyForm::ObjectId));
        assert_eq!(form_of("123e4567-e89b-12d3-a456-426614174000"), Some(KeyForm::Uuid));
        assert_eq!(form_of("address2"), None);
        assert_eq!(unit(&["2023".into(), "2024".into()]), Some("year"));
        assert!(is_code("zh-Hans") && is_code("pt_BR") && !is_code("user"));
    }

    #[test]
    fn ap_s2_5_the_documents_themselves() {
        let found = check("D010", r#"{"_id": 1, "name": "a", "2024-01-01": 5, "2024-01-02": 7}"#);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].at.path().is_none());
        assert!(found[0].todo.contains("`date` and `value`"), "{}", found[0].todo);
    }

    #[test]
    fn ap_s2_5_the_key_never_replaces_a_field_of_its_values() {
        let found = check(
            "D010",
            r#"{"_id": 1, "sales": {"2024-01": {"month": 3, "n": 5}, "2024-02": {"month": 4, "n": 7}}}"#,
        );
        let command = &found[0].fix.as_ref().expect("a command").command();
        assert!(
            command.contains(r#"{$mergeObjects: ["$$this.v", {saleMonth: "$$this.k"}]}"#),
            "{command}"
        );
        assert!(found[0].todo.contains("{saleMonth, …}"), "{}", found[0].todo);
    }

    #[test]
    fn ap_s2_5_mixed_values_become_pairs() {
        let found = check(
            "D010",
            r#"{"_id": 1, "sales": {"2024-01": {"n": 5}, "2024-02": 7, "2024-03": {"n": 1}}}"#,
        );
        let command = &found[0].fix.as_ref().expect("a command").command();
        assert!(command.contains(r#"{month: "$$this.k", sale: "$$this.v"}"#), "{command}");
    }

    #[test]
    fn ap_s2_5_digits_alone_are_no_object_ids() {
        let beside = |a: &str, b: &str| {
            let found = check("D010", &format!(r#"{{"_id": 1, "name": "a", "{a}": 5, "{b}": 7}}"#));
            found[0].what.clone()
        };
        let what = beside("650312480112030415060718", "650312480112030415060719");
        assert!(what.contains("numbers"), "{what}");
        let what = beside("65f3a2b8c1d2e3f4a5b6c7d8", "65f3a2b8c1d2e3f4a5b6c7d9");
        assert!(what.contains("ObjectIds"), "{what}");
    }

    #[test]
    fn ap_s2_5_minutes_are_a_closed_set() {
        let minutes: Vec<String> = (0..60).map(|m| format!("\"{m:02}\": {m}")).collect();
        let body = format!("x5 {{\"_id\": $i, \"counts\": {{{}}}}}", minutes.join(", "));
        let found = check("D010", &body);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, Severity::Info);
        let plain: Vec<String> = (0..60).map(|m| format!("\"{m}\": {m}")).collect();
        let body = format!("x5 {{\"_id\": $i, \"counts\": {{{}}}}}", plain.join(", "));
        assert!(check("D010", &body).iter().all(|f| f.severity == Severity::Info));
        // Continuously new numbers remain an error.
        let body = "x60 {\"_id\": $i, \"scores\": {\"1000$i\": 1, \"2000$i\": 2}}";
        assert_eq!(check("D010", body)[0].severity, Severity::Error);
    }
}
