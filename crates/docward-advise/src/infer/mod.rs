//! Infers a validator from documents (ALG-10): the common properties of all documents of a
//! collection as a `$jsonSchema`, with the reason for each constraint and a list of undecided
//! points.
//!
//! No constraint depends on chance: rare fields stay open, null never excludes a type, numbers keep
//! every width that drivers choose among (GC-52), and limits have room for growth. The target types
//! of findings are permitted in addition to the stored ones, so that the schema does not refuse a
//! conversion. Values outside the tolerance are counted; the caller measures the schema against all
//! documents before applying it.

mod room;

use docward_model::{BsonType, Field, FieldShape, NumberProfile, Profile, Seen, TextClass, Value};

use docward_rules::facts::{
    growth::forecast::Credible,
    schema::{
        formats,
        targets::{Target, Targets},
    },
    text,
    values::amounts,
};

/// The options for inferring a schema.
#[derive(Clone, Copy, Debug)]
pub struct Choices {
    /// The share of values to ignore: fields missing in at most this share of documents become
    /// required, and types of at most this share of values count as drift.
    pub tolerance: f64,
    /// True to permit only the fields that were found.
    pub strict: bool,
    /// The maximum depth of described objects; below it, everything is permitted.
    pub depth: u32,
    /// True to write values of documents into the schema: enumerations and ranges.
    pub values: bool,
    /// True to write descriptions, which the server repeats in its errors.
    pub descriptions: bool,
    /// True to include formats that only the name of a field suggests. The caller then checks the
    /// schema against all documents, and withdraws those that fail.
    pub by_name: bool,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            tolerance: 0.001,
            strict: false,
            depth: 5,
            values: true,
            descriptions: true,
            by_name: false,
        }
    }
}

/// An inferred schema with its reasons.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The body of the `$jsonSchema`.
    pub schema: Value,
    /// The reason of each constraint, in the order of the schema.
    pub reasons: Vec<Reason>,
    /// The undecided points, with the reasons.
    pub undecided: Vec<Undecided>,
    /// Fields with a pattern that only their name suggests.
    pub tentative: Vec<String>,
    /// The number of documents the schema is based on.
    pub documents: u64,
    /// The number of documents in the collection, as far as known.
    pub total: u64,
    /// The number of documents examined, and their total.
    pub seen: Seen,
}

/// The reason of a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The path: `items[].price`; empty for the document.
    pub path: String,
    /// The keyword.
    pub keyword: &'static str,
    /// The reason.
    pub why: String,
    /// The number of values that fail it, as far as the profile shows.
    pub refuses: u64,
}

/// A field without a constraint, or with a weaker one than possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// The path.
    pub path: String,
    /// The reason.
    pub why: String,
}

/// The maximum number of values of an enumeration (ALG-10), …
const ENUM_VALUES: usize = 20;
/// … and the minimum number of documents and values it is based on.
const ENUM_LEAST: u64 = 1000;
/// The maximum number of words per value: enumerations consist of codes and labels.
const MAX_WORDS: usize = 3;
/// The minimum number of values for limits of numbers and lengths.
const RANGE_LEAST: u64 = 100;
/// In collections of at least [`RANGE_LEAST`] documents, fields with fewer occurrences stay open.
const RARE: u64 = 20;
/// The minimum of length and number limits, however short or small the values are.
const LEAST_LENGTH: u64 = 100;
const LEAST_MAXIMUM: f64 = 1000.0;
/// Longer strings are free text.
const FREE_TEXT: u64 = 200;
/// The maximum of array limits: below the rule book's limit (DM-08.1).
const MAX_ITEMS: u64 = 999;
/// Integers up to here are exact as doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Infers a schema from a profile. `targets` are the types that findings about the collection
/// propose.
pub fn infer(profile: &Profile, targets: &Targets, choices: &Choices) -> Inferred {
    let mut reader = Reader {
        profile,
        targets,
        choices,
        reasons: Vec::new(),
        undecided: Vec::new(),
        tentative: Vec::new(),
    };
    let top: Vec<&Field> = profile.top_level().collect();
    let mut entries = vec![word("bsonType", "object")];
    reader.object(&mut entries, "", &top, profile.documents, 0, true);
    let total = profile.total.max(profile.documents);
    Inferred {
        schema: Value::Map(entries),
        reasons: reader.reasons,
        undecided: reader.undecided,
        tentative: reader.tentative,
        documents: profile.documents,
        total,
        seen: profile.seen(),
    }
}

impl Inferred {
    /// Withdraws a constraint that documents fail; returns whether it existed.
    pub fn withdraw(&mut self, path: &str, keyword: &str) -> bool {
        let about_parent = matches!(keyword, "required" | "additionalProperties");
        let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
        let at = if about_parent { parent } else { path };
        let Some(Value::Map(entries)) = find(&mut self.schema, at) else { return false };
        let before = entries.len();
        if keyword == "required" {
            let Some((_, Value::List(names))) = entries.iter_mut().find(|(key, _)| key == keyword)
            else {
                return false;
            };
            let count = names.len();
            names.retain(|listed| listed.as_text() != Some(name));
            let is_gone = names.len() < count;
            if names.is_empty() {
                entries.retain(|(key, _)| key != keyword);
            }
            self.reasons.retain(|reason| !(reason.path == path && reason.keyword == keyword));
            return is_gone;
        }
        entries.retain(|(key, _)| key != keyword);
        let is_gone = entries.len() < before;
        self.reasons.retain(|reason| !(reason.path == at && reason.keyword == keyword));
        is_gone
    }
}

/// The schema of a path.
fn find<'s>(schema: &'s mut Value, path: &str) -> Option<&'s mut Value> {
    let mut at = schema;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let name = part.trim_end_matches("[]");
        for step in std::iter::once(("properties", name))
            .chain(std::iter::repeat_n(("items", ""), (part.len() - name.len()) / 2))
        {
            let entry = |value: &'s mut Value, key: &str| match value {
                Value::Map(entries) => {
                    entries.iter_mut().find(|(listed, _)| listed == key).map(|(_, value)| value)
                }
                _ => None,
            };
            at = entry(at, step.0)?;
            if !step.1.is_empty() {
                at = entry(at, step.1)?;
            }
        }
    }
    Some(at)
}

fn word(key: &str, value: &str) -> (String, Value) {
    (key.to_owned(), Value::Text(value.to_owned()))
}

fn whole(key: &str, value: u64) -> (String, Value) {
    (key.to_owned(), Value::Int(i64::try_from(value).unwrap_or(i64::MAX)))
}

struct Reader<'p> {
    profile: &'p Profile,
    targets: &'p Targets,
    choices: &'p Choices,
    reasons: Vec<Reason>,
    undecided: Vec<Undecided>,
    tentative: Vec<String>,
}

impl Reader<'_> {
    fn because(&mut self, path: &str, keyword: &'static str, why: impl Into<String>, refuses: u64) {
        self.reasons.push(Reason { path: path.to_owned(), keyword, why: why.into(), refuses });
    }

    fn target(&self, field: &Field) -> Option<&Target> {
        self.targets.at(field.path.as_str())
    }

    fn leave_open(&mut self, path: &str, why: impl Into<String>) {
        self.undecided.push(Undecided { path: path.to_owned(), why: why.into() });
    }

    /// The constraints of an object with these fields.
    fn object(
        &mut self,
        entries: &mut Vec<(String, Value)>,
        path: &str,
        fields: &[&Field],
        objects: u64,
        depth: u32,
        is_document: bool,
    ) {
        let named: Vec<&&Field> = fields.iter().filter(|f| f.shape == FieldShape::Named).collect();
        let any_key = fields.iter().find(|f| f.shape == FieldShape::AnyKey);
        let required = self.required(path, &named, objects, is_document);
        if !required.is_empty() {
            let names = required.into_iter().map(Value::Text).collect();
            entries.push(("required".to_owned(), Value::List(names)));
        }
        let mut properties: Vec<(String, Value)> = Vec::new();
        for field in named {
            let schema = match self.refusal(field, depth) {
                Some(why) => {
                    self.leave_open(field.path.as_str(), why);
                    Vec::new()
                }
                None => self.value(field, depth),
            };
            // An open field is named if no others are permitted.
            if !schema.is_empty() || (self.choices.strict && !field.name.is_empty()) {
                properties.push((field.name.clone(), Value::Map(schema)));
            }
        }
        // A field with an empty name cannot be listed, so other fields stay permitted.
        let is_nameless = fields.iter().any(|f| f.shape == FieldShape::Named && f.name.is_empty());
        let is_closed =
            self.choices.strict && any_key.is_none() && !is_nameless && !self.profile.fields_capped;
        if is_closed && is_document && !properties.iter().any(|(name, _)| name == "_id") {
            properties.insert(0, ("_id".to_owned(), Value::Map(Vec::new())));
        }
        if !properties.is_empty() {
            entries.push(("properties".to_owned(), Value::Map(properties)));
        }
        if let Some(field) = any_key {
            let schema = self.value(field, depth);
            if !schema.is_empty() {
                let why = "its keys are data, so one schema describes all values";
                self.because(path, "additionalProperties", why, 0);
                entries.push(("additionalProperties".to_owned(), Value::Map(schema)));
            }
        } else if is_closed {
            self.because(path, "additionalProperties", "strict: no other field was seen", 0);
            entries.push(("additionalProperties".to_owned(), Value::Bool(false)));
        } else if self.choices.strict && self.profile.fields_capped {
            self.leave_open(
                path,
                "there are more fields than Docward tracks, so other fields stay allowed",
            );
        }
    }

    fn required(
        &mut self,
        path: &str,
        named: &[&&Field],
        objects: u64,
        is_document: bool,
    ) -> Vec<String> {
        let least = 1.0 - self.choices.tolerance;
        let mut names = Vec::new();
        for field in named {
            let is_key = is_document && field.name == "_id";
            let removes = self.target(field).is_some_and(|target| target.removes);
            if is_key
                || removes
                || objects == 0
                || field.name.is_empty()
                || field.name.contains('.')
            {
                continue;
            }
            let share = field.count as f64 / objects as f64;
            if share < least {
                continue;
            }
            let missing = objects.saturating_sub(field.count);
            let of = if is_document { "document" } else { "object" };
            let why = if missing == 0 {
                format!(
                    "in {} {}",
                    text::form(objects, "the only", "all"),
                    text::plural(objects, of)
                )
            } else {
                format!("in {} ({})", text::part(field.count, objects, of), text::percent(share))
            };
            let at = join(path, &field.name);
            self.because(&at, "required", why, missing);
            names.push(field.name.clone());
        }
        names
    }

    /// The reason why a field has no constraint.
    fn refusal(&self, field: &Field, depth: u32) -> Option<String> {
        if field.name.is_empty() {
            return Some("its name is empty, which a schema cannot describe".to_owned());
        }
        if field.name.contains('.') {
            return Some("its name contains a dot, which a schema treats as a path".to_owned());
        }
        if depth >= self.choices.depth && field.types.of(BsonType::Object) == field.types.non_null()
        {
            let depth = self.choices.depth;
            return Some(format!(
                "nested deeper than {depth} levels; the schema describes no fields there"
            ));
        }
        if field.types.non_null() == 0 {
            return Some("only null was seen, so its type is unknown".to_owned());
        }
        if self.profile.documents >= RANGE_LEAST && field.types.non_null() < RARE {
            let times = text::plural(field.types.non_null(), "value");
            return Some(format!(
                "too rare to decide: {times} in {}",
                text::plural(self.profile.documents, "document")
            ));
        }
        None
    }

    /// The constraints of a value.
    fn value(&mut self, field: &Field, depth: u32) -> Vec<(String, Value)> {
        let path = field.path.as_str().to_owned();
        let mut entries = Vec::new();
        let types = self.types(field, &mut entries);
        if types.is_empty() {
            entries.clear();
            return entries;
        }
        if types.contains(&BsonType::String) {
            self.text(field, &types, &mut entries);
        }
        if types.iter().any(|kind| kind.is_number()) {
            self.number(field, &mut entries);
        }
        if types.contains(&BsonType::Array) {
            self.array(field, depth, &mut entries);
        }
        if types.contains(&BsonType::Object) {
            let children: Vec<&Field> = self
                .profile
                .children(field)
                .filter(|child| child.shape != FieldShape::Element)
                .collect();
            let objects = field.types.of(BsonType::Object);
            if depth < self.choices.depth {
                self.object(&mut entries, &path, &children, objects, depth + 1, false);
            } else if !children.is_empty() {
                let depth = self.choices.depth;
                self.leave_open(
                    &path,
                    format!("the schema does not describe objects deeper than {depth} levels"),
                );
            }
        }
        if self.choices.descriptions
            && let Some(description) = self.description(field, &entries)
        {
            entries.insert(0, word("description", &description));
        }
        entries
    }

    /// `bsonType`: every type except drift, with the numeric types that drivers choose among.
    fn types(&mut self, field: &Field, entries: &mut Vec<(String, Value)>) -> Vec<BsonType> {
        let path = field.path.as_str();
        let values = field.types.non_null().max(1) as f64;
        let numbers_stay = field.types.numbers() as f64 / values > self.choices.tolerance;
        // One value of 300 in a map or an array is rare, and still every document may have it.
        let holders = (field.parents.max(1) as f64).min(values);
        let mut types = Vec::new();
        let mut drift = Vec::new();
        for kind in BsonType::ALL {
            let n = field.types.of(kind);
            let is_rare = n as f64 / holders <= self.choices.tolerance
                && kind != BsonType::Null
                && !(kind.is_number() && numbers_stay);
            match n {
                0 => {}
                n if is_rare => drift.push((kind, n)),
                _ => types.push(kind),
            }
        }
        if types.iter().all(|kind| *kind == BsonType::Null) {
            self.leave_open(path, "no type is frequent enough to be the intended one");
            return Vec::new();
        }
        let mut why = field.types.describe();
        let also = companions(field, &types);
        if !also.is_empty() {
            let names: Vec<_> = also.iter().map(|kind| kind.name()).collect();
            why.push_str(&format!(
                "; {} too, because drivers choose by value (GC-52)",
                names.join(" and ")
            ));
        }
        if !drift.is_empty() {
            let names: Vec<_> = drift
                .iter()
                .map(|(kind, n)| format!("{} ({})", kind.name(), text::count(*n)))
                .collect();
            why.push_str(&format!("; treated as errors and left out: {}", names.join(", ")));
        }
        types.extend(also);
        if let Some(target) = self.target(field) {
            let more = target.beyond(&types);
            if !more.is_empty() {
                let names: Vec<_> = more.iter().map(|kind| kind.name()).collect();
                let rules = target.rules.join(", ");
                why.push_str(&format!(
                    "; {} too, because {rules} requires it",
                    names.join(" and ")
                ));
            }
            types.extend(more);
        }
        types.sort_unstable_by_key(|kind| (*kind == BsonType::Null, *kind as u8));
        types.dedup();
        let refuses = drift.iter().map(|(_, n)| n).sum();
        self.because(path, "bsonType", why, refuses);
        let mut names: Vec<Value> =
            types.iter().map(|kind| Value::Text(kind.name().to_owned())).collect();
        let value = if names.len() == 1 { names.remove(0) } else { Value::List(names) };
        entries.push(("bsonType".to_owned(), value));
        types
    }

    fn text(&mut self, field: &Field, types: &[BsonType], entries: &mut Vec<(String, Value)>) {
        let path = field.path.as_str();
        let Some(profile) = &field.text else { return };
        let strings = profile.total();
        // An enumeration of the stored strings would refuse the converted values.
        let is_converted = self
            .target(field)
            .is_some_and(|target| target.kinds.iter().any(|kind| *kind != BsonType::String));
        if self.choices.values
            && !is_converted
            && self.profile.documents >= ENUM_LEAST
            && let Some(values) = enumeration(field, types)
        {
            let why = format!(
                "{} in {}, each more than once",
                text::plural(values.len() as u64, "value"),
                text::plural(strings, "string")
            );
            self.because(path, "enum", why, 0);
            entries.push(("enum".to_owned(), Value::List(values)));
            return;
        }
        if let Some(format) = formats::format_of(profile) {
            let why = format!("all {} {}", text::count(strings), format.what);
            self.because(path, "pattern", why, 0);
            entries.push(word("pattern", format.pattern));
            return;
        }
        if self.choices.by_name
            && let Some(format) = formats::format_by_name(&field.name, profile)
        {
            let why = format!(
                "by the field name, the values {}; every document was checked",
                format.what
            );
            self.because(path, "pattern", why, 0);
            self.tentative.push(path.to_owned());
            entries.push(word("pattern", format.pattern));
            return;
        }
        if strings < RANGE_LEAST {
            return;
        }
        if profile.of(TextClass::Empty) == 0 {
            self.because(path, "minLength", "no empty string was seen", 0);
            entries.push(whole("minLength", 1));
        }
        // Lengths are known in bytes; there are at most as many characters.
        let longest = profile.lengths.max;
        if longest > FREE_TEXT {
            self.leave_open(path, "free text has no natural length, so no maximum is set");
            return;
        }
        let room = room::twice(longest).max(LEAST_LENGTH);
        let why = format!(
            "the longest has {}, and the limit leaves room to grow",
            text::plural(longest, "byte")
        );
        self.because(path, "maxLength", why, 0);
        entries.push(whole("maxLength", room));
    }

    fn number(&mut self, field: &Field, entries: &mut Vec<(String, Value)>) {
        let path = field.path.as_str();
        let Some(number) = field.number else { return };
        if self.target(field).is_some_and(|target| target.makes_numbers(field)) {
            self.leave_open(
                path,
                "values of other types still have to be converted to numbers, so no range is set",
            );
            return;
        }
        let doubles = field.types.of(BsonType::Double);
        let is_integral = doubles > 0
            && number.fractional_doubles == 0
            && number.not_finite == 0
            && field.types.of(BsonType::Decimal) == 0
            && field.types.of(BsonType::Int) + field.types.of(BsonType::Long) > 0;
        if is_integral {
            let why = format!("none of {} has a fraction (GC-52)", text::plural(doubles, "double"));
            self.because(path, "multipleOf", why, 0);
            entries.push(("multipleOf".to_owned(), Value::Int(1)));
        }
        // A key has no range.
        if !self.choices.values || path == "_id" || !has_range(field, &number) {
            return;
        }
        if let Some((kind, limit_of)) = coordinate(path) {
            if number.min < -limit_of || number.max > limit_of {
                let why = format!(
                    "some values are outside of -{limit_of} to {limit_of} and so not a {kind}; no \
                     range is set"
                );
                self.leave_open(path, why);
                return;
            }
            let why = format!("a {kind} lies between -{limit_of} and {limit_of}");
            for (keyword, value) in [("minimum", -limit_of), ("maximum", limit_of)] {
                self.because(path, keyword, why.clone(), 0);
                entries.push((keyword.to_owned(), limit(value)));
            }
            return;
        }
        if number.min >= 0.0 {
            self.because(path, "minimum", format!("the smallest is {}", figure(number.min)), 0);
            entries.push(("minimum".to_owned(), Value::Int(0)));
        } else {
            let least = -room::tenfold(-number.min);
            let why = format!("the smallest is {}, with a tenfold margin", figure(number.min));
            self.because(path, "minimum", why, 0);
            entries.push(("minimum".to_owned(), limit(least)));
        }
        if number.max <= 0.0 {
            return;
        }
        if is_counted_up(field) {
            self.leave_open(
                path,
                "no maximum is set, because the value increases from document to document",
            );
            return;
        }
        let most = room::tenfold(number.max).max(LEAST_MAXIMUM);
        let why = format!("the largest is {}; the limit is ten times that", figure(number.max));
        self.because(path, "maximum", why, 0);
        entries.push(("maximum".to_owned(), limit(most)));
    }

    fn array(&mut self, field: &Field, depth: u32, entries: &mut Vec<(String, Value)>) {
        let path = field.path.as_str();
        if let Some(array) = &field.array {
            let longest = array.lengths.max;
            if longest > MAX_ITEMS {
                let why = format!(
                    "no maximum length is set, because an array already has {}; DM-08.1 requires fewer than 1,000",
                    text::plural(longest, "element")
                );
                self.leave_open(path, why);
            } else if array.growth.as_ref().is_some_and(|growth| Credible::DEFAULT.holds(growth)) {
                self.leave_open(
                    path,
                    "the array grows with the age of the document: set a maximum length (DM-08.2)",
                );
            } else {
                let why = format!(
                    "the longest has {}; fewer than 1,000 by DM-08.1",
                    text::plural(longest, "element")
                );
                self.because(path, "maxItems", why, 0);
                entries.push(whole("maxItems", MAX_ITEMS));
            }
        }
        let Some(element) = self.profile.element(field) else { return };
        let element_path = element.path.as_str();
        if element.types.non_null() == 0 {
            return;
        }
        if self.profile.documents >= RANGE_LEAST && element.types.non_null() < RARE {
            let seen = text::plural(element.types.non_null(), "element");
            self.leave_open(element_path, format!("too rare to decide: {seen}"));
            return;
        }
        let schema = self.value(element, depth);
        if !schema.is_empty() {
            entries.push(("items".to_owned(), Value::Map(schema)));
        }
    }

    /// The rule book's advice for such a field; the server repeats it when it refuses a document.
    fn description(&self, field: &Field, entries: &[(String, Value)]) -> Option<String> {
        let admitted = admitted(entries);
        let target = self.target(field).and_then(|target| target.description(&admitted));
        let types = &field.types;
        let is_money = amounts::is_money_field(self.profile, field);
        match target {
            Some(target) if is_money => {
                return Some(format!("An amount of money (DM-09.2). {target}"));
            }
            Some(target) => return Some(target),
            None if is_money
                && types.numbers() > 0
                && types.of(BsonType::Decimal) == types.numbers() =>
            {
                return Some("An amount of money, stored as decimal (DM-09.2)".to_owned());
            }
            None => {}
        }
        if let Some((_, Value::Int(most))) = entries.iter().find(|(key, _)| key == "maxItems") {
            return Some(format!("A list of at most {most} elements (DM-08.1)"));
        }
        None
    }
}

/// The types that a described field permits.
fn admitted(entries: &[(String, Value)]) -> Vec<BsonType> {
    let listed = entries.iter().find(|(key, _)| key == "bsonType").map(|(_, value)| value);
    let names = match listed {
        Some(Value::List(names)) => names.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    names.iter().filter_map(Value::as_text).filter_map(BsonType::from_name).collect()
}

/// The numeric types that a driver writes into the same field depending on the value: JavaScript
/// writes an integer among fractions as an int, a large one among small ones as a long.
fn companions(field: &Field, types: &[BsonType]) -> Vec<BsonType> {
    let Some(number) = field.number else { return Vec::new() };
    let has = |kind| types.contains(&kind);
    let mut out = Vec::new();
    let is_chosen_by_value = !has(BsonType::Int) && !has(BsonType::Decimal);
    if has(BsonType::Double) && is_chosen_by_value && number.integral_doubles == 0 {
        out.push(BsonType::Int);
    }
    let most = room::tenfold(number.max.max(-number.min));
    if has(BsonType::Int) && !has(BsonType::Long) && most > f64::from(i32::MAX) {
        out.push(BsonType::Long);
    }
    out
}

/// Returns whether the minimum and maximum are known, exact and based on enough values.
fn has_range(field: &Field, number: &NumberProfile) -> bool {
    field.types.numbers() >= RANGE_LEAST
        && field.types.of(BsonType::Decimal) == 0
        && number.not_finite == 0
        && number.max.max(-number.min) < EXACT / 10.0
}

/// The name of a coordinate and its maximum absolute value, by the last part of a path.
fn coordinate(path: &str) -> Option<(&'static str, f64)> {
    let name = path.rsplit('.').next().unwrap_or(path).to_ascii_lowercase();
    match name.as_str() {
        "latitude" | "lat" => Some(("latitude", 90.0)),
        "longitude" | "lng" | "lon" | "long" => Some(("longitude", 180.0)),
        _ => None,
    }
}

/// Returns whether numbers increase in storage order: sequence numbers, counters, times.
fn is_counted_up(field: &Field) -> bool {
    field.natural_order.is_some_and(|correlation| correlation > 0.5)
}

/// The strings that a field is limited to, and null if it occurs.
fn enumeration(field: &Field, types: &[BsonType]) -> Option<Vec<Value>> {
    let strings = field.types.of(BsonType::String);
    let kept = field.enumeration.as_deref()?;
    let is_whole = field.types.non_null() == strings
        && kept.iter().map(|(_, n)| n).sum::<u64>() == strings
        && kept.len() <= ENUM_VALUES
        && strings >= ENUM_LEAST;
    // A value that occurs once suggests that there are more, and phrases are not codes.
    let is_phrase = |text: &str| text.split_whitespace().count() > MAX_WORDS;
    if !is_whole || kept.iter().any(|(value, n)| *n < 2 || is_phrase(value)) {
        return None;
    }
    let mut values: Vec<&str> = kept.iter().map(|(value, _)| value.as_str()).collect();
    values.sort_unstable();
    let mut values: Vec<Value> = values.into_iter().map(|v| Value::Text(v.to_owned())).collect();
    if types.contains(&BsonType::Null) {
        values.push(Value::Null);
    }
    Some(values)
}

fn limit(n: f64) -> Value {
    if n.fract() == 0.0 && n.abs() < EXACT { Value::Int(n as i64) } else { Value::Double(n) }
}

fn figure(n: f64) -> String {
    if n.fract() == 0.0 && n.abs() < EXACT { format!("{}", n as i64) } else { format!("{n}") }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests;
