//! Clients: where they are made, with which connection string and options, and how often.

mod remade;

use docward_model::{
    ClientOption, ClientSite, ClientUri, Driver, Location, Purpose,
    code::{CodeSecret, Lookup, Placeholder, RefusedCall, SecretKind},
};
use docward_uri::Piece;

use super::{
    Scan, allow_comments,
    ir::{Call, Expr, Kind, Part, ScopeId, ScopeKind, StatementKind},
    options::{Chain, CodeOption, mode},
    secrets::is_local,
    values::{Folded, Fragment},
};
use crate::Language;

/// A call that makes a client.
struct Made<'u, 't> {
    driver: Driver,
    uri: Option<(&'u Expr<'t>, ScopeId)>,
    options: Vec<CodeOption>,
    /// Whether all options are known.
    whole: bool,
    /// Hosts that a builder names.
    hosts: Vec<String>,
}

/// What is known of a connection string with a password.
struct Found {
    /// With the password blotted out.
    shown: String,
    mark: u64,
    fallback: bool,
    placeholder: Option<Placeholder>,
    in_sample: bool,
    literal: Option<(Location, Lookup)>,
}

impl<'u, 't> Scan<'u, 't> {
    /// Finds every client of the file.
    pub(super) fn clients(&mut self) {
        let mut made = Vec::new();
        self.values.unit.each(|scope, expr| {
            if let Some(call) = expr.call()
                && let Some(client) = self.made(call, scope)
            {
                made.push((scope, expr, call, client));
            }
        });
        for (scope, expr, call, client) in made {
            self.refused(call);
            if !client.uri.is_some_and(|(uri, at)| self.is_asked_for(uri, at)) {
                self.remade(scope, expr);
            }
            self.client(expr.at, scope, client);
        }
        self.factories_of_others();
        self.opened_and_closed();
        self.serverless();
    }

    fn made(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<Made<'u, 't>> {
        match self.values.unit.language {
            Language::Python => self.made_in_python(call, scope),
            language if language.is_script() => self.made_in_script(call, scope),
            Language::Go => self.made_in_go(call, scope),
            _ => self.made_on_jvm(call, scope),
        }
    }

    fn made_in_python(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<Made<'u, 't>> {
        let method = call.method()?;
        let is_connect = method == "connect"
            && match call.receiver() {
                Some(of) => matches!(of.kind, Kind::Name("mongoengine" | "me")),
                None => {
                    self.values.unit.import("connect").is_some_and(|i| i.module == "mongoengine")
                }
            };
        let is_client = matches!(
            method,
            "MongoClient"
                | "AsyncIOMotorClient"
                | "AsyncMongoClient"
                | "MotorClient"
                | "MotorReplicaSetClient"
                | "MongoReplicaSetClient"
        );
        if !is_connect && !is_client {
            return None;
        }
        let uri = if is_connect {
            call.named("host").or_else(|| call.positional(0).filter(|arg| self.is_uri(arg, scope)))
        } else {
            call.positional(0).or_else(|| call.named("host"))
        };
        let mut options = Vec::new();
        let mut whole = true;
        for arg in &call.args {
            if arg.spread {
                match self.values.document(&arg.value, scope) {
                    Some(_) => whole &= self.options_of(&arg.value, scope, &mut options),
                    None => whole = false,
                }
            } else if let Some(name) = arg.name {
                options.extend(self.values.option(name, &arg.value, arg.value.at, scope));
            }
        }
        Some(Made {
            driver: Driver::Python,
            uri: uri.map(|uri| (uri, scope)),
            options,
            whole,
            hosts: Vec::new(),
        })
    }

    fn made_in_script(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<Made<'u, 't>> {
        // `require('monk')('…')` has no name of its own.
        let method = call.method().unwrap_or_default();
        let of = call.receiver().and_then(Expr::last_name);
        let is_from = |expr: &Expr<'t>, modules: &[&str]| {
            self.values.module_of(expr).is_some_and(|module| modules.contains(&module.as_str()))
        };
        let driver = match (of, method) {
            // `mongoskin.db('host/name')`, `monk('host/name')`, `mongojs('host/name')`.
            _ if is_from(&call.callee, &["monk", "mongojs"]) => Driver::Node,
            (_, "db") if call.receiver().is_some_and(|of| is_from(of, &["mongoskin"])) => {
                Driver::Node
            }
            (None, "MongoClient") | (Some("MongoClient"), "connect") => Driver::Node,
            (Some("mongodb" | "mongo"), "MongoClient") => Driver::Node,
            (Some("mongoose"), "connect" | "createConnection") => Driver::Mongoose,
            (None, "connect" | "createConnection")
                if self.values.unit.import(method).is_some_and(|i| i.module == "mongoose") =>
            {
                Driver::Mongoose
            }
            (Some("MongooseModule"), "forRoot") => Driver::Mongoose,
            (None, "monk") => Driver::Node,
            // Meteor connects by itself, with these.
            (Some("Mongo"), "setConnectionOptions") => {
                let mut options = Vec::new();
                let whole = self.options_of(call.positional(0)?, scope, &mut options);
                return Some(Made {
                    driver: Driver::Node,
                    uri: None,
                    options,
                    whole,
                    hosts: Vec::new(),
                });
            }
            _ => return None,
        };
        let uri = call.positional(0)?;
        let mut options = Vec::new();
        let whole = match call.positional(1) {
            Some(arg) if matches!(arg.kind, Kind::Function(_)) => true,
            Some(arg) => self.options_of(arg, scope, &mut options),
            None => true,
        };
        Some(Made { driver, uri: Some((uri, scope)), options, whole, hosts: Vec::new() })
    }

    fn made_in_go(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<Made<'u, 't>> {
        let method = call.method()?;
        let of = call.receiver().and_then(Expr::last_name)?;
        match (of, method) {
            ("mongo", "Connect" | "NewClient") => {}
            ("mgo", "Dial" | "DialWithTimeout") => {
                return Some(Made {
                    driver: Driver::Go,
                    uri: call.positional(0).map(|uri| (uri, scope)),
                    options: Vec::new(),
                    whole: true,
                    hosts: Vec::new(),
                });
            }
            _ => return None,
        }
        let mut chain = Chain::new(self.text);
        for arg in &call.args {
            let is_context = arg.value.last_name().is_some_and(|name| name.contains("tx"))
                || arg.value.call().and_then(|c| c.receiver()).and_then(Expr::last_name)
                    == Some("context");
            if !is_context {
                self.values.chain(&arg.value, scope, 0, &mut chain);
                chain.whole &= !arg.spread;
            }
        }
        Some(Made {
            driver: Driver::Go,
            uri: chain.uri,
            options: chain.options(),
            whole: chain.whole && !chain.hosts,
            hosts: chain.host_names,
        })
    }

    fn made_on_jvm(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<Made<'u, 't>> {
        let method = call.method()?;
        let of = call.receiver().and_then(Expr::last_name);
        let is_made = matches!(
            (of, method),
            (Some("MongoClients" | "MongoClient" | "ReactiveMongoClients"), "create")
                | (None, "MongoClient")
                | (Some("KMongo"), "createClient")
        );
        if !is_made {
            return None;
        }
        let mut chain = Chain::new(self.text);
        let mut uri = None;
        for arg in &call.args {
            let (value, at) = self.values.follow(&arg.value, scope);
            match value.call() {
                Some(inner)
                    if matches!(inner.method(), Some("MongoClientURI" | "ConnectionString")) =>
                {
                    uri = inner.positional(0).map(|uri| (uri, at));
                }
                Some(_) => self.values.chain(&arg.value, scope, 0, &mut chain),
                None if uri.is_none() && matches!(value.kind, Kind::Text(_) | Kind::Binary(..)) => {
                    uri = Some((&arg.value, scope));
                }
                None => chain.whole &= !matches!(value.kind, Kind::Name(_) | Kind::Member(..)),
            }
        }
        Some(Made {
            driver: Driver::Java,
            uri: uri.or(chain.uri),
            options: chain.options(),
            whole: chain.whole && !chain.hosts,
            hosts: chain.host_names,
        })
    }

    /// Options out of an object; whether all of it could be read.
    fn options_of(&self, expr: &'u Expr<'t>, scope: ScopeId, out: &mut Vec<CodeOption>) -> bool {
        self.options_at(expr, scope, 0, out)
    }

    fn options_at(
        &self,
        expr: &'u Expr<'t>,
        scope: ScopeId,
        steps: u32,
        out: &mut Vec<CodeOption>,
    ) -> bool {
        // `a = {...a}` holds itself.
        if steps > 8 {
            return false;
        }
        let (object, at) = self.values.follow(expr, scope);
        // `...(isRemote && {tls: true})`.
        if let Kind::Binary("&&", _, given) = &object.kind {
            return self.options_at(given, at, steps + 1, out);
        }
        let Kind::Object(entries) = &object.kind else { return false };
        let mut whole = true;
        for entry in entries {
            match entry.name() {
                Some(name) => out.extend(self.values.option(name, &entry.value, entry.at, at)),
                None => whole &= self.options_at(&entry.value, at, steps + 1, out),
            }
        }
        whole
    }

    fn is_uri(&self, expr: &'u Expr<'t>, scope: ScopeId) -> bool {
        let folded = self.values.fold(expr, scope);
        matches!(folded.fragments.first(), Some(Fragment::Text(text, _)) if text.starts_with("mongodb"))
    }

    /// Files a client.
    fn client(&mut self, at: usize, scope: ScopeId, made: Made<'u, 't>) {
        let folded = made.uri.map(|(uri, scope)| self.values.fold(uri, scope));
        // A host that another file names, among parts that are computed, is one of several.
        let is_made_up = folded.as_ref().is_some_and(|folded| {
            folded.whole().is_none()
                && folded.fragments.iter().any(|f| matches!(f, Fragment::Text(_, None)))
        });
        let mut site = ClientSite {
            location: self.location(at),
            is_whole: made.whole && !is_made_up,
            is_local_by_default: made
                .uri
                .is_some_and(|(uri, at)| self.values.is_local_default(uri, at)),
        };
        let appended = made.uri.map(|(uri, at)| self.appended(uri, at)).unwrap_or_default();
        let mut client = match &folded {
            Some(folded) => match self.parsed(folded, scope) {
                Some(client) => client,
                None if !appended.is_empty() => unknown(),
                None => return,
            },
            None => unknown(),
        };
        // What counts only on a machine without settings is a developer's: nothing is said about it.
        if folded.is_some_and(|folded| folded.fallback) {
            site.is_local_by_default |= client.hosts.iter().all(|host| is_local(host));
            client = unknown();
        }
        if !made.hosts.is_empty() {
            client.hosts = made.hosts;
        }
        client.site = Some(site);
        client.driver = Some(made.driver);
        appended.into_iter().for_each(|option| client.set(option));
        for option in made.options {
            let location = Some(self.location(option.at));
            let may_be_meant = option.is_overridable || self.is_explained(option.at);
            let is_asked_for = self.is_behind_a_test_of_checks(option.at);
            client.set(ClientOption {
                name: option.name,
                written: option.written,
                value: option.value,
                location,
                may_be_meant,
                is_asked_for,
            });
        }
        self.out.clients.push(client);
    }

    /// Whether a branch around a place asks for an option that switches checks of certificates off: whoever wrote the
    /// connection string chose it.
    fn is_behind_a_test_of_checks(&self, at: usize) -> bool {
        let unit = self.values.unit;
        unit.around(unit.scope_at(at)).any(|id| {
            let ScopeKind::Branch(Some(condition)) = &unit.scopes[id].kind else { return false };
            let asked = self.text.get(condition.at..condition.end).unwrap_or_default();
            let asked = asked.to_ascii_lowercase();
            ["allowinvalid", "tlsinsecure", "invalidhostname"].iter().any(|w| asked.contains(w))
        })
    }

    /// Whether a comment on the line, or on one of the few lines before it, says why connections are as they are.
    fn is_explained(&self, at: usize) -> bool {
        const NEAR: usize = 5;
        const REASONS: [&str; 13] = [
            "pool",
            "connections",
            "timeout",
            "time out",
            "fail fast",
            "quick",
            "slow",
            "idle",
            "limit",
            "default",
            "latency",
            "serverless",
            "sockets",
        ];
        let line = usize::try_from(self.places.at(at).line).unwrap_or(usize::MAX);
        let near = self.text.lines().take(line).skip(line.saturating_sub(NEAR + 1));
        near.filter_map(allow_comments::at_end).any(|said| {
            let said = said.to_ascii_lowercase();
            REASONS.iter().any(|reason| said.contains(reason))
        })
    }

    /// Options that are put behind a connection string on the way: `uri = uri + "?retryWrites=false"`.
    fn appended(&self, uri: &'u Expr<'t>, scope: ScopeId) -> Vec<ClientOption> {
        let Kind::Name(name) = &uri.kind else { return Vec::new() };
        let unit = self.values.unit;
        let owner = self.values.owner(scope);
        let mut found = Vec::new();
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, adds } = &statement.kind else { continue };
            if !matches!(&target.kind, Kind::Name(other) if other == name)
                || self.values.owner(statement.scope) != owner
            {
                continue;
            }
            let added = match &value.kind {
                Kind::Binary("+", left, right) if matches!(&left.kind, Kind::Name(other) if other == name) => {
                    &**right
                }
                _ if *adds => value,
                _ => continue,
            };
            let Kind::Text(parts) = &added.kind else { continue };
            let [Part::Text(text, at)] = parts.as_slice() else { continue };
            let Some(rest) = text.strip_prefix(['?', '&']) else { continue };
            let pieces =
                [Piece::Text("mongodb://"), Piece::Hole, Piece::Text("/?"), Piece::Text(rest)];
            let Ok(parsed) = docward_uri::parse_template(&pieces) else { continue };
            let place = |here: docward_uri::At| self.location(at + 1 + here.offset);
            found.extend(parsed.client_at(Purpose::Client, &place).options);
        }
        found
    }

    /// A connection string that was put together, as far as it is known. Passwords in it are secrets that
    /// do not belong there.
    pub(super) fn parsed(&mut self, folded: &Folded, scope: ScopeId) -> Option<ClientUri> {
        let first = folded.fragments.iter().find_map(|fragment| match fragment {
            Fragment::Text(_, at) => *at,
            Fragment::Hole => None,
        });
        let starts = matches!(
            folded.fragments.first(),
            Some(Fragment::Text(text, _)) if text.trim_start().starts_with("mongodb")
        );
        // A host alone, or all of a connection string but its scheme, which PyMongo, monk and mongoskin take.
        let is_bare = !starts && is_address_without_scheme(folded);
        if !starts && !is_bare {
            return folded.is_unknown().then(unknown);
        }
        let mut pieces = if is_bare { vec![Piece::Text(SCHEME)] } else { Vec::new() };
        let added = pieces.len();
        pieces.extend(folded.fragments.iter().map(|fragment| match fragment {
            Fragment::Text(text, _) => Piece::Text(text),
            Fragment::Hole => Piece::Hole,
        }));
        let parsed = match docward_uri::parse_template(&pieces) {
            Ok(parsed) => parsed,
            Err(_) => {
                if let Some(at) = first.filter(|_| is_bare) {
                    self.unreadable_without_scheme(folded, at, scope);
                }
                return None;
            }
        };
        let place = |at: docward_uri::At| -> Location {
            let fragment =
                at.piece.checked_sub(added).and_then(|piece| folded.fragments.get(piece));
            let offset = match fragment {
                Some(Fragment::Text(_, Some(start))) => Some(start + at.offset),
                _ => first,
            };
            self.location(offset.unwrap_or_default())
        };
        let client = parsed.client_at(Purpose::Client, &place);
        if super::secrets::is_form(&client) {
            return None;
        }
        if let Some(at) = first
            && self.seen_strings.insert(at)
        {
            let literal = self.replaceable(folded, at);
            let password = parsed.password.as_ref().map_or("", |p| p.value.reveal());
            let placeholder = super::secrets::placeholder(password, &client);
            let in_sample = self.is_sample && !super::secrets::is_in_use(password, &client);
            let shown = parsed.redacted();
            let shown = shown.strip_prefix(SCHEME).filter(|_| is_bare).unwrap_or(&shown).to_owned();
            let mark = super::secrets::mark(password);
            let fallback = folded.fallback;
            let found = Found { shown, mark, fallback, literal, placeholder, in_sample };
            self.secret(&client, found, at, scope);
        }
        Some(client)
    }

    /// A password with signs that should have been escaped, in a string without a scheme.
    fn unreadable_without_scheme(&mut self, folded: &Folded, at: usize, scope: ScopeId) {
        let whole = folded.whole().map(|text| format!("{SCHEME}{text}"));
        if let Some(shown) = whole.as_deref().and_then(super::secrets::unreadable)
            && self.seen_strings.insert(at)
        {
            let shown = shown.strip_prefix(SCHEME).unwrap_or(&shown).to_owned();
            let place = self.place(at, scope);
            let in_remark = self.is_remark(at);
            let secret = super::secrets::broken(place, shown, in_remark, self.is_sample);
            self.out.code.secrets.push(CodeSecret { fallback: folded.fallback, ..secret });
        }
    }

    /// Where a literal begins that is the whole connection string: then a variable can stand in its place.
    fn replaceable(&self, folded: &Folded, at: usize) -> Option<(Location, Lookup)> {
        let lookup = match self.values.unit.language {
            Language::Python => {
                Lookup { expression: "os.environ[\"MONGODB_URI\"]", needs: Some("import os") }
            }
            Language::JavaScript => Lookup { expression: "process.env.MONGODB_URI", needs: None },
            // Elsewhere a look into the environment has another type, needs an import among others, or may
            // not stand where a constant does.
            _ => return None,
        };
        let quote = at.checked_sub(1)?;
        let before = self.text.as_bytes().get(quote.checked_sub(1)?).copied();
        let is_plain = matches!(self.text.as_bytes().get(quote), Some(b'"' | b'\''))
            && !before.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'"' | b'\''));
        (folded.fragments.len() == 1 && !folded.fallback && is_plain)
            .then(|| (self.location(quote), lookup))
    }

    /// A password that stands in a connection string.
    fn secret(&mut self, client: &ClientUri, found: Found, at: usize, scope: ScopeId) {
        if !matches!(client.password, docward_model::Password::Given(_)) {
            return;
        }
        let secret = CodeSecret {
            place: self.place(at, scope),
            mark: found.mark,
            kind: SecretKind::ConnectionString,
            shown: found.shown,
            fallback: found.fallback,
            local: !client.srv && client.hosts.iter().all(|host| is_local(host)),
            in_remark: self.is_remark(at),
            in_sample: found.in_sample,
            in_prose: false,
            placeholder: found.placeholder,
            literal: found.literal,
        };
        self.out.code.secrets.push(secret);
    }

    /// `readPreference=ReadPreference.SECONDARY_PREFERRED`: PyMongo takes a word there, not an object.
    fn refused(&mut self, call: &'u Call<'t>) {
        if self.values.unit.language != Language::Python {
            return;
        }
        let Some(value) = call.named("readPreference") else { return };
        if let (Kind::Member(..), Some(mode)) = (&value.kind, mode(value)) {
            let place = self.place(value.at, 0);
            self.out.code.refused_calls.push(RefusedCall {
                place,
                what: "`readPreference` is given an object; PyMongo takes a word there and raises ValueError".to_owned(),
                instead: format!("readPreference=\"{mode}\", or read_preference with the object"),
                swap: (
                    self.text.get(value.at..value.end).unwrap_or_default().to_owned(),
                    format!("\"{mode}\""),
                ),
            });
        }
    }
}

const SCHEME: &str = "mongodb://";

/// Whether a text can be a connection string that lacks nothing but its scheme. Where parts are computed, only a
/// login tells it from other texts.
fn is_address_without_scheme(folded: &Folded) -> bool {
    let texts = || {
        folded.fragments.iter().filter_map(|fragment| match fragment {
            Fragment::Text(text, _) => Some(text.as_str()),
            Fragment::Hole => None,
        })
    };
    texts().any(|text| !text.is_empty())
        && texts().all(|text| !text.contains("://") && !text.contains(' '))
        && (folded.whole().is_some() || texts().any(|text| text.contains('@')))
}

/// A client of which only its options are known.
fn unknown() -> ClientUri {
    let mut client = docward_uri::parse_template(&[Piece::Text("mongodb://"), Piece::Hole])
        .map(|parsed| parsed.client(Purpose::Client))
        .unwrap_or_default();
    client.is_partial = true;
    client
}
