//! SE-3, SC-1: a server with a public address.

use docward_model::{Draft, Evidence, Need, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::addresses::{Reach, reach_of},
        text,
    },
};

declare_rule! {
    /// # Public address
    ///
    /// ## What it checks
    /// Reports public addresses that are bound to the servers themselves, as declared by `public_ip` in a file of
    /// network rules (`--network-rules`, see docs/security.md). Private, carrier-grade and link-local addresses
    /// are not reported.
    ///
    /// ## Why it matters
    /// With a public address, a single wrong firewall rule exposes the server to the internet. A load balancer
    /// has its own allow-list, so two errors are needed.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// network {"public_ip": ["203.0.113.7"]}
    /// ```
    /// ```jsonl,clean
    /// network {"public_ip": [], "load_balancer_vip": ["10.0.0.100"]}
    /// ```
    ///
    /// ## How to fix
    /// Release the address. If clients need access from outside, use a load balancer that admits named clients on
    /// its listener port only, with TLS and strong passwords.
    ///
    /// ## When to ignore it
    /// The address is used only for outgoing connections and accepts none.
    S005, "public-address",
    level: Prohibited,
    area: Security,
    clauses: ["SE-3", "SC-1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Network],
    thresholds: [],
    data: ["addresses"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(addresses) = evidence.network.as_ref().and_then(|n| n.public_addresses.as_ref())
    else {
        cx.skip(Need::Network);
        return;
    };
    let public: Vec<String> = addresses
        .iter()
        .filter(|&&address| reach_of(address) == Reach::Public)
        .map(ToString::to_string)
        .collect();
    if public.is_empty() {
        return;
    }
    cx.report(
        Draft::new(
            Subject::Deployment,
            format!(
                "the public {} {} {} bound directly to the servers",
                text::form(public.len() as u64, "address", "addresses"),
                text::phrases(&public, 3),
                text::form(public.len() as u64, "is", "are"),
            ),
            "a single wrong firewall rule then exposes the data to the internet",
            "release the address; if you need public access, use a load balancer with an allow-list, TLS and strong passwords",
            Seen::all(addresses.len() as u64, Unit::Addresses),
        )
        .data("addresses", public),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn se_3_sc_1_a_bound_public_address_is_found() {
        let count = |ip: &str| check("S005", &format!(r#"network {{"public_ip": [{ip}]}}"#)).len();
        assert_eq!(count(r#""203.0.113.7", "8.8.8.8""#), 1);
        assert_eq!(count(r#""2001:4860::1""#), 1);
        assert_eq!(count(r#""10.0.0.7", "100.64.0.1""#), 0, "they are not public");
        assert_eq!(count(""), 0);
    }
}
