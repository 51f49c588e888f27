//! Shortens previews that are too long in addition to the other lists of their parent (CK-14).

use std::collections::BTreeSet;

use docward_model::{DesignModel, With, text};

use crate::decide::decision::Decision;
use crate::decide::facts::Bounds;
use crate::decide::preview::Preview;
use crate::declared::dates::date_field;
use crate::declared::field_plan::{Origin, Rank, document_bytes};
use crate::declared::size;
use crate::layout::fields::Layout;

use super::resolve::{Restriction, State};

/// Shortens previews that make a parent too large together with its lists. If a parent has several,
/// only the first is shortened in this round, because the rest may then fit.
pub(super) fn too_long(state: &State<'_>, found: &mut Vec<Restriction>) {
    let decisions = state.decisions();
    if decisions.iter().all(|decision| Preview::of(&decision.patterns).is_none()) {
        return;
    }
    let advice = state.advice(&decisions);
    let layout =
        Layout { model: state.model, decisions: &decisions, advice: &advice, naming: state.naming };
    let mut parents = BTreeSet::new();
    for decision in &decisions {
        let Some(room) = room_for(&layout, decision, state.bounds) else { continue };
        if !parents.insert(&decision.parent) {
            continue;
        }
        // The shortened preview still serves pages that show at most this many children.
        let most = longest(state.model, decision, room);
        let because = format!(
            "with its other lists, `{}` has room for {} of the newest{} (CK-14)",
            decision.parent,
            if room == 0 { "none".to_owned() } else { text::count(room) },
            if room > 0 && most == 0 { ", which is too few for any page" } else { "" }
        );
        let relationship = decision.relationship.clone();
        found.push(Restriction::Preview { relationship, most, because });
    }
}

/// Returns the length of the longest page that the preview serves and that fits.
fn longest(model: &DesignModel, decision: &Decision, room: u64) -> u64 {
    let Some(preview) = Preview::of(&decision.patterns) else { return 0 };
    let dated = model.entity(&decision.child).and_then(date_field);
    let answers = |with: &With| preview.answers(with, dated.as_deref());
    let along = model.reads.iter().flat_map(|read| &read.with);
    let shown = along
        .filter(|with| with.relationship == decision.relationship && answers(with))
        .filter_map(|with| with.newest.as_ref().map(|(newest, _)| *newest));
    shown.filter(|newest| *newest <= room).max().unwrap_or(0)
}

/// Returns how many of the newest children a parent has room for. Returns `None` if the parent is
/// small enough.
fn room_for(layout: &Layout<'_>, decision: &Decision, bounds: &Bounds) -> Option<u64> {
    let parent = layout.model.entity(&decision.parent)?;
    let whole = layout.document(parent);
    let bytes = document_bytes(&whole, Rank::P99);
    if bytes <= bounds.safe_bytes {
        return None;
    }
    let origin = Origin::Preview(decision.relationship.clone());
    let shown = whole.iter().find(|field| field.origin == origin)?;
    let rest = bytes.saturating_sub(shown.value_bytes(Rank::P99));
    let room = bounds.safe_bytes.saturating_sub(rest);
    let one = |rank| document_bytes(&shown.fields, rank);
    Some(size::fitting_large(room, one(Rank::Mean), one(Rank::P99)))
}
