//! Simulates how unevenly a load balancer that hashes source addresses distributes clients over
//! routers (CM-2.1, CM-2.4).
//!
//! The balancer's own hash function is unknown but does not matter: a good one assigns an address
//! to a pseudo-random router, and always to the same one. Many simulated runs show what to expect,
//! with the same random numbers every time.

/// If the fullest router exceeds this multiple of the mean, it is an alarm.
pub const ALARM: f64 = 1.5;
/// The maximum number of runs, used if there are few addresses.
const MAX_RUNS: u64 = 2_000;
/// More addresses and routers than these do not change the result visibly.
const MAX_CLIENTS: u32 = 200_000;
const MAX_ROUTERS: u32 = 10_000;
/// The maximum number of hashes computed.
const WORK: u64 = 4_000_000;

/// The result of the simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Skew {
    /// The number of client addresses.
    pub clients: u32,
    /// The number of routers behind the balancer.
    pub routers: u32,
    /// The number of runs.
    pub runs: u64,
    /// The fullest router as a multiple of the mean: the median over the runs.
    pub median: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The number of routers without clients: the median.
    pub idle_median: u32,
    /// The minimum over all runs.
    pub idle_least: u32,
    /// The share of runs above the alarm.
    pub alarm_share: f64,
    /// Runs by the fullest router's multiple of the mean: `(from, below, runs)`.
    pub histogram: Vec<(f64, f64, u64)>,
}

impl Skew {
    /// Returns whether the median run is above the alarm.
    pub fn alarms(&self) -> bool {
        self.median > ALARM
    }
}

/// The router that an address is assigned to: the same one as long as the number of routers does
/// not change.
pub fn route(address: u64, seed: u64, routers: u32) -> u32 {
    let hash = mix(mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ address);
    u32::try_from(hash % u64::from(routers.max(1))).unwrap_or(0)
}

/// The finalizer of SplitMix64: every bit of the input changes about half of the output's bits.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Runs the simulation. `None` without clients or routers.
pub fn simulate(clients: u32, routers: u32) -> Option<Skew> {
    if clients == 0 || routers == 0 {
        return None;
    }
    let (n, m) = (clients.min(MAX_CLIENTS), routers.min(MAX_ROUTERS));
    let runs = (WORK / (u64::from(n) + u64::from(m))).clamp(20, MAX_RUNS);
    let mut ratios = Vec::new();
    let mut idle = Vec::new();
    let mut load = vec![0_u32; m as usize];
    for seed in 0..runs {
        load.fill(0);
        for address in 0..n {
            load[route(u64::from(address), seed, m) as usize] += 1;
        }
        let most = load.iter().copied().max().unwrap_or(0);
        ratios.push(f64::from(most) * f64::from(m) / f64::from(n));
        idle.push(load.iter().filter(|count| **count == 0).count() as u32);
    }
    ratios.sort_by(f64::total_cmp);
    idle.sort_unstable();
    let alarms = ratios.iter().filter(|ratio| **ratio > ALARM).count();
    Some(Skew {
        clients,
        routers,
        runs,
        median: at(&ratios, 0.5),
        p95: at(&ratios, 0.95),
        idle_median: at(&idle, 0.5),
        idle_least: idle.first().copied().unwrap_or(0),
        alarm_share: alarms as f64 / ratios.len() as f64,
        histogram: histogram(&ratios),
    })
}

fn at<T: Copy + Default>(sorted: &[T], share: f64) -> T {
    let index = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(index).copied().unwrap_or_default()
}

/// At most eight buckets, with a width of a quarter, a half, one or more.
fn histogram(sorted: &[f64]) -> Vec<(f64, f64, u64)> {
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let mut width = 0.25;
    while ((last / width).floor() - (first / width).floor()) >= 8.0 {
        width *= 2.0;
    }
    let start = (first / width).floor();
    let steps = ((last / width).floor() - start) as usize + 1;
    let mut counts = vec![0_u64; steps];
    for ratio in sorted {
        counts[((ratio / width).floor() - start) as usize] += 1;
    }
    counts
        .into_iter()
        .enumerate()
        .map(|(step, count)| {
            let from = (start + step as f64) * width;
            (from, from + width, count)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

    use super::*;

    #[test]
    fn cm_2_1_an_address_stays_on_its_router() {
        for address in 0..1000 {
            assert_eq!(route(address, 7, 16), route(address, 7, 16));
            assert!(route(address, 7, 16) < 16);
        }
        let used: std::collections::BTreeSet<u32> = (0..1000).map(|a| route(a, 7, 16)).collect();
        assert_eq!(used.len(), 16, "many addresses reach every router");
    }

    #[test]
    fn cm_2_4_three_addresses_leave_five_of_eight_routers_idle() {
        let skew = simulate(3, 8).unwrap();
        assert!(skew.idle_least >= 5, "{skew:?}");
        assert!(skew.median >= 8.0 / 3.0 && skew.alarms());
        assert!((skew.alarm_share - 1.0).abs() < f64::EPSILON);
        assert_eq!(skew.histogram.iter().map(|(_, _, n)| n).sum::<u64>(), skew.runs);
    }

    #[test]
    fn many_addresses_even_out() {
        let few = simulate(8, 8).unwrap();
        let many = simulate(4000, 8).unwrap();
        assert!(few.alarms() && !many.alarms(), "{few:?} {many:?}");
        assert!(many.median < 1.2 && many.idle_median == 0);
        assert_eq!(simulate(4000, 8), simulate(4000, 8), "the same in every run");
    }

    #[test]
    fn extremes_end() {
        assert_eq!(simulate(0, 8), None);
        assert_eq!(simulate(8, 0), None);
        assert!(simulate(u32::MAX, u32::MAX).is_some());
        assert!(!simulate(1, 1).unwrap().alarms());
    }
}
