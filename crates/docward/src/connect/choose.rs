//! `docward connect choose`.

use clap::Args;

pub(super) const EXAMPLES: &str = "";

/// Arguments.
#[derive(Args, Debug)]
pub(crate) struct ChooseArgs {}

pub(super) fn choose(_: &ChooseArgs) -> anyhow::Result<u8> {
    anyhow::bail!("connect choose is not there yet")
}
