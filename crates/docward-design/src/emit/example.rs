//! Generates one example document for each collection. The document is always the same, has the
//! planned types and is consistent: counts match lists, and sums match the summed values.

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{Bson, Document, doc};
use docward_model::{BsonType, DesignModel, Entity, EntityField, words};

use crate::decide::pattern::{Bucket, Window};
use crate::declared::dates::HOUR;
use crate::declared::field_plan::{Origin, Planned};
use crate::layout::collection::{CollectionPlan, Purpose};

/// The number of elements of a list.
const ELEMENTS: u64 = 2;

/// Milliseconds per minute.
const MINUTE: usize = 60_000;

/// Returns the example of a collection.
pub fn example(model: &DesignModel, collection: &CollectionPlan) -> Document {
    Maker { model, fresh: false }.document(collection)
}

/// Returns the day of the examples in milliseconds: the date of the model, or the first day of
/// 2026.
pub(crate) fn day(model: &DesignModel) -> i64 {
    let (year, month, day) = model.as_of.unwrap_or((2026, 1, 1));
    jiff::civil::Date::new(year, month, day)
        .ok()
        .and_then(|date| date.to_zoned(jiff::tz::TimeZone::UTC).ok())
        .map_or(1_767_225_600_000, |at| at.timestamp().as_millisecond())
}

/// Generates documents and parts of them.
#[derive(Clone, Copy)]
pub(crate) struct Maker<'m> {
    pub(crate) model: &'m DesignModel,
    /// Whether documents are new: without children, and with counts of 0.
    pub(crate) fresh: bool,
}

impl Maker<'_> {
    pub(crate) fn document(&self, collection: &CollectionPlan) -> Document {
        let entity = match collection.purpose {
            Purpose::Junction(_) | Purpose::Overflow(_) | Purpose::UniqueValues(_) => None,
            _ => self.model.entity(&collection.entity),
        };
        let mut made = self.object(&collection.fields, entity, &collection.entity, 0);
        if let Purpose::Bucket(bucket) = &collection.purpose {
            self.within(&mut made, bucket, &collection.fields);
            agree(&mut made, &collection.fields);
        }
        made
    }

    /// Places the readings of a bucket in its period, one minute apart (GC-50).
    fn within(&self, made: &mut Document, bucket: &Bucket, fields: &[Planned]) {
        let morning = day(self.model) + 9 * HOUR;
        let Ok(readings) = made.get_array_mut("readings") else { return };
        let mut last = morning;
        for (reading, at) in readings.iter_mut().zip((morning..).step_by(MINUTE)) {
            if let Bson::Document(reading) = reading {
                reading.insert(&bucket.time, bson::DateTime::from_millis(at));
            }
            last = at;
        }
        let start = match bucket.window {
            Window::Day => day(self.model),
            Window::Hour | Window::Events(_) => morning,
        };
        // The start field precedes the end field, if there is one.
        let is_period = |field: &&Planned| {
            field.origin == Origin::Pattern("bucket") && field.kind == BsonType::Date
        };
        for (field, at) in fields.iter().filter(is_period).zip([start, last]) {
            made.insert(&field.name, bson::DateTime::from_millis(at));
        }
    }

    /// Returns an object with these fields. `number` makes siblings differ.
    pub(crate) fn object(
        &self,
        fields: &[Planned],
        entity: Option<&Entity>,
        owner: &str,
        number: u64,
    ) -> Document {
        let mut made = Document::new();
        let kinds = entity.filter(|entity| !entity.variants.is_empty());
        // The example has the first of several kinds.
        let other = |name: &str| {
            kinds.is_some_and(|entity| {
                let of_first = entity.variants[0].fields.iter().any(|f| f.name == name);
                let common = entity.fields.iter().any(|f| f.name == name);
                let of_any =
                    entity.variants.iter().any(|v| v.fields.iter().any(|f| f.name == name));
                of_any && !of_first && !common
            })
        };
        let discriminator = kinds.map(crate::declared::field_plan::discriminator);
        for field in fields.iter().filter(|field| !other(&field.name)) {
            let value = match &discriminator {
                Some(name) if *name == field.name => {
                    kinds.map_or(Bson::Null, |entity| entity.variants[0].name.clone().into())
                }
                _ => match self.value(field, fields, owner, number) {
                    Some(value) => value,
                    None => continue,
                },
            };
            made.insert(field.name.clone(), value);
        }
        made
    }

    fn value(&self, field: &Planned, beside: &[Planned], owner: &str, number: u64) -> Option<Bson> {
        Some(match (&field.origin, field.kind) {
            (Origin::Id, BsonType::ObjectId) => id(owner, number).into(),
            (Origin::Reference(_), BsonType::Array) if self.fresh => Bson::Array(Vec::new()),
            (Origin::Reference(entity), BsonType::ObjectId) => id(entity, number).into(),
            (Origin::Computed(relationship), kind) => {
                return self.computed(field, relationship, kind, beside);
            }
            (Origin::Pattern("approximation"), _) => Bson::Int64(if self.fresh { 0 } else { 200 }),
            (Origin::Pattern("outlier"), BsonType::Bool) => false.into(),
            (Origin::Pattern("outlier"), BsonType::Int) => 2.into(),
            (Origin::Pattern("document versioning"), _) => 1.into(),
            (Origin::Pattern("schema versioning"), _) => self.shape(owner).into(),
            (Origin::Embedded(_) | Origin::Preview(_), BsonType::Array) if self.fresh => {
                Bson::Array(Vec::new())
            }
            (Origin::Pattern("attribute"), BsonType::Array) => {
                self.attributes(field, beside, owner)
            }
            (_, BsonType::Array) => self.list(field),
            (_, BsonType::Object) => {
                let child = field.origin.child(self.model);
                let owner = child.map_or("", |entity| entity.name.as_str());
                self.object(&field.fields, child, owner, number).into()
            }
            _ => self.scalar(&field.name, field.kind, &field.values, number),
        })
    }

    /// Returns the current version of the shape of an entity.
    fn shape(&self, entity: &str) -> i32 {
        let version = self.model.entity(entity).and_then(|entity| entity.shape_version);
        version.unwrap_or(1) as i32
    }

    /// Returns names and values of the fields that are stored in the attribute list.
    fn attributes(&self, field: &Planned, beside: &[Planned], owner: &str) -> Bson {
        let entity = self.model.entity(owner);
        let listed = entity.into_iter().flat_map(|entity| {
            let apart = |name: &&String| beside.iter().all(|field| field.name != **name);
            entity.attributes.iter().filter(apart).filter_map(|name| entity.field(name))
        });
        let whole =
            |field: &&EntityField| !matches!(field.kind, BsonType::Array | BsonType::Object);
        let made = listed.filter(whole).take(ELEMENTS as usize).map(|field| {
            let value = self.scalar(&field.name, field.kind, &field.values, 0);
            Bson::from(doc! { "k": &field.name, "v": value })
        });
        let made: Vec<Bson> = made.collect();
        if made.is_empty() { self.list(field) } else { Bson::Array(made) }
    }

    fn list(&self, field: &Planned) -> Bson {
        let length = field.items.map_or(ELEMENTS, |items| items.max.min(ELEMENTS));
        // A preview has the newest child first.
        let falls = matches!(field.origin, Origin::Preview(_));
        let numbers = (0..length).map(|i| if falls { length - 1 - i } else { i });
        let child = field.origin.child(self.model);
        let items = numbers.map(|number| match (field.element, &field.origin) {
            (Some(BsonType::ObjectId), Origin::Reference(entity)) => id(entity, number).into(),
            (Some(kind), _) => self.scalar(&field.name, kind, &field.values, number),
            (None, _) => {
                let owner = child.map_or("", |entity| entity.name.as_str());
                self.object(&field.fields, child, owner, number).into()
            }
        });
        Bson::Array(items.collect())
    }

    /// Returns a count or sum over the children in the same document, or over two children if there
    /// are none.
    fn computed(
        &self,
        field: &Planned,
        relationship: &str,
        kind: BsonType,
        beside: &[Planned],
    ) -> Option<Bson> {
        let shown = beside.iter().find(|other| {
            matches!(&other.origin, Origin::Embedded(name) | Origin::Preview(name) if name == relationship)
        });
        let children = match shown.and_then(|list| list.items) {
            _ if self.fresh => 0,
            Some(items) => items.max.min(ELEMENTS),
            None => ELEMENTS,
        };
        let mut parts = words::split(&field.name);
        let word = parts.pop().unwrap_or_default();
        if word == "count" {
            return Some(Bson::Int64(children as i64));
        }
        let child = self.model.entity(&self.model.relationship(relationship)?.child)?;
        // The name may begin with the role.
        let summed = child.fields.iter().filter(|f| parts.ends_with(&words::split(&f.name)));
        let summed = summed.max_by_key(|f| f.name.len())?;
        let sum: i64 = (0..children).map(|i| hundredths(&summed.name, summed.kind, i)).sum();
        match word.as_str() {
            "average" if children == 0 => None,
            "average" => Some(numeric(kind, sum / children as i64)),
            _ => Some(numeric(kind, sum)),
        }
    }

    pub(crate) fn scalar(
        &self,
        name: &str,
        kind: BsonType,
        values: &[String],
        number: u64,
    ) -> Bson {
        match kind {
            BsonType::String => match values {
                [] => text(name, number).into(),
                values => values[number as usize % values.len()].clone().into(),
            },
            BsonType::Int | BsonType::Long | BsonType::Double | BsonType::Decimal => {
                match values.first().and_then(|value| value.parse::<i64>().ok()) {
                    Some(listed) => numeric(kind, listed * 100),
                    None => numeric(kind, hundredths(name, kind, number)),
                }
            }
            BsonType::Bool => true.into(),
            BsonType::Date => {
                bson::DateTime::from_millis(day(self.model) + 9 * HOUR + number as i64 * HOUR)
                    .into()
            }
            BsonType::ObjectId => id(name, number).into(),
            BsonType::BinData => Bson::Binary(bson::Binary {
                subtype: BinarySubtype::Generic,
                bytes: vec![0xd0, 0xc0, number as u8],
            }),
            BsonType::Timestamp => Bson::Timestamp(bson::Timestamp {
                time: (day(self.model) / 1000) as u32,
                increment: 1 + number as u32,
            }),
            BsonType::Object => Document::new().into(),
            BsonType::Array => Bson::Array(Vec::new()),
            _ => Bson::Null,
        }
    }
}

/// Returns the id of the n-th document of an entity. References to the document use the same id.
pub(crate) fn id(entity: &str, number: u64) -> ObjectId {
    // Any hash of the name would do; this is FNV-1a.
    let hash = entity.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut bytes = [0_u8; 12];
    bytes[..4].copy_from_slice(&0x6955_b900_u32.to_be_bytes());
    bytes[4..8].copy_from_slice(&hash.to_be_bytes()[..4]);
    bytes[8..].copy_from_slice(&(number as u32 + 1).to_be_bytes());
    ObjectId::from_bytes(bytes)
}

/// Returns a number in hundredths that is plausible for its name.
fn hundredths(name: &str, kind: BsonType, number: u64) -> i64 {
    let number = number as i64;
    let last = words::split(name).pop().unwrap_or_default();
    match (last.as_str(), kind) {
        ("rating" | "stars" | "score", _) => (5 - number % 5) * 100,
        ("quantity" | "qty", _) => (2 - number % 2) * 100,
        ("age", _) => (34 + number) * 100,
        ("year", _) => 202_600,
        (_, BsonType::Decimal) => 1999 + 3000 * number,
        (_, BsonType::Double) => 2150 + 100 * number,
        _ => (1 + number) * 100,
    }
}

fn numeric(kind: BsonType, hundredths: i64) -> Bson {
    match kind {
        BsonType::Int => Bson::Int32((hundredths / 100) as i32),
        BsonType::Long => Bson::Int64(hundredths / 100),
        BsonType::Decimal => {
            let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            text.parse().map_or(Bson::Null, Bson::Decimal128)
        }
        _ => Bson::Double(hundredths as f64 / 100.0),
    }
}

fn text(name: &str, number: u64) -> String {
    let parts = words::split(name);
    let has = |word: &str| parts.iter().any(|part| part == word);
    let first = number == 0;
    let pick = |one: &str, other: &str| if first { one.to_owned() } else { other.to_owned() };
    if has("email") || has("mail") {
        pick("anna@example.com", "ben@example.com")
    } else if has("phone") || has("mobile") {
        format!("+49 30 123456{number}")
    } else if has("url") || has("link") {
        format!("https://example.com/{}", number + 1)
    } else if has("city") {
        pick("Berlin", "Lyon")
    } else if has("country") {
        pick("DE", "FR")
    } else if has("region") {
        pick("EU", "US")
    } else if has("currency") {
        "EUR".to_owned()
    } else if has("sku") || has("code") || has("isbn") {
        format!("{}-{}", parts.join("-").to_uppercase(), 1001 + number)
    } else if has("text") || has("body") || has("content") || has("message") || has("comment") {
        pick("Arrived in two days, works well.", "Good value.")
    } else if has("author") || has("customer") || has("user") || parts == ["name"] {
        pick("Anna Berg", "Ben Roy")
    } else {
        format!("{} {}", parts.join(" "), number + 1)
    }
}

/// Sets the count and statistics of a bucket to match its readings.
fn agree(bucket: &mut Document, fields: &[Planned]) {
    let Ok(readings) = bucket.get_array("readings").cloned() else { return };
    bucket.insert("count", readings.len() as i32);
    let Some(stats) = fields.iter().find(|field| field.name == "stats") else { return };
    let Some(inside) = fields.iter().find(|field| field.name == "readings") else { return };
    let mut made = Document::new();
    for stat in &stats.fields {
        let mut parts = words::split(&stat.name);
        let word = parts.pop().unwrap_or_default();
        let Some(field) = inside.fields.iter().find(|f| words::split(&f.name) == parts) else {
            continue;
        };
        let values: Vec<i64> =
            (0..readings.len() as u64).map(|i| hundredths(&field.name, field.kind, i)).collect();
        let value = match word.as_str() {
            "min" => values.iter().min().copied(),
            "max" => values.iter().max().copied(),
            _ => Some(values.iter().sum()),
        };
        made.insert(stat.name.clone(), numeric(stat.kind, value.unwrap_or(0)));
    }
    bucket.insert("stats", made);
}
