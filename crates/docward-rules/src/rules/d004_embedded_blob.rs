//! DM-05.4, AP-S4.4: files do not belong in business documents.

use docward_model::{Collection, Draft, Subject};

use crate::facts::thresholds::d004::{MAX_BYTES, MIN_ENCODED};
use crate::facts::{growth::patterns, remedies::proposals, text, values::blobs};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Embedded blob
    ///
    /// ## What it checks
    /// Reports fields that hold files:
    /// - binaries of 256 KB or more
    /// - base64 text of 16 KB or more that starts with the signature of a known format (PNG, JPEG, PDF, ZIP, …)
    ///
    /// Smaller icons and thumbnails, UUIDs, hashes and vectors are not reported. If files make up much of the
    /// collection, D005 reports them instead.
    ///
    /// ## Why it matters
    /// The bytes of the file push useful documents out of the cache and are sent with every read that does not
    /// exclude them. Base64 adds another third.
    ///
    /// ## Example
    /// This example uses a limit of 40 bytes instead of 256 KB:
    /// ```jsonl,fires,max-bytes=40
    /// {"_id": 1, "name": "Ada", "photo": BinData(0, "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoH")}
    /// ```
    /// Keep an id or a URL, and the values needed to verify the file:
    /// ```jsonl,clean
    /// {"_id": 1, "name": "Ada", "photoFileId": ObjectId("65f3a2b8c1d2e3f4a5b6c7d8"), "photoBytes": 314572, "photoType": "image/jpeg"}
    /// ```
    ///
    /// ## How to fix
    /// Store the file in GridFS or an object store under an id, and write that id into the document. Verify size
    /// and hash, then remove the field.
    ///
    /// ## When to ignore it
    /// The document exists only to hold the file and is never read without it.
    D004, "embedded-blob",
    level: Recommended,
    area: Speed,
    clauses: ["DM-05.4", "AP-S4.4"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MAX_BYTES, MIN_ENCODED],
    data: ["encoded", "files", "limit", "max", "p50", "p95", "share"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let limits = blobs::Limits::of(cx.settings(), &collection.namespace);
    debug_assert!(limits.large == cx.count(&MAX_BYTES) && limits.icon == cx.count(&MIN_ENCODED));
    let style = proposals::field_style(profile);
    for field in &profile.fields {
        let (Some(blob), Some(files)) = (&field.blob, blobs::files(profile, field, &limits)) else {
            continue;
        };
        if files.store_first {
            continue;
        }
        let stem = [crate::facts::names::to_snake(field.path.leaf())];
        cx.report(
            Draft::new(
                Subject::Field(collection.namespace.clone(), field.path.clone()),
                blobs::describe(field, blob, &files),
                "the files fill the server's cache, and every read of the document transfers them",
                format!(
                    "store the files in GridFS and keep `{}` and the size ({} of 255 KB for the largest), or use an object store and keep `{}`, checksum, size and content type",
                    proposals::field_name(&stem, "file_id", style),
                    text::plural(blob.sizes.max.div_ceil(261_120), "chunk"),
                    proposals::field_name(&stem, "url", style),
                ),
                profile.seen_in(field, files.count),
            )
            .data("files", files.count)
            .data("p50", blob.sizes.p50())
            .data("p95", blob.sizes.p95())
            .data("max", blob.sizes.max)
            .data("limit", files.limit)
            .data("encoded", blob.encoded)
            .data("share", files.share),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    /// A number of documents that makes the file a small part of the collection.
    const OTHERS: &str = "\nx40 {\"_id\": \"u$i\", \"name\": \"$pad(90000)\"}";

    #[test]
    fn dm_05_4_binaries_from_256_kb() {
        // 349,528 base64 characters are 262,146 bytes, 349,524 are 262,143.
        let file = |n: usize| {
            format!("{{\"_id\": 1, \"photo\": BinData(0, \"/9j/{}\")}}{OTHERS}", "A".repeat(n - 4))
        };
        let found = check("D004", &file(349_528));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].todo.contains("GridFS"), "{}", found[0].todo);
        assert!(found[0].todo.contains("`photoFileId`"), "{}", found[0].todo);
        assert_eq!(found[0].clauses, ["DM-05.4", "AP-S4.4"]);
        assert_eq!(check("D004", &file(349_524)), []);
    }

    #[test]
    fn dm_05_4_encoded_files_count_from_16_kb_icons_do_not() {
        let png = |n: usize| {
            format!(
                "{{\"_id\": 1, \"logo\": \"iVBORw0KGgoAAAANSUhEUgAA{}\"}}{OTHERS}",
                "A".repeat(n)
            )
        };
        assert_eq!(check("D004", &png(40_000)).len(), 1);
        assert_eq!(check("D004", &png(4_000)), []);
    }

    #[test]
    fn uuids_are_no_blobs() {
        assert_eq!(check("D004", "x50 {\"_id\": UUID(\"$uuid\"), \"a\": UUID(\"$uuid\")}"), []);
    }
}
