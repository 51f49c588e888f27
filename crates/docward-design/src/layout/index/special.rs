//! Indexes for places (2dsphere), words (text) and any field of an object (wildcard).

use docward_model::{DesignRead, Matching};

use crate::declared::field_plan::at_path;
use crate::layout::collection::CollectionPlan;
use crate::layout::fields::Layout;

use super::IndexPlan;
use super::paths::place_of;

/// Returns the index of a read by place, by words or by any field. Fields that are compared with one
/// value come first.
pub(super) fn for_read(
    layout: &Layout<'_>,
    collection: &CollectionPlan,
    read: &DesignRead,
    path: &str,
) -> Option<IndexPlan> {
    let place = |name: &str| place_of(layout, collection, path, name);
    let found = |wanted: Matching| {
        let of_it = read.filter.iter().filter(move |(_, how)| *how == wanted);
        let places = of_it.map(|(name, _)| place(name));
        places.filter(|name| at_path(&collection.fields, name).is_some()).collect::<Vec<_>>()
    };
    let (near, words, any) =
        (found(Matching::Near), found(Matching::Text), found(Matching::AnyField));
    let kind = if near.is_empty() { "text" } else { "2dsphere" };
    let special = if near.is_empty() { words } else { near };
    let serves = format!("`{}`", read.name);
    if special.is_empty() {
        let path = any.first()?;
        return Some(IndexPlan::on(vec![(format!("{path}.$**"), false)], serves));
    }
    let equal = found(Matching::Equal);
    let compared = equal.len();
    let keys = equal.into_iter().chain(special.iter().cloned()).map(|name| (name, false)).collect();
    let mut notes = Vec::new();
    if !read.sort.is_empty() {
        notes.push("the server sorts all matches in memory".to_owned());
    }
    let kinds = special.into_iter().map(|name| (name, kind)).collect();
    Some(IndexPlan { compared, kinds, notes, ..IndexPlan::on(keys, serves) })
}

/// Combines text indexes, because a collection can have only one.
pub(super) fn one_text_index(found: Vec<IndexPlan>) -> Vec<IndexPlan> {
    let is_text = |index: &IndexPlan| index.kinds.values().any(|kind| *kind == "text");
    let (texts, mut kept): (Vec<_>, Vec<_>) = found.into_iter().partition(is_text);
    let several = texts.len() > 1;
    let mut all: Option<IndexPlan> = None;
    for mut index in texts {
        // A query must give a value for each field before the words, so only the words are shared.
        if several {
            index.keys.retain(|(name, _)| index.kinds.contains_key(name));
            index.compared = 0;
        }
        all = Some(match all {
            None => index,
            Some(mut all) => {
                index.keys.retain(|key| !all.keys.contains(key));
                all.keys.extend(index.keys);
                all.kinds.extend(index.kinds);
                all.serves.extend(index.serves);
                all
            }
        });
    }
    kept.extend(all);
    kept
}
