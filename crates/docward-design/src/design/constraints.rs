//! The constraints on the decisions of a whole model. Their order in the list does not matter.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{BsonType, Entity, EntityField, Relationship, text};

use crate::decide::pattern::Pattern;
use crate::decide::vote::Choice;
use crate::declared::field_plan::Rank;

use super::resolve::{Constraint, Restriction, Stage, State, VetoId};
use super::{previews, reviews, summary_feasibility};

/// All constraints.
pub(crate) const CONSTRAINTS: [Constraint; 12] = [
    Constraint { name: "series are separate", stage: Stage::Certain, find: series_apart },
    Constraint {
        name: "shared, changing data is stored once",
        stage: Stage::Certain,
        find: shared_and_changed,
    },
    Constraint {
        name: "referenced documents are stored once",
        stage: Stage::Certain,
        find: held_elsewhere,
    },
    Constraint { name: "no document is part of itself", stage: Stage::Finite, find: circle },
    Constraint { name: "documents are not too deep", stage: Stage::Measured, find: too_deep },
    Constraint { name: "documents are not too large", stage: Stage::Measured, find: too_large },
    Constraint { name: "lists in lists have no pages", stage: Stage::Placed, find: pages_in_lists },
    Constraint { name: "children live in one parent", stage: Stage::Placed, find: one_home },
    Constraint {
        name: "summaries can be kept right",
        stage: Stage::Kept,
        find: summary_feasibility::unmaintainable,
    },
    Constraint { name: "previews fit their parent", stage: Stage::Kept, find: previews::too_long },
    Constraint {
        name: "checks and lifetimes hold",
        stage: Stage::Reviewed,
        find: reviews::failing,
    },
    Constraint {
        name: "costs favour the chosen alternative",
        stage: Stage::Reviewed,
        find: reviews::dearer,
    },
];

/// A document with this many levels or more is too deep (DM-06.1).
const DEEPEST: usize = 5;

fn veto(relationship: &str, id: VetoId, because: String) -> Restriction {
    Restriction::Veto { relationship: relationship.to_owned(), id, because }
}

/// Time series have their own collection, regardless of their parent.
fn series_apart(state: &State<'_>, found: &mut Vec<Restriction>) {
    let model = state.model;
    let is_series =
        |r: &&Relationship| model.entity(&r.child).is_some_and(|child| child.series.is_some());
    found.extend(
        model
            .relationships
            .iter()
            .filter(is_series)
            .map(|r| veto(&r.name, VetoId::Series, format!("`{}` is a series over time", r.child))),
    );
}

/// Copies of a shared child cannot be matched with each other, so no statement can change all of
/// them (DM-07.6, DM-07.7).
fn shared_and_changed(state: &State<'_>, found: &mut Vec<Restriction>) {
    for made in state.embedded() {
        let relationship = state.model.relationship(&made.relationship);
        let because = relationship.and_then(|relationship| state.changed(relationship));
        found.extend(because.map(|why| veto(&made.relationship, VetoId::SharedAndChanged, why)));
    }
}

/// An entity whose ids other documents store needs a separate collection and is never embedded.
/// Otherwise there would be two copies, which could differ (ER-M.5, DM-07.6).
fn held_elsewhere(state: &State<'_>, found: &mut Vec<Restriction>) {
    let held = state.held_by_id();
    found.extend(state.embedded().filter_map(|made| {
        let holder = held.get(made.child.as_str())?.first()?;
        let because = format!(
            "`{holder}` references `{}` by id, so it is stored once, in its own collection",
            made.child
        );
        Some(veto(&made.relationship, VetoId::HeldById, because))
    }));
}

/// If embedding would form a cycle, the relationship with the lowest co-read rate is not embedded.
fn circle(state: &State<'_>, found: &mut Vec<Restriction>) {
    let together = |r: &Relationship| {
        state.decision(&r.name).and_then(|made| made.facts.co_read).unwrap_or(0.0)
    };
    // At equal rates, entities that reads begin with stay on top.
    let begun = |r: &Relationship| {
        let reads = state.model.reads.iter().filter(|read| read.from == r.child);
        reads.map(|read| read.per_second).fold(0.0, |sum, rate| sum + rate)
    };
    let mut done = BTreeSet::new();
    for entity in &state.model.entities {
        let mut path = Vec::new();
        if !leads_back(state, &entity.name, &mut path, &mut done) {
            continue;
        }
        // The path may begin outside the cycle.
        let last = path.last().map_or("", |r: &&Relationship| r.child.as_str());
        let begin = path.iter().position(|r| r.parent == last).unwrap_or(0);
        let weakest = path[begin..].iter().min_by(|a, b| {
            let apart = together(a).total_cmp(&together(b));
            apart.then(begun(b).total_cmp(&begun(a))).then(a.name.cmp(&b.name))
        });
        let through: Vec<&str> = path[begin..].iter().map(|r| r.name.as_str()).collect();
        found.extend(weakest.map(|weakest| {
            let because = format!(
                "`{}` would contain itself, through {}",
                weakest.child,
                text::list(&through, 5)
            );
            veto(&weakest.name, VetoId::Circle, because)
        }));
        return;
    }
}

/// Whether the embedded entities lead back to an entity on the path.
fn leads_back<'d>(
    state: &'d State<'_>,
    entity: &'d str,
    path: &mut Vec<&'d Relationship>,
    done: &mut BTreeSet<&'d str>,
) -> bool {
    if path.iter().any(|r| r.parent == entity) {
        return true;
    }
    if !done.insert(entity) {
        return false;
    }
    for (relationship, _) in state.inside(entity) {
        path.push(relationship);
        if leads_back(state, &relationship.child, path, done) {
            return true;
        }
        path.pop();
    }
    false
}

/// The depth below the documents of each entity, and the relationship that leads to the deepest
/// level.
type Depths<'d> = BTreeMap<&'d str, (usize, Option<&'d Relationship>)>;

pub(super) fn depths<'d>(state: &'d State<'_>) -> Depths<'d> {
    let mut found = BTreeMap::new();
    for entity in &state.model.entities {
        depth(state, entity, &mut found);
    }
    found
}

fn depth<'d>(state: &'d State<'_>, entity: &'d Entity, found: &mut Depths<'d>) -> usize {
    if let Some((depth, _)) = found.get(entity.name.as_str()) {
        return *depth;
    }
    // A temporary entry ends the recursion if there is a cycle.
    let own = levels(&entity.fields);
    found.insert(&entity.name, (own, None));
    let mut most = (own, None);
    for (relationship, _) in state.inside(&entity.name) {
        let Some(child) = state.model.entity(&relationship.child) else { continue };
        let below = depth(state, child, found) + 1;
        if below > most.0 {
            most = (below, Some(relationship));
        }
    }
    found.insert(&entity.name, most);
    most.0
}

/// Returns the depth of a declared field below its document. An array and its objects count as one
/// level.
fn levels(fields: &[EntityField]) -> usize {
    let below = |field: &EntityField| match field.kind {
        BsonType::Object | BsonType::Array => 1 + levels(&field.fields),
        _ => 0,
    };
    fields.iter().map(below).max().unwrap_or(0)
}

/// Splits nested entities if a document would be too deep (DM-06.1). The split is at the
/// relationship with the lowest co-read rate.
fn too_deep(state: &State<'_>, found: &mut Vec<Restriction>) {
    let depths = depths(state);
    let embedded: BTreeSet<&str> = state.embedded().map(|made| made.child.as_str()).collect();
    let together = |r: &Relationship| {
        state.decision(&r.name).and_then(|made| made.facts.co_read).unwrap_or(0.0)
    };
    for (root, (depth, _)) in &depths {
        if *depth <= DEEPEST || embedded.contains(root) {
            continue;
        }
        let mut path: Vec<&Relationship> = Vec::new();
        let mut at = *root;
        while let Some((_, Some(next))) = depths.get(at) {
            if path.len() > depths.len() {
                break;
            }
            path.push(next);
            at = &next.child;
        }
        let (mut path, mut left) = (path.as_slice(), *depth);
        while left > DEEPEST && !path.is_empty() {
            let reach = &path[..path.len().min(DEEPEST + 1)];
            let weakest = (0..reach.len())
                .rev()
                .min_by(|a, b| together(reach[*a]).total_cmp(&together(reach[*b])))
                .unwrap_or(0);
            let because =
                format!("documents of `{root}` would be {depth} levels deep (limit {DEEPEST})");
            found.push(veto(&path[weakest].name, VetoId::TooDeep, because));
            left = left.saturating_sub(weakest + 1);
            path = &path[weakest + 1..];
        }
    }
}

/// Several lists may be too large together, even if each is small enough. The largest list is
/// referenced until the document is safe (CK-14).
fn too_large(state: &State<'_>, found: &mut Vec<Restriction>) {
    for entity in &state.model.entities {
        let bytes = state.bytes(&entity.name, Rank::P99, "");
        if bytes <= state.bounds.safe_bytes {
            continue;
        }
        let lists = state.inside(&entity.name).map(|(_, decision)| decision);
        let largest = lists.max_by_key(|decision| decision.facts.children_bytes());
        if let Some(decision) = largest {
            let because = format!(
                "the parent would be {} at p99 together with its other lists",
                text::bytes(bytes)
            );
            found.push(veto(&decision.relationship, VetoId::TooLarge, because));
            return;
        }
    }
}

/// An overflow page names the document that it continues. No generated function supports pages for
/// an element of a list (PT-outlier.1).
fn pages_in_lists(state: &State<'_>, found: &mut Vec<Restriction>) {
    let is_paged = |pattern: &Pattern| matches!(pattern, Pattern::Outlier { .. });
    for made in state.all().filter(|made| made.patterns.iter().any(is_paged)) {
        if is_in_list(state, &made.parent, 0) {
            let because = format!(
                "up to {} of `{}` need pages, but an element of a list of `{}` cannot have pages",
                text::count(made.facts.children.max),
                made.child,
                made.parent
            );
            found.push(veto(&made.relationship, VetoId::PagesInList, because));
        }
    }
}

/// Whether an entity is an element of a list, or is nested in one.
fn is_in_list(state: &State<'_>, entity: &str, depth: usize) -> bool {
    depth < state.model.relationships.len()
        && state.embedded().any(|made| {
            made.child == entity
                && (made.facts.children.max > 1 || is_in_list(state, &made.parent, depth + 1))
        })
}

/// A child that several relationships would embed is embedded in only one parent: the one with the
/// highest co-read rate.
fn one_home(state: &State<'_>, found: &mut Vec<Restriction>) {
    for entity in &state.model.entities {
        let is_home = |r: &&Relationship| {
            let made = state.decision(&r.name);
            r.child == entity.name && made.is_some_and(|made| made.choice == Some(Choice::Embed))
        };
        let strength = |r: &Relationship| {
            state.decision(&r.name).and_then(|made| made.facts.co_read).unwrap_or(0.0)
        };
        let homes = || state.model.relationships.iter().filter(is_home);
        let Some(home) = homes().reduce(|a, b| if strength(b) > strength(a) { b } else { a })
        else {
            continue;
        };
        // Two roles in the same parent do not conflict. For example, an order may embed two
        // addresses.
        found.extend(homes().filter(|other| other.parent != home.parent).map(|other| {
            let because = format!("`{}` is stored once, in `{}`", entity.name, home.name);
            veto(&other.name, VetoId::OtherHome, because)
        }));
    }
}
