//! SK-1, SK-7: a shard key needs enough distinct values to be split into chunks.

use docward_model::{Collection, Draft, Profile, Severity, ShardKey, Subject};

use crate::facts::indexes::key_change::KeyChange;
use crate::facts::indexes::sharding::{self, Values};
use crate::facts::thresholds::k001::{MIN_REPEATS, MIN_VALUES, PER_SHARD};
use crate::facts::{names::meaning, text};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Low cardinality shard key
    ///
    /// ## What it checks
    /// Reports shard keys with too few different values: fewer than 1000, or fewer than 100 per shard. Docward
    /// checks the keys of a running cluster and those declared in `docward.toml`.
    /// - A compound key is reported only if all its fields together cannot reach this number.
    /// - A hashed key is checked as well, because equal values have equal hashes.
    /// - A key with fewer than 10 documents per value is not reported, because more documents may bring more
    ///   values.
    /// - A key on a field that holds arrays is reported, because the server refuses arrays in shard keys.
    ///
    /// ## Why it matters
    /// All documents with one key value are in one chunk, which can be neither split nor moved once it is large.
    /// With four values there are at most four chunks, whatever the number of shards.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_order,shard-key=db_shop.t_order:{"status":1}
    /// x50 {"status": "new", "userId": $i}
    /// x50 {"status": "paid", "userId": $i}
    /// x50 {"status": "sent", "userId": $i}
    /// ```
    /// A key with enough values:
    /// ```jsonl,clean,min-values=40,ns=db_shop.t_order,shard-key=db_shop.t_order:{"status":1,"userId":1}
    /// x50 {"status": "new", "userId": $i}
    /// x50 {"status": "paid", "userId": $i}
    /// ```
    ///
    /// ## How to fix
    /// Append a field with more values to the key, or choose another key.
    ///
    /// ## When to ignore it
    /// The field separates zones, and each zone is one shard.
    K001, "low-cardinality-shard-key",
    level: Mandatory,
    area: Growth,
    clauses: ["SK-1", "SK-7", "SK-12"],
    maturity: Stable,
    scope: Everywhere,
    needs: [ShardKeys, Documents],
    thresholds: [MIN_VALUES, PER_SHARD, MIN_REPEATS],
    data: ["arrays", "exact", "key", "needed", "values"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    let Some(key) = sharding::key_of(cx.evidence(), cx.settings(), &collection.namespace) else {
        return;
    };
    let change = KeyChange::of(collection, cx.evidence(), cx.settings());
    let max_share = sharding::max_share(cx.settings(), &collection.namespace);
    if let Some((path, arrays)) = sharding::array_field(profile, &key.fields) {
        cx.report(arrays_refused(collection, profile, (key, &change), (path, arrays), max_share));
        return;
    }
    let needed = sharding::needed_values(
        cx.count(&MIN_VALUES),
        cx.count(&PER_SHARD),
        sharding::shards(cx.evidence(), cx.settings()),
    );
    let Some(values) = sharding::values(profile, key) else { return };
    // A small collection has few values of every field: only values that occur repeatedly count.
    let repeats = profile.documents as f64 / values.most.max(1.0);
    if values.most >= needed as f64 || repeats < cx.limit(&MIN_REPEATS) {
        return;
    }
    let jumbo = sharding::jumbo_text(cx.evidence(), &collection.namespace);
    let mut draft = draft(collection, profile, key, (&values, needed), &change, max_share);
    draft.what.push_str(&jumbo);
    cx.report(draft);
}

/// The server accepts no arrays in a shard key, so the granularity of the field does not matter.
fn arrays_refused(
    collection: &Collection,
    profile: &Profile,
    (key, change): (&ShardKey, &KeyChange<'_>),
    (path, arrays): (&str, u64),
    max_share: f64,
) -> Draft {
    let used: Vec<&str> = key.fields.iter().map(|(path, _)| path.as_str()).collect();
    let proposal =
        match sharding::fine_field(profile, (profile.documents / 20).max(1), &used, max_share) {
            Some(field) => vec![(field.path.as_str().to_owned(), false)],
            None => vec![("_id".to_owned(), true)],
        };
    let key_text = sharding::key_text(&key.fields);
    Draft::new(
        Subject::Collection(collection.namespace.clone()),
        format!(
            "{} {key_text} uses `{path}`, which holds {}",
            change.key_name(),
            text::plural(arrays, "array")
        ),
        "MongoDB rejects arrays in a shard key: it cannot shard the collection by this key, and inserts of such documents fail",
        format!(
            "shard by a field that holds one value in every document, such as {}",
            sharding::key_text(&proposal)
        ),
        profile.seen().showing(arrays),
    )
    .data("key", key_text)
    .data("arrays", arrays)
    .severity(Severity::Error)
    .clauses(&["SK-1"])
}

fn draft(
    collection: &Collection,
    profile: &Profile,
    key: &ShardKey,
    (values, needed): (&Values, u64),
    change: &KeyChange<'_>,
    max_share: f64,
) -> Draft {
    let finer = needed.min(profile.documents / 2);
    let proposal = sharding::splitter(profile, finer, key, change.version(), max_share);
    let way = change.plan_for(&proposal);
    let key_text = sharding::key_text(&key.fields);
    let status = key.fields.len() == 1 && meaning::is_status(&key.fields[0].0);
    let draft = Draft::new(
        Subject::Collection(collection.namespace.clone()),
        format!(
            "{} {key_text} has {}{} different value{} ({} needed)",
            change.key_name(),
            if key.fields.len() > 1 { "at most " } else { "" },
            text::about(values.most, values.exact),
            text::form(values.shown(), "", "s"),
            text::count(needed)
        ),
        "all documents with the same key value are in one chunk, which MongoDB cannot split",
        format!(
            "use {}, or begin with a field that queries use; {}",
            sharding::key_text(&proposal),
            way.how
        ),
        profile.seen().estimated(!values.exact),
    )
    .data("key", key_text)
    .data("values", values.shown())
    .data("exact", values.exact)
    .data("needed", needed)
    .clauses(if status { &["SK-1", "SK-7"] } else { &["SK-1"] });
    way.fix(draft)
}

#[cfg(test)]
mod tests {
    use crate::testing::check_with;

    const KEY: &str = "shard-key=db_shop.t_order_item:";

    fn run(key: &str, more: &str, body: &str) -> Vec<docward_model::Finding> {
        check_with("K001", &format!("{KEY}{key}{more}"), body)
    }

    fn statuses(n: u32) -> String {
        (0..n).map(|i| format!("x60 {{\"status\": \"s{i}\", \"userId\": $i}}\n")).collect()
    }

    #[test]
    fn sk_1_three_to_five_values_fail() {
        for n in 3..=5 {
            let found = run("{\"status\":1}", "", &statuses(n));
            assert_eq!(found.len(), 1, "{n}");
            assert!(found[0].cites("SK-7"));
        }
        assert_eq!(
            run("{\"status\":\"hashed\"}", "", &statuses(4)).len(),
            1,
            "hashing does not help"
        );
    }

    #[test]
    fn sk_7_a_status_key_is_named() {
        assert!(run("{\"status\":1}", "", &statuses(3))[0].what.contains("{ status: 1 }"));
    }

    #[test]
    fn a_small_collection_with_values_of_its_own_passes() {
        assert!(run("{\"userId\":1}", "", "x60 {\"userId\": $i}").is_empty());
    }

    #[test]
    fn sk_12_the_way_out_depends_on_the_version() {
        let todo = |version: &str| run("{\"status\":1}", version, &statuses(3))[0].todo.clone();
        assert!(
            todo(",version=4.2").contains("copy the data to a new collection"),
            "{}",
            todo(",version=4.2")
        );
        assert!(todo(",version=6.0").contains("refine"), "{}", todo(",version=6.0"));
    }

    #[test]
    fn sk_12_a_refined_key_gets_its_index_first() {
        let fix = |index: &str| {
            let found = run("{\"status\":1}", ",version=6.0", &format!("{}{index}", statuses(3)));
            found[0].fix.as_ref().expect("a fix").command()
        };
        let refine = "db.adminCommand({refineCollectionShardKey: \"db_shop.t_order_item\", key: { status: 1, _id: \"hashed\" }})";
        let create = "db.getSiblingDB(\"db_shop\").getCollection(\"t_order_item\").createIndex({status: 1, _id: \"hashed\"})";
        assert_eq!(fix(""), format!("{create}; {refine}"));
        assert_eq!(fix("index {\"key\": {\"status\": 1, \"_id\": \"hashed\", \"a\": 1}}"), refine);
        let partial = "index {\"key\": {\"status\": 1, \"_id\": \"hashed\"}, \"partialFilterExpression\": {\"a\": 1}}";
        assert_eq!(fix(partial), format!("{create}; {refine}"), "the key cannot use it");
    }

    #[test]
    fn sk_12_a_planned_key_is_called_so_and_nothing_is_refined() {
        let body = format!("server {{\"set\": \"rs0\"}}\n{}", statuses(3));
        let found = run("{\"status\":1}", ",version=6.0", &body);
        assert!(found[0].what.starts_with("planned key { status: 1 } has"), "{}", found[0].what);
        let command = &found[0].fix.as_ref().expect("a fix").command();
        assert!(command.contains("; sh.shardCollection("), "{command}");
        assert!(!found[0].todo.contains("refine"), "{}", found[0].todo);
    }

    #[test]
    fn sk_10_rising_ids_are_hashed_behind_a_few_values() {
        let todo = |key: &str, more: &str| {
            let body = "x60 {\"_id\": ObjectId(\"$oid\"), \"status\": \"a\"}\nx60 {\"_id\": ObjectId(\"$oid\"), \"status\": \"b\"}";
            run(key, more, body)[0].todo.clone()
        };
        let refined = todo("{\"status\":1}", ",version=6.0");
        assert!(refined.contains("{ status: 1, _id: \"hashed\" }"), "{refined}");
        assert!(refined.contains("refine"), "{refined}");
        // A key may have only one hashed field.
        let changed = todo("{\"status\":\"hashed\"}", ",version=6.0");
        assert!(changed.contains("use { _id: \"hashed\" }"), "{changed}");
        assert!(changed.contains("reshardCollection"), "{changed}");
    }

    #[test]
    fn sk_1_arrays_cannot_be_in_a_shard_key() {
        let tags = "x60 {\"userId\": $i, \"tags\": [\"a\", \"b\"], \"items\": [{\"sku\": 1}]}";
        for key in ["{\"tags\":1}", "{\"items.sku\":1}", "{\"tags\":\"hashed\"}"] {
            let found = run(key, "", tags);
            assert_eq!(found.len(), 1, "{key}");
            assert_eq!(found[0].severity, docward_model::Severity::Error);
            assert!(found[0].what.ends_with("which holds 60 arrays"), "{}", found[0].what);
            let proposed = found[0].todo.split("such as").nth(1).expect("a key");
            assert!(!proposed.contains("tags") && !proposed.contains("sku"), "{proposed}");
            for other in ["K002", "K003", "K004"] {
                assert!(
                    check_with(other, &format!("{KEY}{key}"), tags).is_empty(),
                    "{other} {key}"
                );
            }
        }
    }
}
