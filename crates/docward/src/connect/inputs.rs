//! What `connect plan` and `connect choose` know before they begin: `docward.toml`, and a running
//! deployment when one is named.

use anyhow::{Context, bail};
use docward_collect::{Request, collect, is_uri};
use docward_connect::{Amount, Method};
use docward_model::{ClientUri, Filter, NamespacePattern, Purpose, Server, Topology};

use crate::{complain, interrupt::Interrupt, progress::Bar};

/// Routers that were silent for longer than this before the newest sign of life, in seconds, do not count;
/// the same figure as in rule C003.
const ALIVE_SECONDS: i64 = 120;

/// What a running deployment says.
pub(super) struct Live {
    pub(super) method: Method,
    pub(super) routers: Option<u64>,
    pub(super) members: Option<u64>,
    pub(super) open: Option<u64>,
    pub(super) limit: Option<u64>,
    pub(super) version: Option<String>,
    pub(super) topology: Option<Topology>,
}

/// Asks a deployment; reading only, and no document is looked at.
pub(super) fn live(uri: &str) -> anyhow::Result<Live> {
    if !is_uri(uri) {
        bail!("--uri expects a connection string that begins with mongodb:// or mongodb+srv://");
    }
    let client = docward_uri::parse(uri)
        .map_err(|fault| anyhow::anyhow!("--uri: {fault}"))?
        .client(Purpose::Source);
    // Facts about servers are asked for; no collection is.
    let nothing = NamespacePattern::new("docward/none").map_err(anyhow::Error::msg)?;
    let request = Request {
        sources: vec![uri.to_owned()],
        metadata_only: true,
        filter: Filter { database: Some(nothing), collection: None },
        ..Request::default()
    };
    let interrupt = Interrupt::listen();
    let bar = Bar::new(false);
    let collected = collect(&request, &bar, interrupt.stop());
    bar.finish();
    let told: Vec<String> = collected.problems.iter().map(|p| p.message.clone()).collect();
    let Some(server) = collected.evidence.server else {
        bail!("--uri: the deployment did not answer: {}", told.join("; "));
    };
    for problem in &told {
        complain(&format!("note: {problem}"));
    }
    Ok(facts(&server, &client))
}

fn facts(server: &Server, client: &ClientUri) -> Live {
    let method = match &server.topology {
        Some(Topology::Sharded) if client.srv => Method::Srv,
        Some(Topology::Sharded) if client.hosts.len() > 1 => Method::AllRouters,
        Some(Topology::Sharded) => Method::LoadBalancer,
        _ => Method::ReplicaSet,
    };
    let routers = server.cluster.as_ref().and_then(|c| c.routers.as_ref()).map(|routers| {
        let newest = routers.iter().filter_map(|router| router.ping).max();
        let alive = |ping: Option<i64>| match (ping, newest) {
            (Some(ping), Some(newest)) => newest.saturating_sub(ping) <= ALIVE_SECONDS,
            _ => true,
        };
        routers.iter().filter(|router| alive(router.ping)).count() as u64
    });
    let members = server
        .members
        .as_ref()
        .map(|members| members.iter().filter(|member| member.is_visible()).count() as u64);
    Live {
        method,
        routers: routers.filter(|n| *n > 0),
        members: members.filter(|n| *n > 0),
        open: server.connections.map(|c| c.current),
        limit: server.connections.map(|c| c.current.saturating_add(c.available)),
        version: server.version.clone(),
        topology: server.topology.clone(),
    }
}

/// A rate or a time of a service in `docward.toml`.
pub(super) fn declared(
    number: Option<f64>,
    service: &str,
    key: &str,
) -> anyhow::Result<Option<Amount>> {
    number
        .map(|n| Amount::from_f64(n).with_context(|| format!("docward.toml: {key} of `{service}`")))
        .transpose()
}
