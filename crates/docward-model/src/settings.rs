//! The validated configuration of the user. `docward-config` creates it, rules read it.

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};
use serde::{Deserialize, Serialize};

use crate::{
    DeclaredDeployment, Namespace, RuleMeta, Scope, Service, Severity, Suppression, Threshold,
    ThresholdValue, Waiver,
};

/// A named set of default settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProfileName {
    /// Every clause as the rule book states it, house prefixes included.
    Vendor,
    /// The same engine without house naming.
    #[default]
    Neutral,
}

impl ProfileName {
    /// Every profile.
    pub const ALL: [Self; 2] = [Self::Vendor, Self::Neutral];

    /// Parses the name of a profile.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == word)
    }

    /// The word used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vendor => "vendor",
            Self::Neutral => "neutral",
        }
    }
}

/// A glob over `database.collection`.
#[derive(Clone, Debug)]
pub struct NamespacePattern {
    text: String,
    matcher: GlobMatcher,
}

impl NamespacePattern {
    /// Compiles a glob such as `db_shop.t_*`; the error describes its fault.
    pub fn new(text: &str) -> Result<Self, String> {
        let glob = Glob::new(text).map_err(|error| error.kind().to_string())?;
        Ok(Self { text: text.to_owned(), matcher: glob.compile_matcher() })
    }

    /// Matches only this name, including any special characters.
    pub fn exact(name: &str) -> Result<Self, String> {
        let pattern = Self::new(&globset::escape(name))?;
        Ok(Self { text: name.to_owned(), ..pattern })
    }

    /// Returns whether the namespace (or database name) matches.
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }

    /// Compiles a glob over field paths, in which `[]` means the elements of an array.
    pub fn of_path(text: &str) -> Result<Self, String> {
        let pattern = Self::new(&text.replace("[]", "[[][]]"))?;
        Ok(Self { text: text.to_owned(), ..pattern })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Settings of one rule.
#[derive(Clone, Debug, Default)]
pub struct RuleSettings {
    /// Enables or disables the rule, regardless of the profile.
    pub enabled: Option<bool>,
    /// A severity other than the default.
    pub severity: Option<Severity>,
    /// Thresholds by key.
    pub thresholds: BTreeMap<String, ThresholdSetting>,
}

/// A threshold as configured.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum ThresholdSetting {
    Int(i64),
    Float(f64),
    Flag(bool),
    Text(String),
    Words(Vec<String>),
}

/// Settings that hold for some namespaces only.
#[derive(Clone, Debug)]
pub struct NamespaceOverride {
    /// Which namespaces.
    pub pattern: NamespacePattern,
    /// Rules turned off there (codes, families or names).
    pub ignore: Vec<String>,
    /// Rules that stay on although this entry, or an earlier one, would switch them off.
    pub select: Vec<String>,
    /// Settings by rule code.
    pub rules: BTreeMap<String, RuleSettings>,
}

impl NamespaceOverride {
    /// Returns whether this entry turns a rule on or off; `None` if it does not mention the rule.
    pub fn switches(&self, rule: &RuleMeta) -> Option<bool> {
        let named = |list: &[String]| list.iter().any(|s| selects(s, rule));
        self.rules
            .get(rule.code)
            .and_then(|r| r.enabled)
            .or_else(|| named(&self.select).then_some(true))
            .or_else(|| named(&self.ignore).then_some(false))
    }
}

/// The source of the list of core collections.
#[derive(Clone, Debug, Default)]
pub enum CoreSource {
    /// Inferred from size, which findings state.
    #[default]
    Inferred,
    /// Declared by pattern.
    Declared(Vec<NamespacePattern>),
}

/// A shard key, declared for a collection or read from a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardKey {
    /// The collection.
    pub namespace: Namespace,
    /// Fields in order; `true` means hashed.
    pub fields: Vec<(String, bool)>,
}

/// The configuration of the user, with defaults filled in.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The profile.
    pub profile: ProfileName,
    /// Only these rules (codes, families or names); all if empty.
    pub select: Vec<String>,
    /// True if findings of the level `pedantic` are reported: likely, but not proven.
    pub pedantic: bool,
    /// Never these rules.
    pub ignore: Vec<String>,
    /// Settings by rule code.
    pub rules: BTreeMap<String, RuleSettings>,
    /// Settings by namespace, later ones win.
    pub overrides: Vec<NamespaceOverride>,
    /// The core collections.
    pub core: CoreSource,
    /// Arrays that the application bounds: `namespace-glob:path` pairs with their maximum length.
    pub bounded_arrays: Vec<(NamespacePattern, String, u64)>,
    /// Copied fields that must be updated with their source: `namespace-glob:path`.
    pub mirrors: Vec<(NamespacePattern, String)>,
    /// Declared shard keys.
    pub shard_keys: Vec<ShardKey>,
    /// The current or planned number of shards.
    pub shards: Option<u32>,
    /// The server's version when known or declared, `(6, 0)`.
    pub server_version: Option<(u32, u32)>,
    /// The declared facts about the deployment.
    pub deployment: DeclaredDeployment,
    /// The declared services.
    pub services: Vec<Service>,
    /// Database names in connection strings, to compare with the catalogue.
    pub uri_databases: Vec<String>,
    /// Findings that are accepted for a time.
    pub suppressions: Vec<Suppression>,
    /// Checklist items that are signed off although they did not pass.
    pub waivers: Vec<Waiver>,
    /// True if only a part of the data was read or checked.
    pub is_partial: bool,
    /// The date of the run, `2026-11-15`; without it nothing expires.
    pub today: Option<String>,
}

/// The selector that adds findings of the level `pedantic`; it selects no rule.
pub const PEDANTIC: &str = "pedantic";

impl Settings {
    /// Sets the selectors of a user.
    pub fn set_select(&mut self, mut selectors: Vec<String>) {
        self.pedantic = selectors.iter().any(|word| word == PEDANTIC);
        selectors.retain(|word| word != PEDANTIC);
        self.select = selectors;
    }

    /// Returns whether a rule runs at all.
    pub fn is_on(&self, rule: &RuleMeta) -> bool {
        if self.ignore.iter().any(|s| selects(s, rule)) {
            return false;
        }
        if !self.select.is_empty() {
            return self.select.iter().any(|s| selects(s, rule));
        }
        if let Some(enabled) = self.rules.get(rule.code).and_then(|r| r.enabled) {
            return enabled;
        }
        !(rule.scope == Scope::HouseNaming && self.profile == ProfileName::Neutral)
    }

    /// Returns whether a rule is turned off for a namespace. The last entry that mentions the
    /// rule decides; within an entry `enabled` precedes `select`, and `select` precedes `ignore`.
    pub fn is_ignored_at(&self, rule: &RuleMeta, namespace: &str) -> bool {
        let verdicts = self.matching(Some(namespace)).filter_map(|o| o.switches(rule));
        verdicts.last() == Some(false)
    }

    /// The configured severity of a rule at a namespace, if any.
    pub fn severity_at(&self, rule: &RuleMeta, namespace: Option<&str>) -> Option<Severity> {
        let mut severity = self.rules.get(rule.code).and_then(|r| r.severity);
        for o in self.matching(namespace) {
            severity = o.rules.get(rule.code).and_then(|r| r.severity).or(severity);
        }
        severity
    }

    /// A threshold of a rule as configured at a namespace, or its default.
    pub fn limit(&self, code: &str, threshold: &Threshold, namespace: &Namespace) -> f64 {
        match self.threshold_at(code, threshold.key, Some(&namespace.to_string())) {
            Some(ThresholdSetting::Int(n)) => *n as f64,
            Some(ThresholdSetting::Float(n)) => *n,
            _ => threshold.default_number(),
        }
    }

    /// The configured value of a threshold at a namespace, if any.
    pub fn threshold_at(
        &self,
        code: &str,
        key: &str,
        namespace: Option<&str>,
    ) -> Option<&ThresholdSetting> {
        let mut value = self.rules.get(code).and_then(|r| r.thresholds.get(key));
        for o in self.matching(namespace) {
            value = o.rules.get(code).and_then(|r| r.thresholds.get(key)).or(value);
        }
        value
    }

    fn matching<'a, 'n>(
        &'a self,
        namespace: Option<&'n str>,
    ) -> impl Iterator<Item = &'a NamespaceOverride> + use<'a, 'n> {
        self.overrides.iter().filter(move |o| namespace.is_some_and(|ns| o.pattern.matches(ns)))
    }

    /// The maximum length the user declared for an array, if any.
    pub fn array_cap(&self, namespace: &Namespace, path: &str) -> Option<u64> {
        let ns = namespace.to_string();
        self.bounded_arrays
            .iter()
            .find(|(pattern, p, _)| p == path && pattern.matches(&ns))
            .map(|&(_, _, cap)| cap)
    }
}

/// Returns whether a selector (code, family letter, name, `all`) matches this rule.
pub fn selects(selector: &str, rule: &RuleMeta) -> bool {
    selector.eq_ignore_ascii_case(rule.code)
        || selector == rule.name
        || selector.eq_ignore_ascii_case("all")
        || (selector.len() == 1 && selector.eq_ignore_ascii_case(&rule.code[..1]))
}

impl Threshold {
    /// The default as a number; flags become 0 and 1, words 0.
    pub fn default_number(&self) -> f64 {
        match self.default {
            ThresholdValue::Int(n) => n as f64,
            ThresholdValue::Float(n) => n,
            ThresholdValue::Flag(b) => f64::from(u8::from(b)),
            ThresholdValue::Text(_) | ThresholdValue::Words(_) => 0.0,
        }
    }
}
