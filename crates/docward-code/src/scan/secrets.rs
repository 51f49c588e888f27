//! Connection strings that stand anywhere: in constants, in comments, in settings. Their passwords are
//! secrets in the wrong place.

use docward_model::{
    ClientSite, Location, Password, Purpose,
    code::{CodeSecret, Place, SecretKind},
};
use docward_uri::Piece;

use super::{Scan, Scanned, ir::Kind, values::Fragment};
use crate::place::Places;

const SCHEMES: [&str; 2] = ["mongodb://", "mongodb+srv://"];

impl<'u, 't> Scan<'u, 't> {
    /// Connection strings that no client of the file uses.
    pub(super) fn strings(&mut self) {
        let mut found = Vec::new();
        self.values.unit.each(|scope, expr| {
            let may_be_text = match &expr.kind {
                Kind::Text(_) | Kind::Binary("+" | "||" | "??" | "?:" | "%", ..) => true,
                Kind::Call(call) => call.args.len() <= 3,
                _ => false,
            };
            if !may_be_text {
                return;
            }
            let folded = self.values.fold(expr, scope);
            if let Some(Fragment::Text(text, Some(at))) = folded.fragments.first()
                && SCHEMES.iter().any(|scheme| text.starts_with(scheme))
                // A test for the scheme is no connection string.
                && (folded.fragments.len() > 1 || !SCHEMES.contains(&text.as_str()))
            {
                found.push((scope, *at, folded));
            }
        });
        for (scope, at, folded) in found {
            if self.seen_strings.contains(&at) {
                continue;
            }
            let fallback = folded.fallback;
            if let Some(mut client) = self.parsed(&folded, scope)
                && !fallback
            {
                let location = self.location(at);
                client.site = Some(ClientSite { location, is_whole: false });
                self.out.clients.push(client);
            }
            self.seen_strings.insert(at);
        }
        for (from, to) in &self.values.unit.remarks {
            let text = self.text.get(*from..*to).unwrap_or_default();
            in_text(text, *from, self.file, &self.places, true, self.is_sample, self.out);
        }
        self.passwords();
    }

    /// `password="…"` beside the connection string.
    fn passwords(&mut self) {
        let mut found = Vec::new();
        self.values.unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            let is_client = matches!(
                call.method(),
                Some(
                    "MongoClient"
                        | "AsyncIOMotorClient"
                        | "AsyncMongoClient"
                        | "createCredential"
                        | "connect"
                )
            );
            if !is_client {
                return;
            }
            let of_mongo =
                call.method() != Some("connect") || self.values.unit.imports_from("mongoengine");
            if let Some(value) = call.named("password").filter(|_| of_mongo)
                && value.text().is_some_and(|text| is_secret(&text))
            {
                let local = call
                    .named("host")
                    .or(call.positional(0))
                    .and_then(|host| self.values.text(host, scope))
                    .is_some_and(|host| is_local(&host));
                let text = value.text().unwrap_or_default().into_owned();
                found.push((scope, value.at, local, text));
            }
        });
        for (scope, at, local, text) in found {
            let place = self.place(at, scope);
            self.out.code.secrets.push(CodeSecret {
                place,
                kind: SecretKind::Password,
                shown: "password=*****".to_owned(),
                fallback: false,
                local,
                in_remark: false,
                in_sample: self.is_sample,
                literal: None,
                is_word: is_word(&text),
            });
        }
    }
}

/// Whether a password is one of the words that people write where one is to be filled in.
pub(super) fn is_word(password: &str) -> bool {
    const WORDS: [&str; 22] = [
        "password",
        "passwd",
        "pass",
        "pwd",
        "secret",
        "example",
        "changeme",
        "change_me",
        "change-me",
        "yourpassword",
        "your_password",
        "your-password",
        "mypassword",
        "my_password",
        "test",
        "user",
        "root",
        "admin",
        "mongo",
        "mongodb",
        "example_password",
        "password123",
    ];
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(password))
}

/// Whether a text is a password rather than something that is filled in.
fn is_secret(text: &str) -> bool {
    let probe = format!("mongodb://u:{}@h", text.replace(['@', '/', ':', '?', '#', '%'], "_"));
    !text.is_empty()
        && docward_uri::parse(&probe).is_ok_and(|parsed| {
            matches!(parsed.client(Purpose::Client).password, Password::Given(_))
        })
}

/// Connection strings in a text that is not parsed: settings, comments, other languages.
pub(super) fn in_text(
    text: &str,
    offset: usize,
    file: &str,
    places: &Places<'_>,
    in_remark: bool,
    in_sample: bool,
    out: &mut Scanned,
) {
    for scheme in SCHEMES {
        for (at, _) in text.match_indices(scheme) {
            let rest = shortened(&text[at..], MAX_STRING);
            // One string ends where the next begins, whatever is in between.
            let next = rest[scheme.len()..].find("mongodb://").map(|n| n + scheme.len());
            let rest = &rest[..next.unwrap_or(rest.len())];
            let end = end_of_string(rest);
            let string = rest[..end].trim_end_matches(['.', ',', ';', ')']);
            if string.len() <= scheme.len() {
                continue;
            }
            let line_start = tail_start(text, at);
            let line_start =
                text[line_start..at].rfind('\n').map_or(line_start, |n| line_start + n + 1);
            let before = text[line_start..at].trim_start();
            let commented = in_remark
                || before.starts_with('#')
                || before.starts_with("//")
                || before.starts_with("* ")
                || before.starts_with("<!--");
            let location = |at: usize| {
                let place = places.at(at);
                Location { file: file.to_owned(), line: place.line, column: place.column }
            };
            let cut = pieces(string);
            let Ok(parsed) = docward_uri::parse_template(&cut) else {
                // A password with signs that should have been escaped is a password all the same.
                let is_login = docward_uri::user_part(string).is_some_and(|login| {
                    login.split_once(':').is_some_and(|(_, password)| !password.is_empty())
                });
                if is_login && cut.iter().all(|piece| matches!(piece, Piece::Text(_))) {
                    out.code.secrets.push(CodeSecret {
                        place: Place { location: location(offset + at), function: None },
                        kind: SecretKind::ConnectionString,
                        shown: docward_uri::redact(string),
                        fallback: false,
                        local: false,
                        in_remark: commented,
                        in_sample,
                        is_word: false,
                        literal: None,
                    });
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
                location(offset + at + within.min(string.len()))
            });
            if matches!(client.password, Password::Given(_)) {
                out.code.secrets.push(CodeSecret {
                    place: Place { location: location(offset + at), function: None },
                    kind: SecretKind::ConnectionString,
                    shown: parsed.redacted(),
                    fallback: false,
                    local: !client.srv && client.hosts.iter().all(|host| is_local(host)),
                    in_remark: commented,
                    in_sample,
                    literal: None,
                    is_word: is_word(parsed.password.as_ref().map_or("", |p| p.value.reveal())),
                });
            }
            // Tails of the oplog read `local` on purpose; a path with two parts is somebody's own form.
            let is_own = before.to_ascii_lowercase().contains("oplog")
                || parsed.database.as_ref().is_some_and(|name| name.value.contains('/'));
            if !commented && !in_sample && !is_own {
                client.site = Some(ClientSite { location: location(offset + at), is_whole: false });
                out.clients.push(client);
            }
        }
    }
}

/// Longer texts are no connection strings.
const MAX_STRING: usize = 4096;

/// The first bytes of a text, whole characters.
fn shortened(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Where to look for the beginning of a line: not far, lines may be endless.
fn tail_start(text: &str, at: usize) -> usize {
    let mut start = at.saturating_sub(200);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    start
}

/// Where a connection string ends that nobody closes.
fn end_of_string(text: &str) -> usize {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '(' => depth += 1,
            '}' | ')' if depth > 0 => depth -= 1,
            '}' | ')' => return at,
            '"' | '\'' | '`' | '\\' | '|' | '^' => return at,
            c if c.is_whitespace() && depth == 0 => return at,
            '\n' => return at,
            '<' if text[at..].find('>').is_none_or(|end| end > 40) => return at,
            _ => {}
        }
    }
    text.len()
}

/// A text cut where something is filled in: `${USER}`, `{{ user }}`, `<password>`, `$PASSWORD`, `%s`.
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

/// Settings: lines whose key is about a password of MongoDB.
pub(super) fn passwords_in_settings(
    text: &str,
    file: &str,
    places: &Places<'_>,
    in_sample: bool,
    out: &mut Scanned,
) {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let trimmed = line.trim();
        // Templates of Helm compute; what they are filled with stands elsewhere.
        if trimmed.starts_with(['#', '/', ';', '<']) || trimmed.contains("{{") {
            continue;
        }
        let Some((key, value)) = trimmed.split_once(['=', ':']) else { continue };
        let key = key.trim().trim_matches(['"', '\'', '-', ' ']).to_ascii_lowercase();
        let about_mongo = key.contains("mongo");
        let about_password = key.ends_with("password")
            || key.ends_with("passwd")
            || key.ends_with("_pwd")
            || key.ends_with(".pwd");
        let value = value.trim().trim_end_matches(',').trim_matches(['"', '\'']);
        if !about_mongo || !about_password || !is_secret(value) || value.contains(['$', '{', '(']) {
            continue;
        }
        let at = start + line.len() - line.trim_start().len();
        let place = places.at(at);
        let lower = file.to_ascii_lowercase();
        out.code.secrets.push(CodeSecret {
            place: Place {
                location: Location {
                    file: file.to_owned(),
                    line: place.line,
                    column: place.column,
                },
                function: None,
            },
            kind: SecretKind::Password,
            shown: format!("{key}=*****"),
            fallback: false,
            // Containers that somebody starts on their own machine.
            local: ["compose", "docker", ".github/", ".gitlab-ci", ".circleci"]
                .iter()
                .any(|part| lower.contains(part)),
            in_remark: false,
            in_sample,
            literal: None,
            is_word: is_word(value),
        });
    }
}

/// Whether a host is this machine, or a container beside it.
pub(super) fn is_local(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    let lower = name.to_ascii_lowercase();
    lower.is_empty()
        || matches!(lower.as_str(), "localhost" | "0.0.0.0" | "::1" | "host.docker.internal")
        || lower.starts_with("127.")
        || lower.ends_with(".localhost")
        || lower.ends_with("example.com")
        || lower.ends_with("example.net")
        || lower.ends_with("example.org")
        || (!lower.contains('.') && lower != docward_uri::HOLE)
}
