//! What other files need to know of a file: constants, models, functions that make clients.

use docward_model::Purpose;

use super::{
    FileKind, Known,
    ir::{Expr, Kind, ScopeKind, StatementKind, Unit},
    lower,
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
    models(&unit, &mut out);
    (language.dialect().survey)(&values, text, &mut out);
    if let (1, Some(model)) = (out.models.len(), out.models.keys().next()) {
        out.model_files.insert(stem.clone(), Some(model.clone()));
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
