//! Estimates the sizes of many documents: typical, 99th percentile and maximum. The lengths of
//! fields are independent of each other. The largest of a thousand documents is therefore not one
//! in which every field has its maximum length.

use docward_model::{BsonType, Spread};

use crate::cost::predict::Predictor;
use crate::decide::alternative::StorageAlternative;
use crate::declared::field_plan::{Planned, Rank, document_bytes};
use crate::declared::{quantile, size};

/// The number of equally likely values that represent a field.
const STEPS: u32 = 400;
/// The number of bins for sizes.
const BINS: usize = 1024;
/// Three points that approximate a normal distribution, with their probabilities. They stand for
/// the sum of many small differences.
const AROUND_MEAN: [(f64, f64); 3] =
    [(-1.732_050_8, 1.0 / 6.0), (0.0, 2.0 / 3.0), (1.732_050_8, 1.0 / 6.0)];

/// Sizes with their probabilities, in ascending order.
#[derive(Clone, Debug)]
struct SizeDistribution(Vec<(f64, f64)>);

impl SizeDistribution {
    fn always(size: f64) -> Self {
        Self(vec![(size, 1.0)])
    }

    fn of(mut points: Vec<(f64, f64)>) -> Self {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        Self(points)
    }

    /// Returns the distribution of the sum of two independent sizes.
    fn with(&self, other: &Self) -> Self {
        let ends = |chances: &Self| {
            (chances.0.first().map_or(0.0, |p| p.0), chances.0.last().map_or(0.0, |p| p.0))
        };
        let ((a, b), (c, d)) = (ends(self), ends(other));
        let (least, most) = ((a + c).max(1.0), (b + d).max(2.0));
        if self.0.len() * other.0.len() <= BINS {
            let pairs =
                self.0.iter().flat_map(|(x, p)| other.0.iter().map(move |(y, q)| (x + y, p * q)));
            return Self::of(pairs.collect());
        }
        // Bins are wider for larger sizes. Each bin keeps the mean of its sizes.
        let wide = (most / least).ln().max(1e-9) / BINS as f64;
        let mut bins = vec![(0.0, 0.0); BINS + 1];
        for (x, p) in &self.0 {
            for (y, q) in &other.0 {
                let place = ((x + y).max(1.0) / least).ln() / wide;
                let bin = &mut bins[(place.max(0.0) as usize).min(BINS)];
                bin.0 += (x + y) * p * q;
                bin.1 += p * q;
            }
        }
        Self(bins.into_iter().filter(|bin| bin.1 > 0.0).map(|(sum, p)| (sum / p, p)).collect())
    }

    fn mean(&self) -> f64 {
        self.0.iter().map(|(x, p)| x * p).sum()
    }

    fn variance(&self) -> f64 {
        let mean = self.mean();
        self.0.iter().map(|(x, p)| (x - mean) * (x - mean) * p).sum()
    }

    /// Returns cumulative sums in ascending order, for [`below`].
    fn rising(&self) -> Vec<(f64, f64)> {
        let mut sum = 0.0;
        let each = self.0.iter().map(|(x, p)| {
            sum += p;
            (*x, sum)
        });
        each.collect()
    }
}

/// Returns the probability that a size is at most `size`.
fn below(rising: &[(f64, f64)], size: f64) -> f64 {
    let place = rising.partition_point(|(x, _)| *x <= size);
    if place == 0 { 0.0 } else { rising[place - 1].1.min(1.0) }
}

fn steps(spread: Spread, size: impl Fn(u64) -> f64) -> SizeDistribution {
    let at = |i| quantile::at(spread, (f64::from(i) + 0.5) / f64::from(STEPS), quantile::RAREST);
    let each = (0..STEPS).map(|i| (size(at(i).round() as u64), 1.0 / f64::from(STEPS)));
    SizeDistribution::of(each.collect())
}

fn value(field: &Planned) -> SizeDistribution {
    let lengths = || steps(quantile::lengths(field.bytes), |length| length as f64 + 5.0);
    match field.kind {
        BsonType::String if !field.values.is_empty() => {
            let chance = 1.0 / field.values.len() as f64;
            let each = field.values.iter().map(|value| (value.len() as f64 + 5.0, chance));
            SizeDistribution::of(each.collect())
        }
        BsonType::String | BsonType::BinData => lengths(),
        BsonType::Object => document(&field.fields),
        BsonType::Array => {
            let element = match field.element {
                Some(BsonType::String | BsonType::BinData) => lengths(),
                Some(kind) => {
                    let one = Planned { kind, ..field.clone() };
                    SizeDistribution::always(one.value_bytes(Rank::Typical) as f64)
                }
                None => document(&field.fields),
            };
            let (mean, variance) = (element.mean(), element.variance());
            let items = steps(field.items.unwrap_or(Spread::always(0)), |count| count as f64);
            let mut points = Vec::new();
            for (count, p) in items.0 {
                let size = size::array(count as u64, 0) as f64 + count * mean;
                let spread = (count * variance).sqrt();
                points.extend(AROUND_MEAN.map(|(z, q)| ((size + z * spread).max(5.0), p * q)));
            }
            SizeDistribution::of(points)
        }
        _ => SizeDistribution::always(field.value_bytes(Rank::Typical) as f64),
    }
}

fn document(fields: &[Planned]) -> SizeDistribution {
    fields.iter().fold(SizeDistribution::always(size::DOCUMENT_OVERHEAD as f64), |all, field| {
        let value = value(field);
        let named = size::element(&field.name, 0) as f64;
        all.with(&SizeDistribution(value.0.into_iter().map(|(x, p)| (x + named, p)).collect()))
    })
}

impl Predictor {
    /// Returns the size in bytes of parents with these numbers of children: typical, 99th
    /// percentile, maximum. The maximum is the median of the largest size.
    pub fn parent_sizes(&self, children: &[u64]) -> [f64; 3] {
        let own = document(&self.parent);
        let mean = document_bytes(&self.parent, Rank::Mean) as f64;
        let rising = own.rising();
        // The mean size that each child adds, and its variance.
        let most = if self.preview.is_some() { self.shown() } else { u64::MAX };
        let varies = match (self.way, &self.preview, self.held.as_slice()) {
            (StorageAlternative::Embed, _, _) => document(&self.child).variance(),
            (_, Some(list), _) => document(&list.fields).variance(),
            (_, None, [list]) if list.element.is_none() => document(&list.fields).variance(),
            _ => 0.0,
        };
        let mut groups: Vec<(f64, f64, f64)> = Vec::new();
        let mut sorted = children.to_vec();
        sorted.sort_unstable();
        for group in sorted.chunk_by(|a, b| a == b) {
            let added = self.parent_bytes(group[0], Rank::Mean) as f64 - mean;
            let spread = (group[0].min(most) as f64 * varies).sqrt();
            groups.push((added, spread, group.len() as f64));
        }
        let chance = |(added, spread, _): &(f64, f64, f64), size: f64| -> f64 {
            if *spread == 0.0 {
                return below(&rising, size - added);
            }
            let each = AROUND_MEAN.iter();
            each.map(|(z, p)| p * below(&rising, size - added - z * spread)).sum()
        };
        let all = children.len().max(1) as f64;
        let share =
            |size: f64| groups.iter().map(|group| group.2 * chance(group, size)).sum::<f64>() / all;
        let none_above = |size: f64| {
            groups.iter().map(|group| group.2 * chance(group, size).max(1e-300).ln()).sum::<f64>()
        };
        let last = rising.last().map_or(0.0, |p| p.0);
        let top = groups.iter().map(|(added, spread, _)| last + added + 2.0 * spread);
        let top = top.fold(size::DOCUMENT_OVERHEAD as f64, f64::max);
        let found = |enough: &dyn Fn(f64) -> bool| {
            let (mut low, mut high) = (0.0, top);
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                if enough(middle) { high = middle } else { low = middle }
            }
            high
        };
        // The middle of the measured position among `all` documents.
        let place = |share: f64| (((all - 1.0) * share).round() + 0.5) / all;
        let largest = found(&|size| none_above(size) >= 0.5_f64.ln());
        // With few documents, the 99th percentile is the largest one.
        let p99 = found(&|size| share(size) >= place(0.99)).min(largest);
        [found(&|size| share(size) >= place(0.5)).min(p99), p99, largest]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared::field_plan::Origin;

    fn text(name: &str, typical: u64, p99: u64) -> Planned {
        Planned { bytes: (typical, p99), ..Planned::new(name, BsonType::String, Origin::Own) }
    }

    #[test]
    fn alg_2_sizes_of_fixed_fields_are_exact() {
        let fields = [
            Planned::new("a", BsonType::Long, Origin::Own),
            text("b", 10, 10),
            Planned::list(
                "c",
                Origin::Own,
                vec![Planned::new("d", BsonType::Int, Origin::Own)],
                Spread::always(12),
            ),
        ];
        let chances = document(&fields);
        assert_eq!(chances.0.len(), 1);
        assert!((chances.mean() - document_bytes(&fields, Rank::Typical) as f64).abs() < 1e-6);
    }

    #[test]
    fn fields_are_not_all_long_at_once() {
        let fields: Vec<Planned> = (0..8).map(|i| text(&format!("f{i}"), 100, 1000)).collect();
        let chances = document(&fields);
        let mean = document_bytes(&fields, Rank::Mean) as f64;
        assert!((chances.mean() / mean - 1.0).abs() < 0.01, "{} {mean}", chances.mean());
        let rising = chances.rising();
        let at = |q: f64| rising.iter().find(|(_, sum)| *sum >= q).map_or(0.0, |p| p.0);
        let all_long = document_bytes(&fields, Rank::P99) as f64;
        assert!(at(0.99) < 0.5 * all_long, "{} {all_long}", at(0.99));
        assert!(at(0.9999) > at(0.99) && at(0.9999) < all_long);
        assert!((rising.last().unwrap().1 - 1.0).abs() < 1e-9);
    }
}
