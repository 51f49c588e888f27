//! Documents of entities without the fields that one relationship adds, for every relationship of a
//! model. Each entity is laid out once. Only the entities that a relationship touches are laid out
//! again without it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use docward_model::{BsonType, Entity, Relationship};

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::decide::vote::Ruling;
use crate::declared::field_plan::{Origin, Planned, Ranked};
use crate::layout::fields::Layout;

/// The fields of a document. All users share them.
pub(crate) type Fields = Arc<Vec<Planned>>;

/// A document and its sizes.
#[derive(Clone, Default)]
pub(crate) struct Document {
    pub(crate) fields: Fields,
    pub(crate) bytes: Ranked,
}

impl Document {
    fn new(inside: Vec<Planned>) -> Self {
        let mut fields = vec![Planned::new("_id", BsonType::ObjectId, Origin::Id)];
        fields.extend(inside);
        let bytes = Ranked::of(&fields);
        Self { fields: Fields::new(fields), bytes }
    }
}

pub(crate) struct Documents<'m> {
    layout: Layout<'m>,
    /// The index of each entity, by name.
    places: BTreeMap<&'m str, usize>,
    /// The entities that each entity embeds.
    embeds: Vec<Vec<usize>>,
    /// Whether entities embed each other in a cycle. The contents of a document then depend on
    /// where the cycle begins.
    circular: bool,
    whole: RefCell<Vec<Option<Fields>>>,
    documents: RefCell<Vec<Option<Document>>>,
    /// The number of documents that each read begins with, if it follows from a relationship.
    roots: Arc<BTreeMap<String, u64>>,
    /// The decisions about each entity, without the parts that documents do not need.
    about: RefCell<BTreeMap<&'m str, Vec<Decision>>>,
}

impl<'m> Documents<'m> {
    pub(crate) fn new(layout: &Layout<'m>) -> Self {
        let model = layout.model;
        let names = model.entities.iter().enumerate();
        let places: BTreeMap<&str, usize> = names.map(|(i, e)| (e.name.as_str(), i)).collect();
        let mut embeds = vec![Vec::new(); model.entities.len()];
        for (relationship, decision) in layout.linked() {
            let (parent, child) = (&relationship.parent, &relationship.child);
            if decision.patterns.contains(&Pattern::Embedded)
                && let (Some(parent), Some(child)) =
                    (places.get(parent.as_str()), places.get(child.as_str()))
            {
                embeds[*parent].push(*child);
            }
        }
        let circular = is_circular(&embeds);
        let whole = RefCell::new(vec![None; model.entities.len()]);
        let documents = RefCell::new(vec![None; model.entities.len()]);
        let layout = Layout { ..*layout };
        let roots = Arc::new(crate::declared::read_direction::roots(model));
        let about = RefCell::default();
        Self { layout, places, embeds, circular, whole, documents, roots, about }
    }

    pub(crate) fn roots(&self) -> Arc<BTreeMap<String, u64>> {
        self.roots.clone()
    }

    pub(crate) fn layout(&self) -> &Layout<'m> {
        &self.layout
    }

    /// Returns the documents of the parent and the child without the relationship.
    pub(crate) fn without(&self, relationship: &Relationship) -> (Document, Document) {
        let decision = self.layout.decisions.iter().find(|d| d.relationship == relationship.name);
        let patterns = decision.map_or(&[][..], |decision| &decision.patterns);
        let tree = relationship.parent == relationship.child;
        let of = |name: &str, leaves_alone: fn(&Pattern) -> bool| {
            let Some(entity) = self.layout.model.entity(name) else { return Document::default() };
            let untouched =
                patterns.iter().all(leaves_alone) && !self.is_inside(name, relationship);
            if self.circular {
                Document::new(self.slowly(entity, &relationship.name))
            } else if !tree && untouched {
                self.document(entity)
            } else {
                Document::new(self.part(entity, relationship))
            }
        };
        (of(&relationship.parent, leaves_parent), of(&relationship.child, leaves_child))
    }

    /// Returns the document of an entity that embeds one end of a relationship, without the
    /// relationship.
    pub(crate) fn around(&self, entity: &str, relationship: &Relationship) -> Option<Document> {
        let entity = self.layout.model.entity(entity)?;
        Some(Document::new(match self.circular {
            true => self.slowly(entity, &relationship.name),
            false => self.part(entity, relationship),
        }))
    }

    fn document(&self, entity: &'m Entity) -> Document {
        let place = self.places[entity.name.as_str()];
        if let Some(found) = &self.documents.borrow()[place] {
            return found.clone();
        }
        let made = Document::new(self.whole(entity).to_vec());
        self.documents.borrow_mut()[place] = Some(made.clone());
        made
    }

    /// Lays out the whole entity again.
    fn slowly(&self, entity: &'m Entity, without: &str) -> Vec<Planned> {
        let decisions = self.layout.decisions.iter();
        let others: Vec<Decision> =
            decisions.filter(|other| other.relationship != without).cloned().collect();
        Layout { decisions: &others, ..self.layout }.fields(entity, &mut Vec::new())
    }

    /// Returns all fields of an entity.
    fn whole(&self, entity: &'m Entity) -> Fields {
        let place = self.places[entity.name.as_str()];
        if let Some(found) = &self.whole.borrow()[place] {
            return found.clone();
        }
        let mut fields = self.layout.fields(entity, &mut self.embedded_in(place));
        self.fill(&mut fields, |child| self.whole(child).to_vec());
        let made = Fields::new(fields);
        self.whole.borrow_mut()[place] = Some(made.clone());
        made
    }

    /// Returns all fields of an entity except those of a relationship.
    fn part(&self, entity: &'m Entity, without: &Relationship) -> Vec<Planned> {
        let mut about = self.about.borrow_mut();
        let decisions = about.entry(entity.name.as_str()).or_insert_with(|| {
            let all = self.layout.decisions.iter();
            let inside = self.embedded_in(self.places[entity.name.as_str()]);
            // Elements have ids only if other documents refer to the embedded entity.
            let touches = |d: &&Decision| {
                d.parent == entity.name
                    || d.child == entity.name
                    || inside.contains(&d.parent.as_str())
            };
            all.filter(touches).map(light).collect()
        });
        // A decision without patterns adds nothing.
        let place = decisions.iter().position(|d| d.relationship == without.name);
        let patterns = place.map(|i| std::mem::take(&mut decisions[i].patterns));
        let layout = Layout { decisions, ..self.layout };
        let place_of = self.places[entity.name.as_str()];
        let mut fields = layout.fields(entity, &mut self.embedded_in(place_of));
        if let Some((i, patterns)) = place.zip(patterns) {
            decisions[i].patterns = patterns;
        }
        drop(about);
        self.fill(&mut fields, |child| {
            let ends = [&without.parent, &without.child];
            if ends.contains(&&child.name) || self.is_inside(&child.name, without) {
                self.part(child, without)
            } else {
                self.whole(child).to_vec()
            }
        });
        fields
    }

    /// Returns the names of the entities that an entity embeds. A layout that begins below them
    /// leaves them empty.
    fn embedded_in(&self, place: usize) -> Vec<&'m str> {
        let entities = &self.layout.model.entities;
        self.embeds[place].iter().map(|child| entities[*child].name.as_str()).collect()
    }

    fn fill(&self, fields: &mut [Planned], made: impl Fn(&'m Entity) -> Vec<Planned>) {
        let model = self.layout.model;
        for field in fields {
            let Origin::Embedded(name) = &field.origin else { continue };
            let child = model.relationship(name).and_then(|r| model.entity(&r.child));
            if let Some(child) = child {
                // Elements may begin with an id.
                field.fields.retain(|inside| inside.origin == Origin::Id);
                field.fields.extend(made(child));
            }
        }
    }

    /// Whether one end of a relationship is embedded in an entity, at any depth.
    fn is_inside(&self, entity: &str, relationship: &Relationship) -> bool {
        let place = |name: &str| self.places.get(name).copied();
        let ends = [place(&relationship.parent), place(&relationship.child)];
        let mut open: Vec<usize> = place(entity).map_or_else(Vec::new, |i| self.embeds[i].clone());
        while let Some(next) = open.pop() {
            if ends.contains(&Some(next)) {
                return true;
            }
            open.extend(&self.embeds[next]);
        }
        false
    }
}

/// Whether a pattern adds no fields to the parent.
fn leaves_parent(pattern: &Pattern) -> bool {
    matches!(
        pattern,
        Pattern::ParentInChild
            | Pattern::ParentsInChild
            | Pattern::Junction
            | Pattern::ExtendedReference { in_parent: false, .. }
    )
}

/// Whether a pattern adds no fields to the child.
fn leaves_child(pattern: &Pattern) -> bool {
    matches!(
        pattern,
        Pattern::Embedded
            | Pattern::ChildrenInParent
            | Pattern::Junction
            | Pattern::Subset { .. }
            | Pattern::Computed { .. }
            | Pattern::CappedArray { .. }
            | Pattern::Outlier { .. }
            | Pattern::ExtendedReference { in_parent: true, .. }
    )
}

fn light(decision: &Decision) -> Decision {
    let Decision { relationship, parent, child, verdict, choice, facts, ruling, patterns, .. } =
        decision;
    Decision {
        relationship: relationship.clone(),
        parent: parent.clone(),
        child: child.clone(),
        verdict: *verdict,
        choice: *choice,
        facts: facts.clone(),
        ruling: Ruling {
            choice: ruling.choice,
            decided_by: ruling.decided_by,
            how: String::new(),
            rows: Vec::new(),
        },
        patterns: patterns.clone(),
        remarks: Vec::new(),
        questions: Vec::new(),
        turns: Vec::new(),
        alternatives: Vec::new(),
        needs_transaction: decision.needs_transaction,
    }
}

/// Whether the graph has a cycle. Removes nodes without incoming edges until only cycles and the
/// nodes behind them are left.
fn is_circular(leads_to: &[Vec<usize>]) -> bool {
    let mut into = vec![0_usize; leads_to.len()];
    for to in leads_to.iter().flatten() {
        into[*to] += 1;
    }
    let mut open: Vec<usize> = (0..into.len()).filter(|i| into[*i] == 0).collect();
    let mut gone = 0;
    while let Some(next) = open.pop() {
        gone += 1;
        for to in &leads_to[next] {
            into[*to] -= 1;
            if into[*to] == 0 {
                open.push(*to);
            }
        }
    }
    gone < leads_to.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::facts::Bounds;
    use crate::declared::naming::Naming;
    use crate::design;
    use docward_model::ProfileName;

    /// Compares every document of every relationship with a complete new layout.
    fn agrees(text: &str) -> (usize, bool) {
        let model = crate::read("m.yaml", text).unwrap_or_else(|faults| panic!("{faults:?}"));
        let made = design(&model, ProfileName::Neutral, &Bounds::default());
        let naming = Naming::of(&model, ProfileName::Neutral);
        let layout =
            Layout { model: &model, decisions: &made.decisions, advice: &made.entities, naming };
        let documents = Documents::new(&layout);
        for relationship in &model.relationships {
            let (parent, child) = documents.without(relationship);
            for (name, found) in [(&relationship.parent, parent), (&relationship.child, child)] {
                let entity = model.entity(name).unwrap();
                let slow = documents.slowly(entity, &relationship.name);
                assert_eq!(found.fields[1..], slow, "{name} without {}", relationship.name);
            }
        }
        (model.relationships.len(), documents.circular)
    }

    #[test]
    fn documents_are_those_of_a_layout_without_the_relationship() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/models");
        let mut seen = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            seen += agrees(&text).0;
        }
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn what_is_embedded_in_several_steps_is_found() {
        let mut text = String::from("name: m\nentities:\n");
        for name in ["a", "b", "c", "d"] {
            text += &format!(
                "  {name}: {{lifecycle: {{growth: 1/year, kept: forever}}, fields: {{x{name}: int}}}}\n"
            );
        }
        text += "relationships:\n";
        for (from, to) in [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "a")] {
            text += &format!(
                "  {from}.{to}s: {{child: {to}, children: {{p50: 2, p95: 3, p99: 4, max: 5}}, growth: bounded}}\n"
            );
        }
        text += "reads:\n";
        for (from, to) in [("a", "b"), ("b", "c"), ("c", "d")] {
            text += &format!(
                "  {from}: {{from: {from}, where: [_id], with: [{from}.{to}s], rate: 1/s}}\n"
            );
        }
        text += "writes:\n  w: {insert: [a, b, c, d], rate: 1/s}\n";
        agrees(&text);
        // Two entities that embed each other.
        let circle = text.replace(
            "  b: {from: b",
            "  z: {from: d, where: [_id], with: [d.as], rate: 1/s}\n  b: {from: b",
        );
        agrees(&circle);
    }

    #[test]
    fn circles_are_seen() {
        assert!(!is_circular(&[vec![1, 2], vec![2], vec![]]));
        assert!(is_circular(&[vec![1], vec![2], vec![1]]));
    }
}
