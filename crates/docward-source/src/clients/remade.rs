//! Clients that are created repeatedly: for each request, in a loop, opened and closed by every function.

use std::collections::BTreeSet;

use docward_model::code::{Origin, RemadeClient, Serverless};

use super::super::{
    Language, Scan, handlers,
    ir::{Expr, Kind, ScopeId, ScopeKind, StatementKind},
};

/// The name of a loop in messages about code that runs repeatedly.
const A_LOOP: &str = "a loop";
/// Methods that close a client.
const CLOSES: [&str; 2] = ["disconnect", "close"];

/// Members and calls by which code tests whether a client exists, or keeps the one it creates.
const KEEPS: [&str; 6] =
    ["readyState", "isConnected", "is_connected", "Do", "getInstance", "get_instance"];

impl<'u, 't> Scan<'u, 't> {
    /// Records a client that is created repeatedly.
    pub(super) fn remade(&mut self, scope: ScopeId, expr: &'u Expr<'t>) {
        let unit = self.values.unit;
        if self.is_kept_by_mongoose(expr) {
            return;
        }
        let within = handlers::repeated(unit, scope, self.within, self.text)
            .filter(|within| within != A_LOOP || self.is_the_same_each_time(expr, scope));
        let Some((id, function)) = unit.function(scope) else {
            self.remake(within, expr.at, scope, None);
            return;
        };
        if handlers::is_made_once(function)
            || self.is_kept(id, expr.at)
            || self.is_made_on_demand(id, scope)
        {
            return;
        }
        if within.is_some() {
            self.remake(within, expr.at, scope, None);
            return;
        }
        // A function that returns a new client each time, or a class that creates one for itself, is a problem if a
        // handler calls it.
        let class = unit.class(unit.scopes[id].parent);
        let is_constructor = matches!(function.name, "__init__" | "constructor");
        let name = match class {
            None => function.name,
            Some((id, name)) if is_constructor && !self.is_shared_class(id) => name,
            Some(_) => return,
        };
        // A function that ends the process leaves no client open.
        if name.is_empty() || self.calls_any(id, &["exit"]) && self.calls_any(id, &CLOSES) {
            return;
        }
        let outermost = class.map_or(id, |(id, _)| id);
        if unit.scopes[outermost].parent == 0 {
            self.out.factories.push(name.to_owned());
        }
        let passed_on = handlers::callers(unit, name)
            .into_iter()
            .filter_map(|(from, at)| self.hands_on(from, at))
            .collect::<Vec<_>>();
        if class.is_none() {
            let through = self.callers_of_factory(name);
            self.out.factories.extend(through.into_iter().map(str::to_owned));
        }
        for name in std::iter::once(name).chain(passed_on) {
            for (from, at) in handlers::callers(unit, name) {
                let within = handlers::repeated(unit, from, self.within, self.text);
                if let Some(within) = within.filter(|within| within != A_LOOP) {
                    self.remake(Some(within), at, from, Some(name.to_owned()));
                    return;
                }
            }
        }
    }

    fn remake(
        &mut self,
        within: Option<String>,
        at: usize,
        scope: ScopeId,
        through: Option<String>,
    ) {
        let Some(within) = within else { return };
        let place = self.place(at, scope);
        let in_loop = within == A_LOOP;
        self.out.code.remade_clients.push(RemadeClient { place, within, in_loop, through });
    }

    /// Whether a method of one of these names is called in a scope.
    fn calls_any(&self, id: ScopeId, methods: &[&str]) -> bool {
        let unit = self.values.unit;
        let mut found = false;
        unit.each(|scope, expr| {
            let method = expr.call().and_then(|call| call.method());
            found |= method.is_some_and(|m| methods.contains(&m)) && unit.is_in(scope, id);
        });
        found
    }

    /// `mongoose.connect(uri)` does nothing while its connection is open, so code that never closes the connection
    /// creates only one.
    fn is_kept_by_mongoose(&self, expr: &Expr<'_>) -> bool {
        let Some(call) = expr.call() else { return false };
        let of = call.receiver().and_then(Expr::path);
        call.method() == Some("connect")
            && of.as_deref() == Some("mongoose")
            && !self.calls_any(0, &CLOSES)
    }

    /// Functions of the file that return the result of a function that creates a client each time:
    /// `def rates(): return connect()["rates"]`.
    fn callers_of_factory(&self, name: &str) -> Vec<&'t str> {
        let unit = self.values.unit;
        let callers = handlers::callers(unit, name).into_iter().filter_map(|(from, at)| {
            let (id, function) = unit.function(from)?;
            let is_returned = unit.statements.iter().any(|statement| {
                matches!(&statement.kind, StatementKind::Return(value) if value.at <= at && at < value.end)
            });
            let is_own = unit.scopes[id].parent == 0 && !function.name.is_empty();
            (is_own && is_returned && !handlers::is_made_once(function) && !self.is_kept(id, at))
                .then_some(function.name)
        });
        callers.collect()
    }

    /// The enclosing function of a call that creates a client, if it passes the client on and keeps it no longer than a
    /// request: `g.db = connect()` of Flask.
    fn hands_on(&self, scope: ScopeId, at: usize) -> Option<&'t str> {
        let unit = self.values.unit;
        let (id, function) = unit.function(scope)?;
        let keeps_in_request = unit.import("g").is_some_and(|import| import.module == "flask")
            && unit.statements.iter().any(|statement| {
                let StatementKind::Assign { target, value, .. } = &statement.kind else {
                    return false;
                };
                let holds = value.at <= at && at < value.end;
                holds && target.path().is_some_and(|path| path.starts_with("g."))
            });
        (unit.scopes[id].parent == 0
            && keeps_in_request
            && !function.name.is_empty()
            && !self.is_kept(id, at))
        .then_some(function.name)
    }

    /// Whether a client is created only for a caller that requests a separate one: a parameter decides.
    fn is_made_on_demand(&self, id: ScopeId, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let ScopeKind::Function(function) = &unit.scopes[id].kind else { return false };
        unit.around(scope).take_while(|around| *around != id).any(|around| {
            matches!(&unit.scopes[around].kind, ScopeKind::Branch(Some(condition))
                if matches!(condition.kind, Kind::Name(asked)
                    if function.parameters.iter().any(|(name, _)| *name == asked)))
        })
    }

    /// Whether a class returns the same object to all callers: then its constructor runs once.
    fn is_shared_class(&self, id: ScopeId) -> bool {
        let unit = self.values.unit;
        let says_so = |name: &str| {
            let lower = name.to_ascii_lowercase();
            lower.contains("instance") || lower.contains("singleton") || name == "__new__"
        };
        unit.scopes.iter().any(|scope| {
            matches!(&scope.kind, ScopeKind::Function(own) if scope.parent == id && says_so(own.name))
        }) || unit.statements.iter().any(|statement| match &statement.kind {
            StatementKind::Assign { target, .. } => {
                unit.is_in(statement.scope, id) && target.last_name().is_some_and(says_so)
            }
            _ => false,
        })
    }

    /// Whether a loop creates the same client again: none of its arguments change.
    fn is_the_same_each_time(&self, expr: &'u Expr<'t>, scope: ScopeId) -> bool {
        let Some(call) = expr.call() else { return false };
        call.args.iter().all(|arg| {
            let folded = self.values.fold(&arg.value, scope);
            folded.fallback
                || folded.whole().is_some()
                || arg.value.path().is_some_and(|path| {
                    path.contains("env") || path.chars().all(|c| !c.is_ascii_lowercase())
                })
        })
    }

    /// Whether the connection string comes with the request: each request may then connect elsewhere, and there is no
    /// client to reuse.
    pub(super) fn is_asked_for(&self, uri: &'u Expr<'t>, scope: ScopeId) -> bool {
        self.origins(uri, scope).contains(&Origin::Request)
    }

    /// Records a shared client that a handler connects and closes.
    pub(super) fn opened_and_closed(&mut self) {
        let unit = self.values.unit;
        let mut opened = Vec::new();
        let mut closed = BTreeSet::new();
        unit.each(|scope, expr| {
            let Some(call) = expr.call().filter(|call| call.args.is_empty()) else { return };
            let Some(path) = call.receiver().and_then(Expr::path) else { return };
            let lower = path.to_ascii_lowercase();
            if !lower.contains("client") && !lower.contains("mongo") {
                return;
            }
            let function = unit.function(scope).map(|(id, _)| id);
            match call.method() {
                Some("connect") => opened.push((scope, expr.at, function, path)),
                Some("close") => {
                    closed.insert((function, path));
                }
                _ => {}
            }
        });
        for (scope, at, function, path) in opened {
            let is_made_here = function.is_some_and(|id| {
                let root = path.split('.').next().unwrap_or(&path);
                self.values.given(root, scope).iter().any(|(at, _)| unit.is_in(*at, id))
            });
            if !is_made_here
                && closed.contains(&(function, path))
                && let Some(within) = handlers::handler_around(unit, scope, self.within)
            {
                self.remake(Some(format!("{within}, and closed again")), at, scope, None);
            }
        }
    }

    /// Whether the client that a function creates at `at` is kept for the next call: the function stores it outside,
    /// or creates it after a test or an early return.
    fn is_kept(&self, id: ScopeId, at: usize) -> bool {
        let unit = self.values.unit;
        let mut keeps = false;
        unit.each(|scope, expr| {
            let names = matches!(&expr.kind, Kind::Member(_, name) | Kind::Name(name) if KEEPS.contains(name));
            keeps |= names && unit.is_in(scope, id);
        });
        if keeps {
            return true;
        }
        // A test around it, or a test before it that leaves the function.
        let tested: Vec<String> = unit
            .scopes
            .iter()
            .enumerate()
            .filter(|(branch, _)| unit.is_in(*branch, id))
            .filter_map(|(_, scope)| match &scope.kind {
                ScopeKind::Branch(Some(condition)) if scope.at <= at => Some(condition),
                _ => None,
            })
            .flat_map(|condition| {
                let mut paths = Vec::new();
                condition.visit(&mut |expr| paths.extend(expr.path()));
                paths
            })
            .collect();
        if tested.is_empty() {
            return false;
        }
        unit.statements.iter().any(|statement| {
            let StatementKind::Assign { target, adds: false, .. } = &statement.kind else {
                return false;
            };
            // `clients[name] = …` is kept in `clients`.
            let (target, is_item) = match &target.kind {
                Kind::Index(of, _) => (&**of, true),
                _ => (target, false),
            };
            let outlives = |path: &str| match is_item {
                true => !self.values.given(path, id).iter().any(|(at, _)| unit.is_in(*at, id)),
                false => self.outlives(path, id),
            };
            unit.is_in(statement.scope, id)
                && target.path().is_some_and(|path| {
                    outlives(&path)
                        && tested.iter().any(|tested| {
                            *tested == path
                                || tested.starts_with(&format!("{path}."))
                                || path.starts_with(&format!("{tested}."))
                        })
                })
        })
    }

    /// Whether a value assigned to a name outlives the function. Names in functions of Python do not, nor do the
    /// objects that Flask discards after each request.
    fn outlives(&self, path: &str, id: ScopeId) -> bool {
        let unit = self.values.unit;
        let root = path.split('.').next().unwrap_or(path);
        let is_declared = |names: &[(ScopeId, &str)]| {
            names.iter().any(|(at, name)| *name == root && unit.is_in(*at, id))
        };
        match unit.language {
            Language::Python if path.contains('.') => {
                !(matches!(root, "g" | "request")
                    && unit.import(root).is_some_and(|import| import.module == "flask"))
            }
            Language::Python => is_declared(&unit.outer_names),
            language if language.is_script() => !is_declared(&unit.block_names),
            _ => !is_declared(&unit.locals),
        }
    }

    /// Records calls of functions in other files that create a client each time.
    pub(super) fn factories_of_others(&mut self) {
        if self.values.known.factories.is_empty() {
            return;
        }
        let unit = self.values.unit;
        let mut found = Vec::new();
        unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            let Some(path) = call.callee.path() else { return };
            let (first, rest) = path.split_once('.').unwrap_or((&path, ""));
            let Some(import) = unit.import(first) else { return };
            let name = if rest.is_empty() { import.name } else { rest };
            let key = (crate::values::stem(&import.module), name.to_owned());
            if self.values.known.factories.contains(&key) {
                found.push((scope, expr.at, name.to_owned()));
            }
        });
        for (scope, at, name) in found {
            let within = handlers::repeated(unit, scope, self.within, self.text)
                .filter(|within| within != A_LOOP);
            if !unit.function(scope).is_some_and(|(id, _)| self.is_kept(id, at)) {
                self.remake(within, at, scope, Some(name));
            }
        }
    }

    pub(super) fn serverless(&mut self) {
        let unit = self.values.unit;
        for (id, scope) in unit.scopes.iter().enumerate() {
            if let ScopeKind::Function(function) = &scope.kind
                && handlers::is_serverless(unit, function)
            {
                let place = self.place(scope.at, id);
                self.out.code.serverless.push(Serverless {
                    place,
                    platform: "a serverless function".to_owned(),
                    uses_mongodb: !self.out.clients.is_empty(),
                });
                return;
            }
        }
    }
}
