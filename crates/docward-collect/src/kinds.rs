//! Determines the kinds of collections once all names are known.

use std::collections::BTreeSet;

use docward_model::{Collection, CollectionKind, Namespace, is_server_owned};

/// Sets the kinds that depend on names: system collections and GridFS pairs.
pub(crate) fn settle(collections: &mut [Collection]) {
    let names: BTreeSet<Namespace> = collections.iter().map(|c| c.namespace.clone()).collect();
    let pairs: BTreeSet<Namespace> = collections
        .iter()
        .filter_map(|collection| {
            let (half, partner, _) = half(&collection.namespace)?;
            (names.contains(&partner) && has_fields_of(collection, half)).then_some(partner)
        })
        .collect();
    for collection in collections {
        if is_server_owned(&collection.namespace) {
            collection.kind = CollectionKind::System;
            continue;
        }
        if collection.kind != CollectionKind::Plain {
            continue;
        }
        // The other half must exist with its expected fields, and so must the fields of this one.
        if let Some((half, _, kind)) = half(&collection.namespace)
            && pairs.contains(&collection.namespace)
            && has_fields_of(collection, half)
        {
            collection.kind = kind;
        }
    }
}

/// The fields that every document of `*.files` or `*.chunks` has.
const FILES: &[&str] = &["length", "chunkSize", "uploadDate"];
const CHUNKS: &[&str] = &["files_id", "n", "data"];

/// For one half of a GridFS bucket: its fields, the name of the other half, and its kind.
fn half(name: &Namespace) -> Option<(&'static [&'static str], Namespace, CollectionKind)> {
    let partner = |bucket: &str, half| Namespace::new(&name.database, format!("{bucket}.{half}"));
    if let Some(bucket) = name.collection.strip_suffix(".files") {
        Some((FILES, partner(bucket, "chunks"), CollectionKind::GridFsFiles))
    } else if let Some(bucket) = name.collection.strip_suffix(".chunks") {
        Some((CHUNKS, partner(bucket, "files"), CollectionKind::GridFsChunks))
    } else {
        None
    }
}

/// Returns whether the documents have these fields; true if no documents are known.
fn has_fields_of(collection: &Collection, fields: &[&str]) -> bool {
    collection.profile.as_ref().is_none_or(|profile| {
        profile.documents == 0
            || fields.iter().all(|field| profile.top_level().any(|f| f.name == *field))
    })
}

#[cfg(test)]
mod tests {
    use docward_model::{Field, FieldPath, FieldShape, Profile};

    use super::*;

    fn with_fields(name: &str, fields: &[&str]) -> Collection {
        let mut collection = Collection::named(Namespace::new("shop", name));
        let fields = fields.iter().map(|name| Field {
            path: FieldPath::new(*name),
            name: (*name).to_owned(),
            shape: FieldShape::Named,
            parent: None,
            children: Vec::new(),
            depth: 0,
            count: 1,
            parents: 1,
            types: Default::default(),
            bytes: 0,
            distinct: Default::default(),
            enumeration: None,
            text: None,
            number: None,
            dates: None,
            array: None,
            blob: None,
            dynamic: None,
            natural_order: None,
            examples: Vec::new(),
        });
        collection.profile =
            Some(Profile { documents: 1, fields: fields.collect(), ..Profile::default() });
        collection
    }

    fn kinds(mut collections: Vec<Collection>) -> Vec<CollectionKind> {
        settle(&mut collections);
        collections.into_iter().map(|c| c.kind).collect()
    }

    #[test]
    fn gridfs_needs_both_halves() {
        use CollectionKind::{GridFsChunks, GridFsFiles, Plain};
        let named = |name| Collection::named(Namespace::new("shop", name));
        assert_eq!(kinds(vec![named("fs.files"), named("fs.chunks")]), [GridFsFiles, GridFsChunks]);
        assert_eq!(kinds(vec![named("fs.files"), named("pics.chunks")]), [Plain, Plain]);
        let files = with_fields("fs.files", &["_id", "length", "chunkSize", "uploadDate"]);
        let chunks = with_fields("fs.chunks", &["_id", "files_id", "n", "data"]);
        assert_eq!(kinds(vec![files.clone(), chunks]), [GridFsFiles, GridFsChunks]);
        let other = with_fields("fs.chunks", &["_id", "text"]);
        assert_eq!(kinds(vec![files, other]), [Plain, Plain]);
    }

    #[test]
    fn only_known_names_are_the_servers() {
        use CollectionKind::{Plain, System};
        let named = |name| Collection::named(Namespace::new("shop", name));
        assert_eq!(
            kinds(vec![named("system.profile"), named("system.orders"), named("system.buckets.x")]),
            [System, Plain, System]
        );
    }
}
