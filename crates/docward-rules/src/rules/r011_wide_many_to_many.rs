//! ER-T.6: in a many-to-many relation, the side that can exceed 1000 ids must not store them.

use docward_model::{
    Collection, Draft, Evidence, Field, NewIndex, Profile, Reference, Safety, Step, Subject,
};

use crate::facts::growth::arrays::{self, Limits, Owner};
use crate::facts::thresholds::r011::MAX_ELEMENTS;
use crate::facts::{growth::patterns, text, values::classes};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Wide many to many
    ///
    /// ## What it checks
    /// Reports two collections that hold arrays of each other's ids, if one of the arrays reaches 1000 elements.
    ///
    /// ## Why it matters
    /// The same fact is stored twice. The long array grows with every new partner, and each change rewrites a
    /// document with thousands of ids. Over time the two arrays contradict each other.
    ///
    /// ## Example
    /// ```jsonl,fires,max-elements=3,ns=db_school.t_course
    /// {"_id": 1, "studentIds": [11, 12, 13]}
    /// {"_id": 2, "studentIds": [11]}
    /// @ db_school.t_student
    /// {"_id": 11, "courseIds": [1, 2]}
    /// {"_id": 12, "courseIds": [1]}
    /// {"_id": 13, "courseIds": [1]}
    /// ```
    /// Only the side with the short array holds ids:
    /// ```jsonl,clean,max-elements=3,ns=db_school.t_course
    /// {"_id": 1, "title": "Algebra"}
    /// {"_id": 2, "title": "Biology"}
    /// @ db_school.t_student
    /// {"_id": 11, "courseIds": [1, 2]}
    /// {"_id": 12, "courseIds": [1]}
    /// {"_id": 13, "courseIds": [1]}
    /// ```
    ///
    /// ## How to fix
    /// Drop the long array and index the short one. If both can grow, use a collection with one document per pair
    /// and a unique index on both ids.
    ///
    /// ## When to ignore it
    /// The long array has a limit and keeps an order on purpose.
    R011, "wide-many-to-many",
    level: Recommended,
    area: Growth,
    clauses: ["ER-T.6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MAX_ELEMENTS],
    data: ["max", "other", "otherMax", "p99"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let limits = Limits {
        wide: cx.count(&MAX_ELEMENTS),
        ..Limits::of(cx.settings(), &collection.namespace)
    };
    let evidence = cx.evidence();
    for array in profile.fields.iter().filter(|f| f.array.is_some()) {
        let owner = arrays::owner(cx.settings(), evidence, collection, profile, array, &limits);
        if !matches!(owner, Some(Owner::ManyToMany)) {
            continue;
        }
        let both = arrays::both_ways(evidence, &collection.namespace, profile, array);
        let Some((here, there)) = both else { continue };
        let narrow = length_there(evidence, there);
        // Report only the side with the longer arrays.
        if length(array) >= narrow {
            let both = narrow >= limits.wide;
            cx.report(draft(collection, profile, array, here, there, narrow, both));
        }
    }
}

fn length(array: &Field) -> u64 {
    array.array.as_ref().map_or(0, |a| a.lengths.max)
}

/// The maximum length of the array that contains a reference.
fn length_there(evidence: &Evidence, reference: &Reference) -> u64 {
    let profile = evidence.collection(&reference.from).and_then(|c| c.profile.as_ref());
    profile
        .and_then(|p| classes::enclosing_array(p, p.field(reference.path.as_str())?))
        .map_or(0, length)
}

fn draft(
    collection: &Collection,
    profile: &Profile,
    array: &Field,
    here: &Reference,
    there: &Reference,
    narrow: u64,
    both: bool,
) -> Draft {
    let ns = &collection.namespace;
    let other = &there.from;
    let lengths =
        array.array.as_ref().map(|a| (a.lengths.p99(), a.lengths.max)).unwrap_or_default();
    let todo = if both {
        format!(
            "store the pairs in a separate collection with a unique index on both ids, and remove `{}` and `{}`, which both exceed the limit",
            array.path.dotted(),
            there.path.dotted()
        )
    } else {
        format!(
            "remove `{}`, and keep `{}` of `{other}` ({} at most) with an index",
            array.path.dotted(),
            there.path.dotted(),
            text::plural(narrow, "element")
        )
    };
    let draft = Draft::new(
        Subject::Field(ns.clone(), array.path.clone()),
        format!(
            "`{}` holds up to {} ids of `{}` ({} at p99), which also has an array of ids of `{}`",
            array.path,
            text::count(lengths.1),
            here.to,
            text::count(lengths.0),
            ns.collection
        ),
        "the two arrays can contradict each other, and every change rewrites the long one",
        todo,
        profile.seen(),
    )
    .data("other", other.to_string())
    .data("p99", lengths.0)
    .data("max", lengths.1)
    .data("otherMax", narrow);
    if both {
        return draft;
    }
    draft.plan(
        Some("RF-20"),
        Safety::Safe,
        [Step::CreateIndex {
            namespace: other.clone(),
            index: NewIndex::ascending([there.path.dotted()]),
        }],
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn body(students: u32) -> String {
        let ids: Vec<String> = (0..students).map(|i| (i + 10).to_string()).collect();
        let mut body = format!(
            "@ db_school.t_course\n{{\"_id\": 1, \"studentIds\": [{}]}}\n{{\"_id\": 2, \"studentIds\": [10, 11]}}\n@ db_school.t_student\n",
            ids.join(", ")
        );
        for id in &ids {
            body.push_str(&format!("{{\"_id\": {id}, \"courseIds\": [1, 2]}}\n"));
        }
        body
    }

    #[test]
    fn er_t_6_a_course_with_3000_students_must_not_hold_them() {
        let found = check("R011", &body(3000));
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("courseIds"), "{}", found[0].todo);
    }

    #[test]
    fn er_t_6_999_pass_and_1000_are_too_wide() {
        assert!(check("R011", &body(999)).is_empty());
        assert_eq!(check("R011", &body(1000)).len(), 1);
    }

    #[test]
    fn er_t_6_one_rule_speaks_of_an_array_of_ids() {
        let growing = {
            let mut body = String::from("@ db_school.t_course\n");
            for i in 0..60_u32 {
                let ids: Vec<String> = (0..2000 - i * 30).map(|n| n.to_string()).collect();
                body.push_str(&format!(
                    "{{\"_id\": {i}, \"createdAt\": ISODate(\"2024-{:02}-{:02}T00:00:00Z\"), \"studentIds\": [{}]}}\n",
                    1 + i / 28,
                    1 + i % 28,
                    ids.join(", ")
                ));
            }
            body.push_str("@ db_school.t_student\n");
            for n in 0..2000 {
                body.push_str(&format!("{{\"_id\": {n}, \"courseIds\": [0, {}]}}\n", n % 60));
            }
            body
        };
        for (name, body) in [("wide", body(3000)), ("growing", growing)] {
            let speakers: Vec<&str> = ["D003", "D008", "D009", "R006", "R008", "R011"]
                .into_iter()
                .filter(|rule| {
                    check(rule, &body)
                        .iter()
                        .any(|f| f.at.path().is_some_and(|p| p.as_str() == "studentIds"))
                })
                .collect();
            let expected = if name == "growing" { "R006" } else { "R011" };
            assert_eq!(speakers, [expected], "{name}");
        }
    }
}
