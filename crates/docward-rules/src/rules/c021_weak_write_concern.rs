//! CP-7: writes of core services that are acknowledged before a majority has them.

use docward_model::{Evidence, Level, OptionValue, ServiceClass, Severity, UriChange};

use crate::{
    Cx, declare_rule,
    facts::deployment::clients::{Client, clients},
};

declare_rule! {
    /// # Weak write concern
    ///
    /// ## What it checks
    /// Checks the write concern `w` of a connection string. For a service declared as `core`:
    /// - `w=0` and `w=1` are errors.
    /// - Without `w`, nothing is reported if the server's default is known to be `majority`.
    /// - Without `w`, it is a note if the server is 5.0 or newer and its members and settings are unknown.
    /// - Without `w`, it is an error in all other cases, also for a set whose arbiters make the default `w: 1`.
    ///
    /// For other services, `w=0` is a warning and `w=1` a note. Local addresses of other services are not
    /// reported.
    ///
    /// ## Why it matters
    /// A write that only the primary has is lost if the primary fails before the other members have copied it.
    /// With `w=0` the server does not answer at all. The program sees no error, and writes are lost without
    /// notice.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// service {"name": "order", "class": "core"}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?appName=order&w=1
    /// ```
    /// ```jsonl,clean
    /// service {"name": "order", "class": "core"}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?appName=order&w=majority
    /// uri mongodb://10.0.0.1,10.0.0.2/db_log?appName=log
    /// ```
    ///
    /// ## How to fix
    /// Write `w=majority`.
    ///
    /// ## When to ignore it
    /// The program sets a write concern for each write.
    C021, "weak-write-concern",
    level: Mandatory,
    area: Correctness,
    severities: [Error, Warn, Info],
    clauses: ["CP-7"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let settings = cx.settings();
    let version = evidence.deployment.server_version.or(settings.server_version);
    for client in clients(evidence, settings) {
        let is_core = client.class() == Some(ServiceClass::Core);
        let owner = client.uri.owner();
        let mut why = LOST_WITH_PRIMARY;
        let (what, level) = match client.uri.option("w").map(|option| &option.value) {
            Some(OptionValue::Int(w @ (0 | 1))) => {
                let level = match (is_core, *w) {
                    (true, _) => Level::Mandatory,
                    (false, 0) => Level::Recommended,
                    _ => Level::Information,
                };
                if !is_core && client.is_local() {
                    continue;
                }
                if *w == 0 {
                    why = UNACKNOWLEDGED;
                }
                (
                    format!("{owner}{} sets w={w}", if is_core { ", a core service," } else { "" }),
                    level,
                )
            }
            None if is_core && client.can_lack_options() && client.lacks("w") => {
                match by_default(evidence, version) {
                    Some(true) => continue,
                    Some(false) => (
                        format!(
                            "{owner}, a core service, does not set w, and the server's default is not majority"
                        ),
                        Level::Mandatory,
                    ),
                    None if version.is_some_and(|version| version >= (5, 0)) => (
                        format!(
                            "{owner}, a core service, does not set w; the default is majority from MongoDB 5.0, unless an arbiter or a setting changes it"
                        ),
                        Level::Information,
                    ),
                    None => (format!("{owner}, a core service, does not set w"), Level::Mandatory),
                }
            }
            _ => continue,
        };
        cx.report(report(&client, what, why, level));
    }
}

const LOST_WITH_PRIMARY: &str =
    "a write is lost if the primary fails before other members have replicated it";
const UNACKNOWLEDGED: &str = "the server does not answer writes with w=0: duplicate keys and failed validation raise no error, and writes can be lost without notice";

fn report(
    client: &Client<'_>,
    what: String,
    why: &'static str,
    level: Level,
) -> docward_model::Draft {
    client
        .draft(client.place("w"), what, why, "write w=majority")
        .level(level)
        .severity(if level == Level::Recommended { Severity::Warn } else { level.severity() })
        .uri([UriChange::set("w", "majority")])
}

/// Whether the server's default write concern is `majority`, if known.
fn by_default(evidence: &Evidence, version: Option<(u32, u32)>) -> Option<bool> {
    let server = evidence.server.as_ref()?;
    if let Some(write) =
        server.default_concerns.as_ref().and_then(|concerns| concerns.write.as_ref())
    {
        return Some(write == "majority");
    }
    let members = server.members.as_ref()?;
    version.filter(|version| *version >= (5, 0))?;
    // With arbiters, the default is 1 if the members with data do not exceed a majority.
    let arbiters = members.iter().filter(|member| member.arbiter == Some(true)).count();
    let majority = members.len() / 2 + 1;
    Some(arbiters == 0 || members.len() - arbiters > majority)
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{self, Error, Info, Warn};

    use crate::testing::{check, severities};

    fn found(settings: &str, more: &str, options: &str) -> Vec<Severity> {
        let body = format!(
            "{more}\nservice {{\"name\": \"bank\", \"class\": \"core\"}}\nservice {{\"name\": \"log\", \"class\": \"general\"}}\nuri mongodb://a,b,c/?{options}"
        );
        severities("C021", settings, &body)
    }

    #[test]
    fn cp_7_core_services_write_to_a_majority() {
        assert_eq!(found("", "", "appName=bank&w=1"), [Error]);
        assert_eq!(found("", "", "appName=bank&w=0"), [Error]);
        assert_eq!(found("", "", "appName=bank"), [Error]);
        assert!(found("", "", "appName=bank&w=majority").is_empty());
        assert!(found("", "", "appName=bank&w=3").is_empty());
        assert_eq!(found("", "", "appName=log&w=1"), [Info]);
        assert_eq!(found("", "", "appName=log&w=0"), [Warn]);
        assert!(found("", "", "appName=log").is_empty());
        assert!(found("", "", "").is_empty());
    }

    #[test]
    fn cp_7_each_write_concern_has_its_own_reason() {
        let why = |w: &str| check("C021", &format!("uri mongodb://a,b,c/?w={w}"))[0].why.clone();
        assert!(why("0").contains("raise no error"), "{}", why("0"));
        assert!(why("1").contains("if the primary fails"), "{}", why("1"));
    }

    #[test]
    fn cp_7_the_servers_default_counts() {
        assert_eq!(found("version=6.0", "", "appName=bank"), [Info]);
        assert_eq!(found("version=4.4", "", "appName=bank"), [Error]);
        let set = |third: &str| {
            format!(
                r#"server {{"authorization": true, "set": "rs0", "members": [{{"host": "a"}}, {{"host": "b"}}, {{"host": "c"{third}}}]}}"#
            )
        };
        assert!(found("version=6.0", &set(""), "appName=bank").is_empty());
        assert_eq!(found("version=6.0", &set(", \"arbiter\": true"), "appName=bank"), [Error]);
        let said = r#"server {"authorization": true, "default-w": "majority"}"#;
        assert!(found("", said, "appName=bank").is_empty());
    }
}
