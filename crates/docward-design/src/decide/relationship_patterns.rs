//! The patterns of a relationship: the post-rules of ALG-5, which turn "reference" and "embed" into
//! patterns (PT-*).

use std::collections::BTreeSet;

use docward_model::{DesignModel, DesignRead, Entity, Relationship};

use crate::decide::decision::Decision;
use crate::decide::facts::{Bounds, Facts, Growth, Kind, is_outlier};
use crate::decide::pattern::{Made, Pattern};
use crate::decide::vote::{Choice, Ruling};
use crate::declared::read_direction::{self, COPIED, is_tree};
use crate::declared::{quantile, size};
use crate::model_file::quantity::often;

/// The minimum ratio of the cost of reads to changes for a stored count (GC-47).
pub(crate) const REPEATED: f64 = 10.0;

/// The number of children that a read counts at about the cost of another read.
const COUNTED_PER_READ: f64 = 100.0;

/// Returns the cost of counting the children of a parent, in reads. A count visits every child, so
/// long lists are worth a stored count sooner than short ones. A few very long lists do not decide.
fn counting_cost(facts: &Facts) -> f64 {
    let children = docward_model::Spread { max: facts.children.p99, ..facts.children };
    1.0 + (quantile::mean(children) / COUNTED_PER_READ).floor()
}

/// The maximum number of elements of an overflow page (PT-outlier.1), if they fit (CK-14).
pub(crate) const PAGE: u64 = 1000;

/// An approximate count is worth its inaccuracy from this number of writes per second on.
pub(crate) const BUSY: f64 = 100.0;

/// Applies the post-rules to a relationship.
pub(crate) fn of_relationship(
    model: &DesignModel,
    relationship: &Relationship,
    facts: &Facts,
    ruling: &Ruling,
    bounds: &Bounds,
) -> Made {
    let mut made = Made { patterns: Vec::new(), remarks: Vec::new(), questions: Vec::new() };
    if is_tree(relationship) {
        made.patterns.push(Pattern::Tree);
        made.patterns.push(Pattern::ParentInChild);
        return made;
    }
    let child = model.entity(&relationship.child);
    let is_series = child.is_some_and(|child| child.series.is_some());
    match ruling.choice {
        Choice::Embed => {
            made.patterns.push(Pattern::Embedded);
            if let Some(newest) = relationship.keep_newest {
                made.patterns.push(Pattern::CappedArray { newest });
            }
            if is_outlier(facts.children.p99, facts.children.max, bounds) {
                let room = bounds.safe_bytes.saturating_sub(facts.parent_bytes);
                let fitting = size::fitting_large(room, facts.child_bytes, facts.child_p99);
                let page = PAGE.min(fitting).max(1);
                made.patterns.push(Pattern::Outlier { page });
            }
        }
        Choice::Reference => {
            let holder = holder(model, relationship, facts, bounds);
            // A list of ids in the child cannot also have copies of the parents' fields.
            if holder == Pattern::ParentsInChild {
                made.without_copies(model, relationship);
            } else {
                made.extended(model, relationship, facts, &holder);
            }
            made.patterns.insert(0, holder);
            if !is_series {
                made.preview(model, relationship, facts, bounds);
            }
        }
    }
    if is_series {
        // Readings are appended to a bucket or a time series without a second write to the parent.
        let summed = model.reads.iter().any(|read| {
            read.counts.contains(&relationship.name)
                || read.sums.iter().any(|(of, _)| *of == relationship.name)
        });
        if summed {
            made.remarks.push(
                "counts and sums of readings are computed for a period when they are read, and \
                 not kept in the parent"
                    .to_owned(),
            );
        }
    } else {
        made.computed(model, relationship, facts, ruling.choice);
    }
    made
}

/// Returns the place of the reference (GC-07). Lists of ids are only used while they stay below
/// 1,000.
pub(crate) fn holder(
    model: &DesignModel,
    relationship: &Relationship,
    facts: &Facts,
    bounds: &Bounds,
) -> Pattern {
    let ends = !matches!(facts.growth, Growth::Endless | Growth::CutLate(_))
        && facts.children.max < bounds.many;
    match facts.kind {
        Kind::ManyToOne => Pattern::ChildrenInParent,
        Kind::ManyToMany => {
            // The number of parents of a child is unbounded unless the model declares a maximum.
            let parents_end = (relationship.parents_max as u64) < bounds.many;
            let in_child = parents_end && ends && is_listed_in_child(model, relationship, facts);
            match (ends, parents_end) {
                (true, _) if in_child => Pattern::ParentsInChild,
                (true, _) => Pattern::ChildrenInParent,
                (false, true) => Pattern::ParentsInChild,
                (false, false) => Pattern::Junction,
            }
        }
        Kind::OneToOne | Kind::OneToMany => {
            let asked_by_parent = model.reads.iter().any(|read| {
                read.from == relationship.child
                    && read.filter.iter().any(|(field, _)| *field == relationship.parent)
            });
            let fetched = model
                .reads
                .iter()
                .any(|read| read.with.iter().any(|with| with.relationship == relationship.name));
            // A read of a child with its parent needs the parent's id in the child. A list in the
            // parent does not provide it.
            let leads_up = model.reads.iter().any(|read| {
                read.with.iter().any(|with| with.relationship == relationship.name)
                    && !read_direction::comes_by_parent(model, read, relationship)
            });
            let by_child = asked_by_parent || leads_up;
            // A bounded list of ids would have to refuse new ids. Children that store the parent's
            // id can be removed by age instead.
            let cut = relationship.keep_newest.is_some();
            // Only a unique index prevents a child from being in two parents. With that index, the
            // parents can have no other shard key (CK-13). A child that stores its parent's id
            // always has a single parent.
            let spread = model.deployment.shards > 1;
            let bounded = ends && facts.growth == Growth::Bounded;
            if bounded && fetched && !by_child && !cut && !spread {
                Pattern::ChildrenInParent
            } else {
                Pattern::ParentInChild
            }
        }
    }
}

/// Whether the child stores the ids of a many-to-many relationship whose lists are both bounded
/// (ER-T.6). This is the case in two situations:
///
/// - Reads of children by parent are more frequent than reads of parents that fetch children.
/// - There are no such reads, and the list in the child is shorter.
pub(crate) fn is_listed_in_child(model: &DesignModel, r: &Relationship, facts: &Facts) -> bool {
    // Truncated lists are truncated in the parent. If both ends are the same entity, the upper one
    // has the list.
    if r.keep_newest.is_some() || r.parent == r.child {
        return false;
    }
    let (mut by_child, mut by_parent) = (0.0, 0.0);
    for read in &model.reads {
        let names = |(name, _): &(String, docward_model::Matching)| {
            *name == r.parent || r.field.as_ref() == Some(name)
        };
        let asks = read.from == r.child && read.filter.iter().any(names);
        by_child += if asks { read.per_second } else { 0.0 };
    }
    for read in read_direction::along(model, r) {
        match read_direction::comes_by_parent(model, read, r) {
            true => by_parent += read.per_second,
            false => by_child += read.per_second,
        }
    }
    if by_child == by_parent {
        return by_child == 0.0 && r.parents_spread.max < facts.children.max;
    }
    by_child > by_parent
}

impl Made {
    /// Remarks on reads that fetch a few fields of the parents in a child's list.
    fn without_copies(&mut self, model: &DesignModel, relationship: &Relationship) {
        let fetching = |read: &&DesignRead| {
            let mut along = read.with.iter().filter(|w| w.relationship == relationship.name);
            along.any(|with| (1..=COPIED).contains(&with.fields.len()))
                && !read_direction::comes_by_parent(model, read, relationship)
        };
        let reads: Vec<&str> =
            model.reads.iter().filter(fetching).map(|read| read.name.as_str()).collect();
        if !reads.is_empty() {
            self.remarks.push(format!(
                "a list of ids cannot have copies, so {} {} of `{}` each time (PT-extref.1)",
                docward_model::text::list(&reads, 3),
                if reads.len() == 1 { "fetches documents" } else { "fetch documents" },
                relationship.parent
            ));
        }
    }

    /// Adds copies if reads often need a few fields of the other side.
    fn extended(
        &mut self,
        model: &DesignModel,
        relationship: &Relationship,
        facts: &Facts,
        holder: &Pattern,
    ) {
        let (parent, child) = (&relationship.parent, &relationship.child);
        // Copies are stored on the side with more documents: in the parent if children are shared,
        // otherwise in the child. If the parent lists ids, copies are stored next to the ids.
        let in_parent = matches!(facts.kind, Kind::ManyToOne | Kind::ManyToMany)
            || *holder == Pattern::ChildrenInParent;
        let (reader, source) = if in_parent { (parent, child) } else { (child, parent) };
        let is_current = |field: &String| relationship.must_be_current(field);
        let (mut wanted, mut fresh): (Vec<&String>, Vec<&String>) = (Vec::new(), Vec::new());
        // Copies only help reads that arrive at the reader's end. Reads that begin with another
        // entity may also arrive there. An example is a page of an order that shows the products of
        // its items.
        let looking = model
            .reads
            .iter()
            .filter(|read| read.with.iter().any(|with| with.relationship == relationship.name))
            .filter(|read| {
                source == reader
                    || read_direction::comes_by_parent(model, read, relationship) == in_parent
            });
        for read in looking.clone() {
            for with in read.with.iter().filter(|with| with.relationship == relationship.name) {
                if with.fields.is_empty() {
                    self.remarks.push(format!(
                        "`{}` needs all of `{source}`, so copying two or three fields would not save the second read",
                        read.name
                    ));
                } else if with.fields.iter().any(&is_current) {
                    // The read fetches the source anyway, so nothing is copied for it.
                    fresh.extend(with.fields.iter().filter(|f| is_current(f)));
                } else {
                    wanted.extend(&with.fields);
                }
            }
        }
        let distinct = |names: Vec<&String>| -> Vec<String> {
            let mut seen = BTreeSet::new();
            names.into_iter().filter(|name| seen.insert(*name)).cloned().collect()
        };
        let (fields, fresh) = (distinct(wanted), distinct(fresh));
        if !fresh.is_empty() {
            self.remarks.push(format!(
                "{} must be current, so {} not copied (PT-extref.2)",
                docward_model::text::list(&fresh, 3),
                if fresh.len() == 1 { "it is" } else { "they are" }
            ));
        }
        // A copy in each reading would repeat the same values throughout the series.
        let of_series = |reader: &Entity| {
            let is_source = |id: &String| id == source || in_parent && id == relationship.role();
            reader.series.as_ref().is_some_and(|series| series.id.iter().any(is_source))
        };
        if model.entity(reader).is_some_and(of_series) && !fields.is_empty() {
            let names: Vec<&str> = fields.iter().map(String::as_str).collect();
            self.remarks.push(format!(
                "{} of `{source}` {} the same for all readings of a series: read once, not copied \
                 into each reading (PT-bucket.1, GC-30)",
                docward_model::text::list(&names, 3),
                if names.len() == 1 { "is" } else { "are" }
            ));
            return;
        }
        if fields.len() > COPIED {
            self.remarks.push(format!(
                "reads need {} fields of `{source}`; more than {COPIED} are too many to copy \
                 (PT-extref.1)",
                fields.len()
            ));
            return;
        }
        if fields.is_empty() {
            return;
        }
        let sets = |write: &docward_model::DesignWrite, field: &String| {
            write.sets.iter().any(|(entity, set)| entity == source && set == field)
        };
        let changing: Vec<String> = fields
            .iter()
            .filter(|field| model.writes.iter().any(|write| sets(write, field)))
            .cloned()
            .collect();
        let holders =
            if in_parent { relationship.parents } else { facts.children.p50 as f64 }.max(1.0);
        let writes = model.writes.iter().filter(|w| changing.iter().any(|field| sets(w, field)));
        // A write that inserts or updates is assumed to do each half of the time.
        let half = |write: &docward_model::DesignWrite| {
            if write.inserts.iter().any(|name| name == source) { 0.5 } else { 1.0 }
        };
        let changes = writes.map(|w| w.per_second * half(w)).fold(0.0, |sum, rate| sum + rate);
        // Counts documents: for a list, each element would need a lookup.
        let each = if in_parent { facts.children.p50.max(1) as f64 } else { 1.0 };
        let spared = looking
            .map(|read| read.per_second * read.limit.unwrap_or(1).max(1) as f64 * each)
            .fold(0.0, |sum, rate| sum + rate);
        // Each change of a copied field is written to all copies. This must not cost more than the
        // reads that copies save.
        if changes * holders > spared {
            self.remarks.push(format!(
                "copies of {} that follow every change cost more writes ({} each time) than they \
                 save reads: keep the original values, or declare `must-be-current: [{}]` and \
                 read from `{source}` (PT-extref.2)",
                docward_model::text::list(&changing, 3),
                docward_model::text::plural(holders.round() as u64, "document"),
                changing.join(", ")
            ));
        }
        self.patterns.push(Pattern::ExtendedReference { fields, in_parent, changing });
    }

    /// Decides whether to store a count or a sum that reads repeat.
    fn computed(
        &mut self,
        model: &DesignModel,
        relationship: &Relationship,
        facts: &Facts,
        choice: Choice,
    ) {
        let name = &relationship.name;
        let counting = |read: &&DesignRead| read.counts.contains(name);
        let summing = |read: &&DesignRead| read.sums.iter().any(|(of, _)| of == name);
        let repeated: Vec<&DesignRead> =
            model.reads.iter().filter(|read| counting(read) || summing(read)).collect();
        if repeated.is_empty() {
            return;
        }
        let mut sums: Vec<String> = Vec::new();
        for (of, field) in repeated.iter().flat_map(|read| &read.sums) {
            if of == name && !sums.contains(field) {
                sums.push(field.clone());
            }
        }
        let reading: f64 = repeated.iter().map(|read| read.per_second).sum();
        let arriving = changes(model, &relationship.child, &sums);
        // The update of a preview also updates counts and sums (PT-subset.2). Only changes of a
        // summed field need an extra write.
        let previewed = self.patterns.iter().any(|p| matches!(p, Pattern::Subset { .. }));
        let page = self.patterns.iter().find_map(|pattern| match pattern {
            Pattern::Outlier { page } => Some(*page),
            _ => None,
        });
        let along = match page {
            _ if previewed => changes(model, &relationship.child, &[]),
            // The write to the embedded list also updates the count. Only children on an overflow
            // page need an extra write.
            Some(page) => arriving * (1.0 - quantile::beyond(facts.children, page)),
            None => 0.0,
        };
        // A read that sums visits all children anyway, so it can also count them.
        let only_counted: Vec<&&DesignRead> =
            repeated.iter().filter(|read| !summing(read)).collect();
        let stale = !only_counted.is_empty()
            && repeated.iter().all(|read| read.tolerates_stale || summing(read));
        let embedded = choice == Choice::Embed;
        let paged = page.is_some();
        let counted = embedded && repeated.iter().all(|read| !summing(read));
        // The elements of an embedded array can be counted without another read.
        if counted && !paged {
            self.remarks
                .push("embedded children are counted by `$size`, without another read".into());
            return;
        }
        // The children of a list are in the document that is read anyway.
        let cost = if embedded { 1.0 } else { counting_cost(facts) };
        if reading * cost < REPEATED * (arriving - along) {
            if counted {
                self.remarks.push(
                    "embedded children are counted by `$size` of the list, and of the pages of \
                     the few parents with pages"
                        .to_owned(),
                );
            }
            let counts = repeated.iter().any(counting);
            let rough = stale && arriving >= BUSY && !embedded && !previewed;
            if previewed && counts {
                self.patterns.push(Pattern::Computed { counts, sums: Vec::new() });
            } else if rough {
                self.patterns.push(Pattern::Approximation { step: 100 });
            }
            let kept = previewed && counts || rough;
            if kept && sums.is_empty() {
                return;
            }
            let (what, reading) = if counts && !kept {
                ("count", reading)
            } else {
                let summed = repeated.iter().filter(|read| summing(read));
                ("sum", summed.map(|read| read.per_second).sum())
            };
            self.remarks.push(format!(
                "the {what} is read {} and changes {}: below {}, it is not worth storing \
                 (GC-47)",
                often(reading),
                often(arriving),
                match REPEATED / cost {
                    below if below < 1.0 => format!("1:{}", (1.0 / below).round()),
                    above => format!("{}:1", (above * 10.0).round() / 10.0),
                }
            ));
            if !sums.is_empty()
                && repeated.iter().all(|read| read.tolerates_stale || !summing(read))
            {
                self.remarks.push(format!(
                    "a job can regularly compute a sum that may be out of date, into declared \
                     fields of `{}` for the sum and its time (PT-computed.2)",
                    relationship.parent
                ));
            }
            return;
        }
        // An average needs a sum and a count.
        let counts = !sums.is_empty() || repeated.iter().any(counting);
        self.patterns.push(Pattern::Computed { counts, sums });
    }
}

/// Without a preview, stored figures need their own writes. Drops them if they are not worth these.
pub(crate) fn alone(model: &DesignModel, decision: &mut Decision) {
    let name = &decision.relationship;
    let wanted = |read: &&DesignRead| {
        read.counts.contains(name) || read.sums.iter().any(|(of, _)| of == name)
    };
    let reading: f64 = model.reads.iter().filter(wanted).map(|read| read.per_second).sum();
    let (relationship, choice) = (model.relationship(name), decision.choice);
    let cost = reading * counting_cost(&decision.facts);
    let is_worth = |pattern: &Pattern| match pattern {
        Pattern::Computed { sums, .. } => {
            relationship.is_none_or(|r| cost >= REPEATED * changes(model, &r.child, sums))
        }
        _ => true,
    };
    if choice != Some(Choice::Reference) || decision.patterns.iter().all(is_worth) {
        return;
    }
    decision.patterns.retain(is_worth);
    decision.remarks.push(format!(
        "count and sums are read {}, but change too often to be stored (GC-47)",
        often(reading)
    ));
}

/// Drops copies in the parent or in junction documents if a preview already answers every read of
/// them (DP-4).
pub(crate) fn drop_needless_copies(model: &DesignModel, decision: &mut Decision) {
    let copies = |p: &Pattern| matches!(p, Pattern::ExtendedReference { in_parent: true, .. });
    if !decision.patterns.iter().any(copies) {
        return;
    }
    let mut without = decision.clone();
    without.patterns.retain(|pattern| !copies(pattern));
    let Some(relationship) = model.relationship(&decision.relationship) else { return };
    let by_parent = |read: &&DesignRead| read_direction::comes_by_parent(model, read, relationship);
    let mut along = read_direction::along(model, relationship)
        .filter(by_parent)
        .flat_map(|read| &read.with)
        .filter(|with| with.relationship == decision.relationship);
    if along.all(|with| without.spares(model, with, true)) {
        decision.patterns = without.patterns;
    }
}

/// Returns how often per second the number of an entity's documents, or a sum over their fields,
/// changes.
pub(crate) fn changes(model: &DesignModel, entity: &str, sums: &[String]) -> f64 {
    let names = |list: &[String]| list.iter().any(|name| name == entity);
    read_direction::total(model.writes.iter().filter(|write| {
        let mut sets = write.sets.iter().filter(|(of, _)| of == entity).peekable();
        // An update without declared fields may change any field.
        let sets = sets.peek().is_none() || sets.any(|(_, field)| sums.contains(field));
        names(&write.inserts)
            || names(&write.deletes)
            || names(&write.updates) && !sums.is_empty() && sets
    }))
}
