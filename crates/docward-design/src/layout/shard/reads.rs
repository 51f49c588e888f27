//! The reads of a collection, as far as they matter for its shard key (SK-4).

use std::collections::BTreeSet;

use docward_model::{DesignRead, Matching};

use crate::decide::pattern::Pattern;
use crate::decide::vote::Choice;
use crate::declared::field_plan::Planned;
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;
use crate::layout::index::paths::place_of;
use crate::layout::shard_key::KeyCandidate;

use super::Judge;

/// The condition by which a read that follows a relationship finds documents.
pub(super) enum Found {
    /// By `_id`.
    Id,
    /// By the id of an entity that they store.
    Holder(String),
    /// By a list of ids, which cannot be part of a key.
    Listed,
}

/// The condition of a read on a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    Value,
    Range,
    Nothing,
}

/// Returns the fetches of other entities' reads from a collection, unless they begin with it.
pub(super) fn fetched<'m>(
    layout: &Layout<'m>,
    collection: &CollectionPlan,
) -> Vec<(&'m DesignRead, Found)> {
    let mut found = Vec::new();
    let is_home = matches!(
        collection.purpose,
        Purpose::Entity | Purpose::TimeSeries { .. } | Purpose::Bucket(_)
    );
    for (r, decision) in layout.linked().filter(|_| is_home) {
        let Some(held) = decision.patterns.first() else { continue };
        let is_end = r.child == collection.entity || r.parent == collection.entity;
        if decision.choice != Some(Choice::Reference) || !is_end {
            continue;
        }
        for read in crate::declared::read_direction::along(layout.model, r) {
            let mut along = read.with.iter().filter(|with| with.relationship == r.name);
            let by_parent = crate::declared::read_direction::comes_by_parent(layout.model, read, r);
            if r.child == collection.entity && by_parent {
                let summed = read.sums.iter().any(|(of, _)| *of == r.name);
                let counted = read.counts.contains(&r.name)
                    && !matches!(held, Pattern::ChildrenInParent | Pattern::Junction);
                let worked_out = (summed || counted) && !decision.keeps(read);
                if worked_out
                    || along.clone().any(|with| !decision.spares(layout.model, with, true))
                {
                    let by = match held {
                        Pattern::ParentInChild | Pattern::Tree => Found::Holder(r.parent.clone()),
                        Pattern::ChildrenInParent | Pattern::Junction => Found::Id,
                        _ => Found::Listed,
                    };
                    found.push((read, by));
                }
            } else if r.parent == collection.entity
                && !by_parent
                && along.any(|with| !decision.spares(layout.model, with, false))
            {
                let by = match held {
                    Pattern::ChildrenInParent => Found::Listed,
                    _ => Found::Id,
                };
                found.push((read, by));
            }
        }
    }
    found
}

impl Judge<'_, '_> {
    /// Returns fields that reads compare with a value, without the zone field.
    pub(super) fn named(&self, zone: Option<&str>) -> Vec<String> {
        let mut found = Vec::new();
        for index in self.collection.indexes.iter().filter(|index| index.kinds.is_empty()) {
            let behind = index.keys.iter().filter(|(name, _)| zone != Some(name));
            for (name, _) in behind.take(1) {
                if !found.contains(name) && self.is_plain(name) {
                    found.push(name.clone());
                }
            }
        }
        // If a read compares several fields, each of them may lead the key, regardless of their
        // order in the read (SK-8, SK-10).
        for (read, path) in &self.reads {
            for name in self.given(read, path) {
                if !found.contains(&name) && zone != Some(name.as_str()) {
                    found.push(name);
                }
            }
        }
        found
    }

    /// Returns the fields of the collection that a read compares with a value.
    pub(super) fn given(&self, read: &DesignRead, path: &str) -> Vec<String> {
        let equal = read
            .filter
            .iter()
            .filter(|(_, how)| matches!(how, Matching::Equal | Matching::OneOf(_)));
        let places = equal.map(|(name, _)| place_of(self.layout, self.collection, path, name));
        places.filter(|name| name != "_id" && self.is_plain(name)).collect()
    }

    /// Returns the share of reads that reach only a few shards. The documents of a value of a
    /// coarse field are on many shards, unless the read also contains the next field (SK-4).
    pub(super) fn reaches_few(&self, fields: &[(String, bool)], targeted: f64) -> f64 {
        let [(first, _), rest @ ..] = fields else { return targeted };
        if !self.is_coarse(first) {
            return targeted;
        }
        let Some((next, hashed)) = rest.first() else { return targeted };
        let behind = |(read, path): &&(&DesignRead, String)| {
            let ranged = !hashed && read.filter.iter().any(|(name, _)| name == next);
            let given = self.given(read, path);
            given.contains(first) && (given.contains(next) || ranged)
        };
        let rate = |reads: &mut dyn Iterator<Item = &(&DesignRead, String)>| {
            reads.map(|(read, _)| read.per_second).sum::<f64>()
        };
        let all = rate(&mut self.reads.iter());
        let few = rate(&mut self.reads.iter().filter(|read| behind(read)));
        if all > 0.0 { few / all } else { targeted }
    }

    /// Returns the share of reads by the leading field that also sort or filter by the next one.
    pub(super) fn used(&self, key: &KeyCandidate, zoned: bool) -> f64 {
        let Some((finer, _)) = key.fields.get(1 + usize::from(zoned)) else { return 0.0 };
        let (mut all, mut using) = (0.0, 0.0);
        for read in self.layout.model.reads.iter().filter(|r| r.from == self.collection.entity) {
            all += read.per_second;
            let filters = read.filter.iter().map(|(name, _)| name);
            if filters.chain(read.sort.iter().map(|(name, _)| name)).any(|name| name == finer) {
                using += read.per_second;
            }
        }
        if all == 0.0 { 0.0 } else { using / all }
    }

    /// Returns the share of reads along a relationship that know a field's value. Junction
    /// documents and pages are read only along a relationship.
    pub(super) fn along_relationship(&self, relationship: &str, leading: &str) -> Option<f64> {
        let r = self.layout.model.relationship(relationship)?;
        let (mut all, mut named) = (0.0, 0.0);
        for read in &self.layout.model.reads {
            let along = read.with.iter().any(|with| with.relationship == r.name);
            let counted = read.counts.contains(&r.name);
            let from = read.from == r.parent || read.from == r.child;
            if !from || !(along || counted) {
                continue;
            }
            all += read.per_second;
            let side = if read.from == r.parent { 1 } else { 2 };
            if self.collection.fields.get(side).is_some_and(|field| field.name == leading) {
                named += read.per_second;
            }
        }
        (all > 0.0).then(|| named / all)
    }

    /// Returns the share of reads that compare a field with a value, and the share that use a
    /// range. Returns `None` if there are no reads.
    pub(super) fn targeting(&self, leading: &str) -> Option<(f64, f64)> {
        self.targeting_with(leading, &self.looked_up)
    }

    /// Returns the share of reads that compare a field with a value and need no lookup of a unique
    /// value.
    pub(super) fn direct(&self, leading: &str) -> f64 {
        self.targeting_with(leading, &[]).map_or(1.0, |(named, _)| named)
    }

    fn targeting_with(&self, leading: &str, looked_up: &[String]) -> Option<(f64, f64)> {
        let (mut all, mut named, mut ranged) = (0.0, 0.0, 0.0);
        if let Purpose::Junction(name) | Purpose::Overflow(name) = &self.collection.purpose {
            return self.along_relationship(name, leading).map(|named| (named, 0.0));
        }
        for (read, path) in &self.reads {
            all += read.per_second;
            match self.aim(read, path, leading, looked_up) {
                Aim::Value => named += read.per_second,
                Aim::Range => ranged += read.per_second,
                Aim::Nothing => {}
            }
        }
        for (read, by) in &self.fetched {
            all += read.per_second;
            named += if self.is_by(by, leading) { read.per_second } else { 0.0 };
        }
        (all > 0.0).then(|| (named / all, ranged / all))
    }

    /// Returns how a read filters on the leading field.
    fn aim(&self, read: &DesignRead, path: &str, leading: &str, looked_up: &[String]) -> Aim {
        let meta = self.collection.fields.iter().find(|field| field.name == leading);
        let parts = meta.map(|meta| meta.fields.as_slice()).unwrap_or_default();
        // A filter on all parts of an object counts as a filter on the object.
        let is_given = |part: &Planned| {
            read.filter.iter().any(|(name, how)| *name == part.name && *how == Matching::Equal)
        };
        if !parts.is_empty() && parts.iter().all(is_given) {
            return Aim::Value;
        }
        let mut aim = Aim::Nothing;
        for (name, how) in &read.filter {
            let place = place_of(self.layout, self.collection, path, name);
            let is_it = place == leading
                || !path.is_empty() && leading == "_id" && *name == self.collection.entity
                || path.is_empty()
                    && (self.target(leading).is_some_and(|entity| entity.name == *name)
                        || self.layout.naming.id_of(name) == leading);
            let is_value = matches!(how, Matching::Equal | Matching::OneOf(_));
            // A separate collection returns the key of the document with a unique value.
            if is_value && (is_it || looked_up.contains(&place)) {
                return Aim::Value;
            }
            if is_it {
                aim = Aim::Range;
            }
        }
        aim
    }

    fn is_by(&self, by: &Found, leading: &str) -> bool {
        match by {
            Found::Id => leading == "_id",
            Found::Holder(entity) => self.target(leading).is_some_and(|e| e.name == *entity),
            Found::Listed => false,
        }
    }

    /// Returns the reads without a value of the leading field, the most frequent one first.
    pub(super) fn unaimed(&self, leading: &str) -> Vec<&str> {
        let own = self.reads.iter();
        let own =
            own.filter(|(read, path)| self.aim(read, path, leading, &self.looked_up) != Aim::Value);
        let fetched = self.fetched.iter().filter(|(_, by)| !self.is_by(by, leading));
        let mut found: Vec<&DesignRead> =
            own.map(|(read, _)| *read).chain(fetched.map(|(read, _)| *read)).collect();
        found.sort_by(|a, b| b.per_second.total_cmp(&a.per_second));
        let mut seen = BTreeSet::new();
        found.retain(|read| seen.insert(read.name.as_str()));
        found.into_iter().map(|read| read.name.as_str()).collect()
    }

    /// Returns the word for a field in `where` of a read.
    pub(super) fn given_as(&self, leading: &str) -> String {
        let name = self.target(leading).map_or(leading, |entity| entity.name.as_str());
        format!("`{name}`")
    }
}
