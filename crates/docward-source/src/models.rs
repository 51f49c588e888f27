//! Fields that models declare, for rules about types: money, dates, codes, ids.

use std::collections::BTreeSet;

use docward_model::{
    BsonType, Location,
    code::{DeclaredField, Place},
};

use super::{
    Language, Library, Scan, Scanned,
    annotations::Declarations,
    ir::{Expr, Kind, ScopeKind, StatementKind},
};
use crate::place::Place as Position;

/// A model as an importer reads it.
#[derive(Clone, Debug, Default)]
pub struct DeclaredModel {
    /// The name in code.
    pub name: String,
    /// The collection, as the library would name it.
    pub collection: Option<String>,
    /// Whether another model of the text holds it.
    pub embedded: bool,
    /// Whether it declares an `_id` that is a value.
    pub has_own_id: bool,
    /// Whether its declaration has parts other than hooks that could not be read.
    pub is_partial: bool,
    /// Its fields.
    pub fields: Vec<ModelField>,
}

/// A field of a [`DeclaredModel`].
#[derive(Clone, Debug)]
pub struct ModelField {
    /// The path: `items[].price`.
    pub path: String,
    /// The place of the declaration.
    pub declared_at: Position,
    /// The types with which it is stored.
    pub types: Vec<BsonType>,
    /// The allowed values, as text.
    pub allowed: Vec<String>,
    /// The maximum number of elements.
    pub max_items: Option<u64>,
    /// Whether the framework chose its name.
    pub generated: bool,
}

/// Reads the models that a text declares with a library.
pub type ReadModels = fn(Library, &str) -> Vec<DeclaredModel>;

impl<'u, 't> Scan<'u, 't> {
    /// Fields of every model of the file.
    pub(super) fn models(&mut self) {
        let library = match self.values.unit.language {
            language if language.is_script() => {
                let is_mongoose = self.text.contains("mongoose");
                is_mongoose.then_some(Library::Mongoose)
            }
            Language::Python
                if self.values.unit.imports_from("beanie")
                    || (self.values.unit.imports_from("pydantic")
                        && !self.values.known.kept.is_empty()) =>
            {
                Some(Library::Pydantic)
            }
            Language::Go if self.text.contains("bson:\"") => Some(Library::Go),
            Language::Java if self.has_documents() || self.has_parts() => Some(Library::Spring),
            language => (language.dialect().library)(&self.values, self.text),
        };
        let first = self.out.code.fields.len();
        let is_part = library == Some(Library::Spring) && !self.has_documents();
        if let Some(library) = library {
            let is_go = library == Library::Go;
            let stored = if is_go {
                crate::dialect::go::stored_structs(&self.values, self.text)
            } else {
                BTreeSet::new()
            };
            let models = (self.read_models)(library, self.text);
            let has_documents = models.iter().any(|model| model.collection.is_some());
            let is_of_requests = !has_documents && is_folder_of_requests(self.within);
            for model in models {
                // Bodies of requests are also models; only stored models count.
                let kept = self.values.known.kept.get(&model.name);
                let is_part =
                    model.embedded && !is_of_requests && self.values.unit.imports_from("beanie");
                if library == Library::Pydantic
                    && model.collection.is_none()
                    && !is_part
                    && kept.is_none()
                {
                    continue;
                }
                // In Go, results of groupings and bodies of requests also have tags. A stored model declares an `_id`
                // that is a value, or is passed to a collection.
                let is_given = stored.contains(&model.name)
                    || (self.values.known.stored.contains(&model.name)
                        && !is_folder_of_requests(self.within));
                let is_document = model.has_own_id || is_given;
                if is_go && (!is_document || (self.is_of_api_client() && !is_given)) {
                    continue;
                }
                let is_stored = !is_go || self.values.known.written.contains(&model.name);
                let from = self.out.code.fields.len();
                self.declared(&model, is_stored);
                if library == Library::Mongoose {
                    let is_closed = is_closed(&model, self.text);
                    self.out
                        .code
                        .closed_models
                        .entry(model.name.clone())
                        .and_modify(|had| *had &= is_closed)
                        .or_insert(is_closed);
                }
                if let Some(changed) = kept.filter(|_| library == Library::Pydantic) {
                    let mut at = 0;
                    self.out.code.fields.retain(|field| {
                        at += 1;
                        at <= from || !changed.contains(&field.path)
                    });
                }
            }
        }
        // Parts are often bodies of requests, so only their numbers are checked.
        if is_part {
            let mut at = 0;
            self.out.code.fields.retain(|field| {
                at += 1;
                at <= first || field.types.contains(&BsonType::Double)
            });
        }
        let unit = self.values.unit;
        let is_mapped = || ["mongoengine", "djongo"].iter().any(|name| unit.imports_from(name));
        if unit.language == Language::Python && is_mapped() {
            self.mongoengine();
        }
        self.identified();
        self.schema_arrays();
    }

    /// Records arrays in objects of a file that imports Mongoose, which functions may turn into schemas:
    /// `members: [{…}]`, `votes: {type: Array}`.
    fn schema_arrays(&mut self) {
        let unit = self.values.unit;
        if !unit.language.is_script() || !unit.imports_from("mongoose") {
            return;
        }
        let mut names = Vec::new();
        unit.each(|_, expr| {
            let Kind::Object(entries) = &expr.kind else { return };
            names.extend(entries.iter().filter_map(|entry| {
                let is_type = |value: &Expr<'t>| match &value.kind {
                    Kind::List(items) => matches!(items.as_slice(), [only]
                        if !matches!(only.kind, Kind::Text(_) | Kind::Number(_))),
                    Kind::Name(name) => *name == "Array",
                    _ => false,
                };
                let is_array = match &entry.value.kind {
                    Kind::Object(inner) => {
                        inner.iter().any(|e| e.name() == Some("type") && is_type(&e.value))
                    }
                    Kind::List(_) => is_type(&entry.value),
                    _ => false,
                };
                is_array.then(|| entry.name()).flatten().map(str::to_owned)
            }));
        });
        self.out.code.schema_arrays.extend(names);
    }

    /// Whether the file belongs to a program that calls an API: it copies the tags of the server's structs, and stores
    /// nothing itself.
    fn is_of_api_client(&self) -> bool {
        let mut folders = self.within.split('/').rev().skip(1);
        folders.any(|folder| matches!(folder, "cli" | "client" | "sdk"))
            && !self.values.unit.imports.iter().any(|import| {
                import.module.ends_with("/mongo") || import.module.ends_with("mgo.v2")
            })
    }

    /// Whether a class is marked as a document of Spring Data for MongoDB. Other libraries have the same or similar
    /// annotations.
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

    /// Whether the file declares a class that is the type of a field in a document of another file. Rows of a
    /// relational database do not count.
    fn has_parts(&self) -> bool {
        let package = crate::dialect::java::package_of(self.text);
        self.values.unit.scopes.iter().any(|scope| {
            let ScopeKind::Class { name, marks, .. } = &scope.kind else { return false };
            let key = (package.to_owned(), (*name).to_owned());
            self.values.known.parts.contains(&key)
                && !marks.iter().any(|mark| matches!(mark.path.as_str(), "Entity" | "Table"))
        })
    }

    fn declared(&mut self, model: &DeclaredModel, is_stored: bool) {
        let declarations = self.declarations.get_or_init(|| Declarations::new(self.text));
        declared(self.file, declarations, model, is_stored, self.out);
    }

    /// Classes of MongoEngine, `price = FloatField()`, and of djongo, `price = models.FloatField()`.
    fn mongoengine(&mut self) {
        let unit = self.values.unit;
        let knows_mongoengine = unit.imports_from("mongoengine");
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, .. } = &statement.kind else { continue };
            let ScopeKind::Class { name: model, bases, .. } = &unit.scopes[statement.scope].kind
            else {
                continue;
            };
            // Django has fields of the same names for other databases.
            if !knows_mongoengine && !crate::dialect::python::is_of_djongo(unit, bases) {
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
            let declarations = self.declarations.get_or_init(|| Declarations::new(self.text));
            let at = Position { line: place.location.line, column: place.location.column };
            let annotations = declarations.annotations(&types, at);
            self.out.code.fields.push(DeclaredField {
                place,
                model: (*model).to_owned(),
                collection: None,
                path: if is_id { "_id".to_owned() } else { (*field).to_owned() },
                types,
                annotations,
                allowed,
                made_by: made_by.map(str::to_owned),
                generated: false,
                max_items,
                is_stored: true,
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
            // `Field(default_factory=uuid4, alias="_id")` names its field.
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
                    annotations: Vec::new(),
                    allowed: Vec::new(),
                    made_by: Some(made_by),
                    generated: false,
                    max_items: None,
                    is_stored: true,
                });
            }
        }
    }
}

/// Models of a schema of Prisma, unless it is for another database.
pub(super) fn of_prisma(file: &str, text: &str, read: ReadModels, out: &mut Scanned) {
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
    // A file without a data source may contain models for another folder.
    let is_stored = text.contains("\"mongodb\"") || text.contains("@db.ObjectId");
    if !is_other {
        let declarations = Declarations::new(text);
        for model in read(Library::Prisma, text) {
            declared(file, &declarations, &model, is_stored, out);
        }
    }
}

/// Records the fields of a model.
fn declared(
    file: &str,
    declarations: &Declarations<'_>,
    model: &DeclaredModel,
    is_stored: bool,
    out: &mut Scanned,
) {
    for field in &model.fields {
        let Position { line, column } = field.declared_at;
        out.code.fields.push(DeclaredField {
            place: Place {
                location: Location { file: file.to_owned(), line, column },
                function: None,
            },
            model: model.name.clone(),
            collection: model.collection.clone(),
            types: field.types.clone(),
            annotations: declarations.annotations(&field.types, field.declared_at),
            allowed: field.allowed.clone(),
            made_by: None,
            generated: field.generated,
            max_items: field.max_items,
            is_stored: is_stored && !declarations.is_deprecated(field.declared_at),
            path: field.path.clone(),
        });
    }
}

/// Whether Mongoose stores exactly the declared fields of a schema. The schema must be read completely, and the rest of
/// its file must not add to it or change its options.
fn is_closed(model: &DeclaredModel, text: &str) -> bool {
    // Functions that receive the schema are not part of it.
    let functions = [".methods.", ".statics.", ".pre('", ".pre(\""];
    let end = functions.iter().filter_map(|word| text.find(word)).min().unwrap_or(text.len());
    let declared = &text[..end];
    !model.is_partial
        && !text.match_indices("strict").any(|(at, _)| !text[..at].ends_with("use "))
        && !["discriminator", ".add(", "extends", ".plugin("].iter().any(|word| text.contains(word))
        && !["{ ...", "{..."].iter().any(|word| declared.contains(word))
        && !declared.lines().any(|line| line.trim_start().starts_with("..."))
}

/// Whether a file is in a folder for the bodies of requests and responses.
fn is_folder_of_requests(file: &str) -> bool {
    let folders = file.rsplit('/').skip(1);
    let mut folders = folders.map(str::to_ascii_lowercase);
    folders.any(|f| matches!(&*f, "schemas" | "schema" | "dto" | "dtos" | "requests" | "responses"))
}

fn literal(expr: &Expr<'_>) -> String {
    match &expr.kind {
        Kind::Number(text) => (*text).to_owned(),
        Kind::List(items) => items.first().map(literal).unwrap_or_default(),
        _ => expr.text().map(|text| format!("\"{text}\"")).unwrap_or_default(),
    }
}
