//! Decides whether the parent has a preview of its newest children (PT-subset.1), with which fields
//! and how many children.

use docward_model::{DesignModel, Entity, Relationship, With, text};

use crate::decide::derive::Question;
use crate::decide::facts::{Bounds, Facts};
use crate::decide::pattern::{Made, Pattern};
use crate::declared::dates::date_field;
use crate::declared::field_plan::{Rank, declared, document_bytes, previewed};
use crate::declared::read_direction::{self, arrivals};
use crate::declared::size;
use crate::model_file::quantity::often;

/// A preview has at most a fifth of the maximum length of a list (GC-06), because lists are read
/// completely.
const SHARE_OF_A_LIST: u64 = 5;

/// The maximum size in bytes of a core document (CK-2).
const CORE_BYTES: u64 = 1_048_576;

/// The content of a page that shows the newest children.
#[derive(Clone)]
struct Shown {
    newest: u64,
    by: Option<String>,
    fields: Vec<String>,
    /// Reads per second.
    rate: f64,
}

impl Shown {
    /// Returns a preview that serves several pages.
    fn together(pages: &[Self]) -> Option<Self> {
        let first = pages.first()?;
        let mut all = Self { newest: 0, rate: 0.0, ..first.clone() };
        for page in pages {
            all.newest = all.newest.max(page.newest);
            all.rate += page.rate;
            // A page without field names shows all fields, so the preview needs all.
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

/// Returns the field that orders children by age: the field that a read names, or the only date of
/// a child. `None` leaves the choice to the reader.
pub(crate) fn order(by: Option<&String>, child: Option<&Entity>) -> Option<String> {
    by.cloned().or_else(|| child.and_then(date_field))
}

/// A preview in a parent.
#[derive(Clone, Copy)]
pub(crate) struct Preview<'p> {
    pub(crate) newest: u64,
    pub(crate) by: &'p str,
    /// An empty list means all.
    pub(crate) fields: &'p [String],
}

impl<'p> Preview<'p> {
    pub(crate) fn of(patterns: &'p [Pattern]) -> Option<Self> {
        patterns.iter().find_map(|pattern| match pattern {
            Pattern::Subset { newest, by, fields } => Some(Self { newest: *newest, by, fields }),
            _ => None,
        })
    }

    /// Whether the preview has what a read fetches: enough children, the same order and the same
    /// fields. `dated` is the only date of a child, which is the default order.
    pub(crate) fn answers(&self, with: &With, dated: Option<&str>) -> bool {
        let Some((newest, by)) = &with.newest else { return false };
        let same_order = by.as_deref().or(dated).is_none_or(|by| by == self.by);
        let has_all = || {
            !with.fields.is_empty() && with.fields.iter().all(|wanted| self.fields.contains(wanted))
        };
        *newest <= self.newest && same_order && (self.fields.is_empty() || has_all())
    }
}

/// Returns the fields of the newest children that a read shows and that must be current. Such a
/// read fetches the children anyway, so nothing is copied for it.
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
    /// Adds a preview if the parent's page shows the newest few children.
    pub(crate) fn preview(
        &mut self,
        model: &DesignModel,
        relationship: &Relationship,
        facts: &Facts,
        bounds: &Bounds,
    ) {
        let child = model.entity(&relationship.child);
        let mut pages = self.shown(model, relationship, child);
        // Pages without an order use the order of the others.
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
        // A preview that is too short for a page does not save its second read.
        let most = |page: &Shown| {
            let by = page.by.as_deref().unwrap_or_default();
            (bounds.many / SHARE_OF_A_LIST).min(fitting(child, &page.fields, by, facts))
        };
        let too_long = pages.iter().filter(|page| page.newest > most(page));
        if let Some(page) = too_long.max_by_key(|page| page.newest) {
            self.remarks.push(format!(
                "the newest {} are more than a preview can contain ({}): such pages read `{}` \
                 (GC-06, DM-08.1)",
                text::count(page.newest),
                match most(page) {
                    0 => "none, because even one makes the parent too large".to_owned(),
                    most => text::count(most),
                },
                relationship.child
            ));
        }
        pages.retain(|page| page.newest <= most(page));
        let Some(by) = busiest_order(&pages) else { return };
        let (mut pages, others): (Vec<Shown>, Vec<Shown>) =
            pages.into_iter().partition(|page| page.by.as_ref() == Some(&by));
        // The fields of one page may leave too little room for the number of children on another.
        // The page with the lowest read rate is then dropped.
        while let Some(all) = Shown::together(&pages)
            && all.newest > most(&all)
            && let Some(least) =
                (0..pages.len()).min_by(|a, b| pages[*a].rate.total_cmp(&pages[*b].rate))
        {
            let page = pages.remove(least);
            self.remarks.push(format!(
                "pages together show more than a preview can contain: the page of the newest {} \
                 reads `{}` (GC-06, DM-08.1)",
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
                "a preview has one order, by `{by}`: pages sorted by `{other}` read `{}` \
                 (PT-subset.1)",
                relationship.child
            ));
        }
        self.patterns.push(Pattern::Subset { newest, by, fields });
    }

    /// Returns what pages of the parent show, except for pages that read the children anyway.
    fn shown(
        &mut self,
        model: &DesignModel,
        relationship: &Relationship,
        child: Option<&Entity>,
    ) -> Vec<Shown> {
        let mut shown = Vec::new();
        let mut current: Vec<String> = Vec::new();
        for read in read_direction::along(model, relationship) {
            if !read_direction::comes_by_parent(model, read, relationship) {
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
            "{} must be current, so {} not in a preview: pages that show {} read `{}` (ER-F.5)",
            text::list(fields, 3),
            text::form(number, "it is", "they are"),
            text::form(number, "it", "them"),
            relationship.child
        ));
    }
}

/// Returns the order with the highest read rate.
fn busiest_order(pages: &[Shown]) -> Option<String> {
    let rate = |by: &String| -> f64 {
        let same = pages.iter().filter(|page| page.by.as_ref() == Some(by));
        same.map(|page| page.rate).sum()
    };
    let orders = pages.iter().filter_map(|page| page.by.as_ref());
    orders.reduce(|a, b| if rate(b) > rate(a) { b } else { a }).cloned()
}

/// Returns how many of the newest children fit into the parent at the 99th percentile.
fn fitting(child: Option<&Entity>, fields: &[String], by: &str, facts: &Facts) -> u64 {
    let Some(child) = child else { return u64::MAX };
    let shown = previewed(child, by, fields);
    let id = size::element(&child.name, 12 + 2);
    let bytes = |rank| document_bytes(&shown, rank).saturating_add(id);
    let room = CORE_BYTES.saturating_sub(facts.parent_bytes);
    size::fitting_large(room, bytes(Rank::Mean), bytes(Rank::P99))
}
