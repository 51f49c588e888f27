//! The Python expressions that occur in annotations and defaults.

use bson::Bson;
use tree_sitter::Node;

use crate::{escapes::unescaped, shape};
use docward_source::{
    Language,
    syntax::{Source, parts},
};

/// The maximum nesting depth of annotations.
const MAX_DEPTH: usize = 30;

#[derive(Clone, Debug)]
pub(super) enum Expr {
    /// A name. For `a.b.c`, the complete dotted name.
    Name(String),
    /// `base[a, b]`.
    Index(Box<Expr>, Vec<Expr>),
    /// `base(a, b, name=c)`.
    Call(Box<Expr>, Vec<Expr>, Vec<(String, Expr)>),
    /// `a | b`.
    Either(Vec<Expr>),
    Literal(Bson),
    /// A list, a tuple or a set.
    List(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Ellipsis,
    /// Any other expression, as it is written.
    Other(String),
}

impl Expr {
    pub(super) fn read(source: &Source<'_>, node: Node<'_>) -> Self {
        Self::at(source, node, 0)
    }

    /// Parses an annotation in a string.
    pub(super) fn quoted(text: &str) -> Option<Self> {
        let source = Source::parse(&Language::Python.grammar(), text.trim()).ok()?;
        let statement = parts(source.root()).into_iter().next()?;
        Some(Self::read(&source, parts(statement).into_iter().next().unwrap_or(statement)))
    }

    fn at(source: &Source<'_>, node: Node<'_>, depth: usize) -> Self {
        let text = || source.text_of(node).to_owned();
        if depth > MAX_DEPTH {
            return Self::Other(text());
        }
        let inner = |node| Self::at(source, node, depth + 1);
        match node.kind() {
            "type" | "parenthesized_expression" | "expression_statement" => {
                parts(node).first().map_or_else(|| Self::Other(text()), |node| inner(*node))
            }
            "identifier" | "attribute" | "member_type" => Self::Name(text()),
            "none" => Self::Literal(Bson::Null),
            "true" => Self::Literal(Bson::Boolean(true)),
            "false" => Self::Literal(Bson::Boolean(false)),
            "ellipsis" => Self::Ellipsis,
            "integer" | "float" | "unary_operator" => {
                match shape::number(&source.text_of(node).replace(' ', "")) {
                    Some(number) => Self::Literal(number),
                    None => Self::Other(text()),
                }
            }
            "string" => match string(source, node) {
                Some(text) => Self::Literal(text.into()),
                None => Self::Other(text()),
            },
            "concatenated_string" => {
                let all: Option<String> =
                    parts(node).into_iter().map(|n| string(source, n)).collect();
                all.map_or_else(|| Self::Other(text()), |all| Self::Literal(all.into()))
            }
            "subscript" => {
                let mut all = parts(node).into_iter();
                match all.next() {
                    Some(base) => {
                        Self::Index(Box::new(inner(base)), listed(all.map(inner).collect()))
                    }
                    None => Self::Other(text()),
                }
            }
            "generic_type" => {
                let mut all = parts(node).into_iter();
                match (all.next(), all.next()) {
                    (Some(base), Some(arguments)) => {
                        let arguments = parts(arguments).into_iter().map(inner).collect();
                        Self::Index(Box::new(inner(base)), listed(arguments))
                    }
                    _ => Self::Other(text()),
                }
            }
            "call" => {
                let Some(function) = node.child_by_field_name("function") else {
                    return Self::Other(text());
                };
                let (mut plain, mut named) = (Vec::new(), Vec::new());
                for argument in node.child_by_field_name("arguments").map(parts).unwrap_or_default()
                {
                    if argument.kind() != "keyword_argument" {
                        plain.push(inner(argument));
                        continue;
                    }
                    let name = argument.child_by_field_name("name");
                    let value = argument.child_by_field_name("value");
                    if let (Some(name), Some(value)) = (name, value) {
                        named.push((source.text_of(name).to_owned(), inner(value)));
                    }
                }
                Self::Call(Box::new(inner(function)), plain, named)
            }
            "union_type" => Self::Either(flat(parts(node).into_iter().map(inner).collect())),
            "binary_operator" => {
                let operator = node.child_by_field_name("operator").map(|node| node.kind());
                match operator {
                    Some("|") => Self::Either(flat(parts(node).into_iter().map(inner).collect())),
                    _ => Self::Other(text()),
                }
            }
            "list" | "tuple" | "set" => Self::List(parts(node).into_iter().map(inner).collect()),
            "dictionary" => {
                let pairs = parts(node).into_iter().filter_map(|pair| {
                    let key = pair.child_by_field_name("key")?;
                    let value = pair.child_by_field_name("value")?;
                    Some((inner(key), inner(value)))
                });
                Self::Dict(pairs.collect())
            }
            _ => Self::Other(text()),
        }
    }

    /// Returns the last part of a name: `Field` of `pydantic.Field`.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Name(name) => name.rsplit('.').next().unwrap_or_default(),
            Self::Index(base, _) | Self::Call(base, ..) => base.name(),
            _ => "",
        }
    }

    pub(super) fn literal(&self) -> Option<&Bson> {
        match self {
            Self::Literal(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        self.literal().and_then(Bson::as_str)
    }

    pub(super) fn is_true(&self) -> bool {
        self.literal() == Some(&Bson::Boolean(true))
    }

    /// Returns the expression as Python source.
    pub(super) fn shown(&self) -> String {
        let list = |all: &[Self]| all.iter().map(Self::shown).collect::<Vec<_>>().join(", ");
        match self {
            Self::Name(name) => name.clone(),
            Self::Index(base, inner) => format!("{}[{}]", base.shown(), list(inner)),
            Self::Call(base, ..) => format!("{}(…)", base.shown()),
            Self::Either(all) => all.iter().map(Self::shown).collect::<Vec<_>>().join(" | "),
            Self::Literal(Bson::Null) => "None".to_owned(),
            Self::Literal(Bson::Boolean(flag)) => if *flag { "True" } else { "False" }.to_owned(),
            Self::Literal(value) => value.to_string(),
            Self::List(all) => format!("[{}]", list(all)),
            Self::Dict(_) => "{…}".to_owned(),
            Self::Ellipsis => "...".to_owned(),
            Self::Other(text) => docward_source::syntax::quoted(text),
        }
    }
}

/// Flattens the arguments: `X[a, b]` may be two indices or one tuple.
fn listed(arguments: Vec<Expr>) -> Vec<Expr> {
    match <[Expr; 1]>::try_from(arguments) {
        Ok([Expr::List(inner)]) => inner,
        Ok([one]) => vec![one],
        Err(several) => several,
    }
}

fn flat(all: Vec<Expr>) -> Vec<Expr> {
    let mut out = Vec::new();
    for one in all {
        match one {
            Expr::Either(inner) => out.extend(inner),
            one => out.push(one),
        }
    }
    out
}

/// Returns the value of a string literal, or `None` if it is computed.
fn string(source: &Source<'_>, node: Node<'_>) -> Option<String> {
    let text = source.text_of(node);
    let start = text.find(['"', '\''])?;
    let prefix = text[..start].to_ascii_lowercase();
    if prefix.contains(['f', 'b']) {
        return None;
    }
    let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|q| text[start..].starts_with(q))?;
    let inner = text[start..].strip_prefix(quotes)?;
    let inner = inner.strip_suffix(quotes).unwrap_or(inner);
    if prefix.contains('r') || !inner.contains('\\') {
        return Some(inner.to_owned());
    }
    // A backslash before a line end continues the line.
    Some(unescaped(&inner.replace("\\\n", ""), true))
}
