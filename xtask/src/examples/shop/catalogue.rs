//! Problems in the catalogue: validators that are missing or ineffective, too many indexes.

use bson::{Document, doc};

use super::SHOP;
use crate::examples::chance::{Ids, births, date, money};
use crate::examples::dump::Collection;
use crate::examples::schema::{
    Node, any_object, decimal, int, long, may, moment, need, object, one_word_of, text,
};
use crate::examples::vocabulary::{CATEGORIES, CITIES, person, product_name};

pub(super) fn collections() -> Vec<Collection> {
    vec![
        supplier(),
        warehouse(),
        shelf(),
        newsletter(),
        dock(),
        stock_move(),
        search(),
        gift_card(),
        rental_vehicle(),
    ]
}

/// No validator.
fn supplier() -> Collection {
    let base = Collection::new(SHOP, "t_supplier");
    let documents = suppliers(&base);
    base.documents(documents).case("DM-11.1", &["V001"], "a core collection without a validator")
}

fn suppliers(base: &Collection) -> Vec<Document> {
    let mut rng = base.rng();
    let mut ids = Ids::new(&base.namespace());
    let births = births(&mut rng, 60);
    births
        .into_iter()
        .enumerate()
        .map(|(at, born)| {
            let contact = person(&mut rng, at);
            doc! {
                "_id": ids.at(born),
                "supplierNo": 8001 + at as i64,
                "contactName": contact.name,
                "city": contact.city,
                "createTime": date(born),
            }
        })
        .collect()
}

/// The schema is complete but only warns.
fn warehouse() -> Collection {
    let base = Collection::new(SHOP, "t_warehouse");
    let documents = suppliers(&base);
    base.documents(documents)
        .warned(object(vec![
            need("supplierNo", long(1)),
            need("contactName", text(2, 50)),
            need("city", text(2, 40)),
            need("createTime", moment()),
        ]))
        .case(
            "DM-11.2",
            &["V002"],
            "the validator only warns, and passes over documents that are wrong already",
        )
}

/// The schema only requires documents to be objects.
fn shelf() -> Collection {
    let base = Collection::new(SHOP, "t_storage_shelf");
    let documents = suppliers(&base);
    base.documents(documents).validated(any_object()).case(
        "DM-11.6",
        &["V004"],
        "the validator says nothing about fields",
    )
}

/// One index is a prefix of another.
fn stock_move() -> Collection {
    Collection::new(SHOP, "t_stock_move")
        .born("stock moves", 200, |rng, ids, at, born| {
            doc! {
                "_id": ids.at(born),
                "productNo": 3000 + (at % 40) as i64,
                "warehouse": rng.choose(CITIES),
                "quantity": rng.int(-20, 50),
                "reason": rng.choose(&["sale", "return", "delivery"]),
                "moveTime": date(born),
            }
        })
        .validated(object(vec![
            need("productNo", long(1)),
            need("warehouse", text(2, 40)),
            need("quantity", int(-100_000, 100_000)),
            need("reason", one_word_of(&["sale", "return", "delivery"])),
            need("moveTime", moment()),
        ]))
        .index(doc! { "productNo": 1 })
        .index(doc! { "productNo": 1, "moveTime": -1 })
        .case("AP-S4.6", &["I001"], "the index on productNo is the beginning of another one")
}

/// Every field has an index.
fn search() -> Collection {
    let base = Collection::new(SHOP, "t_product_search");
    let mut rng = base.rng();
    let mut ids = Ids::new("search");
    let births = births(&mut rng, 120);
    let documents = births
        .into_iter()
        .enumerate()
        .map(|(at, born)| {
            doc! {
                "_id": ids.at(born),
                "productName": product_name(at),
                "category": rng.choose(CATEGORIES),
                "price": money(rng.between(500, 40_000)),
                "stock": rng.int(0, 900),
                "color": rng.choose(&["black", "blue", "green", "white"]),
                "material": rng.choose(&["steel", "wood", "cotton"]),
                "updateTime": date(born),
            }
        })
        .collect();
    let fields = ["productName", "category", "price", "stock", "color", "material", "updateTime"];
    fields
        .into_iter()
        .fold(base, |collection, field| collection.index(doc! { field: 1 }))
        .documents(documents)
        .validated(object(vec![
            need("productName", text(2, 80)),
            need("category", one_word_of(CATEGORIES)),
            need("price", decimal()),
            need("stock", int(0, 1_000_000)),
            need("color", text(2, 20)),
            need("material", text(2, 20)),
            need("updateTime", moment()),
        ]))
        .case("AP-S4.6", &["I003"], "every field has an index of its own")
}

/// The rule book's own pattern with an additional backslash: it requires a backslash in every
/// address.
fn newsletter() -> Collection {
    let base = Collection::new(SHOP, "t_newsletter");
    let mut rng = base.rng();
    let mut ids = Ids::new("newsletters");
    let births = births(&mut rng, 60);
    let documents = births
        .into_iter()
        .enumerate()
        .map(|(at, born)| {
            doc! { "_id": ids.at(born), "email": person(&mut rng, at).email, "createTime": date(born) }
        })
        .collect();
    let pattern = r"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}$";
    base.documents(documents)
        .validated(object(vec![
            need("email", Node(doc! { "bsonType": "string", "pattern": pattern })),
            need("createTime", moment()),
        ]))
        .case(
            "GC-17",
            &["V005"],
            "the pattern for addresses asks for a backslash and refuses every address",
        )
}

/// Numbers are strings in the documents and ints in the schema.
fn dock() -> Collection {
    let base = Collection::new(SHOP, "t_loading_dock");
    let mut documents = suppliers(&base);
    for (at, document) in documents.iter_mut().enumerate() {
        if at % 4 == 0 {
            document.insert("city", at as i32);
        }
    }
    base.documents(documents)
        .validated(object(vec![
            need("supplierNo", long(1)),
            need("contactName", text(2, 50)),
            need("city", Node(doc! { "bsonType": "int" })),
            need("createTime", moment()),
        ]))
        .case("DM-11.3", &["T005", "V006"], "most documents break the validator that was set later")
}

/// The index is on a field that no document has.
fn gift_card() -> Collection {
    Collection::new(SHOP, "t_gift_card")
        .born("gift cards", 150, |rng, ids, at, born| {
            doc! {
                "_id": ids.at(born),
                "cardNumber": format!("GC-{:06}", at * 13 + 7),
                "amount": money(rng.choose(&[1000, 2500, 5000])),
                "expireTime": date(born),
            }
        })
        .validated(object(vec![
            need("cardNumber", text(9, 9)),
            need("amount", decimal()),
            need("expireTime", moment()),
        ]))
        .index(doc! { "expiredTime": 1 })
        .case("CK-12", &["I005"], "the index is on expiredTime, the field is expireTime")
}

/// There is a discriminator, but the index on a field of one kind covers all kinds.
fn rental_vehicle() -> Collection {
    Collection::new(SHOP, "t_rental_vehicle")
        .born("rental vehicles", 150, |rng, ids, at, born| {
            let (kind, own) = match at % 3 {
                0 => ("car", doc! { "doors": rng.int(3, 5), "trunkLiters": rng.int(300, 600) }),
                1 => ("truck", doc! { "payloadKg": rng.int(1000, 9000), "axles": rng.int(2, 4) }),
                _ => ("motorcycle", doc! { "engineCc": rng.int(125, 1300) }),
            };
            let mut vehicle = doc! {
                "_id": ids.at(born),
                "type": kind,
                "brand": rng.choose(&["Ford", "Honda", "Toyota", "Volvo"]),
            };
            vehicle.extend(own);
            vehicle
        })
        .validated(object(vec![
            need("type", one_word_of(&["car", "truck", "motorcycle"])),
            need("brand", text(2, 40)),
            may("doors", int(1, 9)),
            may("trunkLiters", int(0, 5000)),
            may("payloadKg", int(0, 100_000)),
            may("axles", int(1, 12)),
            may("engineCc", int(0, 10_000)),
        ]))
        .index(doc! { "payloadKg": 1 })
        .case(
            "PT-poly.2",
            &["I006"],
            "only trucks have payloadKg, and its index covers all vehicles",
        )
}
