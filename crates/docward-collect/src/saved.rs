//! Evidence in a file, to be collected close to the data and checked elsewhere or later.
//!
//! One JSON object, gzipped if the file name says so. Its first key contains the version of the
//! format, so that the first bytes identify a file, and another version is refused rather than
//! misread. Rules find the same problems in it as in the data, so it contains names, counts,
//! distributions, and a few values.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Read as _, Write as _},
    path::Path,
};

use docward_model::{Evidence, Problem, Source, SourceKind};
use flate2::{Compression, write::GzEncoder};
use serde::{Deserialize, Serialize};

use crate::{
    identity::DeploymentId,
    resume::{Resume, Unfinished},
    stream::Stream,
};

/// The version of the format that is written, and the only one that is read.
const VERSION: u32 = 1;

/// The first bytes of every evidence file.
const BEGINNING: &str = "{\"docward-evidence\":";

/// Evidence as stored in a file.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedEvidence {
    #[serde(rename = "docward-evidence")]
    version: u32,
    /// The version of Docward that wrote it.
    pub tool: String,
    /// The date of the data, as text.
    taken: String,
    /// The date of the data, Unix time in milliseconds.
    pub taken_ms: i64,
    /// True if reading was stopped before everything was read.
    pub interrupted: bool,
    /// The inputs that were read.
    pub sources: Vec<Source>,
    /// The inputs that could not be read.
    pub problems: Vec<Problem>,
    /// The evidence.
    pub evidence: Evidence,
    /// The deployments that were read, as far as they report their identity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deployments: Vec<DeploymentId>,
    /// The state that a later run needs to continue.
    #[serde(default, skip_serializing_if = "Unfinished::is_empty")]
    pub unfinished: Unfinished,
}

/// The reason why evidence could not be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// The file cannot be opened or read.
    #[error("this file cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The file has other content.
    #[error("this is not an evidence file; `docward audit SOURCE --save-evidence FILE` writes one")]
    Other,
    /// Another version of the format.
    #[error(
        "this file has version {found} of the evidence format, but this version of Docward reads \
         version {VERSION}: collect the evidence again, or use the version of Docward that wrote it"
    )]
    Version {
        /// The version in the file.
        found: u64,
    },
    /// The file is truncated or altered.
    #[error("this file is damaged at line {line}, column {column}: {what}")]
    Damaged {
        /// The line of the error.
        line: usize,
        /// The column of the error.
        column: usize,
        /// The error of the parser.
        what: String,
    },
}

impl SavedEvidence {
    /// Creates saved evidence with the date of its data.
    pub fn new(
        tool: &str,
        taken_ms: i64,
        interrupted: bool,
        sources: Vec<Source>,
        problems: Vec<Problem>,
        evidence: Evidence,
    ) -> Self {
        Self {
            version: VERSION,
            tool: tool.to_owned(),
            taken: jiff::Timestamp::from_millisecond(taken_ms)
                .map_or_else(|_| String::new(), |at| at.to_string()),
            taken_ms,
            interrupted,
            sources,
            problems,
            evidence,
            deployments: Vec::new(),
            unfinished: Unfinished::default(),
        }
    }

    /// The state of the run, ready to continue; `None` if it was altered or belongs to another
    /// version of Docward.
    pub fn into_resume(self) -> Option<Resume> {
        let deployments = self.known_deployments();
        Resume::new(&self.unfinished, self.evidence, deployments)
    }

    /// The deployments, also for files that do not list them: there the facts about the only one
    /// identify it.
    fn known_deployments(&self) -> Vec<DeploymentId> {
        let live = self.sources.iter().filter(|source| source.kind == SourceKind::Live).count();
        if self.deployments.is_empty() && live == 1 {
            return self.evidence.server.as_ref().and_then(DeploymentId::of).into_iter().collect();
        }
        self.deployments.clone()
    }

    /// Writes the file atomically.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".part");
        let part = path.with_file_name(name);
        let written = self.write_to(&part, path).and_then(|()| fs::rename(&part, path));
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written
    }

    fn write_to(&self, part: &Path, path: &Path) -> io::Result<()> {
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        // Evidence describes data that only some people may read.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut out = BufWriter::new(options.open(part)?);
        if path.extension().is_some_and(|extension| extension == "gz") {
            let mut packed = GzEncoder::new(&mut out, Compression::default());
            serde_json::to_writer(&mut packed, self)?;
            packed.finish()?;
        } else {
            serde_json::to_writer(&mut out, self)?;
            out.write_all(b"\n")?;
        }
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, SavedError> {
        Self::read_from(&mut open(path)?)
    }

    /// Reads a decompressed stream.
    pub(crate) fn read_from(stream: &mut Stream<'_>) -> Result<Self, SavedError> {
        let mut text = Vec::new();
        stream.read_to_end(&mut text)?;
        Self::parse(&text)
    }

    /// Reads the text of a file.
    pub fn parse(text: &[u8]) -> Result<Self, SavedError> {
        if !text.starts_with(BEGINNING.as_bytes()) {
            return Err(SavedError::Other);
        }
        let version = text[BEGINNING.len()..].trim_ascii_start();
        let version = version.iter().take_while(|byte| byte.is_ascii_digit());
        let found = version
            .fold(0, |n: u64, byte| n.saturating_mul(10).saturating_add(u64::from(byte - b'0')));
        if found != u64::from(VERSION) {
            return Err(SavedError::Version { found });
        }
        serde_json::from_slice(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let what = error.to_string();
            let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
            SavedError::Damaged { line, column, what: what.to_owned() }
        })
    }
}

/// Returns whether a file begins like an evidence file.
pub(crate) fn is_saved(path: &Path) -> bool {
    open(path).is_ok_and(|mut text| begins_as_saved(&mut text))
}

/// Returns whether a decompressed stream begins like an evidence file.
pub(crate) fn begins_as_saved(text: &mut Stream<'_>) -> bool {
    text.peek(BEGINNING.len()) == BEGINNING.as_bytes()
}

/// The text of a file, decompressed if necessary.
fn open(path: &Path) -> io::Result<Stream<'static>> {
    let mut stream = Stream::open(path)?;
    let is_packed = stream.peek(2) == [0x1f, 0x8b];
    Ok(if is_packed { stream.gunzip() } else { stream })
}
