//! PT-poly.1: a collection with several kinds of documents needs a field for the kind.

use docward_model::{Collection, DataValue, Draft, FieldPath, Profile, Safety, Step, Subject};

use crate::facts::{text, values::classes};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Missing discriminator
    ///
    /// ## What it checks
    /// Reports collections with at least three families of documents whose fields clearly differ, if no field
    /// distinguishes the families. Each family has at least 5 % of the documents, and the collection has 100
    /// documents or more. Documents that only lack optional fields belong to the same family.
    ///
    /// ## Why it matters
    /// Readers have to guess the kind of a document from its fields. No index can find "all trucks", and no
    /// validator can require the right fields for each kind. A new kind makes the guesses wrong.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// x40 {"name": "n", "doors": 4, "trunkLitres": 450, "seats": 5}
    /// x40 {"name": "n", "payloadKg": 5000, "axles": 3, "crane": true}
    /// x40 {"name": "n", "engineCc": 1200, "sidecar": false, "helmets": 2}
    /// ```
    /// A field names the kind:
    /// ```jsonl,clean
    /// x40 {"type": "car", "name": "n", "doors": 4, "trunkLitres": 450, "seats": 5}
    /// x40 {"type": "truck", "name": "n", "payloadKg": 5000, "axles": 3, "crane": true}
    /// x40 {"type": "bike", "name": "n", "engineCc": 1200, "sidecar": false, "helmets": 2}
    /// ```
    ///
    /// ## How to fix
    /// Add a field such as `type`, fill it from the existing fields, and make it required. Give the validator one
    /// `oneOf` branch per kind, and make indexes on the fields of one kind partial.
    ///
    /// ## When to ignore it
    /// The kinds are stages in the life of one document, and readers distinguish them by the fields on purpose.
    R009, "missing-discriminator",
    level: Recommended,
    area: Correctness,
    clauses: ["PT-poly.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [FAMILIES, SHARE, OVERLAP, MIN_DOCUMENTS],
    data: ["families"],
    check: Collection(check),
}

threshold!(
    FAMILIES,
    "min-families",
    Int(3),
    "families",
    "our default",
    "minimum number of document families for which a missing discriminator is reported"
);
threshold!(
    SHARE,
    "min-share",
    Float(0.05),
    "share of documents",
    "our default",
    "smallest share of the documents that counts as a family"
);
threshold!(
    OVERLAP,
    "max-overlap",
    Float(0.50),
    "share of fields",
    "our default",
    "minimum share of common fields for two shapes to belong to one family"
);
threshold!(
    MIN_DOCUMENTS,
    "min-documents",
    Int(100),
    "documents",
    "our default",
    "minimum number of documents in a collection"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let documents = profile.documents;
    if documents < cx.count(&MIN_DOCUMENTS)
        || profile.discriminator.is_some()
        // With many rare shapes, the families are not known well enough.
        || profile.other_shapes * 5 > documents
    {
        return;
    }
    let least = (cx.limit(&SHARE) * documents as f64).ceil() as u64;
    let families: Vec<Family> = families(profile, cx.limit(&OVERLAP))
        .into_iter()
        .filter(|f| f.documents >= least)
        .collect();
    // Families without common fields are unrelated. They would also benefit from a discriminator.
    if (families.len() as u64) < cx.count(&FAMILIES) {
        return;
    }
    cx.report(draft(collection, profile, &families));
}

struct Family {
    documents: u64,
    /// The shapes in the family.
    shapes: Vec<usize>,
}

/// Joins shapes as long as any two have enough common fields: optional fields form long chains, and those are one
/// family.
fn families(profile: &Profile, overlap: f64) -> Vec<Family> {
    let id = profile.fields.iter().position(|f| f.path.as_str() == "_id");
    let sets: Vec<Vec<usize>> = profile
        .shapes
        .iter()
        .map(|s| s.fields.iter().copied().filter(|f| Some(*f) != id).collect())
        .collect();
    let mut group: Vec<usize> = (0..sets.len()).collect();
    for a in 0..sets.len() {
        for b in 0..a {
            if alike(&sets[a], &sets[b], overlap) {
                let (from, to) = (group[a].max(group[b]), group[a].min(group[b]));
                group.iter_mut().filter(|g| **g == from).for_each(|g| *g = to);
            }
        }
    }
    (0..sets.len())
        .filter(|&g| group[g] == g)
        .map(|g| {
            let shapes: Vec<usize> = (0..sets.len()).filter(|&s| group[s] == g).collect();
            Family { documents: shapes.iter().map(|&s| profile.shapes[s].documents).sum(), shapes }
        })
        .collect()
}

/// Compares two ascending lists by Jaccard's index, or whether one contains the other: a document that only lacks
/// fields is of the same kind.
fn alike(a: &[usize], b: &[usize], overlap: f64) -> bool {
    let common = a.iter().filter(|f| b.binary_search(f).is_ok()).count();
    let all = a.len() + b.len() - common;
    all == 0 || common == a.len().min(b.len()) || common as f64 >= overlap * all as f64
}

fn draft(collection: &Collection, profile: &Profile, families: &[Family]) -> Draft {
    let ns = &collection.namespace;
    // A field of every family that no other family has, from which to fill the new field.
    let own: Vec<Option<&str>> = families
        .iter()
        .map(|family| {
            let shape = &profile.shapes[family.shapes[0]];
            shape
                .fields
                .iter()
                .copied()
                .find(|f| {
                    families.iter().filter(|other| !std::ptr::eq(*other, family)).all(|other| {
                        other.shapes.iter().all(|&s| !profile.shapes[s].fields.contains(f))
                    })
                })
                .map(|f| profile.fields[f].path.as_str())
        })
        .collect();
    let named: Vec<&str> = own.iter().flatten().copied().collect();
    let draft = Draft::new(
        Subject::Collection(ns.clone()),
        format!(
            "the collection has {} kinds of documents, and no field shows the kind",
            families.len()
        ),
        "programs must guess the kind from the fields that are present, and no index or validator can use the kind",
        format!(
            "add a required field such as `type` with {} values, and a `oneOf` branch for each value to the validator{}",
            families.len(),
            if named.is_empty() {
                String::new()
            } else {
                format!("; the kinds differ in {}", text::list(&named, 6))
            }
        ),
        profile.seen(),
    )
    .data(
        "families",
        families
            .iter()
            .zip(&own)
            .map(|(family, own)| {
                DataValue::Map(vec![
                    ("documents".to_owned(), family.documents.into()),
                    ("shapes".to_owned(), family.shapes.len().into()),
                    ("by".to_owned(), own.unwrap_or("").into()),
                ])
            })
            .collect::<Vec<_>>(),
    );
    match named.first() {
        Some(first) => draft.plan(
            Some("RF-18"),
            Safety::Manual,
            [Step::SetKind {
                namespace: ns.clone(),
                present: FieldPath::new(*first),
                field: "type".to_owned(),
            }],
        ),
        None => draft,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    const CAR: &str = "{\"name\": \"n\", \"doors\": 4, \"trunkLitres\": 450, \"seats\": 5}";
    const TRUCK: &str = "{\"name\": \"n\", \"payloadKg\": 5000, \"axles\": 3, \"crane\": true}";
    const BIKE: &str = "{\"name\": \"n\", \"engineCc\": 1200, \"sidecar\": false, \"helmets\": 2}";

    #[test]
    fn pt_poly_1_three_shapes_without_a_type_are_reported() {
        let body = format!("x50 {CAR}\nx50 {TRUCK}\nx50 {BIKE}");
        let found = check("R009", &body);
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("`doors`"), "{}", found[0].todo);
        let typed = format!(
            "x50 {}\nx50 {}\nx50 {}",
            CAR.replace("\"name\"", "\"type\": \"car\", \"name\""),
            TRUCK.replace("\"name\"", "\"type\": \"truck\", \"name\""),
            BIKE.replace("\"name\"", "\"type\": \"bike\", \"name\"")
        );
        assert!(check("R009", &typed).is_empty());
    }

    #[test]
    fn two_families_rare_families_and_optional_fields_are_not() {
        assert!(check("R009", &format!("x50 {CAR}\nx50 {TRUCK}")).is_empty());
        assert!(check("R009", &format!("x100 {CAR}\nx100 {TRUCK}\nx9 {BIKE}")).is_empty());
        let optional = "x50 {\"a\": 1, \"b\": 1, \"c\": 1, \"d\": 1}\nx50 {\"a\": 1}\nx50 {\"a\": 1, \"c\": 1}\nx50 {\"d\": 1}";
        assert!(check("R009", optional).is_empty());
    }
}
