//! Reads Mongoose schemas in JavaScript and TypeScript: `new Schema({ … })` and the models that use
//! them. Decorated NestJS classes become the same schemas.
//!
//! A schema is closed only with `strict: 'throw'`. Otherwise Mongoose silently drops unknown
//! fields, and plugins and discriminators add their own.

mod fields;
mod kinds;
mod nest;
mod plural;
mod script;

pub(crate) use plural::collection as plural_name;

use bson::Bson;
use tree_sitter::Node;

use crate::{
    Imported, Model, Place,
    draft::{Draft, join},
    shape::{Rest, Shape},
};
use docward_source::{
    Language,
    syntax::{Source, Walk, parts, quoted},
};
use script::Script;

/// Calls on a schema that change its fields or its validation.
const CALLS: [&str; 7] = ["virtual", "plugin", "pre", "loadClass", "path", "alias", "remove"];

pub(crate) fn read(text: &str) -> Imported {
    let mut imported = Imported::default();
    // Use the grammar with the fewest errors. TypeScript is tried first, because `model<User>(…)`
    // is a valid comparison in JavaScript.
    let languages =
        [Language::TypeScript.grammar(), Language::Tsx.grammar(), Language::JavaScript.grammar()];
    let mut best: Option<(usize, Source<'_>)> = None;
    for language in &languages {
        let source = match Source::parse(language, text) {
            Ok(source) => source,
            Err(problem) => {
                imported.problems = vec![problem];
                continue;
            }
        };
        let errors = source.errors();
        if best.as_ref().is_none_or(|(fewest, _)| errors < *fewest) {
            best = Some((errors, source));
        }
        if errors == 0 {
            break;
        }
    }
    let Some((_, source)) = best else { return imported };
    imported.problems = source.problems();
    let reader = Reader { script: Script::new(&source) };
    imported.models = reader.models();
    imported
}

struct Reader<'t> {
    script: Script<'t>,
}

/// A schema in the source text.
struct Schema<'t> {
    /// Distinguishes it from other schemas.
    id: usize,
    /// The variable that holds it.
    variable: Option<&'t str>,
    place: Place,
    definition: Option<Node<'t>>,
    options: Option<Node<'t>>,
    /// With NestJS, the class that declares it.
    class: Option<Node<'t>>,
    /// The name of its model, and the variable that holds the model. Usually these are the same.
    model: Option<String>,
    model_variable: Option<&'t str>,
    /// Method calls that are chained to its constructor.
    chained: Vec<(&'t str, Node<'t>)>,
    /// The schema that it was copied from, and the position of the copy. Later calls on that schema
    /// do not affect the copy.
    copied: Option<(Box<Schema<'t>>, usize)>,
}

impl<'t> Schema<'t> {
    fn new(node: Node<'t>, variable: Option<&'t str>, place: Place) -> Self {
        Self {
            id: node.id(),
            variable,
            place,
            definition: None,
            options: None,
            class: None,
            model: None,
            model_variable: None,
            chained: Vec::new(),
            copied: None,
        }
    }

    /// Whether this file declares its fields.
    fn is_written_out(&self) -> bool {
        self.definition.is_some() || self.class.is_some()
    }
}

impl<'t> Reader<'t> {
    fn place(&self, node: Node<'_>) -> Place {
        self.script.source.place(node)
    }

    /// Returns the schema that an expression evaluates to.
    fn schema(&self, value: Node<'t>) -> Option<Schema<'t>> {
        self.schema_within(value, 0)
    }

    fn schema_within(&self, value: Node<'t>, hops: usize) -> Option<Schema<'t>> {
        if hops > script::MAX_HOPS {
            return None;
        }
        let wrapped = script::bare(value);
        let variable = (wrapped.kind() == "identifier").then(|| self.script.text(wrapped));
        let node = self.script.resolve(wrapped);
        let function = match node.kind() {
            "new_expression" => node.child_by_field_name("constructor")?,
            "call_expression" => node.child_by_field_name("function")?,
            _ => return None,
        };
        let arguments = node.child_by_field_name("arguments").map(parts).unwrap_or_default();
        let place = self.place(node);
        if self.script.text(function).ends_with("SchemaFactory.createForClass") {
            let class = self.script.classes.get(self.script.text(*arguments.first()?)).copied();
            return Some(Schema { class, ..Schema::new(node, variable, place) });
        }
        if let Some((original, "clone")) = script::method(self.script.source, node)
            && arguments.is_empty()
        {
            let copied = self.schema_within(original, hops + 1)?;
            return Some(Schema {
                definition: copied.definition,
                options: copied.options,
                class: copied.class,
                copied: Some((Box::new(copied), node.start_byte())),
                ..Schema::new(node, variable, place)
            });
        }
        // Most methods of a schema return the schema: `new Schema({ … }).plugin(p)`.
        if let Some((original, method)) = script::method(self.script.source, node)
            && node.kind() == "call_expression"
            && matches!(bare_kind(original), "new_expression" | "call_expression" | "identifier")
            && let Some(mut schema) = self.schema_within(original, hops + 1)
        {
            match method {
                // The result has an unknown subset of the fields.
                "pick" | "omit" => {
                    let options = schema.options;
                    return Some(Schema { options, ..Schema::new(node, variable, place) });
                }
                "plugin" | "index" | "add" | "set" | "pre" | "post" | "method" | "static"
                | "remove" | "loadClass" | "alias" => {
                    schema.chained.push((method, node));
                    return Some(Schema { variable: variable.or(schema.variable), ..schema });
                }
                _ => return None,
            }
        }
        if self.script.last_name(script::bare(function)) != Some("Schema") {
            return None;
        }
        let object = |at: usize| {
            arguments
                .get(at)
                .map(|node| self.script.resolve(*node))
                .filter(|n| n.kind() == "object")
        };
        Some(Schema {
            definition: object(0),
            options: object(1),
            ..Schema::new(node, variable, place)
        })
    }

    fn models(&self) -> Vec<Model> {
        let source = self.script.source;
        let mut models = Vec::new();
        let mut used: Vec<usize> = Vec::new();
        let mut loose: Vec<Schema<'t>> = Vec::new();
        source.walk(source.root(), |node| {
            match node.kind() {
                "call_expression" => {
                    if let Some((model, id)) = self.model(node) {
                        used.push(id);
                        models.push(model);
                    }
                    used.extend(self.kind_of(node));
                }
                "variable_declarator" => {
                    if let Some(name) = node.child_by_field_name("name")
                        && let Some(value) = node.child_by_field_name("value")
                        && let Some(mut schema) = self.schema(value)
                        && script::bare(value).kind() != "identifier"
                    {
                        schema.variable = Some(self.script.text(name));
                        loose.push(schema);
                    }
                }
                "assignment_expression" => {
                    if let Some(value) = node.child_by_field_name("right")
                        && script::bare(value).kind() == "new_expression"
                        && let Some(schema) = self.schema(value)
                    {
                        loose.push(schema);
                    }
                }
                _ => {}
            }
            Walk::Into
        });
        models.extend(self.decorated_classes());
        // Exported schemas without a model: other files create models from them.
        for schema in loose {
            if used.contains(&schema.id) || schema.class.is_some() || self.is_part(&schema) {
                continue;
            }
            let variable = schema.variable.unwrap_or("Schema");
            let name = variable.strip_suffix("Schema").filter(|name| !name.is_empty());
            let collection = self.collection_option(&schema);
            models.push(self.build(name.unwrap_or(variable), collection, &schema));
        }
        models.sort_by_key(|model| model.declared_at);
        models
    }

    /// Whether another declaration contains the variable of a schema.
    fn is_part(&self, schema: &Schema<'t>) -> bool {
        schema.variable.is_some_and(|variable| self.script.mentioned.contains(variable))
    }

    /// Reads the model in `model('Name', schema, 'collection')`.
    fn model(&self, call: Node<'t>) -> Option<(Model, usize)> {
        let function = script::bare(call.child_by_field_name("function")?);
        if self.script.last_name(function) != Some("model") {
            return None;
        }
        let arguments = parts(call.child_by_field_name("arguments")?);
        let name = self.script.literal(*arguments.first()?)?;
        let name = name.as_str()?;
        let mut schema = self.schema(*arguments.get(1)?)?;
        schema.model = Some(name.to_owned());
        schema.model_variable = self.script.bound_to(call);
        schema.chained.extend(self.kind_beside(call));
        let given = arguments.get(2).and_then(|node| self.script.literal(*node));
        let collection = given
            .and_then(|given| given.as_str().map(str::to_owned))
            .or_else(|| self.collection_option(&schema))
            .unwrap_or_else(|| plural::collection(name));
        Some((self.build(name, Some(collection), &schema), schema.id))
    }

    fn collection_option(&self, schema: &Schema<'t>) -> Option<String> {
        let from = schema.options.and_then(|options| self.script.option(options, "collection"));
        let set = self.settings(schema).into_iter().rfind(|(name, _)| name == "collection");
        let literal = set.map(|(_, value)| value).or(from).and_then(|v| self.script.literal(v))?;
        literal.as_str().map(str::to_owned)
    }

    /// Returns the options in `schema.set('option', value)`.
    fn settings(&self, schema: &Schema<'t>) -> Vec<(String, Node<'t>)> {
        let calls = self.calls(schema, &["set"]);
        let set = calls.into_iter().filter_map(|(_, arguments, _)| {
            let name = self.script.literal(*arguments.first()?)?;
            Some((name.as_str()?.to_owned(), *arguments.get(1)?))
        });
        set.collect()
    }

    /// Returns the method calls on the variable of a schema.
    fn calls(
        &self,
        schema: &Schema<'t>,
        names: &[&str],
    ) -> Vec<(&'t str, Vec<Node<'t>>, Node<'t>)> {
        let called = [schema.variable, schema.model.as_deref(), schema.model_variable];
        let of_this =
            self.script.calls.iter().filter(|(object, method, _)| {
                names.contains(method) && called.contains(&Some(object))
            });
        let of_this = of_this.map(|(_, method, call)| {
            let arguments = call.child_by_field_name("arguments").map(parts).unwrap_or_default();
            (*method, arguments, *call)
        });
        let mut calls = Vec::new();
        if let Some((original, until)) = &schema.copied {
            let before = self.calls(original, names).into_iter();
            calls.extend(before.filter(|(_, _, call)| call.start_byte() < *until));
        }
        for (method, call) in schema.chained.iter().filter(|(method, _)| names.contains(method)) {
            let arguments = call.child_by_field_name("arguments").map(parts).unwrap_or_default();
            calls.push((*method, arguments, *call));
        }
        calls.extend(of_this);
        calls
    }

    fn build(&self, name: &str, collection: Option<String>, schema: &Schema<'t>) -> Model {
        let mut draft = Draft::default();
        let mut shape = match schema.class {
            Some(class) => self.class(&mut draft, class, "", schema.place, true),
            None => self.body(&mut draft, schema, "", true),
        };
        shape.title = Some(name.to_owned());
        draft.finish(name, collection, schema.place, shape)
    }

    /// Reads a schema that is used at `place` inside another schema.
    fn sub_schema(
        &self,
        draft: &mut Draft,
        schema: &Schema<'t>,
        path: &str,
        place: Place,
    ) -> Shape {
        if let Some(class) = schema.class {
            return self.class(draft, class, path, place, false);
        }
        let name = schema.variable.map_or_else(|| format!("schema {}", schema.id), str::to_owned);
        draft.named(&name, path, place, |draft| self.body(draft, schema, path, false))
    }

    /// Returns the shape of a schema's documents: declared fields, and fields that Mongoose adds.
    fn body(&self, draft: &mut Draft, schema: &Schema<'t>, path: &str, top: bool) -> Shape {
        let mut shape = Shape::object();
        if schema.definition.is_none() {
            draft.loosened(path, "the fields", "not declared in this file", schema.place);
        }
        let mut options: Vec<(String, Node<'t>)> = schema
            .options
            .map(|options| self.script.entries(options))
            .unwrap_or_default()
            .into_iter()
            .map(|entry| (entry.name, entry.value))
            .collect();
        options.extend(self.settings(schema));
        self.with_id(&mut shape, &options, top);
        if let Some(definition) = schema.definition {
            self.definition(draft, definition, path, &mut shape);
        }
        for (name, arguments, call) in self.calls(schema, &["add"]) {
            let Some(added) = arguments.first().map(|node| self.script.resolve(*node)) else {
                continue;
            };
            let object = match self.schema(added) {
                Some(other) => other.definition,
                None => Some(added).filter(|node| node.kind() == "object"),
            };
            match object {
                Some(object) => self.definition(draft, object, path, &mut shape),
                None => {
                    let what = quoted(&format!("{name}({})", self.script.text(added)));
                    draft.loosened(path, what, "declared in another file", self.place(call));
                }
            }
        }
        self.with_options_of_schema(draft, &mut shape, &options, path, top);
        for (name, arguments, call) in self.calls(schema, &CALLS) {
            match name {
                "path" => {
                    self.said_of_path(draft, &mut shape, &arguments, call, path);
                    continue;
                }
                "remove" => {
                    self.removed(draft, &mut shape, &arguments, call, path);
                    continue;
                }
                _ => {}
            }
            self.call(draft, name, &arguments, call, path);
            // These calls add fields that the file does not declare.
            if matches!(name, "plugin" | "loadClass") {
                shape.rest = Rest::Open;
            }
        }
        self.with_kinds(draft, &mut shape, schema, &options, path);
        shape
    }

    /// Reads `schema.remove('name')` or a list of names.
    fn removed(
        &self,
        draft: &mut Draft,
        shape: &mut Shape,
        arguments: &[Node<'t>],
        call: Node<'t>,
        path: &str,
    ) {
        let Some(first) = arguments.first() else { return };
        let names = match self.script.literal(*first) {
            Some(name) => Some(vec![name]),
            None => self.script.values(*first),
        };
        let Some(names) = names else {
            let what = quoted(&format!("remove({})", self.script.text(*first)));
            draft.loosened(
                path,
                what,
                "its fields are not declared in this \
             file",
                self.place(call),
            );
            // The call may remove any of them.
            shape.required.clear();
            return;
        };
        for name in names.iter().filter_map(Bson::as_str) {
            fields::take_out(shape, name);
            draft.fields.remove(&join(path, name));
        }
    }

    fn call(
        &self,
        draft: &mut Draft,
        name: &str,
        arguments: &[Node<'t>],
        call: Node<'t>,
        path: &str,
    ) {
        let first = arguments.first().and_then(|node| self.script.literal(*node));
        let first = first.as_ref().and_then(Bson::as_str).unwrap_or_default();
        let place = self.place(call);
        let what =
            quoted(&format!("{name}({})", arguments.first().map_or("", |a| self.script.text(*a))));
        match name {
            "virtual" => draft.noted(&join(path, first), what, "computed, not stored", place),
            "alias" => draft.noted(path, what, "a name in code only", place),
            "plugin" | "loadClass" => {
                draft.loosened(path, what, "its fields are not in this file", place);
            }
            "pre" if first == "validate" || first == "save" => {
                draft.loosened(path, what, "decided by code", place);
            }
            _ => {}
        }
    }

    fn with_id(&self, shape: &mut Shape, options: &[(String, Node<'t>)], top: bool) {
        let id = options.iter().rev().find(|(name, _)| name == "_id");
        let none =
            id.is_some_and(|(_, value)| self.script.literal(*value) == Some(Bson::Boolean(false)));
        if top || !none {
            shape.set_property("_id", Shape::of(&["objectId"]));
        }
    }

    fn with_options_of_schema(
        &self,
        draft: &mut Draft,
        shape: &mut Shape,
        options: &[(String, Node<'t>)],
        path: &str,
        top: bool,
    ) {
        let option = |wanted: &str| {
            options.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| *value)
        };
        if let Some(value) = option("timestamps") {
            self.timestamps(draft, shape, value, path);
        }
        if let Some(value) = option("discriminatorKey")
            && let Some(Bson::String(name)) = self.script.literal(value)
            && !shape.has_property(&name)
            && draft.can_name(path, &name, self.place(value))
        {
            draft.field(&join(path, &name), self.place(value));
            shape.set_property(&name, Shape::of(&["string"]));
        }
        if top {
            let given = option("versionKey");
            let version = match given.map(|value| (value, self.script.literal(value))) {
                Some((_, Some(Bson::Boolean(false)))) => None,
                Some((value, Some(Bson::String(name)))) => {
                    draft.can_name(path, &name, self.place(value)).then_some(name)
                }
                _ => Some("__v".to_owned()),
            };
            if let Some(name) = version.filter(|name| !shape.has_property(name)) {
                shape.set_property(&name, Shape::of(&["int"]));
            }
        }
        let strict = option("strict").and_then(|value| self.script.literal(value));
        if strict == Some(Bson::from("throw")) {
            shape.rest = Rest::Closed;
        }
    }

    fn timestamps(&self, draft: &mut Draft, shape: &mut Shape, value: Node<'t>, path: &str) {
        let node = self.script.resolve(value);
        let mut names = vec![("createdAt", None), ("updatedAt", None)];
        match node.kind() {
            "false" => return,
            "object" => {
                for (name, given) in &mut names {
                    let option = self.script.option(node, name);
                    *given = option.and_then(|value| self.script.literal(value));
                }
            }
            _ => {}
        }
        for (name, given) in names {
            let name = match given {
                Some(Bson::Boolean(false)) => continue,
                Some(Bson::String(given)) => given,
                _ => {
                    draft.generated.insert(join(path, name));
                    name.to_owned()
                }
            };
            if !draft.can_name(path, &name, self.place(value)) {
                continue;
            }
            draft.field(&join(path, &name), self.place(value));
            if !shape.has_property(&name) {
                shape.set_property(&name, Shape::of(&["date"]));
            }
        }
    }
}

/// Returns the kind of an expression without enclosing parentheses and type assertions.
fn bare_kind(node: Node<'_>) -> &'static str {
    script::bare(node).kind()
}
