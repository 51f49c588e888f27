//! The data types of Docward: what was observed ([`Evidence`], [`Profile`]), what is checked
//! ([`RuleMeta`], [`Settings`]) and what is reported ([`Finding`], [`Report`]).
//!
//! This crate contains only data: no IO, no clock. Evidence is serialized as it is, and evidence
//! files have a version. `docward-report` defines the output formats of reports, so that these do
//! not depend on the types here.

mod bson_type;
mod catalogue;
mod checked;
mod client_options;
pub mod client_uri;
mod cluster;
pub mod code;
mod compared;
mod counted;
mod design;
mod evidence;
mod finding;
mod growth;
pub mod mongosh;
mod namespace;
mod network;
mod password;
mod profile;
mod remedy;
mod report;
mod rule;
mod seen;
mod server;
mod server_names;
mod service;
mod settings;
mod shard_key;
pub mod shell;
mod site;
mod suppression;
pub mod text;
mod value;
pub mod words;
mod workload;

pub use bson_type::{BsonType, TypeCounts};
pub use checked::{Checked, CheckedBreach, CheckedId};
pub use client_options::is_development_host;
pub use client_uri::{
    ClientOption, ClientSite, ClientUri, Driver, NoteKind, OptionValue, Password, Purpose,
    UriChange, UriNote, UriPlaces,
};
pub use cluster::{Cluster, KeyAnalysis, KeyMetrics, Router, Shard, ShardPart, ShardedCollection};
pub use code::Code;
pub use compared::{Basis, Change, Compared, Known};
pub use counted::{Counted, CountedField};
pub use design::{
    ChildGrowth, DesignDeployment, DesignModel, DesignRead, DesignWrite, Entity, EntityField,
    Lifecycle, Matching, Relationship, Series, Spread, Variant, With,
};
pub use evidence::{
    Collection, CollectionKind, CollectionOptions, CopiedField, Deployment, DirectionKind,
    Evidence, Index, IndexKey, NameFamily, Reference, TailForm, TimeSeriesOptions,
    ValidationAction, ValidationLevel,
};
pub use finding::{
    Applicability, Area, Data, DataValue, Deadline, Draft, Edit, EditedText, Excerpt, Finding,
    Level, Location, Severity, Subject, Unit, arrange,
};
pub use growth::{Growth, Observed, TrackedDocument};
pub use namespace::{FieldPath, Namespace};
pub use network::{AccessRule, Layer, MONGODB_PORT, Network, Peer, PortRange, Protocol, RuleGroup};
pub use password::Strength;
pub use profile::{
    ArrayProfile, Blob, BlobKind, CaseCollision, Discriminator, Distinct, Distribution,
    DynamicKeys, Field, FieldShape, IdOrder, KeyForm, LargeDocument, NumberProfile, Profile,
    SampledDocument, SampledValue, Shape, TextClass, TextForms, TextProfile,
};
pub use remedy::{
    Action, Conversion, EpochUnit, FieldChange, Fix, GrantedRole, Look, NewIndex, Rename, Safety,
    Step, UnsetWhere,
};
pub use report::{
    ChecklistItem, Filter, GrowthForecast, Problem, Report, Run, Skipped, Source, SourceKind,
    SuppressionUse, Verdict,
};
pub use rule::{Maturity, Need, RuleMeta, Scope, Threshold, ThresholdValue};
pub use seen::Seen;
pub use server::{
    AUDIT_ROLE, CollectionStats, Connections, ConnectionsSince, CustomRole, DefaultConcerns,
    IndexUsage, Member, PrivilegePlace, RolePrivilege, Server, StartOptions, TOLERATED_LAG,
    Topology, User,
};
pub use server_names::is_server_owned;
pub use service::{DeclaredDeployment, DeclaredTopology, LimitScope, Service, ServiceClass};
pub use settings::{
    CoreSource, NamespaceOverride, NamespacePattern, PEDANTIC, ProfileName, RuleSettings, Settings,
    ShardKey, ThresholdSetting, selects,
};
pub use shard_key::{
    Fullest, KeyCheck, KeyFields, KeyReport, KeySpread, KeyVerdict, Placement, ZonePlan, key_text,
};
pub use site::Site;
pub use suppression::{Suppression, Waiver};
pub use value::Value;
pub use workload::{
    AccessControl, Comparison, ConnectionHistory, Coverage, Failure, Lookup, NotPrimary, Operation,
    Predicate, Push, QueryShape, QueryStats, ReadSequence, Running, Workload, WorkloadKind,
    WorkloadSource, WrittenTogether,
};
