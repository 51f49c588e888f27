//! A short run of every fuzz target on stable Rust: samples, mutated deterministically.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use bson::{Bson, doc};

/// Splitmix: the same mutations every time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

fn mutate(sample: &[u8], random: &mut Random) -> Vec<u8> {
    const TELLING: [u8; 14] = [0, 1, 2, 3, 4, 5, 0x0f, 0x10, 0x7f, 0x80, 0xff, b'{', b'"', b'\\'];
    let mut bytes = sample.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[at] = TELLING[random.below(TELLING.len())],
            1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            2 => bytes.truncate(at),
            3 if !bytes.is_empty() => {
                let end = (at + random.below(16)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            4 if !bytes.is_empty() => {
                bytes.remove(at);
            }
            _ => bytes.insert(at.min(bytes.len()), random.below(256) as u8),
        }
    }
    bytes
}

fn run(samples: &[Vec<u8>], target: fn(&[u8]), rounds: usize) {
    let mut random = Random(7);
    for sample in samples {
        target(sample);
        for _ in 0..rounds {
            target(&mutate(sample, &mut random));
        }
    }
}

fn documents() -> Vec<Vec<u8>> {
    let oid = bson::oid::ObjectId::from_bytes([9; 12]);
    let deep = (0..120).fold(doc! { "leaf": 1 }, |inner, _| doc! { "d": inner });
    [
        doc! {},
        doc! { "_id": oid, "a": 1, "b": 2_i64, "c": 2.5, "d": "text", "e": [1, "two", { "f": Bson::Null }] },
        doc! { "when": bson::DateTime::from_millis(0), "re": Bson::RegularExpression(bson::Regex { pattern: "a".try_into().unwrap(), options: "i".try_into().unwrap() }) },
        doc! { "bin": Bson::Binary(bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: vec![1; 40] }), "min": Bson::MinKey, "max": Bson::MaxKey },
        doc! { "counts": { "2024-01": 1, "2024-02": 2 }, "userId": "User1", "price": "99.00" },
        deep,
    ]
    .iter()
    .map(|d| d.to_vec().unwrap())
    .collect()
}

#[test]
fn walk() {
    run(&documents(), docward_fuzz_cases::walk, 4000);
}

#[test]
fn wire() {
    use docward_wire::{Compressor, Flags, compress, message, reply};
    let body = doc! { "insert": "t", "$db": "d", "lsid": { "id": 1 }, "documents": [{ "a": "x" }] };
    let body = body.to_vec().unwrap();
    let plain = message(1, 0, Flags::default(), &body);
    let mut sequenced = plain.clone();
    let mut section = b"documents\0".to_vec();
    documents().iter().for_each(|document| section.extend(document));
    sequenced.push(1);
    sequenced.extend(i32::try_from(section.len() + 4).unwrap().to_le_bytes());
    sequenced.extend(section);
    let length = i32::try_from(sequenced.len()).unwrap();
    sequenced[..4].copy_from_slice(&length.to_le_bytes());
    let mut samples = vec![plain, sequenced, reply(1, 2, &body)];
    let all = [Compressor::Noop, Compressor::Snappy, Compressor::Zlib, Compressor::Zstd];
    let packed: Vec<_> =
        all.iter().flat_map(|c| samples.iter().map(|f| compress(f, *c).unwrap())).collect();
    samples.extend(packed);
    run(&samples, docward_fuzz_cases::wire, 2000);
}

#[test]
fn guard() {
    use docward_wire::{Compressor, Flags, compress, message};
    let id =
        Bson::Binary(bson::Binary { subtype: bson::spec::BinarySubtype::Uuid, bytes: vec![7; 16] });
    let session = doc! { "id": id };
    let bodies = [
        doc! {
            "hello": 1, "helloOk": true, "saslSupportedMechs": "admin.app", "loadBalanced": true,
            "compression": ["zstd", "zlib", "snappy"], "client": { "application": { "name": "web" } },
            "speculativeAuthenticate": {
                "saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": "n,,n=app,r=abc", "db": "admin",
            },
            "topologyVersion": { "processId": bson::oid::ObjectId::from_bytes([9; 12]), "counter": 1_i64 },
            "maxAwaitTimeMS": 10_000_i64, "$db": "admin",
        },
        doc! { "saslStart": 1, "mechanism": "SCRAM-SHA-1", "payload": "n,,n=app,r=abc", "$db": "admin" },
        doc! { "saslContinue": 1, "conversationId": 1, "payload": "c=biws,r=abcdef,p=AAAA", "$db": "admin" },
        doc! {
            "insert": "t", "$db": "d", "lsid": session.clone(), "txnNumber": 5_i64, "autocommit": false,
            "startTransaction": true, "writeConcern": { "w": 0 }, "documents": [{ "a": 1 }],
        },
        doc! {
            "aggregate": "t", "$db": "d", "lsid": session, "maxTimeMS": 5,
            "pipeline": [{ "$changeStream": {} }, { "$merge": { "into": { "db": "e", "coll": "t" } } }],
            "$readPreference": { "mode": "nearest", "tags": [{ "dc": "ny" }], "maxStalenessSeconds": 90 },
        },
        doc! { "getMore": 7_i64, "collection": "t", "$db": "d" },
        doc! { "bulkWrite": 1, "ops": [{ "insert": 0 }], "nsInfo": [{ "ns": "d.t" }], "$db": "admin" },
    ];
    let plain = bodies.iter().map(|body| body.to_vec().unwrap());
    let mut samples: Vec<_> =
        plain.map(|body| message(1, 0, Flags(Flags::MORE_TO_COME), &body)).collect();
    assert!(samples.iter().all(|sample| docward_guard::fuzzing::message(sample)));
    samples
        .extend([Compressor::Snappy, Compressor::Zlib].map(|c| compress(&samples[0], c).unwrap()));
    let mut query = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xd4, 7, 0, 0].to_vec();
    query.extend(b"\0\0\0\0admin.$cmd\0\0\0\0\0\xff\xff\xff\xff");
    query.extend(doc! { "isMaster": 1, "helloOk": true }.to_vec().unwrap());
    let length = i32::try_from(query.len()).unwrap();
    query[..4].copy_from_slice(&length.to_le_bytes());
    assert!(docward_wire::Query::parse(&query).is_ok());
    samples.push(query);
    run(&samples, docward_fuzz_cases::guard, 3000);
}

#[test]
fn scram() {
    use docward_fuzz_cases::{SCRAM_NONCE, SCRAM_USER, scram_keys};
    use docward_net::scram::{ClientLogin, Mechanism, Opening, ServerLogin};
    let (keys, verifier) = scram_keys();
    let login = ClientLogin::new(Mechanism::Sha256, SCRAM_USER, "abc".to_owned());
    let opening = Opening::parse(login.first().as_bytes()).unwrap();
    let (server, answer) = ServerLogin::start(&opening, verifier.clone(), SCRAM_NONCE);
    let proof = login.prove(&login.challenge(answer.as_bytes()).unwrap(), keys);
    assert!(server.finish(proof.payload.as_bytes()).is_ok(), "the sample is a login");
    let sample = format!("{}\n{}", login.first(), proof.payload);
    let empty = "y,,n==2C=3D,r=x\nc=eSws,r=xdef,p=";
    let samples = [sample.as_str(), empty].map(|sample| sample.as_bytes().to_vec());
    run(&samples, docward_fuzz_cases::scram, 4000);
}

#[test]
fn evidence() {
    let mut profiler = docward_profile::Profiler::new();
    documents().iter().for_each(|document| profiler.add_block(document, 0));
    let mut collection =
        docward_model::Collection::named(docward_model::Namespace::new("db_shop", "t_order"));
    collection.profile = Some(profiler.finish().profile);
    let evidence = docward_model::Evidence { collections: vec![collection], ..Default::default() };
    let saved = docward_collect::SavedEvidence::new("0", 0, true, vec![], vec![], evidence);
    let text = serde_json::to_string(&saved).unwrap();
    let unfinished = format!(
        r#"{},"unfinished":{{"db_shop.t_order":{{"Part":["H4sIAAAAAAAA","a"]}},"a.b":"Anew"}}}}"#,
        text.strip_suffix('}').unwrap()
    );
    let samples: Vec<Vec<u8>> =
        [&*text, &*unfinished, r#"{"docward-evidence":99999999999999999999}"#]
            .iter()
            .map(|sample| sample.as_bytes().to_vec())
            .collect();
    assert!(docward_collect::SavedEvidence::parse(&samples[0]).is_ok(), "the sample is one");
    run(&samples, docward_fuzz_cases::evidence, 1500);
}

#[test]
fn profile() {
    let mut samples = documents();
    samples.push(documents().concat());
    run(&samples, docward_fuzz_cases::profile, 400);
}

#[test]
fn json() {
    let samples: Vec<Vec<u8>> = [
        r#"{"_id": {"$oid": "65f3a2b8c1d2e3f4a5b6c7d8"}, "n": {"$numberLong": "5"}, "d": {"$date": "2024-03-15T10:30:00Z"}}"#,
        "[{\"a\": [1, 2.5, -3e4, null, true]},\n {\"b\": \"\\u00e9\\n\"}]\n",
        "{a: ObjectId('65f3a2b8c1d2e3f4a5b6c7d8'), b: ISODate(\"2024-01-01\"), /* c */ c: NumberDecimal(\"1.20\"),}",
        "{\"a\": 1}\r\n{\"b\": {\"$binary\": {\"base64\": \"AAEC\", \"subType\": \"04\"}}}\r\n",
        "\u{feff}{\"deep\": [[[[[[{}]]]]]]}",
    ]
    .iter()
    .map(|s| s.as_bytes().to_vec())
    .collect();
    run(&samples, docward_fuzz_cases::json, 4000);
}

#[test]
fn archive() {
    let document = |d: bson::Document| d.to_vec().unwrap();
    let end = [0xffu8; 4];
    let whole: Vec<u8> = [
        docward_bson::archive::MAGIC.to_vec(),
        document(doc! { "version": "0.1", "server_version": "6.0.5", "tool_version": "100.7", "concurrent_collections": 4 }),
        document(doc! { "db": "d", "collection": "c", "metadata": "{\"options\":{},\"indexes\":[]}", "size": 1, "type": "" }),
        end.to_vec(),
        document(doc! { "db": "d", "collection": "c", "EOF": false, "CRC": 0_i64 }),
        document(doc! { "_id": 1 }),
        end.to_vec(),
        document(doc! { "db": "d", "collection": "c", "EOF": true, "CRC": 5_i64 }),
        end.to_vec(),
    ]
    .concat();
    run(&[whole], docward_fuzz_cases::archive, 8000);
}

#[test]
fn config() {
    let samples: Vec<Vec<u8>> = [
        "profile = \"neutral\"\nselect = [\"D\", \"T002\"]\n[rules.D008]\nmax-elements = 5\n",
        "[[namespaces]]\nmatch = \"db.*\"\nignore = [\"V001\"]\n[collections]\ncore = [\"a.b\"]\n",
    ]
    .iter()
    .map(|s| s.as_bytes().to_vec())
    .collect();
    run(&samples, docward_fuzz_cases::config, 3000);
}

#[test]
fn log() {
    let ran = r#"{"t":{"$date":"2024-03-15T10:30:00.500+00:00"},"s":"I","c":"COMMAND","id":51803,"ctx":"conn9","msg":"Slow query","attr":{"type":"command","ns":"shop.orders","command":{"find":"orders","filter":{"$and":[{"a":{"$in":[1,2]}},{"b":{"$elemMatch":{"c":1}}}]},"sort":{"t":-1},"lsid":{"id":{"$uuid":"829b14b2-0a55-4ec5-9130-4ef7f1837581"}}},"planSummary":"COLLSCAN","docsExamined":5000,"nreturned":3,"durationMillis":42}}"#;
    let pushed = r#"{"t":{"$date":"2024-03-15T10:30:00Z"},"id":51803,"ctx":"conn9","msg":"Slow query","attr":{"type":"update","ns":"shop.orders","command":{"q":{"_id":1,"n":{"$lt":5}},"u":{"$push":{"log.3":1},"$inc":{"n":1}}},"errCode":17419,"errMsg":"BSONObj size: 17825816 (0x1100018)"}}"#;
    let accepted = r#"{"t":{"$date":"2024-03-15T10:30:00Z"},"id":22943,"ctx":"listener","msg":"Connection accepted","attr":{"connectionId":7,"connectionCount":3}}"#;
    let all = [ran, pushed, accepted].join("\n");
    run(
        &[ran, pushed, accepted, &all].map(|s| s.as_bytes().to_vec()),
        docward_fuzz_cases::log,
        1000,
    );
}

#[test]
fn network() {
    let samples = [
        r#"{"SecurityGroups": [{"GroupName": "mongo", "GroupId": "sg-1", "IpPermissions": [{"IpProtocol": "tcp", "FromPort": 27017, "ToPort": 27018, "IpRanges": [{"CidrIp": "10.0.0.0/16"}], "Ipv6Ranges": [{"CidrIpv6": "::/0"}], "PrefixListIds": [{"PrefixListId": "pl-1"}], "UserIdGroupPairs": [{"GroupId": "sg-2"}]}, {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]}]}"#,
        r#"[{"name": "nsg", "id": "/s/1/nsg", "defaultSecurityRules": [{"name": "Deny", "access": "Deny", "direction": "Inbound", "priority": 65500, "protocol": "*", "sourceAddressPrefix": "*", "destinationPortRange": "*"}], "securityRules": [{"name": "a", "access": "Allow", "direction": "Inbound", "priority": 100, "protocol": "Tcp", "sourceAddressPrefixes": ["203.0.113.0/24", "Internet"], "sourceApplicationSecurityGroups": [{"id": "/a/asg"}], "destinationPortRanges": ["80", "1000-2000"]}]}]"#,
        r#"[{"name": "allow", "network": "global/networks/prod", "direction": "INGRESS", "priority": 1000, "sourceRanges": ["0.0.0.0/0"], "targetTags": ["mongo"], "allowed": [{"IPProtocol": "tcp", "ports": ["27017", "27018-27019"]}]}, {"name": "deny", "priority": 900, "denied": [{"IPProtocol": "all"}], "sourceTags": ["bastion"], "disabled": false}]"#,
        r#"{"items": [{"name": "a", "allowed": [{"IPProtocol": "17", "ports": ["1"]}]}]}"#,
        r#"{"Response": {"SecurityGroupPolicySet": {"Version": "3", "Ingress": [{"PolicyIndex": 1, "Protocol": "TCP", "Port": "27017,27018", "CidrBlock": "0.0.0.0/0", "Ipv6CidrBlock": "", "SecurityGroupId": "sg-2", "AddressTemplate": {"AddressId": ""}, "Action": "ACCEPT"}, {"PolicyIndex": 0, "Protocol": "", "Port": "", "CidrBlock": "10.0.0.1", "Action": "DROP", "ServiceTemplate": {"ServiceId": "ppm-1"}}]}}}"#,
        r#"{"rules": [{"layer": "mongodb", "sources": "::/0", "ports": "*"}], "public_ip": ["8.8.8.8"], "layers": {"mongodb": "load-balancer"}}"#,
        "public_ip = []\nload_balancer_vip = \"10.0.0.100\"\nlistener_port = 27017\n[[rules]]\nname = \"office\"\nlayer = \"load-balancer\"\nsources = \"203.0.113.10\"\nports = [27017, \"27018-27019\"]\n[layers]\n\"sg-1\" = \"mongodb\"\n",
        "\u{feff}{\"SecurityGroups\": []}",
    ];
    run(&samples.map(|s| s.as_bytes().to_vec()), docward_fuzz_cases::network, 4000);
}

#[test]
fn uri() {
    let samples = [
        "mongodb://app:S3cret@10.0.0.1:27017,[fd00::1]:27018/db_shop?replicaSet=rs0&authSource=admin&w=majority",
        "mongodb+srv://app%3AS3cret@cluster.example.net/?retryWrites=false;maxPoolSize=5;appName=a@b",
        "mongodb://a:b@x?appName=c@host/db?authMechanismProperties=AWS_SESSION_TOKEN:S3cret,X:y&tls=true",
        " mongodb://%2Ftmp%2Fmongodb-27017.sock/?readPreferenceTags=dc:ny,rack:1&readPreferenceTags=&maxPolSize=5 ",
        "cannot reach 'mongodb://ann:S3 cret@host/db' and mongodb://b:S3cret@c: refused",
    ];
    run(&samples.map(|s| s.as_bytes().to_vec()), docward_fuzz_cases::uri, 4000);
}

fn texts(samples: &[&str]) -> Vec<Vec<u8>> {
    samples.iter().map(|text| text.as_bytes().to_vec()).collect()
}

#[test]
fn model() {
    let samples = texts(&[
        include_str!("../../../examples/models/iot.yaml"),
        include_str!("../../../examples/models/shop.yaml"),
        include_str!("../../docward-design/tests/models/lists.yaml"),
    ]);
    run(&samples, docward_fuzz_cases::model, 150);
}

#[test]
fn schema() {
    let samples = texts(&[
        include_str!("../../../examples/drift/user.validator.json"),
        r#"{"bsonType": "object", "required": ["a"], "properties": {"a": {"bsonType": ["int", "long"], "minimum": 1, "multipleOf": 2}, "b": {"enum": [1, "x", null, {"c": [1]}]}, "d": {"pattern": "^(a|b)+$", "maxLength": 9}}, "patternProperties": {"^x": {"type": "array", "items": [{"type": "number"}], "additionalItems": false, "uniqueItems": true}}, "additionalProperties": {"not": {"bsonType": "null"}}, "dependencies": {"a": ["b"]}}"#,
        r#"{"anyOf": [{"minProperties": 1}, {"oneOf": [{"type": "object"}, {"maxProperties": 3}]}], "allOf": [{"title": "t", "description": "d"}]}"#,
    ]);
    run(&samples, docward_fuzz_cases::schema, 4000);
}

#[test]
fn source() {
    let fixtures = [
        include_str!("../../docward-code/tests/fixtures/shop.js"),
        include_str!("../../docward-code/tests/fixtures/clinic.ts"),
        include_str!("../../docward-code/tests/fixtures/shop.py"),
        include_str!("../../docward-code/tests/fixtures/shop.go"),
        include_str!("../../docward-code/tests/fixtures/Shop.java"),
        include_str!("../../docward-code/tests/fixtures/shop.php"),
        include_str!("../../docward-code/tests/fixtures/OrderItem.php"),
        include_str!("../../docward-code/tests/fixtures/Shop.cs"),
        include_str!("../../docward-code/tests/fixtures/shop.prisma"),
        include_str!("../../docward-code/tests/fixtures/order.schema.json"),
        "services:\n  api:\n    environment:\n      MONGO_URL: mongodb://app:S3cret@db:27017/shop?authSource=admin\n",
    ];
    let samples: Vec<Vec<u8>> = fixtures
        .iter()
        .flat_map(|text| (0..16_u8).map(|first| [&[first], text.as_bytes()].concat()))
        .collect();
    run(&samples, docward_fuzz_cases::source, 8);
}

#[test]
fn report() {
    let samples = texts(&[
        include_str!("../../docward-report/tests/snapshots/snapshots__json_version_1.snap")
            .splitn(3, "---\n")
            .nth(2)
            .unwrap(),
        r#"{"version": 1, "findings": [{"rule": "D008", "fingerprint": "8cd98e2ee96a6211", "severity": "error", "namespace": "db.t", "path": "a", "what": "x"}]}"#,
    ]);
    run(&samples, docward_fuzz_cases::report, 2000);
}
