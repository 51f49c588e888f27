//! The HTTP address for operators: health, metrics, state, a page and a few actions. It needs no password, so it must
//! be a loopback address, and it refuses requests that other web sites make a browser send.

use std::{io, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Query, Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use docward_model::NamespacePattern;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};

use crate::{gate::Hold, guard::Guard, metrics::lane_name, snapshot::Snapshot};

/// Sends requests to reload the settings. Each request carries a channel for the result: a message, or why it failed.
pub type ReloadRequests = mpsc::Sender<oneshot::Sender<Result<String, String>>>;

/// The maximum duration of a hold.
const MAX_HOLD: Duration = Duration::from_secs(10);
/// The maximum duration in a query parameter.
const MAX_SECONDS: Duration = Duration::from_secs(86_400);
/// The default time that a pause waits for running commands.
const PAUSE_WITHIN: Duration = Duration::from_secs(30);

const PAGE: &str = include_str!("page.html");

#[derive(Clone)]
struct Shared {
    guard: Arc<Guard>,
    reloads: ReloadRequests,
}

/// Answers the HTTP requests of operators. Runs until its task ends.
pub async fn serve_admin(
    guard: Arc<Guard>,
    listener: TcpListener,
    reloads: ReloadRequests,
) -> io::Result<()> {
    let routes = Router::new()
        .route("/", get(page))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/state", get(state))
        .route("/pause", post(pause))
        .route("/resume", post(resume))
        .route("/drain", post(drain))
        .route("/reload", post(reload))
        .route("/hold", post(hold))
        .route("/release", post(release))
        .layer(middleware::from_fn(only_from_here))
        .with_state(Shared { guard, reloads });
    axum::serve(listener, routes).await
}

/// Refuses requests that pages of other sites send. These have another `Origin`, or a domain name as `Host` (DNS
/// rebinding).
async fn only_from_here(headers: HeaderMap, request: Request, next: Next) -> Response {
    let text = |name| headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    let is_foreign = text(header::ORIGIN).is_some_and(|origin| origin != format!("http://{host}"));
    if is_foreign || !is_plain(host) {
        return (StatusCode::FORBIDDEN, "docward: requests from other sites are refused\n")
            .into_response();
    }
    next.run(request).await
}

/// Whether a host is an IP address or `localhost`, with or without a port.
fn is_plain(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok()
}

async fn page() -> Response {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(PAGE)).into_response()
}

async fn ready(State(shared): State<Shared>) -> (StatusCode, &'static str) {
    if shared.guard.is_ready() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
    }
}

async fn metrics(State(shared): State<Shared>) -> Response {
    match shared.guard.metrics_text() {
        Ok(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn state(State(shared): State<Shared>) -> Json<Value> {
    Json(state_of(&shared.guard.snapshot()))
}

fn state_of(now: &Snapshot) -> Value {
    let pools = now.pools.iter().map(|(server, pool)| {
        json!({
            "server": server.as_str(),
            "user": &*pool.user,
            "lane": lane_name(pool.lane),
            "open": pool.state.open,
            "inUse": pool.state.in_use,
            "waiting": pool.state.waiting,
            "connecting": pool.state.connecting,
            "cursors": pool.state.cursors,
            "transactions": pool.state.transactions,
            "max": pool.max,
            "opened": pool.state.opened,
            "generation": pool.state.generation,
        })
    });
    let servers = now.servers.iter().map(|server| {
        json!({
            "server": server.address.as_str(),
            "kind": server.kind,
            "error": server.error,
            "roundTripMicros": server.round_trip.map(|time| time.as_micros()),
            "inFlight": server.in_flight,
            "connections": server.connections,
            "maxConnections": server.budget,
        })
    });
    let applications = now.applications.iter().map(|(application, user, clients)| {
        json!({ "application": &**application, "user": &**user, "clients": clients })
    });
    let errors = now.errors.iter().map(|(code, count)| (code.to_string(), json!(count)));
    json!({
        "version": 1,
        "uptimeSeconds": now.uptime.as_secs(),
        "clients": now.clients,
        "applications": applications.collect::<Vec<_>>(),
        "servers": servers.collect::<Vec<_>>(),
        "pools": pools.collect::<Vec<_>>(),
        "cursors": now.cursors,
        "transactions": now.transactions,
        "memory": { "used": now.memory.0, "limit": now.memory.1 },
        "requests": now.requests,
        "retries": now.resent,
        "rejected": now.rejected,
        "limited": now.limited,
        "errors": errors.collect::<serde_json::Map<_, _>>(),
        "addedMicros": { "count": now.added.count, "p50": now.added.p50, "p99": now.added.p99 },
        "hasPrimary": now.has_primary,
        "draining": now.is_draining,
        "paused": now.is_paused,
        "held": now.held,
        "refused": {},
    })
}

type Words = std::collections::HashMap<String, String>;

fn bad(why: impl Into<String>) -> Response {
    (StatusCode::BAD_REQUEST, Json(json!({ "error": why.into() }))).into_response()
}

/// Returns a duration from a query parameter in seconds.
fn seconds(words: &Words, name: &str) -> Result<Option<Duration>, String> {
    let Some(text) = words.get(name) else { return Ok(None) };
    let seconds = text.parse::<f64>().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    let seconds = seconds.filter(|seconds| *seconds <= MAX_SECONDS);
    seconds
        .map(Some)
        .ok_or_else(|| format!("{name}={text}: must be a number of seconds from 0 to 86400"))
}

async fn pause(State(shared): State<Shared>, Query(words): Query<Words>) -> Response {
    match seconds(&words, "within") {
        Err(why) => bad(why),
        Ok(within) => {
            let settled = shared.guard.gate.pause(within.unwrap_or(PAUSE_WITHIN)).await;
            Json(json!({ "paused": true, "settled": settled })).into_response()
        }
    }
}

async fn resume(State(shared): State<Shared>) -> Json<Value> {
    shared.guard.gate.resume();
    Json(json!({ "paused": false }))
}

async fn drain(State(shared): State<Shared>) -> Json<Value> {
    shared.guard.begin_to_drain();
    Json(json!({ "draining": true }))
}

async fn reload(State(shared): State<Shared>) -> Response {
    let (sender, answer) = oneshot::channel();
    let asked = shared.reloads.send(sender).await;
    let answered = match asked {
        Ok(()) => answer.await.unwrap_or_else(|_| Err("the guard did not answer".to_owned())),
        Err(_) => Err("the guard is shutting down".to_owned()),
    };
    match answered {
        Ok(done) => Json(json!({ "reloaded": true, "message": done })).into_response(),
        Err(why) => {
            let reply = json!({ "reloaded": false, "error": why });
            (StatusCode::UNPROCESSABLE_ENTITY, Json(reply)).into_response()
        }
    }
}

async fn hold(State(shared): State<Shared>, Query(words): Query<Words>) -> Response {
    let Some(namespace) = words.get("namespace") else {
        return bad(
            "the namespace is missing; write for example /hold?namespace=db.collection&what=writes&ttl=5",
        );
    };
    let namespaces = match NamespacePattern::new(namespace) {
        Ok(pattern) => pattern,
        Err(why) => return bad(format!("namespace={namespace}: {why}")),
    };
    let writes_only = match words.get("what").map(String::as_str) {
        None | Some("writes") => true,
        Some("all") => false,
        Some(other) => return bad(format!("what={other}: must be `writes` or `all`")),
    };
    let ttl = match seconds(&words, "ttl") {
        Ok(ttl) => ttl.unwrap_or(MAX_HOLD),
        Err(why) => return bad(why),
    };
    if ttl > MAX_HOLD {
        return bad(format!("ttl: must be at most {} seconds", MAX_HOLD.as_secs()));
    }
    match shared.guard.gate.hold(Hold { namespaces, writes_only }, ttl).await {
        Some(id) => Json(json!({ "hold": id })).into_response(),
        None => {
            let why = "running commands did not end in time, so the hold was not set";
            (StatusCode::CONFLICT, Json(json!({ "error": why }))).into_response()
        }
    }
}

async fn release(State(shared): State<Shared>, Query(words): Query<Words>) -> Response {
    let Some(id) = words.get("hold").and_then(|id| id.parse().ok()) else {
        return bad("hold must be the number of a hold, as in /release?hold=1");
    };
    match shared.guard.gate.release(id) {
        Some(expired) => Json(json!({ "released": true, "expired": expired })).into_response(),
        None => (StatusCode::NOT_FOUND, Json(json!({ "error": "no such hold" }))).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn se_1_only_ip_addresses_and_localhost_are_accepted() {
        for host in ["127.0.0.1:9000", "localhost:9000", "localhost", "[::1]:9000", "10.0.0.1"] {
            assert!(is_plain(host), "{host}");
        }
        for host in ["", "evil.example:9000", "localhost.evil.example", "127.0.0.1.nip.io:80"] {
            assert!(!is_plain(host), "{host}");
        }
    }
}
