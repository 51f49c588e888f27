//! SE-9, SE-8: accounts that clients share with administrators, or with each other.

use std::collections::BTreeSet;

use docward_model::{
    ClientUri, Draft, Evidence, Level, Need, Seen, Subject, Unit, User, client_uri::HOLE,
};

use crate::{
    Cx, declare_rule,
    facts::{deployment::accounts, text},
    threshold,
};

declare_rule! {
    /// # Shared account
    ///
    /// ## What it checks
    /// Compares the connection strings of clients with the accounts of the server and with each other:
    /// - An error: a client logs in with an account that has administrative roles.
    /// - An error: two clients with different names (`appName`) use one account of one deployment. Docward
    ///   assumes one deployment if their strings (`--client-uri`) share a host.
    /// - A warning: the accounts of the server are unknown, and a client uses the name of a built-in
    ///   administrator (`root`, `admin`, `mongouser`).
    ///
    /// S004 reports an account that works on a business database and also has administrative roles. Local
    /// addresses in code and settings are not reported.
    ///
    /// ## Why it matters
    /// A leaked connection string exposes the whole deployment. The server's logs do not show which client did
    /// what, and a password change stops all clients.
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
    /// Give each service its own account with `readWrite` on its database.
    ///
    /// ## When to ignore it
    /// An administration tool uses the connection string.
    S010, "shared-account",
    level: Mandatory,
    area: Security,
    severities: [Error, Warn],
    clauses: ["SE-8", "SE-9", "SC-5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [BUILT_IN],
    data: ["account", "roles"],
    check: Deployment(check),
}

threshold!(
    BUILT_IN,
    "built-in-administrators",
    Words(&["root", "admin", "mongouser"]),
    "names",
    "SE-8, GC-31 (mongouser); no list in source",
    "names of administrators' accounts, if the roles are unknown"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let clients: Vec<&ClientUri> = accounts::clients(evidence)
        .filter(|uri| is_known(uri) && !uri.is_for_development())
        .collect();
    if clients.is_empty() {
        cx.skip(Need::Uris);
        return;
    }
    for account in accounts_of(&clients) {
        administrators(&account, evidence, clients.len() as u64, cx);
        // One string occurs in many files of a project. Only separate strings are separate clients.
        if account.uris.iter().all(|uri| uri.site.is_none()) {
            several_clients(&account, clients.len() as u64, cx);
        }
    }
}

/// Whether the string has a login with a known user name.
fn is_known(uri: &ClientUri) -> bool {
    uri.user.as_deref().is_some_and(|user| !user.contains(HOLE))
}

/// A finding at the first place that names the account.
fn placed(draft: Draft, account: &Account<'_>) -> Draft {
    match account.uris.iter().find_map(|uri| uri.places.user.clone()) {
        Some(place) => draft.location(place),
        None => draft,
    }
}

/// An account of one deployment, with the connection strings that use it.
struct Account<'a> {
    name: &'a str,
    /// The database of the account.
    database: &'a str,
    /// The deployment, as far as connection strings show it: two deployments may have accounts of one name.
    hosts: BTreeSet<String>,
    uris: Vec<&'a ClientUri>,
}

impl Account<'_> {
    /// Returns a key that distinguishes findings about accounts of one name.
    fn key(&self, kind: &str) -> String {
        let host = self.hosts.first().map_or("", String::as_str);
        format!("{}@{} {host}.{kind}", self.name, self.database)
    }
}

/// Groups clients by account. Strings that share a host belong to one deployment, even if one of them names fewer of
/// its members.
fn accounts_of<'a>(clients: &[&'a ClientUri]) -> Vec<Account<'a>> {
    let mut all: Vec<Account<'a>> = Vec::new();
    for &uri in clients {
        let name = uri.user.as_deref().unwrap_or_default();
        let mut account =
            Account { name, database: &uri.auth_source, hosts: hosts(uri), uris: Vec::new() };
        let is_same = |other: &mut Account<'a>| {
            (other.name, other.database) == (account.name, account.database)
                && !other.hosts.is_disjoint(&account.hosts)
        };
        let same: Vec<Account<'a>> = all.extract_if(.., is_same).collect();
        for other in same {
            account.hosts.extend(other.hosts);
            account.uris.extend(other.uris);
        }
        account.uris.push(uri);
        all.push(account);
    }
    all.sort_by(|a, b| (a.name, a.database, &a.hosts).cmp(&(b.name, b.database, &b.hosts)));
    all
}

/// Hosts in the form for comparison: in lower case, with their ports.
fn hosts(uri: &ClientUri) -> BTreeSet<String> {
    let host = |host: &String| {
        let host = host.to_ascii_lowercase();
        let has_port = host.rsplit_once(']').map_or(host.as_str(), |(_, rest)| rest).contains(':');
        if has_port || uri.srv || host.starts_with('/') { host } else { format!("{host}:27017") }
    };
    uri.hosts.iter().map(host).collect()
}

fn administrators(account: &Account<'_>, evidence: &Evidence, clients: u64, cx: &mut Cx<'_>) {
    let (name, uris) = (account.name, &account.uris);
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
    cx.report(placed(
        Draft::new(
            Subject::Deployment,
            what,
            "a leaked connection string exposes the whole deployment, and logs cannot distinguish the application from administrators",
            "create a separate account for the client, with readWrite on its database",
            Seen::all(clients, Unit::ConnectionStrings),
        )
        .level(level)
        .data("account", name)
        .data("roles", roles)
        .key(account.key("administrator")),
        account,
    ));
}

fn several_clients(account: &Account<'_>, clients: u64, cx: &mut Cx<'_>) {
    let name = account.name;
    let apps: BTreeSet<&str> =
        account.uris.iter().filter_map(|uri| uri.app_name.as_deref()).collect();
    if apps.len() < 2 {
        return;
    }
    let apps: Vec<&str> = apps.into_iter().collect();
    cx.report(placed(
        Draft::new(
            Subject::Deployment,
            format!("several applications use account `{name}`: {}", text::list(&apps, 5)),
            "each application has the privileges of all others, and a password change stops all of them",
            "create a separate account for each service, with readWrite on its database",
            Seen::all(clients, Unit::ConnectionStrings),
        )
        .clauses(&["SE-8", "SC-5"])
        .data("account", name)
        .key(account.key("clients")),
        account,
    ));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::testing::{check, severities};
    use docward_model::Severity;

    fn found(body: &str) -> Vec<Severity> {
        severities("S010", "", body)
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

    #[test]
    fn se_8_accounts_of_two_deployments_are_two_accounts() {
        let with = |a: &str, b: &str| {
            found(&format!(
                "uri mongodb://x@{a}/?appName=order\nuri mongodb://x@{b}/?appName=stock"
            ))
        };
        assert!(with("10.0.0.5", "10.0.0.6").is_empty());
        assert!(with("10.0.0.5", "10.0.0.5:27018").is_empty());
        for (a, b) in [
            ("10.0.0.5", "10.0.0.5:27017"),
            ("DB1,db2", "db2,db1"),
            ("db1:1,db2:1", "db2:1,db3:1"),
            ("[fd00::1]", "[fd00::1]:27017"),
        ] {
            assert_eq!(with(a, b), [Severity::Error], "{a} {b}");
        }
        // The third string shows that the others lead to one deployment.
        let three = "uri mongodb://x@a/?appName=order\nuri mongodb://x@b/?appName=stock\nuri mongodb://x@a,b/?appName=order";
        assert_eq!(found(three), [Severity::Error]);
    }

    #[test]
    fn se_8_se_9_accounts_of_one_name_have_findings_of_their_own() {
        let body = ["10.0.0.5/?", "10.0.0.5/?authSource=db_order&", "10.0.0.6/?"].map(|at| {
            format!("uri mongodb://root@{at}appName=a\nuri mongodb://root@{at}appName=b\n")
        });
        let findings = check("S010", &body.concat());
        let fingerprints: BTreeSet<_> = findings.iter().map(|f| &f.fingerprint).collect();
        assert_eq!((findings.len(), fingerprints.len()), (6, 6), "{findings:?}");
    }

    #[test]
    fn se_9_accounts_kept_elsewhere_are_found() {
        let server = r#"server {"authorization": true, "users": [{"user": "CN=app", "db": "$external", "roles": [{"db": "admin", "role": "root"}]}]}"#;
        let with = |rest: &str| found(&format!("{server}\nuri mongodb://CN=app@10.0.0.5/{rest}"));
        assert_eq!(with("?authMechanism=MONGODB-X509"), [Severity::Error]);
        assert!(with("").is_empty(), "another account of that name");
    }
}
