//! Hides secrets: a type that never prints its value, and texts with masked passwords.

use std::fmt;

use crate::{
    escape::{bad_percent, decoded},
    options::{ValueKind, option_info},
};

/// The mask printed instead of a password.
pub(crate) const MASK: &str = "*****";

/// A text that neither `Debug` nor `Display` prints.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself: for opening connections, never for printing.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// The part before the host, as far as it can be determined: user and password.
pub fn user_part(uri: &str) -> Option<&str> {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let (before_options, options) = rest.split_once('?').unwrap_or((rest, ""));
    let to_the_last = || rest.rsplit_once('@').map(|(user, _)| user);
    match before_options.rsplit_once('@') {
        // `@` and `?` inside the password: the text after them is not an option. Options follow a
        // slash; without one, drivers differ on which `@` ends the login.
        Some((user, behind))
            if options.contains('@')
                && colon(user).is_some()
                && (!behind.contains('/') || has_foreign_part(options)) =>
        {
            to_the_last()
        }
        Some((user, _)) => Some(user),
        // A question mark inside the password, because an option has a name and a value.
        None => {
            let (_, behind) = options.rsplit_once('@')?;
            let is_option = options.contains('=')
                && before_options.contains('/')
                && are_hosts(before_options)
                && !behind.contains('?');
            to_the_last().filter(|_| !is_option)
        }
    }
}

/// Returns whether the options contain an `@` outside text values: it may end a login.
fn has_foreign_part(options: &str) -> bool {
    let Some((before, after)) = options.rsplit_once('@') else { return false };
    let takes_any = |kind| matches!(kind, ValueKind::Text | ValueKind::Secret | ValueKind::Pairs);
    let is_known = |piece: &str| {
        let info = piece.split_once('=').and_then(|(name, _)| option_info(name));
        info.is_some_and(|info| !piece.contains('@') || takes_any(info.kind))
    };
    let (earlier, last) = before.rsplit_once(['&', ';']).unwrap_or(("", before));
    let last_takes_any = last
        .split_once('=')
        .and_then(|(name, _)| option_info(name))
        .is_some_and(|info| takes_any(info.kind));
    let earlier_are_known = earlier.is_empty() || earlier.split(['&', ';']).all(is_known);
    !(last_takes_any && earlier_are_known) || after.contains('?')
}

/// Returns whether the text before the options has valid ports.
fn are_hosts(text: &str) -> bool {
    text.split('/').next().unwrap_or(text).split(',').all(is_host)
}

/// Returns whether a text is a host with a numeric port, or without one.
fn is_host(text: &str) -> bool {
    let behind = match text.strip_prefix('[') {
        Some(address) => match address.split_once(']') {
            Some((_, behind)) => behind,
            None => return false,
        },
        None => text.find(':').map_or("", |at| &text[at..]),
    };
    behind.is_empty()
        || behind
            .strip_prefix(':')
            .is_some_and(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns whether user or password contain characters that must be escaped. Other messages about
/// such a connection string may quote the password as a host or a port.
pub fn is_unescaped(uri: &str) -> bool {
    user_part(uri).is_some_and(|user| {
        user.matches(':').count() > 1
            || user.contains(['@', '/', '?', '#', '[', ']', ' '])
            || bad_percent(user).is_some()
    })
}

/// Masks everything in a text that may be the password of a login: in connection strings, including
/// truncated or malformed ones, in URLs with another scheme, and in `user:password@host`. When in
/// doubt it masks more than necessary.
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((start, scheme_end)) = scheme(rest) {
        let (before, uri) = rest.split_at(start);
        out.push_str(&without_logins(before));
        let (uri, after) = uri.split_at(next_of_ours(uri, scheme_end - start));
        // A string on its own is masked to its end; in a sentence it ends at a space or a quote.
        let is_alone = out.trim().is_empty() && after.is_empty();
        let end = match is_ours(uri) {
            true if is_alone => uri.len(),
            true => end_of(uri),
            false => uri.find(ends_token).unwrap_or(uri.len()),
        };
        let uri = &uri[..end];
        out.push_str(&if is_ours(uri) { masked(uri) } else { masked_url(uri) });
        rest = &rest[start + end..];
    }
    out.push_str(&without_logins(rest));
    out
}

/// Masks everything in an argument that may be a password. Unlike in a sentence, no character ends
/// it: spaces, quotes and slashes may belong to the password.
pub fn redact_argument(argument: &str) -> String {
    let pairs = masked_pairs(argument);
    if argument.contains("://") {
        return masked(pairs.as_deref().unwrap_or(argument));
    }
    if let Some(pairs) = pairs {
        return pairs;
    }
    match argument.rfind('@').and_then(|at| Some((colon(&argument[..at])?, at))) {
        Some((colon, at)) => format!("{}:{MASK}{}", &argument[..colon], &argument[at..]),
        None => argument.to_owned(),
    }
}

/// Masks the passwords in `user=app password=…`, the format of other databases, and in the options of
/// `mongosh`.
fn masked_pairs(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let keys = ["password=", "passwd=", "pwd=", "--password ", "-p "];
    let starts = keys.iter().filter_map(|key| {
        let at = lower.find(key)?;
        let is_word = !lower[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
        is_word.then_some(at + key.len())
    });
    // The end of the password is unknown.
    let at = starts.min()?;
    Some(format!("{}{MASK}", &text[..at]))
}

/// The start of the next URL and the end of its scheme.
fn scheme(text: &str) -> Option<(usize, usize)> {
    let mark = text.find("://")?;
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-');
    let start = text[..mark]
        .rfind(|c: char| !is_letter(c))
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    Some((start, mark + 3))
}

/// The start of another connection string after the scheme of this one: it must start a new word.
/// Any other `://` may belong to a password.
fn next_of_ours(text: &str, scheme_end: usize) -> usize {
    let mut from = scheme_end;
    while let Some((start, end)) = scheme(&text[from..]) {
        let start = from + start;
        // A mask may also have replaced the end of the preceding word.
        let is_new = text[..start].ends_with(ends_token) || text[..start].ends_with(MASK);
        if is_new && is_ours(&text[start..]) {
            return start;
        }
        from += end;
    }
    text.len()
}

/// Returns whether a URL has a MongoDB scheme, possibly misspelled.
fn is_ours(uri: &str) -> bool {
    uri.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("mongo"))
}

/// Masks the password in another kind of URL. The text after the host is not changed: paths and
/// queries also contain `:` and `@`.
fn masked_url(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = url.split_at(start);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    // `localhost:${PORT}` is filled in later.
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    let is_filled_in = port.starts_with(['$', '{', '<', '%']);
    if authority.contains('@') || !(are_hosts(authority) || is_filled_in) {
        return masked(url);
    }
    format!("{scheme}{rest}")
}

/// Masks the passwords of `user:password@host` in a text outside URLs.
fn without_logins(text: &str) -> String {
    if !text.contains('@') {
        return text.to_owned();
    }
    let parts = text.split_inclusive(ends_token).map(|part| {
        let word = part.trim_end_matches(ends_token);
        let end = &part[word.len()..];
        match word.rfind('@').filter(|_| is_userinfo(word)) {
            Some(at) => {
                let colon = colon(word).unwrap_or(0);
                format!("{}:{MASK}{}{end}", &word[..colon], &word[at..])
            }
            None => part.to_owned(),
        }
    });
    parts.collect()
}

/// Returns whether a character ends a word that may be a login.
fn ends_token(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')
}

/// Returns whether a word is `user:password@host`: with both parts before the `@`, and something
/// after it.
pub(crate) fn is_userinfo(word: &str) -> bool {
    word.rsplit_once('@').is_some_and(|(login, host)| {
        !host.is_empty() && colon(login).is_some_and(|at| at > 0 || login.len() > 1)
    })
}

/// Returns whether a text begins with a port such as `:27017`.
pub(crate) fn port_follows(text: &str) -> bool {
    text.strip_prefix(':')
        .is_some_and(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
}

/// The end of a connection string within other text. If the login is cut off, it extends to the
/// next `@`.
fn end_of(uri: &str) -> usize {
    let end = uri.find(ends_token);
    let Some(end) = end else { return uri.len() };
    let token = &uri[..end];
    let line = uri[end..].find('\n').map_or(uri.len(), |at| end + at);
    // A sentence may go on behind the hosts: `mongodb://db1:27017: no server answered`.
    let is_sentence = !uri[end..line].contains('@');
    let token = if is_sentence { token.trim_end_matches([':', ';', ',', '.']) } else { token };
    let authority = token.split_once("://").map_or(token, |(_, rest)| rest);
    if token.contains('@') || are_hosts(authority.split(['/', '?']).next().unwrap_or(authority)) {
        return token.len();
    }
    uri[end..line].rfind('@').map_or(line, |at| {
        let host = end + at;
        uri[host..line].find(char::is_whitespace).map_or(line, |blank| host + blank)
    })
}

/// Masks the password in one connection string. The text before its last `@` may be a login.
fn masked(uri: &str) -> String {
    let start = uri.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = uri.split_at(start);
    let (login, rest) = rest.split_at(rest.rfind('@').unwrap_or(0));
    let is_odd = |name: &str| name.contains(['@', '/', '?', '#', ';', ',', '=', ' ']);
    let login = match colon(login) {
        Some(at) if !is_odd(&login[..at]) => format!("{}:{MASK}", &login[..at]),
        // Without a colon it is a name, unless it contains characters that names do not have; then
        // it may be a password.
        None if !is_odd(login) => login.to_owned(),
        _ => MASK.to_owned(),
    };
    let (before, options) = match rest.split_once('?') {
        Some((before, options)) => (before, Some(options)),
        None => (rest, None),
    };
    let mut out = format!("{scheme}{login}");
    out.push_str(&masked_ports(before));
    if let Some(options) = options {
        out.push('?');
        out.push_str(&masked_options(options));
    }
    out
}

/// The first colon, including a percent-encoded and a wide one: `user%3Apassword` was meant to
/// contain a password, whatever drivers read.
pub(crate) fn colon(text: &str) -> Option<usize> {
    let encoded = text.to_ascii_lowercase().find("%3a");
    text.find([':', '\u{ff1a}']).into_iter().chain(encoded).min()
}

/// Masks hosts and path: an invalid port may be a password.
fn masked_ports(text: &str) -> String {
    let end = text.find('/').unwrap_or(text.len());
    let (hosts, path) = text.split_at(end);
    let hosts: Vec<String> = hosts
        .split(',')
        .map(|host| match colon(host) {
            Some(at) if !is_host(host) || !host[at..].starts_with(':') => {
                format!("{}:{MASK}", &host[..at])
            }
            _ => host.to_owned(),
        })
        .collect();
    // `/shop&password=…`: options after the wrong separator.
    let (path, options) = path.split_at(path.find(['&', ';']).unwrap_or(path.len()));
    let first = options.get(..1).unwrap_or_default();
    format!(
        "{}{path}{first}{}",
        hosts.join(","),
        masked_options(options.get(1..).unwrap_or_default())
    )
}

/// Masks options with secret values.
fn masked_options(text: &str) -> String {
    let options = text.split_inclusive(['&', ';']).map(|option| {
        let body = option.strip_suffix(['&', ';']).unwrap_or(option);
        let end = &option[body.len()..];
        match body.split_once('=') {
            Some((key, value)) => format!("{key}={}{end}", masked_value(&decoded(key), value)),
            None if body.is_empty() => option.to_owned(),
            None => format!("{MASK}{end}"),
        }
    });
    options.collect()
}

/// The value of an option, masked if it is or may be secret: the content of an unknown option is
/// unknown, and an `@` belongs to a login.
pub(crate) fn masked_value(key: &str, value: &str) -> String {
    let kind = option_info(key).map(|info| info.kind);
    if matches!(kind, None | Some(ValueKind::Secret)) || value.contains('@') {
        return if value.is_empty() { String::new() } else { MASK.to_owned() };
    }
    if key.eq_ignore_ascii_case("authMechanismProperties") {
        let properties: Vec<String> = value.split(',').map(masked_property).collect();
        return properties.join(",");
    }
    value.to_owned()
}

/// Properties of login mechanisms that are not secret.
const PLAIN_PROPERTIES: [&str; 7] = [
    "ALLOWED_HOSTS",
    "CANONICALIZE_HOST_NAME",
    "ENVIRONMENT",
    "SERVICE_HOST",
    "SERVICE_NAME",
    "SERVICE_REALM",
    "TOKEN_RESOURCE",
];

/// One property, `NAME:VALUE`, without its value if that is or may be secret.
fn masked_property(property: &str) -> String {
    let Some(at) = colon(property) else {
        return if property.is_empty() { String::new() } else { MASK.to_owned() };
    };
    let name = &property[..at];
    if PLAIN_PROPERTIES.iter().any(|plain| name.eq_ignore_ascii_case(plain)) {
        return property.to_owned();
    }
    format!("{name}:{MASK}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_to_be_escaped_is_noticed() {
        for uri in [
            "mongodb://ann:p@ss@host/",
            "mongodb://ann:p/ss@host/?tls=true",
            "mongodb://ann:p?ss@host",
            "mongodb://ann:p?s=s@host",
            "mongodb://ann:p:ss@host",
            "mongodb://ann:100%@host",
            "mongodb://ann:p@x?ss@host/db?w=1",
            "mongodb://ann:p@x?s=s@host/db?w=1",
            "mongodb://ann:12?s=s@host",
            "mongodb://ann:12?appName=s@host",
            "mongodb://ann:p@x?appName=s@host",
        ] {
            assert!(is_unescaped(uri), "{uri}");
        }
        for uri in [
            "mongodb://host:27017/?appName=a@b",
            "mongodb://ann:p%40ss@host/",
            "mongodb://ann@host/",
            "mongodb://host",
            "mongodb://ann:p@host/?w=1&appName=a@b",
            "mongodb://host/?foo=a@b",
        ] {
            assert!(!is_unescaped(uri), "{uri}");
        }
    }

    #[test]
    fn sc_7_passwords_are_masked_also_where_the_string_is_broken() {
        for text in [
            "mongodb://ann:S3cret@host/db?w=1",
            "mongodb://ann:S3cret@S3cret@host/db",
            "mongodb://ann:S3cret/S3cret@host/db",
            "mongodb://ann:S3cret?S3cret@host/db",
            "mongodb://ann:S3cret#x@host",
            "mongodb://ann:S3cret@?S3cret@host/db?w=1",
            "mongodb://ann:S3cret@x?s=S3cret@host/db",
            "mongodb://ann:S3cret:S3cret@host",
            "mongodb://ann:///S3cret@host",
            "mongodb://ann:x://S3cret@host",
            "mongodb://ann:S3cret",
            "mongodb://ann:S3cret,host:27017/db",
            "mongodb://S3cret@ann:S3cret@host",
            "MONGODB://ann:S3cret@host",
            "cannot reach mongodb+srv://ann:S3cret@host/db: refused",
            "tried 'mongodb://ann:S3cret S3cret@host/db' and mongodb://b:S3cret@c",
            "mongodb://h/?authMechanismProperties=AWS_SESSION_TOKEN:S3cret,X:y&w=1",
            "mongodb://h/?tlsCertificateKeyFilePassword=S3cret&w=1",
            "mongodb://h/?w=1;tls%43ertificateKeyFilePassword=S3cret;journal=true",
            "mongodb://h/?passwd=S3cret",
            "mongodb://h/?S3cret&w=1",
            "mongodb://ann%3AS3cret@host/db",
            "mongodb://ann%3aS3cret",
            "mongodb://ann:12?appName=S3cret@host/db",
            "mongodb://ann:12/S3cret?appName=S3cret@host/db",
            "mongodb://ann:x@y?appName=S3cret@host/db",
            "mongodb://ann:x;w=1;appName=S3cret;@host/db?w=1",
            "mongo://ann:S3cret@host",
            "mongo://ann:S3cret/host",
            "mongodb:/ann:S3cret@host",
            "mongodb:ann:S3cret@host",
            "mongodb:// ann:S3cret@host",
            "'mongodb://ann:S3cret@host'",
            "ann:S3cret@host:27017",
            "https://ann:S3cret@host/",
            "https://ann:S3cret/host",
            "cannot read ann:S3cret@host: no such file",
            "cannot read \"mongo://ann:S3cret@host\": no such file",
            "/home/me/ann:S3cret@host",
        ] {
            let redacted = redact(text);
            assert!(!redacted.contains("S3cret"), "{text} -> {redacted}");
            assert!(redacted.contains(MASK), "{redacted}");
        }
        for text in [
            "mongodb://host:27017,[::1]:27018/db?w=1",
            "mongodb://ann@host",
            "no connection string at all: a@b",
            "see mongodb://host:27017 and ask a@b",
            "see https://example.com/a:b@c?mail=x:y@z and https://h:8080/p",
            "http://localhost:${PORT}/x and @Component",
            "a.js:3:1: @decorator",
            "src/@scope/a.js:3:1",
            "",
        ] {
            assert_eq!(redact(text), text);
        }
        assert_eq!(redact("mongodb://ann:pw@host/db?w=1"), "mongodb://ann:*****@host/db?w=1");
    }

    #[test]
    fn sc_7_whole_arguments_are_masked_whatever_is_in_them() {
        for argument in [
            "ann:S3cret S3cret@host",
            "mongo://ann:S3cret S3cret@host",
            "mongo://ann:\"S3cret'/S3cret@host",
            "'mongodb://ann:S3cret@host'",
            "mongodb:/ann:S3cret@host",
            "x=ann:S3cret/S3cret@host",
        ] {
            let redacted = redact_argument(argument);
            assert!(!redacted.contains("S3cret") && redacted.contains(MASK), "{redacted}");
            assert_eq!(redact_argument(&redacted), redacted);
        }
        for argument in
            ["dump/orders.json", "a@b", "--key={\"a\": 1}", "C:\\dump", "localhost:27017"]
        {
            assert_eq!(redact_argument(argument), argument);
        }
    }

    #[test]
    fn sc_7_secrets_print_nothing() {
        let secret = Secret::new("S3cret");
        assert_eq!(format!("{secret:?} {secret}"), "Secret(…) *****");
    }
}
