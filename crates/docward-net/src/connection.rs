//! One connection to a server: opened, introduced, logged in, and then one message there and one back.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bson::{Bson, Document, RawDocument, doc, spec::BinarySubtype};
use bytes::BytesMut;
use docward_wire::{Flags, Header, Message, message};
use tokio::time::{Instant, timeout};
use zeroize::Zeroizing;

use crate::{
    frames::{Frames, ReadError},
    nonce,
    scram::{ClientLogin, Keys, Mechanism, Refused},
    stream::connect,
    tls::TlsClient,
    topology::{Address, TopologyVersion},
};

/// Who logs in to a server.
#[derive(Clone, Debug)]
pub enum Credential {
    /// Nobody.
    None,
    /// A user with a password. What it comes to is kept: the slow part is done once for each salt.
    Password {
        /// The user.
        user: String,
        /// The database that knows the user.
        source: String,
        /// Unless the server decides.
        mechanism: Option<Mechanism>,
        /// The secret.
        password: Arc<Zeroizing<String>>,
        /// What it came to.
        known: KnownKeys,
    },
    /// A user whose keys are known, because a proof of them was seen.
    Keys {
        /// The user.
        user: String,
        /// The database that knows the user.
        source: String,
        /// What the keys are for.
        mechanism: Mechanism,
        /// The keys.
        keys: Keys,
    },
    /// The certificate of the TLS connection.
    X509,
}

/// Keys by what they were made with.
pub type KnownKeys = Arc<Mutex<HashMap<(Mechanism, Vec<u8>, u32), Keys>>>;

impl Credential {
    /// Who it is, as `database.user`; empty for nobody.
    pub fn name(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Password { user, source, .. } | Self::Keys { user, source, .. } => {
                format!("{source}.{user}")
            }
            Self::X509 => "$external".to_owned(),
        }
    }
}

/// Why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It did not get so far in time.
    #[error("no connection within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The network.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// The server refused a command of the handshake.
    #[error("{errmsg} (code {code})")]
    Server {
        /// The server's code.
        code: i32,
        /// Its words.
        errmsg: String,
    },
    /// The login.
    #[error("{0}")]
    Login(#[from] Refused),
    /// An answer that makes no sense.
    #[error("the server's answer cannot be read: {0}")]
    Answer(String),
}

impl From<std::io::Error> for OpenError {
    fn from(error: std::io::Error) -> Self {
        Self::Read(error.into())
    }
}

impl OpenError {
    /// Whether the server refused the user: another attempt would end the same.
    pub fn is_login(&self) -> bool {
        matches!(self, Self::Login(_) | Self::Server { code: 18 | 11 | 8000, .. })
    }
}

/// A connection that is ready for commands.
#[derive(Debug)]
pub struct Connection {
    frames: Frames,
    /// When it was opened.
    pub opened: Instant,
    /// When it was used last.
    pub used: Instant,
    /// What the server said of itself.
    pub hello: Document,
    next: i32,
}

/// How connections are opened.
#[derive(Clone, Debug)]
pub struct Opener {
    /// Encrypted, if so.
    pub tls: Option<TlsClient>,
    /// Who says hello, in the server's logs.
    pub application: String,
    /// Whether a balancer stands before the servers.
    pub load_balanced: bool,
    /// For the whole handshake.
    pub timeout: Duration,
}

impl Opener {
    /// Opens, introduces and logs in.
    pub async fn open(
        &self,
        address: &Address,
        login: &Credential,
    ) -> Result<Connection, OpenError> {
        let opening = async {
            let mut connection = self.introduce(address, login).await?;
            connection.log_in(login).await?;
            Ok(connection)
        };
        match timeout(self.timeout, opening).await {
            Ok(opened) => opened,
            Err(_) => Err(OpenError::Timeout(self.timeout)),
        }
    }

    /// Opens and introduces; what is there is not logged in, which is enough for a monitor.
    pub async fn greet(&self, address: &Address) -> Result<Connection, OpenError> {
        let greeted = timeout(self.timeout, self.introduce(address, &Credential::None)).await;
        greeted.unwrap_or(Err(OpenError::Timeout(self.timeout)))
    }

    async fn introduce(
        &self,
        address: &Address,
        login: &Credential,
    ) -> Result<Connection, OpenError> {
        let stream = connect(address, self.tls.as_ref()).await?;
        let now = Instant::now();
        let mut connection = Connection {
            frames: Frames::busy(stream),
            opened: now,
            used: now,
            hello: Document::new(),
            next: 1,
        };
        // Understood by every server that is still in use.
        let mut hello = doc! {
            "isMaster": 1,
            "helloOk": true,
            "client": {
                "application": { "name": &self.application },
                "driver": { "name": "docward", "version": env!("CARGO_PKG_VERSION") },
                "os": { "type": std::env::consts::OS, "architecture": std::env::consts::ARCH },
            },
        };
        if self.load_balanced {
            hello.insert("loadBalanced", true);
        }
        if let Credential::Password { user, source, mechanism: None, .. } = login {
            hello.insert("saslSupportedMechs", format!("{source}.{user}"));
        }
        connection.hello = connection.run("admin", hello).await?;
        Ok(connection)
    }
}

impl Connection {
    /// Sends a message and reads the answer, both as they are.
    pub async fn exchange(&mut self, frame: &[u8]) -> Result<BytesMut, ReadError> {
        self.send(frame).await?;
        let answer = self.receive().await?;
        // An answer to something else would go to the wrong client.
        if Header::of_frame(&answer)?.response_to != Header::of_frame(frame)?.request_id {
            return Err(ReadError::OutOfStep);
        }
        Ok(answer)
    }

    /// Sends a message.
    pub async fn send(&mut self, frame: &[u8]) -> Result<(), ReadError> {
        Ok(self.frames.write(frame).await?)
    }

    /// Reads a message.
    pub async fn receive(&mut self) -> Result<BytesMut, ReadError> {
        // Servers answer with documents of up to 16 MB and a little, and never longer than requests may be.
        let frame = self.frames.read(Header::MOST).await?.ok_or(ReadError::Cut)?;
        self.used = Instant::now();
        Ok(frame)
    }

    /// Whether the server closed it, or it is out of step.
    pub fn is_stale(&self) -> bool {
        self.frames.has_more() || self.frames.stream().is_stale()
    }

    /// Which answers of the server are newer.
    pub fn topology_version(&self) -> Option<TopologyVersion> {
        TopologyVersion::of(&self.hello)
    }

    /// Runs a command; an error of the server is one here.
    pub async fn run(&mut self, database: &str, body: Document) -> Result<Document, OpenError> {
        let reply = self.ask(database, body, Flags::default()).await?.0;
        let is_ok = reply.get("ok").is_some_and(|ok| {
            matches!(ok, Bson::Double(n) if *n == 1.0) || matches!(ok, Bson::Int32(1))
        });
        if is_ok {
            return Ok(reply);
        }
        Err(OpenError::Server {
            code: reply.get_i32("code").unwrap_or(0),
            errmsg: reply.get_str("errmsg").unwrap_or("no reason given").to_owned(),
        })
    }

    /// Sends a command; gives back what the server says, whatever it is, and whether it will say more.
    pub async fn ask(
        &mut self,
        database: &str,
        body: Document,
        flags: Flags,
    ) -> Result<(Document, bool), OpenError> {
        let frame = command(self.next, database, body, flags)?;
        self.next = self.next.wrapping_add(1);
        self.send(&frame).await?;
        self.listen().await
    }

    /// What the server says next.
    pub async fn listen(&mut self) -> Result<(Document, bool), OpenError> {
        let frame = self.receive().await?;
        let parsed = Message::parse(&frame).map_err(ReadError::from)?;
        let body = RawDocument::from_bytes(parsed.body.of(&frame));
        let reply = body.and_then(Document::try_from);
        let reply = reply.map_err(|error| OpenError::Answer(error.to_string()))?;
        Ok((reply, parsed.flags.has(Flags::MORE_TO_COME)))
    }

    async fn log_in(&mut self, login: &Credential) -> Result<(), OpenError> {
        match login {
            Credential::None => Ok(()),
            Credential::X509 => {
                let body = doc! { "authenticate": 1, "mechanism": "MONGODB-X509" };
                self.run("$external", body).await.map(|_| ())
            }
            Credential::Keys { user, source, mechanism, keys } => {
                let login = ClientLogin::new(*mechanism, user, nonce());
                self.scram(&login, source, |_| Ok(keys.clone())).await
            }
            Credential::Password { user, source, mechanism, password, known } => {
                let offered = self.hello.get_array("saslSupportedMechs").ok();
                let takes = |mechanism: Mechanism| {
                    offered
                        .is_none_or(|all| all.iter().any(|m| m.as_str() == Some(mechanism.name())))
                };
                let best =
                    || if takes(Mechanism::Sha256) { Mechanism::Sha256 } else { Mechanism::Sha1 };
                let mechanism = mechanism.unwrap_or_else(best);
                let login = ClientLogin::new(mechanism, user, nonce());
                self.scram(&login, source, |challenge| {
                    let key = (mechanism, challenge.salt.clone(), challenge.iterations);
                    let kept = known.lock().ok().and_then(|known| known.get(&key).cloned());
                    if let Some(keys) = kept {
                        return Ok(keys);
                    }
                    let (_, salt, iterations) = &key;
                    let keys = Keys::of_password(mechanism, user, password, salt, *iterations)?;
                    if let Ok(mut known) = known.lock() {
                        known.insert(key, keys.clone());
                    }
                    Ok(keys)
                })
                .await
            }
        }
    }

    async fn scram(
        &mut self,
        login: &ClientLogin,
        source: &str,
        keys: impl FnOnce(&crate::scram::Challenge) -> Result<Keys, Refused>,
    ) -> Result<(), OpenError> {
        let start = doc! {
            "saslStart": 1,
            "mechanism": login.mechanism().name(),
            "payload": binary(&login.first()),
            "options": { "skipEmptyExchange": true },
        };
        let reply = self.run(source, start).await?;
        let conversation = reply.get("conversationId").cloned().unwrap_or(Bson::Int32(1));
        let challenge = login.challenge(payload(&reply)?)?;
        let proof = login.prove(&challenge, &keys(&challenge)?);
        let go_on = |payload: &str| {
            doc! { "saslContinue": 1, "conversationId": &conversation, "payload": binary(payload) }
        };
        let reply = self.run(source, go_on(&proof.payload)).await?;
        proof.check(payload(&reply)?)?;
        if !reply.get_bool("done").unwrap_or(false) {
            // Servers before 4.4 want to be asked once more.
            let last = self.run(source, go_on("")).await?;
            if !last.get_bool("done").unwrap_or(false) {
                return Err(OpenError::Answer("the login does not end".to_owned()));
            }
        }
        Ok(())
    }
}

/// A command as a message.
pub fn command(
    request: i32,
    database: &str,
    mut body: Document,
    flags: Flags,
) -> Result<Vec<u8>, OpenError> {
    body.insert("$db", database);
    let body = body.to_vec().map_err(|error| OpenError::Answer(error.to_string()))?;
    Ok(message(request, 0, flags, &body))
}

fn binary(text: &str) -> Bson {
    let bytes = text.as_bytes().to_vec();
    Bson::Binary(bson::Binary { subtype: BinarySubtype::Generic, bytes })
}

fn payload(reply: &Document) -> Result<&[u8], OpenError> {
    match reply.get("payload") {
        Some(Bson::Binary(binary)) => Ok(&binary.bytes),
        Some(Bson::String(text)) => Ok(text.as_bytes()),
        _ => Err(OpenError::Answer("a login without payload".to_owned())),
    }
}
