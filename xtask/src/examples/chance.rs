//! Generates everything random or time-dependent in the examples: a small random generator,
//! creation times, and ObjectIds that contain them. All of it derives from labels, so every run
//! gives the same bytes. Only integer and exactly rounded arithmetic is used, so every machine
//! gives the same bytes.

use bson::{Bson, DateTime, Decimal128, oid::ObjectId};

const SECOND: i64 = 1000;
pub(crate) const MINUTE: i64 = 60 * SECOND;
pub(crate) const HOUR: i64 = 60 * MINUTE;
pub(crate) const DAY: i64 = 24 * HOUR;
/// 2023-01-02: the shop opens.
pub(crate) const OPENING: i64 = 1_672_617_600 * SECOND;
/// 2024-06-28: the dump is taken.
pub(crate) const TODAY: i64 = 1_719_532_800 * SECOND;

/// SplitMix64: small, well mixed, and portable.
pub(crate) struct Rng(u64);

impl Rng {
    /// Creates a separate generator for a label, so that a change in one collection does not affect
    /// others.
    pub(crate) fn new(label: &str) -> Self {
        Self(fnv(label))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// A number from `low` to `high`, inclusive.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1).max(1) as u64) as i64
    }

    /// Returns a number from `low` to `high` as an `int`.
    pub(crate) fn int(&mut self, low: i32, high: i32) -> i32 {
        self.between(i64::from(low), i64::from(high)) as i32
    }

    /// Returns true with a probability of `percent`.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Returns a copy of a random element.
    pub(crate) fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A UUID of version 4 as text.
    pub(crate) fn uuid(&mut self) -> String {
        let (a, b) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            0x8000 | (b >> 48) & 0x3fff,
            b & 0xffff_ffff_ffff
        )
    }
}

/// FNV-1a.
pub(crate) fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Generates ObjectIds like a single driver process: time, a constant, a counter.
pub(crate) struct Ids {
    process: [u8; 5],
    counter: u32,
}

impl Ids {
    pub(crate) fn new(label: &str) -> Self {
        let mixed = Rng::new(label).next().to_be_bytes();
        let [a, b, c, d, e, ..] = mixed;
        Self { process: [a, b, c, d, e], counter: u32::from(mixed[6]) << 8 | u32::from(mixed[7]) }
    }

    /// The id of a document created at `ms`.
    pub(crate) fn at(&mut self, ms: i64) -> ObjectId {
        self.counter = (self.counter + 1) & 0xff_ffff;
        let [_, counter @ ..] = self.counter.to_be_bytes();
        ObjectId::from_parts((ms / SECOND) as u32, self.process, counter)
    }
}

/// `n` creation times between opening and today, oldest first, about evenly distributed.
pub(crate) fn births(rng: &mut Rng, n: usize) -> Vec<i64> {
    births_until(rng, n, TODAY - 2 * DAY)
}

/// Returns creation times up to `until`.
pub(crate) fn births_until(rng: &mut Rng, n: usize, until: i64) -> Vec<i64> {
    let step = (until - OPENING) / n.max(1) as i64;
    (0..n as i64).map(|i| OPENING + i * step + rng.between(0, step - 1) / SECOND * SECOND).collect()
}

/// The relative age, from 0 (today) to 1 (opening day).
pub(crate) fn age(born: i64) -> f64 {
    (TODAY - born) as f64 / (TODAY - OPENING) as f64
}

/// `x` to the power of `n`. Multiplication is exactly rounded everywhere; library functions may not
/// be.
pub(crate) fn power(x: f64, n: u32) -> f64 {
    (0..n).fold(1.0, |product, _| product * x)
}

/// `n` times in the life of a document, oldest first.
pub(crate) fn moments(rng: &mut Rng, born: i64, n: usize) -> Vec<i64> {
    let step = (TODAY - born) / (n as i64 + 1);
    (1..=n as i64).map(|i| (born + i * step - rng.between(0, step / 2)) / SECOND * SECOND).collect()
}

pub(crate) fn date(ms: i64) -> Bson {
    Bson::DateTime(DateTime::from_millis(ms))
}

/// Parses a date, for figures from the rule book.
pub(crate) fn day(text: &str) -> i64 {
    DateTime::parse_rfc3339_str(text)
        .expect("a date in the source of the examples")
        .timestamp_millis()
}

/// An amount as Decimal128 with two decimals.
pub(crate) fn money(cents: i64) -> Bson {
    Bson::Decimal128(
        format!("{}.{:02}", cents / 100, cents % 100)
            .parse::<Decimal128>()
            .expect("digits and a point are a decimal"),
    )
}

/// An amount as a double, as in careless programs.
pub(crate) fn double_money(cents: i64) -> f64 {
    cents as f64 / 100.0
}

/// `2024-03-15 10:30:00`.
pub(crate) fn timestamp_text(ms: i64) -> String {
    let text = DateTime::from_millis(ms / SECOND * SECOND)
        .try_to_rfc3339_string()
        .expect("dates of the examples are ordinary");
    text.trim_end_matches('Z').replace('T', " ")
}
