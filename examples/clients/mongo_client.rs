//! MongoDB client for Rust (crate mongodb, version 3, with tokio).
//!
//! Written by docward 0.1.0; regenerate it with `docward connect sdk --lang rust`.
//!
//! One client for the whole process: [`shared`] creates it on first use, [`close_shared`] closes
//! it. Logins and hosts come from the environment:
//!
//! - `MONGODB_USER`, `MONGODB_PASSWORD`: the login
//! - `MONGODB_HOSTS`: host:port, or several separated by commas; for SRV, only the name
//! - `MONGODB_REPLICA_SET`: the name of the replica set, if there is one
//! - `MONGODB_TLS`: "false" if the servers do not support TLS
//!
//! Differences from the rule book's samples:
//!
//! - there is no waitQueueTimeoutMS: put tokio::time::timeout around operations (OPERATION_TIMEOUT) (GC-28)
//! - the rule book has no sample for Rust; this file follows the others (SDK-ALL.1)

use std::{env, fmt::Write, time::Duration};

use mongodb::{
    Client,
    bson::doc,
    error::{Error, Result},
    options::{ClientOptions, ReadPreference, SelectionCriteria, Tls, TlsOptions, WriteConcern},
};
use tokio::sync::Mutex;

/// Time limit of the health check.
pub const HEALTH_TIMEOUT: Duration = Duration::from_millis(5000);
/// Time limit of an operation, for [`tokio::time::timeout`]. It includes the wait for a connection, which this
/// driver cannot limit separately.
pub const OPERATION_TIMEOUT: Duration = Duration::from_millis(5000);

/// Connects through the SRV record of a sharded cluster. The driver finds new mongos by itself.
pub async fn connect_srv() -> Result<Client> {
    connect("mongodb+srv", false).await
}

/// Connects to a replica set. List all members in `MONGODB_HOSTS`.
pub async fn connect_replica_set() -> Result<Client> {
    connect("mongodb", true).await
}

/// Connects through the load balancer in front of a sharded cluster.
pub async fn connect_load_balancer() -> Result<Client> {
    connect("mongodb", false).await
}

/// Connects to every mongos of a sharded cluster. Their addresses must be switched on at the provider, and
/// `MONGODB_HOSTS` must follow when mongos are added or removed.
pub async fn connect_all_mongos() -> Result<Client> {
    connect("mongodb", false).await
}

/// Returns whether the primary (or a mongos) answers before the timeout; never fails.
pub async fn check_connection(client: &Client, timeout: Duration) -> bool {
    let admin = client.database("admin");
    let ping = admin.run_command(doc! { "ping": 1 });
    matches!(tokio::time::timeout(timeout, ping).await, Ok(Ok(_)))
}

static SHARED: Mutex<Option<Client>> = Mutex::const_new(None);

/// Returns the one client of this process; clones of a client share its pool.
pub async fn shared() -> Result<Client> {
    let mut shared = SHARED.lock().await;
    if let Some(client) = &*shared {
        return Ok(client.clone());
    }
    let client = connect_replica_set().await?;
    *shared = Some(client.clone());
    Ok(client)
}

/// Closes the shared client; safe to call more than once.
pub async fn close_shared() {
    if let Some(client) = SHARED.lock().await.take() {
        client.shutdown().await;
    }
}

async fn connect(scheme: &str, replica_set: bool) -> Result<Client> {
    let mut uri = format!(
        "{scheme}://{}:{}@{}/?authSource=admin",
        encoded(&setting("MONGODB_USER")?),
        encoded(&setting("MONGODB_PASSWORD")?),
        setting("MONGODB_HOSTS")?
    );
    if replica_set {
        uri.push_str("&replicaSet=");
        uri.push_str(&encoded(&setting("MONGODB_REPLICA_SET")?));
    }
    let mut options = ClientOptions::parse(uri).await?;
    options.app_name = Some("example".to_owned());
    // With SRV or a list of all mongos, the client keeps a pool of this size for each mongos (PF-2).
    options.max_pool_size = Some(150);
    options.min_pool_size = Some(10);
    options.max_idle_time = Some(Duration::from_millis(120000));
    options.connect_timeout = Some(Duration::from_millis(10000));
    // Some elections take longer: retry failed operations, or set 15000 (GC-29).
    options.server_selection_timeout = Some(Duration::from_millis(5000));
    options.retry_writes = Some(true);
    options.retry_reads = Some(true);
    options.write_concern = Some(WriteConcern::majority());
    // Class core: core services must read their own writes (RP-1).
    let reads = ReadPreference::Primary;
    options.selection_criteria = Some(SelectionCriteria::ReadPreference(reads));
    options.tls = Some(match env::var("MONGODB_TLS").as_deref() {
        Ok("false") => Tls::Disabled,
        _ => Tls::Enabled(TlsOptions::default()),
    });
    Client::with_options(options)
}

fn setting(name: &str) -> Result<String> {
    env::var(name)
        .ok()
        .filter(|value| !value.is_empty())
        .ok_or_else(|| Error::custom(format!("the environment variable {name} is not set")))
}

/// Percent-encodes every byte that is neither a letter nor a digit.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
