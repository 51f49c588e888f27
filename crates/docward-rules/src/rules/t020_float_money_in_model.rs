//! DM-09.2: money declared as a floating-point number.

use docward_model::{
    BsonType, Evidence, Severity,
    code::{Code, DeclaredField},
};

use crate::{
    Cx, declare_rule,
    facts::{
        amounts, code,
        names::{normalised, words},
    },
};

declare_rule! {
    /// # Float money in a model
    ///
    /// ## What it checks
    /// Reports fields of models in source code whose name says money (`price`, `totalAmount`, `balance`) and
    /// whose type is a floating-point number: `Number` of Mongoose, `float` of Beanie, `FloatField` of
    /// MongoEngine, `float64` of Go, `double` of Spring Data. Rates and shares (`taxRate`, `discount`) and
    /// amounts in minor units (`priceCents`) are left alone, so are amounts that count something else (`rawAmount`
    /// beside `tokenType`) and objects of payment providers, which count in minor units. Costs, and structs of Go
    /// that documents are only read into, are information.
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
    for (field, leaf) in code::fields(evidence, is_money) {
        cx.report(
            code::field_draft(
                evidence,
                field,
                "holds money as a floating-point number",
                "a double cannot hold most decimal fractions: sums drift by cents",
                "declare a decimal, or whole minor units in a long, and convert what is stored",
            )
            // Costs are as often estimates as they are bookings.
            .severity(if ends_with(leaf, "cost") || field.only_read {
                Severity::Info
            } else {
                Severity::Warn
            }),
        );
    }
}

fn is_money(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    let is_float = field.types.contains(&BsonType::Double);
    if !is_float || !field.allowed.is_empty() || !amounts::is_money_name(leaf) {
        return false;
    }
    // `amount` beside `unit` counts days or grams.
    let parent = field.path.strip_suffix(leaf).unwrap_or_default();
    let has_unit = || {
        found.fields.iter().any(|other| {
            other.model == field.model
                && other.path.strip_prefix(parent).is_some_and(|name| ends_with(name, "unit"))
        })
    };
    let counts = ends_with(leaf, "amount") && (has_unit() || counts_tokens(found, field, parent));
    !counts && !is_of_provider(&field.path)
}

/// Whether names beside it say that tokens of a language model or points are counted.
fn counts_tokens(found: &Code, field: &DeclaredField, parent: &str) -> bool {
    found.fields.iter().any(|other| {
        other.model == field.model
            && other.path.strip_prefix(parent).is_some_and(|name| {
                matches!(
                    normalised(name).as_str(),
                    "tokentype" | "tokenvalue" | "inputtokens" | "tokens" | "points" | "credits"
                )
            })
    })
}

/// Whether a field stands within an object of a payment provider; they count in minor units.
fn is_of_provider(path: &str) -> bool {
    const PROVIDERS: [&str; 7] =
        ["stripe", "paypal", "braintree", "adyen", "razorpay", "paddle", "chargebee"];
    path.rsplit_once('.').is_some_and(|(above, _)| {
        above.split('.').any(|part| {
            words(part.trim_end_matches("[]")).iter().any(|w| PROVIDERS.contains(&w.as_str()))
        })
    })
}

fn ends_with(name: &str, word: &str) -> bool {
    words(name).last().is_some_and(|last| last == word)
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

    #[test]
    fn dm_09_2_other_amounts_and_other_peoples_objects() {
        use docward_model::Severity::{Info, Warn};
        let mongoose = |fields: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({{{fields}}});\nmodule.exports = mongoose.model('Pay', s);"
            );
            check("T020", &text).len()
        };
        assert_eq!(mongoose("rawAmount: Number, rate: Number"), 1);
        assert_eq!(mongoose("rawAmount: Number, tokenType: String"), 0);
        assert_eq!(mongoose("stripeListOfInvoices: {data: [{amount_paid: Number}]}"), 0);
        assert_eq!(mongoose("listOfInvoices: {data: [{amount_paid: Number}]}"), 1);
        assert_eq!(mongoose("stripePrice: Number"), 1, "a field of our own");
        let go = "source a.go\npackage a\ntype Order struct {\n ID string `bson:\"_id\"`\n Amount float64 `bson:\"amount\"`\n}\n";
        let severity = |more: &str| check("T020", &format!("{go}{more}"))[0].severity;
        assert_eq!(severity("func f() { var o Order\n c.FindOne(ctx, x).Decode(&o) }"), Info);
        assert_eq!(severity("func f() Order { return Order{Amount: 1} }"), Warn);
        assert_eq!(severity("func f(o *Order) { c.InsertOne(ctx, o) }"), Warn);
    }

    #[test]
    fn dm_09_2_cents_are_whole_numbers() {
        let text = "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({\n  // amount in cents\n  amount: {type: Number},\n  price: Number,\n});\nmodule.exports = mongoose.model('Pay', s);";
        assert_eq!(check("T020", text).len(), 1, "only the one without the remark");
        assert_eq!(check("T020", &text.replace("cents", "dollars")).len(), 2);
    }
}
