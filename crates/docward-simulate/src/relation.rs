//! Reads of parents and of children with one parent, as each alternative would execute them.

use std::time::Instant;

use docward_design::{Fetch, Link, OperationCost, ReadPlan, Way, WritePlan};
use docward_model::{DesignModel, DesignRead, DesignWrite, Relationship};
use mongodb::{
    ClientSession,
    bson::{Document, doc, oid::ObjectId},
    error::Error,
};

use crate::{
    make::Rng,
    queries::{among, bytes_of, found, grouped, look_at_rest, picked_of, targets},
    replay::{Moved, Subject},
    store::{Store, number},
    write::write_once,
};

/// An operation of the model with its plan in this alternative.
#[derive(Clone)]
pub(crate) enum Operation<'m> {
    Read(&'m DesignRead, ReadPlan),
    /// A write with its parts, which are equally frequent.
    Write(&'m str, f64, Vec<(DesignWrite, WritePlan)>),
}

impl Operation<'_> {
    /// The name of the operation, whether it writes, and its rate per second.
    pub(crate) fn told(&self) -> (String, bool, f64) {
        match self {
            Self::Read(read, _) => (read.name.clone(), false, read.per_second),
            Self::Write(name, per_second, _) => ((*name).to_owned(), true, *per_second),
        }
    }
}

/// Returns whether a read needs children of many parents in an order. The number of documents that
/// the server reads for it depends on how many match its conditions, which no model declares.
fn sorts_children(
    relationship: &Relationship,
    read: &DesignRead,
    way: &docward_design::Predictor,
) -> bool {
    read.from == relationship.child
        && !read.sort.is_empty()
        && relationship.children.is_some_and(|children| children.max > 1)
        && matches!(way.plan_read(read), Some(ReadPlan::Children { .. }))
}

/// The note on reads that are left out because they need children of many parents in an order.
pub(crate) fn sorted_apart(
    model: &DesignModel,
    relationship: &Relationship,
    way: &docward_design::Predictor,
) -> Option<String> {
    let sorts = |read: &&DesignRead| sorts_children(relationship, read, way);
    let names: Vec<&str> =
        model.reads.iter().filter(sorts).map(|read| read.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "not replayed, because it reads children of many parents in sorted order, and the \
             number of matches is unknown: {}. If embedded, MongoDB reads and sorts all matches; \
             separate documents have an index",
            docward_model::text::list(&names, 5)
        )
    })
}

/// The operations on a relationship, and the names of those that reach it from elsewhere.
pub(crate) fn operations<'m>(
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
            // `sorted_apart` reports it.
            Some(_) if sorts_children(relationship, read, way) => {}
            Some(plan) => found.push(Operation::Read(read, plan)),
            None if along.any(|r| ends.contains(&&r.parent) || ends.contains(&&r.child)) => {
                elsewhere.push(read.name.clone());
            }
            None => {}
        }
    }
    for write in model.writes.iter().filter(|write| ends.iter().any(|name| write.touches(name))) {
        found.push(Operation::Write(&write.name, write.per_second, way.plan_writes(write)));
    }
    (found, elsewhere)
}

/// One alternative with its operations.
pub(crate) struct Relation<'p, 'm> {
    pub(crate) store: Store<'p>,
    pub(crate) operations: Vec<Operation<'m>>,
}

impl Subject for Relation<'_, '_> {
    fn operations(&self) -> Vec<(String, bool, f64)> {
        self.operations.iter().map(Operation::told).collect()
    }

    async fn run(
        &mut self,
        operation: usize,
        rng: &mut Rng,
        session: &mut Option<ClientSession>,
    ) -> Result<(OperationCost, Moved), Error> {
        match &self.operations[operation] {
            Operation::Read(read, plan) => read_once(&self.store, read, plan, rng).await,
            Operation::Write(_, _, plans) => {
                let (write, plan) = &plans[rng.below(plans.len() as u64) as usize];
                write_once(&mut self.store, write, plan, rng, session).await
            }
        }
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
    let listed = way.way != Way::Embed && way.link == Link::ChildIds;
    // Children contain the id of their parent, or the parent that was just read lists them.
    let children_of = |numbers: &[usize]| -> Document {
        if listed {
            let mut ids = Vec::new();
            for parent in numbers {
                let (from, to) = store.held[*parent];
                ids.extend((from..to).map(|child| store.maker.child_id(*parent as u64, child)));
            }
            return among("_id", &ids);
        }
        let ids: Vec<_> = numbers.iter().map(|p| store.maker.parent_id(*p as u64)).collect();
        among(&way.parent_id, &ids)
    };
    let mut picked = Vec::new();
    let began = Instant::now();
    match plan {
        ReadPlan::Parents { fetch, count, sums, .. } => {
            found(&store.parents, among("_id", &ids), None, ids.len() as u64, &mut moved).await?;
            match fetch {
                Fetch::Nothing | Fetch::Pairs => {}
                Fetch::All => {
                    found(&store.children, children_of(&parents), None, 0, &mut moved).await?;
                }
                Fetch::Newest(n) => {
                    for parent in &parents {
                        let filter = children_of(&[*parent]);
                        let shown = (Some(&newest), *n);
                        if way.reads_all_for_newest() {
                            picked
                                .push(picked_of(&store.children, filter, shown, &mut moved).await?);
                        } else {
                            found(&store.children, filter, shown.0, shown.1, &mut moved).await?;
                        }
                    }
                }
            }
            if *count {
                for parent in &parents {
                    store.children.count_documents(children_of(&[*parent])).await?;
                }
            }
            if let Some(field) = sums {
                let group = doc! { "_id": null, "n": { "$sum": 1 }, "sum": { "$sum": format!("${field}") } };
                let rows = grouped(&store.children, children_of(&parents), group).await?;
                moved.documents += rows.first().and_then(|row| number(row.get("n")?)).unwrap_or(0);
            }
            moved.took = began.elapsed();
            for (filter, shown) in picked {
                look_at_rest(&store.children, filter, shown, &mut moved).await?;
            }
            if sums.is_some() {
                // The data that the server read for the sum is queried separately, so that the
                // query does not count towards the time.
                moved.bytes += bytes_of(&store.children, children_of(&parents)).await?;
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
        ReadPlan::ChildrenOf { limit, all, parent } => {
            let limit = limit.unwrap_or(0);
            let filter = children_of(&parents);
            let shown = (Some(&newest), limit);
            let (filter, shown) = picked_of(&store.children, filter, shown, &mut moved).await?;
            if *parent || listed {
                found(&store.parents, among("_id", &ids), None, 1, &mut moved).await?;
            }
            moved.took = began.elapsed();
            if *all {
                look_at_rest(&store.children, filter, shown, &mut moved).await?;
            }
        }
        // Parents of a shared child are read in `shared`.
        ReadPlan::ParentsOf { .. } => {}
        ReadPlan::Children { parent, .. } => {
            let wanted = some_child(store, &parents, rng);
            found(&store.children, among("_id", &wanted), None, 0, &mut moved).await?;
            if *parent {
                let filter = if listed {
                    among(&store.maker.listed_path(), &wanted)
                } else {
                    among("_id", &ids)
                };
                found(&store.parents, filter, None, 0, &mut moved).await?;
            }
            moved.took = began.elapsed();
        }
    }
    Ok((cost, moved))
}

/// One child of each of these parents.
fn some_child(store: &Store<'_>, parents: &[usize], rng: &mut Rng) -> Vec<ObjectId> {
    parents
        .iter()
        .map(|parent| {
            let (from, to) = store.held[*parent];
            store.maker.child_id(*parent as u64, from + rng.below(to - from))
        })
        .collect()
}
