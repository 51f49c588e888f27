//! CK-12: pages that are reached by skipping documents.

use docward_model::{Draft, Evidence, code::SkipQuery};

use crate::{Cx, declare_rule, facts::code, threshold};

declare_rule! {
    /// # Skip paging
    ///
    /// ## What it checks
    /// Reports a query that skips as many documents as the request or the callers of a function ask for:
    /// `find().skip(page * size).limit(size)`, `SetSkip`, `$skip`, `PageRequest.of(page, size)`. Code that pages expects
    /// many documents, so it is a warning.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - a constant number, and a number that the code bounds: `Math.min(page, 100)`, `if (page > 100)`
    /// - a collection that holds at most `max-documents` documents, if the data show it
    ///
    /// Only with `--select pedantic`:
    /// - a number of unknown origin, and a call that only looks like a query of MongoDB
    /// - code that never runs, scripts that are started by hand, and programs that one person uses in a terminal
    ///
    /// ## Why it matters
    /// The server reads all documents that it skips: page 1,000 costs a thousand times as much as page 1. A document
    /// that is inserted between two requests moves the others, so a reader sees one twice or misses one.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const {MongoClient} = require('mongodb');
    /// app.get('/orders', async (req, res) => {
    ///   const page = Number(req.query.page);
    ///   res.json(await db.collection('t_order').find({}).sort({_id: 1}).skip(page * 20).limit(20).toArray());
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
    ///   res.json(await db.collection('t_order').find(after).sort({_id: 1}).limit(20).toArray());
    /// });
    /// app.post('/orders', async (req, res) => {
    ///   await db.collection('t_order').insertOne(req.body);
    ///   res.sendStatus(201);
    /// });
    /// ```
    ///
    /// ## How to fix
    /// Sort by an indexed key that ends with `_id`, and return the last key with each page. Read the next page with a
    /// filter on that key: `{_id: {$gt: last}}`. If users need page numbers, bound them.
    ///
    /// ## When to ignore it
    /// Users open only the first pages, or a filter always leaves few documents.
    W024, "skip-paging",
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
    Int(10_000),
    "documents",
    "our default",
    "maximum number of documents in a collection in which skipping is cheap"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let most = cx.count(&MAX_DOCUMENTS);
    for skip in found.queries.skips.iter().filter(|skip| !skip.is_bounded) {
        let stored = code::stored_documents(evidence, skip.collection.as_deref());
        if stored.is_some_and(|n| n <= most) {
            continue;
        }
        let is_certain = skip.is_proven
            && (skip.from_request || skip.from_caller)
            && code::runs_by_itself(found, &skip.place);
        let draft = draft(evidence, skip, stored);
        cx.report(if is_certain { draft } else { draft.pedantic() });
    }
}

fn draft(evidence: &Evidence, skip: &SkipQuery, stored: Option<u64>) -> Draft {
    let of = code::of(skip.collection.as_deref());
    let what = match (skip.from_request, stored) {
        (true, Some(n)) => {
            let n = docward_model::text::count(n);
            format!("each request chooses how many of the {n} documents{of} the query skips")
        }
        (true, None) => format!("each request chooses how many documents{of} the query skips"),
        (false, _) if skip.from_caller => {
            format!("this query skips as many documents{of} as callers ask for")
        }
        (false, _) => format!("this query skips a computed number of documents{of}"),
    };
    let draft = code::draft(
        evidence,
        &skip.place,
        "skip",
        what,
        "the server reads all documents that it skips: page 1,000 costs a thousand times as much as page 1",
        "sort by an indexed key, and read the next page with a filter on the last key shown: {_id: {$gt: last}}",
    );
    match stored {
        Some(n) => draft.data("documents", n),
        None => draft,
    }
}
