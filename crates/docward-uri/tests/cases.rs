//! Runs the case files of the drivers' specifications of connection strings and options.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests: a panic is the message, and counts are printed"
)]

use std::{fs, path::PathBuf};

use docward_uri::{ConnectionString, HostKind, Typed, canonical_name, parse};
use serde_json::Value;

/// Cases that Docward cannot satisfy, by description, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

fn folder(name: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/specs/source");
    let folder = root.join(name).join("tests");
    if !folder.is_dir() {
        eprintln!("skipped: {} is not here", folder.display());
        return None;
    }
    Some(folder)
}

#[test]
fn the_case_files_of_the_specifications_hold() {
    let mut counts = (0, 0, 0);
    for name in ["connection-string", "uri-options"] {
        let Some(folder) = folder(name) else { return };
        let mut files: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        if name == "uri-options" && !files.iter().any(|file| file.ends_with("proxy-options.json")) {
            eprintln!("skipped: proxy-options.json is not among the case files");
        }
        for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
            let cases: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
            for case in cases["tests"].as_array().unwrap() {
                let about = case["description"].as_str().unwrap();
                if EXCEPTIONS.iter().any(|(description, _)| *description == about) {
                    continue;
                }
                hold(case, &format!("{}: {about}", file.display()));
                match (case["valid"] == true, case["warning"] == true) {
                    (false, _) => counts.1 += 1,
                    (true, true) => counts.2 += 1,
                    (true, false) => counts.0 += 1,
                }
            }
        }
    }
    let (valid, invalid, warning) = counts;
    println!("{valid} valid, {invalid} invalid and {warning} warning cases hold");
    assert!(valid + invalid + warning >= 144, "{counts:?}");
}

fn hold(case: &Value, about: &str) {
    let parsed = parse(case["uri"].as_str().unwrap());
    if case["valid"] == false {
        assert!(!parsed.is_ok_and(|uri| uri.is_accepted()), "{about} is taken");
        return;
    }
    let uri = parsed.unwrap_or_else(|fault| panic!("{about}: {fault}"));
    assert!(uri.is_accepted(), "{about}: {:?}", uri.notes);
    assert_eq!(uri.has_warnings(), case["warning"] == true, "{about}: {:?}", uri.notes);
    if let Some(hosts) = case["hosts"].as_array() {
        let found: Vec<Value> = uri.hosts.iter().map(|host| as_json(&host.value)).collect();
        assert_eq!(&found, hosts, "{about}");
    }
    if let Some(auth) = case["auth"].as_object() {
        let user = uri.user.as_ref().map(|user| user.value.as_str());
        assert_eq!(user, auth["username"].as_str(), "{about}");
        let password = uri.password.as_ref().map(|password| {
            percent_encoding::percent_decode_str(password.value.reveal()).decode_utf8().unwrap()
        });
        assert_eq!(password.as_deref(), auth["password"].as_str(), "{about}");
        let database = uri.database.as_ref().map(|database| database.value.as_str());
        assert_eq!(database, auth["db"].as_str(), "{about}");
    }
    let options = case["options"].as_object();
    let known = uri.options.iter().filter(|option| option.value.value != Typed::Ignored);
    // Files that list options list all of them; some omit options that are not their subject.
    if options.is_none() && case["warning"] == true {
        let kept: Vec<&str> = known.map(|option| option.name()).collect();
        assert!(kept.iter().all(|name| *name == "compressors"), "{about}: {kept:?}");
    }
    for (name, value) in options.into_iter().flatten() {
        let name = canonical_name(name).unwrap_or_else(|| panic!("{about}: {name}"));
        // The value of a secret is not printed, only its existence.
        let found = option(&uri, name);
        let is_hidden = name.ends_with("Password") && found.is_null() && !value.is_null();
        assert!(is_hidden || found == *value, "{about}: {name} is {found}, not {value}");
    }
}

fn as_json(host: &docward_uri::Host) -> Value {
    let kind = match host.kind {
        HostKind::Name => "hostname",
        HostKind::Ipv4 => "ipv4",
        HostKind::Ipv6 => "ip_literal",
        HostKind::Socket => "unix",
        HostKind::Unknown => "unknown",
    };
    serde_json::json!({"type": kind, "host": host.name, "port": host.port})
}

fn option(uri: &ConnectionString, name: &str) -> Value {
    match &uri.option(name).unwrap_or_else(|| panic!("{name} is missing")).value.value {
        Typed::Int(number) => (*number).into(),
        Typed::Bool(is) => (*is).into(),
        Typed::Text(text) => text.as_str().into(),
        Typed::Words(words) => words.clone().into(),
        Typed::Pairs(pairs) => {
            pairs.iter().map(|(k, v)| (k.clone(), Value::from(v.as_str()))).collect()
        }
        Typed::Unknown | Typed::Ignored => Value::Null,
    }
}
