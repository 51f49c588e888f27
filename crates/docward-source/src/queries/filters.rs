//! Fields that the filters of queries name.

use docward_model::code::FilterField;

use super::{super::Scan, Query, Reading};

/// Methods whose first argument, behind a context, is a filter.
const FILTERED: [&str; 9] = [
    "find",
    "Find",
    "findOne",
    "find_one",
    "FindOne",
    "countDocuments",
    "count_documents",
    "CountDocuments",
    "exists",
];

impl<'u, 't> Scan<'u, 't> {
    pub(super) fn filters(&self, reading: &Reading<'u, 't>) -> Vec<FilterField> {
        let position = self.values.unit.language.dialect().leading_arguments;
        let mut found = Vec::new();
        for &(scope, expr) in &reading.calls {
            let Some(call) = expr.call() else { continue };
            if !call.method().is_some_and(|method| FILTERED.contains(&method)) {
                continue;
            }
            let Some(Query { collection: Some(collection), is_proven: true, .. }) =
                self.query(expr, scope)
            else {
                continue;
            };
            let filter = call.positional(position).and_then(|arg| self.values.document(arg, scope));
            for field in filter.unwrap_or_default() {
                let Some(path) = field.name.filter(|name| !name.starts_with('$')) else { continue };
                let (place, collection) = (self.place(field.at, scope), collection.clone());
                found.push(FilterField { place, collection, path });
            }
        }
        found
    }
}
