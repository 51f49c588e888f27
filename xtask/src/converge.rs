//! Applies the proposals of audits to live copies of data sets. The program is an example of the test
//! kit, because it needs a server and the driver, which no other task does.

use std::process::Command;

use anyhow::{Result, ensure};

/// Builds Docward and runs the example.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let cargo = |words: &[&str], arguments: &[String]| -> Result<()> {
        let mut command = Command::new(env!("CARGO"));
        let status = command.current_dir(crate::root()).args(words).args(arguments).status()?;
        ensure!(status.success(), "`cargo {}` failed", words.join(" "));
        Ok(())
    };
    if std::env::var_os("DOCWARD_BIN").is_none() {
        cargo(&["build", "--quiet", "--workspace", "--bin", "docward"], &[])?;
    }
    cargo(&["run", "--quiet", "-p", "docward-testkit", "--example", "converge", "--"], arguments)
}
