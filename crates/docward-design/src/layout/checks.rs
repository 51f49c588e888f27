//! Evaluates the checklist of a design (CK-8 to CK-14).

use std::collections::BTreeSet;

use docward_model::{BsonType, DesignModel, DesignRead, DesignWrite, text};

use crate::decide::decision::{Decision, home};
use crate::decide::facts::Growth;
use crate::decide::pattern::Pattern;
use crate::decide::vote::Choice;
use crate::declared::field_plan::{Origin, Planned};
use crate::declared::read_direction;
use crate::layout::capacity::{self, Capacity};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;
use crate::layout::shard_key::is_warning;

/// The maximum size of a document in bytes at the 99th percentile that is well under 16 MB (CK-14).
const SAFE: u64 = 1_677_721;

/// An array with this many elements is too long (DM-08.1).
const MANY: u64 = 1000;

/// A read with this rate per second or more is frequent.
const HOT: f64 = 1.0;

pub(crate) fn all(
    layout: &Layout<'_>,
    collections: &[CollectionPlan],
    capacity: &[Capacity],
) -> Vec<DesignCheck> {
    let (model, decisions) = (layout.model, layout.decisions);
    vec![
        arrays(decisions, collections),
        single_reads(layout),
        atomicity(model, decisions),
        aggregates(model, decisions),
        indexes(layout, collections),
        shard_keys(layout, collections),
        sizes(collections, capacity),
        depth(collections),
    ]
}

fn check(id: CheckId, holds: Option<bool>, because: impl Into<String>) -> DesignCheck {
    DesignCheck { id, holds, because: because.into(), about: Vec::new() }
}

/// Returns an item that fails for some reads, writes, relationships or collections.
fn fails<S: AsRef<str>>(id: CheckId, about: &[S], because: String) -> DesignCheck {
    let about = about.iter().map(|name| name.as_ref().to_owned()).collect();
    DesignCheck { about, ..check(id, Some(false), because) }
}

fn arrays(decisions: &[Decision], collections: &[CollectionPlan]) -> DesignCheck {
    let endless: Vec<&str> = decisions
        .iter()
        .filter(|d| d.choice == Some(Choice::Embed) && d.facts.growth == Growth::Endless)
        .filter(|d| !d.patterns.iter().any(|p| matches!(p, Pattern::Outlier { .. })))
        .map(|d| d.relationship.as_str())
        .collect();
    if !endless.is_empty() {
        return fails(CheckId::Arrays, &endless, format!("unbounded: {}", text::list(&endless, 5)));
    }
    let mut long = Vec::new();
    for collection in collections {
        declared_long(&collection.fields, &collection.name, &mut long);
    }
    if !long.is_empty() {
        let because = format!("{MANY} elements or more: {}", text::list(&long, 5));
        return fails(CheckId::Arrays, &long, because);
    }
    if let Some(open) = undecided(CheckId::Arrays, decisions) {
        return open;
    }
    check(
        CheckId::Arrays,
        Some(true),
        "every array is bounded, or its elements are separate documents",
    )
}

/// Finds declared arrays that may become too long (DM-08.1). Arrays of patterns are bounded.
fn declared_long(fields: &[Planned], above: &str, found: &mut Vec<String>) {
    for field in fields {
        let path = format!("{above}.{}", field.name);
        if field.origin == Origin::Own && field.items.is_some_and(|items| items.max >= MANY) {
            found.push(path.clone());
        }
        declared_long(&field.fields, &path, found);
    }
}

fn single_reads(layout: &Layout<'_>) -> DesignCheck {
    let (model, decisions) = (layout.model, layout.decisions);
    let mut several = Vec::new();
    let mut hot = 0_u64;
    let (mut fetched_fresh, mut in_pairs) = (false, false);
    for read in model.reads.iter().filter(|read| read.per_second >= HOT) {
        hot += 1;
        let apart = read.with.iter().any(|with| {
            let Some(decision) = decisions.iter().find(|d| d.relationship == with.relationship)
            else {
                return false;
            };
            let Some(relationship) = model.relationship(&with.relationship) else { return false };
            if decision.choice != Some(Choice::Reference) {
                return false;
            }
            // Fields that must be current are read from their source. One read is then impossible,
            // so this read does not count.
            let current = read_direction::shows_current(relationship, with);
            if current {
                fetched_fresh = true;
                return false;
            }
            // Copies and previews help only reads that arrive at the side that has them.
            let by_parent = read_direction::comes_by_parent(model, read, relationship);
            let is_one_kind = relationship.parent == relationship.child;
            let covered = decision.spares(model, with, by_parent)
                || is_one_kind && decision.spares(model, with, !by_parent);
            // With many documents on both sides, the read uses junction documents and the copies in
            // them.
            if covered && decision.patterns.first() == Some(&Pattern::Junction) {
                in_pairs = true;
            }
            !covered
        });
        // If the filter uses data in another collection, the read looks there first.
        let by_others = read.filter.iter().any(|(name, _)| {
            let found = crate::layout::index::paths::leads_elsewhere(layout, read, name);
            found.is_some_and(|(r, decision)| match decision.patterns.first() {
                Some(Pattern::Junction) => true,
                Some(Pattern::ParentsInChild) => read.from == r.parent && r.parent != r.child,
                Some(Pattern::ChildrenInParent) => read.from == r.child && r.parent != r.child,
                _ => false,
            })
        });
        let counted =
            read.counts.iter().chain(read.sums.iter().map(|(name, _)| name)).any(|name| {
                let decision = decisions.iter().find(|d| d.relationship == *name);
                decision.is_some_and(|decision| is_counted_apart(decision, read))
            });
        if apart || by_others || counted {
            several.push(read.name.as_str());
        }
    }
    if several.is_empty()
        && let Some(open) = undecided(CheckId::SingleReads, decisions)
    {
        return open;
    }
    if model.reads.is_empty() {
        return check(CheckId::SingleReads, None, "no read is declared");
    }
    if several.is_empty() && hot == 0 {
        return check(CheckId::SingleReads, Some(true), "no read runs at least once per second");
    }
    if several.is_empty() {
        let mut because = format!(
            "{} at least once per second; none needs a second read",
            text::verb(hot, "read runs", "reads run"),
        );
        let beside = [
            (fetched_fresh, "data that must be current"),
            (in_pairs, "pairs, which are separate documents"),
        ];
        let beside: Vec<&str> =
            beside.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect();
        if !beside.is_empty() {
            because.push_str(&format!(" except for {}", beside.join(", and ")));
        }
        return check(CheckId::SingleReads, Some(true), because);
    }
    let because = format!("more than one document: {}", text::list(&several, 5));
    fails(CheckId::SingleReads, &several, because)
}

/// Returns an item without a result, because a relationship is undecided.
fn undecided(id: CheckId, decisions: &[Decision]) -> Option<DesignCheck> {
    let open = decisions.iter().filter(|decision| decision.choice.is_none()).count() as u64;
    let because = || format!("{} undecided", text::plural(open, "relationship"));
    (open > 0).then(|| check(id, None, because()))
}

fn atomicity(model: &DesignModel, decisions: &[Decision]) -> DesignCheck {
    let mut homeless = Vec::new();
    let mut recorded = 0_u64;
    for decision in decisions.iter().filter(|d| d.needs_transaction) {
        match model.relationship(&decision.relationship) {
            Some(relationship) if relationship.transaction => recorded += 1,
            _ => homeless.push(decision.relationship.as_str()),
        }
    }
    for write in model.writes.iter().filter(|write| write.atomic) {
        if !is_one_document(model, decisions, write) && !homeless.contains(&write.name.as_str()) {
            homeless.push(&write.name);
        }
    }
    if model.writes.is_empty() && homeless.is_empty() {
        return check(CheckId::Atomicity, None, "no write is declared");
    }
    if homeless.is_empty()
        && let Some(open) = undecided(CheckId::Atomicity, decisions)
    {
        return open;
    }
    if homeless.is_empty() {
        let how = match recorded {
            0 => "data that changes together is in one document".to_owned(),
            n => {
                format!("{} declared, the rest is one document", text::plural(n, "transaction"))
            }
        };
        return check(CheckId::Atomicity, Some(true), how);
    }
    let because = format!(
        "atomic over two documents, but no transaction declared: {}",
        text::list(&homeless, 5)
    );
    fails(CheckId::Atomicity, &homeless, because)
}

/// Whether everything that an atomic write changes is in one document. Entities that are connected
/// by relationships are ignored, because their decisions cover them.
fn is_one_document(model: &DesignModel, decisions: &[Decision], write: &DesignWrite) -> bool {
    let home = |entity: &str| home(decisions, entity).to_owned();
    let touched: Vec<&str> = model
        .entities
        .iter()
        .map(|entity| entity.name.as_str())
        .filter(|entity| write.touches(entity))
        .collect();
    let Some(first) = touched.first() else { return true };
    // Entities that relationships connect with the first one are covered by their decisions.
    let mut reached = vec![*first];
    loop {
        let next = model.relationships.iter().find_map(|r| {
            let (parent, child) = (r.parent.as_str(), r.child.as_str());
            let ends = [(parent, child), (child, parent)];
            ends.into_iter()
                .find(|(here, there)| {
                    reached.contains(here) && touched.contains(there) && !reached.contains(there)
                })
                .map(|(_, there)| there)
        });
        match next {
            Some(next) => reached.push(next),
            None => break,
        }
    }
    touched.iter().all(|entity| reached.contains(entity) || home(entity) == home(first))
}

/// Whether a count or sum over the children of a parent reads their documents each time. A parent
/// that lists their ids can count them.
fn is_counted_apart(decision: &Decision, read: &DesignRead) -> bool {
    let is_sum = read.sums.iter().any(|(of, _)| *of == decision.relationship);
    let listed = decision.patterns.first() == Some(&Pattern::ChildrenInParent);
    let is_apart = decision.choice == Some(Choice::Reference) && !decision.keeps(read);
    is_apart && (is_sum || !listed)
}

fn aggregates(model: &DesignModel, decisions: &[Decision]) -> DesignCheck {
    let mut repeated = Vec::new();
    let mut counted = false;
    for read in &model.reads {
        for name in read.counts.iter().chain(read.sums.iter().map(|(of, _)| of)) {
            let Some(decision) = decisions.iter().find(|d| d.relationship == *name) else {
                continue;
            };
            if !is_counted_apart(decision, read) {
                continue;
            }
            let has_count = |pattern: &Pattern| {
                matches!(
                    pattern,
                    Pattern::Computed { counts: true, .. } | Pattern::Approximation { .. }
                )
            };
            counted |= read.counts.contains(name) && !decision.patterns.iter().any(has_count);
            if !repeated.contains(&read.name.as_str()) {
                repeated.push(read.name.as_str());
            }
        }
    }
    if model.reads.is_empty() {
        return check(CheckId::Aggregates, None, "no read is declared");
    }
    let is_open = |read: &DesignRead| {
        let mut worked_out = read.counts.iter().chain(read.sums.iter().map(|(of, _)| of));
        worked_out
            .any(|name| decisions.iter().any(|d| d.relationship == *name && d.choice.is_none()))
    };
    if repeated.is_empty()
        && model.reads.iter().any(is_open)
        && let Some(open) = undecided(CheckId::Aggregates, decisions)
    {
        return open;
    }
    if repeated.is_empty() {
        return check(CheckId::Aggregates, Some(true), "every repeated count and sum is stored");
    }
    let done = if counted { "counted" } else { "summed" };
    fails(
        CheckId::Aggregates,
        &repeated,
        format!("{done} at every read: {}", text::list(&repeated, 5)),
    )
}

fn indexes(layout: &Layout<'_>, collections: &[CollectionPlan]) -> DesignCheck {
    let model = layout.model;
    let unserved: Vec<&str> = model
        .reads
        .iter()
        .filter(|read| read.filter.is_empty() && read.sort.is_empty() && read.limit.is_none())
        .filter(|read| collections.iter().any(|c| c.entity == read.from && !is_handful(c)))
        .map(|read| read.name.as_str())
        .collect();
    let most = collections.iter().map(|c| c.indexes.len() + 1).max().unwrap_or(0);
    if most > 64 {
        return check(
            CheckId::Indexes,
            Some(false),
            format!("{most} indexes in one collection (limit 64)"),
        );
    }
    if model.reads.is_empty() {
        return check(CheckId::Indexes, None, "no read is declared");
    }
    let own = collections.iter().filter(|c| {
        matches!(c.purpose, Purpose::Entity | Purpose::TimeSeries { .. } | Purpose::Bucket(_))
    });
    let lost: BTreeSet<&str> = own
        .flat_map(|collection| crate::layout::index::lost(layout, collection))
        .map(|read| read.name.as_str())
        .collect();
    let lost: Vec<&str> =
        model.reads.iter().map(|read| read.name.as_str()).filter(|r| lost.contains(r)).collect();
    if !lost.is_empty() {
        let because = format!("filters on fields that no document has: {}", text::list(&lost, 5));
        return fails(CheckId::Indexes, &lost, because);
    }
    let unsorted = names_of(crate::layout::index::sorted::unsorted(layout, collections));
    if !unsorted.is_empty() {
        let because = format!(
            "no index has the order of the newest, so all children of a parent are read: {}",
            text::list(&unsorted, 5)
        );
        return fails(CheckId::Indexes, &unsorted, because);
    }
    let behind = names_of(crate::layout::index::sorted::sorted_behind_ids(layout));
    if !behind.is_empty() {
        let because = format!(
            "the ids have another order, so all children are read and sorted: {}; store the sort \
             field with the ids, with an index, or sort by `_id`",
            text::list(&behind, 5)
        );
        return fails(CheckId::Indexes, &behind, because);
    }
    let sorted = names_of(crate::layout::index::sorted::sorted_at_every_read(layout, collections));
    if !sorted.is_empty() {
        let because = format!(
            "elements of many documents are sorted at every read, and no index can help: {}; read \
             them by their parent (name it in `where`), or make them separate documents with an \
             index for their order",
            text::list(&sorted, 5)
        );
        return fails(CheckId::Indexes, &sorted, because);
    }
    let follows_open = |read: &DesignRead| {
        read.with.iter().any(|with| {
            let mut open = layout.decisions.iter().filter(|decision| decision.choice.is_none());
            open.any(|decision| decision.relationship == with.relationship)
        })
    };
    let is_open = model.reads.iter().any(follows_open)
        || !crate::layout::index::open(layout, collections).is_empty();
    if unserved.is_empty() && is_open {
        return undecided(CheckId::Indexes, layout.decisions).unwrap_or_else(|| {
            check(
                CheckId::Indexes,
                None,
                "it is undecided where the ids are \
             stored",
            )
        });
    }
    if unserved.is_empty() {
        return check(CheckId::Indexes, Some(true), "every read has an index");
    }
    let because = format!(
        "no filter and no sort order, so all documents are read: {}",
        text::list(&unserved, 5)
    );
    fails(CheckId::Indexes, &unserved, because)
}

/// Returns the names of reads without duplicates.
fn names_of(reads: Vec<&DesignRead>) -> Vec<&str> {
    let names: BTreeSet<&str> = reads.into_iter().map(|read| read.name.as_str()).collect();
    names.into_iter().collect()
}

/// Whether reading all documents is as good as an index, also in the future.
fn is_handful(collection: &CollectionPlan) -> bool {
    capacity::in_the_end(collection).is_some_and(|documents| documents < MANY as f64)
}

fn shard_keys(layout: &Layout<'_>, collections: &[CollectionPlan]) -> DesignCheck {
    let model = layout.model;
    if model.deployment.shards < 2 {
        return check(CheckId::ShardKeys, None, "not sharded");
    }
    // For an undecided relationship, the references in documents and their indexes are unknown.
    let is_undecided = |c: &CollectionPlan| {
        let mut open = layout.decisions.iter().filter(|decision| decision.choice.is_none());
        open.any(|decision| [&decision.parent, &decision.child].contains(&&c.entity))
    };
    // Another decision may change which reads reach a collection, and with them its key.
    let is_good = |c: &&CollectionPlan| c.shard.as_ref().is_none_or(|shard| shard.key.is_good());
    let (undecided, unsound): (Vec<&CollectionPlan>, Vec<&CollectionPlan>) =
        collections.iter().filter(|c| !is_good(c)).partition(|c| is_undecided(c));
    let unsound: Vec<&CollectionPlan> = unsound
        .into_iter()
        .filter(|c| c.shard.as_ref().is_some_and(|shard| !shard.key.is_sound()))
        .collect();
    let names =
        |of: &[&CollectionPlan]| -> Vec<String> { of.iter().map(|c| c.name.clone()).collect() };
    let (undecided, unsound) = (names(&undecided), names(&unsound));
    if unsound.is_empty() && !undecided.is_empty() {
        let because = format!("relationships are undecided of: {}", text::list(&undecided, 5));
        return check(CheckId::ShardKeys, None, because);
    }
    let is_open = |c: &&CollectionPlan| {
        let key = c.shard.as_ref().map(|shard| &shard.key);
        key.is_some_and(|key| key.checks.iter().any(|(_, holds, _)| holds.is_none()))
    };
    let open: Vec<&CollectionPlan> = collections.iter().filter(is_open).collect();
    let warnings = broadcasts(collections);
    if unsound.is_empty() && !open.is_empty() {
        let missing = open.iter().filter_map(|c| {
            let mut rows = c.shard.as_ref()?.key.checks.iter();
            let (row, _, why) = rows.find(|(_, holds, _)| holds.is_none())?;
            Some(format!("`{}` ({row}: {why})", c.name))
        });
        let missing: Vec<String> = missing.take(3).collect();
        let more = open.len() - missing.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let because = format!("values for the keys are missing: {}{more}", missing.join(", "));
        return check(CheckId::ShardKeys, None, because + &warnings);
    }
    if unsound.is_empty() {
        let because = "every key has many values and does not increase monotonically".to_owned();
        let because =
            if warnings.is_empty() { because + ", and is used by reads" } else { because };
        return check(CheckId::ShardKeys, Some(true), because + &warnings);
    }
    let failing = |name: &String| {
        let plan = collections.iter().find(|c| c.name == *name)?.shard.as_ref()?;
        let mut rows = plan.key.checks.iter();
        let (row, _, why) =
            rows.find(|(row, holds, _)| *holds == Some(false) && !is_warning(row))?;
        Some(format!("`{name}` ({row}: {why})"))
    };
    let shown: Vec<String> = unsound.iter().filter_map(failing).take(3).collect();
    let more = unsound.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let because = format!(
        "no suitable key: {}{more}; a suitable key has many values, does not increase \
         monotonically, and is used by reads (declare `distinct` and `top-share`); otherwise the \
         collection stays on one shard",
        shown.join(", ")
    );
    fails(CheckId::ShardKeys, &unsound, because)
}

/// Returns a warning about keys that too few reads contain (SK-4), or an empty text.
fn broadcasts(collections: &[CollectionPlan]) -> String {
    let warned = collections.iter().filter_map(|collection| {
        let key = &collection.shard.as_ref()?.key;
        let is_low = |(row, holds, _): &&(&str, Option<bool>, String)| {
            is_warning(row) && *holds == Some(false)
        };
        let (row, _, why) = key.checks.iter().find(is_low)?;
        Some(format!("`{}` ({row}: {why})", collection.name))
    });
    let warned: Vec<String> = warned.collect();
    match warned.len() {
        0 => String::new(),
        all => {
            let shown = warned[..all.min(3)].join(", ");
            let more = if all > 3 { format!(" and {} more", all - 3) } else { String::new() };
            format!("; warning for {shown}{more}")
        }
    }
}

fn sizes(collections: &[CollectionPlan], capacity: &[Capacity]) -> DesignCheck {
    // At equal sizes, takes the first collection: an archive is as large as its source.
    let Some(largest) = capacity.iter().rev().max_by_key(|c| c.document.1) else {
        return check(CheckId::Sizes, None, "no collection");
    };
    let mut because = format!(
        "the largest, `{}`, is {} at p99",
        largest.collection,
        text::bytes(largest.document.1)
    );
    let holds = largest.document.1 <= SAFE;
    let home = collections.iter().find(|c| c.name == largest.collection).filter(|_| !holds);
    if let Some(field) = home.and_then(|home| blob(&home.fields)) {
        because.push_str(&format!(
            "; `{}` is large binary data: store it in GridFS or an object store, and its address \
             here (DM-05.4)",
            field.name
        ));
    }
    match holds {
        true => check(CheckId::Sizes, Some(true), because),
        false => fails(CheckId::Sizes, &[&largest.collection], because),
    }
}

/// Documents with up to this many levels are easy to work with (DM-06.1).
const SHALLOW: usize = 3;

/// The maximum number of levels (DM-06.1).
const DEEPEST: usize = 5;

/// Judges the nesting depth of documents (CK-3).
fn depth(collections: &[CollectionPlan]) -> DesignCheck {
    let deep = collections.iter().rev().filter_map(|collection| {
        let (levels, path) = deepest(&collection.fields)?;
        Some((levels, collection.name.as_str(), path))
    });
    let most = deep.max_by_key(|(levels, ..)| *levels);
    let Some((levels, name, path)) = most else {
        return check(CheckId::Depth, Some(true), "no document has nested objects");
    };
    let count = text::plural(levels as u64, "level");
    let because = format!("the deepest, `{name}`, has {count} of objects");
    match levels {
        levels if levels <= SHALLOW => check(CheckId::Depth, Some(true), because),
        levels if levels <= DEEPEST => {
            let because = format!("{because} at `{path}`; up to {SHALLOW} are easy to work with");
            check(CheckId::Depth, Some(true), because)
        }
        _ => {
            let because = format!("{because} at `{path}` (limit {DEEPEST}): flatten it");
            fails(CheckId::Depth, &[name], because)
        }
    }
}

/// Returns the number of levels of nested objects and the path of the deepest one. An array and its
/// objects count as one level.
fn deepest(fields: &[Planned]) -> Option<(usize, String)> {
    let nested = fields.iter().filter(|f| matches!(f.kind, BsonType::Object | BsonType::Array));
    let found = nested.map(|field| match deepest(&field.fields) {
        Some((levels, path)) => (levels + 1, format!("{}.{path}", field.name)),
        None => (1, field.name.clone()),
    });
    found.reduce(|a, b| if b.0 > a.0 { b } else { a })
}

/// Returns a binary field that is too large even for a separate document.
fn blob(fields: &[Planned]) -> Option<&Planned> {
    fields.iter().find_map(|field| match field.kind {
        BsonType::BinData if field.bytes.1 > SAFE => Some(field),
        _ => blob(&field.fields),
    })
}

/// The items of the checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckId {
    /// CK-8: every array is bounded.
    Arrays,
    /// CK-9: a frequent read needs one read.
    SingleReads,
    /// CK-10: changes that must be atomic are in one document, or the transaction is stated.
    Atomicity,
    /// CK-11: repeated counts and sums are stored.
    Aggregates,
    /// CK-12: every read has an index.
    Indexes,
    /// CK-13: shard keys are sound.
    ShardKeys,
    /// CK-14: documents are well under 16 MB.
    Sizes,
    /// CK-3: documents are not nested too deeply.
    Depth,
    /// CK-1: names follow one convention.
    Names,
    /// CK-5: types suit the values.
    Types,
}

impl CheckId {
    /// Returns the clause.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arrays => "CK-8",
            Self::SingleReads => "CK-9",
            Self::Atomicity => "CK-10",
            Self::Aggregates => "CK-11",
            Self::Indexes => "CK-12",
            Self::ShardKeys => "CK-13",
            Self::Sizes => "CK-14",
            Self::Depth => "CK-3",
            Self::Names => "CK-1",
            Self::Types => "CK-5",
        }
    }
}

/// The result of a checklist item (CK-8 to CK-15).
#[derive(Clone, Debug, PartialEq)]
pub struct DesignCheck {
    /// The id.
    pub id: CheckId,
    /// Whether it passes. `None` if this is unknown.
    pub holds: Option<bool>,
    /// The reason.
    pub because: String,
    /// The reads, writes, relationships or collections for which it fails.
    pub about: Vec<String>,
}
