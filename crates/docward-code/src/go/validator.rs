//! Translates the `validate` tags of go-playground/validator.

use bson::Bson;

use crate::{
    Place,
    draft::Draft,
    pattern,
    shape::{Items, Limit, Rest, Shape, number},
};

const ZERO: &str = "the rule is not applied to zero values, and those are stored";

/// Adds rules to a shape. Returns whether they make the field required.
pub(super) fn apply(
    draft: &mut Draft,
    shape: &mut Shape,
    rules: &str,
    path: &str,
    place: Place,
    omits_zero: bool,
) -> bool {
    let mut rules = rules.split(',');
    let mut required = false;
    let mut lenient = false;
    while let Some(rule) = rules.next() {
        let (name, argument) = rule.split_once('=').unwrap_or((rule, ""));
        match name {
            "" | "-" | "structonly" | "nostructlevel" => {}
            "omitempty" | "omitnil" | "omitzero" => lenient = !omits_zero,
            "required" => {
                required = true;
                non_zero(draft, shape, rule, path, place);
            }
            "dive" => {
                let rest: Vec<&str> = rules.by_ref().collect();
                dive(draft, shape, &rest.join(","), path, place);
            }
            _ if lenient => draft.loosened(path, rule, ZERO, place),
            _ => one(draft, shape, (rule, name, argument), path, place),
        }
    }
    required
}

/// Applies `required`, which forbids the zero value.
fn non_zero(draft: &mut Draft, shape: &mut Shape, rule: &str, path: &str, place: Place) {
    if shape.null {
        shape.null = false;
    } else if shape.types == ["string"] {
        shape.set_min_size(1);
    } else if shape.types == ["bool"] {
        shape.set_enum(vec![Bson::Boolean(true)]);
    } else if !shape.is("array") && !shape.is("object") {
        draft.loosened(path, rule, "the schema does not refuse zero", place);
    }
}

/// Applies rules to the elements of a list or the values of a map.
fn dive(draft: &mut Draft, shape: &mut Shape, rules: &str, path: &str, place: Place) {
    if rules.starts_with("keys") {
        draft.loosened(path, rules, "the schema has no rules for keys", place);
        return;
    }
    if rules.is_empty() {
        return;
    }
    let inner = format!("{path}[]");
    match (&mut shape.items, &mut shape.rest) {
        (Items::Each(each), _) => {
            apply(draft, each, rules, &inner, place, false);
        }
        (_, Rest::Like(each)) => {
            apply(draft, each, rules, &inner, place, false);
        }
        _ => draft.loosened(path, rules, "its target is unknown", place),
    }
}

fn one(
    draft: &mut Draft,
    shape: &mut Shape,
    (rule, name, argument): (&str, &str, &str),
    path: &str,
    place: Place,
) {
    let value = number(argument);
    let size = match value {
        Some(Bson::Int32(n)) => u64::try_from(n).ok(),
        _ => None,
    };
    let numeric = shape.is_numeric();
    let sized = ["string", "array", "object"].iter().any(|kind| shape.is(kind));
    let known = match (name, value, size) {
        ("min" | "gte", Some(n), _) if numeric => {
            shape.minimum = Limit::including(n);
            true
        }
        ("max" | "lte", Some(n), _) if numeric => {
            shape.maximum = Limit::including(n);
            true
        }
        ("gt", Some(n), _) if numeric => {
            shape.minimum = Limit::excluding(n);
            true
        }
        ("lt", Some(n), _) if numeric => {
            shape.maximum = Limit::excluding(n);
            true
        }
        ("len" | "eq", Some(n), _) if numeric => {
            shape.set_enum(vec![n]);
            true
        }
        ("min" | "gte", _, Some(n)) if sized => {
            shape.set_min_size(n);
            true
        }
        ("max" | "lte", _, Some(n)) if sized => {
            shape.set_max_size(n);
            true
        }
        ("gt", _, Some(n)) if sized => {
            shape.set_min_size(n + 1);
            true
        }
        ("lt", _, Some(n)) if sized && n > 0 => {
            shape.set_max_size(n - 1);
            true
        }
        ("len", _, Some(n)) if sized => {
            shape.set_min_size(n);
            shape.set_max_size(n);
            true
        }
        ("eq", _, _) if shape.types == ["string"] && !rule.contains('|') => {
            shape.set_enum(vec![argument.into()]);
            true
        }
        ("oneof", _, _) if !rule.contains('|') => {
            let words = words(argument);
            let values: Option<Vec<Bson>> = words
                .into_iter()
                .map(|word| if numeric { number(&word) } else { Some(word.into()) })
                .collect();
            match values.filter(|values| !values.is_empty()) {
                Some(values) => {
                    shape.set_enum(values);
                    true
                }
                None => false,
            }
        }
        ("email", ..) if shape.is("string") => {
            shape.patterns.push(pattern::EMAIL.to_owned());
            draft.loosened(path, rule, pattern::EMAIL_WHY, place);
            true
        }
        ("alpha", ..) => shape_pattern(shape, "^[a-zA-Z]+$"),
        ("alphanum", ..) => shape_pattern(shape, "^[a-zA-Z0-9]+$"),
        ("number", ..) if shape.is("string") => shape_pattern(shape, "^[0-9]+$"),
        ("unique", ..) if shape.is("array") && argument.is_empty() => {
            shape.unique_items = true;
            true
        }
        _ => false,
    };
    if !known {
        draft.loosened(path, rule, "the server has no equivalent keyword", place);
    }
}

fn shape_pattern(shape: &mut Shape, pattern: &str) -> bool {
    shape.patterns.push(pattern.to_owned());
    true
}

/// Splits a list at its spaces. Words in apostrophes may contain spaces.
fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').unwrap_or((quoted, "")),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        out.push(word.to_owned());
        rest = after.trim_start();
    }
    out
}
