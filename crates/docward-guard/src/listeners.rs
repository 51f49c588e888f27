//! The listeners for clients: one address, or one for each member of a replica set.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    path::Path,
    sync::{Arc, PoisonError},
    time::Duration,
};

use docward_net::{
    Stream,
    topology::{Address, Topology},
};
use tokio::{
    net::{TcpListener, UnixListener},
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::{client, guard::Guard, hello::Face, settings::Listen};

/// A listener for clients.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    /// The address that clients use.
    pub name: String,
    /// With `--face member`, the server that its clients connect to.
    pub shows: Option<Address>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Socket {
    async fn accept(&self) -> io::Result<(Incoming, Option<SocketAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok((Incoming::Tcp(stream), Some(peer)))
            }
            Self::Unix(listener) => Ok((Incoming::Unix(listener.accept().await?.0), None)),
        }
    }
}

impl Guard {
    /// Opens the listeners. With `--face member`, opens one for each member that is known now.
    pub async fn open(&self) -> io::Result<Vec<Listener>> {
        match (&self.settings.listen, self.settings.face) {
            (Listen::Tcp(address), Face::Member) => {
                let members = members(&self.deployment.topology());
                let mut listeners = Vec::new();
                for (at, member) in members.into_iter().enumerate() {
                    listeners.push(self.open_member(*address, at, member).await?);
                }
                Ok(listeners)
            }
            (Listen::Tcp(address), _) => {
                let listener = TcpListener::bind(address).await?;
                let name = listener.local_addr()?.to_string();
                Ok(vec![Listener { socket: Socket::Tcp(listener), name, shows: None }])
            }
            (Listen::Unix(path), _) => {
                let name = path.display().to_string();
                let socket = Socket::Unix(bind_unix(path)?);
                Ok(vec![Listener { socket, name, shows: None }])
            }
        }
    }

    /// Opens the listener of a member. The first member gets the configured port, the others get the ports after it.
    async fn open_member(
        &self,
        mut address: SocketAddr,
        at: usize,
        member: Address,
    ) -> io::Result<Listener> {
        if address.port() != 0 {
            let offset = u16::try_from(at).ok();
            let port = offset.and_then(|offset| address.port().checked_add(offset));
            address.set_port(port.ok_or_else(|| {
                io::Error::other("the port of a member would exceed 65535; choose a lower port")
            })?);
        }
        let listener = TcpListener::bind(address).await?;
        let local = listener.local_addr()?;
        let name = match &self.settings.advertise {
            Some(host) => format!("{host}:{}", local.port()),
            None => local.to_string(),
        };
        self.rename(&member, Some(name.clone()));
        Ok(Listener { socket: Socket::Tcp(listener), name, shows: Some(member) })
    }

    /// Sets or removes the address that clients use for a server.
    fn rename(&self, member: &Address, name: Option<String>) {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = BTreeMap::clone(&names);
        match name {
            Some(name) => next.insert(member.clone(), name),
            None => next.remove(member),
        };
        *names = Arc::new(next);
    }

    /// Accepts clients until the guard shuts down. With `--face member`, opens and closes listeners when members join
    /// or leave.
    pub async fn accept(self: &Arc<Self>, listeners: Vec<Listener>) {
        let mut opened = listeners.len();
        let mut tasks: BTreeMap<Option<Address>, JoinHandle<()>> = BTreeMap::new();
        let serve = |listener: Listener| {
            let guard = Arc::clone(self);
            (listener.shows.clone(), tokio::spawn(async move { guard.accept_at(listener).await }))
        };
        tasks.extend(listeners.into_iter().map(serve));
        let mut changes = self.deployment.changes();
        loop {
            tokio::select! {
                () = self.drained() => break,
                changed = changes.changed() => if changed.is_err() { break },
            }
            let (Face::Member, Listen::Tcp(address)) = (self.settings.face, &self.settings.listen)
            else {
                continue;
            };
            let now = members(&changes.borrow_and_update());
            let gone: Vec<_> =
                tasks.keys().flatten().filter(|member| !now.contains(member)).cloned().collect();
            for member in gone {
                self.rename(&member, None);
                if let Some(task) = tasks.remove(&Some(member)) {
                    task.abort();
                }
            }
            for member in now {
                if tasks.contains_key(&Some(member.clone())) {
                    continue;
                }
                match self.open_member(*address, opened, member.clone()).await {
                    Ok(listener) => {
                        opened += 1;
                        tracing::info!(server = %member, address = listener.name, "new member: listener opened");
                        tasks.extend([serve(listener)]);
                    }
                    Err(error) => {
                        tracing::warn!(server = %member, %error, "new member: cannot open a listener");
                    }
                }
            }
        }
        tasks.into_values().for_each(|task| task.abort());
    }

    /// Accepts a client, or closes its connection if there are too many. With `--face member`, `at` is the server that
    /// it connected to.
    fn serve_client(
        self: &Arc<Self>,
        stream: Incoming,
        peer: Option<SocketAddr>,
        at: Option<Address>,
    ) {
        let is_tuned = match &stream {
            Incoming::Tcp(stream) => docward_net::tune(stream).is_ok(),
            Incoming::Unix(_) => true,
        };
        let Some(counted) = self.count_client().filter(|_| is_tuned) else {
            self.metrics.accepted("refused");
            return;
        };
        self.metrics.accepted("accepted");
        tokio::spawn(async move {
            let guard = Arc::clone(&counted.guard);
            let stream = match (stream, &guard.settings.tls) {
                (Incoming::Unix(stream), _) => Stream::Unix(stream),
                (Incoming::Tcp(stream), None) => Stream::Plain(stream),
                (Incoming::Tcp(stream), Some(tls)) => {
                    // The future is on the heap, so that the task needs no memory for the handshake later.
                    let accepted = Box::pin(tls.accept(stream));
                    match timeout(Duration::from_secs(5), accepted).await {
                        Ok(Ok(stream)) => Stream::from(stream),
                        _ => {
                            guard.metrics.protocol.inc();
                            return;
                        }
                    }
                }
            };
            let left = client::serve(&guard, stream, peer, counted.number, at).await;
            // The client no longer counts, although its cursors and transactions may stay open for some time.
            drop(counted);
            Box::pin(left.clean_up()).await;
        });
    }

    async fn accept_at(self: Arc<Self>, listener: Listener) {
        loop {
            match listener.socket.accept().await {
                Ok((stream, peer)) => {
                    self.serve_client(stream, peer, listener.shows.clone());
                }
                Err(error) => {
                    // Usually the process has no free file descriptor until a client disconnects.
                    tracing::warn!(%error, "cannot accept a client");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// A new client connection.
#[derive(Debug)]
enum Incoming {
    /// TCP.
    Tcp(tokio::net::TcpStream),
    /// A Unix socket.
    Unix(tokio::net::UnixStream),
}

/// Returns the known servers, sorted by address.
fn members(topology: &Topology) -> Vec<Address> {
    topology.servers.keys().cloned().collect()
}

/// Binds a Unix socket. Replaces a socket file that an earlier process left behind, unless a process listens on it.
fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            match std::os::unix::net::UnixStream::connect(path) {
                Err(no) if no.kind() == io::ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(path)?;
                    UnixListener::bind(path)
                }
                _ => Err(error),
            }
        }
        bound => bound,
    }
}
