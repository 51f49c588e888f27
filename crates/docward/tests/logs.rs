//! Tests `docward audit --log` with the real binary.

use crate::common::{code, docward, stderr};

#[test]
fn logs_show_the_workload_and_text_logs_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("mongod.log");
    let line = |second: u32| {
        format!(
            r#"{{"t":{{"$date":"2024-03-15T10:30:{second:02}.000Z"}},"s":"I","c":"COMMAND","id":51803,"ctx":"conn1","msg":"Slow query","attr":{{"type":"command","ns":"shop.orders","command":{{"find":"orders","filter":{{"status":"new"}}}},"planSummary":"COLLSCAN","docsExamined":50000,"nreturned":3,"durationMillis":40}}}}"#
        )
    };
    let lines: Vec<String> = (0..5).map(line).chain(["{broken".to_owned()]).collect();
    std::fs::write(&log, lines.join("\n")).expect("written");
    let out = docward(&["audit", "--format", "json", "--log", &log.to_string_lossy()]);
    assert_eq!(code(&out), 2, "one line is broken");
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(report["findings"][0]["rule"], "W001");
    assert!(
        report["problems"][0]["message"].as_str().is_some_and(|m| m.contains("line 6")),
        "{report}"
    );

    std::fs::write(
        &log,
        "2019-03-15T10:30:00.000+0000 I  NETWORK  [listener] connection accepted\n",
    )
    .expect("written");
    let out = docward(&["audit", "--log", &log.to_string_lossy()]);
    assert_eq!(code(&out), 2);
    assert!(stderr(&out).contains("servers before 4.4"));
}

/// Returns a log with entries for W001.
fn scans() -> Vec<String> {
    let line = |second: u32| {
        format!(
            r#"{{"t":{{"$date":"2024-03-15T10:30:{second:02}.000Z"}},"s":"I","c":"COMMAND","id":51803,"ctx":"conn1","msg":"Slow query","attr":{{"type":"command","ns":"shop.orders","command":{{"find":"orders","filter":{{"status":"new"}}}},"planSummary":"COLLSCAN","docsExamined":50000,"nreturned":3,"durationMillis":40}}}}"#
        )
    };
    (0..5).map(line).collect()
}

#[test]
fn logs_are_read_as_containers_and_collectors_pass_them_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("mongod.log");
    let wrapped =
        |wrap: &dyn Fn(&String) -> String| scans().iter().map(wrap).collect::<Vec<_>>().join("\n");
    let docker = |line: &String| {
        let whole =
            serde_json::json!({"log": format!("{line}\n"), "stream": "stdout", "time": "x"});
        whole.to_string()
    };
    let in_pieces = |line: &String| {
        let (a, b) = line.split_at(100);
        let piece = |text: String| serde_json::json!({"log": text, "stream": "stdout"}).to_string();
        format!("{}\n{}", piece(a.to_owned()), piece(format!("{b}\n")))
    };
    let kubernetes = |line: &String| {
        let (a, b) = line.split_at(100);
        format!("2024-03-15T10:30:00.1Z stdout P {a}\n2024-03-15T10:30:00.1Z stdout F {b}")
    };
    let journal = |line: &String| format!("Mar 15 10:30:00 host mongod[29]: {line}");
    let compose = |line: &String| format!("mongo_1  | {line}");
    let plain = wrapped(&String::clone);
    for text in [
        format!(
            "about to fork child process, waiting until server is ready.\nforked process: 29\n\n{plain}"
        ),
        format!("e\":\"command\",\"ns\":\"a.b\"}}}}\n{plain}"),
        wrapped(&docker),
        wrapped(&in_pieces),
        wrapped(&kubernetes),
        wrapped(&journal),
        wrapped(&compose),
    ] {
        std::fs::write(&log, &text).expect("written");
        let out = docward(&["audit", "--format", "json", "--log", &log.to_string_lossy()]);
        let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
        assert_eq!(report["findings"][0]["rule"], "W001", "{text}\n{report}");
        assert_eq!(report["sources"][0]["documents"], 5, "{text}");
        assert_eq!(report["problems"], serde_json::json!([]), "{text}");
    }
}

#[test]
fn a_log_is_read_from_standard_input() {
    let out = assert_cmd::Command::cargo_bin("docward")
        .expect("the program")
        .args(["audit", "--format", "json", "--log", "-"])
        .write_stdin(scans().join("\n"))
        .output()
        .expect("it runs");
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(report["findings"][0]["rule"], "W001", "{report}");
}

#[test]
fn se_1_ck_15_a_real_log_is_read_whole_and_without_false_alarms() {
    let Some(folder) = crate::common::shared_data("logs/hatchet/logs") else { return };
    let log = folder.join("sample-mongod.log.gz");
    let out = docward(&["audit", "--format", "json", "--log", &log.to_string_lossy()]);
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(report["problems"], serde_json::json!([]));
    assert_eq!(report["sources"][0]["documents"], 27_995);
    let rules: Vec<_> =
        report["findings"].as_array().expect("findings").iter().map(|f| &f["rule"]).collect();
    // Every update there follows a read of the same document on the same connection.
    assert_eq!(rules, ["S001", "W010"], "{report}");
    assert_eq!(report["findings"][1]["data"]["times"], 2_988);
}

#[test]
fn old_text_logs_are_refused_with_the_reason() {
    let Some(folder) = crate::common::shared_data("logs/mtools") else { return };
    let mut logs = Vec::new();
    let mut open = vec![folder];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).expect("a folder").flatten().map(|e| e.path()));
        } else if path.extension().is_some_and(|e| e == "log") {
            logs.push(path);
        }
    }
    assert!(!logs.is_empty());
    for log in logs {
        let out = docward(&["audit", "--log", &log.to_string_lossy()]);
        assert_eq!(code(&out), 2, "{}", log.display());
        let text = stderr(&out).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("not a structured") || text.contains("before 4.4"),
            "{}: {text}",
            log.display()
        );
    }
}
