//! Accounts and chat: ST-20, ST-21, and the chat bucket with a date as text.

use bson::{Bson, Document, doc};

use super::arrays::grown;
use crate::examples::chance::{DAY, Ids, OPENING, date, moments, timestamp_text};
use crate::examples::dump::Collection;
use crate::examples::schema::{
    Node, endless_list, int, list, long, moment, need, object, object_id, text,
};
use crate::examples::vocabulary::{chat_line, person};

const SOCIAL: &str = "db_social";

pub(super) fn collections() -> Vec<Collection> {
    vec![account(), chat_room(), chat_day()]
}

/// The followers of every account as ids in an array; one account has twelve thousand.
fn account() -> Collection {
    let mut others = Ids::new("followers");
    Collection::new(SOCIAL, "t_account")
        .born("accounts", 120, |rng, ids, at, born| {
            let n = if at == 2 { 12_000 } else { grown(rng, born, 30.0, 300.0, 4) };
            let followers: Vec<Bson> =
                moments(rng, born, n).into_iter().map(|when| others.at(when).into()).collect();
            doc! {
                "_id": ids.at(born),
                "accountNo": 40_001 + at as i64,
                "nickName": person(rng, at).name,
                "followers": followers,
                "createTime": date(born),
            }
        })
        .validated(object(vec![
            need("accountNo", long(1)),
            need("nickName", text(2, 50)),
            need("followers", endless_list(object_id())),
            need("createTime", moment()),
        ]))
        .unique(doc! { "accountNo": 1 })
        .gzipped()
        .case(
            "ST-20",
            &["D001", "R006"],
            "followers are ids in the account, and one account has 12,000 of them",
        )
}

/// Rooms that contain every message.
fn chat_room() -> Collection {
    Collection::new(SOCIAL, "t_chat_room")
        .born("rooms", 60, |rng, ids, at, born| {
            let n = if at == 0 { 2100 } else { grown(rng, born, 60.0, 1400.0, 8) };
            let messages: Vec<Document> = moments(rng, born, n)
                .into_iter()
                .map(|when| {
                    doc! {
                        "senderName": person(rng, at).name,
                        "content": chat_line(rng),
                        "sendTime": date(when),
                    }
                })
                .collect();
            doc! {
                "_id": ids.at(born),
                "roomName": format!("Room {}", at + 1),
                "messages": messages,
                "createTime": date(born),
            }
        })
        .validated(object(vec![
            need("roomName", text(2, 40)),
            need("messages", endless_list(message())),
            need("createTime", moment()),
        ]))
        .gzipped()
        .case("ST-21", &["D001", "D008"], "a room holds all its messages, thousands after a year")
}

fn message() -> Node {
    object(vec![
        need("senderName", text(2, 50)),
        need("content", text(1, 2000)),
        need("sendTime", moment()),
    ])
}

/// One document per room and day, as advised, but the day is a string.
fn chat_day() -> Collection {
    let base = Collection::new(SOCIAL, "t_chat_day");
    let mut rng = base.rng();
    let mut ids = Ids::new("days of chat");
    let documents = (0..90)
        .map(|at| {
            let midnight = OPENING + (420 + at / 3) * DAY;
            let n = rng.between(2, 30);
            let messages: Vec<Document> = (0..n)
                .map(|k| {
                    doc! {
                        "senderName": person(&mut rng, at as usize).name,
                        "content": chat_line(&mut rng),
                        "sendTime": date(midnight + k * DAY / 31),
                    }
                })
                .collect();
            doc! {
                "_id": ids.at(midnight),
                "roomNo": (at % 3) as i32 + 1,
                "date": &timestamp_text(midnight)[..10],
                "messages": messages,
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("roomNo", int(1, 1_000_000)),
            need("date", text(10, 10)),
            need("messages", list(message(), 500)),
        ]))
        .unique(doc! { "roomNo": 1, "date": 1 })
        .gzipped()
        .case("SN-11", &["T001"], "the day of a chat bucket is text")
}
