//! PP-2: `minPoolSize`, and its relation to `maxPoolSize`.

use docward_model::{Evidence, Level};
use docward_uri::{PoolKind, defaults};

use crate::{
    Cx, declare_rule,
    facts::clients::{Correction, clients},
    threshold,
};

declare_rule! {
    /// # Minimum pool size out of range
    ///
    /// ## What it checks
    /// Judges `minPoolSize`: 5 to 20 is usual. Absent or 0 is reported where `maxPoolSize` was chosen; where
    /// it was not, C017 tells both. More than `maxPoolSize` is an error: drivers refuse it.
    ///
    /// ## Why it matters
    /// Without a minimum the first requests after a start or a quiet night each wait for a connection and a
    /// login. Too large a minimum, times all instances and servers, takes connections that nobody uses.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?maxPoolSize=100&minPoolSize=50
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?maxPoolSize=100&minPoolSize=10
    /// ```
    ///
    /// ## How to fix
    /// Write `minPoolSize=10`.
    ///
    /// ## When to ignore it
    /// Very many instances share a small limit.
    C019, "min-pool-size-out-of-range",
    level: Recommended,
    clauses: ["PP-2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [LEAST, MOST],
    check: Deployment(check),
}

threshold!(LEAST, "least", Int(5), "connections", "PP-2", "the least that a pool keeps open");
threshold!(MOST, "most", Int(20), "connections", "PP-2", "the most that a pool keeps open");

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let (least, most) = (cx.limit(&LEAST) as i64, cx.limit(&MOST) as i64);
    for client in clients(evidence, cx.settings()) {
        let owner = client.uri.owner();
        let size = client.number("maxPoolSize").filter(|size| *size > 0);
        let given = !client.lacks("minPoolSize");
        let Some(min) = client.number("minPoolSize") else {
            let has_pool =
                client.uri.driver.is_none_or(|driver| defaults(driver).pool == PoolKind::Shared);
            // A pool smaller than the usual minimum needs none.
            let is_small = size.is_some_and(|size| size <= least);
            if size.is_some() && !given && has_pool && !is_small && client.can_lack_options() {
                let value = size.map_or(10, |size| size.min(10));
                cx.report(
                    client
                        .draft(
                            client.place("maxPoolSize"),
                            format!("{owner} has maxPoolSize and no minPoolSize"),
                            "after a start or a quiet night the first requests each wait for a connection and a login",
                            format!("add minPoolSize={value}"),
                        )
                        .data("change", Correction::set("minPoolSize", value)),
                );
            }
            continue;
        };
        let value = size.map_or(10, |size| size.min(10));
        let place = client.place("minPoolSize");
        let change = Correction::set("minPoolSize", value);
        if let Some(size) = size.filter(|size| min > *size) {
            let draft = client.draft(
                place,
                format!("minPoolSize={min} of {owner} is more than maxPoolSize={size}"),
                "drivers refuse such a pool, or never fill it",
                format!("write minPoolSize={value}"),
            );
            cx.report(draft.level(Level::Mandatory).data("change", change));
        } else if min > most || (min < least && size.is_none_or(|size| size > least)) {
            if client.is_local() {
                continue;
            }
            let (than, why) = if min > most {
                (
                    format!("more than {most}"),
                    "times all instances and servers these connections are open and nobody uses them",
                )
            } else {
                (
                    format!("less than {least}"),
                    "after a start or a quiet night the first requests each wait for a connection and a login",
                )
            };
            let draft = client.draft(
                place,
                format!("minPoolSize={min} of {owner} is {than}"),
                why,
                format!("write minPoolSize={value}"),
            );
            cx.report(draft.data("change", change));
        }
    }
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{self, Error, Warn};

    use crate::testing::check;

    fn found(options: &str) -> Vec<Severity> {
        let body = format!("uri mongodb://a,b/?{options}");
        check("C019", &body).iter().map(|f| f.severity).collect()
    }

    #[test]
    fn pp_2_five_to_twenty() {
        assert_eq!(found("maxPoolSize=100"), [Warn]);
        assert_eq!(found("maxPoolSize=100&minPoolSize=0"), [Warn]);
        assert!(found("maxPoolSize=100&minPoolSize=10").is_empty());
        assert!(found("maxPoolSize=100&minPoolSize=20").is_empty());
        assert_eq!(found("maxPoolSize=100&minPoolSize=21"), [Warn]);
        assert_eq!(found("maxPoolSize=100&minPoolSize=4"), [Warn]);
        assert_eq!(found("maxPoolSize=10&minPoolSize=11"), [Error]);
        assert!(found("maxPoolSize=4&minPoolSize=4").is_empty());
        assert!(found("").is_empty(), "C017 tells both");
        assert!(check("C019", "template mongodb://a,b/?maxPoolSize=100&{}").is_empty());
    }
}
