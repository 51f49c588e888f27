//! The inputs of `connect plan` and `connect choose`: `docward.toml`, and a running deployment if
//! the user names one.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use docward_collect::{Request, collect};
use docward_connect::{Amount, Method};
use docward_model::{
    ClientUri, Filter, LimitScope, NamespacePattern, Purpose, Server, Settings, Topology,
};
use docward_report::Look;

use crate::{
    config,
    interrupt::Interrupt,
    progress::Bar,
    secrets,
    terminal::Color,
    terminal::{complain, put},
};

/// The maximum count. Larger numbers are typing errors.
const MAX_COUNT: u64 = 1_000_000_000;

/// Returns a parser for counts.
pub(super) fn counts() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=MAX_COUNT)
}

/// The sources of facts, and the destination of the answer.
#[derive(Args, Debug)]
pub(super) struct AroundArgs {
    /// A running deployment: Docward reads its topology, servers, version and connection limit
    #[arg(long, alias = "uri", value_name = "URI")]
    server: Option<String>,

    /// Settings file (default: the nearest docward.toml)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Write the output to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

impl AroundArgs {
    /// Returns the settings, and the facts of a running deployment if the user names one.
    pub(super) fn known(&self) -> anyhow::Result<(Settings, Option<Live>)> {
        let settings = config::settings(self.config.as_deref(), &[])?;
        Ok((settings, self.server.as_deref().map(live).transpose()?))
    }

    /// Returns how the output looks.
    pub(super) fn look(&self) -> Look {
        let color = crate::terminal::wants_color(self.color, self.output.is_some());
        Look { color, width: crate::terminal::terminal_width() }
    }

    /// Prints the output, or writes it to a file.
    pub(super) fn put(&self, text: &str) -> anyhow::Result<()> {
        put(text, self.output.as_deref())
    }
}

/// Returns the scope of the connection limit, unless `--limit-scope` is set (GC-43). A limit from a
/// server applies to that server. By default, each member of a replica set has its own limit, and
/// routers share one.
pub(super) fn limit_scope(
    limit: Option<u64>,
    live: Option<&Live>,
    settings: &Settings,
    is_set: bool,
) -> LimitScope {
    if limit.is_none() && live.is_some_and(|live| live.limit.is_some()) {
        return LimitScope::PerNode;
    }
    let usual = if is_set { LimitScope::PerNode } else { LimitScope::Total };
    settings.deployment.limit_scope.unwrap_or(usual)
}

/// A router counts as gone if its last ping is this many seconds older than the newest one. Rule
/// C003 uses the same figure.
const ALIVE_SECONDS: i64 = 120;

/// Facts about a running deployment.
pub(super) struct Live {
    pub(super) method: Method,
    pub(super) routers: Option<u64>,
    pub(super) members: Option<u64>,
    pub(super) open: Option<u64>,
    pub(super) limit: Option<u64>,
    pub(super) version: Option<String>,
    pub(super) topology: Option<Topology>,
}

/// Asks a deployment for facts. Reads no documents.
pub(super) fn live(uri: &str) -> anyhow::Result<Live> {
    secrets::expect_connection_string(uri, "--server")?;
    let client = docward_uri::parse(uri)
        .map_err(|fault| anyhow::anyhow!("--server: {fault}"))?
        .client(Purpose::Source);
    // The pattern matches no collection, because only facts about servers are needed.
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
        bail!("--server: the deployment did not answer: {}", told.join("; "));
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

/// Parses a rate or a duration of a service in `docward.toml`.
pub(super) fn declared(
    number: Option<f64>,
    service: &str,
    key: &str,
) -> anyhow::Result<Option<Amount>> {
    number
        .map(|n| Amount::from_f64(n).with_context(|| format!("docward.toml: {key} of `{service}`")))
        .transpose()
}
