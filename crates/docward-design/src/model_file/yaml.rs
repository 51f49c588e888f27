//! Parses YAML into a tree in which every node has a position. It uses parser events, because
//! libraries that load maps keep only the last of two equal keys. A model with two entities of the
//! same name must be reported as a mistake.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use crate::model_file::fault::Faults;
use crate::model_file::position::At;

/// A node of the file.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) at: At,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// The text as it was written, and whether it was in quotes.
    Scalar(String, bool),
    List(Vec<Node>),
    /// The keys with their positions, in the order of the file.
    Map(Vec<(String, At, Node)>),
}

/// The maximum nesting depth of a model file.
const MAX_DEPTH: usize = 32;

impl Node {
    /// Returns the kind of node, for messages.
    pub(crate) fn noun(&self) -> &'static str {
        match &self.value {
            Value::Scalar(text, quoted) if text.is_empty() && !quoted => "nothing",
            Value::Scalar(..) => "a single value",
            Value::List(_) => "a list",
            Value::Map(_) => "a table of names and values",
        }
    }

    /// Whether there is no value: `key:` alone, `~` or `null`.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(&self.value, Value::Scalar(text, false) if matches!(text.as_str(), "" | "~" | "null"))
    }
}

/// Parses one document. Anything that cannot be read is a fault.
pub(crate) fn parse(text: &str, faults: &mut Faults<'_>) -> Option<Node> {
    let events = Parser::new_from_str(text);
    let mut builder = Builder { events, text, faults, failed: false };
    let node = builder.document();
    if builder.failed { None } else { node }
}

struct Builder<'t, 'f, 'n> {
    events: Parser<'t, saphyr_parser::StrInput<'t>>,
    text: &'t str,
    faults: &'f mut Faults<'n>,
    failed: bool,
}

impl<'t> Builder<'t, '_, '_> {
    fn document(&mut self) -> Option<Node> {
        let mut root = None;
        while let Some((event, at)) = self.next() {
            match event {
                Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
                Event::StreamEnd => break,
                _ if root.is_some() => {
                    self.fail(at, "a second YAML document begins here", "keep one model in a file");
                    break;
                }
                event => root = Some(self.node(event, at, 0)?),
            }
        }
        root
    }

    fn next(&mut self) -> Option<(Event<'t>, At)> {
        match self.events.next_event()? {
            Ok((event, span)) => Some((event, at(&span.start))),
            Err(error) => {
                let message = format!("this is not valid YAML: {}", error.info());
                if let Some((bracket, open)) = unclosed(self.text, at(error.marker())) {
                    let message = format!("`{bracket}` is not closed");
                    let close = if bracket == '{' { '}' } else { ']' };
                    self.fail(open, message, &format!("add `{close}`"));
                    return None;
                }
                self.fail(at(error.marker()), message, "check indentation, colons and quotes");
                None
            }
        }
    }

    fn fail(&mut self, at: At, message: impl Into<String>, hint: &str) {
        self.failed = true;
        self.faults.push(at, message, Some(hint.to_owned()));
    }

    fn node(&mut self, event: Event<'t>, at: At, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            self.fail(at, format!("more than {MAX_DEPTH} levels deep"), "flatten the model");
            return None;
        }
        let value = match event {
            Event::Scalar(text, style, _, _) => {
                Value::Scalar(text.into_owned(), style != ScalarStyle::Plain)
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    let (event, at) = self.next()?;
                    if matches!(event, Event::SequenceEnd) {
                        break;
                    }
                    items.push(self.node(event, at, depth + 1)?);
                }
                Value::List(items)
            }
            Event::MappingStart(..) => Value::Map(self.map(depth)?),
            Event::Alias(_) => {
                // Expanded aliases could grow without bound, and their positions would be wrong.
                self.fail(at, "aliases (`*name`) are not supported", "write out the value");
                return None;
            }
            _ => return None,
        };
        Some(Node { at, value })
    }

    fn map(&mut self, depth: usize) -> Option<Vec<(String, At, Node)>> {
        let mut entries: Vec<(String, At, Node)> = Vec::new();
        loop {
            let (event, key_at) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                return Some(entries);
            }
            let Event::Scalar(key, ..) = event else {
                self.fail(key_at, "a name must be plain text", "write `name: value`");
                return None;
            };
            let key = key.into_owned();
            let (event, at) = self.next()?;
            let node = self.node(event, at, depth + 1)?;
            if let Some((_, first, _)) = entries.iter().find(|(name, _, _)| *name == key) {
                let message = format!(
                    "`{key}` is repeated here; it is first in line \
                 {}",
                    first.line
                );
                self.faults.push(key_at, message, Some("remove one of them".to_owned()));
                continue;
            }
            entries.push((key, key_at, node));
        }
    }
}

/// Returns the innermost bracket that is open before a position. Strings and comments have no
/// brackets.
fn unclosed(text: &str, before: At) -> Option<(char, At)> {
    let mut open: Vec<(char, At)> = Vec::new();
    for (line, number) in text.lines().zip(1_u32..) {
        let mut quote = None;
        let mut last = ' ';
        for (c, column) in line.chars().zip(1_u32..) {
            if (number, column) >= (before.line, before.column) {
                return open.pop();
            }
            let begins = last.is_whitespace() || matches!(last, '{' | '[' | ',');
            match (quote, c) {
                (Some(end), _) => quote = (c != end).then_some(end),
                (None, '"' | '\'') if begins => quote = Some(c),
                (None, '#') if last.is_whitespace() => break,
                // A bracket within a plain word is text, unless a list or table is already open.
                (None, '{' | '[') if begins => open.push((c, At { line: number, column })),
                (None, '}' | ']') => {
                    let closed = open.pop()?;
                    if (closed.0 == '{') != (c == '}') {
                        return Some(closed);
                    }
                }
                _ => {}
            }
            last = c;
        }
    }
    open.pop()
}

fn at(marker: &Marker) -> At {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    At { line: number(marker.line().max(1)), column: number(marker.col() + 1) }
}
