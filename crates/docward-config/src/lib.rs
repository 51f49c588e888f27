//! Converts the text of `docward.toml` to [`Settings`], with a position for every problem.
//!
//! There are three steps, each in its own file: `syntax` reads TOML and recovers from broken
//! statements, `raw` contains the typed values with their positions, `validate` interprets them. No
//! step fails: a problem is a [`Diagnostic`], and the rest of the file still counts.
//! [`json_schema`] describes the same keys for editors. No IO: the caller reads the file and passes
//! the rules' metadata, because this crate does not know the registry.
//!
//! The user guide is `docs/configuration.md`; its examples are tests of this crate.

mod diagnostic;
mod json;
mod keys;
mod position;
mod raw;
mod schema;
mod suggest;
mod syntax;
mod threshold;
mod validate;

use std::collections::BTreeMap;

use docward_model::{Location, ProfileName, RuleMeta, Settings, Severity};

pub use diagnostic::Diagnostic;
pub use raw::{AUTHS, FACES, GuardLimit, GuardSettings, GuardUser, RIGHTS, is_day};
pub use schema::json_schema;
pub use validate::selector_problem;

/// The severity from which on a run fails (`fail-on`, `--fail-on`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// Findings of this severity or a higher one fail the run.
    AtLeast(Severity),
    /// Findings never fail the run.
    Never,
}

impl FailOn {
    /// Every value, highest severity first, as help texts list them.
    pub const ALL: [Self; 4] = [
        Self::AtLeast(Severity::Error),
        Self::AtLeast(Severity::Warn),
        Self::AtLeast(Severity::Info),
        Self::Never,
    ];

    /// The word used in configuration and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::AtLeast(severity) => severity.word(),
            Self::Never => "never",
        }
    }

    /// Parses the name of a value.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "never" => Some(Self::Never),
            word => Severity::parse(word).map(Self::AtLeast),
        }
    }

    /// The lowest severity that fails the run; `None` if none does.
    pub fn least(self) -> Option<Severity> {
        match self {
            Self::AtLeast(least) => Some(least),
            Self::Never => None,
        }
    }
}

/// The content of `docward.toml`. The default is an empty file.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The settings for rules and engine.
    pub settings: Settings,
    /// The profile that the file selects.
    pub profile: Option<ProfileName>,
    /// The severity from which on a run fails; if absent, the command line's default applies.
    pub fail_on: Option<FailOn>,
    /// The baseline, relative to the directory of the file.
    pub baseline: Option<String>,
    /// The settings of `docward guard`.
    pub guard: GuardSettings,
    pub(crate) origins: Origins,
    /// One entry per entry of `settings.overrides`.
    pub(crate) override_origins: Vec<Origins>,
}

/// The positions of rule settings, by rule code and key.
pub(crate) type Origins = BTreeMap<(String, String), Location>;

impl Config {
    /// The position of the effective value of a rule's key at a namespace: a threshold's key,
    /// `severity` or `enabled`. `None` if the file does not set it. `docward explain` uses it for
    /// "yours: 200, from docward.toml:14".
    pub fn origin(&self, code: &str, key: &str, namespace: Option<&str>) -> Option<&Location> {
        let wanted = (code.to_owned(), key.to_owned());
        let at_namespace = namespace.and_then(|ns| {
            self.settings
                .overrides
                .iter()
                .zip(&self.override_origins)
                .filter(|(o, _)| o.pattern.matches(ns))
                .filter_map(|(_, origins)| origins.get(&wanted))
                // Later entries win, as in `Settings::threshold_at`.
                .next_back()
        });
        at_namespace.or_else(|| self.origins.get(&wanted))
    }
}

/// Parses the text of a `docward.toml`. Never fails and never panics: problems are diagnostics in
/// file order, and everything valid still counts. `file_name` is only used in messages.
///
/// ```
/// let text = "profile = \"neutral\"\nfail-on = \"eror\"\n";
/// let (config, problems) = docward_config::parse(text, "docward.toml", &[]);
/// assert_eq!(config.settings.profile.name(), "neutral");
/// assert_eq!(
///     problems[0].to_string(),
///     "docward.toml:2:11: `fail-on` cannot be `eror`; did you mean `error`?"
/// );
/// ```
pub fn parse(text: &str, file_name: &str, rules: &[&RuleMeta]) -> (Config, Vec<Diagnostic>) {
    let mut out = diagnostic::Diagnostics::new(file_name, text);
    let document = syntax::read(text, &mut out);
    let raw = raw::read(&document, text, rules, &mut out);
    let config = validate::validate(&raw, text, rules, &mut out);
    (config, out.finish())
}

/// Parses a users file of `docward guard`. Never fails, like [`parse`].
pub fn parse_users(text: &str, file_name: &str) -> (Vec<GuardUser>, Vec<Diagnostic>) {
    let mut out = diagnostic::Diagnostics::new(file_name, text);
    let document = syntax::read(text, &mut out);
    let users = raw::read_users(&document, text, &mut out);
    (users, out.finish())
}
