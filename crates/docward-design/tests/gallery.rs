//! Tests the models of `examples/models` and the stories of the rule book that they tell.

mod business;
mod people;
mod things;

use crate::common::{GALLERY, gallery};
use docward_design::{Bounds, Rank, Verdict, design, document_bytes};
use docward_model::ProfileName;

#[test]
fn dp_2_every_model_answers_every_question() {
    for name in GALLERY {
        let case = gallery(name);
        let open = case.design.questions();
        assert!(open.is_empty(), "{name}: {open:#?}");
        for decision in &case.design.decisions {
            assert_ne!(decision.verdict, Verdict::Undecided, "{name}: {}", decision.relationship);
        }
    }
}

#[test]
fn the_gallery_is_complete() {
    let directory = crate::common::repository().join("examples/models");
    let mut found: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, GALLERY);
}

#[test]
fn ck_8_to_ck_14_every_model_of_the_gallery_passes() {
    for name in GALLERY {
        let case = gallery(name);
        let ids: Vec<&str> = case.design.checks.iter().map(|check| check.id.name()).collect();
        assert_eq!(ids, ["CK-8", "CK-9", "CK-10", "CK-11", "CK-12", "CK-13", "CK-14", "CK-3"]);
        for check in &case.design.checks {
            // Without shards, there is no result about shard keys.
            let expected = match check.id.name() {
                "CK-13" if case.model.deployment.shards < 2 => None,
                _ => Some(true),
            };
            assert_eq!(check.holds, expected, "{name} {}: {}", check.id.name(), check.because);
        }
    }
}

#[test]
fn dm_08_2_no_model_embeds_what_has_no_end() {
    for name in GALLERY {
        let case = gallery(name);
        for collection in &case.design.collections {
            for field in &collection.fields {
                // An overflow page has exactly 1,000 elements (GC-04).
                let most = field.items.map_or(0, |items| items.max);
                assert!(most <= 1000, "{name} {}.{}: {most}", collection.name, field.name);
            }
        }
    }
}

#[test]
fn ck_14_documents_stay_below_a_tenth_of_the_limit() {
    for name in GALLERY {
        for collection in &gallery(name).design.collections {
            let bytes = document_bytes(&collection.fields, Rank::P99);
            assert!(bytes <= 1_677_721, "{name} {}: {bytes}", collection.name);
        }
    }
}

#[test]
fn er_x_1_every_decision_lists_its_rows_by_id() {
    for name in GALLERY {
        for decision in &gallery(name).design.decisions {
            let rows: Vec<&str> =
                decision.ruling.rows.iter().flat_map(|row| row.rows).copied().collect();
            for table in ["ER-M.", "ER-F.", "DM-07."] {
                assert!(
                    rows.iter().any(|row| row.starts_with(table)),
                    "{name} {}: {rows:?}",
                    decision.relationship
                );
            }
            assert!(!decision.ruling.decided_by.is_empty());
            assert!(!decision.alternatives.is_empty());
            assert!(decision.alternatives[0].chosen, "the chosen alternative comes first");
        }
    }
}

#[test]
fn designs_are_the_same_every_time() {
    for name in GALLERY {
        let first = gallery(name);
        let again = design(&first.model, ProfileName::Neutral, &Bounds::default());
        assert_eq!(first.design, again, "{name}");
    }
}

#[test]
fn dm_02_1_dm_03_1_the_house_prefixes_are_kept_where_they_are_wanted() {
    let case = gallery("shop");
    let vendor = design(&case.model, ProfileName::Vendor, &Bounds::default());
    assert_eq!((case.design.database.as_str(), vendor.database.as_str()), ("shop", "db_shop"));
    for (plain, prefixed) in case.design.collections.iter().zip(&vendor.collections) {
        assert_eq!(prefixed.name, format!("t_{}", plain.name));
    }
}
