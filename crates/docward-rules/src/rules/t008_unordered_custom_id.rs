//! DM-10.2: a custom `_id` should increase. `T007` reports random ones.

use docward_model::{Collection, Draft, Severity, Subject};

use crate::facts::thresholds::t008::{MIN_DOCUMENTS, MIN_PAIRS, RISING};
use crate::facts::values::ids::{self, IdKind, Order};
use crate::facts::{text, values::classes};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Unordered custom id
    ///
    /// ## What it checks
    /// Reports collections with a custom `_id` (numbers, text, binaries) that does not increase in the order in
    /// which documents are stored. At least 95 % of neighbouring documents must increase. It is a note for
    /// natural keys (names, addresses, codes).
    ///
    /// Not reported:
    /// - ids that increase overall, as with concurrent inserts or on a member that copies many inserts at a time
    /// - small collections and small samples
    /// - data read through a router, which mixes documents of several shards
    ///
    /// ## Why it matters
    /// Increasing ids are appended at the end of the `_id` index. Ids in any other order are inserted all over
    /// the index. This costs reads and page splits when the index is larger than the cache.
    ///
    /// ## Example
    /// ```jsonl,fires,min-pairs=5,min-documents=5
    /// {"_id": NumberLong(7103)}
    /// {"_id": NumberLong(1954)}
    /// {"_id": NumberLong(8821)}
    /// {"_id": NumberLong(4410)}
    /// {"_id": NumberLong(6002)}
    /// {"_id": NumberLong(3377)}
    /// {"_id": NumberLong(9150)}
    /// ```
    /// Ids that increase:
    /// ```jsonl,clean,min-pairs=5,min-documents=5
    /// x240 {"_id": $i}
    /// ```
    ///
    /// ## How to fix
    /// For new documents take ids from ObjectId, a sequence, or UUID version 7. Keep the old key in a field with
    /// a unique index.
    ///
    /// ## When to ignore it
    /// Every query uses the key, and the collection fits into the cache. Or the documents come from an export
    /// that was sorted or filtered, so that their order is not the order of insertion.
    T008, "unordered-custom-id",
    level: Recommended,
    area: Speed,
    severities: [Warn, Info],
    clauses: ["DM-10.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [RISING, MIN_PAIRS, MIN_DOCUMENTS],
    data: ["pairs", "rising"],
    check: Collection(check),
}

/// Whether this rule reports the ids, so that `T009` does not.
pub(super) fn speaks(id: &ids::Id<'_>, documents: u64, limits: &ids::Limits) -> bool {
    let custom = matches!(
        id.kind,
        IdKind::Number | IdKind::Digits | IdKind::Natural | IdKind::Binary | IdKind::ObjectIdText
    );
    custom
        && matches!(id.order, Order::Random | Order::Loose)
        && documents >= limits.order_documents
        // Digits as text do not sort as numbers: that is the cause, and `T003` reports it.
        && limits.digits(id.field).is_none_or(|d| d.leading_zero > 0)
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let limits = ids::Limits {
        rising_share: cx.limit(&RISING),
        order_pairs: cx.count(&MIN_PAIRS),
        order_documents: cx.count(&MIN_DOCUMENTS),
        ..ids::Limits::of(cx.settings(), &collection.namespace)
    };
    let Some(id) = ids::judge(profile, limits.rising_share, limits.order_pairs) else { return };
    let documents = profile.total.max(profile.documents);
    if !speaks(&id, documents, &limits) {
        return;
    }
    let natural = id.kind == IdKind::Natural;
    let mut draft = Draft::new(
        Subject::Field(collection.namespace.clone(), id.field.path.clone()),
        format!(
            "{} of {} pairs of neighbouring `_id`s are in increasing order (ids count as increasing from {})",
            text::percent(id.rising),
            text::count(id.pairs),
            text::percent(cx.limit(&RISING))
        ),
        "increasing ids are appended at the end of their index; others are inserted at random places in it",
        if natural {
            "keep the natural key if queries use it; otherwise move it to a field with a unique index and use an ObjectId as `_id`; Docward assumes that the stored order is the order of insertion".to_owned()
        } else {
            "use ObjectIds, a sequence or UUIDv7 for new ids; Docward assumes that the stored order is the order of insertion, so ignore this if documents were sorted later".to_owned()
        },
        profile.seen(),
    )
    .data("rising", id.rising)
    .data("pairs", id.pairs);
    if natural {
        draft = draft.severity(Severity::Info);
    }
    cx.report(draft);
}

#[cfg(test)]
mod tests {
    use crate::testing::check_with;

    fn scattered(documents: u64) -> String {
        (0..documents).map(|i| format!("{{\"_id\": {}}}\n", (i * 7919) % 10_007)).collect()
    }

    #[test]
    fn dm_10_2_a_rising_long_passes() {
        let rising = "x400 {\"_id\": NumberLong(\"20240315$i\")}";
        assert!(check_with("T008", "min-documents=100", rising).is_empty());
    }

    #[test]
    fn dm_10_2_longs_in_no_order_are_reported() {
        assert_eq!(check_with("T008", "min-documents=100", &scattered(150)).len(), 1);
        assert!(check_with("T008", "min-documents=1000", &scattered(150)).is_empty());
    }

    #[test]
    fn dm_10_2_ids_that_rise_in_the_large_pass() {
        // Runs of six that overtake each other within a hundred and twenty, as a member stores them.
        let at = |i: u64| (i / 120) * 120 + (i % 120) % 6 * 20 + (i % 120) / 6;
        let runs: String = (0..3600).map(|i| format!("{{\"_id\": {}}}\n", at(i))).collect();
        assert!(check_with("T008", "min-documents=100", &runs).is_empty());
        // Runs of the same length among 240 ids are no increasing order.
        let few: String = (0..240).map(|i| format!("{{\"_id\": {}}}\n", at(i))).collect();
        assert_eq!(check_with("T008", "min-documents=100", &few).len(), 1);
    }

    #[test]
    fn a_small_sample_says_nothing() {
        assert!(check_with("T008", "min-documents=1", &scattered(100)).is_empty(), "99 pairs");
        assert_eq!(check_with("T008", "min-documents=1", &scattered(101)).len(), 1, "100 pairs");
    }
}
