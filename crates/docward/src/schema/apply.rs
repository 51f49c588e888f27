//! `docward schema apply` and `docward schema rollback`: moves a validator along the steps of
//! RF-19.

use std::{
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, bail};
use bson::{Document, RawDocumentBuf};
use docward_collect::{Request, Silent};
use docward_model::{Checked, Namespace, text};
use docward_refactor::{
    Action, Cost, Level, Missing, Operator, Rung, Standing, Trouble, Undo, Validation,
};
use docward_report::Format;
use serde_json::{Value as Json, json};

use super::{
    args::{ApplyArgs, RollbackArgs, Step},
    check,
    load::{self, Loaded},
    print,
};
use crate::{
    interrupt::Interrupt,
    reading, secrets,
    terminal::{CLEAN, FINDINGS, complain, put},
};

/// Validation usually costs less than this share of the write time (DM-11.4).
const USUAL_COST: f64 = 0.05;

/// The findings and actions of an apply.
struct Outcome {
    namespace: Namespace,
    deployment: String,
    standing: Standing,
    wanted: Validation,
    rung: Rung,
    documents: u64,
    refused: u64,
    checked: Option<Checked>,
    cost: Option<Cost>,
    state: State,
}

/// The outcome.
enum State {
    /// The collection already is at this step.
    Done,
    /// No change, because `--yes` was not given.
    DryRun,
    /// No change, because documents fail the schema.
    Held,
    /// No change, because it would allow writes that are refused now.
    Lowering,
    /// The validator was changed. `undo` is the file for the rollback. `refused_after` is the
    /// number of documents that now fail, if they were counted.
    Changed { undo: PathBuf, refused_after: Option<u64> },
}

/// Runs `schema apply`.
pub(crate) fn apply(args: &ApplyArgs) -> anyhow::Result<u8> {
    let uri = reading::deployment(args.uri.as_deref())?;
    let schema = load::one(&args.schema)?;
    super::tell_notes(&args.schema, &schema.notes, false);
    let namespace = namespace(args.namespace.as_deref(), &schema)?;
    // An invalid schema is reported before a server is contacted.
    check::prepared(&schema, std::slice::from_ref(&uri), args.examples)
        .with_context(|| args.schema.display().to_string())?;
    let validator = RawDocumentBuf::from_bytes(schema.validator.clone())
        .context("the validator is not a BSON document")?;
    if validator.iter().next().is_none() {
        bail!(
            "the schema has no constraints; to remove a validator, roll back the change that set it"
        );
    }
    if let Some(path) = &args.output {
        // The command must not start if its report cannot be written.
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
        opened.with_context(|| format!("cannot write the report to {}", path.display()))?;
    }
    secrets::expect_connection_string(&uri, "schema apply")?;
    let interrupt = Interrupt::listen();
    let operator = Operator::connect(&uri)?;
    let mut actions = vec!["listCollections", "find"];
    if args.yes {
        actions.push("collMod");
    }
    let mut missing = operator.missing(&namespace, &actions)?;
    if args.measure_cost {
        // Scratch collections have separate names.
        let scratch = Namespace::new(&namespace.database, "docward_cost_");
        let actions = ["createCollection", "insert", "remove", "dropCollection"];
        missing.extend(operator.missing(&scratch, &actions)?);
    }
    refuse_missing(&missing)?;
    if !args.yes {
        // Missing privileges are reported before `--yes` needs them.
        for missing in operator.missing(&namespace, &["collMod"])? {
            complain(&format!(
                "note: this account may not {} on {}, which --yes needs; the role {} allows it",
                missing.action, missing.resource, missing.role
            ));
        }
    }
    let standing = operator.standing(&namespace)?;
    let present = Rung::of(&standing.validation, &validator);
    let rung = match args.step {
        Step::Next => Rung::after(present),
        Step::Warn => Rung::Warn,
        Step::Moderate => Rung::Moderate,
        Step::Strict => Rung::Strict,
    };
    let (documents, refused) = operator.measure(&namespace, &validator, interrupt.stop())?;
    let checked = if refused > 0 {
        breakdown(&uri, args.examples, &schema, &namespace, &interrupt)?
    } else {
        None
    };
    // Clients may write between the count and the look at single documents. A detail never exceeds
    // the total.
    let refused = checked.as_ref().map_or(refused, |checked| checked.refused.max(refused));
    let documents = documents.max(refused);
    let cost = if args.measure_cost {
        operator.measure_cost(&namespace, &validator, args.turns, interrupt.stop())?
    } else {
        None
    };
    let wanted = rung.validation(validator.clone());
    let state = if standing.validation == wanted {
        State::Done
    } else if rung == Rung::Strict && refused > 0 && !args.allow_violations {
        State::Held
    } else if lowers(&standing.validation, &wanted) && !args.allow_lowering {
        State::Lowering
    } else if !args.yes {
        State::DryRun
    } else {
        if interrupt.stop().load(std::sync::atomic::Ordering::Relaxed) {
            bail!("stopped; nothing was changed");
        }
        // Measuring takes time, so another client may have changed the validator in between.
        if operator.standing(&namespace)? != standing {
            bail!(
                "another client changed {namespace} in the meantime, so this run changed nothing; \
                 run it again"
            );
        }
        let undo = Undo {
            namespace: namespace.clone(),
            uuid: standing.uuid.clone(),
            deployment: operator.name.clone(),
            before: standing.validation.clone(),
            after: wanted.clone(),
        };
        let file = keep(&undo, &args.undo)?;
        operator
            .set(&namespace, &wanted)
            .with_context(|| format!("the previous state is saved in {}", file.display()))?;
        let found = operator.standing(&namespace)?;
        if found.validation != wanted {
            bail!(
                "{namespace} does not have the requested validator, because another client \
                 changed it in the meantime; check it and run again (the previous state is saved \
                 in {})",
                file.display()
            );
        }
        let refused_after = match operator.measure(&namespace, &validator, interrupt.stop()) {
            Ok((_, refused)) => Some(refused),
            Err(Trouble::Stopped) => None,
            Err(trouble) => return Err(trouble.into()),
        };
        State::Changed { undo: file, refused_after }
    };
    let name = operator.name;
    let outcome = Outcome {
        namespace,
        deployment: name,
        standing,
        wanted,
        rung,
        documents,
        refused,
        checked,
        cost,
        state,
    };
    let text = match args.format {
        Format::Json => print::pretty(&outcome.json()),
        _ => outcome.told(),
    };
    put(&text, args.output.as_deref())?;
    Ok(if matches!(outcome.state, State::Held | State::Lowering) { FINDINGS } else { CLEAN })
}

/// Whether the change would allow writes that are refused now.
fn lowers(present: &Validation, wanted: &Validation) -> bool {
    let enforces = |validation: &Validation| {
        validation.validator.is_some()
            && validation.level != Level::Off
            && validation.action != Action::Warn
    };
    let was_strict = enforces(present) && present.level == Level::Strict;
    enforces(present) && !enforces(wanted) || was_strict && wanted.level != Level::Strict
}

/// Runs `schema rollback`.
pub(crate) fn rollback(args: &RollbackArgs) -> anyhow::Result<u8> {
    load::refuse_uri(&args.file.to_string_lossy(), "a file of `schema apply`")?;
    let undo = Undo::read(&args.file).with_context(|| args.file.display().to_string())?;
    let uri = reading::deployment(args.uri.as_deref())?;
    secrets::expect_connection_string(&uri, "schema rollback")?;
    let operator = Operator::connect(&uri)?;
    let namespace = &undo.namespace;
    let mut actions = vec!["listCollections"];
    if args.yes {
        actions.push("collMod");
    }
    refuse_missing(&operator.missing(namespace, &actions)?)?;
    let standing = operator.standing(namespace)?;
    if undo.uuid.is_some() && standing.uuid.is_some() && standing.uuid != undo.uuid && !args.force {
        bail!(
            "{namespace} of {} is not the collection of this file: it was dropped and recreated, \
             or this is another deployment; use --force to change it anyway",
            operator.name
        );
    }
    let is_restored = standing.validation == undo.before;
    if !is_restored && standing.validation != undo.after && !args.force {
        bail!(
            "{namespace} has changed since: it is now {}, but the file undoes {}; use --force to \
             overwrite it",
            described(&standing.validation),
            described(&undo.after)
        );
    }
    let state = if is_restored {
        "nothing to do: the collection is in its previous state already"
    } else if !args.yes {
        "dry run: nothing was changed; run again with --yes"
    } else {
        operator.set(namespace, &undo.before)?;
        let found = operator.standing(namespace)?;
        if found.validation != undo.before {
            return Err(anyhow::anyhow!(
                "{namespace} is not in its previous state, because another client changed it in \
                 the meantime"
            ));
        }
        if undo.before == Validation::NONE {
            "restored: no validator; MongoDB goes on listing level strict and action error, its \
             defaults, which have no effect without a validator"
        } else {
            "restored: the validator byte for byte, its level and its action"
        }
    };
    let changed = args.yes && !is_restored;
    let text = match args.format {
        Format::Json => print::pretty(&json!({
            "version": 1,
            "namespace": namespace.to_string(),
            "deployment": operator.name,
            "before": validation_json(&standing.validation),
            "after": validation_json(&undo.before),
            "dryRun": !args.yes,
            "changed": changed,
        })),
        _ => format!(
            "{namespace} on {}\n  now   {}\n  back  {}\n{state}\n",
            operator.name,
            described(&standing.validation),
            described(&undo.before)
        ),
    };
    put(&text, None)?;
    Ok(CLEAN)
}

/// Returns the collection from the argument or from the file of the schema.
fn namespace(given: Option<&str>, schema: &Loaded) -> anyhow::Result<Namespace> {
    match (given, &schema.namespace) {
        (Some(text), _) => reading::namespace(text),
        (None, Some(namespace)) => Ok(namespace.clone()),
        (None, None) => bail!(
            "the collection is missing: name it with --namespace \
         DATABASE.COLLECTION"
        ),
    }
}

/// Fails with the missing privileges and a role that has them (GC-33).
fn refuse_missing(missing: &[Missing]) -> anyhow::Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let actions: Vec<_> = missing.iter().map(|m| m.action).collect();
    let mut roles: Vec<_> = missing.iter().map(|m| m.role).collect();
    roles.sort_unstable();
    roles.dedup();
    let resource = &missing[0].resource;
    bail!(
        "the account may not {} on {resource}; use an operator's account with {}, not the application's (GC-33)",
        actions.join(", "),
        roles.join(" and ")
    )
}

/// Returns the constraints that the failing documents break. The server reports which documents
/// fail, and Docward explains why.
fn breakdown(
    uri: &str,
    examples: u64,
    schema: &Loaded,
    namespace: &Namespace,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Checked>> {
    let request = Request { sources: vec![uri.to_owned()], ..Request::default() };
    let schema = Loaded { namespace: Some(namespace.clone()), ..schema.clone() };
    let collected = check::hold(&request, &schema, examples, &Silent, interrupt)?;
    Ok(check::of_collection(collected, namespace))
}

/// Saves the previous state to a new file.
fn keep(undo: &Undo, directory: &Path) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {} for the undo file", directory.display()))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let name = print::file_name(&undo.namespace.to_string());
    let file = directory.join(format!("{name}-{now}.json"));
    undo.write(&file).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

fn described(validation: &Validation) -> String {
    match &validation.validator {
        None => "no validator".to_owned(),
        Some(validator) => {
            let document = Document::try_from(validator.as_ref()).unwrap_or_default();
            let schema = document.get_document("$jsonSchema").cloned().unwrap_or_default();
            let fields = schema.get_document("properties").map_or(0, Document::len);
            let what = if fields > 0 {
                format!("validator of {}", text::plural(fields as u64, "field"))
            } else {
                "validator".to_owned()
            };
            let (level, action) = (validation.level.name(), validation.action.name());
            format!("{what}, level {level}, action {action}")
        }
    }
}

fn validation_json(validation: &Validation) -> Json {
    let validator = validation.validator.as_ref().and_then(|raw| {
        let document = Document::try_from(raw.as_ref()).ok()?;
        Some(bson::Bson::Document(document).into_relaxed_extjson())
    });
    json!({
        "validator": validator,
        "validationLevel": validation.level.name(),
        "validationAction": validation.action.name(),
    })
}

impl Outcome {
    fn told(&self) -> String {
        let mut out = format!("{} on {}\n", self.namespace, self.deployment);
        out.push_str(&format!("  now     {}\n", described(&self.standing.validation)));
        out.push_str(&format!("  wanted  {} ({})\n", described(&self.wanted), self.rung.name()));
        let documents = text::plural(self.documents, "document");
        match self.refused {
            0 => out.push_str(&format!("  data    {documents}, all meet the schema\n")),
            refused => {
                out.push_str(&format!(
                    "  data    {} of {documents} {} the schema\n",
                    text::count(refused),
                    text::form_of(refused, self.documents, "breaks", "break")
                ));
            }
        }
        for line in self.checked.iter().flat_map(print::breach_lines) {
            out.push_str(&format!("          {line}\n"));
        }
        if let Some(cost) = &self.cost {
            let spread: Vec<String> =
                cost.shares().iter().map(|share| format!("{:+.1} %", share * 100.0)).collect();
            out.push_str(&format!(
                "  cost    inserts take {:.1} % {} (median of {}; {} each: {}){}\n",
                cost.share().abs() * 100.0,
                if cost.share() < 0.0 {
                    "less time, which is noise: validation has no measurable cost here"
                } else {
                    "longer"
                },
                text::plural(cost.turns.len() as u64, "round"),
                text::plural(cost.documents, "document"),
                spread.join(", "),
                if cost.share() >= USUAL_COST { "; more than the usual 5 % (DM-11.4)" } else { "" }
            ));
        }
        let level = match self.rung {
            Rung::Warn => "MongoDB logs writes that break the schema and refuses none",
            Rung::Moderate => {
                "MongoDB refuses inserts that break the schema, and updates that make a valid \
                 document invalid; it accepts updates of documents that are invalid already (GC-01)"
            }
            Rung::Strict => {
                "MongoDB refuses every write that breaks the schema; it checks stored documents \
                 only when they are written to (GC-01)"
            }
        };
        match &self.state {
            State::Done => out.push_str(
                "nothing to do: the collection has this validator \
             already\n",
            ),
            State::DryRun => {
                out.push_str(&format!("dry run: nothing was changed. With --yes: {level}\n"))
            }
            State::Held => out.push_str(&format!(
                "not raised to strict: MongoDB would refuse every update of {}. Repair or remove \
                 the documents that break the schema, or relax the schema; --allow-violations \
                 raises it anyway\n",
                text::plural(self.refused, "document")
            )),
            State::Lowering => out.push_str(
                "not done: after this step, the collection would accept writes that it refuses \
                 now. Use --step strict, or --allow-lowering\n",
            ),
            State::Changed { undo, refused_after } => {
                out.push_str(&format!("done: {level}\n"));
                match *refused_after {
                    Some(0) => {}
                    Some(left) => out.push_str(&format!(
                        "        {} still {} it\n",
                        text::plural(left, "stored document"),
                        text::form(left, "breaks", "break")
                    )),
                    None => out.push_str(
                        "        interrupted before the documents that break it \
                     were counted again\n",
                    ),
                }
                out.push_str(&format!("undo: docward schema rollback {} URI\n", undo.display()));
                let next = match (self.rung, *refused_after) {
                    (Rung::Warn, _) => Some(
                        "watch the log for \"Document would fail validation\", then run again: the next step is moderate",
                    ),
                    (Rung::Moderate, Some(0)) => Some("run again: the next step is strict"),
                    (Rung::Moderate, _) => Some(
                        "repair the documents that break the schema, then \
                     run again: the next step is strict",
                    ),
                    (Rung::Strict, _) => None,
                };
                if let Some(next) = next {
                    out.push_str(&format!("next: {next}\n"));
                }
            }
        }
        out
    }

    fn json(&self) -> Json {
        let breaches = self.checked.as_ref().map(print::breaches).unwrap_or_default();
        let cost = self.cost.as_ref().map(|cost| {
            json!({ "share": cost.share(), "turns": cost.shares(), "documents": cost.documents, "usual": USUAL_COST })
        });
        let (state, undo, after) = match &self.state {
            State::Done => ("done", None, None),
            State::DryRun => ("dry-run", None, None),
            State::Held => ("held", None, None),
            State::Lowering => ("lowering", None, None),
            State::Changed { undo, refused_after } => {
                ("changed", Some(undo.display().to_string()), *refused_after)
            }
        };
        json!({
            "version": 1,
            "namespace": self.namespace.to_string(),
            "deployment": self.deployment,
            "step": self.rung.name(),
            "state": state,
            "dryRun": state == "dry-run",
            "changed": state == "changed",
            "before": validation_json(&self.standing.validation),
            "after": validation_json(&self.wanted),
            "documents": self.documents,
            "refused": self.refused,
            "refusedAfter": after,
            "examined": self.checked.as_ref().map(|checked| checked.examined),
            "breaches": breaches,
            "cost": cost,
            "undo": undo,
        })
    }
}
