//! Reads Pydantic models and Beanie documents.
//!
//! A field is required if it has no default. As in Pydantic 2, `Optional` without a default is also
//! required, but may be null. In files for Pydantic 1, it may be absent. With Beanie's `keep_nulls
//! = False`, null fields are not written.

mod class;
mod expr;
mod types;

use bson::Bson;

use crate::{
    Imported, Model, Place,
    draft::{Draft, join},
    shape::{Rest, Shape},
};
use class::{Class, Field, Module};
use docward_source::{Language, syntax::Source};
use expr::Expr;

/// Text that occurs only in files for Pydantic 1.
const OLD: [&str; 5] =
    ["pydantic.v1", "import validator", ", validator", "root_validator", "    class Config:"];

pub(crate) fn read(text: &str) -> Imported {
    let source = match Source::parse(&Language::Python.grammar(), text) {
        Ok(source) => source,
        Err(problem) => return Imported { models: Vec::new(), problems: vec![problem] },
    };
    let module = Module::read(&source);
    let reader = Reader { old: OLD.iter().any(|word| text.contains(word)), module: &module };
    let held = reader.held();
    let mut models: Vec<Model> = Vec::new();
    for class in &module.classes {
        let ancestry = reader.ancestry(class);
        if ancestry == Ancestry::Other || models.iter().any(|model| model.name == class.name) {
            continue;
        }
        // A class below a root stores its documents in the root's collection. The model of the root
        // describes them.
        if reader.root_above(class).is_some() {
            continue;
        }
        let mut model = reader.model(class, ancestry);
        model.embedded = held.contains(&class.name) && !is_root(class);
        models.push(model);
    }
    Imported { models, problems: source.problems() }
}

/// The maximum number of ancestors of a class.
const MAX_BASES: usize = 64;

struct Reader<'m> {
    module: &'m Module,
    /// Whether the file is for Pydantic 1.
    old: bool,
}

/// The kind of base class that a class derives from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ancestry {
    Model,
    /// Derives from Beanie's document, which has an `_id` and a collection.
    Document,
    Other,
}

impl Reader<'_> {
    fn ancestry<'c>(&'c self, class: &'c Class) -> Ancestry {
        self.ancestry_below(class, &mut vec![&class.name])
    }

    fn ancestry_below<'c>(&'c self, class: &'c Class, seen: &mut Vec<&'c str>) -> Ancestry {
        let mut found = Ancestry::Other;
        for base in &class.bases {
            let name = base.name();
            let here = match self.module.class(name) {
                Some(inner) if seen.contains(&inner.name.as_str()) => Ancestry::Other,
                Some(inner) if seen.len() < MAX_BASES => {
                    seen.push(&inner.name);
                    self.ancestry_below(inner, seen)
                }
                _ if matches!(name, "Document" | "DocumentWithSoftDelete" | "View") => {
                    Ancestry::Document
                }
                // The kind of a base class from another file is guessed from its name.
                _ if name.ends_with("Document") => Ancestry::Document,
                _ if name.ends_with("Model") => Ancestry::Model,
                _ => Ancestry::Other,
            };
            if here == Ancestry::Document || found == Ancestry::Other {
                found = here;
            }
        }
        found
    }

    /// Returns the ancestor whose collection also holds the documents of this class.
    fn root_above<'c>(&'c self, class: &'c Class) -> Option<&'c Class> {
        let mut open: Vec<&Class> = vec![class];
        let mut seen: Vec<&str> = vec![&class.name];
        while let Some(next) = open.pop() {
            for base in next.bases.iter().filter_map(|base| self.module.class(base.name())) {
                if is_root(base) && base.name != class.name {
                    return Some(base);
                }
                if seen.len() < MAX_BASES && !seen.contains(&base.name.as_str()) {
                    seen.push(&base.name);
                    open.push(base);
                }
            }
        }
        None
    }

    fn is_enum(&self, class: &Class) -> bool {
        class.bases.iter().any(|base| {
            matches!(base.name(), "Enum" | "StrEnum" | "IntEnum" | "ReprEnum" | "IntFlag")
                || self.module.class(base.name()).is_some_and(|inner| {
                    inner.name != class.name
                        && inner.bases.iter().any(|base| base.name().ends_with("Enum"))
                })
        })
    }

    /// Returns the names of classes that other classes contain or derive from.
    fn held(&self) -> Vec<String> {
        fn collect(kind: &Expr, out: &mut Vec<String>, depth: usize) {
            if depth > 8 {
                return;
            }
            match kind {
                Expr::Name(_) => out.push(kind.name().to_owned()),
                // A link refers to a separate document.
                Expr::Index(base, _) if matches!(base.name(), "Link" | "BackLink") => {}
                Expr::Index(_, inner) | Expr::Either(inner) => {
                    inner.iter().for_each(|one| collect(one, out, depth + 1));
                }
                Expr::Literal(Bson::String(text)) => {
                    if let Some(inner) = Expr::quoted(text) {
                        collect(&inner, out, depth + 1);
                    }
                }
                Expr::Call(_, plain, _) => {
                    plain.iter().for_each(|one| collect(one, out, depth + 1))
                }
                _ => {}
            }
        }
        let mut out = Vec::new();
        for class in &self.module.classes {
            let mut names = Vec::new();
            class.fields.iter().for_each(|field| collect(&field.kind, &mut names, 0));
            names.extend(class.bases.iter().map(|base| base.name().to_owned()));
            out.extend(names.into_iter().filter(|name| *name != class.name));
        }
        out
    }

    fn model(&self, class: &Class, ancestry: Ancestry) -> Model {
        let mut draft = Draft::default();
        let mut shape = self.class(&mut draft, class, "", class.place, true);
        if !shape.has_property("_id") {
            shape.properties.insert(0, ("_id".to_owned(), Shape::of(&["objectId"])));
        }
        shape.title.get_or_insert_with(|| class.name.clone());
        shape.description = class.doc.clone();
        let collection = match ancestry {
            Ancestry::Document => match class.setting("name") {
                None => Some(class.name.clone()),
                Some(name) => name.text().map(str::to_owned),
            },
            _ => None,
        };
        draft.finish(&class.name, collection, class.place, shape)
    }

    /// Reads the documents of a class that is named at `place`, including inherited fields.
    fn class(
        &self,
        draft: &mut Draft,
        class: &Class,
        path: &str,
        place: Place,
        top: bool,
    ) -> Shape {
        draft.named(&class.name, path, place, |draft| {
            let mut shape = Shape::object();
            self.inherit(draft, class, class, path, &mut shape, top, &mut vec![&class.name]);
            if let Some(title) = class.option("title").and_then(Expr::text) {
                shape.title = Some(title.to_owned());
            }
            shape
        })
    }

    #[expect(clippy::too_many_arguments, reason = "a recursive class")]
    fn inherit<'c>(
        &'c self,
        draft: &mut Draft,
        class: &'c Class,
        lowest: &Class,
        path: &str,
        shape: &mut Shape,
        top: bool,
        seen: &mut Vec<&'c str>,
    ) {
        for base in class.bases.iter().rev() {
            let name = base.name();
            if let Some(inner) = self.module.class(name) {
                if !seen.contains(&inner.name.as_str()) && seen.len() < MAX_BASES {
                    seen.push(&inner.name);
                    self.inherit(draft, inner, lowest, path, shape, top, seen);
                }
                continue;
            }
            let plain = [
                "BaseModel",
                "Document",
                "View",
                "Generic",
                "ABC",
                "TypedDict",
                "NamedTuple",
                "object",
            ];
            if !plain.contains(&name) && !name.is_empty() {
                let why = "its parent type is not declared in this file";
                draft.loosened(path, name, why, class.place);
            }
        }
        let document = top && self.ancestry(lowest) == Ancestry::Document;
        if document && !shape.has_property("_id") {
            shape.set_property("_id", Shape::of(&["objectId"]));
        }
        let drops_nulls =
            lowest.setting("keep_nulls").and_then(Expr::literal) == Some(&Bson::Boolean(false));
        for field in &class.fields {
            self.field(draft, field, path, shape, document, drops_nulls);
        }
        self.methods(draft, class, path, shape);
        if class.setting("use_revision").is_some_and(Expr::is_true) {
            shape.set_property("revision_id", Shape::of(&["binData", "null"]));
        }
        if is_root(class) {
            shape.set_property("_class_id", Shape::of(&["string"]));
            let why = "documents of several classes in one collection; the schema has only their common \
                 fields";
            draft.loosened(path, "is_root", why, class.place);
        }
        if let Some(generator) = class.option("alias_generator") {
            let what = format!("alias_generator={}", generator.shown());
            draft.loosened(path, what, "names are computed", class.place);
        }
        match class.option("extra") {
            Some(extra) if extra.text() == Some("forbid") || extra.name() == "forbid" => {
                shape.rest = Rest::Closed;
            }
            Some(_) => shape.rest = Rest::Open,
            None => {}
        }
    }

    fn field(
        &self,
        draft: &mut Draft,
        field: &Field,
        path: &str,
        into: &mut Shape,
        document: bool,
        drops_nulls: bool,
    ) {
        let Field { name, place, kind, default } = field;
        let outer = kind.name();
        if name.starts_with('_') || matches!(outer, "ClassVar" | "InitVar") {
            return;
        }
        if matches!(outer, "BackLink") || mentions(kind, "BackLink", 0) {
            draft.noted(&join(path, name), kind.shown(), "not stored", *place);
            return;
        }
        let mut options: Vec<(String, Expr)> = Vec::new();
        let mut given = default.clone();
        for call in calls(kind) {
            if let Expr::Call(_, plain, named) = call {
                options.extend(named.clone());
                given = given.or_else(|| first_default(plain, named));
            }
        }
        if let Some(Expr::Call(function, plain, named)) = default {
            match function.name() {
                "Field" => {
                    options.extend(named.clone());
                    given = first_default(plain, named);
                }
                "PrivateAttr" => return,
                _ => {}
            }
        }
        let option = |key: &str| options.iter().rev().find(|(name, _)| name == key).map(|(_, v)| v);
        let alias = option("serialization_alias").or_else(|| option("alias")).and_then(Expr::text);
        let stored = match alias {
            Some(alias) => alias,
            None if document && name == "id" => "_id",
            None => name,
        };
        let inner = join(path, stored);
        if option("exclude").is_some_and(Expr::is_true) {
            draft.noted(&inner, "exclude=True", "not stored", *place);
            return;
        }
        if !draft.can_name(path, stored, *place) {
            return;
        }
        draft.field(&inner, *place);
        let mut shape = self.kind(draft, kind, &inner, *place);
        if let Some(Expr::Call(function, _, named)) = default
            && function.name() == "Field"
        {
            self.constrain(draft, &mut shape, named, &inner, *place);
        }
        let mut required = matches!(given, None | Some(Expr::Ellipsis));
        if let Some(given) =
            given.filter(|given| !matches!(given, Expr::Ellipsis | Expr::Literal(Bson::Null)))
        {
            // Pydantic does not convert defaults: `f: float = 0` writes an integer.
            if matches!(given, Expr::Literal(Bson::Int32(_) | Bson::Int64(_))) && shape.is("double")
            {
                for kind in ["int", "long"] {
                    if !shape.is(kind) {
                        shape.types.push(kind);
                    }
                }
            }
            let what = format!("default {}", given.shown());
            draft.noted(&inner, what, "the server sets no default values", *place);
        } else if !required {
            // Pydantic does not check the default: `name: str = None` is written as null.
            shape.null = true;
        }
        if shape.null && drops_nulls {
            shape.null = false;
            required = false;
        }
        if shape.null && self.old {
            required = false;
        }
        // Every inserted document gets an `_id`, so `Optional` does not apply to stored documents.
        if stored == "_id" {
            shape.null = false;
        }
        into.set_property(stored, shape);
        into.required.retain(|before| before != stored);
        if required {
            into.require(stored);
        }
    }

    fn methods(&self, draft: &mut Draft, class: &Class, path: &str, shape: &mut Shape) {
        for (decorator, method, place) in &class.methods {
            match decorator.name() {
                "field_validator" | "validator" => {
                    let Expr::Call(_, fields, _) = decorator else { continue };
                    for field in fields.iter().filter_map(Expr::text) {
                        let path = if field == "*" { path.to_owned() } else { join(path, field) };
                        draft.loosened(
                            &path,
                            format!("validator {method}"),
                            "decided by code",
                            *place,
                        );
                    }
                }
                "model_validator" | "root_validator" => {
                    draft.loosened(path, format!("validator {method}"), "decided by code", *place);
                }
                "computed_field" if draft.can_name(path, method, *place) => {
                    let inner = join(path, method);
                    draft.field(&inner, *place);
                    draft.noted(
                        &inner,
                        format!("computed field {method}"),
                        "its type is not read",
                        *place,
                    );
                    shape.set_property(method, Shape::default());
                }
                _ => {}
            }
        }
    }
}

/// Returns the `Field(…)` calls inside `Annotated[…]`.
fn calls(kind: &Expr) -> Vec<&Expr> {
    match kind {
        Expr::Index(base, inner) if base.name() == "Annotated" => inner
            .iter()
            .skip(1)
            .filter(|one| matches!(one, Expr::Call(function, ..) if function.name() == "Field"))
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether a Beanie document shares its collection with its subclasses.
fn is_root(class: &Class) -> bool {
    class.setting("is_root").is_some_and(Expr::is_true)
}

/// Returns the default in `Field(…)`.
fn first_default(plain: &[Expr], named: &[(String, Expr)]) -> Option<Expr> {
    let named = named.iter().find(|(key, _)| key == "default" || key == "default_factory");
    plain.first().or(named.map(|(_, value)| value)).cloned()
}

fn mentions(kind: &Expr, name: &str, depth: usize) -> bool {
    match kind {
        _ if depth > 8 => false,
        Expr::Index(base, inner) => {
            base.name() == name || inner.iter().any(|one| mentions(one, name, depth + 1))
        }
        Expr::Either(all) => all.iter().any(|one| mentions(one, name, depth + 1)),
        _ => false,
    }
}
