//! Reads discriminators, which store several kinds of documents in one collection:
//! `Base.discriminator('Special', schema)`.
//!
//! Mongoose writes the kind into a field, `__t` by default. Documents of a kind have the fields of
//! its schema and those of the base. Each kind becomes a branch that applies to documents with its
//! name. Other files may declare more kinds, so other names stay allowed.

use bson::Bson;
use tree_sitter::Node;

use crate::{
    draft::{Draft, is_nameable, join},
    shape::{Rest, Shape},
};
use docward_source::syntax::{parts, quoted};

use super::{Reader, Schema};

impl<'t> Reader<'t> {
    /// Returns the schema of a discriminator call. It is not a separate model.
    pub(super) fn kind_of(&self, call: Node<'t>) -> Option<usize> {
        let function = call.child_by_field_name("function")?;
        if self.script.last_name(function) != Some("discriminator") {
            return None;
        }
        let arguments = parts(call.child_by_field_name("arguments")?);
        Some(self.schema(*arguments.get(1)?)?.id)
    }

    /// Reads `model(…).discriminator(…)` in one expression.
    pub(super) fn kind_beside(&self, model: Node<'t>) -> Option<(&'t str, Node<'t>)> {
        let member = model.parent().filter(|parent| parent.kind() == "member_expression")?;
        let call = member.parent().filter(|parent| parent.kind() == "call_expression")?;
        self.script
            .last_name(member)
            .filter(|name| *name == "discriminator")
            .map(|name| (name, call))
    }

    /// Adds the kinds of a schema's documents to its shape.
    pub(super) fn with_kinds(
        &self,
        draft: &mut Draft,
        shape: &mut Shape,
        schema: &Schema<'t>,
        options: &[(String, Node<'t>)],
        path: &str,
    ) {
        let calls = self.calls(schema, &["discriminator"]);
        if calls.is_empty() {
            self.open_to_kinds(draft, shape, options, path);
            return;
        }
        // The base does not list the fields that a kind adds.
        shape.rest = Rest::Open;
        let key = key_option(options).and_then(|value| self.script.literal(value));
        let key = key.as_ref().and_then(Bson::as_str).unwrap_or("__t");
        // An invalid key is recorded where the options of the schema are read.
        if !is_nameable(key) {
            return;
        }
        let mut branches = Vec::new();
        let mut kinds = Vec::new();
        for (_, arguments, call) in calls {
            let given = arguments.first().map_or("", |argument| self.script.text(*argument));
            let what = quoted(&format!("discriminator({given})"));
            let place = self.place(call);
            let value = self.kind_value(&arguments);
            let inner = arguments.get(1).and_then(|node| self.schema(*node));
            let (Some(value), Some(inner)) = (value, inner.filter(Schema::is_written_out)) else {
                let why = "declared in another file; the schema has only the common fields";
                draft.loosened(path, what, why, place);
                continue;
            };
            let mut branch = self.sub_schema(draft, &inner, path, place);
            branch.title = value.as_str().map(str::to_owned);
            branch.types.clear();
            branch.rest = Rest::Open;
            branch.properties.retain(|(name, shape)| name != "_id" || shape.types != ["objectId"]);
            // A field of the kind overrides the same field of the base.
            let again: Vec<String> = branch
                .properties
                .iter()
                .filter(|(name, _)| name != key && shape.has_property(name))
                .map(|(name, _)| name.clone())
                .collect();
            for name in again {
                shape.properties.retain(|(before, _)| *before != name);
                shape.required.retain(|before| *before != name);
                let why = "redeclared by one kind of document; the schema does not check it for \
                 other kinds";
                draft.loosened(&join(path, &name), name.clone(), why, place);
            }
            branch.properties.retain(|(name, _)| name != key);
            branch
                .properties
                .insert(0, (key.to_owned(), Shape::one_of_values(vec![value.clone()])));
            branch.required.retain(|name| name != key);
            branch.required.insert(0, key.to_owned());
            kinds.push(value);
            branches.push(branch);
        }
        if branches.is_empty() {
            return;
        }
        let mut other = Shape::default();
        other.set_property(key, Shape { none_of: kinds, ..Shape::default() });
        branches.push(other);
        shape.any_of = branches;
    }

    /// Allows additional fields if the schema names a discriminator key. Its kinds are then
    /// declared in other files.
    pub(super) fn open_to_kinds(
        &self,
        draft: &mut Draft,
        shape: &mut Shape,
        options: &[(String, Node<'t>)],
        path: &str,
    ) {
        let Some(value) = key_option(options) else { return };
        shape.rest = Rest::Open;
        let why = "kinds are declared elsewhere; the schema has only their common fields";
        draft.loosened(path, quoted("discriminatorKey"), why, self.place(value));
    }

    /// Returns the stored name of a kind: the third argument, its `value`, or the model name.
    fn kind_value(&self, arguments: &[Node<'t>]) -> Option<Bson> {
        let name = || self.script.literal(*arguments.first()?);
        let Some(third) = arguments.get(2).map(|node| self.script.resolve(*node)) else {
            return name();
        };
        match third.kind() {
            "object" => match self.script.option(third, "value") {
                Some(value) => self.script.literal(value),
                None => name(),
            },
            _ => self.script.literal(third),
        }
    }
}

/// Returns the value of `discriminatorKey`.
fn key_option<'t>(options: &[(String, Node<'t>)]) -> Option<Node<'t>> {
    options.iter().rev().find(|(name, _)| name == "discriminatorKey").map(|(_, value)| *value)
}
