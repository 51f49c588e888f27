//! Turns recorded operations into reads and writes of a model: rate, filter and order.

use std::collections::BTreeMap;
use std::fmt::Write;

use docward_model::{
    Collection, Comparison, Evidence, Operation, Predicate, QueryShape, QueryStats, Workload, text,
};

use crate::model_file::quantity;

use super::{MAX_FIELDS, Names, Relation, own_fields, scalar};

/// A shorter recording in seconds tells little about rates (R033).
const SHORT: f64 = 60.0;

/// The recorded reads and writes.
pub(super) struct Operations {
    reads: Vec<(String, String)>,
    writes: Vec<(String, String)>,
    /// The duration of the recording, in words.
    over: Option<String>,
}

/// The names that operations may use in a model: fields of each entity, and references by their
/// field.
struct Known<'e> {
    fields: BTreeMap<&'e str, Vec<&'e str>>,
    relations: &'e [Relation<'e>],
}

impl Known<'_> {
    /// Whether a read of an entity may use a path.
    fn has(&self, entity: &str, path: &str) -> bool {
        let own = || self.fields.get(entity).is_some_and(|fields| fields.contains(&path));
        let is_end = |r: &Relation<'_>| r.child == entity || r.parent() == entity;
        let held = |r: &&Relation<'_>| r.field.as_deref() == Some(path) && is_end(r);
        path == "_id" || own() || self.relations.iter().find(held).is_some()
    }

    /// Returns the relationship that a join follows, if it is the only one between two entities.
    fn along(&self, a: &str, b: &str) -> Option<&str> {
        let joins = |r: &&Relation<'_>| {
            (r.parent() == a && r.child == b) || (r.parent() == b && r.child == a)
        };
        let mut found = self.relations.iter().filter(joins);
        let first = found.next()?;
        found.next().is_none().then_some(first.name.as_str())
    }
}

impl Operations {
    pub(super) fn of<'e>(
        evidence: &'e Evidence,
        kept: &[&'e Collection],
        names: &'e Names,
        relations: &'e [Relation<'e>],
    ) -> Self {
        let mut found = Self { reads: Vec::new(), writes: Vec::new(), over: None };
        let Some(workload) = &evidence.workload else { return found };
        let Some(seconds) = workload.seconds().map(|seconds| seconds.max(1.0)) else {
            return found;
        };
        let mut known = Known { fields: BTreeMap::new(), relations };
        for collection in kept {
            if let (Some(name), Some(profile)) =
                (names.get(&collection.namespace), &collection.profile)
            {
                let own = own_fields(evidence, collection, profile);
                let own = own.into_iter().take(MAX_FIELDS).map(|field| field.name.as_str());
                known.fields.insert(name, own.collect());
            }
        }
        for (number, stats) in workload.shapes.iter().enumerate() {
            let Some(entity) = names.get(&stats.shape.namespace) else { continue };
            let rate = quantity::written(stats.count as f64 / seconds);
            let label = format!("{} {entity} {}", stats.shape.operation.name(), number + 1);
            let action = match stats.shape.operation {
                Operation::Find | Operation::Aggregate | Operation::Count | Operation::Distinct => {
                    None
                }
                Operation::Insert => Some("insert"),
                Operation::Update | Operation::FindAndModify => Some("update"),
                Operation::Delete => Some("delete"),
                Operation::GetMore => continue,
            };
            let line = match action {
                Some(action) => {
                    let sets = sets(&stats.shape, entity, &known);
                    format!(
                        "{}: {{rate: {rate}, {action}: [{}]{sets}}}",
                        scalar(&label),
                        scalar(entity)
                    )
                }
                None => {
                    let (asked, open) = asked(stats, entity, names, &known);
                    format!(
                        "{}: {{rate: {rate}, from: {}{asked}}}   # ? {open}",
                        scalar(&label),
                        scalar(entity)
                    )
                }
            };
            let list = if action.is_some() { &mut found.writes } else { &mut found.reads };
            list.push((entity.to_owned(), line));
        }
        found.over = Some(over(workload, seconds));
        found
    }

    pub(super) fn names(&self, entity: &str, writes: bool) -> bool {
        let list = if writes { &self.writes } else { &self.reads };
        list.iter().any(|(name, _)| name == entity)
    }

    pub(super) fn write(&self, out: &mut String) {
        for (word, list, example) in [
            (
                "reads",
                &self.reads,
                "  # order page: {rate: 200/s, from: order, where: [orderNo], with: [order.items]}",
            ),
            (
                "writes",
                &self.writes,
                "  # place order: {rate: 20/s, insert: [order], atomic: true}",
            ),
        ] {
            if list.is_empty() {
                let _ = writeln!(out, "\n# ? {word}:\n{example}");
                continue;
            }
            let _ = writeln!(out, "\n{word}:");
            if let Some(over) = &self.over {
                let _ = writeln!(out, "  # {over}");
            }
            for (_, line) in list {
                let _ = writeln!(out, "  {line}");
            }
        }
    }
}

/// Describes the duration from which the rates were computed.
fn over(workload: &Workload, seconds: f64) -> String {
    let operations: u64 = workload.shapes.iter().map(|stats| stats.count).sum();
    let span = match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} minutes", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} hours", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    };
    let mut said =
        format!("Rates are computed from {} in {span}.", text::plural(operations, "operation"));
    if seconds < SHORT {
        said.push_str(" ? This period is short: replace the rates by typical values.");
    }
    said
}

/// Returns how a model names a comparison, or `None` if it has no name for it.
fn condition(predicate: &Predicate) -> Option<&'static str> {
    match predicate.comparison {
        Comparison::Equality | Comparison::OneOf => Some("equal"),
        // A list with this many values is a range.
        Comparison::OneOfMany
        | Comparison::Range
        | Comparison::Between
        | Comparison::Prefix
        | Comparison::Regex
        | Comparison::Exists
        | Comparison::Negation => Some("range"),
        Comparison::Special | Comparison::Expression => None,
    }
}

/// Returns the parameters of a read, such as `, where: {…}, sort: {…}, limit: 10`, and its open
/// questions.
fn asked(stats: &QueryStats, entity: &str, names: &Names, known: &Known<'_>) -> (String, String) {
    let shape = &stats.shape;
    let (mut said, mut open) = (String::new(), Vec::new());
    let (mut filter, mut lost): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    for predicate in &shape.filter {
        match condition(predicate).filter(|_| known.has(entity, &predicate.path)) {
            Some(how) => {
                let path = scalar(&predicate.path);
                if !filter.iter().any(|have| have.starts_with(&format!("{path}: "))) {
                    filter.push(format!("{path}: {how}"));
                }
            }
            None => lost.push(&predicate.path),
        }
    }
    if !filter.is_empty() {
        said.push_str(&format!(", where: {{{}}}", filter.join(", ")));
    }
    if shape.branches || !lost.is_empty() || shape.filter.is_empty() && shape.filters_late {
        let more =
            if lost.is_empty() { String::new() } else { format!(" {}", text::list(&lost, 3)) };
        open.push(format!("where (also{})", if shape.branches { " `$or`" } else { &more }));
    }
    if !shape.sort.is_empty() && shape.sort.iter().all(|(path, _)| known.has(entity, path)) {
        let keys = shape
            .sort
            .iter()
            .map(|(path, rises)| format!("{}: {}", scalar(path), if *rises { 1 } else { -1 }));
        said.push_str(&format!(", sort: {{{}}}", keys.collect::<Vec<_>>().join(", ")));
    } else if !shape.sort.is_empty() {
        open.push("sort".to_owned());
    }
    // The workload does not record the limit, so the number of returned documents is used.
    if shape.limited && stats.returned > 0 {
        said.push_str(&format!(", limit: {}", stats.returned.div_ceil(stats.count.max(1))));
    }
    if let Some(fields) = &shape.projection {
        let fields: Vec<&String> = fields.iter().filter(|f| *f != "_id").collect();
        let is_own =
            |f: &&String| known.fields.get(entity).is_some_and(|own| own.contains(&f.as_str()));
        if !fields.is_empty() && fields.iter().all(is_own) {
            let fields: Vec<String> = fields.into_iter().map(|f| scalar(f)).collect();
            said.push_str(&format!(", fields: [{}]", fields.join(", ")));
        }
    }
    let mut with: Vec<&str> = Vec::new();
    for lookup in &shape.lookups {
        let other =
            docward_model::Namespace { collection: lookup.from.clone(), ..shape.namespace.clone() };
        let along = names.get(&other).and_then(|other| known.along(entity, other));
        with.extend(along.filter(|name| !with.contains(name)));
    }
    if with.is_empty() {
        open.push("with".to_owned());
    } else {
        let with: Vec<String> = with.into_iter().map(scalar).collect();
        said.push_str(&format!(", with: [{}]", with.join(", ")));
        open.push("more in `with`".to_owned());
    }
    (said, open.join(", "))
}

/// Returns the fields that a write changes.
fn sets(shape: &QueryShape, entity: &str, known: &Known<'_>) -> String {
    let own = known.fields.get(entity);
    let mut fields: Vec<&str> = Vec::new();
    for path in &shape.writes {
        let top = path.split('.').next().unwrap_or_default();
        if own.is_some_and(|own| own.contains(&top)) && !fields.contains(&top) {
            fields.push(top);
        }
    }
    let is_update = matches!(shape.operation, Operation::Update | Operation::FindAndModify);
    if fields.is_empty() || !is_update {
        return String::new();
    }
    let fields: Vec<String> =
        fields.iter().map(|field| scalar(&format!("{entity}.{field}"))).collect();
    format!(", sets: [{}]", fields.join(", "))
}
