//! Proofs that no value can pass.

use std::collections::BTreeSet;

use docward_model::{BsonType, Value};

use super::{
    Finder, MAX_STEPS, Why, accepts_all, is_odd, join,
    judge::Judge,
    names,
    place::{KINDS, Kind, Place, possible_types},
    twins,
};
use crate::facts::{
    remedies::shell,
    schema::{admitted_types, is_closed},
    text,
};

impl Finder {
    /// Returns the reason why no value can pass; `None` if one may.
    pub(super) fn dead(&mut self, place: &Place<'_>, path: &str, is_document: bool) -> Option<Why> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return None;
        }
        let fault = |words: String, todo: &str| Some(Why::new(path, words, todo));
        let mut left = possible_types(place, is_document);
        if left.is_empty() {
            let stated: Vec<String> = place
                .parts
                .iter()
                .filter_map(|part| admitted_types(part))
                .map(|types| names(&types))
                .collect();
            return if is_document && place.types().is_some_and(|types| !types.is_empty()) {
                fault(
                    format!("a document is an object, and only {} is admitted", stated[0]),
                    "admit the type `object`",
                )
            } else {
                fault(
                    format!("no type meets all of its type constraints ({})", stated.join("; ")),
                    "declare the intended types in one place",
                )
            };
        }
        let mut last = None;
        for (kind, why) in self.dead_kinds(place, path, is_document) {
            left.retain(|t| !kind.types.contains(t));
            last = Some(why);
        }
        if left.is_empty() {
            return last;
        }
        if !is_document && let Some(words) = no_listed_value(place, &left) {
            return fault(words, "correct the `enum`, or the other constraints of the field");
        }
        for not in place.parts.iter().filter_map(|part| part.get("not")) {
            if accepts_all(not, &left, place) {
                let todo = "correct the `not`, or remove it";
                return fault("its `not` excludes every value".to_owned(), todo);
            }
        }
        for (keyword, branches) in place.groups.clone() {
            let twins: BTreeSet<usize> =
                twins(branches).into_iter().flat_map(|(a, b)| [a, b]).collect();
            let mut first = None;
            let is_open = branches.iter().enumerate().any(|(i, node)| {
                if keyword == "oneOf" && twins.contains(&i) {
                    return false;
                }
                match self.dead(&place.branch(node), path, is_document) {
                    None => true,
                    Some(why) => {
                        first.get_or_insert(why);
                        false
                    }
                }
            });
            if !is_open {
                let (why, todo) = first.map_or_else(
                    || {
                        (
                            "the branches are the same".to_owned(),
                            "make the branches different".to_owned(),
                        )
                    },
                    |why| (why.words, why.todo),
                );
                return fault(format!("no branch of `{keyword}` can hold: {why}"), &todo);
            }
        }
        None
    }

    /// Explains why none of the remaining kinds of values can pass.
    pub(super) fn dead_kinds(
        &mut self,
        place: &Place<'_>,
        path: &str,
        is_document: bool,
    ) -> Vec<(&'static Kind, Why)> {
        let types = possible_types(place, is_document);
        let mut out = Vec::new();
        for kind in KINDS.iter().filter(|kind| kind.types.iter().any(|t| types.contains(t))) {
            let limits = match kind.noun {
                "string" => over(place, "minLength", "maxLength"),
                "number" => range(place),
                "array" => over(place, "minItems", "maxItems"),
                _ => over(place, "minProperties", "maxProperties"),
            };
            let why = match limits {
                Some(words) => Some(Why::new(path, words, "correct the limits")),
                None if kind.noun == "array" => self.dead_element(place, path),
                None if kind.noun == "object" => self.dead_object(place, path, is_document),
                None => None,
            };
            out.extend(why.map(|why| (kind, why)));
        }
        out
    }

    pub(super) fn dead_element(&mut self, place: &Place<'_>, path: &str) -> Option<Why> {
        if place.count("minItems", true)? < 1 {
            return None;
        }
        let items = place.items();
        if items.parts.is_empty() {
            return None;
        }
        let at = format!("{path}[]");
        let why = self.dead(&items.whole(), &at, false)?;
        Some(told_from(why, &at))
    }

    pub(super) fn dead_object(
        &mut self,
        place: &Place<'_>,
        path: &str,
        is_document: bool,
    ) -> Option<Why> {
        let mut required = place.required();
        if is_document {
            required.insert("_id");
        }
        required.retain(|name| !is_odd(name));
        for part in place.parts.iter().filter(|part| is_closed(part)) {
            let mut missing = required.iter().filter(|name| !names_it(part, name));
            if let Some(name) = missing.next() {
                let at = join(path, name);
                return Some(if is_document && *name == "_id" {
                    let words = "the schema is closed (`additionalProperties: false`) and does not list `_id`, which every document has";
                    Why::new("", words.to_owned(), "list `_id` in the properties")
                } else {
                    let words = format!(
                        "`{at}` is required, but a schema with `additionalProperties: false` does not list it in its properties"
                    );
                    let todo = format!(
                        "list `{name}` in the properties there, or remove it from `required`"
                    );
                    Why::new(&at, words, &todo)
                });
            }
        }
        let here = |words: String| Some(Why::new(path, words, "correct the limits"));
        if let Some(most) = place.count("maxProperties", false)
            && (required.len() as i64) > most
        {
            let fields = text::plural(required.len() as u64, "field");
            return here(format!("the schema requires {fields}, but `maxProperties` is {most}"));
        }
        if let Some(least) = place.count("minProperties", true)
            && let Some(names) = place.parts.iter().filter_map(|part| closed_names(part)).min()
            && (names as i64) < least
        {
            let fields = text::plural(names as u64, "field");
            return here(format!(
                "`minProperties` is {least}, but the schema allows only {fields}"
            ));
        }
        for name in required {
            let child = place.property(name);
            if child.parts.is_empty() {
                continue;
            }
            let at = join(path, name);
            if let Some(why) = self.dead(&child.whole(), &at, false) {
                return Some(told_from(why, &at));
            }
        }
        None
    }
}

/// Adds the place to a cause inside, unless its words name the place.
fn told_from(why: Why, at: &str) -> Why {
    if why.words.contains(&format!("`{}`", why.path)) || why.path != at {
        return why;
    }
    Why {
        words: format!("`{at}` is required, and no value of it can pass, because {}", why.words),
        ..why
    }
}

/// Whether a closed schema lists a name. A pattern over names that cannot be evaluated here may
/// match it.
fn names_it(part: &Value, name: &str) -> bool {
    let listed = |key: &str| part.get(key).map(Value::entries).unwrap_or_default().iter();
    listed("properties").any(|(known, _)| known == name)
        || listed("patternProperties")
            .any(|(pattern, _)| regex::Regex::new(pattern).map_or(true, |p| p.is_match(name)))
}

/// The number of names that a closed schema without patterns lists.
fn closed_names(part: &Value) -> Option<usize> {
    let patterns = part.get("patternProperties").is_some_and(|p| !p.entries().is_empty());
    (is_closed(part) && !patterns)
        .then(|| part.get("properties").map(Value::entries).unwrap_or_default().len())
}

/// A lower limit above an upper one.
fn over(place: &Place<'_>, least: &str, most: &str) -> Option<String> {
    let (low, high) = (place.count(least, true)?, place.count(most, false)?);
    (low > high).then(|| format!("`{least}` {low} is above `{most}` {high}"))
}

/// A limit of numbers: its value, whether it is exact, and whether the limit itself is excluded.
type Bound<'s> = (f64, bool, bool, &'s Value);

fn bounds<'s>(place: &Place<'s>, keyword: &str, exclusive: &str) -> Vec<Bound<'s>> {
    let of = |part: &&'s Value| {
        let value = part.get(keyword)?;
        let out = matches!(part.get(exclusive), Some(Value::Bool(true)));
        match value {
            Value::Int(n) => Some((*n as f64, n.unsigned_abs() < 1 << 53, out, value)),
            Value::Double(n) if !n.is_nan() => Some((*n, true, out, value)),
            Value::Other(_) => Some((decimal(value)?, false, out, value)),
            _ => None,
        }
    };
    place.parts.iter().filter_map(of).collect()
}

pub(super) fn decimal(value: &Value) -> Option<f64> {
    let Value::Other(text) = value else { return None };
    let digits = text.strip_prefix("NumberDecimal(\"")?.strip_suffix("\")")?;
    digits.parse::<f64>().ok().filter(|n| !n.is_nan())
}

fn range(place: &Place<'_>) -> Option<String> {
    let lows = bounds(place, "minimum", "exclusiveMinimum");
    let highs = bounds(place, "maximum", "exclusiveMaximum");
    let shown = |value: &Value| match value {
        Value::Other(_) => decimal(value).unwrap_or_default().to_string(),
        other => shell::value(other),
    };
    for (low, low_exact, low_out, low_value) in &lows {
        for (high, high_exact, high_out, high_value) in &highs {
            let exact = *low_exact && *high_exact;
            // Rounded numbers must differ by more than the rounding error.
            let margin = if exact { 0.0 } else { 1e-9 * low.abs().max(high.abs()) };
            let (low_text, high_text) = (shown(low_value), shown(high_value));
            if *low > *high + margin {
                return Some(format!("`minimum` {low_text} is above `maximum` {high_text}"));
            }
            if exact && low == high && (*low_out || *high_out) {
                return Some(format!(
                    "`minimum` and `maximum` are both {low_text}, which is itself excluded"
                ));
            }
        }
    }
    None
}

/// The reason why none of the values that an enumeration lists can pass.
fn no_listed_value(place: &Place<'_>, left: &BTreeSet<BsonType>) -> Option<String> {
    let lists = place.parts.iter().filter_map(|part| part.get("enum"));
    let shortest = lists.map(Value::items).min_by_key(|list| list.len())?;
    let judge = Judge::new(&place.parts)?;
    if shortest.iter().any(|value| judge.may_pass(value)) {
        return None;
    }
    let typed = place.types().is_some()
        && shortest.iter().all(|value| !left.iter().any(|t| kind_of(value).contains(t)));
    Some(if typed {
        format!("none of the values of its `enum` is {}", names(left))
    } else if place.parts.iter().filter(|part| part.get("enum").is_some()).count() > 1 {
        "no value of one `enum` is in the other, or meets its other keywords".to_owned()
    } else {
        "none of the values of its `enum` meets its other keywords".to_owned()
    })
}

/// Types that a listed value can have.
pub(super) fn kind_of(value: &Value) -> Vec<BsonType> {
    match value {
        Value::Null => vec![BsonType::Null, BsonType::Undefined],
        Value::Bool(_) => vec![BsonType::Bool],
        Value::Int(_) | Value::Double(_) => {
            vec![BsonType::Int, BsonType::Long, BsonType::Double, BsonType::Decimal]
        }
        Value::Text(_) => vec![BsonType::String, BsonType::Symbol, BsonType::Javascript],
        Value::Date(_) => vec![BsonType::Date],
        Value::List(_) => vec![BsonType::Array],
        Value::Map(_) => vec![BsonType::Object],
        Value::Other(_) => BsonType::ALL.to_vec(),
    }
}
