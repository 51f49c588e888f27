//! Remarks on the size of documents: documents above the recommended size, lists that need a few
//! fields of large documents, small data that clients can cache.

use docward_model::{BsonType, DesignModel, DesignRead, DesignWrite, Relationship, text};

use crate::decide::decision::{Decision, EntityAdvice};
use crate::decide::facts::Kind;
use crate::decide::vote::Choice;
use crate::declared::field_plan::{Origin, Planned, Rank, document_bytes};
use crate::layout::capacity::in_the_end;
use crate::layout::collection::{CollectionPlan, Purpose};

/// Documents above this size in bytes are larger than recommended (DM-05.1).
const RECOMMENDED: u64 = 102_400;

/// Binary data of this size in bytes belongs in GridFS or an object store (DM-05.4, DM-05.6).
const LARGE_FILE: u64 = 262_144;

/// A list is not split off from documents up to this size in bytes.
const WORTH_SPLITTING: u64 = 2048;

/// A list needs few fields if they have at most this share of the bytes.
const FEW_FIELDS: f64 = 0.2;

/// Clients can keep data up to this size in bytes in memory.
const CACHEABLE: f64 = 16.0 * 1024.0 * 1024.0;

/// Cached data changes at most this often per second: once an hour.
const STATIC: f64 = 1.0 / 3600.0;

/// Adds remarks about the documents of each entity.
pub(super) fn of_entities(
    model: &DesignModel,
    collections: &[CollectionPlan],
    advice: &mut [EntityAdvice],
) {
    for collection in collections.iter().filter(|c| c.purpose == Purpose::Entity) {
        let Some(advice) = advice.iter_mut().find(|a| a.entity == collection.entity) else {
            continue;
        };
        advice.remarks.extend(above_recommended(collection));
        advice.remarks.extend(list_and_detail(model, collection));
    }
}

/// Returns a remark if documents are larger than recommended, with what to do about the largest
/// field.
fn above_recommended(collection: &CollectionPlan) -> Option<String> {
    let bytes = document_bytes(&collection.fields, Rank::P99);
    let blob = collection.fields.iter().find(|field| {
        field.kind == BsonType::BinData && field.value_bytes(Rank::P99) >= LARGE_FILE
    });
    if let Some(blob) = blob {
        return Some(format!(
            "`{}` is {} at p99: store it in GridFS or an object store, and its address here \
             (DM-05.4, DM-05.6)",
            blob.name,
            text::bytes(blob.value_bytes(Rank::P99))
        ));
    }
    if bytes <= RECOMMENDED {
        return None;
    }
    let largest = collection.fields.iter().max_by_key(|field| field.value_bytes(Rank::P99))?;
    let instead = match largest.kind {
        BsonType::String => "compress it in the application, or store it in a separate document",
        BsonType::Array => "store its elements as separate documents",
        _ => "store it in a separate document",
    };
    let clauses = match largest.kind {
        BsonType::String => "DM-05.1, DM-05.5",
        BsonType::Array => "DM-05.1, DM-05.3",
        _ => "DM-05.1",
    };
    Some(format!(
        "a document is {} at p99 (recommended: at most {}); `{}` takes {} of it: {instead} \
         ({clauses})",
        text::bytes(bytes),
        text::bytes(RECOMMENDED),
        largest.name,
        text::bytes(largest.value_bytes(Rank::P99))
    ))
}

/// Returns a remark if most of what reads transfer from disk are fields that they do not need.
fn list_and_detail(model: &DesignModel, collection: &CollectionPlan) -> Option<String> {
    let whole = document_bytes(&collection.fields, Rank::Mean);
    if whole < WORTH_SPLITTING {
        return None;
    }
    let needed = |read: &DesignRead| {
        let fields = collection.fields.iter().filter(|f| read.fields.contains(&f.name));
        let fields: Vec<Planned> = fields.cloned().collect();
        document_bytes(&fields, Rank::Mean)
    };
    let of_it = || model.reads.iter().filter(|read| read.from == collection.entity);
    let is_narrow = |read: &&DesignRead| {
        !read.fields.is_empty()
            && read.with.is_empty()
            && needed(read) as f64 <= whole as f64 * FEW_FIELDS
    };
    let documents = |read: &DesignRead| read.per_second * read.limit.unwrap_or(1).max(1) as f64;
    let narrow: Vec<&DesignRead> = of_it().filter(is_narrow).collect();
    let listed: f64 = narrow.iter().map(|read| documents(read)).sum();
    let shown: f64 = of_it().filter(|read| !is_narrow(read)).map(documents).sum();
    if narrow.is_empty() || listed <= shown {
        return None;
    }
    let used = |field: &&Planned| {
        field.origin == Origin::Id || narrow.iter().any(|read| read.fields.contains(&field.name))
    };
    let unused = collection.fields.iter().filter(|field| !used(field));
    let largest = unused.max_by_key(|field| field.value_bytes(Rank::Mean))?;
    let names: Vec<&str> = narrow.iter().map(|read| read.name.as_str()).collect();
    let most = narrow.iter().map(|read| needed(read)).max().unwrap_or(0);
    Some(format!(
        "{} {} up to {} of documents with {}: store `{}` in a separate document with the same \
         `_id`, so that lists read small documents (PT-subset.1)",
        text::list(&names, 3),
        text::form(names.len() as u64, "needs", "need"),
        text::bytes(most),
        text::bytes(whole),
        largest.name
    ))
}

/// Adds remarks about referenced data that is small and hardly ever changes.
pub(super) fn of_references(
    model: &DesignModel,
    collections: &[CollectionPlan],
    decisions: &mut [Decision],
) {
    for decision in decisions.iter_mut() {
        let shared = matches!(decision.facts.kind, Kind::ManyToOne | Kind::ManyToMany);
        let relationship = model.relationship(&decision.relationship);
        let Some(r) = relationship.filter(|_| shared && decision.choice == Some(Choice::Reference))
        else {
            continue;
        };
        let is_home = |c: &&CollectionPlan| c.entity == r.child && c.purpose == Purpose::Entity;
        let Some(home) = collections.iter().find(is_home) else { continue };
        decision.remarks.extend(cacheable(model, r, home));
    }
}

fn cacheable(
    model: &DesignModel,
    relationship: &Relationship,
    home: &CollectionPlan,
) -> Option<String> {
    let child = &relationship.child;
    let is_followed = |read: &DesignRead| {
        read.from != *child && read.with.iter().any(|with| with.relationship == relationship.name)
    };
    let bytes = in_the_end(home)? * document_bytes(&home.fields, Rank::Mean) as f64;
    let touches = |write: &&DesignWrite| write.touches(child);
    let changes: f64 = model.writes.iter().filter(touches).map(|w| w.per_second).sum();
    let wanted = relationship.current.is_none() && model.reads.iter().any(is_followed);
    (wanted && bytes <= CACHEABLE && changes <= STATIC).then(|| {
        format!(
            "all `{child}` together have {} and rarely change: clients can cache them in memory \
             and look them up by id, without copies or second reads",
            text::bytes(bytes.round() as u64)
        )
    })
}
