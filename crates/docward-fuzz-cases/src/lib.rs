//! Properties that every parser must have for any input. It must not panic or run without end, and
//! it must agree with an oracle if there is one. `cargo fuzz` calls these functions guided by
//! coverage. `tests/smoke.rs` calls them with mutated samples on stable Rust.

use docward_bson::{archive, dump, json, walk};

/// The walker visits the same values as the `bson` crate, or both refuse.
pub fn walk(bytes: &[u8]) {
    let ours = walk::count_elements(bytes);
    let _ = dump::hop(bytes, u64::MAX);
    if let Ok(ours) = ours
        && let Ok(raw) = bson::RawDocument::from_bytes(bytes.get(..length(bytes)).unwrap_or(bytes))
        && let Ok(theirs) = count(raw)
    {
        assert_eq!(ours, theirs, "elements");
    }
}

fn length(bytes: &[u8]) -> usize {
    bytes.get(..4).map_or(0, |b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]).max(0) as usize)
}

fn count(document: &bson::RawDocument) -> Result<u64, bson::error::Error> {
    let mut total = 0;
    for element in document.iter() {
        let (_, value) = element?;
        total += 1;
        total += match value {
            bson::RawBsonRef::Document(inner) => count(inner)?,
            bson::RawBsonRef::Array(inner) => {
                count(bson::RawDocument::from_bytes(inner.as_bytes())?)?
            }
            _ => 0,
        };
    }
    Ok(total)
}

/// Frames of the wire protocol: no bytes cause a panic, no access is beyond its frame, and a message that is compressed
/// again has the same content.
pub fn wire(bytes: &[u8]) {
    const MAX_LENGTH: usize = 1 << 20;
    if let Some(head) = bytes.first_chunk() {
        let _ = docward_wire::Header::parse(head, MAX_LENGTH);
    }
    if let Ok(message) = docward_wire::Message::parse(bytes) {
        let body = message.body(bytes).expect("it was framed");
        let ours = body.elements().collect::<Result<Vec<_>, _>>();
        let theirs = bson::RawDocument::from_bytes(body.bytes());
        let theirs = theirs.and_then(|raw| raw.iter_elements().collect::<Result<Vec<_>, _>>());
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            assert_eq!(ours.len(), theirs.len(), "elements");
        }
        let kept = docward_wire::edited(body, |_| docward_wire::Change::Keep, &bson::rawdoc! {});
        assert!(kept.is_err() || kept.as_deref() == Ok(body.bytes()));
        assert!(message.sequences.iter().all(|sequence| sequence.documents.end <= message.end));
    }
    let _ = docward_wire::Query::parse(bytes);
    if let Ok((frame, compressor)) = docward_wire::decompress(bytes, MAX_LENGTH) {
        assert!(frame.len() <= MAX_LENGTH);
        let again = docward_wire::compress(&frame, compressor).expect("it is a frame");
        assert_eq!(docward_wire::decompress(&again, MAX_LENGTH).expect("just made").0, frame);
    }
}

/// Messages that a client of the guard sends before its login: refused, or read as the `bson` crate reads them.
pub fn guard(bytes: &[u8]) {
    docward_guard::fuzzing::message(bytes);
}

/// The user whose login [`scram`] checks.
pub const SCRAM_USER: &str = "app";
/// The nonce of the server in [`scram`].
pub const SCRAM_NONCE: &str = "def";

/// Returns the keys of the user of [`scram`], and their verifier.
pub fn scram_keys() -> &'static (docward_net::scram::Keys, docward_net::scram::Verifier) {
    use docward_net::scram::{Keys, Mechanism, Verifier};
    static KEYS: std::sync::LazyLock<(Keys, Verifier)> = std::sync::LazyLock::new(|| {
        let keys = Keys::of_password(Mechanism::Sha256, SCRAM_USER, "secret", &[7; 28], 4096);
        let keys = keys.expect("a plain password");
        let verifier = keys.verifier(Mechanism::Sha256, &[7; 28], 4096);
        (keys, verifier)
    });
    &KEYS
}

/// The messages of a login, separated by a line feed: refused, or the proof reveals the user's keys.
pub fn scram(bytes: &[u8]) {
    use docward_net::scram::{Mechanism, Opening, ServerLogin, Verifier};
    let mut messages = bytes.splitn(2, |byte| *byte == b'\n');
    let (first, last) = (messages.next().unwrap_or_default(), messages.next().unwrap_or_default());
    let Ok(opening) = Opening::parse(first) else { return };
    let (_, verifier) = scram_keys();
    let (login, answer) = ServerLogin::start(&opening, verifier.clone(), SCRAM_NONCE);
    assert_eq!(answer.split(',').count(), 3, "nonce, salt and iterations");
    if let Ok((answer, keys)) = login.finish(last) {
        assert!(answer.starts_with("v="));
        let revealed = keys.verifier(Mechanism::Sha256, &[7; 28], 4096);
        assert_eq!(revealed.to_text(), verifier.to_text(), "the keys of the user");
    }
    for mechanism in [Mechanism::Sha1, Mechanism::Sha256] {
        let nobody = Verifier::of_nobody(mechanism, b"secret", &opening.user);
        let (login, _) = ServerLogin::start(&opening, nobody, SCRAM_NONCE);
        assert!(login.finish(last).is_err(), "an unknown user cannot log in");
    }
}

/// The profiler accepts any bytes.
pub fn profile(bytes: &[u8]) {
    let mut profiler = docward_profile::Profiler::new();
    profiler.add_block(bytes, 0);
    let mut other = docward_profile::Profiler::new();
    other.add_block(bytes, bytes.len() as u64);
    profiler.merge(other);
    let profiled = profiler.finish();
    assert!(profiled.profile.fields.len() < 20_000);
}

/// The JSON parser ends, and its output is BSON.
pub fn json(bytes: &[u8]) {
    let mut parser = json::Parser::new();
    let mut out = Vec::new();
    let mut at = 0;
    loop {
        let before = out.len();
        match parser.step(&bytes[at..], true, &mut out) {
            json::Step::Document { consumed } => {
                assert!(consumed > 0, "progress");
                at += consumed;
                let document = &out[before..];
                assert!(walk::count_elements(document).is_ok(), "the walker reads it");
                assert!(bson::RawDocument::from_bytes(document).is_ok(), "the bson crate reads it");
            }
            json::Step::Failed { consumed, .. } => {
                assert_eq!(out.len(), before, "nothing is left of a broken document");
                at += consumed;
                if consumed == 0 && at >= bytes.len() {
                    return;
                }
            }
            json::Step::NeedMore { consumed } => at += consumed,
            json::Step::End => return,
        }
    }
}

/// A line of a log, whatever it holds, is read or refused, and the recorder stays small.
pub fn log(bytes: &[u8]) {
    let mut recorder = docward_workload::Recorder::new();
    recorder.begin("fuzz", docward_model::WorkloadKind::Log);
    for line in String::from_utf8_lossy(bytes).lines() {
        if let Ok(document) = json::parse_one(line)
            && let Ok(value) = docward_bson::value::to_value(&document)
            && let Some(entry) = docward_workload::log_entry(&value)
        {
            recorder.add(entry);
        }
    }
    let workload = recorder.finish();
    assert!(workload.shapes.len() as u64 <= workload.operations());
}

/// Files of network rules are understood or refused, and every omission is reported. The same file is read twice, so
/// that groups of one name occur together.
pub fn network(bytes: &[u8]) {
    let read = docward_collect::parse_network_rules(&[("a.json", bytes), ("b.json", bytes)]);
    let Some(network) = read.network else {
        assert_eq!(read.problems.len(), 2, "a refusal says why");
        return;
    };
    assert_eq!(network.unread.is_empty(), read.problems.is_empty(), "{:?}", read.problems);
    for rule in network.groups.iter().flat_map(|group| &group.rules) {
        assert!(rule.ports.iter().all(|ports| ports.first <= ports.last), "{rule:?}");
    }
}

/// An evidence file is read or refused. A resumed run accepts or refuses the state in it.
pub fn evidence(bytes: &[u8]) {
    match docward_collect::SavedEvidence::parse(bytes) {
        Ok(saved) => {
            let _ = saved.into_resume();
        }
        Err(error) => assert!(!error.to_string().is_empty(), "a refusal says why"),
    }
}

/// The archive decoder ends.
pub fn archive(bytes: &[u8]) {
    let mut decoder = archive::Decoder::new();
    let mut at = 0;
    for _ in 0..=bytes.len() + 8 {
        let (consumed, item) = decoder.step(&bytes[at..]);
        at += consumed;
        match item {
            archive::Item::NeedMore { .. } | archive::Item::Broken(_) => return,
            _ => {}
        }
    }
    panic!("no end after more steps than bytes");
}

/// Settings: any text gives settings and diagnostics.
pub fn config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (_, diagnostics) = docward_config::parse(&text, "docward.toml", &[]);
    for diagnostic in diagnostics {
        assert!(diagnostic.line >= 1 && diagnostic.column >= 1);
        let _ = diagnostic.to_string();
    }
}

/// Checks connection strings:
///
/// - Each is parsed, or refused with a position.
/// - A rewrite without changes returns the same text.
/// - No password is visible in a masked string.
pub fn uri(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let shown = docward_uri::redact(&text);
    assert_eq!(docward_uri::redact(&shown), shown, "what is masked stays as it is");
    let parsed = match docward_uri::parse(&text) {
        Ok(parsed) => parsed,
        Err(fault) => {
            assert!(text.get(fault.span.start..fault.span.end).is_some(), "{fault:?}");
            return;
        }
    };
    assert_eq!(parsed.rewrite(&[]).reveal().reveal(), text.trim(), "nothing was to change");
    let masked = parsed.redacted();
    if let Some(password) =
        parsed.password.as_ref().filter(|password| password.span.end > password.span.start)
    {
        let from_password = &text[password.span.start..];
        assert!(
            !masked.contains(from_password) && !shown.contains(from_password),
            "a password is shown"
        );
    }
    for note in &parsed.notes {
        assert!(text.get(note.span.start..note.span.end).is_some(), "{note:?}");
    }
    let _ = parsed.client(docward_model::Purpose::Client);
}

/// Models of the design advisor: refused with a place, or designed down to the scripts.
pub fn model(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match docward_design::read("model.yaml", &text) {
        Err(faults) => {
            assert!(!faults.is_empty(), "a refusal says why");
            for fault in faults {
                let _ = fault.to_string();
            }
        }
        Ok(model) => {
            let profile = docward_model::ProfileName::Vendor;
            let design =
                docward_design::design(&model, profile, &docward_design::Bounds::default());
            assert_eq!(design.decisions.len(), model.relationships.len());
            assert!(!docward_design::emit::files(&model, &design, profile).is_empty());
        }
    }
}

/// Schemas: refused, or the two forms of one agree about any document, such as itself.
pub fn schema(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(document) = json::parse_one(&text) else { return };
    match docward_schema::Schema::compile(&document) {
        Err(fault) => assert!(!fault.to_string().is_empty(), "a refusal says why"),
        Ok(schema) => {
            if let (Ok(accepts), Ok(details)) =
                (schema.accepts(&document), schema.explain(&document))
            {
                assert_eq!(accepts, details.is_none(), "{text}");
            }
        }
    }
}

/// The files whose names determine their format.
const FILES: [&str; 16] = [
    "a.js",
    "a.ts",
    "a.py",
    "a.go",
    "A.java",
    "a.kt",
    "a.rb",
    ".env",
    "a.yaml",
    "a.toml",
    "a.json",
    "a.properties",
    "Dockerfile",
    "a.tf",
    "a.php",
    "A.cs",
];

/// Source code and settings, as lint and the importers of schemas read them. The first byte chooses how.
pub fn source(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let file = FILES[usize::from(*first) % FILES.len()];
    let kind = docward_source::FileKind::of(file).expect("a file that is read");
    let known = docward_source::Known::default();
    let _ = docward_source::scan(file, "", &text, kind, &known, docward_code::declared_models);
    use docward_code::Kind;
    let kind = Kind::ALL[usize::from(*first) % Kind::ALL.len()];
    let imported = docward_code::read(kind, &text);
    for model in &imported.models {
        let schema = model.schema.to_vec().expect("a document");
        docward_schema::Schema::compile(&schema).expect("the server takes what is imported");
    }
}

/// Reports and baselines: refused, or written again as they were read.
pub fn report(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(report) = docward_report::read(&text) {
        let once = docward_report::json(&report);
        let again = docward_report::read(&once).expect("what is written can be read");
        assert_eq!(docward_report::json(&again), once);
    }
    let _ = docward_report::read_baseline(&text);
}
