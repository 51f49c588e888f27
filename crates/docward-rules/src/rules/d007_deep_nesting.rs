//! DM-06.1, DM-06.2, AP-S4.2, CK-3: container depth against the tiers of GC-03, counted by ALG-1.

use docward_model::{
    BsonType, Collection, Draft, Field, FieldPath, Profile, Rename, Safety, Settings, Severity,
    Step, Subject,
};

use crate::facts::{growth::patterns, names, remedies::proposals, text};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Deep nesting
    ///
    /// ## What it checks
    /// Counts the containers around the deepest value:
    /// - each object counts as one
    /// - an array of objects counts as one together with its objects
    /// - an array directly inside an array counts as one more
    ///
    /// Up to 3 containers are fine, 4 and 5 are a warning, more than 5 are an error. The limits are a house rule.
    /// MongoDB's own limit is 100, counted differently; near it, D012 reports instead. Coordinates of geometries
    /// do not count.
    ///
    /// ## Why it matters
    /// Long paths are easily mistyped in updates, and a mistyped `$set` creates a new field instead of failing.
    /// Deep fields make long index keys. Changing the parent object rewrites everything inside it.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "settings": {"ui": {"theme": {"colors": {"primary": "#fff"}}}}}
    /// ```
    /// The same data one level below the root:
    /// ```jsonl,clean
    /// {"_id": 1, "theme": {"primaryColor": "#fff"}}
    /// ```
    ///
    /// ## How to fix
    /// Move the inner object to the top level under a descriptive name. Or move it to its own collection and
    /// refer to it.
    ///
    /// ## When to ignore it
    /// The documents have an external format (imported JSON, an API response) and are only stored and returned.
    D007, "deep-nesting",
    level: Recommended,
    area: Hygiene,
    severities: [Error, Warn],
    clauses: ["DM-06.1", "DM-06.2", "AP-S4.2", "CK-3"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [WARN, FAIL],
    data: ["depth", "documents", "limit", "p95", "pathParts"],
    check: Collection(check),
}

threshold!(
    WARN,
    "warn-depth",
    Int(3),
    "containers",
    "DM-06.1, AP-S4.2, GC-03; a house rule",
    "depth above which nesting is a warning"
);
threshold!(
    FAIL,
    "fail-depth",
    Int(5),
    "containers",
    "DM-06.1, CK-3, GC-03; a house rule",
    "depth above which nesting is an error"
);

/// Levels from which D012 reports, as the server counts them.
const SERVER_WARN: u32 = 80;

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let (warn, fail) = (cx.limit(&WARN) as u32, cx.limit(&FAIL) as u32);
    // Near the server's own limit D012 speaks for both.
    if profile.max_depth <= warn || profile.max_server_depth >= SERVER_WARN {
        return;
    }
    let Some(nesting) = nesting(profile, warn) else { return };
    if nesting.depth <= warn {
        return;
    }
    let failed = nesting.depth > fail;
    let limit = if failed { fail } else { warn };
    let over = if nesting.shared_with_geometry {
        // Documents are counted by their deepest place, which may be a geometry, and fields by their
        // values, of which a document may have several: neither is exceeded.
        nesting
            .places
            .iter()
            .filter(|f| f.depth > limit)
            .map(|f| f.count)
            .max()
            .unwrap_or(1)
            .min(beyond(profile, limit))
    } else {
        beyond(profile, limit)
    };
    let ns = &collection.namespace;
    // Other parts of the document that are deep too; neighbours of the deepest go with it.
    let top = |path: &FieldPath| path.as_str().split('.').next().unwrap_or_default().to_owned();
    let mut tops = vec![top(&nesting.path)];
    let mut others: Vec<String> = Vec::new();
    let mut paths = vec![nesting.path.clone()];
    for field in &nesting.places {
        if !tops.contains(&top(&field.path)) {
            tops.push(top(&field.path));
            others.push(short(&field.path));
            paths.push(field.path.clone());
        }
    }
    let lift = lift(profile, &nesting.path, warn);
    let mut draft = Draft::new(
        Subject::Field(ns.clone(), nesting.path.clone()),
        format!(
            "`{}` is nested {} levels deep (limit {limit}; {} path parts); {} {} deeper than the limit",
            short(&nesting.path),
            nesting.depth,
            nesting.path.parts(),
            text::part(over, profile.documents, "document"),
            text::form(over, "is", "are"),
        ),
        if failed {
            "an update with a mistyped path succeeds and creates a new field; this rule book allows at most 5 levels"
        } else {
            "an update with a mistyped path succeeds and creates a new field; this rule book recommends 2 to 3 levels"
        },
        {
            let rest = if others.is_empty() {
                String::new()
            } else {
                format!("; also too deep: {}", text::paths(&others, 3))
            };
            match &lift {
                _ if is_recursive(&nesting.path) => format!(
                    "the structure is recursive: store one document per node with the id of its parent, or a flat array of nodes with their paths{rest}"
                ),
                Some(l) => format!(
                    "move `{}` to the top level as `{}` (leaves {}), or to a separate collection{rest}",
                    l.from,
                    l.to,
                    text::plural(l.depth as u64, "level")
                ),
                None => format!("move the inner objects to a separate collection, or flatten them{rest}"),
            }
        },
        profile.seen().showing(over),
    )
    .paths(if others.is_empty() { Vec::new() } else { paths })
    .data("depth", nesting.depth)
    .data("pathParts", nesting.path.parts())
    .data("p95", p95(profile))
    .data("documents", over)
    .data("limit", limit)
    .severity(if failed { Severity::Error } else { Severity::Warn })
    // The ideal of 2-3 levels is a remark, not a breach of its own.
    .clauses(&["DM-06.1", "AP-S4.2", "CK-3"]);
    if let Some(l) = lift.filter(|l| l.can_be_run && !is_recursive(&nesting.path)) {
        draft = draft.plan(
            Some("RF-09"),
            Safety::Guarded,
            [Step::LiftField {
                namespace: ns.clone(),
                rename: Rename { from: FieldPath::new(&l.from), to: FieldPath::new(&l.to) },
            }],
        );
    }
    cx.report(draft);
}

/// The number of documents with something deeper than the limit.
fn beyond(profile: &Profile, limit: u32) -> u64 {
    profile.depths.iter().skip(limit as usize + 1).sum::<u64>().max(1)
}

/// Where documents are deepest, geometries aside.
struct Nesting<'a> {
    depth: u32,
    path: FieldPath,
    /// Places deeper than the warning, deepest first, one per branch.
    places: Vec<&'a Field>,
    /// Whether a geometry is also deeper than the warning.
    shared_with_geometry: bool,
}

/// Whether this rule would call the nesting an error, for D012 to be no milder.
pub(super) fn fails(settings: &Settings, collection: &Collection, profile: &Profile) -> bool {
    let ns = &collection.namespace;
    let fail = settings.limit("D007", &FAIL, ns) as u32;
    nesting(profile, fail).is_some_and(|n| n.depth > fail)
}

fn nesting(profile: &Profile, warn: u32) -> Option<Nesting<'_>> {
    let (geometry, mut places): (Vec<&Field>, Vec<&Field>) = profile
        .fields
        .iter()
        .filter(|f| f.depth > warn && is_end(f))
        .partition(|f| patterns::is_geometry(profile, f));
    places.sort_by_key(|f| (std::cmp::Reverse(f.depth), f.path.clone()));
    let mut branches: Vec<Option<usize>> = Vec::new();
    places.retain(|f| {
        let new = !branches.contains(&f.parent);
        branches.push(f.parent);
        new
    });
    let first = places.first();
    // Without geometries the profile's own figure holds also for places that were folded away.
    let whole = geometry.is_empty().then_some(()).and(profile.deepest.clone());
    let depth = if geometry.is_empty() { profile.max_depth } else { first?.depth };
    let path = match (whole, first) {
        (_, Some(first)) if first.depth == depth => first.path.clone(),
        (Some(path), _) => path,
        (None, Some(first)) => first.path.clone(),
        (None, None) => return None,
    };
    Some(Nesting { depth, path, places, shared_with_geometry: !geometry.is_empty() })
}

/// Whether something ends here: a plain value, or a container with nothing in it.
fn is_end(field: &Field) -> bool {
    field.children.is_empty()
        || field
            .types
            .seen()
            .iter()
            .any(|(kind, _)| !matches!(kind, BsonType::Object | BsonType::Array))
}

/// The depth that 95 % of the documents do not pass.
fn p95(profile: &Profile) -> usize {
    let all: u64 = profile.depths.iter().sum();
    let mut passed = 0;
    for (depth, n) in profile.depths.iter().enumerate() {
        passed += n;
        if passed * 20 >= all * 19 {
            return depth;
        }
    }
    profile.depths.len().saturating_sub(1)
}

/// A path that fits a line.
fn short(path: &FieldPath) -> String {
    let parts: Vec<&str> = path.as_str().split('.').collect();
    if parts.len() <= 12 {
        return path.to_string();
    }
    format!("{}.….{}", parts[..4].join("."), parts[parts.len() - 4..].join("."))
}

/// Whether a name stands inside itself at least twice in a row, as `kids[].kids[].kids`.
fn is_recursive(path: &FieldPath) -> bool {
    let parts: Vec<&str> = path.as_str().split('.').map(|p| p.trim_end_matches("[]")).collect();
    // Keys that are data have no name in common.
    parts.windows(3).any(|w| w[0] != "*" && w[0] == w[1] && w[1] == w[2])
}

struct Lift {
    from: String,
    to: String,
    depth: usize,
    can_be_run: bool,
}

/// The container to move to the top level so that the path keeps to the warning.
fn lift(profile: &Profile, path: &FieldPath, warn: u32) -> Option<Lift> {
    let parts: Vec<&str> = path.as_str().split('.').collect();
    let keep = warn as usize + 1;
    let cut = parts.len().checked_sub(keep)?;
    if cut == 0 || parts[cut].starts_with('*') {
        return None;
    }
    let from = parts[..=cut].join(".");
    let in_array = parts[..cut].iter().any(|p| p.contains("[]") || *p == "*");
    let name = parts[cut].trim_end_matches("[]");
    let taken = |name: &str| profile.top_level().any(|f| f.name == name);
    let to = if taken(name) {
        names::in_style(
            &format!("{}_{name}", parts[cut - 1].trim_end_matches("[]")),
            proposals::field_style(profile),
        )
    } else {
        name.to_owned()
    };
    Some(Lift {
        can_be_run: !in_array && !taken(&to) && proposals::is_plain(&from),
        from: from.trim_end_matches("[]").to_owned(),
        to,
        depth: keep - 1,
    })
    .filter(|_| !in_array)
}

#[cfg(test)]
mod tests {
    #[test]
    fn dm_06_1_elements_of_one_document_are_not_documents() {
        let body = r#"{"a": {"media": [{"b": {"c": {"d": 1}}}, {"b": {"c": {"d": 1}}}]}, "place": {"box": {"in": {"type": "Polygon", "coordinates": [[[1.5, 2.5]]]}}}}
x20 {"a": {"n": 1}}"#;
        let found = check("D007", body);
        assert!(found[0].what.contains("; 1 of 21 documents is deeper"), "{}", found[0].what);
    }

    use docward_model::{DataValue, Severity};

    use crate::testing::{check, check_with};

    #[test]
    fn dm_06_1_tiers() {
        let deep = |n: usize| {
            let open: String = (1..=n).map(|i| format!("\"level{i}\": {{")).collect();
            format!("{{\"_id\": 1, {open}\"data\": 1{}}}", "}".repeat(n))
        };
        assert_eq!(check("D007", &deep(2)), []);
        // DM-06.2: three levels pass without a remark.
        assert_eq!(check("D007", &deep(3)), []);
        for (depth, severity) in
            [(4, Severity::Warn), (5, Severity::Warn), (6, Severity::Error), (7, Severity::Error)]
        {
            let found = check("D007", &deep(depth));
            assert_eq!(found.len(), 1, "{depth}");
            assert_eq!(found[0].severity, severity, "{depth}");
            assert_eq!(found[0].data.get("depth"), Some(&DataValue::Int(depth as i64)));
        }
    }

    #[test]
    fn dm_06_1_eight_parts_are_seven_containers() {
        let found = check(
            "D007",
            r#"{"_id": 1, "a": {"b": {"c": {"d": {"e": {"f": {"g": {"value": 1}}}}}}}}"#,
        );
        assert_eq!(found[0].data.get("depth"), Some(&DataValue::Int(7)));
        assert_eq!(found[0].data.get("pathParts"), Some(&DataValue::Int(8)));
        assert!(found[0].what.contains("`a.b.c.d.e.f.g.value`"), "{}", found[0].what);
        assert!(
            found[0].todo.contains("move `a.b.c.d.e` to the top level as `e`"),
            "{}",
            found[0].todo
        );
    }

    #[test]
    fn alg_1_arrays_and_their_objects_are_one_level() {
        let body = r#"{"_id": 1, "customer": {"contact": {"phone": "1"}}, "items": [{"productId": 1, "options": [{"name": {"en": "x"}}]}]}"#;
        assert_eq!(check("D007", body), []);
        let found = check_with("D007", "warn-depth=2", body);
        assert_eq!(found[0].at.path().map(|p| p.as_str()), Some("items[].options[].name.en"));
    }

    #[test]
    fn geometries_do_not_count() {
        let body = r#"{"_id": 1, "areas": [{"shape": {"type": "MultiPolygon", "coordinates": [[[[1.5, 2.5], [2.5, 3.5]]]]}}]}"#;
        assert_eq!(check("D007", body), []);
    }

    #[test]
    fn ck_3_documents_are_counted() {
        let body = "x9 {\"_id\": $i, \"a\": 1}\n{\"_id\": 9, \"a\": {\"b\": {\"c\": {\"d\": {\"e\": 1}}}}}";
        let found = check("D007", body);
        assert!(
            found[0].what.contains("1 of 10 documents is deeper than the limit"),
            "{}",
            found[0].what
        );
    }

    #[test]
    fn dm_06_2_p95_is_reported_and_three_levels_are_not() {
        let body = "x40 {\"_id\": $i, \"a\": {\"b\": 1}}\n{\"_id\": 40, \"a\": {\"b\": {\"c\": {\"d\": {\"e\": 1}}}}}";
        assert_eq!(check("D007", body)[0].data.get("p95"), Some(&DataValue::Int(1)));
    }

    #[test]
    fn ap_s4_2_four_levels_warn_and_empty_objects_count() {
        let body = r#"{"_id": 1, "a": {"b": {"c": {"d": {"e": {}}}}}}"#;
        let found = check("D007", body);
        assert_eq!(found[0].severity, Severity::Warn);
        assert_eq!(found[0].at.path().map(|p| p.as_str()), Some("a.b.c.d.e"));
        assert_eq!(found[0].data.get("depth"), Some(&DataValue::Int(4)));
    }

    #[test]
    fn near_the_servers_limit_the_other_rule_speaks() {
        let body = format!("{{\"_id\": 1, {}\"x\": 1{}}}", "\"a\": {".repeat(90), "}".repeat(90));
        assert_eq!(check("D007", &body), []);
        assert_eq!(check("D012", &body)[0].clauses, ["LM-10", "DM-06.1", "CK-3"]);
    }

    #[test]
    fn trees_get_the_advice_for_trees() {
        let body =
            r#"{"_id": 1, "kids": [{"kids": [{"kids": [{"kids": [{"kids": [{"n": 1}]}]}]}]}]}"#;
        let found = check("D007", body);
        assert!(found[0].todo.starts_with("the structure is recursive"), "{}", found[0].todo);
        assert!(found[0].fix.is_none());
    }

    #[test]
    fn dynamic_keys_inside_each_other_are_no_tree() {
        let body = "x40 {\"_id\": $i, \"sales\": {\"20240$i\": {\"10$i\": {\"20$i\": {\"30$i\": {\"n\": 1}}}}, \"20250$i\": {\"11$i\": {\"21$i\": {\"31$i\": {\"n\": 1}}}}}}";
        let found = check("D007", body);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains('*'), "{}", found[0].what);
        assert!(!found[0].todo.contains("contains itself"), "{}", found[0].todo);
    }
}
