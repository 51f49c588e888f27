//! One connection to a server: the handshake, the login, and then one request and one reply at a time.

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

/// The login of a connection at a server.
#[derive(Clone, Debug)]
pub enum Credential {
    /// Without a login.
    None,
    /// A user with a password. The derived keys are cached, because deriving them is slow.
    Password {
        /// The user name.
        user: String,
        /// The database that stores the user (`authSource`).
        source: String,
        /// The mechanism, or `None` to take the strongest that the server offers for this user.
        mechanism: Option<Mechanism>,
        /// The password.
        password: Arc<Zeroizing<String>>,
        /// The keys derived from the password so far.
        known: KnownKeys,
    },
    /// A user whose keys were recovered from the proof of a client login.
    Keys {
        /// The user name.
        user: String,
        /// The database that stores the user (`authSource`).
        source: String,
        /// The mechanism that the keys belong to.
        mechanism: Mechanism,
        /// The SCRAM keys.
        keys: Keys,
    },
    /// The client certificate of the TLS connection (MONGODB-X509).
    X509,
}

/// Derived keys by mechanism, salt and iteration count.
pub type KnownKeys = Arc<Mutex<HashMap<(Mechanism, Vec<u8>, u32), Keys>>>;

impl Credential {
    /// Returns the user as `database.user`, `$external` for a certificate, or an empty string without a login.
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

/// Why a connection could not be opened, or a command on it failed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The handshake or a command took too long.
    #[error("no reply within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The connection broke, or carried invalid bytes.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// The server answered a command with an error.
    #[error("{errmsg} (code {code})")]
    Server {
        /// The error code.
        code: i32,
        /// The error message.
        errmsg: String,
    },
    /// The SCRAM login failed.
    #[error("{0}")]
    Login(#[from] Refused),
    /// The server refused the login.
    #[error("{errmsg} (code {code})")]
    Refused {
        /// The error code.
        code: i32,
        /// The error message.
        errmsg: String,
    },
    /// The reply does not follow the protocol.
    #[error("invalid reply: {0}")]
    Answer(String),
}

/// Error codes of servers that shut down or are not primary.
const STATE_CHANGES: [i32; 8] = [91, 189, 262, 10107, 11600, 11602, 13435, 13436];

impl From<std::io::Error> for OpenError {
    fn from(error: std::io::Error) -> Self {
        Self::Read(error.into())
    }
}

impl OpenError {
    /// Whether the server refused the login of one user. The server itself is then usable.
    pub fn is_login(&self) -> bool {
        matches!(self, Self::Login(_) | Self::Refused { .. })
    }

    /// Marks an error during the login as a refusal, unless the error shows that the server changes its state.
    fn of_login(self) -> Self {
        match self {
            Self::Server { code, errmsg } if !STATE_CHANGES.contains(&code) => {
                Self::Refused { code, errmsg }
            }
            error => error,
        }
    }
}

/// An open connection that is ready for commands.
#[derive(Debug)]
pub struct Connection {
    frames: Frames,
    /// When the connection was opened.
    pub opened: Instant,
    /// When the last reply arrived.
    pub used: Instant,
    /// The server's last reply to `hello`.
    pub hello: Document,
    next: i32,
}

/// Opens connections to the servers of a deployment.
#[derive(Clone, Debug)]
pub struct Opener {
    /// The TLS settings; `None` for plain TCP.
    pub tls: Option<TlsClient>,
    /// The `appName` that servers write to their logs.
    pub application: String,
    /// Whether a load balancer is in front of the servers.
    pub load_balanced: bool,
    /// The time limit for opening a connection, the login included.
    pub timeout: Duration,
}

impl Opener {
    /// Opens a connection, sends `hello` and logs in.
    pub async fn open(
        &self,
        address: &Address,
        login: &Credential,
    ) -> Result<Connection, OpenError> {
        let opening = async {
            let mut connection = self.introduce(address, login).await?;
            connection.log_in(login).await.map_err(OpenError::of_login)?;
            Ok(connection)
        };
        match timeout(self.timeout, opening).await {
            Ok(opened) => opened,
            Err(_) => Err(OpenError::Timeout(self.timeout)),
        }
    }

    /// Opens a connection and sends `hello`, without a login. Monitors need no more.
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
        // Servers of all versions understand `isMaster`; `hello` is newer.
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
    /// Sends a message and reads the reply, without changing either.
    pub async fn exchange(&mut self, frame: &[u8]) -> Result<BytesMut, ReadError> {
        self.send(frame).await?;
        let answer = self.receive().await?;
        // Without this check, the guard could send a reply to the wrong client.
        if Header::of_frame(&answer)?.response_to != Header::of_frame(frame)?.request_id {
            return Err(ReadError::OutOfStep);
        }
        Ok(answer)
    }

    /// Sends a message without waiting for the reply.
    pub async fn send(&mut self, frame: &[u8]) -> Result<(), ReadError> {
        Ok(self.frames.write(frame).await?)
    }

    /// Reads the next message.
    pub async fn receive(&mut self) -> Result<BytesMut, ReadError> {
        // Replies hold at most slightly more than 16 MB, so the limit for requests is enough.
        let frame = self.frames.read(Header::MAX_LENGTH).await?.ok_or(ReadError::Cut)?;
        self.used = Instant::now();
        Ok(frame)
    }

    /// Whether the connection cannot be used: the server closed it, or sent unexpected bytes.
    pub fn is_stale(&self) -> bool {
        self.frames.has_more() || self.frames.stream().is_stale()
    }

    /// Returns the topology version of the server's last `hello` reply.
    pub fn topology_version(&self) -> Option<TopologyVersion> {
        TopologyVersion::of(&self.hello)
    }

    /// Runs a command. Fails if the reply is an error.
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

    /// Runs a command. Returns the reply, even if it is an error, and whether further replies follow.
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

    /// Reads the next reply. Returns it and whether further replies follow.
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
            // Servers before 4.4 ignore `skipEmptyExchange` and expect an empty last step.
            let last = self.run(source, go_on("")).await?;
            if !last.get_bool("done").unwrap_or(false) {
                return Err(OpenError::Answer("the server did not finish the login".to_owned()));
            }
        }
        Ok(())
    }
}

/// Encodes a command as a message.
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
        _ => Err(OpenError::Answer("the login step has no payload".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn px_2_a_refused_login_does_not_make_the_server_unusable() {
        let error = |code: i32| OpenError::Server { code, errmsg: String::new() }.of_login();
        for code in [11, 18, 334, 8000] {
            assert!(error(code).is_login(), "{code}");
        }
        for code in STATE_CHANGES {
            assert!(!error(code).is_login(), "{code}");
        }
    }
}
