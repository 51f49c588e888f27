//! Queries that are built from input of a request: JavaScript and patterns from its strings, operators from its
//! objects.
//!
//! A value counts only while bindings show that it is input of the request. An unknown call ends the path, since it may
//! check, cast or escape the value.

use docward_model::code::{Injection, InjectionKind, InputGuard};

use super::{
    Language, Scan, handlers,
    ir::{Call, Expr, Kind, Part, ScopeId, ScopeKind, StatementKind},
    methods::takes_filter,
    queries::chain_base,
    updates::UPDATES,
};

/// The values that a request can insert, in increasing order of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shape {
    /// A text.
    Text,
    /// A string, or also an object if the query string parser supports nesting.
    Query,
    /// An object too.
    Any,
}

/// A value that a request sends.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) shape: Shape,
    /// The input as written in the code.
    pub(super) shown: String,
}

const MAX_STEPS: u32 = 7;
/// Calls that return the same string, or raise an error.
const STAYS_TEXT: [&str; 19] = [
    "trim",
    "toLowerCase",
    "toUpperCase",
    "toString",
    "String",
    "str",
    "strip",
    "lower",
    "upper",
    "strtolower",
    "strtoupper",
    "strval",
    "decodeURIComponent",
    "decodeURI",
    "TrimSpace",
    "ToLower",
    "ToString",
    "Trim",
    "unquote",
];
/// Methods that objects do not have, so that a request with one ends in an error.
const OF_TEXTS: [&str; 16] = [
    "trim",
    "toLowerCase",
    "toUpperCase",
    "split",
    "match",
    "startsWith",
    "endsWith",
    "replace",
    "substring",
    "slice",
    "charAt",
    "normalize",
    "strip",
    "lower",
    "upper",
    "encode",
];
/// Parts of names of functions that check their arguments.
const CHECKS: [&str; 19] = [
    "valid",
    "check",
    "sanit",
    "assert",
    "parse",
    "schema",
    "clean",
    "ensure",
    "verify",
    "escape",
    "isstring",
    "is_string",
    "isemail",
    "isinstance",
    "objectid",
    "test",
    "match",
    "cast",
    "safe",
];
/// Libraries that remove operators from all requests.
const SANITIZERS: [&str; 5] = [
    "express-mongo-sanitize",
    "koa-mongo-sanitize",
    "mongo-express-sanitize",
    "@exortek/fastify-mongo-sanitize",
    "content-filter",
];
/// Libraries that check requests against a schema.
const VALIDATORS: [&str; 20] = [
    "joi",
    "@hapi/joi",
    "celebrate",
    "express-validator",
    "express-validation",
    "zod",
    "yup",
    "ajv",
    "class-validator",
    "superstruct",
    "valibot",
    "validate.js",
    "express-openapi-validator",
    "express-joi-validation",
    "jsonschema",
    "express-jsonschema",
    "@sinclair/typebox",
    "marshmallow",
    "webargs",
    "flask-smorest",
];

impl<'u, 't> Scan<'u, 't> {
    /// Finds every query that a request can change.
    pub(super) fn injections(&mut self) {
        let unit = self.values.unit;
        for import in &unit.imports {
            self.out.code.injections.guards.extend(guard(&import.module));
        }
        if self.sanitizes_filters() || self.sanitizes_all() {
            self.out.code.injections.guards.insert(InputGuard::Sanitizer);
        }
        let mut found = Vec::new();
        unit.each(|scope, expr| match &expr.kind {
            Kind::Object(_) => self.of_operators(expr, scope, &mut found),
            Kind::Call(call) => self.of_calls(expr, call, scope, &mut found),
            _ => {}
        });
        let mut seen = std::collections::BTreeSet::new();
        found.retain(|injection| {
            let at = &injection.place.location;
            seen.insert((at.line, at.column, injection.input.clone()))
        });
        self.out.code.injections.found.extend(found);
    }

    /// Whether Mongoose removes operators: `mongoose.set('sanitizeFilter', true)`, or an option of a query.
    fn sanitizes_filters(&self) -> bool {
        let is_on = |value: &Expr<'t>| self.text.get(value.at..value.end) == Some("true");
        let mut found = false;
        self.values.unit.each(|_, expr| match &expr.kind {
            Kind::Call(call) if call.method() == Some("set") => {
                let is_named = call
                    .positional(0)
                    .and_then(Expr::text)
                    .is_some_and(|name| name == "sanitizeFilter");
                found |= is_named && call.positional(1).is_some_and(is_on);
            }
            Kind::Object(entries) => {
                let mut named =
                    entries.iter().filter(|entry| entry.name() == Some("sanitizeFilter"));
                found |= named.any(|entry| is_on(&entry.value));
            }
            _ => {}
        });
        found
    }

    /// Whether a middleware passes whole requests to a function that removes operators.
    fn sanitizes_all(&self) -> bool {
        let unit = self.values.unit;
        let mut found = false;
        unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            let is_whole = |arg: &Expr<'t>| {
                matches!(&arg.kind, Kind::Member(of, "body" | "query") if matches!(of.kind, Kind::Name("req" | "request")))
            };
            let name = call.method().unwrap_or_default().to_ascii_lowercase();
            let is_middleware = unit.function(scope).is_some_and(|(_, function)| {
                function.parameters.iter().any(|(name, _)| *name == "next")
                    && function.passed_to.as_deref().is_none_or(|to| to.ends_with(".use"))
            });
            found |= is_middleware
                && name.contains("sanit")
                && call.args.iter().any(|arg| is_whole(&arg.value));
        });
        found
    }

    /// Operators that contain JavaScript or a pattern, in any document.
    fn of_operators(&self, object: &'u Expr<'t>, scope: ScopeId, out: &mut Vec<Injection>) {
        let Kind::Object(entries) = &object.kind else { return };
        for entry in entries {
            let value = &entry.value;
            match entry.name() {
                Some("$where") => {
                    self.script("$where", value, scope, None, out);
                }
                Some("$function") => {
                    let fields = self.values.document(value, scope).unwrap_or_default();
                    for field in fields.iter().filter(|field| field.is("body")) {
                        self.script("$function", field.value, field.scope, None, out);
                    }
                }
                Some("$accumulator") => {
                    for field in self.values.document(value, scope).unwrap_or_default() {
                        if !field.is("lang") && !field.is("initArgs") {
                            self.script("$accumulator", field.value, field.scope, None, out);
                        }
                    }
                }
                Some("$regex") => self.pattern(value, scope, None, out),
                // `primitive.Regex{Pattern: q}`.
                Some("Pattern") if self.values.unit.language == Language::Go => {
                    let before = self.text.get(object.at..value.at).unwrap_or_default();
                    if before.contains("Regex") {
                        self.pattern(value, scope, None, out);
                    }
                }
                _ => {}
            }
        }
    }

    fn of_calls(
        &self,
        expr: &'u Expr<'t>,
        call: &'u Call<'t>,
        scope: ScopeId,
        out: &mut Vec<Injection>,
    ) {
        let Some(method) = call.method() else { return };
        let language = self.values.unit.language;
        let of = call.receiver().and_then(Expr::last_name);
        let first = call.positional(0);
        match method {
            "$where" => {
                if let Some(text) = first {
                    self.script("$where", text, scope, None, out);
                }
            }
            "where" if of == Some("Filters") => {
                if let Some(text) = first {
                    self.script("$where", text, scope, None, out);
                }
            }
            "regex" if language.is_jvm() || self.values.target(expr, scope).is_some() => {
                let text = if of == Some("Filters") { call.positional(1) } else { first };
                if let Some(text) = text {
                    self.pattern(text, scope, None, out);
                }
            }
            "BsonRegularExpression" => {
                if let Some(text) = first {
                    self.pattern(text, scope, None, out);
                }
            }
            "Regex" if language == Language::Php && self.values.is_mongo_file() => {
                if let Some(text) = first {
                    self.pattern(text, scope, None, out);
                }
            }
            "BasicQuery" => self.json("BasicQuery", first, scope, out),
            "parse" | "Parse"
                if matches!(of, Some("Document" | "BsonDocument" | "BasicDBObject")) =>
            {
                self.json(&format!("{}.{method}", of.unwrap_or_default()), first, scope, out);
            }
            "aggregate" | "Aggregate" => {
                let Some(stages) = first.and_then(|arg| self.values.list(arg, scope)) else {
                    return;
                };
                let Some((collection, true)) = self.target_of(expr, call, scope) else { return };
                for stage in stages {
                    let fields = self.values.document(stage, scope).unwrap_or_default();
                    for field in fields.iter().filter(|field| field.is("$match")) {
                        self.filter(field.value, field.scope, collection.as_deref(), out);
                    }
                }
            }
            _ if takes_filter(method) => {
                let Some(filter) = first else { return };
                if let Some((collection, true)) = self.target_of(expr, call, scope) {
                    self.filter(filter, scope, collection.as_deref(), out);
                    self.whole_update(call, scope, collection.as_deref(), out);
                }
            }
            "findByIdAndUpdate" => {
                if let Some((collection, true)) = self.target_of(expr, call, scope) {
                    self.whole_update(call, scope, collection.as_deref(), out);
                }
            }
            _ => {}
        }
    }

    /// `User.findOneAndUpdate(filter, req.body)`.
    fn whole_update(
        &self,
        call: &'u Call<'t>,
        scope: ScopeId,
        collection: Option<&str>,
        out: &mut Vec<Injection>,
    ) {
        let is_update = self.values.unit.language.is_script()
            && call.method().is_some_and(|method| UPDATES.contains(&method));
        let update = call.positional(1).filter(|_| is_update);
        if let Some((update, input)) =
            update.and_then(|arg| Some((arg, self.input(arg, scope, 0)?)))
            && input.shape > Shape::Text
        {
            self.found(InjectionKind::Update, input, update, scope, collection, out);
        }
    }

    /// The collection that a call uses, and whether bindings prove that it is one of MongoDB.
    pub(super) fn target_of(
        &self,
        expr: &'u Expr<'t>,
        call: &'u Call<'t>,
        scope: ScopeId,
    ) -> Option<(Option<String>, bool)> {
        if let Some(query) = self.query(expr, scope) {
            return Some((query.collection, query.is_proven));
        }
        let target = self.values.target(call.receiver()?, scope)?;
        let is_proven = !target.is_model
            || self.is_model_of_project(&target.collection)
            || self.values.unit.imports_from("mongoose");
        Some((Some(target.collection), is_proven))
    }

    /// A filter, as far as it can be read.
    fn filter(
        &self,
        filter: &'u Expr<'t>,
        scope: ScopeId,
        collection: Option<&str>,
        out: &mut Vec<Injection>,
    ) {
        if let Some(input) = self.input(filter, scope, 0).filter(|input| input.shape > Shape::Text)
        {
            self.found(InjectionKind::Filter, input, filter, scope, collection, out);
            return;
        }
        for field in self.values.document(filter, scope).unwrap_or_default() {
            match field.name.as_deref() {
                Some("$and" | "$or" | "$nor") => {
                    let items = self.values.list(field.value, field.scope).unwrap_or_default();
                    for item in items {
                        self.filter(item, field.scope, collection, out);
                    }
                }
                Some(name) if !name.starts_with('$') => {
                    self.condition(name, field.value, field.scope, collection, out);
                }
                None if field.is_spread => {
                    if let Some(input) = self.input(field.value, field.scope, 0)
                        && input.shape > Shape::Text
                    {
                        let kind = InjectionKind::Filter;
                        self.found(kind, input, field.value, field.scope, collection, out);
                    }
                }
                _ => {}
            }
        }
        // `filter.name = req.body.name`.
        let Kind::Name(name) = filter.kind else { return };
        let owner = self.values.owner(scope);
        for statement in &self.values.unit.statements {
            if let StatementKind::Assign { target, value, adds: false } = &statement.kind
                && let Kind::Member(of, path) = &target.kind
                && matches!(of.kind, Kind::Name(own) if own == name)
                && self.values.owner(statement.scope) == owner
            {
                self.condition(path, value, statement.scope, collection, out);
            }
        }
    }

    /// The condition on a field.
    fn condition(
        &self,
        path: &str,
        value: &'u Expr<'t>,
        scope: ScopeId,
        collection: Option<&str>,
        out: &mut Vec<Injection>,
    ) {
        let (made, at) = self.values.follow(value, scope);
        if let Some(call) = made.call()
            && matches!(call.method(), Some("RegExp" | "compile"))
            && let Some(text) = call.positional(0)
        {
            let field = Some(path.to_owned());
            if let Some(input) = self.input(text, at, 0) {
                self.found(InjectionKind::Pattern(field), input, text, at, collection, out);
            }
            return;
        }
        let can_nest = matches!(self.values.unit.language, Language::Php | Language::Python)
            || self.values.unit.language.is_script();
        if can_nest
            && let Some(input) = self.input(value, scope, 0).filter(|i| i.shape > Shape::Text)
        {
            let kind = InjectionKind::Operator(path.to_owned());
            self.found(kind, input, value, scope, collection, out);
        }
    }

    fn script(
        &self,
        operator: &'static str,
        text: &'u Expr<'t>,
        scope: ScopeId,
        collection: Option<&str>,
        out: &mut Vec<Injection>,
    ) {
        if let Some(input) = self.input(text, scope, 0) {
            self.found(InjectionKind::Script(operator), input, text, scope, collection, out);
        }
    }

    fn pattern(
        &self,
        text: &'u Expr<'t>,
        scope: ScopeId,
        collection: Option<&str>,
        out: &mut Vec<Injection>,
    ) {
        let (made, at) = self.values.follow(text, scope);
        let compiled = made.call().filter(|call| {
            matches!(call.method(), Some("RegExp" | "compile" | "BsonRegularExpression" | "Regex"))
        });
        let (text, scope) = match compiled.and_then(|call| call.positional(0)) {
            Some(inner) => (inner, at),
            None => (text, scope),
        };
        if let Some(input) = self.input(text, scope, 0) {
            self.found(InjectionKind::Pattern(None), input, text, scope, collection, out);
        }
    }

    /// Reports a query that is written as text and contains input. If the text as a whole comes from the request, the
    /// program is a query console.
    fn json(
        &self,
        parser: &str,
        text: Option<&'u Expr<'t>>,
        scope: ScopeId,
        out: &mut Vec<Injection>,
    ) {
        let Some(text) = text else { return };
        let (made, _) = self.values.follow(text, scope);
        if matches!(made.kind, Kind::Text(_) | Kind::Binary("+", ..))
            && let Some(input) = self.input(text, scope, 0)
        {
            self.found(InjectionKind::Json(parser.to_owned()), input, text, scope, None, out);
        }
    }

    fn found(
        &self,
        kind: InjectionKind,
        input: Input,
        value: &'u Expr<'t>,
        scope: ScopeId,
        collection: Option<&str>,
        out: &mut Vec<Injection>,
    ) {
        if self.is_checked(value, &input, scope) {
            return;
        }
        out.push(Injection {
            place: self.place(value.at, scope),
            collection: collection.map(str::to_owned),
            input: input.shown,
            kind,
            needs_nested_query: input.shape == Shape::Query,
        });
    }

    /// Returns the shape of a request's input in a value; `None` if bindings do not show that it comes from a
    /// request.
    pub(super) fn input(&self, expr: &'u Expr<'t>, scope: ScopeId, steps: u32) -> Option<Input> {
        if steps > MAX_STEPS {
            return None;
        }
        let as_text = |input: Input| Input { shape: Shape::Text, ..input };
        // `+x`, `!x`, `typeof x`, `(int) $x`.
        let cast = self.cast_at(expr);
        if cast == Some(Shape::Text) {
            return self.input_of(expr, scope, steps).map(as_text);
        }
        if cast.is_some() {
            return None;
        }
        self.input_of(expr, scope, steps)
    }

    fn input_of(&self, expr: &'u Expr<'t>, scope: ScopeId, steps: u32) -> Option<Input> {
        let next = |expr: &'u Expr<'t>| self.input(expr, scope, steps + 1);
        let as_text = |input: Input| Input { shape: Shape::Text, ..input };
        if let Some(shape) = self.sent(expr, scope) {
            let shown = expr.path().unwrap_or_else(|| {
                let text = self.text.get(expr.at..expr.end).unwrap_or_default();
                text.split_whitespace().collect::<Vec<_>>().join(" ")
            });
            return Some(Input { shape, shown });
        }
        match &expr.kind {
            Kind::Name(name) => {
                // A parameter shadows an outer variable of the same name.
                let given = self.values.given(name, scope);
                let mut given = given.iter().filter(|(_, v)| !matches!(v.kind, Kind::Null));
                let (at, first) = given.next()?;
                let mut input = self.input(first, *at, steps + 1)?;
                for (at, value) in given {
                    let other = self.input(value, *at, steps + 1)?;
                    input.shape = input.shape.min(other.shape);
                }
                Some(input)
            }
            Kind::Member(of, _) | Kind::Index(of, _) => {
                let (made, at) = self.values.follow(expr, scope);
                if !std::ptr::eq(made, expr) {
                    return self.input(made, at, steps + 1);
                }
                let whole = next(of)?;
                let shown = match &expr.kind {
                    Kind::Member(_, name) => format!("{}.{name}", whole.shown),
                    Kind::Index(_, key) => format!("{}[{:?}]", whole.shown, key.text()?),
                    _ => whole.shown,
                };
                (whole.shape > Shape::Text).then_some(Input { shape: whole.shape, shown })
            }
            Kind::Text(parts) => parts.iter().find_map(|part| match part {
                Part::Hole(hole) => next(hole).map(as_text),
                Part::Text(..) => None,
            }),
            Kind::Binary("+" | "." | "%", left, right) => {
                next(left).or_else(|| next(right)).map(as_text)
            }
            Kind::Binary("||" | "??" | "?:", left, right) => next(left).or_else(|| next(right)),
            Kind::Binary("&&", _, right) => next(right),
            Kind::Choice(held) => {
                let asked = self.text.get(held[0].at..held[0].end).unwrap_or_default();
                let input = next(&held[1]).or_else(|| next(&held[2]))?;
                let is_asked = ["typeof", "isString", "is_string", "isinstance"];
                let is_text = is_asked.iter().any(|word| asked.contains(word));
                Some(if is_text { as_text(input) } else { input })
            }
            Kind::Call(call) => {
                let method = call.method()?;
                let of = call.receiver();
                if method == "parse" && of.and_then(Expr::last_name) == Some("JSON") {
                    let text = next(call.positional(0)?)?;
                    return Some(Input { shape: Shape::Any, ..text });
                }
                if matches!(method, "loads" | "json_decode") {
                    let text = next(call.positional(0)?)?;
                    return Some(Input { shape: Shape::Any, ..text });
                }
                if method == "get" && self.values.unit.language == Language::Python {
                    let whole = next(of?)?;
                    let key = call.positional(0)?.text()?;
                    let shown = format!("{}.get({key:?})", whole.shown);
                    return (whole.shape > Shape::Text)
                        .then_some(Input { shape: whole.shape, shown });
                }
                if !STAYS_TEXT.contains(&method) {
                    return None;
                }
                let value = call.positional(0).and_then(next);
                value.or_else(|| next(of?)).map(as_text)
            }
            _ => None,
        }
    }

    /// Returns the shape after an operator before a value: `Text` for a cast to text, another shape for a number.
    fn cast_at(&self, expr: &Expr<'t>) -> Option<Shape> {
        let text = self.text.get(expr.at..expr.end).unwrap_or_default();
        if self.values.unit.language == Language::Php {
            let cast = text.strip_prefix('(')?.split_once(')')?.0.trim().to_ascii_lowercase();
            return match cast.as_str() {
                "string" | "binary" => Some(Shape::Text),
                "int" | "integer" | "float" | "double" | "bool" | "boolean" => Some(Shape::Any),
                _ => None,
            };
        }
        let is_plain = matches!(expr.kind, Kind::Name(_) | Kind::Member(..) | Kind::Index(..));
        (is_plain && (text.starts_with(['+', '-', '!', '~']) || text.starts_with("typeof")))
            .then_some(Shape::Any)
    }

    /// Whether an expression is a part of a request as the framework provides it.
    fn sent(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<Shape> {
        match self.values.unit.language {
            language if language.is_script() => self.sent_to_script(expr, scope),
            Language::Python => self.sent_to_python(expr, scope),
            Language::Php => self.sent_to_php(expr, scope),
            Language::Go => {
                let call = expr.call()?;
                let is_getter = match call.method()? {
                    "Query" | "Param" | "DefaultQuery" | "PostForm" | "QueryParam"
                    | "FormValue" | "Params" | "PostFormValue" | "PathValue" => {
                        call.positional(0).is_some()
                    }
                    // `r.URL.Query().Get("q")`.
                    "Get" => {
                        let of = call.receiver().and_then(Expr::call);
                        of.and_then(Call::method) == Some("Query")
                    }
                    _ => false,
                };
                let is_request = matches!(chain_base(expr).kind, Kind::Name(name)
                if self.class_of_parameter(name, scope).is_some_and(|class| {
                    ["Context", "Ctx", "Request"].iter().any(|end| class.ends_with(end))
                }));
                (is_getter && is_request).then_some(Shape::Text)
            }
            language if language.is_jvm() || language == Language::CSharp => match &expr.kind {
                Kind::Name(name) => {
                    let function = self.function_with(name, scope)?;
                    let is_handler =
                        handlers::handler(self.values.unit, function, self.within).is_some();
                    let class = self.class_of_parameter(name, scope)?;
                    let is_text = matches!(class.trim_end_matches('?'), "String" | "string");
                    let is_given = !self.values.given(name, scope).is_empty();
                    (is_handler && is_text && !is_given).then_some(Shape::Text)
                }
                Kind::Call(call) if call.method() == Some("getParameter") => {
                    let Kind::Name(name) = call.receiver()?.kind else { return None };
                    let class = self.class_of_parameter(name, scope)?;
                    class.ends_with("ServletRequest").then_some(Shape::Text)
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn sent_to_script(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<Shape> {
        // `await request.json()` of Next and others.
        if let Kind::Call(call) = &expr.kind {
            let Kind::Name(root) = call.receiver()?.kind else { return None };
            let function = self.function_with(root, scope)?;
            let is_handler = handlers::handler(self.values.unit, function, self.within).is_some();
            let is_body = call.method() == Some("json") && call.args.is_empty();
            return (is_handler && is_body).then_some(Shape::Any);
        }
        let path = expr.path()?;
        let mut parts = path.split('.');
        let root = parts.next()?;
        let function = self.function_with(root, scope)?;
        let unit = self.values.unit;
        let ScopeKind::Function(own) = &unit.scopes[function].kind else { return None };
        let has = |names: &[&str]| own.parameters.iter().any(|(name, _)| names.contains(name));
        let is_handler = handlers::handler(unit, function, self.within).is_some();
        let (is_own, nests) = match root {
            "req" | "request" | "_req" => {
                let is_express = has(&["res", "response", "_res", "resp", "next"]);
                let is_other = has(&["reply", "rep", "h"]);
                (is_express || is_other || is_handler, !is_other && !unit.imports_from("fastify"))
            }
            "ctx" => (parts.clone().next() == Some("request") || has(&["next"]), false),
            _ => (false, false),
        };
        if !is_own {
            return None;
        }
        let mut part = parts.next()?;
        if part == "request" {
            part = parts.next()?;
        }
        match part {
            "body" => Some(Shape::Any),
            "query" if nests && !unit.imports_from("next") => Some(Shape::Query),
            "query" | "params" | "headers" => parts.next().map(|_| Shape::Text),
            _ => None,
        }
    }

    fn sent_to_python(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<Shape> {
        let unit = self.values.unit;
        let is_request = |of: &Expr<'t>| match of.kind {
            Kind::Name(name @ ("request" | "req")) => {
                let is_imported = unit.import(name).is_some_and(|import| {
                    ["flask", "quart", "bottle"].iter().any(|m| import.module.starts_with(m))
                });
                is_imported || self.function_with(name, scope).is_some()
            }
            // `self.request`.
            Kind::Member(_, "request") => matches!(chain_base(of).kind, Kind::Name("self")),
            _ => false,
        };
        let texts =
            ["args", "form", "values", "GET", "POST", "query_params", "headers", "match_info"];
        let is_texts = |of: &Expr<'t>| matches!(&of.kind, Kind::Member(of, name) if texts.contains(name) && is_request(of));
        match &expr.kind {
            Kind::Member(of, "json" | "data") if is_request(of) => Some(Shape::Any),
            Kind::Member(of, "body") if is_request(of) => Some(Shape::Text),
            Kind::Index(of, _) if is_texts(of) => Some(Shape::Text),
            Kind::Call(call) => match call.method()? {
                "get_json" | "json" if is_request(call.receiver()?) => Some(Shape::Any),
                "get" if is_texts(call.receiver()?) => Some(Shape::Text),
                _ => None,
            },
            // A parameter of a route of FastAPI or Flask is a string unless its type says otherwise.
            Kind::Name(name) => {
                let function = self.function_with(name, scope)?;
                let ScopeKind::Function(own) = &unit.scopes[function].kind else { return None };
                let is_route = own.marks.iter().any(|mark| {
                    (unit.language.dialect().handler_mark)(&mark.path) == Some("the route")
                });
                let class = self.class_of_parameter(name, scope)?;
                let is_text = matches!(class, "str" | "Optional[str]" | "str | None");
                (is_route && is_text && self.values.given(name, scope).is_empty())
                    .then_some(Shape::Text)
            }
            _ => None,
        }
    }

    fn sent_to_php(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<Shape> {
        let is_request = |of: &Expr<'t>| {
            matches!(of.kind, Kind::Name(name) if self
                .class_of_parameter(name, scope)
                .is_some_and(|class| class.ends_with("Request")))
        };
        match &expr.kind {
            Kind::Name("_GET" | "_POST" | "_REQUEST" | "_COOKIE") => Some(Shape::Any),
            Kind::Text(_) => (expr.text()? == "php://input").then_some(Shape::Text),
            Kind::Call(call) => match call.method()? {
                "input" | "get" | "post" | "query" | "all" | "json" => {
                    is_request(call.receiver()?).then_some(Shape::Any)
                }
                "file_get_contents" => {
                    (call.positional(0)?.text()? == "php://input").then_some(Shape::Text)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The nearest enclosing function with a parameter of this name.
    fn function_with(&self, name: &str, scope: ScopeId) -> Option<ScopeId> {
        let unit = self.values.unit;
        unit.around(scope).find(|id| match &unit.scopes[*id].kind {
            ScopeKind::Function(function) => function.parameters.iter().any(|(n, _)| *n == name),
            _ => false,
        })
    }

    fn class_of_parameter(&self, name: &str, scope: ScopeId) -> Option<&'t str> {
        let ScopeKind::Function(function) =
            &self.values.unit.scopes[self.function_with(name, scope)?].kind
        else {
            return None;
        };
        let found = function.parameters.iter().find(|(own, _)| *own == name);
        found.map(|(_, class)| class.trim_start_matches([':', ' ', '*', '&']))
    }

    /// Whether the code checks a value before it uses it: with a function that has the name of a check, or with a
    /// method that only strings have. A check in the route before the handler also counts.
    fn is_checked(&self, value: &'u Expr<'t>, input: &Input, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let outer = self.outer_function(scope);
        let (from, until) = (unit.scopes[outer].at, value.at);
        let mut names = vec![input.shown.clone()];
        names.extend(value.path());
        let mut next = value;
        while let Kind::Name(name) = next.kind {
            match self.values.given(name, scope).first() {
                Some((_, given)) if !std::ptr::eq(*given, next) && names.len() < 6 => {
                    names.extend(given.path());
                    next = given;
                }
                _ => break,
            }
        }
        let is_it = |expr: &Expr<'t>| expr.path().is_some_and(|path| names.contains(&path));
        let is_around = |expr: &Expr<'t>| {
            expr.path().is_some_and(|path| {
                names.iter().any(|name| {
                    name.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('.'))
                })
            })
        };
        let mut found = false;
        unit.each(|at, expr| {
            let Some(call) = expr.call() else { return };
            if found || expr.at < from || expr.at > until || self.outer_function(at) != outer {
                return;
            }
            let method = call.method().unwrap_or_default();
            let lower = method.to_ascii_lowercase();
            let of = call.receiver();
            let is_check = CHECKS.iter().any(|word| lower.contains(word))
                && !matches!(method, "parseInt" | "parseFloat")
                && of.and_then(Expr::last_name) != Some("JSON");
            let given = || call.args.iter().map(|arg| &arg.value).chain(of);
            found |= is_check && given().any(|arg| is_it(arg) || is_around(arg));
            found |= OF_TEXTS.contains(&method) && of.is_some_and(is_it);
        });
        let code = self.text.get(from..until).unwrap_or_default();
        found
            || names.iter().any(|name| code.contains(&format!("typeof {name}")))
            || self.is_behind_check(scope)
    }

    /// Whether a check of requests precedes the handler in its route.
    fn is_behind_check(&self, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let says = |text: &str| {
            let lower = text.to_ascii_lowercase();
            ["valid", "sanit", "celebrate", "schema", "joi", "zod", "check(", "body("]
                .iter()
                .any(|word| lower.contains(word))
        };
        let functions: Vec<ScopeId> = unit
            .around(scope)
            .filter(|id| matches!(unit.scopes[*id].kind, ScopeKind::Function(_)))
            .collect();
        let is_marked = functions.iter().any(|id| match &unit.scopes[*id].kind {
            ScopeKind::Function(function) => {
                let names: Vec<&str> = function.marks.iter().map(|m| m.path.as_str()).collect();
                names.iter().any(|path| says(path) || path.ends_with("expect"))
            }
            _ => false,
        });
        let mut found = is_marked;
        unit.each(|_, expr| {
            let Some(call) = expr.call() else { return };
            let is_handler = |arg: &Expr<'t>| match arg.kind {
                Kind::Function(id) => functions.contains(&id),
                Kind::Name(name) | Kind::Member(_, name) => functions.iter().any(
                    |id| matches!(&unit.scopes[*id].kind, ScopeKind::Function(f) if f.name == name),
                ),
                _ => false,
            };
            if !call.args.iter().any(|arg| is_handler(&arg.value)) {
                return;
            }
            for arg in call.args.iter().filter(|arg| !is_handler(&arg.value)) {
                let is_path = matches!(arg.value.kind, Kind::Text(_) | Kind::Function(_));
                let text = self.text.get(arg.value.at..arg.value.end).unwrap_or_default();
                found |= !is_path && says(text);
            }
        });
        found
    }
}

/// Returns the guard that a library provides, if it checks requests.
fn guard(module: &str) -> Option<InputGuard> {
    if SANITIZERS.contains(&module) {
        Some(InputGuard::Sanitizer)
    } else if VALIDATORS.contains(&module) {
        Some(InputGuard::Validator)
    } else {
        None
    }
}

/// Returns the guards of requests in a list of dependencies.
pub(super) fn guards_of_libraries(file: &str, text: &str) -> Vec<InputGuard> {
    if file.rsplit('/').next() != Some("package.json") {
        return Vec::new();
    }
    let Ok(package) = serde_json::from_str::<serde_json::Value>(text) else { return Vec::new() };
    let entries = ["dependencies", "devDependencies"]
        .iter()
        .filter_map(|list| package.get(list)?.as_object())
        .flatten()
        .filter_map(|(name, version)| Some((name.as_str(), version.as_str()?)));
    entries
        .filter_map(|(name, version)| match name {
            "express" => {
                let number = version.trim_start_matches(['^', '~', '>', '=', ' ']);
                number.starts_with('5').then_some(InputGuard::FlatQueries)
            }
            name => guard(name),
        })
        .collect()
}
