//! The target types of fields, as the findings about a collection propose them. Validators that Docward proposes accept
//! these types in addition to the stored ones. So validators and conversions can be applied in any order.

use std::collections::BTreeMap;

use docward_model::{BsonType, Field, Namespace};

use crate::ProposedChange;

/// The target of one field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The rules that propose it, in the order of their codes.
    pub rules: Vec<&'static str>,
    /// The target types of its values; empty if the types stay.
    pub kinds: Vec<BsonType>,
    /// Whether some values become null.
    pub to_null: bool,
    /// Whether documents that have the field now may lack it afterwards.
    pub removes: bool,
}

impl Target {
    /// The types to accept in addition to the listed ones.
    pub fn beyond(&self, listed: &[BsonType]) -> Vec<BsonType> {
        let null = self.to_null.then_some(BsonType::Null);
        let wanted = self.kinds.iter().copied().chain(null);
        wanted.filter(|kind| !listed.contains(kind)).collect()
    }

    /// Whether stored values of another type become numbers, so that the range of the stored numbers does not hold for
    /// all of them.
    pub fn makes_numbers(&self, field: &Field) -> bool {
        self.kinds.iter().any(|kind| kind.is_number())
            && field.types.non_null() > field.types.numbers()
    }

    /// The description of a field with these types: it states which of them stays.
    pub fn description(&self, admitted: &[BsonType]) -> Option<String> {
        let name = |kind: &BsonType| kind.name().to_owned();
        let kinds: Vec<String> = self.kinds.iter().map(name).collect();
        let others: Vec<String> = admitted
            .iter()
            .filter(|kind| !self.kinds.contains(kind) && **kind != BsonType::Null)
            .map(name)
            .collect();
        (!kinds.is_empty() && !others.is_empty()).then(|| {
            format!(
                "Target type: {} ({}). The validator also accepts {} until stored values are converted",
                kinds.join(" or "),
                self.rules.join(", "),
                others.join(" or ")
            )
        })
    }
}

/// The targets of a collection's fields by path.
#[derive(Clone, Debug, Default)]
pub struct Targets(BTreeMap<String, Target>);

impl Targets {
    /// Collects the changes that several rules propose for the fields of one collection.
    pub fn new(changes: &[ProposedChange], namespace: &Namespace) -> Self {
        let mut targets: BTreeMap<String, Target> = BTreeMap::new();
        for proposed in changes.iter().filter(|proposed| proposed.namespace == *namespace) {
            let change = &proposed.change;
            let target = targets.entry(change.path.as_str().to_owned()).or_default();
            if !target.rules.contains(&proposed.rule) {
                target.rules.push(proposed.rule);
            }
            for kind in &change.kinds {
                if !target.kinds.contains(kind) {
                    target.kinds.push(*kind);
                }
            }
            target.to_null |= change.to_null;
            target.removes |= change.removes;
        }
        Self(targets)
    }

    /// Returns the target of a field, if a finding proposes a change.
    pub fn at(&self, path: &str) -> Option<&Target> {
        self.0.get(path)
    }

    /// The types to describe in addition to the stored ones, the target's last, and null at the very end.
    pub fn widen(&self, path: &str, stored: Vec<BsonType>) -> Vec<BsonType> {
        let Some(target) = self.at(path) else { return stored };
        let mut all = stored;
        let more = target.beyond(&all);
        all.extend(more);
        all.sort_by_key(|kind| *kind == BsonType::Null);
        all
    }
}

#[cfg(test)]
mod tests {
    use docward_model::{FieldChange, FieldPath};

    use super::*;

    #[test]
    fn dm_09_6_several_rules_make_one_target() {
        let namespace = Namespace::new("db_shop", "t_product");
        let path = FieldPath::new("price");
        let of = |rule, change| ProposedChange { rule, namespace: namespace.clone(), change };
        let changes = [
            of("T002", FieldChange::convert(&path, [BsonType::Decimal])),
            of("T005", FieldChange::convert(&path, [BsonType::Decimal]).or_null(true)),
            of("N011", FieldChange::remove(&FieldPath::new("unit_price"))),
        ];
        let targets = Targets::new(&changes, &namespace);
        let price = targets.at("price").unwrap();
        assert_eq!(price.rules, ["T002", "T005"]);
        let stored = vec![BsonType::Double, BsonType::String];
        let widened = targets.widen("price", stored.clone());
        assert_eq!(widened[2..], [BsonType::Decimal, BsonType::Null]);
        let told = price.description(&widened).unwrap();
        assert!(
            told.starts_with(
                "Target type: decimal (T002, T005). The validator also accepts double or string"
            ),
            "{told}"
        );
        assert!(targets.at("unit_price").unwrap().removes);
        assert_eq!(targets.widen("unit_price", stored.clone()), stored);
        assert_eq!(Targets::new(&changes, &Namespace::new("a", "b")).at("price"), None);
    }
}
