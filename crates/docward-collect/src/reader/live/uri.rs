//! Options of connection strings that only other drivers support.

use docward_uri::is_unescaped;

/// Options that this driver supports, in lower case.
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

/// Prefixes of options that set how to reach the server and how to authenticate. Without them the
/// audit could use another server or identity, so the driver decides about them.
const NEVER_LEFT_OUT: &[&str] = &["auth", "gssapi", "load", "proxy", "srv", "ssl", "tls"];

/// Options about certificate checks that have no effect here.
const OF_NO_USE: &[&str] = &["tlsdisablecertificaterevocationcheck", "tlsdisableocspendpointcheck"];

/// The connection string without valid options that the driver would refuse and that have no effect
/// on reading, and the names of these options.
pub(super) fn without_unknown_options(uri: &str) -> (String, Vec<String>) {
    // Text that looks like options may be a part of the password.
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
    // 0 means no limit, which this driver cannot express.
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
        // Options that change how to reach the server are not dropped silently.
        check("mongodb://h/?proxyHost=p", "mongodb://h/?proxyHost=p", &[]);
    }
}
