//! SE-2, SE-3, SC-1: a server that can be reached from outside of its private network.

use docward_model::{Draft, Evidence, Level, Need, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::addresses::{Reach, ip, reach},
        text,
    },
};

declare_rule! {
    /// # Listens in public
    ///
    /// ## What it checks
    /// Checks the addresses on which a server listens (`net.bindIp`):
    /// - a public address: an error
    /// - all addresses (`0.0.0.0`, `::`, `bindIpAll`): a warning, because one of them may be public. It is not
    ///   reported if a file of network rules declares that there is none (`public_ip = []`)
    ///
    /// A connection string with a public address is a warning, unless the address is declared as the load
    /// balancer's. Private, carrier-grade and link-local ranges are not reported. Docward does not resolve host
    /// names.
    ///
    /// ## Why it matters
    /// Servers that are reachable from the internet are found within hours. Then only a password protects the
    /// data.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// server {"authorization": true, "bind": ["127.0.0.1", "8.8.8.8"]}
    /// ```
    /// ```jsonl,fires
    /// uri mongodb://8.8.8.8:27017/db_shop
    /// ```
    /// ```jsonl,clean
    /// server {"authorization": true, "bind": ["127.0.0.1", "10.0.0.5"]}
    /// uri mongodb://10.0.0.5:27017,db1.example.net/db_shop
    /// ```
    ///
    /// ## How to fix
    /// Bind only to the loopback and the private address. Route public access through a load balancer with an
    /// allow-list and TLS.
    ///
    /// ## When to ignore it
    /// The server runs in a container that listens on all its addresses by design, in a private network.
    S002, "listens-in-public",
    level: Mandatory,
    area: Security,
    severities: [Error, Warn],
    clauses: ["SE-2", "SE-3", "SC-1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [],
    thresholds: [],
    data: ["addresses"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    if evidence.server.is_none() && evidence.uris.is_empty() {
        cx.skip(Need::Server);
    }
    listening(evidence, cx);
    connecting(evidence, cx);
}

fn listening(evidence: &Evidence, cx: &mut Cx<'_>) {
    let start = evidence.server.as_ref().and_then(|s| s.start.as_ref());
    let Some(addresses) = start.and_then(|s| s.bind_addresses.as_ref()) else { return };
    let with = |wanted: Reach| -> Vec<&str> {
        addresses.iter().map(String::as_str).filter(|a| reach(a) == wanted).collect()
    };
    let (public, mut everything) = (with(Reach::Public), with(Reach::Everything));
    let declared = evidence.network.as_ref().and_then(|n| n.public_addresses.as_ref());
    if declared.is_some_and(Vec::is_empty) {
        everything.clear();
    }
    let (what, level, shown) = if !public.is_empty() {
        (
            format!("the server listens on a public address: {}", public.join(", ")),
            Level::Mandatory,
            public,
        )
    } else if !everything.is_empty() {
        (
            format!(
                "the server listens on all addresses of its machine ({})",
                everything.join(", ")
            ),
            Level::Recommended,
            everything,
        )
    } else {
        return;
    };
    cx.report(
        Draft::new(
            Subject::Deployment,
            what,
            "scanners find a public server within hours, and then only a password protects the data",
            "bind only to the loopback and the private address; route public access through a load balancer with an allow-list and TLS",
            Seen::all(addresses.len() as u64, Unit::Addresses),
        )
        .level(level)
        .data("addresses", shown.into_iter().map(str::to_owned).collect::<Vec<_>>()),
    );
}

/// Checks addresses in connection strings. The rules about networks report those in the network's files.
fn connecting(evidence: &Evidence, cx: &mut Cx<'_>) {
    let network = evidence.network.as_ref();
    let declared = |host: &str| {
        let known = network
            .into_iter()
            .flat_map(|n| n.load_balancer_vips.iter().chain(n.public_addresses.iter().flatten()));
        ip(host).is_some_and(|ip| known.into_iter().any(|&other| other == ip))
    };
    let mut public: Vec<&str> = evidence
        .uris
        .iter()
        .flat_map(|uri| &uri.hosts)
        .map(String::as_str)
        .filter(|host| reach(host) == Reach::Public && !declared(host))
        .collect();
    public.sort_unstable();
    public.dedup();
    if public.is_empty() {
        return;
    }
    cx.report(
        Draft::new(
            Subject::Deployment,
            format!("a connection string uses a public address: {}", text::phrases(&public, 3)),
            "clients reach the database through the internet, where anyone can try to log in",
            "connect over the private network; if the address is a load balancer with an allow-list, declare it in a file for --network-rules",
            Seen::all(evidence.uris.len() as u64, Unit::ConnectionStrings),
        )
        .level(Level::Recommended)
        .clauses(&["SE-2", "SC-1"])
        .data("addresses", public.into_iter().map(str::to_owned).collect::<Vec<_>>())
        .key("uri"),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, severities};
    use docward_model::Severity;

    fn bound(address: &str) -> Vec<Severity> {
        let body =
            format!(r#"server {{"authorization": true, "bind": ["127.0.0.1", "{address}"]}}"#);
        severities("S002", "", &body)
    }

    #[test]
    fn se_2_se_3_sc_1_private_passes_and_public_does_not() {
        assert!(bound("10.0.0.5").is_empty());
        assert_eq!(bound("8.8.8.8"), [Severity::Error]);
        assert_eq!(bound("0.0.0.0"), [Severity::Warn]);
    }
    #[test]
    fn se_2_connection_strings_are_looked_at() {
        let found = |body: &str| -> Vec<Severity> { severities("S002", "", body) };
        assert_eq!(found("uri mongodb://8.8.8.8"), [Severity::Warn]);
        assert_eq!(found("source mongodb://[2001:4860::1]:27017"), [Severity::Warn]);
        assert!(found("uri mongodb://10.0.0.5:27017,db.example.net").is_empty());
        let declared =
            "network {\"load_balancer_vip\": [\"8.8.8.8\"]}\nuri mongodb://8.8.8.8:27017";
        assert!(found(declared).is_empty());
    }

    #[test]
    fn se_2_a_machine_without_public_addresses_may_listen_on_all() {
        let body =
            "network {\"public_ip\": []}\nserver {\"authorization\": true, \"bind\": [\"*\"]}";
        assert!(check("S002", body).is_empty());
    }
}
