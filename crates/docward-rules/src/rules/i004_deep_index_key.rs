//! DM-06.3: index keys on deep paths.

use docward_model::{Collection, Draft, Seen, Subject, Unit};

use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Deep index key
    ///
    /// ## What it checks
    /// Reports index keys whose path has more than five names, such as `a.b.c.d.e.f`. Wildcards and array
    /// positions do not count.
    ///
    /// ## Why it matters
    /// A long path is easily mistyped in queries and updates. The mistyped path uses no index and matches
    /// nothing. A long path also shows that the document is nested more deeply than the queries need.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// index {"key": {"config.region.zone.rack.slot.value": 1}, "name": "deep"}
    /// {"_id": 1, "config": {"region": {"zone": {"rack": {"slot": {"value": 1}}}}}}
    /// ```
    /// ```jsonl,clean
    /// index {"key": {"customer.contact.phone": 1}, "name": "phone"}
    /// {"_id": 1, "customer": {"contact": {"phone": "1"}}}
    /// ```
    ///
    /// ## How to fix
    /// Move the searched field closer to the top level, or into its own collection, and index it there.
    ///
    /// ## When to ignore it
    /// A standard defines the structure, and the paths are generated.
    I004, "deep-index-key",
    level: Recommended,
    area: Speed,
    clauses: ["DM-06.3"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Indexes],
    thresholds: [MAX_PARTS],
    data: ["index", "parts", "path"],
    check: Collection(check),
}

threshold!(
    MAX_PARTS,
    "max-parts",
    Int(5),
    "names",
    "DM-06.3",
    "maximum number of names in the path of an index key"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(indexes) = &collection.indexes else { return };
    let max = cx.count(&MAX_PARTS);
    for index in indexes {
        let parts = |path: &str| {
            path.split('.').filter(|p| *p != "$**" && p.parse::<u32>().is_err()).count() as u64
        };
        let deepest = index.keys.iter().map(|k| (parts(&k.path), &k.path)).max();
        let Some((n, path)) = deepest.filter(|(n, _)| *n > max) else { continue };
        let leaf = path.rsplit('.').find(|p| *p != "$**").unwrap_or(path);
        cx.report(
            Draft::new(
                Subject::Index(collection.namespace.clone(), index.name.clone()),
                format!("index `{}` has the key `{path}` with {n} path parts (limit {max})", index.name),
                "long paths are easy to mistype, and a query with a mistyped path matches no documents and raises no error",
                format!("move `{leaf}` closer to the top level of the document and index it there"),
                Seen::all(indexes.len() as u64, Unit::Indexes),
            )
            .data("index", index.name.as_str())
            .data("path", path.as_str())
            .data("parts", n),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn with(path: &str) -> Vec<docward_model::Finding> {
        check("I004", &format!("index {{\"key\": {{\"{path}\": 1}}, \"name\": \"i\"}}"))
    }

    #[test]
    fn dm_06_3_five_names_pass_six_warn() {
        assert!(with("a.b.c.d.e").is_empty());
        assert_eq!(with("a.b.c.d.e.f").len(), 1);
        assert!(with("a.b.c.d.e.$**").is_empty());
    }
}
