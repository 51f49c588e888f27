//! DM-01.1: business data in system databases, in code.

use std::collections::BTreeSet;

use docward_model::{Evidence, Namespace, code::NameKind, is_server_owned};

use crate::facts::deployment::server;

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # System database in code
    ///
    /// ## What it checks
    /// Reports source code that writes to a collection of `admin`, `local` or `config`. Commands and the server's
    /// own collections (`system.*`) are not reported.
    ///
    /// ## Why it matters
    /// These databases belong to the server. Administrative commands lock `admin`, `local` is not replicated, and
    /// the server rewrites `config`. Backups treat all three specially.
    ///
    /// ## Example
    /// ```python,fires
    /// from pymongo import MongoClient
    /// client = MongoClient("mongodb://db1,db2/?replicaSet=rs0")
    /// client["admin"]["settings"].insert_one({"theme": "dark"})
    /// ```
    /// ```python,clean
    /// from pymongo import MongoClient
    /// client = MongoClient("mongodb://db1,db2/?replicaSet=rs0")
    /// client["db_config"]["t_settings"].insert_one({"theme": "dark"})
    /// client["admin"].command("ping")
    /// ```
    ///
    /// ## How to fix
    /// Write to a business database, and move the existing data there.
    ///
    /// ## When to ignore it
    /// It is an administration tool that changes the server's own collections on purpose.
    N020, "system-database-in-code",
    level: Prohibited,
    area: Hygiene,
    clauses: ["DM-01.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let mut seen = BTreeSet::new();
    for name in found.names.iter().filter(|name| name.kind == NameKind::Collection && name.written)
    {
        let Some(database) = name.database.as_deref() else { continue };
        let own = is_server_owned(&Namespace::new(database, &name.name));
        if !server::is_system_database(database) || own || !seen.insert((database, &name.name)) {
            continue;
        }
        cx.report(code::draft(
            evidence,
            &name.place,
            &format!("{database}.{}", name.name),
            format!("the code writes to `{}` in the system database `{database}`", name.name),
            "system databases belong to the server, which locks, rewrites or does not replicate them; backup tools treat them specially",
            "write to a database of your application, and move existing data there",
        ));
    }
}
