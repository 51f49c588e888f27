//! DM-09.2: money declared as a floating-point number.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    BsonType, Draft, Evidence, Severity,
    code::{Code, DeclaredField, Meant, Mentioned, WholeUnits},
};

use crate::{
    Cx, declare_rule,
    facts::{
        amounts, code,
        names::{normalised, words},
        quantities, words,
    },
};

declare_rule! {
    /// # Float money in a model
    ///
    /// ## What it checks
    /// Reports fields of models in source code whose name says money (`price`, `totalAmount`, `balance`) and
    /// whose type is a floating-point number: `Number` of Mongoose, `float` of Beanie, `FloatField` of
    /// MongoEngine and djongo, `float64` of Go, `double` of Spring Data, also of classes that a document has fields of.
    /// The fields of a model are one finding, and a field that several copies of one model declare is told once.
    ///
    /// It is a warning where code computes with the amount of this model and shows that it has fractions, or where several
    /// files compute with it in a project that shows some (rounding to two places, cents, a provider, `12.99`, a currency
    /// that has a smallest unit). Whose amount it is, is told by the way to it, the list or query it came from, or the file;
    /// scripts, tests and functions that format any amount say nothing.
    ///
    /// Information, and no warning, are
    /// - amounts that nothing in the project computes with, as far as the files of the run show, copies that are shown or kept
    ///   as a record (an audit log, a notification, a wish list, analytics, `PromotionHistory`, `invoices[].total` of a person
    ///   where `Invoice` has its own), and structs of Go that documents are only read into;
    /// - costs, estimates, forecasts, prices of markets (beside `symbol` or `ticker`), plans (`budget`, `targetAmount`,
    ///   `spendingLimit`), figures of statistics (`medianPrice`, `stats.totalRevenue`, a model called `KPI`) and incomes that
    ///   somebody states;
    /// - amounts that are whole as far as one can tell: requests or forms give whole numbers only (`z.number().int()`,
    ///   `@IsInt()`, `type: integer`, `step="1"`), they are shown divided by a hundred, a request of the same module describes
    ///   minor units, the project names a provider or a currency without minor units (VNPay, `'VND'` alone), or nothing in it
    ///   shows fractions;
    /// - what may be a count (a plural before it, `ticketsAmount`, a bare `amount` or `balance` of points, stock and
    ///   movements; an `amount` that a price is multiplied by) or a share (`amountType` beside `amount`, a `fee`);
    /// - amounts beside ids of Stripe, `unitAmount` as Stripe has it and what is handed to it under that name unchanged;
    /// - the money of games and chat bots (beside `xp`, `coins`, `chips` or a `guild`; a `pot`; virtual cash and paper money);
    /// - models that only a script declares, models in files that no other takes in, classes that nobody names, and fields
    ///   that a remark calls deprecated.
    ///
    /// Left alone are
    /// - rates and shares (`taxRate`, `discount`), rates of exchange, and grades of a rating (`ratings.valueForMoney`);
    /// - amounts in minor units: by name (`priceCents`), by a comment (also above: `// in kobo`, `// in whole rupees`) or a
    ///   description in the model, or because the code gives the field such (`price * 100`, `toCents(price)`), and objects of
    ///   payment providers, which count in minor units;
    /// - whole amounts of a currency without minor units (`parseInt(price)`, `Number.isInteger` in the model, a comment or the
    ///   default of the currency that says VND);
    /// - amounts that count something else: `rawAmount` beside `tokenType`, `amount` beside `pricePerKwh`, what code gives how
    ///   many there are (`tagsAmount = tags.length`), balances of leave, points and diamonds, parts of a score, a
    ///   `total_received` among fields that end in `count`.
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
    area: Correctness,
    severities: [Warn, Info],
    clauses: ["DM-09.2", "CK-5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: ["path"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    // Copies of a model (chapters of a book, services with the same file) are one thing to fix.
    let mut copies: BTreeMap<(&str, &str), Vec<(&DeclaredField, &str)>> = BTreeMap::new();
    for (field, leaf) in code::fields(evidence, is_money) {
        let alone = draft(evidence, &[field], 1, "");
        if cx.is_accepted(&alone) {
            cx.report(alone);
            continue;
        }
        copies.entry((&field.model, &field.path)).or_default().push((field, leaf));
    }
    let in_smallest_unit = evidence.code.iter().any(counts_smallest_unit);
    let are_whole = evidence.code.iter().any(|found| are_mostly_whole(found, copies.keys()));
    let mut told = Vec::new();
    for fields in copies.values() {
        // The model itself rather than its copy in a script.
        let first = fields.iter().min_by_key(|(field, _)| {
            let is_aside = is_of_script(field) || is_of_documentation(field);
            (is_aside, !is_of_models(field), &field.place.location)
        });
        let Some((field, leaf)) = first else { continue };
        let all =
            |test: &dyn Fn(&DeclaredField) -> bool| fields.iter().all(|(field, _)| test(field));
        let found = evidence.code.as_ref();
        let doubt = if all(&|field| {
            found
                .is_some_and(|found| found.is_never_used(field) || found.is_never_run(&field.place))
        }) {
            Some("; the model is not used")
        } else if found.is_some_and(|found| !is_computed_in_fractions(found, field)) {
            Some("; no code was found that computes with fractions of it")
        } else if all(&|field| field.only_read)
            || is_of_script(field)
            || in_smallest_unit
            || are_whole
            || found.is_some_and(|found| {
                found.is_said_whole(&field.path) || may_be_meant(found, field, leaf)
            })
        {
            Some("; the code suggests whole amounts, an estimate or a copy")
        } else {
            None
        };
        told.push((*field, (doubt, fields.len())));
    }
    for (fields, (doubt, same)) in code::by_model(evidence, told) {
        let severity = if doubt.is_some() { Severity::Info } else { Severity::Warn };
        let others = fields
            .iter()
            .filter_map(|field| copies.get(&(field.model.as_str(), field.path.as_str())));
        let others = others.flatten().map(|(field, _)| field.place.location.clone());
        let draft = draft(evidence, &fields, same, doubt.unwrap_or_default());
        cx.report(draft.severity(severity).locations(others));
    }
}

/// What is said of fields that so many copies of their model declare, and why that may be harmless.
fn draft(evidence: &Evidence, fields: &[&DeclaredField], copies: usize, doubt: &str) -> Draft {
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
        &format!("{what}{more}{doubt}"),
        "a double cannot hold most decimal fractions: sums drift by cents",
        "declare a decimal, or whole minor units in a long, and convert what is stored",
    )
}

/// Whether something is computed with an amount that has fractions: code that handles it shows them, or several files
/// compute with it in a project that shows some. Where not all files were looked through, nobody can tell.
fn is_computed_in_fractions(found: &Code, field: &DeclaredField) -> bool {
    match found.computed_in(&field.model, &field.path) {
        Some(0) => false,
        Some(1) => found.shows_fractions_of(&field.path),
        Some(_) => found.shows_fractions_of(&field.path) || !found.shows_no_fractions(),
        None => true,
    }
}

/// Whether most amounts of a project are said to be whole: the others are of the same kind.
fn are_mostly_whole<'f>(
    found: &Code,
    fields: impl Iterator<Item = &'f (&'f str, &'f str)>,
) -> bool {
    /// Fewer are an accident.
    const LEAST: usize = 3;
    let names: BTreeSet<String> = fields.map(|(_, path)| Mentioned::number(path)).collect();
    let whole = names.iter().filter(|name| found.is_said_whole(name)).count();
    whole >= LEAST && 2 * whole >= names.len()
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
    const MARKETS: [&str; 11] = [
        "volume",
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
        || quantities::may_be_counted(found, leaf)
        || is_bound(&all)
        || is_of_minor_module(found, field)
        || is_estimate
        || is_plan(field, leaf)
        || is_copy(field)
        || is_copy_of_other(found, field, leaf)
        || quantities::may_count(field, leaf)
        || quantities::is_of_market(found, field, leaf)
        || quantities::is_played_for(found, field, leaf)
        || quantities::is_said_of_somebody(leaf)
        || is_answer(field)
        || may_be_share(found, field, leaf)
        || is_market
        || is_forecast
        || is_stripes(found, field, leaf)
        || is_doubtful_fee
        || is_winnings(leaf)
        || normalised(leaf) == "unitamount"
        || is_of_game(found, field)
        || is_whole_elsewhere(found, field, leaf)
        || is_charged_beside(found, field)
}

/// Whether another amount of the model is handed to Stripe as it is: those of one model count in one unit.
fn is_charged_beside(found: &Code, field: &DeclaredField) -> bool {
    let charged = |other: &DeclaredField| {
        found
            .whole_units
            .iter()
            .any(|unit| matches!(unit, WholeUnits::Charged { name } if *name == other.path))
    };
    let mut fields = found.fields.iter().filter(|other| other.model == field.model);
    fields.any(|other| other.types.contains(&BsonType::Double) && charged(other))
}

/// Whether an amount is where something begins or ends, as a bracket of taxes: `fromAmount`, `toAmount`.
fn is_bound(all: &[String]) -> bool {
    all.len() > 1
        && all.first().is_some_and(|first| {
            matches!(first.as_str(), "from" | "to" | "upto" | "above" | "below" | "over" | "under")
        })
}

/// Whether a request of the same module says that an amount counts the smallest unit: what it is added to counts the
/// same.
fn is_of_minor_module(found: &Code, field: &DeclaredField) -> bool {
    let file = field.place.location.file.as_str();
    found.whole_units.iter().any(|unit| match unit {
        WholeUnits::Described { folder, .. } => !folder.is_empty() && file.starts_with(folder),
        _ => false,
    })
}

/// Whether a type is named after what is answered or shown, which is worked out and not stored.
fn is_answer(field: &DeclaredField) -> bool {
    let all = words(&field.model);
    let mut last = all.iter().rev().filter(|word| !matches!(word.as_str(), "dto" | "model"));
    last.next().is_some_and(|word| matches!(word.as_str(), "response" | "view"))
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
    const SHOWN: [&str; 17] = [
        "snapshot",
        "audit",
        "notification",
        "banner",
        "alert",
        "activity",
        "reminder",
        "advertisement",
        "wishlist",
        "watchlist",
        "favorite",
        "favourite",
        "analytic",
        "behavior",
        "behaviour",
        "dashboard",
        "kpi",
    ];
    let says =
        |name: &str| words(name).iter().any(|word| SHOWN.contains(&words::singular(word).as_str()));
    let above = field.path.rsplit_once('.').map_or("", |(above, _)| above);
    // `stats.totalRevenue` is a figure of statistics.
    let is_figure = words(above)
        .iter()
        .any(|word| matches!(words::singular(word).as_str(), "stat" | "statistic" | "metric"));
    is_figure || says(above) || says(&field.model) || is_history(&field.model)
}

/// Whether a model keeps what was, and no movements of money.
fn is_history(model: &str) -> bool {
    const MOVED: [&str; 12] = [
        "payment",
        "transaction",
        "wallet",
        "order",
        "purchase",
        "sale",
        "billing",
        "balance",
        "transfer",
        "deposit",
        "credit",
        "account",
    ];
    let all = words(model);
    let is_named = all.last().is_some_and(|last| last == "history");
    is_named && !all.iter().any(|word| MOVED.contains(&words::singular(word).as_str()))
}

/// Whether an element of a list is named after another model that has the field itself: `invoices[].total` of a
/// `Person` beside `total` of `Invoice`. Lines of an order are what is paid, whatever the product costs today.
fn is_copy_of_other(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    let Some(above) = field.path.strip_suffix(leaf).and_then(|above| above.strip_suffix("[]."))
    else {
        return false;
    };
    let list = above.rsplit('.').next().unwrap_or(above);
    let one = words::singular(&normalised(list));
    let is_line = matches!(one.as_str(), "item" | "product" | "line" | "orderitem" | "cartitem");
    !is_line
        && normalised(&field.model) != one
        && found
            .fields
            .iter()
            .any(|other| other.path == leaf && words::singular(&normalised(&other.model)) == one)
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

/// Whether a file is part of what is written about the project.
fn is_of_documentation(field: &DeclaredField) -> bool {
    let mut folders = field.place.location.file.rsplit('/').skip(1);
    folders.any(|folder| {
        matches!(folder.to_ascii_lowercase().as_str(), "doc" | "docs" | "documentation")
    })
}

/// Whether a file lies where projects keep their models, or is named after that.
fn is_of_models(field: &DeclaredField) -> bool {
    let lower = field.place.location.file.to_ascii_lowercase();
    ["model", "schema", "entit"].iter().any(|word| lower.contains(word))
}

/// Whether a number is a grade that somebody gave, `ratings.valueForMoney`, or a rate of exchange.
fn is_grade_or_rate(field: &DeclaredField, leaf: &str) -> bool {
    let model: Vec<String> = words(&field.model).iter().map(|word| words::singular(word)).collect();
    let has = |word: &str| model.iter().any(|known| known == word);
    let is_code = leaf.len() == 3 && leaf.bytes().all(|b| b.is_ascii_uppercase());
    let is_exchange = has("forex")
        || (has("rate") && (has("currency") || has("exchange")))
        // `USD` of a `Currency` is what one costs.
        || (has("currency") && is_code);
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
                matches!(words::singular(word).as_str(), "xp" | "coin" | "diamond" | "gem" | "chip")
            })
    };
    let mut fields = found.fields.iter().filter(|other| other.model == field.model);
    fields.any(|other| says(&other.path))
        || words(&field.model).iter().any(|word| word == "economy")
}

/// Whether code gives a field of this name whole amounts in another model: prices of orders are those of products.
/// What a request of a module says counts in its folder.
fn is_whole_elsewhere(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    let file = field.place.location.file.as_str();
    let given = |unit: &WholeUnits| match unit {
        WholeUnits::Field { name, .. } | WholeUnits::Charged { name } => name == leaf,
        WholeUnits::Described { folder, name } => name == leaf && file.starts_with(folder),
        WholeUnits::Count { .. } | WholeUnits::Project => false,
    };
    found.whole_units.iter().any(given)
}

fn is_money(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    let is_float = field.types.contains(&BsonType::Double);
    let is_named = amounts::is_money_name(leaf)
        || ends_with(leaf, "fee")
        || (is_winnings(leaf) && has_stake_beside(found, field, leaf))
        || (amounts::is_vague(leaf) && is_of_items(found, field, leaf));
    let is_whole = field.meant == Some(Meant::Whole);
    if !is_float || is_whole || !field.allowed.is_empty() || !is_named {
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
        && (has_unit()
            || quantities::is_priced_each(found, field, leaf)
            || says_how_many
            || counts_tokens(found, field, parent));
    !counts
        && !is_of_provider(&field.path)
        && !is_leave(field, leaf)
        && !is_share(leaf)
        && !counts_other_things(leaf)
        && !is_part_of_score(parent)
        && !is_grade_or_rate(field, leaf)
        && !is_count(found, field, leaf)
        && !quantities::is_counted(found, field, leaf)
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
        _ => false,
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
mod tests;
