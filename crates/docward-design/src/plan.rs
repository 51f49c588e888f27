//! A whole model: every relationship decided from the leaves up, the collections that follow, and what
//! is still open.

use std::collections::BTreeMap;

use docward_model::{DesignModel, Entity, ProfileName, Relationship, text};

use crate::capacity::{self, Capacity};
use crate::collection::{self, CollectionPlan};
use crate::compare::{self, Alternative};
use crate::decide::{Choice, Row, Ruling, Vote, decide};
use crate::derive::{self, Question};
use crate::documents::Documents;
use crate::facts::{Bounds, Facts};
use crate::layout::{Layout, Rank, document_bytes, own};
use crate::naming::Naming;
use crate::pattern::{self, Pattern};
use crate::sensitivity::{Turn, turns};
use crate::size;

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
    let mut deciding = Deciding { model, bounds, made: BTreeMap::new(), vetoed: BTreeMap::new() };
    deciding.all();
    deciding.fit();
    let mut decisions: Vec<Decision> = model
        .relationships
        .iter()
        .filter_map(|relationship| deciding.made.remove(&relationship.name))
        .collect();
    one_home(model, &mut decisions);
    let mut entities: Vec<EntityAdvice> =
        model.entities.iter().map(|entity| advise(model, entity, None)).collect();
    readings(model, &decisions, naming, &mut entities);
    let layout = Layout { model, decisions: &decisions, advice: &entities, naming };
    let collections = collection::all(&layout);
    let touched: Vec<_> = model.reads.iter().map(|read| derive::reads(model, read)).collect();
    let documents = Documents::new(&layout);
    let compared: Vec<(Vec<Alternative>, bool)> = layout
        .linked()
        .map(|(relationship, decision)| match decision.choice {
            Some(_) => (
                compare::alternatives(&documents, relationship, decision, &touched),
                is_split(model, relationship, decision),
            ),
            None => (Vec::new(), false),
        })
        .collect();
    for (decision, (alternatives, split)) in decisions.iter_mut().zip(compared) {
        decision.alternatives = alternatives;
        decision.needs_transaction = split;
    }
    let capacity = capacity::all(model, &collections);
    let checks = crate::checks::all(model, &decisions, &collections, &capacity);
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

/// Whether what must change together lies in two documents.
fn is_split(model: &DesignModel, relationship: &Relationship, decision: &Decision) -> bool {
    let together = model
        .writes
        .iter()
        .any(|w| w.atomic && w.touches(&relationship.parent) && w.touches(&relationship.child));
    (together || relationship.invariant.is_some()) && decision.choice == Some(Choice::Reference)
}

struct Deciding<'m> {
    model: &'m DesignModel,
    bounds: &'m Bounds,
    made: BTreeMap<String, Decision>,
    /// Relationships whose embedding would make a parent too large together with others.
    vetoed: BTreeMap<String, String>,
}

impl Deciding<'_> {
    fn all(&mut self) {
        self.made.clear();
        for relationship in &self.model.relationships {
            self.decide(relationship, &mut Vec::new());
        }
    }

    /// Decides a relationship after those below it, which make its children larger.
    fn decide(&mut self, relationship: &Relationship, above: &mut Vec<String>) {
        if self.made.contains_key(&relationship.name) || above.contains(&relationship.name) {
            return;
        }
        above.push(relationship.name.clone());
        for below in &self.model.relationships {
            if below.parent == relationship.child && below.parent != below.child {
                self.decide(below, above);
            }
        }
        above.pop();
        let child = (
            self.bytes(&relationship.child, Rank::Typical, None),
            self.bytes(&relationship.child, Rank::P99, None),
        );
        let parent = self.bytes(&relationship.parent, Rank::P99, Some(&relationship.name));
        let derive::Known { facts, mut questions } =
            derive::known(self.model, relationship, (parent, child));
        let mut ruling = decide(&facts, self.bounds);
        if let Some(because) = self.vetoed.get(&relationship.name) {
            let rows = &["ER-M.6", "ER-F.7"];
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
            turns: if open || tree { Vec::new() } else { turns(&facts, self.bounds) },
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

    /// Bytes of an entity's document with what has been decided to be embedded in it, but for one
    /// relationship.
    fn bytes(&self, entity: &str, rank: Rank, without: Option<&str>) -> u64 {
        let Some(entity) = self.model.entity(entity) else { return size::AROUND };
        let all = entity.fields.iter().chain(entity.variants.iter().flat_map(|v| &v.fields));
        let fields: Vec<_> = all.map(own).collect();
        let own = document_bytes(&fields, rank).saturating_add(size::element("_id", 12));
        let embedded: u64 = self
            .model
            .relationships
            .iter()
            .filter(|r| r.parent == entity.name && Some(r.name.as_str()) != without)
            .filter_map(|r| self.made.get(&r.name).map(|decision| (r, decision)))
            .map(|(r, decision)| match decision.choice {
                Some(Choice::Embed) => {
                    let Facts { children, child_bytes, .. } = decision.facts;
                    let count = match rank {
                        Rank::Typical | Rank::Mean => children.p50,
                        Rank::P99 | Rank::Max => children.p99,
                    };
                    size::element(r.role(), size::array(count, child_bytes))
                }
                _ => 0,
            })
            .fold(0, u64::saturating_add);
        own.saturating_add(embedded)
    }

    /// Several lists that are each small enough may be too large together: the largest one goes until
    /// the document is safe (CK-14).
    fn fit(&mut self) {
        for _ in 0..self.model.relationships.len() {
            let mut worst: Option<(String, String)> = None;
            for entity in &self.model.entities {
                let bytes = self.bytes(&entity.name, Rank::P99, None);
                if bytes <= self.bounds.safe_bytes {
                    continue;
                }
                let largest = self
                    .model
                    .relationships
                    .iter()
                    .filter(|r| r.parent == entity.name && !self.vetoed.contains_key(&r.name))
                    .filter_map(|r| self.made.get(&r.name))
                    .filter(|decision| decision.choice == Some(Choice::Embed))
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
            self.vetoed.insert(name, because);
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
        for other in homes.into_iter().filter(|i| *i != home) {
            let decision = &mut decisions[other];
            decision.choice = Some(Choice::Reference);
            decision.verdict = Verdict::Reference;
            decision.patterns = vec![Pattern::ParentInChild];
            decision
                .remarks
                .push(format!("`{}` lives in one place, which is `{kept}`", entity.name));
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
    use docward_model::BsonType;
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
    if model.as_of.is_none() {
        found.push(
            "without `as-of`, times are counted from today and no dates are given".to_owned(),
        );
    }
    found
}
