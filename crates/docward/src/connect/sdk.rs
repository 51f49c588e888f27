//! `docward connect sdk`.

use clap::Args;

pub(super) const EXAMPLES: &str = "";

/// Arguments.
#[derive(Args, Debug)]
pub(crate) struct SdkArgs {}

pub(super) fn sdk(_: &SdkArgs) -> anyhow::Result<u8> {
    anyhow::bail!("connect sdk is not there yet")
}
