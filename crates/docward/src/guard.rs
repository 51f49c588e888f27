//! `docward guard`: reads the settings of a proxy, starts it, and ends it in good order.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use docward_guard::{Guard, Settings};
use docward_net::{
    Credential, KnownKeys, Opener, PoolLimits, TlsClient, TlsServer, Upstream,
    scram::Mechanism,
    topology::{Address, TopologyKind},
};
use mongodb::options::{AuthMechanism, ClientOptions, Tls};
use tokio::signal::unix::{SignalKind, signal};

use crate::{CLEAN, secrets, tell};

pub(crate) const EXAMPLES: &str = "\
Examples:
  docward guard --upstream mongodb://db1,db2,db3/?replicaSet=rs0
                                       clients connect to mongodb://127.0.0.1:27018
  docward guard --upstream \"$MONGODB_URI\" --listen 0.0.0.0:27018 --tls-certificate guard.pem
                                       clients log in as the users of the servers
  docward guard --upstream \"$MONGODB_URI\" --max-pool 16 --wait 10
  docward guard --upstream \"$MONGODB_URI\" --face lb
                                       behind a balancer: mongodb://guard:27018/?loadBalanced=true

Clients see a router (mongos): leave replicaSet out of their connection strings. When it accepts clients it prints
`listening on HOST:PORT` on standard error. SIGTERM and Ctrl-C let clients finish what they do; a second one ends it
at once.

Exit codes: 0 ended as asked, 2 could not run.";

/// What a guard looks like to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Face {
    /// A router of a sharded cluster
    Router,
    /// The same behind a load balancer: clients say loadBalanced=true
    Lb,
}

/// How clients log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AuthMode {
    /// As the users of the servers; the account of --upstream must be allowed to look up credentials
    Mirror,
    /// Not at all, which is possible on a loopback address only: everybody is the account of --upstream
    Off,
}

/// What is guarded, and how.
#[derive(Args, Debug)]
pub(crate) struct GuardArgs {
    /// The deployment: a connection string
    #[arg(long, value_name = "URI")]
    upstream: String,

    /// Where clients connect to
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:27018")]
    listen: SocketAddr,

    /// What clients see
    #[arg(long, value_enum, default_value_t = Face::Router)]
    face: Face,

    /// How clients log in (default: mirror where --upstream has a user, else off)
    #[arg(long, value_enum)]
    auth: Option<AuthMode>,

    /// Connections to each server for each user at most
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..))]
    max_pool: u16,

    /// Connections to each server that are kept open
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_pool: u16,

    /// Seconds that a command waits for a connection
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    wait: u64,

    /// Clients at most
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_clients: usize,

    /// Seconds that clients may take to finish when the guard ends
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    grace: u64,

    /// A file with the guard's certificate and its key: clients connect with TLS
    #[arg(long, value_name = "FILE")]
    tls_certificate: Option<PathBuf>,

    /// A file with the authorities whose certificates clients must show
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_client_ca: Option<PathBuf>,
}

/// How long a server is waited for before clients are let in all the same.
const READY_WITHIN: Duration = Duration::from_secs(5);

/// Runs the command.
pub(crate) fn guard(args: &GuardArgs) -> anyhow::Result<u8> {
    secrets::expect_connection_string(&args.upstream, "--upstream")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(args))
}

async fn run(args: &GuardArgs) -> anyhow::Result<u8> {
    let options = ClientOptions::parse(&args.upstream).await.context("--upstream")?;
    let settings = settings(args, options)?;
    let guard = Guard::new(settings);
    let listener =
        guard.bind().await.with_context(|| format!("cannot listen on {}", args.listen))?;
    let address = listener.local_addr()?;
    if !guard.ready(READY_WITHIN).await {
        tell(&format!(
            "warning: no server of --upstream has answered within {} s; clients wait until one does",
            READY_WITHIN.as_secs()
        ));
    }
    tell(&format!("listening on {address}"));
    let accepting = tokio::spawn({
        let guard = Arc::clone(&guard);
        async move { guard.accept(listener).await }
    });
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    let clients = guard.snapshot().clients;
    tell(&format!("ending: {clients} clients finish what they do"));
    tokio::select! {
        () = guard.drain() => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    accepting.abort();
    Ok(CLEAN)
}

fn settings(args: &GuardArgs, options: ClientOptions) -> anyhow::Result<Settings> {
    let service = credential(&options)?;
    let has_user = !matches!(service, Credential::None);
    let mode = args.auth.unwrap_or(if has_user { AuthMode::Mirror } else { AuthMode::Off });
    if mode == AuthMode::Off && !args.listen.ip().is_loopback() {
        bail!(
            "--listen {}: anybody could use it, because clients do not log in; listen on 127.0.0.1, or give \
             --upstream a user and use --auth mirror",
            args.listen
        );
    }
    if mode == AuthMode::Mirror && !has_user {
        bail!(
            "--auth mirror needs an account that may look up credentials: give --upstream a user"
        );
    }
    let tls = match &options.tls {
        Some(Tls::Enabled(tls)) => Some(TlsClient::new(
            tls.ca_file_path.as_deref(),
            tls.cert_key_file_path.as_deref(),
            tls.allow_invalid_certificates.unwrap_or(false),
        )?),
        _ => None,
    };
    let is_balanced = options.load_balanced.unwrap_or(false);
    let kind = if is_balanced {
        TopologyKind::LoadBalanced
    } else if options.direct_connection.unwrap_or(false) {
        TopologyKind::Single
    } else {
        TopologyKind::Unknown
    };
    let max = usize::from(args.max_pool);
    let limits = PoolLimits {
        max,
        min: usize::from(args.min_pool),
        max_waiting: 20 * max,
        wait: Duration::from_secs(args.wait),
        ..PoolLimits::default()
    };
    let upstream = Upstream {
        seeds: options.hosts.iter().map(|host| Address::parse(&host.to_string())).collect(),
        kind,
        set_name: options.repl_set_name.clone(),
        opener: Opener {
            tls,
            application: "docward-guard".to_owned(),
            load_balanced: is_balanced,
            timeout: options.connect_timeout.unwrap_or(Duration::from_secs(10)),
        },
        limits,
        max_awaiting: 2 * max,
        heartbeat: options.heartbeat_freq.unwrap_or(Duration::from_secs(10)),
        selection: options.server_selection_timeout.unwrap_or(Duration::from_secs(10)),
        window: options.local_threshold.unwrap_or(Duration::from_millis(15)),
    };
    let tls = args.tls_certificate.as_deref();
    Ok(Settings {
        listen: args.listen,
        face: match args.face {
            Face::Router => docward_guard::Face::Router,
            Face::Lb => docward_guard::Face::LoadBalanced,
        },
        auth: match mode {
            AuthMode::Mirror => docward_guard::Auth::Mirror,
            AuthMode::Off => docward_guard::Auth::Off,
        },
        service,
        upstream,
        max_clients: args.max_clients,
        grace: Duration::from_secs(args.grace),
        tls: tls.map(|file| TlsServer::new(file, args.tls_client_ca.as_deref())).transpose()?,
    })
}

/// Who the connection string says to be.
fn credential(options: &ClientOptions) -> anyhow::Result<Credential> {
    let Some(credential) = &options.credential else { return Ok(Credential::None) };
    let mechanism = match &credential.mechanism {
        None => None,
        Some(AuthMechanism::ScramSha1) => Some(Mechanism::Sha1),
        Some(AuthMechanism::ScramSha256) => Some(Mechanism::Sha256),
        Some(AuthMechanism::MongoDbX509) => return Ok(Credential::X509),
        Some(_) => bail!("--upstream: only SCRAM and MONGODB-X509 are supported as authMechanism"),
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
