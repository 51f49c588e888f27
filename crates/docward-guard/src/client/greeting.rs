//! The reply to `hello`, which may carry the first step of a login.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use bson::{Document, RawDocumentBuf};
use docward_net::topology::ServerKind;
use tokio::time::{Instant, timeout_at};

use super::{Client, raw_of};
use crate::{
    errors::{Failure, code},
    hello::{self, HelloContext, HelloRequest},
    settings::Auth,
};

/// Upper bound for `maxAwaitTimeMS` of `hello`.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl Client {
    pub(super) async fn hello(&mut self, command: &Document) -> Result<RawDocumentBuf, Failure> {
        let asked = HelloRequest::of(command);
        if let Ok(version) = command.get_str("apiVersion")
            && version != "1"
        {
            let why = format!("Cannot accept API version {version}");
            return Err(Failure::new(code::API_VERSION, why));
        }
        if command.contains_key("maxAwaitTimeMS") && !command.contains_key("topologyVersion") {
            return Err(Failure::new(
                code::AWAITS_WITHOUT_VERSION,
                "A request with 'maxAwaitTimeMS' must include a 'topologyVersion'",
            ));
        }
        self.is_balanced |= asked.load_balanced;
        let is_first = !std::mem::replace(&mut self.is_greeted, true);
        if let Some(name) = &asked.application
            && is_first
        {
            let name: Arc<str> = name.as_str().into();
            tracing::debug!(client = self.who.client, application = ?name, "first hello");
            self.counted = Some(self.guard.counted_as(&name, &self.who.identity.name));
            self.own.forget();
        }
        let mechanisms = match &asked.mechanisms_of {
            Some(_) if !self.may_log_in() => Some(vec!["SCRAM-SHA-256"]),
            Some(name) if !matches!(self.guard.settings.auth, Auth::Off) => {
                Some(self.guard.users.mechanisms(&self.guard.deployment, name).await)
            }
            _ => None,
        };
        let speculative = match &asked.speculative {
            Some(login) if login.contains_key("saslStart") => {
                let source = login.get_str("db").unwrap_or("admin").to_owned();
                self.start_login(login, &source).await.ok()
            }
            Some(login) if login.contains_key("authenticate") => {
                self.log_in_by_certificate(login).ok()
            }
            _ => None,
        };
        self.wait_for_news(&asked).await;
        let is_ending = self.guard.draining().borrow().is_some();
        if is_ending && self.who.at.is_none() {
            return raw_of(hello::goodbye(self.guard.process));
        }
        let topology = self.guard.deployment.topology();
        let server = self.who.at.as_ref().map(|at| topology.servers.get(at));
        let names = self.guard.names.read().unwrap_or_else(PoisonError::into_inner).clone();
        let shown = match server {
            None => None,
            Some(Some(server)) if server.kind != ServerKind::Unknown && !is_ending => {
                Some((&*server.hello, &*names))
            }
            Some(server) => {
                let why = server.and_then(|server| server.error.clone());
                return Err(Failure::new(
                    code::NO_MEMBER,
                    why.unwrap_or_else(|| {
                        "it has not answered, was removed, or the guard is shutting down".to_owned()
                    }),
                ));
            }
        };
        let known = HelloContext {
            face: self.guard.settings.face,
            topology: &topology,
            shown,
            connection: i32::try_from(self.who.client & 0x7FFF_FFFF).unwrap_or(1),
            process: self.guard.process,
            mechanisms,
            now: bson::DateTime::now(),
        };
        let mut answer = hello::answer(&asked, &known);
        if let Some(mut said) = speculative {
            said.remove("ok");
            answer.insert("speculativeAuthenticate", said);
        }
        if self.is_known
            && let Some(time) = self.guard.cluster_time()
        {
            answer.insert("$clusterTime", time);
        }
        raw_of(answer)
    }

    /// Delays the reply to an awaitable `hello` until the state differs from the client's `topologyVersion`, at most
    /// for `maxAwaitTimeMS`.
    async fn wait_for_news(&self, asked: &HelloRequest) {
        let Some((version, most)) = asked.awaits else { return };
        let until = Instant::now() + Duration::from_millis(most).min(LONGEST_WAIT);
        let mut draining = self.guard.draining();
        let ending = draining.wait_for(Option::is_some);
        match &self.who.at {
            None if version.process == self.guard.process => {
                let _ = timeout_at(until, ending).await;
            }
            None => {}
            Some(at) => {
                let mut changes = self.guard.deployment.changes();
                let changed = changes.wait_for(|topology| {
                    let now = topology.servers.get(at).and_then(|server| server.topology_version);
                    now != Some(version)
                });
                let _ = timeout_at(until, async {
                    tokio::select! {
                        _ = ending => {}
                        _ = changed => {}
                    }
                })
                .await;
            }
        }
    }
}
