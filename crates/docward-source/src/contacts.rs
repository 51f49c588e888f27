//! Finds code that contacts the server when the program starts, or that checks whether the server is reachable.
//!
//! A program that does either discovers a wrong address or password before its first request. Commands such as `ping`
//! count everywhere. Operations and `connect()` count only in code that runs when the program starts:
//!
//! - at the top level of a file, and in functions and callbacks that are called there;
//! - in functions that frameworks call once.
//!
//! Functions that other files may call are recorded by name, and so are the calls at the start. Rules match the two.

use std::collections::BTreeSet;

use super::{
    Scan,
    calls::{READS, WRITES, is_same},
    handlers,
    ir::{Call, Expr, Function, Kind, ScopeId, ScopeKind, StatementKind, Unit},
};

/// Methods that are commands themselves.
const COMMANDS: [&str; 13] = [
    "ping",
    "Ping",
    "server_info",
    "serverInfo",
    "serverStatus",
    "buildInfo",
    "replSetGetStatus",
    "isMaster",
    "list_database_names",
    "list_databases",
    "listDatabases",
    "ListDatabases",
    "ListDatabaseNames",
];

/// Methods that send the command in their arguments.
const SENDS: [&str; 7] = [
    "command",
    "runCommand",
    "RunCommand",
    "run_command",
    "adminCommand",
    "executeCommand",
    "RunCommandCursor",
];

/// Operations that are not about documents.
const OPERATIONS: [&str; 22] = [
    "createIndex",
    "createIndexes",
    "create_index",
    "create_indexes",
    "ensureIndex",
    "ensure_index",
    "ensure_indexes",
    "ensureIndexes",
    "syncIndexes",
    "CreateOne",
    "CreateMany",
    "EnsureIndex",
    "list_collection_names",
    "listCollections",
    "list_collections",
    "ListCollectionNames",
    "ListCollections",
    "createCollection",
    "create_collection",
    "CreateCollection",
    "estimated_document_count",
    "EstimatedDocumentCount",
];

/// Functions of mappers that create indexes or check the connection when they are called.
const INITIALISERS: [&str; 4] = ["init_beanie", "configure_database", "$connect", "ensureIndexes"];

/// Functions that call their argument once, immediately or when something is ready.
const RUNS: [&str; 18] = [
    "then",
    "finally",
    "connect",
    "listen",
    "once",
    "run",
    "run_until_complete",
    "create_task",
    "ensure_future",
    "gather",
    "add_event_handler",
    "setImmediate",
    "nextTick",
    "FastAPI",
    "Starlette",
    "Litestar",
    "Thread",
    "append",
];

impl<'u, 't> Scan<'u, 't> {
    /// Records the contacts with the server.
    pub(super) fn contacts(&mut self) {
        let unit = self.values.unit;
        let start = started(unit, self.within);
        let mut found = Vec::new();
        let mut later = Vec::new();
        let mut connects_in_handler = false;
        let mut called = BTreeSet::new();
        unit.each(|scope, expr| {
            if is_connection_state(expr)
                && self.values.is_mapper_file()
                && handlers::handler_around(unit, scope, self.within).is_some()
            {
                found.push(expr.at);
            }
            let Some(call) = expr.call() else { return };
            let Some(method) = call.method() else { return };
            let is_at_start = is_within(unit, scope, &start);
            if is_at_start {
                called.insert(method);
                // `setup(db)` is called there, and `Depends(get_db)` passes a function that is called.
                called.extend(call.args.iter().filter_map(|arg| match &arg.value.kind {
                    Kind::Name(name) if RUNS.contains(&method) => Some(*name),
                    _ => None,
                }));
            }
            if self.is_command(call, method, scope) {
                found.push(expr.at);
                return;
            }
            let is_index = OPERATIONS[..12].contains(&method);
            let connects = (unit.language.dialect().connects)(self, expr, call, scope);
            let contacts = connects
                || INITIALISERS.contains(&method)
                || self.is_operation(call, method, scope);
            if !contacts {
                return;
            }
            let is_handled = handlers::handler_around(unit, scope, self.within).is_some();
            connects_in_handler |= connects && is_handled;
            let is_health_check = unit.around(scope).any(|id| match &unit.scopes[id].kind {
                ScopeKind::Function(function) => asks_for_health(function),
                _ => false,
            });
            let is_made_at_start = method == "connect"
                || matches!(method, "forRoot" | "forRootAsync" | "Dial" | "DialWithInfo")
                || INITIALISERS.contains(&method)
                || is_index;
            if is_at_start || is_health_check || (is_made_at_start && !is_handled) {
                found.push(expr.at);
            } else if let Some(name) = outer_name(unit, scope).filter(|_| !is_handled) {
                later.push((name, expr.at));
            }
        });
        let own: BTreeSet<&str> = unit.scopes.iter().filter_map(named_function).collect();
        let elsewhere = called.into_iter().filter(|name| !own.contains(name));
        self.out.code.called_at_start.extend(elsewhere.map(str::to_owned));
        self.out.code.connects_in_handler = connects_in_handler;
        for at in found {
            let location = self.location(at);
            self.out.code.health_checks.push(location);
        }
        for (name, at) in later {
            let location = self.location(at);
            self.out.code.contacts_in.entry(name.to_owned()).or_insert(location);
        }
    }

    /// Whether a call sends a command to the server.
    fn is_command(&self, call: &'u Call<'t>, method: &str, scope: ScopeId) -> bool {
        let of = call.receiver();
        let is_of_mongodb = self.values.is_mongo_file()
            || self.values.is_mapper_file()
            || self.out.clients.iter().any(|client| client.driver.is_some());
        let is_database = of.is_some_and(|of| {
            self.values.is_database(of, scope, 0)
                || of.last_name().is_some_and(|name| {
                    let name = name.trim_start_matches('_').to_ascii_lowercase();
                    matches!(name.as_str(), "admin" | "db" | "database" | "mongotemplate")
                })
                || of.call().and_then(Call::method).is_some_and(|method| {
                    matches!(method, "db" | "admin" | "Database" | "getDatabase" | "get_database")
                })
        });
        if COMMANDS.contains(&method) {
            // Hosts and other servers also have pings.
            let is_other = of.and_then(Expr::last_name).is_some_and(is_of_another);
            return is_database || (of.is_some() && is_of_mongodb && !is_other);
        }
        if !SENDS.contains(&method) {
            return false;
        }
        let Some(first) = call.args.iter().find(|arg| !is_context(&arg.value)) else {
            return false;
        };
        let is_document = self.values.document(&first.value, scope).is_some();
        let is_known =
            self.values.text(&first.value, scope).is_some_and(|name| is_server_command(&name));
        is_known || is_database || (is_document && is_of_mongodb)
    }

    /// Whether code handles the result of a promise: it is awaited, passed on, or has a callback. A promise in a
    /// statement of its own counts if the code listens for errors of the connection.
    pub(crate) fn is_heard(&self, expr: &'u Expr<'t>, call: &'u Call<'t>) -> bool {
        let unit = self.values.unit;
        let is_alone = unit.statements.iter().any(|statement| {
            matches!(&statement.kind, StatementKind::Eval(own) if own.call().is_some_and(|own| is_same(own, call)))
        });
        let has_callback = call.args.iter().any(|arg| {
            matches!(arg.value.kind, Kind::Function(_))
                || matches!(&arg.value.kind, Kind::Name(name) if ["cb", "callback", "done", "next"].contains(name))
        });
        // `export default client.connect()` passes it on.
        let is_awaited = self.text[expr.at..].starts_with("await")
            || self.text[..expr.at].trim_end().ends_with("default");
        !is_alone || has_callback || is_awaited || self.listens_for_errors()
    }

    /// `mongoose.connection.on('error', …)`.
    fn listens_for_errors(&self) -> bool {
        let mut listens = false;
        self.values.unit.each(|scope, expr| {
            let Some(call) =
                expr.call().filter(|call| matches!(call.method(), Some("on" | "once")))
            else {
                return;
            };
            let is_error =
                call.positional(0).and_then(Expr::text).is_some_and(|name| name == "error");
            let of = call.receiver().map(|of| self.values.follow(of, scope).0);
            let is_connection =
                of.and_then(Expr::last_name).is_some_and(|name| name == "connection");
            listens |= is_error && is_connection;
        });
        listens
    }

    /// Whether a call is an operation on a collection or database.
    fn is_operation(&self, call: &'u Call<'t>, method: &str, scope: ScopeId) -> bool {
        if OPERATIONS.contains(&method) {
            return call.receiver().is_some()
                && (self.values.is_mongo_file() || self.values.is_mapper_file());
        }
        (WRITES.contains(&method) || READS.contains(&method))
            && call.receiver().and_then(|of| self.values.target(of, scope)).is_some()
    }
}

/// Whether a name denotes the client of another server.
pub(crate) fn is_of_another(name: &str) -> bool {
    const OTHERS: [&str; 11] =
        ["redis", "rdb", "socket", "amqp", "rabbit", "kafka", "pg", "mysql", "sql", "ws", "nats"];
    let lower = name.to_ascii_lowercase();
    OTHERS.iter().any(|other| lower.contains(other))
}

/// The first argument of calls in Go, and a session.
fn is_context(expr: &Expr<'_>) -> bool {
    let name = expr.last_name().or_else(|| expr.call().and_then(Call::method));
    name.is_some_and(|name| {
        let lower = name.to_ascii_lowercase();
        lower.contains("ctx") || lower.contains("context") || matches!(name, "TODO" | "Background")
    })
}

/// Commands that report about a server; a client that sends one has reached the server.
fn is_server_command(name: &str) -> bool {
    const NAMES: [&str; 16] = [
        "ping",
        "hello",
        "ismaster",
        "buildinfo",
        "connectionstatus",
        "serverstatus",
        "dbstats",
        "collstats",
        "listdatabases",
        "listcollections",
        "getparameter",
        "replsetgetstatus",
        "hostinfo",
        "getcmdlineopts",
        "usersinfo",
        "whatsmyuri",
    ];
    NAMES.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a function reports the health of the program.
fn asks_for_health(function: &Function<'_>) -> bool {
    let name = function.name.to_ascii_lowercase();
    ["health", "readiness", "liveness", "isready", "is_ready"]
        .iter()
        .any(|word| name.contains(word))
}

/// Whether an expression is `connection.readyState`, which Mongoose updates when the server is lost.
fn is_connection_state(expr: &Expr<'_>) -> bool {
    let of = match &expr.kind {
        Kind::Member(of, "readyState") => of.last_name(),
        _ => None,
    };
    of.is_some_and(|name| matches!(name, "connection" | "conn"))
}

/// Returns the functions that run once when the program starts.
fn started<'t>(unit: &Unit<'t>, file: &str) -> BTreeSet<ScopeId> {
    let mut start: BTreeSet<ScopeId> = (0..unit.scopes.len())
        .filter(|id| match &unit.scopes[*id].kind {
            ScopeKind::Function(function) => is_entry(unit, *id, function),
            _ => false,
        })
        .collect();
    let by_name = |name: &str| {
        let named = move |(id, scope): (ScopeId, &super::ir::Scope<'t>)| {
            (named_function(scope) == Some(name)).then_some(id)
        };
        unit.scopes.iter().enumerate().filter_map(named).collect::<Vec<_>>()
    };
    loop {
        let mut more = BTreeSet::new();
        unit.each(|scope, expr| {
            let Some(call) = expr.call().filter(|_| is_within(unit, scope, &start)) else { return };
            let is_own =
                call.receiver().is_none_or(|of| matches!(of.kind, Kind::Name(_) | Kind::Call(_)));
            if let Some(name) = call.method().filter(|_| is_own) {
                more.extend(by_name(name));
            }
            // `(async () => { … })()`.
            if let Kind::Function(id) = call.callee.kind {
                more.insert(id);
            }
            if call.method().is_some_and(|method| RUNS.contains(&method)) {
                for arg in &call.args {
                    match &arg.value.kind {
                        Kind::Function(id) => {
                            more.insert(*id);
                        }
                        Kind::Name(name) => more.extend(by_name(name)),
                        _ => {}
                    }
                }
            }
        });
        more.retain(|id| handlers::handler(unit, *id, file).is_none());
        let before = start.len();
        start.extend(more);
        if start.len() == before {
            return start;
        }
    }
}

/// Whether a language or framework calls a function once, when the program starts.
fn is_entry(unit: &Unit<'_>, id: ScopeId, function: &Function<'_>) -> bool {
    const MARKS: [&str; 9] = [
        "on_event",
        "on_startup",
        "before_serving",
        "before_server_start",
        "after_server_start",
        "PostConstruct",
        "EventListener",
        "Bean",
        "startup",
    ];
    let is_marked = function.marks.iter().any(|mark| {
        let last = mark.path.rsplit('.').next().unwrap_or(&mark.path);
        MARKS.contains(&last)
    });
    let is_runner = || {
        let class = unit.class(unit.scopes[id].parent);
        class.is_some_and(|(class, _)| match &unit.scopes[class].kind {
            ScopeKind::Class { bases, .. } => {
                bases.iter().any(|base| base.ends_with("Runner") || base.contains("Application"))
            }
            _ => false,
        })
    };
    is_marked
        || match function.name {
            "main" | "lifespan" | "onModuleInit" | "onApplicationBootstrap" | "setup_hook" => true,
            "run" | "start" => is_runner(),
            name => unit.language.dialect().entry_functions.contains(&name),
        }
}

/// Whether a scope is outside of all functions, or directly inside one of these.
fn is_within(unit: &Unit<'_>, scope: ScopeId, start: &BTreeSet<ScopeId>) -> bool {
    unit.function(scope).is_none_or(|(id, _)| start.contains(&id))
}

fn named_function<'t>(scope: &super::ir::Scope<'t>) -> Option<&'t str> {
    match &scope.kind {
        ScopeKind::Function(function) if !function.name.is_empty() => Some(function.name),
        _ => None,
    }
}

/// The outermost function around a scope that has a name.
fn outer_name<'t>(unit: &Unit<'t>, scope: ScopeId) -> Option<&'t str> {
    unit.around(scope).filter_map(|id| named_function(&unit.scopes[id])).last()
}
