//! What can be done about a finding, as values: steps in the words of the rule book. [`crate::mongosh`] writes them
//! for people; other programs take them from the JSON report.
//!
//! Steps name collections, fields, types and figures. Values of documents are not in them, except where a validator
//! lists them.

mod written;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    BsonType, FieldPath, IndexKey, Namespace, ValidationAction, ValidationLevel, Value, mongosh,
};

/// What applying a fix can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safety {
    /// No stored data changes.
    Safe,
    /// Data changes; the old state can be restored.
    Guarded,
    /// A person has to decide something first.
    Manual,
}

impl Safety {
    /// The safety a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Safe, Self::Guarded, Self::Manual].into_iter().find(|safety| safety.name() == word)
    }

    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Guarded => "guarded",
            Self::Manual => "manual",
        }
    }
}

/// A proposed remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// The refactoring of the rule book that does it (`RF-01`), if one does.
    pub refactoring: Option<Cow<'static, str>>,
    /// What applying it can break.
    pub safety: Safety,
    /// What it does.
    pub action: Action,
}

/// What a remedy does. Changes of source files and of connection strings are fields of the finding, because a finding
/// may have both.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Steps on a deployment, in their order.
    Plan(Vec<Step>),
    /// A command line that begins with `docward`, or what a report of an earlier version has.
    Command(String),
}

impl Fix {
    /// The steps of a plan; none for a command line.
    pub fn steps(&self) -> &[Step] {
        match &self.action {
            Action::Plan(steps) => steps,
            Action::Command(_) => &[],
        }
    }

    /// What to type: statements for mongosh, or a command line.
    pub fn command(&self) -> String {
        match &self.action {
            Action::Plan(steps) => {
                steps.iter().map(mongosh::statement).collect::<Vec<_>>().join("; ")
            }
            Action::Command(line) => line.clone(),
        }
    }
}

/// One step on a deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Step {
    /// Gives fields other names.
    RenameFields {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The names.
        renames: Vec<Rename>,
        /// Whether documents that have the new name already are left alone.
        only_where_free: bool,
    },
    /// Leaves a field out of documents.
    UnsetField {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The field.
        path: FieldPath,
        /// Which documents.
        documents: UnsetWhere,
    },
    /// Moves a field out of the objects that hold it.
    LiftField {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The names.
        #[serde(flatten)]
        rename: Rename,
    },
    /// Gives values of a field another type. What does not convert stays, unless the conversion says otherwise.
    ConvertField {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The field, elements of arrays as `[]`.
        path: FieldPath,
        /// The types of the values that are converted.
        #[serde(with = "written::types")]
        from: Vec<BsonType>,
        /// The types of values afterwards, the one to convert to first.
        #[serde(with = "written::types")]
        to: Vec<BsonType>,
        /// How.
        conversion: Conversion,
    },
    /// Makes an array of an object whose keys are data.
    ArrayFromKeys {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The field.
        path: FieldPath,
        /// The field of an element that gets the key.
        key: String,
        /// Whether keys are days and become dates.
        keys_are_dates: bool,
        /// The field that gets the value; none where values are objects, which get the key as one more field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// Says in a field which kind of document each is.
    SetKind {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The field that only documents of one kind have.
        present: FieldPath,
        /// The field that says the kind.
        field: String,
    },
    /// Keeps the last elements of an array when one is appended.
    CapArray {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The array.
        path: FieldPath,
        /// How many stay.
        keep: u32,
    },
    /// Copies the elements of an array into documents of a collection, with the parent's `_id`.
    SplitArray {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The array.
        path: FieldPath,
        /// The collection of the elements, in the same database.
        into: String,
        /// The field with the parent's `_id`.
        parent_id: String,
        /// The field that keeps an element's own `_id`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_id: Option<String>,
        /// Whether elements are objects; other values become the field `value`.
        elements_are_objects: bool,
    },
    /// Copies a collection.
    CopyCollection {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// Where to.
        #[serde(with = "written::namespace")]
        to: Namespace,
    },
    /// Gives a collection another name.
    RenameCollection {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The name.
        to: String,
    },
    /// Creates a time series collection.
    CreateTimeSeries {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The field with the time.
        time_field: String,
        /// The field that says whose measurement it is.
        meta_field: String,
        /// How near in time measurements are: `seconds`, `minutes` or `hours`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        granularity: Option<String>,
    },
    /// Creates an index.
    CreateIndex {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The index.
        #[serde(flatten)]
        index: NewIndex,
    },
    /// Drops an index.
    DropIndex {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// Its name.
        index: String,
    },
    /// Hides an index from the planner.
    HideIndex {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// Its name.
        index: String,
    },
    /// Shows a hidden index to the planner.
    UnhideIndex {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// Its name.
        index: String,
    },
    /// Gives a collection a validator.
    SetValidator {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The validator.
        #[serde(with = "written::value")]
        validator: Value,
        /// How strictly it is applied.
        #[serde(with = "written::level")]
        level: ValidationLevel,
        /// What happens on a breach.
        #[serde(with = "written::action")]
        action: ValidationAction,
    },
    /// Applies the validator that is there more strictly.
    SetValidation {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// How strictly it is applied.
        #[serde(with = "written::level")]
        level: ValidationLevel,
        /// What happens on a breach.
        #[serde(with = "written::action")]
        action: ValidationAction,
        /// The validator; with it the step is left out while documents break it.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            with = "written::optional_value"
        )]
        unless_broken: Option<Value>,
    },
    /// Lets the validator warn only.
    RelaxValidator {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
    },
    /// Lets a database have sharded collections, for servers before 6.0.
    EnableSharding {
        /// The database.
        database: String,
    },
    /// Distributes a collection.
    ShardCollection {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The shard key.
        #[serde(with = "written::keys")]
        keys: Vec<IndexKey>,
        /// Whether the collection has a collation, which shard keys cannot use.
        has_collation: bool,
    },
    /// Adds fields to a shard key.
    RefineShardKey {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The whole new key.
        #[serde(with = "written::keys")]
        keys: Vec<IndexKey>,
    },
    /// Distributes a collection anew.
    ReshardCollection {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The new key.
        #[serde(with = "written::keys")]
        keys: Vec<IndexKey>,
        /// Whether the collection has a collation, which shard keys cannot use.
        has_collation: bool,
    },
    /// Creates the account that administers accounts.
    CreateAdministrator,
    /// Gives an account roles.
    GrantRoles {
        /// The account's database.
        database: String,
        /// The account.
        user: String,
        /// The roles.
        roles: Vec<GrantedRole>,
    },
    /// Takes roles from an account.
    RevokeRoles {
        /// The account's database.
        database: String,
        /// The account.
        user: String,
        /// The roles.
        roles: Vec<GrantedRole>,
    },
    /// Looks at something before a person decides; changes nothing.
    Inspect {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// At what.
        look: Look,
    },
}

/// A field and its new name, both as whole paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rename {
    /// The field.
    pub from: FieldPath,
    /// Its new name.
    pub to: FieldPath,
}

/// Documents that lose a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "are", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum UnsetWhere {
    /// Those in which it is an empty string.
    Empty,
    /// Those in which it is equal to another field.
    EqualTo {
        /// The other field.
        other: FieldPath,
    },
}

/// How values become another type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Conversion {
    /// As the server converts values.
    Cast {
        /// Objects are first replaced with their field of this name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inner: Option<String>,
        /// Numbers count from 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epoch: Option<EpochUnit>,
        /// The words `true` and `false` are read; the server takes every text for true.
        reads_words: bool,
        /// Empty strings become null.
        empty_to_null: bool,
    },
    /// Texts are read as dates.
    DateText,
    /// Numbers become decimals, rounded.
    Rounded {
        /// Digits behind the point.
        scale: u64,
    },
    /// Numbers that count from 1970 become dates.
    Epoch {
        /// What they count.
        unit: EpochUnit,
        /// Whether zero and below says that there is no date, so that the field is left out.
        zero_is_absent: bool,
    },
    /// A person says which word each number stands for.
    Words {
        /// How many numbers there are.
        values: u64,
    },
}

impl Conversion {
    /// As the server converts values; what does not convert stays.
    pub const CAST: Self =
        Self::Cast { inner: None, epoch: None, reads_words: false, empty_to_null: false };
}

/// What a number counts from 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the variants say it")]
pub enum EpochUnit {
    Seconds,
    Milliseconds,
}

/// An index to create.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewIndex {
    /// Its fields in order.
    #[serde(with = "written::keys")]
    pub keys: Vec<IndexKey>,
    /// Whether it refuses equal keys.
    #[serde(default)]
    pub unique: bool,
    /// Its name, where the server's own would not do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The options of its collation.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "written::optional_value")]
    pub collation: Option<Value>,
    /// The field whose value says which documents it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_kinds_of: Option<String>,
}

impl NewIndex {
    /// An index on these fields, ascending.
    pub fn ascending(paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { keys: paths.into_iter().map(IndexKey::ascending).collect(), ..Self::default() }
    }

    /// The same, refusing equal keys.
    #[must_use]
    pub fn unique(self) -> Self {
        Self { unique: true, ..self }
    }
}

/// A role and its database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct GrantedRole {
    pub role: String,
    pub db: String,
}

/// What to look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Look {
    /// The largest documents.
    LargestDocuments,
    /// Documents whose array is long.
    LongArrays {
        /// The array.
        path: FieldPath,
        /// Elements it has at least.
        elements: u64,
    },
    /// Documents in which a field has one of these types.
    OfTypes {
        /// The field.
        path: FieldPath,
        /// The types.
        #[serde(with = "written::types")]
        types: Vec<BsonType>,
    },
    /// How often each index was used.
    IndexUse,
    /// How many documents have no value in a field.
    CountWithout {
        /// The field.
        path: FieldPath,
    },
    /// How many documents break a validator.
    CountBreaches {
        /// The validator.
        #[serde(with = "written::value")]
        validator: Value,
    },
    /// Documents that break a validator.
    Breaches {
        /// The validator.
        #[serde(with = "written::value")]
        validator: Value,
    },
    /// References to documents that are not there.
    DanglingReferences {
        /// The reference.
        path: FieldPath,
        /// The collection it leads to, in the same database.
        target: String,
        /// The field that it names.
        target_path: FieldPath,
    },
    /// Documents with those of another collection that refer to them.
    WithDetails {
        /// The field that is referred to.
        path: FieldPath,
        /// The other collection, in the same database.
        details: String,
        /// The reference in it.
        reference: FieldPath,
    },
    /// The different values of a field.
    DistinctValues {
        /// The field.
        path: FieldPath,
    },
    /// Values that differ in capitals only.
    CaseVariants {
        /// The field.
        path: FieldPath,
    },
}

impl Step {
    /// The collection it is about.
    pub fn namespace(&self) -> Option<&Namespace> {
        match self {
            Self::RenameFields { namespace, .. }
            | Self::UnsetField { namespace, .. }
            | Self::LiftField { namespace, .. }
            | Self::ConvertField { namespace, .. }
            | Self::ArrayFromKeys { namespace, .. }
            | Self::SetKind { namespace, .. }
            | Self::CapArray { namespace, .. }
            | Self::SplitArray { namespace, .. }
            | Self::CopyCollection { namespace, .. }
            | Self::RenameCollection { namespace, .. }
            | Self::CreateTimeSeries { namespace, .. }
            | Self::CreateIndex { namespace, .. }
            | Self::DropIndex { namespace, .. }
            | Self::HideIndex { namespace, .. }
            | Self::UnhideIndex { namespace, .. }
            | Self::SetValidator { namespace, .. }
            | Self::SetValidation { namespace, .. }
            | Self::RelaxValidator { namespace }
            | Self::ShardCollection { namespace, .. }
            | Self::RefineShardKey { namespace, .. }
            | Self::ReshardCollection { namespace, .. }
            | Self::Inspect { namespace, .. } => Some(namespace),
            Self::EnableSharding { .. }
            | Self::CreateAdministrator
            | Self::GrantRoles { .. }
            | Self::RevokeRoles { .. } => None,
        }
    }

    /// What it does to the fields of its collection.
    pub fn changes(&self) -> Vec<FieldChange> {
        match self {
            Self::RenameFields { renames, .. } => {
                renames.iter().map(|rename| FieldChange::remove(&rename.from)).collect()
            }
            Self::LiftField { rename, .. } => vec![FieldChange::remove(&rename.from)],
            Self::UnsetField { path, .. } => vec![FieldChange::remove(path)],
            Self::ConvertField { path, to, conversion, .. } => {
                let change = FieldChange::convert(path, to.clone());
                vec![match conversion {
                    Conversion::Cast { empty_to_null, .. } => change.or_null(*empty_to_null),
                    Conversion::Epoch { zero_is_absent, .. } => change.or_absent(*zero_is_absent),
                    _ => change,
                }]
            }
            Self::ArrayFromKeys { path, .. } => {
                vec![FieldChange::convert(path, [BsonType::Array])]
            }
            _ => Vec::new(),
        }
    }

    /// Fields that documents did not have before.
    pub fn adds(&self) -> Vec<FieldPath> {
        match self {
            Self::RenameFields { renames, .. } => {
                renames.iter().map(|rename| rename.to.clone()).collect()
            }
            Self::LiftField { rename, .. } => vec![rename.to.clone()],
            Self::SetKind { field, .. } => vec![FieldPath::new(field.as_str())],
            _ => Vec::new(),
        }
    }

    /// Whether it updates stored documents of its collection, which its validator may refuse.
    pub fn updates_documents(&self) -> bool {
        matches!(
            self,
            Self::RenameFields { .. }
                | Self::UnsetField { .. }
                | Self::LiftField { .. }
                | Self::ConvertField { .. }
                | Self::ArrayFromKeys { .. }
                | Self::SetKind { .. }
        )
    }
}

/// What the advice of a finding does to a field. A validator that the same report proposes admits the
/// outcome, so that the proposals can be applied in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// The field.
    pub path: FieldPath,
    /// The types that values have afterwards; empty when the types stay.
    pub kinds: Vec<BsonType>,
    /// Whether some values become null.
    pub to_null: bool,
    /// Whether the field is missing afterwards where it is present now.
    pub removes: bool,
}

impl FieldChange {
    /// Values of a field get one of these types.
    pub fn convert(path: &FieldPath, kinds: impl Into<Vec<BsonType>>) -> Self {
        Self { path: path.clone(), kinds: kinds.into(), to_null: false, removes: false }
    }

    /// A field goes away, because it moves to another name or is left out.
    pub fn remove(path: &FieldPath) -> Self {
        Self { removes: true, ..Self::convert(path, []) }
    }

    /// Also sets some values to null.
    #[must_use]
    pub fn or_null(mut self, is_so: bool) -> Self {
        self.to_null |= is_so;
        self
    }

    /// Also leaves the field out in some documents.
    #[must_use]
    pub fn or_absent(mut self, is_so: bool) -> Self {
        self.removes |= is_so;
        self
    }
}
