//! AP-S1.6: clients that repeatedly use a server that is not the primary.

use std::collections::BTreeMap;

use docward_model::{Draft, Evidence, Level, NotPrimary, Seen, Server, Severity, Subject, Unit};

use crate::{Cx, declare_rule, facts::text, threshold};

declare_rule! {
    /// # Not-primary storm
    ///
    /// ## What it checks
    /// Reports a server that refused or interrupted operations because it was not, or no longer, the primary.
    /// There must be at least 20 operations over at least a minute, without a pause of half a minute. It is a
    /// warning if only reads were refused, and an error otherwise.
    ///
    /// The refusals during an election of some seconds are normal, whatever their number: clients that follow the
    /// replica set retry and succeed. Operations of servers in `admin`, `config` and `local` do not count.
    ///
    /// ## Error codes and sources
    /// - `NotWritablePrimary` (10107), `NotPrimaryNoSecondaryOk` (13435), `NotPrimaryOrSecondary` (13436)
    /// - `LegacyNotPrimary` (10058), `PrimarySteppedDown` (189), `InterruptedDueToReplStateChange` (11602)
    /// - `ShutdownInProgress` (91), `InterruptedAtShutdown` (11600)
    ///
    /// A log contains all refused operations only with `slowms` at -1. The profiler of a secondary does not
    /// record refused writes.
    ///
    /// ## Why it matters
    /// A client that knows only one server stays connected to it when another server becomes the primary. Its
    /// writes fail until it is restarted or the old primary returns.
    ///
    /// ## Example
    /// ```jsonl,fires,min-count=2
    /// ran {"ts": {"$date": "2024-03-15T10:00:00Z"}, "command": {"insert": "t_order_item"}, "appName": "api", "errCode": 10107, "errName": "NotWritablePrimary", "errMsg": "not primary"}
    /// ran {"ts": {"$date": "2024-03-15T10:00:29Z"}, "command": {"insert": "t_order_item"}, "appName": "api", "errCode": 10107, "errName": "NotWritablePrimary", "errMsg": "not primary"}
    /// ran {"ts": {"$date": "2024-03-15T10:00:58Z"}, "command": {"insert": "t_order_item"}, "appName": "api", "errCode": 10107, "errName": "NotWritablePrimary", "errMsg": "not primary"}
    /// ran {"ts": {"$date": "2024-03-15T10:01:20Z"}, "command": {"insert": "t_order_item"}, "appName": "api", "errCode": 10107, "errName": "NotWritablePrimary", "errMsg": "not primary"}
    /// ```
    /// An election: every connection of the pools fails once, within seconds.
    /// ```jsonl,clean
    /// ran x800 {"command": {"insert": "t_order_item"}, "appName": "api", "errCode": 10107, "errName": "NotWritablePrimary", "errMsg": "not primary"}
    /// ```
    ///
    /// ## How to fix
    /// List all members in the connection string (or use the SRV name) with `replicaSet=NAME` and without
    /// `directConnection`. Keep `retryWrites` and `retryReads` enabled, so that clients retry during an election.
    ///
    /// ## When to ignore it
    /// A tool uses one member on purpose. If there was no primary, check the replica set.
    W012, "not-primary-storm",
    level: Mandatory,
    area: Writes,
    severities: [Error, Warn],
    clauses: ["AP-S1.6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_SECONDS, MIN_COUNT],
    data: ["applications", "hosts", "longestSeconds", "refused", "writes"],
    check: Deployment(check),
}

threshold!(
    MIN_SECONDS,
    "min-seconds",
    Int(60),
    "seconds",
    "our default; an election takes about 12 s, ST-15 tells of 15 minutes",
    "minimum period of refusals; a change of primary causes shorter ones"
);
threshold!(
    MIN_COUNT,
    "min-count",
    Int(20),
    "operations",
    "our default",
    "minimum number of refused operations"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(workload) = &evidence.workload else { return };
    let (seconds, least) = (cx.count(&MIN_SECONDS), cx.count(&MIN_COUNT));
    let storms: Vec<&NotPrimary> = workload
        .refusals
        .iter()
        .filter(|storm| duration(storm) >= seconds && storm.count >= least)
        .collect();
    let Some(longest) = storms.iter().map(|storm| duration(storm)).max() else { return };
    let count: u64 = storms.iter().map(|storm| storm.count).sum();
    let writes: u64 = storms.iter().map(|storm| storm.writes).sum();
    let errors = most_frequent(storms.iter().flat_map(|storm| &storm.errors));
    let hosts = most_frequent(storms.iter().flat_map(|storm| &storm.hosts));
    let applications = most_frequent(storms.iter().flat_map(|storm| &storm.applications));
    let times = match storms.len() {
        1 => format!("over {}", length(longest)),
        n => format!("in {n} periods of up to {}", length(longest)),
    };
    let by = [("from", &hosts), ("by", &applications)]
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(word, names)| format!(" {word} {}", text::list(names, 3)))
        .collect::<String>();
    let kind = if writes == 0 { "reads" } else { "operations" };
    let draft = Draft::new(
        Subject::Deployment,
        format!(
            "a server that was not the primary rejected {} {kind}{} {times} ({}){by}",
            text::count(count),
            if writes == 0 { String::new() } else { format!(", {} of them writes,", text::count(writes)) },
            text::list(&errors, 3),
        ),
        "these clients do not follow the replica set to its new primary, so their operations fail until a restart",
        advice(evidence),
        Seen::all(workload.operations().max(count), Unit::Operations),
    )
    .data("refused", count)
    .data("writes", writes)
    .data("longestSeconds", longest)
    .data("hosts", hosts)
    .data("applications", applications);
    cx.report(if writes == 0 {
        draft.level(Level::Recommended).severity(Severity::Warn)
    } else {
        draft
    });
}

fn duration(storm: &NotPrimary) -> u64 {
    u64::try_from((storm.span.1 - storm.span.0) / 1000).unwrap_or_default()
}

fn length(seconds: u64) -> String {
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds / 60) }
}

/// Merges the names of several lists, most frequent first.
fn most_frequent<'a>(counted: impl Iterator<Item = &'a (String, u64)>) -> Vec<String> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    counted.for_each(|(name, n)| *sums.entry(name).or_default() += n);
    let mut names: Vec<_> = sums.into_iter().collect();
    names.sort_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
    names.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// The recommended connection string, as far as the set is known.
fn advice(evidence: &Evidence) -> String {
    let server = evidence.server.as_ref();
    let set = server.and_then(Server::replica_set);
    let members = server.and_then(|server| server.members.as_deref()).unwrap_or_default();
    let hosts: Vec<&str> =
        members.iter().filter(|m| m.is_visible()).map(|m| m.host.as_str()).collect();
    let how = match (set, hosts.as_slice()) {
        (Some(set), [_, _, ..]) => {
            format!("mongodb://{}/?replicaSet={set}", hosts.join(","))
        }
        (Some(set), _) => format!("all members of the set and replicaSet={set}"),
        _ => "all members of the set (or its SRV name) and replicaSet=NAME".to_owned(),
    };
    format!(
        "connect the clients with {how}, without directConnection, and keep retryWrites and retryReads on"
    )
}

#[cfg(test)]
mod tests {
    use docward_model::Severity;

    use crate::testing::check;

    /// Returns refused operations at this interval in milliseconds.
    fn refused(count: u32, apart_ms: u32, command: &str, code: u32) -> String {
        let at = |ms: u32| {
            format!("2024-03-15T10:{:02}:{:02}.{:03}Z", ms / 60_000, ms / 1000 % 60, ms % 1000)
        };
        let line = |n: u32| {
            format!(
                "log {{\"t\": {{\"$date\": \"{}\"}}, \"id\": 51803, \"ctx\": \"conn{n}\", \"msg\": \"Slow query\", \"attr\": {{\"ns\": \"db_shop.t_order\", \"appName\": \"api\", \"remote\": \"10.0.0.{}:5123{n}\", \"command\": {command}, \"errCode\": {code}, \"errName\": \"NotWritablePrimary\", \"errMsg\": \"not primary\"}}}}\n",
                at(n * apart_ms),
                n % 2
            )
        };
        (0..count).map(line).collect()
    }

    const UPDATE: &str =
        r#"{"update": "t_order", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}]}"#;

    #[test]
    fn ap_s1_6_clients_that_stay_with_the_old_primary_are_named() {
        let found = check("W012", &refused(180, 5000, UPDATE, 10107));
        assert_eq!(found.len(), 1);
        let what = &found[0].what;
        assert!(what.contains("180 operations, 180 of them writes, over 14 min"), "{what}");
        assert!(what.contains("10.0.0.0") && what.contains("by `api`"), "{what}");
        assert_eq!(found[0].severity, Severity::Error);
        assert_eq!(found[0].clauses, ["AP-S1.6"]);
        assert!(found[0].todo.contains("replicaSet=NAME"), "{}", found[0].todo);
    }

    #[test]
    fn ap_s1_6_an_election_is_no_storm() {
        assert!(check("W012", &refused(500, 20, UPDATE, 10107)).is_empty(), "10 s");
        assert!(check("W012", &refused(19, 5000, UPDATE, 10107)).is_empty(), "too few");
        assert!(check("W012", &refused(60, 31_000, UPDATE, 10107)).is_empty(), "now and then");
        assert!(check("W012", &refused(180, 5000, UPDATE, 11000)).is_empty(), "another error");
    }

    #[test]
    fn ap_s1_6_the_set_is_named_when_it_is_known_and_reads_are_a_warning() {
        let server = r#"server {"set": "rs0", "members": [{"host": "a:1"}, {"host": "b:1"}]}"#;
        let find = r#"{"find": "t_order", "filter": {}}"#;
        let found = check("W012", &format!("{server}\n{}", refused(60, 5000, find, 13435)));
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].todo.contains("mongodb://a:1,b:1/?replicaSet=rs0"), "{}", found[0].todo);
    }
}
