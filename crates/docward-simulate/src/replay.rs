//! Executes the declared mix of operations on one alternative, in parts, and measures it.

use std::time::Duration;

use docward_design::{
    OperationCost,
    measured::{Compared, MeasuredOperation},
};
use mongodb::{ClientSession, error::Error};

use crate::{context::RunContext, make::Rng};
use docward_refactor::{Trouble, failed};

/// A stored alternative that executes operations.
pub(crate) trait Subject {
    /// Its operations: name, whether it writes, rate per second.
    fn operations(&self) -> Vec<(String, bool, f64)>;

    /// Executes one of them; returns the predicted cost and the data moved.
    async fn run(
        &mut self,
        operation: usize,
        rng: &mut Rng,
        session: &mut Option<ClientSession>,
    ) -> Result<(OperationCost, Moved), Error>;
}

/// The number of executions of each operation: by its rate, but enough for meaningful times.
fn runs(rates: &[f64], all: u64) -> Vec<u64> {
    let total: f64 = rates.iter().sum();
    let least = (all / (4 * rates.len().max(1) as u64)).clamp(1, 30);
    let share = |rate: &f64| if total > 0.0 { rate / total } else { 0.0 };
    rates.iter().map(|rate| ((all as f64 * share(rate)).round() as u64).max(least)).collect()
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

/// The data moved by one execution.
#[derive(Default)]
pub(crate) struct Moved {
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
    pub(crate) took: Duration,
}

/// The declared mix on one alternative, executed in parts, so that other load on the machine
/// affects all alternatives equally.
struct Replay<S> {
    subject: S,
    operations: Vec<(String, bool, f64)>,
    tallies: Vec<Tally>,
    /// The order of executions, and the number of those that only warm up.
    order: Vec<usize>,
    warm: usize,
    at: usize,
    rng: Rng,
}

impl<S: Subject> Replay<S> {
    fn new(around: &RunContext<'_>, subject: S) -> Self {
        let operations = subject.operations();
        let rates: Vec<f64> = operations.iter().map(|(_, _, rate)| *rate).collect();
        let runs = runs(&rates, around.operations);
        // Connections, caches and plans are warm before the measurement begins.
        let mut order = interleaved(&runs.iter().map(|n| n.div_ceil(20)).collect::<Vec<_>>());
        let warm = order.len();
        order.extend(interleaved(&runs));
        let tallies = operations.iter().map(|_| Tally::default()).collect();
        let rng = Rng::new(around.seed ^ 0x5EED);
        Self { subject, operations, tallies, order, warm, at: 0, rng }
    }

    /// Executes up to this many more; returns whether there are more after them.
    async fn some(
        &mut self,
        around: &RunContext<'_>,
        session: &mut Option<ClientSession>,
        most: usize,
    ) -> Result<bool, Trouble> {
        let end = (self.at + most).min(self.order.len());
        while self.at < end {
            around.check()?;
            let i = self.order[self.at];
            let (cost, moved) = self
                .subject
                .run(i, &mut self.rng, session)
                .await
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
}

/// The number of operations on one alternative before the next one's turn.
const TURN: usize = 20;

/// Executes the declared mix on all alternatives alternately; returns the alternatives in their
/// final state, with the measurements.
pub(crate) async fn replayed<S: Subject>(
    around: &RunContext<'_>,
    session: &mut Option<ClientSession>,
    subjects: Vec<S>,
) -> Result<Vec<(S, Vec<MeasuredOperation>)>, Trouble> {
    let mut replays: Vec<Replay<S>> =
        subjects.into_iter().map(|subject| Replay::new(around, subject)).collect();
    let mut more = true;
    while more {
        more = false;
        for replay in &mut replays {
            more |= replay.some(around, session, TURN).await?;
        }
    }
    let all = replays.into_iter().map(|replay| {
        let told = replay.operations.into_iter().zip(replay.tallies);
        (replay.subject, told.map(|(operation, tally)| told_of(operation, tally)).collect())
    });
    Ok(all.collect())
}

fn told_of((name, writes, per_second): (String, bool, f64), mut tally: Tally) -> MeasuredOperation {
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
    MeasuredOperation {
        name,
        writes,
        per_second,
        runs: runs as u64,
        documents: each(tally.documents),
        bytes: each(tally.bytes),
        mean_micros: tally.micros.iter().sum::<u64>() as f64 / runs.max(1) as f64,
        p50_micros: at(0.5),
        p95_micros: at(0.95),
        transaction: tally.transaction,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_spread_evenly() {
        assert_eq!(interleaved(&[4, 2]), [0, 1, 0, 0, 1, 0]);
    }
}
