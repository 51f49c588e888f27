//! Reads `[deployment]` and `[[service]]`, not interpreted.

use toml_edit::Item;

use super::{At, Reader, entries};
use crate::keys;

/// `[deployment]`.
#[derive(Default)]
pub(crate) struct RawDeployment<'d> {
    pub(crate) server_version: Option<At<&'d str>>,
    pub(crate) shards: Option<At<i64>>,
    pub(crate) topology: Option<At<&'d str>>,
    pub(crate) routers: Option<At<i64>>,
    pub(crate) members: Option<At<i64>>,
    pub(crate) connection_limit: Option<At<i64>>,
    pub(crate) limit_scope: Option<At<&'d str>>,
    pub(crate) client_ips: Option<At<i64>>,
    pub(crate) routers_change_often: Option<At<bool>>,
}

/// `[[service]]`; an entry without a name was reported and is not included.
pub(crate) struct RawService<'d> {
    pub(crate) name: At<&'d str>,
    pub(crate) class: Option<At<&'d str>>,
    pub(crate) code: Vec<At<&'d str>>,
    pub(crate) peak_qps: Option<At<f64>>,
    pub(crate) latency_ms: Option<At<f64>>,
    pub(crate) instances: Option<At<i64>>,
    pub(crate) processes: Option<At<i64>>,
    pub(crate) stale_reads_ms: Option<At<i64>>,
    pub(crate) pool: Option<At<i64>>,
}

impl Reader<'_, '_> {
    pub(super) fn deployment<'d>(&mut self, at: usize, item: &'d Item) -> RawDeployment<'d> {
        let mut raw = RawDeployment::default();
        let Some(table) = self.table("deployment", at, item, "write `[deployment]`") else {
            return raw;
        };
        for (key, item) in entries(table) {
            match key.value {
                name @ "server-version" => raw.server_version = self.string(name, item),
                name @ "shards" => raw.shards = self.integer(name, item),
                name @ "topology" => raw.topology = self.string(name, item),
                name @ "routers" => raw.routers = self.integer(name, item),
                name @ "members" => raw.members = self.integer(name, item),
                name @ "connection-limit" => raw.connection_limit = self.integer(name, item),
                name @ "limit-scope" => raw.limit_scope = self.string(name, item),
                name @ "client-ips" => raw.client_ips = self.integer(name, item),
                name @ "routers-change-often" => {
                    raw.routers_change_often = self.boolean(name, item);
                }
                _ => self.unknown(key, keys::DEPLOYMENT),
            }
        }
        raw
    }

    pub(super) fn services<'d>(&mut self, at: usize, item: &'d Item) -> Vec<RawService<'d>> {
        let mut out = Vec::new();
        for (at, table) in self.tables("service", at, item, keys::SERVICE) {
            let mut name = None;
            let mut raw = RawService {
                name: At { value: "", at },
                class: None,
                code: Vec::new(),
                peak_qps: None,
                latency_ms: None,
                instances: None,
                processes: None,
                stale_reads_ms: None,
                pool: None,
            };
            for (key, item) in entries(table) {
                match key.value {
                    "name" => name = self.string("name", item),
                    key @ "class" => raw.class = self.string(key, item),
                    key @ "code" => raw.code = self.strings(key, item).unwrap_or_default(),
                    key @ "peak-qps" => raw.peak_qps = self.number(key, item),
                    key @ "latency-ms" => raw.latency_ms = self.number(key, item),
                    key @ "instances" => raw.instances = self.integer(key, item),
                    key @ "processes" => raw.processes = self.integer(key, item),
                    key @ "stale-reads-ms" => raw.stale_reads_ms = self.integer(key, item),
                    key @ "pool" => raw.pool = self.integer(key, item),
                    _ => self.unknown(key, keys::SERVICE),
                }
            }
            self.missing(at, table, keys::SERVICE, &["name"]);
            if let Some(name) = name {
                out.push(RawService { name, ..raw });
            }
        }
        out
    }
}
