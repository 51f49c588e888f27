//! The values of the fields of a shard key: their number, the frequency of the most frequent one,
//! and whether they increase (SK-1 to SK-3).

use docward_model::{BsonType, ChildGrowth, Entity, Relationship};

use crate::declared::field_plan::{Origin, Rank, at_path, document_bytes};
use crate::layout::collection::Purpose;
use crate::layout::index_plan::{IndexPlan, Partial};

use crate::model_file::quantity::YEAR;

use super::{CHUNK, Judge, TOP_FAIL};

/// The share of active series below which the newest ones are assumed to be the active ones.
const FEW_ACTIVE: f64 = 0.1;

/// A text is a category if each value is in at least this number of documents.
const DOCUMENTS_PER_CATEGORY: f64 = 10.0;

/// The minimum ratio between the growth of documents and the growth of the documents they refer to.
const FASTER: f64 = 2.0;

/// The ways in which a document can lack a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    Missing,
    Null,
}

impl Lack {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Missing => "can be missing",
            Self::Null => "can be null",
        }
    }
}

impl Judge<'_, '_> {
    /// Returns the fields that identify the series of a bucket, in the order of the append's
    /// filter.
    pub(super) fn series(&self) -> Vec<&str> {
        let fields = || self.collection.fields.iter();
        let is_series =
            |name: &str| fields().any(|f| f.name == name && f.origin != Origin::Pattern("bucket"));
        let is_open = |index: &&IndexPlan| matches!(index.only, Some(Partial::Below(..)));
        let open = self.collection.indexes.iter().filter(|index| index.unique).find(is_open);
        let keys = open.into_iter().flat_map(|index| &index.keys);
        keys.map(|(name, _)| name.as_str()).take_while(|name| is_series(name)).collect()
    }

    /// Returns the number of series if a key contains all fields that identify them.
    pub(super) fn series_of(&self, names: &[&str]) -> Option<f64> {
        let declared = self.layout.model.entity(&self.collection.entity)?.series.as_ref()?;
        // References to an entity with an undecided relationship are missing here.
        let series = self.series();
        let all = series.len() == declared.id.len() && !series.is_empty();
        let named = all && series.iter().all(|part| names.contains(part));
        declared.series.filter(|series| named && *series >= 1.0)
    }

    pub(super) fn is_plain(&self, name: &str) -> bool {
        self.collection
            .fields
            .iter()
            .any(|field| field.name == name && field.kind != BsonType::Array)
    }

    pub(super) fn declared(&self, name: &str) -> Option<&docward_model::EntityField> {
        // A part of the object that identifies the series.
        let name = match &self.collection.purpose {
            Purpose::TimeSeries { meta, .. } => {
                name.strip_prefix(meta.as_str()).and_then(|rest| rest.strip_prefix('.'))
            }
            _ => None,
        }
        .unwrap_or(name);
        self.layout.model.entity(&self.collection.entity)?.field(name)
    }

    /// Returns the entity whose id a field stores.
    pub(super) fn target(&self, name: &str) -> Option<&Entity> {
        let (_, field) = at_path(&self.collection.fields, name)?;
        match &field.origin {
            Origin::Reference(entity) => self.layout.model.entity(entity),
            _ => None,
        }
    }

    /// Whether each document has a different value.
    pub(super) fn is_own(&self, name: &str) -> bool {
        name == "_id" || self.is_unique(name)
    }

    /// Whether a field is a time whose values rarely repeat. Declared `distinct` values are days or
    /// other long periods.
    pub(super) fn is_time(&self, name: &str) -> bool {
        let field = self.collection.fields.iter().find(|field| field.name == name);
        field.is_some_and(|field| field.kind == BsonType::Date)
            && self.declared(name).is_none_or(|field| field.distinct.is_none())
    }

    pub(super) fn is_unique(&self, name: &str) -> bool {
        self.declared(name).is_some_and(|field| field.unique) && self.may_lack(name).is_none()
    }

    /// Returns how a document may lack a field of a key.
    pub(super) fn may_lack(&self, name: &str) -> Option<Lack> {
        let (_, field) = at_path(&self.collection.fields, name)?;
        match (field.required, field.nullable) {
            (false, _) => Some(Lack::Missing),
            (true, true) => Some(Lack::Null),
            (true, false) => None,
        }
    }

    pub(super) fn distinct(&self, name: &str) -> Option<f64> {
        if let Some(entity) = self.target(name) {
            return entity.count;
        }
        if let Purpose::TimeSeries { meta, .. } = &self.collection.purpose
            && meta == name
            && let Some(series) = self.layout.model.entity(&self.collection.entity)?.series.as_ref()
            && series.series.is_some()
        {
            return series.series;
        }
        let field = self.declared(name)?;
        let listed = match field.kind {
            BsonType::Bool => Some(2.0),
            _ => (!field.values.is_empty()).then_some(field.values.len() as f64),
        };
        field.distinct.or(listed)
    }

    pub(super) fn top_share(&self, name: &str) -> Option<f64> {
        if let Some(entity) = self.target(name) {
            // Uses the largest parent's share of all children.
            let relationship = self
                .layout
                .model
                .relationships
                .iter()
                .find(|r| r.parent == entity.name && r.child == self.collection.entity)?;
            let most = relationship.children?.max as f64;
            // A bucket holds many children, and the share refers to children.
            let all = match self.collection.purpose {
                Purpose::Bucket(_) => self.layout.model.entity(&self.collection.entity)?.count,
                _ => self.collection.documents,
            };
            return all.filter(|n| *n > 0.0).map(|n| (most / n).min(1.0));
        }
        let Some(field) = self.declared(name) else {
            return self.is_time(name).then_some(0.0);
        };
        // Periods are assumed to have equally many documents.
        let period = || (field.kind == BsonType::Date).then_some(1.0 / field.distinct?.max(1.0));
        field.top_share.or_else(period).or_else(|| self.is_time(name).then_some(0.0))
    }

    pub(super) fn rises(&self, name: &str) -> Option<bool> {
        if name == "_id" {
            return Some(true);
        }
        if let Some(entity) = self.target(name) {
            return self.reference_rises(entity);
        }
        let Some(field) = self.declared(name) else {
            // The field is the period of a bucket.
            return self.is_time(name).then_some(true);
        };
        if field.rising.is_none()
            && let Some(rises) = self.series_rise(name)
        {
            return Some(rises);
        }
        // A text with few values for many documents is a category.
        let is_category = || {
            let few = field.distinct? * DOCUMENTS_PER_CATEGORY <= self.collection.documents?;
            (field.kind == BsonType::String && few).then_some(false)
        };
        field.rising.or_else(is_category).or(match field.kind {
            BsonType::Date | BsonType::Timestamp | BsonType::ObjectId => Some(true),
            _ if !field.values.is_empty() => Some(false),
            BsonType::Bool => Some(false),
            _ => None,
        })
    }

    /// Whether new documents mostly refer to the newest documents of an entity, whose ids are the
    /// highest (SK-3). `None` if the model does not state it.
    fn reference_rises(&self, entity: &Entity) -> Option<bool> {
        let model = self.layout.model;
        let here = self.collection.entity.as_str();
        // Pairs, pages and versions are also added to old documents.
        if let Purpose::Junction(_) | Purpose::Overflow(_) | Purpose::Versions =
            self.collection.purpose
        {
            return Some(false);
        }
        let connects = |r: &&Relationship| {
            (r.parent == entity.name && r.child == here)
                || (r.child == entity.name && r.parent == here)
        };
        let relationship = model.relationships.iter().find(connects)?;
        if relationship.rising.is_some() {
            return relationship.rising;
        }
        let life = entity.lifecycle.filter(|life| !life.growth_open)?;
        // Without new documents, the newest ones are as old as the others.
        if life.per_year <= 0.0 {
            return Some(false);
        }
        let own = model.entity(here)?;
        let yearly = own.lifecycle.filter(|life| !life.growth_open).map(|life| life.per_year);
        if let Some(ChildGrowth::Endless { typical, .. }) = relationship.growth
            && typical > 0.0
            && relationship.parent == entity.name
        {
            // The documents that old parents get.
            let old = entity.count.map(|parents| parents * typical);
            if old.zip(yearly).is_none_or(|(old, yearly)| old * 2.0 >= yearly) {
                return Some(false);
            }
        }
        // Inserted together, both have the newest ids.
        let (mut all, mut together) = (0.0, 0.0);
        for write in model.writes.iter().filter(|w| w.inserts.iter().any(|e| e == here)) {
            all += write.per_second;
            if write.inserts.contains(&entity.name) {
                together += write.per_second;
            }
        }
        if together > 0.0 && together * 2.0 >= all && own.series.is_none() {
            return Some(true);
        }
        if own.series.is_some() {
            return self.series_rise(&entity.name).or(self.few_series_are_active());
        }
        let yearly = yearly?;
        // If documents grow much faster than the documents they refer to, they still refer to old
        // ones.
        let grows =
            |per_year: f64, count: Option<f64>| Some(per_year / count.filter(|n| *n > 0.0)?);
        let faster = grows(yearly, own.count)? >= FASTER * grows(life.per_year, entity.count)?;
        faster.then_some(false)
    }

    /// Whether few of the series get readings. These are then the newest.
    fn few_series_are_active(&self) -> Option<bool> {
        let entity = self.layout.model.entity(&self.collection.entity)?;
        let series = entity.series.as_ref().filter(|series| series.per_second > 0.0)?;
        let yearly = entity.lifecycle.filter(|life| !life.growth_open)?.per_year;
        Some(yearly / (series.per_second * YEAR) < series.series? * FEW_ACTIVE)
    }

    /// Returns `Some(false)` for a field that identifies series which continue to get readings.
    fn series_rise(&self, name: &str) -> Option<bool> {
        let entity = self.layout.model.entity(&self.collection.entity)?;
        let leaf = name.rsplit('.').next().unwrap_or(name);
        let is_part = entity.series.as_ref()?.id.iter().any(|id| id == leaf);
        (is_part && self.few_series_are_active() == Some(false)).then_some(false)
    }

    /// Whether the readings of one series may exceed a chunk.
    pub(super) fn series_exceeds_chunk(&self) -> bool {
        let each = || {
            let series = self.layout.model.entity(&self.collection.entity)?.series.as_ref()?;
            let days = self.collection.kept_days?;
            Some(series.per_second * days * 86_400.0)
        };
        let reading = document_bytes(&self.collection.fields, Rank::Typical) as f64;
        each().is_none_or(|readings| readings * reading > CHUNK)
    }

    /// Returns the key of the model file that declares whether values increase.
    pub(super) fn rising_key(&self, name: &str) -> String {
        let Some(entity) = self.target(name) else { return "`rising`".to_owned() };
        let here = self.collection.entity.as_str();
        let relationship = self.layout.model.relationships.iter().find(|r| {
            (r.parent == entity.name && r.child == here)
                || (r.child == entity.name && r.parent == here)
        });
        relationship.map_or("`rising`".to_owned(), |r| format!("`rising` of `{}`", r.name))
    }

    /// Returns how long new documents have the same value of an increasing field, in seconds.
    pub(super) fn seconds_per_value(&self, name: &str) -> Option<f64> {
        let each = self.collection.documents? / self.distinct(name).filter(|n| *n > 0.0)?;
        Some(YEAR * each / Some(self.collection.per_year).filter(|n| *n > 0.0)?)
    }

    /// Returns the size in bytes of the documents with one value of a field.
    pub(super) fn bytes_per_value(&self, name: &str) -> Option<f64> {
        let each = self.collection.documents? / self.distinct(name).filter(|n| *n > 0.0)?;
        Some(each * document_bytes(&self.collection.fields, Rank::Typical) as f64)
    }

    /// Whether a field has few values, or one value in most documents.
    pub(super) fn is_coarse(&self, name: &str) -> bool {
        self.distinct(name).is_some_and(|values| values < self.ends)
            || self.top_share(name).is_some_and(|share| share > TOP_FAIL)
    }
}
