//! Reads the declarations about the deployment and the services that connect to it.

use docward_model::{
    DeclaredDeployment, DeclaredTopology, LimitScope, NamespacePattern, Service, ServiceClass,
    Settings,
};

use super::{pattern, word};
use crate::{
    diagnostic::Diagnostics,
    raw::{At, Raw, RawDeployment, RawService},
    suggest::excerpt,
};

/// The maximum for a number of machines, connections or milliseconds: larger ones are typing
/// errors.
const MAX_VALUE: i64 = 1_000_000_000;

/// Reads `[[service]]`, and the keys of `[deployment]` about connections.
pub(super) fn read(raw: &Raw<'_>, settings: &mut Settings, out: &mut Diagnostics<'_>) {
    settings.deployment = deployment(&raw.deployment, out);
    for entry in &raw.services {
        if let Some(service) = service(entry, &settings.services, out) {
            settings.services.push(service);
        }
    }
}

fn deployment(raw: &RawDeployment<'_>, out: &mut Diagnostics<'_>) -> DeclaredDeployment {
    let topology = raw.topology.and_then(|topology| {
        word("topology", topology, &DeclaredTopology::ALL, DeclaredTopology::name, out)
    });
    let limit_scope = raw
        .limit_scope
        .and_then(|scope| word("limit-scope", scope, &LimitScope::ALL, LimitScope::name, out));
    if let (Some(routers), Some(topology)) = (raw.routers, topology)
        && topology != DeclaredTopology::Sharded
    {
        let message =
            format!("`routers` belong to a sharded cluster, not to a {}", topology.name());
        out.note(routers.at, message, None);
    }
    DeclaredDeployment {
        topology,
        routers: count("routers", raw.routers, 1, out).and_then(|n| u32::try_from(n).ok()),
        members: count("members", raw.members, 1, out).and_then(|n| u32::try_from(n).ok()),
        connection_limit: count("connection-limit", raw.connection_limit, 1, out),
        limit_scope,
        client_ips: count("client-ips", raw.client_ips, 1, out).and_then(|n| u32::try_from(n).ok()),
        routers_change_often: raw.routers_change_often.map(|often| often.value),
    }
}

fn service(raw: &RawService<'_>, known: &[Service], out: &mut Diagnostics<'_>) -> Option<Service> {
    let name = raw.name.value.trim();
    let shown = excerpt(name);
    if name.is_empty() {
        out.error(raw.name.at, "a service needs a name", None);
    }
    let is_known = known.iter().any(|service| service.name == name);
    if is_known {
        let message = format!("the service `{shown}` is declared already, above");
        out.error(raw.name.at, message, Some("the first entry counts".to_owned()));
    }
    let small = |key: &str, value, out: &mut Diagnostics<'_>| {
        count(key, value, 1, out).and_then(|n| u32::try_from(n).ok())
    };
    let service = Service {
        name: name.to_owned(),
        class: raw
            .class
            .and_then(|class| word("class", class, &ServiceClass::ALL, ServiceClass::name, out)),
        code: globs(&raw.code, out),
        peak_qps: amount("peak-qps", raw.peak_qps, out),
        latency_ms: amount("latency-ms", raw.latency_ms, out),
        instances: small("instances", raw.instances, out),
        processes: small("processes", raw.processes, out),
        stale_reads_ms: count("stale-reads-ms", raw.stale_reads_ms, 0, out),
        pool: small("pool", raw.pool, out),
    };
    (!name.is_empty() && !is_known).then_some(service)
}

/// Globs over paths of source files.
fn globs(code: &[At<&str>], out: &mut Diagnostics<'_>) -> Vec<NamespacePattern> {
    code.iter().filter_map(|text| pattern(*text, out)).collect()
}

/// An integer count.
fn count(key: &str, value: Option<At<i64>>, least: i64, out: &mut Diagnostics<'_>) -> Option<u64> {
    let value = value?;
    if (least..=MAX_VALUE).contains(&value.value) {
        return u64::try_from(value.value).ok();
    }
    let message = if value.value < least {
        format!("`{key}` must be {least} or more, not {}", value.value)
    } else {
        format!("`{key}` must be {MAX_VALUE} or less, not {}", value.value)
    };
    out.error(value.at, message, None);
    None
}

/// A number above 0.
fn amount(key: &str, value: Option<At<f64>>, out: &mut Diagnostics<'_>) -> Option<f64> {
    let value = value?;
    if value.value > 0.0 && value.value <= MAX_VALUE as f64 {
        return Some(value.value);
    }
    out.error(value.at, format!("`{key}` must be more than 0, not {}", value.value), None);
    None
}
