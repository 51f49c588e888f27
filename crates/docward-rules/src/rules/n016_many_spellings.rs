//! DM-04.6: one spelling per concept.

use docward_model::{
    BsonType, Collection, DataValue, Draft, Field, FieldChange, FieldPath, Profile, Rename, Safety,
    Step, Subject, UnsetWhere, code::FilterField,
};

use crate::{
    Cx, declare_rule,
    facts::{
        code,
        names::{
            Style, in_style, initials,
            naming::{
                Overlap, Spellings, concept, dominant_style, is_capital_abbreviation, named,
                spellings, style_of,
            },
            words,
        },
        remedies::shell,
        text,
    },
};

declare_rule! {
    /// # Many spellings
    ///
    /// ## What it checks
    /// Reports fields of one object whose names consist of the same words in different spellings: `createTime`,
    /// `Create_Time`, `create_time`. The finding counts each spelling and says whether any document contains more
    /// than one. Two fields that every object has, with values of different types, forms or lengths, are two
    /// concepts.
    ///
    /// An abbreviation in capitals (`CT`) counts as a spelling if all of these hold:
    /// - It consists of the initials of exactly one of the names.
    /// - It has the same type.
    /// - No document contains both.
    ///
    /// With `audit --code`, the rule also reports filters in source code. They name a field in a spelling that no
    /// document has, and documents have it in another one.
    ///
    /// ## Why it matters
    /// Each part of the application sees only the documents with its own spelling. Queries, sorts and reports
    /// return incomplete results without any error.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "createTime": ISODate("2024-03-15T10:30:00Z")}
    /// {"_id": 2, "Create_Time": ISODate("2024-03-15T10:30:00Z")}
    /// {"_id": 3, "create_time": ISODate("2024-03-15T10:30:00Z")}
    /// {"_id": 4, "CT": ISODate("2024-03-15T10:30:00Z")}
    /// ```
    /// ```jsonl,clean
    /// {"_id": 1, "createTime": ISODate("2024-03-15T10:30:00Z"), "updateTime": ISODate("2024-03-15T10:30:00Z")}
    /// ```
    ///
    /// ## How to fix
    /// Keep the most frequent spelling, and rename the others in documents that lack it. The command does not
    /// change documents that contain two spellings; compare their values and decide.
    ///
    /// ## When to ignore it
    /// A rename is in progress, and both spellings are written on purpose.
    N016, "many-spellings",
    level: Recommended,
    area: Correctness,
    clauses: ["DM-04.6"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [],
    data: ["disjoint", "keep", "overlap", "spellings", "stored", "toMove"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    let style = dominant_style(&named(profile), Style::Camel).unwrap_or(Style::Camel);
    for group in spellings(profile).iter().filter(|group| !are_two_concepts(profile, group)) {
        report(collection, profile, group, style, cx);
    }
    let Some(found) = &cx.evidence().code else { return };
    let name = &collection.namespace.collection;
    let same_name = |other: &&Collection| other.namespace.collection == *name;
    if profile.documents < MIN_DOCUMENTS
        || cx.evidence().collections.iter().filter(same_name).count() > 1
    {
        return;
    }
    for filter in found.queries.filters.iter().filter(|filter| filter.collection == *name) {
        // Scripts filter by old spellings to rename them.
        if found.scripts.contains(&filter.place.location.file) {
            continue;
        }
        if let Some(stored) = other_spelling(profile, &filter.path) {
            report_filter(collection, profile, filter, stored, cx);
        }
    }
}

/// Whether two fields are in the same objects wherever the rarer one occurs, and their values differ in kind: `commit`
/// with a hash and `Commit` with the name of its author.
fn are_two_concepts(profile: &Profile, group: &Spellings) -> bool {
    let [often, rare] = group.members[..] else { return false };
    let (often, rare) = (&profile.fields[often], &profile.fields[rare]);
    let both = match group.overlap {
        Overlap::Exactly(n) | Overlap::AtLeast(n) => n,
        Overlap::Unknown => 0,
    };
    let mean = |field: &Field| field.text.as_ref().map(|text| text.lengths.mean());
    let differ = match (mean(often), mean(rare)) {
        (Some(a), Some(b)) => a.max(b) > 1.25 * a.min(b),
        _ => often.types.dominant() != rare.types.dominant(),
    };
    both >= 3 && both * 10 >= often.count.min(rare.count) * 9 && differ
}

/// Fewer documents do not show which fields exist.
const MIN_DOCUMENTS: u64 = 20;

/// The field that a filter means, if no document has the one that it names.
fn other_spelling<'p>(profile: &'p Profile, path: &str) -> Option<&'p Field> {
    let plain = code::plain_path(path);
    let dotted = |field: &Field| code::plain_path(&field.path.as_str().replace("[]", ""));
    if profile.fields.iter().any(|field| dotted(field) == plain) {
        return None;
    }
    let spelled = |path: &str| path.split('.').map(concept).collect::<Vec<_>>();
    let wanted = spelled(&plain);
    let letters = plain.to_lowercase();
    let is_short = is_capital_abbreviation(&plain, 4);
    let mut fitting = named(profile).into_iter().map(|named| named.field).filter(|field| {
        let by_initials = is_short
            && field.parent.is_none()
            && words(&field.name).len() > 1
            && initials(&field.name) == letters;
        by_initials || spelled(&dotted(field)) == wanted
    });
    let first = fitting.next()?;
    // Two spellings in the documents are the other finding of this rule.
    fitting.next().is_none().then_some(first)
}

fn report_filter(
    collection: &Collection,
    profile: &Profile,
    filter: &FilterField,
    stored: &Field,
    cx: &mut Cx<'_>,
) {
    let (path, own) = (&filter.path, stored.path.dotted());
    let what = format!(
        "the code filters `{}` by `{path}`, which no document has; {} {} `{own}`",
        collection.namespace,
        text::part(stored.count.min(profile.documents), profile.documents, "document"),
        text::form(stored.count, "has", "have"),
    );
    let draft = code::draft(
        cx.evidence(),
        &filter.place,
        path,
        what,
        "a query for a spelling that no document has finds nothing and raises no error",
        format!("write `{own}` in the code"),
    );
    cx.report(draft.paths([FieldPath::new(path)]).data("stored", own.as_str()));
}

fn report(
    collection: &Collection,
    profile: &Profile,
    group: &Spellings,
    style: Style,
    cx: &mut Cx<'_>,
) {
    let fields: Vec<_> = group.members.iter().map(|&at| &profile.fields[at]).collect();
    // The most frequent spelling in a style that people use; a frequent `CT` is not kept.
    let rank = |name: &str| match style_of(name) {
        s if s == style => 0,
        Style::Camel | Style::Snake | Style::Neutral => 1,
        Style::Pascal => 2,
        _ => 3,
    };
    let Some(keep) = fields.iter().min_by_key(|f| {
        let poor = rank(&f.name) >= 2 || f.name.starts_with('_');
        (poor, std::cmp::Reverse(f.count), rank(&f.name), &f.name)
    }) else {
        return;
    };
    // All spellings are unusual (`Create_Time` and `CT`): none should be kept.
    let poor = rank(&keep.name) >= 2 || keep.name.starts_with('_');
    let target = if poor { in_style(&keep.name, style) } else { keep.name.clone() };
    let counts: Vec<_> =
        fields.iter().map(|f| format!("`{}` {}", f.name, text::count(f.count))).collect();
    let all: u64 = fields.iter().filter(|f| f.name != target).map(|f| f.count).sum();
    // A value moves only if the target has none yet. With two spellings, that is known exactly.
    let (rename, up_to) = match group.overlap {
        Overlap::Exactly(0) => (all, false),
        Overlap::Exactly(n) => (all.saturating_sub(n), fields.len() > 2),
        Overlap::AtLeast(n) => (all.saturating_sub(n), true),
        Overlap::Unknown => (all, true),
    };
    let parent = keep.parent.map(|at| profile.fields[at].path.clone());
    let holders = if parent.is_some() { "object" } else { "document" };
    let place = parent.as_ref().map(|p| format!(" inside `{p}`")).unwrap_or_default();
    let overlap = match group.overlap {
        Overlap::Exactly(0) => format!("no {holders} holds more than one of them"),
        Overlap::Exactly(1) => format!("1 {holders} holds more than one of them"),
        Overlap::Exactly(n) => format!("{} hold more than one of them", text::plural(n, holders)),
        Overlap::AtLeast(n) => {
            format!("at least {} hold more than one of them", text::plural(n, holders))
        }
        Overlap::Unknown => {
            format!("Docward does not know whether any {holders} holds more than one of them")
        }
    };
    let others: Vec<_> =
        fields.iter().filter(|f| f.name != target).map(|f| f.name.as_str()).collect();
    let disjoint = group.overlap == Overlap::Exactly(0);
    let stem = parent.as_ref().map(|p| format!("{}.", p.dotted())).unwrap_or_default();
    let quoted = |name: &str| shell::quoted_key(&format!("{stem}{name}"));
    let nothing_to_move = rename == 0;
    let mut todo = if nothing_to_move {
        format!(
            "keep `{target}`, which every {holders} with {} also holds; remove the other spelling where the values are equal",
            text::list(&others, 4)
        )
    } else {
        format!(
            "{} `{target}` and move {}{} from {}",
            if poor { "introduce" } else { "keep" },
            if up_to { "up to " } else { "" },
            text::plural(rename, "value"),
            text::list(&others, 4),
        )
    };
    // Only people can decide which of two values is right, so the statement lists those documents.
    if !disjoint || profile.documents < profile.total {
        let held: Vec<_> =
            others.iter().map(|o| format!("{{{}: {{$exists: true}}}}", quoted(o))).collect();
        todo.push_str(&format!(
            "; the statement does not change {holders}s {}: compare their values with find({{{}: {{$exists: true}}, $or: [{}]}})",
            if nothing_to_move {
                "in which they differ".to_owned()
            } else {
                format!("that already hold `{target}`")
            },
            quoted(&target),
            held.join(", ")
        ));
    }
    let mut draft = Draft::new(
        Subject::Field(collection.namespace.clone(), first_of(&fields).clone()),
        format!(
            "the same concept has {} spellings{place}: {}; {overlap}",
            fields.len(),
            counts.join(", ")
        ),
        "a query for one spelling misses documents with the others and raises no error",
        todo,
        // With three spellings, a document may hold two that must change.
        match group.overlap {
            Overlap::Exactly(n) if n == 0 || fields.len() == 2 => profile.seen_in(keep, all),
            _ => profile.seen(),
        },
    )
    .paths(fields.iter().map(|f| f.path.clone()))
    .data(
        "spellings",
        DataValue::Map(fields.iter().map(|f| (f.name.clone(), DataValue::from(f.count))).collect()),
    )
    .data("keep", target.as_str())
    .data("toMove", rename)
    .data("disjoint", disjoint);
    match group.overlap {
        Overlap::Exactly(n) | Overlap::AtLeast(n) => draft = draft.data("overlap", n),
        Overlap::Unknown => {}
    }
    let mut above = keep.parent.map(|at| &profile.fields[at]);
    let mut plain = fields.iter().all(|f| {
        !f.path.in_array() && !f.name.contains(['.', '$']) && f.types.of(BsonType::Array) == 0
    });
    while let Some(holder) = above {
        // `$rename` does not reach into arrays and fails on them.
        plain &= holder.types.of(BsonType::Array) == 0;
        above = profile.parent(holder);
    }
    if plain {
        // The renames run one after the other: a moved value prevents the next spelling from replacing it.
        let namespace = || collection.namespace.clone();
        let whole = |name: &str| FieldPath::new(format!("{stem}{name}"));
        let steps: Vec<Step> = others
            .iter()
            .map(|other| match nothing_to_move {
                true => Step::UnsetField {
                    namespace: namespace(),
                    path: whole(other),
                    documents: UnsetWhere::EqualTo { other: whole(&target) },
                },
                false => Step::RenameFields {
                    namespace: namespace(),
                    renames: vec![Rename { from: whole(other), to: whole(&target) }],
                    only_where_free: true,
                },
            })
            .collect();
        let safety = if disjoint { Safety::Guarded } else { Safety::Manual };
        draft = draft.plan(Some("RF-11"), safety, steps);
    } else {
        let moved = fields.iter().filter(|f| f.name != target);
        draft.changes = moved.map(|f| FieldChange::remove(&f.path)).collect();
    }
    cx.report(draft);
}

/// Returns the spelling that identifies the finding. It depends only on names, so it stays the same if another
/// spelling becomes more frequent.
fn first_of<'f>(fields: &[&'f Field]) -> &'f FieldPath {
    let rank = |name: &str| match style_of(name) {
        Style::Camel => 0,
        Style::Neutral => 1,
        Style::Snake => 2,
        Style::Pascal => 3,
        _ => 4,
    };
    let first = fields.iter().copied().min_by_key(|f| (rank(&f.name), &f.name));
    &first.unwrap_or(fields[0]).path
}

#[cfg(test)]
mod tests {
    #[test]
    fn dm_04_6_two_fields_that_differ_in_kind_are_two_concepts() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        let both = format!("x12 {{\"Commit\": \"Ann Lee\", \"commit\": \"{hash}\"}}");
        assert_eq!(check("N016", &both), []);
        let copies = "x12 {\"Commit\": \"Ann Lee\", \"commit\": \"Bob Low\"}";
        assert_eq!(check("N016", copies).len(), 1);
    }

    use crate::testing::{check, check_sampled};
    use docward_model::DataValue;

    #[test]
    fn dm_04_6_counts_do_not_change_what_a_finding_is_known_by() {
        let found = |counts: [u32; 3]| {
            let names = ["createTime", "create_time", "Create_Time"];
            let body: Vec<String> = names
                .iter()
                .zip(counts)
                .map(|(name, n)| format!("x{n} {{\"_id\": \"{name}$i\", \"{name}\": \"2024\"}}"))
                .collect();
            check("N016", &body.join("\n")).remove(0)
        };
        let (one, other) = (found([100, 40, 20]), found([40, 100, 20]));
        assert_eq!(one.at.path().map(ToString::to_string).as_deref(), Some("createTime"));
        assert_eq!((&one.at, &one.fingerprint), (&other.at, &other.fingerprint));
        let keeps = |name: &str| Some(DataValue::from(name));
        assert_eq!(other.data.get("keep").cloned(), keeps("create_time"));
    }

    #[test]
    fn dm_04_6_a_sample_says_how_many_documents_have_the_odd_spelling() {
        let body =
            "x9 {\"_id\": \"a$i\", \"createTime\": 1}\nx4 {\"_id\": \"b$i\", \"create_time\": 1}";
        assert_eq!(check_sampled("N016", body, 5_000)[0].seen.showing, Some(4));
    }

    #[test]
    fn dm_04_6_four_spellings_are_one_finding_with_four_counts() {
        let body = r#"x3 {"_id": "a$i", "createTime": ISODate("2024-03-15T10:30:00Z")}
x2 {"_id": "b$i", "Create_Time": ISODate("2024-03-15T10:30:00Z")}
x2 {"_id": "c$i", "create_time": ISODate("2024-03-15T10:30:00Z")}
x1 {"_id": "d$i", "CT": ISODate("2024-03-15T10:30:00Z")}"#;
        let found = check("N016", body);
        assert_eq!(found.len(), 1);
        let Some(DataValue::Map(spellings)) = found[0].data.get("spellings") else { panic!() };
        assert_eq!(spellings.len(), 4);
        assert_eq!(spellings[0], ("createTime".to_owned(), DataValue::Int(3)));
        assert!(found[0].what.contains("no document holds more than one"), "{}", found[0].what);
        assert!(
            found[0].todo.starts_with("keep `createTime` and move 5 values"),
            "{}",
            found[0].todo
        );
    }

    #[test]
    fn dm_04_6_side_by_side_in_one_document() {
        let found =
            check("N016", r#"{"createTime": 1, "Create_Time": 1, "create_time": 1, "CT": 1}"#);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("4 spellings"), "{}", found[0].what);
        assert!(
            found[0].what.ends_with("1 document holds more than one of them"),
            "{}",
            found[0].what
        );
    }

    #[test]
    fn dm_04_6_different_concepts_pass() {
        for body in [
            r#"{"_id": 1, "id": 2, "street1": "a", "street2": "b"}"#,
            r#"{"_id": 1, "createTime": 1, "updateTime": 2}"#,
            // The same word in two objects is not two spellings.
            r#"{"_id": 1, "fileName": "a", "upload": {"filename": "b"}}"#,
            // Initials in addition to the long name are another field (N013 asks for its meaning).
            r#"{"_id": 1, "contentType": "a", "CT": "b"}"#,
        ] {
            assert!(check("N016", body).is_empty(), "{body}");
        }
    }

    #[test]
    fn dm_04_6_odd_spellings_only_give_way_to_a_good_one() {
        let found = check("N016", "{\"Create_Time\": 1}\n{\"Create_time\": 1}");
        assert!(
            found[0].todo.starts_with("introduce `createTime` and move 2 values"),
            "{}",
            found[0].todo
        );
    }

    #[test]
    fn dm_04_6_nested_spellings_name_their_object() {
        let found = check("N016", r#"{"_id": 1, "items": [{"productId": 1}, {"product_id": 2}]}"#);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("inside `items[]`"), "{}", found[0].what);
    }

    #[test]
    fn dm_04_6_the_command_never_overwrites_a_value() {
        let found = check(
            "N016",
            "{\"createTime\": 1, \"create_time\": 2}\n{\"create_time\": 3}\n{\"createTime\": 3}",
        );
        let command = &found[0].fix.as_ref().expect("a command").command();
        assert!(
            command.ends_with(
                r#".updateMany({"create_time": {$exists: true}, "createTime": {$exists: false}}, {$rename: {"create_time": "createTime"}})"#
            ),
            "{command}"
        );
        assert!(!command.contains("$unset"), "{command}");
        assert!(
            found[0].todo.ends_with(
                r#"find({"createTime": {$exists: true}, $or: [{"create_time": {$exists: true}}]})"#
            ),
            "{}",
            found[0].todo
        );
    }

    #[test]
    fn dm_04_6_only_what_moves_is_counted() {
        let found = check("N016", "x500 {\"_id\": $i, \"createTime\": 1, \"create_time\": 1}");
        assert_eq!(found[0].data.get("toMove"), Some(&DataValue::Int(0)));
        assert!(
            found[0].todo.starts_with(
                "keep `createTime`, which every document with `create_time` also holds; remove the other"
            ),
            "{}",
            found[0].todo
        );
        let command = &found[0].fix.as_ref().expect("a command").command();
        assert!(
            command.ends_with(
                r#".updateMany({"create_time": {$exists: true}, $expr: {$eq: ["$create_time", "$createTime"]}}, {$unset: {"create_time": 1}})"#
            ),
            "{command}"
        );
        let found = check(
            "N016",
            "x9 {\"createTime\": 1, \"create_time\": 2}\nx4 {\"create_time\": 3}\nx9 {\"createTime\": 3}",
        );
        assert!(
            found[0].todo.starts_with("keep `createTime` and move 4 values"),
            "{}",
            found[0].todo
        );
    }

    #[test]
    fn quotes_in_names_stay_inside_their_literal() {
        let found = check(
            "N016",
            r#"{"_id": 1, "a\"b": 1}
{"_id": 2, "a_b": 1}"#,
        );
        let command = &found[0].fix.as_ref().expect("a command").command();
        assert!(command.contains(r#""a\"b""#), "{command}");
    }
}
