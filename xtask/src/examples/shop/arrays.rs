//! Documents that grow: ST-05, ST-06, ST-22, ST-25, ST-28, and other reasons why documents are
//! large or hard to read.

use bson::{Binary, Bson, Document, doc, spec::BinarySubtype};

use super::SHOP;
use crate::examples::chance::{Ids, Rng, age, births, date, moments, money, power};
use crate::examples::dump::Collection;
use crate::examples::entities::{HEADPHONES_REVIEWS, products};
use crate::examples::schema::{
    Format, any_object, binary, decimal, endless_list, formatted, int, long, moment, need, object,
    object_id, one_word_of, text,
};
use crate::examples::vocabulary::{paragraph, person, sentence, title};

pub(super) fn collections() -> Vec<Collection> {
    vec![
        user(),
        order_list(),
        workflow(),
        product_page(),
        book(),
        price_list(),
        seat_plan(),
        app_config(),
        visit_count(),
        thumbnail(),
        photo(),
        help_page(),
    ]
}

/// The length of a list that grows over its whole life, faster the older it is.
pub(super) fn grown(rng: &mut Rng, born: i64, steady: f64, late: f64, bend: u32) -> usize {
    let age = age(born);
    let n = 2.0 + steady * age + late * power(age, bend);
    // Varies by up to a tenth.
    (n * rng.between(90, 110) as f64 / 100.0) as usize
}

/// Users that contain all their posts.
fn user() -> Collection {
    Collection::new(SHOP, "t_user")
        .born("users", 80, |rng, ids, at, born| {
            let somebody = person(rng, at);
            let n = if at == 0 { 3900 } else { grown(rng, born, 40.0, 3300.0, 14) };
            let posts: Vec<Document> = moments(rng, born, n)
                .into_iter()
                .map(|when| {
                    doc! {
                        "title": title(rng),
                        "content": paragraph(rng, 3),
                        "likeCount": rng.int(0, 60),
                        "createTime": date(when),
                    }
                })
                .collect();
            doc! {
                "_id": ids.at(born),
                "userName": somebody.name,
                "email": somebody.email,
                "posts": posts,
                "createTime": date(born),
            }
        })
        .validated(object(vec![
            need("userName", text(2, 50)),
            need("email", formatted(Format::Email)),
            need(
                "posts",
                endless_list(object(vec![
                    need("title", text(1, 120)),
                    need("content", text(1, 20_000)),
                    need("likeCount", int(0, 1_000_000)),
                    need("createTime", moment()),
                ])),
            ),
            need("createTime", moment()),
        ]))
        .gzipped()
        .case(
            "ST-05",
            &["D001", "D008"],
            "all posts of a user are in the user: the most active have thousands, in documents of more than 1 MB",
        )
}

/// The rule book's user 10001 with 1,024 embedded orders.
fn order_list() -> Collection {
    Collection::new(SHOP, "t_user_order_list")
        .born("order lists", 70, |rng, ids, at, born| {
            let n = if at == 0 { 1024 } else { grown(rng, born, 60.0, 600.0, 6) };
            let orders: Vec<Document> = moments(rng, born, n)
                .into_iter()
                .enumerate()
                .map(|(k, when)| {
                    doc! {
                        "orderId": 20_240_000_000_000 + (at * 10_000 + k) as i64,
                        "amount": money(rng.between(5, 500) * 100),
                        "orderTime": date(when),
                    }
                })
                .collect();
            doc! {
                "_id": ids.at(born),
                "userNo": 10_001 + at as i64,
                "userName": person(rng, at).name,
                "orders": orders,
            }
        })
        .validated(object(vec![
            need("userNo", long(1)),
            need("userName", text(2, 50)),
            need(
                "orders",
                endless_list(object(vec![
                    need("orderId", long(1)),
                    need("amount", decimal()),
                    need("orderTime", moment()),
                ])),
            ),
        ]))
        .unique(doc! { "userNo": 1 })
        .gzipped()
        .case("SN-30", &["D008"], "all orders of a user are in the user, 1,024 by now")
}

/// Orders with an unbounded log of steps.
fn workflow() -> Collection {
    Collection::new(SHOP, "t_order_workflow")
        .born("workflows", 90, |rng, ids, at, born| {
            let n = grown(rng, born, 40.0, 380.0, 6);
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
                "state": rng.choose(&["open", "open", "closed"]),
                "auditLog": steps,
            }
        })
        .validated(object(vec![
            need("orderNo", formatted(Format::OrderNumber)),
            need("state", one_word_of(&["open", "closed"])),
            need(
                "auditLog",
                endless_list(object(vec![
                    need("action", text(2, 20)),
                    need("operatorName", text(2, 50)),
                    need("actionTime", moment()),
                ])),
            ),
        ]))
        .gzipped()
        .case(
            "ST-22",
            &["D008"],
            "the log of an order keeps every entry and grows as long as the order lives",
        )
}

/// Products that contain all their reviews, 2,847 in the longest.
fn product_page() -> Collection {
    let goods = products();
    Collection::new(SHOP, "t_product_page")
        .born("product pages", 64, |rng, ids, at, born| {
            let n = if at == 0 { HEADPHONES_REVIEWS } else { grown(rng, born, 40.0, 900.0, 10) };
            let reviews: Vec<Document> = moments(rng, born, n)
                .into_iter()
                .map(|when| {
                    doc! {
                        "userName": person(rng, at).name,
                        "rating": rng.int(2, 5),
                        "content": sentence(rng),
                        "createTime": date(when),
                    }
                })
                .collect();
            doc! {
                "_id": ids.at(born),
                "productName": &goods[at].name,
                "price": money(goods[at].cents),
                "reviews": reviews,
                "createTime": date(born),
            }
        })
        .validated(object(vec![
            need("productName", text(2, 80)),
            need("price", decimal()),
            need(
                "reviews",
                endless_list(object(vec![
                    need("userName", text(2, 50)),
                    need("rating", int(1, 5)),
                    need("content", text(1, 2000)),
                    need("createTime", moment()),
                ])),
            ),
            need("createTime", moment()),
        ]))
        .gzipped()
        .case("ST-28", &["D001", "D008"], "a page that shows five reviews loads all 2,847 of them")
}

/// Most books have a few buyers, one has 2,600. Old and new books are similar, so nothing grows.
fn book() -> Collection {
    let mut buyers = Ids::new("buyers of books");
    Collection::new(SHOP, "t_book_sale")
        .born("books", 240, |rng, ids, at, born| {
            let n = if at == 117 { 2600 } else { rng.below(8) + 1 };
            let customers: Vec<Bson> =
                moments(rng, born, n).into_iter().map(|when| buyers.at(when).into()).collect();
            doc! {
                "_id": ids.at(born),
                "title": format!("{}, part {}", title(rng), at + 1),
                "price": money(rng.between(8, 60) * 100 + 90),
                "customersPurchased": customers,
                "publishTime": date(born),
            }
        })
        .validated(object(vec![
            need("title", text(2, 120)),
            need("price", decimal()),
            need("customersPurchased", endless_list(object_id())),
            need("publishTime", moment()),
        ]))
        .gzipped()
        .case(
            "ST-25",
            &["R008"],
            "a bestseller has 2,600 buyers inline where other books have a few",
        )
}

/// The eight-part path of the story.
fn app_config() -> Collection {
    let base = Collection::new(SHOP, "t_app_config");
    let mut rng = base.rng();
    let mut ids = Ids::new("configurations");
    let births = births(&mut rng, 40);
    let documents = births
        .into_iter()
        .map(|born| {
            doc! {
                "_id": ids.at(born),
                "moduleName": rng.choose(&["checkout", "search", "mail", "stock"]),
                "a": { "b": { "c": { "d": { "e": { "f": { "g": { "value": rng.int(1, 500) } } } } } } },
                "updateTime": date(born),
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("moduleName", text(2, 40)),
            need("a", any_object()),
            need("updateTime", moment()),
        ]))
        .case(
            "ST-06",
            &["D007", "N013"],
            "a value lies seven containers deep under names of one letter",
        )
}

/// Months as field names.
fn visit_count() -> Collection {
    Collection::new(SHOP, "t_visit_count")
        .born("visits", 60, |rng, ids, at, born| {
            let counts: Document = (1..=12)
                .map(|month| (format!("2023-{month:02}"), Bson::from(rng.int(0, 900))))
                .collect();
            doc! { "_id": ids.at(born), "pageName": format!("page {at}"), "counts": counts }
        })
        .validated(object(vec![need("pageName", text(2, 40)), need("counts", any_object())]))
        .case("AP-S2.5", &["D010"], "months are field names")
}

/// Images of 24 KB as base64 text.
fn thumbnail() -> Collection {
    let base = Collection::new(SHOP, "t_product_thumbnail");
    let mut ids = Ids::new("thumbnails");
    let documents = products()
        .iter()
        .take(30)
        .map(|p| {
            let mut picture = String::from("iVBORw0KGgoAAAANSUhEUgAA");
            while picture.len() < 24_000 {
                picture.push_str("CAYAAACqaXHeAAAAGXRFWHRTb2Z0d2FyZQBB");
            }
            picture.truncate(24_000);
            doc! { "_id": ids.at(p.born), "productName": &p.name, "picture": picture }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("productName", text(2, 80)),
            need("picture", text(100, 100_000)),
        ]))
        .gzipped()
        .case("DM-05.4", &["D004"], "pictures are kept in the documents as base64 text")
}

/// Photos of 300 KB as binaries.
fn photo() -> Collection {
    let base = Collection::new(SHOP, "t_product_photo");
    let mut ids = Ids::new("photos");
    let documents = products()
        .iter()
        .take(4)
        .enumerate()
        .map(|(n, p)| {
            let mut bytes = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01".to_vec();
            // Not a real image: the data repeats.
            bytes.extend((0..300_000usize).map(|i| (i % 251) as u8 ^ n as u8));
            doc! {
                "_id": ids.at(p.born),
                "productName": &p.name,
                "photo": Binary { subtype: BinarySubtype::Generic, bytes },
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![need("productName", text(2, 80)), need("photo", binary())]))
        .gzipped()
        .case(
            "DM-05.6",
            &["D001", "D005"],
            "photographs of 300 KB are nearly all there is in the collection",
        )
}

/// HTML pages of 40 KB.
fn help_page() -> Collection {
    Collection::new(SHOP, "t_help_page")
        .born("help", 12, |rng, ids, at, born| {
            let mut html = String::from("<article>");
            while html.len() < 40_000 {
                html.push_str(&format!("<p class=\"help\">{}</p>\n", sentence(rng)));
            }
            html.push_str("</article>");
            doc! { "_id": ids.at(born), "pageTitle": format!("Help {at}"), "html": html, "updateTime": date(born) }
        })
        .validated(object(vec![
            need("pageTitle", text(2, 80)),
            need("html", text(1, 200_000)),
            need("updateTime", moment()),
        ]))
        .gzipped()
        .case("DM-05.5", &["D006"], "pages of 40 KB of HTML are stored as they are")
}

/// Large because of a list that does not grow.
fn price_list() -> Collection {
    Collection::new(SHOP, "t_price_list")
        .born("price lists", 8, |rng, ids, at, born| {
            let rows: Vec<Document> = (0..rng.between(880, 940))
                .map(|n| {
                    doc! {
                        "productNo": 3000 + n,
                        "price": money(rng.between(5, 90) * 100),
                        "remark": sentence(rng),
                    }
                })
                .collect();
            doc! { "_id": ids.at(born), "listName": format!("List {at}"), "prices": rows, "validTime": date(born) }
        })
        .validated(object(vec![
            need("listName", text(2, 40)),
            need(
                "prices",
                endless_list(object(vec![
                    need("productNo", long(1)),
                    need("price", decimal()),
                    need("remark", text(1, 200)),
                ])),
            ),
            need("validTime", moment()),
        ]))
        .gzipped()
        .case("DM-05.3", &["D001", "D003"], "documents of more than 100 KB that are one list")
}

/// More than a thousand seats in a plan, small and complete from the first day.
fn seat_plan() -> Collection {
    Collection::new(SHOP, "t_seat_plan")
        .born("seat plans", 10, |rng, ids, at, born| {
            let n = if at == 4 { 1180 } else { rng.int(850, 1150) };
            let seats: Vec<Document> =
                (0..n).map(|k| doc! { "row": k / 40 + 1, "place": k % 40 + 1 }).collect();
            doc! { "_id": ids.at(born), "hallName": format!("Hall {at}"), "seats": seats }
        })
        .validated(object(vec![
            need("hallName", text(2, 40)),
            need(
                "seats",
                endless_list(object(vec![need("row", int(1, 100)), need("place", int(1, 100))])),
            ),
        ]))
        .gzipped()
        .case("DM-08.1", &["D009"], "lists of more than a thousand elements")
}
