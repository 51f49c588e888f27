//! Collections with their options, indexes and counts.

use docward_model::{CollectionKind, CollectionStats, IndexUsage, Namespace, is_server_owned};
use mongodb::{
    bson::{Bson, Document, doc},
    error::Error,
};

use super::{
    super::Reader,
    Deployment,
    privileges::Resource,
    session::{Read, number, tree},
    trouble::{LiveTrouble, code, is_forbidden, is_gone, words},
};
use crate::{
    catalogue::{self, Facts},
    engine::Slot,
    plan::Place,
    trouble::Trouble,
};

/// The server's own databases, read only when `--db` asks for them.
const SERVERS_OWN: [&str; 2] = ["config", "local"];

/// A collection whose documents may be read.
pub(super) struct Listed {
    pub(super) namespace: Namespace,
    pub(super) slot: Slot,
    pub(super) stats: Option<CollectionStats>,
    /// Whether it has documents of its own.
    pub(super) has_documents: bool,
}

impl Reader<'_, '_, '_> {
    /// Lists the collections, and learns about each what can be learnt without its documents.
    pub(super) fn read_catalogue(&mut self, deployment: &mut Deployment) -> Vec<Listed> {
        let mut listed = Vec::new();
        for database in self.databases(deployment) {
            for entry in self.collections(deployment, &database) {
                if self.is_stopped() {
                    return listed;
                }
                listed.extend(self.read_entry(deployment, &database, &entry));
            }
        }
        listed
    }

    fn databases(&mut self, deployment: &mut Deployment) -> Vec<String> {
        let rest = doc! { "nameOnly": true, "authorizedDatabases": true };
        let reply = deployment.session.ask("admin", Read::ListDatabases, rest);
        let mut names: Vec<String> = match &reply {
            Ok(reply) => reply
                .get_array("databases")
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.as_document()?.get_str("name").ok())
                .map(str::to_owned)
                .collect(),
            Err(error) => {
                let resource = Resource::Cluster;
                self.refused(deployment, resource, "listDatabases", "listing databases", error);
                Vec::new()
            }
        };
        // Who may not list them has named one in the connection string.
        if names.is_empty() {
            names.extend(deployment.session.default_database.clone());
        }
        names.sort();
        match &self.request.database_glob {
            Some(glob) => names.retain(|name| glob.matches(name)),
            None => names.retain(|name| !SERVERS_OWN.contains(&name.as_str())),
        }
        names
    }

    fn collections(&mut self, deployment: &mut Deployment, database: &str) -> Vec<Document> {
        let mut entries = deployment.session.list(database, Read::ListCollections, Document::new());
        if let Err(error) = &entries
            && is_forbidden(error)
        {
            deployment.missing.add(Resource::Database(database.to_owned()), "listCollections");
            // Without the privilege, the names of those it may read are still told.
            let rest = doc! { "nameOnly": true, "authorizedCollections": true };
            entries = deployment.session.list(database, Read::ListCollections, rest);
        }
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                let resource = Resource::Database(database.to_owned());
                let what = format!("listing the collections of {database}");
                self.refused(deployment, resource, "listCollections", &what, &error);
                Vec::new()
            }
        };
        entries.sort_by(|a, b| a.get_str("name").ok().cmp(&b.get_str("name").ok()));
        entries
    }

    fn read_entry(
        &mut self,
        deployment: &mut Deployment,
        database: &str,
        entry: &Document,
    ) -> Option<Listed> {
        let namespace = Namespace::new(database, entry.get_str("name").ok()?);
        if !self.is_wanted(&namespace) {
            return None;
        }
        let is_bucket = namespace.collection.starts_with("system.buckets.");
        if is_server_owned(&namespace) && !is_bucket {
            self.passed_over.insert(namespace.to_string());
            return None;
        }
        let slot = self.table.slot(&Place { namespace: namespace.clone(), real: true });
        let kind = entry.get_str("type").unwrap_or("collection");
        let is_view = kind == "view";
        let mut listed = Listed {
            namespace: namespace.clone(),
            slot,
            stats: None,
            has_documents: kind == "collection",
        };
        let indexes = if is_view { Some(Vec::new()) } else { self.indexes(deployment, &namespace) };
        if let (Some(options), Some(indexes)) = (entry.get("options"), indexes) {
            let facts = facts(kind, options.clone(), indexes);
            self.table.add_facts(slot, facts);
        } else if is_view {
            self.table.entry(slot).kind = CollectionKind::View;
        }
        if !is_view {
            listed.stats = self.stats(deployment, &namespace);
            self.table.entry(slot).stats = listed.stats;
            self.usage(deployment, &namespace, slot);
        }
        Some(listed)
    }

    fn indexes(&mut self, deployment: &mut Deployment, ns: &Namespace) -> Option<Vec<Document>> {
        let rest = doc! { "listIndexes": &ns.collection };
        match deployment.session.list(&ns.database, Read::ListIndexes, rest) {
            Ok(indexes) => Some(indexes),
            Err(error) => {
                self.refused_of(deployment, ns, "listIndexes", "listing the indexes", &error);
                None
            }
        }
    }

    fn stats(&mut self, deployment: &mut Deployment, ns: &Namespace) -> Option<CollectionStats> {
        let rest = doc! {
            "aggregate": &ns.collection,
            "pipeline": [{ "$collStats": { "storageStats": {}, "count": {} } }],
            "cursor": {},
        };
        match deployment.session.list(&ns.database, Read::Aggregate, rest) {
            Ok(shards) => Some(sum(&shards)),
            Err(error) => {
                self.refused_of(deployment, ns, "collStats", "asking for its size", &error);
                self.count(deployment, ns)
            }
        }
    }

    /// The number of documents, for those who may read them but not the statistics.
    fn count(&mut self, deployment: &mut Deployment, ns: &Namespace) -> Option<CollectionStats> {
        let rest = doc! { "count": &ns.collection };
        let reply = deployment.session.ask(&ns.database, Read::Count, rest).ok()?;
        Some(CollectionStats { documents: number(&reply, "n")?, ..CollectionStats::default() })
    }

    fn usage(&mut self, deployment: &mut Deployment, ns: &Namespace, slot: Slot) {
        let rest = doc! {
            "aggregate": &ns.collection, "pipeline": [{ "$indexStats": {} }], "cursor": {},
        };
        let used = match deployment.session.list(&ns.database, Read::Aggregate, rest) {
            Ok(used) => used,
            Err(error) => {
                let what = "asking how its indexes are used";
                return self.refused_of(deployment, ns, "indexStats", what, &error);
            }
        };
        for index in self.table.entry(slot).indexes.iter_mut().flatten() {
            index.usage = used
                .iter()
                .filter(|document| document.get_str("name").ok() == Some(&index.name))
                .filter_map(index_usage)
                // Shards count on their own; the shortest memory limits what can be said.
                .reduce(|a, b| IndexUsage {
                    operations: a.operations + b.operations,
                    since: a.since.max(b.since),
                    bytes: None,
                });
        }
    }

    /// Notes that a question about a collection was not answered.
    fn refused_of(
        &mut self,
        deployment: &mut Deployment,
        ns: &Namespace,
        action: &'static str,
        what: &str,
        error: &Error,
    ) {
        // Dropped meanwhile, or a kind of collection that has no such facts.
        if is_gone(error) || matches!(code(error), Some(166 | 72 | 40_602)) {
            return;
        }
        let what = format!("{what} of {ns}");
        self.refused(deployment, Resource::Collection(ns.clone()), action, &what, error);
    }

    /// Notes that a question was not answered.
    pub(super) fn refused(
        &mut self,
        deployment: &mut Deployment,
        resource: Resource,
        action: &'static str,
        what: &str,
        error: &Error,
    ) {
        if is_forbidden(error) {
            deployment.missing.add(resource, action);
            return;
        }
        let rest = "the rest of the deployment was read";
        let trouble = LiveTrouble::Failed { what: what.to_owned(), why: words(error), rest };
        let name = deployment.session.name.clone();
        self.troubles.add_for(name, &Trouble::Live(trouble));
    }
}

/// The same facts as a dump's metadata has.
fn facts(kind: &str, options: Bson, indexes: Vec<Document>) -> Facts {
    let metadata = doc! { "options": options, "indexes": indexes, "type": kind };
    catalogue::facts(&tree(&metadata), kind)
}

/// Statistics over all shards.
fn sum(shards: &[Document]) -> CollectionStats {
    let mut all = CollectionStats { sharded: shards.len() > 1, ..CollectionStats::default() };
    for shard in shards {
        let Ok(storage) = shard.get_document("storageStats") else { continue };
        let figure = |key| number(storage, key).unwrap_or_default();
        all.documents += number(shard, "count").unwrap_or_else(|| figure("count"));
        all.data_bytes += figure("size");
        all.storage_bytes += figure("storageSize");
        all.index_bytes += figure("totalIndexSize");
        all.average_bytes = figure("avgObjSize");
    }
    if all.sharded {
        all.average_bytes = all.data_bytes.checked_div(all.documents).unwrap_or_default();
    }
    all
}

fn index_usage(document: &Document) -> Option<IndexUsage> {
    let accesses = document.get_document("accesses").ok()?;
    Some(IndexUsage {
        operations: number(accesses, "ops")?,
        since: accesses.get_datetime("since").ok().map(|at| at.timestamp_millis().div_euclid(1000)),
        bytes: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_summed() {
        let shard = |count: i32, size: i64| {
            doc! {
                "count": count,
                "storageStats": {
                    "size": size, "count": count, "avgObjSize": 10, "storageSize": 4096,
                    "totalIndexSize": 8192.0,
                },
            }
        };
        let all = sum(&[shard(10, 1000), shard(30, 2000)]);
        assert!(all.sharded);
        assert_eq!((all.documents, all.data_bytes, all.average_bytes), (40, 3000, 75));
        assert_eq!((all.storage_bytes, all.index_bytes), (8192, 16_384));
        assert!(!sum(&[shard(1, 10)]).sharded);
    }

    #[test]
    fn options_are_those_of_a_dump() {
        let options = doc! { "capped": true, "size": 4096 };
        let facts = facts(
            "collection",
            options.into(),
            vec![doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" }],
        );
        assert_eq!((facts.kind, facts.options.capped_bytes), (CollectionKind::Capped, Some(4096)));
        assert!(facts.indexes[0].is_id());
    }
}
