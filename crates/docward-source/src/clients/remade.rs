//! Clients that are made again and again: for each request, in a loop, opened and closed by every function.

use std::collections::BTreeSet;

use docward_model::code::{RemadeClient, Serverless};

use super::super::{
    Language, Scan, handlers,
    ir::{Expr, Kind, ScopeId, ScopeKind, StatementKind, Unit},
};

impl<'u, 't> Scan<'u, 't> {
    /// Whether a client is made again and again.
    pub(super) fn remade(&mut self, scope: ScopeId, expr: &'u Expr<'t>) {
        let unit = self.values.unit;
        if self.is_kept_by_mongoose(expr) {
            return;
        }
        let Some((id, function)) = unit.function(scope) else {
            if let Some(within) = handlers::repeated(unit, scope, self.within, self.text)
                && self.is_the_same_each_time(expr, scope)
            {
                let place = self.place(expr.at, scope);
                self.out.code.remade_clients.push(RemadeClient { place, within, through: None });
            }
            return;
        };
        if handlers::is_made_once(function)
            || self.is_kept(id, expr.at)
            || self.is_made_on_demand(id, scope)
        {
            return;
        }
        let within = handlers::repeated(unit, scope, self.within, self.text)
            .filter(|within| within != "a loop" || self.is_the_same_each_time(expr, scope));
        if let Some(within) = within {
            let place = self.place(expr.at, scope);
            self.out.code.remade_clients.push(RemadeClient { place, within, through: None });
            return;
        }
        // A function that hands out a new client each time, or a class that makes one for itself: bad when a handler
        // calls it.
        let class = unit.class(unit.scopes[id].parent);
        let is_constructor = matches!(function.name, "__init__" | "constructor");
        let name = match class {
            None => function.name,
            Some((id, name)) if is_constructor && !self.is_shared_class(id) => name,
            Some(_) => return,
        };
        // One that ends the process leaves nothing behind.
        let scope = &unit.scopes[id];
        let text = self.text.get(scope.at..scope.end).unwrap_or_default();
        let ends = ["process.exit(0)", "process.exit()", "sys.exit(0)", "sys.exit()"];
        if name.is_empty() || has_closed(text) && ends.iter().any(|end| text.contains(end)) {
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
                if let Some(within) = handlers::repeated(unit, from, self.within, self.text)
                    .filter(|within| within != "a loop")
                {
                    let place = self.place(at, from);
                    let through = Some(name.to_owned());
                    self.out.code.remade_clients.push(RemadeClient { place, within, through });
                    return;
                }
            }
        }
    }

    /// `mongoose.connect(uri)`: while its connection is open it does nothing, so who closes none makes one only.
    fn is_kept_by_mongoose(&self, expr: &Expr<'_>) -> bool {
        let Some(call) = expr.call() else { return false };
        let of = call.receiver().and_then(Expr::path);
        let closes = ["disconnect(", "connection.close("];
        call.method() == Some("connect")
            && of.as_deref() == Some("mongoose")
            && !closes.iter().any(|word| self.text.contains(word))
    }

    /// Functions of the file that return what they get from one that makes a client each time:
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

    /// The function around a call that makes a client, when it hands that on and keeps it no longer than a request:
    /// `g.db = connect()` of Flask.
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

    /// Whether a client is made only for a caller that asks for one of its own, by a parameter that has a default; all
    /// others get the one there is: `client = MongoClient(…) if own else shared`, with branches.
    fn is_made_on_demand(&self, id: ScopeId, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let head = &self.text[unit.scopes[id].at..unit.scopes[id].end];
        let head = head.split(['\n', '{']).next().unwrap_or_default();
        let branch = unit.around(scope).take_while(|around| *around != id).find_map(|around| {
            match &unit.scopes[around].kind {
                ScopeKind::Branch(Some(condition)) => Some((around, condition)),
                _ => None,
            }
        });
        let Some((here, condition)) = branch else { return false };
        let Kind::Name(asked) = condition.kind else { return false };
        let has_default = [format!("{asked}="), format!("{asked} =")]
            .iter()
            .any(|default| head.contains(default.as_str()));
        let is_other = |at: ScopeId| {
            matches!(&unit.scopes[at].kind, ScopeKind::Branch(Some(other)) if other.at == condition.at)
                && at != here
        };
        has_default
            && unit.statements.iter().any(|statement| {
                is_other(statement.scope)
                    && matches!(&statement.kind, StatementKind::Assign { value, .. } | StatementKind::Return(value) if value.path().is_some())
            })
    }

    /// Whether a class hands out one object for all: then its constructor runs once.
    fn is_shared_class(&self, id: ScopeId) -> bool {
        let scope = &self.values.unit.scopes[id];
        let text = self.text.get(scope.at..scope.end).unwrap_or_default().to_ascii_lowercase();
        ["instance", "singleton", "__new__"].iter().any(|word| text.contains(word))
    }

    /// Whether a loop makes the same client again: nothing that is given to it changes.
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

    /// Whether the connection string comes with the request: then each may lead elsewhere, and there is no
    /// client to reuse.
    pub(super) fn is_asked_for(&self, uri: &'u Expr<'t>, scope: ScopeId) -> bool {
        /// Nobody hands a string on more often before it is used.
        const HANDED_ON: usize = 3;
        let unit = self.values.unit;
        let names_in = |expr: &Expr<'t>| {
            let mut names = Vec::new();
            expr.visit(&mut |inner| {
                if let Kind::Name(name) = inner.kind {
                    names.push(name);
                }
            });
            names
        };
        let of_request = |expr: &Expr<'t>| {
            let mut found = false;
            expr.visit(&mut |inner| {
                found |= matches!(inner.kind, Kind::Name("req" | "request" | "event" | "body"));
            });
            found
        };
        let given = |names: &[&str]| {
            let here = unit
                .statements
                .iter()
                .filter(|statement| self.values.owner(statement.scope) == self.values.owner(scope));
            let assigned = here.filter_map(|statement| match &statement.kind {
                StatementKind::Assign { target, value, .. } => Some((target, value)),
                _ => None,
            });
            let mine = assigned
                .filter(|(target, _)| names_in(target).iter().any(|name| names.contains(name)));
            mine.map(|(_, value)| value).collect::<Vec<_>>()
        };
        let mut from = vec![uri];
        // `data = json.loads(request.body)`, then `url = data["url"]`.
        for _ in 0..=HANDED_ON {
            if from.iter().any(|value| of_request(value)) {
                return true;
            }
            let names: Vec<&str> = from.iter().flat_map(|value| names_in(value)).collect();
            from = given(&names);
        }
        false
    }

    /// A client that others share, connected and closed by a handler.
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
                let place = self.place(at, scope);
                let within = format!("{within}, and closed again");
                self.out.code.remade_clients.push(RemadeClient { place, within, through: None });
            }
        }
    }

    /// Whether what is made at `at` in a function is kept for the next call: put where it outlives the
    /// function, behind a test or an early return.
    fn is_kept(&self, id: ScopeId, at: usize) -> bool {
        let unit = self.values.unit;
        let text = self.text.get(unit.scopes[id].at..unit.scopes[id].end).unwrap_or_default();
        if ["readyState", "isConnected", "sync.Once", ".Do(", "getInstance", "is_connected"]
            .iter()
            .any(|word| text.contains(word))
        {
            return true;
        }
        // A test around it, or one before it that leaves the function.
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
                false => self.outlives(path, id, text),
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

    /// Whether what is assigned to a name outlives the function: not the names of a function of Python, and
    /// not what Flask throws away after each request.
    fn outlives(&self, path: &str, id: ScopeId, function: &str) -> bool {
        let unit = self.values.unit;
        let root = path.split('.').next().unwrap_or(path);
        if unit.language != Language::Python {
            return !is_declared_in(unit, root, id, function);
        }
        if path.contains('.') {
            return !(matches!(root, "g" | "request")
                && unit.import(root).is_some_and(|import| import.module == "flask"));
        }
        function.lines().any(|line| {
            let line = line.trim_start();
            ["global ", "nonlocal "]
                .iter()
                .filter_map(|word| line.strip_prefix(word))
                .any(|names| names.split(',').any(|name| name.trim() == path))
        })
    }

    /// Calls of functions in other files that make a client each time.
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
            if let Some(within) = handlers::repeated(unit, scope, self.within, self.text)
                && within != "a loop"
                && !unit.function(scope).is_some_and(|(id, _)| self.is_kept(id, at))
            {
                let place = self.place(at, scope);
                let through = Some(name);
                self.out.code.remade_clients.push(RemadeClient { place, within, through });
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

/// Whether a function declares a name of its own: what it assigns to it is gone with the call.
fn is_declared_in(unit: &Unit<'_>, name: &str, id: ScopeId, function: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    match unit.language {
        language if language.is_script() => {
            unit.block_names.iter().any(|(at, other)| *other == name && unit.is_in(*at, id))
        }
        // `client, err := …`, `var client *mongo.Client`.
        Language::Go => function.lines().any(|line| {
            let has = |text: &str| text.split(|c| !is_name(c)).any(|word| word == name);
            line.split_once(":=").is_some_and(|(left, _)| has(left))
                || line
                    .trim()
                    .strip_prefix("var ")
                    .is_some_and(|rest| rest.split(|c| !is_name(c)).next() == Some(name))
        }),
        // `MongoClient client = …`, `val client = …`.
        _ => function.lines().any(|line| {
            line.split_once('=').is_some_and(|(left, _)| {
                let mut words = left.split_whitespace().rev();
                words.next() == Some(name)
                    && words
                        .next()
                        .is_some_and(|class| class.ends_with(|c: char| is_name(c) || c == '>'))
            })
        }),
    }
}

/// Whether a text closes a client.
fn has_closed(text: &str) -> bool {
    [".disconnect(", ".close("].iter().any(|close| text.contains(close))
}
