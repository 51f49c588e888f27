//! `docward connect plan`: pool sizes and their totals.

use anyhow::{Context, bail};
use clap::{Args, builder::PossibleValue};
use docward_connect::{Amount, Deployment, Given, Load, Method, Platform, plan as size, scenarios};
use docward_model::{DeclaredTopology, LimitScope, ServiceClass, Settings, Topology, text};
use docward_report::{Format, PlanReport, plan_fails, plan_report};

use super::inputs::{self, AroundArgs, Live, counts};
use crate::{
    args::{PICTURES, formats, words},
    output::Started,
    terminal::{CLEAN, FINDINGS},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  docward connect plan --apps 20 --method lb --mongos 8 --limit 3000 --qps 1000 --latency-ms 20
  docward connect plan --apps 20 --method srv --mongos 8 --pool 10 --scale-mongos 16
  docward connect plan --apps 25 --method lb --limit 3000 --pool 100 --add-apps 5
  docward connect plan --apps 20 --processes 4 --method replica-set --members 3 --pool 50
  docward connect plan --platform serverless --apps 2 --processes 500 --method lb
  docward connect plan --apps 1 --method lb --pool 500 --qps 50000
                                       the longest mean time of an operation for this pool
  docward connect plan --apps 20 --pool 100 --server \"$MONGODB_URI\"
                                       limit and servers from a running deployment
  docward connect plan --method srv    from [deployment] and [[service]] in docward.toml
  docward connect plan --method srv --format html --output plan.html

Exit codes: 0 at most 80 % of the limit, 1 more, 2 the command could not run.";

pub(super) fn methods() -> impl clap::builder::TypedValueParser<Value = Method> {
    words(&Method::ALL, |method| {
        PossibleValue::new(method.name()).help(match method {
            Method::Srv => "mongodb+srv:// with one DNS name for all routers",
            Method::LoadBalancer => "the address of a load balancer in front of the routers",
            other => other.text(),
        })
    })
}

pub(super) fn scopes() -> impl clap::builder::TypedValueParser<Value = LimitScope> {
    words(&LimitScope::ALL, |scope| {
        PossibleValue::new(scope.name()).help(match scope {
            LimitScope::Total => "all connections to the deployment",
            LimitScope::PerNode => "the connections to one mongos or one member",
        })
    })
}

pub(super) fn classes() -> impl clap::builder::TypedValueParser<Value = ServiceClass> {
    words(&ServiceClass::ALL, |class| {
        PossibleValue::new(class.name()).help(match class {
            ServiceClass::Core => "money, orders, accounts: reads the primary",
            ServiceClass::General => "ordinary service: prefers the primary",
            ServiceClass::ReadHeavy => "mostly reads, and accepts slightly old data",
            ServiceClass::Report => "reports and analysis: reads secondaries",
            ServiceClass::Regional => "serves several regions: reads the nearest member",
        })
    })
}

fn platforms() -> impl clap::builder::TypedValueParser<Value = Platform> {
    words(&Platform::ALL, |platform| {
        PossibleValue::new(platform.name()).help(match platform {
            Platform::Process => "long-running process with a pool",
            Platform::Serverless => "functions that start for each request",
            Platform::PhpFpm => "workers with one connection each",
        })
    })
}

/// The read preferences in the notation of connection strings.
pub(super) const MODES: [&str; 5] =
    ["primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"];

/// Demand, deployment and what may change.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Number of instances of the application (default: the services in docward.toml)
    #[arg(long, value_name = "N", value_parser = counts(), allow_negative_numbers = true)]
    apps: Option<u64>,

    /// Number of processes per instance, each with its own pool: server workers or concurrent
    /// functions
    #[arg(long, value_name = "N", value_parser = counts(), default_value = "1", allow_negative_numbers = true)]
    processes: u64,

    /// How the application runs
    #[arg(long, value_parser = platforms(), default_value = "process", requires = "apps")]
    platform: Platform,

    /// Class of the service, which determines its read preference
    #[arg(long, value_parser = classes(), requires = "apps")]
    class: Option<ServiceClass>,

    /// Connection method
    #[arg(long, value_parser = methods())]
    method: Option<Method>,

    /// Number of mongos routers that clients reach
    #[arg(long, value_name = "M", value_parser = counts(), allow_negative_numbers = true)]
    mongos: Option<u64>,

    /// Number of replica set members that clients can read from
    #[arg(long, value_name = "N", value_parser = counts(), allow_negative_numbers = true)]
    members: Option<u64>,

    /// Connection limit (default: from docward.toml or a running deployment, otherwise 3000)
    #[arg(long, value_name = "L", value_parser = counts(), allow_negative_numbers = true)]
    limit: Option<u64>,

    /// Whether the limit applies to the whole deployment or to each server (default: total; each
    /// server for replica sets and for the limit of a running deployment)
    #[arg(long, value_parser = scopes())]
    limit_scope: Option<LimitScope>,

    /// Peak operations per second of one instance
    #[arg(long, value_name = "Q", value_parser = Amount::parse, allow_negative_numbers = true, requires = "apps")]
    qps: Option<Amount>,

    /// Mean time of an operation in milliseconds
    #[arg(long, value_name = "T", value_parser = Amount::parse, allow_negative_numbers = true, requires = "qps")]
    latency_ms: Option<Amount>,

    /// Configured maxPoolSize (default: computed from --qps and --latency-ms)
    #[arg(long, value_name = "P", value_parser = counts(), allow_negative_numbers = true, requires = "apps")]
    pool: Option<u64>,

    /// Read preference of the application. With `primary`, clients use only one member of a replica
    /// set
    #[arg(long, value_name = "MODE", value_parser = MODES, requires = "apps")]
    read_preference: Option<String>,

    /// Also plan for this many more instances; separate several numbers with commas
    #[arg(long, value_name = "N", value_parser = counts(), value_delimiter = ',', default_value = "5", allow_negative_numbers = true)]
    add_apps: Vec<u64>,

    /// Also plan for this number of routers
    #[arg(long, value_name = "M", value_parser = counts(), allow_negative_numbers = true)]
    scale_mongos: Option<u64>,

    /// Output format
    #[arg(short, long, value_parser = formats(&PICTURES), default_value = "terminal")]
    format: Format,

    #[command(flatten)]
    around: AroundArgs,
}

/// The default limit, from the stories of the rule book.
const USUAL_LIMIT: u64 = 3_000;

/// Runs the command. The exit code is 1 if the plan exceeds the budget.
pub(super) fn plan(args: &PlanArgs) -> anyhow::Result<u8> {
    let started = Started::now();
    let (settings, live) = args.around.known()?;
    let mut origins = Vec::new();
    let given = services(args, &settings, &mut origins)?;
    let deployment = deployment(args, &settings, live.as_ref(), &mut origins)?;
    if deployment.method == Method::ReplicaSet && args.scale_mongos.is_some() {
        bail!("--scale-mongos: a replica set has no mongos");
    }
    let plan = size(&deployment, &given);
    let scenarios = scenarios(&deployment, &given, &args.add_apps, args.scale_mongos);
    let report = PlanReport {
        plan,
        scenarios,
        given,
        origins,
        is_standalone: is_standalone(args, &settings, live.as_ref()),
        open_now: live.as_ref().and_then(|live| live.open),
        version: env!("CARGO_PKG_VERSION"),
        run: started.ended(),
    };
    args.around.put(&plan_report(&report, args.format, args.around.look()))?;
    Ok(if plan_fails(&report) { FINDINGS } else { CLEAN })
}

/// Whether the deployment is a single standalone server, as it reports or as declared.
fn is_standalone(args: &PlanArgs, settings: &Settings, live: Option<&Live>) -> bool {
    let is_declared = settings.deployment.topology == Some(DeclaredTopology::Standalone);
    match live.and_then(|live| live.topology.as_ref()) {
        _ if args.method.is_some_and(|method| method != Method::ReplicaSet) => false,
        Some(topology) => *topology == Topology::Standalone,
        None => is_declared && args.members.is_none_or(|members| members == 1),
    }
}

fn deployment(
    args: &PlanArgs,
    settings: &Settings,
    live: Option<&Live>,
    origins: &mut Vec<String>,
) -> anyhow::Result<Deployment> {
    let declared = &settings.deployment;
    let by_topology = match declared.topology {
        Some(DeclaredTopology::ReplicaSet | DeclaredTopology::Standalone) => {
            Some(Method::ReplicaSet)
        }
        Some(DeclaredTopology::Sharded) | None => None,
    };
    let Some(method) = args.method.or(live.map(|live| live.method)).or(by_topology) else {
        bail!(
            "--method is missing: srv, lb, all-mongos or replica-set; `docward connect choose` \
             recommends one"
        );
    };
    let is_set = method == Method::ReplicaSet;
    if is_set && args.mongos.is_some() {
        bail!("--mongos: a replica set has members (--members), not mongos");
    }
    if !is_set && args.members.is_some() {
        bail!("--members applies to replica sets, but --method is {}", method.name());
    }
    if !is_set && args.read_preference.is_some() {
        bail!(
            "--read-preference has no effect with routers, because clients use every router for \
         all reads"
        );
    }
    let mut from = |flag: Option<u64>, live: Option<u64>, toml: Option<u64>, what: &str| {
        if flag.is_none() && live.is_some() {
            origins.push(format!("{what}: from the running deployment"));
        } else if flag.is_none() && toml.is_some() {
            origins.push(format!("{what}: from docward.toml"));
        }
        flag.or(live).or(toml)
    };
    let routers = if is_set {
        None
    } else {
        let toml = declared.routers.map(u64::from);
        from(args.mongos, live.and_then(|live| live.routers), toml, "mongos")
    };
    let members = if is_standalone(args, settings, live) {
        Some(1)
    } else if is_set {
        let toml = declared.members.map(u64::from);
        from(args.members, live.and_then(|live| live.members), toml, "members")
    } else {
        None
    };
    let live_limit = live.and_then(|live| live.limit);
    let limit = from(args.limit, live_limit, declared.connection_limit, "limit");
    let scope =
        args.limit_scope.unwrap_or_else(|| inputs::limit_scope(args.limit, live, settings, is_set));
    if limit.is_none() {
        origins.push(format!(
            "limit: not given; assumed {}, as in the examples of the rule book",
            text::count(USUAL_LIMIT)
        ));
    }
    let needs_routers = method.has_pool_per_router()
        || (method == Method::LoadBalancer && scope == LimitScope::PerNode);
    if needs_routers && routers.is_none() {
        bail!(
            "--mongos is missing: the number of routers determines how many connections {} opens",
            method.text()
        );
    }
    let limit = limit.unwrap_or(USUAL_LIMIT).max(1);
    Ok(Deployment { method, routers: routers.unwrap_or(1).max(1), members, limit, scope })
}

fn services(
    args: &PlanArgs,
    settings: &Settings,
    origins: &mut Vec<String>,
) -> anyhow::Result<Vec<Given>> {
    if let Some(instances) = args.apps {
        let load = Load { qps: args.qps, latency_ms: args.latency_ms };
        let sized = args.pool.is_some() || args.latency_ms.is_some();
        if !sized && args.qps.is_some() {
            bail!(
                "--qps alone is not enough: add --latency-ms to compute the pool, or --pool to \
                 compute the longest mean time of an operation"
            );
        }
        if !sized && args.platform == Platform::Process {
            bail!("the size of the pools is missing: give --pool, or --qps and --latency-ms");
        }
        return Ok(vec![Given {
            class: args.class,
            instances,
            processes: args.processes,
            platform: args.platform,
            load,
            pool: args.pool,
            read_preference: args.read_preference.clone(),
            ..Given::default()
        }]);
    }
    if settings.services.is_empty() {
        bail!("--apps is missing, and docward.toml declares no [[service]]");
    }
    origins.push(format!(
        "{} from docward.toml",
        text::plural(settings.services.len() as u64, "service")
    ));
    settings
        .services
        .iter()
        .map(|service| {
            let load = Load {
                qps: inputs::declared(service.peak_qps, &service.name, "peak-qps")?,
                latency_ms: inputs::declared(service.latency_ms, &service.name, "latency-ms")?,
            };
            Ok(Given {
                name: service.name.clone(),
                class: service.class,
                stale_ms: service.stale_reads_ms,
                instances: u64::from(service.instances.unwrap_or(1)),
                processes: u64::from(service.processes.unwrap_or(1)),
                platform: Platform::Process,
                load,
                pool: service.pool.map(u64::from),
                read_preference: None,
            })
        })
        .collect::<anyhow::Result<_>>()
        .context("the services of docward.toml")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

    use clap::Parser;
    use docward_connect::Verdict;
    use docward_model::Service;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: PlanArgs,
    }

    fn args(line: &str) -> PlanArgs {
        Line::try_parse_from(["plan"].into_iter().chain(line.split_whitespace())).unwrap().args
    }

    fn settings() -> Settings {
        let mut settings = Settings::default();
        settings.deployment.topology = Some(DeclaredTopology::Sharded);
        settings.deployment.routers = Some(8);
        settings.deployment.connection_limit = Some(3000);
        settings.services = vec![
            Service {
                name: "orders".into(),
                class: Some(ServiceClass::Core),
                peak_qps: Some(1000.0),
                latency_ms: Some(20.0),
                instances: Some(10),
                processes: Some(2),
                ..Service::default()
            },
            Service {
                name: "web".into(),
                instances: Some(5),
                pool: Some(20),
                ..Service::default()
            },
        ];
        settings
    }

    #[test]
    fn declared_services_are_planned_together() {
        let (args, settings, mut origins) = (args("--method srv"), settings(), Vec::new());
        let given = services(&args, &settings, &mut origins).unwrap();
        let deployment = deployment(&args, &settings, None, &mut origins).unwrap();
        assert_eq!((deployment.routers, deployment.limit), (8, 3000));
        let plan = size(&deployment, &given);
        // ceil(30 / 2 / 8) = 2 of 20 clients on 8 mongos, and 20 of 5.
        assert_eq!((plan.services[0].pool, plan.services[0].total), (2, 320));
        assert_eq!((plan.services[1].total, plan.total), (800, 1120));
        assert_eq!(plan.verdict, Verdict::Fits);
        assert_eq!(plan.services[0].reads.mode, "primary");
        assert!(origins.iter().any(|line| line == "2 services from docward.toml"), "{origins:?}");
        assert!(origins.iter().any(|line| line == "mongos: from docward.toml"), "{origins:?}");
    }

    #[test]
    fn the_command_line_goes_before_what_is_declared() {
        let settings = settings();
        let args =
            args("--apps 3 --pool 7 --method lb --limit 100 --limit-scope per-node --mongos 2");
        let given = services(&args, &settings, &mut Vec::new()).unwrap();
        assert_eq!((given.len(), given[0].instances, given[0].pool), (1, 3, Some(7)));
        let mut origins = Vec::new();
        let deployment = deployment(&args, &settings, None, &mut origins).unwrap();
        assert_eq!((deployment.routers, deployment.limit), (2, 100));
        assert_eq!(deployment.scope, LimitScope::PerNode);
        assert!(origins.is_empty(), "{origins:?}");
    }

    #[test]
    fn numbers_nobody_can_plan_with_are_named() {
        let mut settings = settings();
        settings.services[0].peak_qps = Some(f64::NAN);
        let error = services(&args("--method srv"), &settings, &mut Vec::new()).unwrap_err();
        assert!(format!("{error:#}").contains("peak-qps of `orders`"), "{error:#}");
    }
}
