//! Growth from a single snapshot: the relation of a measure to the age of its document (ALG-6).

use docward_model::Growth;

/// The minimum number of documents for a growth estimate.
const MIN_ROWS: usize = 30;
/// The maximum number of documents whose pairs give the slope.
const SLOPE_ROWS: usize = 240;
const DAY_MS: f64 = 86_400_000.0;

/// Returns whether a document can have been created at this time: from 1970 to the year 9999.
/// Sentinel values for "never" and "nothing" (`Long.MIN_VALUE`) are not ages.
fn is_day(created_ms: i64) -> bool {
    const LAST: i64 = 253_402_300_799_999;
    (0..=LAST).contains(&created_ms)
}

/// The growth of a measure over documents given as (created ms, measure).
pub(crate) fn growth(rows: &[(i64, f64)]) -> Option<Growth> {
    let rows: Vec<(i64, f64)> = rows.iter().copied().filter(|row| is_day(row.0)).collect();
    if rows.len() < MIN_ROWS {
        return None;
    }
    let newest = rows.iter().map(|r| r.0).max()?;
    let oldest = rows.iter().map(|r| r.0).min()?;
    let days = (newest - oldest) as f64 / DAY_MS;
    if days <= 0.0 {
        return None;
    }
    let ages: Vec<f64> = rows.iter().map(|r| (newest - r.0) as f64 / DAY_MS).collect();
    let measures: Vec<f64> = rows.iter().map(|r| r.1).collect();
    let correlation = spearman(&ages, &measures)?;
    Some(Growth {
        correlation,
        rows: rows.len() as u64,
        per_day: slope(&ages, &measures),
        days,
        newest_ms: newest,
    })
}

/// The maximum number of documents kept for a chart.
const DRAWN_ROWS: usize = 120;

/// Documents as (age in days, measure), youngest first: evenly selected, always including the
/// largest.
pub(crate) fn by_age(mut rows: Vec<(i64, f64)>, newest_ms: i64) -> Vec<(f64, u64)> {
    rows.retain(|row| is_day(row.0));
    rows.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.total_cmp(&b.1)));
    let Some(largest) = (0..rows.len()).max_by(|&a, &b| rows[a].1.total_cmp(&rows[b].1)) else {
        return Vec::new();
    };
    let step = rows.len().div_ceil(DRAWN_ROWS).max(1);
    let drawn = (0..rows.len()).filter(|at| at % step == 0 || *at == largest);
    // A tenth of a day is finer than the resolution of a chart.
    let age = |created: i64| ((newest_ms - created) as f64 / DAY_MS * 10.0).round() / 10.0;
    drawn.map(|at| (age(rows[at].0), rows[at].1 as u64)).collect()
}

/// Spearman's rank correlation; `None` when one side is constant.
pub(crate) fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (ranks(a), ranks(b));
    let n = a.len() as f64;
    let mean = (n + 1.0) / 2.0;
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(&b) {
        ab += (x - mean) * (y - mean);
        aa += (x - mean) * (x - mean);
        bb += (y - mean) * (y - mean);
    }
    (aa > 0.0 && bb > 0.0).then(|| ab / (aa * bb).sqrt())
}

/// Ranks from 1, ties share their mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let mut to = from + 1;
        while to < order.len() && values[order[to]] == values[order[from]] {
            to += 1;
        }
        let rank = (from + to + 1) as f64 / 2.0;
        order[from..to].iter().for_each(|&i| ranks[i] = rank);
        from = to;
    }
    ranks
}

/// Theil–Sen estimator: the median slope over pairs, which is robust against a few outliers.
fn slope(x: &[f64], y: &[f64]) -> f64 {
    let step = x.len().div_ceil(SLOPE_ROWS).max(1);
    let points: Vec<(f64, f64)> = x.iter().copied().zip(y.iter().copied()).step_by(step).collect();
    let mut slopes = Vec::with_capacity(points.len() * points.len() / 2);
    for (i, a) in points.iter().enumerate() {
        for b in &points[i + 1..] {
            if a.0 != b.0 {
                slopes.push((b.1 - a.1) / (b.0 - a.0));
            }
        }
    }
    if slopes.is_empty() {
        return 0.0;
    }
    let middle = slopes.len() / 2;
    *slopes.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alg_6_growth_with_age_is_found_and_noise_is_not() {
        let day = DAY_MS as i64;
        let growing: Vec<_> = (0..200).map(|i| (i * day, 3.0 * (200 - i) as f64)).collect();
        let found = growth(&growing).unwrap();
        assert!(found.correlation > 0.99);
        assert!((found.per_day - 3.0).abs() < 1e-9);
        let noise: Vec<_> = (0..200).map(|i| (i * day, ((i * 7919) % 101) as f64)).collect();
        assert!(growth(&noise).unwrap().correlation.abs() < 0.3);
        assert_eq!(growth(&growing[..10]), None);
    }

    #[test]
    fn a_picture_keeps_the_largest_document() {
        let mut rows: Vec<(i64, f64)> = (0..1000).map(|n| (n * 86_400_000, 10.0)).collect();
        rows[501].1 = 5000.0;
        let drawn = by_age(rows, 999 * 86_400_000);
        assert!(drawn.len() <= DRAWN_ROWS + 1);
        assert!(drawn.contains(&(498.0, 5000)));
        assert!(drawn.windows(2).all(|pair| pair[0].0 <= pair[1].0), "youngest first");
    }

    #[test]
    fn dates_that_no_document_has_are_no_age() {
        let mut rows: Vec<(i64, f64)> =
            (0..100).map(|n| (n * 86_400_000, 100.0 - n as f64)).collect();
        let plain = growth(&rows).expect("growth");
        rows.extend([(i64::MIN, 1.0), (i64::MAX, 2.0), (-1, 3.0)]);
        let found = growth(&rows).expect("growth");
        assert_eq!((found.days, found.rows), (plain.days, plain.rows));
        assert_eq!(by_age(rows, found.newest_ms).len(), 100);
        assert!(growth(&[(i64::MIN, 1.0); 40]).is_none());
    }

    #[test]
    fn ties_share_ranks() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[2.0, 2.0, 2.0]), None);
    }
}
