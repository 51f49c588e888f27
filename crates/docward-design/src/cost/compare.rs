//! Compares the cost of embedding, referencing and a hybrid for each operation. `design simulate`
//! measures the same figures on a server.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use docward_model::{ChildGrowth, DesignModel, DesignRead, DesignWrite, Relationship, Spread};

use crate::cost::access_plan::{Act, Link, ReadPlan, WritePlan};
use crate::cost::documents::Documents;
use crate::cost::predict::{self, Home, Packed, Predictor, View};
use crate::decide::alternative::{Alternative, OperationCost, StorageAlternative};
use crate::decide::decision::{Decision, way_up};
use crate::decide::pattern::Pattern;
use crate::decide::vote::Choice;
use crate::declared::field_plan::{Rank, document_bytes};
use crate::declared::quantile;
use crate::declared::read_direction::{self, comes_by_parent, followed};
use crate::layout::capacity::{YEARS, crossings};
use crate::layout::collection::CollectionPlan;
use crate::layout::fields::{Layout, has_part_id};
use crate::layout::time_series;

/// Returns the entities whose documents a read touches. This excludes an entity if copies, a
/// preview or stored figures contain all the data that the read needs.
fn touched<'m>(
    model: &'m DesignModel,
    decisions: &[Decision],
    read: &'m DesignRead,
) -> BTreeSet<&'m str> {
    let mut touched = BTreeSet::from([read.from.as_str()]);
    for name in followed(read) {
        let Some(r) = model.relationship(name) else { continue };
        let decision = decisions.iter().find(|decision| decision.relationship == r.name);
        let (in_parent, in_child) = decision.map_or((false, false), |d| spared(model, d, r, read));
        touched.extend((!in_child).then_some(r.parent.as_str()));
        touched.extend((!in_parent).then_some(r.child.as_str()));
    }
    touched
}

/// Whether the parent, or the child, has all data that a read needs along a relationship.
pub(crate) fn spared(
    model: &DesignModel,
    decision: &Decision,
    r: &Relationship,
    read: &DesignRead,
) -> (bool, bool) {
    if decision.choice != Some(Choice::Reference) {
        return (false, false);
    }
    let fetched = || read.with.iter().filter(|with| with.relationship == r.name);
    let counts = read.counts.contains(&r.name);
    let sums = read.sums.iter().any(|(of, _)| *of == r.name);
    let is_one_kind = r.parent == r.child;
    let all_in = |in_parent: bool| fetched().all(|with| decision.spares(model, with, in_parent));
    let listed = decision.patterns.first() == Some(&Pattern::ChildrenInParent);
    let figures = decision.keeps(read) || listed && !sums;
    let by_parent = comes_by_parent(model, read, r);
    let in_parent = by_parent && all_in(true) && (figures || !(counts || sums));
    let is_fetched = fetched().next().is_some();
    let in_child = (!by_parent || is_one_kind) && is_fetched && all_in(false) && !(counts || sums);
    (in_parent, in_child)
}

/// The reads and writes of a model by the entities whose documents they touch. The index saves
/// time, because most operations do not touch most relationships.
pub(crate) struct Operations<'m> {
    model: &'m DesignModel,
    reads: BTreeMap<&'m str, BTreeSet<usize>>,
    writes: BTreeMap<&'m str, BTreeSet<usize>>,
    /// The entities that are embedded in each entity.
    inside: BTreeMap<&'m str, Vec<&'m str>>,
}

/// The operations that touch one end of a relationship, in the order of the file.
struct Concerning<'m> {
    /// Each read, and whether it touches the parent and the child.
    reads: Vec<(&'m DesignRead, (bool, bool))>,
    writes: Vec<Cow<'m, DesignWrite>>,
}

impl<'m> Operations<'m> {
    pub(crate) fn new(model: &'m DesignModel, decisions: &[Decision]) -> Self {
        let (mut reads, mut writes) = (BTreeMap::new(), BTreeMap::new());
        let add = |found: &mut BTreeMap<&'m str, BTreeSet<usize>>, entity, at| {
            found.entry(entity).or_default().insert(at);
        };
        for (at, read) in model.reads.iter().enumerate() {
            for entity in touched(model, decisions, read) {
                add(&mut reads, entity, at);
            }
        }
        for (at, write) in model.writes.iter().enumerate() {
            for entity in write.entities() {
                add(&mut writes, entity, at);
            }
        }
        let mut inside: BTreeMap<&'m str, Vec<&'m str>> = BTreeMap::new();
        for (r, decision) in model.relationships.iter().zip(decisions) {
            if decision.choice == Some(Choice::Embed) {
                inside.entry(&r.parent).or_default().push(&r.child);
            }
        }
        Self { model, reads, writes, inside }
    }

    fn concerning(&self, relationship: &Relationship) -> Concerning<'m> {
        let ends = |found: &BTreeMap<&str, BTreeSet<usize>>| {
            let of = |entity: &String| found.get(entity.as_str()).cloned().unwrap_or_default();
            (of(&relationship.parent), of(&relationship.child))
        };
        let (parent, child) = ends(&self.reads);
        let reads = parent
            .union(&child)
            .map(|at| (&self.model.reads[*at], (parent.contains(at), child.contains(at))));
        let reads = reads.collect();
        let (parent, child) = ends(&self.writes);
        let mut all: BTreeSet<usize> = parent.union(&child).copied().collect();
        // If a shared child is embedded, each parent also has a copy of the child's parts.
        let parts = match relationship.is_shared() {
            true => read_direction::parts(&relationship.child, &relationship.parent, |entity| {
                self.inside.get(entity).cloned().unwrap_or_default()
            }),
            false => BTreeSet::new(),
        };
        all.extend(parts.iter().filter_map(|part| self.writes.get(part)).flatten());
        let seen = |at: &usize| {
            let write = &self.model.writes[*at];
            if !read_direction::changes_part(write, &relationship.child, &parts) {
                return Cow::Borrowed(write);
            }
            let mut write = write.clone();
            if !write.updates.contains(&relationship.child) {
                write.updates.push(relationship.child.clone());
            }
            Cow::Owned(write)
        };
        let writes = all.iter().map(seen).collect();
        Concerning { reads, writes }
    }
}

/// The cost of each alternative of a relationship, the chosen one first. Also holds the views of
/// its reads.
#[derive(Default)]
pub(crate) struct Compared {
    pub(crate) ways: Vec<Alternative>,
    pub(crate) views: Vec<Vec<View>>,
}

pub(crate) fn alternatives(
    documents: &Documents<'_>,
    relationship: &Relationship,
    decision: &Decision,
    operations: &Operations<'_>,
    collections: &[CollectionPlan],
) -> Compared {
    let layout = documents.layout();
    let concerning = operations.concerning(relationship);
    let packed = packed(layout, collections, &relationship.child);
    let home = home(documents, relationship);
    let all = predict::all(documents, relationship, decision, false)
        .into_iter()
        .map(|way| match packed.filter(|_| way.chosen && way.way != StorageAlternative::Embed) {
            Some(packed) => way.in_buckets(packed),
            None => way,
        })
        .map(|way| match parents_of_one(layout.model, &way, decision) {
            Some(parents) => way.shared_by(parents),
            None => way,
        })
        .map(|way| match home.clone() {
            Some(home) => way.inside(home),
            None => way,
        })
        .map(|way| alternative(layout.model, relationship, decision, &concerning, &way));
    let (ways, views) = all.unzip();
    Compared { ways, views }
}

/// Returns the documents that parents of a relationship are embedded in.
fn home(documents: &Documents<'_>, relationship: &Relationship) -> Option<Home> {
    let layout = documents.layout();
    let ways = way_up(layout.decisions, &relationship.parent, Some(&relationship.name));
    let (mut typical, mut mean) = (1_u64, 1.0_f64);
    let mut above: Vec<(String, u64)> = Vec::new();
    for up in &ways {
        typical = typical.saturating_mul(up.facts.children.p50.max(1));
        mean *= quantile::mean(up.facts.children);
        above.insert(0, (up.parent.clone(), typical));
    }
    let entity = above.first()?.0.clone();
    let bytes = documents.around(&entity, relationship)?.bytes;
    let inside = ways.first().and_then(|up| layout.model.relationship(&up.relationship));
    // Without this relationship, the parent still has an id if others refer to it or a read looks
    // it up by id.
    let referred = layout.linked().any(|(r, made)| {
        r.parent == relationship.parent
            && r.name != relationship.name
            && made.patterns.contains(&Pattern::ParentInChild)
    });
    let has_ids = inside.is_none_or(|r| has_part_id(layout.model, r, referred));
    let children = layout.decisions.iter().find(|d| d.relationship == relationship.name);
    let children = children.map_or(0, |decision| decision.facts.children.p50);
    let in_list = ways.iter().any(|up| up.facts.children.max > 1);
    Some(Home { entity, bytes, parents: mean, above, has_ids, children, in_list })
}

/// Returns how readings of an entity are grouped, if they are stored in buckets.
fn packed(layout: &Layout<'_>, collections: &[CollectionPlan], entity: &str) -> Option<Packed> {
    let native = collections
        .iter()
        .filter(|collection| collection.entity == entity)
        .find_map(|collection| time_series::packed(layout.model, collection));
    if let Some((bytes, readings)) = native {
        let readings = readings.max(1.0);
        return Some(Packed { readings, bytes: bytes * readings, is_native: true });
    }
    let advice = layout.advice.iter().find(|advice| advice.entity == entity)?;
    let bucket = advice.patterns.iter().find_map(|pattern| match pattern {
        Pattern::Bucket(bucket) => Some(bucket),
        _ => None,
    })?;
    let most = bucket.most.max(1) as f64;
    let (buckets, readings) = bucket.per_year;
    let readings = (readings.max(1) as f64 / buckets.max(1) as f64).clamp(1.0, most);
    let full = document_bytes(&layout.bucket(layout.model.entity(entity)?, bucket), Rank::Mean);
    let bytes = full as f64 * readings / most;
    Some(Packed { readings, bytes, is_native: false })
}

/// Returns the cost of a write. A write that inserts or updates is assumed to do each half of the
/// time, because the model does not say.
fn write_cost(way: &Predictor, write: &DesignWrite, typical: u64) -> OperationCost {
    let cost = |(write, plan): &(DesignWrite, WritePlan)| {
        // An updated or deleted child already exists. A child that is written together with its
        // parent also exists.
        let is_there = matches!(plan.child, Some(Act::Update | Act::Delete)) || plan.whole;
        way.write(write, plan, typical.max(u64::from(is_there)))
    };
    let all: Vec<OperationCost> = way.plan_writes(write).iter().map(cost).collect();
    let mean = |of: fn(&OperationCost) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    OperationCost {
        name: write.name.clone(),
        writes: true,
        per_second: write.per_second,
        documents: mean(|cost| cost.documents),
        bytes: mean(|cost| cost.bytes),
        entries: mean(|cost| cost.entries),
        transaction: all.iter().any(|cost| cost.transaction),
    }
}

/// Estimates the number of links from the parents and from the children. Both sides have the same
/// links. A few very large parents inflate the mean, so the smaller estimate is closer.
fn links(parents: Option<f64>, children: Option<f64>, each: (Spread, f64)) -> Option<f64> {
    let of_parents = parents.map(|parents| parents * quantile::mean(each.0));
    let of_children = children.map(|children| children * each.1);
    match (of_parents, of_children) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Returns the mean number of parents of a shared child.
fn parents_of_one(model: &DesignModel, way: &Predictor, decision: &Decision) -> Option<f64> {
    let count = |name: &str| model.entity(name)?.count.filter(|count| *count > 0.0);
    let children = count(&decision.child).filter(|_| way.is_shared())?;
    let each = (decision.facts.children, way.parents);
    Some((links(count(&decision.parent), Some(children), each)? / children).max(1.0))
}

/// Returns the current number of elements of the longest list, and whether the list is unbounded.
fn longest_list(relationship: &Relationship, way: &Predictor) -> (u64, bool) {
    let children = relationship.children.map_or(0, |children| children.max);
    let endless = matches!(relationship.growth, Some(ChildGrowth::Endless { .. }));
    match (way.way, way.link) {
        (StorageAlternative::Embed, _) | (_, Link::ChildIds) => match relationship.keep_newest {
            Some(newest) => (children.min(newest), false),
            None => (children, endless),
        },
        (_, Link::ParentIds) => (relationship.parents_max as u64, false),
        (_, Link::ParentId | Link::Pairs) => (0, false),
    }
}

fn alternative(
    model: &DesignModel,
    relationship: &Relationship,
    decision: &Decision,
    concerning: &Concerning<'_>,
    way: &Predictor,
) -> (Alternative, Vec<View>) {
    let (parent, child) = (&relationship.parent, &relationship.child);
    let spread = decision.facts.children;
    let (mut operations, mut views) = (Vec::new(), Vec::new());
    for (read, reached) in &concerning.reads {
        let plan = way.plan_read(read).or_else(|| {
            let by_parent = comes_by_parent(model, read, relationship);
            way.plan_from_elsewhere(read, (reached.0, reached.1, by_parent))
        });
        let targets = plan.as_ref().map_or(read.limit.unwrap_or(1), ReadPlan::targets);
        let targets = targets.saturating_mul(way.per_root(read, plan.as_ref()));
        // A parent that is reached through its child has at least one child.
        let least = u64::from(!matches!(plan, Some(ReadPlan::Parents { .. }) | None));
        // The limit of 100,000 keeps the list of counts small. No realistic read begins with more
        // parents.
        let counts = vec![spread.p50.max(least); targets.clamp(1, 100_000) as usize];
        let (cost, view) = way.view(read, plan.as_ref(), &counts);
        operations.push(cost);
        views.push(view);
    }
    let writes = concerning.writes.iter();
    operations.extend(writes.map(|write| write_cost(way, write, spread.p50)));
    let (typical, p99) = match relationship.growth {
        Some(ChildGrowth::Endless { typical, p99 }) => (typical, p99),
        _ => (0.0, 0.0),
    };
    let kept = |children: u64| children.min(relationship.keep_newest.unwrap_or(u64::MAX));
    // With the outlier pattern, the largest parents have only one page in their document; overflow
    // pages hold the rest (PT-outlier.1).
    let page = decision.patterns.iter().find_map(|pattern| match pattern {
        Pattern::Outlier { page } if way.way == StorageAlternative::Embed => Some(*page),
        _ => None,
    });
    let most = spread.max.min(page.unwrap_or(u64::MAX));
    let sizes = YEARS
        .map(|years| {
            let then = |children: u64, yearly: f64| {
                kept(children.saturating_add((yearly * f64::from(years)) as u64))
            };
            (
                years,
                way.parent_bytes(then(spread.p50, typical), Rank::Typical),
                way.parent_bytes(then(spread.p99, p99), Rank::P99),
                way.parent_bytes(then(most, p99), Rank::Max),
            )
        })
        // The typical list may be larger than the list at a higher percentile, so each size is at
        // least the smaller one.
        .map(|(years, typical, p99, max)| {
            (years, typical, p99.max(typical), max.max(p99).max(typical))
        })
        .to_vec();
    let crossings = if way.way == StorageAlternative::Embed {
        let bytes = |children| way.parent_bytes(children, Rank::P99);
        let mut crossed = crossings(bytes, spread.p99, p99, model.as_of);
        // The list never grows beyond the elements that are kept.
        for never in
            crossed.iter_mut().filter(|crossing| kept(crossing.children + 1) <= crossing.children)
        {
            (never.years, never.date) = (None, None);
        }
        crossed
    } else {
        Vec::new()
    };
    let homes = way.home().map(|home| model.entity(&home.entity).and_then(|e| e.count));
    let parents = model.entity(parent).and_then(|entity| entity.count).or_else(|| {
        let home = way.home()?;
        Some(homes?? * home.parents)
    });
    let declared = model.entity(child).and_then(|entity| entity.count);
    // The number of links equals the number of children, unless several parents share children.
    let links = match declared {
        Some(count) if !way.is_shared() => Some(count),
        _ => links(parents, declared.filter(|_| way.is_shared()), (spread, way.parents)),
    };
    let children = declared.or(links);
    let storage = parents.zip(links).zip(children).and_then(|((parents, links), children)| {
        let mean = if parents > 0.0 { links / parents } else { 0.0 };
        let held = way.mean_parent_bytes(mean);
        let apart = match way.way {
            StorageAlternative::Embed => 0.0,
            _ => way.apart(children).1,
        };
        // In a tree, parents and children are the same documents, so their bytes count only once.
        let apart = if parent == child { (apart - parents * held).max(0.0) } else { apart };
        let pairs = if way.is_paired() { links * way.pair_bytes() as f64 } else { 0.0 };
        // If parents are embedded, count the documents around them once as a whole.
        let held = match homes {
            Some(homes) => homes? * way.around_parent(held),
            None => parents * held,
        };
        Some((held + apart + pairs) as u64)
    });
    let index_bytes = match way.way {
        StorageAlternative::Embed if !way.needs_lookup() => Some(0),
        _ => links.zip(children).map(|(links, children)| {
            let parents = parents.unwrap_or(links / spread.p50.max(1) as f64);
            way.index(parents, links / way.together(), children) as u64
        }),
    };
    let made = Alternative {
        way: way.way,
        name: if decision.has_many_parents() { way.name() } else { way.way.name() },
        chosen: way.chosen,
        operations,
        parent: sizes,
        crossings,
        longest_list: decision.has_many_parents().then(|| longest_list(relationship, way)),
        storage,
        index_bytes,
    };
    (made, views)
}
