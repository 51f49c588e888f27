//! `docward schema test`: checks one document and prints the server's reasons.

use std::io::Read as _;

use anyhow::{Context, bail};
use docward_bson::{json, walk::Fault};
use docward_report::Format;
use docward_schema::as_stored;

use super::{args::TestArgs, load};
use crate::terminal::{CLEAN, FINDINGS, put};

/// Runs the command.
pub(crate) fn test(args: &TestArgs) -> anyhow::Result<u8> {
    let schema = load::one(&args.schema)?;
    let shown = args.schema.display();
    let validator = match schema.compile().with_context(|| shown.to_string())? {
        Ok(validator) => validator,
        Err(operator) => bail!(
            "{shown}: Docward cannot evaluate `{operator}` offline; insert the document into a \
             scratch collection with this validator instead"
        ),
    };
    let given = document(&args.document)?;
    let damaged = |fault: Fault| anyhow::anyhow!("the document is damaged: {}", fault.kind);
    let document = as_stored(&given).map_err(damaged)?;
    let details = validator.explain(&document).map_err(damaged)?;
    let text = match (args.format, &details) {
        (Format::Json, details) => super::print::verdict(details.as_ref()),
        (_, None) => "accepted\n".to_owned(),
        (_, Some(details)) => {
            let violations = validator.violations(&document).map_err(damaged)?;
            let mut text = String::from("refused\n");
            if document.len() > given.len() {
                text.push_str("  (tested with an `_id`, which the server adds if there is none)\n");
            }
            for violation in violations {
                let at = if violation.path.is_empty() { "the document" } else { &violation.path };
                text.push_str(&format!("  {at}: {}\n", violation.keyword));
            }
            text.push_str("the error of the server (errInfo.details):\n");
            text.push_str(&super::print::extended_json(details));
            text
        }
    };
    put(&text, None)?;
    Ok(if details.is_none() { CLEAN } else { FINDINGS })
}

/// Reads a document from the argument, from a file, or from standard input.
fn document(given: &str) -> anyhow::Result<Vec<u8>> {
    let (name, text) = if given == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        ("standard input", text)
    } else if given.trim_start().starts_with('[') {
        bail!("expected one document {{…}}, not a list");
    } else if given.trim_start().starts_with('{') {
        ("the document", given.to_owned())
    } else {
        (given, std::fs::read_to_string(given).with_context(|| format!("cannot read {given}"))?)
    };
    json::parse_one(text.trim_start_matches('\u{feff}'))
        .map_err(|error| anyhow::anyhow!("{name}: not a JSON document: {error}"))
}
