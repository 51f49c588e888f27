//! Raw documents must be read and edited exactly as the `bson` crate reads and edits them.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use bson::{Bson, Document as Tree, RawDocumentBuf, rawdoc};
use docward_wire::{Change, Document, edited};
use proptest::prelude::*;

/// Values of every kind that commands hold, nested a few levels.
fn value() -> impl Strategy<Value = Bson> {
    let leaf = prop_oneof![
        any::<f64>().prop_map(Bson::Double),
        "[a-zé]{0,12}".prop_map(Bson::String),
        any::<bool>().prop_map(Bson::Boolean),
        any::<i32>().prop_map(Bson::Int32),
        any::<i64>().prop_map(Bson::Int64),
        any::<i64>().prop_map(|ms| Bson::DateTime(bson::DateTime::from_millis(ms))),
        any::<[u8; 12]>().prop_map(|id| Bson::ObjectId(bson::oid::ObjectId::from_bytes(id))),
        any::<[u8; 16]>().prop_map(|b| Bson::Decimal128(bson::Decimal128::from_bytes(b))),
        (any::<u32>(), any::<u32>())
            .prop_map(|(time, increment)| Bson::Timestamp(bson::Timestamp { time, increment })),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| {
            Bson::Binary(bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes })
        }),
        "[a-z]{0,8}".prop_map(|pattern| {
            let (pattern, options) = (pattern.try_into().unwrap(), "i".try_into().unwrap());
            Bson::RegularExpression(bson::Regex { pattern, options })
        }),
        "[a-z ]{0,8}".prop_map(Bson::JavaScriptCode),
        "[a-z ]{0,8}".prop_map(|code| {
            let scope = bson::doc! { "a": 1 };
            Bson::JavaScriptCodeWithScope(bson::JavaScriptCodeWithScope { code, scope })
        }),
        "[a-z]{0,8}".prop_map(Bson::Symbol),
        Just(Bson::Null),
        Just(Bson::Undefined),
        Just(Bson::MinKey),
        Just(Bson::MaxKey),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Bson::Array),
            prop::collection::vec(("[a-e$]{1,3}", inner), 0..4)
                .prop_map(|pairs| Bson::Document(pairs.into_iter().collect())),
        ]
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    prop::collection::vec(("[a-h]{1,2}", value()), 0..8)
        .prop_map(|pairs| pairs.into_iter().collect())
}

proptest! {
    #[test]
    fn names_and_kinds_are_those_of_the_bson_crate(tree in tree()) {
        let raw = RawDocumentBuf::try_from(&tree).unwrap();
        let document = Document::new(raw.as_bytes()).unwrap();
        let ours: Vec<String> = document
            .elements()
            .map(|e| e.map(|e| String::from_utf8_lossy(e.name).into_owned()).unwrap())
            .collect();
        let theirs: Vec<String> = tree.keys().cloned().collect();
        prop_assert_eq!(ours, theirs);
        for element in document.elements() {
            let element = element.unwrap();
            let name = std::str::from_utf8(element.name).unwrap();
            let value = tree.get(name).unwrap();
            prop_assert_eq!(element.text(), value.as_str());
            prop_assert_eq!(element.document().is_some(), matches!(value, Bson::Document(_) | Bson::Array(_)));
            if let Bson::Int32(number) = value {
                prop_assert_eq!(element.integer(), Some(i64::from(*number)));
            }
        }
    }

    #[test]
    fn edits_are_what_decoding_editing_and_encoding_would_be(tree in tree(), dropped in "[a-h]{1,2}", set in "[a-h]{1,2}", number: i64) {
        let raw = RawDocumentBuf::try_from(&tree).unwrap();
        let change = |element: &docward_wire::Element<'_>| match element.name {
            name if name == dropped.as_bytes() => Change::Drop,
            name if name == set.as_bytes() => Change::Set(bson::raw::RawBsonRef::Int64(number)),
            _ => Change::Keep,
        };
        let ours = edited(Document::new(raw.as_bytes()).unwrap(), change, &rawdoc! { "zz": true }).unwrap();
        let mut theirs: Tree = tree
            .into_iter()
            .filter(|(name, _)| *name != dropped)
            .map(|(name, value)| if name == set { (name, Bson::Int64(number)) } else { (name, value) })
            .collect();
        theirs.insert("zz", true);
        prop_assert_eq!(ours, theirs.to_vec().unwrap());
    }
}
