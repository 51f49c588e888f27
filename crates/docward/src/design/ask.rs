//! `docward design ask`: an interview in the terminal that produces a model and its design.

use std::{io::BufRead, path::PathBuf};

use anyhow::bail;
use clap::Args;
use docward_design::{Ask, Bounds, design as decide, interview, pools};
use docward_model::ProfileName;
use docward_report::{Detail, Format, Look, design_report};

use crate::{
    config,
    terminal::{CLEAN, FINDINGS, PROBLEMS, complain, put},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  docward design ask                     questions, then the design
  docward design ask --output blog.yaml  also writes the model to a file

Answers may come from a file: docward design ask < answers.txt

Exit codes: 0 all decided, 1 a question is open, 2 the interview was cancelled.";

/// The destination of the model.
#[derive(Args, Debug)]
pub(crate) struct AskArgs {
    /// Write the model to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

struct Terminal<R> {
    lines: R,
}

impl<R: BufRead> Ask for Terminal<R> {
    fn ask(&mut self, prompt: &str) -> Option<String> {
        complain(prompt);
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line),
        }
    }

    fn complain(&mut self, text: &str) {
        complain(text);
    }
}

/// Runs the command.
pub(super) fn ask(args: &AskArgs) -> anyhow::Result<u8> {
    if let Some(path) = args.output.as_deref().filter(|path| path.exists()) {
        bail!("{} exists already; name another file", path.display());
    }
    let mut terminal = Terminal { lines: std::io::stdin().lock() };
    let Some(text) = interview(&mut terminal, config::today().as_deref()) else {
        complain("the interview was cancelled; nothing was written");
        return Ok(PROBLEMS);
    };
    match &args.output {
        Some(path) => put(&text, Some(path))?,
        None => put(&format!("{text}\n"), None)?,
    }
    match docward_design::read("the model", &text) {
        Ok(model) => {
            let design = decide(&model, ProfileName::Vendor, &Bounds::default());
            let look = Look {
                color: crate::terminal::wants_color(crate::terminal::Color::Auto, false),
                width: crate::terminal::terminal_width(),
            };
            let pools = pools(&model);
            put(&design_report(&design, &pools, Format::Terminal, look, Detail::Brief), None)?;
            Ok(if design.questions().is_empty() { CLEAN } else { FINDINGS })
        }
        Err(faults) => {
            faults.iter().for_each(|fault| complain(&fault.to_string()));
            Ok(PROBLEMS)
        }
    }
}
