//! Determines which collections are core business.

use docward_model::{Collection, CollectionKind, CoreSource, Settings};

/// Whether a collection is core business: declared, or else inferred. Inferred means an ordinary
/// collection with documents, other than logs, caches, sessions, a program's settings and the like.
pub fn is_core(settings: &Settings, collection: &Collection) -> bool {
    match &settings.core {
        CoreSource::Declared(patterns) => {
            let name = collection.namespace.to_string();
            patterns.iter().any(|p| p.matches(&name))
        }
        CoreSource::Inferred => {
            let is_read = collection.profile.as_ref().is_some_and(|p| p.documents > 0);
            let is_counted = collection.counted.as_ref().is_some_and(|c| c.documents > 0);
            collection.kind == CollectionKind::Plain
                && (is_read || is_counted)
                && !crate::facts::names::meaning::is_auxiliary_name(
                    &collection.namespace.collection,
                )
                && !holds_settings(collection)
        }
    }
}

/// Settings beyond this number belong to users or devices, not to the program.
const SETTINGS: u64 = 1000;

fn holds_settings(collection: &Collection) -> bool {
    let read = collection.profile.as_ref().map_or(0, |p| p.total.max(p.documents));
    let documents = collection.counted.as_ref().map_or(read, |c| c.documents);
    documents < SETTINGS
        && crate::facts::names::meaning::is_settings_name(&collection.namespace.collection)
}
