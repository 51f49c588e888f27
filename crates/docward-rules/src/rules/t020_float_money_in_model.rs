//! DM-09.2: money declared as a floating-point number.

use std::collections::BTreeSet;

use docward_model::{BsonType, Evidence, Severity};

use crate::facts::{amounts, names};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Float money in a model
    ///
    /// ## What it checks
    /// Reports fields of models in source code whose name says money (`price`, `totalAmount`, `balance`) and
    /// whose type is a floating-point number: `Number` of Mongoose, `float` of Beanie, `FloatField` of
    /// MongoEngine, `float64` of Go, `double` of Spring Data. Rates and shares (`taxRate`, `discount`) and
    /// amounts in minor units (`priceCents`) are left alone.
    ///
    /// ## Why it matters
    /// A double cannot hold most decimal fractions: 0.1 + 0.2 is 0.30000000000000004. Sums drift by cents, and
    /// reconciliation fails after enough additions.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const mongoose = require('mongoose');
    /// const schema = new mongoose.Schema({name: String, price: Number});
    /// module.exports = mongoose.model('Product', schema);
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    /// const schema = new mongoose.Schema({name: String, price: mongoose.Types.Decimal128, priceCents: Number});
    /// module.exports = mongoose.model('Product', schema);
    /// ```
    ///
    /// ## How to fix
    /// Declare a decimal (`Decimal128`, `BigDecimal`, `primitive.Decimal128`), or whole minor units in a long,
    /// and convert what is stored.
    ///
    /// ## When to ignore it
    /// The field is an estimate, or the numbers are whole by design.
    T020, "float-money-in-model",
    level: Recommended,
    clauses: ["DM-09.2", "CK-5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let mut places = BTreeSet::new();
    for field in &found.fields {
        let leaf = field.path.rsplit('.').next().unwrap_or(&field.path).trim_end_matches("[]");
        let is_float = field.types.contains(&BsonType::Double);
        if !is_float || !field.allowed.is_empty() || !amounts::is_money_name(leaf) {
            continue;
        }
        // `amount` beside `unit` counts days or grams; a part that several models hold is one place.
        let parent = field.path.strip_suffix(leaf).unwrap_or_default();
        let has_unit = found.fields.iter().any(|other| {
            other.model == field.model
                && other
                    .path
                    .strip_prefix(parent)
                    .is_some_and(|name| names::words(name).last().is_some_and(|w| w == "unit"))
        });
        if (names::words(leaf).last().is_some_and(|word| word == "amount") && has_unit)
            || !places.insert(&field.place.location)
        {
            continue;
        }
        cx.report(
            code::draft(
                evidence,
                &field.place,
                &format!("{} {}", field.model, field.path),
                format!(
                    "`{}` of `{}` holds money as a floating-point number",
                    field.path, field.model
                ),
                "a double cannot hold most decimal fractions: sums drift by cents",
                "declare a decimal, or whole minor units in a long, and convert what is stored",
            )
            .data("path", field.path.as_str())
            // Costs are as often estimates as they are bookings.
            .severity(
                if names::words(leaf).last().is_some_and(|word| word == "cost") {
                    Severity::Info
                } else {
                    Severity::Warn
                },
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn dm_09_2_models_of_every_library() {
        let count = |text: &str| check("T020", text).len();
        assert_eq!(
            count(
                "source a.py\nfrom mongoengine import Document, FloatField, StringField\nclass Order(Document):\n    amount = FloatField()\n    note = StringField()\n"
            ),
            1
        );
        assert_eq!(
            count(
                "source a.py\nfrom beanie import Document\nclass Order(Document):\n    amount: float\n    tax_rate: float\n"
            ),
            1
        );
        assert_eq!(
            count(
                "source a.go\npackage a\ntype Order struct {\n ID string `bson:\"_id\"`\n Amount float64 `bson:\"amount\"`\n Cents int64 `bson:\"price_cents\"`\n}\n"
            ),
            1
        );
        assert_eq!(
            count(
                "source A.java\nimport org.springframework.data.mongodb.core.mapping.Document;\n@Document class Order { private double price; private java.math.BigDecimal total; }\n"
            ),
            1
        );
    }
}
