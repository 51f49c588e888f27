//! DM-01.1: no business collection in a database of the server.

use docward_model::{
    Area, Collection, Draft, Evidence, Namespace, ProfileName, Safety, Seen, Step, Subject, Unit,
};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::server,
        names::{self, meaning},
        text,
    },
};

declare_rule! {
    /// # Business data in a system database
    ///
    /// ## What it checks
    /// Reports every collection in `admin`, `local` or `config` that is not the server's own. Docward knows the
    /// server's own collections by name: users and roles, the oplog and replica set state, sharding and session
    /// metadata.
    ///
    /// ## Why it matters
    /// Data in these databases slows down the whole server or is lost with it:
    /// - Administrative commands take strong locks on them.
    /// - `local` is not replicated.
    /// - The balancer rewrites `config`.
    /// - Backup and restore treat all three specially.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=admin.app_settings
    /// {"_id": "theme", "value": "dark"}
    /// ```
    /// The same collection in a business database:
    /// ```jsonl,clean,ns=db_config.t_app_settings
    /// {"_id": "theme", "value": "dark"}
    /// ```
    /// The server's own collections are not reported:
    /// ```jsonl,clean,ns=config.system.sessions
    /// {"_id": 1, "lastUse": ISODate("2024-03-15T10:30:00Z")}
    /// ```
    ///
    /// ## How to fix
    /// Copy the collection to a business database and compare the counts. Switch the application to it, and only
    /// then drop the old collection.
    ///
    /// ## When to ignore it
    /// A tool of your platform stores its own state there, as its documentation says.
    N001, "business-data-in-system-database",
    level: Prohibited,
    area: Hygiene,
    clauses: ["DM-01.1"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Names],
    thresholds: [],
    data: ["critical", "documents", "target"],
    check: AnyCollection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let ns = &collection.namespace;
    if !is_misplaced(ns) {
        return;
    }
    let house = cx.settings().profile == ProfileName::Vendor;
    let wanted = target(&ns.collection, house);
    let target = free_target(cx.evidence(), ns, &wanted, house);
    let taken = if target == wanted {
        String::new()
    } else {
        format!(" (`{wanted}` exists already: check whether the two belong together)")
    };
    let documents = collection.profile.as_ref().map(|p| p.total.max(p.documents));
    let held =
        documents.map(|n| format!(" with {}", text::plural(n, "document"))).unwrap_or_default();
    let why = match ns.database.as_str() {
        "local" => "MongoDB does not replicate `local`: this data is lost if its node is lost",
        "config" => {
            "`config` belongs to the server: sharding and sessions rewrite it, and backup tools treat it specially"
        }
        _ => {
            "administrative commands lock `admin` for all clients, and backup tools treat it specially"
        }
    };
    cx.report(
        Draft::new(
            Subject::Collection(ns.clone()),
            format!(
                "`{}` is a business collection{held} in the system database `{}`",
                ns.collection, ns.database
            ),
            why,
            format!(
                "copy it to `{target}`{taken}, compare the counts, change the application, then drop the old collection"
            ),
            collection.profile.as_ref().map_or_else(|| Seen::all(1, Unit::Collections), |p| p.seen()),
        )
        // Data in `local` is lost with its node. In other system databases, it is safe but misplaced.
        .area(if ns.database == "local" { Area::Correctness } else { Area::Hygiene })
        .data("documents", documents.unwrap_or(0))
        .data("target", target.to_string())
        .data("critical", true)
        .plan(
            Some("RF-14"),
            Safety::Guarded,
            [Step::CopyCollection { namespace: ns.clone(), to: target }],
        ),
    );
}

/// Whether a collection is in a database of the server but is not the server's own.
fn is_misplaced(ns: &Namespace) -> bool {
    server::is_system_database(&ns.database)
        && !server::is_own_collection(&ns.database, &ns.collection)
}

/// The wanted name, or the first of `_2`, `_3`, … that no collection has and that is not proposed for another one.
fn free_target(evidence: &Evidence, ns: &Namespace, wanted: &Namespace, house: bool) -> Namespace {
    let mut claims = evidence
        .collections
        .iter()
        .map(|c| &c.namespace)
        .take_while(|other| *other != ns)
        .filter(|other| is_misplaced(other) && target(&other.collection, house) == *wanted)
        .count();
    let numbered = |n: usize| {
        if n == 1 {
            wanted.clone()
        } else {
            Namespace::new(wanted.database.as_str(), format!("{}_{n}", wanted.collection).as_str())
        }
    };
    let free = (1..)
        .map(numbered)
        .filter(|name| evidence.collection(name).is_none())
        // Collections named before this one take the first free names.
        .find(|_| {
            let mine = claims == 0;
            claims = claims.saturating_sub(1);
            mine
        });
    free.unwrap_or_else(|| wanted.clone())
}

/// `app_settings` to `db_config.t_app_settings`, `orders` to `db_order.t_orders`; without house naming to
/// `config.app_settings`, which the server would own, and so to `app_config`.
fn target(collection: &str, house: bool) -> Namespace {
    let bare = collection.strip_prefix("system.").unwrap_or(collection);
    let (db_prefix, prefix) = if house { ("db_", "t_") } else { ("", "") };
    let name = names::prefixed(bare, prefix);
    let parts = names::words(bare);
    let is_config = parts.iter().any(|w| {
        matches!(
            w.as_str(),
            "config" | "configuration" | "setting" | "settings" | "option" | "options"
        )
    });
    let module = if is_config {
        if house { "config" } else { "app_config" }.to_owned()
    } else {
        parts.iter().find(|w| *w != "t").map_or_else(|| "app".to_owned(), |w| meaning::singular(w))
    };
    Namespace::new(format!("{db_prefix}{module}"), name)
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    #[test]
    fn dm_01_1_app_settings_in_admin_is_found() {
        let found = check("N001", "@ admin.app_settings\n{\"_id\": 1, \"theme\": \"dark\"}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].todo.contains("db_config.t_app_settings"), "{}", found[0].todo);
    }

    #[test]
    fn dm_01_1_own_collections_pass() {
        let body = "@ admin.system.users\n{\"_id\": 1}\n@ config.system.sessions\n{\"_id\": 1}\n\
                    @ config.chunks\n{\"_id\": 1}\n@ local.oplog.rs\n{\"_id\": 1}\n@ db_shop.t_order\n{\"_id\": 1}";
        assert!(check("N001", body).is_empty());
    }

    #[test]
    fn dm_01_1_each_collection_is_named() {
        let body = "@ config.orders\n{\"_id\": 1}\n@ local.cache\n{\"_id\": 1}";
        let found = check("N001", body);
        assert_eq!(found.len(), 2);
        assert!(found.iter().any(|f| f.todo.contains("db_order.t_orders")));
    }

    #[test]
    fn dm_01_1_a_copy_never_replaces_another_collection() {
        let body = "@ admin.orders\n{\"_id\": 1}\n@ local.orders\n{\"_id\": 1}\n\
                    @ db_order.t_orders\n{\"_id\": 1}";
        let found = check("N001", body);
        let commands: Vec<_> =
            found.iter().map(|f| f.fix.as_ref().expect("a command").command()).collect();
        // Data in `local` is lost with its node, so it comes first.
        assert!(commands[0].contains("\"t_orders_3\"") && commands[1].contains("\"t_orders_2\""));
        assert!(
            commands.iter().all(|c| c.contains("whenMatched: \"fail\"") && !c.contains("$out"))
        );
        assert!(found[0].todo.contains("`db_order.t_orders` exists already"), "{}", found[0].todo);
    }
}
