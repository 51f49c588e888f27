//! Methods that are chained to a query: `find(filter).sort(order).limit(5)`, also through a variable that holds it.

use std::collections::BTreeMap;

use super::{
    super::{
        Scan,
        ir::{Call, Expr, Kind, ScopeId},
    },
    Reading, chain_base,
};

/// The byte range of the callee of a call.
type Span = (usize, usize);

/// The calls that are chained to each call, with their scopes.
pub(super) struct Chains<'u, 't>(BTreeMap<Span, Vec<(ScopeId, &'u Call<'t>)>>);

impl<'u, 't> Chains<'u, 't> {
    /// The calls that are chained to a call.
    pub(super) fn of(&self, call: &Call<'t>) -> &[(ScopeId, &'u Call<'t>)] {
        self.0.get(&(call.callee.at, call.callee.end)).map_or(&[], Vec::as_slice)
    }

    /// Whether one of these methods is chained to a call.
    pub(super) fn has(&self, call: &Call<'t>, methods: &[&str]) -> bool {
        self.of(call).iter().filter_map(|(_, call)| call.method()).any(|m| methods.contains(&m))
    }
}

impl<'u, 't> Scan<'u, 't> {
    pub(super) fn chains(&self, reading: &Reading<'u, 't>) -> Chains<'u, 't> {
        let mut found: BTreeMap<Span, Vec<(ScopeId, &'u Call<'t>)>> = BTreeMap::new();
        for (scope, expr) in &reading.calls {
            let Some(call) = expr.call() else { continue };
            let Some(of) = call.receiver() else { continue };
            let mut before = Vec::new();
            links(of, &mut before);
            // `query.limit(5)` with a query that was begun before.
            if let Kind::Name(name) = chain_base(of).kind {
                for (at, value) in self.values.given(name, *scope) {
                    if self.outer_function(at) == self.outer_function(*scope) {
                        links(value, &mut before);
                    }
                }
            }
            for link in before {
                let span = (link.callee.at, link.callee.end);
                found.entry(span).or_default().push((*scope, call));
            }
        }
        Chains(found)
    }
}

/// The calls of a chain, the last one first.
fn links<'u, 't>(expr: &'u Expr<'t>, out: &mut Vec<&'u Call<'t>>) {
    match &expr.kind {
        Kind::Call(call) => {
            out.push(call);
            call.receiver().into_iter().for_each(|of| links(of, out));
        }
        Kind::Member(of, _) => links(of, out),
        _ => {}
    }
}
