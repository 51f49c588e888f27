//! The cases of `conformance/` that need a running server.

#[path = "conformance/page.rs"]
mod page;
#[path = "../../docward-rules/src/testing/placeholders.rs"]
mod placeholders;
#[path = "conformance/run.rs"]
mod run;

use docward_testkit::{Launch, Servers};
use page::Case;
use run::{chosen, clauses, document, rules};

/// Starts the server of a case and runs the lines that set it up.
fn start(case: &Case) -> Option<(Servers, String)> {
    let set_up = case.files.iter().find(|file| file.language == "server")?;
    let mut words = set_up.name.split(' ');
    let launch = match words.next() {
        Some("standalone") => Launch::standalone(),
        Some("replica-set") => Launch::replica_set(3),
        other => panic!("{}: no server {other:?}", case.place),
    };
    let servers = if words.any(|word| word == "auth") { launch.auth() } else { launch }.start();
    let document = |text: &str| {
        document(text).unwrap_or_else(|error| panic!("{}: {error}: {text}", case.place))
    };
    for line in set_up.body.lines() {
        let mut parts = line.splitn(3, ' ');
        match (parts.next(), parts.next(), parts.next()) {
            (Some("insert"), Some(namespace), Some(text)) => {
                servers.insert(namespace, [document(text)]);
            }
            (Some("run"), Some(database), Some(text)) => {
                servers.command(database, document(text));
            }
            _ => panic!("{}: {line}", case.place),
        }
    }
    let uri = servers.uri();
    Some((servers, uri))
}

#[test]
fn every_clause_does_what_its_page_says_on_a_server() {
    let clauses = clauses();
    let cases = chosen(&clauses, true);
    assert!(!cases.is_empty() || std::env::var_os("CONFORMANCE").is_some());
    let faults = run::run(&cases, &rules(), start);
    assert!(faults.is_empty(), "{} of {} cases\n{}", faults.len(), cases.len(), faults.concat());
}
