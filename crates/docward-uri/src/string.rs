//! A parsed connection string, each part with its position.

use std::fmt;

use docward_model::{NoteKind, UriChange};

use crate::{Secret, Typed, options::OptionInfo};

/// A byte range of the given text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The position after the last byte.
    pub end: usize,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// A position in the given pieces; for a whole string the piece is always 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The index of the piece.
    pub piece: usize,
    /// The byte offset in the piece.
    pub offset: usize,
}

/// A part with its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Part<T> {
    /// Its value, with percent codes decoded.
    pub value: T,
    /// The position of the part.
    pub span: Span,
}

/// The kind of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    /// A DNS name.
    Name,
    /// An address, version 4.
    Ipv4,
    /// An address, version 6.
    Ipv6,
    /// A file system socket.
    Socket,
    /// Computed.
    Unknown,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The kind of the host.
    pub kind: HostKind,
    /// Name, address (without brackets) or path.
    pub name: String,
    /// Its port, if given.
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

/// An option in the string.
#[derive(Clone, Debug)]
pub struct UriOption {
    /// Its name as written.
    pub key: Part<String>,
    /// The option with this name; `None` if no driver knows it.
    pub info: Option<&'static OptionInfo>,
    /// Its value as drivers read it.
    pub value: Part<Typed>,
}

impl UriOption {
    /// The canonical name, or the written one if no driver knows it.
    pub fn name(&self) -> &str {
        self.info.map_or(self.key.value.as_str(), |info| info.name)
    }

    /// The option from its name to the end of its value.
    pub fn span(&self) -> Span {
        Span::new(self.key.span.start, self.value.span.end)
    }
}

/// A problem that drivers warn about or refuse.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The kind of the mistake.
    pub kind: NoteKind,
    /// The option, under its canonical name if there is one; empty if the note is about something
    /// else.
    pub option: String,
    /// The description of the mistake; without values that may be secret.
    pub what: String,
    /// The advice on what to write instead.
    pub todo: String,
    /// The changes that `todo` names, in their order. Empty where people have to decide.
    pub fix: Vec<UriChange>,
    /// The position.
    pub span: Span,
}

impl Note {
    /// The note with the changes that its `todo` names.
    pub(crate) fn fixed_by(self, fix: impl IntoIterator<Item = UriChange>) -> Self {
        Self { fix: fix.into_iter().collect(), ..self }
    }
}

/// A parsed connection string.
#[derive(Clone, Debug)]
pub struct ConnectionString {
    /// The whole text, with holes as [`crate::hole::HOLE_CHARACTER`].
    pub(crate) text: Secret,
    /// The starts of the pieces of the text.
    pub(crate) cuts: Vec<(usize, usize)>,
    /// The connection string within the text, without spaces around it.
    pub(crate) whole: Span,
    /// True for `mongodb+srv://`.
    pub srv: bool,
    /// The scheme with `://`.
    pub scheme: Span,
    /// The user; an empty text if it is computed.
    pub user: Option<Part<String>>,
    /// The password.
    pub password: Option<Part<Secret>>,
    /// Hosts in their order.
    pub hosts: Vec<Part<Host>>,
    /// All hosts with their commas.
    pub authority: Span,
    /// The database in the path.
    pub database: Option<Part<String>>,
    /// The position of the path, including its `/`; empty at the position for one if there is none.
    pub path: Span,
    /// Options in their order.
    pub options: Vec<UriOption>,
    /// Problems that drivers warn about or refuse.
    pub notes: Vec<Note>,
    /// True if parts are computed.
    pub is_partial: bool,
    /// True if all options are known although parts are computed.
    pub options_are_known: bool,
}

impl ConnectionString {
    /// Returns whether drivers accept it, possibly with warnings.
    pub fn is_accepted(&self) -> bool {
        self.notes.iter().all(|note| note.kind != NoteKind::Refused)
    }

    /// Returns whether drivers have to warn.
    pub fn has_warnings(&self) -> bool {
        let warns = [NoteKind::Unknown, NoteKind::WrongValue, NoteKind::Repeated];
        self.notes.iter().any(|note| warns.contains(&note.kind))
    }

    /// The effective option: the last one under its canonical name, or else under a former name.
    pub fn option(&self, name: &str) -> Option<&UriOption> {
        let all = || self.options.iter().filter(|option| option.name() == name);
        all()
            .rfind(|option| option.key.value.eq_ignore_ascii_case(name))
            .or_else(|| all().next_back())
    }

    /// The position of a byte of the text in the given pieces.
    pub fn at(&self, offset: usize) -> At {
        let cut = self.cuts.iter().rfind(|(start, _)| *start <= offset).or(self.cuts.first());
        let (start, piece) = cut.copied().unwrap_or_default();
        At { piece, offset: offset.saturating_sub(start) }
    }

    /// The given text, including the password: for counting columns, never for printing.
    pub fn text(&self) -> &str {
        self.text.reveal()
    }
}
