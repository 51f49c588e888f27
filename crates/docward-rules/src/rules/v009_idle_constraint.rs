//! DM-11.6: constraints of a validator on fields that no document has.

use std::collections::BTreeSet;

use docward_model::{
    BsonType, Collection, CollectionKind, DataValue, Draft, FieldPath, Profile, Severity, Subject,
    Value,
};

use crate::{
    Cx, declare_rule,
    facts::{
        names::{
            naming::is_framework,
            path_typos::{is_absent, nearest_of},
        },
        schema::{DemandKind, demands, is_closed, schemas},
        text,
    },
    threshold,
};

declare_rule! {
    /// # Idle constraint
    ///
    /// ## What it checks
    /// Reports properties of a `$jsonSchema` that no document has:
    /// - A warning: a stored field that the schema does not describe has a similar name. The schema probably
    ///   contains a typing error.
    /// - A note: no similar field exists. One finding lists all such properties.
    ///
    /// If only a sample was read, both are notes.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - required fields, which V006 reports
    /// - names in a closed schema (`additionalProperties: false`), which lists permitted fields
    /// - forbidden fields (`{not: {}}`), and properties under `anyOf` and `oneOf`
    /// - objects whose field names are data
    /// - collections with fewer than 100 documents
    ///
    /// ## Why it matters
    /// A constraint under an unused name checks nothing, and the intended field is stored unchecked.
    ///
    /// ## Example
    /// ```jsonl,fires,min-documents=3
    /// options {"validator": {"$jsonSchema": {"properties": {"user_name": {"bsonType": "string"}}}}}
    /// x3 {"_id": $i, "userName": "zhang"}
    /// ```
    /// ```jsonl,fires,min-documents=3
    /// options {"validator": {"$jsonSchema": {"properties": {"userName": {"bsonType": "string"}, "pager": {"bsonType": "string"}}}}}
    /// x3 {"_id": $i, "userName": "zhang"}
    /// ```
    /// ```jsonl,clean,min-documents=3
    /// options {"validator": {"$jsonSchema": {"properties": {"userName": {"bsonType": "string"}, "phone": {"bsonType": "string"}}}}}
    /// x3 {"_id": $i, "userName": "zhang"}
    /// {"_id": 9, "userName": "li", "phone": "13800138000"}
    /// ```
    ///
    /// ## How to fix
    /// Use the field name of the documents in the schema. Remove a property that remains from an earlier version.
    ///
    /// ## When to ignore it
    /// The field belongs to a release that has not written documents yet.
    V009, "idle-constraint",
    level: Recommended,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DM-11.6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Options, Documents],
    thresholds: [MIN_DOCUMENTS],
    data: ["documents", "paths", "stored"],
    check: Collection(check),
}

threshold!(
    MIN_DOCUMENTS,
    "min-documents",
    Int(100),
    "documents",
    "our default",
    "minimum number of documents that show that a field is absent"
);

/// A property that a schema describes unconditionally.
struct Described {
    /// `items[].price`.
    path: String,
    /// Whether the enclosing object accepts only the properties it lists.
    closed: bool,
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let (Some(options), Some(profile)) = (&collection.options, &collection.profile) else { return };
    let Some(validator) = &options.validator else { return };
    let least = cx.count(&MIN_DOCUMENTS);
    if collection.kind != CollectionKind::Plain
        || profile.documents < least
        || profile.fields_capped
    {
        return;
    }
    let found = schemas(validator);
    let mut described = Vec::new();
    let mut named = BTreeSet::new();
    for schema in &found {
        properties(schema, "", &mut described);
        names(schema, "", &mut named);
    }
    let required: BTreeSet<String> = found
        .iter()
        .flat_map(|schema| demands(schema))
        .filter(|demand| matches!(demand.kind, DemandKind::Required))
        .map(|demand| demand.path)
        .collect();
    let mut told = BTreeSet::new();
    let mut left_over = Vec::new();
    for Described { path, closed } in &described {
        let dotted = path.replace("[]", "");
        let leaf = dotted.rsplit('.').next().unwrap_or_default();
        if required.contains(path)
            || is_framework(leaf)
            || objects_at(profile, path) < least
            || !is_absent(profile, &dotted)
            || !told.insert(dotted.clone())
        {
            continue;
        }
        // V006 counts fields that a closed schema does not list. A listed name is a permission.
        let top = !path.contains('.');
        if *closed && top {
            continue;
        }
        match nearest_of(profile, &dotted, 2, |known| !named.contains(known)) {
            Some(near) => report_slip(collection, profile, path, &near, cx),
            None if !closed => left_over.push(path.clone()),
            None => {}
        }
    }
    if !left_over.is_empty() {
        report_left_over(collection, profile, &left_over, cx);
    }
}

fn none_of(profile: &Profile) -> String {
    let read = if profile.documents >= profile.total { "" } else { " read" };
    format!("none of {}{read}", text::plural(profile.documents, "document"))
}

fn report_slip(
    collection: &Collection,
    profile: &Profile,
    path: &str,
    near: &str,
    cx: &mut Cx<'_>,
) {
    let sampled = profile.documents < profile.total;
    cx.report(
        Draft::new(
            Subject::Field(collection.namespace.clone(), FieldPath::new(path)),
            format!(
                "the schema describes `{path}`, which {} has, but not `{near}`, which documents have",
                none_of(profile)
            ),
            "the constraint has no effect under this name, and the server does not check the stored field",
            format!("change the name in the schema to `{near}`"),
            profile.seen(),
        )
        .data("stored", near)
        .data("documents", profile.documents)
        .severity(if sampled { Severity::Info } else { Severity::Warn }),
    );
}

fn report_left_over(collection: &Collection, profile: &Profile, paths: &[String], cx: &mut Cx<'_>) {
    let n = paths.len() as u64;
    cx.report(
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            format!(
                "the schema describes {}, which {} has",
                text::paths(paths, 5),
                none_of(profile)
            ),
            "a constraint on a field that does not exist checks nothing: it is obsolete, or its name is misspelled",
            format!(
                "compare the {} with the fields that the application writes, and remove obsolete constraints",
                text::form(n, "name", "names")
            ),
            profile.seen(),
        )
        .paths(paths.iter().map(FieldPath::new))
        .data("paths", DataValue::List(paths.iter().map(|p| DataValue::from(p.as_str())).collect()))
        .data("documents", profile.documents)
        .severity(Severity::Info),
    );
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Properties that are described unconditionally and may exist.
fn properties(node: &Value, path: &str, out: &mut Vec<Described>) {
    let closed = is_closed(node);
    for (name, inner) in node.get("properties").map(Value::entries).unwrap_or_default() {
        // `not` may be a way to forbid the field; the server treats names with dots as paths.
        if name.is_empty() || name.contains('.') || inner.get("not").is_some() {
            continue;
        }
        let path = join(path, name);
        properties(inner, &path, out);
        out.push(Described { path, closed });
    }
    if let Some(items) = node.get("items").filter(|items| matches!(items, Value::Map(_))) {
        properties(items, &format!("{path}[]"), out);
    }
    for part in node.get("allOf").map(Value::items).unwrap_or_default() {
        properties(part, path, out);
    }
}

/// Collects all names in the schema, including those under conditions, as dotted paths.
fn names(node: &Value, path: &str, out: &mut BTreeSet<String>) {
    for (name, inner) in node.get("properties").map(Value::entries).unwrap_or_default() {
        let path = join(path, name);
        names(inner, &path, out);
        out.insert(path);
    }
    for name in node.get("required").map(Value::items).unwrap_or_default() {
        out.extend(name.as_text().map(|name| join(path, name)));
    }
    match node.get("items") {
        Some(Value::List(nodes)) => nodes.iter().for_each(|inner| names(inner, path, out)),
        Some(inner) => names(inner, path, out),
        None => {}
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for part in node.get(keyword).map(Value::items).unwrap_or_default() {
            names(part, path, out);
        }
    }
}

/// The number of objects that could contain the field.
fn objects_at(profile: &Profile, path: &str) -> u64 {
    match path.rsplit_once('.') {
        None => profile.documents,
        Some((parent, _)) => profile.field(parent).map_or(0, |f| f.types.of(BsonType::Object)),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::{Finding, Severity};

    fn with(schema: &str, documents: &str) -> Vec<Finding> {
        let body = format!("options {{\"validator\": {{\"$jsonSchema\": {schema}}}}}\n{documents}");
        check("V009", &body)
    }

    const USERS: &str = r#"x120 {"_id": $i, "userName": "zhang", "phone1": "1", "address": {"city": "x", "postCode": "1"}, "items": [{"skuCode": 1}]}"#;

    #[test]
    fn dm_11_6_a_constraint_under_a_wrong_name_is_a_warning() {
        for (schema, path, near) in [
            (r#"{"properties": {"user_name": {}}}"#, "user_name", "userName"),
            (r#"{"properties": {"userNmae": {}}}"#, "userNmae", "userName"),
            (
                r#"{"properties": {"address": {"properties": {"postcode": {}}}}}"#,
                "address.postcode",
                "address.postCode",
            ),
            (
                r#"{"allOf": [{"properties": {"items": {"items": {"properties": {"sku_code": {}}}}}}]}"#,
                "items[].sku_code",
                "items.skuCode",
            ),
        ] {
            let found = with(schema, USERS);
            assert_eq!(found.len(), 1, "{schema} {found:?}");
            assert_eq!(found[0].severity, Severity::Warn);
            assert!(
                found[0].what.contains(&format!("`{path}`, which none of 120 documents has")),
                "{}",
                found[0].what
            );
            assert!(found[0].todo.ends_with(&format!("`{near}`")), "{}", found[0].todo);
        }
    }

    #[test]
    fn dm_11_6_what_is_left_over_is_told_once_as_information() {
        let found = with(r#"{"properties": {"userName": {}, "pager": {}, "fax": {}}}"#, USERS);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Info);
        assert!(
            found[0].what.contains("`pager` and `fax`, which none of 120"),
            "{}",
            found[0].what
        );
        // A similar name that is also described is another field.
        let found = with(r#"{"properties": {"phone1": {}, "phone2": {}}}"#, USERS);
        assert_eq!(found[0].severity, Severity::Info, "{found:?}");
    }

    #[test]
    fn dm_11_6_what_need_not_be_there_is_left_alone() {
        for schema in [
            r#"{"required": ["user_name"], "properties": {"user_name": {}}}"#,
            r#"{"additionalProperties": false, "properties": {"_id": {}, "pager": {}}}"#,
            r#"{"properties": {"pager": {"not": {}}}}"#,
            r#"{"anyOf": [{"properties": {"pager": {}}}, {"required": ["userName"]}]}"#,
            r#"{"properties": {"__v": {}, "_class": {}}}"#,
            r#"{"properties": {"address": {"properties": {"city": {}}}}}"#,
        ] {
            assert!(with(schema, USERS).is_empty(), "{schema} {:?}", with(schema, USERS));
        }
        let few = USERS.replace("x120", "x99");
        assert!(with(r#"{"properties": {"user_name": {}}}"#, &few).is_empty());
        // Only the absent object is named, not its content.
        let found = with(r#"{"properties": {"shop": {"properties": {"city": {}}}}}"#, USERS);
        assert!(found[0].what.contains("describes `shop`, which"), "{}", found[0].what);
        // Keys that are data.
        let scores = r#"x120 {"_id": $i, "scores": {"u$i": 1}}"#;
        assert!(
            with(r#"{"properties": {"scores": {"properties": {"total": {}}}}}"#, scores).is_empty()
        );
    }
}
