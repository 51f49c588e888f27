//! DM-09.2: money declared or written as a floating-point number.

use docward_model::{
    BsonType, Draft, Evidence,
    code::{Annotation, CURRENCIES_WITHOUT_MINOR_UNIT, DeclaredField, ValueKind},
};

use crate::{
    Cx, declare_rule,
    facts::{
        code,
        names::{self, meaning},
        schema::model_fields::{self, Certainty, Exception, ModelField},
        values::amounts,
    },
};

declare_rule! {
    /// # Float money in a model
    ///
    /// ## What it checks
    /// Reports money fields (`price`, `totalAmount`) that a stored model declares as floating-point numbers, and
    /// such numbers in documents without a model. A vague name (`amount`, `balance`) needs proof: the name of a
    /// financial record (`Invoice`), a price or currency beside it, or fractions in code or data.
    /// `--select pedantic` adds fields without proof.
    ///
    /// Exceptions:
    /// - minor units or whole numbers by declaration (`// in cents`, `Number.isInteger`)
    /// - only whole numbers in code or data
    /// - a currency without minor units (`default: 'JPY'`)
    /// - objects of payment providers
    /// - quantities: `amount` beside `unit`, `pointBalance`
    /// - pedantic: percentages, a lone `tax` or `discount`
    /// - pedantic: estimates and limits (`averagePrice`, `budget`)
    /// - pedantic: market prices beside `symbol`
    ///
    /// ## Why it matters
    /// A double cannot represent most decimal fractions: 0.1 + 0.2 is 0.30000000000000004. Sums become wrong by
    /// cents, and reconciliation fails after enough additions.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const mongoose = require('mongoose');
    ///
    /// const orderSchema = new mongoose.Schema({
    ///   customer: { type: mongoose.Schema.Types.ObjectId, ref: 'Customer' },
    ///   items: [{ sku: String, quantity: Number, price: Number }],
    ///   totalAmount: { type: Number, required: true },
    /// });
    /// module.exports = mongoose.model('Order', orderSchema);
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    ///
    /// const orderSchema = new mongoose.Schema({
    ///   customer: { type: mongoose.Schema.Types.ObjectId, ref: 'Customer' },
    ///   items: [{ sku: String, quantity: Number, price: mongoose.Schema.Types.Decimal128 }],
    ///   totalAmount: { type: Number, required: true }, // in cents
    /// });
    /// module.exports = mongoose.model('Order', orderSchema);
    /// ```
    ///
    /// ## How to fix
    /// Declare a decimal (`Decimal128`, `BigDecimal`, `primitive.Decimal128`), or whole minor units in a long.
    /// Convert the stored values.
    ///
    /// ## When to ignore it
    /// The numbers are whole by design, or no program adds them up.
    T020, "float-money-in-model",
    level: Recommended,
    area: Correctness,
    severities: [Warn],
    clauses: ["DM-09.2", "CK-5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: ["path"],
    check: Deployment(check),
}

const WHY: &str =
    "a double cannot represent most decimal fractions exactly, so sums are off by cents";

/// Money words that also count or measure other things. Other money words (`price`, `salary`) denote money by
/// themselves.
const VAGUE: [&str; 7] = ["amount", "amounts", "balance", "balances", "total", "discount", "tax"];

/// Names of records of money, and qualifiers of their amounts.
const RECORDS: [&str; 42] = [
    "account",
    "bank",
    "bill",
    "billing",
    "booking",
    "cart",
    "charge",
    "checkout",
    "commission",
    "coupon",
    "credit",
    "debt",
    "delivery",
    "donation",
    "due",
    "earning",
    "expense",
    "finance",
    "fund",
    "grand",
    "invoice",
    "ledger",
    "loan",
    "order",
    "paid",
    "pay",
    "payable",
    "payroll",
    "product",
    "profit",
    "purchase",
    "quotation",
    "receipt",
    "refund",
    "reservation",
    "sale",
    "shipping",
    "subscription",
    "transaction",
    "transfer",
    "wallet",
    "withdrawal",
];

const EXCEPTIONS: &[Exception] = &[
    Exception {
        page: "minor units or whole numbers by declaration (`// in cents`, `Number.isInteger`)",
        applies: |field| {
            field.says(|said| matches!(said, Annotation::MinorUnits | Annotation::WholeNumbers))
        },
        is_pedantic: false,
    },
    Exception {
        page: "only whole numbers in code or data",
        applies: |field| {
            !has_fractions(field) && (field.is_given(ValueKind::Whole) || is_whole_in_data(field))
        },
        is_pedantic: false,
    },
    Exception {
        page: "a currency without minor units (`default: 'JPY'`)",
        applies: |field| field.siblings().any(|(other, _)| has_whole_currency(other)),
        is_pedantic: false,
    },
    Exception {
        page: "objects of payment providers",
        applies: |field| {
            let is_provider = |word: &String| {
                matches!(word.as_str(), "stripe" | "paypal" | "razorpay" | "adyen" | "braintree")
            };
            let mut around = field.owners().filter(|name| *name != field.declared.model);
            around.any(|name| names::words(name).iter().any(is_provider))
        },
        is_pedantic: false,
    },
    Exception {
        page: "quantities: `amount` beside `unit`, `pointBalance`",
        applies: |field| {
            let counts = |word: &String| {
                matches!(
                    meaning::singular(word).as_str(),
                    "point" | "coin" | "token" | "unit" | "stock" | "item" | "day" | "leave"
                )
            };
            let is_measured = |(_, name): (_, &str)| {
                matches!(names::normalised(name).as_str(), "unit" | "units" | "uom" | "measure")
            };
            is_vague(field)
                && (field.words().iter().any(counts) || field.siblings().any(is_measured))
        },
        is_pedantic: false,
    },
    Exception {
        page: "pedantic: percentages, a lone `tax` or `discount`",
        applies: |field| {
            let all = field.words();
            let is_share = |word: &String| {
                let word = meaning::singular(word);
                matches!(word.as_str(), "tax" | "vat" | "gst" | "discount" | "commission")
            };
            all.iter().all(is_share) || all.iter().any(|word| word.starts_with("perc"))
        },
        is_pedantic: true,
    },
    Exception {
        page: "pedantic: estimates and limits (`averagePrice`, `budget`)",
        applies: |field| field.words().iter().any(|word| is_estimate(word)),
        is_pedantic: true,
    },
    Exception {
        page: "pedantic: market prices beside `symbol`",
        applies: |field| {
            field.siblings().any(|(_, name)| {
                matches!(names::normalised(name).as_str(), "symbol" | "ticker" | "volume")
            })
        },
        is_pedantic: true,
    },
];

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let mut reported = Vec::new();
    for fault in model_fields::faults(evidence, certainty) {
        // Accepting a field does not accept other fields of its model.
        let alone = draft(evidence, &[fault.field], 1, fault.certainty);
        if cx.is_accepted(&alone) {
            cx.report(alone);
            continue;
        }
        reported.push((fault.field, (fault.certainty, fault.copies)));
    }
    for (fields, (certainty, copies)) in code::by_model(evidence, reported) {
        cx.report(draft(evidence, &fields, 1 + copies.len(), certainty).locations(copies));
    }
    let fractions = model_fields::unmodelled(evidence, |value| {
        let leaf = value.path.rsplit('.').next().unwrap_or(&value.path);
        let is_clear = |name: &str| amounts::sounds_like_money(name) && !names_vague(name);
        let of_record =
            is_record(&value.of) || names::words(leaf).iter().any(|word| is_record(word));
        value.kind == ValueKind::Fraction
            && (is_clear(leaf) || (amounts::sounds_like_money(leaf) && of_record))
            && !names::words(leaf).iter().any(|word| is_estimate(word))
    });
    for ((of, path), values) in fractions {
        let Some(first) = values.first() else { continue };
        let what = format!("`{path}` of `{of}` is written as a floating-point number");
        let todo = "write a `Decimal128`, or whole minor units, and convert the stored values";
        let others = values.iter().skip(1).map(|value| value.place.location.clone());
        let draft = code::draft(evidence, &first.place, &format!("{of} {path}"), what, WHY, todo);
        cx.report(draft.data("path", path).locations(others));
    }
}

fn draft(
    evidence: &Evidence,
    fields: &[&DeclaredField],
    copies: usize,
    certainty: Certainty,
) -> Draft {
    let what = match fields.len() {
        1 => "holds money as a floating-point number",
        _ => "hold money as floating-point numbers",
    };
    let more = match copies {
        1 => String::new(),
        n => format!(", in {n} copies of the model"),
    };
    let draft = code::fields_draft(
        evidence,
        fields,
        &format!("{what}{more}"),
        WHY,
        "declare a `Decimal128`, or a long with whole minor units, and convert the stored values",
    );
    if certainty == Certainty::Likely { draft.pedantic() } else { draft }
}

/// The certainty that a field is money in a floating-point number, if it is.
fn certainty(field: &ModelField<'_>) -> Option<Certainty> {
    let declared = field.declared;
    if !declared.types.contains(&BsonType::Double)
        || !declared.allowed.is_empty()
        || !amounts::sounds_like_money(field.leaf)
    {
        return None;
    }
    match model_fields::exception(EXCEPTIONS, field) {
        Some(exception) => exception.is_pedantic.then_some(Certainty::Likely),
        None if field.is_stored() && (!is_vague(field) || is_of_money(field)) => {
            Some(Certainty::Proven)
        }
        None => Some(Certainty::Likely),
    }
}

/// Whether code or data show that the field contains fractions.
fn has_fractions(field: &ModelField<'_>) -> bool {
    let has = |number: &docward_model::NumberProfile| number.fractional_doubles > 0;
    field.is_given(ValueKind::Fraction)
        || field.in_data().any(|found| found.number.as_ref().is_some_and(has))
}

fn is_whole_in_data(field: &ModelField<'_>) -> bool {
    field.in_data().any(|found| found.types.numbers() > 0)
}

fn is_vague(field: &ModelField<'_>) -> bool {
    names_vague(field.leaf)
}

/// Whether no word of a name denotes money by itself.
fn names_vague(name: &str) -> bool {
    let all = names::words(name);
    all.iter().any(|word| VAGUE.contains(&word.as_str()))
        && !all
            .iter()
            .any(|word| !VAGUE.contains(&word.as_str()) && amounts::sounds_like_money(word))
}

/// Whether the context of a vague name shows that it is money.
fn is_of_money(field: &ModelField<'_>) -> bool {
    let is_amount = |(other, name): (&DeclaredField, &str)| {
        let is_number =
            other.types.contains(&BsonType::Double) || other.types.contains(&BsonType::Decimal);
        (is_number && amounts::sounds_like_money(name) && !names_vague(name))
            || names::words(name).iter().any(|word| word == "currency")
    };
    has_fractions(field)
        || field.words().iter().any(|word| is_record(word))
        || field.owners().any(|name| is_record(name) || is_named_after_money(name))
        || field.siblings().any(is_amount)
}

/// Whether a model or an object is named after money, as `Payment` and `SalaryStructure` are.
fn is_named_after_money(name: &str) -> bool {
    let is_amount = |word: &String| {
        matches!(word.as_str(), "amount" | "total" | "balance" | "discount" | "tax")
    };
    let all = names::words(name);
    all.iter().any(|word| !is_amount(word) && amounts::sounds_like_money(word))
}

/// Whether a word of a name denotes a record of money.
fn is_record(name: &str) -> bool {
    names::words(name).iter().any(|word| RECORDS.contains(&meaning::singular(word).as_str()))
}

fn is_estimate(word: &str) -> bool {
    matches!(
        word,
        "estimated"
            | "estimate"
            | "expected"
            | "predicted"
            | "projected"
            | "average"
            | "avg"
            | "median"
            | "mean"
            | "min"
            | "max"
            | "minimum"
            | "maximum"
            | "lowest"
            | "highest"
            | "budget"
            | "goal"
            | "target"
            | "limit"
            | "threshold"
    )
}

/// Whether a field shows that amounts are in a currency without minor units.
fn has_whole_currency(field: &DeclaredField) -> bool {
    field.annotations.iter().any(|said| {
        matches!(said, Annotation::Default(text) if CURRENCIES_WITHOUT_MINOR_UNIT.contains(&text.as_str()))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn dm_09_2_exceptions_are_on_the_page() {
        crate::facts::schema::model_fields::tests::are_on_the_page("T020", super::EXCEPTIONS);
    }
}
