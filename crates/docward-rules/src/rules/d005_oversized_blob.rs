//! DM-05.6 with DM-05.4, AP-S4.4: collections that are mostly files belong in an object store.

use docward_model::{Collection, Draft, Subject};

use crate::facts::thresholds::d005::{MAX_SHARE, MIN_P95};
use crate::facts::{growth::patterns, remedies::proposals, text, values::blobs};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Oversized blob
    ///
    /// ## What it checks
    /// Reports fields with large files (95th percentile of 256 KB or more) that make up more than a fifth of the
    /// collection's bytes. D004 reports smaller shares.
    ///
    /// ## Why it matters
    /// A database is the most expensive place for files. They are replicated, backed up and cached together with
    /// the business data, and a single file cannot exceed 16 MB.
    ///
    /// ## Example
    /// This example uses a limit of 40 bytes instead of 256 KB:
    /// ```jsonl,fires,ns=db_shop.t_product,min-p95-bytes=40
    /// x3 {"_id": $i, "name": "Lamp", "image": BinData(0, "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoH")}
    /// ```
    /// The file is stored elsewhere; the document holds its URL, size and hash:
    /// ```jsonl,clean,ns=db_shop.t_product
    /// x3 {"_id": $i, "name": "Lamp", "imageUrl": "https://files.example.com/p/$i.jpg", "imageBytes": 300000, "imageSha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}
    /// ```
    ///
    /// ## How to fix
    /// Upload the files. Store URL, checksum, size and content type, verify them, then remove the field. GridFS
    /// is the second choice: it lifts the 16 MB limit but keeps the bytes in the database.
    ///
    /// ## When to ignore it
    /// The team has decided to use the database as an object store, for example because the application can reach no
    /// other store.
    D005, "oversized-blob",
    level: Recommended,
    area: Growth,
    clauses: ["DM-05.6", "DM-05.4", "AP-S4.4"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MAX_SHARE, MIN_P95],
    data: ["encoded", "files", "limit", "max", "p50", "p95", "share"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let limits = blobs::Limits::of(cx.settings(), &collection.namespace);
    debug_assert!(
        limits.share == cx.limit(&MAX_SHARE) && limits.store == cx.count(&MIN_P95),
        "one reading of the thresholds"
    );
    let style = proposals::field_style(profile);
    for field in &profile.fields {
        let (Some(blob), Some(files)) = (&field.blob, blobs::files(profile, field, &limits)) else {
            continue;
        };
        if !files.store_first {
            continue;
        }
        let stem = [crate::facts::names::to_snake(field.path.leaf())];
        let name = |tail: &str| proposals::field_name(&stem, tail, style);
        cx.report(
            Draft::new(
                Subject::Field(collection.namespace.clone(), field.path.clone()),
                blobs::describe(field, blob, &files),
                "MongoDB caches, replicates and backs up these files together with the business data",
                format!(
                    "move the files to an object store and keep `{}`, `{}`, `{}` and the content type, which removes {} from the collection; otherwise use GridFS and keep `{}`",
                    name("url"),
                    name("sha256"),
                    name("bytes"),
                    text::in_all(profile, field.bytes, text::bytes),
                    name("file_id"),
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
    use crate::testing::{check, check_sampled, check_with};

    #[test]
    fn dm_05_6_three_megabyte_jpegs_are_one_finding_with_both_places() {
        let body =
            format!("x2 {{\"_id\": $i, \"photo\": BinData(0, \"/9j/{}\")}}", "A".repeat(4_194_300));
        let found = check("D005", &body);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].clauses, ["DM-05.6", "DM-05.4", "AP-S4.4"]);
        assert!(found[0].what.contains("JPEG"), "{}", found[0].what);
        assert!(found[0].todo.contains("object store") && found[0].todo.contains("GridFS"));
        assert!(found[0].todo.contains("`photoUrl`"), "{}", found[0].todo);
        assert_eq!(check("D004", &body), []);
    }

    #[test]
    fn dm_05_6_what_leaves_the_collection_is_told_of_all_of_it() {
        let body =
            format!("x2 {{\"_id\": $i, \"photo\": BinData(0, \"/9j/{}\")}}", "A".repeat(419_428));
        let whole = check("D005", &body)[0].todo.clone();
        assert!(whole.contains("which removes 614 KB from"), "{whole}");
        let sampled = check_sampled("D005", &body, 2000)[0].todo.clone();
        assert!(sampled.contains("which removes about 600 MB from"), "{sampled}");
    }

    #[test]
    fn dm_05_6_a_small_share_is_left_to_the_other_rule() {
        let body = format!(
            "{{\"_id\": 1, \"photo\": BinData(0, \"/9j/{}\")}}\nx40 {{\"_id\": \"u$i\", \"name\": \"$pad(90000)\"}}",
            "A".repeat(400_000)
        );
        assert_eq!(check("D005", &body), []);
        assert_eq!(check("D004", &body).len(), 1);
        assert_eq!(check_with("D005", "max-share=0.01", &body).len(), 1);
    }

    #[test]
    fn ap_s4_4_base64_text_is_a_blob_too() {
        let body = format!("x2 {{\"_id\": $i, \"scan\": \"JVBERi0xLjQK{}\"}}", "A".repeat(400_000));
        let found = check("D005", &body);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].what.contains("PDF files as base64 text"), "{}", found[0].what);
    }
}
