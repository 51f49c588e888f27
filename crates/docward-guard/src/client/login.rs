//! Login and logout of a client.

use std::sync::Arc;

use bson::{Document, RawDocumentBuf, doc};

use super::{Client, raw_of};
use crate::{
    auth::{Identity, Login},
    errors::{Failure, code},
    settings::Auth,
};

impl Client {
    pub(super) fn log_in_by_certificate(
        &mut self,
        command: &Document,
    ) -> Result<Document, Failure> {
        if command.get_str("mechanism").ok() != Some("MONGODB-X509")
            || !matches!(self.guard.settings.auth, Auth::List)
        {
            return Err(Failure::new(
                code::MECHANISM_UNAVAILABLE,
                "docward: authenticate works only with MONGODB-X509 and --auth list; use SCRAM-SHA-256",
            ));
        }
        let subject = self.subject.as_deref();
        let is_other = command.get_str("user").is_ok_and(|user| Some(user) != subject);
        let found = self.guard.users.by_certificate(subject.filter(|_| !is_other));
        self.note_login(found.is_ok());
        let identity = found?;
        let reply = doc! { "dbname": "$external", "user": self.subject.as_deref(), "ok": 1.0 };
        self.log_in_as(identity);
        Ok(reply)
    }

    /// Ends the login. The guard closes the cursors and transactions of the user like those of a disconnected client.
    pub(super) fn log_out(&mut self) {
        if !matches!(self.guard.settings.auth, Auth::Off) && self.is_known {
            self.is_known = false;
            self.counted = None;
            tokio::spawn(self.abandoned().clean_up());
        }
    }

    fn log_in_as(&mut self, identity: Identity) {
        if self.is_known && identity.name != self.who.identity.name {
            tokio::spawn(self.abandoned().clean_up());
        }
        let application = self.counted.take().map(|counted| Arc::clone(counted.application()));
        let application = application.unwrap_or_else(|| Arc::clone(&self.guard.unnamed));
        self.counted = Some(self.guard.counted_as(&application, &identity.name));
        self.own.forget();
        self.who.identity = identity;
        self.is_known = true;
    }

    pub(super) fn is_listed(&self) -> bool {
        self.who.identity.listed.is_some()
    }

    pub(super) fn may_log_in(&self) -> bool {
        self.peer.is_none_or(|peer| self.guard.rates.may_log_in(peer.ip()))
    }

    fn note_login(&self, is_ok: bool) {
        self.guard.metrics.logged_in(if is_ok { "accepted" } else { "refused" });
        if let (false, Some(peer)) = (is_ok, self.peer) {
            self.guard.rates.was_refused(peer.ip());
            tracing::info!(client = self.who.client, %peer, "login refused");
        }
    }

    pub(super) async fn start_login(
        &mut self,
        command: &Document,
        source: &str,
    ) -> Result<Document, Failure> {
        if let Auth::Off = self.guard.settings.auth {
            return Err(Failure::new(
                code::AUTHENTICATION_FAILED,
                "docward: the guard runs with --auth off; remove user and password from the connection string, or start the guard with --auth mirror",
            ));
        }
        if !self.may_log_in() {
            return Err(Failure::new(
                code::AUTHENTICATION_FAILED,
                "docward: too many failed logins from this address; wait a second and retry",
            ));
        }
        self.login = None;
        let (login, reply) =
            Login::start(&self.guard.users, &self.guard.deployment, command, source).await?;
        self.login = Some(login);
        Ok(reply)
    }

    pub(super) fn continue_login(&mut self, command: &Document) -> Result<Document, Failure> {
        let Some(mut login) = self.login.take() else {
            return Err(Failure::new(code::PROTOCOL_ERROR, "No SASL session state found"));
        };
        let step = login.advance(&self.guard.users, command);
        let step = step.inspect_err(|_| self.note_login(false))?;
        match step.identity {
            Some(identity) => {
                self.note_login(true);
                self.log_in_as(identity);
            }
            None => self.login = Some(login),
        }
        Ok(step.reply)
    }
}

/// Returns the reply to `connectionStatus` for a user of the list.
pub(super) fn connection_status(name: &str) -> Result<RawDocumentBuf, Failure> {
    let (source, user) = name.split_once('.').unwrap_or(("", name));
    raw_of(doc! {
        "authInfo": {
            "authenticatedUsers": [{ "user": user, "db": source }],
            "authenticatedUserRoles": [],
        },
        "ok": 1.0,
    })
}
