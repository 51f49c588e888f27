//! Metrics for Prometheus and for the page. The number of label values is limited: application names, which clients
//! choose, are never labels.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError, atomic::AtomicU64},
    time::Duration,
};

use docward_net::Lane;
use hdrhistogram::Histogram as Times;
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};
use tokio::time::Instant;

use crate::{
    commands::Class,
    snapshot::{Quantiles, Snapshot},
};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfClass {
    class: Kind,
}

/// The class of a command in the labels of metrics.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
enum Kind {
    Local,
    Read,
    Write,
    Cursor,
    Transaction,
    Refused,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Local, Self::Read, Self::Write, Self::Cursor, Self::Transaction, Self::Refused];
}

impl From<Class> for Kind {
    fn from(class: Class) -> Self {
        match class {
            Class::Local => Self::Local,
            Class::Read => Self::Read,
            Class::Write => Self::Write,
            Class::GetMore | Class::KillCursors => Self::Cursor,
            Class::EndTransaction => Self::Transaction,
            Class::Refused => Self::Refused,
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfCode {
    code: i32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfResult {
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfPool {
    server: String,
    user: String,
    lane: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfServer {
    server: String,
}

/// The maximum number of pools with a separate user label. The others are added up under the user
/// `others`.
const MAX_POOLS: usize = 200;
/// The page shows the times of the last one or two windows of this length.
const WINDOW: Duration = Duration::from_secs(10);

/// All metrics that the guard updates as events happen.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    /// The metrics of each class, in the order of [`Kind::ALL`].
    by_class: Vec<(Counter, Histogram)>,
    added: Histogram,
    accepts: Family<OfResult, Counter>,
    logins: Family<OfResult, Counter>,
    pub(crate) received: Counter,
    pub(crate) sent: Counter,
    pub(crate) resent: Counter,
    pub(crate) rejected: Counter,
    pub(crate) limited: Counter,
    pub(crate) unknown: Counter,
    pub(crate) protocol: Counter,
    /// Errors that the guard itself returned, by code.
    errors: Mutex<BTreeMap<i32, u64>>,
    windows: Mutex<Windows>,
}

#[derive(Debug)]
struct Windows {
    began: Instant,
    now: Times<u32>,
    before: Times<u32>,
}

fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.000_05, 2.0, 20))
}

fn times() -> Times<u32> {
    // Two significant digits from one microsecond to one minute take about 10 KB.
    let mut times = Times::new_with_bounds(1, 60_000_000, 2).expect("these bounds are valid");
    times.auto(false);
    times
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("docward_guard");
        let requests: Family<OfClass, Counter> = Family::default();
        registry.register("requests", "Commands from clients, by class", requests.clone());
        let seconds: Family<OfClass, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(buckets);
        let text = "Time from the last byte of a command to its reply";
        registry.register_with_unit("request", text, Unit::Seconds, seconds.clone());
        let added = buckets();
        let text = "Time that a command spent in the guard and not at a server";
        registry.register_with_unit("added", text, Unit::Seconds, added.clone());
        let accepts = Family::default();
        registry.register("accepts", "Client connections, by result", accepts.clone());
        let logins = Family::default();
        registry.register("logins", "Client logins, by result", logins.clone());
        let mut counter = |name: &str, help: &str| {
            let counter: Counter<u64, AtomicU64> = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        Self {
            received: counter("received_bytes", "Bytes received from clients"),
            sent: counter("sent_bytes", "Bytes sent to clients"),
            resent: counter("retries", "Commands that were sent a second time"),
            rejected: counter("rejected", "Commands rejected because no connection became free"),
            limited: counter(
                "limited",
                "Commands rejected because of a limit of their user or application",
            ),
            unknown: counter(
                "unknown_commands",
                "Commands that the guard does not know and sends to the primary",
            ),
            protocol: counter(
                "protocol_errors",
                "Client connections closed because of a protocol or TLS error",
            ),
            by_class: Kind::ALL
                .map(|class| OfClass { class })
                .iter()
                .map(|of| (requests.get_or_create_owned(of), seconds.get_or_create_owned(of)))
                .collect(),
            added,
            accepts,
            logins,
            registry,
            errors: Mutex::default(),
            windows: Mutex::new(Windows { began: Instant::now(), now: times(), before: times() }),
        }
    }

    /// Counts a command and records its times.
    pub(crate) fn answered(&self, class: Class, took: Duration, at_server: Duration) {
        if let Some((requests, seconds)) = self.by_class.get(Kind::from(class) as usize) {
            requests.inc();
            seconds.observe(took.as_secs_f64());
        }
        if class == Class::Local || at_server.is_zero() {
            return;
        }
        let added = took.saturating_sub(at_server);
        self.added.observe(added.as_secs_f64());
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.turn();
        windows.now.saturating_record(u64::try_from(added.as_micros()).unwrap_or(u64::MAX).max(1));
    }

    pub(crate) fn failed(&self, code: i32) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        *errors.entry(code).or_default() += 1;
    }

    pub(crate) fn accepted(&self, result: &'static str) {
        self.accepts.get_or_create(&OfResult { result }).inc();
    }

    pub(crate) fn logged_in(&self, result: &'static str) {
        self.logins.get_or_create(&OfResult { result }).inc();
    }

    pub(crate) fn requests_of(&self) -> u64 {
        self.by_class.iter().map(|(requests, _)| requests.get()).sum()
    }

    /// Returns the number of errors by code.
    pub(crate) fn errors(&self) -> Vec<(i32, u64)> {
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.iter().map(|(code, count)| (*code, *count)).collect()
    }

    /// Returns quantiles of the time that the guard added to recent commands.
    pub(crate) fn lately(&self) -> Quantiles {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.turn();
        let mut all = windows.before.clone();
        if all.add(&windows.now).is_err() || all.is_empty() {
            return Quantiles::default();
        }
        Quantiles {
            count: all.len(),
            p50: all.value_at_quantile(0.5),
            p99: all.value_at_quantile(0.99),
        }
    }

    /// Returns all metrics in the OpenMetrics text format.
    pub(crate) fn text(&self, now: &Snapshot) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode_registry(&mut text, &self.registry)?;
        let registry = gauges(now);
        prometheus_client::encoding::text::encode_registry(&mut text, &registry)?;
        prometheus_client::encoding::text::encode_eof(&mut text)?;
        Ok(text)
    }
}

impl Windows {
    fn turn(&mut self) {
        let age = self.began.elapsed();
        if age < WINDOW {
            return;
        }
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.reset();
        if age >= 2 * WINDOW {
            self.before.reset();
        }
        self.began = Instant::now();
    }
}

/// Returns the name of a lane in the state and the metrics.
pub(crate) fn lane_name(lane: Lane) -> &'static str {
    match lane {
        Lane::Ordinary => "ordinary",
        Lane::Awaiting => "awaiting",
    }
}

fn gauge(value: impl TryInto<i64>) -> Gauge {
    let gauge = Gauge::default();
    gauge.set(value.try_into().unwrap_or(i64::MAX));
    gauge
}

/// Returns a registry with the current values of a snapshot.
fn gauges(now: &Snapshot) -> Registry {
    let mut registry = Registry::with_prefix("docward_guard");
    for (name, help, value) in [
        ("clients", "Connected clients", now.clients),
        ("cursors_open", "Open cursors of clients", now.cursors),
        ("transactions_open", "Open transactions of clients", now.transactions),
        ("memory_bytes", "Bytes of messages in memory", now.memory.0),
        ("memory_limit_bytes", "Maximum bytes of messages in memory", now.memory.1),
        (
            "primary_known",
            "Whether a server that accepts writes is known",
            usize::from(now.has_primary),
        ),
        ("draining", "Whether the guard is shutting down", usize::from(now.is_draining)),
        ("paused", "Whether the guard is paused", usize::from(now.is_paused)),
        ("held", "Commands that wait for the end of a pause or hold", now.held),
    ] {
        registry.register(name, help, gauge(value));
    }
    let errors: Family<OfCode, Counter> = Family::default();
    registry.register("errors", "Errors that the guard itself returned, by code", errors.clone());
    for (code, count) in &now.errors {
        errors.get_or_create(&OfCode { code: *code }).inc_by(*count);
    }
    let of_pools: [Family<OfPool, Gauge>; 5] = Default::default();
    let opened: Family<OfPool, Counter> = Family::default();
    let names = [
        ("pool_open", "Open connections to servers"),
        ("pool_in_use", "Connections to servers that are in use"),
        ("pool_waiting", "Commands that wait for a connection"),
        ("pool_connecting", "Connections that are being opened"),
        ("pool_max", "Maximum number of connections"),
    ];
    for ((name, help), family) in names.into_iter().zip(&of_pools) {
        registry.register(name, help, family.clone());
    }
    registry.register("pool_opened", "Connections opened since the start", opened.clone());
    for (at, (server, pool)) in now.pools.iter().enumerate() {
        let label = OfPool {
            server: server.to_string(),
            user: if at < MAX_POOLS { pool.user.to_string() } else { "others".to_owned() },
            lane: lane_name(pool.lane),
        };
        let state = &pool.state;
        let values = [state.open, state.in_use, state.waiting, state.connecting, pool.max];
        for (family, value) in of_pools.iter().zip(values) {
            family.get_or_create(&label).inc_by(i64::try_from(value).unwrap_or(i64::MAX));
        }
        opened.get_or_create(&label).inc_by(state.opened);
    }
    let budgets: [Family<OfServer, Gauge>; 2] = Default::default();
    registry.register(
        "server_connections",
        "Connections to a server, open or being opened",
        budgets[0].clone(),
    );
    let text = "Maximum number of connections to a server, for all users together";
    registry.register("server_connections_max", text, budgets[1].clone());
    for server in &now.servers {
        let label = OfServer { server: server.address.to_string() };
        budgets[0].get_or_create(&label).set(i64::try_from(server.connections).unwrap_or(0));
        budgets[1].get_or_create(&label).set(i64::try_from(server.budget).unwrap_or(0));
    }
    registry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn quantiles_cover_recent_commands() {
        let metrics = Metrics::new();
        assert_eq!(metrics.lately(), Quantiles::default());
        let ms = Duration::from_millis;
        for _ in 0..99 {
            metrics.answered(Class::Read, ms(3), ms(2));
        }
        metrics.answered(Class::Write, ms(80), ms(30));
        metrics.answered(Class::Local, ms(80), ms(0));
        let recent = metrics.lately();
        assert_eq!(recent.count, 100);
        assert!((990..=1010).contains(&recent.p50), "{recent:?}");
        assert!((990..=50_500).contains(&recent.p99), "{recent:?}");
        tokio::time::advance(WINDOW).await;
        assert_eq!(metrics.lately().count, 100);
        tokio::time::advance(2 * WINDOW).await;
        assert_eq!(metrics.lately().count, 0);
        assert_eq!(metrics.requests_of(), 101);
    }
}
