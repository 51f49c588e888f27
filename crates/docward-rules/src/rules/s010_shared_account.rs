//! SE-9, SE-8: accounts that clients share with administrators, or with each other.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{ClientUri, Draft, Evidence, Level, Need, Seen, Subject, Unit, User};

use crate::{
    Cx, declare_rule,
    facts::{accounts, text},
    threshold,
};

declare_rule! {
    /// # Shared account
    ///
    /// ## What it checks
    /// Compares the connection strings of clients (`--uri`) with the accounts of the server and with each
    /// other. A client that logs in with an account that has administrative roles is an error. Without a
    /// server to ask, the names of built-in administrators (`root`, `admin`, `mongouser`) are a warning. Two
    /// clients that call themselves differently (`appName`) and use one account are an error.
    ///
    /// An account that works on a business database and has administrative roles besides is told by S004.
    ///
    /// ## Why it matters
    /// A leaked connection string then gives away the whole deployment, nobody can tell who did what, and
    /// changing one password stops everybody.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// server {"authorization": true, "users": [{"user": "admin", "roles": [{"db": "admin", "role": "root"}]}]}
    /// uri mongodb://admin@10.0.0.5/db_order?authSource=admin
    /// ```
    /// ```jsonl,clean
    /// server {"authorization": true, "users": [{"user": "admin", "roles": [{"db": "admin", "role": "root"}]}, {"user": "order", "roles": [{"db": "db_order", "role": "readWrite"}]}]}
    /// uri mongodb://order@10.0.0.5/db_order?authSource=admin
    /// ```
    ///
    /// ## How to fix
    /// Give each service an account of its own with `readWrite` on its database.
    ///
    /// ## When to ignore it
    /// The connection string belongs to a tool of the administrators.
    S010, "shared-account",
    level: Mandatory,
    clauses: ["SE-8", "SE-9", "SC-5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [BUILT_IN],
    check: Deployment(check),
}

threshold!(
    BUILT_IN,
    "built-in-administrators",
    Words(&["root", "admin", "mongouser"]),
    "names",
    "SE-8, GC-31 (mongouser); no list in source",
    "accounts of these names belong to administrators when no server says otherwise"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let clients: Vec<&ClientUri> =
        accounts::clients(evidence).filter(|uri| uri.user.is_some()).collect();
    if clients.is_empty() {
        cx.skip(Need::Uris);
        return;
    }
    let mut by_account: BTreeMap<(&str, &str), Vec<&ClientUri>> = BTreeMap::new();
    for client in &clients {
        let name = client.user.as_deref().unwrap_or_default();
        by_account.entry((name, &client.auth_source)).or_default().push(client);
    }
    for ((name, _), uris) in by_account {
        administrators(name, &uris, evidence, clients.len() as u64, cx);
        several_clients(name, &uris, clients.len() as u64, cx);
    }
}

fn administrators(
    name: &str,
    uris: &[&ClientUri],
    evidence: &Evidence,
    clients: u64,
    cx: &mut Cx<'_>,
) {
    let users = evidence.server.as_ref().and_then(|server| server.users.as_ref());
    let roles = match users {
        Some(users) => {
            let user = users.iter().find(|user| accounts::is_account_of(uris[0], user));
            let works = |user: &&User| accounts::business_database(evidence, user).is_some();
            let Some(user) = user.filter(|user| !works(user)) else { return };
            accounts::Powers::of(evidence, user).words()
        }
        None => Vec::new(),
    };
    let built_in = users.is_none() && cx.words(&BUILT_IN).iter().any(|word| word == name);
    let (what, level) = if !roles.is_empty() {
        (
            format!("a client logs in as `{name}`, which has {}", text::list(&roles, 3)),
            Level::Mandatory,
        )
    } else if built_in {
        (
            format!("a client logs in as `{name}`, the name of a built-in administrator"),
            Level::Recommended,
        )
    } else {
        return;
    };
    cx.report(
        Draft::new(
            Subject::Deployment,
            what,
            "a leaked connection string gives away the whole deployment, and nobody can tell the application from its administrators",
            "give the client an account of its own with readWrite on its database",
            Seen::all(clients, Unit::ConnectionStrings),
        )
        .level(level)
        .data("account", name)
        .data("roles", roles)
        .key(format!("{name}.administrator")),
    );
}

fn several_clients(name: &str, uris: &[&ClientUri], clients: u64, cx: &mut Cx<'_>) {
    let apps: BTreeSet<&str> = uris.iter().filter_map(|uri| uri.app_name.as_deref()).collect();
    if apps.len() < 2 {
        return;
    }
    let apps: Vec<&str> = apps.into_iter().collect();
    cx.report(
        Draft::new(
            Subject::Deployment,
            format!("`{name}` is the account of {}", text::list(&apps, 5)),
            "one of them can do whatever the others may, and a changed password stops them all",
            "give each service an account of its own with readWrite on its database",
            Seen::all(clients, Unit::ConnectionStrings),
        )
        .clauses(&["SE-8", "SC-5"])
        .data("account", name)
        .key(format!("{name}.clients")),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    fn found(body: &str) -> Vec<Severity> {
        check("S010", body).iter().map(|f| f.severity).collect()
    }

    const USERS: &str = r#"server {"authorization": true, "users": [
        {"user": "li", "roles": [{"db": "admin", "role": "root"}]},
        {"user": "order", "roles": [{"db": "db_order", "role": "readWrite"}]},
        {"user": "app", "roles": [{"db": "admin", "role": "everything"}]},
        {"user": "both", "roles": [{"db": "db_order", "role": "readWrite"}, {"db": "admin", "role": "clusterAdmin"}]}],
        "roles": [{"db": "admin", "role": "everything", "inheritedRoles": [{"db": "admin", "role": "root"}]}]}"#;

    #[test]
    fn se_9_clients_do_not_log_in_as_administrators() {
        let users = USERS.replace('\n', " ");
        let with = |uri: &str| found(&format!("{users}\nuri mongodb://{uri}"));
        assert_eq!(with("li@10.0.0.5"), [Severity::Error]);
        assert!(with("order@10.0.0.5").is_empty());
        assert!(with("both@10.0.0.5").is_empty(), "S004 tells it");
        assert_eq!(with("app@10.0.0.5"), [Severity::Error], "by a role that people made");
        assert!(with("li@10.0.0.5/db_order").is_empty(), "another account of that name");
        assert!(found(&format!("{users}\nsource mongodb://li@10.0.0.5")).is_empty(), "no client");
    }

    #[test]
    fn se_9_gc_31_built_in_administrators_are_known_by_name() {
        assert_eq!(
            found("uri mongodb://mongouser@10.0.0.5/db_order?authSource=admin"),
            [Severity::Warn]
        );
        assert!(found("uri mongodb://order@10.0.0.5").is_empty());
    }

    #[test]
    fn se_8_two_services_do_not_share_an_account() {
        let with = |a: &str, b: &str| {
            found(&format!("uri mongodb://x@10.0.0.5/?{a}\nuri mongodb://x@10.0.0.5/?{b}"))
        };
        assert_eq!(with("appName=order", "appName=stock"), [Severity::Error]);
        assert!(with("appName=order", "appName=order").is_empty());
        assert!(with("appName=order", "").is_empty(), "nobody says that these are two");
    }
}
