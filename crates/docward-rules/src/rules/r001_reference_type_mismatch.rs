//! PT-ref.1: a reference must have the type of the `_id` it refers to.

use docward_model::{BsonType, Collection, Conversion, Draft, Safety, Subject};

use crate::facts::{growth::patterns, remedies::statements, text};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Reference type mismatch
    ///
    /// ## What it checks
    /// Reports fields that hold the `_id`s of another collection in another type. Examples are hexadecimal text
    /// for an ObjectId, and digits as text for a number.
    ///
    /// ## Why it matters
    /// MongoDB compares type and value. `$lookup` and queries by the reference match nothing unless they convert
    /// the value, and no index can support such a query.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_order
    /// x30 {"customerId": "65f3a2b8c1d2e3f4a5b6c7d1"}
    /// x30 {"customerId": "65f3a2b8c1d2e3f4a5b6c7d2"}
    /// x30 {"customerId": "65f3a2b8c1d2e3f4a5b6c7d3"}
    /// @ db_shop.t_customer
    /// {"_id": ObjectId("65f3a2b8c1d2e3f4a5b6c7d1")}
    /// {"_id": ObjectId("65f3a2b8c1d2e3f4a5b6c7d2")}
    /// {"_id": ObjectId("65f3a2b8c1d2e3f4a5b6c7d3")}
    /// ```
    /// The same type on both sides:
    /// ```jsonl,clean,ns=db_shop.t_order
    /// x30 {"customerId": ObjectId("65f3a2b8c1d2e3f4a5b6c7d1")}
    /// x30 {"customerId": ObjectId("65f3a2b8c1d2e3f4a5b6c7d2")}
    /// x30 {"customerId": ObjectId("65f3a2b8c1d2e3f4a5b6c7d3")}
    /// @ db_shop.t_customer
    /// {"_id": ObjectId("65f3a2b8c1d2e3f4a5b6c7d1")}
    /// {"_id": ObjectId("65f3a2b8c1d2e3f4a5b6c7d2")}
    /// {"_id": ObjectId("65f3a2b8c1d2e3f4a5b6c7d3")}
    /// ```
    ///
    /// ## How to fix
    /// Convert the reference to the type of the `_id`, change the writers, and require that type in the
    /// validator.
    ///
    /// ## When to ignore it
    /// The field is kept for an external system, and no query uses it to find the document.
    R001, "reference-type-mismatch",
    level: Recommended,
    area: Correctness,
    clauses: ["PT-ref.1"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [],
    data: ["checked", "contained", "from", "target", "to", "values"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let evidence = cx.evidence();
    let ns = &collection.namespace;
    for reference in evidence.references.iter().filter(|r| r.from == *ns && r.needs_conversion) {
        let (path, to) = (&reference.path, &reference.to);
        let values = profile.field(path.as_str()).map_or(0, |f| f.types.of(reference.from_type));
        let mut draft = Draft::new(
            Subject::Field(ns.clone(), path.clone()),
            format!(
                "`{path}` has type {}, but the `_id` of `{to}` to which it refers has type {}; {} of {} values match after conversion",
                reference.from_type.name(),
                reference.to_type.name(),
                text::percent(reference.contained),
                text::count(reference.checked_values)
            ),
            "MongoDB compares types as well as values, so $lookup and queries by this reference find nothing",
            format!(
                "store `{}` as {}: convert {} and change the writers",
                path.dotted(),
                reference.to_type.name(),
                text::plural(values, "value")
            ),
            profile.seen().estimated((reference.checked_values as f64) < reference.parents.round()),
        )
        .data("from", reference.from_type.name())
        .data("to", reference.to_type.name())
        .data("target", to.to_string())
        .data("contained", reference.contained)
        .data("checked", reference.checked_values)
        .data("values", values);
        let can_convert = matches!(
            reference.to_type,
            BsonType::ObjectId | BsonType::Int | BsonType::Long | BsonType::String
        );
        let step = statements::convert(
            ns,
            path,
            [reference.from_type],
            [reference.to_type],
            Conversion::CAST,
        );
        let place = profile.field(path.as_str()).filter(|_| can_convert);
        draft = statements::advise(
            draft,
            step,
            place.and_then(|field| {
                statements::can_be_written(profile, field).then_some(Safety::Guarded)
            }),
        );
        cx.report(draft);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn pt_ref_1_text_against_object_id_is_a_mismatch() {
        let mut body = String::from("@ db_shop.t_order\n");
        for i in 0..30 {
            body.push_str(&format!("{{\"customerId\": \"65f3a2b8c1d2e3f4a5b6c7{i:02}\"}}\n"));
        }
        body.push_str("@ db_shop.t_customer\n");
        for i in 0..30 {
            body.push_str(&format!("{{\"_id\": ObjectId(\"65f3a2b8c1d2e3f4a5b6c7{i:02}\")}}\n"));
        }
        let found = check("R001", &body);
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("objectId"), "{}", found[0].todo);
        // The id is text of digits and letters, so only this rule reports the type.
        assert!(check("T003", &body).is_empty());
    }

    #[test]
    fn pt_ref_1_object_ids_without_a_letter_are_looked_up_too() {
        let ids: Vec<_> = (0..200).map(|i| format!("6503124801120304150607{i:02x}")).collect();
        let orders: String =
            ids.iter().map(|id| format!("{{\"customerId\": \"{id}\"}}\n")).collect();
        let customers: String =
            ids.iter().map(|id| format!("{{\"_id\": ObjectId(\"{id}\")}}\n")).collect();
        let body = format!("@ db_shop.t_order\n{orders}@ db_shop.t_customer\n{customers}");
        let found = check("R001", &body);
        assert!(found[0].what.contains("100 % of 200 values match"), "{}", found[0].what);
        assert!(check("R003", &body).is_empty(), "nothing is missing");
    }
}
