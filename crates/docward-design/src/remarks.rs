//! What is worth saying of a finished design: parts that live or go with others, figures that contradict each
//! other, dates that are missing.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{DesignModel, Entity, text};

use crate::aging;
use crate::decide::Choice;
use crate::pattern::Pattern;
use crate::plan::{Decision, EntityAdvice};

/// Remarks about relationships.
pub(crate) fn on_relationships(model: &DesignModel, decisions: &mut [Decision]) {
    expiry(model, decisions);
    figures(model, decisions);
    homeless(decisions);
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

/// Children that live in the documents of another parent.
fn homeless(decisions: &mut [Decision]) {
    let away = living_elsewhere(decisions);
    for decision in decisions.iter_mut().filter(|d| away.contains(&d.relationship)) {
        decision.remarks.push(format!(
            "one of `{}` that belongs to a `{}` alone has no document to live in: declare those as an entity of their own (DM-07.6)",
            decision.child, decision.parent
        ));
    }
}

/// By how much figures that say the same may differ.
const ROUND: f64 = 1.5;

/// Numbers of documents, and of children of a parent, that do not go together.
fn figures(model: &DesignModel, decisions: &mut [Decision]) {
    for decision in decisions {
        let relationship = model.relationship(&decision.relationship);
        let Some(relationship) = relationship.filter(|r| !r.is_shared() && r.parent != r.child)
        else {
            continue;
        };
        let others = model.relationships.iter().filter(|r| r.child == relationship.child);
        let count = |name: &str| model.entity(name)?.count.filter(|count| *count > 0.0);
        let (Some(parents), Some(children), Some(spread), 1) = (
            count(&relationship.parent),
            count(&relationship.child),
            relationship.children.filter(|_| relationship.keep_newest.is_none()),
            others.count(),
        ) else {
            continue;
        };
        let each = children / parents;
        // Half of the parents have as many as the median, or more; the rest likewise.
        let [p50, p95, p99, max] =
            [spread.p50, spread.p95, spread.p99, spread.max].map(|number| number as f64);
        let least = 0.45 * p50 + 0.04 * p95 + 0.01 * p99;
        let most = 0.5 * p50 + 0.45 * p95 + 0.04 * p99 + 0.01 * max;
        // Round figures are a little off.
        if each > most * ROUND || each * ROUND < least {
            decision.remarks.push(format!(
                "{} of `{}` for {} of `{}` are {each:.1} each, and with these `children` it would be {least:.1} to {most:.1}: one of these figures is wrong",
                text::count(children as u64),
                relationship.child,
                text::count(parents as u64),
                relationship.parent
            ));
        }
    }
}

/// Children that go by themselves take no count or preview along.
fn expiry(model: &DesignModel, decisions: &mut [Decision]) {
    for decision in decisions {
        let days = |name: &str| model.entity(name)?.lifecycle?.kept_days;
        // A parent that goes first takes along what it keeps.
        let first = days(&decision.child)
            .is_some_and(|child| days(&decision.parent).is_none_or(|parent| parent > child));
        // Without a date that says when they came, documents stay.
        let child = model.entity(&decision.child);
        let dated = child.is_some_and(|e| e.series.is_some() || aging::coming(e).is_some());
        if !(first && dated && decision.choice == Some(Choice::Reference)) {
            continue;
        }
        let has = |of: fn(&Pattern) -> bool| decision.patterns.iter().any(of);
        let stays =
            format!("`{}` goes by itself, and what the parent keeps of it stays", decision.child);
        if has(|p| matches!(p, Pattern::Subset { .. } | Pattern::Computed { .. })) {
            decision.remarks.push(format!(
                "{stays}: run the rebuild function for parents that matter, or read such figures as of all time"
            ));
        } else if has(|p| matches!(p, Pattern::Approximation { .. })) {
            decision.remarks.push(format!("{stays}: read the count as of all time"));
        }
    }
}

/// What an entity cannot have for itself while it is part of another's documents.
pub(crate) fn parts_of_others(
    model: &DesignModel,
    decisions: &[Decision],
    advice: &mut [EntityAdvice],
) {
    for (entity, advice) in model.entities.iter().zip(advice) {
        let home = decisions.iter().find(|decision| {
            decision.choice == Some(Choice::Embed) && decision.child == entity.name
        });
        let Some(home) = home else {
            advice.remarks.extend(ageless(entity));
            continue;
        };
        let (parent, role) = (&home.parent, &home.relationship);
        advice.patterns.retain(|pattern| {
            let (what, instead) = match pattern {
                Pattern::DocumentVersioning => ("old versions are", "keeps-versions: true"),
                Pattern::SchemaVersioning { .. } => ("its shape is", "shape-version"),
                Pattern::Archive { .. } => ("what is cold is", "cold-after"),
                _ => return true,
            };
            advice.remarks.push(format!(
                "it is part of `{parent}`, so {what} kept with it: say `{instead}` there"
            ));
            false
        });
        let below_a_list = decisions.iter().any(|decision| {
            decision.choice == Some(Choice::Embed)
                && decision.child == *parent
                && decision.facts.children.max > 1
        });
        let in_list = home.facts.children.max > 1;
        let of_kinds = || entity.variants.iter().flat_map(|variant| &variant.fields);
        for field in entity.fields.iter().chain(of_kinds()).filter(|field| field.unique) {
            let of_kind = of_kinds().any(|other| other.name == field.name);
            let why = if home.facts.shared.is_some() {
                "copies, of which every parent has its own,"
            } else if below_a_list {
                "lists in a list"
            } else if of_kind || in_list && !field.required {
                "elements that may lack it"
            } else {
                continue;
            };
            advice.remarks.push(format!(
                "`{}` is unique, which the server cannot hold for {why} of `{role}`: no index is proposed",
                field.name
            ));
        }
        let life = |name: &str| model.entity(name)?.lifecycle;
        let kept = |name: &str| life(name)?.kept_days;
        if let (Some(goes), Some(own)) = (kept(parent), life(&entity.name))
            && own.kept_days.is_none_or(|days| days > goes)
        {
            let own = own.kept_days.map_or("for ever".to_owned(), |days| {
                format!("for {}", text::plural(days.round() as u64, "day"))
            });
            advice.remarks.push(format!(
                "to be kept {own}, but part of `{parent}`, which goes after {} and takes it along: keep `{parent}` as long, or have it as an entity that is read and changed by itself (DP-2)",
                text::plural(goes.round() as u64, "day")
            ));
        }
        let Some(days) = kept(&entity.name) else { continue };
        if kept(parent).is_some_and(|parent| parent <= days) {
            continue;
        }
        advice.remarks.push(match aging::coming(entity) {
            Some(_) if below_a_list || !in_list => format!(
                "kept for {}, but part of `{parent}`, which stays longer: take it out by hand",
                text::plural(days.round() as u64, "day")
            ),
            Some(date) => format!(
                "kept for {}, but part of `{parent}`, which stays longer: documents go by themselves, elements do not. A function takes those of `{role}` out whose `{date}` is older; run it every day{}",
                text::plural(days.round() as u64, "day"),
                lacking(entity, date).map_or(String::new(), |(_, lack)| format!(
                    ". It {lack}: elements without it stay"
                ))
            ),
            None => format!(
                "part of `{parent}`, which is kept longer than the {} of `{role}`",
                text::plural(days.round() as u64, "day")
            ),
        });
    }
}

/// Why documents of an entity do not go by themselves, or to no archive, though it was asked for.
fn ageless(entity: &Entity) -> Vec<String> {
    let life = entity.lifecycle.unwrap_or_default();
    let after = |days: f64| text::plural(days.round() as u64, "day");
    let mut said = Vec::new();
    if entity.series.is_some() {
        return said;
    }
    if let Some(days) = life.kept_days
        && aging::coming(entity).is_none()
    {
        said.push(format!(
            "kept for {}, but no date field says when it came (as `createTime` would): documents do not go by themselves",
            after(days)
        ));
    }
    if let Some(days) = life.kept_days
        && let Some((date, lack)) = aging::coming(entity).and_then(|date| lacking(entity, date))
    {
        said.push(format!(
            "kept for {} by `{date}`, which {lack}: documents without it never go by themselves (DP-2)",
            after(days)
        ));
    }
    if let (Some(cold), Some(kept)) = (life.cold_days, life.kept_days)
        && cold >= kept
    {
        said.push(format!(
            "it goes after {}, before it grows cold: there is no archive",
            after(kept)
        ));
    }
    if let Some(days) = life.cold_days
        && life.kept_days.is_none_or(|kept| kept > days)
        && aging::dated(entity).is_none()
    {
        said.push(format!(
            "cold after {}, but no date field says how old it is (as `createTime` would): no archive is planned",
            after(days)
        ));
    }
    if let Some(days) = life.cold_days
        && life.kept_days.is_none_or(|kept| kept > days)
        && let Some((date, lack)) = aging::dated(entity).and_then(|date| lacking(entity, date))
    {
        said.push(format!(
            "cold after {} by `{date}`, which {lack}: documents without it never go to the archive (DP-2)",
            after(days)
        ));
    }
    said
}

/// A date that not every document has, and how it may be without.
fn lacking<'e>(entity: &Entity, date: &'e str) -> Option<(&'e str, &'static str)> {
    let field = entity.field(date)?;
    match (field.required, field.nullable) {
        (true, false) => None,
        (true, true) => Some((date, "may be null")),
        (false, _) => Some((date, "may be missing")),
    }
}
