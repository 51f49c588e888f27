//! Clients: the places that create them, their connection strings and options, and how often they are created.

mod remade;

use docward_model::{
    ClientOption, ClientSite, ClientUri, Driver, Location, Purpose,
    code::{CodeSecret, Lookup, Placeholder, SecretKind},
};
use docward_uri::Piece;

use super::{
    Scan, allow_comments,
    ir::{Expr, Kind, Part, ScopeId, ScopeKind, StatementKind},
    options::CodeOption,
    secrets::is_local,
    values::{Folded, Fragment},
};

/// A call that creates a client.
pub(crate) struct Made<'u, 't> {
    pub(crate) driver: Driver,
    pub(crate) uri: Option<(&'u Expr<'t>, ScopeId)>,
    pub(crate) options: Vec<CodeOption>,
    /// Whether all options are known.
    pub(crate) whole: bool,
    /// Hosts that a builder names.
    pub(crate) hosts: Vec<String>,
    /// Whether the driver gives it the connections of an earlier client that was created in the same way.
    pub(crate) is_shared: bool,
}

/// The facts about a connection string with a password.
struct Found {
    /// The string with its password masked.
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
        let dialect = self.values.unit.language.dialect();
        let mut made = Vec::new();
        self.values.unit.each(|scope, expr| {
            if let Some(client) = (dialect.client)(self, expr, scope) {
                made.push((scope, expr, client));
            }
        });
        for (scope, expr, client) in made {
            if let Some(call) = expr.call() {
                self.out.code.refused_calls.extend((dialect.refused)(self, call));
            }
            if !client.is_shared && !client.uri.is_some_and(|(uri, at)| self.is_asked_for(uri, at))
            {
                self.remade(scope, expr);
            }
            self.client(expr.at, scope, client);
        }
        self.factories_of_others();
        self.opened_and_closed();
        self.serverless();
    }

    /// Returns the options in an object, and whether all of it could be read.
    pub(crate) fn options_of(
        &self,
        expr: &'u Expr<'t>,
        scope: ScopeId,
        out: &mut Vec<CodeOption>,
    ) -> bool {
        self.options_at(expr, scope, 0, out)
    }

    fn options_at(
        &self,
        expr: &'u Expr<'t>,
        scope: ScopeId,
        steps: u32,
        out: &mut Vec<CodeOption>,
    ) -> bool {
        // `a = {...a}` contains itself.
        if steps > 8 {
            return false;
        }
        let (object, at) = self.values.follow(expr, scope);
        // `...(isRemote && {tls: true})`.
        if let Kind::Binary("&&", _, given) = &object.kind {
            return self.options_at(given, at, steps + 1, out);
        }
        let Kind::Object(entries) = &object.kind else {
            // An empty array of PHP.
            return matches!(&object.kind, Kind::List(items) if items.is_empty());
        };
        let mut whole = true;
        for entry in entries {
            match entry.name() {
                Some(name) => out.extend(self.values.option(name, &entry.value, entry.at, at)),
                None => whole &= self.options_at(&entry.value, at, steps + 1, out),
            }
        }
        whole
    }

    pub(crate) fn is_uri(&self, expr: &'u Expr<'t>, scope: ScopeId) -> bool {
        let folded = self.values.fold(expr, scope);
        matches!(folded.fragments.first(), Some(Fragment::Text(text, _)) if text.starts_with("mongodb"))
    }

    /// Records a client.
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
        // A default that is used only without settings is for development, so no rule checks it.
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

    /// Whether an enclosing branch tests an option that turns off certificate checks. The author of the connection
    /// string then chose this.
    fn is_behind_a_test_of_checks(&self, at: usize) -> bool {
        let unit = self.values.unit;
        unit.around(unit.scope_at(at)).any(|id| {
            let ScopeKind::Branch(Some(condition)) = &unit.scopes[id].kind else { return false };
            let asked = self.text.get(condition.at..condition.end).unwrap_or_default();
            let asked = asked.to_ascii_lowercase();
            ["allowinvalid", "tlsinsecure", "invalidhostname"].iter().any(|w| asked.contains(w))
        })
    }

    /// Whether a comment on the line, or on one of the few lines before it, explains the settings of the connection.
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

    /// Options that code appends to a connection string: `uri = uri + "?retryWrites=false"`.
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

    /// Parses a connection string that is assembled from parts, as far as they are known. Passwords in it are
    /// hard-coded secrets.
    pub(super) fn parsed(&mut self, folded: &Folded, scope: ScopeId) -> Option<ClientUri> {
        let first = folded.fragments.iter().find_map(|fragment| match fragment {
            Fragment::Text(_, at) => *at,
            Fragment::Hole => None,
        });
        let starts = matches!(
            folded.fragments.first(),
            Some(Fragment::Text(text, _)) if text.trim_start().starts_with("mongodb")
        );
        // A host alone, or a connection string without its scheme, which PyMongo, monk and mongoskin accept.
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

    /// Reports a password with characters that must be escaped, in a string without a scheme.
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

    /// Returns the position of a literal that is the whole connection string, so that a variable can replace it.
    fn replaceable(&self, folded: &Folded, at: usize) -> Option<(Location, Lookup)> {
        let language = self.values.unit.language;
        let lookup = (language.dialect().lookup)(language)?;
        let quote = at.checked_sub(1)?;
        let before = self.text.as_bytes().get(quote.checked_sub(1)?).copied();
        let is_plain = matches!(self.text.as_bytes().get(quote), Some(b'"' | b'\''))
            && !before.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'"' | b'\''));
        (folded.fragments.len() == 1 && !folded.fallback && is_plain)
            .then(|| (self.location(quote), lookup))
    }

    /// Records a password in a connection string.
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
}

const SCHEME: &str = "mongodb://";

/// Whether a text can be a connection string that lacks only its scheme. If parts are computed, the text must contain
/// a login.
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

/// A client of which only the options are known.
fn unknown() -> ClientUri {
    let mut client = docward_uri::parse_template(&[Piece::Text("mongodb://"), Piece::Hole])
        .map(|parsed| parsed.client(Purpose::Client))
        .unwrap_or_default();
    client.is_partial = true;
    client
}
