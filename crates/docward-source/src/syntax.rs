//! Syntax trees: parsing, places, and the errors of the grammars.

use std::ops::ControlFlow;

use tree_sitter::{Language, Node, ParseOptions, ParseState, Parser, Tree};

use crate::place::{Place, Places};

/// A file with more errors is not in the language.
const MAX_PROBLEMS: usize = 50;

/// Minimum number of parser steps, and the number of bytes that add one. Valid texts need one step for about a
/// hundred bytes.
const MIN_TURNS: usize = 1000;
const BYTES_A_TURN: usize = 10;

/// A part that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The line, counted from 1.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
    /// The error message, in lower case and without a full stop.
    pub message: String,
}

/// A text and its tree.
pub struct Source<'t> {
    /// The text.
    pub text: &'t str,
    places: Places<'t>,
    tree: Tree,
}

impl<'t> Source<'t> {
    /// Parses a text. The parser recovers from syntax errors by trial, and on some texts that never ends. So the
    /// number of its steps is limited, far above what valid texts need. A limit of steps, unlike one of time, always
    /// gives the same result for the same text.
    pub fn parse(language: &Language, text: &'t str) -> Result<Self, Problem> {
        let bytes = text.as_bytes();
        let mut turns = MIN_TURNS + bytes.len() / BYTES_A_TURN;
        let mut patience = |_: &ParseState| {
            turns = turns.saturating_sub(1);
            if turns == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut patience);
        let mut parser = Parser::new();
        let tree = parser.set_language(language).ok().and_then(|()| {
            let mut input = |at: usize, _| bytes.get(at..).unwrap_or_default();
            parser.parse_with_options(&mut input, None, Some(options))
        });
        match tree {
            Some(tree) => Ok(Self { text, places: Places::new(text), tree }),
            None => Err(Problem {
                line: 1,
                column: 1,
                message: "too damaged to be read: the parser gave up".to_owned(),
            }),
        }
    }

    /// The node of the whole file.
    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// The text of a node.
    pub fn text_of(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Returns the end of the comment around a position, or `None` in a string. In code that cannot be parsed,
    /// every position may be in a comment.
    pub fn end_of_comment(&self, at: usize) -> Option<usize> {
        let mut node = self.root().descendant_for_byte_range(at, at);
        while let Some(here) = node {
            let kind = here.kind();
            if kind.ends_with("comment") {
                return Some(here.end_byte());
            }
            if kind.contains("string") || kind.contains("heredoc") {
                return None;
            }
            node = here.parent();
        }
        Some(self.text.len())
    }

    /// Returns the position at which a node begins.
    pub fn place(&self, node: Node<'_>) -> Place {
        self.places.at(node.start_byte())
    }

    /// All nodes from `node` on, in the order of the text, `node` first.
    pub fn walk<'n>(&self, node: Node<'n>, mut visit: impl FnMut(Node<'n>) -> Walk) {
        self.walk_within(node, |node, _| visit(node));
    }

    /// Like [`Self::walk`], with the ancestors of each node, outermost first. Trees may be as deep as the text is long,
    /// so the walk is not recursive. The library's own access to a parent is recursive, so it is not used anywhere.
    pub fn walk_within<'n>(
        &self,
        node: Node<'n>,
        mut visit: impl FnMut(Node<'n>, &[Node<'n>]) -> Walk,
    ) {
        let mut cursor = node.walk();
        let mut around: Vec<Node<'n>> = Vec::new();
        loop {
            let here = cursor.node();
            if visit(here, &around) == Walk::Into && cursor.goto_first_child() {
                around.push(here);
                continue;
            }
            loop {
                if around.is_empty() {
                    return;
                }
                if cursor.goto_next_sibling() {
                    break;
                }
                cursor.goto_parent();
                around.pop();
            }
        }
    }

    /// Returns the number of syntax errors, up to a limit.
    pub fn errors(&self) -> usize {
        self.problems().len()
    }

    /// The syntax errors: one for each section of text that does not parse.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !self.root().has_error() {
            return problems;
        }
        self.walk(self.root(), |node| {
            if problems.len() >= MAX_PROBLEMS || !node.has_error() && !node.is_missing() {
                return Walk::Past;
            }
            let message = if node.is_missing() {
                format!("syntax error: `{}` is missing", node.kind())
            } else if node.is_error() {
                let text = quoted(self.text_of(node));
                match text.chars().count() {
                    0 => "syntax error".to_owned(),
                    1..=30 => format!("syntax error at `{text}`"),
                    _ => {
                        let start: String = text.chars().take(30).collect();
                        format!("syntax error at `{start}…`")
                    }
                }
            } else {
                return Walk::Into;
            };
            let Place { line, column } = self.place(node);
            problems.push(Problem { line, column, message });
            Walk::Past
        });
        problems
    }
}

/// The next step of a walk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// To the children.
    Into,
    /// To the next node that is not a child.
    Past,
}

/// The named children, without comments.
pub fn parts(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.kind().ends_with("comment")).collect()
}

/// The first named child of a kind.
pub fn part<'n>(node: Node<'n>, kind: &str) -> Option<Node<'n>> {
    parts(node).into_iter().find(|child| child.kind() == kind)
}

/// Shortens source text for a message.
pub fn quoted(text: &str) -> String {
    const MAX: usize = 80;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX {
        return line;
    }
    let mut short: String = line.chars().take(MAX - 1).collect();
    short.push('…');
    short
}
