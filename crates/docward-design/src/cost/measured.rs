//! The results that `design simulate` measured on a server, and the predictions for the same
//! documents.

use docward_model::Spread;

/// A run of `design simulate`.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The name of the model.
    pub model: String,
    /// The server's hosts.
    pub server: String,
    /// The server version.
    pub version: String,
    /// The kind of deployment: `standalone`, `replica set`, `sharded cluster`.
    pub topology: &'static str,
    /// The scratch database.
    pub database: String,
    /// The number of parents of each relationship.
    pub parents: u64,
    /// The number of operations of each alternative.
    pub operations: u64,
    /// The seed of the random choices.
    pub seed: u64,
    /// The simulated relationships.
    pub relationships: Vec<Simulated>,
    /// The simulated series.
    pub series: Vec<SimulatedSeries>,
    /// The relationships and series that were not simulated, each with the reason.
    pub skipped: Vec<(String, String)>,
    /// Notes that readers need to understand the figures.
    pub notes: Vec<String>,
    /// Whether the scratch database was kept, as requested.
    pub kept: bool,
}

/// A relationship that was stored in several alternatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// The name.
    pub relationship: String,
    /// The verdict of the design.
    pub verdict: &'static str,
    /// The number of children of a parent.
    pub children: Spread,
    /// The sum of the children of all parents. A shared child counts once for each parent.
    pub all_children: u64,
    /// The number of distinct children, if several parents share them.
    pub different: Option<u64>,
    /// The alternatives, the chosen one first.
    pub ways: Vec<MeasuredWay>,
    /// Operations of the model that touch the relationship and were not replayed.
    pub left_out: Vec<String>,
    /// The parts of the design that are not simulated.
    pub notes: Vec<String>,
}

impl Simulated {
    /// Returns the alternatives from the fastest to the slowest. Each has its time as a multiple of
    /// the fastest.
    pub fn ranking(&self) -> Vec<(&MeasuredWay, f64)> {
        ranking(&self.ways)
    }
}

/// An entity whose readings were stored in several alternatives.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedSeries {
    /// The entity.
    pub entity: String,
    /// The verdict of the design.
    pub verdict: &'static str,
    /// The number of series.
    pub series: u64,
    /// The number of readings of each series.
    pub readings: u64,
    /// The time between two readings, in seconds.
    pub step: f64,
    /// The maximum number of readings in a bucket.
    pub bucket: u64,
    /// The alternatives, the chosen one first.
    pub ways: Vec<MeasuredWay>,
    /// Operations of the model that touch the entity and were not replayed.
    pub left_out: Vec<String>,
    /// Notes that readers need to understand the figures.
    pub notes: Vec<String>,
}

/// Returns alternatives from the fastest to the slowest. Each has its time as a multiple of the
/// fastest.
pub fn ranking(ways: &[MeasuredWay]) -> Vec<(&MeasuredWay, f64)> {
    let mut ways: Vec<&MeasuredWay> = ways.iter().collect();
    ways.sort_by(|a, b| a.busy().total_cmp(&b.busy()));
    let best = ways.first().map_or(0.0, |way| way.busy()).max(f64::MIN_POSITIVE);
    ways.into_iter().map(|way| (way, way.busy() / best)).collect()
}

/// One alternative to store a relationship or a series.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredWay {
    /// The word in JSON and messages.
    pub name: &'static str,
    /// Whether it was chosen. None is chosen if the design embeds the children in a third entity.
    pub chosen: bool,
    /// The operations.
    pub operations: Vec<MeasuredOperation>,
    /// The number of stored documents.
    pub documents: Compared,
    /// The size of a parent in bytes: typical, 99th percentile, maximum. `None` for a series.
    pub parent: Option<[Compared; 3]>,
    /// The size of all documents in bytes.
    pub data: Compared,
    /// The size of the indexes that this alternative needs in addition to those on `_id`, in bytes.
    pub index: Compared,
    /// The compressed size of the documents on disk, in bytes.
    pub on_disk: u64,
    /// The size of all indexes on disk, in bytes.
    pub all_indexes: u64,
    /// The number of parents whose children do not fit into 16 MB. The excess children were
    /// dropped.
    pub cut: u64,
    /// Whether atomic operations ran in transactions. `None` if there are none.
    pub transactions: Option<bool>,
}

impl MeasuredWay {
    /// Returns the seconds of work per second of declared load, if operations run one after the
    /// other.
    pub fn busy(&self) -> f64 {
        self.operations.iter().map(|op| op.per_second * op.mean_micros / 1e6).sum()
    }
}

/// An operation that was executed many times.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredOperation {
    /// The name in the model.
    pub name: String,
    /// Whether it is a write.
    pub writes: bool,
    /// The declared rate per second.
    pub per_second: f64,
    /// The number of executions.
    pub runs: u64,
    /// Documents read or written per execution.
    pub documents: Compared,
    /// Bytes read or written per execution.
    pub bytes: Compared,
    /// The mean duration in microseconds.
    pub mean_micros: f64,
    /// The median duration in microseconds.
    pub p50_micros: u64,
    /// The 95th percentile of the duration in microseconds.
    pub p95_micros: u64,
    /// Whether it ran in a transaction.
    pub transaction: bool,
}

/// A figure that was predicted and measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compared {
    /// The prediction.
    pub predicted: f64,
    /// The measurement.
    pub measured: f64,
}

impl Compared {
    /// Returns the error of the prediction as a share of the measurement. It is negative if the
    /// prediction was too low, and `None` if the measurement is 0.
    pub fn error(&self) -> Option<f64> {
        if self.measured == 0.0 {
            return (self.predicted == 0.0).then_some(0.0);
        }
        Some(self.predicted / self.measured - 1.0)
    }
}
