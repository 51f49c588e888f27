//! `docward connect plan`.

use clap::Args;

pub(super) const EXAMPLES: &str = "";

/// Arguments.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {}

pub(super) fn plan(_: &PlanArgs) -> anyhow::Result<u8> {
    anyhow::bail!("connect plan is not there yet")
}
