//! Shortens the driver's messages about a deployment that does not respond, and removes the login.

use crate::{
    escape::decoded,
    parse::parse,
    secret::{masked_value, user_part},
};

/// The driver's message about each server if none could be used: its address and the error.
/// Messages of other kinds stay unchanged.
pub fn server_errors(message: &str) -> String {
    let servers = message.split("Address: ").skip(1).map(|server| {
        let mut parts = server.split(", ");
        let address = parts.next().unwrap_or_default();
        let state = match server.split_once("Error: Kind: ") {
            Some((_, error)) => short(error.split(", labels: ").next().unwrap_or_default()),
            None => {
                let kind = parts.next().unwrap_or_default().trim_end_matches([' ', '}', ']', ',']);
                match kind.strip_prefix("Type: ").unwrap_or(kind) {
                    "Unknown" => "no answer".to_owned(),
                    "RsPrimary" => "a primary".to_owned(),
                    "RsSecondary" => "a secondary".to_owned(),
                    "RsArbiter" => "an arbiter".to_owned(),
                    other => other.to_owned(),
                }
            }
        };
        format!("{}: {state}", bracketed(address))
    });
    let servers: Vec<String> = servers.collect();
    if servers.is_empty() { message.to_owned() } else { servers.join("; ") }
}

/// `host:port` with the brackets of an IPv6 address in a connection string.
pub fn bracketed(address: &str) -> String {
    match address.rsplit_once(':') {
        Some((host, port)) if host.contains(':') && !host.starts_with('[') => {
            format!("[{host}]:{port}")
        }
        _ => address.to_owned(),
    }
}

/// An error without technical details: `connection refused` for `I/O error: Connection refused (os
/// error 111)`.
fn short(error: &str) -> String {
    if error.contains("failed to lookup address information") {
        return "this machine cannot resolve the name".to_owned();
    }
    if error.ends_with("tls handshake eof") {
        return "the server closed the connection instead of using TLS (for a server without TLS, set tls=false)"
            .to_owned();
    }
    if error.ends_with("unexpected end of file") {
        return "the server closed the connection without a reply (for a server that requires TLS, set tls=true)"
            .to_owned();
    }
    let error = error.strip_prefix("I/O error: ").unwrap_or(error);
    let error = error.split(" (os error ").next().unwrap_or(error).trim();
    let mut rest = error.chars();
    let is_word = error.chars().nth(1).is_some_and(char::is_lowercase);
    match rest.next() {
        Some(first) if is_word => first.to_lowercase().chain(rest).collect(),
        _ => error.to_owned(),
    }
}

/// Returns the reason why the driver refuses a connection string. Docward uses its own words for a
/// string that cannot be parsed. The driver would quote the part that it cannot parse, which may be
/// a password.
pub fn refusal(message: &str, uri: &str) -> String {
    match parse(uri) {
        Err(fault) => fault.to_string(),
        Ok(_) => without_login(message, uri),
    }
}

/// Removes the user part and the secret options of the connection string from a text.
pub fn without_login(text: &str, uri: &str) -> String {
    let mut text = text.to_owned();
    let mut secrets = Vec::new();
    if let Some(user) = user_part(uri) {
        secrets.push(user.to_owned());
        secrets.extend(user.split([':', '@', '/', '?']).map(str::to_owned));
    }
    let options = uri.split_once('?').map_or("", |(_, options)| options);
    for (key, value) in options.split(['&', ';']).filter_map(|option| option.split_once('=')) {
        if masked_value(&decoded(key), value) != value {
            secrets.extend([value.to_owned(), decoded(value)]);
            secrets.extend(decoded(value).split([':', ',']).map(str::to_owned));
        }
    }
    for secret in secrets.iter().filter(|secret| secret.len() > 1) {
        text = text.replace(secret.as_str(), "…");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_ipv6_have_brackets() {
        for (plain, wanted) in [
            ("::1:29101", "[::1]:29101"),
            ("[::1]:29101", "[::1]:29101"),
            ("127.0.0.1:29101", "127.0.0.1:29101"),
            ("/tmp/mongodb.sock", "/tmp/mongodb.sock"),
        ] {
            assert_eq!(bracketed(plain), wanted);
        }
        let told = server_errors("Topology: [ { Address: ::1:29101, Type: Unknown } ]");
        assert_eq!(told, "[::1]:29101: no answer");
    }

    #[test]
    fn servers_are_told_without_decoration() {
        let message = r#"Server selection timeout: No available servers. Topology: { Type: ReplicaSetNoPrimary, Servers: [ { Address: a:1, Type: Unknown, Error: Kind: I/O error: Connection refused (os error 111), labels: {"X"}, source: None, server response: None }, { Address: b:1, Type: RsSecondary }, { Address: c:1, Type: Unknown } ] }"#;
        assert_eq!(
            server_errors(message),
            "a:1: connection refused; b:1: a secondary; c:1: no answer"
        );
        assert_eq!(server_errors("something else"), "something else");
        let unknown = "I/O error: failed to lookup address information: Name or service not known";
        assert_eq!(short(unknown), "this machine cannot resolve the name");
        assert_eq!(short("I/O error: TLS handshake failed"), "TLS handshake failed");
        assert!(short("I/O error: unexpected end of file").ends_with("set tls=true)"));
        assert!(short("I/O error: tls handshake eof").ends_with("set tls=false)"));
    }

    #[test]
    fn sc_7_passwords_are_not_repeated() {
        let uri = "mongodb://ann:p@ss/w@host/?x=1";
        assert_eq!(without_login("bad port: pq", "mongodb://ann:pq?ss@host"), "bad port: …");
        assert_eq!(without_login("bad host: ss/w@host", uri), "bad host: …/w@host");
        assert_eq!(without_login("in ann:p@ss/w@host", uri), "in …@host");
        assert_eq!(without_login("no user", "mongodb://host"), "no user");
        let told = refusal("invalid server address ann:pq: no port", "mongodb://ann:pq/host");
        assert!(!told.contains("pq") && told.contains("is not a port"), "{told}");
        assert_eq!(refusal("no such option", "mongodb://ann:pq@host"), "no such option");
    }
}
