//! DM-04.1: one style of field names per collection.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Collection, DataValue, Draft, Evidence, Profile, Rename, Severity, Subject};

use crate::{
    Cx, declare_rule,
    facts::{
        names::{
            self, Style, in_style,
            naming::{self, Named, dominant_style, is_known_abbreviation, named, spelled_twice},
            origin,
        },
        text,
    },
    threshold,
};

use super::n013_meaningless_abbreviation::{abbreviations, allowed};

declare_rule! {
    /// # Mixed field styles
    ///
    /// ## What it checks
    /// Finds the dominant style of a collection's field names, camelCase or snake_case. Reports names in another
    /// form: the other style, PascalCase, UPPER_CASE, hyphens or spaces. One-word lower-case names fit both
    /// styles.
    ///
    /// It is a note if
    /// - all names have one style that is neither of the two
    /// - only one part of the document differs
    /// - another system chose the names: they are inside `payload` or `data`, which takes 90 % of the bytes, or
    ///   the documents are JSON-LD or hold many links of an interface
    ///
    /// ## Exceptions
    /// Not reported:
    /// - field names that are data, such as mail headers and the keys of a map
    /// - names that begin with `@` or contain `/` or `:`
    /// - fields of object mappers (`_id`, `__v`, `_class`, Mongoose's timestamps)
    /// - known acronyms such as `URL`
    /// - names that N012, N013 or N016 report
    ///
    /// ## Why it matters
    /// MongoDB does not check field names. A query for `orderDate` matches no documents and raises no error if
    /// the field is called `order_date`.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "userName": "zhang", "createTime": ISODate("2024-03-15T10:30:00Z"), "order_items": []}
    /// ```
    /// ```jsonl,clean
    /// {"_id": 1, "userName": "zhang", "createTime": ISODate("2024-03-15T10:30:00Z"), "orderItems": []}
    /// ```
    ///
    /// ## How to fix
    /// Rename with `$rename`. Fields inside arrays need a pipeline update with `$map`. Let clients read both
    /// names while the rename runs.
    ///
    /// ## When to ignore it
    /// Part of the document is a copy of another system's message and must stay unchanged.
    N011, "mixed-field-styles",
    level: Recommended,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DM-04.1"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [PREFER],
    data: ["inStyle", "others", "renames", "style"],
    check: Collection(check),
}

threshold!(
    PREFER,
    "prefer",
    Text("camelCase"),
    "camelCase or snake_case",
    "DM-04.1",
    "style to propose if neither style prevails in the collection or the project"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    let mut all = named(profile);
    let owned = spelled_twice(profile);
    let mongoose = profile.top_level().any(|f| f.name == "__v");
    all.retain(|n| {
        let timestamps =
            mongoose && n.field.parent.is_none() && matches!(n.name(), "createdAt" | "updatedAt");
        !owned.contains(&n.at) && !timestamps
    });
    let short: BTreeSet<usize> =
        abbreviations(profile, &all, || allowed(&[])).into_iter().map(|a| a.at).collect();
    all.retain(|n| !short.contains(&n.at) && n.style != Style::Mixed);

    let preferred = if cx.text(&PREFER).starts_with("snake") { Style::Snake } else { Style::Camel };
    let target =
        dominant_style(&all, preferred)
            .map(|style| {
                if is_tie(&all) {
                    cx.shared("style", project_style).unwrap_or(style)
                } else {
                    style
                }
            })
            .unwrap_or(preferred);
    let is_acronym = |n: &Named<'_>| {
        n.style == Style::Screaming && !n.name().contains('_') && is_known_abbreviation(n.name())
    };
    let offends = |n: &Named<'_>| n.style != target && n.style != Style::Neutral && !is_acronym(n);
    let mut offenders: Vec<_> = all.iter().copied().filter(offends).collect();
    if offenders.is_empty() {
        return;
    }
    let kept = unique(all.iter().filter(|n| n.style == target));
    let neutral = unique(all.iter().filter(|n| n.style == Style::Neutral));
    // `First Name`, `URL`: if other names are renamed, acronyms in capitals are also renamed.
    if offenders.iter().any(|n| matches!(n.style, Style::Pascal | Style::Screaming)) {
        offenders.extend(all.iter().copied().filter(|n| is_acronym(n)));
        offenders.sort_by_key(|n| n.at);
    }
    let by_style = count_by_style(&offenders);
    let names: Vec<_> = unique(offenders.iter()).into_iter().collect();
    let one_style = by_style.len() == 1 && kept.is_empty() && neutral.is_empty();
    let foreign = foreign_part(profile, &all, &offenders);
    let is_foreign = origin::are_foreign(profile, offenders.iter().map(|n| n.field));

    let counts = |style: &Style, n: usize| match style {
        Style::Other => format!("{n} with spaces or special characters"),
        style => format!("{n} {}", style.name()),
    };
    let camps: Vec<_> = by_style.iter().map(|(style, n)| counts(style, *n)).collect();
    let shown = text::list(&in_document_order(&offenders), 5);
    let what = if let (true, Some(style)) = (one_style, by_style.keys().next()) {
        let how = match style {
            Style::Other => "with spaces or special characters".to_owned(),
            style => format!("in {}", style.name()),
        };
        if names.len() == 1 {
            format!("the only field name is {how}: {shown}")
        } else {
            format!("all {} field names are {how}: {shown}", names.len())
        }
    } else if kept.is_empty() && neutral.is_empty() {
        format!("field names are neither camelCase nor snake_case ({}): {shown}", camps.join(", "))
    } else if kept.is_empty() {
        format!(
            "field names are neither camelCase nor snake_case ({}, and {} in lower case): {shown}",
            camps.join(", "),
            text::plural(neutral.len() as u64, "name")
        )
    } else if names.len() == 1 {
        format!(
            "{} among {} {} {}",
            shown,
            kept.len(),
            target.name(),
            if kept.len() == 1 { "name" } else { "names" }
        ) + &by_style
            .keys()
            .next()
            .map(|s| {
                if *s == Style::Other {
                    " has spaces or special characters".to_owned()
                } else {
                    format!(" is {}", s.name())
                }
            })
            .unwrap_or_default()
    } else {
        format!(
            "field names mix styles ({} {}, {}): {shown}",
            kept.len(),
            target.name(),
            camps.join(", ")
        )
    };
    let renames = renames(&offenders, target);
    let todo = {
        let few: Vec<_> =
            renames.iter().take(3).map(|(from, to)| format!("`{from}` to `{to}`")).collect();
        let rest = renames.len().saturating_sub(few.len());
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let origin = foreign.as_ref().map_or_else(String::new, |top| {
            format!(
                "; all of them are inside `{top}`, so keep them if another system defines that part"
            )
        });
        let rename = if few.is_empty() {
            String::new()
        } else {
            format!(": rename {}{more}", few.join(", "))
        };
        let unnamed = offenders.iter().find(|n| !names::can_be_named(n.name()));
        let unnamed =
            unnamed.map_or_else(String::new, |n| format!("; {}", names::not_to_be_named(n.name())));
        let dotted = offenders.iter().find(|n| n.name().contains('.')).map_or_else(String::new, |n| {
            format!(
                "; dot notation, indexes and most updates do not reach `{}`, because the name contains a dot: store such keys as values",
                n.name()
            )
        });
        let keep = if is_foreign && foreign.is_none() { origin::KEEP } else { "" };
        format!("write all names in {}{rename}{origin}{dotted}{unnamed}{keep}", target.name())
    };
    let mut draft = Draft::new(
        Subject::Collection(collection.namespace.clone()),
        what,
        "a query with the wrong spelling finds no documents and raises no error",
        todo,
        profile.seen(),
    )
    .paths(offenders.iter().map(|n| n.field.path.clone()))
    .data("style", target.name())
    .data("inStyle", kept.len())
    .data(
        "others",
        DataValue::Map(
            by_style.iter().map(|(s, n)| (s.name().to_owned(), DataValue::from(*n))).collect(),
        ),
    )
    .data(
        "renames",
        DataValue::Map(
            renames.iter().map(|(a, b)| (a.clone(), DataValue::from(b.as_str()))).collect(),
        ),
    );
    // One document shows its own style, not that of the collection.
    let is_one = profile.total.max(profile.documents) == 1;
    if one_style || foreign.is_some() || is_foreign || is_one {
        draft = draft.severity(Severity::Info);
    }
    if is_foreign {
        cx.report(draft);
        return;
    }
    let reachable = reachable(&offenders, target);
    let moved = offenders.iter().map(|n| &n.field.path);
    cx.report(naming::renaming(draft, &collection.namespace, reachable, moved));
}

fn unique<'a>(names: impl Iterator<Item = &'a Named<'a>>) -> BTreeSet<&'a str> {
    names.map(Named::name).collect()
}

fn in_document_order<'a>(names: &[Named<'a>]) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    names.iter().map(Named::name).filter(|name| seen.insert(*name)).collect()
}

fn count_by_style(names: &[Named<'_>]) -> BTreeMap<Style, usize> {
    let mut sets: BTreeMap<Style, BTreeSet<&str>> = BTreeMap::new();
    for name in names {
        sets.entry(name.style).or_default().insert(name.name());
    }
    sets.into_iter().map(|(style, set)| (style, set.len())).collect()
}

fn is_tie(names: &[Named<'_>]) -> bool {
    dominant_style(names, Style::Camel) != dominant_style(names, Style::Snake)
}

/// The most frequent style in the collections of the project, one vote each.
fn project_style(evidence: &Evidence) -> Option<Style> {
    let mut votes: BTreeMap<Style, u32> = BTreeMap::new();
    for profile in evidence.collections.iter().filter_map(|c| c.profile.as_ref()) {
        let names = named(profile);
        if !is_tie(&names)
            && let Some(style) = dominant_style(&names, Style::Camel)
        {
            *votes.entry(style).or_default() += 1;
        }
    }
    let of = |style| votes.get(&style).copied().unwrap_or(0);
    match of(Style::Camel).cmp(&of(Style::Snake)) {
        std::cmp::Ordering::Greater => Some(Style::Camel),
        std::cmp::Ordering::Less => Some(Style::Snake),
        std::cmp::Ordering::Equal => None,
    }
}

/// The top-level field that contains every offender, if there are at least two and nothing inside it is in the other
/// style: an unchanged message of another system.
fn foreign_part(profile: &Profile, all: &[Named<'_>], offenders: &[Named<'_>]) -> Option<String> {
    let top = |at: usize| {
        let mut at = at;
        while let Some(parent) = profile.fields[at].parent {
            at = parent;
        }
        at
    };
    let first = top(offenders.first()?.at);
    let inside = |n: &&Named<'_>| top(n.at) == first && n.field.parent.is_some();
    let all_inside = offenders.iter().all(|n| inside(&n));
    let styles: BTreeSet<Style> =
        all.iter().filter(inside).map(|n| n.style).filter(|s| *s != Style::Neutral).collect();
    (all_inside && offenders.len() > 1 && styles.len() == 1)
        .then(|| profile.fields[first].name.clone())
}

fn renames(offenders: &[Named<'_>], target: Style) -> Vec<(String, String)> {
    let mut seen = BTreeSet::new();
    offenders
        .iter()
        .map(|n| (n.name().to_owned(), in_style(n.name(), target)))
        .filter(|(from, to)| {
            names::can_be_named(from)
                && !from.contains('.')
                && !to.is_empty()
                && from != to
                && seen.insert(from.clone())
        })
        .collect()
}

/// The renames that a statement can name.
fn reachable(offenders: &[Named<'_>], target: Style) -> Vec<Rename> {
    offenders
        .iter()
        .filter(|n| !n.name().contains('.') && names::can_be_named(n.field.path.as_str()))
        .filter_map(|n| naming::rename(n.field, &in_style(n.name(), target)))
        .filter(|one| one.from != one.to)
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::{DataValue, Severity};

    #[test]
    fn dm_04_1_rows_of_the_oplog_are_the_servers_own() {
        let row = r#"{"op": "u", "ns": "db_shop.t_user", "ts": {"$timestamp": {"t": 1, "i": 1}}, "o2": {"_id": 1}, "o": {"$set": {"user_name": "a", "createdAt": 1}}}"#;
        for rule in ["N011", "N013", "N015", "D007"] {
            assert!(check(rule, row).is_empty(), "{rule}");
        }
        assert!(!check("N011", &row.replace("\"ns\"", "\"place\"")).is_empty());
    }

    #[test]
    fn dm_04_1_rows_of_the_profiler_are_the_servers_own() {
        let row = r#"{"op": "query", "ns": "db_shop.t_user", "millis": 120, "planSummary": "COLLSCAN", "query": {"find": "t_user", "filter": {"user_name": "a", "createdAt": 1}, "batch_size": 5}}"#;
        assert!(check("N011", row).is_empty());
        // In a document that is not a row of the profiler, people chose these names.
        assert_eq!(check("N011", &row.replace("\"op\"", "\"kind\"")).len(), 1);
        for rule in ["N013", "N016", "D007", "T001"] {
            assert!(check(rule, row).is_empty(), "{rule}");
        }
    }

    #[test]
    fn dm_04_1_the_good_sample_passes() {
        assert!(check("N011", r#"{"_id": 1, "userName": "a", "createTime": 1, "orderItems": [], "totalAmount": 1}"#).is_empty());
        assert!(
            check(
                "N011",
                r#"{"_id": 1, "user_name": "a", "create_time": 1, "items": [{"product_id": 1}]}"#
            )
            .is_empty()
        );
    }

    #[test]
    fn dm_04_1_all_names_are_renamed_wherever_they_stand() {
        let many: Vec<String> =
            (b'a'..=b'z').map(|c| format!("\"field_{0}{0}\": 1", char::from(c))).collect();
        let camel: Vec<String> = (b'a'..=b'z')
            .flat_map(|c| {
                let c = char::from(c);
                [format!("\"own{c}Name\": 1"), format!("\"own{c}Size\": 1")]
            })
            .collect();
        let body = format!(
            "{{{}, {}, \"items\": [{{\"unit_price\": 1}}], \"ship_to\": {{\"post_code\": 1}}}}",
            many.join(", "),
            camel.join(", ")
        );
        let found = check("N011", &body);
        let docward_model::Step::RenameFields { renames, .. } =
            &found[0].fix.as_ref().expect("a fix").steps()[0]
        else {
            panic!("{found:?}")
        };
        let from: Vec<&str> = renames.iter().map(|one| one.from.as_str()).collect();
        assert_eq!(from.len(), 26 + 3, "{from:?}");
        assert_eq!(from[..2], ["items[].unit_price", "ship_to.post_code"]);
    }

    #[test]
    fn dm_04_1_an_outlier_is_named_with_its_rename() {
        let found =
            check("N011", r#"{"_id": 1, "userName": "a", "createTime": 1, "ship_to_city": "x"}"#);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].what.contains("`ship_to_city` among 2 camelCase names is snake_case"),
            "{}",
            found[0].what
        );
        let Some(DataValue::Map(renames)) = found[0].data.get("renames") else {
            panic!("no renames")
        };
        assert_eq!(
            renames[0],
            ("ship_to_city".to_owned(), DataValue::Text("shipToCity".to_owned()))
        );
        assert!(
            found[0].fix.as_ref().unwrap().command().contains(r#""ship_to_city": "shipToCity""#)
        );
    }

    #[test]
    fn dm_04_1_two_camps_are_one_finding() {
        let found = check(
            "N011",
            r#"{"_id": 1, "userName": "a", "createTime": 1, "orderNo": 1, "first_name": 1, "last_name": 1}"#,
        );
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("(3 camelCase, 2 snake_case)"), "{}", found[0].what);
    }

    #[test]
    fn dm_04_1_names_of_other_rules_are_left_to_them() {
        // Create_Time is N012's, UN is N013's, createTime/create_time are N016's.
        assert!(check("N011", r#"{"_id": 1, "userName": "a", "Create_Time": 1}"#).is_empty());
        assert!(check("N011", r#"{"_id": 1, "orderName": "a", "payTime": 1, "UN": 1}"#).is_empty());
        assert!(
            check("N011", r#"{"_id": 1, "userName": "a", "createTime": 1, "create_time": 1}"#)
                .is_empty()
        );
    }

    #[test]
    fn sn_30_each_bad_name_has_one_owner() {
        let bad = r#"{"UN": "a", "Create_Time": 1, "oi": [], "_total": 1}"#;
        for (rule, expect) in
            [("N011", 0), ("N012", 1), ("N013", 1), ("N014", 0), ("N015", 1), ("N016", 0)]
        {
            assert_eq!(check(rule, bad).len(), expect, "{rule}");
        }
        // ST-04: four spellings of one concept belong to N016 alone.
        let story = "{\"createTime\": 1}\n{\"Create_Time\": 1}\n{\"create_time\": 1}\n{\"CT\": 1}";
        for (rule, expect) in [("N011", 0), ("N012", 0), ("N013", 0), ("N015", 0), ("N016", 1)] {
            assert_eq!(check(rule, story).len(), expect, "{rule}");
        }
    }

    #[test]
    fn dm_04_1_data_keys_and_messages_are_not_names() {
        let body = r#"x30 {"_id": $i, "userName": "a", "perDay": {"2024-01-01": {"page_views": 1}, "2024-01-02": {"page_views": 2}}, "headers": {"content-type": "x", "user-agent": "y"}}"#;
        assert!(check("N011", body).is_empty());
        let env = r#"{"_id": 1, "userName": "a", "startTime": 1, "env": {"NODE_ENV": "x", "HOME_DIR": "y"}}"#;
        assert_eq!(check("N011", env)[0].severity, Severity::Info);
    }

    #[test]
    fn dm_04_1_frameworks_geojson_and_acronyms_pass() {
        assert!(check("N011", r#"{"_id": 1, "__v": 0, "_class": "a.B", "user_name": "a", "createdAt": 1, "updatedAt": 1, "loc": {"type": "Point", "coordinates": [1, 2]}}"#).is_empty());
        assert!(
            check("N011", r#"{"_id": 1, "userName": "a", "URL": "x", "homePage": 1}"#).is_empty()
        );
    }

    #[test]
    fn dm_04_1_pascal_case_throughout_is_information() {
        let found = check("N011", r#"{"_id": 1, "FirstName": "a", "LastName": "b"}"#);
        assert_eq!(found[0].severity, Severity::Info);
        let mixed = r#"{"FirstName": "a", "LastName": "b", "phone": 1}"#;
        assert_eq!(check("N011", &format!("x2 {mixed}"))[0].severity, Severity::Warn);
        assert_eq!(check("N011", mixed)[0].severity, Severity::Info, "a single document");
    }

    #[test]
    fn dm_04_1_a_foreign_message_is_information() {
        let found = check(
            "N011",
            r#"{"_id": 1, "userName": "a", "payTime": 1, "stripe": {"client_secret": "x", "payment_intent": "y"}}"#,
        );
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].todo.contains("inside `stripe`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_04_1_no_statement_names_what_is_not_utf_8() {
        let body = "{\"_id\": 1, \"userName\": 1, \"createTime\": 1, \"orderNo\": 1, \"k\u{fffd} \": 1MORE}";
        let found = check("N011", &body.replace("MORE", ""));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].fix, None);
        assert!(
            found[0].todo.contains("is not UTF-8, so no statement can contain it"),
            "{}",
            found[0].todo
        );
        assert!(!found[0].todo.contains("rename"), "{}", found[0].todo);
        // Other fields are still renamed.
        let found = check("N011", &body.replace("MORE", ", \"last_name\": 1"));
        let command = &found[0].fix.as_ref().expect("a statement").command();
        assert!(command.ends_with("{$rename: {\"last_name\": \"lastName\"}})"), "{command}");
        assert!(found[0].todo.contains("is not UTF-8"), "{}", found[0].todo);
    }
}
