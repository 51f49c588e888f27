//! DM-10.3, DM-09.3: random strings as `_id` are prohibited; random binaries are flagged for locality.

use docward_model::{BsonType, Collection, Draft, Level, Severity, Subject};

use crate::facts::values::ids::{self, Id, IdKind};
use crate::facts::{
    indexes::sharding,
    names::{self, meaning},
    text,
    values::classes,
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Random id
    ///
    /// ## What it checks
    /// Reports collections whose `_id` is random:
    /// - an error: UUIDs of version 4 as text, and content hashes
    /// - a warning: UUIDs of version 4 as binary
    /// - a warning: text of one length without meaning that increases from document to document about as often as
    ///   it decreases
    /// - a note: a collection of sessions, tokens, caches, locks or nonces, and binary UUIDs under a hashed shard
    ///   key
    ///
    /// Docward does not report natural keys (addresses, slugs, codes), or ids that increase with time (ObjectId, UUID
    /// version 7, ULID).
    ///
    /// ## Why it matters
    /// Each insert changes a random page of the `_id` index. When the index is larger than the cache, every
    /// insert reads, splits and writes a page, and write throughput drops sharply. A UUID as text takes 41 bytes,
    /// an ObjectId 12. This applies to the document, the index and every reference.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// x20 {"_id": "$uuid"}
    /// ```
    /// Use the default, or an id that increases:
    /// ```jsonl,clean
    /// x20 {"_id": ObjectId("$oid"), "publicId": "$uuid"}
    /// ```
    ///
    /// ## How to fix
    /// For new documents use an ObjectId, or a UUID of version 7 as binary subtype 4, as `_id`. Keep the random
    /// value in a field with a unique index. To change a stored `_id`, write a new document.
    ///
    /// ## When to ignore it
    /// The collection always stays small, or the id is a content hash that finds duplicates. Sharding is not a
    /// reason: a hashed shard key distributes increasing ids just as well.
    T007, "random-id",
    level: Prohibited,
    area: Speed,
    severities: [Error, Warn, Info],
    clauses: ["DM-10.3", "DM-09.3"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MIN_PAIRS],
    data: ["bytesSaved", "pairs", "random", "rising", "strings"],
    check: Collection(check),
}

threshold!(
    MIN_PAIRS,
    "min-pairs",
    Int(100),
    "neighbouring documents",
    "our default",
    "minimum number of neighbours whose order is compared"
);

/// Collections whose ids must not be guessed, and whose documents expire: random by design.
const UNGUESSABLE: &[&str] = &["session", "token", "cache", "lock", "nonce"];

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let limits = ids::Limits::of(cx.settings(), &collection.namespace);
    let Some(id) = ids::judge(profile, limits.rising_share, cx.count(&MIN_PAIRS)) else { return };
    let Some(said) = wording(&id) else { return };
    let hashed = sharding::key_of(cx.evidence(), cx.settings(), &collection.namespace)
        .and_then(|key| key.fields.first())
        .is_some_and(|(path, hashed)| path == "_id" && *hashed);
    let strings = id.field.types.of(BsonType::String);
    let documents = profile.total.max(profile.documents);
    // A string is its bytes and 5 more; a binary of 16 bytes is 21; an ObjectId is 12.
    let width = match id.kind {
        IdKind::RandomUuidBinary => 21.0,
        _ => id.field.text.as_ref().map_or(0.0, |t| t.lengths.mean()) + 5.0,
    };
    let saved = ((width - 12.0).max(0.0) * documents as f64) as u64;
    let order = if id.pairs >= cx.count(&MIN_PAIRS) {
        format!("; in {} of neighbouring pairs, the second id is larger", text::percent(id.rising))
    } else {
        String::new()
    };
    let mut draft = Draft::new(
        Subject::Field(collection.namespace.clone(), id.field.path.clone()),
        format!(
            "`_id` holds {said} in {}{order}",
            text::part(id.count, id.field.count, "document")
        ),
        "every insert goes to a random page of the index; once the index outgrows the cache, the server must read and split these pages on disk",
        format!(
            "give new documents an ObjectId, or a UUIDv7 as binary; an ObjectId saves {} in documents and as much in the index, unless other systems use the old value: then keep it in a field with a unique index; {}",
            text::bytes(saved),
            if hashed {
                "the hashed shard key distributes increasing ids as well"
            } else {
                "if you shard the collection, use a hashed key, which distributes increasing ids"
            }
        ),
        profile.seen().showing(id.count),
    )
    .data("random", id.count)
    .data("strings", strings)
    .data("rising", id.rising)
    .data("pairs", id.pairs)
    .data("bytesSaved", saved)
    .examples(id.field.examples.iter().cloned());
    // The rule book forbids random strings. Random binaries have the same cost, but the rule book does not mention
    // them. A text that is judged only by its order is less certain.
    if matches!(id.kind, IdKind::RandomUuidBinary | IdKind::RandomText) {
        draft = draft.level(Level::Recommended);
    }
    let by_design = names::words(&collection.namespace.collection)
        .iter()
        .any(|w| UNGUESSABLE.contains(&meaning::singular(w).as_str()));
    if by_design || (id.kind == IdKind::RandomUuidBinary && hashed) {
        draft = draft.severity(Severity::Info);
    }
    cx.report(draft);
}

fn wording(id: &Id<'_>) -> Option<&'static str> {
    Some(match id.kind {
        IdKind::RandomUuidText => "random UUIDs as text",
        IdKind::RandomUuidBinary => "random UUIDs as binary",
        IdKind::Digest => "hexadecimal digests as text",
        IdKind::RandomText => "random-looking text",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::{Level, Severity};

    #[test]
    fn dm_10_3_a_random_uuid_string_is_prohibited_at_any_size() {
        let found = check("T007", r#"{"_id": "550e8400-e29b-41d4-a716-446655440000"}"#);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].level, found[0].severity), (Level::Prohibited, Severity::Error));
        assert!(check("T007", "x200 {\"_id\": ObjectId(\"$oid\")}").is_empty());
    }

    #[test]
    fn dm_10_3_a_content_hash_is_reported() {
        let found = check(
            "T007",
            r#"{"_id": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}"#,
        );
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn dm_09_3_the_share_of_rising_neighbours_is_measured() {
        let found = check("T007", "x300 {\"_id\": \"$uuid\"}");
        assert!(
            found[0].what.contains("of neighbouring pairs, the second id is larger"),
            "{}",
            found[0].what
        );
    }

    #[test]
    fn a_random_binary_is_a_recommendation_and_less_under_a_hashed_shard_key() {
        let body = r#"{"_id": UUID("550e8400-e29b-41d4-a716-446655440000")}"#;
        let found = check("T007", body);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        let found = check_with("T007", "shard-key=db_shop.t_order_item:{\"_id\":\"hashed\"}", body);
        assert_eq!(found[0].severity, Severity::Info);
    }

    #[test]
    fn natural_keys_are_not_random() {
        for id in ["user$i@example.com", "slug-of-$i", "DE$i"] {
            assert!(check("T007", &format!("x300 {{\"_id\": \"{id}\"}}")).is_empty(), "{id}");
        }
    }
}
