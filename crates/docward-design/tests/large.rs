//! A model with two hundred entities. It must be decided correctly. `cargo test --release -p
//! docward-design --test large -- --ignored --nocapture` measures the time.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::fmt::Write as _;

use docward_design::{Bounds, Verdict, design, read};
use docward_model::ProfileName;

/// Returns a model of departments with ten entities each: a root, embedded lists, referenced lists,
/// and references between departments.
fn model(entities: usize) -> String {
    let mut text = String::from("name: large\ndeployment: {shards: 4}\nentities:\n");
    for i in 0..entities {
        write!(
            text,
            "  e{i}:
    count: {}k
    lifecycle: {{growth: 10k/year, kept: forever}}
    fields:
      code: {{type: string, bytes: 12, unique: {}}}
      name: {{type: string, bytes: {{typical: 20, p99: 60}}}}
      amount: decimal
      createTime: date
",
            10 + i,
            i % 10 == 0
        )
        .unwrap();
    }
    text += "relationships:\n";
    for i in (0..entities).filter(|i| i % 10 != 0) {
        let (root, above) = (i - i % 10, i - 1);
        if i % 3 == 0 {
            writeln!(text, "  e{root}.r{i}: {{child: e{i}, children: {{p50: 90, p99: 9000, max: 90k}}, growth: 100/year}}").unwrap();
        } else {
            writeln!(text, "  e{above}.r{i}: {{child: e{i}, children: {{p50: 3, p99: 20, max: 40}}, growth: bounded}}").unwrap();
        }
        let other = (i * 7 + 10) % entities;
        if i % 4 == 0 && other != i {
            writeln!(text, "  e{i}.other{i}: {{child: e{other}, children: 1, parents: {{p50: 20, p99: 200, max: 900}}}}").unwrap();
        }
    }
    text += "reads:\n";
    for i in 0..entities {
        writeln!(text, "  by code {i}: {{from: e{i}, where: [code], rate: 2/s}}").unwrap();
        if i % 10 != 0 {
            let (root, above) = (i - i % 10, i - 1);
            let from = if i % 3 == 0 { root } else { above };
            writeln!(text, "  page {i}: {{from: e{from}, where: [_id], with: {{e{from}.r{i}: {{newest: 5, by: createTime}}}}, count: [e{from}.r{i}], rate: 20/s}}").unwrap();
        }
    }
    text += "writes:\n";
    for i in 0..entities {
        writeln!(text, "  write {i}: {{insert: e{i}, rate: 1/min}}").unwrap();
        writeln!(text, "  edit {i}: {{update: e{i}, sets: [e{i}.name], rate: 1/h}}").unwrap();
    }
    text
}

/// Returns a model whose entities are each embedded in the one before.
fn chain(entities: usize) -> String {
    let mut text = String::from("name: chain\nentities:\n");
    for i in 0..entities {
        writeln!(text, "  e{i}: {{count: 1k, lifecycle: {{growth: 1k/year, kept: forever}}, fields: {{code: int, name: {{type: string, bytes: {{typical: 20, p99: 60}}}}}}}}").unwrap();
    }
    text += "relationships:\n";
    for i in 1..entities {
        writeln!(text, "  e{}.r{i}: {{child: e{i}, children: 1}}", i - 1).unwrap();
    }
    text += "reads:\n";
    for i in 1..entities {
        writeln!(
            text,
            "  page {i}: {{from: e{0}, where: [_id], with: [e{0}.r{i}], rate: 2/s}}",
            i - 1
        )
        .unwrap();
    }
    text += "writes:\n";
    for i in 0..entities {
        writeln!(text, "  write {i}: {{insert: e{i}, rate: 1/min}}").unwrap();
    }
    text
}

/// DM-06.1: after five levels below a document, a new document begins.
#[test]
fn dm_06_1_a_chain_of_a_hundred_becomes_documents_of_six_entities() {
    let case = common::of(&chain(100));
    assert_eq!(case.design.collections.len(), 17);
    let apart = case.design.decisions.iter().filter(|d| d.verdict != Verdict::Embed).count();
    assert_eq!(apart, 16);
    // Every entity adds its fields.
    let first = &case.design.decisions[0];
    let embedded = first.alternatives[0].parent[0].1;
    let apart = first.alternatives[1].parent[0].1;
    assert!(embedded > 4 * apart, "{embedded} {apart}");
}

#[test]
fn two_hundred_entities_are_decided() {
    let case = common::of(&model(200));
    assert_eq!(case.model.entities.len(), 200);
    assert!(case.design.questions().is_empty());
    let count = |verdict| case.design.decisions.iter().filter(|d| d.verdict == verdict).count();
    for verdict in [Verdict::Embed, Verdict::Reference, Verdict::Hybrid] {
        assert!(count(verdict) > 10, "{}: {}", verdict.name(), count(verdict));
    }
    assert_eq!(case.design.decisions.len(), case.model.relationships.len());
    // Collections that fit into one chunk are not sharded.
    let sharded = case.design.collections.iter().filter(|c| c.shard.is_some()).count();
    assert!(sharded > 10 && sharded < case.design.collections.len(), "{sharded}");
}

#[test]
#[ignore = "prints times"]
fn how_long_two_hundred_entities_take() {
    // Uses the stack size of a program, because threads of tests have less.
    let measuring = std::thread::Builder::new().stack_size(8 << 20).spawn(measure).unwrap();
    measuring.join().unwrap();
}

#[expect(clippy::print_stdout, reason = "that is its purpose")]
fn measure() {
    let all = [50, 100, 200, 400].map(|n| (n, model(n)));
    let chains = [100, 200, 400, 1000].map(|n| (n, chain(n)));
    for (entities, text) in all.into_iter().chain(chains) {
        let began = std::time::Instant::now();
        let model = read("large.yaml", &text).unwrap();
        let reading = began.elapsed();
        let began = std::time::Instant::now();
        let design = design(&model, ProfileName::Neutral, &Bounds::default());
        println!(
            "{entities} entities, {} decisions, {} collections: read {reading:?}, designed {:?}",
            design.decisions.len(),
            design.collections.len(),
            began.elapsed()
        );
    }
}
