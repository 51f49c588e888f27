//! Directories written by `mongodump`, of all versions.

use bson::{Document, doc};
use docward_model::{CollectionKind, Filter, NamespacePattern, SourceKind};

use crate::support::*;

fn user() -> Document {
    doc! { "_id": 1, "email": "a@b.c" }
}

fn shop() -> Place {
    let place = Place::new();
    let email = r#"{"v":2,"key":{"email":1},"name":"email_1","unique":true}"#;
    place
        .put("dump/prelude.json", r#"{"ServerVersion":"7.0.5","ToolVersion":"100.9.4"}"#)
        .put("dump/db_shop/t_order.bson", bytes(&orders(30)))
        .put("dump/db_shop/t_order.metadata.json", metadata("t_order", "{}", &[ID_INDEX]))
        .put("dump/db_shop/t_user.bson", bytes(&[user()]))
        .put("dump/db_shop/t_user.metadata.json", metadata("t_user", "{}", &[ID_INDEX, email]))
        .put("dump/db_shop/t_empty.bson", "")
        .put("dump/db_shop/t_empty.metadata.json", metadata("t_empty", "{}", &[ID_INDEX]))
        .put("dump/db_shop/README.md", "# not data");
    place
}

#[test]
fn is_read_the_same_at_every_level() {
    let place = shop();
    let mut seen = Vec::new();
    for level in [".", "dump", "dump/db_shop"] {
        let collected = place.read(level);
        assert_eq!(problems(&collected), [""; 0], "{level}");
        let expected = ["db_shop.t_empty", "db_shop.t_order", "db_shop.t_user"];
        assert_eq!(names(&collected), expected, "{level}");
        assert_eq!(documents(&collected, "db_shop.t_order"), 30);
        assert_eq!(documents(&collected, "db_shop.t_empty"), 0);
        assert!(collection(&collected, "db_shop.t_empty").options.is_some());
        assert!(collected.evidence.deployment.names_are_real);
        assert_eq!(collected.evidence.databases, ["db_shop"]);
        let indexes = collection(&collected, "db_shop.t_user").indexes.as_ref().unwrap();
        assert!(indexes[1].unique && indexes[0].is_id());
        let source = &collected.sources[0];
        assert_eq!((source.kind, source.documents, source.sampled), (SourceKind::Dump, 31, false));
        assert_eq!(source.bytes as usize, bytes(&orders(30)).len() + bytes(&[user()]).len());
        seen.push(collected.evidence.deployment.server_version);
    }
    // The prelude is next to the database, so a run on the deepest level does not find it.
    assert_eq!(seen, [Some((7, 0)), Some((7, 0)), None]);
}

#[test]
fn packed_files_give_the_same_evidence() {
    let (plain, gz) = (Place::new(), Place::new());
    let facts = metadata("t_order", "{}", &[ID_INDEX]);
    plain.put("db/t_order.bson", bytes(&orders(500))).put("db/t_order.metadata.json", &facts);
    gz.put("db/t_order.bson.gz", packed(&bytes(&orders(500))))
        .put("db/t_order.metadata.json.gz", packed(facts.as_bytes()));
    let (plain, gz) = (plain.read("."), gz.read("."));
    assert_eq!(problems(&gz), [""; 0]);
    assert_eq!(evidence(&plain), evidence(&gz));
}

#[test]
fn names_are_unescaped_and_long_ones_completed() {
    let place = Place::new();
    let cut = format!("{}%24{}", "x".repeat(208), "h".repeat(27));
    let whole = "x".repeat(240);
    place
        .put("db/a%2Fb.bson", bytes(&orders(1)))
        .put("db/a%2Fb.metadata.json", metadata("a/b", "{}", &[]))
        .put(&format!("db/{cut}.bson"), bytes(&orders(2)))
        .put(&format!("db/{cut}.metadata.json"), metadata(&whole, "{}", &[]));
    let collected = place.read(".");
    assert_eq!(names(&collected), ["db.a/b".to_owned(), format!("db.{whole}")]);
    assert_eq!(documents(&collected, &format!("db.{whole}")), 2);
}

#[test]
fn kinds_come_from_metadata_and_names() {
    let place = Place::new();
    let series = r#"{"timeseries":{"timeField":"at","metaField":"m"}}"#;
    let bucket = doc! { "_id": 1, "control": { "version": 1 }, "meta": "x", "data": {} };
    place
        .put("db/t_log.metadata.json", metadata("t_log", r#"{"capped":true,"size":4096}"#, &[]))
        .put("db/v_a.metadata.json", r#"{"options":{"viewOn":"t_a","pipeline":[]},"indexes":[]}"#)
        .put("db/t_metric.metadata.json", metadata("t_metric", series, &[]))
        .put("db/system.buckets.t_metric.bson", bytes(&[bucket]))
        .put("db/system.profile.bson", bytes(&orders(3)))
        .put("db/system.orders.bson", bytes(&orders(3)))
        .put("db/fs.files.bson", "")
        .put("db/fs.chunks.bson", "");
    let collected = place.read(".");
    let kind = |name: &str| collection(&collected, name).kind;
    assert_eq!(kind("db.t_log"), CollectionKind::Capped);
    assert_eq!(kind("db.v_a"), CollectionKind::View);
    assert_eq!(kind("db.t_metric"), CollectionKind::TimeSeries);
    assert_eq!(kind("db.system.buckets.t_metric"), CollectionKind::System);
    assert_eq!(kind("db.system.profile"), CollectionKind::System);
    assert_eq!(kind("db.system.orders"), CollectionKind::Plain);
    assert_eq!(kind("db.fs.files"), CollectionKind::GridFsFiles);
    assert_eq!(kind("db.fs.chunks"), CollectionKind::GridFsChunks);
    // Buckets contain user data and are read; system collections are not.
    assert_eq!(documents(&collected, "db.system.buckets.t_metric"), 1);
    assert_eq!(documents(&collected, "db.system.profile"), 0);
    assert_eq!(documents(&collected, "db.system.orders"), 3);
    let options = collection(&collected, "db.t_metric").options.as_ref().unwrap();
    assert_eq!(options.time_series.as_ref().unwrap().time_field, "at");
}

#[test]
fn old_servers_keep_indexes_in_a_collection() {
    let place = Place::new();
    let index = |ns: &str, key| doc! { "v": 1, "key": key, "ns": ns, "name": "n" };
    place
        .put("dump/shop/users.bson", bytes(&orders(2)))
        .put(
            "dump/shop/system.indexes.bson",
            bytes(&[
                index("shop.users", doc! { "_id": 1 }),
                index("shop.users", doc! { "email": 1.0 }),
                index("shop.gone", doc! { "_id": 1 }),
            ]),
        )
        .put("dump/oplog.bson", bytes(&orders(5)));
    let collected = place.read("dump");
    assert_eq!(names(&collected), ["shop.users"]);
    let indexes = collection(&collected, "shop.users").indexes.as_ref().unwrap();
    assert_eq!(indexes.len(), 2);
    assert!(collected.evidence.deployment.names_are_real);
    assert_eq!(collected.sources[0].documents, 2, "the oplog does not count");
}

#[test]
fn filters_choose_databases_and_collections() {
    let place = Place::new();
    for name in ["a/t_x", "a/t_y", "b/t_x"] {
        let collection = name.rsplit('/').next().unwrap();
        place
            .put(&format!("dump/{name}.bson"), bytes(&orders(1)))
            .put(&format!("dump/{name}.metadata.json"), metadata(collection, "{}", &[]));
    }
    let check = |database: Option<&str>, collection: Option<&str>, expected: &[&str]| {
        let glob = |text: Option<&str>| text.map(|text| NamespacePattern::new(text).unwrap());
        let request = docward_collect::Request {
            filter: Filter { database: glob(database), collection: glob(collection) },
            ..place.request("dump")
        };
        assert_eq!(names(&run(&request)), expected);
    };
    check(Some("a"), None, &["a.t_x", "a.t_y"]);
    check(None, Some("*_x"), &["a.t_x", "b.t_x"]);
    check(Some("b"), Some("t_y"), &[]);
    check(None, Some("b.*"), &["b.t_x"]);
}

#[test]
fn metadata_only_reads_no_documents() {
    let place = shop();
    let request = docward_collect::Request { metadata_only: true, ..place.request("dump") };
    let collected = run(&request);
    assert_eq!(names(&collected).len(), 3);
    assert!(collected.evidence.collections.iter().all(|c| c.profile.is_none()));
    assert!(collected.evidence.collections.iter().all(|c| c.indexes.is_some()));
    assert_eq!(collected.sources[0].documents, 0);
}

#[test]
fn broken_metadata_is_a_problem_and_documents_are_read() {
    let place = Place::new();
    place.put("db/t.bson", bytes(&orders(3))).put("db/t.metadata.json", r#"{"indexes":[{"key":"#);
    let collected = place.read(".");
    assert_eq!(documents(&collected, "db.t"), 3);
    assert!(collection(&collected, "db.t").indexes.is_none());
    let problems = problems(&collected);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].starts_with("t.metadata.json: the metadata is not valid JSON"));
    assert!(problems[0].contains("db.t"), "{problems:?}");
}

#[test]
fn metadata_of_a_wrong_shape_is_told_and_the_rest_is_read() {
    for (metadata, expect, options, indexes) in [
        (r#"{"options":{},"indexes":{"a":1}}"#, "`indexes` is an object, not an array", true, None),
        (
            r#"{"options":"capped","indexes":[]}"#,
            "`options` is a string, not an object",
            false,
            Some(0),
        ),
        (
            r#"{"options":{},"indexes":[{"name":"x"},{"key":{"a":1},"name":"a_1"},{"key":1}]}"#,
            "`indexes[0]` has no `key`",
            true,
            Some(1),
        ),
        (r#"{"options":{},"indexes":["a"]}"#, "`indexes[0]` has no `key`", true, Some(0)),
        (r#"[{"options":{},"indexes":[]}]"#, "the metadata is not valid JSON", false, None),
        ("[]", "the metadata is not valid JSON", false, None),
        ("7", "the metadata is not valid JSON", false, None),
    ] {
        let place = Place::new();
        place
            .put("dump/shop/t.bson", bytes(&orders(3)))
            .put("dump/shop/t.metadata.json", metadata)
            .put("dump/shop/u.bson", bytes(&orders(2)));
        let collected = place.read("dump");
        let problems = problems(&collected);
        assert!(problems[0].starts_with("t.metadata.json: "), "{metadata}: {problems:?}");
        assert!(problems[0].contains(expect), "{metadata}: {problems:?}");
        let t = collection(&collected, "shop.t");
        assert_eq!(t.options.is_some(), options, "{metadata}");
        assert_eq!(t.indexes.as_ref().map(Vec::len), indexes, "{metadata}");
        assert_eq!(documents(&collected, "shop.t"), 3, "{metadata}");
        assert_eq!(documents(&collected, "shop.u"), 2, "{metadata}");
    }
}

#[test]
fn a_collection_that_is_there_twice_is_read_once() {
    let place = Place::new();
    let plain = bytes(&orders(5));
    let index = metadata("t", "{}", &[ID_INDEX]);
    place
        .put("dump/shop/t.bson.gz", packed(&plain))
        .put("dump/shop/t.json", as_json(&orders(5)))
        .put("dump/shop/t.bson", &plain)
        .put("dump/shop/t.metadata.json", &index)
        .put("dump/shop/t.metadata.json.gz", packed(index.as_bytes()))
        .put("dump/shop/u.json", as_json(&orders(2)))
        .put("dump/crm/t.bson", &plain);
    let collected = place.read("dump");
    assert_eq!(documents(&collected, "shop.t"), 5);
    assert_eq!(documents(&collected, "shop.u"), 2);
    assert_eq!(documents(&collected, "crm.t"), 5, "another database");
    assert!(collection(&collected, "shop.t").indexes.is_some());
    let mut told = problems(&collected);
    told.sort();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(
        told[0].starts_with(
            "t.bson.gz: Docward did not read this file, because t.bson in the same directory"
        ),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("t.json: Docward did not read this file, because t.bson"),
        "{told:?}"
    );
    assert!(
        told[2].starts_with(
            "t.metadata.json.gz: Docward did not read this file, because t.metadata.json"
        ),
        "{told:?}"
    );
}
