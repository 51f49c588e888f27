//! The shape of a value, which is rendered as a schema. All readers of code build shapes. The
//! reader of JSON Schema writes documents directly, because JSON Schema has combinations that code
//! cannot declare.

use bson::{Bson, Document};

/// The restrictions on one value. A default shape allows any value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    /// The BSON types. An empty list allows any type.
    pub(crate) types: Vec<&'static str>,
    /// Whether null is also allowed. It is separate from the types because it also affects
    /// enumerations.
    pub(crate) null: bool,
    pub(crate) enumeration: Vec<Bson>,
    pub(crate) none_of: Vec<Bson>,
    pub(crate) minimum: Option<Limit>,
    pub(crate) maximum: Option<Limit>,
    pub(crate) multiple_of: Option<Bson>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    /// All of them have to match.
    pub(crate) patterns: Vec<String>,
    pub(crate) required: Vec<String>,
    /// The properties in order of declaration.
    pub(crate) properties: Vec<(String, Shape)>,
    pub(crate) rest: Rest,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) items: Items,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) unique_items: bool,
    /// At least one of them has to match.
    pub(crate) any_of: Vec<Shape>,
}

/// A bound. If it is exclusive, the bound itself is not allowed.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub(crate) value: Bson,
    pub(crate) exclusive: bool,
}

impl Limit {
    pub(crate) fn including(value: Bson) -> Option<Self> {
        Some(Self { value, exclusive: false })
    }

    pub(crate) fn excluding(value: Bson) -> Option<Self> {
        Some(Self { value, exclusive: true })
    }
}

/// The rule for fields that are not listed.
#[derive(Clone, Debug, Default)]
pub(crate) enum Rest {
    #[default]
    Open,
    Closed,
    Like(Box<Shape>),
}

/// The rule for the elements of an array.
#[derive(Clone, Debug, Default)]
pub(crate) enum Items {
    #[default]
    Open,
    Each(Box<Shape>),
    /// Exactly these elements, by position.
    Exactly(Vec<Shape>),
}

impl Shape {
    pub(crate) fn of(types: &[&'static str]) -> Self {
        Self { types: types.to_vec(), ..Self::default() }
    }

    pub(crate) fn object() -> Self {
        Self::of(&["object"])
    }

    pub(crate) fn array(each: Shape) -> Self {
        let items = if each.says_nothing() { Items::Open } else { Items::Each(Box::new(each)) };
        Self { items, ..Self::of(&["array"]) }
    }

    pub(crate) fn map(values: Shape) -> Self {
        let rest = if values.says_nothing() { Rest::Open } else { Rest::Like(Box::new(values)) };
        Self { rest, ..Self::object() }
    }

    pub(crate) fn one_of_values(values: Vec<Bson>) -> Self {
        let mut shape = Self::default();
        shape.set_enum(values);
        shape
    }

    /// Returns the shape of a reference as several libraries write it: the name of a collection and
    /// an `_id`.
    pub(crate) fn db_ref() -> Self {
        let mut shape = Self::object();
        shape.set_property("$ref", Self::of(&["string"]));
        shape.set_property("$id", Self::default());
        shape.require("$ref");
        shape.require("$id");
        shape
    }

    pub(crate) fn or_null(mut self) -> Self {
        self.null = true;
        self
    }

    /// Returns a shape that allows any of several shapes. Plain types are merged into one list,
    /// which is easier to read.
    pub(crate) fn either(shapes: Vec<Shape>) -> Self {
        let null = shapes.iter().any(|shape| shape.null || shape.types == ["null"]);
        let mut rest: Vec<Shape> =
            shapes.into_iter().filter(|shape| shape.types != ["null"]).collect();
        if rest.is_empty() {
            return if null { Self::of(&["null"]) } else { Self::default() };
        }
        if rest.iter().any(Shape::says_nothing) {
            return Self::default();
        }
        if rest.len() == 1 {
            let mut only = rest.remove(0);
            only.null |= null;
            return only;
        }
        if rest.iter().all(Shape::is_mere_type) {
            let mut types = Vec::new();
            for kind in rest.iter().flat_map(|shape| &shape.types) {
                if !types.contains(kind) {
                    types.push(*kind);
                }
            }
            return Self { types, null, ..Self::default() };
        }
        for shape in &mut rest {
            shape.null = false;
        }
        Self { any_of: rest, null, ..Self::default() }
    }

    pub(crate) fn is(&self, kind: &str) -> bool {
        self.types.contains(&kind)
    }

    pub(crate) fn is_numeric(&self) -> bool {
        ["int", "long", "double", "decimal", "number"].iter().any(|kind| self.is(kind))
    }

    pub(crate) fn says_nothing(&self) -> bool {
        let mut bare = self.clone();
        bare.null = false;
        bare.render().is_empty()
    }

    fn is_mere_type(&self) -> bool {
        !self.types.is_empty() && self.clone().render().len() == 1
    }

    /// Sets the allowed values, without duplicates. The server refuses an empty list and a list
    /// with duplicates.
    pub(crate) fn set_enum(&mut self, values: Vec<Bson>) {
        let mut kept: Vec<Bson> = Vec::new();
        for value in values {
            if !kept.iter().any(|before| same(before, &value)) {
                kept.push(value);
            }
        }
        self.enumeration = kept;
    }

    /// Sets the minimum of the length, the number of elements or the number of fields, depending on
    /// the type.
    pub(crate) fn set_min_size(&mut self, n: u64) {
        if self.is("array") {
            self.min_items = Some(n);
        } else if self.is("object") {
            self.min_properties = Some(n);
        } else {
            self.min_length = Some(self.min_length.map_or(n, |before| before.max(n)));
        }
    }

    /// Sets the maximum. See [`Self::set_min_size`].
    pub(crate) fn set_max_size(&mut self, n: u64) {
        if self.is("array") {
            self.max_items = Some(n);
        } else if self.is("object") {
            self.max_properties = Some(n);
        } else {
            self.max_length = Some(self.max_length.map_or(n, |before| before.min(n)));
        }
    }

    /// Adds a field, or replaces a field of the same name at its position.
    pub(crate) fn set_property(&mut self, name: &str, shape: Shape) {
        match self.properties.iter_mut().find(|(before, _)| before == name) {
            Some((_, before)) => *before = shape,
            None => self.properties.push((name.to_owned(), shape)),
        }
    }

    pub(crate) fn has_property(&self, name: &str) -> bool {
        self.properties.iter().any(|(before, _)| before == name)
    }

    /// Makes a field required. `_id` is never listed, because every document has one.
    pub(crate) fn require(&mut self, name: &str) {
        if name != "_id" && !self.required.iter().any(|before| before == name) {
            self.required.push(name.to_owned());
        }
    }

    /// Returns the schema, with its keys in a fixed order.
    pub(crate) fn render(self) -> Document {
        let mut out = Document::new();
        let Self { mut types, mut enumeration, mut any_of, .. } = self;
        if self.null {
            if !types.is_empty() && !types.contains(&"null") {
                types.push("null");
            }
            if !enumeration.is_empty() && !enumeration.contains(&Bson::Null) {
                enumeration.push(Bson::Null);
            }
            if !any_of.is_empty() {
                any_of.push(Self::of(&["null"]));
            }
        }
        put(&mut out, "title", self.title);
        put(&mut out, "description", self.description);
        match types.as_slice() {
            [] => {}
            [only] => put(&mut out, "bsonType", Some(*only)),
            several => {
                let several: Vec<Bson> = several.iter().map(|kind| Bson::from(*kind)).collect();
                put(&mut out, "bsonType", Some(several));
            }
        }
        let strings = |names: Vec<String>| names.into_iter().map(Bson::from).collect::<Vec<_>>();
        put(&mut out, "required", Some(strings(self.required)).filter(|names| !names.is_empty()));
        if !self.properties.is_empty() {
            let mut properties = Document::new();
            for (name, shape) in self.properties {
                properties.insert(name, shape.render());
            }
            put(&mut out, "properties", Some(properties));
        }
        match self.rest {
            Rest::Open => {}
            Rest::Closed => put(&mut out, "additionalProperties", Some(false)),
            Rest::Like(shape) => put(&mut out, "additionalProperties", Some(shape.render())),
        }
        put(&mut out, "minProperties", self.min_properties.map(count));
        put(&mut out, "maxProperties", self.max_properties.map(count));
        match self.items {
            Items::Open => {}
            Items::Each(shape) => put(&mut out, "items", Some(shape.render())),
            Items::Exactly(shapes) => {
                let shapes: Vec<Bson> = shapes.into_iter().map(|s| s.render().into()).collect();
                put(&mut out, "items", Some(shapes));
                put(&mut out, "additionalItems", Some(false));
            }
        }
        put(&mut out, "minItems", self.min_items.map(count));
        put(&mut out, "maxItems", self.max_items.map(count));
        put(&mut out, "uniqueItems", self.unique_items.then_some(true));
        put(&mut out, "enum", Some(enumeration).filter(|values| !values.is_empty()));
        bound(&mut out, "minimum", "exclusiveMinimum", self.minimum);
        bound(&mut out, "maximum", "exclusiveMaximum", self.maximum);
        put(&mut out, "multipleOf", self.multiple_of);
        put(&mut out, "minLength", self.min_length.map(count));
        put(&mut out, "maxLength", self.max_length.map(count));
        let mut patterns = self.patterns.into_iter();
        put(&mut out, "pattern", patterns.next());
        let more: Vec<Bson> =
            patterns.map(|pattern| bson::doc! { "pattern": pattern }.into()).collect();
        put(&mut out, "allOf", Some(more).filter(|more| !more.is_empty()));
        let any_of: Vec<Bson> = any_of.into_iter().map(|shape| shape.render().into()).collect();
        put(&mut out, "anyOf", Some(any_of).filter(|any_of| !any_of.is_empty()));
        if !self.none_of.is_empty() {
            put(&mut out, "not", Some(bson::doc! { "enum": self.none_of }));
        }
        out
    }
}

fn put(out: &mut Document, key: &str, value: Option<impl Into<Bson>>) {
    if let Some(value) = value {
        out.insert(key, value);
    }
}

fn bound(out: &mut Document, key: &str, exclusive: &str, limit: Option<Limit>) {
    if let Some(limit) = limit {
        out.insert(key, limit.value);
        if limit.exclusive {
            out.insert(exclusive, true);
        }
    }
}

/// Returns a number of characters, elements or fields.
pub(crate) fn count(n: u64) -> Bson {
    whole(i64::try_from(n).unwrap_or(i64::MAX))
}

/// Returns an integer in the narrowest type that holds it.
pub(crate) fn whole(n: i64) -> Bson {
    i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32)
}

/// Parses a number in source code. Returns an integer if possible.
pub(crate) fn number(text: &str) -> Option<Bson> {
    let plain = text.trim().replace('_', "");
    let (negative, digits) = match plain.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let lower = digits.to_ascii_lowercase();
    let radix = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(prefix, radix)| lower.strip_prefix(prefix).map(|rest| (rest, radix)));
    if let Some((rest, radix)) = radix {
        let n = i64::from_str_radix(rest, radix).ok()?;
        return Some(whole(if negative { -n } else { n }));
    }
    if !lower.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let sign = if negative { "-" } else { "" };
    if let Ok(n) = format!("{sign}{lower}").parse::<i64>() {
        return Some(whole(n));
    }
    let n = format!("{sign}{lower}").parse::<f64>().ok().filter(|n| n.is_finite())?;
    Some(Bson::Double(n))
}

/// Whether the server treats two values as equal. It compares numbers across types.
fn same(a: &Bson, b: &Bson) -> bool {
    let float = |value: &Bson| match value {
        Bson::Int32(n) => Some(f64::from(*n)),
        Bson::Int64(n) => Some(*n as f64),
        Bson::Double(n) => Some(*n),
        _ => None,
    };
    match (a, b) {
        (Bson::Int64(a), Bson::Int64(b)) => a == b,
        _ => match (float(a), float(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
    }
}
