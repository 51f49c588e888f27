//! Remarks on a finished design: entities that are embedded in or expire with others, contradictory
//! figures, missing dates.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{DesignModel, DesignRead, DesignWrite, Entity, Matching, Relationship, text};

use crate::decide::decision::{Decision, EntityAdvice, living_elsewhere};
use crate::decide::pattern::Pattern;
use crate::decide::vote::Choice;
use crate::declared::dates;
use crate::layout::aging;
use crate::model_file::quantity::{YEAR, lasting, often};

/// Adds remarks about relationships.
pub(crate) fn on_relationships(model: &DesignModel, decisions: &mut [Decision]) {
    expiry(model, decisions);
    dead_ids(model, decisions);
    orphans(model, decisions);
    figures(model, decisions);
    homeless(decisions);
    apart(model, decisions);
}

/// No remark is needed for documents with up to this many levels (DM-06.1).
const SHALLOW: usize = 3;

/// Adds a remark if documents are deeper than recommended. It belongs to the outermost relationship
/// that causes the depth.
pub(super) fn on_depth<'d>(
    depths: BTreeMap<&'d str, (usize, Option<&'d Relationship>)>,
    embedded: impl Iterator<Item = &'d Decision>,
) -> BTreeMap<String, Vec<String>> {
    let embedded: BTreeSet<&str> = embedded.map(|made| made.child.as_str()).collect();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (entity, (depth, first)) in depths {
        if let Some(outermost) = first.filter(|_| depth > SHALLOW && !embedded.contains(entity)) {
            found.entry(outermost.name.clone()).or_default().push(format!(
                "documents of `{entity}` are {depth} levels deep; up to {SHALLOW} are easy to work with (DM-06.1)"
            ));
        }
    }
    found
}

/// Adds a remark if two services without common entities share a document. No row covers this, but
/// users should know.
fn apart(model: &DesignModel, decisions: &mut [Decision]) {
    for decision in decisions.iter_mut().filter(|d| d.choice == Some(Choice::Embed)) {
        let of = |entity: &str| model.entity(entity).map_or(&[][..], |entity| &entity.services);
        let (above, below) = (of(&decision.parent), of(&decision.child));
        let is_shared = above.iter().any(|service| below.contains(service));
        if above.is_empty() || below.is_empty() || is_shared {
            continue;
        }
        decision.remarks.push(format!(
            "`{}` belongs to {} and `{}` to {}: if embedded, services that share nothing else \
             write the same document, and must change its shape and its validator together",
            decision.parent,
            text::list(above, 3),
            decision.child,
            text::list(below, 3)
        ));
    }
}

/// Adds a remark if a parent's list keeps the ids of deleted children.
fn dead_ids(model: &DesignModel, decisions: &mut [Decision]) {
    for decision in decisions {
        if decision.patterns.first() != Some(&Pattern::ChildrenInParent) {
            continue;
        }
        let (parent, child) = (&decision.parent, &decision.child);
        let stays = "so dangling ids stay in the lists and take space";
        let deleting = dates::deleting(model, child);
        if !deleting.is_empty() {
            decision.remarks.push(format!(
                "{} {} `{child}`, {stays}: first remove the id from all lists of `{parent}` \
                 (GC-07)",
                text::list(&deleting, 3),
                text::form(deleting.len() as u64, "deletes", "delete")
            ));
        }
        // If the parent expires first, its list expires with it.
        let listed = dates::goes_after(model, parent);
        if let Some(days) = dates::goes_after(model, child)
            && listed.is_none_or(|parent| parent > days)
        {
            decision.remarks.push(format!(
                "`{child}` expires after {}, {stays}: readers of a list of `{parent}` should \
                 remove dangling ids (GC-07)",
                lasting(days)
            ));
        }
    }
}

/// Adds a remark if children or junction documents outlive a parent that they refer to. The server
/// does not notify anyone when a document expires.
fn orphans(model: &DesignModel, decisions: &mut [Decision]) {
    for decision in decisions {
        let stays = match decision.patterns.first() {
            Some(Pattern::ParentInChild | Pattern::ParentsInChild) => &decision.child,
            Some(Pattern::Junction) => "the pairs",
            _ => continue,
        };
        let Some(days) = dates::goes_after(model, &decision.parent) else { continue };
        let is_pair = decision.patterns.first() == Some(&Pattern::Junction);
        let own = dates::goes_after(model, &decision.child).filter(|_| !is_pair);
        if own.is_some_and(|own| own <= days) {
            continue;
        }
        let what = if is_pair { stays.to_owned() } else { format!("documents of `{stays}`") };
        decision.remarks.push(format!(
            "`{}` expires after {}, but {what} with its id stay: remove them regularly, or let \
             them expire at the same time (DP-2)",
            decision.parent,
            lasting(days)
        ));
    }
}

/// Adds a remark if children are embedded in another parent.
fn homeless(decisions: &mut [Decision]) {
    let away = living_elsewhere(decisions);
    for decision in decisions.iter_mut().filter(|d| away.contains(&d.relationship)) {
        decision.remarks.push(format!(
            "a `{}` that belongs only to a `{}` cannot be stored: declare it as a separate entity \
             (DM-07.6)",
            decision.child, decision.parent
        ));
    }
}

/// The maximum ratio between figures that should be equal.
const ROUND: f64 = 1.5;

/// Adds a remark if the number of documents contradicts the number of children per parent.
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
        // The percentiles give a lower and an upper bound of the mean.
        let [p50, p95, p99, max] =
            [spread.p50, spread.p95, spread.p99, spread.max].map(|number| number as f64);
        let least = 0.45 * p50 + 0.04 * p95 + 0.01 * p99;
        let most = 0.5 * p50 + 0.45 * p95 + 0.04 * p99 + 0.01 * max;
        // Rounded figures may differ slightly.
        if each > most * ROUND || each * ROUND < least {
            decision.remarks.push(format!(
                "{} of `{}` for {} of `{}` are {} each, but `children` implies {} to {}: one of \
                 these values is wrong",
                text::count(children as u64),
                relationship.child,
                text::count(parents as u64),
                relationship.parent,
                figure(each),
                figure(least),
                figure(most)
            ));
        }
    }
}

/// Formats a mean. Small means have one decimal place.
fn figure(mean: f64) -> String {
    if mean < 9.95 { format!("{mean:.1}") } else { text::count(mean.round() as u64) }
}

/// Adds a remark if children expire, because counts and previews in the parent then keep their
/// values.
fn expiry(model: &DesignModel, decisions: &mut [Decision]) {
    for decision in decisions {
        let days = |name: &str| model.entity(name)?.lifecycle?.kept_days;
        // If the parent expires first, its counts and previews expire with it.
        let first = days(&decision.child)
            .is_some_and(|child| days(&decision.parent).is_none_or(|parent| parent > child));
        // Without a creation date, documents do not expire.
        let child = model.entity(&decision.child);
        let dated = child.is_some_and(|e| e.series.is_some() || dates::coming(e).is_some());
        if !(first && dated && decision.choice == Some(Choice::Reference)) {
            continue;
        }
        let has = |of: fn(&Pattern) -> bool| decision.patterns.iter().any(of);
        let stays =
            format!("`{}` expires, but what the parent stores about it stays", decision.child);
        if has(|p| matches!(p, Pattern::Subset { .. } | Pattern::Computed { .. })) {
            decision.remarks.push(format!(
                "{stays}: run the rebuild function for important parents, or treat such totals as \
                 all-time values"
            ));
        } else if has(|p| matches!(p, Pattern::Approximation { .. })) {
            decision.remarks.push(format!("{stays}: treat the count as an all-time value"));
        }
    }
}

/// Adds a remark on reads that may find many documents but have no limit. Their cost assumes one
/// document. A read by the id of a parent finds all its children.
fn unlimited(model: &DesignModel, entity: &Entity) -> Option<String> {
    let is_one = |(name, how): &(String, Matching)| {
        let unique = entity.field(name).is_some_and(|field| field.unique);
        *how == Matching::Equal && (name == "_id" || unique)
    };
    let by_other = |(name, _): &(String, Matching)| {
        let ends = |r: &Relationship| {
            let above = r.child == entity.name && (*name == r.parent || *name == r.name);
            let below = r.parent == entity.name && r.role() == name;
            above || below || r.field.as_ref() == Some(name)
        };
        model.relationships.iter().any(ends)
    };
    let is_open = |read: &&DesignRead| {
        read.from == entity.name
            && read.limit.is_none()
            && !read.filter.is_empty()
            && !read.filter.iter().any(is_one)
            // A pair of linked documents is found once.
            && !(read.filter.len() <= 2 && read.filter.iter().all(by_other))
    };
    let reads: Vec<&str> =
        model.reads.iter().filter(is_open).map(|read| read.name.as_str()).collect();
    (!reads.is_empty()).then(|| {
        format!(
            "{} {} no `limit`, and {} calculated with one document each: declare how many are \
             found",
            text::list(&reads, 5),
            if reads.len() == 1 { "has" } else { "have" },
            if reads.len() == 1 { "is" } else { "are" }
        )
    })
}

/// Replaces advice that does not apply to an embedded entity.
pub(crate) fn parts_of_others(
    model: &DesignModel,
    decisions: &[Decision],
    advice: &mut [EntityAdvice],
) {
    for (entity, advice) in model.entities.iter().zip(advice) {
        let home = decisions.iter().find(|decision| {
            decision.choice == Some(Choice::Embed) && decision.child == entity.name
        });
        advice.remarks.extend(readings(entity));
        advice.remarks.extend(unlimited(model, entity));
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
                "it is part of `{parent}`, so {what} kept there: declare `{instead}` for `{parent}`"
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
                "copies, one per parent,"
            } else if below_a_list {
                "lists in a list"
            } else if of_kind || in_list && !field.required {
                "elements that may lack it"
            } else {
                continue;
            };
            advice.remarks.push(format!(
                "`{}` is unique, which the server cannot enforce for {why} of `{role}`: Docward \
                 proposes no index",
                field.name
            ));
        }
        let life = |name: &str| model.entity(name)?.lifecycle;
        let kept = |name: &str| life(name)?.kept_days;
        if let (Some(goes), Some(own)) = (kept(parent), life(&entity.name))
            && own.kept_days.is_none_or(|days| days > goes)
        {
            let own =
                own.kept_days.map_or("forever".to_owned(), |days| format!("for {}", lasting(days)));
            advice.remarks.push(format!(
                "kept {own}, but part of `{parent}`, which expires after {} and would delete it \
                 too, so the design has no expiry for `{parent}`: keep `{parent}` as long, or \
                 store it as a separate entity (DP-2)",
                lasting(goes)
            ));
        }
        let Some(days) = kept(&entity.name) else { continue };
        let later = |write: &&DesignWrite| {
            write.inserts.contains(&entity.name) && !write.inserts.contains(parent)
        };
        // An index deletes the parent, and the parent is not embedded.
        let is_part = decisions
            .iter()
            .any(|decision| decision.choice == Some(Choice::Embed) && decision.child == *parent);
        let goes = dates::goes_after(model, parent)
            .filter(|goes| *goes == days && !is_part)
            .filter(|_| !aging::holds_what_stays(model, decisions, parent));
        if let Some(write) = model.writes.iter().find(later).filter(|_| goes.is_some()) {
            advice.remarks.push(format!(
                "`{}` adds elements to an existing `{parent}`, which expires {} after its own date: later \
                 additions expire with it, earlier than declared (DP-2). If that matters, keep \
                 `{parent}` longer",
                write.name,
                lasting(days)
            ));
        }
        if kept(parent).is_some_and(|parent| parent <= days) {
            continue;
        }
        advice.remarks.push(match dates::coming(entity) {
            Some(_) if below_a_list || !in_list => format!(
                "kept for {}, but part of `{parent}`, which is kept longer: remove it with a job",
                lasting(days)
            ),
            Some(date) => format!(
                "kept for {}, but part of `{parent}`, which is kept longer: documents expire, but \
                 array elements do not. Every day, remove elements of `{role}` with an older \
                 `{date}`{}",
                lasting(days),
                lacking(entity, date).map_or(String::new(), |(_, lack)| format!(
                    ". It {lack}, and elements without it stay"
                ))
            ),
            None => format!(
                "part of `{parent}`, which is kept longer than the {} of `{role}`",
                lasting(days)
            ),
        });
    }
}

/// The maximum ratio between the growth of a series and the growth that follows from its rate.
const ROUGH: f64 = 2.0;

/// Returns a remark if the growth of a series contradicts its rate and the number of series.
fn readings(entity: &Entity) -> Option<String> {
    let (series, life) = (entity.series.as_ref()?, entity.lifecycle.filter(|l| !l.growth_open)?);
    let number = series.series.filter(|number| *number > 0.0)?;
    let yearly = number * series.per_second * YEAR;
    if yearly <= life.per_year * ROUGH && life.per_year <= yearly * ROUGH {
        return None;
    }
    let each = match often(series.per_second).split_once(' ') {
        Some(("once", unit)) => format!("one reading {unit}"),
        _ => format!("readings {}", often(series.per_second)),
    };
    Some(format!(
        "`growth` is {} per year, but {} series of {each} are {} per year: one of these values is \
         wrong (DP-2)",
        text::count(life.per_year.round() as u64),
        text::count(number as u64),
        text::count(yearly.round() as u64)
    ))
}

/// Explains why documents of an entity do not expire or are not archived as requested.
fn ageless(entity: &Entity) -> Vec<String> {
    let life = entity.lifecycle.unwrap_or_default();
    let after = lasting;
    let mut said = Vec::new();
    if entity.series.is_some() {
        return said;
    }
    if let Some(days) = life.kept_days
        && dates::coming(entity).is_none()
    {
        said.push(format!(
            "kept for {}, but no date field such as `createTime` shows its age: documents do not \
             expire, and their number grows; name a field with `by: FIELD` in `lifecycle`",
            after(days)
        ));
    }
    if let Some(days) = life.kept_days
        && let Some((date, lack)) = dates::coming(entity).and_then(|date| lacking(entity, date))
    {
        said.push(format!(
            "kept for {} by `{date}`, which {lack}: documents without it never expire (DP-2)",
            after(days)
        ));
    }
    if let (Some(cold), Some(kept)) = (life.cold_days, life.kept_days)
        && cold >= kept
    {
        said.push(format!(
            "it expires after {}, before it becomes cold: there is no archive",
            after(kept)
        ));
    }
    if let Some(days) = life.cold_days
        && life.kept_days.is_none_or(|kept| kept > days)
        && dates::dated(entity).is_none()
    {
        said.push(format!(
            "cold after {}, but no date field such as `createTime` shows its age: no archive is \
             planned; name a field with `by: FIELD` in `lifecycle`",
            after(days)
        ));
    }
    if let Some(days) = life.cold_days
        && life.kept_days.is_none_or(|kept| kept > days)
        && let Some((date, lack)) = dates::dated(entity).and_then(|date| lacking(entity, date))
    {
        said.push(format!(
            "cold after {} by `{date}`, which {lack}: documents without it are never archived \
             (DP-2)",
            after(days)
        ));
    }
    said
}

/// Returns a date field that some documents lack, and how they may lack it.
fn lacking<'e>(entity: &Entity, date: &'e str) -> Option<(&'e str, &'static str)> {
    let field = entity.field(date)?;
    match (field.required, field.nullable) {
        (true, false) => None,
        (true, true) => Some((date, "can be null")),
        (false, _) => Some((date, "can be missing")),
    }
}
