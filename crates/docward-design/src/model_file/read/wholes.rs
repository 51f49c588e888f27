//! Handles reads of all fields of a small shared entity. They are treated as if they named its two
//! or three fields, because copies of these save the second read (PT-extref.1).

use docward_model::{DesignModel, DesignRead, Relationship, With};

use crate::declared::field_plan::{Rank, declared, document_bytes};
use crate::declared::read_direction::{COPIED, comes_by_parent};

/// The maximum size in bytes of a document that may be copied as a whole next to a reference.
const SMALL: u64 = 256;

/// Adds the field names to such reads.
pub(super) fn name(model: &mut DesignModel) {
    let fields_of = |model: &DesignModel, read: &DesignRead, with: &With| -> Option<Vec<String>> {
        let relationship = model.relationship(&with.relationship)?;
        let child = model.entity(&relationship.child)?;
        let is_plain = child.series.is_none()
            && child.variants.is_empty()
            && child.attributes.is_empty()
            && (1..=COPIED).contains(&child.fields.len());
        // An entity with other relationships has more fields in its documents.
        let ends = |r: &&Relationship| r.parent == child.name || r.child == child.name;
        let is_leaf = model.relationships.iter().filter(ends).count() == 1;
        let is_small = document_bytes(&declared(child), Rank::P99) <= SMALL;
        let by_parent = || comes_by_parent(model, read, relationship);
        (relationship.parents > 1.0 && is_plain && is_leaf && is_small && by_parent())
            .then(|| child.fields.iter().map(|field| field.name.clone()).collect())
    };
    let mut named = Vec::new();
    for (at, read) in model.reads.iter().enumerate() {
        for (nth, with) in read.with.iter().enumerate() {
            if with.fields.is_empty() && with.newest.is_none() {
                named.extend(fields_of(model, read, with).map(|fields| (at, nth, fields)));
            }
        }
    }
    for (at, nth, fields) in named {
        model.reads[at].with[nth].fields = fields;
    }
}
