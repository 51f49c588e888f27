//! Generated functions keep previews, counts and sums in the parent up to date. If no function can
//! do so, the parent does not store them, and the checklist states the cost (PT-computed.1, CK-11).

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::decide::vote::Choice;
use crate::layout::fields::{Layout, is_embedded};

use super::resolve::{Restriction, State};

/// Finds previews, counts and sums that no function can keep up to date.
pub(super) fn unmaintainable(state: &State<'_>, found: &mut Vec<Restriction>) {
    let decisions = state.decisions();
    let keeps = |decision: &&Decision| decision.patterns.iter().any(Pattern::is_summary);
    if !decisions.iter().any(|decision| keeps(&decision)) {
        return;
    }
    let advice = state.advice(&decisions);
    let layout =
        Layout { model: state.model, decisions: &decisions, advice: &advice, naming: state.naming };
    found.extend(decisions.iter().filter(keeps).filter_map(|decision| {
        let (keeps_figures, because) = unwritten(&layout, decision)?;
        let relationship = decision.relationship.clone();
        Some(Restriction::NoSummary { relationship, keeps_figures, because })
    }));
}

/// Returns why a parent does not store a summary, and whether counts and sums stay. Returns `None`
/// if it stores everything.
fn unwritten(layout: &Layout<'_>, decision: &Decision) -> Option<(bool, String)> {
    let Decision { parent, child, .. } = decision;
    if is_element(layout, decision) {
        let is_more = |p: &Pattern| p.is_summary() && !matches!(p, Pattern::Computed { .. });
        let because = format!(
            "`{parent}` is an element of a list, which can keep only counts and sums of its \
             `{child}`: pages read the rest (PT-computed.1)"
        );
        return decision.patterns.iter().any(is_more).then_some((true, because));
    }
    let because = if has_place(layout, parent, 0) {
        unfollowed(layout, decision)?
    } else {
        format!(
            "`{parent}` is an element of a list, for which Docward writes no functions, so it \
             keeps nothing about its `{child}`: they are read instead (PT-computed.1)"
        )
    };
    Some((false, because))
}

/// Whether one filter can find the parent as a list element, by the id that its children store. The
/// list must be complete and in a separate document.
fn is_element(layout: &Layout<'_>, decision: &Decision) -> bool {
    let embeds = |d: &&Decision| d.choice == Some(Choice::Embed) && d.child == decision.parent;
    let mut homes = layout.decisions.iter().filter(embeds);
    let Some(home) = homes.next().filter(|_| homes.next().is_none()) else { return false };
    let relationship = layout.model.relationship(&home.relationship);
    let has_pages = home.patterns.iter().any(|p| matches!(p, Pattern::Outlier { .. }));
    decision.choice == Some(Choice::Reference)
        && decision.patterns.first() == Some(&Pattern::ParentInChild)
        && is_embedded(layout, &decision.parent)
        && home.facts.children.max > 1
        && !has_pages
        && relationship.is_some_and(|r| layout.has_part_id(r))
        && [&home.parent, &decision.child]
            .into_iter()
            .all(|entity| !is_embedded(layout, entity) && !is_series(layout, entity))
}

/// Returns why no write could keep data about the children up to date in any document.
fn unfollowed(layout: &Layout<'_>, decision: &Decision) -> Option<String> {
    let Decision { parent, child, .. } = decision;
    let single = decision.facts.children.max <= 1;
    match decision.choice {
        Some(Choice::Embed) if single => {
            Some(format!("there is at most one `{child}`, which equals its sum"))
        }
        Some(Choice::Reference) if is_embedded(layout, child) || is_series(layout, child) => {
            Some(format!(
                "`{child}` is not a separate document, so copies in `{parent}` would not be \
                 updated: it is read instead (PT-computed.1)"
            ))
        }
        Some(Choice::Reference)
            if single && decision.patterns.contains(&Pattern::ChildrenInParent) =>
        {
            Some(format!("there is at most one `{child}`, which is read directly"))
        }
        Some(Choice::Reference) if is_rough(decision) => Some(format!(
            "links between `{parent}` and `{child}` are counted directly: only children with the \
             id of their parent can have an approximate count"
        )),
        _ => None,
    }
}

/// Whether an approximate count covers children that do not store the id of their parent.
fn is_rough(decision: &Decision) -> bool {
    decision.patterns.first() != Some(&Pattern::ParentInChild)
        && decision.patterns.iter().any(|p| matches!(p, Pattern::Approximation { .. }))
}

/// Whether a filter can find an entity's documents: they have a collection, or are objects in such
/// a document.
fn has_place(layout: &Layout<'_>, entity: &str, depth: usize) -> bool {
    if !is_embedded(layout, entity) {
        return !is_series(layout, entity);
    }
    let homes: Vec<&Decision> = layout
        .decisions
        .iter()
        .filter(|decision| decision.choice == Some(Choice::Embed) && decision.child == entity)
        .collect();
    match homes.as_slice() {
        [home] => {
            depth < layout.decisions.len()
                && home.facts.children.max <= 1
                && has_place(layout, &home.parent, depth + 1)
        }
        _ => false,
    }
}

/// Whether an entity's documents are readings in buckets or a time series.
fn is_series(layout: &Layout<'_>, entity: &str) -> bool {
    let is_series =
        |pattern: &Pattern| matches!(pattern, Pattern::TimeSeries { .. } | Pattern::Bucket(_));
    let advice = layout.advice.iter().find(|advice| advice.entity == entity);
    advice.is_some_and(|advice| advice.patterns.iter().any(is_series))
}
