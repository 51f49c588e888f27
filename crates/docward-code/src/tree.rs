//! Syntax trees: parsing, places, and what the grammars could not read.

use std::ops::ControlFlow;

use tree_sitter::{Language, Node, ParseOptions, ParseState, Parser, Tree};

use crate::{Place, Problem, place::Places};

/// A file in which more is wrong is not of the language.
const MAX_PROBLEMS: usize = 50;

/// Turns that the parser gets in any case, and how many bytes add another. Sound texts need one for about a
/// hundred bytes.
const MIN_TURNS: usize = 1000;
const BYTES_A_TURN: usize = 10;

/// A text and its tree.
pub(crate) struct Source<'t> {
    pub(crate) text: &'t str,
    places: Places<'t>,
    tree: Tree,
}

impl<'t> Source<'t> {
    /// Parses. The parser mends mistakes by trying, and on some texts does so without end; it is given a
    /// number of turns that sound texts come nowhere near, rather than a time, so that the same text always
    /// gives the same result.
    pub(crate) fn parse(language: &Language, text: &'t str) -> Result<Self, Problem> {
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

    pub(crate) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    pub(crate) fn text_of(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    pub(crate) fn place(&self, node: Node<'_>) -> Place {
        self.places.at(node.start_byte())
    }

    /// All nodes from `node` on, in the order of the text, `node` first.
    pub(crate) fn walk<'n>(&self, node: Node<'n>, mut visit: impl FnMut(Node<'n>) -> Walk) {
        self.walk_within(node, |node, _| visit(node));
    }

    /// The same, with the nodes around each, outermost first. Trees may be as deep as the text is long, so
    /// nothing here is recursive; the library's own way to a parent is, so it is not used anywhere.
    pub(crate) fn walk_within<'n>(
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

    /// How many syntax errors there are, up to a limit.
    pub(crate) fn errors(&self) -> usize {
        self.problems().len()
    }

    /// The syntax errors: one for each stretch of text that fits nowhere.
    pub(crate) fn problems(&self) -> Vec<Problem> {
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
                let text = crate::draft::quoted(self.text_of(node));
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

/// How a walk goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Walk {
    Into,
    Past,
}

/// The named children, comments aside.
pub(crate) fn parts(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.kind().ends_with("comment")).collect()
}

/// The first named child of a kind.
pub(crate) fn part<'n>(node: Node<'n>, kind: &str) -> Option<Node<'n>> {
    parts(node).into_iter().find(|child| child.kind() == kind)
}
