//! DM-09.6, special case: BSON types that MongoDB has deprecated.

use docward_model::{BsonType, Collection, DataValue, Draft, FieldChange, FieldPath, Subject};

use crate::facts::{text, values::classes};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Deprecated types
    ///
    /// ## What it checks
    /// Reports, as a note once per collection, fields with values of types that BSON has deprecated: undefined,
    /// DBPointer, symbol, and JavaScript code with scope.
    ///
    /// ## Why it matters
    /// Each driver drops, converts or refuses such values differently when it reads them. Writing a document back
    /// can change it unintentionally.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "nickname": {"$undefined": true}}
    /// ```
    /// Leave the field out, or use null:
    /// ```jsonl,clean
    /// {"_id": 1, "nickname": null}
    /// {"_id": 2}
    /// ```
    ///
    /// ## How to fix
    /// Remove undefined values. Convert symbols to strings and DBPointers to plain references. Keep code in the
    /// program.
    ///
    /// ## When to ignore it
    /// The collection is an archive that no program writes to.
    T014, "deprecated-types",
    level: Information,
    area: Hygiene,
    clauses: ["DM-09.6"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [],
    data: ["types"],
    check: Collection(check),
}

const DEPRECATED: [(BsonType, &str); 4] = [
    (BsonType::Undefined, "remove fields with undefined values"),
    (BsonType::DbPointer, "replace DBPointers with the `_id` that they refer to"),
    (BsonType::Symbol, "convert symbols to strings"),
    (BsonType::JavascriptWithScope, "move JavaScript code to the application"),
];

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let mut counts = Vec::new();
    let mut advice = Vec::new();
    let mut paths: Vec<String> = Vec::new();
    let mut changes: Vec<FieldChange> = Vec::new();
    for (kind, remedy) in DEPRECATED {
        let holding: Vec<_> = profile.fields.iter().filter(|f| f.types.of(kind) > 0).collect();
        if holding.is_empty() {
            continue;
        }
        counts.push((kind.name(), holding.iter().map(|f| f.types.of(kind)).sum::<u64>()));
        advice.push(remedy);
        for field in holding {
            let becomes = match kind {
                BsonType::DbPointer => vec![BsonType::ObjectId],
                BsonType::Symbol => vec![BsonType::String],
                _ => Vec::new(),
            };
            changes.push(
                FieldChange::convert(&field.path, becomes).or_absent(kind == BsonType::Undefined),
            );
            if !paths.iter().any(|p| p == field.path.as_str()) {
                paths.push(field.path.as_str().to_owned());
            }
        }
    }
    if counts.is_empty() {
        return;
    }
    let said: Vec<String> =
        counts.iter().map(|(kind, n)| format!("{} {kind}", text::count(*n))).collect();
    let mut draft = Draft::new(
        Subject::Collection(collection.namespace.clone()),
        format!("deprecated types in {}: {}", text::paths(&paths, 5), said.join(", ")),
        "drivers treat such values differently: some drop, some convert and some reject them",
        advice.join("; "),
        profile.seen(),
    )
    .paths(paths.iter().map(FieldPath::new))
    .data(
        "types",
        DataValue::Map(
            counts.iter().map(|(k, n)| ((*k).to_owned(), DataValue::from(*n))).collect(),
        ),
    )
    .data("fields", paths);
    draft.changes = changes;
    cx.report(draft);
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn dm_09_6_undefined_is_mentioned_once_and_null_is_fine() {
        let found = check("T014", "{\"a\": {\"$undefined\": true}, \"b\": {\"$undefined\": true}}");
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("`a` and `b`"), "{}", found[0].what);
        assert!(check("T014", "{\"a\": null}").is_empty());
        assert!(check("T005", "{\"a\": {\"$undefined\": true}}\n{\"a\": 1}").is_empty());
    }
}
