//! The newest few children in their parent (PT-subset.1): which of them, how many, and when none.

use docward_model::{DesignModel, Entity, Relationship, With, text};

use crate::derive::Question;
use crate::facts::{Bounds, Facts};
use crate::layout::{Layout, Origin, Rank, document_bytes, own};
use crate::naming::Naming;
use crate::pattern::{Made, Pattern, arrivals, date_field};
use crate::plan::{Decision, EntityAdvice, Verdict};
use crate::size;

/// A preview is a fifth of what a list may hold at most (GC-06): lists are read as a whole.
const SHARE_OF_A_LIST: u64 = 5;
/// Bytes of a document that is at the core of an application (CK-2).
const CORE_BYTES: u64 = 1_048_576;

/// What pages show of the newest children, all together.
#[derive(Default)]
struct Shown {
    newest: u64,
    by: Option<String>,
    fields: Option<Vec<String>>,
    /// Times a second.
    rate: f64,
}

/// Whether a preview of so many, with these fields (none: all of them), has what a read fetches.
pub(crate) fn answers(newest: u64, fields: &[String], with: &With) -> bool {
    let enough = with.newest.as_ref().is_some_and(|(wanted, _)| *wanted <= newest);
    let has_all =
        || !with.fields.is_empty() && with.fields.iter().all(|wanted| fields.contains(wanted));
    enough && (fields.is_empty() || has_all())
}

/// Whether a read shows something that must be current, which is read where it is.
pub(crate) fn shows_current(relationship: &Relationship, with: &With) -> bool {
    let by = with.newest.as_ref().and_then(|(_, by)| by.as_ref());
    let in_full = with.newest.is_some() && with.fields.is_empty();
    in_full && relationship.current.is_some()
        || with.fields.iter().chain(by).any(|field| relationship.must_be_current(field))
}

/// The fields that a read shows of the newest children and that must be current: it reads the children
/// anyway, so nothing is copied for it.
fn fresh(relationship: &Relationship, child: Option<&Entity>, with: &With) -> Vec<String> {
    let all = || child.iter().flat_map(|child| &child.fields).map(|field| field.name.clone());
    let wanted = if with.fields.is_empty() { all().collect() } else { with.fields.clone() };
    let by = with.newest.as_ref().and_then(|(_, by)| by.clone());
    let mut names: Vec<String> = wanted.into_iter().chain(by).collect();
    names.retain(|name| relationship.must_be_current(name));
    names.dedup();
    names
}

impl Made {
    /// Reference, and the parent's page shows the newest few.
    pub(crate) fn preview(
        &mut self,
        model: &DesignModel,
        relationship: &Relationship,
        facts: &Facts,
        bounds: &Bounds,
    ) {
        let child = model.entity(&relationship.child);
        let Some(Shown { newest, by, fields, rate }) = self.shown(model, relationship, child)
        else {
            return;
        };
        let fields = fields.unwrap_or_default();
        let Some(by) = by.or_else(|| date_field(child?)) else {
            self.questions.push(Question {
                about: relationship.name.clone(),
                ask: format!("by which field are the newest `{}` found?", relationship.role()),
                write: "add `by: createTime` beside `newest`".to_owned(),
            });
            return;
        };
        if relationship.must_be_current(&by) {
            self.say_current(relationship, &[by]);
            return;
        }
        let arriving = arrivals(model, &relationship.child);
        if rate < arriving {
            self.remarks.push(format!(
                "the newest {newest} are shown {rate:.1} times a second and change {arriving:.1} times: a preview would be written more often than read"
            ));
            return;
        }
        let most = (bounds.many / SHARE_OF_A_LIST).min(fitting(child, &fields, &by, facts));
        if newest > most {
            self.remarks.push(format!(
                "the newest {} are more than a preview may hold: {}, and whoever wants more reads `{}` (GC-06, DM-08.1)",
                text::count(newest),
                match most {
                    0 => "one alone makes the parent too large, so there is none".to_owned(),
                    most => format!("it has {}", text::count(most)),
                },
                relationship.child
            ));
        }
        if most > 0 {
            self.patterns.push(Pattern::Subset { newest: newest.min(most), by, fields });
        }
    }

    /// What all pages of the parent show, but for those that look at the children anyway.
    fn shown(
        &mut self,
        model: &DesignModel,
        relationship: &Relationship,
        child: Option<&Entity>,
    ) -> Option<Shown> {
        let mut shown: Option<Shown> = None;
        let mut current: Vec<String> = Vec::new();
        for read in model.reads.iter().filter(|read| read.from == relationship.parent) {
            for with in read.with.iter().filter(|with| with.relationship == relationship.name) {
                let Some((newest, by)) = &with.newest else { continue };
                let fresh = fresh(relationship, child, with);
                if !fresh.is_empty() {
                    current.extend(fresh);
                    continue;
                }
                let entry = shown.get_or_insert_default();
                entry.newest = entry.newest.max(*newest);
                entry.by = entry.by.take().or_else(|| by.clone());
                entry.rate += read.per_second;
                let fields = entry.fields.get_or_insert_with(|| with.fields.clone());
                // Without names a page shows all of them, and so does the preview.
                if with.fields.is_empty() {
                    fields.clear();
                } else if !fields.is_empty() {
                    let more = with.fields.iter().filter(|name| !fields.contains(name));
                    let more: Vec<String> = more.cloned().collect();
                    fields.extend(more);
                }
            }
        }
        current.sort();
        current.dedup();
        if !current.is_empty() {
            self.say_current(relationship, &current);
        }
        shown
    }

    fn say_current(&mut self, relationship: &Relationship, fields: &[String]) {
        let number = fields.len() as u64;
        self.remarks.push(format!(
            "{} must be current, so {} in no preview: pages that show {} read `{}` (ER-F.5)",
            text::list(fields, 3),
            text::form(number, "it is", "they are"),
            text::form(number, "it", "them"),
            relationship.child
        ));
    }
}

/// How many of the newest fit beside what the parent has, at the 99th percentile.
fn fitting(child: Option<&Entity>, fields: &[String], by: &str, facts: &Facts) -> u64 {
    let Some(child) = child else { return u64::MAX };
    let is_shown =
        |name: &String| fields.is_empty() || fields.contains(name) || name.as_str() == by;
    let shown: Vec<_> = child.fields.iter().filter(|f| is_shown(&f.name)).map(own).collect();
    let id = size::element(&child.name, 12 + 2);
    let bytes = |rank| document_bytes(&shown, rank).saturating_add(id);
    let room = CORE_BYTES.saturating_sub(facts.parent_bytes);
    size::fitting_large(room, bytes(Rank::Mean), bytes(Rank::P99))
}

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
        let Some(most) = room_for(&layout, &decisions[i], bounds) else { continue };
        let decision = &mut decisions[i];
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
            "beside its other lists `{}` has room for {} of the newest (CK-14)",
            decision.parent,
            if most == 0 { "none".to_owned() } else { text::count(most) }
        ));
    }
}

/// How many of the newest a parent has room for; `None` where it is small enough.
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
