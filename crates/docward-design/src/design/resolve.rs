//! Decisions made together. Each relationship is decided by its own figures, from the leaves up; constraints then
//! rule out what cannot be beside, above or below it, until none of them has anything to say.
//!
//! A restriction is never taken back. There are finitely many of them, so the loop ends, and every round sees the
//! same decisions for all constraints, so their order in the list does not matter.

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
use crate::declared::{access, quantile, size};
use crate::layout::fields::has_part_id;

use super::advice;
use super::draft::Draft;

/// A rule about the decisions of a whole model.
#[derive(Clone, Copy)]
pub(crate) struct Constraint {
    /// What it is called.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests say which one is wrong"))]
    pub(crate) name: &'static str,
    /// What has to be settled before it is asked.
    pub(crate) stage: Stage,
    /// What it rules out, given the decisions so far.
    pub(crate) find: fn(&State<'_>, &mut Vec<Restriction>),
}

/// What a constraint looks at. A stage is reached when those before it have nothing to say: the size of a document
/// means nothing while it is part of itself, and pages mean nothing while their list may still go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// What is declared, and references: both stay what they are.
    Certain,
    /// Whether documents have an end.
    Finite,
    /// Depth and size of documents.
    Measured,
    /// Where children live, in documents that fit.
    Placed,
    /// What parents keep of their children.
    Kept,
    /// The finished design: its check-list, its lifetimes, its costs.
    Reviewed,
}

impl Stage {
    const ALL: [Self; 6] =
        [Self::Certain, Self::Finite, Self::Measured, Self::Placed, Self::Kept, Self::Reviewed];
}

/// Why a relationship is not embedded although its own figures may allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VetoId {
    /// The data that is compared has references.
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
    /// The rows that it stands for.
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

/// Something that is ruled out for a relationship.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Restriction {
    /// It is not embedded.
    Veto { relationship: String, id: VetoId, because: String },
    /// Its parent keeps no preview, or no count or sum either, as nothing could keep them right.
    NoSummary { relationship: String, keeps_figures: bool, because: String },
    /// Its preview has so many at most.
    Preview { relationship: String, most: u64, because: String },
    /// The finished design speaks against embedding it, and it stays embedded all the same.
    Stays { relationship: String, because: String },
}

/// What is ruled out so far.
#[derive(Clone, Debug, Default)]
struct Restrictions {
    vetoes: BTreeMap<String, (VetoId, String)>,
    /// Whether figures stay.
    no_summary: BTreeMap<String, (bool, String)>,
    previews: BTreeMap<String, (u64, String)>,
    stays: BTreeMap<String, String>,
}

impl Restrictions {
    /// Adds one; false when it says nothing new.
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

/// The decisions of a model under the restrictions so far.
pub(crate) struct State<'m> {
    pub(crate) model: &'m DesignModel,
    pub(crate) bounds: &'m Bounds,
    pub(crate) naming: Naming,
    /// The constraints that are run.
    pub(crate) constraints: &'m [Constraint],
    /// Relationships that data stores otherwise than was decided, and how.
    stored: &'m BTreeMap<String, Pattern>,
    /// What the file says of each relationship: the same in every round.
    known: BTreeMap<&'m str, Known>,
    /// The relationships that each entity has a part in.
    of: BTreeMap<&'m str, Vec<&'m Relationship>>,
    /// The writes of each entity.
    writes: BTreeMap<&'m str, Vec<&'m DesignWrite>>,
    restrictions: Restrictions,
    made: BTreeMap<String, Decision>,
    /// What a first vote decided, by declared fields alone: ids and copies have a size, too.
    first: BTreeMap<String, Decision>,
    draft: OnceCell<Draft>,
}

impl<'m> State<'m> {
    /// A model that nothing is decided of yet.
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
            made: BTreeMap::new(),
            first: BTreeMap::new(),
            draft: OnceCell::new(),
        }
    }

    /// Decides everything and runs the constraints up to a stage until none has anything to say. Returns the number
    /// of rounds that ruled something out.
    pub(crate) fn resolve(&mut self, last: Stage) -> usize {
        if self.first.is_empty() {
            // Constraints on what is declared say the same with and without decisions.
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

    /// What the constraints of a stage rule out now. Of two reasons for one thing the first by rank is told, whatever
    /// the order of the list.
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

    /// The same model with one more relationship that is not embedded, as far as the constraints on documents go.
    pub(crate) fn without_embedding(&self, relationship: &str) -> Self {
        let mut other = Self {
            known: self.known.clone(),
            of: self.of.clone(),
            writes: self.writes.clone(),
            restrictions: self.restrictions.clone(),
            made: BTreeMap::new(),
            first: self.first.clone(),
            draft: OnceCell::new(),
            ..*self
        };
        let veto = (VetoId::Check, String::new());
        other.restrictions.vetoes.insert(relationship.to_owned(), veto);
        other.resolve(Stage::Kept);
        other
    }

    /// Whether a constraint rules out nothing that is not ruled out already.
    #[cfg(test)]
    pub(crate) fn is_satisfied(&self, constraint: &Constraint) -> bool {
        let mut found = Vec::new();
        (constraint.find)(self, &mut found);
        let mut restrictions = self.restrictions.clone();
        found.into_iter().all(|restriction| !restrictions.add(restriction))
    }

    /// Whether the data that is compared says how a relationship is stored.
    pub(crate) fn is_stored(&self, relationship: &str) -> bool {
        self.stored.contains_key(relationship)
    }

    /// Whether it was looked at already whether a relationship should be embedded in the finished design.
    pub(crate) fn is_reviewed(&self, relationship: &str) -> bool {
        self.restrictions.stays.contains_key(relationship)
    }

    /// The decisions, in the order of the relationships.
    pub(crate) fn decisions(&self) -> Vec<Decision> {
        let relationships = self.model.relationships.iter();
        relationships.filter_map(|r| self.made.get(&r.name)).cloned().collect()
    }

    /// What was decided about a relationship.
    pub(crate) fn decision(&self, relationship: &str) -> Option<&Decision> {
        self.made.get(relationship)
    }

    /// Everything that was decided.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Decision> {
        self.made.values()
    }

    /// What is embedded.
    pub(crate) fn embedded(&self) -> impl Iterator<Item = &Decision> {
        self.all().filter(|made| made.choice == Some(Choice::Embed))
    }

    /// What is said about entities, given the decisions.
    pub(crate) fn advice(&self, decisions: &[Decision]) -> Vec<EntityAdvice> {
        advice::of_entities(self.model, decisions, self.naming)
    }

    /// The design that follows from the decisions.
    pub(crate) fn draft(&self) -> &Draft {
        self.draft.get_or_init(|| {
            let decisions = self.decisions();
            let advice = self.advice(&decisions);
            Draft::new(self.model, decisions, advice, self.naming)
        })
    }

    /// The same, for good.
    pub(crate) fn into_draft(self) -> Draft {
        self.draft();
        self.draft.into_inner().unwrap_or_else(|| unreachable!("it was made above"))
    }

    /// What bears on each relationship that its own figures could turn: a tree, a series over time and
    /// what was cut apart stay what they are.
    pub(crate) fn around(&self) -> BTreeMap<String, Around> {
        let mut found = BTreeMap::new();
        let held = self.held_by_id();
        for relationship in &self.model.relationships {
            let name = &relationship.name;
            let veto = self.restrictions.vetoes.get(name);
            let cut = veto.is_some_and(|(id, _)| *id != VetoId::TooLarge);
            // What others hold the id of is embedded nowhere.
            let holders = held.get(relationship.child.as_str());
            let held = holders.is_some_and(|all| all.iter().any(|other| other != name));
            let is_tree = access::is_tree(relationship);
            // What is shared and changes stays apart, whatever its figures.
            if is_tree || cut || held || self.changed(relationship).is_some() {
                continue;
            }
            let others = self.inside(&relationship.parent).filter(|(r, _)| r.name != *name);
            let (lists, names): (Vec<u64>, Vec<u64>) = others
                .map(|(r, made)| (made.facts.children_bytes(), size::element(r.role(), 0)))
                .unzip();
            let names = names.iter().sum::<u64>();
            let keep_newest = relationship.keep_newest;
            found.insert(name.clone(), Around { keep_newest, lists, names });
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

    /// The relationships that an entity has a part in.
    fn of(&self, entity: &str) -> impl Iterator<Item = &'m Relationship> + use<'m> {
        self.of.get(entity).cloned().unwrap_or_default().into_iter()
    }

    /// Decides a relationship after those below it, which make its children larger.
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
        // Other lists of the parent are weighed against this one afterwards, when all are known.
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
        let tree = access::is_tree(relationship);
        if tree {
            ruling.choice = Choice::Reference;
            ruling.decided_by = &["PT-ref.1"];
            ruling.how =
                "an entity above and below itself is a tree, which has no bound".to_owned();
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
            // It lives in another parent, and holds the id of this one there.
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
        let hybrid = decision.patterns.iter().any(|p| matches!(p, Pattern::Subset { .. }));
        decision.verdict = match (decision.choice, hybrid) {
            (None, _) => Verdict::Undecided,
            (Some(Choice::Embed), _) => Verdict::Embed,
            (Some(Choice::Reference), true) => Verdict::Hybrid,
            (Some(Choice::Reference), false) => Verdict::Reference,
        };
        self.made.insert(relationship.name.clone(), decision);
    }

    /// Takes away what is ruled out of the patterns of a relationship.
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

    /// Bytes of an entity's declared fields, its id, and the ids and copies it holds for other relationships
    /// than one.
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

    /// Bytes of what an entity holds for a relationship that is not embedded: an id or a list of them, with
    /// the copies beside it.
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

    /// Bytes of an entity's document with what has been decided to be embedded in it.
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

    /// Bytes of a child as a part of its parent.
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

    /// What has been decided to be embedded in an entity.
    pub(crate) fn inside<'d>(
        &'d self,
        entity: &'d str,
    ) -> impl Iterator<Item = (&'d Relationship, &'d Decision)> {
        let of_it = self.of(entity).filter(move |r| r.parent == entity);
        of_it
            .filter_map(|r| self.made.get(&r.name).map(|decision| (r, decision)))
            .filter(|(_, decision)| decision.choice == Some(Choice::Embed))
    }

    /// Entities that are part of an entity's documents, also by way of others, but for one.
    fn parts(&self, entity: &str, without: &str) -> BTreeSet<&'m str> {
        let embedded = |r: &&Relationship| {
            self.made.get(&r.name).is_some_and(|made| made.choice == Some(Choice::Embed))
        };
        access::parts(entity, without, |at| {
            let below = self.of(at).filter(|r| r.parent == at).filter(embedded);
            below.map(|r| r.child.as_str()).collect()
        })
    }

    /// Writes of what is part of a child are writes of the child.
    fn see_parts(&self, relationship: &Relationship, facts: &mut Facts) {
        let parts = self.parts(&relationship.child, &relationship.parent);
        if !parts.iter().any(|part| self.writes.contains_key(part)) {
            return;
        }
        let ends = [relationship.parent.as_str(), relationship.child.as_str()];
        let of = |entity: &&str| self.writes.get(*entity).into_iter().flatten().copied();
        let mut writes: Vec<&DesignWrite> = ends.iter().chain(&parts).flat_map(of).collect();
        // One write may be of several of them.
        writes.sort_by(|a, b| a.name.cmp(&b.name).then(a.place.cmp(&b.place)));
        writes.dedup_by(|a, b| std::ptr::eq(*a, *b));
        let written = derive::written(writes.iter().copied(), relationship, &parts);
        facts.co_update = written.co_update;
        facts.child_only_update = Some(written.child_only_update);
        facts.atomic = Some(written.atomic || relationship.invariant.is_some());
    }

    /// Which write changes a child that is shared, and why it is not embedded then.
    pub(crate) fn changed(&self, relationship: &Relationship) -> Option<String> {
        if !relationship.is_shared() {
            return None;
        }
        let (parent, child) = (&relationship.parent, &relationship.child);
        let mut writes = self.model.writes.iter();
        let whole = writes.clone().find(|write| changes(write, relationship));
        let parts = self.parts(child, parent);
        let part = || writes.find(|write| access::changes_part(write, child, &parts));
        let write = whole.or_else(part)?;
        let part = write.entities().find(|entity| whole.is_none() && parts.contains(entity));
        let what = part.map_or_else(
            || format!("`{child}`"),
            |part| format!("`{part}`, which is part of `{child}`"),
        );
        Some(format!(
            "`{}` changes {what}, and copies in several of `{parent}` would not follow",
            write.name
        ))
    }

    /// Entities that others hold ids of, with the relationships that do.
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

/// Whether a write changes children: it sets fields of theirs, or says of no field that it sets it, or takes
/// one away from parents that stay.
fn changes(write: &DesignWrite, relationship: &Relationship) -> bool {
    let (parent, child) = (&relationship.parent, &relationship.child);
    let sets = write.sets.is_empty() || write.sets.iter().any(|(entity, _)| entity == child);
    write.updates.contains(child) && sets
        || write.deletes.contains(child) && !write.deletes.contains(parent)
}
