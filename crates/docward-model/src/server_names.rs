//! Collection names used by the server itself.
//!
//! A single list: the collector marks these collections as system collections, and naming rules
//! skip them. A name that only *looks* reserved (`system.orders`) is not listed, so that a rule can
//! report it.

use crate::Namespace;

/// `system.` collections the server may create in any database.
const IN_ANY_DATABASE: &[&str] = &[
    "system.backup_users",
    "system.change_collection",
    "system.collections_to_restore",
    "system.extents",
    "system.forceOplogBatchBoundary",
    "system.freelist",
    "system.healthlog",
    "system.indexBuilds",
    "system.indexes",
    "system.js",
    "system.keys",
    "system.namespaces",
    "system.new_users",
    "system.preimages",
    "system.profile",
    "system.replset",
    "system.roles",
    "system.sessions",
    "system.sharding_ddl_coordinators",
    "system.users",
    "system.version",
    "system.views",
];

/// Prefixes of names that the server generates in any database.
const PREFIXES_IN_ANY_DATABASE: &[&str] = &[
    "$cmd",
    // Users and roles that `mongodump --dumpDbUsersAndRoles` stores with a database.
    "$admin.system.",
    // State of encrypted fields (Queryable Encryption).
    "enxcol_.",
    "system.buckets.",
    "system.drop.",
    "system.resharding.",
    "system.rollback.",
    "system.statistics.",
    "system.tenantMigration.",
    // Temporary results of $out and mapReduce.
    "tmp.agg_out.",
    "tmp.mr.",
];

const IN_ADMIN: &[&str] = &["tempusers", "temproles"];

const IN_LOCAL: &[&str] = &[
    "clustermanager",
    "me",
    "oplog.$main",
    "oplog.rs",
    "pair.startup",
    "pair.sync",
    "slaves",
    "sources",
    "startup_log",
];

const PREFIXES_IN_LOCAL: &[&str] = &["replset.", "temp_oplog_buffer", "tenantMigration."];

/// Metadata of sharding, sessions and transactions.
const IN_CONFIG: &[&str] = &[
    "actionlog",
    "analyzeShardKeySplitPoints",
    "change_stream_coordinator",
    "changelog",
    "chunks",
    "clusterParameters",
    "collection_critical_sections",
    "collections",
    "compact_structured_encryption_coordinator",
    "csrs.indexes",
    "databases",
    "external_validation_keys",
    "image_collection",
    "localRenameParticipants",
    "lockpings",
    "locks",
    "migrationCoordinators",
    "migrationRecipients",
    "migrations",
    "mongos",
    "movePrimaryDonors",
    "placementHistory",
    "queryAnalyzers",
    "queryShapeRepresentativeQueries",
    "rangeDeletions",
    "rangeDeletionsForRename",
    "reshardingOperations",
    "sampledQueries",
    "sampledQueriesDiff",
    "settings",
    "shard.collections",
    "shard.indexes",
    "shardMergeRecipients",
    "shardSplitDonors",
    "sharding_configsvr_coordinators",
    "shards",
    "tags",
    "tenantMigrationDonors",
    "tenantMigrationRecipients",
    "transaction_coordinators",
    "transactions",
    "user_writes_critical_sections",
    "vectorClock",
    "version",
];

const PREFIXES_IN_CONFIG: &[&str] = &[
    "analyzeShardKey.",
    "cache.",
    "localGlobalIndexOperations.",
    "localReshardingConflictStash.",
    "localReshardingOperations.",
    "localReshardingOplogBuffer.",
    "movePrimaryRecipients",
    "shard.catalog.",
];

/// Databases that belong entirely to MongoDB's own tools.
const DATABASE_PREFIXES: &[&str] = &["__mdb_internal", "mongosync_reserved_for_internal_use"];

/// Returns whether the server (or one of MongoDB's own tools) created this collection for itself.
///
/// ```
/// use docward_model::{Namespace, is_server_owned};
///
/// assert!(is_server_owned(&Namespace::new("shop", "system.buckets.t_metric")));
/// assert!(is_server_owned(&Namespace::new("local", "oplog.rs")));
/// assert!(!is_server_owned(&Namespace::new("shop", "system.orders")));
/// assert!(!is_server_owned(&Namespace::new("admin", "app_settings")));
/// ```
pub fn is_server_owned(namespace: &Namespace) -> bool {
    let collection = namespace.collection.as_str();
    let is_one = |names: &[&str]| names.contains(&collection);
    let begins = |names: &[&str]| names.iter().any(|name| collection.starts_with(name));
    is_one(IN_ANY_DATABASE)
        || begins(PREFIXES_IN_ANY_DATABASE)
        || match namespace.database.as_str() {
            "admin" => is_one(IN_ADMIN),
            "local" => is_one(IN_LOCAL) || begins(PREFIXES_IN_LOCAL),
            "config" => is_one(IN_CONFIG) || begins(PREFIXES_IN_CONFIG),
            database => DATABASE_PREFIXES.iter().any(|prefix| database.starts_with(prefix)),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_servers_own_and_nothing_else() {
        for (name, owned) in [
            ("admin.system.users", true),
            ("admin.system.version", true),
            ("admin.app_settings", false),
            ("config.system.sessions", true),
            ("config.cache.chunks.shop.t_order", true),
            ("config.chunks", true),
            ("config.t_feature_flags", false),
            ("local.replset.minvalid", true),
            ("local.startup_log", true),
            ("local.t_cache", false),
            ("shop.chunks", false),
            ("shop.oplog.rs", false),
            ("shop.system.profile", true),
            ("shop.system.orders", false),
            ("shop.system.bucketsX", false),
            ("shop.$admin.system.users", true),
            ("__mdb_internal_mongosync.state", true),
            ("shop.t_system_config", false),
        ] {
            let namespace = Namespace::parse(name).unwrap();
            assert_eq!(is_server_owned(&namespace), owned, "{name}");
        }
    }

    #[test]
    fn lists_are_sorted_and_have_no_doubles() {
        for list in [IN_ANY_DATABASE, IN_CONFIG, IN_LOCAL, PREFIXES_IN_CONFIG] {
            assert!(list.windows(2).all(|pair| pair[0] < pair[1]), "{list:?}");
        }
    }
}
