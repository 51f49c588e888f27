//! Tests the examples of the guide: `docs/configuration.md` is part of this suite.

use crate::rules;

const GUIDE: &str = include_str!("../../../../docs/configuration.md");

/// The fences of the guide: info string and body.
pub(crate) fn fences() -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    let mut open: Option<(&str, String)> = None;
    for line in GUIDE.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => out.extend(open.take()),
            (Some(info), None) => open = Some((info, String::new())),
            (None, Some((_, body))) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a fence is not closed");
    out
}

pub(crate) fn complete_example() -> String {
    let longest = fences().into_iter().filter(|(info, _)| *info == "toml").map(|(_, body)| body);
    longest.max_by_key(String::len).unwrap()
}

fn problems(text: &str) -> String {
    let (_, found) = docward_config::parse(text, "docward.toml", &rules::all());
    found.iter().map(|problem| format!("{problem}\n")).collect()
}

#[test]
fn sound_examples_have_no_problems() {
    let mut seen = 0;
    for (_, body) in fences().into_iter().filter(|(info, _)| *info == "toml") {
        assert_eq!(problems(&body), "", "{body}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[test]
fn the_example_of_a_guard_has_every_key_and_no_problems() {
    let settings = include_str!("../../../../examples/guard/docward.toml");
    assert_eq!(problems(settings), "");
    let users = include_str!("../../../../examples/guard/users.toml");
    let (users, found) = docward_config::parse_users(users, "users.toml");
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(users.len(), 2);
    for key in [
        "upstream",
        "listen",
        "admin",
        "face",
        "auth",
        "users",
        "tls-certificate",
        "max-pool",
        "memory-mb",
    ] {
        assert!(settings.contains(&format!("{key} = ")), "{key}");
    }
}

#[test]
fn faulty_examples_say_what_the_guide_says() {
    let fences = fences();
    let mut seen = 0;
    for pair in fences.windows(2) {
        let [(info, body), (next, expect)] = pair else { continue };
        if *info == "toml faulty" {
            assert_eq!(*next, "text", "what is printed stands right below");
            assert_eq!(problems(body), *expect);
            seen += 1;
        }
    }
    assert_eq!(seen, 2);
}

#[test]
fn the_complete_example_is_complete() {
    let example = complete_example();
    for key in [
        "profile",
        "select",
        "ignore",
        "fail-on",
        "severity",
        "enabled",
        "match",
        "core",
        "path",
        "max",
        "namespace",
        "key",
        "server-version",
        "shards",
        "topology",
        "routers",
        "members",
        "connection-limit",
        "limit-scope",
        "client-ips",
        "routers-change-often",
        "name",
        "class",
        "code",
        "peak-qps",
        "latency-ms",
        "instances",
        "processes",
        "stale-reads-ms",
        "pool",
    ] {
        assert!(
            example.lines().any(|line| line.starts_with(&format!("{key} = "))),
            "{key} is not shown"
        );
    }
}
