//! What is decided about relationships and entities.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{DesignModel, DesignRead, With};

use crate::decide::alternative::Alternative;
use crate::decide::derive::Question;
use crate::decide::facts::{Facts, Kind};
use crate::decide::flip_points::Turn;
use crate::decide::pattern::Pattern;
use crate::decide::preview::Preview;
use crate::decide::vote::{Choice, Ruling};
use crate::declared::dates;

/// The entity whose documents an entity is part of: itself, unless it is embedded.
pub(crate) fn home<'d>(decisions: &'d [Decision], entity: &'d str) -> &'d str {
    way_up(decisions, entity, None).last().map_or(entity, |up| &up.parent)
}

/// What embeds an entity, from the document right around it to the outermost one; one relationship may be left
/// out.
pub(crate) fn way_up<'d>(
    decisions: &'d [Decision],
    entity: &'d str,
    without: Option<&str>,
) -> Vec<&'d Decision> {
    let mut way: Vec<&Decision> = Vec::new();
    let mut at = entity;
    let is_above = |at: &str, d: &Decision| {
        d.choice == Some(Choice::Embed) && d.child == at && Some(d.relationship.as_str()) != without
    };
    while let Some(up) = decisions.iter().find(|decision| is_above(at, decision)) {
        // What embeds itself has no outermost document.
        if up.parent == entity || way.iter().any(|below| below.parent == up.parent) {
            return Vec::new();
        }
        at = &up.parent;
        way.push(up);
    }
    way
}

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
    /// Whether both ends have several of the other: ids can be in either, or in a document for each pair.
    pub(crate) fn has_many_parents(&self) -> bool {
        self.facts.kind == Kind::ManyToMany
    }

    /// Whether what a read fetches along the relationship is there already, where it begins: the newest few,
    /// or copies, in the parent or in the child.
    pub(crate) fn spares(&self, model: &DesignModel, with: &With, in_parent: bool) -> bool {
        let all_of = |have: &[String]| {
            !with.fields.is_empty() && with.fields.iter().all(|field| have.contains(field))
        };
        let dated = || model.entity(&self.child).and_then(dates::date_field);
        let shown = Preview::of(&self.patterns).filter(|_| in_parent);
        shown.is_some_and(|preview| preview.answers(with, dated().as_deref()))
            || self.patterns.iter().any(|pattern| match pattern {
                Pattern::ExtendedReference { fields, in_parent: there, .. } => {
                    *there == in_parent && all_of(fields)
                }
                _ => false,
            })
    }

    /// Whether declared writes change what is copied into the parent or its list of ids.
    pub(crate) fn refreshes_copies(&self) -> bool {
        self.patterns.iter().any(|pattern| {
            matches!(pattern, Pattern::ExtendedReference { in_parent: true, changing, .. } if !changing.is_empty())
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

/// Relationships whose children are part of another parent's documents.
pub(crate) fn living_elsewhere(decisions: &[Decision]) -> BTreeSet<String> {
    let homes: BTreeMap<&str, &str> = decisions
        .iter()
        .filter(|decision| decision.choice == Some(Choice::Embed))
        .map(|decision| (decision.child.as_str(), decision.parent.as_str()))
        .collect();
    let away = decisions.iter().filter(|decision| {
        decision.choice == Some(Choice::Reference)
            && homes.get(decision.child.as_str()).is_some_and(|home| *home != decision.parent)
    });
    away.map(|decision| decision.relationship.clone()).collect()
}
