//! SCRAM-SHA-1 and SCRAM-SHA-256, as a client and as a server, without IO.
//!
//! The server side learns the client key when it verifies a client's proof. The guard uses these [`Keys`] to open
//! connections as the same user, without ever seeing the password.

use std::hash::{DefaultHasher, Hash, Hasher};

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Secret bytes. They are overwritten when dropped.
type Bytes = Zeroizing<Vec<u8>>;

/// A SCRAM mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// SCRAM-SHA-1.
    Sha1,
    /// SCRAM-SHA-256.
    Sha256,
}

impl Mechanism {
    /// Returns the name that the protocol uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "SCRAM-SHA-1",
            Self::Sha256 => "SCRAM-SHA-256",
        }
    }

    /// Returns the mechanism with the given name, or `None` if it is not supported.
    pub fn of(name: &str) -> Option<Self> {
        [Self::Sha1, Self::Sha256].into_iter().find(|mechanism| mechanism.name() == name)
    }

    /// Returns the iteration count that servers use by default.
    fn usual_iterations(self) -> u32 {
        match self {
            Self::Sha1 => 10_000,
            Self::Sha256 => 15_000,
        }
    }

    /// Returns the length of a server's salts in bytes.
    fn salt_length(self) -> usize {
        match self {
            Self::Sha1 => 16,
            Self::Sha256 => 28,
        }
    }

    fn hash(self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => Sha1::digest(data).to_vec(),
            Self::Sha256 => Sha256::digest(data).to_vec(),
        }
    }

    fn hmac(self, key: &[u8], data: &[u8]) -> Bytes {
        // HMAC accepts keys of every length, so this does not fail.
        Zeroizing::new(match self {
            Self::Sha1 => Hmac::<Sha1>::new_from_slice(key)
                .map(|mac| mac.chain_update(data).finalize().into_bytes().to_vec())
                .unwrap_or_default(),
            Self::Sha256 => Hmac::<Sha256>::new_from_slice(key)
                .map(|mac| mac.chain_update(data).finalize().into_bytes().to_vec())
                .unwrap_or_default(),
        })
    }

    fn salted(self, password: &[u8], salt: &[u8], iterations: u32) -> Bytes {
        match self {
            Self::Sha1 => {
                let mut out = Zeroizing::new(vec![0; 20]);
                pbkdf2::pbkdf2_hmac::<Sha1>(password, salt, iterations, &mut out);
                out
            }
            Self::Sha256 => {
                let mut out = Zeroizing::new(vec![0; 32]);
                pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, iterations, &mut out);
                out
            }
        }
    }
}

/// Why a login failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The message does not follow the SCRAM protocol.
    #[error("malformed SCRAM message: {0}")]
    Malformed(&'static str),
    /// The client requires channel binding.
    #[error("channel binding is not supported")]
    ChannelBinding,
    /// The iteration count is below the safe minimum, or so high that it would block the login.
    #[error("the server asks for {0} iterations (allowed: 4096 to 10 million)")]
    Iterations(u32),
    /// SASLprep does not allow the password.
    #[error("the password contains characters that SCRAM-SHA-256 does not allow")]
    Password,
    /// The proof is wrong: the user does not exist, or the password is wrong.
    #[error("Authentication failed.")]
    Denied,
    /// The server's signature is wrong, so it does not have the user's keys.
    #[error("the server could not prove that it knows the password")]
    Impostor,
}

/// The client key and server key of a user for one salt. They are enough to log in, and do not reveal the password.
#[derive(Clone)]
pub struct Keys {
    client: Bytes,
    server: Bytes,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

impl Keys {
    /// Returns a hash that differs, with high probability, between the keys of different passwords and salts.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.client.hash(&mut hasher);
        self.server.hash(&mut hasher);
        hasher.finish()
    }

    /// Derives the keys from a password. This is the slow part of a login.
    pub fn of_password(
        mechanism: Mechanism,
        user: &str,
        password: &str,
        salt: &[u8],
        iterations: u32,
    ) -> Result<Self, Refused> {
        let password = match mechanism {
            // MongoDB applies SCRAM-SHA-1 to the password hash of the older MONGODB-CR mechanism.
            Mechanism::Sha1 => {
                let digest = md5::Md5::digest(format!("{user}:mongo:{password}"));
                Zeroizing::new(digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
            }
            Mechanism::Sha256 => {
                let normal = stringprep::saslprep(password).map_err(|_| Refused::Password)?;
                Zeroizing::new(normal.into_owned())
            }
        };
        let salted = mechanism.salted(password.as_bytes(), salt, iterations);
        Ok(Self {
            client: mechanism.hmac(&salted, b"Client Key"),
            server: mechanism.hmac(&salted, b"Server Key"),
        })
    }

    /// Returns the verifier that a server stores for these keys.
    pub fn verifier(&self, mechanism: Mechanism, salt: &[u8], iterations: u32) -> Verifier {
        Verifier {
            mechanism,
            salt: salt.to_vec(),
            iterations,
            stored: Zeroizing::new(mechanism.hash(&self.client)),
            server: self.server.clone(),
        }
    }
}

/// The data that a server stores to verify a password. It cannot be used to log in.
#[derive(Clone)]
pub struct Verifier {
    mechanism: Mechanism,
    salt: Vec<u8>,
    iterations: u32,
    stored: Bytes,
    server: Bytes,
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Verifier({})", self.mechanism.name())
    }
}

impl Verifier {
    /// Creates a verifier from the base64 values in `usersInfo`. Returns `None` if they are not base64.
    pub fn of_parts(
        mechanism: Mechanism,
        iterations: u32,
        salt: &str,
        stored: &str,
        server: &str,
    ) -> Option<Self> {
        let decoded = |text: &str| STANDARD.decode(text).ok();
        Some(Self {
            mechanism,
            salt: decoded(salt)?,
            iterations,
            stored: Zeroizing::new(decoded(stored)?),
            server: Zeroizing::new(decoded(server)?),
        })
    }

    /// Parses `SCRAM-SHA-256$ITERATIONS:SALT$STORED:SERVER`. Returns `None` if the text is malformed.
    pub fn of_text(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once('$')?;
        let (first, second) = rest.split_once('$')?;
        let (iterations, salt) = first.split_once(':')?;
        let (stored, server) = second.split_once(':')?;
        let iterations = iterations.parse().ok().filter(|n| (4096..=10_000_000).contains(n))?;
        let verifier = Self::of_parts(Mechanism::of(name)?, iterations, salt, stored, server)?;
        let length = verifier.mechanism.hash(b"").len();
        (verifier.stored.len() == length && verifier.server.len() == length).then_some(verifier)
    }

    /// Returns the verifier in the format of [`Self::of_text`].
    pub fn to_text(&self) -> String {
        let text = |bytes: &[u8]| STANDARD.encode(bytes);
        let (salt, stored, server) = (text(&self.salt), text(&self.stored), text(&self.server));
        format!("{}${}:{salt}${stored}:{server}", self.mechanism.name(), self.iterations)
    }

    /// Returns the mechanism.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// Returns a verifier that accepts no proof, for a user who does not exist. A user name always gets the same salt, so
    /// that clients cannot tell which users exist.
    pub fn of_nobody(mechanism: Mechanism, secret: &[u8], user: &str) -> Self {
        let bytes = Mechanism::Sha256.hmac(secret, user.as_bytes());
        let more = Mechanism::Sha256.hmac(&bytes, b"stored");
        Self {
            mechanism,
            salt: bytes[..mechanism.salt_length()].to_vec(),
            iterations: mechanism.usual_iterations(),
            stored: Zeroizing::new(mechanism.hash(&more)),
            server: more,
        }
    }
}

/// The client side of one login.
#[derive(Debug)]
pub struct ClientLogin {
    mechanism: Mechanism,
    user: String,
    nonce: String,
    bare: String,
}

/// The server's first message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// The user's salt.
    pub salt: Vec<u8>,
    /// The iteration count.
    pub iterations: u32,
    nonce: String,
    text: String,
}

/// The client's final message, and the expected reply.
#[derive(Debug)]
pub struct Proof {
    /// The message to send.
    pub payload: String,
    expected: String,
}

impl ClientLogin {
    /// Starts a login. The nonce is a random string without commas.
    pub fn new(mechanism: Mechanism, user: &str, nonce: String) -> Self {
        let escaped = user.replace('=', "=3D").replace(',', "=2C");
        let bare = format!("n={escaped},r={nonce}");
        Self { mechanism, user: user.to_owned(), nonce, bare }
    }

    /// Returns the mechanism.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// Returns the user name.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Returns the client's first message.
    pub fn first(&self) -> String {
        format!("n,,{}", self.bare)
    }

    /// Parses and checks the server's first message.
    pub fn challenge(&self, payload: &[u8]) -> Result<Challenge, Refused> {
        let text = std::str::from_utf8(payload).map_err(|_| Refused::Malformed("not UTF-8"))?;
        let nonce = part(text, 'r').ok_or(Refused::Malformed("no nonce"))?;
        let salt = part(text, 's').and_then(|salt| STANDARD.decode(salt).ok());
        let salt = salt.ok_or(Refused::Malformed("no salt"))?;
        let iterations = part(text, 'i').and_then(|number| number.parse().ok());
        let iterations = iterations.ok_or(Refused::Malformed("no iterations"))?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(Refused::Malformed("the nonce does not match"));
        }
        if !(4096..=10_000_000).contains(&iterations) {
            return Err(Refused::Iterations(iterations));
        }
        Ok(Challenge { salt, iterations, nonce: nonce.to_owned(), text: text.to_owned() })
    }

    /// Creates the client's final message.
    pub fn prove(&self, challenge: &Challenge, keys: &Keys) -> Proof {
        let without = format!("c=biws,r={}", challenge.nonce);
        let message = format!("{},{},{without}", self.bare, challenge.text);
        let stored = self.mechanism.hash(&keys.client);
        let signature = self.mechanism.hmac(&stored, message.as_bytes());
        let proof = xor(&keys.client, &signature);
        let expected = self.mechanism.hmac(&keys.server, message.as_bytes());
        Proof {
            payload: format!("{without},p={}", STANDARD.encode(&*proof)),
            expected: format!("v={}", STANDARD.encode(&*expected)),
        }
    }
}

impl Proof {
    /// Checks the server's final message, which proves that the server has the user's keys.
    pub fn check(&self, payload: &[u8]) -> Result<(), Refused> {
        if bool::from(payload.ct_eq(self.expected.as_bytes())) {
            Ok(())
        } else {
            Err(Refused::Impostor)
        }
    }
}

/// A client's first message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The user name.
    pub user: String,
    nonce: String,
    bare: String,
}

impl Opening {
    /// Parses the message.
    pub fn parse(payload: &[u8]) -> Result<Self, Refused> {
        let text = std::str::from_utf8(payload).map_err(|_| Refused::Malformed("not UTF-8"))?;
        if text.starts_with("p=") {
            return Err(Refused::ChannelBinding);
        }
        let mut parts = text.splitn(3, ',');
        let (flag, identity, bare) = (parts.next(), parts.next(), parts.next());
        if !matches!(flag, Some("n" | "y")) || identity != Some("") {
            return Err(Refused::Malformed("no header"));
        }
        let bare = bare.ok_or(Refused::Malformed("no user"))?;
        let user = part(bare, 'n').ok_or(Refused::Malformed("no user"))?;
        let user = user.replace("=2C", ",").replace("=3D", "=");
        let nonce = part(bare, 'r').filter(|nonce| !nonce.is_empty());
        let nonce = nonce.ok_or(Refused::Malformed("no nonce"))?.to_owned();
        Ok(Self { user, nonce, bare: bare.to_owned() })
    }
}

/// The server side of one login.
#[derive(Debug)]
pub struct ServerLogin {
    verifier: Verifier,
    nonce: String,
    before: String,
}

impl ServerLogin {
    /// Starts a login with the client's first message and the user's verifier. Returns the login and the reply.
    pub fn start(opening: &Opening, verifier: Verifier, own_nonce: &str) -> (Self, String) {
        let nonce = format!("{}{own_nonce}", opening.nonce);
        let salt = STANDARD.encode(&verifier.salt);
        let answer = format!("r={nonce},s={salt},i={}", verifier.iterations);
        let before = format!("{},{answer}", opening.bare);
        (Self { verifier, nonce, before }, answer)
    }

    /// Checks the client's final message. Returns the reply and the keys that the proof reveals.
    pub fn finish(&self, payload: &[u8]) -> Result<(String, Keys), Refused> {
        let text = std::str::from_utf8(payload).map_err(|_| Refused::Malformed("not UTF-8"))?;
        let (without, proof) = text.rsplit_once(",p=").ok_or(Refused::Malformed("no proof"))?;
        let proof = STANDARD.decode(proof).map_err(|_| Refused::Malformed("no proof"))?;
        if part(without, 'r') != Some(&self.nonce) {
            return Err(Refused::Malformed("the nonce does not match"));
        }
        // `biws` and `eSws` are the base64 of `n,,` and `y,,`: the client does not use channel
        // binding.
        if !matches!(part(without, 'c'), Some("biws" | "eSws")) {
            return Err(Refused::ChannelBinding);
        }
        let mechanism = self.verifier.mechanism;
        let message = format!("{},{without}", self.before);
        let signature = mechanism.hmac(&self.verifier.stored, message.as_bytes());
        if proof.len() != signature.len() {
            return Err(Refused::Denied);
        }
        let client = xor(&proof, &signature);
        let stored = mechanism.hash(&client);
        if !bool::from(stored.ct_eq(&self.verifier.stored)) {
            return Err(Refused::Denied);
        }
        let answer = mechanism.hmac(&self.verifier.server, message.as_bytes());
        let keys = Keys { client, server: self.verifier.server.clone() };
        Ok((format!("v={}", STANDARD.encode(&*answer)), keys))
    }
}

/// Returns the value of the attribute `name=…` in a comma-separated list.
fn part(text: &str, name: char) -> Option<&str> {
    text.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

fn xor(a: &[u8], b: &[u8]) -> Bytes {
    Zeroizing::new(a.iter().zip(b).map(|(a, b)| a ^ b).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange in RFC 7677: user `user`, password `pencil`.
    #[test]
    fn the_example_of_the_rfc_is_answered() {
        let login = ClientLogin::new(Mechanism::Sha256, "user", "rOprNGfwEbeRWgbNEkqO".to_owned());
        assert_eq!(login.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let first = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let challenge = login.challenge(first).unwrap();
        let keys = Keys::of_password(
            Mechanism::Sha256,
            "user",
            "pencil",
            &challenge.salt,
            challenge.iterations,
        );
        let proof = login.prove(&challenge, &keys.unwrap());
        assert!(
            proof.payload.ends_with("p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="),
            "{}",
            proof.payload
        );
        assert_eq!(proof.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), Ok(()));
        assert_eq!(
            proof.check(b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="),
            Err(Refused::Impostor)
        );
    }

    fn exchange(
        mechanism: Mechanism,
        user: &str,
        client: &Keys,
        verifier: Verifier,
    ) -> Result<Keys, Refused> {
        let login = ClientLogin::new(mechanism, user, "abc".to_owned());
        let opening = Opening::parse(login.first().as_bytes())?;
        assert_eq!(opening.user, user);
        let (server, answer) = ServerLogin::start(&opening, verifier, "def");
        let challenge = login.challenge(answer.as_bytes())?;
        let proof = login.prove(&challenge, client);
        let (answer, keys) = server.finish(proof.payload.as_bytes())?;
        proof.check(answer.as_bytes())?;
        Ok(keys)
    }

    #[test]
    fn both_sides_agree_and_the_server_learns_keys_that_log_in() {
        for mechanism in [Mechanism::Sha1, Mechanism::Sha256] {
            let salt = [7; 16];
            let keys = Keys::of_password(mechanism, "a=b,c", "pässword", &salt, 4096).unwrap();
            let verifier = keys.verifier(mechanism, &salt, 4096);
            let learnt = exchange(mechanism, "a=b,c", &keys, verifier.clone()).unwrap();
            exchange(mechanism, "a=b,c", &learnt, verifier.clone()).unwrap();
            let wrong = Keys::of_password(mechanism, "a=b,c", "other", &salt, 4096).unwrap();
            let denied = exchange(mechanism, "a=b,c", &wrong, verifier);
            assert_eq!(denied.unwrap_err(), Refused::Denied);
        }
    }

    #[test]
    fn a_user_who_does_not_exist_gets_the_same_salt_every_time() {
        let (a, b) = (
            Verifier::of_nobody(Mechanism::Sha256, b"secret", "ann"),
            Verifier::of_nobody(Mechanism::Sha256, b"secret", "ann"),
        );
        assert_eq!(a.to_text(), b.to_text());
        assert_eq!((a.salt.len(), a.iterations), (28, 15_000));
        let keys = Keys::of_password(Mechanism::Sha256, "ann", "x", &a.salt, 4096).unwrap();
        assert_eq!(exchange(Mechanism::Sha256, "ann", &keys, a).unwrap_err(), Refused::Denied);
    }

    #[test]
    fn nonsense_is_refused() {
        for (payload, refused) in [
            (&b"\xff"[..], Refused::Malformed("not UTF-8")),
            (b"p=tls-unique,,n=a,r=b", Refused::ChannelBinding),
            (b"n,a=x,n=a,r=b", Refused::Malformed("no header")),
            (b"n,,r=b", Refused::Malformed("no user")),
            (b"n,,n=a", Refused::Malformed("no nonce")),
            (b"n", Refused::Malformed("no header")),
        ] {
            assert_eq!(Opening::parse(payload), Err(refused), "{payload:?}");
        }
        let login = ClientLogin::new(Mechanism::Sha256, "u", "abc".to_owned());
        for (payload, refused) in [
            (&b"r=abc,s=AAAA,i=4096"[..], Refused::Malformed("the nonce does not match")),
            (b"r=xyzabc,s=AAAA,i=4096", Refused::Malformed("the nonce does not match")),
            (b"r=abcd,s=AAAA,i=1", Refused::Iterations(1)),
            (b"r=abcd,s=AAAA,i=2000000000", Refused::Iterations(2_000_000_000)),
            (b"r=abcd,s=!,i=4096", Refused::Malformed("no salt")),
        ] {
            assert_eq!(login.challenge(payload), Err(refused), "{payload:?}");
        }
    }
}
