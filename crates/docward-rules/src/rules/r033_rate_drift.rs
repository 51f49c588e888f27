//! DP-1, DP-2: the workload has the rates that the model declares.

use docward_model::{Collection, Draft, Operation, Seen, Subject, Unit, Workload};

use crate::facts::schema::declared::{self, Declared};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Rate drift
    ///
    /// ## What it checks
    /// Compares the reads and writes per second of each collection with the rates in the model. The measured
    /// rates come from a workload (`--log`, the profiler, or a running deployment). Reports rates above three
    /// times the declared rate, from 100 operations on.
    ///
    /// - Below one minute of workload, the report lists this rule as not checked.
    /// - Logs contain only slow operations, so a measured rate is a lower bound. A lower rate is never reported.
    ///
    /// ## Why it matters
    /// The frequency of reads and writes decides between embedding and referencing. When it changes, the design
    /// needs a review.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_order
    /// model
    /// name: shop
    /// entities:
    ///   order: {fields: {orderNo: string}}
    /// reads:
    ///   order page: {rate: 1/day, from: order, where: [orderNo]}
    /// ...
    /// {"orderNo": "A"}
    /// ran x8000 {"command": {"find": "t_order", "filter": {"orderNo": "A"}}, "nreturned": 1}
    /// ```
    /// The rate is declared:
    /// ```jsonl,clean,ns=db_shop.t_order
    /// model
    /// name: shop
    /// entities:
    ///   order: {fields: {orderNo: string}}
    /// reads:
    ///   order page: {rate: 100/s, from: order, where: [orderNo]}
    /// ...
    /// {"orderNo": "A"}
    /// ran x8000 {"command": {"find": "t_order", "filter": {"orderNo": "A"}}, "nreturned": 1}
    /// ```
    ///
    /// ## How to fix
    /// Write the measured rates into the model and run `docward design` again.
    ///
    /// ## When to ignore it
    /// The workload comes from a load test.
    R033, "rate-drift",
    level: Recommended,
    area: Growth,
    clauses: ["DP-1", "DP-2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload, Rates, Design],
    thresholds: [FACTOR, MIN_OPERATIONS],
    data: ["declaredPerSecond", "operations", "perSecond", "writes"],
    check: AnyCollection(check),
}

threshold!(
    FACTOR,
    "factor",
    Float(3.0),
    "times the declared rate",
    "our default",
    "maximum ratio of the recorded to the declared rate"
);
threshold!(
    MIN_OPERATIONS,
    "min-operations",
    Int(100),
    "operations",
    "our default",
    "minimum number of recorded operations on a collection"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(declared) = declared::of(cx) else { return };
    let Some(plan) = declared.plan(collection) else { return };
    let Some(workload) = &cx.evidence().workload else { return };
    let Some(seconds) = workload.seconds() else { return };
    let (least, factor) = (cx.count(&MIN_OPERATIONS), cx.limit(&FACTOR));
    for writes in [false, true] {
        let seen = operations(workload, collection, writes);
        let rate = seen as f64 / seconds;
        let expected = rates(&declared, &plan.entity, writes);
        if seen >= least && rate > expected * factor {
            cx.report(draft(collection, writes, seen, rate, expected));
        }
    }
}

fn operations(workload: &Workload, collection: &Collection, writes: bool) -> u64 {
    let is_write = |operation: Operation| {
        matches!(
            operation,
            Operation::Insert | Operation::Update | Operation::Delete | Operation::FindAndModify
        )
    };
    workload
        .shapes
        .iter()
        .filter(|stats| stats.shape.namespace == collection.namespace)
        // Fetching the rest of a result is not a separate read.
        .filter(|stats| stats.shape.operation != Operation::GetMore)
        .filter(|stats| is_write(stats.shape.operation) == writes)
        .map(|stats| stats.count)
        .sum()
}

/// Declared reads or writes per second on the collection of an entity. Reads that fetch it through another entity
/// count: with a reference, they are separate reads.
fn rates(declared: &Declared, entity: &str, writes: bool) -> f64 {
    // Embedded children are read and written with their documents.
    let inside: Vec<&str> = declared
        .design
        .decisions
        .iter()
        .filter(|d| d.parent == entity && d.choice == Some(docward_design::Choice::Embed))
        .map(|d| d.child.as_str())
        .chain([entity])
        .collect();
    let model = &declared.model;
    if writes {
        // Previews and counts in a parent are written with its children.
        let following = declared
            .design
            .decisions
            .iter()
            .filter(|d| d.parent == entity)
            .filter(|d| d.patterns.iter().any(|p| matches!(p.name(), "subset" | "computed")))
            .map(|d| d.child.as_str());
        let all: Vec<&str> = inside.iter().copied().chain(following).collect();
        let touched = model.writes.iter().filter(|w| all.iter().any(|name| w.touches(name)));
        return touched.map(|write| write.per_second).sum();
    }
    let touched = model.reads.iter().filter(|read| {
        let along = read.with.iter().filter_map(|with| model.relationship(&with.relationship));
        inside.contains(&read.from.as_str())
            || along
                .into_iter()
                .any(|r| inside.contains(&r.child.as_str()) || inside.contains(&r.parent.as_str()))
    });
    touched.map(|read| read.per_second).sum()
}

fn draft(collection: &Collection, writes: bool, seen: u64, rate: f64, expected: f64) -> Draft {
    let noun = if writes { "writes" } else { "reads" };
    let figure = |value: f64| {
        if value >= 0.1 {
            format!("{value:.1} a second")
        } else {
            format!("{:.1} an hour", value * 3600.0)
        }
    };
    Draft::new(
        Subject::Collection(collection.namespace.clone()),
        format!("{noun} come {} or more often; the model says {}", figure(rate), figure(expected)),
        "the choice between embedding and referencing depends on read and write rates, and the design used other rates",
        "enter the measured rates in the model, and run `docward design` again",
        Seen::all(seen, Unit::Operations),
    )
    .data("operations", seen)
    .data("perSecond", rate)
    .data("declaredPerSecond", expected)
    .data("writes", writes)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Example, check};

    fn body(rate: &str, times: u64) -> String {
        format!(
            "model\nname: shop\nentities:\n  order: {{fields: {{orderNo: string}}}}\nreads:\n  \
             order page: {{rate: {rate}, from: order, where: [orderNo]}}\n...\n@ db_shop.t_order\n\
             {{\"orderNo\": \"A\"}}\nran x{times} {{\"command\": {{\"find\": \"t_order\", \"filter\": {{\"orderNo\": \"A\"}}}}, \"nreturned\": 1}}"
        )
    }

    fn said(rate: &str, times: u64) -> Vec<String> {
        check("R033", &body(rate, times)).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn dp_1_more_than_three_times_the_declared_rate_is_drift() {
        // A hundred a second.
        assert_eq!(said("50/s", 8000), Vec::<String>::new());
        let found = said("20/s", 8000);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("100.0 a second") && found[0].contains("20.0 a second"),
            "{}",
            found[0]
        );
    }

    #[test]
    fn dp_2_a_short_time_says_nothing_about_rates() {
        assert_eq!(said("1/day", 500), Vec::<String>::new());
        let example = Example::new("R033", "", &body("1/day", 500));
        let judged = crate::judge(&example.evidence, &example.settings);
        let mut of_rule = judged.skipped.iter().filter(|skipped| skipped.rule == "R033");
        let needs = of_rule.next().map(|skipped| skipped.needs.as_str());
        assert_eq!(needs, Some("a workload of at least a minute"));
    }
}
