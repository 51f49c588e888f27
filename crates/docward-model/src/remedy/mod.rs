//! Remedies for findings as data: steps in the terms of the rule book. [`crate::mongosh`] formats
//! them for users. Other programs read them from the JSON report.
//!
//! Steps name collections, fields, types and figures. They contain no values of documents, except
//! for those that a validator lists.

mod written;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    BsonType, FieldPath, IndexKey, Namespace, ValidationAction, ValidationLevel, Value, mongosh,
};

/// The damage that applying a fix can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safety {
    /// No stored data changes.
    Safe,
    /// Data changes; the old state can be restored.
    Guarded,
    /// The user has to make a decision first.
    Manual,
}

impl Safety {
    /// Returns the safety with a name.
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
    /// The matching refactoring of the rule book, such as `RF-01`.
    pub refactoring: Option<Cow<'static, str>>,
    /// The damage that applying the remedy can do.
    pub safety: Safety,
    /// The action that the remedy takes.
    pub action: Action,
}

/// The action of a remedy. Changes of source files and connection strings are separate fields of
/// the finding, because a finding may have both.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Steps on a deployment, in order.
    Plan(Vec<Step>),
    /// A command line that begins with `docward`, or the text from a report of an earlier version.
    Command(String),
}

impl Fix {
    /// Returns the steps of a plan. Returns none for a command line.
    pub fn steps(&self) -> &[Step] {
        match &self.action {
            Action::Plan(steps) => steps,
            Action::Command(_) => &[],
        }
    }

    /// Returns the commands to run: mongosh statements, or a command line.
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
    /// Renames fields.
    RenameFields {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The old and new names.
        renames: Vec<Rename>,
        /// Whether documents that already have the new name are skipped.
        only_where_free: bool,
    },
    /// Removes a field from documents.
    UnsetField {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The field.
        path: FieldPath,
        /// The affected documents.
        documents: UnsetWhere,
    },
    /// Moves a field out of its object.
    LiftField {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The old and new path.
        #[serde(flatten)]
        rename: Rename,
    },
    /// Converts values of a field to another type. Values that cannot be converted stay unchanged,
    /// unless the conversion says otherwise.
    ConvertField {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The field. `[]` stands for the elements of an array.
        path: FieldPath,
        /// The types of the values that are converted.
        #[serde(with = "written::types")]
        from: Vec<BsonType>,
        /// The types after the conversion. The first is the target type.
        #[serde(with = "written::types")]
        to: Vec<BsonType>,
        /// The conversion.
        conversion: Conversion,
    },
    /// Turns an object whose keys are data into an array.
    ArrayFromKeys {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The field.
        path: FieldPath,
        /// The field of an element for the key.
        key: String,
        /// Whether keys are days and become dates.
        keys_are_dates: bool,
        /// Whether keys are whole numbers and are converted to numbers.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keys_are_numbers: bool,
        /// The field of an element for the value. `None` if values are objects; these get the key
        /// as an additional field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// Adds a field with the kind of each document.
    SetKind {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The field that only documents of one kind have.
        present: FieldPath,
        /// The field for the kind.
        field: String,
    },
    /// Truncates an array to its last elements on each append.
    CapArray {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The array.
        path: FieldPath,
        /// The number of elements that stay.
        keep: u32,
    },
    /// Copies the elements of an array into a separate collection, with the parent's `_id`.
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
        /// The field for the element's own `_id`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_id: Option<String>,
        /// Whether elements are objects. Other values are stored in the field `value`.
        elements_are_objects: bool,
    },
    /// Copies a collection.
    CopyCollection {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The new collection.
        #[serde(with = "written::namespace")]
        to: Namespace,
    },
    /// Renames a collection.
    RenameCollection {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The new name.
        to: String,
    },
    /// Creates a time series collection.
    CreateTimeSeries {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The time field.
        time_field: String,
        /// The field that identifies the source of a measurement.
        meta_field: String,
        /// The granularity: `seconds`, `minutes` or `hours`.
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
    /// Sets the validator of a collection.
    SetValidator {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The validator.
        #[serde(with = "written::value")]
        validator: Value,
        /// The validation level.
        #[serde(with = "written::level")]
        level: ValidationLevel,
        /// The action if a document fails validation.
        #[serde(with = "written::action")]
        action: ValidationAction,
    },
    /// Applies the existing validator more strictly.
    SetValidation {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The validation level.
        #[serde(with = "written::level")]
        level: ValidationLevel,
        /// The action if a document fails validation.
        #[serde(with = "written::action")]
        action: ValidationAction,
        /// The validator. If it is set, the step is skipped while documents fail it.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            with = "written::optional_value"
        )]
        unless_broken: Option<Value>,
    },
    /// Changes the validation action to a warning.
    RelaxValidator {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
    },
    /// Enables sharding for a database, which servers before 6.0 require.
    EnableSharding {
        /// The database.
        database: String,
    },
    /// Shards a collection.
    ShardCollection {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The shard key.
        #[serde(with = "written::keys")]
        keys: Vec<IndexKey>,
        /// Whether the collection has a collation, which shard keys do not support.
        has_collation: bool,
    },
    /// Adds fields to a shard key.
    RefineShardKey {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The complete new key.
        #[serde(with = "written::keys")]
        keys: Vec<IndexKey>,
    },
    /// Reshards a collection.
    ReshardCollection {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The new key.
        #[serde(with = "written::keys")]
        keys: Vec<IndexKey>,
        /// Whether the collection has a collation, which shard keys do not support.
        has_collation: bool,
    },
    /// Creates the account that manages other accounts.
    CreateAdministrator,
    /// Grants roles to an account.
    GrantRoles {
        /// The account's database.
        database: String,
        /// The account.
        user: String,
        /// The roles.
        roles: Vec<GrantedRole>,
    },
    /// Revokes roles from an account.
    RevokeRoles {
        /// The account's database.
        database: String,
        /// The account.
        user: String,
        /// The roles.
        roles: Vec<GrantedRole>,
    },
    /// Shows information for a decision, and changes nothing.
    Inspect {
        /// The collection.
        #[serde(with = "written::namespace")]
        namespace: Namespace,
        /// The documents to show.
        look: Look,
    },
}

/// A field and its new name, both as complete paths.
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
    /// Documents in which the field is an empty string.
    Empty,
    /// Documents in which the field equals another field.
    EqualTo {
        /// The other field.
        other: FieldPath,
    },
}

/// The method that converts values to another type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Conversion {
    /// The conversion of the server.
    Cast {
        /// Replaces objects by their field with this name first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inner: Option<String>,
        /// The unit of numbers that count from 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epoch: Option<EpochUnit>,
        /// Converts the strings `true` and `false`. The server would convert every string to true.
        reads_words: bool,
        /// Converts empty strings to null.
        empty_to_null: bool,
    },
    /// Parses strings as dates.
    DateText,
    /// Rounds numbers to decimals.
    Rounded {
        /// The number of decimal places.
        scale: u64,
    },
    /// Converts numbers that count from 1970 to dates.
    Epoch {
        /// The unit.
        unit: EpochUnit,
        /// Whether zero and negative numbers mean that there is no date. The field is then removed.
        zero_is_absent: bool,
    },
    /// Uses a mapping from numbers to words that the user provides.
    Words {
        /// The number of distinct values.
        values: u64,
    },
}

impl Conversion {
    /// The conversion of the server. Values that it cannot convert stay unchanged.
    pub const CAST: Self =
        Self::Cast { inner: None, epoch: None, reads_words: false, empty_to_null: false };
}

/// The unit of a number that counts from 1970.
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
    /// Whether it is unique.
    #[serde(default)]
    pub unique: bool,
    /// Its name, if the default name is not suitable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The options of its collation.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "written::optional_value")]
    pub collation: Option<Value>,
    /// The field whose value selects the indexed documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_kinds_of: Option<String>,
}

impl NewIndex {
    /// Returns an ascending index on these fields.
    pub fn ascending(paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { keys: paths.into_iter().map(IndexKey::ascending).collect(), ..Self::default() }
    }

    /// Makes the index unique.
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

/// The documents to show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Look {
    /// The largest documents.
    LargestDocuments,
    /// Documents whose array is long.
    LongArrays {
        /// The array.
        path: FieldPath,
        /// The minimum number of elements.
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
    /// The usage of each index.
    IndexUse,
    /// The number of documents without a value in a field.
    CountWithout {
        /// The field.
        path: FieldPath,
    },
    /// The number of documents that fail a validator.
    CountBreaches {
        /// The validator.
        #[serde(with = "written::value")]
        validator: Value,
    },
    /// Documents that fail a validator.
    Breaches {
        /// The validator.
        #[serde(with = "written::value")]
        validator: Value,
    },
    /// References to missing documents.
    DanglingReferences {
        /// The reference.
        path: FieldPath,
        /// The referenced collection, in the same database.
        target: String,
        /// The referenced field.
        target_path: FieldPath,
    },
    /// Documents together with documents of another collection that refer to them.
    WithDetails {
        /// The referenced field.
        path: FieldPath,
        /// The other collection, in the same database.
        details: String,
        /// The reference in it.
        reference: FieldPath,
    },
    /// The distinct values of a field.
    DistinctValues {
        /// The field.
        path: FieldPath,
    },
    /// Values that differ only in case.
    CaseVariants {
        /// The field.
        path: FieldPath,
    },
}

impl Step {
    /// Returns its collection.
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

    /// Returns its changes to the fields of the collection.
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

    /// Returns the fields that it adds to documents.
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

    /// Returns whether it runs as it is, without words or decisions of people.
    pub fn is_complete(&self) -> bool {
        !matches!(
            self,
            Self::Inspect { .. }
                | Self::SetKind { .. }
                | Self::CapArray { .. }
                | Self::ConvertField { conversion: Conversion::Words { .. }, .. }
        )
    }

    /// Whether it updates stored documents of its collection, which the validator may refuse.
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

/// The effect of a finding's advice on a field. A validator from the same report accepts the
/// result, so users can apply the proposals in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// The field.
    pub path: FieldPath,
    /// The types of values after the change. Empty if the types stay the same.
    pub kinds: Vec<BsonType>,
    /// Whether some values become null.
    pub to_null: bool,
    /// Whether the field is removed from documents that have it.
    pub removes: bool,
}

impl FieldChange {
    /// Returns a change of the types of a field's values.
    pub fn convert(path: &FieldPath, kinds: impl Into<Vec<BsonType>>) -> Self {
        Self { path: path.clone(), kinds: kinds.into(), to_null: false, removes: false }
    }

    /// Returns the removal of a field: it is renamed or dropped.
    pub fn remove(path: &FieldPath) -> Self {
        Self { removes: true, ..Self::convert(path, []) }
    }

    /// Sets whether some values become null.
    #[must_use]
    pub fn or_null(mut self, is_so: bool) -> Self {
        self.to_null |= is_so;
        self
    }

    /// Sets whether some documents lose the field.
    #[must_use]
    pub fn or_absent(mut self, is_so: bool) -> Self {
        self.removes |= is_so;
        self
    }
}
