//! `docward guard user`: prints an entry for the users file.

use std::io::{BufRead, IsTerminal};

use anyhow::{Context, bail};
use clap::Args;
use docward_net::{
    nonce,
    scram::{Keys, Mechanism},
};

use crate::terminal::{CLEAN, put};

pub(crate) const EXAMPLES: &str = "\
Examples:
  docward guard user app --database db_shop=readWrite >> users.toml
                                       prompts for the password
  docward guard user report --database 'logs_*=read' < password.txt >> users.toml

The entry contains a SCRAM-SHA-256 verifier of the password. The verifier cannot be used to log in.";

/// The arguments of `docward guard user`.
#[derive(Args, Debug)]
pub(super) struct UserArgs {
    /// User name that clients log in with
    name: String,

    /// Grant a right on a database, as NAME=read or NAME=readWrite (NAME may be a pattern); can be repeated
    #[arg(long = "database", value_name = "NAME=RIGHT")]
    databases: Vec<String>,
}

/// The SCRAM-SHA-256 default of MongoDB servers.
const ITERATIONS: u32 = 15_000;

pub(super) fn user(args: &UserArgs) -> anyhow::Result<u8> {
    let rights =
        args.databases.iter().map(|text| right(text)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut input = std::io::stdin().lock();
    let password = if input.is_terminal() {
        rpassword::prompt_password(format!("Password of {}: ", args.name))
    } else {
        let mut line = String::new();
        input.read_line(&mut line).map(|_| line)
    };
    let password = password.context("cannot read the password")?;
    let password = password.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        bail!("the password is empty: type it, or pass it on standard input");
    }
    let salt = nonce();
    let salt = salt.as_bytes().get(..28).unwrap_or_default();
    let keys = Keys::of_password(Mechanism::Sha256, &args.name, password, salt, ITERATIONS)?;
    let verifier = keys.verifier(Mechanism::Sha256, salt, ITERATIONS).to_text();
    let mut databases = toml_edit::InlineTable::new();
    for (name, right) in rights {
        databases.insert(name, right.into());
    }
    let mut user = toml_edit::Table::new();
    user.insert("name", toml_edit::value(&args.name));
    user.insert("password", toml_edit::value(verifier));
    user.insert("databases", toml_edit::value(databases));
    put(&format!("\n[[user]]\n{user}"), None)?;
    Ok(CLEAN)
}

fn right(text: &str) -> anyhow::Result<(&str, &str)> {
    let found = text.split_once('=').filter(|(name, _)| !name.is_empty());
    match found {
        Some((name, right)) if docward_config::RIGHTS.contains(&right) => Ok((name, right)),
        _ => bail!("--database {text}: write NAME=read or NAME=readWrite"),
    }
}
