//! Limits with headroom: the next round number above the values found, so that future documents
//! fit.

/// At least twice the number, as 1, 2 or 5 followed by zeros.
pub(super) fn twice(n: u64) -> u64 {
    round_up(2.0 * n as f64) as u64
}

/// At least ten times the number, as 1, 2 or 5 followed by zeros.
pub(super) fn tenfold(n: f64) -> f64 {
    round_up(10.0 * n)
}

fn round_up(n: f64) -> f64 {
    if n <= 1.0 {
        return 1.0;
    }
    let mut step = 1.0;
    loop {
        for digit in [1.0, 2.0, 5.0] {
            if digit * step >= n {
                return digit * step;
            }
        }
        step *= 10.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_round_and_never_too_small() {
        for (n, expected) in [(0, 1), (1, 2), (3, 10), (7, 20), (17, 50), (26, 100), (500, 1000)] {
            assert_eq!(twice(n), expected, "{n}");
        }
        for (n, expected) in [(0.05, 1.0), (9.2, 100.0), (92.0, 1000.0), (150.0, 2000.0)] {
            assert_eq!(tenfold(n), expected, "{n}");
        }
    }
}
