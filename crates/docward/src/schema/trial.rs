//! `docward schema test`: one document, one verdict, and the reasons as the server gives them.

use std::io::Read as _;

use anyhow::{Context, bail};
use docward_bson::json;
use docward_schema::{Validator, ValidatorFault};

use super::{args::TestArgs, load};
use crate::{CLEAN, FINDINGS, args::Format, put};

/// Runs the command.
pub(crate) fn test(args: &TestArgs) -> anyhow::Result<u8> {
    let schema = match load::load(&args.schema)?.as_slice() {
        [schema] => schema.clone(),
        several => bail!(
            "{} holds schemas of {} collections; a document is tested against one",
            args.schema.display(),
            several.len()
        ),
    };
    if docward_schema::demands_nameless(&schema.validator) {
        bail!(
            "{}: it demands something of a field without a name, on which MongoDB 6.0 crashes; leave that property out",
            args.schema.display()
        );
    }
    let validator = Validator::compile(&schema.validator).map_err(|fault| match fault {
        ValidatorFault::Refused(fault) => {
            anyhow::anyhow!("MongoDB would refuse this validator (code {}): {}", fault.code, fault.message)
        }
        ValidatorFault::NotEvaluated { operator } => {
            anyhow::anyhow!("`{operator}` is not evaluated offline; insert the document into a scratch collection with this validator instead")
        }
    });
    let validator = validator.with_context(|| args.schema.display().to_string())?;
    let document = document(&args.document)?;
    let details = validator
        .explain(&document)
        .map_err(|fault| anyhow::anyhow!("the document is damaged: {}", fault.kind))?;
    let text = match (args.format, &details) {
        (Format::Terminal, None) => "accepted\n".to_owned(),
        (Format::Terminal, Some(details)) => {
            let violations = validator
                .violations(&document)
                .map_err(|fault| anyhow::anyhow!("the document is damaged: {}", fault.kind))?;
            let mut text = String::from("refused\n");
            for violation in violations {
                let at = if violation.path.is_empty() { "the document" } else { &violation.path };
                text.push_str(&format!("  {at}: {}\n", violation.keyword));
            }
            text.push_str("as the server would say it (errInfo.details):\n");
            text.push_str(&super::print::extended_json(details));
            text
        }
        (Format::Json, details) => super::print::verdict(details.as_ref()),
    };
    put(&text, None)?;
    Ok(if details.is_none() { CLEAN } else { FINDINGS })
}

/// A document as it was given: written out, in a file, or on standard input.
fn document(given: &str) -> anyhow::Result<Vec<u8>> {
    let (name, text) = if given == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        ("standard input", text)
    } else if given.trim_start().starts_with('[') {
        bail!("one document is tested at a time: {{…}}, not a list");
    } else if given.trim_start().starts_with('{') {
        ("the document", given.to_owned())
    } else {
        (given, std::fs::read_to_string(given).with_context(|| format!("cannot read {given}"))?)
    };
    json::parse_one(text.trim_start_matches('\u{feff}'))
        .map_err(|error| anyhow::anyhow!("{name}: not a JSON document: {error}"))
}
