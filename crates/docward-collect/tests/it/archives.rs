//! `mongodump --archive`.

use bson::doc;
use docward_collect::Request;
use docward_model::{CollectionKind, Namespace, SourceKind};

use crate::support::*;

fn interleaved(wrong: u64) -> Vec<u8> {
    let (a, b) = (orders(300), orders(50));
    let facts = metadata("t_a", "{}", &[ID_INDEX]);
    let view = r#"{"options":{"viewOn":"t_a","pipeline":[]},"indexes":[],"type":"view"}"#;
    ArchiveWriter::new(&[
        ("shop.t_a", &facts, "collection"),
        ("shop.t_b", "", ""),
        ("shop.v_a", view, "view"),
        ("admin.system.version", "", ""),
        (".oplog", "", ""),
    ])
    .block("shop.t_a", &a[..100])
    .block("shop.t_b", &b[..20])
    .block("shop.t_a", &a[100..250])
    .block(".oplog", &orders(3))
    .end(".oplog", 0)
    .block("admin.system.version", &[doc! { "_id": "featureCompatibilityVersion" }])
    .end("admin.system.version", 0)
    .block("shop.t_b", &b[20..])
    .end("shop.t_b", wrong)
    .block("shop.t_a", &a[250..])
    .end("shop.t_a", 0)
    .done()
}

#[test]
fn collections_side_by_side_are_put_together() {
    let place = Place::new();
    let archive = interleaved(0);
    place
        .put("shop.archive", &archive)
        .put("shop.archive.gz", packed(&archive))
        .put("backup", packed(&archive))
        .put("dump/shop/t_a.bson", bytes(&orders(300)))
        .put("dump/shop/t_a.metadata.json", metadata("t_a", "{}", &[ID_INDEX]));
    let dump = place.read("dump");
    for file in ["shop.archive", "shop.archive.gz", "backup"] {
        let collected = place.read(file);
        assert_eq!(problems(&collected), [""; 0]);
        let expected = ["admin.system.version", "shop.t_a", "shop.t_b", "shop.v_a"];
        assert_eq!(names(&collected), expected);
        assert_eq!(documents(&collected, "shop.t_b"), 50);
        assert_eq!(collection(&collected, "shop.v_a").kind, CollectionKind::View);
        assert_eq!(collection(&collected, "admin.system.version").kind, CollectionKind::System);
        assert_eq!(collected.evidence.deployment.server_version, Some((6, 0)));
        assert!(collected.evidence.deployment.names_are_real);
        assert_eq!(collected.sources[0].kind, SourceKind::Archive);
        assert_eq!(collected.sources[0].documents, 350);
        let profile = |c| collection(c, "shop.t_a").profile.clone().unwrap();
        let (ours, theirs) = (profile(&collected), profile(&dump));
        assert_eq!((ours.documents, &ours.sizes), (300, &theirs.sizes));
        let fields = |p: docward_model::Profile| {
            p.fields.into_iter().map(|f| (f.path, f.count, f.types)).collect::<Vec<_>>()
        };
        assert_eq!(fields(ours), fields(theirs));
    }
}

#[test]
fn a_wrong_checksum_is_a_problem_of_that_collection() {
    let place = Place::new();
    place.put("shop.archive", interleaved(1));
    let collected = place.read("shop.archive");
    let problems = problems(&collected);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("shop.archive!shop.t_b: checksum"), "{problems:?}");
    assert!(problems[0].contains("at byte"));
    assert_eq!(documents(&collected, "shop.t_b"), 50);
}

#[test]
fn an_end_that_is_missing_is_told() {
    let place = Place::new();
    let archive =
        ArchiveWriter::new(&[("a.x", "", ""), ("a.y", "", "")]).block("a.x", &orders(3)).done();
    place.put("cut.archive", &archive);
    let collected = place.read("cut.archive");
    let problems = problems(&collected);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("cut.archive!a.x: the archive ends before"));
    assert!(problems[1].starts_with("cut.archive!a.y: the archive ends before"));
    assert_eq!(documents(&collected, "a.x"), 3);
}

#[test]
fn cut_at_every_byte_what_was_whole_is_read() {
    let facts = metadata("x", "{}", &[ID_INDEX]);
    let archive =
        ArchiveWriter::new(&[("a.x", &facts, "")]).block("a.x", &orders(3)).end("a.x", 0).done();
    let place = Place::new();
    for cut in 1..archive.len() {
        place.put("cut.archive", &archive[..cut]);
        let collected = place.read("cut.archive");
        let problems = problems(&collected);
        assert!(!problems.is_empty(), "cut at {cut}");
        assert!(
            problems.iter().all(|p| p.contains("at byte") || p.contains("ends before")),
            "cut at {cut}: {problems:?}"
        );
    }
    place.put("whole.archive", &archive);
    assert_eq!(place.read("whole.archive").problems, []);
}

#[test]
fn documents_after_the_end_are_refused() {
    let place = Place::new();
    let archive = ArchiveWriter::new(&[("a.x", "", "")])
        .block("a.x", &orders(3))
        .end("a.x", 0)
        .block("a.x", &orders(2))
        .done();
    place.put("odd.archive", archive);
    let collected = place.read("odd.archive");
    assert_eq!(documents(&collected, "a.x"), 3);
    assert!(problems(&collected)[0].contains("after its end"));
}

#[test]
fn only_the_prelude_when_only_facts_are_wanted() {
    let place = Place::new();
    place.put("shop.archive", interleaved(1));
    let collected = run(&Request { metadata_only: true, ..place.request("shop.archive") });
    assert_eq!(problems(&collected), [""; 0], "the checksum is not looked at");
    assert_eq!(collection(&collected, "shop.t_a").indexes.as_ref().unwrap().len(), 1);
    assert!(collected.evidence.collections.iter().all(|c| c.profile.is_none()));
}

#[test]
fn a_sample_counts_the_rest() {
    let place = Place::new();
    place.put("shop.archive", interleaved(0));
    let collected = run(&Request { sample: Some(120), ..place.request("shop.archive") });
    assert_eq!(problems(&collected), [""; 0]);
    let profile = collection(&collected, "shop.t_a").profile.as_ref().unwrap();
    assert_eq!((profile.documents, profile.total), (120, 300));
    let profile = collection(&collected, "shop.t_b").profile.as_ref().unwrap();
    assert_eq!((profile.documents, profile.total), (50, 50));
    assert!(collected.sources[0].sampled);
}

#[test]
fn an_archive_names_its_collections_itself() {
    let place = Place::new();
    place.put("shop.archive", interleaved(0));
    let namespace = Some(Namespace::new("x", "y"));
    let collected = run(&Request { namespace, ..place.request("shop.archive") });
    assert_eq!(names(&collected).len(), 4);
    assert!(problems(&collected)[0].contains("--as has no effect"));
}

#[test]
fn an_archive_and_a_dump_of_one_collection_merge() {
    let place = Place::new();
    place.put("shop.archive", interleaved(0)).put("dump/shop/t_a.bson", bytes(&orders(7)));
    for paths in [["shop.archive", "dump"], ["dump", "shop.archive"]] {
        let paths = paths.map(|path| place.at(path));
        let collected = read(&[&paths[0], &paths[1]]);
        assert_eq!(problems(&collected), [""; 0]);
        assert_eq!(documents(&collected, "shop.t_a"), 307);
    }
}
