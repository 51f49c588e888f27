//! The decisions about relationships and entities.

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

/// Returns the entity whose documents contain an entity: itself, unless it is embedded.
pub(crate) fn home<'d>(decisions: &'d [Decision], entity: &'d str) -> &'d str {
    way_up(decisions, entity, None).last().map_or(entity, |up| &up.parent)
}

/// Returns the relationships that embed an entity, from the innermost document to the outermost
/// one. `without` excludes a relationship.
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
        // A cycle of embedding has no outermost document.
        if up.parent == entity || way.iter().any(|below| below.parent == up.parent) {
            return Vec::new();
        }
        at = &up.parent;
        way.push(up);
    }
    way
}

/// The decision about one relationship.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The name of the relationship.
    pub relationship: String,
    /// The entity that would hold embedded documents.
    pub parent: String,
    /// The entity that would be embedded.
    pub child: String,
    /// The decision in one word.
    pub verdict: Verdict,
    /// The winning side. `None` while a question is open.
    pub choice: Option<Choice>,
    /// The facts that the decision rests on.
    pub facts: Facts,
    /// The votes of the rows of the decision tables.
    pub ruling: Ruling,
    /// The resulting patterns, the main one first.
    pub patterns: Vec<Pattern>,
    /// Remarks on options that were considered and rejected.
    pub remarks: Vec<String>,
    /// Questions that must be answered first.
    pub questions: Vec<Question>,
    /// Changes that would turn the decision.
    pub turns: Vec<Turn>,
    /// The cost of each alternative, the chosen one first.
    pub alternatives: Vec<Alternative>,
    /// Whether parent and children must change together and the design needs a transaction for it (CK-10).
    pub needs_transaction: bool,
}

impl Decision {
    /// Whether the relationship is many-to-many. The ids can then be stored on either side, or in a
    /// junction document for each pair.
    pub(crate) fn has_many_parents(&self) -> bool {
        self.facts.kind == Kind::ManyToMany
    }

    /// Whether the document where a read begins already has what it fetches along the relationship.
    /// The document may have the newest few children, or copies of fields.
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

    /// Returns the number of elements after which an embedded list continues on overflow pages.
    pub(crate) fn page(&self) -> Option<u64> {
        self.patterns.iter().find_map(|pattern| match pattern {
            Pattern::Outlier { page } => Some(*page),
            _ => None,
        })
    }

    /// Returns how many of the newest elements an embedded list keeps.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.patterns.iter().find_map(|pattern| match pattern {
            Pattern::CappedArray { newest } => Some(*newest),
            _ => None,
        })
    }

    /// Returns the fields that are copied into the parent, or into the child.
    pub(crate) fn copied(&self, into_parent: bool) -> Option<&[String]> {
        self.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ExtendedReference { fields, in_parent, .. } if *in_parent == into_parent => {
                Some(fields.as_slice())
            }
            _ => None,
        })
    }

    /// Whether declared writes change fields that are copied into the parent or its list of ids.
    pub(crate) fn refreshes_copies(&self) -> bool {
        self.patterns.iter().any(|pattern| {
            matches!(pattern, Pattern::ExtendedReference { in_parent: true, changing, .. } if !changing.is_empty())
        })
    }

    /// Whether the parent stores the count and the sums that a read needs of its children. An
    /// approximate count does not provide sums.
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

/// The verdict of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Children are embedded in the parent.
    Embed,
    /// Children are separate documents.
    Reference,
    /// Children are separate documents, and the parent has a summary of them.
    Hybrid,
    /// A fact is missing.
    Undecided,
}

impl Verdict {
    /// Returns the word in JSON and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embed => "embed",
            Self::Reference => "reference",
            Self::Hybrid => "hybrid",
            Self::Undecided => "undecided",
        }
    }
}

/// Advice about a single entity.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityAdvice {
    /// The name of the entity.
    pub entity: String,
    /// The patterns.
    pub patterns: Vec<Pattern>,
    /// Remarks on options that were considered and rejected.
    pub remarks: Vec<String>,
    /// Open questions of DP-2, and others.
    pub questions: Vec<Question>,
}

/// Returns the relationships whose children are embedded in another parent.
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
