//! A finished design.

use crate::decide::decision::{self, Decision, EntityAdvice};
use crate::decide::derive::Question;
use crate::decide::vote::Choice;
use crate::layout::capacity::Capacity;
use crate::layout::checks::DesignCheck;
use crate::layout::collection::CollectionPlan;

/// A complete design.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// The name of the model.
    pub name: String,
    /// The database.
    pub database: String,
    /// The decisions, in the order of the file.
    pub decisions: Vec<Decision>,
    /// The advice about entities, in the order of the file.
    pub entities: Vec<EntityAdvice>,
    /// The collections that follow.
    pub collections: Vec<CollectionPlan>,
    /// The predicted size of each collection.
    pub capacity: Vec<Capacity>,
    /// The checklist.
    pub checks: Vec<DesignCheck>,
    /// Assumptions about undeclared figures.
    pub assumptions: Vec<String>,
}

impl Design {
    /// Returns the decision that embeds the children of a referenced relationship in another
    /// parent.
    pub fn home_elsewhere(&self, relationship: &str) -> Option<&Decision> {
        let away = self.decisions.iter().find(|decision| decision.relationship == relationship)?;
        if !decision::living_elsewhere(&self.decisions).contains(relationship) {
            return None;
        }
        let homes = self.decisions.iter().filter(|d| d.choice == Some(Choice::Embed));
        homes.rev().find(|home| home.child == away.child && home.parent != away.parent)
    }

    /// Returns all open questions without duplicates.
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
