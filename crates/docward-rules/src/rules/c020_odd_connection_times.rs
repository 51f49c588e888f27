//! PP-3, PP-4, PP-5: pool times outside of the working range.

use docward_model::{Evidence, Level, client_uri::Driver};
use docward_uri::defaults;

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::clients::{Client, clients},
        text,
    },
    threshold,
};

declare_rule! {
    /// # Odd connection times
    ///
    /// ## What it checks
    /// Checks times that a connection string or code sets, in milliseconds:
    /// - `maxIdleTimeMS` outside 60,000 to 300,000
    /// - `waitQueueTimeoutMS` outside 5,000 to 10,000
    /// - `connectTimeoutMS` outside 10,000 to 30,000
    ///
    /// Options that are not set are not reported, nor are local addresses.
    ///
    /// ## When it is a note
    /// - `waitQueueTimeoutMS` is set for a driver without this option (Go, Rust).
    /// - The value is 0, and the driver's default has no limit either.
    /// - `maxIdleTimeMS` is set in a shell script.
    /// - A comment explains the time.
    /// - No code of that language answers requests.
    /// - Under the profile `neutral`: source code sets the time, and the service is not declared.
    ///
    /// ## Why it matters
    /// Connections that are closed too early are opened again all the time, each with a login. A short wait time
    /// refuses requests that could have been served; a long one lets them pile up. With a short connection
    /// time-out, every brief network delay fails a connection.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?maxIdleTimeMS=5000
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?maxIdleTimeMS=120000&waitQueueTimeoutMS=5000&connectTimeoutMS=10000
    /// ```
    ///
    /// ## How to fix
    /// Set `maxIdleTimeMS=120000`, `waitQueueTimeoutMS=5000` and `connectTimeoutMS=10000`.
    ///
    /// ## When to ignore it
    /// A health check has to give up quickly.
    C020, "odd-connection-times",
    level: Recommended,
    area: Speed,
    severities: [Warn, Info],
    clauses: ["PP-3", "PP-4", "PP-5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [IDLE_LEAST, IDLE_MOST, WAIT_LEAST, WAIT_MOST, CONNECT_LEAST, CONNECT_MOST],
    data: ["ms", "option"],
    check: Deployment(check),
}

threshold!(IDLE_LEAST, "idle-least", Int(60_000), "ms", "PP-3", "minimum maxIdleTimeMS");
threshold!(IDLE_MOST, "idle-most", Int(300_000), "ms", "PP-3", "maximum maxIdleTimeMS");
threshold!(WAIT_LEAST, "wait-least", Int(5_000), "ms", "PP-4", "minimum waitQueueTimeoutMS");
threshold!(WAIT_MOST, "wait-most", Int(10_000), "ms", "PP-4", "maximum waitQueueTimeoutMS");
threshold!(CONNECT_LEAST, "connect-least", Int(10_000), "ms", "PP-5", "minimum connectTimeoutMS");
threshold!(CONNECT_MOST, "connect-most", Int(30_000), "ms", "PP-5", "maximum connectTimeoutMS");

/// One of the times.
struct Time {
    option: &'static str,
    clauses: &'static [&'static str],
    least: u64,
    most: u64,
    usual: u64,
    too_short: &'static str,
    too_long: &'static str,
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let times = [
        Time {
            option: "maxIdleTimeMS",
            clauses: &["PP-3"],
            least: cx.count(&IDLE_LEAST),
            most: cx.count(&IDLE_MOST),
            usual: 120_000,
            too_short: "the driver constantly closes and reopens connections, each with a login",
            too_long: "the pool keeps connections that firewalls and load balancers have already dropped",
        },
        Time {
            option: "waitQueueTimeoutMS",
            clauses: &["PP-4"],
            least: cx.count(&WAIT_LEAST),
            most: cx.count(&WAIT_MOST),
            usual: 5_000,
            too_short: "requests fail that would have succeeded a moment later",
            too_long: "requests pile up behind a slow server instead of failing early",
        },
        Time {
            option: "connectTimeoutMS",
            clauses: &["PP-5"],
            least: cx.count(&CONNECT_LEAST),
            most: cx.count(&CONNECT_MOST),
            usual: 10_000,
            too_short: "a short network delay makes connections fail",
            too_long: "the client detects a failed server late",
        },
    ];
    for client in clients(evidence, cx.settings()).iter().filter(|client| !client.is_local()) {
        for time in &times {
            judge(client, time, evidence, cx);
        }
    }
}

fn judge(client: &Client<'_>, time: &Time, evidence: &Evidence, cx: &mut Cx<'_>) {
    let option = time.option;
    let Some(value) = client.number(option).and_then(|n| u64::try_from(n).ok()) else { return };
    let owner = client.uri.owner();
    let key = format!("{} {option}", client.uri.key());
    let lacks = |driver: Driver| !defaults(driver).has_wait_queue_timeout;
    if option == "waitQueueTimeoutMS"
        && let Some(driver) = client.uri.driver.filter(|driver| lacks(*driver))
    {
        let draft = client.draft(
            client.place(option),
            format!(
                "{owner} sets waitQueueTimeoutMS, which the {} driver does not support",
                driver.name()
            ),
            "the option has no effect: a request waits for a connection until its own timeout",
            "set a deadline for the operation, or timeoutMS on the client",
        );
        cx.report(draft.level(Level::Information).clauses(time.clauses).key(key));
        return;
    }
    let (than, why) = if value == 0 {
        ("means no limit".to_owned(), time.too_long)
    } else if value < time.least {
        (format!("is less than {}", text::count(time.least)), time.too_short)
    } else if value > time.most {
        (format!("is more than {}", text::count(time.most)), time.too_long)
    } else {
        return;
    };
    let draft = client.option_draft(option, value, than, why, time.usual);
    let draft = draft.clauses(time.clauses).data("ms", value).key(key);
    // 0 changes nothing if the driver's default is already unlimited.
    let unlimited = match option {
        "maxIdleTimeMS" => true,
        "waitQueueTimeoutMS" => client.uri.driver.is_some_and(|d| defaults(d).waits_without_end),
        _ => false,
    };
    let is_default = unlimited && value == 0;
    let may_be_meant = (option == "maxIdleTimeMS" && client.is_in_shell_script())
        || (value > 0 && client.is_usual_elsewhere(cx.settings()))
        || client.may_be_meant(option, evidence);
    cx.report(match is_default || may_be_meant {
        true => draft.level(Level::Information),
        false => draft,
    });
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{Info, Warn};

    use crate::testing::{count_on, severities};

    fn count(options: &str) -> usize {
        count_on("C020", "", &format!("a,b/?{options}"))
    }

    #[test]
    fn pp_3_idle_connections_live_one_to_five_minutes() {
        for (value, expected) in
            [(59_999, 1), (60_000, 0), (120_000, 0), (300_000, 0), (300_001, 1), (0, 1)]
        {
            assert_eq!(count(&format!("maxIdleTimeMS={value}")), expected, "{value}");
        }
        assert_eq!(count(""), 0, "what is left out is not judged");
        let severity =
            |ms: u32| severities("C020", "", &format!("uri mongodb://a,b/?maxIdleTimeMS={ms}"));
        assert_eq!(severity(0), [Info], "the default, written out");
        assert_eq!(severity(1000), [Warn]);
        let script = "source a.sh\nhelm upgrade --set uri=mongodb+srv://$U:$P@h.shop.io/x?maxIdleTimeMS=900000\n";
        assert_eq!(severities("C020", "", script), [Info]);
        assert!(severities("C020", "", &script.replace("helm", "mongosh")).is_empty());
        let two = "source a.py\nfrom flask import Flask\nfrom pymongo import MongoClient\na = MongoClient(uri, maxIdleTimeMS=30000)\nb = MongoClient(uri, maxIdleTimeMS=30000)\n";
        assert_eq!(severities("C020", "", two), [Warn, Warn]);
        assert_eq!(
            severities("C020", "", &two.replace("from flask import Flask\n", "")),
            [Info, Info]
        );
        let said = two.replace("\na = ", "\n# figures are no use when slow: fail fast\na = ");
        assert_eq!(severities("C020", "", &said), [Info, Info]);
    }

    #[test]
    fn pp_4_requests_wait_five_to_ten_seconds() {
        for (value, expected) in [(4_999, 1), (5_000, 0), (10_000, 0), (10_001, 1)] {
            assert_eq!(count(&format!("waitQueueTimeoutMS={value}")), expected, "{value}");
        }
        // By default, Node's driver waits without limit and Java's waits two minutes.
        let node = "source a.js\nconst {MongoClient} = require('mongodb');\nconst c = new MongoClient(process.env.URI, {waitQueueTimeoutMS: 0});\n";
        assert_eq!(severities("C020", "", node), [Info]);
        let java = "source A.java\nimport jakarta.ws.rs.GET;\nimport com.mongodb.client.MongoClients;\nclass A { Object c = MongoClients.create(\"mongodb://a.example,b.example/x?waitQueueTimeoutMS=0\"); }\n";
        assert_eq!(severities("C020", "", java), [Warn]);
    }

    #[test]
    fn pp_5_connecting_takes_ten_to_thirty_seconds_at_most() {
        for (value, expected) in [(9_999, 1), (10_000, 0), (30_000, 0), (30_001, 1)] {
            assert_eq!(count(&format!("connectTimeoutMS={value}")), expected, "{value}");
        }
        assert_eq!(count_on("C020", "", "localhost/?connectTimeoutMS=500"), 0);
    }
}
