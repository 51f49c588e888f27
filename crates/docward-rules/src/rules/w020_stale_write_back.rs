//! CK-15: values that are read, changed in memory and written back.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    Draft, Evidence,
    code::{Change, Code, ReadThenWrite, WriteGuard},
};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Stale write-back
    ///
    /// ## What it checks
    /// Reports code that reads a document, computes a new value from it in memory and writes that back:
    /// - `doc.count += 1; doc.save()`, also in methods of schemas and on documents that a function of the project loads
    ///   and returns,
    /// - `$set: {count: doc.count + 1}` with a `doc` that was read before,
    /// - `account.setBalance(account.getBalance().add(x))` with Spring Data,
    /// - `$set: {items: items}` with a list or map of a document that was read, of which the code changed elements,
    /// - `replaceOne(filter, doc)` or `$set: doc` with the whole document.
    ///
    /// All fields that one function changes in one collection are one finding.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - reading and writing in one transaction
    /// - a write that asks for the version or value that was read: `@Version`, `optimisticConcurrency`, a list that Mongoose writes as a whole, the value in the filter
    /// - a function that leaves the counting to `$inc` and sets the value in a special case
    /// - a field that the schema does not declare, which is not stored
    /// - an object of a caller with its own `save`, if no model declares the field
    ///
    /// Only with `--select pedantic`:
    /// - a session that the function is given, with which callers may have begun a transaction
    /// - code that never runs, scripts that are started by hand, and programs that one person uses in a terminal
    ///
    /// ## Why it matters
    /// Between the two, another process reads the same value: both write, and one change is lost. Counters,
    /// balances and stocks drift.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const mongoose = require('mongoose');
    /// const Wallet = mongoose.model('Wallet', schema);
    /// async function pay(userId, amount) {
    ///   const wallet = await Wallet.findOne({user: userId});
    ///   if (wallet.balance < amount) throw new Error('not enough');
    ///   wallet.balance -= amount;
    ///   await wallet.save();
    /// }
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    /// const Wallet = mongoose.model('Wallet', schema);
    /// async function pay(userId, amount) {
    ///   const paid = await Wallet.updateOne(
    ///     {user: userId, balance: {$gte: amount}}, {$inc: {balance: -amount}});
    ///   if (paid.modifiedCount === 0) throw new Error('not enough');
    /// }
    /// ```
    ///
    /// ## How to fix
    /// Let the server do it: `$inc`, `$mul`, `$min`, `$max`, an update with a pipeline, or `findOneAndUpdate`
    /// when the result is needed. Where that cannot be, put the value that was read into the filter, or a
    /// version.
    ///
    /// ## When to ignore it
    /// One process writes at a time, or the value may be off.
    W020, "stale-write-back",
    level: Recommended,
    area: Correctness,
    severities: [Warn],
    clauses: ["CK-15"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

/// A case in which a write is not reported, or only to users who select `pedantic`.
struct Exception {
    /// The text of the page, in its list of exceptions.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares it with the page"))]
    text: &'static str,
    is_silent: bool,
    applies: fn(&Code, &ReadThenWrite) -> bool,
}

const EXCEPTIONS: [Exception; 7] = [
    Exception {
        text: "reading and writing in one transaction",
        is_silent: true,
        applies: |_, write| write.guard == Some(WriteGuard::Transaction),
    },
    Exception {
        text: "a write that asks for the version or value that was read: `@Version`, `optimisticConcurrency`, a list that Mongoose writes as a whole, the value in the filter",
        is_silent: true,
        applies: |_, write| write.guard == Some(WriteGuard::Version),
    },
    Exception {
        text: "a function that leaves the counting to `$inc` and sets the value in a special case",
        is_silent: true,
        applies: |_, write| write.guard == Some(WriteGuard::ServerCounts),
    },
    Exception {
        text: "a field that the schema does not declare, which is not stored",
        is_silent: true,
        applies: |found, write| found.is_not_stored(write.collection.as_deref(), &write.path),
    },
    Exception {
        text: "an object of a caller with its own `save`, if no model declares the field",
        is_silent: true,
        applies: |found, write| write.from_caller && !found.is_declared(&write.path),
    },
    Exception {
        text: "a session that the function is given, with which callers may have begun a transaction",
        is_silent: false,
        applies: |_, write| write.guard == Some(WriteGuard::GivenSession),
    },
    Exception {
        text: "code that never runs, scripts that are started by hand, and programs that one person uses in a terminal",
        is_silent: false,
        applies: |found, write| {
            found.is_never_run(&write.place)
                || found.is_hand_run(&write.place.location.file)
                || found.is_for_one_person()
        },
    },
];

/// The file, the function, the collection it writes to, and the line of the function if it has no name.
type Function<'a> = (&'a str, Option<&'a str>, Option<&'a str>, Option<u32>);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    // All changes that one function makes to one document are one finding.
    let mut functions: BTreeMap<(bool, Function<'_>), Vec<&ReadThenWrite>> = BTreeMap::new();
    for write in found.read_then_writes.iter().filter(|write| write.change != Change::Truncated) {
        let mut exceptions = EXCEPTIONS.iter().filter(|e| (e.applies)(found, write));
        let exception = exceptions.next();
        if exception.is_some_and(|exception| exception.is_silent) {
            continue;
        }
        let place = &write.place;
        // Functions without a name are distinguished by their lines.
        let own = place.function.is_none().then_some(write.read_line);
        let function = (
            place.location.file.as_str(),
            place.function.as_deref(),
            write.collection.as_deref(),
            own,
        );
        functions.entry((exception.is_some(), function)).or_default().push(write);
    }
    for ((is_pedantic, _), mut writes) in functions {
        writes.sort_by(|a, b| a.place.location.cmp(&b.place.location));
        if let Some(draft) = draft(evidence, &writes) {
            cx.report(if is_pedantic { draft.pedantic() } else { draft });
        }
    }
}

fn draft(evidence: &Evidence, writes: &[&ReadThenWrite]) -> Option<Draft> {
    // If the code replaces the whole document, its single fields are not listed.
    let whole = writes.iter().find(|write| write.change == Change::Document);
    let write = whole.or(writes.first())?;
    let path = &write.path;
    let others: BTreeSet<&str> =
        writes.iter().map(|other| other.path.as_str()).filter(|other| other != path).collect();
    let inc = format!("{{$inc: {{{path}: …}}}}");
    let concat = format!("[{{$set: {{{path}: {{$concat: [\"${path}\", …]}}}}}}]");
    let todo = match write.change {
        Change::Truncated => return None,
        Change::Number => format!("{inc}, or findOneAndUpdate when the new value is needed"),
        Change::Text => format!("append on the server: updateOne(filter, {concat})"),
        Change::Value => format!("change the value on the server: {inc} for a number, {concat} for text"),
        Change::List => format!("change only the elements: {{$push: {{{path}: …}}}}, {{$pull: {{{path}: …}}}}, or $set of the path of one element"),
        Change::Document => "use updateOne with $set, $inc or $push of the changed fields, or add a version to the filter and retry if it has changed".to_owned(),
    };
    let of = code::of(write.collection.as_deref());
    let what = match (write.change, others.len()) {
        (Change::Document, _) => {
            format!(
                "the code reads a document{of}, changes it in memory and replaces the whole document"
            )
        }
        (_, 0) => format!("the code reads `{path}`{of}, changes it in memory and writes it back"),
        (_, 1) => {
            format!(
                "the code reads `{path}` and another field{of}, changes them in memory and writes them back"
            )
        }
        (_, n) => format!(
            "the code reads `{path}` and {n} other fields{of}, changes them in memory and writes them back"
        ),
    };
    let about = if path.is_empty() { "document" } else { path };
    let why = "if another process does this at the same time, one of the two changes is lost";
    Some(code::draft(evidence, &write.place, about, what, why, todo))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_the_exceptions() {
        let page = W020.meta.section("Exceptions").expect("a section");
        assert_eq!(page.matches("- ").count(), EXCEPTIONS.len(), "{page}");
        assert!(EXCEPTIONS.iter().all(|exception| page.contains(exception.text)), "{page}");
    }
}
