//! Indexes on fields that a remedy renames.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    Action, DirectionKind, Evidence, Finding, Fix, Index, IndexKey, Namespace, NewIndex, Rename,
    Step,
};

use crate::facts::text;

/// Adds steps to remedies that rename fields, so that the indexes use the new names. Indexes with special options, and
/// indexes with fields in several remedies, are only mentioned in the advice.
pub fn move_indexes(evidence: &Evidence, findings: &mut [Finding]) {
    let steps = || findings.iter().flat_map(|finding| finding.fix.iter().flat_map(Fix::steps));
    let dropped: BTreeSet<(Namespace, String)> = steps()
        .filter_map(|step| match step {
            Step::DropIndex { namespace, index } | Step::HideIndex { namespace, index } => {
                Some((namespace.clone(), index.clone()))
            }
            _ => None,
        })
        .collect();
    let mut touched: BTreeMap<(Namespace, String), usize> = BTreeMap::new();
    for finding in findings.iter() {
        for (namespace, index, _) in renamed(evidence, finding) {
            *touched.entry((namespace, index.name.clone())).or_default() += 1;
        }
    }
    for finding in findings {
        let indexes: Vec<_> = renamed(evidence, finding)
            .into_iter()
            .filter(|(namespace, index, _)| {
                !dropped.contains(&(namespace.clone(), index.name.clone()))
            })
            .map(|(namespace, index, keys)| {
                let is_alone = touched.get(&(namespace.clone(), index.name.clone())) == Some(&1);
                let others = evidence.collection(&namespace).and_then(|c| c.indexes.as_ref());
                let is_free = |keys: &Vec<IndexKey>| {
                    let name = default_name(keys);
                    let mut others = others.into_iter().flatten();
                    !others.any(|other| other.keys == *keys || other.name == name)
                };
                let keys = keys.filter(|keys| is_alone && is_free(keys));
                // During the rename, several documents lack the old name, and the index would refuse them.
                let blocks = index.unique && !index.sparse;
                (namespace, index.name.clone(), blocks, keys)
            })
            .collect();
        let Some(Fix { action: Action::Plan(steps), .. }) = &mut finding.fix else { continue };
        let (mut moved, mut left) = (Vec::new(), Vec::new());
        for (namespace, name, unique, keys) in indexes {
            let drop = Step::DropIndex { namespace: namespace.clone(), index: name.clone() };
            let index = keys.map(|keys| NewIndex { keys, unique, ..NewIndex::default() });
            let create = index.map(|index| Step::CreateIndex { namespace, index });
            match &create {
                // While both exist, they cannot have the same name.
                Some(Step::CreateIndex { index, .. }) => {
                    moved.push(format!("`{name}` (new name: `{}`)", default_name(&index.keys)));
                }
                _ => left.push(format!("`{name}`")),
            }
            if unique {
                steps.insert(0, drop);
                steps.extend(create);
            } else if let Some(create) = create {
                steps.insert(0, create);
                steps.push(drop);
            }
        }
        for (names, does) in [(moved, "the command also moves"), (left, "afterwards create anew")] {
            if !names.is_empty() {
                finding.todo.push_str(&format!(
                    "; {does} the {} {}",
                    text::form(names.len() as u64, "index", "indexes"),
                    text::phrases(&names, 3),
                ));
            }
        }
    }
}

/// The indexes on fields that a finding renames. The keys are `None` if the index also has other options.
fn renamed<'e>(
    evidence: &'e Evidence,
    finding: &Finding,
) -> Vec<(Namespace, &'e Index, Option<Vec<IndexKey>>)> {
    let mut by_namespace: BTreeMap<&Namespace, Vec<&Rename>> = BTreeMap::new();
    for step in finding.fix.iter().flat_map(Fix::steps) {
        match step {
            Step::RenameFields { namespace, renames, .. } => {
                by_namespace.entry(namespace).or_default().extend(renames);
            }
            Step::LiftField { namespace, rename } => {
                by_namespace.entry(namespace).or_default().push(rename);
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (namespace, renames) in by_namespace {
        let indexes = evidence.collection(namespace).and_then(|c| c.indexes.as_ref());
        for index in indexes.into_iter().flatten() {
            let keys: Vec<IndexKey> = index.keys.iter().map(|key| new_key(key, &renames)).collect();
            if keys.iter().zip(&index.keys).any(|(new, old)| new.path != old.path) {
                let is_plain = super::is_plain(index)
                    && !index.sparse
                    && !index.hidden
                    && index.ttl_seconds.is_none()
                    && index.partial_filter.is_none()
                    && index.collation.is_none();
                found.push((namespace.clone(), index, is_plain.then_some(keys)));
            }
        }
    }
    found
}

/// The name that the server gives an index.
fn default_name(keys: &[IndexKey]) -> String {
    let direction = |key: &IndexKey| if key.kind == DirectionKind::Descending { "-1" } else { "1" };
    let parts = keys.iter().map(|key| format!("{}_{}", key.path, direction(key)));
    parts.collect::<Vec<_>>().join("_")
}

/// A key under the new name of its field. Inner fields are renamed before the objects around them.
fn new_key(key: &IndexKey, renames: &[&Rename]) -> IndexKey {
    let mut path = key.path.clone();
    for rename in renames {
        let rest = path.strip_prefix(&rename.from.dotted());
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('.')) {
            path = format!("{}{rest}", rename.to.dotted());
        }
    }
    IndexKey { path, kind: key.kind.clone() }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    /// The command and the advice for a collection with an index.
    fn told(index: &str) -> (String, String) {
        let body = format!(
            "index {index}\nx20 {{\"_id\": $i, \"userName\": \"a\", \"createTime\": 1, \"orderNo\": 1, \"last_name\": \"b\", \"lines\": [{{\"unit_price\": 1}}]}}"
        );
        let found = check("N011", &body);
        assert_eq!(found.len(), 1, "{found:?}");
        (found[0].fix.as_ref().unwrap().command(), found[0].todo.clone())
    }

    #[test]
    fn dm_04_1_indexes_move_to_the_new_names() {
        let (command, todo) =
            told(r#"{"key": {"orderNo": 1, "last_name": -1}, "name": "by_name"}"#);
        let create = command.find("createIndex({orderNo: 1, lastName: -1})").expect("an index");
        assert!(create < command.find("$rename").unwrap(), "{command}");
        assert!(command.ends_with("dropIndex(\"by_name\")"), "{command}");
        let moved =
            "; the command also moves the index `by_name` (new name: `orderNo_1_lastName_-1`)";
        assert!(todo.ends_with(moved), "{todo}");
        let (command, _) = told(r#"{"key": {"lines.unit_price": 1}, "name": "price"}"#);
        assert!(command.contains("createIndex({\"lines.unitPrice\": 1})"), "{command}");
    }

    #[test]
    fn dm_04_1_a_unique_index_follows_the_rename() {
        let (command, _) = told(r#"{"key": {"last_name": 1}, "name": "n", "unique": true}"#);
        let (drop, rename) = (command.find("dropIndex").unwrap(), command.find("$rename").unwrap());
        let create = command.find("createIndex").expect("an index");
        assert!(drop < rename && rename < create, "{command}");
        assert!(command.contains("{unique: true}"), "{command}");
    }

    #[test]
    fn dm_04_1_special_indexes_are_left_to_people() {
        let (command, todo) = told(r#"{"key": {"last_name": 1}, "name": "n", "sparse": true}"#);
        assert!(!command.contains("ndex"), "{command}");
        assert!(todo.ends_with("; afterwards create anew the index `n`"), "{todo}");
        let (command, todo) = told(r#"{"key": {"orderNo": 1}, "name": "o"}"#);
        assert!(!command.contains("ndex") && !todo.contains("`o`"), "{command} {todo}");
    }
}
