//! What source code says about MongoDB. Clients are [`crate::ClientUri`]s of the evidence; here is the rest.

use std::collections::{BTreeMap, BTreeSet};

use crate::{BsonType, Location};

/// What was found in source code and settings.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Files that were looked at.
    pub files: u64,
    /// The same by name, within the project.
    pub paths: BTreeSet<String>,
    /// Files that have to do with MongoDB and were read whole.
    pub read: u64,
    /// How paths begin in reports, and how they begin within the project: fingerprints are the same wherever the
    /// project lies, and however a path to it is written.
    pub roots: Vec<(String, String)>,
    /// Statements that make arrays longer.
    pub appends: Vec<Append>,
    /// Calls of functions that make arrays longer.
    pub calls: Vec<CodeCall>,
    /// Arrays that some statement empties: the collection, when it can be told, and the path.
    pub emptied: BTreeSet<(Option<String>, String)>,
    /// Collections with computed names.
    pub computed_names: Vec<ComputedName>,
    /// Time limits of calls to the server.
    pub deadlines: Vec<Deadline>,
    /// Files that lie where scripts lie which somebody starts by hand, or are called so.
    pub scripts: BTreeSet<String>,
    /// Files by those that import them, for a project that was read as a whole.
    pub imported_by: BTreeMap<String, BTreeSet<String>>,
    /// Paths that updates set.
    pub set_paths: Vec<SetPath>,
    /// Fields that models declare.
    pub fields: Vec<DeclaredField>,
    /// Passwords and keys in clear text.
    pub secrets: Vec<CodeSecret>,
    /// Names of databases and collections.
    pub names: Vec<CodeName>,
    /// Collections that are created by a statement.
    pub creations: Vec<Creation>,
    /// Collections that are sharded by a statement.
    pub shardings: Vec<Sharding>,
    /// Values that are read, changed in memory and written back.
    pub read_then_writes: Vec<ReadThenWrite>,
    /// Documents that are counted.
    pub counts: Vec<CodeCount>,
    /// Pipelines that read.
    pub pipelines: Vec<Pipeline>,
    /// Collections that are written in one transaction.
    pub transactions: Vec<Transaction>,
    /// Clients that are made again and again.
    pub remade_clients: Vec<RemadeClient>,
    /// Mistakes that a driver refuses when the code runs.
    pub refused_calls: Vec<RefusedCall>,
    /// Functions of platforms that keep no memory between calls.
    pub serverless: Vec<Serverless>,
    /// Where the server is asked whether it is there, or contacted when the program starts.
    pub health_checks: Vec<Location>,
    /// Whether what answers a request connects, and waits for it.
    pub connects_in_handler: bool,
    /// Functions in which the server is contacted, by name, and where. They may be called at the start by another file.
    pub contacts_in: BTreeMap<String, Location>,
    /// Functions of other files that are called when the program starts.
    pub called_at_start: BTreeSet<String>,
    /// Values that code puts into fields of documents, as far as they say something about their type.
    pub field_values: Vec<FieldValue>,
    /// Files that answer requests.
    pub serving: Vec<Serving>,
    /// Settings that make a replica set of one member.
    pub single_sets: u64,
    /// Days by which, and another field, code finds one document; with the collection or model.
    pub day_keys: BTreeSet<(String, String)>,
    /// Databases in which scripts create accounts.
    pub accounts_in: BTreeSet<String>,
    /// Methods that run only when somebody calls them by their name.
    pub methods: BTreeSet<Method>,
    /// Models by whether everything that their documents may have is declared.
    pub closed_models: BTreeMap<String, bool>,
    /// What all files of the project say of names, when they were looked for.
    pub mentions: Option<Mentioned>,
}

/// A method that runs only when somebody calls it by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Method {
    /// The file.
    pub file: String,
    /// Its name.
    pub name: String,
    /// The lines it is written in.
    pub lines: (u32, u32),
}

/// What all files of a project say of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mentioned {
    /// Methods that are named, each with those of [`Code::methods`] it is named in; `None` stands for any other place.
    pub methods: BTreeMap<String, BTreeSet<Option<String>>>,
    /// Whether some file serves several people at a time.
    pub serves: bool,
    /// Whether some file asks people in a terminal.
    pub asks_in_terminal: bool,
    /// Files that nothing in the project takes in.
    pub unreached: BTreeSet<String>,
}

impl Mentioned {
    /// Takes over what another file says.
    pub fn absorb(&mut self, other: Self) {
        for (name, places) in other.methods {
            self.methods.entry(name).or_default().extend(places);
        }
        self.serves |= other.serves;
        self.asks_in_terminal |= other.asks_in_terminal;
        self.unreached.extend(other.unreached);
    }
}

/// Where a statement stands, and what that says about its weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File, line and column.
    pub location: Location,
    /// The function around it.
    pub function: Option<String>,
}

/// How an array is made longer.
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
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Push => "$push",
            Self::AddToSet => "$addToSet",
            Self::Concat => "$concatArrays",
            Self::Document => "an element added to a loaded document",
        }
    }
}

/// What the statement that adds to an array, its filter or the function around it says about the array's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// Nothing.
    None,
    /// `$slice` keeps this many.
    Slice(i64),
    /// The filter matches, or a test before lets through, only arrays that have room; or elements are cut off.
    Length,
    /// The same function makes the document.
    NewDocument,
    /// The filter names a period and the statement makes the document of a new one.
    Period,
    /// Only values that stand in the code are added, or values that are looked up in a list there.
    Constant,
    /// The same update removes elements.
    Replaced,
    /// It cannot be told.
    Unknown,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// It stands in the code.
    Constant,
    /// The request, message or event that is being handled.
    Request,
    /// It identifies a user; the expression.
    User(String),
    /// The present time.
    Time,
    /// A document that the same function stores, or its id.
    Stored,
    /// An id that is made here.
    NewId,
    /// A document that was read.
    Loaded,
    /// A parameter of a function.
    Parameter {
        /// The function.
        function: String,
        /// The name of the parameter.
        name: String,
        /// Its position, without the object that a method belongs to.
        index: usize,
        /// Whether the value is a part of what is passed.
        is_part: bool,
    },
    /// Not known.
    Unknown,
}

impl Origin {
    /// Where a part of a value comes from: it need not be the part that holds an id or a time.
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

/// A statement that makes an array longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// Where.
    pub place: Place,
    /// How.
    pub kind: AppendKind,
    /// The collection (or the model), when it can be told.
    pub collection: Option<String>,
    /// The array.
    pub path: String,
    /// What the statement says about the length.
    pub cap: Cap,
    /// Where the parts of the added value come from.
    pub value: BTreeSet<Origin>,
    /// Whether the value is a document.
    pub adds_document: bool,
    /// Where the values come from that select the document.
    pub selected_by: BTreeSet<Origin>,
    /// Whether a value that is in the array already is not added again.
    pub is_unique: bool,
    /// Whether the same update sets a field to the value that the element records, or to another one than its filter
    /// asks for: it runs once for each change of that field.
    pub records_change: bool,
    /// Whether it runs in a loop.
    pub in_loop: bool,
}

impl Append {
    /// An append of which only the statement itself is known.
    pub fn plain(place: Place, kind: AppendKind, path: String, cap: Cap) -> Self {
        Self {
            place,
            kind,
            collection: None,
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

/// A call of a function of the project that adds to an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeCall {
    /// Where.
    pub place: Place,
    /// The function, by its name.
    pub callee: String,
    /// Whether the call is in a loop.
    pub in_loop: bool,
    /// Where the arguments come from, each with its name when it has one.
    pub arguments: Vec<(Option<String>, BTreeSet<Origin>)>,
}

/// A collection whose name is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputedName {
    /// Where.
    pub place: Place,
    /// The name, with the computed parts as `{expression}`.
    pub shown: String,
    /// Where the computed parts come from.
    pub parts: BTreeSet<Origin>,
}

/// The time limit of calls to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// Where.
    pub place: Place,
    /// The limit in milliseconds; `None` without one.
    pub milliseconds: Option<i64>,
    /// Whether it is in a handler of requests.
    pub in_handler: bool,
}

/// A path that an update sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetPath {
    /// Where.
    pub place: Place,
    /// The operator, `$set`.
    pub operator: String,
    /// The collection, when it can be told.
    pub collection: Option<String>,
    /// The path.
    pub path: String,
}

/// A field that a model declares.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredField {
    /// Where.
    pub place: Place,
    /// The model.
    pub model: String,
    /// Its collection, when it can be told.
    pub collection: Option<String>,
    /// The path.
    pub path: String,
    /// The types it is stored with.
    pub types: Vec<BsonType>,
    /// What comments, validators and defaults of the declaration say about its values.
    pub annotations: Vec<Annotation>,
    /// Values it is limited to, as text.
    pub allowed: Vec<String>,
    /// What a new value is made by, when that matters: `uuid4`.
    pub made_by: Option<String>,
    /// Whether the framework chose its name.
    pub generated: bool,
    /// Elements it may have at most.
    pub max_items: Option<u64>,
    /// Whether the library or a statement shows that documents of the model are stored. A struct that documents are only
    /// read into may be another system's, and a deprecated field is not written any more.
    pub is_stored: bool,
}

/// What the declaration of a field says about its values, beside their type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Annotation {
    /// A comment or a description says that a number counts minor units, such as cents.
    MinorUnits,
    /// A validator or a setter admits whole numbers only.
    WholeNumbers,
    /// A comment, a pattern, a format or a default shows the form of a text.
    TextForm(TextForm),
    /// A text that new documents get: `default: 'JPY'`.
    Default(String),
}

/// Currencies without a minor unit (ISO 4217): their amounts are whole numbers.
pub const CURRENCIES_WITHOUT_MINOR_UNIT: [&str; 17] = [
    "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND",
    "VUV", "XAF", "XOF", "XPF",
];

/// What a text with a date or a time in it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// A date and a time: `2024-03-15T10:30:00Z`.
    Instant,
    /// A date, a month or a day of the year without a time.
    Day,
    /// A time of day or a length of time.
    TimeOfDay,
}

/// A value that code puts into a field of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldValue {
    /// Where.
    pub place: Place,
    /// The collection, or the model.
    pub of: String,
    /// Whether a library that knows the types of the model may convert it.
    pub is_model: bool,
    /// The path, without positions in arrays: `items.price`.
    pub path: String,
    /// What is put there.
    pub kind: ValueKind,
    /// Whether the file is a migration or another script that runs once, by hand.
    pub in_script: bool,
}

/// What the expression of a value shows about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A floating-point number that may have a fraction: `9.99`, `parseFloat(text)`, `round(sum, 2)`.
    Fraction,
    /// A whole number: `price * 100`, `Math.round(price)`, `items.length`.
    Whole,
    /// A text that is made of a date or a time.
    Text(TextForm),
}

/// What kind of secret it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// A connection string with a password.
    ConnectionString,
    /// A password given beside it.
    Password,
}

/// What makes a secret an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// The password is a word that people write where one is to be filled in.
    Password,
    /// The host, which is a name of documentation: no server has it.
    Host(String),
}

/// A secret in clear text. The secret itself is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSecret {
    /// Where.
    pub place: Place,
    /// Of which kind.
    pub kind: SecretKind,
    /// What tells it from others without giving it away; it is kept in memory only.
    pub mark: u64,
    /// The text around it with the secret blotted out.
    pub shown: String,
    /// Whether it is a default for when a variable of the environment is not set.
    pub fallback: bool,
    /// Whether it leads to this machine or a container beside it: a development set-up.
    pub local: bool,
    /// Whether it stands in a comment or in documentation.
    pub in_remark: bool,
    /// Whether the file is an example that is filled in (`.env.example`).
    pub in_sample: bool,
    /// Whether it stands in the middle of a text for people or for a language model: a message, a prompt.
    pub in_prose: bool,
    /// What in it stands for something that is filled in later.
    pub placeholder: Option<Placeholder>,
    /// Where its literal begins, when that can be replaced by a look into the environment.
    pub literal: Option<(Location, Lookup)>,
}

/// How a language looks into the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The expression.
    pub expression: &'static str,
    /// The import it needs.
    pub needs: Option<&'static str>,
}

/// Of what a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum NameKind {
    Database,
    Collection,
}

/// A name of a database or collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeName {
    /// Where.
    pub place: Place,
    /// Of what.
    pub kind: NameKind,
    /// The database a collection is in, when it can be told.
    pub database: Option<String>,
    /// The name.
    pub name: String,
    /// Whether something is written there.
    pub written: bool,
    /// Whether the name itself stands there, rather than a variable.
    pub is_literal: bool,
    /// Whether it stands in a migration or another script that runs once, by hand.
    pub in_script: bool,
}

/// A collection that is created by a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// Where.
    pub place: Place,
    /// The collection; empty when it is computed.
    pub collection: String,
    /// Whether options are given that could not be read.
    pub is_partial: bool,
    /// Whether it has a validator.
    pub validator: bool,
    /// Whether it is a time series, a view or capped: validators do not apply, or seldom.
    pub special: bool,
}

/// A collection that is sharded by a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharding {
    /// Where.
    pub place: Place,
    /// `db.collection`.
    pub namespace: String,
    /// Fields in order; `true` means hashed.
    pub key: Vec<(String, bool)>,
}

/// A value that is read, changed in memory and written back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadThenWrite {
    /// The write.
    pub place: Place,
    /// The read.
    pub read_line: u32,
    /// The collection or model, when it can be told.
    pub collection: Option<String>,
    /// The field; empty for the whole document.
    pub path: String,
    /// What is done to it.
    pub change: Change,
    /// What keeps another writer from coming between the read and the write.
    pub guard: Option<WriteGuard>,
}

/// What keeps another writer from coming between a read and a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteGuard {
    /// Both are in one transaction.
    Transaction,
    /// It is saved with a session that the function was given: callers may have begun a transaction.
    GivenSession,
    /// The write asks for the version that was read.
    Version,
    /// The function leaves the counting to `$inc` and sets the value in a special case.
    ServerCounts,
}

/// What is done to a value between reading and writing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An array is cut in memory (DM-08.4).
    Truncated,
    /// A number is added to or taken from.
    Number,
    /// Text is added to.
    Text,
    /// Something is added; of what type cannot be told.
    Value,
    /// The whole document is put back.
    Document,
}

/// Documents that are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeCount {
    /// Where.
    pub place: Place,
    /// The collection, when it can be told.
    pub collection: Option<String>,
    /// Fields of the filter.
    pub fields: Vec<String>,
    /// Whether it is in a handler of requests.
    pub in_handler: bool,
    /// Whether the number only says if there is any document: it is compared with 0 or 1, or is a condition by itself.
    pub is_existence: bool,
    /// Whether a document is stored in the same collection afterwards.
    pub before_insert: bool,
}

/// A pipeline that reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Where.
    pub place: Place,
    /// The collection, when it can be told.
    pub collection: Option<String>,
    /// Collections that it joins with `$lookup`, sorted. Stages that cannot be read join nothing.
    pub joined: Vec<String>,
}

/// Collections that are written in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Where it begins.
    pub place: Place,
    /// What is written in it, sorted.
    pub collections: Vec<String>,
}

/// A client that is made again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemadeClient {
    /// Where it is made, or where the function that makes it is called.
    pub place: Place,
    /// What runs again and again, in words.
    pub within: String,
    /// Whether that is a loop.
    pub in_loop: bool,
    /// The function that makes it, when it is not made right here.
    pub through: Option<String>,
}

/// A call that a driver refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCall {
    /// Where.
    pub place: Place,
    /// What is wrong, in words.
    pub what: String,
    /// What to write instead.
    pub instead: String,
    /// What stands there, and what may stand there instead.
    pub swap: (String, String),
}

/// A function of a platform that keeps no memory between calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serverless {
    /// Where.
    pub place: Place,
    /// The platform, in words.
    pub platform: String,
    /// Whether it has to do with MongoDB itself.
    pub uses_mongodb: bool,
}

/// A file that answers requests: it has handlers, or uses a web framework; or a list of libraries that names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// The file.
    pub file: String,
    /// Whether a process of it may live for a few calls only: Next.js, functions of platforms.
    pub is_short_lived: bool,
}

impl Code {
    /// A file as it is called within the project.
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

    /// Takes over what another file says.
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
            closed_models,
            mentions,
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
        for (model, closed) in closed_models {
            self.closed_models.entry(model).and_modify(|had| *had &= closed).or_insert(closed);
        }
        self.mentions = self.mentions.take().or(mentions);
    }

    /// Whether the program asks the server whether it is there, or contacts it when it starts.
    pub fn has_health_check(&self) -> bool {
        !self.health_checks.is_empty()
            || self.contacts_in.keys().any(|name| self.called_at_start.contains(name))
    }

    /// Whether a file is a script that somebody starts by hand: it lies where such scripts lie, and no other file imports
    /// it, except for scripts of that kind.
    pub fn is_hand_run(&self, file: &str) -> bool {
        let mut seen = BTreeSet::from([file]);
        let mut next = vec![file];
        while let Some(file) = next.pop() {
            if !self.scripts.contains(file) {
                return false;
            }
            let importers = self.imported_by.get(file).into_iter().flatten();
            next.extend(importers.map(String::as_str).filter(|by| seen.insert(by)));
        }
        true
    }

    /// Whether nothing in the project takes a file in.
    pub fn is_idle(&self, file: &str) -> bool {
        self.mentions.as_ref().is_some_and(|mentions| mentions.unreached.contains(file))
    }

    /// Whether what stands at a place never runs, as far as all files of the project show: nothing takes its file in, or
    /// it is in a method that nobody calls, or that only such methods call.
    pub fn is_never_run(&self, place: &Place) -> bool {
        let Some(mentions) = &self.mentions else { return false };
        let file = &place.location.file;
        if self.is_idle(file) {
            return true;
        }
        let Some(name) = &place.function else { return false };
        let first = Method { file: file.clone(), name: name.clone(), lines: (0, 0) };
        let method = self.methods.range(first..).next();
        if !method.is_some_and(|method| method.file == *file && method.name == *name) {
            return false;
        }
        // Back from the method over those that call it, until one is called from elsewhere.
        let mut known = BTreeSet::from([name]);
        let mut ways = vec![name];
        while let Some(name) = ways.pop() {
            for caller in mentions.methods.get(name).into_iter().flatten() {
                match caller {
                    None => return false,
                    Some(caller) if known.insert(caller) => ways.push(caller),
                    Some(_) => {}
                }
            }
        }
        true
    }

    /// Whether a model declares everything its documents may have, and not what a path begins with: it is not stored.
    pub fn is_not_stored(&self, collection: Option<&str>, path: &str) -> bool {
        let Some(collection) = collection else { return false };
        if self.closed_models.get(collection) != Some(&true) {
            return false;
        }
        /// What declares less is a sketch, of which nobody can say what it leaves out.
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

    /// Values that code puts into a field of a model. Structs and classes may spell it otherwise than documents do:
    /// `CreatedAt` is `created_at`.
    pub fn values_of(&self, field: &DeclaredField) -> impl Iterator<Item = &FieldValue> {
        let path = plain_path(&field.path);
        self.field_values.iter().filter(move |value| {
            (value.of == field.model || field.collection.as_ref() == Some(&value.of))
                && plain_path(&value.path) == path
        })
    }

    /// Whether the project is a program that one person uses in a terminal.
    pub fn is_for_one_person(&self) -> bool {
        self.serving.is_empty()
            && self
                .mentions
                .as_ref()
                .is_some_and(|mentions| mentions.asks_in_terminal && !mentions.serves)
    }
}

/// A path in small letters, without positions and underscores.
fn plain_path(path: &str) -> String {
    path.replace(['_', '[', ']'], "").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_idle_methods_call_never_runs() {
        let method = |file: &str, name: &str| Method {
            file: file.to_owned(),
            name: name.to_owned(),
            lines: (1, 9),
        };
        let mut code = Code {
            methods: BTreeSet::from([method("a.ts", "add"), method("b.ts", "pay")]),
            mentions: Some(Mentioned::default()),
            ..Code::default()
        };
        let place = Place {
            location: Location { file: "a.ts".to_owned(), line: 2, column: 1 },
            function: Some("add".to_owned()),
        };
        let mut named = |name: &str, by: Option<&str>| {
            let all = code.mentions.get_or_insert_default();
            all.methods.entry(name.to_owned()).or_default().insert(by.map(str::to_owned));
            code.is_never_run(&place)
        };
        assert!(named("add", Some("add")));
        assert!(named("add", Some("pay")));
        assert!(named("pay", Some("add")));
        assert!(!named("pay", None));
    }
}
