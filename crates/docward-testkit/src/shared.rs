//! Running deployments that one test passes to the next: starting a server takes longer than most
//! tests need it.
//!
//! Only plain deployments are shared, and only if their test requests it
//! ([`crate::Launch::shared`]). A deployment is passed on if it is like a new one: without data,
//! users and roles, and with the settings that it had at its start. Otherwise it stops, and the
//! next test starts another.

use std::{
    collections::BTreeSet,
    ops::{Deref, DerefMut},
    sync::{Mutex, PoisonError},
};

use bson::{Document, doc};

use crate::launch::{Deployment, Launch};

/// Deployments that no test uses now, with their settings. They stop with this process.
static IDLE: Mutex<Vec<(Deployment, Vec<Document>)>> = Mutex::new(Vec::new());

impl Launch {
    /// Starts the deployment and waits until it accepts writes.
    pub fn start(self) -> Servers {
        if self.is_shared() {
            take(&self).unwrap_or_else(|| first(self.launch()))
        } else {
            Servers::of_one_test(self.launch())
        }
    }
}

/// The deployment of a test. Dropping it stops the servers and removes their data; shared ones are
/// emptied for the next test.
#[derive(Debug)]
pub struct Servers {
    /// Always there until the drop.
    deployment: Option<Deployment>,
    /// The settings of a shared deployment, with which the next test must find it.
    settings: Option<Vec<Document>>,
}

impl Servers {
    fn of_one_test(deployment: Deployment) -> Self {
        Self { deployment: Some(deployment), settings: None }
    }

    fn shared(deployment: Deployment, settings: Vec<Document>) -> Self {
        Self { deployment: Some(deployment), settings: Some(settings) }
    }
}

impl Deref for Servers {
    type Target = Deployment;

    fn deref(&self) -> &Deployment {
        self.deployment.as_ref().expect("it is there until the drop")
    }
}

impl DerefMut for Servers {
    fn deref_mut(&mut self) -> &mut Deployment {
        self.deployment.as_mut().expect("it is there until the drop")
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // After a failed test the state of the servers is unknown.
        if let (Some(deployment), Some(settings)) = (self.deployment.take(), self.settings.take())
            && !std::thread::panicking()
        {
            give_back(deployment, settings);
        }
    }
}

/// Commands that show settings that tests may change.
fn settings_commands(has_members: bool) -> Vec<Document> {
    let mut commands = vec![doc! { "getParameter": "*" }, doc! { "profile": -1 }];
    if has_members {
        commands.push(doc! { "getDefaultRWConcern": 1 });
        commands.push(doc! { "replSetGetConfig": 1 });
    }
    commands
}

/// Fields of replies that are not settings.
const OTHER_FIELDS: [&str; 6] = [
    "$clusterTime",
    "operationTime",
    "localUpdateWallClockTime",
    "updateOpTime",
    "updateWallClockTime",
    "ok",
];

/// Returns an idle deployment that is like the wanted one.
fn take(wanted: &Launch) -> Option<Servers> {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let found = idle.iter().position(|(deployment, _)| deployment.launch().is_like(wanted))?;
    let (deployment, settings) = idle.swap_remove(found);
    Some(Servers::shared(deployment, settings))
}

/// Starts a new deployment that can be passed on.
fn first(deployment: Deployment) -> Servers {
    let settings = settings(&deployment);
    Servers::shared(deployment, settings)
}

/// Empties a deployment and keeps it for the next test, if it is as new then.
fn give_back(deployment: Deployment, before: Vec<Document>) {
    if empty(&deployment).is_ok() && settings(&deployment) == before {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push((deployment, before));
    }
}

fn empty(deployment: &Deployment) -> Result<(), mongodb::error::Error> {
    // Users of a database outlive it. Roles are created in `admin` only.
    let reply = deployment.try_command("admin", doc! { "usersInfo": { "forAllDBs": true } })?;
    let user = |user: &bson::Bson| Some(user.as_document()?.get_str("db").ok()?.to_owned());
    let users = reply.get_array("users").map_or(&[][..], |list| list);
    for database in users.iter().filter_map(user).collect::<BTreeSet<_>>() {
        deployment.try_command(&database, doc! { "dropAllUsersFromDatabase": 1 })?;
    }
    deployment.try_command("admin", doc! { "dropAllRolesFromDatabase": 1 })?;
    let reply = deployment.try_command("admin", doc! { "listDatabases": 1, "nameOnly": true })?;
    for database in names(reply.get_array("databases").map_or(&[], |list| list)) {
        if matches!(database.as_str(), "admin" | "config" | "local") {
            drop_collections(deployment, &database)?;
        } else {
            deployment.try_command(&database, doc! { "dropDatabase": 1 })?;
        }
    }
    Ok(())
}

/// Drops the collections that tests created in the server's system databases.
fn drop_collections(deployment: &Deployment, database: &str) -> Result<(), mongodb::error::Error> {
    let command =
        doc! { "listCollections": 1, "nameOnly": true, "cursor": { "batchSize": 10_000 } };
    let reply = deployment.try_command(database, command)?;
    let batch = reply.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch"));
    for collection in names(batch.map_or(&[], |list| list)) {
        if !is_of_the_server(database, &collection) {
            deployment.try_command(database, doc! { "drop": collection })?;
        }
    }
    Ok(())
}

fn is_of_the_server(database: &str, collection: &str) -> bool {
    let is_of_a_set = |name: &str| name.starts_with("replset.") || name.starts_with("oplog.");
    collection.starts_with("system.")
        || database == "local" && (collection == "startup_log" || is_of_a_set(collection))
        || database == "config" && matches!(collection, "transactions" | "image_collection")
        || database == "config" && collection.starts_with("tenantMigration")
        || database == "config" && collection.starts_with("external_validation")
}

fn names(list: &[bson::Bson]) -> Vec<String> {
    let name = |item: &bson::Bson| Some(item.as_document()?.get_str("name").ok()?.to_owned());
    list.iter().filter_map(name).collect()
}

/// The settings of the deployment. Empty if a command fails, so that the deployment is not kept.
fn settings(deployment: &Deployment) -> Vec<Document> {
    let commands = settings_commands(deployment.is_replica_set());
    let replies = commands.into_iter().map(|command| deployment.try_command("admin", command));
    let mut settings: Vec<Document> = replies.map_while(Result::ok).collect();
    for reply in &mut settings {
        for field in OTHER_FIELDS {
            reply.remove(field);
        }
    }
    settings
}
