//! Formats a pool plan: terminal, JSON, Markdown.

use std::fmt::Write;

use docward_connect::{
    CONNECT_TIMEOUT_MS, Given, MAX_IDLE_MS, Method, Plan, Scenario, Scenarios, ServicePlan,
    Verdict, WAIT_QUEUE_MS, share_text,
};
use docward_model::{LimitScope, Run, text};
use serde_json::{Value, json};

use super::{gravity, plot::plot, verdict};
use crate::Look;
use crate::markdown::cell;
use crate::table::{Column, columns_markdown, columns_table};
use crate::text::{Paint, wrap};

/// A plan with its context.
#[derive(Clone, Debug)]
pub struct PlanReport {
    /// The plan.
    pub plan: Plan,
    /// The scenarios of the plan.
    pub scenarios: Scenarios,
    /// The services as given.
    pub given: Vec<Given>,
    /// The sources of figures that were not on the command line.
    pub origins: Vec<String>,
    /// True if the deployment is a standalone server.
    pub is_standalone: bool,
    /// Currently open connections, for a running deployment.
    pub open_now: Option<u64>,
    /// Docward's version.
    pub version: &'static str,
    /// The date and the command.
    pub run: Run,
}

/// Returns whether the plan itself exceeds the budget; scenarios do not count.
pub fn plan_fails(report: &PlanReport) -> bool {
    report.plan.verdict != Verdict::Fits
}

/// `20 clients of 20 instances through the load balancer, limit 3,000 in all`.
pub(crate) fn subject(report: &PlanReport) -> String {
    let deployment = &report.plan.deployment;
    let clients = report.plan.services.iter().fold(0_u64, |all, s| all.saturating_add(s.clients));
    let limit = text::count(deployment.limit);
    if report.is_standalone {
        return format!(
            "{} of a standalone server, limit {limit} connections",
            text::plural(clients, "client")
        );
    }
    let servers = match deployment.method {
        Method::ReplicaSet => {
            deployment.members.map_or(String::new(), |n| format!(", {}", text::plural(n, "member")))
        }
        _ => format!(", {} mongos", text::count(deployment.routers)),
    };
    let scope = match deployment.scope {
        LimitScope::Total => "in total",
        LimitScope::PerNode => "per server",
    };
    format!(
        "{} by {}{servers}, limit {limit} connections {scope}",
        text::plural(clients, "client"),
        deployment.method.text(),
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

/// The largest pool that fits, as text: 0 would mean no limit.
pub(crate) fn pool_text(pool: u64) -> String {
    if pool == 0 { "none fits".to_owned() } else { text::count(pool) }
}

/// The columns of the scenario table. Servers are members or mongos; connections per server and
/// connections in total are separate columns.
pub(crate) fn scenario_columns(report: &PlanReport) -> Vec<Column<Scenario>> {
    let deployment = &report.plan.deployment;
    let is_set = deployment.method == Method::ReplicaSet;
    let mut columns = vec![
        Column::words("scenario", |row: &Scenario| row.label.clone()),
        Column::number("apps", |row: &Scenario| text::count(row.apps)),
    ];
    if !is_set {
        columns.push(Column::number("mongos", |row: &Scenario| text::count(row.routers)));
    } else if deployment.members.is_some() && !report.is_standalone {
        columns.push(Column::number("members", |row: &Scenario| {
            row.members.map_or(String::new(), text::count)
        }));
    }
    columns.extend([
        Column::number("pool", |row: &Scenario| text::count(row.pool)),
        Column::number("per server", |row: &Scenario| text::count(row.per_node)),
    ]);
    if !report.is_standalone {
        columns.push(Column::number("all servers", |row: &Scenario| text::count(row.total)));
    }
    columns.extend([
        Column::number("of the limit", |row: &Scenario| share_text(row.share)),
        Column::number("largest pool", |row: &Scenario| pool_text(row.cap)),
        Column::words("verdict", |row: &Scenario| row.verdict.name().to_owned()),
    ]);
    columns
}

/// The columns of the service table.
pub(crate) fn service_columns() -> Vec<Column<ServicePlan>> {
    vec![
        Column::words("service", |part: &ServicePlan| part.name.clone()),
        Column::number("clients", |part: &ServicePlan| text::count(part.clients)),
        Column::number("pool", |part: &ServicePlan| text::count(part.pool)),
        Column::words("from", |part: &ServicePlan| part.source.name().to_owned()),
        Column::number("per server", |part: &ServicePlan| text::count(part.per_node)),
        Column::number("all servers", |part: &ServicePlan| text::count(part.total)),
        Column::number("of the limit", |part: &ServicePlan| share_text(part.share)),
        Column::number("largest pool", |part: &ServicePlan| pool_text(part.cap)),
        Column::number("fair pool", |part: &ServicePlan| pool_text(part.fair)),
        Column::words("should read", |part: &ServicePlan| {
            let asks = if part.reads.asks { "?" } else { "" };
            format!("{}{asks} ({})", part.reads.mode, part.reads.clause)
        }),
    ]
}

/// The result of Little's law, if the rate is known.
pub(crate) fn little(part: &ServicePlan) -> Option<String> {
    let mean = part.longest_mean_ms?;
    Some(format!(
        "{}the pool is large enough for a mean of {mean:.1} ms per operation, if no operation \
         waits",
        if part.name.is_empty() { String::new() } else { format!("{}: ", part.name) }
    ))
}

pub(crate) fn terminal(report: &PlanReport, look: Look) -> String {
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
        out.push_str(&columns_table(&service_columns(), &plan.services, look.width));
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
    for line in sums(report) {
        let _ = writeln!(out, "  {}", wrap(&line, look.width, 2, 4));
    }
    out.push('\n');
    out.push_str(&columns_table(&scenario_columns(report), &report.scenarios.rows, look.width));
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

/// The sums: first the one compared with the limit, then the rest.
fn sums(report: &PlanReport) -> Vec<String> {
    let plan = &report.plan;
    let deployment = &plan.deployment;
    let budget =
        format!("budget {} (80 % of {})", text::count(plan.budget), text::count(deployment.limit));
    let all = text::plural(plan.total, "connection");
    let one = text::plural(plan.per_node, "connection");
    let mut lines = match deployment.scope {
        _ if report.is_standalone => vec![format!("{one}; {budget}")],
        LimitScope::PerNode => {
            vec![
                format!("{one} to each server; {budget}, per server"),
                format!("{all} to all servers"),
            ]
        }
        LimitScope::Total => {
            vec![
                format!("{all} to all servers; {budget}, in total"),
                format!(
                    "{one} to each \
             server"
                ),
            ]
        }
    };
    lines.push(format!(
        "{} kept open by minPoolSize; about {} more to monitor servers, not counted{}",
        text::count(plan.warm),
        text::count(plan.monitoring),
        report.open_now.map_or(String::new(), |n| format!("; {} open now", text::count(n)))
    ));
    lines
}

pub(crate) fn markdown(report: &PlanReport) -> String {
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
    for line in sums(report) {
        let _ = writeln!(out, "- {line}");
    }
    out.push('\n');
    columns_markdown(&scenario_columns(report), &report.scenarios.rows, &mut out);
    if plan.services.len() > 1 {
        out.push('\n');
        columns_markdown(&service_columns(), &plan.services, &mut out);
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

pub(crate) fn as_json(report: &PlanReport) -> String {
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
                "perNode": part.per_node,
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
                "label": row.label, "apps": row.apps, "mongos": row.routers, "members": row.members,
                "maxPoolSize": row.pool, "total": row.total, "perNode": row.per_node, "share": row.share, "sharePercent": tenths(row.share),
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
        "counted": plan.counted(),
        "standalone": report.is_standalone,
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

/// A share in percent with one decimal.
fn tenths(share: f64) -> f64 {
    (share * 1_000.0).round() / 10.0
}
