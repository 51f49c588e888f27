//! Closes on the servers what clients left open:
//!
//! - cursors that were removed because the table is full
//! - cursors and transactions of clients that disconnected

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bson::{Binary, Document, doc, spec::BinarySubtype};
use docward_net::{Lane, Login, OpenError, Purpose, command, topology::Address};
use docward_wire::Flags;
use tokio::time::timeout;

use crate::{caller::Caller, cursors::Cursor, guard::Guard, settings::OWN_COMMANDS};

/// The maximum number of cursors in one `killCursors` command.
const AT_ONCE: usize = 1000;
/// Maximum number of attempts to close a cursor on a running server.
const MAX_TRIES: usize = 3;

/// The cursors that one `killCursors` command closes: those of a user, a server, a database and a collection.
type Batches = BTreeMap<(Arc<str>, Address, (String, String)), (Arc<Login>, Vec<i64>)>;

impl Guard {
    /// Closes the cursors and transactions of a client that were not used for `unused_for`.
    pub(crate) async fn close_unused(&self, who: &Caller, unused_for: Duration) {
        let name = &who.identity.name;
        self.close_on_servers(self.cursors.take_unused(who.client, name, unused_for)).await;
        for (session, number, server) in self.transactions.take_unused(who.client, name, unused_for)
        {
            let id = Binary { subtype: BinarySubtype::Uuid, bytes: session.to_vec() };
            let question = doc! {
                "abortTransaction": 1, "lsid": { "id": id }, "txnNumber": number, "autocommit": false,
            };
            let _ = self.ask(&who.identity.login, who.turn, &server, "admin", question).await;
        }
    }

    /// Closes cursors that are no longer in the table.
    pub(crate) async fn close_on_servers(&self, cursors: Vec<Cursor>) {
        let mut batches = Batches::new();
        for cursor in cursors {
            let key = (cursor.user, cursor.server, cursor.namespace);
            let batch = batches.entry(key).or_insert_with(|| (cursor.login, Vec::new()));
            batch.1.push(cursor.id);
        }
        for ((_, server, (database, collection)), (login, ids)) in batches {
            for ids in ids.chunks(AT_ONCE) {
                for _ in 0..MAX_TRIES {
                    let topology = self.deployment.topology();
                    // The guard does not wait for an unreachable server: its cursors end when they
                    // time out or when the server stops.
                    if !topology.servers.get(&server).is_some_and(|s| s.kind.holds_data()) {
                        break;
                    }
                    let question = doc! { "killCursors": &collection, "cursors": ids };
                    if self.ask(&login, 0, &server, &database, question).await.is_ok() {
                        break;
                    }
                }
            }
        }
    }

    /// Runs a command of the guard with the login of a user.
    pub(crate) async fn ask(
        &self,
        login: &Login,
        turn: u64,
        server: &Address,
        database: &str,
        question: Document,
    ) -> Result<Document, OpenError> {
        let gone = |why: String| OpenError::Answer(why);
        let member =
            self.deployment.member(server).ok_or_else(|| gone("no such server".to_owned()))?;
        let lease = member.take(login, Lane::Ordinary, turn, Purpose::Other);
        let mut lease = lease.await.map_err(|denied| gone(denied.to_string()))?;
        let connection = lease.begin().ok_or_else(|| gone("no connection".to_owned()))?;
        let frame = command(1, database, question, Flags::default())?;
        connection.send(&frame).await?;
        let reply = tokio::select! {
            reply = timeout(OWN_COMMANDS, connection.listen()) => {
                reply.unwrap_or(Err(OpenError::Timeout(OWN_COMMANDS)))?.0
            }
            () = member.lost.notified() => return Err(gone("it does not answer".to_owned())),
        };
        lease.end();
        Ok(reply)
    }
}
