//! Options of a client that code sets in addition to its connection string.

use crate::{ClientOption, ClientUri, OptionValue};

impl ClientUri {
    /// Sets an option; it overrides the one in the connection string.
    pub fn set(&mut self, option: ClientOption) {
        let text = match &option.value {
            OptionValue::Text(text) => Some(text.clone()),
            _ => None,
        };
        let yes = option.value == OptionValue::Bool(true);
        match option.name.as_str() {
            "tls" => self.tls = yes || option.value == OptionValue::Unknown,
            "authSource" => self.auth_source = text.unwrap_or_else(|| self.auth_source.clone()),
            "authMechanism" => self.mechanism = text.or(self.mechanism.take()),
            "appName" => self.app_name = text.or(self.app_name.take()),
            "replicaSet" => self.replica_set = text.or(self.replica_set.take()),
            "readPreference" => self.read_preference = text.or(self.read_preference.take()),
            "tlsInsecure" | "tlsAllowInvalidCertificates" | "tlsAllowInvalidHostnames" if yes => {
                self.unchecked.push(option.written.clone());
            }
            _ => {}
        }
        self.options.retain(|other| other.name != option.name);
        self.options.push(option);
    }

    /// Returns whether the client is a development set-up: it is defined in code or settings, and
    /// its hosts are this machine or containers next to it.
    pub fn is_for_development(&self) -> bool {
        self.site.is_some()
            && !self.srv
            && !self.hosts.is_empty()
            && self.hosts.iter().all(|host| is_development_host(host))
    }
}

/// Returns whether a host is this machine or a container next to it: `localhost`, `127.0.0.1`,
/// `host.docker.internal`, `mongo.local`, `mongo`. A name such as `prod-mongo` is a server.
pub fn is_development_host(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let name = name.trim_matches(['[', ']']).to_ascii_lowercase();
    let is_container = || {
        name != crate::client_uri::HOLE
            && !name.contains('.')
            && !name.split(['-', '_']).any(|word| matches!(word, "prod" | "production" | "live"))
    };
    let is_on_this_network = || name.strip_suffix(".local").is_some_and(|name| !name.contains('.'));
    name.starts_with("127.")
        || matches!(name.as_str(), "localhost" | "::1" | "0.0.0.0")
        || name.ends_with(".localhost")
        || matches!(name.as_str(), "host.docker.internal" | "host.containers.internal")
        || is_on_this_network()
        || is_container()
}

#[cfg(test)]
mod tests {
    use super::is_development_host;

    #[test]
    fn names_of_servers_are_not_development() {
        for host in ["localhost:27017", "127.0.0.1", "[::1]:27017", "mongo", "db.local", "mongo1:1"]
        {
            assert!(is_development_host(host), "{host}");
        }
        for host in ["prod-mongo", "prod-db.internal", "db.corp.local", "m-0.m.svc.cluster.local"] {
            assert!(!is_development_host(host), "{host}");
        }
    }
}
