//! Devices and sensors: ST-08, ST-12, ST-23, and the two buckets of the rule book.

use bson::{Document, doc};

use super::arrays::grown;
use crate::examples::business::{minute_bucket_schema, minute_buckets};
use crate::examples::chance::{DAY, HOUR, Ids, MINUTE, Rng, TODAY, date, day, moments};
use crate::examples::dump::Collection;
use crate::examples::schema::{
    double, endless_list, int, list, long, moment, need, object, one_word_of, text,
};

const IOT: &str = "db_iot";
pub(super) const TELEMETRY: &str = "db_telemetry";

pub(super) fn collections() -> Vec<Collection> {
    let mut all = vec![device(), reading(), minute_bucket(), hour_bucket()];
    all.extend((1..=110).map(one_device));
    all
}

/// A temperature with one decimal.
fn temperature(rng: &mut Rng) -> f64 {
    rng.between(180, 260) as f64 / 10.0
}

/// Devices that contain every measurement they ever took.
fn device() -> Collection {
    Collection::new(IOT, "t_device")
        .born("devices", 64, |rng, ids, at, born| {
            let n = if at == 0 { 4800 } else { grown(rng, born, 150.0, 3900.0, 10) };
            let readings: Vec<Document> = moments(rng, born, n)
                .into_iter()
                .map(|when| {
                    doc! { "ts": date(when), "temp": temperature(rng), "humidity": rng.int(30, 70) }
                })
                .collect();
            doc! {
                "_id": ids.at(born),
                "deviceNo": 9001 + at as i64,
                "model": rng.choose(&["basic", "outdoor", "industrial"]),
                "readings": readings,
                "createTime": date(born),
            }
        })
        .validated(object(vec![
            need("deviceNo", long(1)),
            need("model", one_word_of(&["basic", "outdoor", "industrial"])),
            need(
                "readings",
                endless_list(object(vec![
                    need("ts", moment()),
                    need("temp", double(-50.0, 80.0)),
                    need("humidity", int(0, 100)),
                ])),
            ),
            need("createTime", moment()),
        ]))
        .unique(doc! { "deviceNo": 1 })
        .gzipped()
        .case("ST-08", &["D001", "D008"], "a device holds all its readings, thousands after a year")
}

/// One small document per sensor and minute: 50 hours of four sensors.
fn reading() -> Collection {
    let base = Collection::new(IOT, "t_sensor_reading");
    let mut rng = base.rng();
    let mut ids = Ids::new("readings");
    let begin = day("2024-06-20T00:00:00Z");
    let documents = (0..3000)
        .flat_map(|minute| (1..=4).map(move |sensor| (minute, sensor)))
        .map(|(minute, sensor)| {
            let when = begin + minute * MINUTE;
            doc! {
                "_id": ids.at(when),
                "sensorId": format!("S{sensor}"),
                "ts": date(when),
                "temp": temperature(&mut rng),
            }
        })
        .collect();
    base.documents(documents)
        .validated(object(vec![
            need("sensorId", text(2, 20)),
            need("ts", moment()),
            need("temp", double(-50.0, 80.0)),
        ]))
        .index(doc! { "sensorId": 1, "ts": 1 })
        .gzipped()
        .case("ST-23", &["D013"], "a document of its own for every sensor and minute")
}

fn minute_bucket() -> Collection {
    let base = Collection::new(IOT, "t_sensor_bucket");
    let documents = minute_buckets(&base.namespace(), 3, 24);
    base.documents(documents)
        .validated(minute_bucket_schema())
        .index(doc! { "sensorId": 1, "hour": 1, "count": 1 })
        .gzipped()
        .case("SN-30", &[], "nothing: hourly buckets of sixty readings, closed by their counter")
}

/// The sensor buckets in another notation: `{sensor_id, bucket_start, bucket_end, count,
/// readings[], summary}`.
fn hour_bucket() -> Collection {
    let base = Collection::new(IOT, "t_sensor_hourly");
    let mut rng = base.rng();
    let mut ids = Ids::new("hourly buckets");
    let begin = TODAY - 3 * DAY;
    let documents = (0..60)
        .map(|hour| {
            let start = begin + hour * HOUR;
            let mut values = Vec::new();
            let readings: Vec<Document> = (0..60)
                .map(|minute| {
                    let temp = rng.between(218, 231) as f64 / 10.0;
                    values.push(temp);
                    doc! { "ts": date(start + minute * MINUTE), "temp": temp, "humidity": rng.int(38, 50) }
                })
                .collect();
            doc! {
                "_id": ids.at(start),
                "sensor_id": "sensor-42",
                "bucket_start": date(start),
                "bucket_end": date(start + HOUR - 1000),
                "count": 60,
                "readings": readings,
                "summary": {
                    "avg_temp": values.iter().sum::<f64>() / 60.0,
                    "min_temp": values.iter().copied().fold(f64::INFINITY, f64::min),
                    "max_temp": values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                },
            }
        })
        .collect();
    let range = || double(-50.0, 80.0);
    base.documents(documents)
        .validated(object(vec![
            need("sensor_id", text(2, 20)),
            need("bucket_start", moment()),
            need("bucket_end", moment()),
            need("count", int(0, 60)),
            need(
                "readings",
                list(
                    object(vec![
                        need("ts", moment()),
                        need("temp", range()),
                        need("humidity", int(0, 100)),
                    ]),
                    60,
                ),
            ),
            need(
                "summary",
                object(vec![
                    need("avg_temp", range()),
                    need("min_temp", range()),
                    need("max_temp", range()),
                ]),
            ),
        ]))
        .index(doc! { "sensor_id": 1, "bucket_start": 1 })
        .gzipped()
        .case("SN-30", &[], "nothing: the other form of a bucket, with its begin and end")
}

/// A separate collection for one device.
fn one_device(n: i64) -> Collection {
    let base = Collection::new(TELEMETRY, format!("t_device_{n}"));
    let mut rng = base.rng();
    let mut ids = Ids::new(&base.namespace());
    let documents = (0..rng.between(3, 6))
        .map(|k| {
            let when = TODAY - (7 - k) * DAY + n * MINUTE;
            doc! {
                "_id": ids.at(when),
                "timestamp": date(when),
                "temp": temperature(&mut rng),
                "battery": rng.int(20, 100),
            }
        })
        .collect();
    base.documents(documents).validated(object(vec![
        need("timestamp", moment()),
        need("temp", double(-50.0, 80.0)),
        need("battery", int(0, 100)),
    ]))
}
