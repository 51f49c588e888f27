//! Client logins. With `--auth mirror` the guard reads a user's SCRAM verifier from the servers and checks the login
//! itself. The client's proof reveals a key, with which the guard opens connections as that user. The servers therefore
//! apply the user's own rights and auditing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use bson::{Binary, Bson, Document, doc, spec::BinarySubtype};
use docward_net::{
    Credential, Deployment, Lane, Login as ServerLogin, OpenError, Purpose, nonce,
    scram::{Mechanism, Opening, Refused, ServerLogin as Scram, Verifier},
    select::{Mode, ReadPreference},
};
use tokio::time::{Instant, timeout};

use crate::{
    errors::{Failure, code},
    rights::{FileUser, FileUsers},
    settings::OWN_COMMANDS,
};

/// The time that the guard caches the verifiers of a user, or their absence. The time is short for two reasons: a new
/// password works at once, and the duration of a login reveals little about which users exist.
const KEEP: Duration = Duration::from_secs(1);

/// The maximum number of cached users.
const MANY: usize = 1000;
/// The maximum length of a database and user name together, in bytes. The guard does not look up longer names.
const LONGEST_NAME: usize = 1024;

/// The user that a client is logged in as.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The user as `database.user`, `list.user` for a user of the list, or an empty string without a login.
    pub(crate) name: Arc<str>,
    /// The account that the guard opens server connections as.
    pub(crate) login: Arc<ServerLogin>,
    /// The user's entry with `--auth list`. The guard checks the rights of these users itself.
    pub(crate) listed: Option<Arc<FileUser>>,
}

impl Identity {
    /// Returns the identity of a login whose rights the servers check.
    pub(crate) fn of(login: impl Into<Arc<ServerLogin>>) -> Self {
        let login = login.into();
        Self { name: Arc::clone(login.name()), login, listed: None }
    }
}

type Verifiers = Vec<(Mechanism, Verifier)>;

/// Cached users by database and name, each with the time of the lookup. `None` if the user does not exist.
type Looked = HashMap<(String, String), (Instant, Option<Arc<Verifiers>>)>;

/// Looks up users and caches their verifiers.
#[derive(Debug)]
pub(crate) struct Users {
    service: Arc<ServerLogin>,
    /// The users of the list, with `--auth list`.
    listed: Option<RwLock<Arc<FileUsers>>>,
    /// Determines the salts of unknown users.
    secret: String,
    known: Mutex<Looked>,
}

impl Users {
    pub(crate) fn new(service: Arc<ServerLogin>, listed: Option<Arc<FileUsers>>) -> Self {
        let (listed, known) = (listed.map(RwLock::new), Mutex::default());
        Self { service, listed, secret: nonce(), known }
    }

    /// Replaces the list of users.
    pub(crate) fn set_listed(&self, users: Arc<FileUsers>) {
        if let Some(listed) = &self.listed {
            *listed.write().unwrap_or_else(PoisonError::into_inner) = users;
        }
    }

    /// Returns a user of the current list.
    pub(crate) fn listed(&self, name: &str) -> Option<Arc<FileUser>> {
        let listed = self.listed.as_ref()?.read().unwrap_or_else(PoisonError::into_inner);
        listed.get(name).map(Arc::clone)
    }

    fn as_listed(&self, source: &str, user: Arc<FileUser>) -> Identity {
        let name = format!("{source}.{}", user.name).into();
        Identity { name, login: Arc::clone(&self.service), listed: Some(user) }
    }

    /// Returns the user of the list with the subject of a client certificate.
    pub(crate) fn by_certificate(&self, subject: Option<&str>) -> Result<Identity, Failure> {
        let failed = |why: &str| Failure::new(code::AUTHENTICATION_FAILED, why);
        let Some(subject) = subject else {
            return Err(failed("docward: the client presented no certificate"));
        };
        let user = self.listed(subject).filter(|user| user.verifier.is_none());
        let user = user.ok_or_else(|| failed("Authentication failed."))?;
        Ok(self.as_listed("list", user))
    }

    /// Returns the mechanisms of a user, for `saslSupportedMechs` in `hello`.
    pub(crate) async fn mechanisms(
        &self,
        deployment: &Deployment,
        name: &str,
    ) -> Vec<&'static str> {
        let Some((source, user)) = name.split_once('.') else { return Vec::new() };
        if name.len() > LONGEST_NAME {
            return vec![Mechanism::Sha1.name(), Mechanism::Sha256.name()];
        }
        if self.listed.is_some() {
            return vec![Mechanism::Sha256.name()];
        }
        match self.verifiers(deployment, source, user).await {
            Ok(Some(all)) => all.iter().map(|(mechanism, _)| mechanism.name()).collect(),
            // The reply must not reveal that a user does not exist. It therefore lists the
            // mechanisms that most users have.
            _ => vec![Mechanism::Sha1.name(), Mechanism::Sha256.name()],
        }
    }

    async fn verifiers(
        &self,
        deployment: &Deployment,
        source: &str,
        user: &str,
    ) -> Result<Option<Arc<Verifiers>>, Failure> {
        if self.listed.is_some() {
            let verifier = self.listed(user).and_then(|user| user.verifier.clone());
            return Ok(verifier.map(|verifier| Arc::new(vec![(Mechanism::Sha256, verifier)])));
        }
        let key = (source.to_owned(), user.to_owned());
        let kept = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some((at, verifiers)) = kept
            && at.elapsed() < KEEP
        {
            return Ok(verifiers);
        }
        let found = self.ask(deployment, source, user).await?.map(Arc::new);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MANY {
            known.retain(|_, (at, _)| at.elapsed() < KEEP);
        }
        if known.len() >= MANY {
            known.clear();
        }
        known.insert(key, (Instant::now(), found.clone()));
        Ok(found)
    }

    fn forget(&self, source: &str, user: &str) {
        let key = (source.to_owned(), user.to_owned());
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }

    async fn ask(
        &self,
        deployment: &Deployment,
        source: &str,
        user: &str,
    ) -> Result<Option<Verifiers>, Failure> {
        let unreachable =
            |why: String| Failure::new(code::HOST_UNREACHABLE, format!("docward: {why}"));
        let preference =
            ReadPreference { mode: Mode::PrimaryPreferred, ..ReadPreference::default() };
        let member = deployment.select(&preference, None).await;
        let member = member.map_err(|error| unreachable(error.to_string()))?;
        let lease = member.take(&self.service, Lane::Ordinary, 0, Purpose::Other).await;
        let mut lease = lease.map_err(|error| unreachable(error.to_string()))?;
        let question = doc! {
            "usersInfo": { "user": user, "db": source },
            "showCredentials": true,
            "$readPreference": { "mode": "primaryPreferred" },
        };
        let Some(connection) = lease.begin() else {
            return Err(unreachable("no connection".to_owned()));
        };
        let reply = timeout(OWN_COMMANDS, connection.run("admin", question)).await;
        let reply = reply.unwrap_or(Err(OpenError::Timeout(OWN_COMMANDS)));
        let reply = reply.map_err(|error| {
            unreachable(format!(
                "the account of the upstream connection string cannot look up users: {error}"
            ))
        })?;
        lease.end();
        let first = reply.get_array("users").ok().and_then(|users| users.first()?.as_document());
        Ok(first.map(verifiers_of))
    }
}

fn verifiers_of(user: &Document) -> Verifiers {
    let Ok(credentials) = user.get_document("credentials") else { return Vec::new() };
    let one = |mechanism: Mechanism| {
        let parts = credentials.get_document(mechanism.name()).ok()?;
        let text = |name: &str| parts.get_str(name).ok();
        let iterations = u32::try_from(parts.get_i32("iterationCount").ok()?).ok()?;
        let (salt, stored, server) = (text("salt")?, text("storedKey")?, text("serverKey")?);
        Some((mechanism, Verifier::of_parts(mechanism, iterations, salt, stored, server)?))
    };
    [Mechanism::Sha1, Mechanism::Sha256].into_iter().filter_map(one).collect()
}

/// A login in progress.
#[derive(Debug)]
pub(crate) struct Login {
    scram: Scram,
    mechanism: Mechanism,
    source: String,
    user: String,
    exists: bool,
    skips_empty: bool,
    /// The user whose proof was accepted, until the client sends the empty last message.
    proven: Option<Identity>,
}

/// The result of a login step.
pub(crate) struct Step {
    /// The reply to the client.
    pub(crate) reply: Document,
    /// The user, after the last step.
    pub(crate) identity: Option<Identity>,
}

impl Login {
    /// Handles `saslStart`.
    pub(crate) async fn start(
        users: &Users,
        deployment: &Deployment,
        command: &Document,
        source: &str,
    ) -> Result<(Self, Document), Failure> {
        let named = command.get_str("mechanism").unwrap_or_default();
        let Some(mechanism) = Mechanism::of(named) else {
            let why = format!("docward: the mechanism {named} is not supported; use SCRAM-SHA-256");
            return Err(Failure::new(code::MECHANISM_UNAVAILABLE, why));
        };
        let opening = Opening::parse(payload(command)?).map_err(|refused| failed(&refused))?;
        if opening.user.len() + source.len() > LONGEST_NAME {
            return Err(failed(&Refused::Denied));
        }
        let all = users.verifiers(deployment, source, &opening.user).await?;
        let own = all.iter().flat_map(|all| all.iter()).find(|(of, _)| *of == mechanism);
        let exists = own.is_some();
        let verifier = match own {
            Some((_, verifier)) => verifier.clone(),
            None => Verifier::of_nobody(
                mechanism,
                users.secret.as_bytes(),
                &format!("{source}.{}", opening.user),
            ),
        };
        let (scram, answer) = Scram::start(&opening, verifier, &nonce());
        let options = command.get_document("options").ok();
        let login = Self {
            scram,
            mechanism,
            source: source.to_owned(),
            user: opening.user,
            exists,
            skips_empty: options
                .and_then(|o| o.get_bool("skipEmptyExchange").ok())
                .unwrap_or(false),
            proven: None,
        };
        Ok((login, said(&answer, false)))
    }

    /// Handles `saslContinue`.
    pub(crate) fn advance(&mut self, users: &Users, command: &Document) -> Result<Step, Failure> {
        if let Some(identity) = self.proven.take() {
            return Ok(Step { reply: said("", true), identity: Some(identity) });
        }
        let proof = payload(command)?;
        let finished = self
            .scram
            .finish(proof)
            .and_then(|done| if self.exists { Ok(done) } else { Err(Refused::Denied) });
        let (answer, keys) = finished.map_err(|refused| {
            // The password may have changed since the verifier was cached.
            users.forget(&self.source, &self.user);
            failed(&refused)
        })?;
        let identity = match users.listed(&self.user) {
            Some(user) => users.as_listed("list", user),
            // A reload removed the user from the list during the login.
            None if users.listed.is_some() => return Err(failed(&Refused::Denied)),
            None => Identity::of(ServerLogin::from(Credential::Keys {
                user: self.user.clone(),
                source: self.source.clone(),
                mechanism: self.mechanism,
                keys,
            })),
        };
        if self.skips_empty {
            return Ok(Step { reply: said(&answer, true), identity: Some(identity) });
        }
        self.proven = Some(identity);
        Ok(Step { reply: said(&answer, false), identity: None })
    }
}

fn failed(refused: &Refused) -> Failure {
    let why = match refused {
        Refused::Denied => "Authentication failed.".to_owned(),
        other => format!("Authentication failed: {other}"),
    };
    Failure::new(code::AUTHENTICATION_FAILED, why)
}

fn said(text: &str, done: bool) -> Document {
    let payload = Binary { subtype: BinarySubtype::Generic, bytes: text.as_bytes().to_vec() };
    doc! { "conversationId": 1, "done": done, "payload": payload, "ok": 1.0 }
}

fn payload(command: &Document) -> Result<&[u8], Failure> {
    match command.get("payload") {
        Some(Bson::Binary(binary)) => Ok(&binary.bytes),
        Some(Bson::String(text)) => Ok(text.as_bytes()),
        _ => Err(Failure::new(code::FAILED_TO_PARSE, "the login step has no payload")),
    }
}
