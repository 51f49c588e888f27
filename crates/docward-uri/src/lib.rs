//! Parses connection strings as drivers do, with the position of every part.
//!
//! [`parse`] reads a whole string, [`parse_template`] one of which source code contains only parts.
//! Problems that drivers warn about or refuse are in [`ConnectionString::notes`]; only a text that
//! cannot be parsed is a [`Fault`]. [`ConnectionString::client`] creates the form that rules check,
//! [`ConnectionString::rewrite`] a corrected string. No message ever contains a password: see
//! [`Secret`] and [`redact`].

mod client;
mod defaults;
mod driver_errors;
mod escape;
mod fault;
mod hole;
mod lookalike;
mod options;
mod parse;
mod placeholder;
mod rewrite;
mod rules;
mod secret;
mod string;
mod template;
mod typed;

pub use defaults::{Defaults, PoolKind, defaults};
pub use driver_errors::{bracketed, refusal, server_errors, without_login};
pub use fault::{Fault, FaultKind};
pub use hole::HOLE;
pub use lookalike::{Lookalike, lookalike};
pub use options::{OptionInfo, ValueKind, canonical_name, is_gone, nearest_option, option_info};
pub use parse::parse;
pub use rewrite::Rewritten;
pub use secret::{Secret, is_unescaped, redact, redact_argument, user_part};
pub use string::{At, ConnectionString, Host, HostKind, Note, Part, Span, UriOption};
pub use template::{Piece, parse_template};
pub use typed::Typed;
