//! AP-S2.3 and CK-9: a query for each result of another query.

use std::collections::BTreeMap;

use docward_model::{
    Draft, Evidence, Severity,
    code::{Code, ListSource, LoopQuery},
};

use crate::{Cx, declare_rule, facts::code, threshold};

declare_rule! {
    /// # Query in loop
    ///
    /// ## What it checks
    /// Reports a query that code sends once for each element of stored data: for each result of another query, or for
    /// each element of an array in a loaded document. Loops, comprehensions, `map` and `forEach` are the same, and so
    /// are functions of the project that send the query. All queries of one loop are one finding.
    ///
    /// Loops over the request or over a list of unknown origin need `--select pedantic`.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - a list of constants, or one result
    ///
    /// Only with `--select pedantic`:
    /// - a list that the query limits to `max-queries` elements, or a collection that holds no more
    /// - a query that runs only for a key that was not met before
    /// - a function that also writes: it is a step for each element, and no query for all of them replaces it
    /// - a call that only looks like a query of MongoDB
    /// - code that never runs, scripts that are started by hand, and programs that one person uses in a terminal
    ///
    /// ## Why it matters
    /// Each query is a round trip. A list of 100 results takes 101 of them, and the time grows with the data.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const {MongoClient} = require('mongodb');
    /// app.get('/orders', async (req, res) => {
    ///   const orders = await db.collection('t_order').find({userId: req.user.id}).toArray();
    ///   for (const order of orders) {
    ///     order.customer = await db.collection('t_customer').findOne({_id: order.customerId});
    ///   }
    ///   res.json(orders);
    /// });
    /// ```
    /// ```javascript,clean
    /// const {MongoClient} = require('mongodb');
    /// app.get('/orders', async (req, res) => {
    ///   const orders = await db.collection('t_order').find({userId: req.user.id}).toArray();
    ///   const ids = orders.map(order => order.customerId);
    ///   const customers = await db.collection('t_customer').find({_id: {$in: ids}}).toArray();
    ///   const byId = new Map(customers.map(customer => [String(customer._id), customer]));
    ///   res.json(orders.map(order => ({...order, customer: byId.get(String(order.customerId))})));
    /// });
    /// ```
    ///
    /// ## How to fix
    /// Collect the keys and send one query with `$in`. Or let the server join: `$lookup`, `populate` of Mongoose,
    /// `select_related` of MongoEngine. For a count of each, group once with `$group`. If the two are always read
    /// together, embed one in the other, or copy the fields that you show.
    ///
    /// ## When to ignore it
    /// The list is always short, or a background job must not hold many documents in memory.
    W022, "query-in-loop",
    level: Recommended,
    area: Speed,
    severities: [Warn],
    clauses: ["AP-S2.3", "AP-S4.3", "CK-9", "DP-1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [MAX_QUERIES],
    data: ["queries"],
    check: Deployment(check),
}

threshold!(
    MAX_QUERIES,
    "max-queries",
    Int(10),
    "elements",
    "our default",
    "Docward warns only about loops over lists with more elements than this"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let most = cx.count(&MAX_QUERIES);
    let mut loops: BTreeMap<(bool, &str, u32), Vec<&LoopQuery>> = BTreeMap::new();
    for query in &found.queries.in_loops {
        if length(evidence, &query.list).is_some_and(|n| n <= 1) {
            continue;
        }
        let is_pedantic = !is_certain(evidence, found, query, most);
        let file = query.place.location.file.as_str();
        loops.entry((is_pedantic, file, query.loop_line)).or_default().push(query);
    }
    for ((is_pedantic, ..), mut queries) in loops {
        queries.sort_by(|a, b| a.place.location.cmp(&b.place.location));
        if let Some((first, others)) = queries.split_first() {
            let draft = draft(evidence, first, others);
            cx.report(if is_pedantic { draft.pedantic() } else { draft });
        }
    }
}

/// Whether it is proven that queries run for each element of stored data.
fn is_certain(evidence: &Evidence, found: &Code, query: &LoopQuery, most: u64) -> bool {
    query.is_proven
        && !query.is_remembered
        && matches!(query.list, ListSource::Query { .. } | ListSource::Document)
        && length(evidence, &query.list).is_none_or(|n| n > most)
        && code::runs_by_itself(found, &query.place)
}

/// The maximum number of elements of a list; `None` if it has no bound.
fn length(evidence: &Evidence, list: &ListSource) -> Option<u64> {
    match list {
        ListSource::Constant => Some(0),
        ListSource::Query { collection, limit } => {
            let limit = limit.and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
            let stored = code::stored_documents(evidence, collection.as_deref());
            limit.into_iter().chain(stored).min()
        }
        ListSource::Document | ListSource::Request | ListSource::Unknown => None,
    }
}

fn draft(evidence: &Evidence, query: &LoopQuery, others: &[&LoopQuery]) -> Draft {
    let each = match &query.list {
        ListSource::Query { collection: Some(name), .. } => {
            format!("document that a query of `{name}` returns")
        }
        ListSource::Query { .. } => "document that a query returns".to_owned(),
        ListSource::Document => "element of an array in a loaded document".to_owned(),
        ListSource::Request => "element of a list in the request".to_owned(),
        ListSource::Constant | ListSource::Unknown => "element of a list".to_owned(),
    };
    let queries = match (&query.collection, others.len()) {
        (Some(name), 0) => format!("queries `{name}`"),
        (None, 0) => "sends a query".to_owned(),
        (Some(name), n) => format!("sends {} queries, the first to `{name}`,", n + 1),
        (None, n) => format!("sends {} queries", n + 1),
    };
    let through = match &query.through {
        Some(name) if others.is_empty() => format!("calls `{name}`, which {queries},"),
        _ => queries,
    };
    let about = query.collection.as_deref().or(query.through.as_deref()).unwrap_or("query");
    code::draft(
        evidence,
        &query.place,
        about,
        format!("the loop in line {} {through} for each {each}", query.loop_line),
        "each query is a round trip, so the time grows with the list: 100 elements take 100 round trips",
        "send one query for all of them: find with $in, $lookup (Mongoose: populate), or $group for counts",
    )
    .data("queries", others.len() + 1)
    .locations(others.iter().map(|other| other.place.location.clone()))
    .severity(Severity::Warn)
}
