//! Translates each language into a common form. Each language has one [`Dialect`], in a separate file.
//!
//! A dialect lowers syntax trees to the [`ir`](crate::ir). It answers the questions that differ between languages: what
//! creates a client, what handles a request, how strings are formatted, how the environment is read. All other modules
//! work on the lowered form and call the dialect through [`crate::Language::dialect`].

pub(crate) mod csharp;
pub(crate) mod go;
pub(crate) mod java;
pub(crate) mod kotlin;
pub(crate) mod php;
pub(crate) mod python;
pub(crate) mod script;

use docward_model::code::{Lookup, RefusedCall};
use tree_sitter::Node;

use crate::{
    Known, Language, Library, Scan,
    clients::Made,
    ir::{Call, Expr, Function, Kind, Mark, ScopeId, Unit},
    lower::Lower,
    values::{Signs, Values},
};

/// A database, if it is named, and a collection.
type Named = (Option<String>, String);

/// The properties of a language for MongoDB.
pub(crate) struct Dialect {
    /// Lowers one node of the grammar.
    pub(crate) lower: for<'t> fn(&mut Lower<'_, 't>, Node<'_>, ScopeId) -> Kind<'t>,
    /// The client that an expression creates.
    pub(crate) client: for<'u, 't> fn(&Scan<'u, 't>, &'u Expr<'t>, ScopeId) -> Option<Made<'u, 't>>,
    /// Whether a call creates a client, for paths that lead from it to databases and collections.
    pub(crate) is_client: for<'t> fn(&Unit<'t>, &Call<'t>) -> bool,
    /// Whether the driver keeps a pool of connections. Without one, options of pools have no effect.
    pub(crate) has_pools: bool,
    /// A call for which the driver raises an error.
    pub(crate) refused: for<'u, 't> fn(&Scan<'u, 't>, &'u Call<'t>) -> Option<RefusedCall>,
    /// A password that a call passes to the driver in addition to the connection string, and its name there.
    pub(crate) password: for<'u, 't> fn(
        &Values<'u, 't>,
        &'u Call<'t>,
        ScopeId,
    ) -> Option<(&'u Expr<'t>, &'static str)>,
    /// The database and collection that a call names, if its first string does not suffice.
    pub(crate) collection: for<'u, 't> fn(&Values<'u, 't>, &'u Call<'t>, ScopeId) -> Option<Named>,
    /// Whether a call connects right away. Most clients connect with their first operation.
    pub(crate) connects: for<'u, 't> fn(&Scan<'u, 't>, &'u Expr<'t>, &'u Call<'t>, ScopeId) -> bool,
    /// Methods of builders, or properties of settings, and the option of connection strings that each sets.
    pub(crate) builders: &'static [(&'static str, &'static str)],
    /// The unit of a duration that is a bare number.
    pub(crate) bare_duration: Duration,
    /// Functions that read a variable of the environment, or a setting; their second argument is a default.
    pub(crate) reads_environment: &'static [&'static str],
    /// The expression that reads a variable in place of a literal, if it compiles everywhere.
    pub(crate) lookup: fn(Language) -> Option<Lookup>,
    /// Functions whose first argument is a format string for the other arguments.
    pub(crate) formats: &'static [(&'static str, Signs)],
    /// The placeholder syntax of the method `format` of strings.
    pub(crate) format_method: Signs,
    /// The kind of handler that an annotation declares, if a framework calls the function for each request.
    pub(crate) handler_mark: fn(&str) -> Option<&'static str>,
    /// Other functions that a framework calls for each request or event, in words.
    pub(crate) handles: for<'t> fn(&Unit<'t>, ScopeId, &Function<'t>, &str) -> Option<String>,
    /// Whether a call registers the function in its arguments for a path or event.
    pub(crate) is_route: fn(&str) -> bool,
    /// Whether a serverless platform calls a function.
    pub(crate) is_serverless: for<'t> fn(&Unit<'t>, &Function<'t>) -> bool,
    /// Whether a module is a web framework.
    pub(crate) is_framework: fn(&str) -> bool,
    /// Functions that run when the program starts, in addition to `main` and those of frameworks.
    pub(crate) entry_functions: &'static [&'static str],
    /// Starts of lines that declare a function which runs only if code calls it by its name.
    pub(crate) plain_functions: &'static [&'static str],
    /// Minimum number of arguments before the name in `createCollection`.
    pub(crate) leading_arguments: usize,
    /// Whether comparisons may have more than two operands, and are lowered to a list of them.
    pub(crate) chains_comparisons: bool,
    /// Whether the importing file chooses the name of an import: `const User = require('./models/user')`.
    pub(crate) names_imported_files: bool,
    /// Whether a class declares documents.
    pub(crate) is_document_class: for<'t> fn(&Unit<'t>, &[&'t str], &[Mark<'t>]) -> bool,
    /// Whether a file is a test, by its path in lower case.
    pub(crate) is_test: fn(&str) -> bool,
    /// Collects facts about a file that other files need, except constants and classes of documents.
    pub(crate) survey: for<'u, 't> fn(&Values<'u, 't>, &str, &mut Known),
    /// The importer that reads the models of a file.
    pub(crate) library: for<'u, 't> fn(&Values<'u, 't>, &str) -> Option<Library>,
}

/// The meaning of a bare number as a duration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duration {
    /// The unit depends on the method.
    Unknown,
    /// Nanoseconds.
    Nanoseconds,
}

/// Names of clients in most languages.
const CLIENTS: [&str; 4] = ["MongoClient", "AsyncIOMotorClient", "AsyncMongoClient", "MotorClient"];

/// Names of functions that read the environment in many languages.
const READS_ENVIRONMENT: &[&str] =
    &["getenv", "get", "env", "config", "str", "getOrDefault", "GetEnv", "getEnv"];

/// The common defaults of languages; a dialect overrides them.
const USUAL: Dialect = Dialect {
    lower: |l, node, scope| l.rest(node, scope),
    client: |_, _, _| None,
    is_client: |_, call| call.method().is_some_and(|method| CLIENTS.contains(&method)),
    has_pools: true,
    refused: |_, _| None,
    password: |_, _, _| None,
    collection: |_, _, _| None,
    connects: |_, _, _, _| false,
    builders: &[],
    bare_duration: Duration::Nanoseconds,
    reads_environment: READS_ENVIRONMENT,
    lookup: |_| None,
    formats: &[],
    format_method: Signs::Braces,
    handler_mark: |_| None,
    handles: |_, _, _, _| None,
    is_route: crate::handlers::is_route,
    is_serverless: |_, _| false,
    is_framework: |_| false,
    entry_functions: &[],
    plain_functions: &[],
    leading_arguments: 0,
    chains_comparisons: false,
    names_imported_files: false,
    is_document_class: |_, _, _| false,
    is_test: |_| false,
    survey: |_, _, _| {},
    library: |_, _| None,
};

/// Whether a module is one of these frameworks, or part of one.
fn is_module_of(module: &str, frameworks: &[&str]) -> bool {
    frameworks.iter().any(|known| {
        module.strip_prefix(known).is_some_and(|rest| {
            known.ends_with('/') || rest.is_empty() || rest.starts_with(['/', '.', '-', '_', '\\'])
        })
    })
}

/// Describes a function with its name.
fn named(what: &str, function: &Function<'_>) -> String {
    match function.name {
        "" => what.to_owned(),
        name => format!("{what} `{name}`"),
    }
}
