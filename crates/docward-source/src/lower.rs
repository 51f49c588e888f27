//! Lowers syntax trees to [`super::ir`]: the common parts of the dialects.
//!
//! A dialect is one function over the kinds of nodes of its grammar. It replaces an unknown node by the nodes
//! it holds, so a call inside of an unknown construct is still seen.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use tree_sitter::Node;

use super::{
    Language,
    ir::{
        Arg, Call, Entry, Expr, Function, Import, Iteration, Key, Kind, Mark, Part, Scope, ScopeId,
        ScopeKind, Statement, StatementKind, Unit,
    },
};
use crate::syntax::{Source, part, parts};

/// Maximum nesting depth. Deeper code is skipped.
const MAX_DEPTH: u32 = 150;

/// Statements after which the rest of a block does not run.
const LEAVES: [&str; 6] = [
    "return_statement",
    "throw_statement",
    "raise_statement",
    "continue_statement",
    "break_statement",
    "jump_expression",
];

/// A file while it is lowered.
pub(crate) struct Lower<'s, 't> {
    pub(crate) source: &'s Source<'t>,
    pub(crate) unit: Unit<'t>,
    /// The names that a dialect has collected, with the kind of builder that each holds.
    pub(crate) builders: BTreeMap<&'t str, &'static str>,
    /// Names of class fields that mean `this.name`, and variables that do not, with the scope of each.
    pub(crate) fields: BTreeSet<(ScopeId, &'t str)>,
    pub(crate) locals: BTreeSet<(ScopeId, &'t str)>,
    depth: u32,
}

/// Lowers a file.
pub(crate) fn lower<'t>(source: &Source<'t>, language: Language) -> Unit<'t> {
    let end = source.text.len();
    let module = Scope { kind: ScopeKind::Module, parent: 0, at: 0, end, leaves: false };
    let unit = Unit {
        language,
        scopes: vec![module],
        statements: Vec::new(),
        imports: Vec::new(),
        block_names: Vec::new(),
        locals: Vec::new(),
        outer_names: Vec::new(),
        exports: false,
        remarks: Vec::new(),
        iterations: Vec::new(),
    };
    let mut lower = Lower {
        source,
        unit,
        builders: BTreeMap::new(),
        fields: BTreeSet::new(),
        locals: BTreeSet::new(),
        depth: 0,
    };
    let expr = lower.node(source.root(), 0);
    lower.eval(expr, 0);
    lower.unit
}

impl<'t> Lower<'_, 't> {
    /// Lowers any node: records statements, and returns expressions.
    pub(crate) fn node(&mut self, node: Node<'_>, scope: ScopeId) -> Expr<'t> {
        if self.depth >= MAX_DEPTH {
            return Expr::nothing(node.start_byte());
        }
        if node.kind().ends_with("comment") {
            self.unit.remarks.push((node.start_byte(), node.end_byte()));
            return Expr::nothing(node.start_byte());
        }
        if LEAVES.contains(&node.kind()) {
            self.unit.scopes[scope].leaves = true;
        }
        self.depth += 1;
        let kind = (self.unit.language.dialect().lower)(self, node, scope);
        self.depth -= 1;
        Expr { at: node.start_byte(), end: node.end_byte(), kind }
    }

    pub(crate) fn text(&self, node: Node<'_>) -> &'t str {
        self.source.text_of(node)
    }

    /// The text of a field of a node.
    pub(crate) fn field_text(&self, node: Node<'_>, field: &str) -> &'t str {
        node.child_by_field_name(field).map_or("", |child| self.text(child))
    }

    pub(crate) fn field(&mut self, node: Node<'_>, field: &str, scope: ScopeId) -> Expr<'t> {
        match node.child_by_field_name(field) {
            Some(child) => self.node(child, scope),
            None => Expr::nothing(node.start_byte()),
        }
    }

    pub(crate) fn boxed(&mut self, node: Node<'_>, field: &str, scope: ScopeId) -> Box<Expr<'t>> {
        Box::new(self.field(node, field, scope))
    }

    /// All named children, one after the other.
    pub(crate) fn children(&mut self, node: Node<'_>, scope: ScopeId) -> Vec<Expr<'t>> {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        children
            .into_iter()
            .map(|child| self.node(child, scope))
            .filter(|expr| !matches!(&expr.kind, Kind::Other(held) if held.is_empty()))
            .collect()
    }

    /// Lowers an unknown node to its only child, or to all of them.
    pub(crate) fn rest(&mut self, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
        let mut held = self.children(node, scope);
        if held.len() == 1 { held.remove(0).kind } else { Kind::Other(held) }
    }

    /// The statements of a block.
    pub(crate) fn block(&mut self, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
        for expr in self.children(node, scope) {
            self.eval(expr, scope);
        }
        Kind::Other(Vec::new())
    }

    pub(crate) fn block_field(&mut self, node: Node<'_>, field: &str, scope: ScopeId) {
        if let Some(child) = node.child_by_field_name(field) {
            let expr = self.node(child, scope);
            self.eval(expr, scope);
        }
    }

    pub(crate) fn enter(
        &mut self,
        kind: ScopeKind<'t>,
        parent: ScopeId,
        node: Node<'_>,
    ) -> ScopeId {
        let (at, end) = (node.start_byte(), node.end_byte());
        self.unit.scopes.push(Scope { kind, parent, at, end, leaves: false });
        self.unit.scopes.len() - 1
    }

    pub(crate) fn put(&mut self, scope: ScopeId, kind: StatementKind<'t>) {
        self.unit.statements.push(Statement { scope, kind });
    }

    /// Records an expression as a statement, unless it is empty.
    pub(crate) fn eval(&mut self, expr: Expr<'t>, scope: ScopeId) {
        match expr.kind {
            Kind::Other(held) => held.into_iter().for_each(|expr| self.eval(expr, scope)),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Name(_) => {}
            _ => self.put(scope, StatementKind::Eval(expr)),
        }
    }

    pub(crate) fn assign(&mut self, target: Expr<'t>, value: Expr<'t>, adds: bool, scope: ScopeId) {
        self.put(scope, StatementKind::Assign { target, value, adds });
    }

    /// `left = right`.
    pub(crate) fn assignment(&mut self, node: Node<'_>, adds: bool, scope: ScopeId) -> Kind<'t> {
        let target = self.field(node, "left", scope);
        let value = self.field(node, "right", scope);
        self.assign(target, value, adds, scope);
        Kind::Other(Vec::new())
    }

    /// Returns the value that a function returns.
    pub(crate) fn returned(&mut self, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
        for expr in self.children(node, scope) {
            self.put(scope, StatementKind::Return(expr));
        }
        Kind::Other(Vec::new())
    }

    pub(crate) fn binary(&mut self, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
        Kind::Binary(
            self.field_text(node, "operator"),
            self.boxed(node, "left", scope),
            self.boxed(node, "right", scope),
        )
    }

    /// A conditional value; `order` has the positions of its parts in the syntax.
    pub(crate) fn choice(&mut self, node: Node<'_>, order: [usize; 3], scope: ScopeId) -> Kind<'t> {
        let held = parts(node);
        let mut at = |n: usize| match held.get(n) {
            Some(child) => self.node(*child, scope),
            None => Expr::nothing(node.start_byte()),
        };
        Kind::Choice(Box::new(order.map(&mut at)))
    }

    /// A loop without a head.
    pub(crate) fn whole_loop(&mut self, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
        let inner = self.enter(ScopeKind::Loop, scope, node);
        for expr in self.children(node, inner) {
            self.eval(expr, inner);
        }
        Kind::Other(Vec::new())
    }

    /// `import a.b.C`, where the last name is the one used.
    pub(crate) fn imported_path(&mut self, node: Node<'_>) -> Kind<'t> {
        let path = parts(node).first().map(|path| self.text(*path)).unwrap_or_default();
        let (module, name) = path.rsplit_once('.').unwrap_or(("", path));
        self.import(name, module, name);
        Kind::Other(Vec::new())
    }

    /// Annotations of a field are lowered as expressions: `@Value("${spring.data.mongodb.uri:mongodb://…}")`.
    pub(crate) fn modifiers(&mut self, node: Node<'_>, scope: ScopeId) {
        if let Some(modifiers) = part(node, "modifiers") {
            let expr = self.node(modifiers, scope);
            self.eval(expr, scope);
        }
    }

    /// A decorator: a name, or a call.
    pub(crate) fn mark(&mut self, node: Node<'_>, scope: ScopeId) -> Option<Mark<'t>> {
        let held = parts(node).into_iter().next()?;
        let expr = self.node(held, scope);
        match expr.kind {
            Kind::Call(call) => Some(Mark { path: call.callee.path()?, args: call.args }),
            _ => Some(Mark { path: expr.path()?, args: Vec::new() }),
        }
    }

    /// A string of fragments, escapes and interpolated values.
    pub(crate) fn fragments(&mut self, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
        let mut held = Vec::new();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            held.push(match child.kind() {
                "escape_sequence" => Part::Text(unescaped(self.text(child)), child.start_byte()),
                "template_substitution" | "interpolation" => {
                    let inner = parts(child).first().map(|inner| self.node(*inner, scope));
                    let inner = inner.unwrap_or_else(|| Expr::nothing(child.start_byte()));
                    Part::Hole(Box::new(inner))
                }
                _ => self.literal(child),
            });
        }
        Kind::Text(held)
    }

    /// A loop: its head runs in the enclosing scope, its body repeatedly.
    pub(crate) fn repeat(&mut self, node: Node<'_>, head: &[&str], scope: ScopeId) -> Kind<'t> {
        for field in head {
            self.block_field(node, field, scope);
        }
        if let Some(body) = node.child_by_field_name("body") {
            let inner = self.enter(ScopeKind::Loop, scope, body);
            let expr = self.node(body, inner);
            self.eval(expr, inner);
        }
        Kind::Other(Vec::new())
    }

    /// A loop over the elements of a list: `for (const batch of batches)`. Each is an element of the list.
    pub(crate) fn repeat_each(&mut self, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
        let list = self.boxed(node, "right", scope);
        let left = node.child_by_field_name("left");
        self.iterate(left, &list, node.child_by_field_name("body"), scope);
        match left.filter(|left| left.kind() == "identifier") {
            Some(left) => {
                let at = left.start_byte();
                let name = Expr { at, end: left.end_byte(), kind: Kind::Name(self.text(left)) };
                let any = Box::new(Expr { at, end: at, kind: Kind::Null });
                let value = Expr { at: list.at, end: list.end, kind: Kind::Index(list, any) };
                self.assign(name, value, false, scope);
            }
            None => self.eval(*list, scope),
        }
        self.repeat(node, &[], scope)
    }

    /// Records a loop over the elements of a list: the names of an element, and the code that runs for each.
    pub(crate) fn iterate(
        &mut self,
        element: Option<Node<'_>>,
        list: &Expr<'t>,
        body: Option<Node<'_>>,
        scope: ScopeId,
    ) {
        let (Some(element), Some(body)) = (element, body) else { return };
        let mut names = Vec::new();
        self.names_in(element, &mut names);
        let (at, end) = (body.start_byte(), body.end_byte());
        self.unit.iterations.push(Iteration { names, list: list.clone(), scope, at, end });
    }

    /// The names that a pattern declares.
    fn names_in(&self, node: Node<'_>, out: &mut Vec<&'t str>) {
        match node.kind() {
            "identifier" | "shorthand_property_identifier_pattern" | "variable_name" => {
                out.push(self.text(node).trim_start_matches('$'));
            }
            _ => parts(node).into_iter().for_each(|child| self.names_in(child, out)),
        }
    }

    /// Lowers a `case`. The bodies of other cases do not run with it.
    pub(crate) fn case(&mut self, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
        let inner = self.enter(ScopeKind::Branch(None), scope, node);
        self.block(node, inner)
    }

    /// `if`: each branch is a scope that knows its condition.
    pub(crate) fn branches(&mut self, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
        let condition = node.child_by_field_name("condition").map(|child| {
            let expr = self.node(child, scope);
            self.eval(expr.clone(), scope);
            expr
        });
        let fields: Vec<Node<'_>> = ["consequence", "alternative"]
            .into_iter()
            .flat_map(|field| {
                node.children_by_field_name(field, &mut node.walk()).collect::<Vec<_>>()
            })
            .collect();
        for branch in fields {
            let inner = self.enter(ScopeKind::Branch(condition.clone()), scope, branch);
            let expr = self.node(branch, inner);
            self.eval(expr, inner);
        }
        Kind::Other(Vec::new())
    }

    pub(crate) fn function(
        &mut self,
        function: Function<'t>,
        body: Option<Node<'_>>,
        node: Node<'_>,
        scope: ScopeId,
    ) -> ScopeId {
        let inner = self.enter(ScopeKind::Function(function), scope, node);
        if let Some(body) = body {
            let expr = self.node(body, inner);
            // The body of an arrow function is its return value.
            if matches!(&expr.kind, Kind::Other(_)) {
                self.eval(expr, inner);
            } else {
                self.put(inner, StatementKind::Return(expr));
            }
        }
        inner
    }

    pub(crate) fn call(&mut self, callee: Expr<'t>, args: Vec<Arg<'t>>) -> Kind<'t> {
        let to = callee.path().or_else(|| callee.last_name().map(str::to_owned));
        for arg in &args {
            if let Kind::Function(id) = arg.value.kind
                && let ScopeKind::Function(function) = &mut self.unit.scopes[id].kind
            {
                function.passed_to = to.clone();
            }
        }
        Kind::Call(Box::new(Call { callee, args }))
    }

    pub(crate) fn import(
        &mut self,
        local: &'t str,
        module: impl Into<Cow<'t, str>>,
        name: &'t str,
    ) {
        self.unit.imports.push(Import { local, module: module.into(), name });
    }

    pub(crate) fn literal(&self, node: Node<'_>) -> Part<'t> {
        Part::Text(Cow::Borrowed(self.text(node)), node.start_byte())
    }

    /// A string with one quote character on both sides, without escapes that matter.
    pub(crate) fn quoted(&self, node: Node<'_>, quotes: usize) -> Kind<'t> {
        let text = self.text(node);
        let inner = text.get(quotes..text.len().saturating_sub(quotes)).unwrap_or_default();
        Kind::Text(vec![Part::Text(Cow::Borrowed(inner), node.start_byte() + quotes)])
    }
}

/// Returns the text of an escape sequence, or the sequence itself if it is not a usual one.
pub(crate) fn unescaped(sequence: &str) -> Cow<'_, str> {
    match sequence {
        "\\n" => "\n".into(),
        "\\t" => "\t".into(),
        "\\r" => "\r".into(),
        "\\\\" => "\\".into(),
        "\\\"" => "\"".into(),
        "\\'" => "'".into(),
        "\\/" => "/".into(),
        "\\$" => "$".into(),
        "\\`" => "`".into(),
        "\\\n" => "".into(),
        other => other.into(),
    }
}

/// Joins strings and their holes to one.
pub(crate) fn joined<'t>(items: Vec<Expr<'t>>) -> Kind<'t> {
    let mut parts = Vec::new();
    for item in items {
        match item.kind {
            Kind::Text(held) => parts.extend(held),
            _ => parts.push(Part::Hole(Box::new(item))),
        }
    }
    Kind::Text(parts)
}

pub(crate) fn entry<'t>(key: Expr<'t>, value: Expr<'t>) -> Entry<'t> {
    let at = key.at;
    let key = match key.text() {
        Some(text) => Key::Text(Cow::Owned(text.into_owned())),
        None => Key::Computed(Box::new(key)),
    };
    Entry { key, value, at }
}
