//! CN-01.1: an application that connects to only one server.

use docward_model::{Draft, Evidence, Level, OptionValue, UriChange};

use crate::{
    Cx, declare_rule,
    facts::deployment::clients::{Client, Shape, clients},
};

declare_rule! {
    /// # Direct connection
    ///
    /// ## What it checks
    /// Reports `directConnection=true` in the connection string of a client; in C# and Go also `connect=direct`.
    /// Standalone servers and local addresses are not reported, and C029 reports the option with several hosts.
    ///
    /// Clients whose address source code computes share one finding per project. It is a note in these cases:
    /// - the address is local unless a setting changes it
    /// - the client names a replica set, and the project creates a set of one member (`rs.initiate`, or one
    ///   `--replSet` in a compose file)
    /// - the same code creates a second client for the whole replica set
    ///
    /// ## Why it matters
    /// The driver stays connected to this server and does not follow the primary. After a failover, writes fail
    /// with "not primary".
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://10.0.0.1/db_order?directConnection=true
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://10.0.0.1,10.0.0.2,10.0.0.3/db_order?replicaSet=cmgo-abc
    /// uri mongodb://localhost/?directConnection=true
    /// ```
    ///
    /// ## How to fix
    /// Remove the option, list all members and add `replicaSet`.
    ///
    /// ## When to ignore it
    /// The string belongs to a tool that inspects one server, such as a backup or a metrics exporter.
    C011, "direct-connection",
    level: Prohibited,
    area: Writes,
    severities: [Error, Info],
    clauses: ["CN-01.1", "AP-S1.6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let mut computed = Vec::new();
    for client in clients(evidence, cx.settings()) {
        let Some(option) = direct(&client) else { continue };
        // Drivers refuse it with several hosts; C029 reports that.
        if client.is_local() || client.shape == Shape::Standalone || client.uri.hosts.len() > 1 {
            continue;
        }
        let alone = draft(&client, option);
        let is_computed = !client.uri.shows_all_hosts();
        match is_computed && !cx.is_accepted(&alone) {
            true => computed.push((client, alone)),
            false => cx.report(alone),
        }
    }
    // A replica set with one member has no failover.
    let is_single = evidence.code.as_ref().is_some_and(|code| code.single_sets > 0);
    let is_local = computed.iter().any(|(client, _)| {
        is_local_by_default(client)
            || (is_single && client.uri.option("replicaSet").is_some())
            || is_one_of_two(evidence, client)
    });
    let mut drafts: Vec<Draft> = computed.into_iter().map(|(_, draft)| draft).collect();
    drafts.sort_by_key(|draft| draft.location.clone());
    let places: Vec<_> = drafts.iter().skip(1).filter_map(|draft| draft.location.clone()).collect();
    if let Some(draft) = drafts.into_iter().next().map(|draft| draft.locations(places)) {
        cx.report(if is_local { draft.level(Level::Information) } else { draft });
    }
}

fn draft(client: &Client<'_>, option: &str) -> Draft {
    let draft = client.draft(
        client.place(option),
        format!("{} connects to one server directly and does not follow failovers", client.uri.owner()),
        "after a failover this server is no longer the primary, and every write fails with \"not primary\"",
        format!("remove {option}; if the host belongs to a replica set, list all members and add replicaSet"),
    );
    draft.uri([UriChange::remove(option)])
}

/// Whether the function that creates a direct client also creates one for the whole set: the direct client is then intended, to
/// inspect one member.
fn is_one_of_two(evidence: &Evidence, client: &Client<'_>) -> bool {
    /// Lines between two branches of a function.
    const NEAR: u32 = 20;
    let Some(site) = client.uri.site.as_ref().map(|site| &site.location) else { return false };
    evidence.uris.iter().any(|other| {
        let there = other.site.as_ref().map(|site| &site.location);
        other.option("replicaSet").is_some()
            && there.is_some_and(|there| {
                *there != *site && there.file == site.file && there.line.abs_diff(site.line) < NEAR
            })
    })
}

/// Whether the client points to the developer's own machine without any setting.
fn is_local_by_default(client: &Client<'_>) -> bool {
    client.uri.site.as_ref().is_some_and(|site| site.is_local_by_default)
}

fn direct(client: &Client<'_>) -> Option<&'static str> {
    if client.flag("directConnection") == Some(true) {
        return Some("directConnection");
    }
    match &client.uri.option("connect")?.value {
        OptionValue::Text(how) if how.eq_ignore_ascii_case("direct") => Some("connect"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, count_on};

    #[test]
    fn cn_01_1_who_goes_to_one_member_or_to_the_set_does_so_on_purpose() {
        let text = "source a.py\nimport pymongo\ndef connect(hosts, one):\n    if one is None:\n        return pymongo.MongoClient(hosts, replicaSet='rs0')\n    return pymongo.MongoClient(one, directConnection=True)\n";
        let severity = |text: &str| check("C011", text)[0].severity;
        assert_eq!(severity(text), docward_model::Severity::Info);
        let alone = text.replace(", replicaSet='rs0'", "");
        assert!(severity(&alone) > docward_model::Severity::Info);
    }

    #[test]
    fn cn_01_1_applications_follow_failovers() {
        let found = |settings: &str, uri: &str| count_on("C011", settings, uri);
        assert_eq!(found("", "db1/?directConnection=true"), 1);
        assert_eq!(found("", "db1/?connect=direct"), 1);
        assert_eq!(found("topology=sharded", "db1/?directConnection=true"), 1);
        assert_eq!(found("topology=standalone", "db1/?directConnection=true"), 0);
        assert_eq!(found("", "localhost/?directConnection=true"), 0);
        assert_eq!(found("", "db1/?directConnection=false"), 0);
        assert!(check("C011", "source mongodb://db1/?directConnection=true").is_empty());
    }

    #[test]
    fn cn_01_1_addresses_that_are_settings_are_told_once() {
        use docward_model::Severity::{Error, Info};
        let found = |files: &str| {
            check("C011", files).into_iter().map(|finding| finding.severity).collect::<Vec<_>>()
        };
        let client = |file: &str, uri: &str| {
            format!(
                "source {file}\nimport env from './env';\nimport {{MongoClient}} from 'mongodb';\nexport const client = new MongoClient({uri}, {{directConnection: true}});\n"
            )
        };
        let here = client("a.ts", "process.env.URL || 'mongodb://localhost:27017'");
        assert_eq!(found(&here), [Info]);
        let settings = "source env.ts\nexport default {db: {url: process.env.URL || 'mongodb://localhost:27017/shop'}};\n";
        let two = format!("{}{}", client("a.ts", "env.db.url"), client("b.ts", "env.db.url"));
        assert_eq!(found(&format!("{settings}{two}")), [Info]);
        assert_eq!(found(&two), [Error]);
        let branches = "source b.py\nfrom pymongo import MongoClient\ndef f(user, host):\n    if user:\n        return MongoClient(f'mongodb://{user}@{host}:27017/?directConnection=true')\n    return MongoClient(f'mongodb://{host}:27017/?directConnection=true')\n";
        assert_eq!(found(branches), [Error]);
        let settings = "source compose.ec2.yml\nservices:\n  a:\n    environment:\n      MONGO_URI: mongodb://${HOST}:27017/a?directConnection=true\nsource compose.ec3.yml\nservices:\n  a:\n    environment:\n      MONGO_URI: mongodb://${HOST}:27017/a?directConnection=true\n";
        assert_eq!(found(settings), [Error]);
    }

    #[test]
    fn cn_01_1_a_set_of_one_member_has_nobody_to_follow() {
        use docward_model::Severity::{Error, Info};
        let found = |members: &str| {
            let text = format!(
                "source a.ts\nimport {{MongoClient}} from 'mongodb';\nexport const client = new MongoClient(`mongodb://${{host}}/shop?replicaSet=rs0&directConnection=true`);\nsource compose.yml\nservices:\n  db:\n    image: mongo:7\n  init:\n    command: mongosh --eval 'rs.initiate({{_id: \"rs0\", members: [{members}]}})'\n"
            );
            check("C011", &text).into_iter().map(|f| f.severity).collect::<Vec<_>>()
        };
        let started = "source a.ts\nimport {MongoClient} from 'mongodb';\nexport const client = new MongoClient(`mongodb://${host}/shop?replicaSet=rs0&directConnection=true`);\nsource compose.yml\nservices:\n  db:\n    image: mongo:7\n    command: [mongod, --replSet, rs0]\n";
        let severity =
            |text: &str| check("C011", text).into_iter().map(|f| f.severity).collect::<Vec<_>>();
        assert_eq!(severity(started), [Info]);
        let second = "  other:\n    image: mongo:7\n    command: [mongod, --replSet, rs0]\n";
        assert_eq!(severity(&format!("{started}{second}")), [Error]);
        assert_eq!(found("{_id: 0, host: \"db:27017\"}"), [Info]);
        assert_eq!(found("{_id: 0, host: \"a\"}, {_id: 1, host: \"b\"}"), [Error]);
    }
}
