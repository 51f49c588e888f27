//! Files outside of a dump's layout.

use bson::doc;
use docward_collect::Request;
use docward_model::{Namespace, SourceKind};

use crate::support::*;

#[test]
fn a_named_file_is_called_after_itself() {
    let place = Place::new();
    place.put("orders.json", as_json(&orders(4))).put("users.bson", bytes(&orders(2)));
    for (file, name, kind, count) in [
        ("orders.json", "test.orders", SourceKind::Json, 4),
        ("users.bson", "test.users", SourceKind::Bson, 2),
    ] {
        let collected = place.read(file);
        assert_eq!(problems(&collected), [""; 0]);
        assert_eq!(documents(&collected, name), count);
        assert!(!collected.evidence.deployment.names_are_real);
        assert!(collection(&collected, name).options.is_none());
        assert_eq!((collected.sources[0].kind, collected.sources[0].documents), (kind, count));
    }
}

#[test]
fn a_named_file_of_a_dump_brings_its_metadata() {
    let place = Place::new();
    place
        .put("dump/shop/t_order.bson", bytes(&orders(4)))
        .put("dump/shop/t_order.metadata.json", metadata("t_order", "{}", &[ID_INDEX]));
    let collected = place.read("dump/shop/t_order.bson");
    assert_eq!(names(&collected), ["shop.t_order"]);
    assert!(collected.evidence.deployment.names_are_real);
    assert!(collection(&collected, "shop.t_order").indexes.is_some());
    assert_eq!(collected.sources[0].kind, SourceKind::Bson);
    let collected = place.read("dump/shop/t_order.metadata.json");
    assert_eq!(names(&collected), ["shop.t_order"]);
    assert_eq!(collected.sources[0].kind, SourceKind::Dump);
}

#[test]
fn a_name_can_be_given() {
    let place = Place::new();
    place.put("x/orders.json", as_json(&orders(4))).put("x/users.bson", bytes(&orders(2)));
    let namespace = Some(Namespace::new("db_shop", "t_order"));
    let named = |path| run(&Request { namespace: namespace.clone(), ..place.request(path) });
    let collected = named("x/orders.json");
    assert_eq!(names(&collected), ["db_shop.t_order"]);
    assert!(collected.evidence.deployment.names_are_real);
    let collected = named("x");
    assert_eq!(names(&collected), ["test.orders", "test.users"]);
    assert!(problems(&collected)[0].contains("--as has no effect"));
}

#[test]
fn a_directory_of_loose_files() {
    let place = Place::new();
    place
        .put("data/orders.json", as_json(&orders(4)))
        .put("data/shop/users.jsonl", as_json(&orders(2)))
        .put("data/shop/notes.txt", "nothing")
        .put("data/.git/objects/x.json", "{}")
        .put("data/package.json", "{}")
        .put("data/export", as_json(&orders(1)))
        .put("data/picture", b"\x89PNG\r\n");
    let collected = place.read("data");
    assert_eq!(problems(&collected), [""; 0]);
    assert_eq!(names(&collected), ["shop.users", "test.export", "test.orders"]);
    assert!(!collected.evidence.deployment.names_are_real);
    assert_eq!(collected.sources[0].kind, SourceKind::Json);
}

#[test]
fn loose_names_beside_real_ones_are_guessed() {
    let place = Place::new();
    place
        .put("dump/shop/a.bson", bytes(&orders(1)))
        .put("dump/shop/a.metadata.json", metadata("a", "{}", &[]))
        .put("b.json", "{}");
    let collected = read(&[&place.at("dump"), &place.at("b.json")]);
    assert_eq!(names(&collected), ["shop.a", "test.b"]);
    assert!(collected.evidence.deployment.names_are_real);
    assert!(!collection(&collected, "shop.a").has_guessed_name);
    assert!(collection(&collected, "test.b").has_guessed_name);
    assert_eq!(collected.sources.len(), 2);
}

#[test]
fn two_dumps_of_a_collection_are_noted() {
    let place = Place::new();
    for day in ["monday", "tuesday"] {
        place
            .put(&format!("{day}/shop/a.bson"), bytes(&orders(4)))
            .put(&format!("{day}/shop/a.metadata.json"), metadata("a", "{}", &[]));
    }
    assert!(place.read("monday").evidence.notes.is_empty());
    let collected = read(&[&place.at("monday"), &place.at("tuesday")]);
    assert_eq!(documents(&collected, "shop.a"), 8);
    let note = &collected.evidence.notes[0];
    assert!(note.starts_with("shop.a was read from ") && note.contains("tuesday"), "{note}");
    assert!(note.ends_with(" as one collection: documents in both count twice"), "{note}");
}

#[test]
fn an_empty_metadata_file_is_noted() {
    let place = Place::new();
    place.put("dump/shop/a.bson", bytes(&orders(4))).put("dump/shop/a.metadata.json", "");
    let collected = place.read("dump");
    assert_eq!(problems(&collected), [""; 0]);
    let note = &collected.evidence.notes[0];
    assert!(note.ends_with("is empty: options and indexes of shop.a are unknown"), "{note}");
}

#[test]
fn one_collection_out_of_several_files() {
    let place = Place::new();
    let all = orders(40);
    place
        .put("a/orders.bson", bytes(&all[..10]))
        .put("b/orders.json", as_json(&all[10..25]))
        .put("c/orders.jsonl.gz", packed(as_json(&all[25..]).as_bytes()))
        .put("whole/orders.bson", bytes(&all));
    let parts = read(&[
        &place.at("a/orders.bson"),
        &place.at("b/orders.json"),
        &place.at("c/orders.jsonl.gz"),
    ]);
    let whole = place.read("whole/orders.bson");
    let profile =
        |c: &docward_collect::Collected| collection(c, "test.orders").profile.clone().unwrap();
    assert_eq!(profile(&parts).documents, 40);
    assert_eq!(profile(&parts).sizes, profile(&whole).sizes);
    let fields = |c| profile(c).fields.into_iter().map(|f| (f.path, f.count)).collect::<Vec<_>>();
    assert_eq!(fields(&parts), fields(&whole));
    let read: Vec<_> = parts.sources.iter().map(|source| source.documents).collect();
    assert_eq!(read, [10, 15, 15]);
    // The same file named twice is not read twice.
    let twice = read_twice(&place);
    assert_eq!(documents(&twice, "test.orders"), 40);
}

fn read_twice(place: &Place) -> docward_collect::Collected {
    read(&[&place.at("whole/orders.bson"), &place.at("whole/../whole/orders.bson")])
}

#[test]
fn every_notation_gives_the_same_documents() {
    let documents = [doc! { "_id": 1, "a": "x" }, doc! { "_id": 2, "a": "y" }];
    let place = Place::new();
    place
        .put("bson/t.bson", bytes(&documents))
        .put("lines/t.json", "{\"_id\":1,\"a\":\"x\"}\n{\"_id\":2,\"a\":\"y\"}\n")
        .put("crlf/t.json", "\u{feff}{\"_id\":1,\"a\":\"x\"}\r\n{\"_id\":2,\"a\":\"y\"}\r\n")
        .put("array/t.json", "[ {\"_id\":1,\"a\":\"x\"},\n {\"_id\":2,\"a\":\"y\"} ]")
        .put("shell/t.json", "{ _id: NumberInt(1), a: 'x' }\n{ _id: 2, a: 'y', }")
        .put("wrong/t.bson", "{\"_id\":1,\"a\":\"x\"} {\"_id\":2,\"a\":\"y\"}")
        .put("wrong2/t.json", bytes(&documents))
        .put("wrong3/t.json", packed(&bytes(&documents)))
        .put("noext/t", packed(&packed(&bytes(&documents))));
    let expected = evidence(&place.read("bson/t.bson"));
    for file in [
        "lines/t.json",
        "crlf/t.json",
        "array/t.json",
        "shell/t.json",
        "wrong/t.bson",
        "wrong2/t.json",
        "wrong3/t.json",
        "noext/t",
    ] {
        let collected = place.read(file);
        assert_eq!(problems(&collected), [""; 0], "{file}");
        assert_eq!(evidence(&collected), expected, "{file}");
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    let place = Place::new();
    place
        .put("t.csv", "a,b\n1,2\n")
        .put("t.xyz", "whatever")
        .put("README.md", "# hello")
        .put("t.tar", [&[b'x'; 257][..], b"ustar\0", &[0; 300]].concat())
        .put("utf16.json", b"\xff\xfe{\0}\0")
        .put("empty.json", "")
        .put("blank.bson", "")
        .put("void/.keep", "");
    for (path, message) in [
        ("t.csv", "convert with mongoimport"),
        ("t.xyz", "not recognised"),
        ("README.md", "not recognised"),
        ("t.tar", "tar is not supported; unpack"),
        ("utf16.json", "convert it to UTF-8"),
        ("empty.json", "is empty"),
        ("blank.bson", "is empty"),
        ("void", "it contains no data that Docward can read"),
        ("missing", "no such file"),
    ] {
        let collected = place.read(path);
        let problems = problems(&collected);
        assert_eq!(problems.len(), 1, "{path}: {problems:?}");
        assert!(problems[0].contains(message), "{path}: {problems:?}");
        assert_eq!(collected.sources[0].kind, SourceKind::Unknown, "{path}");
    }
    // In a directory, only a file that might have been meant as data is a problem.
    let collected = place.read(".");
    let mut files: Vec<_> = collected
        .problems
        .iter()
        .map(|p| p.source.rsplit('/').next().unwrap().to_owned())
        .collect();
    files.sort();
    assert_eq!(files, ["blank.bson", "empty.json", "t.csv", "utf16.json"]);
}

#[test]
fn connection_strings_are_not_repeated() {
    for (uri, expect) in [
        ("mongodb://user:secret@127.0.0.1:1/db?serverSelectionTimeoutMS=200", "no server answered"),
        ("mongodb://user:secret@host:notaport/db", "the connection string is invalid"),
        ("mongodb://user:sec:ret@sec/ret@host/db", "the connection string is invalid"),
        ("mongodb://user:secret@host/?tls=maybe", "the connection string is invalid"),
    ] {
        let request = Request { sources: vec![uri.to_owned()], ..Request::default() };
        let collected = run(&request);
        assert!(!format!("{collected:?}").contains("sec"), "{collected:?}");
        assert!(problems(&collected)[0].contains(expect), "{:?}", collected.problems);
    }
}

#[test]
fn several_csv_files_are_one_problem() {
    let place = Place::new();
    place.put("data/orders.json", as_json(&orders(4)));
    for name in ["a", "b", "c", "d"] {
        place.put(&format!("data/sheets/{name}.csv"), "x,y\n1,2\n");
    }
    place.put("data/e.tsv", "x\ty\n");
    let collected = place.read("data");
    assert_eq!(documents(&collected, "test.orders"), 4);
    let problems = problems(&collected);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("data: 5 files are CSV or TSV"), "{problems:?}");
    assert!(problems[0].contains("(`e.tsv`, `a.csv`, `b.csv` and 2 more)"), "{problems:?}");
}
