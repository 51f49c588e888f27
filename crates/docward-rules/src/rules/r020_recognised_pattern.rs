//! PT-bucket.3, PT-subset.1, PT-outlier.1, PT-slice.1, PT-hybrid.1, PT-computed.1, PT-extref.1, PT-poly.1, PT-ts.1:
//! patterns that a collection already follows.

use docward_model::{Collection, Draft, FieldShape, Profile, Seen, Subject, Unit};

use crate::facts::{
    growth::{arrays, patterns},
    names, text,
};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Recognised pattern
    ///
    /// ## What it checks
    /// Names, as a note, the patterns of the rule book that a collection already follows:
    /// - bucket, subset, hybrid, outlier and capped array
    /// - computed fields and extended reference
    /// - polymorphic collection and native time series
    ///
    /// Docward recognises them by shape and numbers, not by names alone. An array is not a capped array if the
    /// workload or the code adds to it without `$slice`.
    ///
    /// ## Why it matters
    /// A pattern that is used on purpose should be kept, and other rules should not report it. The finding shows
    /// what they took into account.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_iot.t_reading
    /// x30 {"_id": $i, "sensorId": "S1", "hour": ISODate("2024-03-01T10:00:00Z"), "count": 60, "readings": $array(60, {"minute": $j, "temp": 22.5})}
    /// ```
    /// ```jsonl,clean,ns=db_iot.t_sensor
    /// x30 {"_id": $i, "name": "roof", "serial": "A$i"}
    /// ```
    ///
    /// ## How to fix
    /// No change is required. The finding names what keeps the pattern intact, such as the guard of a bucket or
    /// the `$slice` of a preview.
    ///
    /// ## When to ignore it
    /// Use `--ignore R020` if you do not need this information.
    R020, "recognised-pattern",
    level: Information,
    area: Hygiene,
    clauses: [
        "PT-bucket.3", "PT-subset.1", "PT-outlier.1", "PT-slice.1", "PT-hybrid.1", "PT-computed.1",
        "PT-extref.1", "PT-poly.1", "PT-ts.1",
    ],
    maturity: Stable,
    scope: Everywhere,
    needs: [],
    thresholds: [],
    data: ["clauses", "patterns"],
    check: Collection(check),
}

/// A pattern that was recognised.
struct Pattern {
    clause: &'static [&'static str],
    name: &'static str,
    /// A description of the pattern.
    seen: String,
    /// The advice that keeps the pattern intact.
    keep: String,
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let mut found: Vec<Pattern> = Vec::new();
    found.extend(time_series(collection));
    if let Some(profile) = patterns::user_documents(collection)
        && profile.documents > 0
        && found.is_empty()
    {
        found.extend(bucket(profile));
        found.extend(outlier(collection, profile, cx));
        found.extend(lists(collection, profile, cx));
        found.extend(computed(collection, profile, cx));
        found.extend(extended_reference(collection, cx));
        found.extend(polymorphic(profile));
    }
    let Some(first) = found.first() else { return };
    let clause = first.clause;
    let seen: Vec<String> = found.iter().map(|p| format!("{} ({})", p.name, p.seen)).collect();
    let keep: Vec<String> = found.iter().map(|p| p.keep.clone()).collect();
    let names: Vec<&str> = found.iter().map(|p| p.name).collect();
    let clauses: Vec<&str> = found.iter().flat_map(|p| p.clause.iter().copied()).collect();
    cx.report(
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            format!(
                "follows {}: {}",
                if found.len() == 1 { "a pattern" } else { "patterns" },
                seen.join(", ")
            ),
            "this is a recommended pattern, and other rules take it into account",
            format!("no change is needed; {}", keep.join("; ")),
            collection
                .profile
                .as_ref()
                .map_or_else(|| Seen::all(1, Unit::Collections), Profile::seen),
        )
        .data("patterns", names)
        .data("clauses", clauses)
        .clauses(clause),
    );
}

fn time_series(collection: &Collection) -> Option<Pattern> {
    if !patterns::is_time_series(collection) {
        return None;
    }
    let options = collection.options.as_ref().and_then(|o| o.time_series.as_ref());
    Some(Pattern {
        clause: &["PT-ts.1"],
        name: "time series",
        seen: options.map_or_else(
            || "native".to_owned(),
            |o| {
                let meta = o.meta_field.as_deref().unwrap_or("none");
                format!("native, timeField `{}`, metaField `{meta}`", o.time_field)
            },
        ),
        keep: "keep the order of fields constant, and insert in batches by metaField".to_owned(),
    })
}

fn bucket(profile: &Profile) -> Option<Pattern> {
    // The rules on arrays report buckets that never close.
    let bucket = patterns::bucket(profile).filter(|b| b.closed)?;
    let array = &profile.fields[bucket.array];
    let lengths = &array.array.as_ref()?.lengths;
    let cap = text::count(bucket.cap);
    Some(Pattern {
        clause: &["PT-bucket.3"],
        name: "bucket",
        seen: format!(
            "`{}` per `{}`, {} at most, {:.0} on average{}",
            array.path,
            bucket.period,
            text::plural(bucket.cap, "element"),
            lengths.mean(),
            bucket.counter.as_ref().map_or_else(String::new, |c| format!(", counted in `{c}`")),
        ),
        keep: match &bucket.counter {
            Some(counter) => {
                format!("keep the condition `{counter}` below {cap} in the filter of every push")
            }
            None => "add a counter, and test it in the filter of every push".to_owned(),
        },
    })
}

fn outlier(collection: &Collection, profile: &Profile, cx: &Cx<'_>) -> Option<Pattern> {
    let clause: &'static [&'static str] = &["PT-outlier.1"];
    if let Some(flag) = patterns::overflow_flag(profile) {
        return Some(Pattern {
            clause,
            name: "outlier",
            seen: format!("`{}` marks documents with overflow pages", flag.path),
            keep: "keep the array in the document within one page".to_owned(),
        });
    }
    let page = patterns::overflow_page(profile)?;
    let array = profile.top_level().find(|f| f.array.is_some())?;
    let longest = array.array.as_ref()?.lengths.max;
    // Pages of another kind (a book's, a crawler's) do not continue an array of another collection.
    let continues = cx.evidence().collections.iter().any(|c| {
        c.namespace.database == collection.namespace.database
            && c.namespace != collection.namespace
            && c.profile
                .as_ref()
                .and_then(|p| p.field(array.path.as_str()))
                .is_some_and(|f| f.array.is_some())
    });
    if longest > patterns::PAGE || !continues {
        return None;
    }
    Some(Pattern {
        clause,
        name: "outlier pages",
        seen: format!(
            "`{}` is the page number; a page has at most {}",
            page.path,
            text::plural(longest, "element")
        ),
        keep: "keep a unique index on the parent's id and the page".to_owned(),
    })
}

/// Previews and capped arrays; a preview with a counter beyond it is the hybrid form.
fn lists(collection: &Collection, profile: &Profile, cx: &Cx<'_>) -> Vec<Pattern> {
    let mut found = Vec::new();
    let limit = arrays::Limits::of(cx.settings(), &collection.namespace).elements;
    let bucketed = patterns::bucket(profile).map(|b| b.array);
    for (at, field) in profile.fields.iter().enumerate() {
        let Some(array) = &field.array else { continue };
        if Some(at) == bucketed
            || field.shape != FieldShape::Named
            || patterns::is_geometry(profile, field)
        {
            continue;
        }
        if let Some(preview) = patterns::preview(profile, field) {
            let n = preview.length;
            found.push(match preview.counter {
                Some(counter) => Pattern {
                    clause: &["PT-hybrid.1", "PT-subset.1"],
                    name: "hybrid",
                    seen: format!("`{}` holds at most {n} elements, and `{counter}` counts all", field.path),
                    keep: format!("use $slice in every push to `{}`, and increment `{counter}` in the same update", field.path.dotted()),
                },
                None => Pattern {
                    clause: &["PT-subset.1"],
                    name: "subset",
                    seen: format!("`{}` holds at most {n} elements", field.path),
                    keep: format!("use $slice in every push to `{}`", field.path.dotted()),
                },
            });
        } else if let Some(cap) = patterns::capped_at(&array.lengths)
            // Short lists end at round numbers by chance. D009 reports long ones.
            && cap >= 10
            && array.lengths.max < limit
            && !patterns::is_new_length(field, cap)
            // Arrays without a cap in the code end there by chance. W007 and D020 report them.
            && !patterns::is_appended_without_cap(cx.evidence(), &collection.namespace, field)
        {
            found.push(Pattern {
                clause: &["PT-slice.1"],
                name: "capped array",
                seen: format!("`{}` never has more than {} elements", field.path, text::count(cap)),
                keep: match patterns::validator_cap(collection, &field.path, array.lengths.max) {
                    Some(_) => format!("the validator limits `{}`", field.path.dotted()),
                    None => format!(
                        "set `maxItems` {} for `{}` in the validator",
                        text::count(cap),
                        field.path.dotted()
                    ),
                },
            });
        }
    }
    found.truncate(3);
    found
}

fn computed(collection: &Collection, profile: &Profile, cx: &Cx<'_>) -> Option<Pattern> {
    let fields = patterns::computed_fields(
        &cx.shared("entities", patterns::Entities::of),
        &collection.namespace,
        profile,
    );
    let bucket = patterns::bucket(profile);
    let fields: Vec<&str> = fields
        .iter()
        // A bucket's counter and statistics are part of the bucket.
        .filter(|_| bucket.is_none())
        .map(|p| p.as_str())
        .collect();
    (!fields.is_empty()).then(|| Pattern {
        clause: &["PT-computed.1"],
        name: "computed",
        seen: text::list(&fields, 3),
        keep: "update computed fields in the same statement as their source".to_owned(),
    })
}

fn extended_reference(collection: &Collection, cx: &Cx<'_>) -> Option<Pattern> {
    let all = patterns::extended_references(cx.evidence(), &collection.namespace);
    let one = all.iter().find(|e| e.copies.len() <= 3)?;
    let copies: Vec<&str> = one.copies.iter().map(|p| p.as_str()).collect();
    Some(Pattern {
        clause: &["PT-extref.1"],
        name: "extended reference",
        seen: format!(
            "`{}` with {} of `{}`",
            one.reference,
            text::list(&copies, 3),
            one.to.collection
        ),
        keep: "decide for each copy whether it is a snapshot or must follow its source".to_owned(),
    })
}

/// Minimum number of documents to distinguish kinds of documents.
const MIN_POLYMORPHIC: u64 = 30;

fn polymorphic(profile: &Profile) -> Option<Pattern> {
    let found = profile.discriminator.as_ref()?;
    let field = profile.fields.get(found.field)?;
    // A few documents prove nothing, and a field with many values is not a kind.
    let kinds = field.distinct.values.round() as u64;
    // Fields change from year to year; the documents are still of one kind.
    let says_when = names::words(field.path.leaf()).last().is_some_and(|word| {
        matches!(word.as_str(), "year" | "month" | "day" | "week" | "date" | "season" | "quarter")
    });
    if profile.documents < MIN_POLYMORPHIC || !(2..=20).contains(&kinds) || says_when {
        return None;
    }
    Some(Pattern {
        clause: &["PT-poly.1"],
        name: "polymorphic",
        seen: format!(
            "`{}` distinguishes {} kinds of documents (correct for {})",
            field.path,
            text::count(kinds),
            text::percent(found.accuracy),
        ),
        keep: format!("describe each kind in the validator, selected by `{}`", field.path),
    })
}

#[cfg(test)]
mod tests {
    use docward_model::Severity;

    use crate::testing::check_with;

    #[test]
    fn pt_poly_1_a_year_makes_no_kinds() {
        let body = |name: &str| {
            format!(
                "x20 {{\"{name}\": 2001, \"a\": 1, \"b\": 2}}\nx20 {{\"{name}\": 2002, \"c\": 1}}"
            )
        };
        assert!(what("db_x.t_car", &body("kind")).contains("polymorphic"));
        assert_eq!(what("db_x.t_car", &body("modelYear")), "");
    }

    fn what(ns: &str, body: &str) -> String {
        let found = check_with("R020", &format!("ns={ns}"), body);
        assert!(found.len() <= 1, "one finding per collection: {found:?}");
        found.first().map_or_else(String::new, |f| {
            assert_eq!(f.severity, Severity::Info);
            f.what.clone()
        })
    }

    #[test]
    fn pt_bucket_3_all_three_shapes() {
        let hour = "x30 {\"_id\": $i, \"sensorId\": \"S1\", \"hour\": ISODate(\"2024-03-01T10:00:00Z\"), \"count\": 60, \"readings\": $array(60, {\"minute\": $j, \"temp\": 22.5}), \"stats\": {\"min\": 22.1, \"max\": 23.0, \"avg\": 22.6}}";
        assert!(
            what("db_iot.t_reading", hour)
                .contains("bucket (`readings` per `hour`, 60 elements at most")
        );
        let start = "x30 {\"_id\": $i, \"sensor_id\": \"sensor-42\", \"bucket_start\": ISODate(\"2025-01-15T14:00:00Z\"), \"bucket_end\": ISODate(\"2025-01-15T14:59:59Z\"), \"count\": 60, \"readings\": $array(60, {\"ts\": ISODate(\"2025-01-15T14:00:00Z\"), \"temp\": 22.4})}";
        assert!(what("db_iot.t_reading", start).contains("counted in `count`"));
        let chat = "x30 {\"_id\": $i, \"roomId\": \"r$i\", \"date\": ISODate(\"2024-03-01T00:00:00Z\"), \"messages\": $array($i+5, {\"ts\": ISODate(\"2024-03-01T10:00:00Z\"), \"text\": \"hi\"})}";
        assert!(what("db_chat.t_message", chat).contains("bucket (`messages` per `date`"));
    }

    #[test]
    fn pt_hybrid_1_a_preview_with_its_counter() {
        let post = "x30 {\"_id\": $i, \"title\": \"t\", \"commentCount\": 247, \"recentComments\": $array(3, {\"text\": \"a\"})}";
        assert!(what("db_blog.t_post", post).contains(
            "hybrid (`recentComments` holds at most 3 elements, and `commentCount` counts all)"
        ));
        let product = "x30 {\"_id\": $i, \"recent_reviews\": $array(10, {\"text\": \"a\"})}";
        assert!(
            what("db_shop.t_product", product)
                .contains("subset (`recent_reviews` holds at most 10 elements)")
        );
    }

    #[test]
    fn pt_outlier_1_flag_and_pages() {
        let books = "x30 {\"_id\": $i, \"customers_purchased\": $array(5, \"c$j\"), \"has_overflow\": false}";
        assert!(what("db_shop.t_book", books).contains("outlier (`has_overflow`"));
        let pages = "x3 {\"_id\": $i, \"book_id\": 7, \"page\": 2, \"customers_purchased\": $array(1000, \"c$j\")}";
        assert_eq!(what("db_shop.t_book_overflow", pages), "");
        let both =
            format!("{pages}\n@ db_shop.t_book\n{{\"_id\": 7, \"customers_purchased\": [\"a\"]}}");
        assert!(what("db_shop.t_book_overflow", &both).contains("outlier pages (`page`"));
    }

    #[test]
    fn pt_slice_1_lengths_that_pile_up() {
        let logins = "x10 {\"_id\": $i, \"logins\": $array($i, {\"ip\": \"a\"})}\nx40 {\"_id\": $i, \"logins\": $array(100, {\"ip\": \"a\"})}";
        assert!(
            what("db_shop.t_user", logins)
                .contains("capped array (`logins` never has more than 100 elements)")
        );
    }

    #[test]
    fn alg_6_pt_slice_1_what_is_added_to_without_a_cut_is_not_called_capped() {
        let logins = "x10 {\"_id\": $i, \"logins\": $array($i, {\"ip\": \"a\"})}\nx40 {\"_id\": $i, \"logins\": $array(100, {\"ip\": \"a\"})}";
        let with = |push: &str| {
            let ran = format!(
                "ran x20 {{\"command\": {{\"q\": {{\"_id\": 7}}, \"u\": {{\"$push\": {{\"logins\": {push}}}}}}}}}"
            );
            what("db_shop.t_user", &format!("{logins}\n{ran}"))
        };
        assert_eq!(with(r#"{"ip": "b"}"#), "");
        let cut = r#"{"$each": [{"ip": "b"}], "$slice": -100}"#;
        assert!(with(cut).contains("capped array"), "{}", with(cut));

        // The same arrays with code.
        use docward_model::code::{Append, AppendKind, Cap, Code, Place};
        let mut example = crate::testing::Example::new("R020", "ns=db_shop.t_user", logins);
        let append = |cap| Append {
            collection: Some("t_user".to_owned()),
            ..Append::plain(
                Place {
                    location: docward_model::Location {
                        file: "app.js".to_owned(),
                        line: 1,
                        column: 1,
                    },
                    function: None,
                },
                AppendKind::Push,
                "logins".to_owned(),
                cap,
            )
        };
        for (cap, praised) in [(Cap::None, 0), (Cap::Slice(100), 1)] {
            example.evidence.code = Some(Code { appends: vec![append(cap)], ..Code::default() });
            let found = crate::judge(&example.evidence, &example.settings).findings;
            assert_eq!(found.iter().filter(|f| f.rule == "R020").count(), praised);
        }
    }

    #[test]
    fn pt_computed_1_counts_and_averages() {
        let movies = "x30 {\"_id\": $i, \"title\": \"t\", \"computed\": {\"total_revenue\": 1250000, \"avg_rating\": 4.2, \"rating_count\": 843}}";
        assert!(what("db_film.t_movie", movies).contains("computed (`computed`)"));
        let plain = "x30 {\"_id\": $i, \"title\": \"t\", \"totalAmount\": 12}";
        assert_eq!(what("db_film.t_movie", plain), "");
    }

    #[test]
    fn pt_ts_1_native_time_series() {
        let body = "options {\"timeseries\": {\"timeField\": \"ts\", \"metaField\": \"sensorId\"}}\nx3 {\"ts\": ISODate(\"2024-03-01T00:00:00Z\"), \"sensorId\": 1}";
        assert!(
            what("db_iot.t_reading", body)
                .contains("time series (native, timeField `ts`, metaField `sensorId`)")
        );
    }

    #[test]
    fn pt_poly_1_three_vehicles() {
        let body = "x40 {\"_id\": $i, \"type\": \"car\", \"doors\": 4, \"trunk\": 450}\nx40 {\"_id\": $i, \"type\": \"truck\", \"doors\": 2, \"payload\": 5000}\nx40 {\"_id\": $i, \"type\": \"motorcycle\", \"engine\": 1200}";
        assert!(
            what("db_shop.t_vehicle", body).contains("polymorphic (`type` distinguishes 3 kinds")
        );
    }

    #[test]
    fn orders_and_posts_are_not_buckets() {
        let orders = "x30 {\"_id\": $i, \"customerId\": \"c$i\", \"orderDate\": ISODate(\"2024-03-01T00:00:00Z\"), \"items\": $array(3, {\"sku\": \"a\", \"qty\": 1})}";
        assert_eq!(what("db_shop.t_order", orders), "");
    }

    #[test]
    fn pt_subset_1_a_counter_of_the_same_noun() {
        let body =
            "x30 {\"_id\": $i, \"reviewCount\": 2847, \"reviews\": $array(5, {\"text\": \"a\"})}";
        assert!(
            what("db_shop.t_product", body)
                .contains("`reviews` holds at most 5 elements, and `reviewCount` counts all")
        );
        // Views are not tags.
        let other = body.replace("reviewCount", "viewCount").replace("reviews", "tags");
        assert_eq!(what("db_shop.t_product", &other), "");
    }

    #[test]
    fn pt_extref_1_an_id_with_copies() {
        let mut body = String::from("@ db_shop.t_customer\n");
        for i in 0..80 {
            body.push_str(&format!("{{\"_id\": {}, \"name\": \"c{i}\"}}\n", 9000 + i));
        }
        body.push_str("@ db_shop.t_order\n");
        for i in 0..160 {
            let c = i % 80;
            body.push_str(&format!(
                "{{\"_id\": \"o{i}\", \"customerId\": {}, \"customerName\": \"c{c}\"}}\n",
                9000 + c
            ));
        }
        let text = what("db_shop.t_other", &body);
        assert!(
            text.contains("extended reference (`customerId` with `customerName` of `t_customer`)"),
            "{text}"
        );
    }

    #[test]
    fn a_handful_of_documents_has_no_kinds() {
        let body = "{\"_id\": 1, \"b\": \"x\", \"c\": 1}\n{\"_id\": 2, \"b\": \"y\", \"d\": 1}\n{\"_id\": 3, \"b\": \"z\", \"e\": 1}";
        assert_eq!(what("db_shop.t_thing", body), "");
    }
}
