//! LM-10: the server's own nesting limit, where every object and every array is a level.

use docward_model::{Collection, Draft, Severity, Subject};

use crate::facts::growth::patterns;
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Nesting near the server's limit
    ///
    /// ## What it checks
    /// Counts nesting levels as the server does: each object and each array is one. Reports documents with 80
    /// levels or more:
    /// - a warning below the limit of 100 levels
    /// - an error above it, and wherever D007 would report an error
    ///
    /// From 80 levels on, this rule replaces D007.
    ///
    /// ## Why it matters
    /// A write that exceeds the limit of 100 levels fails. Recursive structures, such as reply threads or parsed
    /// expressions, can reach it without anyone planning for it.
    ///
    /// ## Example
    /// ```jsonl,fires,warn-depth=3
    /// {"_id": 1, "reply": {"reply": {"reply": {"text": "deep"}}}}
    /// ```
    /// Store each node as a document with the id of its parent:
    /// ```jsonl,clean,warn-depth=3
    /// {"_id": 2, "parentId": 1, "text": "flat"}
    /// ```
    ///
    /// ## How to fix
    /// Store one document per node with the id of its parent, or the path from the root as an array.
    ///
    /// ## When to ignore it
    /// A format defines the depth, and it cannot increase.
    D012, "nesting-near-server-limit",
    level: Information,
    area: Growth,
    severities: [Error, Warn],
    clauses: ["LM-10", "DM-06.1", "CK-3"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [WARN, LIMIT],
    data: ["depth", "limit"],
    check: Collection(check),
}

threshold!(
    WARN,
    "warn-depth",
    Int(80),
    "levels as the server counts them",
    "our default",
    "minimum number of levels that Docward reports"
);
threshold!(
    LIMIT,
    "server-depth",
    Int(100),
    "levels as the server counts them",
    "LM-10: the server's limit",
    "maximum number of levels that the server accepts"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let depth = u64::from(profile.max_server_depth);
    let (warn, limit) = (cx.count(&WARN), cx.count(&LIMIT));
    if depth < warn {
        return;
    }
    let refused = depth > limit;
    // D007 does not report such collections, so this rule must not be milder.
    let failed = refused || super::d007_deep_nesting::fails(cx.settings(), collection, profile);
    cx.report(
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            if refused {
                format!("documents are nested {depth} levels deep, counting arrays as the server does; MongoDB supports {limit} levels")
            } else {
                format!("documents are nested {depth} levels deep, counting arrays as the server does: {} below MongoDB's limit of {limit}", limit - depth)
            },
            if refused {
                "MongoDB does not guarantee to store documents this deep: depending on version and client, a restore or an update may fail"
            } else {
                "a write that exceeds the limit fails, and recursive structures can exceed it at any time"
            },
            "store one document per node with the id of its parent, or with the path from the root as an array",
            profile.seen(),
        )
        .data("depth", depth)
        .data("limit", limit)
        .severity(if failed { Severity::Error } else { Severity::Warn }),
    );
}

#[cfg(test)]
mod tests {
    use docward_model::Severity;

    use crate::testing::check;

    /// A document whose deepest object is level `n`, the document itself being level 1.
    fn nested(n: usize) -> String {
        format!("{{\"_id\": 1, {}\"x\": 1{}}}", "\"a\": {".repeat(n - 1), "}".repeat(n - 1))
    }

    #[test]
    fn lm_10_geometries_near_the_limit_are_a_warning() {
        let deep = format!(
            "{{\"_id\": 1, \"area\": {{\"type\": \"Polygon\", \"coordinates\": {}1.5{}}}}}",
            "[".repeat(85),
            "]".repeat(85)
        );
        assert_eq!(check("D012", &deep)[0].severity, Severity::Warn);
    }

    #[test]
    fn lm_10_from_80_levels_on_it_is_as_hard_as_deep_nesting() {
        assert_eq!(check("D012", &nested(70)), []);
        assert_eq!(check("D007", &nested(70))[0].severity, Severity::Error);
        assert_eq!(check("D012", &nested(90))[0].severity, Severity::Error);
        assert_eq!(check("D007", &nested(90)), []);
        assert_eq!(check("D012", &nested(110))[0].severity, Severity::Error);
    }
}
