//! SE-1, SC-3: anyone who can reach the server has full access.

use docward_model::{
    Draft, Evidence, Need, Safety, Seen, Server, Severity, Step, Subject, Topology, Unit,
    WorkloadSource,
};

use crate::{
    Cx, declare_rule,
    facts::deployment::addresses::{Reach, reach},
};

declare_rule! {
    /// # Access control off
    ///
    /// ## What it checks
    /// Reports a server without access control:
    /// - it was started without `security.authorization`, key file or cluster certificates
    /// - it was started with `transitionToAuth`, which admits clients without a login
    /// - it has access control but still answers questions about itself without a login
    /// - a warning: it has access control, no users, and `enableLocalhostAuthBypass`. A user of its machine can
    ///   then create the first account
    ///
    /// A running server reports its options (`getCmdLineOpts`), which take precedence over logs. In logs, the
    /// last start of a server counts.
    ///
    /// ## Why it matters
    /// Without access control, anyone who can reach the address may read, change and drop everything.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// server {"authorization": false, "bind": ["10.0.0.5"]}
    /// ```
    /// ```jsonl,fires
    /// server {"authorization": true, "anonymous": true, "bind": ["10.0.0.5"]}
    /// ```
    /// ```jsonl,fires
    /// server {"authorization": true, "localhost-bypass": true, "users": []}
    /// ```
    /// ```jsonl,clean
    /// server {"authorization": true, "bind": ["10.0.0.5"]}
    /// ```
    ///
    /// ## How to fix
    /// Create an administrator and an account for each application. On a standalone server, set
    /// `security.authorization: enabled` and restart it.
    ///
    /// Members of a replica set or cluster need one key file, or certificates:
    /// - Restart each member with `security.keyFile` and `security.transitionToAuth: true`. Members with and
    ///   without it can then connect to each other, and clients need no login.
    /// - Let the applications log in.
    /// - Restart each member without `transitionToAuth`.
    ///
    /// Do not enable access control in a single step. The members would lose contact, and the set would have no
    /// primary.
    ///
    /// ## When to ignore it
    /// It is a development server that listens only on the loopback address and holds no real data.
    S001, "access-control-off",
    level: Mandatory,
    area: Security,
    severities: [Error, Warn],
    clauses: ["SE-1", "SE-9", "SC-3"],
    maturity: Preview,
    scope: Everywhere,
    needs: [],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let start = evidence.server.as_ref().and_then(|s| s.start.as_ref());
    let logs: Vec<_> = evidence.workload.iter().flat_map(|w| &w.sources).collect();
    let has_exception = evidence.server.as_ref().is_some_and(has_localhost_exception);
    if start.is_none() && evidence.workload.is_none() && !has_exception {
        cx.skip(Need::Server);
        return;
    }
    let answers_anybody = evidence.server.as_ref().is_some_and(|s| s.answers_anybody);
    let off = match start {
        Some(start) => !start.authorization,
        None => logs.iter().any(|log| is_off(log, &logs)),
    };
    if !off && !answers_anybody {
        if has_exception {
            cx.report(localhost_exception());
        }
        return;
    }
    let heard = match start.and_then(|s| s.bind_addresses.as_ref()) {
        Some(addresses) if addresses.iter().all(|a| reach(a) == Reach::Loopback) => {
            " (it listens on the loopback address only)".to_owned()
        }
        Some(addresses) => format!(" and it listens on {}", addresses.join(", ")),
        None => String::new(),
    };
    let how = match (off, start) {
        (true, Some(_)) => "the server runs without access control",
        (true, None) => "the server runs without access control, according to its log",
        (false, _) => "the server answers serverStatus without a login",
    };
    cx.report(
        Draft::new(
            Subject::Deployment,
            format!("{how}{heard}"),
            "anyone who can reach the address can read, change and delete all data",
            way_in(evidence),
            Seen::all(1, Unit::Servers),
        )
        .plan(None, Safety::Manual, [Step::CreateAdministrator]),
    );
}

/// Whether a server with access control has no user, so that anyone on its machine can create one.
fn has_localhost_exception(server: &Server) -> bool {
    let asks_for_login = server.start.as_ref().is_none_or(|start| start.authorization);
    let bypass =
        |(name, value): &(String, String)| name == "enableLocalhostAuthBypass" && value == "true";
    asks_for_login
        && server.users.as_ref().is_some_and(Vec::is_empty)
        && server.parameters.iter().any(bypass)
}

fn localhost_exception() -> Draft {
    Draft::new(
        Subject::Deployment,
        "the server has access control but no users, so the localhost exception is active",
        "anyone with access to its machine can create the first user, with all privileges",
        "create an administrator, which ends the exception; if users are stored elsewhere (LDAP), set the parameter enableLocalhostAuthBypass to false",
        Seen::all(1, Unit::Servers),
    )
    .severity(Severity::Warn)
    .key("localhost exception")
    .plan(None, Safety::Manual, [Step::CreateAdministrator])
}

/// The procedure that turns on access control while applications continue to run. The shell asks for the password.
///
/// Members of a set refuse to start without a key file. Members with a key file do not talk to those without one,
/// unless they are in transition.
fn way_in(evidence: &Evidence) -> &'static str {
    let topology = evidence.server.as_ref().and_then(|server| server.topology.as_ref());
    match topology {
        Some(Topology::Standalone) => {
            "create an administrator and an account for each application, let the applications log in, then set security.authorization: enabled and restart"
        }
        Some(_) => {
            "create an administrator and an account for each application; restart each member with a common security.keyFile and security.transitionToAuth: true; let the applications log in; then restart each member without transitionToAuth"
        }
        None => {
            "create an administrator and an account for each application; then set security.authorization: enabled on a single server; on a replica set, use a common key file, with security.transitionToAuth: true until all applications log in"
        }
    }
}

/// Whether the last start in a log was without access control. A later start with access control in another log of the
/// same server counts.
fn is_off(log: &WorkloadSource, logs: &[&WorkloadSource]) -> bool {
    let Some(said) = log.access_control.filter(|said| !said.on) else { return false };
    !logs.iter().any(|other| {
        other.server.is_some()
            && other.server == log.server
            && other.access_control.is_some_and(|later| later.on && later.at > said.at)
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn se_1_members_of_a_set_pass_through_a_transition() {
        let todo = |topology: &str| {
            let text = format!(r#"server {{"authorization": false{topology}}}"#);
            check("S001", &text)[0].todo.clone()
        };
        assert!(!todo(r#", "topology": "standalone""#).contains("transitionToAuth"));
        let of_set = todo(r#", "set": "rs0""#);
        assert!(
            of_set.contains("security.transitionToAuth: true; let the applications"),
            "{of_set}"
        );
        assert!(todo("").contains("on a replica set, use a common key file"));
    }

    #[test]
    fn se_1_sc_3_an_open_server_is_found() {
        let found = check("S001", r#"server {"authorization": false, "bind": ["127.0.0.1"]}"#);
        assert_eq!(found[0].severity, docward_model::Severity::Error);
        assert!(found[0].what.contains("loopback"), "{}", found[0].what);
    }

    #[test]
    fn se_1_sc_3_the_localhost_exception_is_judged_while_there_are_no_users() {
        let server = |facts: &str| check("S001", &format!("server {{{facts}}}"));
        let open = server(r#""authorization": true, "localhost-bypass": true, "users": []"#);
        assert_eq!(open[0].severity, docward_model::Severity::Warn);
        assert!(open[0].what.contains("localhost exception"), "{}", open[0].what);
        let user = r#"{"user": "admin", "roles": []}"#;
        for closed in [
            r#""authorization": true, "localhost-bypass": false, "users": []"#.to_owned(),
            format!(r#""authorization": true, "localhost-bypass": true, "users": [{user}]"#),
            r#""authorization": true, "localhost-bypass": true"#.to_owned(),
        ] {
            assert!(server(&closed).is_empty(), "{closed}");
        }
        let off = server(r#""authorization": false, "localhost-bypass": true, "users": []"#);
        assert_eq!(off.len(), 1, "one cause, one finding");
        assert!(off[0].what.contains("without access control"), "{}", off[0].what);
    }

    const OFF: &str = r#"log {"t": {"$date": "2024-03-15T10:30:00Z"}, "s": "W", "c": "CONTROL", "id": 22120, "ctx": "initandlisten", "msg": "Access control is not enabled for the database."}"#;

    #[test]
    fn se_1_a_later_start_and_a_running_server_outvote_an_earlier_one() {
        let restarted = r#"log {"t": {"$date": "2024-03-15T10:31:00Z"}, "s": "I", "c": "CONTROL", "id": 20698, "ctx": "main", "msg": "***** SERVER RESTARTED *****"}
            log {"t": {"$date": "2024-03-15T10:31:01Z"}, "s": "I", "c": "CONTROL", "id": 21951, "ctx": "initandlisten", "msg": "Options set by command line", "attr": {"options": {"security": {"authorization": "enabled"}}}}"#;
        assert!(check("S001", &format!("{OFF}\n{restarted}")).is_empty());
        assert_eq!(check("S001", &format!("{restarted}\n{OFF}")).len(), 1);
        let running = r#"server {"authorization": true, "bind": ["10.0.0.5"]}"#;
        assert!(check("S001", &format!("{OFF}\n{running}")).is_empty());
    }

    #[test]
    fn se_1_a_start_that_lets_everybody_in_is_found() {
        let body = r#"log {"t": {"$date": "2024-03-15T10:31:01Z"}, "s": "I", "c": "CONTROL", "id": 21951, "ctx": "initandlisten", "msg": "Options set by command line", "attr": {"options": {"security": {"keyFile": "/k", "transitionToAuth": true}}}}"#;
        assert_eq!(check("S001", body).len(), 1);
    }

    #[test]
    fn se_1_se_9_a_login_without_a_password_is_found() {
        let found = check("S001", r#"server {"authorization": true, "anonymous": true}"#);
        assert!(found[0].what.contains("without a login"), "{}", found[0].what);
        assert!(check("S001", r#"server {"authorization": true}"#).is_empty());
    }

    #[test]
    fn se_1_the_log_says_it_too() {
        let body = r#"log {"t": {"$date": "2024-03-15T10:30:00Z"}, "s": "W", "c": "CONTROL", "id": 22120, "ctx": "initandlisten", "msg": "Access control is not enabled for the database."}"#;
        assert_eq!(check("S001", body).len(), 1);
        let other = r#"log {"t": {"$date": "2024-03-15T10:30:00Z"}, "s": "I", "c": "CONTROL", "id": 1, "ctx": "x", "msg": "hello"}"#;
        assert!(check("S001", other).is_empty());
    }
}
