//! DM-01.2: a connection string whose default database is the server's own.

use docward_model::{Evidence, Level, UriChange};

use crate::{Cx, declare_rule, facts::deployment::clients::clients};

declare_rule! {
    /// # System database in the path
    ///
    /// ## What it checks
    /// Reports connection strings whose path names a database of the server:
    /// - `local` and `config` are a warning.
    /// - `admin` is a note: many samples name it for the login, and the program may name its own database in each
    ///   call.
    ///
    /// A setting or variable named after the oplog is not reported, because the oplog is in `local`.
    ///
    /// ## Why it matters
    /// A program that asks the driver for its default database gets this one and writes business data into it.
    /// Such data may be missing from backups, cannot be sharded, and many roles have no access to it.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://order@10.0.0.1,10.0.0.2/admin?authSource=admin
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://order@10.0.0.1,10.0.0.2/db_order?authSource=admin
    /// uri mongodb://order@10.0.0.1,10.0.0.2/?authSource=admin
    /// ```
    ///
    /// ## How to fix
    /// Name the business database in the path, and add `authSource=admin` for the login.
    ///
    /// ## When to ignore it
    /// The program names the database in every call, or administers the server.
    C027, "system-database-in-path",
    level: Recommended,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DM-01.2"],
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
        let Some(name @ ("admin" | "local" | "config")) = uri.database.as_deref() else { continue };
        let mut change = vec![UriChange::Database(Some("DATABASE_NAME".to_owned()))];
        // Without `authSource`, drivers use the database of the path for the login, as before.
        if uri.user.is_some() && uri.option("authSource").is_none() {
            change.push(UriChange::set("authSource", name));
        }
        let draft = client.draft(
            uri.places.database.clone().or_else(|| client.start()),
            format!("{} has `{name}` as its default database", uri.owner()),
            "a program that uses the default database writes business data to a system database",
            "put the business database in the path, and set authSource for the login",
        );
        cx.report(match name {
            // The program may name its database in every call: people have to decide.
            "admin" => draft.level(Level::Information),
            _ => draft.level(Level::Recommended).uri(change),
        });
    }
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{self, Info, Warn};

    use crate::testing::severities;

    #[test]
    fn dm_01_2_the_default_database_is_a_business_database() {
        let found = |path: &str| -> Vec<Severity> {
            let body = format!("uri mongodb://u@a,b/{path}");
            severities("C027", "", &body)
        };
        assert_eq!(found("admin?authSource=admin"), [Info]);
        assert_eq!(found("local"), [Warn]);
        assert_eq!(found("config"), [Warn]);
        assert!(found("db_order?authSource=admin").is_empty());
        assert!(found("").is_empty());
    }

    #[test]
    fn dm_01_2_the_oplog_is_in_local() {
        let found = |text: &str| severities("C027", "", &format!("source a.js\n{text}"));
        assert_eq!(found("const url = 'mongodb://10.0.0.1/local';"), [Warn]);
        assert!(found("const env = {MONGO_OPLOG_URL: 'mongodb://10.0.0.1/local'};").is_empty());
        let later = "process.env.MONGO_OPLOG_URL = other(\n  `mongodb://10.0.0.1:${PORT}/local?replicaSet=a`);";
        assert!(found(later).is_empty());
        assert_eq!(found(&later.replace("OPLOG_", "")), [Warn]);
        let follows = "const {MongoClient} = require('mongodb');\nconst URI = 'mongodb://10.0.0.1/local';\nexports.oplog = () => MongoClient.connect(URI);";
        assert!(found(follows).is_empty());
        assert_eq!(found(&follows.replace("oplog", "other")), [Warn]);
    }
}
