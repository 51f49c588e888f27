//! DP-2: data and the declared model have the same fields.

use docward_design::{Origin, Planned};
use docward_model::{BsonType, Collection, Draft, Field, FieldPath, FieldShape, Profile, Subject};

use crate::facts::{schema::declared, text};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Undeclared field
    ///
    /// ## What it checks
    /// Compares the documents with a model (`docward design check MODEL.yaml SOURCE`, or `audit --model`).
    /// Reports, in one finding per collection:
    /// - fields that documents have and the model does not
    /// - required fields of the model that documents lack
    /// - fields of another type than declared
    /// - fields that are null but not declared `nullable`
    /// - strings that are not among the declared `values`
    ///
    /// Each must occur in at least 1 % of the documents. Objects that the model declares without fields may
    /// contain anything. `int`, `long` and `double` count as one type, because drivers choose among them by
    /// value.
    ///
    /// ## Why it matters
    /// A model decides only about the fields it knows. An undeclared field has no size and no index in the
    /// design, and the choice between embedding and referencing ignores it.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_order
    /// model
    /// name: shop
    /// entities:
    ///   order:
    ///     fields: {orderNo: string}
    /// ...
    /// x20 {"orderNo": "A-1", "coupon": "SPRING"}
    /// ```
    /// The field is declared:
    /// ```jsonl,clean,ns=db_shop.t_order
    /// model
    /// name: shop
    /// entities:
    ///   order:
    ///     fields: {orderNo: string, coupon: {type: string, required: false}}
    /// ...
    /// x20 {"orderNo": "A-1", "coupon": "SPRING"}
    /// ```
    ///
    /// ## How to fix
    /// Declare the field with its size, or stop writing it.
    ///
    /// ## When to ignore it
    /// A framework adds the field and no code reads it. `__v`, `_class` and similar fields are not reported by
    /// default.
    R030, "undeclared-field",
    level: Recommended,
    area: Hygiene,
    clauses: ["DP-2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents, Design],
    thresholds: [MIN_SHARE],
    data: ["missing", "null", "types", "undeclared", "values"],
    check: Collection(check),
}

threshold!(
    MIN_SHARE,
    "min-share",
    Float(0.01),
    "share of documents",
    "our default",
    "share of the documents (or objects) that must have a field that the model lacks, or lack it, \
     or have null or another type in it, before the rule reports it"
);

/// Fields that frameworks write automatically.
const FRAMEWORK: &[&str] = &["__v", "_class", "_t", "schemaVersion", "schema_version"];

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(declared) = declared::of(cx) else { return };
    let (Some(plan), Some(profile)) = (declared.plan(collection), &collection.profile) else {
        return;
    };
    let least = cx.limit(&MIN_SHARE);
    let open = declared.undecided(&plan.entity);
    let held = declared.held(&plan.entity);
    let arrived = declared.arrived(&plan.entity);
    let mut compared = Compared {
        profile,
        least,
        open: &open,
        held: &held,
        arrived: &arrived,
        unknown: vec![],
        missing: vec![],
        odd: vec![],
        null: vec![],
        beside: vec![],
    };
    let top: Vec<&Field> = profile.fields.iter().filter(|field| field.parent.is_none()).collect();
    compared.compare(&top, &plan.fields, "");
    let Compared { unknown, missing, odd, null, beside, .. } = compared;
    let faults = unknown.len() + missing.len() + odd.len() + null.len() + beside.len();
    if faults == 0 {
        return;
    }
    let mut said = Vec::new();
    if !unknown.is_empty() {
        let shown: Vec<String> = unknown
            .iter()
            .map(|(path, share)| format!("{path} ({})", text::percent(*share)))
            .collect();
        said.push(format!(
            "has {} that the model of `{}` does not declare: {}",
            text::plural(unknown.len() as u64, "field"),
            plan.entity,
            text::list(&shown, 5)
        ));
    }
    if !missing.is_empty() {
        said.push(format!(
            "lacks {} of the model: {}",
            text::plural(missing.len() as u64, "field"),
            text::list(&missing, 5)
        ));
    }
    if !odd.is_empty() {
        let shown: Vec<String> = odd
            .iter()
            .map(|(path, found, declared)| format!("{path} ({found}, declared as {declared})"))
            .collect();
        said.push(format!(
            "has {} of another type: {}",
            text::plural(odd.len() as u64, "field"),
            text::list(&shown, 5)
        ));
    }
    if !null.is_empty() {
        said.push(format!(
            "has null in {} that the model does not declare as nullable: {}",
            text::plural(null.len() as u64, "field"),
            text::list(&null, 5)
        ));
    }
    if !beside.is_empty() {
        let shown: Vec<String> = beside
            .iter()
            .map(|(path, share)| format!("{path} ({})", text::percent(*share)))
            .collect();
        said.push(format!(
            "has undeclared values in {}: {}",
            text::plural(beside.len() as u64, "field"),
            text::list(&shown, 5)
        ));
    }
    let first = unknown.first().map(|(path, _)| path.clone()).or_else(|| missing.first().cloned());
    let first = first.or_else(|| odd.first().map(|(path, ..)| path.clone()));
    let first = first.or_else(|| null.first().cloned());
    let first = first.or_else(|| beside.first().map(|(path, _)| path.clone()));
    let subject = match first {
        Some(path) if faults == 1 => {
            Subject::Field(collection.namespace.clone(), FieldPath::new(&path))
        }
        _ => Subject::Collection(collection.namespace.clone()),
    };
    let paths: Vec<String> = unknown.into_iter().map(|(path, _)| path).collect();
    cx.report(
        Draft::new(
            subject,
            format!("`{}` {}", collection.namespace.collection, said.join(", and ")),
            "the design covers only declared fields: it plans no size, index or location for others",
            match (paths.is_empty(), missing.is_empty(), odd.is_empty(), null.is_empty()) {
                _ if beside.len() == faults => {
                    "declare the values in the model, or stop writing them"
                }
                _ if !beside.is_empty() => {
                    "declare the stored fields and values in the model, and store the declared ones"
                }
                (false, true, true, true) => {
                    "declare them in the model with their sizes, or stop writing them"
                }
                (true, false, true, true) => {
                    "store these fields, set `required: false`, or remove them from the model"
                }
                (true, true, true, false) => {
                    "set `nullable: true` in the model, or omit the fields instead of storing null"
                }
                _ => {
                    "declare the stored fields and values in the model, and store the declared ones"
                }
            },
            profile.seen(),
        )
        .data("undeclared", paths)
        .data("missing", missing)
        .data("null", null)
        .data("values", beside.into_iter().map(|(path, _)| path).collect::<Vec<String>>())
        .data("types", odd.into_iter().map(|(path, ..)| path).collect::<Vec<String>>()),
    );
}

struct Compared<'p> {
    profile: &'p Profile,
    least: f64,
    /// Fields of undecided relationships.
    open: &'p [String],
    /// Fields that refer to any key.
    held: &'p [String],
    /// Fields that some documents already have.
    arrived: &'p [&'p Planned],
    unknown: Vec<(String, f64)>,
    missing: Vec<String>,
    /// Fields of another type, with the most frequent type found and the declared one.
    odd: Vec<(String, &'static str, &'static str)>,
    /// Fields that are null although the model does not allow it.
    null: Vec<String>,
    /// Fields with undeclared values, and the share of these values.
    beside: Vec<(String, f64)>,
}

/// Drivers choose the type of binary numbers by value, so these types count as the same. A decimal is a deliberate
/// choice.
fn is_same(found: BsonType, declared: BsonType) -> bool {
    let binary = |kind| matches!(kind, BsonType::Int | BsonType::Long | BsonType::Double);
    found == declared || binary(found) && binary(declared)
}

impl Compared<'_> {
    /// Collects values outside of an enumeration. The finding does not show the values.
    fn values(&mut self, field: &Field, planned: &Planned, path: &str) {
        if planned.values.is_empty() {
            return;
        }
        let stored = field.enumeration.iter().flatten();
        let all = field.types.of(BsonType::String);
        let other: u64 = stored
            .filter(|(value, _)| !planned.values.contains(value))
            .map(|(_, number)| *number)
            .sum();
        let share = other as f64 / all.max(1) as f64;
        if field.is_only(BsonType::String) && other > 0 && share >= self.least {
            self.beside.push((path.to_owned(), share));
        }
    }

    fn kind(&mut self, field: &Field, planned: &Planned, path: &str) {
        let nulls = field.types.of(BsonType::Null);
        let share = nulls as f64 / field.types.total().max(1) as f64;
        let may_not = planned.origin == Origin::Own && !planned.nullable;
        if may_not && nulls > 0 && share >= self.least {
            self.null.push(path.to_owned());
        }
        let values = field.types.values();
        let all: u64 = values.iter().map(|(_, n)| n).sum();
        let mut odd = values.iter().filter(|(kind, _)| !is_same(*kind, planned.kind)).peekable();
        let Some((most, _)) = odd.peek().copied() else { return };
        let share = odd.map(|(_, n)| *n).sum::<u64>() as f64 / all.max(1) as f64;
        if share >= self.least {
            self.odd.push((path.to_owned(), most.name(), planned.kind.name()));
        }
    }

    fn compare(&mut self, seen: &[&Field], planned: &[Planned], above: &str) {
        for field in seen.iter().filter(|field| field.shape == FieldShape::Named) {
            let path = format!("{above}{}", field.name);
            let on_top = above.is_empty();
            let mut arrived = self.arrived.iter().copied().filter(|_| on_top);
            let expected = planned.iter().find(|planned| planned.name == field.name);
            match expected.or_else(|| arrived.find(|planned| planned.name == field.name)) {
                // Models do not declare the parts of an `_id`.
                Some(_) if path == "_id" => {}
                Some(_) if expected.is_some() && on_top && self.held.contains(&field.name) => {}
                Some(planned) => {
                    self.kind(field, planned, &path);
                    self.values(field, planned, &path);
                    self.inside(field, planned, &path);
                }
                None if FRAMEWORK.contains(&field.name.as_str()) => {}
                None if on_top && self.open.contains(&field.name) => {}
                None if field.presence() >= self.least => {
                    self.unknown.push((path, field.presence()));
                }
                None => {}
            }
        }
        // Exports may leave out `_id`; the server never does.
        for planned in planned.iter().filter(|planned| planned.required && planned.name != "_id") {
            // A list of child ids disappears when the children have moved into their parents.
            if above.is_empty() && self.held.contains(&planned.name) {
                continue;
            }
            let seen = seen.iter().find(|field| field.name == planned.name);
            // A few documents may be on their way. Fields that the design adds may exist in only half of them so far.
            let most = if planned.origin == Origin::Own { self.least } else { 0.5 };
            if seen.is_none_or(|field| 1.0 - field.presence() >= most) {
                self.missing.push(format!("{above}{}", planned.name));
            }
        }
    }

    fn inside(&mut self, field: &Field, planned: &Planned, path: &str) {
        // A part declared without fields may contain any field.
        if planned.fields.is_empty() {
            return;
        }
        let children = |field: &Field| -> Vec<&Field> {
            field.children.iter().map(|at| &self.profile.fields[*at]).collect()
        };
        match planned.kind {
            BsonType::Object => {
                let inside = children(field);
                if !inside.is_empty() {
                    self.compare(&inside, &planned.fields, &format!("{path}."));
                }
            }
            BsonType::Array => {
                let element = children(field).into_iter().find(|f| f.shape != FieldShape::Named);
                let inside = element.map(children).unwrap_or_default();
                if !inside.is_empty() {
                    self.compare(&inside, &planned.fields, &format!("{path}[]."));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    const MODEL: &str = "model\nname: shop\nentities:\n  order:\n    fields:\n      orderNo: string\n      \
                         place: {type: object, fields: {city: string}}\n...\n@ db_shop.t_order\n";

    fn said(documents: &str) -> Vec<String> {
        check("R030", &format!("{MODEL}{documents}")).into_iter().map(|f| f.what).collect()
    }

    #[test]
    fn dp_2_fields_inside_objects_are_compared() {
        let good = "x20 {\"orderNo\": \"A\", \"place\": {\"city\": \"Bern\"}}";
        assert_eq!(said(good), Vec::<String>::new());
        let found =
            said("x20 {\"orderNo\": \"A\", \"place\": {\"city\": \"Bern\", \"zip\": \"1\"}}");
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("place.zip"), "{}", found[0]);
    }

    #[test]
    fn dp_2_required_fields_that_are_not_there_are_named() {
        let found = said("x20 {\"place\": {\"city\": \"Bern\"}}");
        assert!(found[0].contains("lacks 1 field of the model: `orderNo`"), "{}", found[0]);
    }

    #[test]
    fn dp_2_dm_09_6_types_are_compared() {
        let model = "model\nname: shop\nentities:\n  order:\n    fields: {no: int, paid: decimal, at: date}\n...\n@ db_shop.t_order\n";
        let said = |documents: &str| -> Vec<String> {
            check("R030", &format!("{model}{documents}")).into_iter().map(|f| f.what).collect()
        };
        let good = "x20 {\"no\": 1.5, \"paid\": NumberDecimal(\"1\"), \"at\": ISODate(\"2026-01-01T00:00:00Z\")}";
        assert_eq!(said(good), Vec::<String>::new());
        let bad = "x20 {\"no\": \"7\", \"paid\": 1.5, \"at\": ISODate(\"2026-01-01T00:00:00Z\")}";
        assert_eq!(
            said(bad),
            [
                "`t_order` has 2 fields of another type: `no (string, declared as int)` and `paid (double, declared as decimal)`"
            ]
        );
    }

    #[test]
    fn dp_2_what_hardly_any_document_has_is_not_missed() {
        let rare = "x500 {\"orderNo\": \"A\", \"place\": {\"city\": \"Bern\"}}\n\
                    {\"orderNo\": \"A\", \"place\": {\"city\": \"Bern\"}, \"odd\": 1}";
        assert_eq!(said(rare), Vec::<String>::new());
    }

    #[test]
    fn dm_09_6_what_is_null_or_missing_and_must_not_be_is_told() {
        let good = "{\"orderNo\": \"A\", \"place\": {\"city\": \"Bern\"}}";
        let null = "{\"orderNo\": null, \"place\": {\"city\": \"Bern\"}}";
        let bare = "{\"place\": {\"city\": \"Bern\"}}";
        let found = said(&format!("x18 {good}\nx2 {null}"));
        let told = "has null in 1 field that the model does not declare as nullable: `orderNo`";
        assert!(found.len() == 1 && found[0].contains(told), "{found:?}");
        let found = said(&format!("x18 {good}\nx2 {bare}"));
        assert!(found[0].contains("lacks 1 field of the model: `orderNo`"), "{found:?}");
        let declared = |how: &str, documents: &str| {
            let text = format!("{MODEL}{documents}")
                .replace("orderNo: string", &format!("orderNo: {{type: string, {how}}}"));
            check("R030", &text).len()
        };
        assert_eq!(declared("nullable: true", &format!("x18 {good}\nx2 {null}")), 0);
        assert_eq!(declared("nullable: true", &format!("x18 {good}\nx2 {bare}")), 1);
        assert_eq!(declared("required: false", &format!("x18 {good}\nx2 {bare}")), 0);
        assert_eq!(declared("required: false", &format!("x18 {good}\nx2 {null}")), 1);
        // A few documents may still be in migration.
        assert_eq!(said(&format!("x500 {good}\n{null}\n{bare}")), Vec::<String>::new());
    }

    #[test]
    fn dp_2_values_that_are_not_declared_are_told() {
        let said = |other: usize| {
            let model = "model\nname: shop\nentities:\n  order:\n    fields: {format: {type: string, values: [book]}}\n...\n";
            let body = format!(
                "{model}@ db_shop.t_order\nx{} {{\"format\": \"book\"}}\nx{} {{\"format\": \"dvd\"}}",
                200 - other,
                other.max(1)
            );
            check("R030", &body).into_iter().map(|f| (f.what, f.todo)).collect::<Vec<_>>()
        };
        let found = said(100);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "`t_order` has undeclared values in 1 field: `format (50 %)`");
        assert!(found[0].1.starts_with("declare the values"), "{}", found[0].1);
        assert!(said(1).is_empty(), "hardly any");
    }

    #[test]
    fn dp_2_without_a_model_nothing_is_said() {
        assert_eq!(check("R030", "@ db_shop.t_order\nx20 {\"coupon\": 1}").len(), 0);
    }
}
