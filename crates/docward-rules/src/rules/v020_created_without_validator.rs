//! DM-11.1: collections that are created without a validator.

use docward_model::{Evidence, Severity};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Created without a validator
    ///
    /// ## What it checks
    /// Reports, as a note, collections that a statement in source code creates without a validator. Time series,
    /// views and capped collections are not reported, nor are statements whose options Docward cannot read.
    ///
    /// ## Why it matters
    /// A validator refuses the first invalid document. Without one, types and names diverge until a reader fails.
    ///
    /// ## Example
    /// ```mongosh,fires
    /// db.createCollection("t_user")
    /// ```
    /// ```mongosh,clean
    /// db.createCollection("t_user", {validator: {$jsonSchema: {bsonType: "object", required: ["name"]}}})
    /// db.createCollection("t_reading", {timeseries: {timeField: "ts", metaField: "device"}})
    /// ```
    ///
    /// ## How to fix
    /// Add a `$jsonSchema` when the collection is created. `docward schema infer` derives one from documents, and
    /// `docward schema import` from a model in code.
    ///
    /// ## When to ignore it
    /// The documents come from other systems, or the collection is not core data.
    V020, "created-without-validator",
    level: Mandatory,
    area: Hygiene,
    severities: [Info],
    clauses: ["DM-11.1", "AP-S4.5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    for made in &found.creations {
        if made.validator || made.special || made.is_partial || made.collection.is_empty() {
            continue;
        }
        cx.report(
            code::draft(
                evidence,
                &made.place,
                &made.collection,
                format!("the code creates `{}` without a validator", made.collection),
                "without a validator, types and names change over time until a reader fails",
                "set a $jsonSchema: `docward schema infer` creates one from documents, `docward schema import` from a model in code",
            )
            // Code does not show whether the collection is core business.
            .severity(Severity::Info),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn dm_11_1_options_in_every_language() {
        let count = |text: &str| check("V020", text).len();
        assert_eq!(
            count(
                "source a.py\nfrom pymongo import MongoClient\ndb.create_collection('t_a')\ndb.create_collection('t_b', validator=v)\n"
            ),
            1
        );
        assert_eq!(
            count(
                "source a.go\npackage a\nimport \"go.mongodb.org/mongo-driver/mongo\"\nfunc f() { db.CreateCollection(ctx, \"t_a\")\n db.CreateCollection(ctx, \"t_b\", options.CreateCollection().SetValidator(v)) }"
            ),
            1
        );
        assert_eq!(
            count(
                "source a.js\nconst m = require('mongodb'); db.createCollection('t_a', options);"
            ),
            0
        );
    }

    #[test]
    fn dm_11_1_options_that_are_computed_are_unknown() {
        let node = |call: &str| {
            let text = format!("source a.js\nconst m = require('mongodb');\n{call}\n");
            check("V020", &text).len()
        };
        for call in [
            "db.createCollection('t_a', getOptions());",
            "db.createCollection('t_a', schemas.optionsOf('t_a'));",
            "db.createCollection(nameOf('a'), optionsOf('a'));",
            "db.createCollection(nameOf('a'));",
            "store.createCollection('t_a');",
            "const o = require('./options'); db.createCollection('t_a', o.user);",
            "db.createCollection('t_a', {...base, capped: isCapped});",
            "db.createCollection('t_a', await load('t_a'));",
        ] {
            assert_eq!(node(call), 0, "{call}");
        }
        for call in [
            "db.createCollection('t_a');",
            "db.createCollection('t_a', {});",
            "db.createCollection('t_a', (error) => log(error));",
        ] {
            assert_eq!(node(call), 1, "{call}");
        }
        let go = |call: &str| {
            check("V020", &format!("source a.go\npackage a\nimport \"go.mongodb.org/mongo-driver/mongo\"\nfunc f() {{ {call} }}")).len()
        };
        assert_eq!(go("db.CreateCollection(ctx, \"t_a\", optionsFor(\"t_a\"))"), 0);
        assert_eq!(
            go("db.CreateCollection(ctx, \"t_a\", options.CreateCollection().SetCollation(c))"),
            1
        );
        let python = "source a.py\nfrom pymongo import MongoClient\ndb.create_collection('t_a', **options())\n";
        assert_eq!(check("V020", python).len(), 0);
    }
}
