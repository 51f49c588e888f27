//! `docward connect check` through the real binary.
#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use std::{fs, path::Path};

use crate::common::{code, docward, shared_data, stderr, stdout};
use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// Returns the report on these arguments, and the exit code.
fn check(arguments: &[&str]) -> (Value, i32) {
    let mut all = vec!["connect", "check", "--format", "json"];
    all.extend(arguments);
    let output = docward(&all);
    let text = stdout(&output);
    let report = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}\n{text}\n{}", stderr(&output)));
    (report, code(&output))
}

fn rules(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
}

fn finding<'r>(report: &'r Value, rule: &str) -> &'r Value {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["rule"] == rule).unwrap_or_else(|| panic!("{report:#}"))
}

fn settings(folder: &TempDir, text: &str) -> String {
    let path = folder.path().join("docward.toml");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Creates an empty settings file, so that no other is found.
fn plain(folder: &TempDir) -> String {
    settings(folder, "")
}

fn written(path: &Path, text: &str) -> String {
    fs::write(path, text).unwrap();
    path.display().to_string()
}

#[test]
fn suppressions_hold_until_their_last_day() {
    let folder = TempDir::new().unwrap();
    for (day, is_told) in [("2999-12-31", false), ("2020-01-31", true)] {
        let entry =
            format!("[[suppress]]\nrule = \"C011\"\nreason = \"an exporter\"\nexpires = {day}\n");
        let config = settings(&folder, &entry);
        let (report, _) =
            check(&["mongodb://10.0.0.1/?directConnection=true", "--config", &config]);
        assert_eq!(rules(&report).contains(&"C011".to_owned()), is_told, "{day}");
    }
}

#[test]
fn a_string_for_the_own_machine_is_clean() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    for uri in ["mongodb://localhost:27017", "mongodb://127.0.0.1/test", "mongodb://mongo:27017/"] {
        let (report, exit) = check(&[uri, "--config", &config]);
        assert_eq!((exit, rules(&report)), (0, vec![]), "{uri}");
        assert_eq!(report["corrected"][0]["corrected"], *uri);
    }
}

#[test]
fn st_15_cn_01_1_cn_01_3_one_node_without_replica_set_is_corrected() {
    let folder = TempDir::new().unwrap();
    let config = settings(&folder, "[deployment]\ntopology = 'replica-set'\n");
    let uri = "mongodb://order:Abcdef1!xyzw@10.0.0.1:27017/db_order?authSource=admin";
    let (report, exit) = check(&[uri, "--config", &config]);
    assert_eq!(exit, 1);
    for (rule, clause) in [("C010", "CN-01.1"), ("C014", "CN-01.3")] {
        let found = finding(&report, rule);
        assert_eq!(found["severity"], "error");
        assert!(found["clauses"].as_array().unwrap().contains(&clause.into()), "{found}");
        assert_eq!(found["location"]["file"], "argument 1");
        assert_eq!(found["location"]["line"], 1);
    }
    // Counted in the masked string: `mongodb://order:*****@10…`.
    assert_eq!(finding(&report, "C010")["location"]["column"], 23);
    let corrected = report["corrected"][0]["corrected"].as_str().unwrap();
    assert!(
        corrected.starts_with("mongodb://order:*****@10.0.0.1:27017,SECOND_HOST:27017"),
        "{corrected}"
    );
    assert!(corrected.contains("authSource=admin&replicaSet=NAME_OF_THE_SET"), "{corrected}");
    let whole = "mongodb://order@10.0.0.1,10.0.0.2,10.0.0.3/db_order?authSource=admin&replicaSet=cmgo-abc&maxPoolSize=100&minPoolSize=10";
    let (report, exit) = check(&[whole, "--config", &config]);
    assert_eq!((exit, rules(&report)), (0, vec![]));
}

#[test]
fn st_18_rp_1_a_bank_reads_its_balances_from_the_primary() {
    let folder = TempDir::new().unwrap();
    let config = settings(
        &folder,
        "[deployment]\ntopology = 'replica-set'\n[[service]]\nname = 'balance'\nclass = 'core'\n[[service]]\nname = 'history'\nclass = 'read-heavy'\nstale-reads-ms = 1000\n",
    );
    let base = "mongodb://a@10.0.0.1,10.0.0.2,10.0.0.3/db_bank?authSource=admin&replicaSet=rs0&maxPoolSize=100&minPoolSize=10&w=majority";
    let balance = format!("{base}&appName=balance&readPreference=secondary");
    let history = format!("{base}&appName=history&readPreference=secondaryPreferred");
    let (report, exit) = check(&[&balance, &history, "--config", &config]);
    assert_eq!((exit, rules(&report)), (1, vec!["C022".to_owned(), "S010".to_owned()]));
    let corrected = report["corrected"].as_array().unwrap();
    assert!(corrected[0]["corrected"].as_str().unwrap().ends_with("readPreference=primary"));
    assert_eq!(corrected[1]["corrected"], corrected[1]["original"]);
    // The same check with the name of the service instead of the application.
    let unnamed = format!("{base}&readPreference=secondary");
    let (report, _) = check(&[&unnamed, "--service", "balance", "--config", &config]);
    assert_eq!(rules(&report), ["C022"]);
    let unknown =
        docward(&["connect", "check", &unnamed, "--service", "bank", "--config", &config]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("declares `balance` and `history`"), "{}", stderr(&unknown));
}

#[test]
fn sn_28_cm_1_4_cm_2_3_strings_of_the_console_are_read() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let srv = "mongodb+srv://mongouser:*****@abc.tencentmdb.com/test?replicaSet=cmgo-abc_0&authSource=admin&ssl=false";
    let lb = "mongodb://mongouser:*****@10.0.0.100:27017/test?authSource=admin";
    let strings = [
        srv.to_owned(),
        format!("{srv}&readPreference=secondaryPreferred"),
        lb.to_owned(),
        format!(
            "{lb}&readPreference=secondaryPreferred&readPreferenceTags=role-cmgo:primary-secondary-group"
        ),
        format!("{lb}&readPreference=secondaryPreferred"),
    ];
    let mut arguments: Vec<&str> = strings.iter().map(String::as_str).collect();
    arguments.extend(["--config", &config]);
    let (report, exit) = check(&arguments);
    assert_eq!(exit, 0, "{report:#}");
    assert_eq!(report["problems"].as_array().unwrap().len(), 0);
    assert_eq!(report["summary"]["error"], 0);
    let found = rules(&report);
    assert!(found.contains(&"S011".to_owned()) && found.contains(&"S010".to_owned()), "{found:?}");
    assert!(
        !found.contains(&"C028".to_owned()) && !found.contains(&"C029".to_owned()),
        "{found:?}"
    );
}

#[test]
fn st_02_dm_02_4_spellings_of_one_database_are_compared() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let a = "mongodb://10.0.0.1,10.0.0.2/UserCenter?maxPoolSize=50&minPoolSize=5";
    let b = "mongodb://10.0.0.1,10.0.0.2/usercenter?maxPoolSize=50&minPoolSize=5";
    let (report, exit) = check(&[a, b, "--config", &config]);
    assert_eq!(exit, 1);
    let found = finding(&report, "N005");
    assert_eq!((&found["severity"], &found["clauses"][0]), (&"error".into(), &"DM-02.4".into()));
    assert!(found["location"]["file"].as_str().unwrap().starts_with("argument "));
}

#[test]
fn sc_7_no_format_prints_a_password() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let secrets = ["Zebra", "Quagga"];
    let file = written(
        &folder.path().join("clients.txt"),
        "# ours\n\nmongodb://a:Zebra1Zebra@10.0.0.1/db?retryWrites=false\nmongodb://b:Zebra/Quagga@10.0.0.1\n  mongodb://c:Zebra@8.8.8.8,b/?tlsCertificateKeyFilePassword=Quagga&ssl=true&ssl_pem_passphrase=Quagga\nmongodb://d:Quagga\n",
    );
    for format in ["terminal", "json", "sarif", "junit", "markdown", "html", "github", "gitlab"] {
        let output = docward(&[
            "connect",
            "check",
            "--file",
            &file,
            "mongodb://e:Zebra?Quagga@h",
            "mongodb://f:Quagga@h:1/?w=-1",
            "--options",
            "tlsCertificateKeyFilePassword=Quagga",
            "--format",
            format,
            "--config",
            &config,
        ]);
        assert_eq!(code(&output), 2, "{format}: {}", stderr(&output));
        let all = stdout(&output) + &stderr(&output);
        assert!(!all.is_empty());
        for secret in secrets {
            assert!(!all.contains(secret), "{format} prints {secret}:\n{all}");
        }
    }
}

#[test]
fn files_are_read_line_by_line_and_places_are_the_files() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let text = "# clients\n\n  mongodb://ü:Abcdef1!xyzw@10.0.0.1,10.0.0.2/?authSource=admin&retryWrites=false\nhttp://nothing\nmongodb://10.0.0.1:99999/\n";
    let file = written(&folder.path().join("clients.txt"), text);
    let (report, exit) = check(&["--file", &file, "--config", &config]);
    assert_eq!(exit, 2);
    let found = finding(&report, "C016");
    let line = text.lines().nth(2).unwrap();
    let column = line.chars().count() - "retryWrites=false".len() + 1;
    assert_eq!(found["location"]["file"], *file);
    assert_eq!(
        (&found["location"]["line"], &found["location"]["column"]),
        (&3.into(), &column.into())
    );
    let places: Vec<&str> = report["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["source"].as_str().unwrap())
        .collect();
    assert_eq!(places, [format!("{file}:4:1"), format!("{file}:5:20")]);
    assert_eq!(finding(&report, "S012")["severity"], "error");
    // The marks are under the masked string.
    let output = docward(&["connect", "check", "--file", &file, "--config", &config]);
    let printed = stdout(&output);
    let lines: Vec<&str> = printed.lines().collect();
    let at = lines.iter().position(|line| line.contains("^ C016")).unwrap();
    let string = lines.iter().find(|line| line.contains("mongodb://ü:*****@")).unwrap();
    let mark = lines[at].chars().position(|c| c == '^').unwrap();
    assert!(
        string.chars().skip(mark).collect::<String>().starts_with("retryWrites=false"),
        "{printed}"
    );
}

#[test]
fn standard_input_is_read() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let output = Command::cargo_bin("docward")
        .unwrap()
        .args(["connect", "check", "--file", "-", "--format", "json", "--config", &config])
        .write_stdin("mongodb://a,b/?retryReads=false\n")
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(finding(&report, "C016")["location"]["file"], "standard input");
    assert_eq!(report["sources"][0]["kind"], "connection strings");
}

#[test]
fn options_of_the_program_go_before_those_of_the_string() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let uri = "mongodb://a@10.0.0.1,10.0.0.2/db?authSource=admin&maxPoolSize=100&minPoolSize=10&retryWrites=true";
    let (report, _) = check(&[uri, "--config", &config]);
    assert!(!rules(&report).contains(&"C016".to_owned()));
    let options = "retry_writes=false,maxPoolSize=500,maxPolSize=3";
    let (report, exit) = check(&[uri, "--options", options, "--config", &config]);
    assert_eq!(exit, 1);
    let retries = finding(&report, "C016");
    assert_eq!(
        (&retries["location"]["file"], &retries["location"]["column"]),
        (&"--options".into(), &1.into())
    );
    assert_eq!(finding(&report, "C018")["location"]["column"], 20);
    assert_eq!(finding(&report, "C028")["location"]["file"], "--options");
    assert_eq!(report["corrected"][0]["corrected"], report["corrected"][0]["original"]);
    let bad = docward(&["connect", "check", uri, "--options", "tls"]);
    assert!(code(&bad) == 2 && stderr(&bad).contains("name=value"), "{}", stderr(&bad));
}

#[test]
fn gc_28_gc_39_the_driver_counts() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let uri = "mongodb://a@10.0.0.1,10.0.0.2/db?authSource=admin&waitQueueTimeoutMS=5000";
    let what = |driver: &str, rule: &str| {
        let (report, _) = check(&[uri, "--driver", driver, "--config", &config]);
        rules(&report)
            .contains(&rule.to_owned())
            .then(|| finding(&report, rule)["what"].as_str().unwrap().to_owned())
    };
    assert!(what("rust", "C017").unwrap().contains("default is 10 (rust)"));
    assert_eq!(what("php", "C017"), None, "it has no pool");
    assert!(what("go", "C020").unwrap().contains("does not support"));
    assert_eq!(what("java", "C020"), None);
}

#[test]
fn cn_03_1_pools_of_declared_services_are_added_up() {
    let folder = TempDir::new().unwrap();
    let config = settings(
        &folder,
        "[deployment]\ntopology = 'sharded'\nconnection-limit = 3000\n[[service]]\nname = 'order'\ninstances = 20\n",
    );
    let uri =
        "mongodb://a@10.0.0.100/db?authSource=admin&appName=order&maxPoolSize=200&minPoolSize=10";
    let (report, exit) = check(&[uri, "--config", &config]);
    assert_eq!((exit, rules(&report)), (1, vec!["C032".to_owned()]));
    assert!(report["corrected"][0]["corrected"].as_str().unwrap().contains("maxPoolSize=120&"));
}

#[test]
fn misspelled_options_are_corrected_in_place() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let uri =
        "mongodb://a@h1,h2/db?authSource=admin&maxPolSize=100&minPoolSize=10&directConnection=true";
    let (report, _) = check(&[uri, "--config", &config]);
    let expected = "mongodb://a@h1,h2/db?authSource=admin&maxPoolSize=100&minPoolSize=10";
    assert_eq!(report["corrected"][0]["corrected"], expected);
}

#[test]
fn bad_input_is_told_and_the_rest_goes_on() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let (report, exit) = check(&[
        "mongodb://",
        "mongodb://h/?w",
        "mongodb://a,b/?retryReads=false",
        "--config",
        &config,
    ]);
    assert_eq!(exit, 2);
    assert_eq!(report["problems"][0]["source"], "argument 1, column 11");
    assert_eq!(report["problems"][1]["source"], "argument 2, column 14");
    assert_eq!(finding(&report, "C016")["location"]["file"], "argument 3");
    assert!(report["skipped"].as_array().unwrap().is_empty());
    for arguments in [
        vec!["connect", "check"],
        vec!["connect", "check", "--file", "/nowhere/at-all.txt"],
        vec!["connect", "check", "mongodb://h", "--driver", "perl"],
        vec!["connect", "check", "mongodb://h", "--select", "D001"],
    ] {
        let output = docward(&arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(!stderr(&output).is_empty());
    }
    let empty = written(&folder.path().join("empty.txt"), "# nothing\n");
    // If nothing can be read, there is no report, and an existing one stays unchanged.
    let kept = written(&folder.path().join("kept.json"), "yesterday");
    for given in [vec!["--file", &empty], vec!["mongo://h"]] {
        let output = docward(
            &[vec!["connect", "check", "--output", &kept, "--config", &config], given].concat(),
        );
        assert_eq!((code(&output), stdout(&output)), (2, String::new()));
        assert!(stderr(&output).starts_with("error: "), "{}", stderr(&output));
        assert_eq!(fs::read_to_string(&kept).unwrap(), "yesterday");
    }
}

#[test]
fn flags_of_judging_hold() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let uri = "mongodb://u@10.0.0.1,10.0.0.2/db?retryWrites=false";
    let (report, exit) = check(&[uri, "--select", "C016", "--config", &config]);
    assert_eq!((exit, rules(&report)), (1, vec!["C016".to_owned()]));
    let (report, exit) = check(&[uri, "--ignore", "C", "--config", &config]);
    assert_eq!((exit, rules(&report)), (0, vec![]));
    let (_, exit) = check(&[uri, "--fail-on", "never", "--config", &config]);
    assert_eq!(exit, 0);
    let config =
        settings(&folder, "[rules.C016]\nseverity = 'info'\n[rules.C012]\nenabled = false\n");
    let (report, exit) = check(&[uri, "--config", &config]);
    assert_eq!(exit, 0);
    assert_eq!(finding(&report, "C016")["severity"], "info");
    assert!(!rules(&report).contains(&"C012".to_owned()));
    let first = docward(&["connect", "check", uri, "--format", "json", "--config", &config]);
    let second = docward(&["connect", "check", uri, "--format", "json", "--config", &config]);
    assert_eq!(first.stdout, second.stdout);
}

#[test]
fn cm_1_1_a_name_that_leads_nowhere_is_a_problem() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let uri = "mongodb+srv://u:Zebra1Zebra@cluster.invalid/db?authSource=admin";
    let (report, exit) = check(&[uri, "--resolve", "--config", &config]);
    assert_eq!(exit, 2);
    assert_eq!(report["problems"][0]["source"], "argument 1");
    assert!(report["problems"][0]["message"].as_str().unwrap().starts_with("DNS "));
    assert!(!report.to_string().contains("Zebra"));
}

#[test]
fn help_has_examples() {
    let help = stdout(&docward(&["connect", "check", "--help"]));
    assert!(help.contains("Examples:") && help.contains("--resolve"), "{help}");
}

/// Returns what distinguishes the faults of a string.
fn faults(report: &Value, wanted: impl Fn(&Value) -> bool) -> Vec<(u64, String, String)> {
    let findings = report["findings"].as_array().unwrap().iter().filter(|f| wanted(f));
    findings
        .map(|f| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (f["location"]["line"].as_u64().unwrap(), text(&f["rule"]), text(&f["data"]["option"]))
        })
        .collect()
}

/// Checks the corrected strings again: they must contain what a finding proposes. Returns the
/// number of such findings.
fn corrected_strings_hold(strings: &[String]) -> usize {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let path = folder.path().join("strings.txt");
    let run = |strings: &[String]| {
        let file = written(&path, &(strings.join("\n") + "\n"));
        check(&["--file", &file, "--config", &config]).0
    };
    let first = run(strings);
    // There is one line for each valid string; the others keep their position.
    let mut lines = strings.to_vec();
    for entry in first["corrected"].as_array().unwrap() {
        let line: usize =
            entry["source"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
        lines[line - 1] = entry["corrected"].as_str().unwrap().to_owned();
    }
    let second = run(&lines);
    let proposed = faults(&first, |f| !f["data"]["change"].is_null());
    let left = faults(&second, |_| true);
    for fault in &proposed {
        let line = fault.0 as usize - 1;
        assert!(!left.contains(fault), "{fault:?}\n{}\n{}", strings[line], lines[line]);
    }
    // Nothing is left to correct in a corrected string. Masked values are not checked again.
    for entry in second["corrected"].as_array().unwrap() {
        let original = entry["original"].as_str().unwrap();
        assert!(original.contains("=*****") || entry["corrected"] == original, "{entry}");
    }
    // The report lists the remaining findings of each corrected string.
    for entry in first["corrected"].as_array().unwrap() {
        let source = entry["source"].as_str().unwrap();
        let line: u64 = source.rsplit(':').next().unwrap().parse().unwrap();
        let mut told: Vec<&str> = entry["remaining"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["rule"].as_str().unwrap())
            .collect();
        let mut found: Vec<&str> =
            left.iter().filter(|f| f.0 == line).map(|f| f.1.as_str()).collect();
        told.sort_unstable();
        found.sort_unstable();
        // A masked password is not checked again.
        told.retain(|rule| !["S008", "S012"].contains(rule));
        found.retain(|rule| !["S008", "S012"].contains(rule));
        // Some rules report a mistake only once for all strings with the same hosts.
        assert!(found.iter().all(|rule| told.contains(rule)), "{told:?} {found:?} {entry}");
    }
    proposed.len()
}

#[test]
fn cn_01_corrected_strings_have_what_findings_propose() {
    let strings = [
        "mongodb://app@h1,h2/?authSource=admin&maxPoolSize=100&minPoolSize=10&readPreference=secondry",
        "mongodb://app:${P}@db1/shop",
        "mongodb+srv://app:${P}@c.example.net/shop",
        "mongodb://app@h1,h2/?maxPolSize=500&retryWrites=false&retryReads=false",
        "mongodb://app@h1,h2,h1/config?maxPoolSize=5&minPoolSize=50&maxIdleTimeMS=0&connectTimeoutMS=1",
        "mongodb://app@8.8.8.8/?tls=true&tlsAllowInvalidCertificates=true&tlsAllowInvalidHostnames=true",
        "mongodb://app:${P}@10.0.0.1/?authMechanism=MONGODB-X509&authSource=admin&tls=true",
        "mongodb://10.0.0.1/?directConnection=true&safe=true&slaveOk=true&foo=1",
        "mongodb://app@h1,h2/?ssl_ca_certs=ca.pem&wtimeout=5&timeoutMS=9&socketTimeoutMS=3",
        "mongodb://app@h1,h2/?w=0&journal=true&replicaSet=a&replicaSet=b",
        "mongodb://app@h1,h2/db?authSource=",
        "mongodb://h1/?maxStalenessSeconds=10&readPreference=secondry",
        "mongodb://h1/?loadBalanced=true&maxPoolSize=0",
        "mongodb://h1,h1/?replicaSet=rs0&directConnection=true",
    ];
    let strings: Vec<String> = strings.iter().map(|text| (*text).to_owned()).collect();
    assert!(corrected_strings_hold(&strings) >= 25);
}

#[test]
fn cn_01_every_string_is_corrected_also_with_the_same_hosts() {
    let folder = TempDir::new().unwrap();
    let string = |n: u32| {
        format!(
            "mongodb://app@db1.acme.io,db2.acme.io/a?replicaSet=r&tlsInsecure=true&appName=svc{n}\n"
        )
    };
    let lines: String = (0..12).map(string).collect();
    let file = written(&folder.path().join("many.txt"), &lines);
    let (report, _) = check(&["--file", &file, "--config", &plain(&folder)]);
    for entry in report["corrected"].as_array().unwrap() {
        let corrected = entry["corrected"].as_str().unwrap();
        assert!(!corrected.contains("tlsInsecure"), "{entry}");
    }
}

#[test]
fn cn_01_the_corrected_strings_of_the_drivers_cases_hold() {
    let mut strings = Vec::new();
    for name in ["connection-string", "uri-options"] {
        let Some(folder) = shared_data(&format!("specs/source/{name}/tests")) else { return };
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
            let cases: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
            let uris = cases["tests"].as_array().unwrap().iter().map(|case| &case["uri"]);
            strings.extend(uris.map(|uri| uri.as_str().unwrap().to_owned()));
        }
    }
    strings.retain(|text| !text.is_empty() && !text.contains('\n'));
    assert!(corrected_strings_hold(&strings) >= 100);
}

#[test]
fn cn_01_2_what_only_people_know_is_left_to_them() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let last = |uri: &str| {
        let (report, _) = check(&[uri, "--config", &config]);
        let remaining = report["corrected"][0]["remaining"].as_array().unwrap().clone();
        let todo = finding(&report, "C012")["todo"].as_str().unwrap().to_owned();
        assert!(remaining.iter().any(|left| left["rule"] == "C012"), "{report:#}");
        assert!(
            !report["corrected"][0]["corrected"].as_str().unwrap().contains("authSource"),
            "{report:#}"
        );
        todo
    };
    let todo = last("mongodb://app:${P}@db1/shop");
    assert!(todo.contains("authSource=admin") && todo.contains("authSource=shop"), "{todo}");
    let todo = last("mongodb+srv://app:${P}@c.example.net/");
    assert!(todo.contains("TXT record") && !todo.contains("authSource=admin"), "{todo}");
    // Without a database in the path, drivers use `admin`, so adding it changes nothing.
    let (report, _) = check(&["mongodb://app:${P}@db1,db2/", "--config", &config]);
    assert!(report["corrected"][0]["corrected"].as_str().unwrap().contains("authSource=admin"));
    let shown =
        stdout(&docward(&["connect", "check", "mongodb://app:${P}@db1/shop", "--config", &config]));
    assert!(shown.contains("left for you to decide\n  C0"), "{shown}");
    assert!(!shown.contains("nothing to correct"), "{shown}");
}

#[test]
fn se_1_strings_without_a_login_are_reported_unless_code_gives_it() {
    let folder = TempDir::new().unwrap();
    let config = plain(&folder);
    let uri = "mongodb://10.0.0.1,10.0.0.2/db?replicaSet=rs0&maxPoolSize=100&minPoolSize=10";
    let (report, exit) = check(&[uri, "--config", &config]);
    assert_eq!((exit, rules(&report)), (0, vec!["S013".to_owned()]));
    assert_eq!(finding(&report, "S013")["severity"], "warn");
    for options in ["username=app", "auth=app", "user=app,password=Zebra"] {
        let (report, _) = check(&[uri, "--options", options, "--config", &config]);
        assert_eq!(rules(&report), Vec::<String>::new(), "{options}");
        assert!(!report.to_string().contains("Zebra"));
    }
    // The option for a client's string has the same name as in `audit`.
    let (report, _) = check(&["--client-uri", uri, "--config", &config]);
    assert_eq!(rules(&report), ["S013"]);
}
