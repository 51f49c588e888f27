//! Remedies and the validator of the collection they change.
//!
//! A validator that requires the old type or name of a field refuses the update that changes it. So the validator must
//! accept both first. The server already rejects every update of a document that violates its validator.

use std::collections::BTreeSet;

use docward_model::{
    Action, BsonType, Collection, CollectionOptions, Evidence, Field, FieldChange, FieldPath,
    Finding, Fix, Namespace, Profile, Rename, Step, Subject, TextClass, ValidationAction,
    ValidationLevel, Value, mongosh,
};

use crate::facts::{
    remedies::contradictions::{Gravity, contradictions},
    schema::{self, DemandKind},
    text,
};

/// The data key of findings whose command first sets validationAction to `warn`.
pub const RELAXES: &str = "relaxesValidator";

/// If the validator would refuse the remedy, inserts a step that sets the validation action to `warn`, and marks the
/// finding with [`RELAXES`]. If stored documents would stop the remedy for another reason, the finding says so.
/// `is_only` returns whether no other remedy changes the documents of a collection. In this case, the remedy ends
/// with the new validator.
pub fn make_way(evidence: &Evidence, finding: &mut Finding, is_only: &dyn Fn(&Namespace) -> bool) {
    let (Subject::Collection(namespace) | Subject::Field(namespace, _)) = &finding.at else {
        return;
    };
    let Some(Fix { action: Action::Plan(steps), .. }) = &mut finding.fix else { return };
    let updates = |step: &Step| step.updates_documents() && step.namespace() == Some(namespace);
    if !steps.iter().any(updates) {
        return;
    }
    let Some(collection) = evidence.collection(namespace) else { return };
    let Some(options) = enforcing(collection) else { return };
    let Some(validator) = &options.validator else { return };
    if is_in_the_way(validator, steps) || refuses_moved(validator, steps, collection) {
        let relax = Step::RelaxValidator { namespace: namespace.clone() };
        let told = mongosh::statement(&relax);
        let renewed =
            renewed(validator, steps, collection.profile.as_ref()).filter(|_| is_only(namespace));
        let renewed = renewed.map(|validator| Step::SetValidator {
            namespace: namespace.clone(),
            validator,
            level: options.validation_level,
            action: options.validation_action,
        });
        steps.insert(0, relax);
        finding.data = std::mem::take(&mut finding.data).with(RELAXES, told);
        finding.todo.push_str("; the command first sets validationAction to `warn`");
        if let Some(step) = renewed {
            steps.push(step);
            finding.todo.push_str(", and finally sets a validator for the new values");
        }
    } else if options.validation_level == ValidationLevel::Strict
        && let Some(profile) = &collection.profile
        && let Some(worst) = unrelated(validator, profile, &finding.at)
    {
        let (number, least) = match collection.stats.and_then(|stats| stats.invalid) {
            Some(invalid) => (invalid.max(worst), ""),
            None => (worst, " at least"),
        };
        let found = contradictions(&schema::schemas(validator));
        let impossible = found.iter().any(|one| one.gravity == Gravity::Impossible);
        // Bypassing the validator would require a privilege that few accounts have, and would hide the breach.
        finding.todo.push_str(&format!(
            "; first repair the documents that break the validator ({}{least}, see {}), because the command stops at the first of them",
            text::count(number),
            if impossible { "V008" } else { "V006" },
        ));
    }
}

/// The validators to set after all remedies ran. If only one remedy changes a collection, it sets the validator itself.
pub fn finished(evidence: &Evidence, findings: &[Finding]) -> Vec<Step> {
    let steps = |finding: &Finding| finding.fix.iter().flat_map(Fix::steps).cloned().collect();
    let plans: Vec<Vec<Step>> = findings.iter().map(steps).collect();
    let changed: BTreeSet<&Namespace> = plans
        .iter()
        .flatten()
        .filter(|step| step.updates_documents())
        .filter_map(Step::namespace)
        .collect();
    changed.into_iter().filter_map(|namespace| finished_at(evidence, &plans, namespace)).collect()
}

fn finished_at(evidence: &Evidence, plans: &[Vec<Step>], namespace: &Namespace) -> Option<Step> {
    let here = |step: &&Step| step.namespace() == Some(namespace);
    let sets = |step: &&Step| here(step) && matches!(step, Step::SetValidator { .. });
    let is_set_anew = |plan: &Vec<Step>| {
        plan.iter().any(|step| sets(&step)) && plan.iter().any(Step::updates_documents)
    };
    if plans.iter().any(is_set_anew) {
        return None;
    }
    // Docward does not know the result of remedies that need a decision of the user.
    let (complete, incomplete): (Vec<_>, Vec<_>) =
        plans.iter().partition(|plan| plan.iter().all(Step::is_complete));
    let mut open = incomplete.into_iter().flatten().filter(here);
    if open.clone().any(|step| !step.adds().is_empty()) {
        return None;
    }
    let open: Vec<FieldChange> = open.by_ref().flat_map(Step::changes).collect();
    let proposed = plans.iter().flatten().rfind(sets);
    let is_proposed = proposed.is_some();
    let (validator, level, action) = match proposed {
        Some(Step::SetValidator { validator, level, action, .. }) => (validator, *level, *action),
        _ => {
            let options = evidence.collection(namespace)?.options.as_ref()?;
            (options.validator.as_ref()?, options.validation_level, options.validation_action)
        }
    };
    let steps = complete.into_iter().flatten().filter(here);
    let changes: Vec<Step> = steps.filter(|step| step.updates_documents()).cloned().collect();
    let renamed = plans.iter().flatten().filter(here).find_map(|step| match step {
        Step::RenameCollection { to, .. } => Some(Namespace::new(&namespace.database, to)),
        _ => None,
    });
    let profile = evidence.collection(namespace).and_then(|c| c.profile.as_ref());
    let mut new = renewed_with(validator, &changes, &open, profile)?;
    if new == *validator {
        return None;
    }
    let stricter = plans.iter().flatten().filter(here).rev().find_map(|step| match step {
        Step::SetValidation { level, action, .. } => Some((*level, *action)),
        _ => None,
    });
    let (level, action) = stricter.unwrap_or((level, action));
    if let (true, Some(profile)) = (is_proposed, profile) {
        require_renamed(&mut new, &changes, profile);
    }
    let namespace = renamed.unwrap_or_else(|| namespace.clone());
    Some(Step::SetValidator { namespace, validator: new, level, action })
}

/// Requires the new names of fields that all documents have. The validator that V001 proposes does not require them,
/// because it must also accept the old names.
fn require_renamed(validator: &mut Value, steps: &[Step], profile: &Profile) {
    let renames = steps.iter().flat_map(|step| match step {
        Step::RenameFields { renames, .. } => renames.as_slice(),
        _ => &[],
    });
    let always =
        |path: &FieldPath| profile.field(path.as_str()).is_some_and(|f| f.presence() >= 1.0);
    let new = renames.filter(|one| !one.to.as_str().contains('.') && always(&one.from));
    let new: Vec<Value> = new.map(|one| Value::Text(one.to.as_str().to_owned())).collect();
    let Value::Map(parts) = validator else { return };
    let Some((_, Value::Map(schema))) = parts.iter_mut().find(|(key, _)| key == "$jsonSchema")
    else {
        return;
    };
    if new.is_empty() {
        return;
    }
    let at = schema.iter().position(|(key, _)| key == "required").unwrap_or_else(|| {
        schema.insert(schema.len().min(1), ("required".to_owned(), Value::List(Vec::new())));
        schema.len().min(2) - 1
    });
    if let (_, Value::List(required)) = &mut schema[at] {
        for name in new {
            if !required.contains(&name) {
                required.push(name);
            }
        }
    }
}

/// Returns the note about commands that set the validation action to `warn`, once for all of them.
pub fn note(findings: &[Finding]) -> Option<String> {
    let relaxing = findings.iter().filter(|finding| relaxes(finding));
    let namespaces: BTreeSet<String> =
        relaxing.clone().filter_map(|finding| finding.at.namespace()).collect();
    let count = relaxing.count() as u64;
    (count > 0).then(|| {
        format!(
            "{} on {} first {} validationAction to `warn`, because the validator requires the current types and names. If a command does not set a new validator, the script of `--emit-fixes` sets one at its end where Docward can derive it; otherwise write it yourself",
            text::plural(count, "proposed command"),
            text::list(&namespaces.into_iter().collect::<Vec<_>>(), 3),
            text::form(count, "sets", "set"),
        )
    })
}

/// The number of documents that break the validator at another place than the changed one: the count of the worst
/// breach.
fn unrelated(validator: &Value, profile: &Profile, at: &Subject) -> Option<u64> {
    let path = at.path().map(|path| path.as_str());
    let elsewhere =
        schema::breaches(validator, profile).into_iter().find(|b| path != Some(b.path.as_str()))?;
    Some(elsewhere.count.min(profile.documents))
}

/// Whether the remedy of a finding makes the validator warn only.
fn relaxes(finding: &Finding) -> bool {
    let mut steps = finding.fix.iter().flat_map(Fix::steps);
    steps.any(|step| matches!(step, Step::RelaxValidator { .. }))
}

/// The options of a collection whose validator refuses documents.
fn enforcing(collection: &Collection) -> Option<&CollectionOptions> {
    collection.options.as_ref().filter(|options| {
        options.validation_level != ValidationLevel::Off
            && options.validation_action != ValidationAction::Warn
    })
}

fn is_in_the_way(validator: &Value, steps: &[Step]) -> bool {
    let changes: Vec<FieldChange> = steps.iter().flat_map(Step::changes).collect();
    let adds = steps.iter().any(|step| !step.adds().is_empty());
    // A validator that requires the new type already refuses only the old one.
    let admits = |change: &FieldChange, kinds: &BTreeSet<BsonType>| {
        change.kinds.iter().any(|kind| kinds.contains(kind))
    };
    schema::schemas(validator).into_iter().any(|schema| {
        (adds && schema::is_closed(schema))
            || schema::demands(schema).iter().any(|demand| {
                let mut here = changes.iter().filter(|c| c.path.as_str() == demand.path);
                match &demand.kind {
                    DemandKind::Required => here.any(|change| change.removes),
                    DemandKind::Types(kinds) => {
                        here.any(|change| !change.kinds.is_empty() && !admits(change, kinds))
                    }
                    DemandKind::Enum(_) => here.any(|change| !change.kinds.is_empty()),
                    _ => false,
                }
            })
    }) || changes.iter().any(|change| {
        conditions(validator, change.path.as_str()).into_iter().any(|(operator, value)| {
            match operator {
                "$type" => schema::types_named(value).is_none_or(|kinds| !admits(change, &kinds)),
                "$exists" => change.removes,
                _ => true,
            }
        })
    }) || has_hidden_conditions(validator, &changes)
}

/// Whether `$or`, `$nor`, `$expr` or conditions on nested fields mention fields that change.
fn has_hidden_conditions(validator: &Value, changes: &[FieldChange]) -> bool {
    let hidden = validator
        .entries()
        .iter()
        .filter(|(key, _)| matches!(key.as_str(), "$or" | "$nor" | "$expr") || key.contains('.'));
    has_conditions(&Value::Map(hidden.cloned().collect()), changes)
}

/// The validator after the steps; `None` if its constraints on the changed fields exceed those of a schema without
/// branches.
fn renewed(validator: &Value, steps: &[Step], profile: Option<&Profile>) -> Option<Value> {
    renewed_with(validator, steps, &[], profile)
}

/// The validator after the steps. It does not restrict the values of the fields in `open`.
fn renewed_with(
    validator: &Value,
    steps: &[Step],
    open: &[FieldChange],
    profile: Option<&Profile>,
) -> Option<Value> {
    let changes: Vec<FieldChange> = steps.iter().flat_map(Step::changes).collect();
    if has_conditions(validator, &changes)
        || changes.is_empty()
        || steps.iter().any(|s| matches!(s, Step::SetKind { .. }))
        || has_conditions(validator, open)
    {
        return None;
    }
    let renames = steps.iter().flat_map(|step| match step {
        Step::RenameFields { renames, .. } => renames.as_slice(),
        Step::LiftField { rename, .. } => std::slice::from_ref(rename),
        _ => &[],
    });
    let root = validator.entries().iter().find(|(key, _)| key == "$jsonSchema");
    let root = root.map_or(&Value::Null, |(_, schema)| schema);
    let new_form = NewForm { root, changes, open, renames: renames.collect(), profile };
    let parts = validator.entries().iter().map(|(key, value)| {
        let value = match key.as_str() {
            "$jsonSchema" => new_form.of(value, "")?,
            "$and" => Value::List(
                value
                    .items()
                    .iter()
                    .map(|part| renewed_with(part, steps, open, profile))
                    .collect::<Option<_>>()?,
            ),
            _ => value.clone(),
        };
        Some((key.clone(), value))
    });
    parts.collect::<Option<_>>().map(Value::Map)
}

/// The fields of a schema after the proposed changes.
struct NewForm<'a> {
    /// The schema of whole documents.
    root: &'a Value,
    changes: Vec<FieldChange>,
    /// Changes that the user may or may not make.
    open: &'a [FieldChange],
    renames: Vec<&'a Rename>,
    profile: Option<&'a Profile>,
}

impl NewForm<'_> {
    /// The name that a field of the object at `path` gets; `None` if it leaves the object.
    fn name(&self, path: &str, name: &str) -> Option<String> {
        let own = below(path, name);
        let Some(rename) = self.renames.iter().find(|one| one.from.as_str() == own) else {
            return Some(name.to_owned());
        };
        let parent = |path: &str| path.rsplit_once('.').map(|(parent, _)| parent.to_owned());
        let stays = parent(rename.from.as_str()) == parent(rename.to.as_str());
        stays.then(|| rename.to.leaf().to_owned())
    }

    /// The fields that move into the object at `path`, with their schemas.
    fn lifted(&self, path: &str) -> impl Iterator<Item = (String, Option<Value>)> {
        let parent = |path: &FieldPath| {
            path.as_str().rsplit_once('.').map_or(String::new(), |(parent, _)| parent.to_owned())
        };
        let lifted = self
            .renames
            .iter()
            .filter(move |one| parent(&one.to) == path && parent(&one.from) != parent(&one.to));
        lifted.filter_map(|one| {
            let schema = match described(self.root, one.from.as_str()) {
                Some(node) => self.of(node, one.from.as_str()),
                None => Some(self.observed(&one.from)?),
            };
            Some((one.to.leaf().to_owned(), schema))
        })
    }

    /// The types of a field that the validator does not describe, if all documents were read.
    fn observed(&self, path: &FieldPath) -> Option<Value> {
        let profile = self.profile.filter(|profile| profile.documents >= profile.total)?;
        let types = profile.field(path.as_str())?.types.seen();
        let names = types.iter().map(|(kind, _)| Value::Text(kind.name().to_owned()));
        let mut names: Vec<Value> = names.collect();
        let kinds = if names.len() == 1 { names.pop()? } else { Value::List(names) };
        Some(Value::Map(vec![("bsonType".to_owned(), kinds)]))
    }

    /// Whether documents may lack the field afterwards.
    fn removes(&self, path: &str) -> bool {
        let is_renamed = self.renames.iter().any(|one| one.from.as_str() == path);
        // A rename removes nothing, but a conversion of the same field may.
        self.changes.iter().any(|one| {
            one.removes && one.path.as_str() == path && (!is_renamed || !one.kinds.is_empty())
        }) || self.open.iter().any(|one| one.removes && one.path.as_str() == path)
    }

    fn of(&self, node: &Value, path: &str) -> Option<Value> {
        let mut converted = self.changes.iter().filter(|change| !change.kinds.is_empty());
        let change = converted.find(|one| one.path.as_str() == path);
        let is_open = self.open.iter().any(|one| one.path.as_str() == path);
        let is_new_array = change.is_some_and(|change| change.kinds == [BsonType::Array]);
        let mut entries = Vec::new();
        for (key, value) in node.entries() {
            let value = match key.as_str() {
                "bsonType" | "type" | "enum" | "minimum" | "maximum" | "exclusiveMinimum"
                | "exclusiveMaximum" | "pattern" | "minLength" | "maxLength"
                    if change.is_some() || is_open =>
                {
                    continue;
                }
                // V001 writes this description for a field that is not converted yet.
                "description"
                    if change.is_some()
                        && value.as_text().is_some_and(|text| text.starts_with("Target type:")) =>
                {
                    continue;
                }
                "required" | "properties" | "additionalProperties" if is_new_array => continue,
                "required" => {
                    let names = value.items().iter().filter_map(Value::as_text);
                    let names = names
                        .filter(|name| !self.removes(&below(path, name)))
                        .filter_map(|name| self.name(path, name));
                    let mut all: Vec<Value> = Vec::new();
                    for name in names.map(Value::Text) {
                        if !all.contains(&name) {
                            all.push(name);
                        }
                    }
                    // An empty list is not allowed.
                    if all.is_empty() {
                        continue;
                    }
                    Value::List(all)
                }
                "properties" => {
                    let mut properties: Vec<(String, Value)> = Vec::new();
                    let own = value.entries().iter().filter_map(|(name, field)| {
                        Some((self.name(path, name)?, self.of(field, &below(path, name))))
                    });
                    for (name, field) in own.chain(self.lifted(path)) {
                        let field = field?;
                        match properties.iter_mut().find(|(known, _)| *known == name) {
                            Some((_, known)) => *known = either(known, &field),
                            None => properties.push((name, field)),
                        }
                    }
                    Value::Map(properties)
                }
                "items" if matches!(value, Value::Map(_)) => {
                    self.of(value, &format!("{path}[]"))?
                }
                "allOf" => Value::List(
                    value.items().iter().map(|part| self.of(part, path)).collect::<Option<_>>()?,
                ),
                "anyOf" | "oneOf" | "not" | "patternProperties" | "dependencies" => return None,
                _ => value.clone(),
            };
            entries.push((key.clone(), value));
        }
        if let (Some(change), false) = (change, is_open) {
            let mut kinds = change.kinds.clone();
            let had = schema::admitted_types(node).unwrap_or_default();
            // Documents that were not read may have strings that cannot be converted.
            let whole = self.profile.filter(|profile| profile.documents >= profile.total);
            let field = whole.and_then(|profile| profile.field(path));
            let stays = |kind: &BsonType| match kind {
                BsonType::Null => true,
                BsonType::String => field.is_none_or(|field| !becomes(field, &change.kinds)),
                _ => false,
            };
            kinds.extend(had.into_iter().filter(stays));
            kinds.extend(change.to_null.then_some(BsonType::Null));
            kinds.dedup();
            let mut all: Vec<Value> = Vec::new();
            for name in kinds.into_iter().map(|kind| Value::Text(kind.name().to_owned())) {
                if !all.contains(&name) {
                    all.push(name);
                }
            }
            entries.insert(0, ("bsonType".to_owned(), Value::List(all)));
        }
        Some(Value::Map(entries))
    }
}

/// Whether all strings of a field can be converted to these types.
fn becomes(field: &Field, to: &[BsonType]) -> bool {
    if to.contains(&BsonType::String) {
        return true;
    }
    let Some(text) = &field.text else { return false };
    let is_date = to == [BsonType::Date];
    let fits = |class: TextClass| match class {
        TextClass::Empty => true,
        class if is_date => class.is_date(),
        class => matches!(class, TextClass::Integer | TextClass::Decimal | TextClass::LeadingZero),
    };
    to == [BsonType::Bool] || text.count(fits) == text.total()
}

/// The schema of the field at a path.
fn described<'v>(schema: &'v Value, path: &str) -> Option<&'v Value> {
    let entry = |of: &'v Value, key: &str| {
        of.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    };
    let mut at = schema;
    for name in path.split('.') {
        let field = name.trim_end_matches("[]");
        at = entry(entry(at, "properties")?, field)?;
        for _ in 0..(name.len() - field.len()) / 2 {
            at = entry(at, "items")?;
        }
    }
    Some(at)
}

/// The schema of a field that replaces two fields: it accepts the types of both.
fn either(one: &Value, other: &Value) -> Value {
    let kinds = |schema: &Value| -> Option<Vec<Value>> {
        let (_, kinds) = schema.entries().iter().find(|(key, _)| key == "bsonType")?;
        Some(if kinds.as_text().is_some() { vec![kinds.clone()] } else { kinds.items().to_vec() })
    };
    if one == other {
        return one.clone();
    }
    let (Some(mut all), Some(more)) = (kinds(one), kinds(other)) else {
        return Value::Map(Vec::new());
    };
    for kind in more {
        if !all.contains(&kind) {
            all.push(kind);
        }
    }
    Value::Map(vec![("bsonType".to_owned(), Value::List(all))])
}

/// The path of a field of the object at `path`.
fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Whether a validator has constraints on a new name that the values under the old name do not meet.
fn refuses_moved(validator: &Value, steps: &[Step], collection: &Collection) -> bool {
    let moves = steps.iter().flat_map(|step| match step {
        Step::RenameFields { renames, .. } => renames.as_slice(),
        Step::LiftField { rename, .. } => std::slice::from_ref(rename),
        _ => &[],
    });
    let field = |path: &FieldPath| collection.profile.as_ref()?.field(path.as_str());
    moves.into_iter().any(|rename| {
        let types = field(&rename.from).map(|field| field.types.seen());
        let admits = |kinds: &BTreeSet<BsonType>| {
            types.as_ref().is_some_and(|types| types.iter().all(|(kind, _)| kinds.contains(kind)))
        };
        let demands = schema::schemas(validator).into_iter().flat_map(schema::demands);
        let mut here = demands.filter(|demand| demand.path == rename.to.as_str());
        here.any(|demand| match &demand.kind {
            DemandKind::Types(kinds) => !admits(kinds),
            DemandKind::Enum(_) => true,
            _ => false,
        }) || conditions(validator, rename.to.as_str()).into_iter().any(|(operator, value)| {
            match operator {
                "$type" => schema::types_named(value).is_none_or(|kinds| !admits(&kinds)),
                "$exists" => false,
                _ => true,
            }
        })
    })
}

/// Whether the query operators of a validator use fields that change, or fields around or inside them.
fn has_conditions(validator: &Value, changes: &[FieldChange]) -> bool {
    let root = |path: &str| path.split(['.', '[']).next().unwrap_or(path).to_owned();
    let roots: BTreeSet<String> = changes.iter().map(|change| root(change.path.as_str())).collect();
    let parts = validator.entries().iter().filter(|(key, _)| key != "$jsonSchema" && key != "$and");
    parts.into_iter().any(|(key, value)| roots.contains(&root(key)) || names_root(value, &roots))
}

/// Whether an expression or condition names one of these fields.
fn names_root(value: &Value, roots: &BTreeSet<String>) -> bool {
    let is_root =
        |text: &str| roots.contains(text.trim_start_matches('$').split('.').next().unwrap_or(text));
    match value {
        Value::Text(text) => text.starts_with('$') && is_root(text),
        Value::List(items) => items.iter().any(|item| names_root(item, roots)),
        Value::Map(entries) => {
            entries.iter().any(|(key, value)| is_root(key) || names_root(value, roots))
        }
        _ => false,
    }
}

/// Returns the conditions of a validator's query operators on a place in every document, as (operator, value). A
/// plain value is `$eq`.
fn conditions<'a>(validator: &'a Value, path: &str) -> Vec<(&'a str, &'a Value)> {
    let mut all = Vec::new();
    for (key, value) in validator.entries() {
        if key == "$and" {
            all.extend(value.items().iter().flat_map(|part| conditions(part, path)));
        } else if key == path {
            let operators = value.entries();
            match operators.first() {
                Some((first, _)) if first.starts_with('$') => {
                    all.extend(operators.iter().map(|(name, value)| (name.as_str(), value)));
                }
                _ => all.push(("$eq", value)),
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use docward_model::mongosh;

    use super::{RELAXES, note};
    use crate::testing::check;

    /// The command of the only finding of a rule.
    fn command(code: &str, validator: &str, document: &str) -> String {
        let found = check(code, &format!("{validator}\nx50 {document}"));
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].fix.as_ref().expect("a command").command()
    }

    const AMOUNT: &str = r#"{"amount": 19.99}"#;

    #[test]
    fn a_validator_that_demands_the_old_type_warns_first() {
        let demands = r#"options {"validator": {"$jsonSchema": {"properties": {"amount": {"bsonType": "double"}}}}}"#;
        let text = command("T002", demands, AMOUNT);
        assert!(
            text.starts_with(
                r#"db.getSiblingDB("db_shop").runCommand({collMod: "t_order_item", validationAction: "warn"}); db.getSiblingDB("db_shop").getCollection("t_order_item").updateMany("#
            ),
            "{text}"
        );
    }

    #[test]
    fn dm_11_2_the_validator_demands_the_new_form_afterwards() {
        let demands = r#"options {"validator": {"$jsonSchema": {"required": ["amount"], "properties": {"amount": {"bsonType": "double", "minimum": 0}, "name": {"bsonType": "string"}}}}}"#;
        let text = command("T002", demands, AMOUNT);
        assert!(
            text.ends_with(
                r#"; db.getSiblingDB("db_shop").runCommand({collMod: "t_order_item", validator: {$jsonSchema: {required: ["amount"], properties: {amount: {bsonType: ["decimal"]}, name: {bsonType: "string"}}}}, validationLevel: "strict", validationAction: "error"})"#
            ),
            "{text}"
        );
        let demands = r#"options {"validator": {"$jsonSchema": {"required": ["_total"], "properties": {"_total": {"bsonType": "int"}}}}}"#;
        let text = command("N015", demands, r#"{"_total": 1}"#);
        assert!(
            text.contains(r#"{required: ["total"], properties: {total: {bsonType: "int"}}}"#),
            "{text}"
        );
        // The constraints of branches on the field are unknown.
        let branches = r#"options {"validator": {"$jsonSchema": {"properties": {"amount": {"bsonType": "double"}}, "anyOf": [{"required": ["amount"]}]}}}"#;
        assert!(command("T002", branches, AMOUNT).matches("collMod").count() == 1);
    }

    #[test]
    fn what_relaxing_leaves_to_do_is_said_once() {
        let demands = r#"options {"validator": {"$jsonSchema": {"properties": {"amount": {"bsonType": "double"}, "price": {"bsonType": "double"}}}}}"#;
        let found = check("T002", &format!("{demands}\nx50 {{\"amount\": 19.99, \"price\": 1.5}}"));
        assert_eq!(found.len(), 2);
        let said = note(&found).expect("a note");
        assert!(
            said.starts_with(
                "2 proposed commands on `db_shop.t_order_item` first set validationAction"
            ),
            "{said}"
        );
        // Each remedy alone would require the old form of the field that the other converts.
        for finding in &found {
            let command = finding.fix.as_ref().expect("a command").command();
            assert!(!command.contains("validator: "), "{command}");
            assert!(finding.todo.contains("; the command first sets validationAction to `warn`"));
        }
        assert_eq!(note(&check("T002", "x50 {\"amount\": 19.99}")), None);
    }

    #[test]
    fn dm_11_2_dm_09_6_a_validator_that_demands_the_new_type_stays_in_force() {
        let mixed = |validator: &str| {
            let body =
                format!("{validator}\nx400 {{\"userName\": \"a\"}}\nx37 {{\"userName\": 7}}");
            let found = check("T005", &body);
            (found[0].clone(), found[0].fix.as_ref().expect("a command").command())
        };
        let demands = |kinds: &str| {
            format!(
                r#"options {{"validator": {{"$jsonSchema": {{"properties": {{"userName": {{"bsonType": {kinds}}}}}}}}}}}"#
            )
        };
        for kinds in [r#""string""#, r#"["string", "null"]"#] {
            let (found, command) = mixed(&demands(kinds));
            assert_eq!(found.data.get(RELAXES), None, "{}", found.todo);
            assert!(!command.contains("collMod"), "{command}");
        }
        let asks = |condition: &str| format!(r#"options {{"validator": {condition}}}"#);
        for condition in [
            r#"{"userName": {"$type": "string"}}"#,
            r#"{"userName": {"$exists": true, "$type": ["string", "null"]}}"#,
            r#"{"$and": [{"userName": {"$type": "string"}}, {"age": {"$gt": 0}}]}"#,
        ] {
            let (found, command) = mixed(&asks(condition));
            assert_eq!(found.data.get(RELAXES), None, "{}", found.todo);
            assert!(!command.contains("collMod"), "{command}");
        }
        for validator in [
            demands(r#""int""#),
            asks(r#"{"userName": {"$type": "number"}}"#),
            asks(r#"{"$and": [{"userName": {"$type": "int"}}]}"#),
            asks(r#"{"userName": {"$gt": 0}}"#),
        ] {
            let (found, command) = mixed(&validator);
            assert!(found.data.get(RELAXES).is_some(), "{}", found.todo);
            assert!(command.contains("validationAction: \"warn\""), "{command}");
        }
    }

    #[test]
    fn dm_11_2_the_last_validator_describes_fields_that_move_to_the_top() {
        let body = r#"options {"validator": {"$jsonSchema": {"required": ["a"], "properties": {"a": {"bsonType": "object"}}}}}
x40 {"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}"#;
        let example = crate::testing::Example::new("D007", "", body);
        let outcome = crate::judge(&example.evidence, &example.settings);
        let last: Vec<String> = super::finished(&example.evidence, &outcome.findings)
            .iter()
            .map(mongosh::statement)
            .collect();
        assert_eq!(last.len(), 1, "{last:?}");
        assert!(
            last[0].contains(r#"a: {bsonType: "object"}, d: {bsonType: "object"}"#),
            "{last:?}"
        );
    }

    #[test]
    fn validators_that_do_not_mind_are_left_alone() {
        for validator in [
            "options {}",
            r#"options {"validator": {"$jsonSchema": {"required": ["amount"]}}}"#,
            r#"options {"validationAction": "warn", "validator": {"$jsonSchema": {"properties": {"amount": {"bsonType": "double"}}}}}"#,
        ] {
            let text = command("T002", validator, AMOUNT);
            assert!(text.contains(".updateMany(") && !text.contains("collMod"), "{text}");
        }
    }

    #[test]
    fn a_required_name_that_goes_away_is_minded() {
        let document = r#"{"_total": 1}"#;
        let demands = r#"options {"validator": {"$jsonSchema": {"required": ["_total"]}}}"#;
        assert!(command("N015", demands, document).contains("validationAction: \"warn\""));
        let other = r#"options {"validator": {"$jsonSchema": {"required": ["name"]}}}"#;
        assert!(!command("N015", other, document).contains("validationAction"));
    }

    #[test]
    fn a_new_name_of_another_type_is_minded() {
        let demands = r#"options {"validator": {"$jsonSchema": {"properties": {"total": {"bsonType": "int"}}}}}"#;
        assert!(!command("N015", demands, r#"{"_total": 1}"#).contains("validationAction"));
        assert!(command("N015", demands, r#"{"_total": "1"}"#).contains("validationAction"));
        let asks = r#"options {"validator": {"total": {"$gt": 0}}}"#;
        assert!(command("N015", asks, r#"{"_total": 1}"#).contains("validationAction"));
    }

    #[test]
    fn documents_that_break_the_validator_already_are_told_of() {
        let body = |extra: &str| {
            format!(
                "options {{\"validator\": {{\"$jsonSchema\": {{\"required\": [\"email\"]}}}}{extra}}}\n\
                 x48 {{\"_id\": $i, \"amount\": 19.99, \"email\": \"a@b.cn\"}}\n\
                 x2 {{\"_id\": $i, \"amount\": 19.99}}"
            )
        };
        let todo = |extra: &str| check("T002", &body(extra))[0].todo.clone();
        let told = "first repair the documents that break the validator (2 at least, see V006)";
        assert!(todo("").contains(told), "{}", todo(""));
        assert!(!todo(r#", "validationLevel": "moderate""#).contains(told));
        assert!(!todo(r#", "validationAction": "warn""#).contains(told));
        let whole = body("").replace("\"required\": [\"email\"]", "\"required\": [\"amount\"]");
        assert!(!check("T002", &whole)[0].todo.contains(told));
    }

    /// The validators to set after all remedies of a body ran, as statements.
    fn at_the_end(body: &str) -> Vec<String> {
        let example = crate::testing::Example::new("V001", "", body);
        let found = crate::judge(&example.evidence, &example.settings).findings;
        super::finished(&example.evidence, &found).iter().map(mongosh::statement).collect()
    }

    #[test]
    fn dm_11_1_a_proposed_validator_gets_the_new_names_at_the_end() {
        let documents = "@ db_shop.t_user\nx30 {\"_id\": $i, \"userName\": \"a\", \"createTime\": 1, \"orderNo\": 1, \"last_name\": \"b\"}";
        let set = at_the_end(documents);
        assert_eq!(set.len(), 1, "{set:?}");
        assert!(set[0].contains("\"lastName\"]"), "{}", set[0]);
        assert!(set[0].contains("lastName: {bsonType: \"string\"}"), "{}", set[0]);
        assert!(!set[0].contains("last_name"), "{}", set[0]);
        assert!(set[0].contains("validationAction: \"warn\""), "{}", set[0]);
        assert!(at_the_end(&documents.replace("last_name", "lastName")).is_empty());
    }

    #[test]
    fn dm_11_1_a_validator_returns_in_the_form_of_all_remedies() {
        let body = r#"@ db_shop.t_user
options {"validator": {"$jsonSchema": {"required": ["last_name", "amount"], "properties": {"amount": {"bsonType": "double"}}}}, "validationLevel": "strict", "validationAction": "error"}
x30 {"_id": $i, "userName": "a", "createTime": 1, "orderNo": 1, "last_name": "b", "amount": 19.99}"#;
        let set = at_the_end(body);
        assert_eq!(set.len(), 1, "{set:?}");
        assert!(set[0].contains("required: [\"lastName\", \"amount\"]"), "{}", set[0]);
        assert!(set[0].contains("amount: {bsonType: [\"decimal\"]}"), "{}", set[0]);
        assert!(set[0].contains("validationAction: \"error\""), "{}", set[0]);
    }

    #[test]
    fn dm_11_1_the_new_form_admits_what_stays() {
        let with = |schema: &str, values: &str| {
            at_the_end(&format!(
                r#"@ db_shop.t_user
options {{"validator": {schema}, "validationLevel": "strict", "validationAction": "error"}}
x20 {{"_id": $i, "userName": "a", "createTime": 1, "orderNo": 1, "last_name": "b", "amount": 19.99}}
{values}"#
            ))
        };
        let schema = r#"{"$jsonSchema": {"required": ["last_name"], "properties": {"amount": {"bsonType": ["double", "null", "string"]}}}}"#;
        let set = with(
            schema,
            "x5 {\"_id\": \"n$i\", \"userName\": \"a\", \"last_name\": \"b\", \"amount\": null}\nx2 {\"_id\": \"s$i\", \"userName\": \"a\", \"last_name\": \"b\", \"amount\": \"n/a\"}",
        );
        assert_eq!(set.len(), 1, "{set:?}");
        assert!(set[0].contains("\"null\"") && set[0].contains("\"string\""), "{}", set[0]);
        // A condition outside of the schema names the old field: only people know its new form.
        let both = schema.replacen('{', r#"{"$expr": {"$gt": ["$last_name", ""]}, "#, 1);
        assert_eq!(with(&both, ""), [""; 0]);
        let beside =
            schema.replacen('{', r#"{"$or": [{"age": {"$gt": 1}}, {"legacy": true}], "#, 1);
        assert_eq!(with(&beside, "").len(), 1);
    }

    #[test]
    fn dm_11_1_a_converted_and_renamed_field_has_its_new_type() {
        let body = r#"@ db_shop.t_user
options {"validator": {"$jsonSchema": {"required": ["created_at"], "properties": {"created_at": {"bsonType": "long"}}}}, "validationLevel": "strict", "validationAction": "error"}
x30 {"_id": $i, "userName": "a", "payTime": 1, "orderNo": 1, "created_at": NumberLong(1710498600000)}"#;
        let set = at_the_end(body);
        assert_eq!(set.len(), 1, "{set:?}");
        assert!(set[0].contains("createdAt: {bsonType: [\"date\"]}"), "{}", set[0]);
    }
}
