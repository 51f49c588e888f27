//! Values that code puts into fields of documents: fractions, whole numbers and dates as text.
//!
//! A value counts only if it is bound to a field of a collection or model. It may be in a document that a statement
//! writes or in the constructor of a model. It may also be assigned to a member of a created or loaded document.

use docward_model::code::{FieldValue, TextForm, ValueKind};

use super::{
    Language, Scan,
    annotations::{form_of, is_minor_unit},
    dialect::go::struct_name,
    ir::{Arg, Call, Expr, Kind, ScopeId, ScopeKind, StatementKind},
    targets::Target,
};

/// Maximum depth to which expressions are examined.
const MAX_DEPTH: u32 = 12;
/// The cost of following a name. Expressions of names that lead to further names grow quickly.
const NAME: u32 = 4;

/// Methods of collections and models that receive whole documents.
const INSERTS: [&str; 11] = [
    "insertOne",
    "insertMany",
    "insert",
    "create",
    "insert_one",
    "insert_many",
    "InsertOne",
    "InsertMany",
    "bulkSave",
    "save",
    "insertOneAsync",
];

/// Methods of collections and models that receive a filter, and a change or a replacement.
const UPDATES: [&str; 22] = [
    "updateOne",
    "updateMany",
    "update",
    "replaceOne",
    "findOneAndUpdate",
    "findOneAndReplace",
    "findByIdAndUpdate",
    "update_one",
    "update_many",
    "replace_one",
    "find_one_and_update",
    "find_one_and_replace",
    "UpdateOne",
    "UpdateMany",
    "UpdateByID",
    "ReplaceOne",
    "FindOneAndUpdate",
    "FindOneAndReplace",
    "Update",
    "updateFirst",
    "updateMulti",
    "upsert",
];

/// Operators of updates whose operands are values of fields.
const OPERATORS: [&str; 8] =
    ["$set", "$setOnInsert", "$inc", "$mul", "$min", "$max", "$push", "$addToSet"];

/// The owner of a document.
#[derive(Clone)]
struct Owner {
    name: String,
    /// Whether a library maps it.
    is_model: bool,
}

impl Owner {
    fn model(name: String) -> Self {
        Self { name, is_model: true }
    }
}

impl From<Target> for Owner {
    fn from(target: Target) -> Self {
        Self { name: target.collection, is_model: target.is_model }
    }
}

/// A value that is put into a field.
struct Found<'u, 't> {
    of: Owner,
    path: String,
    value: &'u Expr<'t>,
    scope: ScopeId,
}

impl<'u, 't> Scan<'u, 't> {
    /// Finds the values of the file that show the type of a field.
    pub(super) fn field_values(&mut self) {
        let unit = self.values.unit;
        let mut found: Vec<Found<'u, 't>> = Vec::new();
        unit.each(|scope, expr| match &expr.kind {
            Kind::Call(call) => self.written_by(call, scope, &mut found),
            Kind::Object(_) if unit.language == Language::Go => {
                // `Order{Price: price}` of a struct that is stored.
                let written = self.text.get(expr.at..expr.end).unwrap_or_default();
                let class = struct_name(written);
                if let Some(class) = class.filter(|class| self.values.known.written.contains(class))
                {
                    self.document(&Owner::model(class), "", expr, scope, 0, &mut found);
                }
            }
            _ => {}
        });
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, .. } = &statement.kind else { continue };
            let Some((root, path)) = root_and_path(target) else { continue };
            if self.kind_of(value, statement.scope, 0).is_none() {
                continue;
            }
            if let Some(of) = self.model_of(root, target.at, statement.scope) {
                found.push(Found { of, path, value, scope: statement.scope });
            }
        }
        for Found { of, path, value, scope } in found {
            let Some(kind) = self.kind_of(value, scope, 0) else { continue };
            let place = self.place(value.at, scope);
            let Owner { name: of, is_model } = of;
            let value = FieldValue { place, of, is_model, path, kind, in_script: false };
            self.out.code.field_values.push(value);
        }
    }

    /// Returns the values in the documents that a call receives.
    fn written_by(&self, call: &'u Call<'t>, scope: ScopeId, found: &mut Vec<Found<'u, 't>>) {
        let Some(method) = call.method() else { return };
        let unit = self.values.unit;
        match call.receiver() {
            Some(of) if INSERTS.contains(&method) || UPDATES.contains(&method) => {
                let Some(target) = self.values.target(of, scope) else { return };
                let target = Owner::from(target);
                let skipped = usize::from(UPDATES.contains(&method))
                    + usize::from(unit.language == Language::Go);
                for arg in call.args.iter().skip(skipped) {
                    self.document(&target, "", &arg.value, scope, 0, found);
                }
                if unit.language.is_jvm() {
                    self.of_builders(&target, call, scope, found);
                }
            }
            // `order.setTotal(total)` of a document that was created here.
            Some(of) if unit.language.is_jvm() && method.starts_with("set") => {
                let Kind::Name(root) = of.kind else { return };
                let (Some(model), [arg]) = (self.made_as(root, scope), call.args.as_slice()) else {
                    return;
                };
                let path = method[3..].to_owned();
                found.push(Found { of: model, path, value: &arg.value, scope });
            }
            // `new Order({…})`, `Order(price=price)`.
            None if method.starts_with(char::is_uppercase) => {
                let Some(model) = self.model_named(&call.callee, scope) else { return };
                for arg in &call.args {
                    match arg.name {
                        Some(name) => {
                            let (of, path) = (model.clone(), name.to_owned());
                            found.push(Found { of, path, value: &arg.value, scope });
                        }
                        None => self.document(&model, "", &arg.value, scope, 0, found),
                    }
                }
            }
            _ => {}
        }
    }

    /// `Updates.set("price", price)`.
    fn of_builders(
        &self,
        of: &Owner,
        call: &'u Call<'t>,
        scope: ScopeId,
        found: &mut Vec<Found<'u, 't>>,
    ) {
        for arg in &call.args {
            arg.value.visit(&mut |expr| {
                let Some(inner) = expr.call() else { return };
                let is_builder =
                    matches!(inner.method(), Some("set" | "setOnInsert" | "inc" | "mul"));
                let (Some(path), Some(value)) = (inner.positional(0), inner.positional(1)) else {
                    return;
                };
                if let Some(path) = self.values.text(path, scope).filter(|_| is_builder) {
                    found.push(Found { of: of.clone(), path, value, scope });
                }
            });
        }
    }

    /// The model whose documents a constructor creates.
    fn model_named(&self, callee: &'u Expr<'t>, scope: ScopeId) -> Option<Owner> {
        let target = self.values.target(callee, scope).filter(|target| target.is_model);
        let name = callee.last_name()?;
        // Classes of Python that a statement stores without changes.
        let kept = || self.values.known.kept.contains_key(name);
        target.map(Owner::from).or_else(|| kept().then(|| Owner::model(name.to_owned())))
    }

    /// The collection or model of the document that a variable holds.
    fn model_of(&self, root: &str, at: usize, scope: ScopeId) -> Option<Owner> {
        self.made_as(root, scope).or_else(|| {
            let loaded = self.loaded_from(root, at, scope).and_then(|loaded| loaded.collection);
            loaded.map(Owner::model).or_else(|| self.searched_in(root, scope))
        })
    }

    /// The model of the query whose result a variable holds: `Plan.objects(id=id).first()`.
    fn searched_in(&self, root: &str, scope: ScopeId) -> Option<Owner> {
        let given = self.values.given(root, scope);
        given.into_iter().find_map(|(at, value)| {
            let mut base = value;
            while let Kind::Call(_) | Kind::Member(..) = &base.kind {
                base = match &base.kind {
                    Kind::Call(call) => &call.callee,
                    Kind::Member(of, _) => of,
                    _ => break,
                };
            }
            self.values.target(base, at).filter(|target| target.is_model).map(Owner::from)
        })
    }

    /// The model that creates the value of a variable, or the collection that receives it as a document.
    fn made_as(&self, root: &str, scope: ScopeId) -> Option<Owner> {
        let given = self.values.given(root, scope);
        given.into_iter().find_map(|(at, value)| match &value.kind {
            Kind::Call(call) if call.receiver().is_none() => self.model_named(&call.callee, at),
            Kind::Object(_) => self.stored_in(root, scope),
            _ => None,
        })
    }

    /// The collection that a function passes a variable to: `db.orders.insert_one(order)`.
    fn stored_in(&self, name: &str, scope: ScopeId) -> Option<Owner> {
        let unit = self.values.unit;
        let owner = self.values.owner(scope);
        let mut stored = None;
        unit.each(|inner, expr| {
            let Some(call) = expr.call().filter(|_| stored.is_none()) else { return };
            let is_given = |arg: &Arg<'t>| matches!(arg.value.kind, Kind::Name(n) if n == name);
            if self.values.owner(inner) == owner
                && call.method().is_some_and(|method| INSERTS.contains(&method))
                && call.args.iter().any(is_given)
            {
                let target = call.receiver().and_then(|of| self.values.target(of, inner));
                stored = target.map(Owner::from);
            }
        });
        stored
    }

    /// Values of a document, and of those within it.
    fn document(
        &self,
        of: &Owner,
        path: &str,
        value: &'u Expr<'t>,
        scope: ScopeId,
        depth: u32,
        found: &mut Vec<Found<'u, 't>>,
    ) {
        if depth > MAX_DEPTH {
            return;
        }
        if let Some(items) = self.values.list(value, scope) {
            for item in items {
                self.document(of, path, item, scope, depth + 1, found);
            }
            return;
        }
        // `Arrays.asList(…)`, `[]interface{}{…}` and `List.of(…)` of documents.
        if let Kind::Call(call) = &value.kind
            && matches!(call.method(), Some("asList" | "List"))
        {
            for arg in &call.args {
                self.document(of, path, &arg.value, scope, depth + 1, found);
            }
            return;
        }
        let Some(fields) = self.values.document(value, scope) else { return };
        for field in fields {
            let Some(name) = field.name.as_deref() else { continue };
            let inner = match name {
                name if OPERATORS.contains(&name) || name == "$each" => path.to_owned(),
                name if name.starts_with('$') => continue,
                name if path.is_empty() => name.to_owned(),
                name => format!("{path}.{name}"),
            };
            self.document(of, &inner, field.value, field.scope, depth + 1, found);
            if inner.len() > path.len() {
                let of = of.clone();
                found.push(Found { of, path: inner, value: field.value, scope: field.scope });
            }
        }
    }

    /// Returns what an expression shows about its value.
    fn kind_of(&self, expr: &'u Expr<'t>, scope: ScopeId, depth: u32) -> Option<ValueKind> {
        if depth > MAX_DEPTH {
            return None;
        }
        let kind = |expr: &'u Expr<'t>| self.kind_of(expr, scope, depth + 1);
        match &expr.kind {
            Kind::Number(text) => has_fraction(text).then_some(ValueKind::Fraction),
            Kind::Text(_) => match form_of(&expr.text()?)? {
                TextForm::TimeOfDay => None,
                form => is_date_literal(&expr.text()?).then_some(ValueKind::Text(form)),
            },
            Kind::Binary("*", left, right) => match (kind(left), kind(right)) {
                _ if is_power_of_ten(left) || is_power_of_ten(right) => Some(ValueKind::Whole),
                (Some(ValueKind::Fraction), _) | (_, Some(ValueKind::Fraction)) => {
                    Some(ValueKind::Fraction)
                }
                _ => None,
            },
            Kind::Binary("/", _, right) => is_power_of_ten(right).then_some(ValueKind::Fraction),
            Kind::Binary("+" | "-", left, right) => match (kind(left), kind(right)) {
                (Some(ValueKind::Fraction), _) | (_, Some(ValueKind::Fraction)) => {
                    Some(ValueKind::Fraction)
                }
                (Some(ValueKind::Whole), Some(ValueKind::Whole)) => Some(ValueKind::Whole),
                _ => None,
            },
            Kind::Binary("||" | "??" | "or" | "?:", left, right) => {
                kind(left).or_else(|| kind(right))
            }
            Kind::Choice(held) => kind(&held[1]).or_else(|| kind(&held[2])),
            Kind::Other(held) if held.len() == 1 => kind(&held[0]),
            // `new Date().toISOString().split('T')[0]`, `datetime.now().isoformat()[:10]`.
            Kind::Index(of, _) => match kind(of) {
                Some(ValueKind::Text(_)) => Some(ValueKind::Text(TextForm::Day)),
                _ => None,
            },
            Kind::Call(call) => self.kind_of_call(call, scope, depth),
            Kind::Name(name) if is_minor_unit(name) => Some(ValueKind::Whole),
            Kind::Member(_, name) if is_minor_unit(name) || *name == "length" => {
                Some(ValueKind::Whole)
            }
            Kind::Name(name) => {
                let (value, at) = self.values.follow(expr, scope);
                match std::ptr::eq(value, expr) {
                    true => self.kind_of_parameter(name, scope),
                    false => self.kind_of(value, at, depth + NAME),
                }
            }
            _ => None,
        }
    }

    /// Returns the kind of a parameter with a declared type: `price: float`, `double price`.
    fn kind_of_parameter(&self, name: &str, scope: ScopeId) -> Option<ValueKind> {
        if !self.values.given(name, scope).is_empty() {
            return None;
        }
        let unit = self.values.unit;
        let declared = unit.around(scope).find_map(|id| match &unit.scopes[id].kind {
            ScopeKind::Function(function) => {
                function.parameters.iter().find(|(other, _)| *other == name).map(|(_, kind)| *kind)
            }
            _ => None,
        })?;
        match declared.trim() {
            "float" | "float64" | "float32" | "double" | "Double" | "Float" => {
                Some(ValueKind::Fraction)
            }
            _ => None,
        }
    }

    fn kind_of_call(&self, call: &'u Call<'t>, scope: ScopeId, depth: u32) -> Option<ValueKind> {
        let first = call.positional(0);
        let kind =
            |expr: Option<&'u Expr<'t>>| expr.and_then(|expr| self.kind_of(expr, scope, depth + 1));
        let digits = |at: usize| {
            call.positional(at).and_then(|n| self.values.int(n, scope)).unwrap_or_default()
        };
        match call.method()? {
            "parseFloat" | "ParseFloat" | "parseDouble" | "float" | "float64" | "toDouble"
            | "doubleValue" | "Float" => match kind(first) {
                Some(ValueKind::Whole) => Some(ValueKind::Whole),
                _ => Some(ValueKind::Fraction),
            },
            "Number" | "abs" | "max" | "min" | "sum" => kind(first),
            "toFixed" => match digits(0) {
                0 => Some(ValueKind::Whole),
                _ => Some(ValueKind::Fraction),
            },
            "round" | "Round" => match (call.args.len(), digits(1)) {
                (2, 1..) => Some(ValueKind::Fraction),
                (1, _) => Some(ValueKind::Whole),
                _ => None,
            },
            "floor" | "ceil" | "trunc" | "Floor" | "Ceil" | "Trunc" | "parseInt" | "int"
            | "int64" | "Int" => Some(ValueKind::Whole),
            "len" if call.receiver().is_none() => Some(ValueKind::Whole),
            "count" | "size" | "countDocuments" | "count_documents" | "CountDocuments" => {
                Some(ValueKind::Whole)
            }
            method if is_minor_unit(method) => Some(ValueKind::Whole),
            // `String(new Date())`, `str(datetime.now())`.
            "String" | "str" if call.receiver().is_none() => {
                first.and_then(|of| self.time(of, scope)).map(ValueKind::Text)
            }
            "slice" | "substring" | "substr" | "split" => match kind(call.receiver()) {
                Some(ValueKind::Text(TextForm::Instant)) if digits(1) > 10 => {
                    Some(ValueKind::Text(TextForm::Instant))
                }
                Some(ValueKind::Text(_)) => Some(ValueKind::Text(TextForm::Day)),
                _ => None,
            },
            "replace" | "trim" | "strip" => match kind(call.receiver()) {
                Some(ValueKind::Text(form)) => Some(ValueKind::Text(form)),
                _ => None,
            },
            _ => self.date_text(call, scope).map(ValueKind::Text),
        }
    }

    /// The form of the string that a call creates from a point in time.
    fn date_text(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<TextForm> {
        const MAKES: [&str; 12] = [
            "toISOString",
            "toUTCString",
            "toGMTString",
            "isoformat",
            "strftime",
            "toDateString",
            "toLocaleDateString",
            "toString",
            "toLocaleString",
            "String",
            "format",
            "Format",
        ];
        let method = call.method().filter(|method| MAKES.contains(method))?;
        let made = call.receiver().and_then(|of| self.time(of, scope));
        let format = call.args.iter().rev().find_map(|arg| self.values.text(&arg.value, scope));
        match method {
            "toISOString" | "toUTCString" | "toGMTString" => Some(TextForm::Instant),
            "isoformat" => Some(made.unwrap_or(TextForm::Instant)),
            "strftime" => format.and_then(|format| form_of_strftime(&format)),
            "toDateString" | "toLocaleDateString" if made.is_some() => Some(TextForm::Day),
            "toString" | "toLocaleString" | "String" => made,
            // `moment().format('YYYY-MM-DD HH:mm')`, `time.Now().Format(time.RFC3339)`.
            "format" | "Format" => {
                match (made, format) {
                    (Some(_), Some(format)) => form_of(&format),
                    (Some(made), None) => Some(made),
                    // `format(new Date(), 'yyyy-MM-dd HH:mm')` of date-fns.
                    (None, Some(format)) => {
                        let first = call.positional(0)?;
                        self.time(first, scope).and_then(|_| form_of(&format))
                    }
                    (None, None) => None,
                }
            }
            _ => None,
        }
    }

    /// Whether an expression is a point in time or a day: `new Date()`, `moment(x)`, `datetime.now()`, `time.Now()`,
    /// `LocalDateTime.now()`, `date.today()`.
    fn time(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<TextForm> {
        let (expr, scope) = self.values.follow(expr, scope);
        let call = expr.call()?;
        let of = call.receiver();
        let name = of.and_then(Expr::last_name).unwrap_or_default();
        match (name, call.method()?) {
            ("LocalDate" | "YearMonth", "now" | "of" | "parse") | ("date", "today") => {
                Some(TextForm::Day)
            }
            ("LocalTime", "now") => None,
            ("", "Date" | "moment" | "dayjs") if of.is_none() => Some(TextForm::Instant),
            (
                "datetime" | "DateTime" | "LocalDateTime" | "Instant" | "ZonedDateTime"
                | "OffsetDateTime" | "timezone" | "time" | "moment" | "dayjs",
                "now" | "utcnow" | "Now" | "utc" | "local" | "today",
            ) => Some(TextForm::Instant),
            (_, "date") => of.and_then(|of| self.time(of, scope)).map(|_| TextForm::Day),
            // Methods of a point in time that return another one.
            (
                _,
                "utc" | "UTC" | "tz" | "add" | "subtract" | "startOf" | "endOf" | "local" | "Local"
                | "Add" | "astimezone" | "replace" | "plusDays" | "minusDays" | "In",
            ) => of.and_then(|of| self.time(of, scope)),
            _ => None,
        }
    }
}

/// Splits `order.total` or `order["total"]` into the variable at the start and the path.
fn root_and_path<'e>(expr: &Expr<'e>) -> Option<(&'e str, String)> {
    let (of, name) = match &expr.kind {
        Kind::Member(of, name) => (of, (*name).to_owned()),
        Kind::Index(of, key) => (of, key.text()?.into_owned()),
        _ => return None,
    };
    match &of.kind {
        Kind::Name(root) => Some((root, name)),
        _ => {
            let (root, path) = root_and_path(of)?;
            Some((root, format!("{path}.{name}")))
        }
    }
}

/// Whether a number is written with a fraction that is not zero.
fn has_fraction(text: &str) -> bool {
    text.split_once('.')
        .is_some_and(|(_, digits)| digits.bytes().any(|b| (b'1'..=b'9').contains(&b)))
}

/// Whether an expression is 100 or 1000, which converts an amount to minor units, or back.
fn is_power_of_ten(expr: &Expr<'_>) -> bool {
    matches!(expr.kind, Kind::Number("100" | "100.0" | "1000" | "1e2" | "1e8" | "100000000"))
}

/// Whether a text is a date and nothing else.
fn is_date_literal(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    digits >= 8 && text.len() <= 35 && text.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the text form that a `strftime` format gives to a point in time.
fn form_of_strftime(format: &str) -> Option<TextForm> {
    let has = |codes: &[&str]| codes.iter().any(|code| format.contains(code));
    let day = has(&["%d", "%Y", "%y", "%m", "%F", "%D", "%x", "%b"]);
    let time = has(&["%H", "%I", "%X", "%T", "%M", "%S"]);
    match (day, time) {
        _ if has(&["%c", "%s"]) => Some(TextForm::Instant),
        (true, true) => Some(TextForm::Instant),
        (true, false) => Some(TextForm::Day),
        (false, true) => Some(TextForm::TimeOfDay),
        (false, false) => None,
    }
}
