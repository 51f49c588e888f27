//! Processes the reading list: opens each file, detects its format, and calls the reader of that
//! format. Any failure becomes a problem of that file.

mod archive;
mod bson;
mod catalogue;
mod json;
pub(crate) mod live;
mod zip;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use docward_model::{Namespace, Source, SourceKind, is_server_owned};
use docward_workload::Recorder;

use crate::{
    Collected, Progress, Request,
    detect::{self, Format},
    engine::{Engine, FileId, Slot},
    identity::DeploymentId,
    names::{self, Claim, FileName, LOOSE_DATABASE},
    plan::{self, Found, Item, Origin, Place, Root, What},
    resume::Unfinished,
    saved::{self, SavedError, SavedEvidence},
    stream::{End, Stream, is_trailing_garbage},
    table::Table,
    trouble::{Trouble, Troubles},
};

/// The state of reading, shared by all sources.
pub(crate) struct Reader<'r, 'scope, 'env> {
    request: &'r Request,
    progress: &'r dyn Progress,
    stop: &'r AtomicBool,
    engine: Engine<'scope, 'env>,
    troubles: Troubles,
    table: Table,
    sources: Vec<Source>,
    /// The source of each file.
    source_of: BTreeMap<FileId, usize>,
    /// Canonical paths of the sources.
    paths: BTreeSet<PathBuf>,
    /// Full names of collections whose file names are truncated.
    whole_names: BTreeMap<Namespace, String>,
    /// The number of unread files, by collection.
    remaining: BTreeMap<Namespace, usize>,
    /// The number of unread files whose collections are not known in advance.
    open_ended: usize,
    /// Text being parsed; kept to reuse its memory.
    text: Vec<u8>,
    /// Bytes of progress on the current item.
    advanced: u64,
    /// System collections, whose documents are not read.
    passed_over: BTreeSet<String>,
    interrupted: bool,
    /// The start of reading.
    began: Instant,
    /// True if the time limit ended the run.
    out_of_time: bool,
    /// Evidence saved by other runs.
    saved: Vec<SavedEvidence>,
    /// The newest date of any source.
    taken_ms: Option<i64>,
    /// True if some collections of a deployment were not read completely.
    left_open: bool,
    /// Deployments that answered, by the names of their sources.
    deployments: Vec<(String, Option<DeploymentId>)>,
    /// The workload that servers report.
    workload: Recorder,
    /// True if servers reported a workload.
    has_workload: bool,
    /// Some documents of each collection of the current deployment.
    kept: live::Kept,
}

/// A source with its reading list.
struct Planned<'r> {
    source: usize,
    items: Vec<Item>,
    /// True if the source is a directory that `mongodump` wrote.
    is_dump: bool,
    /// The connection to a deployment that responded.
    session: Option<live::Session<'r>>,
}

impl<'r, 'scope, 'env> Reader<'r, 'scope, 'env> {
    pub(crate) fn new(
        request: &'r Request,
        progress: &'r dyn Progress,
        stop: &'r AtomicBool,
        engine: Engine<'scope, 'env>,
    ) -> Self {
        Self {
            request,
            progress,
            stop,
            engine,
            troubles: Troubles::default(),
            table: Table::default(),
            sources: Vec::new(),
            source_of: BTreeMap::new(),
            paths: BTreeSet::new(),
            whole_names: BTreeMap::new(),
            remaining: BTreeMap::new(),
            open_ended: 0,
            text: Vec::new(),
            advanced: 0,
            passed_over: BTreeSet::new(),
            interrupted: false,
            began: Instant::now(),
            out_of_time: false,
            saved: Vec::new(),
            taken_ms: None,
            left_open: false,
            deployments: Vec::new(),
            workload: Recorder::new(),
            has_workload: false,
            kept: live::Kept::default(),
        }
    }

    /// Reads all sources.
    pub(crate) fn read(mut self) -> Collected {
        let planned: Vec<_> = self.request.sources.iter().map(|name| self.plan(name)).collect();
        let items = planned.iter().flat_map(|plan| &plan.items);
        self.progress.total_bytes(items.filter(|item| is_data(item)).map(|item| item.bytes).sum());
        for plan in &planned {
            self.expect(&plan.items);
            self.open_ended += usize::from(plan.session.is_some());
        }
        for plan in &planned {
            for item in &plan.items {
                self.read_facts_of_file(plan.source, item);
            }
        }
        for plan in planned {
            self.read_source(plan);
        }
        if !self.passed_over.is_empty() {
            let names: Vec<_> = std::mem::take(&mut self.passed_over).into_iter().collect();
            let names = names.join(", ");
            self.progress.note(&format!(
                "not audited, because they are system collections: \
             {names}"
            ));
        }
        self.collected()
    }

    fn collected(mut self) -> Collected {
        let outcome = self.engine.finish();
        let unfinished = if self.left_open && self.request.resumable {
            self.table.unfinished(&outcome)
        } else {
            Unfinished::default()
        };
        for (file, (documents, bytes)) in outcome.read {
            if let Some(source) =
                self.source_of.get(&file).and_then(|&source| self.sources.get_mut(source))
            {
                source.documents += documents;
                source.bytes += bytes;
            }
        }
        for (file, damages) in outcome.damaged {
            // A collection that was read again has another file.
            let Some(&source) = self.source_of.get(&file) else { continue };
            // The position of a document in a live collection is of no use to the user.
            if self.sources[source].kind == SourceKind::Live {
                let kinds = damages.kinds.into_iter().collect();
                let trouble = Trouble::DamagedLive { documents: damages.count, kinds };
                self.troubles.add(file, &trouble);
                continue;
            }
            let named = damages.first.len() as u64;
            for damage in damages.first {
                let (at, kind) = (damage.offset, damage.kind);
                self.troubles.add(file, &Trouble::Damaged { at, kind });
            }
            self.troubles.add_unnamed(file, damages.count.saturating_sub(named));
        }
        if self.out_of_time && !self.interrupted {
            let seconds = self.request.max_time.unwrap_or_default().as_secs();
            self.troubles.add_for("--max-time", &Trouble::OutOfTime { seconds });
        }
        let mut evidence = self.table.into_evidence(outcome.profiles, outcome.checked);
        evidence.workload = self.has_workload.then(|| self.workload.finish());
        for saved in std::mem::take(&mut self.saved) {
            for namespace in evidence.absorb(saved.evidence) {
                self.progress.note(&format!("{namespace}: in two sources; Docward used the first"));
            }
        }
        Collected {
            evidence,
            sources: self.sources,
            problems: self.troubles.into_problems(),
            interrupted: self.interrupted,
            unfinished,
            deployments: self.deployments,
            taken_ms: self.taken_ms.unwrap_or_else(|| jiff::Timestamp::now().as_millisecond()),
        }
    }

    /// Adds evidence that another run saved.
    fn take_saved(&mut self, source: usize, saved: Result<SavedEvidence, SavedError>) {
        let name = self.sources[source].name.clone();
        let mut saved = match saved {
            Ok(saved) => saved,
            Err(error) => return self.troubles.add_for(&name, &Trouble::Saved(error.to_string())),
        };
        if saved.interrupted {
            self.troubles.add_for(&name, &Trouble::SavedInPart);
        }
        for problem in &saved.problems {
            let text = format!("{}: {}", problem.source, problem.message);
            self.troubles.add_for(&name, &Trouble::WhenSaved(text));
        }
        saved
            .evidence
            .collections
            .retain(|collection| self.request.filter.wants(&collection.namespace));
        let entry = &mut self.sources[source];
        entry.kind = SourceKind::Evidence;
        // Operations were counted as entries, and remain a separate source.
        let (recorded, read): (Vec<&Source>, Vec<&Source>) = saved
            .sources
            .iter()
            .partition(|s| matches!(s.kind, SourceKind::Workload | SourceKind::Log));
        entry.documents = read.iter().map(|source| source.documents).sum();
        entry.bytes = read.iter().map(|source| source.bytes).sum();
        entry.sampled = saved.sources.iter().any(|source| source.sampled);
        entry.server = saved.sources.iter().find_map(|source| source.server.clone());
        self.sources.extend(recorded.into_iter().cloned());
        self.taken_ms = self.taken_ms.max(Some(saved.taken_ms));
        self.saved.push(saved);
    }

    /// Creates the reading list of a source.
    fn plan(&mut self, name: &str) -> Planned<'r> {
        let source = self.sources.len();
        self.sources.push(Source {
            kind: SourceKind::Unknown,
            name: name.to_owned(),
            documents: 0,
            bytes: 0,
            sampled: false,
            server: None,
        });
        let mut planned = Planned { source, items: Vec::new(), is_dump: false, session: None };
        if name == "-" {
            let namespace = Namespace::new(LOOSE_DATABASE, "stdin");
            planned.items.push(Item {
                what: What::Documents,
                origin: Origin::Stdin,
                name: FileName { claim: Claim::Nothing, stem: "stdin".to_owned() },
                display: name.to_owned(),
                bytes: 0,
                place: Place { namespace, real: false },
                named: true,
            });
            self.rename_single(name, &mut planned.items);
            return planned;
        }
        if live::is_uri(name) {
            planned.session = self.connect(source, name);
            self.taken_ms = Some(jiff::Timestamp::now().as_millisecond());
            return planned;
        }
        let path = Path::new(name);
        if let Ok(path) = path.canonicalize()
            && !self.paths.insert(path)
        {
            self.progress.note(&format!("{name}: named twice, read once"));
            return planned;
        }
        match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.troubles.add_for(name, &Trouble::Missing(path.to_owned()));
            }
            Err(error) => self.troubles.add_for(name, &Trouble::opening(error)),
            Ok(metadata) if metadata.is_dir() => {
                let found = plan::walk(path, &mut self.troubles);
                planned.items = plan::arrange(found, &Root::of(path), &mut self.troubles);
                if planned.items.is_empty() {
                    self.troubles.add_for(name, &Trouble::NothingInside);
                }
            }
            Ok(_) if saved::is_saved(path) => {
                self.take_saved(source, SavedEvidence::read(path));
                return planned;
            }
            Ok(metadata) => planned.items = named_file(path, name, metadata.len()),
        }
        self.taken_ms = self.taken_ms.max(last_written(&planned.items));
        planned.is_dump = planned.items.iter().any(|item| item.place.real);
        if path.is_file() && !matches!(planned.items[..], [Item { what: What::Metadata, .. }]) {
            planned.is_dump = false;
        }
        self.rename_single(name, &mut planned.items);
        planned
    }

    /// Gives the only collection of a source the requested name.
    fn rename_single(&mut self, source: &str, items: &mut [Item]) {
        let Some(namespace) = &self.request.namespace else { return };
        let data: Vec<_> = items.iter().filter(|item| is_data(item)).collect();
        match data[..] {
            [Item { what: What::Documents, place, .. }] => {
                let found = place.namespace.clone();
                for item in items.iter_mut().filter(|item| item.place.namespace == found) {
                    item.place = Place { namespace: namespace.clone(), real: true };
                }
            }
            [] | [_] => {}
            _ => self.troubles.add_for(source, &Trouble::NamespaceUnused),
        }
    }

    /// Counts the files to read per collection, so that collections can be closed early.
    fn expect(&mut self, items: &[Item]) {
        for item in items {
            match item.what {
                What::Documents if is_open_ended(item) => self.open_ended += 1,
                What::Documents => {
                    *self.remaining.entry(item.place.namespace.clone()).or_default() += 1;
                }
                What::Zip => self.open_ended += 1,
                _ => {}
            }
        }
        self.engine.expect(self.remaining.len());
    }

    fn read_source(&mut self, planned: Planned<'r>) {
        let Planned { source, items, is_dump, session } = planned;
        if let Some(session) = session {
            self.open_ended -= 1;
            self.read_live(source, session);
        }
        if is_dump {
            self.sources[source].kind = SourceKind::Dump;
        }
        for item in &items {
            if self.is_stopped() {
                self.sources[source].sampled = true;
                return;
            }
            self.advanced = 0;
            match (item.what, &item.origin) {
                (What::Zip, Origin::File(path)) => {
                    self.read_zip(source, path, &item.display);
                    self.open_ended -= 1;
                }
                (What::Documents, origin) => {
                    let stream = match origin {
                        Origin::File(path) => Stream::open(path).map_err(Trouble::opening),
                        _ => Ok(Stream::stdin(self.stop)),
                    };
                    match stream {
                        Ok(stream) => self.read_documents(source, item, stream),
                        Err(trouble) => self.troubles.add_for(&*item.display, &trouble),
                    }
                    self.done(item);
                }
                (What::Oplog, _) => {
                    self.progress.note(&format!("{}: the oplog is not audited", item.display))
                }
                _ => continue,
            }
            // The unread rest also counts as done.
            self.progress.advance(item.bytes.saturating_sub(self.advanced), 0);
        }
    }

    /// Reports the progress of a stream.
    fn advance(&mut self, stream: &mut Stream<'_>, documents: u64) {
        let bytes = stream.progress();
        self.advanced += bytes;
        self.progress.advance(bytes, documents);
    }

    /// Closes the collection of a file that was read, if no more files belong to it.
    fn done(&mut self, item: &Item) {
        if is_open_ended(item) {
            self.open_ended -= 1;
            return;
        }
        let namespace = &item.place.namespace;
        if let Some(count) = self.remaining.get_mut(namespace) {
            *count -= 1;
            if *count == 0 {
                self.remaining.remove(namespace);
                if self.open_ended == 0
                    && let Some(slot) = self.table.find(&self.place_of(item).namespace)
                {
                    self.engine.close(slot);
                    self.table.entry(slot).closed = true;
                }
            }
        }
    }

    /// Reads a file of documents in any format.
    fn read_documents(&mut self, source: usize, item: &Item, mut stream: Stream<'_>) {
        let file = self.file(source, &item.display);
        let mut layers = 0;
        let format = loop {
            let head = stream.peek(detect::HEAD);
            let goes_on = head.len() == detect::HEAD;
            match detect::format(head, item.name.claim) {
                // Only whitespace so far, and the stream continues: it can only be text.
                Format::Empty if goes_on => break Format::Json,
                Format::Gzip if layers == 2 => {
                    break Format::Refused(Trouble::Packed("gzip within gzip within gzip"));
                }
                Format::Gzip => {
                    layers += 1;
                    stream = stream.gunzip();
                }
                format => break format,
            }
        };
        if item.origin == Origin::Stdin && saved::begins_as_saved(&mut stream) {
            self.take_saved(source, SavedEvidence::read_from(&mut stream));
            return;
        }
        let kind = match format {
            Format::Bson => SourceKind::Bson,
            Format::Json => SourceKind::Json,
            Format::Archive => SourceKind::Archive,
            Format::Zip => SourceKind::Zip,
            Format::Gzip | Format::Empty | Format::Refused(_) => SourceKind::Unknown,
        };
        self.note_kind(source, if item.origin == Origin::Stdin { SourceKind::Stdin } else { kind });
        if differs(&format, item.name.claim) {
            self.progress.note(&format!(
                "{}: read as {}, because of its content, not its name",
                item.display,
                kind.name()
            ));
        }
        match format {
            Format::Archive => {
                if self.request.namespace.is_some() {
                    self.troubles.add(file, &Trouble::NamespaceUnused);
                }
                self.read_archive(source, file, &item.display, stream);
            }
            Format::Zip => match &item.origin {
                Origin::File(path) if layers == 0 => self.read_zip(source, path, &item.display),
                Origin::Stdin => self.troubles.add(file, &Trouble::ZipOnStdin),
                _ => self.troubles.add(file, &Trouble::NestedZip),
            },
            Format::Refused(Trouble::Delimited) => {
                self.troubles.add_delimited(&self.sources[source].name, &item.display);
            }
            Format::Refused(trouble) => self.troubles.add(file, &trouble),
            Format::Bson | Format::Json | Format::Empty | Format::Gzip => {
                self.read_collection(source, file, item, &format, stream);
            }
        }
    }

    /// Reads the documents of one collection.
    fn read_collection(
        &mut self,
        source: usize,
        file: FileId,
        item: &Item,
        format: &Format,
        mut stream: Stream<'_>,
    ) {
        let place = &self.place_of(item);
        if !self.request.filter.wants(&place.namespace) {
            return;
        }
        let slot = self.table.slot(place);
        if self.request.metadata_only {
            return;
        }
        if !item.named && !is_audited(&place.namespace) {
            self.passed_over.insert(place.namespace.to_string());
            return;
        }
        self.table.entry(slot).files.push(item.display.clone());
        match format {
            Format::Bson => self.read_bson(source, file, slot, stream),
            Format::Json => self.read_json(source, file, slot, stream),
            _ => {
                // The stream is empty or cannot be decompressed.
                if let (_, End::Failed(error)) = stream.fill(&mut [0; 1]) {
                    self.failed(file, &stream, 0, error);
                } else if !place.real || matches!(item.origin, Origin::Stdin) {
                    // In a dump, an empty file is a collection without documents.
                    self.troubles.add(file, &Trouble::Empty);
                }
            }
        }
    }

    /// A file of a source.
    fn file(&mut self, source: usize, display: &str) -> FileId {
        let file = self.troubles.file(display.to_owned());
        self.source_of.insert(file, source);
        file
    }

    /// A source has the kind of its first file with a known kind.
    fn note_kind(&mut self, source: usize, kind: SourceKind) {
        let source = &mut self.sources[source];
        if source.kind == SourceKind::Unknown {
            source.kind = kind;
        }
    }

    /// The place of an item, with the full name if the file name is truncated.
    fn place_of(&self, item: &Item) -> Place {
        let mut place = item.place.clone();
        if let Some(name) = self.whole_names.get(&place.namespace) {
            place.namespace.collection.clone_from(name);
        }
        place
    }

    /// The number of documents of a collection that may still be read.
    fn allowance(&mut self, slot: Slot) -> u64 {
        match self.request.sample {
            Some(sample) => sample.saturating_sub(self.table.entry(slot).taken),
            None => u64::MAX,
        }
    }

    /// Records documents that follow those that were read.
    fn leave_unread(&mut self, source: usize, slot: Slot, documents: u64) {
        self.table.entry(slot).in_order |= documents > 0;
        self.leave_out(source, slot, documents);
    }

    /// Records existing documents that the random sample did not include.
    fn leave_out(&mut self, source: usize, slot: Slot, documents: u64) {
        if documents > 0 {
            self.table.entry(slot).unread += documents;
            self.sources[source].sampled = true;
        }
    }

    fn is_stopped(&mut self) -> bool {
        let stopped = self.stop.load(Ordering::Relaxed);
        self.interrupted |= stopped;
        self.out_of_time |= self.request.max_time.is_some_and(|most| self.began.elapsed() >= most);
        stopped || self.out_of_time
    }

    /// Notes that a stream failed after `at` bytes.
    fn failed(&mut self, file: FileId, stream: &Stream<'_>, at: u64, error: std::io::Error) {
        use std::io::ErrorKind;
        let trouble = match error.kind() {
            _ if is_trailing_garbage(&error) => Trouble::GzipTail { at },
            ErrorKind::UnexpectedEof if stream.is_packed() => Trouble::GzipCut { at },
            ErrorKind::InvalidInput | ErrorKind::InvalidData if stream.is_packed() => {
                Trouble::Gzip { at, error }
            }
            _ => Trouble::Read { at, error },
        };
        self.troubles.add(file, &trouble);
    }
}

/// Returns whether documents of a collection are profiled: user documents, including those in
/// buckets.
fn is_audited(namespace: &Namespace) -> bool {
    !is_server_owned(namespace) || namespace.collection.starts_with("system.buckets.")
}

/// Returns whether an item contains documents, not only catalogue facts.
fn is_data(item: &Item) -> bool {
    matches!(item.what, What::Documents | What::Zip)
}

/// Returns whether only the content shows which collections a file contains.
fn is_open_ended(item: &Item) -> bool {
    !matches!(item.name.claim, Claim::Bson | Claim::Json)
}

/// Returns whether the content of a file certainly differs from the format its name claims.
fn differs(format: &Format, claim: Claim) -> bool {
    match format {
        Format::Bson => !matches!(claim, Claim::Bson | Claim::Nothing),
        Format::Json => matches!(claim, Claim::Bson | Claim::Archive | Claim::Zip),
        Format::Archive => matches!(claim, Claim::Bson | Claim::Json | Claim::Zip),
        Format::Zip => matches!(claim, Claim::Bson | Claim::Json | Claim::Archive),
        _ => false,
    }
}

/// The modification time of the newest file, Unix time in milliseconds.
fn last_written(items: &[Item]) -> Option<i64> {
    let written = items.iter().filter_map(|item| match &item.origin {
        Origin::File(path) => std::fs::metadata(path).and_then(|file| file.modified()).ok(),
        Origin::Member(_) | Origin::Stdin => None,
    });
    let newest = jiff::Timestamp::try_from(written.max()?).ok()?;
    Some(newest.as_millisecond())
}

/// The reading list for a file the user named: the file, and its metadata if that is next to it.
fn named_file(path: &Path, display: &str, bytes: u64) -> Vec<Item> {
    let file_name =
        path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = FileName::read(&file_name);
    let root = Root::of(path);
    let in_dump = |claim| {
        let namespace = Namespace::new(names::database(&root.parent), name.collection());
        (claim, Place { namespace, real: true })
    };
    let mut items = Vec::new();
    let (what, place) = match name.claim {
        Claim::Metadata => in_dump(What::Metadata),
        Claim::Zip => (What::Zip, loose(&name)),
        Claim::Bson => {
            let beside = ["metadata.json", "metadata.json.gz"]
                .map(|end| path.with_file_name(format!("{}.{end}", name.stem)))
                .into_iter()
                .find(|path| path.is_file());
            match beside {
                Some(metadata) => {
                    let (_, place) = in_dump(What::Metadata);
                    items.push(Item {
                        what: What::Metadata,
                        display: metadata.display().to_string(),
                        origin: Origin::File(metadata),
                        name: FileName { claim: Claim::Metadata, stem: name.stem.clone() },
                        bytes: 0,
                        place: place.clone(),
                        named: true,
                    });
                    (What::Documents, place)
                }
                None if is_in_dump(path) => in_dump(What::Documents),
                None => (What::Documents, loose(&name)),
            }
        }
        _ => (What::Documents, loose(&name)),
    };
    items.push(Item {
        what,
        origin: Origin::File(path.to_owned()),
        name,
        display: display.to_owned(),
        bytes,
        place,
        named: true,
    });
    items
}

/// Returns whether a file is in a database of a dump: below a directory named `dump`, or next to or
/// below files that only `mongodump` writes.
fn is_in_dump(path: &Path) -> bool {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Some(database) = path.parent() else { return false };
    let Some(dump) = database.parent() else { return false };
    let mark = |directory: &Path, name: &str| directory.join(name).is_file();
    dump.file_name().is_some_and(|name| name == "dump")
        || ["prelude.json", "prelude.json.gz"].iter().any(|n| mark(database, n) || mark(dump, n))
        || ["oplog.bson", "oplog.bson.gz"].iter().any(|name| mark(dump, name))
        || mark(database, "system.indexes.bson")
        || std::fs::read_dir(database).is_ok_and(|entries| {
            entries.flatten().any(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                name.ends_with(".metadata.json") || name.ends_with(".metadata.json.gz")
            })
        })
}

fn loose(name: &FileName) -> Place {
    Place { namespace: Namespace::new(LOOSE_DATABASE, &name.stem), real: false }
}

/// The location of a zip member, from its name in the zip.
fn found_in_zip(name: &str, index: usize, bytes: u64, zip: &str) -> Option<Found> {
    let mut directories: Vec<_> = name
        .split(['/', '\\'])
        .filter(|part| !part.is_empty() && *part != "." && *part != "..")
        .map(str::to_owned)
        .collect();
    let file = directories.pop()?;
    if directories.iter().any(|directory| names::is_foreign_directory(directory)) {
        return None;
    }
    let display = format!("{zip}!{name}");
    Some(Found { directories, name: file, bytes, origin: Origin::Member(index), display })
}
