//! DM-11.2 and SE-8: application accounts that may store documents that a validator refuses (GC-33).

use std::collections::BTreeMap;

use docward_model::{
    Collection, CollectionKind, DataValue, Draft, Evidence, Need, Seen, Severity, Subject, Unit,
    ValidationAction, ValidationLevel,
};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::{
            accounts::{self, Act, Powers, roles_for},
            server,
        },
        text,
    },
};

declare_rule! {
    /// # May bypass validation
    ///
    /// ## What it checks
    /// Reports accounts that may write to a core collection and may bypass its validator
    /// (`bypassDocumentValidation`). Only validators that refuse documents count. The permission comes from
    /// `dbAdmin`, `dbOwner`, `dbAdminAnyDatabase`, `restore`, `root`, or the privileges of a custom role. There
    /// is one finding per database.
    ///
    /// It is a note if S004 reports the roles of all these accounts, and a warning otherwise. Accounts with the
    /// name of an administrator (see S004) are not reported, unless a client logs in with them.
    ///
    /// ## Why it matters
    /// With `bypassDocumentValidation: true`, an insert, an update, `$out` or `$merge` stores any document. One
    /// script or one driver option is enough, and no log line records it.
    ///
    /// ## Example
    /// ```jsonl,fires,core=db_shop.*
    /// options {"validator": {"$jsonSchema": {"required": ["sku"]}}}
    /// {"_id": 1, "sku": "P001"}
    /// server {"authorization": true, "users": [{"user": "shop-service", "roles": [{"db": "db_shop", "role": "shopWriter"}]}], "roles": [{"db": "db_shop", "role": "shopWriter", "writes": [{"db": "db_shop"}], "bypasses": [{"db": "db_shop"}]}]}
    /// ```
    /// ```jsonl,clean,core=db_shop.*
    /// options {"validator": {"$jsonSchema": {"required": ["sku"]}}}
    /// {"_id": 1, "sku": "P001"}
    /// server {"authorization": true, "users": [{"user": "shop-service", "roles": [{"db": "db_shop", "role": "readWrite"}]}, {"user": "shop-operator", "roles": [{"db": "db_shop", "role": "dbOwner"}]}]}
    /// ```
    ///
    /// ## How to fix
    /// Give the application `readWrite` on its database, which cannot bypass validators. Use a separate operator
    /// account for `collMod`, indexes and restores.
    ///
    /// ## When to ignore it
    /// The account belongs to people or to a tool. Add its name to `administrator-names` of S004.
    V010, "may-bypass-validation",
    level: Recommended,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DM-11.2", "SE-8"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Options, Server],
    thresholds: [],
    data: ["accounts", "collections"],
    check: Deployment(check),
}

/// An account with this right, and the roles that grant it.
struct Bypasser {
    account: String,
    roles: Vec<String>,
    /// Whether S004 proposes to revoke its roles.
    told: bool,
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(users) = evidence.server.as_ref().and_then(|server| server.users.as_ref()) else {
        cx.skip(Need::Server);
        return;
    };
    let mut guarded: BTreeMap<&str, Vec<&Collection>> = BTreeMap::new();
    for collection in evidence.collections.iter().filter(|c| is_guarded(c) && cx.is_core(c)) {
        guarded.entry(&collection.namespace.database).or_default().push(collection);
    }
    for (database, collections) in guarded {
        let mut found = Vec::new();
        for user in users {
            let is_application = !accounts::administers(cx.settings(), user)
                || accounts::is_used_by_client(evidence, user);
            if !is_application {
                continue;
            }
            let mut roles: Vec<String> = collections
                .iter()
                .map(|collection| &collection.namespace)
                .filter(|at| !roles_for(evidence, user, Act::Write, at).is_empty())
                .flat_map(|at| roles_for(evidence, user, Act::Bypass, at))
                .collect();
            roles.sort();
            roles.dedup();
            if !roles.is_empty() {
                let told = !Powers::of(evidence, user).is_empty();
                found.push(Bypasser { account: user.name.clone(), roles, told });
            }
        }
        if !found.is_empty() {
            report(database, &collections, &found, users.len() as u64, cx);
        }
    }
}

/// Whether a validator refuses invalid documents.
fn is_guarded(collection: &Collection) -> bool {
    collection.kind == CollectionKind::Plain
        && !server::is_system_database(&collection.namespace.database)
        && collection.options.as_ref().is_some_and(|options| {
            options.validator.is_some()
                && options.validation_level != ValidationLevel::Off
                && options.validation_action != ValidationAction::Warn
        })
}

fn report(
    database: &str,
    collections: &[&Collection],
    found: &[Bypasser],
    users: u64,
    cx: &mut Cx<'_>,
) {
    let who: Vec<String> =
        found.iter().map(|b| format!("`{}` (by {})", b.account, text::list(&b.roles, 2))).collect();
    let names: Vec<&str> = collections.iter().map(|c| c.namespace.collection.as_str()).collect();
    let n = found.len() as u64;
    let told = found.iter().all(|b| b.told);
    cx.report(
        Draft::new(
            Subject::Database(database.to_owned()),
            format!(
                "{} {} to `{database}` and can bypass {} of {}: {}",
                text::plural(n, "account"),
                text::form(n, "writes", "write"),
                text::form(names.len() as u64, "the validator", "the validators"),
                text::list(&names, 3),
                text::phrases(&who, 3)
            ),
            "with `bypassDocumentValidation`, a write can store invalid documents, and no log shows it",
            "give the application only `readWrite` on the database, and use a separate operator account for collMod and restores",
            Seen::all(users, Unit::Accounts),
        )
        .data("accounts", DataValue::List(found.iter().map(|b| DataValue::from(b.account.as_str())).collect()))
        .data("collections", DataValue::List(names.into_iter().map(DataValue::from).collect()))
        .severity(if told { Severity::Info } else { Severity::Warn }),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::{Finding, Severity};

    fn body(users: &str, roles: &str, options: &str) -> String {
        format!(
            "@ db_shop.t_order\noptions {{\"validator\": {{\"$jsonSchema\": {{\"required\": [\"sku\"]}}}}{options}}}\n{{\"_id\": 1, \"sku\": \"a\"}}\nserver {{\"users\": [{users}], \"roles\": [{roles}]}}"
        )
    }

    fn with(user: &str, roles: &str) -> Vec<Finding> {
        check("V010", &body(&format!(r#"{{"user": "{user}", "roles": [{roles}]}}"#), "", ""))
    }

    const WRITE: &str = r#"{"db": "db_shop", "role": "readWrite"}"#;

    #[test]
    fn dm_11_2_se_8_built_in_roles_that_bypass() {
        for role in [
            r#"{"db": "db_shop", "role": "dbAdmin"}"#,
            r#"{"db": "db_shop", "role": "dbOwner"}"#,
            r#"{"db": "admin", "role": "dbAdminAnyDatabase"}"#,
            r#"{"db": "admin", "role": "restore"}"#,
            r#"{"db": "admin", "role": "root"}"#,
        ] {
            let found = with("shop", &format!("{WRITE}, {role}"));
            assert_eq!(found.len(), 1, "{role}");
            assert_eq!(found[0].severity, Severity::Info, "S004 asks for the roles");
            assert!(found[0].what.starts_with("1 account writes to `db_shop` and can bypass the validator of `t_order`: `shop` (by "), "{}", found[0].what);
        }
        for roles in [
            WRITE.to_owned(),
            r#"{"db": "db_shop", "role": "dbAdmin"}"#.to_owned(),
            format!(r#"{WRITE}, {{"db": "db_other", "role": "dbOwner"}}"#),
            format!(r#"{WRITE}, {{"db": "admin", "role": "dbAdmin"}}"#),
            format!(r#"{WRITE}, {{"db": "admin", "role": "clusterMonitor"}}"#),
        ] {
            assert!(with("shop", &roles).is_empty(), "{roles}");
        }
    }

    #[test]
    fn dm_11_2_se_8_roles_of_your_own_count_by_their_privileges() {
        let user = r#"{"user": "shop", "roles": [{"db": "admin", "role": "app"}]}"#;
        let role = |more: &str| format!(r#"{{"db": "admin", "role": "app", {more}}}"#);
        let found = |more: &str| check("V010", &body(user, &role(more), ""));
        let all = r#""writes": [{"db": "db_shop", "collection": ""}]"#;
        for bypasses in [
            r#"{"db": "", "collection": ""}"#,
            r#"{"db": "db_shop", "collection": ""}"#,
            r#"{"db": "db_shop", "collection": "t_order"}"#,
        ] {
            let found = found(&format!(r#"{all}, "bypasses": [{bypasses}]"#));
            assert_eq!(found[0].severity, Severity::Warn, "{bypasses}");
            assert!(found[0].what.contains("`shop` (by `app@admin`)"), "{}", found[0].what);
        }
        assert!(
            found(&format!(r#"{all}, "bypasses": [{{"db": "db_shop", "collection": "t_log"}}]"#))
                .is_empty()
        );
        assert!(
            found(r#""writes": [{"db": "db_log"}], "bypasses": [{"db": "db_shop"}]"#).is_empty()
        );
        let held = r#""inheritedRoles": [{"db": "db_shop", "role": "readWrite"}, {"db": "db_shop", "role": "dbAdmin"}]"#;
        assert_eq!(found(held).len(), 1);
    }

    #[test]
    fn dm_11_2_only_validators_that_refuse_can_be_bypassed() {
        let user = r#"{"user": "shop", "roles": [{"db": "db_shop", "role": "dbOwner"}]}"#;
        assert_eq!(check("V010", &body(user, "", "")).len(), 1);
        assert_eq!(check("V010", &body(user, "", r#", "validationLevel": "moderate""#)).len(), 1);
        assert!(check("V010", &body(user, "", r#", "validationAction": "warn""#)).is_empty());
        assert!(check("V010", &body(user, "", r#", "validationLevel": "off""#)).is_empty());
        assert!(check_with("V010", "core=db_pay.*", &body(user, "", "")).is_empty());
    }

    #[test]
    fn se_8_administrators_bypass_by_profession() {
        let root = r#"{"db": "admin", "role": "root"}"#;
        assert!(with("dba-li", root).is_empty());
        let users = format!(r#"{{"user": "dba-li", "roles": [{root}]}}"#);
        let used =
            format!("{}\nuri mongodb://dba-li:x@h/db_shop?authSource=admin", body(&users, "", ""));
        assert_eq!(check("V010", &used).len(), 1);
    }
}
