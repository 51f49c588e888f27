//! SE-8, SC-5: accounts of applications that may do more than their work needs.

use docward_model::{Draft, Evidence, Safety, Seen, Severity, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{accounts, shell, text},
    threshold,
};

declare_rule! {
    /// # Too powerful account
    ///
    /// ## What it checks
    /// Looks at the roles of all users. An account that works on a business database (`readWrite` there) and
    /// also has administrative roles or roles on any database is an error: an application can do what only
    /// an administrator should. `dbAdmin` and `dbOwner` count, because they may change and bypass
    /// validators. An account with such roles whose name does not say administration is told as
    /// information: it may belong to an application.
    ///
    /// ## Why it matters
    /// A flaw in the application, or its leaked password, then gives away the whole deployment.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// server {"authorization": true, "users": [{"user": "order-service", "roles": [{"db": "db_order", "role": "readWrite"}, {"db": "admin", "role": "dbAdminAnyDatabase"}]}]}
    /// ```
    /// ```jsonl,clean
    /// server {"authorization": true, "users": [{"user": "order-service", "roles": [{"db": "db_order", "role": "readWrite"}]}, {"user": "admin", "roles": [{"db": "admin", "role": "root"}]}]}
    /// ```
    ///
    /// ## How to fix
    /// Give each service an account of its own with `readWrite` on its database, and administrators others.
    ///
    /// ## When to ignore it
    /// The account belongs to people or to a tool (backup, monitoring): add its name to
    /// `administrator-names`.
    S004, "too-powerful-account",
    level: Mandatory,
    clauses: ["SE-8", "SC-5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Server],
    thresholds: [ADMINISTRATORS],
    check: Deployment(check),
}

threshold!(
    ADMINISTRATORS,
    "administrator-names",
    Words(&[
        "admin", "root", "dba", "ops", "backup", "monitor", "exporter", "agent", "mms", "pbm",
        "operator", "owner"
    ]),
    "parts of names",
    "no list in source",
    "accounts whose names hold one of these are meant for administration"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(users) = evidence.server.as_ref().and_then(|s| s.users.as_ref()) else {
        cx.skip(docward_model::Need::Server);
        return;
    };
    let administrators = cx.words(&ADMINISTRATORS);
    for user in users {
        let powerful = accounts::powerful_roles(user);
        if powerful.is_empty() {
            continue;
        }
        let works_on = accounts::business_database(user);
        let name = user.name.to_lowercase();
        let administers = administrators.iter().any(|word| name.contains(word.as_str()));
        // An administrator's account that a client uses is told by S010.
        if works_on.is_none() && (administers || accounts::is_used_by_client(evidence, user)) {
            continue;
        }
        let what = match works_on {
            Some(database) => format!(
                "account `{}` works on `{database}` and has {} too",
                user.name,
                text::list(&powerful, 3)
            ),
            None => format!("account `{}` has {}", user.name, text::list(&powerful, 3)),
        };
        let mut draft = Draft::new(
            Subject::Deployment,
            what,
            "a flaw in the application, or its leaked password, gives away more than its own data",
            match works_on {
                Some(database) => format!("leave it readWrite on `{database}` and give administration an account of its own"),
                None => "if an application uses it, give that an account with readWrite on its own database; else name it in administrator-names".to_owned(),
            },
            Seen::all(users.len() as u64, Unit::Accounts),
        )
        .data("account", user.name.as_str())
        .data("roles", powerful)
        .key(format!("{}.{}", user.database, user.name));
        match works_on {
            Some(database) => {
                draft = draft.fix(
                    None,
                    Safety::Guarded,
                    format!(
                        "{}.updateUser({}, {{roles: [{{role: \"readWrite\", db: {}}}]}})",
                        shell::database(&user.database),
                        shell::quote(&user.name),
                        shell::quote(database)
                    ),
                );
            }
            None => draft = draft.severity(Severity::Info),
        }
        cx.report(draft);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    fn found(user: &str, roles: &str) -> Vec<Severity> {
        let body = format!(
            r#"server {{"authorization": true, "users": [{{"user": "{user}", "roles": [{roles}]}}]}}"#
        );
        check("S004", &body).iter().map(|f| f.severity).collect()
    }

    #[test]
    fn se_8_sc_5_applications_need_read_and_write_on_their_database() {
        let work = r#"{"db": "db_order", "role": "readWrite"}"#;
        assert!(found("order", work).is_empty());
        assert_eq!(
            found("order", &format!(r#"{work}, {{"db": "admin", "role": "dbAdminAnyDatabase"}}"#)),
            [Severity::Error]
        );
        assert_eq!(
            found("order", &format!(r#"{work}, {{"db": "db_order", "role": "dbAdmin"}}"#)),
            [Severity::Error]
        );
    }

    #[test]
    fn se_8_administrators_are_not_applications() {
        let root = r#"{"db": "admin", "role": "root"}"#;
        assert!(found("dba-li", root).is_empty());
        assert_eq!(found("order", root), [Severity::Info]);
    }
}
