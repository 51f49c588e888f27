//! Clients: where they are made, with which connection string and options, and how often.

use std::collections::BTreeSet;

use docward_model::{
    ClientOption, ClientSite, ClientUri, Driver, Location, Purpose,
    code::{CodeSecret, Lookup, RefusedCall, RemadeClient, SecretKind, Serverless},
};
use docward_uri::Piece;

use super::{
    Scan, handlers,
    ir::{Call, Expr, Kind, Part, ScopeId, ScopeKind, StatementKind, Unit},
    options::{Chain, CodeOption, mode},
    secrets::is_local,
    values::{Folded, Fragment},
};
use crate::scan::Language;

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
    fallback: bool,
    is_word: bool,
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
        near.filter_map(remark_of).any(|said| {
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
            let is_word = super::secrets::stands_for_one(password, &client);
            let in_sample = self.is_sample && !super::secrets::is_in_use(password, &client);
            let shown = parsed.redacted();
            let shown = shown.strip_prefix(SCHEME).filter(|_| is_bare).unwrap_or(&shown).to_owned();
            let found = Found { shown, fallback: folded.fallback, literal, is_word, in_sample };
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
            kind: SecretKind::ConnectionString,
            shown: found.shown,
            fallback: found.fallback,
            local: !client.srv && client.hosts.iter().all(|host| is_local(host)),
            in_remark: self.is_remark(at),
            in_sample: found.in_sample,
            in_prose: false,
            is_word: found.is_word,
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

    /// Whether a client is made again and again.
    fn remade(&mut self, scope: ScopeId, expr: &'u Expr<'t>) {
        let unit = self.values.unit;
        let Some((id, function)) = unit.function(scope) else {
            if let Some(within) = handlers::repeated(unit, scope, self.within, self.text)
                && self.is_the_same_each_time(expr, scope)
            {
                let place = self.place(expr.at, scope);
                self.out.code.remade_clients.push(RemadeClient { place, within, through: None });
            }
            return;
        };
        if handlers::is_made_once(function)
            || self.is_kept(id, expr.at)
            || self.is_made_on_demand(id, scope)
        {
            return;
        }
        let within = handlers::repeated(unit, scope, self.within, self.text)
            .filter(|within| within != "a loop" || self.is_the_same_each_time(expr, scope));
        if let Some(within) = within {
            let place = self.place(expr.at, scope);
            self.out.code.remade_clients.push(RemadeClient { place, within, through: None });
            return;
        }
        // A function that hands out a new client each time, or a class that makes one for itself: bad when a handler
        // calls it.
        let class = unit.class(unit.scopes[id].parent);
        let is_constructor = matches!(function.name, "__init__" | "constructor");
        let name = match class {
            None => function.name,
            Some((id, name)) if is_constructor && !self.is_shared_class(id) => name,
            Some(_) => return,
        };
        if name.is_empty() {
            return;
        }
        let outermost = class.map_or(id, |(id, _)| id);
        if unit.scopes[outermost].parent == 0 {
            self.out.factories.push(name.to_owned());
        }
        let passed_on = handlers::callers(unit, name)
            .into_iter()
            .filter_map(|(from, at)| self.hands_on(from, at))
            .collect::<Vec<_>>();
        if class.is_none() {
            let through = self.callers_of_factory(name);
            self.out.factories.extend(through.into_iter().map(str::to_owned));
        }
        for name in std::iter::once(name).chain(passed_on) {
            for (from, at) in handlers::callers(unit, name) {
                if let Some(within) = handlers::repeated(unit, from, self.within, self.text)
                    .filter(|within| within != "a loop")
                {
                    let place = self.place(at, from);
                    let through = Some(name.to_owned());
                    self.out.code.remade_clients.push(RemadeClient { place, within, through });
                    return;
                }
            }
        }
    }

    /// Functions of the file that return what they get from one that makes a client each time:
    /// `def rates(): return connect()["rates"]`.
    fn callers_of_factory(&self, name: &str) -> Vec<&'t str> {
        let unit = self.values.unit;
        let callers = handlers::callers(unit, name).into_iter().filter_map(|(from, at)| {
            let (id, function) = unit.function(from)?;
            let is_returned = unit.statements.iter().any(|statement| {
                matches!(&statement.kind, StatementKind::Return(value) if value.at <= at && at < value.end)
            });
            let is_own = unit.scopes[id].parent == 0 && !function.name.is_empty();
            (is_own && is_returned && !handlers::is_made_once(function) && !self.is_kept(id, at))
                .then_some(function.name)
        });
        callers.collect()
    }

    /// The function around a call that makes a client, when it hands that on and keeps it no longer than a request:
    /// `g.db = connect()` of Flask.
    fn hands_on(&self, scope: ScopeId, at: usize) -> Option<&'t str> {
        let unit = self.values.unit;
        let (id, function) = unit.function(scope)?;
        let keeps_in_request = unit.import("g").is_some_and(|import| import.module == "flask")
            && unit.statements.iter().any(|statement| {
                let StatementKind::Assign { target, value, .. } = &statement.kind else {
                    return false;
                };
                let holds = value.at <= at && at < value.end;
                holds && target.path().is_some_and(|path| path.starts_with("g."))
            });
        (unit.scopes[id].parent == 0
            && keeps_in_request
            && !function.name.is_empty()
            && !self.is_kept(id, at))
        .then_some(function.name)
    }

    /// Whether a client is made only for a caller that asks for one of its own, by a parameter that has a default; all
    /// others get the one there is: `client = MongoClient(…) if own else shared`, with branches.
    fn is_made_on_demand(&self, id: ScopeId, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let head = &self.text[unit.scopes[id].at..unit.scopes[id].end];
        let head = head.split(['\n', '{']).next().unwrap_or_default();
        let branch = unit.around(scope).take_while(|around| *around != id).find_map(|around| {
            match &unit.scopes[around].kind {
                ScopeKind::Branch(Some(condition)) => Some((around, condition)),
                _ => None,
            }
        });
        let Some((here, condition)) = branch else { return false };
        let Kind::Name(asked) = condition.kind else { return false };
        let has_default = [format!("{asked}="), format!("{asked} =")]
            .iter()
            .any(|default| head.contains(default.as_str()));
        let is_other = |at: ScopeId| {
            matches!(&unit.scopes[at].kind, ScopeKind::Branch(Some(other)) if other.at == condition.at)
                && at != here
        };
        has_default
            && unit.statements.iter().any(|statement| {
                is_other(statement.scope)
                    && matches!(&statement.kind, StatementKind::Assign { value, .. } | StatementKind::Return(value) if value.path().is_some())
            })
    }

    /// Whether a class hands out one object for all: then its constructor runs once.
    fn is_shared_class(&self, id: ScopeId) -> bool {
        let scope = &self.values.unit.scopes[id];
        let text = self.text.get(scope.at..scope.end).unwrap_or_default().to_ascii_lowercase();
        ["instance", "singleton", "__new__"].iter().any(|word| text.contains(word))
    }

    /// Whether a loop makes the same client again: nothing that is given to it changes.
    fn is_the_same_each_time(&self, expr: &'u Expr<'t>, scope: ScopeId) -> bool {
        let Some(call) = expr.call() else { return false };
        call.args.iter().all(|arg| {
            let folded = self.values.fold(&arg.value, scope);
            folded.fallback
                || folded.whole().is_some()
                || arg.value.path().is_some_and(|path| {
                    path.contains("env") || path.chars().all(|c| !c.is_ascii_lowercase())
                })
        })
    }

    /// Whether the connection string comes with the request: then each may lead elsewhere, and there is no
    /// client to reuse.
    fn is_asked_for(&self, uri: &'u Expr<'t>, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let mut names = Vec::new();
        uri.visit(&mut |expr| {
            if let Kind::Name(name) = expr.kind {
                names.push(name);
            }
        });
        let of_request = |expr: &Expr<'t>| {
            let mut found = false;
            expr.visit(&mut |inner| {
                found |= matches!(inner.kind, Kind::Name("req" | "request" | "event" | "body"));
            });
            found
        };
        of_request(uri)
            || unit.statements.iter().any(|statement| {
                let StatementKind::Assign { target, value, .. } = &statement.kind else {
                    return false;
                };
                let mut assigns = false;
                target.visit(&mut |inner| {
                    assigns |= matches!(inner.kind, Kind::Name(name) if names.contains(&name));
                });
                assigns
                    && self.values.owner(statement.scope) == self.values.owner(scope)
                    && of_request(value)
            })
    }

    /// A client that others share, connected and closed by a handler.
    fn opened_and_closed(&mut self) {
        let unit = self.values.unit;
        let mut opened = Vec::new();
        let mut closed = BTreeSet::new();
        unit.each(|scope, expr| {
            let Some(call) = expr.call().filter(|call| call.args.is_empty()) else { return };
            let Some(path) = call.receiver().and_then(Expr::path) else { return };
            let lower = path.to_ascii_lowercase();
            if !lower.contains("client") && !lower.contains("mongo") {
                return;
            }
            let function = unit.function(scope).map(|(id, _)| id);
            match call.method() {
                Some("connect") => opened.push((scope, expr.at, function, path)),
                Some("close") => {
                    closed.insert((function, path));
                }
                _ => {}
            }
        });
        for (scope, at, function, path) in opened {
            let is_made_here = function.is_some_and(|id| {
                let root = path.split('.').next().unwrap_or(&path);
                self.values.given(root, scope).iter().any(|(at, _)| unit.is_in(*at, id))
            });
            if !is_made_here
                && closed.contains(&(function, path))
                && let Some(within) = handlers::handler_around(unit, scope, self.within)
            {
                let place = self.place(at, scope);
                let within = format!("{within}, and closed again");
                self.out.code.remade_clients.push(RemadeClient { place, within, through: None });
            }
        }
    }

    /// Whether what is made at `at` in a function is kept for the next call: put where it outlives the
    /// function, behind a test or an early return.
    fn is_kept(&self, id: ScopeId, at: usize) -> bool {
        let unit = self.values.unit;
        let text = self.text.get(unit.scopes[id].at..unit.scopes[id].end).unwrap_or_default();
        if ["readyState", "isConnected", "sync.Once", ".Do(", "getInstance", "is_connected"]
            .iter()
            .any(|word| text.contains(word))
        {
            return true;
        }
        // A test around it, or one before it that leaves the function.
        let tested: Vec<String> = unit
            .scopes
            .iter()
            .enumerate()
            .filter(|(branch, _)| unit.is_in(*branch, id))
            .filter_map(|(_, scope)| match &scope.kind {
                ScopeKind::Branch(Some(condition)) if scope.at <= at => Some(condition),
                _ => None,
            })
            .flat_map(|condition| {
                let mut paths = Vec::new();
                condition.visit(&mut |expr| paths.extend(expr.path()));
                paths
            })
            .collect();
        if tested.is_empty() {
            return false;
        }
        unit.statements.iter().any(|statement| {
            let StatementKind::Assign { target, adds: false, .. } = &statement.kind else {
                return false;
            };
            // `clients[name] = …` is kept in `clients`.
            let (target, is_item) = match &target.kind {
                Kind::Index(of, _) => (&**of, true),
                _ => (target, false),
            };
            let outlives = |path: &str| match is_item {
                true => !self.values.given(path, id).iter().any(|(at, _)| unit.is_in(*at, id)),
                false => self.outlives(path, id, text),
            };
            unit.is_in(statement.scope, id)
                && target.path().is_some_and(|path| {
                    outlives(&path)
                        && tested.iter().any(|tested| {
                            *tested == path
                                || tested.starts_with(&format!("{path}."))
                                || path.starts_with(&format!("{tested}."))
                        })
                })
        })
    }

    /// Whether what is assigned to a name outlives the function: not the names of a function of Python, and
    /// not what Flask throws away after each request.
    fn outlives(&self, path: &str, id: ScopeId, function: &str) -> bool {
        let unit = self.values.unit;
        let root = path.split('.').next().unwrap_or(path);
        if unit.language != Language::Python {
            return !is_declared_in(unit, root, id, function);
        }
        if path.contains('.') {
            return !(matches!(root, "g" | "request")
                && unit.import(root).is_some_and(|import| import.module == "flask"));
        }
        function.lines().any(|line| {
            let line = line.trim_start();
            ["global ", "nonlocal "]
                .iter()
                .filter_map(|word| line.strip_prefix(word))
                .any(|names| names.split(',').any(|name| name.trim() == path))
        })
    }

    /// Calls of functions in other files that make a client each time.
    fn factories_of_others(&mut self) {
        if self.values.known.factories.is_empty() {
            return;
        }
        let unit = self.values.unit;
        let mut found = Vec::new();
        unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            let Some(path) = call.callee.path() else { return };
            let (first, rest) = path.split_once('.').unwrap_or((&path, ""));
            let Some(import) = unit.import(first) else { return };
            let name = if rest.is_empty() { import.name } else { rest };
            let key = (super::values::stem(&import.module), name.to_owned());
            if self.values.known.factories.contains(&key) {
                found.push((scope, expr.at, name.to_owned()));
            }
        });
        for (scope, at, name) in found {
            if let Some(within) = handlers::repeated(unit, scope, self.within, self.text)
                && within != "a loop"
                && !unit.function(scope).is_some_and(|(id, _)| self.is_kept(id, at))
            {
                let place = self.place(at, scope);
                let through = Some(name);
                self.out.code.remade_clients.push(RemadeClient { place, within, through });
            }
        }
    }

    fn serverless(&mut self) {
        let unit = self.values.unit;
        for (id, scope) in unit.scopes.iter().enumerate() {
            if let ScopeKind::Function(function) = &scope.kind
                && handlers::is_serverless(unit, function)
            {
                let place = self.place(scope.at, id);
                self.out.code.serverless.push(Serverless {
                    place,
                    platform: "a serverless function".to_owned(),
                    uses_mongodb: !self.out.clients.is_empty(),
                });
                return;
            }
        }
    }
}

/// The comment on a line, as most languages write one.
fn remark_of(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    if trimmed.starts_with(['*', '#']) || trimmed.starts_with("/*") {
        return Some(trimmed);
    }
    // `mongodb://` begins no comment.
    let at = line.match_indices("//").find(|(at, _)| !line[..*at].ends_with(':'));
    at.map(|(at, _)| &line[at..]).or_else(|| line.split_once(" # ").map(|(_, remark)| remark))
}

/// Whether a function declares a name of its own: what it assigns to it is gone with the call.
fn is_declared_in(unit: &Unit<'_>, name: &str, id: ScopeId, function: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    match unit.language {
        language if language.is_script() => {
            unit.block_names.iter().any(|(at, other)| *other == name && unit.is_in(*at, id))
        }
        // `client, err := …`, `var client *mongo.Client`.
        Language::Go => function.lines().any(|line| {
            let has = |text: &str| text.split(|c| !is_name(c)).any(|word| word == name);
            line.split_once(":=").is_some_and(|(left, _)| has(left))
                || line
                    .trim()
                    .strip_prefix("var ")
                    .is_some_and(|rest| rest.split(|c| !is_name(c)).next() == Some(name))
        }),
        // `MongoClient client = …`, `val client = …`.
        _ => function.lines().any(|line| {
            line.split_once('=').is_some_and(|(left, _)| {
                let mut words = left.split_whitespace().rev();
                words.next() == Some(name)
                    && words
                        .next()
                        .is_some_and(|class| class.ends_with(|c: char| is_name(c) || c == '>'))
            })
        }),
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
