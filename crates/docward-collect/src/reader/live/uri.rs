//! Options of connection strings that only other drivers know.

use docward_uri::is_unescaped;

/// Options of connection strings that the driver takes, in lower case.
const KNOWN: &[&str] = &[
    "appname",
    "authmechanism",
    "authmechanismproperties",
    "authsource",
    "connecttimeoutms",
    "directconnection",
    "heartbeatfrequencyms",
    "journal",
    "loadbalanced",
    "localthresholdms",
    "maxconnecting",
    "maxidletimems",
    "maxpoolsize",
    "maxstalenessseconds",
    "minpoolsize",
    "readconcernlevel",
    "readpreference",
    "readpreferencetags",
    "replicaset",
    "retryreads",
    "retrywrites",
    "servermonitoringmode",
    "serverselectiontimeoutms",
    "srvmaxhosts",
    "srvservicename",
    "ssl",
    "tls",
    "w",
    "waitqueuetimeoutms",
    "wtimeoutms",
];

/// Beginnings of options that say how to reach the server and who one is: without them the audit
/// would be another one, so the driver has the last word.
const NEVER_LEFT_OUT: &[&str] = &["auth", "gssapi", "load", "proxy", "srv", "ssl", "tls"];

/// Options about certificates that are no longer checked are of no use here.
const OF_NO_USE: &[&str] = &["tlsdisablecertificaterevocationcheck", "tlsdisableocspendpointcheck"];

/// The connection string without options that the driver would refuse though they are valid and mean
/// nothing for reading, and the names of those.
pub(super) fn without_unknown_options(uri: &str) -> (String, Vec<String>) {
    // What looks like options may be a part of the password.
    let options = uri.split_once('?').filter(|_| !is_unescaped(uri));
    let Some((before, options)) = options else { return (uri.to_owned(), Vec::new()) };
    let mut left_out = Vec::new();
    let kept: Vec<&str> = options
        .split('&')
        .filter(|option| {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let takes = is_taken(&name.to_ascii_lowercase(), value);
            if !takes && !option.is_empty() {
                left_out.push(name.to_owned());
            }
            takes
        })
        .collect();
    (format!("{before}?{}", kept.join("&")), left_out)
}

fn is_taken(name: &str, value: &str) -> bool {
    if OF_NO_USE.contains(&name) {
        return false;
    }
    // No limit, which the driver has no word for.
    let no_limit = name == "maxpoolsize" && value == "0";
    (KNOWN.contains(&name) && !no_limit)
        || NEVER_LEFT_OUT.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_other_drivers_are_left_out() {
        let check = |uri: &str, kept: &str, left_out: &[&str]| {
            let (uri, names) = without_unknown_options(uri);
            assert_eq!(
                (uri.as_str(), names.iter().map(String::as_str).collect::<Vec<_>>()),
                (kept, left_out.to_vec())
            );
        };
        check("mongodb://h/db", "mongodb://h/db", &[]);
        check(
            "mongodb://h/?compressors=zstd&tls=true&socketTimeoutMS=5&uuidRepresentation=standard&timeoutMS=9",
            "mongodb://h/?tls=true",
            &["compressors", "socketTimeoutMS", "uuidRepresentation", "timeoutMS"],
        );
        check("mongodb://h/?maxPoolSize=0&w=majority", "mongodb://h/?w=majority", &["maxPoolSize"]);
        check("mongodb://ann:p?ss@h/?a=1", "mongodb://ann:p?ss@h/?a=1", &[]);
        // Another way to the server is not left out quietly.
        check("mongodb://h/?proxyHost=p", "mongodb://h/?proxyHost=p", &[]);
    }
}
