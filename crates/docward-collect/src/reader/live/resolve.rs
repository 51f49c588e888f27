//! What DNS says about the name in a `mongodb+srv://` string: hosts, and options in text records.

use std::time::Duration;

use mongodb::options::ClientOptions;

use super::session::runtime;

/// How long DNS may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// Where a name leads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Hosts with their ports, sorted.
    pub hosts: Vec<String>,
    /// `replicaSet` of the text record.
    pub replica_set: Option<String>,
    /// `authSource` of the text record.
    pub auth_source: Option<String>,
}

/// Asks DNS where a name leads. The driver does it as it does for clients; no connection is made, and no
/// login is needed for it.
pub fn resolve_name(name: &str) -> Result<Resolved, String> {
    let runtime = runtime().map_err(|error| error.to_string())?;
    // A text record's authSource shows only where somebody logs in.
    let uri = format!("mongodb+srv://nobody@{name}/");
    let answer = runtime.block_on(async {
        tokio::time::timeout(PATIENCE, async { ClientOptions::parse(&uri).await }).await
    });
    let options = match answer {
        Ok(Ok(options)) => options,
        Ok(Err(error)) => return Err(format!("DNS does not lead anywhere: {}", error.kind)),
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
