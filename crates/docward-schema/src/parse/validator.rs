//! Reads a validator: the same operators in the same order as the server, so that of several
//! mistakes the same one is reported.

use std::cmp::Ordering;

use bson::{Document, doc};
use docward_bson::walk::Element;

use super::{
    BAD_VALUE, FAILED_TO_PARSE, MAX_NESTING, Result, TYPE_MISMATCH, elements, fault, integer,
    rules, schema, sound, values,
};
use crate::{
    schema::{Choice, Comparison, Expr, Note, Regex, Test, What},
    value::{ARRAY, Literal, NULL, OBJECT, REGEX, Raw, STRING, UNDEFINED, lossy, order, told},
};

/// The server's code for a nearest-neighbour search that is not permitted.
const NEAR_NOT_ALLOWED: i32 = 5_626_500;
const RANDOM_NOT_ALLOWED: i32 = 3_040_500;
const FUNCTION_NOT_ALLOWED: i32 = 4_660_800;
const EMIT_NOT_ALLOWED: i32 = 4_660_801;
const PATH_TOO_LONG: i32 = 5_729_100;
const OPTIONS_BEFORE: i32 = 51_074;
const OPTIONS_AFTER: i32 = 51_075;
/// More steps than documents have levels.
const MAX_STEPS: usize = 180;

/// Operators that occur in the place of a field name.
const PATHLESS: [&str; 21] = [
    "$_internalBucketGeoWithin",
    "$_internalSchemaAllowedProperties",
    "$_internalSchemaCond",
    "$_internalSchemaMaxProperties",
    "$_internalSchemaMinProperties",
    "$_internalSchemaRootDocEq",
    "$_internalSchemaXor",
    "$alwaysFalse",
    "$alwaysTrue",
    "$and",
    "$comment",
    "$db",
    "$expr",
    "$id",
    "$jsonSchema",
    "$nor",
    "$or",
    "$ref",
    "$sampleRate",
    "$text",
    "$where",
];

/// Operators on a field, except for `$not`, which is read separately.
const OPERATORS: [&str; 44] = [
    "$_internalExprEq",
    "$_internalExprGt",
    "$_internalExprGte",
    "$_internalExprLt",
    "$_internalExprLte",
    "$_internalSchemaAllElemMatchFromIndex",
    "$_internalSchemaBinDataEncryptedType",
    "$_internalSchemaBinDataSubType",
    "$_internalSchemaEq",
    "$_internalSchemaFmod",
    "$_internalSchemaMatchArrayIndex",
    "$_internalSchemaMaxItems",
    "$_internalSchemaMaxLength",
    "$_internalSchemaMinItems",
    "$_internalSchemaMinLength",
    "$_internalSchemaObjectMatch",
    "$_internalSchemaType",
    "$_internalSchemaUniqueItems",
    "$all",
    "$bitsAllClear",
    "$bitsAllSet",
    "$bitsAnyClear",
    "$bitsAnySet",
    "$elemMatch",
    "$eq",
    "$exists",
    "$geoIntersects",
    "$geoNear",
    "$geoWithin",
    "$gt",
    "$gte",
    "$in",
    "$lt",
    "$lte",
    "$mod",
    "$ne",
    "$near",
    "$nearSphere",
    "$nin",
    "$options",
    "$regex",
    "$size",
    "$type",
    "$within",
];

/// The operator with this name, if there is one.
fn operator(name: &[u8]) -> Option<&'static str> {
    OPERATORS.iter().find(|known| known.as_bytes() == name).copied()
}

fn is_near(name: &str) -> bool {
    matches!(name, "$near" | "$nearSphere" | "$geoNear")
}

/// The level of a condition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// It applies to the whole document.
    Document,
    /// It applies to a value in the document.
    Inside,
}

/// A validator that was read, and its first operator that the server supports and Docward does not
/// evaluate.
pub(crate) struct Read {
    pub(crate) root: Expr,
    pub(crate) unevaluated: Option<String>,
}

/// Reads a whole validator.
pub(crate) fn validator(bytes: &[u8]) -> Result<Read> {
    sound(bytes)?;
    let mut reader = Reader { unevaluated: None, depth: 0 };
    let root = reader.conditions(Raw { tag: OBJECT, bytes }, Level::Document)?;
    Ok(Read { root, unevaluated: reader.unevaluated })
}

struct Reader {
    unevaluated: Option<String>,
    depth: u32,
}

/// `{path: {operator: value}}`: how an operator was written.
fn written(path: &[u8], element: Element<'_>) -> Document {
    let inner = doc! { name(element): Raw::from(element).owned() };
    doc! { lossy(path): inner }
}

fn name(element: Element<'_>) -> String {
    lossy(element.key)
}

/// Returns whether a value is a set of operators rather than a value for equality. References to
/// other documents look like operators but are not.
fn is_operators(value: Raw<'_>, parts_suffice: bool) -> Result<bool> {
    if value.tag != OBJECT {
        return Ok(false);
    }
    let fields = elements(value)?;
    if !fields.first().is_some_and(|first| first.key.starts_with(b"$")) {
        return Ok(false);
    }
    let has = |name: &[u8]| fields.iter().any(|field| field.key == name);
    let is_reference = if parts_suffice {
        has(b"$ref") || has(b"$id") || has(b"$db")
    } else {
        has(b"$ref") && has(b"$id")
    };
    Ok(!is_reference)
}

impl Reader {
    /// An operator that the server supports and Docward does not evaluate always matches; the
    /// result records it.
    fn skip(&mut self, operator: &str) -> Expr {
        self.unevaluated.get_or_insert_with(|| operator.to_owned());
        Expr::new(What::Always(true), Note::Silent)
    }

    fn conditions(&mut self, object: Raw<'_>, level: Level) -> Result<Expr> {
        if self.depth > MAX_NESTING {
            return fault(FAILED_TO_PARSE, "the validator is nested too deeply");
        }
        self.depth += 1;
        let read = self.conjunction(object, level);
        self.depth -= 1;
        read
    }

    fn conjunction(&mut self, object: Raw<'_>, level: Level) -> Result<Expr> {
        let mut parts = Vec::new();
        for element in elements(object)? {
            if element.key.starts_with(b"$") {
                parts.extend(self.pathless(element, level)?);
                continue;
            }
            if element.key.iter().filter(|byte| **byte == b'.').count() >= MAX_STEPS {
                return fault(PATH_TOO_LONG, "FieldPath is too long");
            }
            let value = Raw::from(element);
            if is_operators(value, false)? {
                parts.extend(self.operators(element.key, value, level)?);
                continue;
            }
            let source = doc! { name(element): value.owned() };
            let test = if value.tag == REGEX {
                (values::regex(value)?, "$regex")
            } else {
                (compared(Comparison::Equal, element.key, value)?, "$eq")
            };
            parts.push(Expr::at(element.key, test.0, Note::told(test.1, source)));
        }
        Ok(match (parts.pop(), parts.is_empty()) {
            (Some(only), true) => only,
            (last, _) => {
                parts.extend(last);
                Expr::new(What::And(parts), Note::told("$and", Document::new()))
            }
        })
    }

    fn pathless(&mut self, element: Element<'_>, level: Level) -> Result<Option<Expr>> {
        let value = Raw::from(element);
        let name = name(element);
        let only_outside = |operator: &str| {
            fault(BAD_VALUE, format!("{operator} can only be applied to the top-level document"))
        };
        let expr = match &*name {
            "$and" | "$or" | "$nor" => self.several(&name, value, level)?,
            "$comment" => return Ok(None),
            "$jsonSchema" => self.schema(value)?,
            "$alwaysTrue" | "$alwaysFalse" => {
                let whole = integer::number(element.key, value)
                    .or_else(|message| fault(FAILED_TO_PARSE, message))?;
                if whole != 1 {
                    let message = format!("{name} must be an integer value of 1");
                    return fault(FAILED_TO_PARSE, message);
                }
                Expr::new(What::Always(name == "$alwaysTrue"), Note::Unknown)
            }
            "$ref" | "$id" | "$db" => {
                let test = compared(Comparison::Equal, element.key, value)?;
                Expr::at(element.key, test, Note::Unknown)
            }
            "$where" => return fault(BAD_VALUE, "$where is not allowed in this context"),
            "$text" | "$expr" | "$sampleRate" if level == Level::Inside => {
                return only_outside(&name);
            }
            "$text" => return fault(BAD_VALUE, "$text is not allowed in this context"),
            "$sampleRate" => {
                let Some(rate) = value.number() else {
                    return fault(BAD_VALUE, "argument to $sampleRate must be a numeric type");
                };
                if !rate.is_share() {
                    let message = "numeric argument to $sampleRate must be in [0, 1]";
                    return fault(BAD_VALUE, message);
                }
                if !matches!(rate.whole(), Ok(0 | 1)) {
                    return fault(
                        RANDOM_NOT_ALLOWED,
                        "$rand not allowed inside collection validators",
                    );
                }
                self.skip(&name)
            }
            "$expr" => {
                forbidden(value)?;
                self.skip(&name)
            }
            known if PATHLESS.contains(&known) => self.skip(&name),
            "$not" => {
                let message = "unknown top level operator: $not. If you are trying to negate an entire expression, use $nor.";
                return fault(BAD_VALUE, message);
            }
            _ => {
                let message = format!(
                    "unknown top level operator: {name}. If you have a field name that starts with a '$' symbol, consider using $getField or $setField."
                );
                return fault(BAD_VALUE, message);
            }
        };
        Ok(Some(expr))
    }

    fn several(&mut self, name: &str, value: Raw<'_>, level: Level) -> Result<Expr> {
        if value.tag != ARRAY {
            return fault(BAD_VALUE, format!("{name} must be an array"));
        }
        let clauses = elements(value)?;
        if clauses.is_empty() {
            return fault(BAD_VALUE, "$and/$or/$nor must be a nonempty array");
        }
        let mut parts = Vec::new();
        for clause in clauses {
            if clause.tag != OBJECT {
                return fault(BAD_VALUE, "$or/$and/$nor entries need to be full objects");
            }
            parts.push(self.conditions(Raw::from(clause), level)?);
        }
        let (what, tag) = match name {
            "$and" => (What::And(parts), "$and"),
            "$or" => (What::Or(parts), "$or"),
            _ => (What::Nor(parts), "$nor"),
        };
        Ok(Expr::new(what, Note::told(tag, Document::new())))
    }

    /// `{path: {$gt: 1, $lt: 5}}`
    fn operators(&mut self, path: &[u8], context: Raw<'_>, level: Level) -> Result<Vec<Expr>> {
        let fields = elements(context)?;
        if let Some(first) = fields.first()
            && matches!(first.tag, OBJECT | ARRAY)
            && operator(first.key).is_some_and(is_near)
        {
            let message = "$geoNear, $near, and $nearSphere are not allowed in this context";
            return fault(NEAR_NOT_ALLOWED, message);
        }
        let mut parts = Vec::new();
        for element in fields {
            parts.extend(self.operator(path, context, element, level)?);
        }
        Ok(parts)
    }

    fn operator(
        &mut self,
        path: &[u8],
        context: Raw<'_>,
        element: Element<'_>,
        level: Level,
    ) -> Result<Option<Expr>> {
        let value = Raw::from(element);
        if element.key == b"$not" {
            return self.not(path, value, level).map(Some);
        }
        let Some(operator) = operator(element.key) else {
            return match element.key {
                b"$where" => fault(BAD_VALUE, "$where cannot be applied to a field"),
                _ => fault(BAD_VALUE, format!("unknown operator: {}", name(element))),
            };
        };
        let plain = |test: Test| Expr::at(path, test, Note::told(operator, written(path, element)));
        let inverted = |test: Test| Expr::not(plain(test), Note::Through);
        let expr = match operator {
            "$eq" => plain(compared(Comparison::Equal, path, value)?),
            "$lt" => plain(compared(Comparison::Less, path, value)?),
            "$lte" => plain(compared(Comparison::LessOrEqual, path, value)?),
            "$gt" => plain(compared(Comparison::Greater, path, value)?),
            "$gte" => plain(compared(Comparison::GreaterOrEqual, path, value)?),
            "$ne" if value.tag == REGEX => {
                return fault(BAD_VALUE, "Can't have regex as arg to $ne.");
            }
            "$ne" => inverted(compared(Comparison::Equal, path, value)?),
            "$in" | "$nin" if value.tag != ARRAY => {
                return fault(BAD_VALUE, format!("{operator} needs an array"));
            }
            "$in" => plain(Test::In(choice(value)?)),
            "$nin" => inverted(Test::In(choice(value)?)),
            "$size" => match integer::small_positive(element.key, value) {
                Ok(size) => plain(Test::Size(i64::from(size))),
                Err(why) => return fault(BAD_VALUE, format!("Failed to parse $size. {why}")),
            },
            "$exists" if values::is_true(value) => plain(Test::Exists),
            "$exists" => inverted(Test::Exists),
            "$type" => plain(Test::Type(values::types(path, value)?)),
            "$mod" => plain(values::modulo(value)?),
            "$options" => {
                if elements(context)?.iter().any(|field| field.key == b"$regex") {
                    return Ok(None);
                }
                return fault(BAD_VALUE, "$options needs a $regex");
            }
            "$regex" => {
                let source = doc! { lossy(path): context.owned() };
                Expr::at(path, Test::Pattern(pattern(context)?), Note::told("$regex", source))
            }
            "$elemMatch" => self.elem_match(path, element)?,
            "$all" => self.all(path, element)?,
            "$bitsAllSet" | "$bitsAllClear" | "$bitsAnySet" | "$bitsAnyClear" => {
                plain(Test::Bits(values::bits(path, operator, value)?))
            }
            near if is_near(near) => {
                return fault(BAD_VALUE, format!("near must be first in: {}", told(context)));
            }
            other => self.skip(other),
        };
        Ok(Some(expr))
    }

    fn not(&mut self, path: &[u8], value: Raw<'_>, level: Level) -> Result<Expr> {
        let inner = match value.tag {
            REGEX => {
                let source = doc! { lossy(path): value.owned() };
                Expr::at(path, values::regex(value)?, Note::told("$regex", source))
            }
            OBJECT => {
                if elements(value)?.is_empty() {
                    return fault(BAD_VALUE, "$not cannot be empty");
                }
                let parts = self.nested(|reader| reader.operators(path, value, level))?;
                let note = match parts.len() {
                    1 => Note::Through,
                    _ => Note::told("$and", Document::new()),
                };
                Expr::new(What::And(parts), note)
            }
            _ => return fault(BAD_VALUE, "$not needs a regex or a document"),
        };
        Ok(Expr::not(inner, Note::told("$not", Document::new())))
    }

    fn elem_match(&mut self, path: &[u8], element: Element<'_>) -> Result<Expr> {
        let value = Raw::from(element);
        if value.tag != OBJECT {
            return fault(BAD_VALUE, "$elemMatch needs an Object");
        }
        // Operators on the elements themselves, or conditions on the fields of object elements.
        let is_about_values = is_operators(value, true)?
            && !elements(value)?
                .first()
                .is_some_and(|first| PATHLESS.iter().any(|known| known.as_bytes() == first.key));
        let test = if is_about_values {
            Test::AnyValue(self.nested(|reader| reader.operators(b"", value, Level::Inside))?)
        } else {
            Test::AnyObject(Box::new(self.conditions(value, Level::Inside)?))
        };
        Ok(Expr::at(path, test, Note::told("$elemMatch", written(path, element))))
    }

    fn all(&mut self, path: &[u8], element: Element<'_>) -> Result<Expr> {
        let value = Raw::from(element);
        if value.tag != ARRAY {
            return fault(BAD_VALUE, "$all needs an array");
        }
        let wanted = elements(value)?;
        let first_name = |element: &Element<'_>| -> Result<Option<Vec<u8>>> {
            if element.tag != OBJECT {
                return Ok(None);
            }
            Ok(elements(Raw::from(*element))?.first().map(|first| first.key.to_vec()))
        };
        let is_elem_match = |element: &Element<'_>| -> Result<bool> {
            Ok(first_name(element)?.is_some_and(|name| name == b"$elemMatch"))
        };
        let note = || Note::told("$all", written(path, element));
        let Some(first) = wanted.first() else {
            return Ok(Expr::new(What::Always(false), note()));
        };
        let mut parts = Vec::new();
        let by_elem_match = is_elem_match(first)?;
        for element in &wanted {
            let inner = Raw::from(*element);
            let expr = if by_elem_match {
                if !is_elem_match(element)? {
                    return fault(BAD_VALUE, "$all/$elemMatch has to be consistent");
                }
                let Some(asked) = elements(inner)?.first().copied() else { continue };
                let mut expr = self.elem_match(path, asked)?;
                expr.note = Note::Silent;
                expr
            } else if inner.tag == REGEX {
                Expr::at(path, values::regex(inner)?, Note::Silent)
            } else if first_name(element)?.is_some_and(|name| operator(&name).is_some()) {
                return fault(BAD_VALUE, "no $ expressions in $all");
            } else {
                Expr::at(path, compared(Comparison::Equal, path, inner)?, Note::Silent)
            };
            parts.push(expr);
        }
        Ok(Expr::new(What::And(parts), note()))
    }

    fn schema(&mut self, value: Raw<'_>) -> Result<Expr> {
        if value.tag != OBJECT {
            return fault(TYPE_MISMATCH, "$jsonSchema must be an object");
        }
        let super::Read { root, encrypted } = schema(value.bytes)?;
        if let Some(keyword) = encrypted {
            return Ok(self.skip(keyword));
        }
        let rules = Box::new(rules::schema(value)?);
        // The explanation of the schema comes from its conditions; the note is for callers that
        // read it before.
        let titles = rules.note.account().map(|account| account.titles.clone());
        let note = Note::titled("$jsonSchema", Document::new(), titles.unwrap_or_default());
        Ok(Expr::new(What::Schema { node: Box::new(root), rules }, note))
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth > MAX_NESTING {
            return fault(FAILED_TO_PARSE, "the validator is nested too deeply");
        }
        self.depth += 1;
        let out = read(self);
        self.depth -= 1;
        out
    }
}

/// Refuses operators that aggregation expressions may contain, but not in validators.
fn forbidden(value: Raw<'_>) -> Result<()> {
    if !matches!(value.tag, OBJECT | ARRAY) {
        return Ok(());
    }
    for element in elements(value)? {
        match element.key {
            b"$literal" => continue,
            b"$rand" => {
                return fault(RANDOM_NOT_ALLOWED, "$rand not allowed inside collection validators");
            }
            b"$function" => {
                let message = "$function cannot be used inside a validator.";
                return fault(FUNCTION_NOT_ALLOWED, message);
            }
            b"$_internalJsEmit" => {
                let message = "$_internalJsEmit cannot be used inside a validator.";
                return fault(EMIT_NOT_ALLOWED, message);
            }
            _ => forbidden(Raw::from(element))?,
        }
    }
    Ok(())
}

fn compared(comparison: Comparison, path: &[u8], value: Raw<'_>) -> Result<Test> {
    if value.tag == UNDEFINED {
        return fault(BAD_VALUE, "cannot compare to undefined");
    }
    if value.tag == REGEX && comparison != Comparison::Equal {
        let path = lossy(path);
        let message = format!("Can't have RegEx as arg to predicate over field '{path}'.");
        return fault(BAD_VALUE, message);
    }
    Ok(Test::Compare(comparison, Literal::of(value)))
}

fn choice(value: Raw<'_>) -> Result<Choice> {
    let mut choice = Choice::default();
    let mut undefined = false;
    for element in elements(value)? {
        let value = Raw::from(element);
        if is_operators(value, false)? {
            return fault(BAD_VALUE, "cannot nest $ under $in");
        }
        match value.tag {
            REGEX => choice.patterns.push(values::read_regex(value)?),
            tag => {
                choice.has_null |= tag == NULL;
                undefined |= tag == UNDEFINED;
                choice.values.push(Literal::of(value));
            }
        }
    }
    if undefined {
        return fault(BAD_VALUE, "InMatchExpression equality cannot be undefined");
    }
    // Undamaged values compare without a fault.
    choice.values.sort_by(|a, b| order(a.raw(), b.raw()).unwrap_or(Ordering::Equal));
    Ok(choice)
}

/// `$regex` with `$options`, in either order.
fn pattern(context: Raw<'_>) -> Result<Regex> {
    let (mut words, mut flags): (&[u8], &[u8]) = (b"", b"");
    for element in elements(context)? {
        let value = Raw::from(element);
        match (element.key, value.tag) {
            (b"$regex", STRING) => words = value.text().unwrap_or_default(),
            (b"$regex", REGEX) => {
                let (own, own_flags) = values::regex_parts(value);
                words = own;
                if !own_flags.is_empty() {
                    if !flags.is_empty() {
                        return fault(OPTIONS_BEFORE, "options set in both $regex and $options");
                    }
                    flags = own_flags;
                }
            }
            (b"$regex", _) => return fault(BAD_VALUE, "$regex has to be a string"),
            (b"$options", STRING) => {
                if !flags.is_empty() {
                    return fault(OPTIONS_AFTER, "options set in both $regex and $options");
                }
                flags = value.text().unwrap_or_default();
            }
            (b"$options", _) => return fault(BAD_VALUE, "$options has to be a string"),
            _ => {}
        }
    }
    values::build_regex(words, flags)
}
