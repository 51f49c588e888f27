//! Reads realistic files of every kind, and compares the results with snapshots.

use crate::common::{FIXTURES, all_compile, shown};
use docward_code::{Kind, read};

#[test]
fn files_are_read_as_recorded() {
    for (kind, name, text) in FIXTURES {
        let imported = read(kind, text);
        all_compile(&imported);
        assert_eq!(imported.problems, [], "{name}");
        assert!(!imported.models.is_empty(), "{name}");
        insta::assert_snapshot!(name, shown(&imported));
    }
}

#[test]
fn files_are_recognised() {
    for (kind, name, text) in FIXTURES {
        assert_eq!(Kind::detect(name, text), Some(kind), "{name}");
    }
}

#[test]
fn every_property_has_a_place() {
    // Fields that libraries add by themselves have no position.
    let added = ["_id", "__v", "_class", "revision_id", "_class_id"];
    for (kind, name, text) in FIXTURES {
        for model in read(kind, text).models {
            let properties = model.schema.get_document("properties").unwrap();
            for field in properties.keys().filter(|field| !added.contains(&field.as_str())) {
                let place = model.fields.get(field).unwrap_or_else(|| panic!("{name}: {field}"));
                let line = text.lines().nth(place.line as usize - 1).unwrap();
                let rest: String = line.chars().skip(place.column as usize - 1).collect();
                assert!(!rest.trim().is_empty(), "{name}: {field} at {place:?}");
            }
        }
    }
}
