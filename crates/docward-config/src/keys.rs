//! The keys of each table, listed once: the reader, the suggestions and the tests use the same
//! lists.

use docward_model::RuleMeta;

use crate::suggest;

/// The valid numbers of shards, as for `--shards`: sharding needs at least two, and each shard is
/// simulated.
pub(crate) const SHARDS: std::ops::RangeInclusive<u32> = 2..=1000;

/// A table of the file.
#[derive(Clone, Copy)]
pub(crate) struct Section {
    /// Its name in messages; empty for the top level of the file.
    pub(crate) header: &'static str,
    pub(crate) keys: &'static [&'static str],
}

pub(crate) const ROOT: Section = Section {
    header: "",
    keys: &[
        "profile",
        "select",
        "ignore",
        "fail-on",
        "baseline",
        "rules",
        "namespaces",
        "collections",
        "deployment",
        "service",
        "guard",
        "suppress",
        "waive",
    ],
};
pub(crate) const NAMESPACES: Section =
    Section { header: "[[namespaces]]", keys: &["match", "ignore", "select", "rules"] };
pub(crate) const COLLECTIONS: Section =
    Section { header: "[collections]", keys: &["core", "bounded", "mirrors", "shard-keys"] };
pub(crate) const BOUNDED: Section =
    Section { header: "[[collections.bounded]]", keys: &["match", "path", "max"] };
pub(crate) const MIRRORS: Section =
    Section { header: "[[collections.mirrors]]", keys: &["match", "path"] };
pub(crate) const SHARD_KEYS: Section =
    Section { header: "[[collections.shard-keys]]", keys: &["namespace", "key"] };
pub(crate) const DEPLOYMENT: Section = Section {
    header: "[deployment]",
    keys: &[
        "server-version",
        "shards",
        "topology",
        "routers",
        "members",
        "connection-limit",
        "limit-scope",
        "client-ips",
        "routers-change-often",
    ],
};
pub(crate) const SERVICE: Section = Section {
    header: "[[service]]",
    keys: &[
        "name",
        "class",
        "code",
        "peak-qps",
        "latency-ms",
        "instances",
        "processes",
        "stale-reads-ms",
        "pool",
    ],
};

pub(crate) const GUARD: Section = Section {
    header: "[guard]",
    keys: &[
        "upstream",
        "listen",
        "admin",
        "advertise",
        "face",
        "auth",
        "users",
        "tls-certificate",
        "tls-client-ca",
        "max-pool",
        "min-pool",
        "max-server-connections",
        "wait-seconds",
        "max-clients",
        "grace-seconds",
        "memory-mb",
        "limit",
    ],
};
pub(crate) const GUARD_LIMIT: Section = Section {
    header: "[[guard.limit]]",
    keys: &["user", "application", "operations-per-second", "bytes-per-second", "concurrent"],
};
pub(crate) const GUARD_USER: Section =
    Section { header: "[[user]]", keys: &["name", "subject", "password", "databases"] };
pub(crate) const SUPPRESS: Section = Section {
    header: "[[suppress]]",
    keys: &["rule", "match", "path", "file", "reason", "expires"],
};
pub(crate) const WAIVE: Section =
    Section { header: "[[waive]]", keys: &["item", "reason", "by", "expires"] };

/// The keys that every rule has in addition to its thresholds. No threshold may have one of these
/// names.
pub(crate) const RULE: &[&str] = &["severity", "enabled"];

/// The hint for a key that a section does not have.
pub(crate) fn unknown_key_hint(key: &str, section: Section, rules: &[&RuleMeta]) -> String {
    elsewhere(key, section, rules)
        .or_else(|| suggest::did_you_mean(key, section.keys.iter().copied()))
        .unwrap_or_else(|| format!("known keys: {}", suggest::list(section.keys, "and")))
}

/// The hint for a valid key in the wrong table. The usual cause is TOML's own rule: everything
/// below a header belongs to it, so a top-level key must come first.
pub(crate) fn elsewhere(key: &str, section: Section, rules: &[&RuleMeta]) -> Option<String> {
    if ROOT.keys.contains(&key) {
        return Some(format!("`{key}` belongs above the first `[section]`"));
    }
    for other in [COLLECTIONS, DEPLOYMENT] {
        if other.header != section.header && other.keys.contains(&key) {
            return Some(format!("`{key}` belongs under `{}`", other.header));
        }
    }
    if let Some(rule) = rules.iter().find(|r| r.code.eq_ignore_ascii_case(key) || r.name == key) {
        return Some(format!("settings of a rule belong under `[rules.{}]`", rule.code));
    }
    let mut owners = rules.iter().filter(|r| r.thresholds.iter().any(|t| t.key == key));
    let first = owners.next()?;
    let others = match owners.count() {
        0 => String::new(),
        1 => " and another rule".to_owned(),
        more => format!(" and {more} other rules"),
    };
    Some(format!("`{key}` is a threshold of {}{others}", first.code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reader_knows_every_key() {
        let sections = [
            ROOT,
            NAMESPACES,
            COLLECTIONS,
            BOUNDED,
            MIRRORS,
            SHARD_KEYS,
            DEPLOYMENT,
            SERVICE,
            GUARD,
            GUARD_LIMIT,
            SUPPRESS,
            WAIVE,
        ];
        for section in sections {
            for key in section.keys {
                let text = format!("{}\n{key} = 0\n", section.header);
                let (_, problems) = crate::parse(&text, "f", &[]);
                assert!(!problems.iter().any(|p| p.message.starts_with("unknown")), "{text}");
            }
            let text = format!("{}\nzzzz = 0\n", section.header);
            let (_, problems) = crate::parse(&text, "f", &[]);
            assert!(problems.iter().any(|p| p.message.starts_with("unknown key `zzzz`")), "{text}");
        }
    }
}
