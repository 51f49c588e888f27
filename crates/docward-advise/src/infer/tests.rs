//! Tests schemas inferred from generated collections on the documents they were inferred from.

use docward_bson::{json::parse_one, value::to_bytes};
use docward_model::{Collection, Evidence, Namespace, Settings};
use docward_profile::Profiler;
use docward_schema::Schema;
use proptest::prelude::*;

use super::*;
use docward_rules::type_changes;

fn profile(documents: &[Vec<u8>]) -> Profile {
    let mut profiler = Profiler::new();
    profiler.add_block(&documents.concat(), 0);
    let mut profile = profiler.finish().profile;
    profile.total = profile.documents;
    profile
}

/// The types that rules propose for these documents.
fn targets(profile: &Profile) -> Targets {
    let namespace = Namespace::new("db_shop", "t_order");
    let mut collection = Collection::named(namespace.clone());
    collection.profile = Some(profile.clone());
    let evidence = Evidence { collections: vec![collection], ..Evidence::default() };
    Targets::new(&type_changes(&evidence, &Settings::default()), &namespace)
}

fn read_off(documents: &[Vec<u8>], choices: &Choices) -> (Inferred, Schema) {
    let profile = profile(documents);
    let inferred = infer(&profile, &targets(&profile), choices);
    let schema = Schema::compile(&to_bytes(inferred.schema.entries()));
    let schema = schema.unwrap_or_else(|fault| panic!("{fault}: {:?}", inferred.schema));
    (inferred, schema)
}

fn documents(count: usize, each: impl Fn(usize) -> String) -> Vec<Vec<u8>> {
    (0..count).map(|n| parse_one(&each(n)).unwrap()).collect()
}

/// One property of the schema, in shell notation.
fn property(inferred: &Inferred, path: &[&str]) -> String {
    let mut at = &inferred.schema;
    for name in path {
        at = match *name {
            "[]" => at.get("items").unwrap(),
            name => at.get("properties").unwrap().get(name).unwrap(),
        };
    }
    docward_rules::facts::remedies::shell::value(at)
}

fn users(count: usize) -> Vec<Vec<u8>> {
    documents(count, |n| {
        format!(
            r#"{{"_id": {{"$oid": "{n:024x}"}}, "userName": "user{n}", "email": "u{n}@example.com",
                "age": {}, "status": "{}", "createTime": {{"$date": {n}}}, "tags": ["a", "b{}"]}}"#,
            18 + n % 70,
            ["active", "inactive", "deleted"][n % 3],
            n % 7
        )
    })
}

#[test]
fn coordinates_have_the_range_of_coordinates() {
    let stations = documents(200, |i| {
        let (lat, long, other) = (i % 60, i % 90, 190 + i % 90);
        format!(
            r#"{{"_id": {i}, "lat": {lat}.5, "at": {{"longitude": {long}.25}}, "long": {other}.5}}"#
        )
    });
    let (inferred, _) = read_off(&stations, &Choices::default());
    assert!(property(&inferred, &["lat"]).contains("minimum: -90, maximum: 90"));
    assert!(property(&inferred, &["at", "longitude"]).contains("minimum: -180, maximum: 180"));
    let open = property(&inferred, &["long"]);
    assert!(!open.contains("minimum") && !open.contains("maximum"), "{open}");
}

#[test]
fn dm_11_1_the_users_of_the_rule_book_are_described() {
    let documents = users(2000);
    let (inferred, schema) =
        read_off(&documents, &Choices { descriptions: false, ..Choices::default() });
    assert_eq!(
        property(&inferred, &["email"]),
        r#"{bsonType: "string", pattern: "^[^ \\t\\n\\f\\r@,]+@[A-Za-z0-9.-]+\\.[A-Za-z0-9-]{2,}$"}"#
    );
    assert_eq!(property(&inferred, &["age"]), r#"{bsonType: "int", minimum: 0, maximum: 1000}"#);
    assert_eq!(
        property(&inferred, &["status"]),
        r#"{bsonType: "string", enum: ["active", "deleted", "inactive"]}"#
    );
    assert_eq!(property(&inferred, &["createTime"]), r#"{bsonType: "date"}"#);
    assert_eq!(property(&inferred, &["_id"]), r#"{bsonType: "objectId"}"#);
    assert!(documents.iter().all(|document| schema.accepts(document).unwrap()));
    let bad = [
        r#"{"userName": "", "email": "u@example.com", "age": 20, "status": "active", "createTime": {"$date": 1}, "tags": []}"#,
        r#"{"userName": "u", "email": "u.example.com", "age": 20, "status": "active", "createTime": {"$date": 1}, "tags": []}"#,
        r#"{"userName": "u", "email": "u@example.com", "age": -1, "status": "active", "createTime": {"$date": 1}, "tags": []}"#,
        r#"{"userName": "u", "email": "u@example.com", "age": 1.5, "status": "active", "createTime": {"$date": 1}, "tags": []}"#,
        r#"{"userName": "u", "email": "u@example.com", "age": 20, "status": "x", "createTime": {"$date": 1}, "tags": []}"#,
        r#"{"userName": "u", "email": "u@example.com", "age": 20, "status": "active", "createTime": "2024", "tags": []}"#,
        r#"{"userName": "u", "email": "u@example.com", "age": 20, "status": "active", "tags": []}"#,
        r#"{"userName": "u", "email": "u@example.com", "age": 20, "status": "active", "createTime": {"$date": 1}, "tags": [1]}"#,
    ];
    for bad in bad {
        assert!(!schema.accepts(&parse_one(bad).unwrap()).unwrap(), "{bad}");
    }
}

#[test]
fn alg_10_a_tolerance_leaves_drift_out_and_counts_it() {
    let documents = documents(3000, |n| match n {
        0 => r#"{"_id": 0, "price": "99.00"}"#.to_owned(),
        1 => r#"{"_id": 1, "price": 5.5}"#.to_owned(),
        2 => r#"{"_id": 2}"#.to_owned(),
        n => format!(r#"{{"_id": {n}, "price": {{"$numberDecimal": "99.00"}}}}"#),
    });
    let (inferred, schema) = read_off(&documents, &Choices::default());
    // The double stays: drivers choose among numeric types by value.
    assert!(property(&inferred, &["price"]).contains(r#"bsonType: ["double", "decimal"]"#));
    let refused = documents.iter().filter(|document| !schema.accepts(document).unwrap()).count();
    assert_eq!(refused, 2);
    let told: u64 = inferred.reasons.iter().map(|reason| reason.refuses).sum();
    assert_eq!(told, 2);
    let (_, schema) = read_off(&documents, &Choices { tolerance: 0.0, ..Choices::default() });
    assert!(documents.iter().all(|document| schema.accepts(document).unwrap()));
}

#[test]
fn gc_52_numbers_keep_the_widths_drivers_choose_among() {
    let check = |value: &dyn Fn(usize) -> String, expected: &str| {
        let documents = documents(200, |n| format!(r#"{{"_id": {n}, "n": {}}}"#, value(n)));
        let choices = Choices { values: false, ..Choices::default() };
        let (inferred, _) = read_off(&documents, &choices);
        assert_eq!(property(&inferred, &["n"]), expected);
    };
    check(&|n| format!("{n}"), r#"{bsonType: "int"}"#);
    check(&|n| format!("{}", 1_500_000_000 + n), r#"{bsonType: ["int", "long"]}"#);
    check(&|n| format!("{n}.5"), r#"{bsonType: ["double", "int"]}"#);
    check(&|n| format!("{{\"$numberDouble\": \"{}\"}}", n as f64 / 2.0), r#"{bsonType: "double"}"#);
    let mixed = |n: usize| {
        if n.is_multiple_of(2) {
            n.to_string()
        } else {
            format!("{{\"$numberDouble\": \"{n}.0\"}}")
        }
    };
    check(
        &mixed,
        r#"{description: "Target type: int or long (T006). The validator also accepts double until stored values are converted", bsonType: ["double", "int", "long"], multipleOf: 1}"#,
    );
    check(
        &|n| if n.is_multiple_of(2) { "null".to_owned() } else { n.to_string() },
        r#"{bsonType: ["int", "null"]}"#,
    );
}

#[test]
fn alg_10_what_is_rare_or_grows_stays_open_and_is_told() {
    let documents = documents(500, |n| {
        let rare = if n == 7 { r#", "nick": "x""# } else { "" };
        format!(r#"{{"_id": {n}, "seq": {n}, "gone": null, "a.b": 1{rare}}}"#)
    });
    let (inferred, schema) = read_off(&documents, &Choices { strict: true, ..Choices::default() });
    let open: Vec<_> = inferred.undecided.iter().map(|open| open.path.as_str()).collect();
    assert_eq!(open, ["seq", "gone", "a.b", "nick"]);
    assert!(documents.iter().all(|document| schema.accepts(document).unwrap()));
    assert!(
        !schema.accepts(&parse_one(r#"{"seq": 1, "gone": null, "other": 1}"#).unwrap()).unwrap()
    );
}

/// Values as Extended JSON.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| format!("{{\"$numberLong\": \"{n}\"}}")),
        any::<f64>().prop_map(|n| if n.is_finite() {
            format!("{{\"$numberDouble\": \"{n:?}\"}}")
        } else {
            "{\"$numberDouble\": \"NaN\"}".to_owned()
        }),
        (0..50_i32).prop_map(|n| format!("{{\"$numberDecimal\": \"{n}.50\"}}")),
        "[a-c@.]{0,8}".prop_map(|text| format!("\"{text}\"")),
        Just("\"u@example.com\"".to_owned()),
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("{\"$date\": 5}".to_owned()),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|all| format!("[{}]", all.join(", "))),
            prop::collection::btree_map("[abc]", inner, 0..3).prop_map(object),
        ]
    })
}

fn object(fields: std::collections::BTreeMap<String, String>) -> String {
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    format!("{{{}}}", fields.join(", "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn alg_10_without_tolerance_every_document_is_accepted(
        documents in prop::collection::vec(prop::collection::btree_map("[abcd]", value(), 0..5).prop_map(object), 1..40),
        strict in any::<bool>(),
        depth in 0..6_u32,
    ) {
        // Repeated many times, so that nothing is too rare to be described.
        let documents: Vec<Vec<u8>> = documents.iter().map(|text| parse_one(text).unwrap()).collect();
        let documents: Vec<Vec<u8>> = (0..120).flat_map(|_| documents.iter().cloned()).collect();
        let (inferred, schema) = read_off(&documents, &Choices { tolerance: 0.0, strict, depth, ..Choices::default() });
        for document in &documents {
            prop_assert!(schema.accepts(document).unwrap(), "{}", docward_rules::facts::remedies::shell::value(&inferred.schema));
        }
    }

    /// A proposed pattern accepts every string of its class (GC-17).
    #[test]
    fn gc_17_patterns_accept_all_strings_of_their_class(
        text in prop_oneof![
            "[ -~]{1,10}@[a-zA-Z0-9.-]{1,12}\\.[a-z0-9-]{1,4}",
            "[0-9a-fA-F]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
            "[0-9a-fA-F]{24}", "[0-7][0-9A-HJKMNP-TV-Za-z]{25}", "(https?|ftp|s3|HTTP)://[ -~]{0,60}",
        ]
    ) {
        let bytes = to_bytes(&[("s".to_owned(), Value::Text(text.clone()))]);
        let many: Vec<_> = (0..20).map(|_| bytes.clone()).collect();
        let profile = profile(&many);
        let field = profile.field("s").unwrap().text.as_ref().unwrap();
        if let Some(format) = formats::format_of(field) {
            let body = [("properties".to_owned(), Value::Map(vec![("s".to_owned(), Value::Map(vec![word("pattern", format.pattern)]))]))];
            let schema = Schema::compile(&to_bytes(&body)).unwrap();
            prop_assert!(schema.accepts(&bytes).unwrap(), "{text:?} is no {}", format.name);
        }
    }
}

#[test]
fn dm_11_2_a_type_that_every_document_has_in_a_map_is_not_an_error() {
    let day = |n: i32| format!(", \"2024-{:02}-{:02}\": {n}", n / 28 + 1, n % 28 + 1);
    let days: String = (0..280).map(day).collect();
    let pages =
        documents(50, |n| format!(r#"{{"_id": {{"$oid": "{n:024x}"}}, "page": "p{n}"{days}}}"#));
    let (_, schema) = read_off(&pages, &Choices::default());
    assert!(pages.iter().all(|page| schema.accepts(page).unwrap()));
}
