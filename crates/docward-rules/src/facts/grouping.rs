//! Groups findings that are alike: a collection with three hundred date strings has one problem.

use docward_model::{DataValue, Draft, FieldPath, Namespace, Subject};

use crate::Cx;
use crate::facts::text;

/// Fields of one collection that are reported one by one; more become a single finding.
const SINGLY: usize = 12;

/// Reports each finding, or one for all of the same severity if there are too many. `many`
/// describes the fields: "hold dates as strings".
pub fn report(cx: &mut Cx<'_>, namespace: &Namespace, drafts: Vec<Draft>, many: &str) {
    let mut groups: Vec<Vec<Draft>> = Vec::new();
    for draft in drafts {
        let alike = |g: &&mut Vec<Draft>| {
            g.first().is_some_and(|d| d.severity == draft.severity && d.level == draft.level)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(draft),
            None => groups.push(vec![draft]),
        }
    }
    for group in groups {
        if group.len() <= SINGLY {
            group.into_iter().for_each(|draft| cx.report(draft));
            continue;
        }
        let paths: Vec<String> =
            group.iter().filter_map(|d| d.at.path()).map(|p| p.as_str().to_owned()).collect();
        let changes = group.iter().flat_map(Draft::all_changes).collect();
        let Some(first) = group.into_iter().next() else { continue };
        let mut draft = Draft::new(
            Subject::Collection(namespace.clone()),
            format!(
                "{} {many}: {}",
                text::plural(paths.len() as u64, "field"),
                text::paths(&paths, 5)
            ),
            first.why,
            format!("each field needs its own change; for the first: {}", first.todo),
            first.seen,
        )
        .clauses(first.clauses)
        .key(first.key)
        .paths(paths.iter().map(FieldPath::new))
        .data("fields", DataValue::from(paths));
        draft.severity = first.severity;
        draft.level = first.level;
        draft.changes = changes;
        cx.report(draft);
    }
}
