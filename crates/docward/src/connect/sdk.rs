//! `docward connect sdk`: generates a client that follows the rule book.

use std::{fmt::Write, path::PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum, builder::PossibleValue};
use docward_connect::{
    Deployment, Given, Load, Method, Platform, plan,
    sdk::{
        FAILOVER_SELECTION_MS, GoVersion, SAMPLE_POOL, SELECTION_MS, SdkLanguage, SdkRequest,
        capabilities, client, is_app_name,
    },
};
use docward_model::{LimitScope, Service, ServiceClass, Settings};

use super::{
    inputs::{self, counts},
    plan::{MODES, classes},
};
use crate::{
    args::words,
    config,
    terminal::{CLEAN, complain, put},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  docward connect sdk --lang python --class core > mongo_client.py
  docward connect sdk --lang java --method replica-set --output src/main/java/
  docward connect sdk --lang go --go-version 1 --method srv --class report
  docward connect sdk --lang node --service orders           class, name and pool from docward.toml
  docward connect sdk --lang rust --pool 30 --app-name orders
  docward connect sdk --lang go --capabilities               what the driver cannot do

The client reads credentials and hosts from the environment. The generated code contains no \
 secrets.";

fn languages() -> impl clap::builder::TypedValueParser<Value = SdkLanguage> {
    words(&SdkLanguage::ALL, |language| PossibleValue::new(language.name()))
}

/// Ways to connect that the client can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Wanted {
    Srv,
    ReplicaSet,
    Lb,
    AllMongos,
    All,
}

/// The client to write.
#[derive(Args, Debug)]
pub(crate) struct SdkArgs {
    /// The language
    #[arg(long, value_parser = languages())]
    lang: SdkLanguage,

    /// Major version of the Go driver (default: 2)
    #[arg(long, value_name = "1|2", value_parser = clap::value_parser!(u8).range(1..=2))]
    go_version: Option<u8>,

    /// Connection method of the client. `all` generates a function for each of the four methods,
    /// and the shared client uses the replica set
    #[arg(long, value_enum, default_value_t = Wanted::All)]
    method: Wanted,

    /// Class of the service, which determines the read preference
    #[arg(long, value_parser = classes())]
    class: Option<ServiceClass>,

    /// Read preference (default: that of the class)
    #[arg(long, value_name = "MODE", value_parser = MODES)]
    read_preference: Option<String>,

    /// A [[service]] in docward.toml, which sets class, appName and pool
    #[arg(long, value_name = "NAME")]
    service: Option<String>,

    /// appName, which servers log
    #[arg(long, value_name = "NAME")]
    app_name: Option<String>,

    /// Number of mongos routers that clients reach. With `srv` and `all-mongos`, each router has
    /// its own pool
    #[arg(long, value_name = "M", value_parser = counts(), allow_negative_numbers = true)]
    mongos: Option<u64>,

    /// maxPoolSize, as computed by `docward connect plan` (default: 150, divided by the number of
    /// routers if each has its own pool)
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..=1_000_000), allow_negative_numbers = true)]
    pool: Option<u32>,

    /// minPoolSize (default: 10, or maxPoolSize if that is smaller)
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(0..=1_000_000), allow_negative_numbers = true)]
    min_pool: Option<u32>,

    /// serverSelectionTimeoutMS
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(1..=600_000), default_value_t = SELECTION_MS, allow_negative_numbers = true)]
    selection_timeout_ms: u32,

    /// Print what the driver can and cannot do, instead of a client
    #[arg(long)]
    capabilities: bool,

    /// Settings file (default: the nearest docward.toml)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Write to a file, or into a directory
    #[arg(short, long, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn sdk(args: &SdkArgs) -> anyhow::Result<u8> {
    if args.go_version.is_some() && args.lang != SdkLanguage::Go {
        bail!("--go-version applies to Go, but --lang is {}", args.lang.name());
    }
    let output = args.output.as_ref().map(|path| {
        let is_directory = path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/');
        if is_directory { path.join(args.lang.file_name()) } else { path.clone() }
    });
    if args.capabilities {
        put(&table(args.lang), args.output.as_deref())?;
        return Ok(CLEAN);
    }
    let settings = config::settings(args.config.as_deref(), &[])?;
    let request = request(args, &settings)?;
    if request.class.is_none() && request.read_preference.is_none() {
        complain(
            "note: the class of the service is unknown, so reads go to the primary; --class can \
             allow reads from secondaries (GC-10)",
        );
    }
    if request.class == Some(ServiceClass::Core) && request.selection_ms < FAILOVER_SELECTION_MS {
        complain(
            "note: an election can take longer than serverSelectionTimeoutMS; core services should retry, \
             or set --selection-timeout-ms 15000 (GC-29)",
        );
    }
    let has_pools = request.methods.iter().any(|method| method.has_pool_per_router());
    if has_pools && request.routers.is_none() {
        complain(&format!(
            "note: the client keeps a pool of {} connections for each router, and the number of \
             routers is unknown; --mongos M divides the pool by it (PF-2)",
            request.max_pool
        ));
    }
    put(&client(&request), output.as_deref())?;
    Ok(CLEAN)
}

fn request(args: &SdkArgs, settings: &Settings) -> anyhow::Result<SdkRequest> {
    let service = match &args.service {
        None => None,
        Some(name) => match settings.services.iter().find(|service| service.name == *name) {
            Some(service) => Some(service),
            None => bail!("--service {name}: docward.toml declares no [[service]] of that name"),
        },
    };
    let methods = match args.method {
        Wanted::Srv => vec![Method::Srv],
        Wanted::ReplicaSet => vec![Method::ReplicaSet],
        Wanted::Lb => vec![Method::LoadBalancer],
        Wanted::AllMongos => vec![Method::AllRouters],
        Wanted::All => Vec::new(),
    };
    let app_name = args.app_name.clone().or_else(|| service.map(|service| service.name.clone()));
    if let Some(name) = app_name.as_deref().filter(|name| !is_app_name(name)) {
        bail!("--app-name {name:?}: use at most 64 characters: letters, digits, `.`, `_` and `-`");
    }
    let declared = service.and_then(|service| pool(service, &methods, args.mongos, settings));
    let routers = args.mongos.or(settings.deployment.routers.map(u64::from));
    let max_pool = args.pool.or(declared).unwrap_or_else(|| sample_pool(&methods, routers));
    if let Some(min) = args.min_pool.filter(|min| *min > max_pool) {
        bail!("--min-pool {min} is greater than --pool {max_pool}; lower one of them");
    }
    let base = SdkRequest::new(args.lang, env!("CARGO_PKG_VERSION"));
    Ok(SdkRequest {
        go: if args.go_version == Some(1) { GoVersion::V1 } else { GoVersion::V2 },
        methods,
        class: args.class.or(service.and_then(|service| service.class)),
        read_preference: MODES
            .into_iter()
            .find(|mode| args.read_preference.as_deref() == Some(mode)),
        app_name: app_name.unwrap_or(base.app_name),
        max_pool,
        routers,
        min_pool: args.min_pool.unwrap_or(base.min_pool),
        selection_ms: args.selection_timeout_ms,
        ..base
    })
}

/// Returns the pool size of the rule book. If each router has its own pool, the size is divided
/// among the routers.
fn sample_pool(methods: &[Method], routers: Option<u64>) -> u32 {
    let has_pools = methods.iter().any(|method| method.has_pool_per_router());
    let parts = routers.filter(|_| has_pools).unwrap_or(1).max(1);
    u32::try_from(u64::from(SAMPLE_POOL).div_ceil(parts)).unwrap_or(SAMPLE_POOL)
}

/// Returns the pool size of a declared service: the configured one, or one that meets its demand.
fn pool(
    service: &Service,
    methods: &[Method],
    mongos: Option<u64>,
    settings: &Settings,
) -> Option<u32> {
    if service.pool.is_some() {
        return service.pool;
    }
    let load = Load {
        qps: inputs::declared(service.peak_qps, &service.name, "peak-qps").ok()?,
        latency_ms: inputs::declared(service.latency_ms, &service.name, "latency-ms").ok()?,
    };
    load.qps.and(load.latency_ms)?;
    let deployment = Deployment {
        method: methods.first().copied().unwrap_or(Method::ReplicaSet),
        routers: mongos.or(settings.deployment.routers.map(u64::from)).unwrap_or(1),
        members: None,
        limit: u64::MAX,
        scope: LimitScope::Total,
    };
    let given = Given {
        instances: 1,
        processes: u64::from(service.processes.unwrap_or(1)),
        platform: Platform::Process,
        load,
        ..Given::default()
    };
    let planned = plan(&deployment, &[given]);
    planned.services.first().and_then(|part| u32::try_from(part.pool).ok())
}

/// Returns the table of a driver as text.
fn table(language: SdkLanguage) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}:", language.name());
    for row in capabilities(language) {
        let mark = if row.gap { "differs" } else { "same" };
        let _ = writeln!(out, "  {mark:<8} {:<48} {} ({})", row.subject, row.note, row.clause);
    }
    out
}
