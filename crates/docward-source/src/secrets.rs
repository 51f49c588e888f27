//! Connection strings anywhere in a file: in constants, in comments, in settings. Their passwords are secrets that do
//! not belong there.

use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use docward_model::{
    ClientSite, ClientUri, Location, Password, Purpose,
    code::{CodeSecret, Place, Placeholder, SecretKind},
    is_development_host,
};
use docward_uri::Piece;

use super::{
    Scan, Scanned,
    ir::{Expr, Function, Kind, ScopeId, ScopeKind},
    values::{Folded, Fragment},
};
use crate::place::Places;

const SCHEMES: [&str; 2] = ["mongodb://", "mongodb+srv://"];

impl<'u, 't> Scan<'u, 't> {
    /// Connection strings that no client of the file uses.
    pub(super) fn strings(&mut self) {
        let mut found = Vec::new();
        let mut within = Vec::new();
        let mut see = |scope: ScopeId, expr: &'u Expr<'t>| {
            let folded = match &expr.kind {
                Kind::Text(_) | Kind::Binary("+" | "||" | "??" | "?:" | "%", ..) => {
                    self.values.fold(expr, scope)
                }
                Kind::Call(call) if call.args.len() <= 12 => self.values.fold(expr, scope),
                // Names of entries are also texts.
                Kind::Object(entries) => {
                    let named = entries.iter().filter_map(|e| Some((e.name()?, e.at)));
                    found.extend(named.filter_map(|(name, at)| {
                        let fragments = vec![Fragment::Text(name.to_owned(), Some(at + 1))];
                        trimmed(Folded { fragments, fallback: false }).map(|f| (scope, f))
                    }));
                    return;
                }
                _ => return,
            };
            match trimmed(folded) {
                Some(string) => found.push((scope, string)),
                None if matches!(expr.kind, Kind::Text(_)) => within.push((expr.at, expr.end)),
                None => {}
            }
        };
        self.values.unit.each(&mut see);
        // Annotations and decorators.
        for (id, scope) in self.values.unit.scopes.iter().enumerate() {
            if let ScopeKind::Class { marks, .. } | ScopeKind::Function(Function { marks, .. }) =
                &scope.kind
            {
                for arg in marks.iter().flat_map(|mark| &mark.args) {
                    arg.value.visit(&mut |expr| see(id, expr));
                }
            }
        }
        for (scope, (at, folded)) in found {
            if self.seen_strings.contains(&at) {
                continue;
            }
            let fallback = folded.fallback;
            match self.parsed(&folded, scope) {
                Some(mut client) if !fallback && !self.is_oplog(at) => {
                    let location = self.location(at);
                    client.site =
                        Some(ClientSite { location, is_whole: false, is_local_by_default: false });
                    self.out.clients.push(client);
                }
                Some(_) => {}
                None => {
                    if let Some(shown) = folded.whole().and_then(|text| unreadable(&text)) {
                        let place = self.place(at, scope);
                        let in_sample = self.is_sample;
                        self.out.code.secrets.push(CodeSecret {
                            fallback,
                            ..broken(place, shown, false, in_sample)
                        });
                    }
                }
            }
            self.seen_strings.insert(at);
        }
        self.strings_within(within);
        for (from, to) in &self.values.unit.remarks {
            let text = self.text.get(*from..*to).unwrap_or_default();
            in_text(text, *from, self.file, &self.places, true, self.is_sample, self.out);
        }
        self.passwords();
    }

    /// Whether the argument or variable that receives a string is named after the oplog, which is in `local`.
    fn is_oplog(&self, at: usize) -> bool {
        let before = &self.text[tail_start(self.text, at)..at];
        let near: Vec<&str> = before.rsplit('\n').take(2).collect();
        near.iter().any(|line| line.to_ascii_lowercase().contains("oplog"))
    }

    /// Finds connection strings inside a text: `--uri=mongodb://…`, `${URI:mongodb://…}`. Placeholder passwords in
    /// messages and help do not count.
    fn strings_within(&mut self, texts: Vec<(usize, usize)>) {
        for (from, to) in texts {
            let text = self.text.get(from..to).unwrap_or_default();
            if !has_scheme(text) || self.seen_strings.range(from..to).next().is_some() {
                continue;
            }
            let mut found = Scanned::default();
            in_text(text, from, self.file, &self.places, false, self.is_sample, &mut found);
            self.seen_strings.insert(from);
            let secrets =
                found.code.secrets.into_iter().filter(|secret| secret.placeholder.is_none());
            for secret in secrets {
                // A default in a placeholder: `${URI:…}`.
                let in_prose = is_prose(text, 0);
                let fallback = text.contains("${") && !in_prose;
                self.out.code.secrets.push(CodeSecret { fallback, in_prose, ..secret });
            }
        }
    }
}

/// A string without surrounding blanks (multi-line blocks have them) whose scheme is in lower case, and its start;
/// `None` if it is not a connection string.
fn trimmed(mut folded: Folded) -> Option<(usize, Folded)> {
    let only = folded.fragments.len() == 1;
    if let Some(Fragment::Text(last, _)) = folded.fragments.last_mut() {
        last.truncate(last.trim_end().len());
    }
    let Some(Fragment::Text(text, Some(at))) = folded.fragments.first_mut() else { return None };
    let blanks = text.len() - text.trim_start().len();
    text.drain(..blanks);
    *at += blanks;
    let scheme = SCHEMES.into_iter().find(|scheme| starts_with_ignoring_case(text, scheme))?;
    text.replace_range(..scheme.len(), scheme);
    // A test for the scheme is not a connection string.
    let at = *at;
    let is_test = only && text == scheme;
    (!is_test).then_some((at, folded))
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

fn has_scheme(text: &str) -> bool {
    schemes(text).next().is_some()
}

/// Returns the positions of connection strings and the lengths of their schemes as written. Schemes may be in any case,
/// and escaped as in properties (`mongodb\://`) and JSON (`mongodb:\/\/`).
fn schemes(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    memchr::memmem::find_iter(text.as_bytes(), b"//")
        .filter_map(|slashes| before(text, slashes))
        .chain(
            memchr::memmem::find_iter(text.as_bytes(), br"\/\/")
                .filter_map(|slashes| before(text, slashes)),
        )
}

/// The scheme that ends before two slashes.
fn before(text: &str, slashes: usize) -> Option<(usize, usize)> {
    let slashes_len = if text.as_bytes()[slashes] == b'\\' { 4 } else { 2 };
    let head = text[..slashes].strip_suffix(':')?;
    let head = head.strip_suffix('\\').unwrap_or(head);
    ["mongodb", "mongodb+srv"].into_iter().find_map(|word| {
        let start = head.len().checked_sub(word.len())?;
        let is_word = head.get(start..)?.eq_ignore_ascii_case(word);
        is_word.then(|| (start, slashes + slashes_len - start))
    })
}

/// Whether a password consists of words that people write as placeholders: `changeme`, `your_db_password`.
pub(super) fn is_word(password: &str) -> bool {
    const WORDS: [&str; 30] = [
        "password",
        "passwd",
        "pass",
        "pwd",
        "secret",
        "example",
        "changeme",
        "change",
        "me",
        "mypassword",
        "yourpassword",
        "password123",
        "test",
        "user",
        "root",
        "admin",
        "mongo",
        "mongodb",
        "a",
        "an",
        "the",
        "my",
        "your",
        "our",
        "some",
        "db",
        "database",
        "strong",
        "secure",
        "here",
    ];
    let lower = password.to_ascii_lowercase();
    // `your_production_password`: readers replace it with their own.
    let is_yours = lower.starts_with("your") && lower.ends_with("password");
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    is_yours || words.all(|word| WORDS.contains(&word))
}

/// Returns which part of a connection string is a placeholder. A password that equals the user name (`admin:admin`) is
/// not a placeholder if the host is a real cluster.
pub(super) fn placeholder(password: &str, client: &ClientUri) -> Option<Placeholder> {
    let is_own_name = client.user.as_deref() == Some(password)
        && matches!(password, "admin" | "root" | "test" | "mongo" | "mongodb");
    let is_word = is_word(password) && !(is_own_name && is_cluster_of_somebody(client));
    if is_word {
        return Some(Placeholder::Password);
    }
    client.hosts.first().filter(|_| is_nobodys(client)).cloned().map(Placeholder::Host)
}

/// Whether a string leads to no real server: a name that is reserved for examples (`db.example.com`), or one that Atlas
/// does not assign (`cluster0.mongodb.net`, without the identifier in between).
fn is_nobodys(client: &ClientUri) -> bool {
    let is_made_up = |host: &String| {
        let name = host.split(':').next().unwrap_or(host).to_ascii_lowercase();
        let mut labels = name.rsplit('.');
        let (last, before) = (labels.next().unwrap_or_default(), labels.next());
        let is_reserved = is_filled_in(host)
            || matches!(last, "example" | "invalid")
            || (before == Some("example") && matches!(last, "com" | "org" | "net"));
        let is_general = client.srv
            && labels.next().is_none()
            && before.is_some_and(|label| {
                matches!(label.trim_end_matches(|c: char| c.is_ascii_digit()), "cluster" | "host")
            });
        // Older clusters have their identifier after a dash: `cluster0-k3x9q.mongodb.net`.
        let is_of_atlas = name.strip_suffix(".mongodb.net").is_some_and(|name| {
            let own = name.rsplit_once('-').map_or("", |(_, own)| own);
            let is_own = own.len() == 5 && own.bytes().all(|b| b.is_ascii_alphanumeric());
            !name.contains('.') && !is_own
        });
        is_reserved || is_general || is_of_atlas
    };
    !client.hosts.is_empty() && client.hosts.iter().all(is_made_up)
}

/// Whether a host is a placeholder: `HOST`, `DB_HOST`.
fn is_filled_in(host: &str) -> bool {
    let name = host.split(':').next().unwrap_or(host);
    name.len() > 2
        && name.bytes().any(|b| b.is_ascii_uppercase())
        && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
}

/// Returns a digest that distinguishes a secret from others without showing it.
pub(super) fn mark(secret: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    secret.hash(&mut hasher);
    hasher.finish()
}

/// Whether a password in an example is in use: it looks random, and leads to a real cluster.
pub(super) fn is_in_use(password: &str, client: &ClientUri) -> bool {
    let lower = password.to_ascii_lowercase();
    let has = |what: fn(&char) -> bool| password.chars().any(|c| what(&c));
    let is_made_by_chance = password.len() >= 12
        && has(char::is_ascii_digit)
        && has(char::is_ascii_uppercase)
        && has(char::is_ascii_lowercase)
        && !["pass", "secret", "your", "change", "example", "xxx", "1234", "abcd"]
            .iter()
            .any(|word| lower.contains(word));
    is_made_by_chance && is_cluster_of_somebody(client)
}

/// Whether a string leads to a real cluster of Atlas: `cluster0.k3x9q.mongodb.net`, and not to a name from examples.
fn is_cluster_of_somebody(client: &ClientUri) -> bool {
    const EXAMPLES: [&str; 10] =
        ["xxxxx", "xxxx", "xxx", "abcde", "abcd", "abc", "abc123", "abc12", "example", "mongodb"];
    let [host] = &client.hosts[..] else { return false };
    let Some(name) = host.strip_suffix(".mongodb.net").filter(|_| client.srv) else { return false };
    let Some((cluster, id)) = name.rsplit_once('.') else { return false };
    let is_id = (5..=8).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric());
    is_id && !EXAMPLES.contains(&id) && !cluster.contains(docward_uri::HOLE)
}

/// Whether a string only shows the syntax: `mongodb://(user):(password)@(host)/(database)`.
pub(super) fn is_form(client: &ClientUri) -> bool {
    let is_filled_in = |text: &str| text.starts_with('(') && text.ends_with(')');
    client.hosts.iter().any(|host| is_filled_in(host))
}

/// Whether a text is an address and not a name: `user:…@host`, `host:27017/shop`, `host/shop?w=1`, `mongodb://…`.
/// Such a text may contain a password.
pub(super) fn is_address(text: &str) -> bool {
    let has_port = text.match_indices(':').any(|(at, _)| {
        let digits = text[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let is_host = || text[..at].contains('.') || text[..at].ends_with("localhost");
        match text.as_bytes().get(at + 1 + digits) {
            Some(b'/' | b',') => digits > 0,
            None => digits > 1 && is_host(),
            Some(_) => false,
        }
    });
    has_port
        || text.contains("://")
        || text.contains('@')
        || (text.contains('/') && text.contains('?'))
}

/// Whether a text is a password rather than a placeholder.
pub(super) fn is_secret(text: &str) -> bool {
    let probe = format!("mongodb://u:{}@h", text.replace(['@', '/', ':', '?', '#', '%'], "_"));
    // Text of four words or more describes a password and is not one.
    let is_sentence = text.split_whitespace().nth(3).is_some();
    !text.is_empty()
        && !is_sentence
        && docward_uri::parse(&probe).is_ok_and(|parsed| {
            matches!(parsed.client(Purpose::Client).password, Password::Given(_))
        })
}

/// Finds connection strings in a text that is not parsed: settings, comments, other languages.
pub(super) fn in_text(
    text: &str,
    offset: usize,
    file: &str,
    places: &Places<'_>,
    in_remark: bool,
    in_sample: bool,
    out: &mut Scanned,
) {
    for (at, scheme) in schemes(text) {
        let rest = shortened(&text[at..], MAX_STRING);
        // A string ends where the next one begins.
        let next = rest[scheme..].find("mongodb://").map(|n| n + scheme);
        let rest = &rest[..next.unwrap_or(rest.len())];
        let written = rest.get(..scheme).unwrap_or_default();
        // Escapes of the format of the file.
        let is_escaped = written.contains('\\');
        let is_capital = written.contains(|c: char| c.is_ascii_uppercase());
        let plain = if is_escaped || is_capital {
            Cow::Owned(unescaped(rest, scheme))
        } else {
            Cow::Borrowed(rest)
        };
        let end = end_of_string(&plain);
        let string = plain[..end].trim_end_matches(['.', ',', ';', ')']);
        if SCHEMES.iter().any(|scheme| string.len() <= scheme.len() && scheme.starts_with(string)) {
            continue;
        }
        let line_start = tail_start(text, at);
        let line_start =
            text[line_start..at].rfind('\n').map_or(line_start, |n| line_start + n + 1);
        let before = text[line_start..at].trim_start();
        let commented = in_remark
            || before.starts_with("* ")
            || before.starts_with("<!--")
            || begins_remark(before);
        let line = text[line_start..].split('\n').next().unwrap_or_default();
        let in_prose = is_prose(line, at - line_start);
        let location = |at: usize| {
            let place = places.at(at);
            Location { file: file.to_owned(), line: place.line, column: place.column }
        };
        let cut = pieces(string);
        let Ok(parsed) = docward_uri::parse_template(&cut) else {
            if let Some(shown) = unreadable(string) {
                let place = Place { location: location(offset + at), function: None };
                let secret = broken(place, shown, commented, in_sample);
                out.code.secrets.push(CodeSecret { in_prose, ..secret });
            }
            continue;
        };
        let starts: Vec<usize> = cut
            .iter()
            .scan(0, |from, piece| {
                let start = *from;
                *from += match piece {
                    Piece::Text(text) => text.len(),
                    Piece::Hole => 0,
                };
                Some(start)
            })
            .collect();
        let mut client = parsed.client_at(Purpose::Client, &|here| {
            let within = starts.get(here.piece).copied().unwrap_or(0) + here.offset;
            let within = if is_escaped { 0 } else { within };
            location(offset + at + within.min(string.len()))
        });
        if is_form(&client) {
            continue;
        }
        let password = parsed.password.as_ref().map_or("", |p| p.value.reveal());
        let placeholder = placeholder(password, &client);
        let in_sample_only = in_sample && !is_in_use(password, &client);
        if matches!(client.password, Password::Given(_)) {
            out.code.secrets.push(CodeSecret {
                place: Place { location: location(offset + at), function: None },
                kind: SecretKind::ConnectionString,
                mark: mark(password),
                shown: parsed.redacted(),
                fallback: false,
                local: !client.srv && client.hosts.iter().all(|host| is_local(host)),
                in_remark: commented,
                in_sample: in_sample_only,
                in_prose,
                literal: None,
                placeholder,
            });
        }
        // Code that follows the oplog reads `local` on purpose. A path with two parts is a private format.
        let is_own = before.to_ascii_lowercase().contains("oplog")
            || parsed.database.as_ref().is_some_and(|name| name.value.contains('/'));
        // Drivers reject the scheme in capitals.
        if !commented && !in_prose && !in_sample && !is_own && !is_capital {
            client.site = Some(ClientSite {
                location: location(offset + at),
                is_whole: false,
                is_local_by_default: false,
            });
            if is_for_tool(&text[tail_start(text, at)..at]) {
                super::without_pool(&mut client);
            }
            out.clients.push(client);
        }
    }
}

/// Whether a comment begins in this part of a line: `#` or `//` at its start or after a space, outside of quotes.
fn begins_remark(before: &str) -> bool {
    let mut quote = None;
    let mut last = ' ';
    for (at, c) in before.char_indices() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            // An apostrophe within a word does not open a string.
            ('"' | '\'' | '`', None) if !last.is_alphanumeric() => quote = Some(c),
            ('#', None) if last.is_whitespace() => return true,
            ('/', None) if last.is_whitespace() && before[at..].starts_with("//") => return true,
            _ => {}
        }
        last = c;
    }
    false
}

/// Whether a text is prose for people or for a language model, so that a connection string in it is an example. Prose
/// has words before and after the string, as in messages, prompts and tutorials. `near` is the start of the string.
fn is_prose(text: &str, near: usize) -> bool {
    /// Commands and calls have fewer words.
    const WORDS: usize = 6;
    let from = tail_start(text, near);
    let text = shortened(&text[from..], 1000);
    let is_word = |word: &&str| {
        let bare = word.trim_end_matches(['.', ',', '?', '!', ':', ';']);
        bare.len() > 1 && bare.chars().all(|c| c.is_alphabetic() || c == '\'')
    };
    text.split_whitespace().filter(is_word).count() >= WORDS
}

/// Whether the text before a connection string is the command of a tool: `mongosh "…"`, `mongodump --uri=…`. A tool
/// has one connection, or the number in its options.
fn is_for_tool(before: &str) -> bool {
    const TOOLS: [&str; 10] = [
        "mongosh",
        "mongo",
        "mongodump",
        "mongorestore",
        "mongoexport",
        "mongoimport",
        "mongostat",
        "mongotop",
        "mongofiles",
        "mongosync",
    ];
    // A backslash at the end of a line continues a command.
    let mut lines: Vec<&str> = Vec::new();
    for line in before.rsplit('\n') {
        if !lines.is_empty() && !line.trim_end().ends_with('\\') {
            break;
        }
        lines.push(line);
    }
    let last = lines.into_iter().rev().collect::<Vec<_>>().join(" ");
    let last = last.rsplit([';', '|', '&']).next().unwrap_or_default();
    last.split([' ', '\t', '"', '\'', '(', '`', '[', ',', '\\'])
        .any(|word| TOOLS.contains(&word.rsplit('/').next().unwrap_or(word)))
}

/// Returns the string without its password if the password has characters that must be escaped. Placeholders and
/// syntax descriptions (`[user:password@]host`) do not count.
pub(super) fn unreadable(string: &str) -> Option<String> {
    let is_whole = pieces(string).iter().all(|piece| matches!(piece, Piece::Text(_)));
    let login = docward_uri::user_part(string)?;
    let (user, password) = login.split_once(':')?;
    let host = string.split_once(login).and_then(|(_, rest)| rest.strip_prefix('@'));
    let host = host.and_then(|rest| rest.split(['/', '?', ',']).next()).unwrap_or_default();
    let is_form = user.starts_with(['[', '('])
        || is_word(password)
        || password.contains(['[', ']'])
        || is_filled_in(host);
    (is_whole && !password.is_empty() && !is_form).then(|| docward_uri::redact(string))
}

pub(super) fn broken(place: Place, shown: String, in_remark: bool, in_sample: bool) -> CodeSecret {
    CodeSecret {
        place,
        kind: SecretKind::ConnectionString,
        mark: 0,
        shown,
        fallback: false,
        local: false,
        in_remark,
        in_sample,
        in_prose: false,
        placeholder: None,
        literal: None,
    }
}

/// Normalises a connection string: removes escapes, and converts the scheme to lower case.
fn unescaped(text: &str, scheme: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let (head, rest) = text.split_at(scheme);
    out.extend(head.chars().filter(|c| *c != '\\').map(|c| c.to_ascii_lowercase()));
    let mut characters = rest.chars().peekable();
    while let Some(c) = characters.next() {
        let is_escape = c == '\\'
            && characters.peek().is_some_and(|next| matches!(next, ':' | '/' | '=' | '#' | '!'));
        if !is_escape {
            out.push(c);
        }
    }
    out
}

/// Longer texts are not connection strings.
const MAX_STRING: usize = 4096;

/// The first bytes of a text, without splitting a character.
pub(super) fn shortened(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the position from which to search the beginning of a line. The distance is limited, because lines may be
/// endless.
pub(super) fn tail_start(text: &str, at: usize) -> usize {
    let mut start = at.saturating_sub(200);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    start
}

/// Returns the end of a connection string without a closing quote.
fn end_of_string(text: &str) -> usize {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '(' => depth += 1,
            '}' | ')' if depth > 0 => depth -= 1,
            '}' | ')' => return at,
            // A placeholder may contain quotes: `${USER:-"shop"}`, `{.ports[?(.name=="mongo")].port}`.
            '"' | '\'' if depth > 0 && closes(&text[at..]) => {}
            '"' | '\'' | '`' | '\\' | '|' | '^' => return at,
            c if c.is_whitespace() && depth == 0 => return at,
            '\n' => return at,
            '<' if text[at..].find('>').is_none_or(|end| end > 40) => return at,
            _ => {}
        }
    }
    text.len()
}

/// Whether a brace is closed further on in the line, with none that opens before it.
fn closes(text: &str) -> bool {
    let line = text.split('\n').next().unwrap_or(text);
    line.find(['{', '}']).is_some_and(|at| line[at..].starts_with('}'))
}

/// Splits a text at its placeholders: `${USER}`, `{{ user }}`, `<password>`, `$PASSWORD`, `%s`.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at < bytes.len() {
        let hole = match bytes[at] {
            b'$' if matches!(bytes.get(at + 1), Some(b'{')) => close(text, at, "}"),
            b'$' if matches!(bytes.get(at + 1), Some(b'(')) => close(text, at, ")"),
            b'$' => {
                let name = text[at + 1..]
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(text.len() - at - 1);
                (name > 0 && bytes[at + 1].is_ascii_alphabetic()).then_some(at + 1 + name)
            }
            b'#' if matches!(bytes.get(at + 1), Some(b'{')) => close(text, at, "}"),
            b'{' if matches!(bytes.get(at + 1), Some(b'{')) => close(text, at, "}}"),
            b'{' => close(text, at, "}"),
            b'<' => close(text, at, ">"),
            b'%' if matches!(bytes.get(at + 1), Some(b's' | b'v')) => Some(at + 2),
            _ => None,
        };
        match hole {
            Some(end) => {
                if at > from {
                    out.push(Piece::Text(&text[from..at]));
                }
                out.push(Piece::Hole);
                (from, at) = (end, end);
            }
            None => at += 1,
        }
    }
    if from < text.len() {
        out.push(Piece::Text(&text[from..]));
    }
    out
}

fn close(text: &str, at: usize, end: &str) -> Option<usize> {
    text[at..].find(end).map(|n| at + n + end.len())
}

/// Whether a host is this machine, or a container of the same application.
pub(super) fn is_local(host: &str) -> bool {
    host.rsplit_once(':').map_or(host, |(name, _)| name).is_empty() || is_development_host(host)
}
