//! Shard keys: ST-24. The keys are declared in `docward.toml` next to the dump.

use bson::doc;

use super::SHOP;
use crate::examples::chance::date;
use crate::examples::dump::Collection;
use crate::examples::schema::{Format, formatted, int, long, moment, need, object, one_word_of};
use crate::examples::vocabulary::COUNTRIES;

pub(super) fn collections() -> Vec<Collection> {
    vec![subscription(), visitor(), delivery()]
}

/// Four in five are active.
fn subscription() -> Collection {
    Collection::new(SHOP, "t_subscription")
        .born("subscriptions", 2000, |rng, ids, at, born| {
            let status = match at % 20 {
                0..=15 => "active",
                16 | 17 => "paused",
                18 => "cancelled",
                _ => "expired",
            };
            doc! {
                "_id": ids.at(born),
                "subscriberNo": 500_000 + ((at * 7919) % 2000) as i64,
                "plan": rng.choose(&["monthly", "yearly"]),
                "status": status,
                "startTime": date(born),
            }
        })
        .validated(object(vec![
            need("subscriberNo", long(1)),
            need("plan", one_word_of(&["monthly", "yearly"])),
            need("status", one_word_of(&["active", "paused", "cancelled", "expired"])),
            need("startTime", moment()),
        ]))
        .index(doc! { "status": 1 })
        .gzipped()
        .case(
            "ST-24",
            &["K001", "K002"],
            "to be sharded by status: four values, and 80 % have one of them",
        )
}

/// Three in five are from the United States, the rest from 199 other countries.
fn visitor() -> Collection {
    Collection::new(SHOP, "t_visitor")
        .born("visitors", 2500, |rng, ids, at, born| {
            let country = if at % 5 < 3 {
                COUNTRIES[0]
            } else {
                COUNTRIES[1 + (at * 31) % (COUNTRIES.len() - 1)]
            };
            doc! {
                "_id": ids.at(born),
                "visitorNo": 700_000 + ((at * 6007) % 2500) as i64,
                "country": country,
                "device": rng.choose(&["phone", "tablet", "desktop"]),
                "firstVisitTime": date(born),
            }
        })
        .validated(object(vec![
            need("visitorNo", long(1)),
            need("country", formatted(Format::Country)),
            need("device", one_word_of(&["phone", "tablet", "desktop"])),
            need("firstVisitTime", moment()),
        ]))
        .index(doc! { "country": 1 })
        .gzipped()
        .case(
            "ST-24",
            &["K001", "K002"],
            "to be sharded by country: 200 values, and 60 % have one of them",
        )
}

/// The key is the time of insertion.
fn delivery() -> Collection {
    Collection::new(SHOP, "t_delivery")
        .born("deliveries", 1500, |rng, ids, at, born| {
            doc! {
                "_id": ids.at(born),
                "deliveryNo": 900_000 + ((at * 4799) % 1500) as i64,
                "stopCount": rng.int(1, 30),
                "createTime": date(born),
            }
        })
        .validated(object(vec![
            need("deliveryNo", long(1)),
            need("stopCount", int(0, 1000)),
            need("createTime", moment()),
        ]))
        .index(doc! { "createTime": 1 })
        .gzipped()
        .case(
            "SN-17",
            &["K003"],
            "to be sharded by the time of creation: every insert goes to the last chunk",
        )
}
