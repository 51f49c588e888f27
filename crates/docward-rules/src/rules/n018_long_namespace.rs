//! LM-10: the length of `database.collection` in bytes.

use docward_model::{Collection, CollectionKind, Draft, Level, Seen, Severity, Subject, Unit};

use crate::facts::text;
use crate::{Cx, declare_rule, facts::deployment::server, threshold};

declare_rule! {
    /// # Long namespace
    ///
    /// ## What it checks
    /// Counts the bytes of `database.collection`:
    /// - above 255 bytes (120 before 4.4): an error, because servers refuse the name
    /// - above 235 bytes: a warning, because the collection can never be sharded
    ///
    /// For a time series collection, the name of its buckets counts, which is 15 bytes longer.
    ///
    /// ## Why it matters
    /// The limit takes effect when the collection is sharded, renamed or restored elsewhere. A rename is most
    /// expensive at that time.
    ///
    /// ## Example
    /// ```jsonl,fires,max-bytes=40,shard-bytes=30,ns=db_shop.t_customer_order_position
    /// {"_id": 1}
    /// ```
    /// ```jsonl,clean,ns=db_shop.t_customer_order_position
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// Choose a shorter collection name.
    ///
    /// ## When to ignore it
    /// The name has 236 to 255 bytes, and the collection will certainly never be sharded.
    N018, "long-namespace",
    level: Information,
    area: Hygiene,
    severities: [Error, Warn],
    clauses: ["LM-10"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Names],
    thresholds: [MAX_BYTES, SHARD_BYTES, OLD_MAX_BYTES],
    data: ["bytes", "limit"],
    check: AnyCollection(check),
}

threshold!(
    MAX_BYTES,
    "max-bytes",
    Int(255),
    "bytes",
    "LM-10",
    "maximum length of a namespace on servers from 4.4 on"
);
threshold!(
    SHARD_BYTES,
    "shard-bytes",
    Int(235),
    "bytes",
    "facts 5.1: namespace limit of sharded collections",
    "maximum length of a namespace that can be sharded"
);
threshold!(
    OLD_MAX_BYTES,
    "old-max-bytes",
    Int(120),
    "bytes",
    "LM-10",
    "maximum length of a namespace on servers before 4.4"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let ns = &collection.namespace;
    if server::is_system_database(&ns.database) || ns.collection.starts_with("system.") {
        return;
    }
    let buckets =
        if collection.kind == CollectionKind::TimeSeries { "system.buckets.".len() } else { 0 };
    let bytes = (ns.database.len() + 1 + ns.collection.len() + buckets) as u64;
    let version = cx.settings().server_version.or(cx.evidence().deployment.server_version);
    let old = version.is_some_and(|v| v < (4, 4));
    let hard = if old { cx.count(&OLD_MAX_BYTES) } else { cx.count(&MAX_BYTES) };
    let soft = cx.count(&SHARD_BYTES);
    let never_sharded = collection.kind == CollectionKind::View;
    let (limit, severity, level, reason) = if bytes > hard {
        let reason = if old {
            "servers before MongoDB 4.4 reject longer names"
        } else {
            "servers reject longer names, so this collection cannot be created, renamed or restored"
        };
        (hard, Severity::Error, Level::Mandatory, reason)
    } else if bytes > soft && !never_sharded && !old {
        let reason = "servers accept a longer namespace but cannot shard the collection";
        (soft, Severity::Warn, Level::Recommended, reason)
    } else {
        return;
    };
    let counted = if buckets > 0 { " including `system.buckets.` of its storage" } else { "" };
    cx.report(
        Draft::new(
            Subject::Collection(ns.clone()),
            format!("the namespace has {bytes} bytes{counted} (limit {limit})"),
            reason,
            format!(
                "shorten the collection name by {} or more",
                text::plural(bytes - limit, "byte")
            ),
            Seen::all(1, Unit::Collections),
        )
        .data("bytes", bytes)
        .data("limit", limit)
        .severity(severity)
        .level(level),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::Severity;

    fn body(bytes: usize) -> String {
        format!("@ db.{}\n{{\"_id\": 1}}", "a".repeat(bytes - 3))
    }

    #[test]
    fn lm_10_235_passes_236_warns_256_fails() {
        assert!(check("N018", &body(235)).is_empty());
        assert_eq!(check("N018", &body(236))[0].severity, Severity::Warn);
        assert_eq!(check("N018", &body(255))[0].severity, Severity::Warn);
        assert_eq!(check("N018", &body(256))[0].severity, Severity::Error);
    }

    #[test]
    fn lm_10_120_before_4_4() {
        assert!(check_with("N018", "version=4.2", &body(120)).is_empty());
        assert_eq!(check_with("N018", "version=4.2", &body(121))[0].severity, Severity::Error);
        assert!(check_with("N018", "version=4.4", &body(121)).is_empty());
    }

    #[test]
    fn lm_10_buckets_count_for_time_series() {
        let series = |bytes| {
            format!(
                "{}\noptions {{\"timeseries\": {{\"timeField\": \"ts\"}}}}",
                body(bytes).lines().next().unwrap()
            )
        };
        assert!(check("N018", &series(220)).is_empty());
        assert_eq!(check("N018", &series(221))[0].severity, Severity::Warn);
    }
}
