//! CK-12: queries in code that no index serves.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    Collection, DirectionKind, Draft, Evidence, Index, NewIndex, Profile, Safety, Severity, Step,
    code::{Code, FieldQuery},
};

use crate::{
    Cx, declare_rule,
    facts::{code, text, values::classes},
    threshold,
};

declare_rule! {
    /// # Unindexed query in code
    ///
    /// ## What it checks
    /// Compares queries in code with indexes (`docward audit DATA --code PATH`). Reports a query if no index begins with
    /// one of the fields that it compares, and if the documents show that an index would help:
    /// - the collection has 1,000 documents or more
    /// - one of the fields is in most documents, and one value of it finds a tenth of them or less
    ///
    /// An index that code declares counts as well. Negations and patterns do not select anything, so their fields do not
    /// count. Queries by `_id`, with `$or` or with computed fields are not checked, nor are scripts that are run by hand.
    ///
    /// Without data, `docward lint --select pedantic` compares queries with the indexes that the code declares, for
    /// models that declare at least one.
    ///
    /// ## Why it matters
    /// The server reads the whole collection for each such query. Tests with few documents do not show it.
    ///
    /// ## Example
    /// ```jsonl,fires,min-documents=10
    /// source app.js
    /// const {MongoClient} = require('mongodb');
    /// exports.load = (email) => db.collection('t_user').findOne({email});
    /// ...
    /// @ db_shop.t_user
    /// index {"key": {"_id": 1}, "name": "_id_"}
    /// x20 {"_id": $i, "email": "u$i"}
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    /// const User = mongoose.model('User', new mongoose.Schema({email: {type: String, unique: true}}));
    /// exports.load = (email) => User.findOne({email});
    /// ```
    ///
    /// ## How to fix
    /// Create an index that begins with the most selective field. If the query compares several fields, put those
    /// compared for equality first.
    ///
    /// ## When to ignore it
    /// The query runs seldom and may take long.
    I021, "unindexed-query-in-code",
    level: Recommended,
    area: Speed,
    severities: [Warn],
    clauses: ["CK-12"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [MIN_DOCUMENTS, MAX_SHARE],
    data: [],
    check: Deployment(check),
}

threshold!(
    MIN_DOCUMENTS,
    "min-documents",
    Int(1000),
    "documents",
    "our default",
    "minimum number of documents in the collection"
);
threshold!(
    MAX_SHARE,
    "max-share",
    Float(0.10),
    "share of documents",
    "our default",
    "maximum share of documents with one value for an index to be useful"
);

const WHY: &str = "the server reads the whole collection for each of these queries";

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let mut same: BTreeMap<(&str, &[String]), Vec<&FieldQuery>> = BTreeMap::new();
    for query in &found.indexes.queries {
        if !found.is_hand_run(&query.place.location.file) && !found.is_never_run(&query.place) {
            same.entry((&query.of, &query.fields)).or_default().push(query);
        }
    }
    for ((of, fields), mut queries) in same {
        let names = names_of(found, of);
        let declared = || {
            let own = found.indexes.declared.iter();
            own.filter(|index| index.of.as_deref().is_none_or(|of| names.contains(of)))
        };
        let begins = |keys: &[String]| keys.first().is_some_and(|key| fields.contains(key));
        if declared().any(|index| begins(&index.keys)) {
            continue;
        }
        queries.sort_by(|a, b| a.place.location.cmp(&b.place.location));
        let collections = evidence.collections.iter();
        let mut collections =
            collections.filter(|c| names.contains(c.namespace.collection.as_str()));
        let draft = match (collections.next(), collections.next()) {
            (Some(collection), None) => of_data(evidence, collection, fields, &queries, cx),
            (None, _) if declared().any(|index| index.of.is_some()) => Some(
                draft(evidence, of, fields, &queries, "no index that the code declares").pedantic(),
            ),
            _ => None,
        };
        draft.into_iter().for_each(|draft| cx.report(draft));
    }
}

/// The names under which a collection or model is known.
fn names_of<'a>(found: &'a Code, of: &'a str) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::from([of]);
    for field in &found.fields {
        if let Some(collection) = field.collection.as_deref()
            && (field.model == of || collection == of)
        {
            names.extend([collection, field.model.as_str()]);
        }
    }
    names
}

fn of_data(
    evidence: &Evidence,
    collection: &Collection,
    fields: &[String],
    queries: &[&FieldQuery],
    cx: &Cx<'_>,
) -> Option<Draft> {
    let indexes = collection.indexes.as_ref()?;
    let profile = classes::shaped_by_people(collection)?;
    let documents = profile.total.max(profile.documents);
    if documents < cx.count(&MIN_DOCUMENTS) || fields.iter().any(|path| serves(indexes, path)) {
        return None;
    }
    let best = fields
        .iter()
        .filter_map(|path| Some((share(profile, path)?, path)))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(share, _)| *share <= cx.limit(&MAX_SHARE))?;
    let ns = &collection.namespace;
    let said = format!("no index of the collection ({} documents)", text::count(documents));
    Some(draft(evidence, &ns.collection, fields, queries, &said).plan(
        Some("RF-20"),
        Safety::Safe,
        [Step::CreateIndex {
            namespace: ns.clone(),
            index: NewIndex::ascending([best.1.as_str()]),
        }],
    ))
}

/// The average share of the documents that one value of a field selects; `None` if few have the field.
fn share(profile: &Profile, path: &str) -> Option<f64> {
    let field = profile.fields.iter().find(|field| field.path.dotted() == path)?;
    (field.presence() >= 0.5 && field.distinct.values >= 1.0).then(|| 1.0 / field.distinct.values)
}

/// Whether an index begins with the path, or covers every path.
fn serves(indexes: &[Index], path: &str) -> bool {
    indexes.iter().filter(|index| !index.hidden).any(|index| {
        index.keys.first().is_some_and(|key| {
            let stem = key.path.strip_suffix("$**");
            key.path == path
                || stem.is_some_and(|stem| path.starts_with(stem))
                || matches!(key.kind, DirectionKind::Text | DirectionKind::Geo(_))
        })
    })
}

fn draft(
    evidence: &Evidence,
    of: &str,
    fields: &[String],
    queries: &[&FieldQuery],
    lacks: &str,
) -> Draft {
    let shown = text::paths(fields, 4);
    let place = &queries[0].place;
    let count = match queries.len() {
        1 => "the code queries".to_owned(),
        n => format!("{n} statements query"),
    };
    let begins = if fields.len() == 1 { "it" } else { "one of them" };
    code::draft(
        evidence,
        place,
        &format!("{of} {}", fields.join(" ")),
        format!("{count} `{of}` by {shown}, and {lacks} begins with {begins}"),
        WHY,
        format!("create an index on `{of}` that begins with the most selective field"),
    )
    .severity(Severity::Warn)
    .data("fields", fields.to_vec())
    .locations(queries.iter().skip(1).map(|query| query.place.location.clone()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_pedantic};

    fn found(documents: u32, index: &str, query: &str) -> usize {
        let mut body = format!(
            "source a.js\nconst {{MongoClient}} = require('mongodb');\nexports.load = (x, key) => db.collection('t_user').{query};\n...\n@ db_shop.t_user\nindex {{\"key\": {{\"_id\": 1}}, \"name\": \"_id_\"}}\n{index}\n"
        );
        for i in 0..documents {
            body.push_str(&format!(
                "{{\"_id\": {i}, \"email\": \"u{i}@a.org\", \"isActive\": {}, \"city\": \"c{}\"}}\n",
                i % 2 == 0,
                i % 100
            ));
        }
        check("I021", &body).len()
    }

    #[test]
    fn ck_12_queries_are_held_against_indexes() {
        let by_email = "findOne({email: x})";
        assert_eq!(found(1000, "", by_email), 1);
        assert_eq!(found(1000, "", "find({city: x, isActive: true}).toArray()"), 1);
        assert_eq!(found(1000, "", "updateOne({email: {$in: x}}, {$set: {a: 1}})"), 1);
        let index = |key: &str| format!("index {{\"key\": {key}, \"name\": \"i\"}}");
        assert_eq!(found(1000, &index("{\"email\": 1}"), by_email), 0);
        assert_eq!(found(1000, &index("{\"email\": 1, \"city\": 1}"), by_email), 0);
        assert_eq!(found(1000, &index("{\"city\": 1, \"email\": 1}"), by_email), 1);
        assert_eq!(found(1000, &index("{\"$**\": 1}"), by_email), 0);
        assert_eq!(found(999, "", by_email), 0);
        for query in [
            "findOne({_id: x, email: x})",
            "findOne({isActive: true})",
            "findOne({email: {$ne: x}})",
            "findOne({$or: [{email: x}, {_id: x}]})",
            "findOne({[key]: x})",
            "findOne({nickname: x})",
            "findOne(x)",
        ] {
            assert_eq!(found(1000, "", query), 0, "{query}");
        }
    }

    #[test]
    fn ck_12_declared_indexes_count() {
        let body = |schema: &str| {
            format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst schema = new mongoose.Schema({schema});\nconst User = mongoose.model('User', schema);\nexports.load = (email) => User.findOne({{email}});\n"
            )
        };
        let found = |schema: &str| check_pedantic("I021", &body(schema)).len();
        assert_eq!(found("{email: {type: String, unique: true}}"), 0);
        assert_eq!(found("{email: String}"), 0, "the code declares none");
        assert_eq!(found("{email: String, name: {type: String, index: true}}"), 1);
    }
}
