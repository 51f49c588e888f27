//! One client connection: the guard reads a message, answers it, and reads the next.

mod greeting;
mod login;

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bson::{Document, RawDocument, RawDocumentBuf, rawdoc};
use bytes::BytesMut;
use docward_net::{Credential, Frames, ReadError, Stream, topology::Address};
use docward_wire::{
    Compressor, Flags, Header, Op, Query, compress, decompress, failed_reply, message, reply,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout, timeout_at},
};

use crate::{
    auth::{Identity, Login},
    caller::Caller,
    commands::Class,
    errors::{Failure, code, label},
    forward::DEEPEST,
    guard::{CountedAs, Guard, LINGER},
    rates,
    request::Request,
    settings::Auth,
};

/// Time for a message to arrive or to be accepted, plus the time that [`LEAST_RATE`] allows for its length.
const PATIENCE: Duration = Duration::from_secs(30);
/// Minimum transfer rate for long messages, in bytes per second.
const LEAST_RATE: usize = 32 * 1024;
/// Maximum size of messages before the login, and of commands that the guard answers itself.
pub(crate) const MAX_BEFORE_LOGIN: usize = 64 * 1024;
/// Time for the first `hello`, and for a login from its first to its last step.
const LOGIN_WITHIN: Duration = Duration::from_secs(10);
/// Maximum time that a client without a login may stay silent after its first `hello`.
const SILENT: Duration = Duration::from_secs(600);
/// Messages up to this size are read even when the memory budget is used up.
const SHORT: usize = 64 * 1024;
/// The part of a message that is charged to the memory budget before the rest arrives.
const STEP: usize = 4 * 1024;
/// The guard closes the unused cursors and transactions of a disconnected client after this time.
const ORPHANED_AFTER: Duration = Duration::from_secs(30);
/// The time that a command runs before the guard checks whether its client has disconnected.
const GIVE_UP_AFTER: Duration = Duration::from_secs(1);

/// Serves a client until the client or the guard closes the connection.
pub(crate) async fn serve(
    guard: &Arc<Guard>,
    stream: Stream,
    peer: Option<SocketAddr>,
    number: u64,
    at: Option<Address>,
) -> Left {
    let turn = match peer.map(|peer| peer.ip()) {
        Some(IpAddr::V4(address)) => u64::from(address.to_bits()),
        Some(IpAddr::V6(address)) => u64::try_from(address.to_bits() >> 64).unwrap_or(0),
        None => number,
    };
    let (identity, is_known) = match guard.settings.auth {
        Auth::Off => (guard.service.clone(), true),
        Auth::Mirror | Auth::List => {
            (Identity::of(docward_net::Login::from(Credential::None)), false)
        }
    };
    let mut client = Client {
        who: Caller { client: number, turn, identity, at, left: Arc::default() },
        peer,
        subject: stream.subject(),
        is_known,
        login: None,
        is_balanced: false,
        counted: None,
        own: rates::ClientLimits::default(),
        is_greeted: false,
        heard: Instant::now(),
        guard: Arc::clone(guard),
    };
    let mut frames = Frames::new(stream);
    if let Err(error) = client.talk(&mut frames).await {
        if let Closed::Read(ReadError::Fault(_)) | Closed::Fault(_) | Closed::Operation(_) = error {
            client.guard.metrics.protocol.inc();
        }
        tracing::debug!(client = number, %error, "client connection closed");
    }
    frames.close().await;
    client.abandoned()
}

/// A user who disconnected or logged out, and who may have left cursors and transactions open.
pub(crate) struct Left {
    guard: Arc<Guard>,
    who: Caller,
    is_balanced: bool,
}

impl Left {
    /// Closes the cursors and aborts the transactions that the user no longer uses through another connection. Behind a
    /// load balancer they are bound to one connection, so this happens at once.
    pub(crate) async fn clean_up(self) {
        let Self { guard, who, is_balanced } = self;
        if !guard.has_open(&who) {
            return;
        }
        let unused = if is_balanced { Duration::ZERO } else { ORPHANED_AFTER };
        tokio::time::sleep(unused).await;
        guard.close_unused(&who, unused).await;
    }
}

struct Client {
    guard: Arc<Guard>,
    who: Caller,
    peer: Option<SocketAddr>,
    /// The subject of the client's certificate.
    subject: Option<Box<str>>,
    is_known: bool,
    login: Option<Login>,
    is_balanced: bool,
    counted: Option<CountedAs>,
    own: rates::ClientLimits,
    /// Whether the client has sent `hello`.
    is_greeted: bool,
    /// When the last message began, or when the client connected.
    heard: Instant,
}

/// Why the guard closes a client connection.
#[derive(Debug, thiserror::Error)]
enum Closed {
    #[error("{0}")]
    Read(#[from] ReadError),
    #[error("{0}")]
    Fault(#[from] docward_wire::Fault),
    #[error("{0}")]
    Write(#[from] std::io::Error),
    #[error("the client did not send or accept a message in time")]
    Slow,
    #[error("the client did not log in in time")]
    NoLogin,
    #[error("opcode {0} is not supported")]
    Operation(i32),
    #[error("the replica set member is not available: {0}")]
    NoMember(String),
}

impl Client {
    async fn talk(&mut self, frames: &mut Frames) -> Result<(), Closed> {
        let mut draining = self.guard.draining();
        loop {
            if !self.next_begins(frames, &mut draining).await? {
                return Ok(());
            }
            self.heard = Instant::now();
            let most = if self.is_known { Header::MAX_LENGTH } else { MAX_BEFORE_LOGIN };
            let begun = timeout(PATIENCE, frames.begin(most)).await.map_err(|_| Closed::Slow)??;
            let guard = Arc::clone(&self.guard);
            // Short messages are always read, because a commit or `killCursors` may be needed to end other commands.
            if begun > SHORT {
                guard.memory.room().await;
            }
            let mut held = guard.memory.hold(begun.min(STEP));
            let reading = frames.read_counted(most, |bytes| held.and(bytes));
            let read = timeout(patience(begun), reading).await;
            let Some(frame) = read.map_err(|_| Closed::Slow)?? else { return Ok(()) };
            if let Some(unpacked) = unpacked(&frame) {
                held.and(unpacked.min(most));
            }
            guard.metrics.received.inc_by(u64::try_from(begun).unwrap_or(0));
            let left = Arc::clone(&self.who.left);
            // The future is on the heap, so that the task of an idle client stays small.
            let mut answering = Box::pin(self.answer(frame));
            let answer = tokio::select! {
                biased;
                answer = &mut answering => answer,
                () = leaves(frames) => {
                    left.notify_one();
                    let answer = answering.await;
                    // The command may not have used the notification, and the next one must not see it.
                    self.who.left = Arc::default();
                    answer
                }
            }?;
            if let Some(answer) = answer {
                held.and(answer.len());
                guard.metrics.sent.inc_by(u64::try_from(answer.len()).unwrap_or(0));
                let written = timeout(patience(answer.len()), frames.write(&answer)).await;
                written.map_err(|_| Closed::Slow)??;
            }
        }
    }

    /// Waits for the first byte of a message. Returns `false` if the client disconnected or the guard shuts down.
    async fn next_begins(
        &self,
        frames: &mut Frames,
        draining: &mut watch::Receiver<Option<Instant>>,
    ) -> Result<bool, Closed> {
        let since = loop {
            let since = *draining.borrow_and_update();
            if since.is_some() {
                break since;
            }
            tokio::select! {
                waited = frames.wait() => return Ok(waited?),
                _ = draining.changed() => {}
                () = sleep_until(self.heard + self.silence()), if !self.is_known => {
                    return Err(Closed::NoLogin);
                }
            }
        };
        // Drivers learn of the shutdown from `hello` and use another guard. Clients with open cursors or transactions
        // may finish them.
        let mut until = since.unwrap_or(self.heard) + LINGER;
        loop {
            if let Ok(waited) = timeout_at(until, frames.wait()).await {
                return Ok(waited?);
            }
            if !self.guard.has_open(&self.who) {
                return Ok(false);
            }
            until = Instant::now() + LINGER / 4;
        }
    }

    /// Returns the reply to a message, or `None` if the client expects none.
    async fn answer(&mut self, frame: BytesMut) -> Result<Option<BytesMut>, Closed> {
        let header = Header::of_frame(&frame)?;
        match header.op {
            Op::Msg => self.answer_message(header, frame).await,
            Op::Compressed => {
                let most = if self.is_known { Header::MAX_LENGTH } else { MAX_BEFORE_LOGIN };
                let (inner, compressor) = decompress(&frame, most)?;
                let header = Header::of_frame(&inner)?;
                if header.op != Op::Msg {
                    return Err(Closed::Operation(header.op.code()));
                }
                let answer = self.answer_message(header, BytesMut::from(&inner[..])).await?;
                Ok(answer.map(|answer| packed(&answer, compressor)))
            }
            Op::Query => self.answer_query(header, &frame).await.map(Some),
            Op::Reply | Op::Other(_) => Err(Closed::Operation(header.op.code())),
        }
    }

    async fn answer_query(&mut self, header: Header, frame: &[u8]) -> Result<BytesMut, Closed> {
        let query = Query::parse(frame)?;
        if !docward_wire::Document::new(query.document.of(frame))?.is_within(DEEPEST)? {
            return Err(docward_wire::Fault::Document("it has too many nested levels").into());
        }
        let raw = RawDocument::from_bytes(query.document.of(frame));
        let command = raw.and_then(Document::try_from).unwrap_or_default();
        let name = command.keys().next().cloned().unwrap_or_default();
        let answer = if matches!(name.as_str(), "hello" | "isMaster" | "ismaster") {
            let body = self.hello(&command).await;
            let body = match body {
                Err(failure) if failure.code == code::NO_MEMBER => {
                    return Err(Closed::NoMember(failure.errmsg));
                }
                body => body.unwrap_or_else(|failure| failure.document()),
            };
            reply(self.guard.next_id(), header.request_id, body.as_bytes())
        } else {
            let why = format!(
                "Unsupported OP_QUERY command: {name}. The client driver may require an upgrade."
            );
            failed_reply(self.guard.next_id(), header.request_id, code::UNSUPPORTED_OP_QUERY, &why)
        };
        Ok(BytesMut::from(&answer[..]))
    }

    async fn answer_message(
        &mut self,
        header: Header,
        frame: BytesMut,
    ) -> Result<Option<BytesMut>, Closed> {
        let began = Instant::now();
        let mut request = Request::parse(frame)?;
        let mut at_server = Duration::ZERO;
        let answered = match request.class {
            Class::Local => match self.local(&request).await {
                Ok(body) => Ok(self.message(header, &body)),
                Err(failure) if failure.code == code::NO_MEMBER => {
                    return Err(Closed::NoMember(failure.errmsg));
                }
                Err(failure) => Err(failure),
            },
            Class::Refused => Err(Failure::new(
                code::GET_LAST_ERROR,
                "getLastError command is not supported: use writeConcern",
            )),
            _ if !self.is_known => Err(Failure::new(
                code::UNAUTHORIZED,
                format!("command {} requires authentication", request.name),
            )),
            // The servers would name the account that all users of the list share.
            Class::Read if request.name == "connectionStatus" && self.is_listed() => {
                login::connection_status(&self.who.identity.name)
                    .map(|body| self.message(header, &body))
            }
            _ => {
                if request.is_unacknowledged {
                    request.acknowledge();
                }
                if request.command.is_none() {
                    self.guard.metrics.unknown.inc();
                }
                self.send(&mut request, &mut at_server).await
            }
        };
        self.guard.metrics.answered(request.class, began.elapsed(), at_server);
        if request.is_unacknowledged {
            return Ok(None);
        }
        match answered {
            Ok(answer) => Ok(Some(answer)),
            // The driver treats a closed connection as a failure of that member.
            Err(failure) if self.who.at.is_some() && failure.code == code::HOST_UNREACHABLE => {
                Err(Closed::NoMember(failure.errmsg))
            }
            Err(failure) => {
                self.guard.failed(&failure);
                Ok(Some(self.message(header, &failure.document())))
            }
        }
    }

    /// Checks the rights and limits of the client, and sends a command to a server when the gate is open.
    async fn send(
        &mut self,
        request: &mut Request,
        at_server: &mut Duration,
    ) -> Result<BytesMut, Failure> {
        if let Some(user) = &self.who.identity.listed {
            // Use the current list, because a reload may have removed rights since the login.
            let user = self.guard.users.listed(&user.name).ok_or_else(|| {
                Failure::new(code::UNAUTHORIZED, "docward: this user was removed from the list")
            })?;
            user.check(request)?;
        }
        let application = self.counted.as_ref().map_or(&self.guard.unnamed, CountedAs::application);
        self.guard.rates.own(&mut self.own, &self.who.identity.name, application);
        let _running = self.own.admit(request.frame.len()).map_err(|limit| {
            self.guard.metrics.limited.inc();
            let why = format!(
                "docward: user {:?} with application {:?} reached the limit of {limit}",
                self.who.identity.name, application
            );
            let mut failure = crate::forward::unsent(request, code::RATE, &why)
                .with(&[label::OVERLOADED, label::RETRYABLE]);
            failure.backoff_ms = Some(100);
            failure
        })?;
        let is_ending =
            self.guard.draining().borrow().is_some_and(|since| since.elapsed() > LINGER);
        if is_ending && request.starts_transaction {
            let why = "docward: this guard is shutting down";
            return Err(crate::forward::unsent(request, code::SHUTDOWN, why));
        }
        let writes = matches!(request.class, Class::Write | Class::EndTransaction);
        let passing = tokio::select! {
            passing = self.guard.gate.pass(|| request.namespace(), writes) => passing,
            () = self.who.left.notified(), if request.is_given_up() => {
                return Err(crate::forward::gone());
            }
        };
        let answer = self.guard.forward(&self.who, request, at_server).await;
        drop(passing);
        answer
    }

    fn message(&self, header: Header, body: &RawDocument) -> BytesMut {
        let frame =
            message(self.guard.next_id(), header.request_id, Flags::default(), body.as_bytes());
        BytesMut::from(&frame[..])
    }

    /// Returns what [`Left::clean_up`] needs to close the open cursors and transactions of the current user.
    fn abandoned(&self) -> Left {
        Left {
            guard: Arc::clone(&self.guard),
            who: self.who.clone(),
            is_balanced: self.is_balanced,
        }
    }

    /// Answers a command that the guard does not forward.
    async fn local(&mut self, request: &Request) -> Result<RawDocumentBuf, Failure> {
        let bad = || Failure::new(code::FAILED_TO_PARSE, format!("cannot parse {}", request.name));
        if request.frame.len() > MAX_BEFORE_LOGIN {
            return Err(bad());
        }
        let raw = request.body().map_err(|_| bad())?;
        if !raw.is_within(DEEPEST).map_err(|_| bad())? {
            return Err(bad());
        }
        let command =
            RawDocument::from_bytes(raw.bytes()).and_then(Document::try_from).map_err(|_| bad())?;
        match request.name.as_str() {
            "hello" | "isMaster" | "ismaster" => self.hello(&command).await,
            "whatsmyuri" => {
                let you = self.peer.map_or_else(|| "local".to_owned(), |peer| peer.to_string());
                Ok(rawdoc! { "you": you, "ok": 1.0 })
            }
            "logout" => {
                self.log_out();
                Ok(rawdoc! { "ok": 1.0 })
            }
            "saslStart" => self.start_login(&command, &request.database).await.and_then(raw_of),
            "saslContinue" => self.continue_login(&command).and_then(raw_of),
            _ => {
                let reply = self.log_in_by_certificate(&command)?;
                raw_of(reply)
            }
        }
    }

    /// Returns how long a client that has not logged in may stay silent. Monitoring connections of drivers never log
    /// in.
    fn silence(&self) -> Duration {
        if self.is_greeted && self.login.is_none() { SILENT } else { LOGIN_WITHIN }
    }
}

/// Returns the declared uncompressed size of a compressed message.
fn unpacked(frame: &[u8]) -> Option<usize> {
    let header = Header::of_frame(frame).ok()?;
    let claimed = frame.get(20..24).filter(|_| header.op == Op::Compressed)?;
    usize::try_from(i32::from_le_bytes(claimed.try_into().ok()?)).ok()
}

/// Waits until the client disconnects. Begins to check after [`GIVE_UP_AFTER`], because most commands end sooner.
async fn leaves(frames: &Frames) {
    tokio::time::sleep(GIVE_UP_AFTER).await;
    frames.stream().left().await;
}

fn raw_of(document: Document) -> Result<RawDocumentBuf, Failure> {
    RawDocumentBuf::try_from(&document)
        .map_err(|error| Failure::new(code::FAILED_TO_PARSE, error.to_string()))
}

fn patience(length: usize) -> Duration {
    PATIENCE + Duration::from_secs(u64::try_from(length / LEAST_RATE).unwrap_or(u64::MAX))
}

fn packed(answer: &[u8], compressor: Compressor) -> BytesMut {
    let packed = compress(answer, compressor);
    BytesMut::from(packed.as_deref().unwrap_or(answer))
}
