//! The model that data should follow, designed once for all rules that compare with it.

use std::rc::Rc;

use docward_design::{Bounds, CollectionPlan, Design, design};
use docward_model::{Collection, DesignModel, Namespace};

use crate::Cx;

/// A declared model and what follows from it.
#[derive(Debug)]
pub struct Declared {
    /// As it was declared.
    pub model: DesignModel,
    /// What was decided on it.
    pub design: Design,
}

/// The declared model, when there is one.
pub fn of(cx: &Cx<'_>) -> Option<Rc<Declared>> {
    cx.evidence().design.as_ref()?;
    let profile = cx.settings().profile;
    let shared = cx.shared("declared model", |evidence| {
        evidence.design.clone().map(|model| {
            let design = design(&model, profile, &Bounds::default());
            Rc::new(Declared { model, design })
        })
    });
    (*shared).clone()
}

impl Declared {
    /// What the model says about a collection: by its name, whatever database it is in.
    pub fn plan(&self, collection: &Collection) -> Option<&CollectionPlan> {
        self.design.collections.iter().find(|plan| plan.name == collection.namespace.collection)
    }

    /// The collection that holds an entity.
    pub fn home(&self, entity: &str) -> Option<&CollectionPlan> {
        self.design.collections.iter().find(|plan| plan.entity == entity)
    }

    /// Fields that may be there or not, because it is not decided how a relationship is stored: what the
    /// children are called, and what holds their ids.
    pub fn undecided(&self, entity: &str) -> Vec<&str> {
        let open = self.design.decisions.iter().filter(|decision| decision.choice.is_none());
        open.filter(|decision| decision.parent == entity || decision.child == entity)
            .filter_map(|decision| self.model.relationship(&decision.relationship))
            .flat_map(|relationship| [Some(relationship.role()), relationship.field.as_deref()])
            .flatten()
            .collect()
    }

    /// Whether a namespace holds what a plan is about.
    pub fn is_home(plan: &CollectionPlan, namespace: &Namespace) -> bool {
        plan.name == namespace.collection
    }
}
