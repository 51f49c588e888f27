//! `docward shardkey` end to end.

mod common;

use common::{code, docward, stderr};

fn shardkey(arguments: &[&str]) -> std::process::Output {
    docward(&[&["shardkey"], arguments].concat())
}

#[test]
fn sk_3_shardkey_judges_the_keys_it_is_given() {
    let out = shardkey(&[
        "examples/shop",
        "--collection",
        "t_order",
        "--key",
        r#"{"_id": 1}"#,
        "--key",
        r#"{"_id": "hashed"}"#,
        "--format",
        "json",
    ]);
    assert_eq!(code(&out), 1);
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let keys = report["collections"][0]["keys"].as_array().expect("keys");
    assert_eq!((keys[0]["good"].as_bool(), keys[1]["good"].as_bool()), (Some(false), Some(true)));
}

#[test]
fn shardkey_says_what_is_wrong_with_a_key() {
    for (key, says) in [
        ("{", "a key is a JSON document"),
        (r#"{"a": -1}"#, "must be 1 or \"hashed\""),
        ("{}", "at least one field"),
    ] {
        let out = shardkey(&["examples/shop", "--collection", "t_order", "--key", key]);
        assert_eq!(code(&out), 2, "{key}");
        let error = stderr(&out);
        assert!(error.contains(says), "{key}: {error}");
    }
    let several = shardkey(&["examples/shop", "--key", r#"{"_id": 1}"#]);
    assert!(stderr(&several).contains("choose one with --collection"));
}
