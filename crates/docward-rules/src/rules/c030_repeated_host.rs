//! CM-3.1: a host that is listed twice.

use std::collections::BTreeSet;

use docward_model::{Evidence, UriChange, client_uri::with_port};

use crate::{
    Cx, declare_rule,
    facts::{deployment::clients::clients, text},
};

declare_rule! {
    /// # Repeated host
    ///
    /// ## What it checks
    /// Reports connection strings that list the same host and port twice. One address with several ports is not
    /// reported: this is usual for several routers behind one address.
    ///
    /// ## Why it matters
    /// Usually one of the two entries should be another host, which is now missing from the list.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://10.0.0.1:27017,10.0.0.1,10.0.0.3/db_order?replicaSet=cmgo-abc
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://10.0.0.100:27017,10.0.0.100:27018,10.0.0.100:27019/db_order
    /// ```
    ///
    /// ## How to fix
    /// Write the missing host, or remove the second entry.
    ///
    /// ## When to ignore it
    /// Never. The second entry has no effect.
    C030, "repeated-host",
    level: Recommended,
    area: Hygiene,
    clauses: ["CM-3.1", "CN-01.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for client in clients(evidence, cx.settings()) {
        let uri = client.uri;
        if !uri.shows_all_hosts() {
            continue;
        }
        let mut seen = BTreeSet::new();
        let (mut kept, mut twice, mut place) = (Vec::new(), Vec::new(), None);
        for (number, host) in uri.hosts.iter().enumerate() {
            if seen.insert(with_port(host)) {
                kept.push(host.clone());
            } else {
                place = place.or_else(|| uri.places.hosts.get(number).cloned());
                twice.push(host.as_str());
            }
        }
        if twice.is_empty() {
            continue;
        }
        let draft = client.draft(
            place.or_else(|| client.start()),
            format!("{} lists {} twice", uri.owner(), text::list(&twice, 3)),
            "the list looks complete, but the intended host is probably missing",
            "replace the second entry with the intended host, or remove it",
        );
        cx.report(draft.uri([UriChange::Hosts(kept)]));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn cm_3_1_one_address_with_several_ports_is_several_routers() {
        let count = |hosts: &str| check("C030", &format!("uri mongodb://{hosts}/")).len();
        assert_eq!(count("10.0.0.100:27017,10.0.0.100:27018,10.0.0.100:27019"), 0);
        assert_eq!(count("a,b,A:27017"), 1);
        assert_eq!(count("[::1]:27017,[::1]"), 1);
        assert_eq!(check("C030", "template mongodb://{},{}/").len(), 0);
    }

    #[test]
    fn cm_3_1_hosts_of_a_builder_are_counted_once() {
        let java = "source A.java\nimport com.mongodb.client.MongoClients;\nclass A { MongoClient c = MongoClients.create(MongoClientSettings.builder().applyToClusterSettings(b -> b.hosts(Arrays.asList(new ServerAddress(\"db1.shop.io\"), new ServerAddress(\"db2.shop.io\")))).build()); }";
        assert_eq!(check("C030", java).len(), 0);
        assert_eq!(check("C030", &java.replace("db2", "db1")).len(), 1);
        let kotlin = "source A.kt\nimport com.mongodb.client.MongoClients\nval c = MongoClients.create(MongoClientSettings.builder().applyToClusterSettings { b -> b.hosts(listOf(ServerAddress(\"db1.shop.io\"))) }.build())\n";
        assert_eq!(check("C030", kotlin).len(), 0);
    }
}
