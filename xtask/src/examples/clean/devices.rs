//! Devices and their measurements: ST-08, ST-12, ST-23.

use bson::{Bson, Document, doc};

use crate::examples::business::{minute_bucket_schema, minute_buckets};
use crate::examples::chance::{HOUR, Ids, MINUTE, Rng, TODAY, date, day};
use crate::examples::dump::Collection;
use crate::examples::schema::{long, moment, need, object, one_word_of};

const IOT: &str = "db_iot";

pub(super) fn collections() -> [Collection; 3] {
    [device(), buckets(), metric()]
}

/// ST-08, ST-12: devices are documents, and their measurements are in another collection.
fn device() -> Collection {
    Collection::new(IOT, "t_device_registry")
        .born("clean devices", 64, |rng, ids, at, born| {
            doc! {
                "_id": ids.at(born),
                "deviceNo": 9001 + at as i64,
                "model": rng.choose(&["basic", "outdoor", "industrial"]),
                "lastSeenTime": date(TODAY - rng.between(0, 600) * MINUTE),
                "createTime": date(born),
            }
        })
        .validated(object(vec![
            need("deviceNo", long(1)),
            need("model", one_word_of(&["basic", "outdoor", "industrial"])),
            need("lastSeenTime", moment()),
            need("createTime", moment()),
        ]))
        .unique(doc! { "deviceNo": 1 })
        .case("ST-12", &[], "one collection of devices")
}

/// ST-23: sixty measurements per document, with their statistics.
fn buckets() -> Collection {
    Collection::new(IOT, "t_sensor_bucket")
        .documents(minute_buckets("clean buckets", 4, 48))
        .validated(minute_bucket_schema())
        .index(doc! { "sensorId": 1, "hour": 1, "count": 1 })
        .gzipped()
        .case("ST-23", &[], "a document per sensor and hour")
}

/// DM-08.5: a native time series collection, as its buckets are stored in a dump of 6.0.
fn metric() -> Collection {
    let base = Collection::new(IOT, "t_sensor_metric");
    let mut rng = Rng::new("clean metrics");
    let (mut ids, mut bucket_ids) = (Ids::new("clean metrics"), Ids::new("clean metric buckets"));
    let begin = day("2024-06-20T00:00:00Z");
    let documents = (0..24)
        .flat_map(|hour| (1..=2).map(move |sensor| (hour, sensor)))
        .map(|(hour, sensor)| {
            let start = begin + hour * HOUR;
            let rows: Vec<(Bson, Bson, f64)> = (0..60)
                .map(|minute| {
                    let when = start + minute * MINUTE;
                    (ids.at(when).into(), date(when), rng.between(218, 231) as f64 / 10.0)
                })
                .collect();
            let column = |of: &dyn Fn(&(Bson, Bson, f64)) -> Bson| -> Document {
                rows.iter().enumerate().map(|(n, row)| (n.to_string(), of(row))).collect()
            };
            let bound = |row: &(Bson, Bson, f64), temp: f64| {
                doc! { "_id": row.0.clone(), "ts": row.1.clone(), "temp": temp }
            };
            let least = rows.iter().map(|row| row.2).fold(f64::INFINITY, f64::min);
            let most = rows.iter().map(|row| row.2).fold(f64::NEG_INFINITY, f64::max);
            doc! {
                "_id": bucket_ids.at(start),
                "control": {
                    "version": 1,
                    "min": bound(&rows[0], least),
                    "max": bound(&rows[rows.len() - 1], most),
                },
                "meta": format!("S{sensor}"),
                "data": {
                    "_id": column(&|row| row.0.clone()),
                    "ts": column(&|row| row.1.clone()),
                    "temp": column(&|row| row.2.into()),
                },
            }
        })
        .collect();
    base.documents(documents)
        .time_series(doc! {
            "timeField": "ts", "metaField": "sensorId", "granularity": "minutes", "bucketMaxSpanSeconds": 86_400,
        })
        .index(doc! { "sensorId": 1, "ts": 1 })
        .gzipped()
        .case("ST-23", &[], "the server makes the buckets itself")
}
