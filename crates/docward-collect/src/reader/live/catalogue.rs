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
    session::{Question, Read, number, tree},
    trouble::{LiveTrouble, code, is_forbidden, is_gone, words},
    workload::PROFILE,
};
use crate::{
    catalogue::{self, Facts},
    engine::Slot,
    plan::Place,
    trouble::Trouble,
};

/// The server's own databases: only the names of what does not belong there are read, unless `--db`
/// asks for them.
const SERVERS_OWN: [&str; 2] = ["config", "local"];

/// Collections that are asked about together: the way to the server and back is the longest part.
const TOGETHER: usize = 64;

/// What came back for a question.
type Answer = Result<Vec<Document>, Error>;

/// A collection as `listCollections` names it.
struct Entry {
    namespace: Namespace,
    kind: String,
    /// `None` when only names were told.
    options: Option<Bson>,
}

impl Entry {
    fn read(database: &str, entry: &Document) -> Option<Self> {
        Some(Self {
            namespace: Namespace::new(database, entry.get_str("name").ok()?),
            kind: entry.get_str("type").unwrap_or("collection").to_owned(),
            options: entry.get("options").cloned(),
        })
    }

    fn is_view(&self) -> bool {
        self.kind == "view"
    }

    /// Indexes, statistics and use of indexes; a view has none of these.
    fn questions(&self) -> Vec<Question> {
        if self.is_view() {
            return Vec::new();
        }
        let Namespace { database, collection } = &self.namespace;
        let aggregate = |stage: Document| {
            let rest = doc! { "aggregate": collection, "pipeline": [stage], "cursor": {} };
            (database.clone(), Read::Aggregate, rest)
        };
        vec![
            (database.clone(), Read::ListIndexes, doc! { "listIndexes": collection }),
            aggregate(doc! { "$collStats": { "storageStats": {}, "count": {} } }),
            aggregate(doc! { "$indexStats": {} }),
        ]
    }
}

/// A collection whose documents may be read.
pub(super) struct Listed {
    pub(super) namespace: Namespace,
    pub(super) slot: Slot,
    pub(super) stats: Option<CollectionStats>,
    /// Whether it has documents of its own.
    pub(super) has_documents: bool,
    /// Its validator, as the server has it.
    pub(super) validator: Option<Document>,
}

impl Reader<'_, '_, '_> {
    /// Lists the collections, and learns about each what can be learnt without its documents.
    pub(super) fn read_catalogue(
        &mut self,
        deployment: &mut Deployment,
        databases: &[String],
    ) -> Vec<Listed> {
        let mut listed = Vec::new();
        self.misplaced(deployment);
        for database in databases {
            let mut entries = self.collections(deployment, database);
            entries.retain(|entry| self.is_audited_entry(&entry.namespace));
            for some in entries.chunks(TOGETHER) {
                if self.is_stopped() {
                    return listed;
                }
                let questions = some.iter().flat_map(Entry::questions).collect();
                let mut answers = deployment.session.list_many(questions).into_iter();
                for entry in some {
                    let answers = if entry.is_view() {
                        None
                    } else {
                        answers.next().zip(answers.next()).zip(answers.next())
                    };
                    listed.push(self.read_entry(deployment, entry, answers));
                }
            }
        }
        listed
    }

    /// Learns the names of collections that people made in the server's own databases. Who may not
    /// list them there is told nothing: few may, and few have to.
    fn misplaced(&mut self, deployment: &mut Deployment) {
        if self.request.database_glob.is_some() {
            return;
        }
        for database in SERVERS_OWN {
            let rest = doc! { "nameOnly": true, "authorizedCollections": true };
            let entries = deployment.session.list(database, Read::ListCollections, rest);
            let entries = entries.unwrap_or_default();
            for entry in entries.iter().filter_map(|entry| Entry::read(database, entry)) {
                if !is_server_owned(&entry.namespace) && self.is_wanted(&entry.namespace) {
                    let place = Place { namespace: entry.namespace.clone(), real: true };
                    let slot = self.table.slot(&place);
                    if entry.is_view() {
                        self.table.entry(slot).kind = CollectionKind::View;
                    }
                }
            }
        }
    }

    fn is_audited_entry(&mut self, namespace: &Namespace) -> bool {
        let is_own = is_server_owned(namespace);
        if is_own && !namespace.collection.starts_with("system.buckets.") {
            // The profiler's collection is read as a workload.
            if self.is_wanted(namespace) && namespace.collection != PROFILE {
                self.passed_over.insert(namespace.to_string());
            }
            return false;
        }
        self.is_wanted(namespace)
    }

    pub(super) fn databases(&mut self, deployment: &mut Deployment) -> Vec<String> {
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

    fn collections(&mut self, deployment: &mut Deployment, database: &str) -> Vec<Entry> {
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
        entries.iter().filter_map(|entry| Entry::read(database, entry)).collect()
    }

    fn read_entry(
        &mut self,
        deployment: &mut Deployment,
        entry: &Entry,
        answers: Option<((Answer, Answer), Answer)>,
    ) -> Listed {
        let ns = &entry.namespace;
        let slot = self.table.slot(&Place { namespace: ns.clone(), real: true });
        let has_documents = entry.kind == "collection";
        let options = entry.options.as_ref().and_then(Bson::as_document);
        let validator = options.and_then(|options| options.get_document("validator").ok());
        let validator = validator.filter(|validator| !validator.is_empty()).cloned();
        let mut listed =
            Listed { namespace: ns.clone(), slot, stats: None, has_documents, validator };
        let Some(((indexes, stats), usage)) = answers else {
            self.add_catalogue_facts(entry, slot, Some(Vec::new()));
            return listed;
        };
        let mut answered = |reader: &mut Self, answer: Answer, action, what| match answer {
            Ok(documents) => Some(documents),
            Err(error) => {
                reader.refused_of(deployment, ns, action, what, &error);
                None
            }
        };
        let indexes = answered(self, indexes, "listIndexes", "listing the indexes");
        let shards = answered(self, stats, "collStats", "asking for the size");
        let usage = answered(self, usage, "indexStats", "asking for the use of indexes");
        self.add_catalogue_facts(entry, slot, indexes);
        listed.stats = match &shards {
            Some(shards) => Some(sum(shards)),
            None => self.count(deployment, ns),
        };
        let entry = self.table.entry(slot);
        entry.stats = listed.stats;
        for index in entry.indexes.iter_mut().flatten() {
            index.usage = index_usage(&index.name, usage.as_deref(), shards.as_deref());
        }
        listed
    }

    fn add_catalogue_facts(&mut self, entry: &Entry, slot: Slot, indexes: Option<Vec<Document>>) {
        let are_known = indexes.is_some();
        if let Some(options) = &entry.options {
            let facts = facts(&entry.kind, options.clone(), indexes.unwrap_or_default());
            self.table.add_facts(slot, facts);
            if !are_known {
                self.table.entry(slot).indexes = None;
            }
        } else if entry.is_view() {
            self.table.entry(slot).kind = CollectionKind::View;
        }
    }

    /// The number of documents, for those who may read them but not the statistics.
    fn count(&mut self, deployment: &mut Deployment, ns: &Namespace) -> Option<CollectionStats> {
        let rest = doc! { "count": &ns.collection };
        let reply = deployment.session.ask(&ns.database, Read::Count, rest).ok()?;
        Some(CollectionStats { documents: number(&reply, "n")?, ..CollectionStats::default() })
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

/// What is known of the use of an index; `None` when neither answer was given.
fn index_usage(
    name: &str,
    usage: Option<&[Document]>,
    shards: Option<&[Document]>,
) -> Option<IndexUsage> {
    let mut used = usage?
        .iter()
        .filter(|document| document.get_str("name").ok() == Some(name))
        .filter_map(|document| {
            let accesses = document.get_document("accesses").ok()?;
            let since = accesses.get_datetime("since").ok();
            let since = since.map(|at| at.timestamp_millis().div_euclid(1000));
            Some(IndexUsage { operations: number(accesses, "ops")?, since, bytes: None })
        })
        // Shards count on their own; the shortest memory limits what can be said.
        .reduce(|a, b| IndexUsage {
            operations: a.operations + b.operations,
            since: a.since.max(b.since),
            bytes: None,
        })?;
    used.bytes = shards.map(|shards| {
        let storage = shards.iter().filter_map(|shard| shard.get_document("storageStats").ok());
        let sizes = storage.filter_map(|storage| storage.get_document("indexSizes").ok());
        sizes.filter_map(|sizes| number(sizes, name)).sum()
    });
    Some(used)
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
        let capped = facts.options.expect("options").capped_bytes;
        assert_eq!((facts.kind, capped), (CollectionKind::Capped, Some(4096)));
        assert!(facts.indexes.expect("indexes")[0].is_id());
    }
}
