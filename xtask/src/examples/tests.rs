//! Tests of the examples: they decode, they are small, they are the same on every run, and the
//! clean shop satisfies its own validators.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use bson::{Bson, Document};

use super::dump::{Collection, Dump, File};
use super::schema::Format;
use super::{clean, files, root, shop, stale};

// Generated once for all tests: millions of values take some time.
static DUMPS: LazyLock<[Dump; 2]> = LazyLock::new(dumps);
static FILES: LazyLock<BTreeMap<String, File>> = LazyLock::new(|| files(&*DUMPS).unwrap());

fn dumps() -> [Dump; 2] {
    [shop::dump(), clean::dump()]
}

#[test]
fn committed_files_are_fresh() {
    assert_eq!(stale(&root(), &FILES).unwrap(), Vec::<String>::new(), "run `cargo xtask examples`");
}

#[test]
fn two_runs_are_the_same_and_small() {
    let again = files(&dumps()).unwrap();
    assert!(again == *FILES, "another run gives other files");
    let first: Vec<(&String, Vec<u8>)> =
        FILES.iter().map(|(path, file)| (path, file.packed().unwrap())).collect();
    for ((path, bytes), file) in first.iter().zip(again.values()) {
        assert!(*bytes == file.packed().unwrap(), "{path} is packed in two ways");
    }
    let bytes = |of: &str| -> usize {
        first.iter().filter(|(path, _)| path.starts_with(of)).map(|(_, bytes)| bytes.len()).sum()
    };
    assert!(bytes("shop/") < 5_000_000, "{}", bytes("shop/"));
    assert!(bytes("shop-clean/") < 1_000_000, "{}", bytes("shop-clean/"));
}

#[test]
fn every_document_decodes_and_ids_are_unique() {
    for (path, file) in &*FILES {
        if !path.trim_end_matches(".gz").ends_with(".bson") {
            continue;
        }
        let mut rest = file.content.as_slice();
        let mut ids = BTreeSet::new();
        while !rest.is_empty() {
            let before = rest.len();
            let document = Document::from_reader(&mut rest).unwrap();
            assert!(before - rest.len() < 16_777_216, "{path}");
            let id = document.get("_id").unwrap_or_else(|| panic!("{path}: no _id"));
            assert!(ids.insert(id.to_string()), "{path}: {id} comes twice");
        }
        assert!(!ids.is_empty(), "{path} is empty");
    }
}

#[test]
fn the_stories_have_their_figures() {
    let [shop, _] = &*DUMPS;
    let find = |name: &str| -> &Collection {
        shop.collections.iter().find(|c| c.namespace() == name).unwrap_or_else(|| panic!("{name}"))
    };
    let longest = |name: &str, field: &str| {
        find(name).documents.iter().filter_map(|d| d.get_array(field).ok()).map(Vec::len).max()
    };
    let largest =
        |name: &str| find(name).documents.iter().map(|d| d.to_vec().unwrap().len()).max().unwrap();
    // ST-05: a core document over 1 MB, and none that the server would refuse.
    assert!((1_048_577..10_485_760).contains(&largest("db_shop.t_user")));
    assert!(longest("db_shop.t_user", "posts") > Some(3000));
    assert_eq!(longest("db_shop.t_user_order_list", "orders"), Some(1024));
    assert!(longest("db_iot.t_device", "readings") > Some(4000));
    assert_eq!(longest("db_social.t_account", "followers"), Some(12_000));
    assert!(longest("db_social.t_chat_room", "messages") > Some(2000));
    assert!(longest("db_shop.t_book_sale", "customersPurchased") > Some(2500));
    assert_eq!(longest("db_shop.t_product_page", "reviews"), Some(2847));
    assert_eq!(shop.collections.iter().filter(|c| c.database == "db_telemetry").count(), 110);
    assert!(find("db_iot.t_sensor_reading").documents.len() > 10_000);
    // ST-24: 80 % and 60 %, the latter of 200 countries.
    let share = |name: &str, field: &str, word: &str| {
        let all = &find(name).documents;
        all.iter().filter(|d| d.get_str(field).is_ok_and(|found| found == word)).count() * 100
            / all.len()
    };
    assert_eq!(share("db_shop.t_subscription", "status", "active"), 80);
    assert_eq!(share("db_shop.t_visitor", "country", "US"), 60);
    let countries: BTreeSet<&str> =
        find("db_shop.t_visitor").documents.iter().flat_map(|d| d.get_str("country")).collect();
    assert_eq!(countries.len(), 200);
    // ST-28: the counter agrees with the reviews, and the preview contains five.
    let headphones = &find("db_shop.t_product").documents[0];
    assert_eq!(headphones.get_i32("reviewCount").unwrap(), 2847);
    assert_eq!(headphones.get_array("recentReviews").unwrap().len(), 5);
    assert_eq!(headphones.get_f64("avgRating").unwrap(), 4.3);
}

/// PT-outlier.1: the first page has a thousand, then pages 2 and 3 with 1,000 and 500.
#[test]
fn pt_outlier_pages_add_up() {
    let [_, clean] = &*DUMPS;
    let pages = clean.collections.iter().find(|c| c.name == "t_book_page").unwrap();
    let lengths: Vec<(i32, usize)> = pages
        .documents
        .iter()
        .map(|d| (d.get_i32("page").unwrap(), d.get_array("customersPurchased").unwrap().len()))
        .collect();
    assert_eq!(lengths, [(2, 1000), (3, 500)]);
}

#[test]
fn older_documents_are_longer_where_arrays_grow() {
    let [shop, _] = &*DUMPS;
    for (name, field) in [
        ("db_shop.t_user", "posts"),
        ("db_iot.t_device", "readings"),
        ("db_social.t_chat_room", "messages"),
        ("db_shop.t_order_workflow", "auditLog"),
    ] {
        let collection = shop.collections.iter().find(|c| c.namespace() == name).unwrap();
        let lengths: Vec<usize> =
            collection.documents.iter().map(|d| d.get_array(field).unwrap().len()).collect();
        let half = lengths.len() / 2;
        let sum = |part: &[usize]| part.iter().sum::<usize>();
        assert!(sum(&lengths[..half]) > 3 * sum(&lengths[half..]), "{name}");
        let times: Vec<i64> = collection
            .documents
            .iter()
            .map(|d| d.get_object_id("_id").unwrap().timestamp().timestamp_millis())
            .collect();
        assert!(times.is_sorted(), "{name}");
    }
}

#[test]
fn documents_satisfy_their_validators() {
    for dump in &*DUMPS {
        for collection in &dump.collections {
            let schema = collection
                .options
                .get_document("validator")
                .and_then(|validator| validator.get_document("$jsonSchema"));
            let Ok(schema) = schema else {
                let exempt = dump.name == "shop" || collection.options.contains_key("timeseries");
                assert!(exempt, "{} has no validator", collection.namespace());
                continue;
            };
            // Validators that are intentionally wrong.
            if collection
                .cases
                .iter()
                .any(|c| c.rules.contains(&"V005") || c.rules.contains(&"V006"))
            {
                continue;
            }
            for document in &collection.documents {
                if let Err(fault) = validate(&Bson::Document(document.clone()), schema, "") {
                    panic!("{}: {fault}", collection.namespace());
                }
            }
        }
    }
}

#[test]
fn every_namespace_has_at_most_one_case() {
    for dump in &*DUMPS {
        let mut seen = BTreeSet::new();
        for case in dump.all_cases() {
            assert!(
                case.uri.is_some() || seen.insert(&case.namespace),
                "{} has two cases",
                case.namespace
            );
            assert!(case.rules.is_sorted(), "{}", case.namespace);
            assert!(dump.name == "shop" || case.rules.is_empty(), "{}", case.namespace);
        }
    }
}

/// The part of JSON Schema that the examples use, with the server's semantics.
fn validate(value: &Bson, schema: &Document, path: &str) -> Result<(), String> {
    let fail = |what: &str| Err(format!("`{path}` {what}: {value}"));
    if let Ok(wanted) = schema.get_str("bsonType")
        && type_name(value) != wanted
    {
        return fail(&format!("is not {wanted}"));
    }
    if let Ok(words) = schema.get_array("enum")
        && !words.contains(value)
    {
        return fail("is no word of the list");
    }
    if let Bson::String(text) = value {
        let length = text.chars().count() as i32;
        let (min, max) = (schema.get_i32("minLength"), schema.get_i32("maxLength"));
        if min.is_ok_and(|min| length < min) || max.is_ok_and(|max| length > max) {
            return fail("has a wrong length");
        }
        if let Ok(pattern) = schema.get_str("pattern")
            && !matches(text, pattern)
        {
            return fail("does not match");
        }
    }
    if let Some(n) = number(value) {
        let bound = |key: &str| schema.get(key).and_then(number);
        if bound("minimum").is_some_and(|min| n < min)
            || bound("maximum").is_some_and(|max| n > max)
        {
            return fail("is out of range");
        }
    }
    if let Bson::Array(items) = value {
        if schema.get_i32("maxItems").is_ok_and(|max| items.len() > max as usize) {
            return fail("is too long");
        }
        if let Ok(node) = schema.get_document("items") {
            for item in items {
                validate(item, node, &format!("{path}[]"))?;
            }
        }
    }
    if let Bson::Document(document) = value {
        for name in schema.get_array("required").into_iter().flatten().filter_map(Bson::as_str) {
            if !document.contains_key(name) {
                return fail(&format!("lacks {name}"));
            }
        }
        if let Ok(properties) = schema.get_document("properties") {
            for (name, value) in document {
                match properties.get_document(name) {
                    Ok(node) => validate(value, node, &format!("{path}.{name}"))?,
                    // Branches describe only a part; whole schemas describe every field.
                    Err(_)
                        if schema
                            .get_document("properties")
                            .is_ok_and(|p| p.contains_key("_id")) =>
                    {
                        return fail(&format!("has {name}, of which the schema says nothing"));
                    }
                    Err(_) => {}
                }
            }
        }
    }
    if let Ok(branches) = schema.get_array("oneOf") {
        let holding = branches
            .iter()
            .filter_map(Bson::as_document)
            .filter(|branch| validate(value, branch, path).is_ok())
            .count();
        if holding != 1 {
            return fail(&format!("satisfies {holding} branches"));
        }
    }
    Ok(())
}

fn type_name(value: &Bson) -> &'static str {
    match value {
        Bson::Double(_) => "double",
        Bson::String(_) => "string",
        Bson::Document(_) => "object",
        Bson::Array(_) => "array",
        Bson::Binary(_) => "binData",
        Bson::ObjectId(_) => "objectId",
        Bson::Boolean(_) => "bool",
        Bson::DateTime(_) => "date",
        Bson::Int32(_) => "int",
        Bson::Int64(_) => "long",
        Bson::Decimal128(_) => "decimal",
        _ => "other",
    }
}

fn number(value: &Bson) -> Option<f64> {
    match value {
        Bson::Double(n) => Some(*n),
        Bson::Int32(n) => Some(f64::from(*n)),
        Bson::Int64(n) => Some(*n as f64),
        Bson::Decimal128(n) => n.to_string().parse().ok(),
        _ => None,
    }
}

/// The patterns of the examples, matched by hand, because five patterns do not justify a regular
/// expression engine.
fn matches(text: &str, pattern: &str) -> bool {
    let known = [Format::Email, Format::Phone, Format::Country, Format::OrderNumber, Format::Uuid];
    let format = known.into_iter().find(|f| f.pattern() == pattern).expect("a known pattern");
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    match format {
        Format::Email => text.split_once('@').is_some_and(|(name, domain)| {
            let plain = |t: &str| {
                t.bytes().all(|b| {
                    b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'%' | b'+' | b'-')
                })
            };
            let end = domain.rsplit_once('.').map_or("", |(_, end)| end);
            !name.is_empty() && plain(name) && plain(domain) && end.len() >= 2
        }),
        Format::Phone => text.len() == 11 && text.starts_with('1') && digits(text),
        Format::Country => text.len() == 2 && text.bytes().all(|b| b.is_ascii_uppercase()),
        Format::OrderNumber => {
            text.strip_prefix("ORD").is_some_and(|n| (9..=14).contains(&n.len()) && digits(n))
        }
        Format::Uuid => {
            text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
                && text
                    .bytes()
                    .all(|b| b == b'-' || b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        }
    }
}
