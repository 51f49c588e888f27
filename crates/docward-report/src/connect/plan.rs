//! A plan of pools: terminal, JSON, Markdown.

use std::fmt::Write;

use docward_connect::{
    CONNECT_TIMEOUT_MS, Given, MAX_IDLE_MS, Method, Plan, Scenario, Scenarios, ServicePlan,
    Verdict, WAIT_QUEUE_MS, share_text,
};
use docward_model::{LimitScope, text};
use serde_json::{Value, json};

use super::{Look, Shape, gravity, plot::plot, table, verdict};
use crate::markdown::cell;
use crate::text::{Paint, wrap};

/// A plan with what belongs to it.
#[derive(Clone, Debug)]
pub struct PlanReport {
    /// The plan.
    pub plan: Plan,
    /// What it may become.
    pub scenarios: Scenarios,
    /// The services as they were given.
    pub given: Vec<Given>,
    /// Where figures come from that were not on the command line.
    pub origins: Vec<String>,
    /// Connections open now, of a running deployment.
    pub open_now: Option<u64>,
    /// Docward's version.
    pub version: &'static str,
}

/// Whether the plan itself breaks the budget; what may become of it does not count.
pub fn plan_fails(report: &PlanReport) -> bool {
    report.plan.verdict != Verdict::Fits
}

/// The plan as text.
pub fn plan_report(report: &PlanReport, shape: Shape, look: Look) -> String {
    match shape {
        Shape::Terminal => terminal(report, look),
        Shape::Json => as_json(report),
        Shape::Markdown => markdown(report),
        Shape::Html => crate::html::connections::page(report),
    }
}

/// `20 clients of 20 instances through the load balancer, limit 3,000 in all`.
pub(crate) fn subject(report: &PlanReport) -> String {
    let deployment = &report.plan.deployment;
    let clients = report.plan.services.iter().fold(0_u64, |all, s| all.saturating_add(s.clients));
    let servers = match deployment.method {
        Method::ReplicaSet => {
            deployment.members.map_or(String::new(), |n| format!(", {}", text::plural(n, "member")))
        }
        _ => format!(", {} mongos", text::count(deployment.routers)),
    };
    let scope = match deployment.scope {
        LimitScope::Total => "in all",
        LimitScope::PerNode => "for each server",
    };
    format!(
        "{} by {}{servers}, {} accepted {scope}",
        text::plural(clients, "client"),
        deployment.method.text(),
        text::plural(deployment.limit, "connection")
    )
}

fn options(part: &ServicePlan) -> String {
    format!(
        "maxPoolSize {} ({}), minPoolSize {}, maxIdleTimeMS {MAX_IDLE_MS}, waitQueueTimeoutMS \
         {WAIT_QUEUE_MS}, connectTimeoutMS {CONNECT_TIMEOUT_MS}",
        part.pool,
        part.source.name(),
        part.min_pool
    )
}

/// The headings of the table of scenarios.
pub(crate) const HEADINGS: [&str; 8] =
    ["scenario", "apps", "mongos", "pool", "connections", "share", "largest pool", "verdict"];

/// A scenario as cells.
pub(crate) fn cells(row: &Scenario) -> [String; 8] {
    [
        row.label.clone(),
        text::count(row.apps),
        text::count(row.routers),
        text::count(row.pool),
        text::count(row.total),
        share_text(row.share),
        text::count(row.cap),
        row.verdict.name().to_owned(),
    ]
}

/// By Little's law, when the rate is known.
pub(crate) fn little(part: &ServicePlan) -> Option<String> {
    let mean = part.longest_mean_ms?;
    Some(format!(
        "{}its connections are enough for a mean of {mean:.1} ms per operation, if none ever waits",
        if part.name.is_empty() { String::new() } else { format!("{}: ", part.name) }
    ))
}

fn terminal(report: &PlanReport, look: Look) -> String {
    let paint = Paint { color: look.color };
    let plan = &report.plan;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} {} {}",
        verdict(paint, plan.verdict),
        paint.bold(&share_text(plan.share)),
        wrap(&format!("of the limit; {}", subject(report)), look.width, 20, 2)
    );
    for origin in &report.origins {
        let _ = writeln!(out, "  {}", paint.dim(&wrap(origin, look.width, 2, 2)));
    }
    out.push('\n');
    if let [part] = plan.services.as_slice() {
        let _ = writeln!(out, "  {}", wrap(&options(part), look.width, 2, 4));
        if let Some(base) = part.base {
            let demand =
                format!("demand of an instance: {} (PF-4)", text::plural(base, "connection"));
            let _ = writeln!(out, "  {demand}");
        }
    } else {
        out.push_str(&services_table(plan));
    }
    if let [part] = plan.services.as_slice()
        && !part.reads.asks
    {
        let reads = format!(
            "readPreference {}: {} ({})",
            part.reads.mode, part.reads.why, part.reads.clause
        );
        let _ = writeln!(out, "  {}", wrap(&reads, look.width, 2, 4));
    }
    for line in plan.services.iter().filter_map(little) {
        let _ = writeln!(out, "  {}", wrap(&line, look.width, 2, 4));
    }
    let _ = writeln!(
        out,
        "  {} of {} budgeted (80 %); {} warm; about {} more to watch servers{}",
        counted(plan),
        text::count(plan.budget),
        text::count(plan.warm),
        text::count(plan.monitoring),
        report.open_now.map_or(String::new(), |n| format!("; {} open now", text::count(n)))
    );
    out.push('\n');
    let mut rows = vec![HEADINGS.map(str::to_owned).to_vec()];
    rows.extend(report.scenarios.rows.iter().map(|row| cells(row).to_vec()));
    out.push_str(&table(&rows, &[0, 7], 2));
    let mark = report.given.first().map_or(0, |given| given.instances);
    let _ = writeln!(out, "\n  share of the limit by applications (◆ today)");
    out.push_str(&plot(&report.scenarios.curve, mark, 2));
    if !plan.warnings.is_empty() {
        out.push('\n');
    }
    for warning in &plan.warnings {
        let line = format!("{} ({})", warning.message, warning.clause);
        let _ = writeln!(
            out,
            "  {} {}",
            gravity(paint, warning.gravity),
            wrap(&line, look.width, 12, 12)
        );
    }
    if !report.scenarios.advice.is_empty() {
        let _ = writeln!(out, "\n  {}", paint.bold("what to do"));
    }
    for advice in &report.scenarios.advice {
        let line = format!("{} ({})", advice.message, advice.clause);
        let _ = writeln!(out, "  - {}", wrap(&line, look.width, 4, 4));
    }
    out
}

/// What the limit counts.
fn counted(plan: &Plan) -> String {
    match plan.deployment.scope {
        LimitScope::Total => text::plural(plan.total, "connection"),
        LimitScope::PerNode => format!("{} to a server", text::plural(plan.per_node, "connection")),
    }
}

/// The headings of the table of services.
pub(crate) const SERVICE_HEADINGS: [&str; 9] = [
    "service",
    "clients",
    "pool",
    "from",
    "connections",
    "share",
    "largest pool",
    "fair pool",
    "should read",
];

/// A service as cells.
pub(crate) fn service_cells(part: &ServicePlan) -> [String; 9] {
    [
        part.name.clone(),
        text::count(part.clients),
        text::count(part.pool),
        part.source.name().to_owned(),
        text::count(part.total),
        share_text(part.share),
        text::count(part.cap),
        text::count(part.fair),
        format!(
            "{}{} ({})",
            part.reads.mode,
            if part.reads.asks { "?" } else { "" },
            part.reads.clause
        ),
    ]
}

fn services_table(plan: &Plan) -> String {
    let mut rows = vec![SERVICE_HEADINGS.map(str::to_owned).to_vec()];
    rows.extend(plan.services.iter().map(|part| service_cells(part).to_vec()));
    table(&rows, &[0, 8], 2)
}

fn markdown(report: &PlanReport) -> String {
    let plan = &report.plan;
    let mut out = String::new();
    let head = cell(&subject(report));
    let _ = writeln!(
        out,
        "### Connections: {} of the limit, {}\n\n{head}.\n",
        share_text(plan.share),
        plan.verdict.name()
    );
    for part in &plan.services {
        let name = if part.name.is_empty() {
            String::new()
        } else {
            format!("**{}**: ", cell(&part.name))
        };
        let _ = writeln!(out, "{name}`{}`\n", options(part));
    }
    let line = |cells: &[String]| {
        format!("| {} |", cells.iter().map(|c| cell(c)).collect::<Vec<_>>().join(" | "))
    };
    let _ = writeln!(out, "| {} |\n|---|{}", HEADINGS.join(" | "), "---:|".repeat(6) + "---|");
    for row in &report.scenarios.rows {
        let _ = writeln!(out, "{}", line(&cells(row)));
    }
    if plan.services.len() > 1 {
        let _ = writeln!(out, "\n| {} |\n|{}", SERVICE_HEADINGS.join(" | "), "---|".repeat(9));
        for part in &plan.services {
            let _ = writeln!(out, "{}", line(&service_cells(part)));
        }
    }
    out.push('\n');
    for warning in &plan.warnings {
        let _ = writeln!(
            out,
            "- **{}** {} ({})",
            warning.gravity.name(),
            cell(&warning.message),
            warning.clause
        );
    }
    for advice in &report.scenarios.advice {
        let _ = writeln!(out, "- {} ({})", cell(&advice.message), advice.clause);
    }
    out
}

fn as_json(report: &PlanReport) -> String {
    let plan = &report.plan;
    let first = plan.services.first();
    let given = report.given.first();
    let services: Vec<Value> = plan
        .services
        .iter()
        .zip(&report.given)
        .map(|(part, given)| {
            json!({
                "name": part.name,
                "class": given.class.map(|class| class.name()),
                "platform": part.platform.name(),
                "instances": given.instances,
                "processes": given.processes,
                "clients": part.clients,
                "maxPoolSize": part.pool,
                "poolFrom": part.source.name(),
                "minPoolSize": part.min_pool,
                "base": part.base,
                "total": part.total,
                "share": part.share,
                "cap": part.cap,
                "fairPoolSize": part.fair,
                "longestMeanMs": part.longest_mean_ms,
                "readPreference": {
                    "mode": part.reads.mode,
                    "clause": part.reads.clause,
                    "why": part.reads.why,
                    "mustBeDecided": part.reads.asks,
                },
            })
        })
        .collect();
    let scenarios: Vec<Value> = report
        .scenarios
        .rows
        .iter()
        .map(|row| {
            json!({
                "label": row.label, "apps": row.apps, "mongos": row.routers, "maxPoolSize": row.pool,
                "total": row.total, "share": row.share, "sharePercent": tenths(row.share),
                "cap": row.cap, "verdict": row.verdict.name(),
            })
        })
        .collect();
    let warnings: Vec<Value> = plan
        .warnings
        .iter()
        .map(|w| json!({ "severity": w.gravity.severity().name(), "gravity": w.gravity.name(), "clause": w.clause, "message": w.message }))
        .collect();
    let advice: Vec<Value> = report
        .scenarios
        .advice
        .iter()
        .map(|a| json!({ "clause": a.clause, "message": a.message }))
        .collect();
    let value = json!({
        "version": 1,
        "method": plan.deployment.method.name(),
        "apps": report.given.iter().fold(0_u64, |all, g| all.saturating_add(g.instances)),
        "processes": given.map(|g| g.processes),
        "mongos": plan.deployment.routers,
        "members": plan.deployment.members,
        "maxPoolSize": first.map(|part| part.pool),
        "minPoolSize": first.map(|part| part.min_pool),
        "maxIdleTimeMS": MAX_IDLE_MS,
        "waitQueueTimeoutMS": WAIT_QUEUE_MS,
        "connectTimeoutMS": CONNECT_TIMEOUT_MS,
        "base": first.and_then(|part| part.base),
        "total": plan.total,
        "perNode": plan.per_node,
        "limit": plan.deployment.limit,
        "limitScope": plan.deployment.scope.name(),
        "budget": plan.budget,
        "share": plan.share,
        "sharePercent": tenths(plan.share),
        "cap": first.map(|part| part.cap),
        "verdict": plan.verdict.name(),
        "monitoring": plan.monitoring,
        "warm": plan.warm,
        "openNow": report.open_now,
        "longestMeanMs": first.and_then(|part| part.longest_mean_ms),
        "warnings": warnings,
        "advice": advice,
        "scenarios": scenarios,
        "services": services,
        "curve": report.scenarios.curve.iter().map(|(apps, share)| json!([apps, share])).collect::<Vec<_>>(),
        "origins": report.origins,
    });
    format!("{value:#}\n")
}

/// A share in percent with one digit behind the point.
fn tenths(share: f64) -> f64 {
    (share * 1_000.0).round() / 10.0
}
