//! ER-T.6: in a many-to-many relation the side that can pass 1000 ids must not hold them.

use docward_model::{Collection, Draft, Evidence, Field, Profile, Reference, Safety, Subject};

use crate::facts::{classes, statements, text};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Wide many to many
    ///
    /// ## What it checks
    /// Reports pairs of collections that hold arrays of each other's ids when one of the arrays reaches
    /// 1000 elements.
    ///
    /// ## Why it matters
    /// The same fact is stored twice, and the wide side grows with every new partner: each change
    /// rewrites a document of thousands of ids, and the two arrays come to disagree.
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
    /// Only the narrow side holds ids:
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
    /// Drop the array on the wide side and index the one on the narrow side; when both can grow, use a
    /// collection with one document per pair and a unique index on both ids.
    ///
    /// ## When to ignore it
    /// The wide array is capped and kept in order on purpose.
    R011, "wide-many-to-many",
    level: Recommended,
    clauses: ["ER-T.6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MAX_ELEMENTS],
    check: Collection(check),
}

threshold!(
    MAX_ELEMENTS,
    "max-elements",
    Int(1000),
    "elements",
    "ER-T.6",
    "length from which an array of ids is too wide"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    let most = cx.count(&MAX_ELEMENTS);
    let evidence = cx.evidence();
    let ns = &collection.namespace;
    for here in evidence.references.iter().filter(|r| r.from == *ns && r.to != *ns) {
        let Some(array) = array_of(profile, here) else { continue };
        let Some((there, narrow)) = opposite(evidence, here) else { continue };
        let longest = length(array);
        // The wider side speaks, once.
        if longest >= most && longest >= narrow {
            let both = narrow >= most;
            cx.report(draft(collection, profile, array, here, there, narrow, both));
        }
    }
}

fn array_of<'a>(profile: &'a Profile, reference: &Reference) -> Option<&'a Field> {
    let field = profile.field(reference.path.as_str())?;
    reference.path.in_array().then(|| classes::enclosing_array(profile, field)).flatten()
}

fn length(array: &Field) -> u64 {
    array.array.as_ref().map_or(0, |a| a.lengths.max)
}

/// The array of ids that points back, and its greatest length.
fn opposite<'a>(evidence: &'a Evidence, here: &Reference) -> Option<(&'a Reference, u64)> {
    evidence.references.iter().filter(|r| r.from == here.to && r.to == here.from).find_map(|r| {
        let profile = evidence.collection(&r.from)?.profile.as_ref()?;
        Some((r, length(array_of(profile, r)?)))
    })
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
            "keep the pairs in a collection of their own with a unique index on both ids, and drop `{}` and `{}`: both pass the bound",
            array.path.dotted(),
            there.path.dotted()
        )
    } else {
        format!(
            "drop `{}` and keep `{}` of `{other}` ({} at most) with an index on it",
            array.path.dotted(),
            there.path.dotted(),
            text::plural(narrow, "element")
        )
    };
    let draft = Draft::new(
        Subject::Field(ns.clone(), array.path.clone()),
        format!(
            "`{}` holds up to {} ids of `{}` ({} at p99), which lists `{}` in turn",
            array.path,
            text::count(lengths.1),
            here.to,
            text::count(lengths.0),
            ns.collection
        ),
        "one fact in two arrays comes to disagree, and the wide one is rewritten whole at every change",
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
    draft.fix(
        Some("RF-20"),
        Safety::Safe,
        format!(
            "{}.createIndex({{{}: 1}})",
            statements::collection(other),
            statements::quoted(&there.path.dotted())
        ),
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
}
