//! The model that data should follow, designed once for all rules that compare with it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use docward_design::{
    Bounds, Choice, CollectionPlan, Decision, Design, Naming, Pattern, Planned, design,
    design_stored,
};
use docward_model::{
    BsonType, Collection, DesignModel, Evidence, Field, FieldShape, Namespace, ProfileName,
    Reference, Relationship,
};

use crate::Cx;

/// A declared model and the facts derived from it.
#[derive(Debug)]
pub struct Declared {
    /// The model as declared.
    pub model: DesignModel,
    /// The design to compare with the data. If the data still has a reference, or is still embedded, this is the
    /// stored form.
    pub design: Design,
    /// The design that was decided.
    pub decided: Design,
    /// Relationships that are embedded or open in the model but references in the data, with the child's collection.
    pub refers: BTreeMap<String, String>,
    /// The relationships of [`Self::refers`] whose migration is in progress: some parents already hold their children.
    moving: BTreeSet<String>,
    /// Relationships that are references in the model but whose children the parents contain, with the parent's
    /// collection.
    pub embeds: BTreeMap<String, String>,
    /// The decided design, except that children still in their parents are embedded: they have a collection already.
    leaving: Option<Design>,
    /// The naming of collections and fields.
    naming: Naming,
}

/// The declared model, if there is one.
pub fn of(cx: &Cx<'_>) -> Option<Rc<Declared>> {
    cx.evidence().design.as_ref()?;
    let profile = cx.settings().profile;
    let shared = cx.shared("declared model", |evidence| {
        evidence.design.clone().map(|model| Rc::new(Declared::new(model, evidence, profile)))
    });
    (*shared).clone()
}

/// Returns the profile whose naming the data follows, because a model does not say whether collections have house prefixes.
fn profile_of_names(model: &DesignModel, evidence: &Evidence, chosen: ProfileName) -> ProfileName {
    let is_there = |profile: ProfileName| {
        let designed = design(model, profile, &Bounds::default());
        designed.collections.iter().any(|plan| {
            evidence.collections.iter().any(|known| known.namespace.collection == plan.name)
        })
    };
    let others = ProfileName::ALL.into_iter().filter(|profile| *profile != chosen);
    std::iter::once(chosen).chain(others).find(|profile| is_there(*profile)).unwrap_or(chosen)
}

impl Declared {
    fn new(mut model: DesignModel, evidence: &Evidence, profile: ProfileName) -> Self {
        let profile = profile_of_names(&model, evidence, profile);
        let (bounds, naming) = (Bounds::default(), Naming::of(&model, profile));
        let decided = design(&model, profile, &bounds);
        let (mut stored, mut refers) = (BTreeMap::new(), BTreeMap::new());
        let mut moving = BTreeSet::new();
        for decision in decided.decisions.iter().filter(|d| d.choice != Some(Choice::Reference)) {
            let found = model.relationship(&decision.relationship).and_then(|relationship| {
                let child = collection_of(&model, naming, &relationship.child)?;
                let held = holds_children(&model, naming, evidence, relationship);
                // If the model also gives the child a collection, the child is in the right place.
                if held && decided.collections.iter().any(|plan| plan.name == child) {
                    return None;
                }
                let (pattern, field) =
                    referring(&model, naming, evidence, relationship, decision, &child)?;
                Some((child, pattern, field, held))
            });
            let Some((child, pattern, field, held)) = found else { continue };
            if held {
                moving.insert(decision.relationship.clone());
            }
            stored.insert(decision.relationship.clone(), pattern);
            refers.insert(decision.relationship.clone(), child);
            let mut all = model.relationships.iter_mut();
            if let Some(r) = all.find(|r| r.name == decision.relationship && r.field.is_none()) {
                r.field = field;
            }
        }
        let (mut embeds, mut leaving) = (BTreeMap::new(), BTreeMap::new());
        for decision in decided.decisions.iter().filter(|d| d.choice == Some(Choice::Reference)) {
            let parent = collection_of(&model, naming, &decision.parent);
            let Some(parent) =
                parent.filter(|_| still_embeds(&model, &decided, evidence, decision))
            else {
                continue;
            };
            let child = collection_of(&model, naming, &decision.child);
            let apart = |c: &&Collection| Some(&c.namespace.collection) == child.as_ref();
            let (name, pattern) = (decision.relationship.clone(), Pattern::Embedded);
            match evidence.collections.iter().find(apart) {
                Some(_) => leaving.insert(name.clone(), pattern),
                None => stored.insert(name.clone(), pattern),
            };
            embeds.insert(name, parent);
        }
        let designed = |stored: &BTreeMap<String, Pattern>| match stored.is_empty() {
            true => decided.clone(),
            false => design_stored(&model, profile, &bounds, stored),
        };
        let design = designed(&stored);
        let leaving = (!leaving.is_empty()).then(|| {
            leaving.extend(stored);
            designed(&leaving)
        });
        Self { model, design, decided, refers, moving, embeds, leaving, naming }
    }

    /// The relationships whose children are both inside and outside of their parents, although the model has a
    /// reference.
    fn halves(&self) -> impl Iterator<Item = (&Relationship, &Design)> {
        let half = self.leaving.iter().flat_map(|design| {
            let is_half = |name: &&String| {
                let mut all = self.design.decisions.iter().filter(|d| d.relationship == **name);
                all.any(|d| d.choice == Some(Choice::Reference))
            };
            self.embeds.keys().filter(is_half).map(move |name| (name, design))
        });
        half.filter_map(|(name, design)| Some((self.model.relationship(name)?, design)))
    }

    /// The design that predicts the size of an entity's documents. Documents that already contain their children are as
    /// large as with all of them, even if other documents do not contain theirs yet.
    pub fn sized(&self, entity: &str) -> &Design {
        let half = self.halves().find(|(relationship, _)| relationship.parent == entity);
        match half {
            Some((_, design)) => design,
            None if self.arrived(entity).is_empty() => &self.design,
            None => &self.decided,
        }
    }

    /// Returns the model's plan for a collection. The database does not matter.
    pub fn plan(&self, collection: &Collection) -> Option<&CollectionPlan> {
        self.design.collections.iter().find(|plan| plan.name == collection.namespace.collection)
    }

    /// The collection that holds an entity.
    pub fn home(&self, entity: &str) -> Option<&CollectionPlan> {
        self.design.collections.iter().find(|plan| plan.entity == entity)
    }

    /// Fields that may exist or not, because it is undecided how a relationship is stored: the names of the children,
    /// and the fields with their ids.
    pub fn undecided(&self, entity: &str) -> Vec<String> {
        let open = self.design.decisions.iter().filter(|decision| decision.choice.is_none());
        open.filter(|decision| decision.parent == entity || decision.child == entity)
            .filter_map(|decision| self.model.relationship(&decision.relationship))
            .flat_map(|relationship| self.fields_of(relationship, entity))
            .collect()
    }

    /// The fields that an entity may have for a relationship.
    fn fields_of(&self, relationship: &Relationship, entity: &str) -> Vec<String> {
        let naming = self.naming;
        let mut found = vec![relationship.role().to_owned()];
        if relationship.parent == entity {
            found.push(naming.child_field(relationship));
            found.push(naming.ids_of(relationship.role()));
        }
        if relationship.child == entity {
            found.push(naming.parent_field(relationship));
            found.push(naming.parents_field(relationship));
        }
        found
    }

    /// Fields of an entity that are references in the data but not in the model. They may refer to another key than
    /// `_id`, of any type.
    pub fn held(&self, entity: &str) -> Vec<String> {
        let all = self.refers.keys().filter_map(|name| self.model.relationship(name));
        // A list of ids is added after children have left.
        let half = self.halves().map(|(relationship, _)| relationship);
        let half = half.filter(|relationship| relationship.parent == entity);
        all.chain(half).flat_map(|relationship| self.fields_of(relationship, entity)).collect()
    }

    /// Returns the decision on a relationship, regardless of the data.
    pub fn decision(&self, relationship: &str) -> Option<&Decision> {
        self.decided.decisions.iter().find(|decision| decision.relationship == relationship)
    }

    /// A relationship whose children are being moved into or out of their parents, as stored in the parents.
    pub fn moving(&self, relationship: &str) -> Option<&Decision> {
        let half = self.halves().find(|(r, _)| r.name == relationship);
        let leaving = half.and_then(|(r, design)| {
            design.decisions.iter().find(|decision| decision.relationship == r.name)
        });
        leaving.or_else(|| self.moving.get(relationship).and_then(|name| self.decision(name)))
    }

    /// Fields with the children that have already been moved into an entity, or not yet out of it, as the model defines
    /// them.
    pub fn arrived(&self, entity: &str) -> Vec<&Planned> {
        let arrived = self.moving.iter().filter_map(|name| self.model.relationship(name));
        let all = arrived.map(|relationship| (relationship, &self.decided)).chain(self.halves());
        let of_entity = all.filter(|(relationship, _)| relationship.parent == entity);
        of_entity
            .filter_map(|(relationship, design)| {
                let plan = design.collections.iter().find(|plan| plan.entity == entity)?;
                plan.fields.iter().find(|f| f.name == relationship.role())
            })
            .collect()
    }

    /// Whether a namespace is the collection of a plan.
    pub fn is_home(plan: &CollectionPlan, namespace: &Namespace) -> bool {
        plan.name == namespace.collection
    }
}

/// Returns the collection of an entity, if it has one.
fn collection_of(model: &DesignModel, naming: Naming, entity: &str) -> Option<String> {
    let entity = model.entity(entity)?;
    Some(entity.collection.clone().unwrap_or_else(|| naming.collection(&[&entity.name])))
}

/// Whether parents contain their children: they have a part with the name of the relationship.
fn holds_children(
    model: &DesignModel,
    naming: Naming,
    evidence: &Evidence,
    relationship: &Relationship,
) -> bool {
    let Some(name) = collection_of(model, naming, &relationship.parent) else { return false };
    let parents = evidence.collections.iter().find(|c| c.namespace.collection == name);
    let part = parents.and_then(|c| c.profile.as_ref()?.field(relationship.role()));
    part.is_some_and(|field| {
        let ids = field.types.of(BsonType::ObjectId) + field.types.of(BsonType::String);
        ids < field.types.total()
    })
}

/// Whether parents contain children that the model stores elsewhere. They have a part with the name of the relationship
/// and a field of the child, and the model has no such field there.
fn still_embeds(
    model: &DesignModel,
    decided: &Design,
    evidence: &Evidence,
    decision: &Decision,
) -> bool {
    let Some(relationship) = model.relationship(&decision.relationship) else { return false };
    let (role, child) = (relationship.role(), model.entity(&relationship.child));
    let plan = decided.collections.iter().find(|plan| plan.entity == relationship.parent);
    let Some((plan, child)) = plan.zip(child.filter(|child| child.series.is_none())) else {
        return false;
    };
    let parents = evidence.collections.iter().find(|c| Declared::is_home(plan, &c.namespace));
    let Some(profile) = parents.and_then(|c| c.profile.as_ref()) else { return false };
    let declared = |name: &str| child.fields.iter().any(|field| field.name == name);
    let is_part = |field: &Field| {
        let mut below = field.children.iter().map(|at| &profile.fields[*at]);
        below.any(|f| match f.shape {
            FieldShape::Named => declared(&f.name),
            _ => f.children.iter().any(|at| declared(&profile.fields[*at].name)),
        })
    };
    !plan.fields.iter().any(|field| field.name == role) && profile.field(role).is_some_and(is_part)
}

/// The references of the data for a relationship that the model embeds or leaves open: the child has a collection, and
/// one of the two has an id of the other. Includes the field if its name is not the usual one.
fn referring(
    model: &DesignModel,
    naming: Naming,
    evidence: &Evidence,
    relationship: &Relationship,
    decision: &Decision,
    child: &str,
) -> Option<(Pattern, Option<String>)> {
    let stored = |name: &str| evidence.collections.iter().find(|c| c.namespace.collection == name);
    let children = stored(child)?;
    let kept = children.profile.as_ref()?;
    let parent = collection_of(model, naming, &relationship.parent)?;
    let leads = |reference: &&Reference, from: &str, to: &str| {
        reference.from.collection == from && reference.to.collection == to
    };
    let mut references = evidence.references.iter();
    let up = references.clone().find(|r| leads(r, child, &parent)).map(|r| r.path.to_string());
    let usual = [naming.parent_field(relationship), naming.parents_field(relationship)];
    let named = usual.iter().find(|name| kept.field(name).is_some()).cloned();
    // A declared field takes precedence.
    let field = match &relationship.field {
        Some(declared) => kept.field(declared).map(|_| declared.clone()),
        None => named.or(up),
    };
    if let Some(field) = field {
        let field = field.trim_end_matches("[]").to_owned();
        let is_list = kept.field(&field).is_some_and(|f| f.types.of(BsonType::Array) > 0);
        let pattern = if is_list { Pattern::ParentsInChild } else { Pattern::ParentInChild };
        return (!field.contains('.')).then_some((pattern, Some(field)));
    }
    if references.any(|r| leads(&r, &parent, child)) && decision.choice.is_some() {
        return Some((Pattern::ChildrenInParent, None));
    }
    None
}
