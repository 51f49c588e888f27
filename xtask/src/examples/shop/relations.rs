//! Problems with links between collections: ST-07, ST-26, dangling references, kinds without a
//! discriminator.

use bson::{Document, doc, oid::ObjectId};

use super::SHOP;
use crate::examples::business::order_documents;
use crate::examples::chance::{Ids, births, date, money};
use crate::examples::dump::Collection;
use crate::examples::entities::{Customer, Product, customers, products};
use crate::examples::schema::{
    Format, decimal, endless_list, flag, formatted, int, list, may, moment, need, object,
    object_id, one_word_of, text,
};
use crate::examples::vocabulary::person;

pub(super) fn collections() -> Vec<Collection> {
    let customers = customers();
    let products = products();
    let (master, detail) = master_detail(&customers, &products);
    let (group, member) = club();
    vec![
        master,
        detail,
        notice(&customers),
        shipment(&customers),
        invoice(&customers),
        wish_list(&customers, &products),
        return_request(&customers, &products),
        quote(&products),
        vehicle_park(),
        group,
        member,
    ]
}

/// Orders and their lines in two collections.
fn master_detail(customers: &[Customer], products: &[Product]) -> (Collection, Collection) {
    let master = Collection::new(SHOP, "t_order_head");
    let detail = Collection::new(SHOP, "t_order_line");
    let mut rng = master.rng();
    let (mut ids, mut line_ids) = (Ids::new("masters"), Ids::new("details"));
    let births = births(&mut rng, 250);
    let mut masters = Vec::new();
    let mut details = Vec::new();
    for (at, born) in births.into_iter().enumerate() {
        let id = ids.at(born);
        let mut total = 0;
        for _ in 0..rng.between(1, 6) {
            let product = rng.pick(products);
            let quantity = rng.int(1, 3);
            total += product.cents * i64::from(quantity);
            details.push(doc! {
                "_id": line_ids.at(born),
                "orderId": id,
                "productId": product.id,
                "price": money(product.cents),
                "quantity": quantity,
            });
        }
        masters.push(doc! {
            "_id": id,
            "orderNo": format!("ORD2024{:05}", at + 1),
            "customerId": rng.pick(customers).id,
            "totalAmount": money(total),
            "status": rng.choose(&["paid", "shipped", "done"]),
            "createTime": date(born),
        });
    }
    (
        master
            .documents(masters)
            .validated(object(vec![
                need("orderNo", formatted(Format::OrderNumber)),
                need("customerId", object_id()),
                need("totalAmount", decimal()),
                need("status", one_word_of(&["paid", "shipped", "done"])),
                need("createTime", moment()),
            ]))
            .unique(doc! { "orderNo": 1 })
            .index(doc! { "customerId": 1 }),
        detail
            .documents(details)
            .validated(object(vec![
                need("orderId", object_id()),
                need("productId", object_id()),
                need("price", decimal()),
                need("quantity", int(1, 1000)),
            ]))
            .index(doc! { "orderId": 1 })
            .index(doc! { "productId": 1 })
            .gzipped()
            .case("ST-07", &["R004"], "an order is in two collections, joined on every read"),
    )
}

/// The name and address of a customer at the time of the notice.
fn notice(customers: &[Customer]) -> Collection {
    Collection::new(SHOP, "t_order_notice")
        .born("notices", 500, |rng, ids, at, born| {
            let customer = rng.pick(customers);
            // Some have changed their names and addresses since.
            let then = if at % 12 == 5 { person(rng, at + 1000) } else { customer.person.clone() };
            doc! {
                "_id": ids.at(born),
                "orderNo": format!("ORD2023{:05}", at + 1),
                "customerId": customer.id,
                "customerName": then.name,
                "customerEmail": then.email,
                "sendTime": date(born),
            }
        })
        .validated(object(vec![
            need("orderNo", formatted(Format::OrderNumber)),
            need("customerId", object_id()),
            need("customerName", text(2, 50)),
            need("customerEmail", formatted(Format::Email)),
            need("sendTime", moment()),
        ]))
        .index(doc! { "customerId": 1 })
        .gzipped()
        .case(
            "ST-26",
            &[],
            "nothing: copies beside the id, as they were at the time; one in twelve differs by now",
        )
}

/// A copy of the customer's name, declared to be updated with its source.
fn shipment(customers: &[Customer]) -> Collection {
    Collection::new(SHOP, "t_shipment")
        .born("shipments", 400, |rng, ids, at, born| {
            let customer = rng.pick(customers);
            let name =
                if at % 10 == 3 { person(rng, at).name } else { customer.person.name.clone() };
            doc! {
                "_id": ids.at(born),
                "trackingCode": format!("TRK-{:07}", at * 37 + 11),
                "customerId": customer.id,
                "customerName": name,
                "carrier": rng.choose(&["rail", "road", "air"]),
                "sendTime": date(born),
            }
        })
        .validated(object(vec![
            need("trackingCode", text(5, 20)),
            need("customerId", object_id()),
            need("customerName", text(2, 50)),
            need("carrier", one_word_of(&["rail", "road", "air"])),
            need("sendTime", moment()),
        ]))
        .index(doc! { "customerId": 1 })
        .gzipped()
        .case(
            "ST-26",
            &["R007"],
            "the name is declared to follow the customer's and one in ten does not",
        )
}

/// The id of the customer as text.
fn invoice(customers: &[Customer]) -> Collection {
    Collection::new(SHOP, "t_invoice")
        .born("invoices", 300, |rng, ids, at, born| {
            doc! {
                "_id": ids.at(born),
                "invoiceNo": format!("INV-{:06}", at + 1),
                "customerId": rng.pick(customers).id.to_hex(),
                "totalAmount": money(rng.between(500, 90_000)),
                "createTime": date(born),
            }
        })
        .validated(object(vec![
            need("invoiceNo", text(10, 10)),
            need("customerId", text(24, 24)),
            need("totalAmount", decimal()),
            need("createTime", moment()),
        ]))
        .unique(doc! { "invoiceNo": 1 })
        .index(doc! { "customerId": 1 })
        .case("PT-ref.1", &["R001"], "customerId is text where the customer's _id is an ObjectId")
}

/// Two references, no index on either.
fn wish_list(customers: &[Customer], products: &[Product]) -> Collection {
    let base = Collection::new(SHOP, "t_wish_list");
    let mut rng = base.rng();
    let mut ids = Ids::new("wishes");
    let births = births(&mut rng, 1200);
    let documents = births
        .into_iter()
        .map(|born| {
            doc! {
                "_id": ids.at(born),
                "customerId": rng.pick(customers).id,
                "productId": rng.pick(products).id,
                "createTime": date(born),
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("customerId", object_id()),
            need("productId", object_id()),
            need("createTime", moment()),
        ]))
        .gzipped()
        .case("PT-ref.1", &["R002"], "neither of two references has an index")
}

/// One return in eight refers to a deleted order.
fn return_request(customers: &[Customer], products: &[Product]) -> Collection {
    let mut gone = Ids::new("orders that are gone");
    let orders = order_documents(&format!("{SHOP}.t_order"), 600, customers, products);
    Collection::new(SHOP, "t_return_request")
        .born("returns", 160, |rng, ids, at, born| {
            let order = match rng.pick(&orders).get_object_id("_id") {
                Ok(id) if at % 8 != 3 => id,
                _ => gone.at(born),
            };
            doc! {
                "_id": ids.at(born),
                "orderId": order,
                "reason": rng.choose(&["broken", "late", "wrong size"]),
                "createTime": date(born),
            }
        })
        .validated(object(vec![
            need("orderId", object_id()),
            need("reason", text(2, 40)),
            need("createTime", moment()),
        ]))
        .index(doc! { "orderId": 1 })
        .case("PT-ref.1", &["R003"], "some returns are of orders that no longer exist")
}

/// Copies of name and price without the product's id.
fn quote(products: &[Product]) -> Collection {
    Collection::new(SHOP, "t_sales_quote")
        .born("quotes", 120, |rng, ids, at, born| {
            let items: Vec<Document> = (0..rng.between(1, 4))
                .map(|_| {
                    let product = rng.pick(products);
                    doc! {
                        "productName": &product.name,
                        "price": money(product.cents),
                        "quantity": rng.int(1, 9),
                    }
                })
                .collect();
            doc! {
                "_id": ids.at(born),
                "quoteNo": format!("QUO-{:05}", at + 1),
                "items": items,
                "createTime": date(born),
            }
        })
        .validated(object(vec![
            need("quoteNo", text(9, 9)),
            need(
                "items",
                list(
                    object(vec![
                        need("productName", text(2, 80)),
                        need("price", decimal()),
                        need("quantity", int(1, 1000)),
                    ]),
                    50,
                ),
            ),
            need("createTime", moment()),
        ]))
        .unique(doc! { "quoteNo": 1 })
        .case(
            "DM-07.7",
            &["R005"],
            "lines carry name and price but not the product they were copied from",
        )
}

/// Cars, trucks and motorcycles without a field for the kind.
fn vehicle_park() -> Collection {
    Collection::new(SHOP, "t_vehicle_park")
        .born("vehicles", 150, |rng, ids, at, born| {
            let mut vehicle =
                doc! { "_id": ids.at(born), "brand": rng.choose(&["Ford", "Honda", "Toyota", "Volvo"]) };
            vehicle.extend(match at % 3 {
                0 => doc! { "doors": rng.int(3, 5), "trunkLiters": rng.int(300, 600), "seats": rng.int(4, 7) },
                1 => doc! { "payloadKg": rng.int(1000, 9000), "axles": rng.int(2, 4), "hasCrane": rng.chance(20) },
                _ => doc! { "engineCc": rng.int(125, 1300), "sidecar": rng.chance(5), "topSpeed": rng.int(90, 280) },
            });
            vehicle
        })
        .validated(object(vec![
            need("brand", text(2, 40)),
            may("doors", int(1, 9)),
            may("trunkLiters", int(0, 5000)),
            may("seats", int(1, 9)),
            may("payloadKg", int(0, 100_000)),
            may("axles", int(1, 12)),
            may("hasCrane", flag()),
            may("engineCc", int(0, 10_000)),
            may("sidecar", flag()),
            may("topSpeed", int(0, 500)),
        ]))
        .case(
            "PT-poly.1",
            &["R009"],
            "three kinds of vehicles in one collection and no field that tells them apart",
        )
}

/// Groups list their members and members their groups; everyone is in the first group.
fn club() -> (Collection, Collection) {
    let group = Collection::new(SHOP, "t_club_group");
    let member = Collection::new(SHOP, "t_club_member");
    let mut rng = group.rng();
    let (mut ids, mut member_ids) = (Ids::new("groups"), Ids::new("members"));
    let group_births = births(&mut rng, 12);
    let groups: Vec<ObjectId> = group_births.iter().map(|born| ids.at(*born)).collect();
    let mut inside: Vec<Vec<ObjectId>> = vec![Vec::new(); groups.len()];
    let births = births(&mut rng, 1100);
    let members = births
        .into_iter()
        .enumerate()
        .map(|(at, born)| {
            let id = member_ids.at(born);
            let other = rng.below(groups.len() - 1) + 1;
            inside[0].push(id);
            inside[other].push(id);
            doc! {
                "_id": id,
                "memberName": person(&mut rng, at).name,
                "groupIds": [groups[0], groups[other]],
            }
        })
        .collect();
    let documents = groups
        .iter()
        .zip(inside)
        .enumerate()
        .map(|(at, (id, members))| {
            doc! { "_id": id, "groupName": format!("Group {}", at + 1), "memberIds": members }
        })
        .collect();
    (
        group
            .documents(documents)
            .validated(object(vec![
                need("groupName", text(2, 40)),
                need("memberIds", endless_list(object_id())),
            ]))
            .gzipped()
            .case(
                "ER-T.6",
                &["R011"],
                "groups and members list each other, and one list has 1,100 ids",
            ),
        member
            .documents(members)
            .validated(object(vec![
                need("memberName", text(2, 50)),
                need("groupIds", list(object_id(), 50)),
            ]))
            .index(doc! { "groupIds": 1 })
            .gzipped(),
    )
}
