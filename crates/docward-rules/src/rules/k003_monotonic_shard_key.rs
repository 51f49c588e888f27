//! SK-3, SK-5, SK-6, AP-S2.7: a ranged shard key must not begin with a value that increases with time.

use docward_model::{Collection, Draft, Field, Profile, ShardKey, Subject};

use crate::facts::thresholds::k003::{CORRELATION, RISING};
use crate::facts::{
    indexes::{key_change::KeyChange, sharding},
    values::{ids, monotonic},
};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Monotonic shard key
    ///
    /// ## What it checks
    /// Reports shard keys whose first field is ranged and increases with every insert: an `_id` that is an
    /// ObjectId or a counter, the creation time, or any field whose values follow the order of the documents.
    /// Docward checks the keys of a running cluster and those declared in `docward.toml`.
    ///
    /// Docward does not report hashed fields, or keys that begin with another field.
    ///
    /// ## Why it matters
    /// Every new document goes to the last chunk. One shard takes all inserts and all chunk splits, and the
    /// balancer has to move the chunks away. Adding shards does not help.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_order,shard-key=db_shop.t_order:{"_id":1}
    /// x60 {"_id": ObjectId("$oid")}
    /// ```
    /// A hashed key:
    /// ```jsonl,clean,ns=db_shop.t_order,shard-key=db_shop.t_order:{"_id":"hashed"}
    /// x60 {"_id": ObjectId("$oid")}
    /// ```
    ///
    /// ## How to fix
    /// Hash the field. Or begin the key with a field that queries filter by, and put the increasing field second.
    /// Do not use random ids instead: an increasing `_id` is good for its index, and a hash distributes it
    /// evenly.
    ///
    /// ## When to ignore it
    /// The collection is rarely written and is read by time ranges.
    K003, "monotonic-shard-key",
    level: Mandatory,
    area: Speed,
    clauses: ["SK-3", "SK-5", "SK-6", "SK-13", "AP-S2.7", "SK-12"],
    maturity: Stable,
    scope: Everywhere,
    needs: [ShardKeys, Documents],
    thresholds: [CORRELATION, RISING],
    data: ["key", "reason"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    let Some(key) = sharding::key_of(cx.evidence(), cx.settings(), &collection.namespace) else {
        return;
    };
    // K001 reports that the server rejects such a key.
    if sharding::array_field(profile, &key.fields).is_some() {
        return;
    }
    let Some((path, false)) = key.fields.first().map(|(path, hashed)| (path, *hashed)) else {
        return;
    };
    let Some(field) = profile.field(path) else { return };
    let pairs = ids::Limits::of(cx.settings(), &collection.namespace).order_pairs;
    let by_order =
        || monotonic::by_order(profile, field, cx.limit(&CORRELATION), (cx.limit(&RISING), pairs));
    let Some(reason) = monotonic::by_type(field).map(str::to_owned).or_else(by_order) else {
        return;
    };
    let max_share = sharding::max_share(cx.settings(), &collection.namespace);
    let change = KeyChange::of(collection, cx.evidence(), cx.settings());
    cx.report(draft(collection, profile, key, field, &reason, (&change, max_share)));
}

fn draft(
    collection: &Collection,
    profile: &Profile,
    key: &ShardKey,
    field: &Field,
    reason: &str,
    (change, max_share): (&KeyChange<'_>, f64),
) -> Draft {
    let path = field.path.as_str();
    let hashed = vec![(path.to_owned(), true)];
    let used: Vec<&str> = key.fields.iter().map(|(p, _)| p.as_str()).collect();
    let needed = (profile.documents / 20).clamp(20, 1000);
    let compound = sharding::fine_field(profile, needed, &used, max_share)
        .map(|first| vec![(first.path.as_str().to_owned(), false), (path.to_owned(), false)]);
    let is_id = path == "_id";
    let choices = match &compound {
        Some(compound) => format!(
            "use {} (queries by `{}` use one shard), or {} (even distribution, but range queries use all shards)",
            sharding::key_text(compound),
            compound[0].0,
            sharding::key_text(&hashed)
        ),
        None => {
            format!(
                "use {} (even distribution, but range queries use all shards)",
                sharding::key_text(&hashed)
            )
        }
    };
    let way = change.plan_for(compound.as_ref().unwrap_or(&hashed));
    let keep =
        if is_id { "; keep the increasing `_id` itself, which is good for its index" } else { "" };
    let is_date = monotonic::is_dated(field);
    let draft = Draft::new(
        Subject::Collection(collection.namespace.clone()),
        format!(
            "{} {} begins with `{path}`, which always increases: {reason}",
            change.key_name(),
            sharding::key_text(&key.fields)
        ),
        "every new document goes to the last chunk, so one shard gets all inserts",
        format!("{choices}; {}{keep}", way.how),
        profile.seen(),
    )
    .data("key", sharding::key_text(&key.fields))
    .data("reason", reason)
    .clauses(match (is_id, is_date) {
        (true, _) => &["SK-3", "SK-5", "SK-13", "AP-S2.7"],
        (_, true) => &["SK-3", "SK-6", "AP-S2.7"],
        _ => &["SK-3", "AP-S2.7"],
    });
    way.fix(draft)
}

#[cfg(test)]
mod tests {
    use crate::testing::check_with;
    use docward_model::Severity;

    fn run(key: &str, body: &str) -> Vec<docward_model::Finding> {
        check_with("K003", &format!("shard-key=db_shop.t_order_item:{key}"), body)
    }

    const ORDERS: &str =
        "x100 {\"_id\": ObjectId(\"$oid\"), \"createdAt\": ISODate(\"2024-03-15T10:30:00Z\")}";

    #[test]
    fn sk_3_ranged_id_fails_hashed_and_compound_pass() {
        let found = run("{\"_id\":1}", ORDERS);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(run("{\"_id\":\"hashed\"}", ORDERS).is_empty());
        let mut body = String::new();
        for i in 0..200 {
            body.push_str(&format!(
                "{{\"customerId\": {}, \"createdAt\": ISODate(\"2024-03-15T10:30:00Z\")}}\n",
                (i * 37) % 101
            ));
        }
        assert!(run("{\"customerId\":1,\"createdAt\":1}", &body).is_empty());
    }

    #[test]
    fn sk_5_the_default_id_is_reported() {
        assert!(run("{\"_id\":1}", ORDERS)[0].cites("SK-5"));
    }

    #[test]
    fn sk_6_the_time_of_creation_is_reported() {
        let found = run("{\"createdAt\":1}", ORDERS);
        assert_eq!(found.len(), 1);
        assert!(found[0].cites("SK-6"));
    }

    #[test]
    fn sk_13_a_rising_id_with_a_hashed_key_passes_both_rules() {
        let settings = "shard-key=db_shop.t_order_item:{\"_id\":\"hashed\"}";
        assert!(check_with("K003", settings, ORDERS).is_empty());
        assert!(check_with("T007", settings, ORDERS).is_empty());
    }

    #[test]
    fn ap_s2_7_the_way_out_is_hashed() {
        assert!(run("{\"_id\":1}", ORDERS)[0].todo.contains("{ _id: \"hashed\" }"));
    }

    #[test]
    fn a_rising_number_is_seen_in_the_data_and_a_reference_is_not_rising() {
        assert_eq!(run("{\"number\":1}", "x300 {\"number\": $i}").len(), 1);
        let mut body = String::new();
        for i in 0..300 {
            body.push_str(&format!(
                "{{\"customerId\": ObjectId(\"65f3a2b8c1d2e3f4a5b6c{:03x}\")}}\n",
                (i * 611) % 997
            ));
        }
        assert!(run("{\"customerId\":1}", &body).is_empty());
    }

    #[test]
    fn sk_3_sequences_in_text_rise() {
        let mut body = String::new();
        let mut words = String::new();
        for i in 0..300 {
            body.push_str(&format!("{{\"_id\": \"O-{i:06}\", \"orderNo\": \"ORD-{i:06}\"}}\n"));
            let (a, b) = (b'a' + (i / 26) as u8, b'a' + (i % 26) as u8);
            words.push_str(&format!(
                "{{\"_id\": \"{0}{1}\", \"orderNo\": \"{0}{1}\"}}\n",
                a as char, b as char
            ));
        }
        assert_eq!(run("{\"orderNo\":1}", &body).len(), 1);
        assert_eq!(run("{\"_id\":1}", &body).len(), 1);
        assert!(run("{\"orderNo\":1}", &words).is_empty());
        assert!(run("{\"_id\":1}", &words).is_empty());
    }

    #[test]
    fn sk_3_the_remedy_does_not_rise() {
        let body = |other: &dyn Fn(u32) -> u32| -> String {
            let oid = |n: u32| format!("ObjectId(\"{:08x}{:016x}\")", 1_700_000_000 + n, n);
            (0..300u32)
                .map(|i| {
                    let at = i * 611 % 997;
                    format!("{{\"_id\": {}, \"otherId\": {}}}\n", oid(at), oid(other(at)))
                })
                .collect()
        };
        // Created with the document, in a file that is not in their order.
        let own = run("{\"_id\":1}", &body(&|at| at));
        assert!(!own[0].todo.contains("otherId"), "{}", own[0].todo);
        // References to existing documents.
        let reference = run("{\"_id\":1}", &body(&|at| at % 29));
        assert!(reference[0].todo.contains("{ otherId: 1, _id: 1 }"), "{}", reference[0].todo);
    }

    #[test]
    fn sk_6_the_time_of_creation_may_be_text_in_any_order() {
        let body: String = (0..100)
            .map(|i| format!("{{\"createdAt\": \"2024-03-{:02}T10:30:00Z\"}}\n", 1 + i * 11 % 28))
            .collect();
        assert!(run("{\"createdAt\":1}", &body)[0].cites("SK-6"));
    }

    #[test]
    fn words_loaded_in_alphabetical_order_do_not_rise() {
        let mut body = String::new();
        for state in 'a'..='z' {
            body.push_str(&format!("x20 {{\"state\": \"{state}\"}}\n"));
        }
        assert!(run("{\"state\":1}", &body).is_empty());
    }
}
