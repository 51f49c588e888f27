//! Structured server logs (MongoDB 4.4 and later, one JSON document a line, plain or gzip) as a
//! workload. Text logs of older servers are refused: their lines cannot be taken apart reliably.

use std::{
    io::{self, BufRead, BufReader, Read},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use docward_bson::{json, value::to_value};
use docward_model::{Problem, Source, SourceKind, Value, Workload, WorkloadKind};
use docward_workload::{Recorder, log_entry};

use crate::{Progress, stream::Stream};

/// Lines longer than this are passed over: the server cuts its own at far less.
const LONGEST_LINE: u64 = 4 * 1024 * 1024;
/// A file none of whose first lines is a log entry is no log.
const FIRST_LINES: u64 = 10;

/// What logs told.
#[derive(Debug, Default)]
pub struct Logs {
    /// The operations, unless no log could be read.
    pub workload: Option<Workload>,
    /// The logs, in the order they were named.
    pub sources: Vec<Source>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// Whether `stop` was set before everything was read.
    pub interrupted: bool,
}

/// Reads logs. Never fails: what could not be read is in [`Logs::problems`].
pub fn read_logs(files: &[String], progress: &dyn Progress, stop: &AtomicBool) -> Logs {
    let mut logs = Logs::default();
    let mut recorder = Recorder::new();
    for name in files {
        recorder.begin(name, WorkloadKind::Log);
        let mut log = Log { name, recorder: &mut recorder, entries: 0, bad: 0, first_bad: None };
        let outcome = log.read(progress, stop);
        let (entries, bad, first_bad) = (log.entries, log.bad, log.first_bad.take());
        let mut source = Source {
            kind: SourceKind::Log,
            name: name.clone(),
            documents: entries,
            bytes: 0,
            sampled: false,
            server: None,
        };
        let problem = |message: String| Problem { source: name.clone(), message };
        match outcome {
            Ok(bytes) => source.bytes = bytes,
            Err(message) => logs.problems.push(problem(message)),
        }
        if let Some((line, why)) = first_bad {
            let lines = if bad == 1 { "1 line".to_owned() } else { format!("{bad} lines") };
            logs.problems.push(problem(format!(
                "{lines} could not be read, the first is line {line}: {why}; the others are in the report"
            )));
        }
        logs.sources.push(source);
        if stop.load(Ordering::Relaxed) {
            logs.interrupted = true;
            break;
        }
    }
    if logs.sources.iter().any(|source| source.documents > 0) {
        logs.workload = Some(recorder.finish());
    }
    logs
}

struct Log<'a> {
    name: &'a str,
    recorder: &'a mut Recorder,
    entries: u64,
    bad: u64,
    first_bad: Option<(u64, String)>,
}

impl Log<'_> {
    /// Reads the file; its bytes, or why it cannot be read.
    fn read(&mut self, progress: &dyn Progress, stop: &AtomicBool) -> Result<u64, String> {
        let mut stream =
            Stream::open(Path::new(self.name)).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => "no such file; check the path".to_owned(),
                io::ErrorKind::PermissionDenied => {
                    "permission denied; run as a user who may read it".to_owned()
                }
                _ => format!("cannot be opened: {error}"),
            })?;
        if stream.peek(2) == [0x1f, 0x8b] {
            stream = stream.gunzip();
        }
        if stream.peek(3) == [0xef, 0xbb, 0xbf] {
            let _ = stream.fill(&mut [0; 3]);
        }
        let mut reader = BufReader::with_capacity(256 * 1024, stream);
        let (mut line, mut number, mut bytes) = (Vec::new(), 0, 0);
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(bytes);
            }
            line.clear();
            let got = (&mut reader)
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut line)
                .map_err(|error| format!("reading failed after line {number}: {error}"))?;
            if got == 0 {
                break;
            }
            number += 1;
            bytes += got as u64;
            progress.advance(got as u64, 0);
            if got as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
                self.pass_over(number, "it is longer than 4 MiB");
                bytes += skip_line(&mut reader).map_err(|error| error.to_string())?;
                continue;
            }
            self.line(number, line.trim_ascii())?;
        }
        if self.entries == 0 && self.bad == 0 {
            return Err("it is empty; nothing was read from it".to_owned());
        }
        Ok(bytes)
    }

    fn line(&mut self, number: u64, line: &[u8]) -> Result<(), String> {
        if line.is_empty() {
            return Ok(());
        }
        if !line.starts_with(b"{") {
            if self.entries == 0 && number <= FIRST_LINES {
                return Err(not_structured(line));
            }
            self.pass_over(number, "it is no JSON document");
            return Ok(());
        }
        let text = String::from_utf8_lossy(line);
        let entry = json::parse_one(&text)
            .map_err(|error| error.without_values())
            .and_then(|document| to_value(&document).map_err(|fault| fault.kind.to_string()))
            .map(|value: Value| log_entry(&value));
        match entry {
            Ok(Some(entry)) => {
                self.entries += 1;
                self.recorder.add(entry);
            }
            Ok(None) if self.entries == 0 && number >= FIRST_LINES => {
                return Err("JSON, but not a server log: its lines have no `t`, `id` and `msg`; \
                            name the file mongod writes (`systemLog.path`)"
                    .to_owned());
            }
            Ok(None) => self.pass_over(number, "it has no `t`, `id` and `msg`"),
            Err(why) => self.pass_over(number, &why),
        }
        Ok(())
    }

    fn pass_over(&mut self, number: u64, why: &str) {
        self.bad += 1;
        self.first_bad.get_or_insert_with(|| (number, why.to_owned()));
    }
}

/// What a first line that is no JSON means.
fn not_structured(line: &[u8]) -> String {
    let head = &line[..line.len().min(200)];
    let dated = head.first().is_some_and(u8::is_ascii_digit) && head.contains(&b'T');
    let worded = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
        .iter()
        .any(|day| head.starts_with(day.as_bytes()));
    let logged = dated || worded || head.windows(4).any(|w| w == b" I  " || w == b" I -");
    if logged {
        "a text log, as servers before 4.4 write it; docward reads structured logs only: take the \
         log of a server of 4.4 or later, or turn on its profiler"
            .to_owned()
    } else {
        "not a structured server log: its first line is no JSON document; name the file mongod \
         writes (`systemLog.path`)"
            .to_owned()
    }
}

/// Reads up to the end of the line; how many bytes that were.
fn skip_line(reader: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = reader.fill_buf()?;
        let (used, done) = match buffer.iter().position(|&b| b == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        reader.consume(used);
        skipped += used as u64;
        if done {
            return Ok(skipped);
        }
    }
}
