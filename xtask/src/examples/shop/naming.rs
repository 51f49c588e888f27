//! Names: ST-01 to ST-04, ST-33, and the rows of the naming tables.

use bson::{Bson, Document, doc};

use super::SHOP;
use crate::examples::chance::{DAY, Ids, MINUTE, Rng, births, date, day, money};
use crate::examples::dump::Collection;
use crate::examples::schema::{
    Format, Node, Property, any_object, decimal, formatted, int, list, long, may, moment, need,
    object, one_word_of, text,
};
use crate::examples::vocabulary::person;

pub(super) fn collections() -> Vec<Collection> {
    let mut all = vec![settings(), profile(), system_orders(), member(), legacy_order()];
    all.extend(divergent());
    all.push(hyphenated());
    all.extend(odd_suffixes());
    all.push(hyphenated_database());
    all.push(mail_template());
    all.push(survey());
    all
}

/// Servers permit no validator in `admin`, so there is none.
fn settings() -> Collection {
    let base = Collection::new("admin", "app_settings");
    let mut rng = base.rng();
    let mut ids = Ids::new("settings");
    let names = [
        "checkout.timeoutSeconds",
        "checkout.maxItems",
        "mail.sender",
        "mail.footer",
        "search.pageSize",
        "shipping.freeFrom",
        "theme.name",
        "feature.wishlist",
        "feature.reviews",
        "payment.provider",
    ];
    let births = births(&mut rng, names.len());
    let documents = names
        .iter()
        .zip(births)
        .map(|(name, born)| {
            doc! {
                "_id": ids.at(born),
                "settingName": *name,
                "content": format!("{} for {}", rng.pick(&["default", "custom"]), rng.pick(&["web", "app"])),
                "updateTime": date(born),
            }
        })
        .collect();
    base.documents(documents).case(
        "ST-01",
        &["N001"],
        "business settings live in the server's own database `admin`",
    )
}

fn people(
    label: &str,
    n: usize,
    make: impl Fn(&mut Rng, Document, i64) -> Document,
) -> Vec<Document> {
    people_born(label, births(&mut Rng::new(label), n), make)
}

fn people_born(
    label: &str,
    births: Vec<i64>,
    make: impl Fn(&mut Rng, Document, i64) -> Document,
) -> Vec<Document> {
    let mut rng = Rng::new(label);
    let mut ids = Ids::new(label);
    births
        .into_iter()
        .enumerate()
        .map(|(at, born)| {
            let somebody = person(&mut rng, at);
            let start =
                doc! { "_id": ids.at(born), "userName": somebody.name, "email": somebody.email };
            make(&mut rng, start, born)
        })
        .collect()
}

fn person_schema(more: Vec<Property>) -> Node {
    let mut properties =
        vec![need("userName", text(2, 50)), need("email", formatted(Format::Email))];
    properties.extend(more);
    object(properties)
}

fn profile() -> Collection {
    let base = Collection::new("UserCenter", "t_user_profile");
    let documents = people(&base.namespace(), 80, |rng, mut user, born| {
        user.insert("age", rng.int(18, 80));
        user.insert("status", rng.choose(&["active", "active", "inactive"]));
        user.insert("createTime", date(born));
        user
    });
    base.documents(documents).validated(person_schema(vec![
        need("age", int(0, 150)),
        need("status", one_word_of(&["active", "inactive", "deleted"])),
        need("createTime", moment()),
    ]))
}

fn small_orders(label: &str, n: usize) -> Vec<Document> {
    let mut rng = Rng::new(label);
    let mut ids = Ids::new(label);
    let births = births(&mut rng, n);
    births
        .into_iter()
        .enumerate()
        .map(|(at, born)| {
            doc! {
                "_id": ids.at(born),
                "orderNo": format!("ORD2023{:05}", at + 1),
                "totalAmount": money(rng.between(500, 90_000)),
                "status": rng.choose(&["paid", "shipped", "done"]),
                "createTime": date(born),
            }
        })
        .collect()
}

fn small_order_schema() -> Node {
    object(vec![
        need("orderNo", formatted(Format::OrderNumber)),
        need("totalAmount", decimal()),
        need("status", one_word_of(&["paid", "shipped", "done"])),
        need("createTime", moment()),
    ])
}

fn system_orders() -> Collection {
    let base = Collection::new(SHOP, "system.orders");
    let documents = small_orders(&base.namespace(), 60);
    base.documents(documents).validated(small_order_schema()).case(
        "ST-03",
        &["N009"],
        "backup tools skip collections whose name begins with `system.`",
    )
}

/// One time in four spellings.
fn member() -> Collection {
    let base = Collection::new(SHOP, "t_member_account");
    let documents = people(&base.namespace(), 200, |rng, mut user, born| {
        let spelling = match rng.below(10) {
            0..=4 => "createTime",
            5 | 6 => "Create_Time",
            7 | 8 => "create_time",
            _ => "CT",
        };
        user.insert("memberLevel", rng.choose(&["basic", "silver", "gold"]));
        user.insert(spelling, date(born));
        user
    });
    base.documents(documents)
        .validated(person_schema(vec![
            need("memberLevel", one_word_of(&["basic", "silver", "gold"])),
            may("createTime", moment()),
            may("Create_Time", moment()),
            may("create_time", moment()),
            may("CT", moment()),
        ]))
        .case(
            "ST-04",
            &["N016"],
            "the time of creation is spelled createTime, Create_Time, create_time and CT",
        )
}

/// The bad names of the rule book's sample.
fn legacy_order() -> Collection {
    let base = Collection::new(SHOP, "t_legacy_order");
    let documents = people(&base.namespace(), 60, |rng, user, born| {
        let name = user.get("userName").cloned().unwrap_or(Bson::Null);
        let items = vec![doc! { "productId": rng.int(1, 900), "quantity": rng.int(1, 4) }];
        doc! {
            "_id": user.get("_id").cloned().unwrap_or(Bson::Null),
            "UN": name,
            "Create_Time": date(born),
            "oi": items,
            "_total": money(rng.between(500, 90_000)),
        }
    });
    base.documents(documents)
        .validated(object(vec![
            need("UN", text(2, 50)),
            need("Create_Time", moment()),
            need(
                "oi",
                list(
                    object(vec![
                        need("productId", int(1, 1_000_000)),
                        need("quantity", int(1, 1000)),
                    ]),
                    50,
                ),
            ),
            need("_total", decimal()),
        ]))
        .case(
            "SN-30",
            &["N012", "N013", "N015"],
            "UN and oi say nothing, Create_Time mixes two styles, _total begins with an underscore",
        )
}

/// Three spellings of one collection in one project.
fn divergent() -> Vec<Collection> {
    let line = |name: &str, rules: &[&'static str]| {
        let base = Collection::new("db_legacy", name);
        let documents = small_orders(&base.namespace(), 30);
        base.documents(documents).validated(small_order_schema()).case(
            "ST-33",
            rules,
            "one collection name in three spellings, none with the prefix",
        )
    };
    vec![
        line("OrderDetail", &["N006"]),
        line("order_detail", &["N006", "N017"]),
        line("orderdetail", &["N006"]),
    ]
}

fn hyphenated() -> Collection {
    let base = Collection::new(SHOP, "t_user-address");
    let documents = people(&base.namespace(), 40, |rng, mut user, _| {
        user.insert(
            "address",
            doc! { "street": format!("Harbour Road {}", rng.int(1, 200)), "city": "Shenzhen" },
        );
        user
    });
    base.documents(documents).validated(person_schema(vec![need("address", any_object())])).case(
        "DM-03.2",
        &["N007"],
        "the collection name has a hyphen",
    )
}

/// One collection per month, named after it in words.
fn odd_suffixes() -> Vec<Collection> {
    [
        ("apr24", "2024-04-01T00:00:00Z"),
        ("jun24", "2024-06-01T00:00:00Z"),
        ("may24", "2024-05-01T00:00:00Z"),
    ]
    .into_iter()
    .map(|(month, begin)| {
        let base = Collection::new(SHOP, format!("t_visit_log_{month}"));
        let births = (0..20).map(|n| day(begin) + n * DAY + n * n * MINUTE).collect();
        let documents = people_born(&base.namespace(), births, |rng, mut user, born| {
            user.insert("pageCount", rng.int(1, 30));
            user.insert("visitTime", date(born));
            user
        });
        let rules: &[&'static str] = if month == "apr24" { &["N010"] } else { &[] };
        base.documents(documents)
            .validated(person_schema(vec![
                need("pageCount", int(0, 10_000)),
                need("visitTime", moment()),
            ]))
            .case(
                "DM-03.5",
                rules,
                "split by month with a suffix in words, reported once for all months",
            )
    })
    .collect()
}

fn hyphenated_database() -> Collection {
    let base = Collection::new("db-payment", "t_pay_channel");
    let mut ids = Ids::new("channels");
    let mut rng = base.rng();
    let births = births(&mut rng, 6);
    let documents = ["card", "transfer", "wallet", "voucher", "invoice", "cash"]
        .iter()
        .zip(births)
        .map(|(channel, born)| {
            doc! { "_id": ids.at(born), "channelName": *channel, "createTime": date(born) }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![need("channelName", text(2, 20)), need("createTime", moment())]))
}

/// Two styles among the fields of one collection.
fn mail_template() -> Collection {
    let base = Collection::new(SHOP, "t_mail_template");
    let documents = people(&base.namespace(), 40, |rng, mut user, born| {
        user.insert("mailSubject", format!("Offer {}", rng.int(1, 500)));
        user.insert("send_count", rng.int(0, 900));
        user.insert("last_send_time", date(born));
        user
    });
    base.documents(documents)
        .validated(person_schema(vec![
            need("mailSubject", text(2, 120)),
            need("send_count", int(0, 1_000_000)),
            need("last_send_time", moment()),
        ]))
        .case("DM-04.1", &["N011"], "camelCase and snake_case in one collection")
}

/// A name that is too long.
fn survey() -> Collection {
    let base = Collection::new(SHOP, "t_survey_answer");
    let documents = people(&base.namespace(), 40, |rng, mut user, born| {
        user.insert(
            "theUniqueIdentifierOfTheCustomerWhoPlacedTheOrder",
            rng.between(10_001, 10_300),
        );
        user.insert("createTime", date(born));
        user
    });
    base.documents(documents)
        .validated(person_schema(vec![
            need("theUniqueIdentifierOfTheCustomerWhoPlacedTheOrder", long(1)),
            need("createTime", moment()),
        ]))
        .case("DM-04.4", &["N014"], "a field name of 49 characters")
}
