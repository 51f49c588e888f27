//! Whether names already follow the house style.

use docward_model::Evidence;

use crate::facts::deployment::server;

/// Minimum number of names that show a style.
const ENOUGH: usize = 4;

/// Whether most databases and collections have the house prefixes `db_` and `t_`.
pub fn has_prefixes(evidence: &Evidence) -> bool {
    let (mut names, mut prefixed) = (0, 0);
    let databases = evidence.databases.iter().filter(|name| !server::is_system_database(name));
    for name in databases {
        names += 1;
        prefixed += usize::from(name.starts_with("db_"));
    }
    for collection in &evidence.collections {
        let ns = &collection.namespace;
        if !collection.has_guessed_name
            && !server::is_system_database(&ns.database)
            && !ns.collection.starts_with("system.")
        {
            names += 1;
            prefixed += usize::from(ns.collection.starts_with("t_"));
        }
    }
    evidence.deployment.names_are_real && names >= ENOUGH && 2 * prefixed > names
}

#[cfg(test)]
mod tests {
    use docward_model::{Collection, Deployment, Evidence, Namespace};

    fn evidence(names: &[&str]) -> Evidence {
        let collections: Vec<Collection> = names
            .iter()
            .map(|name| Collection::named(Namespace::parse(name).expect("a namespace")))
            .collect();
        let mut databases: Vec<String> =
            collections.iter().map(|c| c.namespace.database.clone()).collect();
        databases.dedup();
        Evidence {
            collections,
            databases: databases.into_iter().collect(),
            deployment: Deployment { server_version: None, names_are_real: true },
            ..Evidence::default()
        }
    }

    #[test]
    fn most_names_decide() {
        let house = ["db_shop.t_user", "db_shop.t_order", "db_shop.t_item", "db_shop.legacy"];
        assert!(super::has_prefixes(&evidence(&house)));
        let other = ["shop.user", "shop.order", "shop.t_item", "shop.legacy"];
        assert!(!super::has_prefixes(&evidence(&other)));
        // Two names may be a coincidence.
        assert!(!super::has_prefixes(&evidence(&["db_a.t_b"])));
    }
}
