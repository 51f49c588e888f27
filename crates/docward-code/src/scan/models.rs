//! Fields that models declare, for rules about types: money, dates, codes, ids.

use std::collections::BTreeSet;

use bson::{Bson, Document};
use docward_model::{
    BsonType, Location,
    code::{DeclaredField, Place},
};

use super::{
    Language, Scan, Scanned,
    ir::{Expr, Kind, ScopeKind, StatementKind, Unit},
    values::Values,
};
use crate::{Kind as Library, Model};

impl<'u, 't> Scan<'u, 't> {
    /// Fields of every model of the file.
    pub(super) fn models(&mut self) {
        let library = match self.values.unit.language {
            language if language.is_script() => {
                let is_mongoose = self.text.contains("mongoose");
                is_mongoose.then_some(Library::Mongoose)
            }
            Language::Python if self.text.contains("beanie") => Some(Library::Pydantic),
            Language::Go if self.text.contains("bson:\"") => Some(Library::Go),
            Language::Java if self.has_documents() || self.has_parts() => Some(Library::Spring),
            _ => None,
        };
        let first = self.out.code.fields.len();
        let is_part = library == Some(Library::Spring) && !self.has_documents();
        if let Some(library) = library {
            let is_go = library == Library::Go;
            let stored =
                if is_go { stored_structs(&self.values, self.text) } else { BTreeSet::new() };
            let models = crate::read(library, self.text).models;
            let has_documents = models.iter().any(|model| model.collection.is_some());
            let is_of_requests = !has_documents && is_folder_of_requests(self.within);
            for model in models {
                // Bodies of requests are models as well; only what is stored counts.
                if library == Library::Pydantic
                    && model.collection.is_none()
                    && (!model.embedded || is_of_requests)
                {
                    continue;
                }
                // Go gives tags to results of groupings and to bodies of requests as well; what is stored has
                // an `_id`, and no document in its place, or is given to a collection.
                let is_stored = has_own_id(&model) || stored.contains(&model.name);
                if is_go
                    && (!is_stored || (self.is_of_api_client() && !stored.contains(&model.name)))
                {
                    continue;
                }
                let only_read = is_go && !self.values.known.written.contains(&model.name);
                self.declared(&model, only_read);
            }
        }
        // Parts are bodies of requests as often as not: of those, only what they hold in numbers is judged.
        if is_part {
            let mut at = 0;
            self.out.code.fields.retain(|field| {
                at += 1;
                at <= first || field.types.contains(&BsonType::Double)
            });
        }
        let is_mapped = || ["mongoengine", "djongo"].iter().any(|name| self.text.contains(name));
        if self.values.unit.language == Language::Python && is_mapped() {
            self.mongoengine();
        }
        self.identified();
    }

    /// Whether the file belongs to a program that asks an API: it carries over the tags of the server's structs, and
    /// stores nothing itself.
    fn is_of_api_client(&self) -> bool {
        let mut folders = self.within.split('/').rev().skip(1);
        folders.any(|folder| matches!(folder, "cli" | "client" | "sdk"))
            && !self.values.unit.imports.iter().any(|import| {
                import.module.ends_with("/mongo") || import.module.ends_with("mgo.v2")
            })
    }

    /// Whether a class is marked as a document of Spring Data for MongoDB: others have marks of that name, or of
    /// one that begins like it.
    fn has_documents(&self) -> bool {
        let unit = self.values.unit;
        unit.scopes.iter().any(|scope| {
            let ScopeKind::Class { marks, .. } = &scope.kind else { return false };
            marks.iter().any(|mark| match mark.path.rsplit_once('.') {
                Some((package, "Document")) => package.contains("mongodb"),
                Some(_) => false,
                None => mark.path == "Document" && unit.imports_from("mongodb"),
            })
        })
    }

    /// Whether the file declares a class that a document of another file has fields of, and that is no row of a
    /// relational database.
    fn has_parts(&self) -> bool {
        let package = super::survey::package_of(self.text);
        self.values.unit.scopes.iter().any(|scope| {
            let ScopeKind::Class { name, marks, .. } = &scope.kind else { return false };
            let key = (package.to_owned(), (*name).to_owned());
            self.values.known.parts.contains(&key)
                && !marks.iter().any(|mark| matches!(mark.path.as_str(), "Entity" | "Table"))
        })
    }

    fn declared(&mut self, model: &Model, only_read: bool) {
        declared(self.file, self.text, model, only_read, self.out);
    }

    /// Classes of MongoEngine, `price = FloatField()`, and of djongo, `price = models.FloatField()`.
    fn mongoengine(&mut self) {
        let unit = self.values.unit;
        let knows_mongoengine = self.text.contains("mongoengine");
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, .. } = &statement.kind else { continue };
            let ScopeKind::Class { name: model, bases, .. } = &unit.scopes[statement.scope].kind
            else {
                continue;
            };
            // Django has fields of the same names for other databases.
            if !knows_mongoengine && !super::survey::is_of_djongo(unit, bases) {
                continue;
            }
            let (Kind::Name(field), Some(call)) = (&target.kind, value.call()) else { continue };
            let types = match call.method().unwrap_or_default() {
                "FloatField" => vec![BsonType::Double],
                "StringField" | "EmailField" | "URLField" | "CharField" | "TextField" => {
                    vec![BsonType::String]
                }
                "IntField" | "LongField" | "SequenceField" | "IntegerField" => vec![BsonType::Int],
                "DateTimeField" | "DateField" => vec![BsonType::Date],
                "DecimalField" | "Decimal128Field" => vec![BsonType::Decimal],
                "ListField" | "EmbeddedDocumentListField" | "SortedListField" => {
                    vec![BsonType::Array]
                }
                _ => continue,
            };
            let allowed = call
                .named("choices")
                .and_then(|choices| self.values.list(choices, statement.scope))
                .map(|items| items.iter().map(|item| literal(item)).collect())
                .unwrap_or_default();
            let made_by = call
                .named("default")
                .and_then(Expr::last_name)
                .filter(|name| name.to_ascii_lowercase().starts_with("uuid"));
            let is_id = call.named("primary_key").is_some();
            let max_items = call
                .named("max_length")
                .and_then(|n| self.values.int(n, statement.scope))
                .and_then(|n| u64::try_from(n).ok());
            let place = self.place(target.at, statement.scope);
            let types = as_meant(types, self.text, place.location.line, field);
            self.out.code.fields.push(DeclaredField {
                place,
                model: (*model).to_owned(),
                collection: None,
                path: if is_id { "_id".to_owned() } else { (*field).to_owned() },
                types,
                allowed,
                made_by: made_by.map(str::to_owned),
                generated: false,
                max_items,
                only_read: false,
            });
        }
    }

    /// `id: UUID = Field(default_factory=uuid4)` of Beanie, `@Id String id = UUID.randomUUID()…`.
    fn identified(&mut self) {
        let unit = self.values.unit;
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, .. } = &statement.kind else { continue };
            let ScopeKind::Class { name, bases, marks } = &unit.scopes[statement.scope].kind else {
                continue;
            };
            // `Field(default_factory=uuid4, alias="_id")` says itself where it is stored.
            let is_aliased = value
                .call()
                .and_then(|call| call.named("alias"))
                .is_some_and(|alias| alias.text().as_deref() == Some("_id"));
            let is_stored = is_aliased
                || bases.contains(&"Document")
                || marks.iter().any(|mark| mark.path == "Document");
            if !is_stored || !matches!(target.kind, Kind::Name("id" | "_id")) {
                continue;
            }
            let mut made_by = None;
            value.visit(&mut |expr| {
                let name = match &expr.kind {
                    Kind::Call(call) => call.method(),
                    Kind::Name(name) | Kind::Member(_, name) => Some(*name),
                    _ => None,
                };
                if let Some(name) = name.filter(|name| matches!(*name, "uuid4" | "randomUUID")) {
                    made_by = Some(name.to_owned());
                }
            });
            if let Some(made_by) = made_by {
                let place = self.place(target.at, statement.scope);
                self.out.code.fields.push(DeclaredField {
                    place,
                    model: (*name).to_owned(),
                    collection: None,
                    path: "_id".to_owned(),
                    types: Vec::new(),
                    allowed: Vec::new(),
                    made_by: Some(made_by),
                    generated: false,
                    max_items: None,
                    only_read: false,
                });
            }
        }
    }
}

/// Models of a schema of Prisma, unless it is for another database.
pub(super) fn of_prisma(file: &str, text: &str, out: &mut Scanned) {
    let is_other = text.lines().any(|line| {
        let line = line.split("//").next().unwrap_or_default();
        let value = line.trim().strip_prefix("provider").map(str::trim_start);
        let value = value.and_then(|rest| rest.strip_prefix('='));
        value.is_some_and(|value| {
            ["postgres", "mysql", "sqlite", "sqlserver", "cockroach"]
                .iter()
                .any(|o| value.contains(o))
        })
    });
    if !is_other {
        for model in crate::read(Library::Prisma, text).models {
            declared(file, text, &model, false, out);
        }
    }
}

/// Files the fields of a model.
fn declared(file: &str, text: &str, model: &Model, only_read: bool, out: &mut Scanned) {
    let mut found = Vec::new();
    properties(&model.schema, "", &mut found);
    for (path, schema) in found {
        let declared = model.fields.get(&path).copied().unwrap_or(model.declared_at);
        let location =
            Location { file: file.to_owned(), line: declared.line, column: declared.column };
        let leaf = path.rsplit('.').next().unwrap_or(&path);
        let types = as_meant(types(&schema), text, declared.line, leaf);
        out.code.fields.push(DeclaredField {
            place: Place { location, function: None },
            model: model.name.clone(),
            collection: model.collection.clone(),
            types,
            allowed: allowed(&schema),
            made_by: None,
            generated: model.generated.contains(&path),
            max_items: schema.get("maxItems").and_then(|n| match n {
                Bson::Int32(n) => u64::try_from(*n).ok(),
                Bson::Int64(n) => u64::try_from(*n).ok(),
                _ => None,
            }),
            only_read,
            path,
        });
    }
}

/// Types of a field without those that what stands around its declaration speaks against: numbers that are whole, and
/// texts that are no points in time.
fn as_meant(mut types: Vec<BsonType>, text: &str, line: u32, leaf: &str) -> Vec<BsonType> {
    // `// amount in cents`: whole numbers, whatever the language calls them.
    if says_cents(text, line)
        || is_tested_whole(text, line)
        || is_shown_divided(text, leaf)
        || has_whole_currency(text)
    {
        types.retain(|kind| *kind != BsonType::Double);
    }
    // A length of time, a day and a time of day are stored as text by some, and are no dates.
    if is_length_of_time(text, line) || is_time_of_day(text, line) || is_said_to_be_day(text, line)
    {
        types.retain(|kind| *kind != BsonType::String);
    }
    types
}

/// Whether a file lies where applications keep the bodies of requests and answers.
fn is_folder_of_requests(file: &str) -> bool {
    let folders = file.rsplit('/').skip(1);
    let mut folders = folders.map(str::to_ascii_lowercase);
    folders.any(|f| matches!(&*f, "schemas" | "schema" | "dto" | "dtos" | "requests" | "responses"))
}

/// Currencies without minor units, or whose minor units nobody uses, of which people write shops.
const WHOLE: [&str; 11] =
    ["VND", "IDR", "JPY", "KRW", "XAF", "XOF", "CLP", "PYG", "UGX", "RWF", "ISK"];

/// Whether amounts are of a currency without minor units unless something else is said: `default: 'VND'`.
fn has_whole_currency(text: &str) -> bool {
    WHOLE.iter().any(|code| {
        text.match_indices(code).any(|(at, _)| {
            let before = text[..at].strip_suffix(['"', '\'']).map(str::trim_end);
            before
                .is_some_and(|before| before.ends_with("default:") || before.ends_with("default="))
        })
    })
}

/// Whether a file says that amounts are of a currency without minor units: a payment provider of its country, or its
/// code where no other currency is named.
pub(super) fn names_whole_currency(text: &str) -> bool {
    const PROVIDERS: [&str; 8] =
        ["VNPay", "vnpay", "VNPAY", "ZaloPay", "zalopay", "ZALOPAY", "PayOS", "payos"];
    let quoted = |code: &str| ['"', '\''].iter().any(|q| text.contains(&format!("{q}{code}{q}")));
    PROVIDERS.iter().any(|provider| text.contains(provider))
        || (WHOLE.iter().any(|code| quoted(code)) && !quoted("USD") && !quoted("EUR"))
}

/// Whether a declaration lets whole numbers in only: `validate: Number.isInteger`, `@IsInt()` before it.
fn is_tested_whole(text: &str, line: u32) -> bool {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let before = text.lines().take(line.saturating_sub(1)).skip(line.saturating_sub(5));
    let marks: Vec<&str> = before.collect();
    let mut marks = marks.iter().rev().take_while(|line| line.trim_start().starts_with('@'));
    marks.any(|mark| mark.contains("@IsInt("))
        || declaration(text, line).iter().any(|line| line.contains(".isInteger"))
}

/// Whether a comment on the line says that a field is a day and no more, `// YYYY-MM-DD` or `// "2024-03-01"`, or a
/// pattern before it does: `@JsonFormat(pattern = "yyyy-MM-dd")`.
fn is_said_to_be_day(text: &str, line: u32) -> bool {
    let at = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let shows = |text: &str| {
        let lower = text.to_ascii_lowercase();
        (lower.contains("yyyy-mm-dd") && !lower.contains("hh")) || shows_day(&lower)
    };
    let line = text.lines().nth(at).unwrap_or_default();
    let remark = line.split_once("//").or_else(|| line.split_once('#'));
    let before: Vec<&str> = text.lines().take(at).skip(at.saturating_sub(4)).collect();
    let mut marks = before.iter().rev().take_while(|line| line.trim_start().starts_with('@'));
    remark.is_some_and(|(_, remark)| shows(remark))
        || marks.any(|mark| mark.contains("Format") && shows(mark))
}

/// Whether a text has a day in it and no time behind: `2024-03-01`.
fn shows_day(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.windows(10).enumerate().any(|(at, day)| {
        let is_day = day.iter().enumerate().all(|(n, byte)| match n {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
        let behind = bytes.get(at + 10..).unwrap_or_default();
        let is_time =
            behind.starts_with(b"t") || matches!(behind, [b' ', hour, ..] if hour.is_ascii_digit());
        is_day && !is_time && !behind.first().is_some_and(u8::is_ascii_digit)
    })
}

/// Whether a comment on the line, or on the one before it, says that a field counts the smallest unit, or a currency
/// that has no smaller one.
fn says_cents(text: &str, line: u32) -> bool {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let near = text.lines().skip(line.saturating_sub(2)).take(2);
    near.filter_map(|text| text.split_once("//").or_else(|| text.split_once('#'))).any(
        |(_, remark)| {
            let lower = remark.to_ascii_lowercase();
            ["cents", "minor unit", "pence", "paise", "smallest unit", "satoshi"]
                .iter()
                .any(|w| lower.contains(w))
                || lower
                    .split(|c: char| !c.is_alphanumeric())
                    .any(|word| matches!(word, "vnd" | "vnđ" | "jpy" | "krw"))
        },
    )
}

/// Whether methods of the model show a field divided by a hundred: `format(this.amount / 100)`.
fn is_shown_divided(text: &str, leaf: &str) -> bool {
    ["this", "self", "doc", "ret"].iter().any(|of| {
        let member = format!("{of}.{leaf}");
        text.match_indices(member.as_str()).any(|(at, _)| {
            let rest = text[at + member.len()..].trim_start();
            let divisor = rest.strip_prefix('/').map(str::trim_start);
            divisor.is_some_and(|divisor| {
                let digits = divisor.bytes().take_while(u8::is_ascii_digit).count();
                matches!(&divisor[..digits], "100" | "1000" | "100000000")
            })
        })
    })
}

/// Whether the type on a line is a length of time: `Duration timeout`.
fn is_length_of_time(text: &str, line: u32) -> bool {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let text = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| matches!(word, "Duration" | "Period" | "timedelta"))
}

/// Whether a declaration shows a time of day: an example (`"09:00"`), a form (`HH:mm`) or a pattern
/// (`/^([01]\d|2[0-3]):…/`) on its lines, and no date with it.
fn is_time_of_day(text: &str, line: u32) -> bool {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    declaration(text, line).iter().any(|line| shows_time_of_day(line))
}

/// The lines of a declaration: one in braces goes on to the line that closes it.
fn declaration(text: &str, line: usize) -> Vec<&str> {
    let mut near = text.lines().skip(line.saturating_sub(1));
    let Some(first) = near.next() else { return Vec::new() };
    let mut depth = braces(first);
    let mut declared = vec![first];
    while depth > 0 && declared.len() < 20 {
        let Some(next) = near.next() else { break };
        depth += braces(next);
        declared.push(next);
    }
    declared
}

fn braces(line: &str) -> i32 {
    line.chars().fold(0, |depth, c| match c {
        '{' => depth + 1,
        '}' => depth - 1,
        _ => depth,
    })
}

fn shows_time_of_day(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    if lower.contains("yy") || lower.contains("iso") || lower.contains("t00:") {
        return false;
    }
    let is_form =
        lower.contains("hh:mm") || lower.contains("h:mm") || lower.contains("time of day");
    let is_pattern = line.contains("2[0-3]") || line.contains("[0-5]");
    // `09:00`, and neither a date before it nor seconds that belong to one.
    let is_example = line.match_indices(':').any(|(at, _)| {
        let before = line[..at].bytes().rev().take_while(u8::is_ascii_digit).count();
        let after = line[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let starts = at - before;
        let head = &line[..starts];
        let has_date = head.ends_with(['T', '-', '/', ':']) || shows_day(head);
        (1..=2).contains(&before) && after == 2 && !has_date
    });
    is_form || is_pattern || is_example
}

/// Structs of Go that a file gives to a collection: `InsertOne(ctx, User{…})`, or a variable of the type.
pub(super) fn stored_structs<'u, 't>(values: &Values<'u, 't>, text: &str) -> BTreeSet<String> {
    let unit = values.unit;
    let mut stored = BTreeSet::new();
    unit.each(|scope, expr| {
        let Some(call) = expr.call() else { return };
        if !matches!(
            call.method(),
            Some("InsertOne" | "Insert" | "InsertMany" | "ReplaceOne" | "FindOneAndReplace")
        ) {
            return;
        }
        for arg in &call.args {
            let written = text.get(arg.value.at..arg.value.end).unwrap_or_default();
            if matches!(arg.value.kind, Kind::Object(_)) {
                stored.extend(struct_name(written));
            }
            let Kind::Name(name) = &arg.value.kind else { continue };
            for (_, value) in values.given(name, scope) {
                if matches!(value.kind, Kind::Object(_)) {
                    stored.extend(struct_name(text.get(value.at..value.end).unwrap_or_default()));
                }
            }
            if let Some((id, function)) = unit.function(scope) {
                let parameter = function.parameters.iter().find(|(other, _)| other == name);
                stored.extend(parameter.and_then(|(_, class)| struct_name(class)));
                let scope = &unit.scopes[id];
                let body = text.get(scope.at..scope.end).unwrap_or_default();
                let start = format!("var {name} ");
                let declared = body.lines().find_map(|l| l.trim().strip_prefix(&start));
                stored.extend(declared.and_then(struct_name));
            }
        }
    });
    stored
}

/// Structs of Go that a file makes with values in them: only what is made can be written.
pub(super) fn made_structs(unit: &Unit<'_>, text: &str) -> BTreeSet<String> {
    let mut made = BTreeSet::new();
    unit.each(|_, expr| {
        if matches!(&expr.kind, Kind::Object(entries) if !entries.is_empty()) {
            made.extend(struct_name(text.get(expr.at..expr.end).unwrap_or_default()));
        }
    });
    made
}

/// The name of a struct, without its package: of `&models.User{…}`, `[]User`, `*User`.
fn struct_name(text: &str) -> Option<String> {
    let name = text.trim_start_matches(['&', '*', ' ', '[', ']']).split(['{', ' ']).next()?.trim();
    let name = name.rsplit('.').next()?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| name.to_owned())
}

fn literal(expr: &Expr<'_>) -> String {
    match &expr.kind {
        Kind::Number(text) => (*text).to_owned(),
        Kind::List(items) => items.first().map(literal).unwrap_or_default(),
        _ => expr.text().map(|text| format!("\"{text}\"")).unwrap_or_default(),
    }
}

fn has_own_id(model: &Model) -> bool {
    // Every schema has an `_id`; the declaration of this one must have, too.
    let fields = model.schema.get_document("properties");
    let is_document = fields
        .and_then(|fields| fields.get_document("_id"))
        .is_ok_and(|id| id.contains_key("properties"));
    model.fields.contains_key("_id") && !is_document
}

/// All fields of a schema, with their paths.
fn properties(schema: &Document, path: &str, out: &mut Vec<(String, Document)>) {
    if out.len() > 5000 || path.matches('.').count() > 20 {
        return;
    }
    if let Ok(fields) = schema.get_document("properties") {
        for (name, field) in fields {
            let Bson::Document(field) = field else { continue };
            let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            out.push((inner.clone(), field.clone()));
            properties(field, &inner, out);
        }
    }
    if let Ok(items) = schema.get_document("items") {
        let inner = format!("{path}[]");
        out.push((inner.clone(), items.clone()));
        properties(items, &inner, out);
    }
}

fn types(schema: &Document) -> Vec<BsonType> {
    let name = |value: &Bson| match value.as_str() {
        Some("number") => vec![BsonType::Double, BsonType::Int, BsonType::Long, BsonType::Decimal],
        Some(name) => BsonType::from_name(name).into_iter().collect(),
        None => Vec::new(),
    };
    match schema.get("bsonType") {
        Some(Bson::Array(names)) => names.iter().flat_map(name).collect(),
        Some(value) => name(value),
        None => Vec::new(),
    }
}

fn allowed(schema: &Document) -> Vec<String> {
    let Ok(values) = schema.get_array("enum") else { return Vec::new() };
    values.iter().map(|value| value.to_string()).collect()
}
