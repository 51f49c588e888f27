//! PP-2: `minPoolSize`, and its relation to `maxPoolSize`.

use docward_model::{Evidence, Level, UriChange};
use docward_uri::{PoolKind, defaults};

use crate::{Cx, declare_rule, facts::deployment::clients::clients, threshold};

declare_rule! {
    /// # Minimum pool size out of range
    ///
    /// ## What it checks
    /// Checks `minPoolSize`. Between 5 and 20 connections are usual.
    /// - A value above `maxPoolSize` is an error: drivers refuse it or never fill the pool.
    /// - A value above 20 is a warning.
    /// - A value below 5 is a warning, unless `maxPoolSize` is 5 or less.
    /// - No value is a warning when `maxPoolSize` is above 5. If `maxPoolSize` is absent as well, C017 reports
    ///   both.
    ///
    /// Apart from the error, local addresses are not reported.
    ///
    /// ## When it is a note
    /// The warnings become notes in these cases:
    /// - The value is in a shell script, or a comment explains it.
    /// - No code of that language answers requests.
    /// - A connection string that is applied later may change the value.
    /// - Code writes 0, the driver's own default.
    /// - Under the profile `neutral`: the client belongs to no declared service.
    ///
    /// ## Why it matters
    /// Without a minimum, the first requests after a start or an idle night each wait for a connection and a
    /// login. Too large a minimum keeps idle connections open on every server, for every instance.
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
    /// Very many instances share a small connection limit.
    C019, "min-pool-size-out-of-range",
    level: Recommended,
    area: Speed,
    severities: [Error, Warn, Info],
    clauses: ["PP-2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [LEAST, MOST],
    data: ["option"],
    check: Deployment(check),
}

threshold!(
    LEAST,
    "least",
    Int(5),
    "connections",
    "PP-2",
    "minimum number of connections that a pool keeps open"
);
threshold!(
    MOST,
    "most",
    Int(20),
    "connections",
    "PP-2",
    "maximum number of connections that a pool keeps open"
);

const COLD_START: &str = "after a start or an idle period, each of the first requests waits for a new connection and a login";

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let (least, most) = (cx.limit(&LEAST) as i64, cx.limit(&MOST) as i64);
    for client in clients(evidence, cx.settings()) {
        let size = client.number("maxPoolSize").filter(|size| *size > 0);
        let given = !client.lacks("minPoolSize");
        let value = size.map_or(10, |size| size.min(10));
        let Some(min) = client.number("minPoolSize") else {
            let has_pool =
                client.uri.driver.is_none_or(|driver| defaults(driver).pool == PoolKind::Shared);
            // A pool smaller than the usual minimum needs none.
            let is_small = size.is_some_and(|size| size <= least);
            if size.is_some() && !given && has_pool && !is_small && client.can_lack_options() {
                let draft = client
                    .draft(
                        client.place("maxPoolSize"),
                        format!("{} sets maxPoolSize but not minPoolSize", client.uri.owner()),
                        COLD_START,
                        format!("add minPoolSize={value}"),
                    )
                    .uri([UriChange::set("minPoolSize", value)]);
                let is_meant = client.may_be_meant("maxPoolSize", evidence)
                    || client.is_usual_elsewhere(cx.settings());
                cx.report(if is_meant { draft.level(Level::Information) } else { draft });
            }
            continue;
        };
        let (is, why, level) = if let Some(size) = size.filter(|size| min > *size) {
            let is = format!("is more than maxPoolSize={size}");
            (is, "drivers reject such a pool, or never fill it", Level::Mandatory)
        } else if client.is_local() {
            continue;
        } else if min > most {
            let why = "multiplied by all instances and servers, these connections stay open unused";
            (format!("is more than {most}"), why, Level::Recommended)
        } else if min < least && size.is_none_or(|size| size > least) {
            (format!("is less than {least}"), COLD_START, Level::Recommended)
        } else {
            continue;
        };
        let is_default = min == 0 && client.uri.is_made_in_code();
        let is_meant = is_default
            || client.is_in_shell_script()
            || client.is_usual_elsewhere(cx.settings())
            || client.may_be_meant("minPoolSize", evidence);
        let level = match level {
            Level::Recommended if is_meant => Level::Information,
            level => level,
        };
        cx.report(client.option_draft("minPoolSize", min, is, why, value).level(level));
    }
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{self, Error, Info, Warn};

    use crate::testing::{check, severities};

    fn found(options: &str) -> Vec<Severity> {
        let body = format!("uri mongodb://a,b/?{options}");
        severities("C019", "", &body)
    }

    #[test]
    fn pp_2_what_code_says_is_usual_elsewhere() {
        let code = "source a.js\nconst app = require('express')();\nmongoose.connect('mongodb://a.shop.io,b.shop.io/x', {maxPoolSize: 60, minPoolSize: 2});\napp.get('/', (q, r) => r.end());\n";
        assert_eq!(severities("C019", "", code), [Warn]);
        assert_eq!(severities("C019", "profile=neutral", code), [Info]);
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
        let script = "source a.sh\nhelm upgrade --set uri=mongodb+srv://$U:$P@h.shop.io/x?minPoolSize=1&maxPoolSize=60\n";
        assert_eq!(severities("C019", "", script), [Info]);
        assert!(severities("C019", "", &script.replace("helm", "mongosh")).is_empty());
        let java = |pool: &str, more: &str| {
            let text = format!(
                "source A.java\nimport org.springframework.web.bind.annotation.RestController;\nimport com.mongodb.client.MongoClients;\nclass A {{ Object c(ConnectionString uri) {{ return MongoClients.create(MongoClientSettings.builder(){more}.applyToConnectionPoolSettings(b -> b.maxSize(100).minSize({pool})).build()); }} }}\n"
            );
            severities("C019", "", &text)
        };
        assert_eq!(java("2", ".applyConnectionString(uri)"), [Warn]);
        assert_eq!(java("0", ".applyConnectionString(uri)"), [Info], "the default, written out");
        let later = "source A.java\nimport org.springframework.web.bind.annotation.RestController;\nimport com.mongodb.client.MongoClients;\nclass A { Object c(ConnectionString uri) { return MongoClients.create(MongoClientSettings.builder().applyToConnectionPoolSettings(b -> b.maxSize(100).minSize(2)).applyConnectionString(uri).build()); } }\n";
        assert_eq!(severities("C019", "", later), [Info], "the string may say otherwise");
    }
}
