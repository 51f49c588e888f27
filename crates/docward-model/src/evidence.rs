//! The evidence that rules receive: the catalogue, one profile per collection, and the links
//! between collections.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    BsonType, Checked, ClientUri, Code, CollectionStats, Counted, DesignModel, Distribution,
    FieldPath, IndexUsage, KeyAnalysis, Namespace, Network, Profile, Server, Value, Workload,
};

/// Everything known about a deployment, from any source.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// Facts about the deployment as a whole.
    pub deployment: Deployment,
    /// Facts from a running server; `None` if everything came from files.
    pub server: Option<Server>,
    /// Databases by name, sorted, including those without collections.
    pub databases: Vec<String>,
    /// Collections sorted by namespace.
    pub collections: Vec<Collection>,
    /// Fields whose values are `_id`s, or values of another unique key, of another collection.
    pub references: Vec<Reference>,
    /// Fields that copy a field of another collection and have a reference to it next to them.
    pub copies: Vec<CopiedField>,
    /// Collections whose names differ only in the suffix.
    pub families: Vec<NameFamily>,
    /// The server's analyses of shard keys.
    #[serde(default)]
    pub key_analyses: Vec<KeyAnalysis>,
    /// Notes for the reader of the evidence: omitted data and data that was not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The operations of clients, if logs or a profiler recorded them.
    pub workload: Option<Workload>,
    /// Network rules in front of the servers, if files with such rules were given.
    #[serde(skip)]
    pub network: Option<Network>,
    /// Connection strings of the sources and of clients, without passwords.
    #[serde(skip)]
    pub uris: Vec<ClientUri>,
    /// Hosts that DNS gives for the names of `mongodb+srv://` strings, with their ports, by name.
    #[serde(skip)]
    pub srv_hosts: BTreeMap<String, Vec<String>>,
    /// Facts from source code, if source code was given.
    #[serde(skip)]
    pub code: Option<Code>,
    /// The model the data should follow, if one was given.
    #[serde(skip)]
    pub design: Option<DesignModel>,
}

impl Evidence {
    /// A collection by namespace.
    pub fn collection(&self, namespace: &Namespace) -> Option<&Collection> {
        self.collections
            .binary_search_by(|c| c.namespace.cmp(namespace))
            .ok()
            .map(|at| &self.collections[at])
    }
}

impl Evidence {
    /// Adds the evidence of another source. If both have the same collection, the first one wins;
    /// returns the collections of the other that were left out.
    pub fn absorb(&mut self, other: Self) -> Vec<Namespace> {
        let names_are_real = other.deployment.names_are_real;
        self.deployment.names_are_real |= names_are_real;
        self.deployment.server_version =
            self.deployment.server_version.or(other.deployment.server_version);
        self.server = self.server.take().or(other.server);
        self.workload = self.workload.take().or(other.workload);
        self.key_analyses.extend(other.key_analyses);
        self.notes.extend(other.notes);
        let mut left_out = Vec::new();
        for collection in other.collections {
            match self.collections.binary_search_by(|c| c.namespace.cmp(&collection.namespace)) {
                Ok(_) => left_out.push(collection.namespace),
                Err(at) => self.collections.insert(at, collection),
            }
        }
        self.databases.extend(other.databases);
        self.databases.sort();
        self.databases.dedup();
        let is_kept = |namespace: &Namespace| !left_out.contains(namespace);
        self.references.extend(other.references.into_iter().filter(|r| is_kept(&r.from)));
        self.copies.extend(other.copies.into_iter().filter(|c| is_kept(&c.from)));
        self.families.extend(other.families);
        left_out
    }
}

/// Facts about the whole deployment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Deployment {
    /// Major and minor version of the server, when known.
    pub server_version: Option<(u32, u32)>,
    /// True if database and collection names come from the data itself, at least some of them. False
    /// for loose JSON files, whose names are derived from the file names: naming rules then do not
    /// apply.
    pub names_are_real: bool,
}

/// The kind of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollectionKind {
    /// An ordinary collection.
    #[default]
    Plain,
    /// A view: it stores no documents.
    View,
    /// A native time series collection (its buckets are read, when read at all).
    TimeSeries,
    /// A capped collection.
    Capped,
    /// `*.files` of a GridFS bucket.
    GridFsFiles,
    /// `*.chunks` of a GridFS bucket.
    GridFsChunks,
    /// A system collection (`system.profile`, `system.views`, `oplog.rs`, …).
    System,
}

impl CollectionKind {
    /// Returns whether users define its name and shape: not a view, not a system collection, not a
    /// GridFS internal.
    pub fn is_business(self) -> bool {
        matches!(self, Self::Plain | Self::Capped | Self::TimeSeries)
    }
}

/// Options of a time series collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "MongoDB's own option names")]
pub struct TimeSeriesOptions {
    pub time_field: String,
    pub meta_field: Option<String>,
    pub granularity: Option<String>,
}

/// `validationLevel`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "MongoDB's own words")]
pub enum ValidationLevel {
    Off,
    #[default]
    Strict,
    Moderate,
}

impl ValidationLevel {
    /// MongoDB's word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Strict => "strict",
            Self::Moderate => "moderate",
        }
    }

    /// Returns the level with MongoDB's word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Off, Self::Strict, Self::Moderate].into_iter().find(|one| one.name() == word)
    }
}

/// `validationAction`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "MongoDB's own words")]
pub enum ValidationAction {
    #[default]
    Error,
    Warn,
    ErrorAndLog,
}

impl ValidationAction {
    /// MongoDB's word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::ErrorAndLog => "errorAndLog",
        }
    }

    /// Returns the action with MongoDB's word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Error, Self::Warn, Self::ErrorAndLog].into_iter().find(|one| one.name() == word)
    }
}

/// Options of a collection, as the catalogue has them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CollectionOptions {
    /// The validator, if it is not empty.
    pub validator: Option<Value>,
    /// The validation level.
    pub validation_level: ValidationLevel,
    /// The action on a document that fails validation.
    pub validation_action: ValidationAction,
    /// Time series options.
    pub time_series: Option<TimeSeriesOptions>,
    /// Capped collections: size in bytes.
    pub capped_bytes: Option<i64>,
    /// Default collation, in canonical text.
    pub collation: Option<String>,
}

impl CollectionOptions {
    /// The `$jsonSchema` of the validator.
    pub fn json_schema(&self) -> Option<&Value> {
        self.validator.as_ref()?.get("$jsonSchema")
    }
}

/// The direction or kind of one field in an index key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "MongoDB's own words")]
pub enum DirectionKind {
    Ascending,
    Descending,
    Hashed,
    Text,
    /// `2dsphere`, `2d` or `geoHaystack`.
    Geo(String),
    /// Anything else, as written.
    Other(String),
}

/// One field of an index key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexKey {
    /// Dotted path; `$**` for wildcards.
    pub path: String,
    /// Direction or kind.
    pub kind: DirectionKind,
}

impl IndexKey {
    /// A field in ascending order.
    pub fn ascending(path: impl Into<String>) -> Self {
        Self { path: path.into(), kind: DirectionKind::Ascending }
    }

    /// Returns a field of a shard key: hashed or ascending.
    pub fn sharded((path, hashed): &(String, bool)) -> Self {
        let kind = if *hashed { DirectionKind::Hashed } else { DirectionKind::Ascending };
        Self { path: path.clone(), kind }
    }
}

/// An index definition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its fields in order.
    pub keys: Vec<IndexKey>,
    /// Refuses equal keys.
    pub unique: bool,
    /// Leaves out documents without the fields.
    pub sparse: bool,
    /// Hidden from the planner.
    pub hidden: bool,
    /// `expireAfterSeconds`.
    pub ttl_seconds: Option<i64>,
    /// `partialFilterExpression`.
    pub partial_filter: Option<Value>,
    /// Collation, in canonical text.
    pub collation: Option<String>,
    /// Its size in bytes; `None` unless a server was asked.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Its usage; `None` unless a server was asked.
    pub usage: Option<IndexUsage>,
}

impl Index {
    /// The index every collection has on `_id`.
    pub fn is_id(&self) -> bool {
        self.keys.len() == 1
            && self.keys[0].path == "_id"
            && matches!(self.keys[0].kind, DirectionKind::Ascending | DirectionKind::Descending)
    }

    /// `{ userId: 1, date: -1 }`: for messages and commands.
    pub fn key_text(&self) -> String {
        let fields: Vec<_> = self
            .keys
            .iter()
            .map(|key| {
                let name = crate::shell::key(&key.path);
                match &key.kind {
                    DirectionKind::Ascending => format!("{name}: 1"),
                    DirectionKind::Descending => format!("{name}: -1"),
                    DirectionKind::Hashed => format!("{name}: \"hashed\""),
                    DirectionKind::Text => format!("{name}: \"text\""),
                    DirectionKind::Geo(kind) | DirectionKind::Other(kind) => {
                        format!("{name}: \"{kind}\"")
                    }
                }
            })
            .collect();
        format!("{{ {} }}", fields.join(", "))
    }
}

/// One collection: catalogue facts and, when documents were read, their profile.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Collection {
    /// Its name.
    pub namespace: Namespace,
    /// True if the name is that of a file, and not from the data.
    #[serde(default)]
    pub has_guessed_name: bool,
    /// The UUID that distinguishes it from another collection with the same name.
    #[serde(default)]
    pub uuid: Option<String>,
    /// Its kind.
    pub kind: CollectionKind,
    /// Its options; `None` if the source does not contain them (a lone `.bson` or JSON file).
    pub options: Option<CollectionOptions>,
    /// Its indexes; `None` if the source does not contain them.
    pub indexes: Option<Vec<Index>>,
    /// Its statistics on the server; `None` unless a server was asked.
    pub stats: Option<CollectionStats>,
    /// The profile of its documents; `None` if none were read.
    pub profile: Option<Profile>,
    /// Figures that the server computed over all documents; `None` unless the server was asked.
    #[serde(default)]
    pub counted: Option<Box<Counted>>,
    /// The result of checking its documents against a schema; `None` if they were not checked.
    #[serde(default)]
    pub checked: Option<Box<Checked>>,
}

impl Collection {
    /// A collection of which only the name is known.
    pub fn named(namespace: Namespace) -> Self {
        Self {
            namespace,
            has_guessed_name: false,
            uuid: None,
            kind: CollectionKind::Plain,
            options: None,
            indexes: None,
            stats: None,
            profile: None,
            counted: None,
            checked: None,
        }
    }
}

/// A field that holds another collection's `_id`s, or values of one of its unique keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reference {
    /// The collection that holds the reference.
    pub from: Namespace,
    /// The field there.
    pub path: FieldPath,
    /// The collection referred to.
    pub to: Namespace,
    /// The field referred to: `_id`, or another unique field.
    pub to_path: FieldPath,
    /// The share of distinct values that exist in the target, 0..=1.
    pub contained: f64,
    /// The share of references that exist in the target, counting repeated values, 0..=1; the share
    /// of distinct values if only that is known.
    #[serde(default)]
    pub references_contained: f64,
    /// The number of distinct values the share was measured on.
    pub checked_values: u64,
    /// Type of the reference.
    pub from_type: BsonType,
    /// Type of the field referred to.
    pub to_type: BsonType,
    /// True if the values match only after a type conversion (hex string to ObjectId).
    pub needs_conversion: bool,
    /// References per value referred to ("children per parent"), over parents that have any.
    pub children_per_parent: Distribution,
    /// Distinct parents referred to (estimate).
    pub parents: f64,
    /// References per document that holds any ("parents per child"; 1 unless in an array).
    pub parents_per_child: f64,
    /// True if the values were looked up in the collection itself, not only among the documents
    /// read from it.
    #[serde(default)]
    pub looked_up: bool,
}

impl Reference {
    /// The certainty that the field refers to the target. Many references may share few values,
    /// while a few dangling references may each have a distinct value.
    pub fn agreement(&self) -> f64 {
        self.contained.max(self.references_contained)
    }

    /// Returns whether it refers to `_id`.
    pub fn is_by_id(&self) -> bool {
        self.to_path.as_str() == "_id"
    }

    /// The target of the reference, for messages: `` `db.coll` `` or `` `code` of `db.coll` ``.
    pub fn target(&self) -> String {
        if self.is_by_id() {
            format!("`{}`", self.to)
        } else {
            format!("`{}` of `{}`", self.to_path, self.to)
        }
    }
}

/// A field that copies a field of another collection and has a reference to it next to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CopiedField {
    /// The collection that holds the copy.
    pub from: Namespace,
    /// The copy.
    pub path: FieldPath,
    /// The reference next to it.
    pub reference: FieldPath,
    /// The collection it is copied from.
    pub to: Namespace,
    /// The field there.
    pub source: FieldPath,
    /// Pairs compared.
    pub compared: u64,
    /// Pairs that differ.
    pub differing: u64,
    /// True if at least half of the values are equal, so the values alone show a copy. Otherwise
    /// only the names match.
    pub by_value: bool,
}

/// The form of the varying part in a family of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TailForm {
    /// `_202403`, `_2024`, `_20240315`.
    TimeSuffix,
    /// It looks like a time but has none of those forms.
    OddTimeSuffix,
    /// Running numbers or ids: one collection per entity.
    Number,
}

/// Collections of one database whose names differ only in the suffix.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NameFamily {
    /// The database.
    pub database: String,
    /// The common stem, `t_device_`.
    pub stem: String,
    /// The form of the suffix.
    pub form: TailForm,
    /// The members, sorted.
    pub members: Vec<String>,
    /// The share of members whose top-level fields are nearly the same; `None` without documents.
    pub same_shape: Option<f64>,
}
