//! Queries that run once for each element of a list: in loops, comprehensions and functions that are passed to `map`.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::code::{ListSource, LoopQuery};

use super::{
    super::{
        Language, Scan,
        ir::{Call, Expr, Kind, ScopeId, ScopeKind, StatementKind},
        updates::UPDATES,
        values::stem,
    },
    Query, Reading, Reads, target_names,
};

/// Functions that send a query with their arguments: the file and the name, and the collection.
pub(crate) type Askers = BTreeMap<(String, String), Option<String>>;

/// Methods that call a function for each element of the list that they belong to.
const OF_LISTS: [&str; 22] = [
    "map",
    "forEach",
    "flatMap",
    "filter",
    "each",
    "eachSeries",
    "eachAsync",
    "some",
    "every",
    "reduce",
    "Select",
    "SelectMany",
    "Where",
    "ForEach",
    "ForEachAsync",
    "forEachOrdered",
    "mapNotNull",
    "peek",
    "transform",
    "mapSeries",
    "eachOf",
    "associateWith",
];
/// Functions that receive a list and a function for each of its elements.
const WITH_LISTS: [&str; 16] = [
    "map",
    "forEach",
    "each",
    "eachSeries",
    "eachLimit",
    "eachOf",
    "mapSeries",
    "mapLimit",
    "filter",
    "some",
    "every",
    "concat",
    "array_map",
    "array_walk",
    "array_filter",
    "mapValues",
];
/// Calls that test whether a key is already known.
const LOOKUPS: [&str; 12] = [
    "has",
    "includes",
    "containsKey",
    "ContainsKey",
    "TryGetValue",
    "contains",
    "Contains",
    "get",
    "isset",
    "array_key_exists",
    "in_array",
    "Load",
];
/// Methods that write, except those that update.
const WRITES: [&str; 15] = [
    "save",
    "insert",
    "insertOne",
    "insert_one",
    "InsertOne",
    "create",
    "deleteOne",
    "delete_one",
    "DeleteOne",
    "deleteMany",
    "delete_many",
    "remove",
    "replaceOne",
    "replace_one",
    "find_one_and_replace",
];
/// Shorter names of methods are `find` and `getOne`, which many classes have.
const TELLING: usize = 8;

/// Code that runs once for each element of a list.
pub(super) struct Loop<'u, 't> {
    /// The names of an element or of its parts.
    pub(super) names: Vec<&'t str>,
    /// The list that the loop reads by position: `list[i]`.
    indexed: Option<String>,
    pub(super) list: &'u Expr<'t>,
    /// The scope in which names in the list are resolved.
    pub(super) scope: ScopeId,
    /// The byte range of the code that runs for each element.
    pub(super) at: usize,
    pub(super) end: usize,
    /// Whether the list may instead be one document that may be missing: `optional.map(…)`.
    may_be_one: bool,
}

/// A place that sends a query in a loop.
struct Asked {
    collection: Option<String>,
    is_proven: bool,
    through: Option<String>,
}

impl<'u, 't> Scan<'u, 't> {
    /// All loops of the file over the elements of lists.
    pub(super) fn loops(&self, reading: &Reading<'u, 't>) -> Vec<Loop<'u, 't>> {
        let unit = self.values.unit;
        let mut loops: Vec<Loop<'u, 't>> = unit
            .iterations
            .iter()
            .map(|own| Loop {
                names: own.names.clone(),
                indexed: None,
                list: &own.list,
                scope: own.scope,
                at: own.at,
                end: own.end,
                may_be_one: false,
            })
            .collect();
        for (id, (scope, expr)) in &reading.callbacks {
            loops.extend(expr.call().and_then(|call| self.callback_loop(*id, call, *scope)));
        }
        for (id, scope) in unit.scopes.iter().enumerate() {
            if matches!(scope.kind, ScopeKind::Loop) {
                self.plain_loops(reading, id, &mut loops);
            }
        }
        loops
    }

    /// `orders.map(async (order) => …)`, `async.each(orders, (order, done) => …)`.
    fn callback_loop(
        &self,
        id: ScopeId,
        call: &'u Call<'t>,
        scope: ScopeId,
    ) -> Option<Loop<'u, 't>> {
        let unit = self.values.unit;
        let ScopeKind::Function(function) = &unit.scopes[id].kind else { return None };
        let method = call.method()?;
        let is_function = |expr: &Expr<'t>| matches!(expr.kind, Kind::Function(_));
        let given =
            call.args.iter().map(|arg| &arg.value).find(|arg| {
                !is_function(arg) && !matches!(arg.kind, Kind::Number(_) | Kind::Text(_))
            });
        let (list, of_list) = match given {
            Some(list) if WITH_LISTS.contains(&method) && method != "concat" => (list, false),
            _ if OF_LISTS.contains(&method) => (call.receiver()?, true),
            _ => return None,
        };
        let index = usize::from(method == "reduce");
        let names = match function.parameters.get(index) {
            Some((name, _)) if is_plain_name(name) => vec![*name],
            // `({userId}) => …`.
            Some((pattern, _)) => pattern_names(pattern),
            None if unit.language == Language::Kotlin => vec!["it"],
            None => return None,
        };
        // `repository.findById(id).map(user -> …)` of one document that may be missing.
        let is_stream = {
            let mut found = matches!(method, "forEach" | "forEachOrdered");
            list.visit(&mut |inner| {
                found |= inner.call().and_then(Call::method).is_some_and(|method| {
                    matches!(method, "stream" | "parallelStream" | "asSequence")
                });
            });
            found
        };
        let may_be_one = of_list
            && unit.language.is_jvm()
            && !is_stream
            && (unit.language == Language::Java || method == "flatMap");
        let own = &unit.scopes[id];
        let (at, end) = (own.at, own.end);
        Some(Loop { names, indexed: None, list, scope, at, end, may_be_one })
    }

    /// Loops that read a list by position, `users[i]`, or move a cursor, `cursor.next()`.
    fn plain_loops(&self, reading: &Reading<'u, 't>, id: ScopeId, out: &mut Vec<Loop<'u, 't>>) {
        let unit = self.values.unit;
        let (at, end) = (unit.scopes[id].at, unit.scopes[id].end);
        let is_within = |expr: &Expr<'t>| at <= expr.at && expr.end <= end;
        let mut indexed: BTreeMap<String, (ScopeId, &'u Expr<'t>)> = BTreeMap::new();
        unit.each(|scope, expr| {
            if let Kind::Index(of, key) = &expr.kind
                && matches!(key.kind, Kind::Name(_))
                && is_within(expr)
                && let Some(path) = of.path()
            {
                indexed.entry(path).or_insert((scope, of));
            }
        });
        for (path, (scope, list)) in indexed {
            let names = Vec::new();
            out.push(Loop { names, indexed: Some(path), list, scope, at, end, may_be_one: false });
        }
        for (scope, expr) in reading.calls.iter().filter(|(_, expr)| is_within(expr)) {
            let Some(call) = expr.call() else { continue };
            let Some(list) = call.receiver() else { continue };
            let mut names = Vec::new();
            match call.method() {
                Some("next" | "tryNext" | "Next") => {
                    let given =
                        unit.statements.iter().filter_map(|statement| match &statement.kind {
                            StatementKind::Assign { target, value, .. } if holds(value, expr) => {
                                Some(target)
                            }
                            _ => None,
                        });
                    given.for_each(|target| target_names(target, &mut names));
                }
                Some("Decode") => {
                    call.args.iter().for_each(|arg| target_names(&arg.value, &mut names));
                }
                _ => {}
            }
            if !names.is_empty() {
                let (indexed, scope) = (None, *scope);
                out.push(Loop { names, indexed, list, scope, at, end, may_be_one: false });
            }
        }
    }

    /// The list of which a name is an element at a place.
    pub(in super::super) fn elements_of(&self, name: &str, at: usize) -> Option<&'u Expr<'t>> {
        let loops = self.reading().loops.iter();
        let around = loops.filter(|own| own.at <= at && at < own.end && own.names.contains(&name));
        around.min_by_key(|own| own.end - own.at).map(|own| own.list)
    }

    /// Finds queries that run once for each element of a list.
    pub(super) fn in_loops(&self, reading: &Reading<'u, 't>) -> Vec<LoopQuery> {
        let mut loops: Vec<&Loop<'u, 't>> = reading.loops.iter().collect();
        loops.sort_by_key(|own| (own.end - own.at, own.at));
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        let asking = self.asking(reading);
        for own in loops {
            let within =
                reading.calls.iter().filter(|(_, expr)| own.at <= expr.at && expr.end <= own.end);
            let mut element = None;
            for (scope, expr) in within {
                let Some(call) = expr.call() else { continue };
                if seen.contains(&expr.at) {
                    continue;
                }
                let Some(asked) = self.asked(&asking, reading, expr, call, *scope) else {
                    continue;
                };
                let names =
                    element.get_or_insert_with(|| self.derived(&own.names, own.at, own.end));
                let uses = |expr: &Expr<'t>| uses(expr, names, own.indexed.as_deref());
                let is_about = match asked.through {
                    None => uses(expr),
                    Some(_) => call.args.iter().any(|arg| uses(&arg.value)),
                };
                if !is_about {
                    continue;
                }
                let Some((list, is_proven)) = self.made(reading, own.list, own.scope, 0).list()
                else {
                    continue;
                };
                if own.may_be_one && !matches!(list, ListSource::Document) {
                    continue;
                }
                seen.insert(expr.at);
                found.push(LoopQuery {
                    place: self.place(expr.at, *scope),
                    collection: asked.collection,
                    is_proven: asked.is_proven && is_proven,
                    through: asked.through,
                    list,
                    loop_line: self.places.at(own.at.min(own.list.at)).line,
                    is_remembered: self.is_remembered(*scope, own, names),
                });
            }
        }
        found
    }

    /// The query that a call sends, itself or through a function of the project.
    fn asked(
        &self,
        asking: &BTreeMap<ScopeId, Query>,
        reading: &Reading<'u, 't>,
        expr: &'u Expr<'t>,
        call: &'u Call<'t>,
        scope: ScopeId,
    ) -> Option<Asked> {
        if let Some(query) = self.query(expr, scope) {
            let Query { collection, is_proven, .. } = query;
            return Some(Asked { collection, is_proven, through: None });
        }
        let name = call.method()?;
        if let Some(id) = self.called_function(reading, call, scope) {
            let query = asking.get(&id)?;
            let (collection, is_proven) = (query.collection.clone(), query.is_proven);
            return Some(Asked { collection, is_proven, through: Some(name.to_owned()) });
        }
        let collection = self.asker_elsewhere(call, name, scope)?;
        Some(Asked { collection, is_proven: true, through: Some(name.to_owned()) })
    }

    /// A function of another file that sends a query: by the module of the import, or by a name that no other file has.
    fn asker_elsewhere(
        &self,
        call: &'u Call<'t>,
        name: &str,
        scope: ScopeId,
    ) -> Option<Option<String>> {
        let (unit, askers) = (self.values.unit, &self.values.known.askers);
        let of_module = |local: &str| {
            let import = unit.import(local)?;
            let named = match call.receiver() {
                None if !matches!(import.name, "" | "default") => import.name,
                _ => name,
            };
            askers.get(&(stem(&import.module), named.to_owned())).cloned()
        };
        match call.receiver() {
            None => of_module(name),
            Some(of) => {
                if let Kind::Name(local) = of.kind
                    && unit.import(local).is_some()
                {
                    return of_module(local);
                }
                if let Some(class) = self.class_of(of, scope)
                    && unit.import(class).is_some()
                {
                    return of_module(class);
                }
                // `this.users.findByEmail(…)` of a class that the program injects.
                let is_member = matches!(of.kind, Kind::Member(..));
                let is_telling = name.len() >= TELLING
                    && (name.contains('_') || name[1..].contains(|c: char| c.is_ascii_uppercase()));
                if !is_member || !is_telling {
                    return None;
                }
                let mut named = askers.iter().filter(|((_, own), _)| own == name);
                let (_, collection) = named.next()?;
                named.next().is_none().then(|| collection.clone())
            }
        }
    }

    /// Functions of the file that send a query with their arguments.
    fn asking(&self, reading: &Reading<'u, 't>) -> BTreeMap<ScopeId, Query> {
        let unit = self.values.unit;
        let mut found: BTreeMap<ScopeId, Query> = BTreeMap::new();
        let queries = reading
            .calls
            .iter()
            .filter_map(|(scope, expr)| Some((*scope, *expr, self.query(expr, *scope)?)));
        for (scope, expr, query) in queries {
            let around = unit.around(scope).filter_map(|id| match &unit.scopes[id].kind {
                ScopeKind::Function(function) if !function.name.is_empty() => Some((id, function)),
                _ => None,
            });
            let Some((id, function)) = around.into_iter().next() else { continue };
            let own = &unit.scopes[id];
            let given: Vec<&'t str> = function
                .parameters
                .iter()
                .map(|(name, _)| *name)
                .filter(|name| !matches!(*name, "self" | "cls" | "ctx" | "req" | "res" | "request"))
                .collect();
            let names = self.derived(&given, own.at, own.end);
            // A function that also writes must run for each element: no single query can replace it.
            let query = Query { is_proven: query.is_proven && !self.writes(reading, id), ..query };
            let better = |had: &Query| !had.is_proven && query.is_proven;
            if uses(expr, &names, None) && found.get(&id).is_none_or(better) {
                found.insert(id, query);
            }
        }
        self.asking_through(reading, &mut found);
        found
    }

    /// Adds functions that pass their arguments to functions that send a query with them.
    fn asking_through(&self, reading: &Reading<'u, 't>, found: &mut BTreeMap<ScopeId, Query>) {
        /// Few programs pass a value through more functions.
        const ROUNDS: usize = 3;
        let unit = self.values.unit;
        for _ in 0..ROUNDS {
            let mut more = Vec::new();
            for (scope, expr) in &reading.calls {
                let Some(call) = expr.call() else { continue };
                let Some((id, function)) = unit.function(*scope) else { continue };
                if function.name.is_empty() || found.contains_key(&id) {
                    continue;
                }
                let Some(asked) = self.asked(found, reading, expr, call, *scope) else { continue };
                let own = &unit.scopes[id];
                let given: Vec<&'t str> =
                    function.parameters.iter().map(|(name, _)| *name).collect();
                let names = self.derived(&given, own.at, own.end);
                let is_handed = call.args.iter().any(|arg| uses(&arg.value, &names, None));
                if asked.through.is_some() && is_handed {
                    let is_proven = asked.is_proven && !self.writes(reading, id);
                    let (collection, reads) = (asked.collection, Reads::One);
                    more.push((id, Query { collection, reads, is_proven }));
                }
            }
            if more.is_empty() {
                break;
            }
            found.extend(more);
        }
    }

    /// Whether a function changes documents itself.
    fn writes(&self, reading: &Reading<'u, 't>, function: ScopeId) -> bool {
        reading.calls.iter().any(|(scope, expr)| {
            let method = expr.call().and_then(Call::method);
            method.is_some_and(|method| WRITES.contains(&method) || UPDATES.contains(&method))
                && self.values.unit.is_in(*scope, function)
        })
    }

    /// Returns the functions that query by their arguments, for use by other files.
    pub(in super::super) fn askers(&self, stem: &str) -> Askers {
        let asking = self.asking(self.reading());
        let named =
            asking.into_iter().filter(|(_, query)| query.is_proven && query.reads != Reads::Number);
        named
            .filter_map(|(id, query)| match &self.values.unit.scopes[id].kind {
                ScopeKind::Function(function) => {
                    Some(((stem.to_owned(), function.name.to_owned()), query.collection))
                }
                _ => None,
            })
            .collect()
    }

    /// Names whose values are derived from these, by the assignments in a range.
    pub(super) fn derived(&self, names: &[&'t str], at: usize, end: usize) -> BTreeSet<&'t str> {
        /// Values are passed on a few times at most.
        const ROUNDS: usize = 4;
        let mut out: BTreeSet<&'t str> = names.iter().copied().collect();
        for _ in 0..ROUNDS {
            let before = out.len();
            for statement in &self.values.unit.statements {
                if let StatementKind::Assign { target, value, .. } = &statement.kind
                    && at <= target.at
                    && target.end <= end
                    && uses(value, &out, None)
                {
                    let mut given = Vec::new();
                    target_names(target, &mut given);
                    out.extend(given);
                }
            }
            if out.len() == before {
                break;
            }
        }
        out
    }

    /// Whether the query runs only for unknown keys: `if (!users.has(id))`.
    fn is_remembered(&self, scope: ScopeId, own: &Loop<'u, 't>, names: &BTreeSet<&'t str>) -> bool {
        let unit = self.values.unit;
        let within = unit.around(scope).take_while(|id| unit.scopes[*id].at >= own.at);
        let conditions = within.filter_map(|id| match &unit.scopes[id].kind {
            ScopeKind::Branch(Some(condition)) => Some(condition),
            _ => None,
        });
        conditions.into_iter().any(|condition| {
            let mut found = self.looks_up(condition, own, names);
            condition.visit(&mut |inner| {
                // `_, ok := known[id]`, `user = known.get(id)`.
                if let Kind::Name(name) = inner.kind {
                    let given = self.values.given(name, scope);
                    found |= given.iter().any(|(_, value)| {
                        own.at <= value.at
                            && value.end <= own.end
                            && self.looks_up(value, own, names)
                    });
                }
            });
            found
        })
    }

    /// Whether an expression searches a map, set or list for a part of the element.
    fn looks_up(&self, expr: &Expr<'t>, own: &Loop<'u, 't>, names: &BTreeSet<&'t str>) -> bool {
        let is_own = |key: &Expr<'t>| uses(key, names, own.indexed.as_deref());
        let mut found = false;
        expr.visit(&mut |inner| {
            found |= match &inner.kind {
                Kind::Index(of, key) => is_own(key) && !is_own(of),
                Kind::Binary("in" | "not in", key, of) => is_own(key) && !is_own(of),
                Kind::Call(call) => {
                    call.method().is_some_and(|method| LOOKUPS.contains(&method))
                        && call.receiver().is_none_or(|of| !is_own(of))
                        && call.args.iter().any(|arg| is_own(&arg.value))
                }
                _ => false,
            };
        });
        found
    }
}

/// Whether an expression mentions one of these names, or an element of a list that a loop reads by position.
fn uses(expr: &Expr<'_>, names: &BTreeSet<&str>, indexed: Option<&str>) -> bool {
    let mut found = false;
    expr.visit(&mut |inner| {
        found |= match &inner.kind {
            Kind::Name(name) => names.contains(name),
            Kind::Index(of, key) => {
                indexed.is_some()
                    && matches!(key.kind, Kind::Name(_))
                    && of.path().as_deref() == indexed
            }
            _ => false,
        };
    });
    found
}

/// Whether an expression is another one, or contains it.
fn holds(expr: &Expr<'_>, other: &Expr<'_>) -> bool {
    expr.at <= other.at && other.end <= expr.end
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
}

/// The names of a pattern: `{ userId, total: sum }`.
fn pattern_names(pattern: &str) -> Vec<&str> {
    let parts = pattern.trim_matches(['{', '}', '[', ']', '(', ')', ' ']).split(',');
    let names = parts.map(|part| part.rsplit(':').next().unwrap_or(part).trim());
    names.filter(|name| is_plain_name(name)).collect()
}
