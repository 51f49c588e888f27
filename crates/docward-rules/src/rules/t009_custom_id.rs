//! DM-10.1: ObjectId is the default for `_id`; another choice is right if there is a reason.

use docward_model::{Collection, Draft, Subject};

use super::t008_unordered_custom_id as t008;
use crate::facts::values::ids::{self, IdKind, Order};
use crate::facts::{text, values::classes};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Custom id
    ///
    /// ## What it checks
    /// Reports, as a note once per collection, an `_id` that is not an ObjectId and that no other rule about ids
    /// reports. Examples are increasing numbers, UUIDs of version 7, ULIDs, natural keys and compound keys.
    ///
    /// ## Why it matters
    /// Such a choice needs a reason. ObjectIds increase with time, contain their creation time, need no
    /// coordination and take 12 bytes. The program must keep a custom key unique and increasing.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// x30 {"_id": $i}
    /// ```
    /// The default id:
    /// ```jsonl,clean
    /// x30 {"_id": ObjectId("$oid"), "number": $i}
    /// ```
    ///
    /// ## How to fix
    /// No change is required. Document the reason for the key next to the schema.
    ///
    /// ## When to ignore it
    /// The reason is known. Switch the rule off for the collection.
    T009, "custom-id",
    level: Information,
    area: Hygiene,
    clauses: ["DM-10.1"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [],
    data: ["documents", "pairs", "rising"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let limits = ids::Limits::of(cx.settings(), &collection.namespace);
    let Some(id) = ids::judge(profile, limits.rising_share, limits.order_pairs) else { return };
    let documents = profile.total.max(profile.documents);
    if limits.digits(id.field).is_some() || t008::speaks(&id, documents, &limits) {
        return;
    }
    let order = match id.order {
        Order::Rising => " in increasing order",
        Order::Falling => " in decreasing order",
        Order::Random | Order::Loose | Order::Unknown => "",
    };
    let (what, todo) = match id.kind {
        IdKind::ObjectId
        | IdKind::RandomUuidText
        | IdKind::RandomUuidBinary
        | IdKind::Digest
        | IdKind::RandomText
        | IdKind::Mixed => return,
        IdKind::OrderedUuid | IdKind::Ulid if id.field.text.is_some() => (
            "time-ordered ids as text",
            "keep them; in new collections, store them as binary (16 bytes), which takes less than half the space",
        ),
        IdKind::OrderedUuid | IdKind::Ulid => {
            ("time-ordered UUIDs", "keep them and record the reason")
        }
        IdKind::ObjectIdText => (
            "ObjectIds as text",
            "store them as ObjectId in new documents: 12 bytes instead of 29 in the document, the index and every reference",
        ),
        IdKind::Number => (
            "numbers",
            "keep them while one component assigns them in increasing order, and record the reason",
        ),
        IdKind::Digits => ("digits as text", "keep them and record the reason"),
        IdKind::Natural if ids::is_meaningless(id.field) => (
            "random-looking strings",
            "use ObjectIds in new collections: they increase and take 12 bytes",
        ),
        IdKind::Natural => (
            "strings",
            "keep them if they are natural keys that never change (an `_id` cannot be changed), and record the reason",
        ),
        IdKind::Compound => (
            "objects",
            "always write their fields in the same order, because MongoDB compares them in order; a query on one part needs its own index",
        ),
        IdKind::Date => {
            ("dates", "make sure that no two documents can have the same date and time")
        }
        IdKind::Binary => ("binaries", "keep them while they increase, and record the reason"),
    };
    cx.report(
        Draft::new(
            Subject::Field(collection.namespace.clone(), id.field.path.clone()),
            format!(
                "`_id` holds {what}{order}, not ObjectIds, in {}",
                text::plural(documents, "document")
            ),
            "the application must keep custom ids unique and increasing",
            todo,
            profile.seen().showing(documents),
        )
        .data("documents", documents)
        .data("rising", id.rising)
        .data("pairs", id.pairs),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_at};
    use docward_model::ThresholdSetting;

    #[test]
    fn dm_10_1_object_ids_pass() {
        assert!(check("T009", "x30 {\"_id\": ObjectId(\"$oid\")}").is_empty());
    }

    #[test]
    fn dm_10_2_a_time_ordered_uuid_passes_with_a_note() {
        let body = r#"{"_id": UUID("018e4f1a-5b6c-7d8e-9fa0-b1c2d3e4f506")}"#;
        assert!(check("T007", body).is_empty());
        let found = check("T009", body);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("time-ordered"), "{}", found[0].what);
    }

    #[test]
    fn dm_10_2_the_line_to_t008_moves_with_its_settings() {
        let body: String =
            (0..300).map(|i| format!("{{\"_id\": {}}}\n", (i * 7919) % 10_007)).collect();
        let set = |key, n| ("T008", key, ThresholdSetting::Int(n));
        for (n, by_t008, by_t009) in [(1000, 0, 1), (100, 1, 0)] {
            assert_eq!(check_at("T008", &body, set("min-documents", n)).len(), by_t008, "{n}");
            assert_eq!(check_at("T009", &body, set("min-documents", n)).len(), by_t009, "{n}");
        }
    }

    #[test]
    fn one_rule_speaks_about_an_id() {
        for (body, speaker) in [
            ("x300 {\"_id\": \"$uuid\"}", "T007"),
            ("x300 {\"_id\": $i}", "T009"),
            ("x300 {\"_id\": \"$i\"}", "T003"),
            ("x3 {\"_id\": $i}\n{\"_id\": \"a\"}", "T005"),
        ] {
            for code in ["T003", "T005", "T007", "T008", "T009"] {
                let n = check(code, body).len();
                assert_eq!(n, usize::from(code == speaker), "{code} on {body}");
            }
        }
    }

    #[test]
    fn one_document_or_many_the_sentence_holds() {
        let found = check("T009", "x300 {\"_id\": {\"a\": $i}}");
        assert!(
            found[0].what.contains(
                "`_id` holds objects in increasing order, not ObjectIds, in 300 documents"
            ),
            "{}",
            found[0].what
        );
        let found = check("T009", "x300 {\"_id\": $i}");
        assert!(
            found[0].what.contains("holds numbers in increasing order, not ObjectIds"),
            "{}",
            found[0].what
        );
    }
}
