//! CN-01.2, CP-1: a login without the database of its account.

use docward_model::{Area, Evidence, Level, Severity, UriChange};

use crate::{
    Cx, declare_rule,
    facts::deployment::clients::{Client, clients},
};

declare_rule! {
    /// # Missing authSource
    ///
    /// ## What it checks
    /// Reports connection strings with a user name but no `authSource`:
    /// - an error when the path names a database: drivers look for the account in that database
    /// - a warning when the path names none or `admin`, and for local addresses with a database: drivers look for
    ///   the account in that database, or in `admin` without one
    /// - a note for `mongodb+srv://`: drivers read `authSource` from the TXT record first
    ///
    /// ## Exceptions
    /// Not reported:
    /// - Atlas clusters (`*.mongodb.net`), whose TXT record sets it
    /// - logins by X.509, Kerberos, LDAP, OIDC or AWS
    /// - strings of which source code computes a part that may hold options
    /// - databases in which a script of the project creates accounts
    /// - local addresses without a database
    ///
    /// ## Why it matters
    /// Accounts that a cloud console creates are stored in `admin`. A string that names `db_order` looks for the
    /// account in `db_order`, and the login fails. Often this happens only after the path was changed.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://order@10.0.0.1,10.0.0.2/db_order?replicaSet=cmgo-abc
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://order@10.0.0.1,10.0.0.2/db_order?replicaSet=cmgo-abc&authSource=admin
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order
    /// ```
    ///
    /// ## How to fix
    /// Add `authSource=admin` for accounts that the console created. For an account that `createUser` created in
    /// another database, name that database. `connect check` writes the value into the corrected string only if
    /// it is certain.
    ///
    /// ## When to ignore it
    /// The program sets the option when it connects, and Docward did not read that program.
    C012, "missing-auth-source",
    level: Mandatory,
    area: Hygiene,
    severities: [Error, Warn, Info],
    clauses: ["CN-01.2", "CP-1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for client in clients(evidence, cx.settings()) {
        // A script of the project creates accounts in this database, so drivers find them there.
        let created = |database: &String| {
            evidence.code.as_ref().is_some_and(|code| code.accounts_in.contains(database))
        };
        if client.uri.database.as_ref().is_some_and(created) {
            continue;
        }
        if let Some(severity) = severity(&client) {
            let uri = client.uri;
            let home = home(evidence, &client);
            let now = match &uri.database {
                _ if uri.srv => {
                    let else_in = uri.database.as_deref().unwrap_or("admin");
                    format!(
                        "the driver uses the DNS TXT record; without one, it looks for the account in `{else_in}`"
                    )
                }
                Some(database) => {
                    format!(
                        "the driver looks for the account in `{database}`, the database in the path"
                    )
                }
                None if uri.srv => {
                    "the driver looks for the account in `admin`, unless a DNS TXT record sets another database".to_owned()
                }
                None => "the driver looks for the account in `admin`".to_owned(),
            };
            let (todo, source) = advice(&client, home);
            // The login fails today only if the account is known to be elsewhere.
            let fails_now = home.is_some_and(|home| home != uri.usual_auth_source());
            let level =
                if severity == Severity::Info { Level::Information } else { Level::Mandatory };
            let draft = client
                .draft(
                    uri.places.user.clone().or_else(|| client.start()),
                    format!("{} logs in without authSource: {now}", uri.owner()),
                    "the login fails if the path has another database than the one in which the account was created",
                    todo,
                )
                .level(level)
                .severity(severity)
                .area(if fails_now { Area::Writes } else { Area::Hygiene });
            cx.report(match source {
                Some(source) => draft.uri([UriChange::set("authSource", source)]),
                None => draft,
            });
        }
    }
}

/// Returns the advice, and the value to write if it is certain. An account may have been created in `admin` or in the
/// database of the path, and only its owner knows.
fn advice<'a>(client: &Client<'_>, home: Option<&'a str>) -> (String, Option<&'a str>) {
    match (home, client.uri.database.as_deref()) {
        (Some(home), _) => (format!("add authSource={home}, the database of the account"), Some(home)),
        (None, _) if client.uri.srv => (
            "check the DNS TXT record, which may set authSource and replicaSet (--resolve shows it); if it does not, add authSource with the database that holds the account".to_owned(),
            None,
        ),
        (None, Some(database)) if database != "admin" => (
            format!(
                "add authSource=admin if the account was created in `admin` (the usual case), or authSource={database} if it was created in `{database}`"
            ),
            None,
        ),
        (None, _) => ("add authSource=admin".to_owned(), Some("admin")),
    }
}

fn severity(client: &Client<'_>) -> Option<Severity> {
    let uri = client.uri;
    let kept_elsewhere = matches!(
        uri.mechanism.as_deref(),
        Some("MONGODB-X509" | "MONGODB-AWS" | "MONGODB-OIDC" | "GSSAPI" | "PLAIN")
    );
    if uri.user.is_none()
        || kept_elsewhere
        || !client.lacks("authSource")
        || !uri.shows_all_options()
    {
        return None;
    }
    match &uri.database {
        // A string that Docward corrects should work as before: drivers use `admin` anyway.
        None if client.is_local() => None,
        _ if uri.srv => (!is_of_atlas(client)).then_some(Severity::Info),
        Some(database) if database != "admin" && !client.is_local() => Some(Severity::Error),
        _ => Some(Severity::Warn),
    }
}

/// Whether the TXT record is one that Atlas writes: it has `authSource=admin`.
fn is_of_atlas(client: &Client<'_>) -> bool {
    client.uri.hosts.iter().all(|host| host.to_ascii_lowercase().ends_with(".mongodb.net"))
}

/// Returns the database of the account, if the server listed its accounts and one has the name.
fn home<'a>(evidence: &'a Evidence, client: &Client<'_>) -> Option<&'a str> {
    let users = evidence.server.as_ref()?.users.as_ref()?;
    let name = client.known_user()?;
    let mut homes =
        users.iter().filter(|user| user.name == name).map(|user| user.database.as_str());
    let home = homes.next()?;
    homes.next().is_none().then_some(home)
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{self, Error, Info, Warn};

    use crate::testing::{check, severities};

    fn found(body: &str) -> Vec<Severity> {
        severities("C012", "", body)
    }

    #[test]
    fn cn_01_2_accounts_that_a_script_creates_are_found() {
        let count = |database: &str| {
            let text = format!(
                "source init.js\ndb = db.getSiblingDB('{database}');\ndb.createUser({{user: 'one', pwd: process.env.P, roles: ['readWrite']}});\nsource app.py\nfrom pymongo import MongoClient\nclient = MongoClient('mongodb://one:' + word() + '@mongo:27017/shop')\n"
            );
            check("C012", &text).len()
        };
        assert_eq!(count("shop"), 0);
        assert_eq!(count("other"), 1);
    }

    #[test]
    fn cn_01_2_cp_1_logins_say_where_the_account_is_kept() {
        assert_eq!(found("uri mongodb://u@db1,db2/db_order"), [Error]);
        assert_eq!(found("uri mongodb://u@db1,db2/"), [Warn]);
        assert_eq!(found("uri mongodb://u@db1,db2/admin"), [Warn]);
        assert!(found("uri mongodb://u@db1,db2/db_order?authSource=admin").is_empty());
        assert!(found("uri mongodb://db1,db2/db_order").is_empty());
        assert!(found("uri mongodb://u@db1/?authMechanism=MONGODB-X509").is_empty());
        assert_eq!(found("uri mongodb+srv://u@c.example.net/db_order"), [Info]);
        assert!(found("uri mongodb+srv://u@cluster0.abcde.mongodb.net/db_order").is_empty());
        assert!(found("uri mongodb://u:p@localhost/").is_empty());
        assert_eq!(found("uri mongodb://u:p@localhost/db_order"), [Warn]);
    }

    #[test]
    fn cn_01_2_cp_1_the_txt_record_comes_first_for_srv() {
        let found = check("C012", "uri mongodb+srv://u@c.example.net/db_order");
        assert!(found[0].what.contains("uses the DNS TXT record"), "{}", found[0].what);
        assert!(!found[0].todo.contains("authSource=admin"), "{}", found[0].todo);
        assert!(found[0].data.get("change").is_none());
    }

    #[test]
    fn cn_01_2_what_is_computed_is_not_missed() {
        assert!(found("template mongodb://{}:{}@db1,db2/{}").is_empty());
        assert!(found("template mongodb://{}:{}@db1,db2/db_order?{}").is_empty());
        assert_eq!(found("template mongodb://{}:{}@db1,db2/db_order?w=1"), [Error]);
    }

    #[test]
    fn cn_01_2_the_servers_accounts_tell_what_to_write() {
        let body = r#"server {"authorization": true, "users": [{"user": "u", "db": "db_order", "roles": []}]}
            uri mongodb://u@db1,db2/db_order"#;
        assert!(check("C012", body)[0].todo.starts_with("add authSource=db_order"));
    }
}
