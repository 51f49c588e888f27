//! Limits for the commands of users and applications. Each user, application or pair of them that a limit covers has
//! its own token bucket.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use docward_model::NamespacePattern;
use tokio::time::Instant;

/// A limit, and the users and applications that it covers.
#[derive(Clone, Debug)]
pub struct RateLimit {
    /// The users, as `database.user`; all by default.
    pub user: Option<NamespacePattern>,
    /// The applications, as `appName` in the connection string; all by default.
    pub application: Option<NamespacePattern>,
    /// The maximum number of commands per second.
    pub operations: Option<u32>,
    /// The maximum size of the commands per second, in bytes.
    pub bytes: Option<u64>,
    /// The maximum number of concurrent commands.
    pub concurrent: Option<u32>,
}

impl RateLimit {
    fn covers(&self, user: &str, application: &str) -> bool {
        let holds = |pattern: &Option<NamespacePattern>, text: &str| {
            pattern.as_ref().is_none_or(|pattern| pattern.matches(text))
        };
        holds(&self.user, user) && holds(&self.application, application)
    }
}

/// A token bucket that holds at most the tokens of one second.
#[derive(Debug)]
struct Bucket {
    per_second: f64,
    level: f64,
    filled: Instant,
}

impl Bucket {
    fn new(per_second: f64) -> Self {
        Self { per_second, level: per_second, filled: Instant::now() }
    }

    fn fill(&mut self) {
        let now = Instant::now();
        let gained = self.per_second * now.duration_since(self.filled).as_secs_f64();
        self.level = (self.level + gained).min(self.per_second);
        self.filled = now;
    }

    fn is_full(&mut self) -> bool {
        self.fill();
        self.level >= self.per_second
    }

    /// Takes an amount if the bucket is not empty. The level may become negative, so that a large message is allowed
    /// and delays later commands.
    fn take(&mut self, amount: f64) -> bool {
        self.fill();
        if self.level <= 0.0 {
            return false;
        }
        self.level -= amount;
        true
    }
}

#[derive(Debug)]
struct Share {
    limit: RateLimit,
    operations: Option<Bucket>,
    bytes: Option<Bucket>,
    running: u32,
}

/// The state of a limit, which all clients with the same user or application share.
type Shared = Arc<Mutex<Share>>;

/// All limits, and their current use.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// Increases when the limits change, so that clients look up theirs again.
    version: AtomicU64,
    state: Mutex<State>,
    refused: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Debug, Default)]
struct State {
    limits: Vec<RateLimit>,
    shares: HashMap<(usize, Arc<str>, Arc<str>), Shared>,
}

/// The maximum number of refused logins per second for one address.
const MAX_REFUSED: f64 = 3.0;

/// Unused entries of a table are removed when it has more entries than this.
const MANY: usize = 10_000;

/// The limits that apply to one client.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientLimits {
    version: Option<u64>,
    shares: Vec<Shared>,
}

/// A running command, which counts towards its limits until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Running(Vec<Shared>);

impl Rates {
    /// Replaces all limits.
    pub(crate) fn set(&self, limits: Vec<RateLimit>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.limits = limits;
        state.shares.clear();
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Looks up the limits of a client, unless `own` is up to date.
    pub(crate) fn own(&self, own: &mut ClientLimits, user: &Arc<str>, application: &Arc<str>) {
        let version = self.version.load(Ordering::Acquire);
        if own.version == Some(version) {
            return;
        }
        own.version = Some(version);
        own.shares.clear();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { limits, shares, .. } = &mut *state;
        if shares.len() > MANY {
            shares.retain(|_, share| Arc::strong_count(share) > 1);
        }
        for (at, limit) in limits.iter().enumerate() {
            if !limit.covers(user, application) {
                continue;
            }
            // All applications of a user share a limit on users. A client must not get more by changing its `appName`.
            let of = |is_named: bool, name: &Arc<str>| {
                if is_named { Arc::clone(name) } else { "".into() }
            };
            let key = (
                at,
                of(limit.user.is_some() || limit.application.is_none(), user),
                of(limit.application.is_some(), application),
            );
            let new = || {
                Arc::new(Mutex::new(Share {
                    limit: limit.clone(),
                    operations: limit.operations.map(|most| Bucket::new(f64::from(most))),
                    bytes: limit.bytes.map(|most| Bucket::new(most as f64)),
                    running: 0,
                }))
            };
            own.shares.push(Arc::clone(shares.entry(key).or_insert_with(new)));
        }
    }

    /// Whether a client at this address may try to log in. It has to wait after [`MAX_REFUSED`] refused logins in one
    /// second.
    pub(crate) fn may_log_in(&self, address: IpAddr) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        match refused.get_mut(&address) {
            Some(bucket) => bucket.take(0.0),
            None => true,
        }
    }

    /// Counts a refused login of an address.
    pub(crate) fn was_refused(&self, address: IpAddr) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() > MANY {
            refused.retain(|_, bucket| !bucket.is_full());
        }
        let bucket = refused.entry(address).or_insert_with(|| Bucket::new(MAX_REFUSED));
        // Logins that began before the limit was reached must not lock the address out for long.
        bucket.level = (bucket.level - 1.0).max(-MAX_REFUSED);
    }
}

impl ClientLimits {
    /// Makes the next command look up the limits again, because the user or application changed.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Counts a command of `bytes` bytes, or returns a description of the limit that it would exceed.
    pub(crate) fn admit(&self, bytes: usize) -> Result<Running, String> {
        let mut running = Running::default();
        for shared in &self.shares {
            let mut share = shared.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(most) = share.limit.concurrent
                && share.running >= most
            {
                return Err(format!("{most} concurrent commands"));
            }
            if let Some(bucket) = &mut share.operations
                && !bucket.take(1.0)
            {
                return Err(format!("{} commands per second", bucket.per_second));
            }
            if let Some(bucket) = &mut share.bytes
                && !bucket.take(bytes as f64)
            {
                return Err(format!("{} bytes per second", bucket.per_second));
            }
            share.running += 1;
            running.0.push(Arc::clone(shared));
        }
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for shared in &self.0 {
            shared.lock().unwrap_or_else(PoisonError::into_inner).running -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::advance;

    fn limit(operations: Option<u32>, bytes: Option<u64>, concurrent: Option<u32>) -> RateLimit {
        let user = Some(NamespacePattern::new("admin.batch*").unwrap());
        RateLimit { user, application: None, operations, bytes, concurrent }
    }

    fn own(rates: &Rates, user: &str, application: &str) -> ClientLimits {
        let mut own = ClientLimits::default();
        rates.own(&mut own, &user.into(), &application.into());
        own
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_allows_its_rate_per_second() {
        let rates = Rates::default();
        rates.set(vec![limit(Some(3), None, None)]);
        let batch = own(&rates, "admin.batch1", "etl");
        let allowed = |own: &ClientLimits| (0..10).filter(|_| own.admit(1).is_ok()).count();
        assert_eq!(allowed(&batch), 3);
        assert_eq!(
            allowed(&own(&rates, "admin.batch1", "etl")),
            0,
            "clients of a user share the limit"
        );
        assert_eq!(
            allowed(&own(&rates, "admin.batch1", "web")),
            0,
            "applications of a user share the limit"
        );
        assert_eq!(allowed(&own(&rates, "admin.batch2", "web")), 3, "another user");
        assert_eq!(allowed(&own(&rates, "admin.web", "etl")), 10, "not covered");
        advance(Duration::from_millis(700)).await;
        assert_eq!(allowed(&batch), 3, "the last of 2.1 tokens allows a third command");
        advance(Duration::from_secs(1)).await;
        assert_eq!(allowed(&batch), 3);
        advance(Duration::from_millis(250)).await;
        assert_eq!(allowed(&batch), 0, "the level is negative");
        advance(Duration::from_secs(60)).await;
        assert_eq!(allowed(&batch), 3, "the bucket holds the tokens of one second");
        let error = batch.admit(1).unwrap_err();
        assert_eq!(error, "3 commands per second");
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_message_delays_later_ones() {
        let rates = Rates::default();
        rates.set(vec![limit(None, Some(1000), None)]);
        let batch = own(&rates, "admin.batch", "");
        batch.admit(2500).unwrap();
        assert!(batch.admit(10).is_err());
        advance(Duration::from_secs(1)).await;
        assert!(batch.admit(10).is_err());
        advance(Duration::from_secs(1)).await;
        batch.admit(10).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_waits_after_refused_logins() {
        let rates = Rates::default();
        let (bad, good) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        for _ in 0..3 {
            assert!(rates.may_log_in(bad));
            rates.was_refused(bad);
        }
        assert!(!rates.may_log_in(bad) && rates.may_log_in(good));
        (0..100).for_each(|_| rates.was_refused(bad));
        advance(Duration::from_millis(900)).await;
        assert!(!rates.may_log_in(bad));
        advance(Duration::from_millis(400)).await;
        assert!(rates.may_log_in(bad));
    }

    #[tokio::test(start_paused = true)]
    async fn a_finished_command_does_not_count_and_new_limits_apply_at_once() {
        let rates = Rates::default();
        rates.set(vec![limit(None, None, Some(2))]);
        let mut batch = own(&rates, "admin.batch", "");
        let first = batch.admit(1).unwrap();
        let _second = batch.admit(1).unwrap();
        assert_eq!(batch.admit(1).unwrap_err(), "2 concurrent commands");
        drop(first);
        let _third = batch.admit(1).unwrap();
        rates.set(Vec::new());
        rates.own(&mut batch, &"admin.batch".into(), &"".into());
        for _ in 0..9 {
            std::mem::forget(batch.admit(1).unwrap());
        }
    }
}
