//! SE-4, SC-1, SC-2: a load balancer that others than its clients can reach.

use docward_model::{Evidence, Layer, Need, RuleGroup};

use crate::{
    Cx, declare_rule,
    facts::deployment::{
        groups::{self, Advice, Told, Words},
        network,
    },
};

declare_rule! {
    /// # Open load balancer
    ///
    /// ## What it checks
    /// Checks the rules in front of the load balancer (`--network-rules`, layer `load-balancer`; see
    /// docs/security.md). Reports:
    /// - rules that admit everyone: `0.0.0.0/0`, `::/0`, or ranges with more than half of the public addresses.
    ///   Several rules for one port are added up
    /// - open ports other than the declared `listener_port`
    ///
    /// Addresses that earlier rules refuse do not count.
    ///
    /// ## Why it matters
    /// The allow-list of the load balancer is the first of two layers between the internet and the data. Scanners
    /// find an open port within hours.
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
    /// List the public addresses of the clients, such as the company's outgoing address, and open only the
    /// listener port.
    ///
    /// ## When to ignore it
    /// Never while public access is enabled.
    S006, "open-load-balancer",
    level: Mandatory,
    area: Security,
    clauses: ["SE-4", "SC-1", "SC-2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Network],
    thresholds: [],
    data: ["group", "rules"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(network) = &evidence.network else { return };
    let groups: Vec<&RuleGroup> = network::declared(network, Layer::LoadBalancer).collect();
    if groups.is_empty() && network.has_load_balancer() {
        cx.skip(Need::Network);
    }
    let ports: Vec<String> = network.listener_ports.iter().map(ToString::to_string).collect();
    let listener = format!("listener port {}", ports.join(", "));
    let listener = listener.trim_end();
    let words = Words {
        place: |group| format!("the load balancer's group {group}"),
        meant: format!("its {listener}"),
        everyone: Advice {
            why: "anyone on the internet can try to log in, and scanners find an open port within hours",
            todo: "allow only the public addresses of the clients, and only on the listener port"
                .to_owned(),
            clauses: &["SE-4", "SC-1", "SC-2"],
        },
        // SC-1 requires the same as SE-4 for the load balancer: named sources and one port.
        further: Advice {
            why: "every other open port can be attacked and is not monitored",
            todo: format!("open only the {listener}"),
            clauses: &["SE-4", "SC-1"],
        },
    };
    let mut told = Told::default();
    for group in groups {
        let admissions = network::admissions(group);
        let open = network::openings(&admissions);
        let everyone = groups::everyone(group, &open, &words, &mut told);
        let further = groups::further_ports(
            group,
            &admissions,
            &open,
            &network.listener_ports,
            &words,
            &mut told,
        );
        everyone.into_iter().chain(further).for_each(|draft| cx.report(draft));
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

    #[test]
    fn se_4_sc_1_sc_2_rules_are_judged_together() {
        let rule = |deny: &str, source: &str, ports: &str| {
            format!(
                r#"{{{deny}"name": "{source}", "sources": ["{source}"], "ports": ["{ports}"]}}"#
            )
        };
        let (half, other) = ("0.0.0.0/1", "128.0.0.0/1");
        let open = found(&[rule("", "0.0.0.0/2", "27017"), rule("", other, "27017")].join(", "));
        assert!(
            open.len() == 1 && open[0].ends_with("together (most of 0.0.0.0/0 on port 27017)"),
            "{open:?}"
        );
        let deny = r#""deny": true, "#;
        let shut =
            [rule(deny, half, "27017"), rule(deny, other, "27017"), rule("", "0.0.0.0/0", "27017")];
        assert!(found(&shut.join(", ")).is_empty());
        let part = [rule(deny, "0.0.0.0/0", "27017"), rule("", "0.0.0.0/0", "27017-27019")];
        let part = found(&part.join(", "));
        assert!(part.len() == 1 && part[0].ends_with("on ports 27018-27019)"), "{part:?}");
    }
}
