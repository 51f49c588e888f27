//! `mongodump --archive`: interleaved collections with checksums.

use std::collections::BTreeMap;

use docward_bson::{
    archive::{Crc64, Decoder, Item},
    dump,
};
use docward_model::{CollectionKind, Namespace};

use super::{Reader, is_audited};
use crate::{
    catalogue,
    engine::{FileId, Slot},
    plan::Place,
    stream::{End, Stream},
    trouble::Trouble,
};

/// A collection in an archive.
#[derive(Default)]
struct Content {
    /// `None` if the collection is skipped.
    slot: Option<Slot>,
    /// The file that problems with its documents are reported for.
    file: Option<FileId>,
    crc: Crc64,
    /// True if documents are expected: views have none.
    expected: bool,
    ended: bool,
}

/// The state of an archive while it is read.
struct Archive<'d> {
    source: usize,
    display: &'d str,
    contents: BTreeMap<Namespace, Content>,
    /// The collection of the current block; `None` if its documents are skipped.
    current: Option<Namespace>,
}

impl Reader<'_, '_, '_> {
    /// Reads an archive.
    pub(super) fn read_archive(
        &mut self,
        source: usize,
        file: FileId,
        display: &str,
        mut stream: Stream<'_>,
    ) {
        let mut archive = Archive { source, display, contents: BTreeMap::new(), current: None };
        let mut decoder = Decoder::new();
        let (mut offset, mut held) = (0_u64, 0);
        loop {
            let room = self.engine.room(held);
            let (got, end) = stream.fill(&mut room[held..]);
            held += got;
            let mut documents = 0;
            let needed = loop {
                let (consumed, item) = decoder.step(self.engine.held(held));
                let consumed_documents = match item {
                    Item::NeedMore { needed } => break Some(needed),
                    Item::Broken(why) => {
                        self.troubles.add(file, &Trouble::Archive { at: offset, why });
                        break None;
                    }
                    Item::Documents { bytes, documents: count } => {
                        documents += count;
                        if let Some(content) =
                            archive.current.as_ref().and_then(|ns| archive.contents.get_mut(ns))
                        {
                            content.crc.update(bytes);
                        }
                        true
                    }
                    Item::Header(header) => {
                        let version = catalogue::version(&header.server_version);
                        self.table.server_version = self.table.server_version.or(version);
                        false
                    }
                    Item::Collection(entry) => {
                        self.announced(&mut archive, entry);
                        false
                    }
                    Item::Block(header) => {
                        self.block(&mut archive, header, offset);
                        false
                    }
                    // The first block to end is the prelude.
                    Item::BlockEnd if self.request.metadata_only => return,
                    Item::BlockEnd => false,
                };
                if consumed_documents {
                    self.take_documents(&archive, offset, consumed);
                } else {
                    self.engine.pass(consumed);
                }
                offset += consumed as u64;
                held -= consumed;
            };
            self.advance(&mut stream, documents);
            let Some(needed) = needed else { return };
            if self.is_stopped() {
                self.sources[source].sampled = true;
                return;
            }
            match end {
                End::Full => self.engine.make_room(held, needed),
                End::Eof if decoder.between_blocks() && held == 0 => break,
                End::Eof => {
                    let at = offset + held as u64;
                    self.troubles.add(file, &Trouble::ArchiveCut { at });
                    return;
                }
                End::Failed(error) => {
                    self.failed(file, &stream, offset + held as u64, error);
                    return;
                }
            }
        }
        for (namespace, content) in &archive.contents {
            if content.expected && !content.ended {
                let name = format!("{display}!{namespace}");
                self.troubles.add_for(name, &Trouble::Unfinished);
            }
        }
    }

    /// Records a collection that the archive announces.
    fn announced(
        &mut self,
        archive: &mut Archive<'_>,
        entry: docward_bson::archive::CollectionEntry,
    ) {
        let namespace = Namespace::new(entry.database, entry.collection);
        if namespace.database.is_empty() || !self.request.filter.wants(&namespace) {
            return;
        }
        let slot = self.table.slot(&Place { namespace: namespace.clone(), real: true });
        let mut kind = CollectionKind::Plain;
        if !entry.metadata.is_empty() {
            let file = self.troubles.file(format!("{}!{namespace}", archive.display));
            match catalogue::read(&entry.metadata, &entry.kind) {
                Ok(facts) => {
                    kind = facts.kind;
                    self.add_facts(file, slot, &namespace, facts);
                }
                Err(error) => {
                    let trouble = Trouble::Metadata(error.into(), namespace.clone());
                    self.troubles.add(file, &trouble);
                }
            }
        }
        // Documents of a time series are announced under its own name and come as buckets.
        let expected = !matches!(kind, CollectionKind::View | CollectionKind::TimeSeries);
        archive.contents.entry(namespace).or_default().expected = expected;
    }

    /// Begins a block of documents, or ends a collection.
    fn block(
        &mut self,
        archive: &mut Archive<'_>,
        header: docward_bson::archive::BlockHeader,
        at: u64,
    ) {
        let namespace = Namespace::new(header.database, header.collection);
        archive.current = None;
        let is_new = !archive.contents.contains_key(&namespace);
        if is_new && namespace.database.is_empty() {
            self.progress.note(&format!("{}: the oplog is not audited", archive.display));
        }
        let content = archive.contents.entry(namespace.clone()).or_default();
        let name = || format!("{}!{namespace}", archive.display);
        if content.ended {
            self.troubles.add_for(name(), &Trouble::AfterEnd { at });
            return;
        }
        content.expected = true;
        if let Some(stated) = header.end {
            content.ended = true;
            let (found, slot) = (content.crc.value(), content.slot);
            if stated != found {
                self.troubles.add_for(name(), &Trouble::Checksum { at, stated, found });
            }
            if let Some(slot) = slot {
                self.close_if_last(slot, &namespace);
            }
            return;
        }
        if content.file.is_none() {
            let is_read = !namespace.database.is_empty() && self.request.filter.wants(&namespace);
            if is_read {
                let slot = self.table.slot(&Place { namespace: namespace.clone(), real: true });
                self.table.entry(slot).files.push(archive.display.to_owned());
                if self.table.entry(slot).closed {
                    self.troubles.add_for(name(), &Trouble::AfterEnd { at });
                } else if is_audited(&namespace) {
                    content.slot = Some(slot);
                } else {
                    self.passed_over.insert(namespace.to_string());
                }
            }
            let file = self.troubles.file(name());
            self.source_of.insert(file, archive.source);
            content.file = Some(file);
        }
        archive.current = Some(namespace);
    }

    /// Takes the documents of the current block that are to be read.
    fn take_documents(&mut self, archive: &Archive<'_>, offset: u64, length: usize) {
        let content = archive.current.as_ref().and_then(|ns| archive.contents.get(ns));
        let Some((slot, file)) = content.and_then(|content| Some((content.slot?, content.file?)))
        else {
            return self.engine.pass(length);
        };
        let allowance = self.allowance(slot);
        let hop = dump::hop(self.engine.held(length), allowance);
        let rest = dump::hop(&self.engine.held(length)[hop.bytes..], u64::MAX);
        self.engine.take(slot, file, offset, hop.bytes);
        self.engine.pass(length - hop.bytes);
        self.table.entry(slot).taken += hop.documents;
        self.leave_unread(archive.source, slot, rest.documents);
    }

    /// Closes a collection at its end in an archive, if no other file can contain more of it.
    fn close_if_last(&mut self, slot: Slot, namespace: &Namespace) {
        if self.open_ended == 1 && !self.remaining.contains_key(namespace) {
            self.engine.close(slot);
            self.table.entry(slot).closed = true;
        }
    }
}
