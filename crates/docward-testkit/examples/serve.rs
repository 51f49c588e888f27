//! A deployment for experiments: starts real servers, loads dumps, prints the connection string,
//! and stops at the end of standard input.
//!
//!     cargo run -p docward-testkit --example serve -- [--members N] [--auth] [--tls] [--version V] DUMP...
#![expect(clippy::print_stdout, reason = "it is there to say where the servers are")]

use std::path::Path;

use docward_testkit::Launch;

fn main() {
    let mut launch = Launch::standalone();
    let (mut auth, mut tls, mut version) = (false, false, None);
    let mut dumps = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--members" => {
                let members = arguments.next().and_then(|n| n.parse().ok());
                launch = Launch::replica_set(members.expect("--members N"));
            }
            "--auth" => auth = true,
            "--tls" => tls = true,
            "--version" => version = arguments.next(),
            _ => dumps.push(argument),
        }
    }
    if auth {
        launch = launch.auth();
    }
    if tls {
        launch = launch.tls();
    }
    if let Some(version) = version {
        launch = launch.version(version.leak());
    }
    let servers = launch.start();
    for dump in &dumps {
        for refused in servers.load(Path::new(dump)) {
            println!("refused {}: {}", refused.namespace, refused.why);
        }
    }
    println!("uri {}", servers.uri());
    for member in 0..servers.len() {
        println!("member {member} port {} uri {}", servers.port(member), servers.uri_of(member));
    }
    println!("logs {}", servers.directory().display());
    let _ = std::io::stdin().lines().last();
}
