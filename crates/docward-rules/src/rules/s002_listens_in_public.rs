//! SE-2, SE-3, SC-1: a server that can be reached from outside of its private network.

use docward_model::{Draft, Evidence, Level, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::addresses::{Reach, reach},
};

declare_rule! {
    /// # Listens in public
    ///
    /// ## What it checks
    /// Looks at the addresses a server listens on (`net.bindIp`). A public address is an error. All
    /// addresses (`0.0.0.0`, `::`, `bindIpAll`) are a warning: whether one of them is public only the
    /// machine knows. Private, carrier-grade and link-local ranges pass.
    ///
    /// ## Why it matters
    /// Servers that can be reached from the internet are found within hours; then only a password stands
    /// between the data and everybody.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// server {"authorization": true, "bind": ["127.0.0.1", "8.8.8.8"]}
    /// ```
    /// ```jsonl,clean
    /// server {"authorization": true, "bind": ["127.0.0.1", "10.0.0.5"]}
    /// ```
    ///
    /// ## How to fix
    /// Bind to the loopback and the private address only; let public access go through a load balancer with
    /// an allow-list and TLS.
    ///
    /// ## When to ignore it
    /// In a container that listens on all its addresses by design, and whose network is private.
    S002, "listens-in-public",
    level: Mandatory,
    clauses: ["SE-2", "SE-3", "SC-1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Server],
    thresholds: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let start = evidence.server.as_ref().and_then(|s| s.start.as_ref());
    let Some(addresses) = start.and_then(|s| s.bind_addresses.as_ref()) else { return };
    let with = |wanted: Reach| -> Vec<&str> {
        addresses.iter().map(String::as_str).filter(|a| reach(a) == wanted).collect()
    };
    let (public, everything) = (with(Reach::Public), with(Reach::Everything));
    let (what, level, shown) = if !public.is_empty() {
        (
            format!("the server listens on the public address {}", public.join(", ")),
            Level::Mandatory,
            public,
        )
    } else if !everything.is_empty() {
        (
            format!(
                "the server listens on every address of its machine ({})",
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
            "servers that can be reached from the internet are found within hours; then only a password stands between the data and everybody",
            "bind to the loopback and the private address only; let public access go through a load balancer with an allow-list and TLS",
            Seen::all(addresses.len() as u64, Unit::Addresses),
        )
        .level(level)
        .data("addresses", shown.into_iter().map(str::to_owned).collect::<Vec<_>>()),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    fn bound(address: &str) -> Vec<Severity> {
        let body =
            format!(r#"server {{"authorization": true, "bind": ["127.0.0.1", "{address}"]}}"#);
        check("S002", &body).iter().map(|f| f.severity).collect()
    }

    #[test]
    fn se_2_se_3_sc_1_private_passes_and_public_does_not() {
        assert!(bound("10.0.0.5").is_empty());
        assert_eq!(bound("8.8.8.8"), [Severity::Error]);
        assert_eq!(bound("0.0.0.0"), [Severity::Warn]);
    }
}
