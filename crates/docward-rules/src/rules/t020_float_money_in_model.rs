//! DM-09.2: money declared as a floating-point number.

use std::collections::BTreeMap;

use docward_model::{
    BsonType, Draft, Evidence, Severity,
    code::{Code, DeclaredField, WholeUnits},
};

use crate::{
    Cx, declare_rule,
    facts::{
        amounts, code,
        names::{normalised, words},
        words,
    },
};

declare_rule! {
    /// # Float money in a model
    ///
    /// ## What it checks
    /// Reports fields of models in source code whose name says money (`price`, `totalAmount`, `balance`) and
    /// whose type is a floating-point number: `Number` of Mongoose, `float` of Beanie, `FloatField` of
    /// MongoEngine and djongo, `float64` of Go, `double` of Spring Data, also of classes that a document has fields of.
    /// Rates and shares (`taxRate`, `discount`) and
    /// amounts in minor units are left alone: by name (`priceCents`), by a comment, or because the code gives
    /// the field such (`price * 100`, `toCents(price)`), and so are whole amounts of a currency without minor units
    /// (`parseInt(price)`, `Number.isInteger` in the model, a comment or the default of
    /// the currency that says VND). So are amounts that count
    /// something else (`rawAmount` beside `tokenType`, balances of leave, points and diamonds, parts of a score, a
    /// `total_received` among fields that end in `count`) and
    /// objects of payment providers, which count in minor units, grades of a rating (`ratings.valueForMoney`) and rates of
    /// exchange. Costs, estimates, forecasts, prices of markets, plans (`budget`, `targetAmount`, `spendingLimit`), figures of
    /// statistics (`medianPrice`), copies that are shown or kept as a record (an audit log, a notification, a banner),
    /// amounts that may be a share (`amountType` beside `amount`), models that only a script declares, amounts beside ids of
    /// Stripe, those of a project that names a provider or a currency without minor units (VNPay, `'VND'` alone), a `fee` that may be a share, `unitAmount` as
    /// Stripe has it and what is handed to it under that name unchanged, the money of games and chat bots (beside `xp`, `coins` or a `guild`), and structs of Go that
    /// documents are only read into, are information. The fields of a model are one finding, and a field that several
    /// copies of one model declare is told once.
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
    // Copies of a model (chapters of a book, services with the same file) are one thing to mend.
    let mut copies: BTreeMap<(&str, &str), Vec<(&DeclaredField, &str)>> = BTreeMap::new();
    for (field, leaf) in code::fields(evidence, is_money) {
        let alone = draft(evidence, &[field], 1);
        if cx.is_accepted(&alone) {
            cx.report(alone);
            continue;
        }
        copies.entry((&field.model, &field.path)).or_default().push((field, leaf));
    }
    let in_smallest_unit = evidence.code.iter().any(counts_smallest_unit);
    let mut told = Vec::new();
    for fields in copies.values() {
        // The model itself rather than its copy in a script.
        let first =
            fields.iter().min_by_key(|(field, _)| (is_of_script(field), &field.place.location));
        let Some((field, leaf)) = first else { continue };
        let is_doubtful = fields.iter().all(|(field, _)| field.only_read)
            || is_of_script(field)
            || in_smallest_unit
            || evidence.code.as_ref().is_some_and(|found| may_be_meant(found, field, leaf));
        let severity = if is_doubtful { Severity::Info } else { Severity::Warn };
        told.push((*field, (severity, fields.len())));
    }
    for (fields, (severity, copies)) in code::by_model(evidence, told) {
        cx.report(draft(evidence, &fields, copies).severity(severity));
    }
}

/// What is said of fields that so many copies of their model declare.
fn draft(evidence: &Evidence, fields: &[&DeclaredField], copies: usize) -> Draft {
    let more = match copies {
        1 => String::new(),
        n => format!(", in {n} copies of the model"),
    };
    let what = match fields.len() {
        1 => "holds money as a floating-point number",
        _ => "hold money as floating-point numbers",
    };
    code::fields_draft(
        evidence,
        fields,
        &format!("{what}{more}"),
        "a double cannot hold most decimal fractions: sums drift by cents",
        "declare a decimal, or whole minor units in a long, and convert what is stored",
    )
}

/// Whether the project turns amounts into the smallest unit of its currency before it stores them.
fn counts_smallest_unit(found: &Code) -> bool {
    found.whole_units.contains(&WholeUnits::Project)
}

/// Whether a floating-point number may be meant: costs are as often estimates as they are bookings, a fee may be a
/// share, and prices of markets are shown rather than added up.
fn may_be_meant(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    const ESTIMATES: [&str; 19] = [
        "estimated",
        "estimate",
        "expected",
        "approx",
        "avg",
        "average",
        "median",
        "mean",
        "highest",
        "lowest",
        "predicted",
        "projected",
        "suggested",
        "recommended",
        "last",
        "market",
        "min",
        "max",
        "preferred",
    ];
    const MARKETS: [&str; 10] = [
        "coin",
        "market",
        "ticker",
        "quote",
        "candle",
        "kline",
        "exchange",
        "stats",
        "coinstats",
        "stat",
    ];
    let all = words(leaf);
    let is_estimate = all
        .split_last()
        .is_some_and(|(_, before)| before.iter().any(|word| ESTIMATES.contains(&word.as_str())));
    let is_forecast = words(&field.model).iter().any(|word| word == "forecast");
    let is_market = words(&field.model).iter().any(|word| MARKETS.contains(&word.as_str()));
    // A fee with a name of its own beside an amount is an amount.
    let is_doubtful_fee =
        ends_with(leaf, "fee") && (all.len() < 2 || !has_amount_beside(found, field, leaf));
    // `discounts` are shares as often as amounts.
    all.iter().any(|word| matches!(words::singular(word).as_str(), "cost" | "discount"))
        || is_estimate
        || is_plan(field, leaf)
        || is_copy(field)
        || may_be_share(found, field, leaf)
        || is_market
        || is_forecast
        || is_stripes(found, field, leaf)
        || is_doubtful_fee
        || is_winnings(leaf)
        || normalised(leaf) == "unitamount"
        || is_of_game(found, field)
        || is_whole_elsewhere(found, leaf)
        || is_charged_beside(found, field)
}

/// Whether another amount of the model is handed to Stripe as it is: those of one model count in one unit.
fn is_charged_beside(found: &Code, field: &DeclaredField) -> bool {
    let charged = |other: &DeclaredField| {
        found.whole_units.iter().any(|unit| {
            matches!(unit, WholeUnits::Field { of, name } if of.is_empty() && *name == other.path)
        })
    };
    let mut fields = found.fields.iter().filter(|other| other.model == field.model);
    fields.any(|other| other.types.contains(&BsonType::Double) && charged(other))
}

/// Whether an amount is one that people aim at or stay below: nothing is booked with it.
fn is_plan(field: &DeclaredField, leaf: &str) -> bool {
    const PLANS: [&str; 9] = [
        "budget",
        "goal",
        "target",
        "limit",
        "threshold",
        "planned",
        "desired",
        "quota",
        "forecast",
    ];
    let says =
        |name: &str| words(name).iter().any(|word| PLANS.contains(&words::singular(word).as_str()));
    // `currentAmount` of a `Goal` has been saved up.
    let is_saved = words(leaf).iter().any(|word| {
        matches!(word.as_str(), "current" | "saved" | "spent" | "paid" | "raised" | "collected")
    });
    let above = field.path.strip_suffix(leaf).unwrap_or_default();
    says(leaf) || (!is_saved && (says(above) || says(&field.model)))
}

/// Whether an amount is a copy that is shown or kept as a record, and that nobody adds up.
fn is_copy(field: &DeclaredField) -> bool {
    const SHOWN: [&str; 7] =
        ["audit", "notification", "banner", "alert", "activity", "reminder", "advertisement"];
    let says =
        |name: &str| words(name).iter().any(|word| SHOWN.contains(&words::singular(word).as_str()));
    let above = field.path.rsplit_once('.').map_or("", |(above, _)| above);
    says(above) || says(&field.model)
}

/// Whether a field beside it says what the number is, a sum or a share: `amountType` of `amount`, `discountType` of
/// `discountAmount`, a `type` that may be a percentage.
fn may_be_share(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    // What is a sum here and a share there.
    const SHARED: [&str; 8] =
        ["amount", "value", "discount", "fee", "commission", "coupon", "voucher", "surcharge"];
    let parent = field.path.strip_suffix(leaf).unwrap_or_default();
    let all = words(leaf);
    let mut fields = found.fields.iter().filter(|other| {
        other.model == field.model && other.place.location.file == field.place.location.file
    });
    fields.any(|other| {
        let Some(name) = other.path.strip_prefix(parent).filter(|name| !name.contains('.')) else {
            return false;
        };
        let said = words(name);
        let Some((last, before)) = said.split_last() else { return false };
        let is_type = matches!(last.as_str(), "type" | "kind" | "mode" | "unit");
        let is_of =
            !before.is_empty() && all.starts_with(before) && SHARED.contains(&before[0].as_str());
        let names_share =
            other.allowed.iter().any(|value| value.to_ascii_lowercase().contains("percent"));
        let is_vague = matches!(normalised(leaf).as_str(), "amount" | "value");
        is_type && (is_of || (names_share && is_vague))
    })
}

/// Whether a file is a script that somebody runs by hand.
fn is_of_script(field: &DeclaredField) -> bool {
    let mut folders = field.place.location.file.rsplit('/').skip(1);
    folders.any(|folder| {
        matches!(folder, "scripts" | "script" | "seed" | "seeds" | "seeders" | "migrations")
    })
}

/// Whether a number is a grade that somebody gave, `ratings.valueForMoney`, or a rate of exchange.
fn is_grade_or_rate(field: &DeclaredField, leaf: &str) -> bool {
    let model: Vec<String> = words(&field.model).iter().map(|word| words::singular(word)).collect();
    let has = |word: &str| model.iter().any(|known| known == word);
    let is_exchange = has("forex") || (has("rate") && (has("currency") || has("exchange")));
    let is_grade = words(&field.path).iter().any(|word| words::singular(word) == "rating");
    is_exchange || is_grade || normalised(leaf) == "valueformoney"
}

/// Whether a model keeps what Stripe says, which counts in minor units: beside `paymentIntentId` or ids of Stripe. A
/// `price` is the shop's own, Stripe calls it `unit_amount`.
fn is_stripes(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    let mut fields = found.fields.iter().filter(|other| other.model == field.model);
    !ends_with(leaf, "price")
        && fields.any(|other| {
            let name = normalised(&other.path);
            name == "paymentintentid" || (name.starts_with("stripe") && name.ends_with("id"))
        })
}

/// Whether names in the model say a game or a chat bot, whose money nobody pays with.
fn is_of_game(found: &Code, field: &DeclaredField) -> bool {
    let says = |name: &str| {
        matches!(normalised(name).as_str(), "guild" | "guildid")
            || words(name).iter().any(|word| {
                matches!(words::singular(word).as_str(), "xp" | "coin" | "diamond" | "gem")
            })
    };
    let mut fields = found.fields.iter().filter(|other| other.model == field.model);
    fields.any(|other| says(&other.path))
        || words(&field.model).iter().any(|word| word == "economy")
}

/// Whether code gives a field of this name whole amounts in another model: prices of orders are those of products.
fn is_whole_elsewhere(found: &Code, leaf: &str) -> bool {
    let given = |unit: &WholeUnits| matches!(unit, WholeUnits::Field { name, .. } if name == leaf);
    found.whole_units.iter().any(given)
}

fn is_money(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    let is_float = field.types.contains(&BsonType::Double);
    let is_named = amounts::is_money_name(leaf)
        || (ends_with(leaf, "fee") && has_amount_beside(found, field, leaf))
        || (is_winnings(leaf) && has_stake_beside(found, field, leaf))
        || (amounts::is_vague(leaf) && is_of_items(found, field, leaf));
    if !is_float || !field.allowed.is_empty() || !is_named {
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
    // `amount` beside the `price` of a product says how many, unless something else does.
    let beside = |wanted: &[&str]| {
        found.fields.iter().any(|other| {
            other.model == field.model
                && other
                    .path
                    .strip_prefix(parent)
                    .is_some_and(|name| wanted.contains(&normalised(name).as_str()))
        })
    };
    let says_how_many = normalised(leaf) == "amount"
        && beside(&["price", "unitprice", "itemprice"])
        && beside(&["product", "productid", "sku", "item", "itemid", "image"])
        && !beside(&["quantity", "qty", "count", "units"]);
    let counts = ends_with(leaf, "amount")
        && (has_unit() || says_how_many || counts_tokens(found, field, parent));
    !counts
        && !is_of_provider(&field.path)
        && !is_leave(field, leaf)
        && !is_share(leaf)
        && !counts_other_things(leaf)
        && !is_part_of_score(parent)
        && !is_grade_or_rate(field, leaf)
        && !is_count(found, field, leaf)
        && !is_given_whole(found, field, leaf)
}

/// Whether a total says how many there were, as what stands beside it does: `rows_total_received` among
/// `rows_failed_count` and `rows_skipped_count`.
fn is_count(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    let all = words(leaf);
    let is_total = all.iter().rev().skip(1).any(|word| word == "total")
        && all.last().is_some_and(|word| word.ends_with("ed"));
    let counts = beside(found, field, leaf).filter(|name| ends_with(name, "count")).count();
    is_total && counts >= 2
}

/// Whether code gives the field amounts in the smallest unit.
fn is_given_whole(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    found.whole_units.iter().any(|unit| match unit {
        WholeUnits::Field { of, name } => {
            name == leaf && (*of == field.model || field.collection.as_ref() == Some(of))
        }
        WholeUnits::Project => false,
    })
}

/// Whether a balance counts days that somebody may stay away.
fn is_leave(field: &DeclaredField, leaf: &str) -> bool {
    const AWAY: [&str; 6] = ["leave", "vacation", "holiday", "absence", "pto", "timeoff"];
    ends_with(leaf, "balance")
        && words(&field.model)
            .iter()
            .chain(words(&field.path).iter())
            .any(|word| AWAY.contains(&words::singular(word).as_str()))
}

/// Whether a name says a share, also where it is misspelled (`percrentageOfSalary`).
fn is_share(leaf: &str) -> bool {
    words(leaf).iter().any(|word| word.starts_with("perc") || word == "pct")
}

/// Whether an amount is of something else, by the word before: `indentationAmount`, `diamondBalance`.
fn counts_other_things(leaf: &str) -> bool {
    const OTHERS: [&str; 15] = [
        "diamond",
        "gem",
        "karma",
        "point",
        "xp",
        "indentation",
        "indent",
        "rating",
        "vote",
        "zoom",
        "scroll",
        "blur",
        "damage",
        "water",
        "stock",
    ];
    (ends_with(leaf, "amount") || ends_with(leaf, "balance"))
        && words(leaf).iter().any(|word| OTHERS.contains(&words::singular(word).as_str()))
}

/// Whether the object around a field says what a score is made of: `scoreFactors.budget`.
fn is_part_of_score(parent: &str) -> bool {
    words(parent).iter().any(|word| matches!(words::singular(word).as_str(), "score" | "scoring"))
}

fn is_winnings(leaf: &str) -> bool {
    matches!(normalised(leaf).as_str(), "towin" | "winnings")
}

/// Whether a total is that of things that are sold: they stand beside it, or another amount does.
fn is_of_items(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    let parent = field.path.strip_suffix(leaf).unwrap_or_default();
    let sold = |name: &str| {
        let first = name.split(['.', '[']).next().unwrap_or(name);
        matches!(normalised(first).as_str(), "items" | "orderitems" | "lineitems" | "cartitems")
    };
    let mut fields = found.fields.iter().filter(|other| other.model == field.model);
    has_amount_beside(found, field, leaf)
        || fields.any(|other| other.path.strip_prefix(parent).is_some_and(sold))
}

/// Whether a field beside it, in the same document, is held to be money by its name alone.
fn has_amount_beside(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    beside(found, field, leaf).any(amounts::is_money_name)
}

fn has_stake_beside(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    beside(found, field, leaf)
        .any(|name| matches!(normalised(name).as_str(), "bet" | "stake" | "wager" | "betamount"))
}

/// Names of numbers beside a field.
fn beside<'a>(
    found: &'a Code,
    field: &'a DeclaredField,
    leaf: &'a str,
) -> impl Iterator<Item = &'a str> {
    let parent = field.path.strip_suffix(leaf).unwrap_or_default();
    found
        .fields
        .iter()
        .filter(|other| {
            other.model == field.model
                && other.place.location.file == field.place.location.file
                && other.types.contains(&BsonType::Double)
        })
        .filter_map(move |other| other.path.strip_prefix(parent))
        .filter(move |name| !name.contains('.') && *name != leaf)
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
    fn dm_09_2_bodies_of_requests_are_not_stored() {
        let text = |file: &str| {
            format!(
                "source {file}\nfrom beanie import PydanticObjectId\nfrom pydantic import BaseModel\nclass ItemCreate(BaseModel):\n    total_price: float\nclass OrderCreate(BaseModel):\n    items: list[ItemCreate]\n"
            )
        };
        let count = |file: &str| check("T020", &text(file)).len();
        assert_eq!((count("app/schemas/order.py"), count("app/models/order.py")), (0, 1));
    }

    #[test]
    fn dm_09_2_parts_of_documents_counts_and_djongo() {
        let count = |text: &str| check("T020", text).len();
        let parts = "source Flight.java\npackage a.model;\nimport org.springframework.data.mongodb.core.mapping.Document;\nimport java.util.List;\n@Document\npublic class Flight {\n  private String id;\n  private List<Seat> seats;\n}\nsource Seat.java\npackage a.model;\npublic class Seat {\n  private String number;\n  private double price;\n}\n";
        assert_eq!(count(parts), 1);
        assert_eq!(count(&parts.replace("List<Seat>", "List<String>")), 0);
        assert_eq!(
            count(&parts.replacen("package a.model;\npublic", "package a.dto;\npublic", 1)),
            0
        );
        let counts = "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('A', new mongoose.Schema({rows_total_received: Number, rows_failed_count: Number, rows_skipped_count: Number}));";
        assert_eq!(count(counts), 0);
        let djongo = "source models.py\nfrom djongo import models\nclass Wallet(models.Model):\n    balance = models.FloatField()\n";
        assert_eq!(count(djongo), 1);
        assert_eq!(count(&djongo.replace("from djongo", "# djongo\nfrom django.db")), 0);
    }

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
    fn dm_09_2_points_scores_and_the_money_of_games() {
        use docward_model::Severity::{Info, Warn};
        let worst = |fields: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({{\n{fields}\n}});\nmodule.exports = mongoose.model('Pay', s);"
            );
            check("T020", &text).iter().map(|finding| finding.severity).max()
        };
        assert_eq!(worst("accountBalance: Number"), Some(Warn));
        assert_eq!(worst("diamondBalance: Number"), None);
        assert_eq!(worst("scoreFactors: {budget: Number, urgency: Number}"), None);
        assert_eq!(worst("balance: Number, xpTotal: Number"), Some(Info));
        assert_eq!(worst("Guild: String, Amount: Number"), Some(Info));
        assert_eq!(worst("unitAmount: Number"), Some(Info));
        assert_eq!(worst("amount: Number, paymentIntentId: String"), Some(Info));
        assert_eq!(worst("amount: Number, stripeCustomerId: String"), Some(Info));
        assert_eq!(worst("price: Number, method: {type: String, default: 'VNPay'}"), Some(Info));
        assert_eq!(worst("price: Number, currency: {enum: ['USD', 'VND']}"), Some(Warn));
        assert_eq!(worst("price: {type: Number, validate: Number.isInteger}"), None);
        assert_eq!(worst("price: Number, // VND"), None);
        assert_eq!(worst("price: Number, currency: {type: String, default: 'VND'}"), None);
        assert_eq!(worst("price: Number, currency: {type: String, default: 'IDR'}"), None);
        assert_eq!(worst("price: Number, currency: {type: String, default: 'EUR'}"), Some(Warn));
        assert_eq!(worst("price: {type: Number, min: 0}"), Some(Warn));
        assert_eq!(worst("total: Number, votes: Number"), None);
        assert_eq!(worst("total: Number, items: [{sku: String}]"), Some(Warn));
        assert_eq!(worst("total: Number, salary: String, subtotal: Number"), Some(Warn));
    }

    #[test]
    fn dm_09_2_the_fields_of_a_model_are_one_finding() {
        let text = "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({price: Number, items: [{subtotal: Number}], shippingCost: Number});\nmodule.exports = mongoose.model('Order', s);";
        let said = told(text);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said.iter().any(|(_, what)| what.starts_with("`price` and `items[].subtotal` of `Order` hold")), "{said:?}");
    }

    #[test]
    fn dm_09_2_whole_amounts_of_a_currency_without_minor_units() {
        use docward_model::Severity::{Info, Warn};
        let model = |name: &str| {
            format!(
                "const mongoose = require('mongoose');\nconst s = new mongoose.Schema({{price: Number}});\nmodule.exports = mongoose.model('{name}', s);\n"
            )
        };
        let product = format!("source product.js\n{}", model("Product"));
        let order = format!("source order.js\n{}", model("Order"));
        let shop = |value: &str| {
            format!(
                "source shop.js\nconst mongoose = require('mongoose');\nconst Product = require('./models/product');\nasync function add(body) {{ await Product.create({{price: {value}}}); }}\n"
            )
        };
        let severities = |value: &str| {
            told(&format!("{product}{order}{}", shop(value)))
                .into_iter()
                .map(|(severity, _)| severity)
                .collect::<Vec<_>>()
        };
        assert_eq!(severities("body.price"), [Warn, Warn]);
        assert_eq!(severities("Number.parseInt(body.price, 10)"), [Info]);
        assert_eq!(severities("Math.round(body.price)"), [Info]);
        assert_eq!(severities("Math.round(body.price * 20) / 20"), [Warn, Warn]);
    }

    #[test]
    fn dm_09_2_cents_are_whole_numbers() {
        let text = "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({\n  // amount in cents\n  amount: {type: Number},\n  price: Number,\n});\nmodule.exports = mongoose.model('Pay', s);";
        assert_eq!(check("T020", text).len(), 1, "only the one without the remark");
        let found = check("T020", &text.replace("cents", "dollars"));
        assert!(
            found.len() == 1 && found[0].what.starts_with("`amount` and `price` of"),
            "{found:?}"
        );
    }

    /// How often models in files are told, and how loud.
    fn told(files: &str) -> Vec<(docward_model::Severity, String)> {
        check("T020", files).into_iter().map(|f| (f.severity, f.what)).collect()
    }

    #[test]
    fn dm_09_2_copies_of_a_model_are_told_once() {
        let model = "const mongoose = require('mongoose');\nconst s = new mongoose.Schema({price: Number});\nmodule.exports = mongoose.model('Book', s);\n";
        let files = ["1", "2", "3"]
            .map(|chapter| format!("source book/{chapter}/book.js\n{model}"))
            .concat();
        let found = told(&files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].1.ends_with("in 3 copies of the model"), "{found:?}");
        assert_eq!(told(&files.replacen("'Book'", "'Shop'", 1)).len(), 2, "another model");
    }

    #[test]
    fn dm_09_2_amounts_that_code_gives_in_the_smallest_unit() {
        use docward_model::Severity::{Info, Warn};
        let project = |use_of: &str| {
            format!(
                "source m.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Purchase', new mongoose.Schema({{amount: Number}}));\nsource a.js\nconst mongoose = require('mongoose');\nconst Purchase = require('./models/purchase');\nasync function f(book, stripe) {{ {use_of} }}\n"
            )
        };
        for whole in [
            "await Purchase.create({amount: book.price * 100});",
            "const p = new Purchase({amount: Math.round(book.price * 100)}); await p.save();",
            "const cents = toCents(book.price); await Purchase.create({amount: cents});",
        ] {
            assert!(told(&project(whole)).is_empty(), "{whole}");
        }
        for other in [
            "await Purchase.create({amount: book.price});",
            "await stripe.charges.create({amount: book.price * 100}); await Purchase.create({amount: book.price});",
            "await Purchase.create({amount: intent.amount / 100});",
        ] {
            assert_eq!(told(&project(other))[0].0, Warn, "{other}");
        }
        assert_eq!(told(&project("lib.convert_to_satoshi(book.price, cb);"))[0].0, Info);
        let priced = |value: &str| {
            let text = project(&format!("await stripe.prices.create({{unit_amount: {value}}});"));
            told(&text)[0].0
        };
        assert_eq!(priced("book.amount"), Info, "as Stripe counts");
        assert_eq!(priced("book.amount * 100"), Warn);
        assert_eq!(priced("book.other"), Warn);
        let shown = project("").replace(
            "{amount: Number}",
            "{amount: Number}, {methods: {show() { return this.amount / 100; }}}",
        );
        assert!(told(&shown).is_empty());
    }

    #[test]
    fn dm_09_2_leave_shares_estimates_and_fees() {
        use docward_model::Severity::{Info, Warn};
        let severity = |model: &str, fields: &str, path: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('{model}', new mongoose.Schema({{{fields}}}));"
            );
            let found = check("T020", &text);
            let of =
                |finding: &&docward_model::Finding| finding.what.contains(&format!("`{path}`"));
            found.iter().find(of).map(|finding| finding.severity)
        };
        assert_eq!(severity("LeaveType", "balance: Number", "balance"), None);
        assert_eq!(severity("Account", "balance: Number", "balance"), Some(Warn));
        assert_eq!(
            severity("Slip", "percrentageOfBaseSalary: Number", "percrentageOfBaseSalary"),
            None
        );
        assert_eq!(severity("Slip", "baseSalary: Number", "baseSalary"), Some(Warn));
        assert_eq!(severity("User", "indentationAmount: Number", "indentationAmount"), None);
        assert_eq!(severity("Order", "price: Number, discounts: Number", "discounts"), Some(Info));
        assert_eq!(severity("Coin", "last_price: Number", "last_price"), Some(Info));
        assert_eq!(severity("Order", "estimatedPrice: Number", "estimatedPrice"), Some(Info));
        assert_eq!(
            severity("Order", "amount: Number, service_fee: Number", "service_fee"),
            Some(Warn)
        );
        assert_eq!(severity("Order", "amount: Number, fee: Number", "fee"), Some(Info));
        assert_eq!(severity("Order", "fee: Number", "fee"), None, "it may be a share");
        assert_eq!(severity("Bet", "bet: Number, toWin: Number", "toWin"), Some(Info));
        assert_eq!(severity("Game", "toWin: Number", "toWin"), None);
    }

    #[test]
    fn dm_09_2_plans_copies_grades_and_shares() {
        use docward_model::Severity::{Info, Warn};
        let worst = |file: &str, model: &str, fields: &str| {
            let text = format!(
                "source {file}\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('{model}', new mongoose.Schema({{{fields}}}));"
            );
            check("T020", &text).iter().map(|finding| finding.severity).max()
        };
        let of = |model: &str, fields: &str| worst("a.js", model, fields);
        assert_eq!(of("Event", "budget: Number"), Some(Info));
        assert_eq!(of("Sale", "targetAmount: Number"), Some(Info));
        assert_eq!(of("Goal", "currentAmount: Number"), Some(Warn));
        assert_eq!(of("AuditLog", "metadata: {amount: Number}"), Some(Info));
        assert_eq!(of("Admin", "notifications: [{details: {amount: Number}}]"), Some(Info));
        assert_eq!(of("Admin", "payments: [{details: {amount: Number}}]"), Some(Warn));
        assert_eq!(of("Banner", "originalPrice: Number"), Some(Info));
        assert_eq!(of("Area", "median_price: Number"), Some(Info));
        assert_eq!(
            of("Review", "ratings: {valueForMoney: Number, moneyTotalAmount: Number}"),
            None
        );
        assert_eq!(of("rateCurrency", "currentPrice: Number"), None);
        assert_eq!(of("Voucher", "amount: Number, amountType: String"), Some(Info));
        let kinds = "amount: Number, type: {type: String, enum: ['fixed', 'percentage']}";
        assert_eq!(of("Coupon", kinds), Some(Info));
        assert_eq!(of("Coupon", &kinds.replace("percentage", "other")), Some(Warn));
        assert_eq!(of("Product", &kinds.replace("amount", "price")), Some(Warn));
        assert_eq!(of("Order", "amount: Number, paymentType: String"), Some(Warn));
        assert_eq!(of("Slip", "deductionAmount: Number, deductionType: String"), Some(Warn));
        assert_eq!(worst("scripts/a.js", "Fee", "amount: Number"), Some(Info));
    }

    #[test]
    fn dm_09_2_a_model_is_told_where_it_is_and_not_in_a_script() {
        let model = "const mongoose = require('mongoose');\nmodule.exports = mongoose.model('Tier', new mongoose.Schema({price: Number}));\n";
        let text = format!("source scripts/seed.js\n{model}source src/tier.js\n{model}");
        let found = check("T020", &text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, docward_model::Severity::Warn);
        assert!(found[0].location.as_ref().is_some_and(|at| at.file.ends_with("src/tier.js")));
    }

    #[test]
    fn dm_09_2_schemas_of_prisma() {
        let schema = |provider: &str| {
            format!(
                "source prisma/schema.prisma\ndatasource db {{\n  provider = \"{provider}\"\n  url = env(\"DATABASE_URL\")\n}}\nmodel Order {{\n  id String @id @default(auto()) @map(\"_id\") @db.ObjectId\n  price Float\n}}\n"
            )
        };
        assert_eq!(told(&schema("mongodb")).len(), 1);
        assert!(told(&schema("postgresql")).is_empty());
    }

    #[test]
    fn dm_10_1_an_amount_beside_a_price_says_how_many() {
        let warned = |fields: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Item', new mongoose.Schema({{ {fields} }}));"
            );
            let found = check("T020", &text);
            found.iter().any(|finding| finding.what.contains("`amount`"))
        };
        assert!(!warned("product: String, price: Number, amount: Number"));
        assert!(warned("product: String, price: Number, quantity: Number, amount: Number"));
        assert!(warned("price: Number, amount: Number"));
        assert!(warned("amount: Number"));
    }
}
