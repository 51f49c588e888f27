//! CN-03.1, PF-1 to PF-3, AP-S1.1: the sum of all pools against the declared connection limit.

use docward_model::{Evidence, LimitScope, Settings, Severity, UriChange, client_uri::Driver};
use docward_uri::defaults;

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::clients::{Client, clients},
        text,
    },
    threshold,
};

declare_rule! {
    /// # Pools exceed the limit
    ///
    /// ## What it checks
    /// Adds up the connections that all services may open: `instances` × `processes` × `maxPoolSize`, and ×
    /// routers if the string leads to several. Reports a sum above 80 % of `connection-limit`.
    ///
    /// - The services and the limit are declared in `docward.toml`.
    /// - A service counts if it declares `instances` and has a connection string.
    /// - Without `maxPoolSize`, the declared `pool` counts, or else the driver's default.
    /// - With `limit-scope = "per-node"` the limit is that of one server, and routers do not multiply the sum.
    ///
    /// ## Why it matters
    /// When the server slows down, all pools fill up at once. Connections beyond the limit are refused, and new
    /// instances cannot start.
    ///
    /// ## Example
    /// ```jsonl,fires,limit=3000,topology=sharded
    /// service {"name": "order", "instances": 20}
    /// uri mongodb://10.0.0.100/db_order?appName=order&maxPoolSize=200
    /// ```
    /// ```jsonl,clean,limit=3000,topology=sharded
    /// service {"name": "order", "instances": 20}
    /// uri mongodb://10.0.0.100/db_order?appName=order&maxPoolSize=120
    /// ```
    ///
    /// ## How to fix
    /// Lower `maxPoolSize` to the value in the finding, or raise the limit.
    ///
    /// ## When to ignore it
    /// The services never run at the same time.
    C032, "pools-exceed-limit",
    level: Mandatory,
    area: Writes,
    clauses: ["CN-03.1", "PF-1", "PF-2", "PF-3", "AP-S1.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [MAX_SHARE],
    data: ["cap", "critical", "limit", "share", "total"],
    check: Deployment(check),
}

threshold!(
    MAX_SHARE,
    "max-share",
    Float(0.8),
    "share of the limit",
    "CN-03.1, GC-15",
    "maximum share of the limit for all pools together"
);

/// The number of connections that one service may open.
struct Demand<'a> {
    client: Client<'a>,
    /// Pools of this size that all instances of the service have.
    pools: u64,
    size: u64,
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let settings = cx.settings();
    let Some(limit) = settings.deployment.connection_limit else { return };
    let mut demands: Vec<Demand<'_>> = Vec::new();
    for client in clients(evidence, settings).into_iter().filter(|client| !client.is_local()) {
        let Some(demand) = demand(client, settings) else { continue };
        // A service counts once, with its largest pool, regardless of the number of its strings.
        let name = |client: &Client<'_>| client.service.map(|service| service.name.clone());
        match demands.iter_mut().find(|other| name(&other.client) == name(&demand.client)) {
            Some(other) if other.pools * other.size < demand.pools * demand.size => *other = demand,
            Some(_) => {}
            None => demands.push(demand),
        }
    }
    let total: u64 = demands.iter().map(|demand| demand.pools * demand.size).sum();
    let share = total as f64 / limit as f64;
    let most = cx.limit(&MAX_SHARE);
    let Some(largest) = demands.iter().max_by_key(|demand| demand.pools * demand.size) else {
        return;
    };
    if share <= most + 1e-9 {
        return;
    }
    let others = total - largest.pools * largest.size;
    let room = ((limit as f64 * most + 1e-9).floor() as u64).saturating_sub(others);
    let fits = room / largest.pools.max(1);
    let name = largest.client.service.map_or("", |service| service.name.as_str());
    let todo = if fits == 0 {
        "raise the limit, or use a proxy that shares connections".to_owned()
    } else {
        format!("set maxPoolSize={fits} for `{name}`, the largest pool, or raise the limit")
    };
    let draft = largest
        .client
        .draft(
            largest.client.place("maxPoolSize"),
            format!(
                "the pools of {} can open {} connections, which is {} of the limit of {}",
                text::plural(demands.len() as u64, "service"),
                text::count(total),
                text::percent(share),
                text::count(limit)
            ),
            "when the server is slow, all pools fill up at once, and the server rejects connections beyond its limit",
            todo,
        )
        .data("total", total)
        .data("limit", limit)
        .data("share", share)
        .data("critical", share > 1.0)
        .severity(Severity::Error)
        .key("pools");
    cx.report(if fits == 0 {
        draft
    } else {
        draft.data("cap", fits).uri([UriChange::set("maxPoolSize", fits)])
    });
}

fn demand<'a>(client: Client<'a>, settings: &Settings) -> Option<Demand<'a>> {
    let service = client.service?;
    service.instances?;
    let given = client.number("maxPoolSize").and_then(|size| u64::try_from(size).ok());
    if client.uri.option("maxPoolSize").is_some() && given.is_none() {
        return None;
    }
    let default = client.uri.driver.map_or(100, |driver: Driver| defaults(driver).max_pool_size);
    let size = given.or(service.pool.map(u64::from)).unwrap_or(u64::from(default));
    let routers = match settings.deployment.limit_scope {
        Some(LimitScope::PerNode) => 1,
        Some(LimitScope::Total) | None => u64::from(client.pools(settings)),
    };
    Some(Demand { client, pools: u64::from(service.clients()) * routers, size })
}

#[cfg(test)]
mod tests {
    use docward_model::DataValue;

    use crate::testing::check_with;

    fn found(instances: u32, pool: u32) -> Option<(String, Option<DataValue>)> {
        let body = format!(
            "service {{\"name\": \"x\", \"instances\": {instances}}}\nuri mongodb://10.0.0.100/?appName=x&maxPoolSize={pool}"
        );
        let found = check_with("C032", "limit=3000,topology=sharded", &body);
        found.first().map(|f| (f.what.clone(), f.data.get("cap").cloned()))
    }

    #[test]
    fn cn_03_1_pf_1_st_17_gc_15_eighty_percent_hold() {
        let (what, cap) = found(20, 200).unwrap();
        assert!(what.contains("4,000 connections, which is 133"), "{what}");
        assert_eq!(cap, Some(DataValue::Int(120)));
        assert_eq!(found(25, 100).unwrap().1, Some(DataValue::Int(96)));
        assert_eq!(found(30, 100).unwrap().1, Some(DataValue::Int(80)));
        assert!(found(25, 96).is_none());
        assert!(found(30, 80).is_none());
    }

    #[test]
    fn pf_2_pf_3_routers_multiply() {
        let with = |settings: &str, uri: &str| {
            let body = format!(
                "service {{\"name\": \"x\", \"instances\": 10}}\nuri {uri}/?appName=x&maxPoolSize=50"
            );
            check_with("C032", &format!("limit=1800,topology=sharded,{settings}"), &body).len()
        };
        assert_eq!(with("routers=3", "mongodb+srv://c.example.net"), 1, "1,500 of 1,800");
        assert_eq!(with("routers=2", "mongodb+srv://c.example.net"), 0);
        assert_eq!(with("routers=9", "mongodb://a,b,c"), 1, "1,500 of 1,800");
        assert_eq!(with("limit-scope=per-node", "mongodb://a,b,c"), 0);
    }

    #[test]
    fn ap_s1_1_services_are_added_up_and_each_counts_once() {
        let body = "service {\"name\": \"x\", \"instances\": 10}\nservice {\"name\": \"y\", \"instances\": 15}\nuri mongodb://a,b/?appName=x&maxPoolSize=100\nuri mongodb://b,a/?appName=x&maxPoolSize=100\nuri mongodb://a,b/?appName=y";
        let found = check_with("C032", "limit=3000", body);
        assert!(found[0].what.contains("2 services can open 2,500"), "{}", found[0].what);
        assert!(check_with("C032", "limit=3200", body).is_empty());
        assert!(check_with("C032", "", body).is_empty(), "no limit is declared");
    }
}
