//! Sampled documents in the order of a key: groups of equal values, chunks, and where the newest
//! documents fall.

use std::collections::BTreeMap;

use docward_model::{BsonType, SampledDocument, SampledValue};

use super::age::Age;

/// Chunks per shard in the simulation.
pub(super) const CHUNKS: usize = 8;
/// Documents whose age is known below which the newest tenth is too few to see a hot end.
const LEAST_AGED: usize = 300;

/// A field's part in the order of chunks: type, value, its rest, then the hash to tell values apart
/// that begin alike.
pub(super) type Part = (u8, i64, u64, u64);

/// A sampled document: its value of the key, and its age when something tells.
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
            // The server cuts numbers to 64-bit integers before it hashes them.
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

/// The sample was drawn by the hash of `_id`: mixed again, so that it spreads as the server's does.
fn mixed(hash: u64) -> u64 {
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The double that sorts by this number, and the number a double sorts by: each undoes the other.
fn double(order: i64) -> f64 {
    f64::from_bits((order ^ (((order >> 63) as u64) >> 1) as i64) as u64)
}

fn order(n: f64) -> i64 {
    let bits = n.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// Whether so many different values begin alike that the order of this part is not known: a fifth of
/// the documents, in groups too large to be told apart by chunks.
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

/// How often each value comes, of sorted places.
pub(super) fn groups(places: &[Placed]) -> Vec<usize> {
    places.chunk_by(|a, b| a.place == b.place).map(<[_]>::len).collect()
}

/// Cuts sorted places into about so many chunks, never between equal values: the place each begins
/// with and its size.
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

/// The share of data on the fullest shard when chunks are dealt out, largest first, to the emptiest.
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

/// Where the newest documents go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newest {
    /// The share of them in the chunk that gets most of them.
    pub(super) share: f64,
    /// The share of the older documents in that chunk.
    pub(super) older: f64,
}

impl Newest {
    /// A hot end: a chunk gets a large part of the new documents, and far more than it has of the
    /// old ones. A chunk that is large because one value is frequent is another matter (SK-2).
    pub(super) fn is_hot(&self) -> bool {
        self.share >= 0.3 && self.share >= 2.0 * self.older
    }
}

/// Cuts chunks on the older nine tenths and asks how much of the newest tenth falls into one of them.
pub(super) fn newest(places: &[Placed], count: usize) -> Option<Newest> {
    let mut ages: Vec<Age> = places.iter().filter_map(|p| p.age).collect();
    if ages.len() < LEAST_AGED {
        return None;
    }
    ages.sort_unstable();
    let cut = ages[ages.len() * 9 / 10];
    let aged = places.iter().filter(|p| p.age.is_some());
    let (new, old): (Vec<&Placed>, Vec<&Placed>) = aged.partition(|p| p.age >= Some(cut));
    // Many of the same age: the newest cannot be told from the rest.
    if new.len() * 3 > ages.len() {
        return None;
    }
    let bounds = chunks(&old, count);
    let mut hits: BTreeMap<usize, usize> = BTreeMap::new();
    for placed in &new {
        // What lies before the first bound belongs to the first chunk.
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
