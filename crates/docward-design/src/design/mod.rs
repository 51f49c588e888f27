//! A whole model: every relationship decided from the leaves up, the collections that follow, and what
//! is still open.

pub(crate) mod clash;
mod previews;
mod remarks;
mod resolve;
mod summary_feasibility;

use std::collections::BTreeMap;

use docward_model::{
    BsonType, ChildGrowth, DesignModel, Entity, ProfileName, Relationship, Spread, text,
};

use crate::cost::compare::{self, Compared, Operations};
use crate::cost::documents::Documents;
use crate::cost::reconcile_costs;
use crate::decide::alternative::Way;
use crate::decide::decision::{self, Decision, EntityAdvice, Verdict};
use crate::decide::facts::Bounds;
use crate::decide::flip_points::turns;
use crate::decide::pattern::Pattern;
use crate::decide::vote::Choice;
use crate::decide::{derive, entity_patterns, relationship_patterns};
use crate::declared::access;
use crate::declared::field_plan::{Rank, document_bytes, own};
use crate::declared::naming::Naming;
use crate::design::resolve::settled;
use crate::layout::fields::Layout;
use crate::layout::plan::Design;
use crate::layout::{capacity, collections};

/// Designs a model.
pub fn design(model: &DesignModel, profile: ProfileName, bounds: &Bounds) -> Design {
    design_stored(model, profile, bounds, &BTreeMap::new())
}

/// Designs a model as data has it that does not follow its design yet: some relationships are references of a
/// given pattern, whatever would be decided on them, and also where a question is open.
pub fn design_stored(
    model: &DesignModel,
    profile: ProfileName,
    bounds: &Bounds,
    stored: &BTreeMap<String, Pattern>,
) -> Design {
    let naming = Naming::of(model, profile);
    let (mut decisions, around) = settled(model, bounds, naming, stored);
    one_home(model, &mut decisions);
    let mut entities: Vec<EntityAdvice> =
        model.entities.iter().map(|entity| advise(model, entity, None)).collect();
    readings(model, &decisions, naming, &mut entities);
    remarks::parts_of_others(model, &decisions, &mut entities);
    summary_feasibility::keep(model, &mut decisions, &entities, naming);
    previews::trim(model, &mut decisions, &entities, naming, bounds);
    relationship_patterns::drop_needless_copies(model, &mut decisions);
    remarks::on_relationships(model, &mut decisions);
    let layout = Layout { model, decisions: &decisions, advice: &entities, naming };
    let collections = collections::all(&layout);
    let operations = Operations::new(model, &decisions);
    let documents = Documents::new(&layout);
    let mut compared: Vec<(Compared, bool)> = layout
        .linked()
        .map(|(relationship, decision)| match decision.choice {
            Some(_) => (
                compare::alternatives(
                    &documents,
                    relationship,
                    decision,
                    &operations,
                    &collections,
                ),
                is_split(&layout, relationship, decision),
            ),
            None => (Compared::default(), false),
        })
        .collect();
    reconcile_costs::agree(
        &layout,
        &collections,
        compared.iter_mut().map(|(compared, _)| compared),
    );
    let capacity = capacity::all(model, &collections);
    let tables = compared.iter_mut().map(|(compared, _)| compared);
    reconcile_costs::agree_on_storage(&layout, &collections, &capacity, tables);
    let elsewhere = decision::living_elsewhere(&decisions);
    for (decision, (compared, split)) in decisions.iter_mut().zip(compared) {
        decision.alternatives = compared.ways;
        say_size_of_table(decision);
        decision.needs_transaction = split;
        if let Some(around) =
            around.get(&decision.relationship).filter(|_| decision.choice.is_some())
        {
            decision.turns = turns(&decision.facts, bounds, around);
            // What lives elsewhere does not come here because of its figures.
            if elsewhere.contains(&decision.relationship) {
                decision.turns.clear();
            }
        }
    }
    let layout = Layout { model, decisions: &decisions, advice: &entities, naming };
    let checks = crate::layout::checks::all(&layout, &collections, &capacity);
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

/// A row was judged by what was known of the parent then. What was decided afterwards may make it larger or
/// smaller, as the table has it: both figures are said.
fn say_size_of_table(decision: &mut Decision) {
    let projected = decision.facts.projected();
    let judged = text::bytes(projected);
    let embedded = decision.alternatives.iter().find(|way| way.way == Way::Embed);
    let Some((_, _, p99, _)) = embedded.and_then(|way| way.parent.first()) else { return };
    let shown = text::bytes(*p99);
    let row = decision.ruling.rows.iter_mut().find(|row| {
        row.rows.contains(&"ER-M.6") && row.because == format!("{judged} projected at p99")
    });
    if let Some(row) = row.filter(|_| shown != judged) {
        row.because.push_str(&match *p99 > projected {
            true => format!(", and {shown} with everything that was decided after it"),
            false => format!("; {shown} in the table, with what was decided after it"),
        });
    }
}

/// Whether what must change together lies in two documents. What another relationship puts into one document
/// is changed there together.
fn is_split(layout: &Layout<'_>, relationship: &Relationship, decision: &Decision) -> bool {
    let (parent, child) = (&relationship.parent, &relationship.child);
    let home = |entity| decision::home(layout.decisions, entity);
    let apart = home(parent) != home(child);
    let mut writes = layout.model.writes.iter();
    let together = apart && writes.any(|w| w.atomic && w.touches(parent) && w.touches(child));
    // Of a few parents the children are on pages, which are documents of their own (PT-outlier.1).
    let paged = decision.patterns.iter().any(|pattern| matches!(pattern, Pattern::Outlier { .. }));
    if paged {
        return together || decision.facts.atomic == Some(true);
    }
    (together || relationship.invariant.is_some()) && decision.choice == Some(Choice::Reference)
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
        // Two roles in one parent, as two addresses of an order, are two places of one document.
        let parent = model.relationships[home].parent.clone();
        let elsewhere = |i: &usize| *i != home && model.relationships[*i].parent != parent;
        for other in homes.into_iter().filter(elsewhere) {
            let decision = &mut decisions[other];
            decision.choice = Some(Choice::Reference);
            decision.verdict = Verdict::Reference;
            decision.patterns = vec![Pattern::ParentInChild];
            decision.ruling.choice = Choice::Reference;
            decision.ruling.decided_by = &["ER-M.5", "DM-07.6"];
            decision.ruling.how =
                format!("`{}` lives in one place, which is `{kept}`", entity.name);
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
    let made = entity_patterns::of_entity(model, entity, bytes);
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
            crate::declared::field_plan::ASSUMED_STRING,
            text::list(&unsized_strings, 5)
        ));
    }
    let named = |keep: &dyn Fn(&Relationship) -> bool| -> Vec<&str> {
        let kept = model.relationships.iter().filter(|r| keep(r));
        kept.map(|r| r.name.as_str()).collect()
    };
    let trees = named(&access::is_tree);
    if !trees.is_empty() {
        let Spread { p50, max, .. } = crate::declared::field_plan::WAY_DOWN;
        found.push(format!(
            "a tree counts as {p50} levels deep, {max} at most: {}",
            text::list(&trees, 5)
        ));
    }
    let endless = named(
        &|r| matches!(r.growth, Some(ChildGrowth::Endless { typical, p99 }) if typical == 0.0 && p99 == 0.0),
    );
    if !endless.is_empty() {
        found.push(format!(
            "`endless` without a figure adds nothing to sizes in later years: {}",
            text::list(&endless, 5)
        ));
    }
    if model.as_of.is_none() {
        found.push("without `as-of`, growth is given in years, not in dates".to_owned());
    }
    found
}
