//! The intermediate representation of source code in all languages: scopes, statements and expressions.
//!
//! It contains the facts that questions about MongoDB need (who calls what with which arguments, inside of what) and
//! nothing else. The lowering evaluates no expressions; [`super::values`] folds constants.

use std::borrow::Cow;

use super::Language;

/// A scope by its number.
pub(crate) type ScopeId = usize;

/// One file.
pub(crate) struct Unit<'t> {
    pub(crate) language: Language,
    pub(crate) scopes: Vec<Scope<'t>>,
    pub(crate) statements: Vec<Statement<'t>>,
    pub(crate) imports: Vec<Import<'t>>,
    /// Names that a block declares, with the scope in which they are visible: `let`, `const` and `var` of scripts,
    /// variables of C#.
    pub(crate) block_names: Vec<(ScopeId, &'t str)>,
    /// Variables that Go, Java and Kotlin declare, with their scope.
    pub(crate) locals: Vec<(ScopeId, &'t str)>,
    /// Whether a statement of JavaScript exports something.
    pub(crate) exports: bool,
    /// Names that a function of Python takes from an outer scope: `global`, `nonlocal`.
    pub(crate) outer_names: Vec<(ScopeId, &'t str)>,
    /// Comments and documentation, as byte ranges.
    pub(crate) remarks: Vec<(usize, usize)>,
    /// Loops and comprehensions over the elements of a list.
    pub(crate) iterations: Vec<Iteration<'t>>,
}

/// A loop or comprehension over the elements of a list.
pub(crate) struct Iteration<'t> {
    /// The names of an element or of its parts.
    pub(crate) names: Vec<&'t str>,
    pub(crate) list: Expr<'t>,
    /// The scope in which names in the list are resolved.
    pub(crate) scope: ScopeId,
    /// The byte range of the code that runs for each element.
    pub(crate) at: usize,
    pub(crate) end: usize,
}

/// The declaration in another file that a name refers to.
pub(crate) struct Import<'t> {
    /// The name in this file.
    pub(crate) local: &'t str,
    /// The module, as written.
    pub(crate) module: Cow<'t, str>,
    /// The name there; empty for the module itself.
    pub(crate) name: &'t str,
}

/// A piece of code that runs as a whole: a file, class, function, loop or branch.
pub(crate) struct Scope<'t> {
    pub(crate) kind: ScopeKind<'t>,
    pub(crate) parent: ScopeId,
    pub(crate) at: usize,
    pub(crate) end: usize,
    /// Whether a statement in the block leaves the block: `return`, `throw`, `continue`, `break`.
    pub(crate) leaves: bool,
}

pub(crate) enum ScopeKind<'t> {
    Module,
    Class {
        name: &'t str,
        bases: Vec<&'t str>,
        marks: Vec<Mark<'t>>,
    },
    Function(Function<'t>),
    Loop,
    /// A branch, with its condition.
    Branch(Option<Expr<'t>>),
}

pub(crate) struct Function<'t> {
    pub(crate) name: &'t str,
    /// Parameters: name and type, as written.
    pub(crate) parameters: Vec<(&'t str, &'t str)>,
    pub(crate) marks: Vec<Mark<'t>>,
    /// The call it is an argument of, `app.get`.
    pub(crate) passed_to: Option<String>,
    pub(crate) exported: bool,
}

/// A decorator or annotation.
pub(crate) struct Mark<'t> {
    pub(crate) path: String,
    pub(crate) args: Vec<Arg<'t>>,
}

pub(crate) struct Statement<'t> {
    pub(crate) scope: ScopeId,
    pub(crate) kind: StatementKind<'t>,
}

pub(crate) enum StatementKind<'t> {
    /// `target = value`; `adds` for `+=` and similar operators.
    Assign {
        target: Expr<'t>,
        value: Expr<'t>,
        adds: bool,
    },
    Eval(Expr<'t>),
    Return(Expr<'t>),
}

#[derive(Clone)]
pub(crate) struct Expr<'t> {
    pub(crate) at: usize,
    pub(crate) end: usize,
    pub(crate) kind: Kind<'t>,
}

#[derive(Clone)]
pub(crate) enum Kind<'t> {
    Text(Vec<Part<'t>>),
    Number(&'t str),
    Bool(bool),
    Null,
    Name(&'t str),
    Member(Box<Expr<'t>>, &'t str),
    Index(Box<Expr<'t>>, Box<Expr<'t>>),
    Call(Box<Call<'t>>),
    Object(Vec<Entry<'t>>),
    List(Vec<Expr<'t>>),
    Binary(&'t str, Box<Expr<'t>>, Box<Expr<'t>>),
    Function(ScopeId),
    /// `a ? b : c`: the condition, and the two values.
    Choice(Box<[Expr<'t>; 3]>),
    /// Anything else, with its parts.
    Other(Vec<Expr<'t>>),
}

/// A part of a text.
#[derive(Clone)]
pub(crate) enum Part<'t> {
    /// Characters, and the position of the first one. Escapes are resolved.
    Text(Cow<'t, str>, usize),
    /// A computed part.
    Hole(Box<Expr<'t>>),
}

#[derive(Clone)]
pub(crate) struct Call<'t> {
    pub(crate) callee: Expr<'t>,
    pub(crate) args: Vec<Arg<'t>>,
}

#[derive(Clone)]
pub(crate) struct Arg<'t> {
    pub(crate) name: Option<&'t str>,
    pub(crate) value: Expr<'t>,
    /// `**options`, `...options`.
    pub(crate) spread: bool,
}

#[derive(Clone)]
pub(crate) struct Entry<'t> {
    pub(crate) key: Key<'t>,
    pub(crate) value: Expr<'t>,
    pub(crate) at: usize,
}

#[derive(Clone)]
pub(crate) enum Key<'t> {
    Text(Cow<'t, str>),
    /// The expression that it is computed from.
    Computed(Box<Expr<'t>>),
    /// All entries of the value.
    Spread,
}

impl<'t> Expr<'t> {
    pub(crate) fn nothing(at: usize) -> Self {
        Self { at, end: at, kind: Kind::Other(Vec::new()) }
    }

    /// `a.b.c` of names and members; `None` if it contains anything else.
    pub(crate) fn path(&self) -> Option<String> {
        match &self.kind {
            Kind::Name(name) => Some((*name).to_owned()),
            Kind::Member(of, name) => Some(format!("{}.{name}", of.path()?)),
            _ => None,
        }
    }

    /// The last name of a path or of a call's callee.
    pub(crate) fn last_name(&self) -> Option<&'t str> {
        match &self.kind {
            Kind::Name(name) | Kind::Member(_, name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn call(&self) -> Option<&Call<'t>> {
        match &self.kind {
            Kind::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The string, if no part of it is computed.
    pub(crate) fn text(&self) -> Option<Cow<'_, str>> {
        let Kind::Text(parts) = &self.kind else { return None };
        match parts.as_slice() {
            [] => Some(Cow::Borrowed("")),
            [Part::Text(text, _)] => Some(Cow::Borrowed(text)),
            parts => parts
                .iter()
                .map(|part| match part {
                    Part::Text(text, _) => Some(text.as_ref()),
                    Part::Hole(_) => None,
                })
                .collect::<Option<String>>()
                .map(Cow::Owned),
        }
    }

    /// Visits this expression and all in it, outermost first. Bodies of functions are separate statements and are not
    /// visited.
    pub(crate) fn visit<'e>(&'e self, see: &mut dyn FnMut(&'e Expr<'t>)) {
        see(self);
        match &self.kind {
            Kind::Text(parts) => {
                for part in parts {
                    if let Part::Hole(hole) = part {
                        hole.visit(see);
                    }
                }
            }
            Kind::Member(of, _) => of.visit(see),
            Kind::Index(of, at) | Kind::Binary(_, of, at) => {
                of.visit(see);
                at.visit(see);
            }
            Kind::Call(call) => {
                call.callee.visit(see);
                call.args.iter().for_each(|arg| arg.value.visit(see));
            }
            Kind::Object(entries) => entries.iter().for_each(|entry| entry.value.visit(see)),
            Kind::List(items) | Kind::Other(items) => items.iter().for_each(|e| e.visit(see)),
            Kind::Choice(held) => held.iter().for_each(|e| e.visit(see)),
            Kind::Number(_) | Kind::Bool(_) | Kind::Null | Kind::Name(_) | Kind::Function(_) => {}
        }
    }
}

impl<'t> Call<'t> {
    /// An argument by position; named ones do not count.
    pub(crate) fn positional(&self, n: usize) -> Option<&Expr<'t>> {
        self.args.iter().filter(|arg| arg.name.is_none() && !arg.spread).nth(n).map(|a| &a.value)
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Expr<'t>> {
        self.args.iter().find(|arg| arg.name == Some(name)).map(|arg| &arg.value)
    }

    /// The method's or function's own name.
    pub(crate) fn method(&self) -> Option<&'t str> {
        self.callee.last_name()
    }

    /// Returns the receiver of a method call.
    pub(crate) fn receiver(&self) -> Option<&Expr<'t>> {
        match &self.callee.kind {
            Kind::Member(of, _) => Some(of),
            _ => None,
        }
    }
}

impl<'t> Entry<'t> {
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.key {
            Key::Text(text) => Some(text),
            Key::Computed(_) | Key::Spread => None,
        }
    }
}

impl<'t> Unit<'t> {
    /// The scopes around one, itself first, the module last.
    pub(crate) fn around(&self, scope: ScopeId) -> impl Iterator<Item = ScopeId> + '_ {
        let mut next = Some(scope);
        std::iter::from_fn(move || {
            let here = next?;
            next = (here != 0).then(|| self.scopes[here].parent);
            Some(here)
        })
    }

    /// The nearest function around, itself included.
    pub(crate) fn function(&self, scope: ScopeId) -> Option<(ScopeId, &Function<'t>)> {
        self.around(scope).find_map(|id| match &self.scopes[id].kind {
            ScopeKind::Function(function) => Some((id, function)),
            _ => None,
        })
    }

    /// The nearest class around.
    pub(crate) fn class(&self, scope: ScopeId) -> Option<(ScopeId, &'t str)> {
        self.around(scope).find_map(|id| match &self.scopes[id].kind {
            ScopeKind::Class { name, .. } => Some((id, *name)),
            _ => None,
        })
    }

    /// The innermost scope around a place.
    pub(crate) fn scope_at(&self, at: usize) -> ScopeId {
        let holds = |scope: &Scope<'t>| scope.at <= at && at < scope.end;
        (0..self.scopes.len()).rev().find(|id| holds(&self.scopes[*id])).unwrap_or(0)
    }

    /// Whether a scope is inside another, or is the same.
    pub(crate) fn is_in(&self, scope: ScopeId, outer: ScopeId) -> bool {
        self.around(scope).any(|id| id == outer)
    }

    /// Every expression of every statement, with its scope.
    pub(crate) fn each<'u>(&'u self, mut see: impl FnMut(ScopeId, &'u Expr<'t>)) {
        for statement in &self.statements {
            let mut see = |expr| see(statement.scope, expr);
            match &statement.kind {
                StatementKind::Assign { target, value, .. } => {
                    target.visit(&mut see);
                    value.visit(&mut see);
                }
                StatementKind::Eval(expr) | StatementKind::Return(expr) => expr.visit(&mut see),
            }
        }
    }

    /// Returns the import of a name.
    pub(crate) fn import(&self, local: &str) -> Option<&Import<'t>> {
        self.imports.iter().find(|import| import.local == local)
    }

    /// Whether anything is imported from a module whose name contains this.
    pub(crate) fn imports_from(&self, part: &str) -> bool {
        self.imports.iter().any(|import| import.module.contains(part))
    }
}
