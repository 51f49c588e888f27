//! SE-7, SC-6: connection strings that cross public networks without TLS, or with its checks turned off.

use docward_model::{
    ClientUri, Draft, Evidence, Level, Location, OptionValue, Seen, Subject, Unit, UriChange,
    is_development_host,
};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::addresses::{Reach, reach},
        text,
    },
};

declare_rule! {
    /// # Unprotected connection
    ///
    /// ## What it checks
    /// Checks connection strings: those of the sources, those of clients (`--client-uri`), and those in code.
    ///
    /// | string | severity |
    /// |---|---|
    /// | public address without `tls=true` or `ssl=true` | error |
    /// | `tlsInsecure`, `tlsAllowInvalidCertificates` or `tlsAllowInvalidHostnames` with a host name or a public address | error |
    /// | the same options with a private address, with an address that code computes, or without TLS | warning |
    /// | options of code with the same effect: `sslValidate: false`, `rejectUnauthorized: false`, `ssl_cert_reqs=CERT_NONE`, `InsecureSkipVerify: true` | as above |
    /// | the same options in code that sets them only if the connection string asks for it | note |
    /// | `tls=false` or `ssl=false` with a host name, except names of this machine and of containers | warning |
    /// | any of these in a file that nothing imports | note |
    ///
    /// Docward does not report loopback addresses, private addresses without TLS, or host names in strings that do not mention TLS:
    /// Docward does not resolve names. `mongodb+srv://` always uses TLS.
    ///
    /// ## Why it matters
    /// Anyone on the network path can read the documents and change them. Without certificate checks, an attacker
    /// on the path can pretend to be the server.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://8.8.8.8:27017/db_shop
    /// ```
    /// ```jsonl,fires
    /// uri mongodb://8.8.8.8:27017/db_shop?tls=true&tlsInsecure=true
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://8.8.8.8:27017/db_shop?tls=true
    /// uri mongodb://10.0.0.5:27017/db_shop
    /// ```
    ///
    /// ## How to fix
    /// Add `tls=true`, with `tlsCAFile` for a private certificate authority, and do not switch the checks off.
    ///
    /// ## When to ignore it
    /// A layer below MongoDB encrypts the connection, for example a VPN.
    S009, "unprotected-connection",
    level: Mandatory,
    area: Security,
    severities: [Error, Warn, Info],
    clauses: ["SE-7", "SC-6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: ["tls", "unchecked"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let mut told: Vec<String> = Vec::new();
    for uri in &evidence.uris {
        let Some((what, level, todo)) = fault(uri) else { continue };
        let level = if is_of_idle_file(evidence, uri) { Level::Information } else { level };
        // The same hosts may be named for the source and for several clients.
        let key = format!("{}.{}", uri.label(), if uri.tls { "checks" } else { "plain" });
        if told.contains(&key) {
            continue;
        }
        let canonical = |option| docward_uri::canonical_name(option).unwrap_or(option);
        let change: Vec<UriChange> = match uri.unchecked.as_slice() {
            off @ [_, ..] if uri.tls || uri.is_partial || level == Level::Recommended => {
                off.iter().map(|option| UriChange::remove(canonical(option))).collect()
            }
            _ => vec![UriChange::set("tls", true)],
        };
        let draft = Draft::new(
            Subject::Deployment,
            what,
            "anyone on the network path can read and change the documents",
            todo,
            Seen::all(evidence.uris.len() as u64, Unit::ConnectionStrings),
        )
        .level(level)
        .data("tls", uri.tls)
        .data("unchecked", uri.unchecked.clone())
        .uri(change)
        .key(&key);
        cx.report(match place(uri) {
            Some(place) => draft.location(place),
            None => draft,
        });
        told.push(key);
    }
}

/// Whether no other file of the project imports the file that contains the connection.
fn is_of_idle_file(evidence: &Evidence, uri: &ClientUri) -> bool {
    evidence.code.as_ref().zip(place(uri)).is_some_and(|(code, at)| code.is_idle(&at.file))
}

/// The option that turns off TLS or its checks, or else the first public host.
fn place(uri: &ClientUri) -> Option<Location> {
    let name = match uri.unchecked.first() {
        Some(option) if uri.tls || uri.is_partial => {
            docward_uri::canonical_name(option).unwrap_or("tls")
        }
        _ => "tls",
    };
    let public = || {
        let at = uri.hosts.iter().position(|host| reach(host) == Reach::Public)?;
        uri.places.hosts.get(at).cloned()
    };
    let option = uri.option(name).and_then(|option| option.location.clone());
    let site = || uri.site.as_ref().map(|site| site.location.clone());
    option.or_else(public).or_else(|| uri.places.start.clone()).or_else(site)
}

fn fault(uri: &ClientUri) -> Option<(String, Level, &'static str)> {
    let label = uri.label();
    // If the string is computed, it is unknown whether it turns on TLS. Code that turns off the checks of TLS uses TLS.
    let is_computed = uri.is_partial && !uri.shows_all_hosts() && uri.option("tls").is_none();
    if is_computed && !uri.unchecked.is_empty() {
        let is_asked_for = uri.unchecked.iter().all(|written| {
            uri.options.iter().any(|option| option.written == *written && option.is_asked_for)
        });
        let level = if is_asked_for { Level::Information } else { Level::Recommended };
        return Some((
            format!("{} turns off TLS checks with {}", uri.owner(), uri.unchecked.join(", ")),
            level,
            REMOVE,
        ));
    }
    if !uri.tls {
        let public: Vec<&str> = uri
            .hosts
            .iter()
            .map(String::as_str)
            .filter(|host| reach(host) == Reach::Public)
            .collect();
        let is_local = uri.hosts.iter().all(|host| reach(host) == Reach::Loopback);
        if public.is_empty() && !uri.unchecked.is_empty() && !is_local {
            return Some((
                format!("{label} turns off TLS checks with {}", uri.unchecked.join(", ")),
                Level::Recommended,
                "remove the option and set tls=true; for a private certificate authority, set tlsCAFile",
            ));
        }
        let is_off = uri.option("tls").is_some_and(|tls| tls.value == OptionValue::Bool(false));
        let mut names = uri
            .hosts
            .iter()
            .filter(|host| reach(host) == Reach::Unknown && !is_development_host(host));
        if let Some(name) = names.next()
            && public.is_empty()
            && is_off
            && !uri.srv
        {
            return Some((
                format!("{label} turns off TLS for `{name}`"),
                Level::Recommended,
                "set tls=true, and net.tls.mode: requireTLS on the server",
            ));
        }
        return (!public.is_empty()).then(|| {
            (
                format!(
                    "{label} connects to the public address {} without TLS",
                    text::phrases(&public, 3)
                ),
                Level::Mandatory,
                "add tls=true to the connection string, and net.tls.mode: requireTLS to the server",
            )
        });
    }
    if uri.unchecked.is_empty() {
        return None;
    }
    // Traffic inside the machine cannot be intercepted. This includes tunnels, whose host name never matches the
    // certificate.
    let reaches: Vec<Reach> = uri.hosts.iter().map(|host| reach(host)).collect();
    let is_private = |r: &Reach| matches!(r, Reach::Loopback | Reach::Private);
    let level = if reaches.iter().all(|r| *r == Reach::Loopback) {
        return None;
    } else if !uri.shows_all_hosts() || reaches.iter().all(is_private) {
        Level::Recommended
    } else {
        Level::Mandatory
    };
    Some((
        format!(
            "{label} uses TLS but turns off certificate checks with {}",
            uri.unchecked.join(", ")
        ),
        level,
        REMOVE,
    ))
}

const REMOVE: &str = "remove the option; for a private certificate authority, set tlsCAFile";

#[cfg(test)]
mod tests {
    use crate::testing::{check, severities};
    use docward_model::Severity;

    fn found(uri: &str) -> Vec<Severity> {
        severities("S009", "", &format!("uri mongodb{uri}"))
    }

    #[test]
    fn se_7_checks_that_are_off_are_told_without_tls_as_well() {
        assert_eq!(found("://10.0.0.5/?tlsAllowInvalidCertificates=true"), [Severity::Warn]);
        assert_eq!(found("://db.example.net/?tlsInsecure=true"), [Severity::Warn]);
        assert!(found("://localhost/?tlsInsecure=true").is_empty());
        assert!(found("://10.0.0.5/?tlsInsecure=false").is_empty());
    }

    #[test]
    fn se_7_sc_6_public_needs_tls_and_private_does_not() {
        assert_eq!(found("://8.8.8.8"), [Severity::Error]);
        assert_eq!(found("://10.0.0.1,8.8.8.8:27017/?tls=false"), [Severity::Error]);
        assert!(found("://8.8.8.8/?tls=true").is_empty());
        assert!(found("://8.8.8.8/?ssl=true").is_empty());
        assert!(found("://10.0.0.1").is_empty());
        assert!(found("://localhost").is_empty());
        assert!(found("://db.example.net").is_empty(), "names are not looked up");
        assert!(found("+srv://cluster.example.net").is_empty());
        assert_eq!(found("://db.example.net/?tls=false"), [Severity::Warn]);
        assert_eq!(found("://db.example.net/?ssl=false"), [Severity::Warn]);
        assert!(found("://mongo/?tls=false").is_empty());
        assert!(found("://10.0.0.1/?tls=false").is_empty());
    }

    #[test]
    fn se_7_checks_that_are_switched_off() {
        for option in ["tlsInsecure", "tlsAllowInvalidCertificates", "tlsAllowInvalidHostnames"] {
            let with = |host: &str| found(&format!("://{host}/?tls=true&{option}=true"));
            assert_eq!(with("8.8.8.8"), [Severity::Error]);
            assert_eq!(with("db.example.net"), [Severity::Error]);
            assert_eq!(with("10.0.0.1"), [Severity::Warn]);
            assert!(with("localhost:27018").is_empty());
            assert!(found(&format!("://8.8.8.8/?tls=true&{option}=false")).is_empty());
        }
        let code = "source a.py\nfrom pymongo import MongoClient\nc = MongoClient(uri, tlsAllowInvalidCertificates=True)\n";
        assert_eq!(severities("S009", "", code), [Severity::Warn]);
        assert!(severities("S009", "", &code.replace("True", "False")).is_empty());
        assert!(severities("S009", "", &code.replace("uri,", "'localhost',")).is_empty());
        let others = [
            "source a.py\nimport ssl\nfrom pymongo import MongoClient\nc = MongoClient(uri, ssl=True, ssl_cert_reqs=ssl.CERT_NONE)\n",
            "source a.js\nconst {MongoClient} = require('mongodb');\nnew MongoClient(uri, {sslValidate: false});\n",
            "source a.js\nconst mongoose = require('mongoose');\nmongoose.connect(uri, {tls: true, rejectUnauthorized: false});\n",
            "source a.go\npackage a\nimport \"go.mongodb.org/mongo-driver/mongo\"\nfunc f() { mongo.Connect(ctx, options.Client().ApplyURI(uri).SetTLSConfig(&tls.Config{InsecureSkipVerify: true})) }\n",
        ];
        for code in others {
            assert_eq!(severities("S009", "", code).len(), 1, "{code}");
            let on = code.replace("CERT_NONE", "CERT_REQUIRED").replace(": false", ": !dev");
            let on = on.replace("InsecureSkipVerify: true", "InsecureSkipVerify: dev");
            assert!(severities("S009", "", &on).is_empty(), "{on}");
        }
        let asked = "source A.java\nimport com.mongodb.client.MongoClients;\nclass A { Object f(String uri) {\n  Builder b = MongoClientSettings.builder();\n  if (uri.contains(\"tlsAllowInvalidCertificates=true\")) {\n    b.applyToSslSettings(s -> s.enabled(true).invalidHostNameAllowed(true));\n  }\n  return MongoClients.create(b.build());\n} }\n";
        assert_eq!(severities("S009", "", asked), [Severity::Info]);
        let always = asked.replace("uri.contains(\"tlsAllowInvalidCertificates=true\")", "ssl");
        assert_eq!(severities("S009", "", &always), [Severity::Warn]);
        let both = check("S009", "uri mongodb://8.8.8.8\nsource mongodb://8.8.8.8");
        assert_eq!(both.len(), 1, "one cause, one finding");
    }
}
