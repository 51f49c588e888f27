//! Users of a list of the guard's own. Their commands go to the servers as one account, so what they may do is decided
//! here.

use std::collections::HashMap;

use docward_model::NamespacePattern;
use docward_net::scram::Verifier;

use crate::{
    errors::{Failure, code},
    request::{Class, Request},
};

/// What a user may do in databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Read.
    Read,
    /// Read and write, create and drop collections and indexes.
    ReadWrite,
}

/// A user.
#[derive(Clone, Debug)]
pub struct FileUser {
    /// The name; for a login by certificate its subject.
    pub name: String,
    /// What a password is checked with; none for a login by certificate.
    pub verifier: Option<Verifier>,
    /// What may be done where.
    pub rights: Vec<(NamespacePattern, Right)>,
}

impl FileUser {
    fn may(&self, database: &str, wanted: Right) -> bool {
        // Users and their secrets, sessions and the oplog are not meant by a pattern.
        let is_meant = |pattern: &NamespacePattern| {
            !SYSTEM.contains(&database) || pattern.as_str() == database
        };
        self.rights.iter().any(|(pattern, right)| {
            *right >= wanted && pattern.matches(database) && is_meant(pattern)
        })
    }

    /// Whether the user may run a command.
    pub(crate) fn check(&self, request: &Request) -> Result<(), Failure> {
        let Some(mut wanted) = wanted(request) else {
            return Err(Failure::new(
                code::UNAUTHORIZED,
                format!(
                    "docward: {} is not among the commands that users of the guard's own list may run",
                    request.name
                ),
            ));
        };
        if matches!(request.name.as_str(), "aggregate" | "create" | "collMod" | "explain") {
            let named = request.named_databases().map_err(|fault| {
                Failure::new(
                    code::FAILED_TO_PARSE,
                    format!("{} cannot be read: {fault}", request.name),
                )
            })?;
            wanted.extend(named.into_iter().map(|database| (database, Right::Read)));
            // Sessions are all of one account to the server.
            if request.has_stage(&OF_OTHERS).unwrap_or(true) {
                let why = "docward: stages that show what others do are not for users of a list";
                return Err(Failure::new(code::UNAUTHORIZED, why));
            }
        }
        let collection = request.namespace().unwrap_or_default();
        let collection = collection.split_once('.').map_or("", |(_, collection)| collection);
        if request.class == Class::Write && collection.starts_with("system.") {
            let why = format!("not authorized to write to {collection}");
            return Err(Failure::new(code::UNAUTHORIZED, why));
        }
        for (database, right) in wanted {
            if !self.may(&database, right) {
                return Err(Failure::new(
                    code::UNAUTHORIZED,
                    format!(
                        "not authorized on {database} to execute command {{ {}: … }}",
                        request.name
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// Stages that show sessions and commands of others.
const OF_OTHERS: [&[u8]; 3] = [b"$listLocalSessions", b"$listSessions", b"$currentOp"];

/// Databases of the server itself.
const SYSTEM: [&str; 3] = ["admin", "config", "local"];

/// The databases that a command touches and what it does there; `None` where nobody may run it.
fn wanted(request: &Request) -> Option<Vec<(String, Right)>> {
    let own = |right: Right| Some(vec![(request.database.clone(), right)]);
    match request.name.as_str() {
        "ping" | "buildInfo" | "buildinfo" | "endSessions" | "refreshSessions"
        | "commitTransaction" | "abortTransaction" => Some(Vec::new()),
        // Whose cursor it is, is looked at there.
        "getMore" | "killCursors" => Some(Vec::new()),
        "aggregate" => {
            let mut all = own(Right::Read)?;
            if request.class == Class::Write {
                let target = request.output.clone();
                all.push((target.unwrap_or_else(|| request.database.clone()), Right::ReadWrite));
            }
            Some(all)
        }
        "find" | "count" | "distinct" | "listCollections" | "listIndexes" | "dbStats"
        | "dbstats" | "collStats" | "collstats" | "explain" => own(Right::Read),
        "insert" | "update" | "delete" | "findAndModify" | "findandmodify" | "create" | "drop"
        | "createIndexes" | "dropIndexes" | "collMod" => own(Right::ReadWrite),
        "bulkWrite" => {
            let written = request.written_databases()?;
            Some(written.into_iter().map(|database| (database, Right::ReadWrite)).collect())
        }
        _ => None,
    }
}

/// All users of a list.
#[derive(Debug, Default)]
pub struct FileUsers {
    by_name: HashMap<String, std::sync::Arc<FileUser>>,
}

impl FileUsers {
    /// Of a list.
    pub fn new(users: impl IntoIterator<Item = FileUser>) -> Self {
        let named = users.into_iter().map(|user| (user.name.clone(), std::sync::Arc::new(user)));
        Self { by_name: named.collect() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&std::sync::Arc<FileUser>> {
        self.by_name.get(name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{RawDocumentBuf, rawdoc};
    use bytes::BytesMut;
    use docward_wire::Flags;

    fn allowed(body: &RawDocumentBuf) -> bool {
        let frame = docward_wire::message(1, 0, Flags::default(), body.as_bytes());
        let request = Request::parse(BytesMut::from(&frame[..])).unwrap();
        let right = |pattern: &str, right| (NamespacePattern::new(pattern).unwrap(), right);
        let user = FileUser {
            name: "app".to_owned(),
            verifier: None,
            rights: vec![right("db_shop", Right::ReadWrite), right("logs_*", Right::Read)],
        };
        user.check(&request).is_ok()
    }

    #[test]
    fn se_1_patterns_do_not_mean_databases_of_the_server() {
        let user = |pattern: &str| FileUser {
            name: "app".to_owned(),
            verifier: None,
            rights: vec![(NamespacePattern::new(pattern).unwrap(), Right::ReadWrite)],
        };
        for database in ["admin", "config", "local"] {
            assert!(!user("*").may(database, Right::Read), "{database}");
            assert!(user(database).may(database, Right::Read), "{database}");
        }
        assert!(user("*").may("db_shop", Right::ReadWrite));
    }

    #[test]
    fn px_2_users_of_the_list_do_what_the_list_says() {
        for body in [
            rawdoc! { "find": "t", "$db": "db_shop" },
            rawdoc! { "insert": "t", "$db": "db_shop" },
            rawdoc! { "find": "t", "$db": "logs_2026" },
            rawdoc! { "aggregate": "t", "pipeline": [{ "$out": "x" }], "$db": "db_shop" },
            rawdoc! { "aggregate": "t", "pipeline": [{ "$merge": { "into": { "db": "db_shop", "coll": "x" } } }], "$db": "logs_1" },
            rawdoc! { "bulkWrite": 1, "nsInfo": [{ "ns": "db_shop.t" }], "$db": "admin" },
            rawdoc! { "ping": 1, "$db": "admin" },
            rawdoc! { "aggregate": "t", "pipeline": [{ "$match": { "db": "x", "coll": "y" } }], "$db": "db_shop" },
            rawdoc! { "commitTransaction": 1, "$db": "admin" },
        ] {
            assert!(allowed(&body), "{body:?}");
        }
        for body in [
            rawdoc! { "find": "t", "$db": "other" },
            rawdoc! { "insert": "t", "$db": "logs_2026" },
            rawdoc! { "aggregate": "t", "pipeline": [{ "$out": "x" }], "$db": "logs_1" },
            rawdoc! { "aggregate": "t", "pipeline": [{ "$out": { "db": "other", "coll": "x" } }], "$db": "db_shop" },
            rawdoc! { "aggregate": "t", "pipeline": [{ "$merge": { "into": { "db": "other", "coll": "x" } } }], "$db": "db_shop" },
            rawdoc! { "bulkWrite": 1, "nsInfo": [{ "ns": "db_shop.t" }, { "ns": "other.t" }], "$db": "admin" },
            rawdoc! { "bulkWrite": 1, "nsInfo": 5, "$db": "admin" },
            rawdoc! { "dropDatabase": 1, "$db": "db_shop" },
            rawdoc! { "createUser": "x", "$db": "db_shop" },
            rawdoc! { "renameCollection": "db_shop.t", "to": "db_shop.u", "$db": "admin" },
            rawdoc! { "shutdown": 1, "$db": "admin" },
            rawdoc! { "usersInfo": 1, "$db": "db_shop" },
            rawdoc! { "dataSize": "other.t", "$db": "db_shop" },
            rawdoc! { "insert": "system.js", "$db": "db_shop" },
            rawdoc! { "aggregate": 1, "pipeline": [{ "$listLocalSessions": { "allUsers": true } }], "$db": "db_shop" },
            rawdoc! {
                "aggregate": "t", "$db": "db_shop",
                "pipeline": [{ "$facet": { "a": [{ "$lookup": { "from": { "db": "local", "coll": "oplog.rs" } } }] } }],
            },
            rawdoc! {
                "create": "v", "viewOn": "t", "$db": "db_shop",
                "pipeline": [{ "$unionWith": { "db": "admin", "coll": "system.users" } }],
            },
        ] {
            assert!(!allowed(&body), "{body:?}");
        }
    }
}
