//! AP-S4.6: an index that another one covers.

use docward_model::{Collection, Draft, Index, Look, Safety, Seen, Severity, Step, Subject, Unit};

use crate::facts::thresholds::i007;
use crate::{
    Cx, declare_rule,
    facts::{
        indexes::{covering, has_duty, is_counted_by_all, of_whom, sharding, unused_days},
        text,
    },
};

declare_rule! {
    /// # Redundant index
    ///
    /// ## What it checks
    /// Reports an index whose keys are the first keys of another index, or the same keys in reverse direction.
    /// The finding has a tier:
    /// - *safe*: both have the same keys, or no member used the shorter one for a week
    /// - *likely*: the shorter one is a prefix of the longer one
    /// - *monitor*, a note: the shorter one is in use, and the longer one is at least four times as large.
    ///   Queries may get slower without it
    ///
    /// ## Exceptions
    /// Not reported:
    /// - `_id`, TTL and hidden indexes, and the index that a shard key needs
    /// - unique indexes, unless the other one has the same keys and is unique, too
    /// - indexes that differ in collation or in being sparse or partial
    /// - indexes with text, geo, wildcard or hashed keys
    /// - a shorter index without array fields, if the longer one adds an array field
    /// - a shorter index that is in use while nothing uses the longer one. I007 then reports the longer one
    ///
    /// ## Why it matters
    /// Every insert, delete and update of these fields maintains both indexes, and both take up memory. Queries
    /// need only one of them.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// index {"key": {"userId": 1}, "name": "userId_1"}
    /// index {"key": {"userId": 1, "createTime": -1}, "name": "userId_1_createTime_-1"}
    /// {"_id": 1, "userId": 7}
    /// ```
    /// A unique index is not redundant, because it enforces a constraint:
    /// ```jsonl,clean
    /// index {"key": {"userId": 1}, "name": "userId_1", "unique": true}
    /// index {"key": {"userId": 1, "createTime": -1}, "name": "userId_1_createTime_-1"}
    /// {"_id": 1, "userId": 7}
    /// ```
    ///
    /// ## How to fix
    /// Hide the shorter index, watch slow queries for a business cycle, then drop it. If a query depends on it,
    /// it can be shown again at once.
    ///
    /// ## When to ignore it
    /// The shorter index is much smaller and serves the most frequent query from memory.
    I001, "redundant-index",
    level: Recommended,
    area: Speed,
    severities: [Warn, Info],
    clauses: ["AP-S4.6"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Indexes],
    thresholds: [],
    data: ["coveredBy", "index", "tier"],
    check: Collection(check),
}

/// If the longer index is this many times as large, queries may read it from disk instead of memory.
const MUCH_LARGER: u64 = 4;

/// The certainty that no query needs the shorter index.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tier {
    Safe,
    Likely,
    /// The longer index is much larger; the number is the ratio of the sizes.
    Monitor(u64),
}

impl Tier {
    fn of(index: &Index, cover: &Index, nobody_used_it: bool) -> Self {
        let bytes = |i: &Index| i.bytes.filter(|&n| n > 0);
        let times = bytes(cover).zip(bytes(index)).map_or(0, |(long, short)| long / short);
        if cover.keys.len() == index.keys.len() || nobody_used_it {
            Self::Safe
        } else if times >= MUCH_LARGER && index.usage.is_some_and(|usage| usage.operations > 0) {
            Self::Monitor(times)
        } else {
            Self::Likely
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Likely => "likely",
            Self::Monitor(_) => "monitor",
        }
    }
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(indexes) = &collection.indexes else { return };
    let ns = &collection.namespace;
    let version = cx.settings().server_version.or(cx.evidence().deployment.server_version);
    let can_hide = version.is_none_or(|v| v >= (4, 4));
    let shard_key = sharding::key_of(cx.evidence(), cx.settings(), &collection.namespace);
    // I007 proposes to hide unused indexes, which then support no queries. So of two indexes, the used one stays.
    let server = cx.evidence().server.as_ref();
    let days = i007::limit(cx.settings(), ns, &i007::MIN_DAYS);
    let is_idle = |index: &Index| {
        server.and_then(|s| unused_days(index, s)).is_some_and(|unused| unused as f64 >= days)
    };
    let is_going = |cover: &Index| !has_duty(cover, shard_key) && is_idle(cover);
    let is_unused = |index: &Index| {
        let counted = server.zip(index.usage.as_ref());
        counted.is_some_and(|(server, usage)| is_counted_by_all(usage, server)) && is_idle(index)
    };
    for index in indexes {
        let Some(cover) = covering(collection, index, shard_key) else { continue };
        if is_going(cover) && index.usage.is_some_and(|usage| usage.operations > 0) {
            continue;
        }
        let same = cover.keys.len() == index.keys.len();
        let how = if !same {
            "is a prefix of"
        } else if cover.keys == index.keys {
            "has the same keys as"
        } else {
            "has the reverse keys of"
        };
        let duty = if cover.unique { ", which is also unique" } else { "" };
        let tier = Tier::of(index, cover, is_unused(index));
        let (todo, step, safety) = if let Tier::Monitor(times) = tier {
            (
                format!(
                    "test whether the queries that use `{}` are fast enough with `{}` ({times} times as large): hide the smaller one at a quiet hour, compare query times, then drop or unhide it",
                    index.name, cover.name
                ),
                Step::Inspect { namespace: ns.clone(), look: Look::IndexUse },
                Safety::Safe,
            )
        } else if can_hide {
            (
                format!(
                    "hide `{}`, watch slow queries for a business cycle, then drop it",
                    index.name
                ),
                Step::HideIndex { namespace: ns.clone(), index: index.name.clone() },
                Safety::Safe,
            )
        } else {
            (
                format!(
                    "drop `{}` at a quiet hour and keep its definition for a rebuild (servers before 4.4 cannot hide indexes)",
                    index.name
                ),
                Step::DropIndex { namespace: ns.clone(), index: index.name.clone() },
                Safety::Guarded,
            )
        };
        let whose = index.usage.map_or("", |usage| of_whom(&usage, server));
        let used = match index.usage.map(|usage| usage.operations) {
            Some(0) if is_idle(index) => format!("; no query uses it{whose}"),
            Some(n) if n > 0 => format!("; it was used {}{whose}", text::plural(n, "time")),
            _ => String::new(),
        };
        let mut draft = Draft::new(
            Subject::Index(ns.clone(), index.name.clone()),
            format!(
                "index `{}` {} {how} `{}` {}{duty}{used} (removal: {})",
                index.name,
                index.key_text(),
                cover.name,
                cover.key_text(),
                tier.name()
            ),
            "every write updates both indexes, and the other one supports the same queries",
            todo,
            Seen::all(indexes.len() as u64, Unit::Indexes),
        )
        .data("index", index.name.as_str())
        .data("coveredBy", cover.name.as_str())
        .data("tier", tier.name())
        .plan(Some("RF-20"), safety, [step]);
        if matches!(tier, Tier::Monitor(_)) {
            draft = draft.severity(Severity::Info);
        }
        cx.report(draft);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};

    fn with(indexes: &[&str]) -> Vec<String> {
        let body: String = indexes.iter().map(|i| format!("index {i}\n")).collect();
        check("I001", &format!("{body}{{\"_id\": 1, \"a\": 1, \"b\": 2, \"tags\": [1, 2]}}"))
            .into_iter()
            .map(|f| match f.at {
                docward_model::Subject::Index(_, name) => name,
                _ => String::new(),
            })
            .collect()
    }

    const LONG: &str = r#"{"key": {"a": 1, "b": 1}, "name": "long"}"#;

    #[test]
    fn ap_s4_6_prefix_is_redundant() {
        assert_eq!(with(&[r#"{"key": {"a": 1}, "name": "short"}"#, LONG]), ["short"]);
        assert_eq!(with(&[r#"{"key": {"a": -1}, "name": "short"}"#, LONG]), ["short"]);
    }

    #[test]
    fn ap_s4_6_direction_matters_for_compound_prefixes() {
        let three = r#"{"key": {"a": 1, "b": 1, "c": 1}, "name": "three"}"#;
        assert_eq!(with(&[r#"{"key": {"a": -1, "b": -1}, "name": "short"}"#, three]), ["short"]);
        assert!(with(&[r#"{"key": {"a": 1, "b": -1}, "name": "short"}"#, three]).is_empty());
        assert!(with(&[r#"{"key": {"b": 1}, "name": "short"}"#, three]).is_empty());
    }

    #[test]
    fn ap_s4_6_of_two_equal_indexes_one_is_reported() {
        let found =
            with(&[r#"{"key": {"a": 1}, "name": "a_1"}"#, r#"{"key": {"a": -1}, "name": "a_-1"}"#]);
        assert_eq!(found.len(), 1);
        let unique = with(&[
            r#"{"key": {"a": 1}, "name": "aa"}"#,
            r#"{"key": {"a": -1}, "name": "zz", "unique": true}"#,
        ]);
        assert_eq!(unique, ["aa"]);
    }

    #[test]
    fn ap_s4_6_duties_protect_an_index() {
        for short in [
            r#"{"key": {"a": 1}, "name": "s", "unique": true}"#,
            r#"{"key": {"a": 1}, "name": "s", "expireAfterSeconds": 60}"#,
            r#"{"key": {"a": 1}, "name": "s", "sparse": true}"#,
            r#"{"key": {"a": 1}, "name": "s", "hidden": true}"#,
            r#"{"key": {"a": 1}, "name": "s", "partialFilterExpression": {"b": 1}}"#,
            r#"{"key": {"a": 1}, "name": "s", "collation": {"locale": "en", "strength": 2}}"#,
            r#"{"key": {"a": "hashed"}, "name": "s"}"#,
            r#"{"key": {"a": "2dsphere"}, "name": "s"}"#,
            r#"{"key": {"_fts": "text", "_ftsx": 1}, "name": "s", "weights": {"a": 1}}"#,
            r#"{"key": {"$**": 1}, "name": "s"}"#,
        ] {
            assert!(with(&[short, LONG]).is_empty(), "{short}");
        }
    }

    #[test]
    fn ap_s4_6_weak_covers_do_not_count() {
        let short = r#"{"key": {"a": 1}, "name": "s"}"#;
        for long in [
            r#"{"key": {"a": 1, "b": 1}, "name": "long", "hidden": true}"#,
            r#"{"key": {"a": 1, "b": 1}, "name": "long", "sparse": true}"#,
            r#"{"key": {"a": 1, "b": 1}, "name": "long", "partialFilterExpression": {"b": 1}}"#,
            r#"{"key": {"a": 1, "b": "2dsphere"}, "name": "long"}"#,
            r#"{"key": {"a": 1, "b": 1}, "name": "long", "collation": {"locale": "en"}}"#,
            r#"{"key": {"a": 1, "tags": 1}, "name": "long"}"#,
        ] {
            assert!(with(&[short, long]).is_empty(), "{long}");
        }
        // The same partial filter on both covers.
        let partial = [
            r#"{"key": {"a": 1}, "name": "s", "partialFilterExpression": {"b": 1}}"#,
            r#"{"key": {"a": 1, "b": 1}, "name": "long", "partialFilterExpression": {"b": 1}}"#,
        ];
        assert_eq!(with(&partial), ["s"]);
    }

    #[test]
    fn ap_s4_6_of_a_pair_the_index_that_is_used_stays() {
        let body = |short: u32, long: u32, uptime: u32, more: &str| {
            format!(
                "server {{\"authorization\": true, \"clock\": 1710000000, \"uptime\": {uptime}}}\n\
                 index {{\"key\": {{\"a\": 1}}, \"name\": \"short\", \"used\": {short}, \"since\": 1705000000}}\n\
                 index {{\"key\": {{\"a\": 1, \"b\": 1}}, \"name\": \"long\", \"used\": {long}, \"since\": 1705000000{more}}}\n\
                 {{\"_id\": 1, \"a\": 1, \"b\": 2}}"
            )
        };
        let told = |body: &str| (check("I001", body).len(), check("I007", body).len());
        let month = 30 * 86_400;
        assert_eq!(told(&body(50, 0, month, "")), (0, 1), "only the longer one goes");
        assert_eq!(told(&body(50, 9, month, "")), (1, 0), "the longer one answers for both");
        assert_eq!(told(&body(50, 0, 3600, "")), (1, 0), "nobody knows yet");
        assert_eq!(told(&body(50, 0, month, ", \"unique\": true")), (1, 0), "it has to stay");
        assert_eq!(told(&body(0, 0, month, "")), (1, 1), "nobody uses either");
    }

    #[test]
    fn ap_s4_6_tiers_of_redundant_indexes() {
        let tier = |server: &str, short: &str, long: &str| {
            let body = format!(
                "server {{\"authorization\": true, \"clock\": 1710000000, \"uptime\": 2592000{server}}}\n\
                 index {{\"key\": {{\"a\": 1}}, \"name\": \"short\", \"since\": 1705000000{short}}}\n\
                 index {{\"key\": {{\"a\": 1, \"b\": 1}}, \"name\": \"long\", \"since\": 1705000000{long}}}\n\
                 {{\"_id\": 1, \"a\": 1, \"b\": 2}}"
            );
            let found = check("I001", &body).remove(0);
            let Some(docward_model::DataValue::Text(tier)) = found.data.get("tier") else {
                panic!("no tier in {:?}", found.data)
            };
            (tier.clone(), found.severity)
        };
        use docward_model::Severity::{Info, Warn};
        let used = ", \"used\": 50, \"bytes\": 1000";
        let tiers = [
            ("nobody knows how it is used", tier("", "", ""), ("likely", Warn)),
            ("nobody uses it", tier("", ", \"used\": 0", ", \"used\": 9"), ("safe", Warn)),
            (
                "another member may use it",
                tier(", \"set\": \"rs0\"", ", \"used\": 0", ", \"used\": 9"),
                ("likely", Warn),
            ),
            (
                "the longer one is much larger",
                tier("", used, ", \"used\": 9, \"bytes\": 4000"),
                ("monitor", Info),
            ),
            (
                "the longer one is hardly larger",
                tier("", used, ", \"used\": 9, \"bytes\": 3999"),
                ("likely", Warn),
            ),
        ];
        for (why, (name, severity), expected) in tiers {
            assert_eq!((name.as_str(), severity), expected, "{why}");
        }
        let same = "index {\"key\": {\"a\": 1}, \"name\": \"a_1\"}\nindex {\"key\": {\"a\": -1}, \"name\": \"a_-1\"}";
        assert!(
            matches!(check("I001", same)[0].data.get("tier"), Some(docward_model::DataValue::Text(t)) if t == "safe")
        );
    }

    #[test]
    fn ap_s4_6_a_chain_names_the_longest() {
        let found = check(
            "I001",
            "index {\"key\": {\"a\": 1}, \"name\": \"one\"}\nindex {\"key\": {\"a\": 1, \"b\": 1}, \"name\": \"two\"}\nindex {\"key\": {\"a\": 1, \"b\": 1, \"c\": 1}, \"name\": \"three\"}",
        );
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|f| f.what.contains("`three`")), "{}", found[0].what);
    }

    #[test]
    fn ap_s4_6_a_shard_key_rests_on_its_index() {
        let body = "index {\"key\": {\"a\": 1}, \"name\": \"s\"}\nindex {\"key\": {\"a\": 1, \"b\": 1}, \"name\": \"long\"}";
        let settings = "shard-key=db_shop.t_order_item:{\"a\": 1}";
        assert!(check_with("I001", settings, body).is_empty());
        assert!(check_with("I001", "version=4.2", body)[0].todo.starts_with("drop `s`"));
    }
}
