//! CN-02.1, CN-02.2: connections made for one request and thrown away.

use docward_model::{Draft, Evidence, Seen, Subject, Unit};

use crate::{Cx, declare_rule, facts::text, threshold};

declare_rule! {
    /// # Connection churn
    ///
    /// ## What it checks
    /// Looks at the connections a server accepted and ended. Reports short connections: at least 100 ended,
    /// half of them after less than five seconds, at least 60 a minute were accepted on average, and within
    /// a minute at least half as many as were open at most. A probe that connects every few seconds beside
    /// a pool is none. Reports 1000 or more within one minute whatever their life.
    ///
    /// ## Why it matters
    /// A connection of its own for every request pays the TCP, TLS and password handshakes each time (10 to
    /// 50 ms), and the number of connections grows with the load until the server's limit refuses them. A
    /// pool pays once and stays the same size:
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
    ///
    /// ## How to fix
    /// Make one client per process and keep it (module scope, not in the request handler). Where processes do
    /// not live on, as with PHP-FPM or functions, put a pooling proxy in between.
    ///
    /// ## When to ignore it
    /// The log is of a start or a deployment only.
    W009, "connection-churn",
    level: Mandatory,
    clauses: ["CN-02.1", "CN-02.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [SHORT_LIFE, MIN_ENDED, MIN_PER_MINUTE, MIN_TURNOVER, PER_MINUTE],
    check: Deployment(check),
}

threshold!(
    SHORT_LIFE,
    "short-life",
    Int(5),
    "seconds",
    "CN-02.1",
    "connections whose median life is shorter are reported"
);
threshold!(
    MIN_ENDED,
    "min-ended",
    Int(100),
    "connections",
    "no figure in source",
    "fewer ended connections say nothing about their life"
);
threshold!(
    MIN_PER_MINUTE,
    "min-per-minute",
    Int(60),
    "connections",
    "no figure in source",
    "short connections accepted more rarely on average are probes and tools"
);
threshold!(
    MIN_TURNOVER,
    "min-turnover",
    Float(0.5),
    "connections accepted in a minute per connection open",
    "no figure in source",
    "a smaller share of short connections stands beside pools"
);
threshold!(
    PER_MINUTE,
    "accepted-per-minute",
    Int(1000),
    "connections",
    "no figure in source; CN-02.1 names 1000 per second",
    "this many within a minute are reported whatever their life"
);

/// The rows of CN-02.2, in words; the server refuses what is beyond its limit.
const WHY: &str = "a connection per request is set up every time, a pool once; it logs in every time (10 to 50 ms), a pool once; the number of connections grows with the load until the server refuses them, with a pool it is stable; one is fit for scripts, the other for all production services";

/// The same for programs: what, with a connection per request, with a pool.
const COMPARISON: [&str; 4] = [
    "set-up | TCP and TLS for every request | once",
    "authentication | 10 to 50 ms every time | once",
    "number of connections | grows with requests per second | stable",
    "fit for | scripts | all production services",
];

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(workload) = &evidence.workload else { return };
    let connections = &workload.connections;
    let short = cx.count(&SHORT_LIFE) * 1000;
    let lived = connections.lifetimes.filter(|&(n, _)| n >= cx.count(&MIN_ENDED));
    let burst = connections.most_per_minute >= cx.count(&PER_MINUTE);
    let minutes = (connections.millis as f64 / 60_000.0).max(1.0);
    let rate = connections.accepted as f64 / minutes;
    let matters = rate >= cx.limit(&MIN_PER_MINUTE)
        && rate >= cx.limit(&MIN_TURNOVER) * connections.most_open as f64;
    let brief = lived.filter(|&(_, median)| median < short && matters);
    if brief.is_none() && !burst {
        return;
    }
    let life = match brief {
        Some((n, median)) => format!(
            "; half of the {} that ended lived less than {}",
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
                "{} accepted, up to {} within a minute{life}",
                text::plural(connections.accepted, "connection"),
                text::count(connections.most_per_minute)
            ),
            WHY,
            "make one client per process and keep it; where processes do not live on (PHP-FPM, functions), put a pooling proxy in between",
            Seen::all(connections.accepted, Unit::Connections),
        )
        .data("accepted", connections.accepted)
        .data("most_per_minute", connections.most_per_minute)
        .data("per_minute", rate)
        .data("most_open", connections.most_open)
        .data("median_life_ms", brief.map_or(0, |(_, median)| median))
        .data("comparison", COMPARISON.to_vec()),
    );
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
        assert!(found[0].what.contains("lived less than 300 ms"), "{}", found[0].what);
        assert!(check("W009", &log(200, 60_000, 1000)).is_empty());
        assert!(check("W009", &log(50, 300, 1000)).is_empty());
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

    #[test]
    fn cn_02_2_the_finding_has_the_four_rows() {
        let found = check("W009", &log(200, 300, 1000));
        for row in ["set up every time", "10 to 50 ms", "it is stable", "all production services"] {
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
