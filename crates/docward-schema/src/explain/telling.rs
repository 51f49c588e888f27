//! Building blocks of explanations.

use std::collections::BTreeSet;

use bson::{Array, Bson, Document};

use crate::{schema::Account, value::Raw};

/// The values that were considered.
#[derive(Default)]
pub(crate) struct Considered<'d> {
    pub(crate) found: Vec<Raw<'d>>,
    pub(crate) truncated: bool,
}

/// The name of an operator and how it was written.
pub(crate) fn named(account: &Account) -> Document {
    let mut out = Document::new();
    if !account.tag.is_empty() {
        out.insert("operatorName", account.tag);
    }
    out.insert("specifiedAs", account.source.clone());
    out
}

pub(crate) fn titles(account: &Account) -> Document {
    account.titles.clone()
}

/// A count in the server's format.
pub(crate) fn number(count: u64) -> Bson {
    match i32::try_from(count) {
        Ok(small) => Bson::Int32(small),
        Err(_) => Bson::Int64(i64::try_from(count).unwrap_or(i64::MAX)),
    }
}

pub(crate) fn show(out: &mut Document, considered: Option<&Considered<'_>>) {
    let Some(considered) = considered else { return };
    match considered.found[..] {
        [only] => out.insert("consideredValue", only.owned()),
        _ => {
            let values: Array = considered.found.iter().map(|value| value.owned()).collect();
            out.insert("consideredValues", values)
        }
    };
    if considered.truncated {
        out.insert("consideredValuesTruncated", true);
    }
}

pub(crate) fn show_types(out: &mut Document, considered: Option<&Considered<'_>>) {
    let Some(considered) = considered else { return };
    let names = considered.found.iter().map(|value| value.type_name()).collect();
    list_types(out, "consideredType", names);
}

/// One type by its name, several as a list.
pub(crate) fn list_types(out: &mut Document, heading: &str, names: BTreeSet<&'static str>) {
    let mut names = names.into_iter();
    match (names.next(), names.len()) {
        (None, _) => {}
        (Some(only), 0) => {
            out.insert(heading, only);
        }
        (Some(first), _) => {
            let list: Array = std::iter::once(first).chain(names).map(Bson::from).collect();
            out.insert(format!("{heading}s"), list);
        }
    }
}

/// The name of a list of conditions that all have to match.
pub(crate) fn conjunction(tag: &str, inverted: bool) -> &'static str {
    match tag {
        "$and" if inverted => "clausesSatisfied",
        "$and" => "clausesNotSatisfied",
        "allOf" | "oneOf" => "schemasNotSatisfied",
        "properties" => "propertiesNotSatisfied",
        "$jsonSchema" => "schemaRulesNotSatisfied",
        "dependencies" => "failingDependencies",
        "required" => "missingProperties",
        _ => "details",
    }
}

/// The name of a list of conditions of which one has to match.
pub(crate) fn disjunction(tag: &str, inverted: bool) -> &'static str {
    match tag {
        "anyOf" => "schemasNotSatisfied",
        _ if inverted => "clausesSatisfied",
        _ => "clausesNotSatisfied",
    }
}
