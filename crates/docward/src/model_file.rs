//! Reads a design model.

use std::{fs, io::Read, path::Path};

use anyhow::{Context, bail};
use docward_design::Fault;
use docward_model::DesignModel;

use crate::terminal::complain;

/// The maximum number of mistakes that are printed.
const MOST_FAULTS: usize = 50;

/// Reads a model. Prints each mistake in it with its position, and then returns `None`.
pub(crate) fn read_model(file: &Path) -> anyhow::Result<Option<DesignModel>> {
    let name = file.display().to_string();
    let mut bytes = Vec::new();
    let limit = docward_design::MAX_BYTES as u64 + 1;
    if name == "-" {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).context("standard input")?;
    } else {
        let opened =
            fs::File::open(file).with_context(|| format!("cannot read the model {name}"))?;
        opened
            .take(limit)
            .read_to_end(&mut bytes)
            .with_context(|| format!("cannot read the model {name}"))?;
    }
    let Ok(text) = String::from_utf8(bytes) else {
        bail!(
            "{name}: the model is not UTF-8 text; `docward design init` writes one to start \
         from"
        );
    };
    match docward_design::read(&name, &text) {
        Ok(model) => Ok(Some(model)),
        Err(faults) => {
            print_faults(&faults);
            Ok(None)
        }
    }
}

/// Prints the first mistakes of a model, and how many more there are.
pub(crate) fn print_faults(faults: &[Fault]) {
    for fault in faults.iter().take(MOST_FAULTS) {
        complain(&fault.to_string());
    }
    if faults.len() > MOST_FAULTS {
        complain(&format!("… and {} more", faults.len() - MOST_FAULTS));
    }
}
