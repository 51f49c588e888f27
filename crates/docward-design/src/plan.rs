//! A whole model: every relationship decided from the leaves up, the collections that follow, and what
//! is still open.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    BsonType, ChildGrowth, DesignModel, DesignRead, DesignWrite, Entity, EntityField, ProfileName,
    Relationship, Spread, With, text,
};

use crate::capacity::{self, Capacity};
use crate::collection::{self, CollectionPlan};
use crate::compare::{self, Alternative};
use crate::decide::{Choice, Row, Ruling, Vote, decide};
use crate::derive::{self, Question};
use crate::documents::Documents;
use crate::facts::{Bounds, Facts};
use crate::layout::{Layout, Rank, declared, document_bytes, has_part_id, own};
use crate::naming::Naming;
use crate::pattern::{self, Pattern};
use crate::preview::{self, Preview};
use crate::sensitivity::{Around, Turn, turns};
use crate::{quantile, remarks, size, written};

/// What was decided about one relationship.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Its name.
    pub relationship: String,
    /// The entity that would hold embedded documents.
    pub parent: String,
    /// The entity that would be embedded.
    pub child: String,
    /// What is said in one word.
    pub verdict: Verdict,
    /// Which side won; `None` while something is open.
    pub choice: Option<Choice>,
    /// The facts it rests on.
    pub facts: Facts,
    /// How it was decided, row by row.
    pub ruling: Ruling,
    /// What becomes of it, the main pattern first.
    pub patterns: Vec<Pattern>,
    /// What was weighed and left.
    pub remarks: Vec<String>,
    /// What must be answered first.
    pub questions: Vec<Question>,
    /// What would turn it.
    pub turns: Vec<Turn>,
    /// What each way costs, the chosen one first.
    pub alternatives: Vec<Alternative>,
    /// Whether parent and children must change together and the design needs a transaction for it (CK-10).
    pub needs_transaction: bool,
}

impl Decision {
    /// Whether what a read fetches along the relationship is there already, where it begins: the newest few,
    /// or copies, in the parent or in the child.
    pub(crate) fn spares(&self, model: &DesignModel, with: &With, in_parent: bool) -> bool {
        let all_of = |have: &[String]| {
            !with.fields.is_empty() && with.fields.iter().all(|field| have.contains(field))
        };
        let dated = || model.entity(&self.child).and_then(pattern::date_field);
        let shown = Preview::of(self).filter(|_| in_parent);
        shown.is_some_and(|preview| preview.answers(with, dated().as_deref()))
            || self.patterns.iter().any(|pattern| match pattern {
                Pattern::ExtendedReference { fields, in_parent: there, .. } => {
                    *there == in_parent && all_of(fields)
                }
                _ => false,
            })
    }

    /// Whether the parent has the count and the sums that a read wants of its children. A rough count is no
    /// sum.
    pub(crate) fn keeps(&self, read: &DesignRead) -> bool {
        let counts = read.counts.contains(&self.relationship);
        let sums = || read.sums.iter().filter(|(of, _)| *of == self.relationship);
        self.patterns.iter().any(|pattern| match pattern {
            Pattern::Computed { counts: counted, sums: summed } => {
                (!counts || *counted) && sums().all(|(_, field)| summed.contains(field))
            }
            Pattern::Approximation { .. } => sums().next().is_none(),
            _ => false,
        })
    }
}

/// The word for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Children are part of the parent.
    Embed,
    /// Children are documents of their own.
    Reference,
    /// Children are documents of their own, and the parent carries a summary of them.
    Hybrid,
    /// Something is not known yet.
    Undecided,
}

impl Verdict {
    /// The word in JSON and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embed => "embed",
            Self::Reference => "reference",
            Self::Hybrid => "hybrid",
            Self::Undecided => "undecided",
        }
    }
}

/// What is said about an entity by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityAdvice {
    /// Its name.
    pub entity: String,
    /// Patterns.
    pub patterns: Vec<Pattern>,
    /// What was weighed and left.
    pub remarks: Vec<String>,
    /// Questions of DP-2 that are open, and others.
    pub questions: Vec<Question>,
}

/// An item of the check-list of designs (CK-8 to CK-15).
#[derive(Clone, Debug, PartialEq)]
pub struct DesignCheck {
    /// Its id.
    pub id: &'static str,
    /// Whether it holds; `None` when it cannot be told.
    pub holds: Option<bool>,
    /// What speaks for it.
    pub because: String,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// What the model is called.
    pub name: String,
    /// The database.
    pub database: String,
    /// Relationships, in the order of the file.
    pub decisions: Vec<Decision>,
    /// Entities, in the order of the file.
    pub entities: Vec<EntityAdvice>,
    /// The collections that follow.
    pub collections: Vec<CollectionPlan>,
    /// How large each gets.
    pub capacity: Vec<Capacity>,
    /// The check-list.
    pub checks: Vec<DesignCheck>,
    /// What was assumed because nobody said.
    pub assumptions: Vec<String>,
}

impl Design {
    /// Everything that is open, each question once.
    pub fn questions(&self) -> Vec<&Question> {
        let mut all: Vec<&Question> = self
            .entities
            .iter()
            .flat_map(|advice| &advice.questions)
            .chain(self.decisions.iter().flat_map(|decision| &decision.questions))
            .collect();
        let mut seen: Vec<&Question> = Vec::new();
        all.retain(|question| {
            let new = !seen.contains(question);
            if new {
                seen.push(question);
            }
            new
        });
        all
    }
}

/// Designs a model.
pub fn design(model: &DesignModel, profile: ProfileName, bounds: &Bounds) -> Design {
    let naming = Naming::of(model, profile);
    let mut deciding = Deciding {
        model,
        bounds,
        naming,
        of: BTreeMap::new(),
        made: BTreeMap::new(),
        first: BTreeMap::new(),
        vetoed: readings_apart(model),
    };
    for relationship in &model.relationships {
        deciding.of.entry(&relationship.parent).or_default().push(relationship);
        if relationship.child != relationship.parent {
            deciding.of.entry(&relationship.child).or_default().push(relationship);
        }
    }
    deciding.all();
    // Ids and copies that the first round put beside the declared fields have a size too.
    deciding.first = std::mem::take(&mut deciding.made);
    deciding.all();
    deciding.part();
    deciding.untangle();
    deciding.flatten();
    deciding.fit();
    // What became smaller may have moved together again.
    deciding.untangle();
    deciding.unpage();
    deciding.untangle();
    deciding.settle();
    deciding.untangle();
    deciding.remark_depth();
    let around = deciding.around();
    let mut decisions: Vec<Decision> = model
        .relationships
        .iter()
        .filter_map(|relationship| deciding.made.remove(&relationship.name))
        .collect();
    one_home(model, &mut decisions);
    let mut entities: Vec<EntityAdvice> =
        model.entities.iter().map(|entity| advise(model, entity, None)).collect();
    readings(model, &decisions, naming, &mut entities);
    remarks::parts_of_others(model, &decisions, &mut entities);
    written::keep(model, &mut decisions, &entities, naming);
    preview::trim(model, &mut decisions, &entities, naming, bounds);
    pattern::drop_needless_copies(model, &mut decisions);
    remarks::on_relationships(model, &mut decisions);
    let layout = Layout { model, decisions: &decisions, advice: &entities, naming };
    let collections = collection::all(&layout);
    let touched: Vec<_> =
        model.reads.iter().map(|read| derive::reads(model, &decisions, read)).collect();
    let documents = Documents::new(&layout);
    let compared: Vec<(Vec<Alternative>, bool)> = layout
        .linked()
        .map(|(relationship, decision)| match decision.choice {
            Some(_) => (
                compare::alternatives(&documents, relationship, decision, &touched, &collections),
                is_split(&layout, relationship, decision),
            ),
            None => (Vec::new(), false),
        })
        .collect();
    let elsewhere = remarks::living_elsewhere(&decisions);
    for (decision, (alternatives, split)) in decisions.iter_mut().zip(compared) {
        decision.alternatives = alternatives;
        decision.needs_transaction = split;
        if let Some(around) =
            around.get(&decision.relationship).filter(|_| decision.choice.is_some())
        {
            decision.turns = turns(&decision.facts, bounds, around);
            // What lives elsewhere does not come here because of its figures.
            if elsewhere.contains(&decision.relationship) {
                decision.turns.clear();
            }
        }
    }
    let capacity = capacity::all(model, &collections);
    let layout = Layout { model, decisions: &decisions, advice: &entities, naming };
    let checks = crate::checks::all(&layout, &collections, &capacity);
    Design {
        name: model.name.clone(),
        database: naming.database(model),
        assumptions: assumptions(model),
        decisions,
        entities,
        collections,
        capacity,
        checks,
    }
}

/// Whether what must change together lies in two documents. What another relationship puts into one document
/// is changed there together.
fn is_split(layout: &Layout<'_>, relationship: &Relationship, decision: &Decision) -> bool {
    let (parent, child) = (&relationship.parent, &relationship.child);
    let home = |entity| crate::checks::home(layout.decisions, entity);
    let apart = home(parent) != home(child);
    let mut writes = layout.model.writes.iter();
    let together = apart && writes.any(|w| w.atomic && w.touches(parent) && w.touches(child));
    (together || relationship.invariant.is_some()) && decision.choice == Some(Choice::Reference)
}

/// Whether a write changes children: it sets fields of theirs, or says of no field that it sets it, or takes
/// one away from parents that stay.
fn changes(write: &DesignWrite, relationship: &Relationship) -> bool {
    let (parent, child) = (&relationship.parent, &relationship.child);
    let sets = write.sets.is_empty() || write.sets.iter().any(|(entity, _)| entity == child);
    write.updates.contains(child) && sets
        || write.deletes.contains(child) && !write.deletes.contains(parent)
}

struct Deciding<'m> {
    model: &'m DesignModel,
    bounds: &'m Bounds,
    naming: Naming,
    /// The relationships that each entity has a part in.
    of: BTreeMap<&'m str, Vec<&'m Relationship>>,
    made: BTreeMap<String, Decision>,
    /// What a first round decided, by declared fields alone.
    first: BTreeMap<String, Decision>,
    /// Relationships that are not embedded for what is beside, above or below them: by which rows, and why.
    vetoed: BTreeMap<String, (&'static [&'static str], String)>,
}

/// Levels below a document from which on it is too deep, and up to which nothing is said (DM-06.1).
const DEEPEST: usize = 5;
const SHALLOW: usize = 3;

/// Lists that are too large together.
const TOGETHER: &[&str] = &["ER-M.6", "ER-F.7"];

/// Readings over time have a place of their own, whoever they belong to.
fn readings_apart(model: &DesignModel) -> BTreeMap<String, (&'static [&'static str], String)> {
    let is_series =
        |r: &&Relationship| model.entity(&r.child).is_some_and(|child| child.series.is_some());
    let rows: &[&str] = &["DM-08.5", "PT-bucket.1"];
    let found = model.relationships.iter().filter(is_series);
    found
        .map(|r| (r.name.clone(), (rows, format!("`{}` is a series over time", r.child))))
        .collect()
}

/// Levels of a declared field below its document; an array and its objects are one.
fn levels(fields: &[EntityField]) -> usize {
    let below = |field: &EntityField| match field.kind {
        BsonType::Object | BsonType::Array => 1 + levels(&field.fields),
        _ => 0,
    };
    fields.iter().map(below).max().unwrap_or(0)
}

impl<'m> Deciding<'m> {
    /// What bears on each relationship that its own figures could turn: a tree, a series over time and
    /// what was cut apart stay what they are.
    fn around(&self) -> BTreeMap<String, Around> {
        let mut found = BTreeMap::new();
        let held = self.held_by_id();
        for relationship in &self.model.relationships {
            let name = &relationship.name;
            let cut = self.vetoed.get(name).is_some_and(|(rows, _)| *rows != TOGETHER);
            // What others hold the id of is embedded nowhere.
            let holders = held.get(relationship.child.as_str());
            let held = holders.is_some_and(|all| all.iter().any(|other| other != name));
            if pattern::is_tree(relationship) || cut || held {
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

    /// What is embedded in itself by way of others has no end: circles are cut where they are read together
    /// least.
    fn untangle(&mut self) {
        for _ in 0..self.model.relationships.len() {
            let Some((name, because)) = self.circle() else { return };
            self.vetoed.insert(name, (&["DM-06.1"], because));
            self.all();
        }
    }

    /// Where a circle of what is embedded is cut, if there is one.
    fn circle(&self) -> Option<(String, String)> {
        let mut done = BTreeSet::new();
        for entity in &self.model.entities {
            let mut way = Vec::new();
            if self.leads_back(&entity.name, &mut way, &mut done) {
                // The way may have begun outside of the circle.
                let last = way.last().map_or("", |r: &&Relationship| r.child.as_str());
                let begin = way.iter().position(|r| r.parent == last).unwrap_or(0);
                let together = |r: &Relationship| {
                    self.made.get(&r.name).and_then(|made| made.facts.co_read).unwrap_or(0.0)
                };
                // What reads begin with stays at the top.
                let begun = |r: &Relationship| {
                    let reads = self.model.reads.iter().filter(|read| read.from == r.child);
                    reads.map(|read| read.per_second).fold(0.0, |sum, rate| sum + rate)
                };
                let weakest = way[begin..].iter().min_by(|a, b| {
                    let apart = together(a).total_cmp(&together(b));
                    apart.then(begun(b).total_cmp(&begun(a))).then(a.name.cmp(&b.name))
                })?;
                let through: Vec<&str> = way[begin..].iter().map(|r| r.name.as_str()).collect();
                let because = format!(
                    "`{}` would be inside itself, by way of {}",
                    weakest.child,
                    text::list(&through, 5)
                );
                return Some((weakest.name.clone(), because));
            }
        }
        None
    }

    /// Whether what an entity embeds leads back to something on the way.
    fn leads_back<'d>(
        &'d self,
        entity: &'d str,
        way: &mut Vec<&'d Relationship>,
        done: &mut BTreeSet<&'d str>,
    ) -> bool {
        if way.iter().any(|r| r.parent == entity) {
            return true;
        }
        if !done.insert(entity) {
            return false;
        }
        for (relationship, _) in self.inside(entity) {
            way.push(relationship);
            if self.leads_back(&relationship.child, way, done) {
                return true;
            }
            way.pop();
        }
        false
    }

    fn all(&mut self) {
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
    fn decide(&mut self, relationship: &Relationship, above: &mut Vec<String>) {
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
        let derive::Known { facts, mut questions } =
            derive::known(self.model, relationship, (parent, child));
        let mut ruling = decide(&facts, self.bounds);
        if let Some((rows, because)) = self.vetoed.get(&relationship.name) {
            ruling.rows.push(Row { rows, vote: Vote::Veto, because: because.clone() });
            ruling.choice = Choice::Reference;
            ruling.decided_by = rows;
            ruling.how = format!("vetoed: {because}");
        }
        let tree = pattern::is_tree(relationship);
        if tree {
            ruling.choice = Choice::Reference;
            ruling.decided_by = &["PT-ref.1"];
            ruling.how =
                "an entity above and below itself is a tree, which has no bound".to_owned();
        }
        let made = pattern::of_relationship(self.model, relationship, &facts, &ruling, self.bounds);
        let open = !questions.is_empty();
        questions.extend(made.questions);
        let hybrid = made.patterns.iter().any(|p| matches!(p, Pattern::Subset { .. }));
        let verdict = match (open, ruling.choice, hybrid) {
            (true, _, _) => Verdict::Undecided,
            (_, Choice::Embed, _) => Verdict::Embed,
            (_, Choice::Reference, true) => Verdict::Hybrid,
            (_, Choice::Reference, false) => Verdict::Reference,
        };
        let decision = Decision {
            relationship: relationship.name.clone(),
            parent: relationship.parent.clone(),
            child: relationship.child.clone(),
            verdict,
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
        self.made.insert(relationship.name.clone(), decision);
    }

    /// Bytes of an entity's declared fields, its id, and the ids and copies it holds for other relationships
    /// than one.
    fn own_bytes(&self, entity: &str, rank: Rank, without: &str) -> u64 {
        let Some(entity) = self.model.entity(entity) else { return size::AROUND };
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
    fn bytes(&self, entity: &str, rank: Rank, without: &str) -> u64 {
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
    fn inside<'d>(
        &'d self,
        entity: &'d str,
    ) -> impl Iterator<Item = (&'d Relationship, &'d Decision)> {
        let of_it = self.of(entity).filter(move |r| r.parent == entity);
        of_it
            .filter_map(|r| self.made.get(&r.name).map(|decision| (r, decision)))
            .filter(|(_, decision)| decision.choice == Some(Choice::Embed))
    }

    /// What is shared and changes has one place: of copies inside of several parents nobody knows which are of
    /// the same one, so no statement changes them all (DM-07.6, DM-07.7).
    fn part(&mut self) {
        let rows: &[&str] = &["ER-M.5", "DM-07.6", "DM-07.7"];
        let mut found = BTreeMap::new();
        for relationship in self.model.relationships.iter().filter(|r| r.is_shared()) {
            let made = self.made.get(&relationship.name);
            if made.is_none_or(|made| made.choice != Some(Choice::Embed)) {
                continue;
            }
            let Some(write) = self.model.writes.iter().find(|write| changes(write, relationship))
            else {
                continue;
            };
            let because = format!(
                "`{}` changes `{}`, and copies in several of `{}` would not follow",
                write.name, relationship.child, relationship.parent
            );
            found.insert(relationship.name.clone(), (rows, because));
        }
        if !found.is_empty() {
            self.vetoed.extend(found);
            self.all();
        }
    }

    /// Whether an entity is an element of a list, or part of one.
    fn is_in_list(&self, entity: &str, depth: usize) -> bool {
        depth < self.made.len()
            && self.made.values().any(|made| {
                made.choice == Some(Choice::Embed)
                    && made.child == entity
                    && (made.facts.children.max > 1 || self.is_in_list(&made.parent, depth + 1))
            })
    }

    /// A list in a list has no pages: a page names the document it continues, and no function writes one for
    /// a part of it (PT-outlier.1).
    fn unpage(&mut self) {
        let rows: &[&str] = &["PT-outlier.1", "GC-04"];
        let is_paged = |pattern: &Pattern| matches!(pattern, Pattern::Outlier { .. });
        let paged = self.made.values().filter(|made| made.patterns.iter().any(is_paged));
        let found: Vec<_> = paged
            .filter(|made| self.is_in_list(&made.parent, 0))
            .map(|made| {
                let because = format!(
                    "up to {} of `{}` need pages, and one of a list of `{}` has none",
                    text::count(made.facts.children.max),
                    made.child,
                    made.parent
                );
                (made.relationship.clone(), (rows, because))
            })
            .collect();
        if !found.is_empty() {
            self.vetoed.extend(found);
            self.all();
        }
    }

    /// What others hold ids of has a collection of its own, and is part of nobody's documents: two places
    /// would be two copies, and nothing keeps them alike (ER-M.5, DM-07.6).
    fn settle(&mut self) {
        for _ in 0..self.model.relationships.len() {
            let held = self.held_by_id();
            let rows: &[&str] = &["ER-M.5", "DM-07.6"];
            let embedded = self.made.values().filter(|made| made.choice == Some(Choice::Embed));
            let twice: Vec<_> = embedded
                .filter_map(|made| {
                    let holder = held.get(made.child.as_str())?.first()?;
                    let because = format!(
                        "`{}` is held by its id in `{holder}`, so it has one place, which is its own",
                        made.child
                    );
                    Some((made.relationship.clone(), (rows, because)))
                })
                .collect();
            if twice.is_empty() {
                return;
            }
            self.vetoed.extend(twice);
            self.all();
        }
    }

    /// Entities that others hold ids of, with the relationships that do.
    fn held_by_id(&self) -> BTreeMap<&str, Vec<&str>> {
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

    /// For every entity the levels below its document, and the relationship that leads to the deepest.
    fn depths(&self) -> BTreeMap<&str, (usize, Option<&Relationship>)> {
        let mut found = BTreeMap::new();
        for entity in &self.model.entities {
            self.depth(entity, &mut found);
        }
        found
    }

    fn depth<'d>(
        &'d self,
        entity: &'d Entity,
        found: &mut BTreeMap<&'d str, (usize, Option<&'d Relationship>)>,
    ) -> usize {
        if let Some((depth, _)) = found.get(entity.name.as_str()) {
            return *depth;
        }
        // Stands while those below are looked at, so that a circle comes to an end.
        let own = levels(&entity.fields);
        found.insert(&entity.name, (own, None));
        let mut most = (own, None);
        for (relationship, _) in self.inside(&entity.name) {
            let Some(child) = self.model.entity(&relationship.child) else { continue };
            let below = self.depth(child, found) + 1;
            if below > most.0 {
                most = (below, Some(relationship));
            }
        }
        found.insert(&entity.name, most);
        most.0
    }

    /// Entities embedded in each other are cut apart where a document would be too deep (DM-06.1): at the
    /// place that is read together least.
    fn flatten(&mut self) {
        for _ in 0..self.model.relationships.len() {
            let Some(cut) = self.too_deep() else { return };
            self.vetoed.extend(cut);
            self.all();
        }
    }

    /// Where documents that are too deep are cut apart.
    fn too_deep(&self) -> Option<BTreeMap<String, (&'static [&'static str], String)>> {
        let depths = self.depths();
        let embedded = self.embedded();
        let mut cut = BTreeMap::new();
        for (root, (depth, _)) in &depths {
            if *depth <= DEEPEST || embedded.contains(root) {
                continue;
            }
            let mut way: Vec<&Relationship> = Vec::new();
            let mut at = *root;
            while let Some((_, Some(next))) = depths.get(at) {
                if way.len() > depths.len() {
                    break;
                }
                way.push(next);
                at = &next.child;
            }
            let (mut way, mut left) = (way.as_slice(), *depth);
            while left > DEEPEST && !way.is_empty() {
                let together = |r: &Relationship| {
                    self.made.get(&r.name).and_then(|made| made.facts.co_read).unwrap_or(0.0)
                };
                let reach = &way[..way.len().min(DEEPEST + 1)];
                let weakest = (0..reach.len())
                    .rev()
                    .min_by(|a, b| together(reach[*a]).total_cmp(&together(reach[*b])))?;
                let because = format!(
                    "documents of `{root}` would be {depth} levels deep, and {DEEPEST} are the most"
                );
                let rows: &[&str] = &["DM-06.1"];
                cut.insert(way[weakest].name.clone(), (rows, because));
                left = left.saturating_sub(weakest + 1);
                way = &way[weakest + 1..];
            }
        }
        (!cut.is_empty()).then_some(cut)
    }

    /// Entities that are part of another's documents.
    fn embedded(&self) -> BTreeSet<&str> {
        let made = self.made.values();
        let parts = made.filter(|decision| decision.choice == Some(Choice::Embed));
        parts.map(|decision| decision.child.as_str()).collect()
    }

    /// Says where documents are deeper than they should be, at the outermost relationship.
    fn remark_depth(&mut self) {
        let embedded = self.embedded();
        let mut deep = Vec::new();
        for (entity, (depth, first)) in self.depths() {
            if let Some(outermost) = first.filter(|_| depth > SHALLOW && !embedded.contains(entity))
            {
                let said = format!(
                    "documents of `{entity}` are {depth} levels deep; up to {SHALLOW} are easy to work with (DM-06.1)"
                );
                deep.push((outermost.name.clone(), said));
            }
        }
        for (name, said) in deep {
            if let Some(decision) = self.made.get_mut(&name) {
                decision.remarks.push(said);
            }
        }
    }

    /// Several lists that are each small enough may be too large together: the largest one goes until
    /// the document is safe (CK-14).
    fn fit(&mut self) {
        for _ in 0..self.model.relationships.len() {
            let mut worst: Option<(String, String)> = None;
            for entity in &self.model.entities {
                let bytes = self.bytes(&entity.name, Rank::P99, "");
                if bytes <= self.bounds.safe_bytes {
                    continue;
                }
                let largest = self
                    .inside(&entity.name)
                    .map(|(_, decision)| decision)
                    .max_by_key(|decision| decision.facts.children_bytes());
                if let Some(decision) = largest {
                    let because = format!(
                        "{} projected at p99 together with other lists",
                        text::bytes(bytes)
                    );
                    worst = Some((decision.relationship.clone(), because));
                    break;
                }
            }
            let Some((name, because)) = worst else { return };
            self.vetoed.insert(name, (TOGETHER, because));
            self.all();
        }
    }
}

/// A child that several relationships would embed lives in one of them: where it is read with its parent
/// most.
fn one_home(model: &DesignModel, decisions: &mut [Decision]) {
    for entity in &model.entities {
        // There is a decision for each relationship, in their order.
        let homes: Vec<usize> = (0..decisions.len())
            .filter(|i| decisions[*i].choice == Some(Choice::Embed))
            .filter(|i| model.relationships[*i].child == entity.name)
            .collect();
        let strength = |i: &usize| decisions[*i].facts.co_read.unwrap_or(0.0);
        let Some(home) =
            homes.iter().copied().reduce(|a, b| if strength(&b) > strength(&a) { b } else { a })
        else {
            continue;
        };
        let kept = decisions[home].relationship.clone();
        // Two roles in one parent, as two addresses of an order, are two places of one document.
        let parent = model.relationships[home].parent.clone();
        let elsewhere = |i: &usize| *i != home && model.relationships[*i].parent != parent;
        for other in homes.into_iter().filter(elsewhere) {
            let decision = &mut decisions[other];
            decision.choice = Some(Choice::Reference);
            decision.verdict = Verdict::Reference;
            decision.patterns = vec![Pattern::ParentInChild];
            decision.ruling.choice = Choice::Reference;
            decision.ruling.decided_by = &["ER-M.5", "DM-07.6"];
            decision.ruling.how =
                format!("`{}` lives in one place, which is `{kept}`", entity.name);
        }
    }
}

/// Buckets are sized again with what the decisions put into a reading beside its own fields.
fn readings(
    model: &DesignModel,
    decisions: &[Decision],
    naming: Naming,
    advice: &mut [EntityAdvice],
) {
    for (i, entity) in model.entities.iter().enumerate() {
        if entity.series.is_none() {
            continue;
        }
        let layout = Layout { model, decisions, advice, naming };
        let bytes = layout.reading_bytes(entity);
        advice[i] = advise(model, entity, Some(bytes));
    }
}

fn advise(model: &DesignModel, entity: &Entity, reading: Option<u64>) -> EntityAdvice {
    let fields: Vec<_> = entity.fields.iter().map(own).collect();
    let bytes = reading.unwrap_or_else(|| document_bytes(&fields, Rank::Typical));
    let made = pattern::of_entity(model, entity, bytes);
    let mut questions = derive::questions(model, entity);
    questions.extend(made.questions);
    EntityAdvice {
        entity: entity.name.clone(),
        patterns: made.patterns,
        remarks: made.remarks,
        questions,
    }
}

fn assumptions(model: &DesignModel) -> Vec<String> {
    let mut found = Vec::new();
    let unsized_strings: Vec<String> = model
        .entities
        .iter()
        .flat_map(|entity| entity.fields.iter().map(move |field| (entity, field)))
        .filter(|(_, field)| {
            field.kind == BsonType::String && field.bytes.is_none() && field.values.is_empty()
        })
        .map(|(entity, field)| format!("{}.{}", entity.name, field.name))
        .collect();
    if !unsized_strings.is_empty() {
        found.push(format!(
            "strings without `bytes` count as {} bytes: {}",
            crate::layout::ASSUMED_STRING,
            text::list(&unsized_strings, 5)
        ));
    }
    let named = |keep: &dyn Fn(&Relationship) -> bool| -> Vec<&str> {
        let kept = model.relationships.iter().filter(|r| keep(r));
        kept.map(|r| r.name.as_str()).collect()
    };
    let trees = named(&pattern::is_tree);
    if !trees.is_empty() {
        let Spread { p50, max, .. } = crate::layout::WAY_DOWN;
        found.push(format!(
            "a tree counts as {p50} levels deep, {max} at most: {}",
            text::list(&trees, 5)
        ));
    }
    let endless = named(
        &|r| matches!(r.growth, Some(ChildGrowth::Endless { typical, p99 }) if typical == 0.0 && p99 == 0.0),
    );
    if !endless.is_empty() {
        found.push(format!(
            "`endless` without a figure adds nothing to sizes in later years: {}",
            text::list(&endless, 5)
        ));
    }
    if model.as_of.is_none() {
        found.push("without `as-of`, growth is given in years, not in dates".to_owned());
    }
    found
}
