//! Resolves all decisions of a model together. Each relationship is first decided by its own
//! figures, from the leaves up. Constraints then rule out decisions that conflict with others,
//! until no constraint applies.
//!
//! A restriction is never withdrawn, and the number of restrictions is finite, so the loop ends. In
//! every round, all constraints see the same decisions. Their order in the list therefore does not
//! matter.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use docward_model::{DesignModel, DesignWrite, Relationship};

use crate::decide::decision::{Decision, EntityAdvice, Verdict};
use crate::decide::derive::{self, Known};
use crate::decide::facts::{Bounds, Facts};
use crate::decide::flip_points::Around;
use crate::decide::pattern::Pattern;
use crate::decide::relationship_patterns;
use crate::decide::vote::{Choice, Row, RowId, Vote, decide};
use crate::declared::field_plan::{Rank, declared, document_bytes, own};
use crate::declared::naming::Naming;
use crate::declared::{quantile, read_direction, size};
use crate::layout::fields::has_part_id;

use super::advice;
use super::draft::Draft;

/// A rule about the decisions of a whole model.
#[derive(Clone, Copy)]
pub(crate) struct Constraint {
    /// The name.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests say which one is wrong"))]
    pub(crate) name: &'static str,
    /// The stage at which the constraint is checked.
    pub(crate) stage: Stage,
    /// Finds the options that the constraint rules out, given the current decisions.
    pub(crate) find: fn(&State<'_>, &mut Vec<Restriction>),
}

/// The stage of a constraint. A stage begins when no constraint of the earlier stages applies. For
/// example, the size of a document has no meaning while the document embeds itself. Pages have no
/// meaning while their list may still be referenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Declarations and references, which do not change.
    Certain,
    /// Whether documents are finite.
    Finite,
    /// The depth and size of documents.
    Measured,
    /// The documents that embed children, if they fit.
    Placed,
    /// The data that parents store about their children.
    Kept,
    /// The finished design: its checklist, its lifetimes, its costs.
    Reviewed,
}

impl Stage {
    const ALL: [Self; 6] =
        [Self::Certain, Self::Finite, Self::Measured, Self::Placed, Self::Kept, Self::Reviewed];
}

/// Why a relationship is not embedded although its own figures may allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VetoId {
    /// The compared data has references.
    Stored,
    Series,
    SharedAndChanged,
    HeldById,
    Circle,
    TooDeep,
    TooLarge,
    PagesInList,
    OtherHome,
    Lifetime,
    Check,
    Cost,
}

impl VetoId {
    /// Returns the rows of the decision tables that the veto represents.
    pub(crate) fn rows(self) -> &'static [&'static str] {
        match self {
            Self::Stored => &["DP-2"],
            Self::Series => &["DM-08.5", "PT-bucket.1"],
            Self::SharedAndChanged => &["ER-M.5", "DM-07.6", "DM-07.7"],
            Self::HeldById | Self::OtherHome => &["ER-M.5", "DM-07.6"],
            Self::Circle | Self::TooDeep => &["DM-06.1"],
            Self::TooLarge => &["ER-M.6", "ER-F.7"],
            Self::PagesInList => &["PT-outlier.1", "GC-04"],
            Self::Lifetime => &["DP-2"],
            Self::Check => &["CK-12", "CK-13"],
            Self::Cost => &["DM-05.1", "DM-07.2"],
        }
    }
}

/// A restriction on a relationship.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Restriction {
    /// The relationship is not embedded.
    Veto { relationship: String, id: VetoId, because: String },
    /// The parent stores no preview. Unless `keeps_figures` is set, it also stores no counts and
    /// sums, because no write could keep them correct.
    NoSummary { relationship: String, keeps_figures: bool, because: String },
    /// The preview has at most `most` children.
    Preview { relationship: String, most: u64, because: String },
    /// The finished design is an argument against embedding, but the relationship stays embedded.
    Stays { relationship: String, because: String },
}

/// The restrictions found so far.
#[derive(Clone, Debug, Default)]
struct Restrictions {
    vetoes: BTreeMap<String, (VetoId, String)>,
    /// Whether counts and sums stay, and why there is no preview.
    no_summary: BTreeMap<String, (bool, String)>,
    previews: BTreeMap<String, (u64, String)>,
    stays: BTreeMap<String, String>,
}

impl Restrictions {
    /// Adds a restriction. Returns false if it is not new.
    fn add(&mut self, restriction: Restriction) -> bool {
        fn first<V>(map: &mut BTreeMap<String, V>, name: String, value: V) -> bool {
            let is_new = !map.contains_key(&name);
            map.entry(name).or_insert(value);
            is_new
        }
        match restriction {
            Restriction::Veto { relationship, id, because } => {
                first(&mut self.vetoes, relationship, (id, because))
            }
            Restriction::NoSummary { relationship, keeps_figures, because } => {
                first(&mut self.no_summary, relationship, (keeps_figures, because))
            }
            Restriction::Stays { relationship, because } => {
                first(&mut self.stays, relationship, because)
            }
            Restriction::Preview { relationship, most, because } => {
                let is_new = self.previews.get(&relationship).is_none_or(|(have, _)| most < *have);
                if is_new {
                    self.previews.insert(relationship, (most, because));
                }
                is_new
            }
        }
    }
}

/// The decisions of a model under the current restrictions.
pub(crate) struct State<'m> {
    pub(crate) model: &'m DesignModel,
    pub(crate) bounds: &'m Bounds,
    pub(crate) naming: Naming,
    /// The constraints to check.
    pub(crate) constraints: &'m [Constraint],
    /// Relationships that the data stores with another pattern than the decision.
    stored: &'m BTreeMap<String, Pattern>,
    /// The declared facts about each relationship, which are the same in every round.
    known: BTreeMap<&'m str, Known>,
    /// The relationships of each entity.
    of: BTreeMap<&'m str, Vec<&'m Relationship>>,
    /// The writes of each entity.
    writes: BTreeMap<&'m str, Vec<&'m DesignWrite>>,
    restrictions: Restrictions,
    /// A relationship that is embedded on trial, whatever its figures are.
    embedded: Option<String>,
    made: BTreeMap<String, Decision>,
    /// The decisions of a first vote based only on declared fields. They are needed because ids and
    /// copies also have a size.
    first: BTreeMap<String, Decision>,
    draft: OnceCell<Draft>,
}

impl<'m> State<'m> {
    /// Creates a state without decisions.
    pub(crate) fn new(
        model: &'m DesignModel,
        bounds: &'m Bounds,
        naming: Naming,
        stored: &'m BTreeMap<String, Pattern>,
        constraints: &'m [Constraint],
    ) -> Self {
        let known = model.relationships.iter();
        let known = known.map(|r| (r.name.as_str(), derive::known(model, r, bounds))).collect();
        let mut of: BTreeMap<&str, Vec<&Relationship>> = BTreeMap::new();
        for relationship in &model.relationships {
            of.entry(&relationship.parent).or_default().push(relationship);
            if relationship.child != relationship.parent {
                of.entry(&relationship.child).or_default().push(relationship);
            }
        }
        let mut writes: BTreeMap<&str, Vec<&DesignWrite>> = BTreeMap::new();
        for write in &model.writes {
            for entity in write.entities() {
                writes.entry(entity).or_default().push(write);
            }
        }
        let mut restrictions = Restrictions::default();
        for name in stored.iter().filter(|(_, p)| **p != Pattern::Embedded).map(|(name, _)| name) {
            let because = "the data still refers".to_owned();
            let (relationship, id) = (name.clone(), VetoId::Stored);
            restrictions.add(Restriction::Veto { relationship, id, because });
        }
        Self {
            model,
            bounds,
            naming,
            constraints,
            stored,
            known,
            of,
            writes,
            restrictions,
            embedded: None,
            made: BTreeMap::new(),
            first: BTreeMap::new(),
            draft: OnceCell::new(),
        }
    }

    /// Decides all relationships and checks the constraints up to a stage until none applies.
    /// Returns the number of rounds that added restrictions.
    pub(crate) fn resolve(&mut self, last: Stage) -> usize {
        if self.first.is_empty() {
            // The constraints of this stage depend only on declarations and not on decisions.
            let found = self.found(Stage::Certain);
            self.restrict(found);
            self.decide_all();
            self.first = std::mem::take(&mut self.made);
        }
        self.decide_all();
        let mut rounds = 0;
        while Stage::ALL.into_iter().filter(|stage| *stage <= last).any(|stage| {
            let found = self.found(stage);
            self.restrict(found)
        }) {
            rounds += 1;
            self.decide_all();
        }
        rounds
    }

    /// Returns the restrictions of a stage's constraints. If there are two reasons for the same
    /// restriction, the one with the lower rank is kept, regardless of the order of the list.
    fn found(&self, stage: Stage) -> Vec<Restriction> {
        let mut found = Vec::new();
        for constraint in self.constraints.iter().filter(|c| c.stage == stage) {
            (constraint.find)(self, &mut found);
        }
        found.sort();
        found
    }

    fn restrict(&mut self, found: Vec<Restriction>) -> bool {
        let mut is_new = false;
        for restriction in found {
            is_new |= self.restrictions.add(restriction);
        }
        is_new
    }

    /// Returns the state with one more relationship that is not embedded. Only the constraints on
    /// documents are checked.
    pub(crate) fn without_embedding(&self, relationship: &str) -> Self {
        let mut other = self.copied();
        let veto = (VetoId::Check, String::new());
        other.restrictions.vetoes.insert(relationship.to_owned(), veto);
        other.resolve(Stage::Kept);
        other
    }

    /// Returns the state with a relationship that is embedded, whatever its figures are. Only the
    /// constraints on documents are checked.
    pub(crate) fn with_embedding(&self, relationship: &str) -> Self {
        let mut other = self.copied();
        other.embedded = Some(relationship.to_owned());
        other.resolve(Stage::Kept);
        other
    }

    /// Returns a copy without decisions.
    fn copied(&self) -> Self {
        Self {
            known: self.known.clone(),
            of: self.of.clone(),
            writes: self.writes.clone(),
            restrictions: self.restrictions.clone(),
            made: BTreeMap::new(),
            first: self.first.clone(),
            draft: OnceCell::new(),
            embedded: self.embedded.clone(),
            ..*self
        }
    }

    /// Whether a constraint finds no new restriction.
    #[cfg(test)]
    pub(crate) fn is_satisfied(&self, constraint: &Constraint) -> bool {
        let mut found = Vec::new();
        (constraint.find)(self, &mut found);
        let mut restrictions = self.restrictions.clone();
        found.into_iter().all(|restriction| !restrictions.add(restriction))
    }

    /// Whether the compared data determines how a relationship is stored.
    pub(crate) fn is_stored(&self, relationship: &str) -> bool {
        self.stored.contains_key(relationship)
    }

    /// Whether a review has already decided whether a relationship stays embedded.
    pub(crate) fn is_reviewed(&self, relationship: &str) -> bool {
        self.restrictions.stays.contains_key(relationship)
    }

    /// Returns the decisions, in the order of the relationships.
    pub(crate) fn decisions(&self) -> Vec<Decision> {
        let relationships = self.model.relationships.iter();
        relationships.filter_map(|r| self.made.get(&r.name)).cloned().collect()
    }

    /// Returns the decision about a relationship.
    pub(crate) fn decision(&self, relationship: &str) -> Option<&Decision> {
        self.made.get(relationship)
    }

    /// Returns all decisions.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Decision> {
        self.made.values()
    }

    /// Returns the decisions to embed.
    pub(crate) fn embedded(&self) -> impl Iterator<Item = &Decision> {
        self.all().filter(|made| made.choice == Some(Choice::Embed))
    }

    /// Returns the advice about entities, given the decisions.
    pub(crate) fn advice(&self, decisions: &[Decision]) -> Vec<EntityAdvice> {
        advice::of_entities(self.model, decisions, self.naming)
    }

    /// Returns the design that follows from the decisions.
    pub(crate) fn draft(&self) -> &Draft {
        self.draft.get_or_init(|| {
            let decisions = self.decisions();
            let advice = self.advice(&decisions);
            Draft::new(self.model, decisions, advice, self.naming)
        })
    }

    /// Returns the design and consumes the state.
    pub(crate) fn into_draft(self) -> Draft {
        self.draft();
        self.draft.into_inner().unwrap_or_else(|| unreachable!("it was made above"))
    }

    /// Returns the surroundings of each relationship that its own figures could turn. Trees, time
    /// series and relationships with a veto are excluded.
    pub(crate) fn around(&self) -> BTreeMap<String, Around> {
        let mut found = BTreeMap::new();
        let held = self.held_by_id();
        for relationship in &self.model.relationships {
            let name = &relationship.name;
            let veto = self.restrictions.vetoes.get(name);
            let cut = veto.is_some_and(|(id, _)| *id != VetoId::TooLarge);
            // An entity whose ids others store is never embedded.
            let holders = held.get(relationship.child.as_str());
            let held = holders.is_some_and(|all| all.iter().any(|other| other != name));
            let is_tree = read_direction::is_tree(relationship);
            // A shared child that changes is never embedded, whatever its figures are.
            if is_tree || cut || held || self.changed(relationship).is_some() {
                continue;
            }
            let others = self.inside(&relationship.parent).filter(|(r, _)| r.name != *name);
            let (lists, names): (Vec<u64>, Vec<u64>) = others
                .map(|(r, made)| (made.facts.children_bytes(), size::element(r.role(), 0)))
                .unzip();
            let names = names.iter().sum::<u64>();
            let keep_newest = relationship.keep_newest;
            let around = Around { keep_newest, lists, names, apart_if_read_alone: false };
            found.insert(name.clone(), around);
        }
        found
    }

    fn decide_all(&mut self) {
        self.draft = OnceCell::new();
        self.made.clear();
        for relationship in &self.model.relationships {
            self.decide(relationship, &mut Vec::new());
        }
    }

    /// Returns the relationships of an entity.
    fn of(&self, entity: &str) -> impl Iterator<Item = &'m Relationship> + use<'m> {
        self.of.get(entity).cloned().unwrap_or_default().into_iter()
    }

    /// Decides a relationship after those below it, because these make its children larger.
    fn decide(&mut self, relationship: &'m Relationship, above: &mut Vec<String>) {
        if self.made.contains_key(&relationship.name) || above.contains(&relationship.name) {
            return;
        }
        above.push(relationship.name.clone());
        for below in self.of(&relationship.child) {
            if below.parent == relationship.child && below.parent != below.child {
                self.decide(below, above);
            }
        }
        above.pop();
        let child =
            (self.part_bytes(relationship, Rank::Mean), self.part_bytes(relationship, Rank::P99));
        // Other lists of the parent are considered later, when all are known.
        let parent = self
            .own_bytes(&relationship.parent, Rank::P99, &relationship.name)
            .saturating_add(size::element(relationship.role(), 0));
        let Some(Known { facts, mut questions }) =
            self.known.get(relationship.name.as_str()).cloned()
        else {
            return;
        };
        let mut facts =
            Facts { parent_bytes: parent, child_bytes: child.0, child_p99: child.1, ..facts };
        self.see_parts(relationship, &mut facts);
        let mut ruling = decide(&facts, self.bounds);
        if self.embedded.as_ref() == Some(&relationship.name) {
            ruling.choice = Choice::Embed;
        }
        let veto = self.restrictions.vetoes.get(&relationship.name);
        if let Some((id, because)) = veto {
            let rows = id.rows();
            ruling.choice = Choice::Reference;
            ruling.decided_by = rows;
            ruling.how = because.clone();
            if *id != VetoId::OtherHome {
                ruling.how = format!("vetoed: {because}");
                let (id, because) = (RowId::Constraint, because.clone());
                ruling.rows.push(Row { id, rows, vote: Vote::Veto, because });
            }
        }
        let stored = self.stored.get(&relationship.name);
        if stored == Some(&Pattern::Embedded) {
            ruling.choice = Choice::Embed;
            ruling.decided_by = &["DP-2"];
            ruling.how = "the data still embeds".to_owned();
        }
        let tree = read_direction::is_tree(relationship);
        if tree {
            ruling.choice = Choice::Reference;
            ruling.decided_by = &["PT-ref.1"];
            ruling.how =
                "documents that refer to a parent of the same entity form a tree, and a tree has no limit".to_owned();
        }
        let mut made = relationship_patterns::of_relationship(
            self.model,
            relationship,
            &facts,
            &ruling,
            self.bounds,
        );
        if let Some(pattern) = stored {
            made.patterns = vec![pattern.clone()];
        } else if veto.is_some_and(|(id, _)| *id == VetoId::OtherHome) {
            // Another parent embeds the child, which stores the id of this parent there.
            made.patterns = vec![Pattern::ParentInChild];
            made.remarks.clear();
        }
        let open = !questions.is_empty() && stored.is_none();
        questions.extend(made.questions);
        let mut decision = Decision {
            relationship: relationship.name.clone(),
            parent: relationship.parent.clone(),
            child: relationship.child.clone(),
            verdict: Verdict::Undecided,
            choice: (!open).then_some(ruling.choice),
            turns: Vec::new(),
            facts,
            ruling,
            patterns: if open { Vec::new() } else { made.patterns },
            remarks: if open { Vec::new() } else { made.remarks },
            questions,
            alternatives: Vec::new(),
            needs_transaction: false,
        };
        self.restrict_patterns(&mut decision);
        // Copies of children next to their ids are a hybrid, as is a preview of the newest children
        // (DM-07.7).
        let is_redundant = |p: &Pattern| match p {
            Pattern::Subset { .. } => true,
            Pattern::ExtendedReference { in_parent, .. } => *in_parent,
            _ => false,
        };
        // A document for each link is no part of the parent, whatever it repeats.
        let is_link = decision.patterns.contains(&Pattern::Junction);
        let hybrid = !is_link && decision.patterns.iter().any(is_redundant);
        decision.verdict = match (decision.choice, hybrid) {
            (None, _) => Verdict::Undecided,
            (Some(Choice::Embed), _) => Verdict::Embed,
            (Some(Choice::Reference), true) => Verdict::Hybrid,
            (Some(Choice::Reference), false) => Verdict::Reference,
        };
        self.made.insert(relationship.name.clone(), decision);
    }

    /// Removes ruled-out patterns from a relationship.
    fn restrict_patterns(&self, decision: &mut Decision) {
        let name = &decision.relationship.clone();
        if let Some((keeps_figures, because)) = self.restrictions.no_summary.get(name) {
            let stays = |p: &Pattern| *keeps_figures && matches!(p, Pattern::Computed { .. });
            decision.patterns.retain(|pattern| !pattern.is_summary() || stays(pattern));
            decision.remarks.push(because.clone());
        }
        if let Some((most, because)) = self.restrictions.previews.get(name) {
            for pattern in &mut decision.patterns {
                if let Pattern::Subset { newest, .. } = pattern {
                    *newest = (*newest).min(*most);
                }
            }
            decision.patterns.retain(|p| !matches!(p, Pattern::Subset { newest: 0, .. }));
            decision.remarks.push(because.clone());
            if *most == 0 {
                relationship_patterns::alone(self.model, decision);
            }
        }
        if let Some(because) = self.restrictions.stays.get(name) {
            decision.remarks.push(because.clone());
        }
        relationship_patterns::drop_needless_copies(self.model, decision);
    }

    /// Returns the size of an entity's declared fields, its id, and its ids and copies for other
    /// relationships. The relationship `without` is excluded.
    fn own_bytes(&self, entity: &str, rank: Rank, without: &str) -> u64 {
        let Some(entity) = self.model.entity(entity) else { return size::DOCUMENT_OVERHEAD };
        let fields = declared(entity);
        let held: u64 = self
            .of(&entity.name)
            .filter(|r| r.name != without)
            .filter_map(|r| Some((r, self.first.get(&r.name)?)))
            .map(|(r, decision)| self.held(&entity.name, r, decision, rank))
            .fold(0, u64::saturating_add);
        let own = document_bytes(&fields, rank).saturating_add(size::element("_id", 12));
        own.saturating_add(held)
    }

    /// Returns the size of the fields that an entity has for a referenced relationship: an id or a
    /// list of ids, with copies.
    fn held(&self, entity: &str, r: &Relationship, decision: &Decision, rank: Rank) -> u64 {
        if decision.choice != Some(Choice::Reference) {
            return 0;
        }
        let copied = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ExtendedReference { fields, in_parent, .. } => Some((fields, *in_parent)),
            _ => None,
        });
        let copies = |source: &str, here: bool| {
            let Some((fields, _)) = copied.filter(|(_, in_parent)| *in_parent == here) else {
                return 0;
            };
            let source = self.model.entity(source);
            let fields = fields.iter().filter_map(|field| source?.field(field)).map(own);
            document_bytes(&fields.collect::<Vec<_>>(), rank)
        };
        let name = self.naming.id_of(&r.parent);
        match decision.patterns.first() {
            Some(Pattern::ParentInChild) if r.child == entity => {
                let copies = copies(&r.parent, false);
                let beside = if copies > 0 { size::element(&r.parent, copies) } else { 0 };
                beside.saturating_add(size::element(&name, 12))
            }
            Some(Pattern::ChildrenInParent) if r.parent == entity => {
                let children = decision.facts.children;
                let number = match rank {
                    Rank::Typical => children.p50,
                    Rank::Mean => quantile::mean(children).round() as u64,
                    Rank::P99 | Rank::Max => children.p99,
                };
                let one = match copies(&r.child, true) {
                    0 => 12,
                    copies => copies.saturating_add(size::element(&name, 12)),
                };
                if children.max <= 1 {
                    size::element(&name, one)
                } else {
                    size::element(r.role(), size::array(number, one))
                }
            }
            _ => 0,
        }
    }

    /// Returns the size of an entity's document with everything that is embedded in it so far.
    pub(crate) fn bytes(&self, entity: &str, rank: Rank, without: &str) -> u64 {
        let embedded = self
            .inside(entity)
            .map(|(r, decision)| {
                let facts = &decision.facts;
                let list = match rank {
                    Rank::Typical => size::array(facts.children.p50, facts.child_bytes),
                    Rank::Mean => {
                        let count = quantile::mean(facts.children);
                        size::mean_array(count, facts.child_bytes) as u64
                    }
                    Rank::P99 | Rank::Max => facts.children_bytes(),
                };
                size::element(r.role(), list)
            })
            .fold(0, u64::saturating_add);
        self.own_bytes(entity, rank, without).saturating_add(embedded)
    }

    /// Returns the size of a child that is embedded in its parent.
    fn part_bytes(&self, relationship: &Relationship, rank: Rank) -> u64 {
        let bytes = self.bytes(&relationship.child, rank, &relationship.name);
        let holders = self.of(&relationship.child).filter(|r| r.parent == relationship.child);
        let referred = holders.into_iter().any(|r| {
            self.made
                .get(&r.name)
                .is_some_and(|made| made.patterns.contains(&Pattern::ParentInChild))
        });
        let has_id = has_part_id(self.model, relationship, referred);
        bytes.saturating_sub(if has_id { 0 } else { size::element("_id", 12) })
    }

    /// Returns the relationships that are embedded in an entity so far.
    pub(crate) fn inside<'d>(
        &'d self,
        entity: &'d str,
    ) -> impl Iterator<Item = (&'d Relationship, &'d Decision)> {
        let of_it = self.of(entity).filter(move |r| r.parent == entity);
        of_it
            .filter_map(|r| self.made.get(&r.name).map(|decision| (r, decision)))
            .filter(|(_, decision)| decision.choice == Some(Choice::Embed))
    }

    /// Returns the entities that are embedded in an entity, directly or through others. The entity
    /// `without` is excluded.
    fn parts(&self, entity: &str, without: &str) -> BTreeSet<&'m str> {
        let embedded = |r: &&Relationship| {
            self.made.get(&r.name).is_some_and(|made| made.choice == Some(Choice::Embed))
        };
        read_direction::parts(entity, without, |at| {
            let below = self.of(at).filter(|r| r.parent == at).filter(embedded);
            below.map(|r| r.child.as_str()).collect()
        })
    }

    /// Counts writes of entities that are embedded in a child as writes of the child.
    fn see_parts(&self, relationship: &Relationship, facts: &mut Facts) {
        let parts = self.parts(&relationship.child, &relationship.parent);
        if !parts.iter().any(|part| self.writes.contains_key(part)) {
            return;
        }
        let ends = [relationship.parent.as_str(), relationship.child.as_str()];
        let of = |entity: &&str| self.writes.get(*entity).into_iter().flatten().copied();
        let mut writes: Vec<&DesignWrite> = ends.iter().chain(&parts).flat_map(of).collect();
        // A write may touch several of these entities.
        writes.sort_by(|a, b| a.name.cmp(&b.name).then(a.place.cmp(&b.place)));
        writes.dedup_by(|a, b| std::ptr::eq(*a, *b));
        let written = derive::written(writes.iter().copied(), relationship, &parts);
        facts.co_update = written.co_update;
        facts.child_only_update = Some(written.child_only_update);
        facts.atomic = Some(written.atomic || relationship.invariant.is_some());
    }

    /// Returns why a shared child is not embedded: the write that changes it.
    pub(crate) fn changed(&self, relationship: &Relationship) -> Option<String> {
        if !relationship.is_shared() {
            return None;
        }
        let (parent, child) = (&relationship.parent, &relationship.child);
        let mut writes = self.model.writes.iter();
        let whole = writes.clone().find(|write| changes(write, relationship));
        let parts = self.parts(child, parent);
        let part = || writes.find(|write| read_direction::changes_part(write, child, &parts));
        let write = whole.or_else(part)?;
        let part = write.entities().find(|entity| whole.is_none() && parts.contains(entity));
        let what = part.map_or_else(
            || format!("`{child}`"),
            |part| format!("`{part}`, which is part of `{child}`"),
        );
        Some(format!(
            "`{}` changes {what}, and its copies in several of `{parent}` would become out of date",
            write.name
        ))
    }

    /// Returns the entities whose ids others store, with the relationships that do so.
    pub(crate) fn held_by_id(&self) -> BTreeMap<&str, Vec<&str>> {
        let by_id = |pattern: &Pattern| {
            matches!(
                pattern,
                Pattern::ChildrenInParent
                    | Pattern::ParentsInChild
                    | Pattern::Junction
                    | Pattern::Tree
            )
        };
        let mut held: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for made in self.made.values().filter(|made| made.patterns.iter().any(by_id)) {
            held.entry(&made.child).or_default().push(&made.relationship);
        }
        held
    }
}

/// Whether a write changes children. It does so in three cases:
///
/// - It sets fields of theirs.
/// - It updates children without saying which fields it sets.
/// - It removes a child from parents that stay.
fn changes(write: &DesignWrite, relationship: &Relationship) -> bool {
    let (parent, child) = (&relationship.parent, &relationship.child);
    let sets = write.sets.is_empty() || write.sets.iter().any(|(entity, _)| entity == child);
    write.updates.contains(child) && sets
        || write.deletes.contains(child) && !write.deletes.contains(parent)
}
