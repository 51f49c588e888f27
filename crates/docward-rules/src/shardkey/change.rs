//! Why the server would refuse a key, and the commands that bring a collection to one (SK-12).

use docward_model::{CollectionKind, DirectionKind, Field, Index, KeyFields, ZonePlan};

use super::Judge;
use crate::facts::{sharding, statements, text};

impl Judge<'_> {
    /// Why the server would not take the key at all. That says nothing about how it spreads.
    pub(super) fn refusals(&self, key: &[(String, bool)]) -> Vec<String> {
        let mut out = Vec::new();
        if self.collection.kind == CollectionKind::Capped {
            out.push("capped collections cannot be sharded".to_owned());
        }
        if key.iter().filter(|(_, hashed)| *hashed).count() > 1 {
            out.push("a key may have one hashed field only".to_owned());
        }
        if key.len() > 1
            && key.iter().any(|(_, hashed)| *hashed)
            && self.version.is_some_and(|v| v < (4, 4))
        {
            out.push("compound keys with a hashed field need 4.4 or later".to_owned());
        }
        for (at, (path, _)) in key.iter().enumerate() {
            if key[..at].iter().any(|(before, _)| before == path) {
                out.push(format!("`{path}` is in the key twice"));
            }
            if path.split('.').any(|name| name.is_empty() || name.starts_with('$')) {
                out.push(format!("`{path}` is no name of a field"));
            }
        }
        if let Some((path, arrays)) = sharding::array_field(self.profile, key) {
            out.push(format!(
                "`{path}` holds {}, which no shard key may",
                text::plural(arrays, "array")
            ));
        }
        let indexes = self.collection.indexes.iter().flatten();
        out.extend(indexes.filter(|index| !may_stay_unique(index, key)).map(|index| {
            format!(
                "the unique index `{}` {} does not begin with the key: shards could not keep it unique",
                index.name,
                index.key_text()
            )
        }));
        out
    }

    /// How to get from the current key, or from none, to this one: in words, and as commands.
    pub(super) fn change(&self, key: &[(String, bool)]) -> (String, Vec<String>) {
        let namespace = &self.collection.namespace;
        let collation =
            self.collection.options.as_ref().and_then(|options| options.collation.as_deref());
        let key_text = sharding::key_text(key);
        let index = (!self.has_index(key)).then(|| {
            let simple = collation.map_or("", |_| ", { collation: { locale: \"simple\" } }");
            format!("{}.createIndex({key_text}{simple})", statements::collection(namespace))
        });
        let simple = collation.map_or(String::new(), |collation| {
            format!("; the collection's collation ({collation}) does not apply to keys, the simple one has to be named")
        });
        let Some(current) = &self.current else {
            let options =
                collation.map_or("", |_| ", false, { collation: { locale: \"simple\" } }");
            let shard = format!(
                "sh.shardCollection({}, {key_text}{options})",
                statements::quoted(&namespace.to_string())
            );
            let how = match index {
                Some(_) => "shardCollection, after an index that begins with the key",
                None => "shardCollection; an index that begins with the key is there",
            };
            // From 6.0 on the database need not be told.
            let enable = self
                .version
                .is_some_and(|version| version < (6, 0))
                .then(|| format!("sh.enableSharding({})", statements::quoted(&namespace.database)));
            let commands = enable.into_iter().chain(index).chain([shard]).collect();
            return (format!("{how}{simple}"), commands);
        };
        if current == key {
            return ("the collection is sharded by it already".to_owned(), Vec::new());
        }
        let keeps_prefix = key.len() > current.len() && key.starts_with(current);
        let change =
            sharding::change_command(self.version, namespace, key, keeps_prefix).map(|command| {
                match (collation, command.strip_suffix(')')) {
                    (Some(_), Some(call)) if !keeps_prefix => {
                        format!("{call}, {{ collation: {{ locale: \"simple\" }} }})")
                    }
                    _ => command,
                }
            });
        let how = sharding::how_to_change(self.version, keeps_prefix);
        // Resharding makes the index itself, refining does not.
        let index = index.filter(|_| keeps_prefix && change.is_some());
        (format!("{how}{simple}"), index.into_iter().chain(change).collect())
    }

    /// Whether an index that the key can use is known to be there.
    fn has_index(&self, key: &[(String, bool)]) -> bool {
        let wanted: Vec<(&str, DirectionKind)> = key
            .iter()
            .map(|(path, hashed)| {
                let kind = if *hashed { DirectionKind::Hashed } else { DirectionKind::Ascending };
                (path.as_str(), kind)
            })
            .collect();
        let begins = |index: &Index| {
            index.keys.len() >= wanted.len()
                && index.keys.iter().zip(&wanted).all(|(k, w)| k.path == w.0 && k.kind == w.1)
        };
        // Every collection has one on `_id`, whether its indexes are known or not.
        if self.collection.indexes.is_none() && wanted == [("_id", DirectionKind::Ascending)] {
            return true;
        }
        let plain = |i: &Index| {
            !i.sparse && !i.hidden && i.partial_filter.is_none() && i.collation.is_none()
        };
        self.collection.indexes.iter().flatten().any(|index| begins(index) && plain(index))
    }

    /// Zones for a key that begins with the field that says where documents must live (SK-11): one
    /// for each value seen. The values themselves are data, so they are written out on demand only.
    pub(super) fn zone_plan(
        &self,
        zone: &str,
        key: &KeyFields,
        show_values: bool,
    ) -> Option<ZonePlan> {
        /// More values are no zones, or none that anybody would write out.
        const MOST: usize = 20;
        let (_, field) = self.field(zone)?;
        let values = self.values_as_text(field).filter(|v| (1..=MOST).contains(&v.0.len()));
        let values_hidden = values.is_some() && !show_values;
        let literals: Vec<(String, String)> = match values {
            None => vec![("<zone>".to_owned(), "<value>".to_owned())],
            Some((values, literal)) => values
                .iter()
                .enumerate()
                .map(|(at, value)| match show_values {
                    true => (*value).to_owned(),
                    false => format!("<value {}>", at + 1),
                })
                .map(|name| (name.clone(), literal(&name)))
                .collect(),
        };
        let commands = literals
            .iter()
            .flat_map(|(name, literal)| self.zone_commands(zone, key, name, literal))
            .collect();
        Some(ZonePlan { commands, values_hidden })
    }

    /// A zone, and all documents with one value of the zone field bound to it.
    fn zone_commands(&self, zone: &str, key: &KeyFields, name: &str, literal: &str) -> [String; 2] {
        let ns = statements::quoted(&self.collection.namespace.to_string());
        let bound = |end: &str| {
            let parts: Vec<String> = key
                .iter()
                .map(|(path, _)| {
                    let value = if path == zone { literal } else { end };
                    format!("{}: {value}", crate::facts::shell::key(path))
                })
                .collect();
            format!("{{ {} }}", parts.join(", "))
        };
        let shard = statements::quoted(&format!("<shard for {name}>"));
        let name = statements::quoted(name);
        [
            format!("sh.addShardToZone({shard}, {name})"),
            format!(
                "sh.updateZoneKeyRange({ns}, {}, {}, {name})",
                bound("MinKey"),
                bound("MaxKey")
            ),
        ]
    }

    /// The values of a field with few of them, and how the shell writes them; `None` when they are not
    /// all known or not of one plain type.
    fn values_as_text<'f>(&self, field: &'f Field) -> Option<(Vec<&'f str>, fn(&str) -> String)> {
        use docward_model::BsonType::{Int, Long, String as Text};
        let listed = field.enumeration.as_ref()?;
        let literal: fn(&str) -> String = if field.is_only(Text) {
            statements::quoted
        } else if field.types.of(Int) + field.types.of(Long) == field.types.non_null() {
            str::to_owned
        } else {
            return None;
        };
        let complete = listed.len() as f64 >= field.distinct.values;
        complete.then(|| (listed.iter().map(|(value, _)| value.as_str()).collect(), literal))
    }
}

/// Whether each shard alone can keep an index unique: it begins with the key's fields, in their order,
/// or with `_id`.
fn may_stay_unique(index: &Index, key: &[(String, bool)]) -> bool {
    !index.unique
        || index.keys.first().is_none_or(|first| first.path == "_id")
        || index.keys.len() >= key.len()
            && index.keys.iter().zip(key).all(|(of, (path, _))| of.path == *path)
}
