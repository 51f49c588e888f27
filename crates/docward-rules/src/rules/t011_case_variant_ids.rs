//! AP-S2.6: ids that differ only in upper and lower case.

use docward_model::{
    CaseCollision, Collection, Draft, Field, Look, Profile, Safety, Step, Subject,
};

use crate::facts::{grouping, text, values::classes};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Case variant ids
    ///
    /// ## What it checks
    /// Reports id fields in which the same id occurs in several spellings that differ only in upper and lower
    /// case, such as `User123` and `user123`. Capital letters alone are not reported, nor are random tokens in
    /// which case is significant.
    ///
    /// ## Why it matters
    /// MongoDB compares text byte by byte. A unique index accepts both spellings, and a lookup by one does not
    /// find the other. One person may get two accounts.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "userId": "User123"}
    /// {"_id": 2, "userId": "user123"}
    /// ```
    /// One spelling per id:
    /// ```jsonl,clean
    /// {"_id": 1, "userId": "user123"}
    /// {"_id": 2, "userId": "user124"}
    /// ```
    ///
    /// ## How to fix
    /// Merge the documents with the same id, and write new ids in lower case. Create an index with
    /// `collation: {locale: "en", strength: 2}`, unique if the ids are unique.
    ///
    /// ## When to ignore it
    /// Case is part of the id by definition, as in base64 or short links.
    T011, "case-variant-ids",
    level: Recommended,
    area: Correctness,
    clauses: ["AP-S2.6"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MIN_COLLISIONS],
    data: ["colliding", "exact", "ids"],
    check: Collection(check),
}

threshold!(
    MIN_COLLISIONS,
    "min-collisions",
    Int(1),
    "ids",
    "AP-S2.6",
    "minimum number of ids with several spellings"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let min = cx.count(&MIN_COLLISIONS).max(1);
    let drafts = profile
        .fields
        .iter()
        .filter_map(|field| {
            let cases = field.text.as_ref()?.case_collisions.as_ref()?;
            let token = cases.example.as_ref().is_some_and(|(a, b)| !is_word(a) && !is_word(b));
            (cases.colliding >= min && !token).then(|| draft(collection, profile, field, cases))
        })
        .collect();
    grouping::report(cx, &collection.namespace, drafts, "hold ids that differ only in case");
}

/// Lower case, upper case or capitalised: written by a person. `aBcD12` is a token.
fn is_word(text: &str) -> bool {
    let mut letters = text.chars().filter(|c| c.is_alphabetic());
    let Some(first) = letters.next() else { return false };
    let rest: Vec<char> = letters.collect();
    rest.iter().all(|c| !c.is_uppercase())
        || (first.is_uppercase() && rest.iter().all(|c| !c.is_lowercase()))
}

fn draft(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    cases: &CaseCollision,
) -> Draft {
    let path = &field.path;
    let ns = &collection.namespace;
    let dotted = path.dotted();
    // If every value occurs once, the field is a key, and the index can be unique.
    let key = field.distinct.values >= 0.99 * field.types.non_null() as f64;
    let index = if path.as_str() == "_id" {
        "the index on `_id` uses the collection's collation, so the application must enforce this"
            .to_owned()
    } else {
        format!(
            "then create{} index on `{dotted}` with collation strength 2",
            if key { " a unique" } else { " an" }
        )
    };
    let mut draft = Draft::new(
        Subject::Field(ns.clone(), path.clone()),
        format!(
            "{} {}in `{path}` {} in several spellings that differ only in case",
            text::part(cases.colliding, cases.groups, "id"),
            if cases.exact { "" } else { "examined " },
            text::form(cases.colliding, "occurs", "occur")
        ),
        "MongoDB compares text byte by byte: a query for one spelling misses the other, and a unique index accepts both",
        format!(
            "choose one spelling for {} and write all ids in lower case from now on; {index}",
            text::plural(cases.colliding, "id")
        ),
        profile.seen().estimated(!cases.exact),
    )
    .data("ids", cases.groups)
    .data("colliding", cases.colliding)
    .data("exact", cases.exact);
    if let Some((a, b)) = &cases.example {
        draft = draft.examples([a.clone(), b.clone()]);
    }
    if path.in_array() || path.has_any_key() {
        return draft;
    }
    let look = Look::CaseVariants { path: path.clone() };
    draft.plan(Some("RF-13"), Safety::Safe, [Step::Inspect { namespace: ns.clone(), look }])
}

#[cfg(test)]
mod tests {
    use super::is_word;
    use crate::testing::check;

    #[test]
    fn ap_s2_6_two_spellings_of_one_id_are_a_collision() {
        let found = check(
            "T011",
            "{\"userId\": \"User123\"}\n{\"userId\": \"user123\"}\n{\"userId\": \"anna\"}",
        );
        assert_eq!(found.len(), 1);
        assert!(found[0].what.starts_with("1 of 2 ids"), "{}", found[0].what);
        assert!(!found[0].todo.contains("123"), "{}", found[0].todo);
    }

    #[test]
    fn mixed_case_alone_is_no_finding() {
        assert!(check("T011", "{\"userId\": \"User123\"}\n{\"userId\": \"Anna\"}").is_empty());
    }

    #[test]
    fn tokens_are_told_from_words() {
        for word in ["user123", "User123", "USER123", "anna@example.com"] {
            assert!(is_word(word), "{word}");
        }
        for token in ["aBcD12", "AbCd", "dQw4w9WgXcQ", "123"] {
            assert!(!is_word(token), "{token}");
        }
    }
}
