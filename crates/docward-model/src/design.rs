//! A model that users declare before any data exists: entities, their relationships, and the rate
//! of reads and writes (DP-1, DP-2). `docward-design` reads it from a file and bases its decisions
//! on it.

use crate::{BsonType, Location};

/// A declared model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DesignModel {
    /// The name of the model.
    pub name: String,
    /// The database its collections live in.
    pub database: Option<String>,
    /// The date for which counts and sizes hold: year, month, day. Forecasts count from it.
    pub as_of: Option<(i16, i8, i8)>,
    /// The deployment it will run on.
    pub deployment: DesignDeployment,
    /// Entities, in the order of the file.
    pub entities: Vec<Entity>,
    /// Relationships, in the order of the file.
    pub relationships: Vec<Relationship>,
    /// The declared reads.
    pub reads: Vec<DesignRead>,
    /// The declared writes.
    pub writes: Vec<DesignWrite>,
}

impl DesignModel {
    /// The entity of a name.
    pub fn entity(&self, name: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.name == name)
    }

    /// The relationship of a name.
    pub fn relationship(&self, name: &str) -> Option<&Relationship> {
        self.relationships.iter().find(|relationship| relationship.name == name)
    }
}

/// The deployment the model will run on.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignDeployment {
    /// The server's version: major, minor.
    pub server: (u32, u32),
    /// Shards; 1 means not sharded.
    pub shards: u32,
    /// The connection limit of the deployment.
    pub connection_limit: Option<u64>,
    /// The number of client objects: instances times processes.
    pub clients: Option<u64>,
    /// A field that decides in which zone documents must be stored, and its values (SK-11).
    pub zones: Option<(String, Vec<String>)>,
}

impl Default for DesignDeployment {
    fn default() -> Self {
        Self { server: (6, 0), shards: 1, connection_limit: None, clients: None, zones: None }
    }
}

/// A type of object that the application names.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Its name in the model.
    pub name: String,
    /// The position of its declaration.
    pub place: Location,
    /// The collection's name, if it is not derived from the entity's.
    pub collection: Option<String>,
    /// Documents there are today.
    pub count: Option<f64>,
    /// Its fields, without ids of other entities.
    pub fields: Vec<EntityField>,
    /// Kinds that share the fields above and add further ones (PT-poly.1).
    pub variants: Vec<Variant>,
    /// Question 3 of DP-2: how documents are created and deleted. `None` is an open question.
    pub lifecycle: Option<Lifecycle>,
    /// The date field that gives the age of a document when its name does not, and its position.
    pub kept_by: Option<(String, Location)>,
    /// True if the model states that nothing writes this entity, so no write has to name it.
    pub never_written: bool,
    /// True if the model states that nothing reads this entity on its own.
    pub never_read: bool,
    /// Set for a time series: measurements over time (ALG-8).
    pub series: Option<Series>,
    /// True if the entity needs change streams, unique indexes or validators, which time series
    /// lack (GC-30).
    pub needs_plain: Option<bool>,
    /// True if old versions of its documents must be kept.
    pub keeps_versions: bool,
    /// The current version of the shape of its documents, where older shapes are still stored.
    pub shape_version: Option<u64>,
    /// Similar fields that are searched in the same manner (the attribute pattern).
    pub attributes: Vec<String>,
    /// Share of its documents in daily use, for the working set.
    pub hot: Option<f64>,
    /// The services that read or write it.
    pub services: Vec<String>,
}

impl Entity {
    /// A field by its name.
    pub fn field(&self, name: &str) -> Option<&EntityField> {
        self.fields
            .iter()
            .chain(self.variants.iter().flat_map(|variant| &variant.fields))
            .find(|field| field.name == name)
    }
}

/// A kind of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The value of the discriminator.
    pub name: String,
    /// Fields that only this kind has.
    pub fields: Vec<EntityField>,
}

/// A field of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityField {
    /// Its name.
    pub name: String,
    /// The position of its declaration.
    pub place: Location,
    /// Its type.
    pub kind: BsonType,
    /// Bytes of a string or of binary data: typical and 99th percentile.
    pub bytes: Option<(u64, u64)>,
    /// The values an enumeration has.
    pub values: Vec<String>,
    /// Different values, for indexes and shard keys.
    pub distinct: Option<f64>,
    /// Share of the most frequent value.
    pub top_share: Option<f64>,
    /// True if the value increases with each new document.
    pub rising: Option<bool>,
    /// True if every document has it.
    pub required: bool,
    /// True if it may be null.
    pub nullable: bool,
    /// True if values are unique.
    pub unique: bool,
    /// Fields of an object, or of the elements of an array.
    pub fields: Vec<EntityField>,
    /// The element type of an array whose elements are not objects.
    pub element: Option<BsonType>,
    /// The number of elements of an array.
    pub items: Option<Spread>,
}

/// The distribution of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Spread {
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
}

impl Spread {
    /// A distribution with a single value.
    pub fn always(number: u64) -> Self {
        Self { p50: number, p95: number, p99: number, max: number }
    }
}

/// The rates at which documents of an entity are created and deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lifecycle {
    /// New documents per year.
    pub per_year: f64,
    /// Days until a document is deleted; `None` means never.
    pub kept_days: Option<f64>,
    /// Days after which a document is rarely read (the archive pattern).
    pub cold_days: Option<f64>,
    /// True if the model does not state the growth: `per_year` is then 0 and Docward asks for it.
    pub growth_open: bool,
    /// True if the model does not state the retention: `kept_days` is then `None` and Docward asks
    /// for it.
    pub kept_open: bool,
}

/// A time series.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The field of the time.
    pub time: String,
    /// The fields that identify the series of a measurement.
    pub id: Vec<String>,
    /// Measurements per second in one series.
    pub per_second: f64,
    /// The number of series.
    pub series: Option<f64>,
}

/// A relationship between two entities.
#[derive(Clone, Debug, PartialEq)]
pub struct Relationship {
    /// `post.comments`: the parent, and the name of its children in the parent.
    pub name: String,
    /// The position of its declaration.
    pub place: Location,
    /// The entity that would hold embedded documents.
    pub parent: String,
    /// The entity that would be embedded.
    pub child: String,
    /// The field that holds ids when the relationship is referenced, if its name is not derived
    /// from the entities.
    pub field: Option<String>,
    /// The number of children per parent.
    pub children: Option<Spread>,
    /// The growth of the number of children per parent.
    pub growth: Option<ChildGrowth>,
    /// The typical number of parents per child; 1 if a child belongs to one parent.
    pub parents: f64,
    /// The maximum number of parents per child, if it is far from the typical number.
    pub parents_max: f64,
    /// The distribution of the number of parents per child.
    pub parents_spread: Spread,
    /// Fields of either side that must never be stale; empty with `current` set means all of them.
    pub current: Option<Vec<String>>,
    /// True if new children mostly belong to the newest parents, so their ids increase (SK-3).
    pub rising: Option<bool>,
    /// The number of newest children to keep; older ones may be deleted (PT-slice.1).
    pub keep_newest: Option<u64>,
    /// The invariant over parent and children, in the user's words (CK-10).
    pub invariant: Option<String>,
    /// True if the model declares a transaction for data that must change together (CK-10).
    pub transaction: bool,
}

impl Relationship {
    /// The name of the children in the parent: `comments` of `post.comments`.
    pub fn role(&self) -> &str {
        self.name.rsplit_once('.').map_or(self.name.as_str(), |(_, role)| role)
    }

    /// Returns whether a child has several parents.
    pub fn is_shared(&self) -> bool {
        self.parents > 1.0 || self.parents_max > 1.0
    }

    /// Returns whether copies of a field of either side must never be stale.
    pub fn must_be_current(&self, field: &str) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|all| all.is_empty() || all.iter().any(|name| name == field))
    }
}

/// The growth of the number of children per parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChildGrowth {
    /// The business sets an upper bound.
    Bounded,
    /// There is no upper bound; the growth per year is given for a typical parent and the 99th
    /// percentile.
    Endless {
        /// Children per year, for a typical parent.
        typical: f64,
        /// Children per year, at the 99th percentile.
        p99: f64,
    },
}

/// The kind of comparison of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matching {
    /// Equal to one value.
    Equal,
    /// Equal to one of up to this many values.
    OneOf(u32),
    /// A range, a pattern, or not equal.
    Range,
    /// A range that matches very few documents.
    NarrowRange,
    /// Near a place, or within an area.
    Near,
    /// Contains words.
    Text,
    /// Equal to a value in any field of an object.
    AnyField,
}

/// A declared read.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignRead {
    /// The name of the read.
    pub name: String,
    /// The position of its declaration.
    pub place: Location,
    /// Executions per second.
    pub per_second: f64,
    /// The entity it starts from.
    pub from: String,
    /// Conditions: fields of the entity, or names of relationships for the id of the other side.
    pub filter: Vec<(String, Matching)>,
    /// The sort order: field, and true for descending.
    pub sort: Vec<(String, bool)>,
    /// Documents it returns.
    pub limit: Option<u64>,
    /// Fields of the entity it needs; empty means all.
    pub fields: Vec<String>,
    /// The related entities it also fetches.
    pub with: Vec<With>,
    /// Relationships whose children are counted on each execution.
    pub counts: Vec<String>,
    /// Relationships and child fields that are summed or averaged on each execution.
    pub sums: Vec<(String, String)>,
    /// True if the result may be slightly stale.
    pub tolerates_stale: bool,
}

/// A related entity that a read fetches.
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// The relationship.
    pub relationship: String,
    /// Fields of the other side; empty means all.
    pub fields: Vec<String>,
    /// Fetches only this many, the newest by the given field.
    pub newest: Option<(u64, Option<String>)>,
}

/// A declared write.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignWrite {
    /// The name of the write.
    pub name: String,
    /// The position of its declaration.
    pub place: Location,
    /// Executions per second.
    pub per_second: f64,
    /// Entities it inserts.
    pub inserts: Vec<String>,
    /// Entities it updates.
    pub updates: Vec<String>,
    /// Entities it deletes.
    pub deletes: Vec<String>,
    /// Fields it changes, as `entity.field`.
    pub sets: Vec<(String, String)>,
    /// True if all of its changes must succeed or fail together.
    pub atomic: bool,
}

impl DesignWrite {
    /// Returns whether it inserts, updates or deletes documents of an entity.
    pub fn touches(&self, entity: &str) -> bool {
        self.entities().any(|name| name == entity)
    }

    /// The entities whose documents it inserts, updates or deletes.
    pub fn entities(&self) -> impl Iterator<Item = &str> {
        self.inserts.iter().chain(&self.updates).chain(&self.deletes).map(String::as_str)
    }
}
