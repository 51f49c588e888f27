//! Extracts facts about MongoDB from source code and settings: clients and their options, updates, models, secrets.
//!
//! Importers above this crate read declared models; [`scan`] receives a function that calls them ([`ReadModels`]).
//!
//! A file goes through four steps, each for all files before the next:
//!
//! 1. [`may_matter`] decides cheaply whether the file can matter.
//! 2. [`declarations`] collects the facts that other files need: constants, models, settings.
//! 3. [`functions`] collects the effects of functions for their callers: create clients, add to arrays, send queries.
//! 4. [`scan`] collects the facts.
//!
//! Every language is first lowered to one small representation ([`ir`]), so no question is asked once per language.
//! No code is executed. Values that cannot be determined stay unknown; they are not guessed.

mod allow_comments;
mod annotations;
mod calls;
mod clients;
mod collection_names;
mod contacts;
mod dialect;
mod field_values;
mod file_role;
mod handlers;
mod import_graph;
mod indexes;
mod injections;
mod ir;
mod language;
mod lower;
mod methods;
mod models;
mod names;
mod options;
mod origins;
mod passwords;
pub mod place;
mod project_usage;
mod promises;
mod queries;
mod read_modify_write;
mod secrets;
mod settings;
mod survey;
pub mod syntax;
mod targets;
#[cfg(test)]
mod tests;
mod unmapped_models;
mod updates;
mod values;

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use docward_model::{
    ClientUri, Code, Location,
    code::{Method, Place, Serving},
};

pub use allow_comments::Allowed;
pub use file_role::{is_test, stands_aside};
pub use import_graph::{Module, entry_of_package, importers, module, unreached};
pub use language::{FileKind, Language, Library};
pub use models::{DeclaredModel, ModelField, ReadModels};
pub use project_usage::Sought;
pub use survey::{declarations, functions, survey};

use file_role::{is_ci, is_copy, is_generated, is_migration, is_one_shot, is_sample, is_script};
use ir::ScopeId;
use place::Places;
use syntax::Source;
use values::Values;

/// The facts from other files.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Strings by the file (or class) and their name; `None` if two files differ.
    pub(crate) constants: BTreeMap<(String, String), Option<String>>,
    /// Settings that point to this machine by default: file and name.
    pub(crate) local_defaults: BTreeSet<(String, String)>,
    /// Collections by the model's name; empty when it is not known.
    pub(crate) models: BTreeMap<String, String>,
    /// The only model of each file, by file name; `None` if two files have the same name.
    pub(crate) model_files: BTreeMap<String, Option<String>>,
    /// Models that a file exports, by the file and the name there; `None` if two files of that name differ.
    pub(crate) exported: BTreeMap<(String, String), Option<String>>,
    /// Classes of documents that have a version, which the mapper compares on every save.
    pub(crate) versioned: BTreeSet<String>,
    /// Classes of Java and Kotlin, with their superclasses.
    pub(crate) extended: BTreeMap<String, BTreeSet<String>>,
    /// Functions that create a client on each call: file and name.
    pub(crate) factories: BTreeSet<(String, String)>,
    /// Structs of Go that are created with values, or passed to a collection.
    pub(crate) written: BTreeSet<String>,
    /// Structs of Go that are passed to a collection.
    pub(crate) stored: BTreeSet<String>,
    /// Classes of Python that are stored without a mapper, with the fields that receive other values first.
    pub(crate) kept: BTreeMap<String, BTreeSet<String>>,
    /// Classes of Java, with their packages, that are types of fields in documents of Spring Data.
    pub(crate) parts: BTreeSet<(String, String)>,
    /// Functions that add to arrays, by name.
    pub(crate) appenders: BTreeSet<String>,
    /// Functions that add to an array which their caller names; `None` if two functions of one name differ.
    pub(crate) wrappers: BTreeMap<String, Option<updates::Wrapper>>,
    /// Functions that return a document they loaded, with its collection; `None` if other functions of the name do not.
    pub(crate) loaders: BTreeMap<String, Option<Option<String>>>,
    /// Functions that send a query with their arguments.
    pub(crate) askers: queries::Askers,
}

impl Known {
    /// Whether documents of a class have a version, of its own or of a class above it.
    pub(crate) fn has_version(&self, class: &str) -> bool {
        /// Maximum number of superclasses that Docward follows.
        const HIGHEST: usize = 5;
        let mut above = vec![class];
        for _ in 0..HIGHEST {
            if above.iter().any(|class| self.versioned.contains(*class)) {
                return true;
            }
            let bases = above.iter().filter_map(|class| self.extended.get(*class)).flatten();
            above = bases.map(String::as_str).collect();
        }
        false
    }

    /// Adds the declarations of another file.
    pub fn absorb(&mut self, other: Self) {
        unite(&mut self.constants, other.constants);
        unite(&mut self.model_files, other.model_files);
        unite(&mut self.exported, other.exported);
        self.local_defaults.extend(other.local_defaults);
        self.models.extend(other.models);
        self.versioned.extend(other.versioned);
        for (class, bases) in other.extended {
            self.extended.entry(class).or_default().extend(bases);
        }
        self.factories.extend(other.factories);
        self.written.extend(other.written);
        self.stored.extend(other.stored);
        for (class, changed) in other.kept {
            self.kept.entry(class).or_default().extend(changed);
        }
        self.parts.extend(other.parts);
        self.appenders.extend(other.appenders);
        unite(&mut self.wrappers, other.wrappers);
        unite(&mut self.loaders, other.loaders);
        self.askers.extend(other.askers);
    }

    /// Whether a file exports models.
    pub(crate) fn hands_out_models(&self, stem: &str) -> bool {
        let of_file = self.exported.range((stem.to_owned(), String::new())..);
        of_file.take_while(|((file, _), _)| file == stem).any(|(_, model)| model.is_some())
    }

    /// Names of models and of their parts, to find files that use a model without the word `mongo`.
    pub fn model_names(&self) -> impl Iterator<Item = &str> {
        let parts = self.parts.iter().map(|(_, class)| class);
        let exported = self.exported.keys().map(|(_, name)| name);
        let names = self.models.keys().chain(parts).chain(self.kept.keys());
        // A function that receives a document may change and save it without naming its model.
        let saves = (!self.models.is_empty()).then_some(".save(");
        names.chain(exported).map(String::as_str).chain(saves)
    }

    /// Names of functions that add to arrays, load documents or send queries, unless the names are too common.
    pub fn function_names(&self) -> impl Iterator<Item = &str> {
        /// Shorter names are `add`, `push`, `getOne`.
        const TELLING: usize = 8;
        let names = self.appenders.iter().chain(self.wrappers.keys()).chain(self.loaders.keys());
        names.chain(self.askers.keys().map(|(_, name)| name)).map(String::as_str).filter(|name| {
            name.len() >= TELLING
                && (name.contains('_') || name[1..].contains(|c: char| c.is_ascii_uppercase()))
        })
    }

    /// The collection of a model. Code may also call the model `UserModel`.
    pub(crate) fn collection_of(&self, model: &str) -> String {
        let short = model.strip_suffix("Model").filter(|short| self.models.contains_key(*short));
        let model = if self.models.contains_key(model) { model } else { short.unwrap_or(model) };
        self.models
            .get(model)
            .filter(|collection| !collection.is_empty())
            .map_or_else(|| model.to_owned(), String::clone)
    }
}

/// Adds the entries of another map. Entries with different values become `None`.
fn unite<K: Ord, V: PartialEq>(own: &mut BTreeMap<K, Option<V>>, other: BTreeMap<K, Option<V>>) {
    for (key, text) in other {
        own.entry(key)
            .and_modify(|had| {
                if *had != text {
                    *had = None;
                }
            })
            .or_insert(text);
    }
}

/// The facts of one file.
#[derive(Clone, Debug, Default)]
pub struct Scanned {
    /// Clients and connection strings.
    pub clients: Vec<ClientUri>,
    /// Everything else.
    pub code: Code,
    /// Findings that comments in the file allow.
    pub allowed: Vec<Allowed>,
    /// Functions that create a client on each call.
    pub(crate) factories: Vec<String>,
    /// Functions that add to an array which their caller names.
    pub(crate) wrappers: Vec<(String, updates::Wrapper)>,
    /// The parts that could not be read, with their lines.
    pub problems: Vec<(u32, String)>,
}

/// Longer files are data.
const MAX_TEXT: usize = 4 << 20;

/// Whether a file may concern MongoDB: a search for a few words.
pub fn may_matter(text: &[u8]) -> bool {
    // The search for `mongo` in any case begins with its rarest letters.
    memchr::memmem::find_iter(text, b"ongo").any(|at| at > 0 && matches!(text[at - 1], b'm' | b'M'))
        || memchr::memmem::find(text, b"ONGO").is_some_and(|at| at > 0)
        || [
            &b"$push"[..],
            b"$addToSet",
            b"bson.",
            // Scripts that create accounts.
            b"getSiblingDB",
            b"shardCollection",
            b"\"bson",
            // Tags of Go.
            b"bson:\"",
            b"mgo.",
            b"$lookup",
            b"'monk'",
            b"\"monk\"",
            // Mappers whose files need not contain `mongo`.
            b"beanie",
            b"djongo",
            b"odmantic",
            // Classes that documents extend.
            b"springframework.data.annotation.Version",
            // Method names that only MongoDB drivers use.
            b"insert_one(",
            b"update_one(",
            b".insertOne(",
            b".updateOne(",
            b".findOneAndUpdate(",
            b".countDocuments(",
            // Methods of the driver's cursors.
            b".toArray(",
        ]
        .iter()
        .any(|word| memchr::memmem::find(text, word).is_some())
}

/// Collects the facts of a file. It is shown as `file`. Its path `within` the project shows its role; folders above
/// the project do not.
pub fn scan(
    file: &str,
    within: &str,
    text: &str,
    kind: FileKind,
    known: &Known,
    read_models: ReadModels,
) -> Scanned {
    let mut out = Scanned::default();
    if text.len() > MAX_TEXT {
        out.problems.push((1, format!("longer than {} MiB: not read", MAX_TEXT >> 20)));
        return out;
    }
    // Findings in the output of a compiler or bundler belong to its source.
    if is_generated(text, kind) {
        return out;
    }
    let is_sample = is_sample(within);
    match kind {
        FileKind::Code(language) => {
            let source = match Source::parse(&language.grammar(), text) {
                Ok(source) => source,
                Err(problem) => {
                    out.problems.push((problem.line, problem.message));
                    return out;
                }
            };
            let unit = lower::lower(&source, language);
            let is_shell = is_shell(file, text, &unit);
            let mut scan = Scan {
                file,
                within,
                text,
                values: Values::new(&unit, known, is_shell),
                places: Places::new(text),
                is_sample,
                seen_strings: BTreeSet::new(),
                declarations: OnceCell::new(),
                reading: OnceCell::new(),
                read_models,
                out: &mut out,
            };
            scan.clients();
            scan.updates();
            scan.loaded();
            scan.calls();
            scan.queries();
            scan.injections();
            scan.promises();
            scan.indexes();
            scan.field_values();
            scan.contacts();
            scan.names();
            scan.computed_names();
            scan.deadlines();
            scan.models();
            scan.strings();
            scan.methods();
            if !language.dialect().has_pools {
                out.clients.iter_mut().for_each(without_pool_options);
            }
            if is_script(within) || is_migration(&unit) {
                out.code.names.iter_mut().for_each(|name| name.in_script = true);
                out.code.scripts.insert(file.to_owned());
                out.code.field_values.iter_mut().for_each(|value| value.in_script = true);
            }
            if is_one_shot(&unit) {
                out.clients.iter_mut().for_each(without_pool);
                out.code.fields.retain(|field| field.made_by.is_none());
            } else if let Some(is_short_lived) = handlers::serving(&unit, within) {
                let file = file.to_owned();
                out.code.serving.push(Serving { file, is_short_lived });
            }
            out.code.single_sets = settings::single_sets(text);
            out.allowed = allow_comments::allowed(text, |at| source.end_of_comment(at));
        }
        FileKind::OtherCode | FileKind::Settings | FileKind::Schema => {
            let places = Places::new(text);
            out.allowed = allow_comments::allowed(text, |_| Some(text.len()));
            secrets::in_text(text, 0, file, &places, false, is_sample, &mut out);
            out.code.single_sets = settings::single_sets(text);
            if kind == FileKind::Settings {
                settings::passwords(text, file, within, &places, is_sample, &mut out);
                out.code.injections.guards.extend(injections::guards_of_libraries(file, text));
                if let Some(is_short_lived) = handlers::serving_by_libraries(file, text) {
                    let file = file.to_owned();
                    out.code.serving.push(Serving { file, is_short_lived });
                }
            }
            if kind == FileKind::Schema {
                models::of_prisma(file, text, read_models, &mut out);
            }
            // A test run starts separate servers.
            if is_ci(within) {
                out.clients.clear();
            }
        }
    }
    // The oplog is in `local`, so clients that follow the oplog must use that database.
    if out.clients.iter().any(|client| client.database.as_deref() == Some("local"))
        && text.to_ascii_lowercase().contains("oplog")
    {
        let local = |client: &&mut ClientUri| client.database.as_deref() == Some("local");
        out.clients.iter_mut().filter(local).for_each(|client| client.database = None);
    }
    // No program runs a copy that lies next to the original, but its passwords are still secrets.
    if is_copy(within) {
        let secrets = std::mem::take(&mut out.code.secrets);
        out.code = Code { secrets, ..Code::default() };
        out.clients.clear();
    }
    out.code.accounts_in.extend(settings::accounts_in(text));
    out.code.read = 1;
    out
}

/// Whether a compiler or a bundler wrote a file: it calls only what its source calls.
pub fn is_written_by_tools(text: &[u8], kind: FileKind) -> bool {
    is_generated(&String::from_utf8_lossy(text), kind)
}

/// A script for `mongosh`, which has `db`, `sh` and `rs` without imports.
fn is_shell(file: &str, text: &str, unit: &ir::Unit<'_>) -> bool {
    unit.language == Language::JavaScript
        && (file.ends_with(".mongodb")
            || (unit.imports.is_empty()
                && ["db.getSiblingDB", "db.createCollection", "sh.", "rs.", "use(", "db."]
                    .iter()
                    .any(|word| text.lines().any(|line| line.trim_start().starts_with(word)))))
}

/// Options that have an effect only if connections are kept and shared.
const OF_POOLS: [&str; 5] =
    ["maxPoolSize", "minPoolSize", "maxIdleTimeMS", "waitQueueTimeoutMS", "connectTimeoutMS"];

/// A client of a driver that keeps no pool: options of pools have no effect.
fn without_pool_options(client: &mut ClientUri) {
    client.options.retain(|option| !OF_POOLS[..4].contains(&option.name.as_str()));
}

/// Removes pool options from a client that is not shared, so that no rule checks them.
fn without_pool(client: &mut ClientUri) {
    client.options.retain(|option| !OF_POOLS.contains(&option.name.as_str()));
    if let Some(site) = &mut client.site {
        site.is_whole = false;
    }
}

/// One file under examination.
struct Scan<'u, 't> {
    /// The name of the file in reports.
    file: &'u str,
    /// The path of the file in the project.
    within: &'u str,
    text: &'t str,
    values: Values<'u, 't>,
    places: Places<'t>,
    is_sample: bool,
    /// Positions of connection strings that were already scanned.
    seen_strings: BTreeSet<usize>,
    /// Annotations of declarations, once they are asked for.
    declarations: OnceCell<annotations::Declarations<'t>>,
    /// The calls of the file, once they are asked for.
    reading: OnceCell<queries::Reading<'u, 't>>,
    read_models: ReadModels,
    out: &'u mut Scanned,
}

impl Scan<'_, '_> {
    fn location(&self, at: usize) -> Location {
        let place = self.places.at(at);
        Location { file: self.file.to_owned(), line: place.line, column: place.column }
    }

    fn place(&self, at: usize, scope: ScopeId) -> Place {
        let function =
            self.values.unit.around(scope).find_map(|id| match &self.values.unit.scopes[id].kind {
                ir::ScopeKind::Function(function) if !function.name.is_empty() => {
                    Some(function.name.to_owned())
                }
                _ => None,
            });
        Place { location: self.location(at), function }
    }

    /// Collects the methods that run only if code calls them. No framework calls them by an annotation, a superclass
    /// or a known name.
    fn methods(&mut self) {
        let unit = self.values.unit;
        let of_schemas: BTreeSet<ScopeId> = unit
            .statements
            .iter()
            .filter_map(|statement| match &statement.kind {
                ir::StatementKind::Assign { target, value, .. } => match value.kind {
                    ir::Kind::Function(to) => target
                        .path()
                        .is_some_and(|p| p.contains(".methods.") || p.contains(".statics."))
                        .then_some(to),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        let mut found = Vec::new();
        for (id, scope) in unit.scopes.iter().enumerate() {
            let ir::ScopeKind::Function(function) = &scope.kind else { continue };
            let is_called_by_name = match &unit.scopes[scope.parent].kind {
                ir::ScopeKind::Class { bases, .. } => bases.is_empty(),
                ir::ScopeKind::Module => self.is_plain_function(function, scope.at),
                _ => false,
            };
            if !function.name.is_empty()
                && function.marks.is_empty()
                && function.name != "constructor"
                && (is_called_by_name || of_schemas.contains(&id))
            {
                found.push(Method {
                    file: self.file.to_owned(),
                    name: function.name.to_owned(),
                    lines: (self.places.at(scope.at).line, self.places.at(scope.end).line),
                });
            }
        }
        self.out.code.methods.extend(found);
    }

    /// Whether a function outside of classes runs only if code calls it by its name.
    fn is_plain_function(&self, function: &ir::Function<'_>, at: usize) -> bool {
        // Functions that frameworks and platforms look for.
        const KNOWN: [&str; 18] = [
            "GET",
            "POST",
            "PUT",
            "PATCH",
            "DELETE",
            "HEAD",
            "OPTIONS",
            "handler",
            "main",
            "loader",
            "action",
            "middleware",
            "setup",
            "register",
            "up",
            "down",
            "getServerSideProps",
            "getStaticProps",
        ];
        let declared = self.values.unit.language.dialect().plain_functions;
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = self.text[start..].trim_start();
        function.passed_to.is_none()
            && !KNOWN.contains(&function.name)
            && !function.name.to_ascii_lowercase().ends_with("handler")
            && declared.iter().any(|word| line.starts_with(word))
            && !import_graph::is_routed(self.within)
    }

    /// Whether a place is in a comment or in documentation.
    fn is_remark(&self, at: usize) -> bool {
        self.values.unit.remarks.iter().any(|(from, to)| (*from..*to).contains(&at))
    }
}
