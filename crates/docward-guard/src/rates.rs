//! How much each user and application may ask for. Each user, application or pair of them that a limit names has a
//! bucket of its own.

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

/// A limit, and whom it covers.
#[derive(Clone, Debug)]
pub struct RateLimit {
    /// Users, as `database.user`; all unless given.
    pub user: Option<NamespacePattern>,
    /// Applications, as `appName` of a connection string; all unless given.
    pub application: Option<NamespacePattern>,
    /// Commands in a second.
    pub operations: Option<u32>,
    /// Bytes of commands in a second.
    pub bytes: Option<u64>,
    /// Commands at the same time.
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

/// A bucket that fills by itself, up to what one second brings.
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

    /// Takes an amount if the bucket is not empty. The level may become negative: later commands wait until a large
    /// message is paid for.
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

/// What a pair of user and application shares.
type Shared = Arc<Mutex<Share>>;

/// The limits, and what is left of them.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// Which set of limits it is.
    version: AtomicU64,
    state: Mutex<State>,
    refused: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Debug, Default)]
struct State {
    limits: Vec<RateLimit>,
    shares: HashMap<(usize, Arc<str>, Arc<str>), Shared>,
}

/// Refused logins of one address in a second.
const MOST_REFUSED: f64 = 3.0;

/// More pairs than this are looked through for those that nobody uses any more.
const MANY: usize = 10_000;

/// The limits of one client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    version: Option<u64>,
    shares: Vec<Shared>,
}

/// A command that runs within its limits.
#[derive(Debug, Default)]
pub(crate) struct Running(Vec<Shared>);

impl Rates {
    /// Takes other limits.
    pub(crate) fn set(&self, limits: Vec<RateLimit>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.limits = limits;
        state.shares.clear();
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The limits of a client, found once.
    pub(crate) fn own(&self, own: &mut Own, user: &Arc<str>, application: &Arc<str>) {
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
            // By what the limit names: a user is not many users by calling itself many applications.
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

    /// Whether somebody at this address may try to log in: [`MOST_REFUSED`] refusals in a second, not more.
    pub(crate) fn may_log_in(&self, address: IpAddr) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        match refused.get_mut(&address) {
            Some(bucket) => bucket.take(0.0),
            None => true,
        }
    }

    /// Somebody at this address was refused.
    pub(crate) fn was_refused(&self, address: IpAddr) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() > MANY {
            refused.retain(|_, bucket| !bucket.is_full());
        }
        refused.entry(address).or_insert_with(|| Bucket::new(MOST_REFUSED)).level -= 1.0;
    }
}

impl Own {
    /// Somebody else logged in, or said another name.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Lets a command of that many bytes run, or says which limit forbids it.
    pub(crate) fn admit(&self, bytes: usize) -> Result<Running, String> {
        let mut running = Running::default();
        for shared in &self.shares {
            let mut share = shared.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(most) = share.limit.concurrent
                && share.running >= most
            {
                return Err(format!("{most} commands at the same time"));
            }
            if let Some(bucket) = &mut share.operations
                && !bucket.take(1.0)
            {
                return Err(format!("{} commands in a second", bucket.per_second));
            }
            if let Some(bucket) = &mut share.bytes
                && !bucket.take(bytes as f64)
            {
                return Err(format!("{} bytes in a second", bucket.per_second));
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

    fn own(rates: &Rates, user: &str, application: &str) -> Own {
        let mut own = Own::default();
        rates.own(&mut own, &user.into(), &application.into());
        own
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_brings_as_much_as_the_limit_says() {
        let rates = Rates::default();
        rates.set(vec![limit(Some(3), None, None)]);
        let batch = own(&rates, "admin.batch1", "etl");
        let allowed = |own: &Own| (0..10).filter(|_| own.admit(1).is_ok()).count();
        assert_eq!(allowed(&batch), 3);
        assert_eq!(allowed(&own(&rates, "admin.batch1", "etl")), 0, "shared by its clients");
        assert_eq!(allowed(&own(&rates, "admin.batch1", "web")), 0, "and by its applications");
        assert_eq!(allowed(&own(&rates, "admin.batch2", "web")), 3, "another user");
        assert_eq!(allowed(&own(&rates, "admin.web", "etl")), 10, "not covered");
        advance(Duration::from_millis(700)).await;
        assert_eq!(allowed(&batch), 3, "2.1 are there, and the third is paid for later");
        advance(Duration::from_secs(1)).await;
        assert_eq!(allowed(&batch), 3);
        advance(Duration::from_millis(250)).await;
        assert_eq!(allowed(&batch), 0, "until the debt is paid");
        advance(Duration::from_secs(60)).await;
        assert_eq!(allowed(&batch), 3, "no more than a second's worth is saved up");
        let error = batch.admit(1).unwrap_err();
        assert_eq!(error, "3 commands in a second");
    }

    #[tokio::test(start_paused = true)]
    async fn large_messages_are_paid_for_by_those_that_follow() {
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
    async fn who_is_refused_too_often_waits() {
        let rates = Rates::default();
        let (bad, good) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        for _ in 0..3 {
            assert!(rates.may_log_in(bad));
            rates.was_refused(bad);
        }
        assert!(!rates.may_log_in(bad) && rates.may_log_in(good));
        advance(Duration::from_millis(400)).await;
        assert!(rates.may_log_in(bad));
    }

    #[tokio::test(start_paused = true)]
    async fn what_ended_makes_room_and_new_limits_hold_at_once() {
        let rates = Rates::default();
        rates.set(vec![limit(None, None, Some(2))]);
        let mut batch = own(&rates, "admin.batch", "");
        let first = batch.admit(1).unwrap();
        let _second = batch.admit(1).unwrap();
        assert_eq!(batch.admit(1).unwrap_err(), "2 commands at the same time");
        drop(first);
        let _third = batch.admit(1).unwrap();
        rates.set(Vec::new());
        rates.own(&mut batch, &"admin.batch".into(), &"".into());
        for _ in 0..9 {
            std::mem::forget(batch.admit(1).unwrap());
        }
    }
}
