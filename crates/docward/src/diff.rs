//! `docward diff`: the new, fixed and changed findings between two reports.

use std::path::Path;

use anyhow::Context;
use docward_model::{Basis, Change, Compared, Known, Report};

use crate::{
    args::DiffArgs,
    output::{self, Look},
    terminal::{CLEAN, FINDINGS, PROBLEMS, complain},
};

/// Compares two reports and prints the differences.
pub(crate) fn diff(args: &DiffArgs) -> anyhow::Result<u8> {
    anyhow::ensure!(
        !(is_stdin(&args.old) && is_stdin(&args.new)),
        "both reports cannot come from standard input; write one of them to a file"
    );
    output::check(&args.shown, args.output.as_deref())?;
    let old = read(&args.old)?;
    let mut new = read(&args.new)?;
    if old.profile != new.profile && !args.quiet {
        complain(&format!(
            "note: the reports have different profiles ({} and {}), so findings of rules that \
             only one profile enables look new or are not compared",
            old.profile.name(),
            new.profile.name()
        ));
    }
    let is_blank = old.documents() == 0 && old.findings.is_empty() && !old.is_whole();
    if is_blank && !args.quiet {
        complain(&format!(
            "note: {} is the report of a run that read nothing, so there is nothing to compare \
             with",
            name(&args.old)
        ));
    }
    let known = old.findings.iter().map(Known::of).collect();
    let with = name(&args.old);
    // Findings that a baseline or a suppression hides still exist.
    let mut compared = Compared::of(
        Basis::Report,
        &with,
        known,
        &new.findings,
        |known| new.looked_for(known) && !new.withheld.contains(&known.fingerprint),
        |found| old.looked_for(&Known::of(found)) && !old.withheld.contains(&found.fingerprint),
    );
    compared.subject = Some(name(&args.new));
    new.findings.retain(|finding| *compared.change(finding) != Change::Same);
    let fail_on = args.fail_on;
    // The later report may contain a comparison with another run, so it is replaced.
    new.compared = Some(compared);
    let failed = new.findings.iter().any(|finding| new.fails(finding, fail_on.least()));
    let look = Look {
        shown: &args.shown,
        output: args.output.as_deref(),
        color: args.color,
        quiet: args.quiet,
        brief: false,
    };
    output::write_with(&new, &look, docward_report::View::Findings, fail_on, |_, text, _| text)?;
    // An incomplete run must not look like a pass.
    if !new.is_whole() {
        return Ok(PROBLEMS);
    }
    Ok(if failed { FINDINGS } else { CLEAN })
}

fn read(path: &Path) -> anyhow::Result<Report> {
    let name = name(path);
    let text = match is_stdin(path) {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(path),
    };
    let text = text.with_context(|| format!("cannot read the report {name}"))?;
    docward_report::read(&text).map_err(|fault| anyhow::anyhow!("{name} {fault}"))
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn name(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}
