//! Facts about source code that uses MongoDB. Clients are stored as [`crate::ClientUri`]s in the
//! evidence; this module has all other facts.

mod indexes;
mod injections;
mod promises;
mod queries;
mod reach;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::{BsonType, Location};

pub use indexes::{CodeIndex, CodeIndexes, FieldQuery};
pub use injections::{Injection, InjectionKind, Injections, InputGuard};
pub use promises::{LostPromise, Promiser};
pub use queries::{
    FilterField, FilterKind, ListQuery, ListSource, LoopQuery, NextNumber, NumberBasis, Queries,
    SkipQuery,
};

/// Facts from source code and settings.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The number of files that were examined.
    pub files: u64,
    /// The paths of these files within the project.
    pub paths: BTreeSet<String>,
    /// The number of files that use MongoDB and were parsed completely.
    pub read: u64,
    /// The beginnings of paths: in reports, and within the project. They make fingerprints
    /// independent of the project's location and of how a path was written.
    pub roots: Vec<(String, String)>,
    /// Statements that append to arrays.
    pub appends: Vec<Append>,
    /// Calls of functions that append to arrays.
    pub calls: Vec<CodeCall>,
    /// Arrays that some statement empties: the collection, if known, and the path.
    pub emptied: BTreeSet<(Option<String>, String)>,
    /// Collections with computed names.
    pub computed_names: Vec<ComputedName>,
    /// Time limits of calls to the server.
    pub deadlines: Vec<Deadline>,
    /// Files that are in a directory for scripts that users start by hand, or have such a name.
    pub scripts: BTreeSet<String>,
    /// The files that import each file. Only for a project that was read completely.
    pub imported_by: BTreeMap<String, BTreeSet<String>>,
    /// Paths that updates set.
    pub set_paths: Vec<SetPath>,
    /// Fields that models declare.
    pub fields: Vec<DeclaredField>,
    /// Passwords and keys in clear text.
    pub secrets: Vec<CodeSecret>,
    /// Names of databases and collections.
    pub names: Vec<CodeName>,
    /// Collections that a statement creates.
    pub creations: Vec<Creation>,
    /// Collections that a statement shards.
    pub shardings: Vec<Sharding>,
    /// Values that are read, changed in memory and written back.
    pub read_then_writes: Vec<ReadThenWrite>,
    /// Calls that count documents.
    pub counts: Vec<CodeCount>,
    /// Pipelines that only read.
    pub pipelines: Vec<Pipeline>,
    /// Transactions, with the collections that they write.
    pub transactions: Vec<Transaction>,
    /// Clients that are created repeatedly.
    pub remade_clients: Vec<RemadeClient>,
    /// Calls that a driver refuses when the code runs.
    pub refused_calls: Vec<RefusedCall>,
    /// Serverless functions, which keep no memory between calls.
    pub serverless: Vec<Serverless>,
    /// Places that check whether the server is available, or connect to it when the program starts.
    pub health_checks: Vec<Location>,
    /// Whether a request handler connects and waits for the connection.
    pub connects_in_handler: bool,
    /// Functions that contact the server, by name, with the place. Another file may call them when
    /// the program starts.
    pub contacts_in: BTreeMap<String, Location>,
    /// Functions of other files that are called when the program starts.
    pub called_at_start: BTreeSet<String>,
    /// Values that code stores in fields of documents, if they tell something about the type.
    pub field_values: Vec<FieldValue>,
    /// Files that answer requests.
    pub serving: Vec<Serving>,
    /// The number of settings that define a replica set with one member.
    pub single_sets: u64,
    /// Fields that hold a day and, together with another field, identify one document. Each with
    /// its collection or model.
    pub day_keys: BTreeSet<(String, String)>,
    /// Databases in which scripts create accounts.
    pub accounts_in: BTreeSet<String>,
    /// Methods that run only if code calls them by name.
    pub methods: BTreeSet<Method>,
    /// Names of arrays in files that declare schemas, also in parts that functions put together.
    pub schema_arrays: BTreeSet<String>,
    /// Models, and whether each declares all fields that its documents may have.
    pub closed_models: BTreeMap<String, bool>,
    /// Names that the files of the project use, if they were collected.
    pub mentions: Option<Mentioned>,
    /// Statements that read documents.
    pub queries: Queries,
    /// Queries that are built from requests.
    pub injections: Injections,
    /// Indexes that code declares.
    pub indexes: CodeIndexes,
    /// Calls whose result no code awaits.
    pub lost_promises: Vec<LostPromise>,
    /// Whether the program handles promises that fail and that no code awaits.
    pub hears_rejections: bool,
}

/// A method that runs only if code calls it by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Method {
    /// The file.
    pub file: String,
    /// Its name.
    pub name: String,
    /// Its first and last line.
    pub lines: (u32, u32),
}

/// Names that the files of a project use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mentioned {
    /// Methods that are called by name, each with the methods of [`Code::methods`] that call it.
    /// `None` stands for any other place.
    pub methods: BTreeMap<String, BTreeSet<Option<String>>>,
    /// Whether some file serves several users at the same time.
    pub serves: bool,
    /// Whether some file prompts users in a terminal.
    pub asks_in_terminal: bool,
    /// Files that are unreachable by imports.
    pub unreached: BTreeSet<String>,
}

impl Mentioned {
    /// Adds the facts of another file.
    pub fn absorb(&mut self, other: Self) {
        for (name, places) in other.methods {
            self.methods.entry(name).or_default().extend(places);
        }
        self.serves |= other.serves;
        self.asks_in_terminal |= other.asks_in_terminal;
        self.unreached.extend(other.unreached);
    }
}

/// The place of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File, line and column.
    pub location: Location,
    /// The enclosing function.
    pub function: Option<String>,
}

/// The operation by which a statement appends to an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendKind {
    /// `$push`.
    Push,
    /// `$addToSet`.
    AddToSet,
    /// `$concatArrays` in an update with a pipeline.
    Concat,
    /// An element added to a loaded document that is then saved.
    Document,
}

impl AppendKind {
    /// Returns the name in messages.
    pub fn text(self) -> &'static str {
        match self {
            Self::Push => "$push",
            Self::AddToSet => "$addToSet",
            Self::Concat => "$concatArrays",
            Self::Document => "an element added to a loaded document",
        }
    }
}

/// The bound on the length of an array: in the appending statement, its filter or the enclosing
/// function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// There is no bound.
    None,
    /// `$slice` keeps this many elements.
    Slice(i64),
    /// The filter, or a condition around the statement, allows the append only while there is room.
    /// Or the code truncates the array.
    Length,
    /// The same function creates the document.
    NewDocument,
    /// The filter selects a period, and the statement creates the document of a new period.
    Period,
    /// Only constants are appended, or values from a constant list.
    Constant,
    /// The same update removes elements.
    Replaced,
    /// Unknown.
    Unknown,
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A constant.
    Constant,
    /// The request, message or event that is being handled.
    Request,
    /// It identifies a user. Holds the expression.
    User(String),
    /// The current time.
    Time,
    /// A document that the same function stores, or its id.
    Stored,
    /// A new id.
    NewId,
    /// A document that was read from the database.
    Loaded,
    /// A parameter of a function.
    Parameter {
        /// The function.
        function: String,
        /// The name of the parameter.
        name: String,
        /// Its position. The receiver of a method does not count.
        index: usize,
        /// Whether the value is only a part of the argument.
        is_part: bool,
    },
    /// Unknown.
    Unknown,
}

impl Origin {
    /// Returns the origin of a part of a value. The part may not be the one with the id or the
    /// time.
    pub fn part(self) -> Self {
        match self {
            Self::User(_) | Self::Time | Self::NewId | Self::Constant => Self::Unknown,
            Self::Parameter { function, name, index, .. } => {
                Self::Parameter { function, name, index, is_part: true }
            }
            origin => origin,
        }
    }
}

/// A statement that appends to an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The place.
    pub place: Place,
    /// The kind of append.
    pub kind: AppendKind,
    /// The collection or model, if known.
    pub collection: Option<String>,
    /// Whether a caller passes the document to the function, which saves it.
    pub from_caller: bool,
    /// The array.
    pub path: String,
    /// The bound on the length.
    pub cap: Cap,
    /// The origins of the parts of the appended value.
    pub value: BTreeSet<Origin>,
    /// Whether the appended value is a document.
    pub adds_document: bool,
    /// The origins of the values that select the document.
    pub selected_by: BTreeSet<Origin>,
    /// Whether a value is added only if it is not in the array yet.
    pub is_unique: bool,
    /// Whether the same update changes a field to the recorded value, or to another value than the
    /// filter requires. The append then runs once for each change of that field.
    pub records_change: bool,
    /// Whether it runs in a loop.
    pub in_loop: bool,
}

impl Append {
    /// Returns an append of which only the statement is known.
    pub fn plain(place: Place, kind: AppendKind, path: String, cap: Cap) -> Self {
        Self {
            place,
            kind,
            collection: None,
            from_caller: false,
            path,
            cap,
            value: BTreeSet::new(),
            adds_document: false,
            selected_by: BTreeSet::new(),
            is_unique: kind == AppendKind::AddToSet,
            records_change: false,
            in_loop: false,
        }
    }
}

/// A call of a project function that appends to an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeCall {
    /// The place.
    pub place: Place,
    /// The name of the function.
    pub callee: String,
    /// Whether the call is in a loop.
    pub in_loop: bool,
    /// The origins of the arguments, each with its name if it has one.
    pub arguments: Vec<(Option<String>, BTreeSet<Origin>)>,
}

/// A collection whose name is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputedName {
    /// The place.
    pub place: Place,
    /// The name, with the computed parts as `{expression}`.
    pub shown: String,
    /// The origins of the computed parts.
    pub parts: BTreeSet<Origin>,
}

/// A time limit of calls to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// The place.
    pub place: Place,
    /// The limit in milliseconds. `None` means no limit.
    pub milliseconds: Option<i64>,
    /// Whether it is in a request handler.
    pub in_handler: bool,
}

/// A path that an update sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetPath {
    /// The place.
    pub place: Place,
    /// The operator, such as `$set`.
    pub operator: String,
    /// The collection, if known.
    pub collection: Option<String>,
    /// The path.
    pub path: String,
}

/// A field that a model declares.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredField {
    /// The place.
    pub place: Place,
    /// The model.
    pub model: String,
    /// Its collection, if known.
    pub collection: Option<String>,
    /// The path.
    pub path: String,
    /// The types of its stored values.
    pub types: Vec<BsonType>,
    /// Facts about its values from comments, validators and defaults of the declaration.
    pub annotations: Vec<Annotation>,
    /// The allowed values, as text.
    pub allowed: Vec<String>,
    /// The generator of new values, if it is relevant: `uuid4`.
    pub made_by: Option<String>,
    /// Whether the framework chose its name.
    pub generated: bool,
    /// The maximum number of elements.
    pub max_items: Option<u64>,
    /// Whether the library or a statement shows that documents of the model are stored. A struct
    /// that code only reads into may belong to another system. Deprecated fields are no longer
    /// written.
    pub is_stored: bool,
}

/// A fact about the values of a field from its declaration, in addition to the type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Annotation {
    /// A comment or description says that a number counts minor units, such as cents.
    MinorUnits,
    /// A validator or setter accepts only integers.
    WholeNumbers,
    /// A comment, pattern, format or default shows the form of a string.
    TextForm(TextForm),
    /// The default string of new documents: `default: 'JPY'`.
    Default(String),
}

/// Currencies without a minor unit (ISO 4217): their amounts are whole numbers.
pub const CURRENCIES_WITHOUT_MINOR_UNIT: [&str; 17] = [
    "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND",
    "VUV", "XAF", "XOF", "XPF",
];

/// The content of a string with a date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// A date and a time: `2024-03-15T10:30:00Z`.
    Instant,
    /// A date, a month or a day of the year, without a time.
    Day,
    /// A time of day or a duration.
    TimeOfDay,
}

/// A value that code stores in a field of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldValue {
    /// The place.
    pub place: Place,
    /// The collection or the model.
    pub of: String,
    /// Whether a library that knows the types of the model may convert the value.
    pub is_model: bool,
    /// The path without array positions: `items.price`.
    pub path: String,
    /// The kind of value.
    pub kind: ValueKind,
    /// Whether the file is a migration or another script that is run once by hand.
    pub in_script: bool,
}

/// The kind of value that an expression yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A floating-point number that may have a fraction: `9.99`, `parseFloat(text)`, `round(sum,
    /// 2)`.
    Fraction,
    /// An integer: `price * 100`, `Math.round(price)`, `items.length`.
    Whole,
    /// A string that is created from a date or a time.
    Text(TextForm),
}

/// The kind of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// A connection string with a password.
    ConnectionString,
    /// A password outside a connection string.
    Password,
}

/// Why a secret is only an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// The password is a common placeholder that users replace.
    Password,
    /// The host is a name from documentation that no server has.
    Host(String),
}

/// A secret in clear text. The secret itself is not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSecret {
    /// The place.
    pub place: Place,
    /// The kind.
    pub kind: SecretKind,
    /// A hash that distinguishes it from other secrets without revealing it. It exists only in
    /// memory.
    pub mark: u64,
    /// The surrounding text with the secret masked.
    pub shown: String,
    /// Whether it is the default for an unset environment variable.
    pub fallback: bool,
    /// Whether the host is this machine or a container of the same application, as in a development set-up.
    pub local: bool,
    /// Whether it is in a comment or in documentation.
    pub in_remark: bool,
    /// Whether the file is a template that users fill in (`.env.example`).
    pub in_sample: bool,
    /// Whether it is inside text for people or for a language model, such as a message or a prompt.
    pub in_prose: bool,
    /// The part that is a placeholder.
    pub placeholder: Option<Placeholder>,
    /// The position of its literal, if a lookup of an environment variable can replace it.
    pub literal: Option<(Location, Lookup)>,
}

/// An expression that reads an environment variable in a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The expression.
    pub expression: &'static str,
    /// The import it needs.
    pub needs: Option<&'static str>,
}

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum NameKind {
    Database,
    Collection,
}

/// A database or collection name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeName {
    /// The place.
    pub place: Place,
    /// The kind of name.
    pub kind: NameKind,
    /// The database of a collection, if known.
    pub database: Option<String>,
    /// The name.
    pub name: String,
    /// Whether the code writes there.
    pub written: bool,
    /// Whether the code contains the name itself and not a variable.
    pub is_literal: bool,
    /// Whether it is in a migration or another script that is run once by hand.
    pub in_script: bool,
}

/// A collection that a statement creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// The place.
    pub place: Place,
    /// The collection. Empty if the name is computed.
    pub collection: String,
    /// Whether some options could not be read.
    pub is_partial: bool,
    /// Whether it gets a validator.
    pub validator: bool,
    /// Whether it is a time series, a view or capped. Validators rarely apply to these.
    pub special: bool,
}

/// A collection that a statement shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharding {
    /// The place.
    pub place: Place,
    /// `db.collection`.
    pub namespace: String,
    /// The fields of the key in order; `true` means hashed.
    pub key: Vec<(String, bool)>,
}

/// A value that is read, changed in memory and written back (read-modify-write).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadThenWrite {
    /// The place of the write.
    pub place: Place,
    /// The line of the read.
    pub read_line: u32,
    /// The collection or model, if known.
    pub collection: Option<String>,
    /// Whether a caller passes the document to the function, which saves it.
    pub from_caller: bool,
    /// The field. Empty for the whole document.
    pub path: String,
    /// The change.
    pub change: Change,
    /// The protection against another write between the read and the write.
    pub guard: Option<WriteGuard>,
}

/// The protection against another write between a read and a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteGuard {
    /// Both are in one transaction.
    Transaction,
    /// The write uses a session that the function received, so callers may have begun a
    /// transaction.
    GivenSession,
    /// The write filters by the version that was read.
    Version,
    /// The function uses `$inc` to count and sets the value only in a special case.
    ServerCounts,
}

/// The kind of change to a value between reading and writing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An array is truncated in memory (DM-08.4).
    Truncated,
    /// A number is increased or decreased.
    Number,
    /// Text is appended.
    Text,
    /// Something of unknown type is added.
    Value,
    /// A whole list or map is written back after elements of it changed.
    List,
    /// The whole document is written back.
    Document,
}

/// A call that counts documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeCount {
    /// The place.
    pub place: Place,
    /// The collection, if known.
    pub collection: Option<String>,
    /// The fields of the filter.
    pub fields: Vec<String>,
    /// Whether it is in a request handler.
    pub in_handler: bool,
    /// Whether the count only tests for existence: it is compared with 0 or 1, or used as a
    /// condition.
    pub is_existence: bool,
    /// Whether the code then inserts a document into the same collection.
    pub before_insert: bool,
}

/// A pipeline that only reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// The place.
    pub place: Place,
    /// The collection, if known.
    pub collection: Option<String>,
    /// The collections that it joins with `$lookup`, sorted. Stages that cannot be read are
    /// ignored.
    pub joined: Vec<String>,
}

/// A transaction and the collections that it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The place where it begins.
    pub place: Place,
    /// The written collections, sorted.
    pub collections: Vec<String>,
}

/// A client that is created repeatedly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemadeClient {
    /// The place where it is created, or where the creating function is called.
    pub place: Place,
    /// The repeated code, in words.
    pub within: String,
    /// Whether that is a loop.
    pub in_loop: bool,
    /// The function that creates it, if it is not created at this place.
    pub through: Option<String>,
}

/// A call that a driver refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCall {
    /// The place.
    pub place: Place,
    /// The problem.
    pub what: String,
    /// The text to write instead.
    pub instead: String,
    /// The current text, and its replacement.
    pub swap: (String, String),
}

/// A serverless function, which keeps no memory between calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serverless {
    /// The place.
    pub place: Place,
    /// The platform.
    pub platform: String,
    /// Whether the function itself uses MongoDB.
    pub uses_mongodb: bool,
}

/// A file that answers requests: it has handlers or uses a web framework. Or a dependency list that
/// names a web framework.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// The file.
    pub file: String,
    /// Whether a process may end after a few calls, as with Next.js or serverless functions.
    pub is_short_lived: bool,
}

impl Code {
    /// Returns the path of a file within the project.
    pub fn within_project(&self, file: &str) -> String {
        let fits = |root: &&(String, String)| {
            file.strip_prefix(root.0.as_str()).is_some_and(|rest| {
                rest.is_empty()
                    || rest.starts_with('/')
                    || root.0.is_empty()
                    || root.0.ends_with('/')
            })
        };
        let Some((shown, within)) = self.roots.iter().filter(fits).max_by_key(|root| root.0.len())
        else {
            return file.to_owned();
        };
        let rest = file.strip_prefix(shown.as_str()).unwrap_or(file).trim_start_matches('/');
        match (within.is_empty(), rest.is_empty()) {
            (true, _) => rest.to_owned(),
            (false, true) => within.clone(),
            (false, false) => format!("{within}/{rest}"),
        }
    }

    /// Adds the facts of another file.
    pub fn absorb(&mut self, other: Self) {
        let Self {
            files,
            paths,
            read,
            roots,
            appends,
            calls,
            emptied,
            computed_names,
            deadlines,
            scripts,
            imported_by,
            set_paths,
            fields,
            secrets,
            names,
            creations,
            shardings,
            read_then_writes,
            counts,
            pipelines,
            transactions,
            remade_clients,
            refused_calls,
            serverless,
            health_checks,
            connects_in_handler,
            contacts_in,
            called_at_start,
            field_values,
            serving,
            single_sets,
            day_keys,
            accounts_in,
            methods,
            schema_arrays,
            closed_models,
            mentions,
            queries,
            injections,
            indexes,
            lost_promises,
            hears_rejections,
        } = other;
        self.files += files;
        self.paths.extend(paths);
        self.read += read;
        self.roots.extend(roots);
        self.appends.extend(appends);
        self.calls.extend(calls);
        self.emptied.extend(emptied);
        self.computed_names.extend(computed_names);
        self.deadlines.extend(deadlines);
        self.scripts.extend(scripts);
        for (file, by) in imported_by {
            self.imported_by.entry(file).or_default().extend(by);
        }
        self.set_paths.extend(set_paths);
        self.fields.extend(fields);
        self.secrets.extend(secrets);
        self.names.extend(names);
        self.creations.extend(creations);
        self.shardings.extend(shardings);
        self.read_then_writes.extend(read_then_writes);
        self.counts.extend(counts);
        self.pipelines.extend(pipelines);
        self.transactions.extend(transactions);
        self.remade_clients.extend(remade_clients);
        self.refused_calls.extend(refused_calls);
        self.serverless.extend(serverless);
        self.health_checks.extend(health_checks);
        self.connects_in_handler |= connects_in_handler;
        self.contacts_in.extend(contacts_in);
        self.called_at_start.extend(called_at_start);
        self.field_values.extend(field_values);
        self.serving.extend(serving);
        self.single_sets += single_sets;
        self.day_keys.extend(day_keys);
        self.accounts_in.extend(accounts_in);
        self.methods.extend(methods);
        self.schema_arrays.extend(schema_arrays);
        for (model, closed) in closed_models {
            self.closed_models.entry(model).and_modify(|had| *had &= closed).or_insert(closed);
        }
        self.mentions = self.mentions.take().or(mentions);
        self.queries.absorb(queries);
        self.injections.absorb(injections);
        self.indexes.absorb(indexes);
        self.lost_promises.extend(lost_promises);
        self.hears_rejections |= hears_rejections;
    }

    /// Whether the program checks whether the server is available, or connects to it at start.
    pub fn has_health_check(&self) -> bool {
        !self.health_checks.is_empty()
            || self.contacts_in.keys().any(|name| self.called_at_start.contains(name))
    }

    /// Whether a field is not stored: the model declares all fields of its documents, but not the
    /// first part of this path.
    pub fn is_not_stored(&self, collection: Option<&str>, path: &str) -> bool {
        let Some(collection) = collection else { return false };
        if self.closed_models.get(collection) != Some(&true) {
            return false;
        }
        /// A model with fewer fields is probably incomplete.
        const DECLARED: usize = 4;
        fn first(path: &str) -> &str {
            path.split(['.', '[']).next().unwrap_or_default()
        }
        let of_model = self.fields.iter().filter(|f| f.model == collection && !f.generated);
        let declared: BTreeSet<&str> =
            of_model.map(|field| first(&field.path)).filter(|name| *name != "_id").collect();
        let wanted = first(path);
        !matches!(wanted, "" | "_id" | "__v")
            && declared.len() >= DECLARED
            && !declared.contains(wanted)
            && !self.fields.iter().any(|f| f.model == collection && first(&f.path) == wanted)
    }

    /// Whether some model declares a field of this path. It tells documents from other objects that
    /// have a `save`.
    pub fn is_declared(&self, path: &str) -> bool {
        let plain = plain_path(path);
        self.fields.iter().any(|field| {
            let declared = plain_path(&field.path);
            declared == plain
                || declared.strip_prefix(&plain).is_some_and(|rest| rest.starts_with('.'))
        })
    }

    /// Returns values that code stores in a field of a model. The spelling may differ between code
    /// and documents: `CreatedAt` is `created_at`.
    pub fn values_of(&self, field: &DeclaredField) -> impl Iterator<Item = &FieldValue> {
        let path = plain_path(&field.path);
        self.field_values.iter().filter(move |value| {
            (value.of == field.model || field.collection.as_ref() == Some(&value.of))
                && plain_path(&value.path) == path
        })
    }
}

/// Returns a path in lower case, without positions and underscores.
fn plain_path(path: &str) -> String {
    path.replace(['_', '[', ']'], "").to_ascii_lowercase()
}
