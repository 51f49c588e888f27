//! SE-5, SC-2: a group in front of MongoDB that admits too much, or forgets the load balancer.

use docward_model::{Draft, Evidence, Layer, Need, Network, RuleGroup, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::{
            groups::{self, Advice, Told, Words},
            network,
        },
        text,
    },
};

declare_rule! {
    /// # Open database group
    ///
    /// ## What it checks
    /// Checks the rules in front of the servers (`--network-rules`, layer `mongodb`; see docs/security.md).
    /// Reports:
    /// - rules that admit everyone: `0.0.0.0/0`, `::/0`, or ranges with more than half of the public addresses.
    ///   Several rules for one port are added up
    /// - open ports other than MongoDB's
    /// - rules that do not admit the declared load balancer (`load_balancer_vip`)
    ///
    /// Addresses that earlier rules refuse do not count. A group without a declared layer is checked if its rules
    /// name MongoDB's port, and only for admitting everyone to it.
    ///
    /// ## Why it matters
    /// This group is the last layer between the network and the servers. If it does not admit the load balancer,
    /// the health checks fail, and the load balancer takes the servers out of service.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// network {"groups": [{"name": "sg-mongo", "rules": [{"sources": ["0.0.0.0/0"], "ports": ["27017"]}]}]}
    /// ```
    /// Two halves of the address range admit everyone:
    /// ```jsonl,fires
    /// network {"groups": [{"name": "sg-mongo", "rules": [{"sources": ["0.0.0.0/1"], "ports": ["27017"]}, {"sources": ["128.0.0.0/1"], "ports": ["27017"]}]}]}
    /// ```
    /// ```jsonl,fires
    /// network {"load_balancer_vip": ["10.0.0.100"], "groups": [{"name": "sg-mongo", "layer": "mongodb", "rules": [{"sources": ["203.0.113.10"], "ports": ["27017"]}]}]}
    /// ```
    /// ```jsonl,clean
    /// network {"load_balancer_vip": ["10.0.0.100"], "groups": [{"name": "sg-mongo", "layer": "mongodb", "rules": [{"sources": ["203.0.113.10", "10.0.0.100"], "ports": ["27017"]}]}]}
    /// ```
    /// A group for web servers is not checked:
    /// ```jsonl,clean
    /// network {"groups": [{"name": "sg-web", "rules": [{"sources": ["0.0.0.0/0"], "ports": ["443"]}]}]}
    /// ```
    ///
    /// ## How to fix
    /// Admit the named clients and the address of the load balancer, on MongoDB's port only.
    ///
    /// ## When to ignore it
    /// For further ports: other services on the same machines share the group on purpose.
    S007, "open-database-group",
    level: Mandatory,
    area: Security,
    clauses: ["SE-5", "SC-2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Network],
    thresholds: [],
    data: ["addresses", "group", "rules"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(network) = &evidence.network else { return };
    let declared: Vec<&RuleGroup> = network::declared(network, Layer::MongoDb).collect();
    let about: Vec<&RuleGroup> = network::about_mongodb(network).collect();
    if declared.is_empty() && about.is_empty() {
        cx.skip(Need::Network);
    }
    let meant = network.server_ports();
    let ports: Vec<String> = meant.iter().map(ToString::to_string).collect();
    let ports = format!("port {}", ports.join(", "));
    let words = Words {
        place: |group| format!("the group {group} in front of MongoDB"),
        meant: ports.clone(),
        everyone: Advice {
            why: "anyone on the network can reach the database, which only a password protects",
            todo: "allow only the addresses of the clients and of the load balancer, and only on MongoDB's port"
                .to_owned(),
            clauses: &["SE-5", "SC-2"],
        },
        further: Advice {
            why: "every other open port gives access to the machine without MongoDB's access control",
            todo: format!("open only {ports}; if the servers listen on another port, declare mongodb_port"),
            clauses: &["SE-5"],
        },
    };
    let mut told = Told::default();
    for &group in &declared {
        let admissions = network::admissions(group);
        let open = network::openings(&admissions);
        let everyone = groups::everyone(group, &open, &words, &mut told);
        let further = groups::further_ports(group, &admissions, &open, meant, &words, &mut told);
        everyone.into_iter().chain(further).for_each(|draft| cx.report(draft));
    }
    for group in about {
        let mut open = network::openings(&network::admissions(group));
        open.retain(|opening| opening.opens(meant));
        if let Some(draft) = groups::everyone(group, &open, &words, &mut told) {
            cx.report(draft);
        }
    }
    health_checks(&declared, network, cx);
}

/// Groups on one machine add up, so one of them is enough to admit the health checks.
fn health_checks(declared: &[&RuleGroup], network: &Network, cx: &mut Cx<'_>) {
    if declared.is_empty() {
        return;
    }
    let admissions: Vec<_> = declared.iter().flat_map(|group| network::admissions(group)).collect();
    let missing: Vec<String> = network
        .load_balancer_vips
        .iter()
        .filter(|&&vip| !admissions.iter().any(|a| a.may_admit(vip, network.server_ports())))
        .map(ToString::to_string)
        .collect();
    if missing.is_empty() {
        return;
    }
    let groups: Vec<String> = declared.iter().map(|group| network::group_text(group)).collect();
    cx.report(
        Draft::new(
            Subject::Deployment,
            format!(
                "the load balancer at {} is not admitted by {}",
                text::phrases(&missing, 3),
                text::phrases(&groups, 3)
            ),
            "the load balancer's health checks cannot reach the servers, so it stops using them",
            format!("also allow {} on MongoDB's port", text::phrases(&missing, 3)),
            Seen::all(
                declared.iter().map(|group| group.rules.len() as u64).sum(),
                Unit::NetworkRules,
            ),
        )
        .clauses(&["SE-5"])
        .data("addresses", missing)
        .key("health"),
    );
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::testing::check;

    fn found(group: &str, rules: &str) -> Vec<String> {
        let body = format!(
            r#"network {{"load_balancer_vip": ["10.0.0.100"], "groups": [{{"name": "sg", {group} "rules": [{rules}]}}]}}"#
        );
        check("S007", &body).into_iter().map(|f| f.what).collect()
    }

    #[test]
    fn se_5_the_load_balancer_must_be_admitted() {
        let layer = r#""layer": "mongodb","#;
        let client = r#"{"sources": ["203.0.113.10"], "ports": ["27017"]}"#;
        let missing = found(layer, client);
        assert!(missing.len() == 1 && missing[0].contains("10.0.0.100"), "{missing:?}");
        for admitted in [
            r#"{"sources": ["10.0.0.0/24"], "ports": ["27017"]}"#,
            r#"{"sources": ["sg-clb"], "ports": ["27017"]}"#,
        ] {
            assert!(found(layer, &format!("{client}, {admitted}")).is_empty(), "{admitted}");
        }
        assert!(found("", client).is_empty(), "nobody said that this group is MongoDB's");
    }

    #[test]
    fn se_5_sc_2_everyone_and_further_ports_are_found() {
        let layer = r#""layer": "mongodb","#;
        let vip = r#"{"sources": ["10.0.0.100"], "ports": ["27017"]}"#;
        let everyone = r#"{"sources": ["0.0.0.0/0"], "ports": ["*"]}"#;
        assert_eq!(found(layer, everyone).len(), 1, "the balancer is part of everyone");
        let ports =
            found(layer, &format!(r#"{vip}, {{"sources": ["10.9.0.1"], "ports": ["22"]}}"#));
        assert!(ports.len() == 1 && ports[0].contains("port 22"), "{ports:?}");
    }

    #[test]
    fn sc_2_undeclared_groups_are_judged_by_what_they_name() {
        let rule = |ports: &str| format!(r#"{{"sources": ["::/0"], "ports": ["{ports}"]}}"#);
        assert_eq!(found("", &rule("27017")).len(), 1);
        assert_eq!(found("", &rule("27017-27019")).len(), 1);
        assert!(found("", &rule("443")).is_empty());
        assert!(found("", &rule("*")).is_empty(), "it may be anybody's");
        assert!(found("", &rule("1024-65535")).is_empty(), "it may be anybody's");
    }

    #[test]
    fn se_5_sc_2_rules_of_one_port_add_up() {
        let rule = |source: &str, port: &str| {
            format!(r#"{{"sources": ["{source}"], "ports": ["{port}"]}}"#)
        };
        for layer in ["", r#""layer": "mongodb","#] {
            let halves = [rule("0.0.0.0/2", "27017"), rule("128.0.0.0/1", "27017")].join(", ");
            let open = found(layer, &halves);
            assert!(open.len() == 1 && open[0].contains("allows all addresses"), "{open:?}");
        }
        assert!(
            found("", &[rule("0.0.0.0/2", "27017"), rule("128.0.0.0/1", "1")].join(", "))
                .is_empty()
        );
    }

    #[test]
    fn se_5_sc_2_groups_of_one_name_have_findings_of_their_own() {
        let group = |id: &str| {
            format!(
                r#"{{"name": "mongo", "id": "{id}", "layer": "mongodb", "rules": [{{"sources": ["0.0.0.0/0"], "ports": ["27017"]}}, {{"sources": ["10.0.0.1"], "ports": ["22"]}}]}}"#
            )
        };
        let body = format!(r#"network {{"groups": [{}, {}]}}"#, group("sg-1"), group("sg-2"));
        let found = check("S007", &body);
        let fingerprints: BTreeSet<_> = found.iter().map(|f| &f.fingerprint).collect();
        assert_eq!((found.len(), fingerprints.len()), (4, 4), "{found:?}");
    }

    #[test]
    fn se_5_sc_2_a_rule_for_every_machine_is_told_once() {
        let group = |name: &str, layer: &str, inherited: &str, own: &str| {
            format!(
                r#"{{"name": "{name}", {layer} "rules": [{{"name": "world", {inherited} "sources": ["0.0.0.0/0"], "ports": ["27017"]}}{own}]}}"#
            )
        };
        let own = r#", {"name": "own", "sources": ["10.0.0.0/8"], "ports": ["27017"]}"#;
        let (layer, inherited) = (r#""layer": "mongodb","#, r#""inherited": true,"#);
        let told = |groups: &[String]| -> Vec<String> {
            let body = format!(r#"network {{"groups": [{}]}}"#, groups.join(", "));
            check("S007", &body).into_iter().map(|f| f.what).collect()
        };
        let wide = group("prod", "", "", "");
        for layer in ["", layer] {
            let what = told(&[wide.clone(), group("prod/mongo", layer, inherited, own)]);
            assert_eq!(what.len(), 1, "{layer}: {what:?}");
        }
        // Report each group that has its own rule.
        assert_eq!(told(&[wide, group("other", "", "", "")]).len(), 2);
    }
}
