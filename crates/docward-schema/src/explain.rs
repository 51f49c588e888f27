//! Explains why a document is refused, in the words and the format of the server's
//! `errInfo.details`. Runs only for documents that are refused.

mod keywords;
mod reasons;
mod telling;
mod violations;

use bson::{Array, Bson, Document, doc};
use docward_bson::walk::Fault;

use reasons::{BITS, NUMBERS, PATTERNS, reasons};
use telling::{
    Considered, conjunction, disjunction, list_types, named, number, show, show_types, titles,
};
pub use violations::Violation;
pub(crate) use violations::of as violations_of;

use crate::{
    evaluate::{Leaf, Subject, straight, visit},
    schema::{Account, Comparison, Expr, Note, Test, What},
    value::{ARRAY, OBJECT, Raw, STRING, lossy, told},
};

/// The maximum number of values shown.
const MAX_VALUES: usize = 10;

/// The contribution of one condition to an explanation.
enum Told {
    /// The name of a missing property.
    Name(String),
    One(Document),
    /// Entries for the list of the enclosing condition.
    Several(Array),
}

impl Told {
    fn into_details(self) -> Bson {
        match self {
            Self::Name(name) => Bson::String(name),
            Self::One(document) => Bson::Document(document),
            Self::Several(list) => Bson::Array(list),
        }
    }

    fn add_to(self, list: &mut Array) {
        match self {
            Self::Several(several) => list.extend(several),
            one => list.push(one.into_details()),
        }
    }
}

/// The number of failures that are reported if a schema applies to many values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The first value that fails, as the server does.
    First,
    /// Each failing value.
    All,
}

/// Explains why an expression does not match a document.
pub(crate) fn explain(root: &Expr, document: &[u8], extent: Extent) -> Result<Document, Fault> {
    let teller = Teller { root: Raw { tag: OBJECT, bytes: document }, extent };
    if let Some(unknown) = unknown(root) {
        return Ok(unexplained(unknown));
    }
    let asked = Asked { subject: Subject::Fields(document), inverted: false };
    Ok(match teller.tell(root, asked, false)? {
        Some(Told::One(details)) => details,
        // Every refused document has an explanation.
        _ => Document::new(),
    })
}

/// The explanation that the server gives if it cannot explain a condition.
fn unexplained(expr: &Expr) -> Document {
    let written = match &expr.what {
        What::At { path, test: Test::Compare(Comparison::Equal, literal) } => {
            format!("{{ {}: {{ $eq: {} }} }}", lossy(path), told(literal.raw()))
        }
        What::Always(true) => "{ $alwaysTrue: 1 }".to_owned(),
        _ => "{ $alwaysFalse: 1 }".to_owned(),
    };
    let message = format!(
        "Cannot generate validation error details: no annotation found for expression {written}"
    );
    doc! { "code": 4_994_600, "codeName": "Location4994600", "errmsg": message }
}

/// The first condition that the server cannot explain. Conditions in `$elemMatch` are not explained
/// anyway.
fn unknown(expr: &Expr) -> Option<&Expr> {
    if matches!(expr.note, Note::Unknown) {
        return Some(expr);
    }
    match &expr.what {
        What::And(parts) | What::Or(parts) | What::Nor(parts) => parts.iter().find_map(unknown),
        What::Not(inner) => unknown(inner),
        _ => None,
    }
}

/// The value being evaluated, and whether the condition is negated.
#[derive(Clone, Copy)]
struct Asked<'d> {
    subject: Subject<'d>,
    inverted: bool,
}

impl<'d> Asked<'d> {
    fn of(self, subject: Subject<'d>) -> Self {
        Self { subject, ..self }
    }

    fn opposite(self) -> Self {
        Self { inverted: !self.inverted, ..self }
    }
}

struct Teller<'d> {
    root: Raw<'d>,
    extent: Extent,
}

impl<'d> Teller<'d> {
    /// The contribution of a condition; with `doubt` only if it is one of those that failed.
    fn tell(&self, expr: &Expr, asked: Asked<'d>, doubt: bool) -> Result<Option<Told>, Fault> {
        if matches!(expr.note, Note::Silent) {
            return Ok(None);
        }
        if doubt && expr.holds(asked.subject)? != asked.inverted {
            return Ok(None);
        }
        let tag = expr.note.tag();
        match &expr.what {
            What::Schema { rules, .. } => self.tell(rules, asked, false),
            What::And(parts) => match tag {
                "$all" => self.tell_leaf_list(expr, parts, asked),
                "items" => self.tell_positions(expr, parts, asked),
                "$jsonSchema" if asked.inverted => {
                    Ok(one(doc! { "operatorName": tag, "reason": "schema matched" }))
                }
                _ => self.tell_list(expr, parts, asked, !asked.inverted, conjunction),
            },
            What::Or(parts) if tag == "enum" => self.tell_leaf_list(expr, parts, asked),
            What::Or(parts) => self.tell_list(expr, parts, asked, asked.inverted, disjunction),
            What::Nor(parts) => {
                self.tell_list(expr, parts, asked.opposite(), !asked.inverted, disjunction)
            }
            What::OneOf(parts) => self.tell_one_of(expr, parts, asked),
            What::Not(inner) => self.tell_not(expr, inner, asked),
            What::Always(holds) => {
                let reason = if *holds { "true" } else { "false" };
                let reason = format!("expression always evaluates to {reason}");
                Ok(expr.note.account().map(|account| {
                    let mut out = named(account);
                    out.insert("reason", reason);
                    Told::One(out)
                }))
            }
            What::Allowed(allowed) => self.tell_allowed(expr, allowed, asked),
            What::When { condition, then } => self.tell_dependency(expr, condition, then, asked),
            What::Same(_) => Ok(None),
            What::Fields(_) => {
                let Some(account) = expr.note.account() else { return Ok(None) };
                let mut out = named(account);
                out.insert("reason", "specified number of properties was not satisfied");
                out.insert("numberOfProperties", number(asked.subject.whole().count()?));
                Ok(Some(Told::One(out)))
            }
            What::At { path, test } => self.tell_at(expr, path, test, asked),
        }
    }

    /// Conditions joined by one operator: each that failed, with its index if it has one.
    fn tell_list(
        &self,
        expr: &Expr,
        parts: &[Expr],
        asked: Asked<'d>,
        doubt: bool,
        heading: fn(&str, bool) -> &'static str,
    ) -> Result<Option<Told>, Fault> {
        let Some(account) = expr.note.account() else {
            // An operator without a separate explanation returns that of its last part.
            let mut last = None;
            for part in parts {
                last = self.tell(part, asked, doubt)?;
            }
            return Ok(last);
        };
        let tag = account.tag;
        let mut list = Array::new();
        for (at, part) in parts.iter().enumerate() {
            let Some(told) = self.tell(part, asked, doubt)? else { continue };
            if matches!(tag, "$and" | "$or" | "$nor" | "allOf" | "anyOf" | "oneOf") {
                let mut clause = doc! { "index": number(at as u64) };
                clause.extend(part.note.account().map(titles).unwrap_or_default());
                clause.insert("details", told.into_details());
                list.push(Bson::Document(clause));
            } else {
                told.add_to(&mut list);
            }
        }
        if matches!(tag, "_subschema" | "_propertiesExistList") {
            return Ok(Some(Told::Several(list)));
        }
        if matches!(tag, "properties" | "_property") && list.is_empty() {
            return Ok(None);
        }
        let mut out = Document::new();
        if !tag.starts_with('_') {
            out.insert("operatorName", tag);
        }
        if tag == "required" {
            out.insert("specifiedAs", account.source.clone());
        } else {
            out.extend(account.source.clone());
        }
        out.extend(titles(account));
        out.insert(heading(tag, asked.inverted), list);
        Ok(Some(Told::One(out)))
    }

    /// `enum` and `$all`: lists that are explained like one condition.
    fn tell_leaf_list(
        &self,
        expr: &Expr,
        parts: &[Expr],
        asked: Asked<'d>,
    ) -> Result<Option<Told>, Fault> {
        let Some(account) = expr.note.account() else { return Ok(None) };
        let path: &[u8] = match parts.first().map(|part| &part.what) {
            Some(What::At { path, .. }) => path,
            _ => b"",
        };
        let values = self.values(path, Leaf::Whole, asked)?;
        let is_enum = account.tag == "enum";
        let mut out = named(account);
        let reason = match (&values, is_enum, asked.inverted) {
            (None, true, _) => return Ok(None),
            (None, false, _) => "field was missing",
            (_, true, false) => "value was not found in enum",
            (_, true, true) => "value was found in enum",
            (_, false, false) => "array did not contain all specified values",
            (_, false, true) => "array did contain all specified values",
        };
        out.insert("reason", reason);
        show(&mut out, values.as_ref());
        Ok(Some(Told::One(out)))
    }

    fn tell_one_of(
        &self,
        expr: &Expr,
        parts: &[Expr],
        asked: Asked<'d>,
    ) -> Result<Option<Told>, Fault> {
        let mut matching = Array::new();
        for (at, part) in parts.iter().enumerate() {
            if part.holds(asked.subject)? {
                matching.push(number(at as u64));
            }
        }
        if matching.is_empty() {
            return self.tell_list(expr, parts, asked, true, conjunction);
        }
        Ok(one(doc! {
            "operatorName": expr.note.tag(),
            "reason": "more than one subschema matched",
            "matchingSchemaIndexes": matching,
        }))
    }

    fn tell_not(&self, expr: &Expr, inner: &Expr, asked: Asked<'d>) -> Result<Option<Told>, Fault> {
        let Some(account) = expr.note.account() else {
            return self.tell(inner, asked.opposite(), false);
        };
        if account.tag == "not" {
            let reason = "child expression matched";
            return Ok(one(doc! { "operatorName": "not", "reason": reason }));
        }
        let mut out = doc! { "operatorName": account.tag };
        if let Some(told) = self.tell(inner, asked.opposite(), false)? {
            out.insert("details", told.into_details());
        }
        Ok(Some(Told::One(out)))
    }

    fn tell_at(
        &self,
        expr: &Expr,
        path: &[u8],
        test: &Test,
        asked: Asked<'d>,
    ) -> Result<Option<Told>, Fault> {
        if let Test::Object(inner) = test {
            return self.tell_object(path, inner, asked);
        }
        let Some(account) = expr.note.account() else { return Ok(None) };
        match test {
            Test::Exists if account.tag == "_propertyExists" => Ok(Some(Told::Name(lossy(path)))),
            Test::Exists => {
                let mut out = named(account);
                let reason = if asked.inverted { "path does exist" } else { "path does not exist" };
                out.insert("reason", reason);
                Ok(Some(Told::One(out)))
            }
            Test::Items(_) | Test::Unique | Test::EachFrom(..) | Test::ElementAt(..) => {
                self.tell_array(account, path, test, asked)
            }
            Test::Type(_) | Test::SchemaType(_) => {
                let is_keyword = matches!(test, Test::SchemaType(_));
                let leaf = if is_keyword { Leaf::Whole } else { Leaf::Elements };
                let values = self.values(path, leaf, asked)?;
                let mut out = named(account);
                let reason = match (&values, asked.inverted) {
                    (None, _) if is_keyword => return Ok(None),
                    (None, _) => "field was missing",
                    (_, false) => "type did not match",
                    (_, true) => "type did match",
                };
                out.insert("reason", reason);
                show(&mut out, values.as_ref());
                show_types(&mut out, values.as_ref());
                Ok(Some(Told::One(out)))
            }
            _ => self.tell_value(account, path, test, asked),
        }
    }

    /// A condition on an object at a path: the explanation of the inner condition, if there is
    /// exactly one object.
    fn tell_object(
        &self,
        path: &[u8],
        inner: &Expr,
        asked: Asked<'d>,
    ) -> Result<Option<Told>, Fault> {
        let mut found = Vec::new();
        visit(asked.subject, path, Leaf::Whole, &mut |value| {
            found.push(value);
            Ok(found.len() > 1)
        })?;
        match found[..] {
            [Some(Raw { tag: OBJECT, bytes })] => {
                self.tell(inner, asked.of(Subject::Fields(bytes)), false)
            }
            _ => Ok(None),
        }
    }

    /// A condition on values, with the values that were considered.
    fn tell_value(
        &self,
        account: &Account,
        path: &[u8],
        test: &Test,
        asked: Asked<'d>,
    ) -> Result<Option<Told>, Fault> {
        let (expected, leaf): (Option<&[u8]>, Leaf) = match test {
            Test::Compare(..) if !account.tag.starts_with('$') => (Some(&NUMBERS), Leaf::Whole),
            Test::MultipleOf(_) => (Some(&NUMBERS), Leaf::Whole),
            Test::Length(_) => (Some(&[STRING]), Leaf::Whole),
            Test::Pattern(_) => (Some(&PATTERNS), Leaf::Elements),
            Test::Mod { .. } => (Some(&NUMBERS), Leaf::Elements),
            Test::Bits(_) => (Some(&BITS), Leaf::Elements),
            Test::Size(_) | Test::AnyObject(_) | Test::AnyValue(_) => (Some(&[ARRAY]), Leaf::Whole),
            _ => (None, Leaf::Elements),
        };
        // For values of other types, another explanation applies, or none is needed.
        if !account.tag.starts_with('$')
            && (asked.inverted || !self.applies(path, expected.unwrap_or_default(), asked)?)
        {
            return Ok(None);
        }
        let values = self.values(path, leaf, asked)?;
        let mut out = named(account);
        match (&values, expected) {
            (None, _) => {
                out.insert("reason", "field was missing");
            }
            (Some(values), Some(expected))
                if !values.found.iter().any(|value| expected.contains(&value.tag)) =>
            {
                out.insert("reason", "type did not match");
                show_types(&mut out, Some(values));
                let names = expected.iter().map(|tag| Raw { tag: *tag, bytes: b"" }.type_name());
                list_types(&mut out, "expectedType", names.collect());
            }
            _ => {
                let (normal, inverted) = reasons(test);
                out.insert("reason", if asked.inverted { inverted } else { normal });
            }
        }
        show(&mut out, values.as_ref());
        Ok(Some(Told::One(out)))
    }

    /// Returns whether a path leads to one value of these types without entering arrays.
    fn applies(&self, path: &[u8], types: &[u8], asked: Asked<'d>) -> Result<bool, Fault> {
        let value = straight(asked.subject, path)?;
        Ok(value.is_some_and(|value| types.contains(&value.tag)))
    }

    /// The values a path leads to, as far as they are shown; `None` if it leads nowhere.
    fn values(
        &self,
        path: &[u8],
        leaf: Leaf,
        asked: Asked<'d>,
    ) -> Result<Option<Considered<'d>>, Fault> {
        if path.is_empty() {
            return Ok(Some(Considered { found: vec![self.root], truncated: false }));
        }
        let mut considered = Considered::default();
        visit(asked.subject, path, leaf, &mut |value| {
            let Some(value) = value else { return Ok(true) };
            if considered.found.len() == MAX_VALUES {
                considered.truncated = true;
                return Ok(true);
            }
            considered.found.push(value);
            Ok(false)
        })?;
        if considered.found.is_empty() {
            let mut exists = false;
            visit(asked.subject, path, Leaf::Both, &mut |value| {
                exists = value.is_some();
                Ok(true)
            })?;
            if !exists {
                return Ok(None);
            }
        }
        Ok(Some(considered))
    }
}

fn one(document: Document) -> Option<Told> {
    Some(Told::One(document))
}
