//! Threads, samples, interruption, progress.

use std::sync::atomic::Ordering;

use bson::doc;
use docward_collect::{Request, collect};

use crate::support::*;

/// About 20 MiB in one collection, and many small ones.
fn large() -> Place {
    let place = Place::new();
    let many: Vec<_> = (0..60_000)
        .map(|n: i32| {
            let filler = "lorem ipsum ".repeat((n % 40) as usize);
            let mut order = doc! { "_id": n, "text": filler, "n": n % 100 };
            if n % 1000 == 0 {
                order.insert(format!("rare_{}", n / 10_000), n);
            }
            order
        })
        .collect();
    place.put("dump/shop/t_large.bson", bytes(&many));
    for n in 0..40 {
        place.put(&format!("dump/shop/t_small_{n}.bson"), bytes(&orders(n)));
    }
    place.put("large.json", as_json(&many[..20_000]));
    place
}

#[test]
fn any_number_of_threads_gives_the_same_evidence() {
    let place = large();
    for path in ["dump", "large.json"] {
        let expected = run(&Request { threads: 1, ..place.request(path) });
        assert_eq!(problems(&expected), [""; 0]);
        for threads in [2, 3, 8] {
            let collected = run(&Request { threads, ..place.request(path) });
            assert!(evidence(&collected) == evidence(&expected), "{path} with {threads} threads");
            assert_eq!(collected.sources, expected.sources);
        }
    }
    let dump = run(&Request { threads: 2, ..place.request("dump") });
    assert_eq!(documents(&dump, "shop.t_large"), 60_000);
    assert_eq!(documents(&dump, "shop.t_small_39"), 39);
    assert_eq!(dump.sources[0].documents, 60_000 + (0..40).sum::<u64>());
}

#[test]
fn neighbours_are_compared_across_blocks_whatever_the_format() {
    let place = Place::new();
    let many: Vec<_> = (0..20_000)
        .map(|n: i32| doc! { "_id": if n % 7 == 0 { n - 100 } else { n }, "text": "lorem ".repeat(40) })
        .collect();
    place.put("many.bson", bytes(&many));
    place.put("many.json", as_json(&many));
    for (path, threads) in [("many.bson", 1), ("many.bson", 3), ("many.json", 1), ("many.json", 2)]
    {
        let collected = run(&Request { threads, ..place.request(path) });
        let profile = collection(&collected, "test.many").profile.as_ref().unwrap();
        let order = profile.id_order;
        assert_eq!(
            (order.pairs, order.rising),
            (19_999, 19_999 - 2857),
            "{path}, {threads} threads"
        );
    }
}

#[test]
fn a_sample_is_stated() {
    let place = large();
    for (path, name, total) in
        [("dump", "shop.t_large", 60_000), ("large.json", "test.large", 20_000)]
    {
        let collected = run(&Request { sample: Some(100), ..place.request(path) });
        let profile = collection(&collected, name).profile.as_ref().unwrap();
        assert_eq!((profile.documents, profile.total), (100, total));
        assert!(collected.sources[0].sampled);
    }
    let all = run(&Request { sample: Some(60_000), ..place.request("dump") });
    assert!(!all.sources[0].sampled);
    let none = run(&Request { sample: Some(0), ..place.request("dump") });
    assert!(none.evidence.collections.iter().all(|c| c.profile.is_none()));
    assert!(none.sources[0].sampled);
}

#[test]
fn when_stopped_what_was_read_is_reported() {
    let place = large();
    for threads in [1, 2] {
        let listener = Listener { stop_after: Some(1), ..Listener::default() };
        let request = Request { threads, ..place.request("dump") };
        let collected = collect(&request, &listener, &listener.stop);
        assert!(collected.interrupted);
        assert_eq!(problems(&collected), [""; 0]);
        let profile = collection(&collected, "shop.t_large").profile.as_ref().unwrap();
        assert!(profile.documents > 100 && profile.documents < 60_000);
        let off = profile.total.abs_diff(60_000);
        assert!(off < 12_000, "the total is estimated: {}", profile.total);
        assert!(collected.sources[0].sampled);
    }
}

#[test]
fn progress_reaches_the_total() {
    let place = large();
    place
        .put("dump/shop/system.profile.bson", bytes(&orders(10)))
        .put("dump/shop/t_packed.bson.gz", packed(&bytes(&orders(1000))));
    for path in ["dump", "large.json", "."] {
        let listener = Listener::default();
        let collected = collect(&place.request(path), &listener, &listener.stop);
        assert!(!collected.interrupted);
        let total = listener.total.load(Ordering::Relaxed);
        assert!(total > 0);
        assert_eq!(listener.bytes.load(Ordering::Relaxed), total, "{path}");
        let read: u64 = collected.sources.iter().map(|source| source.documents).sum();
        assert_eq!(listener.documents.load(Ordering::Relaxed), read, "{path}");
    }
}

#[test]
fn what_is_passed_over_is_noted() {
    let place = Place::new();
    place
        .put("dump/oplog.bson", bytes(&orders(1)))
        .put("dump/admin/system.version.bson", bytes(&orders(1)))
        .put("dump/shop/t.bson", "{\"a\":1}");
    let listener = Listener::default();
    let collected = collect(&place.request("dump"), &listener, &listener.stop);
    assert_eq!(problems(&collected), [""; 0]);
    let notes = listener.notes.lock().unwrap();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("oplog is not audited")));
    assert!(notes.iter().any(|note| note.contains("system collections: admin.system.version")));
    assert!(notes.iter().any(|note| note.contains("read as json")));
}
