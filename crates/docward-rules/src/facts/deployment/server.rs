//! Databases and collections that servers and their tools keep for themselves (DM-01.1, DM-03.4, GC-49).
//!
//! The list follows the server's own table of reserved namespaces (3.6 to 8.x). None of them is business data, and
//! naming rules do not apply to them.

use docward_model::{BsonType, Evidence, Field, Namespace, Profile, is_server_owned};

/// Databases that must not contain business data.
pub const SYSTEM_DATABASES: &[&str] = &["admin", "local", "config", "$external"];

/// Collections that migration tools, drivers and platforms create with predefined names.
pub const TOOL_COLLECTIONS: &[&str] = &[
    // Parse Server's classes.
    "_Audience",
    "_GlobalConfig",
    "_GraphQLConfig",
    "_Hooks",
    "_Idempotency",
    "_Installation",
    "_JobSchedule",
    "_JobStatus",
    "_PushStatus",
    "_Role",
    "_SCHEMA",
    "_Session",
    "_User",
    // Migration tools.
    "DATABASECHANGELOG",
    "DATABASECHANGELOGLOCK",
    "dbchangelog",
    "mongobeeChangeLog",
    "mongockChangeLog",
    "mongockLock",
    "schema_migrations",
    "data_migrations",
    // Client-side field level encryption.
    "__keyVault",
];

/// Whether the database belongs to the server.
pub fn is_system_database(name: &str) -> bool {
    SYSTEM_DATABASES.contains(&name)
}

/// Whether a `system.` collection is one that the server creates in any database.
pub fn is_known_system_name(collection: &str) -> bool {
    is_server_owned(&Namespace::new("any", collection))
}

/// Whether a collection of a system database is the server's own.
pub fn is_own_collection(database: &str, collection: &str) -> bool {
    is_server_owned(&Namespace::new(database, collection)) || collection.starts_with("$cmd")
}

/// Whether a tool gave the collection its name, so that the naming rules do not apply.
pub fn is_tool_collection(collection: &str) -> bool {
    TOOL_COLLECTIONS.contains(&collection)
        // Parse joins, and the state collections of Queryable Encryption.
        || collection.starts_with("_Join:")
        || collection.starts_with("enxcol_.")
}

/// Whether the collection is half of a GridFS bucket: `fs.files`, or any pair `x.files`/`x.chunks`.
pub fn is_gridfs(evidence: &Evidence, namespace: &Namespace) -> bool {
    let name = &namespace.collection;
    let other = if let Some(bucket) = name.strip_suffix(".files") {
        format!("{bucket}.chunks")
    } else if let Some(bucket) = name.strip_suffix(".chunks") {
        format!("{bucket}.files")
    } else {
        return false;
    };
    name.starts_with("fs.")
        || evidence.collection(&Namespace::new(namespace.database.as_str(), other)).is_some()
}

/// Whether the documents are rows that the server wrote, exported or copied under another name.
///
/// Rows of its profiler contain copies of queries below `command` and `query`; rows of its oplog contain copies of
/// writes below `o`. The same holds for stored replies of `serverStatus`, and for specifications of indexes. No
/// developer chose their field names.
pub fn holds_server_rows(profile: &Profile) -> bool {
    let nearly_all = |name: &str, is: fn(&Field) -> bool| {
        profile
            .top_level()
            .any(|f| f.name == name && f.count * 10 >= profile.documents * 9 && is(f))
    };
    let text = |f: &Field| f.is_only(BsonType::String);
    if is_server_status(profile) || are_index_specifications(profile) {
        return true;
    }
    if profile.documents == 0 || !nearly_all("op", text) || !nearly_all("ns", text) {
        return false;
    }
    let asked = profile.top_level().any(|f| {
        matches!(f.name.as_str(), "command" | "query" | "originatingCommand" | "updateobj")
            && f.types.of(BsonType::Object) > 0
    });
    let timed = profile.top_level().any(|f| matches!(f.name.as_str(), "ts" | "wall" | "ui"));
    (asked && nearly_all("millis", |f| f.types.numbers() > 0))
        || (timed && nearly_all("o", |f| f.is_only(BsonType::Object)))
}

fn is_server_status(profile: &Profile) -> bool {
    const PARTS: [&str; 8] = [
        "asserts",
        "connections",
        "globalLock",
        "locks",
        "mem",
        "network",
        "opcounters",
        "wiredTiger",
    ];
    let has = |name: &str| {
        profile.top_level().any(|f| f.name == name && f.types.of(BsonType::Object) > 0)
    };
    profile.top_level().any(|f| f.name == "uptimeMillis" || f.name == "process")
        && PARTS.iter().filter(|name| has(name)).count() >= 4
}

/// `{v, key, name, ns}` and options, as `system.indexes` and `listIndexes` show them.
fn are_index_specifications(profile: &Profile) -> bool {
    let every = |name: &str, is: fn(&Field) -> bool| {
        profile.top_level().any(|f| f.name == name && f.count >= profile.documents && is(f))
    };
    let is_direction =
        |f: &Field| f.is_only(BsonType::String) || f.types.numbers() == f.types.non_null();
    let keys = profile.top_level().find(|f| f.name == "key");
    profile.documents > 0
        && every("name", |f| f.is_only(BsonType::String))
        && every("v", |f| f.types.numbers() > 0)
        && every("key", |f| f.is_only(BsonType::Object))
        && keys.is_some_and(|keys| profile.children(keys).all(is_direction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dm_01_1_own_collections_are_known() {
        for (database, collection) in [
            ("admin", "system.users"),
            ("admin", "tempusers"),
            ("config", "system.sessions"),
            ("config", "chunks"),
            ("config", "cache.chunks.db_shop.t_order"),
            ("local", "oplog.rs"),
            ("local", "replset.election"),
        ] {
            assert!(is_own_collection(database, collection), "{database}.{collection}");
        }
        for (database, collection) in [
            ("admin", "app_settings"),
            ("config", "orders"),
            ("local", "cache"),
            ("admin", "chunks"),
        ] {
            assert!(!is_own_collection(database, collection), "{database}.{collection}");
        }
    }

    #[test]
    fn dm_03_4_known_system_names() {
        assert!(is_known_system_name("system.buckets.t_metric"));
        assert!(is_known_system_name("system.profile"));
        assert!(!is_known_system_name("system.orders"));
        assert!(!is_known_system_name("system.config"));
    }
}
