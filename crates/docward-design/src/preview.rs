//! The newest few children in their parent (PT-subset.1): which of them, how many, and when none.

use docward_model::{DesignModel, Entity, Relationship, With, text};

use crate::derive::{self, Question};
use crate::facts::{Bounds, Facts};
use crate::layout::Layout;
use crate::naming::Naming;
use crate::pattern::{self, Made, Pattern, arrivals, date_field};
use crate::plan::{Decision, EntityAdvice, Verdict};
use crate::planned::{Origin, Rank, declared, document_bytes, previewed};
use crate::quantity::often;
use crate::size;

/// A preview is a fifth of what a list may hold at most (GC-06): lists are read as a whole.
const SHARE_OF_A_LIST: u64 = 5;
/// Bytes of a document that is at the core of an application (CK-2).
const CORE_BYTES: u64 = 1_048_576;

/// What a page shows of the newest children.
#[derive(Clone)]
struct Shown {
    newest: u64,
    by: Option<String>,
    fields: Vec<String>,
    /// Times a second.
    rate: f64,
}

impl Shown {
    /// What serves several pages at once.
    fn together(pages: &[Self]) -> Option<Self> {
        let first = pages.first()?;
        let mut all = Self { newest: 0, rate: 0.0, ..first.clone() };
        for page in pages {
            all.newest = all.newest.max(page.newest);
            all.rate += page.rate;
            // Without names a page shows all of them, and so does the preview.
            if page.fields.is_empty() {
                all.fields.clear();
            } else if !all.fields.is_empty() {
                let more = page.fields.iter().filter(|name| !all.fields.contains(name));
                let more: Vec<String> = more.cloned().collect();
                all.fields.extend(more);
            }
        }
        Some(all)
    }
}

/// What says which children are the newest: what a read names, or the one date that a child has. `None` leaves
/// it to whoever shows them.
pub(crate) fn order(by: Option<&String>, child: Option<&Entity>) -> Option<String> {
    by.cloned().or_else(|| child.and_then(date_field))
}

/// A preview as a parent has it.
#[derive(Clone, Copy)]
pub(crate) struct Preview<'p> {
    pub(crate) newest: u64,
    pub(crate) by: &'p str,
    /// None means all.
    pub(crate) fields: &'p [String],
}

impl<'p> Preview<'p> {
    pub(crate) fn of(decision: &'p Decision) -> Option<Self> {
        decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::Subset { newest, by, fields } => Some(Self { newest: *newest, by, fields }),
            _ => None,
        })
    }

    /// Whether it has what a read fetches of the children: so many, in the same order, with these fields.
    /// `dated` is the one date of a child, which says what is newest where nothing else does.
    pub(crate) fn answers(&self, with: &With, dated: Option<&str>) -> bool {
        let Some((newest, by)) = &with.newest else { return false };
        let same_order = by.as_deref().or(dated).is_none_or(|by| by == self.by);
        let has_all = || {
            !with.fields.is_empty() && with.fields.iter().all(|wanted| self.fields.contains(wanted))
        };
        *newest <= self.newest && same_order && (self.fields.is_empty() || has_all())
    }
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
    let all = || child.map(declared).unwrap_or_default().into_iter().map(|field| field.name);
    let wanted = if with.fields.is_empty() { all().collect() } else { with.fields.clone() };
    let by = with.newest.as_ref().and_then(|(_, by)| order(by.as_ref(), child));
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
        let mut pages = self.shown(model, relationship, child);
        // Pages that do not say what is newest take the order of the others.
        let named = pages.iter().find_map(|page| page.by.clone());
        for page in &mut pages {
            page.by = page.by.take().or_else(|| named.clone());
        }
        if let Some(page) = pages.first()
            && page.by.is_none()
        {
            self.questions.push(Question {
                about: relationship.name.clone(),
                ask: format!("by which field are the newest `{}` found?", relationship.role()),
                write: "add `by: createTime` beside `newest`".to_owned(),
            });
            return;
        }
        // One that is too short for a page does not spare it the second read.
        let most = |page: &Shown| {
            let by = page.by.as_deref().unwrap_or_default();
            (bounds.many / SHARE_OF_A_LIST).min(fitting(child, &page.fields, by, facts))
        };
        let too_long = pages.iter().filter(|page| page.newest > most(page));
        if let Some(page) = too_long.max_by_key(|page| page.newest) {
            self.remarks.push(format!(
                "the newest {} are more than a preview may hold, which is {}: whoever wants so many reads `{}` (GC-06, DM-08.1)",
                text::count(page.newest),
                match most(page) {
                    0 => "none, as one alone makes the parent too large".to_owned(),
                    most => text::count(most),
                },
                relationship.child
            ));
        }
        pages.retain(|page| page.newest <= most(page));
        let Some(by) = busiest_order(&pages) else { return };
        let (mut pages, others): (Vec<Shown>, Vec<Shown>) =
            pages.into_iter().partition(|page| page.by.as_ref() == Some(&by));
        // Fields of one page may leave no room for as many as another shows: the one that is read least goes.
        while let Some(all) = Shown::together(&pages)
            && all.newest > most(&all)
            && let Some(least) =
                (0..pages.len()).min_by(|a, b| pages[*a].rate.total_cmp(&pages[*b].rate))
        {
            let page = pages.remove(least);
            self.remarks.push(format!(
                "what pages show together is more than a preview may hold: the one of the newest {} reads `{}` (GC-06, DM-08.1)",
                text::count(page.newest),
                relationship.child
            ));
        }
        let Some(Shown { newest, fields, rate, .. }) = Shown::together(&pages) else { return };
        let arriving = arrivals(model, &relationship.child);
        if rate < arriving {
            self.remarks.push(format!(
                "the newest {newest} are shown {} and change {}: a preview would be written more often than read",
                often(rate),
                often(arriving)
            ));
            return;
        }
        if let Some(other) = others.iter().find_map(|page| page.by.as_ref()) {
            self.remarks.push(format!(
                "a preview has one order, which is that of `{by}`: pages in the order of `{other}` read `{}` (PT-subset.1)",
                relationship.child
            ));
        }
        self.patterns.push(Pattern::Subset { newest, by, fields });
    }

    /// What pages of the parent show, but for those that look at the children anyway.
    fn shown(
        &mut self,
        model: &DesignModel,
        relationship: &Relationship,
        child: Option<&Entity>,
    ) -> Vec<Shown> {
        let mut shown = Vec::new();
        let mut current: Vec<String> = Vec::new();
        for read in derive::along(model, relationship) {
            if !derive::comes_by_parent(model, read, relationship) {
                continue;
            }
            for with in read.with.iter().filter(|with| with.relationship == relationship.name) {
                let Some((newest, by)) = &with.newest else { continue };
                let fresh = fresh(relationship, child, with);
                if !fresh.is_empty() {
                    current.extend(fresh);
                    continue;
                }
                shown.push(Shown {
                    newest: *newest,
                    by: order(by.as_ref(), child),
                    fields: with.fields.clone(),
                    rate: read.per_second,
                });
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

/// The order in which most of what pages show is read.
fn busiest_order(pages: &[Shown]) -> Option<String> {
    let rate = |by: &String| -> f64 {
        let same = pages.iter().filter(|page| page.by.as_ref() == Some(by));
        same.map(|page| page.rate).sum()
    };
    let orders = pages.iter().filter_map(|page| page.by.as_ref());
    orders.reduce(|a, b| if rate(b) > rate(a) { b } else { a }).cloned()
}

/// How many of the newest fit beside what the parent has, at the 99th percentile.
fn fitting(child: Option<&Entity>, fields: &[String], by: &str, facts: &Facts) -> u64 {
    let Some(child) = child else { return u64::MAX };
    let shown = previewed(child, by, fields);
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
            pattern::alone(model, decision);
        }
    }
}

/// The longest list of those that a preview is for, of those that fit.
fn longest(model: &DesignModel, decision: &Decision, room: u64) -> u64 {
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
