//! Users of the guard's own list. The guard sends their commands to the servers under one account, so it checks their
//! rights itself.

use std::collections::HashMap;

use docward_model::NamespacePattern;
use docward_net::scram::Verifier;
use docward_wire::Fault;

use crate::{
    commands::{Access, Class},
    errors::{Failure, code},
    request::Request,
};

/// The right of a user in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Read.
    Read,
    /// Read and write, create and drop collections and indexes.
    ReadWrite,
}

/// A user of the list.
#[derive(Clone, Debug)]
pub struct FileUser {
    /// The user name, or the subject of the certificate.
    pub name: String,
    /// The verifier of the password; `None` for a user with a certificate.
    pub verifier: Option<Verifier>,
    /// The rights, by database pattern.
    pub rights: Vec<(NamespacePattern, Right)>,
}

impl FileUser {
    fn may(&self, database: &str, wanted: Right) -> bool {
        // A pattern never grants access to password verifiers, sessions or the oplog: these need the exact name.
        let is_granted = |pattern: &NamespacePattern| {
            !SYSTEM.contains(&database) || pattern.as_str() == database
        };
        self.rights.iter().any(|(pattern, right)| {
            *right >= wanted && pattern.matches(database) && is_granted(pattern)
        })
    }

    /// Checks that the user may run a command.
    pub(crate) fn check(&self, request: &Request) -> Result<(), Failure> {
        let Some(mut wanted) = wanted(request) else {
            return Err(Failure::new(
                code::UNAUTHORIZED,
                format!(
                    "docward: users of the list may not run {}; connect to the servers directly, or use --auth mirror",
                    request.name
                ),
            ));
        };
        wanted.extend(lookups(request)?.into_iter().map(|database| (database, Right::Read)));
        let namespace = request.namespace();
        let is_single = request.command.is_some_and(|command| command.is_single);
        if request.class == Class::Write && is_single && request.name != "aggregate" {
            // A symbol or a UUID would hide a system collection.
            namespace.as_ref().ok_or_else(|| {
                let why = format!("docward: the collection of {} must be a string", request.name);
                Failure::new(code::UNAUTHORIZED, why)
            })?;
        }
        let own = namespace.as_deref().and_then(|namespace| namespace.split_once('.'));
        let bulk = request.bulk_namespaces().unwrap_or_default();
        let bulk = bulk.iter().map(|(_, collection)| collection.as_str());
        let mut written = own.map(|(_, collection)| collection).into_iter().chain(bulk);
        let system = written.find(|collection| collection.starts_with("system."));
        if let Some(collection) = system.filter(|_| request.class == Class::Write) {
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

/// Stages that list the sessions and operations of every user. All users of the list share one server account, so
/// these stages would reveal other users' transactions.
const REVEALING: [&[u8]; 3] = [b"$listLocalSessions", b"$listSessions", b"$currentOp"];

/// Returns the databases that `$lookup`, `$graphLookup` and `$unionWith` name. Fails if a stage reveals other users.
fn lookups(request: &Request) -> Result<Vec<String>, Failure> {
    let mut databases = Vec::new();
    let mut reveals = false;
    if matches!(request.name.as_str(), "aggregate" | "create" | "collMod" | "explain") {
        let visited = request.each_element(|element| {
            reveals |= REVEALING.contains(&element.name);
            if matches!(element.name, b"from" | b"$unionWith")
                && let Some(target) = element.document()
                && let Some(database) = target.get("db")?
            {
                let no_name = Fault::Document("the database of a stage is not a string");
                databases.push(database.text().ok_or(no_name)?.to_owned());
            }
            Ok(())
        });
        visited.map_err(|fault| {
            Failure::new(code::FAILED_TO_PARSE, format!("cannot parse {}: {fault}", request.name))
        })?;
    }
    if reveals {
        let why = "docward: users of the list may not list the sessions or operations of others";
        return Err(Failure::new(code::UNAUTHORIZED, why));
    }
    Ok(databases)
}

/// Databases that MongoDB uses for itself.
const SYSTEM: [&str; 3] = ["admin", "config", "local"];

/// Returns the databases that a command uses with the right that it needs there, or `None` if no user of the list may
/// run it.
fn wanted(request: &Request) -> Option<Vec<(String, Right)>> {
    let own = |right: Right| vec![(request.database.clone(), right)];
    match request.command.map_or(Access::Denied, |command| command.access) {
        Access::Denied => None,
        Access::Free => Some(Vec::new()),
        Access::Write if request.name == "bulkWrite" => {
            let namespaces = request.bulk_namespaces()?.into_iter();
            Some(namespaces.map(|(database, _)| (database, Right::ReadWrite)).collect())
        }
        Access::Write => Some(own(Right::ReadWrite)),
        Access::Read => {
            let mut all = own(Right::Read);
            // An aggregation with `$out` or `$merge`.
            if request.class == Class::Write {
                let target = request.output.as_ref().unwrap_or(&request.database);
                all.push((target.clone(), Right::ReadWrite));
            }
            Some(all)
        }
    }
}

/// The users of the list.
#[derive(Debug, Default)]
pub struct FileUsers {
    by_name: HashMap<String, std::sync::Arc<FileUser>>,
}

impl FileUsers {
    /// Creates the list.
    pub fn new(users: impl IntoIterator<Item = FileUser>) -> Self {
        let named = users.into_iter().map(|user| (user.name.clone(), std::sync::Arc::new(user)));
        Self { by_name: named.collect() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&std::sync::Arc<FileUser>> {
        self.by_name.get(name)
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
    fn se_1_patterns_do_not_grant_system_databases() {
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
    fn px_2_users_of_the_list_have_only_their_rights() {
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
            rawdoc! { "bulkWrite": 1, "nsInfo": [{ "ns": "db_shop.system.js" }], "$db": "admin" },
            rawdoc! { "dropDatabase": 1, "$db": "db_shop" },
            rawdoc! { "createUser": "x", "$db": "db_shop" },
            rawdoc! { "renameCollection": "db_shop.t", "to": "db_shop.u", "$db": "admin" },
            rawdoc! { "shutdown": 1, "$db": "admin" },
            rawdoc! { "usersInfo": 1, "$db": "db_shop" },
            rawdoc! { "dataSize": "other.t", "$db": "db_shop" },
            rawdoc! { "insert": "system.js", "$db": "db_shop" },
            rawdoc! { "insert": bson::RawBson::Symbol("system.js".to_owned()), "$db": "db_shop" },
            rawdoc! {
                "aggregate": "t", "$db": "db_shop",
                "pipeline": [{ "$lookup": { "from": { "db": bson::RawBson::Symbol("admin".to_owned()), "coll": "x" } } }],
            },
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
