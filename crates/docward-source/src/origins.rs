//! Determines the origins of values: the request, the user who sent it, the clock, a document that was stored or read,
//! the code itself, or the caller. Names are followed to their assignments. A parameter of a plain function remains a
//! parameter, and rules examine the calls of that function.

use std::collections::BTreeSet;

use docward_model::code::{CodeCall, Origin};

use super::{
    Scan, handlers,
    ir::{Arg, Call, Expr, Function, Kind, Part, ScopeId, ScopeKind},
    updates::{is_enumerated, makes_id},
};

/// Names of fields that identify a user, in lower case and without underscores.
const USERS: [&str; 20] = [
    "user",
    "userid",
    "userids",
    "uid",
    "userobjectid",
    "useroid",
    "useremail",
    "username",
    "currentuser",
    "currentuserid",
    "author",
    "authorid",
    "follower",
    "followerid",
    "fromuser",
    "from",
    "principal",
    "me",
    "memberid",
    "voterid",
];
/// Members by which a document is identified.
const IDENTITY: [&str; 10] =
    ["_id", "id", "ID", "Id", "pk", "oid", "sub", "uid", "username", "email"];
/// Parameters of handlers, regardless of the registration of the handlers.
const REQUESTS: [&str; 12] = [
    "req",
    "request",
    "ctx",
    "context",
    "event",
    "interaction",
    "message",
    "msg",
    "socket",
    "update",
    "body",
    "payload",
];
/// Methods that store a document and return it.
const STORES: [&str; 7] =
    ["create", "insertOne", "insert_one", "InsertOne", "save", "insert", "insertMany"];
/// Calls that turn an object into a document.
const DUMPS: [&str; 8] = [
    "dict",
    "model_dump",
    "toObject",
    "toJSON",
    "jsonable_encoder",
    "asdict",
    "to_dict",
    "to_mongo",
];
/// Types of values that are not documents.
const SCALARS: [&str; 16] = [
    "str", "int", "float", "bool", "string", "number", "boolean", "ObjectId", "String", "Integer",
    "Long", "Int", "UUID", "Date", "Double", "datetime",
];
const MAX_STEPS: u32 = 10;
/// A variable that receives more values is a buffer.
const MOST_VALUES: usize = 6;

impl<'u, 't> Scan<'u, 't> {
    /// Returns the origins of the parts of a value.
    pub(super) fn origins(&self, expr: &'u Expr<'t>, scope: ScopeId) -> BTreeSet<Origin> {
        let mut out = BTreeSet::new();
        self.origins_into(expr, scope, 0, &mut out);
        out
    }

    fn origins_into(
        &self,
        expr: &'u Expr<'t>,
        scope: ScopeId,
        steps: u32,
        out: &mut BTreeSet<Origin>,
    ) {
        if steps > MAX_STEPS {
            out.insert(Origin::Unknown);
            return;
        }
        let mut add = |expr: &'u Expr<'t>| self.origins_into(expr, scope, steps + 1, out);
        match &expr.kind {
            Kind::Text(parts) => {
                let holes = parts.iter().filter_map(|part| match part {
                    Part::Hole(hole) => Some(&**hole),
                    Part::Text(..) => None,
                });
                holes.for_each(&mut add);
                if expr.text().is_some() {
                    out.insert(Origin::Constant);
                }
            }
            Kind::Number(_) | Kind::Bool(_) | Kind::Null => {
                out.insert(Origin::Constant);
            }
            Kind::Object(entries) => entries.iter().for_each(|entry| add(&entry.value)),
            Kind::List(items) | Kind::Other(items) => items.iter().for_each(add),
            Kind::Binary(_, left, right) => {
                add(left);
                add(right);
            }
            Kind::Choice(held) => held[1..].iter().for_each(add),
            Kind::Function(_) => {
                out.insert(Origin::Unknown);
            }
            Kind::Call(call) => self.origins_of_call(expr, call, scope, steps, out),
            Kind::Name(_) | Kind::Member(..) | Kind::Index(..) => {
                self.origins_of_path(expr, scope, steps, out);
            }
        }
    }

    fn origins_of_path(
        &self,
        expr: &'u Expr<'t>,
        scope: ScopeId,
        steps: u32,
        out: &mut BTreeSet<Origin>,
    ) {
        if let Some(path) = spelled(expr).filter(|path| identifies_user(path)) {
            out.insert(Origin::User(path));
            return;
        }
        if is_clock(expr) {
            out.insert(Origin::Time);
            return;
        }
        if is_enumerated(expr) {
            out.insert(Origin::Constant);
            return;
        }
        if let Kind::Name(name) = expr.kind
            && let Some(origin) = self.defaulted(name, scope)
        {
            out.insert(origin);
            return;
        }
        let (next, at) = self.values.follow(expr, scope);
        if !std::ptr::eq(next, expr) {
            return self.origins_into(next, at, steps + 1, out);
        }
        match &expr.kind {
            Kind::Name(name) => {
                let given = self.values.given(name, scope);
                if !given.is_empty() {
                    for (at, value) in given.into_iter().take(MOST_VALUES) {
                        self.origins_into(value, at, steps + 2, out);
                    }
                    return;
                }
                out.insert(self.parameter(name, scope).unwrap_or(Origin::Unknown));
            }
            Kind::Member(of, _) | Kind::Index(of, _) => {
                let mut whole = BTreeSet::new();
                self.origins_into(of, scope, steps + 1, &mut whole);
                // An element has the origins of its list.
                let is_element =
                    matches!(&expr.kind, Kind::Index(_, key) if matches!(key.kind, Kind::Null));
                let parts = whole.into_iter();
                out.extend(parts.map(|origin| if is_element { origin } else { origin.part() }));
            }
            _ => {}
        }
    }

    /// Returns the origin of a parameter that is assigned only a default: `query = query || {}`.
    fn defaulted(&self, name: &str, scope: ScopeId) -> Option<Origin> {
        let given = self.values.given(name, scope);
        let is_default = |value: &Expr<'t>| {
            matches!(&value.kind, Kind::Binary("||" | "??" | "or", left, _)
                if matches!(left.kind, Kind::Name(own) if own == name))
        };
        let is_defaulted = !given.is_empty() && given.iter().all(|(_, value)| is_default(value));
        is_defaulted.then(|| self.parameter(name, scope)).flatten()
    }

    /// Returns the origin of a parameter of an enclosing function.
    pub(super) fn parameter(&self, name: &str, scope: ScopeId) -> Option<Origin> {
        let unit = self.values.unit;
        let found = unit.around(scope).find_map(|id| match &unit.scopes[id].kind {
            ScopeKind::Function(function) => {
                let index = position(function, name)?;
                Some((id, function, index))
            }
            _ => None,
        });
        let Some((id, function, index)) = found else {
            return REQUESTS[..2].contains(&name).then_some(Origin::Request);
        };
        let is_handler = handlers::handler(unit, id, self.within).is_some();
        if is_handler || REQUESTS.contains(&name) {
            return Some(Origin::Request);
        }
        if function.name.is_empty() {
            // The caller of a callback chooses its arguments, which are mostly elements of a list that was read.
            return Some(Origin::Unknown);
        }
        let (function, name) = (function.name.to_owned(), name.to_owned());
        Some(Origin::Parameter { function, name, index, is_part: false })
    }

    fn origins_of_call(
        &self,
        expr: &'u Expr<'t>,
        call: &'u Call<'t>,
        scope: ScopeId,
        steps: u32,
        out: &mut BTreeSet<Origin>,
    ) {
        let method = call.method().unwrap_or_default();
        if is_now(call) {
            out.insert(Origin::Time);
        } else if makes_id(expr) {
            out.insert(Origin::NewId);
        } else if let Some(path) = spelled(expr).filter(|path| identifies_user(path)) {
            out.insert(Origin::User(path));
        } else if STORES.contains(&method) && call.receiver().is_some()
            || self.is_model(call, scope)
        {
            out.insert(Origin::Stored);
        } else if method.starts_with("find") && call.receiver().is_some() {
            out.insert(Origin::Loaded);
        } else {
            let before = out.len();
            // `Comment.from(x)`: a class does not show the origin of the value.
            let of = call.receiver().filter(|of| {
                !matches!(of.kind, Kind::Name(name) if self.values.unit.import(name).is_some()
                    || name.starts_with(char::is_uppercase))
            });
            for value in of.into_iter().chain(call.args.iter().map(|arg| &arg.value)) {
                self.origins_into(value, scope, steps + 1, out);
            }
            if out.len() == before {
                out.insert(Origin::Unknown);
            }
        }
    }

    /// Whether a call is `new Comment({…})` of a model of Mongoose, which is stored as a separate document.
    fn is_model(&self, call: &'u Call<'t>, scope: ScopeId) -> bool {
        self.values.unit.language.is_script()
            && matches!(call.callee.kind, Kind::Name(name) if name.starts_with(char::is_uppercase))
            && self.values.target(&call.callee, scope).is_some_and(|target| target.is_model)
    }

    /// Whether a value is a document, by its syntax, its creation or its type.
    pub(super) fn is_document(&self, expr: &'u Expr<'t>, scope: ScopeId) -> bool {
        self.is_document_at(expr, scope, 0)
    }

    fn is_document_at(&self, expr: &'u Expr<'t>, scope: ScopeId, steps: u32) -> bool {
        if steps > MAX_STEPS {
            return false;
        }
        let (value, at) = self.values.follow(expr, scope);
        match &value.kind {
            Kind::Object(_) => true,
            Kind::List(items) => items.iter().any(|item| self.is_document_at(item, at, steps + 1)),
            Kind::Choice(held) => {
                held[1..].iter().any(|side| self.is_document_at(side, at, steps + 1))
            }
            Kind::Call(call) => {
                let method = call.method().unwrap_or_default();
                DUMPS.contains(&method)
                    || STORES.contains(&method)
                    || (method.starts_with(char::is_uppercase)
                        && !SCALARS.contains(&method)
                        && !makes_id(value)
                        && call.receiver().is_none()
                        && !call.args.is_empty())
            }
            Kind::Member(_, "body" | "json") => true,
            Kind::Name(name) => {
                let given = self.values.given(name, at);
                let unit = self.values.unit;
                let declared = unit.around(at).find_map(|id| match &unit.scopes[id].kind {
                    ScopeKind::Function(function) => {
                        function.parameters.iter().find(|(own, _)| own == name)
                    }
                    _ => None,
                });
                let is_typed = declared.is_some_and(|(_, class)| is_class(class));
                is_typed
                    || given.iter().any(|(at, value)| self.is_document_at(value, *at, steps + 1))
            }
            _ => false,
        }
    }

    /// Returns the origins of the arguments of all calls in an expression.
    pub(super) fn argument_origins(&self, expr: &'u Expr<'t>, scope: ScopeId) -> BTreeSet<Origin> {
        let mut out = BTreeSet::new();
        expr.visit(&mut |inner| {
            let args = inner.call().into_iter().flat_map(|call| &call.args);
            args.for_each(|arg| out.extend(self.origins(&arg.value, scope)));
        });
        out
    }

    /// Records the calls of functions of the project that add to arrays.
    pub(super) fn calls_of_appenders(&mut self) {
        let unit = self.values.unit;
        let mut found = Vec::new();
        unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            let Some(name) = call.method() else { return };
            if self.values.known.appenders.contains(name) {
                found.push((scope, expr.at, name, call));
            }
        });
        for (scope, at, name, call) in found {
            let origins =
                |arg: &'u Arg<'t>| (arg.name.map(str::to_owned), self.origins(&arg.value, scope));
            let arguments = call.args.iter().map(origins).collect();
            let (place, callee) = (self.place(at, scope), name.to_owned());
            let in_loop = self.is_in_loop(scope);
            self.out.code.calls.push(CodeCall { place, callee, in_loop, arguments });
        }
    }

    /// Whether a scope is in a loop of its function.
    pub(super) fn is_in_loop(&self, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let own = unit.around(scope).take_while(|id| {
            !matches!(unit.scopes[*id].kind, ScopeKind::Function(_) | ScopeKind::Class { .. })
        });
        own.into_iter().any(|id| matches!(unit.scopes[id].kind, ScopeKind::Loop))
    }
}

/// The position of a parameter, not counting `self` of methods in Python.
pub(super) fn position(function: &Function<'_>, name: &str) -> Option<usize> {
    let own = function.parameters.iter().filter(|(own, _)| !matches!(*own, "self" | "cls"));
    own.into_iter().position(|(own, _)| *own == name)
}

/// A path of names, members, string keys and getters: `session.user_id` of `session.get("user_id")`.
fn spelled(expr: &Expr<'_>) -> Option<String> {
    match &expr.kind {
        Kind::Name(name) => Some((*name).to_owned()),
        Kind::Member(of, name) => Some(format!("{}.{name}", spelled(of)?)),
        Kind::Index(of, key) => Some(format!("{}.{}", spelled(of)?, key.text()?)),
        Kind::Call(call) => {
            let of = spelled(call.receiver()?)?;
            match (call.method()?, call.positional(0).and_then(Expr::text)) {
                ("get" | "Get" | "MustGet" | "GetString" | "getItem" | "Param", Some(key)) => {
                    Some(format!("{of}.{key}"))
                }
                ("toString" | "toHexString" | "Hex" | "String", None) => Some(of),
                ("getId" | "id", None) => Some(format!("{of}.id")),
                ("getUserId" | "getUsername" | "getName", None) => Some(format!("{of}.username")),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a path ends in a user or in the identity of one.
pub(super) fn identifies_user(path: &str) -> bool {
    let is_user = |part: &str| {
        let plain = part.replace('_', "").to_ascii_lowercase();
        USERS.contains(&plain.as_str())
    };
    let mut parts = path.rsplit('.');
    let Some(last) = parts.next() else { return false };
    is_user(last) || (IDENTITY.contains(&last) && parts.next().is_some_and(is_user))
}

/// Whether a call reads the clock.
fn is_now(call: &Call<'_>) -> bool {
    let bare = call.args.is_empty();
    match call.method() {
        Some("now" | "utcnow" | "Now" | "today") => true,
        Some("time") => match call.callee.path().as_deref() {
            Some("time.time") => true,
            path => path == Some("time") && bare,
        },
        Some("Date" | "DateTime" | "UTCDateTime" | "moment" | "dayjs") => bare,
        _ => false,
    }
}

/// The clock as a property: `DateTime.UtcNow`.
fn is_clock(expr: &Expr<'_>) -> bool {
    let Kind::Member(of, "UtcNow" | "Now") = &expr.kind else { return false };
    matches!(of.last_name(), Some("DateTime" | "DateTimeOffset"))
}

/// Whether a type is a class or a map rather than a plain value.
fn is_class(class: &str) -> bool {
    let name = class.trim_start_matches([':', ' ', '*', '&']);
    let name = name.rsplit('.').next().unwrap_or(name);
    let name = name.split(['<', '[', '?', ' ', '|']).next().unwrap_or(name);
    matches!(name, "dict" | "Dict" | "Map" | "Document" | "M" | "D" | "map")
        || (name.starts_with(char::is_uppercase)
            && !SCALARS.contains(&name)
            && !matches!(name, "Optional" | "List" | "ObjectID" | "Any" | "Types" | "Schema"))
}
