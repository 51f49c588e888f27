//! CN-01.2: a login with another database than that of the account.

use docward_model::{Evidence, Need, UriChange};

use crate::{
    Cx, declare_rule,
    facts::{deployment::clients::clients, text},
};

declare_rule! {
    /// # Wrong authSource
    ///
    /// ## What it checks
    /// Compares `authSource` in connection strings with the accounts of the running server. Reports a string
    /// whose account exists only in another database.
    ///
    /// ## Why it matters
    /// The login fails, although the user name and the password are correct.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// server {"authorization": true, "users": [{"user": "order", "db": "db_order", "roles": [{"db": "db_order", "role": "readWrite"}]}]}
    /// uri mongodb://order@10.0.0.1,10.0.0.2/db_order?authSource=admin
    /// ```
    /// ```jsonl,clean
    /// server {"authorization": true, "users": [{"user": "order", "db": "db_order", "roles": [{"db": "db_order", "role": "readWrite"}]}]}
    /// uri mongodb://order@10.0.0.1,10.0.0.2/db_order?authSource=db_order
    /// ```
    ///
    /// ## How to fix
    /// Set `authSource` to the database that holds the account.
    ///
    /// ## When to ignore it
    /// The string belongs to another deployment.
    C013, "wrong-auth-source",
    level: Mandatory,
    area: Writes,
    clauses: ["CN-01.2", "CP-1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris, Server],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(users) = evidence.server.as_ref().and_then(|server| server.users.as_ref()) else {
        cx.skip(Need::Server);
        return;
    };
    for client in clients(evidence, cx.settings()) {
        let uri = client.uri;
        let Some(name) = client.known_user() else { continue };
        // C012 reports a missing authSource.
        if uri.option("authSource").is_none() {
            continue;
        }
        let homes: Vec<&str> = users
            .iter()
            .filter(|user| user.name == name)
            .map(|user| user.database.as_str())
            .collect();
        if homes.is_empty() || homes.contains(&uri.auth_source.as_str()) {
            continue;
        }
        cx.report(
            client
                .draft(
                    client.place("authSource"),
                    format!(
                        "{} looks for account `{name}` in `{}`, but it was created in {}",
                        uri.owner(),
                        uri.auth_source,
                        text::list(&homes, 3)
                    ),
                    "the login fails, even with the correct user and password",
                    format!("write authSource={}", homes[0]),
                )
                .uri([UriChange::set("authSource", homes[0])]),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn cn_01_2_accounts_are_looked_up_where_they_are() {
        let server = r#"server {"authorization": true, "users": [{"user": "a", "db": "db_order", "roles": []}, {"user": "b", "roles": []}]}"#;
        let with = |uri: &str| check("C013", &format!("{server}\nuri mongodb://{uri}")).len();
        assert_eq!(with("a@db1/db_order?authSource=admin"), 1);
        assert_eq!(with("a@db1/db_order?authSource=db_order"), 0);
        assert_eq!(with("b@db1/db_order?authSource=admin"), 0);
        assert_eq!(with("c@db1/db_order?authSource=admin"), 0, "an account nobody told");
        assert_eq!(with("a@db1/"), 0, "C012 tells it");
    }
}
