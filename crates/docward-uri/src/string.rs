//! A connection string in parts, each with its place.

use std::fmt;

use docward_model::{NoteKind, UriChange};

use crate::{Secret, Typed, options::OptionInfo};

/// Bytes of the text that was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// A place in the pieces that were given: for a whole string the piece is always 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Which piece, from 0.
    pub piece: usize,
    /// Which byte of it.
    pub offset: usize,
}

/// A part with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Part<T> {
    /// What it says, percent codes resolved.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

/// What a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    /// A name, for DNS.
    Name,
    /// An address, version 4.
    Ipv4,
    /// An address, version 6.
    Ipv6,
    /// A socket of the file system.
    Socket,
    /// Computed.
    Unknown,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// What it is.
    pub kind: HostKind,
    /// Name, address (without brackets) or path.
    pub name: String,
    /// Its port, when given.
    pub port: Option<u16>,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            HostKind::Ipv6 => write!(f, "[{}]", self.name)?,
            _ => f.write_str(&self.name)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// An option as it stands in the string.
#[derive(Clone, Debug)]
pub struct UriOption {
    /// Its name as written.
    pub key: Part<String>,
    /// What the name stands for; `None` when no driver knows it.
    pub info: Option<&'static OptionInfo>,
    /// Its value as drivers read it.
    pub value: Part<Typed>,
}

impl UriOption {
    /// The canonical name, or the one that was written when no driver knows it.
    pub fn name(&self) -> &str {
        self.info.map_or(self.key.value.as_str(), |info| info.name)
    }

    /// The option from its name to the end of its value.
    pub fn span(&self) -> Span {
        Span::new(self.key.span.start, self.value.span.end)
    }
}

/// What drivers warn about or refuse.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// What kind of mistake.
    pub kind: NoteKind,
    /// The option, under its canonical name where there is one; empty when it is about something else.
    pub option: String,
    /// The mistake in words; no values that may be secret.
    pub what: String,
    /// What to write instead.
    pub todo: String,
    /// The changes that `todo` names, in their order. Empty where people have to decide.
    pub fix: Vec<UriChange>,
    /// Where.
    pub span: Span,
}

impl Note {
    /// The note with the changes that its `todo` names.
    pub(crate) fn fixed_by(self, fix: impl IntoIterator<Item = UriChange>) -> Self {
        Self { fix: fix.into_iter().collect(), ..self }
    }
}

/// A connection string in parts.
#[derive(Clone, Debug)]
pub struct ConnectionString {
    /// The whole text, holes as [`crate::hole::HOLE_CHARACTER`].
    pub(crate) text: Secret,
    /// Where the pieces of the text begin.
    pub(crate) cuts: Vec<(usize, usize)>,
    /// The connection string within the text: without blanks around it.
    pub(crate) whole: Span,
    /// Whether it is `mongodb+srv://`.
    pub srv: bool,
    /// The scheme with `://`.
    pub scheme: Span,
    /// Who logs in; an empty text when it is computed.
    pub user: Option<Part<String>>,
    /// The password.
    pub password: Option<Part<Secret>>,
    /// Hosts in their order.
    pub hosts: Vec<Part<Host>>,
    /// All hosts with their commas.
    pub authority: Span,
    /// The database in the path.
    pub database: Option<Part<String>>,
    /// Where the path stands, its `/` included; empty where it would have to be put.
    pub path: Span,
    /// Options in their order.
    pub options: Vec<UriOption>,
    /// What drivers warn about or refuse.
    pub notes: Vec<Note>,
    /// Whether parts are computed.
    pub is_partial: bool,
    /// Whether all options are seen although parts are computed.
    pub options_are_known: bool,
}

impl ConnectionString {
    /// Whether drivers take it, perhaps with warnings.
    pub fn is_accepted(&self) -> bool {
        self.notes.iter().all(|note| note.kind != NoteKind::Refused)
    }

    /// Whether drivers have to warn.
    pub fn has_warnings(&self) -> bool {
        let warns = [NoteKind::Unknown, NoteKind::WrongValue, NoteKind::Repeated];
        self.notes.iter().any(|note| warns.contains(&note.kind))
    }

    /// The option that counts: the last one under its canonical name, or else under a name it once had.
    pub fn option(&self, name: &str) -> Option<&UriOption> {
        let all = || self.options.iter().filter(|option| option.name() == name);
        all()
            .rfind(|option| option.key.value.eq_ignore_ascii_case(name))
            .or_else(|| all().next_back())
    }

    /// The place of a byte of the text in the pieces that were given.
    pub fn at(&self, offset: usize) -> At {
        let cut = self.cuts.iter().rfind(|(start, _)| *start <= offset).or(self.cuts.first());
        let (start, piece) = cut.copied().unwrap_or_default();
        At { piece, offset: offset.saturating_sub(start) }
    }

    /// The text that was given, password included: for counting columns, never for printing.
    pub fn text(&self) -> &str {
        self.text.reveal()
    }
}
