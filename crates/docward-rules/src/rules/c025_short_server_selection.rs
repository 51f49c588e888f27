//! SDK-ALL.1: a client of core business that times out before an election ends.

use docward_model::{Evidence, Level, ServiceClass};

use crate::{
    Cx, declare_rule,
    facts::{deployment::clients::clients, text},
    threshold,
};

declare_rule! {
    /// # Short server selection
    ///
    /// ## What it checks
    /// Reports, as a note, services declared as `core` whose `serverSelectionTimeoutMS` is below 15,000. Other
    /// services may use less; many samples use 5,000.
    ///
    /// ## Why it matters
    /// An election takes 10 to 12 seconds. A client that waits 5 seconds fails, although a later retry would have
    /// succeeded.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// service {"name": "order", "class": "core"}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?appName=order&serverSelectionTimeoutMS=5000
    /// ```
    /// ```jsonl,clean
    /// service {"name": "order", "class": "core"}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?appName=order&serverSelectionTimeoutMS=30000
    /// ```
    ///
    /// ## How to fix
    /// Leave the option out (the default is 30 seconds), or set 15,000 or more.
    ///
    /// ## When to ignore it
    /// A user waits for the answer and prefers a quick error.
    C025, "short-server-selection",
    level: Information,
    area: Writes,
    clauses: ["SDK-ALL.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [LEAST],
    data: ["ms"],
    check: Deployment(check),
}

threshold!(
    LEAST,
    "least",
    Int(15_000),
    "ms",
    "GC-29: an election takes 10 to 12 seconds",
    "minimum serverSelectionTimeoutMS of a core service"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let least = cx.count(&LEAST);
    for client in clients(evidence, cx.settings()) {
        let is_core = client.class() == Some(ServiceClass::Core);
        let value = client.number("serverSelectionTimeoutMS").and_then(|n| u64::try_from(n).ok());
        let Some(value) = value.filter(|value| is_core && *value < least) else { continue };
        let draft = client.draft(
            client.place("serverSelectionTimeoutMS"),
            format!(
                "{}, a core service, waits at most at most {} ms for a server",
                client.uri.owner(),
                text::count(value)
            ),
            "an election takes 10 to 12 seconds, so the retry fails before a new primary is available",
            format!("set serverSelectionTimeoutMS={least} or more, or remove the option"),
        );
        cx.report(draft.level(Level::Information).data("ms", value));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, of_service};

    #[test]
    fn gc_29_sdk_all_1_core_services_wait_for_elections() {
        let found = |class: &str, ms: u32| {
            let class = format!(", \"class\": \"{class}\"");
            check("C025", &of_service(&class, &format!("serverSelectionTimeoutMS={ms}"))).len()
        };
        assert_eq!(found("core", 5_000), 1);
        assert_eq!(found("core", 15_000), 0);
        assert_eq!(found("general", 5_000), 0);
    }
}
