//! Reads and proposes `$jsonSchema` validators (DM-11). Only unconditional constraints are checked. The branches of
//! `anyOf`, `oneOf` and `not` apply to some documents, and a profile cannot show which.

pub mod declared;
pub mod formats;
pub mod model_fields;
pub mod targets;
pub mod validators;

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    BsonType, Distribution, Field, FieldShape, Profile, TextClass, TextProfile, Value,
};

use crate::facts::names;
use crate::facts::names::naming::is_framework;
use crate::facts::schema::targets::Targets;
use crate::facts::text;

/// Every `$jsonSchema` of a validator that each document must meet: at the top and inside `$and`.
pub fn schemas(validator: &Value) -> Vec<&Value> {
    let mut out = Vec::new();
    for (key, value) in validator.entries() {
        match key.as_str() {
            "$jsonSchema" => out.push(value),
            "$and" => out.extend(value.items().iter().flat_map(schemas)),
            _ => {}
        }
    }
    out
}

/// The documents that must meet a `$jsonSchema` of a validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// No documents: the validator has no schema.
    Nobody,
    /// Only documents that pass in no other way, such as by another branch of `$or`.
    Some,
    /// All documents; each must meet at least one of several schemas.
    All,
}

/// Returns the documents that must meet a `$jsonSchema` of a validator, at any position.
pub fn held(validator: &Value) -> Held {
    let parts = validator.entries().iter().map(|(key, value)| {
        let branches = || value.items().iter().map(held);
        match key.as_str() {
            "$jsonSchema" => Held::All,
            "$and" => branches().max().unwrap_or(Held::Nobody),
            "$or" if branches().all(|branch| branch == Held::All) => Held::All,
            "$or" | "$nor" if branches().any(|branch| branch != Held::Nobody) => Held::Some,
            _ => Held::Nobody,
        }
    });
    parts.max().unwrap_or(Held::Nobody)
}

/// The types that a schema node accepts; `None` if it does not restrict them.
pub fn admitted_types(node: &Value) -> Option<BTreeSet<BsonType>> {
    let (key, value) = node.entries().iter().find(|(k, _)| k == "bsonType" || k == "type")?;
    let mut out = types_named(value).unwrap_or_default();
    let words = std::slice::from_ref(value).iter().chain(value.items());
    if key == "type" && words.filter_map(Value::as_text).any(|word| word == "boolean") {
        out.insert(BsonType::Bool);
    }
    (!out.is_empty()).then_some(out)
}

/// The types that a word or a list of words names; `None` if none is known. A word that this table does not contain
/// accepts a type that it cannot name.
pub fn types_named(value: &Value) -> Option<BTreeSet<BsonType>> {
    let words = std::slice::from_ref(value).iter().chain(value.items());
    let mut out = BTreeSet::new();
    for word in words.filter_map(Value::as_text) {
        match word {
            "number" => out.extend(BsonType::ALL.into_iter().filter(|t| t.is_number())),
            word => out.extend(BsonType::ALL.into_iter().find(|t| t.name() == word)),
        }
    }
    (!out.is_empty()).then_some(out)
}

/// A constraint of a schema on every document.
#[derive(Clone, Debug)]
pub struct Demand<'a> {
    /// The path of the constraint, in the form of field paths: `items[].price`.
    pub path: String,
    /// The kind of constraint.
    pub kind: DemandKind<'a>,
}

/// A constraint on a place.
#[derive(Clone, Debug)]
pub enum DemandKind<'a> {
    /// The field exists.
    Required,
    /// It has one of these types.
    Types(BTreeSet<BsonType>),
    /// An array has no more elements than this.
    MaxItems(u64),
    /// A string matches this pattern.
    Pattern(&'a str),
    /// It is one of these values.
    Enum(&'a [Value]),
    /// A number is not below this; with `true`, also not equal to it.
    Minimum(f64, bool),
    /// A number is not above this; with `true`, also not equal to it.
    Maximum(f64, bool),
    /// A string has at least this many characters.
    MinLength(u64),
    /// A string has at most this many characters.
    MaxLength(u64),
}

/// All unconditional constraints of a schema.
pub fn demands(schema: &Value) -> Vec<Demand<'_>> {
    let mut out = Vec::new();
    walk(schema, "", &mut out);
    out
}

fn walk<'a>(node: &'a Value, path: &str, out: &mut Vec<Demand<'a>>) {
    let child = |name: &str| {
        if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
    };
    for (key, value) in node.entries() {
        match key.as_str() {
            "required" => {
                out.extend(
                    value
                        .items()
                        .iter()
                        .filter_map(Value::as_text)
                        .map(|name| Demand { path: child(name), kind: DemandKind::Required }),
                );
            }
            "properties" => {
                for (name, node) in value.entries() {
                    walk(node, &child(name), out);
                }
            }
            "items" if matches!(value, Value::Map(_)) => walk(value, &format!("{path}[]"), out),
            "allOf" => {
                for node in value.items() {
                    walk(node, path, out);
                }
            }
            "maxItems" => {
                if let Some(n) = value.as_int().and_then(|n| u64::try_from(n).ok()) {
                    out.push(Demand { path: path.to_owned(), kind: DemandKind::MaxItems(n) });
                }
            }
            "pattern" => {
                if let Some(pattern) = value.as_text() {
                    out.push(Demand { path: path.to_owned(), kind: DemandKind::Pattern(pattern) });
                }
            }
            "enum" if !path.is_empty() => {
                out.push(Demand { path: path.to_owned(), kind: DemandKind::Enum(value.items()) })
            }
            "minimum" | "maximum" => {
                let limit = match value {
                    Value::Int(n) => *n as f64,
                    Value::Double(n) => *n,
                    _ => continue,
                };
                let kind = if key == "minimum" {
                    DemandKind::Minimum(limit, node.get("exclusiveMinimum").is_some_and(is_true))
                } else {
                    DemandKind::Maximum(limit, node.get("exclusiveMaximum").is_some_and(is_true))
                };
                out.push(Demand { path: path.to_owned(), kind });
            }
            "minLength" | "maxLength" => {
                if let Some(n) = value.as_int().and_then(|n| u64::try_from(n).ok()) {
                    let kind = if key == "minLength" {
                        DemandKind::MinLength(n)
                    } else {
                        DemandKind::MaxLength(n)
                    };
                    out.push(Demand { path: path.to_owned(), kind });
                }
            }
            _ => {}
        }
    }
    if !path.is_empty()
        && let Some(types) = admitted_types(node)
    {
        out.push(Demand { path: path.to_owned(), kind: DemandKind::Types(types) });
    }
}

fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true))
}

/// Top-level names that a closed schema (`additionalProperties: false`) accepts.
#[derive(Clone, Debug)]
pub struct Closed {
    names: BTreeSet<String>,
    patterns: Vec<regex::Regex>,
}

impl Closed {
    /// Whether a document may have the field.
    pub fn admits(&self, name: &str) -> bool {
        self.names.contains(name) || self.patterns.iter().any(|p| p.is_match(name))
    }
}

/// The names that a closed schema accepts; `None` if it is open, or if a pattern over names cannot be evaluated here.
pub fn closed(schema: &Value) -> Option<Closed> {
    if !is_closed(schema) {
        return None;
    }
    let names = |key: &str| {
        schema.get(key).map(Value::entries).unwrap_or_default().iter().map(|(name, _)| name)
    };
    let patterns =
        names("patternProperties").map(|p| regex::Regex::new(p)).collect::<Result<_, _>>().ok()?;
    Some(Closed { names: names("properties").cloned().collect(), patterns })
}

/// Whether a schema accepts only the fields it names.
pub fn is_closed(schema: &Value) -> bool {
    matches!(schema.get("additionalProperties"), Some(Value::Bool(false)))
}

/// Keywords without a constraint.
const NOTES: &[&str] = &["title", "description", "$comment"];

/// Returns the keywords and query operators of a validator that [`breaches`] cannot check, as written. If it is empty
/// and no breach was found, there is none.
pub fn unchecked(validator: &Value) -> BTreeSet<String> {
    fn of_schema(node: &Value, out: &mut BTreeSet<String>) {
        for (key, value) in node.entries() {
            match key.as_str() {
                "required" | "maxItems" => {}
                "bsonType" | "type" if admitted_types(node).is_some() => {}
                "properties" => value.entries().iter().for_each(|(_, node)| of_schema(node, out)),
                "items" if matches!(value, Value::Map(_)) => of_schema(value, out),
                "additionalProperties" if matches!(value, Value::Bool(true)) => {}
                key if NOTES.contains(&key) => {}
                key => {
                    out.insert(key.to_owned());
                }
            }
        }
    }
    let mut out = BTreeSet::new();
    for (key, value) in validator.entries() {
        match key.as_str() {
            "$jsonSchema" => of_schema(value, &mut out),
            "$and" => value.items().iter().for_each(|part| out.extend(unchecked(part))),
            key => {
                out.insert(key.to_owned());
            }
        }
    }
    out
}

/// A constraint that stored documents break.
#[derive(Clone, Debug)]
pub struct Breach {
    /// The path of the breach.
    pub path: String,
    /// The breach in words: "`email` is required but absent".
    pub what: String,
    /// The number of values (documents, for the top level) that break it.
    pub count: u64,
    /// The number of examined values.
    pub of: u64,
    /// Whether there may be more than `count`.
    pub at_least: bool,
    /// Whether they break `maxLength`.
    pub too_long: bool,
}

impl Breach {
    /// Whether the violation is a missing required field.
    pub fn is_absence(&self) -> bool {
        self.what == ABSENT
    }
}

/// The text about a required field that is missing.
const ABSENT: &str = "required but missing";

/// Returns the constraints of the validator that profiled documents break.
pub fn breaches(validator: &Value, profile: &Profile) -> Vec<Breach> {
    let mut out: BTreeMap<(String, String), Breach> = BTreeMap::new();
    for demand in schemas(validator).into_iter().flat_map(demands) {
        let field = profile.field(&demand.path);
        let found = match &demand.kind {
            DemandKind::Required => match field {
                Some(f) => {
                    Some((ABSENT.to_owned(), f.parents.saturating_sub(f.count), f.parents, false))
                }
                None => {
                    let parents = objects_at(profile, &demand.path);
                    Some((ABSENT.to_owned(), parents, parents, false))
                }
            },
            DemandKind::Types(types) => field.map(|f| {
                let wrong: Vec<_> =
                    f.types.seen().into_iter().filter(|(t, _)| !types.contains(t)).collect();
                let names: Vec<_> = wrong.iter().map(|(t, _)| t.name()).collect();
                let admitted: Vec<_> = types.iter().map(|t| t.name()).collect();
                (
                    format!("{} instead of {}", names.join(" and "), admitted.join("/")),
                    wrong.iter().map(|(_, n)| n).sum(),
                    f.count,
                    false,
                )
            }),
            DemandKind::MaxItems(max) => field.and_then(|f| f.array.as_ref()).map(|a| {
                (
                    format!("longer than {}", text::plural(*max, "element")),
                    a.lengths.at_least(max.saturating_add(1)),
                    a.lengths.count,
                    false,
                )
            }),
            // V005 checks patterns, and knows which ones it cannot evaluate.
            DemandKind::Pattern(_) => None,
            DemandKind::Enum(values) => field.map(|f| {
                let (count, at_least) = outside(f, values);
                ("not one of the values in its `enum`".to_owned(), count, f.count, at_least)
            }),
            DemandKind::Minimum(limit, exclusive) => field.and_then(range).map(|(f, min, _)| {
                let below = |n: f64| n < *limit || (*exclusive && n == *limit && n.abs() < EXACT);
                let than = if *exclusive { "not above" } else { "below" };
                let (count, at_least) = by_number(f, &below, min);
                (format!("{than} its minimum {limit}"), count, f.types.numbers(), at_least)
            }),
            DemandKind::Maximum(limit, exclusive) => field.and_then(range).map(|(f, _, max)| {
                let above = |n: f64| n > *limit || (*exclusive && n == *limit && n.abs() < EXACT);
                let than = if *exclusive { "not below" } else { "above" };
                let (count, at_least) = by_number(f, &above, max);
                (format!("{than} its maximum {limit}"), count, f.types.numbers(), at_least)
            }),
            DemandKind::MinLength(min) => field.map(|f| {
                // A string never has more characters than bytes.
                let surely = |f: &Field| {
                    let below = f
                        .text
                        .as_ref()
                        .is_some_and(|t| t.lengths.count > 0 && t.lengths.min < *min);
                    u64::from(below)
                };
                let (count, at_least) = by_characters(f, &|n| n < *min, &surely);
                let strings = f.types.of(BsonType::String);
                (
                    format!("shorter than {}", text::plural(*min, "character")),
                    count,
                    strings,
                    at_least,
                )
            }),
            DemandKind::MaxLength(max) => field.map(|f| {
                // A character has at most four bytes, and one byte if all texts have a Latin form.
                let surely = |f: &Field| {
                    f.text.as_ref().map_or(0, |t| {
                        let each = if is_plain_text(t) { 1 } else { 4 };
                        surely_above(&t.lengths, max.saturating_mul(each))
                    })
                };
                let (count, at_least) = by_characters(f, &|n| n > *max, &surely);
                let strings = f.types.of(BsonType::String);
                (
                    format!("longer than {}", text::plural(*max, "character")),
                    count,
                    strings,
                    at_least,
                )
            }),
        };
        if let Some((what, count, of, at_least)) = found.filter(|&(_, count, ..)| count > 0) {
            let key = (demand.path.clone(), what.clone());
            let too_long = matches!(demand.kind, DemandKind::MaxLength(_));
            let at_least = at_least && count < of;
            out.insert(key, Breach { path: demand.path, what, count, of, at_least, too_long });
        }
    }
    for closed in schemas(validator).into_iter().filter_map(closed) {
        for field in profile.top_level().filter(|f| f.shape == FieldShape::Named && f.count > 0) {
            if !closed.admits(&field.name) {
                let what = "not a property of the closed schema".to_owned();
                let path = field.name.clone();
                let (count, of) = (field.count, profile.documents);
                out.insert(
                    (path.clone(), what.clone()),
                    Breach { path, what, count, of, at_least: false, too_long: false },
                );
            }
        }
    }
    let mut out: Vec<_> = out.into_values().collect();
    out.sort_by(|a, b| (b.count, &a.path, &a.what).cmp(&(a.count, &b.path, &b.what)));
    out
}

/// Integers up to here are exact as doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A field with the smallest and largest of its finite ints, longs and doubles.
fn range(field: &Field) -> Option<(&Field, f64, f64)> {
    let number = field.number?;
    let ranged = field.types.of(BsonType::Int)
        + field.types.of(BsonType::Long)
        + number.integral_doubles
        + number.fractional_doubles;
    (ranged > 0).then_some((field, number.min, number.max))
}

/// Whether the form of every string allows only ASCII: numbers, dates, ids.
fn is_plain_text(strings: &TextProfile) -> bool {
    let plain = strings.count(|c| {
        c.is_number()
            || c.is_date()
            || matches!(
                c,
                TextClass::Empty
                    | TextClass::Boolean
                    | TextClass::LeadingZero
                    | TextClass::ObjectIdHex
                    | TextClass::Uuid
                    | TextClass::UuidV4
                    | TextClass::UuidV7
                    | TextClass::Ulid
                    | TextClass::HexDigest
            )
    });
    plain == strings.total()
}

/// The number of lengths that are certainly above a limit: complete buckets, and the maximum.
fn surely_above(lengths: &Distribution, limit: u64) -> u64 {
    if lengths.max <= limit {
        return 0;
    }
    lengths.buckets.iter().filter(|(low, ..)| *low > limit).map(|(.., n)| n).sum::<u64>().max(1)
}

/// The number of values that `wrong` refuses. If the values are not kept, only the extreme value counts.
fn by_number(field: &Field, wrong: &dyn Fn(f64) -> bool, extreme: f64) -> (u64, bool) {
    if !wrong(extreme) {
        return (0, false);
    }
    let whole = field.types.of(BsonType::Int) + field.types.of(BsonType::Long);
    let kept = field.enumeration.as_deref().filter(|values| {
        whole == field.types.non_null()
            && values.iter().map(|(_, n)| n).sum::<u64>() == whole
            && values.iter().all(|(value, _)| value.parse::<i64>().is_ok())
    });
    match kept {
        Some(values) => {
            let refused = values.iter().filter(|(v, _)| v.parse::<f64>().is_ok_and(wrong));
            (refused.map(|(_, n)| n).sum::<u64>().max(1), false)
        }
        None => (1, true),
    }
}

/// All strings of a field with their counts, if they were few enough to be kept completely.
fn strings(field: &Field) -> Option<&[(String, u64)]> {
    field
        .enumeration
        .as_deref()
        .filter(|values| field.is_only(BsonType::String) && values.iter().all(|(_, n)| *n > 0))
}

/// The number of values that are certainly not in an enumeration, and whether there may be more.
fn outside(field: &Field, values: &[Value]) -> (u64, bool) {
    // Numbers, dates and objects of an enumeration are not compared: only strings are kept as
    // they are.
    if values.is_empty() || !values.iter().all(|v| matches!(v, Value::Text(_) | Value::Null)) {
        return (0, false);
    }
    let null = values.iter().any(|v| matches!(v, Value::Null));
    let other: u64 = field
        .types
        .seen()
        .into_iter()
        .filter(|(kind, _)| match kind {
            BsonType::String => false,
            BsonType::Null => !null,
            _ => true,
        })
        .map(|(_, n)| n)
        .sum();
    match strings(field) {
        Some(stored) => {
            let listed: BTreeSet<_> = values.iter().filter_map(Value::as_text).collect();
            let wrong = stored.iter().filter(|(value, _)| !listed.contains(value.as_str()));
            (other + wrong.map(|(_, n)| n).sum::<u64>(), false)
        }
        // There are more distinct strings than the enumeration has, so at least one of them is not in it.
        None if field.is_only(BsonType::String)
            && field.distinct.exact
            && field.distinct.values > values.len() as f64 + 1.0 =>
        {
            (other + 1, true)
        }
        None => (other, true),
    }
}

/// The number of strings whose number of characters `wrong` refuses. If the strings are not kept, it is the number that
/// their bytes and a few examples prove.
fn by_characters(
    field: &Field,
    wrong: &dyn Fn(u64) -> bool,
    surely: &dyn Fn(&Field) -> u64,
) -> (u64, bool) {
    match strings(field) {
        Some(stored) => {
            let refused = stored.iter().filter(|(value, _)| wrong(value.chars().count() as u64));
            (refused.map(|(_, n)| n).sum(), false)
        }
        None => {
            // Examples are complete unless they end in an ellipsis.
            let example = field.is_only(BsonType::String)
                && field
                    .examples
                    .iter()
                    .any(|v| !v.ends_with('…') && wrong(v.chars().count() as u64));
            (surely(field).max(u64::from(example)), true)
        }
    }
}

/// The number of objects that could contain the field at `path`, if no document contains it.
fn objects_at(profile: &Profile, path: &str) -> u64 {
    match path.rsplit_once('.') {
        None => profile.documents,
        Some((parent, _)) => profile.field(parent).map_or(0, |f| f.types.of(BsonType::Object)),
    }
}

/// The constraints of a schema on top-level fields, including `allOf` and the branches of `anyOf` and `oneOf`.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Fields that every document must have.
    pub required: BTreeSet<String>,
    /// Fields with a type or an enumeration.
    pub typed: BTreeSet<String>,
    /// Fields with a pattern, a length or an enumeration.
    pub formatted: BTreeSet<String>,
    /// Patterns over names that have a type.
    pub typed_patterns: Vec<String>,
}

impl Coverage {
    /// Whether the field has a type, by name or by a pattern over names.
    pub fn is_typed(&self, name: &str) -> bool {
        self.typed.contains(name)
            || self
                .typed_patterns
                .iter()
                .any(|p| regex::Regex::new(p).is_ok_and(|pattern| pattern.is_match(name)))
    }

    fn join(&mut self, other: Self) {
        self.required.extend(other.required);
        self.typed.extend(other.typed);
        self.formatted.extend(other.formatted);
        self.typed_patterns.extend(other.typed_patterns);
    }
}

/// The coverage of one schema.
pub fn coverage(schema: &Value) -> Coverage {
    let mut out = Coverage::default();
    for (key, value) in schema.entries() {
        match key.as_str() {
            "required" => out
                .required
                .extend(value.items().iter().filter_map(Value::as_text).map(str::to_owned)),
            "properties" => {
                for (name, node) in value.entries() {
                    if says_type(node) {
                        out.typed.insert(name.clone());
                    }
                    if says_format(node) {
                        out.formatted.insert(name.clone());
                    }
                }
            }
            "patternProperties" => out.typed_patterns.extend(
                value.entries().iter().filter(|(_, node)| says_type(node)).map(|(p, _)| p.clone()),
            ),
            "allOf" => value.items().iter().for_each(|node| out.join(coverage(node))),
            // One branch holds for each document: a field is required if every branch requires it, and described if any
            // branch describes it.
            "anyOf" | "oneOf" => {
                let branches: Vec<_> = value.items().iter().map(coverage).collect();
                let required = branches
                    .iter()
                    .map(|b| b.required.clone())
                    .reduce(|a, b| a.intersection(&b).cloned().collect())
                    .unwrap_or_default();
                for mut branch in branches {
                    branch.required.clone_from(&required);
                    out.join(branch);
                }
            }
            _ => {}
        }
    }
    out
}

fn any_branch(node: &Value, test: fn(&Value) -> bool) -> bool {
    ["allOf", "anyOf", "oneOf"]
        .iter()
        .filter_map(|key| node.get(key))
        .any(|branches| branches.items().iter().any(test))
}

fn says_type(node: &Value) -> bool {
    ["bsonType", "type", "enum", "properties", "items"].iter().any(|key| node.get(key).is_some())
        || any_branch(node, says_type)
}

fn says_format(node: &Value) -> bool {
    ["pattern", "minLength", "maxLength", "enum"].iter().any(|key| node.get(key).is_some())
        || any_branch(node, says_format)
}

/// Returns a small validator derived from the documents (ALG-10 without enumerations and ranges).
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The `$jsonSchema`.
    pub schema: Value,
    /// The required fields.
    pub required: Vec<String>,
    /// The number of fields with a type.
    pub typed: usize,
    /// Fields with documents that it would refuse (another type, or a missing required field), and their number.
    pub refused: Vec<(String, u64)>,
    /// Fields that other findings convert: it accepts the stored types and the target.
    pub converted: Vec<String>,
}

/// A type with less than this share of a field's values is a mistake and is left out.
const DRIFT_SHARE: f64 = 0.01;

/// Top-level fields to be described: named fields, except the key and fields of object mappers.
pub fn described(profile: &Profile) -> impl Iterator<Item = &Field> {
    profile.top_level().filter(|f| f.shape == FieldShape::Named && !is_framework(&f.name))
}

/// Proposes a validator that requires fields present in at least `required_share` of documents. It accepts the stored
/// types and the targets of other findings.
pub fn propose(profile: &Profile, required_share: f64, targets: &Targets) -> Proposal {
    let fields = described(profile).filter(|field| names::can_be_named(&field.name));
    let mut required = Vec::new();
    let mut properties = Vec::new();
    let mut refused = Vec::new();
    let mut converted = Vec::new();
    for field in fields {
        let (types, mut left_out) = honest_types(field);
        let target = targets.at(field.path.as_str());
        if field.presence() >= required_share && !target.is_some_and(|target| target.removes) {
            required.push(field.name.clone());
            left_out += field.parents.saturating_sub(field.count);
        }
        if left_out > 0 {
            refused.push((field.name.clone(), left_out));
        }
        if types.is_empty() {
            continue;
        }
        let types = targets.widen(field.path.as_str(), types);
        let names: Vec<_> = types.iter().map(|t| Value::Text(t.name().to_owned())).collect();
        let bson_type = if names.len() == 1 { names[0].clone() } else { Value::List(names) };
        let mut described = vec![("bsonType".to_owned(), bson_type)];
        if let Some(description) = target.and_then(|target| target.description(&types)) {
            converted.push(field.name.clone());
            described.push(("description".to_owned(), Value::Text(description)));
        }
        if types.iter().all(|kind| matches!(kind, BsonType::String | BsonType::Null)) {
            described.extend(field.text.as_ref().and_then(|text| form(field, text)));
        }
        properties.push((field.name.clone(), Value::Map(described)));
    }
    let typed = properties.len();
    let mut schema = vec![("bsonType".to_owned(), Value::Text("object".to_owned()))];
    if !required.is_empty() {
        let list = required.iter().cloned().map(Value::Text).collect();
        schema.push(("required".to_owned(), Value::List(list)));
    }
    schema.push(("properties".to_owned(), Value::Map(properties)));
    Proposal { schema: Value::Map(schema), required, typed, refused, converted }
}

/// The pattern of a text field, or a minimum length if the field has a form without a pattern.
fn form(field: &Field, text: &TextProfile) -> Option<(String, Value)> {
    if let Some(format) = formats::format_of(text) {
        return Some(("pattern".to_owned(), Value::Text(format.pattern.to_owned())));
    }
    let has_length = formats::fixed_form(field).is_some() && text.of(TextClass::Empty) == 0;
    has_length.then(|| ("minLength".to_owned(), Value::Int(1)))
}

/// The types to accept, most frequent first, and the number of values with another type. All numeric types that occur
/// are accepted, since drivers choose among them by value (GC-52), and so is null.
fn honest_types(field: &Field) -> (Vec<BsonType>, u64) {
    let total = field.types.total().max(1) as f64;
    let mut kinds = Vec::new();
    let mut refused = 0;
    for (kind, n) in field.types.seen() {
        let frequent = n as f64 / total >= DRIFT_SHARE;
        let number_beside_number =
            kind.is_number() && field.types.numbers() as f64 / total >= DRIFT_SHARE;
        if kind == BsonType::Undefined {
            refused += n;
        } else if frequent || number_beside_number || kind == BsonType::Null {
            kinds.push(kind);
        } else {
            refused += n;
        }
    }
    // A field that is always null does not show its type.
    if kinds == [BsonType::Null] {
        kinds.clear();
    }
    (kinds, refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Value {
        Value::Text(value.to_owned())
    }

    fn map(entries: Vec<(&str, Value)>) -> Value {
        Value::Map(entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
    }

    #[test]
    fn dm_11_6_types_are_read_in_both_dialects() {
        let number = admitted_types(&map(vec![("bsonType", text("number"))])).unwrap();
        assert_eq!(number.len(), 4);
        let list = Value::List(vec![text("int"), text("long")]);
        assert_eq!(admitted_types(&map(vec![("bsonType", list)])).unwrap().len(), 2);
        let boolean = admitted_types(&map(vec![("type", text("boolean"))])).unwrap();
        assert!(boolean.contains(&BsonType::Bool));
        assert!(admitted_types(&map(vec![("minimum", Value::Int(1))])).is_none());
    }

    #[test]
    fn dm_11_6_demands_have_paths() {
        let schema = map(vec![(
            "properties",
            map(vec![(
                "items",
                map(vec![
                    ("bsonType", text("array")),
                    (
                        "items",
                        map(vec![
                            ("required", Value::List(vec![text("price")])),
                            (
                                "properties",
                                map(vec![("price", map(vec![("bsonType", text("decimal"))]))]),
                            ),
                        ]),
                    ),
                ]),
            )]),
        )]);
        let paths: Vec<_> = demands(&schema).into_iter().map(|d| d.path).collect();
        assert_eq!(paths, ["items[].price", "items[].price", "items"]);
    }

    #[test]
    fn dm_11_2_what_a_profile_cannot_settle_is_named() {
        let plain = map(vec![(
            "$jsonSchema",
            map(vec![
                ("required", Value::List(vec![text("enum")])),
                ("properties", map(vec![("enum", map(vec![("bsonType", text("int"))]))])),
            ]),
        )]);
        assert!(unchecked(&plain).is_empty(), "a field called enum is no keyword");
        let more = map(vec![
            ("qty", map(vec![("$gt", Value::Int(0))])),
            (
                "$jsonSchema",
                map(vec![("properties", map(vec![("a", map(vec![("maximum", Value::Int(5))]))]))]),
            ),
        ]);
        assert_eq!(unchecked(&more), BTreeSet::from(["maximum".to_owned(), "qty".to_owned()]));
    }

    #[test]
    fn dm_11_6_one_of_requires_what_all_branches_require() {
        let branch = |extra: &str| {
            map(vec![
                ("required", Value::List(vec![text("type"), text(extra)])),
                ("properties", map(vec![(extra, map(vec![("bsonType", text("int"))]))])),
            ])
        };
        let schema = map(vec![("oneOf", Value::List(vec![branch("doors"), branch("payload")]))]);
        let coverage = coverage(&schema);
        assert_eq!(coverage.required, BTreeSet::from(["type".to_owned()]));
        assert!(coverage.is_typed("doors") && coverage.is_typed("payload"));
    }
}
