//! Parses a connection string, in the order of the text.

use std::net::{Ipv4Addr, Ipv6Addr};

use docward_model::{NoteKind, UriChange};

use crate::{
    ConnectionString, Fault, FaultKind, Host, HostKind, Note, Part, Secret, Span, Typed, UriOption,
    escape::{bad_percent, decoded, strictly_decoded},
    hole::{HOLE, HOLE_CHARACTER, has_hole},
    options::{self, OptionInfo, Successor, ValueKind},
    placeholder::is_placeholder,
    rules,
    secret::user_part,
    typed,
};

/// Parses a whole connection string. Spaces around it are not a part of it.
pub fn parse(text: &str) -> Result<ConnectionString, Fault> {
    parse_text(text.to_owned(), vec![(0, 0)])
}

/// A part of the text with its position in the whole.
#[derive(Clone, Copy)]
struct Slice<'t> {
    text: &'t str,
    start: usize,
}

impl<'t> Slice<'t> {
    fn span(self) -> Span {
        Span::new(self.start, self.start + self.text.len())
    }

    fn split_at(self, at: usize) -> (Self, Self) {
        let (left, right) = self.text.split_at(at);
        (Self { text: left, ..self }, Self { text: right, start: self.start + at })
    }

    /// The slice without the first `n` bytes.
    fn skip(self, n: usize) -> Self {
        self.split_at(n.min(self.text.len())).1
    }

    /// The parts between separators.
    fn split(self, separators: &'t [char]) -> impl Iterator<Item = Self> {
        let mut start = self.start;
        self.text.split(separators).map(move |text| {
            let piece = Self { text, start };
            // Separators are one byte long.
            start += text.len() + 1;
            piece
        })
    }

    fn is_computed(self) -> bool {
        has_hole(self.text)
    }
}

pub(crate) fn parse_text(
    text: String,
    cuts: Vec<(usize, usize)>,
) -> Result<ConnectionString, Fault> {
    let start = text.len() - text.trim_start().len();
    let whole = Slice { text: text.trim(), start };
    let (scheme, srv, rest) = scheme(whole)?;
    let (login, rest) = login(whole, rest)?;
    let end = rest.text.find(['/', '?']).unwrap_or(rest.text.len());
    let (authority, tail) = rest.split_at(end);
    let hosts = hosts(authority, srv)?;
    let cut = tail.text.find('?').unwrap_or(tail.text.len());
    let (path, query) = tail.split_at(cut);

    let mut uri = ConnectionString {
        text: Secret::new(text.clone()),
        cuts,
        whole: whole.span(),
        srv,
        scheme: scheme.span(),
        user: None,
        password: None,
        hosts,
        authority: authority.span(),
        database: None,
        path: path.span(),
        options: Vec::new(),
        notes: Vec::new(),
        is_partial: whole.is_computed(),
        options_are_known: !may_hide_options(scheme, authority, path, query),
    };
    if let Some(login) = login {
        read_login(login, &mut uri)?;
    }
    read_database(path, &mut uri)?;
    read_options(query, &mut uri)?;
    rules::note_combinations(&mut uri);
    uri.notes.sort_by_key(|note| note.span);
    Ok(uri)
}

/// Returns whether computed parts may contain options: in their place, or at the end of the text
/// before.
fn may_hide_options(
    scheme: Slice<'_>,
    authority: Slice<'_>,
    path: Slice<'_>,
    query: Slice<'_>,
) -> bool {
    let value_is_whole = |option: &str| match option.split_once('=') {
        Some((key, value)) => !has_hole(key) && (!has_hole(value) || value.chars().count() == 1),
        None => !has_hole(option),
    };
    scheme.is_computed()
        || authority.is_computed()
        || (path.is_computed() && query.text.is_empty())
        || !query.text.trim_start_matches('?').split(['&', ';']).all(value_is_whole)
}

fn scheme(whole: Slice<'_>) -> Result<(Slice<'_>, bool, Slice<'_>), Fault> {
    for (word, srv) in [("mongodb://", false), ("mongodb+srv://", true)] {
        if whole.text.starts_with(word) {
            let (scheme, rest) = whole.split_at(word.len());
            return Ok((scheme, srv, rest));
        }
    }
    let end = whole.text.find("://").map(|at| at + 3);
    match end {
        Some(end) if has_hole(&whole.text[..end]) && whole.text.starts_with("mongodb") => {
            let (scheme, rest) = whole.split_at(end);
            Ok((scheme, scheme.text.contains("srv"), rest))
        }
        _ => Err(FaultKind::Scheme.at(whole.split_at(0).0.span())),
    }
}

/// The login and the text after its `@`.
fn login<'t>(whole: Slice<'t>, rest: Slice<'t>) -> Result<(Option<Slice<'t>>, Slice<'t>), Fault> {
    let Some(login) = user_part(whole.text) else { return Ok((None, rest)) };
    let (login, after) = rest.split_at(login.len());
    // Parsing such a text would treat a part of the password as a host or a database. A placeholder
    // for a password may contain any character.
    let (user, password) = login.text.split_once(':').unwrap_or((login.text, ""));
    let is_bad = |text: &str| text.contains(['@', '/', '?', '#']);
    if is_bad(user) || (is_bad(password) && !is_placeholder(password)) {
        return Err(FaultKind::Unescaped.at(login.span()));
    }
    Ok((Some(login), after.skip(1)))
}

fn read_login(login: Slice<'_>, uri: &mut ConnectionString) -> Result<(), Fault> {
    let colon = login.text.find(':');
    let (user, password) = login.split_at(colon.unwrap_or(login.text.len()));
    let unescaped = |part: Slice<'_>| {
        bad_percent(part.text).map(|at| {
            let at = part.start + at;
            FaultKind::Unescaped.at(Span::new(at, at + 1))
        })
    };
    if let Some(fault) = unescaped(user).filter(|_| !is_placeholder(user.text)) {
        return Err(fault);
    }
    if user.is_computed() {
        uri.user = Some(Part { value: HOLE.to_owned(), span: user.span() });
    } else if !user.text.is_empty() {
        uri.user = Some(Part { value: decoded(user.text), span: user.span() });
    } else if colon.is_some() {
        uri.notes.push(Note {
            kind: NoteKind::Refused,
            option: String::new(),
            what: "the string has a password without a user, which no driver accepts".to_owned(),
            todo: "write the user before the `:`".to_owned(),
            fix: Vec::new(),
            span: login.span(),
        });
    }
    if colon.is_none() {
        return Ok(());
    }
    let password = password.skip(1);
    let is_filled_in = is_placeholder(password.text) || password.is_computed();
    if !is_filled_in {
        if password.text.contains(':') {
            return Err(FaultKind::Unescaped.at(password.span()));
        }
        if let Some(fault) = unescaped(password) {
            return Err(fault);
        }
    }
    uri.password = Some(Part { value: Secret::new(password.text), span: password.span() });
    Ok(())
}

fn hosts(authority: Slice<'_>, srv: bool) -> Result<Vec<Part<Host>>, Fault> {
    if authority.text.is_empty() {
        return Err(FaultKind::NoHost.at(authority.span()));
    }
    let mut hosts = Vec::new();
    for piece in authority.split(&[',']) {
        let lead = piece.text.len() - piece.text.trim_start().len();
        let piece = Slice { text: piece.text.trim(), start: piece.start + lead };
        let host = host(piece)?;
        if srv && host.port.is_some() && host.kind != HostKind::Unknown {
            return Err(FaultKind::SrvPort.at(piece.span()));
        }
        hosts.push(Part { value: host, span: piece.span() });
    }
    if srv && hosts.len() > 1 && !authority.is_computed() {
        return Err(FaultKind::SrvHosts.at(authority.span()));
    }
    Ok(hosts)
}

fn host(piece: Slice<'_>) -> Result<Host, Fault> {
    if piece.text.is_empty() {
        return Err(FaultKind::EmptyHost.at(piece.span()));
    }
    if piece.is_computed() {
        let name = piece.text.replace(HOLE_CHARACTER, HOLE);
        return Ok(Host { kind: HostKind::Unknown, name, port: None });
    }
    if let Some(rest) = piece.text.strip_prefix('[') {
        let (address, behind) =
            rest.split_once(']').ok_or_else(|| FaultKind::Host.at(piece.span()))?;
        // A zone after the address: `fe80::1%25eth0`.
        let bare = address.split('%').next().unwrap_or(address);
        if bare.parse::<Ipv6Addr>().is_err() {
            return Err(FaultKind::Host.at(piece.span()));
        }
        let port = match behind.strip_prefix(':') {
            Some(port) => Some(number(port, piece)?),
            None if behind.is_empty() => None,
            None => return Err(FaultKind::Port.at(piece.span())),
        };
        return Ok(Host { kind: HostKind::Ipv6, name: address.to_owned(), port });
    }
    let decoded = strictly_decoded(piece.text).map_err(|at| {
        let at = piece.start + at;
        FaultKind::Percent.at(Span::new(at, at + 1))
    })?;
    if decoded.contains('/') {
        return Ok(Host { kind: HostKind::Socket, name: decoded, port: None });
    }
    let (name, port) = match decoded.split_once(':') {
        Some((name, port)) => (name, Some(number(port, piece)?)),
        None => (decoded.as_str(), None),
    };
    if name.is_empty() {
        return Err(FaultKind::EmptyHost.at(piece.span()));
    }
    if name.contains(|c: char| c.is_whitespace() || c.is_control() || "@?#[]\\\"<>".contains(c)) {
        return Err(FaultKind::Host.at(piece.span()));
    }
    let kind = if name.parse::<Ipv4Addr>().is_ok() { HostKind::Ipv4 } else { HostKind::Name };
    Ok(Host { kind, name: name.to_owned(), port })
}

fn number(port: &str, piece: Slice<'_>) -> Result<u16, Fault> {
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    port.parse().ok().filter(|number| is_number && *number > 0).ok_or_else(|| {
        // The port as written: it may contain percent codes.
        let behind = piece.text.rfind(']').unwrap_or(0);
        let colon = piece.text[behind..].find(':').map_or(0, |at| behind + at + 1);
        FaultKind::Port.at(Span::new(piece.start + colon, piece.span().end))
    })
}

fn read_database(path: Slice<'_>, uri: &mut ConnectionString) -> Result<(), Fault> {
    let name = path.skip(1);
    if name.text.is_empty() || name.is_computed() {
        return Ok(());
    }
    // Drivers read all of it as the name of the database.
    if let Some(at) = name.text.find('&').filter(|at| name.text[*at..].contains('=')) {
        let at = name.start + at;
        return Err(FaultKind::Ampersand.at(Span::new(at, at + 1)));
    }
    let decoded = strictly_decoded(name.text).map_err(|at| {
        let at = name.start + at;
        FaultKind::Percent.at(Span::new(at, at + 1))
    })?;
    if decoded.contains(['/', '\\', ' ', '"', '$']) && decoded != "$external" {
        uri.notes.push(Note {
            kind: NoteKind::Refused,
            option: String::new(),
            what: "the database name in the path contains a character that MongoDB does not allow"
                .to_owned(),
            todo: "write the name of one database without / \\ \" $ or spaces".to_owned(),
            fix: Vec::new(),
            span: name.span(),
        });
    }
    uri.database = Some(Part { value: decoded, span: name.span() });
    Ok(())
}

fn read_options(query: Slice<'_>, uri: &mut ConnectionString) -> Result<(), Fault> {
    for piece in query.skip(1).split(&['&', ';']).filter(|piece| !piece.text.is_empty()) {
        let Some(equals) = piece.text.find('=') else {
            if piece.is_computed() {
                continue;
            }
            return Err(FaultKind::OptionWithoutValue.at(piece.span()));
        };
        let (key, value) = piece.split_at(equals);
        let value = value.skip(1);
        if key.is_computed() {
            continue;
        }
        if key.text.is_empty() {
            return Err(FaultKind::OptionWithoutValue.at(piece.span()));
        }
        read_option(key, value, uri);
    }
    note_given_successors(uri);
    note_repeated(uri);
    Ok(())
}

fn read_option(key: Slice<'_>, value: Slice<'_>, uri: &mut ConnectionString) {
    let name = decoded(key.text);
    let info = options::option_info(&name);
    let mut note = |kind, what: String, todo: String, fix: Vec<UriChange>, span| {
        let option = info.map_or(name.clone(), |info| info.name.to_owned());
        uri.notes.push(Note { kind, option, what, todo, fix, span });
    };
    if !value.is_computed()
        && let Some(at) = bad_percent(value.text)
    {
        let at = value.start + at;
        // Only text values are rewritten: others may be secret, or have further errors.
        let is_text = info.is_some_and(|info| info.kind == ValueKind::Text);
        let fix = info.filter(|_| is_text && !value.text.contains('@'));
        note(
            NoteKind::WrongValue,
            format!("a `%` in `{name}` does not begin a percent code"),
            "write the character `%` as %25".to_owned(),
            fix.map(|info| UriChange::set(info.name, decoded(value.text))).into_iter().collect(),
            Span::new(at, at + 1),
        );
    }
    let typed = match info {
        Some(info) => {
            let (typed, mistake) = typed::read(info, &decoded(value.text));
            if let Some(mistake) = mistake {
                note(mistake.kind, mistake.what, mistake.todo, mistake.fix, value.span());
            }
            let old_name = options::is_old_name(&name, info).then_some(name.as_str());
            let found = match (info.deprecated, old_name) {
                (Some(advice), Some(old)) => {
                    let name = info.name;
                    let what =
                        format!("`{old}` is an old name of `{name}`, which is also deprecated");
                    Some((what, advice.to_owned(), Vec::new()))
                }
                (Some(advice), None) => {
                    Some((format!("`{}` is deprecated", info.name), advice.to_owned(), Vec::new()))
                }
                (None, Some(old)) => {
                    let name = info.name.to_owned();
                    let what = format!("`{old}` is an old name of `{name}`");
                    let todo = format!("write {name}=…");
                    Some((what, todo, vec![UriChange::Rename { written: old.to_owned(), name }]))
                }
                (None, None) => None,
            };
            if let Some((what, todo, fix)) = found {
                note(NoteKind::Deprecated, what, todo, fix, key.span());
            }
            typed
        }
        None => {
            let (what, todo, fix) = unknown(&name);
            note(NoteKind::Unknown, what, todo, fix, key.span());
            Typed::Ignored
        }
    };
    uri.options.push(UriOption {
        key: Part { value: name, span: key.span() },
        info,
        value: Part { value: typed, span: value.span() },
    });
}

/// The report on an option that no driver knows: the problem, the advice, and the changes for it.
fn unknown(name: &str) -> (String, String, Vec<UriChange>) {
    if let Some(gone) = options::gone_option(name) {
        let what = format!("`{name}` is an option that drivers no longer support");
        let remove = UriChange::remove(name);
        let fix = match gone.successor {
            Successor::None => vec![remove],
            Successor::Option(name, value) => vec![remove, UriChange::set(name, value)],
            Successor::Undecided => Vec::new(),
        };
        return (what, gone.advice.to_owned(), fix);
    }
    let what = format!("no driver knows the option `{name}`");
    match options::nearest_option(name) {
        Some(near) => {
            let rename = UriChange::Rename { written: name.to_owned(), name: near.to_owned() };
            (what, format!("write {near}"), vec![rename])
        }
        None => {
            let todo = "remove it, or check its name in the documentation of the driver";
            (what, todo.to_owned(), Vec::new())
        }
    }
}

/// Adapts notes on unknown options once all options are known: an option that the string already
/// contains must not be added again, and its value stays.
fn note_given_successors(uri: &mut ConnectionString) {
    let mut taken: Vec<String> = uri.options.iter().map(|o| o.name().to_owned()).collect();
    for note in uri.notes.iter_mut().filter(|note| note.kind == NoteKind::Unknown) {
        let (written, name) = match note.fix.as_slice() {
            [UriChange::Rename { written, name }] => (written, name),
            [UriChange::Remove { name: written }, UriChange::Set { name, .. }] => (written, name),
            _ => continue,
        };
        if taken.contains(name) {
            note.todo = format!("remove {written}: {name} is also set");
            note.fix = vec![UriChange::remove(written)];
        } else {
            taken.push(name.clone());
        }
    }
}

/// Adds notes on names that occur several times, which only tag sets may.
fn note_repeated(uri: &mut ConnectionString) {
    let may_repeat =
        |info: Option<&OptionInfo>| info.is_some_and(|info| info.kind == ValueKind::TagSet);
    let mut notes = Vec::new();
    for (at, option) in uri.options.iter().enumerate() {
        let is_same = |other: &&UriOption| other.name().eq_ignore_ascii_case(option.name());
        if may_repeat(option.info) || !uri.options[..at].iter().any(|other| is_same(&other)) {
            continue;
        }
        // `tls` and `ssl` are checked together, because their values must agree.
        let has_other_name = |other: &UriOption| {
            is_same(&other) && !other.key.value.eq_ignore_ascii_case(&option.key.value)
        };
        if option.name() == "tls" && uri.options.iter().any(has_other_name) {
            continue;
        }
        let name = option.name();
        // All drivers refuse a second proxy.
        let (kind, what) = if name.starts_with("proxy") {
            (NoteKind::Refused, format!("`{name}` is set several times"))
        } else {
            let what =
                format!("`{name}` is set several times, and drivers differ in the value they use");
            (NoteKind::Repeated, what)
        };
        notes.push(Note {
            kind,
            option: name.to_owned(),
            what,
            todo: "keep one of them".to_owned(),
            fix: Vec::new(),
            span: option.span(),
        });
    }
    uri.notes.extend(notes);
}
