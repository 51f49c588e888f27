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
    #[error("the connection string has no host")]
    NoHost,
    /// An empty text between two commas.
    #[error("a host is missing between two commas")]
    EmptyHost,
    /// An invalid host.
    #[error("this is not a host name, an address or a socket")]
    Host,
    /// A port that is not a number.
    #[error(
        "the text after a host's `:` is not a port (1 to 65535); if this is a login, its `@host` is missing; Docward did not check this string"
    )]
    Port,
    /// Several hosts after `mongodb+srv://`.
    #[error("mongodb+srv:// requires exactly one name, which DNS resolves to the hosts")]
    SrvHosts,
    /// A port after `mongodb+srv://`.
    #[error("mongodb+srv:// requires a name without a port, because DNS provides the ports")]
    SrvPort,
    /// A character that splits the login.
    #[error(
        "the user or password contains a character that needs a percent code (`/` as %2F, `?` as %3F, `#` as %23, `@` as %40, `:` as %3A, `%` as %25); Docward did not check this string"
    )]
    Unescaped,
    /// A percent sign that does not start a code.
    #[error("a `%` here is not followed by two hexadecimal digits; write it as %25")]
    Percent,
    /// `&` instead of `?`.
    #[error("options begin with `?`: replace this `&` with it")]
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
