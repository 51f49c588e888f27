//! SK-2, SK-8: no value of a shard key may dominate.

use docward_model::{Collection, Draft, Level, Profile, ShardKey, Subject};

use crate::facts::thresholds::k002::{FAIL, MIN_DOCUMENTS, WARN};
use crate::facts::{
    indexes::{key_change::KeyChange, sharding},
    text,
};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Dominated shard key
    ///
    /// ## What it checks
    /// Reports shard keys in which one value holds more than 30 % of the documents (an error) or more than 10 %
    /// (a warning). Docward checks the keys of a running cluster and those declared in `docward.toml`.
    ///
    /// A compound key is not reported if another of its fields splits the documents of the frequent value. K001
    /// reports keys with few, evenly distributed values.
    ///
    /// ## Why it matters
    /// The documents with the frequent value stay in one chunk on one shard. That shard fills up and takes most
    /// of the load while the others are idle.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_user,shard-key=db_shop.t_user:{"country":1}
    /// x60 {"country": "US"}
    /// x40 {"country": "country $i"}
    /// ```
    /// A second field splits the frequent value:
    /// ```jsonl,clean,ns=db_shop.t_user,shard-key=db_shop.t_user:{"country":1,"userId":1}
    /// x60 {"country": "US", "userId": $i}
    /// x40 {"country": "country $i", "userId": "x$i"}
    /// ```
    ///
    /// ## How to fix
    /// Append a field with many values to the key, or choose one whose values are evenly distributed.
    ///
    /// ## When to ignore it
    /// The frequent value has its own zone with several shards, and a refined key is planned.
    K002, "dominated-shard-key",
    level: Mandatory,
    area: Growth,
    severities: [Error, Warn],
    clauses: ["SK-2", "SK-8", "SK-12"],
    maturity: Stable,
    scope: Everywhere,
    needs: [ShardKeys, Documents],
    thresholds: [WARN, FAIL, MIN_DOCUMENTS],
    data: ["exact", "key", "topShare", "values"],
    check: Collection(check),
}

/// A key whose top value has little more than an even share has too few values, which `K001` reports.
const EVEN: f64 = 1.5;

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    let Some(key) = sharding::key_of(cx.evidence(), cx.settings(), &collection.namespace) else {
        return;
    };
    // K001 reports that the server rejects such a key.
    if sharding::array_field(profile, &key.fields).is_some() {
        return;
    }
    if profile.documents < cx.count(&MIN_DOCUMENTS) {
        return;
    }
    let Some((share, exact)) = sharding::least_top_share(profile, key) else { return };
    let Some(values) = sharding::values(profile, key) else { return };
    let (warn, fail) = (cx.limit(&WARN), cx.limit(&FAIL));
    if share <= warn || share <= EVEN / values.most.max(1.0) {
        return;
    }
    let change = KeyChange::of(collection, cx.evidence(), cx.settings());
    let mut draft = draft(
        collection,
        profile,
        key,
        &Top { share, exact, values, bound: if share > fail { fail } else { warn }, warn },
        &change,
    );
    draft.what.push_str(&sharding::jumbo_text(cx.evidence(), &collection.namespace));
    cx.report(if share > fail { draft } else { draft.level(Level::Recommended) });
}

/// The most frequent value of the key.
struct Top {
    /// The share of the value, or its lower bound.
    share: f64,
    /// Whether it is the share itself.
    exact: bool,
    /// The number of values.
    values: sharding::Values,
    /// The limit that the share exceeds.
    bound: f64,
    /// The limit for a warning.
    warn: f64,
}

fn draft(
    collection: &Collection,
    profile: &Profile,
    key: &ShardKey,
    top: &Top,
    change: &KeyChange<'_>,
) -> Draft {
    let proposal =
        sharding::splitter(profile, profile.documents / 2, key, change.version(), top.warn);
    let way = change.plan_for(&proposal);
    let key_text = sharding::key_text(&key.fields);
    let draft = Draft::new(
        Subject::Collection(collection.namespace.clone()),
        format!(
            "one value of {} {key_text} has {}{} of the documents (limit {}; {}{} different values)",
            change.key_name(),
            if top.exact { "" } else { "at least " },
            text::percent(top.share),
            text::percent(top.bound),
            if key.fields.len() > 1 { "at most " } else { "" },
            text::about(top.values.most, top.values.exact)
        ),
        "the documents with the frequent value stay in one chunk, and its shard gets most of the load",
        format!(
            "use {}, so that MongoDB can split the frequent value; {}",
            sharding::key_text(&proposal),
            way.how
        ),
        profile.seen().estimated(!top.exact || !top.values.exact),
    )
    .data("key", key_text)
    .data("topShare", top.share)
    .data("values", top.values.shown())
    .data("exact", top.exact && top.values.exact)
    .clauses(if top.values.most >= 20.0 { &["SK-2", "SK-8"] } else { &["SK-2"] });
    way.fix(draft)
}

#[cfg(test)]
mod tests {
    use crate::testing::check_with;
    use docward_model::Severity;

    fn run(key: &str, body: &str) -> Vec<docward_model::Finding> {
        check_with("K002", &format!("shard-key=db_shop.t_order_item:{key}"), body)
    }

    fn countries(top: u32, others: u32) -> String {
        let mut body = format!("x{top} {{\"country\": \"US\", \"userId\": $i}}\n");
        for i in 0..others {
            body.push_str(&format!("{{\"country\": \"c{i}\", \"userId\": \"u{i}\"}}\n"));
        }
        body
    }

    #[test]
    fn sk_2_80_and_60_percent_fail_and_5_percent_pass() {
        for (top, others) in [(160, 40), (120, 80)] {
            let found = run("{\"country\":1}", &countries(top, others));
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].severity, Severity::Error);
        }
        assert!(run("{\"country\":1}", &countries(10, 190)).is_empty());
        let found = run("{\"country\":1}", &countries(40, 160));
        assert_eq!(found[0].severity, Severity::Warn);
    }

    #[test]
    fn sk_8_two_hundred_countries_do_not_help_when_one_has_60_percent() {
        let found = run("{\"country\":1}", &countries(300, 199));
        assert_eq!(found.len(), 1);
        assert!(found[0].cites("SK-8"));
        assert!(found[0].todo.contains("country: 1, "), "{}", found[0].todo);
    }

    #[test]
    fn sk_12_a_refined_key_gets_its_index_first() {
        let found = run("{\"country\":1}", &countries(300, 199));
        let command = &found[0].fix.as_ref().expect("a fix").command();
        let (index, refine) = command.split_once("; ").expect("two steps");
        assert!(index.contains(".createIndex({country: 1, "), "{index}");
        assert!(refine.contains("refineCollectionShardKey"), "{refine}");
    }

    #[test]
    fn sk_2_a_fine_second_field_splits_the_frequent_value() {
        assert!(run("{\"country\":1,\"userId\":1}", &countries(160, 40)).is_empty());
    }

    #[test]
    fn sk_2_estimates_are_said_to_be_estimates() {
        let found = run("{\"country\":1}", &countries(300, 199));
        assert!(found[0].what.ends_with("; 200 different values)"), "{}", found[0].what);
        assert_eq!(found[0].seen.confidence, 1.0);
        let found = run("{\"country\":1}", &countries(6_000, 5_000));
        assert!(found[0].what.contains("has at least "), "{}", found[0].what);
        assert!(found[0].what.contains("; about "), "{}", found[0].what);
        assert!(found[0].what.ends_with("00 different values)"), "{}", found[0].what);
        assert!(found[0].seen.confidence < 1.0);
    }

    #[test]
    fn few_even_values_are_a_matter_of_cardinality() {
        let even = "x50 {\"country\": \"a\"}\nx50 {\"country\": \"b\"}\nx50 {\"country\": \"c\"}";
        assert!(run("{\"country\":1}", even).is_empty());
    }
}
