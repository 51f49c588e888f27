//! Functions that are not generated, because few models need them. Each is reported with one
//! sentence.

use docward_model::{DesignModel, DesignWrite, ProfileName, Relationship};

use super::extended::copied_fields;
use super::plans::Plans;
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Origin, Planned};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::plan::Design;

/// Something without generated functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The name of the relationship or entity.
    pub about: String,
    /// The function that is not generated, and the reason.
    pub sentence: String,
}

/// Returns all refusals of a design, in the order of its relationships and entities.
pub fn refusals(model: &DesignModel, design: &Design, profile: ProfileName) -> Vec<Refusal> {
    let plans = Plans::new(model, design, profile);
    let mut found = Vec::new();
    let mut tell = |about: &str, sentence: String| {
        found.push(Refusal { about: about.to_owned(), sentence });
    };
    for (relationship, decision) in plans.layout.linked() {
        match plans.refused(relationship, decision) {
            Some(sentence) => tell(&relationship.name, sentence),
            None => plans
                .refused_parts(relationship, decision)
                .into_iter()
                .for_each(|sentence| tell(&relationship.name, sentence)),
        }
    }
    for advice in &design.entities {
        let is_versioned = |pattern: &Pattern| matches!(pattern, Pattern::SchemaVersioning { .. });
        if advice.patterns.iter().any(is_versioned) {
            tell(
                &advice.entity,
                format!(
                    "A function that upgrades old documents of `{}` is not generated: find them by \
                     `{}`, and write each only if it is unchanged since it was read.",
                    advice.entity,
                    plans.layout.shape()
                ),
            );
        }
    }
    found
}

impl<'m> Plans<'m> {
    /// Returns why no functions are generated for a relationship.
    pub(super) fn refused(&self, r: &'m Relationship, decision: &Decision) -> Option<String> {
        let why = match decision.patterns.first()? {
            Pattern::Embedded => self.refused_inside(r, decision)?,
            Pattern::ParentInChild => self.refused_in_child(r, decision)?,
            Pattern::ChildrenInParent | Pattern::ParentsInChild | Pattern::Junction => {
                self.refused_link(r, decision)?
            }
            _ => return None,
        };
        Some(format!("Functions for `{}` are not generated: {why}.", r.name))
    }

    /// Returns which of the functions of a relationship are not generated.
    fn refused_parts(&self, r: &'m Relationship, decision: &'m Decision) -> Vec<String> {
        let (parent, child) = (&r.parent, &r.child);
        let mut found = Vec::new();
        let Some(home) = self.own(parent).filter(|_| self.own(child).is_some()) else {
            return found;
        };
        if self.is_changed(child, &self.summary(r, decision, home)) {
            found.push(format!(
                "A function that changes a `{child}` is not generated, because `{parent}` stores \
                 copies or sums of its fields: change the document, then call `{}`.",
                self.name("rebuild", r, true)
            ));
        }
        for pattern in &decision.patterns {
            if let Pattern::Approximation { step } = pattern {
                found.push(format!(
                    "A function for `{}` is not generated: let one of {step} inserts of `{child}` \
                     increase it by {step}, and one of {step} removals decrease it.",
                    self.layout.count(r)
                ));
            }
        }
        found
    }

    /// Returns why copies in elements of lists are not refreshed by a function.
    fn refused_copies(&self, r: &Relationship, decision: &Decision) -> Option<String> {
        let (_, in_parent) = copied_fields(decision)?;
        let (source, holder) =
            if in_parent { (&r.child, &r.parent) } else { (&r.parent, &r.child) };
        let is_written = self.list_with_copies(r, decision).is_some();
        (!is_written && self.own(source).is_some()).then(|| {
            format!(
                "`{holder}` has copies of `{source}`, and is not an element of one list of one \
                 collection: refresh them with `updateMany` and `arrayFilters`"
            )
        })
    }

    fn refused_inside(&self, r: &'m Relationship, decision: &Decision) -> Option<String> {
        let (parent, child) = (&r.parent, &r.child);
        let Some(home) = self.own(parent) else {
            return Some(format!(
                "`{child}` is embedded in `{parent}`, which is part of another document itself"
            ));
        };
        let entity = self.layout.model.entity(parent)?;
        if self.beside(entity, &Purpose::Versions).is_some() {
            return Some(format!(
                "`{parent}` keeps old versions, and a change of a part changes the whole \
                 document: save the document with its parts"
            ));
        }
        if decision.patterns.iter().any(Pattern::is_summary) {
            return Some(format!(
                "`{parent}` keeps sums over a list in the same document: compute them in the \
                 update that changes the list"
            ));
        }
        let field = home.fields.iter().find(|f| f.origin == Origin::Embedded(r.name.clone()))?;
        let is_kept = |f: &Planned| matches!(f.origin, Origin::Computed(_) | Origin::Preview(_));
        if field.fields.iter().any(is_kept) {
            return Some(format!(
                "each `{child}` in a list of `{parent}` keeps totals of its own children"
            ));
        }
        let is_paged = |pattern: &Pattern| matches!(pattern, Pattern::Outlier { .. });
        decision.patterns.iter().find(|pattern| is_paged(pattern))?;
        let why = if field.fields.iter().any(|field| field.origin == Origin::Id) {
            "is changed or removed by its id"
        } else if !self.unique_in(r).is_empty() {
            "is unique"
        } else if decision.needs_transaction || self.atomic(r).next().is_some() {
            "changes together with its parent"
        } else if self.pages_of(r).is_some_and(|pages| pages.kept_days.is_some()) {
            "expires with its parent"
        } else {
            return None;
        };
        Some(format!("overflow pages (PT-outlier.1) of a list whose `{child}` {why}"))
    }

    fn refused_in_child(&self, r: &'m Relationship, decision: &Decision) -> Option<String> {
        let (parent, child) = (&r.parent, &r.child);
        let has_copies = decision.patterns.len() > 1;
        let Some(home) = self.home(child) else { return self.refused_copies(r, decision) };
        if home.purpose != Purpose::Entity {
            return None;
        }
        if self.own(parent).is_none() {
            return has_copies.then(|| {
                format!(
                    "`{parent}` is part of another document, and keeps totals of `{child}` or is \
                     copied into it"
                )
            });
        }
        if r.keep_newest.is_some() {
            return Some(format!(
                "only the newest `{child}` are kept, as separate documents: let a job remove the \
                 older ones"
            ));
        }
        let keeps = decision.patterns.iter().any(Pattern::is_summary);
        let entity = self.layout.model.entity(child)?;
        if keeps && self.beside(entity, &Purpose::Archive).is_some() {
            return Some(format!(
                "`{child}` moves to an archive while `{parent}` keeps totals of all of them"
            ));
        }
        let is_changed =
            |write: &DesignWrite| write.updates.contains(child) && write.updates.contains(parent);
        if decision.needs_transaction && self.atomic(r).any(is_changed) {
            return Some(format!(
                "a write changes `{parent}` and an existing `{child}` together: do both in a \
                 transaction of the application"
            ));
        }
        None
    }

    fn refused_link(&self, r: &Relationship, decision: &Decision) -> Option<String> {
        let (parent, child) = (&r.parent, &r.child);
        if self.own(parent).is_none() || self.own(child).is_none() {
            return self.refused_copies(r, decision);
        }
        let is_pair = decision.patterns.first() == Some(&Pattern::Junction);
        let is_more = |pattern: &Pattern| match pattern {
            // Junction documents can be counted, but support no sums.
            Pattern::Computed { sums, .. } => !is_pair || !sums.is_empty(),
            pattern => pattern.is_summary(),
        };
        if decision.patterns.iter().any(is_more) {
            return Some(format!(
                "`{parent}` keeps a preview, sums or a count of its linked `{child}`: compute \
                 them in the update that links"
            ));
        }
        decision.needs_transaction.then(|| {
            format!(
                "a link between `{parent}` and `{child}` changes together with one of them: do both in a transaction of the application"
            )
        })
    }

    /// Returns the collection of overflow pages of a relationship.
    pub(super) fn pages_of(&self, r: &Relationship) -> Option<&'m CollectionPlan> {
        let pages = Purpose::Overflow(r.name.clone());
        self.design.collections.iter().find(|collection| collection.purpose == pages)
    }
}
