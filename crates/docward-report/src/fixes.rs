//! Combines the proposed statements of a report into one mongosh script, in executable order.

use std::fmt::Write;

use docward_model::{Finding, Fix, Namespace, Report, Safety, Step, mongosh, shell};

use crate::text::line;

/// The maximum width of a comment line.
const WIDTH: usize = 100;

/// The family of rules that rename databases, collections and fields. Programs have to change with
/// them, and all other statements have to run under the old names.
const RENAMING: char = 'N';

/// The script. Without `DOCWARD_APPLY`, it prints its actions without performing them. Fixes that need a decision are
/// comments. `validators` are set at the end, after all fixes.
pub fn fix_script(report: &Report, validators: &[Step]) -> String {
    let mut fixes: Vec<&Finding> =
        report.findings.iter().filter(|finding| !steps(finding).is_empty()).collect();
    // The sort is stable: within each group, the order of the report is kept. Fields are renamed under the old name of
    // their collection.
    let renames_collection = |step: &Step| matches!(step, Step::RenameCollection { .. });
    fixes.sort_by_key(|finding| {
        (finding.rule.starts_with(RENAMING), steps(finding).iter().any(renames_collection))
    });
    let count = |safety: Safety| fixes.iter().filter(|f| risk(f) == Some(safety)).count();
    let sources: Vec<String> = report.sources.iter().map(|source| line(&source.name)).collect();
    let mut out = format!(
        "// Fixes that Docward {} proposes for {}, in the order to run them.\n\
         // {} safe (no change of stored data), {} guarded (changes data: make a backup first),\n\
         // {} manual (needs a decision or a check first; written as comments).\n\
         //\n\
         //   mongosh \"$MONGODB_URI\" FILE                          prints the plan\n\
         //   DOCWARD_APPLY=safe mongosh \"$MONGODB_URI\" FILE       runs the safe fixes\n\
         //   DOCWARD_APPLY=guarded mongosh \"$MONGODB_URI\" FILE    runs safe and guarded fixes\n\
         // Make a backup before you run guarded fixes.\n",
        report.tool_version,
        sources.join(", "),
        count(Safety::Safe),
        count(Safety::Guarded),
        count(Safety::Manual),
    );
    // A proposed validator also begins with `warn`, but it does not relax an existing one.
    let relaxes = |step: &Step| matches!(step, Step::RelaxValidator { .. });
    if fixes.iter().flat_map(|finding| steps(finding)).any(relaxes) {
        out.push_str(
            "//\n// Some statements first set validationAction to \"warn\", because the validator \
             requires the old form.\n\
             // Most of these commands set the new validator when they finish. For the others, the end of this\n\
             // script sets it. If it does not, write the validator yourself, and set\n\
             // validationAction to \"error\" again.\n",
        );
    }
    out.push_str(HEAD);
    for (number, finding) in fixes.iter().enumerate() {
        let Some(fix) = &finding.fix else { continue };
        let text = fix.command();
        let _ = writeln!(
            out,
            "\n// {}. {} {} ({})",
            number + 1,
            finding.rule,
            finding.name,
            risk(finding).unwrap_or(fix.safety).name()
        );
        comment(&format!("{}: {}", finding.place(), finding.what), &mut out);
        comment(&finding.todo, &mut out);
        let title = shell::quote(&title(finding));
        match risk(finding).unwrap_or(fix.safety) {
            Safety::Manual => {
                if only_shows(finding) {
                    out.push_str("// Check the documents first:\n");
                } else if finding.rule.starts_with(RENAMING) {
                    out.push_str(
                        "// Programs that use the old name stop working: change them first. Audit \
                         again afterwards,\n\
                         // because validators and indexes use the old names.\n",
                    );
                }
                let _ = writeln!(out, "// {}", line(&text));
            }
            safety => {
                let _ =
                    writeln!(out, "step(\"{}\", {title}, () => {{\n  {text};\n}});", safety.name());
            }
        }
    }
    for step in validators {
        let Some(namespace) = step.namespace() else { continue };
        validator(namespace, step, &fixes, &mut out);
    }
    out.push_str(TAIL);
    out
}

/// Sets a validator in the form that documents have after the fixes of the collection.
fn validator(namespace: &Namespace, step: &Step, fixes: &[&Finding], out: &mut String) {
    let changes = |finding: &&&Finding| {
        steps(finding).iter().any(|step| match step {
            Step::RenameCollection { namespace: from, to } => {
                from.database == namespace.database && *to == namespace.collection
            }
            step => step.updates_documents() && step.namespace() == Some(namespace),
        })
    };
    let is_manual =
        fixes.iter().filter(changes).any(|finding| risk(finding) == Some(Safety::Manual));
    let safety = if is_manual { Safety::Manual } else { Safety::Guarded };
    let title = format!("validator of {namespace}");
    let _ = writeln!(out, "\n// Last: {title} ({})", safety.name());
    let text = mongosh::statement(step);
    if is_manual {
        let _ = writeln!(out, "// Run this after all fixes of the collection:\n// {}", line(&text));
    } else {
        let titled =
            fixes.iter().filter(changes).map(|finding| shell::quote(&self::title(finding)));
        let _ = writeln!(
            out,
            "step(\"guarded\", {}, () => {{\n  after([{}]);\n  {text};\n}});",
            shell::quote(&title),
            titled.collect::<Vec<_>>().join(", ")
        );
    }
}

/// Names a step in the output of the script.
fn title(finding: &Finding) -> String {
    format!("{} {}", finding.rule, finding.place())
}

/// The risk of a statement in a script that runs many of them.
fn risk(finding: &Finding) -> Option<Safety> {
    let is_manual = only_shows(finding) || finding.rule.starts_with(RENAMING);
    Some(if is_manual { Safety::Manual } else { finding.fix.as_ref()?.safety })
}

/// Whether a statement changes nothing: people must read its output.
fn only_shows(finding: &Finding) -> bool {
    steps(finding).iter().any(|step| matches!(step, Step::Inspect { .. }))
}

/// Returns the steps that mongosh can run. Other proposals are shell commands.
fn steps(finding: &Finding) -> &[Step] {
    finding.fix.as_ref().map_or(&[], Fix::steps)
}

fn comment(text: &str, out: &mut String) {
    for row in crate::text::wrap(&line(text), WIDTH - 3, 0, 0).lines() {
        let _ = writeln!(out, "// {row}");
    }
}

const HEAD: &str = r#"
const apply = process.env.DOCWARD_APPLY ?? "nothing";
if (!["nothing", "safe", "guarded"].includes(apply)) {
  throw new Error(`DOCWARD_APPLY is ${apply}; write safe or guarded`);
}
const done = { run: 0, left: 0 };
const failed = new Set();
const NAMESPACE_EXISTS = 48;

// Stops a step if one of these steps has failed.
function after(titles) {
  const missing = titles.filter((title) => failed.has(title));
  if (missing.length > 0) throw new Error(`needs ${missing.join(", ")}, which failed`);
}

function step(risk, title, run) {
  if (apply !== "guarded" && apply !== risk) {
    print(`would run  ${risk.padEnd(7)}  ${title}`);
    done.left += 1;
    return;
  }
  try {
    run();
    print(`done       ${risk.padEnd(7)}  ${title}`);
    done.run += 1;
  } catch (error) {
    if (error.code === NAMESPACE_EXISTS) {
      print(`exists     ${risk.padEnd(7)}  ${title}`);
      done.run += 1;
      return;
    }
    print(`FAILED     ${risk.padEnd(7)}  ${title}: ${error.message}`);
    failed.add(title);
  }
}
"#;

const TAIL: &str = r#"
print(`${done.run} run, ${done.left} not run, ${failed.size} failed`);
if (failed.size > 0) {
  process.exit(1);
}
"#;
