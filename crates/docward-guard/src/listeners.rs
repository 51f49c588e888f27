//! Where clients come in: one address, or one for each member of a replica set.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    path::Path,
    sync::{Arc, PoisonError},
    time::Duration,
};

use docward_net::topology::{Address, Topology};
use tokio::{
    net::{TcpListener, UnixListener},
    task::JoinHandle,
    time::sleep,
};

use crate::{
    guard::{Guard, Incoming},
    hello::Face,
    settings::Listen,
};

/// A place where clients come in.
#[derive(Debug)]
pub struct Door {
    listener: Listener,
    /// How it is reached.
    pub name: String,
    /// The server that is shown there, where members are shown.
    pub shows: Option<Address>,
}

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
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
    /// Opens the doors. Where members are shown, those that are known by now.
    pub async fn open(&self) -> io::Result<Vec<Door>> {
        match (&self.settings.listen, self.settings.face) {
            (Listen::Tcp(address), Face::Member) => {
                let members = members(&self.deployment.topology());
                let mut doors = Vec::new();
                for (at, member) in members.into_iter().enumerate() {
                    doors.push(self.open_member(*address, at, member).await?);
                }
                Ok(doors)
            }
            (Listen::Tcp(address), _) => {
                let listener = TcpListener::bind(address).await?;
                let name = listener.local_addr()?.to_string();
                Ok(vec![Door { listener: Listener::Tcp(listener), name, shows: None }])
            }
            (Listen::Unix(path), _) => {
                let name = path.display().to_string();
                let listener = Listener::Unix(bind_unix(path)?);
                Ok(vec![Door { listener, name, shows: None }])
            }
        }
    }

    /// The first member has the port that was asked for, the others have those behind it.
    async fn open_member(
        &self,
        mut address: SocketAddr,
        at: usize,
        member: Address,
    ) -> io::Result<Door> {
        if address.port() != 0 {
            let offset = u16::try_from(at).ok();
            let port = offset.and_then(|offset| address.port().checked_add(offset));
            address.set_port(port.ok_or_else(|| io::Error::other("there are no more ports"))?);
        }
        let listener = TcpListener::bind(address).await?;
        let local = listener.local_addr()?;
        let name = match &self.settings.advertise {
            Some(host) => format!("{host}:{}", local.port()),
            None => local.to_string(),
        };
        self.rename(&member, Some(name.clone()));
        Ok(Door { listener: Listener::Tcp(listener), name, shows: Some(member) })
    }

    /// Changes how clients call a server.
    fn rename(&self, member: &Address, name: Option<String>) {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = BTreeMap::clone(&names);
        match name {
            Some(name) => next.insert(member.clone(), name),
            None => next.remove(member),
        };
        *names = Arc::new(next);
    }

    /// Takes clients in until it drains.
    pub async fn accept(self: &Arc<Self>, doors: Vec<Door>) {
        let mut opened = doors.len();
        let mut tasks: BTreeMap<Option<Address>, JoinHandle<()>> = BTreeMap::new();
        let serve = |door: Door| {
            let guard = Arc::clone(self);
            (door.shows.clone(), tokio::spawn(async move { guard.accept_at(door).await }))
        };
        tasks.extend(doors.into_iter().map(serve));
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
                    Ok(door) => {
                        opened += 1;
                        tracing::info!(server = %member, address = door.name, "new member");
                        tasks.extend([serve(door)]);
                    }
                    Err(error) => {
                        tracing::warn!(server = %member, %error, "no address for a new member");
                    }
                }
            }
        }
        tasks.into_values().for_each(|task| task.abort());
    }

    async fn accept_at(self: Arc<Self>, door: Door) {
        loop {
            match door.listener.accept().await {
                Ok((stream, peer)) => {
                    self.take_in(stream, peer, door.shows.clone());
                }
                Err(error) => {
                    // Out of files, usually: somebody has to leave first.
                    tracing::warn!(%error, "cannot take a client in");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// Members that clients may know, in the order of their names.
fn members(topology: &Topology) -> Vec<Address> {
    topology.servers.keys().cloned().collect()
}

/// A socket that an earlier process left behind is replaced; one that somebody listens on is not.
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
