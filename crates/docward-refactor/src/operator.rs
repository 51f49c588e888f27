//! The connection of an operator: an account that may change collections, not the application's
//! account (GC-33).

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use docward_model::Namespace;
use docward_uri::{is_unescaped, refusal, servers_told, without_login};
use mongodb::{
    Client,
    bson::{Document, doc},
    error::{Error, ErrorKind},
    options::{ClientOptions, ReadPreference, SelectionCriteria},
};
use tokio::runtime::Runtime;

/// The time limit for finding a server.
const PATIENCE: Duration = Duration::from_secs(5);

/// The interval for checking whether the user stopped the run.
const GLANCE: Duration = Duration::from_millis(100);

/// The reason why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The connection string cannot be used.
    #[error(
        "the connection string is invalid: {0}; see \
         https://www.mongodb.com/docs/manual/reference/connection-string/"
    )]
    BadUri(String),
    /// No server answered.
    #[error(
        "no server answered: {0}; check host, port, firewall and TLS, and that the set has a primary"
    )]
    Unreachable(String),
    /// The login was refused.
    #[error("the login was refused: {0}; check user, password and authSource")]
    Login(String),
    /// The collection does not exist.
    #[error("{0} does not exist; check --namespace, or create the collection first")]
    NoCollection(Namespace),
    /// A collection of this kind cannot have a validator.
    #[error("{namespace} is {what}, which cannot have a validator: {why}")]
    NoValidator {
        /// The collection.
        namespace: Namespace,
        /// The kind of the collection.
        what: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// The user stopped the run.
    #[error("stopped; nothing was changed")]
    Stopped,
    /// The user stopped the run, and scratch data is being removed.
    #[error("stopped before the end")]
    Ended,
    /// The scratch database already exists.
    #[error("the database {0} exists already and was not changed; run again to use another name")]
    DatabaseExists(String),
    /// A command failed.
    #[error("{what} failed{}: {why}", code.map(|code| format!(" (code {code})")).unwrap_or_default())]
    Failed {
        /// The operation that failed.
        what: &'static str,
        /// The server's error code.
        code: Option<i32>,
        /// The server's message.
        why: String,
    },
}

/// A privilege that the account does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The action, by MongoDB's name.
    pub action: &'static str,
    /// The resource of the action.
    pub resource: String,
    /// A built-in role that includes it.
    pub role: &'static str,
}

/// A connection to a deployment that may be changed.
pub struct Operator {
    /// The hosts of the connection string; never the user or options.
    pub name: String,
    /// The driver's client, which reads from the primary.
    pub client: Client,
    /// The runtime that executes the client's work.
    pub runtime: Runtime,
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operator").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Operator {
    /// Connects and waits for a first response of the primary.
    pub fn connect(uri: &str) -> Result<Self, Trouble> {
        if is_unescaped(uri) {
            let why = "the user or password contains characters that must be escaped: `@` as %40, \
             `:` as %3A, `/` as %2F";
            return Err(Trouble::BadUri(why.to_owned()));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| Trouble::Unreachable(error.to_string()))?;
        let words = |error: &Error| without_login(&words(error), uri);
        let mut options =
            runtime.block_on(async { ClientOptions::parse(uri).await }).map_err(|error| {
                match &*error.kind {
                    ErrorKind::DnsResolve { .. } => Trouble::Unreachable(words(&error)),
                    _ => Trouble::BadUri(refusal(&words(&error), uri)),
                }
            })?;
        let hosts: Vec<_> = options.hosts.iter().map(ToString::to_string).collect();
        options.server_selection_timeout.get_or_insert(PATIENCE);
        options.connect_timeout.get_or_insert(PATIENCE);
        options.app_name.get_or_insert_with(|| "docward".to_owned());
        // Decisions here depend on the state of the primary.
        options.selection_criteria =
            Some(SelectionCriteria::ReadPreference(ReadPreference::Primary));
        let client = {
            let _inside = runtime.enter();
            Client::with_options(options).map_err(|error| Trouble::BadUri(words(&error)))?
        };
        let operator = Self { name: format!("mongodb://{}", hosts.join(",")), client, runtime };
        match operator.run("admin", doc! { "ping": 1 }) {
            Ok(_) => Ok(operator),
            Err(error) => Err(match &*error.kind {
                ErrorKind::Authentication { .. } => Trouble::Login(words(&error)),
                ErrorKind::ServerSelection { .. } | ErrorKind::Io(_) => {
                    Trouble::Unreachable(words(&error))
                }
                _ => failed("the first question", &error),
            }),
        }
    }

    /// The actions that the account may not perform on a collection. If the server returns no
    /// privileges (access control is off), the account may do everything.
    pub fn missing(
        &self,
        namespace: &Namespace,
        actions: &[&'static str],
    ) -> Result<Vec<Missing>, Trouble> {
        let status = self
            .run("admin", doc! { "connectionStatus": 1, "showPrivileges": true })
            .map_err(|error| failed("connectionStatus", &error))?;
        let auth = status.get_document("authInfo").cloned().unwrap_or_default();
        let list = |name: &str| auth.get_array(name).cloned().unwrap_or_default();
        if list("authenticatedUsers").is_empty() {
            return Ok(Vec::new());
        }
        let privileges = list("authenticatedUserPrivileges");
        let may = |action: &str| {
            privileges.iter().filter_map(|p| p.as_document()).any(|privilege| {
                let covers = privilege
                    .get_document("resource")
                    .is_ok_and(|resource| is_covered(resource, namespace));
                let actions = privilege.get_array("actions");
                let named = |a: &mongodb::bson::Bson| matches!(a.as_str(), Some(name) if name == action || name == "anyAction");
                covers && actions.is_ok_and(|actions| actions.iter().any(named))
            })
        };
        Ok(actions
            .iter()
            .filter(|action| !may(action))
            .map(|action| Missing {
                action,
                resource: namespace.to_string(),
                role: if matches!(*action, "find" | "listCollections") {
                    "read"
                } else if matches!(
                    *action,
                    "insert"
                        | "update"
                        | "remove"
                        | "createCollection"
                        | "createIndex"
                        | "dropCollection"
                ) {
                    "readWrite"
                } else {
                    "dbAdmin"
                },
            })
            .collect())
    }

    /// Runs a command on a database.
    pub fn run(&self, database: &str, command: Document) -> Result<Document, Error> {
        let database = self.client.database(database);
        self.runtime.block_on(async { database.run_command(command).await })
    }

    /// Runs a long operation that the user can stop. Stopping closes the connection, and the server
    /// then aborts the operation too.
    pub(crate) fn run_unless(
        &self,
        database: &str,
        command: Document,
        stop: &AtomicBool,
    ) -> Result<Result<Document, Error>, Trouble> {
        let database = self.client.database(database);
        self.runtime.block_on(async {
            let mut answer = std::pin::pin!(database.run_command(command).into_future());
            loop {
                if stop.load(Ordering::Relaxed) {
                    return Err(Trouble::Stopped);
                }
                if let Ok(answer) = tokio::time::timeout(GLANCE, &mut answer).await {
                    return Ok(answer);
                }
            }
        })
    }
}

/// Returns whether a privilege's resource covers a collection.
fn is_covered(resource: &Document, namespace: &Namespace) -> bool {
    if resource.get_bool("anyResource").unwrap_or(false) {
        return true;
    }
    let names = |key: &str, name: &str| {
        resource.get_str(key).is_ok_and(|named| named.is_empty() || named == name)
    };
    names("db", &namespace.database) && names("collection", &namespace.collection)
}

/// The driver's message without its decoration.
fn words(error: &Error) -> String {
    match &*error.kind {
        ErrorKind::ServerSelection { message, .. } => servers_told(message),
        kind => kind.to_string(),
    }
}

/// The error for a command that failed.
pub fn failed(what: &'static str, error: &Error) -> Trouble {
    match &*error.kind {
        ErrorKind::Command(command) => {
            Trouble::Failed { what, code: Some(command.code), why: command.message.clone() }
        }
        ErrorKind::ServerSelection { .. } => Trouble::Unreachable(words(error)),
        kind => Trouble::Failed { what, code: None, why: kind.to_string() },
    }
}
