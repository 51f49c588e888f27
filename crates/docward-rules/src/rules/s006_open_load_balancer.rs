//! SE-4, SC-1, SC-2: a load balancer that more can reach than its clients.

use docward_model::{Draft, Evidence, Layer, Need, RuleGroup, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{network, text},
};

declare_rule! {
    /// # Open load balancer
    ///
    /// ## What it checks
    /// Looks at the rules in front of the load balancer (`--network-rules`, layer `load-balancer`; see
    /// docs/security.md). A rule that admits everyone (`0.0.0.0/0`, `::/0`, or ranges that make up the
    /// whole) is an error, and so are ports besides the declared `listener_port`. A rule that an earlier
    /// one takes back is not counted.
    ///
    /// ## Why it matters
    /// The allow-list of the load balancer is the first of two layers that stand between the internet and
    /// the data. Scanners find an open port within hours.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// network {"listener_port": [27017], "groups": [{"name": "clb", "layer": "load-balancer", "rules": [{"sources": ["0.0.0.0/0"], "ports": ["27017"]}]}]}
    /// ```
    /// ```jsonl,clean
    /// network {"listener_port": [27017], "groups": [{"name": "clb", "layer": "load-balancer", "rules": [{"sources": ["203.0.113.10"], "ports": ["27017"]}]}]}
    /// ```
    ///
    /// ## How to fix
    /// Name the public addresses of the clients (the company's way out, for instance) and open the listener
    /// port only.
    ///
    /// ## When to ignore it
    /// Never while public access is on.
    S006, "open-load-balancer",
    level: Mandatory,
    clauses: ["SE-4", "SC-1", "SC-2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Network],
    thresholds: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(network) = &evidence.network else { return };
    let groups: Vec<&RuleGroup> = network::declared(network, Layer::LoadBalancer).collect();
    if groups.is_empty() && network.has_load_balancer() {
        cx.skip(Need::Network);
    }
    for group in groups {
        let (open, named): (Vec<_>, Vec<_>) =
            network::admissions(group).into_iter().partition(|a| !a.everyone().is_empty());
        let seen = Seen::all(group.rules.len() as u64, Unit::NetworkRules);
        let place = network::group_text(group);
        if !open.is_empty() {
            let rules: Vec<String> = open
                .iter()
                .map(|a| {
                    format!(
                        "`{}` ({} on {})",
                        a.rule.name,
                        a.everyone().join(" and "),
                        a.ports_text()
                    )
                })
                .collect();
            cx.report(
                Draft::new(
                    Subject::Deployment,
                    format!(
                        "the load balancer's group {place} admits everyone by {}",
                        text::phrases(&rules, 3)
                    ),
                    "everybody on the internet may try to log in; scanners find an open port within hours",
                    "name the public addresses of the clients instead, and open the listener port only",
                    seen,
                )
                .clauses(&["SE-4", "SC-1", "SC-2"])
                .data("group", group.name.as_str())
                .data("rules", open.iter().map(|a| a.rule.name.as_str()).collect::<Vec<_>>())
                .key(format!("{}.everyone", group.name)),
            );
        }
        let beyond: Vec<_> = named
            .iter()
            .filter(|a| !a.rule.built_in)
            .map(|a| (a, a.beyond(&network.listener_ports)))
            .filter(|(_, ports)| !ports.is_empty())
            .collect();
        if beyond.is_empty() {
            continue;
        }
        let rules: Vec<String> = beyond
            .iter()
            .map(|(a, ports)| format!("`{}` ({})", a.rule.name, network::ports_text(ports)))
            .collect();
        let listener: Vec<String> =
            network.listener_ports.iter().map(ToString::to_string).collect();
        let meant =
            if listener.is_empty() { String::new() } else { format!(" {}", listener.join(", ")) };
        cx.report(
            Draft::new(
                Subject::Deployment,
                format!(
                    "the load balancer's group {place} opens more than its listener port{meant} by {}",
                    text::phrases(&rules, 3)
                ),
                "every further port is a way in that nobody watches",
                format!("open the listener port{meant} only"),
                seen,
            )
            .clauses(&["SE-4"])
            .data("group", group.name.as_str())
            .data("rules", beyond.iter().map(|(a, _)| a.rule.name.as_str()).collect::<Vec<_>>())
            .key(format!("{}.ports", group.name)),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn found(rules: &str) -> Vec<String> {
        let body = format!(
            r#"network {{"listener_port": [27017], "groups": [{{"name": "clb", "layer": "load-balancer", "rules": [{rules}]}}]}}"#
        );
        check("S006", &body).into_iter().map(|f| f.what).collect()
    }

    #[test]
    fn se_4_sc_1_sc_2_everyone_and_further_ports_are_found() {
        let named = r#"{"sources": ["203.0.113.10"], "ports": ["27017"]}"#;
        assert!(found(named).is_empty());
        for everyone in ["0.0.0.0/0", "::/0"] {
            let rule = format!(r#"{{"sources": ["{everyone}"], "ports": ["27017"]}}"#);
            let what = found(&rule);
            assert!(what.len() == 1 && what[0].contains(everyone), "{what:?}");
        }
        let more =
            found(r#"{"name": "ssh", "sources": ["203.0.113.10"], "ports": ["27017", "22"]}"#);
        assert!(more.len() == 1 && more[0].contains("port 22"), "{more:?}");
        assert_eq!(found(r#"{"sources": ["203.0.113.10"], "ports": ["27017-27018"]}"#).len(), 1);
        assert_eq!(found(r#"{"sources": ["203.0.113.10"], "ports": ["*"]}"#).len(), 1);
        let taken_back = r#"{"deny": true, "sources": ["0.0.0.0/0"], "ports": ["*"]}, {"sources": ["0.0.0.0/0"], "ports": ["27017"]}"#;
        assert!(found(taken_back).is_empty());
    }

    #[test]
    fn se_4_without_a_listener_port_only_every_port_is_too_much() {
        let count = |ports: &str| {
            let body = format!(
                r#"network {{"groups": [{{"name": "clb", "layer": "load-balancer", "rules": [{{"sources": ["203.0.113.10"], "ports": ["{ports}"]}}]}}]}}"#
            );
            check("S006", &body).len()
        };
        assert_eq!(count("443"), 0);
        assert_eq!(count("*"), 1);
    }
}
