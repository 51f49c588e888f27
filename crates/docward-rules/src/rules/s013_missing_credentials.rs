//! SE-1: connection strings of clients that do not log in.

use docward_model::{Evidence, Password, Severity};

use crate::{Cx, declare_rule, facts::deployment::clients::clients};

declare_rule! {
    /// # Missing credentials
    ///
    /// ## What it checks
    /// Reports connection strings to another machine that name no user, as a warning: the program may set the
    /// credentials when it connects. Also reports a placeholder such as `<password>` that was copied from an
    /// example.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - loopback addresses, sockets and the usual names of containers (`localhost`, `mongo`)
    /// - mechanisms that need no user in the string: X.509, AWS, OIDC, Kerberos
    /// - credentials that `connect check --options` names (`username`, `auth`, `credential`)
    /// - strings in source code and settings, which may hold the login separately
    /// - strings that are checked together with a running server; S001 checks its access control
    ///
    /// ## Why it matters
    /// If the server accepts this string, everyone who can reach its address may read, change and drop all data.
    /// If it has access control, it refuses every operation of the client.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?replicaSet=cmgo-abc
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://order:${PASSWORD}@10.0.0.1,10.0.0.2/db_order?replicaSet=cmgo-abc
    /// uri mongodb://10.0.0.1/?authMechanism=MONGODB-X509&tls=true
    /// uri mongodb://localhost:27017
    /// ```
    ///
    /// ## How to fix
    /// Create an account with `readWrite` on the database of the service, and add it to the string:
    /// `mongodb://USER:PASSWORD@HOST/…?authSource=admin`. Read the password from the environment.
    ///
    /// ## When to ignore it
    /// The program sets the credentials when it connects. Pass `--options username=NAME` to `connect check`.
    S013, "missing-credentials",
    level: Mandatory,
    area: Security,
    severities: [Warn],
    clauses: ["SE-1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

/// Mechanisms that obtain the identity from outside the string.
const OUTSIDE: [&str; 4] = ["MONGODB-X509", "MONGODB-AWS", "MONGODB-OIDC", "GSSAPI"];

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    if evidence.server.is_some() {
        return;
    }
    for client in clients(evidence, cx.settings()) {
        let uri = client.uri;
        let logs_in = uri.user.is_some()
            || uri.has_credentials_in_code
            || uri.mechanism.as_deref().is_some_and(|mechanism| OUTSIDE.contains(&mechanism));
        if uri.password == Password::Unfilled && uri.site.is_none() {
            let user = uri.user.as_deref().unwrap_or_default();
            let draft = client.draft(
                uri.places.password.clone().or_else(|| client.start()),
                format!("the password of `{user}` in {} is a placeholder", uri.owner()),
                "the login fails, because the driver sends the text in angle brackets as the password",
                "replace it, including the angle brackets, with the password or with a variable such as ${PASSWORD}",
            );
            cx.report(draft.severity(Severity::Warn));
        }
        if logs_in || uri.is_partial || uri.site.is_some() || client.is_local() {
            continue;
        }
        let draft = client.draft(
            client.host_place(),
            format!("{} has no user and no password", uri.owner()),
            "if the server accepts this, anyone who can reach its address can read and change all data",
            "add a user and its password; if the code sets them, use --options username=NAME",
        );
        cx.report(draft.severity(Severity::Warn));
    }
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{self, Warn};

    use crate::testing::{check, severities};

    fn found(body: &str) -> Vec<Severity> {
        severities("S013", "", body)
    }

    #[test]
    fn se_1_clients_log_in() {
        assert_eq!(found("uri mongodb://10.0.0.1/"), [Warn]);
        assert_eq!(found("uri mongodb://db1.shop.io,db2.shop.io/shop"), [Warn]);
        assert_eq!(found("uri mongodb+srv://c.example.net/"), [Warn]);
        assert_eq!(found("uri mongodb://10.0.0.1/?authMechanism=SCRAM-SHA-256"), [Warn]);
        assert!(check("S013", "uri mongodb://10.0.0.1/")[0].cites("SE-1"));
    }

    #[test]
    fn se_1_a_placeholder_that_was_not_replaced_is_reported() {
        assert_eq!(found("uri mongodb://app:<password>@10.0.0.1/"), [Warn]);
        assert_eq!(found("uri mongodb+srv://app:<db_password>@c.example.net/"), [Warn]);
        for kept_back in ["${PASSWORD}", "*****", "%s"] {
            assert!(
                found(&format!("uri mongodb://app:{kept_back}@10.0.0.1/")).is_empty(),
                "{kept_back}"
            );
        }
        let lesson = "source .env.example\nMONGODB_URI=mongodb://app:<password>@10.0.0.1/shop\n";
        assert!(found(lesson).is_empty());
    }

    #[test]
    fn se_1_logins_that_stand_elsewhere_are_not_missed() {
        for body in [
            "uri mongodb://app@10.0.0.1/",
            "uri mongodb://app:pw@10.0.0.1/",
            "uri mongodb://localhost:27017,127.0.0.1:27018,[::1]/",
            "uri mongodb://mongo:27017/shop",
            "uri mongodb://%2Ftmp%2Fmongodb-27017.sock",
            "uri mongodb://10.0.0.1/?authMechanism=MONGODB-X509&tls=true",
            "uri mongodb://10.0.0.1/?authMechanism=MONGODB-AWS",
            "uri mongodb://10.0.0.1/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:azure",
            "uri mongodb://10.0.0.1/?authMechanism=GSSAPI",
            "template mongodb://{}/shop",
            "template mongodb://{}@10.0.0.1/shop",
            "source mongodb://10.0.0.1/",
            "server {\"authorization\": true}\nuri mongodb://10.0.0.1/",
            "source app.py\nfrom pymongo import MongoClient\nMongoClient('mongodb://10.0.0.1/', username='app', password=word())\n",
            "source .env\nMONGODB_URI=mongodb://10.0.0.1/shop\n",
        ] {
            assert!(found(body).is_empty(), "{body}");
        }
    }
}
