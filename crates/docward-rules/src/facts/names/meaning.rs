//! The meaning of names: money, time, status, id. Word lists are short on purpose. They contain no words that often
//! have another meaning (`value`, `rate`, `number`).

pub use docward_model::words::singular;

use crate::facts::names::words;

const MONEY: &[&str] = &[
    "amount", "price", "balance", "fee", "fees", "cost", "costs", "revenue", "refund", "discount",
    "payment", "salary", "wage", "subtotal", "msrp", "tax", "deposit", "payout", "income",
    "budget", "fare", "rent", "cash", "money", "cny", "usd", "eur",
    // The words in Spanish, Portuguese, Italian, French, German, Indonesian and Turkish.
    "precio", "monto", "importe", "saldo", "sueldo", "salario", "preco", "prezzo", "importo",
    "prix", "montant", "salaire", "preis", "betrag", "harga", "gaji", "fiyat", "tutar",
];
/// Words for money in reports: receipts, debts, expenses. In the singular.
const REPORTED: &[&str] = &[
    "receipt",
    "debt",
    "contribution",
    "disbursement",
    "expenditure",
    "expense",
    "loan",
    "donation",
    "earning",
];
/// Words that change the meaning of a money word (`priceCount`, `taxRate`, `costCenter`).
const NOT_MONEY: &[&str] = &[
    "count",
    "rate",
    "ratio",
    "percent",
    "percentage",
    "pct",
    "id",
    "code",
    "type",
    "status",
    "name",
    "date",
    "time",
    "at",
    "level",
    "index",
    "rank",
    "score",
    "range",
    "currency",
    "center",
    "method",
    "mode",
    "flag",
    "class",
    "category",
    "quantity",
    "qty",
    "weight",
    "points",
    "year",
];
/// Words for the state of an amount (`amountPaid`, `totalDue`).
const SETTLED: &[&str] =
    &["paid", "due", "owed", "owing", "payable", "received", "refunded", "charged", "outstanding"];
const STATUS: &[&str] = &["status", "state", "stage", "phase"];
const STATUS_SOFT: &[&str] = &["type", "kind", "flag", "level", "mode", "category"];
const AUXILIARY: &[&str] = &[
    "log",
    "logs",
    "cache",
    "caches",
    "session",
    "sessions",
    "tmp",
    "temp",
    "test",
    "tests",
    "lock",
    "locks",
    "migration",
    "migrations",
    "counter",
    "counters",
    "backup",
    "bak",
    "job",
    "jobs",
    "queue",
    "error",
    "errors",
    "changelog",
    "metric",
    "metrics",
    "audit",
    "trace",
    "event",
    "events",
];

fn last_two(name: &str) -> (Option<String>, String) {
    let mut all = words(name);
    let last = all.pop().unwrap_or_default();
    (all.pop(), last)
}

/// Whether the name denotes money. `total` alone counts; `totalItems` does not.
pub fn is_money(name: &str) -> bool {
    let mut all = words(name);
    // `price1` and `price2` are prices.
    if let Some(last) = all.last_mut() {
        last.truncate(last.trim_end_matches(|c: char| c.is_ascii_digit()).len());
    }
    all.retain(|w| !w.is_empty());
    // `costPerUnit`: the noun comes before, the measure after.
    if let Some(per) = all.iter().position(|w| w == "per")
        && all.get(per + 1).is_some_and(|w| w != "cent")
    {
        all.truncate(per);
    }
    // `debtsOwedBy`, `cashOnHand`: the noun comes before these words, the owner or the place after them.
    let whose = ["owed", "on", "by", "from", "to"];
    if let Some(at) = all.iter().position(|w| whose.contains(&w.as_str()))
        && at > 0
        && !all[at..].iter().any(|w| NOT_MONEY.contains(&w.as_str()))
    {
        all.truncate(at);
    }
    let Some(last) = all.last() else { return false };
    if NOT_MONEY.contains(&last.as_str()) {
        return false;
    }
    let money =
        |w: &String| MONEY.contains(&w.as_str()) || REPORTED.contains(&singular(w).as_str());
    // The head noun is the last word; a money word before a neutral tail (`priceEur`, `totalUsd`)
    // also counts.
    money(last)
        || (all.len() == 1 && last == "total")
        || (all.len() >= 2
            && last == "total"
            && all.iter().any(|w| {
                w == "grand" || w == "sub" || w == "order" || w == "invoice" || w == "cart"
            }))
        || (all.len() >= 2
            && money(&all[all.len() - 2])
            && matches!(
                last.as_str(),
                "gross"
                    | "net"
                    | "value"
                    | "total"
                    | "min"
                    | "max"
                    | "old"
                    | "new"
                    | "original"
                    | "history"
            ))
        || (all.len() >= 2
            && (money(&all[all.len() - 2]) || all[all.len() - 2] == "total")
            && SETTLED.contains(&last.as_str()))
        || (all.len() == 2 && all[0] == "total" && money(last))
}

/// Whether the name denotes a point in time: `createdAt`, `orderDate`, `createTime`, `timestamp`.
pub fn is_time(name: &str) -> bool {
    let (before, last) = last_two(name);
    match last.as_str() {
        "date" | "datetime" | "timestamp" | "birthday" | "dob" => true,
        "at" | "on" => before.is_some_and(|w| {
            w.ends_with("ed")
                || w.ends_with("en")
                || w.ends_with("wn")
                || matches!(w.as_str(), "enable" | "disable" | "starts" | "ends" | "born")
                || w == "start"
                || w == "end"
                || matches!(w.as_str(), "expires" | "expire" | "expiry")
                || w == "login"
                || w == "seen"
                || matches!(
                    w.as_str(),
                    "paid"
                        | "sent"
                        | "sold"
                        | "made"
                        | "done"
                        | "bought"
                        | "left"
                        | "begun"
                        | "read"
                )
        }),
        "time" => before.is_some_and(|w| {
            !matches!(
                w.as_str(),
                "run"
                    | "play"
                    | "response"
                    | "elapsed"
                    | "total"
                    | "prep"
                    | "cook"
                    | "wait"
                    | "delivery"
                    | "travel"
                    | "lead"
                    | "down"
                    | "up"
                    | "processing"
                    | "avg"
                    | "average"
                    | "execution"
                    | "zone"
                    | "ramp"
                    | "screen"
            )
        }),
        "created" | "updated" | "modified" | "deleted" | "expires" | "released" => before.is_none(),
        _ => false,
    }
}

/// Whether the name denotes the creation time of the document.
pub fn is_creation_time(name: &str) -> bool {
    let all = words(name);
    all.iter().any(|w| {
        matches!(
            w.as_str(),
            "create" | "created" | "creation" | "registered" | "inserted" | "joined" | "opened"
        )
    }) && (all.len() == 1 || is_time(name))
}

/// Whether the name denotes one of a few states: unambiguous words only.
pub fn is_status(name: &str) -> bool {
    STATUS.contains(&last_two(name).1.as_str())
}

/// Whether the name may denote a state: `type`, `flag`, `level`, …
pub fn is_soft_status(name: &str) -> bool {
    STATUS_SOFT.contains(&last_two(name).1.as_str())
}

/// Whether the name denotes an identifier: `_id`, `id`, `userId`, `order_id`, `orderNo`, `sku`,
/// `uuid`.
pub fn is_id(name: &str) -> bool {
    let (before, last) = last_two(name);
    matches!(last.as_str(), "id" | "uid" | "uuid" | "guid" | "oid")
        || (matches!(last.as_str(), "no" | "num" | "number")
            && before.as_deref().is_some_and(|w| {
                matches!(
                    w,
                    "order"
                        | "invoice"
                        | "serial"
                        | "account"
                        | "customer"
                        | "user"
                        | "item"
                        | "product"
                        | "transaction"
                        | "trade"
                        | "bill"
                        | "ticket"
                )
            }))
}

/// Digits that are not a number: codes, phones, postal codes, versions. Never a numeric id.
pub fn is_code(name: &str) -> bool {
    words(name).iter().any(|w| {
        matches!(
            w.as_str(),
            "zip"
                | "zipcode"
                | "postal"
                | "postcode"
                | "plz"
                | "phone"
                | "mobile"
                | "tel"
                | "telephone"
                | "fax"
                | "code"
                | "isbn"
                | "ean"
                | "upc"
                | "gtin"
                | "ssn"
                | "iban"
                | "bic"
                | "imei"
                | "sku"
                | "version"
                | "pin"
                | "card"
                | "passport"
                | "licence"
                | "license"
                | "plate"
                | "barcode"
                | "hash"
                | "token"
        )
    })
}

/// Whether a collection is auxiliary by its name: logs, caches, sessions, migrations.
pub fn is_auxiliary_name(collection: &str) -> bool {
    words(collection).iter().any(|w| AUXILIARY.contains(&w.as_str()))
}

/// Whether a collection contains settings, by its name: `t_settings`, `app_config`.
pub fn is_settings_name(collection: &str) -> bool {
    words(collection).last().is_some_and(|w| {
        matches!(
            singular(w).as_str(),
            "setting" | "config" | "configuration" | "preference" | "parameter"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_the_head_noun() {
        for name in [
            "amount",
            "price",
            "totalAmount",
            "total",
            "unit_price",
            "orderTotal",
            "balance",
            "priceNet",
            "total_revenue",
            "amountPaid",
            "amount_paid",
            "totalDue",
            "balanceDue",
            "cost_per_unit",
            "priceHistory",
            "price1",
        ] {
            assert!(is_money(name), "{name}");
        }
        for name in [
            "priceCount",
            "totalItems",
            "taxRate",
            "costCenter",
            "value",
            "quantity",
            "paymentMethod",
            "totalPages",
            "rating",
            "taxPerCent",
            "isPaid",
            "itemsPerOrder",
            "orderHistory",
            "line1",
        ] {
            assert!(!is_money(name), "{name}");
        }
    }

    #[test]
    fn time_is_a_point_not_a_duration() {
        for name in [
            "createTime",
            "createdAt",
            "order_date",
            "timestamp",
            "date",
            "updated_on",
            "create_time",
            "loginTime",
        ] {
            assert!(is_time(name), "{name}");
        }
        for name in [
            "runtime",
            "playTime",
            "responseTime",
            "time",
            "format",
            "flat",
            "candidate",
            "cooking",
        ] {
            assert!(!is_time(name), "{name}");
        }
    }

    #[test]
    fn ids_and_codes_are_told_apart() {
        for name in ["_id", "userId", "order_id", "orderNo", "accountNumber"] {
            assert!(is_id(name), "{name}");
        }
        for name in ["paid", "valid", "grid", "phoneNumber", "zip"] {
            assert!(!is_id(name), "{name}");
        }
        for name in ["zip", "zipCode", "phone_number", "postalCode", "isbn"] {
            assert!(is_code(name), "{name}");
        }
    }

    #[test]
    fn singulars() {
        for (many, one) in [
            ("posts", "post"),
            ("categories", "category"),
            ("addresses", "address"),
            ("boxes", "box"),
            ("status", "status"),
            ("readings", "reading"),
        ] {
            assert_eq!(singular(many), one);
        }
    }
}
