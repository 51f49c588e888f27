//! The declared reads and writes, run one after the other as the way would do them.

use std::time::{Duration, Instant};

use docward_design::{
    Act, Fetch, OperationCost, ReadPlan, Way, WritePlan,
    measured::{Compared, MeasuredOperation},
};
use docward_model::{DesignModel, DesignRead, DesignWrite, Relationship};
use futures_util::TryStreamExt as _;
use mongodb::{
    ClientSession, Collection,
    bson::{Bson, Document, RawDocumentBuf, doc, oid::ObjectId},
    error::Error,
};

use super::{
    Around,
    make::Rng,
    store::{LARGEST, Store, number},
};
use crate::operator::{Trouble, failed};

/// An operation of the model with how this way does it.
pub(super) enum Operation<'m> {
    Read(&'m DesignRead, ReadPlan),
    Write(&'m DesignWrite, WritePlan),
}

impl Operation<'_> {
    fn per_second(&self) -> f64 {
        match self {
            Self::Read(read, _) => read.per_second,
            Self::Write(write, _) => write.per_second,
        }
    }
}

/// The operations that touch a relationship, and the names of those that reach it from elsewhere.
pub(super) fn operations<'m>(
    model: &'m DesignModel,
    relationship: &Relationship,
    way: &docward_design::Predictor,
) -> (Vec<Operation<'m>>, Vec<String>) {
    let (mut found, mut elsewhere) = (Vec::new(), Vec::new());
    let ends = [&relationship.parent, &relationship.child];
    for read in &model.reads {
        let along = read.with.iter().map(|with| &with.relationship).chain(&read.counts);
        let along = along.chain(read.sums.iter().map(|(relationship, _)| relationship));
        let mut along = along.filter_map(|name| model.relationship(name));
        match way.plan_read(read) {
            Some(plan) => found.push(Operation::Read(read, plan)),
            None if along.any(|r| ends.contains(&&r.parent) || ends.contains(&&r.child)) => {
                elsewhere.push(read.name.clone());
            }
            None => {}
        }
    }
    for write in model.writes.iter().filter(|write| ends.iter().any(|name| write.touches(name))) {
        found.push(Operation::Write(write, way.plan_write(write)));
    }
    (found, elsewhere)
}

/// How often each is run: by its rate, but often enough that times mean something.
fn runs(operations: &[Operation<'_>], all: u64) -> Vec<u64> {
    let total: f64 = operations.iter().map(Operation::per_second).sum();
    let least = (all / (4 * operations.len().max(1) as u64)).clamp(1, 30);
    let share = |op: &Operation<'_>| if total > 0.0 { op.per_second() / total } else { 0.0 };
    operations.iter().map(|op| ((all as f64 * share(op)).round() as u64).max(least)).collect()
}

/// An order in which each kind is spread evenly.
fn interleaved(runs: &[u64]) -> Vec<usize> {
    let mut order: Vec<(f64, usize)> = runs
        .iter()
        .enumerate()
        .flat_map(|(i, n)| (0..*n).map(move |k| ((k as f64 + 0.5) / *n as f64, i)))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    order.into_iter().map(|(_, i)| i).collect()
}

#[derive(Default)]
struct Tally {
    micros: Vec<u64>,
    documents: Compared,
    bytes: Compared,
    transaction: bool,
}

/// What one execution moved.
#[derive(Default)]
struct Moved {
    documents: u64,
    bytes: u64,
    took: Duration,
}

/// Runs the declared mix.
pub(super) async fn replay(
    around: &Around<'_>,
    store: &mut Store<'_>,
    operations: &[Operation<'_>],
    session: &mut Option<ClientSession>,
) -> Result<Vec<MeasuredOperation>, Trouble> {
    let runs = runs(operations, around.operations);
    // Connections, caches and plans are warm before anything counts.
    let warm: Vec<u64> = runs.iter().map(|n| n.div_ceil(20)).collect();
    let mut tallies: Vec<Tally> = operations.iter().map(|_| Tally::default()).collect();
    let mut rng = Rng::new(around.seed ^ 0x5EED);
    for (counted, order) in [(false, interleaved(&warm)), (true, interleaved(&runs))] {
        for i in order {
            around.check()?;
            let words = "running the declared operations";
            let (cost, moved) = match &operations[i] {
                Operation::Read(read, plan) => read_once(store, read, plan, &mut rng).await,
                Operation::Write(write, plan) => {
                    write_once(store, write, plan, &mut rng, session).await
                }
            }
            .map_err(|e| failed(words, &e))?;
            (around.progress)(moved.bytes, 0);
            if counted {
                let tally = &mut tallies[i];
                tally.micros.push(moved.took.as_micros() as u64);
                tally.documents.predicted += cost.documents;
                tally.documents.measured += moved.documents as f64;
                tally.bytes.predicted += cost.bytes;
                tally.bytes.measured += moved.bytes as f64;
                tally.transaction = cost.transaction && session.is_some();
            }
        }
    }
    Ok(operations.iter().zip(tallies).map(|(op, tally)| told(op, tally)).collect())
}

fn told(operation: &Operation<'_>, mut tally: Tally) -> MeasuredOperation {
    tally.micros.sort_unstable();
    let runs = tally.micros.len();
    let at = |share: f64| {
        let place = (runs.saturating_sub(1) as f64 * share).round() as usize;
        tally.micros.get(place).copied().unwrap_or(0)
    };
    let each = |sum: Compared| Compared {
        predicted: sum.predicted / runs.max(1) as f64,
        measured: sum.measured / runs.max(1) as f64,
    };
    let (name, writes) = match operation {
        Operation::Read(read, _) => (&read.name, false),
        Operation::Write(write, _) => (&write.name, true),
    };
    MeasuredOperation {
        name: name.clone(),
        writes,
        per_second: operation.per_second(),
        runs: runs as u64,
        documents: each(tally.documents),
        bytes: each(tally.bytes),
        mean_micros: tally.micros.iter().sum::<u64>() as f64 / runs.max(1) as f64,
        p50_micros: at(0.5),
        p95_micros: at(0.95),
        transaction: tally.transaction,
    }
}

/// Different parents that are there, as many as there are at most.
fn targets(store: &Store<'_>, wanted: u64, with_children: bool, rng: &mut Rng) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    let wanted = wanted.min(store.alive.len() as u64) as usize;
    for _ in 0..wanted * 20 + 100 {
        if chosen.len() == wanted {
            break;
        }
        let parent = store.alive[rng.below(store.alive.len() as u64) as usize];
        if !chosen.contains(&parent) && (!with_children || store.count(parent) > 0) {
            chosen.push(parent);
        }
    }
    chosen
}

/// `{field: value}`, or one of several values.
fn among(field: &str, ids: &[ObjectId]) -> Document {
    match ids {
        [one] => doc! { field: *one },
        several => doc! { field: { "$in": several.to_vec() } },
    }
}

async fn read_once(
    store: &Store<'_>,
    read: &DesignRead,
    plan: &ReadPlan,
    rng: &mut Rng,
) -> Result<(OperationCost, Moved), Error> {
    let way = store.way;
    let alone = matches!(plan, ReadPlan::Children { .. });
    let parents = targets(store, plan.targets(), alone, rng);
    let counts: Vec<u64> = parents.iter().map(|parent| store.count(*parent)).collect();
    let cost = way.read(read, Some(plan), &counts);
    let ids: Vec<ObjectId> = parents.iter().map(|p| store.maker.parent_id(*p as u64)).collect();
    let newest = match &way.newest_by {
        Some(by) => doc! { by: -1 },
        None => doc! { "_id": -1 },
    };
    let mut moved = Moved::default();
    let children_of = |ids: &[ObjectId]| among(&way.parent_id, ids);
    let began = Instant::now();
    match plan {
        ReadPlan::Parents { fetch, count, sums, .. } => {
            found(&store.parents, among("_id", &ids), None, ids.len() as u64, &mut moved).await?;
            match fetch {
                Fetch::Nothing => {}
                Fetch::All => {
                    found(&store.children, children_of(&ids), None, 0, &mut moved).await?;
                }
                Fetch::Newest(n) => {
                    for id in &ids {
                        let filter = children_of(&[*id]);
                        found(&store.children, filter, Some(&newest), *n, &mut moved).await?;
                    }
                }
            }
            if *count {
                for id in &ids {
                    store.children.count_documents(children_of(&[*id])).await?;
                }
            }
            if let Some(field) = sums {
                let group = doc! { "_id": null, "n": { "$sum": 1 }, "sum": { "$sum": format!("${field}") } };
                let rows = grouped(&store.children, children_of(&ids), group).await?;
                moved.documents += rows.first().and_then(|row| number(row.get("n")?)).unwrap_or(0);
            }
            moved.took = began.elapsed();
            if sums.is_some() {
                // What the server read for the sum is asked for apart, so that asking costs no time.
                moved.bytes += bytes_of(&store.children, children_of(&ids)).await?;
            }
        }
        _ if way.way == Way::Embed => {
            let filter = match plan {
                ReadPlan::Children { .. } => {
                    among(&format!("{}._id", way.role), &some_child(store, &parents, rng))
                }
                _ => among("_id", &ids),
            };
            found(&store.parents, filter, None, ids.len() as u64, &mut moved).await?;
            moved.took = began.elapsed();
        }
        ReadPlan::ChildrenOf { limit, parent } => {
            let limit = limit.unwrap_or(0);
            found(&store.children, children_of(&ids), Some(&newest), limit, &mut moved).await?;
            if *parent {
                found(&store.parents, among("_id", &ids), None, 1, &mut moved).await?;
            }
            moved.took = began.elapsed();
        }
        ReadPlan::Children { parent, .. } => {
            let wanted = some_child(store, &parents, rng);
            found(&store.children, among("_id", &wanted), None, 0, &mut moved).await?;
            if *parent {
                found(&store.parents, among("_id", &ids), None, 0, &mut moved).await?;
            }
            moved.took = began.elapsed();
        }
    }
    Ok((cost, moved))
}

/// A child of each of these parents.
fn some_child(store: &Store<'_>, parents: &[usize], rng: &mut Rng) -> Vec<ObjectId> {
    parents
        .iter()
        .map(|parent| {
            let (from, to) = store.held[*parent];
            store.maker.child_id(*parent as u64, from + rng.below(to - from))
        })
        .collect()
}

/// Reads what is found to the end; a limit of zero is none.
async fn found(
    from: &Collection<RawDocumentBuf>,
    filter: Document,
    sort: Option<&Document>,
    limit: u64,
    moved: &mut Moved,
) -> Result<(), Error> {
    let mut find = from.find(filter).limit(limit as i64);
    if let Some(sort) = sort {
        find = find.sort(sort.clone());
    }
    let mut cursor = find.await?;
    while cursor.advance().await? {
        moved.documents += 1;
        moved.bytes += cursor.current().as_bytes().len() as u64;
    }
    Ok(())
}

async fn grouped(
    from: &Collection<RawDocumentBuf>,
    filter: Document,
    group: Document,
) -> Result<Vec<Document>, Error> {
    from.aggregate([doc! { "$match": filter }, doc! { "$group": group }]).await?.try_collect().await
}

/// Bytes of the documents that match.
async fn bytes_of(from: &Collection<RawDocumentBuf>, filter: Document) -> Result<u64, Error> {
    let group = doc! { "_id": null, "bytes": { "$sum": { "$bsonSize": "$$ROOT" } } };
    let rows = grouped(from, filter, group).await?;
    Ok(rows.first().and_then(|row| number(row.get("bytes")?)).unwrap_or(0))
}

async fn write_once(
    store: &mut Store<'_>,
    write: &DesignWrite,
    plan: &WritePlan,
    rng: &mut Rng,
    session: &mut Option<ClientSession>,
) -> Result<(OperationCost, Moved), Error> {
    let mut step = Step::new(store, write, plan, rng);
    let cost = store.way.write(write, plan, step.before);
    let mut moved = Moved::default();
    let parent_id = store.maker.parent_id(step.parent as u64);
    let of_parent = doc! { "_id": parent_id };
    // What is deleted is weighed before, what is changed afterwards; neither costs time here.
    if plan.parent == Some(Act::Delete) {
        moved.bytes += bytes_of(&store.parents, of_parent.clone()).await?;
    }
    if let Some(filter) = step.child_filter.as_ref().filter(|_| plan.child == Some(Act::Delete)) {
        moved.bytes += bytes_of(&store.children, filter.clone()).await?;
    }
    let mut inside = session.as_mut().filter(|_| plan.transaction);
    let began = Instant::now();
    if let Some(session) = inside.as_mut() {
        session.start_transaction().await?;
    }
    if !step.inserts.is_empty() {
        let action = store.children.insert_many(&step.inserts);
        match inside.as_mut() {
            Some(session) => action.session(&mut **session).await?,
            None => action.await?,
        };
        moved.documents += step.inserts.len() as u64;
    }
    if let Some(filter) = &step.child_filter {
        if let Some(change) = step.child_change.take() {
            let action = store.children.update_one(filter.clone(), change);
            let result = match inside.as_mut() {
                Some(session) => action.session(&mut **session).await?,
                None => action.await?,
            };
            moved.documents += result.matched_count;
        } else {
            let action = store.children.delete_many(filter.clone());
            let result = match inside.as_mut() {
                Some(session) => action.session(&mut **session).await?,
                None => action.await?,
            };
            moved.documents += result.deleted_count;
        }
    }
    match step.on_parent.take() {
        OnParent::Nothing => {}
        OnParent::Insert(document) => {
            let action = store.parents.insert_one(&document);
            match inside.as_mut() {
                Some(session) => action.session(&mut **session).await?,
                None => action.await?,
            };
            moved.documents += 1;
        }
        OnParent::Update(filter, change) => {
            let action = store.parents.update_one(filter, change);
            let result = match inside.as_mut() {
                Some(session) => action.session(&mut **session).await?,
                None => action.await?,
            };
            moved.documents += result.matched_count;
        }
        OnParent::Delete => {
            let action = store.parents.delete_one(of_parent.clone());
            let result = match inside.as_mut() {
                Some(session) => action.session(&mut **session).await?,
                None => action.await?,
            };
            moved.documents += result.deleted_count;
        }
    }
    if let Some(session) = inside.as_mut() {
        session.commit_transaction().await?;
    }
    moved.took = began.elapsed();
    moved.bytes += step.inserts.iter().map(|d| d.as_bytes().len() as u64).sum::<u64>();
    if step.weighs_parent && plan.parent != Some(Act::Delete) {
        moved.bytes += bytes_of(&store.parents, of_parent).await?;
    }
    if let Some(filter) = step.child_filter.filter(|_| plan.child == Some(Act::Update)) {
        moved.bytes += bytes_of(&store.children, filter).await?;
    }
    Ok((cost, moved))
}

/// What is done to the parent's document.
enum OnParent {
    Nothing,
    Insert(RawDocumentBuf),
    Update(Document, Document),
    Delete,
}

impl OnParent {
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Nothing)
    }
}

/// One execution of a write, put together before the clock starts.
struct Step {
    parent: usize,
    before: u64,
    /// Children by themselves that are inserted.
    inserts: Vec<RawDocumentBuf>,
    /// Children by themselves that are changed or deleted.
    child_filter: Option<Document>,
    child_change: Option<Document>,
    on_parent: OnParent,
    weighs_parent: bool,
}

impl Step {
    fn new(store: &mut Store<'_>, write: &DesignWrite, plan: &WritePlan, rng: &mut Rng) -> Self {
        let embedded = store.way.way == Way::Embed;
        if plan.parent == Some(Act::Insert) {
            return Self::new_parent(store, plan, rng);
        }
        let needs = plan.child.is_some_and(|act| act != Act::Insert);
        let mut parent = targets(store, 1, needs, rng).first().copied().unwrap_or(0);
        for _ in 0..100 {
            // A document that is full would refuse one more.
            if !(embedded && plan.child == Some(Act::Insert) && store.full[parent]) {
                break;
            }
            parent = targets(store, 1, false, rng).first().copied().unwrap_or(0);
        }
        let (from, to) = store.held[parent];
        let number = parent as u64;
        let mut step = Self {
            parent,
            before: to - from,
            inserts: Vec::new(),
            child_filter: None,
            child_change: None,
            on_parent: OnParent::Nothing,
            weighs_parent: embedded || plan.parent.is_some() || plan.follows,
        };
        let way = store.way;
        let parent_id = store.maker.parent_id(number);
        let fields = |of: &str| -> Vec<&str> {
            let sets = write.sets.iter().filter(|(entity, _)| entity == of);
            sets.map(|(_, field)| field.as_str()).collect()
        };
        if plan.parent == Some(Act::Delete) {
            store.alive.retain(|other| *other != parent);
            step.on_parent = OnParent::Delete;
            if plan.child == Some(Act::Delete) && !embedded {
                step.child_filter = Some(doc! { &way.parent_id: parent_id });
            }
            return step;
        }
        let mut filter = doc! { "_id": parent_id };
        let (mut set, mut push, mut pull, mut add) =
            (Document::new(), Document::new(), Document::new(), Document::new());
        let seed = rng.next();
        if plan.parent == Some(Act::Update) {
            let names: Vec<&str> = write.updates.iter().flat_map(|entity| fields(entity)).collect();
            set.extend(store.maker.change(true, &names, seed));
        }
        match plan.child {
            None => {}
            Some(Act::Insert) => {
                let kept = way.keep.filter(|_| embedded);
                let dropped = u64::from(kept.is_some_and(|keep| to - from >= keep));
                store.held[parent] = (from + dropped, to + 1);
                if embedded {
                    let element = store.maker.element(number, to);
                    push.insert(&way.role, pushed(element, kept));
                } else {
                    step.inserts.push(store.maker.child(number, to));
                    if let Some((name, newest, _)) = &way.preview {
                        push.insert(name, pushed(store.maker.shown(number, to), Some(*newest)));
                    }
                    add = kept_figures(way, 1);
                }
            }
            Some(Act::Update) => {
                let child = store.maker.child_id(number, from + rng.below(to - from));
                let names: Vec<&str> =
                    write.updates.iter().flat_map(|entity| fields(entity)).collect();
                if let Some((field, value)) = store.maker.change(false, &names, seed) {
                    if embedded {
                        filter.insert(format!("{}._id", way.role), child);
                        set.insert(format!("{}.$.{field}", way.role), value);
                    } else {
                        step.child_change = Some(doc! { "$set": { field: value } });
                        step.child_filter = Some(doc! { "_id": child });
                    }
                }
            }
            Some(Act::Delete) => {
                // The oldest goes.
                store.held[parent].0 += 1;
                let child = store.maker.child_id(number, from);
                if embedded {
                    pull.insert(&way.role, doc! { "_id": child });
                } else {
                    step.child_filter = Some(doc! { "_id": child });
                    if let Some((name, _, _)) = &way.preview {
                        pull.insert(name, doc! { "_id": child });
                    }
                    add = kept_figures(way, -1);
                }
            }
        }
        if embedded && way.parent_bytes(store.count(parent), docward_design::Rank::Max) > LARGEST {
            store.full[parent] = true;
        }
        let mut change = Document::new();
        for (operator, what) in [("$set", set), ("$push", push), ("$pull", pull), ("$inc", add)] {
            if !what.is_empty() {
                change.insert(operator, what);
            }
        }
        if !change.is_empty() {
            step.on_parent = OnParent::Update(filter, change);
        }
        step
    }

    /// A parent that was not there before, with children when they are inserted together.
    fn new_parent(store: &mut Store<'_>, plan: &WritePlan, rng: &mut Rng) -> Self {
        let parent = store.held.len();
        let like = targets(store, 1, false, rng).first().copied().unwrap_or(0);
        let wanted = match (plan.whole, plan.child) {
            (true, _) => store.count(like),
            (_, Some(_)) => 1,
            _ => 0,
        };
        let number = parent as u64;
        let (document, held) = store.maker.parent(number, 0, wanted, LARGEST as usize);
        store.held.push((0, held));
        store.full.push(false);
        store.alive.push(parent);
        let apart = if store.way.way == Way::Embed { 0 } else { wanted };
        Self {
            parent,
            before: held,
            inserts: (0..apart).map(|child| store.maker.child(number, child)).collect(),
            child_filter: None,
            child_change: None,
            on_parent: OnParent::Insert(document),
            weighs_parent: true,
        }
    }
}

/// One more element, the oldest cut off beyond a number.
fn pushed(element: RawDocumentBuf, keep: Option<u64>) -> Bson {
    let element = Document::try_from(element.as_ref()).unwrap_or_default();
    match keep {
        Some(keep) => Bson::Document(doc! { "$each": [element], "$slice": -(keep as i64) }),
        None => Bson::Document(element),
    }
}

/// What the parent counts and sums changes by.
fn kept_figures(way: &docward_design::Predictor, by: i64) -> Document {
    let count = way.count.iter().map(|name| (name.clone(), Bson::Int64(by)));
    let sums = way.sums.iter().map(|(_, name, _)| (name.clone(), Bson::Int64(3 * by)));
    count.chain(sums).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_spread_evenly() {
        assert_eq!(interleaved(&[4, 2]), [0, 1, 0, 0, 1, 0]);
    }
}
