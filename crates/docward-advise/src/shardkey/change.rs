//! The reasons why the server would refuse a key, and the zones of a key (SK-11).

use docward_model::{CollectionKind, Field, Index, KeyFields, ZonePlan};

use super::Judge;
use docward_rules::facts::{indexes::sharding, remedies::shell, text};

/// Formats a value in shell notation.
type Literal = fn(&str) -> String;

impl Judge<'_> {
    /// The reasons why the server would refuse the key. They are independent of its distribution.
    pub(super) fn refusals(&self, key: &[(String, bool)]) -> Vec<String> {
        let mut out = Vec::new();
        if self.collection.kind == CollectionKind::Capped {
            out.push("capped collections cannot be sharded".to_owned());
        }
        if key.iter().filter(|(_, hashed)| *hashed).count() > 1 {
            out.push("a key can have only one hashed field".to_owned());
        }
        if key.len() > 1
            && key.iter().any(|(_, hashed)| *hashed)
            && self.key_change.version().is_some_and(|v| v < (4, 4))
        {
            out.push("compound keys with a hashed field need 4.4 or later".to_owned());
        }
        for (at, (path, _)) in key.iter().enumerate() {
            if key[..at].iter().any(|(before, _)| before == path) {
                out.push(format!("the key contains `{path}` twice"));
            }
            if path.split('.').any(|name| name.is_empty() || name.starts_with('$')) {
                out.push(format!("`{path}` is not a field name"));
            }
        }
        if let Some((path, arrays)) = sharding::array_field(self.profile, key) {
            out.push(format!(
                "`{path}` contains {}, which a shard key must not have",
                text::plural(arrays, "array")
            ));
        }
        out.extend(self.not_unique_any_more(key).into_iter().map(|index| {
            format!(
                "the unique index `{}` {} does not begin with the key, so shards could not \
                 enforce it",
                index.name,
                index.key_text()
            )
        }));
        out
    }

    /// Unique indexes whose uniqueness shards could not enforce.
    pub(super) fn not_unique_any_more(&self, key: &[(String, bool)]) -> Vec<&Index> {
        let indexes = self.collection.indexes.iter().flatten();
        indexes.filter(|index| !may_stay_unique(index, key)).collect()
    }

    /// Zones for a key that begins with the field that determines where documents must be stored
    /// (SK-11): one for each value found. The values themselves are data, so they are written out
    /// only on request.
    pub(super) fn zone_plan(
        &self,
        zone: &str,
        key: &KeyFields,
        show_values: bool,
    ) -> Option<ZonePlan> {
        /// The maximum number of zones; more values are too many to write out.
        const MAX_ZONE_VALUES: usize = 20;
        let (_, field) = self.field(zone)?;
        let values =
            self.values_as_text(field).filter(|v| (1..=MAX_ZONE_VALUES).contains(&v.0.len()));
        let values_hidden = values.is_some() && !show_values;
        let distinct = field.distinct.values.round() as u64;
        let too_many = (distinct > MAX_ZONE_VALUES as u64).then(|| (zone.to_owned(), distinct));
        let literals: Vec<(String, String)> =
            match values {
                None => vec![("<zone>".to_owned(), "<value>".to_owned())],
                Some((values, literal)) => values
                    .iter()
                    .enumerate()
                    .map(|(at, value)| {
                        if show_values {
                            (*value).to_owned()
                        } else {
                            format!("<value {}>", at + 1)
                        }
                    })
                    .map(|name| (name.clone(), literal(&name)))
                    .collect(),
            };
        let commands = literals
            .iter()
            .flat_map(|(name, literal)| self.zone_commands(zone, key, name, literal))
            .collect();
        Some(ZonePlan { commands, values_hidden, too_many })
    }

    /// Creates a zone, and binds all documents with one value of the zone field to it.
    fn zone_commands(&self, zone: &str, key: &KeyFields, name: &str, literal: &str) -> [String; 2] {
        let ns = shell::quote(&self.collection.namespace.to_string());
        let bound = |end: &str| {
            let parts: Vec<String> = key
                .iter()
                .map(|(path, _)| {
                    let value = if path == zone { literal } else { end };
                    format!("{}: {value}", shell::key(path))
                })
                .collect();
            format!("{{ {} }}", parts.join(", "))
        };
        let shard = shell::quote(&format!("<shard for {name}>"));
        let name = shell::quote(name);
        [
            format!("sh.addShardToZone({shard}, {name})"),
            format!(
                "sh.updateZoneKeyRange({ns}, {}, {}, {name})",
                bound("MinKey"),
                bound("MaxKey")
            ),
        ]
    }

    /// The values of a field with few of them, and their shell notation; `None` if they are not all
    /// known or not of one plain type.
    fn values_as_text<'f>(&self, field: &'f Field) -> Option<(Vec<&'f str>, Literal)> {
        use docward_model::BsonType::{Int, Long, String as Text};
        let listed = field.enumeration.as_ref()?;
        let literal: Literal = if field.is_only(Text) {
            shell::quote
        } else if field.types.of(Int) + field.types.of(Long) == field.types.non_null() {
            str::to_owned
        } else {
            return None;
        };
        let complete = listed.len() as f64 >= field.distinct.values;
        complete.then(|| (listed.iter().map(|(value, _)| value.as_str()).collect(), literal))
    }
}

/// Returns whether each shard can enforce the uniqueness of an index on its own: it begins with the
/// key's fields, in order, or with `_id`.
fn may_stay_unique(index: &Index, key: &[(String, bool)]) -> bool {
    !index.unique
        || index.keys.first().is_none_or(|first| first.path == "_id")
        || index.keys.len() >= key.len()
            && index.keys.iter().zip(key).all(|(of, (path, _))| of.path == *path)
}
