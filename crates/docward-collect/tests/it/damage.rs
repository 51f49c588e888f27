//! Damaged files: readable data is read, the rest is reported with its position.

use bson::{Bson, doc};

use crate::support::*;

#[test]
fn cut_at_every_byte_whole_documents_are_read() {
    let documents_of = orders(4);
    let all = bytes(&documents_of);
    let mut ends = vec![0];
    for document in &documents_of {
        ends.push(ends.last().unwrap() + document.to_vec().unwrap().len());
    }
    let place = Place::new();
    for cut in 1..all.len() {
        place.put("t.bson", &all[..cut]);
        let collected = place.read("t.bson");
        let whole = ends.iter().filter(|&&end| end <= cut).count() - 1;
        assert_eq!(documents(&collected, "test.t"), whole as u64, "cut at {cut}");
        let problems = problems(&collected);
        if ends.contains(&cut) {
            assert_eq!(problems, [""; 0], "cut at {cut}");
        } else {
            assert_eq!(problems.len(), 1, "cut at {cut}: {problems:?}");
            let at = format!("byte {}", ends[whole]);
            assert!(problems[0].contains(&at), "cut at {cut}: {problems:?}");
        }
    }
}

#[test]
fn changed_at_every_byte_it_never_panics() {
    let all = bytes(&[
        doc! { "_id": 1, "a": { "b": ["x", 2.5, Bson::Null] }, "r": bson::Regex {
        pattern: bson::raw::cstr!("a").into(), options: bson::raw::cstr!("i").into() } },
        doc! { "_id": 2 },
    ]);
    let place = Place::new();
    for at in 0..all.len() {
        for value in [0x00, 0x01, 0x7f, 0x80, 0xff] {
            let mut changed = all.clone();
            changed[at] = value;
            place.put("t.bson", &changed);
            let _ = place.read("t.bson");
        }
    }
}

#[test]
fn a_bad_length_ends_the_file_and_says_where() {
    let place = Place::new();
    let good = bytes(&orders(3));
    for length in [-1, 0, 4, 16 * 1024 * 1024 + 16 * 1024 + 1, i32::MAX] {
        let bad = [&good[..], &i32::to_le_bytes(length), &good].concat();
        place.put("t.bson", &bad);
        let collected = place.read("t.bson");
        assert_eq!(documents(&collected, "test.t"), 3);
        let problems = problems(&collected);
        let expected = format!("t.bson: invalid document length {length} at byte {}", good.len());
        assert!(problems[0].starts_with(&expected), "{problems:?}");
    }
}

#[test]
fn a_damaged_document_is_skipped_by_its_length() {
    let place = Place::new();
    let mut bad = doc! { "_id": 7, "a": "text" }.to_vec().unwrap();
    bad[4] = 0x42;
    let at = bytes(&orders(2)).len();
    let all = [bytes(&orders(2)), bad, bytes(&orders(3))].concat();
    place.put("t.bson", all);
    let collected = place.read("t.bson");
    let problems = problems(&collected);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("unknown element type 0x42"), "{problems:?}");
    assert!(problems[0].contains(&format!("at byte {}", at + 4)), "{problems:?}");
    assert!(documents(&collected, "test.t") >= 5);
}

#[test]
fn offsets_are_those_of_the_file_also_behind_other_files() {
    let place = Place::new();
    let mut bad = doc! { "_id": 7, "a": "text" }.to_vec().unwrap();
    bad[4] = 0x42;
    let at = bytes(&orders(2)).len();
    place
        .put("a/t.bson", bytes(&orders(100)))
        .put("b/t.bson", [bytes(&orders(2)), bad.clone()].concat())
        .put("c/t.bson", bad);
    let paths = ["a", "b", "c"].map(|dir| place.at(dir).join("t.bson"));
    let collected = read(&[&paths[0], &paths[1], &paths[2]]);
    let problems: Vec<_> = collected.problems.iter().map(|p| &p.message).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains(&format!("at byte {};", at + 4)), "{problems:?}");
    assert!(problems[1].contains("at byte 4;"), "{problems:?}");
}

#[test]
fn many_problems_of_one_file_are_summed_up() {
    let place = Place::new();
    let mut bad = doc! { "_id": 7 }.to_vec().unwrap();
    bad[4] = 0x42;
    place.put("t.bson", bad.repeat(500)).put("t.json", "{oops}\n".repeat(70));
    for (file, more) in [("t.bson", 480), ("t.json", 50)] {
        let problems = problems(&place.read(file));
        assert_eq!(problems.len(), 21, "{problems:?}");
        assert!(problems[20].ends_with(&format!("and {more} more of this file, not listed")));
    }
}

#[test]
fn broken_json_is_told_by_line_and_the_rest_is_read() {
    let place = Place::new();
    place.put("t.json", "{\"a\":1}\n{\"a\":\n{\"a\":2}\n{\"a\":3}\n");
    let collected = place.read("t.json");
    assert!(documents(&collected, "test.t") >= 2);
    assert!(problems(&collected)[0].contains("byte"), "{:?}", problems(&collected));
    place.put("u.json", b"{\"a\":\"\xff\xfe\"}\n{\"a\":2}\n");
    let collected = place.read("u.json");
    assert_eq!(documents(&collected, "test.u"), 1);
    assert!(problems(&collected)[0].contains("UTF-8"));
}

#[test]
fn what_no_document_can_hold_ends_the_reading() {
    let place = Place::new();
    let long = |start: &str, filler: u8| {
        [br#"{"_id": 1}"#, start.as_bytes(), &vec![filler; 300 << 20], br#"{"_id": 2}"#].concat()
    };
    place.put("nul.json.gz", packed(&long("\n", 0)));
    place.put("blank.json.gz", packed(&long("\n", b' ')));
    place.put("text.json.gz", packed(&long("\n{\"a\": \"", b'x')));
    for file in ["nul.json.gz", "blank.json.gz", "text.json.gz"] {
        let collected = place.read(file);
        let problems = problems(&collected);
        let is_told = |problem: &String| problem.contains("because no document begins in 6");
        assert!(problems.iter().any(is_told), "{problems:?}");
        let name = file.trim_end_matches(".json.gz");
        assert_eq!(documents(&collected, &format!("test.{name}")), 1);
    }
}

#[test]
fn a_gzip_cut_short_gives_what_was_in_it() {
    let place = Place::new();
    // Incompressible, so that half of the compressed bytes is about half of the documents.
    let noise: Vec<_> = (0..3000_u64)
        .map(|n| doc! { "_id": n.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64, "n": n as i64 })
        .collect();
    let gz = packed(&bytes(&noise));
    let text = packed(as_json(&noise).as_bytes());
    place
        .put("t.bson.gz", &gz[..gz.len() / 2])
        .put("t.json.gz", &text[..text.len() / 2])
        .put("h.bson.gz", &gz[..7])
        .put("junk.bson.gz", [&gz[..], b"trailing junk"].concat())
        .put("tape.bson.gz", [&gz[..], &[0; 1024]].concat());
    for file in ["t.bson.gz", "t.json.gz"] {
        let collected = place.read(file);
        assert!(documents(&collected, "test.t") > 500);
        let problems = problems(&collected);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("gzip data ends too early, at byte"), "{problems:?}");
    }
    let collected = place.read("h.bson.gz");
    assert!(problems(&collected)[0].contains("gzip data ends too early, at byte 0"));
    let collected = place.read("tape.bson.gz");
    assert_eq!(documents(&collected, "test.tape"), 3000);
    assert_eq!(problems(&collected), [""; 0]);
    let collected = place.read("junk.bson.gz");
    assert_eq!(documents(&collected, "test.junk"), 3000);
    assert!(
        problems(&collected)[0].contains("trailing data after the gzip stream"),
        "{:?}",
        problems(&collected)
    );
}

#[test]
fn the_largest_document_and_deep_nesting() {
    let place = Place::new();
    let mut deep = doc! { "x": 1 };
    for _ in 0..120 {
        deep = doc! { "x": deep };
    }
    let large = doc! { "_id": 1, "blob": "x".repeat(16 * 1024 * 1024 - 40) };
    assert!(large.to_vec().unwrap().len() <= 16 * 1024 * 1024);
    let all = [bytes(&orders(10)), bytes(&[large, deep]), bytes(&orders(10))].concat();
    place.put("t.bson", &all).put("t.bson.gz", packed(&all));
    for file in ["t.bson", "t.bson.gz"] {
        for threads in [1, 2] {
            let collected = run(&docward_collect::Request { threads, ..place.request(file) });
            assert_eq!(problems(&collected), [""; 0]);
            assert_eq!(documents(&collected, "test.t"), 22);
            let profile = collection(&collected, "test.t").profile.as_ref().unwrap();
            assert!(profile.largest[0].bytes > 16 * 1024 * 1024 - 100);
        }
    }
}

/// The profiling threads read large files as long as the data is intact.
#[test]
fn damage_in_a_large_file_is_told_the_same_by_any_number_of_threads() {
    let place = Place::new();
    let many = bytes(&orders(20_000));
    assert!(many.len() > 2 * 1024 * 1024);
    let mut damaged = orders(20_000);
    damaged[11_111].insert("flag", true);
    let mut damaged = bytes(&damaged);
    // A type that does not exist.
    let at = damaged.windows(7).position(|window| window == b"\x08flag\0\x01").unwrap();
    damaged[at] = 0x42;
    let large = doc! { "_id": 1, "blob": "x".repeat(3 * 1024 * 1024) };
    let whole = bytes(&orders(20_100));
    let cases = [
        ("damaged", damaged.clone(), 1, 20_000),
        ("cut_off", many[..many.len() - 3].to_vec(), 1, 19_999),
        ("bad_length", [&many[..], &[3, 0, 0, 0], &many].concat(), 1, 20_000),
        ("large", [&many[..], &bytes(&[large]), &many].concat(), 0, 40_001),
        ("too_large", [&many[..], &oversized(), &many].concat(), 1, 40_000),
        ("all", [&damaged[..], &oversized(), &whole[..whole.len() - 9]].concat(), 3, 40_099),
    ];
    for (name, content, troubles, count) in cases {
        let file = format!("{name}.bson");
        place.put(&file, content);
        let alone = place.read(&file);
        assert_eq!(alone.problems.len(), troubles, "{name}: {:?}", problems(&alone));
        assert_eq!(documents(&alone, &format!("test.{name}")), count, "{name}");
        for threads in [2, 4] {
            let together = run(&docward_collect::Request { threads, ..place.request(&file) });
            assert_eq!(problems(&together), problems(&alone), "{name} with {threads} threads");
            assert!(evidence(&together) == evidence(&alone), "{name} with {threads} threads");
            assert_eq!(together.sources, alone.sources);
        }
    }
}

/// A document of 20 MiB, more than MongoDB stores.
fn oversized() -> Vec<u8> {
    let text = "x".repeat(20 * 1024 * 1024);
    doc! { "_id": 0, "blob": text }.to_vec().unwrap()
}

#[cfg(unix)]
#[test]
fn a_directory_one_may_not_enter_is_a_problem() {
    use std::{fs, os::unix::fs::PermissionsExt};
    let place = Place::new();
    place.put("data/a.json", "{}").put("data/locked/b.json", "{}");
    let locked = place.at("data/locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let is_root = fs::read_dir(&locked).is_ok();
    let collected = place.read("data");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    if is_root {
        eprintln!("skipped: permissions do not bind this user");
        return;
    }
    assert_eq!(names(&collected), ["test.a"]);
    assert!(problems(&collected)[0].contains("permission denied"));
}

#[cfg(unix)]
#[test]
fn links_in_a_circle_end() {
    let place = Place::new();
    place.put("data/sub/a.json", "{}");
    std::os::unix::fs::symlink(place.at("data"), place.at("data/sub/up")).unwrap();
    let collected = place.read("data");
    assert_eq!(names(&collected), ["sub.a"]);
    assert_eq!(problems(&collected), [""; 0]);
}

#[cfg(unix)]
#[test]
fn links_to_nothing_pipes_and_sockets_are_named() {
    let place = Place::new();
    place.put("data/a.json", "{}");
    let link = |name: &str| {
        std::os::unix::fs::symlink(place.at("nowhere"), place.at("data").join(name)).unwrap();
    };
    link("gone.json");
    link("README.md");
    let _socket = std::os::unix::net::UnixListener::bind(place.at("data").join("s.bson")).unwrap();
    let collected = place.read("data");
    assert_eq!(names(&collected), ["test.a"]);
    let problems = problems(&collected);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("gone.json: a link to "), "{problems:?}");
    assert!(problems[0].ends_with("repair or remove the link"), "{problems:?}");
    assert!(problems[1].starts_with("s.bson: a socket, not a file"), "{problems:?}");
}

#[test]
fn a_document_too_large_to_be_stored_is_passed_over() {
    let place = Place::new();
    let large = doc! { "_id": 1, "text": "x".repeat(20_000_000) };
    let all = [bytes(&orders(3)), bytes(std::slice::from_ref(&large)), bytes(&orders(2))].concat();
    place.put("large.bson", all);
    place.put("large.json", [as_json(&orders(3)), as_json(&[large]), as_json(&orders(2))].concat());
    // Numbers take six times as much space in BSON, so the document is refused long before its end.
    let numbers = format!("{{\"a\": [{}1]}}\n{{\"b\": 1}}", "1,".repeat(4_000_000));
    place.put("numbers.json", numbers.into_bytes());
    for (path, name, documents_read) in [
        ("large.bson", "test.large", 5),
        ("large.json", "test.large", 5),
        ("numbers.json", "test.numbers", 1),
    ] {
        let collected = run(&place.request(path));
        assert_eq!(documents(&collected, name), documents_read, "{path}");
        let told = problems(&collected);
        assert!(
            told.len() == 1 && told[0].contains("more than MongoDB can store"),
            "{path}: {told:?}"
        );
    }
}

#[test]
fn blanks_before_the_first_document_are_passed() {
    let place = Place::new();
    place.put("blanks.json", [b" \n".repeat(20_000), b"{\"a\": 1}".to_vec()].concat());
    let collected = run(&place.request("blanks.json"));
    assert_eq!(problems(&collected), [""; 0]);
    assert_eq!(documents(&collected, "test.blanks"), 1);
}

#[test]
fn a_single_file_of_a_dump_keeps_its_names() {
    let place = Place::new();
    place.put("dump/db_shop/t_order.bson", bytes(&orders(3)));
    place.put("other/db_shop/t_order.bson", bytes(&orders(3)));
    place.put("marked/db_shop/t_order.bson", bytes(&orders(3)));
    place.put("marked/db_shop/t_user.metadata.json", b"{}");
    for (path, name) in [
        ("dump/db_shop/t_order.bson", "db_shop.t_order"),
        ("marked/db_shop/t_order.bson", "db_shop.t_order"),
        ("other/db_shop/t_order.bson", "test.t_order"),
    ] {
        assert_eq!(documents(&run(&place.request(path)), name), 3, "{path}");
    }
}

#[test]
fn json_that_ends_too_early_is_one_problem() {
    let place = Place::new();
    let lines = as_json(&orders(3));
    let last = lines.trim_end().rfind('\n').unwrap() + 1;
    for (text, documents_read, begins) in [
        (lines[..last + 20].to_owned(), 2, last),
        (format!("[{}", lines.trim_end().replace('\n', ",\n")), 3, 0),
        (format!("[{}", lines[..last + 20].replacen('\n', ",\n", 2)), 2, last + 3),
    ] {
        place.put("t.json", &text);
        let collected = place.read("t.json");
        assert_eq!(documents(&collected, "test.t"), documents_read, "{text}");
        let problems = problems(&collected);
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        assert!(!problems[0].contains("after it"), "nothing follows: {problems:?}");
        assert!(problems[0].contains(&format!("(byte {begins}) is not closed")), "{problems:?}");
        assert!(problems[0].contains(&format!("(byte {})", text.len())), "{problems:?}");
    }
}
