//! SE-7, SC-6: public addresses without TLS.

use docward_model::{Draft, Evidence, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::deployment::addresses::{Reach, reach},
};

declare_rule! {
    /// # Plain text in public
    ///
    /// ## What it checks
    /// Reports a server that listens on a public address and accepts connections without TLS: `net.tls.mode` is
    /// missing, `disabled`, `allowTLS` or `preferTLS`. Private addresses do not require TLS.
    ///
    /// ## Why it matters
    /// Anyone on the network path can read the documents and change them. SCRAM hides the password, but not the
    /// data.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// server {"authorization": true, "bind": ["8.8.8.8"], "tls": "preferTLS"}
    /// ```
    /// ```jsonl,clean
    /// server {"authorization": true, "bind": ["8.8.8.8"], "tls": "requireTLS"}
    /// ```
    ///
    /// ## How to fix
    /// Set `net.tls.mode: requireTLS` with a certificate. Change it in steps, with one restart each for
    /// `allowTLS`, `preferTLS` and `requireTLS`. Add `tls=true` to the connection strings.
    ///
    /// ## When to ignore it
    /// A layer below MongoDB encrypts the connection, for example a VPN.
    S003, "plain-text-in-public",
    level: Mandatory,
    area: Security,
    clauses: ["SE-7", "SC-6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Server],
    thresholds: [],
    data: ["tlsMode"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(start) = evidence.server.as_ref().and_then(|s| s.start.as_ref()) else { return };
    let public: Vec<&str> = start
        .bind_addresses
        .iter()
        .flatten()
        .map(String::as_str)
        .filter(|a| reach(a) == Reach::Public)
        .collect();
    let mode = start.tls_mode.as_deref().unwrap_or("not set");
    if public.is_empty() || matches!(mode, "requireTLS" | "requireSSL") {
        return;
    }
    cx.report(
        Draft::new(
            Subject::Deployment,
            format!(
                "the server listens on {} and accepts connections without TLS (net.tls.mode {mode})",
                public.join(", ")
            ),
            "anyone on the network path can read and change the documents",
            "set net.tls.mode with a certificate, first preferTLS, then requireTLS, and add tls=true to the connection strings",
            Seen::all(1, Unit::Servers),
        )
        .data("tlsMode", mode),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn se_7_sc_6_tls_is_asked_for_on_public_addresses_only() {
        let count = |facts: &str| check("S003", &format!("server {facts}")).len();
        assert_eq!(count(r#"{"authorization": true, "bind": ["8.8.8.8"]}"#), 1);
        assert_eq!(count(r#"{"authorization": true, "bind": ["10.0.0.5"]}"#), 0);
    }
}
