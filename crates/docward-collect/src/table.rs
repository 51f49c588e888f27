//! The collections found so far, and their conversion to evidence.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    Checked, Collection, CollectionKind, CollectionOptions, CollectionStats, Counted, Deployment,
    Evidence, IdOrder, Index, KeyAnalysis, Namespace, Profile, Server, TrackedDocument,
};
use docward_profile::{Lookup, Profiled, families, relate};

use crate::{
    catalogue::Facts,
    engine::{Outcome, Slot},
    kinds,
    plan::Place,
    resume::{IdRange, Left, Unfinished, pack},
};

/// A collection while it is read.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) namespace: Namespace,
    /// True if the data itself contains its name.
    real: bool,
    /// The files with its documents.
    pub(crate) files: Vec<String>,
    /// Its UUID on the server.
    pub(crate) uuid: Option<String>,
    pub(crate) kind: CollectionKind,
    options: Option<CollectionOptions>,
    pub(crate) indexes: Option<Vec<Index>>,
    /// Its statistics on the server.
    pub(crate) stats: Option<CollectionStats>,
    /// Figures that the server computed over all documents.
    pub(crate) counted: Option<Box<Counted>>,
    /// Documents that fail the requested schema, as a server counted them.
    pub(crate) refused: Option<u64>,
    /// The number of documents passed to the profiler.
    pub(crate) taken: u64,
    /// The bytes of the documents that a server sent.
    pub(crate) bytes: u64,
    /// The number of existing documents that were not read, as far as known.
    pub(crate) unread: u64,
    /// True if some of those were left because reading ended early, not at random.
    pub(crate) in_order: bool,
    /// True if documents came in random order, which does not show how they are stored.
    pub(crate) shuffled: bool,
    /// True if the documents may be in the storage order of a secondary.
    pub(crate) copied: bool,
    /// Documents that an earlier run tracked, read again.
    pub(crate) followed: Vec<TrackedDocument>,
    /// True if no more documents are accepted.
    pub(crate) closed: bool,
    /// True if all documents were read.
    pub(crate) whole: bool,
    /// The remaining ranges of a collection that was read partially.
    pub(crate) left: Vec<IdRange>,
}

/// Collections by name.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    slots: BTreeMap<Namespace, Slot>,
    /// Indexes from `system.indexes`, for collections without metadata.
    old_indexes: BTreeMap<Namespace, Vec<Index>>,
    /// Major and minor version of the server, from the first source that contains it.
    pub(crate) server_version: Option<(u32, u32)>,
    /// The facts from the first running deployment.
    pub(crate) server: Option<Server>,
    /// The server's analyses of shard keys.
    pub(crate) key_analyses: Vec<KeyAnalysis>,
    /// The lookups in collections of which a sample was read.
    pub(crate) lookups: Vec<Lookup>,
    /// Notes for the reader of the evidence.
    pub(crate) notes: Vec<String>,
}

impl Table {
    /// The collection at a place; created if it is new.
    pub(crate) fn slot(&mut self, place: &Place) -> Slot {
        if let Some(&slot) = self.slots.get(&place.namespace) {
            self.entries[slot.0].real |= place.real;
            return slot;
        }
        let slot = Slot(self.entries.len());
        self.entries.push(Entry {
            namespace: place.namespace.clone(),
            real: place.real,
            files: Vec::new(),
            uuid: None,
            kind: CollectionKind::Plain,
            options: None,
            indexes: None,
            stats: None,
            counted: None,
            refused: None,
            taken: 0,
            bytes: 0,
            unread: 0,
            in_order: false,
            shuffled: false,
            copied: false,
            followed: Vec::new(),
            closed: false,
            whole: false,
            left: Vec::new(),
        });
        self.slots.insert(place.namespace.clone(), slot);
        slot
    }

    /// A collection that was found before.
    pub(crate) fn find(&self, namespace: &Namespace) -> Option<Slot> {
        self.slots.get(namespace).copied()
    }

    /// The data of a collection.
    pub(crate) fn entry(&mut self, slot: Slot) -> &mut Entry {
        &mut self.entries[slot.0]
    }

    /// Adds the facts of metadata. If two sources contain the same collection, the first one wins.
    pub(crate) fn add_facts(&mut self, slot: Slot, facts: Facts) {
        let entry = self.entry(slot);
        if entry.options.is_none() && entry.indexes.is_none() {
            entry.kind = facts.kind;
            entry.options = facts.options;
            entry.indexes = facts.indexes;
        }
    }

    /// Adds an index from `system.indexes`.
    pub(crate) fn add_old_index(&mut self, namespace: Namespace, index: Index) {
        self.old_indexes.entry(namespace).or_default().push(index);
    }

    /// The state that a later run needs to continue with collections that were not read completely;
    /// empty if all were.
    pub(crate) fn unfinished(&self, outcome: &Outcome) -> Unfinished {
        let mut unfinished = Unfinished::default();
        for (at, entry) in self.entries.iter().enumerate() {
            let slot = Slot(at);
            let left = match (outcome.profiles.get(&slot), outcome.states.get(&slot)) {
                (Some(profiled), _) if entry.whole => Left::Whole(pack(&profiled.links.save())),
                (_, Some(state)) => Left::Part(pack(state), entry.left.clone()),
                _ => Left::Anew,
            };
            unfinished.0.insert(entry.namespace.to_string(), left);
        }
        unfinished
    }

    /// Converts everything to evidence.
    pub(crate) fn into_evidence(
        mut self,
        mut profiles: BTreeMap<Slot, Profiled>,
        mut checked: BTreeMap<Slot, Checked>,
    ) -> Evidence {
        let names_are_real = self.entries.iter().any(|e| e.real);
        self.notes.extend(merged(&self.entries));
        let databases: BTreeSet<_> =
            self.entries.iter().map(|entry| entry.namespace.database.clone()).collect();
        let mut all_links = BTreeMap::new();
        let mut collections = Vec::new();
        for (at, entry) in std::mem::take(&mut self.entries).into_iter().enumerate() {
            let mut collection = Collection {
                indexes: entry.indexes.or_else(|| self.old_indexes.remove(&entry.namespace)),
                namespace: entry.namespace,
                has_guessed_name: !entry.real,
                uuid: entry.uuid,
                kind: entry.kind,
                options: entry.options,
                stats: entry.stats,
                counted: entry.counted,
                profile: None,
                checked: checked.remove(&Slot(at)).map(Box::new),
            };
            if let Some(refused) = entry.refused {
                // The server counted all documents; the transferred ones show which constraints
                // fail.
                let checked = collection.checked.get_or_insert_default();
                checked.examined = checked.refused;
                checked.refused = refused.max(checked.refused);
                checked.documents = entry.stats.map_or(0, |stats| stats.documents).max(refused);
            }
            if let Some(Profiled { mut profile, links }) = profiles.remove(&Slot(at))
                && profile.documents > 0
                && !(entry.kind == CollectionKind::TimeSeries && is_of_buckets(&profile))
            {
                profile.total = profile.documents + entry.unread;
                profile.in_order = entry.in_order;
                profile.copied |= entry.copied;
                // Documents that are already in the sample are not added twice.
                let known: BTreeSet<u64> = profile.tracked.iter().map(|d| d.hash).collect();
                let followed = entry.followed.into_iter().filter(|d| !known.contains(&d.hash));
                profile.tracked.extend(followed);
                if entry.shuffled {
                    profile.shuffled = true;
                    profile.id_order = IdOrder::default();
                    profile.fields.iter_mut().for_each(|field| field.natural_order = None);
                }
                all_links.insert(collection.namespace.clone(), links);
                collection.profile = Some(profile);
            }
            collections.push(collection);
        }
        collections.sort_by(|a, b| a.namespace.cmp(&b.namespace));
        kinds::settle(&mut collections);
        let mut links: Vec<_> = collections
            .iter()
            .filter(|collection| collection.kind != CollectionKind::System)
            .filter_map(|c| Some((c.namespace.clone(), all_links.remove(&c.namespace)?)))
            .collect();
        let count = links.len();
        links.iter_mut().for_each(|(_, links)| links.shrink(count));
        let (references, copies) = relate(&links, &self.lookups);
        Evidence {
            deployment: Deployment { server_version: self.server_version, names_are_real },
            server: self.server,
            databases: databases.into_iter().collect(),
            families: families(&collections),
            collections,
            references,
            copies,
            key_analyses: self.key_analyses,
            notes: self.notes,
            workload: None,
            network: None,
            uris: Vec::new(),
            srv_hosts: BTreeMap::new(),
            code: None,
            design: None,
        }
    }
}

/// A note on collections with documents in several files: two dumps may hold the same documents.
fn merged(entries: &[Entry]) -> Option<String> {
    let mut several: Vec<&Entry> = entries.iter().filter(|e| e.files.len() > 1).collect();
    several.sort_by(|a, b| a.namespace.cmp(&b.namespace));
    let first = several.first()?;
    let (name, files) = (&first.namespace, first.files.join(" and "));
    Some(match several.len() {
        1 => {
            format!("{name} was read from {files} as one collection: documents in both count twice")
        }
        n => format!(
            "{n} collections were read from several files each, as one collection; for example {name} \
             from {files}: documents in both count twice"
        ),
    })
}

/// Returns whether documents are buckets of a time series. Servers from 8.3 on dump them under the
/// name of the time series itself; they do not show its measurements.
fn is_of_buckets(profile: &Profile) -> bool {
    ["control", "data"].iter().all(|name| profile.top_level().any(|field| field.name == *name))
}
