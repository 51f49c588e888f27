//! `design simulate`: the ways a relationship can be stored, built in a scratch database, and the declared
//! operations run on each.
//!
//! Everything happens in one database that did not exist before, and that is dropped whatever happens.
//!
//! Read on: `make` (documents of declared sizes), `store` (one way in the database), `replay` and
//! `write` (operations).

mod make;
mod replay;
mod store;
mod write;

use std::sync::atomic::{AtomicBool, Ordering};

use docward_design::{
    Design, Naming, Predictor, Verdict, Way,
    measured::{MeasuredOperation, MeasuredWay, Simulated, Simulation},
    predictors, quantile,
};
use docward_model::{DesignModel, Relationship, Spread};
use mongodb::bson::{Document, doc, oid::ObjectId};

use crate::operator::{Operator, Trouble, failed};
use make::Rng;
use replay::Replay;
use store::{LARGEST, Store};

/// What is to be simulated.
#[derive(Debug)]
pub struct SimulationPlan<'m> {
    model: &'m DesignModel,
    /// Relationships with their ways.
    pub relationships: Vec<PlannedSimulation<'m>>,
    /// Relationships that cannot be, each with the reason.
    pub skipped: Vec<(String, String)>,
    /// Parents of each.
    pub parents: u64,
    /// Operations of each way.
    pub operations: u64,
    /// What random choices begin with.
    pub seed: u64,
}

/// A relationship that is to be simulated.
#[derive(Debug)]
pub struct PlannedSimulation<'m> {
    relationship: &'m Relationship,
    verdict: Verdict,
    ways: Vec<Predictor>,
    /// Children of each parent, in no order.
    counts: Vec<u64>,
}

impl PlannedSimulation<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.relationship.name
    }

    /// Each way with the documents and bytes that it stores.
    pub fn sizes(&self) -> Vec<(Way, u64, u64)> {
        let all: u64 = self.counts.iter().sum();
        let parents = self.counts.len() as u64;
        let size = |way: &Predictor| match way.way {
            Way::Embed => {
                let most = way.fitting(LARGEST);
                let cut: Vec<u64> = self.counts.iter().map(|n| (*n).min(most)).collect();
                (Way::Embed, parents, way.storage(&cut).0)
            }
            other => (other, parents + all, way.storage(&self.counts).0),
        };
        self.ways.iter().map(size).collect()
    }
}

impl<'m> SimulationPlan<'m> {
    /// Plans a simulation of all relationships, or of those named.
    pub fn new(
        model: &'m DesignModel,
        design: &Design,
        naming: Naming,
        names: &[String],
        (parents, operations, seed): (u64, u64, u64),
    ) -> Self {
        let mut plan = Self {
            model,
            relationships: Vec::new(),
            skipped: Vec::new(),
            parents,
            operations,
            seed,
        };
        for relationship in &model.relationships {
            let name = &relationship.name;
            if !names.is_empty() && !names.contains(name) {
                continue;
            }
            let decision = design.decisions.iter().find(|d| d.relationship == *name);
            let why = match decision {
                None => Some("it was not decided".to_owned()),
                Some(decision) if decision.choice.is_none() => {
                    let open = decision.questions.first().map_or("", |q| q.ask.as_str());
                    Some(format!("it is undecided: {open}"))
                }
                Some(_) if relationship.parent == relationship.child => {
                    Some("an entity above and below itself is not simulated".to_owned())
                }
                Some(_) if relationship.is_shared() => Some(
                    "children that several parents share are not simulated: each way would store another number of them"
                        .to_owned(),
                ),
                Some(_) => None,
            };
            if let Some(why) = why {
                plan.skipped.push((name.clone(), why));
                continue;
            }
            let Some(decision) = decision else { continue };
            let mut counts = quantile::counts(decision.facts.children, parents);
            shuffle(&mut counts, &mut Rng::new(seed));
            plan.relationships.push(PlannedSimulation {
                relationship,
                verdict: decision.verdict,
                ways: predictors(model, design, naming, relationship),
                counts,
            });
        }
        plan
    }
}

fn shuffle(counts: &mut [u64], rng: &mut Rng) {
    for i in (1..counts.len()).rev() {
        counts.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

/// Operations that are run on one way before it is the next one's turn.
const TURN: usize = 20;

/// What every part of a run needs.
struct Around<'a> {
    seed: u64,
    operations: u64,
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(u64, u64) + Sync),
}

impl Around<'_> {
    fn check(&self) -> Result<(), Trouble> {
        if self.stop.load(Ordering::Relaxed) { Err(Trouble::Ended) } else { Ok(()) }
    }
}

impl Operator {
    /// A name for a scratch database that nobody has.
    pub fn scratch_name() -> String {
        let unique = ObjectId::new().to_hex();
        format!("docward_simulate_{}_{}", std::process::id(), &unique[unique.len() - 6..])
    }

    /// Simulates in a database of this name, and drops it, whatever happened, unless it is to be kept. The
    /// second value says why it could not be dropped.
    pub fn simulate(
        &self,
        plan: &SimulationPlan<'_>,
        database: &str,
        keep: bool,
        stop: &AtomicBool,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> (Result<Simulation, Trouble>, Option<Trouble>) {
        match self.is_empty_database(database) {
            Ok(true) => {}
            Ok(false) => return (Err(Trouble::DatabaseExists(database.to_owned())), None),
            Err(trouble) => return (Err(trouble), None),
        }
        let around = Around { seed: plan.seed, operations: plan.operations, stop, progress };
        let outcome = self.runtime.block_on(self.run_simulation(plan, database, keep, &around));
        if keep && outcome.is_ok() {
            return (outcome, None);
        }
        let dropped = self.run(database, doc! { "dropDatabase": 1 });
        (outcome, dropped.err().map(|error| failed("dropDatabase", &error)))
    }

    fn is_empty_database(&self, database: &str) -> Result<bool, Trouble> {
        let list = doc! { "listCollections": 1, "nameOnly": true, "authorizedCollections": true };
        let reply = self.run(database, list).map_err(|error| failed("listCollections", &error))?;
        let first = reply.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch"));
        Ok(first.is_ok_and(Vec::is_empty))
    }

    async fn run_simulation(
        &self,
        plan: &SimulationPlan<'_>,
        name: &str,
        keep: bool,
        around: &Around<'_>,
    ) -> Result<Simulation, Trouble> {
        let admin = self.client.database("admin");
        let ask = |command: Document| {
            let admin = admin.clone();
            async move { admin.run_command(command).await }
        };
        let hello = ask(doc! { "hello": 1 }).await.map_err(|error| failed("hello", &error))?;
        let build =
            ask(doc! { "buildInfo": 1 }).await.map_err(|error| failed("buildInfo", &error))?;
        let topology = if hello.get_str("msg").is_ok_and(|msg| msg == "isdbgrid") {
            "sharded cluster"
        } else if hello.contains_key("setName") {
            "replica set"
        } else {
            "standalone"
        };
        let mut session = if topology == "standalone" {
            None
        } else {
            Some(self.client.start_session().await.map_err(|e| failed("startSession", &e))?)
        };
        let database = self.client.database(name);
        let mut relationships = Vec::new();
        for planned in &plan.relationships {
            let (mut stores, mut sizes, mut operations) = (Vec::new(), Vec::new(), Vec::new());
            let mut left_out = Vec::new();
            for way in &planned.ways {
                around.check()?;
                let store =
                    Store::build(around, &database, way, planned.name(), &planned.counts).await?;
                // Sizes on disk are those of the last checkpoint. An account that may not ask for one gets
                // older figures.
                let _ = ask(doc! { "fsync": 1 }).await;
                sizes.push(store.sizes(&database).await?);
                let (found, elsewhere) = replay::operations(plan.model, planned.relationship, way);
                left_out = elsewhere;
                operations.push(found);
                stores.push(store);
            }
            let cut: Vec<u64> = stores.iter().map(|store| store.cut).collect();
            let mut replays: Vec<Replay<'_, '_, '_>> = stores
                .iter_mut()
                .zip(&operations)
                .map(|(store, operations)| Replay::new(around, store, operations))
                .collect();
            let mut more = true;
            while more {
                more = false;
                for replay in &mut replays {
                    more |= replay.some(around, &mut session, TURN).await?;
                }
            }
            let told: Vec<Vec<MeasuredOperation>> = replays.into_iter().map(Replay::told).collect();
            let mut ways = Vec::new();
            let rows = planned.ways.iter().zip(sizes).zip(told).zip(cut).zip(&operations);
            for ((((way, sizes), measured), cut), operations) in rows {
                let wanted = operations.iter().any(
                    |op| matches!(op, replay::Operation::Write(_, write) if write.transaction),
                );
                ways.push(MeasuredWay {
                    way: way.way,
                    chosen: way.chosen,
                    operations: measured,
                    parent: sizes.parent,
                    data: sizes.data,
                    index: sizes.index,
                    on_disk: sizes.on_disk,
                    all_indexes: sizes.all_indexes,
                    cut,
                    transactions: wanted.then_some(session.is_some()),
                });
            }
            if !keep {
                for store in &stores {
                    store.clear().await?;
                }
            }
            let mut counts = planned.counts.clone();
            counts.sort_unstable();
            let at = |share: f64| {
                let last = counts.len().saturating_sub(1) as f64;
                counts.get((last * share).round() as usize).copied().unwrap_or(0)
            };
            relationships.push(Simulated {
                relationship: planned.name().to_owned(),
                verdict: planned.verdict.name(),
                children: Spread { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1.0) },
                all_children: counts.iter().sum(),
                ways,
                left_out,
            });
        }
        let mut notes = Vec::new();
        if relationships.iter().flat_map(|r| &r.ways).any(|way| way.transactions == Some(false)) {
            notes.push(
                "a standalone server has no transactions: writes that are all or nothing ran without one, faster than they would"
                    .to_owned(),
            );
        }
        Ok(Simulation {
            model: plan.model.name.clone(),
            server: self.name.clone(),
            version: build.get_str("version").unwrap_or("unknown").to_owned(),
            topology,
            database: name.to_owned(),
            parents: plan.parents,
            operations: plan.operations,
            seed: plan.seed,
            relationships,
            skipped: plan.skipped.clone(),
            notes,
            kept: keep,
        })
    }
}
