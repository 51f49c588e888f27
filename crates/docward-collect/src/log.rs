//! Reads structured server logs as a workload: MongoDB 4.4 and later, one JSON document per line,
//! plain or gzip. The formats of containers and log collectors are also supported. Text logs of
//! older servers are refused, because they cannot be parsed reliably.

use std::{
    borrow::Cow,
    io::{self, BufRead, BufReader, Read},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use docward_bson::{json, value::to_value};
use docward_model::{Problem, Source, SourceKind, Value, Workload, WorkloadKind, text};
use docward_workload::{Recorder, log_entry};

use crate::{Progress, stream::Stream};

/// Longer lines are skipped: the server truncates its own far earlier.
const LONGEST_LINE: u64 = 4 * 1024 * 1024;
/// A file without a log entry in its first lines is not a log. The limit is generous because a
/// start script may print many lines before.
const FIRST_LINES: u64 = 200;

/// The maximum length of the prefix that a log collector adds to a line.
const LONGEST_PREFIX: usize = 200;

/// The result of reading logs.
#[derive(Debug, Default)]
pub struct Logs {
    /// The operations, unless no log could be read.
    pub workload: Option<Workload>,
    /// The logs, in the order they were named.
    pub sources: Vec<Source>,
    /// Logs that could not be read.
    pub problems: Vec<Problem>,
    /// True if `stop` was set before everything was read.
    pub interrupted: bool,
}

/// Reads logs. Never fails: logs that could not be read are in [`Logs::problems`].
pub fn read_logs(files: &[String], progress: &dyn Progress, stop: &AtomicBool) -> Logs {
    let mut logs = Logs::default();
    let mut recorder = Recorder::new();
    for name in files {
        recorder.begin(name, WorkloadKind::Log);
        let mut log = Log::new(name, &mut recorder);
        let outcome = log.read(progress, stop);
        let (entries, before) = (log.entries, log.before);
        let (bad, first_bad) = (log.bad, log.first_bad.take());
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
                "{lines} could not be read, the first is line {line}: {why}; the others are in \
                 the report"
            )));
        }
        if before > 0 && entries > 0 {
            progress.note(&format!(
                "{name}: skipped {} at the beginning, because no log entry begins there",
                text::plural(before, "line")
            ));
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
    /// The number of lines before the first entry: output of a container before the server starts,
    /// or the rest of a truncated line.
    before: u64,
    /// The reason why the first of them is not an entry.
    first_before: Option<String>,
    bad: u64,
    first_bad: Option<(u64, String)>,
    /// The pieces of a line that the container's log has split.
    pieces: String,
}

impl<'a> Log<'a> {
    fn new(name: &'a str, recorder: &'a mut Recorder) -> Self {
        Self {
            name,
            recorder,
            entries: 0,
            before: 0,
            first_before: None,
            bad: 0,
            first_bad: None,
            pieces: String::new(),
        }
    }

    /// Reads the file; returns its bytes, or the reason why it cannot be read.
    fn read(&mut self, progress: &dyn Progress, stop: &AtomicBool) -> Result<u64, String> {
        let mut stream = self.open(stop)?;
        if stream.peek(2) == [0x1f, 0x8b] {
            stream = stream.gunzip();
        }
        if matches!(stream.peek(2), [0xff, 0xfe] | [0xfe, 0xff]) {
            return Err(
                "the text is UTF-16; convert it to UTF-8 first (`iconv -f UTF-16 -t UTF-8`)"
                    .to_owned(),
            );
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
                self.unreadable(number, "it is longer than 4 MiB".to_owned());
                bytes += skip_line(&mut reader).map_err(|error| error.to_string())?;
                continue;
            }
            self.line(number, line.trim_ascii());
            if self.entries == 0 && self.before >= FIRST_LINES {
                break;
            }
        }
        match self.first_before.take() {
            Some(why) if self.entries == 0 => Err(why),
            None if self.entries == 0 && self.bad == 0 => {
                Err("the file is empty; nothing was read".to_owned())
            }
            _ => Ok(bytes),
        }
    }

    fn open<'s>(&self, stop: &'s AtomicBool) -> Result<Stream<'s>, String> {
        if self.name == "-" {
            return Ok(Stream::stdin(stop));
        }
        if Path::new(self.name).is_dir() {
            return Err(format!(
                "is a directory; name its files, as in --log {}",
                Path::new(self.name).join("mongod.log").display()
            ));
        }
        Stream::open(Path::new(self.name)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => crate::missing(Path::new(self.name)),
            io::ErrorKind::PermissionDenied => {
                "permission denied; run as a user who can read it".to_owned()
            }
            _ => format!("cannot be opened: {error}"),
        })
    }

    fn line(&mut self, number: u64, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(line);
        let Some(text) = self.whole(&text) else { return };
        if !text.starts_with('{') {
            let why = if self.entries == 0 {
                not_structured(line)
            } else {
                "it is not a JSON document".to_owned()
            };
            self.pass_over(number, why);
            return;
        }
        match parse(&text) {
            Ok(value) => self.document(number, &value),
            Err(why) => self.pass_over(number, why),
        }
    }

    fn document(&mut self, number: u64, value: &Value) {
        if let Some(entry) = log_entry(value) {
            self.entries += 1;
            self.recorder.add(entry);
        } else if let Some(inner) = value.get("log").and_then(Value::as_text) {
            // Docker's own format: `{"log": "…\n", "stream": "stdout", "time": "…"}`, with long
            // lines split.
            self.pieces.push_str(inner);
            if !inner.ends_with('\n') && (self.pieces.len() as u64) < LONGEST_LINE {
                return;
            }
            let whole = std::mem::take(&mut self.pieces);
            let whole = whole.trim();
            match parse(whole) {
                Ok(value) if log_entry(&value).is_some() => self.document(number, &value),
                _ if whole.is_empty() => {}
                _ => self.pass_over(number, "it does not contain a log entry".to_owned()),
            }
        } else {
            self.pass_over(
                number,
                "JSON, but not a server log: it has no `t`, `id` and `msg`; name the log file of \
                 mongod (`systemLog.path`)"
                    .to_owned(),
            );
        }
    }

    /// The line without the prefix of log collectors; `None` for a piece of a longer line.
    fn whole<'l>(&mut self, line: &'l str) -> Option<Cow<'l, str>> {
        if line.starts_with('{') {
            return Some(Cow::Borrowed(line));
        }
        // Kubernetes: `2024-03-15T10:30:00.123Z stdout F {…}`; pieces of a long line have `P`.
        let mut parts = line.splitn(4, ' ');
        if let (Some(_), Some("stdout" | "stderr"), Some(tag), Some(rest)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
            && matches!(tag, "F" | "P")
        {
            if tag == "P" && (self.pieces.len() as u64) < LONGEST_LINE {
                self.pieces.push_str(rest);
                return None;
            }
            if self.pieces.is_empty() {
                return Some(Cow::Borrowed(rest));
            }
            let whole = std::mem::take(&mut self.pieces) + rest;
            return Some(Cow::Owned(whole));
        }
        // journald and docker compose: a time, a machine, a service.
        let head = line.char_indices().nth(LONGEST_PREFIX).map_or(line, |(at, _)| &line[..at]);
        let at = head.find("{\"t\":").filter(|_| line.ends_with('}'));
        Some(Cow::Borrowed(at.map_or(line, |at| &line[at..])))
    }

    fn pass_over(&mut self, number: u64, why: String) {
        if self.entries == 0 {
            self.before += 1;
            self.first_before.get_or_insert(why);
            return;
        }
        self.unreadable(number, why);
    }

    fn unreadable(&mut self, number: u64, why: String) {
        self.bad += 1;
        self.first_bad.get_or_insert((number, why));
    }
}

fn parse(text: &str) -> Result<Value, String> {
    json::parse_one(text)
        .map_err(|error| error.without_values())
        .and_then(|document| to_value(&document).map_err(|fault| fault.kind.to_string()))
}

/// Explains a first line that is not JSON.
fn not_structured(line: &[u8]) -> String {
    let head = &line[..line.len().min(200)];
    let dated = head.first().is_some_and(u8::is_ascii_digit) && head.contains(&b'T');
    let worded = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
        .iter()
        .any(|day| head.starts_with(day.as_bytes()));
    let logged = dated || worded || head.windows(4).any(|w| w == b" I  " || w == b" I -");
    if logged {
        "a text log, as servers before 4.4 write it; Docward reads only structured logs of 4.4 \
         and later"
            .to_owned()
    } else {
        "not a structured server log: it does not begin with JSON documents; name the log file of \
         mongod (`systemLog.path`)"
            .to_owned()
    }
}

/// Skips the rest of the line; returns the number of bytes.
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
