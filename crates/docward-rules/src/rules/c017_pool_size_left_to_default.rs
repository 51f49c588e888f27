//! CN-03.2, CP-4, PP-2: pools with the driver's default size, or as large as the request rate.

use docward_model::{Evidence, Level, UriChange, client_uri::Driver};
use docward_uri::{PoolKind, defaults};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::clients::{Client, clients},
        text,
    },
};

declare_rule! {
    /// # Pool size left to the default
    ///
    /// ## What it checks
    /// Reports clients without `maxPoolSize`, with the number that the driver then uses: 100 in most drivers, 10
    /// in Rust, 20 in Ruby. Also reports a `maxPoolSize` that equals the declared number of requests per second:
    /// these are different quantities.
    ///
    /// The finding is a note in two cases:
    /// - source code creates the client, and no code of that language answers requests
    /// - the profile is `neutral`, and the client's code belongs to no declared service
    ///
    /// ## Exceptions
    /// Not reported:
    /// - local addresses
    /// - strings whose hosts or options source code computes; a computed login does not matter
    /// - programs that do one task and end, and test runs (`.github/workflows`)
    /// - services with a declared `pool`
    /// - the PHP driver, which has no pool
    ///
    /// ## Why it matters
    /// The sum of all pools must fit the connection limit. Without a chosen size the sum is unknown. Most
    /// overruns come from default sizes multiplied by many instances.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?replicaSet=cmgo-abc
    /// ```
    /// ```jsonl,fires
    /// service {"name": "order", "peak-qps": 180}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?appName=order&maxPoolSize=180
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?replicaSet=cmgo-abc&maxPoolSize=100&minPoolSize=10
    /// uri mongodb://localhost
    /// ```
    ///
    /// ## How to fix
    /// Choose the size: peak requests per second × seconds per request × 1.5. Check the sum of all instances with
    /// `docward connect plan`.
    ///
    /// ## When to ignore it
    /// A script that runs rarely, and one instance at a time.
    C017, "pool-size-left-to-default",
    level: Recommended,
    area: Speed,
    severities: [Warn, Info],
    clauses: ["CN-03.2", "CP-4", "PP-2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: ["default"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let settings = cx.settings();
    for client in clients(evidence, settings) {
        let driver = client.uri.driver;
        let known = driver.map(defaults);
        if known.is_some_and(|known| known.pool == PoolKind::OnePerProcess) {
            continue;
        }
        if client.uri.option("maxPoolSize").is_some() {
            rate_as_size(&client, cx);
            continue;
        }
        let is_declared = client.service.is_some_and(|service| service.pool.is_some());
        if !client.can_lack_options() || is_declared || !client.lacks("maxPoolSize") {
            continue;
        }
        let default = known.map_or(100, |known| known.max_pool_size);
        let whose = driver.map_or("most drivers", Driver::name);
        let needed = client.needed_pool(settings);
        let size = needed.unwrap_or_else(|| default.clamp(50, 200));
        let has_min = !client.lacks("minPoolSize");
        let mut change = vec![UriChange::set("maxPoolSize", size)];
        let mut sizes = format!("maxPoolSize={size}");
        if !has_min {
            let min = 10.min(size);
            change.push(UriChange::set("minPoolSize", min));
            sizes.push_str(&format!(" and minPoolSize={min}"));
        }
        let todo = match needed {
            Some(_) => format!("set {sizes}, which follows from the declared requests and latency"),
            None => format!(
                "set {sizes} for now; calculate maxPoolSize as requests per second × seconds per request × 1.5"
            ),
        };
        let draft = client
            .draft(
                client.start(),
                format!(
                    "{} does not set maxPoolSize; the driver's default is {default} ({whose})",
                    client.uri.owner()
                ),
                "the sum of all pools must stay below the connection limit, and the default does not consider this limit",
                todo,
            )
            .data("default", u64::from(default))
            .uri(change);
        let draft = match client.serves_nobody(evidence) || client.is_usual_elsewhere(settings) {
            true => draft.level(Level::Information),
            false => draft,
        };
        // Without `minPoolSize`, the pool starts empty (PP-2). One finding covers both defaults.
        cx.report(if has_min { draft.clauses(&["CN-03.2", "CP-4"]) } else { draft });
    }
}

/// Reports a pool with as many connections as there are requests in a second.
fn rate_as_size(client: &Client<'_>, cx: &mut Cx<'_>) {
    let (Some(size), Some(service)) = (client.number("maxPoolSize"), client.service) else {
        return;
    };
    let needed = client.needed_pool(cx.settings());
    let is_rate = service.peak_qps.is_some_and(|qps| qps == size as f64);
    if !is_rate || size < 2 || needed.is_some_and(|needed| i64::from(needed) == size) {
        return;
    }
    let todo = match needed {
        Some(needed) => format!("set maxPoolSize={needed} (requests per second × seconds per request × 1.5)"),
        None => {
            "declare latency-ms of the service; then maxPoolSize is requests per second × seconds per request × 1.5"
                .to_owned()
        }
    };
    let draft = client
        .draft(
            client.place("maxPoolSize"),
            format!(
                "maxPoolSize={} of {} equals the number of requests per second",
                text::count(size as u64),
                client.uri.owner()
            ),
            "a connection serves many requests per second, so this pool reserves connections that it never uses",
            todo,
        )
        .clauses(&["CN-03.2"]);
    cx.report(match needed {
        Some(needed) => draft.uri([UriChange::set("maxPoolSize", needed)]),
        None => draft,
    });
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, of_service};

    #[test]
    fn cn_03_2_cp_4_gc_39_a_missing_size_is_told_with_the_drivers_default() {
        let found = check("C017", "uri mongodb://a,b/?replicaSet=x");
        assert!(found[0].what.contains("default is 100"), "{}", found[0].what);
        assert!(found[0].cites("PP-2"));
        assert!(!check("C017", "uri mongodb://a,b/?minPoolSize=5")[0].cites("PP-2"));
        assert!(check("C017", "uri mongodb://a,b/?maxPoolSize=100").is_empty());
        for body in [
            "uri mongodb://localhost",
            "uri mongodb://a,b/?maxPolSize=20",
            "template mongodb://a,b/{}",
            "source mongodb://a,b",
            "service {\"name\": \"x\", \"pool\": 50}\nuri mongodb://a,b/?appName=x",
        ] {
            assert!(check("C017", body).is_empty(), "{body}");
        }
    }

    #[test]
    fn cn_03_2_cp_4_programs_that_end_and_runs_of_tests_have_no_pool_to_choose() {
        let connect = "const mongoose = require('mongoose');\nmongoose.connect('mongodb+srv://c.shop.io/shop');\n";
        let script = |rest: &str| check("C017", &format!("source check.js\n{connect}{rest}")).len();
        assert_eq!(script("run().then(() => process.exit(0));"), 0);
        assert_eq!(script("run().then(() => mongoose.connection.close());"), 0);
        assert_eq!(
            script(
                "const app = require('express')();\napp.listen(80);\nprocess.on('x', () => process.exit(1));"
            ),
            1
        );
        assert_eq!(script("bot.login(process.env.TOKEN).catch(() => process.exit(1));"), 1);
        assert_eq!(script("module.exports = {stop: () => mongoose.connection.close()};"), 1);
        let uri = "MONGO_URL: mongodb://db1.shop.io,db2.shop.io/x?replicaSet=rs0\n";
        assert_eq!(
            check("C017", &format!("source deploy/app.yml\n{uri}")).len(),
            0,
            "not all is in sight"
        );
        let odd = uri.replace("rs0", "rs0&connectTimeoutMS=300000");
        assert_eq!(check("C020", &format!("source deploy/app.yml\n{odd}")).len(), 1);
        for ci in
            [".circleci/config.yml", ".github/workflows/test.yml", ".gitlab-ci.yml", "Jenkinsfile"]
        {
            assert!(check("C020", &format!("source {ci}\n{odd}")).is_empty(), "{ci}");
        }
        let remark = format!("source values.yaml\nuri: \"FILL_ME\" # {odd}");
        assert!(check("C020", &remark).is_empty());
    }

    #[test]
    fn cn_03_2_cp_4_daemons_and_addresses_that_are_made_up() {
        use docward_model::Severity::{Info, Warn};
        let found = |files: &str| {
            check("C017", files).into_iter().map(|finding| finding.severity).collect::<Vec<_>>()
        };
        let python =
            "from pymongo import MongoClient\nclient = MongoClient(\"mongodb://10.0.0.7\")\n";
        let daemon = format!(
            "source sync.py\n{python}def run():\n    while True:\n        client.a.b.insert_one({{}})\n"
        );
        assert_eq!(found(&daemon), [Info]);
        let web = "source web.py\nimport pymongo\nfrom flask import Flask\napp = Flask(__name__)\n";
        assert_eq!(found(&format!("{daemon}{web}")), [Warn]);
        let node = "source web.js\nconst {ObjectId} = require('mongodb');\nconst app = require('express')();\n";
        assert_eq!(found(&format!("{daemon}{node}")), [Info], "another program");
        let client = "source db.js\nconst {MongoClient} = require('mongodb');\nmodule.exports = new MongoClient('mongodb+srv://c.shop.io/shop');\n";
        assert_eq!(found(client), [Info]);
        let libraries = "source package.json\n{\"dependencies\": {\"express\": \"^4.18.2\", \"mongodb\": \"^6.0.0\"}}\n";
        assert_eq!(found(&format!("{client}{libraries}")), [Warn]);
        let export = format!(
            "source export.py\n{python}for user in client.a.users.find():\n    print(user[\"name\"])\n"
        );
        assert!(found(&export).is_empty(), "it ends");
        let made_up = format!(
            "{web}source settings.py\nMONGO = {{}}\nSERVER = \"web1\"\nsource metrics.py\nimport pymongo\nimport settings\nclient = pymongo.MongoClient(f\"mongodb://{{settings.MONGO['user']}}:{{settings.MONGO['key']}}@{{settings.SERVER}}.node.consul/?authSource=admin\")\n"
        );
        assert!(found(&made_up).is_empty(), "the host is one of several");
        let run = "source fix.mjs\nimport mongoose from 'mongoose';\nconst text = `\nexport const a = 1;\n`;\nasync function fix() { await mongoose.connect('mongodb+srv://c.shop.io/shop'); }\nfix().then(() => {\n  process.exit(0);\n}).catch(() => process.exit(1));\n";
        assert!(found(run).is_empty());
        assert_eq!(found(&run.replace("process.exit(0)", "listen()")).len(), 1, "it goes on");
    }

    #[test]
    fn cn_03_2_requests_per_second_are_no_connections() {
        let with = |more: &str, size: u32| {
            let keys = format!(", \"peak-qps\": 1000{more}");
            check("C017", &of_service(&keys, &format!("maxPoolSize={size}")))
        };
        assert_eq!(with("", 1000).len(), 1);
        assert!(with(", \"latency-ms\": 20", 1000)[0].todo.starts_with("set maxPoolSize=30"));
        assert!(with("", 100).is_empty());
    }
}
