//! One client: reads messages, has them answered, writes the answers.

use std::{net::IpAddr, sync::Arc, time::Duration};

use bson::{Document, RawDocument, RawDocumentBuf, rawdoc};
use bytes::BytesMut;
use docward_net::{Credential, Frames, ReadError, Stream};
use docward_wire::{
    Compressor, Flags, Header, Op, Query, compress, decompress, failed_reply, message, reply,
};
use tokio::time::{Instant, timeout};

use crate::{
    auth::{Auth, Identity, Login},
    errors::{Failure, code},
    forward::Who,
    guard::Guard,
    hello::{self, Asked, Known},
    request::{Class, Request},
};

/// A message that began has to end within this, and a little more for long ones.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes in a second that are the least for long messages.
const LEAST_RATE: usize = 32 * 1024;
/// Who has not logged in says little.
const MOST_BEFORE_LOGIN: usize = 64 * 1024;
/// Who has not logged in has this long.
const LOGIN_WITHIN: Duration = Duration::from_secs(10);
/// Cursors of a client that left are given up after this, unless somebody else uses them.
const ORPHANED_AFTER: Duration = Duration::from_secs(30);

/// Serves a client until one side has enough.
pub(crate) async fn serve(guard: Arc<Guard>, stream: Stream, peer: Option<IpAddr>, number: u64) {
    let nobody = Identity { name: "".into(), login: Credential::None };
    let identity = match guard.settings.auth {
        Auth::Off => Some(guard.everybody.clone()),
        Auth::Mirror => None,
    };
    let turn = match peer {
        Some(IpAddr::V4(address)) => u64::from(address.to_bits()),
        Some(IpAddr::V6(address)) => u64::try_from(address.to_bits() >> 64).unwrap_or(0),
        None => number,
    };
    let mut client = Client {
        who: Who { client: number, turn, identity: nobody },
        peer,
        is_known: false,
        login: None,
        is_balanced: false,
        guard,
    };
    if let Some(identity) = identity {
        client.who.identity = identity;
        client.is_known = true;
    }
    let mut frames = Frames::new(stream);
    if let Err(error) = client.talk(&mut frames).await {
        tracing::debug!(client = number, %error, "client was closed");
    }
    frames.close().await;
    drop(frames);
    client.leave().await;
}

struct Client {
    guard: Arc<Guard>,
    who: Who,
    peer: Option<IpAddr>,
    is_known: bool,
    login: Option<Login>,
    is_balanced: bool,
}

/// Why a client is closed.
#[derive(Debug, thiserror::Error)]
enum Closed {
    #[error("{0}")]
    Read(#[from] ReadError),
    #[error("{0}")]
    Fault(#[from] docward_wire::Fault),
    #[error("{0}")]
    Write(#[from] std::io::Error),
    #[error("a message did not arrive, or was not taken, in time")]
    Slow,
    #[error("it did not log in in time")]
    NoLogin,
    #[error("operation {0} is not known any more")]
    Operation(i32),
}

impl Client {
    async fn talk(&mut self, frames: &mut Frames) -> Result<(), Closed> {
        let mut draining = self.guard.draining();
        let began = Instant::now();
        loop {
            let waited = tokio::select! {
                waited = frames.wait() => waited?,
                _ = draining.wait_for(|is_draining| *is_draining) => return Ok(()),
                () = tokio::time::sleep_until(began + LOGIN_WITHIN), if !self.is_known => {
                    return Err(Closed::NoLogin);
                }
            };
            if !waited {
                return Ok(());
            }
            let most = if self.is_known { Header::MOST } else { MOST_BEFORE_LOGIN };
            let read = timeout(patience(Header::MOST), frames.read(most)).await;
            let Some(frame) = read.map_err(|_| Closed::Slow)?? else { return Ok(()) };
            // On the heap: who waits for the next message needs no room for an answer.
            let answer = Box::pin(self.answer(frame)).await?;
            if let Some(answer) = answer {
                let written = timeout(patience(answer.len()), frames.write(&answer)).await;
                written.map_err(|_| Closed::Slow)??;
            }
        }
    }

    /// The answer to a message; none where nobody waits for one.
    async fn answer(&mut self, frame: BytesMut) -> Result<Option<BytesMut>, Closed> {
        let header = Header::of_frame(&frame)?;
        match header.op {
            Op::Msg => self.answer_message(header, frame).await,
            Op::Compressed => {
                let (inner, compressor) = decompress(&frame, Header::MOST)?;
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
        let raw = RawDocument::from_bytes(query.document.of(frame));
        let command = raw.and_then(Document::try_from).unwrap_or_default();
        let name = command.keys().next().cloned().unwrap_or_default();
        let answer = if matches!(name.as_str(), "hello" | "isMaster" | "ismaster") {
            let body = self.hello(&command).await;
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
        let mut request = Request::parse(frame)?;
        self.guard.count(&request);
        let answered = match request.class {
            Class::Local => self.local(&request).await.map(|body| self.message(header, &body)),
            Class::Refused => Err(Failure::new(
                code::COMMAND_NOT_FOUND,
                format!(
                    "docward: {} is not possible through a pool of connections; use writeConcern",
                    request.name
                ),
            )),
            _ if !self.is_known => Err(Failure::new(
                code::UNAUTHORIZED,
                format!("command {} requires authentication", request.name),
            )),
            _ => {
                if request.is_unacknowledged {
                    request.acknowledge();
                }
                self.guard.forward(&self.who, &mut request).await
            }
        };
        if request.is_unacknowledged {
            return Ok(None);
        }
        Ok(Some(answered.unwrap_or_else(|failure| {
            self.guard.failed(&failure);
            self.message(header, &failure.document())
        })))
    }

    fn message(&self, header: Header, body: &RawDocument) -> BytesMut {
        let frame =
            message(self.guard.next_id(), header.request_id, Flags::default(), body.as_bytes());
        BytesMut::from(&frame[..])
    }

    /// Commands that are answered here.
    async fn local(&mut self, request: &Request) -> Result<RawDocumentBuf, Failure> {
        let bad =
            || Failure::new(code::FAILED_TO_PARSE, format!("{} cannot be read", request.name));
        let raw = request.body().map_err(|_| bad())?;
        let command =
            RawDocument::from_bytes(raw.bytes()).and_then(Document::try_from).map_err(|_| bad())?;
        match request.name.as_str() {
            "hello" | "isMaster" | "ismaster" => Ok(self.hello(&command).await),
            "whatsmyuri" => {
                let you = self.peer.map_or_else(|| "local".to_owned(), |peer| peer.to_string());
                Ok(rawdoc! { "you": you, "ok": 1.0 })
            }
            "logout" => {
                if let Auth::Mirror = self.guard.settings.auth {
                    self.is_known = false;
                }
                Ok(rawdoc! { "ok": 1.0 })
            }
            "saslStart" => self.start_login(&command, &request.database).await.and_then(raw_of),
            "saslContinue" => self.continue_login(&command).and_then(raw_of),
            _ => Err(Failure::new(
                code::MECHANISM_UNAVAILABLE,
                "docward: logins by certificate are not supported here; use SCRAM-SHA-256",
            )),
        }
    }

    async fn start_login(&mut self, command: &Document, source: &str) -> Result<Document, Failure> {
        let Auth::Mirror = self.guard.settings.auth else {
            return Err(Failure::new(
                code::AUTHENTICATION_FAILED,
                "docward: nobody logs in here; leave user and password out of the connection string, or start the guard with --auth mirror",
            ));
        };
        self.login = None;
        let (login, reply) =
            Login::start(&self.guard.users, &self.guard.deployment, command, source).await?;
        self.login = Some(login);
        Ok(reply)
    }

    fn continue_login(&mut self, command: &Document) -> Result<Document, Failure> {
        let Some(mut login) = self.login.take() else {
            return Err(Failure::new(code::FAILED_TO_PARSE, "no login has begun"));
        };
        let step = login.go_on(&self.guard.users, &self.guard.deployment, command)?;
        match step.identity {
            Some(identity) => {
                self.who.identity = identity;
                self.is_known = true;
            }
            None => self.login = Some(login),
        }
        Ok(step.reply)
    }

    async fn hello(&mut self, command: &Document) -> RawDocumentBuf {
        let asked = Asked::of(command);
        self.is_balanced |= asked.load_balanced;
        if let Some(name) = &asked.application {
            tracing::debug!(client = self.who.client, application = %name, "client said hello");
        }
        let mechanisms = match (&asked.mechanisms_of, &self.guard.settings.auth) {
            (Some(name), Auth::Mirror) => {
                Some(self.guard.users.mechanisms(&self.guard.deployment, name).await)
            }
            _ => None,
        };
        let speculative = match &asked.speculative {
            Some(login) if login.contains_key("saslStart") => {
                let source = login.get_str("db").unwrap_or("admin").to_owned();
                self.start_login(login, &source).await.ok()
            }
            _ => None,
        };
        let topology = self.guard.deployment.topology();
        let known = Known {
            face: self.guard.settings.face,
            topology: &topology,
            connection: i32::try_from(self.who.client & 0x7FFF_FFFF).unwrap_or(1),
            service: self.guard.service,
            mechanisms,
            now: bson::DateTime::now(),
        };
        let mut answer = hello::answer(&asked, &known);
        if let Some(mut said) = speculative {
            said.remove("ok");
            answer.insert("speculativeAuthenticate", said);
        }
        raw_of(answer).unwrap_or_else(|failure| failure.document())
    }

    /// Gives up what the client left behind.
    async fn leave(self) {
        if self.guard.cursors.of_client(self.who.client).is_empty() {
            return;
        }
        if !self.is_balanced {
            tokio::time::sleep(ORPHANED_AFTER).await;
        }
        let unused = if self.is_balanced { Duration::ZERO } else { ORPHANED_AFTER };
        self.guard.sweep_cursors(&self.who, unused).await;
    }
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
