//! `docward guard`: starts the proxy, reloads its settings on request, and shuts it down.

mod settings;
mod user;

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use docward_guard::{Face, Guard, serve_admin};
use docward_net::topology::Address;
use mongodb::{error::ErrorKind, options::ClientOptions};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    time::sleep,
};

use crate::{
    secrets,
    terminal::{CLEAN, tell},
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  docward guard --upstream mongodb://db1,db2,db3/?replicaSet=rs0
                                       clients connect to mongodb://127.0.0.1:27018/
  docward guard --upstream \"$MONGODB_URI\" --listen 0.0.0.0:27018 --tls-certificate guard.pem
                                       clients log in as users of the servers, with TLS
  docward guard --upstream \"$MONGODB_URI\" --max-pool 16 --wait 10 --admin 127.0.0.1:9018
                                       metrics, state and a status page at http://127.0.0.1:9018/
  docward guard --upstream \"$MONGODB_URI\" --face lb
                                       behind a load balancer: mongodb://guard:27018/?loadBalanced=true
  docward guard --upstream \"$MONGODB_URI\" --face member --listen 127.0.0.1:27018
                                       one port per member: mongodb://127.0.0.1:27018/?replicaSet=rs0
  docward guard --config docward.toml  settings from [guard]; SIGHUP reloads them
  docward guard user app               print an entry for the users file

With --face router, clients see a mongos router: remove replicaSet from their connection strings. \
The guard prints `listening on HOST:PORT` on standard error when it accepts clients. \
After SIGTERM or Ctrl-C, it waits for open commands, cursors and transactions, at most --grace seconds. \
A second signal ends it at once.

Exit codes: 0 shut down on request, 2 the command could not run.";

/// The arguments of `docward guard`. They override `[guard]` in docward.toml.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct GuardArgs {
    #[command(subcommand)]
    command: Option<GuardCommand>,

    #[command(flatten)]
    run: RunArgs,
}

#[derive(Subcommand, Debug)]
enum GuardCommand {
    /// Print an entry for the users file; the password is read from standard input
    #[command(after_help = user::EXAMPLES)]
    User(user::UserArgs),
}

#[derive(Args, Debug)]
struct RunArgs {
    /// Connection string of the deployment (default: MONGODB_URI)
    #[arg(long, value_name = "URI")]
    upstream: Option<String>,

    /// Address that clients connect to: HOST:PORT, or the path of a Unix socket (default: 127.0.0.1:27018)
    #[arg(long, value_name = "HOST:PORT|PATH")]
    listen: Option<String>,

    /// Admin address for health checks, metrics, state and a status page. It must be a loopback address, because it does
    /// not ask for a password
    #[arg(long, value_name = "IP:PORT")]
    admin: Option<String>,

    /// How the guard appears to clients: as a router, as a router behind a load balancer, or with one port per replica
    /// set member (default: router)
    #[arg(long, value_name = "router|lb|member", value_parser = docward_config::FACES)]
    face: Option<String>,

    /// With --face member: host name under which clients reach the guard (default: the address it listens on)
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,

    /// How clients log in: as users of the servers (mirror), as users of the --users file (list), or not at all (off).
    /// Default: mirror if --upstream has a user, otherwise off
    #[arg(long, value_name = "mirror|list|off", value_parser = docward_config::AUTHS)]
    auth: Option<String>,

    /// With --auth list: users file
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,

    /// Maximum number of connections per server and user (default: 32)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    max_pool: Option<u64>,

    /// Minimum number of open connections per server and user (default: 0)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=100_000))]
    min_pool: Option<u64>,

    /// Maximum number of connections per server, for all users together (default: 256, or 3 times --max-pool if that is
    /// more). The guard also keeps the server below 80 % of its own limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max_server_connections: Option<u64>,

    /// Seconds that a command waits for a connection (default: 5)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    wait: Option<u64>,

    /// Maximum number of clients (default: 100000)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_clients: Option<u64>,

    /// Seconds that clients have to finish when the guard shuts down (default: 30)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=86_400))]
    grace: Option<u64>,

    /// Maximum size of all messages in memory, in megabytes (default: a quarter of the machine's memory)
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(64..))]
    memory: Option<u64>,

    /// PEM file with the guard's certificate and key; clients must connect with TLS
    #[arg(long, value_name = "FILE")]
    tls_certificate: Option<PathBuf>,

    /// PEM file with CA certificates; clients must present a certificate signed by one of these CAs
    #[arg(long, value_name = "FILE")]
    tls_client_ca: Option<PathBuf>,

    /// Settings file (default: the nearest docward.toml)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Format of the log on standard error
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,

    /// Lowest severity that is logged
    #[arg(long, value_enum, default_value_t = LogLevel::Info)]
    log_level: LogLevel,
}

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// Plain text
    Text,
    /// One JSON object per line
    Json,
}

/// The lowest severity that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogLevel {
    /// Reload failures
    Error,
    /// The same as error, and unavailable servers and clients that could not be accepted
    Warn,
    /// The same as warn, and reloaded settings, new members, connection limits and refused logins
    Info,
    /// The same as info, and every client and every error reply of the guard
    Debug,
}

/// Maximum time to wait for a server at the start. After that, the guard accepts clients anyway.
const READY_WITHIN: Duration = Duration::from_secs(5);
/// Maximum time to wait for the primary with `--face member`. Without one, the members are unknown.
const MEMBERS_WITHIN: Duration = Duration::from_secs(30);
/// The interval at which the servers of a `mongodb+srv` connection string are looked up in DNS.
const RESOLVE_EVERY: Duration = Duration::from_secs(60);

/// Runs `docward guard`.
pub(crate) fn guard(args: &GuardArgs) -> anyhow::Result<u8> {
    if let Some(GuardCommand::User(args)) = &args.command {
        return user::user(args);
    }
    log(&args.run);
    // Each client needs a file descriptor, so raise the limit as far as the system allows.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(&args.run))
}

fn log(args: &RunArgs) {
    let level = match args.log_level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
    };
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false);
    // This fails only if a subscriber is already set, and no other code sets one.
    let _ = match args.log_format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}

async fn run(args: &RunArgs) -> anyhow::Result<u8> {
    let file = settings::load(args)?;
    let upstream = settings::upstream(args, &file)?;
    secrets::expect_connection_string(&upstream, "--upstream")?;
    let options = options(&upstream).await?;
    let live = settings::live(args, &file)?;
    let settings = settings::settings(args, &file, options, live.limits)?;
    let (listen, face) = (settings.listen.clone(), settings.face);
    let admin = match settings::admin(args, &file)? {
        Some(address) => {
            let bound = TcpListener::bind(address).await;
            Some(bound.with_context(|| format!("--admin: cannot listen on {address}"))?)
        }
        None => None,
    };
    let guard = Guard::new(settings, live);
    wait_for_servers(&guard, face).await?;
    let listeners = guard.open().await.with_context(|| format!("cannot listen on {listen}"))?;
    let names = listeners.iter().map(|listener| match &listener.shows {
        Some(server) => format!("{} ({server})", listener.name),
        None => listener.name.clone(),
    });
    let names = names.collect::<Vec<_>>().join(", ");
    let (reloads, mut asked) = mpsc::channel(1);
    if let Some(listener) = admin {
        tell(&format!("operators: http://{}/", listener.local_addr()?));
        tokio::spawn(serve_admin(Arc::clone(&guard), listener, reloads));
    }
    if upstream.starts_with("mongodb+srv://") {
        tokio::spawn(resolve(Arc::clone(&guard), upstream.clone()));
    }
    let (mut signals, mut hangup) = (Signals::new()?, signal(SignalKind::hangup())?);
    let accepting = tokio::spawn({
        let guard = Arc::clone(&guard);
        async move { guard.accept(listeners).await }
    });
    tell(&format!("listening on {names}"));
    loop {
        tokio::select! {
            () = signals.end() => break,
            () = guard.drained() => break,
            _ = hangup.recv() => {
                if let Err(error) = reload(&guard, args) {
                    tracing::error!(%error, "reload failed; the previous settings stay in effect");
                }
            }
            Some(answer) = asked.recv() => {
                let _ = answer.send(reload(&guard, args).map_err(|error| format!("{error:#}")));
            }
        }
    }
    tell(&format!("shutting down: waiting for open clients ({}) to finish", guard.clients()));
    tokio::select! {
        () = guard.drain() => {}
        () = signals.end() => {}
    }
    accepting.abort();
    if let docward_guard::Listen::Unix(path) = &listen {
        let _ = std::fs::remove_file(path);
    }
    Ok(CLEAN)
}

async fn wait_for_servers(guard: &Guard, face: Face) -> anyhow::Result<()> {
    if face == Face::Member {
        if !guard.knows_members(MEMBERS_WITHIN).await {
            bail!(
                "--face member: found no primary within {} s; the guard needs it to find the members",
                MEMBERS_WITHIN.as_secs()
            );
        }
    } else if !guard.ready(READY_WITHIN).await {
        tell(&format!(
            "warning: no server of --upstream answered within {} s; commands wait up to serverSelectionTimeoutMS",
            READY_WITHIN.as_secs()
        ));
    }
    Ok(())
}

/// Reloads the settings that can change while the guard runs.
fn reload(guard: &Guard, args: &RunArgs) -> anyhow::Result<String> {
    let file = settings::load(args)?;
    let live = settings::live(args, &file)?;
    guard.reload(live)?;
    Ok("reloaded pools, limits, users and certificates; other settings need a restart".to_owned())
}

/// Reads the connection string of the deployment. Docward's parser runs before the driver's,
/// because its messages contain the position and never a password.
async fn options(upstream: &str) -> anyhow::Result<ClientOptions> {
    if let Err(fault) = docward_uri::parse(upstream) {
        bail!("--upstream: {fault}");
    }
    ClientOptions::parse(upstream).await.map_err(|error| match *error.kind {
        ErrorKind::InvalidArgument { message, .. } => {
            anyhow::anyhow!("--upstream: {}", without_values(&message, upstream))
        }
        kind => anyhow::anyhow!(
            "--upstream: {}; check the host name and the DNS server, or list the hosts in a mongodb:// string",
            docward_collect::dns_words(&kind.to_string())
        ),
    })
}

/// Masks the values of options in a message of the driver, because a misplaced password may be one.
fn without_values(message: &str, upstream: &str) -> String {
    let (_, options) = upstream.split_once('?').unwrap_or_default();
    let values = options.split('&').filter_map(|option| Some(option.split_once('=')?.1));
    values
        .filter(|value| value.len() > 3)
        .fold(message.to_owned(), |message, value| message.replace(value, "*****"))
}

/// Looks up the servers of a `mongodb+srv` connection string in DNS at regular intervals.
async fn resolve(guard: Arc<Guard>, upstream: String) {
    loop {
        sleep(RESOLVE_EVERY).await;
        match ClientOptions::parse(&upstream).await {
            Ok(options) => {
                let hosts = options.hosts.iter().map(|host| Address::parse(&host.to_string()));
                guard.renamed(&hosts.collect());
            }
            Err(error) => {
                let error = secrets::in_message(&error.to_string());
                tracing::warn!(
                    error,
                    "cannot look up the servers in DNS; the known ones stay in use"
                );
            }
        }
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn end(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
