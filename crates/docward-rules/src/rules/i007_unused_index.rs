//! AP-S4.6: indexes that no query uses.

use docward_model::{Collection, Draft, Look, Safety, Seen, Severity, Step, Subject, Unit};

use crate::facts::thresholds::i007::MIN_DAYS;
use crate::{
    Cx, declare_rule,
    facts::{
        indexes::{covering, has_duty, is_counted_by_all, of_whom, sharding, unused_days},
        text,
    },
};

declare_rule! {
    /// # Unused index
    ///
    /// ## What it checks
    /// Reports indexes that no operation used for at least seven days, according to `$indexStats`. Each member
    /// counts its own use and starts at zero after a restart or a rebuild. The finding therefore has a tier:
    /// - *safe*: the index is already hidden
    /// - *likely*: the server is standalone, or all members with data were asked
    /// - *monitor*, a note: a hidden or unreachable member was not asked, or the cluster is sharded
    ///
    /// ## Exceptions
    /// Docward does not report `_id`, unique and TTL indexes, or the index that a shard key needs. I001 reports
    /// redundant indexes.
    ///
    /// ## Why it matters
    /// Every write maintains the index, and it takes memory from indexes that are used.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// server {"authorization": true, "clock": 1710000000, "uptime": 9000000}
    /// index {"key": {"color": 1}, "name": "color_1", "used": 0, "since": 1705000000}
    /// {"_id": 1, "color": "red"}
    /// ```
    /// After a restart, the count is too recent:
    /// ```jsonl,clean
    /// server {"authorization": true, "clock": 1710000000, "uptime": 3600}
    /// index {"key": {"color": 1}, "name": "color_1", "used": 0, "since": 1709996400}
    /// {"_id": 1, "color": "red"}
    /// ```
    ///
    /// ## How to fix
    /// Check the counts of all members and hide the index. Watch slow queries for a business cycle, then drop it.
    ///
    /// ## When to ignore it
    /// A monthly or yearly report uses it.
    I007, "unused-index",
    level: Recommended,
    area: Speed,
    severities: [Warn, Info],
    clauses: ["AP-S4.6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [IndexUsage],
    thresholds: [MIN_DAYS],
    data: ["days", "index", "tier"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let (Some(indexes), Some(server)) = (&collection.indexes, &cx.evidence().server) else {
        return;
    };
    let ns = &collection.namespace;
    let shard_key = sharding::key_of(cx.evidence(), cx.settings(), &collection.namespace);
    for index in indexes {
        let (Some(usage), Some(days)) = (index.usage, unused_days(index, server)) else { continue };
        if has_duty(index, shard_key)
            || days < cx.count(&MIN_DAYS)
            || covering(collection, index, shard_key).is_some()
        {
            continue;
        }
        let (tier, severity, todo, step) = if index.hidden {
            (
                "safe",
                Severity::Warn,
                format!("drop `{}`: it is hidden, so no query uses it", index.name),
                Step::DropIndex { namespace: ns.clone(), index: index.name.clone() },
            )
        } else if is_counted_by_all(&usage, server) {
            (
                "likely",
                Severity::Warn,
                format!(
                    "hide `{}`, watch slow queries for a business cycle, then drop it",
                    index.name
                ),
                Step::HideIndex { namespace: ns.clone(), index: index.name.clone() },
            )
        } else {
            (
                "monitor",
                Severity::Info,
                format!(
                    "also look at the usage counts of the other members; if no query uses `{}`, hide it, then drop it",
                    index.name
                ),
                Step::Inspect { namespace: ns.clone(), look: Look::IndexUse },
            )
        };
        let size = index.bytes.map_or(String::new(), |n| format!(", {}", text::bytes(n)));
        cx.report(
            Draft::new(
                Subject::Index(ns.clone(), index.name.clone()),
                format!(
                    "index `{}` {} was not used for {}{}{size} (removal: {tier})",
                    index.name,
                    index.key_text(),
                    text::plural(days, "day"),
                    of_whom(&usage, Some(server))
                ),
                "every write updates it, and it takes memory from indexes that queries use",
                todo,
                Seen::all(indexes.len() as u64, Unit::Indexes),
            )
            .severity(severity)
            .data("index", index.name.as_str())
            .data("days", days)
            .data("tier", tier)
            .plan(Some("RF-20"), Safety::Safe, [step]),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};

    fn tier(server: &str, index: &str) -> Option<String> {
        let body = format!(
            "server {{\"authorization\": true, \"clock\": 1710000000, \"uptime\": 9000000{server}}}\nindex {{\"key\": {{\"a\": 1}}, \"name\": \"a_1\", \"used\": 0, \"since\": 1705000000{index}}}\n{{\"_id\": 1, \"a\": 2}}"
        );
        check("I007", &body).first().map(|f| match f.data.get("tier") {
            Some(docward_model::DataValue::Text(tier)) => tier.clone(),
            _ => String::new(),
        })
    }

    #[test]
    fn ap_s4_6_tiers() {
        assert_eq!(tier("", "").as_deref(), Some("likely"));
        assert_eq!(tier("", ", \"hidden\": true").as_deref(), Some("safe"));
        let set = r#", "set": "rs0", "members": [{"host": "a:1"}, {"host": "b:1"}, {"host": "c:1", "arbiter": true}]"#;
        assert_eq!(tier(set, ", \"members\": 1").as_deref(), Some("monitor"), "b was not asked");
        assert_eq!(tier(set, ", \"members\": 2").as_deref(), Some("likely"));
    }

    #[test]
    fn ap_s4_6_indexes_with_a_duty_are_kept() {
        assert_eq!(tier("", ", \"unique\": true"), None);
        assert_eq!(tier("", ", \"expireAfterSeconds\": 60"), None);
        let body = "server {\"authorization\": true, \"clock\": 1710000000, \"uptime\": 9000000}\nindex {\"key\": {\"a\": 1}, \"name\": \"a_1\", \"used\": 0, \"since\": 1705000000}\n{\"_id\": 1, \"a\": 2}";
        assert!(check_with("I007", "shard-key=db_shop.t_order_item:{\"a\":1}", body).is_empty());
    }
}
