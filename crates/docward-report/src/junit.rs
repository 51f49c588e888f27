//! Formats a report as JUnit XML, for servers that show test results: a finding is a failed test.

use docward_model::{Change, Finding, Report, Severity, Verdict};
use quick_junit::{
    NonSuccessKind, Report as Suites, TestCase, TestCaseStatus, TestSuite, XmlString,
};

use crate::{
    View, ranking,
    text::{plain, seen},
};

/// Suites of findings or of checklist items. A finding that does not fail the run is a passed test
/// with the finding as its output; rules that could not run are skipped tests.
pub(crate) fn junit(report: &Report, view: View, fails_from: Option<Severity>) -> String {
    let mut suites = Suites::new("docward");
    let mut suite = match view {
        View::Findings => findings(report, fails_from),
        View::Checklist => checklist(report, fails_from),
    };
    // The library counts them as `disabled`; most servers read this attribute.
    let is_skipped = |case: &&TestCase| matches!(case.status, TestCaseStatus::Skipped { .. });
    let skipped = suite.test_cases.iter().filter(is_skipped).count();
    suite.extra.insert("skipped".into(), skipped.to_string().into());
    suites.add_test_suite(suite);
    let obstacles = report.obstacles();
    if !obstacles.is_empty() {
        let mut suite = TestSuite::new("not read in full");
        for problem in &obstacles {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(text(&problem.message));
            let mut case = TestCase::new(text(&problem.source), status);
            case.set_classname("problem");
            suite.add_test_case(case);
        }
        suites.add_test_suite(suite);
    }
    suites.to_string().unwrap_or_default()
}

fn findings(report: &Report, fails_from: Option<Severity>) -> TestSuite {
    let mut suite = TestSuite::new("findings");
    for finding in ranking::readable(report) {
        suite.add_test_case(case(report, finding, fails_from));
    }
    for known in report.compared.iter().flat_map(|compared| &compared.fixed) {
        let name = format!("{} {} {} (fixed)", known.rule, known.name, known.at.text());
        suite.add_test_case(TestCase::new(text(&name), TestCaseStatus::success()));
    }
    for skipped in &report.skipped {
        let mut status = TestCaseStatus::skipped();
        status.set_message(text(&format!("not checked, because the run lacks {}", skipped.needs)));
        suite.add_test_case(TestCase::new(text(&skipped.rule), status));
    }
    if suite.test_cases.is_empty() {
        suite.add_test_case(TestCase::new("nothing was found", TestCaseStatus::success()));
    }
    suite
}

fn case(report: &Report, finding: &Finding, fails_from: Option<Severity>) -> TestCase {
    let mut body = format!("why: {}\ndo: {}\n", finding.why, finding.todo);
    if let Some(fix) = &finding.fix {
        body.push_str(&format!("{}\n", fix.command()));
    }
    if let Some(Change::Changed(before)) = report.compared.as_ref().map(|c| c.change(finding)) {
        body.push_str(&format!("before: {before}\n"));
    }
    body.push_str(&format!("{} · {}", seen(&finding.seen), finding.clauses.join(" ")));
    let fails = report.fails(finding, fails_from);
    let what = format!("{}: {}", finding.severity, finding.what);
    let mut status = if fails {
        TestCaseStatus::non_success(NonSuccessKind::Failure)
    } else {
        TestCaseStatus::success()
    };
    if fails {
        status.set_message(text(&what));
        status.set_type(text(&finding.rule));
        status.set_description(text(&body));
    }
    let name = format!("{} {} {}", finding.rule, finding.name, finding.place());
    let mut case = TestCase::new(text(&name), status);
    case.set_classname(text(&finding.at.namespace().unwrap_or_else(|| "deployment".to_owned())));
    if !fails {
        case.set_system_out(text(&format!("{what}\n{body}")));
    }
    case
}

fn checklist(report: &Report, fails_from: Option<Severity>) -> TestSuite {
    let mut suite = TestSuite::new("checklist");
    for item in &report.checklist {
        let (mut status, message) = match (&item.verdict, &item.waiver) {
            (Verdict::Pass, _) => (TestCaseStatus::success(), String::new()),
            (_, Some(waiver)) => {
                (TestCaseStatus::skipped(), format!("{}; {}", item.evidence, waiver.text()))
            }
            (Verdict::Fail | Verdict::Warn, None)
                if fails_from.is_some_and(|severity| item.fails_from(severity)) =>
            {
                (TestCaseStatus::non_success(NonSuccessKind::Failure), item.evidence.clone())
            }
            (Verdict::Warn, None) => (TestCaseStatus::success(), String::new()),
            (Verdict::Fail, None) => {
                (TestCaseStatus::skipped(), format!("fail: {}", item.evidence))
            }
            (Verdict::Unknown | Verdict::NotApplicable, None) => {
                (TestCaseStatus::skipped(), format!("{}: {}", item.verdict.name(), item.evidence))
            }
        };
        let passed = message.is_empty();
        if !passed {
            status.set_message(text(&message));
        }
        let mut case = TestCase::new(text(&format!("{} {}", item.id, item.title)), status);
        case.set_classname("checklist");
        if passed {
            case.set_system_out(text(&item.evidence));
        }
        suite.add_test_case(case);
    }
    suite
}

/// Replaces characters that XML cannot contain, and characters that change the writing direction.
fn text(text: &str) -> XmlString {
    XmlString::new(plain(text))
}
