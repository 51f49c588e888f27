//! CK-12: requests that load a whole collection.

use docward_model::{
    Draft, Evidence, Severity,
    code::{Code, FilterKind, ListQuery},
};

use crate::{Cx, declare_rule, facts::code, threshold};

declare_rule! {
    /// # Unbounded find
    ///
    /// ## What it checks
    /// Reports a query in a request handler, or in a function that one calls, that loads a whole collection into memory:
    /// without a condition, without a limit, and with `toArray()`, `list(…)`, `All(ctx, &all)` or a mapper that returns lists. It is a warning when
    /// the collection grows:
    /// - a request handler, or a function with data of its callers, inserts documents into it, or
    /// - the data show more than `max-documents` documents (`docward audit --code`).
    ///
    /// Other queries without a limit need `--select pedantic`.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - a cursor that is read one document at a time
    /// - a collection that holds at most `max-documents` documents, if the data show it
    ///
    /// Only with `--select pedantic`:
    /// - a filter by flags only (`active: true`, `$ne`, `$exists`), which may leave few documents
    /// - queries outside request handlers, calls that only look like a query of MongoDB, and code that never runs
    ///
    /// ## Why it matters
    /// The query reads every document. Answers get slower as the collection grows, until the process has no memory
    /// left.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const {MongoClient} = require('mongodb');
    /// app.get('/orders', async (req, res) => {
    ///   res.json(await db.collection('t_order').find({}).toArray());
    /// });
    /// app.post('/orders', async (req, res) => {
    ///   await db.collection('t_order').insertOne(req.body);
    ///   res.sendStatus(201);
    /// });
    /// ```
    /// ```javascript,clean
    /// const {MongoClient} = require('mongodb');
    /// app.get('/orders', async (req, res) => {
    ///   const after = req.query.after ? {_id: {$gt: new ObjectId(req.query.after)}} : {};
    ///   res.json(await db.collection('t_order').find(after).sort({_id: 1}).limit(50).toArray());
    /// });
    /// app.post('/orders', async (req, res) => {
    ///   await db.collection('t_order').insertOne(req.body);
    ///   res.sendStatus(201);
    /// });
    /// ```
    ///
    /// ## How to fix
    /// Add `limit`, and continue behind the last key that was shown (`_id` greater than it). Compute counts, sums and
    /// the largest values on the server. For an export, read the cursor one document at a time and write a stream.
    ///
    /// ## When to ignore it
    /// The collection is a list that the operator keeps short, such as countries.
    W023, "unbounded-find",
    level: Recommended,
    area: Speed,
    severities: [Warn],
    clauses: ["CK-12"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [MAX_DOCUMENTS],
    data: ["documents"],
    check: Deployment(check),
}

threshold!(
    MAX_DOCUMENTS,
    "max-documents",
    Int(1000),
    "documents",
    "our default",
    "maximum number of documents in a collection that code may load completely"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let most = cx.count(&MAX_DOCUMENTS);
    for query in &found.queries.lists {
        let stored = code::stored_documents(evidence, query.collection.as_deref());
        if stored.is_some_and(|n| n <= most) {
            continue;
        }
        let draft = draft(evidence, query, stored);
        let grows = stored.is_some() || grows(found, query);
        let is_certain = is_of_request(found, query) && grows;
        cx.report(if is_certain { draft } else { draft.pedantic() });
    }
}

/// Whether it is proven that a request loads a whole collection.
fn is_of_request(found: &Code, query: &ListQuery) -> bool {
    query.is_proven
        && is_requested(found, query)
        && query.filter == FilterKind::Nothing
        && code::runs_by_itself(found, &query.place)
}

/// Whether a request handler sends the query, itself or through functions.
fn is_requested(found: &Code, query: &ListQuery) -> bool {
    query.in_handler || found.is_requested(&query.place)
}

fn grows(found: &Code, query: &ListQuery) -> bool {
    query.collection.as_ref().is_some_and(|name| found.queries.grown.contains(name))
}

fn draft(evidence: &Evidence, query: &ListQuery, stored: Option<u64>) -> Draft {
    let is_requested = evidence.code.as_ref().is_some_and(|found| is_requested(found, query));
    let who = if is_requested { "each request loads" } else { "this query loads" };
    let which = match query.filter {
        FilterKind::Nothing => "all documents".to_owned(),
        FilterKind::Flags => {
            let fields: Vec<String> =
                query.fields.iter().map(|field| format!("`{field}`")).collect();
            format!("all documents that match {}", fields.join(", "))
        }
    };
    let of = code::of(query.collection.as_deref());
    let now =
        stored.map(|n| format!(" (now {})", docward_model::text::count(n))).unwrap_or_default();
    let draft = code::draft(
        evidence,
        &query.place,
        query.collection.as_deref().unwrap_or("find"),
        format!("{who} {which}{of}{now} into memory"),
        "time and memory grow with the collection, until the process runs out of memory",
        "add a limit and continue behind the last key shown; compute counts and sums on the server; read exports with a cursor",
    )
    .severity(Severity::Warn);
    match stored {
        Some(n) => draft.data("documents", n),
        None => draft,
    }
}
