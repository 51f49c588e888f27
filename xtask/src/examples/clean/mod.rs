//! The same business with a good model. An audit reports nothing at warning or above, and the
//! validators describe the documents completely.

mod devices;
mod social;

use bson::{Document, doc, oid::ObjectId};

use crate::examples::business::{
    all_reviews, blog, comment_schema, like_schema, order_documents, order_schema, post_schema,
    product_documents, product_schema, review_schema,
};
use crate::examples::chance::{DAY, Ids, TODAY, births, date, moments, money};
use crate::examples::dump::{Collection, Dump};
use crate::examples::entities::{Customer, Product, customers, products};
use crate::examples::schema::{
    Format, decimal, flag, formatted, int, list, long, may, moment, need, object, object_id,
    one_word_of, text,
};
use crate::examples::vocabulary::{person, title};

const SHOP: &str = "db_shop";

pub(super) fn dump() -> Dump {
    let customers = customers();
    let products = products();
    let mut collections = vec![setting(), customer(&customers)];
    collections.extend(catalogue(&products));
    collections.push(order(&customers, &products));
    collections.push(payment());
    collections.push(workflow());
    collections.extend(posts(&customers));
    collections.extend(books());
    collections.push(vehicle());
    collections.push(movie());
    collections.extend(social::collections());
    collections.extend(devices::collections());
    Dump { name: "shop-clean", collections, cases: Vec::new(), extras: Vec::new() }
}

/// ST-01: settings have their own database; ST-06: one level, one document per value.
fn setting() -> Collection {
    Collection::new("db_config", "t_app_setting")
        .born("clean settings", 40, |rng, ids, at, born| {
            doc! {
                "_id": ids.at(born),
                "moduleName": rng.choose(&["checkout", "search", "mail", "stock"]),
                "settingName": format!("option{}", at + 1),
                "content": format!("{} for {}", rng.choose(&["default", "custom"]), rng.choose(&["web", "app"])),
                "updateTime": date(born),
            }
        })
        .validated(object(vec![
            need("moduleName", one_word_of(&["checkout", "search", "mail", "stock"])),
            need("settingName", text(2, 60)),
            need("content", text(1, 1000)),
            need("updateTime", moment()),
        ]))
        .unique(doc! { "moduleName": 1, "settingName": 1 })
        .case("ST-01", &[], "settings in a database of their own")
}

/// ST-04, ST-34: one spelling per field; the last ten logins, also limited by the validator.
fn customer(customers: &[Customer]) -> Collection {
    let base = Collection::new(SHOP, "t_customer_account");
    let mut rng = base.rng();
    let documents = customers
        .iter()
        .map(|c| {
            let n = if rng.chance(80) { 10 } else { rng.between(1, 9) };
            let logins: Vec<Document> = (0..n)
                .map(|k| doc! { "loginTime": date(TODAY - (n - k) * DAY), "city": c.person.city })
                .collect();
            doc! {
                "_id": c.id,
                "userName": &c.person.name,
                "email": &c.person.email,
                "phone": &c.person.phone,
                "age": rng.int(18, 80),
                "status": rng.choose(&["active", "active", "active", "inactive"]),
                "recentLogins": logins,
                "createTime": date(c.born),
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("userName", text(2, 50)),
            need("email", formatted(Format::Email)),
            need("phone", formatted(Format::Phone)),
            need("age", int(0, 150)),
            need("status", one_word_of(&["active", "inactive", "deleted"])),
            need(
                "recentLogins",
                list(object(vec![need("loginTime", moment()), need("city", text(2, 40))]), 10),
            ),
            need("createTime", moment()),
        ]))
        .unique(doc! { "email": 1 })
        .gzipped()
        .case("ST-34", &[], "the last ten logins beside the account")
}

/// ST-28: five reviews, their number and average in the product, all reviews in a separate
/// collection.
fn catalogue(products: &[Product]) -> [Collection; 2] {
    let (reviews, summaries) = all_reviews("clean reviews", products);
    let documents = product_documents("clean products", products, &summaries);
    [
        Collection::new(SHOP, "t_catalog_product")
            .documents(documents)
            .validated(product_schema())
            .index(doc! { "category": 1, "price": 1 })
            .gzipped()
            .case("ST-28", &[], "five reviews of 2,847 in the product"),
        Collection::new(SHOP, "t_catalog_review")
            .documents(reviews)
            .validated(review_schema())
            .index(doc! { "productId": 1, "createTime": -1 })
            .gzipped()
            .case("ST-28", &[], "every review a document"),
    ]
}

/// ST-07, ST-26: embedded lines with ids, and with names and prices at the time of the order.
fn order(customers: &[Customer], products: &[Product]) -> Collection {
    Collection::new(SHOP, "t_trade_order")
        .documents(order_documents("clean orders", 600, customers, products))
        .validated(order_schema())
        .unique(doc! { "orderNo": 1 })
        .index(doc! { "customerId": 1, "createTime": -1 })
        .index(doc! { "items.productId": 1 })
        .gzipped()
        .case("ST-07", &[], "an order and its lines in one document")
}

/// ST-09, ST-10, ST-11: Decimal128, ObjectId, a single type each.
fn payment() -> Collection {
    Collection::new(SHOP, "t_trade_payment")
        .born("clean payments", 500, |rng, ids, at, born| {
            doc! {
                "_id": ids.at(born),
                "paymentId": 20_240_315_000_001 + at as i64,
                "amount": money(rng.between(100, 90_000)),
                "channel": rng.choose(&["card", "transfer", "wallet"]),
                "status": rng.choose(&["paid", "paid", "refunded"]),
                "payTime": date(born),
            }
        })
        .validated(object(vec![
            need("paymentId", long(1)),
            need("amount", decimal()),
            need("channel", one_word_of(&["card", "transfer", "wallet"])),
            need("status", one_word_of(&["paid", "refunded"])),
            need("payTime", moment()),
        ]))
        .unique(doc! { "paymentId": 1 })
        .gzipped()
        .case("ST-09", &[], "amounts as decimals, ids as longs, states as words")
}

/// ST-22: the newest hundred entries; every push truncates the array, and the validator has the
/// limit.
fn workflow() -> Collection {
    Collection::new(SHOP, "t_trade_workflow")
        .born("clean workflows", 80, |rng, ids, at, born| {
            let n = ((TODAY - born) / DAY * 2 / 3).min(100) as usize;
            let steps: Vec<Document> = moments(rng, born, n)
                .into_iter()
                .map(|when| {
                    doc! {
                        "action": rng.choose(&["checked", "changed", "printed", "exported"]),
                        "operatorName": person(rng, at).name,
                        "actionTime": date(when),
                    }
                })
                .collect();
            doc! {
                "_id": ids.at(born),
                "orderNo": format!("ORD2023{:05}", at + 1),
                "state": rng.choose(&["open", "closed"]),
                "auditLog": steps,
            }
        })
        .validated(object(vec![
            need("orderNo", formatted(Format::OrderNumber)),
            need("state", one_word_of(&["open", "closed"])),
            need(
                "auditLog",
                list(
                    object(vec![
                        need("action", text(2, 20)),
                        need("operatorName", text(2, 50)),
                        need("actionTime", moment()),
                    ]),
                    100,
                ),
            ),
        ]))
        .unique(doc! { "orderNo": 1 })
        .gzipped()
        .case("ST-22", &[], "the log keeps the newest hundred entries")
}

/// ST-05, ST-19, ST-27: posts separate from users, a preview and counters in the post.
fn posts(customers: &[Customer]) -> [Collection; 3] {
    let mut blog = blog(customers);
    for post in &mut blog.posts {
        let id = post.get_object_id("_id").ok();
        let likes =
            blog.likes.iter().filter(|like| like.get_object_id("postId").ok() == id).count();
        post.insert("likeCount", likes as i32);
    }
    [
        Collection::new(SHOP, "t_blog_post")
            .documents(blog.posts)
            .validated(post_schema(vec![need("likeCount", int(0, 100_000_000))]))
            .index(doc! { "createTime": -1 })
            .gzipped()
            .case("ST-27", &[], "likes and comments counted when they come, three comments shown"),
        Collection::new(SHOP, "t_blog_comment")
            .documents(blog.comments)
            .validated(comment_schema())
            .index(doc! { "postId": 1, "createTime": -1 })
            .gzipped()
            .case("ST-19", &[], "all comments apart"),
        Collection::new(SHOP, "t_blog_like")
            .documents(blog.likes)
            .validated(like_schema())
            .unique(doc! { "postId": 1, "customerId": 1 })
            .index(doc! { "customerId": 1 })
            .gzipped()
            .case("ST-27", &[], "who likes what, once"),
    ]
}

/// ST-25: the first thousand buyers inline, the rest in pages from the second on.
fn books() -> [Collection; 2] {
    let base = Collection::new(SHOP, "t_catalog_book");
    let mut rng = base.rng();
    let (mut ids, mut page_ids, mut buyers) =
        (Ids::new("clean books"), Ids::new("clean pages"), Ids::new("clean buyers"));
    let births = births(&mut rng, 120);
    let mut pages = Vec::new();
    let documents = births
        .into_iter()
        .enumerate()
        .map(|(at, born)| {
            let id = ids.at(born);
            let n = if at == 17 { 2500 } else { rng.below(9) };
            let all: Vec<ObjectId> =
                moments(&mut rng, born, n).into_iter().map(|when| buyers.at(when)).collect();
            for (page, chunk) in (2..).zip(all.chunks(1000).skip(1)) {
                pages.push(doc! {
                    "_id": page_ids.at(TODAY),
                    "bookId": id,
                    "page": page,
                    "customersPurchased": chunk.to_vec(),
                });
            }
            doc! {
                "_id": id,
                "title": format!("{}, part {}", title(&mut rng), at + 1),
                "price": money(rng.between(8, 60) * 100 + 90),
                "customersPurchased": all.iter().copied().take(1000).collect::<Vec<_>>(),
                "purchaseCount": n as i32,
                "hasOverflow": n > 1000,
                "publishTime": date(born),
            }
        })
        .collect();
    [
        base.documents(documents)
            .validated(object(vec![
                need("title", text(2, 120)),
                need("price", decimal()),
                need("customersPurchased", list(object_id(), 1000)),
                need("purchaseCount", int(0, 100_000_000)),
                need("hasOverflow", flag()),
                need("publishTime", moment()),
            ]))
            .gzipped()
            .case(
                "ST-25",
                &[],
                "the first thousand buyers of the bestseller, and a flag that there are more",
            ),
        Collection::new(SHOP, "t_book_page")
            .documents(pages)
            .validated(object(vec![
                need("bookId", object_id()),
                need("page", int(2, 1_000_000)),
                need("customersPurchased", list(object_id(), 1000)),
            ]))
            .unique(doc! { "bookId": 1, "page": 1 })
            .gzipped()
            .case("ST-25", &[], "the other buyers, a thousand to a page"),
    ]
}

/// PT-poly.1, PT-poly.2: a discriminator field, with a branch of the validator and an index for
/// each kind.
fn vehicle() -> Collection {
    let kind = |name| one_word_of(&[name]);
    Collection::new(SHOP, "t_fleet_vehicle")
        .born("clean vehicles", 120, |rng, ids, at, born| {
            let (kind, own) = match at % 3 {
                0 => ("car", doc! { "doors": rng.int(3, 5), "trunkSizeLiters": rng.int(300, 600) }),
                1 => ("truck", doc! { "doors": 2, "payloadKg": rng.int(1000, 9000) }),
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
        .validated(
            object(vec![
                need("type", one_word_of(&["car", "truck", "motorcycle"])),
                need("brand", text(2, 40)),
                may("doors", int(1, 9)),
                may("trunkSizeLiters", int(0, 5000)),
                may("payloadKg", int(0, 100_000)),
                may("engineCc", int(0, 10_000)),
            ])
            .one_of(vec![
                object(vec![
                    need("type", kind("car")),
                    need("doors", int(1, 9)),
                    need("trunkSizeLiters", int(0, 5000)),
                ]),
                object(vec![
                    need("type", kind("truck")),
                    need("doors", int(1, 9)),
                    need("payloadKg", int(0, 100_000)),
                ]),
                object(vec![need("type", kind("motorcycle")), need("engineCc", int(0, 10_000))]),
            ]),
        )
        .index(doc! { "brand": 1 })
        .index_with(
            doc! { "payloadKg": 1 },
            doc! { "partialFilterExpression": { "type": "truck" } },
        )
        .index_with(
            doc! { "engineCc": 1 },
            doc! { "partialFilterExpression": { "type": "motorcycle" } },
        )
        .case("PT-poly.1", &[], "kinds distinguished, described and indexed separately")
}

/// ST-35: results stored with the time of their computation.
fn movie() -> Collection {
    Collection::new(SHOP, "t_media_movie")
        .born("clean movies", 40, |rng, ids, at, born| {
            let (count, sum) = if at == 0 {
                (843, 3541)
            } else {
                let count = rng.int(1, 600);
                (count, count * rng.int(25, 48) / 10)
            };
            doc! {
                "_id": ids.at(born),
                "title": format!("{} {}", title(rng), at + 1),
                "computed": {
                    "totalRevenue": money(if at == 0 { 125_000_000 } else { rng.between(100_000, 90_000_000) }),
                    // The sum is stored, so that the average stays exact under concurrent ratings.
                    "ratingSum": sum,
                    "ratingCount": count,
                    "lastComputed": date(TODAY - DAY),
                },
            }
        })
        .validated(object(vec![
            need("title", text(2, 120)),
            need(
                "computed",
                object(vec![
                    need("totalRevenue", decimal()),
                    need("ratingSum", int(0, 1_000_000_000)),
                    need("ratingCount", int(0, 100_000_000)),
                    need("lastComputed", moment()),
                ]),
            ),
        ]))
        .case("ST-35", &[], "revenue and ratings computed when they change")
}
