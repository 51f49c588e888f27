//! Followers and chat: ST-20, ST-21.

use bson::{Document, doc, oid::ObjectId};

use crate::examples::chance::{DAY, HOUR, Ids, births, date, day};
use crate::examples::dump::Collection;
use crate::examples::schema::{int, list, moment, need, object, object_id, text};
use crate::examples::vocabulary::{chat_line, person};

const SOCIAL: &str = "db_social";

pub(super) fn collections() -> Vec<Collection> {
    let mut all = Vec::from(follows());
    all.push(chat());
    all
}

/// ST-20: followers, one document each, unique, found from both sides.
fn follows() -> [Collection; 2] {
    let base = Collection::new(SOCIAL, "t_user_profile");
    let mut rng = base.rng();
    let mut ids = Ids::new("clean accounts");
    let births = births(&mut rng, 150);
    let people: Vec<(ObjectId, i64, String)> = births
        .into_iter()
        .enumerate()
        .map(|(at, born)| (ids.at(born), born, person(&mut rng, at).name))
        .collect();
    let mut pairs = Vec::new();
    for (at, (id, born, _)) in people.iter().enumerate() {
        // Everyone follows the third account, and a few others.
        let others = (1..=rng.below(12)).map(|k| (at + k * 7) % people.len());
        for other in others.chain([2]) {
            let (followee, since, _) = &people[other];
            if other != at && !pairs.iter().any(|(_, a, b)| (a, b) == (id, followee)) {
                pairs.push((born.max(since) + HOUR, *id, *followee));
            }
        }
    }
    pairs.sort_unstable();
    let count =
        |id: &ObjectId| pairs.iter().filter(|(_, _, followee)| followee == id).count() as i32;
    let documents = people
        .iter()
        .map(|(id, born, name)| {
            doc! { "_id": id, "nickName": name, "followerCount": count(id), "createTime": date(*born) }
        })
        .collect();
    let mut pair_ids = Ids::new("clean follows");
    let follows = pairs
        .iter()
        .map(|(when, follower, followee)| {
            doc! {
                "_id": pair_ids.at(*when),
                "followerId": follower,
                "followeeId": followee,
                "createTime": date(*when),
            }
        })
        .collect();
    [
        base.documents(documents)
            .validated(object(vec![
                need("nickName", text(2, 50)),
                need("followerCount", int(0, 1_000_000_000)),
                need("createTime", moment()),
            ]))
            .case("ST-20", &[], "the number of followers, not the list"),
        Collection::new(SOCIAL, "t_user_follow")
            .documents(follows)
            .validated(object(vec![
                need("followerId", object_id()),
                need("followeeId", object_id()),
                need("createTime", moment()),
            ]))
            .unique(doc! { "followerId": 1, "followeeId": 1 })
            .index(doc! { "followeeId": 1 })
            .gzipped()
            .case("ST-20", &[], "one document per pair, unique, indexed from both sides"),
    ]
}

/// ST-21: a document per room and day, limited by a counter; the day is a date.
fn chat() -> Collection {
    let base = Collection::new(SOCIAL, "t_chat_bucket");
    let mut rng = base.rng();
    let mut ids = Ids::new("clean chat");
    let begin = day("2024-03-01T00:00:00Z");
    let documents = (0..120)
        .map(|at| {
            let midnight = begin + at / 3 * DAY;
            let n = rng.between(3, 30);
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
                "day": date(midnight),
                "count": n as i32,
                "messages": messages,
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("roomNo", int(1, 1_000_000)),
            need("day", moment()),
            need("count", int(0, 200)),
            need(
                "messages",
                list(
                    object(vec![
                        need("senderName", text(2, 50)),
                        need("content", text(1, 2000)),
                        need("sendTime", moment()),
                    ]),
                    200,
                ),
            ),
        ]))
        .index(doc! { "roomNo": 1, "day": 1, "count": 1 })
        .gzipped()
        .case("ST-21", &[], "messages by room and day, at most 200 to a document")
}
