//! Metadata files, preludes and `system.indexes`: small, and read completely before any documents.

use docward_bson::dump;
use docward_model::Namespace;

use super::Reader;
use crate::{
    catalogue::{self, Facts},
    engine::{FileId, Slot},
    plan::{Item, Origin, What},
    stream::{End, Stream},
    trouble::Trouble,
};

/// Longer metadata is not read. A validator can have 16 MiB, and several times that as JSON.
const LONGEST: u64 = 64 * 1024 * 1024;

impl Reader<'_, '_, '_> {
    /// Reads a catalogue file from the file system.
    pub(super) fn read_facts_of_file(&mut self, source: usize, item: &Item) {
        if !is_facts(item.what) || self.is_stopped() {
            return;
        }
        let Origin::File(path) = &item.origin else { return };
        match Stream::open(path) {
            Ok(stream) => self.read_facts(source, item, stream),
            Err(error) => self.troubles.add_for(&*item.display, &Trouble::opening(error)),
        }
    }

    /// Reads catalogue facts from a stream.
    pub(super) fn read_facts(&mut self, source: usize, item: &Item, stream: Stream<'_>) {
        let file = self.file(source, &item.display);
        if item.what != What::Prelude
            && !self.request.filter.wants(&item.place.namespace)
            && !item.name.is_cut()
        {
            return;
        }
        let Some(bytes) = self.read_whole(file, item, stream) else { return };
        match item.what {
            What::Metadata => self.metadata(file, item, &bytes),
            What::Prelude => match catalogue::read_prelude(&String::from_utf8_lossy(&bytes)) {
                Ok(version) => {
                    self.table.server_version = self.table.server_version.or(version);
                }
                Err(error) => self.troubles.add(file, &Trouble::Prelude(error.into())),
            },
            _ => self.system_indexes(file, &bytes),
        }
    }

    fn metadata(&mut self, file: FileId, item: &Item, bytes: &[u8]) {
        let mut place = item.place.clone();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let facts: Option<Facts> = match std::str::from_utf8(bytes) {
            // An empty file is valid: old versions wrote one for collections without options.
            Ok(text) if text.trim().is_empty() => {
                self.table.notes.push(format!(
                    "{} is empty: options and indexes of {} are unknown",
                    item.display, place.namespace
                ));
                None
            }
            Ok(text) => match catalogue::read(text, "") {
                Ok(facts) => Some(facts),
                Err(error) => {
                    let trouble = Trouble::Metadata(error.into(), place.namespace.clone());
                    self.troubles.add(file, &trouble);
                    None
                }
            },
            Err(_) => {
                self.troubles.add(file, &Trouble::MetadataText(place.namespace.clone()));
                None
            }
        };
        if item.name.is_cut()
            && let Some(name) = facts.as_ref().and_then(|facts| facts.collection.clone())
        {
            self.whole_names.insert(place.namespace.clone(), name.clone());
            place.namespace.collection = name;
        }
        if !self.request.filter.wants(&place.namespace) {
            return;
        }
        let slot = self.table.slot(&place);
        if let Some(facts) = facts {
            self.add_facts(file, slot, &place.namespace, facts);
        }
    }

    /// Adds the facts of metadata, and reports values that are invalid.
    pub(super) fn add_facts(
        &mut self,
        file: FileId,
        slot: Slot,
        namespace: &Namespace,
        facts: Facts,
    ) {
        for fault in &facts.faults {
            let (fault, namespace) = (fault.clone(), namespace.clone());
            self.troubles.add(file, &Trouble::MetadataShape { fault, namespace });
        }
        self.table.add_facts(slot, facts);
    }

    fn system_indexes(&mut self, file: FileId, bytes: &[u8]) {
        let mut offset = 0;
        while offset < bytes.len() {
            let rest = &bytes[offset..];
            let hop = dump::hop(rest, 1);
            if hop.documents == 0 {
                let at = offset as u64;
                let trouble = match hop.next {
                    dump::Next::BadLength { length } => Trouble::BadLength { at, length },
                    dump::Next::Partial { needed } if rest.len() >= 4 => {
                        Trouble::CutShort { at, have: rest.len(), needed }
                    }
                    _ => Trouble::StrayTail { at, have: rest.len() },
                };
                self.troubles.add(file, &trouble);
                return;
            }
            if let Some((namespace, index)) = catalogue::read_system_index(&rest[..hop.bytes]) {
                self.table.add_old_index(namespace, index);
            }
            offset += hop.bytes;
        }
    }

    /// Reads a stream to its end, decompressed.
    fn read_whole(&mut self, file: FileId, item: &Item, mut stream: Stream<'_>) -> Option<Vec<u8>> {
        if stream.peek(2) == [0x1f, 0x8b] {
            stream = stream.gunzip();
        }
        let mut bytes = Vec::new();
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let (got, end) = stream.fill(&mut chunk);
            bytes.extend_from_slice(&chunk[..got]);
            match end {
                End::Full if bytes.len() as u64 > LONGEST => {
                    let namespace = item.place.namespace.clone();
                    let trouble = Trouble::MetadataLength { limit: LONGEST, namespace };
                    self.troubles.add(file, &trouble);
                    return None;
                }
                End::Full => {}
                End::Eof => return Some(bytes),
                End::Failed(error) => {
                    self.failed(file, &stream, bytes.len() as u64, error);
                    return None;
                }
            }
        }
    }
}

/// Returns whether a file contains catalogue facts rather than documents.
pub(super) fn is_facts(what: What) -> bool {
    matches!(what, What::Metadata | What::Prelude | What::SystemIndexes)
}
