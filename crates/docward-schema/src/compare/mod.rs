//! Compares two validators: the differences, their direction, and whether one accepts everything
//! the other does.
//!
//! A direction is proven keyword by keyword: if each constraint of the second follows from one of
//! the first at the same path, the second refuses nothing that the first accepts. Otherwise a
//! document is searched that one accepts and the other refuses; it is shown only after both have
//! evaluated it. If neither succeeds, the result is "not decided", and reported as such.

mod facts;
mod witness;

use std::collections::{BTreeMap, BTreeSet};

use bson::{Bson, Document};
use docward_model::BsonType;

use crate::{Validator, ValidatorFault};
use facts::{Facts, Place};

/// The effect of a change on the set of accepted documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Fewer documents are accepted.
    Tighter,
    /// More documents are accepted.
    Looser,
    /// Some documents are no longer accepted, others may now be, or the direction is unknown.
    Other,
    /// No effect: descriptions and titles.
    Wording,
}

impl Effect {
    /// The name of the effect.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tighter => "tighter",
            Self::Looser => "looser",
            Self::Other => "other",
            Self::Wording => "wording",
        }
    }

    fn reversed(self) -> Self {
        match self {
            Self::Tighter => Self::Looser,
            Self::Looser => Self::Tighter,
            other => other,
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The path: `items[].price`; empty for the document.
    pub path: String,
    /// The keyword, or an operator of a query.
    pub keyword: String,
    /// The value in the first schema; `None` if absent.
    pub before: Option<Bson>,
    /// The value in the second schema; `None` if absent.
    pub after: Option<Bson>,
    /// The effect of the change from the first to the second.
    pub effect: Effect,
}

/// The answer to whether one validator accepts everything the other does.
#[derive(Clone, Debug, PartialEq)]
pub enum Containment {
    /// It does.
    Yes,
    /// It does not: this document is the counterexample.
    No(Document),
    /// Neither was proven.
    Undecided,
}

/// The comparison of two validators.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The differences, by path.
    pub changes: Vec<Change>,
    /// The answer to whether the second accepts everything the first does.
    pub second_accepts_first: Containment,
    /// The answer to whether the first accepts everything the second does.
    pub first_accepts_second: Containment,
}

/// A summary of the constraints on one field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The permitted types; `None` for any.
    pub types: Option<BTreeSet<BsonType>>,
    /// True if the field is required.
    pub required: bool,
}

/// The fields that a validator names, by path.
pub fn outline(validator: &[u8]) -> BTreeMap<String, Outline> {
    let Ok(document) = Document::from_reader(validator) else { return BTreeMap::new() };
    let places = facts::places(facts::schema_of(&document));
    let fields = places.into_iter().filter(|(path, _)| !path.is_empty());
    fields
        .map(|(path, place)| {
            (path, Outline { types: place.facts.types(), required: place.required })
        })
        .collect()
}

/// Compares two validators.
pub fn compare(first: &[u8], second: &[u8]) -> Result<Comparison, ValidatorFault> {
    let read = |bytes: &[u8]| -> Result<Document, ValidatorFault> {
        Document::from_reader(bytes).map_err(|error| {
            ValidatorFault::Refused(crate::SchemaFault { code: 9, message: error.to_string() })
        })
    };
    let (a, b) = (read(first)?, read(second)?);
    let changes = changes(&a, &b);
    let asked = (Validator::compile(first), Validator::compile(second));
    // With operators that only a server evaluates, only the differences are reported.
    let (validators, undecided) = match asked {
        (Ok(first), Ok(second)) => (Some((first, second)), false),
        (Err(ValidatorFault::Refused(fault)), _) | (_, Err(ValidatorFault::Refused(fault))) => {
            return Err(ValidatorFault::Refused(fault));
        }
        _ => (None, true),
    };
    let direction = |forward: bool| {
        let is_proven = changes.iter().all(|change| {
            let effect = if forward { change.effect } else { change.effect.reversed() };
            matches!(effect, Effect::Looser | Effect::Wording)
        });
        if is_proven {
            return Containment::Yes;
        }
        if undecided {
            return Containment::Undecided;
        }
        let Some((first, second)) = &validators else { return Containment::Undecided };
        let found = if forward {
            witness::find(&a, &b, first, second, &changes)
        } else {
            witness::find(&b, &a, second, first, &changes)
        };
        found.map_or(Containment::Undecided, Containment::No)
    };
    let (second_accepts_first, first_accepts_second) = (direction(true), direction(false));
    Ok(Comparison { second_accepts_first, first_accepts_second, changes })
}

fn changes(a: &Document, b: &Document) -> Vec<Change> {
    let mut out = Vec::new();
    let (schema_a, schema_b) = (facts::schema_of(a), facts::schema_of(b));
    let (places_a, places_b) = (facts::places(schema_a), facts::places(schema_b));
    let paths: BTreeSet<&String> = places_a.keys().chain(places_b.keys()).collect();
    for path in paths {
        of_place(path, places_a.get(path), places_b.get(path), (&places_a, &places_b), &mut out);
    }
    // Every document has an `_id`, and therefore at least one field.
    for change in out.iter_mut().filter(|c| c.path.is_empty() && c.keyword == "minProperties") {
        let at_most_one = |said: &Option<Bson>| {
            said.as_ref().is_none_or(|n| matches!(n, Bson::Int32(..=1) | Bson::Int64(..=1)))
        };
        if at_most_one(&change.before) && at_most_one(&change.after) {
            change.effect = Effect::Wording;
        }
    }
    // Query conditions next to the schema.
    let keys: BTreeSet<&String> =
        a.keys().chain(b.keys()).filter(|key| *key != "$jsonSchema").collect();
    for key in keys {
        let (before, after) = (a.get(key), b.get(key));
        if !is_same(before, after) {
            let effect = match (before, after) {
                (None, _) => Effect::Tighter,
                (_, None) => Effect::Looser,
                _ => Effect::Other,
            };
            let (path, keyword) = if key.starts_with('$') {
                (String::new(), key.clone())
            } else {
                (key.clone(), "condition".to_owned())
            };
            out.push(Change {
                path,
                keyword,
                before: before.cloned(),
                after: after.cloned(),
                effect,
            });
        }
    }
    out
}

fn of_place(
    path: &str,
    a: Option<&Place>,
    b: Option<&Place>,
    all: (&facts::Places, &facts::Places),
    out: &mut Vec<Change>,
) {
    let none = Place::default();
    let (place_a, place_b) = (a.unwrap_or(&none), b.unwrap_or(&none));
    let mut note = |keyword: &str, before: Option<Bson>, after: Option<Bson>, effect: Effect| {
        out.push(Change {
            path: path.to_owned(),
            keyword: keyword.to_owned(),
            before,
            after,
            effect,
        });
    };
    if place_a.required != place_b.required {
        let effect = if place_b.required { Effect::Tighter } else { Effect::Looser };
        let said = |is: bool| is.then_some(Bson::Boolean(true));
        note("required", said(place_a.required), said(place_b.required), effect);
    }
    // A closed object refuses a field that it does not name.
    let names = (a.is_some_and(|p| p.named), b.is_some_and(|p| p.named));
    let closed = |places: &facts::Places| facts::is_closed_around(places, path);
    if names.0 != names.1 {
        let opens = names.1 && closed(all.0);
        let shuts = names.0 && closed(all.1);
        // If other fields of an object have a separate schema, naming a field has more than one
        // effect.
        let is_plain = !facts::is_ruled_around(all.0, path) && !facts::is_ruled_around(all.1, path);
        if opens || shuts || !is_plain {
            let said = |is: bool| is.then(|| Bson::String("named".to_owned()));
            let effect = match (is_plain, opens) {
                (false, _) => Effect::Other,
                (true, true) => Effect::Looser,
                (true, false) => Effect::Tighter,
            };
            note("properties", said(names.0), said(names.1), effect);
            if opens && is_plain {
                // The other constraints of the field have no effect: it was refused altogether
                // before.
                return;
            }
        }
    }
    let (types_a, types_b) = (place_a.facts.types(), place_b.facts.types());
    if types_a != types_b {
        let effect = by_sets(types_a.as_ref(), types_b.as_ref());
        note("bsonType", type_names(types_a.as_ref()), type_names(types_b.as_ref()), effect);
    }
    let keywords: BTreeSet<&String> =
        place_a.facts.keywords.keys().chain(place_b.facts.keywords.keys()).collect();
    for keyword in keywords {
        let (before, after) =
            (place_a.facts.keywords.get(keyword), place_b.facts.keywords.get(keyword));
        if is_same(before, after) {
            continue;
        }
        let effect = effect(keyword, before, after, &place_a.facts, &place_b.facts);
        note(keyword, before.cloned(), after.cloned(), effect);
    }
}

fn by_sets(a: Option<&BTreeSet<BsonType>>, b: Option<&BTreeSet<BsonType>>) -> Effect {
    match (a, b) {
        (None, _) => Effect::Tighter,
        (_, None) => Effect::Looser,
        (Some(a), Some(b)) if b.is_subset(a) => Effect::Tighter,
        (Some(a), Some(b)) if a.is_subset(b) => Effect::Looser,
        _ => Effect::Other,
    }
}

fn type_names(types: Option<&BTreeSet<BsonType>>) -> Option<Bson> {
    let names: Vec<Bson> = types?.iter().map(|kind| Bson::String(kind.name().to_owned())).collect();
    Some(if names.len() == 1 { names[0].clone() } else { Bson::Array(names) })
}

/// Returns whether two values are equal byte for byte: the order of fields matters in conditions.
fn is_same(a: Option<&Bson>, b: Option<&Bson>) -> bool {
    let bytes = |value: &Bson| bson::doc! { "v": value.clone() }.to_vec().ok();
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a == b && bytes(a) == bytes(b),
        _ => false,
    }
}

fn number(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(n) => Some(f64::from(*n)),
        Bson::Int64(n) => Some(*n as f64).filter(|_| n.unsigned_abs() < 1 << 53),
        Bson::Double(n) => Some(*n).filter(|n| !n.is_nan()),
        _ => None,
    }
}

/// The effect of a changed value of a keyword.
fn effect(
    keyword: &str,
    before: Option<&Bson>,
    after: Option<&Bson>,
    a: &Facts,
    b: &Facts,
) -> Effect {
    if matches!(keyword, "description" | "title") {
        return Effect::Wording;
    }
    // `false` is the default of `exclusiveMinimum` and `uniqueItems`.
    let is_flag = matches!(keyword, "exclusiveMinimum" | "exclusiveMaximum" | "uniqueItems");
    if is_flag {
        let is = |value: Option<&Bson>| value.and_then(Bson::as_bool).unwrap_or(false);
        return match (is(before), is(after)) {
            (false, true) => Effect::Tighter,
            (true, false) => Effect::Looser,
            _ => Effect::Wording,
        };
    }
    if keyword == "additionalProperties" || keyword == "additionalItems" {
        let open = |value: Option<&Bson>| value.is_none_or(|v| v == &Bson::Boolean(true));
        let shut = |value: Option<&Bson>| value == Some(&Bson::Boolean(false));
        // With patterns over names, the set of other permitted fields depends on other facts.
        let is_plain = !a.keywords.contains_key("patternProperties")
            && !b.keywords.contains_key("patternProperties");
        return match (before, after) {
            (before, after) if open(before) && open(after) => Effect::Wording,
            (before, _) if open(before) && is_plain => Effect::Tighter,
            (_, after) if open(after) && is_plain => Effect::Looser,
            (_, after) if shut(after) && is_plain => Effect::Tighter,
            (before, _) if shut(before) && is_plain => Effect::Looser,
            _ => Effect::Other,
        };
    }
    if keyword == "patternProperties" {
        return Effect::Other;
    }
    let (before, after) = match (before, after) {
        (None, _) => return Effect::Tighter,
        (_, None) => return Effect::Looser,
        (Some(before), Some(after)) => (before, after),
    };
    let limits = number(before).zip(number(after));
    match (keyword, limits) {
        ("minimum" | "minLength" | "minItems" | "minProperties", Some((before, after))) => {
            if after > before {
                Effect::Tighter
            } else if after < before {
                Effect::Looser
            } else {
                Effect::Wording
            }
        }
        ("maximum" | "maxLength" | "maxItems" | "maxProperties", Some((before, after))) => {
            if after < before {
                Effect::Tighter
            } else if after > before {
                Effect::Looser
            } else {
                Effect::Wording
            }
        }
        ("enum", _) => {
            let (Some(before), Some(after)) = (before.as_array(), after.as_array()) else {
                return Effect::Other;
            };
            let within = |some: &[Bson], all: &[Bson]| some.iter().all(|value| all.contains(value));
            if within(after, before) && within(before, after) {
                Effect::Wording
            } else if within(after, before) {
                Effect::Tighter
            } else if within(before, after) {
                Effect::Looser
            } else {
                Effect::Other
            }
        }
        _ => Effect::Other,
    }
}

#[cfg(test)]
mod tests;
