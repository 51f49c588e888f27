//! Positions of array elements in field paths.

/// The maximum number of digits of a position: longer numbers are names, such as years, days, ids.
const POSITION_DIGITS: usize = 3;

/// Converts `items.3.price` and `items.$[x].price` to `items.$.price`: positions are values, not
/// names. A number at the beginning is a name, and so are the parts of a reference (`author.$id`).
pub(crate) fn fold_positions(path: &str) -> String {
    let is_number = |part: &str| {
        (1..=POSITION_DIGITS).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    let is_position = |part: &str| is_number(part) || part == "$" || part.starts_with("$[");
    let mut parts = path.split('.');
    let mut folded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        folded.push('.');
        folded.push_str(if is_position(part) { "$" } else { part });
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ck_12_positions_are_told_from_names() {
        for (path, expected) in [
            ("items.3.sku", "items.$.sku"),
            ("items.$[x].sku", "items.$.sku"),
            ("author.$id", "author.$id"),
            ("2024", "2024"),
            ("7.n", "7.n"),
            ("stats.2024", "stats.2024"),
            ("", ""),
        ] {
            assert_eq!(fold_positions(path), expected, "{path}");
        }
    }
}
