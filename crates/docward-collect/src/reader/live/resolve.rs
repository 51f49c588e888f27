//! Resolves the name in a `mongodb+srv://` string through DNS: hosts, and options in text records.

use std::time::Duration;

use mongodb::options::ClientOptions;

use super::session::runtime;

/// The time limit for DNS.
const PATIENCE: Duration = Duration::from_secs(15);

/// The result of resolving a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Hosts with their ports, sorted.
    pub hosts: Vec<String>,
    /// `replicaSet` of the text record.
    pub replica_set: Option<String>,
    /// `authSource` of the text record.
    pub auth_source: Option<String>,
}

/// Resolves a name. The driver does it as it does for clients, without a connection and without a
/// login.
pub fn resolve_name(name: &str) -> Result<Resolved, String> {
    let runtime = runtime().map_err(|error| error.to_string())?;
    // The driver applies the text record's authSource only if the string has a user.
    let uri = format!("mongodb+srv://nobody@{name}/");
    let answer = runtime.block_on(async {
        tokio::time::timeout(PATIENCE, async { ClientOptions::parse(&uri).await }).await
    });
    let options = match answer {
        Ok(Ok(options)) => options,
        Ok(Err(error)) => return Err(format!("DNS has no result: {}", error.kind)),
        Err(_) => return Err(format!("DNS did not answer within {} seconds", PATIENCE.as_secs())),
    };
    let mut hosts: Vec<String> = options.hosts.iter().map(ToString::to_string).collect();
    hosts.sort();
    Ok(Resolved {
        hosts,
        replica_set: options.repl_set_name,
        auth_source: options.credential.and_then(|credential| credential.source),
    })
}
