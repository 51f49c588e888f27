//! The origin of a command.

use std::sync::Arc;

use docward_net::topology::Address;
use tokio::sync::Notify;

use crate::auth::Identity;

/// The client connection and the user that a command comes from.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The number of the client connection.
    pub(crate) client: u64,
    /// Clients with the same number share one turn when they wait for a connection to a server.
    pub(crate) turn: u64,
    /// The user.
    pub(crate) identity: Identity,
    /// With `--face member`, the server that the client connected to. All its commands go there.
    pub(crate) at: Option<Address>,
    /// Notified when the client disconnects during a command.
    pub(crate) left: Arc<Notify>,
}
