//! Sampled documents in key order: groups of equal values, chunks, and the chunks of the newest
//! documents.

use std::collections::BTreeMap;

use docward_model::{BsonType, SampledDocument, SampledValue};

use super::age::Age;

/// The number of chunks per shard in the simulation.
pub(super) const CHUNKS: usize = 8;
/// With fewer documents of known age, the newest tenth is too small to show a hot end.
const LEAST_AGED: usize = 300;

/// A field's part in the order of chunks: type, value, the rest of the value, then the hash to
/// distinguish values with the same beginning.
pub(super) type Part = (u8, i64, u64, u64);

/// A sampled document: its key value, and its age if known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Placed {
    pub(super) place: Vec<Part>,
    pub(super) age: Option<Age>,
}

/// A field's part of a key in one document.
pub(super) fn part(document: &SampledDocument, field: Option<u32>, hashed: bool) -> Part {
    let value: Option<&SampledValue> = document.values.iter().find(|v| Some(v.field) == field);
    match value {
        None => (0, 0, 0, 0),
        Some(v) if hashed => {
            // The server truncates numbers to 64-bit integers before it hashes them.
            let hash = match v.kind {
                BsonType::Int | BsonType::Long => v.order as u64,
                BsonType::Double => double(v.order) as i64 as u64,
                _ => v.hash,
            };
            (1, mixed(hash) as i64, 0, hash)
        }
        Some(v) => match v.kind {
            // Numbers compare with each other whatever their type.
            BsonType::Int | BsonType::Long => {
                (2, order(v.order as f64), (v.order as u64) ^ (1 << 63), v.hash)
            }
            BsonType::Double => (2, v.order, (double(v.order) as i64 as u64) ^ (1 << 63), v.hash),
            BsonType::Decimal => (2, v.order, v.rest, v.hash),
            kind => (3 + kind as u8, v.order, v.rest, v.hash),
        },
    }
}

/// The sample was drawn by the hash of `_id`, so the hash is mixed again to spread like the
/// server's.
fn mixed(hash: u64) -> u64 {
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The double for a sort key, the inverse of the conversion to a sort key.
fn double(order: i64) -> f64 {
    f64::from_bits((order ^ (((order >> 63) as u64) >> 1) as i64) as u64)
}

fn order(n: f64) -> i64 {
    let bits = n.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// Returns whether too many distinct values have the same beginning, so that the order of this part
/// is unknown: more than a fifth of the documents, in groups of more than 1 % each.
pub(super) fn is_blurred(places: &[Placed], at: usize) -> bool {
    let mut parts: Vec<Part> = places.iter().map(|p| p.place[at]).collect();
    parts.sort_unstable();
    let alike = |a: &Part, b: &Part| (a.0, a.1, a.2) == (b.0, b.1, b.2);
    let blurred: usize = parts
        .chunk_by(alike)
        .filter(|group| group.len() * 100 > parts.len() && group[0].3 != group[group.len() - 1].3)
        .map(<[_]>::len)
        .sum();
    5 * blurred > parts.len()
}

/// The number of occurrences of each value, in sorted places.
pub(super) fn groups(places: &[Placed]) -> Vec<usize> {
    places.chunk_by(|a, b| a.place == b.place).map(<[_]>::len).collect()
}

/// Splits sorted places into about this many chunks, never between equal values; returns the start
/// and the size of each.
fn chunks<'p>(places: &[&'p Placed], count: usize) -> Vec<(&'p [Part], usize)> {
    let wanted = places.len().div_ceil(count).max(1);
    let mut out: Vec<(&[Part], usize)> = Vec::new();
    for group in places.chunk_by(|a, b| a.place == b.place) {
        match out.last_mut() {
            Some((_, size)) if *size < wanted => *size += group.len(),
            _ => out.push((&group[0].place, group.len())),
        }
    }
    out
}

/// The share of data on the fullest shard if chunks are assigned, largest first, to the emptiest
/// shard.
pub(super) fn fullest_shard(places: &[Placed], shards: u32) -> f64 {
    let all: Vec<&Placed> = places.iter().collect();
    let mut sizes: Vec<usize> =
        chunks(&all, CHUNKS * shards as usize).into_iter().map(|c| c.1).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut load = vec![0usize; shards as usize];
    for size in sizes {
        if let Some(least) = load.iter_mut().min() {
            *least += size;
        }
    }
    load.into_iter().max().unwrap_or(0) as f64 / places.len().max(1) as f64
}

/// The distribution of the newest documents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newest {
    /// Their share in the chunk that receives most of them.
    pub(super) share: f64,
    /// The share of the older documents in that chunk.
    pub(super) older: f64,
}

impl Newest {
    /// Returns whether there is a hot end: a chunk that receives a large part of the new documents,
    /// and far more than its part of the old ones. A chunk that is large because of a frequent
    /// value is a separate matter (SK-2).
    pub(super) fn is_hot(&self) -> bool {
        self.share >= 0.3 && self.share >= 2.0 * self.older
    }
}

/// Splits the older nine tenths into chunks and computes the largest part of the newest tenth in
/// one of them.
pub(super) fn newest(places: &[Placed], count: usize) -> Option<Newest> {
    let mut ages: Vec<Age> = places.iter().filter_map(|p| p.age).collect();
    if ages.len() < LEAST_AGED {
        return None;
    }
    ages.sort_unstable();
    let cut = ages[ages.len() * 9 / 10];
    let aged = places.iter().filter(|p| p.age.is_some());
    let (new, old): (Vec<&Placed>, Vec<&Placed>) = aged.partition(|p| p.age >= Some(cut));
    // Many have the same age, so the newest cannot be identified.
    if new.len() * 3 > ages.len() {
        return None;
    }
    let bounds = chunks(&old, count);
    let mut hits: BTreeMap<usize, usize> = BTreeMap::new();
    for placed in &new {
        // Values before the first bound belong to the first chunk.
        let at = bounds.partition_point(|(begin, _)| *begin <= placed.place.as_slice());
        *hits.entry(at.max(1) - 1).or_default() += 1;
    }
    let (&at, &most) = hits.iter().max_by_key(|(_, n)| **n)?;
    Some(Newest {
        share: most as f64 / new.len().max(1) as f64,
        older: bounds.get(at).map_or(0, |b| b.1) as f64 / old.len().max(1) as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_and_their_order_undo_each_other() {
        for n in [0.0, 1.5, -1.5, 1e300, -1e-300] {
            assert_eq!(double(order(n)), n);
        }
        assert!(order(-2.0) < order(-1.0) && order(-1.0) < order(0.5) && order(0.5) < order(7.0));
    }
}
