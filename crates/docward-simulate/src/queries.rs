//! Queries that every alternative sends, and the choice of the parents they are about.

use futures_util::TryStreamExt as _;
use mongodb::{
    Collection,
    bson::{Document, RawDocumentBuf, doc, oid::ObjectId},
    error::Error,
};

use crate::{
    make::Rng,
    replay::Moved,
    store::{Store, number},
};

/// Distinct existing parents, at most as many as there are.
pub(crate) fn targets(
    store: &Store<'_>,
    wanted: u64,
    with_children: bool,
    rng: &mut Rng,
) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    let wanted = wanted.min(store.alive.len() as u64) as usize;
    for _ in 0..wanted * 20 + 100 {
        if chosen.len() == wanted {
            break;
        }
        let parent = store.alive[rng.below(store.alive.len() as u64) as usize];
        if !chosen.contains(&parent) && (!with_children || store.count(parent) > 0) {
            chosen.push(parent);
        }
    }
    chosen
}

/// `{field: value}`, or a condition for one of several values.
pub(crate) fn among(field: &str, ids: &[ObjectId]) -> Document {
    match ids {
        [one] => doc! { field: *one },
        several => doc! { field: { "$in": several.to_vec() } },
    }
}

/// Reads all results; a limit of zero means no limit.
pub(crate) async fn found(
    from: &Collection<RawDocumentBuf>,
    filter: Document,
    sort: Option<&Document>,
    limit: u64,
    moved: &mut Moved,
) -> Result<(), Error> {
    let mut find = from.find(filter).limit(limit as i64);
    if let Some(sort) = sort {
        find = find.sort(sort.clone());
    }
    let mut cursor = find.await?;
    while cursor.advance().await? {
        moved.documents += 1;
        moved.bytes += cursor.current().as_bytes().len() as u64;
    }
    Ok(())
}

/// Reads the results of a query. Returns the filter and the totals for [`look_at_rest`]: if the order
/// has no index, the server reads more documents than the query returns.
pub(crate) async fn picked_of(
    from: &Collection<RawDocumentBuf>,
    filter: Document,
    (sort, limit): (Option<&Document>, u64),
    moved: &mut Moved,
) -> Result<(Document, (u64, u64)), Error> {
    let before = (moved.documents, moved.bytes);
    found(from, filter.clone(), sort, limit, moved).await?;
    Ok((filter, (moved.documents - before.0, moved.bytes - before.1)))
}

/// Adds the data that the server read in addition to the results. It is queried separately, so that
/// the query does not count towards the time.
pub(crate) async fn look_at_rest(
    from: &Collection<RawDocumentBuf>,
    filter: Document,
    (documents, bytes): (u64, u64),
    moved: &mut Moved,
) -> Result<(), Error> {
    moved.documents += from.count_documents(filter.clone()).await?.saturating_sub(documents);
    moved.bytes += bytes_of(from, filter).await?.saturating_sub(bytes);
    Ok(())
}

pub(crate) async fn grouped(
    from: &Collection<RawDocumentBuf>,
    filter: Document,
    group: Document,
) -> Result<Vec<Document>, Error> {
    from.aggregate([doc! { "$match": filter }, doc! { "$group": group }]).await?.try_collect().await
}

/// The size in bytes of the matching documents.
pub(crate) async fn bytes_of(
    from: &Collection<RawDocumentBuf>,
    filter: Document,
) -> Result<u64, Error> {
    let group = doc! { "_id": null, "bytes": { "$sum": { "$bsonSize": "$$ROOT" } } };
    let rows = grouped(from, filter, group).await?;
    Ok(rows.first().and_then(|row| number(row.get("bytes")?)).unwrap_or(0))
}
