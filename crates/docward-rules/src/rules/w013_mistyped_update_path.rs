//! DM-06.3: paths in updates that are long, and those that no document has.

use std::collections::BTreeMap;

use docward_model::{
    Collection, CollectionKind, Draft, Evidence, FieldPath, Namespace, Profile, Seen, Subject, Unit,
};

use crate::{
    Cx, declare_rule,
    facts::{
        names::path_typos::{is_absent, nearest},
        text, workload,
    },
    threshold,
};

declare_rule! {
    /// # Mistyped update path
    ///
    /// ## What it checks
    /// Checks the paths that updates set (`$set`, `$inc` and others, also in pipelines). Array positions do not
    /// count as names. Reports:
    /// - a path that no document has, if the documents have a path that differs by one typing error. This needs
    ///   at least 100 documents, or 1000 if only a part of the collection was read
    /// - paths of more than 5 names
    ///
    /// ## Exceptions
    /// Not reported:
    /// - paths through objects whose field names are data
    /// - names of up to three letters in short paths
    /// - names that differ only in a digit
    /// - paths that an update removes
    ///
    /// ## Why it matters
    /// A mistyped `$set` does not fail. It creates a field that no program reads, and the intended field keeps
    /// its old value. Errors are more likely in long paths.
    ///
    /// ## Example
    /// ```jsonl,fires,min-documents=3
    /// x3 {"_id": $i, "delivery": {"address": {"street": "Main"}}}
    /// ran x5 {"command": {"q": {"_id": 7}, "u": {"$set": {"delivery.adress.street": "Side"}}}}
    /// ```
    /// ```jsonl,clean,min-documents=3
    /// x3 {"_id": $i, "delivery": {"address": {"street": "Main"}}}
    /// ran x5 {"command": {"q": {"_id": 7}, "u": {"$set": {"delivery.address.street": "Side"}}}}
    /// ```
    /// A long path:
    /// ```jsonl,fires
    /// ran x5 {"command": {"q": {"_id": 7}, "u": {"$set": {"a.b.c.d.e.f.g.value": 1}}}}
    /// ```
    ///
    /// ## How to fix
    /// Correct the path in the code, copy the values that were written under the wrong path, and remove it with
    /// `$unset`. Move fields that are updated often closer to the top level.
    ///
    /// ## When to ignore it
    /// The field is new, and none of the documents read has it yet.
    W013, "mistyped-update-path",
    level: Recommended,
    area: Correctness,
    clauses: ["DM-06.3"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MAX_PARTS, MIN_DOCUMENTS],
    data: ["nearest", "parts", "paths", "updates"],
    check: Deployment(check),
}

threshold!(
    MAX_PARTS,
    "max-parts",
    Int(5),
    "names",
    "DM-06.3",
    "maximum number of names in the path of an update"
);
threshold!(
    MIN_DOCUMENTS,
    "min-documents",
    Int(100),
    "documents",
    "our default",
    "minimum number of documents that show that a field is absent"
);

/// The minimum number of documents from a part of a collection that prove the absence of a field, as a multiple.
const OF_A_PART: u64 = 10;

/// Names up to this length often differ by one letter on purpose: `x` and `y`, `lat` and `lon`.
const SHORT_NAME: usize = 3;

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let mut set: BTreeMap<&Namespace, BTreeMap<String, u64>> = BTreeMap::new();
    for stats in workload::business_shapes(evidence) {
        let shape = &stats.shape;
        for path in shape.writes.iter().filter(|path| !shape.removes.contains(path)) {
            let paths = set.entry(&shape.namespace).or_default();
            *paths.entry(workload::place(path).dotted()).or_default() += stats.count;
        }
    }
    for (namespace, mut paths) in set {
        let most = cx.count_at(&MAX_PARTS, namespace) as usize;
        let collection = evidence.collection(namespace);
        if let Some(profile) =
            collection.and_then(|c| telling(c, cx.count_at(&MIN_DOCUMENTS, namespace)))
        {
            paths.retain(|path, &mut count| match slip(profile, path, most) {
                Some(near) => {
                    report_slip(namespace, profile, (path, count), &near, cx);
                    false
                }
                None => true,
            });
        }
        paths.retain(|path, _| path.split('.').count() > most);
        report_long(namespace, &paths, most, cx);
    }
}

/// The profile, if it can show that a field is absent.
fn telling(collection: &Collection, least: u64) -> Option<&Profile> {
    let profile = collection.profile.as_ref()?;
    let enough = if profile.documents < profile.total { least * OF_A_PART } else { least };
    let is_told = profile.documents >= enough
        && !profile.fields_capped
        && collection.kind != CollectionKind::TimeSeries;
    is_told.then_some(profile)
}

/// The intended path, if no document has this one.
fn slip(profile: &Profile, path: &str, most: usize) -> Option<String> {
    if !is_absent(profile, path) {
        return None;
    }
    let near = nearest(profile, path, 1)?;
    let without_digits =
        |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let differing = path.split('.').zip(near.split('.')).find(|(a, b)| a != b);
    let is_short = differing.is_some_and(|(a, b)| a.len().max(b.len()) <= SHORT_NAME);
    let is_likely = without_digits(path) != without_digits(&near)
        && (!is_short || path.split('.').count() > most);
    is_likely.then_some(near)
}

fn report_slip(
    namespace: &Namespace,
    profile: &Profile,
    (path, count): (&str, u64),
    near: &str,
    cx: &mut Cx<'_>,
) {
    cx.report(
        Draft::new(
            Subject::Field(namespace.clone(), FieldPath::new(path)),
            format!(
                "{} set `{path}`, which none of {} documents has; they have `{near}`",
                text::plural(count, "update"),
                text::count(profile.documents),
            ),
            "an update with a mistyped path succeeds: it creates a new field, and the intended field keeps its old value",
            format!(
                "change the path to `{near}` in the code; if the wrong field exists by now, copy its values and $unset it"
            ),
            profile.seen(),
        )
        .data("updates", count)
        .data("nearest", near),
    );
}

fn report_long(namespace: &Namespace, paths: &BTreeMap<String, u64>, most: usize, cx: &mut Cx<'_>) {
    let Some(longest) = paths.keys().map(|path| path.split('.').count()).max() else { return };
    let count: u64 = paths.values().sum();
    let names: Vec<&str> = paths.keys().map(String::as_str).collect();
    cx.report(
        Draft::new(
            Subject::Collection(namespace.clone()),
            format!(
                "updates set {} with up to {longest} parts (limit {most}): {}",
                text::plural(names.len() as u64, "path"),
                text::paths(&names, 3),
            ),
            "long paths are easy to mistype, and a mistyped $set creates a new field instead of failing",
            format!("move updated fields closer to the top level: at most {most} parts in a path"),
            Seen::all(count, Unit::Operations),
        )
        .paths(names.iter().map(|path| FieldPath::new(*path)))
        .data("paths", names.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>())
        .data("parts", longest as u64)
        .key("long paths"),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};

    const DEEP: &str = r#"x100 {"_id": $i, "a": {"b": {"c": {"d": {"e": {"f": {"g": {"value": 1}}}}}}}, "customer": {"address1": "x", "position": {"x": 1}}, "perUser": {"u$i": {"score": 1}}}"#;

    fn set(path: &str) -> Vec<docward_model::Finding> {
        let update = format!(
            r#"ran x5 {{"command": {{"q": {{"_id": 7}}, "u": {{"$set": {{"{path}": 1}}}}}}}}"#
        );
        check("W013", &format!("{DEEP}\n{update}"))
    }

    #[test]
    fn dm_06_3_st_06_a_slip_in_a_deep_path_is_told_with_the_path_that_was_meant() {
        let found = set("a.b.c.d.e.f.h.value");
        assert_eq!(found.len(), 1, "one cause, one finding");
        assert!(found[0].todo.contains("`a.b.c.d.e.f.g.value`"), "{}", found[0].todo);
        assert_eq!(found[0].clauses, ["DM-06.3"]);
    }

    #[test]
    fn dm_06_3_long_paths_are_told_once_for_a_collection() {
        let found = set("a.b.c.d.e.f.g.value");
        assert!(found[0].what.contains("8 parts"), "{}", found[0].what);
        assert!(set("a.b.c.d.e").is_empty(), "5 names are allowed");
        let positions =
            r#"ran x5 {"command": {"q": {"_id": 7}, "u": {"$set": {"a.0.b.$[].c.3.d": 1}}}}"#;
        assert!(check("W013", positions).is_empty(), "positions are no names");
    }

    #[test]
    fn dm_06_3_what_is_new_on_purpose_is_no_slip() {
        for path in
            ["customer.address2", "customer.position.y", "customer.phone", "perUser.ux.score"]
        {
            assert!(set(path).is_empty(), "{path}");
        }
        assert_eq!(set("customer.postion.x").len(), 1);
    }

    #[test]
    fn dm_06_3_paths_that_are_removed_and_few_documents_say_nothing() {
        let unset =
            r#"ran x5 {"command": {"q": {"_id": 7}, "u": {"$unset": {"customer.postion": 1}}}}"#;
        assert!(check("W013", &format!("{DEEP}\n{unset}")).is_empty());
        let set =
            r#"ran x5 {"command": {"q": {"_id": 7}, "u": {"$set": {"customer.postion.x": 1}}}}"#;
        let few = DEEP.replace("x100", "x99");
        assert!(check("W013", &format!("{few}\n{set}")).is_empty());
        assert_eq!(check_with("W013", "min-documents=50", &format!("{few}\n{set}")).len(), 1);
    }
}
