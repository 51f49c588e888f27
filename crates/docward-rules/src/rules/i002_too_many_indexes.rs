//! AP-S4.6 and LM-10: the number of indexes of a collection.

use docward_model::{Collection, Draft, Level, Seen, Severity, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{
        indexes::{covering, indexes_every_field, sharding},
        text,
    },
    threshold,
};

declare_rule! {
    /// # Too many indexes
    ///
    /// ## What it checks
    /// Reports collections with more than 10 indexes, including the one on `_id`. At 64 indexes, the most that a
    /// server allows, it is an error. If nearly every field has its own index, I003 reports that instead.
    ///
    /// ## Why it matters
    /// Each write maintains every index that it affects, and all indexes compete for memory. At 64 the next
    /// `createIndex` fails, usually during a deployment.
    ///
    /// ## Example
    /// ```jsonl,fires,max-indexes=2
    /// index {"key": {"a": 1}, "name": "a_1"}
    /// index {"key": {"b": 1}, "name": "b_1"}
    /// {"_id": 1, "a": 1, "b": 2}
    /// ```
    /// ```jsonl,clean
    /// index {"key": {"a": 1}, "name": "a_1"}
    /// index {"key": {"b": 1}, "name": "b_1"}
    /// {"_id": 1, "a": 1, "b": 2}
    /// ```
    ///
    /// ## How to fix
    /// Check `$indexStats` on every member. Hide indexes that are not used for a business cycle, then drop them.
    /// One compound index often replaces several single-field indexes.
    ///
    /// ## When to ignore it
    /// The collection is read by many kinds of queries and rarely written.
    I002, "too-many-indexes",
    level: Recommended,
    area: Speed,
    severities: [Error, Warn],
    clauses: ["AP-S4.6", "LM-10"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Indexes],
    thresholds: [MAX_INDEXES, HARD_LIMIT],
    data: ["indexes", "limit", "redundant"],
    check: Collection(check),
}

threshold!(
    MAX_INDEXES,
    "max-indexes",
    Int(10),
    "indexes",
    "our default; Compass warns above 10",
    "maximum number of indexes of a collection, including `_id`"
);
threshold!(
    HARD_LIMIT,
    "hard-limit",
    Int(64),
    "indexes",
    "LM-10",
    "maximum number of indexes per collection on a server"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(indexes) = &collection.indexes else { return };
    let (max, hard) = (cx.count(&MAX_INDEXES), cx.count(&HARD_LIMIT));
    let n = indexes.len() as u64;
    let full = n >= hard;
    // I003 reports the same cause in more detail.
    if n <= max || (!full && indexes_every_field(cx.evidence(), collection, 0.8, 5)) {
        return;
    }
    let shard_key = sharding::key_of(cx.evidence(), cx.settings(), &collection.namespace);
    let redundant: Vec<_> = indexes
        .iter()
        .filter(|i| covering(collection, i, shard_key).is_some())
        .map(|i| i.name.as_str())
        .collect();
    let first = if redundant.is_empty() {
        "measure their use with `$indexStats` on every member".to_owned()
    } else {
        format!("begin with indexes that another index covers ({})", text::list(&redundant, 3))
    };
    let mut draft = Draft::new(
        Subject::Collection(collection.namespace.clone()),
        if full {
            format!("{n} indexes: the server accepts no more (limit {hard})")
        } else {
            format!(
                "{n} indexes (recommended: at most {max}); the server accepts {} more",
                hard - n
            )
        },
        if full {
            "the next index build fails"
        } else {
            "each write updates every affected index, and all indexes compete for memory"
        },
        format!("{first}, hide indexes that no query uses, watch slow queries for a business cycle, then drop them"),
        Seen::all(n, Unit::Indexes),
    )
    .data("indexes", n)
    .data("limit", if full { hard } else { max })
    .data("redundant", redundant.len());
    draft = if full {
        draft.clauses(&["LM-10", "AP-S4.6"]).severity(Severity::Error).level(Level::Mandatory)
    } else {
        draft.clauses(&["AP-S4.6"])
    };
    cx.report(draft);
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    /// `n` indexes with `_id`, on nested fields so that I003 does not report them.
    fn with(n: usize) -> Vec<docward_model::Finding> {
        let indexes: String = (1..n)
            .map(|i| format!("index {{\"key\": {{\"stats.f{i}\": 1}}, \"name\": \"f{i}\"}}\n"))
            .collect();
        check("I002", &format!("{indexes}{{\"_id\": 1, \"stats\": {{\"f1\": 1}}}}"))
    }

    #[test]
    fn ap_s4_6_10_pass_11_warn() {
        assert!(with(10).is_empty());
        assert_eq!(with(11)[0].severity, Severity::Warn);
    }

    #[test]
    fn lm_10_64_indexes_take_no_further_one() {
        assert_eq!(with(63)[0].severity, Severity::Warn);
        let found = with(64);
        assert_eq!(found[0].severity, Severity::Error);
        assert_eq!(found[0].clauses, ["LM-10", "AP-S4.6"]);
    }
}
