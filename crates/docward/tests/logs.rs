//! `docward audit --log` end to end.

mod common;

use common::{code, docward, stdout};

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
    assert!(stdout(&out).contains("servers before 4.4"));
}

#[test]
fn se_1_a_real_log_is_read_whole_and_without_false_alarms() {
    let Some(folder) = common::shared_data("logs/hatchet/logs") else { return };
    let log = folder.join("sample-mongod.log.gz");
    let out = docward(&["audit", "--format", "json", "--log", &log.to_string_lossy()]);
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(report["problems"], serde_json::json!([]));
    assert_eq!(report["sources"][0]["documents"], 27_995);
    let rules: Vec<_> =
        report["findings"].as_array().expect("findings").iter().map(|f| &f["rule"]).collect();
    assert_eq!(rules, ["S001"], "{report}");
}

#[test]
fn old_text_logs_are_refused_with_the_reason() {
    let Some(folder) = common::shared_data("logs/mtools") else { return };
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
        let text = stdout(&out).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("not a structured") || text.contains("before 4.4"),
            "{}: {text}",
            log.display()
        );
    }
}
