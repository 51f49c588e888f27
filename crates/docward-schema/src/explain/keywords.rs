//! Explains schema keywords that concern many values: elements, properties, dependencies.

use bson::{Array, Bson, Document, doc};
use docward_bson::walk::Fault;

use super::{
    Asked, Extent, Teller, Told, one,
    telling::{named, number, titles},
};
use crate::{
    evaluate::{Subject, straight},
    schema::{Account, Allowed, Expr, Test, What},
    value::{ARRAY, Raw, lossy},
};

impl<'d> Teller<'d> {
    /// `items` with a schema per position.
    pub(super) fn tell_positions(
        &self,
        expr: &Expr,
        parts: &[Expr],
        asked: Asked<'d>,
    ) -> Result<Option<Told>, Fault> {
        let Some(What::At { path, .. }) = parts.first().map(|part| &part.what) else {
            return Ok(None);
        };
        if asked.inverted || !self.applies(path, &[ARRAY], asked)? {
            return Ok(None);
        }
        let mut list = Array::new();
        for part in parts {
            if let Some(told) = self.tell(part, asked, true)? {
                told.add_to(&mut list);
            }
        }
        Ok(one(doc! { "operatorName": expr.note.tag(), "details": list }))
    }

    pub(super) fn tell_allowed(
        &self,
        expr: &Expr,
        allowed: &Allowed,
        asked: Asked<'d>,
    ) -> Result<Option<Told>, Fault> {
        let object = asked.subject.whole();
        let mut out = Array::new();
        let source = expr.note.account().and_then(|account| account.source.values().next());
        match source {
            Some(Bson::Boolean(false)) => {
                let mut names = Array::new();
                for element in object.elements()? {
                    let element = element?;
                    if allowed.is_other(element.key) {
                        names.push(lossy(element.key).into());
                    }
                }
                if !names.is_empty() {
                    out.push(Bson::Document(doc! {
                        "operatorName": "additionalProperties",
                        "specifiedAs": { "additionalProperties": false },
                        "additionalProperties": names,
                    }));
                }
            }
            Some(Bson::Document(_)) => out.extend(self.tell_others(allowed, object, asked)?),
            _ => {}
        }
        let mut by_pattern = Array::new();
        for (text, pattern, inner) in &allowed.patterns {
            for element in object.elements()? {
                let element = element?;
                let subject = Subject::Lone(Raw::from(element));
                if !pattern.is_in(element.key) || inner.holds(subject)? {
                    continue;
                }
                let mut detail = doc! { "propertyName": lossy(element.key) };
                detail.extend(inner.note.account().map(titles).unwrap_or_default());
                detail.insert("regexMatched", text);
                if let Some(told) = self.tell(inner, asked.of(subject), false)? {
                    detail.insert("details", told.into_details());
                    by_pattern.push(Bson::Document(detail));
                }
                if self.extent == Extent::First {
                    break;
                }
            }
        }
        if !by_pattern.is_empty() {
            let told = doc! { "operatorName": "patternProperties", "details": by_pattern };
            out.push(Bson::Document(told));
        }
        Ok((!out.is_empty()).then_some(Told::Several(out)))
    }

    /// `additionalProperties` with a schema: the properties that fail it.
    fn tell_others(
        &self,
        allowed: &Allowed,
        object: Raw<'d>,
        asked: Asked<'d>,
    ) -> Result<Array, Fault> {
        let mut list = Array::new();
        for element in object.elements()? {
            let element = element?;
            if !allowed.is_other(element.key) {
                continue;
            }
            // If several fields share a name, the server evaluates the first.
            let value = object.field(element.key)?.unwrap_or(Raw::from(element));
            let subject = Subject::Lone(value);
            if allowed.others.holds(subject)? {
                continue;
            }
            if let Some(told) = self.tell(&allowed.others, asked.of(subject), false)? {
                let mut out = doc! { "operatorName": "additionalProperties" };
                out.extend(allowed.others.note.account().map(titles).unwrap_or_default());
                let reason = "at least one additional property did not match the subschema";
                out.insert("reason", reason);
                out.insert("failingProperty", lossy(element.key));
                out.insert("details", told.into_details());
                list.push(Bson::Document(out));
            }
            if self.extent == Extent::First {
                break;
            }
        }
        Ok(list)
    }

    pub(super) fn tell_dependency(
        &self,
        expr: &Expr,
        condition: &Expr,
        then: &Expr,
        asked: Asked<'d>,
    ) -> Result<Option<Told>, Fault> {
        let Some(account) = expr.note.account() else { return Ok(None) };
        if !condition.holds(asked.subject)? {
            return Ok(None);
        }
        let mut out = Document::new();
        if let Some(told) = self.tell(then, asked, false)? {
            out.extend(
                account
                    .source
                    .keys()
                    .next()
                    .map(|name| ("conditionalProperty".to_owned(), Bson::String(name.clone()))),
            );
            let heading =
                if account.tag == "_schemaDependency" { "details" } else { "missingProperties" };
            out.insert(heading, told.into_details());
        }
        Ok(Some(Told::One(out)))
    }

    pub(super) fn tell_array(
        &self,
        account: &Account,
        path: &[u8],
        test: &Test,
        asked: Asked<'d>,
    ) -> Result<Option<Told>, Fault> {
        let value = straight(asked.subject, path)?;
        let Some(array) = value.filter(|value| value.tag == ARRAY && !asked.inverted) else {
            return Ok(None);
        };
        let mut out = named(account);
        match test {
            Test::Items(_) => {
                out.insert("reason", "array did not match specified length");
                out.insert("consideredValue", array.owned());
                out.insert("numberOfItems", number(array.count()?));
            }
            Test::Unique => {
                out.insert("reason", "found a duplicate item");
                out.insert("consideredValue", array.owned());
                if let Some(duplicate) = array.duplicate()? {
                    out.insert("duplicatedValue", duplicate.owned());
                }
            }
            Test::EachFrom(start, inner) => {
                if account.source.values().any(|source| matches!(source, Bson::Boolean(_))) {
                    let rest = array.elements()?.skip(*start);
                    let rest: Result<Array, Fault> =
                        rest.map(|element| Ok(Raw::from(element?).owned())).collect();
                    out.insert("reason", "found additional items");
                    out.insert("additionalItems", rest?);
                    return Ok(Some(Told::One(out)));
                }
                return self.tell_elements(account, array, *start, inner, asked);
            }
            Test::ElementAt(position, inner) => {
                let Some(element) = array.elements()?.nth(*position) else { return Ok(None) };
                let subject = Subject::Lone(Raw::from(element?));
                let mut out = doc! { "itemIndex": *position as i64 };
                let told = self.tell(inner, asked.of(subject), false)?;
                out.extend(told.map(|told| ("details".to_owned(), told.into_details())));
                return Ok(Some(Told::One(out)));
            }
            _ => {}
        }
        Ok(Some(Told::One(out)))
    }

    /// `items` and `additionalItems` with one schema for all.
    fn tell_elements(
        &self,
        account: &Account,
        array: Raw<'d>,
        start: usize,
        inner: &Expr,
        asked: Asked<'d>,
    ) -> Result<Option<Told>, Fault> {
        let mut first = None;
        let mut list = Array::new();
        for (at, element) in array.elements()?.enumerate().skip(start) {
            let subject = Subject::Lone(Raw::from(element?));
            if inner.holds(subject)? {
                continue;
            }
            first.get_or_insert(at);
            if let Some(told) = self.tell(inner, asked.of(subject), false)? {
                told.add_to(&mut list);
            }
            if self.extent == Extent::First {
                break;
            }
        }
        let Some(first) = first else { return Ok(None) };
        let kind = if account.tag == "items" { "item" } else { "additional item" };
        let mut out = doc! { "operatorName": account.tag };
        out.extend(inner.note.account().map(titles).unwrap_or_default());
        out.insert("reason", format!("At least one {kind} did not match the sub-schema"));
        out.insert("itemIndex", number(first as u64));
        out.insert("details", list);
        Ok(Some(Told::One(out)))
    }
}
