//! CK-15: documents that are read to be changed in a second step.

use docward_model::{Draft, Evidence, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{text, workload},
    threshold,
};

declare_rule! {
    /// # Read, then write
    ///
    /// ## What it checks
    /// Reports collections in which a connection read a document and then overwrote fields of it within a second,
    /// at least 20 times. The read was by `_id`, or by one value of one field that matched no other document. The
    /// profiler does not record connections; there, the last read with the same host, application and user
    /// counts.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - updates that the server computes (`$inc`, `$push`, a pipeline)
    /// - updates with an additional condition, such as a version or a state
    /// - transactions
    /// - logs with redacted values, which do not show the document
    ///
    /// ## Why it matters
    /// If another client changes the document between the two steps, one of the changes is lost. It also takes
    /// two round trips instead of one.
    ///
    /// ## Example
    /// ```jsonl,fires,min-count=2
    /// ran {"command": {"find": "t_stock", "filter": {"_id": 7}}}
    /// ran {"command": {"q": {"_id": 7}, "u": {"$set": {"n": 3}}}}
    /// ran {"command": {"find": "t_stock", "filter": {"_id": 8}}}
    /// ran {"command": {"q": {"_id": 8}, "u": {"$set": {"n": 4}}}}
    /// ```
    /// ```jsonl,clean,min-count=1
    /// ran {"command": {"find": "t_stock", "filter": {"_id": 7}}}
    /// ran {"command": {"q": {"_id": 7}, "u": {"$inc": {"n": -1}}}}
    /// ran {"command": {"find": "t_stock", "filter": {"_id": 8}}}
    /// ran {"command": {"q": {"_id": 8, "version": 3}, "u": {"$set": {"n": 4}, "$inc": {"version": 1}}}}
    /// ```
    ///
    /// ## How to fix
    /// Let the server compute the new value (`$inc`, `$min`, an update pipeline). Or read and change the document
    /// in one step with `findOneAndUpdate`.
    ///
    /// ## When to ignore it
    /// The read has another purpose, such as showing the document before one of its fields is set.
    W010, "read-then-write",
    level: Recommended,
    area: Correctness,
    clauses: ["CK-15"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_COUNT],
    data: ["times"],
    check: Deployment(check),
}

threshold!(
    MIN_COUNT,
    "min-count",
    Int(20),
    "times",
    "our default",
    "minimum number of reads followed by a write"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for (namespace, count) in evidence.workload.iter().flat_map(|w| &w.read_then_write) {
        if *count < cx.count_at(&MIN_COUNT, namespace) || !workload::is_business(namespace) {
            continue;
        }
        cx.report(
            Draft::new(
                Subject::Collection(namespace.clone()),
                format!("{} a client read a document and then updated it in a second operation", text::plural(*count, "time")),
                "another client can change the document between the two operations, and one of the changes is lost",
                "let the server compute the new value ($inc, $min, an update pipeline), or use findOneAndUpdate",
                Seen::all(*count, Unit::Operations),
            )
            .data("times", *count),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check_at, check_with};

    #[test]
    fn ck_15_thresholds_of_a_namespace_are_heard() {
        let body = r#"ran {"command": {"find": "t_stock", "filter": {"_id": 7}}}
            ran {"command": {"q": {"_id": 7}, "u": {"$set": {"n": 3}}}}"#;
        let at = ("W010", "min-count", docward_model::ThresholdSetting::Int(1));
        assert_eq!(check_at("W010", body, at).len(), 1);
    }

    #[test]
    fn ck_15_reads_with_a_session_and_updates_without_one_meet() {
        // In the notation of servers: only commands have `lsid`, statements of an update do not.
        let find = r#"ran {"command": {"find": "t_stock", "filter": {"_id": 7}, "lsid": {"id": UUID("a75e5c5b-442f-4033-bf8f-23d62eb8ac5e")}}, "client": "10.0.0.7", "appName": "api"}"#;
        let update = r#"ran {"op": "update", "command": {"q": {"_id": 7}, "u": {"$set": {"n": 3}}}, "client": "10.0.0.7", "appName": "api"}"#;
        assert_eq!(check_with("W010", "min-count=1", &format!("{find}\n{update}")).len(), 1);
        let other = update.replace("api", "batch");
        assert!(check_with("W010", "min-count=1", &format!("{find}\n{other}")).is_empty());
        let other = update.replace("10.0.0.7", "10.0.0.8");
        assert!(check_with("W010", "min-count=1", &format!("{find}\n{other}")).is_empty());
    }

    #[test]
    fn ck_15_other_documents_do_not_count() {
        let body = r#"ran {"command": {"find": "t_stock", "filter": {"_id": 7}}}
            ran {"command": {"q": {"_id": 9}, "u": {"$set": {"n": 3}}}}"#;
        assert!(check_with("W010", "min-count=1", body).is_empty());
    }
}
