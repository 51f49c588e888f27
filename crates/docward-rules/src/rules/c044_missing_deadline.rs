//! PP-4 and GC-28: operations of Go that wait without a limit, or with a very long one.

use std::collections::BTreeMap;

use docward_model::{Evidence, code::Deadline};

use crate::{
    Cx, declare_rule,
    facts::{code, text},
    threshold,
};

declare_rule! {
    /// # Missing deadline
    ///
    /// ## What it checks
    /// Reports operations of the Go driver without a useful time limit:
    /// - `context.WithTimeout` with more than ten minutes, or with less than ten milliseconds: a number without a unit
    ///   counts nanoseconds
    /// - `context.Background()` or `context.TODO()` for an operation in a request handler
    /// - with `--select pedantic`: the same for operations elsewhere
    ///
    /// The places in one file are one finding. Missing limits are not reported if a client sets `timeoutMS`, and
    /// scripts that are started by hand are not checked.
    ///
    /// ## Why it matters
    /// The Go driver sets no limit for waiting in its pool or for an operation. When the server is slow, requests
    /// pile up until the process runs out of memory or connections.
    ///
    /// ## Example
    /// ```go,fires
    /// package shop
    /// import ("context"; "time"; "go.mongodb.org/mongo-driver/mongo")
    /// func find(orders *mongo.Collection, id string) error {
    ///   ctx, cancel := context.WithTimeout(context.Background(), 10*time.Hour)
    ///   defer cancel()
    ///   return orders.FindOne(ctx, bson.M{"_id": id}).Err()
    /// }
    /// ```
    /// ```go,clean
    /// package shop
    /// import ("context"; "time"; "go.mongodb.org/mongo-driver/mongo")
    /// func find(ctx context.Context, orders *mongo.Collection, id string) error {
    ///   ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
    ///   defer cancel()
    ///   return orders.FindOne(ctx, bson.M{"_id": id}).Err()
    /// }
    /// ```
    ///
    /// ## How to fix
    /// Pass on the context of the request with a limit: `context.WithTimeout(r.Context(), 10*time.Second)`. Or
    /// set `timeoutMS` on the client.
    ///
    /// ## When to ignore it
    /// A job copies or counts whole collections and may take hours.
    C044, "missing-deadline",
    level: Recommended,
    area: Speed,
    severities: [Warn],
    clauses: ["PP-4"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [MOST, LEAST],
    data: ["path"],
    check: Deployment(check),
}

threshold!(MOST, "most", Int(600_000), "ms", "our default", "maximum time limit of a context");

threshold!(LEAST, "least", Int(10), "ms", "our default", "shortest time limit of a context");

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let limit = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let (most, least) = (limit(cx.count(&MOST)), limit(cx.count(&LEAST)));
    let is_limited = evidence.uris.iter().any(|uri| uri.option("timeoutMS").is_some());
    let mut files: BTreeMap<(bool, bool, &str), Vec<&Deadline>> = BTreeMap::new();
    for deadline in &found.deadlines {
        let is_missing = deadline.milliseconds.is_none();
        let is_wrong = deadline.milliseconds.is_some_and(|ms| ms > most || ms < least);
        let file = deadline.place.location.file.as_str();
        if (is_missing && !is_limited || is_wrong) && !found.is_hand_run(file) {
            let is_pedantic = is_missing && !deadline.in_handler;
            files.entry((is_pedantic, is_missing, file)).or_default().push(deadline);
        }
    }
    for ((is_pedantic, ..), deadlines) in files {
        let Some((first, others)) = deadlines.split_first() else { continue };
        let what = match first.milliseconds {
            Some(ms) if ms < least => {
                format!("a context ends operations after {ms} ms (minimum {least} ms)")
            }
            Some(ms) => format!(
                "a context allows operations to take {} s (limit {} s)",
                text::count(ms.unsigned_abs() / 1000),
                text::count(most.unsigned_abs() / 1000)
            ),
            None => "an operation uses a context without a deadline".to_owned(),
        };
        let draft = code::draft(
            evidence,
            &first.place,
            match first.milliseconds {
                Some(ms) if ms < least => "short",
                Some(_) => "long",
                None => "missing",
            },
            what,
            match first.milliseconds {
                Some(ms) if ms < least => "no operation ends in that time, so each of them fails",
                _ => "when the server is slow, requests pile up until the process runs out of memory or connections",
            },
            "use context.WithTimeout(ctx, 10*time.Second) with the request's context, or set timeoutMS on the client",
        )
        .locations(others.iter().map(|other| other.place.location.clone()));
        cx.report(if is_pedantic { draft.pedantic() } else { draft });
    }
}
