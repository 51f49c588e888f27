//! Tests the sensors and the catalogue.

use docward_design::{Pattern, Purpose, StorageAlternative, Verdict, Vote, Window};
use docward_model::BsonType;

use crate::common::{gallery, gallery_with};

#[test]
fn st_08_pt_ts_1_readings_are_a_time_series_from_5_0_on() {
    for version in ["5.0", "6.0", "7.0", "8.0"] {
        let iot = gallery_with("iot", "server: \"7.0\"", &format!("server: \"{version}\""));
        let expected = Pattern::TimeSeries {
            time: "time".to_owned(),
            meta: vec!["device".to_owned()],
            granularity: "minutes",
        };
        assert_eq!(iot.advice("reading").patterns, [expected], "{version}");
        let purpose = &iot.collection("reading").purpose;
        assert!(
            matches!(purpose, Purpose::TimeSeries { meta, .. } if meta == "deviceId"),
            "{purpose:?}"
        );
        // GC-30: a time series supports no validator.
        assert!(!purpose.takes_validator());
    }
}

#[test]
fn pt_ts_1_the_server_brings_the_index_on_meta_field_and_time_from_6_3_on() {
    assert!(gallery("iot").indexes("reading").is_empty());
    let older = gallery_with("iot", "server: \"7.0\"", "server: \"6.0\"");
    assert_eq!(older.indexes("reading"), ["{ deviceId: 1, time: 1 }"]);
}

#[test]
fn st_08_st_23_pt_bucket_1_on_4_4_an_hour_is_a_bucket() {
    let iot = gallery_with("iot", "server: \"7.0\"", "server: \"4.4\"");
    let [Pattern::Bucket(bucket)] = iot.advice("reading").patterns.as_slice() else {
        panic!("{:?}", iot.advice("reading"))
    };
    assert_eq!((bucket.window, bucket.most), (Window::Hour, 60));
    assert_eq!(bucket.per_year, (8760, 525_600), "60 times fewer documents");
    assert!(bucket.bytes < 102_400);
    assert_eq!(
        iot.advice("reading").remarks,
        ["time series need MongoDB 5.0, and the server is 4.4"]
    );
    let plan = iot.collection("reading");
    assert_eq!(plan.documents, Some((5e9_f64 / 60.0).ceil()));
    for path in ["stats.temperatureMin", "stats.temperatureMax", "stats.temperatureSum"] {
        assert_eq!(iot.field("reading", path).kind, BsonType::Double);
    }
    assert!(plan.purpose.takes_validator());
}

#[test]
fn er_t_5_a_device_never_lists_what_it_reports() {
    let iot = gallery("iot");
    for name in ["device.readings", "device.logs"] {
        assert_eq!(iot.verdict(name), Verdict::Reference);
        assert_eq!(iot.named(name), ["parent-id-in-child"]);
        assert!(iot.votes(name, "ER-T.5").contains(&Vote::Veto));
    }
    assert_eq!(iot.field("log_entry", "deviceId").kind, BsonType::ObjectId);
    assert!(iot.collection("device").fields.iter().all(|field| field.items.is_none()));
    assert_eq!(
        iot.indexes("log_entry"),
        ["{ deviceId: 1, time: -1 }", "{ level: 1, time: -1 }", "{ time: 1 } for 15552000 s",]
    );
}

#[test]
fn pt_poly_1_pt_poly_2_sn_09_vehicles_share_a_collection_and_kinds_have_partial_indexes() {
    let catalogue = gallery("catalogue");
    let expected = Pattern::Polymorphic { discriminator: "type".to_owned() };
    assert_eq!(catalogue.advice("vehicle").patterns, [expected]);
    assert_eq!(
        catalogue.indexes("vehicle"),
        [
            "{ maker: 1, price: 1 }",
            "{ payload_kg: 1 } where type is truck",
            "{ engine_cc: 1 } where type is motorcycle",
        ]
    );
    let trucks = &catalogue.collection("vehicle").indexes[1];
    assert_eq!(trucks.notes, ["queries must name `type` to use it"]);
    assert!(catalogue.field("vehicle", "maker").required);
    assert!(!catalogue.field("vehicle", "payload_kg").required);
}

#[test]
fn attributes_that_are_searched_alike_share_one_index() {
    let catalogue = gallery("catalogue");
    let names: Vec<&str> = catalogue.advice("product").patterns.iter().map(Pattern::name).collect();
    assert_eq!(names, ["attribute"]);
    assert!(catalogue.find("product", "colour").is_none());
    assert_eq!(catalogue.field("product", "attributes.v").kind, BsonType::String);
    let indexes = catalogue.indexes("product");
    assert!(indexes.contains(&"{ attributes.k: 1, attributes.v: 1 }".to_owned()), "{indexes:?}");
}

#[test]
fn st_25_pt_outlier_1_a_bestseller_overflows_into_pages_of_1000() {
    let catalogue = gallery("catalogue");
    let purchasers = catalogue.decision("book.purchasers");
    assert_eq!(purchasers.verdict, Verdict::Embed);
    assert_eq!(purchasers.patterns, [Pattern::Embedded, Pattern::Outlier { page: 1000 }]);
    assert_eq!(catalogue.field("book", "has_overflow").kind, BsonType::Bool);
    assert_eq!(catalogue.field("book", "purchasers").items.unwrap().max, 1000);
    // The largest parent in the table is as large as the largest stored document, except for the
    // flag. Further elements are on pages.
    let embed =
        purchasers.alternatives.iter().find(|a| a.way == StorageAlternative::Embed).unwrap();
    let stored = catalogue.design.capacity.iter().find(|c| c.collection == "book").unwrap();
    assert!(stored.document.2.abs_diff(embed.parent[0].3) < 20, "{:?}", embed.parent);
    let pages = catalogue.collection("book_purchaser_overflow");
    assert_eq!(pages.purpose, Purpose::Overflow("book.purchasers".to_owned()));
    assert_eq!(catalogue.indexes("book_purchaser_overflow"), ["{ book_id: 1, page: 1 } unique"]);
}

#[test]
fn st_35_pt_computed_2_ratings_and_revenue_are_kept_with_the_movie() {
    let catalogue = gallery("catalogue");
    assert_eq!(
        catalogue.patterns("movie.ratings"),
        [
            Pattern::ParentInChild,
            Pattern::Computed { counts: true, sums: vec!["stars".to_owned()] }
        ]
    );
    for (path, kind) in [
        ("rating_count", BsonType::Long),
        ("stars_sum", BsonType::Long),
        ("stars_average", BsonType::Double),
        ("revenue_sum", BsonType::Decimal),
    ] {
        assert_eq!(catalogue.field("movie", path).kind, kind, "{path}");
    }
}

#[test]
fn a_tree_of_categories_knows_parent_and_ancestors() {
    let catalogue = gallery("catalogue");
    assert_eq!(catalogue.verdict("category.subcategories"), Verdict::Reference);
    assert_eq!(
        catalogue.patterns("category.subcategories"),
        [Pattern::Tree, Pattern::ParentInChild]
    );
    assert_eq!(catalogue.indexes("category"), ["{ parent_id: 1 }", "{ ancestors: 1 }"]);
    assert!(!catalogue.field("category", "parent_id").required, "the root has none");
    assert_eq!(catalogue.named("product.category"), ["child-ids-in-parent", "extended-reference"]);
    assert_eq!(catalogue.field("product", "category.name").kind, BsonType::String);
}
