//! SE-8, SC-5: application accounts with more rights than their work needs.

use docward_model::{
    Draft, Evidence, GrantedRole, Safety, Seen, Severity, Step, Subject, Unit, User,
};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::accounts::{self, Powers, Role},
        text,
    },
    threshold,
};

declare_rule! {
    /// # Too powerful account
    ///
    /// ## What it checks
    /// Checks the roles of all users. An error is an account that works on a business database (`read` or
    /// `readWrite`) and also has powerful roles. Powerful are:
    /// - administrative roles, and roles on any database
    /// - `dbAdmin` and `dbOwner`, which may change and bypass validators
    /// - custom roles that contain one of these
    /// - custom roles with powerful privileges: `anyAction`, user and role management, cluster commands,
    ///   `dropDatabase`, `collMod`, `enableProfiler`, or access to every database
    ///
    /// An account with only such roles is a note if no word of its name suggests administration: it may belong to
    /// an application. S010 reports it if a client uses it.
    ///
    /// ## Why it matters
    /// A flaw in the application or a leaked password then exposes the whole deployment.
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
    /// Check first what the application does with the powerful roles. Then remove them from the account and keep
    /// the others. If the account has only `dbOwner`, grant it `readWrite` first. Give administrators their own
    /// accounts.
    ///
    /// Docward does not change a custom role, because other accounts may have it. The command removes it from the
    /// account and grants the harmless roles that it contains.
    ///
    /// ## When to ignore it
    /// The account belongs to people or to a tool, such as backup or monitoring. Add its name to
    /// `administrator-names`.
    S004, "too-powerful-account",
    level: Mandatory,
    area: Security,
    severities: [Error, Info],
    clauses: ["SE-8", "SC-5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Server],
    thresholds: [ADMINISTRATORS],
    data: ["account", "roles"],
    check: Deployment(check),
}

threshold!(
    ADMINISTRATORS,
    "administrator-names",
    Words(accounts::ADMINISTRATORS),
    "words of names",
    "no list in source",
    "accounts whose names contain one of these words are meant for administration"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(users) = evidence.server.as_ref().and_then(|s| s.users.as_ref()) else {
        cx.skip(docward_model::Need::Server);
        return;
    };
    for user in users {
        let powers = Powers::of(evidence, user);
        if powers.is_empty() {
            continue;
        }
        let works_on = accounts::business_database(evidence, user);
        let administers = accounts::administers(cx.settings(), user);
        // S010 reports an administrator's account that a client uses.
        if works_on.is_none() && (administers || accounts::is_used_by_client(evidence, user)) {
            continue;
        }
        let powerful = powers.words();
        let what = match works_on {
            Some(database) => format!(
                "account `{}` uses `{database}` and also has {}",
                user.name,
                text::list(&powerful, 3)
            ),
            None => format!("account `{}` has {}", user.name, text::list(&powerful, 3)),
        };
        let todo = match works_on {
            Some(_) => format!(
                "check whether the application needs these roles, revoke them, and use a separate account for administration{}",
                about_held(user, users, &powers)
            ),
            None => {
                "if an application uses this account, create one with only the roles it needs on its database; otherwise list it in administrator-names".to_owned()
            }
        };
        let mut draft = Draft::new(
            Subject::Deployment,
            what,
            "a security hole in the application, or a leaked password, exposes more than the application's own data",
            todo,
            Seen::all(users.len() as u64, Unit::Accounts),
        )
        .data("account", user.name.as_str())
        .data("roles", powerful)
        .key(format!("{}.{}", user.database, user.name));
        draft = match works_on {
            Some(_) => {
                // Only people know the other purposes of a custom role.
                let safety = if powers.held.is_empty() { Safety::Guarded } else { Safety::Manual };
                draft.plan(None, safety, fewer_roles(user, &powers))
            }
            None => draft.severity(Severity::Info),
        };
        cx.report(draft);
    }
}

/// Returns hints about custom roles before they are revoked: which other accounts have them, and which privileges are
/// lost.
fn about_held(user: &User, users: &[User], powers: &Powers<'_>) -> String {
    let about = powers.held.iter().map(|(role, _)| {
        let others: Vec<&str> = users
            .iter()
            .filter(|other| (&other.database, &other.name) != (&user.database, &user.name))
            .filter(|other| accounts::has_role(other, &role.database, &role.name))
            .map(|other| other.name.as_str())
            .collect();
        let kept = if others.is_empty() {
            String::new()
        } else {
            format!(" (which {} also has)", text::list(&others, 3))
        };
        format!(
            "; the command revokes the whole role `{}@{}`{kept}: grant the account those of its privileges that it needs",
            role.name, role.database
        )
    });
    about.collect()
}

/// Commands that revoke only the powerful roles. A `dbOwner` has no other role
/// there, so gets the part of it that reads and writes first. A role that people made is taken as a
/// whole and what it holds besides is granted: others may have the role too, and it may have its power
/// through a further role, from which alone it could be taken.
fn fewer_roles(user: &User, Powers { own, held }: &Powers<'_>) -> Vec<Step> {
    let list = |roles: &[&Role]| {
        let role = |(db, role): &&Role| GrantedRole { role: role.clone(), db: db.clone() };
        roles.iter().map(role).collect()
    };
    let (database, name) = (|| user.database.clone(), || user.name.clone());
    let mut steps = Vec::new();
    let inherited = held.iter().flat_map(|(role, _)| &role.inherits);
    let mut granted: Vec<Role> = Vec::new();
    for (db, role) in own.iter().copied().chain(inherited) {
        let instead = match role.as_str() {
            "dbOwner" => "readWrite",
            // Privileges from custom roles inside the role are part of its own.
            role if accounts::is_built_in(role) && !accounts::is_powerful(role) => role,
            _ => continue,
        };
        let grant = (db.clone(), instead.to_owned());
        if !accounts::has_role(user, db, instead) && !granted.contains(&grant) {
            granted.push(grant);
        }
    }
    if !granted.is_empty() {
        let granted: Vec<&Role> = granted.iter().collect();
        steps.push(Step::GrantRoles { database: database(), user: name(), roles: list(&granted) });
    }
    let whole: Vec<Role> =
        held.iter().map(|(role, _)| (role.database.clone(), role.name.clone())).collect();
    let taken: Vec<&Role> = own.iter().copied().chain(&whole).collect();
    if !taken.is_empty() {
        steps.push(Step::RevokeRoles { database: database(), user: name(), roles: list(&taken) });
    }
    steps
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, severities};
    use docward_model::{Safety, Severity};

    fn fix(server: &str) -> String {
        let found = check("S004", &format!("server {server}"));
        found[0].fix.as_ref().expect("commands").command()
    }

    #[test]
    fn se_8_only_the_powerful_roles_are_taken() {
        let command = fix(
            r#"{"users": [{"user": "report", "roles": [{"db": "db_order", "role": "read"}, {"db": "db_log", "role": "readWrite"}, {"db": "admin", "role": "dbAdminAnyDatabase"}]}]}"#,
        );
        assert_eq!(
            command,
            r#"db.getSiblingDB("admin").revokeRolesFromUser("report", [{role: "dbAdminAnyDatabase", db: "admin"}])"#
        );
    }

    #[test]
    fn se_8_owners_keep_reading_and_writing() {
        let command = fix(
            r#"{"users": [{"user": "order", "roles": [{"db": "db_order", "role": "dbOwner"}]}]}"#,
        );
        assert_eq!(
            command,
            r#"db.getSiblingDB("admin").grantRolesToUser("order", [{role: "readWrite", db: "db_order"}]); db.getSiblingDB("admin").revokeRolesFromUser("order", [{role: "dbOwner", db: "db_order"}])"#
        );
    }

    #[test]
    fn se_8_roles_of_your_own_count_for_what_they_hold() {
        let server = r#"{"users": [{"user": "order", "roles": [{"db": "db_order", "role": "app"}]}], "roles": [{"db": "db_order", "role": "app", "inheritedRoles": [{"db": "db_order", "role": "readWrite"}, {"db": "admin", "role": "userAdminAnyDatabase"}]}]}"#;
        let found = check("S004", &format!("server {server}"));
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].what.contains("userAdminAnyDatabase@admin by app@db_order"));
        assert_eq!(
            fix(server),
            r#"db.getSiblingDB("admin").grantRolesToUser("order", [{role: "readWrite", db: "db_order"}]); db.getSiblingDB("admin").revokeRolesFromUser("order", [{role: "app", db: "db_order"}])"#
        );
    }

    #[test]
    fn se_8_roles_that_others_have_too_are_not_changed() {
        // `app` has its power through `ops`, which is not a direct role of the user.
        let server = r#"{"users": [{"user": "order", "roles": [{"db": "admin", "role": "app"}, {"db": "db_log", "role": "read"}]}, {"user": "dba-li", "roles": [{"db": "admin", "role": "app"}]}], "roles": [{"db": "admin", "role": "app", "inheritedRoles": [{"db": "admin", "role": "ops"}, {"db": "db_order", "role": "dbOwner"}, {"db": "db_log", "role": "read"}, {"db": "admin", "role": "root"}]}]}"#;
        let found = check("S004", &format!("server {server}"));
        let about: Vec<_> = found.iter().filter(|f| f.what.contains("`order`")).collect();
        assert_eq!(about.len(), 1, "{found:?}");
        let fix = about[0].fix.as_ref().expect("commands");
        assert_eq!(fix.safety, Safety::Manual);
        assert_eq!(
            fix.command(),
            r#"db.getSiblingDB("admin").grantRolesToUser("order", [{role: "readWrite", db: "db_order"}]); db.getSiblingDB("admin").revokeRolesFromUser("order", [{role: "app", db: "admin"}])"#
        );
        assert!(
            about[0].todo.contains("`app@admin` (which `dba-li` also has)"),
            "{}",
            about[0].todo
        );
    }

    #[test]
    fn se_8_sc_5_roles_of_your_own_count_by_their_privileges() {
        let found = |user: &str, holds: &str, privilege: &str| {
            let body = format!(
                r#"server {{"users": [{{"user": "{user}", "roles": [{{"db": "db_order", "role": "readWrite"}}, {{"db": "admin", "role": "own"}}]}}], "roles": [{{"db": "admin", "role": "own", "inheritedRoles": [{holds}], "privileges": [{{{privilege}}}]}}]}}"#
            );
            check("S004", &body)
        };
        for (privilege, words) in [
            (r#""anyResource": true, "actions": ["anyAction"]"#, "anyAction on every resource"),
            (r#""db": "", "actions": ["grantRole"]"#, "grantRole in every database"),
            (r#""db": "admin", "actions": ["createUser"]"#, "createUser in admin"),
            (
                r#""db": "db_order", "actions": ["find", "dropDatabase", "collMod"]"#,
                "dropDatabase, collMod in db_order",
            ),
            (
                r#""cluster": true, "actions": ["serverStatus", "shutdown"]"#,
                "shutdown on the cluster",
            ),
            (r#""db": "", "actions": ["find"]"#, "find in every database"),
        ] {
            let found = found("order", "", privilege);
            assert_eq!(found.len(), 1, "{privilege}");
            assert_eq!(found[0].severity, Severity::Error);
            let expected = format!("and also has `{words} by own@admin`");
            assert!(found[0].what.contains(&expected), "{}", found[0].what);
            let fix = found[0].fix.as_ref().expect("commands");
            assert!(fix.command().contains("revokeRolesFromUser") && fix.safety == Safety::Manual);
        }
        for privilege in [
            r#""db": "db_order", "actions": ["find", "insert", "update", "remove", "createIndex"]"#,
            r#""cluster": true, "actions": ["serverStatus", "listDatabases"]"#,
            r#""db": "", "collection": "system.profile", "actions": ["find"]"#,
            r#""db": "config", "actions": ["collMod"]"#,
        ] {
            assert!(found("order", "", privilege).is_empty(), "{privilege}");
        }
        let reads = r#""db": "", "actions": ["find"]"#;
        assert!(found("order", r#"{"db": "admin", "role": "backup"}"#, reads).is_empty());
        // The custom role that Docward recommends for its own account can read everything.
        let auditing = |actions: &str| {
            let body = format!(
                r#"server {{"users": [{{"user": "order", "roles": [{{"db": "db_order", "role": "read"}}, {{"db": "admin", "role": "docwardAudit"}}]}}], "roles": [{{"db": "admin", "role": "docwardAudit", "privileges": [{{"db": "", "actions": [{actions}]}}]}}]}}"#
            );
            check("S004", &body).len()
        };
        assert_eq!((auditing(r#""find""#), auditing(r#""grantRole""#)), (0, 1));
        // Without privileges, Docward uses the known write permissions.
        let writes = r#"server {"users": [{"user": "order", "roles": [{"db": "db_order", "role": "readWrite"}, {"db": "admin", "role": "own"}]}], "roles": [{"db": "admin", "role": "own", "writes": [{"db": "", "collection": ""}]}]}"#;
        assert_eq!(check("S004", writes)[0].severity, Severity::Error);
    }

    #[test]
    fn se_8_parts_of_words_do_not_make_an_administrator() {
        let root = r#"{"db": "admin", "role": "root"}"#;
        for name in ["shopservice", "feedback-api", "groot"] {
            assert_eq!(found(name, root), [Severity::Info], "{name}");
        }
        for name in ["dba-li", "clusterAdmin", "ops_backup", "pbm"] {
            assert!(found(name, root).is_empty(), "{name}");
        }
    }

    fn found(user: &str, roles: &str) -> Vec<Severity> {
        let body = format!(
            r#"server {{"authorization": true, "users": [{{"user": "{user}", "roles": [{roles}]}}]}}"#
        );
        severities("S004", "", &body)
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
