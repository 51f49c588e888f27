//! Profiles of small collections, and the property that merging parts equals reading the whole.

use bson::{Bson, Document, doc, oid::ObjectId};
use docward_model::{BsonType, FieldShape, KeyForm, Namespace, Profile, TextClass};
use docward_profile::{Profiled, Profiler, relate};
use proptest::prelude::*;

fn bytes(documents: &[Document]) -> Vec<u8> {
    documents.iter().flat_map(|d| d.to_vec().expect("a document")).collect()
}

fn profiled(documents: &[Document]) -> Profiled {
    let mut profiler = Profiler::new();
    profiler.add_block(&bytes(documents), 0);
    assert_eq!(profiler.take_damage().1, 0);
    profiler.finish()
}

fn profile(documents: &[Document]) -> Profile {
    profiled(documents).profile
}

#[test]
fn alg_1_depth_counts_object_layers() {
    for (document, depth, parts, server) in [
        (doc! { "customer": { "contact": { "phone": "1" } } }, 2, 3, 2),
        (doc! { "items": [{ "productId": "P1" }] }, 1, 2, 2),
        (
            doc! { "level1": { "level2": { "level3": { "level4": { "level5": { "data": 1 } } } } } },
            5,
            6,
            5,
        ),
        (
            doc! { "a": { "b": { "c": { "d": { "e": { "f": { "g": { "value": 1 } } } } } } } },
            7,
            8,
            7,
        ),
        (doc! { "tags": ["a", "b"] }, 0, 1, 1),
        (doc! { "grid": [[1, 2], [3]] }, 1, 1, 2),
        (doc! { "grid": [[{ "x": 1 }]] }, 2, 2, 3),
        (doc! { "flat": 1 }, 0, 1, 0),
    ] {
        let profile = profile(std::slice::from_ref(&document));
        assert_eq!(profile.max_depth, depth, "{document}");
        assert_eq!(profile.depths.len() as u32, depth + 1, "{document}");
        assert_eq!(profile.deepest.unwrap().parts(), parts, "{document}");
        assert_eq!(profile.max_server_depth, server, "{document}");
    }
}

#[test]
fn dm_05_7_sizes_are_the_length_prefix() {
    let documents: Vec<_> =
        (0..100).map(|i| doc! { "_id": i, "text": "x".repeat(i as usize * 7) }).collect();
    let profile = profile(&documents);
    let sizes: Vec<u64> = documents.iter().map(|d| d.to_vec().unwrap().len() as u64).collect();
    assert_eq!(profile.sizes.sum, sizes.iter().sum::<u64>());
    assert_eq!(profile.sizes.max, *sizes.iter().max().unwrap());
    assert_eq!(profile.largest[0].bytes, profile.sizes.max);
    assert_eq!(profile.largest[0].owner, "text");
}

#[test]
fn types_presence_and_classes_are_counted() {
    let profile = profile(&[
        doc! { "_id": 1, "price": 99.0, "when": "2024-03-15", "tags": ["a"] },
        doc! { "_id": 2, "price": "99.00", "when": "2024-03-15 10:30:00" },
        doc! { "_id": 3, "price": { "value": 99 }, "when": Bson::Null },
        doc! { "_id": 4_i64, "tags": ["b", "c"] },
    ]);
    let price = profile.field("price").unwrap();
    assert_eq!(price.count, 3);
    assert_eq!(price.parents, 4);
    assert_eq!(price.types.of(BsonType::Double), 1);
    assert_eq!(price.types.of(BsonType::String), 1);
    assert_eq!(price.types.of(BsonType::Object), 1);
    assert_eq!(price.text.as_ref().unwrap().of(TextClass::Decimal), 1);
    assert_eq!(profile.field("price.value").unwrap().types.of(BsonType::Int), 1);
    let when = profile.field("when").unwrap();
    assert_eq!(when.types.non_null(), 2);
    assert_eq!(when.text.as_ref().unwrap().of(TextClass::DateOnly), 1);
    let tags = profile.field("tags[]").unwrap();
    assert_eq!((tags.count, tags.parents), (3, 2));
    assert_eq!(profile.field("tags").unwrap().array.as_ref().unwrap().lengths.max, 2);
    let id = profile.field("_id").unwrap();
    assert_eq!(id.types.of(BsonType::Int), 3);
    assert_eq!(id.types.of(BsonType::Long), 1);
    assert_eq!(profile.id_order.pairs, 2, "only neighbours of one type are compared");
}

#[test]
fn digits_are_object_ids_only_among_object_ids() {
    let classes = |values: &[String]| {
        let documents: Vec<_> = values.iter().map(|value| doc! { "orderId": value }).collect();
        let profile = profile(&documents);
        let text = profile.field("orderId").unwrap().text.clone().unwrap();
        [TextClass::ObjectIdHex, TextClass::HugeInteger, TextClass::LeadingZero].map(|c| text.of(c))
    };
    let numbers: Vec<_> = (0..50).map(|i| format!("6503124801120304150607{i:02}")).collect();
    assert_eq!(classes(&numbers), [0, 50, 0]);
    // Ids of one process differ only at the end, and some of them contain no letter.
    let mut ids: Vec<_> =
        (0..100).map(|i| format!("650312480112030415{:06x}", i * 104_729)).collect();
    let digits = ids.iter().filter(|id| id.bytes().all(|b| b.is_ascii_digit())).count() as u64;
    assert!((1..50).contains(&digits), "{digits}");
    assert_eq!(classes(&ids), [100, 0, 0]);
    ids.push(String::new());
    assert_eq!(classes(&ids), [100, 0, 0]);
    ids.push("12345678901234567890".to_owned());
    assert_eq!(classes(&ids)[1], digits + 1, "a shorter number says that there are numbers");
}

#[test]
fn ap_s2_5_few_keys_that_are_dates_are_folded() {
    let profile = profile(&[doc! { "_id": 1, "counts": { "2024-01": 5, "2024-02": 7 } }]);
    let counts = profile.field("counts").unwrap();
    let dynamic = counts.dynamic.as_ref().unwrap();
    assert_eq!(dynamic.form, KeyForm::Date);
    assert_eq!(dynamic.keys, 2.0);
    assert_eq!(profile.field("counts.*").unwrap().types.of(BsonType::Int), 2);
}

#[test]
fn ap_s2_5_a_few_names_of_people_are_keys_and_not_fields() {
    let folded = |documents: &[Document]| {
        profile(documents).field("scores").is_some_and(|f| f.dynamic.is_some())
    };
    let people = [
        doc! { "_id": 1, "round": 1, "scores": { "Anna": 3, "Bert Meyer": 5 } },
        doc! { "_id": 2, "round": 2, "scores": { "Chloé": 1, "O'Neil": 2 } },
    ];
    assert!(folded(&people));
    let paths = profile(&people).fields.iter().map(|f| f.path.to_string()).collect::<Vec<_>>();
    assert!(paths.iter().all(|path| !path.contains("Anna")), "{paths:?}");
    // One document does not show whether its keys are data.
    assert!(!folded(&people[..1]));
    // Fields that repeat, differ in type, or are written like the rest of the collection.
    let fields = |a: Document, b: Document| [doc! { "scores": a }, doc! { "scores": b }];
    let again = doc! { "First": 1, "Second": 2, "Third": 3 };
    assert!(!folded(&fields(again.clone(), again)));
    assert!(!folded(&fields(doc! { "Name": "a", "Age": 1 }, doc! { "City": "b", "Zip": 2 })));
    assert!(!folded(&fields(doc! { "ram": 8, "cores": 4 }, doc! { "pages": 300, "weight": 2 })));
    let pascal = |scores: Document| doc! { "Name": "x", "Kind": 1, "Sub": { "Scores": scores } };
    let profile =
        profile(&[pascal(doc! { "Ram": 8, "Cores": 4 }), pascal(doc! { "Pages": 300, "Mass": 2 })]);
    assert!(profile.field("Sub.Scores").is_some_and(|f| f.dynamic.is_none()));
}

#[test]
fn pt_ref_1_many_refer_to_few_and_some_to_what_is_gone() {
    let ids: Vec<ObjectId> = (0..4).map(|_| ObjectId::new()).collect();
    let customers: Vec<Document> = ids.iter().map(|id| doc! { "_id": id }).collect();
    // 1,900 orders of four customers, and 100 orders with one customer each.
    let of = |n: usize| if n.is_multiple_of(20) { ObjectId::new() } else { ids[n % 4] };
    let orders: Vec<Document> = (0..2000).map(|n| doc! { "customerId": of(n) }).collect();
    let strangers: Vec<Document> =
        (0..2000).map(|_| doc! { "customerId": ObjectId::new() }).collect();
    let links = |name: &str, documents: &[Document]| {
        (Namespace::new("db_shop", name), profiled(documents).links)
    };
    let all = [
        links("t_customer", &customers),
        links("t_order", &orders),
        links("t_stranger", &strangers),
    ];
    let (found, _) = relate(&all, &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].checked_values, (found[0].contained * 104.0).round()), (104, 4.0));
    assert_eq!((found[0].references_contained * 100.0).round(), 95.0);
    assert_eq!(found[0].agreement(), found[0].references_contained);
}

#[test]
fn pt_ref_1_a_unique_code_is_referred_to_like_an_id() {
    let stations: Vec<Document> = (0..3000)
        .map(|i| doc! { "_id": ObjectId::new(), "code": format!("ST-{i}"), "kind": i % 3 })
        .collect();
    let prices: Vec<Document> = (0..6000)
        .map(|i| {
            doc! { "stationcode": format!("ST-{}", i % 2500), "fuelCode": "E10", "otherCode": format!("X{i}") }
        })
        .collect();
    let links = |name: &str, documents: &[Document]| {
        (Namespace::new("db_fuel", name), profiled(documents).links)
    };
    let (found, _) = relate(&[links("t_price", &prices), links("t_station", &stations)], &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].path.as_str(), "stationcode");
    assert_eq!((found[0].to.collection.as_str(), found[0].to_path.as_str()), ("t_station", "code"));
    assert!(found[0].contained > 0.99);
    // A field that is not unique is not a key.
    let twice = [stations.clone(), stations].concat();
    assert!(relate(&[links("t_price", &prices), links("t_station", &twice)], &[]).0.is_empty());
}

#[test]
fn ap_s2_5_many_dynamic_keys_cost_a_bounded_table() {
    let mut profiler = Profiler::new();
    let mut at = 0;
    for i in 0..20_000u64 {
        let mut object = Document::new();
        for j in 0..10u64 {
            object.insert(format!("user-{}", i * 10 + j), doc! { "n": 1, "m": [j as i64] });
        }
        let block = bytes(&[doc! { "_id": i as i64, "scores": object }]);
        profiler.add_block(&block, at);
        at += block.len() as u64;
    }
    let profile = profiler.finish().profile;
    assert!(profile.fields.len() < 20, "{}", profile.fields.len());
    let dynamic = profile.field("scores").unwrap().dynamic.clone().unwrap();
    assert!((dynamic.keys - 200_000.0).abs() / 200_000.0 < 0.25, "{}", dynamic.keys);
    assert_eq!(profile.field("scores.*.n").unwrap().count, 200_000);
    assert_eq!(profile.field("scores.*.m[]").unwrap().count, 200_000);
}

#[test]
fn ap_s2_5_the_id_stays_when_top_level_names_are_data() {
    let documents: Vec<_> = (0..50)
        .map(|i| {
            let mut document = doc! { "_id": i };
            for month in 1..=12 {
                document.insert(format!("2024-{month:02}"), i * month);
            }
            document
        })
        .collect();
    let profile = profile(&documents);
    let paths: Vec<_> = profile.fields.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(paths, ["_id", "*"]);
    let dynamic = profile.dynamic.unwrap();
    assert_eq!((dynamic.form, dynamic.keys), (KeyForm::Date, 12.0));
}

#[test]
fn ap_s2_5_columns_beside_years_stay_names() {
    // Folded while reading (70 keys), and at the end (20 keys).
    for (years, columns) in [(70, 5), (20, 4)] {
        let documents: Vec<_> = (0..60)
            .map(|i| {
                let mut document = doc! { "_id": i };
                (0..columns).for_each(|n| {
                    document.insert(format!("column{}", char::from(b'a' + n)), "text");
                });
                (0..years).filter(|n| (i + n) % 3 > 0).for_each(|n| {
                    document.insert((1950 + n).to_string(), i);
                });
                if i == 6 {
                    document.insert("rare", 1);
                }
                document
            })
            .collect();
        let profile = profile(&documents);
        let named = profile.top_level().filter(|f| f.shape == FieldShape::Named);
        assert_eq!(named.count(), 1 + usize::from(columns), "{years} years");
        assert_eq!(profile.field("columna").map(|f| f.count), Some(60));
        let dynamic = profile.dynamic.as_ref().expect("keys that are data");
        assert_eq!((dynamic.form, dynamic.exact), (KeyForm::Number, true));
        // One name that a single document has is among the data.
        assert_eq!(dynamic.keys, f64::from(years) + 1.0);
        let present = documents.iter().map(|d| d.len() as u64 - 1 - u64::from(columns));
        let (most, all) = (present.clone().max().unwrap(), present.sum::<u64>());
        assert_eq!(dynamic.per_object.max, most);
        assert_eq!(profile.field("*").map(|f| f.count), Some(all));
    }
}

/// Predictions must not find the places of names that turned out to be data.
#[test]
fn ap_s2_5_no_value_is_lost_when_keys_turn_out_to_be_data() {
    let documents: Vec<_> = (0..100)
        .map(|i| {
            let mut document = doc! { "_id": i };
            (0..200).for_each(|n| {
                document.insert((1000 + n).to_string(), n);
            });
            document
        })
        .collect();
    let profile = profile(&documents);
    assert_eq!(profile.field("*").map(|f| f.count), Some(20_000));
    assert_eq!(profile.dynamic.map(|d| d.per_object.max), Some(200));
}

#[test]
fn alg_6_arrays_that_grow_with_age_are_seen_in_one_snapshot() {
    let documents: Vec<_> = (0..300u32)
        .map(|day| {
            let mut oid = [0u8; 12];
            oid[..4].copy_from_slice(&(1_700_000_000 + day * 86_400).to_be_bytes());
            oid[4..8].copy_from_slice(&day.to_be_bytes());
            let logins: Vec<i32> = (0..(300 - day as i32) * 2).collect();
            doc! { "_id": ObjectId::from_bytes(oid), "logins": logins, "fixed": [1, 2] }
        })
        .collect();
    let profile = profile(&documents);
    assert_eq!(profile.age_from.as_ref().unwrap().as_str(), "_id");
    let growth = profile.field("logins").unwrap().array.as_ref().unwrap().growth.unwrap();
    assert!(growth.correlation > 0.99);
    assert!((growth.per_day - 2.0).abs() < 0.01);
    assert!(profile.field("fixed").unwrap().array.as_ref().unwrap().growth.is_none());
    assert!(profile.growth.unwrap().correlation > 0.99);
}

#[test]
fn pt_poly_1_the_field_that_predicts_the_shape_is_found() {
    let documents: Vec<_> = (0..90)
        .map(|i| match i % 3 {
            0 => {
                doc! { "_id": i, "type": "car", "maker": format!("m{i}"), "doors": 4, "trunk": 450 }
            }
            1 => doc! { "_id": i, "type": "truck", "maker": format!("m{i}"), "payload_kg": 5000 },
            _ => {
                doc! { "_id": i, "type": "motorcycle", "maker": format!("m{i}"), "engine_cc": 1200 }
            }
        })
        .collect();
    let profile = profile(&documents);
    assert_eq!(profile.shapes.len(), 3);
    let discriminator = profile.discriminator.clone().unwrap();
    assert_eq!(profile.fields[discriminator.field].path.as_str(), "type");
    assert_eq!(discriminator.accuracy, 1.0);
}

/// With very many ids, a sample by hash is kept. A string that represents an id must be in the
/// sample if the id is.
#[test]
fn pt_ref_1_dm_09_6_ids_written_as_text_are_found_among_very_many() {
    let users: Vec<_> = (0..200_000i32).map(|i| doc! { "_id": i }).collect();
    let orders: Vec<_> =
        (0..5_000i32).map(|i| doc! { "_id": i, "userId": (i * 40).to_string() }).collect();
    let collections = vec![
        (Namespace::new("db", "users"), profiled(&users).links),
        (Namespace::new("db", "orders"), profiled(&orders).links),
    ];
    let (references, _) = relate(&collections, &[]);
    let order = references.iter().find(|r| r.from.collection == "orders").expect("a reference");
    assert!(order.needs_conversion && order.contained > 0.99, "{order:?}");
}

/// One parent of 9,000 has 40 children, and a sample of the parents does not contain it.
#[test]
fn er_f_6_the_parent_with_the_most_children_is_counted() {
    for by_name in [true, false] {
        let id = |i: i32| {
            let mut bytes = [7u8; 12];
            bytes[..4].copy_from_slice(&(1_700_000_000 + i).to_be_bytes());
            if by_name { Bson::Int32(i) } else { Bson::ObjectId(ObjectId::from_bytes(bytes)) }
        };
        let path = if by_name { "orderId" } else { "order" };
        let orders: Vec<_> = (0..9_000).map(|i| doc! { "_id": id(i) }).collect();
        let details: Vec<_> = (0..18_000)
            .map(|i| i % 9_000)
            .chain(std::iter::repeat_n(4_321, 38))
            .enumerate()
            .map(|(at, of)| doc! { "_id": at as i32, path: id(of) })
            .collect();
        let collections = vec![
            (Namespace::new("db", "order"), profiled(&orders).links),
            (Namespace::new("db", "detail"), profiled(&details).links),
        ];
        let (references, _) = relate(&collections, &[]);
        let found = references.iter().find(|r| r.path.as_str() == path).expect("a reference");
        let children = &found.children_per_parent;
        assert_eq!((children.max, children.p50()), (40, 2), "{path}");
        assert_eq!((children.count, found.parents), (9_000, 9_000.0), "{path}");
    }
}

/// Keys are counted without the documents' own `_id`.
#[test]
fn dm_04_5_the_own_id_is_not_one_of_the_keys_that_are_data() {
    let stats: Vec<_> = (0..20)
        .map(|i| {
            let mut days = doc! { "_id": i };
            days.extend(
                (0..280)
                    .map(|n| (format!("2024-{:02}-{:02}", n / 28 + 1, n % 28 + 1), Bson::Int32(n))),
            );
            days
        })
        .collect();
    let dynamic = profiled(&stats).profile.dynamic.expect("keys that are data");
    assert_eq!(dynamic.per_object.max, 280);
}

#[test]
fn pt_ref_1_references_and_copies_are_found_across_collections() {
    let oid = |i: u32| {
        let mut bytes = [7u8; 12];
        bytes[..4].copy_from_slice(&(1_700_000_000 + i).to_be_bytes());
        ObjectId::from_bytes(bytes)
    };
    let customers: Vec<_> = (0..500)
        .map(|i| doc! { "_id": oid(i), "name": format!("customer {i}"), "city": "x" })
        .collect();
    let orders: Vec<_> = (0..3000u32)
        .map(|i| {
            let of = i % 500;
            let name = if i % 10 == 0 { "renamed".to_owned() } else { format!("customer {of}") };
            doc! { "_id": i as i32, "customerId": oid(of), "customer": { "name": name }, "n": i as i32 }
        })
        .collect();
    let tickets: Vec<_> = (0..400u32)
        .map(|i| doc! { "_id": i as i32, "customerId": oid(i % 100).to_hex() })
        .collect();
    let collections = vec![
        (Namespace::new("db", "customers"), profiled(&customers).links),
        (Namespace::new("db", "orders"), profiled(&orders).links),
        (Namespace::new("db", "tickets"), profiled(&tickets).links),
    ];
    let (references, copies) = relate(&collections, &[]);
    let order = references.iter().find(|r| r.from.collection == "orders").unwrap();
    assert_eq!((order.path.as_str(), order.to.collection.as_str()), ("customerId", "customers"));
    assert_eq!(order.contained, 1.0);
    assert_eq!(order.children_per_parent.max, 6);
    assert!(!order.needs_conversion);
    let ticket = references.iter().find(|r| r.from.collection == "tickets").unwrap();
    assert!(ticket.needs_conversion, "hex strings that mean ObjectIds");
    let copy = copies.iter().find(|c| c.path.as_str() == "customer.name").unwrap();
    assert_eq!(copy.source.as_str(), "name");
    assert!(copy.compared >= 100);
    assert!(copy.differing > 0 && copy.differing < copy.compared / 2);
}

#[test]
fn dm_07_5_parents_are_counted_per_document_not_per_element() {
    let id = |i: u32| {
        let mut bytes = [7u8; 12];
        bytes[..4].copy_from_slice(&(1_700_000_000 + i).to_be_bytes());
        ObjectId::from_bytes(bytes)
    };
    let products: Vec<_> = (0..90).map(|i| doc! { "_id": id(i), "name": "x" }).collect();
    let line = |i: u32| doc! { "productId": id(i % 90), "count": 1 };
    let orders: Vec<_> = (0..300u32)
        .map(|i| match i % 3 {
            // Empty arrays have no values.
            0 => doc! { "_id": i as i32, "items": [], "productIds": [], "productId": id(i % 90) },
            _ => doc! {
                "_id": i as i32,
                "items": [line(i), line(i + 1), line(i + 2)],
                "productIds": [id(i % 90), id((i + 7) % 90)],
                "productId": id(i % 90),
            },
        })
        .collect();
    let collections = vec![
        (Namespace::new("db", "orders"), profiled(&orders).links),
        (Namespace::new("db", "products"), profiled(&products).links),
    ];
    let (references, _) = relate(&collections, &[]);
    for (path, expect) in [("items[].productId", 3.0), ("productIds[]", 2.0), ("productId", 1.0)] {
        let found = references.iter().find(|r| r.path.as_str() == path).unwrap();
        assert!((found.parents_per_child - expect).abs() < 1e-9, "{path}: {found:?}");
    }
}

#[test]
fn ap_s2_6_spellings_that_differ_in_case_are_found() {
    let profile = profile(&[
        doc! { "_id": 1, "userId": "User123" },
        doc! { "_id": 2, "userId": "user123" },
        doc! { "_id": 3, "userId": "other" },
    ]);
    let cases =
        profile.field("userId").unwrap().text.as_ref().unwrap().case_collisions.clone().unwrap();
    assert_eq!((cases.groups, cases.colliding), (2, 1));
    assert_eq!(cases.example, Some(("User123".into(), "user123".into())));
}

#[test]
fn damage_is_reported_and_the_rest_is_read() {
    let good = doc! { "_id": 1, "a": "x" }.to_vec().unwrap();
    let mut bad = good.clone();
    bad[4] = 0x66; // No such type.
    let mut text = good.clone();
    let at = text.len() - 3;
    text[at] = 0xff; // Not UTF-8.
    let block: Vec<u8> = [good.clone(), bad, text, good.clone()].concat();
    let mut profiler = Profiler::new();
    profiler.add_block(&block, 1000);
    let (damages, count) = profiler.take_damage();
    assert_eq!(count, 2);
    assert_eq!(damages[0].offset, 1000 + good.len() as u64 + 4);
    assert_eq!(damages[0].kind.to_string(), "unknown element type 0x66");
    assert_eq!(damages[1].kind.to_string(), "text that is not UTF-8");
    assert_eq!(profiler.finish().profile.documents, 4);
}

/// The parts of two profiles that must be equal, as text.
fn summary(profiled: Profiled) -> String {
    let profile = &profiled.profile;
    let mut out = format!(
        "{} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}\n",
        profile.documents,
        profile.sizes,
        profile.larger_than,
        profile.largest,
        profile.depths,
        profile.deepest,
        profile.growth,
        profile.shapes,
        profile.discriminator,
        profile.reordered_objects,
    );
    for field in &profile.fields {
        out += &format!("{field:?}\n");
    }
    out
}

/// Only some of very many reference fields are compared. The selection does not depend on the order
/// of documents or on which profiler read them.
#[test]
fn of_very_many_reference_fields_the_same_are_compared_however_documents_are_cut() {
    let document = |n: i32| {
        let mut document = doc! { "_id": n };
        // Only the first documents have these fields.
        for field in 0..40 {
            document.insert(format!("f{}_id", (n / 10) * 7 + field), n * 31 + field);
        }
        document
    };
    let documents: Vec<_> = (0..100).map(document).collect();
    let whole = {
        let mut profiler = Profiler::new();
        profiler.add_block(&bytes(&documents), 0);
        profiler.finish()
    };
    for cut in [1, 10, 55, 99] {
        let (left, right) = (bytes(&documents[..cut]), bytes(&documents[cut..]));
        let [mut a, mut b] = [Profiler::new(), Profiler::new()];
        a.add_block(&left, 0);
        b.add_block(&right, left.len() as u64);
        // The later part merges the earlier one, too.
        if cut == 55 {
            std::mem::swap(&mut a, &mut b);
        }
        a.merge(b);
        assert_eq!(format!("{:?}", a.finish().links), format!("{:?}", whole.links), "cut at {cut}");
    }
    let beside = format!("{:?}", whole.links).matches("beside: [(").count();
    assert!((20..=48).contains(&beside), "{beside} of 103 fields");
}

fn any_document() -> impl Strategy<Value = Document> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(Bson::Int32),
        (0i64..50).prop_map(Bson::Int64),
        any::<f64>().prop_map(Bson::Double),
        (0u32..2000).prop_map(|i| Bson::Double(f64::from(i) / 100.0)),
        "[a-zA-Z0-9@. -]{0,30}".prop_map(Bson::String),
        Just(Bson::String("2024-03-15T10:30:00Z".into())),
        Just(Bson::Null),
        any::<bool>().prop_map(Bson::Boolean),
        (1_600_000_000u32..1_700_000_000).prop_map(|s| {
            let mut bytes = [3u8; 12];
            bytes[..4].copy_from_slice(&s.to_be_bytes());
            Bson::ObjectId(ObjectId::from_bytes(bytes))
        }),
        (0i64..2_000_000_000_000).prop_map(|ms| Bson::DateTime(bson::DateTime::from_millis(ms))),
    ];
    let value = leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Bson::Array),
            prop::collection::btree_map("[a-f]{1,2}|2024-0[1-9]|[0-9]{1,3}", inner, 0..6)
                .prop_map(|m| Bson::Document(m.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("userId|name|createdAt|[a-h]", value, 0..9)
        .prop_map(|m| m.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// Invariant: merge(profile(a), profile(b)) = profile(a ++ b), for any cut.
    #[test]
    fn merging_parts_equals_reading_the_whole(
        mut documents in prop::collection::vec(any_document(), 0..60),
        cut in 0usize..60,
    ) {
        for (i, document) in documents.iter_mut().enumerate() {
            document.insert("_id", i as i32);
        }
        let cut = cut.min(documents.len());
        let (left, right) = (bytes(&documents[..cut]), bytes(&documents[cut..]));
        let mut whole = Profiler::new();
        whole.add_block(&left, 0);
        whole.add_block(&right, left.len() as u64);
        let mut a = Profiler::new();
        a.add_block(&left, 0);
        let mut b = Profiler::new();
        b.add_block(&right, left.len() as u64);
        // Serialized in between: a restored profiler continues as if nothing had happened.
        let saved = a.save();
        let mut restored = Profiler::restore(&saved).expect("what was saved");
        restored.add_block(&right, left.len() as u64);
        a.merge(b);
        let whole = summary(whole.finish());
        prop_assert_eq!(&whole, &summary(a.finish()));
        prop_assert_eq!(&whole, &summary(restored.finish()));
    }

    /// Restoring an altered profiler and continuing with it never panics.
    #[test]
    fn altered_states_are_refused_or_harmless(
        documents in prop::collection::vec(any_document(), 1..20),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let block = bytes(&documents);
        let mut profiler = Profiler::new();
        profiler.add_block(&block, 0);
        let mut state = profiler.save();
        prop_assert!(Profiler::restore(&state[..cut.index(state.len())]).is_none());
        let at = at.index(state.len());
        state[at] = byte;
        if let Some(mut altered) = Profiler::restore(&state) {
            altered.add_block(&block, 0);
            let links = altered.finish().links.save();
            prop_assert!(docward_profile::Links::restore(&links).is_some());
        }
    }
}
