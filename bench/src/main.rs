//! Side-by-side measurements: generates the data, and runs the controls that Docward is compared
//! with. `bench/run.py` and `bench/guard.py` call it; the figures are in docs/benchmarks.md.

mod data;
mod guard;
mod live;

use std::{env, fs, hint::black_box, time::Instant};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["orders", file, count] => data::orders(file, number(count)),
        ["wide", file, count] => data::wide(file, number(count)),
        ["dynamic", file, keys] => data::dynamic(file, number(keys)),
        ["jsonl", from, to, count] => data::jsonl(from, to, number(count)),
        ["walk", file, repetitions] => repeat("walk", file, number(repetitions), |bytes| {
            docward_bson::walk::count_block(bytes).expect("the data is BSON")
        }),
        ["profile", file, repetitions] => repeat("profile", file, number(repetitions), |bytes| {
            let mut profiler = docward_profile::Profiler::new();
            profiler.add_block(bytes, 0);
            black_box(profiler.finish()).profile.documents
        }),
        ["serde-json", file, repetitions] => repeat("serde-json", file, number(repetitions), |bytes| {
            let lines = bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty());
            lines.map(|line| {
                let value: serde_json::Value = serde_json::from_slice(line).expect("the data is JSON");
                u64::from(black_box(value).is_object())
            }).sum()
        }),
        ["load", uri, namespace, file, count] => live::load(uri, namespace, file, number(count)),
        ["drain", uri, namespace, batch] => live::drain(uri, namespace, number(batch)),
        ["drain-raw", uri, namespace, batch] => live::drain_raw(uri, namespace, number(batch)),
        ["guard-load", address, what, connections, seconds, pids @ ..] => {
            guard::load(address, what, number(connections), fraction(seconds), pids);
        }
        ["guard-paced", address, rate, connections, seconds, pids @ ..] => {
            guard::paced(address, fraction(rate), number(connections), fraction(seconds), pids);
        }
        ["guard-hold", address, count] => guard::hold(address, number(count)),
        ["guard-logins", address, password, count, at_once, keys, pids @ ..] => {
            guard::logins(address, password, number(count), number(at_once), *keys == "cached", pids);
        }
        ["guard-fill", address, password @ ..] => guard::fill(address, password.first().copied()),
        ["guard-connections", address, password @ ..] => guard::connections(address, password.first().copied()),
        ["guard-forward", address] => guard::forward(address),
        ["json", file, repetitions] => repeat("json", file, number(repetitions), parse_json),
        _ => eprintln!(
            "usage: docward-bench orders|wide|dynamic FILE COUNT | jsonl FROM TO COUNT | walk|profile|serde-json|json FILE REPETITIONS | load URI NS FILE COUNT | drain|drain-raw URI NS BATCH | guard-…, as in bench/guard.py"
        ),
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

fn fraction(text: &str) -> f64 {
    text.parse().expect("a number")
}

/// Converts Extended JSON to BSON, into one buffer that is cleared from time to time.
fn parse_json(bytes: &[u8]) -> u64 {
    use docward_bson::json::{Parser, Step};
    let mut parser = Parser::new();
    let mut out = Vec::new();
    let mut at = 0;
    let mut documents = 0;
    loop {
        match parser.step(&bytes[at..], true, &mut out) {
            Step::Document { consumed } => {
                at += consumed;
                documents += 1;
                if out.len() > 4 << 20 {
                    black_box(&out);
                    out.clear();
                }
            }
            Step::End => return documents,
            Step::NeedMore { consumed } => at += consumed,
            Step::Failed { error, .. } => panic!("{error}"),
        }
    }
}

/// Prints `name seconds bytes` per repetition; the file is in memory, like in the page cache for
/// the others.
fn repeat(name: &str, file: &str, repetitions: u64, work: impl Fn(&[u8]) -> u64) {
    let bytes = fs::read(file).expect("the file was generated");
    for _ in 0..repetitions {
        let start = Instant::now();
        let result = work(black_box(&bytes));
        println!("{name} {:.6} {} {result}", start.elapsed().as_secs_f64(), bytes.len());
    }
}
