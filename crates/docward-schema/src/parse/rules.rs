//! A schema as conditions: the form in which the server explains why a document is refused. Each
//! keyword becomes one condition that either does not apply (another type, a missing property) or
//! is explained. Documents are evaluated with the faster form in `schema.rs`; the two agree.

use bson::{Document, doc};
use docward_bson::walk::Element;

use super::{Keywords, Result, count, elements, flag, types, values};
use crate::{
    pattern::Pattern,
    schema::{Allowed, Bound, Comparison, Expr, LONE, Note, Test, Types, What},
    value::{ARRAY, BOOL, Literal, OBJECT, Raw, STRING, lossy},
};

/// Converts a whole schema that is known to be valid.
pub(crate) fn schema(schema: Raw<'_>) -> Result<Expr> {
    let mut expr = subschema(b"", schema)?;
    let source = match expr.note {
        Note::Told(account) => account.source,
        _ => Document::new(),
    };
    expr.note = Note::titled("$jsonSchema", source, titles(schema)?);
    Ok(expr)
}

/// `title` and `description`, if they are texts.
fn titles(schema: Raw<'_>) -> Result<Document> {
    let fields = elements(schema)?;
    let mut out = Document::new();
    for name in ["title", "description"] {
        let found = fields.iter().find(|field| field.key == name.as_bytes());
        if let Some(text) = found.and_then(|field| Raw::from(*field).text()) {
            out.insert(name, lossy(text));
        }
    }
    Ok(out)
}

/// Converts one schema for the value at a path; an empty path is the document itself.
fn subschema(path: &[u8], schema: Raw<'_>) -> Result<Expr> {
    let keywords = Keywords::read(schema)?;
    let types = types(&keywords)?;
    let rules = Rules { path, stated: stated(&keywords, types)?, keywords };
    let mut parts = Vec::new();
    rules.scalar(&mut parts)?;
    rules.array(&mut parts)?;
    rules.object(&mut parts)?;
    rules.logical(&mut parts)?;
    if let Some(types) = types {
        if path.is_empty() {
            if !types.has(OBJECT) {
                let note = Note::told("$jsonSchema", doc! { "$jsonSchema": schema.owned() });
                return Ok(Expr::new(What::Always(false), note));
            }
        } else {
            let (keyword, value) = rules.named_type();
            let source = value.map(|value| doc! { keyword: value.owned() }).unwrap_or_default();
            parts.push(Expr::at(path, Test::SchemaType(types), Note::told(keyword, source)));
        }
    }
    let note = Note::titled("_subschema", Document::new(), titles(schema)?);
    Ok(Expr::new(What::And(parts), note))
}

/// The type, if the schema names exactly one.
fn stated(keywords: &Keywords<'_>, types: Option<Types>) -> Result<Option<Types>> {
    let named = keywords.get("type").or_else(|| keywords.get("bsonType"));
    Ok(match named {
        Some(value) if value.tag == ARRAY && elements(value)?.len() != 1 => None,
        _ => types,
    })
}

fn silent(what: What) -> Expr {
    Expr::new(what, Note::Silent)
}

fn number_types() -> Types {
    [0x01, 0x10, 0x12, 0x13].into_iter().fold(Types::default(), Types::with)
}

/// Converts the keywords of one schema.
struct Rules<'s> {
    path: &'s [u8],
    /// The only type that the schema permits.
    stated: Option<Types>,
    keywords: Keywords<'s>,
}

impl<'s> Rules<'s> {
    fn named_type(&self) -> (&'static str, Option<Raw<'s>>) {
        match self.keywords.get("type") {
            Some(value) => ("type", Some(value)),
            None => ("bsonType", self.keywords.get("bsonType")),
        }
    }

    /// The note of a keyword: its name and its value.
    fn note(&self, keyword: &'static str) -> Note {
        let source = self.keywords.get(keyword).map(|value| doc! { keyword: value.owned() });
        Note::told(keyword, source.unwrap_or_default())
    }

    /// A condition that values of other types satisfy.
    fn restricted(&self, to: Types, expr: Expr) -> Expr {
        match self.stated {
            Some(stated) if stated.0 & to.0 != 0 => expr,
            Some(_) => silent(What::Always(true)),
            None => {
                let is = Expr::at(self.path, Test::SchemaType(to), Note::Silent);
                let other = Expr::not(is, Note::Silent);
                Expr::new(What::Or(vec![other, expr]), Note::Through)
            }
        }
    }

    /// A condition on values of some types; none applies to a document as a whole.
    fn on(&self, keyword: &'static str, types: Types, test: Test) -> Expr {
        if self.path.is_empty() {
            return Expr::new(What::Always(true), self.note(keyword));
        }
        self.restricted(types, Expr::at(self.path, test, self.note(keyword)))
    }

    /// A condition on the fields of an object.
    fn on_object(&self, expr: Expr) -> Expr {
        if self.path.is_empty() {
            return expr;
        }
        self.restricted(Types::default().with(OBJECT), self.inside(expr))
    }

    fn inside(&self, expr: Expr) -> Expr {
        if self.path.is_empty() {
            return expr;
        }
        Expr::at(self.path, Test::Object(Box::new(expr)), Note::Through)
    }

    fn scalar(&self, parts: &mut Vec<Expr>) -> Result<()> {
        let text = Types::default().with(STRING);
        if let Some(value) = self.keywords.get("pattern") {
            let test = if self.path.is_empty() {
                // The value may not be a valid pattern.
                Test::Exists
            } else {
                Test::Pattern(values::build_regex(value.text().unwrap_or_default(), b"")?)
            };
            parts.push(self.on("pattern", text, test));
        }
        if let Some(most) = count(&self.keywords, "maxLength")? {
            parts.push(self.on("maxLength", text, Test::Length(Bound::Most(most))));
        }
        if let Some(least) = count(&self.keywords, "minLength")? {
            parts.push(self.on("minLength", text, Test::Length(Bound::Least(least))));
        }
        if let Some(divisor) = self.keywords.get("multipleOf").and_then(Raw::number) {
            parts.push(self.on("multipleOf", number_types(), Test::MultipleOf(divisor)));
        }
        self.limit(
            "maximum",
            "exclusiveMaximum",
            [Comparison::LessOrEqual, Comparison::Less],
            parts,
        )?;
        self.limit(
            "minimum",
            "exclusiveMinimum",
            [Comparison::GreaterOrEqual, Comparison::Greater],
            parts,
        )
    }

    fn limit(
        &self,
        keyword: &'static str,
        exclusive: &'static str,
        [within, beyond]: [Comparison; 2],
        parts: &mut Vec<Expr>,
    ) -> Result<()> {
        let Some(value) = self.keywords.get(keyword) else { return Ok(()) };
        let is_out = flag(&self.keywords, exclusive)?;
        let comparison = if is_out { beyond } else { within };
        let mut expr =
            self.on(keyword, number_types(), Test::Compare(comparison, Literal::of(value)));
        if is_out {
            // The note belongs to the alternative to another type, if there is one.
            let told = match &mut expr.what {
                What::Or(either) => either.last_mut(),
                _ => Some(&mut expr),
            };
            if let Some(Note::Told(account)) = told.map(|expr| &mut expr.note) {
                account.source.insert(exclusive, true);
            }
        }
        parts.push(expr);
        Ok(())
    }

    fn array(&self, parts: &mut Vec<Expr>) -> Result<()> {
        let array = Types::default().with(ARRAY);
        if let Some(least) = count(&self.keywords, "minItems")? {
            parts.push(self.on("minItems", array, Test::Items(Bound::Least(least))));
        }
        if let Some(most) = count(&self.keywords, "maxItems")? {
            parts.push(self.on("maxItems", array, Test::Items(Bound::Most(most))));
        }
        if flag(&self.keywords, "uniqueItems")? {
            parts.push(self.on("uniqueItems", array, Test::Unique));
        }
        let Some(value) = self.keywords.get("items") else { return Ok(()) };
        if value.tag == OBJECT {
            let inner = Box::new(subschema(LONE, value)?);
            parts.push(self.on("items", array, Test::EachFrom(0, inner)));
            return Ok(());
        }
        let positions = elements(value)?;
        let count = positions.len();
        if !self.path.is_empty() {
            let mut by_position = Vec::new();
            for (at, element) in positions.into_iter().enumerate() {
                let inner = Box::new(subschema(LONE, Raw::from(element))?);
                let note = Note::told("", Document::new());
                by_position.push(Expr::at(self.path, Test::ElementAt(at, inner), note));
            }
            let expr = Expr::new(What::And(by_position), self.note("items"));
            parts.push(self.restricted(array, expr));
        }
        if let Some(rest) = self.keywords.get("additionalItems") {
            let inner = match rest.tag {
                OBJECT => subschema(LONE, rest)?,
                _ => silent(What::Always(is_true(rest))),
            };
            let test = Test::EachFrom(count, Box::new(inner));
            parts.push(self.on("additionalItems", array, test));
        }
        Ok(())
    }

    fn required(&self) -> Result<Vec<&'s [u8]>> {
        let Some(value) = self.keywords.get("required") else { return Ok(Vec::new()) };
        let names = elements(value)?;
        Ok(names.into_iter().filter_map(|element| Raw::from(element).text()).collect())
    }

    fn object(&self, parts: &mut Vec<Expr>) -> Result<()> {
        let mut required = self.required()?;
        if let Some(value) = self.keywords.get("properties") {
            let mut properties = Vec::new();
            for element in elements(value)? {
                properties.push(if required.contains(&element.key) {
                    property(element)?
                } else {
                    optional(element)?
                });
            }
            let note = Note::told("properties", Document::new());
            parts.push(self.on_object(Expr::new(What::And(properties), note)));
        }
        parts.extend(self.allowed()?);
        if !required.is_empty() {
            required.sort_unstable();
            let there = required.into_iter().map(exists).collect();
            let expr = Expr::new(What::And(there), self.note("required"));
            parts.push(self.on_object(expr));
        }
        for (keyword, bound) in [
            ("minProperties", Bound::Least as fn(u64) -> Bound),
            ("maxProperties", Bound::Most as fn(u64) -> Bound),
        ] {
            if let Some(count) = count(&self.keywords, keyword)? {
                let expr = Expr::new(What::Fields(bound(count)), self.note(keyword));
                parts.push(self.on_object(expr));
            }
        }
        if let Some(value) = self.keywords.get("dependencies") {
            let mut dependencies = Vec::new();
            for element in elements(value)? {
                dependencies.extend(self.dependency(element)?);
            }
            let note = Note::titled("dependencies", Document::new(), titles(value)?);
            parts.push(Expr::new(What::And(dependencies), note));
        }
        Ok(())
    }

    /// `patternProperties` and `additionalProperties` are one condition, because each depends on
    /// the other.
    fn allowed(&self) -> Result<Option<Expr>> {
        let by_pattern = self.keywords.get("patternProperties");
        let rest = self.keywords.get("additionalProperties");
        if by_pattern.is_none() && rest.is_none() {
            return Ok(None);
        }
        let mut named: Vec<Box<[u8]>> = Vec::new();
        if let Some(value) = self.keywords.get("properties") {
            named.extend(elements(value)?.into_iter().map(|element| element.key.into()));
        }
        let mut patterns = Vec::new();
        if let Some(value) = by_pattern {
            for element in elements(value)? {
                let text = lossy(element.key);
                let pattern = Pattern::of_names(&text)?;
                patterns.push((text, pattern, subschema(LONE, Raw::from(element))?));
            }
        }
        let others = match rest {
            Some(value) if value.tag == OBJECT => subschema(LONE, value)?,
            Some(value) => silent(What::Always(is_true(value))),
            None => silent(What::Always(true)),
        };
        let source = rest.map(|value| doc! { "additionalProperties": value.owned() });
        let what = What::Allowed(Box::new(Allowed { named, patterns, others }));
        Ok(Some(self.on_object(Expr::new(what, Note::told("", source.unwrap_or_default())))))
    }

    fn dependency(&self, element: Element<'_>) -> Result<Option<Expr>> {
        let value = Raw::from(element);
        let (then, tag) = match value.tag {
            OBJECT => (subschema(self.path, value)?, "_schemaDependency"),
            ARRAY => {
                let mut there = Vec::new();
                for name in elements(value)? {
                    there.push(self.inside(exists(Raw::from(name).text().unwrap_or_default())));
                }
                let note = Note::told("_propertiesExistList", Document::new());
                (Expr::new(What::And(there), note), "_propertyDependency")
            }
            // Text about the dependencies.
            _ => return Ok(None),
        };
        let mut condition = self.inside(Expr::at(element.key, Test::Exists, Note::Silent));
        condition.note = Note::Silent;
        let source = doc! { lossy(element.key): value.owned() };
        let what = What::When { condition: Box::new(condition), then: Box::new(then) };
        Ok(Some(Expr::new(what, Note::told(tag, source))))
    }

    fn logical(&self, parts: &mut Vec<Expr>) -> Result<()> {
        for (keyword, join) in [
            ("allOf", What::And as fn(Vec<Expr>) -> What),
            ("anyOf", What::Or as fn(Vec<Expr>) -> What),
            ("oneOf", What::OneOf as fn(Vec<Expr>) -> What),
        ] {
            let Some(value) = self.keywords.get(keyword) else { continue };
            let mut schemas = Vec::new();
            for element in elements(value)? {
                schemas.push(subschema(self.path, Raw::from(element))?);
            }
            parts.push(Expr::new(join(schemas), Note::told(keyword, Document::new())));
        }
        if let Some(value) = self.keywords.get("not") {
            let inner = subschema(self.path, value)?;
            parts.push(Expr::not(inner, Note::told("not", Document::new())));
        }
        if let Some(value) = self.keywords.get("enum") {
            let mut choices = Vec::new();
            for element in elements(value)? {
                let literal = Literal::of(Raw::from(element));
                if !self.path.is_empty() {
                    choices.push(Expr::at(self.path, Test::SchemaEqual(literal), Note::Silent));
                } else if element.tag == OBJECT {
                    choices.push(silent(What::Same(literal)));
                }
            }
            let what = if choices.is_empty() { What::Always(false) } else { What::Or(choices) };
            parts.push(Expr::new(what, self.note("enum")));
        }
        Ok(())
    }
}

fn is_true(value: Raw<'_>) -> bool {
    value.tag == BOOL && value.bytes.first() == Some(&1)
}

/// The condition that a property exists; only its name is explained.
fn exists(name: &[u8]) -> Expr {
    Expr::at(name, Test::Exists, Note::told("_propertyExists", Document::new()))
}

/// The schema of a required property.
fn property(element: Element<'_>) -> Result<Expr> {
    let schema = Raw::from(element);
    let mut expr = subschema(element.key, schema)?;
    let source = doc! { "propertyName": lossy(element.key) };
    expr.note = Note::titled("_property", source, titles(schema)?);
    Ok(expr)
}

/// The schema of a property, which is also satisfied if the property is missing.
pub(crate) fn optional(element: Element<'_>) -> Result<Expr> {
    let exists = Expr::at(element.key, Test::Exists, Note::Silent);
    let missing = Expr::not(exists, Note::Silent);
    Ok(Expr::new(What::Or(vec![missing, property(element)?]), Note::Through))
}
