//! A model as people declare it before any data exists: entities, how they relate, what is read and
//! written how often (DP-1, DP-2). `docward-design` reads it from a file and decides on it.

use crate::{BsonType, Location};

/// Everything that was declared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DesignModel {
    /// What the model is called.
    pub name: String,
    /// The database its collections live in.
    pub database: Option<String>,
    /// The day that counts and sizes are true for: year, month, day. Dates are counted from it.
    pub as_of: Option<(i16, i8, i8)>,
    /// Where it will run.
    pub deployment: DesignDeployment,
    /// Entities, in the order of the file.
    pub entities: Vec<Entity>,
    /// Relationships, in the order of the file.
    pub relationships: Vec<Relationship>,
    /// What is read.
    pub reads: Vec<DesignRead>,
    /// What is written.
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

/// Where the model will run.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignDeployment {
    /// The server's version: major, minor.
    pub server: (u32, u32),
    /// Shards; 1 means not sharded.
    pub shards: u32,
    /// Most connections the deployment takes.
    pub connection_limit: Option<u64>,
    /// Client objects: instances times processes.
    pub clients: Option<u64>,
    /// A field that says where documents must live, and its values (SK-11).
    pub zones: Option<(String, Vec<String>)>,
}

impl Default for DesignDeployment {
    fn default() -> Self {
        Self { server: (6, 0), shards: 1, connection_limit: None, clients: None, zones: None }
    }
}

/// A thing the application knows by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Its name in the model.
    pub name: String,
    /// Where it is declared.
    pub place: Location,
    /// The collection's name, when it is not made from the entity's.
    pub collection: Option<String>,
    /// Documents there are today.
    pub count: Option<f64>,
    /// Its fields, without ids of other entities.
    pub fields: Vec<EntityField>,
    /// Kinds that share the fields above and add some of their own (PT-poly.1).
    pub variants: Vec<Variant>,
    /// Question 3 of DP-2: how it lives. `None` is an open question.
    pub lifecycle: Option<Lifecycle>,
    /// The date that says how old a document is, where its name does not, and where that stands.
    pub kept_by: Option<(String, Location)>,
    /// Said to be written by nobody, so that no write has to name it.
    pub never_written: bool,
    /// Said to be read by nobody on its own.
    pub never_read: bool,
    /// A series: readings of something over time (ALG-8).
    pub series: Option<Series>,
    /// Whether change streams, unique indexes or validators are needed, which time series lack (GC-30).
    pub needs_plain: Option<bool>,
    /// Whether old versions of its documents must be kept.
    pub keeps_versions: bool,
    /// The current version of the shape of its documents, where older shapes are still stored.
    pub shape_version: Option<u64>,
    /// Fields that are alike and searched alike (the attribute pattern).
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
    /// Where it is declared.
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
    /// Whether new documents have higher values.
    pub rising: Option<bool>,
    /// Whether every document has it.
    pub required: bool,
    /// Whether it may be null.
    pub nullable: bool,
    /// Whether no two documents share a value.
    pub unique: bool,
    /// Fields of an object, or of the elements of an array.
    pub fields: Vec<EntityField>,
    /// The type of the elements of an array that are no objects.
    pub element: Option<BsonType>,
    /// Elements of an array.
    pub items: Option<Spread>,
}

/// How a number spreads.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Spread {
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
}

impl Spread {
    /// Always the same number.
    pub fn always(number: u64) -> Self {
        Self { p50: number, p95: number, p99: number, max: number }
    }
}

/// How documents of an entity come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lifecycle {
    /// New documents a year.
    pub per_year: f64,
    /// Days until a document goes; `None` means never.
    pub kept_days: Option<f64>,
    /// Days after which a document is hardly read any more (the archive pattern).
    pub cold_days: Option<f64>,
    /// Whether nobody said how many come: `per_year` is 0 then, and it is asked for.
    pub growth_open: bool,
    /// Whether nobody said how long documents are kept: `kept_days` is `None` then, and it is asked for.
    pub kept_open: bool,
}

/// Readings over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The field of the time.
    pub time: String,
    /// The fields that say which series a reading belongs to.
    pub id: Vec<String>,
    /// Readings a second of one series.
    pub per_second: f64,
    /// Different series.
    pub series: Option<f64>,
}

/// Two entities that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Relationship {
    /// `post.comments`: the parent, and what its children are called there.
    pub name: String,
    /// Where it is declared.
    pub place: Location,
    /// The entity that would hold embedded documents.
    pub parent: String,
    /// The entity that would be embedded.
    pub child: String,
    /// The field that holds ids when it is referenced, when its name is not made from the entities'.
    pub field: Option<String>,
    /// Children of a parent.
    pub children: Option<Spread>,
    /// Whether and how fast the children of one parent become more.
    pub growth: Option<ChildGrowth>,
    /// Parents of a child; 1 when it belongs to one.
    pub parents: f64,
    /// Most parents of a child, when it is far from the typical number.
    pub parents_max: f64,
    /// How the parents of a child spread.
    pub parents_spread: Spread,
    /// Fields of either side that must never be out of date; empty with `current` set means all of them.
    pub current: Option<Vec<String>>,
    /// Only the newest so many are wanted; older ones may go (PT-slice.1).
    pub keep_newest: Option<u64>,
    /// What must hold over parent and children, in the user's words (CK-10).
    pub invariant: Option<String>,
    /// Whether a transaction is written down for what must change together (CK-10).
    pub transaction: bool,
}

impl Relationship {
    /// What the children are called in the parent: `comments` of `post.comments`.
    pub fn role(&self) -> &str {
        self.name.rsplit_once('.').map_or(self.name.as_str(), |(_, role)| role)
    }

    /// Whether a child has several parents.
    pub fn is_shared(&self) -> bool {
        self.parents > 1.0 || self.parents_max > 1.0
    }

    /// Whether copies of a field of either side must never be out of date.
    pub fn must_be_current(&self, field: &str) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|all| all.is_empty() || all.iter().any(|name| name == field))
    }
}

/// How the children of one parent become more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChildGrowth {
    /// There is an end that the business sets.
    Bounded,
    /// There is no end; so many more a year for a typical parent and for the 99th percentile.
    Endless {
        /// A year, for a typical parent.
        typical: f64,
        /// A year, at the 99th percentile.
        p99: f64,
    },
}

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matching {
    /// One value, or a list of up to so many.
    Equal,
    /// One of so many values.
    OneOf(u32),
    /// A range, a pattern, or not equal.
    Range,
    /// A range that leaves very little.
    NarrowRange,
}

/// A read.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignRead {
    /// What people call it.
    pub name: String,
    /// Where it is declared.
    pub place: Location,
    /// Times a second.
    pub per_second: f64,
    /// The entity it begins with.
    pub from: String,
    /// Conditions: fields of the entity, or names of relationships for the id of the other side.
    pub filter: Vec<(String, Matching)>,
    /// Order: field and whether it falls.
    pub sort: Vec<(String, bool)>,
    /// Documents it returns.
    pub limit: Option<u64>,
    /// Fields of the entity it needs; empty means all.
    pub fields: Vec<String>,
    /// What it fetches along.
    pub with: Vec<With>,
    /// Relationships whose children are counted each time.
    pub counts: Vec<String>,
    /// Relationships and fields of the child that are summed or averaged each time.
    pub sums: Vec<(String, String)>,
    /// Whether the answer may be a little old.
    pub tolerates_stale: bool,
}

/// What a read fetches along a relationship.
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// The relationship.
    pub relationship: String,
    /// Fields of the other side; empty means all.
    pub fields: Vec<String>,
    /// Only so many, the newest by a field.
    pub newest: Option<(u64, Option<String>)>,
}

/// A write.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignWrite {
    /// What people call it.
    pub name: String,
    /// Where it is declared.
    pub place: Location,
    /// Times a second.
    pub per_second: f64,
    /// Entities it inserts.
    pub inserts: Vec<String>,
    /// Entities it updates.
    pub updates: Vec<String>,
    /// Entities it deletes.
    pub deletes: Vec<String>,
    /// Fields it changes, as `entity.field`.
    pub sets: Vec<(String, String)>,
    /// Whether all of it must happen or nothing.
    pub atomic: bool,
}

impl DesignWrite {
    /// Whether it changes an entity in any way.
    pub fn touches(&self, entity: &str) -> bool {
        self.entities().any(|name| name == entity)
    }

    /// The entities it changes in any way.
    pub fn entities(&self) -> impl Iterator<Item = &str> {
        self.inserts.iter().chain(&self.updates).chain(&self.deletes).map(String::as_str)
    }
}
