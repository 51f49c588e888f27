//! Combines command-line options with `[guard]` in docward.toml. Options take precedence.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail};
use docward_config::{GuardLimit, GuardSettings, GuardUser};
use docward_guard::{Auth, Face, FileUser, FileUsers, Listen, Live, RateLimit, Right, Settings};
use docward_net::{
    Credential, KnownKeys, Limits, Opener, PoolLimits, TlsClient, TlsServer, Upstream,
    scram::{Mechanism, Verifier},
    topology::{Address, TopologyKind},
};
use mongodb::options::{AuthMechanism, ClientOptions, Tls};

use super::RunArgs;
use crate::config;

const LISTEN: &str = "127.0.0.1:27018";
const MAX_POOL: u64 = 32;
const MAX_SERVER_CONNECTIONS: u64 = 256;
const WAIT: u64 = 5;
const MAX_CLIENTS: u64 = 100_000;
const GRACE: u64 = 30;
/// The maximum number of waiting commands per connection of a pool.
const WAITING: usize = 20;
/// The default memory limit in bytes if the memory of the machine is unknown.
const MEMORY: u64 = 1 << 30;

/// Reads `[guard]` from the settings file.
pub(super) fn load(args: &RunArgs) -> anyhow::Result<GuardSettings> {
    Ok(config::load(args.config.as_deref(), &[], false)?.guard)
}

/// Returns the connection string of the deployment.
pub(super) fn upstream(args: &RunArgs, file: &GuardSettings) -> anyhow::Result<String> {
    let from_environment = || std::env::var("MONGODB_URI").ok().filter(|uri| !uri.is_empty());
    let found = args.upstream.clone().or_else(|| file.upstream.clone()).or_else(from_environment);
    found.context(
        "no deployment: give --upstream mongodb://…, set MONGODB_URI, or set `upstream` under [guard] in \
         docward.toml",
    )
}

/// Returns the admin address.
pub(super) fn admin(args: &RunArgs, file: &GuardSettings) -> anyhow::Result<Option<SocketAddr>> {
    let Some(text) = args.admin.as_ref().or(file.admin.as_ref()) else { return Ok(None) };
    let address: SocketAddr = text
        .parse()
        .with_context(|| format!("--admin {text}: write IP:PORT, such as 127.0.0.1:9018"))?;
    if !address.ip().is_loopback() {
        bail!(
            "--admin {address}: it must be a loopback address, because it does not ask for a password; forward the \
             port, or put a proxy with a login in front of it"
        );
    }
    Ok(Some(address))
}

/// Returns the settings of the guard, and checks that they agree with each other.
pub(super) fn settings(
    args: &RunArgs,
    file: &GuardSettings,
    options: ClientOptions,
    limits: Limits,
) -> anyhow::Result<Settings> {
    let listen = args.listen.as_ref().or(file.listen.as_ref()).map_or(LISTEN, String::as_str);
    let listen = listen_on(listen)?;
    let face = match args.face.as_ref().or(file.face.as_ref()).map(String::as_str) {
        Some("lb") => Face::LoadBalanced,
        Some("member") => Face::Member,
        _ => Face::Router,
    };
    if face == Face::Member && matches!(listen, Listen::Unix(_)) {
        bail!("--face member needs one port per member: give --listen HOST:PORT");
    }
    let service = credential(&options)?;
    let auth = auth(args, file, &listen, &service)?;
    let tls = path(&args.tls_certificate, &file.tls_certificate);
    let authorities = path(&args.tls_client_ca, &file.tls_client_ca);
    if authorities.is_some() && tls.is_none() {
        bail!("--tls-client-ca needs --tls-certificate: without it clients do not use TLS");
    }
    let advertise = args.advertise.clone().or_else(|| file.advertise.clone());
    if advertise.is_some() && face != Face::Member {
        bail!("--advertise has no effect without --face member: remove it, or add --face member");
    }
    if !matches!(auth, Auth::List) && path(&args.users, &file.users).is_some() {
        bail!("--users has no effect without --auth list: remove it, or add --auth list");
    }
    if face == Face::Member
        && advertise.is_none()
        && matches!(&listen, Listen::Tcp(address) if address.ip().is_unspecified())
    {
        bail!(
            "--face member on {listen}: give --advertise HOST, under which clients reach the guard"
        );
    }
    Ok(Settings {
        listen,
        advertise,
        face,
        auth,
        service,
        upstream: reached(&options, limits)?,
        tls: tls.map(|file| TlsServer::new(&file, authorities.as_deref())).transpose()?,
    })
}

/// Returns the settings that can change while the guard runs.
pub(super) fn live(args: &RunArgs, file: &GuardSettings) -> anyhow::Result<Live> {
    let number = |option: Option<u64>, file: Option<u64>, otherwise: u64| {
        usize::try_from(option.or(file).unwrap_or(otherwise)).unwrap_or(usize::MAX)
    };
    let seconds = |option: Option<u64>, file: Option<u64>, otherwise: u64| {
        Duration::from_secs(option.or(file).unwrap_or(otherwise))
    };
    let max = number(args.max_pool, file.max_pool, MAX_POOL);
    let pool = PoolLimits {
        max,
        min: number(args.min_pool, file.min_pool, 0),
        max_waiting: WAITING * max,
        wait: seconds(args.wait, file.wait_seconds, WAIT),
        ..PoolLimits::default()
    };
    let server = number(
        args.max_server_connections,
        file.max_server_connections,
        MAX_SERVER_CONNECTIONS.max(3 * u64::try_from(max).unwrap_or(0)),
    );
    let users = match path(&args.users, &file.users) {
        Some(file) => users(&file)?,
        None => FileUsers::default(),
    };
    let memory = args.memory.or(file.memory_mb).map(|mb| mb << 20);
    let memory = memory.unwrap_or_else(|| machine_memory().map_or(MEMORY, |all| all / 4));
    Ok(Live {
        limits: Limits { pool, awaiting: 2 * max, server },
        max_clients: number(args.max_clients, file.max_clients, MAX_CLIENTS),
        grace: seconds(args.grace, file.grace_seconds, GRACE),
        memory: usize::try_from(memory).unwrap_or(usize::MAX),
        rates: file.limits.iter().map(rate).collect(),
        users: Arc::new(users),
    })
}

fn path(option: &Option<PathBuf>, file: &Option<String>) -> Option<PathBuf> {
    option.clone().or_else(|| file.as_ref().map(PathBuf::from))
}

fn listen_on(text: &str) -> anyhow::Result<Listen> {
    if text.contains('/') {
        return Ok(Listen::Unix(PathBuf::from(text)));
    }
    // The host may be a name, such as localhost.
    let resolved = std::net::ToSocketAddrs::to_socket_addrs(text).with_context(|| {
        format!("--listen {text}: write HOST:PORT, or the path of a Unix socket")
    })?;
    let first = resolved.into_iter().next();
    Ok(Listen::Tcp(
        first.with_context(|| format!("--listen {text}: the host name has no address"))?,
    ))
}

fn auth(
    args: &RunArgs,
    file: &GuardSettings,
    listen: &Listen,
    service: &Credential,
) -> anyhow::Result<Auth> {
    let has_user = !matches!(service, Credential::None);
    let users = path(&args.users, &file.users);
    match args.auth.as_ref().or(file.auth.as_ref()).map(String::as_str) {
        Some("list") if users.is_none() => {
            bail!("--auth list needs a users file: give --users FILE")
        }
        Some("list") => Ok(Auth::List),
        Some("mirror") | None if matches!(service, Credential::Password { .. }) => Ok(Auth::Mirror),
        Some("mirror") => bail!(
            "--auth mirror needs an account that can look up credentials: give --upstream a user"
        ),
        None if has_user => bail!(
            "--upstream logs in by certificate, so --auth has no default: give --auth list --users FILE, or --auth off"
        ),
        _ if listen.is_local() => Ok(Auth::Off),
        _ => bail!(
            "--listen {listen}: other machines could connect without a login; listen on 127.0.0.1, or give \
             --upstream a user and use --auth mirror"
        ),
    }
}

fn rate(limit: &GuardLimit) -> RateLimit {
    RateLimit {
        user: limit.user.clone(),
        application: limit.application.clone(),
        operations: limit.operations_per_second.map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
        bytes: limit.bytes_per_second,
        concurrent: limit.concurrent.map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
    }
}

fn users(file: &Path) -> anyhow::Result<FileUsers> {
    let text = fs::read_to_string(file)
        .with_context(|| format!("cannot read the users file {}", file.display()))?;
    let (users, problems) = docward_config::parse_users(&text, &file.display().to_string());
    let fatal: Vec<String> =
        problems.iter().filter(|problem| problem.fatal).map(ToString::to_string).collect();
    if !fatal.is_empty() {
        bail!("{}", fatal.join("\nerror: "));
    }
    let one = |user: GuardUser| {
        let verifier = user.password.as_deref().map(|text| {
            let read = Verifier::of_text(text).filter(|v| v.mechanism() == Mechanism::Sha256);
            read.with_context(|| {
                format!(
                    "{}: the password of {:?} is not a SCRAM-SHA-256 verifier; `docward guard user {}` prints an entry",
                    file.display(),
                    user.name,
                    user.name
                )
            })
        });
        let rights = user.databases.into_iter();
        let rights = rights.map(|(pattern, writes)| {
            (pattern, if writes { Right::ReadWrite } else { Right::Read })
        });
        anyhow::Ok(FileUser {
            name: user.name.clone(),
            verifier: verifier.transpose()?,
            rights: rights.collect(),
        })
    };
    Ok(FileUsers::new(users.into_iter().map(one).collect::<anyhow::Result<Vec<_>>>()?))
}

/// Returns how to connect to the deployment.
fn reached(options: &ClientOptions, limits: Limits) -> anyhow::Result<Upstream> {
    let tls = match &options.tls {
        Some(Tls::Enabled(tls)) => Some(TlsClient::new(
            tls.ca_file_path.as_deref(),
            tls.cert_key_file_path.as_deref(),
            tls.allow_invalid_certificates.unwrap_or(false),
        )?),
        _ => None,
    };
    let is_balanced = options.load_balanced.unwrap_or(false);
    if is_balanced {
        bail!(
            "--upstream: loadBalanced=true is not supported; list the servers or routers instead"
        );
    }
    let is_direct = options.direct_connection.unwrap_or(false);
    Ok(Upstream {
        seeds: options.hosts.iter().map(|host| Address::parse(&host.to_string())).collect(),
        kind: if is_direct { TopologyKind::Single } else { TopologyKind::Unknown },
        set_name: options.repl_set_name.clone(),
        opener: Opener {
            tls,
            application: "docward-guard".to_owned(),
            load_balanced: is_balanced,
            timeout: options.connect_timeout.unwrap_or(Duration::from_secs(10)),
        },
        limits,
        heartbeat: options.heartbeat_freq.unwrap_or(Duration::from_secs(10)),
        selection: options.server_selection_timeout.unwrap_or(Duration::from_secs(10)),
        window: options.local_threshold.unwrap_or(Duration::from_millis(15)),
    })
}

/// Returns the credential in the connection string.
fn credential(options: &ClientOptions) -> anyhow::Result<Credential> {
    let Some(credential) = &options.credential else { return Ok(Credential::None) };
    let mechanism = match &credential.mechanism {
        None => None,
        Some(AuthMechanism::ScramSha1) => Some(Mechanism::Sha1),
        Some(AuthMechanism::ScramSha256) => Some(Mechanism::Sha256),
        Some(AuthMechanism::MongoDbX509) => return Ok(Credential::X509),
        Some(_) => {
            bail!("--upstream: authMechanism must be SCRAM-SHA-1, SCRAM-SHA-256 or MONGODB-X509")
        }
    };
    let (Some(user), Some(password)) = (&credential.username, &credential.password) else {
        bail!("--upstream: the user has no password");
    };
    Ok(Credential::Password {
        user: user.clone(),
        source: credential.source.clone().unwrap_or_else(|| "admin".to_owned()),
        mechanism,
        password: Arc::new(password.clone().into()),
        known: KnownKeys::default(),
    })
}

/// Returns the memory that this process may use, in bytes: that of the machine or of its container.
fn machine_memory() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
    });
    let container = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let container = container.and_then(|text| text.trim().parse::<u64>().ok());
    match (machine, container) {
        (Some(machine), Some(container)) => Some(machine.min(container)),
        (one, other) => one.or(other),
    }
}
