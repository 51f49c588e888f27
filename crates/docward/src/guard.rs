//! `docward guard`: starts a proxy, reads its settings again when asked to, and ends it in good order.

mod settings;
mod user;

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use docward_guard::{Face, Guard, serve_admin};
use docward_net::topology::Address;
use mongodb::options::ClientOptions;
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    time::sleep,
};

use crate::{CLEAN, secrets, tell};

pub(crate) const EXAMPLES: &str = "\
Examples:
  docward guard --upstream mongodb://db1,db2,db3/?replicaSet=rs0
                                       clients connect to mongodb://127.0.0.1:27018
  docward guard --upstream \"$MONGODB_URI\" --listen 0.0.0.0:27018 --tls-certificate guard.pem
                                       clients log in as the users of the servers
  docward guard --upstream \"$MONGODB_URI\" --max-pool 16 --wait 10 --admin 127.0.0.1:9018
                                       metrics, state and a page at http://127.0.0.1:9018/
  docward guard --upstream \"$MONGODB_URI\" --face lb
                                       behind a balancer: mongodb://guard:27018/?loadBalanced=true
  docward guard --upstream \"$MONGODB_URI\" --face member --listen 127.0.0.1:27018
                                       one port for each member: mongodb://127.0.0.1:27018/?replicaSet=rs0
  docward guard --config docward.toml  settings from [guard]; SIGHUP reads them again
  docward guard user app               prints an entry for the file of users

With --face router clients see a router (mongos): leave replicaSet out of their connection strings. When it accepts
clients it prints `listening on HOST:PORT` on standard error. SIGTERM and Ctrl-C let clients finish what they do; a
second one ends it at once.

Exit codes: 0 ended as asked, 2 could not run.";

/// What is guarded, and how. Options win over `[guard]` of docward.toml.
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
    /// Print an entry for the file of users; the password is read from standard input
    #[command(after_help = user::EXAMPLES)]
    User(user::UserArgs),
}

#[derive(Args, Debug)]
struct RunArgs {
    /// The deployment: a connection string (default: MONGODB_URI)
    #[arg(long, value_name = "URI")]
    upstream: Option<String>,

    /// Where clients connect to: an address, or the path of a socket (default: 127.0.0.1:27018)
    #[arg(long, value_name = "HOST:PORT|PATH")]
    listen: Option<String>,

    /// An address for operators: health, metrics, state, a page. It asks nobody for a password
    #[arg(long, value_name = "HOST:PORT")]
    admin: Option<String>,

    /// What clients see: a router, a router behind a load balancer, or each member on a port of its own (default: router)
    #[arg(long, value_name = "router|lb|member", value_parser = docward_config::FACES)]
    face: Option<String>,

    /// With --face member: the name by which clients reach the guard (default: the address it listens on)
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,

    /// How clients log in: as users of the servers, as users of a list, or not at all (default: mirror where --upstream
    /// has a user, else off)
    #[arg(long, value_name = "mirror|list|off", value_parser = docward_config::AUTHS)]
    auth: Option<String>,

    /// With --auth list: the file of users
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,

    /// Connections to each server for each user at most (default: 32)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    max_pool: Option<u64>,

    /// Connections to each server that are kept open (default: 0)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=100_000))]
    min_pool: Option<u64>,

    /// Connections to each server at most, whoever they are for (default: 256, and never more than 80 % of what the
    /// server allows)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max_server_connections: Option<u64>,

    /// Seconds that a command waits for a connection (default: 5)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    wait: Option<u64>,

    /// Clients at most (default: 100000)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_clients: Option<u64>,

    /// Seconds that clients may take to finish when the guard ends (default: 30)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=86_400))]
    grace: Option<u64>,

    /// Megabytes of messages in memory at the same time (default: a quarter of the machine's)
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(64..))]
    memory: Option<u64>,

    /// A file with the guard's certificate and its key: clients connect with TLS
    #[arg(long, value_name = "FILE")]
    tls_certificate: Option<PathBuf>,

    /// A file with the authorities whose certificates clients must show
    #[arg(long, value_name = "FILE")]
    tls_client_ca: Option<PathBuf>,

    /// Settings (default: the nearest docward.toml)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// How the log on standard error is written
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,

    /// What is logged
    #[arg(long, value_enum, default_value_t = LogLevel::Info)]
    log_level: LogLevel,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object in a line
    Json,
}

/// What is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogLevel {
    /// What cannot go on
    Error,
    /// Servers that fail
    Warn,
    /// Changes of settings, refused logins
    Info,
    /// Every client, every error that is answered
    Debug,
}

/// How long a server is waited for before clients are let in all the same.
const READY_WITHIN: Duration = Duration::from_secs(5);
/// How long the members of a replica set are waited for, where each is shown.
const MEMBERS_WITHIN: Duration = Duration::from_secs(30);
/// How often DNS is asked for the servers of a `mongodb+srv` connection string.
const RESOLVE_EVERY: Duration = Duration::from_secs(60);

/// Runs the command.
pub(crate) fn guard(args: &GuardArgs) -> anyhow::Result<u8> {
    if let Some(GuardCommand::User(args)) = &args.command {
        return user::user(args);
    }
    log(&args.run);
    // Each client is a file; what the system lets us have is taken.
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
    // Only the first caller sets it, and nobody else does.
    let _ = match args.log_format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}

async fn run(args: &RunArgs) -> anyhow::Result<u8> {
    let file = settings::load(args)?;
    let upstream = settings::upstream(args, &file)?;
    secrets::expect_connection_string(&upstream, "--upstream")?;
    let options = ClientOptions::parse(&upstream).await.context("--upstream")?;
    let live = settings::live(args, &file)?;
    let settings = settings::settings(args, &file, options, live.limits)?;
    let (listen, face) = (settings.listen.clone(), settings.face);
    let admin = match settings::admin(args, &file)? {
        Some(address) => {
            let bound = TcpListener::bind(address).await;
            Some(bound.with_context(|| format!("cannot listen on {address} for operators"))?)
        }
        None => None,
    };
    let guard = Guard::new(settings, live);
    wait_for_servers(&guard, face).await?;
    let doors = guard.open().await.with_context(|| format!("cannot listen on {listen}"))?;
    let names = doors.iter().map(|door| match &door.shows {
        Some(server) => format!("{} ({server})", door.name),
        None => door.name.clone(),
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
        async move { guard.accept(doors).await }
    });
    tell(&format!("listening on {names}"));
    loop {
        tokio::select! {
            () = signals.end() => break,
            () = guard.drained() => break,
            _ = hangup.recv() => {
                if let Err(error) = reload(&guard, args) {
                    tracing::error!(%error, "settings stay as they were");
                }
            }
            Some(answer) = asked.recv() => {
                let _ = answer.send(reload(&guard, args).map_err(|error| format!("{error:#}")));
            }
        }
    }
    tell(&format!("ending: {} clients finish what they do", guard.clients()));
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
                "--face member: no primary of a replica set was found within {} s; it is asked for its members",
                MEMBERS_WITHIN.as_secs()
            );
        }
    } else if !guard.ready(READY_WITHIN).await {
        tell(&format!(
            "warning: no server of --upstream has answered within {} s; clients wait until one does",
            READY_WITHIN.as_secs()
        ));
    }
    Ok(())
}

/// Reads what can be changed while it runs.
fn reload(guard: &Guard, args: &RunArgs) -> anyhow::Result<String> {
    let file = settings::load(args)?;
    let live = settings::live(args, &file)?;
    guard.reload(live)?;
    Ok("pools, limits, users and certificates were read again; other settings need a restart"
        .to_owned())
}

/// Asks DNS again and again where the servers are.
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
                tracing::warn!(error, "DNS was not asked successfully; servers stay as they were");
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
