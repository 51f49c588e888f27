//! Tests with the BSON corpus of the MongoDB specifications, random documents from the `bson`
//! crate, and real files.

use std::path::{Path, PathBuf};

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{
    Binary, Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, Regex, Timestamp,
};
use proptest::prelude::*;
use serde_json::Value;

use super::{decode, note, read_all, read_pieces, shared};
use crate::json::parse_one;

fn from_hexadecimal(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn specification_corpus() {
    let Some(folder) = shared("specs/source/bson-corpus/tests") else {
        return;
    };
    let (mut canonical, mut relaxed) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let file: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        for case in file["valid"].as_array().into_iter().flatten() {
            let name = format!("{}: {}", path.display(), case["description"]);
            let bytes = from_hexadecimal(case["canonical_bson"].as_str().unwrap());
            let lossy = case["lossy"] == true;
            for form in ["canonical_extjson", "degenerate_extjson"] {
                let Some(text) = case[form].as_str() else {
                    continue;
                };
                let ours = parse_one(text).unwrap_or_else(|e| panic!("{name}: {text}: {e}"));
                // Only NaNs with a payload are lossy, because the text cannot represent the
                // payload.
                if lossy {
                    assert_eq!(ours.len(), bytes.len(), "{name}");
                } else {
                    assert_eq!(ours, bytes, "{name}: {text}");
                }
                canonical += 1;
            }
            if let Some(text) = case["relaxed_extjson"].as_str() {
                let ours = parse_one(text).unwrap_or_else(|e| panic!("{name}: {text}: {e}"));
                if !lossy && ours != bytes {
                    // A relaxed number has a value but no width.
                    let (ours, theirs) = (widened(decode(&ours)), widened(decode(&bytes)));
                    assert_eq!(ours, theirs, "{name}: {text}");
                    note(&format!("{name}: {text} has another width"));
                }
                relaxed += 1;
            }
        }
    }
    assert!(canonical > 500 && relaxed > 10, "{canonical} canonical, {relaxed} relaxed");
}

/// The document with all integers as int64.
fn widened(document: Document) -> Document {
    fn widen(value: Bson) -> Bson {
        match value {
            Bson::Int32(value) => Bson::Int64(value.into()),
            Bson::Array(values) => values.into_iter().map(widen).collect::<Vec<_>>().into(),
            Bson::Document(document) => widened(document).into(),
            other => other,
        }
    }
    document.into_iter().map(|(name, value)| (name, widen(value))).collect()
}

fn value() -> impl Strategy<Value = Bson> {
    let leaf = prop_oneof![
        any::<f64>().prop_map(Bson::Double),
        (-1_000_000i32..1_000_000, 0..6).prop_map(|(n, e)| (f64::from(n) / 10f64.powi(e)).into()),
        ".*".prop_map(Bson::String),
        "[a-z\"\\\\é ]{0,40}".prop_map(Bson::String),
        any::<bool>().prop_map(Bson::Boolean),
        Just(Bson::Null),
        Just(Bson::Undefined),
        Just(Bson::MinKey),
        Just(Bson::MaxKey),
        any::<i32>().prop_map(Bson::Int32),
        any::<i64>().prop_map(Bson::Int64),
        any::<i64>().prop_map(|millis| DateTime::from_millis(millis).into()),
        (0i64..253_402_300_800_000).prop_map(|millis| DateTime::from_millis(millis).into()),
        any::<[u8; 12]>().prop_map(|bytes| ObjectId::from_bytes(bytes).into()),
        (any::<u8>(), any::<Vec<u8>>()).prop_map(|(subtype, bytes)| {
            Binary { subtype: BinarySubtype::from(subtype), bytes }.into()
        }),
        (any::<u32>(), any::<u32>())
            .prop_map(|(time, increment)| Timestamp { time, increment }.into()),
        ("[^\0]*", "i?m?s?x?").prop_map(|(pattern, options)| {
            Bson::RegularExpression(Regex {
                pattern: pattern.try_into().unwrap(),
                options: options.try_into().unwrap(),
            })
        }),
        ".*".prop_map(Bson::JavaScriptCode),
        ".*".prop_map(Bson::Symbol),
        "-?[1-9][0-9]{0,33}(E[+-]?[1-9][0-9]{0,2})?"
            .prop_map(|text| text.parse::<Decimal128>().unwrap().into()),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..14).prop_map(Bson::Array),
            document_of(inner.clone()).prop_map(Bson::Document),
            (".*", document_of(inner))
                .prop_map(|(code, scope)| { JavaScriptCodeWithScope { code, scope }.into() }),
        ]
    })
}

fn document_of(value: impl Strategy<Value = Bson>) -> impl Strategy<Value = Document> {
    let name = prop_oneof!["[a-z_A-Z0-9]{1,20}", "([^$\0][^\0]*)?"];
    prop::collection::vec((name, value), 0..8).prop_map(|fields| fields.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_documents_come_back(document in document_of(value())) {
        let bytes = document.to_vec().unwrap();
        let json = Bson::Document(document.clone()).into_canonical_extjson();
        prop_assert_eq!(&parse_one(&json.to_string()).unwrap(), &bytes);
        let pretty = serde_json::to_string_pretty(&json).unwrap();
        prop_assert_eq!(&parse_one(&pretty).unwrap(), &bytes);
        let in_array = format!("[{json},\n{pretty}]");
        prop_assert_eq!(read_all(in_array.as_bytes()), [Ok(bytes.clone()), Ok(bytes)]);
        // The relaxed form loses only widths.
        let relaxed = Bson::Document(document.clone()).into_relaxed_extjson().to_string();
        let relaxed = decode(&parse_one(&relaxed).unwrap());
        prop_assert_eq!(relaxed_numbers(relaxed), relaxed_numbers(document));
    }
}

/// The document with every number as text of its value.
fn relaxed_numbers(document: Document) -> Document {
    fn relax(value: Bson) -> Bson {
        match value {
            Bson::Int32(value) => Bson::String(value.to_string()),
            Bson::Int64(value) => Bson::String(value.to_string()),
            Bson::Double(value) => Bson::String(value.to_string()),
            // `bson` 3.1 writes dates after the year 9999 as its last moment.
            Bson::DateTime(date) => {
                DateTime::from_millis(date.timestamp_millis().min(253_402_300_799_999)).into()
            }
            Bson::Array(values) => values.into_iter().map(relax).collect::<Vec<_>>().into(),
            Bson::Document(document) => relaxed_numbers(document).into(),
            Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code, scope }) => {
                JavaScriptCodeWithScope { code, scope: relaxed_numbers(scope) }.into()
            }
            other => other,
        }
    }
    document.into_iter().map(|(name, value)| (name, relax(value))).collect()
}

fn json_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            json_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
}

/// The available real files.
fn real_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in [
        "neelabalan",
        "docs-assets",
        "ozlerhakan",
        "npm-vega-datasets-3.2.1",
        "mongo-tools-testdata",
    ] {
        if let Some(folder) = shared(&format!("datasets/{folder}")) {
            json_files(&folder, &mut files);
        }
    }
    files
}

#[test]
fn real_files_are_read() {
    for path in real_files() {
        let text = std::fs::read(&path).unwrap();
        let mut documents = 0;
        for result in read_all(&text) {
            match result {
                Ok(bytes) => drop(decode(&bytes)),
                Err(error) => panic!("{}: {error}", path.display()),
            }
            documents += 1;
        }
        assert!(documents > 0, "{}", path.display());
        // A part of it, byte by byte.
        let start = &text[..text.len().min(1500)];
        assert_eq!(read_pieces(start, 1), read_all(start), "{}", path.display());
    }
}

#[test]
fn real_lines_are_what_the_bson_crate_makes_of_them() {
    let mut compared = 0;
    for path in real_files() {
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            // Lines that `bson` cannot read, such as dates of version 1, are skipped.
            let Ok(json) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let Ok(Bson::Document(theirs)) = Bson::try_from(json) else {
                continue;
            };
            let ours = decode(&parse_one(line).unwrap());
            assert_eq!(rounded(ours), rounded(theirs), "{line}");
            compared += 1;
        }
    }
    note(&format!("{compared} documents compared"));
}

/// The document with integers as int64 and doubles rounded to the precision of `serde_json`, which
/// by default sometimes misses the nearest double.
fn rounded(document: Document) -> Document {
    fn round(value: Bson) -> Bson {
        match value {
            Bson::Double(value) => Bson::String(format!("{value:.12e}")),
            Bson::Array(values) => values.into_iter().map(round).collect::<Vec<_>>().into(),
            Bson::Document(document) => rounded(document).into(),
            other => other,
        }
    }
    let fields = widened(document).into_iter();
    fields.map(|(name, value)| (name, round(value))).collect()
}

#[test]
fn wrong_decimals_of_the_specification_are_refused() {
    let Some(folder) = shared("specs/source/bson-corpus/tests") else {
        return;
    };
    for number in 1..=7 {
        let Ok(file) = std::fs::read(folder.join(format!("decimal128-{number}.json"))) else {
            continue;
        };
        let file: Value = serde_json::from_slice(&file).unwrap();
        for case in file["parseErrors"].as_array().into_iter().flatten() {
            let text = format!("{{\"d\": {{\"$numberDecimal\": {}}}}}", case["string"]);
            assert!(parse_one(&text).is_err(), "{text}");
        }
    }
}
