//! Sends commands to servers and returns the replies. The guard reads the complete command before it takes a
//! connection, and releases the connection before it writes the reply. A slow client therefore never occupies a
//! connection.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bson::{Bson, Document, doc};
use bytes::BytesMut;
use docward_net::{
    Denied, Lane, Member, OpenError, Purpose,
    select::{BadPreference, ReadPreference},
    topology::{Address, TopologyKind, TopologyVersion},
};
use docward_wire::{Flags, Header, Kind, message, put_i64};
use tokio::time::Instant;

use crate::{
    caller::Caller,
    commands::Class,
    cursors::{Cursor, InUse as CursorInUse, NoCursor},
    errors::{Failure, code, hide_state_change, label},
    guard::Guard,
    reply::{self, ReplyFacts},
    request::Request,
    transactions::InUse as TransactionInUse,
};

/// The servers that a command may go to.
#[derive(Clone, Debug)]
enum Target {
    /// Only this server.
    Server(Address),
    /// Any server that the read preference allows.
    Any(ReadPreference),
}

/// The next attempt to send a command.
struct Attempt {
    target: Target,
    /// The server that could not be reached.
    avoid: Option<Address>,
    /// Attempts that ended before the command was sent.
    tries: usize,
    was_sent: bool,
}

impl Attempt {
    /// Returns the error for an attempt that ended before the command was sent. After an earlier attempt that sent it,
    /// the command may have been executed.
    fn failed(&self, request: &Request, code: i32, why: &str) -> Failure {
        if self.was_sent { broken(request, None, why) } else { unsent(request, code, why) }
    }

    /// Prepares to send the command a second time, to any suitable server.
    fn repeat(&mut self) {
        self.was_sent = true;
        if let Target::Server(_) = self.target {
            self.target = Target::Any(ReadPreference::default());
        }
    }
}

/// The maximum nesting depth of commands that the guard converts to a [`Document`], as on servers. Deeper ones could
/// overflow the stack.
pub(crate) const DEEPEST: usize = 180;
/// The maximum size of a `killCursors` command in bytes. The guard converts it to a document.
const MAX_KILL_CURSORS: usize = 1024 * 1024;
/// Maximum number of attempts to get a connection for a command.
const MAX_TRIES: usize = 3;

impl Guard {
    /// Sends a command and returns the reply, in which cursor ids of the server are replaced by those of the guard.
    pub(crate) async fn forward(
        &self,
        who: &Caller,
        request: &mut Request,
        at_server: &mut Duration,
    ) -> Result<BytesMut, Failure> {
        if request.class == Class::KillCursors {
            return self.kill_cursors(who, request).await;
        }
        let own = self.own_cursor(who, request)?;
        let (cursor, _cursor_in_use) =
            own.map_or((None, None), |(id, cursor, used)| (Some((id, cursor)), Some(used)));
        let name = &who.identity.name;
        let _session_in_use = request
            .session
            .and_then(|session| self.cursors.begin_session_use(name, session, who.client));
        let transaction = self.own_transaction(who, request);
        let began_at = transaction.as_ref().map(|transaction| &transaction.server);
        let target = self.target(who, request, cursor.as_ref().map(|c| &c.1), began_at)?;
        let (mut frame, seen, member) =
            self.deliver(who, request, target, cursor.as_ref().map(|c| &c.1), at_server).await?;
        self.note_transaction(who, request, &seen, &member);
        if let Some((id, mut known)) = cursor {
            // The reply has the server's cursor id, or 0 after the last batch.
            match seen.cursor {
                Some((at, real)) if real == known.id => {
                    let _ = put_i64(&mut frame, at, id);
                }
                Some((at, real)) => {
                    self.cursors.remove(id);
                    known.id = real;
                    known.client = who.client;
                    let new = self.add_cursor(known).await;
                    let _ = put_i64(&mut frame, at, new);
                }
                None if seen.has_cursor || seen.code == Some(i64::from(code::CURSOR_NOT_FOUND)) => {
                    self.cursors.remove(id);
                }
                None => {}
            }
        } else if let Some((at, real)) = seen.cursor {
            let id = self.keep_cursor(who, request, &member, real, &frame).await;
            let _ = put_i64(&mut frame, at, id);
        }
        Ok(frame)
    }

    /// Returns the cursor of a `getMore` with the client's id, and writes the server's id into the command. Returns
    /// `None` for other commands.
    fn own_cursor(
        &self,
        who: &Caller,
        request: &mut Request,
    ) -> Result<Option<(i64, Cursor, CursorInUse<'_>)>, Failure> {
        if request.class != Class::GetMore {
            return Ok(None);
        }
        let not_found = |id: i64, more: &str| {
            Failure::new(code::CURSOR_NOT_FOUND, format!("cursor id {id} not found{more}"))
        };
        let Some(number) = request.cursor else {
            return Err(wrong_type("getMore.getMore", "long"));
        };
        if number.kind != Kind::Int64 {
            return Err(wrong_type("getMore.getMore", "long"));
        }
        let found = self.cursors.begin_use(number.value, &who.identity.name, who.client);
        let (cursor, used) = found.map_err(|no| match no {
            NoCursor::Unknown => not_found(number.value, ""),
            NoCursor::Elsewhere => not_found(
                number.value,
                ": another docward guard opened it; list all guards in the connection string, or use loadBalanced=true",
            ),
        })?;
        if !number.put(&mut request.frame, cursor.id) {
            return Err(not_found(number.value, ": the id must be a 64-bit integer"));
        }
        Ok(Some((number.value, cursor, used)))
    }

    /// Returns the transaction that a command continues, if the guard knows it.
    fn own_transaction(&self, who: &Caller, request: &Request) -> Option<TransactionInUse<'_>> {
        let (Some(session), Some(number)) = (request.session, request.transaction) else {
            return None;
        };
        if !request.continues_transaction() {
            return None;
        }
        self.transactions.begin_use(&who.identity.name, session, number, who.client)
    }

    fn target(
        &self,
        who: &Caller,
        request: &Request,
        cursor: Option<&Cursor>,
        began_at: Option<&Address>,
    ) -> Result<Target, Failure> {
        // All users of the list share one server account, so the servers do not protect their
        // transactions from each other. Commits pass, because the guard does not know older
        // transactions after a restart. The error "no such transaction" would make a driver repeat
        // a committed transaction. A commit still needs the random id of the session.
        if request.continues_transaction()
            && began_at.is_none()
            && who.identity.listed.is_some()
            && request.class != Class::EndTransaction
        {
            let why = "docward: this user has no such transaction";
            return Err(Failure::new(code::NO_TRANSACTION, why).with(&[label::TRANSIENT]));
        }
        if let Some(at) = &who.at {
            return Ok(Target::Server(at.clone()));
        }
        if let Some(cursor) = cursor {
            return Ok(Target::Server(cursor.server.clone()));
        }
        if let Some(server) = began_at
            && self.is_pinned(server, request)
        {
            return Ok(Target::Server(server.clone()));
        }
        let bad = |error: &BadPreference| {
            let code = match error {
                BadPreference::Staleness => code::STALENESS,
                BadPreference::Broken(_) => code::FAILED_TO_PARSE,
                _ => code::BAD_VALUE,
            };
            Failure::new(code, error.to_string())
        };
        match request.class {
            Class::Read => {
                let preference = request.preference.clone().map_err(|error| bad(&error))?;
                preference
                    .check(self.deployment.upstream.heartbeat)
                    .map_err(|error| bad(&error))?;
                Ok(Target::Any(preference))
            }
            _ => Ok(Target::Any(ReadPreference::default())),
        }
    }

    /// Whether a command of a transaction has to go to the server where the transaction began.
    ///
    /// - In a replica set, the command goes to the primary. After a failover, the primary knows the
    ///   outcome of the transaction.
    /// - In a sharded cluster, any router can end a transaction whose router has failed.
    fn is_pinned(&self, server: &Address, request: &Request) -> bool {
        let topology = self.deployment.topology();
        let is_usable = topology.servers.get(server).is_some_and(|s| s.kind.holds_data());
        topology.kind == TopologyKind::Sharded
            && (is_usable || request.class != Class::EndTransaction)
    }

    /// Sends a command and reads the reply. Sends the command again after a failure if that is safe.
    async fn deliver(
        &self,
        who: &Caller,
        request: &Request,
        target: Target,
        cursor: Option<&Cursor>,
        at_server: &mut Duration,
    ) -> Result<(BytesMut, ReplyFacts, Arc<Member>), Failure> {
        let start = Instant::now();
        let mut attempt = Attempt { target, avoid: None, tries: 0, was_sent: false };
        loop {
            let member = self.member(&attempt, request, cursor).await?;
            let lease = tokio::select! {
                lease = self.lease(who, request, &member, cursor) => lease,
                () = who.left.notified(), if request.is_given_up() => return Err(gone()),
            };
            let mut lease = match lease {
                Ok(lease) => lease,
                Err(Denied::Open(error)) if !error.is_login() => {
                    self.deployment.failed(&member, &error.to_string(), None);
                    attempt.tries += 1;
                    if attempt.tries < MAX_TRIES && matches!(attempt.target, Target::Any(_)) {
                        attempt.avoid = Some(member.address.clone());
                        continue;
                    }
                    let why = format!("docward: {}: {error}", member.address);
                    return Err(attempt.failed(request, code::HOST_UNREACHABLE, &why));
                }
                // The server was removed from the deployment, so select another one.
                Err(Denied::Closed) if attempt.tries < MAX_TRIES => {
                    attempt.tries += 1;
                    continue;
                }
                Err(denied) => return Err(self.denied(&attempt, request, &member, who, &denied)),
            };
            // In `getMore`, `maxTimeMS` limits the wait for new data and not the command.
            if let Some(most) = request.max_time_ms.and_then(|ms| u128::try_from(ms).ok())
                && most > 0
                && request.class != Class::GetMore
                && start.elapsed().as_millis() >= most
            {
                let why = "docward: operation exceeded time limit before it was sent";
                return Err(attempt.failed(request, code::MAX_TIME_EXPIRED, why));
            }
            member.in_flight.fetch_add(1, Ordering::Relaxed);
            let sent = Instant::now();
            let answered = match lease.begin() {
                Some(connection) => tokio::select! {
                    biased;
                    answered = connection.exchange(&request.frame) => answered,
                    // The server no longer answers its monitor, so the reply may never arrive.
                    () = member.lost.notified() => Err(docward_net::ReadError::Cut),
                    // Dropping the lease closes the connection, and the server cancels the command.
                    () = who.left.notified(), if request.is_given_up() => {
                        member.in_flight.fetch_sub(1, Ordering::Relaxed);
                        return Err(gone());
                    }
                },
                None => Err(docward_net::ReadError::Cut),
            };
            *at_server += sent.elapsed();
            member.in_flight.fetch_sub(1, Ordering::Relaxed);
            let again = request.can_be_sent_again() && !attempt.was_sent && who.at.is_none();
            let answer = match answered {
                Ok(frame) => {
                    let seen = reply::look(&frame);
                    let seen = seen.map_err(|fault| {
                        Failure::new(
                            code::HOST_UNREACHABLE,
                            format!("docward: {}: {fault}", member.address),
                        )
                    })?;
                    if !seen.has_more {
                        lease.end();
                    }
                    drop(lease);
                    (frame, seen)
                }
                Err(error) => {
                    // A connection that was opened before the last failure does not show the current state of the
                    // server.
                    let is_news = !lease.is_outdated();
                    drop(lease);
                    if is_news {
                        self.deployment.failed(&member, &error.to_string(), None);
                    }
                    if again {
                        self.metrics.resent.inc();
                        attempt.repeat();
                        continue;
                    }
                    return Err(broken(
                        request,
                        cursor,
                        &format!("docward: {}: {error}", member.address),
                    ));
                }
            };
            let (frame, seen) = answer;
            self.note_time(&frame, &seen);
            if !seen.changes_state {
                return Ok((frame, seen, member));
            }
            let mut tree = reply::tree(&frame).unwrap_or_default();
            let text = tree.get_str("errmsg").unwrap_or("the server changed its role").to_owned();
            self.deployment.failed(&member, &text, TopologyVersion::of(&tree));
            if who.at.is_some() {
                return Ok((frame, seen, member));
            }
            // Servers since 4.4 add the label `RetryableWriteError` if a write may be sent again.
            let may_be = seen.is_retryable || request.class == Class::Read;
            if again && may_be && !seen.is_ok {
                self.metrics.resent.inc();
                attempt.repeat();
                continue;
            }
            hide_state_change(&mut tree);
            let frame =
                reply::rebuilt(&frame, &tree).map_or(frame, |frame| BytesMut::from(&frame[..]));
            let seen = reply::look(&frame).unwrap_or_default();
            return Ok((frame, seen, member));
        }
    }

    async fn member(
        &self,
        attempt: &Attempt,
        request: &Request,
        cursor: Option<&Cursor>,
    ) -> Result<Arc<Member>, Failure> {
        match &attempt.target {
            Target::Server(address) => self.deployment.member(address).ok_or_else(|| {
                let why = format!("docward: {address} is no longer part of the deployment");
                match cursor {
                    Some(_) => broken(request, cursor, &why),
                    None => attempt.failed(request, code::HOST_UNREACHABLE, &why),
                }
            }),
            Target::Any(preference) => {
                let found = self.deployment.select(preference, attempt.avoid.as_ref()).await;
                found.map_err(|error| {
                    attempt.failed(request, code::NO_SERVER, &format!("docward: {error}"))
                })
            }
        }
    }

    async fn lease(
        &self,
        who: &Caller,
        request: &Request,
        member: &Member,
        cursor: Option<&Cursor>,
    ) -> Result<docward_net::Leased, Denied<Arc<OpenError>>> {
        let purpose = match request.class {
            Class::GetMore => Purpose::Cursor,
            _ if request.is_in_transaction => Purpose::Transaction,
            _ => Purpose::Other,
        };
        let awaits = cursor.is_some_and(|cursor| cursor.awaits);
        let lane = if awaits { Lane::Awaiting } else { Lane::Ordinary };
        member.take(&who.identity.login, lane, who.turn, purpose).await
    }

    fn denied(
        &self,
        attempt: &Attempt,
        request: &Request,
        member: &Member,
        who: &Caller,
        denied: &Denied<Arc<OpenError>>,
    ) -> Failure {
        match denied {
            Denied::Open(error) => {
                member.forget(&who.identity.login);
                Failure::new(
                    code::AUTHENTICATION_FAILED,
                    format!("docward: {}: {error}", member.address),
                )
            }
            denied => {
                self.metrics.rejected.inc();
                let mut failure =
                    attempt.failed(request, code::POOL, &format!("docward: {denied}"));
                failure.labels.extend([label::OVERLOADED, label::RETRYABLE]);
                failure.backoff_ms = Some(100);
                failure
            }
        }
    }

    fn note_transaction(
        &self,
        who: &Caller,
        request: &Request,
        seen: &ReplyFacts,
        member: &Member,
    ) {
        let (Some(session), Some(number)) = (request.session, request.transaction) else { return };
        let name = &who.identity.name;
        if request.class == Class::EndTransaction || seen.is_transient {
            self.transactions.end(name, session, number);
        } else if request.starts_transaction {
            let at = member.address.clone();
            self.transactions.begin(name, session, number, at, who.client);
        }
    }

    async fn keep_cursor(
        &self,
        who: &Caller,
        request: &Request,
        member: &Member,
        id: i64,
        frame: &[u8],
    ) -> i64 {
        let namespace =
            namespace_of(frame).unwrap_or_else(|| (request.database.clone(), String::new()));
        let cursor = Cursor {
            server: member.address.clone(),
            id,
            user: Arc::clone(&who.identity.name),
            login: Arc::clone(&who.identity.login),
            session: request.session,
            client: who.client,
            awaits: request.awaits,
            is_change_stream: request.is_change_stream,
            is_kept: request.is_kept,
            namespace,
        };
        self.add_cursor(cursor).await
    }

    /// Adds a cursor and returns its id. If the user had too many, the oldest is closed on its server. A user who opens
    /// cursors faster than servers close them has to wait.
    async fn add_cursor(&self, cursor: Cursor) -> i64 {
        let (id, displaced) = self.cursors.add(cursor, crate::guard::random);
        if let Some(displaced) = displaced {
            let _ = self.displaced.send(displaced).await;
        }
        id
    }

    /// Handles `killCursors`, whose cursors may be open on several servers.
    async fn kill_cursors(&self, who: &Caller, request: &Request) -> Result<BytesMut, Failure> {
        let bad = || Failure::new(code::FAILED_TO_PARSE, "cannot parse killCursors");
        if request.frame.len() > MAX_KILL_CURSORS {
            return Err(bad());
        }
        let body = request.body().map_err(|_| bad())?;
        let Some(ids) = body.get("cursors").map_err(|_| bad())? else {
            let why = "BSON field 'killCursors.cursors' is missing but a required field";
            return Err(Failure::new(code::MISSING_FIELD, why));
        };
        let ids = ids.document().filter(|_| ids.kind == Kind::Array);
        let ids = ids.ok_or_else(|| wrong_type("killCursors.cursors", "array"))?;
        let mut by_server: Vec<(Address, Vec<(i64, i64)>)> = Vec::new();
        let mut unknown = Vec::new();
        for id in ids.elements() {
            let id = id.map_err(|_| bad())?;
            let id = id.integer().filter(|_| id.kind == Kind::Int64);
            let id = id.ok_or_else(|| wrong_type("killCursors.cursors", "long"))?;
            match self.cursors.get(id, &who.identity.name) {
                Err(_) => unknown.push(id),
                Ok(cursor) => {
                    let pair = (id, cursor.id);
                    match by_server.iter_mut().find(|(server, _)| *server == cursor.server) {
                        Some((_, pairs)) => pairs.push(pair),
                        None => by_server.push((cursor.server, vec![pair])),
                    }
                }
            }
        }
        if !body.is_within(DEEPEST).map_err(|_| bad())? {
            return Err(bad());
        }
        let raw = bson::RawDocument::from_bytes(body.bytes()).map_err(|_| bad())?;
        let question = Document::try_from(raw).map_err(|_| bad())?;
        let mut answer = doc! {
            "cursorsKilled": [], "cursorsNotFound": unknown, "cursorsAlive": [], "cursorsUnknown": [],
        };
        for (server, pairs) in by_server {
            let mut part = question.clone();
            part.insert("cursors", pairs.iter().map(|(_, real)| *real).collect::<Vec<_>>());
            let said =
                self.ask(&who.identity.login, who.turn, &server, &request.database, part).await;
            for name in ["cursorsKilled", "cursorsNotFound", "cursorsAlive", "cursorsUnknown"] {
                let own = said.as_ref().ok().and_then(|said| said.get_array(name).ok());
                let own = own.into_iter().flatten().filter_map(Bson::as_i64);
                let ours = own
                    .filter_map(|real| pairs.iter().find(|(_, r)| *r == real).map(|(id, _)| *id));
                let ours: Vec<Bson> = ours.map(Bson::Int64).collect();
                if let Ok(all) = answer.get_array_mut(name) {
                    all.extend(ours);
                }
            }
            // The cursors of an unreachable server cannot be used again.
            if said.is_err() {
                let gone = pairs.iter().map(|(id, _)| Bson::Int64(*id));
                if let Ok(all) = answer.get_array_mut("cursorsNotFound") {
                    all.extend(gone);
                }
            }
            pairs.iter().for_each(|(id, _)| self.cursors.remove(*id));
        }
        answer.insert("ok", 1.0);
        if let Some(time) = self.cluster_time() {
            answer.insert("$clusterTime", time);
        }
        let header = Header::of_frame(&request.frame).map_err(|_| bad())?;
        let body = answer.to_vec().map_err(|_| bad())?;
        let frame = message(header.request_id, header.request_id, Flags::default(), &body);
        Ok(BytesMut::from(&frame[..]))
    }
}

/// Returns the error for a command whose client disconnected. Only the log and the metrics show it.
pub(crate) fn gone() -> Failure {
    Failure::new(code::INTERRUPTED, "docward: the client disconnected")
}

fn wrong_type(field: &str, expected: &str) -> Failure {
    let why = format!("BSON field '{field}' is the wrong type, expected type '{expected}'");
    Failure::new(code::TYPE_MISMATCH, why)
}

/// Returns the database and collection of the cursor in a reply.
fn namespace_of(frame: &[u8]) -> Option<(String, String)> {
    let parsed = docward_wire::Message::parse(frame).ok()?;
    let body = parsed.body(frame).ok()?;
    let cursor = body.get("cursor").ok()??.document()?;
    let (database, collection) = cursor.get("ns").ok()??.text()?.split_once('.')?;
    Some((database.to_owned(), collection.to_owned()))
}

/// Returns the error for a command that was not sent. In transactions and for retryable writes, it has labels that let
/// drivers retry.
pub(crate) fn unsent(request: &Request, code: i32, why: &str) -> Failure {
    let failure = Failure::new(code, why);
    if request.starts_transaction
        || request.is_in_transaction && request.class != Class::EndTransaction
    {
        failure.with(&[label::TRANSIENT])
    } else if request.is_retryable_write() {
        failure.with(&[label::RETRYABLE_WRITE, label::NO_WRITES])
    } else if request.class == Class::EndTransaction {
        failure.with(&[label::RETRYABLE_WRITE])
    } else {
        failure
    }
}

/// Returns the error for a command that was sent and not answered, or for a cursor whose server left the deployment.
fn broken(request: &Request, cursor: Option<&Cursor>, why: &str) -> Failure {
    match request.class {
        Class::EndTransaction => {
            Failure::new(code::HOST_UNREACHABLE, why).with(&[label::RETRYABLE_WRITE])
        }
        _ if request.is_in_transaction => {
            Failure::new(code::HOST_UNREACHABLE, why).with(&[label::TRANSIENT])
        }
        Class::GetMore if cursor.is_some_and(|cursor| cursor.is_change_stream) => {
            Failure::new(code::HOST_UNREACHABLE, why).with(&[label::RESUMABLE])
        }
        Class::GetMore | Class::Read => Failure::new(code::HOST_UNREACHABLE, why),
        _ if request.is_retryable_write() => {
            Failure::new(code::HOST_UNREACHABLE, why).with(&[label::RETRYABLE_WRITE])
        }
        _ => Failure::new(
            code::HOST_UNREACHABLE,
            format!("{why}; it is unknown whether the server executed the command"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{Binary, spec::BinarySubtype};

    #[test]
    fn px_4_a_write_that_was_sent_once_is_not_reported_as_not_performed() {
        let id = Binary { subtype: BinarySubtype::Uuid, bytes: vec![7; 16] };
        let body = doc! { "insert": "t", "$db": "d", "lsid": { "id": id }, "txnNumber": 1_i64 };
        let frame = message(1, 0, Flags::default(), &body.to_vec().unwrap());
        let request = Request::parse(BytesMut::from(&frame[..])).unwrap();
        let target = Target::Any(ReadPreference::default());
        let mut attempt = Attempt { target, avoid: None, tries: 0, was_sent: false };
        let labels = |attempt: &Attempt| attempt.failed(&request, code::NO_SERVER, "").labels;
        assert_eq!(labels(&attempt), [label::RETRYABLE_WRITE, label::NO_WRITES]);
        attempt.repeat();
        assert_eq!(labels(&attempt), [label::RETRYABLE_WRITE]);
    }
}
