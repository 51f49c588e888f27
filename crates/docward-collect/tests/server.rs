//! Compares Docward's figures with those that a real server computes from the same documents.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::atomic::AtomicBool;

use bson::{
    Binary, Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, Regex, Timestamp, doc,
    oid::ObjectId, spec::BinarySubtype,
};
use docward_collect::{Collected, Request, Silent, collect};
use docward_model::CollectionKind;
use docward_profile::Profiler;
use docward_testkit::{Launch, Servers, repository};

fn run(source: &str) -> Collected {
    let request = Request { sources: vec![source.to_owned()], full: true, ..Request::default() };
    collect(&request, &Silent, &AtomicBool::new(false))
}

/// One document for every type, and some that combine several types and levels.
fn every_type() -> Vec<Document> {
    let binary = |subtype, length: usize| Bson::Binary(Binary { subtype, bytes: vec![7; length] });
    let scope = doc! { "a": 1, "b": [1, 2] };
    let code = JavaScriptCodeWithScope { code: "f()".to_owned(), scope };
    let values: Vec<Bson> = vec![
        Bson::Double(1.5),
        Bson::String("läßt 中文".to_owned()),
        doc! {}.into(),
        doc! { "a": { "b": {} } }.into(),
        Bson::Array(Vec::new()),
        Bson::Array((0..1234).map(Bson::Int32).collect()),
        binary(BinarySubtype::Generic, 0),
        binary(BinarySubtype::Uuid, 16),
        binary(BinarySubtype::Md5, 16),
        binary(BinarySubtype::UserDefined(0x80), 300),
        Bson::Undefined,
        ObjectId::from_bytes([3; 12]).into(),
        true.into(),
        DateTime::from_millis(1_700_000_000_000).into(),
        Bson::Null,
        Bson::RegularExpression(Regex {
            pattern: "^a.*é".try_into().unwrap(),
            options: "im".try_into().unwrap(),
        }),
        Bson::JavaScriptCode("function() { return 1 }".to_owned()),
        Bson::Symbol("symbol".to_owned()),
        Bson::JavaScriptCodeWithScope(code),
        Bson::Int32(i32::MIN),
        Timestamp { time: 1, increment: 2 }.into(),
        Bson::Int64(i64::MAX),
        "123.450".parse::<Decimal128>().unwrap().into(),
        Bson::MinKey,
        Bson::MaxKey,
        Bson::String("x".repeat(1_000_000)),
    ];
    let mut documents: Vec<_> = values
        .iter()
        .zip(0..)
        .map(|(value, id): (_, i32)| doc! { "_id": id, "value": value.clone() })
        .collect();
    documents.push(doc! { "_id": "all", "in an array": values.clone() });
    documents
}

/// `$bsonSize` of every document in natural order.
fn sizes_of_server(servers: &Servers, database: &str, collection: &str) -> Vec<u64> {
    let reply = servers.command(
        database,
        doc! {
            "aggregate": collection,
            "pipeline": [{ "$project": { "_id": 0, "size": { "$bsonSize": "$$ROOT" } } }],
            "cursor": { "batchSize": 1_000_000 },
        },
    );
    let batch = reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap();
    batch
        .iter()
        .map(|document| document.as_document().unwrap().get_i32("size").unwrap() as u64)
        .collect()
}

#[test]
fn dm_05_7_sizes_equal_bson_size_of_the_server_for_every_type() {
    let servers = Launch::standalone().shared().start();
    let documents = every_type();
    servers.insert("db_types.t_value", documents.clone());
    let sizes = sizes_of_server(&servers, "db_types", "t_value");
    assert_eq!(sizes.len(), documents.len());
    for (document, &size) in documents.iter().zip(&sizes) {
        let mut profiler = Profiler::new();
        profiler.add_block(&document.to_vec().unwrap(), 0);
        let profile = profiler.finish().profile;
        assert_eq!((profile.sizes.count, profile.sizes.sum), (1, size), "{}", document["_id"]);
    }
}

#[test]
fn alg_2_half_a_million_object_ids_have_the_size_the_server_says() {
    let servers = Launch::standalone().shared().start();
    let ids = vec![Bson::ObjectId(ObjectId::from_bytes([5; 12])); 500_000];
    servers.insert("db_types.t_array", [doc! { "_id": 1, "a": ids }]);
    // Besides the array: length, `_id` with its value, the name of the array, the final NUL.
    let around = 4 + (1 + 4 + 4) + (1 + 2) + 1;
    assert_eq!(sizes_of_server(&servers, "db_types", "t_array"), [9_888_895 + around]);
}

#[test]
fn dm_05_7_sizes_of_the_shop_agree_with_the_servers_statistics() {
    let servers = Launch::standalone().shared().start();
    let shop = repository().join("examples/shop");
    let refused = servers.load(&shop);
    let from_files = run(shop.to_str().unwrap());
    let live = run(&servers.uri());
    assert_eq!(live.problems, []);
    let mut compared = 0;
    for collection in &from_files.evidence.collections {
        let namespace = &collection.namespace;
        let Some(profile) = &collection.profile else { continue };
        if refused.iter().any(|r| r.namespace == namespace.to_string()) {
            continue;
        }
        let mut sizes = sizes_of_server(&servers, &namespace.database, &namespace.collection);
        assert_eq!(profile.sizes.count, sizes.len() as u64, "{namespace}");
        assert_eq!(profile.sizes.sum, sizes.iter().sum::<u64>(), "{namespace}");
        sizes.sort_unstable();
        assert_eq!((profile.sizes.min, profile.sizes.max), (sizes[0], sizes[sizes.len() - 1]));

        let twin = live.evidence.collection(namespace).unwrap();
        let stats = twin.stats.expect("a server counts");
        assert_eq!(stats.documents, profile.sizes.count, "{namespace}");
        assert_eq!(stats.data_bytes, profile.sizes.sum, "{namespace}");
        // The server rounds down.
        assert_eq!(stats.average_bytes, profile.sizes.mean() as u64, "{namespace}");
        assert_eq!(twin.profile.as_ref().map(|p| &p.sizes), Some(&profile.sizes), "{namespace}");
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn the_catalogue_of_a_server_is_that_of_its_dump() {
    let servers = Launch::replica_set(1).shared().start();
    let clean = repository().join("examples/shop-clean");
    assert_eq!(servers.load(&clean), []);
    servers.command("db_shop", doc! { "create": "v_order", "viewOn": "t_trade_order" });
    servers.command("db_shop", doc! { "create": "t_log", "capped": true, "size": 65_536 });
    let from_files = run(clean.to_str().unwrap()).evidence;
    let Collected { evidence: live, problems, .. } = run(&servers.uri());
    assert_eq!(problems, []);
    for collection in &from_files.collections {
        let twin = live.collection(&collection.namespace).expect("it was loaded");
        assert_eq!(twin.kind, collection.kind, "{}", collection.namespace);
        if collection.kind == CollectionKind::System {
            continue;
        }
        let options = |c: &docward_model::Collection| format!("{:?}", c.options);
        assert_eq!(options(twin), options(collection), "{}", collection.namespace);
        let keys = |c: &docward_model::Collection| -> Vec<String> {
            let mut keys: Vec<_> = c.indexes.iter().flatten().map(|i| i.key_text()).collect();
            keys.sort();
            keys
        };
        assert_eq!(keys(twin), keys(collection), "{}", collection.namespace);
        let used = twin
            .indexes
            .iter()
            .flatten()
            .all(|index| index.usage.is_some() && index.bytes > Some(0));
        assert!(used || twin.kind == CollectionKind::TimeSeries, "{}", collection.namespace);
    }
    let kind =
        |name| live.collection(&docward_model::Namespace::new("db_shop", name)).unwrap().kind;
    assert_eq!((kind("v_order"), kind("t_log")), (CollectionKind::View, CollectionKind::Capped));

    let server = live.server.expect("a server was asked");
    assert_eq!(live.deployment.server_version, Some((6, 0)));
    let members = server.members.expect("it is a replica set");
    assert_eq!((members.len(), members[0].state.as_deref()), (1, Some("PRIMARY")));
    assert_eq!(members[0].votes, Some(1));
    let start = server.start.expect("it tells how it was started");
    assert_eq!(start.bind_addresses, Some(vec!["127.0.0.1".to_owned()]));
    assert!(!start.authorization && start.tls_mode.is_none());
    assert!(server.connections.is_some_and(|c| c.current > 0) && server.uptime_seconds.is_some());
    assert_eq!(server.users, Some(Vec::new()));
    assert!(server.default_concerns.is_some_and(|c| c.write.as_deref() == Some("majority")));
}
