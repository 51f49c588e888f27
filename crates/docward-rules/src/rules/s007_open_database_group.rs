//! SE-5, SC-2: a group in front of MongoDB that admits too much, or forgets the load balancer.

use docward_model::{Draft, Evidence, Layer, Need, Network, RuleGroup, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{
        network::{self, Admission},
        text,
    },
};

declare_rule! {
    /// # Open database group
    ///
    /// ## What it checks
    /// Looks at the rules in front of the servers (`--network-rules`, layer `mongodb`; see
    /// docs/security.md). A rule that admits everyone (`0.0.0.0/0`, `::/0`, or ranges that make up the
    /// whole) is an error, and so are ports besides MongoDB's. Where a load balancer is declared
    /// (`load_balancer_vip`), its address must be admitted. A group that nobody declared is judged when its
    /// rules name MongoDB's port, and then only for admitting everyone to it.
    ///
    /// ## Why it matters
    /// This group is the last thing between the network and the servers. Without the load balancer's address
    /// its health checks fail and it takes the servers out of service.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// network {"groups": [{"name": "sg-mongo", "rules": [{"sources": ["0.0.0.0/0"], "ports": ["27017"]}]}]}
    /// ```
    /// ```jsonl,fires
    /// network {"load_balancer_vip": ["10.0.0.100"], "groups": [{"name": "sg-mongo", "layer": "mongodb", "rules": [{"sources": ["203.0.113.10"], "ports": ["27017"]}]}]}
    /// ```
    /// ```jsonl,clean
    /// network {"load_balancer_vip": ["10.0.0.100"], "groups": [{"name": "sg-mongo", "layer": "mongodb", "rules": [{"sources": ["203.0.113.10", "10.0.0.100"], "ports": ["27017"]}]}]}
    /// ```
    /// A group for web servers is nobody's business here:
    /// ```jsonl,clean
    /// network {"groups": [{"name": "sg-web", "rules": [{"sources": ["0.0.0.0/0"], "ports": ["443"]}]}]}
    /// ```
    ///
    /// ## How to fix
    /// Admit the named clients and the load balancer's address, on MongoDB's port only.
    ///
    /// ## When to ignore it
    /// Further ports: the group is shared with other services of the same machines on purpose.
    S007, "open-database-group",
    level: Mandatory,
    clauses: ["SE-5", "SC-2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Network],
    thresholds: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(network) = &evidence.network else { return };
    let declared: Vec<&RuleGroup> = network::declared(network, Layer::MongoDb).collect();
    let about: Vec<&RuleGroup> = network::about_mongodb(network).collect();
    if declared.is_empty() && about.is_empty() {
        cx.skip(Need::Network);
    }
    for group in about {
        let open = network::admissions(group)
            .into_iter()
            .filter(|a| !a.everyone().is_empty() && a.opens(network.server_ports()))
            .collect();
        everyone(group, open, cx);
    }
    for &group in &declared {
        let (open, named): (Vec<_>, Vec<_>) =
            network::admissions(group).into_iter().partition(|a| !a.everyone().is_empty());
        everyone(group, open, cx);
        further_ports(group, &named, network, cx);
    }
    health_checks(&declared, network, cx);
}

fn everyone(group: &RuleGroup, open: Vec<Admission<'_>>, cx: &mut Cx<'_>) {
    if open.is_empty() {
        return;
    }
    let rules: Vec<String> = open
        .iter()
        .map(|a| {
            format!("`{}` ({} on {})", a.rule.name, a.everyone().join(" and "), a.ports_text())
        })
        .collect();
    cx.report(
        Draft::new(
            Subject::Deployment,
            format!(
                "the group {} in front of MongoDB admits everyone by {}",
                network::group_text(group),
                text::phrases(&rules, 3)
            ),
            "whoever reaches the network reaches the database; only a password is left between them",
            "name the addresses of the clients and of the load balancer instead, on MongoDB's port only",
            Seen::all(group.rules.len() as u64, Unit::NetworkRules),
        )
        .data("group", group.name.as_str())
        .data("rules", open.iter().map(|a| a.rule.name.as_str()).collect::<Vec<_>>())
        .key(format!("{}.everyone", group.name)),
    );
}

fn further_ports(group: &RuleGroup, named: &[Admission<'_>], network: &Network, cx: &mut Cx<'_>) {
    let beyond: Vec<_> = named
        .iter()
        .filter(|a| !a.rule.built_in)
        .map(|a| (a, a.beyond(network.server_ports())))
        .filter(|(_, ports)| !ports.is_empty())
        .collect();
    if beyond.is_empty() {
        return;
    }
    let rules: Vec<String> = beyond
        .iter()
        .map(|(a, ports)| format!("`{}` ({})", a.rule.name, network::ports_text(ports)))
        .collect();
    let meant: Vec<String> = network.server_ports().iter().map(ToString::to_string).collect();
    let meant = meant.join(", ");
    cx.report(
        Draft::new(
            Subject::Deployment,
            format!(
                "the group {} in front of MongoDB opens more than port {meant} by {}",
                network::group_text(group),
                text::phrases(&rules, 3)
            ),
            "every further port is a way to the machine that MongoDB's own access control does not guard",
            format!("open port {meant} only; if the servers listen elsewhere, declare mongodb_port"),
            Seen::all(group.rules.len() as u64, Unit::NetworkRules),
        )
        .clauses(&["SE-5"])
        .data("group", group.name.as_str())
        .data("rules", beyond.iter().map(|(a, _)| a.rule.name.as_str()).collect::<Vec<_>>())
        .key(format!("{}.ports", group.name)),
    );
}

/// Groups on one machine add up, so one of them is enough to let the health checks in.
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
            "its health checks cannot reach the servers, so it takes them out of service",
            format!("admit {} on MongoDB's port as well", text::phrases(&missing, 3)),
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
}
