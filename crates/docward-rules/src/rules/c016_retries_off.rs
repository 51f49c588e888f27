//! CN-01.4, CP-5, CP-6: retries that are turned off.

use docward_model::{Applicability, Edit, EditedText, Evidence, OptionValue, UriChange};

use crate::{
    Cx, declare_rule,
    facts::deployment::clients::{Client, Shape, clients},
};

declare_rule! {
    /// # Retries off
    ///
    /// ## What it checks
    /// Reports `retryWrites=false` and `retryReads=false`. Absent options are not reported: drivers have retried
    /// by default since MongoDB 4.2.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - local addresses
    /// - `retryWrites=false` for a standalone server, which does not support retryable writes
    /// - `retryWrites=false` for Amazon DocumentDB and Azure Cosmos DB, which refuse them. Docward recognises
    ///   DocumentDB by its host names, or by `global-bundle.pem` as `tlsCAFile`
    ///
    /// ## Why it matters
    /// An election or a short network failure then reaches the application as an error, although the driver could
    /// have safely retried the operation.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?replicaSet=cmgo-abc&retryWrites=false
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?replicaSet=cmgo-abc
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?replicaSet=cmgo-abc&retryWrites=true&retryReads=true
    /// ```
    ///
    /// ## How to fix
    /// Write `true`, or leave the option out.
    ///
    /// ## When to ignore it
    /// The application retries by itself and must see every failure.
    C016, "retries-off",
    level: Mandatory,
    area: Writes,
    clauses: ["CN-01.4", "CP-5", "CP-6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: ["option"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for client in clients(evidence, cx.settings()) {
        let writes_cannot = client.shape == Shape::Standalone || speaks_only(&client);
        if client.is_local() {
            continue;
        }
        for (option, thing, clauses, passes) in [
            ("retryWrites", "writes", &["CN-01.4", "CP-5"], writes_cannot),
            ("retryReads", "reads", &["CN-01.4", "CP-6"], false),
        ] {
            if client.flag(option) != Some(false) || passes {
                continue;
            }
            let mut draft = client
                .draft(
                    client.place(option),
                    format!("{} turns off retries of {thing}", client.uri.owner()),
                    "an election or a short network failure causes an error in the application",
                    format!("set {option}=true, or remove the option"),
                )
                .clauses(clauses)
                .data("option", option)
                .uri([UriChange::set(option, true)])
                .key(format!("{} {option}", client.uri.key()));
            // In code: the string, or the option in the notation of each language.
            let location = client.place(option).filter(|_| client.uri.site.is_some());
            if let Some(location) = location {
                let setter = format!("Set{}{}", option[..1].to_uppercase(), &option[1..]);
                for (old, new) in [
                    (format!("{option}=false"), format!("{option}=true")),
                    (format!("{option}: false"), format!("{option}: true")),
                    (format!("{option}(false)"), format!("{option}(true)")),
                    (format!("{setter}(false)"), format!("{setter}(true)")),
                    ("False".to_owned(), "True".to_owned()),
                ] {
                    draft = draft.edit(Edit {
                        applicability: Applicability::Unsafe,
                        location: location.clone(),
                        old: EditedText::Exactly(old),
                        new,
                        needs: None,
                    });
                }
            }
            cx.report(draft);
        }
    }
}

/// Services that implement MongoDB's protocol and refuse retried writes.
fn speaks_only(client: &Client<'_>) -> bool {
    let ends = ["docdb.amazonaws.com", "docdb-elastic.amazonaws.com", "mongo.cosmos.azure.com"];
    client.uri.hosts.iter().any(|host| {
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        let name = name.to_ascii_lowercase();
        // `${aws_docdb_cluster.main.endpoint}`: the name of the placeholder shows the service.
        ends.iter().any(|end| name.ends_with(end)) || name.contains("docdb")
    }) || trusts_amazon(client)
}

/// Whether the client trusts the certificate authority of Amazon's databases, by the usual name of its file.
fn trusts_amazon(client: &Client<'_>) -> bool {
    const BUNDLES: [&str; 2] = ["global-bundle.pem", "rds-combined-ca-bundle.pem"];
    ["tlsCAFile", "sslCA", "ssl_ca_certs"].iter().any(|option| {
        let value = client.uri.option(option).map(|option| &option.value);
        matches!(value, Some(OptionValue::Text(file)) if BUNDLES.iter().any(|end| file.ends_with(end)))
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, count_on};

    #[test]
    fn cn_01_4_cp_5_cp_6_gc_08_only_what_is_switched_off_is_reported() {
        let found = |settings: &str, uri: &str| count_on("C016", settings, uri);
        assert_eq!(found("", "a,b/?retryWrites=false"), 1);
        assert_eq!(found("", "a,b/?retryReads=false"), 1);
        assert_eq!(found("", "a,b/?retryReads=false&retryWrites=false"), 2);
        assert_eq!(found("", "a,b/?retryWrites=true"), 0);
        assert_eq!(found("", "a,b/"), 0);
        assert_eq!(found("topology=standalone", "a/?retryWrites=false"), 0);
        assert_eq!(found("topology=standalone", "a/?retryReads=false"), 1);
        assert_eq!(found("", "x.docdb.amazonaws.com:27017/?retryWrites=false"), 0);
        assert_eq!(found("", "db/?tls=true&tlsCAFile=/app/global-bundle.pem&retryWrites=false"), 0);
        assert_eq!(found("", "db/?tls=true&tlsCAFile=/app/ca.pem&retryWrites=false"), 1);
        assert_eq!(found("", "localhost/?retryWrites=false"), 0);
    }

    #[test]
    fn cn_01_4_cp_5_options_that_are_added_on_the_way_count() {
        let found = |text: &str| {
            let head = "const {MongoClient} = require('mongodb');\n";
            check("C016", &format!("source a.js\n{head}{text}")).len()
        };
        let spread = "const c = new MongoClient(uri, {appName: 'a', ...(!uri.includes('retry') && {retryWrites: false})});";
        assert_eq!(found(spread), 1);
        assert_eq!(found(&spread.replace("retryWrites: false", "retryWrites: true")), 0);
        for added in [
            "uri = uri + '?retryWrites=false';",
            "uri += '&retryWrites=false';",
            "if (uri.indexOf('?') === -1) { uri = uri + '?retryWrites=false'; } else { uri = uri + '&w=1'; }",
        ] {
            let text = format!("function f(uri) {{ {added} return new MongoClient(uri); }}");
            assert_eq!(found(&text), 1, "{text}");
            assert_eq!(found(&text.replace("retryWrites=false", "w=majority")), 0, "{text}");
        }
        let meteor = "import {Mongo} from 'meteor/mongo';\nconst options = {retryWrites: false};\nMongo.setConnectionOptions(options);";
        assert_eq!(check("C016", &format!("source a.js\n{meteor}")).len(), 1);
    }
}
