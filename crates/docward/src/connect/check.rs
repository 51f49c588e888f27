//! `docward connect check`.

use clap::Args;

pub(super) const EXAMPLES: &str = "";

/// Arguments.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {}

pub(super) fn check(_: &CheckArgs) -> anyhow::Result<u8> {
    anyhow::bail!("connect check is not there yet")
}
