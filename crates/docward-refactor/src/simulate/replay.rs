//! The declared reads and writes, run one after the other as the way would do them.

use std::time::{Duration, Instant};

use docward_design::{
    Fetch, OperationCost, ReadPlan, Way, WritePlan,
    measured::{Compared, MeasuredOperation},
};
use docward_model::{DesignModel, DesignRead, DesignWrite, Relationship};
use futures_util::TryStreamExt as _;
use mongodb::{
    ClientSession, Collection,
    bson::{Document, RawDocumentBuf, doc, oid::ObjectId},
    error::Error,
};

use super::{
    Around,
    make::Rng,
    store::{Store, number},
    write::write_once,
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
pub(super) struct Moved {
    pub(super) documents: u64,
    pub(super) bytes: u64,
    pub(super) took: Duration,
}

/// The declared mix on one way, run in parts: what else the machine does meanwhile then falls on all ways
/// alike.
pub(super) struct Replay<'a, 'p, 'm> {
    pub(super) store: &'a mut Store<'p>,
    pub(super) operations: &'a [Operation<'m>],
    tallies: Vec<Tally>,
    /// What is run, and from where on it counts.
    order: Vec<usize>,
    warm: usize,
    at: usize,
    rng: Rng,
}

impl<'a, 'p, 'm> Replay<'a, 'p, 'm> {
    pub(super) fn new(
        around: &Around<'_>,
        store: &'a mut Store<'p>,
        operations: &'a [Operation<'m>],
    ) -> Self {
        let runs = runs(operations, around.operations);
        // Connections, caches and plans are warm before anything counts.
        let mut order = interleaved(&runs.iter().map(|n| n.div_ceil(20)).collect::<Vec<_>>());
        let warm = order.len();
        order.extend(interleaved(&runs));
        let tallies = operations.iter().map(|_| Tally::default()).collect();
        let rng = Rng::new(around.seed ^ 0x5EED);
        Self { store, operations, tallies, order, warm, at: 0, rng }
    }

    /// Runs up to so many more; whether there are more after them.
    pub(super) async fn some(
        &mut self,
        around: &Around<'_>,
        session: &mut Option<ClientSession>,
        most: usize,
    ) -> Result<bool, Trouble> {
        let end = (self.at + most).min(self.order.len());
        while self.at < end {
            around.check()?;
            let i = self.order[self.at];
            let (cost, moved) = match &self.operations[i] {
                Operation::Read(read, plan) => {
                    read_once(self.store, read, plan, &mut self.rng).await
                }
                Operation::Write(write, plan) => {
                    write_once(self.store, write, plan, &mut self.rng, session).await
                }
            }
            .map_err(|e| failed("running the declared operations", &e))?;
            if self.at >= self.warm {
                let tally = &mut self.tallies[i];
                tally.micros.push(moved.took.as_micros() as u64);
                tally.documents.predicted += cost.documents;
                tally.documents.measured += moved.documents as f64;
                tally.bytes.predicted += cost.bytes;
                tally.bytes.measured += moved.bytes as f64;
                tally.transaction = cost.transaction && session.is_some();
            }
            self.at += 1;
        }
        Ok(self.at < self.order.len())
    }

    /// What was measured.
    pub(super) fn told(self) -> Vec<MeasuredOperation> {
        self.operations.iter().zip(self.tallies).map(|(op, tally)| told(op, tally)).collect()
    }
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
pub(super) fn targets(
    store: &Store<'_>,
    wanted: u64,
    with_children: bool,
    rng: &mut Rng,
) -> Vec<usize> {
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
pub(super) async fn bytes_of(
    from: &Collection<RawDocumentBuf>,
    filter: Document,
) -> Result<u64, Error> {
    let group = doc! { "_id": null, "bytes": { "$sum": { "$bsonSize": "$$ROOT" } } };
    let rows = grouped(from, filter, group).await?;
    Ok(rows.first().and_then(|row| number(row.get("bytes")?)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_spread_evenly() {
        assert_eq!(interleaved(&[4, 2]), [0, 1, 0, 0, 1, 0]);
    }
}
