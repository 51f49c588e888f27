//! DM-04.5: business fields do not begin with an underscore.

use std::collections::BTreeSet;

use docward_model::{Collection, DataValue, Draft, FieldShape, Severity, Subject};

use crate::{
    Cx, declare_rule,
    facts::{
        names::{
            naming::{self, FRAMEWORK, is_framework, named, spelled_twice},
            origin,
        },
        text,
    },
    threshold,
};

declare_rule! {
    /// # Leading underscore
    ///
    /// ## What it checks
    /// Reports field names that begin with an underscore. `_id` at any depth is not reported, nor are fields that
    /// object mappers and platforms write (`__v`, `_class`, `_t`, Parse's `_rperm`, HAL's `_links` and others).
    /// The finding's data lists the exempt names that occur. It is a note if another system chose the names, as in
    /// N011.
    ///
    /// ## Why it matters
    /// By convention, such names belong to the database or a framework. A business field with such a name may
    /// collide with one of theirs, and tools that hide system fields hide it, too.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "_total": 397, "__v": 0}
    /// ```
    /// ```jsonl,clean
    /// {"_id": 1, "total": 397, "__v": 0, "items": [{"_id": 2, "quantity": 1}]}
    /// ```
    ///
    /// ## How to fix
    /// Remove the underscore.
    ///
    /// ## When to ignore it
    /// Your own framework writes the field; add it to `exempt`.
    N015, "leading-underscore",
    level: Recommended,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DM-04.5"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [EXEMPT],
    data: ["exemptPresent", "renames"],
    check: Collection(check),
}

threshold!(
    EXEMPT,
    "exempt",
    Words(FRAMEWORK),
    "names",
    "DM-04.5",
    "names that frameworks use; names in `docward.toml` are added to this list"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    let exempt = cx.words(&EXEMPT);
    // `_total` and `total` are two spellings of one concept, which N016 reports.
    let owned = spelled_twice(profile);
    let all = named(profile);
    let found: Vec<_> = all
        .iter()
        .filter(|n| {
            n.name().starts_with('_')
                && !exempt.iter().any(|e| e == n.name())
                && !owned.contains(&n.at)
        })
        .collect();
    if found.is_empty() {
        return;
    }
    let mut unique = BTreeSet::new();
    let renames: Vec<_> = found
        .iter()
        .filter(|n| unique.insert(n.name()))
        .map(|n| (n.name().to_owned(), n.name().trim_start_matches('_').to_owned()))
        .collect();
    let names: Vec<_> = renames.iter().map(|(from, _)| from.as_str()).collect();
    let left_alone: BTreeSet<&str> = profile
        .fields
        .iter()
        .filter(|f| f.shape == FieldShape::Named && f.name.starts_with('_'))
        .map(|f| f.name.as_str())
        .filter(|name| is_framework(name) || exempt.iter().any(|e| e == name))
        .collect();
    let few: Vec<_> =
        renames.iter().take(3).map(|(from, to)| format!("`{from}` to `{to}`")).collect();
    let rest = renames.len() - few.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let reachable: Vec<_> = found
        .iter()
        .filter(|n| n.field.parent.is_none())
        .filter_map(|n| naming::rename(n.field, n.name().trim_start_matches('_')))
        .collect();
    let is_foreign = origin::are_foreign(profile, found.iter().map(|n| n.field));
    let draft = Draft::new(
        Subject::Collection(collection.namespace.clone()),
        if names.len() == 1 {
            format!("field name {} begins with an underscore", text::list(&names, 1))
        } else {
            format!("{} field names begin with an underscore: {}", names.len(), text::list(&names, 5))
        },
        "a leading underscore marks fields of the database or of a framework, so such names can collide with them",
        format!("rename {}{more}{}", few.join(", "), if is_foreign { origin::KEEP } else { "" }),
        profile.seen(),
    )
    .paths(found.iter().map(|n| n.field.path.clone()))
    .data(
        "renames",
        DataValue::Map(
            renames.iter().map(|(a, b)| (a.clone(), DataValue::from(b.as_str()))).collect(),
        ),
    )
    .data("exemptPresent", left_alone.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
    if is_foreign {
        cx.report(draft.severity(Severity::Info));
        return;
    }
    let moved = found.iter().map(|n| &n.field.path);
    cx.report(naming::renaming(draft, &collection.namespace, reachable, moved));
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::DataValue;

    #[test]
    fn dm_04_5_total_is_found_and_exempt_fields_are_listed() {
        let found = check("N015", r#"{"_id": 1, "_total": 1, "__v": 0}"#);
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("`_total` to `total`"));
        let listed = DataValue::from(vec!["__v", "_id"]);
        assert_eq!(found[0].data.get("exemptPresent"), Some(&listed));
    }

    #[test]
    fn dm_04_5_a_field_called_like_the_prototype_is_really_renamed() {
        let found = check("N015", r#"{"_id": 1, "__proto__": 1, "_total": 1}"#);
        let command = &found[0].fix.as_ref().expect("a command").command();
        let renames = r#"{$rename: {["__proto__"]: "proto__", "_total": "total"}}"#;
        assert!(command.ends_with(&format!("{renames})")), "{command}");
        let both = "x30 {\"_id\": $i, \"proto\": 1}\nx3 {\"_id\": \"u$i\", \"__proto__\": 1}";
        let found = check("N016", both);
        let command = &found[0].fix.as_ref().expect("a command").command();
        assert!(command.contains(r#"{$rename: {["__proto__"]: "proto"}}"#), "{command}");
    }

    #[test]
    fn dm_04_5_framework_fields_pass() {
        let body = r#"{"_id": 1, "__v": 0, "_class": "x", "_t": "y", "_etag": "z", "_p_user": "a", "_rperm": [], "_wperm": [],
                      "_acl": {}, "_hashed_password": "h", "_session_token": "s", "_created_at": 1, "_updated_at": 2,
                      "_email_verify_token": "e", "items": [{"_id": 2}], "_links": {"self": {"href": "u"}}}"#
            .replace('\n', " ");
        assert!(check("N015", &body).is_empty());
    }

    #[test]
    fn dm_04_5_users_extend_the_list() {
        assert!(check_with("N015", "exempt=_tenant", r#"{"_id": 1, "_tenant": 1}"#).is_empty());
    }
}
