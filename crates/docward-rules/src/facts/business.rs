//! Which collections are core business.

use docward_model::{Collection, CollectionKind, CoreSource, Settings};

/// Whether a collection is core business: declared, or else inferred. Inferred means an ordinary
/// collection with documents, other than logs, caches, sessions and the like.
pub fn is_core(settings: &Settings, collection: &Collection) -> bool {
    match &settings.core {
        CoreSource::Declared(patterns) => {
            let name = collection.namespace.to_string();
            patterns.iter().any(|p| p.matches(&name))
        }
        CoreSource::Inferred => {
            collection.kind == CollectionKind::Plain
                && collection.profile.as_ref().is_some_and(|p| p.documents > 0)
                && !super::is_auxiliary_name(&collection.namespace.collection)
        }
    }
}
