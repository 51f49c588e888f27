//! DM-07.7: copied names and prices keep the id of their source.

use docward_model::{
    BsonType, Collection, Draft, Field, FieldPath, FieldShape, Look, Profile, Safety, Step, Subject,
};

use crate::facts::names::words;
use crate::facts::{
    names::meaning,
    text,
    values::{amounts, classes},
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Lost reference
    ///
    /// ## What it checks
    /// Reports lists of items in orders, carts, invoices and similar documents whose elements contain a name and
    /// a price but nothing that identifies the product: no id, number, code or link.
    ///
    /// ## Why it matters
    /// The name and price at the time of purchase are a useful snapshot. Without the product id, a line cannot be
    /// traced to its product. Stock booking, recalls and statistics by product fail once a name changes.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_order
    /// {"items": [{"name": "Lamp", "price": NumberDecimal("99.00"), "quantity": 2}]}
    /// ```
    /// A snapshot with its reference:
    /// ```jsonl,clean,ns=db_shop.t_order
    /// {"items": [{"productId": "P001", "name": "Lamp", "price": NumberDecimal("99.00"), "quantity": 2}]}
    /// ```
    ///
    /// ## How to fix
    /// Write the `_id` of the product into each new line. Match stored lines by name where the name is unique,
    /// and leave the others unchanged.
    ///
    /// ## When to ignore it
    /// The lines describe unique things, such as services or custom work, that are in no catalogue.
    R005, "lost-reference",
    level: Recommended,
    area: Correctness,
    clauses: ["DM-07.7"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MIN_PRESENCE],
    data: ["elements", "name", "price"],
    check: Collection(check),
}

threshold!(
    MIN_PRESENCE,
    "min-presence",
    Float(0.50),
    "share of elements",
    "our default",
    "minimum share of elements with a name and a price"
);

/// Arrays of purchased items.
const ITEMS: &[&str] =
    &["item", "line", "product", "good", "detail", "purchase", "article", "position"];
/// Words for business transactions, whose lines are copies. The menu of a restaurant and the options of a product are
/// not transactions.
const TRANSACTIONS: &[&str] = &[
    "order",
    "cart",
    "basket",
    "invoice",
    "purchase",
    "receipt",
    "checkout",
    "sale",
    "quote",
    "shipment",
    "return",
    "bill",
    "transaction",
];
/// Last words of a field that is an identifier.
const IDENTIFIERS: &[&str] = &[
    "id", "ids", "uid", "uuid", "guid", "oid", "ref", "no", "number", "sku", "code", "isbn", "ean",
    "upc", "gtin", "asin", "slug", "url", "link", "key", "barcode", "product", "item", "plu",
    "mpn",
];

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let least = cx.limit(&MIN_PRESENCE);
    for element in profile.fields.iter().filter(|f| f.shape == FieldShape::Element) {
        let Some(array) = profile.parent(element) else { continue };
        if !ends_in(&array.name, ITEMS) || !is_transaction(collection, array) {
            continue;
        }
        let often = |f: &&Field| f.presence() >= least;
        let fields: Vec<&Field> = profile.children(element).collect();
        let name = fields.iter().copied().filter(often).find(|f| is_name(f));
        let price = fields.iter().copied().filter(often).find(|f| is_price(profile, f));
        let (Some(name), Some(price)) = (name, price) else { continue };
        if fields.iter().any(|f| identifies(profile, f)) {
            continue;
        }
        cx.report(draft(collection, profile, array, element, name, price));
    }
}

fn ends_in(name: &str, list: &[&str]) -> bool {
    words(name).last().is_some_and(|w| list.contains(&meaning::singular(w).as_str()))
}

fn is_transaction(collection: &Collection, array: &Field) -> bool {
    let named = |text: &str| {
        words(text).iter().any(|w| TRANSACTIONS.contains(&meaning::singular(w).as_str()))
    };
    named(&collection.namespace.collection) || named(array.path.as_str())
}

fn is_name(field: &Field) -> bool {
    words(&field.name)
        .last()
        .is_some_and(|w| matches!(w.as_str(), "name" | "title" | "description"))
        && classes::is_only(field, classes::Class::Text)
}

fn is_price(profile: &Profile, field: &Field) -> bool {
    amounts::is_money_field(profile, field)
        || words(&field.name).last().is_some_and(|w| w == "price")
}

/// An id by name, by type, or inside an object (`product: {_id: …}`).
fn identifies(profile: &Profile, field: &Field) -> bool {
    let last = words(&field.name).pop().unwrap_or_default();
    IDENTIFIERS.contains(&last.as_str())
        || meaning::is_id(&field.name)
        || field.types.of(BsonType::ObjectId) > 0
        || field.types.of(BsonType::DbPointer) > 0
        || (field.types.of(BsonType::Object) > 0
            && profile.children(field).any(|f| identifies(profile, f)))
}

fn draft(
    collection: &Collection,
    profile: &Profile,
    array: &Field,
    element: &Field,
    name: &Field,
    price: &Field,
) -> Draft {
    let path = array.path.dotted();
    Draft::new(
        Subject::Field(collection.namespace.clone(), array.path.clone()),
        format!(
            "{} in `{}` {} `{}` and `{}`, but no id of the copied document",
            text::plural(element.count, "element"),
            array.path,
            text::form(element.count, "carries", "carry"),
            name.name,
            price.name
        ),
        "a copy without the id of its source cannot be counted by product or traced to it",
        format!(
            "add the product's `_id` to each element of `{path}` and keep `{}` and `{}` as snapshots; set it in {} where the name is unique",
            name.name,
            price.name,
            text::plural(element.count, "stored element")
        ),
        profile.seen(),
    )
    .data("elements", element.count)
    .data("name", name.name.as_str())
    .data("price", price.name.as_str())
    .plan(
        Some("RF-06"),
        Safety::Manual,
        [Step::Inspect {
            namespace: collection.namespace.clone(),
            look: Look::DistinctValues { path: FieldPath::new(format!("{path}.{}", name.name)) },
        }],
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn dm_07_7_name_and_price_without_an_id_have_lost_their_reference() {
        let with =
            r#"{"items": [{"productId": "P1", "name": "a", "price": NumberDecimal("1.5")}]}"#;
        let without = r#"{"items": [{"name": "a", "price": NumberDecimal("1.5")}]}"#;
        assert!(check("R005", with).is_empty());
        assert_eq!(check("R005", without).len(), 1);
    }

    #[test]
    fn things_that_are_no_copies_are_left_alone() {
        for body in [
            "@ db_food.t_restaurant\n{\"menuItems\": [{\"name\": \"Soup\", \"price\": 4.5}]}",
            "@ db_shop.t_order\n{\"taxes\": [{\"name\": \"VAT\", \"amount\": 4.5}]}",
            "@ db_shop.t_order\n{\"items\": [{\"name\": \"a\", \"quantity\": 4}]}",
            "@ db_shop.t_order\n{\"items\": [{\"name\": \"a\", \"price\": 4.5, \"sku\": \"A4\"}]}",
            "@ db_shop.t_order\n{\"items\": [{\"price\": 4.5, \"product\": {\"_id\": 7, \"name\": \"a\"}}]}",
        ] {
            assert!(check("R005", body).is_empty(), "{body}");
        }
    }
}
