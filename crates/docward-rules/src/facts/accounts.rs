//! Accounts: what their roles let them do, and who uses them.

use docward_model::{ClientUri, Evidence, Purpose, User};

use super::server;

/// Roles that let their holder do more than read and write one business database, as `role@db`.
pub fn powerful_roles(user: &User) -> Vec<String> {
    let powerful = user.roles.iter().filter(|(_, role)| is_powerful(role));
    powerful.map(|(db, role)| format!("{role}@{db}")).collect()
}

/// Whether a role lets its holder do more than read and write one business database.
pub fn is_powerful(role: &str) -> bool {
    role.ends_with("AnyDatabase")
        || matches!(
            role,
            "root"
                | "__system"
                | "dbOwner"
                | "dbAdmin"
                | "userAdmin"
                | "clusterAdmin"
                | "clusterManager"
                | "hostManager"
                | "restore"
        )
}

/// The business database an account reads and writes.
pub fn business_database(user: &User) -> Option<&str> {
    user.roles
        .iter()
        .find(|(db, role)| {
            matches!(role.as_str(), "readWrite" | "read" | "dbOwner")
                && !server::is_system_database(db)
        })
        .map(|(db, _)| db.as_str())
}

/// Connection strings of clients, without those of the sources.
pub fn clients(evidence: &Evidence) -> impl Iterator<Item = &ClientUri> {
    evidence.uris.iter().filter(|uri| uri.purpose == Purpose::Client)
}

/// Whether the connection string logs in with this account.
pub fn is_account_of(uri: &ClientUri, user: &User) -> bool {
    uri.user.as_ref() == Some(&user.name) && uri.auth_source == user.database
}

/// Whether a client is known to log in with this account.
pub fn is_used_by_client(evidence: &Evidence, user: &User) -> bool {
    clients(evidence).any(|uri| is_account_of(uri, user))
}
