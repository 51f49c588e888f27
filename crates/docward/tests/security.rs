//! Tests `--network-rules`, `--uri` and `docward checklist --security` with the real binary.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use crate::common::{audit_json, code, docward, root, stdout};
use docward_testkit::Launch;
use serde_json::{Value, json};

/// Returns the rules of a report, in order.
fn rules(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect()
}

/// Audits files of network rules, given by name and text.
fn audit(files: &[(&str, &str)]) -> (Value, i32) {
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = Vec::new();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        arguments.extend(["--network-rules".to_owned(), path.to_str().unwrap().to_owned()]);
    }
    audit_json(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns the verdict of a row.
fn verdict<'a>(report: &'a Value, id: &str) -> &'a str {
    let rows = report["checklist"].as_array().unwrap();
    rows.iter().find(|row| row["id"] == id).unwrap()["verdict"].as_str().unwrap()
}

/// Returns the TOML blocks of the guide.
fn guide() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("docs/security.md")).unwrap();
    let blocks = text.split("```toml\n").skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn se_3_se_4_se_5_the_guide_says_what_happens() {
    let blocks = guide();
    let (good, exit) = audit(&[("network.toml", &blocks[0])]);
    assert_eq!((rules(&good), exit), (vec![], 0), "{good:#}");
    assert_eq!(good["sources"][0]["kind"], "network rules");
    assert_eq!((verdict(&good, "SC-1"), verdict(&good, "SC-2")), ("pass", "pass"));

    let (bad, exit) = audit(&[("network.toml", &blocks[1])]);
    let mut found = rules(&bad);
    found.sort_unstable();
    assert_eq!(found, ["S005", "S006", "S006", "S007", "S007"], "{bad:#}");
    assert_eq!(exit, 1);
    assert_eq!((verdict(&bad, "SC-1"), verdict(&bad, "SC-2")), ("fail", "fail"));

    let group = |id: &str, source: &str, port: u16| {
        json!({"GroupId": id, "GroupName": "x", "IpPermissions": [
            {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, "IpRanges": [{"CidrIp": source}]}]})
    };
    let export = json!({"SecurityGroups": [
        group("sg-0a1b2c3d", "10.0.0.0/8", 22), group("sg-4e5f6a7b", "0.0.0.0/0", 443)]});
    let files = [("export.json", &*export.to_string()), ("layers.toml", &blocks[2])];
    let (named, _) = audit(&files);
    assert_eq!(rules(&named), ["S006", "S007"], "{named:#}");
    let (unnamed, exit) = audit(&files[..1]);
    assert_eq!((rules(&unnamed), exit), (vec![], 0), "nobody says that they are MongoDB's");
    assert_eq!(verdict(&unnamed, "SC-2"), "unknown");
}

/// Everyone on MongoDB's port, and named clients only, in each format.
#[test]
fn se_5_sc_2_every_cloud_is_understood() {
    let aws = |source: &str| {
        json!({"SecurityGroups": [{"GroupId": "sg-1", "GroupName": "mongo", "IpPermissions": [
            {"IpProtocol": "tcp", "FromPort": 27017, "ToPort": 27017, "IpRanges": [{"CidrIp": source}],
             "Ipv6Ranges": [], "UserIdGroupPairs": [], "PrefixListIds": []}], "IpPermissionsEgress": []}]})
    };
    let azure = |source: &str| {
        json!([{"name": "nsg", "id": "/subscriptions/1/nsg", "defaultSecurityRules": [], "securityRules": [
            {"name": "mongo", "access": "Allow", "direction": "Inbound", "priority": 100, "protocol": "Tcp",
             "sourceAddressPrefix": source, "destinationPortRange": "27017"}]}])
    };
    let gcp = |source: &str| {
        json!([{"name": "mongo", "network": "n/default", "direction": "INGRESS", "priority": 1000,
            "sourceRanges": [source], "targetTags": ["db"], "allowed": [{"IPProtocol": "tcp", "ports": ["27017"]}]}])
    };
    let tencent = |source: &str| {
        json!({"Response": {"RequestId": "1", "SecurityGroupPolicySet": {"Version": "1", "Egress": [], "Ingress": [
            {"PolicyIndex": 0, "Protocol": "tcp", "Port": "27017", "CidrBlock": source, "Action": "ACCEPT"}]}}})
    };
    /// Returns a file that allows one source.
    type Letting<'a> = &'a dyn Fn(&str) -> Value;
    let formats: [(&str, Letting<'_>); 4] =
        [("aws", &aws), ("azure", &azure), ("gcp", &gcp), ("tencent", &tencent)];
    for (name, format) in formats {
        let (open, exit) = audit(&[("rules.json", &format("0.0.0.0/0").to_string())]);
        assert_eq!((rules(&open), exit), (vec!["S007"], 1), "{name}: {open:#}");
        assert_eq!(open["findings"][0]["clauses"], json!(["SE-5", "SC-2"]), "{name}");
        assert_eq!(verdict(&open, "SC-2"), "fail", "{name}");
        let (named, exit) = audit(&[("rules.json", &format("203.0.113.0/24").to_string())]);
        assert_eq!((rules(&named), exit), (vec![], 0), "{name}: {named:#}");
        assert_eq!(verdict(&named, "SC-2"), "pass", "{name}");
        let (bad, exit) = audit(&[("rules.json", &format("203.0.113.0/99").to_string())]);
        assert_eq!(exit, 2, "{name}");
        let message = bad["problems"][0]["message"].as_str().unwrap();
        assert!(message.contains("203.0.113.0/99") && message.contains("not checked"), "{message}");
        assert_eq!(verdict(&bad, "SC-2"), "unknown", "{name}");
    }
}

#[test]
fn se_5_sc_2_a_firewall_rule_for_every_machine_is_told_once() {
    let rule = |name: &str, source: &str, ports: &str, targets: Value| {
        json!({"name": name, "network": "n/prod", "priority": 1000, "sourceRanges": [source],
            "targetTags": targets, "allowed": [{"IPProtocol": "tcp", "ports": [ports]}]})
    };
    let export = |ports: &str| {
        json!([
            rule("world", "0.0.0.0/0", ports, json!([])),
            rule("mongo", "10.0.0.0/8", "27017", json!(["mongo-a", "mongo-b"]))
        ])
    };
    // A rule for all ports of every machine may not be about MongoDB. Only groups that name
    // MongoDB's port are.
    for ports in ["27017", "1-65535"] {
        let (report, exit) = audit(&[("gcp.json", &export(ports).to_string())]);
        assert_eq!((rules(&report), exit), (vec!["S007"], 1), "{ports}: {report:#}");
        assert_eq!(verdict(&report, "SC-2"), "fail");
        assert_eq!(report["sources"][0]["documents"], 3, "a rule of two targets is in two groups");
    }
}

#[test]
fn sc_2_one_odd_rule_does_not_hide_the_others() {
    let rule = |name: &str, source: &str| {
        json!({"name": name, "access": "Allow", "direction": "Inbound", "priority": 100, "protocol": "Tcp",
            "sourceAddressPrefix": source, "destinationPortRange": "27017"})
    };
    let (report, exit) = audit(&[(
        "nsg.json",
        &json!({"name": "nsg", "securityRules": [rule("odd", "10.0.0.0/64"), rule("open", "INTERNET")]})
            .to_string(),
    )]);
    assert_eq!((rules(&report), exit), (vec!["S007"], 2), "{report:#}");
    assert!(report["problems"][0]["message"].as_str().unwrap().starts_with("`odd` of `nsg`: "));
}

#[test]
fn files_that_cannot_be_used_are_problems_and_the_rest_is_judged() {
    let good = "public_ip = \"198.51.100.7\"";
    for (text, expect) in [
        ("", "is empty"),
        ("{\"SecurityGroups\": [{]}", "not valid JSON"),
        ("{\"SecurityGroups\": 5}", "invalid type: integer `5`"),
        ("{\"SecurityGroups\": [{\"GroupId\": 5}]}", "line 1 column"),
        ("{\"Response\": {\"Error\": {\"Code\": \"AuthFailure\"}}}", "missing field"),
        ("{\"hello\": 1}", "not recognised"),
        ("hello", "line 1, column"),
        ("[[rules]]\nlayer = \"mongodb\"\nsources = \"10.0.0.0/40\"", "line 3, column"),
        ("[layers]\n\"sg-9\" = \"mongodb\"", "`sg-9`"),
        ("\u{0}\u{1}", "line 1, column"),
    ] {
        let (report, exit) = audit(&[("bad.json", text), ("good.toml", good)]);
        assert_eq!(exit, 2, "{text}");
        assert_eq!(rules(&report), ["S005"], "{text}: {report:#}");
        let problems = report["problems"].as_array().unwrap();
        assert_eq!(problems.len(), 1, "{text}: {report:#}");
        assert!(problems[0]["source"].as_str().unwrap().ends_with("bad.json"), "{text}");
        let message = problems[0]["message"].as_str().unwrap();
        assert!(message.contains(expect), "{text}: {message}");
    }
    let (missing, exit) = audit_json(&["--network-rules", "no/such/file", "examples/shop-clean"]);
    assert_eq!(exit, 2);
    assert!(missing["problems"][0]["message"].as_str().unwrap().contains("no such file"));
    assert!(missing["sources"][0]["documents"].as_u64().unwrap() > 0, "the dump was read");
}

#[test]
fn a_file_that_is_too_long_or_no_text_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.json");
    let name = path.to_str().unwrap();
    std::fs::File::create(&path).unwrap().set_len(65 << 20).unwrap();
    let (report, exit) = audit_json(&["--network-rules", name]);
    assert_eq!(exit, 2);
    assert!(report["problems"][0]["message"].as_str().unwrap().contains("64 MiB"), "{report:#}");
    std::fs::write(&path, [0xff, 0xfe, b'{', 0]).unwrap();
    let (report, _) = audit_json(&["--network-rules", name]);
    assert!(report["problems"][0]["message"].as_str().unwrap().contains("UTF-16"), "{report:#}");
    std::fs::write(&path, [b'{', 0xfe]).unwrap();
    let (report, _) = audit_json(&["--network-rules", name]);
    assert!(report["problems"][0]["message"].as_str().unwrap().contains("UTF-8"), "{report:#}");
}

#[test]
fn se_6_se_7_se_9_connection_strings_are_judged_and_the_password_is_not_printed() {
    let uri = "mongodb://mongouser:Tr0ub4dor@8.8.8.8:27017/db_order?authSource=admin";
    for arguments in [
        vec!["audit", "--uri", uri],
        vec!["audit", "--uri", uri, "--format", "json", "--show-values"],
        vec!["checklist", "--security", "--uri", uri],
        vec!["audit", "examples/shop-clean", "--uri", uri],
        // The slash cuts the login in two. No part of it may be read as something else.
        vec!["audit", "--uri", "mongodb://app:x/Tr0ub4dor@8.8.8.8"],
        vec!["audit", "--uri", "mongodb://app:Tr0ub4dor/x@8.8.8.8"],
        vec!["audit", "--uri", "mongodb://app:Tr0ub4dor"],
    ] {
        let out = docward(&arguments);
        let text = format!("{}{}", stdout(&out), crate::common::stderr(&out));
        assert!(!text.contains("Tr0ub4dor"), "{arguments:?}: {text}");
        assert_ne!(code(&out), 0, "{arguments:?}");
    }
    let (report, exit) = audit_json(&["--uri", uri]);
    let secure: Vec<_> = rules(&report).into_iter().filter(|rule| rule.starts_with('S')).collect();
    assert_eq!((secure, exit), (vec!["S008", "S009", "S002", "S010"], 1), "{report:#}");
    assert_eq!(report["problems"], json!([]), "no source is needed for that");
    let (fine, exit) = audit_json(&[
        "--uri",
        "mongodb://order:${PASSWORD}@10.0.0.5,10.0.0.6/db_order?authSource=admin&replicaSet=cmgo-abc&maxPoolSize=100&minPoolSize=10",
    ]);
    assert_eq!((rules(&fine), exit), (vec![], 0), "{fine:#}");
    let (bad, exit) = audit_json(&["--uri", "mongodb://app:a/b@host", "--uri", uri]);
    assert_eq!(exit, 2);
    assert_eq!(bad["problems"][0]["source"], "--client-uri 1");
}

#[test]
fn se_1_sc_7_security_is_printed_row_by_row() {
    let out = docward(&["checklist", "examples/shop-clean", "--security"]);
    let text = stdout(&out);
    assert_eq!(code(&out), 0, "{text}");
    for row in 1..=7 {
        assert!(text.contains(&format!("unknown SC-{row} ")), "{text}");
    }
    for row in 1..=9 {
        assert!(text.contains(&format!("unknown SE-{row} ")), "{text}");
    }
    assert!(text.contains("0 pass, 0 fail, 16 unknown") && !text.contains("CK-1"), "{text}");
    let review = docward(&["checklist", "examples/shop-clean"]);
    for item in ["CK-1 ", "CK-10", "SC-7 "] {
        assert!(stdout(&review).contains(item), "without the flag both lists are answered: {item}");
    }
    assert!(!stdout(&review).contains("SE-1 "), "files alone say nothing about security");

    let out = docward(&[
        "checklist",
        "--security",
        "--format",
        "json",
        "--uri",
        "mongodb://a:root@8.8.8.8",
    ]);
    assert_eq!(code(&out), 1);
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    let ids: Vec<_> =
        report["checklist"].as_array().unwrap().iter().map(|i| i["id"].as_str().unwrap()).collect();
    let clauses = (1..=9).map(|n| format!("SE-{n}"));
    let rows: Vec<String> = clauses.chain((1..=7).map(|n| format!("SC-{n}"))).collect();
    assert_eq!(ids, rows);
    for row in ["SE-6", "SE-7", "SC-4", "SC-6"] {
        assert_eq!(verdict(&report, row), "fail", "{row}");
    }
}

#[test]
fn files_alone_say_nothing_about_security() {
    for source in ["examples/shop", "examples/shop-clean"] {
        let (report, _) = audit_json(&[source]);
        assert!(rules(&report).iter().all(|rule| !rule.starts_with('S')), "{source}");
    }
}

/// Runs `checklist --security` on a running deployment. Returns the verdicts by row, and all
/// output.
fn self_check(source: &str, more: &[&str]) -> (Vec<String>, String) {
    let arguments = [&["checklist", source, "--security", "--format", "json"], more].concat();
    let out = docward(&arguments);
    let text = stdout(&out);
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let rows = report["checklist"].as_array().unwrap();
    let of_check = rows.iter().filter(|row| row["id"].as_str().unwrap().starts_with("SC-"));
    (of_check.map(|row| row["verdict"].as_str().unwrap().to_owned()).collect(), text)
}

#[test]
fn sc_1_sc_3_sc_4_sc_5_sc_6_the_self_check_of_running_servers() {
    let servers = Launch::standalone().auth().tls().start();
    servers.insert("db_order.t_order", [bson::doc! { "_id": 1 }]);
    let password = "Mk7-harbour!lamp";
    let create = |name: &str, roles: bson::Bson| {
        servers
            .command("admin", bson::doc! { "createUser": name, "pwd": password, "roles": roles });
        servers.uri_as(Some(&format!("{name}:{password}")))
    };
    let role = |role: &str, db: &str| bson::bson!([{ "role": role, "db": db }]);
    let order = create("order", role("readWrite", "db_order"));
    let auditor = create(
        "auditor",
        bson::bson!(["readAnyDatabase", "clusterMonitor", "userAdminAnyDatabase"]),
    );

    // The server listens on the loopback address, with access control and TLS. No facts about the
    // network are known. The auditor may manage users and is not known to be an application.
    let (verdicts, text) = self_check(&auditor, &["--uri", &order]);
    let expect = ["pass", "unknown", "pass", "pass", "unknown", "pass", "unknown"];
    assert_eq!(verdicts, expect, "{text}");
    assert!(!text.contains(password), "{text}");

    // After the auditor is declared, the accounts pass.
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("docward.toml");
    std::fs::write(&config, "[rules.S004]\nadministrator-names = [\"auditor\"]\n").unwrap();
    let config = config.to_str().unwrap();
    let rules = folder.path().join("network.toml");
    std::fs::write(&rules, &guide()[0]).unwrap();
    let more = ["--uri", &order, "--config", config, "--network-rules", rules.to_str().unwrap()];
    let (verdicts, text) = self_check(&auditor, &more);
    assert_eq!(verdicts, ["pass", "pass", "pass", "pass", "pass", "pass", "unknown"], "{text}");

    // One client logs in as an administrator, and one has a weak password.
    let weak = servers.create_user("stock", role("readWrite", "db_stock"));
    let (verdicts, text) =
        self_check(&auditor, &["--uri", &auditor, "--uri", &servers.uri_as(Some(&weak))]);
    assert_eq!((&*verdicts[3], &*verdicts[4]), ("fail", "fail"), "{text}");
    assert!(
        text.contains(
            "as `auditor`, which has `readAnyDatabase@admin` and `userAdminAnyDatabase@admin`"
        ),
        "{text}"
    );
    assert!(!text.contains(&weak) && !text.contains(password), "{text}");
}

#[test]
fn se_1_sc_3_a_running_server_that_answers_anybody_fails() {
    let servers = Launch::standalone().start();
    servers.insert("db_order.t_order", [bson::doc! { "_id": 1 }]);
    let (verdicts, text) = self_check(&servers.uri(), &[]);
    assert_eq!((&*verdicts[2], &*verdicts[4]), ("fail", "unknown"), "{text}");
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((verdict(&report, "SE-1"), verdict(&report, "SE-2")), ("fail", "pass"), "{text}");
    assert_eq!((verdict(&report, "SE-8"), verdict(&report, "SE-9")), ("unknown", "fail"), "{text}");
}

#[test]
fn se_1_sc_3_a_server_that_waits_for_its_first_user_is_judged() {
    // Access control without an administrator, because the test kit would create one.
    let open = Launch::standalone().argument("--auth").start();
    let output = docward(&["audit", "--format", "json", &open.uri()]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = report["problems"][0]["message"].as_str().unwrap();
    assert!(message.contains("has no users yet"), "{message}");
    assert_eq!(rules(&report), ["S001"]);
    // With a user, the localhost exception no longer applies.
    let closed = Launch::standalone().auth().start();
    let output = docward(&["audit", "--format", "json", &closed.uri_as(None)]);
    let message = crate::common::stderr(&output);
    assert!(message.contains("the connection string has none"), "{message}");
    assert_eq!(output.stdout.len(), 0, "nothing else is said");
    let report: Value =
        serde_json::from_slice(&docward(&["audit", "--format", "json", &closed.uri()]).stdout)
            .unwrap();
    assert!(!rules(&report).contains(&"S001"), "{report:#}");
}
