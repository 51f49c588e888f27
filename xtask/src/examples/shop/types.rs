//! Types and ids: ST-09, ST-10, ST-11, and ids that differ in case.

use bson::{Bson, Document, doc};

use super::SHOP;
use crate::examples::chance::{Ids, births, date, double_money, money};
use crate::examples::dump::Collection;
use crate::examples::schema::{
    Format, decimal, double, formatted, long, moment, need, object, one_word_of, text,
};
use crate::examples::vocabulary::product_name;

pub(super) fn collections() -> Vec<Collection> {
    vec![payment(), coupon(), promotion(), login_name(), ticket(), parcel()]
}

/// Amounts as doubles, with sums that show the rounding error.
fn payment() -> Collection {
    Collection::new(SHOP, "t_payment")
        .born("payments", 500, |rng, ids, at, born| {
            // The classic example first, then cents and the rounding errors of adding them up.
            let amount = match at {
                0 => 0.1 + 0.2,
                _ if at % 25 == 0 => {
                    (0..10).fold(0.0, |sum, _| sum + double_money(rng.between(1, 90)))
                }
                _ => double_money(rng.between(100, 90_000)),
            };
            doc! {
                "_id": ids.at(born),
                "paymentNo": format!("PAY{:06}", at + 1),
                "amount": amount,
                "channel": rng.choose(&["card", "transfer", "wallet"]),
                "payTime": date(born),
            }
        })
        .validated(object(vec![
            need("paymentNo", text(9, 9)),
            need("amount", double(0.0, 1_000_000.0)),
            need("channel", one_word_of(&["card", "transfer", "wallet"])),
            need("payTime", moment()),
        ]))
        .unique(doc! { "paymentNo": 1 })
        .case(
            "ST-09",
            &["T002"],
            "amounts are doubles, and sums of them are off by fractions of a cent",
        )
}

fn coupon() -> Collection {
    let base = Collection::new(SHOP, "t_coupon");
    let mut rng = base.rng();
    let births = births(&mut rng, 400);
    let documents = births
        .into_iter()
        .map(|born| {
            doc! {
                "_id": rng.uuid(),
                "value": money(rng.choose(&[500, 1000, 2000])),
                "status": rng.choose(&["open", "open", "used", "expired"]),
                "createTime": date(born),
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("_id", formatted(Format::Uuid)),
            need("value", decimal()),
            need("status", one_word_of(&["open", "used", "expired"])),
            need("createTime", moment()),
        ]))
        .case("ST-10", &["T007"], "random UUIDs as text are the primary key")
}

/// A price as a number, as a string and as an object, without a validator.
fn promotion() -> Collection {
    let base = Collection::new(SHOP, "t_promotion");
    let mut rng = base.rng();
    let mut ids = Ids::new("promotions");
    let births = births(&mut rng, 150);
    let documents: Vec<Document> = births
        .into_iter()
        .enumerate()
        .map(|(at, born)| {
            let whole = if at < 3 { 99 } else { rng.int(9, 400) };
            let price = match at % 3 {
                0 => Bson::Double(f64::from(whole)),
                1 => Bson::String(format!("{whole}.00")),
                _ => doc! { "value": whole }.into(),
            };
            doc! {
                "_id": ids.at(born),
                "productName": product_name(at),
                "price": price,
                "beginTime": date(born),
            }
        })
        .collect();
    base.documents(documents).case(
        "ST-11",
        &["T005", "V001"],
        "the price is 99.00, \"99.00\" and {value: 99}, and no validator refuses any of them",
    )
}

fn login_name() -> Collection {
    Collection::new(SHOP, "t_login_name")
        .born("logins", 120, |_, ids, at, born| {
            let n = 123 + at / 2;
            // Every tenth account was created again with a capital letter.
            let name = match at % 20 {
                1 => format!("User{n}"),
                k if k % 2 == 1 => format!("user{}", n + 1000),
                _ => format!("user{n}"),
            };
            doc! { "_id": ids.at(born), "userId": name, "createTime": date(born) }
        })
        .validated(object(vec![need("userId", text(2, 40)), need("createTime", moment())]))
        .unique(doc! { "userId": 1 })
        .case("AP-S2.6", &["T011"], "User123 and user123 are two accounts")
}

/// Application-defined numbers as `_id`, in no order.
fn ticket() -> Collection {
    let base = Collection::new(SHOP, "t_support_ticket");
    let mut rng = base.rng();
    let births = births(&mut rng, 1200);
    let documents = births
        .into_iter()
        .enumerate()
        .map(|(at, born)| {
            doc! {
                "_id": 100_000 + ((at * 7919) % 90_001) as i64,
                "subject": rng.choose(&["Delivery", "Invoice", "Return", "Account"]),
                "status": rng.choose(&["open", "closed"]),
                "createTime": date(born),
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("_id", long(1)),
            need("subject", text(2, 40)),
            need("status", one_word_of(&["open", "closed"])),
            need("createTime", moment()),
        ]))
        .gzipped()
        .case("DM-10.2", &["T008"], "an `_id` of one's own that does not increase")
}

/// Weights as strings.
fn parcel() -> Collection {
    Collection::new(SHOP, "t_parcel_weight")
        .born("parcels", 80, |rng, ids, at, born| {
            doc! {
                "_id": ids.at(born),
                "trackingCode": format!("TRK-{:07}", at * 41 + 5),
                "weight": format!("{}.{}", rng.int(1, 30), rng.int(0, 9)),
                "createTime": date(born),
            }
        })
        .validated(object(vec![
            need("trackingCode", text(5, 20)),
            need("weight", text(1, 10)),
            need("createTime", moment()),
        ]))
        .case("DM-09.6", &["T013"], "weights are text, so 10.5 sorts before 9.5")
}
