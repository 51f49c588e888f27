//! Reads `relationships:`. Each is named after the parent and the role of its children.

use docward_model::{ChildGrowth, Relationship, Spread};

use crate::model_file::fault::Faults;
use crate::model_file::position::At;
use crate::model_file::quantity;
use crate::model_file::table::{Table, boolean};
use crate::model_file::yaml::{Node, Value};

use super::{at_least_one, entities, one_text};

pub(super) fn read(node: &Node, faults: &mut Faults<'_>) -> Vec<Relationship> {
    let Some(table) = Table::of(node, "`relationships`", faults) else { return Vec::new() };
    table.entries().iter().filter_map(|(name, at, node)| one(name, *at, node, faults)).collect()
}

fn one(name: &str, at: At, node: &Node, faults: &mut Faults<'_>) -> Option<Relationship> {
    let what = format!("relationship `{name}`");
    let Some((parent, role)) = name.split_once('.') else {
        let hint = "name it after its parent, as `post.comments`".to_owned();
        faults.push(at, format!("{what} does not name its parent"), Some(hint));
        return None;
    };
    if role.is_empty() || role.contains(['.', '$']) || role.contains(char::is_control) {
        faults.push(at, format!("{what} cannot be the name of a field"), None);
    }
    let mut table = Table::of(node, &what, faults)?;
    let child = one_text(table.get("child"), "the child", faults);
    if child.is_none() {
        faults.push(at, format!("{what} has no `child`"), Some("name an entity".to_owned()));
    }
    let field = one_text(table.get("field"), "the field", faults);
    let children = table.get("children").and_then(|n| {
        let spread = entities::spread(n, "`children`", faults)?;
        if spread.max == 0 {
            let hint = "leave the relationship out".to_owned();
            faults.push(n.at, "no parent would have a child", Some(hint));
        }
        Some(spread)
    });
    let growth = table.get("growth").and_then(|n| growth(n, faults));
    let parents = table.get("parents").and_then(|n| {
        let spread = entities::spread(n, "`parents`", faults)?;
        if spread.max == 0 {
            let hint = "leave the relationship out".to_owned();
            faults.push(n.at, "no child would have a parent", Some(hint));
        }
        Some(spread)
    });
    let current = table.get("must-be-current").and_then(|n| current(n, faults));
    let rising = table
        .get("rising")
        .and_then(|n| n.flag("whether new children belong to the newest parents", faults));
    let keep_newest =
        table.get("keep-newest").and_then(|n| at_least_one(n, "how many are kept", faults));
    let invariant = one_text(table.get("invariant"), "what must hold", faults);
    let transaction = table
        .get("transaction")
        .and_then(|n| n.flag("whether a transaction is written down", faults))
        .unwrap_or(false);
    table.finish(&what, faults);
    Some(Relationship {
        name: name.to_owned(),
        place: faults.location(at),
        parent: parent.to_owned(),
        child: child?,
        field,
        children,
        growth,
        parents: parents.map_or(1.0, |spread| spread.p50 as f64),
        parents_max: parents.map_or(1.0, |spread| spread.max as f64),
        parents_spread: parents.unwrap_or(Spread::always(1)),
        current,
        rising,
        keep_newest,
        invariant,
        transaction,
    })
}

/// Reads `bounded`, `endless`, or the number of new children per year: `30/year`, `{typical:
/// 30/year, p99: 4000/year}`.
fn growth(node: &Node, faults: &mut Faults<'_>) -> Option<ChildGrowth> {
    let example = "`bounded`, `endless`, `30/year` or `{typical: 30/year, p99: 4k/year}`";
    if let Value::Map(_) = node.value {
        let mut table = Table::of(node, "`growth`", faults)?;
        let mut yearly = |key: &'static str, faults: &mut Faults<'_>| {
            table.get(key).and_then(|n| n.read(key, "`30/year`", quantity::per_year, faults))
        };
        let (typical, p99) = (yearly("typical", faults), yearly("p99", faults));
        table.finish("`growth`", faults);
        let (Some(typical), Some(p99)) = (typical, p99) else {
            faults.push(node.at, "`growth` needs `typical` and `p99`", None);
            return None;
        };
        return Some(ChildGrowth::Endless { typical, p99 });
    }
    let read = |text: &str| match text {
        "bounded" => Some(ChildGrowth::Bounded),
        // Without a rate, a verdict is possible, but no date of crossing.
        "endless" | "unbounded" => Some(ChildGrowth::Endless { typical: 0.0, p99: 0.0 }),
        text => quantity::per_year(text)
            .map(|yearly| ChildGrowth::Endless { typical: yearly, p99: yearly }),
    };
    node.read("the growth", example, read, faults)
}

/// Reads `true`, `false`, or the fields that must be current.
fn current(node: &Node, faults: &mut Faults<'_>) -> Option<Vec<String>> {
    if let Value::Scalar(text, false) = &node.value
        && let Some(flag) = boolean(text)
    {
        return flag.then(Vec::new);
    }
    Some(node.words("a field", faults).into_iter().map(|(word, _)| word).collect())
}
