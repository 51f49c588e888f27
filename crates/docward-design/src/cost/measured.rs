//! What `design simulate` measured on a server, beside what was predicted for the same documents.

use docward_model::Spread;

/// A run of `design simulate`.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The model.
    pub model: String,
    /// The server's hosts.
    pub server: String,
    /// Its version.
    pub version: String,
    /// What it is part of: `standalone`, `replica set`, `sharded cluster`.
    pub topology: &'static str,
    /// The scratch database.
    pub database: String,
    /// Parents of every relationship.
    pub parents: u64,
    /// Operations of every way.
    pub operations: u64,
    /// What the random choices began with.
    pub seed: u64,
    /// What was simulated.
    pub relationships: Vec<Simulated>,
    /// Series that were.
    pub series: Vec<SimulatedSeries>,
    /// Relationships and series that were not, each with the reason.
    pub skipped: Vec<(String, String)>,
    /// What has to be known to read the figures.
    pub notes: Vec<String>,
    /// Whether the scratch database was kept, as asked for.
    pub kept: bool,
}

/// A relationship that was stored in several ways.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// Its name.
    pub relationship: String,
    /// What was decided.
    pub verdict: &'static str,
    /// Children that a parent got.
    pub children: Spread,
    /// All children that parents have; those that several share count each time.
    pub all_children: u64,
    /// Different children when several parents share them.
    pub different: Option<u64>,
    /// The ways, the chosen one first.
    pub ways: Vec<MeasuredWay>,
    /// Operations of the model that touch it and were not replayed.
    pub left_out: Vec<String>,
    /// What of the design is not simulated.
    pub notes: Vec<String>,
}

impl Simulated {
    /// The ways from the fastest to the slowest, with the time each takes as a multiple of the fastest.
    pub fn ranking(&self) -> Vec<(&MeasuredWay, f64)> {
        ranking(&self.ways)
    }
}

/// An entity whose readings were stored in several ways.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedSeries {
    /// The entity.
    pub entity: String,
    /// What was decided.
    pub verdict: &'static str,
    /// Series.
    pub series: u64,
    /// Readings of each.
    pub readings: u64,
    /// Seconds from one reading to the next.
    pub step: f64,
    /// Most readings of a bucket.
    pub bucket: u64,
    /// The ways, the chosen one first.
    pub ways: Vec<MeasuredWay>,
    /// Operations of the model that touch it and were not replayed.
    pub left_out: Vec<String>,
    /// What has to be known to read the figures.
    pub notes: Vec<String>,
}

/// Ways from the fastest to the slowest, with the time each takes as a multiple of the fastest.
pub fn ranking(ways: &[MeasuredWay]) -> Vec<(&MeasuredWay, f64)> {
    let mut ways: Vec<&MeasuredWay> = ways.iter().collect();
    ways.sort_by(|a, b| a.busy().total_cmp(&b.busy()));
    let best = ways.first().map_or(0.0, |way| way.busy()).max(f64::MIN_POSITIVE);
    ways.into_iter().map(|way| (way, way.busy() / best)).collect()
}

/// One way to store a relationship or a series.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredWay {
    /// The word for it.
    pub name: &'static str,
    /// Whether it was chosen; no way is where the design has the children in a third entity's documents.
    pub chosen: bool,
    /// Each operation.
    pub operations: Vec<MeasuredOperation>,
    /// Documents that are stored.
    pub documents: Compared,
    /// Bytes of a parent: typical, 99th percentile, the largest; a series has none.
    pub parent: Option<[Compared; 3]>,
    /// Bytes of all documents.
    pub data: Compared,
    /// Bytes of the indexes that the way needs beside those on `_id`.
    pub index: Compared,
    /// Bytes on disk of documents, after compression.
    pub on_disk: u64,
    /// Bytes on disk of all indexes.
    pub all_indexes: u64,
    /// Parents whose children do not fit into 16 MB and were cut off.
    pub cut: u64,
    /// Whether operations that are all or nothing were transactions; `None` when there are none.
    pub transactions: Option<bool>,
}

impl MeasuredWay {
    /// Seconds that the declared load of one second takes, one operation after the other.
    pub fn busy(&self) -> f64 {
        self.operations.iter().map(|op| op.per_second * op.mean_micros / 1e6).sum()
    }
}

/// An operation that was run many times.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredOperation {
    /// Its name in the model.
    pub name: String,
    /// Whether it writes.
    pub writes: bool,
    /// Times a second, as declared.
    pub per_second: f64,
    /// Times it was run.
    pub runs: u64,
    /// Documents read or written, one time.
    pub documents: Compared,
    /// Bytes of them, one time.
    pub bytes: Compared,
    /// Microseconds: mean.
    pub mean_micros: f64,
    /// Microseconds: half of the runs took no longer.
    pub p50_micros: u64,
    /// Microseconds: 95 of 100 runs took no longer.
    pub p95_micros: u64,
    /// Whether it was a transaction.
    pub transaction: bool,
}

/// A figure that was predicted and measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compared {
    /// Before.
    pub predicted: f64,
    /// After.
    pub measured: f64,
}

impl Compared {
    /// By what share of the measured figure the prediction was too high; below zero it was too low. `None`
    /// when there is nothing to divide by.
    pub fn error(&self) -> Option<f64> {
        if self.measured == 0.0 {
            return (self.predicted == 0.0).then_some(0.0);
        }
        Some(self.predicted / self.measured - 1.0)
    }
}
