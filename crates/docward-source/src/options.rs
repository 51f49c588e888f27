//! Options of clients in code, under the names that connection strings have.

use std::collections::BTreeSet;

use docward_model::OptionValue;

use super::{
    dialect::Duration,
    ir::{Call, Expr, Kind, ScopeId, ScopeKind, Statement, StatementKind},
    values::Values,
};

/// Options that require a check of certificates, and the option that turns it off.
const CHECKS: [(&str, &str); 8] = [
    ("sslValidate", "tlsAllowInvalidCertificates"),
    ("rejectUnauthorized", "tlsAllowInvalidCertificates"),
    ("ssl_cert_reqs", "tlsAllowInvalidCertificates"),
    ("tls_cert_reqs", "tlsAllowInvalidCertificates"),
    ("sslVerifyCertificate", "tlsAllowInvalidCertificates"),
    ("checkServerIdentity", "tlsAllowInvalidHostnames"),
    ("ssl_match_hostname", "tlsAllowInvalidHostnames"),
    ("tls_match_hostname", "tlsAllowInvalidHostnames"),
];

/// An option with its place.
pub(crate) struct CodeOption {
    pub(crate) name: String,
    pub(crate) written: String,
    pub(crate) value: OptionValue,
    pub(crate) at: usize,
    /// Whether a connection string that is applied later may override it.
    pub(crate) is_overridable: bool,
}

impl<'u, 't> Values<'u, 't> {
    /// An option by its name in code; `None` if it is not an option of connection strings.
    pub(crate) fn option(
        &self,
        written: &str,
        value: &'u Expr<'t>,
        at: usize,
        scope: ScopeId,
    ) -> Option<CodeOption> {
        if let Some((_, name)) = CHECKS.iter().find(|(check, _)| *check == written) {
            return self.checks_off(value, scope).then(|| CodeOption {
                name: (*name).to_owned(),
                written: written.to_owned(),
                value: OptionValue::Bool(true),
                at,
                is_overridable: false,
            });
        }
        let name = match written {
            "read_preference" => "readPreference",
            "socketOptions" | "server_api" => return None,
            // Old names of the Node driver.
            "poolSize" => "maxPoolSize",
            other => docward_uri::canonical_name(other)?,
        };
        Some(CodeOption {
            name: name.to_owned(),
            written: written.to_owned(),
            value: self.option_value(name, value, scope),
            at,
            is_overridable: false,
        })
    }

    /// Whether a value turns a check off: `false`, `ssl.CERT_NONE`, a function that accepts everything.
    fn checks_off(&self, value: &'u Expr<'t>, scope: ScopeId) -> bool {
        let (value, at) = self.follow(value, scope);
        match &value.kind {
            Kind::Bool(checks) => !checks,
            Kind::Function(id) => {
                let is_empty = |statement: &Statement<'t>| {
                    !self.unit.is_in(statement.scope, *id)
                        || matches!(&statement.kind, StatementKind::Return(of) if matches!(of.kind, Kind::Null))
                };
                self.unit.statements.iter().all(is_empty)
            }
            _ => {
                value.last_name() == Some("CERT_NONE")
                    || self.text(value, at).as_deref() == Some("CERT_NONE")
            }
        }
    }

    /// Reads a property of settings that sets an option: `MaxConnectionPoolSize = 500`.
    pub(crate) fn property(
        &self,
        written: &str,
        value: &'u Expr<'t>,
        at: usize,
        scope: ScopeId,
    ) -> Option<CodeOption> {
        let properties = self.unit.language.dialect().builders;
        let (_, name) = properties.iter().find(|(property, _)| *property == written)?;
        let value = if name.ends_with("MS") {
            known(self.duration(value, scope, 0).map(|ns| ns / 1_000_000))
        } else {
            self.option_value(name, value, scope)
        };
        let (name, written) = ((*name).to_owned(), written.to_owned());
        Some(CodeOption { name, written, value, at, is_overridable: false })
    }

    fn option_value(&self, name: &str, value: &'u Expr<'t>, scope: ScopeId) -> OptionValue {
        let (expr, scope) = self.follow(value, scope);
        match (&expr.kind, name) {
            (Kind::Bool(value), _) => return OptionValue::Bool(*value),
            (_, "readPreference") => {
                return mode(expr).map_or_else(
                    || self.text(expr, scope).map_or(OptionValue::Unknown, OptionValue::Text),
                    |mode| OptionValue::Text(mode.to_owned()),
                );
            }
            (_, "w") => {
                if let Some(w) = self.write_concern(expr, scope) {
                    return w;
                }
            }
            _ => {}
        }
        match self.int(expr, scope) {
            Some(n) => OptionValue::Int(n),
            None => match self.fold(expr, scope) {
                folded if folded.fallback => OptionValue::Unknown,
                folded => folded.whole().map_or(OptionValue::Unknown, |text| {
                    match (text.as_str(), text.parse::<i64>()) {
                        (_, Ok(n)) => OptionValue::Int(n),
                        ("true", _) => OptionValue::Bool(true),
                        ("false", _) => OptionValue::Bool(false),
                        _ => OptionValue::Text(text),
                    }
                }),
            },
        }
    }

    /// `WriteConcern.MAJORITY`, `writeconcern.Majority()`, `writeconcern.New(writeconcern.WMajority())`.
    fn write_concern(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<OptionValue> {
        let name = match &expr.kind {
            Kind::Call(call) => match call.method()? {
                "New" => return self.write_concern(call.positional(0)?, scope),
                "W" | "Custom" => {
                    return Some(match self.int(call.positional(0)?, scope) {
                        Some(n) => OptionValue::Int(n),
                        None => OptionValue::Text(self.text(call.positional(0)?, scope)?),
                    });
                }
                method => method,
            },
            _ => expr.last_name()?,
        };
        Some(match name.to_ascii_lowercase().as_str() {
            "majority" | "wmajority" => OptionValue::Text("majority".to_owned()),
            "acknowledged" | "w1" | "journaled" => OptionValue::Int(1),
            "unacknowledged" => OptionValue::Int(0),
            "w2" => OptionValue::Int(2),
            "w3" => OptionValue::Int(3),
            _ => return None,
        })
    }

    /// Returns the options that a chain of builder methods sets, and the connection string that the chain applies.
    pub(crate) fn chain(
        &self,
        expr: &'u Expr<'t>,
        scope: ScopeId,
        steps: u32,
        out: &mut Chain<'u, 't>,
    ) {
        if steps > 60 {
            out.whole = false;
            return;
        }
        // Methods called on a variable that holds the builder also belong to the chain.
        if let Some(path) = expr.path() {
            let owner = self.owner(scope);
            self.unit.each(|at, other| {
                if let Some(call) = other.call()
                    && self.owner(at) == owner
                    && call.receiver().and_then(Expr::path).as_deref() == Some(path.as_str())
                {
                    self.link(call, at, steps + 1, out);
                }
            });
        }
        let (expr, scope) = self.follow(expr, scope);
        match &expr.kind {
            Kind::Call(call) => {
                self.link(call, scope, steps, out);
                if let Some(of) = call.receiver() {
                    self.chain(of, scope, steps + 1, out);
                }
            }
            // A parameter, or a member that other code fills.
            Kind::Name(name)
                if !name.starts_with(char::is_uppercase)
                    && !matches!(*name, "options" | "mongo") =>
            {
                let is_parameter = self.unit.function(scope).is_some_and(|(_, function)| {
                    function.parameters.iter().any(|(parameter, _)| parameter == name)
                });
                let is_builder = out.is_lambda && is_parameter;
                if !is_builder && self.unit.import(name).is_none() {
                    out.whole = false;
                }
            }
            _ => {}
        }
    }

    /// One method of a chain.
    fn link(&self, call: &'u Call<'t>, scope: ScopeId, steps: u32, out: &mut Chain<'u, 't>) {
        let Some(method) = call.method() else { return };
        // Follow a builder variable to all method calls on it, including the chain that created it.
        if !out.linked.insert((call.callee.at, call.callee.end)) {
            return;
        }
        match method {
            "ApplyURI" | "applyConnectionString" | "connectionString" => {
                let uri = call.positional(0).map(|arg| match arg.call() {
                    Some(inner) if inner.method() == Some("ConnectionString") => {
                        inner.positional(0).unwrap_or(arg)
                    }
                    _ => arg,
                });
                out.uri = uri.map(|uri| (uri, scope)).or(out.uri);
                out.applied_at = Some(call.callee.end);
                return;
            }
            "SetHosts" | "hosts" => {
                out.hosts = true;
                for arg in &call.args {
                    arg.value.visit(&mut |expr| {
                        out.host_names.extend(expr.text().map(|t| t.into_owned()))
                    });
                }
            }
            // `SetTLSConfig(&tls.Config{InsecureSkipVerify: true})`.
            "SetTLSConfig" => {
                let Some(config) = call.positional(0) else { return };
                let fields = self.document(config, scope).unwrap_or_default();
                let path = config.path().map(|path| format!("{path}.InsecureSkipVerify"));
                let later = path.map(|path| self.given(&path, scope)).unwrap_or_default();
                let later = later.iter().map(|(_, value)| (*value, value.at));
                let own = fields.iter().filter(|field| field.is("InsecureSkipVerify"));
                let mut all = own.map(|field| (field.value, field.at)).chain(later);
                let off = all.find(|(value, _)| matches!(value.kind, Kind::Bool(true)));
                out.options.extend(off.map(|(_, at)| CodeOption {
                    name: "tlsInsecure".to_owned(),
                    written: "InsecureSkipVerify".to_owned(),
                    value: OptionValue::Bool(true),
                    at,
                    is_overridable: false,
                }));
                return;
            }
            "SetAuth" | "credential" => out.credentials = call.positional(0).map(|c| (c, scope)),
            _ => {}
        }
        let builders = self.unit.language.dialect().builders;
        if let Some((_, name)) = builders.iter().find(|(builder, _)| *builder == method) {
            if let Some(value) = call.positional(0) {
                let value = if name.ends_with("MS") {
                    self.milliseconds(call, value, scope)
                } else {
                    self.option_value(name, value, scope)
                };
                let at = call.callee.end.saturating_sub(method.len()).max(call.callee.at);
                out.options.push(CodeOption {
                    name: (*name).to_owned(),
                    written: method.to_owned(),
                    value,
                    at: if call.receiver().is_some() { out.at_of(call, at) } else { at },
                    is_overridable: false,
                });
            }
            return;
        }
        // `applyToConnectionPoolSettings(b -> b.maxSize(150))`.
        for arg in &call.args {
            if let Kind::Function(id) = arg.value.kind
                && matches!(self.unit.scopes[id].kind, ScopeKind::Function(_))
            {
                let was = std::mem::replace(&mut out.is_lambda, true);
                for statement in &self.unit.statements {
                    if self.unit.is_in(statement.scope, id)
                        && let StatementKind::Eval(expr) | StatementKind::Return(expr) =
                            &statement.kind
                    {
                        self.chain(expr, statement.scope, steps + 1, out);
                    }
                }
                out.is_lambda = was;
            }
        }
    }

    /// `120 * time.Second`, `(120, TimeUnit.SECONDS)`, `Duration.ofSeconds(120)`: in milliseconds.
    fn milliseconds(&self, call: &'u Call<'t>, value: &'u Expr<'t>, scope: ScopeId) -> OptionValue {
        if let Some(unit) = call.positional(1) {
            let factor = match unit.last_name() {
                Some("MILLISECONDS") => 1,
                Some("SECONDS") => 1000,
                Some("MINUTES") => 60_000,
                Some("HOURS") => 3_600_000,
                _ => return OptionValue::Unknown,
            };
            return known(self.int(value, scope).and_then(|n| n.checked_mul(factor)));
        }
        // The unit of a bare number depends on the method in Java; in Go it is nanoseconds.
        let is_bare = matches!(self.follow(value, scope).0.kind, Kind::Number(_));
        if is_bare && self.unit.language.dialect().bare_duration == Duration::Unknown {
            return OptionValue::Unknown;
        }
        known(self.duration(value, scope, 0).map(|ns| ns / 1_000_000))
    }

    /// A duration in nanoseconds.
    fn duration(&self, expr: &'u Expr<'t>, scope: ScopeId, steps: u32) -> Option<i64> {
        if steps > 8 {
            return None;
        }
        let (expr, scope) = self.follow(expr, scope);
        match &expr.kind {
            Kind::Binary("*", left, right) => {
                let left = self.duration(left, scope, steps + 1)?;
                left.checked_mul(self.duration(right, scope, steps + 1)?)
            }
            Kind::Member(of, unit) if matches!(of.kind, Kind::Name("time")) => Some(match *unit {
                "Millisecond" => 1_000_000,
                "Second" => 1_000_000_000,
                "Minute" => 60_000_000_000,
                "Hour" => 3_600_000_000_000,
                _ => return None,
            }),
            Kind::Call(call) => {
                let n = self.int(call.positional(0)?, scope)?;
                let factor = match call.method()? {
                    "ofMillis" | "FromMilliseconds" => 1_000_000,
                    "ofSeconds" | "FromSeconds" => 1_000_000_000,
                    "ofMinutes" | "FromMinutes" => 60_000_000_000,
                    // `time.Duration(30)`.
                    "Duration" => 1,
                    _ => return None,
                };
                n.checked_mul(factor)
            }
            Kind::Number(_) => self.int(expr, scope),
            _ => None,
        }
    }
}

fn known(n: Option<i64>) -> OptionValue {
    n.map_or(OptionValue::Unknown, OptionValue::Int)
}

/// The options that a chain of builder methods sets.
pub(crate) struct Chain<'u, 't> {
    options: Vec<CodeOption>,
    pub(crate) uri: Option<(&'u Expr<'t>, ScopeId)>,
    /// The position where a connection string is applied. It may override earlier options.
    applied_at: Option<usize>,
    pub(crate) hosts: bool,
    /// Names of hosts that are literals.
    pub(crate) host_names: Vec<String>,
    pub(crate) credentials: Option<(&'u Expr<'t>, ScopeId)>,
    pub(crate) whole: bool,
    is_lambda: bool,
    text: &'t str,
    /// Calls that were examined.
    linked: BTreeSet<(usize, usize)>,
}

impl<'t> Chain<'_, 't> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            options: Vec::new(),
            uri: None,
            applied_at: None,
            hosts: false,
            host_names: Vec::new(),
            credentials: None,
            whole: true,
            is_lambda: false,
            text,
            linked: BTreeSet::new(),
        }
    }

    /// The options that were set.
    pub(crate) fn options(&mut self) -> Vec<CodeOption> {
        let mut options = std::mem::take(&mut self.options);
        for option in &mut options {
            option.is_overridable = self.applied_at.is_some_and(|applied| option.at < applied);
        }
        options
    }

    /// The place of a method's name: chains run over several lines.
    fn at_of(&self, call: &Call<'_>, from: usize) -> usize {
        let Some(of) = call.receiver() else { return from };
        let between = self.text.get(of.end..).unwrap_or_default();
        let skipped =
            between.len() - between.trim_start_matches([' ', '\t', '\n', '\r', '.']).len();
        of.end + skipped
    }
}

/// `ReadPreference.SECONDARY_PREFERRED`, `readpref.SecondaryPreferred()`, `ReadPreference.secondary()`.
pub(crate) fn mode(expr: &Expr<'_>) -> Option<&'static str> {
    let name = match &expr.kind {
        Kind::Call(call) => call.method()?,
        Kind::Member(..) => expr.last_name()?,
        _ => return None,
    };
    let plain: String =
        name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect();
    ["primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"]
        .into_iter()
        .find(|mode| mode.eq_ignore_ascii_case(&plain))
}
