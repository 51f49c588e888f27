//! Reads collections with their options, indexes and counts.
//!
//! Up to a limit, Docward requests each collection separately. Above it, servers that support
//! `$listCatalog` (6.0 and later) return all indexes over one cursor. Above a second limit, sizes
//! and index usage are not requested, because the server would have to open the files of every
//! collection.

use std::collections::BTreeMap;

use docward_model::{
    CollectionKind, CollectionStats, Index, IndexUsage, Namespace, is_server_owned,
};
use mongodb::{
    bson::{Bson, Document, doc},
    error::Error,
};

use super::{
    super::Reader,
    Deployment,
    driver_error::{Unanswered, code, is_forbidden, is_gone, words},
    privileges::Resource,
    session::{Question, Read, number, tree},
    workload::PROFILE,
};
use crate::{
    catalogue::{self, Facts},
    engine::Slot,
    plan::Place,
    trouble::{LiveTrouble, Trouble},
};

/// The server's own databases. Only the names of misplaced user collections are read from them,
/// unless `--db` selects them.
const SERVERS_OWN: [&str; 2] = ["config", "local"];

/// The number of collections per batch of requests, because round trips take the most time.
const TOGETHER: usize = 64;

/// The number of collections from which the indexes of all of them are requested at once, if the
/// server supports it.
const AT_ONCE_FROM: usize = 500;

/// The number of collections up to which sizes and index usage are requested.
const STATISTICS_UP_TO: usize = 10_000;

/// The response to a request.
type Answer = Result<Vec<Document>, Error>;

/// Indexes by collection.
type KnownIndexes = BTreeMap<Namespace, Vec<Index>>;

/// The facts to request for a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    /// Its indexes, if they are not known yet.
    indexes: bool,
    /// Its statistics; otherwise only the number of documents.
    statistics: bool,
    /// The use of its indexes.
    usage: bool,
}

/// The responses for a collection.
struct Answers {
    /// `None` if they were already known.
    indexes: Option<Answer>,
    stats: Answer,
    usage: Option<Answer>,
}

/// A collection as `listCollections` returns it.
struct Entry {
    namespace: Namespace,
    kind: String,
    uuid: Option<String>,
    /// `None` if only names were returned.
    options: Option<Bson>,
}

impl Entry {
    fn read(database: &str, entry: &Document) -> Option<Self> {
        Some(Self {
            namespace: Namespace::new(database, entry.get_str("name").ok()?),
            kind: entry.get_str("type").unwrap_or("collection").to_owned(),
            uuid: entry.get_document("info").ok().and_then(|info| uuid(info.get("uuid")?)),
            options: entry.get("options").cloned(),
        })
    }

    fn is_view(&self) -> bool {
        self.kind == "view"
    }

    /// Returns whether it is an internal collection of the server.
    fn is_servers_own(&self) -> bool {
        let Self { namespace, .. } = self;
        !self.is_view()
            && is_server_owned(namespace)
            && !namespace.collection.starts_with("system.buckets.")
    }

    /// The facts to request; `None` for a view, which has none of these facts.
    fn asked(&self, known: &KnownIndexes, statistics: bool, usage: bool) -> Option<Asked> {
        let indexes = !known.contains_key(&self.namespace);
        (!self.is_view()).then_some(Asked { indexes, statistics, usage })
    }

    fn questions(&self, asked: Asked) -> Vec<Question> {
        let Namespace { database, collection } = &self.namespace;
        let about = |stage: Document| about(&self.namespace, stage);
        let mut questions = Vec::new();
        if asked.indexes {
            let rest = doc! { "listIndexes": collection };
            questions.push((database.clone(), Read::ListIndexes, rest));
        }
        if asked.statistics {
            questions.push(about(doc! { "$collStats": { "storageStats": {}, "count": {} } }));
        } else {
            questions.push(about(doc! { "$collStats": { "count": {} } }));
        }
        if asked.usage {
            questions.push(about(index_stats()));
        }
        questions
    }
}

/// A collection whose documents may be read.
pub(super) struct Listed {
    pub(super) namespace: Namespace,
    pub(super) slot: Slot,
    pub(super) stats: Option<CollectionStats>,
    /// True if it stores documents.
    pub(super) has_documents: bool,
    /// Its validator, as the server has it.
    pub(super) validator: Option<Document>,
    /// The UUID that distinguishes it from another collection with the same name.
    pub(super) uuid: Option<String>,
}

fn uuid(value: &Bson) -> Option<String> {
    match value {
        Bson::Binary(binary) => binary.to_uuid().ok().map(|uuid| uuid.to_string()),
        _ => None,
    }
}

impl Reader<'_, '_, '_> {
    /// Lists the collections and collects the facts that do not need documents.
    pub(super) fn read_catalogue(
        &mut self,
        deployment: &mut Deployment<'_>,
        databases: &[String],
    ) -> Vec<Listed> {
        let mut own = self.misplaced(deployment);
        let mut entries = Vec::new();
        for database in databases {
            let listed = self.collections(deployment, database);
            own += listed.iter().filter(|entry| entry.is_servers_own()).count();
            let audited = |entry: &Entry| self.is_audited_entry(&entry.namespace);
            entries.extend(listed.into_iter().filter(audited));
        }
        let is_whole = self.request.filter.is_empty();
        if let Some(server) = self.table.server.as_mut().filter(|_| deployment.is_told && is_whole)
        {
            server.own_collections = u64::try_from(own).ok();
        }
        let statistics = entries.len() <= STATISTICS_UP_TO;
        if !statistics {
            self.progress.note(&format!(
                "{}: {} collections, more than {STATISTICS_UP_TO}, so their sizes and index use \
                 were not read; select some with --db or --collection to read them",
                deployment.session.name,
                entries.len()
            ));
        }
        // The members of a set count separately, and the one that answers knows only its own part.
        let usage = statistics && deployment.members.is_empty();
        let mut known = self.indexes_at_once(deployment, databases, entries.len());
        let mut listed = Vec::with_capacity(entries.len());
        let mut entries = entries.into_iter();
        while !entries.as_slice().is_empty() && !self.is_stopped() {
            let some: Vec<Entry> = entries.by_ref().take(TOGETHER).collect();
            let asked: Vec<_> =
                some.iter().map(|entry| entry.asked(&known, statistics, usage)).collect();
            let questions = some.iter().zip(&asked);
            let questions =
                questions.filter_map(|(entry, asked)| Some(entry.questions((*asked)?))).flatten();
            let mut answers = deployment.session.list_many(questions.collect()).into_iter();
            for (entry, asked) in some.iter().zip(asked) {
                let mut next = |is_asked: bool| is_asked.then(|| answers.next()).flatten();
                let answers = asked.and_then(|Asked { indexes, usage, .. }| {
                    let indexes = next(indexes);
                    Some(Answers { indexes, stats: next(true)?, usage: next(usage) })
                });
                let known = known.remove(&entry.namespace);
                listed.push(self.read_entry(deployment, entry, known, answers));
            }
        }
        if statistics {
            self.ask_members_for_usage(deployment, &listed);
        }
        listed
    }

    /// Adds up the index usage that the members of a set count.
    fn ask_members_for_usage(&mut self, deployment: &mut Deployment<'_>, listed: &[Listed]) {
        let with_indexes: Vec<_> = listed.iter().filter(|one| one.has_documents).collect();
        for member in deployment.members.clone() {
            for some in with_indexes.chunks(TOGETHER) {
                if self.is_stopped() || deployment.down.contains(&member) {
                    break;
                }
                let questions =
                    some.iter().map(|one| about(&one.namespace, index_stats())).collect();
                let answers = match deployment.session.list_many_of(&member, questions) {
                    Ok(answers) => answers,
                    Err(error) => {
                        self.member_down(deployment, &member, Some(&error));
                        break;
                    }
                };
                for (one, answer) in some.iter().zip(answers) {
                    match answer {
                        Ok(usage) => self.add_usage(one, &usage),
                        Err(error) => {
                            let what = "asking for the use of indexes";
                            self.refused_of(deployment, &one.namespace, "indexStats", what, &error);
                        }
                    }
                }
            }
        }
    }

    /// Adds the counts of one more member.
    fn add_usage(&mut self, listed: &Listed, usage: &[Document]) {
        for index in self.table.entry(listed.slot).indexes.iter_mut().flatten() {
            let Some(counted) = counted_usage(&index.name, usage) else { continue };
            let counted = IndexUsage { members: 1, ..counted };
            index.usage = Some(index.usage.map_or(counted, |known| known.with(counted)));
        }
    }

    /// The indexes of all collections over one cursor. Empty if the server does not support it, the
    /// user has no privilege, or there are too few collections to be worthwhile. Each collection is
    /// then asked separately.
    fn indexes_at_once(
        &self,
        deployment: &Deployment<'_>,
        databases: &[String],
        collections: usize,
    ) -> KnownIndexes {
        let mut known = KnownIndexes::new();
        if collections < AT_ONCE_FROM || self.table.server_version < Some((6, 0)) {
            return known;
        }
        let rest = doc! { "aggregate": 1, "cursor": {}, "pipeline": [
            { "$listCatalog": {} },
            { "$match": { "type": "collection", "db": { "$in": databases.to_vec() } } },
            { "$project": { "_id": 0, "db": 1, "name": 1, "indexes": "$md.indexes.spec" } },
        ] };
        let told = deployment.session.list_as("admin", Read::Aggregate, rest, |row| {
            let namespace = Namespace::new(row.get_str("db").ok()?, row.get_str("name").ok()?);
            // Every shard returns its own indexes, which are the same.
            known.entry(namespace).or_insert(known_indexes(&row)?);
            None::<()>
        });
        if told.is_err() {
            known.clear();
        }
        known
    }

    /// Collects the names of user collections in the server's own databases, and returns the number
    /// of other collections there. A missing privilege for these databases is not reported: few
    /// users have it, and few need it.
    fn misplaced(&mut self, deployment: &mut Deployment<'_>) -> usize {
        let mut own = 0;
        if self.request.filter.database.is_some() {
            return own;
        }
        for database in SERVERS_OWN {
            let rest = doc! { "nameOnly": true, "authorizedCollections": true };
            let entries = deployment.session.list(database, Read::ListCollections, rest);
            let entries = entries.unwrap_or_default();
            for entry in entries.iter().filter_map(|entry| Entry::read(database, entry)) {
                own += usize::from(entry.is_servers_own());
                if !is_server_owned(&entry.namespace) && self.request.filter.wants(&entry.namespace)
                {
                    let place = Place { namespace: entry.namespace.clone(), real: true };
                    let slot = self.table.slot(&place);
                    if entry.is_view() {
                        self.table.entry(slot).kind = CollectionKind::View;
                    }
                }
            }
        }
        own
    }

    fn is_audited_entry(&mut self, namespace: &Namespace) -> bool {
        let is_own = is_server_owned(namespace);
        if is_own && !namespace.collection.starts_with("system.buckets.") {
            // The profiler's collection is read as a workload.
            if self.request.filter.wants(namespace) && namespace.collection != PROFILE {
                self.passed_over.insert(namespace.to_string());
            }
            return false;
        }
        self.request.filter.wants(namespace)
    }

    pub(super) fn databases(&mut self, deployment: &mut Deployment<'_>) -> Vec<String> {
        let list = |authorized: bool| {
            let rest = doc! { "nameOnly": true, "authorizedDatabases": authorized };
            deployment.session.ask("admin", Read::ListDatabases, rest).map(|reply| names_in(&reply))
        };
        let (all, readable) = (list(false), list(true));
        let mut names = match readable {
            Ok(names) => names,
            Err(error) => {
                let resource = Resource::Cluster;
                self.refused(deployment, resource, "listDatabases", "listing databases", &error);
                Vec::new()
            }
        };
        match all {
            // Databases that this user cannot read still exist. The server's own databases are left
            // out.
            Ok(all) => {
                let business = |name: &String| !matches!(&**name, "admin" | "config" | "local");
                names.extend(all.into_iter().filter(business));
            }
            // If the user named databases, the list is not needed.
            Err(error) if is_forbidden(&error) && self.request.filter.database.is_none() => {
                deployment.missing.add(Resource::Cluster, "listDatabases");
            }
            Err(_) => {}
        }
        // A user without the privilege to list databases has named one in the connection string.
        if names.is_empty() {
            names.extend(deployment.session.default_database.clone());
        }
        names.sort();
        names.dedup();
        match &self.request.filter.database {
            Some(glob) => {
                let (matching, others): (Vec<_>, Vec<_>) =
                    names.into_iter().partition(|name| glob.matches(name));
                names = matching;
                if names.is_empty() {
                    let is_business =
                        |name: &String| !matches!(&**name, "admin" | "config" | "local");
                    let known = others.into_iter().filter(is_business);
                    let wanted = glob.as_str().to_owned();
                    let trouble = LiveTrouble::NoDatabase { wanted, known: known.collect() };
                    let name = deployment.session.name.clone();
                    self.troubles.add_for(&*name, &Trouble::Live(trouble));
                }
            }
            None => names.retain(|name| !SERVERS_OWN.contains(&name.as_str())),
        }
        names
    }

    fn collections(&mut self, deployment: &mut Deployment<'_>, database: &str) -> Vec<Entry> {
        let read = |entry: Document| Entry::read(database, &entry);
        let rest = Document::new();
        let mut entries = deployment.session.list_as(database, Read::ListCollections, rest, read);
        if let Err(error) = &entries
            && is_forbidden(error)
        {
            // `admin` belongs to the server, except for misplaced collections that the user may
            // read.
            if database != "admin" {
                deployment.missing.add(Resource::Database(database.to_owned()), "listCollections");
            }
            // Without the privilege, the server still returns the names of collections the user may
            // read.
            let rest = doc! { "nameOnly": true, "authorizedCollections": true };
            entries = deployment.session.list_as(database, Read::ListCollections, rest, read);
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
        entries.sort_by(|a, b| a.namespace.cmp(&b.namespace));
        entries
    }

    fn read_entry(
        &mut self,
        deployment: &mut Deployment<'_>,
        entry: &Entry,
        known: Option<Vec<Index>>,
        answers: Option<Answers>,
    ) -> Listed {
        let ns = &entry.namespace;
        let slot = self.table.slot(&Place { namespace: ns.clone(), real: true });
        let has_documents = entry.kind == "collection";
        let options = entry.options.as_ref().and_then(Bson::as_document);
        let validator = options.and_then(|options| options.get_document("validator").ok());
        let validator = validator.filter(|validator| !validator.is_empty()).cloned();
        let uuid = entry.uuid.clone();
        self.table.entry(slot).uuid.clone_from(&uuid);
        let mut listed =
            Listed { namespace: ns.clone(), slot, stats: None, has_documents, validator, uuid };
        let Some(Answers { indexes, stats, usage }) = answers else {
            self.add_catalogue_facts(entry, slot, Some(Vec::new()), None);
            return listed;
        };
        let mut answered = |reader: &mut Self, answer: Answer, action, what| match answer {
            Ok(documents) => Some(documents),
            Err(error) => {
                reader.refused_of(deployment, ns, action, what, &error);
                None
            }
        };
        let indexes = indexes.and_then(|i| answered(self, i, "listIndexes", "listing the indexes"));
        let shards = answered(self, stats, "collStats", "asking for the size");
        let usage =
            usage.and_then(|u| answered(self, u, "indexStats", "asking for the use of indexes"));
        self.add_catalogue_facts(entry, slot, indexes, known);
        if deployment.is_told {
            self.add_shard_sizes(ns, shards.as_deref().unwrap_or_default());
        }
        listed.stats = match &shards {
            Some(shards) => Some(sum(shards)),
            None => self.count(deployment, ns),
        };
        let entry = self.table.entry(slot);
        entry.stats = listed.stats;
        for index in entry.indexes.iter_mut().flatten() {
            index.usage = usage.as_deref().and_then(|usage| counted_usage(&index.name, usage));
            index.bytes = shards.as_deref().map(|shards| index_bytes(&index.name, shards));
        }
        listed
    }

    /// Adds the size of a sharded collection on each shard, as the shards report it.
    fn add_shard_sizes(&mut self, ns: &Namespace, shards: &[Document]) {
        let cluster = self.table.server.as_mut().and_then(|server| server.cluster.as_mut());
        let Some(sharded) = cluster.and_then(|cluster| cluster.collection_mut(ns)) else { return };
        for part in sharded.parts.iter_mut().flatten() {
            let of =
                shards.iter().find(|s| s.get_str("shard").is_ok_and(|name| name == part.shard));
            let storage = of.and_then(|of| of.get_document("storageStats").ok());
            part.data_bytes = storage.and_then(|storage| number(storage, "size"));
        }
    }

    fn add_catalogue_facts(
        &mut self,
        entry: &Entry,
        slot: Slot,
        indexes: Option<Vec<Document>>,
        known: Option<Vec<Index>>,
    ) {
        let are_told = indexes.is_some();
        if let Some(options) = &entry.options {
            let mut facts = facts(&entry.kind, options.clone(), indexes.unwrap_or_default());
            facts.indexes = known.or(facts.indexes.filter(|_| are_told));
            self.table.add_facts(slot, facts);
        } else if entry.is_view() {
            self.table.entry(slot).kind = CollectionKind::View;
        }
    }

    /// The number of documents, for users who may read them but not the statistics.
    fn count(
        &mut self,
        deployment: &mut Deployment<'_>,
        ns: &Namespace,
    ) -> Option<CollectionStats> {
        let rest = doc! { "count": &ns.collection };
        let reply = deployment.session.ask(&ns.database, Read::Count, rest).ok()?;
        Some(CollectionStats { documents: number(&reply, "n")?, ..CollectionStats::default() })
    }

    /// Records that a request about a collection was refused.
    fn refused_of(
        &mut self,
        deployment: &mut Deployment<'_>,
        ns: &Namespace,
        action: &'static str,
        what: &str,
        error: &Error,
    ) {
        // The collection was dropped in the meantime, or is of a kind without such facts.
        if is_gone(error) || matches!(code(error), Some(166 | 72 | 40_602)) {
            return;
        }
        let what = format!("{what} of {ns}");
        // Index usage is requested from the time series itself.
        let series = ns.collection.strip_prefix("system.buckets.");
        let asked = match series.filter(|_| action == "indexStats") {
            Some(series) => Namespace::new(&ns.database, series),
            None => ns.clone(),
        };
        self.refused(deployment, Resource::Collection(asked), action, &what, error);
    }

    /// Records that a request was not answered.
    pub(super) fn refused(
        &mut self,
        deployment: &mut Deployment<'_>,
        resource: Resource,
        action: &'static str,
        what: &str,
        error: &Error,
    ) {
        if is_forbidden(error) {
            deployment.missing.add(resource, action);
            return;
        }
        // A stopped run or an unresponsive server is reported only once.
        match error.get_custom() {
            Some(Unanswered::Stopped) => return,
            Some(Unanswered::NotAsked) => {
                deployment.not_asked += 1;
                return;
            }
            Some(Unanswered::Silent(_)) | None => {}
        }
        let rest = "the rest of the deployment was read";
        let trouble = LiveTrouble::Failed { what: what.to_owned(), why: words(error), rest };
        let name = deployment.session.name.clone();
        self.troubles.add_for(name, &Trouble::Live(trouble));
    }
}

/// The names in the reply to `listDatabases`.
fn names_in(reply: &Document) -> Vec<String> {
    let entries = reply.get_array("databases").into_iter().flatten();
    let names = entries.filter_map(|entry| entry.as_document()?.get_str("name").ok());
    names.map(str::to_owned).collect()
}

/// Returns the facts in the same form as those from the metadata of a dump.
fn facts(kind: &str, options: Bson, indexes: Vec<Document>) -> Facts {
    let metadata = doc! { "options": options, "indexes": indexes, "type": kind };
    catalogue::facts(&tree(&metadata), kind)
}

/// Indexes as the server's catalogue returns them; `None` if there is one that Docward cannot read.
fn known_indexes(row: &Document) -> Option<Vec<Index>> {
    let indexes = row.get_array("indexes").ok()?;
    indexes.iter().map(|spec| Index::from_value(&tree(spec.as_document()?))).collect()
}

/// Adds up statistics over all shards.
fn sum(shards: &[Document]) -> CollectionStats {
    let mut all = CollectionStats { sharded: shards.len() > 1, ..CollectionStats::default() };
    for shard in shards {
        // With very many collections, only documents are counted.
        let storage = shard.get_document("storageStats").ok();
        let figure = |key| storage.and_then(|s| number(s, key)).unwrap_or_default();
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

/// A request about a collection that a single stage answers.
fn about(namespace: &Namespace, stage: Document) -> Question {
    // Even users with all privileges may not query the buckets of a time series for index usage, so
    // the series itself is queried.
    let name = &namespace.collection;
    let series = name.strip_prefix("system.buckets.").filter(|_| stage.contains_key("$indexStats"));
    let rest = doc! { "aggregate": series.unwrap_or(name), "pipeline": [stage], "cursor": {} };
    (namespace.database.clone(), Read::Aggregate, rest)
}

fn index_stats() -> Document {
    doc! { "$indexStats": {} }
}

/// The usage of an index, as one server or all shards count it.
fn counted_usage(name: &str, usage: &[Document]) -> Option<IndexUsage> {
    let of_index = usage.iter().filter(|document| document.get_str("name").ok() == Some(name));
    let counted = of_index.filter_map(|document| {
        let accesses = document.get_document("accesses").ok()?;
        let since = accesses.get_datetime("since").ok();
        let since = since.map(|at| at.timestamp_millis().div_euclid(1000));
        Some(IndexUsage { operations: number(accesses, "ops")?, since, members: 0 })
    });
    counted.reduce(IndexUsage::with)
}

fn index_bytes(name: &str, shards: &[Document]) -> u64 {
    let storage = shards.iter().filter_map(|shard| shard.get_document("storageStats").ok());
    let sizes = storage.filter_map(|storage| storage.get_document("indexSizes").ok());
    sizes.filter_map(|sizes| number(sizes, name)).sum()
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
    fn dm_12_1_of_very_many_collections_only_documents_are_counted() {
        let entry = Entry::read("db", &doc! { "name": "t", "type": "collection" }).expect("one");
        let commands = |known: &KnownIndexes, statistics| {
            let asked = entry.asked(known, statistics, statistics).expect("no view");
            entry.questions(asked).iter().map(|(_, read, _)| *read).collect::<Vec<_>>()
        };
        let none = KnownIndexes::new();
        assert_eq!(
            commands(&none, true),
            [Read::ListIndexes, Read::Aggregate, Read::Aggregate],
            "indexes, sizes, use"
        );
        let known = KnownIndexes::from([(Namespace::new("db", "t"), Vec::new())]);
        assert_eq!(commands(&known, false), [Read::Aggregate]);
        assert_eq!(sum(&[doc! { "count": 7 }]).documents, 7);
    }

    #[test]
    fn indexes_of_the_catalogue_are_those_of_a_collection() {
        let row = doc! { "indexes": [
            { "v": 2, "key": { "_id": 1 }, "name": "_id_" },
            { "v": 2, "key": { "a": 1, "b": -1 }, "name": "a_1_b_-1", "unique": true },
        ] };
        let indexes = known_indexes(&row).expect("indexes");
        assert!(indexes[0].is_id() && indexes[1].unique);
        assert_eq!(indexes[1].key_text(), "{ a: 1, b: -1 }");
        assert_eq!(known_indexes(&doc! { "indexes": [{ "v": 2 }] }), None);
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
