//! Plans how a collection gets a shard key (SK-12): a first one, one that is only planned, or
//! another one.

use docward_model::{
    Collection, DirectionKind, Draft, Evidence, Index, IndexKey, NewIndex, Safety, Settings,
    ShardKey, Step, Value, mongosh,
};

use crate::facts::indexes::sharding::{self, Standing};

/// A collection, its server and its key, as far as a change of the key depends on them.
#[derive(Clone, Copy, Debug)]
pub struct KeyChange<'a> {
    collection: &'a Collection,
    version: Option<(u32, u32)>,
    current: Option<&'a ShardKey>,
    standing: Standing,
}

/// A plan that leads to a key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyChangePlan {
    /// The plan in words.
    pub how: String,
    /// The steps, in order; empty if steps alone are not sufficient, or nothing has to change.
    pub steps: Vec<Step>,
}

impl KeyChangePlan {
    /// The finding with the steps as its fix.
    #[must_use]
    pub fn fix(self, draft: Draft) -> Draft {
        if self.steps.is_empty() {
            return draft;
        }
        draft.plan(Some("RF-17"), Safety::Manual, self.steps)
    }

    /// The steps as statements for mongosh.
    pub fn commands(&self) -> Vec<String> {
        self.steps.iter().map(mongosh::statement).collect()
    }
}

impl<'a> KeyChange<'a> {
    /// Collects the facts about the key of a collection.
    pub fn of(collection: &'a Collection, evidence: &'a Evidence, settings: &'a Settings) -> Self {
        Self {
            collection,
            version: settings.server_version.or(evidence.deployment.server_version),
            current: sharding::key_of(evidence, settings, &collection.namespace),
            standing: sharding::standing(evidence, &collection.namespace),
        }
    }

    /// The server's version, if known.
    pub fn version(&self) -> Option<(u32, u32)> {
        self.version
    }

    /// Returns a name for the existing or declared key.
    pub fn key_name(&self) -> &'static str {
        self.standing.key_name()
    }

    /// Returns the plan for changing to a key.
    pub fn plan_for(&self, key: &[(String, bool)]) -> KeyChangePlan {
        let Some(current) = self.current.filter(|_| self.standing != Standing::Planned) else {
            return self.shard(key);
        };
        let is_same = current.fields == key;
        match (self.standing, is_same) {
            (Standing::Unknown, true) => {
                let way = self.shard(key);
                KeyChangePlan {
                    how: format!(
                        "the key is declared; if the collection does not use it yet: {}",
                        way.how
                    ),
                    ..way
                }
            }
            (_, true) => KeyChangePlan {
                how: "the collection is already sharded by this key".to_owned(),
                steps: Vec::new(),
            },
            (Standing::Unknown, false) => {
                let way = self.change(key, &current.fields);
                let planned =
                    "; if the declared key is only planned, use shardCollection with the new one";
                KeyChangePlan { how: way.how + planned, ..way }
            }
            (_, false) => self.change(key, &current.fields),
        }
    }

    /// Plans a first key.
    fn shard(&self, key: &[(String, bool)]) -> KeyChangePlan {
        let namespace = &self.collection.namespace;
        let shard = Step::ShardCollection {
            namespace: namespace.clone(),
            keys: index_keys(key),
            has_collation: self.collation().is_some(),
        };
        let index = self.index_step(key);
        let how = match index {
            Some(_) => "run shardCollection after you create an index that begins with the key",
            None => "run shardCollection; an index that begins with the key exists",
        };
        // Since 6.0, sharding need not be enabled for the database first.
        let enable = self
            .version
            .is_some_and(|version| version < (6, 0))
            .then(|| Step::EnableSharding { database: namespace.database.clone() });
        KeyChangePlan {
            how: format!("{how}{}", self.collation_note()),
            steps: enable.into_iter().chain(index).chain([shard]).collect(),
        }
    }

    /// Plans another key.
    fn change(&self, key: &[(String, bool)], current: &[(String, bool)]) -> KeyChangePlan {
        let keeps_prefix = key.len() > current.len() && key.starts_with(current);
        let change = self.change_step(key, keeps_prefix);
        // Resharding creates the index itself, refining does not.
        let index = self.index_step(key).filter(|_| keeps_prefix && change.is_some());
        let after =
            index.as_ref().map_or("", |_| " (first create an index that begins with the new key)");
        KeyChangePlan {
            how: format!(
                "{}{after}{}",
                how_to_change(self.version, keeps_prefix),
                self.collation_note()
            ),
            steps: index.into_iter().chain(change).collect(),
        }
    }

    /// The step for [`how_to_change`], if one step is sufficient.
    fn change_step(&self, key: &[(String, bool)], keeps_prefix: bool) -> Option<Step> {
        let (namespace, keys) = (self.collection.namespace.clone(), index_keys(key));
        if keeps_prefix && self.version.is_none_or(|v| v >= (4, 4)) {
            return Some(Step::RefineShardKey { namespace, keys });
        }
        let has_collation = self.collation().is_some();
        let can_reshard = self.version.is_none_or(|v| v >= (5, 0));
        can_reshard.then_some(Step::ReshardCollection { namespace, keys, has_collation })
    }

    /// Creates the index that a key needs, unless it exists.
    fn index_step(&self, key: &[(String, bool)]) -> Option<Step> {
        let simple = ("locale".to_owned(), Value::Text("simple".to_owned()));
        let index = NewIndex {
            keys: index_keys(key),
            collation: self.collation().map(|_| Value::Map(vec![simple])),
            ..NewIndex::default()
        };
        let namespace = self.collection.namespace.clone();
        (!self.has_index(key)).then_some(Step::CreateIndex { namespace, index })
    }

    /// Whether it is known that an index exists which the key can use.
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

    /// The collection's own collation, which no key can use.
    fn collation(&self) -> Option<&str> {
        self.collection.options.as_ref()?.collation.as_deref()
    }

    fn collation_note(&self) -> String {
        self.collation().map_or(String::new(), |collation| {
            format!("; shard keys do not use the collection's collation ({collation}), so the command must name the simple collation")
        })
    }
}

fn index_keys(key: &[(String, bool)]) -> Vec<IndexKey> {
    key.iter().map(IndexKey::sharded).collect()
}

/// Returns the method for changing a shard key on a server of this version. `keeps_prefix`: the new
/// key begins with the old one.
pub fn how_to_change(version: Option<(u32, u32)>, keeps_prefix: bool) -> &'static str {
    match version {
        Some(v) if v < (4, 4) => {
            "this version cannot change the key: copy the data to a new collection"
        }
        Some(_) if keeps_prefix => "refineCollectionShardKey adds the field without moving data",
        Some(v) if v < (5, 0) => {
            "this version cannot change the key: copy the data to a new collection"
        }
        Some(_) => {
            "reshardCollection changes the key online and needs disk space for a second copy"
        }
        None if keeps_prefix => {
            "refineCollectionShardKey adds the field (MongoDB 4.4 and later; before, copy to a new collection)"
        }
        None => {
            "reshardCollection changes the key online (MongoDB 5.0 and later; before, copy to a new collection)"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Example;

    fn way(settings: &str, body: &str, key: &[(&str, bool)]) -> KeyChangePlan {
        let example = Example::new("K001", settings, body);
        let (evidence, settings) = (&example.evidence, &example.settings);
        let key: Vec<_> = key.iter().map(|(path, hashed)| ((*path).to_owned(), *hashed)).collect();
        KeyChange::of(&evidence.collections[0], evidence, settings).plan_for(&key)
    }

    #[test]
    fn sk_12_a_planned_key_is_no_key_to_change() {
        let declared = "shard-key=db_shop.t_order_item:{\"a\":1},version=6.0";
        let (same, longer) = (&[("a", false)][..], &[("a", false), ("b", false)][..]);
        let planned =
            "server {\"set\": \"rs0\"}\n{\"a\": 1}\nindex {\"key\": {\"a\": 1, \"b\": 1}}";
        for key in [same, longer] {
            let way = way(declared, planned, key);
            assert!(way.commands().len() == 1, "{way:?}");
            assert!(way.commands()[0].starts_with("sh.shardCollection("), "{way:?}");
        }
        let used = "server {\"sharded\": [{\"ns\": \"db_shop.t_order_item\", \"key\": {\"a\": 1}}]}\n{\"a\": 1}";
        assert!(way(declared, used, same).commands().is_empty());
        assert!(way(declared, used, longer).commands()[1].contains("refineCollectionShardKey"));
        // A dump does not show this.
        let dump = "{\"a\": 1}";
        assert!(
            way(declared, dump, same)
                .how
                .starts_with("the key is declared; if the collection does not use it yet")
        );
        assert!(way(declared, dump, longer).how.contains("if the declared key is only planned"));
    }

    #[test]
    fn sk_12_the_way_depends_on_the_version() {
        assert!(how_to_change(Some((4, 2)), true).contains("copy the data to a new collection"));
        assert!(how_to_change(Some((4, 4)), true).contains("refine"));
        assert!(how_to_change(Some((4, 4)), false).contains("copy the data to a new collection"));
        assert!(how_to_change(Some((5, 0)), false).contains("reshardCollection"));
        let by_a = "shard-key=db_shop.t_order_item:{\"a\":1},version=";
        assert_eq!(
            way(&format!("{by_a}6.0"), "{\"a\": 1}", &[("b.c", true)]).commands(),
            ["sh.reshardCollection(\"db_shop.t_order_item\", { \"b.c\": \"hashed\" })"]
        );
        let none: [&str; 0] = [];
        let old = way(&format!("{by_a}4.2"), "{\"a\": 1}", &[("a", false), ("b", false)]);
        assert_eq!(old.commands(), none);
    }
}
