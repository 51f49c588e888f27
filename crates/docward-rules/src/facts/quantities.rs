//! Amounts that are no money by what stands around them, or none that anybody books: counts, points, stock, prices of
//! markets, money that is played for.

use docward_model::code::{Code, DeclaredField, WholeUnits};

use super::{
    amounts,
    names::{normalised, words},
    words as meaning,
};

/// Words around a bare amount that do not say what it is of.
const BARE: [&str; 20] = [
    "amount",
    "balance",
    "current",
    "running",
    "total",
    "available",
    "new",
    "old",
    "previous",
    "before",
    "after",
    "opening",
    "closing",
    "remaining",
    "final",
    "initial",
    "last",
    "change",
    "net",
    "pending",
];

/// Whether code gives the field how many of something there are.
pub fn is_counted(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    counts(found, leaf)
        .flatten()
        .any(|of| *of == field.model || field.collection.as_ref() == Some(of))
}

/// Whether code gives a field of this name how many of something there are, of which nobody can tell what it belongs to.
/// A bare `amount` may be money.
pub fn may_be_counted(found: &Code, leaf: &str) -> bool {
    words(leaf).len() > 1 && counts(found, leaf).any(|of| of.is_none())
}

/// What fields of this name that are given such counts belong to.
fn counts<'a>(found: &'a Code, leaf: &'a str) -> impl Iterator<Item = Option<&'a String>> {
    found.whole_units.iter().filter_map(move |unit| match unit {
        WholeUnits::Count { of, name } if name == leaf => Some(of.as_ref()),
        _ => None,
    })
}

/// Whether a number may say how many there are: a plural stands before it (`ticketsAmount`, but `feesAmount`), it is a
/// quantity or an amount (`quantityOrAmount`), or it is a bare amount of a model of points, stock or movements.
pub fn may_count(field: &DeclaredField, leaf: &str) -> bool {
    const COUNTED: [&str; 9] = [
        "point",
        "loyalty",
        "stock",
        "inventory",
        "movement",
        "karma",
        "mileage",
        "token",
        "quota",
    ];
    const MONEY: [&str; 17] = [
        "cash", "bank", "money", "account", "wallet", "fund", "payment", "price", "ledger",
        "expense", "bill", "invoice", "sale", "order", "purchase", "cost", "salary",
    ];
    let all = words(leaf);
    let Some((last, before)) = all.split_last() else { return false };
    let is_amount = matches!(last.as_str(), "amount" | "balance");
    // Tokens are counted, whatever one of them is worth.
    let is_of_tokens = is_amount && before.last().is_some_and(|word| word == "token");
    let is_plural = before.last().is_some_and(|word| {
        let one = meaning::singular(word);
        one != *word && !is_sum_of(&one)
    });
    let is_either = all.iter().any(|word| word == "quantity") && all.iter().any(|w| w == "or");
    let is_bare = all.iter().all(|word| BARE.contains(&word.as_str()));
    let model: Vec<String> =
        words(&field.model).iter().map(|word| meaning::singular(word)).collect();
    let has = |known: &[&str]| model.iter().any(|word| known.contains(&word.as_str()));
    // `totalPayments` says how many as often as how much.
    let is_total_of = before.first().is_some_and(|word| word == "total")
        && matches!(last.as_str(), "payments" | "transactions" | "orders" | "refunds");
    (last == "amount" && is_plural)
        || is_of_tokens
        || is_either
        || is_total_of
        || (is_amount && is_bare && has(&COUNTED) && !has(&MONEY))
}

/// Whether an amount of such things is a sum of money: `salesAmount`, `feesAmount`.
fn is_sum_of(word: &str) -> bool {
    amounts::is_money_name(word)
        || amounts::may_be_a_rate(word)
        || matches!(
            word,
            "sale"
                | "earning"
                | "saving"
                | "winning"
                | "tip"
                | "taxe"
                | "charge"
                | "dividend"
                | "bonus"
                | "bonuse"
                | "expense"
                | "cost"
                | "discount"
                | "deduction"
                | "allowance"
                | "due"
                | "arrear"
                | "proceed"
                | "good"
                | "service"
                | "extra"
                | "addon"
                | "other"
        )
}

/// Whether an amount stands beside the price of one of what it counts, `pricePerKwh`, and nothing else says how many.
pub fn is_priced_each(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    const TIMES: [&str; 7] = ["month", "day", "night", "hour", "week", "year", "person"];
    const MANY: [&str; 6] = ["unit", "quantity", "qty", "kwh", "consumption", "usage"];
    let is_priced = |name: &str| {
        let all = words(name);
        let per = all.iter().position(|word| word == "per");
        per.is_some_and(|at| {
            let of = all.get(at + 1).map_or("", String::as_str);
            all[..at].iter().any(|word| word == "price") && !TIMES.contains(&of)
        })
    };
    let says_many = |name: &str| {
        let all = words(name);
        !all.iter().any(|word| word == "per")
            && all.iter().any(|word| MANY.contains(&meaning::singular(word).as_str()))
    };
    normalised(leaf) == "amount"
        && beside(found, field).any(is_priced)
        && !beside(found, field).any(says_many)
}

/// Whether a model is about what is traded on a market, whose prices are shown rather than booked: a symbol of an
/// exchange stands in it.
pub fn is_of_market(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    // What somebody has is booked, in whatever it is.
    let all = words(leaf);
    let is_balance = all.last().is_some_and(|last| last == "balance");
    // What a token or a share was worth on some day.
    let is_of_token =
        all.last().is_some_and(|last| last == "price") && all.iter().any(|word| word == "token");
    if is_of_token || normalised(&field.model).contains("pricehistory") {
        return true;
    }
    !is_balance
        && found.fields.iter().filter(|other| other.model == field.model).any(|other| {
            let leaf = other.path.rsplit('.').next().unwrap_or(&other.path);
            matches!(
                normalised(leaf).as_str(),
                "symbol"
                    | "assetsymbol"
                    | "coinsymbol"
                    | "ticker"
                    | "tickersymbol"
                    | "stocksymbol"
                    | "tradingpair"
                    | "isin"
                    | "limitprice"
                    | "clordid"
            )
        })
}

/// Whether nobody pays with it: the pot or the chips of a game, virtual money, paper trades, what players of a
/// competition begin with.
pub fn is_played_for(found: &Code, field: &DeclaredField, leaf: &str) -> bool {
    let is_play = |name: &str| {
        words(name).iter().any(|word| {
            matches!(
                meaning::singular(word).as_str(),
                "paper" | "demo" | "simulated" | "pot" | "chip" | "karma"
            )
        })
    };
    let is_table = |name: &str| {
        ["smallblind", "bigblind"].iter().any(|blind| normalised(name).starts_with(blind))
    };
    let begins = normalised(leaf).starts_with("starting");
    // A virtual account or wallet is one of a bank; virtual cash is nobody's.
    let is_virtual = ["virtualcash", "virtualmoney", "virtualcurrency", "virtualfund"]
        .iter()
        .any(|play| normalised(leaf).contains(play));
    // What players buy with what they have earned by playing.
    let is_for_players = matches!(normalised(&field.model).as_str(), "shopitem" | "storeitem")
        && found.fields.iter().any(|other| {
            let leaf = other.path.rsplit('.').next().unwrap_or(&other.path);
            matches!(normalised(leaf).as_str(), "coin" | "coins" | "gems" | "xp" | "diamonds")
        });
    // `economy.inventory[].sellPrice`: what a bot of a chat calls its game.
    let is_economy = words(&field.path).iter().chain(&words(&field.model)).any(|w| w == "economy");
    let is_of_contest = beside(found, field).any(|name| normalised(name).starts_with("tournament"));
    is_play(leaf)
        || is_economy
        || is_of_contest
        || is_for_players
        || is_virtual
        || is_play(&field.model)
        || (begins && beside(found, field).any(says_contest))
        || (begins && says_contest(&field.model))
        || beside(found, field).any(is_table)
}

fn says_contest(name: &str) -> bool {
    words(name)
        .iter()
        .any(|word| matches!(word.as_str(), "competition" | "contest" | "tournament" | "league"))
}

/// Whether a number is what somebody says of himself, and nothing that is booked: `monthlyIncome` of an applicant.
pub fn is_said_of_somebody(leaf: &str) -> bool {
    matches!(
        normalised(leaf).as_str(),
        "monthlyincome" | "annualincome" | "yearlyincome" | "householdincome" | "familyincome"
    )
}

/// Paths of the other fields of the model.
fn beside<'a>(found: &'a Code, field: &'a DeclaredField) -> impl Iterator<Item = &'a str> {
    found
        .fields
        .iter()
        .filter(|other| other.model == field.model && other.path != field.path)
        .map(|other| other.path.as_str())
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity::{self, Info, Warn};

    fn worst(model: &str, fields: &str, more: &str) -> Option<Severity> {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('{model}', new mongoose.Schema({{\n{fields}\n}}));\n{more}"
        );
        check("T020", &text).iter().map(|finding| finding.severity).max()
    }

    #[test]
    fn dm_09_2_counts_points_and_stock() {
        let given = |value: &str| {
            let more = format!(
                "source b.js\nconst mongoose = require('mongoose');\nfunction f(box) {{ box.parcelAmount {value}; }}\n"
            );
            worst("Box", "parcelAmount: Number", &more)
        };
        assert_eq!(given("= box.parcels.length"), Some(Info), "of whatever has such a field");
        assert_eq!(given("+= 1"), Some(Info));
        let more = "source b.js\nconst mongoose = require('mongoose');\nconst Box = require('./a');\nasync function f(id) { const box = await Box.findById(id); box.parcelAmount = box.parcels.length; await box.save(); }\n";
        assert_eq!(worst("Box", "parcelAmount: Number", more), None);
        assert_eq!(given("+= box.price"), Some(Warn));
        assert_eq!(worst("Event", "ticketsAmount: Number", ""), Some(Info));
        assert_eq!(worst("Event", "feesAmount: Number", ""), Some(Warn));
        assert_eq!(worst("Event", "salesAmount: Number", ""), Some(Warn));
        assert_eq!(worst("PointHistory", "currentAmount: Number", ""), Some(Info));
        assert_eq!(worst("LoyaltyCard", "balance: Number", ""), Some(Info));
        assert_eq!(worst("StockMovement", "runningBalance: Number", ""), Some(Info));
        assert_eq!(worst("CashMovement", "runningBalance: Number", ""), Some(Warn));
        assert_eq!(worst("StockExpense", "amount: Number", ""), Some(Warn));
        assert_eq!(worst("StockMovement", "unitPrice: Number", ""), Some(Warn));
        assert_eq!(worst("Offer", "quantityOrAmount: Number", ""), Some(Info));
        assert_eq!(worst("Contract", "totalPayments: Number", ""), Some(Info));
    }

    #[test]
    fn dm_09_2_prices_of_markets_and_games() {
        assert_eq!(worst("Alert", "symbol: String, price: Number", ""), Some(Info));
        assert_eq!(worst("Tag", "label: String, price: Number", ""), Some(Warn));
        assert_eq!(worst("Reward", "tokenPrice: Number", ""), Some(Info));
        assert_eq!(worst("StockPriceHistory", "price: Number", ""), Some(Info));
        let player = "source p.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Player', new mongoose.Schema({coins: Number}));\n";
        assert_eq!(worst("ShopItem", "price: Number", player), Some(Info));
        assert_eq!(worst("ShopItem", "price: Number", ""), Some(Warn));
        assert_eq!(worst("OrderResponseDto", "price: Number", ""), Some(Info));
        assert_eq!(worst("Round", "bigBlind: Number, potAmount: Number", ""), Some(Info));
        assert_eq!(worst("Pot", "amount: Number", ""), Some(Info));
        assert_eq!(worst("Member", "economy: {items: [{sellPrice: Number}]}", ""), Some(Info));
        assert_eq!(worst("Account", "virtualCash: Number", ""), Some(Info));
        assert_eq!(worst("VirtualWallet", "balance: Number", ""), Some(Warn));
        assert_eq!(worst("Wallet", "symbol: String, balance: Number", ""), Some(Warn));
        assert_eq!(worst("Player", "competition: String, startingCash: Number", ""), Some(Info));
        assert_eq!(worst("Shift", "startingCash: Number", ""), Some(Warn));
        assert_eq!(worst("TaxRule", "fromAmount: Number, toAmount: Number", ""), Some(Info));
        assert_eq!(worst("Visit", "bookingFee: Number", ""), Some(Info), "a share as often");
        assert_eq!(worst("Wishlist", "items: [{price: Number}]", ""), Some(Info));
        assert_eq!(worst("Applicant", "monthlyIncome: Number", ""), Some(Info));
    }

    #[test]
    fn dm_09_2_an_amount_beside_the_price_of_one_says_how_many() {
        let text = |fields: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Charge', new mongoose.Schema({{{fields}}}));\n"
            );
            check("T020", &text).iter().any(|found| found.what.contains("`amount`"))
        };
        assert!(!text("amount: Number, pricePerKwh: Number"));
        assert!(text("amount: Number, pricePerMonth: Number"));
        assert!(text("amount: Number, kwh: Number"));
        assert!(text("amount: Number, totalUnits: Number, pricePerKwh: Number"));
    }

    #[test]
    fn dm_09_2_minor_units_in_comments_and_descriptions() {
        let remark = |text: &str| worst("Fare", &format!("  // {text}\n  amount: Number,"), "");
        assert_eq!(remark("base fare (in kobo)"), None);
        assert_eq!(remark("in pesewas"), None);
        assert_eq!(remark("in naira"), Some(Warn));
        assert_eq!(remark("Amount in FCFA"), None);
        assert_eq!(remark("цена (в копейках)"), None);
        let behind = "  count: Number, // cents are left out\n  amount: Number,";
        assert_eq!(worst("Fare", behind, ""), Some(Warn), "of the line before");
        let request = |text: &str| {
            let more = format!(
                "source order.dto.ts\nexport class OrderDto {{\n  @ApiProperty({{\n    description: '{text}',\n    example: 1000,\n  }})\n  @IsNumber()\n  amount: number;\n}}\n"
            );
            worst("Fare", "amount: Number", &more)
        };
        assert_eq!(request("the amount in minor units"), Some(Info));
        assert_eq!(request("the amount to pay"), Some(Warn));
        let within = |folder: &str| {
            let text = format!(
                "source {folder}order.dto.ts\nexport class OrderDto {{\n  @ApiProperty({{ description: 'in minor units', required: true,\n    maximum: 5 }})\n  amount: number;\n}}\nsource src/fare/fare.schema.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Fare', new mongoose.Schema({{amount: Number}}));\n"
            );
            check("T020", &text).iter().map(|finding| finding.severity).max()
        };
        assert_eq!(within("src/fare/dto/"), Some(Info), "of the same module");
        assert_eq!(within("src/order/dto/"), Some(Warn));
        let other = "source src/charge/dto/charge.dto.ts\nexport class ChargeDto {\n  @ApiProperty({ description: 'in minor units' })\n  amount: number;\n}\n";
        assert_eq!(worst("Fare", "amount: Number", other), Some(Warn), "of another module");
    }

    #[test]
    fn dm_09_2_whole_amounts_that_are_only_ever_added() {
        let paid = |value: &str| {
            let more = format!(
                "source b.js\nconst mongoose = require('mongoose');\nconst Wallet = require('./models/wallet');\nasync function f(id, paid) {{ const wallet = await Wallet.findById(id); wallet.balance += {value}; await wallet.save(); }}\n"
            );
            worst("Wallet", "balance: Number", &more)
        };
        assert_eq!(paid("parseInt(paid.amount)"), None);
        assert_eq!(paid("paid.amount"), Some(Warn));
    }
}
