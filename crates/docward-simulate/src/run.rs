//! Simulates one relationship or series after the other: stored in every alternative, measured,
//! replayed, removed.

use std::sync::atomic::AtomicBool;

use docward_design::{
    ReadingsWay,
    measured::{Compared, MeasuredOperation, MeasuredWay, Simulated, SimulatedSeries, Simulation},
};
use docward_model::{DesignModel, Spread};
use mongodb::{
    ClientSession, Database,
    bson::{Document, doc, oid::ObjectId},
};

use crate::{
    PlannedSeries, PlannedSimulation, SimulationPlan,
    context::RunContext,
    relation::{self, Operation, Relation},
    replay::replayed,
    series::{self, Series},
    shared::{self, Shared},
    store::{Sizes, Store},
};
use docward_refactor::{Operator, Trouble, failed};

/// A unique name for a scratch database.
pub fn scratch_name() -> String {
    let unique = ObjectId::new().to_hex();
    format!("docward_simulate_{}_{}", std::process::id(), &unique[unique.len() - 6..])
}

/// Simulates in a database with this name. Drops the database afterwards, unless the user wants to
/// keep it. The second value is the reason why it could not be dropped.
pub fn simulate(
    operator: &Operator,
    plan: &SimulationPlan<'_>,
    database: &str,
    keep: bool,
    stop: &AtomicBool,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> (Result<Simulation, Trouble>, Option<Trouble>) {
    match is_empty_database(operator, database) {
        Ok(true) => {}
        Ok(false) => return (Err(Trouble::DatabaseExists(database.to_owned())), None),
        Err(trouble) => return (Err(trouble), None),
    }
    let around =
        RunContext { seed: plan.scale.seed, operations: plan.scale.operations, stop, progress };
    let outcome =
        operator.runtime.block_on(run_simulation(operator, plan, database, keep, &around));
    if keep && outcome.is_ok() {
        return (outcome, None);
    }
    let dropped = operator.run(database, doc! { "dropDatabase": 1 });
    (outcome, dropped.err().map(|error| failed("dropDatabase", &error)))
}

fn is_empty_database(operator: &Operator, database: &str) -> Result<bool, Trouble> {
    let list = doc! { "listCollections": 1, "nameOnly": true, "authorizedCollections": true };
    let reply = operator.run(database, list).map_err(|error| failed("listCollections", &error))?;
    let first = reply.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch"));
    Ok(first.is_ok_and(Vec::is_empty))
}

async fn run_simulation(
    operator: &Operator,
    plan: &SimulationPlan<'_>,
    name: &str,
    keep: bool,
    around: &RunContext<'_>,
) -> Result<Simulation, Trouble> {
    let admin = operator.client.database("admin");
    let ask = |command: Document| {
        let admin = admin.clone();
        async move { admin.run_command(command).await }
    };
    let hello = ask(doc! { "hello": 1 }).await.map_err(|error| failed("hello", &error))?;
    let build = ask(doc! { "buildInfo": 1 }).await.map_err(|error| failed("buildInfo", &error))?;
    let topology = if hello.get_str("msg").is_ok_and(|msg| msg == "isdbgrid") {
        "sharded cluster"
    } else if hello.contains_key("setName") {
        "replica set"
    } else {
        "standalone"
    };
    let session = if topology == "standalone" {
        None
    } else {
        Some(operator.client.start_session().await.map_err(|e| failed("startSession", &e))?)
    };
    let version = build.get_str("version").unwrap_or("unknown").to_owned();
    let mut at = Runner { admin, database: operator.client.database(name), around, session, keep };
    let mut relationships = Vec::new();
    for planned in &plan.relationships {
        relationships.push(match planned.different {
            Some(different) => at.shared(plan.model, planned, different).await?,
            None => at.relation(plan.model, planned).await?,
        });
    }
    let mut series = Vec::new();
    for planned in &plan.series {
        series.push(at.series(plan.model, planned, &version).await?);
    }
    let mut notes = Vec::new();
    let without = |shared: bool| {
        let of = relationships.iter().filter(|r: &&Simulated| r.different.is_some() == shared);
        of.flat_map(|r| &r.ways).any(|way| way.transactions == Some(false))
    };
    if without(false) {
        notes.push(
            "a standalone server has no transactions, so atomic writes ran without one and faster \
             than in production"
                .to_owned(),
        );
    }
    if without(true) {
        notes.push(
            "for shared children, atomic writes ran without a transaction and faster than in \
             production"
                .to_owned(),
        );
    }
    if relationships.iter().any(|relationship| relationship.different.is_some()) {
        notes.push(
            "the simulation distributes shared children evenly; in real data, some have far more \
             parents than others"
                .to_owned(),
        );
    }
    Ok(Simulation {
        model: plan.model.name.clone(),
        server: operator.name.clone(),
        version,
        topology,
        database: name.to_owned(),
        parents: plan.scale.parents,
        operations: plan.scale.operations,
        seed: plan.scale.seed,
        relationships,
        series,
        skipped: plan.skipped.clone(),
        notes,
        kept: keep,
    })
}

/// The tools of every part of a simulation.
struct Runner<'a> {
    admin: Database,
    database: Database,
    around: &'a RunContext<'a>,
    session: Option<ClientSession>,
    keep: bool,
}

impl Runner<'_> {
    /// Sizes on disk are those of the last checkpoint. An account without the privilege to request
    /// one gets older figures.
    async fn checkpoint(&self) {
        let _ = self.admin.run_command(doc! { "fsync": 1 }).await;
    }

    async fn relation(
        &mut self,
        model: &DesignModel,
        planned: &PlannedSimulation<'_>,
    ) -> Result<Simulated, Trouble> {
        let (mut subjects, mut sizes, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        for way in &planned.ways {
            self.around.check()?;
            let counts = &planned.counts;
            let store =
                Store::build(self.around, &self.database, way, planned.name(), counts).await?;
            self.checkpoint().await;
            sizes.push((store.documents(), store.sizes(&self.database).await?));
            let (operations, elsewhere) = relation::operations(model, planned.relationship, way);
            left_out = elsewhere;
            subjects.push(Relation { store, operations });
        }
        let replayed = replayed(self.around, &mut self.session, subjects).await?;
        let mut ways = Vec::new();
        for ((way, sizes), (subject, operations)) in planned.ways.iter().zip(sizes).zip(replayed) {
            let wanted = wants_transaction(&subject.operations);
            ways.push(MeasuredWay {
                cut: subject.store.cut,
                transactions: wanted.then_some(self.session.is_some()),
                ..measured((way.name(), way.chosen), sizes, operations)
            });
            if !self.keep {
                subject.store.clear().await?;
            }
        }
        let mut done = simulated(planned, ways, left_out);
        let way = planned.ways.first();
        done.notes
            .extend(way.and_then(|way| relation::sorted_apart(model, planned.relationship, way)));
        Ok(done)
    }

    async fn shared(
        &mut self,
        model: &DesignModel,
        planned: &PlannedSimulation<'_>,
        different: u64,
    ) -> Result<Simulated, Trouble> {
        let links = shared::linked(&planned.counts, different, self.around.seed);
        let (mut subjects, mut sizes, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        for way in &planned.ways {
            self.around.check()?;
            let (operations, elsewhere) = relation::operations(model, planned.relationship, way);
            left_out = elsewhere;
            let (links, name) = (links.clone(), planned.name());
            let at = &self.database;
            let store =
                Shared::build(self.around, at, way, name, links, different, operations).await?;
            self.checkpoint().await;
            sizes.push((store.documents(), store.sizes(&self.database).await?));
            subjects.push(store);
        }
        let replayed = replayed(self.around, &mut self.session, subjects).await?;
        let mut ways = Vec::new();
        for ((way, sizes), (subject, operations)) in planned.ways.iter().zip(sizes).zip(replayed) {
            let wanted = wants_transaction(&subject.operations);
            ways.push(MeasuredWay {
                cut: subject.cut,
                transactions: wanted.then_some(false),
                ..measured((way.name(), way.chosen), sizes, operations)
            });
            if !self.keep {
                subject.clear().await?;
            }
        }
        let mut done = simulated(planned, ways, left_out);
        let way = planned.ways.first();
        done.notes
            .extend(way.and_then(|way| relation::sorted_apart(model, planned.relationship, way)));
        Ok(done)
    }

    async fn series(
        &mut self,
        model: &DesignModel,
        planned: &PlannedSeries,
        version: &str,
    ) -> Result<SimulatedSeries, Trouble> {
        let readings = &planned.readings;
        let (jobs, left_out) = series::jobs(model, readings);
        let major: u32 = version.split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        let mut notes = Vec::new();
        if readings.needs_plain {
            notes.push(
                "not as a time series: the model changes readings, or needs change streams, \
                 validators or unique indexes (GC-30)"
                    .to_owned(),
            );
        } else if major < 5 {
            notes.push(format!(
                "not as a time series: this needs MongoDB 5.0, and the server is \
             {version}"
            ));
        }
        let (mut subjects, mut sizes) = (Vec::new(), Vec::new());
        for way in &planned.ways {
            if *way == ReadingsWay::TimeSeries && major < 5 {
                continue;
            }
            self.around.check()?;
            let (size, jobs) = (planned.size, jobs.clone());
            let at = &self.database;
            let store = Series::build(self.around, at, readings, *way, size, jobs).await?;
            self.checkpoint().await;
            sizes.push(store.sizes(&self.database).await?);
            subjects.push(store);
        }
        let replayed = replayed(self.around, &mut self.session, subjects).await?;
        let mut ways = Vec::new();
        for (sizes, (subject, operations)) in sizes.into_iter().zip(replayed) {
            let name = (subject.way.name(), subject.way == readings.chosen);
            ways.push(measured(name, sizes, operations));
            if !self.keep {
                subject.clear().await?;
            }
        }
        Ok(SimulatedSeries {
            entity: readings.entity.clone(),
            verdict: readings.chosen.name(),
            series: planned.size.0,
            readings: planned.size.1,
            step: readings.step as f64 / 1000.0,
            bucket: readings.rule.most,
            ways,
            left_out,
            notes,
        })
    }
}

fn wants_transaction(operations: &[Operation<'_>]) -> bool {
    operations.iter().any(|op| match op {
        Operation::Write(_, _, plans) => plans.iter().any(|(_, plan)| plan.transaction),
        Operation::Read(..) => false,
    })
}

fn measured(
    (name, chosen): (&'static str, bool),
    (documents, sizes): (u64, Sizes),
    operations: Vec<MeasuredOperation>,
) -> MeasuredWay {
    MeasuredWay {
        name,
        chosen,
        operations,
        documents: Compared { predicted: documents as f64, measured: sizes.documents as f64 },
        parent: sizes.parent,
        data: sizes.data,
        index: sizes.index,
        on_disk: sizes.on_disk,
        all_indexes: sizes.all_indexes,
        cut: 0,
        transactions: None,
    }
}

fn simulated(
    planned: &PlannedSimulation<'_>,
    ways: Vec<MeasuredWay>,
    left_out: Vec<String>,
) -> Simulated {
    let mut counts = planned.counts.clone();
    counts.sort_unstable();
    let at = |share: f64| {
        let last = counts.len().saturating_sub(1) as f64;
        counts.get((last * share).round() as usize).copied().unwrap_or(0)
    };
    Simulated {
        relationship: planned.name().to_owned(),
        verdict: planned.verdict.name(),
        children: Spread { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1.0) },
        all_children: counts.iter().sum(),
        different: planned.different,
        ways,
        left_out,
        notes: planned.notes.clone(),
    }
}
