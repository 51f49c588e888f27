//! PP-1, CP-4, PF-4, PF-5: `maxPoolSize` against the size that the service needs, or else against the usual range.

use docward_model::{Evidence, Level};

use crate::{
    Cx, declare_rule,
    facts::{deployment::clients::clients, text},
    threshold,
};

declare_rule! {
    /// # Pool size out of range
    ///
    /// ## What it checks
    /// Compares `maxPoolSize` with what the service needs:
    /// - With `peak-qps` and `latency-ms` declared under `[[service]]`, the pools need requests × seconds × 1.5
    ///   connections. Several routers and processes share this number. Docward reports fewer connections, and
    ///   more than 200 if fewer would do.
    /// - Without these figures, Docward reports sizes outside 50 to 200.
    /// - `maxPoolSize=0` means no limit and is reported in both cases.
    ///
    /// Local addresses, tools (`mongosh`, `mongodump`) and programs that run one query and end are not reported.
    ///
    /// ## When it is a note
    /// - A comment in the code explains the size, or a connection string that is applied later may change it.
    /// - No code of that language answers requests.
    /// - The pool is small and in a shell script, or another client in the same file has a larger pool.
    /// - The pool has ten or more connections, and processes live for a few calls only (Next.js, serverless
    ///   functions).
    /// - Under the profile `neutral`: source code sets a size other than 0, and the service is not declared.
    ///
    /// ## Why it matters
    /// If the pool is too small, requests wait in the application. If it is too large, the pools of all instances
    /// exceed the connection limit of the server.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?maxPoolSize=500
    /// ```
    /// ```jsonl,clean
    /// service {"name": "order", "peak-qps": 1000, "latency-ms": 20}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?maxPoolSize=30&appName=order
    /// uri mongodb://10.0.0.1,10.0.0.2/db_stock?maxPoolSize=150
    /// uri mongodb://localhost/?maxPoolSize=5
    /// ```
    ///
    /// ## How to fix
    /// Declare the service with `peak-qps` and `latency-ms`, and use the size that Docward calculates.
    ///
    /// ## When to ignore it
    /// Functions that handle one request at a time need very few connections each.
    C018, "pool-size-out-of-range",
    level: Recommended,
    area: Speed,
    severities: [Warn, Info],
    clauses: ["PP-1", "CP-4", "PF-4", "PF-5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [LEAST, MOST],
    data: ["needed", "option", "size"],
    check: Deployment(check),
}

threshold!(
    LEAST,
    "least",
    Int(50),
    "connections",
    "PP-1",
    "minimum size of a pool if nothing is declared"
);
threshold!(MOST, "most", Int(200), "connections", "PP-1", "maximum size of a pool");

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let settings = cx.settings();
    let (least, most) = (cx.count(&LEAST), cx.count(&MOST));
    for client in clients(evidence, settings) {
        let Some(size) = client.number("maxPoolSize").and_then(|n| u64::try_from(n).ok()) else {
            continue;
        };
        if client.is_local() {
            continue;
        }
        let needed = client.needed_pool(settings).map(u64::from);
        let (is, why, better) = match needed {
            _ if size == 0 => (
                "has no limit".to_owned(),
                "whenever the server slows down, the pool grows until it reaches the server's connection limit",
                needed.unwrap_or(most),
            ),
            Some(needed) if size < needed => (
                format!("is less than the {} that the declared requests need", text::count(needed)),
                "requests wait in the application for a connection",
                needed,
            ),
            None if size < least => (
                format!("is less than {least}"),
                "requests wait in the application for a connection when many arrive at once",
                least,
            ),
            // The needed pool size is right, even if it is large.
            _ if size > most && needed.is_none_or(|needed| size > needed) => (
                format!("is more than {most}"),
                "multiplied by all instances and servers, such pools exceed the server's connection limit",
                needed.unwrap_or(most),
            ),
            _ => continue,
        };
        // C017 reports a pool size that equals the number of requests per second.
        if client.service.and_then(|s| s.peak_qps).is_some_and(|qps| qps == size as f64 && size > 1)
        {
            continue;
        }
        let is_small = size > 0 && size < least && needed.is_none();
        let mut draft =
            client.option_draft("maxPoolSize", size, is, why, better).data("size", size);
        let is_small_by_intent = is_small
            && (client.is_in_shell_script()
                || client.has_larger_beside(evidence)
                || (size >= 10 && client.is_short_lived(evidence)));
        let is_chosen = size > 0 && client.is_usual_elsewhere(settings);
        if is_small_by_intent || is_chosen || client.may_be_meant("maxPoolSize", evidence) {
            draft = draft.level(Level::Information);
        }
        if let Some(needed) = needed {
            draft = draft.data("needed", needed);
        } else {
            let other = ", or declare peak-qps and latency-ms of the service, so that Docward calculates it";
            draft.todo.push_str(other);
            draft = draft.clauses(&["PP-1", "CP-4"]);
        }
        cx.report(draft);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with, count_on, of_service};

    fn count(size: u32) -> usize {
        count_on("C018", "", &format!("a,b/?maxPoolSize={size}"))
    }

    #[test]
    fn pp_1_cp_4_the_usual_range_is_50_to_200() {
        assert_eq!([49, 50, 150, 200, 201, 0].map(count), [1, 0, 0, 0, 1, 1]);
        assert_eq!(count_on("C018", "least=5", "a,b/?maxPoolSize=6"), 0);
    }

    #[test]
    fn pp_1_cp_4_tools_and_probes_have_no_pool() {
        use docward_model::Severity::{Info, Warn};
        let found = |file: &str, text: &str| {
            let found = check("C018", &format!("source {file}\n{text}"));
            found.into_iter().map(|finding| finding.severity).collect::<Vec<_>>()
        };
        let uri = "mongodb+srv://$U:$P@h.shop.io/x?maxPoolSize=5";
        for command in
            ["mongosh ", "mongodump --uri=", "docker exec a mongo \\\n  ", "x; /usr/bin/mongosh "]
        {
            let text = format!("{command}\"{uri}\" --eval 'db.dropDatabase()'\n");
            assert!(found("a.sh", &text).is_empty(), "{text}");
        }
        // A script may start any program; settings belong to a client.
        assert_eq!(found("a.sh", &format!("helm upgrade --set uri=\"{uri}\"\n")), [Info]);
        assert_eq!(found("a.sh", &format!("mongosh --version; run \"{uri}\"\n")), [Info]);
        assert_eq!(found("a.yaml", &format!("uri: {uri}\n")), [Warn]);
        let web = "import express from 'express';\n";
        let probe = "import {MongoClient} from 'mongodb';\nconst client = new MongoClient(process.env.URI, {maxPoolSize: 1});\ntry { await client.db('admin').command({ping: 1}); } catch (e) { process.exit(1); } finally { await client.close(); }";
        assert!(found("a.mjs", probe).is_empty());
        assert_eq!(found("a.mjs", &format!("{web}{probe}\napp.listen(80);")), [Warn]);
        assert_eq!(found("a.mjs", &format!("{web}{probe}\nexport default client;")), [Warn]);
        assert_eq!(found("a.mjs", &format!("{probe}\nexport default client;")), [Info]);
        let two = "const express = require('express');\nconst {MongoClient} = require('mongodb');\nconst a = new MongoClient(process.env.URI, {maxPoolSize: 100});\nconst indexes = new MongoClient(process.env.URI, {maxPoolSize: 5});";
        assert_eq!(found("a.js", two), [Info]);
        assert_eq!(found("a.js", &two.replace("100", "5")), [Warn, Warn], "two of a kind");
        assert_eq!(
            found(
                "a.js",
                &two.replace(
                    "const a = new MongoClient(process.env.URI, {maxPoolSize: 100});\n",
                    ""
                )
            ),
            [Warn]
        );
    }

    #[test]
    fn pp_1_sizes_that_are_meant_are_information() {
        use docward_model::Severity::{Info, Warn};
        let severity = |head: &str, options: &str| {
            let text = format!(
                "source a.js\n{head}\nconst {{MongoClient}} = require('mongodb');\nmodule.exports = new MongoClient(process.env.URI, {{\n{options}\n}});\n"
            );
            check("C018", &text)[0].severity
        };
        let web = "const express = require('express');";
        assert_eq!(severity(web, "  maxPoolSize: 10"), Warn);
        assert_eq!(severity("const next = require('next');", "  maxPoolSize: 10"), Info);
        assert_eq!(severity("const next = require('next');", "  maxPoolSize: 2"), Warn);
        assert_eq!(severity(web, "  // each of 40 workers has a pool\n  maxPoolSize: 10"), Info);
        assert_eq!(severity(web, "  // TODO\n  maxPoolSize: 10"), Warn);
        let text = format!(
            "source a.js\n{web}\nconst mongoose = require('mongoose');\nmongoose.connect('mongodb://10.0.0.5/a', {{maxPoolSize: 10}});\n"
        );
        let with = |settings: &str| check_with("C018", settings, &text)[0].severity;
        assert_eq!((with(""), with("profile=neutral")), (Warn, Info));
    }

    #[test]
    fn gc_09_pf_4_what_is_needed_goes_before_the_range() {
        let with = |qps: u32, size: u32| {
            let keys = format!(", \"peak-qps\": {qps}, \"latency-ms\": 20");
            check("C018", &of_service(&keys, &format!("maxPoolSize={size}")))
        };
        assert!(with(1000, 30).is_empty(), "below the range, and enough");
        assert!(with(1000, 29)[0].what.contains("less than the 30"));
        assert!(with(1000, 150).is_empty());
        assert_eq!(with(1000, 400).len(), 1);
        assert!(with(20_000, 600).is_empty(), "above the range, and needed");
    }

    #[test]
    fn pp_1_what_code_sets_is_told_as_code_writes_it() {
        let body = "source app.go\npackage a\nimport \"go.mongodb.org/mongo-driver/mongo\"\nfunc f(ctx context.Context) {\n  client, err := mongo.Connect(ctx, options.Client().ApplyURI(\"mongodb://10.0.0.1,10.0.0.2\").SetMaxPoolSize(5))\n}\n";
        let found = check("C018", body);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            found[0].what,
            "the client for `mongodb://10.0.0.1,10.0.0.2` sets maxPoolSize=5 (`SetMaxPoolSize`), which is less than 50"
        );
        let todo = &found[0].todo;
        assert!(todo.starts_with("set `SetMaxPoolSize` so that maxPoolSize is 50"), "{todo}");
        let plain = check("C018", "uri mongodb://db1,db2/?maxPoolSize=5");
        assert_eq!(
            plain[0].what,
            "the connection string `mongodb://db1,db2` sets maxPoolSize=5, which is less than 50"
        );
    }

    #[test]
    fn pf_5_pools_of_several_routers_share_the_demand() {
        let body = "service {\"name\": \"x\", \"peak-qps\": 1000, \"latency-ms\": 20}\nuri mongodb+srv://c.example.net/?appName=x&maxPoolSize=4";
        assert!(check_with("C018", "topology=sharded,routers=8", body).is_empty());
        assert_eq!(check_with("C018", "topology=sharded,routers=4", body).len(), 1);
    }
}
