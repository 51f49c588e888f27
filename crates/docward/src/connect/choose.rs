//! `docward connect choose`: SRV, load balancer, all mongos, or the members of a replica set.

use std::{fs, path::PathBuf};

use anyhow::{Context, bail};
use clap::{Args, builder::PossibleValue};
use docward_connect::{
    Amount, Budget, ChooseInput, Driver, LOCK_FILES, LockedDriver, Version, choose as decide,
    drivers_in,
};
use docward_model::{DeclaredTopology, LimitScope, Settings, Topology};
use docward_report::{Format, choice};

use super::{
    inputs::{self, AroundArgs, Live, counts},
    plan::scopes,
};
use crate::{
    args::{TABLES, formats, words},
    terminal::CLEAN,
};

pub(super) const EXAMPLES: &str = "\
Examples:
  docward connect choose --topology sharded --mongos 16 --client-ips 4
  docward connect choose --topology sharded --mongos 8 --driver python@3.4
  docward connect choose --topology sharded --mongos 8 --lock poetry.lock --lock services/api/go.mod
  docward connect choose --mongos 16 --apps 20 --pool 100 --limit 3000 --client-ips 4
  docward connect choose --topology replica-set --members 3
  docward connect choose --mongos 8 --routers-change-often --format json

Missing options come from [deployment] and [[service]] in docward.toml.";

fn topologies() -> impl clap::builder::TypedValueParser<Value = DeclaredTopology> {
    const OFFERED: [DeclaredTopology; 3] =
        [DeclaredTopology::ReplicaSet, DeclaredTopology::Sharded, DeclaredTopology::Standalone];
    words(&OFFERED, |topology| PossibleValue::new(topology.name()))
}

fn version(text: &str) -> Result<Version, String> {
    Version::parse(text).ok_or_else(|| "not a version; write it like 6.0".to_owned())
}

/// The facts that the choice depends on.
#[derive(Args, Debug)]
pub(crate) struct ChooseArgs {
    /// Topology of the deployment (default: sharded if --mongos is given)
    #[arg(long, value_parser = topologies())]
    topology: Option<DeclaredTopology>,

    /// Number of mongos routers that clients reach
    #[arg(long, value_name = "M", value_parser = counts(), allow_negative_numbers = true)]
    mongos: Option<u64>,

    /// Number of replica set members
    #[arg(long, value_name = "N", value_parser = counts(), allow_negative_numbers = true)]
    members: Option<u64>,

    /// Number of client IP addresses. A load balancer distributes few addresses unevenly
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    client_ips: Option<u32>,

    /// Driver by language and version, such as python@3.4; can be repeated
    #[arg(long, value_name = "LANG[@VERSION]", value_parser = Driver::parse)]
    driver: Vec<Driver>,

    /// Lock file or manifest that names drivers, such as go.mod or poetry.lock; can be repeated
    #[arg(long, value_name = "FILE")]
    lock: Vec<PathBuf>,

    /// MongoDB version of the servers
    #[arg(long, value_name = "V", value_parser = version)]
    server_version: Option<Version>,

    /// Set if routers are often added or removed
    #[arg(long)]
    routers_change_often: bool,

    /// The application must direct traffic to individual routers
    #[arg(long)]
    precise_control: bool,

    /// Number of clients at the same time: instances times processes
    #[arg(long, value_name = "N", value_parser = counts(), allow_negative_numbers = true)]
    apps: Option<u64>,

    /// maxPoolSize of each client
    #[arg(long, value_name = "P", value_parser = counts(), allow_negative_numbers = true, requires = "apps")]
    pool: Option<u64>,

    /// Operations per second of each client. Docward computes the smallest sufficient pool from
    /// them
    #[arg(long, value_name = "Q", value_parser = Amount::parse, allow_negative_numbers = true, requires_all = ["apps", "latency_ms"])]
    qps: Option<Amount>,

    /// Mean time of an operation in milliseconds
    #[arg(long, value_name = "T", value_parser = Amount::parse, allow_negative_numbers = true, requires = "qps")]
    latency_ms: Option<Amount>,

    /// Connection limit
    #[arg(long, value_name = "L", value_parser = counts(), allow_negative_numbers = true)]
    limit: Option<u64>,

    /// Whether the limit applies to the whole deployment or to each server (default: total; each
    /// server for replica sets and for the limit of a running deployment)
    #[arg(long, value_parser = scopes())]
    limit_scope: Option<LimitScope>,

    /// Output format
    #[arg(short, long, value_parser = formats(&TABLES), default_value = "terminal")]
    format: Format,

    #[command(flatten)]
    around: AroundArgs,
}

/// Runs the command.
pub(super) fn choose(args: &ChooseArgs) -> anyhow::Result<u8> {
    let (settings, live) = args.around.known()?;
    let locked = locked(args)?;
    let input = input(args, &settings, live.as_ref(), &locked)?;
    args.around.put(&choice(&decide(&input), &locked, args.format, args.around.look()))?;
    Ok(CLEAN)
}

fn locked(args: &ChooseArgs) -> anyhow::Result<Vec<(String, LockedDriver)>> {
    let mut all = Vec::new();
    for file in &args.lock {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).with_context(|| format!("--lock {name}"))?;
        let Some(drivers) = drivers_in(&name, &text) else {
            bail!("--lock {name}: unknown type of file; Docward reads {}", LOCK_FILES.join(", "));
        };
        if drivers.is_empty() {
            bail!("--lock {name}: the file names no MongoDB driver with a version");
        }
        all.extend(drivers.into_iter().map(|driver| (name.clone(), driver)));
    }
    Ok(all)
}

fn input(
    args: &ChooseArgs,
    settings: &Settings,
    live: Option<&Live>,
    locked: &[(String, LockedDriver)],
) -> anyhow::Result<ChooseInput> {
    let declared = &settings.deployment;
    let live_topology =
        live.and_then(|live| live.topology.as_ref()).map(|topology| match topology {
            Topology::Sharded => DeclaredTopology::Sharded,
            Topology::ReplicaSet(_) => DeclaredTopology::ReplicaSet,
            Topology::Standalone => DeclaredTopology::Standalone,
        });
    let by_flags = match (args.mongos, args.members) {
        (Some(_), None) => Some(DeclaredTopology::Sharded),
        (None, Some(_)) => Some(DeclaredTopology::ReplicaSet),
        _ => None,
    };
    let topology = args.topology.or(live_topology).or(by_flags).or(declared.topology);
    let Some(topology) = topology else {
        bail!("--topology is missing: replica-set or sharded (with --mongos)");
    };
    let routers =
        args.mongos.or(live.and_then(|live| live.routers)).or(declared.routers.map(u64::from));
    if topology == DeclaredTopology::Sharded {
        if routers.is_none() {
            bail!("--mongos is missing: give the number of routers that clients reach");
        }
        if args.members.is_some() {
            bail!("--members applies to replica sets, but the topology is sharded");
        }
    } else if args.mongos.is_some() {
        bail!("--mongos applies to sharded clusters, but the topology is {}", topology.name());
    } else if args.routers_change_often || args.precise_control {
        bail!("--routers-change-often and --precise-control apply only to sharded clusters");
    }
    let live_version = live.and_then(|live| live.version.as_deref()).and_then(Version::parse);
    let declared_version = settings.server_version.map(|(major, minor)| Version { major, minor });
    let mut drivers = args.driver.clone();
    drivers.extend(locked.iter().map(|(_, driver)| driver.driver));
    Ok(ChooseInput {
        topology: Some(topology),
        routers: routers.filter(|_| topology == DeclaredTopology::Sharded),
        members: args
            .members
            .or(live.and_then(|live| live.members))
            .or(declared.members.map(u64::from)),
        client_ips: args.client_ips.or(declared.client_ips),
        drivers,
        server: args.server_version.or(live_version).or(declared_version),
        routers_change_often: args.routers_change_often
            || declared.routers_change_often.unwrap_or(false),
        precise_control: args.precise_control,
        budget: budget(args, settings, live, topology)?,
    })
}

/// Returns clients and limit from the command line, or from all services in `docward.toml`
/// together.
fn budget(
    args: &ChooseArgs,
    settings: &Settings,
    live: Option<&Live>,
    topology: DeclaredTopology,
) -> anyhow::Result<Option<Budget>> {
    let is_set = topology != DeclaredTopology::Sharded;
    let scope =
        args.limit_scope.unwrap_or_else(|| inputs::limit_scope(args.limit, live, settings, is_set));
    let live_limit = live.and_then(|live| live.limit);
    let limit = args.limit.or(live_limit).or(settings.deployment.connection_limit);
    let (clients, pool, load) = match args.apps {
        Some(apps) => (apps, args.pool, args.qps.zip(args.latency_ms)),
        None => {
            let services = &settings.services;
            let clients: u64 = services.iter().map(|service| u64::from(service.clients())).sum();
            if clients == 0 {
                return if args.limit.is_some() {
                    bail!(
                        "--limit needs --apps and --pool (or --qps and --latency-ms) for a \
                         comparison"
                    )
                } else {
                    Ok(None)
                };
            }
            // Services with different pool sizes count as the same number of clients with the mean
            // pool size.
            let pooled: Option<u64> = services
                .iter()
                .map(|service| Some(u64::from(service.clients()) * u64::from(service.pool?)))
                .sum();
            (clients, pooled.map(|pooled| pooled.div_ceil(clients)), None)
        }
    };
    if pool.is_none() && load.is_none() {
        return match args.apps {
            Some(_) => bail!("--apps needs --pool, or --qps and --latency-ms"),
            None => Ok(None),
        };
    }
    match limit {
        Some(limit) => Ok(Some(Budget { clients, pool, load, limit: limit.max(1), scope })),
        None if args.apps.is_some() => {
            bail!("--apps needs --limit, the connection limit")
        }
        None => Ok(None),
    }
}
