//! The problems that can occur while reading, and the list that collects them for the report.
//!
//! None of them ends a run: each becomes a [`Problem`] of one file, and reading continues with the
//! next document or file. Every message states the place of the problem, the effect on the rest,
//! and the next step.

mod live;

pub(crate) use live::LiveTrouble;
pub use live::dns_words;

use std::collections::BTreeMap;

use docward_bson::{archive, json, walk};
use docward_model::{Namespace, Problem, text};

use crate::engine::FileId;

/// The number of problems per file that are reported individually.
const TOLD: usize = 20;

/// A situation in which something could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("no such file or directory; check the path")]
    NotFound,
    #[error("{}", crate::missing(.0))]
    Missing(std::path::PathBuf),
    #[error("permission denied; run as a user who can read it")]
    Forbidden,
    #[error(transparent)]
    Live(LiveTrouble),
    #[error("cannot be opened: {0}")]
    Open(std::io::Error),
    #[error("reading failed at byte {at}: {error}; what was read before is in the report")]
    Read { at: u64, error: std::io::Error },
    #[error(
        "a link to {}, which does not exist; nothing was read from it; repair or remove the link",
        .0.as_deref().map_or_else(|| "something".to_owned(), |path| path.display().to_string())
    )]
    DanglingLink(Option<std::path::PathBuf>),
    #[error(
        "{0}, not a file; it was not read, because it may never end; name it as a separate \
         source, or move it out of the directory"
    )]
    NoFile(&'static str),
    #[error("directories nested deeper than {0} levels; name the inner directory instead")]
    TooDeep(usize),
    #[error("the file is empty; nothing was read")]
    Empty,
    #[error(
        "it contains no data that Docward can read: expected a mongodump directory, .bson, .json, .jsonl \
         or an archive"
    )]
    NothingInside,
    #[error(
        "reading stopped after {seconds} s; what was not read is not in the report; allow more \
         time, or read less with --db, --collection or --sample"
    )]
    OutOfTime { seconds: u64 },
    #[error("{0}")]
    Saved(String),
    #[error("was saved by an interrupted run; collect it again for a complete audit")]
    SavedInPart,
    #[error("when it was collected: {0}")]
    WhenSaved(String),
    #[error(
        "CSV and TSV have no types and are not supported; convert with mongoimport (`mongoimport \
         --type csv --headerline --file FILE`), then audit a dump of that collection"
    )]
    Delimited,
    #[error(
        "{} files are CSV or TSV ({}), which have no types and are not supported; convert each \
         with \
         mongoimport (`mongoimport --type csv --headerline --file FILE`), then audit a dump of those \
         collections",
        .0.len(), file_names(.0)
    )]
    DelimitedFiles(Vec<String>),
    #[error(
        "not recognised as BSON, JSON, a mongodump archive, gzip or zip; name a file of one of \
         these kinds"
    )]
    Unknown,
    #[error("{0} is not supported; unpack the file and name its content")]
    Packed(&'static str),
    #[error("the text is UTF-16; convert it to UTF-8 first (`iconv -f UTF-16 -t UTF-8`)")]
    Utf16,
    #[error("a zip cannot be read from standard input; save it and name the file")]
    ZipOnStdin,
    #[error("Docward does not read a zip in a zip; unpack it and name the file")]
    NestedZip,
    #[error("the zip cannot be read: {0}; check it with `unzip -t`")]
    Zip(zip::result::ZipError),
    #[error("the member is encrypted; unpack the zip with its password and name the files")]
    Encrypted,
    #[error("the member cannot be read: {0}; check it with `unzip -t`")]
    Member(zip::result::ZipError),
    #[error(
        "gzip data ends too early, at byte {at} of the unpacked data; what was read before is in \
         the report; copy or dump the file again"
    )]
    GzipCut { at: u64 },
    #[error(
        "gzip data is damaged at byte {at} of the unpacked data ({error}); what was read before \
         is in the report; check the file with `gzip -t`"
    )]
    Gzip { at: u64, error: std::io::Error },
    #[error(
        "trailing data after the gzip stream, which ends at byte {at} of the unpacked data; the \
         report has everything except the trailing data; check how the file was written or copied"
    )]
    GzipTail { at: u64 },
    #[error(
        "invalid document length {length} at byte {at}. Docward cannot read the rest; the report \
         covers the data before it; {}", length_hint(*at)
    )]
    BadLength { at: u64, length: i32 },
    #[error(
        "the data ends inside a document, which begins at byte {at} and has {have} of its \
         {needed} bytes; that document is not in the report; copy or dump the file again"
    )]
    CutShort { at: u64, have: usize, needed: usize },
    #[error(
        "{have} {} at the end, from byte {at} on: too few for a document; copy or dump the file again",
        if *have == 1 { "stray byte" } else { "stray bytes" }
    )]
    StrayTail { at: u64, have: usize },
    #[error(
        "damaged document: {kind} at byte {at}; {}; the documents after it were read; check the \
         file with `bsondump --objcheck`",
        extent(kind)
    )]
    Damaged { at: u64, kind: walk::FaultKind },
    #[error("{}; check the collection with `db.runCommand({{validate: …}})`", damages(*documents, kinds))]
    DamagedLive { documents: u64, kinds: Vec<walk::FaultKind> },
    #[error("{}; {}", .0.without_values(), left_out(.0))]
    Json(Box<json::Error>),
    #[error(
        "the document that ends at byte {at} takes {bytes} bytes as BSON, more than MongoDB can \
         store (16 MiB); it was left out; split it"
    )]
    TooLarge { at: u64, bytes: usize },
    #[error(
        "reading stopped at byte {at}, because no document begins in {} MB, more than any document \
         takes; what was read before is in the report; check how the file was written",
        bytes >> 20
    )]
    NoMoreDocuments { at: u64, bytes: usize },
    #[error(
        "{left} of {all} files were not read: outside a dump, each file is a collection, and Docward \
         reads at most {} of them at a time; name directories or files",
        all - left
    )]
    TooManyFiles { all: usize, left: usize },
    #[error("the metadata is not valid JSON: {0}; options and indexes of {1} are unknown")]
    Metadata(Box<json::Error>, Namespace),
    #[error("the metadata is not UTF-8 text; options and indexes of {0} are unknown")]
    MetadataText(Namespace),
    #[error(
        "the metadata is longer than {limit} bytes; options and indexes of {namespace} are unknown"
    )]
    MetadataLength { limit: u64, namespace: Namespace },
    #[error(
        "the metadata of {namespace} is not as mongodump writes it: {fault}, the rest was read; dump \
         the collection again"
    )]
    MetadataShape { fault: String, namespace: Namespace },
    #[error(
        "Docward did not read this file, because {0} in the same directory holds the same collection; remove one of them"
    )]
    Twice(String),
    #[error(
        "the archive is damaged at byte {at}: {why}; Docward cannot read the rest; what was read \
         before is in the report; dump again"
    )]
    Archive { at: u64, why: archive::Broken },
    #[error(
        "the archive ends too early, at byte {at}; what was read before is in the report; copy or \
         dump it again"
    )]
    ArchiveCut { at: u64 },
    #[error("the archive ends before this collection does; its last documents may be missing")]
    Unfinished,
    #[error(
        "checksum of the documents is {found:016x}, the archive says {stated:016x} (end of the \
         collection at byte {at}); documents were changed or lost, dump again"
    )]
    Checksum { at: u64, stated: u64, found: u64 },
    #[error("the archive continues this collection after its end, at byte {at}; left out")]
    AfterEnd { at: u64 },
    #[error(
        "--as has no effect, because this source names its collections; use it with a single \
         .bson or JSON file, or standard input"
    )]
    NamespaceUnused,
    #[error("prelude.json is not valid JSON: {0}; the server version is unknown")]
    Prelude(Box<json::Error>),
}

/// The first few of many file names, without their directories.
fn file_names(paths: &[String]) -> String {
    let names: Vec<_> = paths.iter().map(|path| file_name(path)).collect();
    text::list(&names, 3)
}

/// The name of a file in problem messages, without its directories or its zip.
pub(crate) fn file_name(display: &str) -> &str {
    display.rsplit(['/', '\\', '!']).next().unwrap_or(display)
}

fn length_hint(at: u64) -> &'static str {
    if at == 0 {
        "the file may not be BSON at all: check its name and origin"
    } else {
        "copy or dump the file again"
    }
}

/// Describes the part of a damaged document that was read.
fn extent(kind: &walk::FaultKind) -> &'static str {
    match kind {
        walk::FaultKind::Utf8 => "the document was read anyway",
        _ => "its content before that byte was read, the rest was not",
    }
}

/// Describes damaged documents of a collection, and the part of them that was read.
fn damages(documents: u64, kinds: &[walk::FaultKind]) -> String {
    let words: Vec<_> = kinds.iter().map(ToString::to_string).collect();
    let is_read = kinds.iter().all(|kind| *kind == walk::FaultKind::Utf8);
    let extent = match (is_read, documents) {
        (true, 1) => "the document was read anyway",
        (true, _) => "the documents were read anyway",
        (false, 1) => "its content before that was read, the rest was not",
        (false, _) => "their content before that was read, the rest was not",
    };
    let documents = match documents {
        1 => "damaged document".to_owned(),
        documents => text::plural(documents, "damaged document"),
    };
    format!("{documents}: {}; {extent}; all others were read", words.join(", "))
}

/// Describes the data that is missing in the report because of a JSON error.
fn left_out(error: &json::Error) -> &'static str {
    match error {
        json::Error::UnexpectedEnd { what: "array", .. } => {
            "every document in it is in the report; copy or export the file again if some are missing"
        }
        json::Error::UnexpectedEnd { .. } => {
            "what was read before is in the report; copy or export the file again"
        }
        _ => "the document is not in the report, but Docward read those after it",
    }
}

impl Trouble {
    /// The variant that matches a failure to open.
    pub(crate) fn opening(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::NotFound,
            std::io::ErrorKind::PermissionDenied => Self::Forbidden,
            _ => Self::Open(error),
        }
    }

    /// The position in the file, for sorting.
    fn place(&self) -> u64 {
        match self {
            Self::Read { at, .. }
            | Self::GzipCut { at }
            | Self::Gzip { at, .. }
            | Self::GzipTail { at }
            | Self::BadLength { at, .. }
            | Self::CutShort { at, .. }
            | Self::StrayTail { at, .. }
            | Self::Damaged { at, .. }
            | Self::TooLarge { at, .. }
            | Self::Archive { at, .. }
            | Self::ArchiveCut { at }
            | Self::Checksum { at, .. }
            | Self::AfterEnd { at } => *at,
            Self::Json(error) => error.place().offset,
            _ => 0,
        }
    }
}

/// Problems by file, in the order the files were named.
#[derive(Debug, Default)]
pub(crate) struct Troubles {
    files: Vec<FileTroubles>,
    /// CSV and TSV files, by source.
    delimited: BTreeMap<String, Vec<String>>,
}

#[derive(Debug)]
struct FileTroubles {
    name: String,
    /// The first ones by position.
    told: Vec<(u64, String)>,
    /// The number of all problems, reported individually or not.
    count: u64,
}

impl Troubles {
    /// Registers a file that problems may be reported for.
    pub(crate) fn file(&mut self, name: String) -> FileId {
        self.files.push(FileTroubles { name, told: Vec::new(), count: 0 });
        FileId(self.files.len() - 1)
    }

    /// Adds a problem. The result does not depend on the order of calls.
    pub(crate) fn add(&mut self, file: FileId, trouble: &Trouble) {
        let Some(file) = self.files.get_mut(file.0) else { return };
        let entry = (trouble.place(), trouble.to_string());
        file.count += 1;
        let at = file.told.partition_point(|other| *other <= entry);
        if at < TOLD {
            file.told.insert(at, entry);
            file.told.truncate(TOLD);
        }
    }

    /// Adds problems that are only counted, not reported individually.
    pub(crate) fn add_unnamed(&mut self, file: FileId, count: u64) {
        if let Some(file) = self.files.get_mut(file.0) {
            file.count += count;
        }
    }

    /// Adds a problem of a file that has no id yet.
    pub(crate) fn add_for(&mut self, name: impl Into<String>, trouble: &Trouble) {
        let file = self.file(name.into());
        self.add(file, trouble);
    }

    /// Adds a CSV or TSV file of a source. A directory may contain many, and the advice is the same
    /// for all.
    pub(crate) fn add_delimited(&mut self, source: &str, file: &str) {
        self.delimited.entry(source.to_owned()).or_default().push(file.to_owned());
    }

    /// The problems for the report.
    pub(crate) fn into_problems(mut self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (source, mut files) in std::mem::take(&mut self.delimited) {
            files.sort();
            match &files[..] {
                [one] => self.add_for(one.as_str(), &Trouble::Delimited),
                _ => self.add_for(source, &Trouble::DelimitedFiles(files)),
            }
        }
        for file in self.files {
            let more = file.count - file.told.len() as u64;
            problems.extend(
                file.told
                    .into_iter()
                    .map(|(_, message)| Problem { source: file.name.clone(), message }),
            );
            if more > 0 {
                let message = format!("and {more} more of this file, not listed");
                problems.push(Problem { source: file.name, message });
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_in_a_collection_is_told_with_a_count() {
        let told = |documents: u64, kinds: &[walk::FaultKind]| {
            Trouble::DamagedLive { documents, kinds: kinds.to_vec() }.to_string()
        };
        let text = told(60, &[walk::FaultKind::Utf8]);
        let wanted =
            "60 damaged documents: text that is not UTF-8; the documents were read anyway;";
        assert!(text.starts_with(wanted), "{text}");
        let text = told(2, &[walk::FaultKind::Tag(0x77), walk::FaultKind::Utf8]);
        assert!(text.contains("0x77, text that is not UTF-8; their content"), "{text}");
    }

    #[test]
    fn tells_twenty_per_file_by_place_whatever_the_order() {
        let mut troubles = Troubles::default();
        troubles.file("quiet".into());
        let loud = troubles.file("loud".into());
        for at in (0..50).rev() {
            troubles.add(loud, &Trouble::StrayTail { at, have: 1 });
        }
        troubles.add_unnamed(loud, 7);
        let problems = troubles.into_problems();
        assert_eq!(problems.len(), 21);
        assert!(problems[0].message.contains("from byte 0 on"));
        assert!(problems[19].message.contains("from byte 19 on"));
        assert_eq!(problems[20].message, "and 37 more of this file, not listed");
    }
}
