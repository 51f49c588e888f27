//! DM-06.1, DM-06.2, AP-S4.2, CK-3: container depth against the limits of GC-03, counted by ALG-1.

use std::collections::BTreeSet;

use docward_model::{
    BsonType, Collection, Draft, Field, FieldPath, Profile, Rename, Safety, Settings, Severity,
    Step, Subject,
};

use crate::facts::{
    growth::patterns,
    names::{self, origin},
    remedies::proposals,
    text,
};
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
    /// It is a note for 4 and 5 containers in fewer than 10 % of the documents, or inside content of another system
    /// (`payload`, `data`). More than 5 containers in fewer than 1 % of the documents are a warning.
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
    severities: [Error, Warn, Info],
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
    "depth above which Docward warns"
);
threshold!(
    FAIL,
    "fail-depth",
    Int(5),
    "containers",
    "DM-06.1, CK-3, GC-03; a house rule",
    "depth above which the finding is an error"
);

/// Below this share of documents, 4 and 5 containers are a note.
const RARE: f64 = 0.1;
/// Below this share of documents, more containers are a warning.
const RARE_FAIL: f64 = 0.01;

/// The number of levels, as the server counts them, from which D012 reports.
const SERVER_WARN: u32 = 80;

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let (warn, fail) = (cx.limit(&WARN) as u32, cx.limit(&FAIL) as u32);
    // Near the server's own limit, D012 reports the nesting for both rules.
    if profile.max_depth <= warn || profile.max_server_depth >= SERVER_WARN {
        return;
    }
    let Some(nesting) = nesting(profile, warn) else { return };
    if nesting.depth <= warn {
        return;
    }
    let failed = nesting.depth > fail;
    let limit = if failed { fail } else { warn };
    let deeper = profile.depths.iter().skip(limit as usize + 1).sum::<u64>().max(1);
    let over = if nesting.shared_with_geometry {
        // Documents are counted by their deepest place, which may be a geometry. Fields are counted by their values, of
        // which a document may have several. The result exceeds neither count.
        nesting
            .places
            .iter()
            .filter(|f| f.depth > limit)
            .map(|f| documents_with(profile, f))
            .max()
            .unwrap_or(1)
            .min(deeper)
    } else {
        deeper
    };
    let ns = &collection.namespace;
    // Other deep parts of the document. The deepest path covers its siblings.
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
    let record = nested_record(profile, &nesting.path);
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
                _ if record.is_some() => format!(
                    "`{}` has the fields of the documents around it: store each of these records once, as a document of its own, and keep only its id{rest}",
                    record.map_or("", |field| field.path.as_str())
                ),
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
    .severity(severity(profile, &nesting, failed, over))
    // The ideal of 2-3 levels is a note, not a breach of its own.
    .clauses(&["DM-06.1", "AP-S4.2", "CK-3"]);
    if let Some(l) =
        lift.filter(|l| l.can_be_run && !is_recursive(&nesting.path) && record.is_none())
    {
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

/// The number of documents that can have a field: an array may contain it many times, its parents at most once each.
fn documents_with(profile: &Profile, field: &Field) -> u64 {
    let mut least = field.count;
    let mut at = field;
    while let Some(parent) = profile.parent(at) {
        least = least.min(parent.count);
        at = parent;
    }
    least
}

/// The severity of the nesting. It is lower if few documents are nested this deep, or if another system chose the
/// layout.
fn severity(profile: &Profile, nesting: &Nesting<'_>, failed: bool, over: u64) -> Severity {
    let rarer_than = |share: f64| (over as f64) < share * profile.documents as f64;
    let is_foreign =
        profile.field(top(&nesting.path)).is_some_and(|field| origin::is_foreign(profile, field));
    match failed {
        true if rarer_than(RARE_FAIL) && is_foreign => Severity::Info,
        true if rarer_than(RARE_FAIL) => Severity::Warn,
        true => Severity::Error,
        false if rarer_than(RARE) || is_foreign => Severity::Info,
        false => Severity::Warn,
    }
}

/// The place where documents are deepest, without geometries.
struct Nesting<'a> {
    depth: u32,
    path: FieldPath,
    /// Places deeper than the warning, deepest first, one per branch.
    places: Vec<&'a Field>,
    /// Whether a geometry is also deeper than the warning.
    shared_with_geometry: bool,
}

/// Whether this rule would report the nesting as an error, so that D012 is not milder.
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
    // Without geometries, the profile's own figure also holds for folded places.
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

/// Whether a branch ends here: a plain value, or an empty container.
fn is_end(field: &Field) -> bool {
    field.children.is_empty()
        || field
            .types
            .seen()
            .iter()
            .any(|(kind, _)| !matches!(kind, BsonType::Object | BsonType::Array))
}

/// The depth that 95 % of the documents do not exceed.
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

/// Shortens a path to fit a line.
fn short(path: &FieldPath) -> String {
    let parts: Vec<&str> = path.as_str().split('.').collect();
    if parts.len() <= 12 {
        return path.to_string();
    }
    format!("{}.….{}", parts[..4].join("."), parts[parts.len() - 4..].join("."))
}

/// The first name of a path.
fn top(path: &FieldPath) -> &str {
    path.as_str().split('.').next().unwrap_or_default().trim_end_matches("[]")
}

/// Whether a name is nested in itself at least twice in a row, as in `kids[].kids[].kids`.
fn is_recursive(path: &FieldPath) -> bool {
    let parts: Vec<&str> = path.as_str().split('.').map(|p| p.trim_end_matches("[]")).collect();
    // Keys that are data do not share a name.
    parts.windows(3).any(|w| w[0] != "*" && w[0] == w[1] && w[1] == w[2])
}

/// The outermost object of the path that has the structure of the enclosing documents: a record in a record of the same
/// kind.
fn nested_record<'p>(profile: &'p Profile, path: &FieldPath) -> Option<&'p Field> {
    let names: BTreeSet<&str> = profile.top_level().map(|f| f.name.as_str()).collect();
    profile.fields.iter().find(|field| {
        let inside = path.as_str().strip_prefix(field.path.as_str());
        let is_above = inside.is_some_and(|rest| rest.starts_with('.') || rest.starts_with("[]."));
        let own: Vec<&str> = profile.children(field).map(|f| f.name.as_str()).collect();
        is_above
            && own.len() >= MIN_SHARED
            && own.iter().filter(|name| names.contains(*name)).count() * 5 >= own.len() * 4
    })
}

/// Fewer common names may be a coincidence.
const MIN_SHARED: usize = 5;

struct Lift {
    from: String,
    to: String,
    depth: usize,
    can_be_run: bool,
}

/// The container to move to the top level so that the path does not exceed the warning.
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
        // DM-06.2: three levels pass without a note.
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
    fn ck_3_elements_beside_geometries_are_not_counted_as_documents() {
        let body = r#"x20 {"_id": $i, "a": 1}
{"_id": 20, "a": {"b": {"place": {"box": {"coordinates": [[[1.5, 2.5], [3.5, 4.5]]]}}, "user": {"parts": {"url": {"urls": [{"indices": [0, 22]}]}}}}}}"#;
        let found = check("D007", body);
        assert!(found[0].what.contains("1 of 21 documents is deeper"), "{}", found[0].what);
        assert_eq!(found[0].data.get("documents"), Some(&DataValue::Int(1)));
    }

    #[test]
    fn dm_06_1_what_few_documents_have_is_a_note() {
        let deep = r#"{"a": {"b": {"c": {"d": {"e": 1}}}}}"#;
        let severity =
            |flat: u32| check("D007", &format!("x{flat} {{\"a\": 1}}\n{deep}"))[0].severity;
        assert_eq!(severity(9), Severity::Warn);
        assert_eq!(severity(10), Severity::Info);
        let deeper = r#"{"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}"#;
        let severity =
            |flat: u32| check("D007", &format!("x{flat} {{\"a\": 1}}\n{deeper}"))[0].severity;
        assert_eq!(severity(99), Severity::Error);
        assert_eq!(severity(100), Severity::Warn);
    }

    #[test]
    fn dm_06_1_the_layout_of_a_payload_is_a_note() {
        let body = r#"x9 {"source": "chat", "fetchedAt": 1, "data": {"a": {"b": {"c": {"d": "$pad(400)"}}}}}"#;
        assert_eq!(check("D007", body)[0].severity, Severity::Info);
        assert_eq!(check("D007", &body.replace("data", "settings"))[0].severity, Severity::Warn);
    }

    #[test]
    fn dm_06_1_records_in_records_are_stored_once() {
        let user = |more: &str| {
            format!(
                r#""id": 1, "text": "a", "lang": "en", "user": {{"name": "b"}}, "likes": 2{more}"#
            )
        };
        let media = r#", "entities": {"media": [{"sizes": {"large": {"h": 1}}}]}"#;
        let inner = user(media);
        let quoted = user(&format!(r#", "quoted": {{{inner}}}"#));
        let found =
            check("D007", &format!(r#"{{{}}}"#, user(&format!(r#", "retweeted": {{{quoted}}}"#))));
        let text = "`retweeted` has the fields of the documents around it";
        assert!(found[0].todo.starts_with(text), "{}", found[0].todo);
        assert!(found[0].fix.is_none());
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
