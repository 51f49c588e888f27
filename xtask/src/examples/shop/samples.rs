//! The rule book's own sample documents, each the first in a collection of similar ones. They also
//! break a few rules that the book does not mention there: prices as doubles, collections without
//! the prefix.

use bson::{Document, doc, oid::ObjectId};

use crate::examples::chance::{DAY, Ids, births, date, day, double_money, money, timestamp_text};
use crate::examples::dump::Collection;
use crate::examples::schema::{
    Format, any_object, decimal, double, flag, formatted, int, list, long, may, moment, need,
    object, object_id, one_word_of, text,
};
use crate::examples::vocabulary::{person, product_name, sentence, title};

const SAMPLE: &str = "db_sample";

pub(super) fn collections() -> Vec<Collection> {
    let mut all =
        vec![good_order(), good_names(), good_types(), bad_types(), good_nesting(), bad_nesting()];
    all.extend(outlier_pair());
    all.push(vehicles());
    all.push(movies());
    all.extend(subset_pair());
    all.push(extended_order());
    all.push(hybrid_post());
    all
}

/// The order that the rule book embeds, with prices as written there.
fn good_order() -> Collection {
    let base = Collection::new(SAMPLE, "t_order_embedded");
    let mut rng = base.rng();
    let mut ids = Ids::new("embedded orders");
    let first = day("2024-03-15T10:30:00Z");
    let mut documents = vec![doc! {
        "_id": ids.at(first),
        "orderId": "ORD202403001",
        "customerId": "C001",
        "items": [
            { "productId": "P001", "productName": "Product A", "quantity": 2, "price": 99.00 },
            { "productId": "P002", "productName": "Product B", "quantity": 1, "price": 199.00 },
        ],
        "totalAmount": 397.00,
        "status": "paid",
        "createTime": date(first),
    }];
    documents.extend((2..=60).map(|n| {
        let when = first + n * DAY;
        let (cents, quantity) = (rng.between(5, 300) * 100 + 90, rng.int(1, 3));
        doc! {
            "_id": ids.at(when),
            "orderId": format!("ORD2024{:05}", 3000 + n),
            "customerId": format!("C{:03}", rng.int(1, 80)),
            "items": [{
                "productId": format!("P{:03}", rng.int(1, 40)),
                "productName": product_name(rng.below(40)),
                "quantity": quantity,
                "price": double_money(cents),
            }],
            "totalAmount": double_money(cents * i64::from(quantity)),
            "status": rng.choose(&["paid", "shipped"]),
            "createTime": date(when),
        }
    }));
    let price = || double(0.0, 1_000_000.0);
    base.documents(documents)
        .validated(object(vec![
            need("orderId", formatted(Format::OrderNumber)),
            need("customerId", text(4, 4)),
            need(
                "items",
                list(
                    object(vec![
                        need("productId", text(4, 4)),
                        need("productName", text(2, 80)),
                        need("quantity", int(1, 1000)),
                        need("price", price()),
                    ]),
                    50,
                ),
            ),
            need("totalAmount", price()),
            need("status", one_word_of(&["paid", "shipped"])),
            need("createTime", moment()),
        ]))
        .case(
            "SN-30",
            &["T002"],
            "well embedded, but prices are doubles in the rule book's own sample",
        )
}

fn good_names() -> Collection {
    Collection::new(SAMPLE, "t_order_named")
        .born("named orders", 40, |rng, ids, at, born| {
            doc! {
                "_id": ids.at(born),
                "userName": person(rng, at).name,
                "createTime": date(born),
                "orderItems": [{ "productId": rng.int(1, 900), "quantity": rng.int(1, 4) }],
                "totalAmount": money(rng.between(500, 90_000)),
            }
        })
        .validated(object(vec![
            need("userName", text(2, 50)),
            need("createTime", moment()),
            need(
                "orderItems",
                list(
                    object(vec![
                        need("productId", int(1, 1_000_000)),
                        need("quantity", int(1, 1000)),
                    ]),
                    50,
                ),
            ),
            need("totalAmount", decimal()),
        ]))
        .case("SN-30", &[], "nothing: names that say what they hold, in one style")
}

fn good_types() -> Collection {
    let base = Collection::new(SAMPLE, "t_order_typed");
    let mut rng = base.rng();
    let mut ids = Ids::new("typed orders");
    let first = ObjectId::parse_str("65f3a2b8c1d2e3f4a5b6c7d8").expect("the sample's id is one");
    let documents = (0..40)
        .map(|n| {
            let when = day("2024-03-15T10:30:00Z") + n * DAY / 2;
            doc! {
                "_id": if n == 0 { first } else { ids.at(when) },
                "orderId": 20_240_315_000_001 + n,
                "amount": money(if n == 0 { 19_999 } else { rng.between(500, 90_000) }),
                "createTime": date(when),
                "status": if n == 0 { "paid" } else { rng.choose(&["paid", "shipped"]) },
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("orderId", long(1)),
            need("amount", decimal()),
            need("createTime", moment()),
            need("status", one_word_of(&["paid", "shipped"])),
        ]))
        .unique(doc! { "orderId": 1 })
        .case("SN-30", &[], "nothing: the types as they should be")
}

fn bad_types() -> Collection {
    let base = Collection::new(SAMPLE, "t_order_untyped");
    let mut rng = base.rng();
    let documents = (0..40)
        .map(|n| {
            let when = day("2024-03-15T10:30:00Z") + n * DAY / 2;
            doc! {
                "_id": rng.uuid(),
                "orderId": (20_240_315_000_001 + n).to_string(),
                "amount": if n == 0 { 199.99 } else { double_money(rng.between(5, 900) * 100 + 99) },
                "createTime": timestamp_text(when),
                "status": if n == 0 { 1 } else { rng.int(1, 3) },
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("_id", formatted(Format::Uuid)),
            need("orderId", text(14, 14)),
            need("amount", double(0.0, 1_000_000.0)),
            need("createTime", text(19, 19)),
            need("status", int(1, 3)),
        ]))
        .unique(doc! { "orderId": 1 })
        .case(
            "SN-30",
            &["T001", "T002", "T003", "T004", "T007"],
            "the same order with a random id, digits and dates as text, a double amount and a status of 1",
        )
}

fn good_nesting() -> Collection {
    Collection::new(SAMPLE, "t_order_contact")
        .born("contacts", 40, |rng, ids, at, born| {
            let customer = person(rng, at);
            let phone = if at == 0 { "13800138000".to_owned() } else { customer.phone };
            doc! {
                "_id": ids.at(born),
                "customer": { "name": customer.name, "contact": { "phone": phone, "email": customer.email } },
                "items": [{ "productId": rng.int(1, 900), "quantity": rng.int(1, 4) }],
            }
        })
        .validated(object(vec![
            need(
                "customer",
                object(vec![
                    need("name", text(2, 50)),
                    need(
                        "contact",
                        object(vec![
                            need("phone", formatted(Format::Phone)),
                            need("email", formatted(Format::Email)),
                        ]),
                    ),
                ]),
            ),
            need(
                "items",
                list(
                    object(vec![
                        need("productId", int(1, 1_000_000)),
                        need("quantity", int(1, 1000)),
                    ]),
                    50,
                ),
            ),
        ]))
        .case("SN-30", &[], "nothing: two containers at most")
}

fn bad_nesting() -> Collection {
    let base = Collection::new(SAMPLE, "t_order_nested");
    let mut rng = base.rng();
    let mut ids = Ids::new("nested");
    let births = births(&mut rng, 40);
    let documents = births
        .into_iter()
        .map(|born| {
            doc! {
                "_id": ids.at(born),
                "level1": { "level2": { "level3": { "level4": { "level5": { "data": sentence(&mut rng) } } } } },
            }
        })
        .collect();
    base.documents(documents).validated(object(vec![need("level1", any_object())])).case(
        "SN-30",
        &["D007"],
        "a value lies five containers deep",
    )
}

/// Books with a flag, and the pages of the bestseller from the second on.
fn outlier_pair() -> [Collection; 2] {
    let books = Collection::new(SAMPLE, "books");
    let mut rng = books.rng();
    let (mut ids, mut page_ids, mut buyers) =
        (Ids::new("sample books"), Ids::new("sample pages"), Ids::new("sample buyers"));
    let births = births(&mut rng, 60);
    let mut pages = Vec::new();
    let documents = births
        .into_iter()
        .enumerate()
        .map(|(at, born)| {
            let id = ids.at(born);
            let n = if at == 7 { 2500 } else { rng.below(9) };
            let all: Vec<ObjectId> =
                (0..n).map(|k| buyers.at(born + k as i64 * DAY / 16)).collect();
            for (page, chunk) in (2..).zip(all.chunks(1000).skip(1)) {
                pages.push(doc! {
                    "_id": page_ids.at(born),
                    "book_id": id,
                    "page": page,
                    "customers_purchased": chunk.to_vec(),
                });
            }
            doc! {
                "_id": id,
                "title": format!("{}, part {}", title(&mut rng), at + 1),
                "customers_purchased": all.iter().copied().take(1000).collect::<Vec<_>>(),
                "has_overflow": n > 1000,
            }
        })
        .collect();
    [
        books
            .documents(documents)
            .validated(object(vec![
                need("title", text(2, 120)),
                need("customers_purchased", list(object_id(), 1000)),
                need("has_overflow", flag()),
            ]))
            .gzipped()
            .case("SN-30", &["N006"], "overflow pages done right, under names without the prefix"),
        Collection::new(SAMPLE, "book_overflow")
            .documents(pages)
            .validated(object(vec![
                need("book_id", object_id()),
                need("page", int(2, 100_000)),
                need("customers_purchased", list(object_id(), 1000)),
            ]))
            .unique(doc! { "book_id": 1, "page": 1 })
            .gzipped()
            .case("SN-30", &["N006"], "overflow pages done right, under names without the prefix"),
    ]
}

/// Three kinds, distinguished by `type`.
fn vehicles() -> Collection {
    Collection::new(SAMPLE, "vehicles")
        .born("sample vehicles", 120, |rng, ids, at, born| {
            let sample = at < 3;
            let (kind, brand, own) = match at % 3 {
                0 => (
                    "car",
                    "Toyota",
                    doc! {
                        "doors": if sample { 4 } else { rng.int(3, 5) },
                        "trunk_size_liters": if sample { 450 } else { rng.int(300, 600) },
                    },
                ),
                1 => (
                    "truck",
                    "Ford",
                    doc! { "doors": 2, "payload_kg": if sample { 5000 } else { rng.int(1000, 9000) } },
                ),
                _ => (
                    "motorcycle",
                    "Harley",
                    doc! { "engine_cc": if sample { 1200 } else { rng.int(125, 1300) } },
                ),
            };
            let brand = if sample { brand } else { rng.choose(&["Ford", "Honda", "Toyota", "Volvo"]) };
            let mut vehicle = doc! { "_id": ids.at(born), "type": kind, "brand": brand };
            vehicle.extend(own);
            vehicle
        })
        .validated(object(vec![
            need("type", one_word_of(&["car", "truck", "motorcycle"])),
            need("brand", text(2, 40)),
            may("doors", int(1, 9)),
            may("trunk_size_liters", int(0, 5000)),
            may("payload_kg", int(0, 100_000)),
            may("engine_cc", int(0, 10_000)),
        ]))
        .index(doc! { "brand": 1 })
        .index_with(
            doc! { "payload_kg": 1 },
            doc! { "partialFilterExpression": { "type": "truck" } },
        )
        .case(
            "SN-30",
            &["N006"],
            "kinds distinguished and indexed separately, under a name without the prefix",
        )
}

/// Results that were computed once and stored.
fn movies() -> Collection {
    Collection::new(SAMPLE, "movies")
        .born("movies", 40, |rng, ids, at, born| {
            let first = at == 0;
            doc! {
                "_id": ids.at(born),
                "title": format!("{} {}", title(rng), at + 1),
                "computed": {
                    "total_revenue": if first { 1_250_000 } else { rng.between(1_000, 900_000) },
                    "avg_rating": if first { 4.2 } else { rng.between(25, 48) as f64 / 10.0 },
                    "rating_count": if first { 843 } else { rng.int(1, 600) },
                    "last_computed": date(day("2025-01-15T00:00:00Z")),
                },
            }
        })
        .validated(object(vec![
            need("title", text(2, 120)),
            need(
                "computed",
                object(vec![
                    need("total_revenue", long(0)),
                    need("avg_rating", double(0.0, 5.0)),
                    need("rating_count", int(0, 1_000_000)),
                    need("last_computed", moment()),
                ]),
            ),
        ]))
        .case("SN-30", &["N006"], "computed fields done right, under a name without the prefix")
}

/// A product with the ten newest of its 247 reviews, and the reviews.
fn subset_pair() -> [Collection; 2] {
    let products = Collection::new(SAMPLE, "products");
    let mut rng = products.rng();
    let (mut ids, mut review_ids) = (Ids::new("sample products"), Ids::new("sample reviews"));
    let begin = day("2023-06-01T00:00:00Z");
    let mut reviews = Vec::new();
    let documents: Vec<Document> = (0..40)
        .map(|at| {
            let id = ids.at(begin + at * DAY);
            let n = if at == 0 { 247 } else { rng.between(0, 30) };
            let mut newest = Vec::new();
            for k in 0..n {
                let when = begin + (at + k + 1) * DAY;
                let review = doc! {
                    "user": person(&mut rng, k as usize).name,
                    "rating": rng.int(2, 5),
                    "text": sentence(&mut rng),
                    "date": date(when),
                };
                newest.insert(0, review.clone());
                newest.truncate(10);
                let mut whole = doc! { "_id": review_ids.at(when), "product_id": id };
                whole.extend(review);
                whole.insert("helpful_votes", if k == 0 { 12 } else { rng.int(0, 30) });
                reviews.push(whole);
            }
            doc! {
                "_id": id,
                "name": if at == 0 { "Widget".to_owned() } else { product_name(at as usize) },
                "price": if at == 0 { 29.99 } else { double_money(rng.between(5, 90) * 100 + 95) },
                "recent_reviews": newest,
                "review_count": n as i32,
            }
        })
        .collect();
    let shown = || {
        vec![
            need("user", text(2, 50)),
            need("rating", int(1, 5)),
            need("text", text(1, 2000)),
            need("date", moment()),
        ]
    };
    let mut whole = shown();
    whole.insert(0, need("product_id", object_id()));
    whole.push(need("helpful_votes", int(0, 1_000_000)));
    [
        products
            .documents(documents)
            .validated(object(vec![
                need("name", text(2, 80)),
                need("price", double(0.0, 1_000_000.0)),
                need("recent_reviews", list(object(shown()), 10)),
                need("review_count", int(0, 10_000_000)),
            ]))
            .gzipped()
            .case(
                "SN-30",
                &["N006", "T002"],
                "the subset done right, with a price as double and no prefix",
            ),
        Collection::new(SAMPLE, "reviews")
            .documents(reviews)
            .validated(object(whole))
            .index(doc! { "product_id": 1, "date": -1 })
            .gzipped()
            .case("SN-30", &["N006"], "all reviews apart, under a name without the prefix"),
    ]
}

/// The flat form of an extended reference.
fn extended_order() -> Collection {
    let base = Collection::new(SAMPLE, "orders");
    let mut rng = base.rng();
    let (mut ids, mut others) = (Ids::new("sample orders"), Ids::new("sample customers"));
    let births = births(&mut rng, 50);
    let documents = births
        .into_iter()
        .enumerate()
        .map(|(at, born)| {
            let customer = person(&mut rng, at);
            let cents = if at == 0 { 2999 } else { rng.between(5, 90) * 100 + 95 };
            doc! {
                "_id": ids.at(born),
                "customer_id": others.at(born),
                "customer_name": customer.name,
                "customer_email": customer.email,
                "items": [{
                    "product_id": others.at(born),
                    "product_name": product_name(at),
                    "price": double_money(cents),
                    "quantity": if at == 0 { 2 } else { rng.int(1, 5) },
                }],
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("customer_id", object_id()),
            need("customer_name", text(2, 50)),
            need("customer_email", formatted(Format::Email)),
            need(
                "items",
                list(
                    object(vec![
                        need("product_id", object_id()),
                        need("product_name", text(2, 80)),
                        need("price", double(0.0, 1_000_000.0)),
                        need("quantity", int(1, 1000)),
                    ]),
                    50,
                ),
            ),
        ]))
        .index(doc! { "customer_id": 1 })
        .case(
            "SN-30",
            &["N006", "T002"],
            "an extended reference, with prices as doubles and no prefix",
        )
}

/// A post that counts its comments, likes and views.
fn hybrid_post() -> Collection {
    Collection::new(SAMPLE, "posts")
        .born("sample posts", 40, |rng, ids, at, born| {
            let n = if at == 0 { 247 } else { rng.int(0, 60) };
            let recent: Vec<Document> = (0..n.min(3))
                .map(|k| {
                    doc! {
                        "user": person(rng, at).name,
                        "text": sentence(rng),
                        "date": date(born + i64::from(n - k) * DAY / 8),
                    }
                })
                .collect();
            doc! {
                "_id": ids.at(born),
                "title": title(rng),
                "tags": ["home", "story"],
                "commentCount": n,
                "recentComments": recent,
                "likeCount": if at == 0 { 1247 } else { rng.int(0, 400) },
                "viewCount": if at == 0 { 58_300 } else { rng.int(100, 9_000) },
            }
        })
        .validated(object(vec![
            need("title", text(2, 120)),
            need("tags", list(text(2, 20), 10)),
            need("commentCount", int(0, 10_000_000)),
            need(
                "recentComments",
                list(
                    object(vec![
                        need("user", text(2, 50)),
                        need("text", text(1, 2000)),
                        need("date", moment()),
                    ]),
                    3,
                ),
            ),
            need("likeCount", int(0, 100_000_000)),
            need("viewCount", int(0, 1_000_000_000)),
        ]))
        .case(
            "SN-30",
            &["N006"],
            "the hybrid and the counters done right, under a name without the prefix",
        )
}
