//! Fields that the filters of queries name.

use docward_model::code::FilterField;

use super::{
    super::{Scan, methods::takes_filter},
    Query, Reading,
};

impl<'u, 't> Scan<'u, 't> {
    pub(super) fn filters(&self, reading: &Reading<'u, 't>) -> Vec<FilterField> {
        let position = self.values.unit.language.dialect().leading_arguments;
        let mut found = Vec::new();
        for &(scope, expr) in &reading.calls {
            let Some(call) = expr.call() else { continue };
            if !call.method().is_some_and(takes_filter) {
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
