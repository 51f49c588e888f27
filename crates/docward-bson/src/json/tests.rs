//! Tests of the whole parser. Tests of single steps are next to them.

mod corpus;
mod dialects;
mod errors;
mod robustness;
mod streams;

use std::path::{Path, PathBuf};

use bson::Document;

use super::{Error, Parser, Step, parse_one};

/// Parses a text to a document.
#[track_caller]
fn read(text: &str) -> Document {
    match parse_one(text) {
        Ok(bytes) => decode(&bytes),
        Err(error) => panic!("{text}: {error}"),
    }
}

/// Decodes a document from its bytes, all of which must be valid.
#[track_caller]
fn decode(bytes: &[u8]) -> Document {
    match Document::from_reader(bytes) {
        Ok(document) => document,
        Err(error) => panic!("{error}: {bytes:x?}"),
    }
}

/// The result of a stream: documents as bytes, and errors.
type Outcome = Vec<Result<Vec<u8>, Error>>;

/// Reads a stream that is available as a whole.
fn read_all(input: &[u8]) -> Outcome {
    let mut rest = input;
    let mut parser = Parser::new();
    let mut outcome = Vec::new();
    loop {
        let mut out = b"before".to_vec();
        match parser.step(rest, true, &mut out) {
            Step::Document { consumed } => {
                assert!(consumed > 0);
                assert!(out.starts_with(b"before"));
                outcome.push(Ok(out.split_off(6)));
                rest = &rest[consumed..];
            }
            Step::Failed { consumed, error } => {
                assert_eq!(out, b"before");
                outcome.push(Err(error));
                rest = &rest[consumed..];
            }
            Step::NeedMore { .. } => panic!("there is no more"),
            Step::End => {
                assert_eq!(parser.place().offset, input.len() as u64);
                return outcome;
            }
        }
        assert!(outcome.len() <= 2 * input.len() + 2, "does not get on");
    }
}

/// Reads a stream that arrives in pieces.
fn read_pieces(input: &[u8], piece: usize) -> Outcome {
    let (mut start, mut end) = (0, 0);
    let mut parser = Parser::new();
    let mut outcome = Vec::new();
    loop {
        let mut out = Vec::new();
        let eof = end == input.len();
        match parser.step(&input[start..end], eof, &mut out) {
            Step::Document { consumed } => {
                outcome.push(Ok(out));
                start += consumed;
            }
            Step::Failed { consumed, error } => {
                outcome.push(Err(error));
                start += consumed;
            }
            Step::NeedMore { consumed } => {
                assert!(!eof);
                assert!(out.is_empty());
                start += consumed;
                end = (end + piece).min(input.len());
            }
            Step::End => return outcome,
        }
    }
}

/// The path of shared test data; prints a note if it is missing.
fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(path);
    if path.exists() {
        return Some(path);
    }
    note(&format!("skipped: {} is missing", path.display()));
    None
}

/// Prints a note for the developer.
#[expect(clippy::print_stderr, reason = "a skipped test has to be visible")]
fn note(text: &str) {
    eprintln!("{text}");
}
