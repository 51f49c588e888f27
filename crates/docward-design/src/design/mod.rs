//! Designs a whole model: decides every relationship from the leaves up, and derives the
//! collections and the open questions.

mod advice;
pub(crate) mod clash;
mod constraints;
mod draft;
mod previews;
mod remarks;
mod resolve;
mod reviews;
mod sizes;
mod summary_feasibility;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use constraints::CONSTRAINTS;
use docward_model::{BsonType, ChildGrowth, DesignModel, ProfileName, Relationship, Spread, text};
use draft::Draft;
use resolve::{Stage, State};
use reviews::Hold;

use crate::decide::alternative::StorageAlternative;
use crate::decide::decision::{Decision, living_elsewhere};
use crate::decide::facts::Bounds;
use crate::decide::flip_points::{Turn, turns};
use crate::decide::pattern::Pattern;
use crate::decide::vote::{Choice, RowId};
use crate::declared::field_plan::{ASSUMED_STRING, TREE_DEPTH};
use crate::declared::naming::Naming;
use crate::declared::read_direction;
use crate::layout::plan::Design;

/// Designs a model.
pub fn design(model: &DesignModel, profile: ProfileName, bounds: &Bounds) -> Design {
    design_stored(model, profile, bounds, &BTreeMap::new())
}

/// Designs a model for data that does not follow its design yet. `stored` lists relationships that
/// are references with a given pattern. That pattern overrides the decision, even if a question is
/// open.
pub fn design_stored(
    model: &DesignModel,
    profile: ProfileName,
    bounds: &Bounds,
    stored: &BTreeMap<String, Pattern>,
) -> Design {
    let naming = Naming::of(model, profile);
    let mut state = State::new(model, bounds, naming, stored, &CONSTRAINTS);
    state.resolve(Stage::Reviewed);
    let turns = turns_of(&state);
    let deep = remarks::on_depth(constraints::depths(&state), state.embedded());
    let Draft { mut decisions, mut advice, collections, capacity, checks } = state.into_draft();
    for decision in &mut decisions {
        decision.remarks.extend(deep.get(&decision.relationship).into_iter().flatten().cloned());
    }
    remarks::on_relationships(model, &mut decisions);
    sizes::of_references(model, &collections, &mut decisions);
    sizes::of_entities(model, &collections, &mut advice);
    let elsewhere = living_elsewhere(&decisions);
    for decision in &mut decisions {
        say_size_of_table(decision);
        // A child that another parent embeds is not embedded here, whatever the figures are.
        if decision.choice.is_some() && !elsewhere.contains(&decision.relationship) {
            decision.turns = turns.get(&decision.relationship).cloned().unwrap_or_default();
        }
    }
    Design {
        name: model.name.clone(),
        database: naming.database(model),
        assumptions: assumptions(model),
        decisions,
        entities: advice,
        collections,
        capacity,
        checks,
    }
}

/// The maximum number of references that are tried as embedded. Each attempt computes complete
/// designs. The design lists no flip points for the other references.
const MAX_TRIED: usize = 24;

/// Returns what would turn each decision, given the other decisions and the reviews.
fn turns_of(state: &State<'_>) -> BTreeMap<String, Vec<Turn>> {
    let mut found = BTreeMap::new();
    let mut tried = 0;
    for (name, mut around) in state.around() {
        let Some(decision) = state.decision(&name) else { continue };
        let mut turning = turns(&decision.facts, state.bounds, &around);
        // The figures alone may lead to the other side than the design as a whole.
        if turning.iter().any(|turn| Some(turn.choice) == decision.choice) {
            continue;
        }
        if !turning.is_empty() && decision.choice == Some(Choice::Reference) {
            tried += 1;
            if tried > MAX_TRIED {
                continue;
            }
            match reviews::hold(state, &name) {
                None => {}
                Some(Hold::Always) => continue,
                Some(Hold::ReadAlone) => {
                    around.apart_if_read_alone = true;
                    turning = turns(&decision.facts, state.bounds, &around);
                }
            }
        }
        found.insert(name, turning);
    }
    found
}

/// Adds the final size to a row. The row judged the size of the parent known at that time. Later
/// decisions may change it, as the table shows, so the row states both figures.
fn say_size_of_table(decision: &mut Decision) {
    let projected = decision.facts.projected();
    let judged = text::bytes(projected);
    let embedded = decision.alternatives.iter().find(|way| way.way == StorageAlternative::Embed);
    let Some((_, _, p99, _)) = embedded.and_then(|way| way.parent.first()) else { return };
    let shown = text::bytes(*p99);
    let row = decision.ruling.rows.iter_mut().find(|row| row.id == RowId::ParentSize);
    if let Some(row) = row.filter(|_| shown != judged) {
        row.because.push_str(&match *p99 > projected {
            true => format!(", and {shown} once the other decisions of this design are included"),
            false => format!("; the cost table shows {shown}, because it includes later decisions"),
        });
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
            "strings without `bytes` are calculated with {} bytes: {}",
            ASSUMED_STRING,
            text::list(&unsized_strings, 5)
        ));
    }
    let named = |keep: &dyn Fn(&Relationship) -> bool| -> Vec<&str> {
        let kept = model.relationships.iter().filter(|r| keep(r));
        kept.map(|r| r.name.as_str()).collect()
    };
    let trees = named(&read_direction::is_tree);
    if !trees.is_empty() {
        let Spread { p50, max, .. } = TREE_DEPTH;
        found.push(format!(
            "a tree is calculated with {p50} levels, at most {max}: {}",
            text::list(&trees, 5)
        ));
    }
    let endless = named(
        &|r| matches!(r.growth, Some(ChildGrowth::Endless { typical, p99 }) if typical == 0.0 && p99 == 0.0),
    );
    if !endless.is_empty() {
        found.push(format!(
            "`endless` without a number adds nothing to sizes in later years: {}",
            text::list(&endless, 5)
        ));
    }
    if model.as_of.is_none() {
        found.push("without `as-of`, growth is given in years, not in dates".to_owned());
    }
    found
}
