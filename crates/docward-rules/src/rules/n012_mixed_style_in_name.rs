//! DM-04.2: one style within one name.

use std::collections::BTreeSet;

use docward_model::{Collection, DataValue, Draft, Severity, Subject};

use crate::{
    Cx, declare_rule,
    facts::{
        names::{
            Style, in_style,
            naming::{self, dominant_style, named, spelled_twice},
            origin,
        },
        text,
    },
};

declare_rule! {
    /// # Mixed style in a name
    ///
    /// ## What it checks
    /// Reports field names that mix camelCase and snake_case, such as `Create_Time` or `createTime_utc`. A
    /// language or unit in capitals after a snake_case name (`title_zh_CN`) is not mixed. N016 reports several
    /// spellings of one concept. It is a note if another system chose the names, as in N011.
    ///
    /// ## Why it matters
    /// Such a name is hard to guess, and a query with a wrong guess matches nothing.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "userName": "zhang", "Create_Time": ISODate("2024-03-15T10:30:00Z")}
    /// ```
    /// ```jsonl,clean
    /// {"_id": 1, "userName": "zhang", "createTime": ISODate("2024-03-15T10:30:00Z")}
    /// ```
    ///
    /// ## How to fix
    /// Rename the field to the style of the rest of the collection.
    ///
    /// ## When to ignore it
    /// The name is the column name of an import and must stay comparable with its source.
    N012, "mixed-style-in-name",
    level: Recommended,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DM-04.2"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [],
    data: ["renames", "style"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    let all = named(profile);
    let owned = spelled_twice(profile);
    let mixed: Vec<_> =
        all.iter().filter(|n| n.style == Style::Mixed && !owned.contains(&n.at)).collect();
    if mixed.is_empty() {
        return;
    }
    let target = dominant_style(&all, Style::Camel).unwrap_or(Style::Camel);
    let mut seen = BTreeSet::new();
    let renames: Vec<_> = mixed
        .iter()
        .filter(|n| seen.insert(n.name()))
        .map(|n| (n.name().to_owned(), in_style(n.name(), target)))
        .collect();
    let names: Vec<_> = renames.iter().map(|(from, _)| from.as_str()).collect();
    let few: Vec<_> =
        renames.iter().take(3).map(|(from, to)| format!("`{from}` to `{to}`")).collect();
    let rest = renames.len() - few.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let reachable: Vec<_> = mixed
        .iter()
        .filter(|n| n.field.parent.is_none())
        .filter_map(|n| naming::rename(n.field, &in_style(n.name(), target)))
        .collect();
    let marks = marks(&names);
    let is_foreign = origin::are_foreign(profile, mixed.iter().map(|n| n.field));
    let draft = Draft::new(
        Subject::Collection(collection.namespace.clone()),
        if names.len() == 1 {
            format!("field name {} mixes {marks}", text::list(&names, 1))
        } else {
            format!("{} field names mix {marks}: {}", names.len(), text::list(&names, 5))
        },
        "such names are hard to remember, and a query with the wrong spelling finds no documents and raises no error",
        format!("rename {}{more}{}", few.join(", "), if is_foreign { origin::KEEP } else { "" }),
        profile.seen(),
    )
    .paths(mixed.iter().map(|n| n.field.path.clone()))
    .data("style", target.name())
    .data(
        "renames",
        DataValue::Map(
            renames.iter().map(|(a, b)| (a.clone(), DataValue::from(b.as_str()))).collect(),
        ),
    );
    if is_foreign {
        cx.report(draft.severity(Severity::Info));
        return;
    }
    let moved = mixed.iter().map(|n| &n.field.path);
    cx.report(naming::renaming(draft, &collection.namespace, reachable, moved));
}

/// Returns the styles that occur in the names.
fn marks(names: &[&str]) -> String {
    let found: Vec<_> = [
        ("capitals", &(|c: char| c.is_uppercase()) as &dyn Fn(char) -> bool),
        ("underscores", &|c| c == '_'),
        ("hyphens", &|c| c == '-'),
    ]
    .into_iter()
    .filter(|(_, is)| names.iter().any(|name| name.chars().any(is)))
    .map(|(word, _)| word)
    .collect();
    match found.as_slice() {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => "two styles".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn dm_04_2_create_time_with_both_is_found() {
        let found = check("N012", r#"{"_id": 1, "userName": "a", "Create_Time": 1}"#);
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("`Create_Time` to `createTime`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_04_2_the_proposal_follows_the_collection() {
        let found =
            check("N012", r#"{"_id": 1, "user_name": "a", "order_no": 1, "Create_Time": 1}"#);
        assert!(found[0].todo.contains("`create_time`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_04_2_pure_styles_pass_alone() {
        for name in ["create_time", "createTime", "title_zh_CN", "CREATE_TIME", "CreateTime"] {
            assert!(check("N012", &format!(r#"{{"_id": 1, "{name}": 1}}"#)).is_empty(), "{name}");
        }
    }

    #[test]
    fn dm_04_2_spellings_belong_to_n016() {
        assert!(check("N012", r#"{"_id": 1, "createTime": 1, "Create_Time": 1}"#).is_empty());
    }

    #[test]
    fn dm_04_2_hyphens_are_called_hyphens() {
        let found = check("N012", r#"{"_id": 1, "userName": 1, "Content-Type": 1}"#);
        if let Some(found) = found.first() {
            assert!(found.what.contains("capitals and hyphens"), "{}", found.what);
        }
        assert_eq!(super::marks(&["Content-Type"]), "capitals and hyphens");
        assert_eq!(super::marks(&["Create_Time"]), "capitals and underscores");
    }

    #[test]
    fn dm_04_2_map_keys_are_not_names() {
        let body = r#"{"_id": 1, "userName": 1, "title": {"en": "a", "de_DE": "b", "pt-BR": "c", "zh-CN": "d"}, "price": {"USD": 1, "EUR": 2}, "stock": {"XS": 1, "S": 1, "M": 1, "L": 1, "XL": 1}}"#;
        for rule in ["N011", "N012", "N013"] {
            assert!(check(rule, body).is_empty(), "{rule}");
        }
    }
}
