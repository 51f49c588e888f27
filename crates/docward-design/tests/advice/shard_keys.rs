//! SK-1 to SK-5, CK-13: what declarations say about shard keys, and what they do not say.

use docward_design::{KeyCandidate, emit, maintain::scripts};
use docward_model::ProfileName;

use crate::common::{Case, of};

const FOREVER: &str = "kept: forever";

fn key<'c>(case: &'c Case, collection: &str, text: &str) -> &'c KeyCandidate {
    let plan = case.shard(collection);
    let all: Vec<&KeyCandidate> = [&plan.key].into_iter().chain(&plan.others).collect();
    let found = all.iter().find(|key| key.text() == text);
    found.unwrap_or_else(|| {
        panic!("no {text} in {:?}", all.iter().map(|k| k.text()).collect::<Vec<_>>())
    })
}

fn row(key: &KeyCandidate, clause: &str) -> (Option<bool>, String) {
    let (_, holds, why) = key.checks.iter().find(|(id, ..)| *id == clause).unwrap();
    (*holds, why.clone())
}

/// Returns a model of trips with pings once a second.
fn pings(more: &str) -> Case {
    of(&format!(
        "deployment: {{server: \"6.0\", shards: 4}}
entities:
  trip: {{count: 100M, lifecycle: {{growth: 300k/day, {FOREVER}}}, fields: {{fare: decimal}}}}
  ping:
    lifecycle: {{growth: 86M/day, kept: 90 days}}
    series: {{time: at, id: trip, rate: 1/s, series: 100M}}
    needs-change-streams-or-updates: false
    fields: {{at: date, place: string}}
relationships:
  trip.pings: {{child: ping, children: {{p50: 300, p99: 3000, max: 9k}}, growth: endless{more}}}
reads:
  t: {{from: trip, where: [_id], rate: 9/s}}
  track: {{from: ping, where: [trip], limit: 300, rate: 9/s}}
writes:
  go: {{insert: trip, rate: 300k/day}}
  p: {{insert: ping, rate: 86M/day}}
"
    ))
}

#[test]
fn sk_3_readings_of_the_newest_parents_go_to_one_chunk_unless_hashed() {
    let case = pings("");
    let plain = key(&case, "ping", "{ tripId: 1 }");
    let (holds, why) = row(plain, "SK-3");
    assert_eq!(holds, Some(false), "{why}");
    assert!(why.contains("newest `trip`"), "{why}");
    let best = &case.shard("ping").key;
    assert_eq!(best.text(), "{ tripId: \"hashed\" }");
    assert_eq!(row(best, "SK-3").0, Some(true));
    // The model may say otherwise.
    assert_eq!(row(key(&pings(", rising: false"), "ping", "{ tripId: 1 }"), "SK-3").0, Some(true));
}

/// Returns a model of scores in seasons. `_id` increases, and a season has 2 GB.
fn scores() -> Case {
    of(&format!(
        "deployment: {{server: \"6.0\", shards: 4}}
entities:
  player: {{count: 30M, lifecycle: {{growth: 10k/day, {FOREVER}}}, fields: {{level: int}}}}
  season: {{count: 20, lifecycle: {{growth: 4/year, {FOREVER}}}, fields: {{name: string}}}}
  score: {{count: 400M, lifecycle: {{growth: 100k/day, {FOREVER}}}, fields: {{points: long}}}}
relationships:
  season.scores: {{child: score, children: {{p50: 10M, p99: 30M, max: 30M}}, growth: endless, rising: true}}
  player.scores: {{child: score, children: {{p50: 10, p99: 20, max: 20}}, growth: 4/year}}
reads:
  rank: {{from: score, where: [season], sort: {{points: -1}}, limit: 100, rate: 50/s}}
  mine: {{from: score, where: [season, player], limit: 1, rate: 40/s}}
  s: {{from: season, where: [_id], rate: 4/s}}
  p: {{from: player, where: [_id], rate: 4/s}}
writes:
  join: {{insert: player, rate: 10k/day}}
  first: {{insert: score, rate: 100k/day}}
  open: {{insert: season, rate: 4/year}}
"
    ))
}

#[test]
fn sk_3_sk_10_a_rising_first_field_is_split_by_a_second_one_that_does_not_rise() {
    let case = scores();
    let best = &case.shard("score").key;
    assert_eq!(best.text(), "{ seasonId: 1, playerId: 1 }", "{:#?}", case.shard("score"));
    let (holds, why) = row(best, "SK-3");
    assert_eq!(holds, Some(true), "{why}");
    assert!(why.contains("`seasonId` increases, but"), "{why}");
}

#[test]
fn sk_3_whether_text_rises_is_asked_and_not_assumed() {
    let case = |rising: &str| {
        of(&format!(
            "deployment: {{shards: 4}}
entities:
  parcel: {{count: 500M, lifecycle: {{growth: 1M/day, {FOREVER}}}, fields: {{trackingNo: {{type: string, unique: true{rising}}}}}}}
reads:
  track: {{from: parcel, where: [trackingNo], rate: 9/s}}
writes:
  p: {{insert: parcel, rate: 1M/day}}
"
        ))
    };
    let open = case("");
    assert_eq!(open.shard("parcel").key.text(), "{ trackingNo: 1 }");
    let (holds, why) = open.check("CK-13");
    assert!(holds.is_none() && why.contains("`trackingNo`") && why.contains("`rising`"), "{why}");
    assert_eq!(case(", rising: false").check("CK-13").0, Some(true));
    // A rising number needs a hashed key, and a collection that keeps it unique.
    let rising = case(", rising: true");
    assert_eq!(rising.shard("parcel").key.text(), "{ trackingNo: \"hashed\" }");
    assert_eq!(rising.check("CK-13").0, Some(true));
    assert!(rising.has_collection("parcel_tracking_no"));
}

/// Returns a model of tours, one for each van and day.
fn tours(distinct: &str) -> Case {
    of(&format!(
        "deployment: {{shards: 4}}
entities:
  tour:
    count: 5M
    lifecycle: {{growth: 14k/day, {FOREVER}}}
    fields:
      van: {{type: string, distinct: 14k, top-share: 0.1%, rising: false}}
      day: {{type: date{distinct}}}
      note: {{type: string, bytes: 2 KB}}
reads:
  tour of a day: {{from: tour, where: [van, day], limit: 1, rate: 50/s}}
  all of a day: {{from: tour, where: [day], limit: 14k, rate: 1/min}}
writes:
  r: {{insert: tour, rate: 14k/day}}
"
    ))
}

#[test]
fn sk_1_sk_2_sk_3_the_declared_days_of_a_date_count() {
    let case = tours(", distinct: 365");
    assert_eq!(case.shard("tour").key.text(), "{ van: 1, day: 1 }");
    let day = key(&case, "tour", "{ day: \"hashed\" }");
    assert_eq!(row(day, "SK-1").0, Some(false));
    let (holds, why) = row(day, "SK-3");
    assert!(holds == Some(false) && why.contains("hashed or not"), "{why}");
    assert!(case.shard("tour").key.is_sound());
}

#[test]
fn sk_4_a_low_share_is_a_warning_that_names_the_read() {
    let case = of(&format!(
        "deployment: {{shards: 4}}
entities:
  tenant: {{count: 20k, lifecycle: {{growth: 0, {FOREVER}}}, fields: {{name: string}}}}
  deal: {{count: 90M, lifecycle: {{growth: 9M/year, {FOREVER}}}, fields: {{title: string}}}}
relationships:
  tenant.deals: {{child: deal, children: {{p50: 4k, p99: 90k, max: 200k}}, growth: endless}}
reads:
  t: {{from: tenant, where: [_id], rate: 1/s}}
  deals: {{from: deal, where: [tenant], limit: 20, rate: 70/s}}
  deal page: {{from: deal, where: [title], limit: 1, rate: 30/s}}
writes:
  w: {{insert: deal, rate: 1/s}}
  t: {{insert: tenant, rate: 1/year}}
"
    ));
    let best = &case.shard("deal").key;
    assert_eq!(best.fields[0].0, "tenantId");
    let (holds, why) = row(best, "SK-4");
    assert_eq!(holds, Some(false));
    assert!(why.contains("add `tenant` to `where` of `deal page`"), "{why}");
    assert!(best.is_sound());
    let (holds, why) = case.check("CK-13");
    assert_eq!(holds, Some(true), "{why}");
    assert!(why.contains("warning for `deal` (SK-4"), "{why}");
}

/// Returns a model of players with unique names, who are found by `_id`, and of logins by name.
fn players(login: &str) -> Case {
    of(&format!(
        "deployment: {{server: \"6.0\", shards: 4}}
entities:
  player: {{count: 300M, lifecycle: {{growth: 10k/day, kept: 3 years}}, fields: {{nick: {{type: string, unique: true}}, level: int, createTime: date}}}}
reads:
  me: {{from: player, where: [_id], rate: 400/s}}
  login: {{from: player, where: [nick], rate: {login}}}
writes:
  join: {{insert: player, rate: 10k/day}}
"
    ))
}

#[test]
fn ck_13_sk_4_unique_values_move_to_their_own_collection() {
    let case = players("100/s");
    let plan = case.shard("player");
    assert_eq!(plan.key.text(), "{ _id: \"hashed\" }");
    // Reads by the unique value find the key of the document there.
    assert!((plan.key.targeted - 1.0).abs() < 1e-9 && plan.key.is_sound(), "{:?}", plan.key);
    assert_eq!(case.check("CK-13").0, Some(true));
    assert_eq!(plan.lookups.len(), 1);
    assert_eq!(plan.lookups[0].collection, "player_nick");
    let lookup = case.collection("player_nick");
    let names: Vec<&str> = lookup.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["_id", "playerId", "createTime"]);
    assert_eq!(case.shard("player_nick").key.text(), "{ _id: \"hashed\" }");
    assert!(case.indexes("player_nick")[0].contains(" for "), "values expire with documents");
    assert_eq!(case.indexes("player")[0], "{ nick: 1 }", "no longer unique");
    // The functions and the script of shards follow.
    let all = scripts(&case.model, &case.design, ProfileName::Neutral);
    let names: Vec<&str> = all.iter().flat_map(|s| &s.jobs).map(|job| job.name.as_str()).collect();
    for name in ["claimPlayerNick", "releasePlayerNick", "findPlayerByNick"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let files = emit::files(&case.model, &case.design, ProfileName::Neutral);
    let shard = &files.iter().find(|(path, _)| path == "03-shard.js").unwrap().1;
    assert!(shard.contains("`player_nick` keeps the values of `nick` unique"), "{shard}");
    assert!(!shard.contains("Left out"), "{shard}");
    // If nearly all reads use the name, it is a good key itself.
    assert_eq!(players("9k/s").shard("player").key.text(), "{ nick: 1 }");
}

#[test]
fn ck_13_a_small_collection_is_said_to_stay_on_one_shard() {
    let case = of(&format!(
        "deployment: {{shards: 4}}
entities:
  driver: {{count: 100k, lifecycle: {{growth: 50/day, {FOREVER}}}, fields: {{licenceNo: {{type: string, unique: true}}}}}}
reads:
  d: {{from: driver, where: [_id], rate: 9/s}}
writes:
  w: {{insert: driver, rate: 50/day}}
"
    ));
    let driver = case.collection("driver");
    assert!(driver.shard.is_none());
    let why = driver.unsharded.as_deref().unwrap();
    assert!(why.contains("in five years fit into one chunk"), "{why}");
    assert_eq!(case.check("CK-13").0, Some(true));
}
