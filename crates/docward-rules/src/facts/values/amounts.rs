//! Determines which fields hold money, and which sibling holds the same amount in another form.

use docward_model::{Field, Profile};

use crate::facts::names::meaning;
use crate::facts::names::{normalised, words};
use crate::facts::values::classes::siblings;

/// Words before a money word that change its meaning: `whiteBalance`, `queryCost`.
const OTHER_SENSE: &[&str] =
    &["white", "life", "color", "query", "cpu", "compute", "path", "move", "mana", "load"];

/// Names of an amount inside an object whose name describes the amount: `price.value`.
const AMOUNT_IN_OBJECT: &[&str] =
    &["value", "amount", "gross", "net", "min", "max", "usd", "eur", "cny", "gbp"];

/// Name suffixes that mark a field as the same amount in another form.
const TWIN_TAILS: &[&str] = &[
    "decimal", "dec", "exact", "text", "string", "str", "cents", "cent", "minor", "micros",
    "millis", "scaled", "units", "approx", "double", "float", "num", "number", "value", "raw",
];

/// Words that denote money and hardly anything else.
const STRONG: &[&str] = &[
    "price", "amount", "balance", "total", "subtotal", "payment", "salary", "wage", "revenue",
    "refund", "payout", "deposit", "cash", "money", "msrp", "income",
];

/// Words for objects whose numbers are factors between currencies: `rates.USD`.
const EXCHANGE: &[&str] = &["rate", "exchange", "forex", "fx", "conversion", "factor"];

/// Whether the name, or that of the enclosing object, clearly denotes money.
pub fn is_strong(profile: &Profile, field: &Field) -> bool {
    let says =
        |name: &str| words(name).iter().any(|w| STRONG.contains(&meaning::singular(w).as_str()));
    says(field.path.leaf())
        || (AMOUNT_IN_OBJECT.contains(&normalised(field.path.leaf()).as_str())
            && profile.parent(field).is_some_and(|parent| says(parent.path.leaf())))
}

/// Whether the field is one currency in a table of exchange rates.
fn is_exchange_rate(profile: &Profile, field: &Field) -> bool {
    let leaf = field.path.leaf();
    let is_code = leaf.len() == 3 && leaf.bytes().all(|b| b.is_ascii_alphabetic());
    is_code
        && profile.parent(field).is_some_and(|parent| {
            words(parent.path.leaf())
                .iter()
                .any(|w| EXCHANGE.contains(&meaning::singular(w).as_str()))
        })
}

/// Whether a unit next to an amount shows a quantity: `{amount: 1.5, unit: "grams"}`. A price also
/// has a unit.
fn is_quantity(profile: &Profile, field: &Field) -> bool {
    let last = words(field.path.leaf()).pop().unwrap_or_default();
    let is_code = |unit: &str| unit.len() == 3 && unit.bytes().all(|b| b.is_ascii_uppercase());
    matches!(meaning::singular(&last).as_str(), "amount" | "total" | "value")
        && siblings(profile, field).iter().any(|other| {
            let units = other.enumeration.as_deref().unwrap_or_default();
            matches!(
                normalised(&other.name).as_str(),
                "unit" | "units" | "uom" | "measure" | "unitname" | "unitofmeasure"
            ) && other.text.is_some()
                && !(units.iter().any(|(unit, _)| is_code(unit))
                    && units.iter().all(|(unit, _)| is_code(unit)))
        })
}

/// Whether a field contains money by its name; for `price.value`, the name of the parent counts.
pub fn is_money_field(profile: &Profile, field: &Field) -> bool {
    let leaf = field.path.leaf();
    if is_exchange_rate(profile, field) || is_quantity(profile, field) {
        return false;
    }
    if sounds_like_money(leaf) {
        return true;
    }
    AMOUNT_IN_OBJECT.contains(&normalised(leaf).as_str())
        && profile.parent(field).is_some_and(|parent| sounds_like_money(parent.path.leaf()))
}

/// Whether a name is similar to the name of an amount of money.
pub fn sounds_like_money(name: &str) -> bool {
    let all = words(name);
    let Some((last, before)) = all.split_last() else { return false };
    if before.iter().any(|w| OTHER_SENSE.contains(&w.as_str())) {
        return false;
    }
    // `prices` of an array denotes money like `price`.
    let mut one: Vec<String> = before.to_vec();
    one.push(meaning::singular(last));
    meaning::is_money(name) || meaning::is_money(&one.join("_"))
}

/// Whether the name alone may mean something other than money: `total` of points, `tax` in percent.
pub fn is_vague(name: &str) -> bool {
    normalised(name) == "total"
}

/// Whether fields of this name often contain a share rather than an amount.
pub fn may_be_a_rate(name: &str) -> bool {
    matches!(words(name).last().map(String::as_str), Some("discount" | "tax" | "fee" | "refund"))
}

/// Siblings that hold the same amount in another form: `price` and `priceDecimal`, `priceCents`.
pub fn twins<'a>(profile: &'a Profile, field: &'a Field) -> Vec<&'a Field> {
    let stem = stem(field.path.leaf());
    siblings(profile, field).into_iter().filter(|f| stem == self::stem(&f.name)).collect()
}

fn stem(name: &str) -> String {
    let mut all = words(name);
    while all.len() > 1 && all.last().is_some_and(|w| TWIN_TAILS.contains(&w.as_str())) {
        all.pop();
    }
    if all.len() > 1 && all.last().is_some_and(|w| w == "in") {
        all.pop();
    }
    all.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_money_word_with_another_sense_is_no_money() {
        for name in [
            "price",
            "prices",
            "unitPrice",
            "amounts",
            "shippingFees",
            "accountBalance",
            "Total_Receipts",
            "Debts_Owed_By",
            "Cash_on_Hand",
            "Individual_Contributions",
        ] {
            assert!(sounds_like_money(name), "{name}");
        }
        for name in
            ["whiteBalance", "queryCost", "manaCost", "taxRate", "tags", "value", "", "loanOnDate"]
        {
            assert!(!sounds_like_money(name), "{name}");
        }
    }

    #[test]
    fn twins_share_a_stem() {
        for (a, b) in [
            ("price", "priceDecimal"),
            ("price", "price_cents"),
            ("amountApprox", "amount"),
            ("amount", "amountInCents"),
        ] {
            assert_eq!(stem(a), stem(b), "{a} {b}");
        }
        for (a, b) in [("price", "priceTotal"), ("amount", "amountPaid"), ("value", "number")] {
            assert_ne!(stem(a), stem(b), "{a} {b}");
        }
    }
}
