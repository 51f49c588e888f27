//! Evaluates expressions statically: follows names to their only value, joins strings, and reads documents in
//! every notation.

use std::{
    cell::{Cell, OnceCell},
    collections::BTreeMap,
};

use super::{
    Known,
    ir::{Call, Expr, Key, Kind, Part, ScopeId, ScopeKind, StatementKind, Unit},
    secrets,
};

/// Maximum number of names that are followed one after the other.
const MAX_STEPS: u32 = 12;

/// A piece of an assembled string.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fragment {
    /// Characters and their position; no position if they are in another file.
    Text(String, Option<usize>),
    /// Computed.
    Hole,
}

/// An assembled string.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Folded {
    pub(crate) fragments: Vec<Fragment>,
    /// Whether the string applies only if an environment variable is not set.
    pub(crate) fallback: bool,
}

impl Folded {
    /// The string, if no part is computed.
    pub(crate) fn whole(&self) -> Option<String> {
        self.fragments
            .iter()
            .map(|fragment| match fragment {
                Fragment::Text(text, _) => Some(text.as_str()),
                Fragment::Hole => None,
            })
            .collect()
    }

    /// Whether nothing is known about it.
    pub(crate) fn is_unknown(&self) -> bool {
        self.fragments.iter().all(|fragment| matches!(fragment, Fragment::Hole))
    }
}

/// A field of a document.
#[derive(Clone)]
pub(crate) struct Field<'u, 't> {
    /// Its name; `None` if it is computed.
    pub(crate) name: Option<String>,
    /// The expression from which the name is computed.
    pub(crate) computed: Option<&'u Expr<'t>>,
    /// All fields of an unknown document.
    pub(crate) is_spread: bool,
    pub(crate) value: &'u Expr<'t>,
    pub(crate) at: usize,
    /// The scope in which names in the value are resolved.
    pub(crate) scope: ScopeId,
}

impl Field<'_, '_> {
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name)
    }
}

/// The values of one file.
pub(crate) struct Values<'u, 't> {
    pub(crate) unit: &'u Unit<'t>,
    pub(crate) known: &'u Known,
    /// Whether it is a script for the shell, which has a predefined `db`.
    pub(crate) is_shell: bool,
    /// The current depth of followed names: `a = a.b` leads nowhere.
    depth: Cell<u32>,
    /// Assignments by their target, with the scope of each.
    assigned: BTreeMap<String, Vec<(ScopeId, &'u Expr<'t>)>>,
    /// Whether the file converts cursors to arrays.
    pub(crate) has_methods: OnceCell<bool>,
}

impl<'u, 't> Values<'u, 't> {
    pub(crate) fn new(unit: &'u Unit<'t>, known: &'u Known, is_shell: bool) -> Self {
        let mut assigned: BTreeMap<String, Vec<(ScopeId, &'u Expr<'t>)>> = BTreeMap::new();
        for statement in &unit.statements {
            if let StatementKind::Assign { target, value, adds: false } = &statement.kind
                && let Some(path) = target.path()
            {
                assigned.entry(path).or_default().push((statement.scope, value));
            }
        }
        let has_methods = OnceCell::new();
        Self { unit, known, is_shell, depth: Cell::new(0), assigned, has_methods }
    }

    /// The function, class or module that names of a scope belong to.
    pub(crate) fn owner(&self, scope: ScopeId) -> ScopeId {
        self.unit
            .around(scope)
            .find(|id| {
                !matches!(self.unit.scopes[*id].kind, ScopeKind::Loop | ScopeKind::Branch(_))
            })
            .unwrap_or(0)
    }

    /// All values of a name or member that are visible in a scope, nearest owner first.
    pub(crate) fn given(&self, path: &str, scope: ScopeId) -> Vec<(ScopeId, &'u Expr<'t>)> {
        let all = self.assigned.get(path).map_or(&[][..], Vec::as_slice);
        // Members (`self.client`) belong to the object, wherever they are assigned.
        if path.contains('.') {
            let class = self.unit.class(scope).map(|(id, _)| id);
            return all
                .iter()
                .filter(|(at, _)| self.unit.class(*at).map(|(id, _)| id) == class)
                .copied()
                .collect();
        }
        for outer in self.unit.around(scope) {
            // A field of a class is declared without a value.
            let is_given = |value: &Expr<'t>| {
                !self.unit.language.is_jvm()
                    || !matches!(&value.kind, Kind::Other(held) if held.is_empty())
            };
            let own = all.iter().filter(|(at, value)| self.owner(*at) == outer && is_given(value));
            let here: Vec<_> = own.copied().collect();
            if !here.is_empty() {
                return self.of_block(path, scope, here);
            }
        }
        // A field of a class, which Java and Kotlin name without `this`.
        match self.unit.language.is_jvm() {
            true => self.given(&format!("this.{path}"), scope),
            false => Vec::new(),
        }
    }

    /// Returns the values of the name that is visible in this block: another block may declare the same name.
    fn of_block(
        &self,
        name: &str,
        scope: ScopeId,
        given: Vec<(ScopeId, &'u Expr<'t>)>,
    ) -> Vec<(ScopeId, &'u Expr<'t>)> {
        let blocks: Vec<ScopeId> =
            self.unit.block_names.iter().filter(|(_, n)| *n == name).map(|(id, _)| *id).collect();
        let block_of = |scope| self.unit.around(scope).find(|id| blocks.contains(id));
        if blocks.len() < 2 {
            return given;
        }
        let block = block_of(scope);
        let own: Vec<_> = given.iter().filter(|(at, _)| block_of(*at) == block).copied().collect();
        if own.is_empty() { given } else { own }
    }

    /// The only assigned value. Nulls only declare the name and do not count.
    fn only(&self, path: &str, scope: ScopeId) -> Option<(ScopeId, &'u Expr<'t>)> {
        let given = self.given(path, scope);
        let mut given = given.into_iter().filter(|(_, value)| !matches!(value.kind, Kind::Null));
        let first = given.next()?;
        given.next().is_none().then_some(first)
    }

    /// Follows names to their values.
    pub(crate) fn follow(&self, expr: &'u Expr<'t>, scope: ScopeId) -> (&'u Expr<'t>, ScopeId) {
        let (mut expr, mut scope) = (expr, scope);
        for _ in 0..MAX_STEPS {
            match self.step(expr, scope) {
                Some((next, at)) if !std::ptr::eq(next, expr) => (expr, scope) = (next, at),
                _ => break,
            }
        }
        (expr, scope)
    }

    fn step(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<(&'u Expr<'t>, ScopeId)> {
        if self.depth.get() > MAX_STEPS {
            return None;
        }
        self.depth.set(self.depth.get() + 1);
        let found = self.step_once(expr, scope);
        self.depth.set(self.depth.get() - 1);
        found
    }

    fn step_once(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<(&'u Expr<'t>, ScopeId)> {
        match &expr.kind {
            Kind::Name(name) => self.only(name, scope).map(|(at, value)| (value, at)),
            Kind::Member(of, name) => {
                if let Some(found) = expr.path().and_then(|path| self.only(&path, scope)) {
                    return Some((found.1, found.0));
                }
                let (of, at) = match self.step(of, scope) {
                    Some(found) => self.follow(found.0, found.1),
                    None => return None,
                };
                entry(of, name).map(|value| (value, at))
            }
            Kind::Index(of, at) => {
                let name = at.text()?;
                let (of, at) = self.follow(of, scope);
                entry(of, &name).map(|value| (value, at))
            }
            _ => None,
        }
    }

    /// Assembles a string from its parts.
    pub(crate) fn fold(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Folded {
        let mut folded = Folded::default();
        self.fold_into(expr, scope, 0, &mut folded);
        folded
    }

    fn fold_into(&self, expr: &'u Expr<'t>, scope: ScopeId, steps: u32, out: &mut Folded) {
        if steps > MAX_STEPS {
            out.fragments.push(Fragment::Hole);
            return;
        }
        let (expr, scope) = self.follow(expr, scope);
        match &expr.kind {
            Kind::Text(parts) => {
                for part in parts {
                    match part {
                        Part::Text(text, at) => {
                            out.fragments.push(Fragment::Text(text.to_string(), Some(*at)));
                        }
                        Part::Hole(hole) => self.fold_into(hole, scope, steps + 1, out),
                    }
                }
            }
            Kind::Number(text) => {
                out.fragments.push(Fragment::Text((*text).to_owned(), Some(expr.at)));
            }
            // `User::comments.name` of Kotlin.
            Kind::Member(of, "name") if matches!(of.kind, Kind::Text(_)) => {
                self.fold_into(of, scope, steps + 1, out);
            }
            Kind::Binary("+", left, right) => {
                self.fold_into(left, scope, steps + 1, out);
                self.fold_into(right, scope, steps + 1, out);
            }
            // `"…%s…" % values`.
            Kind::Binary("%", left, right) if matches!(left.kind, Kind::Text(_)) => {
                let filled = match &self.follow(right, scope).0.kind {
                    Kind::List(items) => items.iter().map(|item| (None, item)).collect(),
                    Kind::Object(entries) => {
                        entries.iter().map(|entry| (entry.name(), &entry.value)).collect()
                    }
                    _ => vec![(None, &**right)],
                };
                self.formatted(left, &filled, scope, steps, Signs::Percent, out);
            }
            Kind::Binary("||" | "??" | "?:", left, right) => {
                let mut first = Folded::default();
                self.fold_into(left, scope, steps + 1, &mut first);
                if first.is_unknown() {
                    out.fallback = true;
                    self.fold_into(right, scope, steps + 1, out);
                } else {
                    out.fragments.extend(first.fragments);
                }
            }
            Kind::Call(call) => {
                let path = call.callee.path().unwrap_or_default();
                let method = call.method().unwrap_or_default();
                let dialect = self.unit.language.dialect();
                let format = dialect.formats.iter().find(|(name, _)| *name == path);
                if dialect.reads_environment.contains(&method) && is_environment(&path) {
                    let default = call
                        .positional(1)
                        .or_else(|| call.named("default"))
                        .or_else(|| call.named("fallback"));
                    match default {
                        Some(default) => {
                            out.fallback = true;
                            self.fold_into(default, scope, steps + 1, out);
                        }
                        None => out.fragments.push(Fragment::Hole),
                    }
                } else if matches!(method, "format" | "formatted")
                    && let Some(of) = call.receiver()
                    && matches!(
                        self.follow(of, scope).0.kind,
                        Kind::Text(_) | Kind::Binary("+", ..)
                    )
                {
                    let filled: Vec<_> =
                        call.args.iter().map(|arg| (arg.name, &arg.value)).collect();
                    self.formatted(of, &filled, scope, steps, dialect.format_method, out);
                } else if let Some((_, signs)) = format {
                    let filled: Vec<_> =
                        call.args.iter().skip(1).map(|arg| (arg.name, &arg.value)).collect();
                    match call.positional(0) {
                        Some(text) => {
                            self.formatted(text, &filled, scope, steps, *signs, out);
                        }
                        None => out.fragments.push(Fragment::Hole),
                    }
                } else if let Some((items, between)) = self.joined(call, scope) {
                    for (n, item) in items.into_iter().enumerate() {
                        if n > 0 && !between.is_empty() {
                            out.fragments.push(Fragment::Text(between.clone(), None));
                        }
                        self.fold_into(item, scope, steps + 1, out);
                    }
                } else if matches!(method, "toString" | "trim" | "strip" | "trimEnd")
                    && let Some(of) = call.receiver()
                {
                    self.fold_into(of, scope, steps + 1, out);
                } else {
                    out.fragments.push(Fragment::Hole);
                }
            }
            // The choice between two hosts does not matter if both are this machine.
            Kind::Choice(held) => {
                let [_, left, right] = &**held;
                let fold = |arm: &'u Expr<'t>| {
                    let mut folded = Folded::default();
                    self.fold_into(arm, scope, steps + 1, &mut folded);
                    folded
                };
                let (left, right) = (fold(left), fold(right));
                let is_local =
                    |arm: &Folded| arm.whole().is_some_and(|host| secrets::is_local(&host));
                match is_local(&left) && is_local(&right) {
                    true => out.fragments.extend(left.fragments),
                    false => out.fragments.push(Fragment::Hole),
                }
            }
            _ => match self.elsewhere(expr) {
                Some(text) => out.fragments.push(Fragment::Text(text.to_owned(), None)),
                None => out.fragments.push(Fragment::Hole),
            },
        }
    }

    /// Whether an expression is a setting of another file that defaults to this machine: `env.database.url` with
    /// `url: process.env.DB_URL || "mongodb://localhost"` there.
    pub(crate) fn is_local_default(&self, expr: &'u Expr<'t>, scope: ScopeId) -> bool {
        let Some(path) = self.follow(expr, scope).0.path() else { return false };
        let root = path.split('.').next().unwrap_or(&path);
        let last = path.rsplit('.').next().unwrap_or(&path);
        self.unit.import(root).is_some_and(|import| {
            let name = if last == root && !import.name.is_empty() { import.name } else { last };
            self.known.local_defaults.contains(&(stem(&import.module), name.to_owned()))
        })
    }

    /// A constant of another file.
    fn elsewhere(&self, expr: &Expr<'t>) -> Option<&'u str> {
        let path = expr.path()?;
        let (first, rest) = path.split_once('.').unwrap_or((&path, ""));
        let import = self.unit.import(first);
        let key = match (import, rest) {
            (Some(import), "") => (stem(&import.module), import.name.to_owned()),
            // `import config` and `config.URI`; `import Constants` and `Constants.URI`.
            (Some(import), rest) if matches!(import.name, "" | "default") => {
                (stem(&import.module), rest.to_owned())
            }
            (Some(import), rest) => (import.name.to_owned(), rest.to_owned()),
            (None, "") => return None,
            (None, rest) => (first.to_owned(), rest.to_owned()),
        };
        self.known.constants.get(&key)?.as_deref()
    }

    /// Joins texts with a separator: `"".join([…])`, `[…].join("")`, `strings.Join([]string{…}, "")`,
    /// `String.join("", …)`, `"…".concat(…)`.
    fn joined(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<(Vec<&'u Expr<'t>>, String)> {
        let of = call.receiver()?;
        let all = || call.args.iter().map(|arg| &arg.value);
        match call.method()? {
            "join" if matches!(of.kind, Kind::Name("String")) => {
                Some((all().skip(1).collect(), self.text(call.positional(0)?, scope)?))
            }
            "join" => match self.list(of, scope) {
                Some(items) => {
                    let between = match call.positional(0) {
                        Some(between) => self.text(between, scope)?,
                        None => ",".to_owned(),
                    };
                    Some((items.iter().collect(), between))
                }
                None => {
                    let items = self.list(call.positional(0)?, scope)?;
                    Some((items.iter().collect(), self.text(of, scope)?))
                }
            },
            "Join" if matches!(of.kind, Kind::Name("strings")) => {
                let items = self.list(call.positional(0)?, scope)?;
                Some((items.iter().collect(), self.text(call.positional(1)?, scope)?))
            }
            "concat" if matches!(of.kind, Kind::Text(_)) => {
                Some((std::iter::once(of).chain(all()).collect(), String::new()))
            }
            _ => None,
        }
    }

    /// Fills the placeholders of a text, by position or by name. A value that applies only if a variable is not set
    /// stays a hole.
    fn formatted(
        &self,
        text: &'u Expr<'t>,
        filled: &[(Option<&str>, &'u Expr<'t>)],
        scope: ScopeId,
        steps: u32,
        signs: Signs,
        out: &mut Folded,
    ) {
        let mut plain = Folded::default();
        self.fold_into(text, scope, steps + 1, &mut plain);
        let mut next = 0;
        for fragment in plain.fragments {
            let Fragment::Text(text, at) = fragment else {
                out.fragments.push(Fragment::Hole);
                continue;
            };
            for piece in pieces_of_format(&text, signs) {
                let slot = match piece {
                    FormatPiece::Text(from, to) => {
                        let at = at.map(|at| at + from);
                        out.fragments.push(Fragment::Text(text[from..to].to_owned(), at));
                        continue;
                    }
                    FormatPiece::Slot(slot) => slot,
                };
                let value = match slot {
                    Slot::Next => {
                        next += 1;
                        filled.get(next - 1)
                    }
                    Slot::Nth(n) => filled.get(n),
                    Slot::Named(name) => filled.iter().find(|(key, _)| *key == Some(name)),
                };
                let mut inner = Folded::default();
                if let Some((_, value)) = value {
                    self.fold_into(value, scope, steps + 1, &mut inner);
                }
                if inner.fallback || inner.fragments.is_empty() {
                    out.fragments.push(Fragment::Hole);
                } else {
                    out.fragments.extend(inner.fragments);
                }
            }
        }
    }

    /// Returns a text without holes.
    pub(crate) fn text(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<String> {
        self.fold(expr, scope).whole()
    }

    /// An integer, also as a product (`120 * time.Second` is 120000 milliseconds' worth elsewhere).
    pub(crate) fn int(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<i64> {
        if self.depth.get() > MAX_STEPS {
            return None;
        }
        self.depth.set(self.depth.get() + 1);
        let found = self.int_at(expr, scope);
        self.depth.set(self.depth.get() - 1);
        found
    }

    fn int_at(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<i64> {
        let (expr, scope) = self.follow(expr, scope);
        match &expr.kind {
            Kind::Number(text) => number(text),
            Kind::Binary("*", left, right) => {
                self.int(left, scope)?.checked_mul(self.int(right, scope)?)
            }
            Kind::Binary("+", left, right) => {
                self.int(left, scope)?.checked_add(self.int(right, scope)?)
            }
            Kind::Other(held) => match held.as_slice() {
                [only] => self.int(only, scope),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the fields of a document in any notation: a literal, `new Document("a", 1)`, `.append("b", 2)`,
    /// `Map.of("c", 3)`, `dict(d=4)`. Returns `None` if the expression may not be a document.
    pub(crate) fn document(
        &self,
        expr: &'u Expr<'t>,
        scope: ScopeId,
    ) -> Option<Vec<Field<'u, 't>>> {
        self.document_at(expr, scope, 0)
    }

    fn document_at(
        &self,
        expr: &'u Expr<'t>,
        scope: ScopeId,
        steps: u32,
    ) -> Option<Vec<Field<'u, 't>>> {
        if steps > MAX_STEPS {
            return None;
        }
        let (expr, scope) = self.follow(expr, scope);
        match &expr.kind {
            Kind::Object(entries) => {
                let mut out = Vec::new();
                for entry in entries {
                    let is_spread = matches!(entry.key, Key::Spread);
                    let inner = match is_spread {
                        true => self.document_at(&entry.value, scope, steps + 1),
                        false => None,
                    };
                    match inner {
                        Some(inner) => out.extend(inner),
                        None => out.push(Field {
                            name: self.key(&entry.key, scope),
                            computed: match &entry.key {
                                Key::Computed(key) => Some(key),
                                Key::Text(_) | Key::Spread => None,
                            },
                            is_spread,
                            value: &entry.value,
                            at: entry.at,
                            scope,
                        }),
                    }
                }
                Some(out)
            }
            Kind::Call(call) => self.built_document(call, scope, steps),
            _ => None,
        }
    }

    fn key(&self, key: &'u Key<'t>, scope: ScopeId) -> Option<String> {
        match key {
            Key::Text(text) => Some(text.to_string()),
            Key::Computed(expr) => self.text(expr, scope),
            Key::Spread => None,
        }
    }

    fn built_document(
        &self,
        call: &'u Call<'t>,
        scope: ScopeId,
        steps: u32,
    ) -> Option<Vec<Field<'u, 't>>> {
        let field = |name: Option<String>, value: &'u Expr<'t>, at: usize| Field {
            name,
            computed: None,
            is_spread: false,
            value,
            at,
            scope,
        };
        match call.method()? {
            method @ ("Document" | "BasicDBObject" | "BsonDocument" | "SON" | "of") => {
                if method == "of" && call.receiver().and_then(Expr::last_name) != Some("Map") {
                    return None;
                }
                let mut out = Vec::new();
                let mut args = call.args.iter().map(|arg| &arg.value);
                while let Some(key) = args.next() {
                    if let Kind::Binary("to", left, right) = &key.kind {
                        out.push(field(self.text(left, scope), right, key.at));
                        continue;
                    }
                    let Some(name) = self.text(key, scope) else {
                        // `new Document(map)`.
                        return self.document_at(key, scope, steps + 1);
                    };
                    out.push(field(Some(name), args.next()?, key.at));
                }
                Some(out)
            }
            "append" | "put" | "Add" => {
                let mut out = self.document_at(call.receiver()?, scope, steps + 1)?;
                let key = call.positional(0)?;
                out.push(field(self.text(key, scope), call.positional(1)?, key.at));
                Some(out)
            }
            "dict" if call.receiver().is_none() => Some(
                call.args
                    .iter()
                    .filter_map(|arg| {
                        Some(field(Some(arg.name?.to_owned()), &arg.value, arg.value.at))
                    })
                    .collect(),
            ),
            _ => None,
        }
    }

    /// The items of a list.
    pub(crate) fn list(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<&'u [Expr<'t>]> {
        match &self.follow(expr, scope).0.kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }
}

fn entry<'u, 't>(object: &'u Expr<'t>, name: &str) -> Option<&'u Expr<'t>> {
    let Kind::Object(entries) = &object.kind else { return None };
    let mut found = entries.iter().filter(|entry| entry.name() == Some(name));
    let value = &found.next()?.value;
    found.next().is_none().then_some(value)
}

/// Whether a call reads an environment variable or a setting.
fn is_environment(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    lower.contains("env")
        || matches!(lower.as_str(), "config" | "config.get" | "settings.get" | "os.get")
}

/// Returns the name under which other files import a module: `../config/db.js` is `db`, `./user.model` is `user`, `../config/index` is
/// `config`, `app.config` of Python is `config`.
pub(crate) fn stem(module: &str) -> String {
    if module.contains('/') {
        let mut parts = module.rsplit('/').map(|part| part.split('.').next().unwrap_or(part));
        // `config/index.js` and `config/__init__.py` are imported as `config`.
        let named = parts.find(|part| !matches!(*part, "" | "index" | "__init__"));
        return named.unwrap_or("index").to_owned();
    }
    let last = module.rsplit(['/', '.']).find(|part| {
        !part.is_empty() && !matches!(*part, "js" | "ts" | "mjs" | "cjs" | "py" | "jsx" | "tsx")
    });
    last.unwrap_or(module).to_owned()
}

/// The syntax of placeholders in a language.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Signs {
    /// `%s`, `%1$s`, `%[1]s`, `%(name)s`.
    Percent,
    /// `{}`, `{0}`, `{name}`.
    Braces,
}

enum FormatPiece<'f> {
    /// Characters, from and to.
    Text(usize, usize),
    Slot(Slot<'f>),
}

/// The value for a placeholder.
enum Slot<'f> {
    Next,
    Nth(usize),
    Named(&'f str),
}

fn pieces_of_format(text: &str, signs: Signs) -> Vec<FormatPiece<'_>> {
    let mut out = Vec::new();
    let (mut from, mut here) = (0, 0);
    while here < text.len() {
        let slot = match (signs, text.as_bytes()[here]) {
            (Signs::Percent, b'%') => percent_slot(&text[here + 1..]),
            (Signs::Braces, b'{') => text[here..].find('}').map(|end| {
                let name = text[here + 1..here + end].split([':', '!']).next().unwrap_or_default();
                let slot = match name.parse() {
                    Ok(n) => Slot::Nth(n),
                    Err(_) if name.is_empty() => Slot::Next,
                    Err(_) => Slot::Named(name),
                };
                (slot, end)
            }),
            _ => None,
        };
        let Some((slot, length)) = slot else {
            here += 1;
            continue;
        };
        if here > from {
            out.push(FormatPiece::Text(from, here));
        }
        out.push(FormatPiece::Slot(slot));
        here += length + 1;
        from = here;
    }
    if from < text.len() {
        out.push(FormatPiece::Text(from, text.len()));
    }
    out
}

/// Returns the placeholder after a percent sign and its length; `None` for a percent code of a URL.
fn percent_slot(rest: &str) -> Option<(Slot<'_>, usize)> {
    if let Some(named) = rest.strip_prefix('(') {
        let end = named.find(')')?;
        let sign = named[end + 1..].find(|c: char| c.is_ascii_alphabetic())?;
        return Some((Slot::Named(&named[..end]), end + sign + 3));
    }
    let sign = rest.find(|c: char| c.is_ascii_alphabetic() && c != 'l')?;
    let is_code = rest.get(..2).is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    if (is_code && sign > 0) || sign > 8 {
        return None;
    }
    // `%[1]s` of Go and `%1$s` of Java count from one.
    let digits: String =
        rest.chars().skip_while(|c| *c == '[').take_while(char::is_ascii_digit).collect();
    let is_index = rest.starts_with('[') || rest[..sign].contains('$');
    let slot = match digits.parse::<usize>() {
        Ok(n) if is_index && n > 0 => Slot::Nth(n - 1),
        _ => Slot::Next,
    };
    Some((slot, sign + 1))
}

/// Parses an integer as languages write it.
pub(crate) fn number(text: &str) -> Option<i64> {
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    let plain = plain.trim_end_matches(['L', 'l', 'n']);
    plain.parse::<i64>().ok().or_else(|| {
        let float: f64 = plain.parse().ok()?;
        (float.fract() == 0.0 && float.abs() < 1e15).then_some(float as i64)
    })
}
