//! `docward design check`: compares data only with the model.

use std::path::PathBuf;

use clap::Args;
use docward_config::FailOn;
use docward_model::{Need, Severity};

use crate::{
    args::AuditArgs,
    audit::{self, Shown},
    config,
};

pub(super) const EXAMPLES: &str = "\
Examples:
  docward design check shop.yaml dump/
  docward design check shop.yaml \"$MONGODB_URI\" --log mongod.log
  docward design check shop.yaml dump/ --format junit --output drift.xml

The rules are R030 to R034. `docward audit SOURCE --design shop.yaml` checks all rules.

Exit codes: 0 the data follows the model, 1 it does not (--fail-on changes this), 2 the run \
 failed or had problems.";

/// Options of `audit` that have no effect here. The model is a separate argument, and its rules
/// need neither code nor network rules.
pub(super) const OF_AUDIT_ONLY: [&str; 6] =
    ["model", "code", "uri", "network_rules", "emit_fixes", "verbose"];

/// A model and the data that should follow it.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The model
    #[arg(value_name = "MODEL.yaml")]
    declared: PathBuf,

    #[command(flatten)]
    audit: AuditArgs,
}

/// Runs the command.
pub(super) fn check(args: CheckArgs) -> anyhow::Result<u8> {
    let CheckArgs { declared, mut audit } = args;
    audit.model = Some(declared);
    if audit.judging.select.is_empty() {
        let of_model =
            config::metas().into_iter().filter(|rule| rule.needs.contains(&Need::Design));
        audit.judging.select = of_model.map(|rule| rule.code.to_owned()).collect();
    }
    // Differences from the model fail the command by default, because finding them is its purpose.
    audit.judging.fail_on = audit.judging.fail_on.or(Some(FailOn::AtLeast(Severity::Warn)));
    audit::audit(audit, Shown::Drift)
}
