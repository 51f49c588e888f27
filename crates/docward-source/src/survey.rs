//! Collects the exports of a file that other files need: constants, models, functions that create clients.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use docward_model::{Purpose, code::Cap};

use super::{
    FileKind, Known, Language, Scan, Scanned,
    ir::{Expr, Kind, ScopeId, ScopeKind, StatementKind, Unit},
    lower,
    place::Places,
    secrets::is_local,
    unite,
    values::Values,
};
use crate::syntax::Source;

/// Longer strings are neither names nor connection strings.
const MAX_CONSTANT: usize = 300;

/// Returns the constants, models and settings that a file exports.
pub fn declarations(file: &str, text: &str, kind: FileKind) -> Known {
    let mut out = Known::default();
    let Some((source, language)) = parsed(text, kind) else { return out };
    let unit = lower::lower(&source, language);
    let nothing = Known::default();
    let values = Values::new(&unit, &nothing, false);
    // If a file has no name of its own, others import it by the name of its folder.
    let stem = super::values::stem(&format!("./{file}"));
    constants(&unit, &values, &stem, &mut out);
    if text.contains("mongodb://") {
        local_defaults(&unit, &values, &stem, &mut out);
    }
    models(&unit, &mut out);
    if language.dialect().names_imported_files {
        exported_models(&values, &stem, &mut out);
    }
    (language.dialect().survey)(&values, text, &mut out);
    if let (1, Some(model)) = (out.models.len(), out.models.keys().next()) {
        out.model_files.insert(stem.clone(), Some(model.clone()));
    }
    out
}

/// Functions of a file that create clients, add to arrays, load documents or send queries. `known` has the models of
/// all files.
pub fn functions(file: &str, text: &str, kind: FileKind, known: &Known) -> Known {
    let Some((source, language)) = parsed(text, kind) else { return Known::default() };
    let unit = lower::lower(&source, language);
    let mut out = Scanned::default();
    let mut scan = Scan {
        file,
        within: file,
        text,
        values: Values::new(&unit, known, false),
        places: Places::new(text),
        is_sample: false,
        seen_strings: BTreeSet::new(),
        declarations: OnceCell::new(),
        reading: OnceCell::new(),
        read_models: |_, _| Vec::new(),
        out: &mut out,
    };
    scan.clients();
    scan.updates();
    scan.loaded();
    let loaders = scan.loaders();
    let stem = super::values::stem(&format!("./{file}"));
    let askers = scan.askers(&stem);
    let appenders = out.code.appends.into_iter().filter(|append| append.cap == Cap::None);
    let mut found = Known {
        factories: out.factories.into_iter().map(|name| (stem.clone(), name)).collect(),
        appenders: appenders.filter_map(|append| append.place.function).collect(),
        askers,
        ..Known::default()
    };
    for (name, wrapper) in out.wrappers {
        unite(&mut found.wrappers, BTreeMap::from([(name, Some(wrapper))]));
    }
    for (name, collection) in loaders {
        unite(&mut found.loaders, BTreeMap::from([(name, Some(collection))]));
    }
    found
}

/// The declarations and functions of files in memory.
pub fn survey(files: &[(&str, FileKind, &str)]) -> Known {
    let mut known = Known::default();
    for (file, kind, text) in files {
        known.absorb(declarations(file, text, *kind));
    }
    let found = files.iter().map(|(file, kind, text)| functions(file, text, *kind, &known));
    for found in found.collect::<Vec<_>>() {
        known.absorb(found);
    }
    known
}

/// Source code that people wrote.
fn parsed(text: &str, kind: FileKind) -> Option<(Source<'_>, Language)> {
    let FileKind::Code(language) = kind else { return None };
    if text.len() > super::MAX_TEXT || super::file_role::is_generated(text, kind) {
        return None;
    }
    Some((Source::parse(&language.grammar(), text).ok()?, language))
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

/// Settings that default to a connection string for this machine, by their last name.
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

/// Models that a file exports: `exports.users = mongoose.model('users', schema)`, `module.exports = {users}`,
/// `export const User = mongoose.model('User', schema)`.
fn exported_models<'u, 't>(values: &Values<'u, 't>, stem: &str, out: &mut Known) {
    let mut note = |name: &str, value: &'u Expr<'t>, scope: ScopeId| {
        let (value, at) = values.follow(value, scope);
        if value.call().is_some_and(|call| call.method() == Some("model"))
            && let Some(target) = values.target(value, at)
        {
            out.exported.insert((stem.to_owned(), name.to_owned()), Some(target.collection));
        }
    };
    for statement in &values.unit.statements {
        let StatementKind::Assign { target, value, adds: false } = &statement.kind else {
            continue;
        };
        let Some(path) = target.path() else { continue };
        if let Kind::Object(entries) = &value.kind
            && matches!(path.as_str(), "module.exports" | "exports")
        {
            for entry in entries {
                entry.name().into_iter().for_each(|name| note(name, &entry.value, statement.scope));
            }
        }
        let name = path.strip_prefix("module.").unwrap_or(&path);
        let name = name.strip_prefix("exports.").unwrap_or(name);
        let is_of_module = matches!(values.unit.scopes[statement.scope].kind, ScopeKind::Module);
        if is_of_module && !name.contains('.') {
            note(name, value, statement.scope);
        }
    }
}

/// Classes of documents.
fn models(unit: &Unit<'_>, out: &mut Known) {
    for scope in &unit.scopes {
        let ScopeKind::Class { name, bases, marks } = &scope.kind else { continue };
        if (unit.language.dialect().is_document_class)(unit, bases, marks) {
            let collection = marks
                .iter()
                .find(|mark| mark.path.rsplit('.').next() == Some("Document"))
                .and_then(|mark| {
                    let named = mark.args.iter().find(|arg| arg.name == Some("collection"));
                    named.or_else(|| mark.args.first())
                })
                .and_then(|arg| arg.value.text().map(|text| text.into_owned()));
            out.models.insert((*name).to_owned(), collection.unwrap_or_default());
        }
    }
}
