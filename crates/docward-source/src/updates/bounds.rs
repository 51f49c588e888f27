//! What keeps an array short: the statement, its filter, or what the function tests before.

use docward_model::{code::Cap, words::split};

use super::{
    super::{
        Scan,
        annotations::is_day,
        ir::{Call, Expr, Kind, ScopeId},
        values::{Field, Fragment},
    },
    MAKES, MAKES_ID, SEARCHED, mentions,
};

impl<'u, 't> Scan<'u, 't> {
    /// What bounds all arrays of the document that a filter leads to: it was made by the same function, or there
    /// is one for each day or hour.
    pub(super) fn bounded_document(
        &self,
        call: &'u Call<'t>,
        filter: &[Field<'u, 't>],
        scope: ScopeId,
    ) -> Option<&'static str> {
        let made = |expr: &'u Expr<'t>, scope: ScopeId| {
            // An id, or the id of what was made.
            let (name, is_id) = match &expr.kind {
                Kind::Name(name) => (*name, true),
                Kind::Member(of, "_id" | "id" | "insertedId" | "inserted_id" | "InsertedID") => {
                    let Kind::Name(name) = &of.kind else { return false };
                    (*name, false)
                }
                _ => return false,
            };
            // Callbacks run within the function that made it.
            let function = self.outer_function(scope);
            let given = self.values.given(name, scope);
            function != 0
                && !given.is_empty()
                && given.iter().all(|(at, value)| {
                    self.values.unit.is_in(*at, function)
                        && match is_id {
                            true => makes_id(value),
                            false => value
                                .call()
                                .and_then(Call::method)
                                .is_some_and(|m| MAKES.contains(&m)),
                        }
                })
        };
        // `updateOne({_id: made.insertedId}, …)`, `UpdateByID(ctx, made.InsertedID, …)`.
        let by_id = matches!(call.method(), Some("UpdateByID" | "UpdateId" | "findByIdAndUpdate"))
            .then(|| call.args.iter().map(|arg| (&arg.value, scope)))
            .into_iter()
            .flatten();
        let ids = filter.iter().filter(|field| field.is("_id")).map(|f| (f.value, f.scope));
        if ids.chain(by_id).any(|(value, scope)| made(value, scope)) {
            return Some("the same function makes the document");
        }
        // The documents are made as time goes on: each holds what belongs to one period.
        let upserts = call.args.iter().any(|arg| {
            arg.name == Some("upsert")
                || mentions(&arg.value, "upsert")
                || ["SetUpsert", "upsert"].iter().any(|m| mentions_call(&arg.value, m))
        });
        (upserts && self.is_of_period(filter)).then_some("there is a document for each period")
    }

    /// Whether a filter leads to what belongs to one period.
    pub(super) fn is_of_period(&self, filter: &[Field<'u, 't>]) -> bool {
        filter.iter().any(|field| {
            field.name.as_deref().is_some_and(is_period)
                && self.values.document(field.value, field.scope).is_none()
        })
    }

    /// Whether the function tests, before it adds, how long the array is, or whether the value is one of a few
    /// that stand in the code.
    pub(super) fn is_tested(
        &self,
        path: &str,
        value: &'u Expr<'t>,
        scope: ScopeId,
    ) -> Option<&'static str> {
        let unit = self.values.unit;
        let (function, _) = unit.function(scope)?;
        let text = self.text.get(unit.scopes[function].at..unit.scopes[function].end)?;
        let leaf = path.rsplit('.').next().unwrap_or(path);
        let is_plain =
            !leaf.is_empty() && leaf.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if is_plain {
            // `user.items.length >= 10`, `len(user["items"]) > MAX`.
            let lengths = [
                format!("{leaf}.length"),
                format!("{leaf}?.length"),
                format!("{leaf}.size()"),
                format!("{leaf}.size"),
            ];
            let after = lengths.iter().any(|length| {
                text.match_indices(length.as_str()).any(|(at, _)| {
                    compares_with_a_bound(&text[at + length.len()..])
                        && !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
                })
            });
            let within = text.match_indices("len(").any(|(at, _)| {
                let Some(end) = text[at..].find(')') else { return false };
                let inside = text[at + 4..at + end].trim_end_matches(['"', '\'', ']', ' ']);
                inside.to_ascii_lowercase().ends_with(&leaf.to_ascii_lowercase())
                    && compares_with_a_bound(&text[at + end + 1..])
            });
            if after || within {
                return Some("its length is tested in the same function");
            }
        }
        let path = value.path()?;
        let mut is_listed = false;
        unit.each(|at, expr| {
            if !unit.is_in(at, function) {
                return;
            }
            let same = |expr: &Expr<'t>| expr.path().as_deref() == Some(path.as_str());
            let list = match &expr.kind {
                Kind::Call(call)
                    if matches!(
                        call.method(),
                        Some("includes" | "has" | "contains" | "Contains" | "containsKey")
                    ) && call.args.iter().any(|arg| same(&arg.value)) =>
                {
                    match call.method() {
                        Some("Contains") => call.positional(0),
                        _ => call.receiver(),
                    }
                }
                Kind::Index(of, at) if same(at) => Some(&**of),
                _ => None,
            };
            is_listed |= list.is_some_and(|list| self.is_fixed(list, at));
        });
        // `if role not in ROLES`.
        is_listed |= [" in ", " not in "].iter().any(|word| {
            text.match_indices(&format!("{path}{word}")).any(|(at, found)| {
                let list = text[at + found.len()..].trim_start();
                list.starts_with(['[', '(', '{'])
                    || list
                        .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
                        .next()
                        .is_some_and(|name| is_capital(name.rsplit('.').next().unwrap_or(name)))
            })
        });
        is_listed.then_some("only values are added that are listed in the code")
    }

    /// Why an array may stay short although the statement does not bound it: it is searched before, or the file has a
    /// bound for its length elsewhere.
    pub(crate) fn may_stay_short(
        &self,
        path: &str,
        at: usize,
        scope: ScopeId,
    ) -> Option<&'static str> {
        let leaf = path.rsplit('.').next().unwrap_or(path);
        if leaf.is_empty() || !leaf.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return None;
        }
        if self.is_behind_search(leaf, at, scope) {
            return Some(SEARCHED);
        }
        let is_bounded = [".length", "?.length"].iter().any(|length| {
            let length = format!(".{leaf}{length}");
            self.text
                .match_indices(length.as_str())
                .any(|(at, _)| compares_with_a_bound(&self.text[at + length.len()..]))
        });
        is_bounded.then_some("the file has a bound for its length elsewhere")
    }

    /// Whether a list, set or map stands in the code itself.
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

    /// What keeps an array short.
    pub(super) fn cap(
        &self,
        field: &Field<'u, 't>,
        filter: &[Field<'u, 't>],
        update: &[Field<'u, 't>],
    ) -> Cap {
        let modifiers = self.values.document(field.value, field.scope).unwrap_or_default();
        if let Some(slice) = modifiers.iter().find(|modifier| modifier.is("$slice")) {
            return Cap::Slice(self.values.int(slice.value, slice.scope).unwrap_or(0));
        }
        if modifiers.iter().any(|modifier| modifier.is_spread && modifier.name.is_none())
            && modifiers.iter().any(|modifier| modifier.is("$each"))
        {
            return Cap::Unknown;
        }
        let array = field.name.as_deref().unwrap_or_default();
        if let Some(guard) = self.guard(filter, update, array) {
            return Cap::Guard(guard);
        }
        let is_constant = |expr: &'u Expr<'t>, scope: ScopeId| {
            let (expr, _) = self.values.follow(expr, scope);
            matches!(expr.kind, Kind::Number(_) | Kind::Bool(_))
                || expr.text().is_some()
                || is_enumerated(expr)
        };
        let constant = match modifiers.iter().find(|modifier| modifier.is("$each")) {
            Some(each) => self.values.list(each.value, each.scope).is_some_and(|items| {
                !items.is_empty() && items.iter().all(|item| is_constant(item, each.scope))
            }),
            None => is_constant(field.value, field.scope),
        };
        if constant { Cap::Constant } else { Cap::None }
    }

    /// A filter that matches only while there is room: `count: {$lt: 60}`, `"items.99": {$exists: false}`,
    /// `$expr` with `$size`.
    fn guard(
        &self,
        filter: &[Field<'u, 't>],
        update: &[Field<'u, 't>],
        array: &str,
    ) -> Option<String> {
        let counted: Vec<String> = update
            .iter()
            .filter(|entry| entry.is("$inc"))
            .filter_map(|entry| self.values.document(entry.value, entry.scope))
            .flatten()
            .filter_map(|field| field.name)
            .collect();
        filter.iter().find_map(|entry| {
            // `...availableSeats(max)`: a filter that another function makes, and that is about room.
            if entry.is_spread
                && let Some(name) = entry.value.call().and_then(Call::method)
                && ["seat", "limit", "max", "capacity", "quota", "room", "available"]
                    .iter()
                    .any(|word| name.to_ascii_lowercase().contains(word))
            {
                return Some(format!("`{name}` narrows the filter"));
            }
            // `[`items.${MAX - 1}`]: {$exists: false}`.
            if let Some(computed) = entry.computed
                && let Some(Fragment::Text(start, _)) =
                    self.values.fold(computed, entry.scope).fragments.first()
                && start.strip_suffix('.') == Some(array)
                && mentions(entry.value, "$exists")
            {
                return Some("an element beyond the bound must not exist".to_owned());
            }
            let name = entry.name.as_deref()?;
            if name == "$expr" && mentions(entry.value, "$size") {
                return Some("its size is tested".to_owned());
            }
            let conditions = self.values.document(entry.value, entry.scope)?;
            let has = |operator: &str| conditions.iter().any(|condition| condition.is(operator));
            if counted.iter().any(|counter| counter == name) && (has("$lt") || has("$lte")) {
                return Some(format!("`{name}` is counted and tested"));
            }
            // A field that says how many there are, kept elsewhere.
            let lower = name.to_ascii_lowercase();
            let counts =
                ["count", "size", "length", "total"].iter().any(|word| lower.contains(word));
            if counts && (has("$lt") || has("$lte")) {
                return Some(format!("`{name}` is tested"));
            }
            let index = name.strip_prefix(array).and_then(|rest| rest.strip_prefix('.'));
            if index.is_some_and(|index| index.parse::<u32>().is_ok()) && has("$exists") {
                return Some(format!("`{name}` must not exist"));
            }
            (name == array && mentions(entry.value, "$size"))
                .then(|| format!("the size of `{array}` is tested"))
        })
    }

    /// Whether what is pushed has a `$slice`, also one that is put into it on the way:
    /// `element.append("$slice", -5)`.
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

/// Whether an expression makes a new id; `new ObjectId(text)` only reads one, `str(uuid4())` writes it as text.
fn makes_id(value: &Expr<'_>) -> bool {
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
pub(super) fn is_enumerated(expr: &Expr<'_>) -> bool {
    let is_constant = is_capital;
    expr.path().is_some_and(|path| match path.split_once('.') {
        Some((root, rest)) => {
            root.starts_with(char::is_uppercase)
                && (rest.rsplit('.').next().is_some_and(is_constant) || rest.ends_with(".value"))
        }
        None => is_constant(&path),
    })
}

/// Whether a name says a period: a day, an hour.
pub(super) fn is_period(name: &str) -> bool {
    let last = split(name).pop().unwrap_or_default();
    is_day(name)
        || ["hour", "minute", "month", "week", "bucket", "period"].iter().any(|p| last.ends_with(p))
}

/// `MAX_ITEMS`: a constant, by its name.
fn is_capital(name: &str) -> bool {
    name.len() > 2 && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Whether what follows a length compares it with a number (not zero) or a constant.
fn compares_with_a_bound(after: &str) -> bool {
    let after = after.trim_start();
    let Some(rest) = [">=", "<=", ">", "<", "===", "=="].iter().find_map(|s| after.strip_prefix(s))
    else {
        return false;
    };
    let bound: String = rest
        .trim_start()
        .chars()
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
        .collect();
    match bound.parse::<f64>() {
        Ok(number) => number > 1.0,
        Err(_) => {
            let last = bound.rsplit('.').next().unwrap_or_default();
            let lower = last.to_ascii_lowercase();
            is_capital(last) || lower.starts_with("max") || lower.contains("limit")
        }
    }
}

pub(super) fn mentions_call(expr: &Expr<'_>, method: &str) -> bool {
    let mut found = false;
    expr.visit(&mut |inner| {
        found |= inner.call().is_some_and(|call| call.method() == Some(method));
    });
    found
}
