//! CN-02.1, CN-02.2: connections that are opened for one request and closed.

use docward_model::{
    ConnectionHistory, Draft, Evidence, Need, Seen, Server, Subject, Unit, Workload, WorkloadKind,
};

use crate::{Cx, declare_rule, facts::text, threshold};

declare_rule! {
    /// # Connection churn
    ///
    /// ## What it checks
    /// Checks the connections that a server accepted and ended. Connections of Docward itself do not count. In a
    /// log, it reports 1000 or more connections within one minute, or short connections. For these, all of the
    /// following must hold:
    /// - at least 100 connections ended, half of them within five seconds
    /// - on average at least 60 per minute were accepted
    /// - the number of connections accepted per minute is at least half the maximum number of open connections. This
    ///   excludes a probe that connects every few seconds in addition to a pool
    ///
    /// ## Without a log
    /// Docward uses the counters of a running server: connections created since its start, or since the date of
    /// `--earlier`, and connections open now. The difference has ended. It reports 1000 or more per minute, or
    /// short connections:
    /// - at least 100 ended, and at least 60 per minute
    /// - the average life is below five seconds (open connections divided by those created per second)
    ///
    /// A server that started less than five minutes ago is not checked.
    ///
    /// ## Why it matters
    /// A connection per request needs the TCP, TLS and password handshakes every time (10 to 50 ms). The number
    /// of connections grows with the load until the server refuses them. A pool needs the handshakes once, and
    /// its size is stable:
    ///
    /// | | connection per request | pool |
    /// |---|---|---|
    /// | set-up | TCP and TLS for every request | once |
    /// | authentication | 10 to 50 ms every time | once |
    /// | number of connections | grows with requests per second | stable |
    /// | fit for | scripts | all production services |
    ///
    /// ## Example
    /// ```jsonl,fires,min-ended=2,min-per-minute=2
    /// log {"t": {"$date": "2024-03-15T10:30:00Z"}, "s": "I", "c": "NETWORK", "id": 22943, "ctx": "listener", "msg": "Connection accepted", "attr": {"connectionId": 1, "connectionCount": 1}}
    /// log {"t": {"$date": "2024-03-15T10:30:01Z"}, "s": "I", "c": "NETWORK", "id": 22944, "ctx": "conn1", "msg": "Connection ended", "attr": {"connectionId": 1}}
    /// log {"t": {"$date": "2024-03-15T10:30:02Z"}, "s": "I", "c": "NETWORK", "id": 22943, "ctx": "listener", "msg": "Connection accepted", "attr": {"connectionId": 2, "connectionCount": 1}}
    /// log {"t": {"$date": "2024-03-15T10:30:03Z"}, "s": "I", "c": "NETWORK", "id": 22944, "ctx": "conn2", "msg": "Connection ended", "attr": {"connectionId": 2}}
    /// ```
    /// ```jsonl,clean,min-ended=1,min-per-minute=1
    /// log {"t": {"$date": "2024-03-15T10:30:00Z"}, "s": "I", "c": "NETWORK", "id": 22943, "ctx": "listener", "msg": "Connection accepted", "attr": {"connectionId": 1, "connectionCount": 1}}
    /// log {"t": {"$date": "2024-03-15T11:30:00Z"}, "s": "I", "c": "NETWORK", "id": 22944, "ctx": "conn1", "msg": "Connection ended", "attr": {"connectionId": 1}}
    /// ```
    /// The counters of a running server:
    /// ```jsonl,fires
    /// server {"connections": 12, "available": 2988, "created": 5260, "uptime": 1897}
    /// ```
    /// ```jsonl,clean
    /// server {"connections": 200, "available": 2800, "created": 900, "uptime": 1897}
    /// ```
    ///
    /// ## How to fix
    /// Create one client per process and keep it, in module scope and not in the request handler. If processes
    /// end after each request, as with PHP-FPM or serverless functions, use a proxy that pools connections.
    ///
    /// ## When to ignore it
    /// The log covers only a start or a deployment.
    W009, "connection-churn",
    level: Mandatory,
    area: Speed,
    clauses: ["CN-02.1", "CN-02.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [],
    thresholds: [SHORT_LIFE, MIN_ENDED, MIN_PER_MINUTE, MIN_TURNOVER, PER_MINUTE, MIN_UPTIME],
    data: ["accepted", "comparison", "created", "ended", "meanLifeMs", "medianLifeMs", "mostOpen", "mostPerMinute", "open", "perMinute", "seconds"],
    check: Deployment(check),
}

threshold!(
    SHORT_LIFE,
    "short-life",
    Int(5),
    "seconds",
    "CN-02.1",
    "median connection duration below which connections are reported"
);
threshold!(
    MIN_ENDED,
    "min-ended",
    Int(100),
    "connections",
    "our default",
    "minimum number of ended connections"
);
threshold!(
    MIN_PER_MINUTE,
    "min-per-minute",
    Int(60),
    "connections",
    "our default",
    "minimum mean rate of accepted connections; slower ones count as probes or tools"
);
threshold!(
    MIN_TURNOVER,
    "min-turnover",
    Float(0.5),
    "connections accepted in a minute per connection open",
    "our default",
    "minimum ratio of accepted to open connections; a smaller one is normal with pools"
);
threshold!(
    PER_MINUTE,
    "accepted-per-minute",
    Int(1000),
    "connections",
    "our default; CN-02.1 names 1000 per second",
    "connections per minute that are reported regardless of their duration"
);

threshold!(
    MIN_UPTIME,
    "min-uptime",
    Int(300),
    "seconds",
    "our default",
    "minimum time after a start, or between two dates, for the counters of a server to be meaningful"
);

/// The rows of CN-02.2 as text; the server refuses connections beyond its limit.
const WHY: &str = "without a pool, each request opens a connection and logs in (10 to 50 ms), and the number of connections grows with the load, which is acceptable only for scripts; a pool connects and logs in once, and its size is stable";

/// The rows as data: the figure, its value with a connection per request, and with a pool.
const COMPARISON: [&str; 4] = [
    "set-up | TCP and TLS for every request | once",
    "authentication | 10 to 50 ms every time | once",
    "number of connections | grows with requests per second | stable",
    "fit for | scripts | all production services",
];

const ADVICE: &str = "create one client per process and keep it; if processes are short-lived (PHP-FPM, functions), use a pooling proxy";

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let has_connections = |workload: &&Workload| {
        workload.connections.accepted > 0
            || workload.sources.iter().any(|source| source.kind == WorkloadKind::Log)
    };
    let logged = evidence.workload.as_ref().filter(has_connections);
    let counted = evidence.server.as_ref().and_then(Counted::of);
    match (logged, counted) {
        (None, None) if evidence.workload.is_some() => cx.skip(Need::Server),
        (None, None) => cx.skip(Need::Workload),
        // The counters of a server that was just started show nothing yet. A log could.
        (None, Some(counted)) if counted.seconds < cx.count(&MIN_UPTIME) => cx.skip(Need::Workload),
        (logged, counted) => {
            // A log contains more: the lifetime of each connection, and the number of new ones per minute.
            let is_told = logged.is_some_and(|workload| by_log(&workload.connections, cx));
            if let Some(counted) = counted.filter(|_| !is_told) {
                by_counters(&counted, cx);
            }
        }
    }
}

/// The counters of a server for some period.
struct Counted<'e> {
    server: Option<&'e str>,
    created: u64,
    ended: u64,
    open: u64,
    seconds: u64,
    since: &'static str,
}

impl<'e> Counted<'e> {
    fn of(server: &'e Server) -> Option<Self> {
        let connections = server.connections?;
        let (created, ended, seconds, since) = match connections.since_earlier {
            Some(between) => (between.created, between.ended, between.seconds, "the earlier date"),
            None => {
                let created = connections.total_created;
                let ended = created.saturating_sub(connections.current);
                (created, ended, server.uptime_seconds?, "its start")
            }
        };
        let (server, open) = (server.host.as_deref(), connections.current);
        Some(Self { server, created, ended, open, seconds, since })
    }
}

/// Reports short connections by the counters of a server.
fn by_counters(counted: &Counted<'_>, cx: &mut Cx<'_>) {
    let &Counted { server, created, ended, open, seconds, since } = counted;
    if seconds < cx.count(&MIN_UPTIME) || ended < cx.count(&MIN_ENDED) {
        return;
    }
    let per_minute = ended.min(created) as f64 * 60.0 / seconds as f64;
    // Little's law: open connections = rate of new connections × lifetime of a connection.
    let life = open as f64 * seconds as f64 / created as f64;
    let brief = per_minute >= cx.limit(&MIN_PER_MINUTE) && life < cx.count(&SHORT_LIFE) as f64;
    if !brief && per_minute < cx.count(&PER_MINUTE) as f64 {
        return;
    }
    let server = server.map_or_else(|| "the server".to_owned(), |host| format!("`{host}`"));
    let what = format!(
        "{server} accepted {} since {since} ({} a minute), and {} are open: the mean lifetime is {}",
        text::plural(created, "connection"),
        text::count(per_minute.round() as u64),
        text::count(open),
        if life < 1.0 { "less than a second".to_owned() } else { format!("{life:.1} s") },
    );
    cx.report(
        Draft::new(Subject::Deployment, what, WHY, ADVICE, Seen::all(created, Unit::Connections))
            .data("created", created)
            .data("ended", ended)
            .data("seconds", seconds)
            .data("perMinute", per_minute)
            .data("open", open)
            .data("meanLifeMs", (life * 1000.0).round() as u64)
            .data("comparison", COMPARISON.to_vec()),
    );
}

/// Reports short connections by the lines of a log. Returns whether it did.
fn by_log(connections: &ConnectionHistory, cx: &mut Cx<'_>) -> bool {
    let short = cx.count(&SHORT_LIFE) * 1000;
    let lived = connections.lifetimes.filter(|&(n, _)| n >= cx.count(&MIN_ENDED));
    let burst = connections.most_per_minute >= cx.count(&PER_MINUTE);
    let minutes = (connections.millis as f64 / 60_000.0).max(1.0);
    let rate = connections.accepted as f64 / minutes;
    let matters = rate >= cx.limit(&MIN_PER_MINUTE)
        && rate >= cx.limit(&MIN_TURNOVER) * connections.most_open as f64;
    let brief = lived.filter(|&(_, median)| median < short && matters);
    if brief.is_none() && !burst {
        return false;
    }
    let life = match brief {
        Some((n, median)) => format!(
            "; the median lifetime of {} closed connections is below {}",
            text::count(n),
            if median < 1000 {
                format!("{median} ms")
            } else {
                format!("{:.1} s", median as f64 / 1000.0)
            }
        ),
        None => String::new(),
    };
    cx.report(
        Draft::new(
            Subject::Deployment,
            format!(
                "{} accepted, up to {} per minute{life}",
                text::plural(connections.accepted, "connection"),
                text::count(connections.most_per_minute)
            ),
            WHY,
            ADVICE,
            Seen::all(connections.accepted, Unit::Connections),
        )
        .data("accepted", connections.accepted)
        .data("mostPerMinute", connections.most_per_minute)
        .data("perMinute", rate)
        .data("mostOpen", connections.most_open)
        .data("medianLifeMs", brief.map_or(0, |(_, median)| median))
        .data("comparison", COMPARISON.to_vec()),
    );
    true
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn log(n: u32, life_ms: u32, apart_ms: u32) -> String {
        log_beside(9, n, life_ms, apart_ms)
    }

    fn log_beside(open: u32, n: u32, life_ms: u32, apart_ms: u32) -> String {
        let at = |ms: u32| {
            format!("2024-03-15T10:{:02}:{:02}.{:03}Z", ms / 60_000 % 60, ms / 1000 % 60, ms % 1000)
        };
        let line = |id: u32, ms: u32, connection: u32| {
            format!(
                "log {{\"t\": {{\"$date\": \"{}\"}}, \"id\": {id}, \"msg\": \"c\", \"attr\": {{\"connectionId\": {connection}, \"connectionCount\": {open}}}}}\n",
                at(ms)
            )
        };
        (0..n)
            .map(|i| line(22943, i * apart_ms, i) + &line(22944, i * apart_ms + life_ms, i))
            .collect()
    }

    #[test]
    fn cn_02_1_short_connections_are_found() {
        let found = check("W009", &log(200, 300, 1000));
        assert!(found[0].what.contains("closed connections is below 300 ms"), "{}", found[0].what);
        assert!(check("W009", &log(200, 60_000, 1000)).is_empty());
        assert!(check("W009", &log(50, 300, 1000)).is_empty());
    }

    #[test]
    fn cn_02_1_docwards_own_connections_do_not_count() {
        let said = |application: &str| -> String {
            let client = |n: &str| {
                format!(
                    r#"log {{"t": {{"$date": "2024-03-15T10:00:00Z"}}, "id": 51800, "msg": "client metadata", "attr": {{"client": "conn{n}", "doc": {{"application": {{"name": "{application}"}}}}}}}}"#
                )
            };
            let lines = log(1500, 300, 1);
            lines.lines().enumerate().fold(String::new(), |said, (at, line)| {
                let own = at.is_multiple_of(2).then(|| client(&(at / 2).to_string()));
                format!("{said}{line}\n{}\n", own.unwrap_or_default())
            })
        };
        assert_eq!(check("W009", &said("api")).len(), 1);
        assert_eq!(check("W009", &said("docward")), []);
        assert_eq!(check("W009", &(said("docward shop") + &log(40, 300, 1000))), []);
        let beside = check("W009", &(said("docward") + &log(200, 300, 1000)));
        assert!(beside[0].what.starts_with("200 connections accepted"), "{}", beside[0].what);
    }

    #[test]
    fn cn_02_1_a_probe_beside_a_pool_is_no_churn() {
        assert!(check("W009", &log_beside(801, 120, 200, 10_200)).is_empty());
        assert!(check("W009", &log_beside(9, 120, 200, 10_200)).is_empty(), "too few a minute");
        assert!(check("W009", &log_beside(801, 200, 300, 1000)).is_empty(), "too few beside 801");
    }

    #[test]
    fn cn_02_1_st_16_bursts_are_found_whatever_their_life() {
        assert_eq!(check("W009", &log(1500, 59_000, 10)).len(), 1);
    }

    fn counted(open: u64, created: u64, uptime: u64) -> String {
        format!(
            r#"server {{"connections": {open}, "available": 2000, "created": {created}, "uptime": {uptime}}}"#
        )
    }

    #[test]
    fn cn_02_1_st_16_the_counters_of_a_server_show_short_connections() {
        let found = check("W009", &counted(12, 5260, 1897));
        assert!(found[0].what.contains("mean lifetime is 4.3 s"), "{}", found[0].what);
        // 1,000 a second and 200 open ones, as in the scenario.
        assert_eq!(check("W009", &counted(200, 3_600_000, 3600)).len(), 1);
        // Many that live for minutes: still 1000 a minute.
        assert_eq!(check("W009", &counted(3000, 120_000, 6000)).len(), 1);
    }

    #[test]
    fn cn_02_1_pools_tools_and_starts_are_no_churn_by_the_counters() {
        assert!(check("W009", &counted(200, 900, 86_400)).is_empty(), "pools");
        assert!(
            check("W009", &counted(5, 17_000, 86_400)).is_empty(),
            "a probe every five seconds"
        );
        assert!(check("W009", &counted(10, 5000, 120)).is_empty(), "it was just started");
        assert!(check("W009", &counted(5000, 5000, 400)).is_empty(), "all clients have just come");
    }

    #[test]
    fn cn_02_1_st_16_between_two_dates_the_counters_start_anew() {
        use docward_model::ConnectionsSince;
        let mut example = crate::testing::Example::new("W009", "", &counted(20, 20_000, 8_640_000));
        let judge = |example: &crate::testing::Example| {
            let outcome = crate::judge(&example.evidence, &example.settings);
            outcome.findings.into_iter().find(|f| f.rule == "W009")
        };
        assert!(judge(&example).is_none(), "hardly any over a hundred days");
        let connections = example.evidence.server.as_mut().unwrap().connections.as_mut().unwrap();
        connections.since_earlier =
            Some(ConnectionsSince { seconds: 3600, created: 18_000, ended: 18_000 });
        let found = judge(&example).expect("an hour of churn");
        assert!(found.what.contains("since the earlier date (300 a minute)"), "{}", found.what);
    }

    #[test]
    fn cn_02_1_without_log_and_counters_the_rule_is_skipped() {
        let skipped = |body: &str| {
            let example = crate::testing::Example::new("W009", "", body);
            let outcome = crate::judge(&example.evidence, &example.settings);
            outcome.skipped.into_iter().any(|s| s.rule == "W009")
        };
        assert!(skipped(r#"{"_id": 1}"#));
        assert!(
            skipped(r#"ran {"command": {"find": "t_order_item", "filter": {"_id": 7}}}"#),
            "the profiler holds no connections"
        );
        assert!(!skipped(&counted(12, 5260, 1897)));
        assert!(skipped(&counted(12, 5260, 299)), "it has just been started");
        assert!(!skipped(&log(2, 300, 1000)));
    }

    #[test]
    fn cn_02_2_the_finding_has_the_four_rows() {
        let found = check("W009", &log(200, 300, 1000));
        for row in
            ["each request opens a connection", "10 to 50 ms", "is stable", "only for scripts"]
        {
            assert!(found[0].why.contains(row), "{row}");
        }
        let data = format!("{:?}", found[0].data);
        assert!(super::COMPARISON.iter().all(|row| data.contains(row)), "{data}");
    }

    #[test]
    fn cn_02_2_the_page_shows_the_four_rows() {
        let rule = crate::RULES.iter().find(|r| r.meta.code == "W009").expect("the rule");
        for row in ["set-up", "authentication", "number of connections", "fit for"] {
            assert!(rule.meta.doc.contains(row), "{row}");
        }
    }
}
