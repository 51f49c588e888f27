//! Formats the choice of a method: terminal, JSON, Markdown.

use std::fmt::Write;

use docward_connect::{ALARM, Choice, LockedDriver, Method, Reason, Skew};
use docward_model::text;
use serde_json::{Value, json};

use crate::markdown::cell;
use crate::table::table;
use crate::text::{Paint, wrap};
use crate::{Format, Look};

/// The choice as text; `locked` are the drivers found in files.
pub fn choice(
    choice: &Choice,
    locked: &[(String, LockedDriver)],
    format: Format,
    look: Look,
) -> String {
    match format {
        Format::Json => as_json(choice, locked),
        Format::Markdown => markdown(choice),
        _ => terminal(choice, locked, look),
    }
}

fn found(file: &str, driver: &LockedDriver) -> String {
    format!(
        "{file}:{}: {} {}{}",
        driver.line,
        driver.package,
        driver.version,
        if driver.exact { "" } else { " or later, as asked for" }
    )
}

fn comparison(choice: &Choice) -> Vec<Vec<String>> {
    let Some(first) = choice.comparison.first() else { return Vec::new() };
    let mut heading = vec![String::new()];
    heading.extend(first.cells.iter().map(|(method, _)| heading_of(*method).to_owned()));
    heading.push(String::new());
    let mut rows = vec![heading];
    rows.extend(choice.comparison.iter().map(|row| {
        let mut cells = vec![row.aspect.to_owned()];
        cells.extend(row.cells.iter().map(|(_, text)| text.clone()));
        cells.push(row.clause.to_owned());
        cells
    }));
    rows
}

fn heading_of(method: Method) -> &'static str {
    match method {
        Method::Srv => "SRV",
        Method::LoadBalancer => "load balancer",
        Method::AllRouters => "all mongos",
        Method::ReplicaSet => "list of members",
    }
}

/// The simulation of a load balancer, if that is the chosen method; for other methods it is
/// irrelevant.
fn skew_of_answer(choice: &Choice) -> Option<&Skew> {
    choice.skew.as_ref().filter(|_| choice.method == Method::LoadBalancer)
}

fn terminal(choice: &Choice, locked: &[(String, LockedDriver)], look: Look) -> String {
    let paint = Paint { color: look.color };
    let mut out = String::new();
    let name = paint.bold(choice.method.name());
    let _ = writeln!(out, "{name}: connect by {}", choice.how);
    for (file, driver) in locked {
        let _ = writeln!(out, "  {}", paint.dim(&found(file, driver)));
    }
    let list = |out: &mut String, title: &str, reasons: &[Reason]| {
        if reasons.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n  {}", paint.bold(title));
        for reason in reasons {
            let line = format!("{} ({})", reason.message, reason.clause);
            let _ = writeln!(out, "  - {}", wrap(&line, look.width, 4, 4));
        }
    };
    list(&mut out, "why", &choice.reasons);
    list(&mut out, "what remains", &choice.warnings);
    list(&mut out, "before you connect", &choice.preconditions);
    if let Some((method, against)) = &choice.runner_up {
        list(&mut out, &format!("second best: {}", method.name()), against);
        if against.is_empty() {
            let _ = writeln!(out, "\n  {}", paint.bold(&format!("second best: {}", method.name())));
        }
    }
    let _ = writeln!(out, "\n  {}", paint.bold("the connection string"));
    let _ = writeln!(out, "  {}\n", choice.uri);
    out.push_str(&table(&comparison(choice), &[0, 1, 2, 3, 4], 2));
    if let Some(skew) = skew_of_answer(choice) {
        out.push('\n');
        out.push_str(&histogram(skew, paint, look.width));
    }
    out
}

/// Describes how a balancer would distribute the clients.
fn in_words(skew: &Skew) -> String {
    format!(
        "{} on {} mongos behind a balancer that hashes addresses, simulated {} times: the busiest \
         mongos gets {:.1} times the mean ({:.1} at the 95th percentile), {} {} idle; {} of the \
         runs are above the alarm threshold of {ALARM}",
        if skew.clients == 1 {
            "1 client address".to_owned()
        } else {
            format!("{} client addresses", text::count(u64::from(skew.clients)))
        },
        text::count(u64::from(skew.routers)),
        text::count(skew.runs),
        skew.median,
        skew.p95,
        text::count(u64::from(skew.idle_median)),
        text::form(u64::from(skew.idle_median), "stays", "stay"),
        text::percent(skew.alarm_share)
    )
}

fn histogram(skew: &Skew, paint: Paint, width: usize) -> String {
    let mut out = String::new();
    let word = if skew.alarms() { paint.red("ALARM") } else { paint.green("even ") };
    let _ =
        writeln!(out, "  {word} {}", wrap(&format!("{} (CM-2.4)", in_words(skew)), width, 8, 4));
    let most = skew.histogram.iter().map(|(_, _, n)| *n).max().unwrap_or(1).max(1);
    for (from, below, n) in &skew.histogram {
        let bar = "█".repeat((*n as f64 / most as f64 * 40.0).ceil() as usize);
        let line = format!("  {from:>6.2} to {below:<6.2} {bar} {}", text::count(*n));
        let _ = writeln!(out, "{line}");
    }
    out
}

fn markdown(choice: &Choice) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "### Connect by {} (`{}`)\n", choice.how, choice.method.name());
    let list = |out: &mut String, title: &str, reasons: &[Reason]| {
        if !reasons.is_empty() {
            let _ = writeln!(out, "{title}\n");
            for reason in reasons {
                let _ = writeln!(out, "- {} ({})", cell(&reason.message), reason.clause);
            }
            out.push('\n');
        }
    };
    list(&mut out, "Why:", &choice.reasons);
    list(&mut out, "What remains:", &choice.warnings);
    list(&mut out, "Before you connect:", &choice.preconditions);
    if let Some((method, against)) = &choice.runner_up {
        let title = format!("Second best: `{}`.", method.name());
        if against.is_empty() {
            let _ = writeln!(out, "{title}\n");
        }
        list(&mut out, &title, against);
    }
    let _ = writeln!(out, "```\n{}\n```\n", choice.uri);
    for (at, row) in comparison(choice).iter().enumerate() {
        let _ =
            writeln!(out, "| {} |", row.iter().map(|c| cell(c)).collect::<Vec<_>>().join(" | "));
        if at == 0 {
            let _ = writeln!(out, "|{}", "---|".repeat(row.len()));
        }
    }
    if let Some(skew) = skew_of_answer(choice) {
        let _ = writeln!(out, "\n{} (CM-2.4).", in_words(skew));
    }
    out
}

fn as_json(choice: &Choice, locked: &[(String, LockedDriver)]) -> String {
    let list = |reasons: &[Reason]| -> Vec<Value> {
        reasons.iter().map(|r| json!({ "clause": r.clause, "message": r.message })).collect()
    };
    let comparison: Vec<Value> = choice
        .comparison
        .iter()
        .map(|row| {
            let mut value = json!({ "clause": row.clause, "aspect": row.aspect });
            for (method, text) in &row.cells {
                value[method.name()] = text.as_str().into();
            }
            value
        })
        .collect();
    let skew = choice.skew.as_ref().map(|skew| {
        json!({
            "clientIps": skew.clients, "mongos": skew.routers, "runs": skew.runs,
            "maxOverMean": { "median": skew.median, "p95": skew.p95 },
            "idle": { "median": skew.idle_median, "least": skew.idle_least },
            "alarm": skew.alarms(), "alarmAbove": ALARM, "alarmShare": skew.alarm_share,
            "histogram": skew.histogram.iter()
                .map(|(from, below, n)| json!({ "from": from, "below": below, "runs": n }))
                .collect::<Vec<_>>(),
        })
    });
    let drivers: Vec<Value> = locked
        .iter()
        .map(|(file, driver)| {
            json!({
                "file": file, "line": driver.line, "language": driver.driver.language.name(),
                "package": driver.package, "version": driver.version, "exact": driver.exact,
                "srv": driver.driver.srv() == docward_connect::SrvSupport::Yes,
            })
        })
        .collect();
    let value = json!({
        "version": 1,
        "method": choice.method.name(),
        "how": choice.how,
        "reasons": list(&choice.reasons),
        "warnings": list(&choice.warnings),
        "preconditions": list(&choice.preconditions),
        "runnerUp": choice.runner_up.as_ref().map(|(method, against)| {
            json!({ "method": method.name(), "against": list(against) })
        }),
        "comparison": comparison,
        "uri": choice.uri,
        "skew": skew,
        "drivers": drivers,
    });
    format!("{value:#}\n")
}
