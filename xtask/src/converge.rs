//! Applies the proposals of audits to live copies of data sets. The program is an example of the test
//! kit, because it needs a server and the driver, which no other task does.

use std::process::Command;

use anyhow::{Result, ensure};

/// Builds Docward and the example, and runs the example.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    // The features of the whole workspace: with those of one package, the driver is built again.
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--workspace", "--example", "converge"]);
    if std::env::var_os("DOCWARD_BIN").is_none() {
        build.args(["--bin", "docward"]);
    }
    ensure!(build.current_dir(crate::root()).status()?.success(), "the build failed");
    let example = crate::root().join("target/debug/examples/converge");
    ensure!(Command::new(example).args(arguments).status()?.success(), "the comparison failed");
    Ok(())
}
