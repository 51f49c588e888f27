//! SDK-ALL.4: somebody should ask whether the server is there.

use docward_model::{Evidence, Severity, code::Place};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Missing health check
    ///
    /// ## What it checks
    /// Mentions a project that makes clients and never pings the server: no `ping` command, no `Ping()`.
    /// Drivers connect when the first operation needs it, so a wrong address or password shows up with the
    /// first request rather than at the start.
    ///
    /// ## Why it matters
    /// A process that starts without its database looks healthy to whoever starts it, takes requests and
    /// fails each of them.
    ///
    /// ## Example
    /// ```python,fires
    /// from pymongo import MongoClient
    /// client = MongoClient("mongodb://db1,db2/?replicaSet=rs0")
    /// ```
    /// ```python,clean
    /// from pymongo import MongoClient
    /// client = MongoClient("mongodb://db1,db2/?replicaSet=rs0")
    ///
    /// def is_there():
    ///     try:
    ///         return client.admin.command("ping")["ok"] == 1
    ///     except Exception:
    ///         return False
    /// ```
    ///
    /// ## How to fix
    /// Ping the `admin` database at the start and in the check that the platform calls. `docward connect
    /// sdk` writes one for each language.
    ///
    /// ## When to ignore it
    /// Another operation at the start does the same (creating indexes, for example).
    C042, "missing-health-check",
    level: Information,
    area: Hygiene,
    clauses: ["SDK-ALL.4", "SDK-PY.5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    if !found.health_checks.is_empty() {
        return;
    }
    // The first client made by code; connection strings in settings are no clients yet.
    let Some(client) = evidence.uris.iter().find(|uri| uri.driver.is_some() && uri.site.is_some())
    else {
        return;
    };
    let Some(site) = &client.site else { return };
    let place = Place { location: site.location.clone(), function: None };
    cx.report(
        code::draft(
            evidence,
            &place,
            "health",
            "no code asks the server whether it is there",
            "drivers connect with the first operation: a wrong address or password is found by the first request instead of at the start",
            "ping the admin database at the start and in the health check; `docward connect sdk` writes one",
        )
        .severity(Severity::Info),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn sdk_all_4_every_language_pings_in_its_own_way() {
        let count = |text: &str| check("C042", text).len();
        let go = "source a.go\npackage a\nfunc main() { c, _ := mongo.Connect(ctx, options.Client().ApplyURI(u)); PING }";
        assert_eq!(count(&go.replace("PING", "")), 1);
        assert_eq!(count(&go.replace("PING", "c.Ping(ctx, readpref.Primary())")), 0);
        let node = "source a.js\nconst c = new MongoClient(u); PING";
        assert_eq!(count(&node.replace("PING", "")), 1);
        assert_eq!(count(&node.replace("PING", "c.db('admin').command({ping: 1})")), 0);
    }
}
