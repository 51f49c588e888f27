//! DM-08.2: statements that make an array longer with nothing that keeps it short.

use std::collections::BTreeMap;

use docward_model::{
    Collection, Evidence, Level, Location, Severity,
    code::{Append, AppendKind, Cap, Code},
};

use crate::{
    Cx, declare_rule,
    facts::{
        arrays::{self, Limits, Owner},
        code, growing, names, patterns,
    },
};

declare_rule! {
    /// # Uncapped append
    ///
    /// ## What it checks
    /// Reports statements in source code that add to an array of a stored document without a bound:
    /// `$push` and `$addToSet` without `$slice`, `$concatArrays` in an update, `push__field` of MongoEngine,
    /// `Updates.push` and Spring's `Update.push`, and elements added to a document that was loaded and is
    /// saved again, or to a list that was read and is set again. A filter that matches only while there is room (`count: {$lt: 60}` with `$inc`,
    /// `"items.99": {$exists: false}`, `$size`) bounds it, so does cutting or testing the length in the same
    /// function, a `$slice` that is put into what is pushed on the way, and `maxItems` of the model. People who take out
    /// what they put in themselves (`post.comments = post.comments.filter(…)` of a loaded document) bound nothing. So does a document that the same function makes, or of which there is
    /// one for each day or hour (a part of a date in the filter, with an upsert). Values that stand in the code
    /// itself (`$addToSet: {roles: "admin"}`), or are looked up in a list that does, are few. A statement alone
    /// does not tell a list of roles from a list of logins: it is a warning where the name says something of
    /// which there is more each day (`comments`, `events`, `loginHistory`, `messageIds`), and a note elsewhere
    /// (`members`, `files`, `revisions`, `promotionHistory`), where it tells the life of one thing that is soon done (the `events` of an
    /// order, a job or a shipment, the `attempts` of a payment, a history, an audit trail or approvals whose statement sets a status with it), where
    /// one document is found by its day (`findOne({userId, today})`), where another update takes elements out (`$pull`, `pull__field`), empties it
    /// (`{$set: {unread: []}}`) or keeps the last ones, where the
    /// array is searched first so that each key is there once or what has the key is taken out before, where a test of the state that the same function changes stands before, where the filter asks for a state that the same
    /// update changes (`active: {$ne: true}` with `$set: {active: true}`) or for young documents, and where the
    /// file has a bound for its length elsewhere, and in code that never runs (a method that nobody calls, a file that no other
    /// takes in). What a schema of Mongoose does not
    /// declare is not stored. One array is one finding, at its first statement, however many
    /// add to it, and from whichever files. `$push` of a `$group` stage stores nothing, and what migrations and other scripts do once grows
    /// nothing.
    ///
    /// ## Why it matters
    /// The array grows with every call until the document reaches 16 MB and no write succeeds. Long before
    /// that, each read and each write carries all of it.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const {MongoClient} = require('mongodb');
    /// async function login(db, id, entry) {
    ///   await db.collection('t_user').updateOne({_id: id}, {$push: {logins: entry}});
    /// }
    /// ```
    /// ```javascript,clean
    /// const {MongoClient} = require('mongodb');
    /// async function login(db, id, entry) {
    ///   await db.collection('t_user').updateOne({_id: id}, {$push: {logins: {$each: [entry], $slice: -10}}});
    ///   await db.collection('t_sensor').updateOne(
    ///     {sensorId: id, count: {$lt: 60}}, {$push: {readings: entry}, $inc: {count: 1}}, {upsert: true});
    /// }
    /// ```
    ///
    /// ## How to fix
    /// Only the last ones matter: `$push` with `$each` and `$slice: -N`. Each is an entity of its own: a
    /// collection with a reference to the parent, and a count on the parent. Measurements: a time series, or
    /// one document per hour. A few giants: overflow pages.
    ///
    /// ## When to ignore it
    /// The application bounds it elsewhere; say so with `[[collections.bounded]]` in `docward.toml`.
    D020, "uncapped-append",
    level: Prohibited,
    area: Growth,
    severities: [Error, Warn, Info],
    clauses: ["DM-08.2", "DM-08.4", "CK-4", "CK-8", "AP-S2.1", "AP-S4.1", "AP-S0.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: ["path", "statements"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let mut arrays: BTreeMap<Array<'_>, Vec<Grown<'_>>> = BTreeMap::new();
    for append in found.appends.iter().filter(|append| append.cap == Cap::None) {
        if is_declared(append, evidence, cx)
            || is_told_with_the_data(append, evidence, cx)
            || found.is_not_stored(append.collection.as_deref(), &append.path)
        {
            continue;
        }
        let sliced = found.appends.iter().any(|other| {
            other.path == append.path
                && !append.path.contains(['*', '['])
                && other.collection == append.collection
                && other.place.location.file == append.place.location.file
                && matches!(other.cap, Cap::Slice(_))
        });
        let few = append.few.or_else(|| is_cut_elsewhere(found, append).then_some(CUT));
        let few = few.or_else(|| is_of_a_day(found, append).then_some(OF_A_DAY));
        let grows = growing::grows_by_nature(&append.path)
            && !growing::is_about_few(append)
            && !found.is_never_run(&append.place);
        let severity = match (sliced, grows && few.is_none()) {
            (true, _) => Severity::Error,
            (false, true) => Severity::Warn,
            (false, false) => Severity::Info,
        };
        let grown = Grown { append, sliced, few, severity };
        let alone = draft(evidence, &grown, &[]);
        if cx.is_accepted(&alone) {
            cx.report(alone);
            continue;
        }
        arrays.entry(array_of(append)).or_default().push(grown);
    }
    for mut statements in joined(arrays) {
        // The loudest is told, and of those the first.
        statements.sort_by(|a, b| {
            let place = |grown: &Grown<'_>| grown.append.place.location.clone();
            b.severity.cmp(&a.severity).then_with(|| place(a).cmp(&place(b)))
        });
        if let Some((first, others)) = statements.split_first() {
            cx.report(draft(evidence, first, others));
        }
    }
}

/// A statement that makes an array longer.
struct Grown<'a> {
    append: &'a Append,
    /// Whether another statement keeps the array short.
    sliced: bool,
    few: Option<&'static str>,
    severity: Severity,
}

/// What tells one array from another: the collection or, where that is not known, the file, and its path. A path that
/// is computed may lead anywhere: each statement is on its own.
type Array<'a> = (Option<&'a str>, Option<&'a str>, String, Option<&'a Location>);

fn array_of(append: &Append) -> Array<'_> {
    let collection = append.collection.as_deref();
    let location = &append.place.location;
    let file = Some(location.file.as_str()).filter(|_| collection.is_none());
    let is_known = !append.path.contains(['*', '[']);
    (collection, file, code::plain_path(&append.path), Some(location).filter(|_| !is_known))
}

/// The statements of each array. Those of which the collection is not known belong to the array of that name, where
/// there is one and the name is no everyday word.
fn joined<'a>(arrays: BTreeMap<Array<'a>, Vec<Grown<'a>>>) -> Vec<Vec<Grown<'a>>> {
    let mut known: BTreeMap<(Option<&'a str>, String), Vec<Grown<'a>>> = BTreeMap::new();
    let mut alone = Vec::new();
    let mut everyday = Vec::new();
    for ((collection, _, path, place), statements) in arrays {
        let is_telling = names::words(path.rsplit('.').next().unwrap_or_default()).len() > 1;
        match place.is_none() && (collection.is_some() || is_telling) {
            true => known.entry((collection, path)).or_default().extend(statements),
            false if place.is_none() => everyday.push((path, statements)),
            false => alone.push(statements),
        }
    }
    // An everyday word is the array of that name which the same file adds to under the name of its collection.
    for (path, statements) in everyday {
        let file = |grown: &Grown<'a>| grown.append.place.location.file.as_str();
        let here = statements.first().map(file);
        let mut same = known.iter().filter(|((of, other), had)| {
            of.is_some() && *other == path && had.iter().any(|grown| Some(file(grown)) == here)
        });
        let only = same.next().map(|(key, _)| key.clone()).filter(|_| same.next().is_none());
        match only {
            Some(only) => known.entry(only).or_default().extend(statements),
            None => alone.push(statements),
        }
    }
    let unknown: Vec<String> =
        known.keys().filter(|(of, _)| of.is_none()).map(|(_, path)| path.clone()).collect();
    for path in unknown {
        let mut same = known.keys().filter(|(of, other)| of.is_some() && *other == path);
        let (Some(only), None) = (same.next().cloned(), same.next()) else { continue };
        let moved = known.remove(&(None, path)).unwrap_or_default();
        known.entry(only).or_default().extend(moved);
    }
    alone.extend(known.into_values());
    alone
}

const OF_A_DAY: &str = "one document is found by its day";

/// Whether documents of the collection are found by a day and what they are of: each holds what belongs to that day.
fn is_of_a_day(found: &Code, append: &Append) -> bool {
    append.collection.as_ref().is_some_and(|collection| {
        found.day_keys.iter().any(|(of, name)| of == collection && !name.is_empty())
    })
}

const CUT: &str = "another statement takes elements out of it";

/// Whether a statement anywhere takes elements out of the array, or keeps only the last ones.
fn is_cut_elsewhere(found: &Code, append: &Append) -> bool {
    let is_known = !append.path.contains(['*', '[']);
    let fits = |collection: &Option<String>, path: &str| {
        code::plain_path(path) == code::plain_path(&append.path)
            && (collection.is_none()
                || append.collection.is_none()
                || *collection == append.collection)
    };
    let taken = found.set_paths.iter().any(|set| {
        matches!(set.operator.as_str(), "$pull" | "$pullAll" | "$pop")
            && fits(&set.collection, &set.path)
    });
    let kept = found
        .appends
        .iter()
        .any(|other| matches!(other.cap, Cap::Slice(_)) && fits(&other.collection, &other.path));
    is_known && (taken || kept)
}

/// Whether the documents show the array growing: then code and data are one finding, D008's.
fn is_told_with_the_data(append: &Append, evidence: &Evidence, cx: &Cx<'_>) -> bool {
    let named = |collection: &&Collection| {
        append.collection.as_deref() == Some(collection.namespace.collection.as_str())
    };
    evidence.collections.iter().filter(named).any(|collection| {
        let Some(profile) = patterns::user_documents(collection) else { return false };
        let limits = Limits::of(cx.settings(), &collection.namespace);
        let path = code::plain_path(&append.path);
        profile.fields.iter().filter(|field| field.path.as_str().replace("[]", "") == path).any(
            |field| {
                let owner =
                    arrays::owner(cx.settings(), evidence, collection, profile, field, &limits);
                matches!(owner, Some(Owner::Unbounded(_)))
            },
        )
    })
}

/// Whether the settings or the model bound the array.
fn is_declared(append: &Append, evidence: &Evidence, cx: &Cx<'_>) -> bool {
    let by_settings = cx.settings().bounded_arrays.iter().any(|(pattern, path, _)| {
        *path == append.path
            && append.collection.as_ref().is_none_or(|collection| {
                pattern.matches(collection) || pattern.as_str().ends_with(&format!(".{collection}"))
            })
    });
    let fields = evidence.code.iter().flat_map(|code| &code.fields);
    by_settings
        || fields.into_iter().any(|field| {
            field.path == append.path
                && field.max_items.is_some()
                && append.collection.as_ref().is_some_and(|collection| {
                    *collection == field.model || field.collection.as_ref() == Some(collection)
                })
        })
}

fn draft(evidence: &Evidence, first: &Grown<'_>, others: &[Grown<'_>]) -> docward_model::Draft {
    let Grown { append, sliced, few, severity } = first;
    let path = match append.path.as_str() {
        "*" => "an array whose name is computed".to_owned(),
        path if path.starts_with('[') => {
            format!("the array named by `{}`", path.trim_matches(['[', ']']))
        }
        path => format!("`{path}`"),
    };
    let of = code::of(append.collection.as_deref());
    let also = match few {
        _ if *sliced => {
            "; another statement keeps it short with $slice, this one does not".to_owned()
        }
        Some(why) => format!("; {why}"),
        None => String::new(),
    };
    let more = match others.len() {
        0 => String::new(),
        1 => "; another statement does, too".to_owned(),
        n => format!("; {n} other statements do, too"),
    };
    let what = format!("{} makes {path}{of} longer with no bound{also}{more}", append.kind.text());
    let todo = match append.kind {
        AppendKind::Push | AppendKind::Concat | AppendKind::Document => format!(
            "if only the last ones matter: {{$push: {{{}: {{$each: […], $slice: -100}}}}}}; if each is an entity of its own: a collection that refers to the parent",
            if append.path == "*" { "field" } else { &append.path }
        ),
        AppendKind::AddToSet => "keep the pairs in a collection of their own with a unique index on both ids, or test the length in the filter".to_owned(),
    };
    code::draft(
        evidence,
        &append.place,
        &format!("{} {}", append.kind.text(), append.path),
        what,
        "it grows with every call until the document reaches 16 MB and every write fails; before that, each read and write carries all of it",
        todo,
    )
    .data("path", append.path.as_str())
    // One site, whatever the data look like: likely rather than certain.
    .severity(*severity)
    .data("statements", others.len() as u64 + 1)
    .level(Level::Prohibited)
    .locations(others.iter().map(|other| other.append.place.location.clone()))
}

#[cfg(test)]
mod tests;
