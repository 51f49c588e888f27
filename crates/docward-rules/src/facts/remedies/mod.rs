//! Compares the remedies of one report: two of them must not change one field in different ways.

pub mod contradictions;
pub mod proposals;
pub mod shell;
pub mod statements;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use docward_model::{BsonType, FieldPath, Finding, Fix, Namespace, Step, Value};

use crate::facts::schema::{self, DemandKind};

/// The effect of a step on a field.
#[derive(Clone, Debug, PartialEq)]
enum Fate {
    /// Its values get one of these types.
    Becomes(Vec<BsonType>),
    /// It gets this name.
    Moves(FieldPath),
    /// Its keys become values of an array.
    Unfolds,
    /// The collection gets this name.
    Named(String),
    /// The remedy is omitted.
    Goes,
    /// Every document must have it.
    Stays,
}

impl Fate {
    fn contradicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Becomes(one), Self::Becomes(two)) => !one.iter().any(|kind| two.contains(kind)),
            (Self::Moves(one), Self::Moves(two)) => one != two,
            (Self::Named(one), Self::Named(two)) => one != two,
            (Self::Unfolds, Self::Becomes(kinds)) | (Self::Becomes(kinds), Self::Unfolds) => {
                !kinds.contains(&BsonType::Array)
            }
            (Self::Unfolds, Self::Goes) | (Self::Goes, Self::Unfolds) => true,
            (Self::Moves(_), Self::Goes | Self::Stays)
            | (Self::Goes | Self::Stays, Self::Moves(_))
            | (Self::Goes, Self::Stays)
            | (Self::Stays, Self::Goes) => true,
            _ => false,
        }
    }

    /// Whether no other step may change a field inside, because its path changes.
    fn takes_along(&self, inside: &Self) -> bool {
        match self {
            Self::Unfolds => !matches!(inside, Self::Stays),
            Self::Moves(_) => matches!(inside, Self::Moves(_)),
            _ => false,
        }
    }

    /// Whether both are the same proposal.
    fn repeats(&self, other: &Self) -> bool {
        matches!(
            (self, other),
            (Self::Becomes(_), Self::Becomes(_)) | (Self::Named(_), Self::Named(_))
        )
    }
}

/// Whether a path leads into a field.
fn is_inside(path: &FieldPath, field: &FieldPath) -> bool {
    let rest = path.as_str().strip_prefix(field.as_str());
    rest.is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// Two steps that contradict each other, by their positions in the list, and the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The earlier step.
    pub one: usize,
    /// The later step.
    pub other: usize,
    /// The collection.
    pub namespace: Namespace,
    /// The field.
    pub path: FieldPath,
}

/// The effects of steps on fields.
#[derive(Default)]
struct Asked(BTreeMap<(Namespace, FieldPath), Vec<(usize, Fate)>>);

impl Asked {
    /// Finds fields for which a step requires an effect that `excludes` an earlier one, with the earlier step.
    fn against(
        &self,
        step: &Step,
        excludes: fn(&Fate, &Fate) -> bool,
    ) -> Vec<(usize, Namespace, FieldPath)> {
        let Some(namespace) = step.namespace() else { return Vec::new() };
        let mut found = Vec::new();
        for (path, fate) in fates(step) {
            let here = self.0.iter().filter(|((place, _), _)| place == namespace);
            for ((_, before), fates) in here {
                let clash = |earlier: &Fate| {
                    (*before == path && excludes(earlier, &fate))
                        || (is_inside(before, &path) && fate.takes_along(earlier))
                        || (is_inside(&path, before) && earlier.takes_along(&fate))
                };
                let others = fates.iter().filter(|(_, earlier)| clash(earlier));
                found.extend(others.map(|(by, _)| (*by, namespace.clone(), path.clone())));
            }
        }
        found
    }

    fn add(&mut self, by: usize, step: &Step) {
        let Some(namespace) = step.namespace() else { return };
        for (path, fate) in fates(step) {
            self.0.entry((namespace.clone(), path)).or_default().push((by, fate));
        }
    }
}

/// All pairs of steps that require different effects on one field. Examples are two types, two names, a name and a
/// removal, or a validator that requires a field which the other step removes.
pub fn contradictions<'a>(steps: impl IntoIterator<Item = &'a Step>) -> Vec<Contradiction> {
    let mut asked = Asked::default();
    let mut found = Vec::new();
    for (other, step) in steps.into_iter().enumerate() {
        let against = asked.against(step, Fate::contradicts).into_iter();
        found.extend(against.map(|(one, namespace, path)| Contradiction {
            one,
            other,
            namespace,
            path,
        }));
        asked.add(other, step);
    }
    found
}

fn fates(step: &Step) -> Vec<(FieldPath, Fate)> {
    match step {
        Step::RenameFields { renames, .. } => renames
            .iter()
            .map(|rename| (rename.from.clone(), Fate::Moves(rename.to.clone())))
            .collect(),
        Step::LiftField { rename, .. } => {
            vec![(rename.from.clone(), Fate::Moves(rename.to.clone()))]
        }
        Step::UnsetField { path, .. } => vec![(path.clone(), Fate::Goes)],
        Step::ConvertField { path, to, .. } => vec![(path.clone(), Fate::Becomes(to.clone()))],
        Step::ArrayFromKeys { path, .. } => {
            vec![(path.clone(), Fate::Unfolds)]
        }
        Step::RenameCollection { to, .. } => vec![(FieldPath::new(""), Fate::Named(to.clone()))],
        Step::SetValidator { validator, .. } => required(validator),
        _ => Vec::new(),
    }
}

fn required(validator: &Value) -> Vec<(FieldPath, Fate)> {
    let demands = schema::schemas(validator).into_iter().flat_map(schema::demands);
    let required = demands.filter(|demand| matches!(demand.kind, DemandKind::Required));
    required.map(|demand| (FieldPath::new(demand.path), Fate::Stays)).collect()
}

/// Types, with all numbers as one: a conversion of numbers names all of them, regardless of which occur.
fn classes(types: &[BsonType]) -> BTreeSet<BsonType> {
    types.iter().map(|kind| if kind.is_number() { BsonType::Double } else { *kind }).collect()
}

/// Findings that convert more types of a field's values than an earlier one, which converts them to the same type.
fn wider_conversions(findings: &[Finding], order: &[usize]) -> BTreeSet<usize> {
    type Types<'a> = &'a [BsonType];
    let mut earlier: BTreeMap<(&Namespace, &FieldPath), (Types<'_>, Types<'_>)> = BTreeMap::new();
    let mut wider = BTreeSet::new();
    for &at in order {
        for step in findings[at].fix.iter().flat_map(Fix::steps) {
            let Step::ConvertField { namespace, path, from, to, .. } = step else { continue };
            match earlier.get_mut(&(namespace, path)) {
                Some((known, target)) => {
                    let (all, before) = (classes(from), classes(known));
                    let is_wider = all.len() > before.len() && all.is_superset(&before);
                    if is_wider && to.iter().any(|kind| target.contains(kind)) {
                        *known = from;
                        wider.insert(at);
                    }
                }
                None => drop(earlier.insert((namespace, path), (from, to))),
            }
        }
    }
    wider
}

/// Leaves one proposal for a field. Findings are ordered by their severity and then by their report, and the first one
/// keeps its remedy. The others keep their text. Of two that convert a field to one type, the one that converts more
/// types of values goes first.
pub fn settle(findings: &mut [Finding]) {
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by_key(|&at| Reverse(findings[at].severity));
    let wider = wider_conversions(findings, &order);
    order.sort_by_key(|at| !wider.contains(at));
    let mut asked = Asked::default();
    for at in order {
        let Some(fix) = &findings[at].fix else { continue };
        let excludes = |one: &Fate, other: &Fate| one.contradicts(other) || one.repeats(other);
        let mut steps = fix.steps().iter();
        let against = steps.find_map(|step| asked.against(step, excludes).into_iter().next());
        let Some((by, _, path)) = against else {
            fix.steps().iter().for_each(|step| asked.add(at, step));
            continue;
        };
        let rule = findings[by].rule.clone();
        let finding = &mut findings[at];
        finding.fix = None;
        finding.todo.push_str(&match finding.at.path() == Some(&path) {
            true => format!("; see {rule} for this field"),
            false if path.as_str().is_empty() => format!("; see {rule} for the new name"),
            false => format!("; see {rule} for `{path}`"),
        });
    }
}

#[cfg(test)]
mod tests {
    use docward_model::{Conversion, Rename, UnsetWhere, ValidationAction, ValidationLevel};

    use super::*;
    use crate::{engine::judge, testing::Example};

    fn namespace() -> Namespace {
        Namespace::new("db_shop", "t_order")
    }

    fn convert(path: &str, to: &[BsonType]) -> Step {
        Step::ConvertField {
            namespace: namespace(),
            path: FieldPath::new(path),
            from: vec![BsonType::String],
            to: to.to_vec(),
            conversion: Conversion::CAST,
        }
    }

    fn rename(from: &str, to: &str) -> Step {
        let rename = Rename { from: FieldPath::new(from), to: FieldPath::new(to) };
        let renames = vec![rename];
        Step::RenameFields { namespace: namespace(), renames, only_where_free: false }
    }

    fn unset(path: &str) -> Step {
        let documents = UnsetWhere::Empty;
        Step::UnsetField { namespace: namespace(), path: FieldPath::new(path), documents }
    }

    fn demand(path: &str) -> Step {
        let required = Value::List(vec![Value::Text(path.to_owned())]);
        let schema = Value::Map(vec![("required".to_owned(), required)]);
        Step::SetValidator {
            namespace: namespace(),
            validator: Value::Map(vec![("$jsonSchema".to_owned(), schema)]),
            level: ValidationLevel::Strict,
            action: ValidationAction::Error,
        }
    }

    #[test]
    fn two_steps_contradict_when_both_cannot_be_done() {
        let (decimal, long) = (BsonType::Decimal, BsonType::Long);
        for [one, other] in [
            [convert("a", &[decimal]), convert("a", &[long])],
            [rename("a", "b"), rename("a", "c")],
            [rename("a", "b"), unset("a")],
            [unset("a"), demand("a")],
            [demand("a"), rename("a", "b")],
        ] {
            for steps in [[&one, &other], [&other, &one]] {
                let found = contradictions(steps);
                assert_eq!(found.len(), 1, "{steps:?}");
                assert_eq!((found[0].one, found[0].other), (0, 1));
                assert_eq!(found[0].path.as_str(), "a");
            }
        }
    }

    #[test]
    fn steps_that_can_both_be_done_do_not_contradict() {
        let (decimal, long) = (BsonType::Decimal, BsonType::Long);
        for steps in [
            [convert("a", &[decimal, long]), convert("a", &[long])],
            [convert("a", &[decimal]), convert("b", &[long])],
            [convert("a", &[decimal]), rename("a", "b")],
            [rename("a", "b"), rename("a", "b")],
            [unset("a"), demand("b")],
            [convert("a", &[decimal]), demand("a")],
        ] {
            assert_eq!(contradictions(&steps), []);
        }
        let mut elsewhere = convert("a", &[decimal]);
        if let Step::ConvertField { namespace, .. } = &mut elsewhere {
            *namespace = Namespace::new("db_shop", "t_item");
        }
        assert_eq!(contradictions([&elsewhere, &convert("a", &[long])]), []);
    }

    #[test]
    fn the_first_finding_by_severity_keeps_its_remedy() {
        let body = "x50 {\"_id\": $i, \"amount\": 19.99}";
        let example = Example::new("T002", "", body);
        let mut findings = judge(&example.evidence, &example.settings).findings;
        findings.retain(|finding| finding.rule == "T002");
        let mut quiet = findings[0].clone();
        quiet.rule = "X001".into();
        quiet.severity = docward_model::Severity::Info;
        let other = |finding: &Finding, to| {
            let mut fix = finding.fix.clone().expect("a remedy");
            let path = finding.at.path().expect("a field").as_str();
            let mut step = convert(path, &[to]);
            if let Step::ConvertField { namespace, .. } = &mut step {
                *namespace = Namespace::new("db_shop", "t_order_item");
            }
            fix.action = docward_model::Action::Plan(vec![step]);
            fix
        };
        quiet.fix = Some(other(&quiet, BsonType::String));
        let told = quiet.todo.clone();
        let mut all = vec![quiet, findings[0].clone()];
        settle(&mut all);
        assert_eq!(all[0].fix, None);
        assert_eq!(all[0].todo, format!("{told}; see T002 for this field"));
        assert_eq!(all[1], findings[0]);
        // The same conversion is one proposal.
        let mut same = all[1].clone();
        same.fix = Some(other(&same, BsonType::Decimal));
        let mut all = vec![same, findings[0].clone()];
        settle(&mut all);
        assert_eq!(all.iter().filter(|finding| finding.fix.is_some()).count(), 1);
    }

    #[test]
    fn the_conversion_of_more_types_is_the_one_proposal() {
        let body =
            "x60 {\"_id\": $i, \"amount\": 19.99}\nx40 {\"_id\": 1$i, \"amount\": \"19.50\"}";
        let example = Example::new("T002", "", body);
        let found = judge(&example.evidence, &example.settings).findings;
        let remedies: Vec<_> = found
            .iter()
            .filter(|finding| finding.at.path().is_some_and(|path| path.as_str() == "amount"))
            .filter_map(|finding| Some((&*finding.rule, finding.fix.as_ref()?.steps().to_vec())))
            .collect();
        let [(rule, steps)] = &remedies[..] else { panic!("{remedies:?}") };
        assert_eq!(*rule, "T005");
        let Step::ConvertField { from, to, .. } = &steps[0] else { panic!("{steps:?}") };
        assert_eq!(
            (from.as_slice(), to.as_slice()),
            (&[BsonType::String, BsonType::Double][..], &[BsonType::Decimal][..])
        );
    }

    #[test]
    fn nothing_is_done_below_a_field_whose_path_changes() {
        let unfold = Step::ArrayFromKeys {
            namespace: namespace(),
            path: FieldPath::new("counts"),
            key: "month".to_owned(),
            keys_are_dates: false,
            keys_are_numbers: false,
            value: Some("count".to_owned()),
        };
        for [one, other] in [
            [unfold.clone(), convert("counts.total", &[BsonType::Long])],
            [unfold.clone(), convert("counts", &[BsonType::Object])],
            [unfold, unset("counts.total")],
            [rename("ship_to", "shipTo"), rename("ship_to.post_code", "ship_to.postCode")],
        ] {
            for steps in [[&one, &other], [&other, &one]] {
                assert_eq!(contradictions(steps).len(), 1, "{steps:?}");
            }
        }
        let apart = [&rename("ship_to", "shipTo"), &rename("ship_total", "shipTotal")];
        assert_eq!(contradictions(apart), []);
    }
}
