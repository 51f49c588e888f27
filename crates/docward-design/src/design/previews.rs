//! Previews that are too long beside the other lists of their parent (CK-14).

use docward_model::{DesignModel, With, text};

use crate::decide::decision::{Decision, EntityAdvice, Verdict};
use crate::decide::facts::Bounds;
use crate::decide::pattern::Pattern;
use crate::decide::preview::Preview;
use crate::decide::relationship_patterns;
use crate::declared::dates::date_field;
use crate::declared::field_plan::{Origin, Rank, document_bytes};
use crate::declared::naming::Naming;
use crate::declared::size;
use crate::layout::fields::Layout;

/// Previews are cut where they make a parent too large together with the lists beside them, which are known
/// only when everything is decided (CK-14).
pub(crate) fn trim(
    model: &DesignModel,
    decisions: &mut [Decision],
    advice: &[EntityAdvice],
    naming: Naming,
    bounds: &Bounds,
) {
    for i in 0..decisions.len() {
        let is_preview = |pattern: &Pattern| matches!(pattern, Pattern::Subset { .. });
        if !decisions[i].patterns.iter().any(is_preview) {
            continue;
        }
        let layout = Layout { model, decisions, advice, naming };
        let Some(room) = room_for(&layout, &decisions[i], bounds) else { continue };
        let decision = &mut decisions[i];
        // What is left serves pages that show so few.
        let most = longest(model, decision, room);
        for pattern in &mut decision.patterns {
            if let Pattern::Subset { newest, .. } = pattern {
                *newest = most.min(*newest);
            }
        }
        if most == 0 {
            decision.patterns.retain(|pattern| !is_preview(pattern));
            decision.verdict = Verdict::Reference;
        }
        decision.remarks.push(format!(
            "beside its other lists `{}` has room for {} of the newest{} (CK-14)",
            decision.parent,
            if room == 0 { "none".to_owned() } else { text::count(room) },
            if room > 0 && most == 0 { ", which is too few for any page" } else { "" }
        ));
        if most == 0 {
            relationship_patterns::alone(model, decision);
        }
    }
}

/// The longest list of those that a preview is for, of those that fit.
pub(crate) fn longest(model: &DesignModel, decision: &Decision, room: u64) -> u64 {
    let Some(preview) = Preview::of(decision) else { return 0 };
    let dated = model.entity(&decision.child).and_then(date_field);
    let answers = |with: &With| preview.answers(with, dated.as_deref());
    let along = model.reads.iter().flat_map(|read| &read.with);
    let shown = along
        .filter(|with| with.relationship == decision.relationship && answers(with))
        .filter_map(|with| with.newest.as_ref().map(|(newest, _)| *newest));
    shown.filter(|newest| *newest <= room).max().unwrap_or(0)
}

/// How many of the newest a parent has room for; `None` where it is small enough.
pub(crate) fn room_for(layout: &Layout<'_>, decision: &Decision, bounds: &Bounds) -> Option<u64> {
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
