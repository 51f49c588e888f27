//! Counts and times of what happened, for Prometheus and for the page. Labels are bounded: classes, codes and outcomes,
//! never names that clients choose.

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

use crate::{commands::Class, guard::Snapshot};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfClass {
    class: Kind,
}

/// Classes of commands, as metrics name them.
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

/// Pools that get labels of their own; the others are summed up.
const MOST_POOLS: usize = 200;
/// The times of the page are those of the last one or two of these.
const WINDOW: Duration = Duration::from_secs(10);

/// All counts.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    /// In the order of [`Kind::ALL`].
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

/// Times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quantiles {
    /// How many were measured.
    pub(crate) count: u64,
    /// Half of them took less.
    pub(crate) p50: u64,
    /// One in a hundred took longer.
    pub(crate) p99: u64,
}

fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.000_05, 2.0, 20))
}

fn times() -> Times<u32> {
    // Two digits, from a microsecond to a minute: about 10 KB.
    let mut times = Times::new_with_bounds(1, 60_000_000, 2).expect("these bounds are valid");
    times.auto(false);
    times
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("docward_guard");
        let requests: Family<OfClass, Counter> = Family::default();
        registry.register("requests", "Commands of clients", requests.clone());
        let seconds: Family<OfClass, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(buckets);
        let text = "Time from a command's last byte to the answer";
        registry.register_with_unit("request", text, Unit::Seconds, seconds.clone());
        let added = buckets();
        let text = "Time that a command spent in the guard and not at a server";
        registry.register_with_unit("added", text, Unit::Seconds, added.clone());
        let accepts = Family::default();
        registry.register("accepts", "Clients that connected", accepts.clone());
        let logins = Family::default();
        registry.register("logins", "Logins of clients", logins.clone());
        let mut counter = |name: &str, help: &str| {
            let counter: Counter<u64, AtomicU64> = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        Self {
            received: counter("received_bytes", "Bytes of commands"),
            sent: counter("sent_bytes", "Bytes of answers"),
            resent: counter("retries", "Commands that were sent a second time"),
            rejected: counter("rejected", "Commands for which no connection was free in time"),
            limited: counter("limited", "Commands beyond a limit of their user or application"),
            unknown: counter(
                "unknown_commands",
                "Commands that are not known, sent to the primary",
            ),
            protocol: counter("protocol_errors", "Clients that did not speak the protocol"),
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

    /// A command was answered.
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

    /// Errors by code.
    pub(crate) fn errors(&self) -> Vec<(i32, u64)> {
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.iter().map(|(code, count)| (*code, *count)).collect()
    }

    /// Time added lately.
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

    /// All of it in Prometheus' text form.
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

/// What connections of a pool are for, in a word.
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

/// What is true now.
fn gauges(now: &Snapshot) -> Registry {
    let mut registry = Registry::with_prefix("docward_guard");
    for (name, help, value) in [
        ("clients", "Clients that are connected", now.clients),
        ("cursors_open", "Cursors that clients have open", now.cursors),
        ("transactions_open", "Transactions that clients have open", now.transactions),
        ("memory_bytes", "Bytes of messages in memory", now.memory.0),
        ("memory_limit_bytes", "Bytes of messages that may be in memory", now.memory.1),
        ("primary_known", "Whether a server takes writes", usize::from(now.has_primary)),
        ("draining", "Whether the guard is ending", usize::from(now.is_draining)),
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
        ("pool_open", "Connections to servers"),
        ("pool_in_use", "Connections to servers that carry a command"),
        ("pool_waiting", "Commands that wait for a connection"),
        ("pool_connecting", "Connections that are being opened"),
        ("pool_max", "Connections at most"),
    ];
    for ((name, help), family) in names.into_iter().zip(&of_pools) {
        registry.register(name, help, family.clone());
    }
    registry.register("pool_opened", "Connections opened since the start", opened.clone());
    for (at, (server, pool)) in now.pools.iter().enumerate() {
        let label = OfPool {
            server: server.to_string(),
            user: if at < MOST_POOLS { pool.user.to_string() } else { "others".to_owned() },
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
    registry.register("server_connections", "Connections to a server", budgets[0].clone());
    let text = "Connections to a server at most, whoever they are for";
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
    async fn times_of_the_last_seconds_are_told() {
        let metrics = Metrics::new();
        assert_eq!(metrics.lately(), Quantiles::default());
        let ms = Duration::from_millis;
        for _ in 0..99 {
            metrics.answered(Class::Read, ms(3), ms(2));
        }
        metrics.answered(Class::Write, ms(80), ms(30));
        metrics.answered(Class::Local, ms(80), ms(0));
        let told = metrics.lately();
        assert_eq!(told.count, 100);
        assert!((990..=1010).contains(&told.p50), "{told:?}");
        assert!((990..=50_500).contains(&told.p99), "{told:?}");
        tokio::time::advance(WINDOW).await;
        assert_eq!(metrics.lately().count, 100);
        tokio::time::advance(2 * WINDOW).await;
        assert_eq!(metrics.lately().count, 0);
        assert_eq!(metrics.requests_of(), 101);
    }
}
