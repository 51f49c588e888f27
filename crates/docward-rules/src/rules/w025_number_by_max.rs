//! CK-15: the next number of a series, computed from an earlier read.

use docward_model::{
    Collection, Draft, Evidence, Severity,
    code::{NextNumber, NumberBasis},
};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Number by max
    ///
    /// ## What it checks
    /// Reports code that computes the number of a new document from the stored ones, and then stores the document in
    /// the same collection:
    /// - it reads the document with the largest number (`sort({number: -1}).limit(1)`, `$max`) and adds 1, or
    /// - it counts the documents and adds 1.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - a function that handles the duplicate-key error
    ///
    /// Only with `--select pedantic`:
    /// - a field with a unique index, if the data show it
    /// - a document of a collection that Docward does not know
    /// - code that never runs, scripts that are started by hand, and programs that one person uses in a terminal
    ///
    /// ## Why it matters
    /// Two processes read the same number at the same time, and both store it. With a unique index one of them fails
    /// instead. A count also gives a number again after a document was deleted.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const {MongoClient} = require('mongodb');
    /// async function bill(order) {
    ///   const last = await db.collection('t_bill').find().sort({number: -1}).limit(1).next();
    ///   await db.collection('t_bill').insertOne({number: last.number + 1, order});
    /// }
    /// ```
    /// ```javascript,clean
    /// const {MongoClient} = require('mongodb');
    /// async function bill(order) {
    ///   const {next} = await db.collection('t_counter').findOneAndUpdate(
    ///     {_id: 'bill'}, {$inc: {next: 1}}, {upsert: true, returnDocument: 'after'});
    ///   await db.collection('t_bill').insertOne({number: next, order});
    /// }
    /// ```
    ///
    /// ## How to fix
    /// Keep the last number in a counter document and take the next one with `findOneAndUpdate` and `$inc`. Add a unique
    /// index on the field in any case. If numbers are rarely taken, insert, and try the next number after a
    /// duplicate-key error (code 11000).
    ///
    /// ## When to ignore it
    /// One process writes at a time, or the number only sorts and may occur twice.
    W025, "number-by-max",
    level: Recommended,
    area: Correctness,
    severities: [Warn],
    clauses: ["CK-15"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: ["path"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    for number in found.queries.next_numbers.iter().filter(|number| !number.retries) {
        let is_certain = number.is_proven
            && !is_unique(evidence, number)
            && code::runs_by_itself(found, &number.place);
        let draft = draft(evidence, number);
        cx.report(if is_certain { draft } else { draft.pedantic() });
    }
}

/// Whether an index of the data refuses a second document with the number.
fn is_unique(evidence: &Evidence, number: &NextNumber) -> bool {
    let refuses = |collection: &Collection, field: &str| {
        collection.indexes.iter().flatten().any(|index| {
            let is_only = index.keys.len() == 1 && index.keys[0].path == field;
            is_only && (index.unique || index.is_id())
        })
    };
    let (Some(name), Some(field)) = (&number.collection, &number.field) else { return false };
    let of_name = |collection: &&Collection| collection.namespace.collection == *name;
    evidence.collections.iter().filter(of_name).any(|collection| refuses(collection, field))
}

fn draft(evidence: &Evidence, number: &NextNumber) -> Draft {
    let field = number.field.as_deref().map_or("a number".to_owned(), |name| format!("`{name}`"));
    let of = code::of(number.collection.as_deref());
    let basis = match number.basis {
        NumberBasis::Largest => "the largest stored number",
        NumberBasis::Count => "the count of documents",
    };
    let draft = code::draft(
        evidence,
        &number.place,
        number.field.as_deref().unwrap_or("number"),
        format!("the code computes {field}{of} as {basis} plus 1"),
        match number.basis {
            NumberBasis::Largest => "two processes that read at the same time store the same number",
            NumberBasis::Count => "two processes that count at the same time store the same number, and so does one after a document was deleted",
        },
        "take the number from a counter document with findOneAndUpdate and $inc, and create a unique index on the field",
    )
    .severity(Severity::Warn);
    match &number.field {
        Some(field) => draft.data("path", field.as_str()),
        None => draft,
    }
}
