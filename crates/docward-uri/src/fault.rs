//! Reasons why a text cannot be parsed. No message repeats a part of it: a password may be
//! anywhere.

use crate::Span;

/// An error in a text that is not a connection string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct Fault {
    /// The kind of the error.
    pub kind: FaultKind,
    /// The position in the given text.
    pub span: Span,
}

/// The kinds of errors that make a text invalid as a connection string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// Neither `mongodb://` nor `mongodb+srv://`.
    #[error("expected mongodb:// or mongodb+srv://")]
    Scheme,
    /// No host.
    #[error("the connection string names no host")]
    NoHost,
    /// An empty text between two commas.
    #[error("a host is missing between two commas")]
    EmptyHost,
    /// An invalid host.
    #[error("this is no host name, no address and no socket")]
    Host,
    /// A port that is not a number.
    #[error(
        "what stands behind a host's `:` is no port; if it is a login, its `@host` is missing; nothing of it was judged"
    )]
    Port,
    /// Several hosts after `mongodb+srv://`.
    #[error("mongodb+srv:// takes one name, which leads to the hosts")]
    SrvHosts,
    /// A port after `mongodb+srv://`.
    #[error("mongodb+srv:// takes a name without a port: DNS tells the ports")]
    SrvPort,
    /// A character that splits the login.
    #[error(
        "the user or password holds a character that must be written as a percent code (`/` as %2F, `?` as %3F, `#` as %23, `@` as %40, `:` as %3A, `%` as %25); nothing of it was judged"
    )]
    Unescaped,
    /// A percent sign that does not start a code.
    #[error("a `%` here is not followed by two hexadecimal digits; write it as %25")]
    Percent,
    /// `&` instead of `?`.
    #[error("options begin with `?`: write it for the `&` here")]
    Ampersand,
    /// An option without a value.
    #[error("an option has no value; write name=value")]
    OptionWithoutValue,
}

impl FaultKind {
    pub(crate) fn at(self, span: Span) -> Fault {
        Fault { kind: self, span }
    }
}
