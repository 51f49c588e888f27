//! One [`Report`] in several formats, each in its own file. Formatters make no decisions: the
//! report contains the new, fixed, accepted and failed items. [`read`] parses a report from its
//! JSON.

mod baseline;
mod checklist;
mod connect;
mod design;
mod fixes;
mod github;
mod gitlab;
mod html;
mod json;
mod junit;
mod lint;
mod look;
mod markdown;
mod overview;
mod ranking;
mod read;
mod sarif;
mod shardkey;
mod table;
mod terminal;
mod terminal_options;
mod text;

use docward_design::{Design, Pools};
use docward_model::{Report, RuleMeta, Severity, Site};

pub use baseline::{BaselineFault, baseline_json, read_baseline};
pub use connect::{PlanReport, choice, plan_fails};
pub use design::{Detail, simulation_report};
pub use fixes::fix_script;
pub use json::{json, rules_json};
pub use look::Look;
pub use read::{ReportFault, read};
pub use shardkey::{shard_keys, shard_keys_json};
pub use terminal_options::{Detail as TerminalDetail, Expand, TerminalOptions};
pub use text::{Paint, wrap};

/// The formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "formats by their usual names")]
pub enum Format {
    Terminal,
    Json,
    Sarif,
    Junit,
    Markdown,
    Html,
    /// Workflow commands that GitHub shows next to the code.
    Github,
    /// GitLab's code quality report.
    Gitlab,
}

impl Format {
    /// Every format, in the order of help texts.
    pub const ALL: [Self; 8] = [
        Self::Terminal,
        Self::Json,
        Self::Sarif,
        Self::Junit,
        Self::Markdown,
        Self::Html,
        Self::Github,
        Self::Gitlab,
    ];

    /// The word used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Json => "json",
            Self::Sarif => "sarif",
            Self::Junit => "junit",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Github => "github",
            Self::Gitlab => "gitlab",
        }
    }

    /// The purpose of the format.
    pub fn about(self) -> &'static str {
        match self {
            Self::Terminal => "Text for people",
            Self::Json => "The full report as machine-readable JSON (format version 1)",
            Self::Sarif => "SARIF 2.1.0, for code scanning",
            Self::Junit => "JUnit XML, for servers that show test results",
            Self::Markdown => "A comment on a pull request",
            Self::Html => "One page with pictures, for a browser",
            Self::Github => "Annotations of GitHub Actions",
            Self::Gitlab => "GitLab's code quality report",
        }
    }
}

/// The view of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The findings.
    Findings,
    /// A checklist, item by item.
    Checklist,
}

/// The options for formatting a report.
#[derive(Clone, Debug)]
pub struct Rendering<'a> {
    /// The format.
    pub format: Format,
    /// The view.
    pub view: View,
    /// The options of the terminal.
    pub terminal: TerminalOptions,
    /// The severity from which a finding fails a run; `None` for never.
    pub fails_from: Option<Severity>,
    /// The rules, for their help texts.
    pub rules: &'a [&'a RuleMeta],
    /// The targets of links to help.
    pub site: &'a Site,
}

/// The report as text.
pub fn render(report: &Report, how: &Rendering<'_>) -> String {
    match (how.format, how.view) {
        (Format::Terminal, View::Findings) if lint::is_about_code(report) => {
            lint::lint(report, &how.terminal, how.site)
        }
        (Format::Terminal, View::Findings) => terminal::terminal(report, &how.terminal, how.site),
        (Format::Terminal, View::Checklist) => checklist::checklist(report, &how.terminal),
        (Format::Json, _) => json(report),
        (Format::Sarif, view) => sarif::sarif(report, view, how.rules, how.site),
        (Format::Junit, view) => junit::junit(report, view, how.fails_from),
        (Format::Markdown, view) => markdown::markdown(report, view),
        (Format::Html, view) => html::html(report, view, how.rules, how.site),
        (Format::Github, view) => github::github(report, view),
        (Format::Gitlab, view) => gitlab::gitlab(report, view),
    }
}

/// The plan as text: a page, JSON or Markdown, and in all other formats text for a terminal.
pub fn plan_report(report: &PlanReport, format: Format, look: Look) -> String {
    match format {
        Format::Json => connect::plan::as_json(report),
        Format::Markdown => connect::plan::markdown(report),
        Format::Html => html::connections::page(report),
        _ => connect::plan::terminal(report, look),
    }
}

/// A design and the pools of its clients as text, in the formats of [`plan_report`].
pub fn design_report(
    design: &Design,
    pools: &Pools,
    format: Format,
    look: Look,
    detail: Detail,
) -> String {
    match format {
        Format::Json => design::json::json(design, pools),
        Format::Markdown => design::markdown::markdown(design, pools),
        Format::Html => html::design::page(design, pools),
        _ => design::terminal::terminal(design, pools, look, detail),
    }
}

/// Pictures of the model before and after, each in a separate file.
pub fn design_pictures(design: &Design) -> [(&'static str, String); 2] {
    let (before, after) = html::design::pictures(design);
    [("before.svg", before), ("after.svg", after)]
}
