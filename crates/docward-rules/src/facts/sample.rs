//! What a sample leaves open.

/// The share of documents that something stays below, with 95 % confidence, when none of so many shows it: 3 in n
/// (rule of three).
pub fn unseen_share(documents: u64) -> f64 {
    3.0 / documents.max(3) as f64
}

/// The same as people read it.
pub fn unseen_below(documents: u64) -> String {
    format!("{} %", small(100.0 * unseen_share(documents)))
}

/// A number with two digits that say something: `1`, `0.03`, `0.015`.
fn small(number: f64) -> String {
    if number >= 1.0 {
        return format!("{number:.0}");
    }
    let digits = (1.0 - number.log10().floor()) as usize;
    format!("{number:.digits$}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_have_digits_that_say_something() {
        assert_eq!([1.0, 0.03, 0.015, 0.3].map(small), ["1", "0.03", "0.015", "0.3"]);
        assert_eq!(unseen_below(20_000), "0.015 %");
        assert_eq!(unseen_below(0), "100 %");
    }
}
