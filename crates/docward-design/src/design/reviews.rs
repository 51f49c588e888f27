//! Reviews the finished design for failing checks, lifetimes and costs (CK-12, CK-13, DP-2,
//! DM-07.2). The results may change decisions.

use std::collections::BTreeSet;

use docward_model::{DesignModel, text};

use crate::decide::alternative::{Alternative, OperationCost, StorageAlternative};
use crate::decide::decision::Decision;
use crate::decide::vote::Choice;
use crate::layout::aging::holds_what_stays;
use crate::layout::checks::CheckId;

use super::draft::Draft;
use super::resolve::{Restriction, State, VetoId};

/// A failure of a design.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Failure {
    /// A checklist item fails for a read, a write or a collection.
    Check(CheckId, String),
    /// Documents of an entity cannot expire in time, because embedded entities must be kept longer.
    Lifetime(String),
}

impl Failure {
    fn text(&self) -> String {
        match self {
            Self::Check(id, about) => format!("{} for `{about}`", id.name()),
            Self::Lifetime(entity) => format!("DP-2 for `{entity}`, which cannot expire in time"),
        }
    }

    fn is_mandatory(&self) -> bool {
        !matches!(self, Self::Check(id, _) if RECOMMENDED.contains(id))
    }
}

/// Items that are only recommendations. They do not outweigh a mandatory item.
const RECOMMENDED: [CheckId; 3] = [CheckId::SingleReads, CheckId::Aggregates, CheckId::Depth];

/// Returns the failures of a design.
fn failures(model: &DesignModel, draft: &Draft) -> BTreeSet<Failure> {
    let checks = draft.checks.iter().filter(|check| check.holds == Some(false));
    let failing = checks
        .flat_map(|check| check.about.iter().map(|about| Failure::Check(check.id, about.clone())));
    let stays = model.entities.iter().filter(|entity| {
        let is_part = |d: &Decision| d.choice == Some(Choice::Embed) && d.child == entity.name;
        !draft.decisions.iter().any(is_part)
            && holds_what_stays(model, &draft.decisions, &entity.name)
    });
    failing.chain(stays.map(|entity| Failure::Lifetime(entity.name.clone()))).collect()
}

/// The maximum number of relationships that are tried as references. Each attempt computes a
/// complete design.
const MAX_TRIED: usize = 24;

/// Tries embedded relationships that may cause a failure as references. If this removes more
/// failures than it adds, the relationship is referenced. Otherwise the design states why it stays
/// embedded.
pub(super) fn failing(state: &State<'_>, found: &mut Vec<Restriction>) {
    let before = failures(state.model, state.draft());
    let embedded = state.draft().decisions.iter().filter(|decision| {
        decision.choice == Some(Choice::Embed) && !state.is_reviewed(&decision.relationship)
    });
    let suspects = embedded.filter(|decision| is_any_suspect(state, decision, &before));
    found.extend(suspects.take(MAX_TRIED).filter_map(|decision| tried(state, decision, &before)));
}

/// A reason to keep a relationship referenced even if its own figures favour embedding.
pub(super) enum Hold {
    /// Reads of children alone, which embedding would leave without an index.
    ReadAlone,
    Always,
}

/// Returns why a relationship would be referenced again if it was embedded: the design would fail.
pub(super) fn hold(state: &State<'_>, relationship: &str) -> Option<Hold> {
    let embedded = state.with_embedding(relationship);
    let before = failures(embedded.model, embedded.draft());
    let mut decisions = embedded.draft().decisions.iter();
    let decision = decisions.find(|d| d.relationship == relationship)?;
    let mut dear = Vec::new();
    dearer(&embedded, &mut dear);
    let is_dear = |one: &Restriction| matches!(one, Restriction::Veto { relationship: of, .. } if of == relationship);
    if dear.iter().any(is_dear) {
        return Some(Hold::Always);
    }
    let may_fail =
        decision.choice == Some(Choice::Embed) && is_any_suspect(&embedded, decision, &before);
    let Some(Restriction::Veto { .. }) =
        may_fail.then(|| tried(&embedded, decision, &before)).flatten()
    else {
        return None;
    };
    let is_read = |f: &Failure| matches!(f, Failure::Check(CheckId::Indexes, _));
    let suspects = before.iter().filter(|f| is_suspect(state.model, embedded.draft(), decision, f));
    Some(if suspects.into_iter().all(is_read) { Hold::ReadAlone } else { Hold::Always })
}

/// Compares the failures of a design with those it has if a relationship is referenced.
fn tried(
    state: &State<'_>,
    decision: &Decision,
    before: &BTreeSet<Failure>,
) -> Option<Restriction> {
    let other = state.without_embedding(&decision.relationship);
    let after = failures(state.model, other.draft());
    let fixed: Vec<&Failure> = before.difference(&after).collect();
    let new: Vec<&Failure> = after.difference(before).collect();
    let relationship = decision.relationship.clone();
    let weight = |all: &[&Failure]| (all.iter().filter(|f| f.is_mandatory()).count(), all.len());
    if weight(&fixed) > weight(&new) {
        let price = match new.as_slice() {
            [] => String::new(),
            new => format!(", at the cost of {}", listed(new)),
        };
        let because = format!(
            "if embedded, it fails {}; as separate documents, it does not{price}",
            listed(&fixed)
        );
        let is_lifetime = fixed.iter().all(|f| matches!(f, Failure::Lifetime(_)));
        let id = if is_lifetime { VetoId::Lifetime } else { VetoId::Check };
        return Some(Restriction::Veto { relationship, id, because });
    }
    (!fixed.is_empty()).then(|| {
        let because = format!(
            "if embedded, it fails {}; as separate documents, it would fail {}: it stays embedded",
            listed(&fixed),
            listed(&new)
        );
        Restriction::Stays { relationship, because }
    })
}

fn is_any_suspect(state: &State<'_>, decision: &Decision, failures: &BTreeSet<Failure>) -> bool {
    !state.is_stored(&decision.relationship)
        && failures.iter().any(|failure| is_suspect(state.model, state.draft(), decision, failure))
}

/// Whether an embedded relationship may cause a failure.
fn is_suspect(model: &DesignModel, draft: &Draft, decision: &Decision, failure: &Failure) -> bool {
    let child = model.entity(&decision.child);
    match failure {
        Failure::Check(CheckId::Indexes, read) => {
            model.reads.iter().any(|r| r.name == *read && r.from == decision.child)
        }
        // A unique index on an embedded field excludes all shard keys that are not its prefix.
        Failure::Check(CheckId::ShardKeys, collection) => {
            let home = draft.collections.iter().find(|c| c.name == *collection);
            home.is_some_and(|home| home.entity == decision.parent)
                && child.is_some_and(|child| child.fields.iter().any(|field| field.unique))
        }
        Failure::Lifetime(entity) => {
            let stays = |e: &str| model.entity(e).and_then(|e| e.lifecycle).map(|l| l.kept_days);
            decision.parent == *entity && stays(entity) != stays(&decision.child)
        }
        Failure::Check(..) => false,
    }
}

/// Embedding is given up if references are better in every operation. They must need no more
/// documents, and less than half of the bytes. The list must be large.
const DEARER: f64 = 2.0;

/// Finds embedded relationships for which references would move less data in every operation.
pub(super) fn dearer(state: &State<'_>, found: &mut Vec<Restriction>) {
    for decision in &state.draft().decisions {
        let [chosen, others @ ..] = decision.alternatives.as_slice() else { continue };
        let is_free = decision.facts.atomic != Some(true)
            && chosen.way == StorageAlternative::Embed
            && !state.is_stored(&decision.relationship);
        let Some(other) =
            others.iter().find(|way| is_free && way.way == StorageAlternative::Reference)
        else {
            continue;
        };
        let (own, less) = (bytes(chosen), bytes(other));
        if own >= less * DEARER && own > 0.0 && is_never_dearer(other, chosen) {
            let moved = format!(
                "as separate documents, no operation needs more documents, and together they \
                 transfer {} per second instead of {}",
                text::bytes(less.round() as u64),
                text::bytes(own.round() as u64)
            );
            let relationship = decision.relationship.clone();
            let small = state.bounds.small_bytes;
            found.push(match decision.facts.children_bytes() > small {
                true => Restriction::Veto { relationship, id: VetoId::Cost, because: moved },
                false => {
                    let because = format!(
                        "{moved}; a list below {} is small, so it stays embedded (DM-05.1)",
                        text::bytes(small)
                    );
                    Restriction::Stays { relationship, because }
                }
            });
        }
    }
}

fn listed(all: &[&Failure]) -> String {
    let all: Vec<String> = all.iter().map(|failure| failure.text()).collect();
    match all.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => all.concat(),
    }
}

fn bytes(way: &Alternative) -> f64 {
    let of = |cost: &OperationCost| cost.bytes;
    way.per_second(false, of) + way.per_second(true, of)
}

/// Whether no operation needs more documents or bytes with one alternative than with the other.
fn is_never_dearer(way: &Alternative, other: &Alternative) -> bool {
    way.operations.len() == other.operations.len()
        && way.operations.iter().zip(&other.operations).all(|(a, b)| {
            a.documents <= b.documents && a.bytes <= b.bytes && a.transaction <= b.transaction
        })
}
