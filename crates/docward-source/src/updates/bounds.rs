//! Determines from a statement, its filter and the enclosing function how long an array can become.

use std::collections::BTreeSet;

use docward_model::{
    code::{Cap, Origin},
    words::split,
};

use super::{
    super::{
        Scan,
        ir::{Call, Expr, Kind, ScopeId, ScopeKind, StatementKind},
        values::{Field, Fragment},
    },
    Statement, UPDATES, mentions, mentions_call,
};

/// Methods that create a document.
const MAKES: [&str; 5] = ["insertOne", "insert_one", "InsertOne", "create", "insert"];
/// Functions that create the id of a document.
const MAKES_ID: [&str; 18] = [
    "ObjectId",
    "ObjectID",
    "NewObjectID",
    "NewObjectId",
    "uuid4",
    "uuidv4",
    "v4",
    "randomUUID",
    "uuid",
    "uuid1",
    "nanoid",
    "ulid",
    "cuid",
    "NewString",
    "Random.id",
    "uuid.New",
    "GenerateNewId",
    "NewGuid",
];
/// Methods that search a list.
const SEARCHES: [&str; 10] = [
    "find",
    "some",
    "findIndex",
    "any",
    "indexOf",
    "includes",
    "contains",
    "index",
    "count",
    "filter",
];

impl<'u, 't> Scan<'u, 't> {
    /// Returns the bound of all arrays of the document that a filter selects. Either the same function created the
    /// document, or there is one document for each period.
    pub(super) fn bounded_document(
        &self,
        call: &'u Call<'t>,
        filter: &[Field<'u, 't>],
        scope: ScopeId,
    ) -> Option<Cap> {
        let made = |expr: &'u Expr<'t>, scope: ScopeId| {
            // An id, or the id of a created document.
            let (name, is_id) = match &expr.kind {
                Kind::Name(name) => (*name, true),
                Kind::Member(of, "_id" | "id" | "insertedId" | "inserted_id" | "InsertedID") => {
                    let Kind::Name(name) = &of.kind else { return false };
                    (*name, false)
                }
                _ => return false,
            };
            let function = self.outer_function(scope);
            let given = self.values.given(name, scope);
            function != 0
                && !given.is_empty()
                && given.iter().all(|(at, value)| {
                    let is_made = || value.call().and_then(Call::method);
                    self.values.unit.is_in(*at, function)
                        && (if is_id {
                            makes_id(value)
                        } else {
                            is_made().is_some_and(|m| MAKES.contains(&m))
                        })
                })
        };
        let ids = filter.iter().filter(|field| field.is("_id")).map(|f| (f.value, f.scope));
        let given = call.args.iter().map(|arg| (&arg.value, scope));
        let by_id = matches!(call.method(), Some("UpdateByID" | "UpdateId" | "findByIdAndUpdate"));
        if ids.chain(given.filter(|_| by_id)).any(|(value, scope)| made(value, scope)) {
            return Some(Cap::NewDocument);
        }
        let upserts = call.args.iter().any(|arg| {
            arg.name == Some("upsert")
                || mentions(&arg.value, "upsert")
                || ["SetUpsert", "upsert"].iter().any(|m| mentions_call(&arg.value, m))
        });
        let of_period = filter.iter().any(|field| {
            field.name.as_deref().is_some_and(is_period)
                && self.values.document(field.value, field.scope).is_none()
        });
        (upserts && of_period).then_some(Cap::Period)
    }

    /// Returns the bound that a statement puts on one array.
    pub(super) fn cap(&self, field: &Field<'u, 't>, statement: &Statement<'u, 't>) -> Cap {
        let modifiers = self.values.document(field.value, field.scope).unwrap_or_default();
        if let Some(slice) = modifiers.iter().find(|modifier| modifier.is("$slice")) {
            return Cap::Slice(self.values.int(slice.value, slice.scope).unwrap_or(0));
        }
        let each = modifiers.iter().find(|modifier| modifier.is("$each"));
        if each.is_some() && modifiers.iter().any(|m| m.is_spread && m.name.is_none()) {
            return Cap::Unknown;
        }
        let array = field.name.as_deref().unwrap_or_default();
        if self.has_room(statement, array) || self.tests_length(array, field.scope) {
            return Cap::Length;
        }
        let (value, scope) = each.map_or((field.value, field.scope), |e| (e.value, e.scope));
        let origins = self.origins(value, scope);
        let is_fixed = !origins.is_empty() && origins.iter().all(|o| *o == Origin::Constant);
        // A constant that is appended repeatedly gives only a few distinct values, unless it is a document.
        if (is_fixed && !self.is_document(value, scope)) || self.is_listed(value, scope) {
            return Cap::Constant;
        }
        Cap::None
    }

    /// Whether a filter matches only while there is room: `count: {$lt: 60}`, `"items.99": {$exists: false}`, `$expr`
    /// with `$size`.
    fn has_room(&self, statement: &Statement<'u, 't>, array: &str) -> bool {
        let counted: Vec<String> = statement
            .update
            .iter()
            .filter(|entry| entry.is("$inc"))
            .flat_map(|entry| self.operands(entry.value, entry.scope))
            .filter_map(|field| field.name)
            .collect();
        statement.filter.iter().any(|entry| {
            // `[`items.${MAX - 1}`]: {$exists: false}`.
            if let Some(computed) = entry.computed
                && let Some(Fragment::Text(start, _)) =
                    self.values.fold(computed, entry.scope).fragments.first()
            {
                return start.strip_suffix('.') == Some(array) && mentions(entry.value, "$exists");
            }
            let Some(name) = entry.name.as_deref() else { return false };
            let conditions = self.values.document(entry.value, entry.scope).unwrap_or_default();
            let has = |operator: &str| conditions.iter().any(|condition| condition.is(operator));
            let counts = counted.iter().any(|counter| counter == name)
                || split(name).iter().any(|word| {
                    matches!(word.as_str(), "count" | "size" | "length" | "total" | "counter")
                });
            let index = name.strip_prefix(array).and_then(|rest| rest.strip_prefix('.'));
            ((name == "$expr" || name == array) && mentions(entry.value, "$size"))
                || (counts && (has("$lt") || has("$lte")))
                || (index.is_some_and(|i| i.parse::<u32>().is_ok()) && has("$exists"))
        })
    }

    /// Whether the function compares the length of the array with a bound: `user.items.length >= 10`,
    /// `len(user["items"]) > MAX`.
    pub(crate) fn tests_length(&self, path: &str, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let function = self.outer_function(scope);
        let leaf = path.rsplit('.').next().unwrap_or(path);
        let is_array = |of: &Expr<'t>| names_leaf(of, leaf);
        let is_length = |expr: &Expr<'t>| match &expr.kind {
            Kind::Member(of, "length" | "size") => is_array(of),
            Kind::Call(call) => match call.method() {
                Some("len") => call.positional(0).is_some_and(is_array),
                Some("size" | "count") => call.receiver().is_some_and(is_array),
                _ => false,
            },
            _ => false,
        };
        // A test for an empty list is not a bound on the length.
        let is_bound = |expr: &Expr<'t>| match expr.kind {
            Kind::Number(number) => !matches!(number, "0" | "1"),
            _ => expr.path().is_some(),
        };
        let mut found = false;
        let mut see = |expr: &Expr<'t>| {
            if let Kind::Binary(">" | ">=" | "<" | "<=" | "==" | "===", left, right) = &expr.kind {
                found |=
                    (is_length(left) && is_bound(right)) || (is_length(right) && is_bound(left));
            }
        };
        if function != 0 && !leaf.is_empty() {
            unit.each(|at, expr| {
                if unit.is_in(at, function) {
                    see(expr);
                }
            });
        }
        found
    }

    /// Whether the function looks up a value in a literal list: `if (!ROLES.includes(role)) return`.
    fn is_listed(&self, value: &'u Expr<'t>, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let Some(path) = value.path() else { return false };
        let function = self.outer_function(scope);
        let mut found = false;
        unit.each(|at, expr| {
            if function == 0 || !unit.is_in(at, function) {
                return;
            }
            let is_value = |expr: &Expr<'t>| expr.path().as_deref() == Some(path.as_str());
            let list = match &expr.kind {
                Kind::Call(call)
                    if matches!(
                        call.method(),
                        Some("includes" | "has" | "contains" | "Contains" | "containsKey")
                    ) && call.args.iter().any(|arg| is_value(&arg.value)) =>
                {
                    match call.method() {
                        Some("Contains") => call.positional(0),
                        _ => call.receiver(),
                    }
                }
                Kind::Binary("in" | "not in", left, right) if is_value(left) => Some(&**right),
                Kind::Index(of, key) if is_value(key) => Some(&**of),
                _ => None,
            };
            found |= list.is_some_and(|list| self.is_fixed(list, at));
        });
        found
    }

    /// Whether a list, set or map is a literal.
    fn is_fixed(&self, expr: &'u Expr<'t>, scope: ScopeId) -> bool {
        let (value, _) = self.values.follow(expr, scope);
        let is_made = value.call().is_some_and(|call| {
            matches!(
                call.method(),
                Some("Set" | "Map" | "of" | "listOf" | "setOf" | "mapOf" | "asList" | "frozenset")
            ) && call.args.iter().any(|arg| {
                matches!(arg.value.kind, Kind::List(_) | Kind::Object(_) | Kind::Text(_))
            })
        });
        let is_literal = match &value.kind {
            Kind::List(items) => !items.is_empty(),
            Kind::Object(entries) => !entries.is_empty(),
            _ => false,
        };
        is_made || is_literal || expr.last_name().is_some_and(is_capital)
    }

    /// Whether a filter admits each key once: `"likes.user": {$ne: id}`.
    pub(super) fn lets_in_once(&self, filter: &[Field<'u, 't>], array: &str) -> bool {
        filter.iter().any(|field| {
            let rest = field.name.as_deref().and_then(|name| name.strip_prefix(array));
            let conditions = self.values.document(field.value, field.scope).unwrap_or_default();
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                && conditions.iter().any(|c| c.is("$ne") || c.is("$nin") || c.is("$not"))
        })
    }

    /// Whether an element is added only where a search of the same array found none:
    /// `if (user.tokens.includes(t)) return; user.tokens.push(t)`.
    pub(crate) fn is_behind_search(&self, path: &str, at: usize, scope: ScopeId) -> bool {
        let leaf = path.rsplit('.').next().unwrap_or(path);
        let searches = |expr: &Expr<'t>| {
            let mut found = false;
            expr.visit(&mut |inner| {
                found |= match &inner.kind {
                    Kind::Call(call) => {
                        call.method().is_some_and(|method| SEARCHES.contains(&method))
                            && call.receiver().is_some_and(|of| names_leaf(of, leaf))
                    }
                    Kind::Binary("in" | "not in", _, list) => names_leaf(list, leaf),
                    _ => false,
                };
            });
            found
        };
        self.conditions_before(at, scope).into_iter().any(|condition| {
            let mut names = Vec::new();
            condition.visit(&mut |inner| {
                if let Kind::Name(name) = inner.kind {
                    names.push(name);
                }
            });
            let mut given = names.into_iter().flat_map(|name| self.values.given(name, scope));
            searches(condition) || given.any(|(_, value)| searches(value))
        })
    }

    /// Conditions that decide whether a place is reached: those of the enclosing branches, and of earlier branches that
    /// leave.
    pub(crate) fn conditions_before(&self, at: usize, scope: ScopeId) -> Vec<&'u Expr<'t>> {
        let unit = self.values.unit;
        let function = self.outer_function(scope);
        let decides = |id: &ScopeId| {
            let inner = &unit.scopes[*id];
            unit.is_in(scope, *id) || inner.leaves && inner.end <= at && unit.is_in(*id, function)
        };
        let conditions = (0..unit.scopes.len()).filter(decides);
        conditions
            .filter_map(|id| match &unit.scopes[id].kind {
                ScopeKind::Branch(Some(condition)) => Some(condition),
                _ => None,
            })
            .collect()
    }

    /// Whether an update runs once for each change of a field: it sets a field whose filter requires another value
    /// (`{active: {$ne: true}}` with `$set: {active: true}`), or sets it to the value that the added element records.
    pub(super) fn records_change(&self, added: &Expr<'t>, statement: &Statement<'u, 't>) -> bool {
        let set = statement.update.iter().filter(|entry| entry.is("$set") || entry.is("$unset"));
        let set: Vec<_> = set.flat_map(|entry| self.operands(entry.value, entry.scope)).collect();
        let is_fixed = |expr: &Expr<'t>| {
            matches!(expr.kind, Kind::Bool(_) | Kind::Number(_) | Kind::Null)
                || expr.text().is_some()
                || is_enumerated(expr)
        };
        set.iter().any(|field| {
            let value = self.values.follow(field.value, field.scope).0;
            let mut wanted = statement.filter.iter().filter(|other| other.name == field.name);
            let differs = wanted.any(|wanted| !is_same_value(wanted.value, field.value));
            (field.name.is_some() && is_fixed(value) && differs) || records(added, field.value)
        })
    }

    /// Records whether the function that adds elements to an array also removes some.
    pub(super) fn replaced(&mut self) {
        let removed: BTreeSet<(Option<String>, String)> = self
            .out
            .code
            .set_paths
            .iter()
            .filter(|set| matches!(set.operator.as_str(), "$pull" | "$pullAll" | "$pop" | "$unset"))
            .map(|set| (set.place.function.clone(), set.path.clone()))
            .collect();
        for append in &mut self.out.code.appends {
            let key = (append.place.function.clone(), append.path.clone());
            // An element that code removes and adds in turn occurs once: a toggle, or an element that is replaced.
            append.is_unique |= key.0.is_some() && removed.contains(&key);
        }
    }

    /// Records arrays that a statement sets to an empty list: `{$set: {unread: []}}`, `cart.items = []; cart.save()`.
    pub(super) fn emptied(&mut self) {
        let unit = self.values.unit;
        let mut found = BTreeSet::new();
        let is_empty =
            |value: &Expr<'t>| matches!(&value.kind, Kind::List(items) if items.is_empty());
        unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            if !call.method().is_some_and(|method| UPDATES.contains(&method)) {
                return;
            }
            let collection = self.updated(call, scope);
            for field in call.args.iter().skip(1).flat_map(|arg| self.operands(&arg.value, scope)) {
                let set = match field.is("$set") {
                    true => self.operands(field.value, field.scope),
                    false => vec![field],
                };
                let set = set.into_iter().filter(|field| is_empty(field.value));
                found.extend(set.filter_map(|field| Some((collection.clone(), field.name?))));
            }
        });
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, adds: false } = &statement.kind else {
                continue;
            };
            let Some((root, path)) = target.path().and_then(|path| {
                path.split_once('.').map(|(root, rest)| (root.to_owned(), rest.to_owned()))
            }) else {
                continue;
            };
            // `if (!post.comments) post.comments = []` initialises it.
            let begins =
                self.conditions_before(target.at, statement.scope).iter().any(|condition| {
                    super::super::read_modify_write::mentions_path(
                        condition,
                        &format!("{root}.{path}"),
                    )
                });
            if is_empty(value)
                && !begins
                && let Some(loaded) = self.loaded_from(&root, target.at, statement.scope)
            {
                found.insert((loaded.collection, path));
            }
        }
        self.out.code.emptied.extend(found);
    }

    /// Whether a pushed value has a `$slice`, also if it is added later: `element.append("$slice", -5)`.
    pub(super) fn has_slice(&self, value: &'u Expr<'t>, scope: ScopeId) -> bool {
        let (made, _) = self.values.follow(value, scope);
        let mut is_put = false;
        if let Kind::Name(name) = value.kind {
            let function = self.outer_function(scope);
            self.values.unit.each(|at, expr| {
                let Some(call) = expr.call().filter(|_| self.outer_function(at) == function) else {
                    return;
                };
                is_put |= matches!(call.method(), Some("append" | "put"))
                    && matches!(call.receiver(), Some(of) if matches!(of.kind, Kind::Name(other) if other == name))
                    && call.positional(0).and_then(|key| key.text()).as_deref() == Some("$slice");
            });
        }
        is_put || mentions(made, "$slice")
    }
}

/// Whether an entry of the added element is the same expression as the value that is set.
pub(crate) fn records(added: &Expr<'_>, set: &Expr<'_>) -> bool {
    let Kind::Object(entries) = &added.kind else { return false };
    entries.iter().any(|entry| is_same_value(&entry.value, set))
}

fn is_same_value(one: &Expr<'_>, other: &Expr<'_>) -> bool {
    match (&one.kind, &other.kind) {
        (Kind::Text(_), Kind::Text(_)) => one.text().is_some() && one.text() == other.text(),
        (Kind::Bool(one), Kind::Bool(other)) => one == other,
        (Kind::Number(one), Kind::Number(other)) => one == other,
        _ => one.path().is_some() && one.path() == other.path(),
    }
}

/// Whether an expression ends in a member or key of this name, or is a variable of this name.
fn names_leaf(expr: &Expr<'_>, leaf: &str) -> bool {
    match &expr.kind {
        Kind::Member(_, name) | Kind::Name(name) => name.eq_ignore_ascii_case(leaf),
        Kind::Index(_, key) => key.text().as_deref() == Some(leaf),
        Kind::Call(call) => match call.method() {
            Some("get") => call.positional(0).and_then(Expr::text).as_deref() == Some(leaf),
            Some(getter) => {
                getter.strip_prefix("get").is_some_and(|name| name.eq_ignore_ascii_case(leaf))
            }
            None => false,
        },
        // `post.likes?.length`, `(post.likes || [])`.
        Kind::Other(items) => items.first().is_some_and(|first| names_leaf(first, leaf)),
        Kind::Binary("||" | "??", left, _) => names_leaf(left, leaf),
        _ => false,
    }
}

/// Whether an expression creates a new id; `new ObjectId(text)` only parses one, `str(uuid4())` formats a new one.
pub(crate) fn makes_id(value: &Expr<'_>) -> bool {
    value.call().is_some_and(|call| {
        let Some(method) = call.method() else { return false };
        let whole = call.callee.path().unwrap_or_default();
        match call.positional(0) {
            Some(inner) if matches!(method, "str" | "String") => makes_id(inner),
            Some(_) => false,
            None if matches!(method, "toString" | "toHexString" | "hex" | "Hex" | "String") => {
                call.receiver().is_some_and(makes_id)
            }
            None => MAKES_ID.contains(&method) || MAKES_ID.contains(&whole.as_str()),
        }
    })
}

/// `Role.ADMIN`, `EntityVisibility.archived.value`, `ROLE_ADMIN`: one of a few values.
pub(crate) fn is_enumerated(expr: &Expr<'_>) -> bool {
    expr.path().is_some_and(|path| match path.split_once('.') {
        Some((root, rest)) => {
            root.starts_with(char::is_uppercase)
                && (rest.rsplit('.').next().is_some_and(is_capital) || rest.ends_with(".value"))
        }
        None => is_capital(&path),
    })
}

/// Whether a name denotes a period: a day, an hour.
fn is_period(name: &str) -> bool {
    const PERIODS: [&str; 9] =
        ["day", "date", "today", "hour", "minute", "month", "week", "bucket", "period"];
    split(name).last().is_some_and(|last| PERIODS.contains(&last.as_str()))
}

/// `MAX_ITEMS`: a constant, by its name.
fn is_capital(name: &str) -> bool {
    name.len() > 2 && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}
