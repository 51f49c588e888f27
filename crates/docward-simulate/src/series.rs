//! Time series: one document per measurement, buckets, and a native time series.

use std::time::Instant;

use docward_design::{OperationCost, Readings, ReadingsWay};
use docward_model::{BsonType, DesignModel, DesignRead, DesignWrite};
use mongodb::{
    ClientSession, Collection, Database,
    bson::{Bson, DateTime, Document, RawDocumentBuf, doc, oid::ObjectId},
    error::Error,
    options::IndexOptions,
};

use crate::{
    context::RunContext,
    make::{BEGIN, Field, Pen, Rng, Which, begin, end, fields, made_id, mixed, named, raw},
    queries::{bytes_of, found},
    replay::{Moved, Subject},
    store::{Batch, RELATION, Sizes},
};
use docward_refactor::{Trouble, failed};

/// An operation on measurements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Job<'m> {
    /// Reads measurements of one series, in order.
    Range(&'m DesignRead),
    /// Appends a measurement.
    Append(&'m DesignWrite),
    /// Updates a measurement.
    Change(&'m DesignWrite),
}

/// The operations on measurements, and the names of those on more than one series.
pub(crate) fn jobs<'m>(model: &'m DesignModel, readings: &Readings) -> (Vec<Job<'m>>, Vec<String>) {
    let (mut found, mut elsewhere) = (Vec::new(), Vec::new());
    for read in model.reads.iter().filter(|read| read.from == readings.entity) {
        if readings.is_of_one(read) {
            found.push(Job::Range(read));
        } else {
            elsewhere.push(read.name.clone());
        }
    }
    for write in model.writes.iter().filter(|write| write.touches(&readings.entity)) {
        if write.updates.contains(&readings.entity) {
            found.push(Job::Change(write));
        } else if write.inserts.contains(&readings.entity) {
            found.push(Job::Append(write));
        } else {
            elsewhere.push(write.name.clone());
        }
    }
    (found, elsewhere)
}

/// The measurements of all series in one alternative.
pub(crate) struct Series<'p, 'm> {
    readings: &'p Readings,
    pub(crate) way: ReadingsWay,
    pen: Pen,
    seed: u64,
    reading: Vec<Field>,
    inside: Vec<Field>,
    bucket: Vec<Field>,
    ids: Vec<Field>,
    collection: Collection<RawDocumentBuf>,
    /// The number of measurements in each series.
    held: Vec<u64>,
    stored: (u64, u64),
    jobs: Vec<Job<'m>>,
}

impl<'p, 'm> Series<'p, 'm> {
    /// Generates and stores this many series with this many measurements each.
    pub(crate) async fn build(
        around: &RunContext<'_>,
        database: &Database,
        readings: &'p Readings,
        way: ReadingsWay,
        (series, each): (u64, u64),
        jobs: Vec<Job<'m>>,
    ) -> Result<Self, Trouble> {
        let word = way.name().replace('-', "_");
        let entity = readings.entity.replace(['.', '$'], "_");
        let store = Self {
            readings,
            way,
            pen: Pen::new(around.seed),
            seed: around.seed,
            reading: fields(&readings.reading),
            inside: fields(&readings.inside),
            bucket: fields(&readings.bucket),
            ids: fields(&readings.ids),
            collection: database.collection(&format!("{entity}_{word}")),
            held: vec![each; series as usize],
            stored: (series, each),
            jobs,
        };
        store.prepare(database).await.map_err(|e| failed("creating scratch collections", &e))?;
        let words = "storing documents in the scratch database";
        let mut batch = Batch::default();
        if way == ReadingsWay::Buckets {
            let buckets = each.checked_sub(1).map_or(0, |last| readings.bucket_of(last) + 1);
            for bucket in 0..buckets {
                let to = readings.first_of(bucket + 1).min(each);
                for one in 0..series {
                    if batch.add(store.bucket(one, bucket, to)) {
                        around.check()?;
                        batch
                            .flush(&store.collection, around)
                            .await
                            .map_err(|e| failed(words, &e))?;
                    }
                }
            }
        } else {
            for reading in 0..each {
                for one in 0..series {
                    if batch.add(store.reading(one, reading)) {
                        around.check()?;
                        batch
                            .flush(&store.collection, around)
                            .await
                            .map_err(|e| failed(words, &e))?;
                    }
                }
            }
        }
        batch.flush(&store.collection, around).await.map_err(|e| failed(words, &e))?;
        around.check()?;
        Ok(store)
    }

    async fn prepare(&self, database: &Database) -> Result<(), Error> {
        let name = self.collection.name();
        let mut keys = Document::new();
        if self.way == ReadingsWay::TimeSeries {
            let create = doc! {
                "create": name,
                "timeseries": {
                    "timeField": &self.readings.time,
                    "metaField": self.meta(),
                    "granularity": self.readings.granularity,
                },
            };
            database.run_command(create).await?;
            keys.extend(self.ids.iter().map(|id| (self.id_path(id), Bson::Int32(1))));
        } else {
            database.create_collection(name).await?;
            keys.extend(self.ids.iter().map(|id| (id.name.clone(), Bson::Int32(1))));
        }
        let last = match self.way {
            ReadingsWay::Buckets => &self.readings.start,
            _ => &self.readings.time,
        };
        keys.insert(last, 1);
        let options = IndexOptions::builder().name(RELATION.to_owned()).build();
        let index = mongodb::IndexModel::builder().keys(keys).options(options).build();
        self.collection.create_index(index).await?;
        Ok(())
    }

    /// The meta field: the single field of the series, or an object of several.
    fn meta(&self) -> &str {
        match self.ids.as_slice() {
            [one] => &one.name,
            _ => "meta",
        }
    }

    /// The time of a measurement in milliseconds.
    fn time(&self, reading: u64) -> DateTime {
        DateTime::from_millis(BEGIN * 1000 + reading as i64 * self.readings.step)
    }

    fn id(&self, series: u64, reading: u64) -> ObjectId {
        let second = reading as i64 * self.readings.step / 1000;
        // Measurements in the same second differ in their counter.
        let counter = series.wrapping_mul(1009).wrapping_add(reading);
        // One process writes each series.
        made_id(second as u64, counter, series)
    }

    fn which(&self, series: u64, reading: u64) -> Which {
        let seed = mixed(mixed(self.seed, series + 1), reading + 1);
        Which { id: self.id(series, reading), seed, serial: reading }
    }

    /// The value of a field that identifies the series; unique to each series.
    fn series_value(&self, field: &Field, series: u64) -> Bson {
        match field.kind {
            BsonType::ObjectId => Bson::ObjectId(made_id(series * 60, series, mixed(1, series))),
            BsonType::Int => Bson::Int32(series as i32),
            BsonType::Long => Bson::Int64(series as i64),
            BsonType::Double => Bson::Double(series as f64),
            BsonType::Date => Bson::DateTime(DateTime::from_millis(series as i64)),
            _ => {
                let text = self.pen.value(field, mixed(3, series)).map(|(_, value)| value);
                let text = text.and_then(|value| Some(value.as_str()?.to_owned()));
                let number = series.to_string();
                let text = text.unwrap_or_default();
                let kept = text.len().saturating_sub(number.len());
                Bson::String(format!("{}{number}", text.get(..kept).unwrap_or("")))
            }
        }
    }

    /// The path of a field that identifies the series: at the top level, or in the meta field.
    fn id_path(&self, id: &Field) -> String {
        match self.is_in_meta() {
            true => format!("{}.{}", self.meta(), id.name),
            false => id.name.clone(),
        }
    }

    fn is_in_meta(&self) -> bool {
        self.way == ReadingsWay::TimeSeries && self.ids.len() > 1
    }

    /// The filter for one series, field by field, because the server sorts the fields of a meta
    /// object.
    fn of_series(&self, series: u64) -> Document {
        self.ids.iter().map(|id| (self.id_path(id), self.series_value(id, series))).collect()
    }

    /// Writes fields, with the given time and series.
    fn write(&self, out: &mut Vec<u8>, fields: &[Field], which: Which, series: u64) {
        for field in fields {
            if field.name == self.readings.time {
                named(out, 0x09, &field.name);
                out.extend(self.time(which.serial).timestamp_millis().to_le_bytes());
            } else if self.ids.iter().any(|id| id.name == field.name) {
                if self.is_in_meta() {
                    continue;
                }
                append(out, &doc! { &field.name: self.series_value(field, series) });
            } else {
                self.pen.field(out, field, which);
            }
        }
        if self.is_in_meta() {
            let each = self.ids.iter().map(|id| (id.name.clone(), self.series_value(id, series)));
            append(out, &doc! { self.meta(): each.collect::<Document>() });
        }
    }

    fn reading(&self, series: u64, reading: u64) -> RawDocumentBuf {
        let mut out = Vec::new();
        let start = begin(&mut out);
        self.write(&mut out, &self.reading, self.which(series, reading), series);
        end(&mut out, start);
        raw(out)
    }

    /// A measurement as stored in a bucket.
    fn inside(&self, out: &mut Vec<u8>, series: u64, reading: u64) {
        let start = begin(out);
        let which = self.which(series, reading);
        for field in &self.inside {
            self.write(out, std::slice::from_ref(field), which, series);
        }
        end(out, start);
    }

    fn start_of(&self, bucket: u64) -> DateTime {
        DateTime::from_millis(BEGIN * 1000 + self.readings.begin_of(bucket))
    }

    /// A bucket of a series with the measurements up to the given one.
    fn bucket(&self, series: u64, bucket: u64, to: u64) -> RawDocumentBuf {
        let from = self.readings.first_of(bucket);
        let which = self.which(series, from);
        let mut out = Vec::new();
        let start = begin(&mut out);
        for field in &self.bucket {
            if field.name == "readings" {
                named(&mut out, 0x04, "readings");
                let array = begin(&mut out);
                for (i, reading) in (from..to).enumerate() {
                    named(&mut out, 0x03, &i.to_string());
                    self.inside(&mut out, series, reading);
                }
                end(&mut out, array);
            } else if field.name == self.readings.start {
                named(&mut out, 0x09, &field.name);
                out.extend(self.start_of(bucket).timestamp_millis().to_le_bytes());
            } else if field.name == "count" && field.kind == BsonType::Int {
                named(&mut out, 0x10, &field.name);
                out.extend(((to - from) as i32).to_le_bytes());
            } else {
                self.write(&mut out, std::slice::from_ref(field), which, series);
            }
        }
        end(&mut out, start);
        raw(out)
    }

    /// The predicted number of documents, and the sizes that the server reports, before any change.
    pub(crate) async fn sizes(&self, database: &Database) -> Result<(u64, Sizes), Trouble> {
        let (documents, data, index) = self.readings.stored(self.way, self.stored.0, self.stored.1);
        let mut found = Sizes::predicted(data, index);
        found.add(database, self.collection.name()).await?;
        Ok((documents, found))
    }

    pub(crate) async fn clear(&self) -> Result<(), Trouble> {
        self.collection.drop().await.map_err(|e| failed("dropping scratch collections", &e))
    }

    async fn range(
        &self,
        read: &DesignRead,
        rng: &mut Rng,
    ) -> Result<(OperationCost, Moved), Error> {
        let series = rng.below(self.held.len() as u64);
        let all = self.held[series as usize];
        let wanted = self.readings.wanted(read).min(all);
        let from = rng.below(all - wanted + 1);
        let to = from + wanted;
        let (documents, bytes) = self.readings.read(self.way, from, to, all);
        let mut filter = self.of_series(series);
        let falls = read.sort.first().is_some_and(|(_, falls)| *falls);
        let field = if self.way == ReadingsWay::Buckets {
            let buckets = [from, to.saturating_sub(1)].map(|r| self.readings.bucket_of(r));
            let [least, most] = buckets.map(|bucket| self.start_of(bucket));
            filter.insert(&self.readings.start, doc! { "$gte": least, "$lte": most });
            &self.readings.start
        } else {
            let (least, most) = (self.time(from), self.time(to.saturating_sub(1)));
            filter.insert(&self.readings.time, doc! { "$gte": least, "$lte": most });
            &self.readings.time
        };
        let sort = doc! { field: if falls { -1 } else { 1 } };
        let mut moved = Moved::default();
        let began = Instant::now();
        found(&self.collection, filter, Some(&sort), 0, &mut moved).await?;
        moved.took = began.elapsed();
        Ok((cost(&read.name, false, read.per_second, documents, bytes), moved))
    }

    /// The filter for the bucket that contains, or will contain, a measurement.
    fn bucket_filter(&self, series: u64, reading: u64) -> Document {
        let mut filter = self.of_series(series);
        let bucket = self.readings.bucket_of(reading);
        filter.insert(&self.readings.start, self.start_of(bucket));
        filter
    }

    async fn append(
        &mut self,
        write: &DesignWrite,
        rng: &mut Rng,
    ) -> Result<(OperationCost, Moved), Error> {
        let series = rng.below(self.held.len() as u64);
        let reading = self.held[series as usize];
        self.held[series as usize] += 1;
        let bytes = self.readings.write(self.way, reading, reading + 1);
        let cost = cost(&write.name, true, write.per_second, 1.0, bytes);
        let mut moved = Moved { documents: 1, ..Moved::default() };
        if self.way != ReadingsWay::Buckets {
            let document = self.reading(series, reading);
            let began = Instant::now();
            self.collection.insert_one(&document).await?;
            moved.took = began.elapsed();
            moved.bytes = document.as_bytes().len() as u64;
            return Ok((cost, moved));
        }
        let mut out = Vec::new();
        self.inside(&mut out, series, reading);
        let inside = Document::try_from(raw(out).as_ref()).unwrap_or_default();
        let mut increments = doc! { "count": 1 };
        let (mut least, mut greatest) = (Document::new(), Document::new());
        let statistics = self.readings.bucket.iter().find(|field| field.name == "stats");
        for kept in statistics.map_or(&[][..], |stats| &stats.fields).chunks(3) {
            let [min, max, sum] = kept else { continue };
            // The minimum, maximum and sum of a number are adjacent.
            let number = inside.iter().find(|(name, _)| min.name.starts_with(name.as_str()));
            let Some((_, value)) = number else { continue };
            least.insert(format!("stats.{}", min.name), value.clone());
            greatest.insert(format!("stats.{}", max.name), value.clone());
            increments.insert(format!("stats.{}", sum.name), value.clone());
        }
        let mut update = doc! { "$push": { "readings": inside }, "$inc": increments };
        if !least.is_empty() {
            update.insert("$min", least);
            update.insert("$max", greatest);
        }
        let filter = self.bucket_filter(series, reading);
        let began = Instant::now();
        self.collection.update_one(filter.clone(), update).upsert(true).await?;
        moved.took = began.elapsed();
        moved.bytes = bytes_of(&self.collection, filter).await?;
        Ok((cost, moved))
    }

    async fn change(
        &mut self,
        write: &DesignWrite,
        rng: &mut Rng,
    ) -> Result<(OperationCost, Moved), Error> {
        let series = rng.below(self.held.len() as u64);
        let all = self.held[series as usize];
        let reading = rng.below(all);
        let bytes = self.readings.write(self.way, reading, all);
        let cost = cost(&write.name, true, write.per_second, 1.0, bytes);
        let wanted = self.readings.changed(write);
        let may = |field: &&Field| field.name != self.readings.time;
        let fields = || self.inside.iter().filter(may);
        let field = fields()
            .find(|field| wanted.contains(&field.name.as_str()))
            .or_else(|| fields().next());
        let changed = field.and_then(|field| self.pen.value(field, rng.next()));
        let Some((name, value)) = changed else { return Ok((cost, Moved::default())) };
        let (filter, path) = if self.way == ReadingsWay::Buckets {
            let mut filter = self.bucket_filter(series, reading);
            filter.insert(format!("readings.{}", self.readings.time), self.time(reading));
            (filter, format!("readings.$.{name}"))
        } else {
            let mut filter = self.of_series(series);
            filter.insert(&self.readings.time, self.time(reading));
            (filter, name)
        };
        let mut moved = Moved::default();
        let began = Instant::now();
        let change = doc! { "$set": { path: value } };
        let result = self.collection.update_one(filter.clone(), change).await?;
        moved.took = began.elapsed();
        moved.documents = result.matched_count;
        moved.bytes = bytes_of(&self.collection, filter).await?;
        Ok((cost, moved))
    }
}

fn cost(name: &str, writes: bool, per_second: f64, documents: f64, bytes: f64) -> OperationCost {
    OperationCost {
        name: name.to_owned(),
        writes,
        per_second,
        documents,
        bytes,
        entries: 0.0,
        transaction: false,
    }
}

/// Appends the elements of a document.
fn append(out: &mut Vec<u8>, document: &Document) {
    let bytes = document.to_vec().unwrap_or_default();
    // The size without the length prefix and the final zero.
    if bytes.len() > 5 {
        out.extend(&bytes[4..bytes.len() - 1]);
    }
}

impl Subject for Series<'_, '_> {
    fn operations(&self) -> Vec<(String, bool, f64)> {
        let each = self.jobs.iter().map(|job| match job {
            Job::Range(read) => (read.name.clone(), false, read.per_second),
            Job::Append(write) | Job::Change(write) => (write.name.clone(), true, write.per_second),
        });
        each.collect()
    }

    async fn run(
        &mut self,
        operation: usize,
        rng: &mut Rng,
        _: &mut Option<ClientSession>,
    ) -> Result<(OperationCost, Moved), Error> {
        match self.jobs[operation] {
            Job::Range(read) => self.range(read, rng).await,
            Job::Append(write) => self.append(write, rng).await,
            Job::Change(write) => self.change(write, rng).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use docward_design::{Bounds, Naming, design, read, readings};
    use docward_model::ProfileName;

    use super::*;

    const GATES: &str = "deployment: {server: \"6.0\"}
entities:
  garage: {count: 900, lifecycle: {growth: 50/year, kept: forever}, fields: {code: string}}
  event:
    count: 90M
    lifecycle: {growth: 500M/year, kept: 90 days}
    needs-change-streams-or-updates: false
    series: {time: time, id: [garage, gate], rate: 2/min, series: 4k}
    fields: {time: date, gate: {type: string, bytes: 4}, open: bool}
relationships:
  garage.events: {child: event, children: {p50: 90k, p99: 200k, max: 300k}, growth: endless}
reads:
  log: {from: event, where: {garage: equal, gate: equal, time: range}, limit: 200, rate: 3/s}
  garage: {from: garage, where: [code], rate: 3/s}
writes:
  pass: {insert: event, rate: 20/s}
  build: {insert: garage, rate: 2/week}
";

    #[tokio::test]
    async fn pt_ts_1_a_series_of_two_ids_is_asked_for_field_by_field() {
        let model = read("m.yaml", GATES).unwrap();
        let made = design(&model, ProfileName::Neutral, &Bounds::default());
        let naming = Naming::of(&model, ProfileName::Neutral);
        let entity = model.entity("event").unwrap();
        let readings = readings(&model, &made, naming, entity).unwrap();
        // No request is sent to it.
        let client = mongodb::Client::with_uri_str("mongodb://127.0.0.1:1/").await.unwrap();
        let series = |way| Series {
            readings: &readings,
            way,
            pen: Pen::new(1),
            seed: 1,
            reading: fields(&readings.reading),
            inside: fields(&readings.inside),
            bucket: fields(&readings.bucket),
            ids: fields(&readings.ids),
            collection: client.database("d").collection("c"),
            held: vec![9; 2],
            stored: (2, 9),
            jobs: Vec::new(),
        };
        let keys = |document: &Document| -> Vec<String> {
            let mut keys: Vec<String> = document.keys().cloned().collect();
            keys.sort();
            keys
        };
        let native = series(ReadingsWay::TimeSeries);
        assert_eq!(keys(&native.of_series(1)), ["meta.garageId", "meta.gate"]);
        // The written values match the filter.
        let reading = Document::try_from(native.reading(1, 0)).unwrap();
        let meta = reading.get_document("meta").unwrap();
        for (path, value) in native.of_series(1) {
            assert_eq!(meta.get(path.trim_start_matches("meta.")), Some(&value), "{path}");
        }
        let documents = series(ReadingsWay::Documents);
        assert_eq!(keys(&documents.of_series(1)), ["garageId", "gate"]);
    }
}
