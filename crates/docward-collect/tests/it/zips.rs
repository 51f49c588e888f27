//! Zips of all these formats.

use std::io::{Cursor, Write};

use docward_model::SourceKind;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::support::*;

fn zipped(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (at, (name, bytes)) in members.iter().enumerate() {
        let method =
            if at % 2 == 0 { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        zip.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_dump_in_a_zip_is_a_dump() {
    let place = Place::new();
    let facts = metadata("t_order", "{}", &[ID_INDEX]);
    let prelude = br#"{"ServerVersion":"5.0.1"}"#;
    let members = [
        ("dump/prelude.json", prelude.to_vec()),
        ("dump/shop/t_order.bson", bytes(&orders(40))),
        ("dump/shop/t_order.metadata.json", facts.clone().into_bytes()),
        ("dump/shop/t_packed.bson.gz", packed(&bytes(&orders(3)))),
        ("dump/README.md", b"# hello".to_vec()),
        ("__MACOSX/dump/shop/._t_order.bson", b"junk".to_vec()),
    ];
    place.put("shop.zip", zipped(&members));
    let collected = place.read("shop.zip");
    assert_eq!(problems(&collected), [""; 0]);
    assert_eq!(names(&collected), ["shop.t_order", "shop.t_packed"]);
    assert_eq!(documents(&collected, "shop.t_order"), 40);
    assert_eq!(documents(&collected, "shop.t_packed"), 3);
    assert!(collection(&collected, "shop.t_order").indexes.is_some());
    assert!(collected.evidence.deployment.names_are_real);
    assert_eq!(collected.evidence.deployment.server_version, Some((5, 0)));
    assert_eq!((collected.sources[0].kind, collected.sources[0].documents), (SourceKind::Zip, 43));
}

#[test]
fn directories_in_a_zip_give_databases() {
    let place = Place::new();
    let archive =
        ArchiveWriter::new(&[("db.t", "", "")]).block("db.t", &orders(2)).end("db.t", 0).done();
    place.put(
        "data.zip",
        zipped(&[
            ("album/images.json", as_json(&orders(4)).into_bytes()),
            ("top.json", as_json(&orders(1)).into_bytes()),
            ("all.archive", archive),
            ("inner.zip", zipped(&[("x.json", b"{}".to_vec())])),
        ]),
    );
    let collected = place.read("data.zip");
    assert_eq!(names(&collected), ["album.images", "db.t", "test.top"]);
    let guessed = collected.evidence.collections.iter().map(|c| c.has_guessed_name);
    assert_eq!(guessed.collect::<Vec<_>>(), [true, false, true]);
    let problems = problems(&collected);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("data.zip!inner.zip: Docward does not read a zip in a zip"));
}

#[test]
fn a_zip_lies_in_a_directory_too() {
    let place = Place::new();
    place
        .put("data/a.zip", zipped(&[("shop/x.json", as_json(&orders(4)).into_bytes())]))
        .put("data/b.json", "{}");
    let collected = place.read("data");
    assert_eq!(problems(&collected), [""; 0]);
    assert_eq!(names(&collected), ["shop.x", "test.b"]);
}

#[test]
fn broken_members_are_problems_and_the_others_are_read() {
    let place = Place::new();
    let good = zipped(&[
        ("a.json", as_json(&orders(200)).into_bytes()),
        ("b.json", as_json(&orders(5)).into_bytes()),
    ]);
    // Damage inside the packed bytes of the first member.
    let mut broken = good.clone();
    for byte in &mut broken[200..260] {
        *byte ^= 0x55;
    }
    place.put("broken.zip", &broken);
    let collected = place.read("broken.zip");
    assert_eq!(documents(&collected, "test.b"), 5);
    let problems = problems(&collected);
    assert!(problems.iter().any(|p| p.starts_with("broken.zip!a.json: ")), "{problems:?}");
    assert!(problems.iter().all(|p| !p.contains("b.json")), "{problems:?}");
    // Without the central directory it is no longer a zip.
    place.put("cut.zip", &good[..good.len() - 30]);
    let collected = place.read("cut.zip");
    assert!(crate::support::problems(&collected)[0].contains("the zip cannot be read"));
    assert_eq!(collected.sources[0].kind, SourceKind::Unknown);
}

#[test]
fn encrypted_members_are_told() {
    let place = Place::new();
    let mut zip =
        zipped(&[("a.json", as_json(&orders(5)).into_bytes()), ("b.json", b"{}".to_vec())]);
    // The "encrypted" flag, in both headers of the first member.
    zip[6] |= 1;
    let central = zip.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    zip[central + 8] |= 1;
    place.put("secret.zip", zip);
    let collected = place.read("secret.zip");
    assert_eq!(documents(&collected, "test.b"), 1);
    let problems = problems(&collected);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("secret.zip!a.json: the member is encrypted"));
}

#[test]
fn cut_or_changed_anywhere_it_never_panics() {
    let place = Place::new();
    let zip =
        zipped(&[("a.json", as_json(&orders(3)).into_bytes()), ("b.bson", bytes(&orders(2)))]);
    for at in (0..zip.len()).step_by(3) {
        place.put("cut.zip", &zip[..at]);
        assert!(!place.read("cut.zip").problems.is_empty(), "cut at {at}");
        let mut changed = zip.clone();
        changed[at] ^= 0xff;
        place.put("changed.zip", &changed);
        let _ = place.read("changed.zip");
    }
}
