//! What other files need to know of a file: constants, models, functions that make clients.

use docward_model::Purpose;

use super::{
    FileKind, Known, Language,
    ir::{Expr, Kind, ScopeKind, StatementKind, Unit},
    lower,
    models::{made_structs, stored_structs},
    secrets::is_local,
    values::Values,
};
use crate::syntax::Source;

/// Longer texts are no names and no connection strings.
const MAX_CONSTANT: usize = 300;

/// What a file declares for others.
pub fn survey(file: &str, text: &str, kind: FileKind) -> Known {
    let mut out = Known::default();
    let FileKind::Code(language) = kind else { return out };
    if text.len() > super::MAX_TEXT || super::file_role::is_generated(text, kind) {
        return out;
    }
    let Ok(source) = Source::parse(&language.grammar(), text) else { return out };
    let unit = lower::lower(&source, language);
    let nothing = Known::default();
    let values = Values::new(&unit, &nothing, false);
    // As others import it, a file is called after its folder where it has no name of its own.
    let stem = super::values::stem(&format!("./{file}"));
    constants(&unit, &values, &stem, &mut out);
    if text.contains("mongodb://") {
        local_defaults(&unit, &values, &stem, &mut out);
    }
    models(&unit, &values, &mut out);
    if let (1, Some(model)) = (out.models.len(), out.models.keys().next()) {
        out.model_files.insert(stem.clone(), Some(model.clone()));
    }
    // Mongoose puts the version into the filter of every save.
    if language.is_script() && asks_for_version(&unit) {
        out.versioned.extend(out.models.keys().cloned());
    }
    if language.is_jvm() {
        versioned(&unit, text, &mut out);
        parts(&unit, text, &mut out);
    }
    if language == Language::Python
        && super::unmapped_models::STORES.iter().any(|word| text.contains(word))
    {
        out.kept = super::unmapped_models::classes(&values);
    }
    if language == Language::Go {
        out.stored = stored_structs(&values, text);
        out.written = out.stored.clone();
        out.written.extend(made_structs(&unit, text));
    }
    // Models of the file itself are known to its functions.
    let own = Known { models: out.models.clone(), ..Known::default() };
    out.absorb(super::functions(file, text, &unit, &own));
    out
}

fn constants<'u, 't>(unit: &'u Unit<'t>, values: &Values<'u, 't>, stem: &str, out: &mut Known) {
    for statement in &unit.statements {
        let StatementKind::Assign { target, value, adds: false } = &statement.kind else {
            continue;
        };
        let owner = match &unit.scopes[statement.scope].kind {
            ScopeKind::Module => stem.to_owned(),
            ScopeKind::Class { name, .. } => (*name).to_owned(),
            _ => continue,
        };
        let Kind::Name(name) = &target.kind else { continue };
        let folded = values.fold(value, statement.scope);
        if let Some(text) = folded.whole().filter(|_| !folded.fallback)
            && !text.is_empty()
            && text.len() <= MAX_CONSTANT
            && matches!(value.kind, Kind::Text(_) | Kind::Binary(..))
        {
            out.constants.insert((owner, (*name).to_owned()), Some(text));
        }
    }
}

/// Whether a schema asks for the version that was read: `{optimisticConcurrency: true}`.
fn asks_for_version(unit: &Unit<'_>) -> bool {
    let mut found = false;
    unit.each(|_, expr| {
        let Kind::Object(entries) = &expr.kind else { return };
        found |= entries.iter().any(|entry| {
            entry.name() == Some("optimisticConcurrency")
                && !matches!(entry.value.kind, Kind::Bool(false))
        });
    });
    found
}

/// Classes with a field that is marked as the version.
fn versioned(unit: &Unit<'_>, text: &str, out: &mut Known) {
    for scope in &unit.scopes {
        let ScopeKind::Class { name, bases, .. } = &scope.kind else { continue };
        if text.get(scope.at..scope.end).is_some_and(|class| class.contains("@Version")) {
            out.versioned.insert((*name).to_owned());
        }
        if !bases.is_empty() {
            let bases =
                bases.iter().map(|base| base.split('<').next().unwrap_or(base).trim().to_owned());
            out.extended.entry((*name).to_owned()).or_default().extend(bases);
        }
    }
}

/// Classes that documents of Spring Data have fields of, alone or in lists: they are stored with them.
fn parts(unit: &Unit<'_>, text: &str, out: &mut Known) {
    for scope in &unit.scopes {
        let ScopeKind::Class { marks, .. } = &scope.kind else { continue };
        if !marks.iter().any(|mark| mark.path == "Document") || !unit.imports_from("mongodb") {
            continue;
        }
        let class = text.get(scope.at..scope.end).unwrap_or_default();
        for line in class.lines().filter(|line| line.trim_end().ends_with(';')) {
            let declared = line.split(['=', ';']).next().unwrap_or_default();
            // A call, or a name in a package.
            if declared.contains(['(', '.', '"']) || declared.trim_start().starts_with("return") {
                continue;
            }
            let words = declared.split(|c: char| !c.is_alphanumeric() && c != '_');
            for word in words.filter(|word| word.starts_with(char::is_uppercase)) {
                let package = match unit.import(word) {
                    Some(import) => import.module.to_string(),
                    None => package_of(text).to_owned(),
                };
                if !package.starts_with("java") {
                    out.parts.insert((package, word.to_owned()));
                }
            }
        }
    }
}

/// The package that a file of Java belongs to.
pub(super) fn package_of(text: &str) -> &str {
    let package = text.lines().find_map(|line| line.trim().strip_prefix("package "));
    package.map_or("", |name| name.trim_end_matches(';').trim())
}

/// Settings that are a connection string for this machine when a variable is not set, by their last name.
fn local_defaults<'u, 't>(
    unit: &'u Unit<'t>,
    values: &Values<'u, 't>,
    stem: &str,
    out: &mut Known,
) {
    let mut see = |name: &str, value: &'u Expr<'t>, scope| {
        let folded = values.fold(value, scope);
        let default = folded.whole().filter(|_| folded.fallback);
        if default.is_some_and(|text| is_for_this_machine(&text)) {
            out.local_defaults.insert((stem.to_owned(), name.to_owned()));
        }
    };
    for statement in &unit.statements {
        if let StatementKind::Assign { target, value, .. } = &statement.kind
            && let Some(name) = target.last_name()
        {
            see(name, value, statement.scope);
        }
    }
    unit.each(|scope, expr| {
        let Kind::Object(entries) = &expr.kind else { return };
        for entry in entries {
            if let Some(name) = entry.name() {
                see(name, &entry.value, scope);
            }
        }
    });
}

fn is_for_this_machine(text: &str) -> bool {
    docward_uri::parse(text).is_ok_and(|parsed| {
        let client = parsed.client(Purpose::Client);
        !client.srv && client.hosts.iter().all(|host| is_local(host))
    })
}

fn models<'u, 't>(unit: &'u Unit<'t>, values: &Values<'u, 't>, out: &mut Known) {
    // `mongoose.model('User', schema, 'users')`, and the variable it is assigned to.
    unit.each(|scope, expr| {
        if let Some(call) = expr.call()
            && matches!(call.method(), Some("model"))
            && call
                .receiver()
                .and_then(Expr::last_name)
                .is_none_or(|of| matches!(of, "mongoose" | "connection" | "conn" | "db" | "models"))
            && unit.language.is_script()
            && (call.receiver().is_some()
                || unit.import("model").is_some_and(|i| i.module == "mongoose"))
            && let Some(name) = call.positional(0).and_then(|arg| values.text(arg, scope))
        {
            let collection = call.positional(2).and_then(|arg| values.text(arg, scope));
            out.models.insert(name, collection.unwrap_or_default());
        }
    });
    for scope in &unit.scopes {
        let ScopeKind::Class { name, bases, marks } = &scope.kind else { continue };
        let is_model = match unit.language {
            Language::Python => {
                let is_document = bases.iter().any(|base| {
                    matches!(
                        base.rsplit('.').next().unwrap_or(base),
                        "Document" | "DynamicDocument" | "EmbeddedDocument" | "BeanieDocument"
                    )
                });
                let is_known =
                    || ["mongoengine", "beanie", "odmantic"].iter().any(|m| unit.imports_from(m));
                (is_document && is_known()) || is_of_djongo(unit, bases)
            }
            language if language.is_jvm() => {
                marks.iter().any(|mark| mark.path == "Document" || mark.path.ends_with(".Document"))
            }
            _ => marks.iter().any(|mark| mark.path == "Schema") && unit.imports_from("mongoose"),
        };
        if is_model {
            let collection = marks
                .iter()
                .find(|mark| mark.path == "Document")
                .and_then(|mark| mark.args.first())
                .and_then(|arg| arg.value.text().map(|text| text.into_owned()));
            out.models.insert((*name).to_owned(), collection.unwrap_or_default());
        }
    }
}

/// Whether a class is a model of djongo, which keeps models of Django in MongoDB: `from djongo import models`.
pub(super) fn is_of_djongo(unit: &Unit<'_>, bases: &[&str]) -> bool {
    bases.iter().any(|base| base.ends_with("models.Model"))
        && unit.imports.iter().any(|import| import.module == "djongo" && import.name == "models")
}
