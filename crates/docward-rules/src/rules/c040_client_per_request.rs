//! CN-02.1 and SDK-ALL.3: clients that are created for each request instead of once.

use std::collections::BTreeMap;

use docward_model::{Draft, Evidence, Severity, code::RemadeClient};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Client per request
    ///
    /// ## What it checks
    /// Reports a client that is created inside code that runs repeatedly:
    ///
    /// - a request handler of Flask, Bottle, Django, FastAPI, Express, Nest, Next.js, Spring, JAX-RS, Gin, Echo, Fiber,
    ///   `net/http` or Ktor;
    /// - a serverless function;
    /// - a task of a queue;
    /// - a loop.
    ///
    /// Docward follows calls of functions and constructors that create one each time, also into other files. It
    /// reports one finding per function, and one for all handlers of a file.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - a client that is kept: behind a test whether there is one, in a cache, a bean, a fixture or a start-up hook
    /// - a loop that tries again until a connection succeeds, and one that connects to different servers
    /// - a client that is made only where a parameter asks for it
    /// - a connection string that comes with the request
    /// - a function that closes the client and ends the process
    /// - `mongoose.connect` in a file that closes no connection: it does nothing while one is open
    /// - code that never runs, and scripts that are started by hand
    ///
    /// ## Why it matters
    /// A client is a pool with threads that watch the servers, made to live as long as the process. For
    /// each request:
    ///
    /// | | a connection per request | one client, reused |
    /// |---|---|---|
    /// | login | every time, 10 to 50 ms (TCP, TLS, SCRAM) | once |
    /// | connections | grow with the requests | stay within the pool |
    /// | at the limit | the server refuses everybody | requests wait their turn |
    /// | for | nothing in production | all of production |
    ///
    /// ## Example
    /// ```python,fires
    /// from flask import Flask
    /// from pymongo import MongoClient
    /// app = Flask(__name__)
    ///
    /// @app.route("/users")
    /// def users():
    ///     client = MongoClient("mongodb://db1,db2/?replicaSet=rs0")
    ///     return list(client.shop.t_user.find())
    /// ```
    /// ```python,clean
    /// from flask import Flask
    /// from pymongo import MongoClient
    /// app = Flask(__name__)
    /// client = MongoClient("mongodb://db1,db2/?replicaSet=rs0")
    ///
    /// @app.route("/users")
    /// def users():
    ///     return list(client.shop.t_user.find())
    /// ```
    ///
    /// ## How to fix
    /// Create the client once, at the top of a module or where the application starts, and use it everywhere.
    /// In serverless functions, create it outside of the handler so that warm calls reuse it. Put a pooling proxy
    /// such as [`docward guard`](../guard.md) in between.
    ///
    /// ## When to ignore it
    /// The handler runs a few times a day, or connects to a different deployment each time.
    C040, "client-per-request",
    level: Mandatory,
    area: Writes,
    severities: [Error, Warn],
    clauses: ["CN-02.1", "SDK-ALL.3", "CN-02.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    // A function that many handlers call needs one fix.
    let mut causes: BTreeMap<Cause<'_>, Vec<&RemadeClient>> = BTreeMap::new();
    let made = found.remade_clients.iter().filter(|client| {
        let place = &client.place;
        !found.is_hand_run(&place.location.file) && !found.is_never_run(place)
    });
    for client in made {
        let alone = draft(evidence, client, &[]);
        if cx.is_accepted(&alone) {
            cx.report(alone);
            continue;
        }
        let own = client.through.is_none();
        let own = own.then_some((client.place.location.file.as_str(), client.in_loop));
        causes.entry((client.through.as_deref(), own)).or_default().push(client);
    }
    for mut clients in causes.into_values() {
        clients.sort_by(|a, b| a.place.location.cmp(&b.place.location));
        if let Some((client, others)) = clients.split_first() {
            cx.report(draft(evidence, client, others));
        }
    }
}

/// Returns the finding about a place, and about other places that call the same function.
fn draft(evidence: &Evidence, client: &RemadeClient, others: &[&RemadeClient]) -> Draft {
    let more = match (others.len(), &client.through) {
        (0, _) => String::new(),
        (1, Some(_)) => "; 1 more place calls it".to_owned(),
        (n, Some(_)) => format!("; {n} more places call it"),
        (1, None) => ", and in 1 more place of the file".to_owned(),
        (n, None) => format!(", and in {n} more places of the file"),
    };
    let what = match &client.through {
        Some(function) => format!(
            "`{function}` creates a new client on each call, and {} calls it{more}",
            client.within
        ),
        None => format!("the code creates a client in {}{more}", client.within),
    };
    code::draft(
        evidence,
        &client.place,
        "client",
        what,
        "each client logs in again (10 to 50 ms) and opens its own connections, so their number grows with requests until the server rejects them",
        "create the client once, outside of this code, and reuse it for the lifetime of the process",
    )
    .severity(if client.in_loop { Severity::Warn } else { Severity::Error })
    .locations(others.iter().map(|other| other.place.location.clone()))
}

/// The code that creates a client repeatedly: a function, or a file, in loops or in handlers of requests.
type Cause<'a> = (Option<&'a str>, Option<(&'a str, bool)>);
