//! The fields of documents after all decisions, each with its origin. Sizes, validators, examples
//! and statements are derived from them.

use std::collections::BTreeSet;

use docward_model::{
    BsonType, DesignModel, DesignRead, DesignWrite, Entity, EntityField, Relationship, Spread,
    words,
};

use crate::decide::decision::{Decision, EntityAdvice};
use crate::decide::pattern::{Bucket, Pattern, Window};
use crate::decide::preview::Preview;
use crate::decide::vote::Choice;
use crate::declared::field_plan::{
    Origin, Planned, Rank, TREE_DEPTH, add_kinds, declared, document_bytes, has_statistics,
    kind_field, own, previewed,
};
use crate::declared::naming::Naming;
use crate::declared::read_direction::is_tree;

/// The fields that store a sum.
pub(crate) struct Summed {
    pub(crate) sum: String,
    pub(crate) average: String,
    /// The field with the number of children that have the summed field, if some lack it. Averages
    /// use this number.
    pub(crate) having: Option<String>,
}

/// A figure that a parent stores about its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The number of children.
    Count,
    /// The number of children that have the summed field.
    Given,
    /// The sum of a field.
    Sum(String),
    /// The mean of a field. It is missing without children.
    Average,
}

impl Figure {
    /// Whether a parent with this number of children has the figure.
    pub fn is_there(&self, children: u64) -> bool {
        *self != Self::Average || children > 0
    }
}

/// Lays out documents according to the decisions.
pub(crate) struct Layout<'m> {
    pub(crate) model: &'m DesignModel,
    pub(crate) decisions: &'m [Decision],
    pub(crate) advice: &'m [EntityAdvice],
    pub(crate) naming: Naming,
}

impl<'m> Layout<'m> {
    /// Returns the document of an entity with its own id.
    pub(crate) fn document(&self, entity: &'m Entity) -> Vec<Planned> {
        let mut fields = vec![Planned::new("_id", BsonType::ObjectId, Origin::Id)];
        fields.extend(self.fields(entity, &mut Vec::new()));
        fields
    }

    /// Returns the fields of an entity, as a document or embedded.
    pub(crate) fn fields(&self, entity: &'m Entity, above: &mut Vec<&'m str>) -> Vec<Planned> {
        let mut fields = self.wanted(entity, above);
        // Two relationships may add the same field, for example if both sides of a relationship are
        // declared.
        let mut seen = BTreeSet::new();
        fields.retain(|field| seen.insert(field.name.clone()));
        fields
    }

    /// Returns every field that a relationship or pattern adds, including duplicates.
    pub(crate) fn wanted(&self, entity: &'m Entity, above: &mut Vec<&'m str>) -> Vec<Planned> {
        // An entity that embeds itself would have no end. Trees are never embedded.
        if above.contains(&entity.name.as_str()) {
            return Vec::new();
        }
        above.push(&entity.name);
        let patterns = self.patterns_of(entity);
        let mut fields = self.own_fields(entity, patterns);
        for (relationship, decision) in self.linked() {
            if relationship.child == entity.name {
                self.towards_parent(relationship, decision, &mut fields);
            }
            if relationship.parent == entity.name {
                self.towards_children(relationship, decision, above, &mut fields);
            }
        }
        above.pop();
        fields
    }

    /// Returns the relationships with their decisions. Both have the same order, but a decision may
    /// be missing, so they are matched by name.
    pub(crate) fn linked(
        &self,
    ) -> impl Iterator<Item = (&'m Relationship, &'m Decision)> + use<'m> {
        let mut relationships = self.model.relationships.iter();
        self.decisions.iter().filter_map(move |decision| {
            let found = relationships.by_ref().find(|r| r.name == decision.relationship);
            found.map(|relationship| (relationship, decision))
        })
    }

    fn patterns_of(&self, entity: &Entity) -> &'m [Pattern] {
        self.advice.iter().find(|a| a.entity == entity.name).map_or(&[], |a| &a.patterns)
    }

    fn own_fields(&self, entity: &Entity, patterns: &[Pattern]) -> Vec<Planned> {
        let mut fields = Vec::new();
        let mut listed: &[String] = &[];
        for pattern in patterns {
            match pattern {
                Pattern::Polymorphic { .. } => fields.extend(kind_field(entity)),
                Pattern::Attribute { fields } => listed = fields,
                Pattern::SchemaVersioning { .. } => {
                    let origin = Origin::Pattern("schema versioning");
                    fields.push(Planned::new(self.shape(), BsonType::Int, origin));
                }
                Pattern::DocumentVersioning => {
                    let origin = Origin::Pattern("document versioning");
                    fields.push(Planned::new("version", BsonType::Int, origin));
                }
                _ => {}
            }
        }
        fields.extend(entity.fields.iter().filter(|f| !listed.contains(&f.name)).map(own));
        fields.extend(attributes(entity, listed));
        add_kinds(entity, &mut fields);
        fields
    }

    /// Adds the fields of a child that refer to its parent.
    fn towards_parent(
        &self,
        relationship: &Relationship,
        decision: &Decision,
        into: &mut Vec<Planned>,
    ) {
        let parent = &relationship.parent;
        let reference = Origin::Reference(parent.clone());
        for pattern in &decision.patterns {
            match pattern {
                Pattern::ParentInChild if is_tree(relationship) => {
                    let id = Planned::new(
                        self.naming.field(&["parent", "id"]),
                        BsonType::ObjectId,
                        reference.clone(),
                    );
                    into.push(Planned { required: false, ..id });
                    into.push(Planned::ids("ancestors", reference.clone(), TREE_DEPTH));
                }
                Pattern::ParentInChild => {
                    let name = self.naming.parent_field(relationship);
                    let id = Planned::new(name, BsonType::ObjectId, reference.clone());
                    into.push(Planned { required: relationship.parents >= 1.0, ..id });
                }
                Pattern::ParentsInChild => {
                    let name = self.naming.parents_field(relationship);
                    let parents = relationship.parents_spread;
                    into.push(Planned::ids(name, reference.clone(), parents));
                }
                Pattern::ExtendedReference { fields, in_parent: false, .. } => {
                    let name = self.naming.parent_copy(relationship);
                    // A list element cannot be found by its id, so the caller must provide the
                    // copy.
                    let in_list = self.decisions.iter().any(|d| {
                        d.choice == Some(Choice::Embed)
                            && d.child == *parent
                            && d.facts.children.max > 1
                    });
                    let required = relationship.parents >= 1.0 && !in_list;
                    let copies = self.copies(name, parent, fields);
                    into.extend(copies.map(|copies| Planned { required, ..copies }));
                }
                _ => {}
            }
        }
    }

    /// Returns copies of fields of another entity as an object.
    pub(crate) fn copies(&self, name: String, of: &str, fields: &[String]) -> Option<Planned> {
        let source = self.model.entity(of)?;
        let all = declared(source);
        let copied: Vec<Planned> = fields
            .iter()
            .filter_map(|name| all.iter().find(|field| field.name == *name))
            .map(|field| {
                let path = format!("{of}.{}", field.name);
                Planned { origin: Origin::Copy(path), ..field.clone() }
            })
            .collect();
        (!copied.is_empty()).then(|| Planned::object(name, Origin::Copy(of.to_owned()), copied))
    }

    /// Adds the fields of a parent that refer to its children.
    fn towards_children(
        &self,
        relationship: &'m Relationship,
        decision: &Decision,
        above: &mut Vec<&'m str>,
        into: &mut Vec<Planned>,
    ) {
        if is_tree(relationship) {
            return;
        }
        let Some(child) = self.model.entity(&relationship.child) else { return };
        let (role, name) = (relationship.role(), &relationship.name);
        let spread = decision.facts.children;
        let single = spread.max <= 1;
        let copied = decision.copied(true);
        for pattern in &decision.patterns {
            match pattern {
                Pattern::Embedded => {
                    let fields = self.part(relationship, child, above);
                    let origin = Origin::Embedded(name.clone());
                    let outlier = decision.page();
                    into.push(if single {
                        Planned {
                            required: spread.p50 >= 1,
                            there: (spread != Spread::always(1)).then_some(spread),
                            ..Planned::object(role, origin, fields)
                        }
                    } else {
                        let most = decision.newest().unwrap_or(spread.max);
                        let max = outlier.map_or(most, |page| spread.max.min(page));
                        Planned::list(role, origin, fields, Spread { max, ..spread })
                    });
                    if outlier.is_some() {
                        let name = self.overflow(relationship);
                        into.push(Planned::new(name, BsonType::Bool, Origin::Pattern("outlier")));
                    }
                }
                Pattern::ChildrenInParent => {
                    into.extend(self.held(relationship, spread, copied));
                }
                Pattern::Subset { newest, by, fields } => {
                    let shown = Preview { newest: *newest, by, fields };
                    into.push(self.newest(relationship, child, shown, spread));
                }
                Pattern::Computed { counts, sums } => {
                    let figures = self.figures(relationship, child, *counts, sums);
                    into.extend(figures.into_iter().map(|(_, field)| field));
                }
                Pattern::Approximation { .. } => {
                    let origin = Origin::Pattern("approximation");
                    into.push(Planned::new(self.count(relationship), BsonType::Long, origin));
                }
                _ => {}
            }
        }
    }

    /// Returns the path of the ids of a relationship, in the documents of the entity that stores
    /// them.
    pub(crate) fn held_at(
        &self,
        relationship: &Relationship,
        decision: &Decision,
    ) -> Option<String> {
        match decision.patterns.first()? {
            Pattern::ParentInChild => Some(self.naming.parent_field(relationship)),
            Pattern::ParentsInChild => Some(self.naming.parents_field(relationship)),
            Pattern::ChildrenInParent => {
                let copied = decision.copied(true);
                let held = self.held(relationship, decision.facts.children, copied);
                let field = held.first()?;
                // In a list of ids with copies, the id comes first.
                Some(match field.fields.first() {
                    Some(id) => format!("{}.{}", field.name, id.name),
                    None => field.name.clone(),
                })
            }
            _ => None,
        }
    }

    fn id_to(name: String, entity: &str) -> Planned {
        Planned::new(name, BsonType::ObjectId, Origin::Reference(entity.to_owned()))
    }

    /// Returns the reference fields of a parent that lists its children: an id, an id with copies,
    /// or a list of either.
    pub(crate) fn held(
        &self,
        relationship: &Relationship,
        children: Spread,
        copied: Option<&[String]>,
    ) -> Vec<Planned> {
        let (role, child) = (relationship.role(), &relationship.child);
        let copies = |name: String| copied.and_then(|fields| self.copies(name, child, fields));
        if children.max <= 1 {
            let id = Self::id_to(self.naming.child_field(relationship), child);
            let beside = copies(self.naming.field(&[&self.naming.singular(role)]));
            let both = std::iter::once(id).chain(beside);
            let required = children.p50 >= 1;
            return both.map(|field| Planned { required, ..field }).collect();
        }
        let origin = Origin::Reference(child.clone());
        vec![match copies(String::new()) {
            Some(copies) => {
                let id = Self::id_to(self.naming.id_of(child), child);
                let inside = std::iter::once(id).chain(copies.fields).collect();
                Planned::list(role, origin, inside, children)
            }
            None => {
                let name = relationship.field.clone();
                Planned::ids(name.unwrap_or_else(|| self.naming.ids_of(role)), origin, children)
            }
        }]
    }

    /// Returns the field with the preview of the newest children in their parent.
    pub(crate) fn newest(
        &self,
        relationship: &Relationship,
        child: &Entity,
        shown: Preview<'_>,
        children: Spread,
    ) -> Planned {
        let Preview { newest, by, fields } = shown;
        let mut inside = vec![Self::id_to(self.naming.id_of(&child.name), &child.name)];
        let listed = self.patterns_of(child).iter().find_map(|pattern| match pattern {
            Pattern::Attribute { fields } => Some(fields.as_slice()),
            _ => None,
        });
        let listed = listed.filter(|_| fields.is_empty()).unwrap_or_default();
        let shown = previewed(child, by, fields).into_iter();
        inside.extend(shown.filter(|field| !listed.contains(&field.name)).map(|field| {
            let path = format!("{}.{}", child.name, field.name);
            Planned { origin: Origin::Copy(path), ..field }
        }));
        inside.extend(attributes(child, listed));
        let cap = |number: u64| number.min(newest);
        let items = Spread {
            p50: cap(children.p50),
            p95: cap(children.p95),
            p99: cap(children.p99),
            // Statements truncate the list at this length, even if fewer children are declared.
            max: newest,
        };
        let origin = Origin::Preview(relationship.name.clone());
        Planned::list(self.preview(relationship), origin, inside, items)
    }

    /// Returns the figures that a parent stores about its children.
    pub(crate) fn figures(
        &self,
        relationship: &Relationship,
        child: &Entity,
        counts: bool,
        sums: &[String],
    ) -> Vec<(Figure, Planned)> {
        let kept = |name: String, kind: BsonType| {
            Planned::new(name, kind, Origin::Computed(relationship.name.clone()))
        };
        let count = counts.then(|| (Figure::Count, kept(self.count(relationship), BsonType::Long)));
        let mut figures: Vec<(Figure, Planned)> = count.into_iter().collect();
        for field in sums {
            let Summed { sum, average, having } = self.sum(relationship, field);
            let given = having.map(|having| (Figure::Given, kept(having, BsonType::Long)));
            figures.extend(given);
            let kind = match child.field(field).map(|f| f.kind) {
                Some(kind @ (BsonType::Decimal | BsonType::Double)) => kind,
                _ => BsonType::Long,
            };
            figures.push((Figure::Sum(field.clone()), kept(sum, kind)));
            let kind = if kind == BsonType::Decimal { kind } else { BsonType::Double };
            // A parent without children has no average.
            let average = Planned { required: false, ..kept(average, kind) };
            figures.push((Figure::Average, average));
        }
        figures
    }

    /// Returns the junction document for a parent and a child.
    pub(crate) fn pair(
        &self,
        relationship: &Relationship,
        copied: Option<&[String]>,
    ) -> Vec<Planned> {
        let (parent, child) = (&relationship.parent, &relationship.child);
        // If both ends are the same entity, the second field is named after the role.
        let other = if parent == child { relationship.role() } else { child };
        let mut fields = vec![
            Planned::new("_id", BsonType::ObjectId, Origin::Id),
            Self::id_to(self.naming.id_of(parent), parent),
            Self::id_to(self.naming.id_of(other), child),
        ];
        let name = self.naming.field(&[&self.naming.singular(relationship.role())]);
        // A junction document may be older than the copies next to the ids.
        let copies = copied.and_then(|copied| self.copies(name, child, copied));
        fields.extend(copies.map(|copies| Planned { required: false, ..copies }));
        fields
    }

    /// Returns the fields of an entity that is embedded in another.
    pub(crate) fn part(
        &self,
        relationship: &Relationship,
        child: &'m Entity,
        above: &mut Vec<&'m str>,
    ) -> Vec<Planned> {
        let mut fields = self.fields(child, above);
        if self.has_part_id(relationship) {
            fields.insert(0, Planned::new("_id", BsonType::ObjectId, Origin::Id));
        }
        fields
    }

    /// Whether embedded children have an id.
    pub(crate) fn has_part_id(&self, relationship: &Relationship) -> bool {
        has_part_id(self.model, relationship, self.is_named(&relationship.child))
    }

    /// Whether children store the id of an entity.
    pub(crate) fn is_named(&self, entity: &str) -> bool {
        self.linked()
            .any(|(r, made)| r.parent == entity && made.patterns.contains(&Pattern::ParentInChild))
    }

    /// Returns the name `schemaVersion`.
    pub(crate) fn shape(&self) -> String {
        self.naming.field(&["schema", "version"])
    }

    /// Returns a name such as `recentComments`.
    pub(crate) fn preview(&self, relationship: &Relationship) -> String {
        self.naming.field(&["recent", relationship.role()])
    }

    /// Returns `hasOverflow` for a parent with one list that has pages. With several lists, the
    /// name contains the role.
    pub(crate) fn overflow(&self, relationship: &Relationship) -> String {
        let shared = self.linked().any(|(other, decision)| {
            other.parent == relationship.parent
                && other.name != relationship.name
                && decision.patterns.iter().any(|p| matches!(p, Pattern::Outlier { .. }))
        });
        let role = if shared { relationship.role() } else { "" };
        self.naming.field(&["has", role, "overflow"])
    }

    /// Returns a name such as `commentCount`.
    pub(crate) fn count(&self, relationship: &Relationship) -> String {
        self.naming.field(&[&self.naming.singular(relationship.role()), "count"])
    }

    /// Returns `ratingSum` and `ratingAverage`. The names begin with the role if another
    /// relationship of the parent sums a field of the same name.
    pub(crate) fn sum(&self, relationship: &Relationship, field: &str) -> Summed {
        let shared = self.linked().any(|(other, decision)| {
            other.parent == relationship.parent
                && other.name != relationship.name
                && decision.patterns.iter().any(|pattern| {
                    matches!(pattern, Pattern::Computed { sums, .. } if sums.iter().any(|f| f == field))
                })
        });
        let role = self.naming.singular(relationship.role());
        let name = |words: &[&str]| {
            let mut parts = vec![field];
            if shared {
                parts.insert(0, &role);
            }
            parts.extend(words);
            self.naming.field(&parts)
        };
        let child = self.model.entity(&relationship.child);
        let summed = child.and_then(|child| child.field(field));
        let optional = summed.is_some_and(|f| !f.required || f.nullable);
        Summed {
            sum: name(&["sum"]),
            average: name(&["average"]),
            having: optional.then(|| name(&["given", "count"])),
        }
    }

    /// Returns the size in bytes of a reading in a bucket: all fields except those of the series.
    pub(crate) fn reading_bytes(&self, entity: &'m Entity) -> u64 {
        let series = entity.series.as_ref().map_or(&[][..], |series| &series.id);
        let mut fields = self.fields(entity, &mut Vec::new());
        fields.retain(|field| !is_of_series(series, field));
        document_bytes(&fields, Rank::Typical)
    }

    /// Returns the document of a bucket: the series, the start of its period, a count, readings and
    /// their statistics (PT-bucket.3).
    pub(crate) fn bucket(&self, entity: &'m Entity, bucket: &Bucket) -> Vec<Planned> {
        let pattern = Origin::Pattern("bucket");
        let all = self.fields(entity, &mut Vec::new());
        let is_series = |field: &Planned| is_of_series(&bucket.series, field);
        let mut fields = vec![Planned::new("_id", BsonType::ObjectId, Origin::Id)];
        fields.extend(all.iter().filter(|field| is_series(field)).cloned());
        fields.push(Planned::new(
            self.naming.field(&["bucket", "start"]),
            BsonType::Date,
            pattern.clone(),
        ));
        // Buckets that end by number accept late readings, so they store their time range.
        if matches!(bucket.window, Window::Events(_)) {
            let end = self.naming.field(&["bucket", "end"]);
            fields.push(Planned::new(end, BsonType::Date, pattern.clone()));
        }
        fields.push(Planned::new("count", BsonType::Int, pattern.clone()));
        let inside: Vec<Planned> = all.into_iter().filter(|field| !is_series(field)).collect();
        let statistics: Vec<Planned> = inside
            .iter()
            .filter(|field| has_statistics(field))
            .flat_map(|field| {
                ["min", "max", "sum"].map(|word| {
                    let name = self.naming.field(&[&field.name, word]);
                    Planned::new(name, field.kind, pattern.clone())
                })
            })
            .collect();
        let full = match bucket.window {
            Window::Events(most) => Spread::always(most),
            _ => Spread::always(bucket.most),
        };
        fields.push(Planned::list("readings", pattern.clone(), inside, full));
        if !statistics.is_empty() {
            fields.push(Planned::object("stats", pattern, statistics));
        }
        fields
    }
}

/// Returns a list of names and values for fields of an entity.
fn attributes(entity: &Entity, listed: &[String]) -> Option<Planned> {
    let origin = Origin::Pattern("attribute");
    let key = Planned { bytes: (12, 24), ..Planned::new("k", BsonType::String, origin.clone()) };
    let is_listed = |field: &&EntityField| listed.contains(&field.name);
    let listed: Vec<Planned> = entity.fields.iter().filter(is_listed).map(own).collect();
    // Values keep their type if all have the same type. Otherwise the field is planned as a string.
    let first = listed.first()?.kind;
    let alike = listed.iter().all(|field| field.kind == first);
    let most = |of: fn(&Planned) -> u64| listed.iter().map(of).max().unwrap_or(0);
    let value = Planned {
        bytes: (most(|field| field.bytes.0), most(|field| field.bytes.1)),
        ..Planned::new("v", if alike { first } else { BsonType::String }, origin.clone())
    };
    let always = listed.iter().filter(|field| field.required).count() as u64;
    let all = listed.len() as u64;
    let items = Spread { p50: all.div_ceil(2).max(always), p95: all, p99: all, max: all };
    Some(Planned::list("attributes", origin, vec![key, value], items))
}

/// Whether embedded children have an id. They have one in these cases:
///
/// - Reads use it, or other documents refer to it.
/// - They are elements of a list, and writes change or remove single elements.
///
/// Copies of shared children have no id; their value identifies them.
pub(crate) fn has_part_id(
    model: &DesignModel,
    relationship: &Relationship,
    is_referred_to: bool,
) -> bool {
    let entity = &relationship.child;
    let by_id = |read: &DesignRead| {
        read.from == *entity && read.filter.iter().any(|(field, _)| field == "_id")
    };
    let changed =
        |write: &DesignWrite| write.updates.contains(entity) || write.deletes.contains(entity);
    let single = relationship.children.is_some_and(|children| children.max <= 1);
    if relationship.is_shared() {
        return false;
    }
    if is_referred_to || model.reads.iter().any(by_id) {
        return true;
    }
    // A write that changes a list of an embedded entity is about one of several elements, so the
    // element needs an id.
    let is_list = |r: &&Relationship| {
        let several = r.children.is_some_and(|children| children.max > 1);
        r.parent == *entity && r.child != *entity && several && !r.is_shared()
    };
    let lists: Vec<&Relationship> = model.relationships.iter().filter(is_list).collect();
    let changes_list = |write: &DesignWrite| {
        let whole = write.inserts.contains(entity) || write.deletes.contains(entity);
        !whole && lists.iter().any(|r| write.touches(&r.child))
    };
    !single && model.writes.iter().any(|write| changed(write) || changes_list(write))
}

/// Whether a field identifies the series of a reading. A copy does not: if its source changes, the
/// series stays the same.
pub(crate) fn is_of_series(series: &[String], field: &Planned) -> bool {
    // A series field may have the name of an entity or of a role.
    let is_id_of = |id: &String| {
        let mut words = words::split(id);
        words.push("id".to_owned());
        words::split(&field.name) == words
    };
    match &field.origin {
        Origin::Copy(_) => false,
        Origin::Reference(entity) => {
            series.iter().any(|id| id == entity || *id == field.name || is_id_of(id))
        }
        _ => series.contains(&field.name),
    }
}

/// Whether an entity is embedded and no other document stores ids of it.
pub(crate) fn is_embedded(layout: &Layout<'_>, entity: &str) -> bool {
    let of_it = || layout.linked().filter(|(r, _)| r.child == entity).map(|(_, decision)| decision);
    let pointed_at = |decision: &Decision| {
        decision.patterns.iter().any(|pattern| {
            matches!(
                pattern,
                Pattern::ChildrenInParent | Pattern::Junction | Pattern::ParentsInChild
            )
        })
    };
    of_it().any(|decision| decision.choice == Some(Choice::Embed)) && !of_it().any(pointed_at)
}
