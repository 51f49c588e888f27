//! Reads a schema. Keywords are examined in the server's order, whatever the order they are written
//! in, so that of several mistakes the same one is reported.

mod integer;
mod rules;
mod validator;
mod values;

use docward_bson::walk::{Element, Elements, count_elements};

pub(crate) use rules::schema as schema_rules;
pub(crate) use validator::validator;

use crate::{
    SchemaFault,
    number::Number,
    pattern::Pattern,
    schema::{Array, Dependency, Items, Node, Object, Rest, Scalar, Types, is_path},
    value::{ARRAY, BOOL, Literal, OBJECT, Raw, STRING, repeated},
};

pub(crate) const BAD_VALUE: i32 = 2;
pub(crate) const FAILED_TO_PARSE: i32 = 9;
pub(crate) const TYPE_MISMATCH: i32 = 14;
/// Deeper than any nesting that the server stores.
pub(crate) const MAX_NESTING: u32 = 100;

/// Keywords in the order of examination.
const KEYWORDS: [&str; 31] = [
    "description",
    "title",
    "type",
    "bsonType",
    "pattern",
    "maxLength",
    "minLength",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "minItems",
    "maxItems",
    "uniqueItems",
    "items",
    "additionalItems",
    "encrypt",
    "encryptMetadata",
    "required",
    "properties",
    "patternProperties",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "dependencies",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "enum",
];

/// Keywords of draft 4 that the server does not support.
const UNSUPPORTED: [&str; 6] = ["$ref", "$schema", "default", "definitions", "format", "id"];

pub(crate) type Result<T> = std::result::Result<T, SchemaFault>;

pub(crate) fn fault<T>(code: i32, message: impl Into<String>) -> Result<T> {
    Err(SchemaFault { code, message: message.into() })
}

fn mismatch<T>(keyword: &str, wanted: &str) -> Result<T> {
    fault(TYPE_MISMATCH, format!("$jsonSchema keyword '{keyword}' must be {wanted}"))
}

/// Refuses input that is damaged, or nested deeper than the server stores, before it is read.
pub(crate) fn sound(bytes: &[u8]) -> Result<()> {
    match count_elements(bytes) {
        Ok(_) => Ok(()),
        Err(damage) => fault(FAILED_TO_PARSE, format!("the schema is damaged: {}", damage.kind)),
    }
}

/// A schema that was read, and its first keyword about ciphertext.
pub(crate) struct Read {
    pub(crate) root: Node,
    pub(crate) encrypted: Option<&'static str>,
}

/// Reads a whole schema for documents.
pub(crate) fn schema(bytes: &[u8]) -> Result<Read> {
    let mut reader = Reader { depth: 0, encrypted: None };
    let root = reader.node(Raw { tag: OBJECT, bytes }, Place::Document)?;
    Ok(Read { root, encrypted: reader.encrypted })
}

/// The target of a schema. A document is never a number or a text, so the server ignores keywords
/// about those.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Document,
    Value,
}

/// The keywords of one schema.
pub(crate) struct Keywords<'s> {
    found: Vec<(&'static str, Raw<'s>)>,
}

impl<'s> Keywords<'s> {
    pub(crate) fn read(schema: Raw<'s>) -> Result<Self> {
        let mut found: Vec<(&'static str, Raw<'s>)> = Vec::new();
        for element in elements(schema)? {
            let name = String::from_utf8_lossy(element.key);
            let known = KEYWORDS.iter().find(|keyword| **keyword == name);
            let Some(keyword) = known else {
                return if UNSUPPORTED.contains(&&*name) {
                    let message =
                        format!("$jsonSchema keyword '{name}' is not currently supported");
                    fault(FAILED_TO_PARSE, message)
                } else {
                    fault(FAILED_TO_PARSE, format!("Unknown $jsonSchema keyword: {name}"))
                };
            };
            if found.iter().any(|(before, _)| before == keyword) {
                return fault(FAILED_TO_PARSE, format!("Duplicate $jsonSchema keyword: {name}"));
            }
            found.push((keyword, Raw::from(element)));
        }
        Ok(Self { found })
    }

    pub(crate) fn get(&self, keyword: &str) -> Option<Raw<'s>> {
        self.found.iter().find(|(name, _)| *name == keyword).map(|(_, value)| *value)
    }
}

/// The elements of an object or array value; damage is reported as a mistake.
pub(crate) fn elements(value: Raw<'_>) -> Result<Vec<Element<'_>>> {
    let read = Elements::new(value.bytes).and_then(Iterator::collect);
    read.map_err(|damage| SchemaFault {
        code: FAILED_TO_PARSE,
        message: format!("the schema is damaged: {}", damage.kind),
    })
}

struct Reader {
    depth: u32,
    encrypted: Option<&'static str>,
}

impl Reader {
    fn node(&mut self, schema: Raw<'_>, place: Place) -> Result<Node> {
        if self.depth > MAX_NESTING {
            return fault(FAILED_TO_PARSE, "the schema is nested too deeply");
        }
        self.depth += 1;
        let node = self.read(schema, place);
        self.depth -= 1;
        node
    }

    fn read(&mut self, schema: Raw<'_>, place: Place) -> Result<Node> {
        let keywords = Keywords::read(schema)?;
        for keyword in ["description", "title"] {
            if keywords.get(keyword).is_some_and(|value| value.tag != STRING) {
                return mismatch(keyword, "of type string");
            }
        }
        let types = types(&keywords)?;
        let scalar = scalar(&keywords, place)?;
        let array = self.array(&keywords)?;
        self.encryption(&keywords)?;
        let object = self.object(&keywords, place)?;
        Ok(Node {
            types,
            scalar,
            array,
            object,
            all_of: self.several(&keywords, "allOf", place)?,
            any_of: self.several(&keywords, "anyOf", place)?,
            one_of: self.several(&keywords, "oneOf", place)?,
            not: self.not(&keywords, place)?,
            enumeration: enumeration(&keywords)?,
        })
    }

    fn array(&mut self, keywords: &Keywords<'_>) -> Result<Array> {
        let min_items = count(keywords, "minItems")?;
        let max_items = count(keywords, "maxItems")?;
        let unique = flag(keywords, "uniqueItems")?;
        let mut by_position = None;
        let mut items = Items::Anything;
        if let Some(value) = keywords.get("items") {
            match value.tag {
                OBJECT => items = Items::Each(Box::new(self.node(value, Place::Value)?)),
                ARRAY => {
                    let mut nodes = Vec::new();
                    for element in elements(value)? {
                        let inner = Raw::from(element);
                        if inner.tag != OBJECT {
                            let message = format!(
                                "$jsonSchema keyword 'items' requires that each element of the array is an object, but found a {}",
                                inner.type_name()
                            );
                            return fault(TYPE_MISMATCH, message);
                        }
                        nodes.push(self.node(inner, Place::Value)?);
                    }
                    by_position = Some(nodes);
                }
                _ => {
                    let message = format!(
                        "$jsonSchema keyword 'items' must be an array or an object, not {}",
                        value.type_name()
                    );
                    return fault(TYPE_MISMATCH, message);
                }
            }
        }
        let rest = match keywords.get("additionalItems") {
            None => Rest::Allowed,
            Some(value) => match self.rest(value)? {
                Some(rest) => rest,
                None => {
                    let got = value.type_name();
                    let wanted = format!("either an object or a boolean, but got a {got}");
                    return mismatch("additionalItems", &wanted);
                }
            },
        };
        if let Some(nodes) = by_position {
            items = Items::ByPosition(nodes, rest);
        }
        Ok(Array { min_items, max_items, unique, items })
    }

    fn rest(&mut self, value: Raw<'_>) -> Result<Option<Rest>> {
        Ok(match value.tag {
            BOOL if value.bytes.first() == Some(&1) => Some(Rest::Allowed),
            BOOL => Some(Rest::Forbidden),
            OBJECT => Some(Rest::Like(Box::new(self.node(value, Place::Value)?))),
            _ => None,
        })
    }

    /// These keywords concern clients with encryption keys.
    fn encryption(&mut self, keywords: &Keywords<'_>) -> Result<()> {
        for keyword in ["encrypt", "encryptMetadata"] {
            let Some(value) = keywords.get(keyword) else { continue };
            if value.tag != OBJECT {
                return mismatch(keyword, "an object ");
            }
            self.encrypted.get_or_insert(keyword);
        }
        Ok(())
    }

    fn object(&mut self, keywords: &Keywords<'_>, place: Place) -> Result<Object> {
        let required = required(keywords)?;
        let mut object = Object::default();
        if let Some(value) = keywords.get("properties") {
            if value.tag != OBJECT {
                return mismatch("properties", "an object");
            }
            for element in elements(value)? {
                let inner = Raw::from(element);
                if inner.tag != OBJECT {
                    let name = String::from_utf8_lossy(element.key);
                    let message = format!(
                        "Nested schema for $jsonSchema property '{name}' must be an object"
                    );
                    return fault(TYPE_MISMATCH, message);
                }
                // An empty name leads nowhere, so its schema is evaluated on the object itself.
                let place = if element.key.is_empty() { Place::Document } else { Place::Value };
                let node = self.node(inner, place)?;
                if is_path(element.key) {
                    object.paths.push(rules::optional(element)?);
                }
                match &mut object.names.entry(element.key).property {
                    // If a name is written twice, both schemas apply.
                    Some(at) => object.properties[*at].all_of.push(node),
                    property => {
                        *property = Some(object.properties.len());
                        object.properties.push(node);
                    }
                }
            }
        }
        object.required = required.len();
        for name in required {
            object.names.entry(&name).required = true;
            if is_path(&name) {
                object.required_paths.push(name);
            }
        }
        if let Some(value) = keywords.get("patternProperties") {
            if value.tag != OBJECT {
                return mismatch("patternProperties", "an object");
            }
            for element in elements(value)? {
                let name = String::from_utf8_lossy(element.key);
                let inner = Raw::from(element);
                if inner.tag != OBJECT {
                    let message = format!(
                        "$jsonSchema keyword 'patternProperties' has property '{name}' which is not an object"
                    );
                    return fault(TYPE_MISMATCH, message);
                }
                let node = self.node(inner, Place::Value)?;
                let pattern = Pattern::of_names(&name).map_err(|fault| SchemaFault {
                    code: BAD_VALUE,
                    message: fault
                        .message
                        .replace("Regular expression is invalid", "Invalid regular expression"),
                })?;
                object.patterns.push((pattern, node));
            }
        }
        if let Some(value) = keywords.get("additionalProperties") {
            object.rest = match self.rest(value)? {
                Some(rest) => rest,
                None => return mismatch("additionalProperties", "an object or a boolean"),
            };
        }
        object.min_properties = count(keywords, "minProperties")?;
        object.max_properties = count(keywords, "maxProperties")?;
        object.dependencies = self.dependencies(keywords, place)?;
        Ok(object)
    }

    fn dependencies(
        &mut self,
        keywords: &Keywords<'_>,
        place: Place,
    ) -> Result<Vec<(Box<[u8]>, Dependency)>> {
        let Some(value) = keywords.get("dependencies") else { return Ok(Vec::new()) };
        if value.tag != OBJECT {
            return mismatch("dependencies", "an object");
        }
        let mut out = Vec::new();
        for element in elements(value)? {
            let name = String::from_utf8_lossy(element.key);
            let inner = Raw::from(element);
            let dependency = match inner.tag {
                OBJECT => Dependency::Schema(Box::new(self.node(inner, place)?)),
                ARRAY => Dependency::Names(dependent_names(&name, inner)?),
                // A dependency on a property of that name is never a string, so this is plain text.
                STRING if matches!(&*name, "title" | "description") => continue,
                _ => {
                    let message = format!(
                        "property '{name}' in $jsonSchema keyword 'dependencies' must be either an object or an array"
                    );
                    return fault(TYPE_MISMATCH, message);
                }
            };
            out.push((element.key.into(), dependency));
        }
        Ok(out)
    }

    fn several(
        &mut self,
        keywords: &Keywords<'_>,
        keyword: &str,
        place: Place,
    ) -> Result<Vec<Node>> {
        let Some(value) = keywords.get(keyword) else { return Ok(Vec::new()) };
        if value.tag != ARRAY {
            return mismatch(keyword, "an array");
        }
        let parts = elements(value)?;
        if parts.is_empty() {
            let message = format!("$jsonSchema keyword '{keyword}' must be a non-empty array");
            return fault(BAD_VALUE, message);
        }
        let mut nodes = Vec::new();
        for element in parts {
            let inner = Raw::from(element);
            if inner.tag != OBJECT {
                let found = inner.type_name();
                let wanted = format!("an array of objects, but found an element of type {found}");
                return mismatch(keyword, &wanted);
            }
            nodes.push(self.node(inner, place)?);
        }
        Ok(nodes)
    }

    fn not(&mut self, keywords: &Keywords<'_>, place: Place) -> Result<Option<Box<Node>>> {
        let Some(value) = keywords.get("not") else { return Ok(None) };
        if value.tag != OBJECT {
            let found = value.type_name();
            return mismatch("not", &format!("an object, but found an element of type {found}"));
        }
        Ok(Some(Box::new(self.node(value, place)?)))
    }
}

/// `type` or `bsonType`.
pub(crate) fn types(keywords: &Keywords<'_>) -> Result<Option<Types>> {
    let (keyword, value) = match (keywords.get("type"), keywords.get("bsonType")) {
        (Some(_), Some(_)) => {
            let message = "Cannot specify both $jsonSchema keywords 'type' and 'bsonType'";
            return fault(FAILED_TO_PARSE, message);
        }
        (Some(value), None) => ("type", value),
        (None, Some(value)) => ("bsonType", value),
        (None, None) => return Ok(None),
    };
    if keywords.get("encrypt").is_some() {
        let message = format!(
            "$jsonSchema keyword 'encrypt' cannot be used in conjunction with '{keyword}', 'encrypt' implies type 'bsonType::BinData'"
        );
        return fault(FAILED_TO_PARSE, message);
    }
    let mut types = Types::default();
    match value.tag {
        STRING => types = alias(types, keyword, value)?,
        ARRAY => {
            let parts = elements(value)?;
            let mut names: Vec<&[u8]> = Vec::new();
            for element in &parts {
                let Some(name) = Raw::from(*element).text() else {
                    let message =
                        format!("$jsonSchema keyword '{keyword}' array elements must be strings");
                    return fault(TYPE_MISMATCH, message);
                };
                if names.contains(&name) {
                    let name = String::from_utf8_lossy(name);
                    let message =
                        format!("$jsonSchema keyword '{keyword}' has duplicate value: {name}");
                    return fault(FAILED_TO_PARSE, message);
                }
                names.push(name);
            }
            if names.is_empty() {
                return fault(
                    FAILED_TO_PARSE,
                    format!("$jsonSchema keyword '{keyword}' must name at least one type"),
                );
            }
            // The server stores them in a sorted set.
            let mut words: Vec<Raw<'_>> = parts.into_iter().map(Raw::from).collect();
            words.sort_by_key(|word| word.text());
            for word in words {
                types = alias(types, keyword, word)?;
            }
        }
        _ => return mismatch(keyword, "either a string or an array of strings"),
    }
    Ok(Some(types))
}

/// Adds the types with this name.
fn alias(types: Types, keyword: &str, word: Raw<'_>) -> Result<Types> {
    const NUMBERS: [u8; 4] = [0x01, 0x10, 0x12, 0x13];
    let name = String::from_utf8_lossy(word.text().unwrap_or_default());
    let tags: &[u8] = match (keyword, &*name) {
        (_, "integer") => {
            let message = "$jsonSchema type 'integer' is not currently supported.";
            return fault(FAILED_TO_PARSE, message);
        }
        (_, "number") => &NUMBERS,
        ("type", "array") | ("bsonType", "array") => &[ARRAY],
        ("type", "boolean") | ("bsonType", "bool") => &[BOOL],
        (_, "null") => &[0x0a],
        (_, "object") => &[OBJECT],
        (_, "string") => &[STRING],
        (_, "missing") => {
            let message = "'missing' is not a legal type name. To query for non-existence of a field, use {$exists:false}.";
            return fault(BAD_VALUE, message);
        }
        ("bsonType", name) => match tag(name) {
            Some(tag) => return Ok(types.with(tag)),
            None => return fault(BAD_VALUE, format!("Unknown type name alias: {name}")),
        },
        (_, name) => return fault(BAD_VALUE, format!("Unknown type name alias: {name}")),
    };
    Ok(tags.iter().fold(types, |types, tag| types.with(*tag)))
}

pub(crate) fn tag(name: &str) -> Option<u8> {
    (0..=u8::MAX)
        .find(|tag| docward_model::BsonType::from_tag(*tag).is_some_and(|kind| kind.name() == name))
}

fn scalar(keywords: &Keywords<'_>, place: Place) -> Result<Scalar> {
    let mut scalar = Scalar::default();
    if let Some(value) = keywords.get("pattern") {
        let Some(text) = value.text() else { return mismatch("pattern", "a string") };
        if place == Place::Value {
            scalar.pattern = Some(Pattern::new(&String::from_utf8_lossy(text))?);
        }
    }
    scalar.max_length = count(keywords, "maxLength")?;
    scalar.min_length = count(keywords, "minLength")?;
    if let Some(value) = keywords.get("multipleOf") {
        let Some(number) = value.number() else { return mismatch("multipleOf", "a number") };
        if !number.is_positive() {
            let message = "$jsonSchema keyword 'multipleOf' must have a positive value";
            return fault(FAILED_TO_PARSE, message);
        }
        if place == Place::Value
            && let Some(what) = number.is_no_divisor()
        {
            return fault(BAD_VALUE, format!("divisor cannot be {what}"));
        }
        scalar.multiple_of = Some(number);
    }
    scalar.maximum = limit(keywords, "maximum", "exclusiveMaximum")?;
    scalar.minimum = limit(keywords, "minimum", "exclusiveMinimum")?;
    Ok(scalar)
}

fn limit(
    keywords: &Keywords<'_>,
    keyword: &str,
    exclusive: &str,
) -> Result<Option<(Number, bool)>> {
    let Some(value) = keywords.get(keyword) else {
        if keywords.get(exclusive).is_some() {
            let message = format!(
                "$jsonSchema keyword '{keyword}' must be a present if {exclusive} is present"
            );
            return fault(FAILED_TO_PARSE, message);
        }
        return Ok(None);
    };
    let Some(number) = value.number() else { return mismatch(keyword, "a number") };
    Ok(Some((number, flag(keywords, exclusive)?)))
}

pub(crate) fn flag(keywords: &Keywords<'_>, keyword: &str) -> Result<bool> {
    match keywords.get(keyword) {
        None => Ok(false),
        Some(value) if value.tag == BOOL => Ok(value.bytes.first() == Some(&1)),
        Some(_) => mismatch(keyword, "a boolean"),
    }
}

/// A number of characters, elements or fields.
pub(crate) fn count(keywords: &Keywords<'_>, keyword: &str) -> Result<Option<u64>> {
    let Some(value) = keywords.get(keyword) else { return Ok(None) };
    match integer::positive(keyword.as_bytes(), value) {
        Ok(count) => Ok(Some(count)),
        Err(message) => fault(FAILED_TO_PARSE, message),
    }
}

fn required(keywords: &Keywords<'_>) -> Result<Vec<Box<[u8]>>> {
    let Some(value) = keywords.get("required") else { return Ok(Vec::new()) };
    if value.tag != ARRAY {
        let found = value.type_name();
        return mismatch("required", &format!("an array, but found an element of type {found}"));
    }
    let mut names: Vec<Box<[u8]>> = Vec::new();
    for element in elements(value)? {
        let inner = Raw::from(element);
        let Some(name) = inner.text() else {
            let found = inner.type_name();
            let wanted = format!("an array of strings, but found an element of type: {found}");
            return mismatch("required", &wanted);
        };
        if names.iter().any(|before| **before == *name) {
            let message = "$jsonSchema keyword 'required' array cannot contain duplicate values";
            return fault(FAILED_TO_PARSE, message);
        }
        names.push(name.into());
    }
    if names.is_empty() {
        return fault(FAILED_TO_PARSE, "$jsonSchema keyword 'required' cannot be an empty array");
    }
    Ok(names)
}

fn dependent_names(property: &str, value: Raw<'_>) -> Result<Vec<Box<[u8]>>> {
    let mut names: Vec<Box<[u8]>> = Vec::new();
    for element in elements(value)? {
        let inner = Raw::from(element);
        let Some(name) = inner.text() else {
            let message = format!(
                "array '{property}' in $jsonSchema keyword 'dependencies' can only contain strings, but found element of type: {}",
                inner.type_name()
            );
            return fault(TYPE_MISMATCH, message);
        };
        if names.iter().any(|before| **before == *name) {
            let message = format!(
                "array '{property}' in $jsonSchema keyword 'dependencies' contains duplicate element: {}",
                String::from_utf8_lossy(name)
            );
            return fault(FAILED_TO_PARSE, message);
        }
        names.push(name.into());
    }
    if names.is_empty() {
        let message = format!(
            "property '{property}' in $jsonSchema keyword 'dependencies' cannot be an empty array"
        );
        return fault(FAILED_TO_PARSE, message);
    }
    Ok(names)
}

fn enumeration(keywords: &Keywords<'_>) -> Result<Option<Vec<Literal>>> {
    let Some(value) = keywords.get("enum") else { return Ok(None) };
    if value.tag != ARRAY {
        let found = value.type_name();
        return mismatch("enum", &format!("an array, but found an element of type {found}"));
    }
    let mut literals: Vec<Literal> = Vec::new();
    for element in elements(value)? {
        literals.push(Literal::of(Raw::from(element)));
    }
    let values: Vec<Raw<'_>> = literals.iter().map(Literal::raw).collect();
    if repeated(&values).ok().flatten().is_some() {
        let message = "$jsonSchema keyword 'enum' array cannot contain duplicate values.";
        return fault(FAILED_TO_PARSE, message);
    }
    if literals.is_empty() {
        return fault(FAILED_TO_PARSE, "$jsonSchema keyword 'enum' cannot be an empty array");
    }
    Ok(Some(literals))
}
