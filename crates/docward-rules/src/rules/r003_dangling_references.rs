//! PT-ref.1: references to documents that do not exist.

use docward_model::{
    BsonType, Collection, Draft, Look, Reference, Safety, Seen, Step, Subject, Unit,
};

use crate::facts::{growth::patterns, text};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Dangling references
    ///
    /// ## What it checks
    /// Reports fields that refer to another collection if some of their values have no document there. Docward
    /// needs the whole other collection; in a sampled live deployment, it looks up the values of about 128
    /// documents. At least 50 different values must be known.
    ///
    /// A field counts as a reference if enough values exist in the other collection: half of ObjectIds and UUIDs,
    /// and 90 % of numbers and text, which may match by chance.
    ///
    /// ## Why it matters
    /// Each such value is an invoice without a customer or a comment without a post. Pages that expect the
    /// document fail, and `$lookup` drops the row or leaves it empty.
    ///
    /// ## Example
    /// ```jsonl,fires,min-values=10,ns=db_music.t_song
    /// x19 {"_id": $i}
    /// @ db_music.t_playlist
    /// x3 {"songIds": $array(20, $j)}
    /// ```
    /// Every reference has its document:
    /// ```jsonl,clean,min-values=10,ns=db_music.t_song
    /// x20 {"_id": $i}
    /// @ db_music.t_playlist
    /// x3 {"songIds": $array(20, $j)}
    /// ```
    ///
    /// ## How to fix
    /// List the values. Remove those that refer to nothing, or restore the missing documents. In future, delete
    /// both sides in one transaction.
    ///
    /// ## When to ignore it
    /// The dump contains only a part of the other collection, or its documents expire by design.
    R003, "dangling-references",
    level: Recommended,
    area: Correctness,
    clauses: ["PT-ref.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MIN_VALUES, UNIQUE_SHARE, OTHER_SHARE],
    data: ["checked", "contained", "missing", "target"],
    check: Collection(check),
}

threshold!(
    MIN_VALUES,
    "min-values",
    Int(50),
    "values",
    "our default",
    "minimum number of different values to look up"
);
threshold!(
    UNIQUE_SHARE,
    "min-contained-unique",
    Float(0.50),
    "share of values",
    "our default",
    "minimum share of existing targets for ObjectIds and UUIDs to count as references"
);
threshold!(
    OTHER_SHARE,
    "min-contained",
    Float(0.90),
    "share of values",
    "our default",
    "the same for numbers and text, which are more likely to match by chance"
);

/// Above this share, only the error of the sketch suggests missing targets.
const COMPLETE: f64 = 0.999;

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let evidence = cx.evidence();
    let ns = &collection.namespace;
    for reference in evidence.references.iter().filter(|r| r.from == *ns) {
        let unique = matches!(reference.to_type, BsonType::ObjectId | BsonType::BinData);
        let least = cx.limit(if unique { &UNIQUE_SHARE } else { &OTHER_SHARE });
        let whole = evidence
            .collection(&reference.to)
            .and_then(|to| to.profile.as_ref())
            .is_some_and(|to| to.documents > 0 && to.documents >= to.total)
            || reference.looked_up;
        let enough = reference.checked_values >= cx.count(&MIN_VALUES);
        if whole && enough && reference.agreement() >= least && reference.contained < COMPLETE {
            cx.report(draft(collection, profile, reference));
        }
    }
}

fn draft(
    collection: &Collection,
    profile: &docward_model::Profile,
    reference: &Reference,
) -> Draft {
    let ns = &collection.namespace;
    let (path, to) = (&reference.path, &reference.to);
    let checked = reference.checked_values;
    let missing = ((1.0 - reference.contained) * checked as f64).round().max(1.0) as u64;
    // A sample of the distinct values was looked up. If each document has a distinct value, this is a random sample of
    // documents.
    let seen = if reference.looked_up && !path.in_array() {
        Seen::some(checked, profile.total.max(checked), Unit::Documents, true).showing(missing)
    } else {
        profile.seen().estimated((checked as f64) < reference.parents.round())
    };
    let draft = Draft::new(
        Subject::Field(ns.clone(), path.clone()),
        format!(
            "{} of {} looked up from `{path}` {} no document in {}{}",
            text::count(missing),
            text::plural(checked, "value"),
            text::form(missing, "has", "have"),
            if reference.is_by_id() {
                format!("`{to}`")
            } else {
                format!("`{to}` with that `{}`", reference.to_path)
            },
            of_references(reference)
        ),
        "application code fails on the missing document, and $lookup returns an empty result",
        format!(
            "list the documents whose `{}` refers to no document, and remove or repair them",
            path.dotted()
        ),
        seen,
    )
    .data("target", to.to_string())
    .data("checked", checked)
    .data("missing", missing)
    .data("contained", reference.contained);
    if ns.database != to.database
        || path.in_array()
        || path.has_any_key()
        || reference.needs_conversion
    {
        return draft;
    }
    let look = Look::DanglingReferences {
        path: path.clone(),
        target: to.collection.clone(),
        target_path: reference.to_path.clone(),
    };
    draft.plan(None, Safety::Safe, [Step::Inspect { namespace: ns.clone(), look }])
}

/// The share of references that dangle, if it differs from the share of values.
fn of_references(reference: &Reference) -> String {
    if reference.references_contained - reference.contained < OTHERWISE {
        return String::new();
    }
    format!(", {} of its references", text::percent(1.0 - reference.references_contained))
}

/// Two shares are both shown only if they differ by at least this much.
const OTHERWISE: f64 = 0.05;

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn body(posts: u32) -> String {
        let comments: String = (0..100).map(|i| format!("{{\"postId\": {i}}}\n")).collect();
        format!("@ db_blog.t_post\nx{posts} {{\"_id\": $i}}\n@ db_blog.t_comment\n{comments}")
    }

    #[test]
    fn pt_ref_1_a_code_that_nothing_has_is_found_by_its_field() {
        let stations: String = (0..100).map(|i| format!("{{\"code\": \"S{i}\"}}\n")).collect();
        let prices: String =
            (0..104).map(|i| format!("{{\"stationCode\": \"S{i}\", \"amount\": {i}}}\n")).collect();
        let body = format!("@ db_fuel.t_station\n{stations}@ db_fuel.t_price\n{prices}");
        let found = check("R003", &body);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.starts_with("4 of 104 values looked up"), "{}", found[0].what);
        assert!(found[0].what.ends_with("with that `code`"), "{}", found[0].what);
        let command = &found[0].fix.as_ref().expect("a command").command();
        assert!(command.contains("foreignField: \"code\""), "{command}");
    }

    #[test]
    fn pt_ref_1_missing_documents_are_counted() {
        let found = check("R003", &body(98));
        assert_eq!(found.len(), 1);
        assert!(found[0].what.starts_with("2 of 100"), "{}", found[0].what);
        assert!(!found[0].todo.contains("only a part"), "{}", found[0].todo);
        assert!(check("R003", &body(100)).is_empty());
    }

    /// Forty customers have ten bills each, and forty more bills refer to deleted customers.
    #[test]
    fn pt_ref_1_texts_are_judged_by_the_references_that_hold() {
        let id = |n: u32| format!("65a{n:021x}");
        let mut body = String::from("@ db_shop.t_customer\n");
        (0..40).for_each(|n| body.push_str(&format!("{{\"_id\": \"{}\"}}\n", id(n))));
        body.push_str("@ db_shop.t_bill\n");
        (0..40).for_each(|n| body.push_str(&format!("x10 {{\"customerId\": \"{}\"}}\n", id(n))));
        (0..40).for_each(|n| body.push_str(&format!("{{\"customerId\": \"{}\"}}\n", id(n + 900))));
        let found = check("R003", &body);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].what.ends_with("`db_shop.t_customer`, 9.1 % of its references"),
            "{}",
            found[0].what
        );
    }

    #[test]
    fn numbers_that_match_by_chance_are_no_reference() {
        assert!(check("R003", &body(60)).is_empty());
    }
}
