//! Tests, without a server, the output for a model that has every pattern. Validators compile and
//! accept their examples, names are unique, and the same model always produces the same files.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use bson::{Bson, Document, doc};
use docward_design::{Bounds, Design, design, emit, example::example, maintain::scripts, read};
use docward_design::{CollectionPlan, Partial, validator::validator};
use docward_model::{DesignModel, ProfileName};
use docward_schema::Schema;

fn designed() -> (DesignModel, Design) {
    let model = read("all.yaml", include_str!("models/all.yaml")).unwrap();
    let design = design(&model, ProfileName::Vendor, &Bounds::default());
    (model, design)
}

fn collection<'d>(design: &'d Design, name: &str) -> &'d CollectionPlan {
    design.collections.iter().find(|collection| collection.name == name).unwrap_or_else(|| {
        let names: Vec<&str> = design.collections.iter().map(|c| c.name.as_str()).collect();
        panic!("{name} is none of {names:?}")
    })
}

fn schema(model: &DesignModel, collection: &CollectionPlan) -> Schema {
    let validator = validator(model, collection).unwrap();
    let schema = validator.get_document("$jsonSchema").unwrap();
    Schema::compile(&schema.to_vec().unwrap()).unwrap_or_else(|fault| panic!("{schema}: {fault:?}"))
}

fn takes(schema: &Schema, document: &Document) -> bool {
    schema.accepts(&document.to_vec().unwrap()).unwrap()
}

#[test]
fn alg_10_every_validator_takes_its_example_and_refuses_each_required_field_that_is_missing() {
    let (model, design) = designed();
    let mut refused = 0;
    for collection in &design.collections {
        if validator(&model, collection).is_none() {
            continue;
        }
        let schema = schema(&model, collection);
        let sample = example(&model, collection);
        let why = schema.explain(&sample.to_vec().unwrap()).unwrap();
        assert!(why.is_none(), "{}: {sample}: {why:?}", collection.name);
        for field in collection.fields.iter().filter(|field| field.required) {
            let mut less = sample.clone();
            less.remove(&field.name);
            assert!(!takes(&schema, &less), "{} without {}", collection.name, field.name);
            let mut wrong = sample.clone();
            wrong.insert(&field.name, Bson::MinKey);
            assert!(!takes(&schema, &wrong), "{} with a wrong {}", collection.name, field.name);
            refused += 1;
        }
    }
    assert!(refused > 40, "{refused}");
}

#[test]
fn gc_30_a_time_series_has_no_validator() {
    let (model, design) = designed();
    let series = collection(&design, "t_metric");
    assert_eq!(validator(&model, series), None);
    let options = emit::options(&model, series);
    let wanted = doc! {
        "timeseries": { "timeField": "timestamp", "metaField": "host", "granularity": "minutes" },
        "expireAfterSeconds": 7_776_000,
    };
    assert_eq!(options, wanted);
}

#[test]
fn dm_08_1_lists_end_where_the_design_says() {
    let (model, design) = designed();
    for (name, path, most) in [
        ("t_post", "recentComments", 3),
        ("t_product", "recentReviews", 5),
        ("t_order", "auditLog", 100),
        ("t_order", "items", 20),
        ("t_book", "purchasers", 1000),
        ("t_book_purchaser_overflow", "purchasers", 1000),
        ("t_reading", "readings", 60),
    ] {
        let plan = collection(&design, name);
        let schema = schema(&model, plan);
        let mut sample = example(&model, plan);
        let one = sample.get_array(path).unwrap()[0].clone();
        sample.insert(path, vec![one.clone(); most]);
        assert!(takes(&schema, &sample), "{name}.{path} of {most}");
        sample.insert(path, vec![one; most + 1]);
        assert!(!takes(&schema, &sample), "{name}.{path} of {}", most + 1);
    }
}

#[test]
fn pt_poly_1_each_kind_has_its_own_fields() {
    let (model, design) = designed();
    let plan = collection(&design, "t_vehicle");
    let schema = schema(&model, plan);
    let mut sample = example(&model, plan);
    assert_eq!(sample.get_str("type").unwrap(), "car");
    sample.insert("type", "truck");
    assert!(!takes(&schema, &sample), "a truck has a payload");
    sample.insert("payload", 900);
    assert!(takes(&schema, &sample));
    sample.insert("type", "bicycle");
    assert!(!takes(&schema, &sample));
}

#[test]
fn gc_52_whole_numbers_come_as_int_or_long_and_counts_are_not_negative() {
    let (model, design) = designed();
    let plan = collection(&design, "t_product");
    let schema = schema(&model, plan);
    for (count, fine) in [(Bson::Int32(3), true), (Bson::Int64(3), true), (Bson::Int32(-1), false)]
    {
        let mut sample = example(&model, plan);
        sample.insert("reviewCount", count.clone());
        assert_eq!(takes(&schema, &sample), fine, "{count}");
    }
}

#[test]
fn st_28_examples_agree_with_themselves() {
    let (model, design) = designed();
    let product = example(&model, collection(&design, "t_product"));
    let shown = product.get_array("recentReviews").unwrap();
    assert_eq!(product.get_i64("reviewCount").unwrap(), shown.len() as i64);
    let ratings: Vec<i32> =
        shown.iter().map(|one| one.as_document().unwrap().get_i32("rating").unwrap()).collect();
    assert_eq!(product.get_i64("ratingSum").unwrap(), i64::from(ratings.iter().sum::<i32>()));
    let dates: Vec<_> =
        shown.iter().map(|one| *one.as_document().unwrap().get_datetime("date").unwrap()).collect();
    assert!(dates.is_sorted_by(|a, b| a >= b), "newest first");
    let bucket = example(&model, collection(&design, "t_reading"));
    assert_eq!(
        bucket.get_i32("count").unwrap() as usize,
        bucket.get_array("readings").unwrap().len()
    );
    let stats = bucket.get_document("stats").unwrap();
    assert_eq!(stats.get_f64("tempSum").unwrap(), 21.5 + 22.5);
}

#[test]
fn sn_05_gc_36_one_update_pushes_sorts_cuts_and_counts() {
    let (model, design) = designed();
    let scripts = scripts(&model, &design, ProfileName::Vendor);
    let script = scripts.iter().find(|script| script.about == "post.comments").unwrap();
    let add = script.jobs.iter().find(|job| job.name == "addComment").unwrap();
    let statements = add.statements();
    let update = statements.iter().find(|s| s.collection == "t_post").unwrap();
    let change = update.update_part().unwrap().as_document().unwrap();
    let push = change.get_document("$push").unwrap().get_document("recentComments").unwrap();
    assert_eq!(push.get_document("$sort").unwrap(), &doc! { "createTime": -1, "commentId": -1 });
    assert_eq!(push.get_i32("$slice").unwrap(), 3);
    assert!(push.to_string().contains("createTime"), "elements carry what they are sorted by");
    assert_eq!(change.get_document("$inc").unwrap(), &doc! { "commentCount": 1 });
}

#[test]
fn gc_37_one_open_bucket_and_no_pair_twice() {
    let (_, design) = designed();
    let open = collection(&design, "t_reading").indexes.iter().find(|i| i.only.is_some()).unwrap();
    assert!(open.unique);
    assert_eq!(open.only, Some(Partial::Below("count".to_owned(), 60)));
    let pairs = collection(&design, "t_user_followee");
    assert!(pairs.indexes.iter().any(|index| index.unique && index.keys.len() == 2));
}

#[test]
fn no_two_functions_share_a_name_and_files_are_the_same_every_time() {
    let (model, design) = designed();
    let mut names: Vec<String> = scripts(&model, &design, ProfileName::Vendor)
        .into_iter()
        .flat_map(|script| script.jobs.into_iter().map(|job| job.name))
        .collect();
    names.sort();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all, "{names:?}");
    let files = emit::files(&model, &design, ProfileName::Vendor);
    assert_eq!(files, emit::files(&model, &design, ProfileName::Vendor));
    let readme = &files.iter().find(|(path, _)| path == "README.md").unwrap().1;
    // ALG-3: 80 % of 3,000 connections for 25 clients.
    for part in [
        "| `maxPoolSize` | 96 | CN-03.1 |",
        "80 % of 3,000 connections / 25 clients = 96 each (CN-03.1, ALG-3)",
        "maxPoolSize=96&minPoolSize=10&maxIdleTimeMS=120000",
        "--pool 96 --min-pool 10",
    ] {
        assert!(readme.contains(part), "{part} in {readme}");
    }
    for (path, _) in &files {
        let parts: Vec<&str> = path.split('/').collect();
        assert!(parts.len() <= 2 && !parts.contains(&".."), "{path}");
    }
}
