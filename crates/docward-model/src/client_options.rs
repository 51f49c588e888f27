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
    /// its hosts are this machine or containers next to it (host names without dots).
    pub fn is_for_development(&self) -> bool {
        let is_local = |host: &String| {
            let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
            let name = name.trim_matches(['[', ']']).to_ascii_lowercase();
            name.starts_with("127.")
                || matches!(name.as_str(), "localhost" | "::1" | "0.0.0.0")
                || name.ends_with(".internal")
                || name.ends_with(".local")
                || name.ends_with(".localhost")
                || (!name.contains('.') && name != crate::client_uri::HOLE)
        };
        self.site.is_some()
            && !self.srv
            && !self.hosts.is_empty()
            && self.hosts.iter().all(is_local)
    }
}
