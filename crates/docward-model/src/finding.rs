//! Findings of rules. A finding without message, reason, advice and sample size does not compile.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{Action, FieldChange, FieldPath, Fix, Namespace, Safety, Seen, Step, UriChange};

/// The severity of a finding, in reports and for `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Informational; breaks no rule.
    Info,
    /// A recommendation is not followed.
    Warn,
    /// A mandatory rule is broken, or a prohibited construct was found.
    Error,
}

impl Severity {
    /// Every severity, highest first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warn, Self::Info];

    /// Parses the name of a severity.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name() == word || severity.word() == word)
    }

    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    /// The display name: in reports, configuration and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "note",
            Self::Warn => "warning",
            Self::Error => "error",
        }
    }
}

/// The consequence in production if a finding is not fixed, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Area {
    /// The server or the driver refuses operations, now or at the next failover.
    Writes,
    /// Queries return wrong results, or data is lost.
    Correctness,
    /// Unauthorized users can read or change data.
    Security,
    /// A size or count approaches a limit.
    Growth,
    /// Operations take longer or cost more than they need to.
    Speed,
    /// No effect today, but the next change is harder or unprotected.
    Hygiene,
}

impl Area {
    /// Every area, worst first.
    pub const ALL: [Self; 6] =
        [Self::Writes, Self::Correctness, Self::Security, Self::Growth, Self::Speed, Self::Hygiene];

    /// Parses the name of an area as JSON spells it.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|area| area.name() == word)
    }

    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Correctness => "correctness",
            Self::Security => "security",
            Self::Growth => "growth",
            Self::Speed => "speed",
            Self::Hygiene => "hygiene",
        }
    }

    /// The display name.
    pub fn title(self) -> &'static str {
        match self {
            Self::Writes => "Writes at risk",
            Self::Correctness => "Correctness",
            Self::Security => "Security",
            Self::Growth => "Growth",
            Self::Speed => "Speed",
            Self::Hygiene => "Hygiene",
        }
    }
}

/// The requirement level of a clause in the rule book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the rule book's own words")]
pub enum Level {
    Mandatory,
    Prohibited,
    Recommended,
    Information,
}

impl Level {
    /// Parses the name of a level.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Mandatory, Self::Prohibited, Self::Recommended, Self::Information]
            .into_iter()
            .find(|level| level.name() == word)
    }

    /// The word used in JSON and on pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mandatory => "mandatory",
            Self::Prohibited => "prohibited",
            Self::Recommended => "recommended",
            Self::Information => "information",
        }
    }

    /// The severities of a rule whose findings all have this level.
    pub const fn severities(self) -> &'static [Severity] {
        match self {
            Self::Mandatory | Self::Prohibited => &[Severity::Error],
            Self::Recommended => &[Severity::Warn],
            Self::Information => &[Severity::Info],
        }
    }

    /// The severity of a breach, unless configured otherwise.
    pub fn severity(self) -> Severity {
        match self {
            Self::Mandatory | Self::Prohibited => Severity::Error,
            Self::Recommended => Severity::Warn,
            Self::Information => Severity::Info,
        }
    }
}

/// The subject of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// The deployment as a whole.
    Deployment,
    /// One database.
    Database(String),
    /// One collection.
    Collection(Namespace),
    /// One field of a collection.
    Field(Namespace, FieldPath),
    /// One index of a collection, by name.
    Index(Namespace, String),
}

impl Subject {
    /// The `namespace` of the JSON report: a database or a collection.
    pub fn namespace(&self) -> Option<String> {
        match self {
            Self::Deployment => None,
            Self::Database(database) => Some(database.clone()),
            Self::Collection(ns) | Self::Field(ns, _) | Self::Index(ns, _) => Some(ns.to_string()),
        }
    }

    /// The collection that the finding is about or in.
    pub fn collection(&self) -> Option<&Namespace> {
        match self {
            Self::Deployment | Self::Database(_) => None,
            Self::Collection(ns) | Self::Field(ns, _) | Self::Index(ns, _) => Some(ns),
        }
    }

    /// The subject as text: `db.coll path`, `db.coll index name`, a database, or the deployment.
    pub fn text(&self) -> String {
        match self {
            Self::Deployment => "deployment".to_owned(),
            Self::Database(name) => name.clone(),
            Self::Collection(ns) => ns.to_string(),
            Self::Field(ns, path) => format!("{ns} {path}"),
            Self::Index(ns, name) => format!("{ns} index {name}"),
        }
    }

    /// The index, if the finding is about one.
    pub fn index(&self) -> Option<&str> {
        match self {
            Self::Index(_, name) => Some(name),
            _ => None,
        }
    }

    /// Builds a subject from the `namespace`, `path` and `index` of a report.
    pub fn from_parts(namespace: Option<&str>, path: Option<&str>, index: Option<&str>) -> Self {
        let Some(name) = namespace else { return Self::Deployment };
        let Some(namespace) = Namespace::parse(name) else {
            return Self::Database(name.to_owned());
        };
        match (path, index) {
            (Some(path), _) => Self::Field(namespace, FieldPath::new(path)),
            (None, Some(index)) => Self::Index(namespace, index.to_owned()),
            (None, None) => Self::Collection(namespace),
        }
    }

    /// The field, if the finding is about one.
    pub fn path(&self) -> Option<&FieldPath> {
        match self {
            Self::Field(_, path) => Some(path),
            _ => None,
        }
    }
}

/// The unit of the items that were examined and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum Unit {
    Documents,
    Collections,
    Databases,
    Indexes,
    Operations,
    Connections,
    Chunks,
    Servers,
    Addresses,
    Accounts,
    ConnectionStrings,
    NetworkRules,
    Suppressions,
    Files,
}

impl Unit {
    const ALL: [Self; 14] = [
        Self::Documents,
        Self::Collections,
        Self::Databases,
        Self::Indexes,
        Self::Operations,
        Self::Connections,
        Self::Chunks,
        Self::Servers,
        Self::Addresses,
        Self::Accounts,
        Self::ConnectionStrings,
        Self::NetworkRules,
        Self::Suppressions,
        Self::Files,
    ];

    /// Parses a unit from its plural.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name(2) == word)
    }

    /// The noun for this count, singular or plural.
    pub fn name(self, count: u64) -> &'static str {
        let (one, many) = match self {
            Self::Documents => ("document", "documents"),
            Self::Collections => ("collection", "collections"),
            Self::Databases => ("database", "databases"),
            Self::Indexes => ("index", "indexes"),
            Self::Operations => ("operation", "operations"),
            Self::Connections => ("connection", "connections"),
            Self::Chunks => ("chunk", "chunks"),
            Self::Servers => ("server", "servers"),
            Self::Addresses => ("address", "addresses"),
            Self::Accounts => ("account", "accounts"),
            Self::ConnectionStrings => ("connection string", "connection strings"),
            Self::NetworkRules => ("network rule", "network rules"),
            Self::Suppressions => ("suppression", "suppressions"),
            Self::Files => ("file", "files"),
        };
        crate::text::form(count, one, many)
    }
}

/// A place in a text file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "file, line and column say it")]
pub struct Location {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

/// A line of a text file as reports may show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The line, with passwords masked.
    pub text: String,
    /// The column of the place in it, counted from 1.
    pub column: u32,
}

/// The review that a fix needs before it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Applicability {
    /// A program that worked before behaves the same afterwards.
    Safe,
    /// The program may behave differently, or need an additional setting.
    Unsafe,
}

impl Applicability {
    /// Parses the name of an applicability.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Safe, Self::Unsafe].into_iter().find(|value| value.name() == word)
    }

    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Unsafe => "unsafe",
        }
    }
}

/// A change of a text file that fixes a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The review that the edit needs before it is applied.
    pub applicability: Applicability,
    /// The position where it begins.
    pub location: Location,
    /// The text that the edit replaces; the edit is not applied if the file has other text there.
    pub old: EditedText,
    /// The replacement text.
    pub new: String,
    /// A line that the file needs, inserted before the first import if it is missing: `import os`.
    pub needs: Option<&'static str>,
}

/// The text that an edit replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditedText {
    /// Exactly this text.
    Exactly(String),
    /// A quoted literal, which may hold a secret and is therefore not repeated.
    Literal,
}

/// One figure of a finding.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum DataValue {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    List(Vec<DataValue>),
    Map(Vec<(String, DataValue)>),
}

macro_rules! data_from {
    ($($from:ty => $variant:ident($with:expr)),* $(,)?) => {$(
        impl From<$from> for DataValue {
            fn from(value: $from) -> Self {
                let convert: fn($from) -> _ = $with;
                Self::$variant(convert(value))
            }
        }
    )*};
}
data_from! {
    i64 => Int(|n| n),
    i32 => Int(i64::from),
    u32 => Int(i64::from),
    u64 => Int(|n| i64::try_from(n).unwrap_or(i64::MAX)),
    usize => Int(|n| i64::try_from(n).unwrap_or(i64::MAX)),
    // Six decimals: enough to read, few enough to stay stable across platforms.
    f64 => Float(|n| (n * 1e6).round() / 1e6),
    bool => Bool(|b| b),
    String => Text(|s| s),
    &str => Text(str::to_owned),
}

impl<T: Into<Self>> From<Vec<T>> for DataValue {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

/// The figures of a finding, in printing order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data(Vec<(String, DataValue)>);

impl Data {
    /// Creates an empty set of figures.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a figure.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<DataValue>) -> Self {
        self.0.push((key.to_owned(), value.into()));
        self
    }

    /// All figures.
    pub fn entries(&self) -> &[(String, DataValue)] {
        &self.0
    }

    /// One figure by key.
    pub fn get(&self, key: &str) -> Option<&DataValue> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }
}

/// The day on which something that grows reaches a limit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline {
    /// `2029-02-20`.
    pub day: String,
    /// `1 MB`, `1,000 elements`.
    pub limit: String,
}

/// A finding as a rule creates it; the engine adds code, severity and fingerprint.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The subject of the finding.
    pub at: Subject,
    /// The message: the problem, with numbers; lower-case start, no final period.
    pub what: String,
    /// Why it matters to the reader.
    pub why: Cow<'static, str>,
    /// The advice: a concrete action.
    pub todo: String,
    /// The number of items examined, and their total.
    pub seen: Seen,
    /// The figures of the finding.
    pub data: Data,
    /// Values of documents that show it; printed only with `--show-values`.
    pub examples: Vec<String>,
    /// A fix that can be run.
    pub fix: Option<Fix>,
    /// The clauses this finding breaks; all of the rule's when empty.
    pub clauses: &'static [&'static str],
    /// The level of the threshold that was exceeded; the rule's own when `None`.
    pub level: Option<Level>,
    /// A severity below or above the one of the level, for a soft threshold of a rule; rarely
    /// needed.
    pub severity: Option<Severity>,
    /// The area of this finding; the rule's own when `None`.
    pub area: Option<Area>,
    /// The next limit that will be reached, and the date.
    pub deadline: Option<Deadline>,
    /// Distinguishes several findings of one rule on one subject. Part of the fingerprint, so it
    /// must not contain counts.
    pub key: String,
    /// The place in a text file, when it is about one.
    pub location: Option<Location>,
    /// Further places that this finding covers.
    pub locations: Vec<Location>,
    /// The fields that this finding covers, if its subject is not a single one.
    pub paths: Vec<FieldPath>,
    /// Changes of text files that fix it.
    pub edits: Vec<Edit>,
    /// The required changes of the connection string.
    pub uri: Vec<UriChange>,
    /// Changes that the advice makes to fields of its collection, in addition to the steps of its
    /// remedy.
    pub changes: Vec<FieldChange>,
    /// True if the finding is likely but not proven.
    pub pedantic: bool,
}

impl Draft {
    /// Creates a finding with its four mandatory parts.
    pub fn new(
        at: Subject,
        what: impl Into<String>,
        why: impl Into<Cow<'static, str>>,
        todo: impl Into<String>,
        seen: Seen,
    ) -> Self {
        Self {
            at,
            what: what.into(),
            why: why.into(),
            todo: todo.into(),
            seen,
            data: Data::new(),
            examples: Vec::new(),
            fix: None,
            clauses: &[],
            level: None,
            severity: None,
            area: None,
            deadline: None,
            key: String::new(),
            location: None,
            locations: Vec::new(),
            paths: Vec::new(),
            edits: Vec::new(),
            uri: Vec::new(),
            changes: Vec::new(),
            pedantic: false,
        }
    }

    /// Reports the finding only to users who select `pedantic`: it is likely but not proven.
    #[must_use]
    pub fn pedantic(mut self) -> Self {
        self.pedantic = true;
        self.data("pedantic", true)
    }

    /// Adds a change of a field that no step of the remedy makes.
    #[must_use]
    pub fn change(mut self, change: FieldChange) -> Self {
        self.changes.push(change);
        self
    }

    /// Adds a figure.
    #[must_use]
    pub fn data(mut self, key: &str, value: impl Into<DataValue>) -> Self {
        self.data = self.data.with(key, value);
        self
    }

    /// Adds a remedy: steps on the deployment.
    #[must_use]
    pub fn plan(
        mut self,
        refactoring: Option<&'static str>,
        safety: Safety,
        steps: impl Into<Vec<Step>>,
    ) -> Self {
        let refactoring = refactoring.map(Cow::Borrowed);
        self.fix = Some(Fix { refactoring, safety, action: Action::Plan(steps.into()) });
        self
    }

    /// Adds a remedy: a command line that begins with `docward`.
    #[must_use]
    pub fn command(
        mut self,
        refactoring: Option<&'static str>,
        safety: Safety,
        line: &str,
    ) -> Self {
        let refactoring = refactoring.map(Cow::Borrowed);
        self.fix = Some(Fix { refactoring, safety, action: Action::Command(line.to_owned()) });
        self
    }

    /// Sets the changes of the connection string, and the figure `change`. `connect check` applies
    /// these changes, so a rule may only set them if the advice needs no decision.
    #[must_use]
    pub fn uri(mut self, changes: impl Into<Vec<UriChange>>) -> Self {
        self.uri = changes.into();
        let told = UriChange::told(&self.uri);
        self.data("change", told)
    }

    /// Returns all changes that the advice makes to fields, by its steps and in addition to them.
    pub fn all_changes(&self) -> Vec<FieldChange> {
        let mut all: Vec<FieldChange> =
            self.fix.iter().flat_map(|fix| fix.steps()).flat_map(Step::changes).collect();
        all.extend(
            self.changes.iter().filter(|change| !all.contains(change)).cloned().collect::<Vec<_>>(),
        );
        all
    }

    /// Adds values from documents, shown only on request.
    #[must_use]
    pub fn examples(mut self, examples: impl IntoIterator<Item = String>) -> Self {
        self.examples.extend(examples);
        self
    }

    /// Restricts the finding to the clauses of the threshold that was exceeded.
    #[must_use]
    pub fn clauses(mut self, clauses: &'static [&'static str]) -> Self {
        self.clauses = clauses;
        self
    }

    /// Sets the level of the threshold that was exceeded.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Sets a severity other than the level's.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }

    /// Sets an area other than the rule's.
    #[must_use]
    pub fn area(mut self, area: Area) -> Self {
        self.area = Some(area);
        self
    }

    /// Sets the next limit that will be reached.
    #[must_use]
    pub fn deadline(mut self, day: impl Into<String>, limit: impl Into<String>) -> Self {
        self.deadline = Some(Deadline { day: day.into(), limit: limit.into() });
        self
    }

    /// Sets the place in a text file.
    #[must_use]
    pub fn location(mut self, location: Location) -> Self {
        self.location = Some(location);
        self
    }

    /// Sets the fields that the finding covers, in the order of their paths, each once.
    #[must_use]
    pub fn paths(mut self, paths: impl IntoIterator<Item = FieldPath>) -> Self {
        let paths: BTreeSet<FieldPath> = paths.into_iter().collect();
        self.paths = paths.into_iter().collect();
        self
    }

    /// Adds further places that the finding covers. The primary place is not repeated.
    #[must_use]
    pub fn locations(mut self, locations: impl IntoIterator<Item = Location>) -> Self {
        for location in locations {
            if self.location.as_ref() != Some(&location) && !self.locations.contains(&location) {
                self.locations.push(location);
            }
        }
        self
    }

    /// Adds a change that fixes it.
    #[must_use]
    pub fn edit(mut self, edit: Edit) -> Self {
        self.edits.push(edit);
        self
    }

    /// Sets the key that distinguishes this finding from others of the same rule on the same
    /// subject.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }
}

/// A finding of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule's code, `D008`.
    pub rule: Cow<'static, str>,
    /// The rule's name, `unbounded-array`.
    pub name: Cow<'static, str>,
    /// Its severity.
    pub severity: Severity,
    /// The level of the clause.
    pub level: Level,
    /// The consequence if it is not fixed.
    pub area: Area,
    /// The next limit that will be reached, and the date.
    pub deadline: Option<Deadline>,
    /// The clauses broken.
    pub clauses: Vec<Cow<'static, str>>,
    /// The subject of the finding.
    pub at: Subject,
    /// A place in a text file, for findings in source code or configuration.
    pub location: Option<Location>,
    /// Further places that the finding covers; the primary one is not repeated.
    pub locations: Vec<Location>,
    /// The fields that the finding covers, if its subject is not a single one.
    pub paths: Vec<FieldPath>,
    /// The line at the primary place, if the file is available.
    pub excerpt: Option<Excerpt>,
    /// The message: the problem.
    pub what: String,
    /// Why it matters.
    pub why: String,
    /// The advice: what to do.
    pub todo: String,
    /// The number of items examined, and their total.
    pub seen: Seen,
    /// The figures.
    pub data: Data,
    /// Values from documents; printed only with `--show-values`.
    pub examples: Vec<String>,
    /// A fix that can be run.
    pub fix: Option<Fix>,
    /// Changes of text files that fix it.
    pub edits: Vec<Edit>,
    /// Changes of the connection string that fix it.
    pub uri: Vec<UriChange>,
    /// Stable across runs and independent of counts.
    pub fingerprint: String,
}

impl Finding {
    /// Returns whether it breaks this clause.
    pub fn cites(&self, clause: &str) -> bool {
        self.clauses.iter().any(|cited| cited == clause)
    }

    /// Every place in text files, the primary one first.
    pub fn all_locations(&self) -> impl Iterator<Item = &Location> {
        self.location.iter().chain(&self.locations)
    }

    /// The location of the finding: the place in a text file, or else its subject.
    pub fn place(&self) -> String {
        match (&self.location, &self.at) {
            (Some(at), Subject::Deployment) => format!("{}:{}:{}", at.file, at.line, at.column),
            _ => self.at.text(),
        }
    }

    /// The order of reports, before findings of one rule are grouped.
    fn sort_key(&self) -> impl Ord + '_ {
        (
            std::cmp::Reverse(self.severity),
            self.area,
            // Findings with a date come first, the nearest date leading.
            self.deadline.is_none(),
            &self.deadline,
            std::cmp::Reverse(self.seen.total),
            (self.at.namespace(), self.at.path(), &self.location),
            (&self.rule, &self.at, &self.what, &self.fingerprint),
        )
    }
}

/// Sorts findings into the order of reports: by severity, then by area, worst first. Findings of
/// one rule and severity are adjacent.
pub fn arrange(findings: &mut [Finding]) {
    findings.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    let mut first: BTreeMap<(Cow<'static, str>, Severity, Area), usize> = BTreeMap::new();
    for (at, finding) in findings.iter().enumerate() {
        first.entry((finding.rule.clone(), finding.severity, finding.area)).or_insert(at);
    }
    findings.sort_by_key(|f| first.get(&(f.rule.clone(), f.severity, f.area)).copied());
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
