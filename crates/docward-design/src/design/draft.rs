//! The design that follows from decisions: collections, sizes, costs, the checklist.

use docward_model::{DesignModel, Relationship};

use crate::cost::compare::{self, Compared, Operations};
use crate::cost::documents::Documents;
use crate::cost::reconcile_costs;
use crate::decide::decision::{Decision, EntityAdvice, home};
use crate::decide::pattern::Pattern;
use crate::decide::vote::Choice;
use crate::declared::naming::Naming;
use crate::layout::capacity::{self, Capacity};
use crate::layout::checks::{self, DesignCheck};
use crate::layout::collection::CollectionPlan;
use crate::layout::collections;
use crate::layout::fields::Layout;

/// A design without its explanations.
pub(crate) struct Draft {
    /// The decisions, with the costs of their alternatives.
    pub(crate) decisions: Vec<Decision>,
    pub(crate) advice: Vec<EntityAdvice>,
    pub(crate) collections: Vec<CollectionPlan>,
    pub(crate) capacity: Vec<Capacity>,
    pub(crate) checks: Vec<DesignCheck>,
}

impl Draft {
    pub(crate) fn new(
        model: &DesignModel,
        mut decisions: Vec<Decision>,
        advice: Vec<EntityAdvice>,
        naming: Naming,
    ) -> Self {
        let layout = Layout { model, decisions: &decisions, advice: &advice, naming };
        let collections = collections::all(&layout);
        let capacity = capacity::all(model, &collections);
        let compared = compared(&layout, &collections, &capacity);
        let split: Vec<bool> = layout
            .linked()
            .map(|(relationship, decision)| {
                decision.choice.is_some() && is_split(&layout, relationship, decision)
            })
            .collect();
        for ((decision, compared), split) in decisions.iter_mut().zip(compared).zip(split) {
            decision.alternatives = compared.ways;
            decision.needs_transaction = split;
        }
        let layout = Layout { model, decisions: &decisions, advice: &advice, naming };
        let checks = checks::all(&layout, &collections, &capacity);
        Self { decisions, advice, collections, capacity, checks }
    }
}

/// Returns the costs of the alternatives for each relationship.
fn compared(
    layout: &Layout<'_>,
    collections: &[CollectionPlan],
    capacity: &[Capacity],
) -> Vec<Compared> {
    let operations = Operations::new(layout.model, layout.decisions);
    let documents = Documents::new(layout);
    let mut found: Vec<Compared> = layout
        .linked()
        .map(|(relationship, decision)| match decision.choice {
            Some(_) => {
                compare::alternatives(&documents, relationship, decision, &operations, collections)
            }
            None => Compared::default(),
        })
        .collect();
    reconcile_costs::reconcile_reads(layout, collections, found.iter_mut());
    reconcile_costs::reconcile_storage(layout, collections, capacity, found.iter_mut());
    found
}

/// Whether fields that must change atomically are in two documents. They are in one document if
/// another relationship embeds both.
fn is_split(layout: &Layout<'_>, relationship: &Relationship, decision: &Decision) -> bool {
    let (parent, child) = (&relationship.parent, &relationship.child);
    let apart = home(layout.decisions, parent) != home(layout.decisions, child);
    let mut writes = layout.model.writes.iter();
    let together = apart && writes.any(|w| w.atomic && w.touches(parent) && w.touches(child));
    // A few parents have children on pages, which are separate documents (PT-outlier.1).
    let paged = decision.patterns.iter().any(|pattern| matches!(pattern, Pattern::Outlier { .. }));
    if paged {
        return together || decision.facts.atomic == Some(true);
    }
    (together || relationship.invariant.is_some()) && decision.choice == Some(Choice::Reference)
}
