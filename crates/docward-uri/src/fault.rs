//! Why a text cannot be taken apart. No message repeats a part of it: a password may be anywhere.

use crate::Span;

/// A text that is no connection string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// Where, in the text that was given.
    pub span: Span,
}

/// What keeps a text from being a connection string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// Neither `mongodb://` nor `mongodb+srv://`.
    #[error("expected mongodb:// or mongodb+srv://")]
    Scheme,
    /// No host.
    #[error("the connection string names no host")]
    NoHost,
    /// Nothing between two commas.
    #[error("a host is missing between two commas")]
    EmptyHost,
    /// A host that is none.
    #[error("this is no host name, no address and no socket")]
    Host,
    /// A port that is no number.
    #[error(
        "what stands behind a host's `:` is no port; if it is a login, its `@host` is missing; nothing of it was judged"
    )]
    Port,
    /// Several hosts behind `mongodb+srv://`.
    #[error("mongodb+srv:// takes one name, which leads to the hosts")]
    SrvHosts,
    /// A port behind `mongodb+srv://`.
    #[error("mongodb+srv:// takes a name without a port: DNS tells the ports")]
    SrvPort,
    /// A character that cuts the login in two.
    #[error(
        "the user or password holds a character that must be written as a percent code (`/` as %2F, `?` as %3F, `#` as %23, `@` as %40, `:` as %3A, `%` as %25); nothing of it was judged"
    )]
    Unescaped,
    /// A percent sign that starts no code.
    #[error("a `%` here is not followed by two hexadecimal digits; write it as %25")]
    Percent,
    /// `&` in the place of `?`.
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
