//! Helpers for all generated functions of a design.

use bson::{Bson, Document, doc};
use docward_model::{BsonType, DesignModel, Entity, ProfileName, Relationship, shell::quote};

use crate::declared::field_plan::{Origin, Planned};
use crate::declared::naming::Naming;
use crate::declared::read_direction::is_tree;
use crate::emit::example::{Maker, day};
use crate::emit::js::{self, given, member_of};
use crate::emit::statement::{Method, Statement, Step, is_value};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;
use crate::layout::plan::Design;

/// A design, and the data that functions need.
pub(crate) struct Plans<'m> {
    pub(crate) layout: Layout<'m>,
    pub(crate) design: &'m Design,
}

impl<'m> Plans<'m> {
    pub(crate) fn new(model: &'m DesignModel, design: &'m Design, profile: ProfileName) -> Self {
        let layout = Layout {
            model,
            decisions: &design.decisions,
            advice: &design.entities,
            naming: Naming::of(model, profile),
        };
        Self { layout, design }
    }

    /// Returns the shard key that filters on a collection must contain. Servers from 7.1 on do not
    /// need it.
    pub(crate) fn key_of(&self, collection: &str) -> &'m [(String, bool)] {
        let found = self.design.collections.iter().find(|c| c.name == collection);
        let is_asked = self.layout.model.deployment.server < (7, 1);
        let plan = found.and_then(|c| c.shard.as_ref()).filter(|_| is_asked);
        plan.map_or(&[], |plan| plan.key.fields.as_slice())
    }

    /// Adds the shard key to statements that need it to find their document. Adds a note if that is
    /// not possible.
    pub(super) fn keyed_steps(&self, steps: &mut Vec<Step>) {
        for mut step in std::mem::take(steps) {
            match &mut step {
                Step::Run(statement) | Step::Let(_, statement) | Step::Return(statement) => {
                    let key = self.key_of(&statement.collection);
                    statement.look_up(key);
                    let lacks = |(field, _): &&(String, bool)| {
                        !is_value(statement.filter().and_then(|filter| filter.get(field)))
                    };
                    if statement.is_upsert() && key.iter().any(|field| lacks(&field)) {
                        let names: Vec<&str> = key.iter().map(|(name, _)| name.as_str()).collect();
                        steps.push(Step::Note(format!(
                            "`{}` is sharded by {}, and servers before 7.1 accept an upsert only \
                             with the full key in the filter: there, find the document first, and \
                             insert it if there is none.",
                            statement.collection,
                            docward_model::text::list(&names, 5)
                        )));
                    }
                }
                _ => {
                    if let Some(inner) = step.inner() {
                        self.keyed_steps(inner);
                    }
                }
            }
            steps.push(step);
        }
    }

    /// Returns the collection with an entity's documents.
    pub(crate) fn home(&self, entity: &str) -> Option<&'m CollectionPlan> {
        self.design.collections.iter().find(|collection| {
            collection.entity == entity
                && matches!(
                    collection.purpose,
                    Purpose::Entity | Purpose::TimeSeries { .. } | Purpose::Bucket(_)
                )
        })
    }

    /// Returns the collection of an entity with separate documents.
    pub(super) fn own(&self, entity: &str) -> Option<&'m CollectionPlan> {
        self.home(entity).filter(|home| home.purpose == Purpose::Entity)
    }

    /// Whether another relationship has the same role, so that names must contain the parent. In a
    /// tree, the entity's name is used as the role.
    fn is_ambiguous(&self, relationship: &Relationship) -> bool {
        let one = self.layout.naming.singular(relationship.role());
        self.layout.model.relationships.iter().any(|other| {
            let called = if is_tree(other) { &other.child } else { other.role() };
            other.name != relationship.name && self.layout.naming.singular(called) == one
        })
    }

    /// Returns the name of a function: `addComment`, or `addPostComment` if several parents have
    /// comments.
    pub(crate) fn name(&self, verb: &str, relationship: &Relationship, many: bool) -> String {
        let role = if many {
            relationship.role().to_owned()
        } else {
            self.layout.naming.singular(relationship.role())
        };
        if self.is_ambiguous(relationship) {
            js::function(&[verb, &relationship.parent, &role])
        } else {
            js::function(&[verb, &role])
        }
    }

    pub(crate) fn maker(&self, fresh: bool) -> Maker<'m> {
        Maker { model: self.layout.model, fresh }
    }

    /// Returns a child in the form that an application sends, for a check. It has copies next to
    /// its references; functions that look up the copies remove them.
    pub(crate) fn sample(
        &self,
        child: &'m Entity,
        fields: &[Planned],
        varied: &[&str],
    ) -> Document {
        let without: Vec<Planned> =
            fields.iter().filter(|field| field.origin != Origin::Id).cloned().collect();
        let mut made = self.maker(true).object(&without, Some(child), &child.name, 0);
        self.differing(&mut made, &without, Some(child));
        let day = day(self.layout.model);
        for field in &without {
            let home = self.own(&child.name);
            let unique = child.field(&field.name).is_some_and(|f| f.unique)
                || home.is_some_and(|home| is_one_of_each(home, &field.name));
            // A list of ids begins empty, and many documents may have an empty list.
            let is_fixed = field.kind == BsonType::Array || !field.values.is_empty();
            if is_fixed || !(unique || varied.contains(&field.name.as_str())) {
                continue;
            }
            made.insert(field.name.clone(), given(vary(field, unique, day)));
        }
        made
    }

    /// Returns an expression that creates a new document of a collection for a check. Each document
    /// can be inserted.
    pub(crate) fn fresh(&self, collection: &CollectionPlan) -> String {
        let mut document = self.maker(true).document(collection);
        if document.contains_key("_id") {
            document.insert("_id", given("new ObjectId()"));
        }
        let entity = self.layout.model.entity(&collection.entity);
        self.differing(&mut document, &collection.fields, entity);
        own_ids(&mut document, &collection.fields, collection, "");
        factory(&document)
    }

    /// Makes unique fields differ between documents, also in nested objects.
    pub(super) fn differing(
        &self,
        document: &mut Document,
        fields: &[Planned],
        entity: Option<&Entity>,
    ) {
        let model = self.layout.model;
        let day = day(model);
        for field in fields {
            let unique = entity.and_then(|entity| entity.field(&field.name));
            let unique = unique.is_some_and(|f| f.unique) && document.contains_key(&field.name);
            if unique && field.values.is_empty() {
                document.insert(field.name.clone(), given(vary(field, true, day)));
            }
            if let Origin::Embedded(_) = &field.origin
                && let Ok(inside) = document.get_document_mut(&field.name)
            {
                let child = field.origin.child(model);
                if inside.contains_key("_id") {
                    inside.insert("_id", given("new ObjectId()"));
                }
                self.differing(inside, &field.fields, child);
            }
        }
    }
}

/// Gives each document its own id in fields with a unique index, also in nested objects.
fn own_ids(document: &mut Document, fields: &[Planned], collection: &CollectionPlan, above: &str) {
    for field in fields {
        let path = format!("{above}{}", field.name);
        if let Origin::Embedded(_) = &field.origin
            && let Ok(inside) = document.get_document_mut(&field.name)
        {
            own_ids(inside, &field.fields, collection, &format!("{path}."));
        }
        let is_id =
            field.kind == BsonType::ObjectId && matches!(field.origin, Origin::Reference(_));
        if is_id && document.contains_key(&field.name) && is_one_of_each(collection, &path) {
            document.insert(&field.name, given("new ObjectId()"));
        }
    }
}

/// Whether a unique index covers exactly this field.
pub(crate) fn is_one_of_each(collection: &CollectionPlan, field: &str) -> bool {
    let alone = |keys: &[(String, bool)]| matches!(keys, [(key, _)] if key == field);
    collection.indexes.iter().any(|index| index.unique && alone(&index.keys))
}

/// Whether a check can give a field another value.
pub(crate) fn varies(field: &Planned) -> bool {
    matches!(
        field.kind,
        BsonType::Date
            | BsonType::Int
            | BsonType::Long
            | BsonType::Double
            | BsonType::Decimal
            | BsonType::String
    )
}

/// Returns an expression over `i` that differs from call to call. A unique field gets values that
/// never repeat.
pub(crate) fn vary(field: &Planned, unique: bool, day: i64) -> String {
    let number = if unique { "unique()" } else { "i" };
    match field.kind {
        BsonType::Date => format!("new Date({day} + {number} * 60000)"),
        BsonType::ObjectId => "new ObjectId()".to_owned(),
        BsonType::Int | BsonType::Long if unique => number.to_owned(),
        BsonType::Int | BsonType::Long => format!("1 + ({number} % 5)"),
        BsonType::Double => format!("1.5 + ({number} % 5)"),
        BsonType::Decimal => format!("NumberDecimal(`${{1 + ({number} % 5)}}.25`)"),
        BsonType::String => {
            format!("{} + String({number}).padStart(6, \"0\")", quote(&format!("{} ", field.name)))
        }
        _ => "true".to_owned(),
    }
}

/// Returns a filter that matches a document only while it is unchanged since it was read.
pub(crate) fn unchanged(id: &str, read: &str) -> Document {
    doc! {
        "_id": given(id),
        // MongoDB 4.4 does not accept `$eq` here.
        "$expr": { "$in": ["$$ROOT", [{ "$literal": given(read) }]] },
    }
}

/// Returns code such as `pick(comment, ["text", "createTime"])`.
pub(crate) fn picked(from: &str, fields: &[&str]) -> String {
    let list: Vec<String> = fields.iter().map(|field| quote(field)).collect();
    format!("pick({from}, [{}])", list.join(", "))
}

/// Returns a factory for checks: `(i) => ({ … })`.
pub(crate) fn factory(document: &Document) -> String {
    format!("(i) => ({})", js::object(document, 2))
}

/// Returns a filter by `_id`.
pub(super) fn by_id(id: impl Into<String>) -> Document {
    doc! { "_id": given(id) }
}

/// Returns an update of the document with an id.
pub(super) fn update(collection: &CollectionPlan, id: &str, update: impl Into<Bson>) -> Statement {
    Statement::update(&collection.name, by_id(id), update)
}

/// Returns a statement that finds a document with the given fields.
pub(super) fn one(collection: &str, filter: &Document, fields: &[&str]) -> Statement {
    let projection: Document = fields.iter().map(|field| ((*field).to_owned(), 1.into())).collect();
    Statement::new(collection, Method::FindOne, [filter.clone().into(), projection.into()])
}

/// Returns a statement that tests whether a document exists.
pub(super) fn found(collection: &str, filter: Document) -> Statement {
    Statement::new(collection, Method::FindOne, [filter.into(), doc! { "_id": 1 }.into()])
}

/// Returns the expression for a path in an object: `parent.profile`.
pub(super) fn at(object: &str, path: &str) -> String {
    path.split('.').fold(object.to_owned(), |at, part| member_of(&at, part))
}
