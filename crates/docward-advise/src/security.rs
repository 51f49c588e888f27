//! The security clauses (SE-1..9) and the self-check (SC-1..7): each row with a verdict and its
//! evidence. A row fails only on a finding that cites it and passes only on evidence; without
//! evidence it is `unknown`, with the input that would provide it.

use docward_model::{
    ChecklistItem, Evidence, Finding, Layer, Level, Network, Password, RuleGroup, Settings, User,
    Verdict,
};

use docward_rules::{
    Outcome,
    facts::{
        deployment::{
            accounts,
            addresses::{Reach, reach},
            network,
        },
        text,
    },
};

use crate::checklist::{Answer, View, signed_off, verdict, with_withheld};

/// The rows that connection strings, servers and network rules can answer: the self-check, and the
/// individual clauses behind it if requested.
pub fn security_checklist(
    evidence: &Evidence,
    settings: &Settings,
    outcome: &Outcome,
    with_clauses: bool,
) -> Vec<ChecklistItem> {
    let outcome = &with_withheld(outcome);
    let check = SelfCheck { view: View { evidence, settings, outcome }, evidence };
    let clauses = if with_clauses { check.clauses() } else { Vec::new() };
    let rows = clauses.into_iter().chain(check.rows());
    rows.map(|(id, title, answer)| signed_off(settings, id, title, answer)).collect()
}

/// The id of a row, its requirement, and the answer.
type Row = (&'static str, &'static str, Answer);

struct SelfCheck<'a> {
    view: View<'a>,
    evidence: &'a Evidence,
}

fn unknown(evidence: impl Into<String>) -> Answer {
    (Verdict::Unknown, evidence.into())
}

/// The message of a finding, after its place in the code if it has one.
fn in_its_place(finding: &Finding) -> String {
    match &finding.location {
        Some(at) => format!("{}:{}: {}", at.file, at.line, finding.what),
        None => finding.what.clone(),
    }
}

/// Rules that could not be read may allow any connection.
fn unread(network: &Network) -> Option<Answer> {
    (!network.unread.is_empty())
        .then(|| unknown(format!("not read: {}", text::phrases(&network.unread, 3))))
}

/// Address lists that are stored elsewhere may contain any address.
fn listed(groups: &[&RuleGroup]) -> Option<Answer> {
    let mut names: Vec<&str> = groups.iter().flat_map(|group| network::listed(group)).collect();
    names.dedup();
    (!names.is_empty()).then(|| {
        unknown(format!(
            "the addresses that {} allow are defined elsewhere: check them there, or declare the \
             rules with their ranges",
            text::list(&names, 3)
        ))
    })
}

impl SelfCheck<'_> {
    fn clauses(&self) -> Vec<Row> {
        vec![
            ("SE-1", "Access control is on", self.access_control("SE-1")),
            ("SE-2", "The server is reachable only through the private network", self.private()),
            ("SE-3", "No public address is bound to a server", self.public_address()),
            (
                "SE-4",
                "The load balancer allows only named clients, and only to its port",
                self.balancer_group(),
            ),
            (
                "SE-5",
                "The security group of the servers allows only named clients and health checks",
                self.mongodb_group(),
            ),
            ("SE-6", "Passwords are strong", self.passwords("SE-6")),
            ("SE-7", "Public links are encrypted", self.encryption("SE-7")),
            (
                "SE-8",
                "Accounts have only the rights that their application \
             needs",
                self.accounts("SE-8"),
            ),
            (
                "SE-9",
                "Every login needs a password, and applications do not log in as administrators",
                self.logins(),
            ),
        ]
    }

    fn rows(&self) -> Vec<Row> {
        vec![
            ("SC-1", "Private, or public only through a protected load balancer", self.exposure()),
            ("SC-2", "No network rule allows all addresses", self.groups()),
            ("SC-3", "Access control is on", self.access_control("SC-3")),
            ("SC-4", "Passwords are long and mix four kinds of characters", self.passwords("SC-4")),
            (
                "SC-5",
                "Applications can only read and write their own database",
                self.accounts("SC-5"),
            ),
            ("SC-6", "Public connections use TLS", self.encryption("SC-6")),
            ("SC-7", "No passwords in code", self.code()),
        ]
    }

    /// The result of the rules for a row: a breach fails it; a suspicion or a disabled rule leaves
    /// it unknown.
    fn ruled(&self, row: &str, codes: &[&str]) -> Option<Answer> {
        let about: Vec<&Finding> = self
            .view
            .outcome
            .findings
            .iter()
            .filter(|f| codes.contains(&&*f.rule) && f.cites(row))
            .collect();
        let is_breach = |f: &&&Finding| matches!(f.level, Level::Mandatory | Level::Prohibited);
        let told = |findings: Vec<&&Finding>| {
            let what: Vec<String> = findings.iter().map(|f| in_its_place(f)).collect();
            match findings.iter().any(|f| f.location.is_some()) {
                // There may be very many findings in code.
                true => text::phrases(&what, 3),
                false => what.join("; "),
            }
        };
        // A rule may lower the severity of a breach it only suspects.
        let (breaches, suspicions): (Vec<&&Finding>, Vec<&&Finding>) =
            about.iter().partition(|f| is_breach(f) && f.severity > docward_model::Severity::Info);
        let found: Vec<&Finding> = breaches.iter().map(|finding| **finding).collect();
        if let Some(verdict) = verdict(&found, Verdict::Fail) {
            return Some((verdict, told(breaches)));
        }
        if !suspicions.is_empty() {
            return Some(unknown(told(suspicions)));
        }
        let off = self.view.switched_off(codes);
        (!off.is_empty()).then(|| unknown(format!("turned off: {}", off.join(", "))))
    }

    fn network(&self) -> Option<&Network> {
        self.evidence.network.as_ref()
    }

    /// The addresses a server listens on; none configured means the loopback address.
    fn bound(&self) -> Option<Vec<String>> {
        let start = self.evidence.server.as_ref()?.start.as_ref()?;
        Some(start.bind_addresses.clone().unwrap_or_default())
    }

    /// SE-2: an address of the private network cannot be reached from outside; `0.0.0.0` may be.
    fn private(&self) -> Answer {
        // The answer about a public address covers an address that can be reached from outside.
        let bound_in_public = || self.ruled("SE-3", &["S005"]);
        if let Some(answer) = self.ruled("SE-2", &["S002"]).or_else(bound_in_public) {
            return answer;
        }
        let inside = |a: &String| matches!(reach(a), Reach::Loopback | Reach::Private);
        let bound = self.bound();
        match &bound {
            Some(all) if all.is_empty() => {
                return (Verdict::Pass, "the server listens on the loopback address only".into());
            }
            Some(all) if all.iter().all(inside) => {
                let evidence =
                    format!("the server listens on private addresses only: {}", all.join(", "));
                return (Verdict::Pass, evidence);
            }
            _ => {}
        }
        let network = self.network();
        if let Some(answer) = network.and_then(unread) {
            return answer;
        }
        match network.map(|network| &network.public_addresses) {
            Some(Some(addresses)) if addresses.is_empty() => {
                (Verdict::Pass, "no public address leads to the servers".to_owned())
            }
            _ => unknown(match bound {
                Some(all) => format!(
                    "the server listens on {}; whether a public address leads there depends on \
                     the network: give --network-rules with public_ip",
                    all.join(", ")
                ),
                None => "it is unknown where the server listens: audit a running deployment, or \
                 give --network-rules with public_ip"
                    .to_owned(),
            }),
        }
    }

    /// SE-3.
    fn public_address(&self) -> Answer {
        if let Some(answer) = self.ruled("SE-3", &["S002", "S005"]) {
            return answer;
        }
        let declared = self.network().and_then(|network| network.public_addresses.as_ref());
        match declared {
            Some(addresses) if addresses.is_empty() => {
                (Verdict::Pass, "the network rules say that no public address is bound".to_owned())
            }
            _ => unknown(
                "the public addresses are unknown: give --network-rules with public_ip (`[]` for \
                 none)",
            ),
        }
    }

    /// SE-4: without public access, no protection is needed.
    fn balancer_group(&self) -> Answer {
        if let Some(answer) = self.ruled("SE-4", &["S006"]) {
            return answer;
        }
        let Some(network) = self.network() else {
            return unknown(
                "no network rules were given: export them, and name the file with --network-rules",
            );
        };
        if let Some(answer) = unread(network) {
            return answer;
        }
        let groups: Vec<_> = network::declared(network, Layer::LoadBalancer).collect();
        if groups.is_empty() {
            return match (network.has_load_balancer(), &network.public_addresses) {
                (true, _) => unknown(
                    "a load balancer is declared, but no rules for it (layer load-balancer)",
                ),
                (false, Some(_)) => (Verdict::Pass, "no load balancer is declared".to_owned()),
                (false, None) => unknown(
                    "it is unknown whether there is a load balancer: declare load_balancer_vip \
                     and listener_port, or public_ip = []",
                ),
            };
        }
        listed(&groups).unwrap_or_else(|| {
            let rules: usize = groups.iter().map(|group| group.rules.len()).sum();
            let rules = text::plural(rules as u64, "rule");
            (
                Verdict::Pass,
                format!(
                    "{rules} checked: they allow only named sources, and only the \
             listener port"
                ),
            )
        })
    }

    /// SE-5: like SC-2, including the ports and the health checks.
    fn mongodb_group(&self) -> Answer {
        match self.ruled("SE-5", &["S007"]) {
            Some(answer) => answer,
            None => self.groups_of_mongodb().map_or_else(
                |answer| answer,
                |groups| {
                    let rules: usize = groups.iter().map(|group| group.rules.len()).sum();
                    let rules = text::plural(rules as u64, "rule");
                    (
                        Verdict::Pass,
                        format!(
                            "{rules} checked: they allow only named sources, and only \
                         MongoDB's port"
                        ),
                    )
                },
            ),
        }
    }

    /// SE-9: only a server shows which accounts may log in without a password, only clients show
    /// which accounts are administrators.
    fn logins(&self) -> Answer {
        if let Some(answer) = self.ruled("SE-9", &["S001", "S008", "S010"]) {
            return answer;
        }
        if self.evidence.server.as_ref().and_then(|s| s.start.as_ref()).is_none() {
            return unknown(
                "it is unknown whether the server requires a login: audit a running deployment",
            );
        }
        match accounts::clients(self.evidence).filter(|uri| uri.user.is_some()).count() {
            0 => unknown(
                "the server requires a login; the accounts of the applications are unknown: give \
                 their connection strings with --client-uri",
            ),
            n => (
                Verdict::Pass,
                format!(
                    "the server requires a login, and {} as an administrator",
                    text::verb(n as u64, "client logs in, but not", "clients log in, but none")
                ),
            ),
        }
    }

    /// SC-1.
    fn exposure(&self) -> Answer {
        if let Some(answer) = self.ruled("SC-1", &["S002", "S005", "S006"]) {
            return answer;
        }
        let bound = self.bound();
        if bound.as_ref().is_some_and(|all| all.iter().all(|a| reach(a) == Reach::Loopback)) {
            return (Verdict::Pass, "the server listens on the loopback address only".to_owned());
        }
        let listening = match &bound {
            Some(addresses) => format!("the server listens on {}; ", addresses.join(", ")),
            None => String::new(),
        };
        let Some(network) = self.network() else {
            return unknown(format!(
                "{listening}whether a public address leads there depends on the network: give \
                 --network-rules with public_ip"
            ));
        };
        if network.public_addresses.is_none() {
            return unknown(format!(
                "{listening}the network rules have no public_ip (`[]` for none)"
            ));
        }
        if let Some(answer) = unread(network) {
            return answer;
        }
        if !network.has_load_balancer() {
            return (
                Verdict::Pass,
                "no public address is bound, and no load balancer is declared".to_owned(),
            );
        }
        let groups: Vec<_> = network::declared(network, Layer::LoadBalancer).collect();
        if groups.is_empty() {
            return unknown(
                "a load balancer is declared, but no rules for it (layer load-balancer)",
            );
        }
        if let Some(answer) = listed(&groups) {
            return answer;
        }
        (
            Verdict::Pass,
            "no public address is bound, and the load balancer allows only named sources"
                .to_owned(),
        )
    }

    /// SC-2.
    fn groups(&self) -> Answer {
        if let Some(answer) = self.ruled("SC-2", &["S006", "S007"]) {
            return answer;
        }
        let mongodb = match self.groups_of_mongodb() {
            Ok(groups) => groups,
            Err(answer) => return answer,
        };
        let balancer: Vec<_> = self
            .network()
            .into_iter()
            .flat_map(|network| network::declared(network, Layer::LoadBalancer))
            .collect();
        if balancer.is_empty() && self.network().is_some_and(Network::has_load_balancer) {
            return unknown(
                "a load balancer is declared, but no rules for it (layer load-balancer)",
            );
        }
        if let Some(answer) = listed(&balancer) {
            return answer;
        }
        let judged = [mongodb, balancer].concat();
        let rules: usize = judged.iter().map(|group| group.rules.len()).sum();
        (
            Verdict::Pass,
            format!(
                "{} in {} checked, none allows all addresses",
                text::plural(rules as u64, "rule"),
                text::plural(judged.len() as u64, "group")
            ),
        )
    }

    /// The groups known to protect MongoDB, or the reason why they are unknown.
    fn groups_of_mongodb(&self) -> Result<Vec<&RuleGroup>, Answer> {
        let Some(network) = self.network() else {
            return Err(unknown(
                "no network rules were given: export them, and name the file with --network-rules",
            ));
        };
        let doubtful: Vec<String> = network::doubtful(network).map(network::group_text).collect();
        if !doubtful.is_empty() {
            return Err(unknown(format!(
                "{} allows all addresses, and it is unknown whether it protects MongoDB: name it \
                 under layers",
                text::phrases(&doubtful, 3)
            )));
        }
        let groups: Vec<_> = network::declared(network, Layer::MongoDb)
            .chain(network::about_mongodb(network))
            .collect();
        if groups.is_empty() {
            return Err(unknown(
                "it is unknown which group protects MongoDB: name it under layers",
            ));
        }
        match unread(network).or_else(|| listed(&groups)) {
            Some(answer) => Err(answer),
            None => Ok(groups),
        }
    }

    /// SE-1, SC-3: a log without the message that access control is off does not prove that it is
    /// on.
    fn access_control(&self, row: &str) -> Answer {
        if let Some(answer) = self.ruled(row, &["S001"]) {
            return answer;
        }
        match self.evidence.server.as_ref().and_then(|s| s.start.as_ref()) {
            Some(_) => (Verdict::Pass, "the server was started with access control".to_owned()),
            None => unknown("it is unknown how the server was started: audit a running deployment"),
        }
    }

    /// SE-6, SC-4.
    fn passwords(&self, row: &str) -> Answer {
        if let Some(answer) = self.ruled(row, &["S008"]) {
            return answer;
        }
        let uris = &self.evidence.uris;
        let judged =
            uris.iter().filter(|u| matches!(u.password, Password::Given(_))).count() as u64;
        let others = uris
            .iter()
            .filter(|u| matches!(u.password, Password::Placeholder | Password::Unfilled))
            .count() as u64;
        match (judged, others) {
            (0, 0) => unknown(
                "no password was seen: give the connection strings of clients with \
                 --client-uri",
            ),
            (0, n) => unknown(format!(
                "the connection strings have {} and no passwords",
                text::plural(n, "placeholder")
            )),
            (n, _) => (Verdict::Pass, format!("{} checked", text::plural(n, "password"))),
        }
    }

    /// SE-8, SC-5: roles have no effect while access control is off.
    fn accounts(&self, row: &str) -> Answer {
        if let Some(answer) = self.ruled(row, &["S004", "S010"]) {
            return answer;
        }
        let server = self.evidence.server.as_ref();
        let Some(users) = server.and_then(|s| s.users.as_ref()) else {
            return unknown(
                "no accounts were seen: audit a running deployment with an account that has the \
                 privilege viewUser",
            );
        };
        let open = self.view.outcome.findings.iter().any(|f| f.rule == "S001");
        if open || server.and_then(|s| s.start.as_ref()).is_some_and(|s| !s.authorization) {
            return unknown("roles have no effect while access control is off");
        }
        let works = |u: &&User| accounts::business_database(self.evidence, u).is_some();
        let mut roles: Vec<String> = users
            .iter()
            .filter(|u| works(u) || !accounts::administers(self.view.settings, u))
            .flat_map(|u| accounts::unread_roles(self.evidence, u))
            .collect();
        roles.sort();
        roles.dedup();
        if !roles.is_empty() {
            return unknown(format!(
                "the privileges of these roles were not read: {}",
                text::list(&roles, 3)
            ));
        }
        match users.iter().filter(works).count() {
            0 => unknown("no account uses a business database, so there is none to check"),
            n => (
                Verdict::Pass,
                format!(
                    "{} checked; on business databases {}, without further rights",
                    text::plural(users.len() as u64, "account"),
                    text::verb(n as u64, "works", "work")
                ),
            ),
        }
    }

    /// SE-7, SC-6.
    fn encryption(&self, row: &str) -> Answer {
        if let Some(answer) = self.ruled(row, &["S003", "S009"]) {
            return answer;
        }
        let start = self.evidence.server.as_ref().and_then(|s| s.start.as_ref());
        let mode = start.and_then(|s| s.tls_mode.as_deref());
        if let Some(mode @ ("requireTLS" | "requireSSL")) = mode {
            return (
                Verdict::Pass,
                format!(
                    "the server accepts only connections with TLS \
             ({mode})"
                ),
            );
        }
        let has_load_balancer = self.network().is_some_and(Network::has_load_balancer);
        if self.exposure().0 == Verdict::Pass && !has_load_balancer {
            return (Verdict::Pass, "access is not public".to_owned());
        }
        unknown(match mode {
            Some(mode) => format!(
                "net.tls.mode {mode} also accepts connections without TLS, and \
             access is public or may be public"
            ),
            None => "it is unknown whether access is public, and whether the server accepts \
             connections without TLS: audit a running deployment with --network-rules"
                .to_owned(),
        })
    }

    /// SC-7.
    fn code(&self) -> Answer {
        let files = self.evidence.code.as_ref().map_or(0, |code| code.files);
        if files == 0 {
            return unknown(
                "no code was read: give source code, settings and .env files with --code, or run \
                 `docward lint`",
            );
        }
        self.ruled("SC-7", &["S020"]).unwrap_or_else(|| {
            let files = text::plural(files, "file");
            (Verdict::Pass, format!("{files} of code and settings checked, no password found"))
        })
    }
}

#[cfg(test)]
mod tests {
    use docward_model::code::{Code, CodeSecret};

    use super::*;
    use docward_rules::testing::Example;

    fn row(id: &str, body: &str) -> (Verdict, String) {
        let mut example = Example::new("S001", "", body);
        // Examples have a collection, which other rules would report on.
        example.settings.select = vec!["S".to_owned()];
        let outcome = docward_rules::judge(&example.evidence, &example.settings);
        let (evidence, settings) = (&example.evidence, &example.settings);
        let items = security_checklist(evidence, settings, &outcome, true);
        let item = items.into_iter().find(|item| item.id == id).unwrap();
        (item.verdict, item.evidence)
    }

    fn check(id: &str, body: &str, expect: Verdict) {
        let (verdict, evidence) = row(id, body);
        assert_eq!(verdict, expect, "{id} on {body}: {evidence}");
    }

    #[test]
    fn sc_1_sc_2_sc_3_sc_4_sc_5_sc_6_sc_7_nothing_seen_is_unknown() {
        for id in ["SC-1", "SC-2", "SC-3", "SC-4", "SC-5", "SC-6", "SC-7"] {
            check(id, "{\"_id\": 1}", Verdict::Unknown);
        }
        for n in 1..=9 {
            check(&format!("SE-{n}"), "{\"_id\": 1}", Verdict::Unknown);
        }
    }

    #[test]
    fn se_1_to_se_9_each_clause_has_a_row_of_its_own() {
        let server = |more: &str| format!(r#"server {{"authorization": true{more}}}"#);
        let bound = |address: &str| server(&format!(r#", "bind": ["{address}"]"#));
        let network = |more: &str| format!("network {{\"public_ip\": []{more}}}");
        let group = |layer: &str, source: &str, port: &str| {
            format!(
                r#", "listener_port": [27017], "load_balancer_vip": ["10.0.0.100"], "groups": [{{"name": "g", "layer": "{layer}", "rules": [{{"sources": ["{source}", "10.0.0.100"], "ports": ["{port}"]}}]}}]"#
            )
        };
        use Verdict::{Fail, Pass, Unknown};
        check("SE-1", &server(""), Pass);
        check("SE-1", r#"server {"authorization": false}"#, Fail);
        check("SE-2", &server(""), Pass);
        check("SE-2", &bound("10.0.0.5"), Pass);
        check("SE-2", &bound("0.0.0.0"), Unknown);
        check("SE-2", &format!("{}\n{}", bound("0.0.0.0"), network("")), Pass);
        check("SE-2", &bound("8.8.8.8"), Fail);
        check("SE-2", "uri mongodb://8.8.8.8", Unknown);
        let public = r#"network {"public_ip": ["8.8.8.8"]}"#;
        check("SE-2", &format!("{}\n{public}", bound("10.0.0.5")), Fail);
        check("SE-7", &format!("{}\n{public}", bound("10.0.0.5")), Unknown);
        check("SE-7", &bound("10.0.0.5"), Unknown);
        check("SE-3", &network(""), Pass);
        check("SE-3", r#"network {"public_ip": ["8.8.8.8"]}"#, Fail);
        check("SE-3", r#"network {"listener_port": [27017]}"#, Unknown);
        check("SE-4", &network(""), Pass);
        check("SE-4", &network(", \"listener_port\": [27017]"), Unknown);
        check("SE-4", &network(&group("load-balancer", "203.0.113.1", "27017")), Pass);
        check("SE-4", &network(&group("load-balancer", "0.0.0.0/0", "27017")), Fail);
        check("SE-4", &network(&group("load-balancer", "203.0.113.1", "22")), Fail);
        check("SE-4", &network(&group("load-balancer", "pl-1", "27017")), Unknown);
        check("SE-5", &network(&group("mongodb", "203.0.113.1", "27017")), Pass);
        check("SE-5", &network(&group("mongodb", "0.0.0.0/0", "27017")), Fail);
        check("SE-5", &network(&group("mongodb", "203.0.113.1", "22")), Fail);
        check("SE-5", &network(&group("load-balancer", "203.0.113.1", "27017")), Unknown);
        check("SE-6", "uri mongodb://a:Abcdef1!xyzw@10.0.0.5", Pass);
        check("SE-6", "uri mongodb://a:admin123@10.0.0.5", Fail);
        check("SE-7", &server(r#", "bind": ["8.8.8.8"], "tls": "requireTLS""#), Pass);
        check("SE-7", "uri mongodb://8.8.8.8", Fail);
        let held = |role: &str| {
            server(&format!(
                r#", "users": [{{"user": "order", "roles": [{{"db": "db_order", "role": "readWrite"}}, {role}]}}]"#
            ))
        };
        let reads = r#"{"db": "db_order", "role": "read"}"#;
        check("SE-8", &held(reads), Pass);
        check("SE-8", &held(r#"{"db": "admin", "role": "dbAdminAnyDatabase"}"#), Fail);
        let client = "uri mongodb://order:Abcdef1!xyzw@10.0.0.5";
        check("SE-9", &held(reads), Unknown);
        check("SE-9", &format!("{}\n{client}", held(reads)), Pass);
        check("SE-9", client, Unknown);
        check("SE-9", r#"server {"authorization": true, "anonymous": true}"#, Fail);
        check("SE-9", &format!("{}\nuri mongodb://order:@10.0.0.5", held(reads)), Fail);
        let admin = r#", "users": [{"user": "boss", "roles": [{"db": "admin", "role": "root"}]}]"#;
        check("SE-9", &format!("{}\nuri mongodb://boss@10.0.0.5", server(admin)), Fail);
    }

    #[test]
    fn sc_1_public_exposure() {
        let server =
            |bind: &str| format!(r#"server {{"authorization": true, "bind": ["{bind}"]}}"#);
        check("SC-1", &server("127.0.0.1"), Verdict::Pass);
        check("SC-1", &server("10.0.0.5"), Verdict::Unknown);
        check("SC-1", &server("8.8.8.8"), Verdict::Fail);
        check("SC-1", &server("0.0.0.0"), Verdict::Unknown);
        let none = r#"network {"public_ip": []}"#;
        check("SC-1", &format!("{none}\n{}", server("0.0.0.0")), Verdict::Pass);
        check("SC-1", none, Verdict::Pass);
        check("SC-1", r#"network {"public_ip": ["8.8.8.8"]}"#, Verdict::Fail);
        check("SC-1", r#"network {"listener_port": [27017]}"#, Verdict::Unknown);
        check("SC-1", r#"network {"public_ip": [], "listener_port": [27017]}"#, Verdict::Unknown);
        let balancer = |source: &str| {
            format!(
                r#"network {{"public_ip": [], "listener_port": [27017], "groups": [{{"name": "clb", "layer": "load-balancer", "rules": [{{"sources": ["{source}"], "ports": ["27017"]}}]}}]}}"#
            )
        };
        check("SC-1", &balancer("203.0.113.1"), Verdict::Pass);
        check("SC-1", &balancer("0.0.0.0/0"), Verdict::Fail);
        // SE-4: both named sources and the listener port are required.
        let ssh = balancer("203.0.113.1").replace("\"27017\"", "\"27017\", \"22\"");
        check("SC-1", &ssh, Verdict::Fail);
        for network in [none.to_owned(), balancer("203.0.113.1")] {
            let unread = network.replacen("{", "{\"unread\": [\"rule 1 of `clb`\"], ", 1);
            check("SC-1", &unread, Verdict::Unknown);
        }
        check("SC-1", "uri mongodb://8.8.8.8", Verdict::Unknown);
    }

    #[test]
    fn sc_2_network_rules() {
        let group = |layer: &str, source: &str, ports: &str| {
            format!(
                r#"network {{"groups": [{{"name": "sg", {layer} "rules": [{{"sources": ["{source}"], "ports": ["{ports}"]}}]}}]}}"#
            )
        };
        let mongodb = r#""layer": "mongodb","#;
        check("SC-2", &group(mongodb, "0.0.0.0/0", "27017"), Verdict::Fail);
        check("SC-2", &group(mongodb, "::/0", "27017"), Verdict::Fail);
        check("SC-2", &group("", "0.0.0.0/0", "27017"), Verdict::Fail);
        check("SC-2", &group(mongodb, "10.0.0.0/8", "27017"), Verdict::Pass);
        check("SC-2", &group("", "0.0.0.0/0", "*"), Verdict::Unknown);
        check("SC-2", &group("", "0.0.0.0/0", "443"), Verdict::Unknown);
        // Two halves cover all addresses.
        let halves = group(mongodb, "128.0.0.0/1", "27017");
        let half = r#"{"sources": ["0.0.0.0/1"], "ports": ["27017"]}"#;
        check("SC-2", &halves, Verdict::Pass);
        check(
            "SC-2",
            &halves.replace("\"rules\": [", &format!("\"rules\": [{half}, ")),
            Verdict::Fail,
        );
        // Most of the public addresses also fail, and external lists may contain any address.
        check("SC-2", &group(mongodb, "2000::/3", "27017"), Verdict::Fail);
        check("SC-2", &group(mongodb, "sg-app", "27017"), Verdict::Pass);
        let (verdict, evidence) = row("SC-2", &group(mongodb, "pl-1", "27017"));
        assert_eq!(verdict, Verdict::Unknown);
        assert!(evidence.contains("`pl-1`"), "{evidence}");
        // Unreadable rules prevent a pass, but do not hide a breach.
        let unread = |text: String| text.replacen("{", "{\"unread\": [\"rule 1 of `x`\"], ", 1);
        check("SC-2", &unread(group(mongodb, "10.0.0.0/8", "27017")), Verdict::Unknown);
        check("SC-2", &unread(group(mongodb, "0.0.0.0/0", "27017")), Verdict::Fail);
        // SE-5 checks the ports, not this row.
        check("SC-2", &group(mongodb, "10.0.0.0/8", "22"), Verdict::Pass);
    }

    #[test]
    fn sc_3_access_control() {
        check("SC-3", r#"server {"authorization": true}"#, Verdict::Pass);
        check("SC-3", r#"server {"authorization": false}"#, Verdict::Fail);
        check("SC-3", r#"server {"authorization": true, "anonymous": true}"#, Verdict::Fail);
        let log = r#"log {"t": {"$date": "2024-03-15T10:30:00Z"}, "s": "I", "c": "CONTROL", "id": 1, "ctx": "x", "msg": "hello"}"#;
        check("SC-3", log, Verdict::Unknown);
    }

    #[test]
    fn sc_4_passwords() {
        check("SC-4", "uri mongodb://a:Abcdef1!xyzw@10.0.0.5", Verdict::Pass);
        check("SC-4", "uri mongodb://a:Abcdef1!xyz@10.0.0.5", Verdict::Fail);
        check("SC-4", "uri mongodb://a:<password>@10.0.0.5", Verdict::Unknown);
        check("SC-4", "uri mongodb://10.0.0.5", Verdict::Unknown);
    }

    #[test]
    fn sc_5_least_privilege() {
        let users = |authorization: bool, roles: &str| {
            format!(
                r#"server {{"authorization": {authorization}, "users": [{{"user": "order", "roles": [{roles}]}}]}}"#
            )
        };
        let work = r#"{"db": "db_order", "role": "readWrite"}"#;
        let admin = r#"{"db": "admin", "role": "dbAdminAnyDatabase"}"#;
        check("SC-5", &users(true, work), Verdict::Pass);
        check("SC-5", &users(false, work), Verdict::Unknown);
        check("SC-5", &users(true, &format!("{work}, {admin}")), Verdict::Fail);
        check("SC-5", &users(true, admin), Verdict::Unknown);
        let used = format!("{}\nuri mongodb://order@10.0.0.5", users(true, admin));
        check("SC-5", &used, Verdict::Fail);
        let held = |privileges: &str| {
            let app = r#"{"db": "admin", "role": "app"}"#;
            let roles = format!(r#""roles": [{{"db": "admin", "role": "app"{privileges}}}]"#);
            users(true, &format!("{work}, {app}")).replacen("{", &format!("{{{roles}, "), 1)
        };
        let allows = |what: &str| held(&format!(r#", "privileges": [{{{what}}}]"#));
        check("SC-5", &held(""), Verdict::Unknown);
        let of_another = allows(r#""db": "db_order", "actions": ["find"]"#)
            .replace(r#""roles": [{"db": "admin""#, r#""roles": [{"db": "db_other""#);
        check("SC-5", &of_another, Verdict::Unknown);
        check("SC-5", &allows(r#""db": "db_order", "actions": ["find"]"#), Verdict::Pass);
        check("SC-5", &allows(r#""anyResource": true, "actions": ["anyAction"]"#), Verdict::Fail);
    }

    #[test]
    fn sc_7_code() {
        let code = |files: u64, secrets: Vec<CodeSecret>| {
            let mut example = Example::new("S020", "", "{\"_id\": 1}");
            example.evidence.code = Some(Code { files, secrets, ..Code::default() });
            let outcome = docward_rules::judge(&example.evidence, &example.settings);
            let items = security_checklist(&example.evidence, &example.settings, &outcome, false);
            (items[6].verdict, items[6].evidence.clone())
        };
        assert_eq!(code(0, Vec::new()).0, Verdict::Unknown, "nothing was read");
        let (verdict, evidence) = code(3, Vec::new());
        assert!(verdict == Verdict::Pass && evidence.contains("3 files"), "{evidence}");
    }

    #[test]
    fn sc_6_encryption() {
        let server = |bind: &str, tls: &str| {
            format!(r#"server {{"authorization": true, "bind": ["{bind}"], "tls": "{tls}"}}"#)
        };
        check("SC-6", &server("8.8.8.8", "requireTLS"), Verdict::Pass);
        check("SC-6", &server("8.8.8.8", "preferTLS"), Verdict::Fail);
        check("SC-6", &server("10.0.0.5", "preferTLS"), Verdict::Unknown);
        check("SC-6", &server("127.0.0.1", "disabled"), Verdict::Pass);
        check("SC-6", "uri mongodb://8.8.8.8", Verdict::Fail);
        check("SC-6", "uri mongodb://8.8.8.8/?tls=true", Verdict::Unknown);
    }

    #[test]
    fn rules_that_are_switched_off_vouch_for_nothing() {
        let mut example = Example::new("S001", "", r#"server {"authorization": true}"#);
        example.settings.ignore.push("S001".into());
        let outcome = docward_rules::judge(&example.evidence, &example.settings);
        let items = security_checklist(&example.evidence, &example.settings, &outcome, false);
        assert_eq!(items[2].evidence, "turned off: S001");
    }
}
