//! Actions that the user was not permitted, and the role that would permit them.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{AUDIT_ROLE, Namespace};

use super::workload::PROFILE;
use crate::trouble::LiveTrouble;

/// The number of collections of one database that are named individually; above it, the database is
/// named.
const NAMED: usize = 5;

/// The target of an action.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Resource {
    Cluster,
    Database(String),
    Collection(Namespace),
    /// The bucket collections of a database's time series.
    Buckets(String),
}

impl Resource {
    fn document(&self) -> String {
        match self {
            Self::Cluster => "{cluster: true}".to_owned(),
            Self::Database(name) => format!("{{db: {name:?}, collection: \"\"}}"),
            Self::Collection(ns) => {
                format!("{{db: {:?}, collection: {:?}}}", ns.database, ns.collection)
            }
            Self::Buckets(name) => format!("{{db: {name:?}, system_buckets: \"\"}}"),
        }
    }
}

/// The actions that were refused.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    actions: BTreeMap<Resource, BTreeSet<&'static str>>,
}

/// The version that introduced time series, with a separate resource for their buckets.
const SERIES: (u32, u32) = (5, 0);

/// The actions requested for a collection as soon as its name is known.
const OF_EACH: &[&str] = &["collStats", "find", "indexStats", "listIndexes"];

/// The actions requested after this one is permitted: a role without them would be refused a second
/// time.
fn asked_next(
    resource: &Resource,
    action: &str,
    version: Option<(u32, u32)>,
) -> Vec<(Resource, &'static [&'static str])> {
    match (resource, action) {
        // The roles of users, and their databases, are not known before.
        (Resource::Cluster, "viewUser") => {
            vec![(Resource::Database(String::new()), &["viewRole"])]
        }
        (Resource::Database(name), "listCollections") => {
            // A privilege on all collections of a database does not include the buckets of its time
            // series.
            let buckets = (version >= Some(SERIES)).then(|| Resource::Buckets(name.clone()));
            let resources = std::iter::once(resource.clone()).chain(buckets);
            resources.map(|resource| (resource, OF_EACH)).collect()
        }
        _ => Vec::new(),
    }
}

impl Missing {
    pub(crate) fn add(&mut self, resource: Resource, action: &'static str) {
        self.actions.entry(resource).or_default().insert(action);
    }

    /// Removes the actions that are not needed if only documents are read.
    pub(crate) fn about_documents(mut self) -> Self {
        self.actions.retain(|resource, actions| {
            actions.retain(|action| matches!(*action, "find" | "listCollections"));
            let is_own = matches!(resource, Resource::Collection(namespace)
                if matches!(namespace.database.as_str(), "admin" | "config" | "local")
                    || namespace.collection.starts_with("system."));
            !actions.is_empty() && !is_own && *resource != Resource::Cluster
        });
        self
    }

    /// One problem for the cluster, one for databases, and one for collections that lack the same
    /// actions. Only the last problem contains the role that permits all of it, because a second
    /// role of the same name could not be created.
    pub(crate) fn into_troubles(self, version: Option<(u32, u32)>) -> Vec<LiveTrouble> {
        let mut refusals = Vec::new();
        let mut whole = Vec::new();
        let mut databases: BTreeMap<Vec<&'static str>, Vec<String>> = BTreeMap::new();
        // A privilege on all collections of a database does not include `system.profile`.
        let mut collections: BTreeMap<(bool, bool, Vec<&'static str>), Vec<Namespace>> =
            BTreeMap::new();
        for (resource, actions) in self.actions {
            let actions: Vec<_> = actions.into_iter().collect();
            match resource {
                Resource::Cluster | Resource::Buckets(_) => whole.push((resource, actions)),
                Resource::Database(name) => databases.entry(actions).or_default().push(name),
                Resource::Collection(namespace) => collections
                    .entry((
                        namespace.database == "config",
                        namespace.collection == PROFILE,
                        actions,
                    ))
                    .or_default()
                    .push(namespace),
            }
        }
        for (actions, names) in databases {
            let effect = match (actions.contains(&"listCollections"), names.len()) {
                (true, 1) => "its collections are not all known",
                (true, _) => "their collections are not all known",
                (false, _) => "the privileges of roles are unknown",
            };
            let resource = match names.len() > NAMED {
                true => vec![Resource::Database(String::new())],
                false => names.iter().cloned().map(Resource::Database).collect(),
            };
            let privileges = resource.into_iter().map(|of| (of, actions.clone())).collect();
            refusals.push(Refusal::new(list(&names), effect, privileges));
        }
        if !whole.is_empty() {
            let databases = whole.iter().any(|(_, actions)| actions.contains(&"listDatabases"));
            let effect = if databases {
                "these facts about the deployment are unknown, and databases that are not seen may need more \
                 privileges once they are; name one with --db if it is all that matters"
            } else {
                "these facts about the deployment are unknown"
            };
            refusals.insert(0, Refusal::new("the deployment".to_owned(), effect, whole));
        }
        for ((is_config, is_profile, actions), namespaces) in collections {
            let effect = if is_profile {
                "what the profiler wrote down was not read"
            } else if is_config && actions.contains(&"find") {
                "what it says about the cluster is unknown"
            } else if actions.contains(&"find") {
                "its documents were not read"
            } else {
                "these facts about it are unknown"
            };
            let databases: BTreeSet<&str> =
                namespaces.iter().map(|namespace| namespace.database.as_str()).collect();
            let of_many = |database: &str| {
                namespaces.iter().filter(|n| n.database == database).count() > NAMED
            };
            // A privilege on a whole database does not include the profiler's collection.
            let resources: BTreeSet<Resource> = namespaces
                .iter()
                .map(|namespace| {
                    if !is_profile && databases.len() > NAMED {
                        Resource::Database(String::new())
                    } else if !is_profile && of_many(&namespace.database) {
                        Resource::Database(namespace.database.clone())
                    } else {
                        Resource::Collection(namespace.clone())
                    }
                })
                .collect();
            let privileges: Vec<_> =
                resources.into_iter().map(|resource| (resource, actions.clone())).collect();
            refusals.push(Refusal::new(list(&namespaces), effect, privileges));
        }
        let role = role(&refusals, version);
        let mut troubles: Vec<_> = refusals.into_iter().map(Refusal::into_trouble).collect();
        if let Some(LiveTrouble::Forbidden { role: last, .. }) = troubles.last_mut() {
            *last = Some(role);
        }
        troubles
    }
}

fn list(names: &[impl ToString]) -> String {
    let named: Vec<_> = names.iter().take(NAMED).map(ToString::to_string).collect();
    match names.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// A resource and actions on it.
type Privilege = (Resource, Vec<&'static str>);

/// The refused actions on one resource.
struct Refusal {
    resource: String,
    effect: &'static str,
    privileges: Vec<Privilege>,
}

impl Refusal {
    fn new(resource: String, effect: &'static str, privileges: Vec<Privilege>) -> Self {
        Self { resource, effect, privileges }
    }

    fn into_trouble(self) -> LiveTrouble {
        let actions: BTreeSet<_> =
            self.privileges.iter().flat_map(|(_, actions)| actions).copied().collect();
        LiveTrouble::Forbidden {
            actions: actions.into_iter().collect::<Vec<_>>().join(", "),
            resource: self.resource,
            effect: self.effect,
            role: None,
        }
    }
}

/// The role that permits all refused actions.
fn role(refusals: &[Refusal], version: Option<(u32, u32)>) -> String {
    let mut all: BTreeMap<Resource, BTreeSet<&'static str>> = BTreeMap::new();
    for (resource, actions) in refusals.iter().flat_map(|refusal| &refusal.privileges) {
        all.entry(resource.clone()).or_default().extend(actions);
        let next = |action: &&str| asked_next(resource, action, version);
        for (next, actions) in actions.iter().flat_map(next) {
            all.entry(next).or_default().extend(actions);
        }
    }
    let privileges: Vec<_> = all
        .into_iter()
        .map(|(resource, actions)| {
            let actions: Vec<_> = actions.into_iter().collect();
            format!("{{resource: {}, actions: {actions:?}}}", resource.document())
        })
        .collect();
    format!(
        "db.getSiblingDB(\"admin\").createRole({{role: \"{AUDIT_ROLE}\", privileges: [{}], roles: []}})",
        privileges.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_grants_what_was_missing_and_no_more() {
        let mut missing = Missing::default();
        missing.add(Resource::Cluster, "serverStatus");
        missing.add(Resource::Cluster, "getCmdLineOpts");
        missing.add(Resource::Cluster, "viewUser");
        for name in ["t_a", "t_b"] {
            let namespace = Namespace::new("db_shop", name);
            missing.add(Resource::Collection(namespace), "find");
        }
        let messages: Vec<_> =
            missing.into_troubles(None).iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 2);
        assert!(messages[0].starts_with(
            "not allowed: getCmdLineOpts, serverStatus, viewUser on the deployment; these facts"
        ));
        assert!(!messages[0].contains("createRole"), "one role for all: {}", messages[0]);
        assert!(messages[1].contains(
            r#"privileges: [{resource: {cluster: true}, actions: ["getCmdLineOpts", "serverStatus", "viewUser"]}, {resource: {db: "", collection: ""}, actions: ["viewRole"]}, {resource: {db: "db_shop", collection: "t_a"}, actions: ["find"]}, {resource: {db: "db_shop", collection: "t_b"}, actions: ["find"]}]"#
        ), "{}", messages[1]);
    }

    #[test]
    fn the_role_allows_what_is_asked_next() {
        let mut missing = Missing::default();
        missing.add(Resource::Database("db_shop".to_owned()), "listCollections");
        let messages: Vec<_> =
            missing.into_troubles(None).iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 1);
        assert!(messages[0].starts_with("not allowed: listCollections on db_shop;"));
        assert!(messages[0].contains(
            r#"{resource: {db: "db_shop", collection: ""}, actions: ["collStats", "find", "indexStats", "listCollections", "listIndexes"]}"#
        ), "{}", messages[0]);
    }

    #[test]
    fn the_role_allows_to_read_time_series_where_there_may_be_any() {
        let role = |version: Option<(u32, u32)>| {
            let mut missing = Missing::default();
            missing.add(Resource::Database("db_home".to_owned()), "listCollections");
            missing.into_troubles(version)[0].to_string()
        };
        let buckets = r#"{resource: {db: "db_home", system_buckets: ""}, actions: ["collStats", "find", "indexStats", "listIndexes"]}"#;
        assert!(role(Some((5, 0))).contains(buckets), "{}", role(Some((5, 0))));
        for older in [None, Some((4, 4))] {
            assert!(!role(older).contains("system_buckets"), "{older:?}");
        }
    }

    #[test]
    fn many_databases_are_told_and_granted_together() {
        let mut missing = Missing::default();
        for n in 0..9 {
            missing.add(Resource::Database(format!("db_{n}")), "listCollections");
            missing.add(Resource::Collection(Namespace::new(format!("db_{n}"), "t")), "collStats");
            missing.add(Resource::Collection(Namespace::new(format!("db_{n}"), PROFILE)), "find");
        }
        let messages: Vec<_> =
            missing.into_troubles(None).iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 3, "{messages:#?}");
        assert!(messages[0].starts_with("not allowed: listCollections on db_0, db_1, db_2, db_3, db_4 and 4 more; their collections"));
        let role = &messages[2];
        assert!(role.contains(
            r#"{resource: {db: "", collection: ""}, actions: ["collStats", "find", "indexStats", "listCollections", "listIndexes"]}"#
        ), "{role}");
        assert_eq!(role.matches("system.profile").count(), 9 + 5, "each by its name: {role}");
    }

    #[test]
    fn many_collections_are_granted_together() {
        let mut missing = Missing::default();
        for n in 0..9 {
            let namespace = Namespace::new("db_shop", format!("t_{n}"));
            missing.add(Resource::Collection(namespace), "find");
        }
        let messages: Vec<_> =
            missing.into_troubles(None).iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 1);
        assert!(messages[0].contains("db_shop.t_4 and 4 more"));
        assert!(
            messages[0]
                .contains(r#"[{resource: {db: "db_shop", collection: ""}, actions: ["find"]}]"#)
        );
    }
}
